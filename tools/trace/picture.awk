# Draws a trace of states.awk as SVG: what every worker did, in its row; decisions about blocks
# as ticks above it; other events of the program in a row of their own.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# -v title=TEXT
BEGIN {
	FS = "\t"
	left = 110; width = 1060; top = 50; row = 26
}

function unquoted(text) {
	gsub(/"/, "", text)
	return text
}

function escaped(text) {
	gsub(/&/, "\\&amp;", text)
	gsub(/</, "\\&lt;", text)
	gsub(/>/, "\\&gt;", text)
	gsub(/[\001-\037\177]/, "?", text)
	return text
}

# From "0.0 .6 .5".
function rgb(text, part) {
	split(text, part, " ")
	return sprintf("#%02x%02x%02x", 255 * part[1], 255 * part[2], 255 * part[3])
}

# What is drawn of a state: StarPU's work is one colour, idleness none.
function drawn(state) {
	if (state ~ /^(I|Sl|In|D|U)$/) return ""
	if (state ~ /^(C|B|E|Sc|P|H|Bu|Su|Th)$/) return "StarPU"
	if (state == "Fi") return "waiting for data"
	if (state == "Po") return "releasing data"
	return state
}

function entry(state) {
	if (state in used) return
	used[state]
	legend[++entries] = state
}

# Thousands of states may lie in one pixel: the longest of them is drawn, but learning, which is
# short, before all others.
function span(w, state, from, to, pixel, weight) {
	if (state == "" || to <= from) return
	pixel = int(from)
	weight = to - from + (to - from < 1 && state ~ / \(learning\)$/)
	if (to - from < 1 && shapes[w] && pixel == pixel_of[w]) {
		if (weight > widest[w]) {
			widest[w] = weight
			shape[w, shapes[w]] = state
		}
		return
	}
	pixel_of[w] = to - from < 1 ? pixel : -1
	widest[w] = weight
	shape[w, ++shapes[w]] = state
	from_of[w, shapes[w]] = from
	to_of[w, shapes[w]] = to - from < 1 ? pixel + 1 : to
}

function x(time) { return end > 0 ? time / end * width : 0 }

# The first reading: the end.
NR == FNR {
	if (($1 == 10 || $1 == 20) && $2 > end) end = $2
	next
}
/^6/ {
	# StarPU's own lines have blanks between the words.
	fields = split($0, f, /[ \t]+/)
	if (f[1] == 6 && f[3] == "WS") colour_of[unquoted(f[2])] = ""
	if ($1 == 6 && $3 == "WS") colour_of[unquoted($2)] = rgb(unquoted($5))
}
# Of several ranks, names begin with "RANK_".
$1 == 7 && $3 ~ /^([0-9]+_)?w[0-9]+$/ {
	name[$3] = $6
	if (match($6, /^[0-9]+_/))
		name[$3] = substr($6, RLENGTH + 1) " rank " substr($6, 1, RLENGTH - 1)
	order[++workers] = $3
	index_of[$3] = workers
	since[$3] = x($2)
}
($1 == 10 || $1 == 20) && $4 == "WS" && $3 in name {
	span($3, now[$3], since[$3], x($2))
	now[$3] = drawn(unquoted($5))
	since[$3] = x($2)
}
$1 == 9 && ($3 == "prog_event" || $3 == "user_event" || $3 == "thread_event") {
	text = unquoted($5)
	w = "program"
	if (match(text, / worker [0-9]+ /)) {
		split(substr(text, RSTART + 8), word, " ")
		by = $4
		sub(/p$/, "w" word[1], by)
		if (by in name) w = by
	}
	if (w == "program") others++
	event[++events] = w
	at[events] = x($2)
	said[events] = text
}

END {
	for (w = 1; w <= workers; w++) span(order[w], now[order[w]], since[order[w]], x(end))
	for (w = 1; w <= workers; w++)
		for (s = 1; s <= shapes[order[w]]; s++) entry(shape[order[w], s])
	colour_of["StarPU"] = "#b35c00"
	colour_of["waiting for data"] = "#ff1aff"
	colour_of["releasing data"] = "#1affff"
	bottom = top + row * (workers + (others > 0))
	columns = 4
	height = bottom + 60 + 20 * int((entries + 1 + columns) / columns)
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n",
		left + width + 30, height
	print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
	printf "<text x=\"10\" y=\"24\" font-size=\"15\">%s</text>\n", escaped(title)
	axis()
	for (w = 1; w <= workers; w++) worker_draw(order[w], top + row * (w - 1))
	if (others) printf "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">program</text>\n", left - 8, bottom - 8
	for (e = 1; e <= events; e++) event_draw(e)
	legend_draw()
	print "</svg>"
}

function axis(step, digits, t) {
	for (step = 1e-6; end / step > 12; step *= ++digits % 3 == 2 ? 2.5 : 2)
		;
	for (t = 0; t <= end; t += step) {
		printf "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#dddddd\"/>\n",
			left + x(t), left + x(t), top - 4, bottom + 4
		printf "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n", left + x(t), bottom + 20, t
	}
	printf "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">ms</text>\n", left - 8, bottom + 20
}

function worker_draw(w, y, s) {
	printf "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left - 8, y + row - 8,
		escaped(substr(name[w], 1, 16))
	printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#f3e3e0\"/>\n", left, y + 6, width, row - 8
	for (s = 1; s <= shapes[w]; s++)
		printf "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"><title>%s</title></rect>\n",
			left + from_of[w, s], y + 6, to_of[w, s] - from_of[w, s], row - 8,
			colour_of[shape[w, s]], escaped(shape[w, s])
}

function event_draw(e, y) {
	y = event[e] == "program" ? bottom - row : top + row * (index_of[event[e]] - 1)
	printf "<path class=\"event\" d=\"M%.2f %d v6\" stroke=\"black\" stroke-width=\"0.8\"><title>%s</title></path>\n",
		left + at[e], y, escaped(said[e])
}

function legend_draw(e, y) {
	for (e = 1; e <= entries + 1; e++) {
		y = bottom + 48 + 20 * int((e - 1) / columns)
		printf "<rect x=\"%d\" y=\"%d\" width=\"14\" height=\"12\" fill=\"%s\"/>", left + 260 * ((e - 1) % columns), y - 10,
			e <= entries ? colour_of[legend[e]] : "#f3e3e0"
		printf "<text x=\"%d\" y=\"%d\">%s</text>\n", left + 20 + 260 * ((e - 1) % columns), y,
			e <= entries ? escaped(substr(legend[e], 1, 36)) : "idle"
	}
	if (events)
		printf "<text x=\"%d\" y=\"%d\">ticks: %d events; decisions about blocks are those above workers</text>\n",
			left, height - 10, events
}
