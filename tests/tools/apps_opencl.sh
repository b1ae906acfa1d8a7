#!/bin/sh
# The apps' OpenCL versions, verified, on an OpenCL worker on the CPU: alone, and
# beside a CPU worker.
# Time limit: 300 s
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$top_srcdir/tests/tools/common.sh"
apps=$top_builddir/apps
STARPU_NCPU=1 STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1
export STARPU_NCPU STARPU_NOPENCL STARPU_OPENCL_ON_CPUS

# right APP ARGUMENT...
right() {
	app=$1
	shift
	for workers in opencl cpu,opencl; do
		"$apps/$app/$app" "$@" --workers $workers --verify --reps 2 >"$work/out" 2>&1
		status=$?
		[ $status = 77 ] && exit 77
		if [ $status != 0 ] || ! grep -q "^  0 *opencl " "$work/out"; then
			fail "$app $* --workers $workers: exit $status"
			cat "$work/out"
		fi
	done
}

right blackscholes --size 100003 --sched hdss
right blackscholes --size 100003 --sched eager
right histogram --size 3000001 --sched hdss
right histogram --size 3000001 --sched eager
right boxfilter --size 300 --radius 7 --sched hdss
right boxfilter --size 301 --radius 1000 --channels 3 --strategy css:chunk=50
right boxfilter --size 65 --radius 0 --channels 3 --sched eager
right eclat --size 3001 --support 2% --sched eager
right eclat --size 70000 --support 5% --pairs 100 --sched ddwrr
right heart --size 64 --steps 13 --sched hdss
right heart --size 65 --steps 3 --together 1 --model mitchell-schaeffer --strategy css:chunk=10
right heart --size 33 --steps 9 --together 64 --substeps 3 --sched eager
right knn --size 3001 --sched hdss
right knn --size 3000 --metric manhattan --k 32 --dimensions 3 --strategy css:chunk=700
right knn --size 999 --k 1 --points 1 --sched eager
right mandelbrot --size 150 --limit 400 --sched hdss
right mandelbrot --size 151 --zoom 0.1 --sched eager
right nbody --size 3001 --sched hdss
right nbody --size 3000 --cutoff 0.01 --strategy css:chunk=100
right nbody --size 500 --cutoff 0 --sched eager
right spmv --size 100003 --sched hdss
right spmv --size 20000 --alpha 1.2 --double --strategy css:chunk=700
right spmv --size 3000 --mean 1 --sched eager

# StarPU's heteroprio would end the program.
for app in histogram heat2d; do
	expect_app 2 "only 1 of 2 workers may run it" $app --workers opencl --sched heteroprio --reps 1
done
[ "$failures" = 0 ]
