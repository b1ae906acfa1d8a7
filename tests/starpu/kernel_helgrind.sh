#!/bin/sh
# Launches while a kernel is analysed, under helgrind: no race in the kernel cache and in launches.
# Time limit: 300 s
command -v valgrind >/dev/null || exit 77
# The real program: what libtool leaves is a script around it.
TEST_DEVICES='basic basic'
TEST_WITH="$top_builddir/libtool --mode=execute valgrind --tool=helgrind --quiet \
	--suppressions=$top_srcdir/tests/starpu/helgrind.supp --error-exitcode=9"
export TEST_DEVICES TEST_WITH
exec sh "$top_srcdir/tests/starpu/kernel_cache.sh"
