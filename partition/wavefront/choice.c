/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>

#include "choice.h"
#include "simulation.h"

/* Of more kinds not all subsets are looked at. */
#define MANY_KINDS 4

/* A team with an h and a k, and its estimated time, with caution. */
struct plan {
	struct wave_model team;
	size_t h;
	unsigned k;
	double us;
};

struct search {
	const struct wave_model *all;
	unsigned most;
	double minimum_rows;
	const struct wave_run *runs;
	unsigned nruns;
	const struct wave_space *space;
	double *predicted, *estimated; /* of each run */
	struct plan best;
};

bool wave_choice_is_about(size_t h, unsigned k, size_t other_h, unsigned other_k)
{
	return 10 * h <= 11 * other_h && 10 * other_h <= 11 * h && 10 * k <= 11 * other_k &&
	       10 * other_k <= 11 * k;
}

/* What the model says of a team with some h and k. */
static double model_time(const struct wave_model *team, size_t h, unsigned k)
{
	struct wave_model model = *team;

	model.k = k;
	return wave_model_pipelined_time(&model, h);
}

/* Whether a run was the first of its kinds of workers: it may include costs that come once. */
static bool is_first(const struct search *search, unsigned t)
{
	const struct wave_run *run = &search->runs[t];
	bool first = run->n < 2;

	for (unsigned other = 0; other < search->nruns && first; other++) {
		bool differ = other == t;

		for (unsigned j = 0; j < search->all->nkinds; j++)
			differ = differ || !run->counts[j] != !search->runs[other].counts[j];
		first = differ;
	}
	return first;
}

static void runs_weigh(struct search *search)
{
	for (unsigned t = 0; t < search->nruns; t++) {
		const struct wave_run *run = &search->runs[t];
		struct wave_model team = *search->all;

		for (unsigned j = 0; j < team.nkinds; j++)
			team.kinds[j].count = run->counts[j];
		search->predicted[t] = model_time(&team, run->h, run->k);
		search->estimated[t] = run->us;
		if (is_first(search, t))
			search->estimated[t] = fmin(run->us, sqrt(run->us * search->predicted[t]));
	}
}

/* Whether a run's team has no kinds but those of another one; `same`: it is that one. */
static bool is_within(const struct wave_run *run, const struct wave_model *team, bool *same)
{
	bool within = true;

	*same = true;
	for (unsigned j = 0; j < team->nkinds; j++) {
		within = within && (!run->counts[j] || team->kinds[j].count);
		*same = *same && run->counts[j] == team->kinds[j].count;
	}
	return within;
}

/* The run of about this plan; -1: there is none. */
static int run_of(const struct search *search, const struct plan *plan)
{
	bool same;

	for (unsigned t = 0; t < search->nruns; t++) {
		const struct wave_run *run = &search->runs[t];

		is_within(run, &plan->team, &same);
		if (same && wave_choice_is_about(run->h, run->k, plan->h, plan->k))
			return t;
	}
	return -1;
}

/* How far a plan is from another one: factors count alike both ways. */
static double distance(const struct wave_run *run, size_t h, unsigned k)
{
	return fabs(log((double)run->h / h)) + fabs(log((double)run->k / k));
}

double wave_choice_predict(const struct wave_model *team, size_t h, unsigned k, double us,
                           const struct wave_run *runs, unsigned nruns)
{
	const struct wave_run *nearest = NULL;

	for (unsigned t = 0; t < nruns; t++) {
		bool same;

		is_within(&runs[t], team, &same);
		if (same && runs[t].latest_us > 0 &&
		    (!nearest || distance(&runs[t], h, k) < distance(nearest, h, k)))
			nearest = &runs[t];
	}
	if (!nearest)
		return us;
	if (wave_choice_is_about(nearest->h, nearest->k, h, k))
		return nearest->latest_us;
	return model_time(team, h, k) * nearest->latest_us /
	       model_time(team, nearest->h, nearest->k);
}

/* By which factor a team is estimated to exceed the prediction.
 * @param[out] tried whether it ran */
