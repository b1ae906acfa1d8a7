#!/bin/sh
# The apps' command line: exit codes, messages, the JSON report, files in and out.
# Time limit: 300 s
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$top_srcdir/tests/tools/common.sh"
apps=$top_builddir/apps
expect_app 0 "verified" vecinc --size 100003 --reps 2 --verify --sched odds --chunk 1000
expect_app 0 "verified" vecinc --size 100003 --reps 1 --verify --sched eager --passes 0
expect_app 0 "verified" vecinc --size 0 --reps 1 --verify
expect_app 0 "--prefetch" vecinc --help
expect_app 0 "every chunk is a task" vecinc --size 1000 --reps 1 --strategy gss
for app in vecinc eclat nbia; do
	expect_app 2 '"abc" is not a block strategy' $app --size 1000 --reps 1 --strategy abc
done
HEDDLE_STRATEGY=abc expect_app 2 'HEDDLE_STRATEGY=abc cannot be used' blackscholes --size 1000 --reps 1
HEDDLE_STRATEGY=css:size=1 expect_app 2 'HEDDLE_STRATEGY=css:size=1 cannot' blackscholes --size 1000 --reps 1
HEDDLE_STRATEGY=abc expect_app 2 'HEDDLE_STRATEGY=abc cannot be used' strmatch --size 100 --reps 1
expect_app 0 '"busy_us"' vecinc --size 4000003 --reps 1 --json -
awk '/"iterations"/ { n = $2 + 0 } /"busy_us"/ { busy = $2 + 0 }
	/"finish_us"/ && n > 0 { some = 1; if (!(busy > 0 && busy <= $2 + 0)) bad = 1 }
	END { exit bad || !some }' "$work/out" || { fail "vecinc: times of workers"; cat "$work/out"; }
expect_app 2 "'mfsc' is a block strategy" vecinc --sched mfsc
# Of StarPU's own, some give way to Heddle's where nobody asks for them.
for policy in graph_test modular-prio modular-random; do
	expect_app 0 ", policy $policy" vecinc --size 1000 --reps 1 --sched $policy
done
expect_app 2 "for apps that are one loop" vecinc --late
expect_app 2 "exclude each other" histogram --late --mpi
expect_app 0 '"late": 0' histogram --late --size 1000 --reps 1 --verify --json -
expect_app 2 "not a whole number" vecinc --chunk 0
expect_app 2 "neither auto nor" vecinc --prefetch some
# What the environment says that cannot be used is refused as an option's value is.
HEDDLE_DEPTH=-1 expect_app 2 "HEDDLE_DEPTH=-1: not a value (0 to 64 blocks or tasks)" vecinc
HEDDLE_PREFETCH=some expect_app 2 "HEDDLE_PREFETCH=some: not a value (auto or 0 to 64 tasks)" vecinc
HEDDLE_PLATFORM=2cpu expect_app 2 "HEDDLE_PLATFORM=2cpu: this StarPU does not simulate" vecinc
STARPU_SCHED=nobody expect_app 2 "'nobody' is not a policy of Heddle or StarPU" vecinc
HEDDLE_DEPHT=3 expect_app 0 "did you mean HEDDLE_DEPTH?" blackscholes --size 10 --reps 3
[ "$(grep -c DEPHT "$work/out")" = 1 ] || fail "an unknown variable is named again: $(cat "$work/out")"
# A file beside the one without a name could not be put into its place, and stayed.
expect_app 2 "a file without a name: No such file" blackscholes --reps 1 --input ''
for option in --output --json; do
	expect_app 2 "a file without a name: No such file" blackscholes --size 10 --reps 1 $option ''
done
for left in .[0-9]*; do
	[ ! -e "$left" ] || fail "a file is left: $left"
done
# A log that a killed process has left in the middle of a line gets whole lines.
log=$work/torn.csv
for _ in whole torn; do
	HEDDLE_BLOCK_LOG=$log expect_app 0 "hdss" blackscholes --size 1K --reps 1 --sched hdss
	truncate -s -3 "$log"
done
[ "$(tail -n +2 "$log" | grep -cvE '^([^,]*,){7}[0-9.]*$')" = 0 ] || fail "torn lines: $(cat "$log")"
rm "$log"
expect_app 2 "neither input nor output" vecinc --output "$work/x" --size 10 --reps 1
# Whether it goes on then is up to PoCL.
# shellcheck disable=SC3045 # dash and bash have it
(ulimit -c 0; HWLOC_FSROOT=$work "$apps/vecinc/vecinc" --size 10 --reps 1) >"$work/out" 2>&1
grep -q "cores in $work/sys/devices/system/cpu.* mounted" "$work/out" ||
	{ fail "no message where there is no /sys"; cat "$work/out"; }
