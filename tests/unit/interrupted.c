/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Cores that another program interrupts beside an accelerator that is far slower than they are. The
 * interrupted blocks look like dear iterations, and the accelerator's beside them like those of a
 * fast worker. The next runs must not believe it.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>

#include <heddle/strategy.h>

#include "partition/blocks/costs.h"
#include "partition/blocks/memory.h"
#include "partition/blocks/replay.h"
#include "partition/blocks/strategy.h"
#include "tests/unit/test.h"

#define N 2198
#define MOST_WORKERS 16
#define MOST_PAUSES 4

/* Blocks of the first loop that a process ran, on a core (1) beside an FPGA at 1 MHz (0): worker,
 * iterations, begin and end in microseconds. Twice the core was interrupted for 8 ms. */
static const struct {
	unsigned worker;
	size_t n;
	double begin, end;
} blocks_log[] = {
    {0, 32, 0.000, 8859.170},       {1, 1, 0.000, 9.734},           {1, 3, 9.734, 27.040},
    {1, 12, 27.040, 43.425},        {1, 67, 43.425, 126.408},       {1, 116, 126.408, 269.540},
    {1, 237, 269.540, 593.320},     {1, 346, 593.320, 9549.647},    {1, 60, 9549.647, 9624.808},
    {0, 73, 9549.647, 28810.751},   {1, 60, 9624.808, 9711.917},    {1, 62, 9711.917, 9790.744},
    {1, 65, 9790.744, 9872.125},    {1, 71, 9872.125, 9960.596},    {1, 79, 9960.596, 10058.411},
    {1, 92, 10058.411, 10193.941},  {1, 109, 10193.941, 10360.889}, {1, 130, 10360.889, 10542.108},
    {1, 155, 10542.108, 10733.752}, {1, 186, 10733.752, 19022.980}, {1, 38, 19022.980, 19070.500},
    {1, 41, 19070.500, 19121.877},  {1, 45, 19121.877, 19179.032},  {1, 51, 19179.032, 19242.616},
    {1, 33, 19242.616, 19482.381},  {1, 34, 19482.381, 19524.804},
};

#define NLOG (sizeof(blocks_log) / sizeof(blocks_log[0]))

/* An accelerator, worker 0, and cores: what a block costs beside its iterations, and one of these;
 * what a worker's first block takes more. Cores pause at some times. */
struct machine {
	unsigned nworkers;
	double start[MOST_WORKERS], pace[MOST_WORKERS], once[MOST_WORKERS];
	unsigned npauses, who[MOST_PAUSES];
	double at[MOST_PAUSES], us[MOST_PAUSES];
};

static struct heddle_strategy *strategy_make(unsigned nworkers)
{
	struct heddle_strategy_worker given[MOST_WORKERS] = {{.kind = HEDDLE_KIND_FPGA}};
	struct heddle_strategy_problem problem = {.n = N, .nworkers = nworkers, .workers = given};
	struct heddle_strategy *strategy;

	for (unsigned w = 1; w < nworkers; w++)
		given[w].kind = HEDDLE_KIND_CPU;
	assert_int_equal(heddle_strategy_create("hdss", &problem, &strategy), 0);
	return strategy;
}

static double end_of(const struct machine *m, unsigned worker, size_t n, bool first, double begin)
{
	double end = begin + m->start[worker] + n * m->pace[worker];

	end += first ? m->once[worker] : 0;
	for (unsigned p = 0; p < m->npauses; p++)
		if (m->who[p] == worker && m->at[p] >= begin && m->at[p] < end)
			end += m->us[p];
	return end;
}

struct runner {
	size_t has;
	bool began;
	double begin, end;
};

static void ask(const struct machine *m, struct heddle_strategy *strategy, struct runner *runners,
                unsigned worker, double now)
{
	struct runner *r = &runners[worker];

	if (r->has || !(r->has = heddle_strategy_next(strategy, worker)))
		return;
	r->begin = now;
	r->end = end_of(m, worker, r->has, !r->began, now);
	r->began = true;
}

