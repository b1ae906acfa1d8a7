/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A part of a wavefront: some of its rows, while other processes compute those above and below. The
 * boundary to them is cut into messages as that between strips is, `tile_columns` columns each.
 * Messages of a side are counted over all ranges of rows and all sweeps, from 0.
 */
#ifndef HEDDLE_WAVEFRONT_PART_H
#define HEDDLE_WAVEFRONT_PART_H

#include <stdbool.h>
#include <stddef.h>

#include <heddle/wavefront.h>

#include "cost.h"

/** Loops of fewer iterations take no longer than their calibration would. */
#define WAVE_WORTH_MEASURING (1 << 16)

enum wave_side { ABOVE, BELOW, NSIDES };

/** Rows that follow each other. */
struct wave_range {
	size_t first, rows; /**< at least wave_vectors_minimum_rows(), or 0 */
	/** Rows of the loop with which the arrays would begin here if they had all from there on.
	 * Fields with halo have those around the range that vectors reach. Below 0, as size_t wraps
	 * around, where an array has other rows before these. */
	size_t row[HEDDLE_WAVEFRONT_MAXARRAYS];
	bool beyond[NSIDES]; /**< whether others compute rows there */
};

/** It and its ranges must exist as long as the wavefront. The wavefront's tile_columns is the same
 * everywhere, and not 0. */
struct wave_part {
	/** From above to below, with rows of others between them: each worker has one band in each.
	 * Several only of one sweep. */
	const struct wave_range *ranges;
	unsigned nranges; /**< at least 1 */
	bool learn;       /**< costs are corrected by what tiles take */
	/** More messages can be sent, or the part has failed. Called by any thread. */
	void (*changed)(void *arg);
	void *arg;
};

/** Messages of a side: how many come and go in all, and bytes of each. */
struct wave_traffic {
	size_t coming, going, bytes;
};

/** Begins a part, as heddle_wavefront_submit(). wave_part_finish() ends it. */
int wave_part_submit(const struct heddle_wavefront *wavefront, const struct wave_part *part,
                     struct heddle_wavefront_request **request);

void wave_part_traffic(struct heddle_wavefront_request *wave, enum wave_side side,
                       struct wave_traffic *traffic);

/** How many messages to a side can be sent, those that were sent counted. */
size_t wave_part_ready(struct heddle_wavefront_request *wave, enum wave_side side);

/** Copies a message to a buffer. All must be taken in their order, once. */
void wave_part_take(struct heddle_wavefront_request *wave, enum wave_side side, void *buffer);

/** The next message from a side has come. */
void wave_part_put(struct heddle_wavefront_request *wave, enum wave_side side, const void *buffer);

/** The part ends as soon as it can, with this status. */
void wave_part_stop(struct heddle_wavefront_request *wave, int status);

/** Whether it has ended: heddle_wavefront_wait() returns at once. */
bool wave_part_is_over(struct heddle_wavefront_request *wave);

/** What it has failed with so far; 0: it has not. */
int wave_part_status(struct heddle_wavefront_request *wave);

/** All messages have come and gone, or it was stopped: the part may end. */
void wave_part_release(struct heddle_wavefront_request *wave);

/** How a wavefront may be cut: rows that vectors reach, fewest rows of a part, columns that tiles
 * shift with a row. */
struct wave_part_shape {
	size_t above, below, minimum, skew;
};

/** @param wavefront whose vectors heddle_dependences_check() accepts */
void wave_part_shape(const struct heddle_wavefront *wavefront, struct wave_part_shape *shape);

/** What a worker's tiles cost; iteration 0: not known. */
struct wave_part_worker {
	char name[64]; /**< of its device class */
	struct wave_tile_cost cost;
};

/** The costs of the workers that a wavefront would run on.
 * @param part NULL: what is known already, and the arrays count for nothing; else what is not
 * known is measured on samples of its rows
 * @param[out] workers STARPU_NMAXWORKERS entries
 * @return 0; as heddle_wavefront_submit() */
int wave_part_costs(const struct heddle_wavefront *wavefront, const struct wave_part *part,
                    struct wave_part_worker *workers, unsigned *n);

#endif
