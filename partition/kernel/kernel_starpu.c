/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A kernel launch as one node of StarPU's task graph: from heddle_kernel_submit() to its
 * end. What happens on a device is device_starpu.c's.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/heddle.h>
#include <heddle/kernel.h>

#include "private/message.h"

#ifdef HEDDLE_USE_OPENCL

#include <unistd.h>

#include "partition/kernel/analysis.h"
#include "partition/kernel/kernel_private.h"
#include "private/variables.h"

/* The dry run: at most this long on each device, as far as the sizes before tell. */
#define PROFILE_US 500000.0
/* How far a measurement moves the table. */
#define FOLLOW 0.5
/* How many times as long as expected counts. */
#define LATE 2.0
/* Where nothing has been measured, bytes per microsecond. */
#define USUAL_RATE 5000.0
#define MERGE_RATE 5000.0

/* ---- kernels that are known ---- */

static struct kernel *kernels;
static starpu_pthread_mutex_t kernels_mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;

static void kernel_free(struct kernel *kernel)
{
	for (unsigned d = 0; d < kernel->ndevices; d++)
		device_free(&kernel->devices[d]);
	index_free(&kernel->index);
	starpu_pthread_mutex_destroy(&kernel->mutex);
	free(kernel->source);
	free(kernel->name);
	free(kernel->options);
	free(kernel->prologue);
	free(kernel);
}

HEDDLE_API void heddle_kernels_unload(void)
{
	while (kernels) {
		struct kernel *next = kernels->next;

		kernel_free(kernels);
		kernels = next;
	}
}

static void devices_find(struct kernel *kernel)
{
	int ids[STARPU_NMAXWORKERS];
	int n = starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, ids, STARPU_NMAXWORKERS);

	for (int i = 0; i < n && i < SPLIT_MAXDEVICES; i++)
		kernel->devices[kernel->ndevices++].worker = ids[i];
}

static int description_make(const struct heddle_kernel *given, struct kernel *kernel)
{
	enum index_kind kinds[HEDDLE_KERNEL_MAXARGUMENTS];
	int error = analysis_make(given->source, given->name, given->options, &kernel->index);

	if (!error)
		return 0;
	for (unsigned a = 0; a < given->narguments; a++)
		kinds[a] = given->arguments[a].type == HEDDLE_KERNEL_LOCAL   ? INDEX_LOCAL
		           : given->arguments[a].type == HEDDLE_KERNEL_VALUE ? INDEX_OTHER
		                                                             : INDEX_BUFFER;
	error = index_unknown(given->narguments, kinds, &kernel->index);
	/* Of atomic operations nothing is known either; the word is hard to avoid. */
	if (!error && (strstr(given->source, "atom") || strstr(given->source, "printf") ||
	               strstr(given->source, "image") || strstr(given->source, "#include")))
		kernel->index.refusal = strdup(
		    "it is not analysed and may have atomic operations, print or use images");
	return error;
}

static int kernel_make(const struct heddle_kernel *given, const struct ndrange *range,
                       const char *prologue, struct kernel **made)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));
	int error = -ENOMEM;

	if (!kernel)
		return error;
	starpu_pthread_mutex_init(&kernel->mutex, NULL);
	kernel->way = ndrange_way(range);
	kernel->source = strdup(given->source);
	kernel->name = strdup(given->name);
	kernel->options = strdup(given->options ? given->options : "");
	kernel->prologue = strdup(prologue);
	devices_find(kernel);
	if (kernel->source && kernel->name && kernel->options && kernel->prologue)
		error = description_make(given, kernel);
	if (error) {
		kernel_free(kernel);
		return error;
	}
	*made = kernel;
	return 0;
}

/* The kernel that stays, made at its first launch. The prologue is part of what it is. */
static int kernel_find(const struct heddle_kernel *given, const struct ndrange *range,
                       struct kernel **found)
{
	char *prologue = ndrange_prologue(range, ndrange_way(range));
	struct kernel *kernel;
	int error = 0;

	if (!prologue)
		return -ENOMEM;
	starpu_pthread_mutex_lock(&kernels_mutex);
	for (kernel = kernels; kernel; kernel = kernel->next)
		if (!strcmp(kernel->name, given->name) && !strcmp(kernel->prologue, prologue) &&
		    !strcmp(kernel->source, given->source) &&
		    !strcmp(kernel->options, given->options ? given->options : ""))
			break;
	if (!kernel) {
		error = kernel_make(given, range, prologue, &kernel);
		if (!error) {
			kernel->next = kernels;
			kernels = kernel;
		}
	}
	starpu_pthread_mutex_unlock(&kernels_mutex);
	free(prologue);
	if (!error)
		*found = kernel;
	return error;
}

