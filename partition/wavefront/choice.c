/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>

#include "choice.h"
#include "rehearsal.h"

/* Of more kinds not all subsets are looked at. */
#define MANY_KINDS 4

/* A crew with an h and a k, and what it is believed to take, with caution. */
struct plan {
	struct interval_model crew;
	size_t h;
	unsigned k;
	double us;
};

struct search {
	const struct interval_model *all;
	unsigned most;
	double minimum_rows;
	const struct choice_trial *trials;
	unsigned ntrials;
	const struct space *space;
	double *predicted, *believed; /* of each trial */
	struct plan best;
};

bool choice_is_about(size_t h, unsigned k, size_t other_h, unsigned other_k)
{
	return 10 * h <= 11 * other_h && 10 * other_h <= 11 * h && 10 * k <= 11 * other_k &&
	       10 * other_k <= 11 * k;
}

/* What the model says of a crew with some h and k. */
static double model_time(const struct interval_model *crew, size_t h, unsigned k)
{
	struct interval_model model = *crew;

	model.k = k;
	return interval_pipelined_time(&model, h);
}

/* Whether a trial was the first of its kinds of workers, and may have paid for what comes
 * once. */
static bool is_first(const struct search *search, unsigned t)
{
	const struct choice_trial *trial = &search->trials[t];
	bool first = trial->n < 2;

	for (unsigned other = 0; other < search->ntrials && first; other++) {
		bool differ = other == t;

		for (unsigned j = 0; j < search->all->nkinds; j++)
			differ = differ || !trial->counts[j] != !search->trials[other].counts[j];
		first = differ;
	}
	return first;
}

static void trials_weigh(struct search *search)
{
	for (unsigned t = 0; t < search->ntrials; t++) {
		const struct choice_trial *trial = &search->trials[t];
		struct interval_model crew = *search->all;

		for (unsigned j = 0; j < crew.nkinds; j++)
			crew.kinds[j].count = trial->counts[j];
		search->predicted[t] = model_time(&crew, trial->h, trial->k);
		search->believed[t] = trial->us;
		if (is_first(search, t))
			search->believed[t] =
			    fmin(trial->us, sqrt(trial->us * search->predicted[t]));
	}
}

/* Whether a trial's crew has no kinds but those of another one; `same`: it is that one. */
static bool is_within(const struct choice_trial *trial, const struct interval_model *crew,
                      bool *same)
{
	bool within = true;

	*same = true;
	for (unsigned j = 0; j < crew->nkinds; j++) {
		within = within && (!trial->counts[j] || crew->kinds[j].count);
		*same = *same && trial->counts[j] == crew->kinds[j].count;
	}
	return within;
}

/* The trial of about this plan; -1: there is none. */
static int trial_of(const struct search *search, const struct plan *plan)
{
	bool same;

	for (unsigned t = 0; t < search->ntrials; t++) {
		const struct choice_trial *trial = &search->trials[t];

		is_within(trial, &plan->crew, &same);
		if (same && choice_is_about(trial->h, trial->k, plan->h, plan->k))
			return t;
	}
	return -1;
}

/* How much longer a crew is believed to take than the model says; `tried`: it was. */
static double slower(const struct search *search, const struct interval_model *crew, bool *tried)
{
	double worst = 0, best = INFINITY, best_ratio = 1;

	*tried = false;
	for (unsigned t = 0; t < search->ntrials; t++) {
		double ratio = search->believed[t] / search->predicted[t];
		bool same;

		if (!is_within(&search->trials[t], crew, &same))
			continue;
		worst = fmax(worst, ratio);
		if (!same || !(search->believed[t] < best))
			continue;
		*tried = true;
		best = search->believed[t];
		best_ratio = ratio;
	}
	return *tried ? best_ratio : worst > 0 ? worst : 1;
}

static unsigned kinds_present(const struct interval_model *model)
{
	unsigned n = 0;

	for (unsigned j = 0; j < model->nkinds; j++)
		n += model->kinds[j].count > 0;
	return n;
}

static bool keep_better(struct search *search, const struct plan *plan)
{
	if (!(plan->us < search->best.us))
		return false;
	search->best = *plan;
	return true;
}

