/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What loops, wavefronts and kernels share: the control task, tasks for given workers, the
 * way of results home, arrays, and who may take part.
 */
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>
#ifdef HEDDLE_USE_OPENCL
#include <starpu_opencl.h>
#endif

#include "partition/common/array_starpu.h"
#include "partition/common/control_starpu.h"
#include "partition/common/task_starpu.h"
#include "partition/common/workers_starpu.h"
#include "support/starpu_compat.h"
#include "tests/unit/test.h"

enum { N = 1000 };

static int x[N];
static starpu_pthread_mutex_t mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;

static int start(const char *policy)
{
	struct starpu_conf conf;

	starpu_conf_init(&conf);
	conf.sched_policy_name = policy;
	return starpu_init(&conf);
}

static starpu_data_handle_t vector(void)
{
	starpu_data_handle_t handle;

	starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)x, N, sizeof(*x));
	return handle;
}

/* A name that does not outlive the task's submission. */
static int submit_named(struct starpu_task *task, const char *text)
{
	char *name = strdup(text);
	int status = work_task_submit(task, name);

	memset(name, '?', strlen(text));
	free(name);
	return status;
}

/* ---- on workers ---- */

static void add(int *values, int by)
{
	for (int i = 0; i < N; i++)
		values[i] += by;
}

static void add_cpu(void *buffers[], void *arg)
{
	add((int *)STARPU_VECTOR_GET_PTR(buffers[0]), *(int *)arg);
}

#ifdef HEDDLE_USE_OPENCL
/* By way of the host, for a kernel would show nothing more. */
static void add_opencl(void *buffers[], void *arg)
{
	cl_mem buffer = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[0]);
	static int values[N];
	cl_command_queue queue;

	starpu_opencl_get_queue(starpu_worker_get_devid(starpu_worker_get_id_check()), &queue);
	assert_int_equal(
	    clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL),
	    0);
	add(values, *(int *)arg);
	assert_int_equal(
	    clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL),
	    0);
}
#endif

static struct starpu_codelet adding = {
    .cpu_funcs = {add_cpu},
#ifdef HEDDLE_USE_OPENCL
    .opencl_funcs = {add_opencl},
#endif
    .nbuffers = 1,
    .modes = {STARPU_RW},
    .name = "adding",
};

static void add_submit(starpu_data_handle_t handle, int *by)
{
	struct starpu_task *task = starpu_task_create();

	task->cl = &adding;
	task->handles[0] = handle;
	task->cl_arg = by;
	assert_int_equal(starpu_task_submit(task), 0);
}

static void assert_all(int value)
{
	for (int i = 0; i < N; i++)
		assert_int_equal(x[i], value);
}

/* ---- one node of the task graph ---- */

struct work {
	struct control control;
	unsigned left; /* tasks */
	int seen;      /* of the data when the work began */
	bool *freed;
};

static void work_free(void *arg)
{
	struct work *work = arg;

	control_fini(&work->control);
	if (work->freed)
		*work->freed = true;
	free(work);
}

static void piece_function(void *buffers[], void *arg)
{
	starpu_usleep(1000);
	x[0]++; /* the control task holds the data; pieces come one after the other */
}

static struct starpu_codelet piece = {.cpu_funcs = {piece_function}, .name = "piece"};

static void piece_submit(struct work *work);

static void piece_ended(void *arg)
{
	struct work *work = arg;

	if (--work->left)
		piece_submit(work);
	else
		control_end(&work->control);
}

static void piece_submit(struct work *work)
{
	struct starpu_task *task = starpu_task_create();

	task->cl = &piece;
	task->callback_func = piece_ended;
	task->callback_arg = work;
	assert_int_equal(submit_named(task, "a piece"), 0);
}

static void work_start(void *arg)
{
	struct work *work = arg;

	work->seen = x[0];
	if (work->left)
		piece_submit(work);
	else
		control_end(&work->control);
}

static struct work *work_submit(starpu_data_handle_t handle, unsigned pieces, bool here,
                                bool *freed)
{
	struct work *work = calloc(1, sizeof(*work));

	control_init(&work->control, work_start, work_free, work);
	if (here)
		control_may_here(&work->control, false);
	control_data(&work->control, handle, STARPU_RW);
	work->left = pieces;
	work->freed = freed;
	assert_int_equal(control_submit(&work->control, "work", "of a test", 0, freed), 0);
	return work;
}

