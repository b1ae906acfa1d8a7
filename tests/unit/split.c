/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Splitting the work-groups of one kernel: tables, predictions, Algorithm 1, and how
 * far from the best split the choices are.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "partition/kernel/split/split.h"
#include "test.h"

#define CLOSE(a, b) assert_float_equal(a, b, 1e-4 * ((b) > 1 ? (b) : 1))

static double random_real(double low, double high)
{
	return low + (high - low) * drand48();
}

/* ---- tables ---- */

static void table_lines(void **state)
{
	struct kernel_table one = {1, {{100, 50}}};
	struct kernel_table flat = {2, {{100, 50}, {200, 60}}};
	struct kernel_table steep = {3, {{100, 10}, {200, 40}, {300, 30}}};

	CLOSE(kernel_table_time(&one, 0), 0);
	CLOSE(kernel_table_time(&one, 10), 5);
	CLOSE(kernel_table_time(&one, 1000), 500);
	CLOSE(kernel_table_time(&flat, 150), 55);
	CLOSE(kernel_table_time(&flat, 400), 80);
	CLOSE(kernel_table_time(&flat, 10), 41); /* the line goes on: a fixed cost of 40 */
	CLOSE(kernel_table_time(&steep, 50), 5); /* never below the first point's rate */
	CLOSE(kernel_table_time(&steep, 250), 35);
	CLOSE(kernel_table_time(&steep, 1000), 30); /* never shrinks beyond the last */
}

static void table_follows(void **state)
{
	struct kernel_table table = {0};

	assert_int_equal(kernel_table_measured(&table, 0, 1, 1), -EINVAL);
	assert_int_equal(kernel_table_measured(&table, 1, NAN, 1), -EINVAL);
	for (int i = 16; i > 0; i--)
		assert_int_equal(kernel_table_measured(&table, 100 * i, 7 * i, 1), 0);
	assert_int_equal(table.npoints, 16);
	CLOSE(kernel_table_time(&table, 1234), 7 * 12.34);
	/* Halfway to a measurement beside a known point. */
	assert_int_equal(kernel_table_measured(&table, 800, 112, 0.5), 0);
	assert_int_equal(table.npoints, 16);
	CLOSE(kernel_table_time(&table, 800), 84);
	/* A point far outside is added, and the table stays in order. */
	assert_int_equal(kernel_table_measured(&table, 5000, 300, 0.5), 0);
	assert_int_equal(table.npoints, 16);
	CLOSE(kernel_table_time(&table, 5000), 300);
	for (unsigned p = 1; p < table.npoints; p++)
		assert_true(table.points[p].groups > table.points[p - 1].groups);
}

/* ---- predictions ---- */

/* Two devices behind one bus and one without. */
static struct split_problem small(void)
{
	return (struct split_problem){
	    .groups = 100,
	    .in = {10, 0},
	    .out = {5, 0},
	    .ndevices = 3,
	    .nbuses = 1,
	    .devices = {{"cpu", SPLIT_NO_BUS, {1, {{100, 1000}}}},
	                {"gpu", 0, {1, {{100, 100}}}},
	                {"slow", 0, {1, {{100, 500}}}}},
	    .buses = {{"pcie", 10, 10, 1, false}},
	};
}

static void estimate_serialises(void **state)
{
	struct split_problem problem = small();
	size_t share[] = {10, 50, 40};
	struct split_times times;

	/* slow (200 us of computing) is served before gpu (50 us). */
	CLOSE(split_estimate(&problem, share, &times), 1 + 40 + 200 + 1 + 20);
	assert_int_equal(times.norder, 3);
	assert_int_equal(times.order[0], 2);
	CLOSE(times.in_us[2], 41);
	CLOSE(times.in_us[1], 41 + 51);
	CLOSE(times.computed_us[1], 92 + 50);
	CLOSE(times.finish_us[1], 142 + 26);
	CLOSE(times.finish_us[0], 100);
	/* Results wait for the inputs of others, unless the bus has two directions. */
	share[0] = 0, share[1] = 95, share[2] = 5;
	split_estimate(&problem, share, &times);
	CLOSE(times.in_us[1], 96);
	CLOSE(times.in_us[2], 96 + 6);
	CLOSE(times.computed_us[2], 102 + 25);
	CLOSE(times.finish_us[2], 127 + 3.5);
	CLOSE(times.finish_us[1], 191 + 48.5);
	problem.merge = (struct split_bytes){0, 300};
	problem.merge_bandwidth = 100;
	CLOSE(split_estimate(&problem, share, &times), 191 + 48.5 + 6);
	share[1] = 100, share[2] = 0;
	CLOSE(split_estimate(&problem, share, &times), 101 + 100 + 51);
}