/* ---- parts ---- */

static void request_step(struct heddle_kernel_request *request);
static void block_ended(struct part *part);
static void blocks_fill(struct heddle_kernel_request *request);

static struct kernel_device *device_of(struct kernel *kernel, int worker)
{
	for (unsigned d = 0; d < kernel->ndevices; d++)
		if (kernel->devices[d].worker == worker)
			return &kernel->devices[d];
	return NULL;
}

static void rate_follow(double *rate, size_t bytes, double us)
{
	if (bytes >= 4096 && us > 0)
		*rate = *rate > 0 ? (*rate + bytes / us) / 2 : bytes / us;
}

/* What a part's times tell of its device. */
static void part_learn(const struct part *part)
{
	struct kernel *kernel = part->request->kernel;
	struct kernel_table *table = &part->device->table;
	double us = part->compute_us;

	starpu_pthread_mutex_lock(&kernel->mutex);
	/* A worker that was held up once is not slow for good. */
	if (table->npoints && us > LATE * kernel_table_time(table, part->n))
		us = LATE * kernel_table_time(table, part->n);
	kernel_table_measured(table, part->n, us, FOLLOW);
	rate_follow(&part->device->in_rate, part->in_bytes, part->in_us);
	rate_follow(&part->device->out_rate, part->out_bytes, part->out_us);
	starpu_pthread_mutex_unlock(&kernel->mutex);
}

/* Dry runs of growing size, after one group that brings about what happens only once. */
static int profile_run(struct part *whole)
{
	size_t groups = whole->n, last = 0;
	struct part part = *whole;
	double begin_us;
	int status;

	part.n = 1;
	status = device_run(&part);
	begin_us = starpu_timing_now();
	for (size_t divisor = 16; divisor >= 1 && !status; divisor /= 4) {
		size_t n = (groups + divisor - 1) / divisor;
		double spent_us = starpu_timing_now() - begin_us;

		/* The next size may take as many times as long as it is larger. */
		if (last && spent_us * n / last > PROFILE_US)
			break;
		if (n == last)
			continue;
		part.n = last = n;
		part.in_bytes = 0;
		status = device_run(&part);
		if (!status)
			part_learn(&part);
	}
	return status;
}

static void part_function(void *buffers[], void *arg)
{
	struct part *part = arg;

	part->start_us = starpu_timing_now() - part->request->start_us;
	if (!part->device)
		part->device = device_of(part->request->kernel, starpu_worker_get_id_check());
	if (!part->device)
		part->status = -ENODEV;
	else if (part->dry)
		part->status = profile_run(part);
	else
		part->status = device_run(part);
	if (!part->status && !part->dry)
		part_learn(part);
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
		worker->id = part->device->worker;
		worker->start_us = part->start_us;
		starpu_worker_get_name(worker->id, worker->name, sizeof(worker->name));
	}
	worker->groups += part->n;
	worker->in_us += part->in_us;
	worker->compute_us += part->compute_us;
	worker->out_us += part->out_us;
	worker->in_bytes += part->in_bytes;
	worker->out_bytes += part->out_bytes;
}

/* A device that failed gets nothing of this kernel any more; what it had is lost. */
static void part_lose(struct part *part)
{
	struct heddle_kernel_request *request = part->request;

	if (part->device) {
		starpu_pthread_mutex_lock(&request->kernel->mutex);
		part->device->failed = true;
		starpu_pthread_mutex_unlock(&request->kernel->mutex);
	}
	if (!part->dry)
		request->lost[request->nlost++] = (struct range_lost){part->from, part->n};
	request->error = part->status;
}

static void part_ended(void *arg)
{
	struct part *part = arg;
	struct heddle_kernel_request *request = part->request;
	bool last;

	starpu_pthread_mutex_lock(&request->mutex);
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
	free(part);
	if (last)
		request_step(request);
}

/* The mutex is not held. The caller counts itself in `pending` meanwhile. */
static int part_submit(struct heddle_kernel_request *request, struct kernel_device *device,
                       size_t from, size_t n, bool dry)
{
	struct part *part = calloc(1, sizeof(*part));
	struct starpu_task *task = part ? starpu_task_create() : NULL;
	int status;

	if (!task) {
		free(part);
		return -ENOMEM;
	}
	*part =
	    (struct part){.request = request, .device = device, .from = from, .n = n, .dry = dry};
	task->cl = &part_codelet;
	task->cl_arg = part;
	task->name = request->kernel->name;
	task->callback_func = part_ended;
	task->callback_arg = part;
	if (device) {
		task->execute_on_a_specific_worker = 1;
		task->workerid = device->worker;
	}
	starpu_pthread_mutex_lock(&request->mutex);
	request->pending++;
	starpu_pthread_mutex_unlock(&request->mutex);
	status = starpu_task_submit(task);
	if (status) {
		task->destroy = 0;
		starpu_task_destroy(task);
		free(part);
		starpu_pthread_mutex_lock(&request->mutex);
		request->pending--;
		starpu_pthread_mutex_unlock(&request->mutex);
	}
	return status;
}

