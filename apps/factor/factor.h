/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the apps cholesky and lu have in common: a factorisation as a graph of StarPU's tasks, one
 * for each operation on tiles, that depend on each other by the tiles alone.
 */
#ifndef APPS_FACTOR_FACTOR_H
#define APPS_FACTOR_FACTOR_H

#include <starpu.h>
#include <heddle/loop.h>

#include "apps/common/app.h"
#include "apps/factor/graph.h"
#include "apps/factor/matrix.h"

struct factor;

/** A task's argument. */
struct factor_argument {
	struct factor_call call; /* first: it is what the codelets read */
	struct factor *factor;
};

struct factor {
	enum graph_kind kind;
	size_t tile;
	bool wide;        /**< --double */
	bool by_path;     /**< --priorities path */
	const char *path; /**< of the input; NULL: random */
	bool by_bucket;   /**< priorities are heteroprio's */
	int32_t where;
	struct matrix input;  /**< its memory from malloc() */
	struct matrix result; /**< the factors; from heddle_malloc() */
	starpu_data_handle_t *handles;
	int *broken; /**< for each tile on the diagonal; from heddle_malloc() */
	struct factor_argument *diagonal, others[FACTOR_NOPS];
	size_t ntasks;
	double flops;
	/* Of the current repetition. */
	int status;
	double start_us;
	struct heddle_worker_stats *workers;
	/* Of the last one. */
	double tasks_us;               /**< until the last task had ended */
	size_t (*counts)[FACTOR_NOPS]; /**< by worker */
};

/** Runs the app of a kind. */
int factor_main(enum graph_kind kind, int argc, char **argv);

/* ---- tasks.c ---- */

/** Registers the tiles and prepares the arguments of tasks. @return 0; -errno after a message. */
int factor_tasks_make(struct factor *factor);
void factor_tasks_free(struct factor *factor);

/** Whether some worker can run each kind of task. @return 0; -ENODEV after a message. */
int factor_tasks_check(struct factor *factor);

/** Runs each kind of task once on each accelerator, which so loads its libraries. */
int factor_tasks_warm(struct factor *factor);

/** Takes the tiles for writing, so that no device keeps a copy, and gives them back. */
void factor_tiles_acquire(struct factor *factor);
void factor_tiles_release(struct factor *factor);

/** Runs a repetition. @return 0; -EINVAL after a message if the factorisation breaks down; -EIO. */
int factor_tasks_run(struct factor *factor, struct heddle_loop_stats *stats);

#endif
