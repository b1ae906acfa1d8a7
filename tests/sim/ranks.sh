#!/bin/sh
# A loop, a flow and a wavefront over the ranks of simulated clusters: exact, and near to what
# all nodes together can do.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 600 s
. "$top_srcdir/tests/tools/common.sh"
simulate=$top_builddir/bin/heddle-simulate

# Wrong use.
expect 2 'ranks 1: not a whole number from 2 to 4096' "$simulate" --platform 2cpu --ranks 1 -- true
expect 2 'ranks x: not a whole number' "$simulate" --platform 2cpu --ranks x -- true
expect 2 '"125" is not a network' "$simulate" --platform 2cpu --ranks 2 --network 125 -- true
expect 2 '"0:5" is not a network' "$simulate" --platform 2cpu --ranks 2 --network 0:5 -- true
expect 2 '--network is between ranks' "$simulate" --platform 2cpu --network 125:50 -- true

# tools/setup sim-mpi makes it.
program=$top_builddir/tests/sim/ranks
[ -x "$program" ] ||
	expect 2 'this build is not for SMPI' "$simulate" --platform 2cpu --ranks 2 -- true
[ "$failures" = 0 ] || exit 1
[ -x "$program" ] || { echo "skipped: StarPU was not built for SMPI"; exit 77; }
expect 2 'differ in nothing but speed' "$simulate" --platform 2cpu,3cpu --ranks 2 -- "$program"
expect 1 'none: No such file' "$simulate" --platform 2cpu --ranks 2 -- "$work/none"
export STARPU_FXT_TRACE=0

network=12500:2

# on PLATFORM RANKS CASE N [SEED]: sets us and shares, what each rank did; twice the same.
on() {
	for run in 1 2; do
		"$simulate" --platform "$1" --ranks "$2" --network "$network" -- "$program" \
			"$3" "$4" ${5:+"$5"} >"$work/out$run" 2>"$work/messages" || {
			fail "$*: $(tail -n 20 "$work/messages")"
			exit 1
		}
	done
	cmp "$work/out1" "$work/out2" || fail "$*: other numbers: $(cat "$work/out1" "$work/out2")"
	us='' shares=''
	read -r us shares <"$work/out1"
	echo "$*: $us us, $shares"
}

# within LEAST MOST: the time.
within() {
	awk -v us="$us" -v least="$1" -v most="$2" 'BEGIN { exit !(us >= least && us <= most) }' || fail "$us us, not $1 to $2"
}

# all N: ranks did so many together.
all() {
	echo "$shares" | awk -v all="$1" '{ for (i = 1; i <= NF; i++) sum += $i } END { exit sum != all }' ||
		fail "$shares are not $1"
}

