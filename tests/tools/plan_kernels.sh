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
kernel void batch(global real *x, global const ulong *first, global const uint *width)
{
	if (get_global_id(0) < width[get_global_id(1)])
		x[first[get_global_id(1)] + get_global_id(0)] = 1;
}
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
expect_kernels 0 'a.cl: batch: known: its writes leave gaps' "$@"
expect_kernels 0 'a.cl: batch: complete$' -g 64,2 -l 64,1 "$@"
expect_kernels 0 'a.cl: batch: complete$' -g 64,4 -l 64,1 -c 64 "$@"
expect_kernels 2 'contents: "x" is no number' -c x "$@"
expect_kernels 0 '^8 kernels: 7 can be split; writes known of 6, complete of 2$' "$@"
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

# Loops that one of several tests ends: that of the counter says how far they get.
cat >"$work/g.cl" <<'EOF'
kernel void adds(global uint *x, global const uint *y, int n)
{
	uint at = get_local_id(0) + get_group_id(0) * get_local_size(0) * 4;
	for (int i = 0; i < 4 && at < n; i++) {
		x[at] += y[get_group_id(0)];
		at += get_local_size(0);
	}
}
kernel void leaves(global int *x, global const int *y)
{
	for (int i = 0; i < 4; i++) {
		if (y[get_global_id(0) + i])
			return;
		x[get_global_id(0) * 4 + i] = 1;
	}
}
kernel void searches(global int *x, global const int *y)
{
	for (int i = 0; y[i] != 7 && i < 4; i++)
		x[get_global_id(0) * 4 + i] = 1;
}
EOF
expect_kernels 0 '^3 kernels: 3 can be split; writes known of 3, complete of 0$' -i 100000000 "$work/g.cl"

# As many arguments as a launch takes, and one more.
arguments() {
	seq "$2" | sed 's/.*/global int *x&/' | paste -sd, |
		sed "s/.*/kernel void $1(&) { x1[get_global_id(0)] = 1; }/"
}
{ arguments most 40 && arguments beyond 41; } >"$work/h.cl"
expect_kernels 0 'h.cl: most: complete$' "$work/h.cl"
expect_kernels 0 'h.cl: beyond: one device: it has more than 40 arguments$' "$work/h.cl"
expect_kernels 0 '^2 kernels: 1 can be split; ' "$work/h.cl"

# An option may define a name that compilers do, too.
cat >"$work/d.cl" <<'EOF'
#ifdef CL_DEVICE_TYPE_GPU
kernel void fill(global CL_REAL *x) { x[get_global_id(0)] = 1; }
#endif
EOF
expect_kernels 0 'd.cl: fill: complete$' -D CL_DEVICE_TYPE_GPU -D CL_REAL=float "$work/d.cl"
expect_kernels 2 'd.cl: there is no kernel in it$' -D CL_DEVICE_TYPE_GPUS "$work/d.cl"

