/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Wavefronts on a simulated machine of 15 cores and a GPU: how near to the bound.
 */
#include "config.h"

#include "tests/sim/wavefront.h"

SIMULATED("15cpu+gpu36@12000:10")

static void test_bound(void **state)
{
	struct heddle_wavefront wave = {
	    .rows = 12000, .columns = 16000, .nvectors = 2, .vectors = {{.row = 1}, {.column = 1}}};

	assert_true(efficiency(wave, "rectangles") >= 0.9);
	wave.vectors[0].column = -1;
	assert_true(efficiency(wave, "parallelograms") >= 0.9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_bound)};

	return simulated_over(simulate(tests, 1));
}
