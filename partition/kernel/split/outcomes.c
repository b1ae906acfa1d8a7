/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "estimator/robust.h"
#include "partition/kernel/split/outcomes.h"

/* What a split has to promise beyond the best device, as long as nothing was measured:
 * tables are off by that much, and know nothing of what sharing costs. */
#define MARGIN 0.10
/* A way leaves another one behind from that much on, by how often it was measured: launches
 * of some hundred microseconds differ by a tenth among themselves. */
static const double better[] = {1,    0.15, 0.08, 0.06, 0.05, 0.04,
                                0.04, 0.03, 0.03, 0.02, 0.02, 0.005};
enum { OFTEN = sizeof(better) / sizeof(better[0]) - 1 };
/* A split that promises less than that is not worth a trial, one that saves less not worth it:
 * other devices may have something else to do. */
#define WORTH 0.03
/* Devices that are predicted to take up to so many times as long as the best are tried. */
#define NEAR 1.25
/* And later, up to so many. */
#define FAR 4.0
/* What trials may cost: the first ones, in launches; all others, of the total time. */
#define FIRST_TRIALS 0.5
#define TRIALS 0.01
/* What a first trial counts beside later ones of other ways: it tells more. */
#define UNTRIED 0.25
/* And each one made, also of ways that cost nothing, lest they keep others from being tried; in
 * launches. */
#define TRIED 0.002
/* Launches between two looks at what else there is; that make a way known; before which every
 * launch is chosen anew; and between trials at least. */
enum { PERIOD = 8, KNOWN = 3, YOUNG = 5, APART = 3 };
/* How much more or less than usual a launch counts at most; from when on what is usual has
 * changed; and of how many launches it is the mean. */
#define HELD_UP 0.5
#define CHANGED 0.2
enum { MANY = 128 };
/* Of a split: launches that are looked at all, and of how many one is later. */
enum { SETTLES = 10, LOOKS = 4 };
_Static_assert((int)OUTCOMES_RECENT <= HEDDLE_ROBUST_ROOM, "room for a median");

/* By how much a launch beyond the usual counts. */
static double clamp(double us, double usual_us)
{
	return fmin(fmax(us, (1 - HELD_UP) * usual_us), (1 + HELD_UP) * usual_us);
}

/* The median of some is off by a third of what launches differ among themselves, which hides what
 * ways differ by: so a mean goes on from there, until it is no longer what the latest take. */
static void usual_update(struct outcome *outcome, double us)
{
	double median_us = heddle_robust_latest(outcome->us, outcome->n, OUTCOMES_RECENT);
	unsigned n = outcome->n < MANY ? outcome->n : MANY;

	if (outcome->n <= OUTCOMES_RECENT || fabs(outcome->usual_us / median_us - 1) > CHANGED)
		outcome->usual_us = median_us;
	else
		outcome->usual_us += (clamp(us, median_us) - outcome->usual_us) / n;
}

double outcomes_us(const struct outcomes *outcomes, unsigned way)
{
	return outcomes->ways[way].n ? outcomes->ways[way].usual_us : 0;
}

void outcomes_forget(struct outcomes *outcomes, unsigned way)
{
	outcomes->ways[way].n = 0;
}

void outcomes_replace(struct outcomes *outcomes, unsigned way, unsigned by)
{
	struct outcome *to = &outcomes->ways[way];
	const struct outcome *from = &outcomes->ways[by];

	to->n = from->n;
	to->usual_us = from->usual_us;
	memcpy(to->us, from->us, sizeof(to->us));
	outcomes_forget(outcomes, by);
}

void outcomes_measured(struct outcomes *outcomes, unsigned way, double us)
{
	struct outcome *outcome = &outcomes->ways[way];
	double usual_us = outcomes_us(outcomes, outcomes->chosen);
	double lost_us = fmax(us - usual_us, -outcome->lost_us);

	outcomes->total_us += us;
	outcomes->launches++;
	if (way != outcomes->chosen) {
		outcomes->regret_us += lost_us;
		outcome->lost_us += lost_us;
		outcome->trials++;
		outcomes->trial = outcomes->launches;
	}
	outcome->us[outcome->n++ % OUTCOMES_RECENT] = us;
	usual_update(outcome, us);
}

/* What a way is believed to take: measured, or predicted. */
static double expected(const struct outcomes *outcomes, const double *predicted_us, unsigned way)
{
	return outcomes->ways[way].n ? outcomes_us(outcomes, way) : predicted_us[way];
}

