#!/bin/sh
# The apps cholesky and lu on an OpenCL worker on the CPU, which computes by CLBlast, beside a CPU
# worker, which computes the tiles on the diagonal.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 300 s
. "$top_srcdir/tests/tools/common.sh"
STARPU_NCPU=1 STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1
export STARPU_NCPU STARPU_NOPENCL STARPU_OPENCL_ON_CPUS
[ -x "$top_builddir/apps/cholesky/cholesky" ] || exit 77
grep -q "^#define HEDDLE_USE_CLBLAST" "$top_builddir/config.h" || exit 77

# right APP ARGUMENT...
right() {
	app=$1
	shift
	"$top_builddir/apps/$app/$app" "$@" --size 640 --tile 64 --verify --reps 2 >"$work/out" 2>&1
	status=$?
	[ $status = 77 ] && exit 77
	[ $status = 0 ] || { fail "$app $*: exit $status"; cat "$work/out"; }
}
# on_opencl TASK...: the last run had some of each on OpenCL.
on_opencl() {
	for task in "$@"; do
		grep -q "^ *$task .* opencl" "$work/out" || { fail "no $task ran on OpenCL"; cat "$work/out"; }
	done
}
# This one gives OpenCL most tasks, whatever they take.
right cholesky --sched random
on_opencl sgemm ssyrk strsm
right lu --sched random --double
on_opencl dgemm_update dtrsm_row dtrsm_column
right cholesky --sched odds
right lu --sched odds --double
# StarPU 1.3's heteroprio keeps cores for the diagonal, as the app tells it. That of 1.4 goes by
# what tasks take, which beside one core may leave OpenCL nothing.
series=$(sed -n 's/^starpu_series = //p' "$top_builddir/Makefile")
right cholesky --sched heteroprio
[ "$series" != 1.3 ] || on_opencl sgemm ssyrk strsm
right lu --sched heteroprio --double
[ "$series" != 1.3 ] || on_opencl dgemm_update dtrsm_row dtrsm_column
for app in cholesky lu; do
	expect_app 77 "no worker can run a task of" $app --size 100 --reps 1 --workers opencl
done
[ "$failures" = 0 ]
