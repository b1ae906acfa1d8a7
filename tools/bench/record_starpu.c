/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What `heddle bench --program` preloads: measures the tasks of a program that knows nothing of
 * Heddle, under any policy. It puts its own functions around two hooks of the policy that the
 * program runs under: for submitted tasks and for tasks that have ended. Processes without StarPU
 * inherit it: so all of StarPU's functions are weak.
 */
#define _GNU_SOURCE
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <search.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>
#include <starpu_scheduler.h>

#include "support/starpu_compat.h"
#include "tools/bench/orders.h"
#include "tools/bench/record.h"

#pragma weak starpu_conf_init
#pragma weak starpu_data_get_sequential_consistency_flag
#pragma weak starpu_get_version
#pragma weak starpu_sched_ctx_get_sched_policy
#pragma weak starpu_task_expected_length
#pragma weak starpu_task_footprint
#pragma weak starpu_task_worker_expected_length
#pragma weak starpu_timing_now
#pragma weak starpu_worker_can_execute_task
#pragma weak starpu_worker_get_count
#pragma weak starpu_worker_get_perf_archtype
#pragma weak starpu_worker_get_type

#define EXPORT __attribute__((visibility("default")))

EXPORT int starpu_init(struct starpu_conf *conf);
EXPORT int starpu_initialize(struct starpu_conf *conf, int *argc, char ***argv);
EXPORT void starpu_shutdown(void);
EXPORT void starpu_data_unregister_submit(starpu_data_handle_t handle);

/* Workers whose tasks take equally long. */
struct class
{
	int worker; /* one of them */
	unsigned count;
};

/* Tasks of one codelet and size. */
struct type {
	const struct starpu_codelet *cl;
	uint32_t footprint;
	uint64_t count;
	double least_us; /* on the fastest class; 0: unknown */
	double us[];     /* on each class; 0: unknown; below 0: none of its workers can run it */
};

/* How long the paths are that end in the data's last writer, and in those who read it since. */
struct data {
	starpu_data_handle_t handle;
	double written_us, read_us;
};

static struct {
	const char *file; /* NULL: nothing is recorded */
	bool graph, orders;
	char version[32];
	struct class classes[STARPU_NMAXWORKERS];
	unsigned nclasses, workers[STARPU_NARCH];
	void (*submit)(struct starpu_task *task); /* the policy's own hooks */
	void (*ended)(struct starpu_task *task, unsigned context);
	_Atomic double first_us, last_us; /* first_us 0: no task yet */
	double total_us;                  /* of earlier initialisations */

	pthread_mutex_t mutex; /* for what follows; held without calls to StarPU */
	uint64_t tasks;
	double flops;
	bool flops_unknown, path_unknown;
	double path_us;
	void *types, *data; /* of tsearch() */
	FILE *stream;       /* while the types are written */
} record = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* ---- the graph ---- */

static int types_compare(const void *a, const void *b)
{
	const struct type *x = a, *y = b;

	if (x->cl != y->cl)
		return x->cl < y->cl ? -1 : 1;
	return (x->footprint > y->footprint) - (x->footprint < y->footprint);
}

static int data_compare(const void *a, const void *b)
{
	const struct data *x = a, *y = b;

	return (x->handle > y->handle) - (x->handle < y->handle);
}

static double expected_us(struct starpu_task *task, int worker)
{
	double least = -1;

	for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++) {
		double us;

		if (!starpu_worker_can_execute_task(worker, task, i))
			continue;
		us = heddle_compat_expected_length(task, worker, 0, i);
		if (!isnan(us) && us > 0 && (least <= 0 || us < least))
			least = us;
		else if (least < 0)
			least = 0;
	}
#ifdef HEDDLE_USE_SIMGRID
	/* A task without a known time ends the simulation. */
	return least == 0 ? -1 : least;
#else
	return least;
#endif
}

/* A type that is not in the tree yet; NULL: no memory. */
static struct type *type_make(struct starpu_task *task, const struct type *key)
{
	struct type *type = malloc(sizeof(*type) + record.nclasses * sizeof(*type->us));

