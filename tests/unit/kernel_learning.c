/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Launches of one kernel on drawn devices, replayed: does the choice of who computes end near the
 * best of one device alone, a linear split and the optimum? Devices have fixed costs, compute in
 * waves of groups, and slow each other down, which no table of a device alone tells.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/split/choice.h"
#include "test.h"

enum { NDEVICES = 3, LAUNCHES = 300, MACHINES = 400 };

/* A device in truth. */
struct truth {
	double fixed_us, wave_us; /* of a launch, and of each wave */
	size_t wave;              /* groups */
	double in, out, latency;  /* of its bus; 0: it works in the host's memory */
	double shared_us;         /* more, if another device computes, too */
	double late_us;           /* so late a part begins */
	double slowed[NDEVICES];  /* by each other device */
};

struct machine {
	unsigned n;
	size_t groups;
	double in, out; /* bytes of a group */
	double noise;
	bool both_ways;            /* it takes less, too */
	bool one_bus, thought_one; /* of all devices with one */
	struct truth devices[NDEVICES];
};

/* What is known of a device. */
struct known {
	struct kernel_table table;
	struct kernel_costs costs;
	double in, out;
};

struct learner {
	struct kernel_choice choice;
	struct known known[NDEVICES];
	unsigned changes;
	double spent_us;
};

static double between(double low, double high)
{
	return low + (high - low) * drand48();
}

static double about(double low, double high)
{
	return exp(between(log(low), log(high)));
}

/* Up to so much more, or as a normal distribution has it; and rarely much more. */
static double noisy(const struct machine *machine, double us)
{
	double sum = -6;

	if (machine->both_ways) {
		for (int i = 0; i < 12; i++)
			sum += drand48();
		return us * fmax(1 + machine->noise * sum, 0.75) * (drand48() < 0.02 ? 1.5 : 1);
	}
	return us * (1 + machine->noise * drand48()) * (drand48() < 0.01 ? 2 : 1);
}

static double compute_us(const struct truth *device, double groups)
{
	return groups > 0 ? device->fixed_us + ceil(groups / device->wave) * device->wave_us : 0;
}

/* ---- truth ---- */

/* The problem of a split in truth. Each table has one point, which is exact for these shares. */
static void truth_make(const struct machine *machine, const size_t *share,
                       struct split_problem *problem)
{
	*problem = (struct split_problem){.groups = machine->groups, .ndevices = machine->n};
	problem->in.per_group = machine->in;
	problem->out.per_group = machine->out;
	for (unsigned d = 0; d < machine->n; d++) {
		const struct truth *device = &machine->devices[d];
		struct split_device *to = &problem->devices[d];
		double us = compute_us(device, share[d]);

		to->bus = SPLIT_NO_BUS;
		to->slowdown = 1;
		for (unsigned e = 0; e < machine->n; e++)
			to->slowdown += e != d && share[e] ? device->slowed[e] : 0;
		if (to->slowdown > 1)
			us += device->shared_us / to->slowdown;
		to->part_us = device->late_us;
		to->table = (struct kernel_table){1, {{share[d] ? share[d] : 1, us}}};
		if (device->in <= 0)
			continue;
		to->bus = machine->one_bus ? 0 : (int)problem->nbuses;
		problem->buses[to->bus] = (struct split_bus){
		    .in = device->in, .out = device->out, .latency_us = device->latency};
		problem->nbuses = to->bus + 1;
	}
}

static double truth_us(const struct machine *machine, const size_t *share)
{
	struct split_problem problem;
	struct split_times times;

	truth_make(machine, share, &problem);
	return split_estimate(&problem, share, &times);
}

static void optimum_find(const struct machine *machine, size_t *share, unsigned d, size_t left,
                         double *best_us)
{
	size_t step = machine->groups / (machine->n > 2 ? 64 : 256), n = 0;

	if (d + 1 == machine->n) {
		share[d] = left;
		*best_us = fmin(*best_us, truth_us(machine, share));
		return;
	}
	for (;; n = left - n > step ? n + step : left) {
		share[d] = n;
		optimum_find(machine, share, d + 1, left - n, best_us);
		if (n == left)
			return;
	}
}

