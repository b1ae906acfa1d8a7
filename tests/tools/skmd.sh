#!/bin/sh
# The ten kernels of SKMD on a model of its machine: within 3 % of the best split, none worse
# than the best device, and the linear split's slow-downs on memory-bound kernels. The figures.
. "$top_srcdir/tests/tools/common.sh"
heddle=$top_builddir/bin/heddle

# Columns: 2 single; with SKMD's transfers 3 linear, 4 published, 5 heddle, 6 optimum; with Heddle's
# 7 paper, 8 optimum, 9 heddle; gains: 10 linear, 11 published, 12 heddle; groups.
for scale in 1 10; do
	"$heddle" plan skmd --scale $scale >"$work/table" || fail "scale $scale"
	cat "$work/table"
	awk '$1 ~ /^[A-Z]/ && NF == 18 {
			kernels++
			if (!($2 > 0 && $3 > 0)) { print $1 ": no times"; bad = 1 }
			if ($5 > 1.03 * $6 || $5 > $2) { print $1 ": worse than it has to be"; bad = 1 }
			if ($9 > 1.03 * $8 || $9 > $5 + 1) { print $1 ": worse with windows"; bad = 1 }
			if ($4 > $2 || $4 < $6 - 1 && $4 < 0.99 * $6) { print $1 ": Algorithm 1"; bad = 1 }
			if ($1 ~ /^(Histogram|MatrixTranspose|Reduction|VectorAdd)$/ && $3 < 1.5 * $2) {
				print $1 ": the linear split is no slow-down"
				bad = 1
			}
			if ($13 + $14 + $15 != $16 + $17 + $18) { print $1 ": groups"; bad = 1 }
			product += log($12)
		}
		END {
			gain = exp(product / kernels)
			printf "%d kernels, mean gain %.3f\n", kernels, gain
			exit bad || kernels != 11 || !(gain > 1.4 && gain < 1.6)
		}' "$work/table" || fail "scale $scale"
done

# Figure 7: more groups never take less time, all of 32768 are 1; few of a GPU take as long as more.
"$heddle" plan skmd --figure 7 >"$work/7" || fail "figure 7"
awk -F, 'NR == 1 { next }
	{ lines++; if ($2 == last && $4 < us) bad = 1; last = $2; us = $4 }
	$3 == 32768 { all += $5 == 1 }
	$3 == 2048 { few[$2] = $4 }
	$3 == 4096 { if ($2 == "cpu" ? $4 < 1.9 * few[$2] : $4 != few[$2]) bad = 1 }
	END { exit bad || lines != 48 || all != 3 }' "$work/7" || fail "figure 7: $(cat "$work/7")"

# Figure 8: the linear split is slower than GPU 0 alone, the others are faster; no GPU 2 in these.
"$heddle" plan skmd --figure 8 >"$work/8" || fail "figure 8"
awk -F, '{ us[$2] = $4; if ($6 == "GPU 2" && $2 != "linear") bad = 1; if (NR > 1) groups[$2] += $7 }
	END { for (c in groups) if (groups[c] != 4096) bad = 1
		exit bad || !(us["linear"] > 8000 && us["optimum"] < 6000 && us["published"] < 6000) }' \
	"$work/8" || fail "figure 8: $(cat "$work/8")"

# Figures 9 and 10: the merging ends last, and only what SKMD calls not contiguous is merged.
"$heddle" plan skmd --figure 9 >"$work/9" || fail "figure 9"
"$heddle" plan skmd --figure 10 >"$work/10" || fail "figure 10"
[ "$(cut -d, -f1 "$work/9" | sort -u | wc -l)" = 12 ] || fail "kernels of figure 9"
[ "$(cut -d, -f1 "$work/10" | sort -u | tr '\n' ' ')" = "Histogram MatrixMultiplication VectorAdd kernel " ] ||
	fail "kernels of figure 10"
awk -F, '$6 == "merging" { merged[$2 " " $1]; if ($8 + $10 < $4 - 0.01) exit 1 }
	END { exit !("published AESEncrypt" in merged) || ("heddle AESEncrypt" in merged) ||
		("published VectorAdd" in merged) || !("heddle MatrixTranspose" in merged) }' "$work/9" ||
	fail "merging: $(grep merging "$work/9")"

expect 2 'not a whole number from 7 to 10' "$heddle" plan skmd --figure 6
expect 2 'not a whole number from 1' "$heddle" plan skmd --scale 0
expect 2 'takes no arguments' "$heddle" plan skmd VectorAdd
[ "$failures" = 0 ]
