#!/bin/sh
# `heddle bench` on an app whose times are made up: what is computed from them,
# and what becomes of contenders that fail.
. "$top_srcdir/tests/tools/common.sh"
bench=$top_builddir/bin/heddle-bench
app=$top_srcdir/tests/tools/fake-app
if grep -q 'define HEDDLE_USE_SIMGRID' "$top_builddir/config.h"; then
	exit 77 # that build runs on described machines only
fi

# Value in a column of a row of the table.
cell() {
	awk -v row="$1" -v column="$2" '$1 == row { print $column; exit }' "$work/table"
}
check() {
	if [ "$2" != "$3" ]; then
		echo "$1: '$2' instead of '$3'"
		failures=$((failures + 1))
	fi
}

contenders=alone,tuned,hdss,hdss-published,gss,tss,fss,linear,awfe,eager,dmda,dmda-calibrated
TMPDIR=$work "$bench" --app "$app" --quick --reps 3 --timeout 2 --seed 5 --contenders "$contenders" \
	--json "$work/report.json" >"$work/table" 2>"$work/messages"
check "exit status" $? 0
cat "$work/table" "$work/messages"

# 1 / (1/400 + 1/200)
check "ideal" "$(cell ideal 2)" 133.3
check "a kind alone" "$(cell cpu-only 2)" 400.0
check "the best grain of a kind alone" "$(cell cuda-only 2)" 200.0
check "tuned blocks" "$(cell tuned 2)" 150.0
check "median" "$(cell hdss 2)" 140.0
check "minimum" "$(cell hdss 3)" 140.0
check "first repetition" "$(cell hdss 4)" 280.0
check "iterations per us" "$(cell hdss 5)" 714.29
check "efficiency" "$(cell hdss 6)" 0.952
check "against tuned" "$(cell hdss 7)" 1.071
check "against one kind" "$(cell hdss 8)" 1.429
check "against stock" "$(cell hdss 9)" 1.500
check "spread" "$(cell hdss 10)" 0.7%
check "learning" "$(cell hdss 11)" 7.0
check "result" "$(cell hdss 12)" right
check "other parameters" "$(cell hdss-published 2)" 160.0
check "a strategy without a policy" "$(cell awfe 2)" 180.0
check "wrong result" "$(cell linear 12)" WRONG
check "best number of tasks" "$(cell eager 2)" 250.0
check "first run without model" "$(cell dmda 2)" 300.0
check "with a model" "$(cell dmda-calibrated 2)" 210.0
grep -q '^tss  *exit status 3: tss: the reason$' "$work/table"
check "reason of a failure" $? 0
grep -q '^fss  *no end within 2 s$' "$work/table"
check "time limit" $? 0
grep -q '^gss  *ended by signal 11' "$work/table"
check "crash" $? 0
grep -q '"seed": 5' "$work/report.json"
check "seed" $? 0
grep -q '"efficiency": 0.95238' "$work/report.json"
check "JSON" $? 0
check "left behind" "$(find "$work" -name 'heddle-bench-*')" ""

# The seed orders the contenders, too. Apps refuse it beside input of one's own.
for argument in --input=data --query=data --inp=data --other; do
	FAKE_REFUSES_SEED=yes TMPDIR=$work "$bench" --app "$app" --quick --reps 1 --seed 7 \
		--contenders eager -- "$argument" >"$work/table" 2>&1
	grep -q 'exit status 2' "$work/table"
	check "seed beside $argument" $? "$([ "$argument" = --other ]; echo $?)"
done

# An app that submits tasks of its own: no blocks to sweep, all policies of Heddle, and a
# model is calibrated nevertheless.
FAKE_STRATEGY=tasks TMPDIR=$work "$bench" --app "$app" --quick --reps 2 \
	--contenders alone,tuned,odds,hdss,eager,dmda,dmda-calibrated --json "$work/report.json" \
	>"$work/table" 2>&1
check "exit status of tasks" $? 0
check "tasks: a kind alone" "$(cell cpu-only 2)" 400.0
check "tasks: ours" "$(cell odds 2)" 190.0
check "tasks: one grain" "$(cell eager 2)" 280.0
check "tasks: first run without model" "$(cell dmda 2)" 300.0
check "tasks: with a model" "$(cell dmda-calibrated 2)" 210.0
check "tasks: no tuned blocks" "$(cell tuned 2)" ""
grep -q 'css:' "$work/report.json"
check "tasks: no blocks" $? 1

