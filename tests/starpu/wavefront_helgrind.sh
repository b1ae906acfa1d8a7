#!/bin/sh
# The wavefront's tests under helgrind, fewer rounds of them: no race in it, nor in parts of one.
# Time limit: 600 s
command -v valgrind >/dev/null || exit 77
HEDDLE_TEST_SHORT=1
export HEDDLE_TEST_SHORT
for program in wavefront wavefront_parts; do
	"$top_builddir/libtool" --mode=execute valgrind --tool=helgrind --quiet \
		--suppressions="$top_srcdir/tests/starpu/helgrind.supp" --error-exitcode=9 \
		"$top_builddir/tests/starpu/$program" || exit
done
