#!/bin/sh
# heddle sample: jobs on every kind of device, whose times `heddle estimate` then finds.
. "$top_srcdir/tests/tools/common.sh"
heddle=$top_builddir/bin/heddle
export HEDDLE_PROFILE_DIR="$work"
expect 2 'which codelet' "$heddle" sample
expect 2 'no codelet "axpy"' "$heddle" sample axpy
expect 2  '--jobs 0: not a whole number from 1 to 100000' "$heddle" sample --jobs 0 histogram
expect 2 '--most x: not a whole number' "$heddle" sample --most x histogram
expect 2 'exceeds' "$heddle" sample --least 2K --most 1K histogram
expect 2 'knn: the smallest size, 104857600, exceeds the largest, 16384' "$heddle" sample --least 100M knn
expect 2 'knn: the smallest size, 16, exceeds the largest, 8' "$heddle" sample --most 8 knn
expect 2 'blackscholes: the smallest size, 1024, exceeds the largest, 8' "$heddle" sample --most 8 all
# So many runs were none: their number was cut to 32 bits.
expect 2 'times --reps exceeds 4294967295' "$heddle" sample --jobs 65536 --reps 65536 knn
expect 77 'StarPU does not start here' env STARPU_NCPU=0 STARPU_NCUDA=0 STARPU_NOPENCL=0 "$heddle" sample knn
expect 1 'tiles have 16 to 4194304 pixels' "$heddle" sample --jobs 1 --least 4 --most 4 nbia
expect 2 'no times are kept' env HEDDLE_PROFILE=0 "$heddle" sample histogram
# Where times cannot be kept nothing runs, and it is said once.
expect 1 '^heddle: /dev/null/.*: Not a directory' \
	env HEDDLE_PROFILE_DIR=/dev/null "$heddle" sample --jobs 1 --reps 1 histogram
[ "$(grep -c 'Not a directory' "$work/out")" = 1 ] || fail "a folder that is none: said more than once"
for codelet in blackscholes boxfilter eclat heart histogram knn nbia nbody; do
	sizes='--least 256 --most 1K'
	[ $codelet != histogram ] || sizes='--least 4K --most 64K'
	# shellcheck disable=SC2086 # options
	expect 0 "^$HEDDLE_PROFILE_DIR/$codelet.profile" \
		"$heddle" sample --jobs 4 --reps 3 $sizes $codelet
	expect 0 ' 1  *3  *cpu ' "$heddle" estimate show $codelet
	# Each run is a pair: the second sample is of another sampling of the same jobs.
	expect 0 ' 1  *3  *cpu ' "$heddle" estimate show $codelet-again
	# Another run adds to it.
	# shellcheck disable=SC2086 # options
	expect 0 '4 jobs on each of' \
		"$heddle" sample --jobs 4 --reps 2 $sizes $codelet
	expect 0 ' 2  *5  *cpu ' "$heddle" estimate show $codelet
done
expect 0 "^$HEDDLE_PROFILE_DIR/nbia.profile" "$heddle" sample --jobs 2 --reps 1 --least 256 --most 1K all
# Where there is an OpenCL worker there are two devices to compare.
if grep -q 'device="opencl' "$HEDDLE_PROFILE_DIR/blackscholes.profile"; then
	expect 0 '^ *4 .*opencl' "$heddle" estimate cv --folds 2 blackscholes
	expect 0 '^ *4 .*opencl.*, sampled again' "$heddle" estimate cv --folds 2 blackscholes
	# The table has a row for each of them.
	for codelet in blackscholes boxfilter eclat heart histogram knn nbia nbody; do
		expect 0 "^$codelet .*opencl" "$heddle" estimate cv
	done
	expect 0 '^histogram,opencl[^,]*,[0-9]*,,[0-9.e+]*,[0-9.e+]*,[0-9.e+]*,,[0-9.]' "$heddle" estimate cv --csv -
	expect 2 'without a profile' "$heddle" estimate cv --csv - knn
	expect 1 'No such file' "$heddle" estimate cv --csv "$work/none/x"
	"$heddle" estimate cv --csv "$work/cv.csv" >"$work/out" || fail "table with a file"
	[ "$(wc -l <"$work/cv.csv")" = 9 ] && grep -q '^knn .*opencl' "$work/out" || fail "cv.csv"
fi
[ "$failures" = 0 ]
