#!/bin/sh
# Wrong use of an app ends with 2, help with 0 and one that gets stuck with 1, also where
# main() is simulated; and only those workers work that were asked for.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$top_srcdir/tests/tools/common.sh"

# expect_simulated PLATFORM STATUS TEXT PROGRAM ARGUMENT...
expect_simulated() {
	platform=$1 status=$2 text=$3
	shift 3
	outcome -F "$status" "$text" "$top_builddir/bin/heddle-simulate" --platform "$platform" -- "$@"
}

# expect STATUS TEXT APP ARGUMENT...
expect() {
	status=$1 text=$2 app=$3
	shift 3
	expect_simulated '3cpu+gpu8@6000:10' "$status" "$text" "$top_builddir/apps/$app/$app" "$@"
}

for app in blackscholes boxfilter eclat floyd heart heat2d histogram knn mandelbrot nbia nbody \
	spmv strmatch vecinc; do
	expect 2 "--size x: not a whole number" $app --size x
	expect 2 "takes no arguments" $app extra
	expect 2 "unrecognized option '--nonsense'" $app --nonsense
	expect 0 "--strategy=SPEC" $app --help
done
expect 2 "--k 0: not a whole number" heat2d --k 0
expect 2 "not ascending divisors" nbia --resolutions 32,100

expect_simulated 2cpu 1 'stuck: all threads wait' "$top_builddir/tests/sim/stuck"

# How StarPU configures SimGrid is said to who asks for reasons.
for verbose in 0 1 2; do
	HEDDLE_VERBOSE=$verbose "$top_builddir/bin/heddle-simulate" --platform 2cpu -- \
		"$top_builddir/apps/vecinc/vecinc" --size 8000 --reps 1 >"$work/out" 2>&1
	lines=$(grep -c 'Configuration change' "$work/out")
	[ "$((lines > 0))" = "$((verbose > 1))" ] ||
		fail "HEDDLE_VERBOSE=$verbose: $lines lines of SimGrid's configuration"
done
# Nothing is copied there.
"$top_builddir/bin/heddle-simulate" --platform 2cpu+gpu8 -- \
	"$top_builddir/apps/blackscholes/blackscholes" --size 8000 --reps 1 >"$work/out" 2>&1
! grep 'not pinned' "$work/out" || fail "copies are said to be slow"

# only KINDS WORKERS: on a machine of all kinds those have values of 8 chunks that were asked
# for.
only() {
	"$top_builddir/bin/heddle-simulate" --platform '1cpu+gpu10+fpga5' -- \
		"$top_builddir/apps/vecinc/vecinc" --size 8000 --chunk 1000 --reps 1 --sched odds \
		--workers "$1" >"$work/out" 2>&1
	got=$(awk '$1 ~ /^[0-9]+$/ && $3 > 0 { printf "%s%s", n++ ? " " : "", $2 }' "$work/out")
	if [ "$got" != "$2" ]; then
		fail "vecinc --workers $1: values on: $got"
		tail -n 9 "$work/out"
	fi
}
only cpu cpu
only cuda cuda
only fpga fpga
only cuda,fpga 'cuda fpga'

# A StarPU that does not simulate is not run, and the one that does is named.
value() { sed -n "s/^$1 = //p" "$top_builddir/Makefile"; }
source=$top_srcdir/tests/tools/other_starpu.c library=$work/libstarpu-0.9.so.1
$(value CC) -shared -fPIC -Wl,-soname,libstarpu-0.9.so.1 "$source" -o "$library" &&
	$(value CC) -DPROGRAM "$source" "$library" -Wl,-rpath,"$work" -o "$work/program"
"$top_builddir/bin/heddle-simulate" --platform 2cpu -- "$work/program" >"$work/out" 2>&1
got=$?
if [ $got != 2 ] || grep -q initialized "$work/out" ||
	! grep -q "runs with StarPU 0.9.7 in $library, .*; build it with .* in $(value starpu_libdir)," "$work/out"; then
	fail "a program of another StarPU: exit $got"
	cat "$work/out"
fi
[ $failures = 0 ]
