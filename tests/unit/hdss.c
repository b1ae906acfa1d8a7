/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HDSS: the published algorithm against values worked out by hand, and how well
 * ours does on simulated machines. These runs know no noise and no clock, so
 * that every number is exact.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "partition/blocks/replay.h"
#include "tests/unit/test.h"

#define MAXWORKERS 136
#define N ((size_t)1 << 27)

/* Speeds of one device in cores: the paper's Table I (Black-Scholes, histogram
 * and box filter on a GPU, the applications with dependences, two on an FPGA). */
static const struct {
	enum heddle_kind kind;
	double speed;
} devices[] = {{HEDDLE_KIND_CUDA, 36},  {HEDDLE_KIND_CUDA, 73},   {HEDDLE_KIND_CUDA, 81},
               {HEDDLE_KIND_CUDA, 4.8}, {HEDDLE_KIND_FPGA, 16.5}, {HEDDLE_KIND_FPGA, 6.2}};
static const unsigned cores[] = {1, 3, 7, 15, 31, 63};

#define NDEVICES (sizeof(devices) / sizeof(devices[0]))
#define NCORES (sizeof(cores) / sizeof(cores[0]))

static struct replay_worker workers[MAXWORKERS];

static struct replay_machine machine_make(size_t ndevices, const double *speeds,
                                          enum heddle_kind kind, unsigned ncores)
{
	struct replay_machine machine = {.n = N, .workers = workers};

	memset(workers, 0, sizeof(workers));
	for (size_t d = 0; d < ndevices; d++) {
		workers[machine.nworkers].given.kind = kind;
		workers[machine.nworkers++].rate = speeds[d];
	}
	for (unsigned c = 0; c < ncores; c++)
		workers[machine.nworkers++].rate = 1;
	return machine;
}

static struct replay_machine table_machine(size_t d, size_t c)
{
	return machine_make(1, &devices[d].speed, devices[d].kind, cores[c]);
}

/* Makes the ideal run take so long, blocks cost something beside their
 * iterations (20 us on a core, 100 on a device), and the device's rate a
 * logarithm that saturates at blocks of half a millisecond. */
static void overheads_add(struct replay_machine *machine, double us, unsigned depth)
{
	double sum = 0;

	for (unsigned w = 0; w < machine->nworkers; w++)
		sum += workers[w].rate;
	for (unsigned w = 0; w < machine->nworkers; w++) {
		struct replay_worker *worker = &workers[w];

		worker->rate *= machine->n / sum / us;
		worker->overhead_us = 20;
		if (worker->given.kind == HEDDLE_KIND_CPU)
			continue;
		worker->overhead_us = 100;
		worker->depth = depth;
		worker->a = worker->rate / 10;
		worker->b = worker->rate - worker->a * log(worker->rate * 500);
	}
}

struct outcome {
	double efficiency, spread, learning, blocks, us, ideal_share, share;
};

static struct outcome replay(const char *spec, const struct replay_machine *machine)
{
	struct replay_result result;
	struct outcome outcome;
	double sum = 0;

	assert_int_equal(replay_run(spec, machine, &result), 0);
	assert_int_equal(result.left, 0);
	outcome = (struct outcome){.efficiency = result.ideal_us / result.makespan_us,
	                           .spread = result.finish_spread,
	                           .learning = result.learning_us / result.makespan_us,
	                           .blocks = (double)result.nblocks / machine->nworkers,
	                           .us = result.makespan_us};
	for (size_t i = 0; i < result.nblocks; i++)
		if (result.blocks[i].worker == 0)
			outcome.share += (double)result.blocks[i].size / machine->n;
	for (unsigned w = 0; w < machine->nworkers; w++)
		sum += machine->workers[w].rate;
	outcome.ideal_share = machine->workers[0].rate / sum;
	replay_free(&result);
	return outcome;
}

static void expect(const struct outcome *outcome, double efficiency, double spread,
                   const char *what, double device, unsigned ncores)
{
	if (outcome->efficiency < efficiency || outcome->spread > spread)
		fail_msg("%s, %g + %u cores: efficiency %.4f, spread %.4f, learning %.4f", what,
		         device, ncores, outcome->efficiency, outcome->spread, outcome->learning);
}

static void test_rates_alone(void **state)
{
	for (size_t d = 0; d < NDEVICES; d++)
		for (size_t c = 0; c < NCORES; c++) {
			struct replay_machine machine = table_machine(d, c);
			struct outcome o = replay("hdss", &machine);

			expect(&o, 0.97, 0.01, "rates alone", devices[d].speed, cores[c]);
			assert_true(fabs(o.share - o.ideal_share) < 0.02);
			assert_true(o.learning < 0.03);
			assert_true(o.blocks < 48);
		}
}

/* Cores that cost much to start on, as a filter's rows do for the rows around them: one
 * block of each, of two sizes in turn, tells their rate. Two blocks of each would take
 * half as long again. */
static void test_learning_together(void **state)
{
	struct replay_machine machine = machine_make(1, (double[]){1.4}, HEDDLE_KIND_CUDA, 15);
	struct replay_result result;

	machine.n = 32768;
	workers[0].overhead_us = 100;
	workers[0].depth = 2;
	for (unsigned w = 1; w < machine.nworkers; w++) {
		workers[w].rate = 1 / 39.0;
		workers[w].overhead_us = 220;
		workers[w].noise = 0.1;
	}
	for (machine.seed = 1; machine.seed <= 20; machine.seed++) {
		assert_int_equal(replay_run("hdss", &machine, &result), 0);
		if (result.learning_us > 2 * (220 + 39))
			fail_msg("seed %llu: learning until %g us",
			         (unsigned long long)machine.seed, result.learning_us);
		replay_free(&result);
	}
	machine.seed = 1;
	assert_int_equal(replay_run("hdss:kinds=0", &machine, &result), 0);
	assert_true(result.learning_us > 2 * (220 + 39));
	replay_free(&result);
}

/* One core is not like the others, whose first blocks speak for it: what it gets before
 * it has answered itself does not delay the run. */
static void test_unlike_its_kind(void **state)
{
	struct replay_machine machine = machine_make(1, (double[]){36}, HEDDLE_KIND_CUDA, 15);
	struct outcome o;

	for (unsigned slow = 1; slow <= 15; slow += 7)
		for (double factor = 0.05; factor < 1; factor *= 2) {
			machine = machine_make(1, (double[]){36}, HEDDLE_KIND_CUDA, 15);
			workers[slow].rate = factor;
			o = replay("hdss", &machine);
			expect(&o, 0.97, 0.01, "one slow core", factor, slow);
			overheads_add(&machine, 20e3, 2);
			o = replay("hdss", &machine);
			expect(&o, 0.95, 0.05, "one slow core, overheads", factor, slow);
		}
}

