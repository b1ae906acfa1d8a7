/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ranks that steal from each other, without MPI: time goes by in small steps, and each answer comes
 * late.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estimator/block_time.h"
#include "partition/mpi/steals.h"
#include "tests/unit/test.h"

#define MAXRANKS 64
#define STEP_US 10
/* A rank asks so long before it is done. */
#define AHEAD_US 500

struct machine {
	unsigned nranks;
	double rate[MAXRANKS]; /* iterations a microsecond */
	double slower;         /* iterations that begin later take up to so many times as long */
	double answer_us;      /* until a rank gives something up */
	double message_us;     /* to send something, ... */
	double send_us;        /* ... and for an iteration of that */
	size_t block;          /* what workers have begun is nobody else's */
	double late_us[MAXRANKS];
};

struct outcome {
	double us, ideal_us;
	unsigned ranges;
	size_t abroad;
};

/* A range that a rank computes, or will. */
struct work {
	struct mpi_range range;
	double done;     /* iterations */
	double begun_us; /* below 0: not yet */
	double ready_us; /* its data has come */
};

struct rank {
	struct work now, next;
	size_t told;
	bool asked;
	double get_us; /* when another one gives something up for it; below 0: nobody is asked */
	struct mpi_steal steal;
};

struct run {
	const struct machine *machine;
	const struct mpi_steals_problem *problem;
	struct mpi_steals *steals;
	struct rank ranks[MAXRANKS];
	unsigned char *times; /* how often each iteration was computed */
	struct outcome outcome;
	double now;
};

static bool is_abroad(const struct run *run, unsigned rank, const struct mpi_range *range)
{
	return run->problem->homes && range->home != rank;
}

static void get(struct run *run, unsigned rank, const struct mpi_range *range)
{
	struct rank *own = &run->ranks[rank];
	struct work *work = own->now.range.n ? &own->next : &own->now;
	double us = 0;

	assert_int_equal(work->range.n, 0);
	assert_true(range->n > 0 && range->start + range->n <= run->problem->n);
	if (is_abroad(run, rank, range)) {
		us = run->machine->message_us + range->n * run->machine->send_us;
		run->outcome.abroad += range->n;
	}
	*work = (struct work){*range, 0, -1, run->now + us};
	own->asked = false;
	own->told = range->n;
	run->outcome.ranges++;
}

/* Iterations from the range's begin that workers have begun. */
static size_t begun(const struct run *run, const struct work *work)
{
	size_t block = run->machine->block, n = ceil(work->done / block) * block;

	return n < work->range.n ? n : work->range.n;
}

/* @return false: it has not begun */
static bool progress(const struct run *run, const struct rank *rank, struct mpi_progress *of)
{
	const struct work *work = &rank->now;
	bool known = work->done >= run->machine->block;

	if (!work->range.n || work->begun_us < 0)
		return false;
	of->left = work->range.n - (size_t)work->done;
	of->pace = known ? (run->now - work->begun_us) / work->done : 0;
	return true;
}

static void tell(struct run *run, unsigned r, const struct mpi_progress *of)
{
	run->ranks[r].told = of->left;
	mpi_steals_progress(run->steals, r, *of, run->now);
}

/* A rank gives up what it was asked for by a thief. */
static void give(struct run *run, struct rank *thief)
{
	const struct mpi_steal *steal = &thief->steal;
	struct rank *rank = &run->ranks[steal->victim];
	struct work *work = &rank->now;
	size_t n = 0, waiting, alignment = run->problem->alignment;
	struct mpi_progress of;
	struct mpi_range range = {.home = work->range.home};

	thief->get_us = -1;
	if (progress(run, rank, &of)) {
		n = steal->n;
		if (of.left < steal->of)
			n = (double)n * of.left / steal->of;
		n -= alignment ? n % alignment : 0;
		waiting = work->range.n - begun(run, work);
		n = n < waiting ? n : waiting;
		work->range.n -= n;
		range.start = work->range.start + work->range.n;
		range.n = n;
		of.left -= n;
		tell(run, steal->victim, &of);
	}
	if (n) {
		mpi_steals_given(run->steals, steal->thief, n, run->now);
		get(run, steal->thief, &range);
	} else {
		mpi_steals_kept(run->steals, steal->thief);
	}
}

