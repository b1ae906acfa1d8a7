#!/bin/sh
# The apps cholesky and lu on an OpenCL worker on the CPU, which computes by CLBlast, beside a CPU
# worker, which computes the tiles on the diagonal.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 600 s
. "$top_srcdir/tests/tools/common.sh"
STARPU_NCPU=1 STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1
export STARPU_NCPU STARPU_NOPENCL STARPU_OPENCL_ON_CPUS
[ -x "$top_builddir/apps/cholesky/cholesky" ] || exit 77
grep -q "^#define HEDDLE_USE_CLBLAST" "$top_builddir/config.h" || exit 77

for app in cholesky lu; do
	for options in "--sched eager" "--sched odds" "--sched dmda --double"; do
		# shellcheck disable=SC2086 # options
		"$top_builddir/apps/$app/$app" --size 333 --tile 64 --verify --reps 3 $options \
			>"$work/out" 2>&1
		status=$?
		[ $status = 77 ] && exit 77
		if [ $status != 0 ] || ! grep -q "gemm.* opencl" "$work/out"; then
			fail "$app $options: exit $status"
			cat "$work/out"
		fi
	done
	expect_app 77 "no worker can run a task of" $app --size 100 --reps 1 --workers opencl
done
[ "$failures" = 0 ]