static void test_unequal_devices(void **state)
{
	struct replay_machine machine =
	    machine_make(4, (double[]){36, 24, 12, 6}, HEDDLE_KIND_CUDA, 12);
	struct outcome o = replay("hdss", &machine);

	expect(&o, 0.97, 0.01, "four unequal devices", 36, 12);
	overheads_add(&machine, 20e3, 2);
	o = replay("hdss", &machine);
	expect(&o, 0.95, 0.01, "four unequal devices, overheads", 36, 12);
}

/* The slowest of them learns for as long as it may. What its block takes is not known
 * to the per cent. */
static void test_bound_of_learning(void **state)
{
	struct replay_machine machine =
	    machine_make(4, (double[]){36, 24, 12, 6}, HEDDLE_KIND_CUDA, 12);

	machine.n = 1 << 23;
	for (unsigned w = 0; w < 4; w++)
		workers[w].noise = 0.02;
	for (machine.seed = 1; machine.seed <= 20; machine.seed++) {
		struct outcome o = replay("hdss", &machine);

		expect(&o, 0.97, 0.01, "four unequal devices that vary", 36, 12);
		if (o.learning > 0.03)
			fail_msg("seed %lu: learning %.4f of the run", machine.seed, o.learning);
	}
}

/* The machine of a defect: a device behind a pipeline, cores that have seen one
 * size of block only. The rest of the range went to the device in thousands of
 * smallest blocks, each of which cost as much as half a million iterations. */
static void test_no_crumbs(void **state)
{
	static const char *const specs[] = {"hdss", "hdss:initial=65536", "hdss:initial=131072",
	                                    "hdss:initial=524288", "hdss:slice=64"};
	struct replay_machine machine = machine_make(1, (double[]){4200}, HEDDLE_KIND_CUDA, 15);

	workers[0].overhead_us = 120;
	workers[0].depth = 2;
	for (unsigned w = 1; w < machine.nworkers; w++) {
		workers[w].rate = 300 + 2 * w;
		workers[w].overhead_us = 3;
	}
	for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++) {
		struct outcome o = replay(specs[s], &machine);

		expect(&o, s ? 0.9 : 0.97, s ? 0.2 : 0.01, specs[s], 4200, 15);
		assert_true(o.blocks < 100);
	}
}

/* Loops that are over before much can be learned: what a device costs beside its
 * iterations is as long as the loop. They should not take much longer than on the
 * better kind of processor alone, and less as soon as both can help. */
static void test_short_loops(void **state)
{
	static const double speeds[] = {10, 2};

	for (size_t s = 0; s < sizeof(speeds) / sizeof(speeds[0]); s++)
		for (unsigned depth = 1; depth <= 2; depth++)
			for (size_t n = 1024; n <= 65536; n *= 2) {
				struct replay_machine machine =
				    machine_make(1, &speeds[s], HEDDLE_KIND_CUDA, 15);
				double device = 60 + n / speeds[s], all_cores = 3 + n / (15 * 0.6);
				double single = device < all_cores ? device : all_cores;
				struct outcome o;

				machine.n = n;
				workers[0].overhead_us = 60;
				workers[0].depth = depth;
				for (unsigned w = 1; w < machine.nworkers; w++) {
					workers[w].rate = 0.6;
					workers[w].overhead_us = 3;
				}
				o = replay("hdss", &machine);
				if (o.us > single * (n < 8192 ? 1.25 : 1))
					fail_msg("%zu iterations, device of %g: %g us, %g on one "
					         "kind of processor",
					         n, speeds[s], o.us, single);
			}
}

/* A block for a core that does 200 iterations a microsecond after a start of 1. */
static void core_does(struct heddle_strategy *blocks, unsigned worker)
{
	size_t n = heddle_strategy_next(blocks, worker);

	heddle_strategy_completed(blocks, worker, n, 1 + n / 200.0);
}

/* 15 cores have begun and know what they can do when the device, worker 0, asks. */
static struct heddle_strategy *cores_begin(const char *spec, size_t n)
{
	struct heddle_strategy_problem problem = {
	    .n = n,
	    .nworkers = 16,
	    .workers = (struct heddle_strategy_worker[16]){{.kind = HEDDLE_KIND_CUDA}}};
	struct heddle_strategy *blocks;

	assert_int_equal(heddle_strategy_create(spec, &problem, &blocks), 0);
	for (unsigned round = 0; round < 2; round++)
		for (unsigned w = 1; w < 16; w++)
			core_does(blocks, w);
	return blocks;
}

/* An accelerator of which nothing is known is not for what the cores will have done
 * before it can have answered, some 20 us here, unless they turn out slower. */
static void test_accelerator_would_be_late(void **state)
{
	struct heddle_strategy *blocks = cores_begin("hdss", 1 << 16);
	size_t given[16];

	assert_int_equal(heddle_strategy_next(blocks, 0), 0);
	heddle_strategy_destroy(blocks);

	blocks = cores_begin("hdss:robust=0", 1 << 16); /* which believes one slow block */
	assert_int_equal(heddle_strategy_next(blocks, 0), 0);
	for (unsigned w = 1; w < 16; w++)
		given[w] = heddle_strategy_next(blocks, w);
	for (unsigned w = 1; w < 16; w++)
		heddle_strategy_completed(blocks, w, given[w], given[w]);
	assert_true(heddle_strategy_remaining(blocks) > 10000);
	assert_true(heddle_strategy_next(blocks, 0) > 0);
	heddle_strategy_destroy(blocks);

	blocks = cores_begin("hdss", 1 << 22); /* 1.4 ms */
	assert_true(heddle_strategy_next(blocks, 0) > 0);
	heddle_strategy_destroy(blocks);

	blocks = cores_begin("hdss:published=1", 1 << 16);
	assert_true(heddle_strategy_next(blocks, 0) > 0);
	heddle_strategy_destroy(blocks);
}

static void test_overheads(void **state)
{
	for (size_t d = 0; d < NDEVICES; d++)
		for (size_t c = 0; c < NCORES; c++)
			for (int i = 0; i < 6; i++) {
				struct replay_machine machine = table_machine(d, c);
				struct outcome o;

				overheads_add(&machine, (double[]){20e3, 100e3, 1e6}[i / 2],
				              1 + i % 2);
				o = replay("hdss", &machine);
				/* At the end of a short run one more launch of a device costs more
				 * than it evens out. */
				expect(&o, 0.95, i == 1 ? 0.015 : 0.01, "overheads",
				       devices[d].speed, cores[c]);
				/* Learning ends with blocks as large as those that follow, so
				 * that a short run has some of them early. */
				assert_true(o.learning < (i < 2 ? 0.065 : 0.04));
			}
}

