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
configure=$(cd "$top_srcdir" && pwd)/configure
value() { sed -n "s/^$1 = //p" "$top_builddir/Makefile"; }
# A build folder is not changed while other tests use it: a make of its own links anew.
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$top_builddir" install-exec-am \
	install-data-am prefix="$prefix" >"$work/log" 2>&1 ||
	{ tail -n 20 "$work/log"; fail "make install prefix=$prefix"; }
# What libtool cannot do is said at once, also where the source folder is configured itself.
for folder in prefix exec-prefix bindir libexecdir libdir includedir; do
	(cd "$work" && "$configure" "--$folder=$work/two words") >"$work/out" 2>&1 &&
		fail "--$folder with a space"
	grep -q "error: --$folder: .* cannot use a folder with a space" "$work/out" ||
		fail "--$folder with a space: $(tail -n 2 "$work/out")"
done
# So is a CUDA compiler that compiles nothing.
mkdir "$work/cuda" && printf '#!/bin/sh\necho "no host compiler is of use" >&2\nexit 1\n' >"$work/cuda/nvcc"
chmod +x "$work/cuda/nvcc"
(path=$(value PKG_CONFIG_PATH) && cd "$work/cuda" &&
	"$configure" --with-cuda NVCC="$work/cuda/nvcc" PKG_CONFIG_PATH="$path") >"$work/out" 2>&1 &&
	fail 'an nvcc that compiles nothing'
grep -q 'cuda/nvcc compiles nothing: no host compiler is of use (--without-cuda does' "$work/out" ||
	fail "an nvcc that compiles nothing: $(tail -n 2 "$work/out")"
# What users' builds and OpenCL's loader read names the folder and no other one.
left=$(grep -rlE '@[a-z_A-Z]*@|/usr/local/(lib|share|libexec|include)' "$prefix/lib/pkgconfig" \
	"$prefix/lib/cmake" "$prefix"/share/heddle/*.icd 2>/dev/null)
[ -z "$left" ] || fail "another folder is named in $left"
PKG_CONFIG_PATH=$prefix/lib/pkgconfig:${PKG_CONFIG_PATH-}
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs heddle) || fail "pkg-config"
for flag in "-I$prefix/include" "-L$prefix/lib" -lheddle; do
	case " $flags " in
	*" $flag "*) ;;
	*) fail "pkg-config without $flag: $flags" ;;
	esac
done
for folder in prefix= exec_prefix= libdir=/lib includedir=/include; do
	told=$(pkg-config "--variable=${folder%%=*}" heddle)
	[ "$told" = "$prefix${folder#*=}" ] || fail "heddle.pc: ${folder%%=*}=$told"
done
if [ -e "$top_builddir/libheddle-mpi.la" ]; then
	flags=$(pkg-config --cflags --libs heddle-mpi) || fail "pkg-config heddle-mpi"
	for flag in "-I$prefix/include" -lheddle-mpi -lheddle -lmpi; do
		case " $flags " in
		*" $flag "*) ;;
		*) fail "pkg-config without $flag: $flags" ;;
		esac
	done
fi
# As the README says it. Quotes in StarPU's flags do not survive $(pkg-config ...) in a shell.
# shellcheck disable=SC2046,SC2086 # words
$(value CC) "$top_srcdir/doc/examples/axpy.c" -o "$work/axpy" \
	$(pkg-config --cflags --libs heddle) $(value HEDDLE_LDFLAGS) >"$work/out" 2>&1 || fail "axpy.c"
[ ! -s "$work/out" ] || fail "axpy.c: $(cat "$work/out")"

# Programs find what is installed with them, though they were compiled for another folder.
# (Where workers are simulated, it wants a machine first.)
grep -q 'define HEDDLE_USE_SIMGRID' "$top_builddir/config.h" ||
	LD_LIBRARY_PATH=$prefix/lib:$(value starpu_libdir) expect 0 '^  hdss ' "$prefix/bin/heddle" info
expect 0 '^  histogram' "$prefix/bin/heddle" app --help
expect 0 'Usage: heddle plot' "$prefix/bin/heddle" plot --help
command -v gnuplot >/dev/null &&
	expect 0 '^kernel,contender,' "$prefix/bin/heddle" plot --skmd 9 -o "$work/skmd"
grep -rlE '@[A-Z]+@|/usr/local/(bin|lib|share)/heddle' "$prefix/libexec/heddle/heddle-plot" \
	"$prefix/libexec/heddle/heddle-trace" && fail "scripts name another folder"

# The library finds the analysis of kernels that was installed with it.
if grep -q '^#define HEDDLE_USE_OPENCL' "$top_builddir/config.h" &&
	[ -x "$prefix/libexec/heddle/heddle-analyse" ] && [ -x "$prefix/libexec/heddle/apps/kernels" ]; then
	STARPU_NCPU=0 STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1 HEDDLE_VERBOSE=1 \
		LD_LIBRARY_PATH=$prefix/lib:$(value starpu_libdir) \
		"$prefix/libexec/heddle/apps/kernels" VectorAdd --classes --size 65536 --reps 1 >"$work/out" 2>&1
	status=$?
	[ $status = 0 ] || [ $status = 77 ] || fail "kernels: exit $status"
	grep "not analysed" "$work/out" && fail "the analysis is not found"
fi

# The layer finds the library that was installed with it, also where StarPU's folder has another.
layer=$prefix/lib/heddle/libheddle-opencl.so
if [ -e "$layer" ]; then
	found=$(env -u LD_LIBRARY_PATH ldd "$layer" | grep 'libheddle\.so')
	case $found in
	*"=> $prefix/lib/"*) ;;
	*) fail "the layer's library: $found" ;;
	esac
fi

command -v cmake >/dev/null || { echo "no CMake: not tried"; [ "$failures" = 0 ]; exit; }
# Another StarPU, which pkg-config finds first, is not taken for Heddle's.
mkdir "$work/project" "$work/other"
PKG_CONFIG_PATH=$work/other
printf 'Name: StarPU\nDescription: another one\nVersion: 1.0\nLibs: -L%s -lother\n' "$work/other" \
	>"$work/other/starpu-$(value starpu_series).pc"
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
if cmake_run -S "$work/project" -B "$work/build" &&
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake --build "$work/build" >>"$work/out" 2>&1; then
	grep -i warning "$work/out" && fail "CMake's build warns"
	ldd "$work/build/axpy" | grep -q "$prefix/lib/libheddle" ||
		fail "another libheddle: $(ldd "$work/build/axpy")"
	if ! grep -q 'define HEDDLE_USE_SIMGRID' "$top_builddir/config.h"; then
		"$work/build/axpy" >"$work/out" 2>&1 ||
			fail "axpy: $(cat "$work/out")"
	fi
else
	fail "CMake: $(cat "$work/out")"
fi
# Another version is refused.
sed -i 's/Heddle 0.1 /Heddle 7.0 /' "$work/project/CMakeLists.txt"
cmake_run -S "$work/project" -B "$work/build2" && fail "CMake took version 7.0"
grep -q 'version: 0\.' "$work/out" || fail "version: $(cat "$work/out")"
[ "$failures" = 0 ]