static void node_check(bool here)
{
	starpu_data_handle_t handle = vector();
	int one = 1, hundred = 100;
	struct work *work;

	for (unsigned pieces = 0; pieces < 20; pieces++) {
		starpu_data_acquire(handle, STARPU_W);
		memset(x, 0, sizeof(x));
		starpu_data_release(handle);
		add_submit(handle, &one);
		work = work_submit(handle, pieces, here, NULL);
		add_submit(handle, &hundred);
		control_wait(&work->control);
		assert_int_equal(work->seen, 1);
		assert_int_equal(work->left, 0);
		work_free(work);
		starpu_task_wait_for_all();
		starpu_data_acquire(handle, STARPU_R);
		assert_int_equal(x[0], 101 + pieces);
		starpu_data_release(handle);
	}
	starpu_data_unregister(handle);
	x[0] = x[1];
	assert_all(101);
}

static void test_node_stands_between_earlier_and_later_tasks(void **state)
{
	node_check(false);
	node_check(true);
}

/* Where nothing comes before it, the thread that submits starts the work; else a worker. */
static void test_work_starts_here(void **state)
{
	starpu_data_handle_t handle = vector();
	struct work *work;

	memset(x, 0, sizeof(x));
	for (unsigned pieces = 0; pieces < 5; pieces++) {
		work = work_submit(handle, pieces, true, NULL);
		assert_true(work->control.here);
		control_wait(&work->control);
		assert_int_equal(work->left, 0);
		work_free(work);
	}
	assert_int_equal(x[0], 0 + 1 + 2 + 3 + 4);
	starpu_data_acquire(handle, STARPU_RW);
	work = work_submit(handle, 1, true, NULL);
	starpu_usleep(10000);
	x[0] = 50;
	assert_false(work->control.here);
	starpu_data_release(handle);
	control_wait(&work->control);
	assert_false(work->control.here);
	assert_int_equal(work->seen, 50);
	assert_int_equal(x[0], 51);
	work_free(work);
	starpu_data_unregister(handle);
}

/* Work without data that only its submitter waits for. */
static void test_work_that_is_no_node(void **state)
{
	for (unsigned pieces = 0; pieces < 5; pieces++) {
		struct work *work = calloc(1, sizeof(*work));
		bool freed = false;

		control_init(&work->control, work_start, work_free, work);
		control_may_here(&work->control, true);
		work->left = pieces;
		work->freed = &freed;
		x[0] = 7;
		assert_int_equal(control_submit(&work->control, "work", "of a test", 0, false), 0);
		assert_true(work->control.here && !work->control.task);
		control_wait(&work->control);
		assert_int_equal(work->seen, 7);
		assert_int_equal(x[0], 7 + pieces);
		work_free(work);
		assert_true(freed);
	}
}

static void test_detached_work_is_freed(void **state)
{
	starpu_data_handle_t handle = vector();

	for (unsigned pieces = 0; pieces < 40; pieces++) {
		bool freed = false;

		work_submit(handle, pieces / 2, pieces % 2, &freed);
		starpu_task_wait_for_all();
		assert_true(freed);
	}
	starpu_data_unregister(handle);
}

static struct {
	void (*pre)(struct starpu_task *task, unsigned ctx);
	void (*post)(struct starpu_task *task, unsigned ctx);
	atomic_int begun[STARPU_NMAXWORKERS]; /* tasks that have not ended */
} hooks;

static void count_pre(struct starpu_task *task, unsigned ctx)
{
	atomic_fetch_add(&hooks.begun[starpu_worker_get_id_check()], 1);
	hooks.pre(task, ctx);
}

static void count_post(struct starpu_task *task, unsigned ctx)
{
	atomic_fetch_sub(&hooks.begun[starpu_worker_get_id_check()], 1);
	hooks.post(task, ctx);
}

static void elsewhere_ended(void *arg)
{
	control_end(arg);
}

/* Ends the work on another worker. */
static void elsewhere_start(void *arg)
{
	struct work *work = arg;
	struct starpu_task *task = starpu_task_create();
	int first = starpu_worker_get_by_type(STARPU_CPU_WORKER, 0);

	task->cl = &piece;
	task->callback_func = elsewhere_ended;
	task->callback_arg = &work->control;
	work_task_pin(
	    task, starpu_worker_get_by_type(STARPU_CPU_WORKER, starpu_worker_get_id() == first), 0);
	assert_int_equal(submit_named(task, "elsewhere"), 0);
}