static void test_device_slows_down(void **state)
{
	for (size_t d = 0; d < NDEVICES; d++)
		for (size_t c = 0; c < NCORES; c++) {
			struct replay_machine machine = table_machine(d, c);
			struct outcome o;

			workers[0].change_us = N / (devices[d].speed + cores[c]) / 2;
			workers[0].change_factor = 0.5;
			o = replay("hdss", &machine);
			expect(&o, 0.95, 0.03, "half speed half-way", devices[d].speed, cores[c]);
			machine = table_machine(d, c);
			overheads_add(&machine, 100e3, 2);
			workers[0].change_us = 50e3;
			workers[0].change_factor = 0.5;
			o = replay("hdss", &machine);
			expect(&o, 0.95, 0.03, "half speed half-way, overheads", devices[d].speed,
			       cores[c]);
		}
}

static void test_faster_than_the_others(void **state)
{
	for (size_t d = 0; d < NDEVICES; d++)
		for (size_t c = 0; c < NCORES; c++)
			for (int overheads = 0; overheads < 2; overheads++) {
				struct replay_machine machine = table_machine(d, c);
				struct outcome ours;

				if (overheads)
					overheads_add(&machine, 100e3, 2);
				ours = replay("hdss", &machine);
				for (const struct heddle_strategy_info *const *s =
				         heddle_strategies();
				     *s; s++) {
					struct outcome o = replay((*s)->name, &machine);

					/* A few divide some problem by luck. */
					if (o.us < ours.us * 0.995)
						fail_msg("%s, %g + %u cores: %.1f us, hdss %.1f",
						         (*s)->name, devices[d].speed, cores[c],
						         o.us, ours.us);
				}
			}
}

static void zone_fill(double *work, size_t n, double from, double to, double factor)
{
	double scale = 1 / (1 + (to - from) * (factor - 1));

	for (size_t i = 0; i < n; i++)
		work[i + 1] = work[i] + scale * (i >= from * n && i < to * n ? factor : 1);
}

/* Dear iterations make all workers slow, and none slower than another: also in a first run
 * weights stay what they are. */
static void test_dear_zones(void **state)
{
	static const struct {
		double from, to, factor, efficiency;
	} zones[] = {
	    {0, 0.01, 50, 0.88}, {0.4, 0.6, 20, 0.88}, {0.5, 1, 4, 0.96}, {0.99, 1, 50, 0.93}};
	static double work[400001];

	for (size_t z = 0; z < sizeof(zones) / sizeof(zones[0]); z++)
		for (size_t c = 3; c < NCORES; c += 2) {
			struct replay_machine machine = table_machine(0, c);
			struct outcome o;
			double sum = 0;

			machine.n = 400000;
			machine.work = work;
			zone_fill(work, machine.n, zones[z].from, zones[z].to, zones[z].factor);
			overheads_add(&machine, 50e3, 1);
			for (unsigned w = 0; w < machine.nworkers; w++)
				workers[w].noise = 0.05;
			for (machine.seed = 1; machine.seed <= 6; machine.seed++) {
				o = replay("hdss", &machine);
				sum += o.efficiency / 6;
			}
			o.efficiency = sum;
			expect(&o, zones[z].efficiency, 1, "dear zone", 36, cores[c]);
		}
}

/* Dear iterations at the end of a short loop on many unequal devices: none of the small ones has so
 * large a last block that all others wait for it. */
static void test_dear_end_of_many(void **state)
{
	static const double speeds[] = {80, 60, 48, 36, 30, 24, 16, 8};
	struct replay_machine machine = machine_make(8, speeds, HEDDLE_KIND_CUDA, 128);
	static double work[400001];
	double sum = 0;

	machine.n = 400000;
	machine.work = work;
	zone_fill(work, machine.n, 0.99, 1, 50);
	for (unsigned w = 0; w < machine.nworkers; w++) {
		workers[w].rate *= machine.n / 430.0 / 20e3;
		workers[w].overhead_us = w < 8 ? 50 : 3;
		workers[w].noise = 0.05;
	}
	for (machine.seed = 1; machine.seed <= 6; machine.seed++)
		sum += replay("hdss", &machine).efficiency / 6;
	print_message("efficiency %g\n", sum);
	assert_true(sum > 0.85);
}

/* What iterations cost is not known before they are done: the first or the last hundredth of
 * them costs fifty times as much. The bounds on shares are what keeps workers together. */
static void test_unequal_iterations(void **state)
{
	static double work[400001];

	for (int last = 0; last < 2; last++)
		for (size_t c = 3; c < NCORES; c += 2) {
			struct replay_machine machine = table_machine(0, c);
			struct outcome o;
			double scale = 1 / 1.49, with = 0, without = 0;

			machine.n = 400000;
			for (size_t i = 0; i < machine.n; i++) {
				size_t place = last ? machine.n - 1 - i : i;

				work[i + 1] = work[i] + scale * (place < 4000 ? 50 : 1);
			}
			machine.work = work;
			overheads_add(&machine, 100e3, 1);
			o = replay("hdss", &machine);
			for (unsigned w = 0; w < machine.nworkers; w++)
				workers[w].noise = 0.05;
			for (machine.seed = 1; machine.seed <= 12; machine.seed++) {
				with += replay("hdss", &machine).efficiency / 12;
				without += replay(last ? "hdss:fair=0" : "hdss:ramp=0", &machine)
				               .efficiency /
				           12;
			}
			assert_true(with > without);
			expect(&o, 0.85, 1, last ? "dear last" : "dear first", 36, cores[c]);
		}
}

/* The run takes 20 ms, a block 50 us more on a device and so many on a core. */
static void noisy_set(const struct replay_machine *machine, double core_us, double noise)
{
	double rates = 0;

	for (unsigned w = 0; w < machine->nworkers; w++)
		rates += workers[w].rate;
	for (unsigned w = 0; w < machine->nworkers; w++) {
		bool core = workers[w].given.kind == HEDDLE_KIND_CPU;

		workers[w].rate *= machine->n / rates / 20e3;
		workers[w].overhead_us = core ? core_us : 50;
		workers[w].noise = noise;
	}
}