static double rate(const struct run *run, unsigned r)
{
	const struct work *work = &run->ranks[r].now;
	double part = (work->range.start + work->done) / run->problem->n;

	return run->machine->rate[r] / (1 + (run->machine->slower - 1) * part);
}

static void work_end(struct run *run, unsigned r)
{
	struct rank *rank = &run->ranks[r];
	const struct mpi_range *range = &rank->now.range;

	for (size_t i = range->start; i < range->start + range->n; i++)
		run->times[i]++;
	mpi_steals_completed(run->steals, r, range->n, run->now - rank->now.begun_us, run->now);
	if (is_abroad(run, r, range))
		mpi_steals_moved(run->steals, range->n,
		                 2 * (run->machine->message_us + range->n * run->machine->send_us));
	rank->now = rank->next;
	rank->told = rank->now.range.n;
	rank->next.range.n = 0;
}

static void compute(struct run *run, unsigned r)
{
	struct rank *rank = &run->ranks[r];
	struct work *work = &rank->now;
	struct mpi_progress of;

	if (!work->range.n || work->ready_us > run->now)
		return;
	if (work->begun_us < 0)
		work->begun_us = run->now - STEP_US;
	work->done += rate(run, r) * STEP_US;
	if (work->done >= work->range.n)
		work_end(run, r);
	else if (progress(run, rank, &of) && of.pace > 0 && of.left <= MPI_STEALS_TOLD * rank->told)
		tell(run, r, &of);
}

static void ask(struct run *run, unsigned r)
{
	struct rank *rank = &run->ranks[r];
	struct mpi_progress of;

	if (rank->asked || rank->next.range.n || run->now < run->machine->late_us[r])
		return;
	if (rank->now.range.n &&
	    (!progress(run, rank, &of) || of.pace <= 0 || of.left * of.pace > AHEAD_US))
		return;
	rank->asked = true;
	mpi_steals_ask(run->steals, r, run->now);
}

static void serve(struct run *run)
{
	struct mpi_steal steal;

	while (mpi_steals_next(run->steals, run->now, &steal)) {
		struct rank *thief = &run->ranks[steal.thief];

		assert_true(steal.n > 0 && steal.victim != steal.thief);
		assert_true(thief->get_us < 0);
		thief->get_us = run->now + run->machine->answer_us;
		thief->steal = steal;
	}
}

static struct outcome simulate(const struct mpi_steals_problem *problem,
                               const struct machine *machine)
{
	struct run run = {machine, problem, mpi_steals_create(problem),
	                  .times = calloc(problem->n + 1, 1)};
	double rates = 0;

	for (unsigned r = 0; r < machine->nranks; r++) {
		struct mpi_range home = mpi_steals_home(problem, r);

		rates += machine->rate[r];
		run.ranks[r].get_us = -1;
		if (home.n) {
			get(&run, r, &home);
			run.ranks[r].now.ready_us = machine->late_us[r];
		}
	}
	while (!mpi_steals_over(run.steals)) {
		run.now += STEP_US;
		assert_true(run.now < 1e9);
		for (unsigned r = 0; r < machine->nranks; r++) {
			compute(&run, r);
			if (run.ranks[r].get_us >= 0 && run.ranks[r].get_us <= run.now)
				give(&run, &run.ranks[r]);
			ask(&run, r);
			serve(&run);
		}
	}
	for (size_t i = 0; i < problem->n; i++)
		assert_int_equal(run.times[i], 1);
	run.outcome.us = run.now;
	run.outcome.ideal_us = problem->n / rates;
	mpi_steals_destroy(run.steals);
	free(run.times);
	return run.outcome;
}

