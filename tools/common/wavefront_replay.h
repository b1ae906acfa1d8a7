/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A wavefront on a machine that exists only as numbers, tile by tile: what the model
 * of model.h predicts by formulas happens here event by event, with the costs of
 * Andronikos et al., section 2: a worker receives what its subchunk needs, computes,
 * and sends, one after the other; a message of h columns takes c_d + h c_c on either
 * side. The same on every run.
 */
#ifndef HEDDLE_TOOLS_COMMON_WAVEFRONT_REPLAY_H
#define HEDDLE_TOOLS_COMMON_WAVEFRONT_REPLAY_H

#include <stdbool.h>
#include <stddef.h>

#include "partition/wavefront/model.h"
#include "partition/wavefront/tiles.h"

struct wave_replay {
	/** Costs, workers, k; rows and columns are whole numbers. One sweep. */
	const struct wave_model *model;
	unsigned nvectors;
	const struct heddle_dependence *vectors; /**< none: (1, 0) and (0, 1) */
	size_t h;
	/** As the paper's k subproblems: one begins when the one before is done and a message of
	 * all columns has arrived; otherwise chunks follow each other interval by interval. */
	bool subproblems;
};

struct wave_replay_result {
	double us;       /**< until the last subchunk is done */
	double bound_us; /**< no schedule can be faster: the longest chain of tiles without
	                      messages, or all work shared by all workers, whichever is more */
	size_t tiles, bands;
};

/** Runs it: every chunk goes to the worker that is free first, the fastest of those, and is
 * as wide as wave_model_widths() says, or, where chunks follow each other,
 * wave_model_balanced_widths().
 * @return 0; -ENOMEM; -EINVAL without workers. */
int wave_replay_run(const struct wave_replay *replay, struct wave_replay_result *result);

/** The h, of all from `first` to `last`, with the least time.
 * @param[out] us of each h, last - first + 1 of them; NULL: not wanted
 * @return 0, or as wave_replay_run(). */
int wave_replay_sweep(const struct wave_replay *replay, size_t first, size_t last, size_t *best,
                      double *us);

#endif
