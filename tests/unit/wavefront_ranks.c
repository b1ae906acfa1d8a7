/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Dealing the rows of a wavefront to ranks: the clusters of Andronikos et al. (Tables 1 and 2, and
 * section 5.3), and random ones. And what ranks must agree on.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "partition/mpi/wavefront_agreement.h"
#include "partition/mpi/wavefront_deal.h"
#include "tests/unit/test.h"

enum { MOST = 40 };

/* Table 1. */
static const struct wave_tile_cost kid = {.iteration = 0.526}, twin = {.iteration = 0.319};

/* An experiment of the paper: as many ranks of one worker as it has workers, k = 1. */
static struct mpi_wave_problem experiment(int number, struct mpi_wave_power *powers)
{
	unsigned twins = number == 1 ? 0 : number == 2 ? 6 : 5;
	unsigned kids = number == 1 ? 10 : number == 2 ? 0 : 5;

	memset(powers, 0, MOST * sizeof(*powers));
	for (unsigned r = 0; r < twins + kids; r++)
		mpi_wave_power_add(&powers[r], r < twins ? "twin" : "kid",
		                   r < twins ? &twin : &kid);
	return (struct mpi_wave_problem){.rows = number == 2 ? 8000 : 10000,
	                                 .columns = number == 2 ? 16000 : 20000,
	                                 .sweeps = 1,
	                                 .minimum = 1,
	                                 .k = 1,
	                                 .cd = 99,
	                                 .cc = number == 2 ? 0.65 : 0.69,
	                                 .nranks = twins + kids,
	                                 .powers = powers};
}

static void test_paper(void **state)
{
	/* Table 2, in steps of 5, and section 5.3 in seconds. */
	static const double h[] = {30, 40, 35}, seconds[] = {10.8361, 6.9988, 8.4501};
	struct mpi_wave_power powers[MOST];
	size_t first[MOST + 1];
	struct mpi_wave_plan plan;

	for (int e = 1; e <= 3; e++) {
		struct mpi_wave_problem problem = experiment(e, powers);
		struct wave_model model;
		double best, published;

		mpi_wave_model(&problem, &model);
		best = wave_model_best(&model);
		published = wave_model_time(&model, best);
		assert_int_equal(mpi_wave_deal(&problem, &plan, first), 0);
		print_message("experiment %d: h %.1f, in the paper %g; %.4f s, in the paper %.4f; "
		              "with messages that overlap h %zu, %.4f s; "
		              "the first rank has %zu rows, the last %zu\n",
		              e, best, h[e - 1], published / 1e6, seconds[e - 1], plan.h,
		              plan.predicted_us / 1e6, first[1],
		              problem.rows - first[problem.nranks - 1]);
		assert_true(fabs(best - h[e - 1]) < 3.51);
		assert_true(plan.predicted_us < published);
		/* In experiment 3 the paper cuts by powers rounded to 0.63 and 1. */
		assert_true(fabs(published / 1e6 / seconds[e - 1] - 1) < (e == 3 ? 0.03 : 0.002));
		if (e == 1)
			for (unsigned r = 0; r <= 10; r++)
				assert_int_equal(first[r], 1000 * r);
		if (e == 2)
			for (unsigned r = 0; r < 6; r++)
				assert_in_range(first[r + 1] - first[r], 1333, 1334);
		if (e == 3) {
			assert_true(fabs(first[1] / 1223. - 1) < 0.03);
			assert_true(fabs((10000 - first[9]) / 776. - 1) < 0.03);
		}
	}
}