/* Every iteration is computed once, wherever data lies, however late ranks come and answers are. */
static void test_each_once(void **state)
{
	unsigned seed = test_seed();

	for (int round = 0; round < 500; round++) {
		struct machine machine = {.nranks = 1 + rand_r(&seed) % 9};
		struct mpi_steals_problem problem = {.n = rand_r(&seed) % 20000,
		                                     .nranks = machine.nranks,
		                                     .alignment = rand_r(&seed) % 3 * 8,
		                                     .bytes = rand_r(&seed) % 1000};
		size_t homes[MAXRANKS + 1] = {0};

		machine.slower = 1 + rand_r(&seed) % 10;
		machine.answer_us = rand_r(&seed) % 1000;
		machine.message_us = rand_r(&seed) % 100;
		machine.send_us = rand_r(&seed) % 10 / 10.0;
		machine.block = 1 + rand_r(&seed) % 100;
		for (unsigned r = 0; r < machine.nranks; r++) {
			machine.rate[r] = (1 + rand_r(&seed) % 20) / 20.0;
			machine.late_us[r] = rand_r(&seed) % 4 ? 0 : rand_r(&seed) % 10000;
			homes[r + 1] = homes[r] + rand_r(&seed) % (problem.n - homes[r] + 1);
		}
		homes[machine.nranks] = problem.n;
		if (rand_r(&seed) % 2)
			problem.homes = homes;
		simulate(&problem, &machine);
	}
}

/* Ranks that are alike have one range each. */
static void test_alike(void **state)
{
	struct machine machine = {.nranks = 8, .answer_us = 300, .block = 100, .slower = 1};
	struct mpi_steals_problem problem = {.n = 80000, .nranks = 8};
	struct outcome outcome;

	for (unsigned r = 0; r < 8; r++)
		machine.rate[r] = 1;
	outcome = simulate(&problem, &machine);
	assert_int_equal(outcome.ranges, 8);
	assert_true(outcome.us <= outcome.ideal_us + 3 * STEP_US);
}

/* Unequal ranks, and iterations of unequal cost, end together. The mean counts: of few ranks one
 * may have little to give up when it is asked last. */
static void test_unequal(void **state)
{
	enum { MACHINES = 60 };
	unsigned seed = test_seed();
	double sums[2] = {0};

	for (int round = 0; round < MACHINES; round++) {
		struct machine machine = {.nranks = 2 + rand_r(&seed) % 15,
		                          .answer_us = 300,
		                          .message_us = 30,
		                          .send_us = 0.001,
		                          .block = 200,
		                          .slower = 1};
		struct mpi_steals_problem problem = {.nranks = machine.nranks, .bytes = 16};
		size_t homes[MAXRANKS + 1] = {0};
		struct outcome outcome;

		for (unsigned r = 0; r < machine.nranks; r++)
			machine.rate[r] = 1 + rand_r(&seed) % 20;
		machine.rate[0] = 20;
		problem.n = machine.nranks * 400000;
		for (unsigned r = 0; r < machine.nranks; r++)
			homes[r + 1] = homes[r] + 400000;
		if (round % 2)
			problem.homes = homes;
		outcome = simulate(&problem, &machine);
		sums[round % 2] += outcome.ideal_us / outcome.us / (MACHINES / 2);
	}
	print_message("%.4f of the sum of the rates, with data at home %.4f\n", sums[0], sums[1]);
	assert_true(sums[0] > 0.97 && sums[1] > 0.95);
}

/* The end of the loop is dearer than its beginning: a rank that has stolen some of it, by what its
 * own iterations took, gives up the rest. */
static void test_dear_end(void **state)
{
	enum { MACHINES = 160 };
	unsigned seed = test_seed();
	double sum = 0;

	for (int round = 0; round < MACHINES; round++) {
		struct machine machine = {.nranks = 2 + rand_r(&seed) % 15,
		                          .answer_us = 300,
		                          .message_us = 30,
		                          .send_us = 0.001,
		                          .block = 100,
		                          .slower = 2 + rand_r(&seed) % 9};
		size_t homes[MAXRANKS + 1] = {0};
		struct mpi_steals_problem problem = {
		    .nranks = machine.nranks, .bytes = 16, .homes = homes};
		struct outcome outcome;

		for (unsigned r = 0; r < machine.nranks; r++) {
			machine.rate[r] = (10 + rand_r(&seed) % 11) / 20.0;
			homes[r + 1] = homes[r] + 20000;
		}
		problem.n = machine.nranks * 20000;
		outcome = simulate(&problem, &machine);
		sum += outcome.us / outcome.ideal_us / ((1 + machine.slower) / 2) / MACHINES;
	}
	/* Of 2000 machines 1.0365, and .029 from one to the next. */
	print_message("%.3f times the least time\n", sum);
	assert_true(sum < 1.05);
}

/* A rank is 20 times slower: the others do most of its part. And where iterations are dearer to
 * send than to compute, they stay. */
