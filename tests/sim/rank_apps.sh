#!/bin/sh
# The apps over the ranks of a simulated cluster (--mpi): each takes the same time to the digit
# every time, and all ranks take part.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 300 s
. "$top_srcdir/tests/tools/common.sh"
[ -x "$top_builddir/apps/smpi/floyd" ] || { echo "skipped: StarPU was not built for SMPI"; exit 77; }
export STARPU_FXT_TRACE=0 STARPU_SCHED=hdss

# The times below are those of these versions; others may have other ones.
known=no
grep -q 'STARPU_LIBS = .*starpu-1\.3' "$top_builddir/Makefile" &&
	smpirun -version 2>&1 | grep -q 'SimGrid version 3\.32' && known=yes

network=12500:2
# takes US APP ARGUMENT...
takes() {
	exact=$1 app=$2
	shift 2
	expect 0 'repetition 1: ' "$top_builddir/bin/heddle-simulate" --platform 2cpu \
		--ranks 4 --network "$network" -- "$top_builddir/apps/smpi/$app" --mpi --reps 1 "$@"
	us=$(sed -n 's/.*repetition 1: \([0-9.]*\) us.*/\1/p' "$work/out")
	echo "$app: $us us"
	[ "$known" = no ] || [ "$us" = "$exact" ] || fail "$app: $us us, not $exact"
	# Lines of ranks begin with their number, and the third column is what they did.
	awk '$1 == "rank" { ranks = 1; next }
		ranks && $1 ~ /^[0-3]$/ && $NF !~ /^CPU/ { seen++; idle += ($2 + $3 == 0) }
		END { exit seen != 4 || idle }' "$work/out" ||
		fail "$app: not all ranks did something: $(cat "$work/out")"
}
# again US APP ARGUMENT...: the second repetition, which begins with what the first one learned.
again() {
	exact=$1 app=$2
	shift 2
	expect 0 'repetition 2: ' "$top_builddir/bin/heddle-simulate" --platform 2cpu \
		--ranks 4 --network "$network" -- "$top_builddir/apps/smpi/$app" --mpi --reps 2 "$@"
	us=$(sed -n 's/.*repetition 2: \([0-9.]*\) us.*/\1/p' "$work/out")
	echo "$app again: $us us"
	[ "$known" = no ] || [ "$us" = "$exact" ] || fail "$app again: $us us, not $exact"
}
takes 131267.2 blackscholes --size 1M
takes 446.3 boxfilter --size 2048
again 419.3 boxfilter --size 2048
takes 339.3 histogram --size 4M
takes 279.2 mandelbrot --size 1024
takes 135125.3 floyd --size 1000
takes 257387.4 heat2d --size 1000 --sweeps 2
takes 131064.1 strmatch --size 1000
takes 281845.5 nbia --size 4096 --recalc 16
# A row takes 1 us to compute and 270 us to send there and back: all rows stay where they are. Rows of
# windows come while the others are computed.
network=125:50
takes 5694.2 boxfilter --size 16384
[ "$failures" = 0 ]
