/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What every test includes: cmocka with the headers it wants before it, and the seed and the rounds
 * of tests that use random numbers.
 */
#ifndef HEDDLE_TEST_H
#define HEDDLE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/** @return HEDDLE_TEST_ROUNDS, else those given. A test of none would pass: it ends. */
static inline unsigned test_rounds(unsigned otherwise)
{
	const char *given = getenv("HEDDLE_TEST_ROUNDS");
	unsigned rounds;
	char end;

	if (!given)
		return otherwise;
	if (sscanf(given, "%u%c", &rounds, &end) != 1 || !rounds) {
		print_error("HEDDLE_TEST_ROUNDS=%s: not a whole number from 1 on\n", given);
		exit(99);
	}
	return rounds;
}

/** @return HEDDLE_TEST_SEED, else the time; printed, to repeat the test with it */
static inline unsigned test_seed(void)
{
	const char *given = getenv("HEDDLE_TEST_SEED");
	unsigned seed = given ? (unsigned)atoi(given) : (unsigned)time(NULL);

	print_message("HEDDLE_TEST_SEED=%u\n", seed);
	return seed;
}

#endif
