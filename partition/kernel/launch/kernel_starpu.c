/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A kernel launch as one node of StarPU's task graph, from heddle_kernel_submit() to its end.
 */
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <heddle/heddle.h>
#include <heddle/kernel.h>

#include "support/message.h"

#ifdef HEDDLE_USE_OPENCL

#include <unistd.h>

#include "partition/common/workers_starpu.h"
#include "partition/kernel/launch/ahead.h"
#include "partition/kernel/launch/device_starpu.h"
#include "partition/kernel/launch/kept_starpu.h"

/* Launches that have begun and not ended. */
static unsigned begun;

/* ---- the steps of a launch ---- */

/* Distributes the groups, after the dry run if there was one. */
static int groups_distribute(struct heddle_kernel_request *request)
{
	return kernel_in_blocks(request) ? kernel_blocks_start(request)
	                                 : kernel_shares_submit(request);
}

/* Says what the first launch that computed waited for, if that took long. */
static void waits_tell(struct kernel *kernel)
{
	struct kernel_waits waits;
	double all_us;

	starpu_pthread_mutex_lock(&kernel->mutex);
	waits = kernel->waits;
	kernel->waits.told = true;
	starpu_pthread_mutex_unlock(&kernel->mutex);
	all_us = waits.analysis_us + waits.compilers_us + waits.trials_us;
	if (waits.told || !kernel->wait_us || all_us < kernel->wait_us)
		return;
	heddle_warn("kernel %s: its first launch waited %.1f s: %.1f s for its analysis, %.1f s "
	            "for compilers, %.1f s for trials on each device",
	            kernel->name, all_us / 1e6, waits.analysis_us / 1e6, waits.compilers_us / 1e6,
	            waits.trials_us / 1e6);
}

static struct heddle_kernel_worker_stats *
stats_of(struct heddle_kernel_request *request, const struct kernel_device *device, double start_us)
{
	struct heddle_kernel_stats *stats = &request->stats;
	struct heddle_kernel_worker_stats *worker = NULL;

	for (unsigned w = 0; w < stats->nworkers && !worker; w++)
		if (stats->workers[w].id == device->worker)
			worker = &stats->workers[w];
	if (worker)
		return worker;
	worker = &stats->workers[stats->nworkers++];
	*worker = (struct heddle_kernel_worker_stats){.id = device->worker, .start_us = start_us};
	memcpy(worker->name, device->title, sizeof(worker->name));
	return worker;
}

/* What devices gave of earlier launches. */
static void fetched_count(struct heddle_kernel_request *request)
{
	struct kernel *kernel = request->kernel;

	for (unsigned d = 0; d < kernel->ndevices; d++)
		if (request->fetched[d])
			stats_of(request, &kernel->devices[d], 0)->out_bytes += request->fetched[d];
}

static void request_end(struct heddle_kernel_request *request)
{
	int status = kernel_kept_end(request);

	if (status && !request->status) {
		control_say(&request->control);
		request->status = status;
	}
	fetched_count(request);
	request->stats.us = starpu_timing_now() - request->start_us;
	if (!request->status) {
		waits_tell(request->kernel);
		kernel_shape_learn(request);
	}
	__atomic_sub_fetch(&begun, 1, __ATOMIC_RELAXED);
	control_end(&request->control);
}

/* Starts what comes next when no part is under way. `pending` counts this function while it
 * submits, so that no part that ends calls it meanwhile. */
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
			status = kernel_lost_submit(request);
		} else {
			request_end(request);
			return;
		}
		starpu_pthread_mutex_lock(&request->mutex);
		if (status) {
			/* The launch ends when the parts that were submitted have ended. */
			request->nlost = 0;
			request->status = status;
		}
		idle = !--request->pending;
		starpu_pthread_mutex_unlock(&request->mutex);
	} while (idle);
}

/* ---- parts that have ended ---- */

static void part_count(struct part *part)
{
	struct heddle_kernel_worker_stats *worker =
	    stats_of(part->request, part->device, part->start_us);

	worker->groups += part->n;
	worker->in_us += part->in_us;
	worker->compute_us += part->compute_us;
	worker->out_us += part->out_us;
	worker->merge_us += part->merge_us;
	worker->in_bytes += part->in_bytes;
	worker->out_bytes += part->out_bytes;
	worker->kept_bytes += part->kept_bytes;
}

