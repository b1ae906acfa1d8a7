/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * CPU kernels for several instruction sets, chosen at run time. A kernel is an inline function
 * that the compiler can vectorise; ISA_VARIANTS() makes a version of it for each set. The linker's
 * mechanism (ifunc) is not used, so that a test can run each version and sanitizers work: the
 * functions NAME_cpu() take the set, which must be supported.
 */
#ifndef CODELETS_ISA_H
#define CODELETS_ISA_H

#include <stdbool.h>

enum codelet_isa {
	CODELET_ISA_BASE, /**< what every processor of the architecture has (x86-64: SSE2) */
	CODELET_ISA_AVX2,
	CODELET_ISA_AVX512,
	CODELET_NISAS
};

/** "base", "avx2", "avx512". */
const char *codelet_isa_name(enum codelet_isa isa);
/** Whether this processor and its operating system support the set. */
bool codelet_isa_supported(enum codelet_isa isa);
/** The widest supported set. */
enum codelet_isa codelet_isa_best(void);

#if defined(__x86_64__)
#define ISA_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define ISA_TARGET_AVX512                                                                          \
	__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,"                       \
	                      "prefer-vector-width=512")))
#else
#define ISA_TARGET_AVX2
#define ISA_TARGET_AVX512
#endif

/** The body of a kernel: it must end up inside each version. */
#define ISA_BODY static inline __attribute__((always_inline))

/** Versions of `name`_body for each instruction set, in the table `name`_variants
 * indexed by enum codelet_isa. The parameter list and the arguments are given in
 * parentheses. */
#define ISA_VARIANTS(name, parameters, arguments) ISA_VARIANTS_OF(name, parameters, arguments)
/* The name may be a macro: this second macro gets its expansion. */
#define ISA_VARIANTS_OF(name, parameters, arguments)                                               \
	static void name##_base parameters                                                         \
	{                                                                                          \
		name##_body arguments;                                                             \
	}                                                                                          \
	ISA_TARGET_AVX2 static void name##_avx2 parameters                                         \
	{                                                                                          \
		name##_body arguments;                                                             \
	}                                                                                          \
	ISA_TARGET_AVX512 static void name##_avx512 parameters                                     \
	{                                                                                          \
		name##_body arguments;                                                             \
	}                                                                                          \
	static void(*const name##_variants[CODELET_NISAS]) parameters = {                          \
	    [CODELET_ISA_BASE] = name##_base,                                                      \
	    [CODELET_ISA_AVX2] = name##_avx2,                                                      \
	    [CODELET_ISA_AVX512] = name##_avx512,                                                  \
	}

#endif
