/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Who computes a kernel, by what launches took: the first launch, trials, what they cost, and
 * machines that change; and what sharing is believed to cost.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "partition/kernel/split/table.h"
#include "partition/kernel/split/outcomes.h"
#include "test.h"

/* A machine: what is predicted of each way, and what it takes. */
struct machine {
	double predicted[OUTCOMES_WAYS], us[OUTCOMES_WAYS];
	double noise; /* up to so much more */
};

static struct machine machine_make(double first, double second, double shared)
{
	struct machine machine = {.noise = 0};

	for (unsigned way = 0; way < OUTCOMES_WAYS; way++)
		machine.predicted[way] = machine.us[way] = INFINITY;
	machine.predicted[0] = machine.us[0] = first;
	machine.predicted[1] = machine.us[1] = second;
	machine.predicted[OUTCOMES_SHARED] = machine.us[OUTCOMES_SHARED] = shared;
	return machine;
}

static double best_of(const struct machine *machine)
{
	return fmin(fmin(machine->us[0], machine->us[1]), machine->us[OUTCOMES_SHARED]);
}

static unsigned launch(struct outcomes *outcomes, const struct machine *machine)
{
	unsigned way;

	if (!outcomes_settled(outcomes, &way))
		way = outcomes_choose(outcomes, machine->predicted);
	assert_false(isinf(machine->predicted[way]));
	outcomes_measured(outcomes, way, machine->us[way] * (1 + machine->noise * drand48()));
	return way;
}

/* Launches of which each takes at most `most` times the best way's time. */
static void launches(struct outcomes *outcomes, const struct machine *machine, int n, double *us)
{
	*us = 0;
	for (int i = 0; i < n; i++)
		*us += machine->us[launch(outcomes, machine)];
}

static void the_first_launch(void **state)
{
	struct outcomes outcomes = {.launches = 0};
	struct machine machine = machine_make(1000, 1200, 950);

	/* A split has to promise more than tables are off by. */
	assert_int_equal(outcomes_choose(&outcomes, machine.predicted), 0);
	machine.predicted[OUTCOMES_SHARED] = 800;
	assert_int_equal(outcomes_choose(&outcomes, machine.predicted), OUTCOMES_SHARED);
	machine.predicted[0] = INFINITY;
	machine.predicted[OUTCOMES_SHARED] = INFINITY;
	assert_int_equal(outcomes_choose(&outcomes, machine.predicted), 1);
}

/* Tables that promise much of a split that is slow in truth: it is left after a launch or
 * two, though nothing else was measured. */
static void broken_promises(void **state)
{
	struct outcomes outcomes = {.launches = 0};
	struct machine machine = machine_make(1000, 5000, 700);
	double us;

	machine.us[OUTCOMES_SHARED] = 1500;
	launches(&outcomes, &machine, 4, &us);
	assert_int_equal(outcomes.chosen, 0);
	launches(&outcomes, &machine, 1000, &us);
	printf("  after broken promises: %.4f of the best time\n", us / (1000 * 1000.0));
	assert_true(us <= 1.015 * 1000 * 1000);
	assert_int_equal(outcomes.ways[1].n, 0); /* never tried: it was far off */
}

/* A split that is better than predicted is found, and costs little where it is not. */
static void better_than_predicted(void **state)
{
	struct outcomes outcomes = {.launches = 0};
	struct machine machine = machine_make(1000, 1100, 940);
	double us;

	machine.us[OUTCOMES_SHARED] = 800;
	launches(&outcomes, &machine, 10, &us);
	assert_int_equal(outcomes.chosen, OUTCOMES_SHARED);
	machine.us[1] = 500; /* and the other device is better still */
	launches(&outcomes, &machine, 1000, &us);
	assert_int_equal(outcomes.chosen, 1);
}

/* What was best becomes slow, as when somebody else uses the device. */
static void machines_change(void **state)
{
	struct outcomes outcomes = {.launches = 0};
	struct machine machine = machine_make(1000, 1100, INFINITY);
	double us;

	launches(&outcomes, &machine, 100, &us);
	assert_int_equal(outcomes.chosen, 0);
	machine.us[0] = 3000;
	launches(&outcomes, &machine, 40, &us);
	assert_int_equal(outcomes.chosen, 1);
	machine.us[0] = 900;
	launches(&outcomes, &machine, 3000, &us);
	assert_int_equal(outcomes.chosen, 0);
}

static void forgotten(void **state)
{
	struct outcomes outcomes = {.launches = 0};
	struct machine machine = machine_make(1000, 1100, 700);
	double us;

	launches(&outcomes, &machine, 20, &us);
	assert_int_equal(outcomes.chosen, OUTCOMES_SHARED);
	assert_float_equal(outcomes_us(&outcomes, OUTCOMES_SHARED), 700, 1e-9);
	outcomes_forget(&outcomes, OUTCOMES_SHARED);
	assert_float_equal(outcomes_us(&outcomes, OUTCOMES_SHARED), 0, 0);
	machine.predicted[OUTCOMES_SHARED] = INFINITY; /* its device has failed */
	assert_int_not_equal(launch(&outcomes, &machine), OUTCOMES_SHARED);
}

