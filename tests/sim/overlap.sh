#!/bin/sh
# Blocks of an accelerator: the next one is given while one is under way, so that its data
# arrives meanwhile, but not under a strategy that has one block at a time.
set -u
: "${top_builddir:?}"
work=$(mktemp -d "${TMPDIR:-/tmp}/heddle-test-overlap.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT HUP INT TERM
failures=0
# Blocks of the GPU of STRATEGY, and how many of them were given before the one before
# was home.
blocks() {
	HEDDLE_BLOCK_LOG=$work/blocks.csv "$top_builddir/bin/heddle-simulate" \
		--platform '3cpu+gpu8@6000:10' -- "$top_builddir/tests/sim/loop" \
		"$1" 200000 >/dev/null 2>&1 || echo "exit status $?"
	awk -F, '$3 == "cuda" { blocks++; overlaps += $7 < home; home = $8 }
		END { print blocks + 0, overlaps + 0 }' "$work/blocks.csv"
	rm -f "$work/blocks.csv"
}
while read -r strategy overlaps; do
	is=$(blocks "$strategy")
	echo "$strategy: $is"
	case $is,$overlaps in
	[1-9]*' 0,no' | [1-9]*' '[1-9]*,yes) ;;
	*)
		echo "FAIL: $strategy"
		failures=$((failures + 1))
		;;
	esac
done <<-END
	hdss yes
	gss yes
	hdss:published=1,overlap=1 yes
	hdss:published=1 no
	hdss:overlap=0 no
END
[ "$failures" = 0 ]
