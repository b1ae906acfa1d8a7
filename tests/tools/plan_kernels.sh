#!/bin/sh
# heddle plan kernels: what it says of kernels, and to bad input.
. "$top_srcdir/tests/tools/common.sh"
heddle=$top_builddir/bin/heddle
[ -x "$top_builddir/bin/heddle-analyse" ] || exit 77
HEDDLE_PROFILE_DIR=$work
export HEDDLE_PROFILE_DIR

# expect_kernels STATUS PATTERN ARGUMENT...: of `heddle plan kernels`.
expect_kernels() {
	status=$1 pattern=$2
	shift 2
	expect "$status" "$pattern" "$heddle" plan kernels "$@"
}

for help in -h --help; do
	expect 0 '^Usage: heddle-analyse' "$heddle" analyse $help
done
cat >"$work/a.cl" <<'EOF'
#include "real.h"
#if __OPENCL_VERSION__ >= 110 && defined(cl_khr_fp64) && !defined(cl_nv_compiler_options)
kernel void all(global real *x) { x[get_global_id(0)] = 1; }
#endif
kernel void some(global real *x) { if (x[get_global_id(0)] > 0) x[get_global_id(0)] = 1; }
kernel void marked(global real *x, global const int *marks, int n)
{
	if (get_global_id(0) < n && marks[get_global_id(0)])
		x[get_global_id(0)] = 1;
}
kernel void gaps(global real *x) { x[get_global_id(0) % 100 * 3] = 1; }
kernel void anywhere(global real *x, global int *y) { x[y[get_global_id(0)]] = 1; }
kernel void counts(global int *x) { atomic_inc(x); }
kernel void tile(global real *x, int n)
{
	for (int i = 0; i < 4; i++)
		x[(get_global_id(1) * 4 + i) * n + get_global_id(0)] = SIZE;
}
EOF
mkdir "$work/headers"
echo 'typedef float real;' >"$work/headers/real.h"
set -- -I "$work/headers" -D SIZE=4 "$work/a.cl"
expect_kernels 0 'a.cl: all: complete$' "$@"
expect_kernels 0 'a.cl: some: known: a condition that a launch does not tell' "$@"
expect_kernels 0 'a.cl: marked: known: a condition that a launch does not tell' "$@"
expect_kernels 0 'a.cl: gaps: known: .* gaps' "$@"
expect_kernels 0 'a.cl: anywhere: unknown: where it writes is not known' "$@"
expect_kernels 0 'a.cl: tile: unknown: with this size and these integers' -i 2000000000 "$@"
expect_kernels 0 'a.cl: counts: one device: it has atomic' "$@"
expect_kernels 0 'a.cl: tile: complete$' "$@"
expect_kernels 0 '^7 kernels: 6 can be split; writes known of 5, complete of 2$' "$@"
expect_kernels 0 '^ *1  it has atomic' "$@"
expect_kernels 0 'a.cl: tile: complete' -g 512,64 -l 64 -i 512 -o '-cl-mad-enable' "$@"

# Files that count once, constants of the language, and images.
cat >"$work/headers/once.h" <<'EOF'
#pragma once
constant sampler_t near = CLK_FILTER_NEAREST, between = CLK_FILTER_LINEAR;
#ifndef M_PI_F
#define M_PI_F 3.1415
#endif
EOF
# Files that include each other are read where a guard of either kind ends that.
cat >"$work/headers/other.h" <<'EOF'
#pragma once
#include "once.h"
#include "guarded.h"
#define TWO_PI (M_PI_F * 2.0f)
EOF
cat >"$work/headers/guarded.h" <<'EOF'
#ifndef GUARDED_H
#define GUARDED_H
#include "guarded.h"
#include "other.h"
#endif
EOF
echo '#include "other.h"' >>"$work/headers/once.h"
echo '#include "endless.h"' | tee "$work/headers/endless.h" >"$work/c.cl"
cat >"$work/b.cl" <<'EOF'
#include "once.h"
#include "once.h"
#include "guarded.h"
#define PLACE (int2)(get_global_id(0), get_global_id(1))
kernel void turn(read_only image2d_t from, write_only image2d_t to)
{
	write_imagef(to, PLACE, fmod(read_imagef(from, near, PLACE.yx), TWO_PI));
}
kernel void blend(read_only image2d_t from, write_only image2d_t to)
{
	write_imagef(to, PLACE, read_imagef(from, between, (float2)(get_global_id(0), 1.5f)));
}
EOF
expect_kernels 0 'b.cl: turn: complete$' -I "$work/headers" "$work/b.cl"
expect_kernels 0 'b.cl: blend: one device: it interpolates' -I "$work/headers" "$work/b.cl"

# Bits of numbers that are known at a launch are known: n - 1 - t is n + ~t for compilers, and
# unsigned products are cut to 32 bits by masks.
cat >"$work/e.cl" <<'EOF'
kernel void rest(global float *x, int n, int t)
{
	if ((int)get_global_id(0) < n - 1 - t)
		x[get_global_id(0) + t + 1] = 1;
}
kernel void pairs(global float *x, uint n)
{
	uint size = get_local_size(0), i = get_group_id(0) * 2 * size + get_local_id(0);
	if (i < n)
		x[i] = 1;
	if (i + size < n)
		x[i + size] = 2;
}
EOF
expect_kernels 0 '^2 kernels: 2 can be split; writes known of 2, complete of 2$' "$work/e.cl"

# An option may define a name that compilers do, too.
cat >"$work/d.cl" <<'EOF'
#ifdef CL_DEVICE_TYPE_GPU
kernel void fill(global CL_REAL *x) { x[get_global_id(0)] = 1; }
#endif
EOF
expect_kernels 0 'd.cl: fill: complete$' -D CL_DEVICE_TYPE_GPU -D CL_REAL=float "$work/d.cl"
expect_kernels 2 'd.cl: there is no kernel in it$' -D CL_DEVICE_TYPE_GPUS "$work/d.cl"

expect_kernels 2 'not analysed: it does not compile' -I "$work/headers" "$work/c.cl"
grep -q 'error: endless.h includes itself without an end' "$work/out" || fail "$(cat "$work/out")"

expect_kernels 2 'which sources' -D SIZE=4
HEDDLE_ANALYSE_LIMIT=300 expect_kernels 2 'HEDDLE_ANALYSE_LIMIT.*300' "$@"
expect_kernels 2 'no size' --global 0 "$@"
expect_kernels 2 'no size' --local 1,2,3,4 "$@"
expect_kernels 2 'no number' --integer x "$@"
expect_kernels 2 'No such file' "$work/none.cl"
expect_kernels 2 'not analysed: it does not compile' -I "$work/headers" "$work/a.cl"
grep -q "^$work/a.cl:[0-9]*:[0-9]*: error: " "$work/out" || fail "what does not compile is not said, or not where: $(cat "$work/out")"
expect_kernels 2 'not analysed: it includes a file' "$work/a.cl"
# Nothing to tell of.
: >"$work/empty.cl"
expect_kernels 2 'empty.cl: there is no kernel in it$' "$work/empty.cl"
grep -q '^0 kernels' "$work/out" && fail "none are counted"
expect_kernels 2 '^heddle plan kernels: .*: Is a directory$' "$work"
expect_kernels 0 'empty.cl: there is no kernel' "$@" "$work/empty.cl"
expect_kernels 2 'NDRange: 100 work-items in dimension 0 are no multiple of the 64 of a group' -g 100 "$@"
[ "$failures" = 0 ]