/* A device that failed gets no more of this kernel. Its groups are lost. For a mistake of the
 * caller's no device is to blame, and none is asked again. */
static void part_lose(struct part *part)
{
	struct heddle_kernel_request *request = part->request;

	if (part->status == -EINVAL) {
		__atomic_store_n(&request->barred, ~0U, __ATOMIC_RELAXED);
	} else if (part->device && !part->blameless) {
		starpu_pthread_mutex_lock(&request->kernel->mutex);
		__atomic_or_fetch(&request->kernel->failed,
		                  1U << (part->device - request->kernel->devices),
		                  __ATOMIC_RELAXED);
		starpu_pthread_mutex_unlock(&request->kernel->mutex);
	}
	if (!part->dry)
		request->lost[request->nlost++] = (struct range_lost){part->from, part->n};
	if (request->error != -ENODATA)
		request->error = part->status;
}

static void part_ended(struct part *part)
{
	struct heddle_kernel_request *request = part->request;
	bool own = part == &request->room, last;

	starpu_pthread_mutex_lock(&request->mutex);
	request->compiled = request->compiled || (part->compiled && !part->dry);
	if (part->status)
		part_lose(part);
	else if (!part->dry)
		part_count(part);
	if (request->blocks) {
		kernel_block_ended(part);
		starpu_pthread_mutex_unlock(&request->mutex);
		kernel_blocks_fill(request);
		starpu_pthread_mutex_lock(&request->mutex);
	}
	last = !--request->pending;
	starpu_pthread_mutex_unlock(&request->mutex);
	if (!own)
		free(part);
	if (last)
		request_step(request);
}

/* ---- the beginning ---- */

/* On one device, with nothing measured before. */
static int whole_submit(struct heddle_kernel_request *request)
{
	if (request->split)
		heddle_explain("kernel %s runs on one device: %s", request->kernel->name,
		               kernel_refusal(request));
	return kernel_part_submit(
	    &(struct part){.request = request,
	                   .device = request->first ? request->first : request->here,
	                   .n = request->stats.groups});
}

/* What devices alone have returns where it has to. */
static int data_begin(struct heddle_kernel_request *request)
{
	bool shares =
	    request->split && !kernel_in_blocks(request) && !kernel_devices_untimed(request);
	int status;

	kernel_contents_find(request);
	do
		status = kernel_kept_begin(request, shares);
	while (!status && kernel_contents_take(request));
	return status;
}

/* Called when the data is in main memory: on the worker of a device that has a part, or in the
 * thread that submitted the launch. Either computes a part as well. */
