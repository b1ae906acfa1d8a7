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
#include <string.h>

#include "partition/kernel/kernel_private.h"
#include "partition/kernel/merge.h"
#include "private/message.h"

/* Where nothing has been measured, bytes per microsecond. */
#define USUAL_RATE 5000.0
#define MERGE_RATE 5000.0

/* Whether windows share no byte, as far as one rectangle of each tells. */
static bool apart(const struct index_window *a, const struct index_window *b)
{
	size_t left, right;

	if (a->first == a->end || b->first == b->end || a->end <= b->first || b->end <= a->first)
		return true;
	if (!a->pitch || a->pitch != b->pitch)
		return false;
	left = a->first % a->pitch;
	right = b->first % b->pitch;
	return left + a->width <= a->pitch && right + b->width <= b->pitch &&
	       (left + a->width <= right || right + b->width <= left);
}

/* What was in a buffer that is given as STARPU_W does not matter. Where no group outside of
 * the range writes into the range's window, all of the window is the range's then. */
static int windows_own(const struct heddle_kernel_request *request,
                       const struct index_launch *launch, size_t from, size_t n,
                       struct index_use *uses)
{
	size_t total = ndrange_groups(&request->range);
	const size_t starts[2] = {0, from + n}, sizes[2] = {from, total - from - n};
	struct index_use others[2][HEDDLE_KERNEL_MAXARGUMENTS];
	int status = 0;

	memset(others, 0, sizeof(others));
	for (int i = 0; i < 2 && !status; i++)
		if (sizes[i])
			status = index_uses(&request->kernel->index, launch, starts[i], sizes[i],
			                    others[i]);
	for (unsigned a = 0; a < request->given.narguments && !status; a++)
		if (request->given.arguments[a].mode == STARPU_W &&
		    apart(&uses[a].write, &others[0][a].write) &&
		    apart(&uses[a].write, &others[1][a].write))
			uses[a].write.dense = true;
	return status;
}

int request_uses(const struct heddle_kernel_request *request, size_t from, size_t n,
                 struct index_use *uses)
{
	struct index_launch launch = {&request->range, request->integers, request->bytes};
	int status = index_uses(&request->kernel->index, &launch, from, n, uses);
	bool asked = false;

	for (unsigned a = 0; a < request->given.narguments && !status && !request->aliased; a++)
		if (request->given.arguments[a].mode == STARPU_R) {
			uses[a].write = (struct index_window){0};
		} else if (request->given.arguments[a].mode == STARPU_W) {
			uses[a].read = (struct index_window){0};
			asked = asked || !uses[a].write.dense;
		}
	return asked && !status ? windows_own(request, &launch, from, n, uses) : status;
}

static size_t cut_round(const struct ndrange *range, size_t at)
{
	size_t row = row_of(range);

	return at == ndrange_groups(range) ? at : (at + row / 2) / row * row;
}

/* Bytes of a device that gets all groups, and half of them, tell what each group and
 * what every device costs.
 * @param[out] uses of half the groups */
static int bytes_find(struct heddle_kernel_request *request, struct index_use *uses,
                      struct split_problem *problem)
{
	size_t total = problem->groups, half = cut_round(&request->range, (total + 1) / 2);
	size_t sizes[2] = {total, half};
	double in[2] = {0}, out[2] = {0}, merge[2] = {0};
	struct {
		struct split_bytes *to;
		double *from;
	} const kinds[] = {{&problem->in, in}, {&problem->out, out}, {&problem->merge, merge}};

