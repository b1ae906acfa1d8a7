/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sched_policies/heap.h"
#include "tests/unit/test.h"

#define N 3000

static void test_empty(void **state)
{
	struct heddle_heap heap = {0};

	assert_null(heddle_heap_pop(&heap));
	assert_int_equal(heddle_heap_top(&heap), INT_MIN);
	heddle_heap_free(&heap);
}

static void test_order(void **state)
{
	static const int priorities[] = {0, INT_MIN, 5, INT_MAX, 5, 0};
	static const uintptr_t order[] = {3, 2, 4, 0, 5, 1};
	struct heddle_heap heap = {0};

	for (uintptr_t i = 0; i < 6; i++)
		assert_int_equal(heddle_heap_push(&heap, priorities[i], (void *)(i + 1)), 0);
	assert_int_equal(heddle_heap_top(&heap), INT_MAX);
	for (uintptr_t i = 0; i < 6; i++)
		assert_int_equal((uintptr_t)heddle_heap_pop(&heap), order[i] + 1);
	assert_null(heddle_heap_pop(&heap));
	heddle_heap_free(&heap);
}

/* Items leave from any place, and the others keep their order. */
static void test_take(void **state)
{
	static const int priorities[] = {9, 3, 8, 1, 2, 7, 6};

	for (size_t place = 0; place < 7; place++) {
		struct heddle_heap heap = {0};
		int last = INT_MAX;
		uintptr_t taken, item;

		for (uintptr_t i = 0; i < 7; i++)
			assert_int_equal(heddle_heap_push(&heap, priorities[i], (void *)(i + 1)),
			                 0);
		assert_null(heddle_heap_take(&heap, 7));
		taken = (uintptr_t)heap.items[place].item;
		assert_int_equal((uintptr_t)heddle_heap_take(&heap, place), taken);
		for (size_t n = 0; n < 6; n++) {
			item = (uintptr_t)heddle_heap_pop(&heap);
			assert_int_not_equal(item, 0);
			assert_int_not_equal(item, taken);
			assert_true(priorities[item - 1] < last);
			last = priorities[item - 1];
		}
		assert_null(heddle_heap_pop(&heap));
		heddle_heap_free(&heap);
	}
}

/* The item that should come next; N: there is none. */
static size_t first_of(const int *priorities, const char *inside)
{
	size_t first = N;

	for (size_t i = 0; i < N; i++)
		if (inside[i] && (first == N || priorities[i] > priorities[first]))
			first = i;
	return first;
}

/* Items come and go at random; each pop is compared with a search through all. */
static void test_random(void **state)
{
	unsigned seed = test_seed();
	struct heddle_heap heap = {0};
	static int priorities[N];
	static char inside[N];
	size_t n = 0;

	while (n < N || heap.n) {
		if (n < N && (!heap.n || rand_r(&seed) % 5 < 3)) {
			priorities[n] = rand_r(&seed) % 40 - 20;
			inside[n] = 1;
			assert_int_equal(
			    heddle_heap_push(&heap, priorities[n], (void *)(uintptr_t)(n + 1)), 0);
			n++;
		} else {
			size_t first = first_of(priorities, inside);

			assert_int_equal(heddle_heap_top(&heap), priorities[first]);
			assert_int_equal((uintptr_t)heddle_heap_pop(&heap), first + 1);
			inside[first] = 0;
		}
	}
	assert_int_equal(first_of(priorities, inside), N);
	heddle_heap_free(&heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_empty),
	    cmocka_unit_test(test_order),
	    cmocka_unit_test(test_take),
	    cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
