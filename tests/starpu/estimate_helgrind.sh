#!/bin/sh
# The estimator's tests under helgrind: no race among threads that ask and tell.
# Time limit: 300 s
command -v valgrind >/dev/null || exit 77
# The real program: what libtool leaves is a script around it.
exec "$top_builddir/libtool" --mode=execute valgrind --tool=helgrind --quiet \
	--suppressions="$top_srcdir/tests/starpu/helgrind.supp" --error-exitcode=9 \
	"$top_builddir/tests/starpu/estimate"
