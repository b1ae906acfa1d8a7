/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A launch in blocks: its flat group numbers are a loop that a block strategy cuts.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include "partition/kernel/launch/request_starpu.h"

int kernel_blocks_start(struct heddle_kernel_request *request)
{
	struct kernel *kernel = request->kernel;
	struct heddle_strategy_worker workers[SPLIT_MAXDEVICES] = {{0}};
	struct heddle_strategy_problem problem = {
	    .n = request->stats.groups, .nworkers = kernel->ndevices, .workers = workers};
	int status;

	for (unsigned d = 0; d < kernel->ndevices; d++) {
		workers[d].kind = HEDDLE_KIND_OPENCL;
		workers[d].alignment = kernel_row(&request->range);
	}
	status = heddle_strategy_create(request->strategy, &problem, &request->blocks);
	for (unsigned d = 0; d < kernel->ndevices && !status; d++)
		if (!kernel_device_usable(request, d))
			heddle_strategy_retire(request->blocks, d);
	if (!status)
		kernel_blocks_fill(request);
	return status;
}

void kernel_block_ended(struct part *part)
{
	struct heddle_kernel_request *request = part->request;
	unsigned d = part->device - request->kernel->devices;

	request->busy[d] = false;
	if (part->status) {
		heddle_strategy_return(request->blocks, d, part->n);
		heddle_strategy_retire(request->blocks, d);
	} else {
		heddle_strategy_completed(request->blocks, d, part->n,
		                          part->in_us + part->compute_us + part->out_us);
	}
}

/* Takes the next block of a device. Groups that failed devices have left come before groups that
 * no device had. The mutex is held.
 * @return its size; 0: none now */
static size_t block_take(struct heddle_kernel_request *request, unsigned d, size_t *from)
{
	size_t n = heddle_strategy_next(request->blocks, d);
	struct range_lost *lost = request->nlost ? &request->lost[request->nlost - 1] : NULL;

	if (!n)
		return 0;
	if (!lost) {
		*from = request->next;
		request->next += n;
		return n;
	}
	if (n > lost->n) {
		heddle_strategy_return(request->blocks, d, n - lost->n);
		n = lost->n;
	}
	*from = lost->from;
	lost->from += n;
	lost->n -= n;
	request->nlost -= !lost->n;
	request->stats.moved += n;
	return n;
}

void kernel_blocks_fill(struct heddle_kernel_request *request)
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
		status =
		    n ? kernel_part_submit(&(struct part){.request = request,
		                                          .device = &kernel->devices[d],
		                                          .from = from,
		                                          .n = n,
		                                          .turns = kernel->devices[d].shares_bus})
		      : 0;
		if (status) {
			starpu_pthread_mutex_lock(&request->mutex);
			request->status = status;
			starpu_pthread_mutex_unlock(&request->mutex);
		}
	}
}

#endif
