#!/bin/sh
# Every public header compiles alone, without a warning, as C99, C11 and C++. StarPU's want
# POSIX beside the language. Every other header compiles alone, too, but for those without a
# guard, which are templates.
set -u
: "${top_srcdir:?}" "${top_builddir:?}"
flags=$(sed -n 's/^STARPU_PLAIN_CFLAGS = //p' "$top_builddir/Makefile" | sed 's/-I *\//-isystem \//g')
cc=$(sed -n 's/^CC = //p' "$top_builddir/Makefile")
# SimGrid's headers, which StarPU's of that flavour bring along, want a later C++.
cxx=c++11
grep -q '^#define HEDDLE_USE_SIMGRID' "$top_builddir/config.h" && cxx=c++17
mpi=$(sed -n 's/^MPI_CFLAGS = //p' "$top_builddir/Makefile")
[ -z "$mpi" ] || flags="$flags $mpi"
failures=0
# compiles HEADER COMPILER...
compiles() {
	header=$1
	shift
	# shellcheck disable=SC2086
	echo "#include <heddle/$header>" | "$@" -Wall -Wextra -pedantic -Werror -fsyntax-only \
		-I"$top_srcdir/include" $flags - || {
		echo "$header: $*"
		failures=$((failures + 1))
	}
}
for header in "$top_srcdir"/include/heddle/*.h; do
	header=${header##*/}
	[ "$header" != mpi.h ] || [ -n "$mpi" ] || continue
	for standard in c99 c11; do
		# shellcheck disable=SC2086
		compiles "$header" $cc -x c -std=$standard -D_POSIX_C_SOURCE=200809L
	done
	command -v g++ >/dev/null && compiles "$header" g++ -x c++ -std=$cxx
done
# What configure found out where these are: OpenCL's, CUDA's, jansson's, LLVM's.
others=$(sed -n 's/^\(OPENCL\|CUDA_CPP\|JANSSON\|LLVM\|CMOCKA\|HWLOC\|OPENSLIDE\)_*C*FLAGS = //p' \
	"$top_builddir/Makefile" | tr '\n' ' ')
cd "$top_srcdir" || exit 99
n=0
for header in support/*.h estimator/*.h partition/*/*.h partition/*/*/*.h sched_policies/*.h \
	codelets/*.h codelets/*/*.h apps/*/*.h fpga/*.h fpga/*/*.h tools/*.h tools/*/*.h; do
	[ -e "$header" ] && grep -q '^#ifndef HEDDLE_.*_H$\|^#ifndef [A-Z_]*_H$' "$header" || continue
	case $header in
	partition/mpi/agree_mpi.h | partition/mpi/halo_mpi.h | partition/mpi/link_mpi.h | \
		partition/mpi/loans_starpu.h | partition/mpi/node_private.h | partition/mpi/wavefront_node.h | \
		partition/mpi/world.h) [ -n "$mpi" ] || continue ;;
	codelets/cuda_*) grep -q '^CUDA_CPPFLAGS = .' "$top_builddir/Makefile" || continue ;;
	tools/analyse/*) grep -q '^#define HAVE_LLVM\|^LLVM_CFLAGS = .' "$top_builddir/Makefile" || continue ;;
	esac
	n=$((n + 1))
	# shellcheck disable=SC2086
	echo "#include \"$header\"" | $cc -x c -std=gnu11 -Wall -Wextra -Wno-unused-parameter \
		-Wno-unused-function -Werror -fsyntax-only -I. -Iinclude -I"$top_builddir" $flags \
		$others - || { echo "$header"; failures=$((failures + 1)); }
done
[ "$n" -gt 50 ] || { echo "only $n private headers"; failures=1; }
[ "$failures" = 0 ]
