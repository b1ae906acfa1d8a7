/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Says what a tile shows, and how sure that is. No StarPU.
 *
 * For each pair of classes a linear discriminant (R. Fisher, Annals of Eugenics 7,
 * 1936) projects the features to one number; the covariance within the classes is shrunk
 * towards its diagonal (J. Friedman, JASA 84(405), 1989), since samples are few, and half
 * of them are kept back to see where the classes lie on that line. The class
 * that wins against every other one is the label. The hypothesis that the tile belongs to
 * another class after all is tested by Student's t for a new observation of that class; the
 * confidence is one minus the largest probability of that among the other classes.
 */
#ifndef APPS_NBIA_CLASSIFIER_H
#define APPS_NBIA_CLASSIFIER_H

#include <stddef.h>

#include "codelets/nbia/nbia.h"
#include "apps/nbia/tissue.h"

#define CLASSIFIER_PAIRS (TISSUES * (TISSUES - 1) / 2)

/** A discriminant between two classes. */
struct classifier_pair {
	enum tissue classes[2];
	double weights[NBIA_FEATURES];
	double means[2];   /**< of the projections of each class */
	double deviation;  /**< of projections within the classes, above 0 */
	size_t samples[2]; /**< of each class that say so */
};

/** What was learnt for tiles of one resolution. */
struct classifier {
	struct classifier_pair pairs[CLASSIFIER_PAIRS];
};

struct classifier_verdict {
	enum tissue label;
	double confidence; /**< 0 to 1 */
};

/** Learns from samples.
 * @param n of features and labels; each class occurs four times at least
 * @return 0; -EDOM for too few samples, -ENOMEM. */
int classifier_train(size_t n, const double (*features)[NBIA_FEATURES], const enum tissue *labels,
                     struct classifier *classifier);

/** Decides on a tile: the same bits give the same verdict. */
void classifier_decide(const struct classifier *classifier, const double features[NBIA_FEATURES],
                       struct classifier_verdict *verdict);

/** Probability that Student's t exceeds a value.
 * @param freedom degrees of freedom, above 0 */
double classifier_student(double t, double freedom);

#endif
