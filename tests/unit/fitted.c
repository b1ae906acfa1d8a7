/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Strategies that fit curves to blocks, block by block, as worked out by hand.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include <heddle/strategy.h>

#include "tests/unit/test.h"

/* Worker 0 is a core, worker 1 an accelerator. */
static struct heddle_strategy *create(const char *spec, size_t n)
{
	static const struct heddle_strategy_worker workers[2] = {{.kind = HEDDLE_KIND_CPU},
	                                                         {.kind = HEDDLE_KIND_CUDA}};
	struct heddle_strategy_problem problem = {.n = n, .nworkers = 2, .workers = workers};
	struct heddle_strategy *blocks;

	assert_int_equal(heddle_strategy_create(spec, &problem, &blocks), 0);
	return blocks;
}

static void expect(struct heddle_strategy *blocks, unsigned worker, size_t n)
{
	assert_int_equal(heddle_strategy_next(blocks, worker), n);
}

/* A block of n iterations is expected and takes so long. */
static void run(struct heddle_strategy *blocks, unsigned worker, size_t n, double us)
{
	expect(blocks, worker, n);
	heddle_strategy_completed(blocks, worker, n, us);
}

/* ---- logfit ---- */

/* Rates of 1, 2 and 3 for 10, 20 and 40 are a curve on which a quarter is gained by a doubling at
 * 80. There the rate is 3.2: the curve through the latest two is flat at 40 already. */
static void test_logfit_grows(void **state)
{
	struct heddle_strategy *blocks = create("logfit:first=10,points=2,change=0.25", 100000);

	run(blocks, 1, 10, 10);
	run(blocks, 1, 20, 10);
	run(blocks, 1, 40, 40 / 3.0);
	assert_int_equal(heddle_strategy_phase(blocks, 1), HEDDLE_PHASE_ADAPTIVE);
	run(blocks, 1, 80, 25);
	assert_int_equal(heddle_strategy_phase(blocks, 1), HEDDLE_PHASE_COMPLETION);
	/* 40 again, now at 2.2: with the mean of 2.6 a doubling gains 0.6, which is a quarter of
	 * 2.4. So much it is a third of a doubling before 40. */
	run(blocks, 1, 40, 40 / 2.2);
	expect(blocks, 1, 32);
	heddle_strategy_destroy(blocks);
}

/* The accelerator did 10 at a rate of 1 and 20 at 2, so its rate is 1.5 and its next block, of 40,
 * takes 80 / 3. The core's rate is 1/2. */
static void test_logfit_cores(void **state)
{
	struct heddle_strategy *blocks = create("logfit:first=10", 100000);

	run(blocks, 0, 10, 20);
	/* Nobody to go by. */
	expect(blocks, 0, 10);
	run(blocks, 1, 10, 10);
	run(blocks, 1, 20, 10);
	heddle_strategy_completed(blocks, 0, 10, 20);
	expect(blocks, 0, 14);
	heddle_strategy_destroy(blocks);
}

/* 45 are left for rates of 1/2 and 1: a third and two thirds. */
static void test_logfit_end(void **state)
{
	struct heddle_strategy *blocks = create("logfit:first=100,least=1", 245);

	run(blocks, 0, 100, 200);
	run(blocks, 1, 100, 100);
	expect(blocks, 1, 30);
	expect(blocks, 0, 5);
	heddle_strategy_destroy(blocks);
}

/* Without an accelerator a worker has its part of half of what is left. */
static void test_logfit_alone(void **state)
{
	struct heddle_strategy_problem problem = {.n = 420, .nworkers = 2};
	struct heddle_strategy *blocks;

	assert_int_equal(heddle_strategy_create("logfit:first=10", &problem, &blocks), 0);
	run(blocks, 0, 10, 30);
	run(blocks, 1, 10, 10);
	expect(blocks, 1, 150);
	expect(blocks, 0, 32);
	heddle_strategy_destroy(blocks);
}

/* An accelerator whose memory holds 64 iterations has learned all that it can. */
static void test_logfit_bound(void **state)
{
	static const struct heddle_strategy_worker worker = {.kind = HEDDLE_KIND_CUDA,
	                                                     .maximum = 64};
	struct heddle_strategy_problem problem = {.n = 10000, .nworkers = 1, .workers = &worker};
	struct heddle_strategy *blocks;

	assert_int_equal(heddle_strategy_create("logfit:first=48", &problem, &blocks), 0);
	run(blocks, 0, 48, 48);
	assert_int_equal(heddle_strategy_phase(blocks, 0), HEDDLE_PHASE_ADAPTIVE);
	run(blocks, 0, 64, 32);
	assert_int_equal(heddle_strategy_phase(blocks, 0), HEDDLE_PHASE_COMPLETION);
	expect(blocks, 0, 64);
	heddle_strategy_destroy(blocks);
}

/* ---- plbhec ---- */

/* Blocks of n take 5 + n and 2 n. After the first ones the rates are 2/3 and 1/2, so the second
 * ones are 20 and 15. Of the 345 that are left worker 1 gets x and worker 0 2 x - 5. */
