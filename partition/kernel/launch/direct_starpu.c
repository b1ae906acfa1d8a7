/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Direct launches: the thread that submits a launch decides who computes what, and enqueues the
 * largest part itself instead of waking the device's worker for it. To a worker and back it
 * takes two changes of thread, 60 to 95 us where all cores computed just before.
 *
 * The launch stays a node of the task graph (control_may_here()). Who calls heddle_kernel_run()
 * ends the part; of heddle_kernel_submit() who waits does, or, where nobody waits when it is
 * over, OpenCL's thread that tells so. While it is under way the device is claimed: tasks of
 * the same kernel wait there.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <errno.h>
#include <stdlib.h>

#include "partition/kernel/launch/direct.h"
#include "partition/kernel/launch/kernel_private.h"
#include "support/message.h"

/** A part under way. */
struct direct {
	struct part *part;
	bool ended;    /* somebody ends it, or has */
	unsigned refs; /* who waits, and OpenCL */
};

bool direct_wanted(const struct heddle_kernel_request *request)
{
	struct kernel_direct_facts facts = {
	    .allowed = request->kernel->direct,
	    .shares = request->split && !request_in_blocks(request),
	    .known = request_profiled(request),
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

void direct_take(struct heddle_kernel_request *request, struct kernel_device *device, size_t n)
{
	if (request->control.here && device_claim_ready(request, device, n))
		request->here = device;
}

void direct_leave(struct heddle_kernel_request *request)
{
	if (request->here)
		device_leave(request->kernel, request->here);
	request->here = NULL;
}

/* What failed here is computed once more, on the worker, whose failure counts. */
static void part_retry(struct part *part, int status)
{
	heddle_explain("kernel %s: its direct launch failed; its worker computes",
	               part->request->kernel->name);
	part->direct = false;
	part->in_bytes = part->out_bytes = part->in_place_bytes = part->out_place_bytes = 0;
	if (!part_task_submit(part))
		return;
	part->status = status;
	part_end(part);
}

static void part_over(struct part *part, int status, bool waited)
{
	struct kernel *kernel = part->request->kernel;

	status = device_end(part, status, waited);
	device_leave(kernel, part->device);
	if (status)
		part_retry(part, status);
	else
		part_end(part);
}

/* Whoever comes first ends the part. */
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

/* OpenCL tells when the queue has come to here.
 * @return 0; 1: it will not */
static int tell_end(struct direct *direct, cl_command_queue queue)
{
	cl_event event;

	if (clEnqueueMarker(queue, &event))
		return 1;
	if (!clFlush(queue) && !clSetEventCallback(event, CL_COMPLETE, all_done, direct))
		return 0;
	clReleaseEvent(event);
	return 1;
}

/* The launch may be over, and freed, before this returns. */
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
	if (tell_end(direct, queue))
		direct_end(direct, 0, false);
}

void direct_launch(struct part *part)
{
	cl_command_queue queue;
	int status;

	part->direct = true;
	status = device_begin(part, &queue);
	if (status)
		part_over(part, status, false);
	else
		wait_later(part, queue);
}

void direct_wait(struct heddle_kernel_request *request)
{
	if (request->later)
		part_over(request->later, 0, false);
	else
		direct_end(request->direct, 0, false);
}

#endif