# Who asks for reasons is told of equal tasks, once, unless their number was asked for, too.
HEDDLE_VERBOSE=2
export HEDDLE_VERBOSE
expect_app 0 "equal tasks, since the policy eager is none of Heddle's" spmv --size 100 --reps 2 \
	--sched eager
[ "$(grep -c 'none of Heddle' "$work/out")" = 1 ] || fail "told of equal tasks: $(cat "$work/out")"
expect_app 0 ', policy eager, equal tasks' spmv --size 100 --reps 2 --sched eager --parts 7
grep 'none of Heddle' "$work/out" && fail 'explains --parts'
expect_app 0 ', policy heddle, equal tasks' spmv --size 100 --reps 2 --sched heddle --strategy tasks \
	--parts 7 --verify
grep 'none of Heddle' "$work/out" && fail 'heddle is one of Heddle'
# Of more parts than iterations each empty one was looked at: 300 times 2^30 of them would not end.
expect_app 0 verified spmv --size 100 --reps 300 --verify --sched eager --parts 1G
HEDDLE_PARTS=2 expect_app 0 ', policy eager, equal tasks' spmv --size 100 --reps 2 --sched eager
grep 'none of Heddle' "$work/out" && fail 'explains HEDDLE_PARTS'
unset HEDDLE_VERBOSE
# An empty name is none.
STARPU_SCHED='' expect_app 0 ', policy heddle, strategy hdss' spmv --size 100 --reps 1
# Before it takes memory, and time.
expect_app 2 "neither input nor output" vecinc --output "$work/x" --size 2305843009213693951

for app in blackscholes boxfilter heart histogram knn mandelbrot nbody spmv; do
	size=10007
	case $app in boxfilter | heart | mandelbrot) size=101 ;; esac
	expect_app 0 "verified" $app --size $size --reps 2 --verify --sched hdss
	expect_app 0 "verified" $app --size $size --reps 1 --verify --sched eager
	grep -q ', policy eager, equal tasks$' "$work/out" || fail "$app: what it was cut into"
	grep '^heddle:' "$work/out" && fail "$app: explains a policy that it was asked for"
	expect_app 0 "verified" $app --size $size --reps 1 --verify --sched eager --parts 7
	expect_app 0 ", policy heddle, strategy hdss" $app --size $size --reps 1
	grep '^heddle:' "$work/out" && fail "$app: something to explain under its own policy"
	expect_app 0 "verified" $app --size $size --reps 1 --verify --strategy gss --workers cpu
	expect_app 0 "verified" $app --size 0 --reps 1 --verify
	expect_app 0 "verified" $app --size 1 --reps 1 --verify
	expect_app 0 "--strategy" $app --help
	expect_app 2 "not a whole number" $app --size ten
	expect_app 2 "not a whole number" $app --size -1
	expect_app 2 "not a whole number" $app --size 99999999999999999999
	expect_app 2 "not a whole number" $app --reps 0
	expect_app 2 "takes no arguments" $app stray
	expect_app 2 "'nonsense' is not a policy of Heddle or StarPU" $app --sched nonsense
	expect_app 2 "nonsense" $app --size 10 --strategy nonsense
	expect_app 2 "is no kind of worker; there are cpu cuda" $app --workers gpu9
	expect_app 2 "exclude each other" $app --size 1 --input "$work/x"
	: >"$work/empty"
	if [ $app = mandelbrot ]; then
		expect_app 2 "no input files" $app --input "$work/empty"
	else
		expect_app 2 "No such file" $app --input "$work/missing"
		expect_app 2 "is a directory" $app --input "$work"
		expect_app 2 "is empty" $app --input "$work/empty"
		expect_app 2 "not a regular file" $app --input /dev/zero
	fi
	expect_app 2 "No such file" $app --size 10 --reps 1 --output "$work/no/such/folder"
	expect_app 2 "No such file" $app --size 10 --reps 1 --json "$work/no/such/folder"
	# That is said before the work begins, of which nothing is printed.
	grep -q "repetition" "$work/out" && fail "$app: works for a report that has no place"
	expect_app 2 "Is a directory" $app --size 10 --reps 1 --save-input "$work"
	expect_app 2 "$app: unrecognized option" $app --nonsense
	grep -q "/$app: " "$work/out" && fail "$app calls itself by its path"
	STARPU_NCPU=0 expect_app 77 "StarPU" $app --size 10
	STARPU_NCUDA=0 expect_app 77 "no cuda worker" $app --workers cpu,cuda

	"$apps/$app/$app" --size $size --reps 3 --verify --json - >"$work/report" ||
		fail "$app --json -"
	for key in app n sched strategy starpu us verified max_error workers id kind name \
		iterations blocks busy_us finish_us learning_us overhead_us; do
		grep -q "\"$key\": " "$work/report" || fail "$app: no \"$key\" in the report"
	done
	grep -q '"verified": true' "$work/report" || fail "$app: the report does not say verified"
