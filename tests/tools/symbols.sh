#!/bin/sh
# What a library exports is what its map lists, and the public part of that is what the public
# headers declare: heddle/mpi.h those of libheddle-mpi, the others those of libheddle. What is for Heddle's own programs may be missing from a build
# that has no use for it.
set -u
: "${top_srcdir:?}" "${top_builddir:?}"
work=$(mktemp -d "${TMPDIR:-/tmp}/heddle-symbols.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT HUP INT TERM

status=0

# listed NODE: the symbols of a node of the map.
listed() {
	sed -n "/^$1/,/^}/s/^\t\([a-z_0-9]*\);\$/\1/p" "$map"
}

# compare LIBRARY HEADER...
compare() {
	library=$1 map=$top_srcdir/$1.map
	shift
	# Static inline functions are no symbols.
	sed 's,/\*.*\*/,,; /^static inline/d' "$@" |
		sed '/\/\*/,/\*\//d' | grep -oE '\bheddle_[a-z0-9_]+\(' | tr -d '(' | sort -u >"$work/declared"
	grep -hE '^static inline' "$@" | grep -oE 'heddle_[a-z0-9_]+\(' |
		tr -d '(' | sort -u >"$work/inline"
	sort "$work/declared" "$work/inline" "$work/inline" | uniq -u >"$work/public"
	listed HEDDLE_0 | grep '^heddle_' | sort >"$work/listed"
	# The first two are versions.
	nm -D --defined-only "$top_builddir/.libs/$library.so" | awk '$2 != "A" { print $3 }' |
		sed 's/@.*//' | sort >"$work/exported"
	listed HEDDLE_PRIVATE | sort >"$work/private"
	echo "public headers (<), $library.map (>):"
	diff "$work/public" "$work/listed" || status=1
	echo "$library.map's public part (<), $library.so (>):"
	listed HEDDLE_0 | sort >"$work/all"
	sort "$work/exported" "$work/private" | uniq -d | sort - "$work/exported" | uniq -u |
		diff "$work/all" - || status=1
}

headers=$(find "$top_srcdir/include/heddle" -name '*.h' ! -name mpi.h)
# shellcheck disable=SC2086 # names of files
compare libheddle $headers
[ ! -e "$top_builddir/.libs/libheddle-mpi.so" ] ||
	compare libheddle-mpi "$top_srcdir/include/heddle/mpi.h"
exit $status