/* With nothing to go by but predictions, at least of some ways. */
static unsigned first_choose(const struct outcomes *outcomes, const double *predicted_us)
{
	unsigned best = 0;
	double best_us = INFINITY;

	for (unsigned way = 0; way < OUTCOMES_WAYS; way++) {
		double us = expected(outcomes, predicted_us, way);

		if (isinf(predicted_us[way]))
			continue;
		if (way >= OUTCOMES_SHARED && !outcomes->ways[way].n)
			us *= 1 + MARGIN;
		if (us < best_us) {
			best = way;
			best_us = us;
		}
	}
	return best;
}

/* What a way takes, as ways are compared: a split has to save what it is worth. */
static double compared_us(const struct outcomes *outcomes, unsigned way)
{
	return (way >= OUTCOMES_SHARED ? 1 + WORTH : 1) * outcomes_us(outcomes, way);
}

/* Of what was measured, the fastest, if it is clearly so. */
static void chosen_update(struct outcomes *outcomes, const double *predicted_us)
{
	double usual = compared_us(outcomes, outcomes->chosen), least = usual;

	for (unsigned way = 0; way <= OUTCOMES_SHARED; way++) {
		double us = compared_us(outcomes, way);
		unsigned n = outcomes->ways[way].n < OFTEN ? outcomes->ways[way].n : OFTEN;

		if (us > 0 && us < least && us < usual * (1 - better[n]) &&
		    !isinf(predicted_us[way])) {
			least = us;
			outcomes->chosen = way;
		}
	}
}

/* What trials may still cost. */
static double allowance(const struct outcomes *outcomes)
{
	return TRIALS * outcomes->total_us - outcomes->regret_us;
}

/* The most promising way of those that are not known yet, as far as first trials may cost; the
 * chosen one: none. */
static unsigned unknown_choose(const struct outcomes *outcomes, const double *predicted_us,
                               double us)
{
	unsigned best = outcomes->chosen;
	double best_us = INFINITY;

	for (unsigned way = 0; way < OUTCOMES_WAYS; way++) {
		double way_us = expected(outcomes, predicted_us, way);
		bool untried = way >= OUTCOMES_SHARED && !outcomes->ways[way].n;

		if (way == outcomes->chosen || isinf(predicted_us[way]) ||
		    outcomes->ways[way].n >= KNOWN || way_us >= best_us ||
		    way_us > (untried ? 1 - WORTH : NEAR) * us ||
		    way_us - us > allowance(outcomes) + FIRST_TRIALS * us)
			continue;
		best = way;
		best_us = way_us;
	}
	return best;
}

/* The way for which least will have been lost, so that those near the best are tried more often,
 * and others are not forgotten. The chosen one, while that cannot be afforded. */
static unsigned trial_choose(const struct outcomes *outcomes, const double *predicted_us, double us)
{
	unsigned best = outcomes->chosen;
	double best_us = INFINITY, best_cost_us = 0;

	if (outcomes->launches < outcomes->trial + APART)
		return best;
	for (unsigned way = 0; way < OUTCOMES_WAYS; way++) {
		const struct outcome *outcome = &outcomes->ways[way];
		double way_us = expected(outcomes, predicted_us, way);
		double cost_us = fmax(way_us - us, 0);
		double lost_us = outcome->lost_us + outcome->trials * TRIED * us +
		                 (outcome->n ? 1 : UNTRIED) * cost_us;

		if (way == outcomes->chosen || isinf(predicted_us[way]) || way_us > FAR * us ||
		    lost_us >= best_us)
			continue;
		best = way;
		best_us = lost_us;
		best_cost_us = cost_us;
	}
	return best_cost_us <= allowance(outcomes) ? best : outcomes->chosen;
}

unsigned outcomes_choose(struct outcomes *outcomes, const double *predicted_us)
{
	double us;
	unsigned best;

	if (!outcomes->ways[outcomes->chosen].n || isinf(predicted_us[outcomes->chosen])) {
		outcomes->chosen = first_choose(outcomes, predicted_us);
		return outcomes->chosen;
	}
	chosen_update(outcomes, predicted_us);
	best = outcomes->chosen;
	us = outcomes_us(outcomes, best);
	if (outcomes->ways[best].n < OUTCOMES_TRIED) /* a first launch may have been held up */
		return best;
	best = unknown_choose(outcomes, predicted_us, us);
	return best == outcomes->chosen ? trial_choose(outcomes, predicted_us, us) : best;
}

bool outcomes_settled(const struct outcomes *outcomes, unsigned *way)
{
	if (outcomes->ways[outcomes->chosen].n < KNOWN || outcomes->launches < YOUNG ||
	    outcomes->launches % PERIOD < 2)
		return false;
	*way = outcomes->chosen;
	return true;
}

bool outcomes_look(const struct outcomes *outcomes, unsigned way)
{
	if (way >= OUTCOMES_SHARED)
		return outcomes->ways[way].n < SETTLES || !(outcomes->launches % LOOKS);
	return !outcomes->ways[way].n || !(outcomes->launches % (2 * PERIOD));
}
