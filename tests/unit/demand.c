/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What workers ask for: which tasks (gains), how many (DQAA), and how many
 * transfers at once (streams).
 */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sched_policies/dqaa.h"
#include "sched_policies/gain.h"
#include "sched_policies/streams.h"
#include "tests/unit/test.h"

enum { CPU, GPU, GPU2, CLASSES };

static void seed_draw(void)
{
	unsigned seed = test_seed();

	srand(seed);
}

static double draw(double low, double high)
{
	return low * exp2(log2(high / low) * (rand() / (double)RAND_MAX));
}

/* ---- gains ---- */

static void key_make(struct heddle_pool_key *key, double cpu, double gpu, double gpu2)
{
	double us[HEDDLE_POOL_CLASSES] = {cpu, gpu, gpu2};

	heddle_pool_key_init(key);
	for (int k = 0; k < CLASSES; k++)
		if (us[k] >= 0)
			key->gain[k] = 0;
	for (int k = 0; k < CLASSES; k++)
		us[k] = us[k] > 0 ? us[k] : 0;
	heddle_gain_set(key, us, NULL, CPU);
}

static void test_speedup_over_the_reference(void **state)
{
	struct heddle_pool_key key;

	key_make(&key, 320, 10, 40);
	assert_int_equal(key.gain[GPU], 40);
	assert_int_equal(key.gain[GPU2], 24);
	assert_int_equal(key.gain[CPU], -40);
	assert_int_equal(key.cost[GPU2], heddle_pool_cost(40));
	key_make(&key, 10, 10, -1);
	assert_int_equal(key.gain[CPU], 0);
	assert_int_equal(key.gain[GPU], 0);
	assert_int_equal(key.gain[GPU2], HEDDLE_POOL_CANNOT);
}

static void test_what_is_not_known(void **state)
{
	struct heddle_pool_key key;

	key_make(&key, 0, 10, 20);
	assert_int_equal(key.gain[GPU], 0);
	assert_int_equal(key.gain[CPU], 0);
	assert_int_equal(key.cost[CPU], HEDDLE_POOL_NO_COST);
	key_make(&key, 10, 0, 20);
	assert_int_equal(key.gain[GPU], 0);
	assert_int_equal(key.gain[CPU], 8);
	assert_int_equal(key.gain[GPU2], -8);
}

static void test_who_alone_can(void **state)
{
	struct heddle_pool_key key;

	key_make(&key, -1, 10, 20);
	assert_int_equal(key.gain[CPU], HEDDLE_POOL_CANNOT);
	assert_int_equal(key.gain[GPU], HEDDLE_POOL_ALONE);
	assert_int_equal(key.gain[GPU2], HEDDLE_POOL_ALONE);
	key_make(&key, 10, -1, -1);
	assert_int_equal(key.gain[CPU], HEDDLE_POOL_ALONE);
	key_make(&key, -1, 0, -1);
	assert_int_equal(key.gain[GPU], HEDDLE_POOL_ALONE);
}

/* Two classes want any two tasks in opposite orders, and the accelerator first what
 * it speeds up more. */
static void test_orders_are_opposite(void **state)
{
	seed_draw();
	for (int i = 0; i < 10000; i++) {
		double cpu[2] = {draw(1, 1e6), draw(1, 1e6)}, gpu[2] = {draw(1, 1e6), draw(1, 1e6)};
		struct heddle_pool_key a, b;

		key_make(&a, cpu[0], gpu[0], -1);
		key_make(&b, cpu[1], gpu[1], -1);
		assert_int_equal(a.gain[CPU] > b.gain[CPU], a.gain[GPU] < b.gain[GPU]);
		if (cpu[0] / gpu[0] > 1.2 * cpu[1] / gpu[1])
			assert_true(a.gain[GPU] > b.gain[GPU]);
	}
}