static void test_slow(void **state)
{
	static const size_t homes[] = {0, 40000, 80000, 120000, 160000};
	struct machine machine = {.nranks = 4,
	                          .rate = {1, 1, 0.05, 1},
	                          .answer_us = 300,
	                          .message_us = 100,
	                          .send_us = 0.01,
	                          .block = 100,
	                          .slower = 1};
	struct mpi_steals_problem problem = {.n = 160000, .nranks = 4, .homes = homes, .bytes = 16};
	struct outcome outcome = simulate(&problem, &machine);

	print_message("20 times slower: %.0f us, ideal %.0f\n", outcome.us, outcome.ideal_us);
	assert_true(outcome.us < 1.1 * outcome.ideal_us);
	machine.rate[2] = 0.5;
	machine.send_us = 270;
	problem.bytes = 65536;
	outcome = simulate(&problem, &machine);
	print_message("dear to send: %.0f us, %zu away from home\n", outcome.us, outcome.abroad);
	assert_true(outcome.us < 1.01 * 80000);
	assert_true(outcome.abroad < 400);
}

/* To begin to send takes as long as to send many iterations. The first help is short, and one size
 * does not tell: longer help is tried, and ranks end together. */
static void test_start_of_sending(void **state)
{
	static const size_t homes[] = {0, 400000, 800000};
	struct machine machine = {.nranks = 2,
	                          .rate = {2.5, 2},
	                          .answer_us = 300,
	                          .message_us = 700,
	                          .send_us = 0.1,
	                          .block = 4000,
	                          .slower = 1};
	struct heddle_block_time moved = {0}, ranges = {0};
	struct mpi_steals_problem problem = {.n = 800000,
	                                     .nranks = 2,
	                                     .homes = homes,
	                                     .bytes = 2000,
	                                     .moved = &moved,
	                                     .ranges = &ranges};

	for (int run = 0; run < 3; run++) {
		struct outcome outcome = simulate(&problem, &machine);

		print_message("run %d: %.3f times the least time, %zu away from home\n", run,
		              outcome.us / outcome.ideal_us, outcome.abroad);
		assert_true(outcome.us < 1.03 * outcome.ideal_us);
	}
}

/* A slow rank is at its first block, a tenth of its part, when the others have done theirs: they
 * get what it has not begun. */
static void test_first_block(void **state)
{
	static const size_t homes[] = {0, 40000, 80000, 120000, 160000};
	struct machine machine = {.nranks = 4,
	                          .rate = {1, 1, 0.05, 1},
	                          .answer_us = 300,
	                          .message_us = 100,
	                          .send_us = 0.01,
	                          .block = 4000,
	                          .slower = 1};
	struct mpi_steals_problem problem = {.n = 160000, .nranks = 4, .bytes = 16};
	struct outcome outcome;

	for (int at_home = 0; at_home < 2; at_home++) {
		problem.homes = at_home ? homes : NULL;
		outcome = simulate(&problem, &machine);
		print_message("%.0f us, its first block 80000\n", outcome.us);
		assert_true(outcome.us < 1.05 * 80000);
	}
}

/* Ranks 50 times slower, for which there is no whole iteration any more, keep no fast one waiting.
 */
static void test_no_queue(void **state)
{
	unsigned seed = test_seed();
	double worst = 0, us;

	for (int round = 0; round < 200; round++) {
		struct machine machine = {.nranks = 2 + rand_r(&seed) % 7,
		                          .answer_us = 300,
		                          .block = 1 + rand_r(&seed) % 20,
		                          .slower = 1 + rand_r(&seed) % 3};
		struct mpi_steals_problem problem = {.n = machine.nranks * 2000,
		                                     .nranks = machine.nranks};
		struct outcome outcome;

		for (unsigned r = 0; r < machine.nranks; r++)
			machine.rate[r] = r && rand_r(&seed) % 2 ? 0.001 : 0.05;
		outcome = simulate(&problem, &machine);
		/* Beside the mean of all: blocks that slow ranks have begun. */
		us = outcome.us - 1000.0 * machine.block * machine.slower;
		worst = fmax(worst, us / outcome.ideal_us / (0.5 + machine.slower / 2));
	}
	print_message("at worst %.3f times the sum of the rates\n", worst);
	assert_true(worst < 1.5);
}

