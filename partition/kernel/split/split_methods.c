/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The methods of choosing shares. split.h describes them and names their sources.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "partition/kernel/split/split.h"

/* ---- baselines ---- */

static double split_single(const struct split_problem *problem, size_t *share)
{
	struct split_times times;
	double best_us = INFINITY;
	unsigned best = 0;

	for (unsigned d = 0; d < problem->ndevices; d++) {
		double us;

		share[d] = problem->groups;
		us = split_estimate(problem, share, &times);
		share[d] = 0;
		if (us < best_us) {
			best_us = us;
			best = d;
		}
	}
	share[best] = problem->groups;
	return best_us;
}

static double split_linear(const struct split_problem *problem, size_t *share)
{
	double speeds[SPLIT_MAXDEVICES], sum = 0, upto = 0;
	struct split_times times;
	size_t given = 0;

	for (unsigned d = 0; d < problem->ndevices; d++) {
		double us = kernel_table_time(&problem->devices[d].table, problem->groups);

		speeds[d] = 1 / fmax(us, 1e-9);
		sum += speeds[d];
	}
	for (unsigned d = 0; d < problem->ndevices; d++) {
		size_t end;

		upto += speeds[d];
		end = d + 1 < problem->ndevices ? (size_t)(problem->groups * (upto / sum) + 0.5)
		                                : problem->groups;
		end = end > problem->groups ? problem->groups : end;
		share[d] = end - given;
		given = end;
	}
	return split_estimate(problem, share, &times);
}

/* ---- Algorithm 1 ---- */

enum { TOLERATED = 10 };

/* Where the search stands. */
struct descent {
	const struct split_problem *problem;
	size_t granularity, minimum; /* groups a step, and with the first to a device */
	size_t *share;
	unsigned base;
	double us;
};

/* Cnt_OffsetsMergeCost: the fewest groups whose loss spares the base device the time
 * of merging. */
static size_t minimum_find(const struct descent *descent)
{
	const struct split_problem *problem = descent->problem;
	const struct kernel_table *table = &problem->devices[descent->base].table;
	double all = kernel_table_time(table, problem->groups), merge;
	size_t low = 0, high = (problem->groups - 1) / descent->granularity + 1;

	if (problem->merge_bandwidth <= 0)
		return descent->granularity;
	merge = (problem->merge.fixed + problem->merge.per_group * descent->granularity) /
	        problem->merge_bandwidth;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		double left = (double)problem->groups - (double)(middle * descent->granularity);

		if (all - kernel_table_time(table, left) > merge)
			high = middle;
		else
			low = middle;
	}
	return high * descent->granularity;
}

/* Evaluates one child of the node.
 * @return its balancing factor; -INFINITY: it is no candidate */
static double child_try(struct descent *descent, unsigned d, size_t trial, double *us)
{
	struct split_times times;

	descent->share[descent->base] -= trial;
	descent->share[d] += trial;
	*us = split_estimate(descent->problem, descent->share, &times);
	descent->share[descent->base] += trial;
	descent->share[d] -= trial;
	return *us < descent->us ? descent->us - times.finish_us[d] : -INFINITY;
}

/* One step down the tree; whether there was one. */
static bool step_down(struct descent *descent, unsigned tolerated)
{
	double best = -INFINITY, best_us = 0;
	size_t best_trial = 0;
	unsigned to = 0;

	for (unsigned d = 0; d < descent->problem->ndevices; d++) {
		size_t trial = descent->share[d] ? descent->granularity : descent->minimum;
		double factor, us;

		trial <<= tolerated;
		if (d == descent->base || trial > descent->share[descent->base])
			continue;
		factor = child_try(descent, d, trial, &us);
		if (factor > best) {
			best = factor;
			best_us = us;
			best_trial = trial;
			to = d;
		}
	}
	if (!best_trial)
		return false;
	descent->share[to] += best_trial;
	descent->share[descent->base] -= best_trial;
	descent->us = best_us;
	return true;
}

static double split_paper(const struct split_problem *problem, size_t granularity, size_t *share)
{
	struct descent descent = {
	    .problem = problem, .granularity = granularity ? granularity : 1, .share = share};

	descent.us = split_single(problem, share);
	if (!problem->groups)
		return descent.us;
	while (!share[descent.base])
		descent.base++;
	descent.minimum = minimum_find(&descent);
	for (unsigned tolerated = 0; tolerated < TOLERATED;)
		tolerated = step_down(&descent, tolerated) ? 0 : tolerated + 1;
	return descent.us;
}

/* ---- refinement ---- */

/* What refinement makes small: the time. Among equal times the sum of the devices' times decides,
 * so that two devices that end last together can be relieved one after the other. */
static double badness(const struct split_problem *problem, const size_t *share,
                      struct split_times *times)
{
	double sum = 0;

	split_estimate(problem, share, times);
	for (unsigned d = 0; d < problem->ndevices; d++)
		sum += times->finish_us[d];
	return times->us + 1e-4 * sum / problem->ndevices;
}