# Names made of parts, however many: none may be one that compilers define.
made=0
expect_made() {
	made=$((made + 1))
	printf '#define CAT(a, b) a##b\n#define THREE(a, b, c) a##b##c\n%b\n%s\n' "$2" \
		'kernel void f(global int *x) { x[get_global_id(0)] = 1; }' >"$work/made$made.cl"
	case $1 in
	'') expect_kernels 0 ': f: complete$' "$work/made$made.cl" ;;
	*) expect_kernels 2 'not analysed: devices may compile different code, since its source makes a name' "$work/made$made.cl"
		grep -q "it makes \(the name \)*$1\( of parts\)*$" "$work/out" || fail "$2: $(cat "$work/out")" ;;
	esac
}
expect_made '' '#define _T float\n#define __device__\n__device__ CAT(_T, ) g(THREE(fl, oa, t) x) { return x; }'
expect_made '' 'int g(int x) { return x + THREE(IN, T, _MAX); }'
expect_made '' '#define W 1\n#if CAT(W, 0) > 3 && defined(__NV_X)\nint x = CAT(c, l_);\n#endif'
expect_made '' '#define CL_T int\n#define _C(x) x\nCAT(_C, )(CAT(CL_T, )) g();'
expect_made '' '#if 0\nint w = CAT(c, l_khr_fp64);\n#endif'
# A condition around a pragma alone needs no answer.
expect_made '' '#if defined(cl_khr_fp64) || defined cl_amd_fp64\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#endif'
expect_made __OPENCL_VERSION__ 'enum { W = CAT(__OPENCL, _VERSION__) };'
expect_made __OPENCL_VERSION__ '#if THREE(__OPENCL, _VER, SION__) > 100\n#endif'
expect_made __OPENCL_VERSION__ '#if W\n#elif CAT(__OPENCL, _VERSION__) > 100\n#endif'
expect_made __OPENCL_VERSION__ '#define W CAT(__OPENCL, _VERSION__)\n#if W > 100\n#endif'
expect_made cl_khr_fp64 '#define I(x) CAT(x, _khr_fp64)\nenum { W = I(CAT(c, l)) };'
expect_made cl_khr_fp64 '#define P(a) c##a##_khr_fp64\nenum { W = P(l) };'
expect_made CL_VERSION_2_0 '#define CL_V\nenum { W = CAT(CL_V, ERSION_2_0) };'
expect_made FP_FAST_FMA 'enum { W = CAT(FP_, FAST_FMA) };'
expect_made linux 'enum { W = THREE(li, nu, x) };'
expect_made i386 'enum { W = CAT(i, 386) };'
expect_made cl_khr_fp64 '#define P(a) c##a##_khr_fp64\n#define W P(l)\n#if W\n#endif\n#line 1'
expect_made _LP64 '#define E\n#define M(a) N(a)\n#define N(a) a##_##LP64\nenum { W = M(E) };'
expect_made __LINE__ '#define L CAT(__LI, NE__)\nenum { W = L };'
expect_made _Pragma 'CAT(_Pr, agma)("push_macro(\\"f\\")")'
expect_made __LINE__ '#define V(t, n) t#\\\n#n\nenum { W = V(__LI, NE__) };'
# Where names are made of parts the preprocessor also tells whether a text is made of code.
expect_made '' '#define ST(x) #x\n#define U(x) ST(x) x\n#if 0\nU(sin)\n#endif\nenum { CAT(a, b) };'
expect_made 'a text of code (#)' '#define ST(x) #x\nenum { W = sizeof(CAT(S, T)(sin)) };'
expect_made 'a text of code (#)' '#define S(x) a## # x\n#define T(x) S(x)\nenum { W = sizeof(T(sin)) };'
expect_made 'a text of code (#)' '#define S(x) #x\n#define T(x) S(x)\n#define C(a, b) CAT(a, b)\nenum { W = sizeof(C(L, T(sin))) };'
# What a macro makes beside a text counts, though another one drops the text.
expect_made __LINE__ '#define S(x) #x, x\n#define L(a, ...) __VA_ARGS__\n#define M(...) L(__VA_ARGS__)\nenum { W = M(S(CAT(__LI, NE__))) };'
expect_made 'a text of code (#)' '#define S(x, ...) #__VA_ARGS__\n#if CAT(, S)(sin, _x)\n#endif'
printf '#define V(t, n) t%%:%%:n\nenum { W = V(_, _X) };\nkernel void f() {}' >"$work/odd.cl"
expect_kernels 2 'not analysed: it has .*%:' "$work/odd.cl"
printf '#warning a /*\n#define W __X\n// */\nkernel void f() {}' >"$work/odd.cl"
expect_kernels 2 'not analysed: it has a comment of several lines behind #error' "$work/odd.cl"
# A call that the compiler takes for rare is inlined as all others.
cat >"$work/rare.cl" <<'EOF'
int sum(const int *a)
{
	int s = 0;
	for (int i = 0; i < 9; i++)
		s += a[i] * a[8 - i] ^ (a[i] / 3 % 7) + (s >> 3) * (a[i] + 5) % 11;
	return s;
}
kernel void rare(global int *x, global const int *y)
{
	int at = get_global_id(0), a[9], s = at;
	for (int i = 0; i < 9; i++)
		a[i] = y[at + i];
	if (y[at] == 1 && y[at + 1] == 2 && y[at + 2] == 3 && y[at + 3] == 4 && y[at + 4] == 5 && y[at + 5] == 6)
		s = sum(a) - sum(a + y[8]);
	x[at] = s;
}
EOF
expect_kernels 0 'rare.cl: rare: complete$' "$work/rare.cl"

