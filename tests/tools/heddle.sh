#!/bin/sh
# The command heddle: finding subcommands, `heddle plan blocks`, and what it says
# to wrong use and bad input.
. "$top_srcdir/tests/tools/common.sh"
heddle=$top_builddir/bin/heddle
# machine TEXT: writes a description and names it.
machine() {
	printf '%s\n' "$1" >"$work/machine.json"
}
plan() {
	"$heddle" plan blocks "$@" "$work/machine.json"
}

expect 2 '^Usage: heddle SUBCOMMAND' "$heddle"
expect 0 '^Usage: heddle SUBCOMMAND' "$heddle" --help
expect 0 '^heddle [0-9]' "$heddle" --version
expect 2 '"plna" is not a subcommand' "$heddle" plna
expect 2 'is not a subcommand' "$heddle" ../bin/heddle
expect 0 '^Usage: heddle plan' "$heddle" help plan
expect 2 '"block" is nothing to plan' "$heddle" plan block
expect 0 'Usage: heddle.bench' "$heddle" bench --help
expect 2 'there is no application "nothing"' "$heddle" app nothing
expect 2 'there is no application ""' "$heddle" app ''
expect 2 'there is no application "\."' "$heddle" app .
expect 2 '"--size" is no application' "$heddle" app --size
expect 0 '^Usage: heddle app' "$heddle" app --help
expect 0 'strategy' "$heddle" plan blocks --help

# StarPU aborts the program on these.
expect 2 '^heddle: STARPU_NCPU="x": not a whole number, 0 or more' env STARPU_NCPU=x "$heddle" info
expect 2 '^heddle: STARPU_NCUDA="-1": not a whole number' \
	env STARPU_NCUDA=-1 "$heddle" run --sched lws -- true
expect 2 '^heddle: STARPU_NOPENCL="2 "' env STARPU_NOPENCL='2 ' "$heddle" app vecinc
expect 0 '^$' env STARPU_NCPU=1 STARPU_NOPENCL=0 "$heddle" run --sched lws -- echo
expect 0 '^Usage' env STARPU_NCPU=x "$heddle" --help
expect 0 '^Usage' env STARPU_NCPU=x "$heddle" plan --help
expect 0 '^$' env STARPU_NCPU=1 STARPU_NAME=x "$heddle" run --sched lws -- echo

# -h helps everywhere, as --help does.
for words in bench estimate 'estimate show' plan 'plan blocks' 'plan interval' 'plan kernels' 'plan split' plot run \
	simulate trace app info overhead sample 'app vecinc' 'app heat2d' 'app kernels'; do
	# From here on they start with StarPU, which wants a machine to simulate.
	[ "$words" != info ] || ! grep -q 'define HEDDLE_USE_SIMGRID' "$top_builddir/config.h" || break
	# shellcheck disable=SC2086
	expect 0 '^Usage: ' "$heddle" $words -h
	# shellcheck disable=SC2086
	expect 0 '^Usage: ' "$heddle" $words --help
done

# What there is to run, each with what it is.
expect 0 '^  histogram  .*a loop with a reduction' "$heddle" app --help
! grep -E '^  [a-z0-9]+ *$' "$work/out" || fail "apps that app --help does not tell of"
# What they say to type is what was typed. In a simulation StarPU looks for its machine first.
if ! grep -q 'define HEDDLE_USE_SIMGRID' "$top_builddir/config.h"; then
	expect 2 "^Try .heddle app vecinc --help'" "$heddle" app vecinc --frob
	expect 2 "^Try .heddle app kernels --help'" "$heddle" app kernels nosuch
fi
expect 0 '^Contenders: cpu-only' "$heddle" bench --help
expect 0 '^  spmv  *a sparse matrix' "$heddle" bench --help

interval() {
	"$heddle" plan interval --cd 99 --cc 0.69 --us 20000 --uc 10000 "$@"
}
expect 0 '"h": 81,' interval --k 8 --worker kid:10:0.526
expect 0 '"h": 66,' interval --k 4 --worker twin:5:0.319 --worker kid:5:0.526
expect 0 '"ratio": 1[.,]' interval --k 8 --worker kid:10:0.526 --sweep=70-90
expect 0 '"h": 228,' interval --k 8 --worker kid:10:0.526 --pipelined
expect 0 '"h": 20000,' interval --worker alone:1:1
expect 2 'are all needed' interval
expect 2 'COUNT: "0" is not a whole number' interval --worker a:0:1
expect 2 'not NAME:COUNT:CP' interval --worker a:1
expect 2 'is there already' interval --worker a:1:1 --worker a:2:1
expect 2 'cannot be scheduled' interval --worker a:1:1 --vector -1,0
expect 0 '"rehearsed": {"h": 167, "t_us": 1241[.,]75' interval --cd 4 --cc 0 --us 1000 --uc 1000 --k 4 \
	--worker core:2:0.002
expect 2 '^heddle: .*none/sweep.csv: No such file' interval --worker a:1:1 --sweep --csv "$work/none/sweep.csv"
expect 2 'not FIRST-LAST' interval --worker a:1:1 --sweep=9-3
expect 2 'not a whole number' interval --worker a:1:1 --k 1.5

