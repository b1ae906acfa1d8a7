#!/bin/sh
# The apps' OpenCL versions, verified, on an OpenCL worker on the CPU: alone, and
# beside a CPU worker.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
set -u
apps=$top_builddir/apps
STARPU_NCPU=1 STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1
export STARPU_NCPU STARPU_NOPENCL STARPU_OPENCL_ON_CPUS
failures=0

# right APP ARGUMENT...
right() {
	app=$1
	shift
	for workers in opencl cpu,opencl; do
		"$apps/$app/$app" "$@" --workers $workers --verify --reps 2 >apps_opencl.$$ 2>&1
		status=$?
		[ $status = 77 ] && exit 77
		if [ $status != 0 ] || ! grep -q "^  0 *opencl " apps_opencl.$$; then
			echo "FAILED: $app $* --workers $workers: exit $status"
			cat apps_opencl.$$
			failures=$((failures + 1))
		fi
	done
	rm -f apps_opencl.$$
}

right blackscholes --size 100003 --sched hdss
right blackscholes --size 100003 --sched eager
right histogram --size 3000001 --sched hdss
right histogram --size 3000001 --sched eager
right boxfilter --size 300 --radius 7 --sched hdss
right boxfilter --size 301 --radius 1000 --channels 3 --strategy css:chunk=50
right boxfilter --size 65 --radius 0 --channels 3 --sched eager

# StarPU's heteroprio would end the program.
for app in histogram heat2d; do
	"$apps/$app/$app" --workers opencl --sched heteroprio --reps 1 >apps_opencl.$$ 2>&1
	status=$?
	if [ $status != 2 ] || ! grep -q "only 1 of 2 workers may run it" apps_opencl.$$; then
		echo "FAILED: $app --workers opencl --sched heteroprio: exit $status"
		cat apps_opencl.$$
		failures=$((failures + 1))
	fi
	rm -f apps_opencl.$$
done

[ "$failures" = 0 ]