/* A gain that times do not tell for sure is none; a sure one stays. Both order alike. */
static void test_noise(void **state)
{
	struct heddle_pool_key key;
	double us[HEDDLE_POOL_CLASSES] = {100, 90}, spread[HEDDLE_POOL_CLASSES] = {0.1, 0.1};

	key_make(&key, 100, 90, -1);
	assert_int_equal(key.gain[GPU], 1);
	heddle_gain_set(&key, us, spread, CPU);
	assert_int_equal(key.gain[GPU], 0);
	assert_int_equal(key.gain[CPU], 0);
	assert_int_equal(key.gain[GPU2], HEDDLE_POOL_CANNOT);
	/* The interval of the gain is 3.3 steps wide. */
	us[GPU] = 100 / exp2(11 / 8.);
	heddle_gain_set(&key, us, spread, CPU);
	assert_int_equal(key.gain[GPU], 12);
	assert_int_equal(key.gain[CPU], -12);
	assert_int_equal(key.cost[GPU], heddle_pool_cost(us[GPU]));
	spread[CPU] = spread[GPU] = 0;
	heddle_gain_set(&key, us, spread, CPU);
	assert_int_equal(key.gain[GPU], 11);
	/* However wrong times may be, what cannot run elsewhere is alone. */
	key_make(&key, -1, 10, -1);
	spread[GPU] = 1e9;
	heddle_gain_set(&key, us, spread, CPU);
	assert_int_equal(key.gain[GPU], HEDDLE_POOL_ALONE);
	key_make(&key, 10, 10, -1);
	heddle_gain_set(&key, us, spread, CPU);
	assert_int_equal(key.gain[GPU], 0);
}

static void test_finish(void **state)
{
	struct heddle_gain_helper one = {1, 1000, 0}, two[] = {{2, 1000, 0}, {1, 500, 0}};

	assert_true(isinf(heddle_gain_finish(NULL, 0)));
	assert_true(isinf(heddle_gain_finish(&(struct heddle_gain_helper){0, 10, 10}, 1)));
	assert_true(heddle_gain_finish(&one, 1) == 1000);
	assert_true(fabs(heddle_gain_finish(two, 2) - 250) < 1e-9);
	one.busy_us = 500;
	assert_true(heddle_gain_finish(&one, 1) == 1500);
	one = (struct heddle_gain_helper){1, 0, 0};
	assert_true(heddle_gain_finish(&one, 1) == 0);
}

/* ---- DQAA ---- */

/* However the machine changes, the target follows latency / processing time,
 * rounded up, by one a task, within its bounds. */
static void test_queue_follows_the_ratio(void **state)
{
	seed_draw();
	for (int i = 0; i < 2000; i++) {
		unsigned most = 1 + rand() % 40;
		double latency = draw(1e-2, 1e4), us = draw(1, 1e3);
		double right = ceil(latency / us);
		struct heddle_dqaa dqaa;

		heddle_dqaa_init(&dqaa, most);
		assert_int_equal(dqaa.target, 1);
		dqaa.target = 1 + rand() % most;
		heddle_dqaa_received(&dqaa, latency);
		for (unsigned step = 0; step < 2 * most; step++) {
			unsigned before = dqaa.target;

			heddle_dqaa_processed(&dqaa, us);
			assert_in_range(dqaa.target, 1, most);
			assert_true(dqaa.target + 1 >= before && dqaa.target <= before + 1);
			assert_true(fabs(dqaa.target - right) <= fabs(before - right));
		}
		assert_int_equal(dqaa.target, right < most ? right : most);
	}
}

/* Where the ratio is a whole number, so many and no more are wanted. */
static void test_queue_of_a_whole_ratio(void **state)
{
	struct heddle_dqaa dqaa;

	for (unsigned begin = 1; begin <= 5; begin++) {
		heddle_dqaa_init(&dqaa, 10);
		dqaa.target = begin;
		heddle_dqaa_received(&dqaa, 20);
		for (int step = 0; step < 10; step++)
			heddle_dqaa_processed(&dqaa, 10);
		assert_int_equal(dqaa.target, 2);
	}
}

