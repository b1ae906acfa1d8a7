/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loops of independent iterations on all processors.
 *
 * You give Heddle n iterations and a StarPU codelet that can compute any range of them. When a
 * worker is idle, the block strategy (heddle/strategy.h) sets the size of the worker's next
 * block. Heddle registers the data of the block with StarPU and pins the block's task to the
 * worker. When the outputs are in main memory, the strategy gets the block's time.
 *
 * A loop is one node of StarPU's task graph: tasks submitted before it that write its data run
 * first, and tasks submitted later see its results.
 *
 * Start with heddle_loop_run(), or with heddle_loop_submit() to continue meanwhile.
 */
#ifndef HEDDLE_LOOP_H
#define HEDDLE_LOOP_H

#include <stddef.h>
#include <stdint.h>
#include <starpu.h>
#include <heddle/strategy.h>
#include <heddle/clock.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Largest number of handles of a loop. */
#define HEDDLE_LOOP_MAXHANDLES STARPU_NMAXBUFS

/** How the iterations of a loop use a handle. */
enum heddle_share {
	/** Iteration i uses element (of a vector) or row (of a matrix) i only. If `per_iteration`
	 * is k, it uses elements or rows i*k to i*k+k-1. */
	HEDDLE_SLICE,
	/** As HEDDLE_SLICE, and `halo` more elements or rows on either side, clipped to the
	 * handle. Mode STARPU_R only: the output must be another array. */
	HEDDLE_HALO,
	/** Every iteration may read the whole handle. Mode STARPU_R only. */
	HEDDLE_WHOLE,
	/** Every iteration adds to the handle, a vector. Each block gets its own vector of the
	 * same length, filled with zero bytes. `combine` adds it to the handle. */
	HEDDLE_REDUCE,
	/** Iteration i uses elements or rows index[i] to index[i + 1] - 1 only: the non-zeros of a
	 * row of a sparse matrix (CSR), the list of a vertex, a record of variable length. */
	HEDDLE_INDEXED
};

/** A handle of a loop. */
struct heddle_access {
	/** A vector or matrix whose home is main memory, not partitioned, once in a loop. */
	starpu_data_handle_t handle;
	/** STARPU_R, STARPU_W or STARPU_RW; of HEDDLE_REDUCE: STARPU_RW. */
	enum starpu_data_access_mode mode;
	enum heddle_share share; /**< how iterations use it */
	size_t per_iteration;    /**< elements or rows of one iteration; 0: 1 */
	size_t halo;             /**< of HEDDLE_HALO: elements or rows on either side */
	/** Of HEDDLE_REDUCE: adds the `bytes` bytes at `from` to those at `into`, both in main
	 * memory. Any thread may call it, for one block at a time, in any order. `arg` is the
	 * loop's. */
	void (*combine)(void *into, const void *from, size_t bytes, void *arg);
	/** Of HEDDLE_INDEXED: the index, either as a handle or as an array in main memory.
	 *
	 * It has at least n + 1 entries: whole numbers of 32 or 64 bits that never decrease. The
	 * largest one is at most the number of elements or rows. Heddle reads it in main memory
	 * while the loop runs, also where workers are simulated. It must not change until the
	 * loop's end. Several accesses may have the same index.
	 *
	 * The handle is a vector, at home in main memory and not partitioned. The loop waits for
	 * earlier tasks that write it. It may also be the handle of an access in mode STARPU_R:
	 * kernels that need the entries get them so, by HEDDLE_HALO with a halo of 1. */
	starpu_data_handle_t index;
	const void *index_array; /**< instead of `index`; complete at the submission */
	size_t index_bytes;      /**< of index_array: bytes of an entry, 4 or 8 */
};

/** The description of a block. The kernel's argument cl_arg points to one. The kernel's buffers
 * are in the order of the loop's accesses. They cover the block only (of HEDDLE_HALO: with its
 * halo; of HEDDLE_WHOLE and HEDDLE_REDUCE: the whole length). Those of HEDDLE_INDEXED may be
 * empty. */
struct heddle_block {
	size_t start;    /**< first iteration; of a part: its number in the larger loop */
	size_t n;        /**< number of iterations, at least 1 */
	size_t total;    /**< iterations of the whole loop; of a part: of the larger loop */
	const void *arg; /**< the loop's arg */
	/** 0. A kernel that fails stores a negative errno value.
	 * - After -ENOMEM on an accelerator, the worker gets blocks of half the size, until they
	 *   cannot be halved.
	 * - Otherwise the worker gets no further block, and another worker computes the block,
	 *   once. Then the loop fails.
	 * - The loop fails at once under StarPU's own policies. It also does if the block ran on a
	 *   CPU worker and has a HEDDLE_SLICE or HEDDLE_INDEXED in mode STARPU_RW, because the
	 *   failed kernel may have changed its input. */
	int status;
};

