/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The classifiers of a run, learnt before it from tiles made for that, always the same
 * ones whatever slide follows. No StarPU.
 */
#ifndef APPS_NBIA_TRAINING_H
#define APPS_NBIA_TRAINING_H

#include "apps/nbia/classifier.h"

/** Learns to tell tiles of one resolution, on as many threads as there are processors.
 * @param side of the tiles on the slide, pixels
 * @return 0; -ENOMEM after a message. */
int training_run(const nbia_u32 *table, size_t side, size_t resolution,
                 struct classifier *classifier);

#endif
