/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What launches of one kernel and NDRange took, by who computed them, and who computes the
 * next one.
 *
 * A way is one device alone, or a split among several. Predictions choose the first way;
 * from then on what was measured counts. Other ways are tried now and then, the more often the
 * nearer they are to the best, as far as what such trials cost stays below a hundredth of all
 * time, but for the first ones, which may cost half a launch together. So a kernel whose
 * tables promise too much of a split ends up where it is fastest.
 *
 * Times are in microseconds.
 */
#ifndef HEDDLE_KERNEL_OUTCOMES_H
#define HEDDLE_KERNEL_OUTCOMES_H

#include <stdbool.h>

#include "partition/kernel/split/split.h"

/** Ways: a device's number; the split in use; or another one that may be better. */
enum { OUTCOMES_SHARED = SPLIT_MAXDEVICES, OUTCOMES_OTHER, OUTCOMES_WAYS };
/** Launches of a way that count; and after which it is known. */
enum { OUTCOMES_RECENT = 15, OUTCOMES_TRIED = 2 };

struct outcome {
	unsigned n;      /**< launches measured */
	double usual_us; /**< that one takes, as far as the latest ones tell */
	unsigned trials; /**< launches of them, while another way was the best */
	double lost_us;  /**< by trials of it */
	double us[OUTCOMES_RECENT];
};

/** A structure of zeros knows nothing. */
struct outcomes {
	struct outcome ways[OUTCOMES_WAYS];
	unsigned chosen; /**< the best as far as is known; of meaning after the first launch */
	unsigned launches;
	unsigned trial;             /**< launches when something else was tried last */
	double total_us, regret_us; /**< of all launches; of it, lost by trials */
};

/** Chooses how the next launch is computed.
 * @param predicted_us by way; INFINITY: cannot. At least one can
 * @return a way that can */
unsigned outcomes_choose(struct outcomes *outcomes, const double *predicted_us);

/** Whether the next launch is chosen without predictions: ways that were measured often
 * enough, no trial due.
 * @param[out] way set only then */
bool outcomes_settled(const struct outcomes *outcomes, unsigned *way);

/** Whether what the steps of the next launch take is to be looked at, if it is computed in this
 * way. That costs some 30 us on a GPU, so it is not done of most launches, lest a way that was
 * tried rarely seems slower than the one in use: a device's first launch, a split's first ten, in
 * which its tables settle, and some later ones. */
bool outcomes_look(const struct outcomes *outcomes, unsigned way);

/** Takes in what a launch took. @param us above 0 */
void outcomes_measured(struct outcomes *outcomes, unsigned way, double us);

/** Forgets what a way took, since it is no longer the same. What its trials have cost is not
 * forgotten: otherwise each new one would be tried at once. */
void outcomes_forget(struct outcomes *outcomes, unsigned way);

/** Puts another way in a way's place: what that took counts for it, and is forgotten of the other.
 */
void outcomes_replace(struct outcomes *outcomes, unsigned way, unsigned by);

/** What a launch usually takes in a way: the mean of many, in which those that were held up count
 * for little, unless the latest differ; 0: none. */
double outcomes_us(const struct outcomes *outcomes, unsigned way);

#endif