/** Returns how many elements or rows of a HEDDLE_HALO buffer are before the block's own first
 * one. At the start of the range these are fewer than `halo`. Kernels may call it.
 * @param block the block
 * @param per_iteration as in the loop's access; 0: 1
 * @param halo as in the loop's access
 * @return elements or rows, 0 to halo */
static inline size_t heddle_block_before(const struct heddle_block *block, size_t per_iteration,
                                         size_t halo)
{
	size_t before = block->start * (per_iteration ? per_iteration : 1);

	return before < halo ? before : halo;
}

/** A loop. Fill it with zeros, then set its fields. heddle_loop_submit() copies the structure,
 * name, strategy and ids of workers. The data, the codelet and arg must exist until the loop's
 * end.
 *
 * The first of these that is set selects the strategy: the field `strategy`; HEDDLE_STRATEGY;
 * the strategy of the active policy, if that is one of Heddle's. If none is set (one of
 * StarPU's own policies is active), or it is "tasks", the loop becomes equal tasks, which the
 * active policy places. */
struct heddle_loop {
	const char *name; /**< name in logs and traces; NULL: the codelet's, otherwise "loop" */
	/** Computes one block; NULL: `function` does. Its modes are ignored; its nbuffers is
	 * naccesses, or 0. If it has can_execute, Heddle calls this for every worker during the
	 * submission, with a task whose cl_arg points to a struct heddle_block of all n
	 * iterations, and again before each block (with handles on accelerators only). A worker
	 * uses the first implementation that can_execute accepts. A worker that it refuses later
	 * gets no further block; others compute its blocks. */
	struct starpu_codelet *codelet;
	size_t n;           /**< iterations; 0: the loop does nothing */
	unsigned naccesses; /**< entries of accesses, 0 to HEDDLE_LOOP_MAXHANDLES */
	struct heddle_access accesses[HEDDLE_LOOP_MAXHANDLES]; /**< the handles */
	const void *arg;      /**< for kernels, can_execute and combine */
	const char *strategy; /**< specification of the strategy; NULL: see above */
	/** Number of equal tasks (see above); 0: HEDDLE_PARTS for each worker.
	 * Heddle makes more of them if they would not fit into the smallest memory. */
	unsigned parts;
	size_t alignment; /**< blocks are multiples of this, iterations; 0: the strategy's value */
	const int
	    *workers;      /**< StarPU's ids of the workers to use, each once; NULL: all that can */
	unsigned nworkers; /**< entries of workers; 0 if workers is NULL */
	unsigned sched_ctx; /**< StarPU's scheduling context; 0: the initial one */
	/** If these iterations are a part of a larger loop: number of the first of them there.
	 * Kernels and logs see the larger loop's numbers. The handles have what this part uses:
	 * element or row 0 of a HEDDLE_SLICE is the first iteration's own, and that of a
	 * HEDDLE_HALO the first of its halo, which at the start of the larger loop is shorter
	 * (heddle_block_before()). Index entry 0 is of the first iteration, too. */
	size_t first;
	size_t total; /**< iterations of the larger loop, at least first + n; 0: first + n */
	/** Computes a block on a CPU worker, from plain pointers. It takes the place of the
	 * codelet's cpu_funcs; without a codelet, only CPU workers take part.
	 * @param start,n the block's iterations, as in struct heddle_block
	 * @param arrays of each access: where element or row 0 of the block's own part is (that of
	 * a HEDDLE_HALO has its halo before and after it); of HEDDLE_WHOLE: of the handle; of
	 * HEDDLE_REDUCE: of the block's own vector of zeros. Rows of a matrix are as far from each
	 * other as in the handle
	 * @param arg the loop's
	 * @return 0; a negative errno value, as the field status of struct heddle_block */
	int (*function)(size_t start, size_t n, void *const arrays[], const void *arg);
	/** 1: the loop need not wait for a late accelerator. At the end of the loop idle workers
	 * compute its blocks again; the first result counts. This happens while a thread waits in
	 * heddle_loop_wait(), under block strategies, for implementations that have
	 * STARPU_CUDA_ASYNC, STARPU_OPENCL_ASYNC or STARPU_HIP_ASYNC. A block is late if it is
	 * overdue by its predicted time, by the time to compute it again and by HEDDLE_LATE
	 * milliseconds.
	 * - Kernels may be called twice for an iteration. They have no effects but on what the loop
	 *   writes.
	 * - A late block may end after heddle_loop_wait() returns. Codelet, arg and the memory of
	 *   all arrays must exist until starpu_task_wait_for_all() or starpu_shutdown() returns.
	 *   The arrays' contents may change.
	 * - Loops that other workers can compute leave the worker of such a block out until it
	 *   ends.
	 * CPU workers compute in place. They are waited for. Computing blocks again needs as much
	 * of the host's memory as these blocks write.
	 * 0: the loop waits for all blocks. */
	unsigned late;
};

