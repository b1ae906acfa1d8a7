/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Costs of iterations by their place, learned in one run for the next: the map from iterations
 * to work, the blocks of a run, what is learned from blocks whose times are known exactly, and
 * what that is worth on simulated machines.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "partition/blocks/costs.h"
#include "partition/blocks/memory.h"
#include "tests/unit/test.h"
#include "partition/blocks/replay.h"

#define N 100000
#define MAXWORKERS 64
#define MANY_DEVICES 8
#define MANY_CORES 128

static double draw(void)
{
	return random() / (RAND_MAX + 1.0);
}

static void costs_draw(struct costs *costs, size_t n)
{
	double sum = 0;

	costs_init(costs, n);
	for (int p = 0; p < COSTS_PARTS; p++)
		costs->before[p + 1] = sum += exp(8 * draw() - 4);
	for (int p = 0; p <= COSTS_PARTS; p++)
		costs->before[p] *= n / sum;
}

/* Any costs: work adds up, and the size for some work has it. */
static void test_map(void **state)
{
	static const size_t sizes[] = {1, 2, 7, 1000, 1024, 123457, (size_t)1 << 40, (size_t)-1};
	struct costs costs;

	srandom(test_seed());
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (int round = 0; round < 200; round++) {
			size_t n = sizes[i], start = draw() * n, size = draw() * (n - start);
			double work;

			costs_draw(&costs, n);
			work = costs_work(&costs, start, size);
			assert_true(work >= 0 && work <= n * (1 + 1e-9));
			assert_true(fabs(costs_size(&costs, start, work) - size) <= 1e-6 * n);
			assert_true(costs_size(&costs, start, 2.0 * n) == n - start);
			assert_true(costs_size(&costs, start, 0) <= 1e-6 * n);
			assert_true(fabs(costs_work(&costs, 0, start) + work +
			                 costs_work(&costs, start + size, n - start - size) - n) <
			            1e-6 * n);
		}
}

static void test_equal_costs(void **state)
{
	struct costs costs;

	costs_init(&costs, 1000);
	assert_true(fabs(costs_work(&costs, 0, 1000) - 1000) < 1e-9);
	assert_true(fabs(costs_work(&costs, 123, 77) - 77) < 1e-9);
	assert_true(costs_work(&costs, 5, 0) == 0);
	costs_init(&costs, 0);
	assert_true(costs_work(&costs, 0, 0) == 0);
}

/* A device's memory is touched for the first time: one transfer is held up, and the next block's
 * data arrive meanwhile. What that block seems to take tells nothing of its iterations. Cheap
 * iterations are still found: there no block but the first one follows a dear one. */
static void held_up(size_t cheap_from, double *cost)
{
	enum { BLOCK = 100, BLOCKS = 40, HELD = 12 };
	struct costs costs;
	struct costs_run run;
	struct costs_worker workers[2] = {{.kind = 1}, {.kind = 0}};
	double noise = 0;

	costs_init(&costs, BLOCK * BLOCKS);
	assert_int_equal(costs_run_init(&run, 2), 0);
	/* The device has two blocks at a time, the core each fourth one. */
	for (unsigned i = 0; i < BLOCKS; i++)
		costs_run_gave(&run, &costs, i % 4 == 3, BLOCK);
	for (unsigned i = 0; i < BLOCKS; i++) {
		double us = i % 4 == 3 ? 3000 : 200;

		us *= i >= cheap_from ? 0.1 : 1;
		us = i == HELD ? 380 : i == HELD + 1 ? 20 : us;
		costs_run_done(&run, i % 4 == 3, BLOCK, us);
	}
	assert_int_equal(costs_learn(&costs, 0, &run, workers, 2, &noise), 0);
	for (unsigned i = 0; i < BLOCKS; i++)
		cost[i] = costs_work(&costs, i * BLOCK, BLOCK) / BLOCK;
	costs_run_fini(&run);
}

static void test_held_up(void **state)
{
	double cost[40];

	held_up(40, cost);
	assert_true(cost[13] > 0.7 && cost[13] < 2);
	held_up(20, cost);
	assert_true(cost[30] < 0.2 * cost[8]);
}

/* Blocks are done in the order of their worker, and given back from its end. */
static void test_blocks(void **state)
{
	struct costs_run run;

	assert_int_equal(costs_run_init(&run, 2), 0);
	assert_true(costs_run_gave(&run, NULL, 0, 10) == 10);
	assert_true(costs_run_gave(&run, NULL, 1, 20) == 20);
	assert_true(costs_run_gave(&run, NULL, 0, 30) == 30);
	assert_int_equal(run.next, 60);
	/* The end of all: as if it had not been given. */
	assert_true(costs_run_returned(&run, 0, 5) == 5);
	assert_int_equal(run.next, 55);
	assert_int_equal(run.returned, 0);
	/* From the midst: another one gets it again, and nothing is told by that. */
	assert_true(costs_run_returned(&run, 1, 20) == 20);
	assert_int_equal(run.next, 55);
	assert_int_equal(run.returned, 20);
	assert_true(costs_run_done(&run, 0, 10, 7) == 10);
	assert_true(costs_run_gave(&run, NULL, 1, 20) == 20);
	assert_int_equal(run.next, 55);
	assert_int_equal(run.returned, 0);
	assert_true(costs_run_done(&run, 0, 25, 8) == 25);
	assert_true(costs_run_done(&run, 1, 20, 9) == 20);
	assert_true(run.blocks[0].us == 7 && run.blocks[2].us == 8 && run.blocks[2].n == 25);
	/* More than it has. */
	assert_true(costs_run_done(&run, 1, 4, 9) == 4);
	assert_true(costs_run_returned(&run, 1, 4) == 4);
	costs_run_fini(&run);
}

static double step_cost(size_t i)
{
	return i >= N * 2 / 5 && i < N * 3 / 5 ? 20 : 1;
}

/* A run whose blocks take start + pace x cost exactly, one size for each kind. */
static void run_make(struct costs_run *run, const struct costs_worker *truth, unsigned nworkers,
                     size_t until)
{
	size_t next = 0;

	assert_int_equal(costs_run_init(run, nworkers), 0);
	for (unsigned w = 0; next < until; w = (unsigned)random() % nworkers) {
		size_t n = (truth[w].kind ? 1000 : 60) * (0.5 + draw());
		double work = 0;

		n = n < until - next ? n : until - next;
		for (size_t i = next; i < next + n; i++)
			work += step_cost(i);
		costs_run_gave(run, NULL, w, n);
		costs_run_done(run, w, n, truth[w].start.us + truth[w].pace * work);
		next += n;
	}
}

/* Two devices and four cores. What is believed of starts is a little wrong. */
static void workers_make(struct costs_worker *truth, struct costs_worker *found)
{
	for (unsigned w = 0; w < 6; w++) {
		truth[w] = (struct costs_worker){.kind = w < 2,
		                                 .start.us = w < 2 ? 50 : 3,
		                                 .pace = w < 2 ? 0.1 + 0.2 * w : 2 + 0.5 * w};
		found[w] = (struct costs_worker){.kind = truth[w].kind,
		                                 .start.us = truth[w].start.us * 0.9};
	}
}

static void learned_check(unsigned draw)
{
	struct costs_worker truth[6], found[6];
	struct costs_run run;
	struct costs costs;
	double noise, work = 0;

	workers_make(truth, found);
	run_make(&run, truth, 6, N);
	costs_init(&costs, N);
	assert_int_equal(costs_learn(&costs, 0, &run, found, 6, &noise), 0);
	for (size_t i = 0; i < N; i++)
		work += step_cost(i);
	for (unsigned w = 0; w < 6; w++) {
		double ratio = found[w].pace / found[0].pace * truth[0].pace / truth[w].pace;

		if (fabs(log(ratio)) > 0.15)
			fail_msg("draw %u, worker %u: pace off by %g", draw, w, ratio);
	}
	assert_true(fabs(costs_work(&costs, 0, N / 4) / N - N / 4 / work) < 0.01);
	assert_true(fabs(costs_work(&costs, N * 9 / 20, N / 10) / N - 20.0 * N / 10 / work) < 0.03);
	assert_true(noise < 0.1);
	costs_run_fini(&run);
}

/* Unequal workers of two kinds and a dear middle: paces to each other and costs come out, though
 * nothing but times of blocks is known, and starts about. */