/* A rank that has told that nothing is left, and is given more before it is through, has that
 * then. */
static void test_more_before_done(void **state)
{
	struct mpi_steals_problem problem = {.n = 40000, .nranks = 2};
	struct mpi_steals *steals = mpi_steals_create(&problem);
	struct mpi_steal steal;
	size_t n;

	/* Rank 0 is fast. */
	mpi_steals_progress(steals, 0, (struct mpi_progress){0, 1}, 20000);
	mpi_steals_progress(steals, 1, (struct mpi_progress){18000, 10}, 20000);
	mpi_steals_ask(steals, 0, 20000);
	assert_true(mpi_steals_next(steals, 20000, &steal));
	assert_int_equal(steal.victim, 1);
	assert_int_equal(steal.thief, 0);
	n = steal.n;
	mpi_steals_given(steals, 0, n, 20000);
	mpi_steals_completed(steals, 0, 20000, 20000, 20100);
	mpi_steals_progress(steals, 1, (struct mpi_progress){0, 1}, 20100);
	mpi_steals_ask(steals, 1, 20100);
	assert_true(mpi_steals_next(steals, 20100, &steal));
	assert_int_equal(steal.victim, 0);
	assert_in_range(steal.n, n / 2 - 200, n / 2 + 200);
	mpi_steals_destroy(steals);
}

/* A rank that is busy for long is asked for one thief while it is asked for another, and each gets
 * less than it would alone. */
static void test_asked_twice(void **state)
{
	struct mpi_steals_problem problem = {.n = 60000, .nranks = 3};
	struct mpi_steals *steals = mpi_steals_create(&problem);
	struct mpi_steal first, second;

	for (unsigned r = 0; r < 2; r++) {
		mpi_steals_completed(steals, r, 20000, 20000, 20000);
		mpi_steals_ask(steals, r, 20000);
	}
	mpi_steals_progress(steals, 2, (struct mpi_progress){18000, 10}, 20000);
	assert_true(mpi_steals_next(steals, 20000, &first));
	assert_true(mpi_steals_next(steals, 20000, &second));
	assert_int_equal(first.victim, 2);
	assert_int_equal(second.victim, 2);
	assert_true(first.thief != second.thief);
	/* The two do ten iterations each while it does one. */
	assert_in_range(first.n, 18000 * 10 / 21 - 200, 18000 * 10 / 21 + 200);
	assert_in_range(second.n, 18000 * 10 / 21 - 200, 18000 * 10 / 21 + 200);
	assert_false(mpi_steals_next(steals, 20000, &second));
	mpi_steals_given(steals, first.thief, first.n, 20500);
	assert_true(mpi_steals_asked(steals, 2));
	mpi_steals_kept(steals, second.thief);
	assert_false(mpi_steals_asked(steals, 2));
	mpi_steals_destroy(steals);
}

/* A rank that has nothing to give up as it has not begun is asked again. */
static void test_not_begun(void **state)
{
	struct mpi_steals_problem problem = {.n = 40000, .nranks = 2};
	struct mpi_steals *steals = mpi_steals_create(&problem);
	struct mpi_steal steal;

	mpi_steals_completed(steals, 0, 20000, 20000, 20000);
	mpi_steals_ask(steals, 0, 20000);
	assert_true(mpi_steals_next(steals, 20000, &steal));
	mpi_steals_kept(steals, 0);
	assert_false(mpi_steals_next(steals, 20000, &steal));
	mpi_steals_progress(steals, 1, (struct mpi_progress){15000, 2}, 30000);
	assert_true(mpi_steals_next(steals, 30000, &steal));
	/* Now it had, and has none. */
	mpi_steals_kept(steals, 0);
	mpi_steals_progress(steals, 1, (struct mpi_progress){10000, 2}, 35000);
	assert_false(mpi_steals_next(steals, 35000, &steal));
	mpi_steals_destroy(steals);
}

