/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A test that simulates one machine: SIMULATED("4cpu+gpu8") at file scope makes
 * it. SimGrid reads the machine before main() begins, hence a constructor. main() ends by
 * "return simulated_over(failed);".
 */
#ifndef HEDDLE_TEST_SIMULATED_H
#define HEDDLE_TEST_SIMULATED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <starpu.h>

#include "estimator/platform.h"
#include "tests/unit/test.h"
#include "tools/common/simulation.h"

/* A kernel: none runs under SimGrid. */
static inline void never(void *buffers[], void *arg)
{
	(void)buffers;
	(void)arg;
	abort();
}

/** How long the tasks take under heddle that submit() makes of n vectors of eight bytes. */
static inline double simulated_us(size_t n, void (*submit)(starpu_data_handle_t *handles))
{
	static double data; /* nobody reads it */
	starpu_data_handle_t *handles = calloc(n, sizeof(starpu_data_handle_t));
	struct starpu_conf conf;
	double us;

	assert_non_null(handles);
	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	for (size_t i = 0; i < n; i++)
		starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&data, 1,
		                            sizeof(data));
	us = -starpu_timing_now();
	submit(handles);
	starpu_task_wait_for_all();
	us += starpu_timing_now();
	for (size_t i = 0; i < n; i++)
		starpu_data_unregister(handles[i]);
	starpu_shutdown();
	free(handles);
	return us;
}

static char simulated_directory[] = "/tmp/heddle-simulated-XXXXXX";

static void simulated_begin(const char *spec)
{
	/* No cost of StarPU's own: what is left can be computed by hand. */
	static const char *const knobs[] = {
	    "TRANSFER_COST",  "CUDA_MALLOC_COST",    "CUDA_QUEUE_COST", "TASK_SUBMIT_COST",
	    "TASK_PUSH_COST", "FETCHING_INPUT_COST", "SCHED_COST"};
	static const char *const unset[] = {"STARPU_NCPU", "STARPU_NCUDA", "STARPU_NOPENCL"};
	struct heddle_platform platform;
	char name[64];

	if (heddle_platform_parse(spec, &platform) || !mkdtemp(simulated_directory) ||
	    simulation_platform_write(&platform, simulated_directory, "simulated"))
		exit(99);
	setenv("STARPU_PERF_MODEL_DIR", simulated_directory, 1);
	setenv("STARPU_HOSTNAME", "simulated", 1);
	setenv("HEDDLE_PLATFORM", spec, 1);
	for (size_t k = 0; k < sizeof(unset) / sizeof(*unset); k++)
		unsetenv(unset[k]);
	for (size_t k = 1; k < sizeof(knobs) / sizeof(*knobs); k++) {
		snprintf(name, sizeof(name), "STARPU_SIMGRID_%s", knobs[k]);
		setenv(name, "0", 1);
	}
}

static void simulated_end(void)
{
	static const char *const files[] = {"bus/simulated.bandwidth",
	                                    "bus/simulated.config",
	                                    "bus/simulated.latency",
	                                    "bus/simulated.platform.v4.xml",
	                                    "bus",
	                                    "codelets/45",
	                                    "codelets",
	                                    "debug",
	                                    ""};

	if (chdir(simulated_directory))
		return;
	for (size_t f = 0; f < sizeof(files) / sizeof(*files); f++)
		remove(files[f]);
	remove(simulated_directory);
}

static bool simulated_is_over;

static int simulated_over(int failed)
{
	simulated_is_over = true;
	return failed;
}

/* The test once more, with an argument: a machine begins once in a process.
 * @return only if that fails */
static inline int simulated_again(const char *argument)
{
	simulated_end();
	fflush(NULL);
	execl("/proc/self/exe", "test", argument, NULL);
	return simulated_over(1);
}

/* Where all threads wait for each other SimGrid ends the program, with status 0. */
static void simulated_check(int status, void *nothing)
{
	if (status || simulated_is_over)
		return;
	fputs("the simulation ended before the test\n", stderr);
	simulated_end();
	fflush(NULL);
	_exit(1);
}

#define SIMULATED(spec)                                                                            \
	static void __attribute__((constructor)) simulated_constructor(void)                       \
	{                                                                                          \
		simulated_begin(spec);                                                             \
		on_exit(simulated_check, NULL);                                                    \
	}                                                                                          \
	static void __attribute__((destructor)) simulated_destructor(void)                         \
	{                                                                                          \
		simulated_end();                                                                   \
	}

/* A codelet for a handle that is written, and whose times a function of StarPU's per-architecture
 * models tells. */
#define SIMULATED_CODELET(NAME, COST)                                                              \
	static struct starpu_perfmodel NAME##_model = {                                            \
	    .type = STARPU_PER_ARCH, .symbol = "heddle_test_" #NAME, .arch_cost_function = COST};  \
	static struct starpu_codelet NAME = {.cpu_funcs = {never},                                 \
	                                     .cuda_funcs = {never},                                \
	                                     .model = &NAME##_model,                               \
	                                     .nbuffers = 1,                                        \
	                                     .modes = {STARPU_RW},                                 \
	                                     .name = #NAME}

#endif