/* dmda and its like count tasks by worker: what begins on one must not end on another. */
static void test_policies_that_count(void **state)
{
	starpu_data_handle_t handle;
	struct starpu_sched_policy *policy;

	if (starpu_cpu_worker_get_count() < 2)
		skip();
	starpu_shutdown();
	assert_int_equal(start("dmda"), 0);
	policy = starpu_sched_ctx_get_sched_policy(0);
	hooks.pre = policy->pre_exec_hook;
	hooks.post = policy->post_exec_hook;
	policy->pre_exec_hook = count_pre;
	policy->post_exec_hook = count_post;
	handle = vector();
	for (int i = 0; i < 10; i++) {
		struct work *work = calloc(1, sizeof(*work));

		control_init(&work->control, elsewhere_start, work_free, work);
		control_data(&work->control, handle, STARPU_RW);
		assert_int_equal(control_submit(&work->control, "work", "of a test", 0, false), 0);
		control_wait(&work->control);
		work_free(work);
	}
	starpu_data_unregister(handle);
	starpu_task_wait_for_all();
	for (unsigned w = 0; w < starpu_worker_get_count(); w++)
		assert_int_equal(hooks.begun[w], 0);
	policy->pre_exec_hook = hooks.pre;
	policy->post_exec_hook = hooks.post;
	starpu_shutdown();
	assert_int_equal(start("gss"), 0);
}

static void test_work_that_is_not_submitted(void **state)
{
	bool freed = false;
	struct work *work = calloc(1, sizeof(*work));

	control_init(&work->control, work_start, work_free, work);
	work->freed = &freed;
	work_free(work);
	assert_true(freed);
}

/* ---- tasks for given workers ---- */

enum { TASKS = 200 };

struct ran {
	int worker, implementation;
	bool named;
};

static void note(void *arg, int implementation)
{
	struct ran *ran = arg;

	ran->worker = starpu_worker_get_id_check();
	ran->implementation = implementation;
}

static void note_first(void *buffers[], void *arg)
{
	note(arg, 0);
}

static void note_second(void *buffers[], void *arg)
{
	note(arg, 1);
}

static struct starpu_codelet noting = {
    .cpu_funcs = {note_first, note_second},
    .opencl_funcs = {note_first, note_second},
    .name = "noting",
};

/* By then the name that was given is gone. */
static void name_check(void *arg)
{
	struct ran *ran = arg;

	ran->named = !strcmp(starpu_task_get_current()->name, "of a test");
}

static struct starpu_task *note_task(struct ran *ran)
{
	struct starpu_task *task = starpu_task_create();

	*ran = (struct ran){-1, -1, false};
	task->cl = &noting;
	task->cl_arg = ran;
	task->callback_func = name_check;
	task->callback_arg = ran;
	return task;
}

static void test_pinned_tasks_run_there(void **state)
{
	unsigned nworkers = starpu_worker_get_count();
	struct ran ran[TASKS];

	for (int t = 0; t < TASKS; t++) {
		struct starpu_task *task = note_task(&ran[t]);

		work_task_pin(task, t % nworkers, t / nworkers % 2);
		assert_int_equal(submit_named(task, "of a test"), 0);
	}
	starpu_task_wait_for_all();
	for (int t = 0; t < TASKS; t++) {
		assert_int_equal(ran[t].worker, t % nworkers);
		assert_int_equal(ran[t].implementation, t / nworkers % 2);
		assert_true(ran[t].named);
	}
}

static void test_tasks_run_where_they_may(void **state)
{
	unsigned nworkers = starpu_worker_get_count();
	struct ran ran[TASKS];

	for (unsigned left_out = 0; nworkers > 1 && left_out < nworkers; left_out++) {
		struct work_ids workers = {{0}};

		for (unsigned w = 0; w < nworkers; w++)
			if (w != left_out)
				work_ids_add(&workers, w);
		for (int t = 0; t < TASKS; t++) {
			struct starpu_task *task = note_task(&ran[t]);

			work_task_choose(task, &workers);
			assert_int_equal(submit_named(task, "of a test"), 0);
		}
		starpu_task_wait_for_all();
		for (int t = 0; t < TASKS; t++) {
			assert_in_range(ran[t].worker, 0, nworkers - 1);
			assert_int_not_equal(ran[t].worker, left_out);
		}
	}
}