static void request_start(void *work)
{
	struct heddle_kernel_request *request = work;
	bool idle;
	int status;

	__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
	status = data_begin(request);
	request->start_us = starpu_timing_now();
	request->stats.queue_us = request->start_us - request->submit_us;
	request->pending = 1;
	request->here = kernel_device_of(request->kernel, starpu_worker_get_id());
	if (request->control.status)
		status = request->control.status;
	else if (status)
		control_say(&request->control);
	else if (!request->split)
		status = whole_submit(request);
	else if (kernel_in_blocks(request) || !kernel_devices_untimed(request))
		status = groups_distribute(request);
	else
		status = kernel_profiles_submit(request);
	kernel_part_own_run(request);
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

/* A freed request for the next launch: requests are large. */
static struct heddle_kernel_request *spare;

/* Launches that nobody waits for and that are not freed. StarPU gives their data to others a
 * little before it says that they have ended. */
static struct ahead unwaited;
static starpu_pthread_mutex_t unwaited_mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;
static starpu_pthread_cond_t few_unwaited = STARPU_PTHREAD_COND_INITIALIZER;

/* Whether this thread is one of StarPU's, or runs a callback there: others may wait for it. */
static bool in_task(void)
{
	return starpu_task_get_current() || starpu_worker_get_id() >= 0;
}

static void unwaited_ended(void)
{
	starpu_pthread_mutex_lock(&unwaited_mutex);
	if (ahead_ended(&unwaited))
		starpu_pthread_cond_broadcast(&few_unwaited);
	starpu_pthread_mutex_unlock(&unwaited_mutex);
}

static void unwaited_wait(void)
{
	starpu_pthread_mutex_lock(&unwaited_mutex);
	while (unwaited.n)
		starpu_pthread_cond_wait(&few_unwaited, &unwaited_mutex);
	starpu_pthread_mutex_unlock(&unwaited_mutex);
}

/* A submission looks so often whether it waits in vain: for launches that wait for this thread.
 * Nothing runs then, or StarPU is paused, which it does not tell. */
#define LOOK_NS 100000000
#define PAUSED_US 10e6

/* Waits for a while for launches to end. The mutex is held. */
static void unwaited_look(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += LOOK_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	starpu_pthread_cond_timedwait(&few_unwaited, &unwaited_mutex, &until);
}

/* Counts a launch that nobody waits for. Waits first where too many are under way. */
static void unwaited_begin(unsigned usual)
{
	double ended_us = starpu_timing_now();
	unsigned n;

	starpu_pthread_mutex_lock(&unwaited_mutex);
	if (ahead_full(&unwaited, usual) && !in_task())
		while (!ahead_few(&unwaited)) {
			n = unwaited.n;
			unwaited_look();
			if (unwaited.n < n)
				ended_us = starpu_timing_now();
			else if ((!__atomic_load_n(&begun, __ATOMIC_RELAXED) &&
			          starpu_task_nready() <= 0) ||
			         starpu_timing_now() > ended_us + PAUSED_US)
				ahead_give_up(&unwaited);
		}
	unwaited.n++;
	starpu_pthread_mutex_unlock(&unwaited_mutex);
}

static void request_free(void *work)
{
	struct heddle_kernel_request *request = work;
	bool waited = !request->control.detached;

	kernel_kept_leave(request);
	kernel_arguments_free(request);
	kernel_shape_leave(request);
	starpu_pthread_mutex_destroy(&request->mutex);
	control_fini(&request->control);
	heddle_strategy_destroy(request->blocks);
	free(__atomic_exchange_n(&spare, request, __ATOMIC_ACQ_REL));
	if (!waited)
		unwaited_ended();
}

void heddle_kernels_changed(const void *memory, size_t bytes)
{
	kernel_kept_changed(memory, bytes);
}

int heddle_kernels_fetch(const void *memory, size_t bytes)
{
	return kernel_kept_fetch(memory, bytes);
}

void heddle_kernels_unload(void)
{
	/* This thread may be the one that ends a launch. */
	if (starpu_is_initialized() && in_task()) {
		heddle_warn("heddle_kernels_unload() was called in a task or callback: "
		            "nothing is freed");
		return;
	}
	unwaited_wait();
	kernel_cache_free();
	kernel_kept_free();
	kernel_queues_free();
	free(__atomic_exchange_n(&spare, NULL, __ATOMIC_ACQ_REL));
}

/* The worker that will do most by the estimates, so that one task is enough for both. */
static int main_worker(struct heddle_kernel_request *request)
{
	struct kernel *kernel = request->kernel;
	int worker = -1;

	if (request->first)
		worker = request->first->worker;
	starpu_pthread_mutex_lock(&kernel->mutex);
	if (request->split && request->shape->main >= 0)
		worker = request->shape->main;
	for (unsigned d = 0; d < kernel->ndevices && worker < 0; d++)
		if (!(request->barred >> d & 1))
			worker = kernel->devices[d].worker;
	starpu_pthread_mutex_unlock(&kernel->mutex);
	return worker;
}

/* All of the launch's data, for its control task. */
static void data_take(struct heddle_kernel_request *request)
{
	for (unsigned a = 0; a < request->given.narguments; a++) {
		const struct heddle_kernel_argument *argument = &request->given.arguments[a];

		/* What the kernel does not write of data stays as it was. */
		if (argument->type == HEDDLE_KERNEL_HANDLE && request->same[a] == (int)a)
			control_data(&request->control, argument->handle,
			             kernel_kept_writes(request, a) ? STARPU_RW : STARPU_R);
	}
}

/* Where the control task runs. */
static void place_take(struct heddle_kernel_request *request)
{
	if (kernel_in_blocks(request))
		return;
	if (request->split || request->first)
		control_on_opencl(&request->control, main_worker(request));
	else if (!work_policy_is(0, "heteroprio")) /* which wants tasks for everybody */
		control_on_opencl(&request->control, -1);
}

/* Whether the active policy splits the kernel, and by which block strategy. Policies that are
 * block strategies treat it as a loop, skmd and heddle split it in shares, others place it whole.
 */
static bool policy_splits(const char **strategy)
{
	const struct heddle_policy *ours = work_policy_ours(0);

	*strategy = NULL;
	if (!ours)
		return false;
	if (!strcmp(ours->name, ours->strategy))
		*strategy = ours->strategy;
	return *strategy || !strcmp(ours->name, "skmd") || !strcmp(ours->name, "heddle");
}

/* Where no device is left, all are asked again: launches of other groups or less memory may
 * succeed, and what does not compile is said once more. */
static void devices_forgive(const struct heddle_kernel_request *request)
{
	struct kernel *kernel = request->kernel;
	unsigned asked = kernel_devices(request);

	starpu_pthread_mutex_lock(&kernel->mutex);
	if ((kernel->failed & asked) == asked)
		__atomic_and_fetch(&kernel->failed, ~asked, __ATOMIC_RELAXED);
	starpu_pthread_mutex_unlock(&kernel->mutex);
}

static int workers_take(struct heddle_kernel_request *request)
{
	const struct heddle_kernel *given = &request->given;
	const struct kernel *kernel = request->kernel;
	unsigned nworkers = given->workers ? given->nworkers : 0;

	request->barred = nworkers ? ~0U : 0;
	for (unsigned w = 0; w < nworkers; w++) {
		struct kernel_device *device = kernel_device_of(request->kernel, given->workers[w]);

		if (!device)
			return heddle_refuse(-EINVAL, "kernel %s: worker %d is no OpenCL worker",
			                     given->name, given->workers[w]);
		request->barred &= ~(1U << (device - kernel->devices));
		request->first = w ? request->first : device;
	}
	devices_forgive(request);
	return 0;
}

/* The texts of methods. That of SKMD as published may say the class of the kernel. */
static int method_take(struct heddle_kernel_request *request)
{
	static const struct {
		const char *text;
		enum split_method method;
		enum kernel_class declared;
	} known[] = {
	    {"heddle", SPLIT_HEDDLE, KERNEL_CLASS_FOUND},
	    {"paper", SPLIT_PAPER, KERNEL_CLASS_FOUND},
	    {"published", SPLIT_PUBLISHED, KERNEL_CLASS_FOUND},
	    {"published:contiguous=1", SPLIT_PUBLISHED, KERNEL_CLASS_CONTIGUOUS},
	    {"published:contiguous=0", SPLIT_PUBLISHED, KERNEL_CLASS_SCATTERED},
	    {"linear", SPLIT_LINEAR, KERNEL_CLASS_FOUND},
	    {"single", SPLIT_SINGLE, KERNEL_CLASS_FOUND},
	};
	const char *method = request->given.method;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		request->method = known[i].method;
		request->declared = known[i].declared;
		if (!method || !strcmp(method, known[i].text))
			return 0;
	}
	return heddle_refuse(-EINVAL, "kernel %s: no method of sharing out is called %s",
	                     request->given.name, method);
}

