/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Adaptive factoring and its relatives, block by block, as worked out by hand: 400 iterations on
 * two workers, of which worker 1 is three times as fast.
 */
#include "config.h"

#include <stdlib.h>

#include <heddle/strategy.h>

#include "tests/unit/test.h"

struct block {
	unsigned worker;
	size_t n;
};

static struct heddle_strategy *create(const char *spec, size_t n)
{
	struct heddle_strategy_problem problem = {.n = n, .nworkers = 2};
	struct heddle_strategy *blocks;

	assert_int_equal(heddle_strategy_create(spec, &problem, &blocks), 0);
	return blocks;
}

static void expect(struct heddle_strategy *blocks, unsigned worker, size_t n)
{
	assert_int_equal(heddle_strategy_next(blocks, worker), n);
}

/* An iteration takes worker 0 three units of time and worker 1 one; at the same time worker 0
 * asks first.
 * @return when the last block was done */
static unsigned long run(const char *spec, const struct block *expected, size_t count)
{
	struct heddle_strategy *blocks = create(spec, 400);
	unsigned long free_at[2] = {0, 0};
	size_t under_way[2] = {0, 0};

	for (size_t i = 0; i < count; i++) {
		unsigned w = free_at[1] < free_at[0];
		size_t n;

		if (under_way[w])
			heddle_strategy_completed(blocks, w, under_way[w],
			                          under_way[w] * (w ? 1.0 : 3.0));
		n = heddle_strategy_next(blocks, w);
		if (w != expected[i].worker || n != expected[i].n)
			fail_msg("%s: block %zu: %zu for worker %u, not %zu for worker %u", spec, i,
			         n, w, expected[i].n, expected[i].worker);
		under_way[w] = n;
		free_at[w] += n * (w ? 1 : 3);
	}
	heddle_strategy_destroy(blocks);
	return free_at[0] > free_at[1] ? free_at[0] : free_at[1];
}

#define RUN(spec, expected) run(spec, expected, sizeof(expected) / sizeof(expected[0]))

/* 200 iterations a worker are log2(200) = 7.64 halvings: 26.2 iterations. */
static void test_mfsc(void **state)
{
	static const struct block expected[] = {{0, 27}, {1, 27}, {1, 27}, {1, 27}, {0, 27},
	                                        {1, 27}, {1, 27}, {1, 27}, {0, 27}, {1, 27},
	                                        {1, 27}, {1, 27}, {0, 27}, {1, 27}, {1, 22}};

	assert_int_equal(RUN("mfsc", expected), 324);
}

/* Batches: 190, of which worker 0 gets a quarter, is to be shared when worker 1 has done its first
 * block and worker 0 is taken to be as fast; then 95, 47.5, 23.5, 11.5, 5.5, 2.5, 1 and 0.5. */
static void test_awfd(void **state)
{
	static const struct block expected[] = {{0, 10}, {1, 10}, {1, 95}, {0, 48}, {1, 47},
	                                        {1, 72}, {0, 23}, {1, 36}, {0, 12}, {1, 18},
	                                        {1, 6},  {0, 3},  {1, 9},  {0, 2},  {1, 4},
	                                        {0, 1},  {0, 1},  {1, 1},  {1, 1},  {1, 1}};

	assert_int_equal(RUN("awfd:first=10", expected), 300);
}

/* Each time a quarter or three quarters of half of what remains. */
static void test_awfe(void **state)
{
	static const struct block expected[] = {{0, 10}, {1, 10}, {1, 95}, {0, 36}, {1, 94},
	                                        {0, 20}, {0, 17}, {1, 45}, {1, 28}, {0, 6},
	                                        {0, 5},  {1, 13}, {0, 3},  {1, 7},  {0, 2},
	                                        {1, 4},  {1, 2},  {0, 1},  {1, 1},  {1, 1}};

	assert_int_equal(RUN("awfe:first=10", expected), 300);
}