static double slower(const struct search *search, const struct wave_model *team, bool *tried)
{
	double worst = 0, best = INFINITY, best_ratio = 1;

	*tried = false;
	for (unsigned t = 0; t < search->nruns; t++) {
		double ratio = search->estimated[t] / search->predicted[t];
		bool same;

		if (!is_within(&search->runs[t], team, &same))
			continue;
		worst = fmax(worst, ratio);
		if (!same || !(search->estimated[t] < best))
			continue;
		*tried = true;
		best = search->estimated[t];
		best_ratio = ratio;
	}
	return *tried ? best_ratio : worst > 0 ? worst : 1;
}

static unsigned kinds_present(const struct wave_model *model)
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

/* Keeps a team, at the model's best h and k, if it is better than what there is. */
static bool consider(struct search *search, const struct wave_model *team)
{
	struct plan plan = {.team = *team};
	bool tried;
	int run;

	if (!wave_model_workers(team))
		return false;
	plan.us = wave_model_least_time(team, search->most, search->minimum_rows, &plan.h, &plan.k);
	plan.us *= slower(search, team, &tried);
	run = run_of(search, &plan);
	if (run >= 0) {
		plan.h = search->runs[run].h;
		plan.k = search->runs[run].k;
		plan.us = search->estimated[run];
	} else if (tried) {
		plan.us /= WAVE_CHOICE_GAIN;
	} else if (kinds_present(team) > 1) {
		plan.us /= WAVE_CHOICE_CAUTION;
	}
	return keep_better(search, &plan);
}

/* What was tried, if these workers are there. */
static void consider_trials(struct search *search)
{
	for (unsigned t = 0; t < search->nruns; t++) {
		const struct wave_run *run = &search->runs[t];
		struct plan plan = {
		    .team = *search->all, .h = run->h, .k = run->k, .us = search->estimated[t]};
		bool here = !search->all->k || search->all->k == run->k;

		for (unsigned j = 0; j < plan.team.nkinds; j++) {
			here = here && run->counts[j] <= plan.team.kinds[j].count;
			plan.team.kinds[j].count = run->counts[j];
		}
		if (here)
			keep_better(search, &plan);
	}
}

/* The best of the teams, tile by tile. */
static void refine(struct search *search)
{
	struct plan *best = &search->best;
	struct wave_model model = best->team;
	int run;

	if (!search->space || run_of(search, best) >= 0)
		return;
	model.k = search->all->k;
	wave_simulation_choose(&model, search->space, search->most, search->minimum_rows, &best->h,
	                       &best->k);
	run = run_of(search, best);
	if (run < 0)
		return;
	best->h = search->runs[run].h;
	best->k = search->runs[run].k;
	best->us = search->estimated[run];
}

/* The kinds whose bit is set. */
static void consider_set(struct search *search, unsigned set)
{
	struct wave_model team = *search->all;

	for (unsigned j = 0; j < team.nkinds; j++)
		if (!(set >> j & 1))
			team.kinds[j].count = 0;
	consider(search, &team);
}

static void consider_many(struct search *search)
{
	consider(search, search->all);
	for (unsigned j = 0; j < search->all->nkinds; j++) {
		struct wave_model alone = *search->all, without = *search->all;

		for (unsigned i = 0; i < alone.nkinds; i++)
			if (i != j)
				alone.kinds[i].count = 0;
		without.kinds[j].count = 0;
		consider(search, &alone);
		consider(search, &without);
	}
}

/* The best of the teams with one worker less. */
static bool consider_fewer(struct search *search)
{
	const struct wave_model team = search->best.team;
	bool better = false;

	for (unsigned j = 0; j < team.nkinds; j++) {
		struct wave_model fewer = team;

		if (!fewer.kinds[j].count)
			continue;
		fewer.kinds[j].count--;
		better |= consider(search, &fewer);
	}
	return better;
}

/* ---- trying out ---- */

/* The runs of the best plan, if there were two; -1: it is not known well enough. */
static int settled(const struct search *search)
{
	int best = run_of(search, &search->best);

	return best >= 0 && search->runs[best].n > 1 ? best : -1;
}

/* All workers of some kinds that were not tried, or only once when that was the first time
 * for these kinds: the model's plan, or the one that was tried. */
