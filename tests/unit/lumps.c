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

/* Some iterations cost nothing. A core that begins with one of them must not get most of the
 * others, as if it could do any number of them in no time. */
static void test_free_iterations(void **state)
{
	enum { DRAWN = 100 };
	double sum = 0, worst = 0;

	(void)state;
	srand48(test_seed());
	for (int drawn = 0; drawn < DRAWN; drawn++) {
		size_t n = 150 + 400 * drand48();
		struct replay_result result;
		struct replay_machine machine;

		for (size_t i = 0; i < n; i++)
			work[i + 1] = work[i] + (drand48() < 0.5 ? 1e-4 : 0.5 + drand48());
		machine = machine_make(n, 0, 12 + drand48() * 20, 0, 20);
		machine.seed = 100 * drawn;
		assert_int_equal(replay_run("hdss", &machine, &result), 0);
		sum += result.makespan_us / 20e3 / DRAWN;
		worst = fmax(worst, result.makespan_us / 20e3);
		replay_free(&result);
	}
	print_message("free iterations: %.3f of the least time, %.3f at worst\n", sum, worst);
	assert_true(sum < 1.5);
	assert_true(worst < 5);
}

/* Costs that differ from one iteration to the next by far more than workers do, as degrees of a
 * graph's nodes: blocks side by side tell little, and by chance something wrong. */
static void test_wild_costs(void **state)
{
	enum { DRAWN = 20, CORES = 64 };
	double most = 0;

	(void)state;
	srand48(test_seed());
	for (int drawn = 0; drawn < DRAWN; drawn++) {
		double paces[CORES], ones[CORES], middle, least = HUGE_VAL;
		struct blocks_memory *memory = NULL;
		struct replay_result result;
		struct replay_machine machine;
		size_t n = 20000 + 40000 * drand48();

		for (size_t i = 0; i < n; i++)
			work[i + 1] = work[i] + pow(drand48(), -1 / 1.1);
		machine = machine_make(n, 8, CORES, 40, 20);
		machine.seed = 100 * drawn;
		machine.memory = &memory;
		assert_int_equal(replay_run("hdss", &machine, &result), 0);
		replay_free(&result);
		for (unsigned c = 0; c < CORES; c++) {
			paces[c] = memory->workers[8 + c].time.pace;
			ones[c] = 1;
			if (paces[c] > 0)
				least = fmin(least, paces[c]);
		}
		middle = costs_quantile(paces, ones, CORES, 0.5);
		most = fmax(most, middle / least);
		free(memory);
	}
	print_message("wild costs: a core seems %.1f times as fast as another one\n", most);
	assert_true(most < 10);
}

/* Half of the cores are a tenth as fast. Iterations that all cost the same tell so, and nobody
 * waits for a slow core at the end of a short loop. */
static void test_unlike_cores(void **state)
{
	enum { DRAWN = 40, CORES = 8, N = 20000, US = 1000 };
	double sum[2] = {0};

	(void)state;
	srand48(test_seed());
	for (size_t i = 0; i < N; i++)
		work[i + 1] = work[i] + 1;
	for (int drawn = 0; drawn < DRAWN; drawn++) {
		struct replay_machine machine = machine_make(N, 0, CORES, 0, US / 1e3);
		double us[2];

		machine.seed = 1e6 * drand48();
		for (unsigned w = 0; w < CORES; w++) {
			workers[w].rate *= w % 2 ? 2 / 1.1 : 2 / 11.0;
			workers[w].noise = 0.05;
		}
		runs(&machine, us);
		for (int i = 0; i < 2; i++)
			sum[i] += us[i] / US / DRAWN;
	}
	print_message("unlike cores: %.3f, then %.3f of the least time\n", sum[0], sum[1]);
	assert_true(sum[0] < 1.065);
	assert_true(sum[1] < 1.075);
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
	    cmocka_unit_test(test_one_iteration), cmocka_unit_test(test_free_iterations),
	    cmocka_unit_test(test_wild_costs),    cmocka_unit_test(test_unlike_cores),
	    cmocka_unit_test(test_pareto),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