static void test_learned(void **state)
{
	srandom(test_seed());
	for (unsigned draw = 0; draw < 100; draw++)
		learned_check(draw);
}

/* One of a worker's few blocks lies beside an edge, in the part of the loop that has the edge: its
 * work is not known, and says nothing of the worker. */
static void test_beside_edge(void **state)
{
	struct costs_worker truth[2] = {{.pace = 1}, {.pace = 2}}, found[2] = {{0}};
	struct costs_run run;
	struct costs costs;
	double noise;
	size_t n = 40;

	assert_int_equal(costs_run_init(&run, 2), 0);
	for (size_t next = 0; next < N; next += n) {
		bool cheap = next < N * 2 / 5 || next >= N * 3 / 5;
		unsigned w = (cheap && next % (200 * n) == 0) || next == N * 2 / 5 - n;
		double work = 0;

		for (size_t i = next; i < next + n; i++)
			work += step_cost(i);
		costs_run_gave(&run, NULL, w, n);
		costs_run_done(&run, w, n, truth[w].pace * work);
	}
	costs_init(&costs, N);
	assert_int_equal(costs_learn(&costs, 0, &run, found, 2, &noise), 0);
	if (fabs(log(found[1].pace / found[0].pace / 2)) > 0.05)
		fail_msg("paces %g, %g", found[0].pace, found[1].pace);
	costs_run_fini(&run);
}

/* A device's block that is short, and ends at the edge of a dear end: parts of the loop say that it
 * is the largest one. What its other blocks took tells the pace. */
static void test_short_beside_edge(void **state)
{
	enum { EDGE = N / 100 * 99, SHORT = EDGE - 70, CORE = SHORT - 100 };
	struct costs_worker truth[2] = {{.start.us = 5, .pace = 5},
	                                {.kind = 1, .start.us = 50, .follow.us = 4, .pace = 0.1}};
	struct costs_worker found[2] = {{.start.us = 5},
	                                {.kind = 1, .start.us = 50, .follow.us = 4}};
	struct costs_run run;
	struct costs costs;
	double noise, has_work = 0;
	size_t has = 0, n;

	(void)state;
	assert_int_equal(costs_run_init(&run, 2), 0);
	for (size_t next = 0, k = 0; next < N; next += n, k++) {
		bool dear = next >= EDGE;
		bool device = next == SHORT || (k % 10 == 0 && (next < CORE || dear));
		size_t until = next < CORE ? CORE : next < SHORT ? SHORT : dear ? N : EDGE;
		double work;

		n = device ? (dear ? 10 : 500) * (1 + k / 10 % 3) : (dear ? 2 : 20);
		n = n < until - next ? n : until - next;
		work = n * (dear ? 50.0 : 1.0);
		costs_run_gave(&run, NULL, device, n);
		if (!device) {
			costs_run_done(&run, 0, n, truth[0].start.us + truth[0].pace * work);
			continue;
		}
		/* The one before is done when this one waits. */
		if (has)
			costs_run_done(&run, 1, has,
			               (has_work < 0 ? truth[1].start.us : truth[1].follow.us) +
			                   truth[1].pace * fabs(has_work));
		has_work = has ? work : -work;
		has = n;
	}
	costs_run_done(&run, 1, has, truth[1].follow.us + truth[1].pace * has_work);
	costs_init(&costs, N);
	assert_int_equal(costs_learn(&costs, 0, &run, found, 2, &noise), 0);
	if (fabs(log(found[1].pace / found[0].pace * truth[0].pace / truth[1].pace)) > 0.2)
		fail_msg("paces %g, %g", found[0].pace, found[1].pace);
	costs_run_fini(&run);
}

/* An accelerator's first block takes long: for what comes once, or since the first iterations are
 * dear, as the blocks of the core beside it tell. */
static void test_once(void **state)
{
	struct costs_worker truth[2] = {{.kind = HEDDLE_KIND_CUDA, .pace = 1},
	                                {.kind = HEDDLE_KIND_CPU, .pace = 2}};

	for (int dear = 0; dear < 2; dear++) {
		struct costs_worker found[2] = {truth[0], truth[1]};
		struct costs_run run;
		struct costs costs;
		double noise, first;
		size_t n = 100;

		found[0].pace = found[1].pace = 0;
		assert_int_equal(costs_run_init(&run, 2), 0);
		for (size_t next = 0; next < N; next += n) {
			unsigned w = next / n % 2;
			double cost = dear && next < N / 20 ? 30 : 1;

			costs_run_gave(&run, NULL, w, n);
			costs_run_done(&run, w, n,
			               truth[w].pace * n * cost + (dear || next ? 0 : 3000));
		}
		costs_init(&costs, N);
		assert_int_equal(costs_learn(&costs, 0, &run, found, 2, &noise), 0);
		assert_int_equal(run.blocks[0].once, !dear);
		if (fabs(log(found[1].pace / found[0].pace / 2)) > 0.05)
			fail_msg("dear %d: paces %g, %g", dear, found[0].pace, found[1].pace);
		first = costs_work(&costs, 0, n) / costs_work(&costs, N / 2, n);
		if (fabs(log(first / (dear ? 30 : 1))) > 0.1)
			fail_msg("dear %d: the first iterations cost %g", dear, first);
		costs_run_fini(&run);
	}
}

/* First blocks took long as was expected of their places, though other costs were not as expected
 * and are forgotten: what is learned anew has them. */
static void test_once_expected(void **state)
{
	struct costs_worker found[2] = {{.kind = HEDDLE_KIND_CUDA}, {.kind = HEDDLE_KIND_CUDA}};
	struct costs expected, costs;
	struct costs_run run;
	double noise, first;
	size_t n = N / 64;

	costs_init(&expected, N);
	for (int p = 0; p < COSTS_PARTS; p++)
		expected.before[p + 1] = expected.before[p] + (p < COSTS_PARTS / 32 ? 30 : 1);
	for (int p = 1; p <= COSTS_PARTS; p++)
		expected.before[p] *= N / (COSTS_PARTS * (1 + 29 / 32.0));
	assert_int_equal(costs_run_init(&run, 2), 0);
	for (size_t next = 0; next + n <= N; next += n) {
		unsigned w = next / n % 2;
		double work = costs_run_gave(&run, &expected, w, n);

		costs_run_done(&run, w, n, work);
	}
	costs_init(&costs, N);
	assert_int_equal(costs_learn(&costs, 0, &run, found, 2, &noise), 0);
	assert_false(run.blocks[0].once || run.blocks[1].once);
	first = costs_work(&costs, 0, n) / costs_work(&costs, N / 2, n);
	if (fabs(log(first / 30)) > 0.1)
		fail_msg("the first iterations cost %g", first);
	costs_run_fini(&run);
}

/* @param dear until the midst, where iterations are dear, else until behind it
 * @param wrong half of the beliefs are three times too slow
 * @return the factor by which the worst pace is off, at least 1 */
static double front_off(const struct costs_worker *truth, bool dear, bool wrong)
{
	struct costs_worker found[6];
	struct costs_run run;
	double noise = 0, worst = 0;

	run_make(&run, truth, 6, dear ? N / 2 : N * 9 / 10);
	for (unsigned w = 0; w < 6; w++) {
		found[w] = truth[w];
		found[w].start.us *= 0.9;
		found[w].pace *= wrong && w % 2 ? 3 : 1;
	}
	for (int call = 0; call < 2; call++)
		assert_int_equal(costs_front(&run, 120, found, 6, &noise), 0);
	for (unsigned w = 0; w < 6; w++)
		worst = fmax(worst, fabs(log(found[w].pace / truth[w].pace / (dear ? 20 : 1))));
	assert_true(noise < 0.15);
	costs_run_fini(&run);
	return exp(worst);
}

/* In mid-run all workers are as much slower as iterations are dearer, whether their latest blocks
 * lie there or not, and faster again behind. Beliefs that are wrong are given up, as where all of
 * them were measured alike. A worker with few of the latest blocks may be drawn to the others: of
 * 48,000 draws, 4 were. */
static void test_front(void **state)
{
	struct costs_worker truth[6], found[6];
	unsigned off = 0, draws = 400;

	srandom(test_seed());
	workers_make(truth, found);
	for (unsigned i = 0; i < draws; i++)
		off += front_off(truth, i & 1, i & 2) > exp(0.2);
	if (off > draws / 100)
		fail_msg("%u of %u draws: a pace is off by a fifth", off, draws);
}

