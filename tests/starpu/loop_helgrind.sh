#!/bin/sh
# The loop's tests under helgrind, with half of the strategies: no race in it. All under a policy of
# StarPU's, and some under Heddle's.
# Time limit: 900 s
command -v valgrind >/dev/null || exit 77
HEDDLE_TEST_SHORT=1
export HEDDLE_TEST_SHORT
# The real program: what libtool leaves is a script around it.
helgrind() {
	"$top_builddir/libtool" --mode=execute valgrind --tool=helgrind --quiet \
		--suppressions="$top_srcdir/tests/starpu/helgrind.supp" --error-exitcode=9 \
		"$top_builddir/tests/starpu/loop" "$@"
}
STARPU_SCHED=lws helgrind || exit
STARPU_SCHED=heddle helgrind test_slices