/* First runs of a loop with these costs, which are scaled to a mean of 1. */
static void uneven_check(const char *what, struct replay_machine *machine, double *work,
                         double least)
{
	double sum = 0;

	for (size_t i = 1; i <= machine->n; i++)
		work[i] *= machine->n / work[machine->n];
	machine->work = work;
	for (machine->seed = 1; machine->seed <= 24; machine->seed++)
		sum += replay("hdss", machine).efficiency / 24;
	if (sum < least)
		fail_msg("%s: efficiency %.4f", what, sum);
}

/* Costs that rise fifty times, eight times over, in few iterations: a core whose last block was
 * done when all was cheap gets no block that lasts longer than the loop. */
static void test_rising_costs(void **state)
{
	static double work[4001];
	struct replay_machine machine =
	    machine_make(6, (double[]){30, 30, 30, 30, 30, 30}, HEDDLE_KIND_CUDA, 15);

	machine.n = 4000;
	for (size_t i = 0; i < machine.n; i++)
		work[i + 1] = work[i] + 1 + 49 * fmod((i + 0.5) / machine.n * 8, 1);
	noisy_set(&machine, 10, 0.2);
	uneven_check("rising costs", &machine, work, 0.88);
}

/* The middle of the loop costs twenty times as much. Once all cores are there, none of them answers
 * for long: the device that asks then gets no block as if iterations were cheap. */
static void test_dear_middle(void **state)
{
	static double work[400001];
	struct replay_machine machine = machine_make(1, (double[]){36}, HEDDLE_KIND_CUDA, 63);

	machine.n = 400000;
	for (size_t i = 0; i < machine.n; i++)
		work[i + 1] = work[i] + (i / 80000 == 2 ? 20 : 1);
	noisy_set(&machine, 3, 0.05);
	uneven_check("dear middle", &machine, work, 0.98);
}

/* Costs that rise and fall in waves: a core that is done when all is cheap gets no block that
 * reaches far into the next wave. */
static void test_waves(void **state)
{
	static double work[400001];
	struct replay_machine machine = machine_make(0, NULL, HEDDLE_KIND_CPU, 15);
	double sum = 0;

	machine.n = 400000;
	for (size_t i = 0; i < machine.n; i++)
		work[i + 1] = work[i] + exp(2 * sin(12 * (i + 0.5) / machine.n));
	for (size_t i = 1; i <= machine.n; i++)
		work[i] *= machine.n / work[machine.n];
	machine.work = work;
	noisy_set(&machine, 10, 0.2);
	for (machine.seed = 1; machine.seed <= 12; machine.seed++)
		sum += replay("hdss", &machine).efficiency / 12;
	if (sum < 0.97)
		fail_msg("waves: efficiency %.4f", sum);
}

/* A core that is twenty times too slow for one block is not given up, nor is
 * the run's end planned around it. */
static void test_spike(void **state)
{
	struct replay_machine machine = table_machine(0, 3);
	struct outcome o;

	overheads_add(&machine, 200e3, 2);
	workers[3].spike_block = 4;
	workers[3].spike_factor = 20;
	o = replay("hdss", &machine);
	expect(&o, 0.95, 0.01, "spike", 36, 15);
}

/* Prior rates: right ones end learning with the first block, wrong ones cost
 * little. */
static void test_prior_rates(void **state)
{
	for (int wrong = 0; wrong < 2; wrong++) {
		struct replay_machine machine = table_machine(1, 2);
		struct outcome cold, warm;

		overheads_add(&machine, 20e3, 2);
		cold = replay("hdss", &machine);
		for (unsigned w = 0; w < machine.nworkers; w++)
			workers[w].given.rate = workers[w].rate * (wrong && !w ? 0.1 : 1);
		warm = replay("hdss", &machine);
		expect(&warm, 0.95, 0.01, "prior rates", 73, 7);
		if (!wrong)
			assert_true(warm.us <= cold.us * 1.01);
	}
}

static void priors_set(const struct replay_machine *machine, int kind, double factor)
{
	for (unsigned w = 0; w < machine->nworkers; w++) {
		struct replay_worker *worker = &workers[w];
		bool wrong = kind < 0 || (int)worker->given.kind == kind;

		worker->given.rate = worker->rate * (wrong ? factor : 1);
		worker->given.start_us = worker->overhead_us;
	}
}

/* Rates of an earlier run that are a thousand times too high or too low, of the
 * device, the cores or all, never cost more than learning without them does, and
 * an iteration, which is as fine as anything can be planned. */
static void test_hostile_prior_rates(void **state)
{
	static const double factors[] = {1e-3, 0.1, 10, 1e3};
	static const int kinds[] = {-1, HEDDLE_KIND_CPU, HEDDLE_KIND_CUDA, HEDDLE_KIND_FPGA};
	static const size_t sizes[] = {N, 50000, 2000};

	for (size_t i = 0; i < 4 * 4 * 3 * NDEVICES * NCORES; i++) {
		size_t f = i % 4, k = i / 4 % 4, s = i / 16 % 3, d = i / 48 % NDEVICES,
		       c = i / 48 / NDEVICES;
		struct replay_machine machine = table_machine(d, c);
		struct outcome cold, warm;
		double most;

		machine.n = sizes[s];
		overheads_add(&machine, 20e3, 2);
		cold = replay("hdss", &machine);
		priors_set(&machine, kinds[k], factors[f]);
		warm = replay("hdss", &machine);
		most = cold.us * (1 + fmax(cold.learning, 0.01)) + 1 / workers[1].rate;
		if (warm.us > most)
			fail_msg("%zu iterations, %g + %u cores, rates of %d wrong by %g: %.0f us, "
			         "cold %.0f us, learning %.4f of it",
			         machine.n, devices[d].speed, cores[c], kinds[k], factors[f],
			         warm.us, cold.us, cold.learning);
	}
}

/* Few long iterations: a slow device gets few at first, not so many that they take
 * longer than all the run, and as few when it is known. */
static void test_few_on_slow_device(void **state)
{
	struct replay_machine machine = machine_make(1, (double[]){0.1}, HEDDLE_KIND_CUDA, 7);
	struct outcome cold, warm;

	machine.n = 500;
	overheads_add(&machine, 100e3, 2);
	cold = replay("hdss", &machine);
	priors_set(&machine, -1, 1);
	warm = replay("hdss", &machine);
	assert_true(cold.efficiency > 0.95);
	assert_true(warm.efficiency > 0.95);
}

/* Few long iterations beside a fast device: a core gets one although the device would be done with
 * the next one sooner, since there are more than the device would do until then. */