/* ---- shares ---- */

int request_uses(const struct heddle_kernel_request *request, size_t from, size_t n,
                 struct index_use *uses)
{
	struct index_launch launch = {&request->range, request->integers, request->bytes};
	int status = index_uses(&request->kernel->index, &launch, from, n, uses);

	for (unsigned a = 0; a < request->given.narguments && !status; a++)
		if (request->given.arguments[a].mode == STARPU_R && !request->aliased)
			uses[a].write = (struct index_window){0};
	return status;
}

/* Bytes of a device that gets all groups, and half of them, tell what each group and
 * what every device costs. */
static int bytes_find(struct heddle_kernel_request *request, struct split_problem *problem)
{
	struct index_use uses[HEDDLE_KERNEL_MAXARGUMENTS];
	size_t total = problem->groups, sizes[2] = {total, (total + 1) / 2};
	double in[2] = {0}, out[2] = {0}, merge[2] = {0};
	struct {
		struct split_bytes *to;
		double *from;
	} const kinds[] = {{&problem->in, in}, {&problem->out, out}, {&problem->merge, merge}};

	for (int i = 0; i < 2; i++) {
		if (request_uses(request, 0, sizes[i], uses))
			return -ENOMEM;
		for (unsigned a = 0; a < request->given.narguments; a++) {
			double read = uses[a].read.end - uses[a].read.first;
			double written = uses[a].write.end - uses[a].write.first;

			in[i] += uses[a].write.dense ? read : read > written ? read : written;
			out[i] += written;
			merge[i] += uses[a].write.dense ? 0 : written;
		}
	}
	for (int k = 0; k < 3; k++) {
		double per_group = sizes[0] > sizes[1] ? (kinds[k].from[0] - kinds[k].from[1]) /
		                                             (sizes[0] - sizes[1])
		                                       : 0;

		kinds[k].to->per_group = per_group > 0 ? per_group : 0;
		kinds[k].to->fixed = kinds[k].from[0] - kinds[k].to->per_group * total;
		if (kinds[k].to->fixed < 0)
			kinds[k].to->fixed = 0;
	}
	problem->merge_bandwidth = MERGE_RATE;
	return 0;
}

/* Whether a device takes part in a launch. */
static bool device_usable(const struct heddle_kernel_request *request, unsigned d)
{
	return !request->kernel->devices[d].failed && !request->barred[d];
}

/* The devices that can still be used, each on a bus of its own. */
static void problem_devices(const struct heddle_kernel_request *request,
                            struct split_problem *problem, struct kernel_device **devices)
{
	struct kernel *kernel = request->kernel;

	starpu_pthread_mutex_lock(&kernel->mutex);
	for (unsigned d = 0; d < kernel->ndevices; d++) {
		struct kernel_device *device = &kernel->devices[d];
		unsigned at = problem->ndevices;

		if (!device_usable(request, d) || !device->table.npoints)
			continue;
		devices[at] = device;
		problem->devices[at].bus = at;
		problem->devices[at].table = device->table;
		problem->buses[at] = (struct split_bus){
		    .in = device->in_rate > 0 ? device->in_rate : USUAL_RATE,
		    .out = device->out_rate > 0 ? device->out_rate : USUAL_RATE,
		};
		problem->nbuses = ++problem->ndevices;
	}
	starpu_pthread_mutex_unlock(&kernel->mutex);
}

/* Groups of a row (or plane) where there are enough of them to cut only between: what
 * is written lies together there, as a rule. */
static size_t row_of(const struct ndrange *range)
{
	size_t row = range->groups[0] * (range->groups[2] > 1 ? range->groups[1] : 1);

	return ndrange_groups(range) / row < 16 ? 1 : row;
}

static size_t cut_round(const struct ndrange *range, size_t at)
{
	size_t row = row_of(range);

	return at == ndrange_groups(range) ? at : (at + row / 2) / row * row;
}

static void shares_explain(const struct heddle_kernel_request *request,
                           const struct split_problem *problem,
                           struct kernel_device *const *devices, const size_t *share, double us)
{
	char text[512] = "";
	size_t length = 0;

