/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parallel loops over all processors.
 *
 * A loop of n independent iterations is given with a StarPU codelet that can
 * compute any range of them on a CPU, a CUDA or an OpenCL device. It becomes
 * StarPU tasks whose sizes are decided while it runs: whenever a worker has
 * room, the block strategy (heddle/strategy.h) says how many iterations it gets
 * next, the data of just that range is registered with StarPU, and the task is
 * pinned to the worker. When a block's outputs are back in main memory, the
 * strategy hears how long it took.
 *
 * Start with heddle_loop_run(), or heddle_loop_submit() to go on meanwhile.
 *
 * The strategy is the loop's own, else the one of the active policy when that
 * is ours, else (a stock policy of StarPU is active) the loop becomes a fixed
 * number of equal tasks that StarPU's policy places. So one program compares
 * them all by STARPU_SCHED alone.
 *
 * A loop is one node of StarPU's task graph: tasks submitted before it that
 * write its data come first, tasks submitted later see its results.
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

#define HEDDLE_LOOP_MAXHANDLES STARPU_NMAXBUFS

/** How the iterations of a loop use a handle. */
enum heddle_share {
	/** Iteration i touches element (vector) or row (matrix) i alone; with
	 * `per_iteration` k, elements or rows i*k … i*k+k-1. */
	HEDDLE_SLICE,
	/** As a slice, and `halo` more elements or rows on either side, clipped
	 * to the handle. Only to be read; the output must be another array. */
	HEDDLE_HALO,
	/** Every iteration may read all of it. */
	HEDDLE_WHOLE,
	/** Every iteration adds to it: a vector. Each block gets one of its own of the
	 * same length, filled with zero bytes, and its result is combined into the
	 * handle. */
	HEDDLE_REDUCE
};

/** One handle of a loop. */
struct heddle_access {
	starpu_data_handle_t handle;       /**< a vector or matrix at home in main memory */
	enum starpu_data_access_mode mode; /**< STARPU_R, STARPU_W or STARPU_RW
	                                     (HEDDLE_REDUCE: STARPU_RW) */
	enum heddle_share share;
	size_t per_iteration; /**< elements or rows of one iteration (0: 1) */
	size_t halo;          /**< HEDDLE_HALO: elements or rows on either side */
	/** HEDDLE_REDUCE: adds `from` to `into`, both of `bytes` bytes in main
	 * memory. Called for one block at a time, by any thread, in no certain order.
	 * @param arg the loop's */
	void (*combine)(void *into, const void *from, size_t bytes, void *arg);
};

/** What a kernel is told of its block: the codelet's cl_arg points to one.
 * Buffers come in the order of the loop's accesses and cover the block alone
 * (HEDDLE_HALO: with its halo). */
struct heddle_block {
	size_t start;    /**< first iteration */
	size_t n;        /**< iterations */
	size_t total;    /**< of the whole loop */
	const void *arg; /**< the loop's arg */
	int status;      /**< 0; a kernel that fails stores a negative errno value, the
	                      block then goes to another worker, once, before the loop fails;
	                      with -ENOMEM on an accelerator it is cut smaller first */
};

/** Elements or rows of halo that lie before a block's first own one: fewer than
 * `halo` at the start of the range.
 * @param per_iteration, halo as in the loop's access */
static inline size_t heddle_block_before(const struct heddle_block *block, size_t per_iteration,
                                         size_t halo)
{
	size_t before = block->start * (per_iteration ? per_iteration : 1);

	return before < halo ? before : halo;
}

/** A loop. Zero-initialise, then fill in; it is copied by submit, the data it
 * points to is not. */
struct heddle_loop {
	const char *name; /**< in logs and traces; NULL: the codelet's */
	/** One block; nbuffers and modes may be left 0. Its can_execute is asked for every
	 * worker when the loop is submitted, with a task whose cl_arg points to a struct
	 * heddle_block of all n iterations, and again before each block, which has handles
	 * on accelerators only. The first implementation that it allows is used. A worker
	 * that it refuses later gets no further block, others do its blocks. */
	struct starpu_codelet *codelet;
	size_t n; /**< iterations; 0 is a loop that does nothing */
	unsigned naccesses;
	struct heddle_access accesses[HEDDLE_LOOP_MAXHANDLES];
	const void *arg;      /**< for the kernels; must outlive the loop */
	const char *strategy; /**< specification, or NULL: see above */
	unsigned parts;       /**< equal tasks under a stock policy (0: HEDDLE_PARTS per worker) */
	size_t alignment;     /**< blocks are multiples of this, iterations (0: the strategy's) */
	const int *workers;   /**< StarPU's ids of the workers to use, NULL: all that can */
	unsigned nworkers;    /**< entries of workers */
	unsigned sched_ctx;   /**< scheduling context (0: the initial one) */
};

/** What one worker did in a loop. */
struct heddle_worker_stats {
	int id; /**< StarPU's */
	enum heddle_kind kind;
	char name[64];
	size_t iterations;
	size_t blocks;
	double busy_us;   /**< time with at least one block of the loop under way */
	double finish_us; /**< when its last output was home, from the loop's start */
	double rate;      /**< the strategy's belief at the end, iterations/µs (0: none) */
};

/** What a loop did. */
struct heddle_loop_stats {
	enum heddle_clock clock; /**< which all times but overhead_us are by; the wall's under
	                            a stock policy */
	char strategy[96];       /**< its specification, or "stock" */
	double us;          /**< from the first block's submission to the last output at home */
	double learning_us; /**< from there until the last worker has left its adaptive phase */
	double overhead_us; /**< spent on all threads in registering and submitting blocks */
	size_t blocks;
	size_t retried; /**< blocks cut smaller or moved because a device was full or failed */
	unsigned nworkers;
	struct heddle_worker_stats workers[STARPU_NMAXWORKERS];
};

/** A loop on its way. */
struct heddle_loop_request;

/** Starts a loop and returns at once. Between starpu_init() and starpu_shutdown().
 * @param[out] request to be given to heddle_loop_wait(); NULL: not wanted, then
 * starpu_task_wait_for_all() or a later task on the data tells the end.
 * @return 0; -EINVAL for a loop that makes no sense (a handle listed twice or not at
 * home in main memory, outputs that would overlap, a context that is not there, an
 * unknown strategy or variable); -ERANGE when n reaches beyond a handle; -ENODEV when
 * no worker has an implementation, or before starpu_init(); -ENOMEM, also when a single
 * iteration fits into the memory of no worker that has one; -ENOEXEC
 * (heddle_starpu_check()). A message says which. */
int heddle_loop_submit(const struct heddle_loop *loop, struct heddle_loop_request **request);

/** Waits for a loop and frees it: once for each request. Not from a task, callback or
 * kernel.
 * @param[out] stats NULL: not wanted
 * @return 0, or the loop's failure: the status of a kernel that failed on every
 * worker tried; -ENODEV when StarPU refused a block's task for every worker (see
 * `codelet`); -ENOMEM. */
int heddle_loop_wait(struct heddle_loop_request *request, struct heddle_loop_stats *stats);

/** heddle_loop_submit() and heddle_loop_wait(). */
int heddle_loop_run(const struct heddle_loop *loop, struct heddle_loop_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
