#!/bin/sh
# What the library exports is what libheddle.map lists, and the public part of that is what
# the public headers declare. What is for Heddle's own programs may be missing from a build
# that has no use for it.
set -u
: "${top_srcdir:?}" "${top_builddir:?}"
map=$top_srcdir/libheddle.map
work=$(mktemp -d "${TMPDIR:-/tmp}/heddle-symbols.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT HUP INT TERM

# listed NODE: the symbols of a node of the map.
listed() {
	sed -n "/^$1/,/^}/s/^\t\([a-z_0-9]*\);\$/\1/p" "$map"
}

# Static inline functions are no symbols.
sed 's,/\*.*\*/,,; /^static inline/d' "$top_srcdir"/include/heddle/*.h |
	sed '/\/\*/,/\*\//d' | grep -oE '\bheddle_[a-z0-9_]+\(' | tr -d '(' | sort -u >"$work/declared"
grep -hE '^static inline' "$top_srcdir"/include/heddle/*.h | grep -oE 'heddle_[a-z0-9_]+\(' |
	tr -d '(' | sort -u >"$work/inline"
sort "$work/declared" "$work/inline" "$work/inline" | uniq -u >"$work/public"
listed HEDDLE_0 | grep '^heddle_' | sort >"$work/listed"
# The first two are versions.
nm -D --defined-only "$top_builddir/.libs/libheddle.so" | awk '$2 != "A" { print $3 }' |
	sed 's/@.*//' | sort >"$work/exported"
listed HEDDLE_PRIVATE | sort >"$work/private"
status=0
echo "public headers (<), libheddle.map (>):"
diff "$work/public" "$work/listed" || status=1
echo "libheddle.map's public part (<), libheddle.so (>):"
listed HEDDLE_0 | sort >"$work/all"
sort "$work/exported" "$work/private" | uniq -d | sort - "$work/exported" | uniq -u |
	diff "$work/all" - || status=1
exit $status
