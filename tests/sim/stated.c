/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A stream of tasks that state their operations, on an accelerator and cores, under heddle,
 * without a model. By its operations a task takes a core 100 ms. The accelerator runs all of them
 * in 64 ms, after the first one, which takes as long because it loads something. So no core takes
 * any.
 *
 * Nor does one while the first one runs and others come, although all that waits seems to take long
 * then. And where the first one takes nearly as long as a core, that says nothing of those that
 * follow: what cores have waited until then does not count.
 */
#include "config.h"

#include <string.h>

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("12cpu+gpu1@10000:10")

#define NTASKS 256

struct stream {
	const char *name;
	double core_us, gpu_us, loading_us;
	double flops;   /* of a task */
	double comes_s; /* from one task to the next */
};

static const struct stream streams[] = {{"at once", 60000, 250, 60000, 2e9, 0},
                                        {"coming", 700000, 250, 140000, 14e9, 0.001},
                                        {"loading", 700000, 2000, 600000, 14e9, 0}};
static const struct stream *stream = streams;
static unsigned on_cores;

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	if (arch->devices[0].type == STARPU_CPU_WORKER)
		return stream->core_us;
	return task->priority ? stream->loading_us : stream->gpu_us;
}

static struct starpu_perfmodel model = {
    .type = STARPU_PER_ARCH,
    .symbol = "heddle_test_stated",
    .arch_cost_function = cost,
};

static struct starpu_codelet codelet = {
    .cpu_funcs = {never},
    .cuda_funcs = {never},
    .model = &model,
    .nbuffers = 1,
    .modes = {STARPU_W},
    .name = "stated",
};

static void has_ended(void *arg)
{
	on_cores += starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER;
}

static void test_stated(void **state)
{
	static unsigned char data[4096]; /* nobody reads it */
	starpu_data_handle_t handles[NTASKS];
	struct starpu_conf conf;
	double us;

	/* Not what the model knows. */
	setenv("HEDDLE_ESTIMATE", "online,neighbours", 1);
	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	us = -starpu_timing_now();
	for (int i = 0; i < NTASKS; i++) {
		starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)data,
		                            sizeof(data), 1);
		assert_int_equal(starpu_task_insert(&codelet, STARPU_W, handles[i], STARPU_FLOPS,
		                                    stream->flops, STARPU_PRIORITY, i == 0,
		                                    STARPU_CALLBACK, has_ended, 0),
		                 0);
		if (stream->comes_s > 0)
			starpu_sleep(stream->comes_s);
	}
	starpu_task_wait_for_all();
	us += starpu_timing_now();
	for (int i = 0; i < NTASKS; i++)
		starpu_data_unregister(handles[i]);
	starpu_shutdown();
	print_message("%s: %.1f ms; %u of %d tasks on cores\n", stream->name, us / 1000, on_cores,
	              NTASKS);
	assert_int_equal(on_cores, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_stated)};
	const struct stream *last = &streams[sizeof(streams) / sizeof(*streams) - 1];
	int failed;

	while (argc > 1 && stream < last && strcmp(argv[1], stream->name))
		stream++;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	return failed || stream == last ? simulated_over(failed) : simulated_again(stream[1].name);
}
