#!/bin/sh
# Every subcommand has a man page with a name, a synopsis and its options, and roff has
# nothing to say against any.
. "$top_srcdir/tests/tools/common.sh"
[ -e "$top_builddir/doc/man/heddle.1" ] || { echo "no man pages: no help2man"; exit 77; }
pages="heddle.1 heddle.7"
for name in $("$top_builddir/bin/heddle" --help | sed -n 's/^  \([a-z]*\)  *.*/\1/p'); do
	pages="$pages heddle-$name.1"
	grep -q "^$name\$" "$top_builddir/doc/man/heddle.1" || fail "heddle.1: no $name"
	grep -q "^heddle-$name \\\\- [a-z]" "$top_builddir/doc/man/heddle-$name.1" ||
		fail "heddle-$name.1: no line that says what it is"
	sed -n '/^\.SH SYNOPSIS/,/^\.SH DESC/p' "$top_builddir/doc/man/heddle-$name.1" |
		grep -q "$name" || fail "heddle-$name.1: no synopsis"
done
sed -n '/^\.SH SYNOPSIS/,/^\.SH DESC/p' "$top_builddir/doc/man/heddle.1" | grep -q 'app' ||
	fail "heddle.1: no heddle app in the synopsis"
[ "$(echo "$pages" | wc -w)" -gt 10 ] || fail "only $pages"
for variable in $(sed -n 's/^VARIABLE(\([A-Z_]*\),.*/HEDDLE_\1/p' "$top_srcdir/support/variables.def"); do
	grep -qx "\.B $variable" "$top_builddir/doc/man/heddle.7" || fail "heddle.7: no $variable"
done
for page in $pages; do
	command -v groff >/dev/null || break
	groff -k -man -ww -Wbreak -Tutf8 -z "$top_builddir/doc/man/$page" >"$work/out" 2>&1 || fail "$page: groff"
	[ ! -s "$work/out" ] || { fail "$page:"; cat "$work/out"; }
done
[ "$failures" -eq 0 ]