/* Workers of one rank send each other nothing. */
static void test_several_workers(void **state)
{
	struct mpi_wave_power powers[MOST] = {{0}};
	struct mpi_wave_problem problem = experiment(1, powers);
	struct wave_model model;
	struct mpi_wave_plan plan, alone;
	size_t first[MOST + 1];

	assert_int_equal(mpi_wave_deal(&problem, &alone, first), 0);
	memset(powers, 0, sizeof(powers));
	for (unsigned l = 0; l < 10; l++)
		mpi_wave_power_add(&powers[l / 5], "kid", &kid);
	problem.nranks = 2;
	mpi_wave_model(&problem, &model);
	assert_int_equal(wave_model_workers(&model), 10);
	assert_true(fabs(model.cd - 11) < 1e-9);
	assert_int_equal(mpi_wave_deal(&problem, &plan, first), 0);
	assert_int_equal(first[1], 5000);
	assert_true(plan.predicted_us < alone.predicted_us);
	/* Alone nothing is gained by synchronising. */
	problem.nranks = 1;
	powers[0].kinds[0].count = 1;
	assert_int_equal(mpi_wave_deal(&problem, &plan, first), 0);
	assert_int_equal(plan.h, problem.columns);
	assert_int_equal(first[1], problem.rows);
}

/* Ten ranks with 100 rows each, tiles of 5 columns: nine ranks' first tiles and messages, then all
 * tiles of the last one. */
static void test_overlap(void **state)
{
	static const struct wave_tile_cost cost = {.us = 2, .iteration = 1};
	struct mpi_wave_power powers[MOST] = {{0}};
	struct mpi_wave_problem problem = {.rows = 1000,
	                                   .columns = 1000,
	                                   .sweeps = 1,
	                                   .minimum = 1,
	                                   .h = 5,
	                                   .k = 1,
	                                   .cd = 400,
	                                   .cc = 2,
	                                   .nranks = 10,
	                                   .powers = powers};
	struct mpi_wave_plan plan, given;
	size_t first[MOST + 1];

	for (unsigned r = 0; r < 10; r++)
		mpi_wave_power_add(&powers[r], "core", &cost);
	assert_int_equal(mpi_wave_deal(&problem, &plan, first), 0);
	assert_true(fabs(plan.predicted_us - 9 * (502 + 410) - 200 * 502) < 1e-6);
	/* Messages that come less often than tiles end, four at once. */
	problem.cd = 4000;
	assert_int_equal(mpi_wave_deal(&problem, &plan, first), 0);
	assert_true(fabs(plan.predicted_us - 9 * 4010 - 200 * 4010 / 4.) < 1e-6);
	/* Later sweeps follow: their messages travel meanwhile, too. */
	problem.sweeps = 3;
	assert_int_equal(mpi_wave_deal(&problem, &plan, first), 0);
	assert_true(fabs(plan.predicted_us - 9 * 4010 - 3 * 200 * 4010 / 4.) < 1e-6);
	problem.cd = 400;
	assert_int_equal(mpi_wave_deal(&problem, &plan, first), 0);
	assert_true(fabs(plan.predicted_us - 9 * (502 + 410) - 3 * 200 * 502) < 1e-6);
	/* No other interval is better. */
	for (problem.cd = 1; problem.cd < 1e6; problem.cd *= 10) {
		problem.h = 0;
		assert_int_equal(mpi_wave_deal(&problem, &plan, first), 0);
		for (problem.h = 1; problem.h <= problem.columns; problem.h++) {
			assert_int_equal(mpi_wave_deal(&problem, &given, first), 0);
			assert_true(given.predicted_us > 0.99 * plan.predicted_us);
		}
	}
}

/* A tile costs as much besides its iterations, however short it is. strmatch had 12 tiles of 998
 * columns and one of 24. */
static void test_even(void **state)
{
	static const struct wave_tile_cost cost = {.us = 5, .row = 0.019, .iteration = 0.00037};
	struct mpi_wave_power powers[2] = {{0}};
	struct mpi_wave_problem problem = {.sweeps = 1,
	                                   .minimum = 1,
	                                   .k = 1,
	                                   .cd = 60,
	                                   .cc = 0.004,
	                                   .nranks = 2,
	                                   .powers = powers};
	size_t first[3], most = 0;

	for (unsigned r = 0; r < 2; r++)
		mpi_wave_power_add(&powers[r], "core", &cost);
	for (problem.rows = problem.columns = 9000; problem.columns < 15000;
	     problem.rows += 100, problem.columns += 100) {
		struct mpi_wave_plan plan;
		size_t tiles;

		assert_int_equal(mpi_wave_deal(&problem, &plan, first), 0);
		tiles = (problem.columns + plan.h - 1) / plan.h;
		most = tiles > most ? tiles : most;
		assert_true(tiles * plan.h - problem.columns < tiles);
	}
	assert_in_range(most, 10, 30);
}