/* @return what a run takes, microseconds */
static double run(const struct machine *m, struct blocks_memory **memory)
{
	struct heddle_strategy *strategy = strategy_make(m->nworkers);
	struct runner runners[MOST_WORKERS] = {{0}};
	double now = 0;

	if (*memory)
		blocks_memory_use(strategy, *memory);
	for (unsigned next = 0; next < m->nworkers;) {
		/* The worker that is done comes first. */
		ask(m, strategy, runners, next, now);
		next = m->nworkers;
		for (unsigned w = 0; w < m->nworkers; w++) {
			ask(m, strategy, runners, w, now);
			if (runners[w].has &&
			    (next == m->nworkers || runners[w].end < runners[next].end))
				next = w;
		}
		if (next == m->nworkers)
			break;
		now = runners[next].end;
		heddle_strategy_completed(strategy, next, runners[next].has,
		                          now - runners[next].begin);
		runners[next].has = 0;
	}
	assert_int_equal(heddle_strategy_remaining(strategy), 0);
	(void)blocks_memory_learn(strategy, memory);
	heddle_strategy_destroy(strategy);
	return now;
}

/* Gives the blocks of the log, whatever the strategy wishes, and learns from them. */
static struct blocks_memory *log_learn(void)
{
	struct heddle_strategy *strategy = strategy_make(2);
	struct blocks_memory *memory = NULL;
	size_t given = 0, under_way[2];
	bool busy[2] = {false};

	for (size_t done = 0; done < NLOG; done++) {
		unsigned w;

		for (; given < NLOG && !busy[blocks_log[given].worker]; given++) {
			w = blocks_log[given].worker;
			strategy->workers[w].given.minimum = blocks_log[given].n;
			strategy->workers[w].given.maximum = blocks_log[given].n;
			assert_int_equal(heddle_strategy_next(strategy, w), blocks_log[given].n);
			under_way[w] = given;
			busy[w] = true;
		}
		w = busy[0] && (!busy[1] ||
		                blocks_log[under_way[0]].end < blocks_log[under_way[1]].end)
		        ? 0
		        : 1;
		heddle_strategy_completed(strategy, w, blocks_log[under_way[w]].n,
		                          blocks_log[under_way[w]].end -
		                              blocks_log[under_way[w]].begin);
		busy[w] = false;
	}
	assert_int_equal(blocks_memory_learn(strategy, &memory), 0);
	heddle_strategy_destroy(strategy);
	return memory;
}

/* The core alone takes 2.9 ms. The second run took 116 ms: the FPGA had 446 iterations in one
 * block. */
static void test_log(void **state)
{
	struct machine m = {.nworkers = 2, .start = {17, 1.3}, .pace = {262, 1.28}};
	struct blocks_memory *memory = log_learn();
	double ratio = memory->workers[0].time.pace / memory->workers[1].time.pace;

	(void)state;
	print_message("the FPGA is found to be %.0f times as slow as the core\n", ratio);
	assert_true(ratio > 150 && ratio < 300);
	for (int r = 2; r <= 6; r++) {
		double us = run(&m, &memory);

		print_message("run %d takes %.0f us\n", r, us);
		assert_true(us < 1.2 * N * m.pace[1]);
	}
	free(memory);
}

/* Accelerators that are 20 to 400 times as slow as a core, one to three interruptions of 4 to 12 ms
 * in the first run. */
static struct machine machine_draw(unsigned cores)
{
	struct machine m = {.nworkers = 1 + cores, .npauses = 1 + drand48() * 3};
	double ideal = N * 1.3 / cores;

	m.start[0] = 9 + 20 * drand48();
	m.pace[0] = 1.3 * 20 * pow(20, drand48());
	for (unsigned w = 1; w <= cores; w++) {
		m.start[w] = 1 + 2 * drand48();
		m.pace[w] = 1.3 * (0.98 + 0.04 * drand48());
		m.once[w] = 8 * drand48();
	}
	for (unsigned p = 0; p < m.npauses; p++) {
		m.at[p] = 2 * drand48() * drand48() * ideal;
		m.us[p] = 8000 * (0.5 + drand48());
		m.who[p] = 1 + (unsigned)(drand48() * cores);
	}
	return m;
}

static void test_drawn(void **state)
{
	static const unsigned cores[] = {1, 3, 12};

	(void)state;
	srand48(test_seed());
	for (int c = 0; c < 3; c++) {
		double sum = 0, worst = 0;

		for (int i = 0; i < 300; i++) {
			struct machine m = machine_draw(cores[c]);
			struct blocks_memory *memory = NULL;

			run(&m, &memory);
			m.npauses = 0;
			for (int r = 2; r <= 4; r++) {
				double ratio = run(&m, &memory) / (N * 1.3 / cores[c]);

				sum += ratio / 900;
				worst = fmax(worst, ratio);
			}
			free(memory);
		}
		print_message("%u cores: later runs take %.2f of the cores' time, at worst %.1f\n",
		              cores[c], sum, worst);
		assert_true(sum < 1.6);
	}
}

