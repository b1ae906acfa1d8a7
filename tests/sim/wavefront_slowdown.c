/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A GPU that falls to 40 % of its speed early on: widths that follow measured speeds
 * against shares that were decided once.
 */
#include "config.h"

#include "tests/sim/wavefront.h"

SIMULATED("15cpu+gpu36@12000:10%0.4/0.3")

static void test_slowdown(void **state)
{
	struct heddle_wavefront wave = {.rows = 12000,
	                                .columns = 16000,
	                                .nvectors = 2,
	                                .bands_per_worker = 8,
	                                .vectors = {{.row = 1, .column = -1}, {.column = 1}}};
	double adaptive = efficiency(wave, "by measured speed");

	wave.strategy = "axel";
	assert_true(efficiency(wave, "by first speed") < adaptive);
	assert_true(adaptive >= 0.8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_slowdown)};

	return simulated_over(simulate(tests, 1));
}