static void test_few_whole_iterations(void **state)
{
	static const unsigned counts[] = {2, 8, 16, 64};

	for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++)
		for (unsigned device = 0; device <= 4; device += 4)
			for (unsigned each = 1; each <= 4; each++) {
				double speed = device;
				struct replay_machine machine =
				    machine_make(device > 0, &speed, HEDDLE_KIND_CUDA, counts[c]);
				struct outcome o;

				machine.n = (size_t)each * (counts[c] + device);
				machine.seed = 1;
				for (unsigned w = 0; w < machine.nworkers; w++) {
					workers[w].rate *= 1e-4;
					workers[w].overhead_us = 3;
					workers[w].noise = 0.03;
				}
				o = replay("hdss", &machine);
				expect(&o, 0.85, 1, "few iterations", device, counts[c]);
			}
}

/* Mean efficiency of seeds on equal cores, loops of 20 ms, the iterations of a zone dearer. */
static double cores_mean(unsigned ncores, size_t n, double from, double to, double factor)
{
	static double work[400001];
	struct replay_machine machine = machine_make(0, NULL, HEDDLE_KIND_CPU, ncores);
	double sum = 0;

	machine.n = n;
	machine.work = work;
	zone_fill(work, n, from, to, factor);
	for (unsigned w = 0; w < ncores; w++) {
		workers[w].rate *= work[n] / ncores / 20e3;
		workers[w].overhead_us = 3;
		workers[w].noise = 0.05;
	}
	for (machine.seed = 1; machine.seed <= 12; machine.seed++)
		sum += replay("hdss", &machine).efficiency;
	return sum / 12;
}

/* A core does not run for a while, in the middle of an iteration that takes half a microsecond.
 * That one block is a hundred thousand times overdue tells nothing of what others do: neither are
 * they given single iterations, nor is a device expected to need minutes for a block as large as
 * one it has done in 4 ms. Who looks whether it is late goes by that. */
static void test_one_core_pauses(void **state)
{
	const struct heddle_strategy_worker given[] = {{.kind = HEDDLE_KIND_OPENCL}, {0}, {0}};
	const struct heddle_strategy_problem problem = {.n = 2000, .nworkers = 3, .workers = given};
	struct heddle_strategy *blocks;
	size_t largest, n;
	int count = 0;

	assert_int_equal(heddle_strategy_create("hdss", &problem, &blocks), 0);
	assert_true(heddle_strategy_next(blocks, 2) > 0);
	n = heddle_strategy_next(blocks, 0);
	heddle_strategy_completed(blocks, 0, n, 3e4);
	largest = heddle_strategy_next(blocks, 0);
	heddle_strategy_next(blocks, 0);
	heddle_strategy_completed(blocks, 0, largest, 4e3);
	assert_true(largest > n);
	while (heddle_strategy_remaining(blocks)) {
		n = heddle_strategy_next(blocks, 1);
		assert_true(n > 0);
		heddle_strategy_completed(blocks, 1, n, n * 0.5);
		if (largest / heddle_strategy_rate(blocks, 0) > 3e4)
			fail_msg("%zu iterations, done in 4 ms, are to take %g s", largest,
			         largest / heddle_strategy_rate(blocks, 0) / 1e6);
		count++;
	}
	if (count > 100)
		fail_msg("%d blocks", count);
	heddle_strategy_destroy(blocks);
}

/* The first blocks of cores are dear, the others cheap: no start is made of the difference. */
static void test_no_start_of_costs(void **state)
{
	double efficiency = cores_mean(16, 400000, 0, 0.01, 50);

	if (efficiency < 0.993)
		fail_msg("dear first hundredth: efficiency %g", efficiency);
}

/* Two devices whose start is half of the time to the end: each thinks that the other one and the
 * core end sooner. The core alone would need longer than all of the run. */
static void test_no_device_waits_for_the_other(void **state)
{
	for (double start = 300; start <= 400; start += 50)
		for (unsigned seed = 1; seed <= 20; seed++) {
			struct replay_machine machine =
			    machine_make(2, (double[]){12, 12}, HEDDLE_KIND_CUDA, 1);
			struct outcome o;

			machine.n = 400000;
			machine.seed = seed;
			for (unsigned w = 0; w < machine.nworkers; w++) {
				workers[w].rate *= machine.n / 25.0 / 7.7e3;
				workers[w].overhead_us = w < 2 ? start : 11;
				workers[w].depth = w < 2 ? 2 : 1;
				workers[w].noise = 0.01;
			}
			o = replay("hdss", &machine);
			expect(&o, 0.7, 1, "two devices with long starts", start, seed);
		}
}

/* One block of a worker whose rate is a ln(n) + b. */
static size_t block_do(struct heddle_strategy *blocks, unsigned worker, double a, double b)
{
	size_t n = heddle_strategy_next(blocks, worker);

	assert_true(n > 0);
	heddle_strategy_completed(blocks, worker, n, n / (a * log(n) + b));
	return n;
}

/* The completion phase of two workers: by Eq. (2) a block is R w / W, the nearest
 * multiple of the block factor, until nothing remains. */
static void shares_check(struct heddle_strategy *blocks, const double *weights)
{
	double rest;

	for (unsigned w = 1; (rest = heddle_strategy_remaining(blocks)) > 0; w = !w) {
		double share = rest * weights[w] / (weights[0] + weights[1]);
		size_t n = block_do(blocks, w, 0, weights[w]);

		assert_int_equal(heddle_strategy_phase(blocks, w), HEDDLE_PHASE_COMPLETION);
		if (n != fmin(rest, fmax(128, 128 * round(share / 128))))
			fail_msg("worker %u: %zu of %g iterations, its share is %g", w, n, rest,
			         share);
	}
}

/* As published, worked out by hand. Worker 0 has the rate ln(n) + 60: doubling
 * gains more than 1 % until the rate is 69.3, so sizes double up to the fourth
 * point, then the fit is exact and one more doubling gains 1 % where
 * ln 2 = 0.01 (ln x + 60), x = e^9.3147 = 11100, of which 11136 = 87 * 128 is
 * the nearest multiple of the block factor. The rate there is 3.5 % above the
 * one before, so sizes go on doubling, until ln 2 / 70.01 < 1 %. */
static void test_published_fit(void **state)
{
	static const size_t sizes[] = {128, 256, 512, 1024, 11136, 22272};
	struct heddle_strategy_problem problem = {.n = 1000000, .nworkers = 2};
	struct heddle_strategy *blocks;
	double weights[2];

	assert_int_equal(heddle_strategy_create("hdss:published=1", &problem, &blocks), 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(heddle_strategy_phase(blocks, 0), HEDDLE_PHASE_ADAPTIVE);
		assert_int_equal(block_do(blocks, 0, 1, 60), sizes[i]);
	}
	/* Worker 1 is stable at the second block, and then both are. */
	assert_int_equal(block_do(blocks, 1, 0, 10), 128);
	assert_int_equal(block_do(blocks, 1, 0, 10), 256);
	weights[0] = log(22272) + 60;
	weights[1] = 10;
	shares_check(blocks, weights);
	heddle_strategy_destroy(blocks);
}