	if (!type)
		return NULL;
	*type = *key;
	for (unsigned c = 0; c < record.nclasses; c++) {
		type->us[c] = expected_us(task, record.classes[c].worker);
		if (type->us[c] > 0 && (type->least_us <= 0 || type->us[c] < type->least_us))
			type->least_us = type->us[c];
	}
	for (unsigned c = 0; c < record.nclasses; c++)
		if (type->us[c] == 0)
			type->least_us = 0;
	return type;
}

static struct type *type_find(const struct type *key)
{
	struct type **found;

	pthread_mutex_lock(&record.mutex);
	found = tfind(key, &record.types, types_compare);
	pthread_mutex_unlock(&record.mutex);
	return found ? *found : NULL;
}

static struct type *type_get(struct starpu_task *task)
{
	struct type key = {.cl = task->cl}, *type, **found;

	key.footprint = starpu_task_footprint(
	    task->cl->model, task, starpu_worker_get_perf_archtype(record.classes[0].worker, 0), 0);
	type = type_find(&key);
	if (type)
		return type;
	type = type_make(task, &key);
	if (!type)
		return NULL;
	pthread_mutex_lock(&record.mutex);
	found = tsearch(type, &record.types, types_compare);
	pthread_mutex_unlock(&record.mutex);
	if (!found || *found != type)
		free(type);
	return found ? *found : NULL;
}

static struct data *data_get(starpu_data_handle_t handle)
{
	struct data key = {.handle = handle}, **found, *data;

	found = tfind(&key, &record.data, data_compare);
	if (found)
		return *found;
	data = malloc(sizeof(*data));
	if (!data)
		return NULL;
	*data = key;
	if (tsearch(data, &record.data, data_compare))
		return data;
	free(data);
	return NULL;
}

/* The data of a task's buffer where StarPU orders accesses to it; else NULL. */
static struct data *buffer_data(struct starpu_task *task, unsigned buffer)
{
	starpu_data_handle_t handle = STARPU_TASK_GET_HANDLE(task, buffer);

	if (!handle || STARPU_TASK_GET_MODE(task, buffer) & STARPU_SCRATCH ||
	    (task->handles_sequential_consistency && !task->handles_sequential_consistency[buffer]))
		return NULL;
	return data_get(handle);
}

/* Whether others wait for a task that accesses data so. Those that commute do not wait for each
 * other: as readers they make the path no longer than it is. */
static bool writes(enum starpu_data_access_mode mode)
{
	return mode & STARPU_W && !(mode & STARPU_COMMUTE);
}

/* Dependences that the program states itself are not known here. So the longest path may be
 * longer than this one. */
static void path_extend(struct starpu_task *task, double us)
{
	double begin_us = 0, end_us;

	if (!task->sequential_consistency)
		return;
	for (unsigned b = 0; b < STARPU_TASK_GET_NBUFFERS(task); b++) {
		const struct data *data = buffer_data(task, b);

		if (data)
			begin_us = fmax(begin_us, data->written_us);
		if (data && writes(STARPU_TASK_GET_MODE(task, b)))
			begin_us = fmax(begin_us, data->read_us);
	}
	end_us = begin_us + us;
	for (unsigned b = 0; b < STARPU_TASK_GET_NBUFFERS(task); b++) {
		struct data *data = buffer_data(task, b);

		if (data && writes(STARPU_TASK_GET_MODE(task, b)))
			data->written_us = data->read_us = end_us;
		else if (data)
			data->read_us = fmax(data->read_us, end_us);
	}
	record.path_us = fmax(record.path_us, end_us);
}

/* Whether StarPU orders accesses to all data of a task. */
static bool is_ordered(struct starpu_task *task)
{
	for (unsigned b = 0; b < STARPU_TASK_GET_NBUFFERS(task); b++)
		if (!starpu_data_get_sequential_consistency_flag(STARPU_TASK_GET_HANDLE(task, b)))
			return false;
	return true;
}

