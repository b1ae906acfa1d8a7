/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Random input that any thread can make any part of. No StarPU.
 */
#ifndef APPS_COMMON_RANDOM_H
#define APPS_COMMON_RANDOM_H

#include <stdint.h>

/** 64 random bits, a function of its arguments alone: any element can be made
 * by itself, and the input does not depend on the number of threads.
 * (Finaliser of SplitMix64: G. Steele, D. Lea and C. Flood, "Fast Splittable
 * Pseudorandom Number Generators", OOPSLA 2014.) */
static inline uint64_t app_random(uint64_t seed, uint64_t index)
{
	uint64_t z = seed * 0xd1342543de82ef95u + (index + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

#endif
