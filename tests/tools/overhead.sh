#!/bin/sh
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# heddle overhead: every policy gets measured, results are complete, wrong use is
# refused. How large they are is not judged here.
. "$top_srcdir/tests/tools/common.sh"
overhead=$top_builddir/bin/heddle-overhead
json=$("$overhead" --rounds 1 --tasks 2000 --chain 500 --json -) || fail "exit status $?"
names=$("$top_builddir/bin/heddle-run" --help |
	sed -n "/^Heddle's policies:/,/^StarPU's/s/^  \([a-z]*\)  .*/\1/p")
for name in eager lws $names; do
	echo "$json" | grep -q "\"policy\": \"$name\"" || fail "$name is missing"
done
n=$(echo "$json" | grep -c '"us": [0-9]*\.[0-9]')
rows=$(echo "$json" | grep -c '"policy"')
[ "$n" = $((2 * rows)) ] || fail "$n times for $rows policies"
[ "$(echo "$json" | grep -c '"ratio": 1\.0,*$')" -ge 2 ] || fail "eager is not the reference"

table=$("$overhead" --rounds 1 --tasks 0 --chain 100 --sched gss) || fail "exit status $?"
echo "$table" | grep -q '^gss  *-  *-  *[0-9]' || fail "table: $table"

# Policies whose place in StarPU's table Heddle's have taken, too.
expect 0 '^modular-prio ' "$overhead" --rounds 1 --tasks 10 --chain 10 --sched modular-prio,graph_test
grep -q '^graph_test ' "$work/out" || fail "graph_test was not measured"
expect 2 "^Heddle's policies: hdss " "$overhead" --rounds 1 --tasks 10 --chain 0 --sched nonsense
# Said before StarPU starts; Heddle's are none of StarPU's.
! grep '^\[starpu\]' "$work/out" || fail "StarPU was started"
! sed -n '/^StarPU/,$p' "$work/out" | grep -w hdss || fail "hdss among StarPU's own"
expect 2 'leave nothing to measure' "$overhead" --tasks 0 --chain 0
expect 2 "^heddle overhead: --sched ',': no policy" "$overhead" --sched ','
expect 2 "^heddle overhead: --sched 'gss,,hdss': a name is empty" "$overhead" --sched gss,,hdss
# Said before anything is measured.
expect 2 "^heddle: $work/none/o.json: No such file" "$overhead" --tasks 100000000 --rounds 100 \
	--json "$work/none/o.json"
"$overhead" --rounds 0 2>/dev/null
[ $? = 2 ] || fail "no rounds are accepted"
expect 2 '^heddle overhead: --rounds none: not a whole number from 1 to 100000000' "$overhead" --rounds none
expect 2 'tasks 1k: not a whole number from 0 to .* (the letters K M G T ' "$overhead" --tasks 1k
"$overhead" --help | grep -q -- '--sched=LIST' || fail "help"
[ "$failures" = 0 ]