/* Many blocks that all take the same: their middle is found, and there is no noise. */
static void test_same_blocks(void **state)
{
	struct costs_worker workers[2] = {{.pace = 2}, {.pace = 2}};
	unsigned blocks = 100000;
	struct costs_run run;
	struct costs costs;
	double noise = 0;

	assert_int_equal(costs_run_init(&run, 2), 0);
	for (unsigned i = 0; i < blocks; i++) {
		costs_run_gave(&run, NULL, i % 2, 8);
		costs_run_done(&run, i % 2, 8, 16);
	}
	assert_int_equal(costs_front(&run, blocks, workers, 2, &noise), 0);
	assert_true(noise == 0);
	assert_true(fabs(workers[0].pace - 2) < 1e-9 && fabs(workers[1].pace - 2) < 1e-9);
	costs_init(&costs, 8UL * blocks);
	assert_int_equal(costs_learn(&costs, 0, &run, workers, 2, &noise), 0);
	assert_true(noise < 1e-9);
	assert_true(fabs(costs_work(&costs, 0, 4UL * blocks) - 4.0 * blocks) < 1e-3);
	costs_run_fini(&run);
}

static void test_nothing_to_learn(void **state)
{
	struct costs_worker workers[1] = {{0}};
	struct costs_run run;
	struct costs costs, before;
	double noise;

	assert_int_equal(costs_run_init(&run, 1), 0);
	costs_init(&costs, N);
	before = costs;
	assert_int_equal(costs_learn(&costs, 0, &run, workers, 1, &noise), -ENOENT);
	costs_run_gave(&run, NULL, 0, N);
	costs_run_done(&run, 0, N, 1e-3);
	assert_int_equal(costs_learn(&costs, 0, &run, workers, 1, &noise), -ENOENT);
	assert_memory_equal(&costs, &before, sizeof(costs));
	workers[0].pace = 5;
	noise = 0;
	assert_int_equal(costs_front(&run, 8, workers, 1, &noise), -ENOENT);
	assert_true(workers[0].pace == 5 && noise == 0);
	costs_run_fini(&run);
}

/* ---- simulated machines ---- */

static double work[N + 1];

static void work_fill(double from, double to, double factor)
{
	work[0] = 0;
	for (size_t i = 0; i < N; i++)
		work[i + 1] = work[i] + (i >= from * N && i < to * N ? factor : 1);
}

static struct replay_machine machine_make(struct replay_worker *workers, unsigned cores,
                                          double device)
{
	struct replay_machine machine = {.n = N, .workers = workers, .work = work, .seed = 1};
	double us = 20e3, rate = work[N] / us / (cores + device);

	memset(workers, 0, MAXWORKERS * sizeof(*workers));
	for (unsigned w = 0; w < cores + (device > 0); w++) {
		bool core = w < cores;

		workers[w].given.kind = core ? HEDDLE_KIND_CPU : HEDDLE_KIND_CUDA;
		workers[w].rate = core ? rate : rate * device;
		workers[w].overhead_us = core ? 3 : 50;
		workers[w].noise = 0.05;
	}
	machine.nworkers = cores + (device > 0);
	return machine;
}

/* Efficiency of the last of some repetitions. */
static double repeat(struct replay_machine *machine, unsigned reps, struct blocks_memory **memory)
{
	double efficiency = 0;

	machine->memory = memory;
	for (unsigned r = 0; r < reps; r++) {
		struct replay_result result;

		machine->seed++;
		assert_int_equal(replay_run("hdss", machine, &result), 0);
		assert_int_equal(result.left, 0);
		efficiency = result.ideal_us / result.makespan_us;
		replay_free(&result);
	}
	return efficiency;
}

/* Dear parts, wherever they are: the third run knows them. */
static void test_repetitions(void **state)
{
	static const struct {
		double from, to, factor;
	} zones[] = {{0, 1, 1}, {0.99, 1, 50}, {0, 0.01, 50}, {0.4, 0.6, 20}, {0.5, 1, 4}};
	struct replay_worker workers[MAXWORKERS];

	for (size_t z = 0; z < sizeof(zones) / sizeof(*zones); z++)
		for (int device = 0; device <= 36; device += 36) {
			struct blocks_memory *memory = NULL;
			struct replay_machine machine;
			double efficiency;

			work_fill(zones[z].from, zones[z].to, zones[z].factor);
			machine = machine_make(workers, 15, device);
			efficiency = repeat(&machine, 3, &memory);
			if (efficiency < 0.93)
				fail_msg("zone %zu, device %d: efficiency %g", z, device,
				         efficiency);
			assert_int_equal(memory->runs > 0, 1);
			free(memory);
		}
}

/* Cores seem to begin blocks in no time where all blocks are alike. A run of half a millisecond
 * that is as those before has few of them all the same. */
static void test_short(void **state)
{
	struct replay_worker workers[MAXWORKERS];
	struct blocks_memory *memory = NULL;
	struct replay_machine machine;
	struct replay_result result;

	work_fill(0, 1, 1);
	machine = machine_make(workers, 2, 0);
	for (unsigned w = 0; w < 2; w++) {
		workers[w].rate *= 40;
		workers[w].overhead_us = 0.3;
		workers[w].noise = 0.02;
	}
	repeat(&machine, 2, &memory);
	for (unsigned r = 0; r < 5; r++) {
		assert_int_equal(replay_run("hdss", &machine, &result), 0);
		if (result.nblocks > 32 || result.ideal_us < 0.96 * result.makespan_us)
			fail_msg("run %u: %zu blocks, efficiency %g", r, result.nblocks,
			         result.ideal_us / result.makespan_us);
		replay_free(&result);
	}
	free(memory);
}

/* Costs that change from one run to the next are not believed for long. */
static void test_changed(void **state)
{
	struct replay_worker workers[MAXWORKERS];
	struct blocks_memory *memory = NULL;
	struct replay_machine machine;
	double first, changed, later = 0;

	work_fill(0, 0.2, 20);
	machine = machine_make(workers, 15, 36);
	first = repeat(&machine, 1, &memory);
	free(memory);
	memory = NULL;
	work_fill(0.8, 1, 20);
	repeat(&machine, 3, &memory);
	work_fill(0, 0.2, 20);
	changed = repeat(&machine, 1, &memory);
	if (changed < first - 0.1)
		fail_msg("efficiency %g without, %g with what is wrong", first, changed);
	for (unsigned r = 0; r < 5; r++)
		later += repeat(&machine, 1, &memory) / 5;
	assert_true(later > 0.93);
	free(memory);
}

/* A loop of few long iterations, ideally 5 ms, runs again: a device with launches of 1 ms or more,
 * and cores. Each core does as many whole iterations as fit, and the device the rest in one launch.
 */
static void test_whole_iterations(void **state)
{
	static const struct {
		unsigned cores, n;
		double device, launch;
	} cases[] = {{3, 150, 64, 1000},
	             {3, 200, 64, 1000},
	             {3, 250, 64, 1000},
	             {5, 300, 64, 1000},
	             {5, 400, 100, 2000}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct replay_worker workers[MAXWORKERS];
		struct blocks_memory *memory = NULL;
		struct replay_machine machine = {.n = cases[i].n,
		                                 .nworkers = cases[i].cores + 1,
		                                 .workers = workers,
		                                 .memory = &memory};
		double rate = cases[i].n / 5000.0 / (cases[i].cores + cases[i].device), best = 1e9,
		       us = 0;
		struct replay_result result;

		memset(workers, 0, sizeof(workers));
		for (unsigned w = 0; w < machine.nworkers; w++) {
			workers[w].given.kind = w ? HEDDLE_KIND_CPU : HEDDLE_KIND_CUDA;
			workers[w].rate = rate * (w ? 1 : cases[i].device);
			workers[w].overhead_us = w ? 3 : cases[i].launch;
		}
		for (unsigned each = 0; each * cases[i].cores <= cases[i].n; each++)
			best =
			    fmin(best, fmax(each * (3 + 1 / rate),
			                    cases[i].launch + (cases[i].n - each * cases[i].cores) /
			                                          workers[0].rate));
		for (unsigned run = 0; run < 2; run++) {
			assert_int_equal(replay_run("hdss", &machine, &result), 0);
			us = result.makespan_us;
			replay_free(&result);
		}
		if (us > 1.001 * best)
			fail_msg("case %zu: %g us, and %g are possible", i, us, best);
		free(memory);
	}
}

