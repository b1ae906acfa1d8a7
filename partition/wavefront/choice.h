/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Who takes part in a wavefront. More workers compute faster, but each lengthens the way
 * of the wave, and an accelerator that needs high bands for itself may be faster alone
 * than with others that cut them. So teams are compared by what the model of model.h
 * says of each at its best h and k, or by what was measured of them: the accelerator
 * alone, the cores alone, and all, with the widths that suit all.
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

/** Kinds that were never tried are, and those whose first run was their only one are once
 * more, where they are believed to take no more than this times the best that was measured. */
#define WAVE_CHOICE_HOPE 1.25

/** Of more runs the first count. */
#define WAVE_CHOICE_MOST_RUNS 24

/** Of a team no more h and k are tried out than these. */
#define WAVE_CHOICE_MOST_PLANS 8

/** Whether two pairs of h and k are about the same: 10 %. */
bool wave_choice_is_about(size_t h, unsigned k, size_t other_h, unsigned other_k);

/** Takes out workers so that the loop is believed to be the fastest: of all subsets of up to
 * four kinds (of more, all, each alone and all but each) the best one, and of that single
 * workers as long as it gets faster without them. At least one worker stays. Kinds of
 * which nobody stays have a count of 0. With the team it chooses h and k.
 *
 * What was measured is believed: after the first run of some kinds of workers half of it
 * (the geometric mean with what the model says), since it may have paid for what later ones
 * need not; after more of them fully. A team that was tried with another h and k is believed to be
 * as much slower than the model says as it was with the best of them; where only teams of no other
 * kinds than its own were tried, as they were, the worst of them: or else what was never tried
 * would always look better. All else takes what the model says, at its best h and k. When the best
 * was measured twice, others are tried, one a call, each once: kinds about as good by the model,
 * and where neither the model nor slow tiles explain the best, neighbours of its h and k.
 *
 * Where nothing was measured of the best team's h and k they are chosen again by
 * wave_simulation_choose().
 * @param[in,out] model its k, where not 0, is kept
 * @param most,minimum_rows as of wave_model_choose()
 * @param runs different teams or pairs of h and k
 * @param space that is to be simulated; NULL: h and k by the formulas
 * @param explore whether something may be tried that is not believed to be the best
 * @param[out] h, k chosen
 * @return how many workers were taken out */
unsigned wave_choose(struct wave_model *model, unsigned most, double minimum_rows,
                     const struct wave_run *runs, unsigned nruns, const struct wave_space *space,
                     bool explore, size_t *h, unsigned *k);

#endif
