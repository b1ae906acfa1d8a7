/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A launch in shares: how many groups each device computes, by what was measured so far
 * (partition/kernel/split/split.h), and who computes the groups of a device that fails.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "partition/kernel/launch/kept_starpu.h"
#include "partition/kernel/launch/request_starpu.h"
#include "partition/kernel/access/windows.h"
#include "support/message.h"

/* Before anything was measured, in bytes per microsecond. */
#define USUAL_RATE 8000.0
#define MERGE_RATE 5000.0

/* Whether a device would use the host's arrays for all buffers. */
static bool all_in_place(const struct heddle_kernel_request *request,
                         const struct kernel_device *device, const struct index_use *uses)
{
	for (unsigned a = 0; a < request->given.narguments; a++)
		if (request->bytes[a] && !kernel_in_place(request, device, a, &uses[a], false))
			return false;
	return true;
}

/* Until results were measured, the bandwidth of inputs counts, and the other way round. */
static double rate_of(double measured, double other)
{
	return measured > 0 ? measured : other > 0 ? other : USUAL_RATE;
}

/* Puts a device on its bus. */
static void bus_join(struct split_problem *problem, unsigned at, int *buses,
                     const struct kernel_device *device)
{
	const struct kernel_records_known *known = &device->known;
	unsigned b = 0;

	while (b < problem->nbuses && buses[b] != (int)device->bus)
		b++;
	buses[b] = device->bus;
	if (b == problem->nbuses)
		problem->nbuses++;
	split_bus_join(problem, at, b, rate_of(known->in_rate, known->out_rate),
	               rate_of(known->out_rate, known->in_rate));
}

/* Arguments whose results cannot stay: those that are not certainly written, in one piece. The
 * kernel's mutex is held. */
static uint64_t returning(const struct heddle_kernel_request *request)
{
	uint64_t found = 0;

	for (unsigned a = 0; a < request->given.narguments; a++) {
		const struct index_window *write = &request->shape->whole[a].write;

		found |= (uint64_t)(!write->dense || write->pitch) << a;
	}
	return found;
}

/* Whether all results stay. */
static bool results_stay(const struct heddle_kernel_request *request)
{
	for (unsigned a = 0; a < request->given.narguments; a++)
		if (!index_window_empty(&request->shape->whole[a].write) &&
		    !(request->staying >> a & 1))
			return false;
	return true;
}

/* The devices that did not fail. The kernel's mutex is held. */
static void sharing_make(const struct heddle_kernel_request *request, struct sharing *sharing)
{
	const struct shape *shape = request->shape;
	struct split_problem *problem = &sharing->problem;
	struct kernel *kernel = request->kernel;
	int buses[SPLIT_MAXBUSES];

	*problem = (struct split_problem){.groups = request->stats.groups,
	                                  .in = shape->in,
	                                  .out = shape->out,
	                                  .merge = shape->merge,
	                                  .merge_bandwidth = MERGE_RATE};
	if (results_stay(request))
		problem->out = problem->merge = (struct split_bytes){0};
	for (unsigned d = 0; d < kernel->ndevices; d++) {
		struct kernel_device *device = &kernel->devices[d];
		unsigned at = problem->ndevices;

		if (!kernel_device_usable(request, d) || !device->known.table.npoints)
			continue;
		sharing->numbers[at] = d;
		problem->devices[at].table = device->known.table;
		if (request->method == SPLIT_HEDDLE) {
			problem->devices[at].part_us = device->costs.part_us;
			problem->devices[at].slowdown = device->costs.slowdown;
		}
		if (all_in_place(request, device, shape->half))
			problem->devices[at].bus = SPLIT_NO_BUS;
		else
			bus_join(problem, at, buses, device);
		problem->devices[at].held = kernel_kept_bytes(request, d, shape->whole);
		problem->ndevices++;
	}
}

static void shares_explain(const struct heddle_kernel_request *request,
                           const struct sharing *sharing)
{
	const struct kernel_device *devices = request->kernel->devices;
	char text[512] = "";
	size_t length = 0;

	for (unsigned d = 0; d < sharing->problem.ndevices && length < sizeof(text); d++)
		length += snprintf(text + length, sizeof(text) - length, " %d: %zu",
		                   devices[sharing->numbers[d]].worker, sharing->share[d]);
	heddle_explain("kernel %s: groups of each worker:%s; %.0f us predicted",
	               request->kernel->name, text, request->stats.predicted_us);
}

