#!/bin/sh
# The kernels' app on two OpenCL devices, which PoCL makes of the cores: right results under
# several policies, what is found out about the buffers, own kernels, and bad input.
# Time limit: 900 s
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$top_srcdir/tests/tools/common.sh"
HEDDLE_PROFILE_DIR=$work/profiles HEDDLE_ANALYSE=$top_builddir/bin/heddle-analyse
STARPU_NCPU=1 STARPU_NOPENCL=2 POCL_DEVICES='pthread basic' POCL_MAX_PTHREAD_COUNT=2
export HEDDLE_PROFILE_DIR HEDDLE_ANALYSE STARPU_NCPU STARPU_NOPENCL POCL_DEVICES
export POCL_MAX_PTHREAD_COUNT

# expect STATUS TEXT ARGUMENT...: of the app.
expect() {
	status=$1 text=$2
	shift 2
	expect_app "$status" "$text" kernels "$@"
	[ "$got" = 77 ] && [ "$status" != 77 ] && exit 77
}

# classes TEXT...: the lines about buffers, "NAME READ WRITTEN".
classes() {
	[ -x "$HEDDLE_ANALYSE" ] || return
	sed -n 's/^  \([a-z]*\) .* bytes  read \([A-Z]*\) *written \([A-Z]*\)$/\1 \2 \3/p' \
		"$work/out" >"$work/found"
	printf '%s\n' "$@" >"$work/wanted"
	diff "$work/wanted" "$work/found" || fail "classes"
}

# The groups are Table II's where the sizes are.
expect 0 "AESEncrypt            byte a side           2048          256     32768    4096" --list
expect 0 verified AESEncrypt --size 512 --verify --classes
classes 'in SLAB UNUSED' 'out UNUSED SLAB' 'keys BROADCAST UNUSED' 'substitutes BROADCAST UNUSED'
expect 0 verified aesdecrypt --size 512 --verify --classes
classes 'in SLAB UNUSED' 'out UNUSED SLAB' 'keys BROADCAST UNUSED' 'substitutes BROADCAST UNUSED'
expect 0 verified BinomialOption --size 64 --verify --classes
classes 'random CONTIGUOUS UNUSED' 'value UNUSED CONTIGUOUS'
expect 0 verified BlackScholes --size 64K --verify --classes
classes 'random CONTIGUOUS UNUSED' 'call UNUSED CONTIGUOUS' 'put UNUSED CONTIGUOUS'
expect 0 verified Histogram --size 1M --verify --classes
classes 'in CONTIGUOUS UNUSED' 'partial UNUSED CONTIGUOUS'
expect 0 verified MatrixMultiplication --size 192 --verify --classes
classes 'a SLAB UNUSED' 'b RECT UNUSED' 'c UNUSED SLAB'
expect 0 verified MatrixTranspose --size 256 --verify --classes
classes 'in SLAB UNUSED' 'out UNUSED RECT'
expect 0 verified QuasiRandomSequence --size 1K --verify --classes
classes 'out UNUSED CONTIGUOUS' 'directions CONTIGUOUS UNUSED'
expect 0 verified QuasiRandomSequence --size 1000 --verify
expect 0 verified Reduction --size 256K --verify --classes
classes 'in CONTIGUOUS UNUSED' 'out UNUSED CONTIGUOUS'
expect 0 verified ScanLargeArrays --size 64K --verify --classes
classes 'in CONTIGUOUS UNUSED' 'out UNUSED CONTIGUOUS' 'totals UNUSED CONTIGUOUS'
expect 0 verified VectorAdd --size 100001 --verify --classes
classes 'a CONTIGUOUS UNUSED' 'b CONTIGUOUS UNUSED' 'c UNUSED CONTIGUOUS'
for sched in hdss eager ddfcfs odds; do
	expect 0 "policy $sched" VectorAdd --size 100001 --verify --sched $sched --seed 5
	expect 0 verified MatrixTranspose --size 256 --verify --sched $sched --reps 1
done

# A program in a build tree finds the tree's own heddle-analyse.
if [ -x "$HEDDLE_ANALYSE" ]; then
	analyse=$HEDDLE_ANALYSE kept=$HEDDLE_PROFILE_DIR
	unset HEDDLE_ANALYSE
	HEDDLE_PROFILE_DIR=$work/beside
	expect 0 'read CONTIGUOUS' VectorAdd --size 4K --classes
	HEDDLE_ANALYSE=$analyse HEDDLE_PROFILE_DIR=$kept
	export HEDDLE_ANALYSE
