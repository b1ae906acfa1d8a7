/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loops with dependences, over all processors.
 *
 * A doubly nested loop (and a series of sweeps over it, heddle/dependence.h) whose
 * iterations depend on each other by constant vectors is given with a StarPU codelet
 * that computes one tile of it on a CPU, a CUDA or an OpenCL device. Heddle cuts the
 * rows into bands, one or more for each worker and as wide as the worker is fast, and
 * the bands into tiles of h columns. Tiles are StarPU tasks; a tile runs as soon as
 * those it depends on are done, so that the work moves through the space as a wave. A
 * band stays on one worker: between bands on different devices, only the boundaries
 * cross that the vectors reach, h columns at a time. h is computed, not searched for:
 * from the time of a message and of an iteration, which are measured, by the model of
 * Andronikos et al. (Performance Evaluation 67, 2010).
 *
 * Start with heddle_wavefront_run(), or heddle_wavefront_submit() to go on meanwhile.
 * A small program: doc/examples/lcs.c.
 *
 * Which worker gets which rows is decided by the wavefront's strategy, else that of the
 * active policy when it is ours: "hdss" makes bands as wide as workers are measured to
 * be fast while the loop runs; the other block strategies (heddle/strategy.h) cut rows as
 * they cut iterations. Where a stock policy of StarPU is active, bands are equal, and
 * that policy places the first tile of each.
 *
 * A wavefront is one node of StarPU's task graph: tasks submitted before it that write
 * its data come first, tasks submitted later see its results.
 */
#ifndef HEDDLE_WAVEFRONT_H
#define HEDDLE_WAVEFRONT_H

#include <stddef.h>
#include <stdint.h>
#include <starpu.h>
#include <heddle/dependence.h>
#include <heddle/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_WAVEFRONT_MAXARRAYS STARPU_NMAXBUFS
#define HEDDLE_WAVEFRONT_MAXVECTORS 16

/** How iterations use an array. */
enum heddle_extent {
	/** A matrix with an element for every iteration, in the loop's rows and
	 * columns. Iterations touch their own element alone. */
	HEDDLE_FIELD,
	/** The same; iterations also read elements of those that they depend on. */
	HEDDLE_FIELD_HALO,
	/** A vector with an element for every row. Iterations touch that of their row:
	 * what passes from column to column. */
	HEDDLE_ROWS,
	/** A vector with an element for every column: what passes from row to row. An
	 * iteration in column c may write element c. It may read elements from c on to
	 * the right, as far as vectors reach, and finds what the row above left there.
	 * Those to the left may belong to rows further down already: what an
	 * iteration needs from there goes through HEDDLE_ROWS. In mode STARPU_R every
	 * iteration may read all of it. */
	HEDDLE_COLUMNS,
	/** A vector or matrix that every iteration may read. */
	HEDDLE_ALL
};

/** One array of a wavefront. */
struct heddle_wave_array {
	starpu_data_handle_t handle;       /**< at home in main memory: a matrix for the two
	                                        fields, otherwise a vector */
	enum starpu_data_access_mode mode; /**< STARPU_R, STARPU_W or STARPU_RW (HEDDLE_ALL:
	                                        STARPU_R; HEDDLE_FIELD_HALO and HEDDLE_COLUMNS
	                                        not STARPU_W) */
	enum heddle_extent extent;
	size_t per_iteration; /**< elements of the handle that stand for one of the above, side by
	                           side (0: 1): 3 for an image of bytes with 3 channels */
};

/** What a kernel is told of its tile: the codelet's cl_arg points to one. A kernel computes,
 * for r from 0 to rows - 1, the columns c from heddle_tile_begin(tile, r) to
 * heddle_tile_end(tile, r) - 1, in any order that the dependences allow.
 *
 * Buffers come in the order of the arrays, so that
 *   - element (r, c) of a field is at pointer[r * ld + c * per_iteration]; of
 *     HEDDLE_FIELD_HALO, r may also be negative or rows and more, as far as vectors
 *     reach and the loop's rows go (row + r below total_rows);
 *   - the element of row r of HEDDLE_ROWS is at pointer[r * per_iteration];
 *   - that of column c of HEDDLE_COLUMNS is at pointer[c * per_iteration];
 *   - HEDDLE_ALL is all of it.
 * The pointer is STARPU_MATRIX_GET_PTR or STARPU_VECTOR_GET_PTR; in OpenCL it is
 * GET_DEV_HANDLE and, in bytes, GET_OFFSET. ld differs between devices: it is
 * STARPU_MATRIX_GET_LD. Kernels run on the worker's own stream
 * (starpu_cuda_get_local_stream()) or queue and may be asynchronous.
 *
 * The whole space is what the tile says: Heddle measures kernels on small pieces of the
 * loop, with copies of the arrays, where total_rows and total_columns are smaller. */