/* All that is given but for the arguments, of which those taken so far count. */
static void given_take(struct heddle_kernel *to, const struct heddle_kernel *given)
{
	memcpy(to, given, offsetof(struct heddle_kernel, arguments));
	to->narguments = 0;
	to->split = given->split;
	to->method = given->method;
	to->workers = given->workers;
	to->nworkers = given->nworkers;
	memcpy(to->offset, given->offset, sizeof(to->offset));
}

/* A group size of 0 in all dimensions is for us to choose. */
static int range_take(struct ndrange *range, const struct heddle_kernel *given)
{
	unsigned dimensions = given->dimensions < 3 ? given->dimensions : 3;
	const size_t *local = given->local;
	bool chosen = true;
	size_t ours[3];
	int status;

	for (unsigned d = 0; d < dimensions; d++)
		chosen = chosen && !local[d];
	if (chosen) {
		ndrange_local_choose(dimensions, given->global, ours);
		local = ours;
	}
	status = ndrange_make(given->dimensions, given->global, local, range);
	return status ? status : ndrange_shift(range, given->offset);
}

static int request_init(struct heddle_kernel_request *request, const struct heddle_kernel *given)
{
	int status = range_take(&request->range, given);

	given_take(&request->given, given);
	if (!status)
		status = kernel_arguments_take(request, given);
	if (!status)
		status = kernel_cache_find(&request->given, &request->range, &request->kernel);
	if (!status)
		status = kernel_arguments_compare(request);
	if (!status)
		status = workers_take(request);
	if (!status)
		status = method_take(request);
	if (!status)
		status = kernel_shape_find(request);
	if (!status)
		status = kernel_shape_look(request);
	request->arm = KERNEL_ARMS;
	request->stats.groups = status ? 0 : ndrange_groups(&request->range);
	if (given->split == HEDDLE_KERNEL_BY_POLICY)
		request->split = policy_splits(&request->strategy);
	else
		request->split = given->split == HEDDLE_KERNEL_ALWAYS;
	return status;
}

