/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The CPU version, and the check of its results.
 */
#include "config.h"

#include "codelets/vecinc/vecinc.h"

ISA_BODY void increment_body(size_t n, unsigned passes, uint32_t *values)
{
	for (unsigned p = 0; p < passes; p++) {
		for (size_t i = 0; i < n; i++)
			values[i]++;
		/* Keeps the compiler from merging the passes. */
		__asm__ volatile("" : : "r"(values) : "memory");
	}
}

ISA_VARIANTS(increment, (size_t n, unsigned passes, uint32_t *values), (n, passes, values));

void vecinc_cpu(enum codelet_isa isa, size_t n, unsigned passes, uint32_t *values)
{
	increment_variants[isa](n, passes, values);
}

size_t vecinc_errors(size_t n, unsigned passes, uint32_t from, const uint32_t *values)
{
	size_t errors = 0;

	for (size_t i = 0; i < n; i++)
		errors += values[i] != from + passes;
	return errors;
}
