/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A launch in shares: how many groups each device computes, by what they took so far
 * (partition/kernel/split.h), and what happens to those of a device that fails.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <errno.h>
#include <stdio.h>

#include "partition/kernel/kernel_private.h"
#include "private/message.h"

/* Where nothing has been measured, bytes per microsecond. */
#define USUAL_RATE 5000.0
#define MERGE_RATE 5000.0

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

bool device_usable(const struct heddle_kernel_request *request, unsigned d)
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

		if (!device_usable(request, d) || !device->known.table.npoints)
			continue;
		devices[at] = device;
		problem->devices[at].bus = at;
		problem->devices[at].table = device->known.table;
		problem->buses[at] = (struct split_bus){
		    .in = device->known.in_rate > 0 ? device->known.in_rate : USUAL_RATE,
		    .out = device->known.out_rate > 0 ? device->known.out_rate : USUAL_RATE,
		};
		problem->nbuses = ++problem->ndevices;
	}
	starpu_pthread_mutex_unlock(&kernel->mutex);
}

size_t row_of(const struct ndrange *range)
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

int shares_submit(struct heddle_kernel_request *request)
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

int profiles_submit(struct heddle_kernel_request *request)
{
	struct kernel *kernel = request->kernel;
	int status = 0;

	request->profiling = true;
	for (unsigned d = 0; d < kernel->ndevices && !status; d++)
		if (device_usable(request, d) && !kernel->devices[d].known.table.npoints)
			status = part_submit(request, &kernel->devices[d], 0, request->stats.groups,
			                     true);
	return status;
}

int lost_submit(struct heddle_kernel_request *request)
{
	struct kernel *kernel = request->kernel;
	struct kernel_device *best = NULL;
	unsigned nlost = request->nlost;
	int status = 0;

	for (unsigned d = 0; d < kernel->ndevices; d++) {
		struct kernel_device *device = &kernel->devices[d];

		if (!device_usable(request, d))
			continue;
		if (!best || (device->known.table.npoints && best->known.table.npoints &&
		              kernel_table_time(&device->known.table, request->stats.groups) <
		                  kernel_table_time(&best->known.table, request->stats.groups)))
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

#endif
