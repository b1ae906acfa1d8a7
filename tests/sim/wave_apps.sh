#!/bin/sh
# The apps of wavefronts on a simulated machine of 15 cores and a GPU 36 times as fast:
# at least 0.88 of all processors' speed, and near the best of a sweep over h.
# The iterations are all of the same length, so the bound is known.
. "$top_srcdir/tests/tools/common.sh"

# run APP ARGUMENT...
run() {
	app=$1
	shift
	"$top_builddir/bin/heddle-simulate" --platform '15cpu+gpu36@12000:10' -- \
		"$top_builddir/apps/$app/$app" --sched hdss --reps 2 "$@" >"$work/out" 2>&1 ||
		fail "$app $*: exit status"
}

# efficient ITERATIONS: 51 iterations a microsecond at most.
efficient() {
	awk -v n="$1" '/\(median/ { us = $3 } END {
		print "  " n / 51 / us " of the bound"
		exit !(us >= n / 51 && n / 51 / us >= 0.88) }' "$work/out" || {
		fail "$app: too slow, or too fast"
		cat "$work/out"
	}
}

for app in floyd strmatch; do
	echo "$app"
	run $app --size 4000
	efficient 16000000
done
echo heat2d
run heat2d --size 2000 --sweeps 4
efficient 16000000

echo "sweeps"
for app in floyd strmatch; do
	run $app --size 1000 --h sweep
	awk -v app=$app '/the model.s/ { seen = 1; ratio = $3 } END {
		print "  " app ": " ratio " of the best"
		exit !(seen && ratio >= 1 && ratio < 1.1) }' "$work/out" || {
		fail "$app: the model's h is far from the best"
		cat "$work/out"
	}
done
[ "$failures" = 0 ]