# Tasks are compared at the best number of workers of a GPU, unless somebody has set one.
FAKE_STRATEGY=tasks TMPDIR=$work "$bench" --app "$app" --quick --reps 2 \
	--contenders cpu-only,heddle,lws --json "$work/report.json" >"$work/table" 2>&1
check "tasks: more workers of a GPU" "$(cell lws 2)" 160.0
grep -q '^lws .*  4 workers a GPU$' "$work/table"
check "tasks: their number" $? 0
check "tasks: who varies them" "$(grep -c '"gpu_workers": 4' "$work/report.json")" 2
FAKE_STRATEGY=tasks STARPU_NWORKER_PER_CUDA=2 STARPU_CUDA_THREAD_PER_WORKER=1 TMPDIR=$work "$bench" \
	--app "$app" --quick --reps 2 --contenders lws >"$work/table" 2>&1
check "tasks: a number of the user's" "$(cell lws 2)" 180.0

# Times by different clocks are not compared.
check "clock" "$(grep -c 'on 1 cpu 1 cuda, times on the wall$' "$work/table")" 1
FAKE_CLOCK=modelled TMPDIR=$work "$bench" --app "$app" --quick --reps 2 \
	--contenders alone,tuned,hdss,eager,dmda --json "$work/report.json" >"$work/table" 2>&1
check "exit status of modelled time" $? 0
check "modelled: ideal" "$(cell ideal 2)" 133.3
check "modelled: efficiency" "$(cell hdss 6)" 0.952
check "modelled: against tuned" "$(cell hdss 7)" 1.071
check "modelled: against stock" "$(cell hdss 9)" -
check "modelled: the wall's efficiency" "$(cell eager 6)" -
check "modelled: the wall's against one kind" "$(cell eager 8)" -
check "modelled: the wall's against stock" "$(cell dmda 9)" 0.833
check "modelled: rows that say so" "$(grep -c 'modelled time$' "$work/table")" 4
grep -q 'times on the wall but where a row says modelled$' "$work/table"
check "modelled: the heading" $? 0
"$bench" --rows "$work/report.json" >"$work/rows"
check "modelled: clocks of rows" \
	"$(awk -F'\t' '{ n[$NF]++ } END { print n["clock"], n["modelled"], n["wall"] }' "$work/rows")" \
	"1 4 2"

# The budget: no process is started that could not end in time.
"$bench" --app "$app" --rounds 100000 --budget 2 --contenders hdss >"$work/table" 2>&1
grep -q 'stopped by the budget' "$work/table"
check "budget" $? 0

# Ranks: mpirun starts them with a share of the workers each. This one runs the first.
mkdir "$work/bin" && cat >"$work/bin/mpirun" <<'END' || exit 99
#!/bin/sh
echo "$*" >>"$RANKS_SAID"
frame=------------------------------
[ -z "${RANKS_FAIL-}" ] || { printf 'fake: no --mpi\n%s\nA process ended.\n%s\n' $frame $frame; exit 2; }
[ "$1 $2" = "-n 1" ] || exit 9
shift 2
for word; do
	shift
	[ "$word" != : ] || rest=yes
	[ -n "${rest-}" ] || set -- "$@" "$word"
done
exec "$@"
END
chmod +x "$work/bin/mpirun"
RANKS_SAID=$work/said PATH=$work/bin:$PATH "$bench" --app "$app" --ranks 1,2 --reps 3 --rounds 2 \
	--json "$work/report.json" >"$work/table" 2>&1
check "exit status of --ranks" $? 0
check "ranks: one process" "$(cell hdss 2) $(cell hdss 6)" "140.0 1.000"
check "ranks: one rank" "$(cell hdss-1-rank 2)" 175.0
check "ranks: two ranks" "$(cell hdss-2-ranks 2) $(cell hdss-2-ranks 6)" "175.0 0.800"
check "ranks: all right" "$(grep -c ' right$' "$work/table")" 3
check "ranks: starts" "$(grep -c ' : ' "$work/said") $(wc -l <"$work/said")" "2 4"
# One core and one device with a core of its own.
grep ' : ' "$work/said" | tr -s ' ' | grep -q 'STARPU_NCUDA=0 .*STARPU_WORKERS_CPUID=0 STARPU_NCPU=1 .* : .*STARPU_NCUDA=1 STARPU_WORKERS_CUDAID=0 .*STARPU_WORKERS_CPUID=1 STARPU_NCPU=0 .*--mpi$'
check "ranks: shares" $? 0
grep -q '"vs_one_process": 0.8' "$work/report.json"
check "ranks: JSON" $? 0
RANKS_FAIL=1 RANKS_SAID=$work/said-fail PATH=$work/bin:$PATH "$bench" --app "$app" --ranks 2 --reps 1 \
	--rounds 1 >"$work/table" 2>&1
