#!/bin/sh
# StarPU is shut down while inputs are on their way for tasks that others have done, or while
# there is no room for them.
set -u
: "${top_builddir:?}"
failures=0
for sched in hdss gss static ddfcfs ddwrr odds; do
	for memory in '' 48; do
		told=$("$top_builddir/tests/sim/taken_back" "$sched" $memory 2>&1) &&
			continue
		echo "$sched${memory:+, $memory MiB}: $told" | grep -v xbt_cfg
		failures=$((failures + 1))
	done
done
[ "$failures" = 0 ]
