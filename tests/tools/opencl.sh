#!/bin/sh
# heddle opencl, with a program that knows nothing of Heddle, on two OpenCL devices, which PoCL
# makes of the cores: right results, what is split and what is not, processes that fork, one
# device, devices that are GPUs, random commands, and bad input.
# Time limit: 600 s
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$top_srcdir/tests/tools/common.sh"
HEDDLE_PROFILE_DIR=$work/profiles HEDDLE_ANALYSE=$top_builddir/bin/heddle-analyse
POCL_DEVICES='pthread basic' POCL_MAX_PTHREAD_COUNT=2
export HEDDLE_PROFILE_DIR HEDDLE_ANALYSE POCL_DEVICES POCL_MAX_PTHREAD_COUNT
unset STARPU_NCPU STARPU_NCUDA STARPU_NOPENCL
opencl=$top_builddir/bin/heddle-opencl
program=$top_builddir/tests/tools/opencl_program

# says TEXT: the last output.
says() {
	grep -q -F -e "$1" "$work/out" || fail "no '$1' in: $(cat "$work/out")"
}

POCL_DEVICES=pthread "$program" >"$work/out" 2>&1
[ $? = 77 ] && exit 77
says 'all right'

expect 0 'all right' "$opencl" --always -- "$program"
if [ -x "$HEDDLE_ANALYSE" ]; then
	says 'kernel stencil: '
	says 'Heddle refuses a launch of kernel scale: an argument is not set'
	says '2 on one device (it has atomic operations on global memory)'
	says '1 on one device (it prints)'
	says 'kernel marked: 1 split, 2 on one device (an argument is NULL, not a buffer)'
	says 'kernel turn: 3 split, 1 on one device (a sampler interpolates'
	grep -q 'kernel move_on: [0-9]* split$' "$work/out" || fail "move_on is not split"
	grep -q 'kernel add: [0-9]* split, 1 on one device (parts of a buffer overlap)$' \
		"$work/out" || fail "add is not split: $(grep 'kernel add' "$work/out")"
	says '1 on one device (two of its arguments are one array, of which groups may read'
	says 'kernel shift: 2 split, 2 on one device (two of its arguments are one array'
	says 'kernel twin: argument 1 has 262140 bytes, and the kernel reads 4 bytes at byte 262140'
	says 'kernel twin: 1 split, 1 on one device (it reads or writes outside of a buffer)'
	grep -q 'launches: [1-9][0-9]* split' "$work/out" || fail "nothing is split"
fi
[ "$(grep -c 'kernel says 42' "$work/out")" = 1 ] || fail "a kernel that prints ran twice"
expect 0 'all right' "$opencl" --always -- "$program" fork
expect 0 '100 on one device' "$opencl" -- "$program" child
[ "$(grep -c 'kernel scale:' "$work/out")" = 1 ] || fail "a child reports, too"
expect 0 'all right' "$opencl" --beside --always -- "$program" chain
expect 0 'all right' "$opencl" --beside -- "$program" home
says 'and home has'
# By default short kernels stay where they are.
expect 0 'it has not run for long yet' "$opencl" -- "$program" chain
says 'all right'
# Longer ones are prepared for a split beside the computation.
HEDDLE_OPENCL_AFTER=1 HEDDLE_OPENCL_TRIALS=1e9 expect 0 'all right' "$opencl" -- "$program" long
[ ! -x "$HEDDLE_ANALYSE" ] || grep -q 'kernel slow: .*being compiled' "$work/out" ||
	fail "no slow kernel is prepared: $(cat "$work/out")"
# One device, and none for StarPU.
POCL_DEVICES=pthread expect 0 'there is one device' "$opencl" --always -- "$program"
says 'all right'
STARPU_NOPENCL=0 expect 0 'StarPU does not start' "$opencl" --always -- "$program" chain
HEDDLE_VERBOSE=0 expect 0 'all right' "$opencl" --always -- "$program" chain
grep -q '^heddle:' "$work/out" && fail "HEDDLE_VERBOSE=0 prints"

# Random commands, by each device alone and under the layer.
random=$top_builddir/tests/tools/opencl_random
export HEDDLE_TEST_ROUNDS=3
POCL_DEVICES=pthread expect 0 'all right' "$random"
for always in '' --always; do
	# shellcheck disable=SC2086 # no option
	expect 0 'all right' "$opencl" $always -- "$random"
done