fi

# Of what is only written nothing is sent, though the analysis cannot say that all of it is.
if [ -x "$HEDDLE_ANALYSE" ]; then
	HEDDLE_KERNEL_IN_PLACE=0
	export HEDDLE_KERNEL_IN_PLACE
	expect 0 verified QuasiRandomSequence --size 1K --verify
	[ "$(awk '/^  [0-9]+ / { bytes += $7 } END { print bytes }' "$work/out")" = 8192 ] ||
		fail "bytes in: $(cat "$work/out")"
	expect 0 verified MatrixMultiplication --size 512 --verify
	awk '/^  [0-9]+ / { bytes += $7 } END { exit bytes > 3 * 1048576 }' "$work/out" ||
		fail "bytes in: $(cat "$work/out")"
	unset HEDDLE_KERNEL_IN_PLACE
fi

# Everybody in turn, as a table, as JSON and as CSV.
expect 0 'mean gain over the best device' Reduction --size 256K --verify --compare --reps 3 \
	--json "$work/json" --csv "$work/csv"
grep -q '  verified$' "$work/out" || fail "comparison is not verified"
for name in skmd published paper linear 'alone OpenCL 0' 'plain OpenCL 1'; do
	grep -q "\"name\": \"$name" "$work/json" || fail "JSON has no $name"
	grep -q "^Reduction,$name" "$work/csv" || fail "CSV has no $name"
done
[ "$(grep -c '"verified": true' "$work/json")" = 1 ] || fail "JSON is not verified"
expect 0 '"app": "kernels"' VectorAdd --size 1000 --json -
grep -q 'repetition' "$work/out" && fail "a table beside the JSON report"

# Own kernels.
cat >"$work/own.cl" <<'END'
__kernel void scale(__global const float *x, __global float *y, float a, int n,
		    __local float *kept)
{
	int l = get_local_id(0), i = get_global_id(0);

	kept[l] = FACTOR * x[i];
	barrier(CLK_LOCAL_MEM_FENCE);
	if (i < n)
		y[i] += a * kept[l];
}
END

# run CODE TEXT ARGUMENT...: the kernel with these arguments.
run() {
	code=$1 text=$2
	shift 2
	expect "$code" "$text" scale --file "$work/own.cl" --build -DFACTOR=2 --global 4096 \
		--local 64 "$@"
}
# 4096 times 1.5, and 4096 times 1 (little-endian).
i=0
while [ $i -lt 64 ]; do
	printf '\000\000\300\077' >>"$work/x"
	printf '\000\000\200\077' >>"$work/y"
	i=$((i + 1))
done
for _ in 1 2 3 4 5 6; do
	cat "$work/x" "$work/x" >"$work/twice" && mv "$work/twice" "$work/x"
	cat "$work/y" "$work/y" >"$work/twice" && mv "$work/twice" "$work/y"
done
run 0 'verified: largest error 0' --arg "in:float=$work/x" --arg "inout:float:4096=$work/y" \
	--arg float=3 --arg int=4000 --arg local:256 --verify --out "$work/result"
grep -q 'from 1 to 10, first 10 10 10 10' "$work/out" || fail "results: $(cat "$work/out")"
[ "$(wc -c <"$work/result")" = 16384 ] || fail "--out"
[ "$(od -An -tf4 -j 15996 -N 8 "$work/result" | tr -s ' ')" = ' 10 1' ] || fail "--out's contents"
run 0 'verified' --args in:float:4K --args inout:float:4K --args float=-1e3 --args int=4K \
	--args local:256 --verify --sched hdss

# What is no number is right where none is expected.
tr '\300\077' '\377\177' <"$work/x" >"$work/nan"
run 0 'verified: largest error 0' --arg "in:float=$work/nan" --arg "inout:float=$work/y" --arg float=3 \
	--arg int=4096 --arg local:256 --verify

# The first 96 elements stay as they are.
expect 0 'from 1 to 10, first 1 1 1 1' scale --file "$work/own.cl" --build -DFACTOR=2 \
	--global 4000 --offset 96 --local 50 --arg "in:float=$work/x" \
	--arg "inout:float:4096=$work/y" --arg float=3 --arg int=4096 --arg local:200 --verify \
	--keep --reps 4 --json "$work/kept.json" --out "$work/result"
grep -q '"kept_bytes"' "$work/kept.json" || fail "--keep: $(cat "$work/kept.json")"
[ "$(od -An -tf4 -j 380 -N 8 "$work/result" | tr -s ' ')" = ' 1 10' ] || fail "--offset"