static double linear_us(const struct machine *machine)
{
	size_t share[NDEVICES] = {0}, given = 0;
	double sum = 0;

	for (unsigned d = 0; d < machine->n; d++)
		sum += 1 / compute_us(&machine->devices[d], machine->groups);
	for (unsigned d = 0; d + 1 < machine->n; d++) {
		share[d] =
		    machine->groups / compute_us(&machine->devices[d], machine->groups) / sum;
		given += share[d];
	}
	share[machine->n - 1] = machine->groups - given;
	return truth_us(machine, share);
}

static double single_us(const struct machine *machine)
{
	double us = INFINITY;

	for (unsigned d = 0; d < machine->n; d++) {
		size_t share[NDEVICES] = {0};

		share[d] = machine->groups;
		us = fmin(us, truth_us(machine, share));
	}
	return us;
}

/* ---- learning, as partition/kernel/launch/parts_starpu.c does it ---- */

static void learner_begin(const struct machine *machine, struct learner *learner)
{
	static const size_t divisors[] = {256, 64, 16, 4, 1};

	*learner = (struct learner){.changes = 1};
	for (unsigned d = 0; d < machine->n; d++) {
		const struct truth *device = &machine->devices[d];
		struct known *known = &learner->known[d];
		double bytes = machine->groups * machine->in, out = machine->groups * machine->out;

		for (unsigned i = 0; i < sizeof(divisors) / sizeof(divisors[0]); i++) {
			double n = machine->groups / divisors[i];

			kernel_table_measured(&known->table, n,
			                      fmin(noisy(machine, compute_us(device, n)),
			                           noisy(machine, compute_us(device, n))),
			                      1);
		}
		if (device->in <= 0)
			continue;
		known->in = bytes / noisy(machine, device->latency + bytes / device->in);
		known->out = out / noisy(machine, device->latency + out / device->out);
	}
}

static void sharing_make(const struct machine *machine, const struct learner *learner,
                         struct sharing *sharing)
{
	struct split_problem *problem = &sharing->problem;

	*sharing = (struct sharing){.problem = {.groups = machine->groups, .ndevices = machine->n}};
	problem->in.per_group = machine->in;
	problem->out.per_group = machine->out;
	for (unsigned d = 0; d < machine->n; d++) {
		const struct known *known = &learner->known[d];

		sharing->numbers[d] = d;
		problem->devices[d].table = known->table;
		problem->devices[d].part_us = known->costs.part_us;
		problem->devices[d].slowdown = known->costs.slowdown;
		problem->devices[d].bus = SPLIT_NO_BUS;
		if (known->in <= 0)
			continue;
		if (!machine->thought_one || !problem->nbuses)
			problem->nbuses++;
		split_bus_join(problem, d, problem->nbuses - 1, known->in, known->out);
	}
}

static bool differs(double a, double b)
{
	return fabs(a - b) > 0.05 * fmax(a, b);
}

static void part_learn(const struct machine *machine, struct learner *learner,
                       const struct sharing *sharing, const struct split_problem *truth, unsigned d)
{
	struct known *known = &learner->known[d];
	struct kernel_costs before = known->costs;
	size_t n = sharing->share[d];
	double us = split_alone(truth, d, n), then = kernel_table_time(&known->table, n);

	if (n < machine->groups) {
		us = noisy(machine, us * truth->devices[d].slowdown);
		kernel_costs_measured(&known->costs, noisy(machine, machine->devices[d].late_us),
		                      split_alone(&sharing->problem, d, n), us);
	} else {
		us = noisy(machine, truth->devices[d].table.points[0].us);
		kernel_table_measured(&known->table, n, fmin(us, 2 * then), 0.5);
	}
	learner->changes += differs(before.slowdown, known->costs.slowdown) ||
	                    differs(before.part_us, known->costs.part_us) ||
	                    differs(then, kernel_table_time(&known->table, n));
}

/* @return what it takes in truth, but for noise */
static double launch(const struct machine *machine, struct learner *learner)
{
	struct sharing sharing;
	struct split_problem truth;
	struct split_times times;
	double predicted_us, truth_us, us;
	unsigned arm;
	bool profiled = true;

	sharing_make(machine, learner, &sharing);
	if (bandit_settled(&learner->choice.arms, &kernel_arms_rules, &arm) &&
	    arm < KERNEL_ARM_SHARED) {
		sharing.share[arm] = machine->groups;
		profiled = false;
	} else {
		arm = kernel_choice_make(&learner->choice, &sharing, 1, true, learner->changes,
		                         &predicted_us);
		profiled = kernel_arms_profiled(&learner->choice.arms, arm);
	}
	truth_make(machine, sharing.share, &truth);
	truth_us = split_estimate(&truth, sharing.share, &times);
	us = noisy(machine, truth_us);
	learner->spent_us += us;
	for (unsigned d = 0; d < machine->n && profiled; d++)
		if (sharing.share[d])
			part_learn(machine, learner, &sharing, &truth, d);
	bandit_measured(&learner->choice.arms, &kernel_arms_rules, arm, us);
	return truth_us;
}