# Devices with their own memory, where results stay; buffers of one host memory one after the other.
HEDDLE_TEST_SEED=103 HEDDLE_TEST_ROUNDS=10 HEDDLE_KERNEL_IN_PLACE=0 \
	expect 0 'all right' "$opencl" --always -- "$random"

# PoCL's devices as GPUs: buffers are in the memory of home's. Layers that stand first are below.
compiler=$(sed -n 's/^CC = //p' "$top_builddir/Makefile")
$compiler -Wall -Wextra -Werror -shared -fPIC "$top_srcdir/tests/tools/opencl_gpu.c" \
	-o "$work/gpu.so" -lpthread || fail "the layer of GPUs"
# shellcheck disable=SC2016 # the inner shell expands it
as_gpu='OPENCL_LAYERS=$0:$OPENCL_LAYERS exec "$@"'
for always in '' --always; do
	# shellcheck disable=SC2086
	expect 0 'all right' "$opencl" $always -- sh -c "$as_gpu" "$work/gpu.so" "$program"
	# shellcheck disable=SC2086
	expect 0 'all right' "$opencl" $always -- sh -c "$as_gpu" "$work/gpu.so" "$random"
done

expect 0 'all right' "$opencl" --beside -- sh -c "$as_gpu" "$work/gpu.so" "$program" home
says 'and home has'

# An event costs home as much as a short launch.
events_count() {
	# shellcheck disable=SC2086
	expect 0 'all right' "$opencl" -- sh -c "$as_gpu" "$work/gpu.so" "$program" "$1"
	events=$(sed -n 's/.*NDRanges, \(.*\) events/\1/p' "$work/out")
}
events_count short
[ "$events" -lt 100 ] || fail "2000 launches have $events events of home's"
events_count large
[ "$events" -gt 90 ] || fail "100 launches with large buffers have $events events of home's"
events_count retained
[ "$events" -lt 100 ] || fail "500 launches with a buffer that stays have $events events of home's"

# Home's events are those that the program asks for, and few are in a queue that tells times.
events_count each
[ "$events" -le 2010 ] || fail "2000 launches with an event have $events events of home's"
timed=$(sed -n 's/ timed$//p' "$work/out")
[ "$timed" -gt 10 ] && [ "$timed" -lt 100 ] || fail "$timed of 2000 launches are timed"

# Home's driver has the last word on what the devices say that they cannot do.
for always in '' --always; do
	# shellcheck disable=SC2086
	TEST_LIMITS=1 expect 0 'all right' "$opencl" $always -- sh -c "$as_gpu" "$work/gpu.so" \
		"$program" limits
done
says 'larger than all devices say they compute'
says 'the device refuses a launch of kernel scale: the size of its groups'

# What a program maps of a buffer that the driver is to pin is pinned.
# shellcheck disable=SC2086
expect 0 'all right' "$opencl" -- sh -c "$as_gpu" "$work/gpu.so" "$program" pinned
says '2 pinned buffers'

# The process ends before StarPU has made its contexts.
# shellcheck disable=SC2086
TEST_SLOW_END=1 HEDDLE_OPENCL_AFTER=1 HEDDLE_OPENCL_TRIALS=1e9 \
	expect 0 'all right' "$opencl" -- sh -c "$as_gpu" "$work/gpu.so" "$program" leave
[ ! -x "$HEDDLE_ANALYSE" ] || says 'being compiled'

# The manual's program.
sed -n '/^## A whole program/,/^## What/s/^    //p' "$top_srcdir/doc/opencl.md" >"$work/manual"
command=$(sed -n 's/^cc //p' "$work/manual")
sed '/^cc /,$d' "$work/manual" >"$work/axpy.c"
command="$compiler -Wall -Wextra -Werror $command"
(cd "$work" && eval "$command") || fail "the manual's program"
expect 0 199 "$opencl" --always -- "$work/axpy"
[ ! -x "$HEDDLE_ANALYSE" ] || says 'kernel axpy: 1 split'

# A newer loader has other entry points.
expect 0 'all right' "$top_builddir/tests/tools/opencl_loader" \
	"$top_builddir/.libs/libheddle-opencl.so"

expect 2 'which command' "$opencl"
expect 2 'unrecognized option' "$opencl" --nothing
expect 127 'No such file' "$opencl" -- "$work/nothing"
expect 0 'Usage: heddle opencl' "$opencl" --help
[ "$failures" = 0 ]
