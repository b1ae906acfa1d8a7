#!/bin/sh
# kernel_contents over two OpenCL devices: with their own memory and in the host's, in shares and in
# blocks, launched directly and by workers, and with nothing known about the kernels; over one, in
# chunks.
# Time limit: 400 s
set -u
: "${top_builddir:?}"
HEDDLE_PROFILE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/heddle-test-contents.XXXXXX") || exit 99
trap 'rm -rf "$HEDDLE_PROFILE_DIR"' EXIT HUP INT TERM
STARPU_OPENCL_ON_CPUS=1 STARPU_NCPU=1 STARPU_NOPENCL=2 POCL_DEVICES='pthread basic'
POCL_MAX_PTHREAD_COUNT=2 HEDDLE_ANALYSE=$top_builddir/bin/heddle-analyse
HEDDLE_PROFILE=0 STARPU_SCHED=skmd
export HEDDLE_PROFILE_DIR STARPU_OPENCL_ON_CPUS STARPU_NCPU STARPU_NOPENCL POCL_DEVICES
export POCL_MAX_PTHREAD_COUNT HEDDLE_ANALYSE HEDDLE_PROFILE STARPU_SCHED
[ -x "$HEDDLE_ANALYSE" ] || HEDDLE_ANALYSE=none
test="$top_builddir/tests/starpu/kernel_contents"
HEDDLE_KERNEL_IN_PLACE=0 $test || exit
HEDDLE_KERNEL_IN_PLACE=0 HEDDLE_KERNEL_DIRECT=0 HEDDLE_KERNEL_KEEP=2 $test || exit
HEDDLE_KERNEL_IN_PLACE=0 STARPU_SCHED=gss $test || exit
$test || exit
STARPU_NOPENCL=1 HEDDLE_KERNEL_IN_PLACE=0 $test || exit
STARPU_NOPENCL=1 HEDDLE_KERNEL_IN_PLACE=0 HEDDLE_KERNEL_CHUNKS=4 $test || exit
HEDDLE_PROFILE_DIR=$HEDDLE_PROFILE_DIR/none HEDDLE_KERNEL_IN_PLACE=0 HEDDLE_ANALYSE=none $test || exit
# Of the example's images each device gets and returns its own alone, besides sizes and places.
told=$(HEDDLE_KERNEL_IN_PLACE=0 "$top_builddir/doc/examples/batch") || exit 1
echo "$told"
[ "$HEDDLE_ANALYSE" = none ] ||
	echo "$told" | awk '$5 > $3 + 2 * 192 || $8 != $3 { exit 1 }'
