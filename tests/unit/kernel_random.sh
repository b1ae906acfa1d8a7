#!/bin/sh
# Random kernels with an exact checker. HEDDLE_TEST_ROUNDS=5000 makes it a longer run.
# Time limit: 3600 s
set -u
: "${top_builddir:?}"
HEDDLE_ANALYSE=$top_builddir/bin/heddle-analyse
HEDDLE_PROFILE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/heddle-test-random.XXXXXX") || exit 99
trap 'rm -rf "$HEDDLE_PROFILE_DIR"' EXIT HUP INT TERM
[ -x "$HEDDLE_ANALYSE" ] || exit 77
HEDDLE_ANALYSE_LIMIT=120
export HEDDLE_ANALYSE HEDDLE_PROFILE_DIR HEDDLE_ANALYSE_LIMIT
"$top_builddir/tests/unit/kernel_random"
