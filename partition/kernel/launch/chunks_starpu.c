/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A direct launch on one device in chunks, on two queues in turn: the device computes one chunk
 * while the data of others crosses in both directions.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/launch/device_starpu.h"
#include "partition/kernel/launch/kept_starpu.h"
#include "support/message.h"

/* With fewer bytes in all buffers, chunks save nothing. */
enum { WORTH = 1 << 20 };

/** What the chunks of a launch send and fetch, and of what launch. What a launch looked at may be
 * other contents in the next one: its plan serves no other. */
struct chunks_plan {
	bool serves, fits;
	unsigned n, explained;
	struct ndrange range;
	size_t bytes[HEDDLE_KERNEL_MAXARGUMENTS];
	int64_t integers[KERNEL_MAXINTEGERS];
	enum starpu_data_access_mode modes[HEDDLE_KERNEL_MAXARGUMENTS];
	size_t cuts[KERNEL_CHUNKS_MOST + 1];
	struct kernel_span send[KERNEL_CHUNKS_MOST][HEDDLE_KERNEL_MAXARGUMENTS];
	struct kernel_span fetch[KERNEL_CHUNKS_MOST][HEDDLE_KERNEL_MAXARGUMENTS];
};

/* ---- plans ---- */

static bool plan_serves(const struct chunks_plan *plan, const struct part *part)
{
	const struct heddle_kernel_request *request = part->request;
	unsigned n = request->given.narguments;

	for (unsigned a = 0; a < n; a++)
		if (plan->modes[a] != request->given.arguments[a].mode)
			return false;
	return plan->serves && !request->looks && plan->n == part->chunks &&
	       plan->range.dimensions == request->range.dimensions &&
	       !memcmp(plan->range.groups, request->range.groups, sizeof(plan->range.groups)) &&
	       !memcmp(plan->range.local, request->range.local, sizeof(plan->range.local)) &&
	       !memcmp(plan->range.offset, request->range.offset, sizeof(plan->range.offset)) &&
	       !memcmp(plan->bytes, request->bytes, n * sizeof(*plan->bytes)) &&
	       !memcmp(plan->integers, request->integers,
	               kernel_integers(request) * sizeof(*plan->integers));
}

static bool chunk_fits(const struct heddle_kernel_request *request, const struct index_use *uses,
                       struct kernel_span *sent, struct kernel_span *send,
                       struct kernel_span *fetch)
{
	for (unsigned a = 0; a < request->given.narguments; a++)
		if (kernel_is_buffer(&request->given.arguments[a]) &&
		    (!kernel_chunk_send(&uses[a].read, &sent[a], &send[a]) ||
		     !kernel_chunk_fetch(&uses[a], &fetch[a])))
			return false;
	return true;
}

static void plan_make(struct chunks_plan *plan, const struct part *part)
{
	const struct heddle_kernel_request *request = part->request;
	struct kernel_span sent[HEDDLE_KERNEL_MAXARGUMENTS] = {{0, 0}};
	struct index_use uses[HEDDLE_KERNEL_MAXARGUMENTS];

	memset(plan, 0, sizeof(*plan));
	plan->serves = !request->looks;
	plan->fits = true;
	plan->n = part->chunks;
	plan->range = request->range;
	memcpy(plan->bytes, request->bytes, request->given.narguments * sizeof(*plan->bytes));
	memcpy(plan->integers, request->integers,
	       kernel_integers(request) * sizeof(*plan->integers));
	for (unsigned a = 0; a < request->given.narguments; a++)
		plan->modes[a] = request->given.arguments[a].mode;
	for (unsigned i = 0; i < plan->n; i++)
		plan->cuts[i + 1] = kernel_cut_round(&request->range, part->n * (i + 1) / plan->n);
	for (unsigned i = 0; i < plan->n && plan->fits; i++) {
		size_t from = plan->cuts[i], n = plan->cuts[i + 1] - from;

		plan->fits = n && !kernel_uses(request, from, n, uses) &&
		             chunk_fits(request, uses, sent, plan->send[i], plan->fetch[i]);
	}
}

void kernel_chunks_give_up(struct part *part)
{
	starpu_pthread_mutex_lock(&part->request->kernel->mutex);
	part->request->shape->whole_only = true;
	starpu_pthread_mutex_unlock(&part->request->kernel->mutex);
	part->counts = false;
	part->chunks = 1;
}

/* Chooses part->chunks.
 * @return whether the part is to be cut */
static bool chunks_wanted(struct part *part)
{
	const struct heddle_kernel_request *request = part->request;
	const struct kernel_device *device = part->device;
	struct kernel *kernel = request->kernel;
	size_t bytes = 0;
	bool images = false;

	for (unsigned a = 0; a < request->given.narguments; a++) {
		bytes += request->bytes[a];
		images = images || kernel_image_of(&request->given.arguments[a]);
	}
	if (images || !request->waits || !part->unprofiled || part->n != request->stats.groups ||
	    device->in_host_memory || request->aliased || request->staying ||
	    request->method == SPLIT_PUBLISHED || device->memory->ranges.way == NDRANGE_EXIT ||
	    kernel_refusal(request))
		return false;
	starpu_pthread_mutex_lock(&kernel->mutex);
	if (kernel->chunks)
		part->chunks = kernel->chunks;
	else if (bytes >= WORTH && !request->shape->whole_only)
		part->chunks =
		    1U << bandit_choose(&request->shape->chunks, &kernel_chunks_rules, NULL);
	part->counts = !kernel->chunks && bytes >= WORTH && !request->shape->whole_only;
	starpu_pthread_mutex_unlock(&kernel->mutex);
	return part->chunks > 1;
}