grep -q '^hdss-2-ranks  *exit status 2: fake: no --mpi$' "$work/table"
check "ranks: what the app says, not mpirun" $? 0
FAKE_STRATEGY=tasks RANKS_SAID=$work/said PATH=$work/bin:$PATH "$bench" --app "$app" --ranks 3 --reps 2 \
	--rounds 1 --contenders eager,odds >"$work/table" 2>&1
check "ranks: rows of policies" "$(awk '/rank|^eager|^odds/ { printf "%s ", $1 }' "$work/table")" \
	"eager eager-3-ranks odds odds-3-ranks "
for arguments in '--ranks=0' '--ranks=2,x' '--ranks=' '--ranks=2 --irregular' '--ranks=2 --program=x'; do
	# shellcheck disable=SC2086
	PATH=$work/bin:$PATH "$bench" $arguments >"$work/table" 2>&1
	check "exit status of $arguments" $? 2
	check "message of $arguments" "$(grep -c '^heddle: --ranks' "$work/table")" 1
done
mkdir "$work/empty"
PATH=$work/empty "$bench" --ranks 2 >"$work/table" 2>&1
check "exit status without mpirun" $? 2

# What matters most comes first: Heddle's contenders, then the kinds alone.
FAKE_SLEEP=0.4 "$bench" --app "$app" --quick --budget 3 --contenders stock,alone,hdss,axel \
	--timeout 2 >"$work/table" 2>"$work/messages"
check "exit status within a budget" $? 0
grep -q "^hdss  *140" "$work/table" && grep -q "^axel  *190" "$work/table"
check "ours within a budget" $? 0
grep -q "stopped by the budget" "$work/table"
check "the last contenders" $? 0
# A signal is no budget.
"$bench" --app "$app" --quick --rounds 100000 -v >"$work/table" 2>"$work/messages" &
running=$!
until grep -q 'hdss.* us$' "$work/messages"; do
	kill -0 "$running" || break
	sleep 0.1
done
kill "$running"
wait "$running"
grep -q "; interrupted$" "$work/table" && ! grep -q 'budget' "$work/table"
check "interrupted" $? 0
# A budget too small is said before anything is measured.
FAKE_SLEEP=3 "$bench" --app "$app" --quick --budget 5 --contenders stock,hdss -v >"$work/table" 2>"$work/messages"
check "exit status of a budget for nothing" $? 1
head -n 1 "$work/messages" | grep -q '^heddle: --budget: one round of [0-9]* contenders takes about [0-9]* s, but [012] s are left for .*fake-app'
check "message of a budget for nothing" $? 0
grep -q 'the budget ended before each of [0-9]* contenders had run once' "$work/messages"
check "message at the end of it" $? 0
FAKE_SLEEP=3 "$bench" --app "$app" --quick --budget 1 --contenders hdss >"$work/table" 2>"$work/messages"
check "exit status of a budget for less than one process" $? 1
grep -q '^heddle: .*fake-app: no end within the 1 s that --budget leaves$' "$work/messages"
check "message of a budget for less than one process" $? 0

# An app gets its size in the bench's words or its own, and what follows --.
printf '#!/bin/sh\necho "$*" >>"$SAID"\nexit 77\n' >"$work/says"
chmod +x "$work/says"
SAID=$work/said-sizes "$bench" --app "$work/says" --size 32K --quick --contenders hdss -- --mine 1 \
	>"$work/table" 2>&1
grep -q -e '--size=32768 .*--mine 1$' "$work/said-sizes"
check "an app's size and options" $? 0