/* Keeps a crew, at the model's best h and k, if it is better than what there is. */
static bool consider(struct search *search, const struct interval_model *crew)
{
	struct plan plan = {.crew = *crew};
	bool tried;
	int trial;

	if (!interval_workers(crew))
		return false;
	plan.us = interval_least_time(crew, search->most, search->minimum_rows, &plan.h, &plan.k);
	plan.us *= slower(search, crew, &tried);
	trial = trial_of(search, &plan);
	if (trial >= 0) {
		plan.h = search->trials[trial].h;
		plan.k = search->trials[trial].k;
		plan.us = search->believed[trial];
	} else if (tried) {
		plan.us /= CHOICE_GAIN;
	} else if (kinds_present(crew) > 1) {
		plan.us /= CHOICE_CAUTION;
	}
	return keep_better(search, &plan);
}

/* What was tried, if these workers are there. */
static void consider_trials(struct search *search)
{
	for (unsigned t = 0; t < search->ntrials; t++) {
		const struct choice_trial *trial = &search->trials[t];
		struct plan plan = {
		    .crew = *search->all, .h = trial->h, .k = trial->k, .us = search->believed[t]};
		bool here = !search->all->k || search->all->k == trial->k;

		for (unsigned j = 0; j < plan.crew.nkinds; j++) {
			here = here && trial->counts[j] <= plan.crew.kinds[j].count;
			plan.crew.kinds[j].count = trial->counts[j];
		}
		if (here)
			keep_better(search, &plan);
	}
}

/* The best of the crews, tile by tile. */
static void refine(struct search *search)
{
	struct plan *best = &search->best;
	struct interval_model model = best->crew;
	int trial;

	if (!search->space || trial_of(search, best) >= 0)
		return;
	model.k = search->all->k;
	rehearsal_choose(&model, search->space, search->most, search->minimum_rows, &best->h,
	                 &best->k);
	trial = trial_of(search, best);
	if (trial < 0)
		return;
	best->h = search->trials[trial].h;
	best->k = search->trials[trial].k;
	best->us = search->believed[trial];
}

/* The kinds whose bit is set. */
static void consider_set(struct search *search, unsigned set)
{
	struct interval_model crew = *search->all;

	for (unsigned j = 0; j < crew.nkinds; j++)
		if (!(set >> j & 1))
			crew.kinds[j].count = 0;
	consider(search, &crew);
}

static void consider_many(struct search *search)
{
	consider(search, search->all);
	for (unsigned j = 0; j < search->all->nkinds; j++) {
		struct interval_model alone = *search->all, without = *search->all;

		for (unsigned i = 0; i < alone.nkinds; i++)
			if (i != j)
				alone.kinds[i].count = 0;
		without.kinds[j].count = 0;
		consider(search, &alone);
		consider(search, &without);
	}
}

/* The best of the crews with one worker less. */
static bool consider_fewer(struct search *search)
{
	const struct interval_model crew = search->best.crew;
	bool better = false;

	for (unsigned j = 0; j < crew.nkinds; j++) {
		struct interval_model fewer = crew;

		if (!fewer.kinds[j].count)
			continue;
		fewer.kinds[j].count--;
		better |= consider(search, &fewer);
	}
	return better;
}

/* ---- trying out ---- */

/* The best's trial, if there was more than one; -1: it is not known well enough. */
static int settled(const struct search *search)
{
	int best = trial_of(search, &search->best);

	return best >= 0 && search->trials[best].n > 1 ? best : -1;
}

/* All workers of some kinds that were not tried, or only once when that was the first time
 * for these kinds: the model's plan, or the one that was tried. */
static bool untried(const struct search *search, unsigned set, struct plan *plan)
{
	bool tried;

	*plan = (struct plan){.crew = *search->all};
	for (unsigned j = 0; j < plan->crew.nkinds; j++)
		if (!(set >> j & 1))
			plan->crew.kinds[j].count = 0;
	if (!interval_workers(&plan->crew))
		return false;
	plan->us = slower(search, &plan->crew, &tried);
	plan->us *= interval_least_time(&plan->crew, search->most, search->minimum_rows, &plan->h,
	                                &plan->k);
	for (unsigned t = 0; t < search->ntrials && tried; t++) {
		bool same;

		is_within(&search->trials[t], &plan->crew, &same);
		if (!same || !is_first(search, t))
			continue;
		plan->h = search->trials[t].h;
		plan->k = search->trials[t].k;
		plan->us = search->believed[t];
		return true;
	}
	return !tried;
}

