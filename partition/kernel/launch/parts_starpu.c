/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parts of a launch: on a device's worker as a task, or in the thread that submits the launch
 * (direct launches), which saves two changes of thread, 60 to 95 us. What their times teach is
 * recorded here. While a direct part is under way its device is claimed, so tasks of the same
 * kernel wait for it.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "partition/kernel/launch/device_starpu.h"
#include "partition/common/task_starpu.h"
#include "partition/kernel/launch/kept_starpu.h"
#include "partition/kernel/launch/direct.h"
#include "support/message.h"

/* A dry run takes at most so long on each device, as far as the shortest runs of smaller sizes
 * predict. */
#define PROFILE_US 500000.0
/* It repeats each size so often, but not after so long. */
enum { REPEATS = 3 };
#define REPEATED_US 20000.0
/* Weight of a measurement in the table. */
#define FOLLOW 0.5
/* A measurement counts as at most so many times the estimate. */
#define LATE 2.0
/* Transfers of fewer bytes measure latency, not bandwidth. */
#define SMALL 65536
/* A relative difference that may change decisions. */
#define CHANGE 0.05

static void rate_follow(double *rate, size_t bytes, double us)
{
	if (bytes >= SMALL && us > 0)
		*rate = *rate > 0 ? (*rate + bytes / us) / 2 : bytes / us;
}

/* Takes in a measured time. The first one of a process is left out: it may include compiling. The
 * second one corrects what earlier runs measured, where they are far apart. */
static void time_learn(struct kernel_device *device, size_t groups, double us)
{
	struct kernel_table *table = &device->known.table;
	double estimate = table->npoints ? kernel_table_time(table, groups) : 0;

	if (device->trust == KERNEL_UNSEEN) {
		device->trust = KERNEL_DOUBTED;
		return;
	}
	if (device->trust == KERNEL_DOUBTED && estimate > 0 &&
	    (us > LATE * estimate || us < estimate / LATE))
		kernel_table_scale(table, us / estimate);
	else if (estimate > 0 && us > LATE * estimate)
		us = LATE * estimate; /* one late part does not make a device slow */
	device->trust = KERNEL_TRUSTED;
	kernel_table_measured(table, groups, us, FOLLOW);
}

static bool differs(double a, double b)
{
	return fabs(a - b) > CHANGE * fmax(a, b);
}

/* While other devices compute, the time of a part measures what sharing costs, not the device's
 * speed. The paper's methods do not know such a cost. */
static bool was_shared(const struct part *part)
{
	const struct heddle_kernel_request *request = part->request;

	return part->alone_us > 0 && request->method == SPLIT_HEDDLE &&
	       part->n < request->stats.groups && part->device->trust == KERNEL_TRUSTED;
}

/* Takes in a part's times. */
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

/* Once more: of what the device holds it knows only what it alone has. */
static int part_again(struct part *part)
{
	int status = 0;

	if (!part->dry)
		status = kernel_kept_gather(part->request, part->device, part->from, part->n);
	if (!status)
		return kernel_device_run(part);
	/* Another device has failed to give what is read, and would to any. */
	part->blameless = true;
	__atomic_store_n(&part->request->barred, ~0U, __ATOMIC_RELAXED);
	return status;
}

/* Computes a part on this worker. Where memory is short, other kernels free their buffers and the
 * part runs once more. */
static int part_compute(struct part *part)
{
	struct part again = *part;
	int status = part->again ? part_again(part) : kernel_device_run(part);

	if (status != -ENOMEM ||
	    !kernel_cache_buffers_drop(part->request->kernel, part->device->worker))
		return status;
	heddle_explain("kernel %s: once more, without the buffers that other kernels keep",
	               part->request->kernel->name);
	*part = again;
	return part_again(part);
}

/* What smaller sizes predict; 0: there is none. */
static double likely_us(const struct part *part)
{
	struct kernel *kernel = part->request->kernel;
	const struct kernel_table *table = &part->device->known.table;
	double us;

	starpu_pthread_mutex_lock(&kernel->mutex);
	us = table->npoints ? kernel_table_time(table, part->n) : 0;
	starpu_pthread_mutex_unlock(&kernel->mutex);
	return us;
}