/* What was measured of workers of one name on one machine differs by what disturbed it. */
static void test_pool(void **state)
{
	static const struct {
		const char *name, *machine;
		double iteration;
		bool alike;
	} seconds[] = {{"core", "a", 1.2, true},
	               {"core", "a", 0.85, true},
	               {"core", "a", 1.5, false},
	               {"core", "b", 1.2, false},
	               {"twin", "a", 1.2, false}};
	static const struct wave_tile_cost cost = {.us = 2, .iteration = 1};

	for (size_t i = 0; i < sizeof(seconds) / sizeof(*seconds); i++) {
		struct wave_tile_cost other = {.us = 2, .iteration = seconds[i].iteration};
		struct mpi_wave_power powers[2] = {{.machine = "a"}}, pooled[2];
		struct mpi_wave_problem problem = {.rows = 1000,
		                                   .columns = 1000,
		                                   .sweeps = 1,
		                                   .minimum = 1,
		                                   .k = 1,
		                                   .cd = 100,
		                                   .nranks = 2,
		                                   .powers = pooled};
		struct mpi_wave_plan plan;
		size_t first[3];

		strcpy(powers[1].machine, seconds[i].machine);
		mpi_wave_power_add(&powers[0], "core", &cost);
		mpi_wave_power_add(&powers[1], seconds[i].name, &other);
		mpi_wave_powers_pool(powers, 2, pooled);
		assert_int_equal(mpi_wave_deal(&problem, &plan, first), 0);
		assert_int_equal(first[1] == 500, seconds[i].alike);
		assert_true(!seconds[i].alike ||
		            pooled[1].kinds[0].cost.iteration == fmin(1, other.iteration));
	}
}

/* Who is compared with whom does not depend on who was compared before. */
static void test_pool_order(void **state)
{
	static const double costs[] = {1, 1.2, 1.44}, expected[] = {1, 1, 1.2};

	for (unsigned turned = 0; turned < 2; turned++) {
		struct mpi_wave_power powers[3] = {{0}}, pooled[3];

		for (unsigned i = 0; i < 3; i++) {
			struct wave_tile_cost cost = {.us = 2, .iteration = costs[i]};

			mpi_wave_power_add(&powers[turned ? 2 - i : i], "core", &cost);
		}
		mpi_wave_powers_pool(powers, 3, pooled);
		for (unsigned i = 0; i < 3; i++)
			assert_float_equal(pooled[turned ? 2 - i : i].kinds[0].cost.iteration,
			                   expected[i], 0);
	}
}

/* Without costs all workers count alike. */
static void test_unknown(void **state)
{
	static const struct wave_tile_cost none = {0};
	struct mpi_wave_power powers[MOST] = {{0}};
	struct mpi_wave_problem problem = experiment(3, powers);
	struct mpi_wave_plan plan;
	size_t first[MOST + 1];

	memset(&powers[4], 0, sizeof(*powers));
	for (unsigned l = 0; l < 3; l++)
		mpi_wave_power_add(&powers[4], "new", &none);
	assert_false(mpi_wave_known(powers, problem.nranks));
	assert_int_equal(mpi_wave_deal(&problem, &plan, first), 0);
	assert_true(plan.predicted_us == 0);
	assert_int_equal(plan.h, 41);
	assert_int_equal(first[5] - first[4], 2500);
	assert_int_equal(first[1], 833);
	problem.h = 7;
	assert_int_equal(mpi_wave_deal(&problem, &plan, first), 0);
	assert_int_equal(plan.h, 7);
}

