#!/bin/sh
# `heddle bench --program` on simulated machines: a program of our own on a described one, whose
# Time limit: 300 s
# times can be computed, and StarPU's examples on calibrated ones.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$top_srcdir/tests/tools/common.sh"
program=$top_builddir/tests/tools/graph_program
bench() {
	"$top_builddir/bin/heddle-bench" "$@" 2>"$work/messages"
}
# Value in a column of a row of the table.
cell() {
	awk -v row="$1" -v column="$2" '$1 == row { print $column; exit }' "$work/table"
}
# near WHAT VALUE LEAST MOST
near() {
	awk -v value="$2" -v least="$3" -v most="$4" \
		'BEGIN { exit !(value != "" && value >= least && value <= most) }' ||
		fail "$1: '$2' instead of $3 to $4"
}

# 4 + 20 tasks of 1000 us on a core, of 100 us on the GPU.
bench --platform 2cpu+gpu10@12000:1 --program "$program 4 20" --json "$work/first.json" \
	>"$work/table" || fail "exit status: $(cat "$work/messages")"
cat "$work/table"
grep -q "graph_program 4 20, 24 tasks, on 2 cpu 1 cuda, simulated: .* (theory)" "$work/table" ||
	fail "heading"
if grep -q 'define HEDDLE_HAVE_GLPK' "$top_builddir/config.h"; then
	# 24 / (2 / 1000 + 1 / 100) without dependences
	grep -q '^bound  *2000\.0  area 2000\.0, path 400\.0$' "$work/table" || fail "bound"
	near "bound / median" "$(cell ddfcfs 6)" 0.5 1
fi
# Without the GPU there is a third core: the chain begins with the 21st task.
near "cores alone" "$(cell cpu-only 2)" 10000 10100
near "GPU alone" "$(cell cuda-only 2)" 2400 2600
near "GFlop/s" "$(cell cuda-only 5)" 9 10
near "dmda" "$(cell dmda 2)" 2000 2600
near "against the cores alone" "$(cell cuda-only 8)" 1 1
near "second run" "$(cell odds 4)" 2000 12100
[ "$(cell dmdas 3)" = - ] || fail "a cold run without models, which SimGrid wants"
for name in ddwrr odds eager lws prio heteroprio dmdar dmdas dmdasd; do
	near "$name" "$(cell $name 2)" 2000 12100
done
[ -z "$(cell gss 2)$(cell tuned 2)" ] || fail "contenders for loops"
bench --platform 2cpu+gpu10@12000:1 --program "$program 4 20" >"$work/again" || fail "again"
cmp "$work/table" "$work/again" || fail "the table differs"
"$top_builddir/bin/heddle-bench" --rows "$work/first.json" | awk -F'\t' '
	$6 == "ddfcfs" { found = $11 > 0.5 && $3 == 24 } END { exit !found }' || fail "rows"

# Two programs, contenders by name, and priorities that heteroprio does not take.
bench --platform 1cpu+gpu10 --program "$program 3 0 negative" --program "'$program' 5 0" \
	--contenders gss,heteroprio,eager >"$work/table" || fail "two programs"
[ "$(grep -c '^gss' "$work/table")" = 2 ] || fail "rows of two programs"
[ "$(grep -c '^heteroprio  *[0-9.]* ' "$work/table")" = 2 ] || fail "heteroprio"

# What a user may do wrong.
bad() {
	wanted=$1
	shift
	outcome -F 2 "$wanted" "$top_builddir/bin/heddle-bench" --platform 2cpu "$@"
}
bad 'there is no program "no-such-program"' --program no-such-program
bad 'without what a shell does' --program "$program 1 1 | cat"
bad 'a quote has no end' --program "$program '1"
bad 'which command?' --program ' '
bad '--size is for apps' --program "$program 1 1" --size 7
bad '--reps is for apps' --program "$program 1 1" --reps 7
bad 'no models of a machine "none"' --platform starpu:none --program "$program 1 1"
bad 'StarPU has no models of loops' --platform mirage --app blackscholes
outcome -F 1 'exit status 3' "$top_builddir/bin/heddle-bench" --platform 2cpu \
	--program "$program 1 1 fail"
outcome -F 1 'before starpu_shutdown()' "$top_builddir/bin/heddle-bench" --platform 2cpu \
	--program "$program 1 1 stay"

# Calibrated machines. Their models stay as they are.
examples=$(sed -n 's/^starpu_libdir = //p' "$top_builddir/Makefile")/../examples
if [ ! -x "$examples/cholesky_implicit" ]; then
	echo "no examples of StarPU's here (tools/setup sim examples)"
	[ "$failures" = 0 ] && exit 77
	exit 1
fi
for machine in mirage sirocco idgraf attila; do
	outcome -F 0 GFlop "$top_builddir/bin/heddle-simulate" --platform $machine -- \
		"$examples/cholesky_implicit" -size 3840 -nblocks 4
done
models=$examples/../share/starpu/perfmodels/sampling
before=$(find "$models" -type f -exec cksum {} + | sort)
for command in 'cholesky_implicit -size 3840 -nblocks 4' 'sgemm -x 3840 -y 3840 -z 3840'; do
	bench --quick --platform mirage --program "$command" --contenders \
		alone,dmdas,eager,ddwrr --json "$work/report.json" >"$work/table" ||
		fail "$command: $(cat "$work/messages")"
	cat "$work/table"
	for name in cpu-only cuda-only dmdas eager ddwrr; do
		near "$command: $name" "$(cell $name 6)" 0.01 1
	done
	bench --quick --platform mirage --program "$command" --contenders \
		alone,dmdas,eager,ddwrr >"$work/again"
	cmp "$work/table" "$work/again" || fail "$command: the table differs"
done
# A machine of one's own.
mkdir -p "$work/own/bus" "$work/own/codelets/45"
for file in bus/mirage.bandwidth bus/mirage.config bus/mirage.latency bus/mirage.platform.v4.xml; do
	cp "$models/$file" "$work/own/bus/own.${file#bus/mirage.}"
done
for file in "$models"/codelets/45/chol_model_*.mirage; do
	file=${file##*/}
	cp "$models/codelets/45/$file" "$work/own/codelets/45/${file%.mirage}.own"
done
for machine in mirage starpu:own; do
	STARPU_PERF_MODEL_DIR=$work/own STARPU_SCHED=dmdas outcome -F 0 GFlop \
		"$top_builddir/bin/heddle-simulate" --platform $machine -- \
		"$examples/cholesky_implicit" -size 3840 -nblocks 4
	tail -n 1 "$work/out" >>"$work/times"
done
# In StarPU's own folder.
mkdir -p "$work/caches/.starpu"
mv "$work/own" "$work/caches/.starpu/sampling"
XDG_CACHE_HOME=$work/caches STARPU_SCHED=dmdas outcome -F 0 GFlop \
	"$top_builddir/bin/heddle-simulate" --platform starpu:own -- \
	"$examples/cholesky_implicit" -size 3840 -nblocks 4
tail -n 1 "$work/out" >>"$work/times"
[ "$(sort -u "$work/times" | wc -l)" = 1 ] || fail "a machine of one's own: $(cat "$work/times")"
[ "$before" = "$(find "$models" -type f -exec cksum {} + | sort)" ] || fail "models were written"
[ "$failures" = 0 ]