/* What a new split's trials have cost is counted once. */
static void replaced(void **state)
{
	struct outcomes outcomes = {.launches = 0};
	struct outcome *ways = outcomes.ways;
	double lost_us = 0;

	for (int i = 0; i < 5; i++)
		outcomes_measured(&outcomes, 0, 1000);
	for (int i = 0; i < 3; i++)
		outcomes_measured(&outcomes, OUTCOMES_SHARED, 1500);
	for (int i = 0; i < 2; i++)
		outcomes_measured(&outcomes, OUTCOMES_OTHER, 1200);
	outcomes_replace(&outcomes, OUTCOMES_SHARED, OUTCOMES_OTHER);
	assert_float_equal(outcomes_us(&outcomes, OUTCOMES_SHARED), 1200, 1e-9);
	assert_float_equal(outcomes_us(&outcomes, OUTCOMES_OTHER), 0, 0);
	for (unsigned way = 0; way < OUTCOMES_WAYS; way++)
		lost_us += ways[way].lost_us;
	assert_float_equal(lost_us, outcomes.regret_us, 1e-9);
	assert_float_equal(lost_us, 1900, 1e-9);
}

/* Whatever was predicted, a thousand launches take little more than the best way would:
 * the first ones are bounded by what the predictions were off, all others by what trials may
 * cost. */
static void regret_is_bounded(void **state)
{
	double worst = 1, sum = 0;
	enum { MACHINES = 500, LAUNCHES = 1000 };

	for (int i = 0; i < MACHINES; i++) {
		struct outcomes outcomes = {.launches = 0};
		struct machine machine = machine_make(100 + 900 * drand48(), 100 + 900 * drand48(),
		                                      100 + 900 * drand48());
		double us, ratio;

		for (unsigned way = 0; way < OUTCOMES_WAYS; way++)
			machine.predicted[way] *= 0.8 + 0.45 * drand48();
		machine.noise = 0.05 * drand48();
		launches(&outcomes, &machine, LAUNCHES, &us);
		ratio = us / LAUNCHES / best_of(&machine);
		worst = fmax(worst, ratio);
		sum += ratio;
	}
	printf("  %d machines, predictions 20 to 25 %% off, %d launches: mean %.4f of the best "
	       "way's time, worst %.4f\n",
	       MACHINES, LAUNCHES, sum / MACHINES, worst);
	assert_true(sum / MACHINES < 1.01 && worst < 1.06);
}

/* Two numbers that are near enough to one of a normal distribution. */
static double normal(void)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += drand48();
	return sum;
}

/* Mean and worst time over the best way's of machines whose ways differ by up to `apart`, and
 * launches by `noise`; one in twenty is held up. */
static double near_ways(double apart, double noise, int nlaunches, double *worst)
{
	enum { MACHINES = 300 };
	double sum = 0;

	*worst = 0;
	for (int i = 0; i < MACHINES; i++) {
		struct outcomes outcomes = {.launches = 0};
		struct machine machine =
		    machine_make(1000 * (1 + apart * drand48()), 1000 * (1 + apart * drand48()),
		                 1000 * (1 + apart * drand48()));
		double us = 0;

		for (unsigned way = 0; way < OUTCOMES_WAYS; way++)
			machine.predicted[way] *= 0.9 + 0.2 * drand48();
		for (int l = 0; l < nlaunches; l++) {
			unsigned way;
			double took_us;

			if (!outcomes_settled(&outcomes, &way))
				way = outcomes_choose(&outcomes, machine.predicted);
			took_us = machine.us[way] * fmax(1 + noise * normal(), 0.6);
			if (drand48() < 0.05)
				took_us *= 1.5;
			outcomes_measured(&outcomes, way, took_us);
			us += machine.us[way];
		}
		us /= nlaunches * best_of(&machine);
		*worst = fmax(*worst, us);
		sum += us;
	}
	printf("  ways up to %g apart, launches by %g, %d of them: mean %.4f of the best way's "
	       "time, worst %.4f\n",
	       apart, noise, nlaunches, sum / MACHINES, *worst);
	return sum / MACHINES;
}

/* What is better by some hundredths is found, and stays. */
static void better_by_little(void **state)
{
	double worst;

	assert_true(near_ways(0.2, 0.07, 500, &worst) < 1.013);
	assert_true(near_ways(0.1, 0.18, 1000, &worst) < 1.013);
}

/* A split that saves next to nothing is left to others; one that saves a tenth is not. */
static void splits_that_are_worth_it(void **state)
{
	static const double us[] = {1000, 995, 985, 900};

	for (unsigned i = 0; i < sizeof(us) / sizeof(us[0]); i++)
		for (int round = 0; round < 20; round++) {
			struct outcomes outcomes = {.launches = 0};
			struct machine machine = machine_make(1000, 5000, 1.001 * us[i]);
			double sum;

			machine.us[OUTCOMES_SHARED] = us[i];
			machine.noise = 0.1;
			launches(&outcomes, &machine, 600, &sum);
			assert_int_equal(outcomes.chosen, us[i] > 950 ? 0 : OUTCOMES_SHARED);
		}
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
	    cmocka_unit_test(the_first_launch),
	    cmocka_unit_test(broken_promises),
	    cmocka_unit_test(better_than_predicted),
	    cmocka_unit_test(machines_change),
	    cmocka_unit_test(forgotten),
	    cmocka_unit_test(replaced),
	    cmocka_unit_test(regret_is_bounded),
	    cmocka_unit_test(better_by_little),
	    cmocka_unit_test(splits_that_are_worth_it),
	    cmocka_unit_test(sharing_costs),
	};
	const char *given = getenv("HEDDLE_TEST_SEED");
	long seed = given ? atol(given) : time(NULL);

	printf("HEDDLE_TEST_SEED=%ld\n", seed);
	srand48(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
