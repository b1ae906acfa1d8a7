/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "partition/kernel/split/split.h"
#include "support/message.h"

/* ---- buses ---- */

void split_bus_join(struct split_problem *problem, unsigned at, unsigned bus, double in, double out)
{
	struct split_bus *joined = &problem->buses[bus];
	unsigned n = 1;

	for (unsigned d = 0; d < at; d++)
		n += problem->devices[d].bus == (int)bus;
	joined->in += (in - joined->in) / n;
	joined->out += (out - joined->out) / n;
	problem->devices[at].bus = bus;
}

/* ---- kernels that are not contiguous ---- */

void split_scatter(struct split_problem *problem, double in, double out)
{
	problem->in = (struct split_bytes){0, in};
	problem->out = problem->merge = (struct split_bytes){0, out};
}

/* ---- where sharing costs nothing ---- */

void split_hopeful(const struct split_problem *problem, struct split_problem *hopeful)
{
	*hopeful = *problem;
	hopeful->nbuses = 0;
	for (unsigned d = 0; d < problem->ndevices; d++) {
		struct split_device *device = &hopeful->devices[d];

		device->part_us = device->slowdown = 0;
		if (device->bus == SPLIT_NO_BUS)
			continue;
		hopeful->buses[hopeful->nbuses] = problem->buses[device->bus];
		device->bus = hopeful->nbuses++;
	}
}

/* ---- prediction ---- */

static double bytes_of(const struct split_bytes *bytes, double groups)
{
	return bytes->fixed + bytes->per_group * groups;
}

/* What of a device's input must move. */
static double in_bytes(const struct split_problem *problem, unsigned d, double groups)
{
	return fmax(bytes_of(&problem->in, groups) - problem->devices[d].held, 0);
}

static double transfer(double latency, double bandwidth, double bytes)
{
	return bytes > 0 ? latency + bytes / bandwidth : 0;
}

double split_alone(const struct split_problem *problem, unsigned device, double groups)
{
	double us = kernel_table_time(&problem->devices[device].table, groups);
	int bus = problem->devices[device].bus;

	if (bus == SPLIT_NO_BUS)
		return us;
	return us +
	       transfer(problem->buses[bus].latency_us, problem->buses[bus].in,
	                in_bytes(problem, device, groups)) +
	       transfer(problem->buses[bus].latency_us, problem->buses[bus].out,
	                bytes_of(&problem->out, groups));
}

/* How many times as long as alone a device takes for its part. */
static double slowdown(const struct split_problem *problem, unsigned d, double groups)
{
	double factor = problem->devices[d].slowdown;

	return factor > 0 && groups < problem->groups ? factor : 1;
}

static double in_time(const struct split_problem *problem, unsigned d, double groups)
{
	int bus = problem->devices[d].bus;

	return slowdown(problem, d, groups) * transfer(problem->buses[bus].latency_us,
	                                               problem->buses[bus].in,
	                                               in_bytes(problem, d, groups));
}

static double out_time(const struct split_problem *problem, unsigned d, double groups)
{
	int bus = problem->devices[d].bus;

	if (bus == SPLIT_NO_BUS)
		return 0;
	return slowdown(problem, d, groups) * transfer(problem->buses[bus].latency_us,
	                                               problem->buses[bus].out,
	                                               bytes_of(&problem->out, groups));
}

/* Between the arrival of a device's input and the end of computing. */
static double compute_time(const struct split_problem *problem, unsigned d, double groups)
{
	const struct split_device *device = &problem->devices[d];

	return slowdown(problem, d, groups) * kernel_table_time(&device->table, groups) +
	       (groups < problem->groups ? device->part_us : 0);
}

/* Puts the devices with a share in order of what follows their input's transfer. */
static void order_make(const struct split_problem *problem, const size_t *share,
                       struct split_times *times, double *compute)
{
	double rest[SPLIT_MAXDEVICES];

	times->norder = 0;
	for (unsigned d = 0; d < problem->ndevices; d++) {
		unsigned at;

		times->in_us[d] = times->computed_us[d] = times->finish_us[d] = 0;
		if (!share[d])
			continue;
		compute[d] = compute_time(problem, d, share[d]);
		rest[d] = compute[d] + out_time(problem, d, share[d]);
		for (at = times->norder++; at > 0 && rest[times->order[at - 1]] < rest[d]; at--)
			times->order[at] = times->order[at - 1];
		times->order[at] = d;
	}
}

/* Results cross the buses in the order in which they are ready. */
static void results_send(const struct split_problem *problem, const size_t *share,
                         struct split_times *times, double *bus_free)
{
	unsigned ready[SPLIT_MAXDEVICES], n = 0;