#define DEVICES 8
#define CORES 128

/* Accelerators whose dear first blocks and short last ones found them without work: all others
 * follow in a pipeline, and tell that the costs are right. */
static void test_dear_begin_of_pipelines(void **state)
{
	static const double speeds[DEVICES] = {80, 60, 48, 36, 30, 24, 16, 8};
	static struct replay_worker workers[DEVICES + CORES];
	static double work[400001];
	struct replay_machine machine = {.n = 400000, .workers = workers, .work = work};

	(void)state;
	machine.nworkers = DEVICES + CORES;
	for (size_t i = 0; i < machine.n; i++)
		work[i + 1] = work[i] + (i < machine.n / 100 ? 50 : 1) / 1.49;
	for (unsigned w = 0; w < machine.nworkers; w++)
		workers[w] = (struct replay_worker){.given.kind = w < DEVICES ? HEDDLE_KIND_CUDA
		                                                              : HEDDLE_KIND_CPU,
		                                    .rate = (w < DEVICES ? speeds[w] : 1) * 4 / 430,
		                                    .overhead_us = w < DEVICES ? 50 : 3,
		                                    .depth = w < DEVICES ? 2 : 1,
		                                    .noise = 0.05};
	for (unsigned seed = 1; seed < 5; seed++) {
		struct blocks_memory *memory = NULL;

		machine.memory = &memory;
		for (unsigned r = 1; r <= 4; r++) {
			struct replay_result result;

			machine.seed = seed + (6 - r) * 1000003UL;
			assert_int_equal(replay_run("hdss", &machine, &result), 0);
			print_message("run %u: %.3f of the ideal\n", r,
			              result.ideal_us / result.makespan_us);
			assert_true(result.ideal_us > 0.9 * result.makespan_us);
			replay_free(&result);
		}
		free(memory);
	}
}

/* Part of the work that costs tell to be elsewhere than it is in a loop of equal iterations. */
static double costs_off(const struct costs *costs)
{
	double off = 0;

	for (size_t i = 0; i < 32; i++)
		off += fabs(costs_work(costs, costs->n * i / 32, costs->n / 32) - costs->n / 32);
	return off / costs->n;
}

/* Equal iterations on an accelerator, in a pipeline, and slow cores. All that happens in the first
 * run for the first time makes its times differ widely. It looks like dear and cheap iterations,
 * but the runs after it deny that. */
static void test_first_run(void **state)
{
	double after[4] = {0};

	(void)state;
	srand48(test_seed());
	for (int i = 0; i < 300; i++) {
		static struct replay_worker workers[13];
		struct replay_machine machine = {
		    .n = 4096, .workers = workers, .nworkers = 2 + (unsigned)(12 * drand48())};
		double cores = (0.02 + 0.3 * drand48()) / (machine.nworkers - 1);
		struct blocks_memory *memory = NULL;

		machine.memory = &memory;
		for (unsigned r = 1; r <= 3; r++) {
			struct replay_result result;

			for (unsigned w = 0; w < machine.nworkers; w++)
				workers[w] = (struct replay_worker){
				    .given.kind = w ? HEDDLE_KIND_CPU : HEDDLE_KIND_CUDA,
				    .rate = (w ? cores : 1) / (r > 1 ? 1 : 2),
				    .overhead_us = w ? 10 : 100,
				    .depth = w ? 1 : 2,
				    .transfer = w ? 0 : 0.3,
				    .noise = r > 1 ? 0.2 : 1};
			machine.seed = lrand48();
			assert_int_equal(replay_run("hdss", &machine, &result), 0);
			replay_free(&result);
			after[r] += costs_off(&memory->costs) / 300;
		}
		free(memory);
	}
	print_message("costs are off by %.3f, %.3f and %.3f after runs 1 to 3\n", after[1],
	              after[2], after[3]);
	assert_true(after[3] < 0.08);
}