/* Cores alone: each does as many of the few long iterations as fit, and nobody one more. */
static void test_whole_iterations_of_cores(void **state)
{
	static const struct {
		unsigned cores, n;
		double best_us;
	} cases[] = {{2, 4, 15e3}, {4, 8, 15e3}, {2, 7, 25e3}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct replay_worker workers[MAXWORKERS];
		struct replay_machine machine = {
		    .n = cases[i].n, .nworkers = cases[i].cores, .workers = workers};
		struct replay_result result;

		memset(workers, 0, sizeof(workers));
		for (unsigned w = 0; w < machine.nworkers; w++)
			workers[w].rate = (1 + w % 2) / 10e3;
		assert_int_equal(replay_run("hdss", &machine, &result), 0);
		if (result.makespan_us > 1.001 * cases[i].best_us)
			fail_msg("case %zu: %g us", i, result.makespan_us);
		replay_free(&result);
	}
}

/* A device that becomes slower in a run that is known: its pace, not the costs. */
static void test_slower(void **state)
{
	struct replay_worker workers[MAXWORKERS];
	struct blocks_memory *memory = NULL;
	struct replay_machine machine;
	double first, known;

	work_fill(0.4, 0.6, 5);
	machine = machine_make(workers, 15, 36);
	workers[15].change_us = 8e3;
	workers[15].change_factor = 0.25;
	first = repeat(&machine, 1, &memory);
	free(memory);
	memory = NULL;
	workers[15].change_us = 0;
	repeat(&machine, 3, &memory);
	workers[15].change_us = 8e3;
	known = repeat(&machine, 1, &memory);
	if (known < first - 0.05)
		fail_msg("efficiency %g without, %g with what was known", first, known);
	free(memory);
}

/* Blocks of cores in the last of some repetitions, and its length. */
static size_t repeat_cores(const char *spec, struct replay_machine *machine, unsigned reps,
                           struct blocks_memory **memory, double *us)
{
	size_t count = 0;

	machine->memory = memory;
	for (unsigned r = 0; r < reps; r++) {
		struct replay_result result;

		machine->seed++;
		assert_int_equal(replay_run(spec, machine, &result), 0);
		assert_int_equal(result.left, 0);
		count = 0;
		for (size_t i = 0; i < result.nblocks; i++)
			count +=
			    machine->workers[result.blocks[i].worker].given.kind == HEDDLE_KIND_CPU;
		*us = result.makespan_us;
		replay_free(&result);
	}
	return count;
}

/* Cores that slow the device by half leave the loop to it, unless it fails. */
static void test_crowded(void **state)
{
	struct replay_worker workers[MAXWORKERS];
	struct blocks_memory *memory = NULL, *other = NULL;
	struct replay_machine machine;
	double us, without;

	work_fill(0, 1, 1);
	machine = machine_make(workers, 15, 36);
	workers[15].depth = 2;
	workers[15].transfer = 0.5;
	workers[15].crowded = 0.5;
	for (unsigned w = 0; w < machine.nworkers; w++)
		workers[w].rate /= 5;
	assert_true(repeat_cores("hdss", &machine, 2, &memory, &us) > 0);
	/* The third run begins without them, and believes that. */
	for (unsigned r = 0; r < 20; r++)
		assert_int_equal(repeat_cores("hdss", &machine, 1, &memory, &us), 0);
	assert_true(repeat_cores("hdss:crew=0", &machine, 9, &other, &without) > 0);
	if (!(us < 0.95 * without))
		fail_msg("%g us without cores, %g with them", us, without);
	workers[15].stop_us = us / 2;
	assert_true(repeat_cores("hdss", &machine, 1, &memory, &us) > 0);
	free(memory);
	free(other);
}

/* Beside the cores the device looks as if it was a seventh of the machine. Alone it is faster than
 * all. Cores would miss much in a trial, so it comes later than in the third run. */
static void test_crowded_much(void **state)
{
	struct replay_worker workers[MAXWORKERS];
	struct blocks_memory *memory = NULL;
	struct replay_machine machine;
	double us;

	work_fill(0, 1, 1);
	machine = machine_make(workers, 15, 22);
	workers[15].crowded = 0.89;
	for (unsigned w = 0; w < machine.nworkers; w++)
		workers[w].rate /= 5;
	assert_true(repeat_cores("hdss", &machine, 3, &memory, &us) > 0);
	for (unsigned r = 0; r < 5; r++)
		assert_int_equal(repeat_cores("hdss", &machine, 1, &memory, &us), 0);
	free(memory);
}

/* A device whose transfers take as long as its computation, and whose starts are a part of the run,
 * has no run as one block, in which nothing overlaps. Cores that slow it are left out. */
static void test_transfers(void **state)
{
	enum { CORES = 12, ITERATIONS = 4096, RUNS = 12 };
	struct replay_worker workers[CORES + 1] = {{.rate = 0}};
	struct replay_machine machine = {
	    .n = ITERATIONS, .workers = workers, .nworkers = CORES + 1};
	struct blocks_memory *memory = NULL;

	for (unsigned w = 0; w <= CORES; w++) {
		workers[w].given.kind = w < CORES ? HEDDLE_KIND_CPU : HEDDLE_KIND_CUDA;
		workers[w].rate = w < CORES ? 0.0082 : 0.36;
		workers[w].overhead_us = w < CORES ? 1.5 : 75;
		workers[w].noise = 0.03;
	}
	workers[CORES].depth = 2;
	workers[CORES].transfer = 0.5;
	workers[CORES].crowded = 0.35;
	for (unsigned run = 1; run <= RUNS; run++) {
		double us;
		size_t count = repeat_cores("hdss", &machine, 1, &memory, &us);

		/* 7600 us without cores; as one block 12800. */
		if ((run > 1 && us > 11500) || (run == RUNS && (count || us > 8500)))
			fail_msg("run %u: %g us, %zu blocks of cores", run, us, count);
	}
	free(memory);
}

/* A device whose first block took longer than the run, since something came once with it. Half that
 * block tells so in the second run. */
static void test_only_block_late(void **state)
{
	enum { CORES = 12, ITERATIONS = 250000 };
	struct replay_worker workers[CORES + 1] = {{.rate = 0}};
	struct replay_machine machine = {
	    .n = ITERATIONS, .workers = workers, .nworkers = CORES + 1};
	struct blocks_memory *memory = NULL;
	double us;

	(void)state;
	for (unsigned w = 0; w <= CORES; w++) {
		workers[w].given.kind = w < CORES ? HEDDLE_KIND_CPU : HEDDLE_KIND_CUDA;
		workers[w].rate = w < CORES ? 4 : 50;
		workers[w].overhead_us = w < CORES ? 3 : 27;
		workers[w].noise = 0.02;
	}
	workers[CORES].depth = 2;
	workers[CORES].once_us = 6200;
	repeat_cores("hdss", &machine, 1, &memory, &us);
	workers[CORES].once_us = 0;
	for (unsigned run = 2; run <= 6; run++) {
		repeat_cores("hdss", &machine, 1, &memory, &us);
		/* 5200 us without the device, 2550 ideally. */
		if (us > (run > 2 ? 2800 : 4000))
			fail_msg("run %u: %g us", run, us);
	}
	free(memory);
}

struct crowd {
	struct replay_worker workers[70];
	unsigned cores, devices;
	size_t n;
	double once_us; /* of first blocks in the first run */
};

/* Cores slow the devices by up to 0.6. */
static void crowd_draw(struct crowd *c)
{
	double alone_us = 2e3 * pow(25, drand48()), part = 0.1 * pow(20, drand48());
	double start = 20 * pow(7.5, drand48()), noise = 0.01 * pow(10, drand48());
	double transfer = 0.6 * drand48(), crowded = 0.1 + 0.5 * drand48();

	*c = (struct crowd){.cores = 2 * pow(30, drand48()), .devices = 1 << (int)(3 * drand48())};
	c->n = 2000 * pow(500, drand48());
	c->once_us = drand48() < 0.5 ? 500 * pow(20, drand48()) : 0;
	for (unsigned w = 0; w < c->devices + c->cores; w++) {
		bool device = w < c->devices;

		c->workers[w] = (struct replay_worker){
		    .given.kind = device ? HEDDLE_KIND_CUDA : HEDDLE_KIND_CPU,
		    .rate = c->n / alone_us *
		            (device ? 0.7 * pow(2, drand48()) / c->devices : part / c->cores),
		    .overhead_us = device ? start : 3,
		    .noise = noise,
		    .depth = device ? 2 : 1,
		    .transfer = device ? transfer : 0,
		    .crowded = device ? crowded : 0};
	}
}

