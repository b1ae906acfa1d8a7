/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The synchronisation interval h: how many columns a band computes between two messages to
 * the band below. Short intervals start the other workers early, long ones spare messages.
 * Times are in microseconds, rows are the paper's chunk dimension u_c, columns its
 * synchronisation dimension u_s.
 */
#ifndef HEDDLE_WAVEFRONT_MODEL_H
#define HEDDLE_WAVEFRONT_MODEL_H

/* The model is that of T. Andronikos, F. M. Ciorba, I. Riakiotakis, G. Papakonstantinou and
 * A. T. Chronopoulos, "Studying the impact of synchronization frequency on scheduling tasks with
 * dependencies in heterogeneous systems", Performance Evaluation 67 (2010) 1324-1339; the numbers
 * of equations are theirs. Its homogeneous formulas (3)-(5) and (7) are the heterogeneous ones
 * (8)-(10) and (12) with one kind of worker, so there is one function for both. */

#include <stdbool.h>
#include <stddef.h>

#define WAVE_MAXKINDS 64

struct wave_kind {
	char name[64];
	unsigned count; /**< workers of the kind, at least 1 */
	double cp;      /**< c_p: computing one iteration, above 0 */
	/** What its messages cost more than the model's (to and from its memory), and what
	 * tiles cost it besides iterations and rows: half of it counts twice. */
	double more_cd, more_cc;
	double cr; /**< a row of a tile, however many columns that has; beyond the paper */
	/** Copying an iteration's data to its memory, and back; beyond the paper. */
	double in, out;
};

struct wave_model {
	double rows, columns; /**< U_c, U_s: at least 1 */
	double cd;            /**< c_d: starting a message, 0 or more; (1) */
	double cc;            /**< c_c: sending one column's data, 0 or more; (1) */
	double assignment_us; /**< T_wa: assigning the first chunk */
	unsigned k;           /**< chunks per worker, at least 1 */
	unsigned nkinds;
	struct wave_kind kinds[WAVE_MAXKINDS];
	/* Beyond the paper: */
	double skew;     /**< columns that tiles shift with every row */
	unsigned sweeps; /**< over the whole space (0: 1) */
	/** Messages between machines: so many in a round of one chunk a worker, each taking
	 * hop_us and hop_column_us a column, so many under way at once. They are sent while workers
	 * compute: only those count for which workers wait, unless they come less often than
	 * subchunks end. 0: none. */
	unsigned hops, under_way;
	double hop_us, hop_column_us;
	unsigned vector; /**< rows that kernels like at once: of several k, those are better whose
	                      chunks are whole numbers of them (0: 1) */
};

/** Workers of all kinds. */
unsigned wave_model_workers(const struct wave_model *model);

/** Width V of a chunk of each kind, in rows: in proportion to the kind's speed 1/c_p,
 * k chunks per worker covering the rows, so that a subchunk takes all kinds the same
 * time. (13)-(15), with powers scaled so that the chunks add up to U_c. */
void wave_model_widths(const struct wave_model *model, double *widths);

/** The same where a row of a tile costs something and messages differ: a subchunk of h
 * columns with its two messages takes all kinds the same time. With no c_r and equal
 * messages it is (13)-(15). A kind for which messages alone take longer gets 0. */
void wave_model_balanced_widths(const struct wave_model *model, double h, double *widths);

/** Time of the loop with interval h: (8), and (10) where k is above 1; for one kind of
 * worker these are (3) and (5). Subproblems of one chunk a worker follow each other.
 * @param h above 0 */
double wave_model_time(const struct wave_model *model, double h);

/** The h that minimises wave_model_time(): (9) and (12), for one kind (4) and (7).
 * Between 1 and the number of columns; that number where nothing is gained by
 * synchronising (one worker). */
double wave_model_best(const struct wave_model *model);

/** The h of S. Chen and J. Xue, "Partitioning and scheduling loops on NOWs", Computer
 * Communications 22 (1999), formula (4), as Andronikos et al. state it in section 5.3:
 * one chunk a worker; of several kinds the mean c_p counts. */
double wave_model_chen_xue(const struct wave_model *model);

/** Time where a worker goes on with its next chunk as soon as the messages for it
 * are there, instead of when the whole subproblem before is done, as Heddle's
 * wavefronts do; skew, sweeps, c_r and the way of the data count, and widths are
 * wave_model_balanced_widths(). The first term is the time until the last
 * worker begins, each worker waiting for the first subchunk of the one before; then
 * the worker with the dearest messages computes all its chunks. */
double wave_model_pipelined_time(const struct wave_model *model, double h);

/** Chooses h, and k up to `most`, so that wave_model_pipelined_time() is least, for
 * whole columns; of several k that are about as good the least one. Without skew the
 * columns make whole tiles, the last one a few columns shorter than others.
 * @param model its k counts where it is not 0, else k is chosen too
 * @param most largest k, at least 1
 * @param minimum_rows no chunk is narrower, unless k is 1 or given
 * @param[out] k chosen, or the model's
 * @return h, from 1 to the number of columns */
size_t wave_model_choose(const struct wave_model *model, unsigned most, double minimum_rows,
                         unsigned *k);

/** The least wave_model_pipelined_time() for wave_model_choose()'s h and k.
 * @param[out] h, k chosen */
double wave_model_least_time(const struct wave_model *model, unsigned most, double minimum_rows,
                             size_t *h, unsigned *k);

/** A k with its best h. */
struct wave_candidate {
	unsigned k;
	size_t h;
	double us;     /**< wave_model_pipelined_time() */
	double counts; /**< wave_model_counts() */
};

#define WAVE_MOST_CANDIDATES 64

/** Of each k that wave_model_choose() looks at its best h, by what they count.
 * @return how many */
unsigned wave_model_candidates(const struct wave_model *model, unsigned most, double minimum_rows,
                               struct wave_candidate *all);

/** What a time counts in choosing the model's k: more where vectors of rows are not full, and
 * where there are many tiles, which wait for each other in ways that no model knows. */
double wave_model_counts(const struct wave_model *model, double h, double us);

/** What an iteration costs a kind in bands of so many rows, messages and all. */
double wave_model_iteration_us(const struct wave_model *model, unsigned kind, double h,
                               double width);

/** The rows of a band that should have `rows` of them: whole ones, and from some vectors of
 * rows on whole vectors, unless bands stay (several sweeps), when the widest is what all wait for.
 * @param stay all bands are dealt out at the start
 * @param[in,out] owed what rounding has kept from bands so far, 0 at first: from those of one
 * worker, or where bands stay, of all
 * @param left rows that there are, at least 1
 * @param minimum the last band excepted */
size_t wave_model_rows(double rows, bool stay, double *owed, size_t left, size_t minimum);

/** How far a measured time may be from the predicted before it counts as another. */
#define WAVE_DRIFT 0.25

/** Whether a measured c_p no longer fits the one that h was computed with. */
bool wave_model_drifted(double predicted, double measured);

#endif