static void test_queue_and_nonsense(void **state)
{
	struct heddle_dqaa dqaa;

	heddle_dqaa_init(&dqaa, 0);
	heddle_dqaa_received(&dqaa, -5);
	heddle_dqaa_processed(&dqaa, 0);
	heddle_dqaa_processed(&dqaa, NAN);
	heddle_dqaa_processed(&dqaa, -1);
	heddle_dqaa_processed(&dqaa, 1);
	assert_int_equal(dqaa.target, 1);
	heddle_dqaa_received(&dqaa, INFINITY);
	heddle_dqaa_processed(&dqaa, 1);
	assert_int_equal(dqaa.target, 1);
	dqaa.most = 3;
	for (int i = 0; i < 10; i++)
		heddle_dqaa_processed(&dqaa, 1);
	assert_int_equal(dqaa.target, 3);
}

/* Every tenth task has a long input and takes longer than that: the ones before it are
 * shorter than its transfer, so one task waiting is not enough, whichever comes. */
static void test_queue_of_tasks_of_two_sizes(void **state)
{
	struct heddle_dqaa dqaa;

	heddle_dqaa_init(&dqaa, 16);
	for (int i = 0; i < 500; i++) {
		bool large = i % 10 == 9;

		heddle_dqaa_received(&dqaa, large ? 2850 : 20);
		heddle_dqaa_processed(&dqaa, large ? 3700 : 1120);
		if (i > 50)
			assert_in_range(dqaa.target, 2, 3);
	}
}

/* ---- streams ---- */

/* A device whose throughput saturates at `knee` transfers and falls beyond `cliff`. */
struct device {
	double knee, cliff, noise;
};

static double rate(const struct device *device, unsigned concurrent)
{
	double rate = concurrent < device->knee ? concurrent / device->knee : 1;

	if (concurrent > device->cliff)
		rate *= device->cliff / concurrent;
	return rate * (1 + device->noise * (rand() / (double)RAND_MAX - .5));
}

/* As good as the best fixed number, over a long run, and quickly. */
static void test_streams_find_the_best_number(void **state)
{
	seed_draw();
	for (int i = 0; i < 500; i++) {
		unsigned most = 1 + rand() % 64, rounds = 400;
		struct device device = {draw(1, 40), 0, i % 2 ? .01 : 0};
		struct heddle_streams streams;
		double best = 0, sum = 0;

		device.cliff = device.knee * draw(1.3, 8);
		heddle_streams_init(&streams, most);
		for (unsigned c = 1; c <= most; c++) {
			struct device quiet = {device.knee, device.cliff, 0};

			best = fmax(best, rate(&quiet, c));
		}
		for (unsigned round = 0; round < rounds; round++) {
			double r = rate(&device, streams.concurrent);

			assert_in_range(streams.concurrent, 1, most);
			if (round >= rounds / 4)
				sum += r;
			heddle_streams_round(&streams, r);
		}
		assert_true(sum / (rounds - rounds / 4) > 0.98 * best);
	}
}

/* Doubling: 2, 4, 8, ... while it pays, then back to the best and steps of one. */
static void test_streams_double_first(void **state)
{
	static const unsigned expected[] = {2, 4, 8, 16, 8, 8, 7};
	struct device device = {8, 12, 0};
	struct heddle_streams streams;

	heddle_streams_init(&streams, 64);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		assert_int_equal(streams.concurrent, expected[i]);
		heddle_streams_round(&streams, rate(&device, streams.concurrent));
		heddle_streams_round(&streams, 0); /* no round */
	}
}

/* Both neighbours of the best number are clearly worse: each is tried once, soon. */
static void test_streams_do_not_repeat_mistakes(void **state)
{
	struct device device = {4, 4.2, 0};
	struct heddle_streams streams;
	unsigned bad = 0;

	heddle_streams_init(&streams, 64);
	for (int round = 0; round < 64; round++) {
		bad += rate(&device, streams.concurrent) < .9;
		heddle_streams_round(&streams, rate(&device, streams.concurrent));
	}
	assert_int_equal(bad, 4); /* 2 and 8 while doubling, 3 and 5 */
}

