#!/bin/sh
# A flow on a core and an accelerator that is as fast on 800 small pieces of work, and ten times as
# fast on the 100 that come back as large ones: 1000 and 4000 us there, so at best 600000 us.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 300 s
. "$top_srcdir/tests/tools/common.sh"

# simulate POLICY BUFFERS THREADS: sets us and large, the pieces on the core.
simulate() {
	STARPU_SCHED=$1 "$top_builddir/bin/heddle-simulate" --platform 1cpu+gpu10 -- \
		"$top_builddir/tests/sim/flow" "$2" "$3" >"$work/out" 2>"$work/messages" ||
		fail "$*: $(cat "$work/out" "$work/messages")"
	read -r us large <"$work/out"
	echo "$1, $2 buffers, $3 threads: $us us, $large large ones on the core"
}

# within LEAST MOST
within() {
	awk "BEGIN { exit !($us >= $1 && $us <= $2) }" || fail "$us us, not $1 to $2"
}

for policy in odds ddwrr; do
	simulate $policy 64 0
	within 600000 612000
	[ "$large" -le 2 ] || fail "$large large pieces on the core"
	first=$us
	simulate $policy 64 0
	[ "$us" = "$first" ] || fail "$us us, then $first"
done
# On a thread of its own a function is as fast, where functions take no time.
simulate odds 64 2
within 600000 612000
# First come, first served.
simulate ddfcfs 64 0
within 630000 1300000
[ "$large" -gt 2 ] || fail "the core computed $large large pieces only"
# One buffer: one piece after the other. Four leave little to choose from.
simulate eager 1 0
within 1200000 5000000
simulate odds 4 0
within 600000 720000
[ "$failures" = 0 ]