/* A worker's first block takes longer: programs, memory and tables come with it. That must not look
 * like what every block costs beside its iterations. There are few iterations, so that a core's
 * first blocks are one or three of them. Without other faults a run takes as long as if the work
 * that the first blocks delay came to it. */
static void test_first_blocks(void **state)
{
	double mean = 0, least = HUGE_VAL;

	(void)state;
	srand48(test_seed());
	for (int i = 0; i < 300; i++) {
		static struct replay_worker workers[36];
		unsigned cores = 2 + (unsigned)(31 * drand48()),
		         devices = (unsigned)(3 * drand48());
		struct replay_machine machine = {.n = 500 + (size_t)(1500 * drand48()),
		                                 .workers = workers,
		                                 .nworkers = cores + devices};
		double speed = 5 * pow(20, drand48()), all = cores + devices * speed;
		double us = 4000 * pow(10, drand48()), once = 300 * pow(5, drand48());
		struct replay_result result;

		for (unsigned w = 0; w < cores + devices; w++)
			workers[w] = (struct replay_worker){
			    .given.kind = w < cores ? HEDDLE_KIND_CPU : HEDDLE_KIND_CUDA,
			    .rate = (w < cores ? 1 : speed) * machine.n / us / all,
			    .overhead_us = w < cores ? 5 : 50,
			    .once_us = once * (0.7 + 0.6 * drand48()),
			    .noise = 0.1};
		for (unsigned w = 0; w < cores + devices; w++)
			us += workers[w].once_us * (w < cores ? 1 : speed) / all;
		machine.seed = lrand48();
		assert_int_equal(replay_run("hdss", &machine, &result), 0);
		mean += us / result.makespan_us / 300;
		least = fmin(least, us / result.makespan_us);
		replay_free(&result);
	}
	print_message("mean %.3f, least %.3f\n", mean, least);
	assert_true(mean > 0.89);
}

/* Nothing tells how much of the time of a core's block is start where each core had one block, of
 * one iteration or of two. Long iterations beside a fast accelerator: a core that gets several of
 * them ends long after it. */
static void test_core_blocks(void **state)
{
	enum { ALL = 37, RUNS = 100 };
	double worst = 0, sum = 0;

	(void)state;
	for (unsigned seed = 1; seed <= RUNS; seed++) {
		static struct replay_worker workers[ALL];
		struct replay_machine machine = {.n = 2881, .workers = workers, .nworkers = ALL};
		struct blocks_memory *memory = NULL;
		struct replay_result result;
		double us = 0;

		for (unsigned w = 0; w < ALL; w++)
			workers[w] = (struct replay_worker){.given.kind = w ? HEDDLE_KIND_CPU
			                                                    : HEDDLE_KIND_CUDA,
			                                    .rate = w ? 1 / 16771.2 : 1 / 12.81,
			                                    .overhead_us = w ? 10 : 43,
			                                    .depth = w ? 1 : 2,
			                                    .transfer = w ? 0 : 0.25,
			                                    .noise = w ? 0.14 : 0.21};
		machine.memory = &memory;
		for (unsigned r = 1; r <= 2; r++) {
			machine.seed = seed + r * 1000003UL;
			assert_int_equal(replay_run("hdss", &machine, &result), 0);
			us = result.makespan_us / result.ideal_us;
			replay_free(&result);
		}
		worst = fmax(worst, us);
		sum += us / RUNS;
		free(memory);
	}
	print_message("second runs take %.2f of the ideal, at worst %.2f\n", sum, worst);
	assert_true(sum < 1.8);
}

/* The first block of a core in a run, when the accelerator has asked before it or not. */
static size_t core_first(const struct replay_machine *machine, unsigned accelerator)
{
	struct heddle_strategy_worker given[13];
	struct heddle_strategy_problem problem = {
	    .n = machine->n, .nworkers = machine->nworkers, .workers = given};
	struct heddle_strategy *strategy;
	size_t n;

	for (unsigned w = 0; w < machine->nworkers; w++)
		given[w] = machine->workers[w].given;
	assert_int_equal(heddle_strategy_create("hdss:crew=0", &problem, &strategy), 0);
	blocks_memory_use(strategy, *machine->memory);
	for (unsigned i = 0; i < accelerator; i++)
		assert_true(heddle_strategy_next(strategy, 0) > 0);
	n = heddle_strategy_next(strategy, 1);
	heddle_strategy_destroy(strategy);
	return n;
}

