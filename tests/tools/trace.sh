#!/bin/sh
# heddle trace on a loop: the Paje trace can be parsed, and has one event for every
# block that was run.
. "$top_srcdir/tests/tools/common.sh"
grep -q 'define HEDDLE_USE_FXT' "$top_builddir/config.h" || exit 77
grep -q 'define HEDDLE_USE_SIMGRID' "$top_builddir/config.h" && exit 77
trace=$top_builddir/bin/heddle-trace
loop=$top_builddir/doc/examples/axpy
HEDDLE_STRATEGY=gss HEDDLE_BLOCK_LOG=$work/blocks.csv "$trace" -o "$work/out" -- "$loop" \
	>"$work/printed" || fail "exit status"
cat "$work/printed"
paje=$work/out/paje.trace
# A mistyped name costs no trace.
for name in ./axpi no-such-axpy "$work"; do
	"$trace" -o "$work/out" -- $name 2>"$work/told"
	[ $? = 127 ] && grep -q "^heddle trace: $name: not found" "$work/told" ||
		fail "$name: $(cat "$work/told")"
done
[ -s "$paje" ] || fail "the earlier trace is gone"

# Every event must be one that the header defines, with enough fields, and the times of
# a worker's states must not run backwards (those of links may).
awk '
function broken(why) { print FILENAME ":" FNR ": " why; bad = 1 }
/^%EventDef/ { code = $3; defined[code] = 1; fields[code] = 0; next }
/^%EndEventDef/ { next }
/^%/ { fields[code]++; next }
/^[ \t]*$/ { next }
{
	events++
	if (!defined[$1]) broken("event " $1 " is not defined")
	n = 0; rest = $0
	while (match(rest, /"[^"]*"|[^ \t]+/)) { n++; rest = substr(rest, RSTART + RLENGTH) }
	if (n - 1 < fields[$1]) broken("event " $1 " has " n - 1 " fields, not " fields[$1])
	if ($1 == 10 && $4 == "WS") {
		if ($2 + 0 < last[$3]) broken("time runs backwards")
		last[$3] = $2 + 0
	}
}
END { if (events < 100) broken("hardly any event"); exit bad }' "$paje" || fail "Paje"

# What the README says of colours: red, brown, magenta.
for state in 'I .* Idle .*"\.9 \.1 \.0"' 'Sl .* Sleeping .*"\.9 \.1 \.0"' \
	'Sc .* Scheduling .*"\.7 \.36 \.0"' 'Fi .* FetchingInput .*"1\.0 \.1 1\.0"'; do
	tr '\t' ' ' <"$paje" | grep -q "^6 *$state" || fail "colour of $state"
done

blocks=$(($(wc -l <"$work/blocks.csv") - 1))
[ "$blocks" -ge 2 ] || fail "$blocks blocks in the log"
[ "$(grep -c '"heddle axpy worker [0-9]* completion \[[0-9]*,+[0-9]*\]"' "$paje")" = "$blocks" ] ||
	fail "the trace does not have one event for each of $blocks blocks"
grep -q "^$blocks decisions about blocks, 0 of them while learning" "$work/out/summary.txt" ||
	fail "summary"
[ "$(awk '/^CPU/ { n += $3 } END { print n + 0 }' "$work/out/summary.txt")" = "$blocks" ] ||
	fail "blocks of the workers in the summary"
awk '/^CPU/ && $2 > 0 && $4 + 0 == 0 { exit 1 }' "$work/out/summary.txt" ||
	fail "no time in tasks: $(cat "$work/out/summary.txt")"
cmp -s "$work/printed" "$work/out/summary.txt" || grep -q decisions "$work/printed" ||
	fail "the summary is not printed"
# The picture: every worker's row, the loop's colour, a tick for each decision.
svg=$work/out/trace.svg
for text in '^<svg ' '>CPU0<' '<title>axpy</title>' '</svg>$'; do
	grep -q "$text" "$svg" || fail "no $text in the picture"
done
[ "$(grep -c 'class="event".*heddle axpy worker' "$svg")" = "$blocks" ] || fail "ticks in the picture"
# The time begins with the first task.
[ "$(awk -F'\t' '$1 == 20 { print $2 + 0; exit }' "$paje")" = 0 ] || fail "the first task's time"

# Phases are states of the worker's row.
HEDDLE_STRATEGY=hdss "$trace" -o "$work/out" -- "$loop" >"$work/printed" 2>&1 || fail "hdss"
grep -q '^10.*"axpy (learning)"\|^20.*"axpy (learning)"' "$paje" || fail "no state learning"
grep -q '<title>axpy (learning)</title>' "$svg" || fail "no learning in the picture"
[ "$(grep '^6.*WS.*"axpy' "$paje" | awk -F'\t' '{ print $5 }' | sort -u | wc -l)" = 2 ] ||
	fail "colours of the phases"

# However short it was beside others in its pixel; those that come later do not cover it.
state() { printf '%s\t%s\tw0\tWS\t"%s"\n' 10 "$1" "$2"; }
{
	printf '7\t0\tw0\tW\tt\tCPU0\n6\t"loop (learning)"\tWS\t"loop (learning)"\t"0.6 0.7 0.8"\n'
	state 0 Sc
	state 0.02 'loop (learning)'
	state 0.03 Sc
	state 0.09 I
	state 10 loop
	state 1000 I
} >"$work/made"
awk -v title=made -f "$top_srcdir/tools/trace/picture.awk" "$work/made" "$work/made" >"$work/made.svg" ||
	fail "a made picture"
grep -q '<title>loop (learning)</title>' "$work/made.svg" || fail "short learning: $(cat "$work/made.svg")"

# Made up, to the letter: a control task; a block that waits behind another on an accelerator;
# two blocks in one task of a core; start-up that nobody wants to see.
states() {
	awk -f "$top_srcdir/tools/trace/states.awk" "$work/made" "$work/made" |
		awk -F'\t' -v OFS=' ' '($1 == 10 || $1 == 20) && $5 ~ /loop/ { print $2 + 0, $3, $5 }'
}
decision() { printf '9\t%s\tprog_event\tp\t"heddle loop worker %s [0,+1]"\n' "$1" "$2"; }
begins() { printf '10\t%s\tw%s\tWS\t"loop"\n20\t%s\tw%s\tWS\tloop\t0\tnodata\n' "$1" "$2" "$1" "$2"; }
ends() { printf '10\t%s\tw%s\tWS\t"B"\n' "$1" "$2"; }
{
	printf '7\t1.0\tw0\tW\tt\tCPU0\n7\t1.0\tw1\tW\tt\tCUDA0\n'
	printf '6\tloop\tWS\tloop\t"0 0 0"\n'
	begins 10.0 0
	decision 10.5 '0 adaptive'
	decision 10.5 '1 adaptive'
	decision 10.6 '1 completion'
	ends 11.0 0
	begins 12.0 0
	begins 12.0 1
	decision 13.0 '0 completion'
	ends 14.0 0
	ends 14.0 1
	begins 15.0 1
	ends 16.0 1
} >"$work/made"
[ "$(states | tr '\n' ';')" = '0 w0 "loop";2 w0 "loop (learning)";2 w1 "loop (learning)";3 w0 "loop";5 w1 "loop";' ] ||
	fail "states: $(states)"
# Under StarPU's own policies the decision is made in the task.
{
	printf '7\t1.0\tw0\tW\tt\tCPU0\n6\tloop\tWS\tloop\t"0 0 0"\n'
	begins 10.0 0
	decision 10.5 '0 adaptive'
	ends 11.0 0
	begins 12.0 0
	decision 12.5 '0 completion'
	ends 13.0 0
} >"$work/made"
[ "$(states | tr '\n' ';')" = '0 w0 "loop";0.5 w0 "loop (learning)";2 w0 "loop";2.5 w0 "loop";' ] ||
	fail "states under a stock policy: $(states)"

# Under one of StarPU's own policies, too, each block is a worker's.
STARPU_SCHED=eager HEDDLE_BLOCK_LOG=$work/stock.csv "$trace" -o "$work/out" -- "$loop" \
	>/dev/null 2>&1 || fail "exit status under eager"
for worker in $(awk -F, 'NR > 1 { print $2 }' "$work/stock.csv" | sort -u); do
	blocks=$(awk -F, -v w="$worker" '$2 == w' "$work/stock.csv" | wc -l)
	[ "$(grep -c "\"heddle axpy worker $worker " "$paje")" = "$blocks" ] ||
		fail "worker $worker's $blocks blocks under eager: $(grep '"heddle' "$paje")"
done
blocks=$(($(wc -l <"$work/stock.csv") - 1))
[ "$(awk '/^CPU/ { n += $3 } END { print n + 0 }' "$work/out/summary.txt")" = "$blocks" ] ||
	fail "blocks under eager in the summary: $(cat "$work/out/summary.txt")"

# What the program says is what comes back.
"$trace" -o "$work/none" -- false 2>"$work/messages"
[ $? = 1 ] || fail "exit status of a program that fails"
grep -q 'ended with exit status 1 and left no trace$' "$work/messages" ||
	fail "message of a program that fails: $(cat "$work/messages")"
"$trace" -o "$work/none" -- true 2>"$work/messages"
[ $? = 1 ] || fail "exit status without a trace"
grep -q 'left no trace: it runs no StarPU' "$work/messages" || fail "message about no trace"
"$trace" -o "$work/none" -- sh -c "'$loop'; exit 5" >"$work/printed" 2>&1
[ $? = 5 ] || fail "exit status of a program that leaves a trace"
"$trace" "$loop" 2>"$work/messages"
[ $? = 2 ] || fail "exit status without -o"
grep -q -- '-o DIR' "$work/messages" || fail "message without -o"
# Files that are not of an earlier trace stay.
mkdir -p "$work/own/raw"
echo mine | tee "$work/own/raw/data" >"$work/own/notes"
"$trace" -o "$work/own" -- "$loop" >/dev/null 2>&1 || fail "a folder with files"
"$trace" -o "$work/own" -- "$loop" >/dev/null 2>&1 || fail "again"
[ "$(cat "$work/own/raw/data" "$work/own/notes")" = "mine
mine" ] || fail "a user's files are gone"
[ "$(find "$work/own/raw" -name 'prof_file*' | wc -l)" = 1 ] || fail "an earlier trace is left"
[ "$failures" = 0 ]