/* The kernel's mutex is held. */
static void arm_choose(struct heddle_kernel_request *request, struct sharing *sharing, bool shared)
{
	struct kernel_choice *choice = &request->shape->choice;

	request->arm = kernel_choice_make(choice, sharing, kernel_row(&request->range), shared,
	                                  request->kernel->changes, &request->stats.predicted_us);
	request->explores = request->arm != choice->arms.best;
}

/* ---- parts ---- */

/* The device that will compute longest by the estimates. */
static unsigned longest(const struct sharing *sharing)
{
	unsigned device = 0;
	double us = -1;

	for (unsigned d = 0; d < sharing->problem.ndevices; d++) {
		double alone_us = split_alone(&sharing->problem, d, sharing->share[d]);

		if (sharing->share[d] && alone_us > us) {
			us = alone_us;
			device = d;
		}
	}
	return device;
}

/* Whether the steps of a part are not timed. */
static bool unprofiled(const struct heddle_kernel_request *request, const struct part *part)
{
	struct kernel *kernel = request->kernel;
	bool asked;

	if (request->arm >= KERNEL_ARMS)
		return false;
	starpu_pthread_mutex_lock(&kernel->mutex);
	asked = part->device->trust != KERNEL_TRUSTED ||
	        kernel_arms_profiled(&request->shape->choice.arms, request->arm);
	starpu_pthread_mutex_unlock(&kernel->mutex);
	return !asked;
}

/* Whether a device takes turns on its bus: another device on it has a share. */
static bool turns(const struct kernel *kernel, const struct sharing *sharing, unsigned device)
{
	const struct kernel_device *here = &kernel->devices[sharing->numbers[device]];
	bool any = false;

	for (unsigned d = 0; d < sharing->problem.ndevices; d++) {
		const struct kernel_device *other = &kernel->devices[sharing->numbers[d]];

		any = any || (other != here && sharing->share[d] && other->shares_bus &&
		              other->bus == here->bus);
	}
	return any && here->shares_bus;
}

/* Submits the parts in the order in which their data is to cross. The thread that submits takes
 * no turns on a bus: it may not be the thread that waits. */
static int parts_submit(struct heddle_kernel_request *request, const struct sharing *sharing)
{
	const struct split_problem *problem = &sharing->problem;
	size_t from[SPLIT_MAXDEVICES], at = 0;
	unsigned most = longest(sharing);
	struct split_times times;
	int status = 0;

	for (unsigned d = 0; d < problem->ndevices; d++) {
		from[d] = at;
		at += sharing->share[d];
	}
	for (unsigned d = 0; d < problem->ndevices && !status; d++)
		if (sharing->share[d])
			status = kernel_kept_gather(request,
			                            &request->kernel->devices[sharing->numbers[d]],
			                            from[d], sharing->share[d]);
	if (status)
		return status;
	if (!turns(request->kernel, sharing, most))
		kernel_direct_take(request, &request->kernel->devices[sharing->numbers[most]],
		                   sharing->share[most]);
	split_estimate(problem, sharing->share, &times);
	for (unsigned i = 0; i < times.norder && !status; i++) {
		unsigned d = times.order[i];
		struct part part = {.request = request,
		                    .device = &request->kernel->devices[sharing->numbers[d]],
		                    .from = from[d],
		                    .n = sharing->share[d],
		                    .turns = turns(request->kernel, sharing, d)};

		part.alone_us = split_alone(problem, d, part.n);
		part.unprofiled = unprofiled(request, &part);
		if (part.n)
			status = kernel_part_submit(&part);
	}
	return status;
}

/* The fastest device, where it is settled that one device computes. NULL otherwise. The kernel's
 * mutex is held. */
static struct kernel_device *device_settled(struct heddle_kernel_request *request)
{
	unsigned arm;

	if (!bandit_settled(&request->shape->choice.arms, &kernel_arms_rules, &arm) ||
	    arm >= KERNEL_ARM_SHARED || !kernel_device_usable(request, arm))
		return NULL;
	request->arm = arm;
	request->stats.predicted_us = bandit_us(&request->shape->choice.arms, arm);
	return &request->kernel->devices[arm];
}

/* No device is left. Those that failed in this launch have said why. */
static int no_device(struct heddle_kernel_request *request)
{
	if (request->error)
		return request->error;
	heddle_refuse(-EIO, "kernel %s: every device has failed at it before",
	              request->kernel->name);
	control_say(&request->control);
	return -EIO;
}

/* The kernel's mutex is held. */
static int sharing_decide(struct heddle_kernel_request *request, struct sharing *sharing)
{
	bool single = kernel_refusal(request) || request->method == SPLIT_SINGLE;

	sharing_make(request, sharing);
	if (!sharing->problem.ndevices)
		return no_device(request);
	if (single || request->method == SPLIT_HEDDLE)
		arm_choose(request, sharing, !single);
	else
		request->stats.predicted_us =
		    split_decide(&sharing->problem, request->method, sharing->share);
	sharing_round(sharing, kernel_row(&request->range));
	return 0;
}

