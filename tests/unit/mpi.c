/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What loops over ranks decide, without MPI: who has which part, who gets which iterations, who has
 * been silent for too long, whether all want the same. Simulated ranks know no noise and no clock,
 * so that every number is exact.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "estimator/block_time.h"
#include "partition/mpi/agreement.h"
#include "partition/mpi/claims.h"
#include "partition/mpi/layout.h"
#include "partition/mpi/place.h"
#include "partition/mpi/protocol.h"
#include "partition/mpi/watch.h"
#include "tests/unit/test.h"

/* ---- parts of a machine ---- */

/* Ranks on a machine, the r-th bound to bound[r] (hwloc's lists), have own[r]. */
static void assert_places(const char *machine, unsigned nranks, const char *const *bound,
                          const char *const *own)
{
	hwloc_cpuset_t sets[8], found = hwloc_bitmap_alloc();

	for (unsigned r = 0; r < nranks; r++) {
		sets[r] = hwloc_bitmap_alloc();
		hwloc_bitmap_list_sscanf(sets[r], bound[r]);
	}
	for (unsigned r = 0; r < nranks; r++) {
		hwloc_topology_t topology;
		char text[64];

		assert_int_equal(hwloc_topology_init(&topology), 0);
		assert_int_equal(hwloc_topology_set_synthetic(topology, machine), 0);
		assert_int_equal(hwloc_topology_load(topology), 0);
		assert_int_equal(
		    mpi_place_cores(topology, (const hwloc_const_cpuset_t *)sets, r, nranks, found),
		    0);
		hwloc_bitmap_list_snprintf(text, sizeof(text), found);
		assert_string_equal(text, own[r]);
		hwloc_topology_destroy(topology);
	}
	for (unsigned r = 0; r < nranks; r++)
		hwloc_bitmap_free(sets[r]);
	hwloc_bitmap_free(found);
}
#define PLACES(machine, bound, ...)                                                                \
	assert_places(machine, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),             \
	              (const char *[])bound, (const char *[]){__VA_ARGS__})
#define BOUND(...)                                                                                 \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static void test_ranks_divide_a_machine(void **state)
{
	/* Not bound at all; threads of a core stay together. */
	PLACES("pack:2 core:4 pu:1", BOUND("0-7", "0-7"), "0-3", "4-7");
	PLACES("pack:2 core:2 pu:2", BOUND("0-7", "0-7", "0-7", "0-7"), "0-1", "2-3", "4-5", "6-7");
	PLACES("core:5 pu:1", BOUND("0-4", "0-4"), "0-1", "2-4");
	PLACES("core:4 pu:1", BOUND("0-3"), "0-3");
	/* More ranks than cores. */
	PLACES("core:2 pu:1", BOUND("0-1", "0-1", "0-1", "0-1"), "0", "0", "1", "1");
	/* As Open MPI binds two ranks unless told otherwise, and one on each machine. */
	PLACES("pack:2 core:4 pu:1", BOUND("0", "1"), "0-3", "4-7");
	PLACES("pack:2 core:4 pu:1", BOUND("0-3"), "0-7");
	/* As it binds three. */
	PLACES("pack:2 core:4 pu:1", BOUND("0-3", "4-7", "0-3"), "0-1", "4-7", "2-3");
	/* The launcher has divided it. */
	PLACES("core:8 pu:1", BOUND("0-1", "2-7"), "0-1", "2-7");
	PLACES("core:8 pu:1", BOUND("0-5"), "0-5");
	PLACES("core:2 pu:1", BOUND("1", "0"), "1", "0");
}

static void test_ranks_divide_devices(void **state)
{
	unsigned first;

	for (unsigned n = 0; n < 9; n++)
		for (unsigned nranks = 1; nranks < 9; nranks++)
			for (unsigned r = 0, before = 0; r < nranks; r++) {
				unsigned end = mpi_place_share(n, r, nranks, &first);

				assert_int_equal(first, before);
				assert_in_range(end - first, n / nranks, (n + nranks - 1) / nranks);
				before = end;
				assert_true(r < nranks - 1 || end == n);
			}
}

/* STARPU_NCUDA=-1 is StarPU's default. It counted as 4294967295 devices. */
static void test_devices_said(void **state)
{
	assert_int_equal(mpi_place_said(NULL, 4), 4);
	assert_int_equal(mpi_place_said("-1", 4), 4);
	assert_int_equal(mpi_place_said("0", 4), 0);
	assert_int_equal(mpi_place_said("2", 4), 2);
}

