/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What devices hold: by hand, and random changes against an array that has every byte.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/spans.h"
#include "tests/unit/test.h"

static void in_order(void **state)
{
	struct kernel_spans spans = {0};
	struct kernel_span missing[2];

	assert_int_equal(kernel_spans_missing(&spans, 0, 100, 2, missing), 1);
	assert_int_equal(missing[0].end, 100);
	kernel_spans_add(&spans, 10, 20);
	kernel_spans_add(&spans, 30, 40);
	assert_int_equal(spans.n, 2);
	kernel_spans_add(&spans, 20, 30); /* touches both */
	assert_int_equal(spans.n, 1);
	assert_int_equal(kernel_spans_held(&spans, 0, 100), 30);
	assert_int_equal(kernel_spans_missing(&spans, 12, 38, 2, missing), 0);
	kernel_spans_remove(&spans, 15, 16);
	assert_int_equal(kernel_spans_missing(&spans, 12, 38, 2, missing), 1);
	assert_int_equal(missing[0].first, 15);
	assert_int_equal(missing[0].end, 16);
	kernel_spans_remove(&spans, 25, 26);
	/* Of three missing pieces, the last entry has two. */
	assert_int_equal(kernel_spans_missing(&spans, 5, 38, 2, missing), 2);
	assert_int_equal(missing[1].first, 15);
	assert_int_equal(missing[1].end, 26);
	kernel_spans_remove(&spans, 0, 100);
	assert_int_equal(spans.n, 0);
	kernel_spans_add(&spans, 7, 7);
	assert_int_equal(spans.n, 0);
	kernel_spans_clear(&spans);
}

/* What is too much is forgotten; nothing is held that was not added. */
static void too_many(void **state)
{
	struct kernel_spans spans = {0};
	size_t n = 2 * KERNEL_SPANS_MOST;

	for (size_t i = 0; i < n; i++)
		kernel_spans_add(&spans, 4 * i, 4 * i + 3);
	assert_int_equal(spans.n, KERNEL_SPANS_MOST);
	kernel_spans_remove(&spans, 5, 6); /* one becomes two */
	assert_int_equal(kernel_spans_held(&spans, 5, 6), 0);
	assert_true(spans.n <= KERNEL_SPANS_MOST);
	kernel_spans_remove(&spans, 0, 4 * n);
	assert_int_equal(spans.n, 0);
	kernel_spans_clear(&spans);
}

enum { BYTES = 400 };

static void window_random(struct index_window *window)
{
	size_t rows = 1 + lrand48() % 6;

	*window = (struct index_window){.first = lrand48() % 100, .known = true};
	if (lrand48() % 2) {
		window->end = window->first + lrand48() % 200;
		return;
	}
	window->pitch = 10 + lrand48() % 40;
	window->width = 1 + lrand48() % (window->pitch - 1);
	window->end = window->first + (rows - 1) * window->pitch + window->width;
}

static void model_set(bool *model, const struct index_window *window, bool held)
{
	for (size_t at = window->first; at < window->end; at++)
		if (!window->pitch || (at - window->first) % window->pitch < window->width)
			model[at] = held;
}

static void compare(const struct kernel_spans *spans, const bool *model, size_t first, size_t end)
{
	struct kernel_span missing[BYTES];
	unsigned n = kernel_spans_missing(spans, first, end, BYTES, missing), at = 0;
	size_t held = 0;

	for (size_t i = first; i < end; i++) {
		while (at < n && missing[at].end <= i)
			at++;
		held += model[i];
		assert_int_equal(at == n || i < missing[at].first, model[i]);
	}
	assert_int_equal(kernel_spans_held(spans, first, end), held);
	/* In few pieces nothing that is missing is left out. */
	at = 0;
	n = kernel_spans_missing(spans, first, end, 2, missing);
	for (size_t i = first; i < end; i++) {
		while (at < n && missing[at].end <= i)
			at++;
		assert_true(model[i] || (at < n && i >= missing[at].first));
	}
	for (size_t i = 1; i < spans->n; i++)
		assert_true(spans->all[i - 1].end < spans->all[i].first);
}

static void random_changes(void **state)
{
	for (int round = 0; round < 300; round++) {
		struct kernel_spans spans = {0};
		bool model[BYTES] = {false};

		for (int step = 0; step < 100; step++) {
			struct index_window window;
			struct kernel_layout layout;
			size_t first = lrand48() % BYTES, end;

			window_random(&window);
			layout = kernel_layout(&window);
			switch (lrand48() % 3) {
			case 0:
				kernel_spans_written(&spans, &window, true);
				model_set(model, &window, true);
				break;
			case 1:
				kernel_spans_written(&spans, &window, false);
				model_set(model, &window, false);
				break;
			default: /* its gaps cross, too */
				if (!layout.by_rows)
					window.pitch = 0;
				kernel_spans_add_window(&spans, &layout);
				model_set(model, &window, true);
				assert_int_equal(kernel_spans_held_window(&spans, &layout),
				                 layout.bytes);
			}
			end = first + lrand48() % (BYTES - first + 1);
			compare(&spans, model, first, end);
		}
		kernel_spans_clear(&spans);
	}
}

/* Rows with large gaps cross one by one. */
static void by_rows(void **state)
{
	struct index_window window = {1024, 1024 + 3 * 4096 + 64, 4096, 64, true, true};
	struct kernel_layout layout = kernel_layout(&window);
	struct kernel_spans spans = {0};

	assert_true(layout.by_rows);
	kernel_spans_add_window(&spans, &layout);
	assert_int_equal(spans.n, 4);
	assert_int_equal(kernel_spans_held_window(&spans, &layout), layout.bytes);
	kernel_spans_remove(&spans, 1024 + 4096, 1024 + 4096 + 1);
	assert_int_equal(kernel_spans_held_window(&spans, &layout), layout.bytes - 1);
	kernel_spans_clear(&spans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(in_order), cmocka_unit_test(too_many),
	                                   cmocka_unit_test(random_changes),
	                                   cmocka_unit_test(by_rows)};
	unsigned seed = test_seed();

	srand48(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
