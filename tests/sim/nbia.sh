#!/bin/sh
# NBIA on a simulated machine: all tiles are done, in the time that they take, and
# twice the same.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 300 s
. "$top_srcdir/tests/tools/common.sh"

# simulate PLATFORM ARGUMENT...
simulate() {
	platform=$1
	shift
	"$top_builddir/bin/heddle-simulate" --platform "$platform" -- \
		"$top_builddir/apps/nbia/nbia" --size 10240 --resolutions 32,512 --reps 1 "$@"
}

# Two cores at a pixel per microsecond: 400 tiles of 1024 pixels, no more.
simulate 2cpu --recalc 0 --sched eager --json "$work/plain" >"$work/out" || fail "exit status"
us=$(sed -n '/"us"/{n;s/[ ,]*//g;p}' "$work/plain")
awk "BEGIN { exit !($us >= 204800 && $us < 1.02 * 204800) }" || fail "2 cores took $us us"
simulate 1cpu+gpu33 --recalc 16 --sched eager --json "$work/a" >"$work/out" || fail "exit status"
simulate 1cpu+gpu33 --recalc 16 --sched eager --json "$work/b" >"$work/out" ||
	fail "exit status of the second run"
cmp "$work/a" "$work/b" || fail "the report differs"
cat "$work/out"
[ "$(awk '$1 == 32 { print $4 + $6 }' "$work/out")" = 400 ] || fail "tiles were lost"
simulate 1cpu+gpu33 --sched eager >"$work/messages" 2>&1
[ $? = 2 ] || fail "exit status without --recalc"
grep -q -- "--recalc must say" "$work/messages" || fail "message: $(cat "$work/messages")"
[ "$failures" = 0 ]