# In conditions OpenCL's own names are not the same to all.
expect_made true '#if CAT(tr, ue)\n#endif'
expect_made '' 'enum { W = CAT(tr, ue) };\n#ifndef M_PI\n#define M_PI 3\n#endif'
expect_made '' '#if !defined(M_PI) || __has_builtin(__builtin_expect)\n#define N CAT(1, 2)\n#endif'
# One that is not asked, since the one in front of it says yes, is not seen.
expect_made '' '#ifdef __OPENCL_VERSION__\n#define N CAT(1, 2)\n#elif defined(__CUDACC__)\n#endif'
expect_made __NV_X '#ifdef X\n#elif CAT(__NV, _X)\n#endif'
expect_made __NV_X '#ifdef X\n#elif 0\n#ifdef Y\n#endif\n#elif CAT(__NV, _X)\n#endif'
expect_made __NV_X '#ifdef X\n#else\n#ifndef Y\n#if CAT(__NV, _X)\n#endif\n#endif\n#endif'
# A condition is seen behind a macro that would take it, and macros in pragmas are.
expect_made __NV_X '#define F(x)\nvoid F\n#if CAT(__NV, _X)\n#endif\n(int);\n#undef F'
expect_made __NV_X '#pragma pack(CAT(__NV, _X))'
# A compiler may have a macro in place of a function: then what is made of its name is another name.
expect_made sin_x '#define sin_x 1\n#define CALL(a, b) CAT(a, b)\nenum { W = CALL(sin, _x) };'
expect_made '' '#define sin_x 1\nenum { W = CAT(sin, _x) };'
expect_made '' '#define CALL(a, b) CAT(a, b)\ntypedef float2 CALL(my_, float);\nkernel void g(global float *x) { x[0] = CALL(convert_, float)(vload2(0, x).x) + sin(x[1]); }'
# The rest is not clear, and no message speaks of files without a name.
expect_unclear() {
	printf '#define CAT(a, b) a##b\n%b\n%s\n' "$1" \
		'kernel void f(global int *x) { x[get_global_id(0)] = 1; }' >"$work/unclear.cl"
	expect_kernels 2 'since its source makes a name' "$work/unclear.cl"
	grep -q 'it is not clear what names it makes of parts$' "$work/out" || fail "$1"
	! grep '/dev/fd' "$work/out" || fail "$1"
}
expect_unclear '#define F(x)\nF(\n#if CAT(__NV, _X)\n#endif\n)'
expect_unclear '// __has_builtin\n#if CAT(__has_, builtin)(__builtin_expect)\n#endif'

# What ends the compilation is said with its place.
printf '#define A(a, b) a##b\n#if !A(B, 1)\n#error "no B"\n#endif\n' >"$work/j.cl"
expect_kernels 2 'not analysed: it does not compile' "$work/j.cl"
grep -q "^$work/j.cl:3:2: error: \"no B\"" "$work/out" || fail "$(cat "$work/out")"
expect 1 "^heddle-analyse: $work/none.cl: No such file" "$heddle" analyse f "$work/none.cl"

# Options have compilers define more names.
echo 'kernel void f(global int *x) { x[get_global_id(0)] = A(__FAST_RELAXED, _MATH__); }' |
	sed '1i #define A(a, b) a##b' >"$work/i.cl"
expect_kernels 2 'its source makes a name' "$work/i.cl"
expect_kernels 2 'its source makes a name' -o -cl-fast-relaxed-math "$work/i.cl"

# Code for other languages, and files that are not there, are left out if answers say so.
cat >"$work/f.cl" <<'EOF'
#ifdef __cplusplus
#include <vector>
int line = __LINE__;
#elif defined(__OPENCL_VERSION__)
#ifdef OTHER
#include "other_there.h"
#endif
kernel void f(global int *x) { x[get_global_id(0)] = 1; }
#else
__builtin_none
#endif
EOF
expect_kernels 0 'f.cl: f: complete$' "$work/f.cl"
expect_kernels 2 'not analysed' -D __cplusplus "$work/f.cl"
expect_kernels 2 'not analysed: it includes' -D OTHER "$work/f.cl"
# So are calls of functions that compilers have.
cat >"$work/k.cl" <<'EOF'
kernel void f(global int *x)
{
#if __has_builtin(__builtin_none)
	__builtin_none(x);
#elif defined(TAKEN)
	x[get_global_id(0)] = __builtin_popcount(3);
#else
	x[get_global_id(0)] = 1;
#endif
}
EOF
expect_kernels 0 'k.cl: f: complete$' "$work/k.cl"
expect_kernels 2 'not analysed: devices may compile different code' -D TAKEN "$work/k.cl"
grep -q 'the name __builtin_popcount ' "$work/out" || fail "which function is not clear"

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
