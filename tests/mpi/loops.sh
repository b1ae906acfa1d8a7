#!/bin/sh
# Loops over two and four ranks on this machine: random ones give exactly what a plain computation
# gives, wrong use is refused on all ranks, and a rank that ends or hangs ends the run.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 300 s
. "$top_srcdir/tests/mpi/common.sh"
seed=${HEDDLE_TEST_SEED:-$(date +%s)}
echo "seed $seed"

# Every layout, share and strategy; then ranks that are late, slow, or 20 times slower.
expect 0 ', 0 failures' ranks 2 "$loops" random "$seed" 120
# Ranks steal under policies of Heddle's only.
export STARPU_SCHED=hdss
expect 0 ', 0 failures' ranks 4 "$loops" random "$((seed + 1))" 40
expect 0 ', 0 failures' ranks 4 "$loops" random "$((seed + 2))" 40 delays
expect 0 ', 0 failures' ranks 1 "$loops" random "$((seed + 3))" 20
# As over several machines: nobody wakes anybody.
HEDDLE_NODE_BELLS=0 expect 0 ', 0 failures' ranks 3 "$loops" random "$((seed + 4))" 20
[ "$failures" = 0 ] || exit 1

# Where data lies on one rank the others have three ranges of it, however many there are.
expect 0 ': 0 failures' ranks 4 "$loops" memory

# A rank is slow, under a policy of StarPU's and one of Heddle's.
for STARPU_SCHED in eager hdss; do
	expect 0 ', 0 failures' ranks 4 "$loops" slow
done

# On a thread that is not the main one; StarPU's threads are late to say that a loop has ended.
# Not every MPI allows that: the log says so then.
expect 0 ' naps, 0 failures\|^skipped: this MPI has no' ranks 2 "$top_builddir/tests/mpi/threads"
grep '^skipped: ' "$work/out"

# Ranks steal from those that have stolen.
expect 0 ', 0 failures' ranks 4 "$loops" dear

# They fail while stolen iterations are computed, and their results go home. The next loop is right.
LAUNCHER_LIMIT=120 expect 0 ', 0 failures' ranks 4 "$loops" "failures $((seed + 5))"

# refused CASE TEXT: all ranks say the same, and none runs anything.
refused() {
	expect 0 "$2" ranks 4 "$loops" "$1"
	[ "$(grep -c "$2" "$work/out")" = 4 ] || fail "$1: not on 4 ranks: $(cat "$work/out")"
	[ "$(grep -c "^rank [0-3]: $1: -" "$work/out")" = 4 ] || fail "$1: $(cat "$work/out")"
}
refused kind 'what begins is "loop" on rank 0 and "wavefront" on rank 1'
refused n 'n is 1000 on rank 0 and 999 on rank 1'
refused codelet 'the codelet is "fails" on rank 0 and "other" on rank 1'
refused mode 'the mode of array 1 is RW on rank 0 and R on rank 1'
refused layout 'the layout of array 1 is EVERYWHERE on rank 0 and BLOCKS on rank 1'
refused length 'the length of array 1 is 1000 on rank 0 and 1001 on rank 1'
refused arrays 'rank 1 on .* refuses its loop: Invalid argument'
refused beyond '1001 iterations of 1 reach beyond array 1'
refused rank 'rank 0 on .* refuses its loop: Invalid argument'
refused fail 'it failed on rank 1: Numerical argument out of domain'
refused 'fail at home' 'it failed on rank 1: Numerical argument out of domain'
# All ranks but the last one have no memory for its iterations.
refused 'no memory to fetch' 'it failed on rank [0-2]: Cannot allocate memory'

refused_version "$loops"

ended "$top_builddir/tests/mpi/start" hang 'rank 1 has not been heard of for 3 s'
ended "$loops" die ''
ended "$loops" exit ''
ended "$loops" hang 'rank 1 has not been heard of for 3 s'
ended "$loops" 'hang first' 'rank 0 has not been heard of for 3 s'
ended "$loops" 'absent later' 'rank 1 has not been heard of for 3 s'
# MPI_Abort() does not return.
ended "$loops" hang 'rank 1 has not been heard of for 3 s' deaf
# What is on its way must have a place.
ended "$loops" 'no memory to steal' 'rank [0-2]: no memory for [0-9]* iterations of rank 3; the run ends on all ranks'
ended "$loops" absent 'after 3 s .*these ranks have not begun this loop: 1'
ended "$loops" 'absent first' 'rank 0, or a rank that it waits for, has not begun this loop within 6 s'
[ "$failures" = 0 ]