static bool untried(const struct search *search, unsigned set, struct plan *plan)
{
	bool tried;

	*plan = (struct plan){.team = *search->all};
	for (unsigned j = 0; j < plan->team.nkinds; j++)
		if (!(set >> j & 1))
			plan->team.kinds[j].count = 0;
	if (!wave_model_workers(&plan->team))
		return false;
	plan->us = slower(search, &plan->team, &tried);
	plan->us *= wave_model_least_time(&plan->team, search->most, search->minimum_rows, &plan->h,
	                                  &plan->k);
	for (unsigned t = 0; t < search->nruns && tried; t++) {
		bool same;

		is_within(&search->runs[t], &plan->team, &same);
		if (!same || !is_first(search, t))
			continue;
		plan->h = search->runs[t].h;
		plan->k = search->runs[t].k;
		plan->us = search->estimated[t];
		return true;
	}
	return !tried;
}

/* Kinds of workers that may be better than what is known of them says. */
static bool consider_untried(struct search *search)
{
	double least = WAVE_CHOICE_HOPE * search->best.us;
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

/* Whether the best is not explained by the model, and its team has not been tried out
 * enough. */
static bool is_unexplained(const struct search *search, int best)
{
	const struct wave_run *run = &search->runs[best];
	unsigned plans = 0;
	bool same;

	/* A single worker does not wait, and one tile costs least. */
	if (wave_model_workers(&search->best.team) == 1 && run->k == 1 &&
	    run->h >= search->all->columns)
		return false;
	for (unsigned t = 0; t < search->nruns; t++) {
		is_within(&search->runs[t], &search->best.team, &same);
		plans += same;
	}
	return plans < WAVE_CHOICE_MOST_PLANS &&
	       run->us > WAVE_CHOICE_MISSES * search->predicted[best] * fmax(1, run->pace);
}

/* Of half and twice as many bands, and of longer and shorter tiles, the plan with the best
 * prediction, where nothing like it was tried. */
static void consider_neighbours(struct search *search)
{
	const struct plan best = search->best;
	const double h = best.h;
	const struct {
		double h, k;
	} steps[] = {{h, best.k / 2}, {h, best.k * 2.0}, {h * 1.5, best.k}, {h / 1.5, best.k}};
	double least = WAVE_CHOICE_MISSES * model_time(&best.team, best.h, best.k);

	for (unsigned i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct plan plan = {.team = best.team, .k = steps[i].k};

		if (steps[i].k < 1 || steps[i].k > search->most || steps[i].h < 1 ||
		    (search->all->k && steps[i].k != search->all->k))
			continue;
		plan.team.k = plan.k;
		plan.h = fmin(steps[i].h, plan.team.columns);
		plan.us = plan.k == best.k
		              ? model_time(&plan.team, plan.h, plan.k)
		              : wave_model_least_time(&plan.team, search->most,
		                                      search->minimum_rows, &plan.h, &plan.k);
		plan.team.k = search->all->k;
		if (plan.us < least && run_of(search, &plan) < 0) {
			least = plan.us;
			search->best = plan;
		}
	}
}

unsigned wave_choose(struct wave_model *model, unsigned most, double minimum_rows,
                     const struct wave_run *runs, unsigned nruns, const struct wave_space *space,
                     bool explore, size_t *h, unsigned *k)
{
	double predicted[WAVE_CHOICE_MOST_RUNS], estimated[WAVE_CHOICE_MOST_RUNS];
	struct search search = {.all = model,
	                        .most = most,
	                        .minimum_rows = minimum_rows,
	                        .runs = runs,
	                        .space = space,
	                        .nruns =
	                            nruns < WAVE_CHOICE_MOST_RUNS ? nruns : WAVE_CHOICE_MOST_RUNS,
	                        .predicted = predicted,
	                        .estimated = estimated,
	                        .best = {.us = INFINITY}};
	unsigned workers = wave_model_workers(model);
	int best;

	runs_weigh(&search);
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
	*model = search.best.team;
	*h = search.best.h;
	*k = search.best.k;
	return workers - wave_model_workers(model);
}