/* A curve so steep that its point lies beyond the loop: the next block is an
 * equal part of what the adaptive phase may still take, and that phase ends with
 * a fifth of the iterations. */
static void test_published_bounds(void **state)
{
	struct heddle_strategy_problem problem = {.n = 1000000, .nworkers = 2};
	struct heddle_strategy *blocks;
	size_t used = 0;

	assert_int_equal(heddle_strategy_create("hdss:published=1", &problem, &blocks), 0);
	for (int i = 0; i < 4; i++)
		used += block_do(blocks, 0, 1, 0);
	assert_int_equal(used, 1920);
	/* (200000 - 1920) / 2 = 99040, nearest multiple of 128 */
	assert_int_equal(block_do(blocks, 0, 1, 0), 99072);
	/* Twice that exceeds the fifth. A smaller block would tell a lower rate. */
	assert_int_equal(block_do(blocks, 0, 1, 0), 198144);
	while (heddle_strategy_phase(blocks, 0) == HEDDLE_PHASE_ADAPTIVE)
		block_do(blocks, 0, 1, 0);
	used = 1000000 - heddle_strategy_remaining(blocks);
	assert_true(used >= 200000);
	heddle_strategy_destroy(blocks);
}

/* Whether a worker was given a block before its block before was done. */
static bool overlapped(const char *spec, const struct replay_machine *machine)
{
	struct replay_result result;
	double end_us[MAXWORKERS] = {0};
	bool found = false;

	assert_int_equal(replay_run(spec, machine, &result), 0);
	for (size_t i = 0; i < result.nblocks; i++) {
		const struct replay_block *block = &result.blocks[i];

		found = found || block->begin_us < end_us[block->worker];
		end_us[block->worker] = block->end_us;
	}
	replay_free(&result);
	return found;
}

/* The paper's threads fetch a block when they have done the one before. */
static void test_published_one_at_a_time(void **state)
{
	struct replay_machine machine = table_machine(0, 2);

	overheads_add(&machine, 100e3, 2);
	assert_true(overlapped("hdss", &machine));
	assert_true(overlapped("hdss:published=1,overlap=1", &machine));
	assert_false(overlapped("hdss:published=1", &machine));
	assert_false(overlapped("hdss:overlap=0", &machine));
}

/* Where the run is long beside its blocks of the adaptive phase, all end together. */
static void test_published_overheads(void **state)
{
	for (size_t d = 0; d < NDEVICES; d++)
		for (size_t c = 0; c < NCORES; c++)
			for (int i = 0; i < 2; i++) {
				struct replay_machine machine = table_machine(d, c);
				struct outcome o;

				overheads_add(&machine, 1e6, 1 + i);
				o = replay("hdss:published=1", &machine);
				expect(&o, 0.99, 0.01, "published", devices[d].speed, cores[c]);
				assert_true(o.blocks < 80);
			}
}

/* Each extension alone on top of the published algorithm, and each one off. */
static void test_switches(void **state)
{
	static const char *const keys[] = {"jump",   "each",  "kinds", "warm", "robust",
	                                   "follow", "ahead", "fair",  "ramp"};
	struct replay_machine machine = table_machine(1, 2);
	char spec[64];

	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
		snprintf(spec, sizeof(spec), "hdss:published=1,%s=1", keys[k]);
		replay(spec, &machine);
		snprintf(spec, sizeof(spec), "hdss:%s=0", keys[k]);
		replay(spec, &machine);
	}
	replay("hdss:published=1,slice=32", &machine);
	replay("hdss:slice=0", &machine);
	replay("hdss:published=1,learning=0.03", &machine);
	replay("hdss:published=1,overlap=1", &machine);
	replay("hdss:overlap=0", &machine);
}

/* Where a weight is the rate of the last block, the bound on learning ends it instead of
 * cutting blocks, whose rates would be lower. */
static void test_learning_by_rates(void **state)
{
	for (size_t d = 0; d < NDEVICES; d++)
		for (size_t c = 0; c < NCORES; c++) {
			struct replay_machine machine = table_machine(d, c);
			struct outcome o;

			overheads_add(&machine, 100e3, 1);
			o = replay("hdss:jump=0", &machine);
			expect(&o, 0.95, 0.05, "learning by rates", devices[d].speed, cores[c]);
		}
}

/* Four accelerators that do a loop in 4 ms, with first blocks of 4 ms more, and cores that are 1000
 * times slower. */
static struct replay_machine machine_of_four(unsigned ncores, struct blocks_memory **memory)
{
	double speeds[] = {1000, 1000, 1000, 1000};
	struct replay_machine machine = machine_make(4, speeds, HEDDLE_KIND_CUDA, ncores);

	machine.n = 1000000;
	machine.memory = memory;
	for (unsigned w = 0; w < machine.nworkers; w++) {
		workers[w].rate *= 0.0625;
		workers[w].overhead_us = w < 4 ? 20 : 5;
		workers[w].once_us = w < 4 ? 4000 + 500 * w : 0;
	}
	return machine;
}

/* Four accelerators do a loop in 4 ms, after 5 ms for what comes once. 60 cores, each 1000 times
 * slower, bring 1.5 %, and must not cost more than a tenth. First blocks are dear again in the runs
 * that follow: the first iterations look dear, and all others cheap. */
static void test_accelerators_begin_late(void **state)
{
	double us[2][3];

	(void)state;
	for (int all = 0; all < 2; all++) {
		struct blocks_memory *memory = NULL;
		struct replay_machine machine = machine_of_four(all ? 60 : 0, &memory);

		for (int run = 0; run < 3; run++) {
			struct replay_result result;

			assert_int_equal(replay_run("hdss", &machine, &result), 0);
			us[all][run] = result.makespan_us;
			replay_free(&result);
		}
		free(memory);
	}
	for (int run = 0; run < 3; run++) {
		printf("run %d: %.0f us, without cores %.0f\n", run, us[1][run], us[0][run]);
		assert_true(us[1][run] < 1.1 * us[0][run]);
	}
}

/* Two accelerators, each 160 times as fast as a core, load their programs for 4 ms with their first
 * block. Then the other iterations turn out to be twelve times as dear. Such a block would not
 * take twelve times as long: they get another one, and do most of what is left. */