/* @return blocks of cores in the fifth run, and how long it takes */
static size_t crowd_run(struct crowd *c, const char *spec, bool cores, double *us)
{
	struct blocks_memory *memory = NULL;
	struct replay_machine machine = {.n = c->n, .workers = c->workers};
	size_t count;

	machine.nworkers = c->devices + (cores ? c->cores : 0);
	for (unsigned w = 0; w < c->devices; w++)
		c->workers[w].once_us = c->once_us;
	repeat_cores(spec, &machine, 1, &memory, us);
	for (unsigned w = 0; w < c->devices; w++)
		c->workers[w].once_us = 0;
	count = repeat_cores(spec, &machine, 4, &memory, us);
	free(memory);
	return count;
}

/* Where the devices alone are faster than all by 5 % in the fifth run, it is theirs. */
static void test_crowded_drawn(void **state)
{
	enum { MACHINES = 100 };
	unsigned wrong = 0, clear = 0;

	(void)state;
	srand48(5);
	for (unsigned k = 0; k < MACHINES; k++) {
		double us, all_us, devices_us;
		struct crowd c;

		crowd_draw(&c);
		crowd_run(&c, "hdss:crew=0", true, &all_us);
		crowd_run(&c, "hdss:crew=0", false, &devices_us);
		if (all_us < 1.05 * devices_us)
			continue;
		clear++;
		wrong += crowd_run(&c, "hdss", true, &us) > 0;
	}
	print_message("cores are in %u of %u fifth runs\n", wrong, clear);
	assert_true(wrong <= clear / 8);
}

/* Cores that slow the device in one run and not in the next: the mean of the runs counts. */
static void test_crowded_at_times(void **state)
{
	enum { RUNS = 24 };
	struct replay_worker workers[MAXWORKERS];
	struct blocks_memory *memories[2] = {NULL};
	struct replay_machine machine;
	double us, sum[2] = {0};

	work_fill(0, 1, 1);
	machine = machine_make(workers, 15, 36);
	for (unsigned w = 0; w < machine.nworkers; w++)
		workers[w].rate /= 5;
	for (unsigned r = 0; r < RUNS; r++) {
		workers[15].crowded = r % 3 ? 0.9 : 0;
		repeat_cores("hdss", &machine, 1, &memories[0], &us);
		sum[0] += us;
		repeat_cores("hdss:crew=0", &machine, 1, &memories[1], &us);
		sum[1] += us;
	}
	if (!(sum[0] < 0.9 * sum[1]))
		fail_msg("%g us, %g us where cores always take part", sum[0], sum[1]);
	free(memories[0]);
	free(memories[1]);
}

/* A repetition with trials of runs without cores, and the same one without trials. */
static size_t repeat_both(struct replay_machine *machine, struct blocks_memory *memories[2],
                          double *us, double *without)
{
	size_t count = repeat_cores("hdss", machine, 1, &memories[0], us);

	machine->seed--;
	repeat_cores("hdss:crew=0", machine, 1, &memories[1], without);
	return count;
}

static void memories_free(struct blocks_memory *memories[2])
{
	free(memories[0]);
	free(memories[1]);
}

/* Cores that slow the device by less than they bring stay, and a trial costs little. */
static void test_not_crowded(void **state)
{
	struct replay_worker workers[MAXWORKERS];
	struct blocks_memory *memories[2] = {NULL};
	struct replay_machine machine;
	double us, without;

	work_fill(0, 1, 1);
	machine = machine_make(workers, 15, 36);
	workers[15].crowded = 0.1;
	for (unsigned rep = 1; rep < 9; rep++) {
		assert_true(repeat_both(&machine, memories, &us, &without) > 0);
		if (us > 1.04 * without)
			fail_msg("repetition %u: %g us, %g without a trial", rep, us, without);
	}
	memories_free(memories);
}

/* Where cores slow nobody accelerators fall behind at once: cores miss little of the third run. */
static void test_trial_fails_soon(void **state)
{
	double sum = 0;

	(void)state;
	for (unsigned cores = 4; cores <= 20; cores++) {
		struct replay_worker workers[MAXWORKERS];
		struct blocks_memory *memories[2] = {NULL};
		struct replay_machine machine;
		double us, without;

		work_fill(0, 1, 1);
		machine = machine_make(workers, cores, 36);
		for (unsigned w = 0; w < machine.nworkers; w++)
			workers[w].rate /= 5;
		for (unsigned rep = 1; rep <= 3; rep++)
			repeat_both(&machine, memories, &us, &without);
		sum += us / without / 17;
		memories_free(memories);
	}
	print_message("third runs take %.4f times as long as without a trial\n", sum);
	assert_true(sum < 1.006);
}

/* A device that had two blocks under way has one now: nothing overlaps, but blocks tell that it is
 * no faster without cores. */
static void test_trial_without_pipeline(void **state)
{
	struct replay_worker workers[MAXWORKERS];
	struct blocks_memory *memories[2] = {NULL};
	struct replay_machine machine;
	double us, without;

	(void)state;
	work_fill(0, 1, 1);
	machine = machine_make(workers, 12, 12);
	workers[12].depth = 2;
	for (unsigned rep = 1; rep <= 2; rep++)
		repeat_both(&machine, memories, &us, &without);
	workers[12].depth = 1;
	repeat_both(&machine, memories, &us, &without);
	if (us > 1.1 * without)
		fail_msg("%g us, %g without a trial", us, without);
	memories_free(memories);
}

/* Runs that take half as long or twice as long as others, by their iterations: one that is short
 * without cores says nothing against cores. */
static void test_not_crowded_unlike(void **state)
{
	static const double factors[] = {1, 1, 0.5, 2, 1.9, 2, 1.8, 2, 1.9, 2, 1.8, 2};
	struct replay_worker workers[MAXWORKERS];
	struct blocks_memory *memories[2] = {NULL};
	struct replay_machine machine;
	double us, without, sum = 0, sum_without = 0;

	work_fill(0, 1, 1);
	machine = machine_make(workers, 15, 36);
	for (unsigned rep = 0; rep < sizeof(factors) / sizeof(factors[0]); rep++) {
		for (unsigned w = 0; w < machine.nworkers; w++)
			workers[w].rate *= factors[rep];
		repeat_both(&machine, memories, &us, &without);
		for (unsigned w = 0; w < machine.nworkers; w++)
			workers[w].rate /= factors[rep];
		sum += us;
		sum_without += without;
	}
	if (sum > 1.02 * sum_without)
		fail_msg("%g us, %g without trials", sum, sum_without);
	memories_free(memories);
}

/* Cores come back where iterations have become so cheap that a run without cores looks short. */
static void test_cheaper(void **state)
{
	struct replay_worker workers[MAXWORKERS];
	struct blocks_memory *memory = NULL;
	struct replay_machine machine;
	double us;

	work_fill(0, 1, 1);
	machine = machine_make(workers, 15, 36);
	repeat_cores("hdss", &machine, 3, &memory, &us);
	for (unsigned w = 0; w < machine.nworkers; w++)
		workers[w].rate *= 2;
	for (unsigned rep = 0; rep < 20; rep++)
		repeat_cores("hdss", &machine, 1, &memory, &us);
	assert_true(repeat_cores("hdss", &machine, 1, &memory, &us) > 0);
	free(memory);
}

/* A run without cores shows that what was known of the accelerator is wrong: the run after it knows
 * better, and begins with cores. */
static void test_trial_tells(void **state)
{
	struct replay_worker workers[MAXWORKERS];

	work_fill(0, 1, 1);
	for (unsigned slower = 32; slower <= 64; slower *= 2) {
		struct replay_machine machine = machine_make(workers, 15, 300);
		struct blocks_memory *memory = NULL;
		double efficiency;

		workers[15].depth = 2;
		repeat(&machine, 2, &memory);
		workers[15].rate /= slower;
		repeat(&machine, 1, &memory);
		/* That one was without cores. */
		assert_true(memory->crew.trial > 3);
		efficiency = repeat(&machine, 1, &memory);
		if (efficiency < 0.95)
			fail_msg("slower by %u: efficiency %g", slower, efficiency);
		free(memory);
	}
}

