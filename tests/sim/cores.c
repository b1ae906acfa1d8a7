/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tasks that cores alone can run, beside an accelerator, under heddle. As long as there are no
 * others, nobody plans: nobody asks StarPU what depends on a task, and cores take tasks by priority
 * and age, without idling. Tasks that the accelerator can run come while many of cores wait: the
 * accelerator begins at once, and plans look at the graph again. They end it each time. Where tasks
 * of cores are short, the same holds while one that the accelerator can run is not ready.
 */
#include "config.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("4cpu+gpu10")

#define CORES 4
#define CHAIN 1000
#define MANY 4000
#define OTHERS 300
#define CORE_US 100
#define BRIEF_US 5
#define GPU_US 20
#define BATCH 100
#define BATCHES 10
#define SLOWER 10  /* times as long on a core */
#define START_US 2 /* StarPU needs to start a task, at the most */
#define ROUNDS 3
/* Tasks after which it is seen that they are all of cores. */
#define SEEN 64

static unsigned looks;                  /* at what depends on a task */
static unsigned at[STARPU_NMAXWORKERS]; /* tasks that ran there */
static unsigned ended, others_ended;
static double others_end_us;
static int last_priority;
static bool in_order;

/* StarPU's function, counted. */
int starpu_task_get_task_succs(struct starpu_task *task, unsigned room, struct starpu_task *found[])
{
	static int (*original)(struct starpu_task *, unsigned, struct starpu_task *[]);

	if (!original)
		*(void **)&original = dlsym(RTLD_NEXT, "starpu_task_get_task_succs");
	looks++;
	return original(task, room, found);
}

static double core_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                        unsigned nimpl)
{
	return CORE_US;
}

static double brief_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                         unsigned nimpl)
{
	return BRIEF_US;
}

static double other_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                         unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? SLOWER * GPU_US : GPU_US;
}

static struct starpu_perfmodel core_model = {
    .type = STARPU_PER_ARCH, .symbol = "heddle_test_core", .arch_cost_function = core_cost};
static struct starpu_perfmodel brief_model = {
    .type = STARPU_PER_ARCH, .symbol = "heddle_test_brief", .arch_cost_function = brief_cost};
static struct starpu_perfmodel other_model = {
    .type = STARPU_PER_ARCH, .symbol = "heddle_test_other", .arch_cost_function = other_cost};

static struct starpu_codelet core = {.cpu_funcs = {never},
                                     .model = &core_model,
                                     .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                     .name = "core"};
static struct starpu_codelet brief = {.cpu_funcs = {never},
                                      .model = &brief_model,
                                      .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                      .name = "brief"};
static struct starpu_codelet other = {.cpu_funcs = {never},
                                      .cuda_funcs = {never},
                                      .model = &other_model,
                                      .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                      .name = "other"};

static void core_has_ended(void *arg)
{
	int priority = (intptr_t)arg;

	in_order &= priority <= last_priority;
	last_priority = priority;
	at[starpu_worker_get_id()]++;
	ended++;
}

static void other_has_ended(void *arg)
{
	at[starpu_worker_get_id()]++;
	others_ended++;
	others_end_us = starpu_timing_now();
}

static void submit(struct starpu_codelet *codelet, starpu_data_handle_t handle, int priority)
{
	struct starpu_task *task = starpu_task_create();

	task->cl = codelet;
	task->priority = priority;
	if (handle) {
		task->nbuffers = 1;
		task->handles[0] = handle;
		task->modes[0] = STARPU_RW;
	}
	task->callback_func = codelet == &other ? other_has_ended : core_has_ended;
	task->callback_arg = (void *)(intptr_t)priority;
	assert_int_equal(starpu_task_submit(task), 0);
}

static double begin(void)
{
	looks = ended = others_ended = 0;
	memset(at, 0, sizeof(at));
	last_priority = INT_MAX;
	in_order = true;
	return starpu_timing_now();
}

static void chain_run(starpu_data_handle_t handle)
{
	double us = begin();

	for (unsigned i = 0; i < CHAIN; i++)
		submit(&core, handle, 0);
	starpu_task_wait_for_all();
	us = starpu_timing_now() - us;
	print_message("chain: %.0f us, %u looks\n", us, looks);
	assert_int_equal(ended, CHAIN);
	assert_in_range(us, CHAIN * CORE_US, (CHAIN + 1) * (CORE_US + START_US));
	assert_in_range(looks, 0, SEEN);
}

