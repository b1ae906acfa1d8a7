#!/bin/sh
# kernel_ahead on two OpenCL devices, which PoCL makes of the cores: as blocks, whole, in shares, and
# launched by the thread that submits.
# Time limit: 300 s
set -u
: "${top_builddir:?}"
HEDDLE_PROFILE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/heddle-test-ahead.XXXXXX") || exit 99
trap 'rm -rf "$HEDDLE_PROFILE_DIR"' EXIT HUP INT TERM
STARPU_OPENCL_ON_CPUS=1 STARPU_NCPU=1 STARPU_NOPENCL=2 POCL_DEVICES='pthread basic'
POCL_MAX_PTHREAD_COUNT=2 HEDDLE_ANALYSE=$top_builddir/bin/heddle-analyse
HEDDLE_PROFILE=0 HEDDLE_KERNEL_AHEAD=64
export HEDDLE_PROFILE_DIR STARPU_OPENCL_ON_CPUS STARPU_NCPU STARPU_NOPENCL POCL_DEVICES
export POCL_MAX_PTHREAD_COUNT HEDDLE_ANALYSE HEDDLE_PROFILE HEDDLE_KERNEL_AHEAD
[ -x "$HEDDLE_ANALYSE" ] || HEDDLE_ANALYSE=none
test="$top_builddir/tests/starpu/kernel_ahead"
STARPU_SCHED=gss $test 500 || exit
STARPU_SCHED=eager $test || exit
HEDDLE_KERNEL_DIRECT=0 STARPU_SCHED=skmd $test || exit
STARPU_SCHED=skmd $test