/* What sharing costs a device counts only when others have a share. */
static void estimate_of_sharing(void **state)
{
	struct split_problem problem = small();
	size_t all[] = {0, 100, 0}, both[] = {20, 80, 0}, share[3];
	struct split_times times;
	double alone;

	problem.devices[1].part_us = 30;
	problem.devices[1].slowdown = 1.5;
	problem.devices[0].slowdown = 2;
	CLOSE(split_estimate(&problem, all, &times), 101 + 100 + 51);
	CLOSE(split_alone(&problem, 1, 100), 101 + 100 + 51);
	CLOSE(split_alone(&problem, 1, 80), 81 + 80 + 41);
	CLOSE(split_alone(&problem, 0, 20), 200);
	CLOSE(split_estimate(&problem, both, &times),
	      1.5 * (81 + 80 + 41) + 30 < 2 * 200 ? 2 * 200 : 1.5 * (81 + 80 + 41) + 30);
	CLOSE(times.finish_us[0], 2 * 200);
	/* Sharing that costs more than it brings is left alone. */
	problem.devices[0].part_us = problem.devices[1].part_us = 500;
	alone = split_decide(&problem, SPLIT_SINGLE, share);
	CLOSE(split_decide(&problem, SPLIT_HEDDLE, share), alone);
	problem.devices[1].part_us = -1;
	setenv("HEDDLE_VERBOSE", "0", 1);
	assert_int_equal(split_check(&problem), -EINVAL);
	unsetenv("HEDDLE_VERBOSE");
}

/* The situation of the paper's figure 8: a CPU that needs no transfers, and two GPUs
 * behind one bus of which the second is slow with little work. */
static void figure_8(void **state)
{
	struct split_problem problem = {
	    .groups = 4096,
	    .in = {8192, 0},
	    .out = {4096, 0},
	    .ndevices = 3,
	    .nbuses = 1,
	    .devices = {{"cpu", SPLIT_NO_BUS, {2, {{256, 625}, {4096, 10000}}}},
	                {"gpu1", 0, {3, {{256, 800}, {2048, 2600}, {4096, 4500}}}},
	                {"gpu2", 0, {3, {{256, 8600}, {2048, 8800}, {4096, 9200}}}}},
	    .buses = {{"pcie", 6000, 6000, 10, false}},
	};
	size_t linear[3], chosen[3], paper[3], optimum[3], single[3];
	double linear_us = split_decide(&problem, SPLIT_LINEAR, linear);
	double single_us = split_decide(&problem, SPLIT_SINGLE, single);
	double chosen_us = split_decide(&problem, SPLIT_HEDDLE, chosen);
	double paper_us = split_decide(&problem, SPLIT_PAPER, paper);
	double optimum_us = split_decide(&problem, SPLIT_OPTIMUM, optimum);

	printf("figure 8: single %.0f us, linear %.0f, Algorithm 1 %.0f, heddle %.0f, "
	       "optimum %.0f\n",
	       single_us, linear_us, paper_us, chosen_us, optimum_us);
	assert_true(linear_us > single_us);
	assert_true(paper_us < single_us && chosen_us < single_us);
	assert_true(chosen[2] < linear[2] && chosen[0] > linear[0]);
	assert_true(chosen_us <= 1.03 * optimum_us);
	assert_int_equal(chosen[0] + chosen[1] + chosen[2], 4096);
	assert_int_equal(paper[0] + paper[1] + paper[2], 4096);
}