	for (unsigned d = 0; d < problem->ndevices && length < sizeof(text); d++)
		length += snprintf(text + length, sizeof(text) - length, " %d: %zu",
		                   devices[d]->worker, share[d]);
	heddle_explain("kernel %s: groups of each worker:%s; %.0f us predicted",
	               request->kernel->name, text, us);
}

/* Chooses the shares and submits the parts. */
static int parts_submit(struct heddle_kernel_request *request)
{
	const char *refusal = request->aliased ? "two of its arguments are one array"
	                                       : request->kernel->index.refusal;
	struct split_problem problem = {.groups = request->stats.groups};
	struct kernel_device *devices[SPLIT_MAXDEVICES];
	size_t share[SPLIT_MAXDEVICES], upto = 0, from = 0;
	double start_us = starpu_timing_now();
	int status = bytes_find(request, &problem);

	problem_devices(request, &problem, devices);
	if (!status && !problem.ndevices)
		status = request->error ? request->error : -EIO;
	if (status)
		return status;
	if (refusal)
		heddle_explain("kernel %s runs on one device: %s", request->kernel->name, refusal);
	request->stats.predicted_us =
	    split_decide(&problem, refusal ? SPLIT_SINGLE : request->method, share);
	request->stats.decision_us = starpu_timing_now() - start_us;
	shares_explain(request, &problem, devices, share, request->stats.predicted_us);
	for (unsigned d = 0; d < problem.ndevices && !status; d++) {
		size_t end;

		upto += share[d];
		end = cut_round(&request->range, upto);
		if (end > from)
			status = part_submit(request, devices[d], from, end - from, false);
		from = end > from ? end : from;
	}
	return status;
}

static int profiles_submit(struct heddle_kernel_request *request)
{
	struct kernel *kernel = request->kernel;
	int status = 0;

	request->profiling = true;
	for (unsigned d = 0; d < kernel->ndevices && !status; d++)
		if (device_usable(request, d) && !kernel->devices[d].table.npoints)
			status = part_submit(request, &kernel->devices[d], 0, request->stats.groups,
			                     true);
	return status;
}

/* Brings what failed devices should have computed to the one that is fastest. */
static int lost_submit(struct heddle_kernel_request *request)
{
	struct kernel *kernel = request->kernel;
	struct kernel_device *best = NULL;
	unsigned nlost = request->nlost;
	int status = 0;

	for (unsigned d = 0; d < kernel->ndevices; d++) {
		struct kernel_device *device = &kernel->devices[d];

		if (!device_usable(request, d))
			continue;
		if (!best || (device->table.npoints && best->table.npoints &&
		              kernel_table_time(&device->table, request->stats.groups) <
		                  kernel_table_time(&best->table, request->stats.groups)))
			best = device;
	}
	if (!best)
		return request->error;
	request->nlost = 0;
	for (unsigned i = 0; i < nlost && !status; i++) {
		request->stats.moved += request->lost[i].n;
		status =
		    part_submit(request, best, request->lost[i].from, request->lost[i].n, false);
	}
	return status;
}

/* ---- blocks ---- */

/* The flattened groups become a loop, which a block strategy cuts. */
static int blocks_start(struct heddle_kernel_request *request)
{
	struct kernel *kernel = request->kernel;
	struct heddle_blocks_worker workers[SPLIT_MAXDEVICES] = {{0}};
	struct heddle_blocks_problem problem = {
	    .n = request->stats.groups, .nworkers = kernel->ndevices, .workers = workers};
	int status;

	for (unsigned d = 0; d < kernel->ndevices; d++) {
		workers[d].kind = HEDDLE_KIND_OPENCL;
		workers[d].alignment = row_of(&request->range);
	}
	status = heddle_blocks_create(request->strategy, &problem, &request->blocks);
	for (unsigned d = 0; d < kernel->ndevices && !status; d++)
		if (!device_usable(request, d))
			heddle_blocks_retire(request->blocks, d);
	if (!status)
		blocks_fill(request);
	return status;
}

/* The mutex is held. */
static void block_ended(struct part *part)
{
	struct heddle_kernel_request *request = part->request;
	unsigned d = part->device - request->kernel->devices;

	request->busy[d] = false;
	if (part->status) {
		heddle_blocks_return(request->blocks, d, part->n);
		heddle_blocks_retire(request->blocks, d);
	} else {
		heddle_blocks_completed(request->blocks, d, part->n,
		                        part->in_us + part->compute_us + part->out_us);
	}
}

/* The next block of a device: of what failed devices have left, else of what nobody was
 * given. The mutex is held. @return its size; 0: none now */