done

options=$work/options.csv
expect_app 0 "" blackscholes --size 1000 --reps 1 --save-input "$options" --output "$work/a.csv"
expect_app 0 "verified" blackscholes --input "$options" --reps 1 --verify --output "$work/b.csv"
cmp "$work/a.csv" "$work/b.csv" || fail "prices of the same options differ"
[ "$(wc -l <"$work/b.csv")" = 1001 ] || fail "not every price was written"
printf '42,40,0.5\n' >"$options"
expect_app 0 "" blackscholes --input "$options" --rate 0.1 --volatility 0.2 --output "$work/c.csv"
grep -q '^42,40,0.5,4.759[0-9]*,0.808[0-9]*$' "$work/c.csv" || fail "the textbook's price is missed"

# bad LINES TEXT: options that must be refused, with file and line.
bad() {
	printf "$1" >"$options"
	expect_app 2 "$2" blackscholes --input "$options"
}
bad '1,2,3\n1,2\n' "options.csv:2: years is missing"
bad '1,2,3\n1,,3\n' "options.csv:2: strike is missing"
bad '1,2,3\n\n1,x,3\n' "options.csv:3: strike: 'x' is not a number"
bad '1,2,3,4\n' "options.csv:1: a row has 3 numbers, not more"
bad '1,2,nan\n' "options.csv:1: years: 'nan' is not a finite number above 0"
bad '1,inf,1\n' "options.csv:1: strike: 'inf' is not a finite number above 0"
bad '1,-2,1\n' "options.csv:1: strike: '-2' is not a finite number above 0"
bad 'spot,strike,years\n1,1e99,1\n' "options.csv:2: strike: '1e99' is not a finite number above 0"
bad 'spot,strike,years\n' "no row of numbers"
bad 'spot,price,years\n1,2,3\n' "options.csv:1: spot: 'spot' is not a number"
bad '1,2,3\0\n' "is not a number"
bad '1;2;3\n' "options.csv:1: spot: '1;2;3' is not a number"
# Prices of these were infinite.
printf '1,2,3\n\n100,100,200\n' >"$options"
expect_app 2 "options.csv: option 2: in 200 years at --rate -1 the strike 100, or its growth, is" blackscholes \
	--input "$options" --rate -1
expect_app 0 verified blackscholes --input "$options" --rate -0.02 --reps 1 --verify
# This strike fits, what it is multiplied by did not: the price was 1.7e28, with exit status 0.
printf '1e-10,1e-10,100\n' >"$options"
expect_app 2 "option 1: in 100 years at --rate -1 the strike 1e-10, or its growth, is" blackscholes \
	--input "$options" --rate -1
printf '1e-10,1e-10,87\n' >"$options"
expect_app 0 "" blackscholes --input "$options" --rate -1 --reps 1

# A file is what it is: options of random input are refused beside it.
while read -r app option; do
	# shellcheck disable=SC2086
	expect_app 2 "${option%% *} is of random input: it and --input exclude each other" "$app" $option \
		--input "$work/none"
done <<'EOF'
boxfilter --channels 3
eclat --items 9
eclat --length 2
eclat --pattern-length 2
eclat --patterns 9
floyd --channels 3
heart --fibrosis 1
knn --classes 2
knn --dimensions 2
knn --points 9
nbia --height 100
nbody --clusters 2
blackscholes --seed 2
heart --seed 2
histogram --seed 2
nbody --seed 2
spmv --alpha 2
spmv --mean 2
spmv --sorted
EOF