struct heddle_tile {
	size_t row;       /**< first row of the band */
	size_t rows;      /**< of the band */
	ptrdiff_t column; /**< where the tile begins in its first row; may lie outside */
	size_t
	    columns; /**< tile_columns of the wavefront, before the tile is clipped to the loop */
	size_t skew; /**< columns by which each row lies further to the left */
	size_t total_rows;    /**< of the loop */
	size_t total_columns; /**< of the loop */
	size_t sweep;         /**< from 0 */
	const void *arg;      /**< the wavefront's arg */
	int status;           /**< 0; a kernel that fails stores a negative errno value, which
	                           ends the wavefront */
};

/** First column of a tile in row r of its band. */
static inline size_t heddle_tile_begin(const struct heddle_tile *tile, size_t r)
{
	ptrdiff_t c = tile->column - (ptrdiff_t)(tile->skew * r);

	return c < 0 ? 0 : (size_t)c < tile->total_columns ? (size_t)c : tile->total_columns;
}

/** One past the last column of a tile in row r of its band: at least
 * heddle_tile_begin(), which it is where the tile has no column in this row. */
static inline size_t heddle_tile_end(const struct heddle_tile *tile, size_t r)
{
	ptrdiff_t c = tile->column + (ptrdiff_t)tile->columns - (ptrdiff_t)(tile->skew * r);

	return c < 0 ? 0 : (size_t)c < tile->total_columns ? (size_t)c : tile->total_columns;
}

/** A loop with dependences. Zero-initialise, then fill in; it is copied by submit, and so
 * are the vectors; the data it points to is not. */
struct heddle_wavefront {
	const char *name;               /**< in logs and traces; NULL: the codelet's */
	struct starpu_codelet *codelet; /**< one tile; nbuffers and modes may be left 0 */
	size_t rows, columns;           /**< of the loop; without iterations it does nothing */
	size_t sweeps;                  /**< over them (0: 1) */
	unsigned nvectors;
	/** Dependences of every sort, flow, anti and output: an iteration that overwrites what
	 * another one reads depends on it. */
	struct heddle_dependence vectors[HEDDLE_WAVEFRONT_MAXVECTORS];
	unsigned narrays;
	struct heddle_wave_array arrays[HEDDLE_WAVEFRONT_MAXARRAYS];
	const void *arg; /**< for the kernels; must outlive the wavefront */
	size_t
	    tile_columns; /**< columns of a tile (0: HEDDLE_WAVE_TILE_COLUMNS, else by the model) */
	unsigned bands_per_worker; /**< (0: HEDDLE_WAVE_BANDS, else by the model) */
	const char *strategy;      /**< specification, or NULL: see above */
	const int *workers;        /**< StarPU's ids of the workers to use, NULL: all that can */
	unsigned nworkers;         /**< entries of workers */
	unsigned sched_ctx;        /**< scheduling context (0: the initial one) */
};

/** What a wavefront did, by the clock on the wall (heddle/clock.h). Workers' blocks are
 * their tiles. */
struct heddle_wavefront_stats {
	char strategy[96]; /**< its specification, or "stock" */
	size_t tile_columns;
	unsigned bands_per_worker;
	size_t bands, tiles;
	double us; /**< from the first tile's submission to the last output at home */
	double
	    predicted_us; /**< by the model; 0 where tile_columns and bands_per_worker were given */
	double measuring_us; /**< spent before on measuring kernels (0: what was stored fits) */
	double overhead_us;  /**< spent on all threads in submitting tiles */
	size_t messages;     /**< boundaries that crossed between memories */
	unsigned excluded;   /**< workers left out because they do not pay */
	unsigned nworkers;
	struct heddle_worker_stats workers[STARPU_NMAXWORKERS];
};

/** A wavefront on its way. */
struct heddle_wavefront_request;

/** Starts a wavefront and returns at once. Between starpu_init() and starpu_shutdown().
 * @param[out] request to be given to heddle_wavefront_wait(); NULL: not wanted, then
 * starpu_task_wait_for_all() or a later task on the data tells the end.
 * @return 0; -EINVAL for a wavefront that makes no sense (a vector that is not
 * lexicographically positive, an array of the wrong shape, listed twice or not at home
 * in main memory, a context that is not there, an unknown strategy or variable); -ERANGE
 * when the loop reaches beyond an array; -ENODEV when no worker has an implementation, or
 * before starpu_init(); -ENOMEM; -ENOEXEC (heddle_starpu_check()). A message says which. */
int heddle_wavefront_submit(const struct heddle_wavefront *wavefront,
                            struct heddle_wavefront_request **request);

/** Waits for a wavefront and frees it: once for each request. Not from a task, callback or
 * kernel.
 * @param[out] stats NULL: not wanted
 * @return 0, or the wavefront's failure, after which the contents of what it writes are
 * undefined: the status of a kernel that failed; -ENODEV when StarPU refused a tile's
 * task; -ENOMEM. */
int heddle_wavefront_wait(struct heddle_wavefront_request *request,
                          struct heddle_wavefront_stats *stats);

/** heddle_wavefront_submit() and heddle_wavefront_wait(). */
int heddle_wavefront_run(const struct heddle_wavefront *wavefront,
                         struct heddle_wavefront_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