static size_t block_take(struct heddle_kernel_request *request, unsigned d, size_t *from)
{
	size_t n = heddle_blocks_next(request->blocks, d);
	struct range_lost *lost = request->nlost ? &request->lost[request->nlost - 1] : NULL;

	if (!n)
		return 0;
	if (!lost) {
		*from = request->next;
		request->next += n;
		return n;
	}
	if (n > lost->n) {
		heddle_blocks_return(request->blocks, d, n - lost->n);
		n = lost->n;
	}
	*from = lost->from;
	lost->from += n;
	lost->n -= n;
	request->nlost -= !lost->n;
	request->stats.moved += n;
	return n;
}

/* Gives every idle device a block. The caller counts in `pending`. */
static void blocks_fill(struct heddle_kernel_request *request)
{
	struct kernel *kernel = request->kernel;

	for (unsigned d = 0; d < kernel->ndevices; d++) {
		size_t n = 0, from = 0;
		int status;

		starpu_pthread_mutex_lock(&request->mutex);
		if (!request->busy[d] && !request->status)
			n = block_take(request, d, &from);
		request->busy[d] = request->busy[d] || n;
		starpu_pthread_mutex_unlock(&request->mutex);
		status = n ? part_submit(request, &kernel->devices[d], from, n, false) : 0;
		if (status) {
			starpu_pthread_mutex_lock(&request->mutex);
			request->status = status;
			starpu_pthread_mutex_unlock(&request->mutex);
		}
	}
}

/* After the dry run, if there was one: shares, or blocks. */
static int groups_distribute(struct heddle_kernel_request *request)
{
	bool whole = request->aliased || request->kernel->index.refusal;

	return request->strategy && !whole ? blocks_start(request) : parts_submit(request);
}

/* ---- from the data to the results ---- */

static void request_end(struct heddle_kernel_request *request, int status)
{
	if (status)
		request->status = status;
	request->stats.us = starpu_timing_now() - request->start_us;
	starpu_task_end_dep_release(request->control);
}

/* Nothing is under way: what comes next? One in `pending` stands for this function while
 * it submits, so that no part's end gets here meanwhile. */
static void request_step(struct heddle_kernel_request *request)
{
	bool idle;
	int status;

	do {
		request->pending = 1;
		if (request->profiling) {
			request->profiling = false;
			request->stats.profile_us = starpu_timing_now() - request->start_us;
			status = groups_distribute(request);
		} else if (request->nlost) {
			status = lost_submit(request);
		} else {
			request_end(request, 0);
			return;
		}
		starpu_pthread_mutex_lock(&request->mutex);
		if (status) {
			/* Ends when what was submitted has. */
			request->nlost = 0;
			request->status = status;
		}
		idle = !--request->pending;
		starpu_pthread_mutex_unlock(&request->mutex);
	} while (idle);
}

static bool profiled(const struct heddle_kernel_request *request)
{
	const struct kernel *kernel = request->kernel;

	for (unsigned d = 0; d < kernel->ndevices; d++)
		if (device_usable(request, d) && !kernel->devices[d].table.npoints)
			return false;
	return true;
}

/* The control task runs: the data is in main memory. */
static void control_function(void *buffers[], void *arg)
{
	struct heddle_kernel_request *request = arg;
	bool idle;
	int status;

	request->start_us = starpu_timing_now();
	request->pending = 1;
	if (!request->split)
		status = part_submit(request, request->first, 0, request->stats.groups, false);
	else if (profiled(request))
		status = groups_distribute(request);
	else
		status = profiles_submit(request);
	starpu_pthread_mutex_lock(&request->mutex);
	if (status) {
		request->status = status;
		request->profiling = false;
	}
	idle = !--request->pending;
	starpu_pthread_mutex_unlock(&request->mutex);
	if (idle)
		request_step(request);
}

/* ---- requests ---- */

static void request_free(struct heddle_kernel_request *request)
{
	for (unsigned a = 0; a < request->given.narguments; a++)
		if (request->given.arguments[a].type == HEDDLE_KERNEL_VALUE)
			free(request->given.arguments[a].pointer);
	starpu_pthread_mutex_destroy(&request->mutex);
	starpu_pthread_cond_destroy(&request->ended);
	heddle_blocks_destroy(request->blocks);
	free(request);
}

static void control_ended(void *arg)
{
	struct heddle_kernel_request *request = arg;
	bool detached;

	starpu_pthread_mutex_lock(&request->mutex);
	request->done = true;
	detached = request->detached;
	starpu_pthread_cond_broadcast(&request->ended);
	starpu_pthread_mutex_unlock(&request->mutex);
	if (detached)
		request_free(request);
}