# Bad use.
for arguments in '--app=no-such-app' '--app=/dev/null' "--app=$work/" '--app=' "--app=$app --contenders=nobody" \
	'--platform=2cpu' '--contenders=,' '--size=K' '--reps=2k' "--irregular --app=$app" '--clusters --json=-' 'histogram'; do
	# shellcheck disable=SC2086
	"$bench" $arguments >"$work/table" 2>&1
	check "exit status of $arguments" $? 2
	check "message of $arguments" "$(test -s "$work/table" && echo said)" said
	! grep -q 'exit status' "$work/table"
	check "nothing was run for $arguments" $? 0
done
# An app that is none: said before anything runs, with the names.
"$bench" --app "$app,nosuch" >"$work/table" 2>&1
check "exit status of a second app that is none" $? 2
check "message of it" "$(head -n 1 "$work/table")" 'heddle: there is no app "nosuch"; there are'
grep -q '^  cholesky  ' "$work/table"
check "names of apps" $? 0
# A name that is none: said once, before anything runs, with the names.
"$bench" --app "$app,$app" --contenders hdss,dmdaz,nobody >"$work/table" 2>&1
check "exit status of --contenders with a name that is none" $? 2
check "messages of it" "$(wc -l <"$work/table")" 1
grep -q '"dmdaz"; [^:]*: dmda ' "$work/table"
check "nearest names first" $? 0
for name in skmd fpga-only hdss-published heteroprio dmdas-calibrated stock; do
	grep -q ": .*[ :]$name\\( \\|\$\\)" "$work/table"
	check "$name among the names" $? 0
done
"$bench" --reps=none >"$work/table" 2>&1
check "exit status of --reps=none" $? 2
message=$("$bench" --rows "$work/none.json" 2>&1)
check "exit status of --rows without a file" $? 2
check "message of --rows without a file" "$message" \
	"heddle: $work/none.json: No such file or directory"
# Simulated loops that are not smooth: as exact as any simulation.
"$bench" --irregular --quick --size 20000 --reps 5 --contenders "hdss css:chunk=10" >"$work/table"
check "exit status of --irregular" $? 0
check "rows of --irregular" "$(grep -c ' 0\.[0-9]* *[01]\.[0-9]*$' "$work/table")" 6
"$bench" --irregular --quick --size 20000 --reps 5 --contenders "hdss css:chunk=10" |
	cmp -s - "$work/table"
check "the same again" $? 0
"$bench" --irregular --quick --size 20000 --reps 5 --contenders "hdss hdss@1 hdss@2" >"$work/table"
check "first repetitions are as single runs" \
	"$(awk '/^(mean|least)/ && $2 == $3' "$work/table" | wc -l)" 2
check "second repetitions are not" "$(awk '/^mean/ && $3 == $4' "$work/table" | wc -l)" 0
"$bench" --irregular --quick --size 2000 --reps 5 --contenders "css:chunk=10 fixed" >"$work/table"
check "fixed blocks are no worse than some" "$(awk '/^(mean|least)/ && $3 >= $2' "$work/table" | wc -l)" 2
"$bench" --irregular --size 2000 --rounds 1 --reps 1 --contenders hdss >"$work/table"
HEDDLE_DEPTH=2 "$bench" --irregular --size 2000 --rounds 1 --reps 1 --contenders hdss |
	cmp -s - "$work/table"
check "two blocks under way are not one" $? 1
# A loop whose costs are measured. Equal ones are the uniform loop, whatever their unit.
yes 7.5 | head -n 2000 >"$work/costs"
"$bench" --irregular --size 2000 --rounds 2 --reps 1 --contenders "hdss css:chunk=10" |
	grep ' uniform ' | sed 's/uniform /costs   /' | sort | tr -s ' ' >"$work/table"
"$bench" --irregular --costs "$work/costs" --rounds 2 --reps 1 --contenders "hdss css:chunk=10" |
	grep ' costs ' | sort | tr -s ' ' | cmp - "$work/table"
