/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelets' CPU versions against their references, for every instruction
 * set that this processor has.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codelets/blackscholes/blackscholes.h"
#include "tests/unit/test.h"

static unsigned seed;

/* Sizes around the widths of vectors, and larger ones. */
static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 127, 1000, 4099};
#define NSIZES (sizeof(sizes) / sizeof(*sizes))

static double uniform(double from, double to)
{
	return from + (to - from) * rand() / RAND_MAX;
}

/* Prices n options that begin `shift` floats into their arrays and looks
 * whether the places around the results were left alone. */
static double price_and_compare(enum codelet_isa isa, size_t n, size_t shift,
                                double (*draw)(int which))
{
	const struct blackscholes_market market = {.rate = uniform(-0.02, 0.1),
	                                           .volatility = uniform(0.05, 0.8)};
	size_t room = n + shift + 1;
	float *data = malloc(5 * room * sizeof(float));
	float *spot = data + shift, *strike = spot + room, *years = strike + room;
	float *call = years + room, *put = call + room;
	double error;

	assert_non_null(data);
	for (size_t i = 0; i < 5 * room; i++)
		data[i] = -1;
	for (size_t i = 0; i < n; i++) {
		spot[i] = draw(0);
		strike[i] = draw(1);
		years[i] = draw(2);
	}
	blackscholes_cpu_isa(isa, &market, n, spot, strike, years, call, put);
	error = blackscholes_error(&market, n, spot, strike, years, call, put);
	assert_true(call[n] == -1);
	assert_true(put[n] == -1);
	free(data);
	return error;
}

static double draw_usual(int which)
{
	return which == 2 ? uniform(0.05, 10) : uniform(5, 200);
}

/* Any magnitude of price, from minutes to a century. */
static double draw_wild(int which)
{
	return which == 2 ? exp(uniform(-11, 4.6)) : exp(uniform(-20, 20));
}

static void test_blackscholes(void **state)
{
	double worst = 0;

	for (int isa = 0; isa < CODELET_NISAS; isa++) {
		if (!codelet_isa_supported(isa)) {
			print_message("%s is not supported here\n", codelet_isa_name(isa));
			continue;
		}
		for (size_t s = 0; s < NSIZES; s++)
			for (size_t shift = 0; shift < 5; shift++) {
				worst = fmax(worst,
				             price_and_compare(isa, sizes[s], shift, draw_usual));
				worst =
				    fmax(worst, price_and_compare(isa, sizes[s], shift, draw_wild));
			}
		print_message("blackscholes, %s: error %.2g\n", codelet_isa_name(isa), worst);
		assert_true(worst <= BLACKSCHOLES_TOLERANCE);
	}
}

/* A value that the formula gives in every textbook: S = 42, K = 40, r = 0.1,
 * v = 0.2, half a year: call 4.76, put 0.81. */
static void test_blackscholes_reference(void **state)
{
	const struct blackscholes_market market = {.rate = 0.1f, .volatility = 0.2f};
	double call, put;

	blackscholes_reference(&market, 42, 40, 0.5, &call, &put);
	assert_true(fabs(call - 4.76) < 0.005);
	assert_true(fabs(put - 0.81) < 0.005);
}

static void test_blackscholes_error_sees_wrong_prices(void **state)
{
	const struct blackscholes_market market = {.rate = 0.05f, .volatility = 0.3f};
	const float spot[] = {100, 50}, strike[] = {90, 60}, years[] = {1, 2};
	float call[2], put[2];

	blackscholes_cpu(&market, 2, spot, strike, years, call, put);
	assert_true(blackscholes_error(&market, 2, spot, strike, years, call, put) <=
	            BLACKSCHOLES_TOLERANCE);
	put[1] += 0.01f;
	assert_true(blackscholes_error(&market, 2, spot, strike, years, call, put) > 1e-4);
	put[1] = NAN;
	assert_true(isinf(blackscholes_error(&market, 2, spot, strike, years, call, put)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_blackscholes),
	    cmocka_unit_test(test_blackscholes_reference),
	    cmocka_unit_test(test_blackscholes_error_sees_wrong_prices),
	};
	const char *given = getenv("HEDDLE_TEST_SEED");

	seed = given ? strtoul(given, NULL, 0) : (unsigned)time(NULL);
	srand(seed);
	print_message("HEDDLE_TEST_SEED=%u\n", seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