static int control_submit(struct heddle_kernel_request *request)
{
	struct starpu_codelet *codelet = &request->control_codelet;
	struct starpu_task *task = starpu_task_create();
	int status;

	*codelet = (struct starpu_codelet){
	    .cpu_funcs = {control_function}, .specific_nodes = 1, .name = request->kernel->name};
	if (!starpu_cpu_worker_get_count())
		codelet->opencl_funcs[0] = control_function;
	for (unsigned a = 0; a < request->given.narguments; a++) {
		const struct heddle_kernel_argument *argument = &request->given.arguments[a];

		if (argument->type != HEDDLE_KERNEL_HANDLE || request->same[a] != (int)a)
			continue;
		/* What the kernel does not write of an output stays as it was. */
		codelet->modes[codelet->nbuffers] =
		    argument->mode == STARPU_R && !request->aliased ? STARPU_R : STARPU_RW;
		codelet->nodes[codelet->nbuffers] = STARPU_MAIN_RAM;
		task->handles[codelet->nbuffers++] = argument->handle;
	}
	request->control = task;
	task->cl = codelet;
	task->cl_arg = request;
	task->name = request->kernel->name;
	task->callback_func = control_ended;
	task->callback_arg = request;
	starpu_task_end_dep_add(task, 1);
	status = starpu_task_submit(task);
	if (status) {
		task->destroy = 0;
		starpu_task_destroy(task);
		return heddle_refuse(status, "kernel %s: StarPU refuses its task: %s",
		                     request->kernel->name, strerror(-status));
	}
	return 0;
}

/* ---- what is given ---- */

static int handle_check(struct heddle_kernel_request *request, unsigned a)
{
	starpu_data_handle_t handle = request->given.arguments[a].handle;
	enum starpu_data_interface_id id =
	    handle ? starpu_data_get_interface_id(handle) : STARPU_UNKNOWN_INTERFACE_ID;
	bool flat = id == STARPU_VECTOR_INTERFACE_ID || id == STARPU_VARIABLE_INTERFACE_ID ||
	            (id == STARPU_MATRIX_INTERFACE_ID &&
	             starpu_matrix_get_local_ld(handle) == starpu_matrix_get_nx(handle));

	if (!flat || !starpu_data_handle_to_pointer(handle, STARPU_MAIN_RAM))
		return heddle_refuse(
		    -EINVAL,
		    "kernel %s: argument %u is no vector, variable or matrix without "
		    "gaps at home in main memory",
		    request->given.name, a);
	request->bytes[a] = starpu_data_get_size(handle);
	return 0;
}

static int value_copy(struct heddle_kernel_request *request, unsigned a)
{
	struct heddle_kernel_argument *argument = &request->given.arguments[a];
	void *copy;

	if (!argument->pointer || !argument->bytes)
		return heddle_refuse(-EINVAL, "kernel %s: argument %u is a value without one",
		                     request->given.name, a);
	copy = malloc(argument->bytes);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, argument->pointer, argument->bytes);
	argument->pointer = copy;
	if (argument->bytes == 8)
		request->integers[a] = *(int64_t *)copy;
	else if (argument->bytes == 4)
		request->integers[a] = *(int32_t *)copy;
	else if (argument->bytes == 2)
		request->integers[a] = *(int16_t *)copy;
	else if (argument->bytes == 1)
		request->integers[a] = *(int8_t *)copy;
	return 0;
}

static int argument_take(struct heddle_kernel_request *request, unsigned a)
{
	struct heddle_kernel_argument *argument = &request->given.arguments[a];

	request->same[a] = a;
	switch (argument->type) {
	case HEDDLE_KERNEL_HANDLE:
		return handle_check(request, a);
	case HEDDLE_KERNEL_HOST:
		request->bytes[a] = argument->bytes;
		if (!argument->pointer || !argument->bytes)
			return heddle_refuse(-EINVAL, "kernel %s: argument %u is no memory",
			                     request->given.name, a);
		return 0;
	case HEDDLE_KERNEL_VALUE:
		return value_copy(request, a);
	case HEDDLE_KERNEL_LOCAL:
		argument->pointer = NULL;
		if (argument->bytes)
			return 0;
		/* fall through */
	default:
		return heddle_refuse(-EINVAL, "kernel %s: argument %u is nothing",
		                     request->given.name, a);
	}
}

static const char *address_of(const struct heddle_kernel_request *request, unsigned a)
{
	const struct heddle_kernel_argument *argument = &request->given.arguments[a];

	return argument->type == HEDDLE_KERNEL_HANDLE
	           ? starpu_data_handle_to_pointer(argument->handle, STARPU_MAIN_RAM)
	           : argument->pointer;
}

/* One array as several arguments is one buffer; arrays that overlap cannot be told apart
 * on a device. */
