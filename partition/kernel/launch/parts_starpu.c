/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parts of a launch: tasks pinned to a worker each, and what their times tell.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "partition/kernel/launch/kernel_private.h"

/* The dry run: at most this long on each device, as far as the sizes before tell. */
#define PROFILE_US 500000.0
/* Of each size so many, as far as that takes no longer than so long. */
enum { REPEATS = 3 };
#define REPEATED_US 20000.0
/* How far a measurement moves the table. */
#define FOLLOW 0.5
/* How many times as long as expected counts. */
#define LATE 2.0
/* Bytes of which latency is most of what they take to cross. */
#define SMALL 65536
/* What is known has changed from that much on. */
#define CHANGE 0.05

struct kernel_device *device_of(struct kernel *kernel, int worker)
{
	for (unsigned d = 0; d < kernel->ndevices; d++)
		if (kernel->devices[d].worker == worker)
			return &kernel->devices[d];
	return NULL;
}

static void rate_follow(double *rate, size_t bytes, double us)
{
	if (bytes >= SMALL && us > 0)
		*rate = *rate > 0 ? (*rate + bytes / us) / 2 : bytes / us;
}

/* Follows a measured time, but for the first one of a process, which may have waited for
 * a compiler. What earlier runs measured counts as far as the second one bears it out. */
static void time_learn(struct kernel_device *device, size_t groups, double us)
{
	struct kernel_table *table = &device->known.table;
	double expected = table->npoints ? kernel_table_time(table, groups) : 0;

	if (device->trust == KERNEL_UNSEEN) {
		device->trust = KERNEL_DOUBTED;
		return;
	}
	if (device->trust == KERNEL_DOUBTED && expected > 0 &&
	    (us > LATE * expected || us < expected / LATE))
		kernel_table_scale(table, us / expected);
	else if (expected > 0 && us > LATE * expected)
		us = LATE * expected; /* held up once is not slow for good */
	device->trust = KERNEL_TRUSTED;
	kernel_table_measured(table, groups, us, FOLLOW);
}

static bool differs(double a, double b)
{
	return fabs(a - b) > CHANGE * fmax(a, b);
}

/* While others computed too, what a part took tells what sharing costs, not how fast the
 * device is: by Heddle's own method; those of the paper know no such thing. */
static bool was_shared(const struct part *part)
{
	const struct heddle_kernel_request *request = part->request;

	return part->alone_us > 0 && request->method == SPLIT_HEDDLE &&
	       part->n < request->stats.groups && part->device->trust == KERNEL_TRUSTED;
}

/* What a part's times tell of its device. */
static void part_learn(const struct part *part)
{
	struct kernel *kernel = part->request->kernel;
	struct kernel_device *device = part->device;
	struct kernel_records_known *known = &device->known, before;
	struct kernel_costs costs;
	double then;

	starpu_pthread_mutex_lock(&kernel->mutex);
	if (part->compiled && device->trust != KERNEL_UNSEEN) {
		starpu_pthread_mutex_unlock(&kernel->mutex);
		return;
	}
	before = *known;
	costs = device->costs;
	if (was_shared(part)) {
		kernel_costs_measured(&device->costs, part->start_us, part->alone_us,
		                      part->in_us + part->compute_us + part->out_us);
	} else {
		time_learn(device, part->n, part->compute_us);
		rate_follow(&known->in_rate, part->in_bytes + part->in_place_bytes, part->in_us);
		rate_follow(&known->out_rate, part->out_bytes + part->out_place_bytes,
		            part->out_us - part->merge_us);
	}
	if (known->table.npoints)
		kernel->timed |= 1U << (device - kernel->devices);
	then = before.table.npoints ? kernel_table_time(&before.table, part->n) : 0;
	if (differs(costs.slowdown, device->costs.slowdown) ||
	    differs(costs.part_us, device->costs.part_us) ||
	    differs(before.in_rate, known->in_rate) || differs(before.out_rate, known->out_rate) ||
	    (known->table.npoints && differs(then, kernel_table_time(&known->table, part->n))))
		kernel->changes++;
	starpu_pthread_mutex_unlock(&kernel->mutex);
}

/* The shortest of some runs: some of them are held up, and the first ones of a size more
 * often than later ones. */
static int profile_size(struct part *part)
{
	struct part best = *part;
	double best_us = INFINITY, spent_us = 0;
	int status = 0;

	for (int i = 0; i < REPEATS && !status && (!i || spent_us < REPEATED_US); i++) {
		struct part run = *part;
		double us;

		status = device_run(&run);
		us = run.in_us + run.compute_us;
		spent_us += us;
		if (status || us >= best_us)
			continue;
		best = run;
		best_us = us;
	}
	if (!status)
		part_learn(&best);
	return status;
}

/* Dry runs of growing size, after one group that brings about what happens only once. */
static int profile_run(struct part *whole)
{
	static const size_t divisors[] = {SIZE_MAX, 256, 64, 16, 4, 1};
	struct kernel *kernel = whole->request->kernel;
	size_t groups = whole->n, last = 0;
	struct part part = *whole;
	double begin_us;
	int status;

	part.n = 1;
	status = device_run(&part);
	part = *whole;
	starpu_pthread_mutex_lock(&kernel->mutex);
	part.device->trust = KERNEL_TRUSTED;
	starpu_pthread_mutex_unlock(&kernel->mutex);
	begin_us = starpu_timing_now();
	for (size_t i = 0; i < sizeof(divisors) / sizeof(divisors[0]) && !status; i++) {
		size_t n = groups / divisors[i] + !!(groups % divisors[i]);
		double spent_us = starpu_timing_now() - begin_us;

		/* The next size may take as many times as long as it is larger. */
		if (last && spent_us * n / last > PROFILE_US)
			break;
		if (n == last)
			continue;
		part.n = last = n;
		status = profile_size(&part);
	}
	return status;
}