check "equal costs" $? 0
check "rows of these" "$(wc -l <"$work/table")" 24
# An iteration that costs all of the loop cannot be divided.
{ yes 0 | head -n 999; echo 1; } >"$work/costs"
"$bench" --irregular --costs "$work/costs" --rounds 1 --reps 1 --contenders css:chunk=1 >"$work/table"
check "one dear iteration" "$(awk '/^16 costs 100ms/ { print $5 < 0.07 }' "$work/table")" 1
for line in x '' -1 nan 1e16 '1 2'; do
	printf '1\n%s\n' "$line" >"$work/costs"
	message=$("$bench" --irregular --costs "$work/costs" 2>&1)
	check "exit status of a cost of '$line'" $? 2
	check "message of it" "$message" "heddle: $work/costs:2: \"$line\" is not a cost from 0 to 1e+15"
done
printf '1\r2\r' >"$work/costs"
"$bench" --irregular --costs "$work/costs" >"$work/table" 2>&1
check "exit status of lines without ends" $? 2
printf '1\r\n2\0003\n' >"$work/costs"
message=$("$bench" --irregular --costs "$work/costs" 2>&1)
check "message of a line with a 0 byte" "$message" "heddle: $work/costs:2: \"2\" is not a cost from 0 to 1e+15"
echo 1e-310 >"$work/costs"
message=$("$bench" --irregular --costs "$work/costs" 2>&1)
check "message of costs near 0" "$message" "heddle: $work/costs: the costs are too small"
echo 0 >"$work/costs"
message=$("$bench" --irregular --costs "$work/costs" 2>&1)
check "message of costs of 0" "$message" "heddle: $work/costs: all costs are 0"
message=$("$bench" --irregular --costs "$work" 2>&1)
check "message of a folder of costs" "$message" "heddle: $work: Is a directory"
: >"$work/costs"
message=$("$bench" --irregular --costs "$work/costs" 2>&1)
check "message of a file without costs" "$message" "heddle: $work/costs: no cost"
message=$("$bench" --irregular --costs "$work/none" 2>&1)
check "message of costs that are nowhere" "$message" "heddle: $work/none: No such file or directory"
message=$("$bench" --costs "$work/costs" 2>&1)
check "message of costs alone" "$message" "heddle: --costs: only with --irregular"
message=$("$bench" --irregular --size 5 --costs "$work/costs" 2>&1)
check "message of costs and a size" "$message" "heddle: --costs: not with --size"
"$bench" --clusters --quick --size 400 >"$work/table"
check "exit status of --clusters" $? 0
check "rows of --clusters" "$(grep -c '^[0-9]*,[a-z]*,[0-9]*,400,.*,odds,0,' "$work/table")" 27
check "the paper's numbers" "$(grep -c '^10,half,2,400,8,odds,.*,44,0,97.62$' "$work/table")" 1
check "no numbers of the paper" "$(grep -c '^10,half,2,400,4,odds,.*,,,$' "$work/table")" 1
for name in nobody hdss@x hdss@0 ' '; do
	"$bench" --irregular --contenders "$name" >"$work/table" 2>&1
	check "exit status of --irregular with '$name'" $? 2
	check "messages of it" "$(wc -l <"$work/table")" 1
done
# Nobody waits for a comparison that cannot be written.
message=$("$bench" --app "$app" --json "$work/none/report.json" 2>&1)
check "exit status of a report without a folder" $? 2
check "message of a report without a folder" "$message" \
	"heddle: $work/none/report.json: No such file or directory"
# The user's own models are neither used nor touched, wherever StarPU finds them. What PoCL has
# compiled stays in use.
mkdir "$work/own"
for name in XDG_CACHE_HOME STARPU_PERF_MODEL_DIR; do
	env "$name=$work/own" TMPDIR="$work" "$bench" --app "$app" --quick --reps 2 \
		--contenders dmda,dmda-calibrated --json "$work/report.json" >"$work/table" 2>&1
	check "$name: first run without model" "$(cell dmda 2)" 300.0
	check "$name: with a model" "$(cell dmda-calibrated 2)" 210.0
	check "$name: left behind" "$(ls "$work/own")" ""
done
cat >"$work/caches" <<'END'
#!/bin/sh
echo "$POCL_CACHE_DIR" >>"$CACHES"
exit 77
END
chmod +x "$work/caches"
env -u POCL_CACHE_DIR XDG_CACHE_HOME="$work/own" CACHES="$work/kernels" TMPDIR="$work" \
	"$bench" --app "$work/caches" --quick --contenders hdss >"$work/table" 2>&1
check "PoCL's folder" "$(sort -u "$work/kernels")" "$work/own/pocl/kcache"

[ "$failures" = 0 ]
