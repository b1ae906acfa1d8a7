#!/bin/sh
# The tests of flows under helgrind, with one policy: no race in them.
# Time limit: 300 s
command -v valgrind >/dev/null || exit 77
# The real program: what libtool leaves is a script around it.
HEDDLE_TEST_SHORT=1 exec "$top_builddir/libtool" --mode=execute valgrind --tool=helgrind --quiet \
	--suppressions="$top_srcdir/tests/starpu/helgrind.supp" --error-exitcode=9 \
	"$top_builddir/tests/starpu/flow"
