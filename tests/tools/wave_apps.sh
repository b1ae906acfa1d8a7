#!/bin/sh
# The apps whose loops are wavefronts: right under every policy, h and k; exit codes and
# messages; files in and out. With the argument opencl, on an OpenCL worker on the CPU.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$top_srcdir/tests/tools/common.sh"
apps=$top_builddir/apps
if [ "${1:-}" = opencl ]; then
	STARPU_NCPU=1 STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1
	export STARPU_NCPU STARPU_NOPENCL STARPU_OPENCL_ON_CPUS
	"$apps/floyd/floyd" --size 10 --reps 1 --workers opencl >"$work/out" 2>&1
	[ $? = 77 ] && exit 77
	for workers in opencl cpu,opencl; do
		expect_app 0 "verified" floyd --size 130 --bits 2 --reps 2 --verify --sched hdss --workers $workers
		expect_app 0 "verified" floyd --size 97 --channels 3 --h 23 --k 3 --reps 1 --verify \
			--sched hdss --workers $workers
		expect_app 0 "verified" heat2d --size 150 --sweeps 3 --h 40 --k 2 --reps 1 --verify \
			--sched hdss --workers $workers
		expect_app 0 "verified" heat2d --size 65 --sweeps 5 --reps 1 --verify --sched eager \
			--workers $workers
		expect_app 0 "verified" strmatch --size 300 --h 70 --k 2 --reps 1 --verify --sched hdss \
			--workers $workers
		expect_app 0 "verified" strmatch --size 257 --alphabet protein --align --reps 1 --verify \
			--sched eager --workers $workers
	done
	[ "$failures" = 0 ]
	exit
fi

expect_app 2 "--every without --snapshots" heat2d --every 5
expect_app 2 "--snapshots '': a prefix without a letter" heat2d --size 9 --snapshots ''

# The variable is also for loops.
for sched in heddle eager; do
	HEDDLE_STRATEGY=tasks expect_app 0 "verified" strmatch --size 300 --reps 1 --verify --sched $sched
done

for app in floyd heat2d strmatch; do
	for sched in hdss static ddwrr dmda; do
		expect_app 0 "verified" $app --size 203 --reps 1 --verify --sched $sched
	done
	for h in 1 64 1000; do
		size=203
		[ $h = 1 ] && size=40
		expect_app 0 "verified" $app --size $size --h $h --k 1 --reps 1 --verify --sched hdss
		expect_app 0 "verified" $app --size $size --h $h --k 5 --reps 1 --verify --sched hdss
	done
	expect_app 0 "the model's" $app --size 300 --h sweep --reps 1 --verify --sweep-csv "$work/sweep.csv"
	[ "$(head -n 1 "$work/sweep.csv")" = sweep,k,h,predicted_us,measured_us,chosen ] ||
		fail "$app: header of the sweep"
	[ "$(awk -F, 'NR > 1 && NF == 6 && $5 > 0' "$work/sweep.csv" | wc -l)" -gt 4 ] ||
		fail "$app: lines of the sweep"
	[ "$(grep -c ',1$' "$work/sweep.csv")" = 1 ] || fail "$app: chosen in the sweep"
	expect_app 2 "without --h sweep" $app --sweep-csv "$work/x"
	expect_app 0 "verified" $app --size 1 --reps 1 --verify
	expect_app 0 "verified" $app --size 0 --reps 1 --verify
	expect_app 0 "--k=N" $app --help
	expect_app 2 'neither "sweep" nor' $app --h 0
	expect_app 2 "not a whole number" $app --k 0
	expect_app 2 "exclude each other" $app --size 1 --input "$work/x"
	expect_app 2 "No such file" $app --input "$work/missing"
	expect_app 0 '"predicted_us"' $app --size 100 --reps 1 --json -
done

