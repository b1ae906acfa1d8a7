#!/bin/sh
# The reference of the public headers is made without a warning: every function, parameter,
# field and constant is documented.
set -u
: "${top_builddir:?}"
doxygen=$(sed -n 's/^DOXYGEN = //p' "$top_builddir/Makefile")
[ -n "$doxygen" ] && [ "$doxygen" != no ] || { echo "no doxygen"; exit 77; }
make -C "$top_builddir" reference || exit 1
[ -e "$top_builddir/doc/reference/html/index.html" ] || exit 1
# Graphs would want Graphviz.
! ls "$top_builddir"/doc/reference/html/*.map 2>/dev/null
