/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loops of which single iterations cost as much as a large part of the run. A block may hold one of
 * them, and the next run must not leave it to a slow worker.
 */
#include "config.h"

#include <math.h>

#include "partition/blocks/memory.h"
#include "partition/blocks/replay.h"
#include "tests/unit/test.h"

#define MOST 200000

static double work[MOST + 1];
static struct replay_worker workers[72];

/* Cores beside accelerators; all ends after some ms in the best case.
 * @param work whose last number is the work of all */
static struct replay_machine machine_make(size_t n, unsigned accelerators, unsigned cores,
                                          double speed, double ms)
{
	double rate = work[n] / (cores + accelerators * speed) / (1e3 * ms);

	for (unsigned w = 0; w < accelerators + cores; w++) {
		bool core = w >= accelerators;

		workers[w] =
		    (struct replay_worker){.given.kind = core ? HEDDLE_KIND_CPU : HEDDLE_KIND_CUDA,
		                           .rate = core ? rate : speed * rate,
		                           .overhead_us = core ? 3 : 20};
	}
	return (struct replay_machine){
	    .n = n, .nworkers = accelerators + cores, .workers = workers, .work = work};
}

/* The first of four runs, and the mean of the others, microseconds. */
static void runs(struct replay_machine *machine, double us[2])
{
	struct blocks_memory *memory = NULL;

	us[0] = us[1] = 0;
	machine->memory = &memory;
	for (int run = 0; run < 4; run++) {
		struct replay_result result;

		machine->seed++;
		assert_int_equal(replay_run("hdss", machine, &result), 0);
		assert_int_equal(result.left, 0);
		us[run > 0] += result.makespan_us / (run > 0 ? 3 : 1);
		replay_free(&result);
	}
	free(memory);
}

/* One iteration would take a core three times the run, and the accelerator a part of it. */
static void test_one_iteration(void **state)
{
	double sum = 0;

	(void)state;
	srand48(test_seed());
	for (int drawn = 0; drawn < 40; drawn++) {
		unsigned cores = 8 + drand48() * 40;
		double speed = 20 + 40 * drand48(), us[2];
		size_t n = 20000, dear = (0.1 + 0.8 * drand48()) * n;
		double most = 3.0 * n / (cores + speed);
		struct replay_machine machine;

		for (size_t i = 0; i < n; i++)
			work[i + 1] = work[i] + (i == dear ? most : 1);
		machine = machine_make(n, 1, cores, speed, 20);
		machine.seed = 100 * drawn;
		runs(&machine, us);
		sum += us[1] / 20e3 / 40;
	}
	print_message("later runs take %.3f of the least time\n", sum);
	assert_true(sum < 1.4);
}

/* Costs of Pareto's distribution: any number of dear iterations, one of which may be all that
 * counts. Many draws say little of the first runs, which meet them by chance. */
static void test_pareto(void **state)
{
	enum { DRAWN = 120 };
	double sum = 0, worst = 0;

	(void)state;
	srand48(test_seed());
	for (int drawn = 0; drawn < DRAWN; drawn++) {
		unsigned accelerators = 1 + drand48() * 3, cores = 4 * pow(16, drand48());
		size_t n = 5000 * pow(40, drand48());
		double speed = 10 * pow(10, drand48()), ms = 5 * pow(20, drand48());
		double noise = 0.1 * drand48(), us[2], change;
		struct replay_machine machine;

		for (size_t i = 0; i < n; i++)
			work[i + 1] = work[i] + pow(1 - drand48(), -1 / 1.5);
		machine = machine_make(n, accelerators, cores, speed, ms);
		for (unsigned w = 0; w < machine.nworkers; w++)
			workers[w].noise = noise;
		machine.seed = 100 * drawn;
		runs(&machine, us);
		change = us[1] / us[0];
		sum += log(change) / DRAWN;
		worst = fmax(worst, change);
	}
	print_message("later runs over first ones: %.3f, at worst %.3f\n", exp(sum), worst);
	assert_true(exp(sum) < 1.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_iteration),
	    cmocka_unit_test(test_pareto),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
