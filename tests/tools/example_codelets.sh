#!/bin/sh
# The examples with codelets for accelerators compile as their users compile them. That with OpenCL
# runs on an OpenCL device beside a CPU core, that with CUDA where there is a GPU, else on cores.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 300 s
. "$top_srcdir/tests/tools/common.sh"
value() { sed -n "s/^$1 = //p" "$top_builddir/Makefile"; }
has() { grep -q "define HEDDLE_USE_$1 " "$top_builddir/config.h"; }
examples=$top_srcdir/doc/examples
build=$(cd "$top_builddir" && pwd)
flags=$(PKG_CONFIG_PATH=$top_builddir pkg-config --cflags --libs heddle) || fail pkg-config
tried=
# all_done: every iteration was computed once, rightly.
all_done() {
	awk 'NR == 1 && !/^0 wrong, [0-9]+ us$/ { bad = 1 } / iterations in / { n += $(NF - 4) }
		END { exit bad || n < 1048576 }' "$work/told" || { fail "$1"; cat "$work/told"; }
}
if has OPENCL && ! has SIMGRID; then
	tried=1
	# As the file says.
	command=$(sed -n 's/^ \*  *cc //p' "$examples/axpy_opencl.c")
	cp "$examples/axpy_opencl.c" "$work"
	(cd "$work" && PKG_CONFIG_PATH=$build && export PKG_CONFIG_PATH && eval "$(value CC) -Wall -Wextra -Werror \
		-Wno-unused-parameter $command $(value HEDDLE_LDFLAGS)") || fail "axpy_opencl.c: cc $command"
	mv "$work/axpy_opencl" "$work/opencl"
	STARPU_NCPU=1 STARPU_NOPENCL=0 "$work/opencl" >"$work/told" 2>"$work/out" || fail "without OpenCL"
	all_done "without OpenCL"
	STARPU_SCHED=hdss STARPU_NCPU=1 STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1 STARPU_WORKERS_NOBIND=1 \
		"$work/opencl" >"$work/told" 2>"$work/out" || fail "with OpenCL: $(cat "$work/out")"
	all_done "with OpenCL"
	[ "$(wc -l <"$work/told")" -ge 3 ] || fail "no OpenCL worker: $(cat "$work/told")"
	# On the device alone.
	STARPU_SCHED=gss STARPU_NCPU=0 STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1 STARPU_WORKERS_NOBIND=1 \
		"$work/opencl" >"$work/told" 2>"$work/out" || fail "on OpenCL alone: $(cat "$work/out")"
	all_done "on OpenCL alone"
fi
if has CUDA; then
	tried=1
	# nvcc takes the linker's options in its own way.
	# shellcheck disable=SC2046,SC2086 # words
	$(value NVCC) "$examples/axpy_cuda.cu" -o "$work/cuda" $(echo " $flags" |
		sed 's/ -Wl,/ -Xlinker=/g; s/ -pthread/ -Xcompiler=-pthread/g; s/ -Wno[^ ]*//g') || fail "axpy_cuda.cu"
	STARPU_SCHED=hdss "$work/cuda" >"$work/told" 2>"$work/out" || fail "with CUDA: $(cat "$work/out")"
	all_done "with CUDA"
fi
[ -n "$tried" ] || exit 77
[ "$failures" = 0 ]
