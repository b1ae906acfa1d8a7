#!/bin/sh
# The loop's tests under helgrind, with half of the strategies: no race in it.
# Time limit: 600 s
command -v valgrind >/dev/null || exit 77
HEDDLE_TEST_SHORT=1
export HEDDLE_TEST_SHORT
# The real program: what libtool leaves is a script around it.
exec "$top_builddir/libtool" --mode=execute valgrind --tool=helgrind --quiet \
	--suppressions="$top_srcdir/tests/starpu/helgrind.supp" --error-exitcode=9 \
	"$top_builddir/tests/starpu/loop"