/* A rank that tells a little late how far it is, is not slower than another. */
static void test_late_news(void **state)
{
	struct mpi_steals_problem problem = {.n = 40000, .nranks = 2};
	struct mpi_steals *steals = mpi_steals_create(&problem);
	struct mpi_steal steal;

	mpi_steals_progress(steals, 1, (struct mpi_progress){3000, 1}, 17000);
	/* It has done a quarter of these since 17750. */
	mpi_steals_progress(steals, 0, (struct mpi_progress){1950, 1}, 18050);
	mpi_steals_ask(steals, 0, 18050);
	assert_false(mpi_steals_next(steals, 18050, &steal));
	/* Now it should have told long since. */
	assert_true(mpi_steals_next(steals, 19500, &steal));
	assert_int_equal(steal.victim, 1);
	mpi_steals_destroy(steals);
}

/* An answer took 900 us. Nothing is stolen from a rank that would be done before its results were
 * heard of. One that is busy for longer gives a thief what it needs to end with all others. */
static void test_too_late(void **state)
{
	static const size_t homes[] = {0, 20000, 40000, 60000, 80000};
	struct heddle_block_time answers = {0};
	struct mpi_steals_problem problem = {
	    .n = 80000, .nranks = 4, .homes = homes, .bytes = 2, .answers = &answers};
	struct mpi_steals *steals;
	struct mpi_steal steal;

	heddle_block_time_add(&answers, 1, 900, true, false);
	for (int late = 0; late < 2; late++) {
		steals = mpi_steals_create(&problem);
		for (unsigned r = 0; r < 3; r++)
			mpi_steals_completed(steals, r, 20000, 10000, 20000);
		mpi_steals_progress(steals, 3, (struct mpi_progress){late ? 1200 : 8000, 1}, 20000);
		mpi_steals_ask(steals, 0, 20000);
		assert_int_equal(mpi_steals_next(steals, 20000, &steal), !late);
		/* Three ranks do two iterations each while it does one. */
		if (!late)
			assert_in_range(steal.n, 8000 * 2 / 7 - 10, 8000 * 2 / 7 + 10);
		mpi_steals_destroy(steals);
	}
}

/* Where links are slow, a rank asks long before it is done, once, and gets what they carry in half
 * of the time. Of an earlier run it is known how fast ranks are. */
static void test_slow_links(void **state)
{
	static const size_t homes[] = {0, 50000, 100000};
	double paces[] = {0.1, 10};
	struct mpi_steals_problem problem = {
	    .n = 100000, .nranks = 2, .homes = homes, .bytes = 2, .paces = paces};
	struct mpi_steals *steals;
	struct mpi_steal steal;
	unsigned rank = 9;

	for (int slow = 0; slow < 2; slow++) {
		/* To move an iteration takes 0.01 us or 0.3. */
		double pace = slow ? 0.3 : 0.01;
		struct heddle_block_time moved = {0};

		heddle_block_time_add(&moved, 1000, 100 + 1000 * pace, true, true);
		heddle_block_time_add(&moved, 8000, 100 + 8000 * pace, true, true);
		problem.moved = &moved;
		steals = mpi_steals_create(&problem);
		mpi_steals_begin(steals, 0);
		assert_int_equal(mpi_steals_early(steals, 0, &rank), slow);
		if (slow) {
			assert_int_equal(rank, 0);
			assert_false(mpi_steals_early(steals, 0, &rank));
			mpi_steals_ask(steals, rank, 0);
			assert_true(mpi_steals_next(steals, 0, &steal));
			assert_int_equal(steal.victim, 1);
			/* All would be done after 9901 us. */
			assert_in_range(steal.n, 0.45 * 9901 / pace, 0.55 * 9901 / pace);
		}
		mpi_steals_destroy(steals);
	}
	assert_true(paces[0] == 0.1 && paces[1] == 10);
}

/* As test_not_begun(), where an earlier run has told how fast ranks are. */
static void test_not_begun_again(void **state)
{
	double paces[] = {0.1, 10};
	struct mpi_steals_problem problem = {.n = 40000, .nranks = 2, .paces = paces};
	struct mpi_steals *steals = mpi_steals_create(&problem);
	struct mpi_steal steal;

	mpi_steals_begin(steals, 0);
	mpi_steals_ask(steals, 0, 0);
	assert_true(mpi_steals_next(steals, 0, &steal));
	mpi_steals_kept(steals, steal.thief);
	assert_false(mpi_steals_next(steals, 100, &steal));
	mpi_steals_progress(steals, 1, (struct mpi_progress){19900, 9}, 1000);
	assert_true(paces[1] == 9);
	assert_true(mpi_steals_next(steals, 1000, &steal));
	mpi_steals_destroy(steals);
}

