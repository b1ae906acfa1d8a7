#!/bin/sh
# heddle bench on a small simulated machine: every contender ran, none is faster
# than the ideal, and a second run says the same.
. "$top_srcdir/tests/tools/common.sh"
bench() {
	"$top_builddir/bin/heddle-bench" --app blackscholes --quick --size 200000 "$@"
}
bench --platform '3cpu+fpga8@6000:10' --json "$work/first.json" >"$work/first" || fail "exit status"
bench --platform '3cpu+fpga8@6000:10' --json "$work/second.json" >"$work/second" ||
	fail "exit status of the second run"
cat "$work/first"
cmp "$work/first" "$work/second" || fail "the table differs"
"$top_builddir/bin/heddle-bench" --rows "$work/first.json" >"$work/rows"
# 200000 / 11 us
grep -q '^ideal  *18181.8$' "$work/first" || fail "ideal"
awk -F'\t' 'NR > 1 {
	rows++
	seen[$6] = 1
	if ($8 <= 0) { print $6 ": no time"; bad = 1 }
	if ($11 <= 0 || $11 > 1) { print $6 ": efficiency " $11; bad = 1 }
	if ($5 != 1 || $4 != 3) { print $6 ": workers"; bad = 1 }
	if ($6 == "cpu-only" && $16 != 0) { print "share without the FPGA: " $16; bad = 1 }
	if ($6 == "fpga-only" && $16 != 1) { print "share of the FPGA alone: " $16; bad = 1 }
}
END {
	if (rows < 20) { print rows " rows"; bad = 1 }
	n = split("cpu-only fpga-only tuned hdss hdss-published gss eager dmdas", wanted, " ")
	for (w = 1; w <= n; w++)
		if (!seen[wanted[w]]) { print wanted[w] " is missing"; bad = 1 }
	exit bad
}' "$work/rows" || fail "rows"
# Three cores at 1 iteration per microsecond, and what their blocks cost StarPU.
awk -F'\t' '$6 == "cpu-only" { exit !($8 >= 200000 / 3 && $8 < 1.01 * 200000 / 3) }' "$work/rows" ||
	fail "time of the cores alone"

# A realistic profile costs more than none.
bench --platform '3cpu+fpga8@6000:10' --profile realistic --contenders fpga-only >"$work/real" ||
	fail "realistic"
[ "$(awk '$1 == "fpga-only" { print int($2) }' "$work/real")" -gt \
	"$(awk '$1 == "fpga-only" { print int($2) }' "$work/first")" ] || fail "profile"
# A device holds no more than its memory: what is one block elsewhere is cut.
cut() {
	"$top_builddir/bin/heddle" simulate --platform "$1" -- \
		"$top_builddir/apps/blackscholes/blackscholes" --size 8000000 --sched static --reps 1 \
		--json "$work/cut.json" >/dev/null 2>&1 || fail "$1: exit status"
	awk '/"kind": "fpga"/ { fpga = 1 } fpga && /"blocks"/ { print $2 + 0; exit }' "$work/cut.json"
}
[ "$(cut 1cpu=10+fpga8@60000:1)" = 1 ] || fail "blocks of a device with much memory"
# 4000000 options of 28 bytes, three blocks at a time in 3/4 of what StarPU leaves.
[ "$(cut '1cpu=10+fpga8@60000:1^128')" = 3 ] || fail "blocks of a device with 128 MB"
# With one block at a time there is room for it beside what StarPU keeps of those before.
for strategy in hdss:slice=0 hdss:published=1; do
	HEDDLE_DEPTH=1 "$top_builddir/bin/heddle" simulate \
		--platform '7cpu=5.06483+fpga16.4533@320000:0.05^250' -- \
		"$top_builddir/apps/blackscholes/blackscholes" --size 12500000 \
		--strategy "$strategy" --reps 1 >/dev/null 2>&1 || fail "$strategy: no end"
done
bench --platform 3cpu+nonsense 2>"$work/messages" && fail "nonsense is accepted"
grep -q 'character 6' "$work/messages" || fail "message: $(cat "$work/messages")"
bench --platform no-such-name 2>"$work/messages" && fail "an unknown name is accepted"
"$top_builddir/bin/heddle-bench" 2>"$work/messages"
[ $? = 2 ] || fail "exit status without --platform"
[ "$failures" = 0 ]