/* What the arm that is the best by then takes in truth. */
static double best_us(const struct machine *machine, const struct learner *learner)
{
	size_t alone[NDEVICES] = {0};
	unsigned arm = learner->choice.arms.best;

	if (arm == KERNEL_ARM_SHARED)
		return truth_us(machine, learner->choice.share);
	alone[arm] = machine->groups;
	return truth_us(machine, alone);
}

/* ---- machines ---- */

static struct machine machine_draw(void)
{
	struct machine machine = {.n = 2 + lrand48() % 2,
	                          .groups = about(256, 16384),
	                          .in = about(16, 8192),
	                          .out = about(16, 8192),
	                          .noise = between(0, 0.1),
	                          .one_bus = lrand48() % 4 == 0};
	double work_us = about(200, 20000);
	bool alike = lrand48() % 2; /* two GPUs */

	machine.thought_one = lrand48() % 4 ? machine.one_bus : !machine.one_bus;

	for (unsigned d = 0; d < machine.n; d++) {
		struct truth *device = &machine.devices[d];
		bool cpu = d + 1 == machine.n && lrand48() % 4;
		double speed = cpu ? about(0.05, 2) : about(0.3, 3);

		if (alike && d == 1 && !cpu) {
			*device = machine.devices[0];
			continue;
		}
		device->wave = cpu ? about(8, 64) : about(64, 1024);
		device->fixed_us = between(2, 30);
		device->wave_us = work_us / speed / ceil((double)machine.groups / device->wave);
		device->late_us = between(5, 60);
		if (cpu) {
			device->shared_us = lrand48() % 2 ? about(10, 800) : 0;
		} else {
			device->in = about(3000, 20000);
			device->out = about(3000, 20000);
			device->latency = between(5, 15);
		}
		for (unsigned e = 0; e < machine.n; e++)
			device->slowed[e] = cpu ? between(0.01, 0.8) : between(0.01, 0.15);
	}
	return machine;
}

/* A GPU, whose data takes most of its time to cross, and a CPU that takes about as long: both are
 * slowed by memory that they share. */
static struct machine memory_draw(void)
{
	struct machine machine = {
	    .n = 2, .groups = about(256, 16384), .noise = between(0.03, 0.1), .both_ways = true};
	struct truth *gpu = &machine.devices[0], *cpu = &machine.devices[1];
	double us = about(300, 3000), crossing = between(0.6, 0.98) * us;

	machine.in = about(1400, 11000) * us / machine.groups;
	machine.out = machine.in * between(0.2, 1);
	*gpu = (struct truth){.wave = about(64, 1024),
	                      .fixed_us = between(2, 20),
	                      .latency = between(5, 15),
	                      .late_us = between(20, 60),
	                      .slowed = {0, between(0.05, 0.5)}};
	gpu->in = gpu->out = (machine.in + machine.out) * machine.groups / crossing;
	gpu->wave_us = (us - crossing) / ceil((double)machine.groups / gpu->wave);
	*cpu = (struct truth){.wave = 14,
	                      .fixed_us = between(2, 20),
	                      .late_us = between(5, 40),
	                      .shared_us = lrand48() % 2 ? about(10, 200) : 0,
	                      .slowed = {between(0.05, 0.9)}};
	cpu->wave_us = us * about(0.7, 1.4) / ceil(machine.groups / 14.0);
	return machine;
}

/* ---- tests ---- */

/* What the best arm takes after some launches, of the best split there is.
 * @param[out] simple of the best device alone and the linear split
 * @param[out] all what all launches took on average */
static double learned(const struct machine *machine, unsigned launches, double *simple, double *all)
{
	double best = fmin(single_us(machine), linear_us(machine)), us;
	size_t share[NDEVICES] = {0};
	struct learner learner;

	*simple = best;
	optimum_find(machine, share, 0, machine->groups, &best);
	learner_begin(machine, &learner);
	for (unsigned i = 0; i < launches; i++)
		launch(machine, &learner);
	us = best_us(machine, &learner);
	*simple = us / *simple;
	*all = learner.spent_us / launches / (1 + machine->noise / 2 + 0.01) / best;
	return us / best;
}

