#!/bin/sh
# The ten kernels of SKMD on a model of its machine: within 3 % of the best split, none worse
# than the best device, and the linear split's slow-downs on memory-bound kernels.
set -u
: "${top_srcdir:?}" "${top_builddir:?}"
status=0
for scale in 1 10; do
	sh "$top_srcdir/tests/tools/skmd-table" "$top_builddir/bin/heddle" "$scale" >skmd-table.out || exit 1
	cat skmd-table.out
	awk 'NR > 1 {
			kernels++
			if ($5 > 1.03 * $6 || $5 > $2) { print $1 ": worse than it has to be"; bad = 1 }
			if ($1 ~ /^(Histogram|MatrixTranspose|Reduction|VectorAdd)$/ && $3 < 1.5 * $2) {
				print $1 ": the linear split is no slow-down"
				bad = 1
			}
			product += log($7)
		}
		END {
			printf "%d kernels, mean gain %.3f\n", kernels, exp(product / kernels)
			exit bad || kernels != 11
		}' skmd-table.out || status=1
done
rm -f skmd-table.out
exit $status
