#!/bin/sh
# The apps cholesky and lu on simulated machines: those that StarPU has measured, and described
# ones. All tasks are done, no number is computed, and every run is the same.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 300 s
. "$top_srcdir/tests/tools/common.sh"
[ -x "$top_builddir/apps/cholesky/cholesky" ] || exit 77
models=/usr/share/starpu/perfmodels/sampling
quiet=--log=root.thres:warning

# us REPORT: its first time. tasks REPORT: all it counts.
us() { sed -n '/"us"/{n;s/[ ,]*//g;p;q}' "$1"; }
tasks() { sed -n '/"tasks": \[/,/\]/s/.*": \([0-9]*\).*/\1/p' "$1" | awk '{ n += $1 } END { print n }'; }

# measured MACHINE APP ARGUMENT...: on a machine that StarPU ships.
measured() {
	machine=$1 app=$2
	shift 2
	STARPU_HOSTNAME=$machine STARPU_PERF_MODEL_DIR=$models "$top_builddir/apps/$app/$app" $quiet \
		--reps 1 --json "$work/report" "$@" >"$work/out" 2>&1
}
if [ -e $models/codelets/45/chol_model_22.mirage ]; then
	unset STARPU_NCPU STARPU_NCUDA
	# StarPU's own example takes 847 ms under dmdas.
	measured mirage cholesky --size 15360 --tile 960 --sched dmdas || fail "mirage: $(cat "$work/out")"
	[ "$(tasks "$work/report")" = 816 ] || fail "mirage: not all tasks were run"
	awk "BEGIN { t = $(us "$work/report"); exit !(t > 750000 && t < 950000) }" ||
		fail "mirage took $(us "$work/report") us"
	cp "$work/report" "$work/first"
	for run in 2 3; do
		measured mirage cholesky --size 15360 --tile 960 --sched dmdas
		cmp "$work/report" "$work/first" || fail "mirage: run $run differs"
	done
	# A plan beats the order of completion times.
	measured mirage cholesky --size 11520 --tile 960 --sched dmdas || fail "$(cat "$work/out")"
	stock=$(us "$work/report")
	measured mirage cholesky --size 11520 --tile 960 --sched heddle || fail "$(cat "$work/out")"
	awk "BEGIN { exit !($(us "$work/report") < $stock) }" ||
		fail "mirage: heddle took $(us "$work/report") us, dmdas $stock"
	measured mirage lu --size 3200 --tile 320 --sched odds || fail "lu: $(cat "$work/out")"
	[ "$(tasks "$work/report")" = 385 ] || fail "lu: not all tasks were run"
	measured mirage lu --size 3200 --tile 640 --sched lws --double || fail "$(cat "$work/out")"
	# Its cores have no times.
	measured hannibal cholesky --size 3840 --tile 960 --sched eager || fail "$(cat "$work/out")"
	grep -q "gemm *4 cuda$" "$work/out" || fail "hannibal: $(cat "$work/out")"
	measured mirage cholesky --size 1000 --tile 500 && fail "times that nobody measured"
	grep -q "no times of spotrf on tiles of 500 rows" "$work/out" || fail "$(cat "$work/out")"
	measured mirage cholesky --size 1000 --tile 320 && fail "times of tiles of another size"
	grep -q "must be a multiple of --tile 320" "$work/out" || fail "$(cat "$work/out")"
	measured mirage cholesky --size 960 --tile 320 --double && fail "times in double precision"
	grep -q "no times of dpotrf" "$work/out" || fail "$(cat "$work/out")"
fi

# On a described machine a rate is in Gflop/s: a tile of 1000 takes 1e9/3 flops.
simulate() {
	platform=$1 app=$2
	shift 2
	"$top_builddir/bin/heddle-simulate" --platform "$platform" -- "$top_builddir/apps/$app/$app" \
		$quiet --reps 1 --json "$work/report" "$@" >"$work/out" 2>&1
}
simulate 1cpu=10 cholesky --size 1000 --tile 1000 --sched eager || fail "$(cat "$work/out")"
awk "BEGIN { exit !($(us "$work/report") - 33333 < 50) }" || fail "1 core took $(us "$work/report") us"
for app in cholesky lu; do
	simulate 3cpu=30+2gpu30 $app --size 3333 --tile 300 --double --sched ddwrr ||
		fail "$app: $(cat "$work/out")"
	grep -q "gemm.* cuda" "$work/out" || fail "$app: accelerators idle: $(cat "$work/out")"
done
# More than main memory has.
simulate 2cpu=1000 lu --size 650000 --tile 65000 --sched lws || fail "$(cat "$work/out")"
[ "$failures" = 0 ]
