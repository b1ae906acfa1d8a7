#!/bin/sh
# What is installed in another folder than configure's is found there, by pkg-config and by
# CMake.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 300 s
. "$top_srcdir/tests/tools/common.sh"
grep -q '^build_libtool_libs=yes' "$top_builddir/libtool" || exit 77
prefix=$work/prefix
value() { sed -n "s/^$1 = //p" "$top_builddir/Makefile"; }
# A build folder is not changed while other tests use it: a make of its own links anew.
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$top_builddir" install-libLTLIBRARIES \
	install-heddleincludeHEADERS install-data-hook prefix="$prefix" >"$work/log" 2>&1 ||
	{ tail -n 20 "$work/log"; fail "make install prefix=$prefix"; }
PKG_CONFIG_PATH=$prefix/lib/pkgconfig:$(value starpu_libdir)/pkgconfig:${PKG_CONFIG_PATH-}
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs heddle) || fail "pkg-config"
for flag in "-I$prefix/include" "-L$prefix/lib" -lheddle; do
	case " $flags " in
	*" $flag "*) ;;
	*) fail "pkg-config without $flag: $flags" ;;
	esac
done
grep -E '@|/usr/local' "$prefix/lib/pkgconfig/heddle.pc" && fail "heddle.pc"
if [ -e "$top_builddir/libheddle-mpi.la" ]; then
	flags=$(pkg-config --cflags --libs heddle-mpi) || fail "pkg-config heddle-mpi"
	for flag in "-I$prefix/include" -lheddle-mpi -lheddle -lmpi; do
		case " $flags " in
		*" $flag "*) ;;
		*) fail "pkg-config without $flag: $flags" ;;
		esac
	done
	grep -E '@|/usr/local' "$prefix/lib/pkgconfig/heddle-mpi.pc" && fail "heddle-mpi.pc"
fi

command -v cmake >/dev/null || { echo "no CMake: not tried"; [ "$failures" = 0 ]; exit; }
mkdir "$work/project"
cp "$top_srcdir/doc/examples/axpy.c" "$work/project"
cat >"$work/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.13)
project(axpy C)
find_package(Heddle 0.1 REQUIRED)
find_package(Heddle REQUIRED)
add_executable(axpy axpy.c)
target_link_libraries(axpy Heddle::Heddle)
END
cmake_run() {
	cmake -DCMAKE_C_COMPILER="$(value CC)" -DCMAKE_PREFIX_PATH="$prefix" "$@" >"$work/out" 2>&1
}
if cmake_run -S "$work/project" -B "$work/build" && cmake --build "$work/build" >>"$work/out" 2>&1; then
	LD_LIBRARY_PATH=$(value starpu_libdir) ldd "$work/build/axpy" | grep -q "$prefix/lib/libheddle" ||
		fail "another libheddle: $(ldd "$work/build/axpy")"
	if ! grep -q 'define HEDDLE_USE_SIMGRID' "$top_builddir/config.h"; then
		LD_LIBRARY_PATH=$(value starpu_libdir) "$work/build/axpy" >"$work/out" 2>&1 ||
			fail "axpy: $(cat "$work/out")"
	fi
else
	fail "CMake: $(cat "$work/out")"
fi
# Another version is refused, and a StarPU that is not there gets its reason.
sed -i 's/Heddle 0.1 /Heddle 7.0 /' "$work/project/CMakeLists.txt"
cmake_run -S "$work/project" -B "$work/build2" && fail "CMake took version 7.0"
grep -q 'version: 0\.' "$work/out" || fail "version: $(cat "$work/out")"
[ "$failures" = 0 ]