	for (int i = 0; i < 2; i++) {
		if (request_uses(request, 0, sizes[i], uses))
			return -ENOMEM;
		for (unsigned a = 0; a < request->given.narguments; a++) {
			double read = merge_layout(&uses[a].read).bytes;
			double written = merge_layout(&uses[a].write).bytes;

			in[i] += uses[a].write.dense ? read : read > written ? read : written;
			out[i] += written;
			merge[i] += uses[a].write.dense && !uses[a].write.pitch ? 0 : written;
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

/* Whether a device would work on all of the host's arrays themselves. */
static bool all_in_place(const struct heddle_kernel_request *request,
                         const struct kernel_device *device, const struct index_use *uses)
{
	for (unsigned a = 0; a < request->given.narguments; a++)
		if (request->bytes[a] && !transfer_in_place(request, device, a, &uses[a], false))
			return false;
	return true;
}

static double rate_of(double measured)
{
	return measured > 0 ? measured : USUAL_RATE;
}

/* Puts a device on its bus, whose rates are the means of its devices'. */
static void bus_join(struct split_problem *problem, unsigned at, int *buses,
                     const struct kernel_device *device)
{
	struct split_bus *bus;
	unsigned b = 0;

	while (b < problem->nbuses && buses[b] != (int)device->bus)
		b++;
	bus = &problem->buses[b];
	if (b == problem->nbuses) {
		problem->nbuses++;
		buses[b] = device->bus;
		bus->in = rate_of(device->known.in_rate);
		bus->out = rate_of(device->known.out_rate);
	} else {
		bus->in = (bus->in + rate_of(device->known.in_rate)) / 2;
		bus->out = (bus->out + rate_of(device->known.out_rate)) / 2;
	}
	problem->devices[at].bus = b;
}

/* The devices that can still be used. */
static void problem_devices(const struct heddle_kernel_request *request,
                            const struct index_use *uses, struct split_problem *problem,
                            struct kernel_device **devices)
{
	struct kernel *kernel = request->kernel;
	int buses[SPLIT_MAXBUSES];

	starpu_pthread_mutex_lock(&kernel->mutex);
	for (unsigned d = 0; d < kernel->ndevices; d++) {
		struct kernel_device *device = &kernel->devices[d];
		unsigned at = problem->ndevices;

		if (!device_usable(request, d) || !device->known.table.npoints)
			continue;
		devices[at] = device;
		problem->devices[at].table = device->known.table;
		if (all_in_place(request, device, uses))
			problem->devices[at].bus = SPLIT_NO_BUS;
		else
			bus_join(problem, at, buses, device);
		problem->ndevices++;
	}
	starpu_pthread_mutex_unlock(&kernel->mutex);
}

size_t row_of(const struct ndrange *range)
{
	size_t row = range->groups[0] * (range->groups[2] > 1 ? range->groups[1] : 1);

	return ndrange_groups(range) / row < 16 ? 1 : row;
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

/* Submits the parts, those first whose data is to cross first. */
static int parts_submit(struct heddle_kernel_request *request, const struct split_problem *problem,
                        struct kernel_device *const *devices, const size_t *share)
{
	size_t from[SPLIT_MAXDEVICES], end[SPLIT_MAXDEVICES], upto = 0, at = 0;
	struct split_times times;
	int status = 0;

	for (unsigned d = 0; d < problem->ndevices; d++) {
		upto += share[d];
		from[d] = at;
		end[d] = cut_round(&request->range, upto);
		end[d] = end[d] > at ? end[d] : at;
		at = end[d];
	}
	split_estimate(problem, share, &times);
	for (unsigned i = 0; i < times.norder && !status; i++) {
		unsigned d = times.order[i];

		if (end[d] > from[d])
			status = part_submit(request, devices[d], from[d], end[d] - from[d], false);
	}
	return status;
}

int shares_submit(struct heddle_kernel_request *request)
{
	const char *refusal = request->aliased ? "two of its arguments are one array"
	                                       : request->kernel->index.refusal;
	struct split_problem problem = {.groups = request->stats.groups};
	struct kernel_device *devices[SPLIT_MAXDEVICES];
	struct index_use uses[HEDDLE_KERNEL_MAXARGUMENTS];
	size_t share[SPLIT_MAXDEVICES];
	double start_us = starpu_timing_now();
	int status = bytes_find(request, uses, &problem);

	if (!status)
		problem_devices(request, uses, &problem, devices);
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
	return parts_submit(request, &problem, devices, share);
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
