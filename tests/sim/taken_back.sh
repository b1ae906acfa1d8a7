#!/bin/sh
# StarPU is shut down while inputs are on their way for tasks that others have done.
set -u
: "${top_builddir:?}"
failures=0
for sched in hdss gss static ddfcfs ddwrr odds; do
	told=$(timeout 60 "$top_builddir/tests/sim/taken_back" "$sched" 2>&1) && continue
	echo "$told" | grep -v xbt_cfg
	failures=$((failures + 1))
done
[ "$failures" = 0 ]