bool kernel_chunks_prepare(struct part *part)
{
	struct device_memory *memory = part->device->memory;

	if (!chunks_wanted(part))
		return false;
	if (!memory->plan)
		memory->plan = calloc(1, sizeof(*memory->plan));
	if (!memory->plan)
		return false;
	if (!plan_serves(memory->plan, part))
		plan_make(memory->plan, part);
	if (memory->plan->fits)
		return true;
	kernel_chunks_give_up(part);
	return false;
}

void kernel_chunks_learn(const struct part *part)
{
	struct heddle_kernel_request *request = part->request;

	if (!part->counts || part->compiled)
		return;
	starpu_pthread_mutex_lock(&request->kernel->mutex);
	request->slow_chunks = !kernel_chunks_measured(
	    &request->shape->chunks, __builtin_ctz(part->chunks), part->compute_us);
	starpu_pthread_mutex_unlock(&request->kernel->mutex);
}

/* ---- what is enqueued ---- */

/* What has to be sent of a span. @return pieces */
static unsigned span_missing(struct part *part, unsigned a, const struct kernel_span *span,
                             struct kernel_span *missing)
{
	struct kept_copy *copy = part->device->memory->kept[a];
	size_t bytes = span->end - span->first;
	const struct kernel_layout layout = {.first = span->first, .bytes = bytes};

	if (copy)
		return kernel_kept_missing(copy, &layout, missing);
	*missing = *span;
	return 1;
}

/* Sends a piece. */
static cl_int piece_send(struct part *part, unsigned a, const struct kernel_span *piece,
                         cl_command_queue queue, cl_event *sent)
{
	struct device_memory *memory = part->device->memory;
	size_t bytes = piece->end - piece->first;

	if (*sent)
		clReleaseEvent(*sent);
	*sent = NULL;
	part->in_bytes += bytes;
	return clEnqueueWriteBuffer(queue, kernel_buffer(memory, a), CL_FALSE, piece->first, bytes,
	                            kernel_host_of(part->request, a) + piece->first, 0, NULL, sent);
}

/* @param[in,out] sent the event of the last transfer, which kernels on the other queue wait for */
static cl_int chunk_send(struct part *part, unsigned i, cl_command_queue queue, cl_event *sent)
{
	const struct heddle_kernel_request *request = part->request;
	struct device_memory *memory = part->device->memory;
	cl_int error = CL_SUCCESS;

	for (unsigned a = 0; a < request->given.narguments && !error; a++) {
		struct kernel_span span = memory->plan->send[i][a], missing[KEPT_PIECES];
		size_t before = part->in_bytes;
		unsigned n;

		if (span.first == span.end)
			continue;
		n = span_missing(part, a, &span, missing);
		for (unsigned p = 0; p < n && !error; p++)
			error = piece_send(part, a, &missing[p], queue, sent);
		part->kept_bytes += span.end - span.first - (part->in_bytes - before);
	}
	return error;
}

static cl_int chunk_fetch(struct part *part, unsigned i, cl_command_queue queue)
{
	const struct heddle_kernel_request *request = part->request;
	struct device_memory *memory = part->device->memory;
	cl_int error = CL_SUCCESS;

	for (unsigned a = 0; a < request->given.narguments && !error; a++) {
		struct kernel_span span = memory->plan->fetch[i][a];

		if (span.first == span.end)
			continue;
		part->out_bytes += span.end - span.first;
		error = clEnqueueReadBuffer(queue, kernel_buffer(memory, a), CL_FALSE, span.first,
		                            span.end - span.first,
		                            kernel_host_of(request, a) + span.first, 0, NULL, NULL);
	}
	return error;
}

/* A chunk may need what the chunks before it have sent. It waits for the event of the chunk before
 * it, on the other queue. Queues are in order, so all chunks before that one have been sent, too.
 */
static cl_int chunks_enqueue(struct part *part)
{
	struct device_memory *memory = part->device->memory;
	const cl_command_queue queues[2] = {memory->queue, memory->second};
	cl_event sent = NULL, before = NULL;
	cl_int error = CL_SUCCESS;

	for (unsigned i = 0; i < memory->plan->n && !error; i++) {
		cl_command_queue queue = queues[i % 2];

		if (before)
			clReleaseEvent(before);
		before = sent;
		sent = NULL;
		error = chunk_send(part, i, queue, &sent);
		if (!error)
			error =
			    kernel_form_enqueue(part, memory->plan->cuts[i],
			                        memory->plan->cuts[i + 1] - memory->plan->cuts[i],
			                        queue, before ? &before : NULL);
		if (!error)
			error = chunk_fetch(part, i, queue);
		clFlush(queue);
	}
	if (before)
		clReleaseEvent(before);
	if (sent)
		clReleaseEvent(sent);
	return error;
}

int kernel_chunks_begin(struct part *part)
{
	struct heddle_kernel_request *request = part->request;
	struct device_memory *memory = part->device->memory;
	cl_int error;
	int status = 0;

	for (unsigned a = 0; a < request->given.narguments; a++) {
		memory->written[a] = request->whole[a].write;
		part->rereads |= (uint64_t)!index_window_empty(&request->whole[a].read) << a;
	}
	part->launched = true;
	for (unsigned a = 0; a < request->given.narguments && !status; a++)
		if (kernel_is_buffer(&request->given.arguments[a]))
			status = kernel_buffer_find(part, a);
	if (!status)
		status = kernel_form_arguments(part);
	if (status)
		return status;
	if (memory->plan->explained != part->chunks)
		heddle_explain("kernel %s: in %u chunks", request->kernel->name, part->chunks);
	memory->plan->explained = part->chunks;
	error = chunks_enqueue(part);
	return error ? kernel_refuse(part, "a launch in chunks", error) : 0;
}

#endif