static void test_free_core(void **state)
{
	assert_int_equal(mpi_place_free(64, 0), 0);
	assert_int_equal(mpi_place_free(16, 1), 1);
	assert_int_equal(mpi_place_free(5, 1), 1);
	assert_int_equal(mpi_place_free(4, 1), 0);
	assert_int_equal(mpi_place_free(1, 1), 0);
	assert_int_equal(mpi_place_free(8, 4), 1);
}

/* ---- layouts ---- */

/* Runs of ranks that have as many units tell a layout. */
static void test_layout_runs(void **state)
{
	enum { MOST = 40 };
	unsigned seed = test_seed();

	for (int round = 0; round < 1000; round++) {
		unsigned nranks = 1 + rand_r(&seed) % MOST, differ = 1 + rand_r(&seed) % 4, n;
		size_t first[MOST + 1] = {0}, again[MOST + 1];
		struct mpi_layout_run runs[MOST];

		for (unsigned r = 0; r < nranks; r++)
			first[r + 1] = first[r] + rand_r(&seed) % differ;
		n = mpi_layout_runs(&(struct mpi_layout){nranks, first}, runs);
		assert_in_range(n, 1, differ == 1 ? 1 : nranks);
		mpi_layout_first(runs, n, again);
		assert_memory_equal(again, first, (nranks + 1) * sizeof(*first));
	}
}

static void assert_cut(const struct mpi_layout *layout, struct mpi_units *units, size_t most,
                       unsigned rank, size_t first, size_t count)
{
	unsigned found = 99;
	struct mpi_units part = mpi_layout_cut(layout, units, most, &found);

	assert_int_equal(found, rank);
	assert_int_equal(part.first, first);
	assert_int_equal(part.count, count);
}

static void test_cut(void **state)
{
	static const size_t first[] = {0, 0, 10, 10, 25};
	const struct mpi_layout layout = {4, first};
	struct mpi_units units = {3, 20};
	unsigned rank;

	assert_int_equal(mpi_layout_total(&layout), 25);
	assert_cut(&layout, &units, 100, 1, 3, 7);
	assert_cut(&layout, &units, 6, 3, 10, 6);
	assert_cut(&layout, &units, 6, 3, 16, 6);
	assert_cut(&layout, &units, 6, 3, 22, 1);
	assert_int_equal(mpi_layout_cut(&layout, &units, 6, &rank).count, 0);
	assert_true(mpi_units_within((struct mpi_units){3, 2}, (struct mpi_units){3, 2}));
	assert_true(mpi_units_within((struct mpi_units){9, 0}, (struct mpi_units){3, 2}));
	assert_false(mpi_units_within((struct mpi_units){2, 2}, (struct mpi_units){3, 2}));
	assert_false(mpi_units_within((struct mpi_units){4, 2}, (struct mpi_units){3, 2}));
}

/* Rank 1 wants units that it has, and some of ranks 0 and 3; rank 2 has none. */
static void test_move(void **state)
{
	static const size_t first[] = {0, 4, 10, 10, 25};
	const struct mpi_layout layout = {4, first};
	struct mpi_moved moved[4] = {{1, 2}};

	mpi_layout_move(&layout, 1, (struct mpi_units){3, 9}, 8, moved);
	mpi_layout_move(&layout, 2, (struct mpi_units){5, 0}, 8, moved);
	mpi_layout_move(&layout, 0, (struct mpi_units){0, 4}, 8, moved);
	assert_true(moved[0].in == 1 && moved[0].out == 2 + 8);
	assert_true(moved[1].in == 24 && moved[1].out == 0);
	assert_true(moved[2].in == 0 && moved[2].out == 0);
	assert_true(moved[3].in == 0 && moved[3].out == 16);
}

/* ---- claims on simulated ranks ---- */

enum { MAXRANKS = 256 };

/* A rank that takes overhead_us and n / rate for a range, and begins late. Data that is not at home
 * comes and goes. */
struct machine {
	unsigned nranks;
	double rate[MAXRANKS], late_us[MAXRANKS], overhead_us;
	double message_us, send_us; /* either way: of a range, and of an iteration */
};

struct outcome {
	double us, ideal_us;
	size_t ranges, abroad; /* ranges; iterations away from home */
	unsigned char *times;  /* how often each iteration was given */
};

/* What a rank has: one range under way, and perhaps one that waits. */
struct busy {
	struct mpi_range now, next;
	double end_us, last_us;
	double come_us; /* when the data of `next` has come */
};