static void independent_run(bool priorities)
{
	double us = begin();

	for (unsigned i = 0; i < MANY; i++)
		submit(&core, NULL, priorities ? (int)i / CORES % 10 : 0);
	starpu_task_wait_for_all();
	us = starpu_timing_now() - us;
	print_message("independent: %.0f us, %u looks\n", us, looks);
	assert_int_equal(ended, MANY);
	assert_in_range(us, MANY / CORES * CORE_US, (MANY / CORES + 1) * (CORE_US + START_US));
	assert_in_range(looks, 0, SEEN);
	assert_true(in_order);
}

/* Each of the others waits for one before it. */
static void mixed_run(starpu_data_handle_t handle, unsigned waiting, bool known)
{
	double us = begin();
	unsigned on_cores = 0;

	for (unsigned i = 0; i < waiting; i++)
		submit(&core, NULL, 0);
	for (unsigned i = 0; i < OTHERS; i++)
		submit(&other, handle, 0);
	starpu_task_wait_for_all();
	for (unsigned w = 0; w < starpu_worker_get_count(); w++)
		if (starpu_worker_get_type(w) == STARPU_CPU_WORKER)
			on_cores += at[w];
	others_end_us -= us;
	us = starpu_timing_now() - us;
	print_message("%u of cores wait: %.0f us, others %.0f us, %u looks, %u tasks on cores\n",
	              waiting, us, others_end_us, looks, on_cores);
	assert_int_equal(ended, waiting);
	assert_int_equal(others_ended, OTHERS);
	if (!known)
		return;
	/* The accelerator has them all. */
	assert_int_equal(on_cores, waiting);
	assert_in_range(others_end_us, OTHERS * GPU_US, (OTHERS + 1) * (GPU_US + START_US));
	assert_in_range(us, waiting / CORES * CORE_US,
	                (waiting / CORES + 2) * (CORE_US + START_US));
}

/* In batches, since what is submitted at once may be looked at at once. */
static void batches_run(struct starpu_codelet *codelet, starpu_data_handle_t handle)
{
	for (unsigned i = 0; i < BATCHES; i++) {
		for (unsigned j = 0; j < BATCH; j++)
			submit(codelet, handle, 0);
		starpu_task_wait_for_n_submitted(1);
	}
}

/* One of the others has been submitted, and waits until the program releases its data. */
static void held_run(starpu_data_handle_t handle, starpu_data_handle_t value)
{
	unsigned looks_of_long;

	begin();
	assert_int_equal(starpu_data_acquire(value, STARPU_RW), 0);
	submit(&other, value, 0);
	batches_run(&brief, handle);
	print_message("one waits: %u looks\n", looks);
	assert_int_equal(ended, BATCHES * BATCH);
	assert_in_range(looks, 0, BATCH + SEEN);
	/* Tasks that are not short end that. */
	looks_of_long = looks;
	batches_run(&core, handle);
	looks_of_long = looks - looks_of_long;
	print_message("and long tasks: %u looks\n", looks_of_long);
	assert_in_range(looks_of_long, (BATCHES - 2) * BATCH, UINT_MAX);
	assert_int_equal(others_ended, 0);
	batches_run(&brief, handle);
	starpu_data_release(value);
	starpu_task_wait_for_all();
	assert_int_equal(others_ended, 1);
	for (unsigned w = 0; w < starpu_worker_get_count(); w++)
		if (starpu_worker_get_type(w) == STARPU_CUDA_WORKER)
			assert_int_equal(at[w], 1);
}

static void test_cores(void **state)
{
	struct starpu_conf conf;
	starpu_data_handle_t handle, value;
	static int number;

	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	starpu_void_data_register(&handle);
	starpu_variable_data_register(&value, STARPU_MAIN_RAM, (uintptr_t)&number, sizeof(number));
	mixed_run(value, MANY / 4, false);
	for (unsigned r = 0; r < ROUNDS; r++) {
		chain_run(handle);
		independent_run(r % 2);
		mixed_run(value, r % 2 ? MANY / 5 : MANY, true);
		held_run(r % 2 ? NULL : handle, value);
	}
	starpu_data_unregister(handle);
	starpu_data_unregister(value);
	starpu_shutdown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cores)};

	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
