#!/bin/sh
# NBIA: slides made, from PNG and from a pyramidal TIFF, held in memory and read on
# the way; the labels are the same under every policy and number of workers.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 300 s
. "$top_srcdir/tests/tools/common.sh"
app=$top_builddir/apps/nbia/nbia
# The same labels, whoever does the tiles and however they come.
small='--size 1500 --height 1100 --resolutions 16,64,128 --reps 1 --confidence 0.999'
expect_app 0 "verified" nbia $small --verify --sched eager --output "$work/eager.png"
for sched in lws dmda heteroprio hdss odds; do
	expect_app 0 "tiles" nbia $small --sched $sched --output "$work/$sched.png"
	cmp "$work/eager.png" "$work/$sched.png" || fail "$sched: other labels"
done
STARPU_NCPU=1 expect_app 0 "tiles" nbia $small --sched ddwrr --output "$work/one.png"
cmp "$work/eager.png" "$work/one.png" || fail "one worker: other labels"
expect_app 0 "read on the way" nbia $small --memory 300000 --readers 3 --verify --reps 2 \
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
expect_app 0 "tiles" nbia $small --save-input "$work/slide.png" --output "$work/made.png" --recalc 100
expect_app 0 "verified" nbia --input "$work/slide.png" --resolutions 16,64,128 --recalc 100 --reps 1 --verify \
	--output "$work/png.png"
# Below its own resolution and at its borders an image is another slide; here are full tiles.
expect_app 0 "tiles" nbia --size 1024 --resolutions 128 --reps 1 --save-input "$work/full.png" \
	--output "$work/made.png"
expect_app 0 "tiles" nbia --input "$work/full.png" --resolutions 128 --reps 1 --output "$work/png.png"
cmp "$work/made.png" "$work/png.png" || fail "PNG: other labels"

expect_app 2 "No such file" nbia --input "$work/missing"
expect_app 2 "is a directory" nbia --input "$work"
: >"$work/empty"
expect_app 2 "is empty" nbia --input "$work/empty"
head -c 5000 "$work/slide.png" >"$work/cut.png"
expect_app 2 "cut.png: not a PNG image that can be read: the file ends too early" nbia --input "$work/cut.png"
printf 'not an image at all\n' >"$work/text"
expect_app 2 "$work/text: n" nbia --input "$work/text"
expect_app 2 "not ascending divisors" nbia --resolutions 32,100
expect_app 2 "not ascending divisors" nbia --resolutions 128,32
expect_app 2 "is not a whole number from" nbia --resolutions 32,x
expect_app 2 "is not a whole number from" nbia --resolutions 1,2
expect_app 2 "not a number from 0 to 100" nbia --recalc 101
expect_app 2 "tiles of these sizes need" nbia --memory 1K
expect_app 2 "not a whole number" nbia --size -1
expect_app 2 "No such file" nbia --size 100 --output "$work/no/such/folder"
# What cannot be written is no success, wherever it should go.
for full in --json=/dev/full --output=/dev/full --save-input=/dev/full; do
	expect_app 2 "No space left" nbia --size 100 --resolutions 16,64 --reps 1 $full
done
"$app" --size 100 --resolutions 16,64 --reps 1 >/dev/full 2>"$work/out"
[ $? = 2 ] && grep -q "No space left" "$work/out" || fail "a full standard output"
# The smallest slides there are. Where there is nothing to classify, nothing is learned first.
HEDDLE_VERBOSE=2 expect_app 0 "learning the tissues" nbia --size 1 --resolutions 16,64 --reps 1
HEDDLE_VERBOSE=2 expect_app 0 "0 x 0 tiles" nbia --size 0 --reps 1 --verify
grep "learning the tissues" "$work/out" && fail "nbia --size 0 learns"
expect_app 0 " no tasks" nbia --size 1 --resolutions 16,64 --reps 1 --recalc 0 --verify --save-input "$work/pixel.png"
expect_app 0 "1 x 1 tiles" nbia --input "$work/pixel.png" --resolutions 4 --reps 1 --verify
expect_app 0 "1 x 10 tiles" nbia --size 1 --height 1200 --resolutions 16,128 --reps 1 --verify --recalc 50
expect_app 2 "not a whole number" nbia --size 16777217
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
expect_app 0 "tiles" nbia --input "$work/full.tiff" --resolutions 128 --reps 1 --output "$work/tiff.png"
cmp "$work/made.png" "$work/tiff.png" || fail "TIFF: other labels"
expect_app 0 "verified" nbia --input "$work/full.tiff" --resolutions 16,64,128 --memory 300000 --readers 2 \
	--reps 1 --recalc 50 --verify
for slide in pixel slide; do
	vips tiffsave "$work/$slide.png" "$work/$slide.tiff" --tile --pyramid --tile-width 256 \
		--tile-height 256 --compression jpeg || fail "vips"
	expect_app 0 "verified" nbia --input "$work/$slide.tiff" --resolutions 16,64,128 --reps 1 --verify
done
size=$(wc -c <"$work/full.tiff")
head -c $((size / 2)) "$work/full.tiff" >"$work/cut.tiff"
expect_app 2 "cut.tiff" nbia --input "$work/cut.tiff" --resolutions 16,64,128
# Its directory is whole and its pixels are not.
{
	head -c 100000 "$work/full.tiff"
	head -c 200000 /dev/urandom
	tail -c +300001 "$work/full.tiff"
} >"$work/broken.tiff"
for memory in 300000 2G; do
	expect_app 2 "broken.tiff" nbia --input "$work/broken.tiff" --resolutions 16,64,128 --recalc 100 \
		--memory $memory
done
[ "$failures" = 0 ] && exit "${left_out:-0}"
exit 1
