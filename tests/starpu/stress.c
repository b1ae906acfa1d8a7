/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Random tasks at random times, from the main thread and from callbacks: of any
 * priority, kind, set of workers and implementation, pinned or not, with data and
 * dependences. Now and then many in a row are of cores alone. Each must run exactly once, where it
 * may.
 *
 * HEDDLE_TEST_SEED=N runs that seed alone.
 */
#include "config.h"

#include <heddle/policy.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/starpu/policies.h"

#define NTASKS 3000
#define NCHILDREN 1000
#define NHANDLES 8
#define NSEEDS 5
#define ROW 200 /* tasks of cores, at the most */

static unsigned seed;
static struct record records[NTASKS + NCHILDREN];
static uint32_t allowed[NTASKS + NCHILDREN]; /* set of workers */
static atomic_uint children;
static starpu_data_handle_t handles[NHANDLES];
static int values[NHANDLES];

static int odd_only(unsigned worker, struct starpu_task *task, unsigned implementation)
{
	return allowed[(struct record *)task->cl_arg - records] >> worker & 1;
}

#define CODELET(...)                                                                               \
	{                                                                                          \
		.nbuffers = STARPU_VARIABLE_NBUFFERS, __VA_ARGS__                                  \
	}
static struct starpu_codelet codelets[] = {
    CODELET(.cpu_funcs = {record_first, record_second}, .opencl_funcs = {record_first}),
    CODELET(.cpu_funcs = {record_first}),
    CODELET(.cpu_funcs = {record_first}, .opencl_funcs = {record_first}, .can_execute = odd_only),
};
#define NCODELETS (sizeof(codelets) / sizeof(codelets[0]))

/* xorshift: each thread its own, so that a seed means the same tasks. */
static unsigned draw(uint64_t *state, unsigned n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (*state >> 20) % n;
}

static void body_random(struct record *record)
{
	for (volatile unsigned i = (unsigned)(record - records) * 2654435761u >> 20; i; i--)
		;
}

/* One of the workers that can run a codelet. */
static unsigned worker_for(uint64_t *random, unsigned codelet)
{
	unsigned worker;

	do
		worker = draw(random, starpu_worker_get_count());
	while (codelet == 1 && starpu_worker_get_type(worker) != STARPU_CPU_WORKER);
	return worker;
}

static void submit_child(void *arg);

/* @param cores any core may run it, and nobody else */
static struct starpu_task *task_draw(uint64_t *random, unsigned i, bool cores)
{
	unsigned codelet = cores ? 1 : draw(random, NCODELETS);
	unsigned worker = worker_for(random, codelet);
	struct starpu_task *task = task_make(&codelets[codelet], &records[i]);

	records[i].body = body_random;
	allowed[i] = ~0U;
	task->priority = draw(random, 3) ? 0 : (int)draw(random, 7) - 3;
	if (draw(random, 3) == 0) {
		task->nbuffers = 1;
		task->handles[0] = handles[draw(random, NHANDLES)];
		task->modes[0] = draw(random, 2) ? STARPU_R : STARPU_RW;
	}
	if (codelets[codelet].can_execute)
		allowed[i] = 1U << worker;
	switch (cores ? 2 : draw(random, 6)) {
	case 0:
		task->execute_on_a_specific_worker = 1;
		task->workerid = worker;
		allowed[i] = 1U << worker;
		break;
	case 1:
		allowed[i] = 1U << worker;
		task->workerids = &allowed[i];
		task->workerids_len = 1;
		break;
	}
	if (i < NTASKS && draw(random, cores ? 30 : 3) == 0)
		task->callback_func = submit_child;
	return task;
}

/* Runs on whatever worker has just done a task. */
static void submit_child(void *arg)
{
	unsigned i = atomic_fetch_add(&children, 1);
	uint64_t random = seed + 1000003ull * (i + 1);

	if (i < NCHILDREN)
		task_submit(task_draw(&random, NTASKS + i, false));
}

static void submit_all(void)
{
	uint64_t random = seed * 2654435761ull + 1;
	unsigned row = 0;

	for (unsigned i = 0; i < NTASKS; i++) {
		if (!row && draw(&random, ROW) == 0) {
			row = draw(&random, ROW);
			if (draw(&random, 2))
				starpu_task_wait_for_all();
		}
		task_submit(task_draw(&random, i, row > 0));
		row -= row > 0;
		/* Bursts, trickles, and lulls in which workers fall idle. */
		if (draw(&random, 100) == 0)
			usleep(draw(&random, 300));
		if (draw(&random, 500) == 0)
			starpu_task_wait_for_all();
	}
}

static void check_all(void)
{
	unsigned n = NTASKS + (children < NCHILDREN ? children : NCHILDREN);

	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(records[i].runs, 1);
		assert_true(allowed[i] >> records[i].worker & 1);
	}
}

static void test_stress(void **state)
{
	print_message("seed %u\n", seed);
	memset(records, 0, sizeof(records));
	children = 0;
	assert_int_equal(machine_begin(NULL), 0);
	for (unsigned h = 0; h < NHANDLES; h++)
		starpu_variable_data_register(&handles[h], STARPU_MAIN_RAM, (uintptr_t)&values[h],
		                              sizeof(int));
	submit_all();
	starpu_task_wait_for_all();
	for (unsigned h = 0; h < NHANDLES; h++)
		starpu_data_unregister(handles[h]);
	check_all();
	starpu_shutdown();
}

static int run(const char *title)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_stress)};
	const char *given = getenv("HEDDLE_TEST_SEED");
	int failures = 0;

	for (seed = 1; seed <= NSEEDS && !given; seed++)
		failures += cmocka_run_group_tests_name(title, tests, NULL, NULL);
	if (given) {
		seed = strtoul(given, NULL, 0);
		failures += cmocka_run_group_tests_name(title, tests, NULL, NULL);
	}
	return failures;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"hdss", "tss", "odds", "heddle", NULL};

	return settings_main(argc, argv, names, run);
}
