#!/bin/sh
# Apps and the example over ranks of this machine.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 200 s
. "$top_srcdir/tests/mpi/common.sh"
apps=$top_builddir/apps
# StarPU has not measured this machine yet.
STARPU_HOME=$work/cold expect 0 'verified' ranks 4 "$apps/blackscholes/blackscholes" --mpi --verify --size 1000
expect 0 'verified' ranks 4 "$apps/blackscholes/blackscholes" --mpi --verify --sched hdss --size 300001
expect 0 'verified' ranks 2 "$apps/blackscholes/blackscholes" --mpi --verify --size 0
expect 0 'verified' ranks 3 "$apps/histogram/histogram" --mpi --verify --sched gss --size 5000001
expect 0 'verified' ranks 3 "$apps/boxfilter/boxfilter" --mpi --verify --size 300
expect 0 'verified' ranks 4 "$apps/mandelbrot/mandelbrot" --mpi --verify --size 300
# Rank 0 alone reads and writes.
printf 'spot,strike,years\n100,110,1\n50,40,2\n60,60,3\n' >"$work/in.csv"
expect 0 '' "$apps/blackscholes/blackscholes" --input "$work/in.csv" --output "$work/one.csv"
expect 0 'rank ' ranks 3 "$apps/blackscholes/blackscholes" --mpi --input "$work/in.csv" \
	--output "$work/three.csv" --json "$work/json"
cmp "$work/one.csv" "$work/three.csv" || fail "other results: $(cat "$work/three.csv")"
[ "$(grep -c '"ranges"' "$work/json")" = 3 ] || fail "JSON: $(cat "$work/json")"
expect 2 'no such file\|No such file' ranks 2 "$apps/blackscholes/blackscholes" --mpi --input "$work/none.csv"
expect 2 'does not run over ranks' "$apps/spmv/spmv" --mpi
for strategy in static css:chunk=1000 gss; do
	HEDDLE_NODE_STRATEGY=$strategy
	export HEDDLE_NODE_STRATEGY
	expect 0 'verified' ranks 2 "$apps/blackscholes/blackscholes" --mpi --verify --reps 1
done
HEDDLE_NODE_STRATEGY=best
expect 2 '"best" is not a block strategy' ranks 2 "$apps/blackscholes/blackscholes" --mpi
unset HEDDLE_NODE_STRATEGY
expect 0 'rank 3: 0 wrong' ranks 4 "$top_builddir/doc/examples/ranks"
[ "$failures" = 0 ]