static int platform_check(const char *name)
{
	static bool right;
	int status = __atomic_load_n(&right, __ATOMIC_RELAXED) ? 0 : heddle_starpu_check();

	if (status)
		return status;
	if (!starpu_is_initialized() || !starpu_opencl_worker_get_count())
		return heddle_refuse(-ENODEV,
		                     "kernel %s: no OpenCL worker (for an OpenCL of CPUs: "
		                     "STARPU_OPENCL_ON_CPUS=1, and STARPU_NCPU to leave it cores)",
		                     name);
	if (!__atomic_exchange_n(&right, true, __ATOMIC_RELAXED))
		kernel_threads_allow();
	return 0;
}

static int kernel_check(const struct heddle_kernel *given)
{
	if (!given || !given->source || !given->name)
		return heddle_refuse(-EINVAL, "a kernel without source or name");
	if (given->nworkers && !given->workers)
		return heddle_refuse(-EINVAL, "kernel %s: nworkers is %u, but workers is NULL",
		                     given->name, given->nworkers);
	if (given->narguments > HEDDLE_KERNEL_MAXARGUMENTS)
		return heddle_refuse(-EINVAL, "kernel %s: more than %d arguments", given->name,
		                     HEDDLE_KERNEL_MAXARGUMENTS);
	return platform_check(given->name);
}

static int request_make(const struct heddle_kernel *given, struct heddle_kernel_request **made)
{
	struct heddle_kernel_request *request;
	int status = kernel_check(given);

	if (status)
		return status;
	request = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQ_REL);
	if (!request)
		request = malloc(sizeof(*request));
	if (!request)
		return -ENOMEM;
	memset(request, 0, offsetof(struct heddle_kernel_request, mutex));
	memset(&request->stats, 0, offsetof(struct heddle_kernel_stats, workers));
	starpu_pthread_mutex_init(&request->mutex, NULL);
	control_init(&request->control, request_start, request_free, request);
	request->part_ended = part_ended;
	status = request_init(request, given);
	if (status)
		request_free(request);
	else
		*made = request;
	return status;
}

/* @param waits the caller waits for it at once */
static int request_submit(const struct heddle_kernel *given, bool waits,
                          struct heddle_kernel_request **made)
{
	struct heddle_kernel_request *request;
	struct kept_own outer;
	int status = request_make(given, &request);