/* Takes the shortest of some runs: the first ones of a size often take longer. A run that is late
 * does not count alone, if it is not too long: something else may have held it up. Nor does the
 * first of all, of which nothing tells whether it is late.
 * @param[in,out] spent_us the time of the shortest one is added */
static int profile_size(struct part *part, double *spent_us)
{
	double best_us = INFINITY, all_us = 0, late_us = LATE * likely_us(part);
	struct part best = *part;
	int status = 0;

	for (int i = 0;
	     i < REPEATS && !status &&
	     (!i || all_us < REPEATED_US || (i == 1 && best_us > late_us && best_us < PROFILE_US));
	     i++) {
		struct part run = *part;
		double us;

		status = part_compute(&run);
		us = run.in_us + run.compute_us;
		all_us += us;
		if (status || us >= best_us)
			continue;
		best = run;
		best_us = us;
	}
	if (!status) {
		part_learn(&best);
		*spent_us += best_us;
	}
	return status;
}

/* Dry runs of growing size. One group comes first, for what the first launch alone does. */
static int profile_run(struct part *whole)
{
	static const size_t divisors[] = {SIZE_MAX, 256, 64, 16, 4, 1};
	struct kernel *kernel = whole->request->kernel;
	size_t groups = whole->n, last = 0;
	struct part part = *whole;
	double begin_us = starpu_timing_now(), spent_us = 0;
	int status;

	part.n = 1;
	status = part_compute(&part);
	part = *whole;
	kernel_waited(kernel, &kernel->waits.compilers_us, begin_us);
	starpu_pthread_mutex_lock(&kernel->mutex);
	part.device->trust = KERNEL_TRUSTED;
	starpu_pthread_mutex_unlock(&kernel->mutex);
	begin_us = starpu_timing_now();
	for (size_t i = 0; i < sizeof(divisors) / sizeof(divisors[0]) && !status; i++) {
		size_t n = groups / divisors[i] + !!(groups % divisors[i]);

		/* The time may grow in proportion to the size. */
		if (last && spent_us * n / last > PROFILE_US)
			break;
		if (n == last)
			continue;
		part.n = last = n;
		status = profile_size(&part, &spent_us);
	}
	kernel_waited(kernel, &kernel->waits.trials_us, begin_us);
	return status;
}

