/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "codelets/isa.h"

const char *codelet_isa_name(enum codelet_isa isa)
{
	static const char *const names[CODELET_NISAS] = {"base", "avx2", "avx512"};

	return names[isa];
}

bool codelet_isa_supported(enum codelet_isa isa)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	switch (isa) {
	case CODELET_ISA_AVX512:
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
		       __builtin_cpu_supports("fma");
	case CODELET_ISA_AVX2:
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	default:
		break;
	}
#endif
	return isa == CODELET_ISA_BASE;
}

enum codelet_isa codelet_isa_best(void)
{
	static int best = -1; /* concurrent threads store the same value */

	if (__atomic_load_n(&best, __ATOMIC_RELAXED) < 0) {
		int isa = CODELET_NISAS - 1;

		while (!codelet_isa_supported(isa))
			isa--;
		__atomic_store_n(&best, isa, __ATOMIC_RELAXED);
	}
	return best;
}