/** What one worker did in a loop, or in a wavefront (its blocks are tiles then). */
struct heddle_worker_stats {
	int id;                /**< StarPU's id of the worker */
	enum heddle_kind kind; /**< kind of the worker */
	char name[64];         /**< StarPU's name of the worker */
	size_t iterations;     /**< iterations computed */
	size_t blocks;         /**< blocks computed */
	double busy_us;        /**< time with at least one block under way, microseconds */
	/** Time from the start until the worker's last output was in main memory (of a wavefront:
	 * until its last tile was computed), microseconds; 0: it computed nothing. */
	double finish_us;
	double rate; /**< rate at the end, iterations per microsecond; 0: not known */
};

/** What a loop did. Times are in microseconds. */
struct heddle_loop_stats {
	/** Clock of all times but overhead_us; HEDDLE_CLOCK_WALL under StarPU's own policies. */
	enum heddle_clock clock;
	/** Its specification, and after that of auto in parentheses the one that auto took, cut to
	 * 95 characters; "stock": one of StarPU's own policies. */
	char strategy[96];
	double us;          /**< from the start to the last output in main memory */
	double learning_us; /**< from the start until the last worker left its adaptive phase */
	double overhead_us; /**< wall time for registering and submitting blocks, of all threads */
	size_t blocks;      /**< blocks given to workers */
	size_t retried;     /**< blocks made smaller or moved, as a device was full or failed */
	size_t late;        /**< blocks that were computed again, as their worker was late */
	unsigned nworkers;  /**< entries of workers */
	struct heddle_worker_stats workers[STARPU_NMAXWORKERS]; /**< one for each worker */
};

/** A submitted loop. */
struct heddle_loop_request;

/** Submits a loop and returns at once. Any thread may call it between starpu_init() and
 * starpu_shutdown().
 * @param loop the loop
 * @param[out] request to be given to heddle_loop_wait(). NULL: the caller does not want it; then
 * starpu_task_wait_for_all() or a later task on the data waits for the loop, and only a message
 * reports a failure
 * @return 0; a negative errno value after a message:
 * - -EINVAL: neither codelet nor function, or a codelet of another number of buffers; too many
 * accesses; a handle that is missing, listed twice, partitioned, not a vector or matrix, or not at
 * home in main memory; a mode, halo, index or combine that does not suit the share; an index that
 *   is missing, given twice, not a vector, of entries that have not 4 or 8 bytes, or written by the
 *   loop; arrays
 *   that overlap in memory, one of them written; an unknown context or worker; an invalid
 *   strategy; an alignment above the iterations that fit into a device's memory; a variable with
 *   a malformed value; only some workers under StarPU's heteroprio
 * - -ERANGE: n reaches beyond a handle, or first + n beyond total; an index has fewer than n + 1
 *   entries
 * - -ENODEV: no worker has an implementation that can_execute accepts; the call came before
 *   starpu_init(); StarPU refuses the task
 * - -ENOMEM: no memory; a single iteration does not fit into the memory of any worker that has
 *   an implementation
 * - -ENOEXEC: see heddle_starpu_check() */
int heddle_loop_submit(const struct heddle_loop *loop, struct heddle_loop_request **request);

/** Waits for a loop and frees the request. Call it once for each request, not in a task,
 * callback or kernel.
 * @param request from heddle_loop_submit()
 * @param[out] stats what the loop did, set also after a failure; NULL: not wanted
 * @return 0; a negative errno value if the loop failed, after which the contents of its outputs
 * are undefined:
 * - the status of a kernel that failed, if no other worker could compute the block
 * - -EINVAL: an entry of an index is smaller than the one before it, or beyond the handle; a
 *   message names access and entry
 * - -ENODEV: StarPU or can_execute refused a block on every worker
 * - -ENOMEM: no memory; the part of one iteration (of HEDDLE_INDEXED) does not fit into the memory
 *   of any worker */
int heddle_loop_wait(struct heddle_loop_request *request, struct heddle_loop_stats *stats);

/** Runs a loop: heddle_loop_submit() and heddle_loop_wait(). Do not call it in a task, callback
 * or kernel.
 * @param loop the loop
 * @param[out] stats what the loop did, not set if the submission fails; NULL: not wanted
 * @return as heddle_loop_submit() and heddle_loop_wait() */
int heddle_loop_run(const struct heddle_loop *loop, struct heddle_loop_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