/* Late blocks count more: 10 in 10, then 10 in 40 are 30 in 90, not 20 in 50. */
static void test_awf_weights(void **state)
{
	struct heddle_strategy *blocks = create("awfe:first=10", 440);

	for (unsigned w = 0; w < 2; w++) {
		expect(blocks, w, 10);
		heddle_strategy_completed(blocks, w, 10, 10);
	}
	/* Half of half of 420; what is above 10 is given back. */
	expect(blocks, 0, 105);
	heddle_strategy_return(blocks, 0, 95);
	heddle_strategy_completed(blocks, 0, 10, 40);
	/* Rates of 1/3 and 1: a quarter of half of 410. */
	expect(blocks, 0, 52);
	heddle_strategy_destroy(blocks);
}

/* Without variance a worker gets all of its share at once. */
static void test_af_steady(void **state)
{
	static const struct block expected[] = {{0, 10}, {1, 10}, {1, 10}, {1, 185},
	                                        {0, 10}, {0, 44}, {0, 33}, {1, 74}};

	RUN("af:first=10", expected);
}

/* Means 3 and 1, variances of an iteration 8 and 2 (blocks of 4 in 8 and 16, 2 and 6):
 * D = 8/3 + 2 = 14/3 and T = 3/4. With 98 left D + 2 T R is 455/3, the root of D^2 + 4 D T R is
 * 112/3, and half of the difference 57.2. With 40 left it is (14/3 + 60 - 24.1) / 6 = 6.8 for
 * worker 0. */
static void test_af_variance(void **state)
{
	static const double us[2][2] = {{8, 16}, {2, 6}};
	struct heddle_strategy *blocks = create("af:first=4", 114);

	for (unsigned k = 0; k < 2; k++)
		for (unsigned w = 0; w < 2; w++) {
			expect(blocks, w, 4);
			assert_int_equal(heddle_strategy_phase(blocks, w), HEDDLE_PHASE_ADAPTIVE);
			heddle_strategy_completed(blocks, w, 4, us[w][k]);
		}
	assert_int_equal(heddle_strategy_phase(blocks, 0), HEDDLE_PHASE_COMPLETION);
	expect(blocks, 1, 58);
	expect(blocks, 0, 7);
	heddle_strategy_destroy(blocks);
}

/* Half of 27, and no block of a batch below the least. */
static void test_parameters(void **state)
{
	static const char *const specs[] = {"awfd:least=300", "awfe:least=300", "af:least=300"};

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct heddle_strategy *blocks = create(specs[i], 400);

		do {
			expect(blocks, 0, 14);
			heddle_strategy_completed(blocks, 0, 14, 42);
		} while (heddle_strategy_phase(blocks, 0) == HEDDLE_PHASE_ADAPTIVE);
		expect(blocks, 0, 300);
		heddle_strategy_destroy(blocks);
	}
}

/* Where a block takes one microsecond, however long it is, iterations of short ones look so dear
 * that af would give the rest out one by one. */
static void test_launches_only(void **state)
{
	static const char *const specs[] = {"awfd", "awfe", "af"};

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct heddle_strategy *blocks = create(specs[i], 5000000000);
		unsigned count = 0;

		for (; heddle_strategy_remaining(blocks); count++) {
			size_t n = heddle_strategy_next(blocks, count % 2);

			assert_true(count < 5000);
			heddle_strategy_completed(blocks, count % 2, n, 1 + count % 3);
		}
		print_message("%s: %u blocks\n", specs[i], count);
		heddle_strategy_destroy(blocks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_mfsc),       cmocka_unit_test(test_awfd),
	    cmocka_unit_test(test_awfe),       cmocka_unit_test(test_awf_weights),
	    cmocka_unit_test(test_af_steady),  cmocka_unit_test(test_af_variance),
	    cmocka_unit_test(test_parameters), cmocka_unit_test(test_launches_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
