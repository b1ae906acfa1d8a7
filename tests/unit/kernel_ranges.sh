#!/bin/sh
# kernel_ranges with an OpenCL device and heddle-analyse at hand. Without the latter all
# windows are whole buffers, which has to be right too.
# Time limit: 300 s
set -u
: "${top_srcdir:?}" "${top_builddir:?}"
POCL_DEVICES=${POCL_DEVICES:-basic}
POCL_MAX_PTHREAD_COUNT=${POCL_MAX_PTHREAD_COUNT:-2}
HEDDLE_PROFILE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/heddle-test-kernels.XXXXXX") || exit 99
trap 'rm -rf "$HEDDLE_PROFILE_DIR"' EXIT HUP INT TERM
export POCL_DEVICES POCL_MAX_PTHREAD_COUNT HEDDLE_PROFILE_DIR
HEDDLE_ANALYSE=/nonexistent "$top_builddir/tests/unit/kernel_ranges" "$top_srcdir" unknown || exit
[ -x "$top_builddir/bin/heddle-analyse" ] || exit 0
HEDDLE_ANALYSE=$top_builddir/bin/heddle-analyse
export HEDDLE_ANALYSE
"$top_builddir/tests/unit/kernel_ranges" "$top_srcdir" known || exit
# A second run compiles nothing: it finds what the first one kept.
HEDDLE_ANALYSE=/nonexistent
"$top_builddir/tests/unit/kernel_ranges" "$top_srcdir" kept
