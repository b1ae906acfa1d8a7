/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Functions that are called and not defined: those of which it is known what they do.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tools/analyse/analyse.h"

/* Of OpenCL C: their results depend on their arguments and the work-group alone, and memory
 * is touched through their arguments alone. Questions about the NDRange are answered by the
 * prologue (NDRANGE_ANSWERS), but for those that stand here. */
static const char *const names[] = {
    "get_local_id", "get_local_size", "get_local_linear_id", "get_enqueued_local_size",
    /* mathematics */
    "acos", "acosh", "acospi", "asin", "asinh", "asinpi", "atan", "atan2", "atan2pi", "atanh",
    "atanpi", "cbrt", "ceil", "copysign", "cos", "cosh", "cospi", "erf", "erfc", "exp", "exp10",
    "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "fract", "frexp",
    "hypot", "ilogb", "ldexp", "lgamma", "lgamma_r", "log", "log10", "log1p", "log2", "logb", "mad",
    "maxmag", "minmag", "modf", "nan", "nextafter", "pow", "pown", "powr", "remainder", "remquo",
    "rint", "rootn", "round", "rsqrt", "sin", "sincos", "sinh", "sinpi", "sqrt", "tan", "tanh",
    "tanpi", "tgamma", "trunc",
    /* integers */
    "abs", "abs_diff", "add_sat", "clamp", "clz", "ctz", "hadd", "mad24", "mad_hi", "mad_sat",
    "max", "min", "mul24", "mul_hi", "popcount", "rhadd", "rotate", "sub_sat", "upsample",
    /* common, of geometry, of relations */
    "all", "any", "bitselect", "cross", "degrees", "distance", "dot", "fast_distance",
    "fast_length", "fast_normalize", "isequal", "isfinite", "isgreater", "isgreaterequal", "isinf",
    "isless", "islessequal", "islessgreater", "isnan", "isnormal", "isnotequal", "isordered",
    "isunordered", "length", "mix", "normalize", "radians", "select", "sign", "signbit",
    "smoothstep", "step",
    /* vectors, synchronisation of work-groups, copies */
    "async_work_group_copy", "async_work_group_strided_copy", "barrier", "mem_fence", "prefetch",
    "read_mem_fence", "shuffle", "shuffle2", "wait_group_events", "work_group_all",
    "work_group_any", "work_group_barrier", "work_group_broadcast", "write_mem_fence"};

/* Atomic operations are refused where their memory is not the work-group's own. */
static const char *const families[] = {
    "atom_",  "atomic_", "convert_",           "half_",           "native_", "vload", "vloada",
    "vstore", "vstorea", "work_group_reduce_", "work_group_scan_"};

/* Operations of LLVM's, likewise; its copies of memory are looked at elsewhere. */
static const char *const intrinsics[] = {
    "abs",       "assume", "bitreverse", "bswap",        "canonicalize", "ceil",
    "copysign",  "cos",    "ctlz",       "ctpop",        "cttz",         "dbg",
    "exp",       "exp2",   "expect",     "fabs",         "floor",        "fma",
    "fmuladd",   "fshl",   "fshr",       "ldexp",        "lifetime",     "log",
    "log10",     "log2",   "maximum",    "maxnum",       "minimum",      "minnum",
    "nearbyint", "pow",    "powi",       "rint",         "round",        "roundeven",
    "sadd",      "sin",    "smax",       "smin",         "smul",         "sqrt",
    "ssub",      "trap",   "trunc",      "uadd",         "umax",         "umin",
    "umul",      "usub",   "vector",     "stackrestore", "stacksave",    "experimental.noalias"};

/* Whether a text begins with a word that ends there, or at a dot. */
static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	return !strncmp(text, word, length) && (!text[length] || text[length] == '.');
}

static bool intrinsic_known(const char *name)
{
	for (size_t i = 0; i < sizeof(intrinsics) / sizeof(intrinsics[0]); i++)
		if (has_word(name, intrinsics[i]))
			return true;
	return false;
}

bool function_known(const char *symbol)
{
	char *name;
	size_t length;

	if (text_starts(symbol, "llvm."))
		return intrinsic_known(symbol + 5);
	if (text_starts(symbol, "heddle_"))
		return query_known(symbol);
	if (!text_starts(symbol, "_Z"))
		return false;
	length = strtoul(symbol + 2, &name, 10);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == length && !strncmp(name, names[i], length))
			return true;
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (text_starts(name, families[i]))
			return true;
	return false;
}
