#!/bin/sh
# At a terminal, what takes long says what it is at, in one line; elsewhere nothing does.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$top_srcdir/tests/tools/common.sh"
command -v script >/dev/null || exit 77
export HEDDLE_PROFILE_DIR="$work" STARPU_SILENT=1
# progresses TEXT COMMAND...: words without blanks.
progresses() {
	text=$1
	shift
	script -qec "$*" /dev/null </dev/null >"$work/terminal" 2>&1 || fail "$*: exit status $?"
	grep -q "$(printf '\r\033\[K')$text" "$work/terminal" || fail "$*: no '$text' at a terminal"
	# The last of it is removed before the results.
	tail -n 1 "$work/terminal" | grep -q "$text" && fail "$*: '$text' stays"
	"$@" >/dev/null 2>"$work/out" || fail "$*: exit status $?"
	[ ! -s "$work/out" ] || fail "$*: says something in a log: $(cat "$work/out")"
	HEDDLE_VERBOSE=0 script -qec "$*" /dev/null </dev/null | grep -q "$text" && fail "$*: not silent"
}
progresses 'histogram: repetition 2 of 2' "$top_builddir/apps/histogram/histogram" --size 1000 --reps 2
progresses 'histogram: making the input' "$top_builddir/apps/histogram/histogram" --size 1000 --reps 2
progresses 'heddle sample: histogram, job 2 of 2, visit 1 of 1' "$top_builddir/bin/heddle" sample --jobs 2 --reps 1 histogram
progresses 'heddle overhead: round 1 of 1, chain, gss' "$top_builddir/bin/heddle" overhead --rounds 1 \
	--tasks 0 --chain 10 --sched gss
# The first launch of a kernel compiles it.
kernels=$top_builddir/apps/kernels/kernels
export STARPU_NOPENCL=1
"$kernels" VectorAdd --size 1000 >/dev/null 2>&1 || { [ "$failures" = 0 ]; exit; }
progresses 'kernels: VectorAdd: repetition 2 of 2, skmd' "$kernels" VectorAdd --size 1000 --reps 2
grep -q 'heddle: compiling the kernel vector_add for OpenCL 0' "$work/terminal" || fail "compiling is not said"
HEDDLE_VERBOSE=2 expect 0 '^heddle: compiling the kernel vector_add for OpenCL 0' \
	"$kernels" VectorAdd --size 1000 --reps 1
[ "$failures" = 0 ]
