/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Comparing variants whose times are noise for the most part.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "apps/common/sweep.h"
#include "tests/unit/test.h"

enum { VARIANTS = 17, REPS = 10, ROUNDS = 2000 };

struct machine {
	double us[VARIANTS][REPS];
	const double *rows[VARIANTS];
	struct sweep sweep;
};

/* All take 100 us but one; each run by up to a fifth more or less, and a repetition as a whole by
 * up to twice as much. */
static void run(struct machine *machine, unsigned special, double factor, unsigned *seed)
{
	for (int r = 0; r < REPS; r++) {
		double slow = 1 + (double)rand_r(seed) / RAND_MAX;

		for (int v = 0; v < VARIANTS; v++)
			machine->us[v][r] = 100 * slow * (0.8 + 0.4 * rand_r(seed) / RAND_MAX) *
			                    (v == (int)special ? factor : 1);
	}
	for (int v = 0; v < VARIANTS; v++)
		machine->rows[v] = machine->us[v];
	machine->sweep = (struct sweep){VARIANTS, REPS, machine->rows, 0};
}

static double least_median(const struct machine *machine)
{
	double least = INFINITY;

	for (int v = 0; v < VARIANTS; v++)
		least = fmin(least, sweep_median(machine->us[v], REPS));
	return least;
}

static void test_alike(void **state)
{
	double regret = 0, naive = 0;
	unsigned seed = test_seed();

	for (int round = 0; round < ROUNDS; round++) {
		struct machine machine;

		run(&machine, 0, 1, &seed);
		regret += log(sweep_regret(&machine.sweep)) / ROUNDS;
		naive += log(sweep_median(machine.us[0], REPS) / least_median(&machine)) / ROUNDS;
	}
	print_message("of the best of those alike: %.3f; by the least median %.3f\n", exp(regret),
	              exp(naive));
	assert_true(fabs(regret) < 0.01);
	assert_true(naive > 0.05);
}

static void test_better(void **state)
{
	double regret = 0, worst = 0, ratio = 0;
	unsigned seed = test_seed();

	for (int round = 0; round < ROUNDS; round++) {
		struct machine machine;

		run(&machine, 5, 0.6, &seed);
		regret += log(sweep_regret(&machine.sweep)) / ROUNDS;
		ratio += log(sweep_ratio(machine.us[5], machine.us[0], REPS).median) / ROUNDS;
		run(&machine, 0, 2, &seed);
		worst += log(sweep_regret(&machine.sweep)) / ROUNDS;
	}
	assert_true(fabs(exp(regret) * 0.6 - 1) < 0.03);
	assert_true(fabs(exp(ratio) / 0.6 - 1) < 0.03);
	assert_true(fabs(exp(worst) / 2 - 1) < 0.03);
}

/* One that is judged by others, all of which take longer or less than it. */
static void test_against_others(void **state)
{
	static const double factors[] = {0.5, 1, 2};
	unsigned seed = test_seed();

	for (int f = 0; f < 3; f++) {
		double regret = 0;

		for (int round = 0; round < ROUNDS; round++) {
			struct machine machine;

			run(&machine, 0, factors[f], &seed);
			machine.sweep.from = 1;
			regret += log(sweep_regret(&machine.sweep)) / ROUNDS;
		}
		assert_true(fabs(exp(regret) / factors[f] - 1) < 0.02);
	}
}

static void test_few(void **state)
{
	static const double us[2][4] = {{3, 1, 2, 4}, {6, 4, 2, 4}};
	const double *rows[] = {us[0], us[1]};
	struct sweep sweep = {2, 3, rows, 0};
	struct sweep_ratio ratio = sweep_ratio(us[0], us[1], 4);

	assert_true(isnan(sweep_regret(&sweep)));
	assert_true(isnan(sweep_median(us[0], 0)));
	assert_true(sweep_median(us[0], 4) == 2);
	assert_true(sweep_median(us[0], 3) == 2);
	assert_true(ratio.low == 0.25 && ratio.median == 0.5 && ratio.high == 1);
	sweep.nreps = 4;
	/* The first is the best of repetitions 1 and 3, and of 2 and 4. */
	assert_true(sweep_regret(&sweep) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_alike),
	    cmocka_unit_test(test_better),
	    cmocka_unit_test(test_against_others),
	    cmocka_unit_test(test_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