/* Kinds of workers that may be better than what is known of them says. */
static bool consider_untried(struct search *search)
{
	double least = CHOICE_HOPE * search->best.us;
	struct plan plan;
	bool found = false;

	for (unsigned set = (1u << search->all->nkinds) - 1; set; set--) {
		if (!untried(search, set, &plan) || !(plan.us < least))
			continue;
		least = plan.us;
		search->best = plan;
		found = true;
	}
	return found;
}

/* Whether the best is not explained by the model, and its crew has not been tried out
 * enough. */
static bool is_unexplained(const struct search *search, int best)
{
	const struct choice_trial *trial = &search->trials[best];
	unsigned plans = 0;
	bool same;

	/* Who is alone waits for nobody, and one tile costs least. */
	if (interval_workers(&search->best.crew) == 1 && trial->k == 1 &&
	    trial->h >= search->all->columns)
		return false;
	for (unsigned t = 0; t < search->ntrials; t++) {
		is_within(&search->trials[t], &search->best.crew, &same);
		plans += same;
	}
	return plans < CHOICE_MOSTPLANS &&
	       trial->us > CHOICE_MISSES * search->predicted[best] * fmax(1, trial->pace);
}

/* The one that the model likes best of half and twice as many bands, and of longer and
 * shorter tiles, where nothing of the kind was tried. */
static void consider_neighbours(struct search *search)
{
	const struct plan best = search->best;
	const double h = best.h;
	const struct {
		double h, k;
	} steps[] = {{h, best.k / 2}, {h, best.k * 2.0}, {h * 1.5, best.k}, {h / 1.5, best.k}};
	double least = CHOICE_MISSES * model_time(&best.crew, best.h, best.k);

	for (unsigned i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct plan plan = {.crew = best.crew, .k = steps[i].k};

		if (steps[i].k < 1 || steps[i].k > search->most || steps[i].h < 1 ||
		    (search->all->k && steps[i].k != search->all->k))
			continue;
		plan.crew.k = plan.k;
		plan.h = fmin(steps[i].h, plan.crew.columns);
		plan.us = plan.k == best.k
		              ? model_time(&plan.crew, plan.h, plan.k)
		              : interval_least_time(&plan.crew, search->most, search->minimum_rows,
		                                    &plan.h, &plan.k);
		plan.crew.k = search->all->k;
		if (plan.us < least && trial_of(search, &plan) < 0) {
			least = plan.us;
			search->best = plan;
		}
	}
}

unsigned choice_make(struct interval_model *model, unsigned most, double minimum_rows,
                     const struct choice_trial *trials, unsigned ntrials, const struct space *space,
                     bool explore, size_t *h, unsigned *k)
{
	double predicted[CHOICE_MAXTRIALS], believed[CHOICE_MAXTRIALS];
	struct search search = {.all = model,
	                        .most = most,
	                        .minimum_rows = minimum_rows,
	                        .trials = trials,
	                        .space = space,
	                        .ntrials = ntrials < CHOICE_MAXTRIALS ? ntrials : CHOICE_MAXTRIALS,
	                        .predicted = predicted,
	                        .believed = believed,
	                        .best = {.us = INFINITY}};
	unsigned workers = interval_workers(model);
	int best;

	trials_weigh(&search);
	if (model->nkinds > MANY_KINDS)
		consider_many(&search);
	else
		for (unsigned set = (1u << model->nkinds) - 1; set; set--)
			consider_set(&search, set);
	while (consider_fewer(&search))
		;
	refine(&search);
	consider_trials(&search);
	best = explore ? settled(&search) : -1;
	if (best >= 0 && !(model->nkinds <= MANY_KINDS && consider_untried(&search)) &&
	    is_unexplained(&search, best))
		consider_neighbours(&search);
	*model = search.best.crew;
	*h = search.best.h;
	*k = search.best.k;
	return workers - interval_workers(model);
}
