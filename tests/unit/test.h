/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What every test includes: cmocka with the headers it wants before it, and the seed of tests
 * that use random numbers.
 */
#ifndef HEDDLE_TEST_H
#define HEDDLE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <time.h>

/** @return HEDDLE_TEST_SEED, else the time; printed, to repeat the test with it */
static inline unsigned test_seed(void)
{
	const char *given = getenv("HEDDLE_TEST_SEED");
	unsigned seed = given ? (unsigned)atoi(given) : (unsigned)time(NULL);

	print_message("HEDDLE_TEST_SEED=%u\n", seed);
	return seed;
}

#endif