# A terminal is not told what stands in a file.
printf '1,2,\033[2Jx\n' >"$options"
expect_app 2 "years: '?[2Jx' is not a number" blackscholes --input "$options"
# Spreadsheets begin files with a byte-order mark.
printf '\357\273\277spot,strike,years\n1,2,3\n' >"$options"
expect_app 0 "1 options" blackscholes --input "$options" --reps 1 --verify
printf '\357\273\2771,2,3\n4,x,6\n' >"$options"
expect_app 2 "options.csv:2: strike: 'x' is not a number" blackscholes --input "$options"

printf 'Spot , STRIKE,years\r\n1 ,\t2, 3\r\n\r\n4,5,6' >"$options"
expect_app 0 "2 options" blackscholes --input "$options" --reps 1 --verify
# Half a number is one, too.
cut="its last line has no end: the file may have been cut"
expect_app 0 "options.csv: $cut" blackscholes --input "$options" --reps 1
printf '4,5,6\r\n' >"$options"
expect_app 0 "" blackscholes --input "$options" --reps 1
grep "$cut" "$work/out" && fail "a whole file counts as cut"
printf '0,0,0,1\n1,0,0,1.' >"$options"
expect_app 0 "$cut" nbody --input "$options" --reps 1

image=$work/image.png
expect_app 0 "" boxfilter --size 50 --channels 3 --reps 1 --save-input "$image" --output "$work/a.png"
expect_app 0 "verified" boxfilter --input "$image" --reps 2 --verify --output "$work/b.png"
cmp "$work/a.png" "$work/b.png" || fail "the same image was filtered differently"
expect_app 0 "" boxfilter --input "$image" --radius 0 --reps 1 --output "$work/c.png"
cmp "$image" "$work/c.png" || fail "a window of one pixel changed the image"
expect_app 0 "verified" boxfilter --input "$image" --radius 1000 --reps 1 --verify
expect_app 2 "not a whole number" boxfilter --radius -1
expect_app 2 "neither 1 nor 3" boxfilter --channels 4
head -c 700 "$image" >"$work/cut.png"
expect_app 2 "cut.png: not a PNG image that can be read: the file ends too early" boxfilter \
	--input "$work/cut.png"
expect_app 2 "options.csv: not a PNG image that can be read" boxfilter --input "$options"

# The kernel's files say that they have no bytes.
expect_app 2 "/proc/cpuinfo: states no size; copy it to a file" histogram --input /proc/cpuinfo
for precision in "" --double; do
	# shellcheck disable=SC2086 # none or one
	expect_app 0 "verified" spmv --size 3001 --alpha 1.2 --mean 40 --reps 4 --verify $precision \
		--save-input "$work/a.mtx" --output "$work/y.mtx"
	# shellcheck disable=SC2086
	expect_app 0 "verified" spmv --input "$work/a.mtx" --reps 4 --verify $precision \
		--output "$work/z.mtx" --seed 1
	cmp "$work/y.mtx" "$work/z.mtx" || fail "spmv: the same matrix has another product"
done
expect_app 0 "verified" spmv --size 2000 --sorted --reps 2 --verify --strategy css:chunk=3
expect_app 2 "--alpha 1: not a number" spmv --alpha 1
expect_app 2 "--mean 0: not a number" spmv --mean 0
matrix='%%%%MatrixMarket matrix coordinate'
printf "$matrix pattern general\n2 3 3\n2 1\n1 3\n2 3\n" >"$work/small.mtx"
expect_app 0 "3 non-zeros in 2 iterations" spmv --input "$work/small.mtx" --reps 3 --verify
printf "$matrix real general\n2 3 2\n2 1 1\n1 4 1\n" >"$work/bad.mtx"
expect_app 2 "bad.mtx:4: column: '4' is not a whole number from 1 to 3" spmv --input "$work/bad.mtx"
printf "$matrix real general\n2 3 2\n2 1 1\n2 1 4\n" >"$work/bad.mtx"
expect_app 2 "bad.mtx: row 2, column 1 is given twice" spmv --input "$work/bad.mtx"
printf "$matrix real general\n2 2 2\n1 1 1\n2 2 1e39\n" >"$work/large.mtx"
expect_app 2 "large.mtx:4: '1e39' is too large for single precision: see --double" spmv \
	--input "$work/large.mtx"
expect_app 0 "verified" spmv --input "$work/large.mtx" --double --reps 2 --verify