	if (status)
		return status;
	if (!made)
		unwaited_begin(request->kernel->ahead);
	kernel_kept_note(request);
	request->submit_us = starpu_timing_now();
	request->waits = waits;
	data_take(request);
	if (kernel_direct_wanted(request))
		control_may_here(&request->control, waits);
	if (!control_is_here(&request->control))
		place_take(request);
	kernel_kept_submit_begin(request, &outer);
	status = control_submit(&request->control, "kernel", request->kernel->name, 0, !made);
	kernel_kept_submit_end(&outer);
	if (status)
		request_free(request);
	else if (made)
		*made = request;
	return status;
}

int heddle_kernel_submit(const struct heddle_kernel *given, struct heddle_kernel_request **made)
{
	return request_submit(given, false, made);
}

int heddle_kernel_classes(const struct heddle_kernel *given, struct heddle_kernel_access *accesses,
                          const char **refusal)
{
	struct heddle_kernel_access found[HEDDLE_KERNEL_MAXARGUMENTS];
	struct heddle_kernel_request *request;
	const char *why;
	int status = request_make(given, &request);

	if (status)
		return status;
	starpu_pthread_mutex_lock(&request->kernel->mutex);
	status = kernel_shape_prepare(request);
	why = status ? NULL : kernel_refusal(request);
	starpu_pthread_mutex_unlock(&request->kernel->mutex);
	for (unsigned a = 0; a < given->narguments && !status; a++) {
		struct index_launch launch = kernel_index_launch(request);
		enum index_class read = INDEX_UNUSED, write = INDEX_UNUSED;

		status = index_classes(&request->kernel->index, &launch, request->same[a], &read,
		                       &write);
		if (request->given.arguments[a].mode == STARPU_R)
			write = INDEX_UNUSED;
		found[a].read = index_class_name(read);
		found[a].write = index_class_name(write);
	}
	if (!status)
		memcpy(accesses, found, given->narguments * sizeof(found[0]));
	if (refusal && !status)
		*refusal = why;
	request_free(request);
	return status;
}

/* By earlier launches; 0: not known. */
static double estimate_us(const struct heddle_kernel_request *request)
{
	const struct bandit *arms = &request->shape->choice.arms;
	double us;

	starpu_pthread_mutex_lock(&request->kernel->mutex);
	us = bandit_us(arms, arms->best);
	starpu_pthread_mutex_unlock(&request->kernel->mutex);
	return us;
}

int heddle_kernel_wait(struct heddle_kernel_request *request, struct heddle_kernel_stats *stats)
{
	int status;

	if (request->later || request->direct)
		kernel_direct_wait(request);
	if (!control_is_over(&request->control)) {
		double us = estimate_us(request);

		if (us > 0)
			control_wait_until(&request->control, request->submit_us + us,
			                   request->kernel->poll_us);
	}
	control_wait(&request->control);
	status = control_failed(&request->control, request->status);
	if (stats)
		memcpy(stats, &request->stats,
		       offsetof(struct heddle_kernel_stats, workers) +
		           request->stats.nworkers * sizeof(stats->workers[0]));
	request_free(request);
	return status;
}

#else

int heddle_kernel_submit(const struct heddle_kernel *given, struct heddle_kernel_request **made)
{
	return heddle_refuse(-ENODEV, "kernel %s: this StarPU has no OpenCL driver",
	                     given && given->name ? given->name : "");
}

int heddle_kernel_classes(const struct heddle_kernel *given, struct heddle_kernel_access *accesses,
                          const char **refusal)
{
	return heddle_kernel_submit(given, NULL);
}

/* There is no request to wait for. */
int heddle_kernel_wait(struct heddle_kernel_request *request, struct heddle_kernel_stats *stats)
{
	return -EINVAL;
}

void heddle_kernels_changed(const void *memory, size_t bytes)
{
}

int heddle_kernels_fetch(const void *memory, size_t bytes)
{
	return 0;
}

void heddle_kernels_unload(void)
{
}

static int request_submit(const struct heddle_kernel *given, bool waits,
                          struct heddle_kernel_request **made)
{
	return heddle_kernel_submit(given, made);
}

#endif

int heddle_kernel_run(const struct heddle_kernel *given, struct heddle_kernel_stats *stats)
{
	struct heddle_kernel_request *request;
	int status = request_submit(given, true, &request);

	return status ? status : heddle_kernel_wait(request, stats);
}