static void test_refused_task(void **state)
{
	static struct starpu_codelet nowhere = {.where = STARPU_CUDA, .cuda_funcs = {note_first}};
	struct ran ran;
	struct starpu_task *task = note_task(&ran);

	if (starpu_cuda_worker_get_count())
		skip();
	task->cl = &nowhere;
	assert_int_equal(submit_named(task, "of a test"), -ENODEV);
	starpu_task_wait_for_all();
	assert_int_equal(ran.worker, -1);
	assert_false(ran.named);
}

/* ---- write-back ---- */

struct result {
	starpu_data_handle_t handle;
	starpu_pthread_cond_t cond;
	bool written;
	int wrong; /* elements of the array when it had been written back */
};

static void written(void *arg, int status)
{
	struct result *result = arg;

	assert_int_equal(status, 0);
	starpu_pthread_mutex_lock(&mutex);
	for (int i = 0; i < N; i++)
		result->wrong += x[i] != i + 5;
	result->written = true;
	starpu_pthread_cond_signal(&result->cond);
	starpu_pthread_mutex_unlock(&mutex);
}

static void write_back(void *arg)
{
	struct result *result = arg;

	work_write_back(result->handle, written, result);
}

static void test_results_are_written_back(void **state)
{
	int five = 5;

	for (unsigned worker = 0; worker < starpu_worker_get_count(); worker++) {
		struct result result = {.handle = vector()};
		struct starpu_task *task = starpu_task_create();

		starpu_pthread_cond_init(&result.cond, NULL);
		for (int i = 0; i < N; i++)
			x[i] = i;
		task->cl = &adding;
		task->cl_arg = &five;
		task->handles[0] = result.handle;
		task->callback_func = write_back;
		task->callback_arg = &result;
		work_task_pin(task, worker, 0);
		assert_int_equal(submit_named(task, "away"), 0);
		starpu_pthread_mutex_lock(&mutex);
		while (!result.written)
			starpu_pthread_cond_wait(&result.cond, &mutex);
		starpu_pthread_mutex_unlock(&mutex);
		assert_int_equal(result.wrong, 0);
		starpu_task_wait_for_all();
		starpu_pthread_cond_destroy(&result.cond);
	}
}

/* ---- arrays ---- */

static const struct work_array_name name = {"work", "of a test", 1};

static void test_arrays_as_they_lie(void **state)
{
	starpu_data_handle_t handle = vector(), rows;
	union work_array_interface interface;
	struct work_array array;

	assert_int_equal(work_array_init(&array, handle, STARPU_R, &name), 0);
	assert_int_equal(work_array_bytes(&array), sizeof(x));
	assert_int_equal(work_array_unit(&array), sizeof(*x));
	assert_int_equal(work_array_at(&array, 7), (uintptr_t)&x[7]);
	work_array_interface(&array, work_array_at(&array, 7), 5, &interface);
	assert_int_equal(STARPU_VECTOR_GET_PTR(&interface), (uintptr_t)&x[7]);
	assert_int_equal(STARPU_VECTOR_GET_NX(&interface), 5);
	starpu_data_unregister(handle);
	/* 50 rows of 15, 20 apart */
	starpu_matrix_data_register(&rows, STARPU_MAIN_RAM, (uintptr_t)x, 20, 15, 50, sizeof(*x));
	assert_int_equal(work_array_init(&array, rows, STARPU_RW, &name), 0);
	assert_int_equal(work_array_bytes(&array), sizeof(x) - 5 * sizeof(*x));
	assert_int_equal(work_array_unit(&array), 15 * sizeof(*x));
	assert_int_equal(work_array_at(&array, 7), (uintptr_t)&x[140]);
	work_array_interface(&array, work_array_at(&array, 7), 5, &interface);
	assert_int_equal(STARPU_MATRIX_GET_PTR(&interface), (uintptr_t)&x[140]);
	assert_int_equal(STARPU_MATRIX_GET_NX(&interface), 15);
	assert_int_equal(STARPU_MATRIX_GET_NY(&interface), 5);
	assert_int_equal(STARPU_MATRIX_GET_LD(&interface), 20);
	starpu_data_unregister(rows);
}

