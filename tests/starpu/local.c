/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Short tasks of two alike accelerators under heddle: they wait in local queues, and others go
 * through the pool meanwhile. In turns come tasks that both accelerators can run, tasks for one of
 * them, tasks of cores, and tasks that all can run and that are not short, so that the queues are
 * closed. They come from the program's thread and from callbacks. Each must run exactly once,
 * where it may, and those that write a piece of data in the order of their submission. Before that
 * come short tasks until Heddle says that it has opened the queues.
 *
 * HEDDLE_TEST_SEED=N runs that seed alone.
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/starpu/policies.h"

#define ROUNDS 4
#define NTASKS 2500 /* of a round */
#define NCHILDREN 500
#define NHANDLES 12
#define NSEEDS 3
/* Short tasks that come at once, and how often at the most: other programs may hold them up. */
#define BATCH 500
#define BATCHES 200
#define ALL (ROUNDS * (NTASKS + NCHILDREN))

enum kind { SHORT, LONG, CORE, BOTH, NKINDS };

static unsigned seed;
static struct record records[ALL];
static enum kind kinds[ALL];
static int only[ALL];       /* worker; -1: any */
static unsigned chain[ALL]; /* handle that the task writes, and 1; 0: none */
static atomic_uint children;
static starpu_data_handle_t handles[NHANDLES];
static int values[NHANDLES];

#define CODELET(text, ...)                                                                         \
	{                                                                                          \
		.nbuffers = STARPU_VARIABLE_NBUFFERS, .name = text, __VA_ARGS__                    \
	}
static struct starpu_codelet codelets[NKINDS] = {
    [SHORT] = CODELET("short", .opencl_funcs = {record_first}),
    [LONG] = CODELET("long", .opencl_funcs = {record_first}),
    [CORE] = CODELET("core", .cpu_funcs = {record_first}),
    [BOTH] = CODELET("both", .cpu_funcs = {record_first}, .opencl_funcs = {record_first}),
};

static unsigned draw(unsigned n)
{
	return rand_r(&seed) % n;
}

static void body_long(struct record *record)
{
	double until_us = starpu_timing_now() + 300;

	while (starpu_timing_now() < until_us)
		;
}

static void child_submit(void *arg)
{
	unsigned i = (uintptr_t)arg;
	struct starpu_task *task = task_make(&codelets[SHORT], &records[i]);

	kinds[i] = SHORT;
	only[i] = -1;
	task->priority = i % 7;
	task_submit(task);
	atomic_fetch_add(&children, 1);
}

/* A worker that runs tasks of a kind. */
static int worker_draw(enum kind kind)
{
	int w;

	do
		w = draw(starpu_worker_get_count());
	while ((starpu_worker_get_type(w) == STARPU_CPU_WORKER) != (kind == CORE));
	return w;
}

/* Most are short: else the queues would not be open for long. */
static enum kind kind_draw(unsigned round)
{
	unsigned number = draw(1000);

	if (round % 2)
		return number < 900 ? SHORT : number < 950 ? CORE : BOTH;
	return number < 985 ? SHORT : number < 995 ? CORE : LONG;
}

static void task_new(unsigned i, unsigned child, unsigned round)
{
	enum kind kind = kind_draw(round);
	struct starpu_task *task = task_make(&codelets[kind], &records[i]);

	kinds[i] = kind;
	records[i].body = kind == LONG || kind == BOTH ? body_long : NULL;
	only[i] = draw(20) ? -1 : worker_draw(kind);
	task->priority = draw(5) - 2;
	if (only[i] >= 0) {
		task->execute_on_a_specific_worker = 1;
		task->workerid = only[i];
	}
	if (draw(3)) {
		chain[i] = 1 + draw(NHANDLES);
		task->nbuffers = 1;
		task->handles[0] = handles[chain[i] - 1];
		task->modes[0] = STARPU_RW;
	}
	if (child) {
		task->callback_func = child_submit;
		task->callback_arg = (void *)(uintptr_t)child;
	}
	task_submit(task);
}

static void round_submit(unsigned round)
{
	unsigned first = round * (NTASKS + NCHILDREN), child = first + NTASKS;

	for (unsigned i = first; i < first + NTASKS; i++) {
		bool parent = child < first + NTASKS + NCHILDREN && !draw(4);

		task_new(i, parent ? child : 0, round);
		child += parent;
		if (!draw(200))
			usleep(draw(300));
	}
	starpu_task_wait_for_all();
	/* Those that had no parent. */
	for (; child < first + NTASKS + NCHILDREN; child++)
		child_submit((void *)(uintptr_t)child);
	starpu_task_wait_for_all();
}

/* Whether Heddle has said something in a file. */
static bool has_said(FILE *said, const char *words)
{
	char line[512];
	bool found = false;

	fflush(stderr);
	rewind(said);
	while (!found && fgets(line, sizeof(line), said))
		found = strstr(line, words);
	fseek(said, 0, SEEK_END);
	return found;
}

static void batch_run(void)
{
	static struct record batch[BATCH];

	for (unsigned i = 0; i < BATCH; i++) {
		struct starpu_task *task = task_make(&codelets[SHORT], &batch[i]);

		task->priority = i % 3;
		task_submit(task);
	}
	starpu_task_wait_for_all();
}

static void queues_await(void)
{
	FILE *said = tmpfile();
	int saved = dup(STDERR_FILENO);
	unsigned n = 0;

	assert_true(said && saved >= 0 && dup2(fileno(said), STDERR_FILENO) >= 0);
	do
		batch_run();
	while (!has_said(said, "local queues") && ++n < BATCHES);
	dup2(saved, STDERR_FILENO);
	close(saved);
	fclose(said);
	assert_in_range(n, 0, BATCHES - 1);
}

static void check(void)
{
	unsigned last[NHANDLES] = {0};

	assert_int_equal(children, ROUNDS * NCHILDREN);
	for (unsigned i = 0; i < ALL; i++) {
		bool core = starpu_worker_get_type(records[i].worker) == STARPU_CPU_WORKER;

		assert_int_equal(records[i].runs, 1);
		assert_true(only[i] < 0 || only[i] == records[i].worker);
		assert_true(kinds[i] == BOTH || core == (kinds[i] == CORE));
		if (!chain[i])
			continue;
		assert_true(!last[chain[i] - 1] || records[i].order > last[chain[i] - 1]);
		last[chain[i] - 1] = records[i].order;
	}
}

static void test_local(void **state)
{
	print_message("seed %u\n", seed);
	memset(records, 0, sizeof(records));
	memset(chain, 0, sizeof(chain));
	children = records_started = 0;
	for (unsigned h = 0; h < NHANDLES; h++)
		starpu_variable_data_register(&handles[h], STARPU_MAIN_RAM, (uintptr_t)&values[h],
		                              sizeof(int));
	queues_await();
	for (unsigned round = 0; round < ROUNDS; round++)
		round_submit(round);
	check();
	for (unsigned h = 0; h < NHANDLES; h++)
		starpu_data_unregister(handles[h]);
}

static int run(const char *title)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_local, machine_begin, machine_end)};
	const char *given = getenv("HEDDLE_TEST_SEED");
	int failures = 0;

	for (unsigned s = 1; s <= NSEEDS; s++) {
		seed = given ? strtoul(given, NULL, 0) : s;
		failures += cmocka_run_group_tests_name(title, tests, NULL, NULL);
		if (given)
			break;
	}
	return failures;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"heddle", NULL};

	return settings_main(argc, argv, names, run);
}