/* The least time of a type on the classes of cores, or on the others; 0: unknown. */
static double type_us(const struct type *type, bool cores)
{
	double least = 0;

	for (unsigned c = 0; c < record.nclasses; c++) {
		int kind = starpu_worker_get_type(record.classes[c].worker);

		if ((kind == STARPU_CPU_WORKER) == cores && type->us[c] > 0 &&
		    (least <= 0 || type->us[c] < least))
			least = type->us[c];
	}
	return least;
}

static void task_record(struct starpu_task *task)
{
	struct type *type = record.graph || record.orders ? type_get(task) : NULL;
	bool ordered = record.graph && type && is_ordered(task);

	if (record.orders && type)
		task->priority = orders_priority(task, type_us(type, true), type_us(type, false));
	pthread_mutex_lock(&record.mutex);
	record.tasks++;
	record.flops += task->flops;
	record.flops_unknown |= !(task->flops > 0);
	record.path_unknown |= !type || type->least_us <= 0;
	if (type)
		type->count++;
	if (ordered && !record.path_unknown)
		path_extend(task, type->least_us);
	pthread_mutex_unlock(&record.mutex);
}

/* Another one may get its address. */
void starpu_data_unregister_submit(starpu_data_handle_t handle)
{
	void (*unregister)(starpu_data_handle_t) = next("starpu_data_unregister_submit");
	struct data key = {.handle = handle}, **found, *data;

	pthread_mutex_lock(&record.mutex);
	found = tfind(&key, &record.data, data_compare);
	data = found ? *found : NULL;
	if (data)
		tdelete(&key, &record.data, data_compare);
	pthread_mutex_unlock(&record.mutex);
	free(data);
	if (unregister)
		unregister(handle);
}

/* ---- hooks ---- */

/* Whether it is the program's. What StarPU calls on each worker, such as starpu_cublas_init(), is a
 * task without data of a worker that StarPU names: long before and after those of the program. */
static bool counts(const struct starpu_task *task)
{
	return task->cl && task->cl->where != STARPU_NOWHERE &&
	       (!task->execute_on_a_specific_worker || STARPU_TASK_GET_NBUFFERS(task));
}

static void task_submitted(struct starpu_task *task)
{
	double none = 0;

	if (counts(task)) {
		atomic_compare_exchange_strong(&record.first_us, &none, starpu_timing_now());
		task_record(task);
	}
	if (record.submit)
		record.submit(task);
}

static void task_ended(struct starpu_task *task, unsigned context)
{
	if (counts(task))
		atomic_store_explicit(&record.last_us, starpu_timing_now(), memory_order_relaxed);
	if (record.ended)
		record.ended(task, context);
}

/* ---- the file ---- */

static long long ns(double us)
{
	return llround(1e3 * us);
}

static void type_write(const void *node, VISIT visit, int depth)
{
	const struct type *type = *(struct type *const *)node;

	if (visit != postorder && visit != leaf)
		return;
	fprintf(record.stream, ",\n[%" PRIu64, type->count);
	for (unsigned c = 0; c < record.nclasses; c++)
		if (type->us[c] < 0)
			fprintf(record.stream, ", null");
		else
			fprintf(record.stream, ", %lld", ns(type->us[c]));
	fprintf(record.stream, "]");
}

static void workers_write(FILE *stream)
{
	fprintf(stream, "\"workers\": {\"cpu\": %u, \"cuda\": %u, \"opencl\": %u},\n",
	        record.workers[STARPU_CPU_WORKER], record.workers[STARPU_CUDA_WORKER],
	        record.workers[STARPU_OPENCL_WORKER]);
}

static void graph_write(FILE *stream)
{
	fprintf(stream, ",\n\"path_ns\": %lld,\n\"classes\": [",
	        record.path_unknown ? 0 : ns(record.path_us));
	for (unsigned c = 0; c < record.nclasses; c++)
		fprintf(stream, "%s%u", c ? ", " : "", record.classes[c].count);
	fprintf(stream, "],\n\"types\": [[0]"); /* to begin the others with a comma */
	record.stream = stream;
	twalk(record.types, type_write);
	fprintf(stream, "]");
}