/* Launches that are a fifth of the loop: a later run knows them, and gives each device about one
 * block. Devices of a kind are unlike each other. */
static void test_long_starts(void **state)
{
	static const double speeds[] = {36, 9};
	struct replay_worker workers[MAXWORKERS];

	for (unsigned ndevices = 1; ndevices <= 2; ndevices++)
		for (unsigned depth = 1; depth <= 2; depth++) {
			struct blocks_memory *memory = NULL;
			struct replay_machine machine;
			double sum = 15, late = 0, ideal = 5e3, efficiency;

			work_fill(0, 1, 1);
			machine = machine_make(workers, 15 + ndevices, 0);
			for (unsigned d = 0; d < ndevices; d++)
				sum += speeds[d];
			for (unsigned w = 0; w < machine.nworkers; w++) {
				double speed = w < ndevices ? speeds[w] : 1;

				workers[w].rate = speed * N / sum / ideal;
				if (w >= ndevices)
					continue;
				workers[w].given.kind = HEDDLE_KIND_CUDA;
				workers[w].overhead_us = 1000;
				workers[w].depth = depth;
				late += 1000 * speed / sum;
			}
			/* One launch on each device cannot be avoided. */
			efficiency = repeat(&machine, 3, &memory) * (ideal + late) / ideal;
			if (efficiency < 0.85)
				fail_msg("%u devices, depth %u: %g of what can be had", ndevices,
				         depth, efficiency);
			free(memory);
		}
}

/* Devices whose transfers overlap with the block before, in a loop that runs again: the first block
 * of a run is as short as later ones, although costs are confirmed, and nothing of it is hidden. */
static void test_transfers_overlap(void **state)
{
	enum { MACHINES = 12, DEVICES = 4, RUNS = 6 };
	double sum = 0;

	srandom(test_seed());
	work_fill(0, 1, 1);
	for (unsigned i = 0; i < MACHINES; i++) {
		struct replay_worker workers[MAXWORKERS];
		struct blocks_memory *memory = NULL;
		struct replay_machine machine = machine_make(workers, 0, 1);
		double us = 3e3 + 27e3 * draw(), start = 15 + 25 * draw();

		machine.nworkers = DEVICES;
		for (unsigned w = 0; w < DEVICES; w++)
			workers[w] = (struct replay_worker){.given.kind = HEDDLE_KIND_CUDA,
			                                    .rate = N / us / DEVICES,
			                                    .overhead_us = start,
			                                    .depth = 2,
			                                    .transfer = 0.3,
			                                    .noise = 0.02};
		sum += repeat(&machine, RUNS, &memory) / MACHINES;
		free(memory);
	}
	print_message("transfers overlap: %g\n", sum);
	assert_true(sum > 0.95);
}

/* A pipeline's blocks of a short loop take less than two starts. All the same they tell that the
 * next start is hidden behind them: a later run does not take the device for half as fast. */
static void test_hidden_starts(void **state)
{
	enum { CORES = 15, DEVICE = 36, LAUNCH = 1000, LOOPS = 32 };
	struct replay_worker workers[MAXWORKERS];
	double ideal = 5e3, can = ideal + LAUNCH * DEVICE / (CORES + DEVICE), sum = 0;

	work_fill(0, 1, 1);
	for (unsigned long seed = 1; seed <= LOOPS; seed++) {
		struct replay_machine machine = machine_make(workers, CORES, DEVICE);
		struct blocks_memory *memory = NULL;

		machine.seed = 100 * seed;
		for (unsigned w = 0; w <= CORES; w++)
			workers[w].rate *= 20e3 / ideal;
		workers[CORES].overhead_us = LAUNCH;
		workers[CORES].depth = 2;
		sum += repeat(&machine, 2, &memory) * can / ideal / LOOPS;
		free(memory);
	}
	print_message("hidden starts: %g of what can be had\n", sum);
	assert_true(sum > 0.87);
}

/* Blocks of worker 0 in the third run of a loop. */
static unsigned third_blocks(struct replay_machine *machine)
{
	struct blocks_memory *memory = NULL;
	struct replay_result result;
	unsigned n = 0;

	repeat(machine, 2, &memory);
	assert_int_equal(replay_run("hdss", machine, &result), 0);
	for (size_t i = 0; i < result.nblocks; i++)
		n += !result.blocks[i].worker;
	replay_free(&result);
	free(memory);
	return n;
}

/* A device has one block where a second launch takes longer than a block may be off, as if slice
 * was 0. Where blocks are noisy it has some. */
static void test_one_launch(void **state)
{
	static const struct {
		double launch_us, ideal_us;
	} loops[] = {{300, 5e3}, {1000, 20e3}};
	static const unsigned cores[] = {3, 7, 15};
	enum { SPEED = 50, ITERATIONS = 2000 };

	for (size_t l = 0; l < sizeof(loops) / sizeof(*loops); l++)
		for (size_t c = 0; c < sizeof(cores) / sizeof(*cores); c++) {
			struct replay_worker workers[MAXWORKERS] = {{.rate = 0}};
			struct replay_machine machine = {
			    .n = ITERATIONS, .workers = workers, .nworkers = cores[c] + 1};

			for (unsigned w = 0; w <= cores[c]; w++) {
				workers[w].given.kind = w ? HEDDLE_KIND_CPU : HEDDLE_KIND_CUDA;
				workers[w].rate = (w ? 1.0 : SPEED) * ITERATIONS /
				                  (SPEED + cores[c]) / loops[l].ideal_us;
				workers[w].overhead_us = w ? 3 : loops[l].launch_us;
			}
			assert_int_equal(third_blocks(&machine), 1);
			for (unsigned w = 0; w <= cores[c]; w++)
				workers[w].noise = 0.1;
			assert_true(third_blocks(&machine) > 1);
		}
}

/* A device's first blocks are launches for the most part, and nobody else computes their
 * iterations: these are not taken for dear ones, also where they are dear. Otherwise launches would
 * seem short, and blocks become shorter from run to run. */
static void test_launches_stay(void **state)
{
	enum { CORES = 15, SPEED = 36, ITERATIONS = 400000, RUNS = 7, SEEDS = 4 };
	static double costs[ITERATIONS + 1];

	for (int dear = 0; dear < 2; dear++) {
		struct replay_worker workers[CORES + 1] = {{.rate = 0}};
		struct replay_machine machine = {
		    .n = ITERATIONS, .work = costs, .workers = workers, .nworkers = CORES + 1};

		for (size_t i = 0; i < ITERATIONS; i++)
			costs[i + 1] = costs[i] + (dear && i < ITERATIONS / 100 ? 50 : 1);
		for (unsigned w = 0; w <= CORES; w++) {
			workers[w].given.kind = w ? HEDDLE_KIND_CPU : HEDDLE_KIND_CUDA;
			workers[w].rate =
			    (w ? 1 : SPEED) * costs[ITERATIONS] / (CORES + SPEED) / 20e3;
			workers[w].overhead_us = w ? 3 : 1000;
			workers[w].noise = 0.05;
			workers[w].depth = w ? 1 : 2;
		}
		for (unsigned long seed = 1; seed <= SEEDS; seed++) {
			struct blocks_memory *memory = NULL;
			double mean = 0;

			machine.seed = seed;
			repeat(&machine, 1, &memory);
			for (int r = 1; r < RUNS; r++)
				mean += repeat(&machine, 1, &memory) / (RUNS - 1);
			free(memory);
			if (mean < 0.88)
				fail_msg("dear %d, seed %lu: mean efficiency %g", dear, seed, mean);
		}
	}
}

/* Eight unequal devices with launches of 1 ms, which take a second block before the first is done,
 * and 128 cores.
 * @return by how much launches make the ideal time longer, where each device has one */
