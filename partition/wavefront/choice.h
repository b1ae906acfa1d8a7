/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Who takes part in a wavefront. More workers compute faster, but each lengthens the way
 * of the wave, and an accelerator that needs high bands for itself may be faster alone
 * than with others that cut them. So crews are compared by what the model of interval.h
 * says of each at its best h and k, or by what was measured of them: the accelerator
 * alone, the cores alone, and all, with the widths that suit all.
 */
#ifndef HEDDLE_WAVEFRONT_CHOICE_H
#define HEDDLE_WAVEFRONT_CHOICE_H

#include "interval.h"

/** What was measured of a crew in this loop or one about as large. */
struct choice_trial {
	unsigned counts[INTERVAL_MAXKINDS]; /**< workers of each kind that took part */
	unsigned n;                         /**< how often, at least 1 */
	double us;                          /**< about the time it took */
};

/** A crew of several kinds must be predicted to take this part of the time of any of one
 * kind at the most: more can go wrong in it. What was measured needs no such care. */
#define CHOICE_CAUTION 0.9

/** What a crew is believed to take: by the model at its best h and k; after one trial half
 * of that (the geometric mean), since a first run may have paid for what later ones need
 * not; after more of them, what these took.
 * @param model counts are the crew's; k where it is not 0
 * @param most,minimum_rows as of interval_choose() */
double choice_time(const struct interval_model *model, unsigned most, double minimum_rows,
                   const struct choice_trial *trials, unsigned ntrials);

/** Takes out workers so that the loop is believed to be the fastest: of all subsets of up to
 * four kinds (of more, all, each alone and all but each) the best one, and of that single
 * workers as long as it gets faster without them. At least one worker stays. Kinds of
 * which nobody stays have a count of 0.
 * @return how many workers were taken out */
unsigned choice_make(struct interval_model *model, unsigned most, double minimum_rows,
                     const struct choice_trial *trials, unsigned ntrials);

#endif