static int aliases_find(struct heddle_kernel_request *request)
{
	for (unsigned a = 0; a < request->given.narguments; a++)
		for (unsigned b = 0; b < a && request->bytes[a]; b++) {
			const char *first = address_of(request, a),
			           *second = address_of(request, b);

			if (!request->bytes[b] || first + request->bytes[a] <= second ||
			    second + request->bytes[b] <= first)
				continue;
			if (first != second || request->bytes[a] != request->bytes[b])
				return heddle_refuse(-EINVAL,
				                     "kernel %s: the memory of arguments %u and %u "
				                     "overlaps in part",
				                     request->given.name, b, a);
			request->same[a] = request->same[b];
			request->aliased = true;
		}
	return 0;
}

/* What is given against what the kernel takes. */
static int arguments_compare(const struct heddle_kernel_request *request)
{
	const struct index_kernel *index = &request->kernel->index;
	unsigned n = request->given.narguments;

	if (n != index->narguments)
		return heddle_refuse(-EINVAL, "kernel %s takes %u arguments, not %u",
		                     request->given.name, index->narguments, n);
	for (unsigned a = 0; a < n; a++) {
		const struct heddle_kernel_argument *argument = &request->given.arguments[a];
		enum index_kind kind = index->arguments[a].kind;
		bool right = kind == INDEX_BUFFER  ? request->bytes[a] > 0
		             : kind == INDEX_LOCAL ? argument->type == HEDDLE_KERNEL_LOCAL
		             : kind == INDEX_INTEGER
		                 ? argument->type == HEDDLE_KERNEL_VALUE &&
		                       argument->bytes * 8 >= index->arguments[a].bits
		                 : argument->type == HEDDLE_KERNEL_VALUE;

		if (!right)
			return heddle_refuse(-EINVAL,
			                     "kernel %s: argument %u is not of the kind that "
			                     "the kernel takes",
			                     request->given.name, a);
	}
	return 0;
}

/* Whether the active policy has the kernel split, and by which block strategy: policies
 * that are one treat it as a loop, skmd shares it out, others place it whole. */
static bool policy_splits(const char **strategy)
{
	struct starpu_sched_policy *active = starpu_sched_ctx_get_sched_policy(0);
	const struct heddle_policy *ours =
	    active && active->policy_name ? heddle_policy_find(active->policy_name) : NULL;

	*strategy = NULL;
	if (!ours)
		return false;
	if (!strcmp(ours->name, ours->strategy))
		*strategy = ours->strategy;
	return *strategy || !strcmp(ours->name, "skmd");
}

static int workers_take(struct heddle_kernel_request *request)
{
	const struct heddle_kernel *given = &request->given;
	const struct kernel *kernel = request->kernel;

	for (unsigned d = 0; d < kernel->ndevices; d++)
		request->barred[d] = given->nworkers;
	for (unsigned w = 0; w < given->nworkers; w++) {
		struct kernel_device *device = device_of(request->kernel, given->workers[w]);

		if (!device)
			return heddle_refuse(-EINVAL, "kernel %s: worker %d is no OpenCL worker",
			                     given->name, given->workers[w]);
		request->barred[device - kernel->devices] = false;
		request->first = w ? request->first : device;
	}
	return 0;
}

static int method_take(struct heddle_kernel_request *request)
{
	const char *method = request->given.method;
	enum split_method known[] = {SPLIT_HEDDLE, SPLIT_PAPER, SPLIT_LINEAR, SPLIT_SINGLE};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		request->method = known[i];
		if (!method || !strcmp(method, split_method_name(known[i])))
			return 0;
	}
	return heddle_refuse(-EINVAL, "kernel %s: no method of sharing out is called %s",
	                     request->given.name, method);
}

static unsigned handles_count(const struct heddle_kernel_request *request)
{
	unsigned n = 0;

	for (unsigned a = 0; a < request->given.narguments; a++)
		n += request->given.arguments[a].type == HEDDLE_KERNEL_HANDLE;
	return n;
}

static int request_init(struct heddle_kernel_request *request, const struct heddle_kernel *given)
{
	int status = ndrange_make(given->dimensions, given->global, given->local, &request->range);

	request->given = *given;
	request->given.narguments = 0; /* those taken so far */
	for (unsigned a = 0; a < given->narguments && !status; a++) {
		status = argument_take(request, a);
		if (!status)
			request->given.narguments++;
	}
	if (!status && handles_count(request) > STARPU_NMAXBUFS)
		status = heddle_refuse(-EINVAL, "kernel %s: more than %d handles", given->name,
		                       STARPU_NMAXBUFS);
	if (!status)
		status = aliases_find(request);
	if (!status)
		status = kernel_find(&request->given, &request->range, &request->kernel);
	if (!status)
		status = arguments_compare(request);
	if (!status)
		status = workers_take(request);
	if (!status)
		status = method_take(request);
	request->stats.groups = status ? 0 : ndrange_groups(&request->range);
	if (given->split == HEDDLE_KERNEL_BY_POLICY)
		request->split = policy_splits(&request->strategy);
	else
		request->split = given->split == HEDDLE_KERNEL_ALWAYS;
	return status;
}