# Two cores do 2 iterations in a microsecond, or 1 on nodes with an odd number: 6 on four nodes.
STARPU_SCHED=heddle
export STARPU_SCHED
on 2cpu 4 loop 4000000
within 666666 676000
all 4000000
# Rank 0 answers 64 nodes at once: 48 iterations in a microsecond. Where it took one message at each look
# they waited for it more than half of the time.
on 1cpu 64 loop 320000
within 6666 7600
all 320000
# What messages to different ranks take differs. The mean of short ones alone made ranges so short that
# ranks waited for rank 0: 7224 us on 32 nodes, and 9075 instead of 7402 on 256.
on 1cpu 32 loop 160000
within 6666 7180
all 160000
# Iterations cost 1 to 4 us, by their place. Ranks whose own are cheap steal too many; where others did not
# get some of these, it was 268892 us.
on 1cpu 8 dear 800000
within 250000 254000
all 800000
# Ranks are up to 20 times slower than others. Where a block of a slow one was a tenth of its part, others
# were done before it was: 35266 us.
on 1cpu 24 drawn 240000 12
within 26129 26800
all 240000
# All read 64 MiB of rank 0, which come in 17 ms before the loop begins, and in 2.1 s through another
# network. Where those counted as the loop's, nothing was worth while to steal: 20109 us.
on 1cpu 4 spread 40000
within 13333 13600
all 40000
network=100:2
on 1cpu 4 spread 40000
within 13333 13600
all 40000
network=12500:2
# Alike ranks have nothing to steal. Where those whose messages came a little late seemed slow, and each
# asked for what it begins with: 5328 us.
on 1cpu 32 alike 160000
within 5000 5200
all 160000
# A message takes 200 us, and the last one comes much later where rank 0 sends 512 bytes to each: 11746 us
# with that, and where it waits for all to say bye. It takes no message to hear of itself: 10803 us.
network=125:50
on 2cpu 64 alike 1280000
within 10000 10600
all 1280000
# Who gives iterations up sends them itself, and late help is none: 15382 us where rank 0 handed them on.
on 2cpu 16 loop 320000
within 13333 14500
all 320000
# A rank is asked for several thieves: 38851 us where one that is slow was asked for one after the other.
on 2cpu 16 drawn 320000 103
within 35816 38200
all 320000
network=12500:2
# cluster SEED RUN LEAST: a drawn cluster; that run of the loop takes no longer than the bound over LEAST.
cluster() {
	machine=$("$simulate" --platform 1cpu --ranks 2 -- "$program" machine "$1" 2>"$work/messages") ||
		fail "machine $1: $(cat "$work/messages")"
	# shellcheck disable=SC2086 # options
	"$simulate" $machine -- "$program" cluster "$1" 3 >"$work/out" 2>"$work/messages" ||
		fail "cluster $1: $(cat "$work/messages")"
	echo "cluster $1, $machine: $(cat "$work/out")"
	awk -v run="$2" -v least="$3" '{ exit !($1 >= least * $(2 + run)) }' "$work/out" ||
		fail "cluster $1: run $2 is below $3 of the bound"
}
# A slow core has a large part, of which it once began blocks that lasted half of the loop: 0.928.
cluster 1 3 0.94
# Links are slow. Where fast ranks asked only when they were nearly done: 0.692.
cluster 26 2 0.85
# A core and an accelerator need 600000 us for 800 small and 100 large pieces.
for STARPU_SCHED in odds ddwrr; do
	on 1cpu+gpu10 2 flow 1600
	within 600000 612000
	all 1800
done
# Nodes wait for the last row of the one before, not for all its bands: 2000000 us of work for
# each of eight cores, and less than 5 % to begin and to end.
STARPU_SCHED=heddle
on 2cpu 4 wavefront 4000
within 2000000 2100000
all 4000

# The clusters of Andronikos et al. (Performance Evaluation 67, 2010), table 1, with messages that are
# sent on Fast Ethernet: ten kids, six twins, five of each. A smaller image than theirs. The time that
# the model predicts of its interval and of given ones is within 3 % of the simulated one, and its interval
# within 2 % of the best of these.
STARPU_SCHED=heddle
kid=1cpu=1.901 twin=1cpu=3.135
# experiment NUMBER PLATFORM RANKS CASE...: with three more intervals.
experiment() {
	number=$1 platform=$2 ranks=$3
	shift 3
	"$simulate" --platform "$platform" --ranks "$ranks" --network 12.5:60 -- \
		"$program" "$@" >"$work/out" 2>"$work/messages" ||
		fail "experiment $number: $(tail -n 20 "$work/messages")"
	awk -v number="$number" 'NR == 1 { h = $1; predicted = $2; model = best = $3 }
		$3 > 1.03 * $2 || $3 < .97 * $2 { wrong = 1 }
		$3 < best { best = $3 }
		END { away = model / predicted - 1
		printf "experiment %s: h %d, predicted %.0f us, simulated %.0f us (%+.2f %%), %.2f %% above the best\n",
			number, h, predicted, model, 100 * away, 100 * (model / best - 1)
		exit !(NR == 4 && !wrong && model < 1.02 * best) }' "$work/out" ||
		fail "experiment $number: $(cat "$work/out")"
}
experiment 1 "$kid" 10 interval 4000 3 9 20
experiment 2 "$twin" 6 interval 4000 3 9 20
experiment 3 "$twin,$kid" 10 interval 4000 3 9 20
# Several sweeps: messages travel while workers compute there, too.
experiment sweeps "$kid" 10 sweeps 1000 6 2 3 20
# Unequal ranks compute rows that lie on others.
experiment 'unequal sweeps' "$twin,$kid" 10 sweeps 1000 6 3 5 20
[ "$failures" = 0 ]