static void test_handles_that_are_no_arrays(void **state)
{
	struct starpu_data_filter halves = {.filter_func = starpu_vector_filter_block,
	                                    .nchildren = 2};
	starpu_data_handle_t handle = vector(), variable, nowhere;
	struct work_array array;

	starpu_variable_data_register(&variable, STARPU_MAIN_RAM, (uintptr_t)x, sizeof(*x));
	starpu_vector_data_register(&nowhere, -1, 0, N, sizeof(*x));
	assert_int_equal(work_array_init(&array, NULL, STARPU_R, &name), -EINVAL);
	assert_int_equal(work_array_init(&array, variable, STARPU_R, &name), -EINVAL);
	assert_int_equal(work_array_init(&array, nowhere, STARPU_R, &name), -EINVAL);
	assert_int_equal(work_array_init(&array, handle, STARPU_SCRATCH, &name), -EINVAL);
	starpu_data_partition(handle, &halves);
	assert_int_equal(work_array_init(&array, handle, STARPU_R, &name), -EINVAL);
	starpu_data_unpartition(handle, STARPU_MAIN_RAM);
	starpu_data_unregister(handle);
	starpu_data_unregister(variable);
	starpu_data_unregister(nowhere);
}

static void test_arrays_that_overlap(void **state)
{
	struct work_array all, end, begin;
	starpu_data_handle_t handles[3];

	handles[0] = vector();
	starpu_vector_data_register(&handles[1], STARPU_MAIN_RAM, (uintptr_t)&x[N / 2], N / 2,
	                            sizeof(*x));
	starpu_vector_data_register(&handles[2], STARPU_MAIN_RAM, (uintptr_t)x, N / 2, sizeof(*x));
	assert_int_equal(work_array_init(&all, handles[0], STARPU_R, &name), 0);
	assert_int_equal(work_array_init(&end, handles[1], STARPU_R, &name), 0);
	assert_int_equal(work_array_init(&begin, handles[2], STARPU_W, &name), 0);
	assert_int_equal(work_array_check_overlap(&all, &all, &name, 0), -EINVAL);
	assert_int_equal(work_array_check_overlap(&all, &end, &name, 0), 0);
	assert_int_equal(work_array_check_overlap(&begin, &end, &name, 0), 0);
	assert_int_equal(work_array_check_overlap(&end, &begin, &name, 0), 0);
	assert_int_equal(work_array_check_overlap(&all, &begin, &name, 0), -EINVAL);
	assert_int_equal(work_array_check_overlap(&begin, &all, &name, 0), -EINVAL);
	for (int h = 0; h < 3; h++)
		starpu_data_unregister(handles[h]);
}

/* Matrices within one of eight columns, written and read: they overlap where they have an
 * element in common, and only there. Their memory ends with their last element. */
static void test_matrices_that_overlap(void **state)
{
	enum { LD = 8 };
	struct work_array a = {.mode = STARPU_W,
	                       .shape = STARPU_MATRIX_INTERFACE_ID,
	                       .ld = LD,
	                       .base = 4096,
	                       .elemsize = 4,
	                       .handle = (starpu_data_handle_t)&a};
	struct work_array b = a;

	a.units = 3;
	a.nx = 3;
	assert_int_equal(work_array_bytes(&a), (2 * LD + 3) * 4);
	b.mode = STARPU_R;
	b.handle = (starpu_data_handle_t)&b;
	b.units = 2;
	for (b.nx = 1; b.nx <= LD; b.nx++)
		for (int at = -4 * LD; at < 5 * LD; at++) {
			bool common = false;

			for (size_t i = 0; i < b.units * b.nx; i++) {
				int e = at + (int)(i / b.nx * LD + i % b.nx);

				common |= e >= 0 && e < 3 * LD && e % LD < 3;
			}
			b.base = a.base + at * 4;
			if (work_array_check_overlap(&a, &b, &name, 0) != (common ? -EINVAL : 0) ||
			    work_array_check_overlap(&b, &a, &name, 0) != (common ? -EINVAL : 0))
				fail_msg("%zu columns, %d elements apart", b.nx, at);
		}
}

/* ---- who may take part ---- */

static int second_only(unsigned worker, struct starpu_task *task, unsigned implementation)
{
	return implementation == 1;
}

