# Of a trace of starpu_fxt_tool (Paje), read twice: tasks as states of their worker that name
# codelet and phase, in colours that tell them apart; times count from the first task.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A decision about a block of a loop is an event "heddle LOOP worker W PHASE [START,+SIZE]". Under
# Heddle's policies it comes before the block's task, or in a CPU worker's task, whose next block
# it is. Under StarPU's own it comes when the task has begun. The loop's control task has its name,
# too, and comes before all decisions. Of several ranks, the names of containers begin with "RANK_".
BEGIN {
	FS = OFS = "\t"
	# Red, magenta and brown are StarPU's, for what is no work.
	n = split("0.00 0.45 0.70|0.00 0.62 0.45|0.95 0.77 0.06|0.34 0.71 0.91|0.44 0.30 0.64|" \
		"0.55 0.70 0.25|0.20 0.25 0.35|0.60 0.80 0.75", colours, "|")
}

function unquoted(text) {
	gsub(/"/, "", text)
	return text
}

# The decision of a line into loop, by, phase. The loop's name may have blanks.
function decision_read(text) {
	if ($1 != 9 || $3 != "prog_event" || !match(text, / worker [0-9]+ (adaptive|completion) \[/))
		return 0
	loop = substr(text, 8, RSTART - 8)
	split(substr(text, RSTART + 8), word, " ")
	by = $4
	sub(/p$/, "w" word[1], by)
	phase = word[2]
	return text ~ /^heddle /
}

# A colour between that of the k-th codelet and white.
function colour(k, white,    part, text, i) {
	split(colours[k % n + 1], part, " ")
	for (i = 1; i <= 3; i++)
		text = text sprintf("%s%.2f", i > 1 ? " " : "", part[i] + white * (1 - part[i]))
	return text
}

# The name of a loop in an event has 30 characters at most.
function short(name) { return substr(name, 1, 30) }

function state(codelet, phase) {
	return "\"" codelet (phase == "adaptive" ? " (learning)" : "") "\""
}

# StarPU defines a codelet's state as a line that comes before its use; both are defined anew.
function states_define(codelet, k) {
	k = index_of[codelet]
	print 6, state(codelet, ""), "WS", state(codelet, ""), "\"" colour(k, 0) "\""
	if (short(codelet) in learns)
		print 6, state(codelet, "adaptive"), "WS", state(codelet, "adaptive"), "\"" colour(k, 0.6) "\""
}

function clipped(time) {
	time -= begin
	return sprintf("%.9f", time < 0 ? 0 : time > length_ms ? length_ms : time)
}

# Of tasks that are pushed and popped StarPU writes blanks between the words.
/^9 +[0-9.]+ +p[uo] / { gsub(/ +/, OFS) }
# With this event the clocks of ranks are set. StarPU 1.4.7 puts words around the rank.
$1 == 9 && $3 == "prog_event" && $5 ~ /^"end of MPI_Barrier, rank [0-9]+"$/ { gsub(/[^0-9]/, "", $5) }
$1 == 9 && $3 == "prog_event" && $5 ~ /^[0-9]+$/ { $5 = "\"rank " $5 " begins its first run over ranks\"" }
# StarPU 1.4 quotes a task's name.
$1 == 20 { $5 = unquoted($5) }

# ---- first: when the tasks begin and end; whose decisions come before their tasks ----

NR == FNR {
	if ($1 == 20) {
		if (!seen++) begin = $2
		if (!($5 in index_of)) index_of[$5] = codelets++
		task[$3] = $5
		last = $2
	} else if ($1 == 10 && $4 == "WS" && $3 in task && unquoted($5) != task[$3]) {
		last = $2
		delete task[$3]
	} else if (decision_read(unquoted($5))) {
		if (!(by in task) || short(task[by]) != loop) ahead[loop]
		if (phase == "adaptive") learns[loop]
	}
	length_ms = last - begin
	next
}

# ---- then: the lines anew ----

FNR == 1 { split("", task) }
$1 == 6 && $3 == "WS" && unquoted($2) in index_of {
	states_define(unquoted($2))
	next
}
!seen || $1 !~ /^[0-9]+$/ || $1 < 7 {
	print
	next
}
$1 == 20 {
	task[$3] = $5
	at = $3 SUBSEP short($5)
	known[$3] = first[at] < count[at]
	$2 = clipped($2)
	$5 = state($5, known[$3] ? waiting[at, first[at]++] : "")
	print
	next
}
$1 == 10 && $4 == "WS" && $3 in task {
	if (unquoted($5) == task[$3]) next
	delete task[$3]
}
# What event 20 says at the same time, with the phase.
$1 == 10 && $4 == "WS" && unquoted($5) in index_of { next }
decision_read(unquoted($5)) {
	at = by SUBSEP loop
	if (by in task && short(task[by]) == loop && (known[by] ? cpu[by] : !(loop in ahead))) {
		known[by] = 1
		print 10, clipped($2), by, "WS", state(task[by], phase)
	} else {
		waiting[at, count[at]++] = phase
	}
}
$1 == 7 && $3 ~ /^([0-9]+_)?w[0-9]+$/ && $6 ~ /^([0-9]+_)?CPU/ { cpu[$3] = 1 }
# One of StarPU's lines has blanks between the words; its time is 0.
$2 ~ /^[0-9.]+$/ { $2 = clipped($2) }
{ print }