static void record_write(void)
{
	FILE *stream = fopen(record.file, "w");

	if (!stream) {
		fprintf(stderr, "heddle bench: %s: %s\n", record.file, strerror(errno));
		return;
	}
	fprintf(stream, "{\"starpu\": \"%s\",\n", record.version);
	workers_write(stream);
	fprintf(stream, "\"ns\": %lld,\n\"tasks\": %" PRIu64 ",\n\"flops\": %.0f",
	        ns(record.total_us), record.tasks, record.flops_unknown ? 0 : record.flops);
	if (record.graph)
		graph_write(stream);
	fprintf(stream, "}\n");
	fclose(stream);
}

/* ---- StarPU's beginning and end ---- */

static bool same_arch(int a, int b)
{
	const struct starpu_perfmodel_arch *x = starpu_worker_get_perf_archtype(a, 0);
	const struct starpu_perfmodel_arch *y = starpu_worker_get_perf_archtype(b, 0);

	return x->devices[0].type == y->devices[0].type &&
	       x->devices[0].devid == y->devices[0].devid;
}

static void classes_find(void)
{
	record.nclasses = 0;
	memset(record.workers, 0, sizeof(record.workers));
	for (int w = 0; w < (int)starpu_worker_get_count(); w++) {
		unsigned c = 0;

		record.workers[starpu_worker_get_type(w)]++;
		while (c < record.nclasses && !same_arch(record.classes[c].worker, w))
			c++;
		if (c == record.nclasses)
			record.classes[record.nclasses++] = (struct class){.worker = w};
		record.classes[c].count++;
	}
}

/* Whether the program's StarPU is of the series whose types this file knows. */
static bool version_fits(void)
{
	int major, minor, release, wanted[2];

	starpu_get_version(&major, &minor, &release);
	snprintf(record.version, sizeof(record.version), "%d.%d.%d", major, minor, release);
	return sscanf(HEDDLE_STARPU_VERSION, "%d.%d", &wanted[0], &wanted[1]) == 2 &&
	       major == wanted[0] && minor == wanted[1];
}

/* StarPU gives each context a copy of its policy. No task has been submitted yet. */
static void record_begin(void)
{
	struct starpu_sched_policy *policy;

	record.file = getenv(RECORD_FILE);
	record.graph = getenv(RECORD_GRAPH);
	record.orders = getenv(RECORD_ORDERS);
	if (!record.file || !starpu_sched_ctx_get_sched_policy || !version_fits()) {
		record.file = NULL;
		return;
	}
	policy = starpu_sched_ctx_get_sched_policy(0);
	if (!policy || policy->submit_hook == task_submitted)
		return;
	classes_find();
	record.submit = policy->submit_hook;
	record.ended = policy->post_exec_hook;
	record.first_us = record.last_us = 0;
	policy->submit_hook = task_submitted;
	policy->post_exec_hook = task_ended;
}

/* The configuration with heteroprio's orders, if they are wanted.
 * @param own a place for one if the program has none */
static struct starpu_conf *conf_order(struct starpu_conf *conf, struct starpu_conf *own)
{
	if (!getenv(RECORD_ORDERS) || !starpu_conf_init)
		return conf;
	if (!conf && !starpu_conf_init(own))
		conf = own;
	if (conf)
		conf->heddle_compat_policy_callback = orders_tell;
	return conf;
}

int starpu_init(struct starpu_conf *conf)
{
	int (*init)(struct starpu_conf *) = next("starpu_init");
	struct starpu_conf own;
	int status = init ? init(conf_order(conf, &own)) : -ENODEV;

	if (!status)
		record_begin();
	return status;
}

int starpu_initialize(struct starpu_conf *conf, int *argc, char ***argv)
{
	int (*initialize)(struct starpu_conf *, int *, char ***) = next("starpu_initialize");
	struct starpu_conf own;
	int status = initialize ? initialize(conf_order(conf, &own), argc, argv) : -ENODEV;

	if (!status)
		record_begin();
	return status;
}

void starpu_shutdown(void)
{
	void (*shutdown)(void) = next("starpu_shutdown");

	if (shutdown)
		shutdown();
	if (!record.file)
		return;
	if (record.last_us > record.first_us)
		record.total_us += record.last_us - record.first_us;
	record.first_us = record.last_us = 0;
	record_write();
}