static void test_accelerators_begin_beside_dear_iterations(void **state)
{
	static double work[131073];
	struct replay_machine machine = machine_make(2, (double[]){160, 160}, HEDDLE_KIND_CUDA, 30);

	(void)state;
	machine.n = 131072;
	machine.work = work;
	for (size_t i = 0; i < machine.n; i++)
		work[i + 1] = work[i] + (i * 20 / machine.n < 9 ? 1 : 12);
	for (unsigned w = 0; w < machine.nworkers; w++) {
		workers[w].rate *= 0.625;
		workers[w].overhead_us = w < 2 ? 60 : 3;
		workers[w].noise = 0.3;
		workers[w].once_us = w < 2 ? 4300 : 0;
	}
	for (machine.seed = 1; machine.seed <= 6; machine.seed++) {
		struct outcome o = replay("hdss", &machine);

		print_message("efficiency %g\n", o.efficiency);
		assert_true(o.efficiency > 0.3);
	}
}

/* Mean time of the second to fourth run of a loop, microseconds. */
static double later_runs_us(struct replay_machine *machine, unsigned seed)
{
	struct blocks_memory *memory = NULL;
	double sum = 0;

	machine->memory = &memory;
	for (int run = 1; run <= 4; run++) {
		struct replay_result result;

		machine->seed = 10 * seed + run;
		assert_int_equal(replay_run("hdss", machine, &result), 0);
		sum += run > 1 ? result.makespan_us / 3 : 0;
		replay_free(&result);
	}
	free(memory);
	return sum;
}

/* Two accelerators, each as fast as 840 cores, and 30 cores, which take half of a run for one of
 * the dear iterations. No core begins one that may end after all others. */
static void test_long_iterations_of_slow_cores(void **state)
{
	static double work[8193];
	double us[2] = {0, 0};

	(void)state;
	for (size_t i = 0; i < 8192; i++)
		work[i + 1] = work[i] + (i >= 3686 && i < 6308 ? 8 : 1);
	for (int all = 0; all < 2; all++) {
		struct replay_machine machine =
		    machine_make(2, (double[]){840, 840}, HEDDLE_KIND_CUDA, all ? 30 : 0);

		machine.n = 8192;
		machine.work = work;
		for (unsigned w = 0; w < machine.nworkers; w++) {
			workers[w].rate /= 1200;
			workers[w].overhead_us = w < 2 ? 60 : 3;
			workers[w].depth = w < 2 ? 2 : 1;
			workers[w].transfer = w < 2 ? 0.3 : 0;
			workers[w].noise = 0.2;
		}
		for (unsigned seed = 1; seed <= 12; seed++)
			us[all] += later_runs_us(&machine, seed) / 12;
	}
	print_message("%.0f us, without cores %.0f\n", us[1], us[0]);
	assert_true(us[1] < 1.15 * us[0]);
}

/* One accelerator whose launches take as long as a large part of the loop, or longer. */
static struct replay_machine machine_draw(struct blocks_memory **memory)
{
	double speed = 2 * pow(30, drand48()), ms = pow(100, drand48());
	unsigned ncores = 4 * pow(32, drand48());
	struct replay_machine machine = machine_make(1, &speed, HEDDLE_KIND_CUDA, ncores);
	double noise = 0.05 * drand48(), scale;

	machine.n = 1e4 * pow(100, drand48());
	machine.memory = memory;
	scale = machine.n / (speed + ncores) / (1e3 * ms);
	for (unsigned w = 0; w < machine.nworkers; w++) {
		workers[w].rate *= scale;
		workers[w].overhead_us = 3;
		workers[w].noise = noise;
	}
	workers[0].overhead_us = 1e3 * ms * (0.3 + drand48());
	workers[0].depth = 1 + (drand48() < 0.5);
	return machine;
}

/* A run in which the accelerator has done one block does not know how much of its time was the
 * launch. The next one must not launch again for that. About one of 1500
 * does, most of them with two blocks under way: after a first run whose two blocks had about one
 * size, its accelerator has three or four tiny blocks. So single ones may take as long as four
 * launches instead of two. */
static void test_second_runs_with_long_launches(void **state)
{
	enum { DRAWN = 200, LONGER = 3 };
	double mean = 0, worst = 0;
	unsigned longer = 0;

	(void)state;
	srand48(60002);
	for (int drawn = 0; drawn < DRAWN; drawn++) {
		struct blocks_memory *memory = NULL;
		struct replay_machine machine = machine_draw(&memory);
		double us[2];

		for (int run = 0; run < 2; run++) {
			struct replay_result result;

			machine.seed = 2 * drawn + run + 1;
			assert_int_equal(replay_run("hdss", &machine, &result), 0);
			us[run] = result.makespan_us;
			replay_free(&result);
		}
		free(memory);
		mean += us[1] / us[0] / DRAWN;
		worst = fmax(worst, us[1] / us[0]);
		longer += us[1] > 1.2 * us[0];
	}
	print_message("second run over first: %.3f, %u above 1.2, at worst %.3f\n", mean, longer,
	              worst);
	assert_true(mean < 0.95);
	assert_true(longer < LONGER);
	assert_true(worst < 2.2);
}

/* Several accelerators of very different speeds that take two blocks at once. Their first blocks
 * are mostly launch: none has a second block, let alone two, that takes it the whole run. */
static void test_several_devices_ahead(void **state)
{
	enum { DRAWN = 100 };
	double mean = 0;

	(void)state;
	srand48(20);
	for (int drawn = 0; drawn < DRAWN; drawn++) {
		unsigned ndevices = 2 + drand48() * 6, ncores = 1 + drand48() * 15;
		double ms = 2 * pow(50, drand48()), sum = 0;
		double us = 20 * pow(50, drand48());
		struct replay_machine machine;
		double speeds[8];

		for (unsigned d = 0; d < ndevices; d++)
			speeds[d] = 2 * pow(150, drand48());
		machine = machine_make(ndevices, speeds, HEDDLE_KIND_CUDA, ncores);
		machine.n = 2000 * pow(50, drand48());
		machine.seed = drawn + 1;
		for (unsigned w = 0; w < machine.nworkers; w++)
			sum += workers[w].rate;
		for (unsigned w = 0; w < machine.nworkers; w++) {
			bool device = w < ndevices;

			workers[w].rate *= machine.n / sum / (1e3 * ms);
			workers[w].overhead_us = device ? us : 3;
			workers[w].depth = device ? 2 : 1;
			workers[w].noise = 0.05;
		}
		mean += replay("hdss", &machine).efficiency / DRAWN;
	}
	print_message("several devices: efficiency %g\n", mean);
	assert_true(mean > 0.9);
}