expect_app 0 "verified" mandelbrot --size 90 --limit 300 --reps 5 --zoom 0.3 --centre -1.25,0.02 \
	--width 1 --verify --output "$work/m.png"
expect_app 0 "" mandelbrot --size 90 --limit 300 --reps 1 --centre -1.25,0.02 --width 0.0081 \
	--output "$work/n.png"
cmp "$work/m.png" "$work/n.png" || fail "mandelbrot: the fifth frame is not where it should be"
# Beyond all numbers a frame was empty.
expect_app 0 "" mandelbrot --size 90 --reps 400 --zoom 100 --output "$work/m.png"
expect_app 0 "" mandelbrot --size 90 --reps 1 --width 100 --output "$work/n.png"
cmp "$work/m.png" "$work/n.png" || fail "mandelbrot: where zooms end"
expect_app 2 "not two numbers" mandelbrot --centre 1
expect_app 2 "not a number from" mandelbrot --zoom 0
expect_app 2 "not a whole number" mandelbrot --limit 0
expect_app 2 "no input files" mandelbrot --size 10 --reps 1 --save-input "$work/x"

# What one loop computes does not depend on blocks, nor on steps that are taken together.
for together in 1 7 100; do
	expect_app 0 "verified" heart --size 77 --steps 30 --together $together --reps 2 --verify \
		--workers cpu --strategy css:chunk=9 --save-input "$work/tissue.png" \
		--output "$work/$together.png"
	cmp "$work/1.png" "$work/$together.png" || fail "heart: --together $together: another state"
done
expect_app 0 "verified" heart --input "$work/tissue.png" --steps 60 --reps 1 --verify --workers cpu \
	--output "$work/again.png" --frames "$work/frame" --every 25
cmp "$work/1.png" "$work/again.png" || fail "heart: the same tissue does something else"
[ "$(echo "$work"/frame-*)" = "$work/frame-000025.png $work/frame-000050.png" ] ||
	fail "heart: other frames than wanted"
# Only scars: nothing spreads.
expect_app 0 "verified" heart --size 40 --fibrosis 100 --model mitchell-schaeffer --steps 300 \
	--reps 2 --verify
expect_app 2 "--model fitzhugh: neither aliev-panfilov nor mitchell-schaeffer" heart --model fitzhugh
expect_app 2 "--dt 0.3, --diffusion 1: not stable; their product must be less than 0.25" heart \
	--dt 0.3 --reps 1
expect_app 2 "--every without --frames" heart --every 3
expect_app 2 "--frames '': a prefix without a letter" heart --size 9 --frames ''
expect_app 2 "--fibrosis 101: not a number from 0 to 100" heart --fibrosis 101

iris=$top_srcdir/apps/knn/iris.csv
expect_app 0 "30 queries have the class" knn --input "$iris" --k 5 --reps 2 --verify \
	--output "$work/classes.csv"
grep -q '^29 of 30 queries' "$work/out" || fail "knn: other classes of the irises"
[ "$(grep -c virginica "$work/classes.csv")" = 9 ] || fail "knn: not all classes were written"
expect_app 0 '"right": 29' knn --input "$iris" --k 5 --reps 1 --json -
expect_app 0 "" knn --size 501 --points 77 --dimensions 3 --reps 1 --save-input "$work/points.csv" \
	--save-queries "$work/queries.csv" --output "$work/a.csv"
for metric in euclidean manhattan; do
	expect_app 0 "verified" knn --input "$work/points.csv" --queries "$work/queries.csv" \
		--reps 1 --verify --metric $metric --output "$work/b.csv"
	[ $metric = manhattan ] || cmp "$work/a.csv" "$work/b.csv" ||
		fail "knn: the same points have other classes"
done
# Queries need no class.
printf 'x,y\n1,0\n\n 0 , 1\n' >"$work/queries.csv"
printf '1,0.1,right\n-1,0,left\r\n0,1,up\n' >"$work/points.csv"
expect_app 0 "verified" knn --input "$work/points.csv" --queries "$work/queries.csv" --k 1 \
	--verify --reps 1 --output "$work/a.csv"
printf 'x1,x2,class\n1,0,right\n0,1,up\n' | cmp - "$work/a.csv" || fail "knn: wrong classes"
expect_app 2 "--k 8: there are 3 known points" knn --input "$work/points.csv" \
	--queries "$work/queries.csv"