/* A rank whose range ends before it tells has the pace of this run, not of an earlier one. */
static void test_old_pace(void **state)
{
	double paces[] = {1, 100};
	struct mpi_steals_problem problem = {.n = 100000, .nranks = 2, .paces = paces};
	struct mpi_steals *steals = mpi_steals_create(&problem);
	struct mpi_steal steal = {0};

	mpi_steals_begin(steals, 0);
	mpi_steals_progress(steals, 0, (struct mpi_progress){45000, 1}, 5000);
	mpi_steals_completed(steals, 1, 50000, 5000, 5000);
	mpi_steals_ask(steals, 1, 5000);
	assert_true(mpi_steals_next(steals, 5000, &steal));
	assert_true(steal.n > 40000 && paces[1] == 0.1);
	mpi_steals_destroy(steals);
}

/* A part that links carry in time, and that is less than an alignment: one is stolen. */
static void test_alignment_of_links(void **state)
{
	for (size_t alignment = 1; alignment <= 4096; alignment *= 4) {
		static const size_t homes[] = {0, 65536, 131072};
		struct heddle_block_time moved = {0};
		struct mpi_steals_problem problem = {.n = 131072,
		                                     .nranks = 2,
		                                     .homes = homes,
		                                     .bytes = 2,
		                                     .alignment = alignment,
		                                     .moved = &moved};
		struct mpi_steals *steals;
		struct mpi_steal steal = {0};

		heddle_block_time_add(&moved, 1000, 400, true, true);
		heddle_block_time_add(&moved, 8000, 2500, true, true);
		steals = mpi_steals_create(&problem);
		mpi_steals_begin(steals, 0);
		mpi_steals_progress(steals, 0, (struct mpi_progress){0, 0.1}, 6554);
		mpi_steals_completed(steals, 0, 65536, 6554, 6554);
		mpi_steals_progress(steals, 1, (struct mpi_progress){16384, 1}, 49152);
		mpi_steals_ask(steals, 0, 49152);
		assert_true(mpi_steals_next(steals, 49152, &steal));
		assert_true(steal.n >= alignment && steal.n % alignment == 0);
		mpi_steals_destroy(steals);
	}
}

/* Of two stolen ranges one was dearer than what the rank had before: that is not what a range takes
 * beside its iterations, and more is stolen. */
static void test_dear_range(void **state)
{
	struct mpi_steals_problem problem = {.n = 40000, .nranks = 2};
	struct mpi_steals *steals = mpi_steals_create(&problem);
	struct mpi_steal steal;
	double now = 10000;

	mpi_steals_progress(steals, 0, (struct mpi_progress){0, 0.5}, now);
	mpi_steals_completed(steals, 0, 20000, 10000, now);
	mpi_steals_progress(steals, 1, (struct mpi_progress){15000, 2}, now);
	for (int range = 0; range < 2; range++) {
		mpi_steals_ask(steals, 0, now);
		assert_true(mpi_steals_next(steals, now, &steal));
		mpi_steals_given(steals, 0, 4000, now);
		mpi_steals_completed(steals, 0, 4000, range ? 4000 : 2010, now);
	}
	mpi_steals_progress(steals, 1, (struct mpi_progress){400, 2}, now);
	mpi_steals_ask(steals, 0, now);
	assert_true(mpi_steals_next(steals, now, &steal));
	mpi_steals_destroy(steals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_once),
	    cmocka_unit_test(test_alike),
	    cmocka_unit_test(test_unequal),
	    cmocka_unit_test(test_slow),
	    cmocka_unit_test(test_first_block),
	    cmocka_unit_test(test_no_queue),
	    cmocka_unit_test(test_more_before_done),
	    cmocka_unit_test(test_asked_twice),
	    cmocka_unit_test(test_not_begun),
	    cmocka_unit_test(test_dear_end),
	    cmocka_unit_test(test_late_news),
	    cmocka_unit_test(test_start_of_sending),
	    cmocka_unit_test(test_too_late),
	    cmocka_unit_test(test_slow_links),
	    cmocka_unit_test(test_not_begun_again),
	    cmocka_unit_test(test_old_pace),
	    cmocka_unit_test(test_alignment_of_links),
	    cmocka_unit_test(test_dear_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
