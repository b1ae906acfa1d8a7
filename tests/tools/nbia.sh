#!/bin/sh
# NBIA: slides made, from PNG and from a pyramidal TIFF, held in memory and read on
# the way; the labels are the same under every policy and number of workers.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 300 s
set -u
app=$top_builddir/apps/nbia/nbia
work=$(mktemp -d "${TMPDIR:-/tmp}/heddle-nbia.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT HUP INT TERM
failures=0
fail() {
	echo "FAILED: $*"
	failures=$((failures + 1))
}

# expect CODE TEXT ARGUMENT...: the exit code, and TEXT among what is printed.
expect() {
	code=$1 text=$2
	shift 2
	"$app" "$@" >"$work/out" 2>&1
	got=$?
	if [ "$got" != "$code" ]; then
		fail "nbia $*: exit $got, not $code"
		tail -n 5 "$work/out"
	elif ! grep -qF -- "$text" "$work/out"; then
		fail "nbia $*: does not say '$text'"
		tail -n 5 "$work/out"
	fi
}

# The same labels, whoever does the tiles and however they come.
small='--size 1500 --height 1100 --resolutions 16,64,128 --reps 1 --confidence 0.999'
expect 0 "verified" $small --verify --sched eager --output "$work/eager.png"
for sched in lws dmda heteroprio hdss odds; do
	expect 0 "tiles" $small --sched $sched --output "$work/$sched.png"
	cmp "$work/eager.png" "$work/$sched.png" || fail "$sched: other labels"
done
STARPU_NCPU=1 expect 0 "tiles" $small --sched ddwrr --output "$work/one.png"
cmp "$work/eager.png" "$work/one.png" || fail "one worker: other labels"
expect 0 "read on the way" $small --memory 300000 --readers 3 --verify --reps 2 \
	--output "$work/streamed.png"
cmp "$work/eager.png" "$work/streamed.png" || fail "read on the way: other labels"
grep -q "verified" "$work/out" || fail "read on the way: not verified"

# What goes on by chance, to the last tile.
for share in 0 100; do
	"$app" $small --recalc $share --verify --json "$work/report" >"$work/out" ||
		fail "--recalc $share"
	count=$(grep -A 1 '"resolution": 128' "$work/report" | sed -n 's/.*"cpu": \([0-9]*\).*/\1/p')
	[ "$count" = $((share * 108 / 100)) ] || fail "--recalc $share: $count tiles went on"
done
"$app" $small --recalc 30 --memory 300000 --seed 3 --json - >"$work/a" || fail "--recalc 30"
"$app" $small --recalc 30 --seed 3 --json - >"$work/b" || fail "--recalc 30, in memory"
for report in a b; do
	sed -n '/"accepted_at"/,/]/p' "$work/$report" >"$work/$report.levels"
done
cmp "$work/a.levels" "$work/b.levels" || fail "lots fall differently when tiles are read on the way"
for key in app n sched strategy starpu us verified max_error workers columns rows recalc tasks \
	classes known right confidence; do
	grep -q "\"$key\": " "$work/a" || fail "no \"$key\" in the report"
done

# A PNG image says the same as the slide it was made from.
expect 0 "tiles" $small --save-input "$work/slide.png" --output "$work/made.png" --recalc 100
expect 0 "verified" --input "$work/slide.png" --resolutions 16,64,128 --recalc 100 --reps 1 --verify \
	--output "$work/png.png"
# Below its own resolution and at its borders an image is another slide; here are full tiles.
expect 0 "tiles" --size 1024 --resolutions 128 --reps 1 --save-input "$work/full.png" \
	--output "$work/made.png"
expect 0 "tiles" --input "$work/full.png" --resolutions 128 --reps 1 --output "$work/png.png"
cmp "$work/made.png" "$work/png.png" || fail "PNG: other labels"

expect 2 "No such file" --input "$work/missing"
expect 2 "is a directory" --input "$work"
: >"$work/empty"
expect 2 "is empty" --input "$work/empty"
head -c 5000 "$work/slide.png" >"$work/cut.png"
expect 2 "cut.png: not a PNG image that can be read: the file ends too early" --input "$work/cut.png"
printf 'not an image at all\n' >"$work/text"
expect 2 "$work/text: n" --input "$work/text"
expect 2 "not ascending divisors" --resolutions 32,100
expect 2 "not ascending divisors" --resolutions 128,32
expect 2 "is not a whole number from" --resolutions 32,x
expect 2 "is not a whole number from" --resolutions 1,2
expect 2 "not a number from 0 to 100" --recalc 101
expect 2 "tiles of these sizes need" --memory 1K
expect 2 "not a whole number" --size -1
expect 2 "No such file" --size 100 --output "$work/no/such/folder"
# What cannot be written is no success, wherever it should go.
for full in --json=/dev/full --output=/dev/full --save-input=/dev/full; do
	expect 2 "No space left" --size 100 --resolutions 16,64 --reps 1 $full
done
"$app" --size 100 --resolutions 16,64 --reps 1 >/dev/full 2>"$work/out"
[ $? = 2 ] && grep -q "No space left" "$work/out" || fail "a full standard output"
# The smallest slides there are.
expect 0 " no tasks" --size 1 --resolutions 16,64 --reps 1 --recalc 0 --verify --save-input "$work/pixel.png"
expect 0 "1 x 1 tiles" --input "$work/pixel.png" --resolutions 4 --reps 1 --verify
expect 0 "1 x 10 tiles" --size 1 --height 1200 --resolutions 16,128 --reps 1 --verify --recalc 50
expect 2 "not a whole number" --size 16777217
"$app" --size 100 --resolutions 16,64 --reps 1 --recalc 0 2>"$work/out" | head -n 1 >"$work/a"
grep -q "^nbia: 4 tiles" "$work/a" || fail "no table in a pipe"
[ ! -s "$work/out" ] || fail "messages on a pipe: $(cat "$work/out")"
grep -q "$(printf '\r')" "$work/out" && fail "progress was printed where there is no terminal"
# One core and one reader, so that it takes longer than the line's quarter of a second.
left_out=
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
	STARPU_NCPU=1 TERM=xterm script -qec "$app --size 6000 --resolutions 16,128 --recalc 60 \
		--memory 1M --readers 1 --reps 1" "$work/typescript" </dev/null >/dev/null ||
		fail "nbia on a terminal"
	grep -q "of 2209 tiles (.*a second, .* s left" "$work/typescript" ||
		fail "no progress on a terminal"
else
	left_out=77
	echo "left out: the line on a terminal (no program script, or no pseudo-terminals)"
fi

# A whole-slide file, made of the PNG image.
if ! command -v vips >/dev/null || "$app" --input "$work/text" 2>&1 | grep -q "without OpenSlide"; then
	echo "left out: slides by OpenSlide"
	[ "$failures" = 0 ] && exit 77
	exit 1
fi
vips tiffsave "$work/full.png" "$work/full.tiff" --tile --pyramid --tile-width 128 --tile-height 128 \
	--compression lzw || fail "vips"
expect 0 "tiles" --input "$work/full.tiff" --resolutions 128 --reps 1 --output "$work/tiff.png"
cmp "$work/made.png" "$work/tiff.png" || fail "TIFF: other labels"
expect 0 "verified" --input "$work/full.tiff" --resolutions 16,64,128 --memory 300000 --readers 2 \
	--reps 1 --recalc 50 --verify
for slide in pixel slide; do
	vips tiffsave "$work/$slide.png" "$work/$slide.tiff" --tile --pyramid --tile-width 256 \
		--tile-height 256 --compression jpeg || fail "vips"
	expect 0 "verified" --input "$work/$slide.tiff" --resolutions 16,64,128 --reps 1 --verify
done
size=$(wc -c <"$work/full.tiff")
head -c $((size / 2)) "$work/full.tiff" >"$work/cut.tiff"
expect 2 "cut.tiff" --input "$work/cut.tiff" --resolutions 16,64,128
# Its directory is whole and its pixels are not.
{
	head -c 100000 "$work/full.tiff"
	head -c 200000 /dev/urandom
	tail -c +300001 "$work/full.tiff"
} >"$work/broken.tiff"
for memory in 300000 2G; do
	expect 2 "broken.tiff" --input "$work/broken.tiff" --resolutions 16,64,128 --recalc 100 \
		--memory $memory
done
[ "$failures" = 0 ] && exit "${left_out:-0}"
exit 1