expect_app 2 "--queries needs --input" knn --queries "$work/queries.csv"
expect_app 2 "--save-queries: the queries have no classes" knn --input "$work/points.csv" --k 1 \
	--queries "$work/queries.csv" --reps 1 --save-queries "$work/x"
expect_app 2 "neither euclidean nor manhattan" knn --metric cosine
# The last column is the class. Whole numbers are ordinary classes, fractions and classes that no
# known point has look like coordinates: that is said once.
printf 'x,y,class\n1,2,0\n1,2,1.0\n3,4,1\n' >"$work/points.csv"
expect_app 0 "3 known points of 2 coordinates, 3 classes" knn --input "$work/points.csv" --k 1 --reps 1
! grep -q 'taken for a class' "$work/out" || fail "knn: whole numbers are doubted"
printf '1,2,0.5\n1,2,1.5\n' >"$work/points.csv"
expect_app 0 "points.csv:1: '0.5', the last of the line, is taken for a class, not for a coordinate" \
	knn --input "$work/points.csv" --k 1 --reps 1
[ "$(grep -c 'taken for a class' "$work/out")" = 1 ] || fail "knn: doubted more than once"
printf '1,2,a\n3,4,b\n' >"$work/points.csv"
printf '1,2,a\n1,2,3\n1,2,4\n' >"$work/queries.csv"
expect_app 0 "queries.csv:2: '3', the last of the line, is taken for a class, which no known point has" \
	knn --input "$work/points.csv" --queries "$work/queries.csv" --k 1 --reps 1
grep -q '^2 known points of 2 coordinates, 2 classes$' "$work/out" ||
	fail "knn: classes of queries are counted"
# bad_points LINES TEXT
bad_points() {
	printf "$1" >"$work/points.csv"
	expect_app 2 "$2" knn --input "$work/points.csv"
}
bad_points '1,2,a\n1,b\n' "points.csv:2: 'b' is not a finite number"
bad_points '1,2,a\n1,2\n' "points.csv:2: the class is missing"
bad_points '1,2,a\n1,2,b,c\n' "points.csv:2: 'b' is not the last of the line"
bad_points '1,2,a\n1\n' "points.csv:2: 1 coordinates, not 2"
bad_points '1,inf,a\n' "points.csv:1: 'inf' is not a finite number"
# Distances to these were infinite, and so the nearest was any.
bad_points '1,2,a\n3,-2e15,b\n' "points.csv:2: '-2e15' is beyond 1e15"
bad_points '1,2,a\n1,2, \n' "points.csv:2: '' is no class"
bad_points 'x,y,class\n' "points.csv:2: a point has 1 to 64 coordinates, then a class"
bad_points 'x,y,class\na,b,c\n' "points.csv:2: a point has 1 to 64 coordinates"
bad_points '1,2,a\0\n' "points.csv: a zero byte"

# A run from where another one ended gives what one long run does, but for the order of sums.
expect_app 0 "verified" nbody --size 400 --clusters 3 --reps 4 --verify --workers cpu \
	--save-input "$work/bodies.csv" --output "$work/a.csv"
expect_app 0 "verified" nbody --input "$work/bodies.csv" --reps 1 --verify --workers cpu \
	--output "$work/b.csv"
expect_app 0 "verified" nbody --input "$work/b.csv" --reps 3 --verify --workers cpu \
	--output "$work/c.csv"
paste -d, "$work/a.csv" "$work/c.csv" | awk -F, 'NR > 1 { for (i = 1; i < 8; i++) {
	by = $i - $(i + 7); if (by * by > 1e-8) bad = 1 } } END { exit bad || NR != 401 }' ||
	fail "nbody: four steps are not one and three"
# Two bodies far from each other, and two that fall together.
printf 'x,y,z,mass\n0,0,0,1\n1,0,0,1\n0,0.04,0,1\n' >"$work/bodies.csv"
expect_app 0 "verified" nbody --input "$work/bodies.csv" --reps 2 --verify --output "$work/a.csv"
sed -n 3p "$work/a.csv" | grep -qx '1,0,0,1,0,0,0' || fail "nbody: a body moved by itself"
sed -n 2p "$work/a.csv" | grep -q '^0,0.0002[0-9]*,0,1,0,0.16[0-9]*,0$' || fail "nbody: no body fell"
printf '1,2,3\n' >"$work/three.csv"
expect_app 2 "a body has 4 numbers (x, y, z, mass) or 7 (and its velocity), not 3" nbody \
	--input "$work/three.csv"
