/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Dealing bands again. Over several sweeps a band stays with its worker, and all wait for the
 * slowest one. When a worker has become slower or faster, bands get other heights. Rows that
 * change hands are cut off the band they were in, as far as it is, and joined to the other one
 * when both are equally far. Beyond Andronikos et al.
 */
#ifndef HEDDLE_WAVEFRONT_BALANCE_H
#define HEDDLE_WAVEFRONT_BALANCE_H

#include <stdbool.h>
#include <stddef.h>

#include "estimator/robust.h"

/** Tiles of a worker in a row that must agree that its speed has changed. */
#define WAVE_BALANCE_TILES 3

/** A change is taken to last this many times as long as it has been seen. */
#define WAVE_BALANCE_LASTS 2

/** A worker's speed. All zero: not known. */
struct wave_speed {
	double us;                    /**< that an iteration was taken to need */
	struct heddle_robust recent;  /**< that it needed in its latest tiles */
	struct heddle_robust changed; /**< the same of the latest ones that all differ from `us` by
	                                   more than WAVE_DRIFT, in one direction */
};

/** Adds a tile.
 * @param us that an iteration of it took */
void wave_speed_add(struct wave_speed *speed, double us);

/** Whether there were enough tiles to tell. */
bool wave_speed_is_known(const struct wave_speed *speed);

/** Whether enough tiles agree that it has changed. */
bool wave_speed_has_changed(const struct wave_speed *speed);

/** What an iteration needs now, if that is known. */
double wave_speed_us(const struct wave_speed *speed);

/** The bands may be dealt again where the slowest of them takes more than this times what the
 * slowest one would take then. */
#define WAVE_BALANCE_GAIN 1.04

/** Bands from the first row on, and what is known of them. */
struct wave_balance {
	unsigned n;
	const double *us;   /**< an iteration of each band now takes this, above 0; where its worker
	                         has several bands, that times their number */
	const size_t *rows; /**< that each has now */
	const size_t *most; /**< that each may have; 0: any number */
	/** Where bands end that have made different progress, in rising order; the last is the
	 * number of all rows. No band is cut less than `minimum` rows from there. */
	const size_t *ends;
	unsigned nends;
	size_t minimum;  /**< rows of a band, at least 1 */
	double columns;  /**< that rows still go through at these speeds */
	double pause_us; /**< what it costs to deal them again */
};

/** Rows of each band so that all take the same time.
 * @param[out] rows of each band; 0: its worker is too slow for any
 * @return whether that is worth its cost */
bool wave_balance_rows(const struct wave_balance *balance, size_t *rows);

#endif
