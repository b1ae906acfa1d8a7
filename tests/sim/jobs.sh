#!/bin/sh
# A stream of jobs whose parameters never come twice, half of which an accelerator does twenty times
# as fast as a core, and half half as fast: Heddle's policies learn from parameters which is which.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 300 s
. "$top_srcdir/tests/tools/common.sh"

awk 'BEGIN {
	for (i = 1; i <= 600; i++) {
		size = 10000 + 7 * i
		if (i % 2) print "wide", size, size / 20, "size=" size
		else print "narrow", size, 2 * size, "size=" size
	}
}' >"$work/jobs"

platform=4cpu+gpu20
# simulate POLICY SOURCES [estimates [WAITING]]: sets part, of the bound.
simulate() {
	STARPU_SCHED=$1 HEDDLE_ESTIMATE=$2 "$top_builddir/bin/heddle-simulate" --platform "$platform" -- \
		"$top_builddir/tests/sim/jobs" "$work/jobs" 1 "${4:-64}" ${3:+"$3"} >"$work/out" 2>"$work/messages" ||
		fail "$*: $(cat "$work/out" "$work/messages")"
	part=$(awk '{ print $2 / $1 }' "$work/out")
	echo "$1, $2: $part of the bound"
}

for policy in ddwrr odds; do
	simulate $policy online,neighbours
	awk "BEGIN { exit !($part >= 0.72 && $part <= 1) }" || fail "$policy: $part of the bound"
	first=$part
	simulate $policy online
	awk "BEGIN { exit !($part < $first) }" || fail "$policy: $part without neighbours"
done

# dmda places jobs by the estimator, which has seen none before: by parameters it learns, by each job's
# own times it does not.
simulate dmda online,neighbours estimates
first=$part
simulate dmda online estimates
awk "BEGIN { exit !($part < 0.9 * $first && $first < 1) }" ||
	fail "dmda: $part without neighbours, $first with them"

# What an accelerator does no faster than a core: dmda believes otherwise, and has never tried a core.
awk 'BEGIN { for (i = 1; i <= 3000; i++) print "deceiving", 3000 + i, 3000 + i, "size=" 3000 + i }' \
	>"$work/jobs"
simulate dmda online,neighbours estimates 4
awk "BEGIN { exit !($part >= 0.55 && $part <= 1) }" || fail "dmda: $part, a core was never tried"

# What a core does 285 times as slowly, by 15 cores: each tries one, and none begins another before it
# is known how long the first ones take.
awk 'BEGIN { for (i = 1; i <= 384; i++) print "far", 6565, 23, "size=1" }' >"$work/jobs"
platform=15cpu+gpu20
simulate dmda online,neighbours estimates
awk "BEGIN { exit !($part >= 0.55 && $part <= 1) }" || fail "dmda: $part, cores began much that takes long"
platform=4cpu+gpu20

# Jobs of four kinds and very unequal lengths, on which nothing depends: heddle needs no plan.
awk 'BEGIN {
	for (i = 1; i <= 600; i++) {
		size = int(exp(5 + 5 * (i * 0.618034 % 1)))
		kind = i % 4
		us = kind == 0 ? size / 3 : kind == 1 ? size / 12 : kind == 2 ? size / 30 : 1.5 * size
		print "kind" kind, size, 20 + us, "size=" size
	}
}' >"$work/jobs"
simulate ddwrr online,neighbours
first=$part
simulate heddle online,neighbours
awk "BEGIN { exit !($part >= 0.95 * $first && $part <= 1) }" || fail "heddle: $part of the bound"

# So few of them that most became ready when nothing was known, and several memories.
platform=8cpu+2gpu10
simulate heddle online,neighbours
awk "BEGIN { exit !($part >= 0.65 && $part <= 1) }" || fail "heddle: $part of the bound"
platform=4cpu+gpu20
head -n 120 "$work/jobs" >"$work/few" && mv "$work/few" "$work/jobs"
for policy in ddwrr heddle; do
	simulate $policy online,neighbours
	awk "BEGIN { exit !($part >= 0.65 && $part <= 1) }" || fail "$policy: $part of the bound"
done

# The table of sampled jobs: a row for a codelet and one for all, in two orders.
mkdir "$work/profiles"
for size in 10 20 30 40 50 60; do
	echo "task size=$size device=\"cpu X(R)\" near=1 : at=1 samples=1 us=$((size * 10))"
	echo "task size=$size device=\"cuda Y(R)\" near=1 : at=1 samples=1 us=$((size * 5))"
done >"$work/profiles/few.profile"
table="$top_srcdir/tests/sim/jobs-table --builddir $top_builddir"
HEDDLE_PROFILE_DIR=$work/profiles $table --orders 2 few=10 >"$work/out" || fail "jobs-table"
[ "$(grep -c '^few,0\.\|^few,1\.0\|^all,0\.\|^all,1\.0' "$work/out")" = 2 ] ||
	fail "jobs-table: $(cat "$work/out")"
# With a device's own times, half of the core's: 2100 us of cores, of which 4 cores and it do 6 in one.
HEDDLE_PROFILE_DIR=$work/profiles $table few=cuda >"$work/out" || fail "jobs-table: a device's times"
grep -q '^few,.*,350$' "$work/out" || fail "jobs-table: a device's times: $(cat "$work/out")"
HEDDLE_PROFILE_DIR=$work/profiles $table few=opencl >"$work/out" 2>&1 && fail "jobs-table: no such device"
grep -q 'few=opencl: no jobs' "$work/out" || fail "jobs-table: $(cat "$work/out")"
$table --orders 0 few=10 2>/dev/null && fail "jobs-table: no orders"
[ "$failures" = 0 ]
