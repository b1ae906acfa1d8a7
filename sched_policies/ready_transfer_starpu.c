/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How long the data of tasks travel, by what StarPU has measured of links. Its own estimate is for
 * a machine whose devices all transfer at once.
 */
#include "config.h"

#include <math.h>

#include "sched_policies/ready.h"

/* Who goes by what is missing looks at tasks for so long, us, as a mutex is held; the clock is read
 * after so many of them. */
#define LOOK 20
#define LOOKS 16

static double transfer_us(unsigned from, unsigned to, size_t bytes)
{
	double bandwidth = starpu_transfer_bandwidth(from, to);

	return bandwidth > 0 ? starpu_transfer_latency(from, to) + bytes / bandwidth : INFINITY;
}

double ready_data_us(starpu_data_handle_t handle, unsigned node)
{
	size_t bytes = starpu_data_get_size(handle);
	unsigned n = starpu_memory_nodes_get_count();
	double least = INFINITY;
	int valid, requested;

	starpu_data_query_status(handle, node, NULL, &valid, &requested);
	if (valid || requested)
		return 0;
	for (unsigned from = 0; from < n; from++) {
		starpu_data_query_status(handle, from, NULL, &valid, NULL);
		if (from == node || !valid)
			continue;
		least = fmin(least, transfer_us(from, node, bytes));
		if (from != STARPU_MAIN_RAM && node != STARPU_MAIN_RAM)
			least = fmin(least, transfer_us(from, STARPU_MAIN_RAM, bytes) +
			                        transfer_us(STARPU_MAIN_RAM, node, bytes));
	}
	return isinf(least) ? 0 : least;
}

/* StarPU takes memory of CUDA devices in portions of 32 MiB. Once the memory is full it stays so:
 * data that is sent there takes the place of other data. */
bool ready_memory_is_short(const struct ready_context *c, unsigned node)
{
	size_t most = atomic_load_explicit(&c->most_bytes, memory_order_relaxed);
	starpu_ssize_t available = starpu_memory_get_available(node);

	return available >= 0 && (size_t)available < (most > READY_PORTION ? most : READY_PORTION);
}

bool ready_goes_by_memory(const struct ready_context *c, const struct ready_worker *worker)
{
	return c->traits.planned && worker->accelerator && ready_memory_is_short(c, worker->node);
}

size_t ready_missing_data(starpu_data_handle_t handle, unsigned node)
{
	int there;

	starpu_data_query_status(handle, node, NULL, &there, NULL);
	if (!there) /* asked separately: it takes longer */
		starpu_data_query_status(handle, node, NULL, NULL, &there);
	return there ? 0 : starpu_data_get_size(handle);
}

size_t ready_missing_bytes(struct starpu_task *task, unsigned node, size_t most)
{
	size_t bytes = 0;

	for (unsigned i = 0; bytes <= most && i < STARPU_TASK_GET_NBUFFERS(task); i++)
		if (STARPU_TASK_GET_MODE(task, i) & STARPU_R)
			bytes += ready_missing_data(STARPU_TASK_GET_HANDLE(task, i), node);
	return bytes;
}

bool ready_looks_on(struct ready_looks *looks)
{
	if (!looks->n)
		looks->begin_us = starpu_timing_now();
	else if (looks->n % LOOKS == 0)
		looks->over |= starpu_timing_now() - looks->begin_us > LOOK;
	looks->n++;
	return !looks->over;
}

size_t ready_look(struct ready_looks *looks, struct starpu_task *task, unsigned node, size_t most)
{
	return ready_looks_on(looks) ? ready_missing_bytes(task, node, most) : SIZE_MAX;
}

double ready_fetch_us(struct starpu_task *task, unsigned node)
{
	double us = 0;

	for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); i++)
		if (STARPU_TASK_GET_MODE(task, i) & STARPU_R)
			us += ready_data_us(STARPU_TASK_GET_HANDLE(task, i), node);
	return us;
}

double ready_return_us(struct starpu_task *task, unsigned node)
{
	double us = 0;

	for (unsigned i = 0; node != STARPU_MAIN_RAM && i < STARPU_TASK_GET_NBUFFERS(task); i++)
		if (STARPU_TASK_GET_MODE(task, i) & STARPU_W)
			us += transfer_us(node, STARPU_MAIN_RAM,
			                  starpu_data_get_size(STARPU_TASK_GET_HANDLE(task, i)));
	return isinf(us) ? 0 : us;
}
