#!/bin/sh
# Kernels over two OpenCL devices, which PoCL makes of the cores: with and without the
# analysis, under policies that split and that do not, and on one device.
# Time limit: 400 s
set -u
: "${top_srcdir:?}" "${top_builddir:?}"
HEDDLE_PROFILE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/heddle-test-kernel.XXXXXX") || exit 99
trap 'rm -rf "$HEDDLE_PROFILE_DIR"' EXIT HUP INT TERM
STARPU_OPENCL_ON_CPUS=1 STARPU_NCPU=1 STARPU_NOPENCL=2 POCL_DEVICES='pthread basic'
POCL_MAX_PTHREAD_COUNT=2 HEDDLE_ANALYSE=$top_builddir/bin/heddle-analyse
HEDDLE_PROFILE=0 # every run begins with a dry run
export HEDDLE_PROFILE_DIR STARPU_OPENCL_ON_CPUS STARPU_NCPU STARPU_NOPENCL POCL_DEVICES
export POCL_MAX_PTHREAD_COUNT HEDDLE_ANALYSE HEDDLE_PROFILE
test=$top_builddir/tests/starpu/kernel
if [ -x "$HEDDLE_ANALYSE" ]; then
	STARPU_SCHED=skmd "$test" || exit
	for only in published modes_differ; do
		HEDDLE_KERNEL_IN_PLACE=0 STARPU_SCHED=skmd "$test" $only || exit
	done
	"$test" by_policy || exit # under heddle
fi
HEDDLE_PROFILE_DIR=$HEDDLE_PROFILE_DIR/none HEDDLE_ANALYSE=/nonexistent STARPU_SCHED=eager "$test" || exit
STARPU_SCHED=hdss "$test" || exit
STARPU_SCHED=gss "$test" || exit
STARPU_NOPENCL=1 STARPU_SCHED=skmd "$test"