static void test_plbhec_lines(void **state)
{
	struct heddle_strategy *blocks = create("plbhec:first=10,points=2,part=1", 400);

	expect(blocks, 0, 10);
	expect(blocks, 1, 10);
	heddle_strategy_completed(blocks, 0, 10, 15);
	heddle_strategy_completed(blocks, 1, 10, 20);
	expect(blocks, 0, 20);
	expect(blocks, 1, 15);
	assert_int_equal(heddle_strategy_phase(blocks, 0), HEDDLE_PHASE_ADAPTIVE);
	heddle_strategy_completed(blocks, 0, 20, 25);
	heddle_strategy_completed(blocks, 1, 15, 30);
	expect(blocks, 0, 229);
	assert_int_equal(heddle_strategy_phase(blocks, 0), HEDDLE_PHASE_COMPLETION);
	expect(blocks, 1, 116);
	heddle_strategy_destroy(blocks);
}

/* A worker that begins later than all others end gets nothing but the least. */
static void test_plbhec_start(void **state)
{
	struct heddle_strategy *blocks = create("plbhec:first=10,points=2,part=1,least=1", 400);

	expect(blocks, 0, 10);
	expect(blocks, 1, 10);
	heddle_strategy_completed(blocks, 0, 10, 10);
	heddle_strategy_completed(blocks, 1, 10, 1010);
	expect(blocks, 0, 20);
	expect(blocks, 1, 1);
	heddle_strategy_completed(blocks, 0, 20, 20);
	heddle_strategy_completed(blocks, 1, 1, 1001);
	expect(blocks, 1, 1);
	expect(blocks, 0, 358);
	heddle_strategy_destroy(blocks);
}

typedef double function(double n);

static double line(double n)
{
	return 50 + 3 * n;
}

static double square(double n)
{
	return 20 + n + 0.02 * n * n;
}

static double logarithm(double n)
{
	return 10 + n + 500 * log1p(n);
}

static double linearithmic(double n)
{
	return 10 + n + 0.5 * n * log(n);
}

/* Whatever the curve is, both blocks of a round end at one time. */
static void test_plbhec_curves(void **state)
{
	static function *const functions[] = {line, square, logarithm, linearithmic};

	for (size_t f = 0; f < sizeof(functions) / sizeof(functions[0]); f++) {
		struct heddle_strategy *blocks = create("plbhec:first=10,part=1,least=1", 3000);
		double us[2];

		for (int k = 0; k < 4; k++)
			for (unsigned w = 0; w < 2; w++) {
				size_t n = heddle_strategy_next(blocks, w);

				heddle_strategy_completed(blocks, w, n,
				                          w ? functions[f](n) : line(n));
			}
		for (unsigned w = 0; w < 2; w++) {
			size_t n = heddle_strategy_next(blocks, w);

			assert_true(n > 100);
			us[w] = w ? functions[f](n) : line(n);
		}
		assert_int_equal(heddle_strategy_remaining(blocks), 0);
		print_message("curve %zu: %.1f and %.1f us\n", f, us[0], us[1]);
		assert_true(fabs(us[0] - us[1]) < 0.02 * us[0]);
		heddle_strategy_destroy(blocks);
	}
}

/* A round is a quarter of what is left. Worker 1 takes four times as long as its curve says: what
 * worker 0 has not taken is shared anew. Each curve is made of both blocks of its worker. */
static void test_plbhec_mends(void **state)
{
	struct heddle_strategy *blocks = create("plbhec:first=10,points=2,least=1", 1000);

	for (unsigned w = 0; w < 2; w++) {
		run(blocks, w, 10, 10);
		run(blocks, w, 20, 20);
	}
	/* Half of a quarter of 940. */
	run(blocks, 0, 118, 118);
	run(blocks, 1, 118, 472);
	/* Points of worker 1: 10, 20 and 118 in 10, 20 and 472. Its line would begin below 0, so it
	 * goes through 0, with 56196 / 14424 for an iteration. Of a quarter of 704 worker 0 has
	 * 140.05. */
	expect(blocks, 0, 141);
	heddle_strategy_destroy(blocks);
}

/* Where sizes say nothing, measuring ends with its part of the iterations. */
static void test_plbhec_bound(void **state)
{
	struct heddle_strategy *blocks = create("plbhec:probing=0.1", 100000);
	size_t given = 0;

	for (unsigned k = 0;; k++) {
		size_t n = heddle_strategy_next(blocks, k % 2);

		if (heddle_strategy_phase(blocks, 0) == HEDDLE_PHASE_COMPLETION)
			break;
		given += n;
		heddle_strategy_completed(blocks, k % 2, n, 1 + k / 2 % 2);
		assert_true(given < 20000);
	}
	assert_true(given >= 10000);
	heddle_strategy_destroy(blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_logfit_grows), cmocka_unit_test(test_logfit_cores),
	    cmocka_unit_test(test_logfit_end),   cmocka_unit_test(test_logfit_alone),
	    cmocka_unit_test(test_logfit_bound), cmocka_unit_test(test_plbhec_lines),
	    cmocka_unit_test(test_plbhec_start), cmocka_unit_test(test_plbhec_curves),
	    cmocka_unit_test(test_plbhec_mends), cmocka_unit_test(test_plbhec_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
