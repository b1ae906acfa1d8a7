#!/bin/sh
# NBIA on an OpenCL worker on the CPU, alone and beside a CPU worker: the labels are
# those of CPU workers.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 300 s
. "$top_srcdir/tests/tools/common.sh"
app=$top_builddir/apps/nbia/nbia
slide='--size 1400 --height 600 --resolutions 16,64,128 --reps 1 --confidence 0.999'

"$app" $slide --sched eager --output "$work/cpu.png" >"$work/out" 2>&1 || exit 1
STARPU_NCPU=1 STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1
export STARPU_NCPU STARPU_NOPENCL STARPU_OPENCL_ON_CPUS
for run in 'opencl eager' 'opencl odds' 'cpu,opencl eager' 'cpu,opencl hdss' 'cpu,opencl ddwrr' \
	'all heteroprio' 'cpu heteroprio' 'opencl heteroprio'; do
	set -- $run
	[ "$1" = all ] && workers='' || workers=--workers=$1
	"$app" $slide $workers --sched "$2" --verify --output "$work/opencl.png" \
		>"$work/out" 2>&1
	status=$?
	[ $status = 77 ] && exit 77
	if [ $status != 0 ] || ! cmp "$work/cpu.png" "$work/opencl.png"; then
		echo "FAILED: --workers $1 --sched $2: exit $status"
		cat "$work/out"
		failures=$((failures + 1))
	fi
	case $1 in
	opencl) grep -q '128 x 128: [0-9]* opencl' "$work/out" ||
		grep -q '16 x 16: [0-9]* opencl' "$work/out" || failures=$((failures + 1)) ;;
	esac
done
[ "$failures" = 0 ]