static void range_given(const struct mpi_claims_problem *problem, unsigned rank,
                        struct mpi_range range, struct outcome *outcome)
{
	assert_true(range.n > 0 && range.start + range.n <= problem->n);
	outcome->ranges++;
	for (size_t i = range.start; i < range.start + range.n; i++) {
		outcome->times[i]++;
		outcome->abroad +=
		    problem->homes && (i < problem->homes[rank] || i >= problem->homes[rank + 1]);
	}
}

static bool is_abroad(const struct machine *machine, unsigned rank, struct mpi_range range)
{
	return range.home != rank && range.home < machine->nranks;
}

/* What its data takes, or its results. */
static double sent_us(const struct machine *machine, unsigned rank, struct mpi_range range)
{
	return is_abroad(machine, rank, range) ? machine->message_us + range.n * machine->send_us
	                                       : 0;
}

/* @param come_us when its data has come */
static void rank_begin(const struct machine *machine, struct busy *busy, unsigned rank,
                       struct mpi_range range, double come_us, double now)
{
	busy->now = range;
	busy->end_us = fmax(now, come_us) + machine->overhead_us + range.n / machine->rate[rank];
}

/* Gives ranks what they may have. */
static void ranks_serve(struct mpi_claims *claims, const struct mpi_claims_problem *problem,
                        const struct machine *machine, struct busy *busy, double now,
                        struct outcome *outcome)
{
	struct mpi_range range;

	for (unsigned r = 0; r < machine->nranks; r++)
		while (now >= machine->late_us[r] && !busy[r].next.n &&
		       mpi_claims_next(claims, r, &range)) {
			range_given(problem, r, range, outcome);
			busy[r].come_us = now + sent_us(machine, r, range);
			if (busy[r].now.n)
				busy[r].next = range;
			else
				rank_begin(machine, &busy[r], r, range, busy[r].come_us, now);
		}
}

/* The time of the next event: a range ends, or a late rank comes. */
static double next_event(const struct machine *machine, const struct busy *busy, double now)
{
	double next = INFINITY;

	for (unsigned r = 0; r < machine->nranks; r++) {
		if (busy[r].now.n && busy[r].end_us < next)
			next = busy[r].end_us;
		if (machine->late_us[r] > now && machine->late_us[r] < next)
			next = machine->late_us[r];
	}
	return next;
}

static void range_end(struct mpi_claims *claims, const struct machine *machine, struct busy *busy,
                      unsigned rank, double now)
{
	struct busy *own = &busy[rank];
	double sent = sent_us(machine, rank, own->now);

	mpi_claims_completed(claims, rank, &own->now, now - own->last_us);
	if (sent > 0)
		mpi_claims_moved(claims, own->now.n, 2 * sent);
	own->last_us = now;
	own->now.n = 0;
	if (own->next.n)
		rank_begin(machine, own, rank, own->next, own->come_us, now);
	own->next.n = 0;
}

/* Ranks share a loop until all is computed.
 * @param memory of its runs; NULL: not kept */
static struct outcome simulate_again(const struct mpi_claims_problem *problem,
                                     const struct machine *machine, struct blocks_memory **memory)
{
	struct outcome outcome = {.times = calloc(problem->n + 1, 1)};
	struct busy busy[MAXRANKS] = {0};
	struct mpi_claims *claims;
	double now = 0, rates = 0, home_us = 0;

	assert_int_equal(mpi_claims_create(problem, &claims), 0);
	for (unsigned r = 0; r < machine->nranks; r++) {
		rates += machine->rate[r];
		busy[r].last_us = machine->late_us[r];
	}
	while (!mpi_claims_over(claims)) {
		ranks_serve(claims, problem, machine, busy, now, &outcome);
		now = next_event(machine, busy, now);
		assert_true(isfinite(now));
		for (unsigned r = 0; r < machine->nranks; r++)
			if (busy[r].now.n && busy[r].end_us <= now) {
				home_us = fmax(home_us, now + sent_us(machine, r, busy[r].now));
				range_end(claims, machine, busy, r, now);
			}
	}
	for (size_t i = 0; i < problem->n; i++)
		assert_int_equal(outcome.times[i], 1);
	outcome.us = home_us;
	outcome.ideal_us = problem->n / rates;
	if (memory)
		assert_int_equal(mpi_claims_learn(claims, memory), 0);
	mpi_claims_destroy(claims);
	free(outcome.times);
	outcome.times = NULL;
	return outcome;
}

