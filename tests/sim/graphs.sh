#!/bin/sh
# Random task graphs on simulated machines: each task runs once, and after what it depends on.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 200 s
. "$top_srcdir/tests/tools/common.sh"

seed=${HEDDLE_TEST_SEED:-$(date +%s)}
echo "HEDDLE_TEST_SEED=$seed"
# The kernels of the first one are asynchronous, of types that no GPU has run when they start.
for graph in 2007 "$seed" "$((seed + 1))"; do
	machine=$("$top_builddir/tests/sim/graphs" "$graph")
	for policy in heddle odds hdss dmdas; do
		echo "$graph, $machine, $policy"
		STARPU_SCHED=$policy HEDDLE_ESTIMATE=online,neighbours \
			"$top_builddir/bin/heddle-simulate" --platform "$machine" -- \
			"$top_builddir/tests/sim/graphs" "$graph" 2 blind >"$work/out" 2>"$work/messages" ||
			fail "$graph, $policy: $(tail -n 5 "$work/messages")"
		cat "$work/out"
		grep -q 'us: ' "$work/out" || fail "$graph, $policy: the simulation ended early"
	done
done

# Short tasks of one type with priorities: cores rest while nobody has run one, and come when the GPU
# has.
# first_run SEED MACHINE LIMIT MESSAGE
first_run() {
	us=$(HEDDLE_PROFILE=0 STARPU_SCHED=heddle HEDDLE_ESTIMATE=online,neighbours \
		"$top_builddir/bin/heddle-simulate" --platform "$2" -- \
		"$top_builddir/tests/sim/graphs" "$1" 1 blind 2>"$work/messages" |
		sed -n 's/^[a-z]* \([0-9]*\) us.*/\1/p')
	echo "$1: $us us"
	[ "${us:-99999}" -lt "$3" ] || fail "$4: $us us"
}
first_run 2013 5cpu+1gpu1@17076:1 12000 "cores rested"

# All tasks come before anybody has run one.
first_run 60458 4cpu+6gpu1@7424:6 12000 "two of six GPUs did the most"
[ "$failures" = 0 ]
