#!/bin/sh
# Wavefronts over two and four ranks on this machine: random ones give exactly what a plain
# computation gives, wrong use is refused on all ranks, and a rank that ends or hangs ends the run.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 600 s
. "$top_srcdir/tests/mpi/common.sh"
waves=$top_builddir/tests/mpi/waves
seed=${HEDDLE_TEST_SEED:-$(date +%s)}
echo "seed $seed"

# Every extent, layout and strategy, one sweep and several; then ranks that are late and slow.
expect 0 ', 0 failures' ranks 2 "$waves" random "$seed" 30
expect 0 ', 0 failures' ranks 4 "$waves" random "$((seed + 1))" 16
expect 0 ', 0 failures' ranks 4 "$waves" random "$((seed + 2))" 8 delays
STARPU_NCPU=2 STARPU_SCHED=hdss expect 0 ', 0 failures' ranks 2 "$waves" random "$((seed + 3))" 10
expect 0 ', 0 failures' ranks 1 "$waves" random "$((seed + 4))" 10
# As over several machines: nobody wakes anybody.
HEDDLE_NODE_BELLS=0 expect 0 ', 0 failures' ranks 3 "$waves" random "$((seed + 6))" 6
STARPU_SCHED=eager expect 0 ', 0 failures' ranks 3 "$waves" random "$((seed + 5))" 6
[ "$failures" = 0 ] || exit 1

# Where the field lies on one rank the others have their rows of it, however many sweeps there are.
expect 0 ': 0 failures' ranks 4 "$waves" memory
# A rank that sleeps for long is rung for all that it waits for.
LAUNCHER_LIMIT=120 expect 0 ': 0 failures' ranks 2 "$waves" rung
LAUNCHER_LIMIT=120 expect 0 ': 0 failures' ranks 4 "$waves" rung

# refused CASE TEXT: all ranks say the same, and none runs anything.
refused() {
	expect 0 "$2" ranks 4 "$waves" "$1"
	[ "$(grep -c "$2" "$work/out")" = 4 ] || fail "$1: not on 4 ranks: $(cat "$work/out")"
	[ "$(grep -c "^rank [0-3]: $1: -" "$work/out")" = 4 ] || fail "$1: $(cat "$work/out")"
}
refused rows 'rows: 150 on rank 0 and 149 on rank 1'
refused sweeps 'sweeps: 2 on rank 0 and 1 on rank 1'
refused tiles 'columns of a tile: 8 on rank 0 and 7 on rank 1'
refused bands 'bands per worker: 0 on rank 0 and 2 on rank 1'
refused vector 'dependence 0 is (sweep 0, row 0, column 1) on rank 0 and (sweep 0, row 0, column 2)'
refused backwards 'rank 1 on .* refuses its wavefront: Invalid argument'
refused codelet 'the codelet is "fails" on rank 0 and "other" on rank 1'
refused mode 'the mode of array 1 is RW on rank 0 and R on rank 1'
refused extent 'the extent of array 1 is FIELD_HALO on rank 0 and FIELD on rank 1'
refused layout 'the layout of array 1 is EVERYWHERE on rank 0 and BLOCKS on rank 1'
refused length 'the length of array 1 is 150 on rank 0 and 151 on rank 1'
refused strategy 'rank 1 cannot begin: Invalid argument'
# It has begun on some ranks then.
refused overlap 'rank 1 cannot begin: Invalid argument'
refused beyond '151 rows reach beyond array 1, which has 150'
refused rank 'rank 0 on .* refuses its wavefront: Invalid argument'
refused fail 'it failed on rank 1: Numerical argument out of domain'
[ "$(grep -c '^rank [0-3]: again: 0' "$work/out")" = 4 ] ||
	fail "a wavefront that failed does not run again: $(cat "$work/out")"

refused_version "$waves"

ended "$waves" die ''
ended "$waves" exit ''
ended "$waves" hang 'rank 1 has not been heard of for 3 s'
ended "$waves" 'hang first' 'rank 0 has not been heard of for 3 s'
ended "$waves" absent 'after 3 s .*these ranks have not begun this wavefront: 1'
ended "$waves" 'absent first' 'rank 0, or a rank that it waits for, has not begun this wavefront within 6 s'
[ "$failures" = 0 ]