static struct outcome simulate(const struct mpi_claims_problem *problem,
                               const struct machine *machine)
{
	return simulate_again(problem, machine, NULL);
}

static const char *const strategies[] = {
    "hdss",        "gss",    "css:chunk=100",  "tss",    "fss",  "linear", "axel",
    "exponential", "qilin",  "hdss:overlap=0", "static", "mfsc", "awfd",   "awfe",
    "af",          "plbhec", "logfit",         "auto"};
#define NSTRATEGIES (sizeof(strategies) / sizeof(strategies[0]))

static void machine_choose(struct machine *machine, unsigned *seed)
{
	machine->nranks = 1 + rand_r(seed) % 9;
	machine->overhead_us = rand_r(seed) % 100;
	for (unsigned r = 0; r < machine->nranks; r++) {
		machine->rate[r] = 1 + rand_r(seed) % 20;
		machine->late_us[r] = rand_r(seed) % 4 ? 0 : rand_r(seed) % 1000;
	}
}

/* Every iteration is given once, wherever data lies, late or early, under every strategy. */
static void test_each_once(void **state)
{
	unsigned seed = test_seed();
	size_t homes[MAXRANKS + 1];
	struct machine machine;

	for (int round = 0; round < 1000; round++) {
		struct mpi_claims_problem problem = {.strategy = strategies[round % NSTRATEGIES],
		                                     .n = rand_r(&seed) % 20000,
		                                     .alignment = rand_r(&seed) % 3 * 8};

		machine_choose(&machine, &seed);
		problem.nranks = machine.nranks;
		homes[0] = 0;
		for (unsigned r = 0; r < machine.nranks; r++)
			homes[r + 1] = homes[r] + rand_r(&seed) % (problem.n - homes[r] + 1);
		homes[machine.nranks] = problem.n;
		if (rand_r(&seed) % 2)
			problem.homes = homes;
		simulate(&problem, &machine);
	}
}

/* Half of the ranks have an accelerator: 37 times as fast as the others. */
static void test_unequal_ranks(void **state)
{
	static const unsigned sizes[] = {2, 4, 8, 16, 64};
	struct machine machine = {.overhead_us = 200};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		struct mpi_claims_problem problem = {
		    .strategy = "hdss", .nranks = sizes[s], .n = (size_t)sizes[s] << 20};
		struct outcome outcome;

		machine.nranks = sizes[s];
		for (unsigned r = 0; r < sizes[s]; r++)
			machine.rate[r] = r % 2 ? 0.0185 * 37 : 0.0185;
		outcome = simulate(&problem, &machine);
		print_message("%u ranks: %.4f of the sum of the rates, %zu ranges\n", sizes[s],
		              outcome.ideal_us / outcome.us, outcome.ranges);
		assert_true(outcome.ideal_us / outcome.us >= 0.97);
	}
}

/* Ranks that are alike compute their own parts, but for the last of it. */
static void test_at_home(void **state)
{
	size_t homes[9];
	struct mpi_claims_problem problem = {
	    .strategy = "hdss", .nranks = 8, .n = 8 << 20, .homes = homes};
	struct machine machine = {.nranks = 8, .overhead_us = 200};
	struct outcome outcome;

	for (unsigned r = 0; r < 8; r++) {
		machine.rate[r] = 1;
		homes[r + 1] = (size_t)(r + 1) << 20;
	}
	homes[0] = 0;
	outcome = simulate(&problem, &machine);
	print_message("%zu of %zu iterations away from home\n", outcome.abroad, problem.n);
	assert_true(outcome.abroad < problem.n / 20);
	assert_true(outcome.ideal_us / outcome.us >= 0.97);
	/* All lies on one rank's side: the others help. */
	for (unsigned r = 1; r < 8; r++)
		homes[r] = problem.n;
	outcome = simulate(&problem, &machine);
	assert_true(outcome.ideal_us / outcome.us >= 0.97);
}

/* Four ranks with equal parts of iterations of a microsecond; rank 0 is `times` as fast. */
static struct outcome simulate_parts(double times, double send_us, size_t bytes)
{
	static const size_t homes[] = {0, 10000, 20000, 30000, 40000};
	const struct mpi_claims_problem problem = {
	    .strategy = "hdss", .nranks = 4, .n = 40000, .homes = homes, .bytes = bytes};
	struct machine machine = {.nranks = 4,
	                          .rate = {times, 1, 1, 1},
	                          .overhead_us = 20,
	                          .message_us = 100,
	                          .send_us = send_us};
	struct outcome outcome = simulate(&problem, &machine);

