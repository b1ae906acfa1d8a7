#!/bin/sh
# Modelled time: what blocks on an FPGA take is what the clocks of the design and the
# stated link make, whatever the simulation took; shares follow the clock that counts;
# policies and the estimator go by it; outputs say which it is.
# Time limit: 300 s
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
set -u
[ -e "$top_builddir/bin/fpga/histogram.fpga" ] || { echo "no designs: no verilator"; exit 77; }
OCL_ICD_VENDORS=$top_builddir/bin/fpga/vendors/heddle.icd
STARPU_NCPU=1 STARPU_NOPENCL=1 HEDDLE_PROFILE=0
export OCL_ICD_VENDORS STARPU_NCPU STARPU_NOPENCL HEDDLE_PROFILE
work=fpga_clock.$$
mkdir -p $work
trap 'rm -rf $work' EXIT HUP INT TERM
failures=0
fail() {
	echo "FAILED: $*"
	failures=$((failures + 1))
}

# count CLOCK MHZ STRATEGY: a histogram; the share of the FPGA is left in $share.
count() {
	rm -f $work/log
	HEDDLE_FPGA_TIME=$1 HEDDLE_FPGA_CLOCK=$2 HEDDLE_FPGA_BANDWIDTH=1000 HEDDLE_FPGA_LATENCY=3 \
		HEDDLE_BLOCK_LOG=$work/log "$top_builddir/apps/histogram/histogram" \
		--size 9000001 --sched "$3" --verify --workers cpu,fpga --json $work/json \
		>$work/out 2>&1 || { cat $work/out; fail "$*: exit $?"; }
	grep -q "\"clock\": \"$1\"" $work/json || fail "$*: the report names another clock"
	share=$(awk -F, 'NR > 1 { all += $6; if ($3 == "fpga") ours += $6 }
		END { printf "%d", 1000 * ours / all }' $work/log)
	echo "$*: $share per mille on the FPGA"
}

# Each block: so many clocks, the bytes there, the counters there and back, three
# latencies. A first block of a loop may bring more along. Other programs can only make the
# core slower and the share larger: the least of three runs counts.
slow=1000
for _ in 1 2 3; do
	count modelled 1 hdss
	awk -F, 'NR > 1 && $9 != "modelled" { exit 1 }
		NR > 1 && $3 == "fpga" {
			clocks = $6 * 256 + 256
			link = $6 * 4.096 + 2 * 2.048 + 3 * 3
			us = $8 - $7
			n++
			if (us < clocks + link || us > clocks + 276 + 2 * link + 5) {
				print $0 ": expected " clocks + link " us and a little"
				exit 1
			}
		}
		END { if (!n) { print "no block on the FPGA"; exit 1 } }' $work/log ||
		fail "the modelled times of blocks"
	[ "$share" -ge $slow ] || slow=$share
done
count modelled 100000 hdss
[ "$share" -gt 150 ] || fail "a fast board got $share per mille"
[ "$slow" -lt 150 ] || fail "a slow board got $slow per mille"
count modelled 100 gss
count modelled 100 static
[ "$share" = 499 ] || [ "$share" = 500 ] || fail "an equal share is $share per mille"
count wall 1 hdss
head -n 1 $work/log | grep -q clock && fail "the log of a usual run has another column"

# Not under StarPU's own policies.
HEDDLE_FPGA_TIME=modelled "$top_builddir/apps/histogram/histogram" --size 900001 --sched eager \
	--json $work/json >/dev/null 2>&1
grep -q '"clock": "wall"' $work/json || fail "eager has modelled time"
HEDDLE_FPGA_TIME=moddeled "$top_builddir/apps/histogram/histogram" --size 900001 --sched hdss \
	>$work/out 2>&1 && fail "a wrong value is taken"
grep -q 'HEDDLE_FPGA_TIME=moddeled' $work/out || fail "a wrong value is not named"

for policy in ddwrr odds hdss; do
	for mhz in 1 1000; do
		HEDDLE_FPGA_TIME=modelled HEDDLE_FPGA_CLOCK=$mhz HEDDLE_PROFILE=0 \
			"$top_builddir/tests/fpga/policies" $policy >$work/out 2>&1
		status=$?
		sed "s/^/$policy, $mhz MHz: /" $work/out
		[ $status = 0 ] || fail "$policy at $mhz MHz: exit $status"
	done
done
[ $failures = 0 ]
