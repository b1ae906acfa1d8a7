#!/bin/sh
# Flows over two and four ranks on this machine: in random ones every buffer is processed once and
# has the right contents, wrong use is refused on all ranks, and a rank that ends or hangs ends the
# run.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 600 s
. "$top_srcdir/tests/mpi/common.sh"
flows=$top_builddir/tests/mpi/flows
seed=${HEDDLE_TEST_SEED:-$(date +%s)}
echo "seed $seed"

# Filters on some ranks or all, with threads or without, few buffers or many; then ranks that are
# late and slow.
expect 0 ', 0 failures' ranks 2 "$flows" random "$seed" 20
expect 0 ', 0 failures' ranks 4 "$flows" random "$((seed + 1))" 20
expect 0 ', 0 failures' ranks 4 "$flows" random "$((seed + 2))" 8 delays
expect 0 ', 0 failures' ranks 1 "$flows" random "$((seed + 3))" 4
# As over several machines: nobody wakes anybody.
HEDDLE_NODE_BELLS=0 expect 0 ', 0 failures' ranks 3 "$flows" random "$((seed + 6))" 4
[ "$failures" = 0 ] || exit 1

# However many labels there are, a rank has the buffers of its streams and what it borrows at once.
expect 0 ': 0 failures' ranks 4 "$flows" memory

# Under a policy by which the sender chooses.
STARPU_SCHED=odds expect 0 ', 0 failures' ranks 4 "$flows" random "$((seed + 4))" 8
STARPU_SCHED=odds expect 0 ', 0 failures' ranks 3 "$flows" random "$((seed + 5))" 3 delays

expect 0 '^0.512369629' ranks 3 "$top_builddir/doc/examples/pieces"

# refused CASE TEXT: all ranks say the same.
refused() {
	expect 0 "$2" ranks 4 "$flows" "$1"
	[ "$(grep -c "$2" "$work/out")" = 4 ] || fail "$1: not on 4 ranks: $(cat "$work/out")"
	[ "$(grep -c "^rank [0-3]: $1: -" "$work/out")" = 4 ] || fail "$1: $(cat "$work/out")"
}
refused name 'filter read: its name differs between ranks 0 and 1'
refused labels 'stream labels: its labels of the start differ between ranks 0 and 1'
refused parts 'stream sums: the shapes of its parts differ between ranks 0 and 1'
refused filters 'it has 3 filters and 3 streams on rank 0, and 1 and 1 on rank 1'
refused 'data home' 'stream pieces has data of the program.s, and does not say on which rank'
refused 'data one' 'stream pieces: whether it has data differs between ranks 0 and 1'
refused 'data far' 'it failed on rank [0-3]: Invalid argument'
grep -q 'stream pieces, label 5: its data lies on rank 4, of 4 ranks' "$work/out" || fail "no cause: $(cat "$work/out")"
refused 'data none' 'it failed on rank [1-3]: Invalid argument'
grep -q 'stream pieces, label 7: its data has no handle' "$work/out" || fail "no cause: $(cat "$work/out")"
refused 'data twice' 'it failed on rank [1-3]: Invalid argument'
grep -q ': its data has a handle twice' "$work/out" || fail "no cause: $(cat "$work/out")"
refused nowhere 'filter add runs on no rank'
refused none 'rank 1 on .* refuses its flow: Invalid argument'
refused stuck 'all buffers of a cycle are in use'
refused kernel 'it failed on rank 3: No such device or address'
refused fail 'it failed on rank 1: Numerical argument out of domain'
[ "$(grep -c '^rank [0-3]: again: 0' "$work/out")" = 4 ] ||
	fail "a flow that failed does not run again: $(cat "$work/out")"

# Each rank by its number has another policy.
# shellcheck disable=SC2016 # for the rank's shell
expect 0 'the policy (STARPU_SCHED) is odds on rank 0 and ddwrr on rank 1' ranks 4 sh -c '
	policies="odds ddwrr odds odds"
	set -- "$1" "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" $policies
	flows=$1 rank=$2
	shift 2
	shift "$rank"
	STARPU_SCHED=$1 exec "$flows" policies' sh "$flows"
[ "$(grep -c 'the policy (STARPU_SCHED) is' "$work/out")" = 4 ] || fail "policies: $(cat "$work/out")"

refused_version "$flows"

ended "$flows" die ''
ended "$flows" hang 'rank 1 has not been heard of for 3 s'
ended "$flows" 'hang first' 'rank 0 has not been heard of for 3 s'
ended "$flows" absent 'after 3 s .*these ranks have not begun this flow: 1'
ended "$flows" 'absent first' 'rank 0, or a rank that it waits for, has not begun this flow within 6 s'
[ "$failures" = 0 ]