/* ---- random problems ---- */

static void table_random(struct kernel_table *table, size_t groups)
{
	double per_group = exp(random_real(log(0.5), log(50)));
	double fixed = lrand48() % 2 ? per_group * groups * random_real(0, 0.8) : 0;
	double knee = groups * random_real(0.1, 1), us = 0;
	int npoints = 1 + lrand48() % KERNEL_TABLE_POINTS;

	table->npoints = npoints;
	for (int p = 0; p < npoints; p++) {
		double n = (double)groups * (p + 1) / npoints;
		/* Few groups do not fill the device: up to the knee it gets no faster. */
		double now = fixed + per_group * (lrand48() % 4 ? n : fmax(n, knee));

		us = fmax(us, now * random_real(0.97, 1.03));
		table->points[p] = (struct kernel_point){n, us};
	}
}

static struct split_problem problem_random(unsigned ndevices, size_t groups)
{
	struct split_problem problem = {.groups = groups, .ndevices = ndevices};

	problem.nbuses = 1 + lrand48() % 2;
	for (unsigned b = 0; b < problem.nbuses; b++) {
		double bandwidth = exp(random_real(log(1000), log(50000)));

		problem.buses[b] = (struct split_bus){"bus", bandwidth, bandwidth,
		                                      random_real(0, 20), lrand48() % 4 == 0};
	}
	for (unsigned d = 0; d < ndevices; d++) {
		struct split_device *device = &problem.devices[d];

		snprintf(device->name, sizeof(device->name), "device%u", d);
		device->bus = lrand48() % 4 ? (int)(lrand48() % problem.nbuses) : SPLIT_NO_BUS;
		table_random(&device->table, groups);
		if (lrand48() % 2) { /* sharing costs it something */
			device->part_us = random_real(0, 50);
			device->slowdown = random_real(1, 2);
		}
	}
	problem.in.per_group = exp(random_real(log(100), log(50000)));
	problem.out.per_group = exp(random_real(log(100), log(50000)));
	if (lrand48() % 2) { /* discontiguous: all of everything, and merging */
		problem.in = (struct split_bytes){0, problem.in.per_group * groups};
		problem.out = (struct split_bytes){0, problem.out.per_group * groups};
		problem.merge = problem.out;
		problem.merge_bandwidth = random_real(5000, 20000);
	} else if (lrand48() % 2) {
		problem.in.fixed = random_real(0, 1e6);
	}
	return problem;
}