static double devices_make(struct replay_worker *workers, double ideal)
{
	static const double speeds[MANY_DEVICES] = {80, 60, 48, 36, 30, 24, 16, 8};
	double sum = MANY_CORES, late = 0;

	work_fill(0, 1, 1);
	memset(workers, 0, (MANY_DEVICES + MANY_CORES) * sizeof(*workers));
	for (unsigned d = 0; d < MANY_DEVICES; d++)
		sum += speeds[d];
	for (unsigned w = 0; w < MANY_DEVICES + MANY_CORES; w++) {
		bool device = w < MANY_DEVICES;

		workers[w].given.kind = device ? HEDDLE_KIND_CUDA : HEDDLE_KIND_CPU;
		workers[w].rate = (device ? speeds[w] : 1) * N / sum / ideal;
		workers[w].overhead_us = device ? 1000 : 3;
		workers[w].noise = 0.05;
		workers[w].depth = 1 + device;
		late += device ? 1000 * speeds[w] / sum : 0;
	}
	return (ideal + late) / ideal;
}

static struct replay_machine devices_machine(struct replay_worker *workers, unsigned long seed)
{
	return (struct replay_machine){.n = N,
	                               .workers = workers,
	                               .nworkers = MANY_DEVICES + MANY_CORES,
	                               .work = work,
	                               .seed = 100 * seed};
}

/* A second run does not give them all that remains at once, since paces are known to some parts of
 * a hundred only. */
static void test_pipelines(void **state)
{
	struct replay_worker workers[MANY_DEVICES + MANY_CORES];
	double late = devices_make(workers, 20e3), efficiency = 0;
	enum { SEEDS = 6 };

	for (unsigned long seed = 1; seed <= SEEDS; seed++) {
		struct replay_machine machine = devices_machine(workers, seed);
		struct blocks_memory *memory = NULL;

		efficiency += repeat(&machine, 2, &memory) * late / SEEDS;
		free(memory);
	}
	if (efficiency < 0.95)
		fail_msg("%g of what can be had", efficiency);
}

/* In 10 ms few of their blocks tell anything. None of them is taken to be twice as fast as it is
 * since others of its kind are. */
static void test_unlike(void **state)
{
	struct replay_worker workers[MANY_DEVICES + MANY_CORES];
	enum { SEEDS = 12 };

	devices_make(workers, 10e3);
	for (unsigned long seed = 1; seed <= SEEDS; seed++) {
		struct replay_machine machine = devices_machine(workers, seed);
		struct blocks_memory *memory = NULL;

		repeat(&machine, 1, &memory);
		for (unsigned d = 0; d < MANY_DEVICES; d++) {
			double times = memory->workers[d].time.pace * workers[d].rate;

			if (times < 0.5)
				fail_msg("seed %lu, device %u: pace %g of what it is", seed, d,
				         times);
		}
		free(memory);
	}
}

/* The mean efficiency of second runs of loops of few long iterations on many cores beside devices
 * with short launches.
 * @param sorted they cost more and more, and each something else; or nothing in three of ten */
static double many_long(size_t n, bool sorted)
{
	struct replay_worker workers[MANY_DEVICES + MANY_CORES];
	enum { LOOPS = 8 };
	double sum = 0;

	for (unsigned loop = 1; loop <= LOOPS; loop++) {
		struct replay_machine machine = devices_machine(workers, loop);
		struct blocks_memory *memory = NULL;

		devices_make(workers, 20e3);
		srandom(loop);
		machine.n = n;
		for (size_t i = 0; i < n; i++)
			work[i + 1] =
			    work[i] + (sorted ? exp(2.0 * i / n + 3.4 * (draw() + draw() - 1) / 2.8)
			               : draw() < 0.7 ? 1
			                              : 1e-5);
		for (unsigned w = 0; w < MANY_DEVICES + MANY_CORES; w++) {
			workers[w].rate *= work[n] / N;
			workers[w].overhead_us = w < MANY_DEVICES ? 50 : 3;
			workers[w].depth = 1;
		}
		sum += repeat(&machine, 2, &memory) / LOOPS;
		free(memory);
	}
	return sum;
}

/* Cores that had iterations of no cost do not seem to do all that is left in no time: devices go
 * on. */
static void test_none_or_dear(void **state)
{
	double efficiency = many_long(2000, false);

	print_message("no cost or much: efficiency %g\n", efficiency);
	assert_true(efficiency > 0.75);
}

/* An iteration may cost more than those around it. A core leaves it to a device if it would end
 * late then. */
static void test_unsure_iterations(void **state)
{
	double efficiency = many_long(3000, true);

	print_message("each costs something else: efficiency %g\n", efficiency);
	assert_true(efficiency > 0.73);
}

/* Cores alone, and neighbours that take each of them nearly all of the run. The first run gives
 * several at once to some cores. Later ones give each to another core. */
static void test_dear_neighbours(void **state)
{
	enum { CORES = 20, ITERATIONS = 400, DEAR = 9, COST = 30, LOOPS = 24, RUNS = 6 };
	struct replay_worker workers[MAXWORKERS];
	double sum = 0;

	for (unsigned long seed = 1; seed <= LOOPS; seed++) {
		struct replay_machine machine = machine_make(workers, CORES, 0);
		struct blocks_memory *memory = NULL;
		size_t first = ITERATIONS / 8 + seed;

		machine.n = ITERATIONS;
		machine.seed = 100 * seed;
		for (size_t i = 0; i < ITERATIONS; i++)
			work[i + 1] = work[i] + (i >= first && i < first + DEAR ? COST : 1);
		for (unsigned w = 0; w < CORES; w++)
			workers[w].rate = work[ITERATIONS] / CORES / 20e3;
		sum += repeat(&machine, RUNS, &memory) / LOOPS;
		free(memory);
	}
	print_message("dear neighbours: efficiency %g\n", sum);
	assert_true(sum > 0.85);
}

/* Equal iterations, few for each of many cores beside an accelerator that is less than all of them:
 * noise makes none of them dear, and the accelerator cannot do what all cores would leave. */
static void test_few_equal(void **state)
{
	enum { CORES = 63, SPEED = 36, ITERATIONS = 500, LOOPS = 24, RUNS = 5 };
	struct replay_worker workers[MAXWORKERS];
	double sum = 0;

	for (size_t i = 0; i < ITERATIONS; i++)
		work[i + 1] = work[i] + 1;
	for (unsigned long seed = 1; seed <= LOOPS; seed++) {
		struct replay_machine machine = machine_make(workers, CORES, SPEED);
		struct blocks_memory *memory = NULL;

		machine.n = ITERATIONS;
		machine.seed = 100 * seed;
		for (unsigned w = 0; w < machine.nworkers; w++) {
			double speed = w < CORES ? 1 : SPEED;

			workers[w].rate = speed * ITERATIONS / (CORES + SPEED) / 20e3;
			workers[w].noise = 0.2;
		}
		for (unsigned run = 2; run <= RUNS; run++)
			sum += repeat(&machine, run == 2 ? 2 : 1, &memory) / (LOOPS * (RUNS - 1));
		free(memory);
	}
	print_message("few equal iterations: efficiency %g\n", sum);
	assert_true(sum > 0.84);
}

/* One iteration that takes an accelerator all of the run. Cores would take tens of runs for it, so
 * they never get a part of the block in which it is, whatever earlier runs told. */
static void test_dear_iteration(void **state)
{
	enum { CORES = 8, DEVICES = 2, SPEED = 30, ITERATIONS = 40000, LOOPS = 40, RUNS = 10 };
	struct replay_worker workers[MAXWORKERS];
	double least = 1;

	for (unsigned long seed = 1; seed <= LOOPS; seed++) {
		struct replay_machine machine = machine_make(workers, CORES + DEVICES, 0);
		struct blocks_memory *memory = NULL;
		size_t dear = ITERATIONS * seed / (LOOPS + 1);
		double rates = CORES + DEVICES * SPEED, cost = ITERATIONS / rates * SPEED;

		machine.n = ITERATIONS;
		machine.seed = 100 * seed;
		for (size_t i = 0; i < ITERATIONS; i++)
			work[i + 1] = work[i] + (i == dear ? cost : 1);
		for (unsigned w = 0; w < CORES + DEVICES; w++) {
			bool fast = w >= CORES;

			workers[w].given.kind = fast ? HEDDLE_KIND_CUDA : HEDDLE_KIND_CPU;
			workers[w].overhead_us = fast ? 50 : 3;
			workers[w].rate = (fast ? SPEED : 1) * work[ITERATIONS] / rates / 20e3;
		}
		for (unsigned run = 2; run <= RUNS; run++)
			least = fmin(least, repeat(&machine, run == 2 ? 2 : 1, &memory));
		free(memory);
	}
	print_message("one dear iteration: least efficiency %g\n", least);
	assert_true(least > 0.5);
}