/* Whether less work for a device may let the last results come earlier: the device is
 * the last itself, or its transfers delay the last one's. */
static bool may_help(const struct split_problem *problem, const struct split_times *times,
                     unsigned device)
{
	const struct split_device *devices = problem->devices;

	for (unsigned d = 0; d < problem->ndevices; d++)
		if (times->finish_us[d] >= (times->us - times->merge_us) * (1 - 1e-9) &&
		    (d == device ||
		     (devices[d].bus != SPLIT_NO_BUS && devices[d].bus == devices[device].bus)))
			return true;
	return false;
}

/* A move of groups between two devices. */
struct move {
	unsigned from, to;
	size_t groups;
};

static void move_make(size_t *share, const struct move *move)
{
	share[move->from] -= move->groups;
	share[move->to] += move->groups;
}

/* Makes the best move of up to `step` groups; whether one helped. */
static bool move_best(const struct split_problem *problem, size_t step, size_t *share,
                      struct split_times *times, double *bad)
{
	struct move best = {0}, move;
	struct split_times then;

	for (move.from = 0; move.from < problem->ndevices; move.from++) {
		move.groups = share[move.from] < step ? share[move.from] : step;
		if (!move.groups || !may_help(problem, times, move.from))
			continue;
		for (move.to = 0; move.to < problem->ndevices; move.to++) {
			struct move back = {move.to, move.from, move.groups};
			double now;

			if (move.to == move.from)
				continue;
			move_make(share, &move);
			now = badness(problem, share, &then);
			move_make(share, &back);
			if (now < *bad * (1 - 1e-9)) {
				*bad = now;
				best = move;
			}
		}
	}
	if (!best.groups)
		return false;
	move_make(share, &best);
	badness(problem, share, times);
	return true;
}

static double split_refine(const struct split_problem *problem, size_t largest, size_t *share)
{
	struct split_times times;
	double bad = badness(problem, share, &times);
	size_t least = problem->groups / 2048;

	for (size_t step = largest; step > least; step /= 2)
		while (move_best(problem, step, share, &times, &bad))
			;
	return times.us;
}

/* ---- where refinement starts ---- */

enum { FILL_STEPS = 32, FILL_BISECTIONS = 8, FILL_SUBSETS = 128, FILL_KEPT = 16 };

/* For each device, the time it takes by itself, transfers included, for i/32 of the
 * groups. */
struct fill {
	const struct split_problem *problem;
	double alone[SPLIT_MAXDEVICES][FILL_STEPS + 1];
	double longest; /* enough for every device to do everything */
};

static void fill_make(struct fill *fill, const struct split_problem *problem)
{
	fill->problem = problem;
	fill->longest = 0;
	for (unsigned d = 0; d < problem->ndevices; d++) {
		size_t share[SPLIT_MAXDEVICES] = {0};
		struct split_times times;

		fill->alone[d][0] = 0;
		for (unsigned i = 1; i <= FILL_STEPS; i++) {
			share[d] = (size_t)((double)problem->groups * i / FILL_STEPS + 0.5);
			split_estimate(problem, share, &times);
			fill->alone[d][i] = fmax(times.finish_us[d], fill->alone[d][i - 1]);
		}
		fill->longest = fmax(fill->longest, fill->alone[d][FILL_STEPS]);
	}
}

/* Which part of the groups a device does within some time, were it alone. */
static double part_within(const double *alone, double us)
{
	unsigned low = 0, high = FILL_STEPS;

	if (alone[high] <= us)
		return 1;
	while (high - low > 1) {
		unsigned middle = (low + high) / 2;

		if (alone[middle] <= us)
			low = middle;
		else
			high = middle;
	}
	/* The first step holds the cost of using the device at all. */
	if (!low)
		return 0;
	return (low + (us - alone[low]) / (alone[high] - alone[low])) / FILL_STEPS;
}

/* Shares by which the devices of a subset end together, as if each had a bus of its own.
 * @return when that is */
static double fill_subset(const struct fill *fill, unsigned subset, size_t *share)
{
	const struct split_problem *problem = fill->problem;
	double low = 0, high = fill->longest, parts[SPLIT_MAXDEVICES], sum = 0, upto = 0;
	size_t given = 0;

	for (int i = 0; i < FILL_BISECTIONS; i++) {
		double us = (low + high) / 2;

		sum = 0;
		for (unsigned d = 0; d < problem->ndevices && sum < 1; d++)
			sum += subset >> d & 1 ? part_within(fill->alone[d], us) : 0;
		if (sum < 1)
			low = us;
		else
			high = us;
	}
	sum = 0;
	for (unsigned d = 0; d < problem->ndevices; d++) {
		parts[d] = subset >> d & 1 ? part_within(fill->alone[d], high) : 0;
		sum += parts[d];
	}
	for (unsigned d = 0; d < problem->ndevices; d++) {
		size_t end;

		upto += parts[d];
		end = fmin(problem->groups * fmin(upto / sum, 1) + 0.5, problem->groups);
		share[d] = end - given;
		given = end;
	}
	return high;
}