static int kernel_check(const struct heddle_kernel *given)
{
	int status = heddle_starpu_check();

	if (status)
		return status;
	if (!given || !given->source || !given->name)
		return heddle_refuse(-EINVAL, "a kernel without source or name");
	if (given->narguments > HEDDLE_KERNEL_MAXARGUMENTS)
		return heddle_refuse(-EINVAL, "kernel %s: more than %d arguments", given->name,
		                     HEDDLE_KERNEL_MAXARGUMENTS);
	if (!starpu_is_initialized() || !starpu_opencl_worker_get_count())
		return heddle_refuse(-ENODEV, "kernel %s: no OpenCL worker", given->name);
	return heddle_variables_check(environ);
}

static int request_make(const struct heddle_kernel *given, struct heddle_kernel_request **made)
{
	struct heddle_kernel_request *request;
	int status = kernel_check(given);

	if (status)
		return status;
	request = calloc(1, sizeof(*request));
	if (!request)
		return -ENOMEM;
	starpu_pthread_mutex_init(&request->mutex, NULL);
	starpu_pthread_cond_init(&request->ended, NULL);
	status = request_init(request, given);
	if (status)
		request_free(request);
	else
		*made = request;
	return status;
}

HEDDLE_API int heddle_kernel_submit(const struct heddle_kernel *given,
                                    struct heddle_kernel_request **made)
{
	struct heddle_kernel_request *request;
	int status = request_make(given, &request);

	if (status)
		return status;
	request->detached = !made;
	status = control_submit(request);
	if (status)
		request_free(request);
	else if (made)
		*made = request;
	return status;
}

HEDDLE_API int heddle_kernel_classes(const struct heddle_kernel *given,
                                     struct heddle_kernel_access *accesses, const char **refusal)
{
	struct heddle_kernel_request *request;
	int status = request_make(given, &request);

	if (status)
		return status;
	if (refusal)
		*refusal = request->aliased ? "two of its arguments are one array"
		                            : request->kernel->index.refusal;
	for (unsigned a = 0; a < given->narguments && !status; a++) {
		struct index_launch launch = {&request->range, request->integers, request->bytes};
		enum index_class read = INDEX_UNUSED, write = INDEX_UNUSED;

		status = index_classes(&request->kernel->index, &launch, a, &read, &write);
		if (given->arguments[a].mode == STARPU_R && !request->aliased)
			write = INDEX_UNUSED;
		accesses[a].read = index_class_name(read);
		accesses[a].write = index_class_name(write);
	}
	request_free(request);
	return status;
}

HEDDLE_API int heddle_kernel_wait(struct heddle_kernel_request *request,
                                  struct heddle_kernel_stats *stats)
{
	int status;

	starpu_pthread_mutex_lock(&request->mutex);
	while (!request->done)
		starpu_pthread_cond_wait(&request->ended, &request->mutex);
	starpu_pthread_mutex_unlock(&request->mutex);
	status = request->status;
	if (stats)
		*stats = request->stats;
	request_free(request);
	return status;
}

#else

HEDDLE_API int heddle_kernel_submit(const struct heddle_kernel *given,
                                    struct heddle_kernel_request **made)
{
	return heddle_refuse(-ENODEV, "kernel %s: this StarPU has no OpenCL driver",
	                     given && given->name ? given->name : "");
}

HEDDLE_API int heddle_kernel_classes(const struct heddle_kernel *given,
                                     struct heddle_kernel_access *accesses, const char **refusal)
{
	return heddle_kernel_submit(given, NULL);
}

/* There is no request to wait for. */
HEDDLE_API int heddle_kernel_wait(struct heddle_kernel_request *request,
                                  struct heddle_kernel_stats *stats)
{
	return -EINVAL;
}

HEDDLE_API void heddle_kernels_unload(void)
{
}

#endif

HEDDLE_API int heddle_kernel_run(const struct heddle_kernel *given,
                                 struct heddle_kernel_stats *stats)
{
	struct heddle_kernel_request *request;
	int status = heddle_kernel_submit(given, &request);

	return status ? status : heddle_kernel_wait(request, stats);
}
