/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>

#include "choice.h"

/* Of more kinds not all subsets are looked at. */
#define MANY_KINDS 4

struct search {
	const struct interval_model *all;
	unsigned most;
	double minimum_rows;
	const struct choice_trial *trials;
	unsigned ntrials;
	double *slower; /* each trial's time, as far as it is believed, over the model's */
	struct interval_model best;
	double best_us; /* with caution */
};

static double model_time(const struct search *search, const struct interval_model *crew)
{
	unsigned k;
	size_t h;

	return interval_least_time(crew, search->most, search->minimum_rows, &h, &k);
}

static void trials_weigh(struct search *search)
{
	for (unsigned t = 0; t < search->ntrials; t++) {
		const struct choice_trial *trial = &search->trials[t];
		struct interval_model crew = *search->all;
		double ratio;

		for (unsigned j = 0; j < crew.nkinds; j++)
			crew.kinds[j].count = trial->counts[j];
		ratio = trial->us / model_time(search, &crew);
		search->slower[t] = trial->n > 1 ? ratio : sqrt(ratio);
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

/* How much longer a crew is believed to take than the model says; `tried`: it did. */
static double slower(const struct search *search, const struct interval_model *crew, bool *tried)
{
	double worst = 0;

	*tried = false;
	for (unsigned t = 0; t < search->ntrials && !*tried; t++) {
		if (!is_within(&search->trials[t], crew, tried))
			continue;
		worst = *tried ? search->slower[t] : fmax(worst, search->slower[t]);
	}
	return worst > 0 ? worst : 1;
}

static unsigned kinds_present(const struct interval_model *model)
{
	unsigned n = 0;

	for (unsigned j = 0; j < model->nkinds; j++)
		n += model->kinds[j].count > 0;
	return n;
}

/* Keeps a crew if it is better than what there is. */
static bool consider(struct search *search, const struct interval_model *crew)
{
	bool tried;
	double us;

	if (!interval_workers(crew))
		return false;
	us = slower(search, crew, &tried);
	us *= model_time(search, crew);
	if (!tried && kinds_present(crew) > 1)
		us /= CHOICE_CAUTION;
	if (!(us < search->best_us))
		return false;
	search->best = *crew;
	search->best_us = us;
	return true;
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
	const struct interval_model crew = search->best;
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

unsigned choice_make(struct interval_model *model, unsigned most, double minimum_rows,
                     const struct choice_trial *trials, unsigned ntrials)
{
	double ratios[CHOICE_MAXTRIALS];
	struct search search = {.all = model,
	                        .most = most,
	                        .minimum_rows = minimum_rows,
	                        .trials = trials,
	                        .ntrials = ntrials < CHOICE_MAXTRIALS ? ntrials : CHOICE_MAXTRIALS,
	                        .slower = ratios,
	                        .best = *model,
	                        .best_us = INFINITY};
	unsigned workers = interval_workers(model);

	trials_weigh(&search);
	if (model->nkinds > MANY_KINDS)
		consider_many(&search);
	else
		for (unsigned set = (1u << model->nkinds) - 1; set; set--)
			consider_set(&search, set);
	while (consider_fewer(&search))
		;
	*model = search.best;
	return workers - interval_workers(model);
}
