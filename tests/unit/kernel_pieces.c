/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Launches in pieces: into how many, by what they took, and what each sends and fetches.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "partition/kernel/access/windows.h"
#include "partition/kernel/split/pieces.h"
#include "test.h"

/* The time of launches on a machine on which each number of pieces takes so long. */
static double launches(struct pieces *pieces, const double *us, double noise, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++) {
		unsigned many = pieces_choose(pieces), choice = 0;

		while (1U << choice != many)
			choice++;
		assert_true(choice < PIECES_CHOICES);
		sum += us[choice];
		pieces_measured(pieces, many, us[choice] * (1 + noise * drand48()));
	}
	return sum / n;
}

static void the_fastest(void **state)
{
	static const double us[][PIECES_CHOICES] = {
	    {100, 120, 140, 180}, {100, 80, 90, 110}, {100, 90, 70, 75}, {100, 95, 80, 60}};

	for (unsigned i = 0; i < PIECES_CHOICES; i++) {
		struct pieces pieces = {0};

		launches(&pieces, us[i], 0, 20);
		assert_int_equal(pieces_choose(&pieces), 1U << i);
		assert_true(launches(&pieces, us[i], 0.2, 1000) < 1.02 * us[i][i]);
	}
}

static void hardly_faster(void **state)
{
	static const double us[] = {100, 99, 98, 100};
	struct pieces pieces = {0};

	launches(&pieces, us, 0, 20);
	assert_int_equal(pieces_choose(&pieces), 1);
}

/* A number that costs nothing to try does not keep one from being tried that saves more than
 * first launches tell. */
static void free_trials(void **state)
{
	static const double us[] = {100, 100, 94, 100};
	struct pieces pieces = {0};

	launches(&pieces, us, 0, 400);
	assert_int_equal(pieces_choose(&pieces), 4);
}

/* First launches may mislead; later ones put it right. */
static void near_others(void **state)
{
	static const double us[] = {100, 94, 106, 150};

	for (int round = 0; round < 100; round++) {
		struct pieces pieces = {0};

		launches(&pieces, us, 0.1, 200);
		assert_true(launches(&pieces, us, 0.1, 1000) < 1.04 * 94);
	}
}

/* Where launches differ by more than numbers of pieces do, the least of three medians is no
 * reason to change. */
static void noise(void **state)
{
	static const double us[] = {100, 105, 110, 115};
	enum { ROUNDS = 200, LAUNCHES = 150 };
	double sum = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct pieces pieces = {0};

		sum += launches(&pieces, us, 0.5, LAUNCHES);
	}
	printf("  in noise %.4f of the best time\n", sum / ROUNDS / us[0]);
	assert_true(sum / ROUNDS < 1.0205 * us[0]);
}

static void machines_change(void **state)
{
	static const double before[] = {100, 80, 70, 75}, after[] = {60, 80, 90, 95};
	struct pieces pieces = {0};

	launches(&pieces, before, 0, 100);
	assert_int_equal(pieces_choose(&pieces), 4);
	launches(&pieces, after, 0, 2000);
	assert_int_equal(pieces_choose(&pieces), 1);
}

/* ---- what crosses ---- */

enum { BYTES = 1000 };

/* Windows that go forward, at random: every piece has what it reads, and nothing crosses
 * twice. */
static void each_byte_once(void **state)
{
	for (int round = 0; round < 2000; round++) {
		struct kernel_span sent = {0, 0}, send;
		bool there[BYTES] = {false};
		size_t first = 0;

		for (int i = 0; i < PIECES_MOST; i++) {
			struct index_window read = {.first = first + lrand48() % 60};

			read.end = read.first + lrand48() % 80;
			first = read.first;
			assert_true(kernel_chunk_send(&read, &sent, &send));
			for (size_t b = send.first; b < send.end; b++) {
				assert_false(there[b]);
				there[b] = true;
			}
			for (size_t b = read.first; b < read.end; b++)
				assert_true(there[b]);
		}
	}
}

static void not_forward(void **state)
{
	struct kernel_span sent = {0, 0}, send;

	assert_true(
	    kernel_chunk_send(&(struct index_window){.first = 100, .end = 200}, &sent, &send));
	assert_true(
	    kernel_chunk_send(&(struct index_window){.first = 100, .end = 200}, &sent, &send));
	assert_int_equal(send.first, send.end);
	assert_false(
	    kernel_chunk_send(&(struct index_window){.first = 50, .end = 150}, &sent, &send));
}

static void what_is_fetched(void **state)
{
	struct index_use use = {.write = {.first = 10, .end = 30, .known = true, .dense = true}};
	struct kernel_span fetch;

	assert_true(kernel_chunk_fetch(&use, &fetch));
	assert_true(fetch.first == 10 && fetch.end == 30);
	use.read = (struct index_window){.first = 0, .end = 5};
	assert_false(kernel_chunk_fetch(&use, &fetch)); /* read as well */
	use.read = (struct index_window){0};
	use.write.dense = false;
	assert_false(kernel_chunk_fetch(&use, &fetch)); /* perhaps written */
	use.write.dense = true;
	use.write.pitch = 15, use.write.width = 5;
	assert_false(kernel_chunk_fetch(&use, &fetch)); /* rows */
	use.write = (struct index_window){0};
	assert_true(kernel_chunk_fetch(&use, &fetch));
	assert_int_equal(fetch.first, fetch.end);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_fastest),     cmocka_unit_test(hardly_faster),
	    cmocka_unit_test(near_others),     cmocka_unit_test(free_trials),
	    cmocka_unit_test(noise),           cmocka_unit_test(machines_change),
	    cmocka_unit_test(each_byte_once),  cmocka_unit_test(not_forward),
	    cmocka_unit_test(what_is_fetched),
	};
	const char *given = getenv("HEDDLE_TEST_SEED");
	long seed = given ? atol(given) : time(NULL);

	printf("HEDDLE_TEST_SEED=%ld\n", seed);
	srand48(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
