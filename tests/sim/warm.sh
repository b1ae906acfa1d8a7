#!/bin/sh
# Rates of an earlier run on simulated machines: right ones cost nothing and spare
# learning, wrong ones cost no more than learning without them.
set -u
: "${top_builddir:?}"
HEDDLE_PROFILE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/heddle-warm.XXXXXX") || exit 99
trap 'rm -rf "$HEDDLE_PROFILE_DIR"' EXIT HUP INT TERM
export HEDDLE_PROFILE_DIR
profile=$HEDDLE_PROFILE_DIR/simulated.profile
failures=0
run() {
	"$top_builddir/bin/heddle-simulate" --platform "$1" -- \
		"$top_builddir/tests/sim/loop" hdss "$2" 2>/dev/null |
		tail -n 1
}
# Compares two last lines of tests/sim/loop: makespans, and the learning of the first.
no_dearer() {
	echo "$1
$2" | awk '{ makespan[NR] = $6; for (i = 1; i < NF; i++) if ($i == "learning") learning[NR] = $(i + 1) }
		END { exit !(makespan[1] > 0 && makespan[2] > 0 &&
			makespan[2] <= makespan[1] + learning[1] + 0.01 * makespan[1]) }'
}
check() {
	rm -f "$profile"
	cold=$(run "$1" "$2")
	[ ! -e "$profile" ] || {
		echo "kept without HEDDLE_WARM" >&2
		failures=$((failures + 1))
	}
	HEDDLE_WARM=1 run "$1" "$2" >/dev/null
	grep -q '^loop .*device="cpu' "$profile" || {
		echo "$1: nothing kept" >&2
		failures=$((failures + 1))
	}
	cp "$profile" "$profile.right"
	for factor in 1 0.001 1000; do
		for kind in cpu cuda fpga; do
			awk -v factor=$factor -v kind="\"$kind " '
				index($0, kind) {
					match($0, /pace=[^ ,]*/)
					pace = substr($0, RSTART + 5, RLENGTH - 5) * factor
					sub(/pace=[^ ]*/, "pace=" pace)
				}
				{ print }' "$profile.right" >"$profile"
			warm=$(HEDDLE_WARM=1 run "$1" "$2")
			no_dearer "$cold" "$warm" || {
				echo "$1 $2, pace of $kind times $factor:
  cold $cold
  warm $warm" >&2
				failures=$((failures + 1))
			}
		done
	done
	echo "$1 $2: cold $cold"
}
check '15cpu+gpu36@12000:10' 1000000
check '3cpu+gpu8@6000:10' 200000
check '12cpu+gpu36+gpu24+gpu12+gpu6' 1000000
check '7cpu+fpga6@3200:5' 100000
[ "$failures" = 0 ]