static void test_drawn(void **state)
{
	double sum = 0, worst = 0, spent = 0;
	unsigned seed = lrand48(), off = 0, simple_off = 0, machines = test_rounds(MACHINES);

	for (unsigned m = 0; m < machines; m++) {
		struct machine machine = (srand48(seed + m), machine_draw());
		double simple, all, us = learned(&machine, LAUNCHES, &simple, &all);

		sum += us / machines;
		spent += all / machines;
		worst = fmax(worst, us);
		off += us > 1.01;
		simple_off += simple > 1.01;
	}
	printf("  %u machines: after %d launches %.4f of the optimum's time, worst %.3f, %u above "
	       "1.01; %u above 1.01 of the best device and the linear split; all launches %.4f\n",
	       machines, LAUNCHES, sum, worst, off, simple_off, spent);
	assert_true(sum <= 1.024);
	assert_true(simple_off <= 1 + machines / 25);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Where no split gains 5 %, few medians of a hundred launches are worse than the best device alone.
 */
static void test_near(void **state)
{
	enum { NEAR = 100 };
	unsigned machines = test_rounds(2 * MACHINES), off = 0, far = 0;

	for (unsigned m = 0; m < machines;) {
		struct machine machine = memory_draw();
		double us[NEAR], single = single_us(&machine), best = single;
		size_t share[NDEVICES] = {0};
		struct learner learner;

		optimum_find(&machine, share, 0, machine.groups, &best);
		if (best < 0.95 * single)
			continue;
		learner_begin(&machine, &learner);
		for (int i = 0; i < NEAR; i++)
			us[i] = launch(&machine, &learner);
		qsort(us, NEAR, sizeof(*us), compare);
		off += us[NEAR / 2] > 1.01 * single;
		far += us[NEAR / 2] > 1.05 * single;
		m++;
	}
	printf(
	    "  %u machines on which splits gain little: the medians of %u above 1.01 of the best "
	    "device, of %u above 1.05\n",
	    machines, off, far);
	assert_true(off <= 2 + machines * 0.045);
}

/* A GPU, and a CPU that takes as long for few groups as for many while the GPU computes. */
static void test_fixed_cost(void **state)
{
	struct machine machine = {.n = 2, .groups = 4096, .in = 1024, .out = 1024, .noise = 0.03};

	machine.devices[0] = (struct truth){.fixed_us = 10,
	                                    .wave_us = 10,
	                                    .wave = 1056,
	                                    .in = 12000,
	                                    .out = 12000,
	                                    .latency = 10,
	                                    .late_us = 40,
	                                    .slowed = {0, 0.05}};
	machine.devices[1] = (struct truth){.fixed_us = 5,
	                                    .wave_us = 12,
	                                    .wave = 14,
	                                    .shared_us = 700,
	                                    .late_us = 10,
	                                    .slowed = {0.1}};
	for (int i = 0; i < 20; i++) {
		double simple, all;

		assert_true(learned(&machine, 101, &simple, &all) <= 1.01);
	}
}

/* Two GPUs on buses of their own that are thought to be one: no split promises anything. */
static void test_two_alike(void **state)
{
	struct machine machine = {
	    .n = 2, .groups = 4096, .in = 1024, .out = 1024, .noise = 0.03, .thought_one = true};

	for (int d = 0; d < 2; d++)
		machine.devices[d] = (struct truth){.fixed_us = 2,
		                                    .wave_us = 1,
		                                    .wave = 264,
		                                    .in = 12000,
		                                    .out = 12000,
		                                    .latency = 10,
		                                    .late_us = 20,
		                                    .slowed = {0.02, 0.02}};
	for (int i = 0; i < 20; i++) {
		double simple, all;

		learned(&machine, 101, &simple, &all);
		assert_true(simple <= 1.01);
	}
}

/* Tables that change with each launch do not make each search for a split. */
static void test_searches(void **state)
{
	for (int m = 0; m < 20; m++) {
		struct machine machine = machine_draw();
		unsigned searches = 0;
		struct learner learner;

		learner_begin(&machine, &learner);
		for (int i = 0; i < 1000; i++) {
			unsigned before = learner.choice.decided;

			learner.changes++;
			launch(&machine, &learner);
			searches += learner.choice.decided != before;
		}
		assert_in_range(searches, 0, 110);
	}
}

/* After a device has failed, the others compute all groups, also by a candidate that was found
 * before. */
static void test_failed(void **state)
{
	for (int m = 0; m < 100; m++) {
		struct machine machine = machine_draw();
		unsigned failed = lrand48() % machine.n;
		struct learner learner;

		learner_begin(&machine, &learner);
		for (int i = lrand48() % 40; i >= 0; i--)
			launch(&machine, &learner);
		for (int i = 0; i < 40; i++) {
			struct sharing sharing;
			double predicted_us;
			size_t groups = 0;
			unsigned arm;

			sharing_make(&machine, &learner, &sharing);
			sharing.problem.ndevices--;
			for (unsigned d = failed; d < sharing.problem.ndevices; d++) {
				sharing.problem.devices[d] = sharing.problem.devices[d + 1];
				sharing.numbers[d] = d + 1;
			}
			arm = kernel_choice_make(&learner.choice, &sharing, 1, true,
			                         learner.changes, &predicted_us);
			for (unsigned d = 0; d < sharing.problem.ndevices; d++)
				groups += sharing.share[d];
			assert_int_equal(groups, machine.groups);
			bandit_measured(&learner.choice.arms, &kernel_arms_rules, arm,
			                between(100, 120));
		}
	}
}

/* ---- a device that fails ---- */

enum { GROUPS = 1024 };

/* A launch on the devices of a set (a bit each), which are thought to share a bus, so that no split
 * promises anything. In truth one split takes half the time of a device.
 * @param together the devices of that split
 * @return the devices that computed it */
static unsigned launch_thought(struct kernel_choice *choice, unsigned set, unsigned together)
{
	static const double us[] = {16, 12, 10, 11};
	struct sharing sharing = {.problem = {.groups = GROUPS, .nbuses = 1}};
	struct split_problem *problem = &sharing.problem;
	unsigned computed = 0, arm;
	double predicted_us;

	problem->in.per_group = 1000;
	for (unsigned number = 0; number < sizeof(us) / sizeof(us[0]); number++) {
		unsigned d = problem->ndevices;

		if (!(set >> number & 1))
			continue;
		sharing.numbers[d] = number;
		problem->devices[d].part_us = 60;
		problem->devices[d].table =
		    (struct kernel_table){2, {{1, us[number] / GROUPS}, {GROUPS, us[number]}}};
		split_bus_join(problem, d, 0, 10000, 10000);
		problem->ndevices++;
	}
	arm = kernel_choice_make(choice, &sharing, 1, true, 1, &predicted_us);
	for (unsigned d = 0; d < problem->ndevices; d++)
		computed |= (unsigned)(sharing.share[d] > 0) << sharing.numbers[d];
	bandit_measured(&choice->arms, &kernel_arms_rules, arm,
	                computed == together        ? 56
	                : computed & (computed - 1) ? 118
	                                            : predicted_us);
	return computed;
}

/* A set of devices that was tried is not tried again, though a device fails that computes nothing.
 */
static void test_failed_unused(void **state)
{
	struct kernel_choice choice = {0};
	unsigned before = 0, after = 0;

	for (int i = 0; i < 1000; i++)
		before += launch_thought(&choice, 0xf, 0xc) == 0xe;
	for (int i = 0; i < 1000; i++)
		after += launch_thought(&choice, 0xe, 0xc) == 0xe;
	assert_int_equal(before, 1);
	assert_int_equal(after, 0);
}

/* If the device fails that computes all, the linear split of the others is tried. */
static void test_failed_best(void **state)
{
	struct kernel_choice choice = {0};
	unsigned computed = 0;

	for (int i = 0; i < 20; i++)
		launch_thought(&choice, 0xf, 0);
	assert_int_equal(choice.arms.best, 2);
	for (int i = 0; i < 1000; i++)
		computed = launch_thought(&choice, 0xb, 0xb);
	assert_int_equal(computed, 0xb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fixed_cost),  cmocka_unit_test(test_two_alike),
	    cmocka_unit_test(test_failed),      cmocka_unit_test(test_failed_unused),
	    cmocka_unit_test(test_failed_best), cmocka_unit_test(test_drawn),
	    cmocka_unit_test(test_near),        cmocka_unit_test(test_searches),
	};

	srand48(test_seed());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
