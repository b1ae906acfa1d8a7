/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loops with dependences (wavefronts) on all processors.
 *
 * You give Heddle a doubly nested loop whose iterations depend on each other by constant vectors
 * (heddle/dependence.h), and a StarPU codelet that computes one tile. Heddle cuts the rows into
 * bands, each computed by one worker, and the bands into tiles of `tile_columns` columns. A
 * tile is a StarPU task. It runs when the tiles it depends on are done. Between bands on
 * different devices, Heddle copies only the boundary that the vectors reach. A model computes
 * `tile_columns` from measured costs of a message and an iteration (Andronikos et al.,
 * Performance Evaluation 67, 2010).
 *
 * Start with heddle_wavefront_run(), as doc/examples/lcs.c does.
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

/** Largest number of arrays of a wavefront. */
#define HEDDLE_WAVEFRONT_MAXARRAYS STARPU_NMAXBUFS
/** Largest number of dependence vectors of a wavefront. */
#define HEDDLE_WAVEFRONT_MAXVECTORS 16

/** How iterations use an array. */
enum heddle_extent {
	/** A matrix with an element for every iteration, in the loop's rows and columns. An
	 * iteration uses its own element only. */
	HEDDLE_FIELD,
	/** As HEDDLE_FIELD. An iteration also reads elements of iterations that it depends on.
	 * Not in mode STARPU_W. */
	HEDDLE_FIELD_HALO,
	/** A vector with an element for every row. An iteration uses the element of its row. It
	 * carries values from column to column. If it is written, the vector (row 0, column 1) is
	 * implied. */
	HEDDLE_ROWS,
	/** A vector with an element for every column. It carries values from row to row. If it is
	 * written, the vector (row 1, column 0) is implied.
	 * - An iteration in column c may write element c. It may read element c and those to the
	 *   right that the vectors reach. It finds there what the row above left.
	 * - Elements to the left may already belong to rows below: reading them gives wrong
	 *   results. Carry such values in HEDDLE_ROWS.
	 * - In mode STARPU_R every iteration may read the whole vector. Mode STARPU_W is not
	 *   allowed, and over several sweeps STARPU_RW is not either. */
	HEDDLE_COLUMNS,
	/** A vector or matrix that every iteration may read. Mode STARPU_R only. */
	HEDDLE_ALL
};

/** An array of a wavefront. */
struct heddle_wave_array {
	/** Its home is main memory. It is not partitioned, and once in a wavefront. A matrix for
	 * the two fields, a vector for rows and columns, either one for HEDDLE_ALL. */
	starpu_data_handle_t handle;
	enum starpu_data_access_mode mode; /**< STARPU_R, STARPU_W or STARPU_RW; see the extent */
	enum heddle_extent extent;         /**< how iterations use it */
	/** Adjacent elements of the handle that count as one element of the extent; 0: 1. Example:
	 * 3 for an image of bytes with 3 channels. */
	size_t per_iteration;
};

/** The description of a tile. The kernel's argument cl_arg points to one. For r from 0 to
 * rows - 1, a kernel computes the columns from heddle_tile_begin(tile, r) to
 * heddle_tile_end(tile, r) - 1, in any order that the dependences allow.
 *
 * The kernel's buffers are in the order of the arrays:
 * - Element (r, c) of a field is at pointer[r * ld + c * per_iteration]. In HEDDLE_FIELD_HALO r
 *   may also be negative, or rows and more, as far as the vectors reach and the loop has rows
 *   (row + r from 0 to total_rows - 1).
 * - The element of row r in HEDDLE_ROWS is at pointer[r * per_iteration].
 * - The element of column c in HEDDLE_COLUMNS is at pointer[c * per_iteration].
 * - HEDDLE_ALL is the whole array.
 *
 * The pointer is STARPU_MATRIX_GET_PTR or STARPU_VECTOR_GET_PTR; in OpenCL GET_DEV_HANDLE with
 * GET_OFFSET, in bytes. ld is STARPU_MATRIX_GET_LD, and differs between devices. Kernels use the
 * worker's own stream (starpu_cuda_get_local_stream()) or queue. They may be asynchronous.
 *
 * Take the size of the loop from total_rows and total_columns: Heddle calibrates kernels on
 * small parts of the loop, with copies of the arrays, where both are smaller. Write to the
 * buffers only. */
