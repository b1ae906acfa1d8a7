/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Who takes part in a wavefront, the team. More workers compute faster, but each lengthens
 * the start-up, and an accelerator that needs high bands may be faster alone. So teams are
 * compared by what the model of model.h predicts for each at its best h and k, or by what
 * was measured of them.
 */
#ifndef HEDDLE_WAVEFRONT_CHOICE_H
#define HEDDLE_WAVEFRONT_CHOICE_H

#include "model.h"
#include "tiles.h"

/** What was measured of a team with one h and k, in this loop or one about as large. */
struct wave_run {
	unsigned counts[WAVE_MAXKINDS]; /**< workers of each kind that took part */
	size_t h;                       /**< at least 1 */
	unsigned k;                     /**< at least 1 */
	unsigned n;                     /**< how often, at least 1 */
	double us;                      /**< about the time it took */
	double latest_us;               /**< the time it took last; 0: not known */
	/** On cores: the time its tiles took in relation to what they should; 0: not known. */
	double pace;
};

/** A team of several kinds must be predicted to take this part of the time of any of one
 * kind at the most: more can go wrong in it. What was measured needs no such care. */
#define WAVE_CHOICE_CAUTION 0.9

/** What another h or k must promise, of the time that a team was measured to take. */
#define WAVE_CHOICE_GAIN 0.97

/** Where the best that was measured takes more than this times what the model says, the
 * model misses something, and other h and k are tried. */
#define WAVE_CHOICE_MISSES 1.15

/** Teams of kinds that never ran are run once, and those whose first run was their only one
 * once more, where their estimate is no more than this times the best that was measured. */
#define WAVE_CHOICE_HOPE 1.25

/** Of more runs the first count. */
#define WAVE_CHOICE_MOST_RUNS 24

/** Of a team no more h and k are tried out than these. */
#define WAVE_CHOICE_MOST_PLANS 8

/** Whether two pairs of h and k are about the same: 10 %. */
bool wave_choice_is_about(size_t h, unsigned k, size_t other_h, unsigned other_k);

/** What a team, an h and a k are predicted to take: what they took last, or what the model says,
 * by as much longer or shorter as the run with the nearest h and k took. One run corrects it: a
 * prediction that was wrong is not repeated.
 * @param team the model with the counts of the team
 * @param us what the model says, or what takes its place without a run of this team */
double wave_choice_predict(const struct wave_model *team, size_t h, unsigned k, double us,
                           const struct wave_run *runs, unsigned nruns);

/** Takes out workers so that the loop's estimated time is the least. Of all subsets of up to
 * four kinds (of more kinds: all, each alone and all but each) the best one is taken. From that
 * single workers are taken out as long as the estimate falls. At least one worker stays. Kinds
 * of which no worker stays have a count of 0. With the team it chooses h and k.
 *
 * Estimates come from what was measured, where it was. The first run of some kinds of workers
 * counts half (the geometric mean with the prediction), since it may have paid for what later
 * ones need not; later runs count fully. A team that ran with another h and k is estimated to
 * exceed the prediction by as much as it did with the best of them. A team that never ran is
 * estimated to exceed it as much as the worst of the teams that ran and have no other kinds:
 * otherwise what never ran would always look better. All else takes what the model predicts, at
 * its best h and k. When the best was measured twice, others are tried, one a call, each once:
 * kinds about as good by the model, and where neither the model nor slow tiles explain the
 * best, neighbours of its h and k.
 *
 * Where nothing was measured of the best team's h and k they are chosen again by
 * wave_simulation_choose().
 * @param[in,out] model its k, where not 0, is kept
 * @param most,minimum_rows as of wave_model_choose()
 * @param runs different teams or pairs of h and k
 * @param space that is to be simulated; NULL: h and k by the formulas
 * @param explore whether something may be tried whose estimate is not the best
 * @param[out] h, k chosen
 * @return how many workers were taken out */
unsigned wave_choose(struct wave_model *model, unsigned most, double minimum_rows,
                     const struct wave_run *runs, unsigned nruns, const struct wave_space *space,
                     bool explore, size_t *h, unsigned *k);

#endif
