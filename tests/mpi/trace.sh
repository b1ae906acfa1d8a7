#!/bin/sh
# heddle trace on two ranks: one trace has the workers of both, and every block of each.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 300 s
grep -q 'define HEDDLE_HAVE_FUT' "$top_builddir/config.h" || exit 77
grep -q 'define HEDDLE_USE_SIMGRID' "$top_builddir/config.h" && exit 77
. "$top_srcdir/tests/mpi/common.sh"
HEDDLE_BLOCK_LOG=$work/blocks.csv "$top_builddir/bin/heddle-trace" -o "$work/out" -- \
	"$mpirun" -n 2 "$top_builddir/apps/mandelbrot/mandelbrot" --mpi --sched gss --size 2000 --reps 2 \
	>"$work/printed" 2>&1 || fail "exit status: $(cat "$work/printed")"
paje=$work/out/paje.trace
for rank in 0 1; do
	grep -q "^7.*[[:blank:]]${rank}_CPU0" "$paje" || fail "no worker of rank $rank"
	blocks=$(($(wc -l <"$work/blocks-rank$rank.csv") - 1))
	[ "$blocks" -gt 0 ] || fail "rank $rank had no block"
	[ "$(grep -c "prog_event.${rank}_p.\"heddle .* worker 0 completion" "$paje")" = "$blocks" ] ||
		fail "the trace does not have the $blocks blocks of rank $rank"
	[ "$(awk -v r="$rank" '$2 == "rank" && $3 == r { print $5 }' "$work/out/summary.txt")" = "$blocks" ] ||
		fail "blocks of rank $rank in the summary: $(cat "$work/out/summary.txt")"
	grep -q ">CPU0 rank $rank<" "$work/out/trace.svg" || fail "no row of rank $rank"
done
# In the order of time, as viewers want it. The clocks are set: ranks begin with their tasks at about
# the same time, and not one after the other.
awk '$1 ~ /^[0-9]+$/ && $1 > 6 { if ($2 + 0 < last) exit 1; last = $2 + 0 }' "$paje" ||
	fail "times run backwards"
awk -F'\t' '$1 == 9 && $5 ~ /begins its first run/ { n++ } END { exit n != 2 }' "$paje" ||
	fail "the ranks' beginnings: $(grep begins "$paje")"
[ "$failures" = 0 ]