# A prediction that is far off is said, and the next one goes by what was measured. Here costs were
# stored that are a thousandth of the true ones.
mkdir "$work/profiles"
heat() {
	HEDDLE_PROFILE_DIR=$work/profiles HEDDLE_VERBOSE=2 expect_app 0 "$1" heat2d --size 200 --reps 1 \
		--h 50 --k 1 --sched hdss --strategy hdss
}
HEDDLE_PROFILE_DIR=$work/profiles expect_app 0 '' heat2d --size 200 --reps 1 --sched hdss
sed -i -E '/^wavefront_run/d; s/ (cp|cr|overhead)=[^ ]*/ \1=0.000001/g' "$work/profiles/heat2d.profile"
heat 'times what was predicted; the next prediction goes by that'
took=$(sed -n 's/.*it took \([0-9]*\) us, .*/\1/p' "$work/out")
heat "$took us predicted"

# What wavefronts do not use of a strategy is refused, or said once where the program has it.
expect_app 2 "strategy hdss: a wavefront has no use for jump=0" floyd --size 90 --strategy hdss:jump=0
expect_app 2 "over several sweeps a wavefront has no use for gss" heat2d --size 50 --sweeps 2 \
	--strategy gss
expect_app 0 "verified" heat2d --size 50 --sweeps 1 --strategy gss:least=2 --reps 1 --verify
for spec in hdss:jump=0 gss; do
	export "HEDDLE_STRATEGY=$spec"
	expect_app 0 "" heat2d --size 50 --sweeps 4 --reps 3 --sched eager
	grep -q "policy eager, strategy hdss$" "$work/out" || fail "HEDDLE_STRATEGY=$spec: not by speeds"
	[ "$(grep -c "has no use for" "$work/out")" = 1 ] || fail "HEDDLE_STRATEGY=$spec: not said once"
done
unset HEDDLE_STRATEGY
expect_app 0 "over several sweeps a wavefront has no use for gss" heat2d --size 50 --sweeps 4 --sched gss
expect_app 0 "policy ddwrr, strategy hdss" heat2d --size 50 --sweeps 4 --sched ddwrr
grep -q "has no use for" "$work/out" && fail "ddwrr: a message on its strategy"

# The same image whatever cuts it.
image=$work/image.png
expect_app 0 "" boxfilter --size 90 --channels 3 --reps 1 --save-input "$image"
expect_app 0 "verified" floyd --input "$image" --bits 3 --h 11 --k 4 --reps 1 --verify \
	--output "$work/a.png"
expect_app 0 "verified" floyd --input "$image" --bits 3 --reps 1 --verify --sched gss \
	--output "$work/b.png"
cmp -s "$work/a.png" "$work/b.png" || fail "floyd: two images of one input"
# One row of 7 pixels, and one column.
printf '\211PNG\r\n\032\n\000\000\000\015IHDR\000\000\000\007\000\000\000\001\010\000\000\000\000\067\140\353\022\000\000\000\020IDAT\170\234\143\020\261\214\153\136\161\366\023\000\012\120\003\226\177\236\136\002\000\000\000\000IEND\256\102\140\202' >"$work/row.png"
printf '\211PNG\r\n\032\n\000\000\000\015IHDR\000\000\000\001\000\000\000\007\010\000\000\000\000\354\047\170\110\000\000\000\026IDAT\170\234\143\020\141\310\147\070\305\240\312\320\300\160\233\301\014\000\023\073\003\004\072\261\350\323\000\000\000\000IEND\256\102\140\202' >"$work/column.png"
for image in "$work/row.png" "$work/column.png"; do
	expect_app 0 "floyd: 7 pixels" floyd --input "$image" --bits 2 --reps 1 --verify
	expect_app 0 "verified" floyd --input "$image" --h 2 --k 3 --reps 1 --verify --sched hdss
	expect_app 0 "verified" heat2d --input "$image" --sweeps 3 --h 2 --reps 1 --verify
done
expect_app 2 "not a whole number" floyd --bits 9
expect_app 2 "neither 1 nor 3" floyd --channels 2

# Snapshots: the last one is the result.
expect_app 0 "verified" heat2d --size 50 --sweeps 25 --snapshots "$work/heat" --every 10 --reps 1 \
	--verify --save-input "$work/plate.png" --output "$work/a.png"
