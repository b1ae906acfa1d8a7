#!/bin/sh
# A stream of unequal tasks on a core and an accelerator: the policies that choose
# come near to the best possible division, first come first served does not, and the
# accelerator is left the tasks it is good at. The machines are those of
# tests/sim/tiles-table, the stream a part of it.
set -u
: "${top_builddir:?}"
export HEDDLE_ESTIMATE=online,neighbours
failures=0

# check MACHINE SCHED RATE LEAST MOST: the part of the bound that is reached.
check() {
	line=$("$top_builddir/bin/heddle-simulate" --platform "$1" -- \
		"$top_builddir/tests/sim/tiles" "$2" "$3" 3000 fast \
		2>/dev/null)
	echo "$1 $line" | awk -v least="$4" -v most="$5" '
	{
		for (i = 2; i < NF; i += 2) v[$i] = $(i + 1)
		part = v["seconds"] > 0 ? v["bound"] / v["seconds"] : 0
		done = v["small-cpu"] + v["small-gpu"] + v["large-cpu"] + v["large-gpu"]
		print $1, v["sched"], v["recalc"] "%", part
		if (part < least || part > most) { print "not between", least, "and", most; exit 1 }
		if (sprintf("%.0f", done) != sprintf("%.0f", 30 * (100 + v["recalc"]))) { print done, "tiles were done"; exit 1 }
	}' || failures=$((failures + 1))
}

HEDDLE_QUEUE_LOG=$(mktemp "${TMPDIR:-/tmp}/heddle-queues.XXXXXX") || exit 99
export HEDDLE_QUEUE_LOG
log=$HEDDLE_QUEUE_LOG
trap 'rm -f "$log"' EXIT HUP INT TERM
check 1cpu+gpu33@2760:1 odds 16 0.94 1
# A line for every task that the accelerator took.
awk -F, '
	NR == 1 { if ($0 != "time_us,worker,kind,target,queued") exit 1; next }
	NF != 5 || $1 < time || $3 != "cuda" || $4 < 1 || $4 > 64 || $5 > 64 { bad = 1 }
	{ time = $1 }
	END { if (bad || NR < 400) { print "queue log: " NR " lines, bad: " bad + 0; exit 1 } }
' "$HEDDLE_QUEUE_LOG" || failures=$((failures + 1))
unset HEDDLE_QUEUE_LOG
check 1cpu+gpu33@2760:1 ddfcfs 16 0 0.8
check 1cpu+gpu33@2760:1 ddwrr 16 0.94 1
check 1cpu+gpu33@2760:1 odds 0 0.95 1
check 6cpu+gpu33@2760:1+gpu16@2760:1 odds 8 0.85 1
[ "$failures" = 0 ]
