#!/bin/sh
# Every public header compiles alone, without a warning, as C99, C11 and C++. StarPU's want
# POSIX beside the language.
set -u
: "${top_srcdir:?}" "${top_builddir:?}"
flags=$(sed -n 's/^STARPU_PLAIN_CFLAGS = //p' "$top_builddir/Makefile" | sed 's/-I *\//-isystem \//g')
cc=$(sed -n 's/^CC = //p' "$top_builddir/Makefile")
# SimGrid's headers, which StarPU's of that flavour bring along, want a later C++.
cxx=c++11
grep -q '^#define HEDDLE_USE_SIMGRID' "$top_builddir/config.h" && cxx=c++17
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
	for standard in c99 c11; do
		# shellcheck disable=SC2086
		compiles "$header" $cc -x c -std=$standard -D_POSIX_C_SOURCE=200809L
	done
	command -v g++ >/dev/null && compiles "$header" g++ -x c++ -std=$cxx
done
[ "$failures" = 0 ]
