#!/bin/sh
# What is not known of a task graph is tried in time.
set -u
: "${top_builddir:?}"
failures=0
# run ARG…
run() {
	echo "$*"
	told=$("$top_builddir/tests/sim/graph" "$@" 2>&1)
	status=$?
	echo "$told" | grep -v xbt_cfg
	[ "$status" = 0 ] || failures=$((failures + 1))
}
for sched in ddwrr odds heddle; do
	for first_us in 0 300000; do
		run "$sched" "$first_us"
	done
done
run flops
run near
run chains 1
run chains 100
seed=${HEDDLE_TEST_SEED:-$(date +%s)}
for n in 1 2 3 4 5 6 7 8; do
	run random "$((seed + n))"
done
[ "$failures" = 0 ]
