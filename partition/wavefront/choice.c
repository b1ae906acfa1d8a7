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
	struct interval_model best;
	double best_us; /* with caution */
};

static const struct choice_trial *trial_of(const struct interval_model *model,
                                           const struct choice_trial *trials, unsigned n)
{
	for (unsigned t = 0; t < n; t++) {
		unsigned j = 0;

		while (j < model->nkinds && trials[t].counts[j] == model->kinds[j].count)
			j++;
		if (j == model->nkinds)
			return &trials[t];
	}
	return NULL;
}

double choice_time(const struct interval_model *model, unsigned most, double minimum_rows,
                   const struct choice_trial *trials, unsigned ntrials)
{
	const struct choice_trial *trial = trial_of(model, trials, ntrials);
	unsigned k;
	size_t h;
	double us;

	if (trial && trial->n > 1)
		return trial->us;
	us = interval_least_time(model, most, minimum_rows, &h, &k);
	return trial ? sqrt(us * trial->us) : us;
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
	bool tried = trial_of(crew, search->trials, search->ntrials) != NULL;
	double us;

	if (!interval_workers(crew))
		return false;
	us = choice_time(crew, search->most, search->minimum_rows, search->trials,
	                 search->ntrials);
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
	struct search search = {.all = model,
	                        .most = most,
	                        .minimum_rows = minimum_rows,
	                        .trials = trials,
	                        .ntrials = ntrials,
	                        .best = *model,
	                        .best_us = INFINITY};
	unsigned workers = interval_workers(model);

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