static int never(unsigned worker, struct starpu_task *task, unsigned implementation)
{
	return 0;
}

static void test_what_a_codelet_has_for_a_worker(void **state)
{
	struct starpu_codelet codelet = {.cpu_funcs = {note_first, note_second}};
	struct starpu_task task;
	int worker = starpu_worker_get_by_type(STARPU_CPU_WORKER, 0);

	starpu_task_init(&task);
	task.cl = &codelet;
	assert_ptr_equal(work_codelet_function(&codelet, STARPU_CPU_WORKER, 1), note_second);
	assert_null(work_codelet_function(&codelet, STARPU_CPU_WORKER, 2));
	assert_null(work_codelet_function(&codelet, STARPU_CUDA_WORKER, 0));
	for (int type = 0; type < STARPU_NARCH; type++)
		if (heddle_compat_is_hip(type)) {
			assert_null(work_codelet_function(&codelet, type, 0));
			heddle_compat_hip_funcs(&codelet)[1] = note_first;
			assert_ptr_equal(work_codelet_function(&codelet, type, 1), note_first);
			heddle_compat_hip_funcs(&codelet)[1] = NULL;
		}
	assert_int_equal(work_codelet_serves(&codelet, worker, &task), 0);
	codelet.where = STARPU_OPENCL;
	assert_int_equal(work_codelet_serves(&codelet, worker, &task), -1);
	codelet.where = STARPU_CPU | STARPU_OPENCL;
	codelet.can_execute = second_only;
	assert_int_equal(work_codelet_serves(&codelet, worker, &task), 1);
	codelet.can_execute = never;
	assert_int_equal(work_codelet_serves(&codelet, worker, &task), -1);
	assert_int_equal(work_codelet_serves(&codelet, worker, NULL), 0);
	starpu_task_clean(&task);
}

static void test_workers_asked_for(void **state)
{
	int last = starpu_worker_get_count() - 1;

	assert_true(work_worker_wanted(last, NULL, 0, 0));
	assert_true(work_worker_wanted(last, &last, 1, 0));
	assert_false(work_worker_wanted(0, &last, 0, 0));
	assert_false(work_worker_wanted(last + 1, NULL, 0, 0));
	assert_int_equal(work_worker_stats(last).id, last);
	assert_true(*work_worker_stats(last).name);
}

static void test_strategy(void **state)
{
	const struct heddle_policy *gss = heddle_policy_find("gss");

	assert_true(work_policy_is(0, "gss"));
	assert_false(work_policy_is(0, "eager"));
	assert_string_equal(work_policy_ours(0)->name, gss->name);
	assert_string_equal(work_strategy("tss", 0), "tss");
	assert_string_equal(work_strategy(NULL, 0), gss->strategy);
	setenv("HEDDLE_STRATEGY", "fss", 1);
	assert_string_equal(work_strategy("tss", 0), "tss");
	assert_string_equal(work_strategy(NULL, 0), "fss");
	unsetenv("HEDDLE_STRATEGY");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_node_stands_between_earlier_and_later_tasks),
	    cmocka_unit_test(test_work_starts_here),
	    cmocka_unit_test(test_work_that_is_no_node),
	    cmocka_unit_test(test_detached_work_is_freed),
	    cmocka_unit_test(test_policies_that_count),
	    cmocka_unit_test(test_work_that_is_not_submitted),
	    cmocka_unit_test(test_pinned_tasks_run_there),
	    cmocka_unit_test(test_tasks_run_where_they_may),
	    cmocka_unit_test(test_refused_task),
	    cmocka_unit_test(test_results_are_written_back),
	    cmocka_unit_test(test_arrays_as_they_lie),
	    cmocka_unit_test(test_handles_that_are_no_arrays),
	    cmocka_unit_test(test_arrays_that_overlap),
	    cmocka_unit_test(test_matrices_that_overlap),
	    cmocka_unit_test(test_what_a_codelet_has_for_a_worker),
	    cmocka_unit_test(test_workers_asked_for),
	    cmocka_unit_test(test_strategy),
	};
	int failed;

	unsetenv("STARPU_SCHED"); /* it would win over the configuration */
	unsetenv("HEDDLE_STRATEGY");
	if (start("gss"))
		return 77;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	starpu_shutdown();
	return failed;
}
