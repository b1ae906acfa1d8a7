#!/bin/sh
# heddle.hpp compiles alone and without a warning under every C++ compiler here; its example and
# its test run, where there is OpenCL on a core and a device.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 300 s
. "$top_srcdir/tests/tools/common.sh"
value() { sed -n "s/^$1 = //p" "$top_builddir/Makefile"; }
has() { grep -q "define HEDDLE_USE_$1 " "$top_builddir/config.h"; }
[ -e "$top_builddir/.libs/libheddle.so" ] || { echo "no shared library"; exit 77; }
header_flags=$(PKG_CONFIG_PATH=$top_builddir pkg-config --cflags heddle)
flags=$(PKG_CONFIG_PATH=$top_builddir pkg-config --cflags --libs heddle) || fail pkg-config
sanitizers=$(value HEDDLE_LDFLAGS)
if has OPENCL && ! has SIMGRID; then
	flags="$flags -DWITH_OPENCL $(value OPENCL_CFLAGS) $(value OPENCL_LIBS)"
	export STARPU_NCPU=1 STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1 STARPU_WORKERS_NOBIND=1
fi
warnings='-Wall -Wextra -Wshadow -pedantic -Werror'
tried=
for cxx in g++ clang++; do
	command -v $cxx >/dev/null || continue
	for standard in c++17 c++20; do
		# shellcheck disable=SC2086 # words
		echo '#include <heddle/heddle.hpp>' | $cxx -x c++ -std=$standard $warnings -fsyntax-only \
			$header_flags - ||
			fail "$cxx -std=$standard: heddle.hpp"
	done
	# What is wrong comes first.
	# shellcheck disable=SC2086 # words
	echo '#include <heddle/heddle.hpp>' | $cxx -x c++ -std=c++14 -fsyntax-only $header_flags - 2>&1 |
		grep -m 1 'error:' | grep -q 'needs C++17' || fail "$cxx -std=c++14: another reason"
	# Another compiler's sanitizers are others.
	[ -z "$sanitizers" ] || [ $cxx = g++ ] || continue
	for source in "$top_srcdir/doc/examples/axpy.cpp" "$top_srcdir/tests/tools/cplusplus.cpp"; do
		# shellcheck disable=SC2086 # words
		$cxx -std=c++17 -g $warnings "$source" -o "$work/program" $flags $sanitizers ||
			{ fail "$cxx: $source"; continue; }
		tried="$tried $cxx"
		! has SIMGRID || continue
		STARPU_SCHED=hdss expect 0 '^0 wrong\|^0 failures' "$work/program"
	done
done
[ -n "$tried" ] || { echo "no C++ compiler"; exit 77; }
echo "compiled and run:$tried"
[ "$failures" = 0 ]
