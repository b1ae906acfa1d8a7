/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "estimator/robust.h"
#include "partition/kernel/outcomes.h"

/* What a split has to promise beyond the best device, as long as nothing was measured:
 * tables are off by that much, and know nothing of what sharing costs. */
#define MARGIN 0.10
/* A way leaves another one behind from that much on, by how often it was measured: launches
 * of some hundred microseconds differ by a tenth among themselves. */
static const double better[] = {1, 0.15, 0.08, 0.02};
/* A split that promises less than that is not worth a trial. */
#define WORTH 0.03
/* Devices that are predicted to take up to so many times as long as the best are tried. */
#define NEAR 1.25
/* And later, up to so many. */
#define FAR 4.0
/* What trials may cost: the first ones, in launches; all others, of the total time. */
#define FIRST_TRIALS 0.5
#define TRIALS 0.01
/* Launches between two looks at what else there is; that make a way known; before which every
 * launch is chosen anew; and how many times as long it is between trials at most. */
enum { PERIOD = 16, KNOWN = 3, YOUNG = 5, RARE = 32 };
/* Of a split: launches that are looked at all, and of how many one is later. */
enum { SETTLES = 10, LOOKS = 4 };

static double usual(const struct outcome *outcome)
{
	double us[OUTCOMES_RECENT];

	memcpy(us, outcome->us, sizeof(us));
	return heddle_robust_median(us,
	                            outcome->n < OUTCOMES_RECENT ? outcome->n : OUTCOMES_RECENT);
}

double outcomes_us(const struct outcomes *outcomes, unsigned way)
{
	return outcomes->ways[way].n ? outcomes->ways[way].usual_us : 0;
}

void outcomes_forget(struct outcomes *outcomes, unsigned way)
{
	outcomes->ways[way].n = 0;
}

void outcomes_measured(struct outcomes *outcomes, unsigned way, double us)
{
	struct outcome *outcome = &outcomes->ways[way];
	double best_us = outcomes_us(outcomes, outcomes->chosen);

	if (way != outcomes->chosen && us > best_us)
		outcomes->regret_us += us - best_us;
	outcomes->total_us += us;
	outcomes->launches++;
	outcome->trial = outcomes->launches;
	outcome->us[outcome->n++ % OUTCOMES_RECENT] = us;
	outcome->usual_us = usual(outcome);
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

/* Of what was measured, the fastest, if it is clearly so. */
static void chosen_update(struct outcomes *outcomes, const double *predicted_us)
{
	double usual = outcomes_us(outcomes, outcomes->chosen), least = usual;

	for (unsigned way = 0; way <= OUTCOMES_SHARED; way++) {
		double us = outcomes_us(outcomes, way);
		unsigned n = outcomes->ways[way].n < KNOWN ? outcomes->ways[way].n : KNOWN;

		if (us > 0 && us < least && us < usual * (1 - better[n]) &&
		    !isinf(predicted_us[way])) {
			least = us;
			outcomes->chosen = way;
		}
	}
}

/* Whether a way is to be tried beside the best, which takes `us`: early, where it is promising;
 * later, now and then, the more rarely the more often it was. */
static bool trial_due(const struct outcomes *outcomes, unsigned way, double expected_us, double us)
{
	const struct outcome *outcome = &outcomes->ways[way];
	unsigned tried = outcome->n < RARE ? outcome->n + 1 : RARE;
	double near = way >= OUTCOMES_SHARED && !outcome->n ? 1 - WORTH : NEAR;
	double lost_us = outcomes->regret_us + fmax(expected_us - us, 0);
	double allowance_us = TRIALS * outcomes->total_us;

	if (outcome->n < KNOWN && expected_us <= near * us)
		return lost_us <= allowance_us + FIRST_TRIALS * us;
	return expected_us <= FAR * us && lost_us <= allowance_us &&
	       outcomes->launches >= outcome->trial + PERIOD * tried;
}

unsigned outcomes_choose(struct outcomes *outcomes, const double *predicted_us)
{
	double us, best_us = INFINITY;
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
	for (unsigned way = 0; way < OUTCOMES_WAYS; way++) {
		double way_us = expected(outcomes, predicted_us, way);

		if (way == outcomes->chosen || isinf(predicted_us[way]) || way_us >= best_us ||
		    !trial_due(outcomes, way, way_us, us))
			continue;
		best = way;
		best_us = way_us;
	}
	return best;
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
	return !outcomes->ways[way].n || !(outcomes->launches % PERIOD);
}