struct heddle_tile {
	size_t row;           /**< first row of the band */
	size_t rows;          /**< rows of the band */
	ptrdiff_t column;     /**< start of the tile in its first row; may be outside the loop */
	size_t columns;       /**< columns of the tile, before it is clipped to the loop */
	size_t skew;          /**< columns by which each row is further left than the one above */
	size_t total_rows;    /**< rows of the loop */
	size_t total_columns; /**< columns of the loop */
	size_t sweep;         /**< number of the sweep, from 0 */
	const void *arg;      /**< the wavefront's arg */
	int status;           /**< 0; a kernel that fails stores a negative errno value, which
	                           ends the wavefront */
};

/** Returns the first column of a tile in a row. Kernels may call it.
 * @param tile the tile
 * @param r row of the band, 0 to rows - 1
 * @return column of the loop, 0 to total_columns */
static inline size_t heddle_tile_begin(const struct heddle_tile *tile, size_t r)
{
	ptrdiff_t c = tile->column - (ptrdiff_t)(tile->skew * r);

	return c < 0 ? 0 : (size_t)c < tile->total_columns ? (size_t)c : tile->total_columns;
}

/** Returns the end of a tile in a row. Kernels may call it.
 * @param tile the tile
 * @param r row of the band, 0 to rows - 1
 * @return one past the last column, heddle_tile_begin() to total_columns; equal to
 * heddle_tile_begin() if the tile has no column in this row */
static inline size_t heddle_tile_end(const struct heddle_tile *tile, size_t r)
{
	ptrdiff_t c = tile->column + (ptrdiff_t)tile->columns - (ptrdiff_t)(tile->skew * r);

	return c < 0 ? 0 : (size_t)c < tile->total_columns ? (size_t)c : tile->total_columns;
}

/** A loop with dependences. Fill it with zeros, then set its fields. heddle_wavefront_submit()
 * copies the structure, name, strategy and ids of workers. The data, the codelet and arg must
 * exist until the wavefront's end.
 *
 * The strategy is selected as in struct heddle_loop. It assigns rows to workers:
 * - "hdss": bands are as high as their worker's measured speed requires, and follow it during
 *   the run. Over several sweeps all bands are assigned at the start, and again when a worker
 *   has become slower or faster.
 * - Another block strategy cuts the rows of one sweep as it cuts the iterations of a loop.
 * - One of StarPU's own policies: bands are equal, and the policy places the first tile of each.
 *
 * Parameters of "hdss", and over several sweeps other block strategies, are of no use to a
 * wavefront: in the field `strategy` they are refused. Where HEDDLE_STRATEGY or the policy has
 * them, the wavefront runs under "hdss", and the process prints one warning.
 *
 * A wavefront is one node of StarPU's task graph: tasks submitted before it that write its data
 * run first, and tasks submitted later see its results. */
struct heddle_wavefront {
	/** Name in logs and traces; NULL: the codelet's, and if it has none "wavefront". */
	const char *name;
	/** Computes one tile. Its modes are ignored; its nbuffers is narrays, or 0. Heddle uses the
	 * first implementation of each kind and does not call can_execute. */
	struct starpu_codelet *codelet;
	size_t rows;       /**< rows of the loop; 0: the wavefront does nothing */
	size_t columns;    /**< columns of the loop; 0: the wavefront does nothing */
	size_t sweeps;     /**< passes over the rows and columns; 0: 1 */
	unsigned nvectors; /**< entries of vectors, 0 to HEDDLE_WAVEFRONT_MAXVECTORS */
	/** All dependences: flow, anti and output. An iteration that overwrites what another one
	 * reads depends on it. */
	struct heddle_dependence vectors[HEDDLE_WAVEFRONT_MAXVECTORS];
	unsigned narrays; /**< entries of arrays, 0 to HEDDLE_WAVEFRONT_MAXARRAYS */
	struct heddle_wave_array arrays[HEDDLE_WAVEFRONT_MAXARRAYS]; /**< the arrays */
	const void *arg;                                             /**< for the kernels */
	/** Columns of a tile; 0: HEDDLE_WAVE_TILE_COLUMNS, and if that is 0, the model's value. */
	size_t tile_columns;
	/** Bands that a worker computes, one after another; 0: HEDDLE_WAVE_BANDS, and if that is 0,
	 * the model's value. */
	unsigned bands_per_worker;
	const char *strategy; /**< specification of the strategy; NULL: see above */
	const int
	    *workers;      /**< StarPU's ids of the workers to use, each once; NULL: all that can */
	unsigned nworkers; /**< entries of workers; 0 if workers is NULL */
	unsigned sched_ctx; /**< StarPU's scheduling context; 0: the initial one */
};

