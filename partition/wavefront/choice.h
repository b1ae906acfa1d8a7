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

/** Of more trials the first count. */
#define CHOICE_MAXTRIALS 8

/** Takes out workers so that the loop is believed to be the fastest: of all subsets of up to
 * four kinds (of more, all, each alone and all but each) the best one, and of that single
 * workers as long as it gets faster without them. At least one worker stays. Kinds of
 * which nobody stays have a count of 0.
 *
 * A crew is believed to take what the model says at its best h and k; after one trial half
 * of what that says (the geometric mean), since a first run may have paid for what later
 * ones need not; after more of them, what these took. Where crews of no other kinds than
 * its own were tried, it is believed to be as much slower than the model says as they
 * were, the worst of them: or else what was never tried would always look better.
 * @param most,minimum_rows as of interval_choose()
 * @param trials different crews
 * @return how many workers were taken out */
unsigned choice_make(struct interval_model *model, unsigned most, double minimum_rows,
                     const struct choice_trial *trials, unsigned ntrials);

#endif