/* Where groups of one share may read what those of another write, one device computes. */
static int cuts_check(struct heddle_kernel_request *request, struct sharing *sharing)
{
	unsigned most = longest(sharing);
	size_t at = 0, total = request->stats.groups;
	bool meets = false;
	int status = 0;

	for (unsigned d = 0; request->rewritten && d < sharing->problem.ndevices && !meets; d++) {
		at += sharing->share[d];
		if (at && at < total)
			status = kernel_cut_meets(request, at, &meets);
		if (status)
			return status;
	}
	if (!meets)
		return 0;
	memset(sharing->share, 0, sizeof(sharing->share));
	sharing->share[most] = total;
	request->arm = KERNEL_ARMS;
	request->stats.predicted_us = split_alone(&sharing->problem, most, total);
	return 0;
}

int kernel_shares_submit(struct heddle_kernel_request *request)
{
	const char *refusal;
	struct kernel_device *alone = NULL;
	double start_us = starpu_timing_now();
	struct sharing sharing;
	int status;

	request->shares = true;
	request->staying = kernel_kept_staying(request);
	starpu_pthread_mutex_lock(&request->kernel->mutex);
	status = kernel_shape_prepare(request);
	if (!status) {
		memcpy(request->whole, request->shape->whole,
		       request->given.narguments * sizeof(*request->whole));
		request->whole_known = true;
		request->staying &= ~returning(request);
		alone = device_settled(request);
	}
	if (!status && !alone)
		status = sharing_decide(request, &sharing);
	starpu_pthread_mutex_unlock(&request->kernel->mutex);
	if (status)
		return status;
	request->stats.decision_us = starpu_timing_now() - start_us;
	if (alone) {
		status = kernel_kept_gather(request, alone, 0, request->stats.groups);
		if (status)
			return status;
		kernel_direct_take(request, alone, request->stats.groups);
		return kernel_part_submit(&(struct part){.request = request,
		                                         .device = alone,
		                                         .n = request->stats.groups,
		                                         .unprofiled = true});
	}
	status = cuts_check(request, &sharing);
	if (status)
		return status;
	refusal = kernel_refusal(request);
	if (refusal)
		heddle_explain("kernel %s runs on one device: %s", request->kernel->name, refusal);
	shares_explain(request, &sharing);
	return parts_submit(request, &sharing);
}

int kernel_profiles_submit(struct heddle_kernel_request *request)
{
	struct kernel *kernel = request->kernel;
	unsigned untimed = kernel_devices_untimed(request);
	int status = 0;

	request->profiling = true;
	for (unsigned d = 0; d < kernel->ndevices && !status; d++)
		if (untimed >> d & 1)
			status = kernel_part_submit(
			    &(struct part){.request = request,
			                   .device = &kernel->devices[d],
			                   .n = request->stats.groups,
			                   .turns = kernel->devices[d].shares_bus,
			                   .dry = true});
	return status;
}

/* The fastest device by the tables, among those that did not fail; NULL: none. */
static struct kernel_device *fastest_usable(const struct heddle_kernel_request *request)
{
	struct kernel *kernel = request->kernel;
	struct kernel_device *best = NULL;

	starpu_pthread_mutex_lock(&kernel->mutex);
	for (unsigned d = 0; d < kernel->ndevices; d++) {
		struct kernel_device *device = &kernel->devices[d];

		if (!kernel_device_usable(request, d))
			continue;
		if (!best || (device->known.table.npoints && best->known.table.npoints &&
		              kernel_table_time(&device->known.table, request->stats.groups) <
		                  kernel_table_time(&best->known.table, request->stats.groups)))
			best = device;
	}
	starpu_pthread_mutex_unlock(&kernel->mutex);
	return best;
}

int kernel_lost_submit(struct heddle_kernel_request *request)
{
	struct kernel_device *best = fastest_usable(request);
	unsigned nlost = request->nlost;
	int status = 0;

	if (!best)
		return request->error;
	request->nlost = 0;
	for (unsigned i = 0; i < nlost && !status; i++) {
		request->stats.moved += request->lost[i].n;
		status = kernel_part_submit(&(struct part){.request = request,
		                                           .device = best,
		                                           .from = request->lost[i].from,
		                                           .n = request->lost[i].n,
		                                           .again = true});
	}
	return status;
}

#endif