cmp -s "$work/a.png" "$work/heat-000025.png" || fail "heat2d: the last snapshot is not the result"
for sweep in 000010 000020; do
	[ -s "$work/heat-$sweep.png" ] || fail "heat2d: no snapshot $sweep"
done
# What workers did is told of all wavefronts of a repetition.
expect_app 0 "" heat2d --size 50 --sweeps 25 --snapshots "$work/heat" --every 10 --reps 1 \
	--json "$work/report"
sum=$(sed -n 's/^ *"iterations": \([0-9]*\),$/\1/p' "$work/report" | awk '{ n += $1 } END { print n }')
[ "$sum" = 62500 ] || fail "heat2d: workers did $sum of 62500 iterations"
expect_app 0 "verified" heat2d --input "$work/plate.png" --sweeps 25 --reps 1 --verify \
	--output "$work/b.png"
cmp -s "$work/a.png" "$work/b.png" || fail "heat2d: another result from the saved input"
expect_app 2 "not a whole number" heat2d --sweeps 0
expect_app 2 "No such file" floyd --size 50 --reps 1 --h sweep --sweep-csv "$work/no/such/folder"
grep -q "repetition" "$work/out" && fail "floyd: works for a sweep that has no place"

# An alignment that can be done by hand: AWGHE with AW-HE.
printf '>one the query\nHEAGA\nWGHEE\n' >"$work/q.fa"
printf '\n>two\r\npawheae\r\n\n' >"$work/s.fa"
expect_app 0 "score 20" strmatch --query "$work/q.fa" --subject "$work/s.fa" --alphabet protein \
	--gap 8 --align --verify --output "$work/result"
grep -q '^query *5 AWGHE 9$' "$work/result" || fail "strmatch: the query's part"
grep -q '^subject *2 AW-HE 5$' "$work/result" || fail "strmatch: the subject's part"
expect_app 0 "verified" strmatch --size 1000 --reps 1 --verify --save-input "$work/both.fa"
cp "$work/out" "$work/first"
expect_app 0 "verified" strmatch --input "$work/both.fa" --reps 1 --verify
[ "$(grep -E '^(score|query|subject)' "$work/out")" = \
	"$(grep -E '^(score|query|subject)' "$work/first")" ] ||
	fail "strmatch: another result from the saved input"
printf '>one\nAAAA\n' >"$work/a.fa"
printf '>two\nCCCC\n' >"$work/c.fa"
expect_app 0 "score 0" strmatch --query "$work/a.fa" --subject "$work/c.fa" --align --verify
expect_app 0 "score 8" strmatch --query "$work/a.fa" --subject "$work/a.fa" --align --verify

# bad CONTENT MESSAGE: what is no FASTA.
bad() {
	printf "$1" >"$work/bad.fa"
	expect_app 2 "$2" strmatch --query "$work/bad.fa" --subject "$work/c.fa"
}
bad 'ACGT\n' "bad.fa:1: not a FASTA file"
bad '\n\n' "bad.fa:2: the file ends after 0 of 1"
bad '>x\nACGT\nACXT\n' "bad.fa:3: column 3: 'X' is no letter"
bad '>x\nAC\000GT\n' "bad.fa:2: column 3: byte 0 is no letter"
bad '>x\n\n' "bad.fa:1: sequence 'x' has no letters"
bad '>x\nA\n>y\nC\n' "bad.fa:3: more than 1 sequence"
bad '' "is empty"
expect_app 2 "the file ends after 1 of 2" strmatch --input "$work/a.fa"
expect_app 2 "go together" strmatch --query "$work/a.fa"
expect_app 2 "is for --alphabet protein" strmatch --blosum62
expect_app 2 "exclude each other" strmatch --blosum62 --alphabet protein --match 3
expect_app 2 "more than --open" strmatch --open 2 --extend 3
expect_app 2 "neither dna nor" strmatch --alphabet rna
expect_app 2 "exclude each other" strmatch --size 10 --query "$work/a.fa" --subject "$work/a.fa"
expect_app 2 "exclude each other" strmatch --seed 10 --query "$work/a.fa" --subject "$work/a.fa"

[ "$failures" = 0 ]
