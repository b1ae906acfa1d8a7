#!/bin/sh
# The README's example is the one that is compiled, and it runs.
set -eu
example=$top_srcdir/doc/examples/axpy.c
lines=$(wc -l <"$example")
expand "$example" | sed '/./s/^/    /' >axpy.expected
grep -n -A "$lines" '^    #include <heddle/heddle.h>' "$top_srcdir/README" |
	sed 's/^[0-9]*[:-]//' | head -n "$lines" >axpy.found
status=0
diff axpy.expected axpy.found || status=1
rm -f axpy.expected axpy.found
if grep -q 'define HEDDLE_USE_SIMGRID' "$top_builddir/config.h"; then
	exit "$status" # nothing to run it on
fi
for policy in hdss gss eager; do
	STARPU_SCHED=$policy "$top_builddir/doc/examples/axpy" || status=1
done
exit "$status"