# Code that devices may compile differently: their own compilers are asked.
cat >"$work/vendor.cl" <<'END'
__kernel void flags(__global uint *y)
{
#ifdef __NV_CL_C_VERSION
	y[get_global_id(0) * 0] = 1;
#else
	y[get_global_id(0)] = 2;
#endif
}
END
expect 0 verified flags --file "$work/vendor.cl" --global 4096 --local 64 --arg out:uint:4096 \
	--verify --classes
grep -q 'read UNUSED *written CONTIGUOUS' "$work/out" || fail "vendor's names: $(cat "$work/out")"

# Buffers that are too small: said before anything is launched.
cat >"$work/next.cl" <<'END'
__kernel void next(__global const int *x, __global int *y)
{
	int i = get_global_id(0);

	y[i] = x[i + 1];
}
END
# next STATUS TEXT GROUPS: of 65 work-items, which read 4095 integers of a page.
next() {
	expect "$1" "$2" next --file "$work/next.cl" --global $(($3 * 65)) --local 65 \
		--arg in:int:4095 --arg out:int:4095 --verify
}
next 0 verified 62
grep 'argument 1' "$work/out" && fail "it is large enough"
leaves='kernel next: argument 1 has 16380 bytes, and the kernel reads 4 bytes at byte 16380 of it'
for sched in skmd hdss lws; do
	[ -x "$HEDDLE_ANALYSE" ] || break
	STARPU_SCHED=$sched next 2 "$leaves" 63
	[ "$(grep -c "$leaves" "$work/out")" = 1 ] || fail "outside: $(cat "$work/out")"
done

# Bad input names what is wrong with it.
run 2 'takes 5 arguments, not 1' --arg in:float:4K
run 2 '--arg int=3: argument 3 (a) of kernel scale is float' --arg in:float:4K \
	--arg inout:float:4K --arg int=3 --arg int=4096 --arg local:256
run 2 '--arg in:int:4K: argument 1 (x) of kernel scale is a buffer of float' --arg in:int:4K \
	--arg inout:float:4K --arg float=3 --arg int=4096 --arg local:256
run 2 'argument 5 (kept) of kernel scale is local' --arg in:float:4K --arg inout:float:4K \
	--arg float=3 --arg int=4096 --arg in:float:256
run 2 'COUNT is missing' --arg in:float
run 2 'COUNT is no whole number' --arg in:float:x
run 2 'is in:, inout: or out:' --arg in:real:10
run 2 'begins with no type' --arg number=3
for value in uchar=256 uchar=1K int=2G int=-1K int=K; do
	run 2 'not a whole number of that type' --arg "$value"
done
run 2 'not a number' --arg float=x
run 2 'BYTES is no whole number' --arg local:0
run 2 'No such file' --arg "in:float:4=$work/missing"
run 2 'x has 16384 bytes, not 12 of them' --arg "in:float:3=$work/x"
run 2 'what is only written has no file' --arg "out:float:3=$work/x"
expect 2 'No such file' scale --file "$work/missing.cl" --global 64 --local 64
expect 2 "has no kernel other" other --file "$work/own.cl" --build -DFACTOR=2 --global 64 --local 64
expect 2 "does not compile" scale --file "$work/own.cl" --global 64 --local 64
expect 2 'not a multiple of --local' scale --file "$work/own.cl" --global 65 --local 64
expect 2 '--global is missing' scale --file "$work/own.cl" --local 64
expect 2 'as many numbers as --global' scale --file "$work/own.cl" --global 64,64 --local 64
expect 2 '--offset: give as many' scale --file "$work/own.cl" --global 64 --local 64 --offset 1,2
expect 2 'more than three numbers' scale --file "$work/own.cl" --global 1,1,1,1 --local 64
expect 2 'want --file' VectorAdd --arg int=3
expect 2 'there is no kernel nonsense' nonsense
expect 2 'own.cl; --list has their names. One of your own: NAME --file K.cl' own.cl
expect 2 'which kernel?'
expect 2 'takes multiples of 256' AESEncrypt --size 100
expect 2 'not a whole number' VectorAdd --size many
expect 2 'exclude each other' VectorAdd --size 100 --scale 2
expect 2 'for one kernel' all --size 100
expect 2 'is not a policy of Heddle or StarPU' VectorAdd --sched nonsense

[ "$failures" = 0 ]