static void share_check(const struct split_problem *problem, const size_t *share)
{
	size_t sum = 0;

	for (unsigned d = 0; d < problem->ndevices; d++)
		sum += share[d];
	assert_int_equal(sum, problem->groups);
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

enum { NPROBLEMS = 1000 };

/* Of its input, a device gets only what it does not hold. */
static void held(void **state)
{
	struct split_problem problem = small();
	size_t share[SPLIT_MAXDEVICES], kept[SPLIT_MAXDEVICES];
	double all_us = split_alone(&problem, 1, problem.groups), us, bytes;
	struct split_times times;

	assert_true(problem.devices[1].bus != SPLIT_NO_BUS);
	bytes = problem.in.fixed + problem.in.per_group * problem.groups;
	us = bytes / problem.buses[problem.devices[1].bus].in;
	problem.devices[1].held = bytes / 2;
	assert_true(fabs(all_us - us / 2 - split_alone(&problem, 1, problem.groups)) < 1e-6 * us);
	problem.devices[1].held = 2 * bytes; /* also what it does not read */
	assert_true(split_alone(&problem, 1, problem.groups) <= all_us - us);
	/* Who holds all gets no less than before, and its input is there at once. */
	problem.devices[1].held = 0;
	split_decide(&problem, SPLIT_HEDDLE, share);
	problem.devices[1].held = bytes;
	split_decide(&problem, SPLIT_HEDDLE, kept);
	assert_true(kept[1] >= share[1] && kept[1] > 0);
	split_estimate(&problem, kept, &times);
	assert_true(times.in_us[1] == 0);
	problem.devices[1].held = -1;
	setenv("HEDDLE_VERBOSE", "0", 1);
	assert_int_equal(split_check(&problem), -EINVAL);
	unsetenv("HEDDLE_VERBOSE");
}

/* A device that takes as long for 8 groups as for all 24: no small step away from giving it all
 * is better, a large one is. The three behind the slow bus only hide that from the search. */
static void plateau(void **state)
{
	struct split_problem problem = {
	    .groups = 24,
	    .in = {324613, 753},
	    .out = {0, 1483},
	    .ndevices = 5,
	    .nbuses = 1,
	    .devices = {{"a", 0, {2, {{17, 55}, {24, 73}}}},
	                {"b", 0, {2, {{3, 9}, {24, 21}}}},
	                {"c", 0, {3, {{3, 312}, {9, 450}, {24, 1030}}}},
	                {"even", SPLIT_NO_BUS, {1, {{24, 15.1}}}},
	                {"plateau", SPLIT_NO_BUS, {3, {{6, 3.4}, {8, 13.2}, {24, 13.2}}}}},
	    .buses = {{"bus", 1332, 1332, 7.8, true}},
	};
	size_t chosen[5], optimum[5];
	double us = split_decide(&problem, SPLIT_HEDDLE, chosen);

	assert_true(us <= 1.01 * split_decide(&problem, SPLIT_OPTIMUM, optimum));
}

/* 1000 problems with as many groups as the exhaustive search has steps, so that both
 * choose from the same splits. */
static void near_the_optimum(void **state)
{
	double worst = 1, worst_paper = 1, sum = 0, sum_paper = 0;
	unsigned beyond = 0, beyond_paper = 0;

	for (int i = 0; i < NPROBLEMS; i++) {
		unsigned ndevices = 2 + i % 5;
		size_t steps = split_optimum_steps(ndevices), share[SPLIT_MAXDEVICES];
		struct split_problem problem = problem_random(ndevices, steps > 300 ? 300 : steps);
		double best = split_decide(&problem, SPLIT_OPTIMUM, share);
		double single = split_decide(&problem, SPLIT_SINGLE, share), us, paper;

		assert_int_equal(split_check(&problem), 0);
		us = split_decide(&problem, SPLIT_HEDDLE, share);
		share_check(&problem, share);
		assert_true(us <= single);
		paper = split_decide(&problem, SPLIT_PAPER, share);
		share_check(&problem, share);
		assert_true(paper <= single && best <= us * (1 + 1e-9));
		worst = fmax(worst, us / best);
		worst_paper = fmax(worst_paper, paper / best);
		beyond += us > 1.03 * best;
		beyond_paper += paper > 1.03 * best;
		sum += us / best;
		sum_paper += paper / best;
	}
	printf("%d problems, time / optimum: heddle mean %.4f worst %.4f (%u beyond 1.03); "
	       "Algorithm 1 mean %.4f worst %.4f (%u beyond)\n",
	       NPROBLEMS, sum / NPROBLEMS, worst, beyond, sum_paper / NPROBLEMS, worst_paper,
	       beyond_paper);
	/* No bound is proven: the rare problem on which the search stops early is let
	 * pass, a search that got worse is not. */
	assert_true(beyond <= NPROBLEMS / 200 && worst < 1.15);
	assert_true(sum / NPROBLEMS < 1.002);
}

/* What a decision costs, and that large launches are no worse than one device. */
static void large_launches(void **state)
{
	static const enum split_method timed[] = {SPLIT_HEDDLE, SPLIT_PAPER};

	for (unsigned ndevices = 2; ndevices <= 6; ndevices++)
		for (unsigned m = 0; m < 2; m++) {
			double spent = 0, most = 0;

			for (int i = 0; i < 200; i++) {
				struct split_problem problem =
				    problem_random(ndevices, 1 + lrand48() % 10000000);
				size_t share[SPLIT_MAXDEVICES];
				double begin = now_us(), us, took;

				us = split_decide(&problem, timed[m], share);
				took = now_us() - begin;
				spent += took;
				most = fmax(most, took);
				share_check(&problem, share);
				assert_true(us <= split_decide(&problem, SPLIT_SINGLE, share));
			}
			printf("%u devices, %s: %.1f us a decision (most %.1f)\n", ndevices,
			       split_method_name(timed[m]), spent / 200, most);
		}
}

static void few_groups(void **state)
{
	for (size_t groups = 0; groups < 40; groups++)
		for (int m = 0; m < SPLIT_NMETHODS; m++) {
			struct split_problem problem = problem_random(3, groups ? groups : 1);
			size_t share[SPLIT_MAXDEVICES];

			problem.groups = groups;
			split_decide(&problem, m, share);
			share_check(&problem, share);
		}
}

/* A bus is as fast as its devices in the mean, whatever their order. */
static void buses_of_devices(void **state)
{
	static const double rates[] = {3000, 6000, 12000, 9000};
	struct split_problem problem = {.nbuses = 2};

	for (int i = 0; i < 4; i++) {
		split_bus_join(&problem, problem.ndevices++, 1, rates[i], rates[3 - i] / 10);
		problem.devices[problem.ndevices++].bus = SPLIT_NO_BUS;
	}
	split_bus_join(&problem, problem.ndevices++, 0, 5, 7);
	assert_true(problem.devices[0].bus == 1 && problem.devices[6].bus == 1);
	assert_true(problem.devices[7].bus == SPLIT_NO_BUS && problem.devices[8].bus == 0);
	assert_float_equal(problem.buses[1].in, 7500, 1e-6);
	assert_float_equal(problem.buses[1].out, 750, 1e-6);
	assert_float_equal(problem.buses[0].in, 5, 1e-9);
	assert_float_equal(problem.buses[0].out, 7, 1e-9);
}

static void nonsense_is_refused(void **state)
{
	struct split_problem problem = small();

	setenv("HEDDLE_VERBOSE", "0", 1);
	assert_int_equal(split_check(&problem), 0);
	problem.devices[1].bus = 1;
	assert_int_equal(split_check(&problem), -EINVAL);
	problem = small();
	problem.devices[2].table.npoints = 0;
	assert_int_equal(split_check(&problem), -EINVAL);
	problem = small();
	problem.buses[0].in = 0;
	assert_int_equal(split_check(&problem), -EINVAL);
	problem = small();
	problem.ndevices = 0;
	assert_int_equal(split_check(&problem), -EINVAL);
	unsetenv("HEDDLE_VERBOSE");
}

/* ---- what sharing costs ---- */

static void sharing_costs(void **state)
{
	struct kernel_costs costs = {0};

	kernel_costs_measured(&costs, 50, 0, 100); /* no sense */
	kernel_costs_measured(&costs, NAN, 100, 100);
	kernel_costs_measured(&costs, 50, 100, -1);
	assert_int_equal(costs.n, 0);
	kernel_costs_measured(&costs, 50, 100, 150);
	assert_float_equal(costs.part_us, 50, 1e-9);
	assert_float_equal(costs.slowdown, 1.5, 1e-9);
	for (int i = 0; i < 20; i++)
		kernel_costs_measured(&costs, 20, 100, 200);
	assert_float_equal(costs.part_us, 20, 0.1);
	assert_float_equal(costs.slowdown, 2, 0.01);
	/* One part that was held up does not count for more than it can mean. */
	kernel_costs_measured(&costs, 1e6, 100, 1e9);
	assert_true(costs.part_us <= 41 && costs.slowdown <= 2.51);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(table_lines),
	    cmocka_unit_test(table_follows),
	    cmocka_unit_test(estimate_serialises),
	    cmocka_unit_test(estimate_of_sharing),
	    cmocka_unit_test(figure_8),
	    cmocka_unit_test(held),
	    cmocka_unit_test(plateau),
	    cmocka_unit_test(near_the_optimum),
	    cmocka_unit_test(large_launches),
	    cmocka_unit_test(few_groups),
	    cmocka_unit_test(buses_of_devices),
	    cmocka_unit_test(nonsense_is_refused),
	    cmocka_unit_test(sharing_costs),
	};
	unsigned seed = test_seed();

	srand48(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