static struct mpi_wave_problem random_problem(struct mpi_wave_power *powers, unsigned *seed)
{
	struct mpi_wave_problem problem = {.rows =
	                                       1 + rand_r(seed) % (rand_r(seed) % 2 ? 50 : 9999),
	                                   .columns = 1 + rand_r(seed) % 9999,
	                                   .sweeps = 1 + rand_r(seed) % 2 * (rand_r(seed) % 9),
	                                   .skew = rand_r(seed) % 3,
	                                   .minimum = 1 + rand_r(seed) % 8,
	                                   .h = rand_r(seed) % 3 ? 0 : 1 + rand_r(seed) % 99,
	                                   .k = rand_r(seed) % 3 ? 0 : 1 + rand_r(seed) % 70,
	                                   .cd = rand_r(seed) % 100000,
	                                   .cc = rand_r(seed) % 100 / 10.0,
	                                   .nranks = 1 + rand_r(seed) % MOST,
	                                   .powers = powers};

	memset(powers, 0, MOST * sizeof(*powers));
	for (unsigned r = 0; r < problem.nranks; r++)
		for (unsigned l = 1 + rand_r(seed) % 12; l > 0; l--) {
			struct wave_tile_cost cost = {.us = rand_r(seed) % 2 * (rand_r(seed) % 500),
			                              .row = rand_r(seed) % 2 * 0.5,
			                              .iteration = (1 + rand_r(seed) % 200) * 1e-3};

			mpi_wave_power_add(&powers[r], rand_r(seed) % 2 ? "cpu" : "cuda", &cost);
		}
	return problem;
}

static void test_random(void **state)
{
	unsigned seed = test_seed();
	struct mpi_wave_power powers[MOST];
	static size_t first[MPI_WAVE_ROUNDS * MOST + 1];
	unsigned several = 0;

	for (int round = 0; round < 2000; round++) {
		struct mpi_wave_problem problem = random_problem(powers, &seed);
		struct mpi_wave_plan plan;

		assert_int_equal(mpi_wave_deal(&problem, &plan, first), 0);
		assert_in_range(plan.h, 1, problem.columns);
		assert_true(plan.predicted_us > 0 && isfinite(plan.predicted_us));
		assert_in_range(plan.k, 1, problem.sweeps > 1 ? 1 : MPI_WAVE_ROUNDS);
		assert_true(!problem.k || plan.k <= problem.k);
		several += plan.k > 1;
		assert_int_equal(first[0], 0);
		assert_int_equal(first[plan.k * problem.nranks], problem.rows);
		for (unsigned q = 0; q < plan.k * problem.nranks; q++) {
			size_t rows = first[q + 1] - first[q], of = q % problem.nranks;

			assert_true(first[q] <= first[q + 1]);
			assert_true(!rows || rows >= problem.minimum || rows == problem.rows);
			/* As much in each round, a row more or less. */
			assert_true(rows + first[of] + 1 >= first[of + 1] &&
			            rows + first[of] <= first[of + 1] + 1);
		}
	}
	assert_true(several > 100);
}

/* Two ranks of one core: with one band each the second one waits for a large tile of the first, or
 * there are many tiles. With several rounds both begin soon. */
static void test_several_rounds(void **state)
{
	static const struct wave_tile_cost cost = {.us = 5, .row = 0.014, .iteration = 0.0004};
	struct mpi_wave_power powers[2] = {{0}};
	struct mpi_wave_problem problem = {.rows = 24000,
	                                   .columns = 24000,
	                                   .sweeps = 1,
	                                   .minimum = 1,
	                                   .cd = 30,
	                                   .cc = 0.004,
	                                   .nranks = 2,
	                                   .powers = powers};
	double ideal = 24000. * 24000 * cost.iteration / 2;
	size_t first[2 * MPI_WAVE_ROUNDS + 1];
	struct mpi_wave_plan plan, one;

	for (unsigned r = 0; r < 2; r++)
		mpi_wave_power_add(&powers[r], "core", &cost);
	assert_int_equal(mpi_wave_deal(&problem, &plan, first), 0);
	problem.k = 1;
	assert_int_equal(mpi_wave_deal(&problem, &one, first), 0);
	print_message("h %zu, k %u: %.3f of what iterations take; with k 1 h %zu: %.3f\n", plan.h,
	              plan.k, plan.predicted_us / ideal, one.h, one.predicted_us / ideal);
	assert_int_equal(one.k, 1);
	assert_true(plan.k > 1 && plan.predicted_us < 1.03 * ideal);
	assert_true(one.predicted_us > 1.05 * ideal);
	/* Messages that take too long: who has the first band of a round waits for the last. */
	problem.k = 0;
	problem.cd = 1e6;
	assert_int_equal(mpi_wave_deal(&problem, &plan, first), 0);
	assert_int_equal(plan.k, 1);
	/* No rank has less than the minimum in a round. */
	problem.k = 50;
	problem.minimum = 1000;
	assert_int_equal(mpi_wave_deal(&problem, &plan, first), 0);
	assert_int_equal(plan.k, 11);
}

