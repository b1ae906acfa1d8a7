#!/bin/sh
# Rates of loops from run to run (HEDDLE_WARM): kept, used, added to by processes at
# once, and no harm done by a file that somebody else has written.
set -u
: "${top_builddir:?}"
directory=$(mktemp -d "${TMPDIR:-/tmp}/heddle-warm.XXXXXX") || exit 99
trap 'rm -rf "$directory"' EXIT HUP INT TERM
HEDDLE_PROFILE_DIR=$directory/profiles HEDDLE_VERBOSE=2
export HEDDLE_PROFILE_DIR HEDDLE_VERBOSE
profile=$HEDDLE_PROFILE_DIR/blackscholes.profile
failures=0
fail() {
	echo "$*" >&2
	failures=$((failures + 1))
}
# Three repetitions: one whose cores had few blocks, on a busy machine, keeps no rate.
# A profile keeps the latest seven.
price() {
	"$top_builddir/apps/blackscholes/blackscholes" --size 1000000 --reps 3 \
		--sched hdss --verify >"$directory/out.$1" 2>&1 ||
		fail "$1: $(cat "$directory/out.$1")"
}
# How many rates runs say that they have kept.
kept() {
	for run; do
		cat "$directory/out.$run"
	done | grep -c '"cpu .* does .* iterations/us.*: kept'
}
# How many numbers the record of the cores' pace has.
paces() {
	sed -n 's/^loop .*"cpu .*pace=\([^ ]*\).*/\1/p' "$profile" | tr , '\n' | wc -l
}

HEDDLE_WARM=0 price off
grep -qs '^loop' "$profile" && fail "kept without HEDDLE_WARM"

HEDDLE_WARM=1
export HEDDLE_WARM
price first
grep -q 'CPU 0 did .* before' "$directory/out.first" || fail "not used by later repetitions"
price second
[ "$(grep -c 'CPU 0 did .* before' "$directory/out.second")" = 3 ] ||
	fail "not used by another process: $(cat "$directory/out.second")"
[ "$(paces)" = "$(kept first second)" ] || fail "not kept: $(cat "$profile")"

rm "$profile"
price one &
price two &
wait
[ "$(kept one two)" -gt 0 ] && [ "$(paces)" = "$(kept one two)" ] ||
	fail "two at once: $(kept one) and $(kept two) in $(cat "$profile")"

# Torn, senseless, and a thousand times too fast and too slow.
device=$(sed -n 's/^loop .*device="\(cpu [^"]*\)".*/\1/p' "$profile")
for pace in 0 -3 1e400 x 1e-7 10; do
	printf 'loop bytes=20 device="%s" : pace=%s start=1\nloop bytes=20 dev' "$device" "$pace" \
		>"$profile"
	price hostile
	grep -q "$profile" "$directory/out.hostile" ||
		fail "pace $pace: the file is not named: $(cat "$directory/out.hostile")"
done

[ "$failures" = 0 ]
