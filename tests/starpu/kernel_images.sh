#!/bin/sh
# Kernels with images over two OpenCL devices, which PoCL makes of the cores: in shares, in blocks
# and as one task, with and without the analysis.
# Time limit: 400 s
set -u
: "${top_srcdir:?}" "${top_builddir:?}"
HEDDLE_PROFILE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/heddle-test-images.XXXXXX") || exit 99
trap 'rm -rf "$HEDDLE_PROFILE_DIR"' EXIT HUP INT TERM
STARPU_OPENCL_ON_CPUS=1 STARPU_NCPU=0 STARPU_NOPENCL=2 POCL_DEVICES='pthread basic'
POCL_MAX_PTHREAD_COUNT=2 HEDDLE_ANALYSE=$top_builddir/bin/heddle-analyse HEDDLE_KERNEL_WAIT=0
export HEDDLE_PROFILE_DIR STARPU_OPENCL_ON_CPUS STARPU_NCPU STARPU_NOPENCL POCL_DEVICES
export POCL_MAX_PTHREAD_COUNT HEDDLE_ANALYSE HEDDLE_KERNEL_WAIT
test=$top_builddir/tests/starpu/kernel_images
if [ -x "$HEDDLE_ANALYSE" ]; then
	STARPU_SCHED=gss "$test" || exit
	STARPU_SCHED=skmd "$test" || exit
fi
HEDDLE_PROFILE_DIR=$HEDDLE_PROFILE_DIR/none HEDDLE_ANALYSE=/nonexistent STARPU_SCHED=eager "$test"
