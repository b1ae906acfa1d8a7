/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Transactions and their frequent sets, against all subsets of few items.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/eclat/sets.h"
#include "tests/unit/test.h"

static struct baskets random_baskets(uint64_t seed, size_t n, unsigned items)
{
	const struct baskets_shape shape = {
	    .n = n, .items = items, .length = 4, .patterns = 5, .pattern_length = 3, .seed = seed};
	struct baskets baskets = {0};

	assert_int_equal(baskets_random(&shape, &baskets), 0);
	assert_int_equal(baskets.n, n);
	return baskets;
}

/* ---- transactions ---- */

static void test_random(void **state)
{
	struct baskets baskets = random_baskets(3, 5000, 60), other = random_baskets(4, 5000, 60);

	for (size_t t = 0; t < baskets.n; t++)
		for (size_t i = baskets.starts[t]; i < baskets.starts[t + 1]; i++) {
			assert_in_range(baskets.items[i], 0, 59);
			if (i > baskets.starts[t])
				assert_true(baskets.items[i] > baskets.items[i - 1]);
		}
	/* The mean length is about what was asked for; what does not fit is left out. */
	assert_in_range(baskets.starts[baskets.n], 5000 * 2, 5000 * 5);
	assert_true(baskets.starts[baskets.n] != other.starts[other.n] ||
	            memcmp(baskets.items, other.items, 100));
	baskets_free(&other);
	other = random_baskets(3, 5000, 60);
	assert_int_equal(baskets.starts[baskets.n], other.starts[other.n]);
	assert_memory_equal(baskets.items, other.items, baskets.starts[5000] * sizeof(int32_t));
	baskets_free(&baskets);
	baskets_free(&other);
	/* As few items as can be. */
	baskets = random_baskets(1, 10, 1);
	assert_int_equal(baskets.starts[10], 10);
	baskets_free(&baskets);
}

static void test_frequent(void **state)
{
	int32_t items[] = {5, 7, 5, 7, 9, 2, 5, 7, 9};
	size_t starts[] = {0, 2, 5, 9};
	const struct baskets baskets = {.n = 3, .starts = starts, .items = items};
	struct frequent frequent = {0};
	uint64_t bits[3];

	assert_int_equal(frequent_find(&baskets, 2, &frequent), 0);
	assert_int_equal(frequent.n, 3);
	assert_int_equal(frequent.numbers[0], 9); /* in fewest */
	assert_int_equal(frequent.numbers[1], 5);
	assert_int_equal(frequent.numbers[2], 7);
	assert_int_equal(frequent.supports[0], 2);
	assert_int_equal(frequent.supports[2], 3);
	assert_int_equal(frequent_rank(&frequent, 9), 0);
	assert_int_equal(frequent_rank(&frequent, 7), 2);
	assert_int_equal(frequent_rank(&frequent, 2), -1);
	assert_int_equal(frequent_rank(&frequent, 100), -1);
	baskets_bits(&baskets, &frequent, bits);
	assert_true(bits[0] == 6 && bits[1] == 7 && bits[2] == 7);
	frequent_free(&frequent);
}

/* ---- sets ---- */

static uint32_t support_of(const struct baskets *baskets, const struct frequent *frequent,
                           unsigned members)
{
	uint32_t support = 0;

	for (size_t t = 0; t < baskets->n; t++) {
		unsigned has = 0;

		for (size_t i = baskets->starts[t]; i < baskets->starts[t + 1]; i++) {
			int32_t rank = frequent_rank(frequent, baskets->items[i]);

			has |= rank >= 0 ? 1u << rank : 0;
		}
		support += (has & members) == members;
	}
	return support;
}

/* Of each subset of all frequent items; the number of a subset without its last item is lower. */
static struct sets all_sets(const struct baskets *baskets, const struct frequent *frequent,
                            uint32_t least, unsigned longest)
{
	struct sets sets = {0};
	uint32_t *numbers = calloc(1u << frequent->n, sizeof(*numbers));

	numbers[0] = SETS_NONE;
	for (unsigned members = 1; members < 1u << frequent->n; members++) {
		int last = 31 - __builtin_clz(members);
		uint32_t support = support_of(baskets, frequent, members);

		if (support >= least &&
		    (!longest || (unsigned)__builtin_popcount(members) <= longest))
			assert_int_equal(
			    sets_add(&sets,
			             (struct set){numbers[members ^ 1u << last], last, support},
			             &numbers[members]),
			    0);
	}
	free(numbers);
	return sets;
}

static void test_errors(void **state)
{
	for (int round = 0; round < 30; round++) {
		uint32_t support = 3 + round % 5, extra;
		unsigned longest = round % 4;
		struct baskets baskets = random_baskets(round, 60, 9);
		struct frequent frequent = {0};
		struct sets sets;
		struct set last;

#define ERRORS                                                                                     \
	(sets_errors(&sets, &baskets, &frequent, support, longest, 0, frequent.n / 2) +            \
	 sets_errors(&sets, &baskets, &frequent, support, longest, frequent.n / 2, frequent.n))
		assert_int_equal(frequent_find(&baskets, support, &frequent), 0);
		sets = all_sets(&baskets, &frequent, support, longest);
		assert_int_equal(ERRORS, 0);
		assert_true(sets.n > 3);
		sets.sets[sets.n - 1].support++;
		assert_true(ERRORS > 0);
		sets.sets[sets.n - 1].support--;
		last = sets.sets[--sets.n];
		assert_true(ERRORS > 0);
		assert_int_equal(sets_add(&sets, last, &extra), 0);
		assert_int_equal(ERRORS, 0);
		assert_int_equal(sets_add(&sets, last, &extra), 0);
		assert_true(ERRORS > 0);
		sets_free(&sets);
		frequent_free(&frequent);
		baskets_free(&baskets);
	}
}

/* All sets of a transaction are frequent where one transaction is enough: more than can be counted
 * are refused. Of many it is said once. */
static void test_many(void **state)
{
	int32_t items[40] = {0};
	size_t starts[] = {0, 31, 31 + 9};
	struct baskets baskets = {.n = 2, .starts = starts, .items = items};
	struct sets sets = {0};
	uint32_t number;

	assert_true(sets_of_items(0, 0) == 0);
	assert_true(sets_of_items(31, 0) == 0x7fffffff);
	assert_true(sets_of_items(6, 2) == 6 + 15);
	assert_int_equal(sets_bound(&baskets, 1, 0), 0);
	starts[1] = 32;
	assert_int_equal(sets_bound(&baskets, 1, 0), -E2BIG);
	assert_int_equal(sets_bound(&baskets, 1, 5), 0);
	assert_int_equal(sets_bound(&baskets, 2, 0), 0);
	for (int i = 0; i < 1 << 20; i++) {
		assert_false(sets.warned);
		assert_int_equal(sets_add(&sets, (struct set){SETS_NONE, 0, 1}, &number), 0);
	}
	assert_true(sets.warned);
	sets_free(&sets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_random),
	    cmocka_unit_test(test_frequent),
	    cmocka_unit_test(test_errors),
	    cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