static void part_run(struct part *part)
{
	part->start_us = starpu_timing_now() - part->request->start_us;
	if (!part->device)
		part->device = device_of(part->request->kernel, starpu_worker_get_id_check());
	if (!part->device)
		part->status = -ENODEV;
	else if (part->dry)
		part->status = profile_run(part);
	else
		part->status = device_run(part);
	if (!part->status && !part->dry && !part->unwatched)
		part_learn(part);
}

static void part_function(void *buffers[], void *arg)
{
	part_run(arg);
}

static struct starpu_codelet part_codelet = {
    .opencl_funcs = {part_function},
    .name = "heddle_kernel",
};

static void part_count(struct part *part)
{
	struct heddle_kernel_stats *stats = &part->request->stats;
	struct heddle_kernel_worker_stats *worker = NULL;

	for (unsigned w = 0; w < stats->nworkers && !worker; w++)
		if (stats->workers[w].id == part->device->worker)
			worker = &stats->workers[w];
	if (!worker) {
		worker = &stats->workers[stats->nworkers++];
		*worker = (struct heddle_kernel_worker_stats){.id = part->device->worker,
		                                              .start_us = part->start_us};
		memcpy(worker->name, part->device->title, sizeof(worker->name));
	}
	worker->groups += part->n;
	worker->in_us += part->in_us;
	worker->compute_us += part->compute_us;
	worker->out_us += part->out_us;
	worker->merge_us += part->merge_us;
	worker->in_bytes += part->in_bytes;
	worker->out_bytes += part->out_bytes;
}

/* A device that failed gets nothing of this kernel any more; what it had is lost. */
static void part_lose(struct part *part)
{
	struct heddle_kernel_request *request = part->request;

	if (part->device) {
		starpu_pthread_mutex_lock(&request->kernel->mutex);
		__atomic_or_fetch(&request->kernel->failed,
		                  1U << (part->device - request->kernel->devices),
		                  __ATOMIC_RELAXED);
		starpu_pthread_mutex_unlock(&request->kernel->mutex);
	}
	if (!part->dry)
		request->lost[request->nlost++] = (struct range_lost){part->from, part->n};
	request->error = part->status;
}

/* The callback of parts' tasks. */
static void part_ended(void *arg)
{
	struct part *part = arg;
	struct heddle_kernel_request *request = part->request;
	bool own = part == &request->room, last;

	starpu_pthread_mutex_lock(&request->mutex);
	request->compiled = request->compiled || (part->compiled && !part->dry);
	if (part->status)
		part_lose(part);
	else if (!part->dry)
		part_count(part);
	if (request->blocks) {
		block_ended(part);
		starpu_pthread_mutex_unlock(&request->mutex);
		blocks_fill(request);
		starpu_pthread_mutex_lock(&request->mutex);
	}
	last = !--request->pending;
	starpu_pthread_mutex_unlock(&request->mutex);
	if (!own)
		free(part);
	if (last)
		request_step(request);
}

void part_end(struct part *part)
{
	if (!part->status && !part->unwatched)
		part_learn(part);
	part_ended(part);
}

void part_own_run(struct heddle_kernel_request *request)
{
	struct part *own = request->own;

	request->own = NULL;
	if (request->control.here && own) {
		request->here = NULL;
		own->start_us = starpu_timing_now() - request->start_us;
		direct_launch(own);
	} else if (request->control.here) {
		direct_leave(request);
	} else {
		request->here = NULL;
		if (!own)
			return;
		part_run(own);
		part_ended(own);
	}
}

/* Who distributes the groups computes a part of them there: a task less. */
static bool is_own(const struct part *part)
{
	const struct heddle_kernel_request *request = part->request;

	return part->device && !part->dry && part->device == request->here && !request->own &&
	       (request->control.here || part->device->worker == starpu_worker_get_id());
}

int part_task_submit(struct part *part)
{
	struct starpu_task *task = starpu_task_create();

	if (!task)
		return -ENOMEM;
	task->cl = &part_codelet;
	task->cl_arg = part;
	task->callback_func = part_ended;
	task->callback_arg = part;
	if (part->device)
		task_pin(task, part->device->worker, 0);
	return task_submit(task, part->request->kernel->name);
}

int part_submit(const struct part *like)
{
	struct heddle_kernel_request *request = like->request;
	bool own = is_own(like);
	struct part *part = own ? &request->room : malloc(sizeof(*part));
	int status = 0;

	if (!part)
		return -ENOMEM;
	*part = *like;
	starpu_pthread_mutex_lock(&request->mutex);
	request->pending++;
	starpu_pthread_mutex_unlock(&request->mutex);
	if (own)
		request->own = part;
	else
		status = part_task_submit(part);
	if (status) {
		free(part);
		starpu_pthread_mutex_lock(&request->mutex);
		request->pending--;
		starpu_pthread_mutex_unlock(&request->mutex);
	}
	return status;
}

#endif