/** What a wavefront did. Times are wall times in microseconds. The workers' blocks are tiles. */
struct heddle_wavefront_stats {
	/** Its specification, cut to 95 characters; "stock": one of StarPU's own policies. */
	char strategy[96];
	size_t tile_columns;       /**< columns of a tile, at the end of the run */
	unsigned bands_per_worker; /**< bands per worker */
	size_t bands;              /**< number of bands */
	size_t tiles;              /**< number of tiles, of all sweeps */
	double us; /**< from the submission of the first tile to the last output in main memory */
	double predicted_us; /**< prediction of `us` by the model, corrected by what earlier
	                          wavefronts of the codelet took; 0: the costs of tiles were not
	                          known */
	double model_us;     /**< prediction of `us` by the model alone; 0: as before */
	double measuring_us; /**< calibration before the run; 0: none was needed or wanted */
	double overhead_us;  /**< time for submitting tiles, of all threads */
	size_t messages;     /**< boundaries that were copied between memories */
	unsigned excluded;   /**< workers left out because the run is faster without them */
	unsigned reassigned; /**< over several sweeps: how often bands were assigned again, since a
	                          worker had become slower or faster */
	unsigned nworkers;   /**< entries of workers */
	struct heddle_worker_stats workers[STARPU_NMAXWORKERS]; /**< one for each worker */
};

/** A submitted wavefront. */
struct heddle_wavefront_request;

/** Submits a wavefront and returns at once, so that the caller can continue meanwhile. Any thread
 * may call it between starpu_init() and starpu_shutdown().
 * @param wavefront the wavefront
 * @param[out] request to be given to heddle_wavefront_wait(). NULL: the caller does not want it;
 * then starpu_task_wait_for_all() or a later task on the data waits for the wavefront, and only
 * a message reports a failure
 * @return 0; a negative errno value after a message:
 * - -EINVAL: no codelet, or one of another number of buffers; too many arrays or vectors; a vector
 * that is not lexicographically positive or has a component beyond 2^20; an array that is missing,
 * listed twice, partitioned, of the wrong shape or mode, or not at home in main memory; arrays that
 * overlap in memory, one of them written; an unknown context or worker; an invalid strategy, or one
 * that a wavefront would not use; a variable with a malformed value; only some workers under
 * StarPU's heteroprio
 * - -ERANGE: the loop reaches beyond an array
 * - -ENODEV: no worker has an implementation and enough memory; the call came before
 *   starpu_init(); StarPU refuses the task
 * - -ENOMEM
 * - -ENOEXEC: see heddle_starpu_check() */
int heddle_wavefront_submit(const struct heddle_wavefront *wavefront,
                            struct heddle_wavefront_request **request);

/** Waits for a wavefront and frees the request. Call it once for each request, not in a task,
 * callback or kernel.
 * @param request from heddle_wavefront_submit()
 * @param[out] stats what the wavefront did, set also after a failure; NULL: not wanted
 * @return 0; a negative errno value if the wavefront failed, after which the contents of its
 * outputs are undefined:
 * - the status of a kernel that failed
 * - -ENODEV: StarPU refused a tile's task
 * - -EIO: a boundary could not be copied
 * - -EDEADLK: no tile could start
 * - -ENOMEM */
int heddle_wavefront_wait(struct heddle_wavefront_request *request,
                          struct heddle_wavefront_stats *stats);

/** Runs a wavefront: heddle_wavefront_submit() and heddle_wavefront_wait(). Do not call it in a
 * task, callback or kernel.
 * @param wavefront the wavefront
 * @param[out] stats what the wavefront did, not set if the submission fails; NULL: not wanted
 * @return as heddle_wavefront_submit() and heddle_wavefront_wait() */
int heddle_wavefront_run(const struct heddle_wavefront *wavefront,
                         struct heddle_wavefront_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
