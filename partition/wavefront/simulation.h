/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A schedule simulation: the wavefront tile by tile, as it would run. The formulas of model.h
 * take all tiles for alike; a loop has a narrow last tile, tips of parallelograms, bands of
 * whole rows and a last band of what is left. So the pairs of h and k with the best predictions
 * are simulated: who gets which band, how wide it is, and when each tile has what it needs.
 */
#ifndef HEDDLE_WAVEFRONT_SIMULATION_H
#define HEDDLE_WAVEFRONT_SIMULATION_H

/* Workers that are exactly as fast as expected never wait, others do. So to choose h and k the
 * loop is also simulated with one worker that is slower than expected, which counts as much.
 * Beyond Andronikos et al. */

#include "model.h"
#include "tiles.h"

/** What tiles and messages cost, and how wide bands are. */
enum wave_convention {
	/** As Heddle runs wavefronts: half of what every tile costs before it and half after it,
	 * c_r a row, c_p an iteration; widths follow the workers' speeds. */
	WAVE_AS_RUN,
	/** Andronikos et al., section 2: a worker receives what its subchunk needs, computes, and
	 * sends, one after the other. A message of h columns takes c_d + h c_c on either side. The
	 * first band receives nothing, the last one sends nothing. Widths are
	 * wave_model_balanced_widths(). */
	WAVE_AS_PAPER,
	/** The same as the paper's k subproblems: one begins when the one before is done and a
	 * message of all columns has arrived. Widths are wave_model_widths(). */
	WAVE_AS_SUBPROBLEMS
};

struct wave_simulation {
	const struct wave_model *model; /**< costs and workers; its k at least 1 */
	const struct wave_space *space;
	enum wave_convention convention;
	unsigned sweeps; /**< at least 1; as the paper: 1 */
	size_t h;
	/** WAVE_AS_RUN: the first worker of a kind takes this many times as long for rows and
	 * iterations as the model says; its bands get narrower when its first one is done. 1: it
	 * does not. */
	unsigned slow_kind;
	double slow;
};

struct wave_simulation_result {
	double us;    /**< until the last tile is done */
	size_t bands; /**< of one sweep */
	/** Tiles; of several sweeps six for each, since they take so much longer to simulate. */
	size_t simulated;
	/** As the paper: no schedule can be faster. The longest chain of tiles without messages, or
	 * all work shared by all workers, whichever is more. */
	double bound_us;
};

/** Runs it. Over several sweeps bands are dealt out at the start, and not again, k = 1 band a
 * worker.
 * @param most tiles to be simulated
 * @return 0; -E2BIG: there are more tiles; -ENOTSUP: several sweeps and k above 1; -ENOMEM;
 * -EINVAL without workers */
int wave_simulation_run(const struct wave_simulation *simulation, size_t most,
                        struct wave_simulation_result *result);

/** The h, of all from `first` to `last`, with the least time.
 * @param[out] us of each h, last - first + 1 of them; NULL: not wanted
 * @return 0, or as wave_simulation_run(). */
int wave_simulation_sweep(const struct wave_simulation *simulation, size_t first, size_t last,
                          size_t *best, double *us);

/** How much slower one worker may be. */
#define WAVE_SIMULATION_SLOW 1.15

/** Tiles that are simulated in all: each takes some 20 ns. */
#define WAVE_SIMULATION_BUDGET 6000

/** Chooses h, and k where the model's is 0, of pairs of them near the best by the formulas.
 * @param most,minimum_rows as of wave_model_choose()
 * @param[in,out] h, k in: wave_model_choose()'s; out: the pair with the least time, or these
 * where none is clearly better or there are too many tiles to look at
 * @return tiles simulated */
size_t wave_simulation_choose(const struct wave_model *model, const struct wave_space *space,
                              unsigned most, double minimum_rows, size_t *h, unsigned *k);

/** What a pair takes: the mean of the time with all workers as expected and of those with one
 * slower worker of each kind. INFINITY: too many tiles.
 * @param[in,out] budget of tiles */
double wave_simulation_time(const struct wave_model *model, const struct wave_space *space,
                            size_t h, size_t *budget);

/** What the model's k and an h take if all workers are as expected; of more than
 * WAVE_SIMULATION_BUDGET tiles what wave_model_pipelined_time() says. */
double wave_simulation_predict(const struct wave_model *model, const struct wave_space *space,
                               size_t h);

#endif