	print_message("rank 0 %g times as fast, %g us to send: %.0f us, %zu away from home\n",
	              times, send_us, outcome.us, outcome.abroad);
	return outcome;
}

/* A rank that has done its own helps where that ends the loop sooner, and not where iterations are
 * dearer to send than to compute. */
static void test_dear_to_send(void **state)
{
	struct outcome near = simulate_parts(20, 0.01, 32);
	struct outcome far = simulate_parts(20, 10, 32000);
	struct outcome slow = simulate_parts(0.05, 2, 6400);

	assert_true(near.us < 1.5 * 40000 / 23);
	/* It asks once what that takes. */
	assert_true(far.us < 1.1 * 10000);
	assert_true(far.abroad < 100);
	/* Alone it would need 200000 us. */
	assert_true(slow.us < 0.25 * 200000);
}

/* The rates of ranks are known when a loop runs again: it has fewer ranges, and is faster. A run in
 * few long ranges does not make the next one go back to many. */
static void test_again(void **state)
{
	static const size_t homes[] = {0, 2 << 20, 4 << 20, 8 << 20};
	struct mpi_claims_problem problem = {
	    .strategy = "hdss", .nranks = 3, .n = 8 << 20, .homes = homes};
	struct machine machine = {
	    .nranks = 3, .rate = {300, 300, 600}, .late_us = {100}, .overhead_us = 150};
	struct blocks_memory *memory = NULL;
	struct outcome first = simulate_again(&problem, &machine, &memory), again;

	problem.memory = memory;
	for (int run = 1; run <= 10; run++) {
		again = simulate_again(&problem, &machine, &memory);
		problem.memory = memory;
		print_message("%.0f us in %zu ranges, then %.0f us in %zu\n", first.us,
		              first.ranges, again.us, again.ranges);
		assert_true(again.us < first.us);
		assert_true(again.ranges < first.ranges);
		assert_true(run == 1 || 2 * again.ranges < first.ranges);
	}
	/* Other ranks: it is as if nothing were known. */
	problem.nranks = machine.nranks = 2;
	problem.homes = NULL;
	again = simulate(&problem, &machine);
	problem.memory = NULL;
	assert_true(again.us == simulate(&problem, &machine).us);
	free(memory);
}

/* What it took to send iterations tells nothing of a rank's rate, nor of the place where these
 * iterations were in the order of claims: later runs have as few ranges as they need. */
static void test_again_dear_to_send(void **state)
{
	static const size_t homes[] = {0, 4000, 8000, 12000, 16000};
	struct heddle_block_time moved = {0};
	struct mpi_claims_problem problem = {.strategy = "hdss",
	                                     .nranks = 4,
	                                     .n = 16000,
	                                     .homes = homes,
	                                     .bytes = 128000,
	                                     .at_hand = true,
	                                     .moved = &moved};
	struct machine machine = {.nranks = 4,
	                          .rate = {2, 2, 2, 2},
	                          .overhead_us = 20,
	                          .message_us = 400,
	                          .late_us = {0, 0, 2500, 500},
	                          .send_us = 2000};
	struct blocks_memory *memory = NULL;

	for (int run = 0; run < 6; run++) {
		struct outcome outcome = simulate_again(&problem, &machine, &memory);

		problem.memory = memory;
		print_message("run %d: %.0f us in %zu ranges, %zu away from home\n", run,
		              outcome.us, outcome.ranges, outcome.abroad);
		if (run)
			assert_true(outcome.us < 6500 && outcome.ranges < 40);
	}
	free(memory);
}

/* Ranks have the data of their iterations, and each range costs something beside them. No data has
 * to come while a range runs, so ranges are longer and fewer, and less is lost by them. */
