/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "estimator/range.h"
#include "tools/common/cross_validation.h"

struct run {
	const struct heddle_history *history;
	unsigned class, reference, folds;
	struct heddle_history_rule rule;
	size_t njobs;
	size_t *jobs; /* points, shuffled: the i-th is in fold i % folds */
};

static int jobs_find(struct run *run)
{
	const struct heddle_history *history = run->history;

	run->jobs = calloc(history->npoints + 1, sizeof(*run->jobs));
	if (!run->jobs)
		return -ENOMEM;
	for (size_t p = 0; p < history->npoints; p++)
		if (history->points[p].us[run->class] > 0 &&
		    history->points[p].us[run->reference] > 0)
			run->jobs[run->njobs++] = p;
	return run->njobs < 2 ? -ENODATA : 0;
}

/* Its own generator makes the same folds everywhere. */
static void jobs_shuffle(struct run *run, uint64_t seed)
{
	for (size_t i = run->njobs; i > 1; i--) {
		size_t j, job = run->jobs[i - 1];

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		j = (seed >> 33) % i;
		run->jobs[i - 1] = run->jobs[j];
		run->jobs[j] = job;
	}
}

/* The history without the jobs of a fold. */
static int others(const struct run *run, unsigned fold, struct heddle_history *train)
{
	const struct heddle_history *all = run->history;
	int error = 0;

	*train = (struct heddle_history){.ndimensions = all->ndimensions, .wide = all->wide};
	memcpy(train->names, all->names, sizeof(train->names));
	for (unsigned d = 0; d < all->ndimensions; d++)
		train->dimensions[d].categorical = all->dimensions[d].categorical;
	for (size_t i = 0; i < run->njobs && !error; i++) {
		const struct heddle_history_point *point = &all->points[run->jobs[i]];
		size_t p;

		if (i % run->folds == fold)
			continue;
		error = heddle_history_add(train, point->values, &p);
		if (error)
			break;
		heddle_history_set(train, p, run->class, point->us[run->class]);
		heddle_history_set(train, p, run->reference, point->us[run->reference]);
	}
	if (!error)
		heddle_history_learn(train);
	return error;
}

static double error_of(double predicted, double measured)
{
	return fabs(predicted - measured) / measured;
}

/* Sums over jobs, of which some have intervals. */
struct sums {
	struct heddle_cross_validation errors; /* `inside` is a number of jobs */
	size_t ranged;
};

static void errors_add(struct heddle_cross_validation *sum, const struct run *run,
                       const double *predicted, const double *measured)
{
	sum->jobs++;
	sum->time += error_of(predicted[run->class], measured[run->class]);
	sum->reference += error_of(predicted[run->reference], measured[run->reference]);
	sum->speedup += error_of(predicted[run->reference] / predicted[run->class],
	                         measured[run->reference] / measured[run->class]);
}

static void sums_average(const struct sums *sums, struct heddle_cross_validation *result)
{
	const struct heddle_cross_validation *sum = &sums->errors;

	*result = (struct heddle_cross_validation){
	    .jobs = sum->jobs,
	    .speedup = sum->speedup / sum->jobs,
	    .time = sum->time / sum->jobs,
	    .reference = sum->reference / sum->jobs,
	    .inside = sums->ranged ? sum->inside / sums->ranged : NAN,
	};
}

static int fold_run(const struct run *run, unsigned fold, struct sums *sums)
{
	static const double unknown[HEDDLE_HISTORY_CLASSES];
	struct heddle_history train;
	int error = others(run, fold, &train);

	for (size_t i = fold; i < run->njobs && !error; i += run->folds) {
		const struct heddle_history_point *point = &run->history->points[run->jobs[i]];
		struct heddle_history_range ranges[HEDDLE_HISTORY_CLASSES];
		const struct heddle_history_range *range = &ranges[run->class];
		double us[HEDDLE_HISTORY_CLASSES] = {0};

		heddle_history_predict(&train, point->values, run->rule, SIZE_MAX, us);
		errors_add(&sums->errors, run, us, point->us);
		heddle_history_ranges(&train, point->values, run->rule, SIZE_MAX, unknown, ranges);
		sums->ranged += range->high > 0;
		sums->errors.inside +=
		    range->low <= point->us[run->class] && point->us[run->class] <= range->high;
	}
	heddle_history_free(&train);
	return error;
}

int heddle_cross_validation_run(const struct heddle_history *history, unsigned class,
                                unsigned reference, unsigned folds, struct heddle_history_rule rule,
                                unsigned seed, struct heddle_cross_validation *result)
{
	struct run run = {.history = history, .class = class, .reference = reference, .rule = rule};
	struct sums sums = {0};
	int error = jobs_find(&run);

	if (!error) {
		jobs_shuffle(&run, seed);
		run.folds = folds < run.njobs ? folds : run.njobs;
	}
	for (unsigned fold = 0; fold < run.folds && !error; fold++)
		error = fold_run(&run, fold, &sums);
	if (!error)
		sums_average(&sums, result);
	free(run.jobs);
	return error;
}

int heddle_cross_validation_again(const struct heddle_history *history,
                                  const struct heddle_history *again, unsigned class,
                                  unsigned reference, struct heddle_cross_validation *result)
{
	const struct run run = {.class = class, .reference = reference};
	struct sums sums = {0};

	for (size_t p = 0; p < history->npoints; p++) {
		const struct heddle_history_point *point = &history->points[p];
		size_t same = heddle_history_find(again, point->values);
		const double *us = same < again->npoints ? again->points[same].us : NULL;

		if (us && us[class] > 0 && us[reference] > 0 && point->us[class] > 0 &&
		    point->us[reference] > 0)
			errors_add(&sums.errors, &run, us, point->us);
	}
	if (!sums.errors.jobs)
		return -ENODATA;
	sums_average(&sums, result);
	return 0;
}
