#!/bin/sh
# The apps cholesky and lu: factors of matrices of any size, under every policy; files of the
# Matrix Market in and out; what has no factors is refused.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 300 s
. "$top_srcdir/tests/tools/common.sh"
[ -x "$top_builddir/apps/cholesky/cholesky" ] || exit 77

for app in cholesky lu; do
	for sched in eager lws prio dmda dmdas heteroprio hdss ddfcfs ddwrr odds; do
		expect_app 0 "verified" $app --size 333 --tile 50 --reps 2 --verify --sched $sched
	done
	expect_app 0 "verified" $app --size 300 --tile 100 --reps 1 --verify --double
	expect_app 0 "verified" $app --size 301 --tile 100 --reps 1 --verify --priorities none \
		--sched prio --seed 7
	for order in 0 1 2; do
		expect_app 0 "verified" $app --size $order --tile 2 --reps 1 --verify
	done
	expect_app 0 "verified" $app --size 70 --tile 700 --reps 1 --verify --workers cpu
	expect_app 0 "every operation is a task" $app --size 10 --reps 1 --strategy gss
	expect_app 0 "--priorities" $app --help
	expect_app 2 "not a whole number" $app --tile 0
	expect_app 2 "not a whole number" $app --size 1048577
	expect_app 2 "neither none nor path" $app --priorities some
	expect_app 2 "512 are possible" $app --size 1000 --tile 1
	expect_app 2 "No such file" $app --input "$work/missing"
	expect_app 2 "is a directory" $app --input "$work"
	expect_app 2 "No such file" $app --size 10 --reps 1 --output "$work/no/such/folder"
	expect_app 2 "No space left" $app --size 100 --reps 1 --output /dev/full
	expect_app 77 "no cuda worker" $app --workers cuda

	"$top_builddir/apps/$app/$app" --size 200 --tile 64 --verify --json - >"$work/report" ||
		fail "$app --json -"
	for key in app n sched strategy starpu us verified max_error workers order tile precision \
		priorities flops tasks_us tasks; do
		grep -q "\"$key\": " "$work/report" || fail "$app: no \"$key\" in the report"
	done
	grep -q '"verified": true' "$work/report" || fail "$app: the report does not say verified"

	# The same matrix from a file has the same factors, to the last digit.
	matrix=$work/$app.mtx
	expect_app 0 "" $app --size 45 --tile 16 --reps 1 --double --save-input "$matrix" \
		--output "$work/a.mtx"
	expect_app 0 "verified" $app --input "$matrix" --tile 16 --reps 2 --double --verify \
		--output "$work/b.mtx"
	cmp "$work/a.mtx" "$work/b.mtx" || fail "$app: a matrix from a file has other factors"
	[ "$(wc -l <"$work/b.mtx")" = $((2 + 45 * 45)) ] || fail "$app: not all was written"
done
# More of dominance is not needed than that there are factors.
expect_app 0 "verified" lu --input "$work/cholesky.mtx" --tile 7 --reps 1 --verify
expect_app 2 "is not symmetric: row 2, column 1" cholesky --input "$work/lu.mtx"

# factors APP LINES NUMBERS: what a matrix of a file becomes.
factors() {
	printf '%%%%MatrixMarket matrix %b' "$2" >"$work/in.mtx"
	expect_app 0 "verified" "$1" --input "$work/in.mtx" --tile 1 --reps 1 --verify --output "$work/out.mtx"
	[ "$(tail -n +3 "$work/out.mtx" | tr '\n' ' ')" = "$3 " ] || fail "$1: $(cat "$work/out.mtx")"
}
factors cholesky 'coordinate real symmetric\n2 2 3\n1 1 4\n2 1 6\n2 2 25\n' '2 3 0 4'
factors cholesky 'array integer general\n%% both halves\n2 2\n4\n6\n6\n25\n' '2 3 0 4'
factors lu 'array real general\n2 2\n4\n6\n6\n25\n' '4 1.5 6 16'
factors lu 'coordinate real symmetric\n2 2 3\n1 1 4\n2 1 6\n2 2 25\n' '4 1.5 6 16'

# bad APP LINES TEXT: a matrix that must be refused.
bad() {
	printf '%%%%MatrixMarket matrix %b' "$2" >"$work/in.mtx"
	expect_app 2 "$3" "$1" --input "$work/in.mtx" --tile 1 --reps 1
}
bad cholesky 'array real symmetric\n2 2\n1\n2\n1\n' "/in.mtx: the matrix is not positive definite: its factorisation breaks down in column 2"
bad cholesky 'array real symmetric\n1 1\n-1\n' "breaks down in column 1"
bad lu 'coordinate real general\n3 3 5\n1 1 1\n2 1 1\n1 2 1\n2 2 1\n3 3 1\n' \
	"/in.mtx: the factorisation, which does not pivot, breaks down: it finds nothing to divide by in column 2"
bad lu 'array real general\n2 3\n1\n2\n3\n4\n5\n6\n' "in.mtx: 2 rows and 3 columns"
bad lu 'array real general\n2 2\n1\n2\nx\n4\n' "in.mtx:5: 'x' is not a finite number"
bad lu 'coordinate real general\n2 2 2\n1 1 1\n1 1 1\n' "in.mtx:4: row 1, column 1 is given twice"
bad lu 'coordinate real general\n2 2 2\n1 1 1\n3 1 1\n' "in.mtx:4: row: '3' is not a whole number from 1 to 2"
bad lu 'array real general\n1 1\n1e39\n' "in.mtx:3: '1e39' is too large for single precision"
bad lu 'array complex general\n1 1\n1 0\n' "in.mtx:1: 'complex' where real or integer is wanted"
bad lu 'coordinate real general\n1048576 1048576 1\n1 1 1\n' "512 are possible"

# Where a pivot is small beside what it divides, nothing of the matrix remains.
printf '%%%%MatrixMarket matrix array real general\n2 2\n1e-9\n1\n1\n1\n' >"$work/in.mtx"
expect_app 1 "WRONG" lu --input "$work/in.mtx" --reps 1 --verify
[ "$failures" = 0 ]