static void test_data_at_hand(void **state)
{
	enum { MACHINES = 100, RUNS = 4 };
	double us[2] = {0}, ideal_us = 0;
	size_t homes[MAXRANKS + 1], ranges[2] = {0};
	unsigned seed = test_seed();
	struct machine machine;

	for (int i = 0; i < MACHINES; i++) {
		struct mpi_claims_problem problem = {
		    .strategy = "hdss", .homes = homes, .bytes = 8};
		bool alike = rand_r(&seed) % 2;

		machine_choose(&machine, &seed);
		machine.nranks += machine.nranks == 1;
		machine.send_us = 0.01;
		machine.message_us = 30;
		machine.overhead_us += 50;
		problem.nranks = machine.nranks;
		for (unsigned r = 0; r < machine.nranks; r++) {
			machine.rate[r] = alike ? 100 : 10 * (1 + rand_r(&seed) % 20);
			problem.n += machine.rate[r] * 5000;
			machine.late_us[r] = 0;
		}
		for (unsigned r = 0; r <= machine.nranks; r++)
			homes[r] = problem.n / machine.nranks * r;
		homes[machine.nranks] = problem.n;
		for (int at_hand = 0; at_hand < 2; at_hand++) {
			struct blocks_memory *memory = NULL;
			struct heddle_block_time moved = {0};

			problem.at_hand = at_hand;
			problem.moved = &moved;
			problem.memory = NULL;
			for (int run = 0; run < RUNS; run++) {
				struct outcome outcome =
				    simulate_again(&problem, &machine, &memory);

				problem.memory = memory;
				us[at_hand] += outcome.us;
				ranges[at_hand] += outcome.ranges;
				ideal_us += at_hand ? outcome.ideal_us : 0;
			}
			free(memory);
		}
	}
	print_message("ideal %.0f us, %.0f us in %zu ranges, at hand %.0f us in %zu\n", ideal_us,
	              us[0], ranges[0], us[1], ranges[1]);
	assert_true(us[1] - ideal_us < 0.875 * (us[0] - ideal_us));
	assert_true(4 * ranges[1] < 3 * ranges[0]);
}

/* Who helps takes what the owner comes to last. */
static void test_help_from_the_end(void **state)
{
	static const size_t homes[] = {0, 1000, 1100};
	const struct mpi_claims_problem problem = {
	    .strategy = "css:chunk=100", .nranks = 2, .n = 1100, .homes = homes};
	struct mpi_claims *claims;
	struct mpi_range range;

	assert_int_equal(mpi_claims_create(&problem, &claims), 0);
	assert_true(mpi_claims_next(claims, 0, &range));
	assert_int_equal(range.start, 0);
	assert_true(mpi_claims_next(claims, 1, &range));
	assert_int_equal(range.start, 1000);
	mpi_claims_completed(claims, 1, &range, 10);
	assert_true(mpi_claims_next(claims, 1, &range));
	assert_int_equal(range.start, 900);
	assert_int_equal(range.n, 100);
	assert_false(mpi_claims_over(claims));
	mpi_claims_destroy(claims);
}

static void test_bad_strategy(void **state)
{
	const struct mpi_claims_problem problem = {.strategy = "best", .nranks = 2, .n = 10};
	struct mpi_claims *claims;

	assert_int_equal(mpi_claims_create(&problem, &claims), -EINVAL);
}

/* ---- silence ---- */

static void test_silence(void **state)
{
	struct mpi_watch watch;
	unsigned first, end;

	assert_int_equal(mpi_watch_init(&watch, 0, 3, 1000), 0);
	mpi_watch_begin(&watch, 500);
	mpi_watch_others(&watch, &first, &end);
	assert_int_equal(first, 1);
	assert_int_equal(end, 3);
	assert_false(mpi_watch_due(&watch, 700));
	assert_true(mpi_watch_due(&watch, 750));
	assert_false(mpi_watch_due(&watch, 760));
	assert_int_equal(mpi_watch_silent(&watch, 1500), -1);
	mpi_watch_heard(&watch, 1, 1200);
	assert_int_equal(mpi_watch_silent(&watch, 1501), 2);
	mpi_watch_heard(&watch, 2, 1501);
	assert_int_equal(mpi_watch_silent(&watch, 2201), 1);
	watch.limit_us = 0;
	assert_int_equal(mpi_watch_silent(&watch, 1e9), -1);
	assert_false(mpi_watch_due(&watch, 1e9));
	mpi_watch_fini(&watch);
	/* While this rank stands still it hears nobody. */
	assert_int_equal(mpi_watch_init(&watch, 0, 3, 1000), 0);
	mpi_watch_begin(&watch, 0);
	mpi_watch_look(&watch, 200);
	mpi_watch_heard(&watch, 2, 200);
	mpi_watch_look(&watch, 5000);
	assert_int_equal(mpi_watch_silent(&watch, 5000), -1);
	for (double now = 5100; now < 5800; now += 100)
		mpi_watch_look(&watch, now);
	assert_int_equal(mpi_watch_silent(&watch, 5800), -1);
	assert_int_equal(mpi_watch_silent(&watch, 5801), 1);
	mpi_watch_heard(&watch, 1, 5801);
	assert_int_equal(mpi_watch_silent(&watch, 6000), -1);
	assert_int_equal(mpi_watch_silent(&watch, 6001), 2);
	mpi_watch_fini(&watch);
	/* Others look at rank 0 only. */
	assert_int_equal(mpi_watch_init(&watch, 2, 3, 1000), 0);
	mpi_watch_begin(&watch, 0);
	mpi_watch_heard(&watch, 0, 900);
	assert_int_equal(mpi_watch_silent(&watch, 1800), -1);
	assert_int_equal(mpi_watch_silent(&watch, 1901), 0);
	mpi_watch_fini(&watch);
}

