#!/bin/sh
# kernel_transfers over two OpenCL devices: with their own memory, with one bus between
# them, told or found, in the host's memory, and with nothing known about the kernels.
set -u
: "${top_srcdir:?}"
: "${top_builddir:?}"
HEDDLE_PROFILE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/heddle-test-transfers.XXXXXX") || exit 99
trap 'rm -rf "$HEDDLE_PROFILE_DIR"' EXIT HUP INT TERM
STARPU_OPENCL_ON_CPUS=1 STARPU_NCPU=1 STARPU_NOPENCL=2 POCL_DEVICES='pthread basic'
POCL_MAX_PTHREAD_COUNT=2 HEDDLE_ANALYSE=$top_builddir/bin/heddle-analyse
HEDDLE_PROFILE=0 STARPU_SCHED=gss
export HEDDLE_PROFILE_DIR STARPU_OPENCL_ON_CPUS STARPU_NCPU STARPU_NOPENCL POCL_DEVICES
export POCL_MAX_PTHREAD_COUNT HEDDLE_ANALYSE HEDDLE_PROFILE STARPU_SCHED
[ -x "$HEDDLE_ANALYSE" ] || HEDDLE_ANALYSE=none
test="$top_builddir/tests/starpu/kernel_transfers"
HEDDLE_KERNEL_IN_PLACE=0 $test || exit
HEDDLE_KERNEL_IN_PLACE=0 HEDDLE_KERNEL_BUSES=1 $test || exit
HEDDLE_KERNEL_IN_PLACE=0 TRANSFERS_MACHINE=$top_srcdir/tests/starpu/switch.xml $test || exit
$test || exit
HEDDLE_PROFILE_DIR=$HEDDLE_PROFILE_DIR/none HEDDLE_ANALYSE=none $test