/* With messages that cost nothing, and iterations alone, rows are as speeds are. */
static void test_proportion(void **state)
{
	unsigned seed = test_seed();
	struct mpi_wave_power powers[MOST];
	static size_t first[MPI_WAVE_ROUNDS * MOST + 1];

	for (int round = 0; round < 300; round++) {
		struct mpi_wave_problem problem = random_problem(powers, &seed);
		struct mpi_wave_plan plan;
		double power[MOST], sum = 0;

		problem.rows = 100000;
		problem.k = 1;
		memset(powers, 0, sizeof(powers));
		for (unsigned r = 0; r < problem.nranks; r++) {
			struct wave_tile_cost cost = {.iteration =
			                                  (50 + 10 * (rand_r(&seed) % 10)) * 1e-3};

			mpi_wave_power_add(&powers[r], "cpu", &cost);
			power[r] = 1 / cost.iteration;
			sum += power[r];
		}
		assert_int_equal(mpi_wave_deal(&problem, &plan, first), 0);
		for (unsigned r = 0; r < problem.nranks; r++)
			assert_true(fabs(first[r + 1] - first[r] - 1e5 * power[r] / sum) < 1.01);
	}
}

static void test_agreement(void **state)
{
	struct mpi_wave_description all[3];
	struct mpi_array_agreed arrays[2] = {{.units = 100, .nx = 60}, {.units = 40, .nx = 1}};
	uint64_t per[2] = {3, 2};
	char text[256];

	for (int r = 0; r < 3; r++)
		all[r] = (struct mpi_wave_description){.rows = 100,
		                                       .columns = 20,
		                                       .sweeps = 1,
		                                       .nvectors = 1,
		                                       .vectors = {{1, -1, 0}},
		                                       .extents = {0, 3}};
	assert_int_equal(mpi_wave_check(all, 3, arrays, per, 2, text, sizeof(text)), 0);
	all[2].vectors[0][1] = 0;
	assert_int_equal(mpi_wave_check(all, 3, arrays, per, 2, text, sizeof(text)), -EINVAL);
	assert_string_equal(text,
	                    "dependence 0 is (sweep 0, row 1, column -1) on rank 0 and (sweep "
	                    "0, row 1, column 0) on rank 2");
	all[2] = all[0];
	all[1].extents[1] = 4;
	assert_int_equal(mpi_wave_check(all, 3, arrays, per, 2, text, sizeof(text)), -EINVAL);
	assert_string_equal(text, "the extent of array 2 is COLUMNS on rank 0 and ALL on rank 1");
	all[1] = all[0];
	arrays[0].nx = 59;
	assert_int_equal(mpi_wave_check(all, 3, arrays, per, 2, text, sizeof(text)), -ERANGE);
	assert_string_equal(text, "20 columns reach beyond array 1, which has 19 on all ranks");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_paper),         cmocka_unit_test(test_several_workers),
	    cmocka_unit_test(test_overlap),       cmocka_unit_test(test_unknown),
	    cmocka_unit_test(test_random),        cmocka_unit_test(test_proportion),
	    cmocka_unit_test(test_pool),          cmocka_unit_test(test_pool_order),
	    cmocka_unit_test(test_agreement),     cmocka_unit_test(test_even),
	    cmocka_unit_test(test_several_rounds)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