	for (unsigned i = 0; i < times->norder; i++) {
		unsigned d = times->order[i], at;

		if (problem->devices[d].bus == SPLIT_NO_BUS) {
			times->finish_us[d] = times->computed_us[d];
			continue;
		}
		for (at = n++; at > 0 && times->computed_us[ready[at - 1]] > times->computed_us[d];
		     at--)
			ready[at] = ready[at - 1];
		ready[at] = d;
	}
	for (unsigned i = 0; i < n; i++) {
		unsigned d = ready[i];
		double *when = &bus_free[problem->devices[d].bus];

		*when = fmax(*when, times->computed_us[d]) + out_time(problem, d, share[d]);
		times->finish_us[d] = *when;
	}
}

static double merge_time(const struct split_problem *problem, const size_t *share)
{
	double bytes = 0;

	if (problem->merge_bandwidth <= 0)
		return 0;
	for (unsigned d = 0; d < problem->ndevices; d++)
		if (share[d] && share[d] < problem->groups &&
		    problem->devices[d].bus != SPLIT_NO_BUS)
			bytes += bytes_of(&problem->merge, share[d]);
	return bytes / problem->merge_bandwidth;
}

double split_estimate(const struct split_problem *problem, const size_t *share,
                      struct split_times *times)
{
	double compute[SPLIT_MAXDEVICES], bus_free[SPLIT_MAXBUSES] = {0};

	order_make(problem, share, times, compute);
	for (unsigned i = 0; i < times->norder; i++) {
		unsigned d = times->order[i];
		int b = problem->devices[d].bus;

		if (b != SPLIT_NO_BUS) {
			bus_free[b] += in_time(problem, d, share[d]);
			times->in_us[d] = bus_free[b];
		}
		times->computed_us[d] = times->in_us[d] + compute[d];
	}
	for (unsigned b = 0; b < problem->nbuses; b++)
		if (problem->buses[b].duplex)
			bus_free[b] = 0;
	results_send(problem, share, times, bus_free);
	times->us = 0;
	for (unsigned d = 0; d < problem->ndevices; d++)
		times->us = fmax(times->us, times->finish_us[d]);
	times->merge_us = merge_time(problem, share);
	times->us += times->merge_us;
	return times->us;
}

/* ---- checks ---- */

static bool amount(double number)
{
	return number >= 0 && isfinite(number);
}

static int table_check(const struct split_device *device)
{
	const struct kernel_table *table = &device->table;

	if (!table->npoints || table->npoints > KERNEL_TABLE_POINTS)
		return heddle_refuse(-EINVAL, "device %s: 1 to %d times, please", device->name,
		                     KERNEL_TABLE_POINTS);
	for (unsigned p = 0; p < table->npoints; p++) {
		if (!amount(table->points[p].groups) || table->points[p].groups <= 0 ||
		    !amount(table->points[p].us))
			return heddle_refuse(
			    -EINVAL, "device %s: %g groups in %g us is not possible", device->name,
			    table->points[p].groups, table->points[p].us);
		if (p && table->points[p].groups <= table->points[p - 1].groups)
			return heddle_refuse(-EINVAL,
			                     "device %s: times for ascending numbers of "
			                     "groups, please",
			                     device->name);
	}
	return 0;
}

int split_check(const struct split_problem *problem)
{
	if (!problem->ndevices || problem->ndevices > SPLIT_MAXDEVICES)
		return heddle_refuse(-EINVAL, "1 to %d devices, please", SPLIT_MAXDEVICES);
	for (unsigned b = 0; b < problem->nbuses; b++) {
		const struct split_bus *bus = &problem->buses[b];

		if (!(amount(bus->in) && bus->in > 0 && amount(bus->out) && bus->out > 0 &&
		      amount(bus->latency_us)))
			return heddle_refuse(-EINVAL,
			                     "bus %s: its bandwidths have to be above 0, its "
			                     "latency 0 or more",
			                     bus->name);
	}
	for (unsigned d = 0; d < problem->ndevices; d++) {
		int error = table_check(&problem->devices[d]);

		if (error)
			return error;
		if (!amount(problem->devices[d].held))
			return heddle_refuse(-EINVAL, "device %s: it holds 0 bytes or more",
			                     problem->devices[d].name);
		if (!amount(problem->devices[d].part_us) || !amount(problem->devices[d].slowdown))
			return heddle_refuse(-EINVAL,
			                     "device %s: what sharing costs it is 0 or more",
			                     problem->devices[d].name);
		if (problem->devices[d].bus != SPLIT_NO_BUS &&
		    (problem->devices[d].bus < 0 ||
		     (unsigned)problem->devices[d].bus >= problem->nbuses))
			return heddle_refuse(-EINVAL, "device %s: no such bus",
			                     problem->devices[d].name);
	}
	return 0;
}