machine '{"n": 1000, "workers": [{"name": "gpu", "kind": "cuda", "rate": 8},
	{"rate": 1, "count": 2}]}'
expect 0 '"worker": "gpu"' plan
expect 0 '"makespan_us": 100, "ideal_us": 100,' plan --strategy axel:cuda=8
expect 0 '^gpu  *800  *80.00%  *1  *100.0$' plan --table --strategy axel:cuda=8
expect 2 'did you mean gss' plan --strategy gs
expect 2 'no parameter "chunks"; did you mean chunk? It has chunk ' plan --strategy css:chunks=2
# Only what is near is suggested.
expect 2 '"nosuch" is not a block strategy. There are hdss .*; loops also take tasks$' plan --strategy nosuch
expect 2 'no parameter "size". It has chunk ' plan --strategy css:size=2
# Of longer blocks this worker would be slower without an end.
machine '{"n": 1000, "workers": [{"rate": 1, "a": -1, "b": 2}]}'
expect 2 'machine.json: workers\[0\].a: -1 is out of range (0 to ' plan
# The blocks of two workers with one name could not be told apart.
machine '{"n": 10, "workers": [{"name": "a", "rate": 1}, {"name": "b", "rate": 1}, {"name": "a", "rate": 1}]}'
expect 2 'machine.json: workers\[2\].name: another worker is called "a", too$' plan
machine '{"n": 10, "workers": [{"rate": 1, "count": 2}, {"rate": 2, "count": 2}]}'
expect 0 '"worker": "cpu3"' plan --strategy static
# Names that Heddle makes give way to those that are given.
machine '{"n": 10, "workers": [{"name": "cpu1", "rate": 1}, {"rate": 1}]}'
expect 0 '"worker": "cpu2"' plan --strategy static
# No letter is cut in two.
machine '{"n": 10, "workers": [{"name": "aaaaaaaaaaaaaaaaaaaaaaaé", "rate": 1, "count": 2}]}'
expect 2 'workers\[0\].name: longer than 24 bytes' plan
# What comes once: 50 + 10 + 40 us, then 10 + 40.
machine '{"n": 80, "workers": [{"rate": 1, "overhead_us": 10, "once_us": 50}]}'
expect 0 '"makespan_us": 150' plan --strategy css:chunk=40
machine '{"n": 80, "workers": [{"rate": 1, "once_us": -1}]}'
expect 2 'workers\[0\].once_us: -1 is out of range' plan --strategy css
# More blocks than memory, and anybody, could take.
machine '{"n": 1000000000000, "workers": [{"rate": 1}, {"rate": 2}]}'
css() {
	# shellcheck disable=SC3045 # dash and bash have it
	(ulimit -v 4000000 && exec "$heddle" plan blocks --strategy css:chunk=1 \
		"$work/machine.json")
}
expect 2 '^heddle: css:chunk=1: more than 4194304 blocks of 1000000000000 iterations' css
expect 2 'which machine' "$heddle" plan blocks
expect 2 'No such file' "$heddle" plan blocks "$work/none.json"
expect 2 "^heddle: a file without a name: No such file" "$heddle" plan blocks ""
for words in 'plan blocks' 'plan split' 'bench --rows'; do
	# shellcheck disable=SC2086
	expect 2 "^heddle: $work: Is a directory" "$heddle" $words "$work"
	# shellcheck disable=SC2086
	expect 2 '^heddle: /dev/null: it is empty' "$heddle" $words /dev/null
done
for bad in '|line 2, column 0' '[]|not an object' '{"n": 1}|workers: not an array' \
	'{"workers": [{"rate": 1}]}|n is missing' '{"n": 1, "workers": []}|workers: not an array' \
	'{"n": -1, "workers": [{"rate": 1}]}|n: -1 is out of range' \
	'{"n": 1.5, "workers": [{"rate": 1}]}|n: not a whole number' \
	'{"n": 1, "workers": [{}]}|workers\[0\].rate is missing' \
	'{"n": 1, "workers": [{"rate": 1}, 7]}|workers\[1\]: not an object' \
	'{"n": 1, "workers": [{"rate": 0}]}|workers\[0\].rate: 0 is out of range' \
	'{"n": 1, "workers": [{"rate": "1"}]}|workers\[0\].rate: not a number' \
	'{"n": 1, "workers": [{"rate": 1, "kind": "gpu"}]}|kind: "gpu" is not' \
	'{"n": 1, "workers": [{"rate": 1, "sped": 1}]}|unknown key "sped"' \
	'{"n": 1, "n": 2, "workers": [{"rate": 1}]}|duplicate' \
	'{"n": 1, "workers": [{"rate": 1, "minimum": 5, "maximum": 4}]}|minimum 5 exceeds maximum 4' \
	'{"n": 1, "workers": [{"rate": 1}]|line 2'; do
	machine "${bad%%|*}"
	expect 2 "${bad#*|}" plan
done
machine '{"n": 1000, "workers": [{"rate": 1, "stop_us": 10}]}'
expect 1 'every worker failed' plan
expect 2 'which machine? Say --platform' "$heddle" simulate -- true
expect 2 'which command? Say it after --' "$heddle" simulate -p 3cpu
[ "$failures" = 0 ]