/* What a launch of an accelerator takes is hidden where another block is under way: its last blocks
 * are no longer for it, which dear last iterations would make far longer. */
static void test_dear_end_of_pipeline(void **state)
{
	static double work[400001];
	double mean = 0;

	(void)state;
	zone_fill(work, 400000, 0.99, 1, 50);
	for (unsigned long seed = 1; seed <= 12; seed++) {
		struct replay_machine machine =
		    machine_make(1, (double[]){36}, HEDDLE_KIND_CUDA, 15);

		machine.n = 400000;
		machine.work = work;
		machine.seed = seed;
		for (unsigned w = 0; w < machine.nworkers; w++) {
			workers[w].rate *= machine.n / 51.0 / 20e3;
			workers[w].overhead_us = w ? 3 : 50;
			workers[w].depth = w ? 1 : 2;
			workers[w].noise = 0.05;
		}
		mean += replay("hdss", &machine).efficiency / 12;
	}
	print_message("dear end of a pipeline: efficiency %g\n", mean);
	assert_true(mean > 0.9);
}

/* As in loops, an accelerator has one block at a time until it has learned. */
static void test_replay_learns_one_at_a_time(void **state)
{
	struct replay_machine machine = machine_make(1, (double[]){36}, HEDDLE_KIND_CUDA, 15);
	struct replay_result result;
	double end = 0;
	unsigned learning = 0;

	(void)state;
	overheads_add(&machine, 20e3, 2);
	assert_int_equal(replay_run("hdss", &machine, &result), 0);
	for (size_t i = 0; i < result.nblocks; i++) {
		const struct replay_block *block = &result.blocks[i];

		if (block->worker || block->phase != HEDDLE_PHASE_ADAPTIVE)
			continue;
		assert_true(block->begin_us >= end);
		end = block->end_us;
		learning++;
	}
	assert_true(learning > 1);
	replay_free(&result);
}

/* Launches of 1 ms in loops of 10 and 20 ms: the first one tells no rate, and one more that tells
 * little is too many. */
static void test_long_launches(void **state)
{
	double sum = 0;

	(void)state;
	for (int length = 1; length <= 2; length++) {
		struct replay_machine machine =
		    machine_make(1, (double[]){36}, HEDDLE_KIND_CUDA, 15);

		machine.n = 400000;
		noisy_set(&machine, 3, 0.05);
		for (unsigned w = 0; w < machine.nworkers; w++)
			workers[w].rate *= 2.0 / length;
		workers[0].overhead_us = 1000;
		for (machine.seed = 1; machine.seed <= 12; machine.seed++)
			sum += replay("hdss", &machine).efficiency / 24;
	}
	print_message("efficiency %g\n", sum);
	assert_true(sum > 0.79);
}

/* The same where a loop of 20 ms has so many workers that accelerators do their first block sooner
 * than a core would. */
static void test_long_launches_beside_many(void **state)
{
	static const double speeds[] = {80, 60, 48, 36, 30, 24, 16, 8};
	struct replay_machine machine = machine_make(8, speeds, HEDDLE_KIND_CUDA, 128);
	double sum = 0;

	(void)state;
	machine.n = 400000;
	noisy_set(&machine, 3, 0.05);
	for (unsigned w = 0; w < 8; w++)
		workers[w].overhead_us = 1000;
	for (machine.seed = 1; machine.seed <= 12; machine.seed++)
		sum += replay("hdss", &machine).efficiency / 12;
	print_message("efficiency %g\n", sum);
	assert_true(sum > 0.815);
}

/* Four accelerators do a loop in 4 ms. Their first blocks take 4 ms more in the first run, and 0.3
 * ms in later ones. The first iterations must not look dear for that, nor cores that do them as
 * fast as the accelerators, which are 1000 times faster. */
static void test_dear_first_blocks_again(void **state)
{
	struct blocks_memory *memory = NULL;
	struct replay_machine machine = machine_of_four(60, &memory);

	(void)state;
	for (int run = 0; run < 12; run++) {
		struct replay_result result;

		for (unsigned w = 0; run && w < 4; w++)
			workers[w].once_us = 300;
		assert_int_equal(replay_run("hdss", &machine, &result), 0);
		printf("run %d: %.0f us\n", run, result.makespan_us);
		assert_true(!run || result.makespan_us < 1.5 * 4300);
		replay_free(&result);
	}
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_published_fit),
	    cmocka_unit_test(test_published_bounds),
	    cmocka_unit_test(test_published_one_at_a_time),
	    cmocka_unit_test(test_published_overheads),
	    cmocka_unit_test(test_switches),
	    cmocka_unit_test(test_learning_by_rates),
	    cmocka_unit_test(test_rates_alone),
	    cmocka_unit_test(test_learning_together),
	    cmocka_unit_test(test_unlike_its_kind),
	    cmocka_unit_test(test_unequal_devices),
	    cmocka_unit_test(test_bound_of_learning),
	    cmocka_unit_test(test_no_crumbs),
	    cmocka_unit_test(test_short_loops),
	    cmocka_unit_test(test_accelerator_would_be_late),
	    cmocka_unit_test(test_overheads),
	    cmocka_unit_test(test_device_slows_down),
	    cmocka_unit_test(test_faster_than_the_others),
	    cmocka_unit_test(test_dear_zones),
	    cmocka_unit_test(test_dear_end_of_many),
	    cmocka_unit_test(test_unequal_iterations),
	    cmocka_unit_test(test_rising_costs),
	    cmocka_unit_test(test_dear_middle),
	    cmocka_unit_test(test_waves),
	    cmocka_unit_test(test_spike),
	    cmocka_unit_test(test_prior_rates),
	    cmocka_unit_test(test_hostile_prior_rates),
	    cmocka_unit_test(test_few_on_slow_device),
	    cmocka_unit_test(test_few_whole_iterations),
	    cmocka_unit_test(test_accelerators_begin_late),
	    cmocka_unit_test(test_second_runs_with_long_launches),
	    cmocka_unit_test(test_several_devices_ahead),
	    cmocka_unit_test(test_dear_end_of_pipeline),
	    cmocka_unit_test(test_replay_learns_one_at_a_time),
	    cmocka_unit_test(test_dear_first_blocks_again),
	    cmocka_unit_test(test_accelerators_begin_beside_dear_iterations),
	    cmocka_unit_test(test_long_launches),
	    cmocka_unit_test(test_long_launches_beside_many),
	    cmocka_unit_test(test_long_iterations_of_slow_cores),
	    cmocka_unit_test(test_one_core_pauses),
	    cmocka_unit_test(test_no_start_of_costs),
	    cmocka_unit_test(test_no_device_waits_for_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