printf '1,2,3,4,5x\n' >"$work/three.csv"
expect_app 2 "three.csv: '5x' follows the 4 numbers of a body" nbody --input "$work/three.csv"
# Bodies were no numbers after a step.
printf '1,2,3,1e30\n' >"$work/three.csv"
expect_app 2 "three.csv:1: '1e30' is beyond 1e15" nbody --input "$work/three.csv"
printf '1,2,3,1\n1,2,3,1e14\n' >"$work/three.csv"
expect_app 2 "three.csv: body 2: a mass of 1e+14 at --softening 1e-09 pulls beyond" nbody \
	--input "$work/three.csv" --softening 1e-9
expect_app 0 verified nbody --input "$work/three.csv" --verify --reps 1
# Far bodies did not attract each other.
printf '1,2,3,1\n1,-3e12,3,1e14\n' >"$work/three.csv"
expect_app 2 "three.csv: body 2: a coordinate of 3e+12 at --cutoff 0 is beyond 1e12" nbody \
	--input "$work/three.csv" --cutoff 0
expect_app 0 verified nbody --input "$work/three.csv" --verify --reps 1
printf '1e12,1e12,1e12,1\n-1e12,-1e12,-1e12,1e14\n' >"$work/three.csv"
expect_app 0 verified nbody --input "$work/three.csv" --cutoff 0 --verify --reps 1
# Bodies may leave while they move: the third step takes one too far, and its place is not written.
printf '0,0,0,1,0,0,4e11\n1,0,0,1,0,0,0\n' >"$work/three.csv"
expect_app 0 verified nbody --input "$work/three.csv" --cutoff 0 --dt 1 --verify --reps 2 --output "$work/a.csv"
expect_app 2 "after time step 3 a body is at 1.2e+12, beyond 1e+12" nbody --input "$work/three.csv" \
	--cutoff 0 --dt 1 --reps 3 --output "$work/none.csv"
[ ! -e "$work/none.csv" ] || fail "nbody: a place that is none was written"
expect_app 2 "after time step 3 a body is at 1.2e+12, beyond 1e+12" nbody --input "$work/three.csv" \
	--cutoff 0 --dt 1 --reps 4
expect_app 0 verified nbody --input "$work/three.csv" --dt 1 --verify --reps 4
expect_app 2 "after time step 1 a body is at " nbody --size 100 --dt 1e9 --reps 2
expect_app 2 "--cutoff -1: not a number from 0" nbody --cutoff -1
expect_app 2 "--softening 0: not a number from" nbody --softening 0

printf 'aab\377' >"$work/bytes"
expect_app 0 "4 bytes" histogram --input "$work/bytes" --reps 2 --verify --output "$work/counts"
grep -qx '97,2' "$work/counts" && grep -qx '98,1' "$work/counts" &&
	grep -qx '255,1' "$work/counts" && grep -qx '0,0' "$work/counts" ||
	fail "histogram: wrong counts written"

# What a disk that fails says (EIO) is what the memory of a process says where there is none. It
# is no wrong result.
expect_app 2 "/proc/self/mem: Input/output error" blackscholes --size 100 --reps 1 --json /proc/self/mem
expect_app 2 "/proc/self/mem: Input/output error" blackscholes --size 100 --reps 1 \
	--output /proc/self/mem
expect_app 2 "/proc/self/mem: " boxfilter --size 20 --reps 1 --output /proc/self/mem
"$apps/blackscholes/blackscholes" --size 100 --reps 1 --json - >/dev/full 2>"$work/out"
[ $? = 2 ] && grep -q "standard output: No space left" "$work/out" || fail "a full standard output"
# A process that ends while it writes (here by SIGXFSZ, after 100 KB) leaves what was there.
echo before >"$work/half.csv"
for half in half.csv none.csv; do
	# shellcheck disable=SC3045 # dash and bash have it
	(ulimit -c 0; ulimit -f 200; exec "$apps/blackscholes/blackscholes" --size 30000 --reps 1 \
		--output "$work/$half") >/dev/null 2>&1
	[ $? -gt 128 ] || fail "it could write more than it may"
done
[ "$(cat "$work/half.csv")" = before ] && [ ! -e "$work/none.csv" ] || fail "half a file"

[ "$failures" = 0 ]
