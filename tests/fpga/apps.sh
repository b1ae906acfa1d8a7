#!/bin/sh
# The apps on CPU, FPGA and PoCL workers in one run, at odd sizes; designs that never
# answer or report an error, options beyond the design's range, and a memory that is too
# small: the result is right every time.
# Time limit: 300 s
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
set -u
apps=$top_builddir/apps
[ -e "$top_builddir/bin/fpga/histogram.fpga" ] || { echo "no designs: no verilator"; exit 77; }
OCL_ICD_VENDORS=$top_builddir/bin/fpga/vendors
STARPU_NCPU=1 STARPU_NOPENCL=2 STARPU_OPENCL_ON_CPUS=1
export OCL_ICD_VENDORS STARPU_NCPU STARPU_NOPENCL STARPU_OPENCL_ON_CPUS
failures=0

# right PATTERN APP ARGUMENT...: exits 0 and prints a line with PATTERN.
right() {
	pattern=$1 app=$2
	shift 2
	"$apps/$app/$app" --reps 2 "$@" --verify >fpga_apps.$$ 2>&1
	status=$?
	if [ $status != 0 ] || ! grep -q "$pattern" fpga_apps.$$; then
		echo "FAILED: $app $*: exit $status"
		cat fpga_apps.$$
		failures=$((failures + 1))
	fi
	rm -f fpga_apps.$$
}

fpga='^ *[0-9]* *fpga *[1-9]'
for sched in hdss gss eager; do
	right "$fpga" blackscholes --size 30003 --sched $sched --workers fpga
	right "$fpga" histogram --size 1000001 --sched $sched --workers fpga
	right ' fpga ' blackscholes --size 30003 --sched $sched
	right ' fpga ' histogram --size 1000001 --sched $sched
done
right "$fpga" blackscholes --size 100003 --sched css --workers cpu,fpga,opencl
right ' cpu ' boxfilter --size 301 --radius 3 --sched hdss

# Who wants FPGAs is told that there is no design, and how to get one.
none() {
	"$apps/$1/$1" --size 1000 --reps 1 --workers $2 >fpga_apps.$$ 2>&1
	status=$?
	if [ $status != 77 ] || ! grep -q "$HEDDLE_FPGA_DESIGNS/$1.fpga.*make fpga install" fpga_apps.$$; then
		echo "FAILED: $1 without a design on $2: exit $status"
		cat fpga_apps.$$
		failures=$((failures + 1))
	fi
	rm -f fpga_apps.$$
}
HEDDLE_FPGA_DESIGNS=fpga_apps.$$.none
export HEDDLE_FPGA_DESIGNS
none histogram fpga
none vecinc cpu,fpga
right ' cpu *[1-9]' histogram --size 1000 --workers cpu
unset HEDDLE_FPGA_DESIGNS

HEDDLE_FPGA_DEVICES=2 STARPU_NOPENCL=3
export HEDDLE_FPGA_DEVICES STARPU_NOPENCL
right "$fpga" histogram --size 1000001 --sched gss --workers fpga
HEDDLE_FPGA_DEVICES=1 STARPU_NOPENCL=2

# Less memory than the loop's arrays.
HEDDLE_FPGA_MEMORY=2
export HEDDLE_FPGA_MEMORY
right "$fpga" histogram --size 4000001 --sched css --workers cpu,fpga
# The first repetition tries every device; later ones may leave out the FPGA.
right "$fpga" histogram --size 4000001 --sched hdss --workers cpu,fpga --reps 1
right "$fpga" blackscholes --size 150003 --sched gss --workers cpu,fpga
unset HEDDLE_FPGA_MEMORY

# A rate that the design has not got.
right ' cpu ' blackscholes --size 100003 --sched gss --rate 0.5
# A design that fails is left to the others.
HEDDLE_FPGA_PATIENCE=2000
export HEDDLE_FPGA_PATIENCE
for design in hang error; do
	HEDDLE_FPGA_DESIGNS=fpga_apps.$$.d
	export HEDDLE_FPGA_DESIGNS
	mkdir -p $HEDDLE_FPGA_DESIGNS
	cp "$top_builddir/bin/fpga/test-$design.fpga" $HEDDLE_FPGA_DESIGNS/histogram.fpga
	right 'a kernel failed on an FPGA' histogram --size 1000001 --sched gss
	HEDDLE_FPGA_TIME=modelled
	export HEDDLE_FPGA_TIME
	right 'modelled time' histogram --size 1000001 --sched gss
	unset HEDDLE_FPGA_TIME
	rm -rf $HEDDLE_FPGA_DESIGNS
done
[ $failures = 0 ]
