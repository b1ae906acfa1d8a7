/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A chain in which every second task is for cores alone, under heddle, beside an accelerator behind
 * a link that takes longer than the tasks. Tasks that both can run are so short that cores would
 * rest. But on the accelerator they would wait for their data, and what follows for the way back:
 * a core does them. Where the accelerator is so fast that it is worth the way, it does. And where
 * no task is for cores alone, the data go there once, and cores rest.
 *
 * Two chains of tasks that take three times as long on the core. The area bound would have it do a
 * part of them. But one core that holds a chain holds it up: few tasks are ready, and the
 * accelerator would idle.
 */
#include "config.h"

#include <stdio.h>

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

#define LINK_US 30

SIMULATED("1cpu+gpu5@12000:30")

#define CHAIN 1000
#define ROUNDS 3
#define SHORT_US 2
#define LONG_US 400
#define FAST_US 20  /* a long task on the accelerator */
#define PAIR 400    /* tasks of two chains */
#define RUN 9       /* one in so many is for a core alone */
#define SLOW_US 60  /* another one on the core */
#define QUICK_US 20 /* and on the accelerator */
#define FIRST 20    /* tasks that go to the accelerator before it is known how they wait */
#define START_US 12 /* StarPU needs to start a task, at the most */

static unsigned on_accelerator;

static double short_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                         unsigned nimpl)
{
	return SHORT_US;
}

static double long_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                        unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? LONG_US : FAST_US;
}

static double pair_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                        unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? SLOW_US : QUICK_US;
}

static struct starpu_perfmodel pair_model = {
    .type = STARPU_PER_ARCH, .symbol = "heddle_test_pair", .arch_cost_function = pair_cost};
static struct starpu_perfmodel short_model = {
    .type = STARPU_PER_ARCH, .symbol = "heddle_test_short", .arch_cost_function = short_cost};
static struct starpu_perfmodel long_model = {
    .type = STARPU_PER_ARCH, .symbol = "heddle_test_long", .arch_cost_function = long_cost};
static struct starpu_perfmodel core_model = {
    .type = STARPU_PER_ARCH, .symbol = "heddle_test_core", .arch_cost_function = short_cost};

static struct starpu_codelet core = {.cpu_funcs = {never},
                                     .model = &core_model,
                                     .nbuffers = 1,
                                     .modes = {STARPU_RW},
                                     .name = "core"};
static struct starpu_codelet brief = {.cpu_funcs = {never},
                                      .cuda_funcs = {never},
                                      .model = &short_model,
                                      .nbuffers = 1,
                                      .modes = {STARPU_RW},
                                      .name = "brief"};
static struct starpu_codelet heavy = {.cpu_funcs = {never},
                                      .cuda_funcs = {never},
                                      .model = &long_model,
                                      .nbuffers = 1,
                                      .modes = {STARPU_RW},
                                      .name = "heavy"};

static struct starpu_codelet shared = {.cpu_funcs = {never},
                                       .cuda_funcs = {never},
                                       .model = &pair_model,
                                       .nbuffers = 1,
                                       .modes = {STARPU_RW},
                                       .name = "shared"};

static void has_ended(void *arg)
{
	on_accelerator += starpu_worker_get_type(starpu_worker_get_id()) != STARPU_CPU_WORKER;
}

/* @return us */
static double chain(struct starpu_codelet *odd, struct starpu_codelet *even,
                    starpu_data_handle_t handle)
{
	double us = -starpu_timing_now();

	on_accelerator = 0;
	for (unsigned i = 0; i < CHAIN; i++)
		assert_int_equal(starpu_task_insert(i % 2 ? odd : even, STARPU_RW, handle,
		                                    STARPU_CALLBACK, has_ended, 0),
		                 0);
	starpu_task_wait_for_all();
	us += starpu_timing_now();
	print_message("%s, %s: %.0f us, %u on the accelerator\n", even->name, odd->name, us,
	              on_accelerator);
	return us;
}

/* @return us */
static double two_chains(starpu_data_handle_t handles[2])
{
	double us = -starpu_timing_now();

	for (unsigned i = 0; i < PAIR; i++)
		assert_int_equal(
		    starpu_task_insert(i / 2 % RUN ? &shared : &core, STARPU_RW, handles[i % 2], 0),
		    0);
	starpu_task_wait_for_all();
	us += starpu_timing_now();
	print_message("two chains: %.0f us\n", us);
	return us;
}

static void test_trips(void **state)
{
	struct starpu_conf conf;
	starpu_data_handle_t handles[2], handle;
	static int numbers[2];

	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	for (int i = 0; i < 2; i++)
		starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&numbers[i],
		                              sizeof(numbers[i]));
	handle = handles[0];
	for (unsigned r = 0; r < ROUNDS; r++) {
		assert_true(chain(&brief, &core, handle) <
		            CHAIN * (SHORT_US + 1) + FIRST * (2 * LINK_US + START_US));
		assert_in_range(on_accelerator, 0, FIRST);
		assert_true(chain(&heavy, &core, handle) <
		            CHAIN / 2 * (FAST_US + SHORT_US + 2 * (LINK_US + START_US)));
		assert_in_range(on_accelerator, CHAIN / 2 - FIRST, CHAIN / 2);
		chain(&brief, &brief, handle);
		assert_in_range(on_accelerator, CHAIN - FIRST, CHAIN);
		/* As one chain on the core and one on the accelerator. */
		assert_true(two_chains(handles) < PAIR / 2 * (SLOW_US + START_US));
	}
	for (int i = 0; i < 2; i++)
		starpu_data_unregister(handles[i]);
	starpu_shutdown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_trips)};

	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
