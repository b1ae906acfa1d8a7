#!/bin/sh
# `heddle bench --program` on this machine: who runs, and what the columns say. Times are not
# tested.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$top_srcdir/tests/tools/common.sh"
program=$top_builddir/tests/tools/graph_program
bench=$top_builddir/bin/heddle-bench

TMPDIR=$work "$bench" --program "$program 5 40 negative" --rounds 3 --quick \
	--contenders cpu-only,odds,eager,heteroprio,dmda,dmda-calibrated \
	--json "$work/report.json" >"$work/table" 2>"$work/messages" ||
	fail "exit status: $(cat "$work/messages")"
cat "$work/table"
grep -q 'graph_program 5 40 negative, 45 tasks, on [0-9]* cpu.*, times on the wall$' \
	"$work/table" || fail "heading"
# A cold process, a second one, and their number. There is no model to compute bounds from.
awk '$1 == "odds" || $1 == "eager" || $1 == "heteroprio" || /^dmda/ || $1 == "cpu-only" {
	rows++
	for (column = 2; column <= 5; column++)
		if (!($column > 0)) {
			print $1 ": column " column ": " $column
			bad = 1
		}
}
END { exit bad || rows != 6 }' "$work/table" || fail "rows"
[ "$(grep -c '"processes": 3' "$work/report.json")" = 6 ] || fail "processes"
[ -z "$(find "$work" -name 'heddle-bench-*')" ] || fail "files were left behind"

outcome -F 2 'there is no program "no-such-program"' "$bench" --program no-such-program
outcome -F 1 'exit status 3' "$bench" --program "$program 1 1 fail"
outcome -F 1 'before starpu_shutdown()' "$bench" --program "$program 1 1 stay"
outcome -F 1 'before starpu_shutdown()' "$bench" --program true
[ "$failures" = 0 ]