/* In a pipeline the start of an accelerator's first block alone is not hidden. So the run is no
 * longer before the accelerator asks than after it. */
static void test_cold_pipeline(void **state)
{
	struct replay_worker workers[13];
	struct replay_machine machine = {.n = 8000, .workers = workers, .nworkers = 13};
	struct blocks_memory *memory = NULL;
	size_t before, after;

	(void)state;
	for (unsigned w = 0; w < 13; w++)
		workers[w] =
		    (struct replay_worker){.given.kind = w ? HEDDLE_KIND_CPU : HEDDLE_KIND_CUDA,
		                           .rate = w ? 1 / 90.0 : 1 / 0.65,
		                           .overhead_us = w ? 500 : 600,
		                           .depth = w ? 1 : 2,
		                           .noise = 0.02};
	machine.memory = &memory;
	for (unsigned r = 1; r <= 3; r++) {
		struct replay_result result;

		machine.seed = r;
		assert_int_equal(replay_run("hdss:crew=0", &machine, &result), 0);
		replay_free(&result);
	}
	before = core_first(&machine, 0);
	after = core_first(&machine, 2);
	print_message("a core's first block: %zu before the accelerator asks, %zu after it\n",
	              before, after);
	assert_true(before < 1.1 * after);
	free(memory);
}

#define ALIKE 35

/* Accelerators of three kinds and no core: at the end of a run each of them could leave the rest to
 * all the others, which would do the same. Once some of them fail. */
static void test_alike(void **state)
{
	static const double speeds[] = {1, 40, 6};
	static struct replay_worker workers[ALIKE];
	struct replay_machine machine = {.n = 195, .workers = workers, .nworkers = ALIKE};
	struct blocks_memory *memory = NULL;

	(void)state;
	for (unsigned w = 0; w < ALIKE; w++)
		workers[w] = (struct replay_worker){.given.kind = HEDDLE_KIND_CUDA + w % 3,
		                                    .rate = speeds[w % 3] / 5000,
		                                    .overhead_us = 5};
	machine.memory = &memory;
	for (unsigned r = 1; r <= 8; r++) {
		struct replay_result result;

		/* Those that are left are the slowest. */
		for (unsigned w = 0; r == 8 && w < ALIKE; w++)
			workers[w].stop_us = w % 3 ? 1 : 0;
		assert_int_equal(replay_run("hdss", &machine, &result), 0);
		print_message("run %u: %.3f of the ideal\n", r,
		              result.ideal_us / result.makespan_us);
		assert_int_equal(result.left, 0);
		assert_true(r == 1 || result.ideal_us > 0.75 * result.makespan_us);
		replay_free(&result);
	}
	free(memory);
}

/* Two accelerators alike, whose starts take most of the time: noise makes their own blocks deny a
 * start once. What runs before told of it stays. */
static void test_long_starts(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 200; seed++) {
		struct replay_worker workers[2];
		struct replay_machine machine = {.n = 436, .workers = workers, .nworkers = 2};
		struct blocks_memory *memory = NULL;
		double second_us = 0;

		for (unsigned w = 0; w < 2; w++)
			workers[w] = (struct replay_worker){.given.kind = HEDDLE_KIND_CUDA,
			                                    .rate = 436 / 3567.0 / 2,
			                                    .overhead_us = 2570,
			                                    .noise = 0.2};
		machine.memory = &memory;
		for (unsigned r = 1; r <= 6; r++) {
			struct replay_result result;

			machine.seed = seed * 7 + r;
			assert_int_equal(replay_run("hdss", &machine, &result), 0);
			if (r == 2)
				second_us = result.makespan_us;
			if (r > 2 && result.makespan_us > 3 * second_us)
				print_message("seed %u, run %u: %.0f us, second run %.0f\n", seed,
				              r, result.makespan_us, second_us);
			assert_true(r <= 2 || result.makespan_us < 3 * second_us);
			replay_free(&result);
		}
		free(memory);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_log),
	    cmocka_unit_test(test_drawn),
	    cmocka_unit_test(test_dear_begin_of_pipelines),
	    cmocka_unit_test(test_first_run),
	    cmocka_unit_test(test_first_blocks),
	    cmocka_unit_test(test_core_blocks),
	    cmocka_unit_test(test_cold_pipeline),
	    cmocka_unit_test(test_alike),
	    cmocka_unit_test(test_long_starts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