static void part_run(struct part *part)
{
	part->start_us = starpu_timing_now() - part->request->start_us;
	if (!part->device)
		part->device =
		    kernel_device_of(part->request->kernel, starpu_worker_get_id_check());
	if (!part->device)
		part->status = -ENODEV;
	else if (part->dry)
		part->status = profile_run(part);
	else
		part->status = part_compute(part);
	if (part->status)
		control_say(&part->request->control);
	if (!part->status && !part->dry && !part->unprofiled)
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

/* The callback of parts' tasks. */
static void part_ended(void *arg)
{
	struct part *part = arg;

	part->request->part_ended(part);
}

static void part_end(struct part *part)
{
	if (!part->status && !part->unprofiled)
		part_learn(part);
	part_ended(part);
}

static int part_task_submit(struct part *part)
{
	struct starpu_task *task = starpu_task_create();

	if (!task)
		return -ENOMEM;
	task->cl = &part_codelet;
	task->cl_arg = part;
	task->callback_func = part_ended;
	task->callback_arg = part;
	if (part->device)
		work_task_pin(task, part->device->worker, 0);
	return work_task_submit(task, part->request->kernel->name);
}

/* ---- direct launches ---- */

/** A part under way. */
struct direct {
	struct part *part;
	bool ended;    /* a thread ends it or has ended it */
	unsigned refs; /* the thread that waits, and OpenCL */
};

bool kernel_direct_wanted(const struct heddle_kernel_request *request)
{
	struct kernel_direct_facts facts = {
	    .allowed = request->kernel->direct,
	    .shares = request->split && !kernel_in_blocks(request),
	    .known = !kernel_devices_untimed(request),
	    .on_worker = starpu_worker_get_id() >= 0,
	    .at_home = control_at_home(&request->control),
	    .tasks_ready = starpu_task_nready(),
	};
	const char *reason = kernel_direct_refusal(&facts);

	if (reason)
		heddle_explain("kernel %s is not launched directly: %s", request->kernel->name,
		               reason);
	return !reason;
}

void kernel_direct_take(struct heddle_kernel_request *request, struct kernel_device *device,
                        size_t n)
{
	/* Where OpenCL says that the part has ended, nothing may wait for what others have left. */
	bool ends = request->waits || !kernel_kept_away(request);

	if (request->control.here && ends && kernel_device_claim(request, device, n))
		request->here = device;
}

static void direct_leave(struct heddle_kernel_request *request)
{
	if (request->here)
		kernel_device_leave(request->kernel, request->here);
	request->here = NULL;
}

/* A part that failed here is computed once more on the worker. If it fails there too, that
 * counts. */
static void part_retry(struct part *part, int status)
{
	unsigned device = part->device - part->request->kernel->devices;

	if (!kernel_device_usable(part->request, device)) { /* what it read is lost */
		part->status = status;
		part_end(part);
		return;
	}
	heddle_explain("kernel %s: its direct launch failed; its worker computes",
	               part->request->kernel->name);
	part->direct = false;
	part->again = true;
	part->in_bytes = part->out_bytes = part->in_place_bytes = part->out_place_bytes = 0;
	part->kept_bytes = 0;
	if (!part_task_submit(part))
		return;
	part->status = status;
	part_end(part);
}

static void part_over(struct part *part, int status, bool waited)
{
	struct kernel *kernel = part->request->kernel;

	status = kernel_device_end(part, status, waited);
	kernel_device_leave(kernel, part->device);
	if (status) {
		control_say(&part->request->control);
		part_retry(part, status);
	} else {
		part_end(part);
	}
}

/* Both the thread that waits and OpenCL call this. The first one ends the part. */
static void direct_end(struct direct *direct, int status, bool waited)
{
	if (!__atomic_exchange_n(&direct->ended, true, __ATOMIC_ACQ_REL))
		part_over(direct->part, status, waited);
	if (!__atomic_sub_fetch(&direct->refs, 1, __ATOMIC_ACQ_REL))
		free(direct);
}

static void CL_CALLBACK all_done(cl_event event, cl_int state, void *arg)
{
	clReleaseEvent(event);
	direct_end(arg, state < 0 ? -EIO : 0, true);
}

/* Has OpenCL call back when all that is in the queue has finished.
 * @return 0; 1: it cannot */
static int end_notify(struct direct *direct, cl_command_queue queue)
{
	cl_event event;

	if (clEnqueueMarker(queue, &event))
		return 1;
	if (!clFlush(queue) && !clSetEventCallback(event, CL_COMPLETE, all_done, direct))
		return 0;
	clReleaseEvent(event);
	return 1;
}

/* Provides for the end of a part that is under way. The launch may end and be freed before this
 * returns. */
static void wait_later(struct part *part, cl_command_queue queue)
{
	struct heddle_kernel_request *request = part->request;
	unsigned refs = request->control.detached ? 1 : 2;
	struct direct *direct;

	if (request->waits) {
		request->later = part;
		return;
	}
	direct = malloc(sizeof(*direct));
	if (!direct) {
		part_over(part, 0, false);
		return;
	}
	*direct = (struct direct){part, false, refs};
	if (!request->control.detached)
		request->direct = direct;
	if (end_notify(direct, queue))
		direct_end(direct, 0, false);
}

static void direct_launch(struct part *part)
{
	cl_command_queue queue;
	int status;

	part->direct = true;
	status = kernel_device_begin(part, &queue);
	if (status)
		part_over(part, status, false);
	else
		wait_later(part, queue);
}

void kernel_direct_wait(struct heddle_kernel_request *request)
{
	if (request->later)
		part_over(request->later, 0, false);
	else
		direct_end(request->direct, 0, false);
}

/* ---- parts of a launch ---- */

void kernel_part_own_run(struct heddle_kernel_request *request)
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

/* The thread that distributes the groups computes a part itself, which saves a task. */
static bool is_own(const struct part *part)
{
	const struct heddle_kernel_request *request = part->request;

	return part->device && !part->dry && part->device == request->here && !request->own &&
	       (request->control.here || part->device->worker == starpu_worker_get_id());
}

int kernel_part_submit(const struct part *like)
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
