#!/bin/sh
# What is not known of a task graph is tried in time.
set -u
: "${top_builddir:?}"
failures=0
for sched in ddwrr odds heddle; do
	for first_us in 0 300000; do
		echo "$sched, first runs $first_us us longer"
		told=$(timeout 120 "$top_builddir/tests/sim/graph" "$sched" "$first_us" 2>&1)
		status=$?
		echo "$told" | grep -v xbt_cfg
		[ "$status" = 0 ] || failures=$((failures + 1))
	done
done
[ "$failures" = 0 ]
