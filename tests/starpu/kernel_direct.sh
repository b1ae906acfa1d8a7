#!/bin/sh
# kernel_direct on one OpenCL device and on two, in the host's memory and with their own, in chunks,
# and where workers launch everything.
# Time limit: 300 s
set -u
: "${top_builddir:?}"
HEDDLE_PROFILE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/heddle-test-direct.XXXXXX") || exit 99
trap 'rm -rf "$HEDDLE_PROFILE_DIR"' EXIT HUP INT TERM
STARPU_OPENCL_ON_CPUS=1 STARPU_NCPU=1 STARPU_NOPENCL=1 POCL_DEVICES='pthread basic'
POCL_MAX_PTHREAD_COUNT=2 HEDDLE_ANALYSE=$top_builddir/bin/heddle-analyse
HEDDLE_PROFILE=0 STARPU_SCHED=skmd
export HEDDLE_PROFILE_DIR STARPU_OPENCL_ON_CPUS STARPU_NCPU STARPU_NOPENCL POCL_DEVICES
export POCL_MAX_PTHREAD_COUNT HEDDLE_ANALYSE HEDDLE_PROFILE STARPU_SCHED
[ -x "$HEDDLE_ANALYSE" ] || HEDDLE_ANALYSE=none
test="$top_builddir/tests/starpu/kernel_direct"
$test || exit
HEDDLE_KERNEL_IN_PLACE=0 $test || exit
TEST_COPIES=1 $test || exit
HEDDLE_KERNEL_IN_PLACE=0 HEDDLE_KERNEL_CHUNKS=4 $test || exit
HEDDLE_KERNEL_IN_PLACE=0 HEDDLE_KERNEL_CHUNKS=7 POCL_DEVICES=basic $test || exit
STARPU_NOPENCL=2 $test || exit
STARPU_NOPENCL=2 HEDDLE_KERNEL_IN_PLACE=0 $test || exit
HEDDLE_KERNEL_DIRECT=0 $test