double split_among(const struct split_problem *problem, unsigned set, size_t *share)
{
	struct fill fill;

	fill_make(&fill, problem);
	return fill_subset(&fill, set, share);
}

/* One of the best starting points. */
struct start {
	double us;
	size_t share[SPLIT_MAXDEVICES];
};

static void start_keep(struct start *starts, const struct start *start)
{
	unsigned at = FILL_KEPT;

	for (; at > 0 && starts[at - 1].us > start->us; at--)
		if (at < FILL_KEPT)
			starts[at] = starts[at - 1];
	if (at < FILL_KEPT)
		starts[at] = *start;
}

static void subset_try(const struct fill *fill, unsigned subset, struct start *starts)
{
	struct start start;
	struct split_times times;

	fill_subset(fill, subset, start.share);
	start.us = split_estimate(fill->problem, start.share, &times);
	start_keep(starts, &start);
}

/* A device's first group has costs of its own, so that no small move leads from one split to a
 * better one. Therefore the search starts from the sets of devices with the shortest estimates,
 * out of all sets where there are few. Every second search begins with large moves: a device that
 * takes as long for a third of the groups as for all is left by no small one. Where sets are few,
 * each is searched both ways. */
static double split_best(const struct split_problem *problem, size_t *share)
{
	size_t coarse = problem->groups / 32 ? problem->groups / 32 : 1;
	unsigned all = (1u << problem->ndevices) - 1, kept = 0;
	struct start starts[FILL_KEPT];
	struct fill fill;
	double us;

	us = split_paper(problem, coarse, share);
	if (!problem->groups || problem->ndevices < 2)
		return us;
	us = split_refine(problem, coarse * 4, share);
	for (unsigned i = 0; i < FILL_KEPT; i++)
		starts[i].us = INFINITY;
	fill_make(&fill, problem);
	for (unsigned subset = all, n = 0; subset && n < FILL_SUBSETS; subset--, n++)
		if (subset & (subset - 1))
			subset_try(&fill, subset, starts);
	while (kept < FILL_KEPT && starts[kept].us < INFINITY)
		kept++;
	for (unsigned i = 0; i < FILL_KEPT && i < 2 * kept; i++) {
		struct start start = starts[i % kept];
		bool large = (i % kept + i / kept) % 2 == 0;
		double other =
		    split_refine(problem, large ? problem->groups / 2 : coarse * 2, start.share);

		if (other < us) {
			us = other;
			memcpy(share, start.share, problem->ndevices * sizeof(*share));
		}
	}
	return us;
}

/* ---- exhaustive search ---- */

struct search {
	const struct split_problem *problem;
	size_t step, share[SPLIT_MAXDEVICES], *best;
	double best_us;
};

static void search_device(struct search *search, unsigned d, size_t left)
{
	struct split_times times;
	size_t n = 0;
	double us;

	if (d + 1 < search->problem->ndevices) {
		for (;; n = left - n > search->step ? n + search->step : left) {
			search->share[d] = n;
			search_device(search, d + 1, left - n);
			if (n == left)
				return;
		}
	}
	search->share[d] = left;
	us = split_estimate(search->problem, search->share, &times);
	if (us < search->best_us) {
		search->best_us = us;
		memcpy(search->best, search->share, sizeof(*search->best) * (d + 1));
	}
}

size_t split_optimum_steps(unsigned ndevices)
{
	static const size_t steps[] = {1, 1, 4096, 200, 48, 24, 18, 14, 12};

	return ndevices < sizeof(steps) / sizeof(steps[0]) ? steps[ndevices] : 8;
}

static double split_optimum(const struct split_problem *problem, size_t *share)
{
	size_t steps = split_optimum_steps(problem->ndevices);
	struct search search = {.problem = problem, .best = share, .best_us = INFINITY};

	search.step = (problem->groups + steps - 1) / steps;
	search.step = search.step ? search.step : 1;
	search_device(&search, 0, problem->groups);
	return search.best_us;
}

/* ---- methods ---- */

static double split_paper_fine(const struct split_problem *problem, size_t *share)
{
	return split_paper(problem, (problem->groups + 2047) / 2048, share);
}

static const struct {
	const char *name;
	double (*decide)(const struct split_problem *problem, size_t *share);
} methods[SPLIT_NMETHODS] = {
    [SPLIT_HEDDLE] = {"heddle", split_best},
    [SPLIT_PAPER] = {"paper", split_paper_fine},
    [SPLIT_PUBLISHED] = {"published", split_paper_fine},
    [SPLIT_LINEAR] = {"linear", split_linear},
    [SPLIT_SINGLE] = {"single", split_single},
    [SPLIT_OPTIMUM] = {"optimum", split_optimum},
};

const char *split_method_name(enum split_method method)
{
	return (unsigned)method < SPLIT_NMETHODS ? methods[method].name : NULL;
}

double split_decide(const struct split_problem *problem, enum split_method method, size_t *share)
{
	memset(share, 0, problem->ndevices * sizeof(*share));
	return methods[method].decide(problem, share);
}