/* ---- agreement ---- */

enum { RANKS = 3 };

/* Three ranks that agree: an array by blocks, one on rank 1, one everywhere. */
static void describe(struct mpi_description *all)
{
	static const uint64_t blocks[] = {30, 0, 90};

	memset(all, 0, RANKS * sizeof(*all));
	for (unsigned r = 0; r < RANKS; r++) {
		struct mpi_description *rank = &all[r];
		const struct mpi_array_description shape = {
		    .mode = 1, .per_iteration = 1, .shape = 2, .elemsize = 4, .nx = 1};

		strcpy(rank->version, "0.1.0");
		strcpy(rank->codelet, "axpy");
		sprintf(rank->host, "node%u", r);
		rank->nranks = RANKS;
		rank->n = 100;
		rank->naccesses = 3;
		for (unsigned i = 0; i < 3; i++)
			rank->arrays[i] = shape;
		rank->arrays[0].place = MPI_PLACE_BLOCKS;
		rank->arrays[0].units = blocks[r];
		rank->arrays[1].place = MPI_PLACE_ON_RANK;
		rank->arrays[1].owner = 1;
		rank->arrays[1].units = r == 1 ? 100 : 0;
		rank->arrays[2].place = MPI_PLACE_EVERYWHERE;
		rank->arrays[2].units = 200;
		rank->own = (r != 1 ? 1 : 0) | (r == 1 ? 2 : 0) | 4;
	}
}

static void assert_difference(const struct mpi_description *all, int status, const char *text)
{
	char found[256] = "";

	assert_int_equal(mpi_agreement_check(all, RANKS, "loop", found, sizeof(found)), status);
	assert_string_equal(found, text);
}

static void test_agreement(void **state)
{
	struct mpi_description all[RANKS];
	struct mpi_array_agreed agreed;
	size_t first[RANKS + 1];

	describe(all);
	assert_difference(all, 0, "");
	mpi_agreement_array(all, RANKS, 0, &agreed, first);
	assert_int_equal(agreed.units, 120);
	assert_int_equal(agreed.elemsize, 4);
	assert_memory_equal(first, ((size_t[]){0, 30, 30, 120}), sizeof(first));
	mpi_agreement_array(all, RANKS, 1, &agreed, first);
	assert_int_equal(agreed.units, 100);
	assert_memory_equal(first, ((size_t[]){0, 0, 100, 100}), sizeof(first));
	mpi_agreement_array(all, RANKS, 2, &agreed, first);
	assert_int_equal(agreed.units, 200);
	assert_memory_equal(first, ((size_t[]){0, 200, 200, 200}), sizeof(first));
}

/* Versions differ, and nothing else that a rank of another version says has a meaning. */
static void test_versions(void **state)
{
	enum { MANY = 400 };
	static struct mpi_description all[MANY];
	char found[508];

	describe(all);
	memset(&all[1], 0xff, sizeof(all[1]));
	strcpy(all[1].version, "0.2.0");
	all[0].status = -ENOMEM;
	assert_difference(
	    all, -EINVAL,
	    "the version of Heddle is \"0.1.0\" on ranks 0, 2 and \"0.2.0\" on rank 1");
	strcpy(all[2].version, "0.2.0");
	assert_difference(
	    all, -EINVAL,
	    "the version of Heddle is \"0.1.0\" on rank 0 and \"0.2.0\" on ranks 1-2");
	/* More ranks than a message has room for. */
	for (unsigned r = 0; r < MANY; r++)
		strcpy(all[r].version, r % 2 ? "0.2.0" : "0.1.0");
	assert_int_equal(mpi_agreement_check(all, MANY, "loop", found, sizeof(found)), -EINVAL);
	assert_non_null(strstr(found, "\"0.1.0\" on ranks 0, 2, 4, 6,"));
	assert_non_null(strstr(found, ", ... and \"0.2.0\" on ranks 1, 3, 5, 7,"));
	assert_string_equal(found + strlen(found) - 5, ", ...");
}

