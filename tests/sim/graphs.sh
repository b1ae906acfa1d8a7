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

# run_limit SEED MACHINE LIMIT MESSAGE GRAPHS_ARGUMENT...
run_limit() {
	seed=$1 machine=$2 limit=$3 message=$4
	shift 4
	us=$(env HEDDLE_PROFILE=0 STARPU_SCHED=heddle ${estimate:+"$estimate"} \
		"$top_builddir/bin/heddle-simulate" --platform "$machine" -- \
		"$top_builddir/tests/sim/graphs" "$seed" "$@" 2>"$work/messages" |
		sed -n 's/^[a-z]* \([0-9 ]* \)*\([0-9]*\) us.*/\2/p')
	echo "$seed: $us us"
	[ "${us:-999999}" -lt "$limit" ] || fail "$message: $us us"
}

estimate=HEDDLE_ESTIMATE=online,neighbours
# Short tasks of one type with priorities: cores rest while nobody has run one, and come when the GPU
# has.
run_limit 2013 5cpu+1gpu1@17076:1 12000 "cores rested" 1 blind

# Tasks of 3 ms on eight GPUs, whose inputs take 6 ms: a GPU that took a task from another one did not
# count how long its inputs would wait.
run_limit 1796081515 idgraf 700000 "GPUs took tasks from each other while links were busy" 1 blind

# All tasks come before anybody has run one.
run_limit 60458 4cpu+6gpu1@7424:6 12000 "two of six GPUs did the most" 1 blind

# What takes a GPU 4 ms takes a core 142, and all that is left would take 17. And 1 and 48 ms.
run_limit 20528 idgraf 100000 "a core tried what delays the end" 1 blind
run_limit 20388 1cpu+7gpu1@6173:1 40000 "a core tried what delays the end" 1 blind

# Of two types one takes the GPUs far longer for its bytes, and a core no longer.
run_limit 13000038 11cpu+2gpu1@10434:9 95000 "no core tried what does not suit GPUs" 1 blind

# Memories are full, and each plan has the task done by a worker that waits.
export STARPU_LIMIT_CUDA_MEM=64
estimate='' run_limit 31040 1cpu+7gpu1@5561:28 300000 "all waited" 2
unset STARPU_LIMIT_CUDA_MEM

# A core and GPUs with links of their own: as if these were one, the core would do what takes it 30
# times as long.
estimate=
run_limit 1795945808 1cpu+4gpu1@2062:4 60000 \
	"transfers to several GPUs were taken to wait for each other" 2

# A stream on GPUs that share a link: by its own throughput one would claim 16 tasks.
run_limit 9500537 7cpu+3gpu1@3894:5 10500 "GPUs claimed too many or too few tasks" 2
[ "$failures" = 0 ]