/* Few long iterations, dear in the middle, which the accelerator does far sooner: none of them is
 * left to a core to whom it is nearly all of the run, also where one large block of the
 * accelerator told the costs. */
static void test_long_iterations(void **state)
{
	enum { LOOPS = 400, RUNS = 3 };
	unsigned late = 0;

	srandom(test_seed());
	for (unsigned i = 0; i < LOOPS; i++) {
		struct replay_worker workers[MAXWORKERS];
		unsigned cores = 4 + 18 * draw();
		double place = draw(), width = 0.05 + 0.2 * draw(), least = 0.003 + 0.05 * draw();
		struct replay_machine machine = machine_make(workers, cores, 1);
		struct blocks_memory *memory = NULL;

		machine.n = 300 * pow(10, draw());
		for (size_t k = 0; k < machine.n; k++) {
			double x = ((double)k / machine.n - place) / width;

			work[k + 1] = work[k] + least + exp(-x * x);
		}
		for (unsigned w = 0; w <= cores; w++)
			workers[w].rate = work[machine.n] / 30e3;
		for (unsigned w = 0; w < cores; w++)
			workers[w].rate /= 300;
		workers[cores].depth = 2;
		repeat(&machine, 1, &memory);
		for (unsigned r = 1; r < RUNS; r++)
			late += repeat(&machine, 1, &memory) < 0.6;
		free(memory);
	}
	print_message("long iterations: %u of %u runs are late\n", late, LOOPS * (RUNS - 1));
	assert_true(late < LOOPS * (RUNS - 1) / 50);
}

/* Cores that have done two blocks of one iteration each: noise does not tell them a start, which
 * would make iterations look short. */
static void test_one_size(void **state)
{
	enum { DEVICES = 3, CORES = 8, ITERATIONS = 2173, LOOPS = 60 };

	for (unsigned long seed = 1; seed <= LOOPS; seed++) {
		struct replay_worker workers[DEVICES + CORES] = {{.rate = 0}};
		struct replay_machine machine = {.n = ITERATIONS,
		                                 .workers = workers,
		                                 .nworkers = DEVICES + CORES,
		                                 .seed = 100 * seed};
		struct blocks_memory *memory = NULL;
		double efficiency;

		for (unsigned w = 0; w < DEVICES + CORES; w++)
			workers[w] = (struct replay_worker){
			    .given.kind = w < DEVICES ? HEDDLE_KIND_CUDA : HEDDLE_KIND_CPU,
			    .rate = w < DEVICES ? 0.0059 : 3.3e-5,
			    .overhead_us = w < DEVICES ? 120 : 2,
			    .depth = w < DEVICES ? 2 : 1,
			    .transfer = w < DEVICES ? 0.5 : 0,
			    .noise = 0.05};
		efficiency = repeat(&machine, 2, &memory);
		if (efficiency < 0.7)
			fail_msg("seed %lu: efficiency %g", seed, efficiency);
		free(memory);
	}
}

/* As many iterations as cores, or few times as many: no core does one more than the others, also
 * where what was learned says that some are a little faster. */
static void test_one_each(void **state)
{
	static const unsigned cores[] = {2, 8, 15, 16, 23};
	struct replay_worker workers[MAXWORKERS];

	for (size_t c = 0; c < sizeof(cores) / sizeof(*cores); c++)
		for (unsigned each = 1; each <= 3; each++) {
			struct blocks_memory *memory = NULL;
			struct replay_machine machine;
			double efficiency;

			work_fill(0, 0, 1);
			machine = machine_make(workers, cores[c], 0);
			machine.n = each * cores[c];
			machine.work = NULL;
			for (unsigned w = 0; w < cores[c]; w++)
				workers[w].rate = 1 / 20e3;
			efficiency = repeat(&machine, 2, &memory);
			if (efficiency < (each + 0.5) / (each + 1))
				fail_msg("%u cores, %u iterations each: efficiency %g", cores[c],
				         each, efficiency);
			free(memory);
		}
}

/* Nothing is kept where nothing may be. */
static void test_not_kept(void **state)
{
	static const char *const specs[] = {"hdss:memory=0", "hdss:published=1", "gss"};

	for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
		struct heddle_strategy_problem problem = {.n = 1000, .nworkers = 1};
		struct blocks_memory *memory = NULL;
		struct heddle_strategy *strategy;
		size_t n;

		assert_int_equal(heddle_strategy_create(specs[i], &problem, &strategy), 0);
		while ((n = heddle_strategy_next(strategy, 0)))
			heddle_strategy_completed(strategy, 0, n, n);
		assert_false(blocks_memory_kept(strategy));
		assert_int_equal(blocks_memory_learn(strategy, &memory), -ENOENT);
		assert_null(memory);
		heddle_strategy_destroy(strategy);
	}
}

/* Memory of another loop is ignored. */
static void test_other_loop(void **state)
{
	struct heddle_strategy_problem problem = {.n = 1000, .nworkers = 2};
	struct blocks_memory *memory = NULL;
	struct heddle_strategy *strategy;
	size_t n;

	assert_int_equal(heddle_strategy_create("hdss", &problem, &strategy), 0);
	while ((n = heddle_strategy_next(strategy, 0)))
		heddle_strategy_completed(strategy, 0, n, 5.0 * n);
	assert_int_equal(blocks_memory_learn(strategy, &memory), 0);
	heddle_strategy_destroy(strategy);
	for (problem.n = 999; problem.n <= 1001; problem.n++)
		for (problem.nworkers = 1; problem.nworkers <= 3; problem.nworkers++) {
			bool same = problem.n == 1000 && problem.nworkers == 2;

			assert_int_equal(heddle_strategy_create("hdss", &problem, &strategy), 0);
			blocks_memory_use(strategy, memory);
			assert_int_equal(
			    heddle_strategy_phase(strategy, 0) == HEDDLE_PHASE_COMPLETION, same);
			heddle_strategy_destroy(strategy);
		}
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_map),
	    cmocka_unit_test(test_equal_costs),
	    cmocka_unit_test(test_blocks),
	    cmocka_unit_test(test_held_up),
	    cmocka_unit_test(test_learned),
	    cmocka_unit_test(test_beside_edge),
	    cmocka_unit_test(test_short_beside_edge),
	    cmocka_unit_test(test_once),
	    cmocka_unit_test(test_once_expected),
	    cmocka_unit_test(test_front),
	    cmocka_unit_test(test_same_blocks),
	    cmocka_unit_test(test_nothing_to_learn),
	    cmocka_unit_test(test_repetitions),
	    cmocka_unit_test(test_short),
	    cmocka_unit_test(test_changed),
	    cmocka_unit_test(test_trial_tells),
	    cmocka_unit_test(test_trial_fails_soon),
	    cmocka_unit_test(test_trial_without_pipeline),
	    cmocka_unit_test(test_long_starts),
	    cmocka_unit_test(test_transfers_overlap),
	    cmocka_unit_test(test_hidden_starts),
	    cmocka_unit_test(test_one_launch),
	    cmocka_unit_test(test_launches_stay),
	    cmocka_unit_test(test_pipelines),
	    cmocka_unit_test(test_unlike),
	    cmocka_unit_test(test_whole_iterations),
	    cmocka_unit_test(test_whole_iterations_of_cores),
	    cmocka_unit_test(test_slower),
	    cmocka_unit_test(test_not_kept),
	    cmocka_unit_test(test_other_loop),
	    cmocka_unit_test(test_dear_neighbours),
	    cmocka_unit_test(test_few_equal),
	    cmocka_unit_test(test_dear_iteration),
	    cmocka_unit_test(test_long_iterations),
	    cmocka_unit_test(test_none_or_dear),
	    cmocka_unit_test(test_unsure_iterations),
	    cmocka_unit_test(test_one_size),
	    cmocka_unit_test(test_one_each),
	    cmocka_unit_test(test_crowded),
	    cmocka_unit_test(test_crowded_much),
	    cmocka_unit_test(test_transfers),
	    cmocka_unit_test(test_only_block_late),
	    cmocka_unit_test(test_crowded_drawn),
	    cmocka_unit_test(test_crowded_at_times),
	    cmocka_unit_test(test_not_crowded),
	    cmocka_unit_test(test_not_crowded_unlike),
	    cmocka_unit_test(test_cheaper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