static void test_streams_keep_the_smaller_number(void **state)
{
	struct device device = {1, 1000, 0};
	struct heddle_streams streams;

	heddle_streams_init(&streams, 64);
	for (int round = 0; round < 400; round++)
		heddle_streams_round(&streams, rate(&device, streams.concurrent));
	assert_in_range(streams.saved, 1, 2);
}

/* Tasks become slower for good, and as fast with few transfers as with many: what was best
 * once does not keep the number up. Noise does now and then, in one run of a hundred for long. */
static void test_streams_forget(void **state)
{
	enum { RUNS = 100, ROUNDS = 1000 };
	struct device device = {8, 12, 0}, slow = {1, 1000, .02};
	unsigned more = 0;

	seed_draw();
	for (int run = 0; run < RUNS; run++) {
		struct heddle_streams streams;

		heddle_streams_init(&streams, 64);
		for (int round = 0; round < 200; round++)
			heddle_streams_round(&streams, rate(&device, streams.concurrent));
		assert_in_range(streams.saved, 7, 13);
		for (int round = 0; round < 2 * ROUNDS; round++) {
			heddle_streams_round(&streams, rate(&slow, streams.concurrent) / 10);
			more += round >= ROUNDS && streams.saved > 2;
		}
	}
	print_message("more than two transfers in %.1f %% of the rounds\n",
	              100. * more / (RUNS * ROUNDS));
	assert_in_range(more, 0, RUNS * ROUNDS / 5);
}

/* Throughput on an accelerator behind a fast bus, nearly the same from 8 on, or falling beyond 4.
 */
static double flat_rate(unsigned concurrent)
{
	return concurrent == 1 ? .83 : concurrent == 2 ? .96 : concurrent < 8 ? .98 : 1;
}

static double falling_rate(unsigned concurrent)
{
	return concurrent <= 4 ? .7 + .3 * concurrent / 4 : fmax(.8, 1 - .02 * (concurrent - 4));
}

/* The mean throughput of many long runs whose rounds are noisy. */
static double mean_rate(double (*curve)(unsigned), double noise)
{
	enum { RUNS = 800, ROUNDS = 1024 };
	double sum = 0;

	for (int run = 0; run < RUNS; run++) {
		struct heddle_streams streams;

		heddle_streams_init(&streams, 64);
		for (int round = 0; round < ROUNDS; round++) {
			double r = curve(streams.concurrent), normal = -6;

			for (int i = 0; i < 12; i++)
				normal += rand() / (double)RAND_MAX;
			sum += r;
			heddle_streams_round(&streams, r * fmax(.2, 1 + noise * normal));
		}
	}
	return sum / RUNS / ROUNDS;
}

/* Chance alone must neither lead away from the best number nor hide it. */
static void test_streams_in_noise(void **state)
{
	seed_draw();
	assert_true(mean_rate(flat_rate, .025) > .99);
	assert_true(mean_rate(flat_rate, .1) > .981);
	assert_true(mean_rate(falling_rate, .05) > .992);
	assert_true(mean_rate(falling_rate, .1) > .975);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_speedup_over_the_reference),
	    cmocka_unit_test(test_what_is_not_known),
	    cmocka_unit_test(test_who_alone_can),
	    cmocka_unit_test(test_orders_are_opposite),
	    cmocka_unit_test(test_noise),
	    cmocka_unit_test(test_finish),
	    cmocka_unit_test(test_queue_follows_the_ratio),
	    cmocka_unit_test(test_queue_of_a_whole_ratio),
	    cmocka_unit_test(test_queue_and_nonsense),
	    cmocka_unit_test(test_queue_of_tasks_of_two_sizes),
	    cmocka_unit_test(test_streams_find_the_best_number),
	    cmocka_unit_test(test_streams_double_first),
	    cmocka_unit_test(test_streams_do_not_repeat_mistakes),
	    cmocka_unit_test(test_streams_keep_the_smaller_number),
	    cmocka_unit_test(test_streams_forget),
	    cmocka_unit_test(test_streams_in_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