/* Builds of one version whose messages differ do not understand each other, and both numbers are
 * told: numbers of messages have changed without a new version. */
static void test_protocols(void **state)
{
	static const char *const libraries[] = {PACKAGE_VERSION, "0.0.9", "10.20.30-alpha"};
	struct mpi_description all[RANKS];
	char own[64], want[256];

	describe(all);
	mpi_agreement_version(PACKAGE_VERSION, own, sizeof(own));
	snprintf(want, sizeof(want), "%s, protocol %d", PACKAGE_VERSION, MPI_PROTOCOL);
	assert_string_equal(own, want);
	for (unsigned r = 0; r < RANKS; r++)
		strcpy(all[r].version, own);
	assert_difference(all, 0, "");
	sprintf(all[2].version, "%s, protocol %d", PACKAGE_VERSION, MPI_PROTOCOL + 1);
	snprintf(want, sizeof(want),
	         "the version of Heddle is \"%s, protocol %d\" on ranks 0-1 and \"%s, protocol "
	         "%d\" on rank 2",
	         PACKAGE_VERSION, MPI_PROTOCOL, PACKAGE_VERSION, MPI_PROTOCOL + 1);
	assert_difference(all, -EINVAL, want);
	/* All of it has room. */
	for (unsigned i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		mpi_agreement_version(libraries[i], all[0].version, sizeof(all[0].version));
		snprintf(want, sizeof(want), "%s%s%s", own, i ? ", libheddle " : "",
		         i ? libraries[i] : "");
		assert_string_equal(all[0].version, want);
	}
}

static void test_differences(void **state)
{
	struct mpi_description all[RANKS];

	describe(all);
	all[2].n = 99;
	assert_difference(all, -EINVAL, "n is 100 on rank 0 and 99 on rank 2");
	describe(all);
	all[1].status = -ENODEV;
	assert_difference(all, -ENODEV, "rank 1 on node1 refuses its loop: No such device");
	describe(all);
	strcpy(all[0].begins, "loop");
	strcpy(all[1].begins, "loop");
	strcpy(all[2].begins, "flow");
	all[2].n = 0;
	assert_difference(all, -EINVAL, "what begins is \"loop\" on rank 0 and \"flow\" on rank 2");
	describe(all);
	strcpy(all[2].codelet, "xpay");
	assert_difference(all, -EINVAL, "the codelet is \"axpy\" on rank 0 and \"xpay\" on rank 2");
	describe(all);
	all[1].arrays[2].mode = 3;
	assert_difference(all, -EINVAL, "the mode of array 3 is R on rank 0 and RW on rank 1");
	describe(all);
	all[2].arrays[1].place = MPI_PLACE_EVERYWHERE;
	assert_difference(all, -EINVAL,
	                  "the layout of array 2 is ON_RANK on rank 0 and EVERYWHERE on rank 2");
	/* What rank 1 has not got does not matter. */
	describe(all);
	all[1].arrays[0].elemsize = 8;
	assert_difference(all, 0, "");
	all[2].arrays[0].elemsize = 8;
	assert_difference(all, -EINVAL,
	                  "the size of an element of array 1 is 4 on rank 0 and 8 on rank 2");
	describe(all);
	for (unsigned r = 0; r < RANKS; r++)
		all[r].n = 101;
	assert_difference(all, -EINVAL,
	                  "101 iterations of 1 reach beyond array 2, which has 100 elements or "
	                  "rows on all ranks");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_layout_runs),
	    cmocka_unit_test(test_ranks_divide_a_machine),
	    cmocka_unit_test(test_ranks_divide_devices),
	    cmocka_unit_test(test_devices_said),
	    cmocka_unit_test(test_free_core),
	    cmocka_unit_test(test_cut),
	    cmocka_unit_test(test_move),
	    cmocka_unit_test(test_each_once),
	    cmocka_unit_test(test_unequal_ranks),
	    cmocka_unit_test(test_at_home),
	    cmocka_unit_test(test_dear_to_send),
	    cmocka_unit_test(test_again),
	    cmocka_unit_test(test_again_dear_to_send),
	    cmocka_unit_test(test_data_at_hand),
	    cmocka_unit_test(test_help_from_the_end),
	    cmocka_unit_test(test_bad_strategy),
	    cmocka_unit_test(test_silence),
	    cmocka_unit_test(test_agreement),
	    cmocka_unit_test(test_versions),
	    cmocka_unit_test(test_protocols),
	    cmocka_unit_test(test_differences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
