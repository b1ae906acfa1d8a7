/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "apps/common/random.h"
#include "apps/kernels/sobol.h"

static unsigned degree_of(uint32_t polynomial)
{
	return 31 - __builtin_clz(polynomial);
}

/* x must come back to 1 only after all other elements of the field. */
int sobol_primitive(uint32_t polynomial)
{
	unsigned degree = degree_of(polynomial), order = 0;
	uint32_t power = 1;

	if (!(polynomial & 1))
		return 0;
	do {
		power <<= 1;
		if (power >> degree)
			power ^= polynomial;
		order++;
	} while (power != 1 && order < (1u << degree));
	return order == (1u << degree) - 1;
}

/* m(k) = 2 a1 m(k-1) ^ ... ^ 2^d m(k-d) ^ m(k-d); direction k is m(k) / 2^k. */
static void dimension_make(uint32_t polynomial, uint64_t seed, uint32_t *directions)
{
	unsigned degree = degree_of(polynomial);
	uint32_t m[SOBOL_BITS] = {0};

	for (unsigned k = 0; k < SOBOL_BITS; k++) {
		if (k < degree) {
			m[k] = (app_random(seed, k) & ((1u << k) - 1)) * 2 + 1;
			continue;
		}
		m[k] = m[k - degree];
		for (unsigned i = 1; i <= degree; i++)
			if (polynomial >> (degree - i) & 1)
				m[k] ^= m[k - i] << i;
	}
	for (unsigned k = 0; k < SOBOL_BITS; k++)
		directions[k] = m[k] << (31 - k);
}

void sobol_directions(unsigned dimensions, uint64_t seed, uint32_t *directions)
{
	uint32_t polynomial = 2;

	for (unsigned k = 0; k < SOBOL_BITS; k++)
		directions[k] = 1u << (31 - k);
	for (unsigned d = 1; d < dimensions; d++) {
		do
			polynomial++;
		while (!sobol_primitive(polynomial));
		dimension_make(polynomial, seed * dimensions + d, directions + d * SOBOL_BITS);
	}
}
