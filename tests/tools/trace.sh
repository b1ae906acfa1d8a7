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
cmp -s "$work/printed" "$work/out/summary.txt" || grep -q decisions "$work/printed" ||
	fail "the summary is not printed"
if command -v vite >/dev/null; then
	grep -q '<svg' "$work/out/trace.svg" || fail "no picture"
fi

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
grep -q 'left no trace' "$work/messages" || fail "message about no trace"
"$trace" -o "$work/none" -- sh -c "'$loop'; exit 5" >"$work/printed" 2>&1
[ $? = 5 ] || fail "exit status of a program that leaves a trace"
"$trace" "$loop" 2>"$work/messages"
[ $? = 2 ] || fail "exit status without -o"
grep -q -- '-o DIR' "$work/messages" || fail "message without -o"
[ "$failures" = 0 ]
