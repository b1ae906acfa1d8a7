/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>
#include <heddle/memory.h>

#include "support/message.h"
#include "estimator/platform_starpu.h"
#include "apps/common/heteroprio.h"
#include "apps/factor/factor.h"

/* ---- tiles ---- */

static bool has_tile(const struct factor *factor, unsigned row, unsigned column)
{
	return !factor->result.lower || row >= column;
}

static starpu_data_handle_t *handle_of(const struct factor *factor, unsigned row, unsigned column)
{
	return &factor->handles[matrix_index(&factor->result, row, column)];
}

/* Calls something for all tiles. */
static void each_tile(struct factor *factor,
                      void (*function)(struct factor *factor, unsigned row, unsigned column))
{
	for (unsigned i = 0; i < factor->result.tiles; i++)
		for (unsigned j = 0; j < factor->result.tiles; j++)
			if (has_tile(factor, i, j))
				function(factor, i, j);
}

static void tile_register(starpu_data_handle_t *handle, const struct matrix *matrix, void *tile,
                          size_t rows, size_t columns)
{
	starpu_matrix_data_register(handle, STARPU_MAIN_RAM, (uintptr_t)tile, rows, rows, columns,
	                            matrix->wide ? sizeof(double) : sizeof(float));
}

static void register_tile(struct factor *factor, unsigned row, unsigned column)
{
	const struct matrix *matrix = &factor->result;

	tile_register(handle_of(factor, row, column), matrix, matrix_tile(matrix, row, column),
	              matrix_side(matrix, row), matrix_side(matrix, column));
}

static void unregister_tile(struct factor *factor, unsigned row, unsigned column)
{
	starpu_data_unregister(*handle_of(factor, row, column));
}

static void acquire_tile(struct factor *factor, unsigned row, unsigned column)
{
	starpu_data_acquire(*handle_of(factor, row, column), STARPU_W);
}

static void release_tile(struct factor *factor, unsigned row, unsigned column)
{
	starpu_data_release(*handle_of(factor, row, column));
}

/* Waits until it is in main memory. */
static void fetch_tile(struct factor *factor, unsigned row, unsigned column)
{
	starpu_data_handle_t handle = *handle_of(factor, row, column);

	if (!starpu_data_acquire(handle, STARPU_R))
		starpu_data_release(handle);
}

void factor_tiles_acquire(struct factor *factor)
{
	each_tile(factor, acquire_tile);
}

void factor_tiles_release(struct factor *factor)
{
	each_tile(factor, release_tile);
}

/* ---- making ---- */

static void prepare_argument(struct factor *factor, enum factor_op op, int *broken,
                             struct factor_argument *argument)
{
	*argument = (struct factor_argument){{op, broken, &factor->status}, factor};
}

int factor_tasks_make(struct factor *factor)
{
	static const enum factor_op first[] = {
	    [GRAPH_CHOLESKY] = FACTOR_POTRF, [GRAPH_LU] = FACTOR_GETRF};
	size_t tiles = factor->result.tiles;

	factor->handles = calloc(tiles * tiles + 1, sizeof(*factor->handles));
	factor->diagonal = calloc(tiles + 1, sizeof(*factor->diagonal));
	factor->counts = calloc(STARPU_NMAXWORKERS, sizeof(*factor->counts));
	if (!factor->handles || !factor->diagonal || !factor->counts)
		return heddle_refuse(-ENOMEM, "no memory for %zu x %zu tiles", tiles, tiles);
	if (heddle_malloc((void **)&factor->broken, (tiles + 1) * sizeof(*factor->broken)))
		return -ENOMEM;
	for (size_t k = 0; k <= tiles; k++)
		prepare_argument(factor, first[factor->kind], &factor->broken[k],
		                 &factor->diagonal[k]);
	for (int op = 0; op < FACTOR_NOPS; op++)
		prepare_argument(factor, op, NULL, &factor->others[op]);
	/* StarPU 1.3's heteroprio wants the kinds of tasks in the order of their gain. */
	factor->by_bucket = heteroprio_tell(4, 1, factor->where);
	each_tile(factor, register_tile);
	return 0;
}

void factor_tasks_free(struct factor *factor)
{
	if (factor->handles && factor->handles[0])
		each_tile(factor, unregister_tile);
	heddle_free(factor->broken, (factor->result.tiles + 1) * sizeof(*factor->broken));
	free(factor->handles);
	free(factor->diagonal);
	free(factor->counts);
}

/* ---- a task ---- */

static int bucket_of(enum factor_op op)
{
	static const int buckets[FACTOR_NOPS] = {
	    [FACTOR_POTRF] = 1, [FACTOR_TRSM] = 2, [FACTOR_SYRK] = 3,   [FACTOR_GEMM] = 4,
	    [FACTOR_GETRF] = 1, [FACTOR_ROW] = 2,  [FACTOR_COLUMN] = 2, [FACTOR_UPDATE] = 4,
	};

	return buckets[op];
}

static int priority_of(const struct factor *factor, const struct graph_task *task)
{
	if (factor->by_bucket)
		return bucket_of(task->op);
	return factor->by_path ? (int)graph_distance(factor->result.tiles, task) : 0;
}

/* Tasks of a device may overlap: that time counts once. */
static void task_is_over(void *arg)
{
	struct starpu_task *task = arg;
	struct factor_argument *argument = task->cl_arg;
	struct factor *factor = argument->factor;
	struct starpu_profiling_task_info *info = task->profiling_info;
	int worker = starpu_worker_get_id_check();
	struct heddle_worker_stats *stats = &factor->workers[worker];
	double begin, end;

	stats->iterations++;
	stats->blocks++;
	factor->counts[worker][argument->call.op]++;
	if (!info)
		return;
	begin = starpu_timing_timespec_to_us(&info->start_time) - factor->start_us;
	end = starpu_timing_timespec_to_us(&info->end_time) - factor->start_us;
	stats->busy_us += fmax(0, end - fmax(begin, stats->finish_us));
	stats->finish_us = fmax(stats->finish_us, end);
}

static double flops_of(const struct factor *factor, const struct graph_task *task)
{
	const struct matrix *matrix = &factor->result;

	return factor_flops(task->op, matrix_side(matrix, task->written.row),
	                    matrix_side(matrix, task->written.column),
	                    matrix_side(matrix, task->step));
}

static struct starpu_task *make_task(struct factor *factor, enum factor_op op)
{
	struct starpu_task *task = starpu_task_create();

	task->cl = factor_codelet(op, factor->wide);
	task->cl_arg = &factor->others[op];
	task->cl_arg_size = sizeof(struct factor_argument);
	if (factor->where)
		task->where = factor->where;
	return task;
}

static int submit(struct starpu_task *task)
{
	int error = starpu_task_submit(task);

	if (!error)
		return 0;
	error = heddle_refuse(error, "no worker can run a task of %s", task->cl->name);
	task->destroy = 0;
	starpu_task_destroy(task);
	return error;
}

/* A panel's tiles have come to their last values, and nobody reads them once the step is over:
 * StarPU may write them back. */
static void step_is_over(struct factor *factor, unsigned step)
{
	for (unsigned i = step; i < factor->result.tiles; i++) {
		starpu_data_wont_use(*handle_of(factor, i, step));
		if (i > step && has_tile(factor, step, i))
			starpu_data_wont_use(*handle_of(factor, step, i));
	}
}

static int submit_task(void *arg, const struct graph_task *given)
{
	struct factor *factor = arg;
	struct starpu_task *task = make_task(factor, given->op);
	struct graph_place places[FACTOR_MAXTILES];
	unsigned n = graph_places(given, places);

	if (n == 1)
		task->cl_arg = &factor->diagonal[given->step];
	if (n == 1 && given->step)
		step_is_over(factor, given->step - 1);
	for (unsigned t = 0; t < n; t++)
		task->handles[t] = *handle_of(factor, places[t].row, places[t].column);
	task->flops = flops_of(factor, given);
	task->priority = priority_of(factor, given);
	task->callback_func = task_is_over;
	task->callback_arg = task;
	return submit(task);
}

/* StarPU's policies wait for ever for a worker that there is not. */
static int check_op(struct factor *factor, enum factor_op op)
{
	struct starpu_task *task = make_task(factor, op);
	unsigned able = 0;

	for (unsigned w = 0; w < starpu_worker_get_count(); w++)
		able += starpu_worker_can_execute_task(w, task, 0);
	task->destroy = 0;
	starpu_task_destroy(task);
	if (able)
		return 0;
	return heddle_refuse(-ENODEV, "no worker can run a task of %s",
	                     factor_codelet(op, factor->wide)->name);
}

int factor_tasks_check(struct factor *factor)
{
	int error = 0;

	for (int op = 0; op < FACTOR_NOPS && !error; op++)
		if (graph_has(factor->kind, op))
			error = check_op(factor, op);
	return error;
}

/* ---- libraries of accelerators ---- */

/* Tiles of one worker: the identity, and one that is written. */
struct scratch {
	void *memory[2];
	starpu_data_handle_t handles[2];
};

static int scratch_make(const struct factor *factor, struct scratch *scratch)
{
	size_t n = matrix_side(&factor->result, 0);

	for (int s = 0; s < 2; s++) {
		struct matrix tile = matrix_shape(n, n, true, factor->wide);

		if (heddle_malloc(&scratch->memory[s], tile.bytes))
			return -ENOMEM;
		tile.data = scratch->memory[s];
		for (size_t i = 0; i < n; i++)
			matrix_set(&tile, i, i, 1);
		tile_register(&scratch->handles[s], &tile, tile.data, n, n);
	}
	return 0;
}

static void scratch_free(const struct factor *factor, struct scratch *scratch)
{
	size_t n = matrix_side(&factor->result, 0);

	for (int s = 0; s < 2; s++) {
		if (scratch->handles[s])
			starpu_data_unregister(scratch->handles[s]);
		heddle_free(scratch->memory[s], matrix_shape(n, n, true, factor->wide).bytes);
	}
}

/* Not measured: these tasks have codelets of their own. */
static int warm_task(struct factor *factor, enum factor_op op, unsigned worker,
                     const struct scratch *scratch)
{
	static struct starpu_codelet unmeasured[FACTOR_NOPS];
	struct starpu_task *task = make_task(factor, op);
	unsigned n = task->cl->nbuffers;

	unmeasured[op] = *task->cl;
	unmeasured[op].model = NULL;
	task->cl = &unmeasured[op];
	task->where = -1;
	if (n == 1)
		task->cl_arg = &factor->diagonal[factor->result.tiles];
	for (unsigned t = 0; t < n; t++)
		task->handles[t] = scratch->handles[t + 1 == n];
	task->execute_on_a_specific_worker = 1;
	task->workerid = worker;
	if (starpu_worker_can_execute_task(worker, task, 0))
		return submit(task);
	task->destroy = 0;
	starpu_task_destroy(task);
	return 0;
}

static int warm_worker(struct factor *factor, unsigned worker)
{
	struct scratch scratch = {{NULL}, {NULL}};
	int error = scratch_make(factor, &scratch);

	for (int op = 0; op < FACTOR_NOPS && !error; op++)
		if (graph_has(factor->kind, op))
			error = warm_task(factor, op, worker, &scratch);
	starpu_task_wait_for_all();
	scratch_free(factor, &scratch);
	return error ? error : factor->status;
}

int factor_tasks_warm(struct factor *factor)
{
	int error = 0;

	for (unsigned w = 0; w < starpu_worker_get_count() && !error; w++)
		if (starpu_worker_get_type(w) != STARPU_CPU_WORKER)
			error = warm_worker(factor, w);
	return error;
}

/* ---- a repetition ---- */

static void begin(struct factor *factor, struct heddle_loop_stats *stats)
{
	*stats =
	    (struct heddle_loop_stats){.strategy = "tasks", .nworkers = starpu_worker_get_count()};
	for (unsigned w = 0; w < stats->nworkers; w++) {
		stats->workers[w].id = w;
		stats->workers[w].kind = heddle_worker_kind(w);
		starpu_worker_get_name(w, stats->workers[w].name, sizeof(stats->workers[w].name));
	}
	factor->workers = stats->workers;
	factor->status = 0;
	if (!app_simulated())
		memset(factor->broken, 0, factor->result.tiles * sizeof(*factor->broken));
	memset(factor->counts, 0, STARPU_NMAXWORKERS * sizeof(*factor->counts));
	starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
	factor->start_us = starpu_timing_now();
}

static int look_for_breakdown(const struct factor *factor)
{
	const char *path = factor->path ? factor->path : "";
	const char *colon = factor->path ? ": " : "";

	for (unsigned k = 0; k < factor->result.tiles; k++) {
		size_t column = k * factor->result.tile + factor->broken[k];

		if (!factor->broken[k])
			continue;
		if (factor->kind == GRAPH_CHOLESKY)
			return heddle_refuse(
			    -EINVAL,
			    "%s%sthe matrix is not positive definite: its factorisation "
			    "breaks down in column %zu",
			    path, colon, column);
		return heddle_refuse(-EINVAL,
		                     "%s%sthe factorisation, which does not pivot, breaks "
		                     "down: it finds nothing to divide by in column %zu",
		                     path, colon, column);
	}
	return 0;
}

int factor_tasks_run(struct factor *factor, struct heddle_loop_stats *stats)
{
	int error;

	begin(factor, stats);
	error = graph_each(factor->kind, factor->result.tiles, submit_task, factor);
	stats->overhead_us = starpu_timing_now() - factor->start_us;
	starpu_task_wait_for_all();
	factor->tasks_us = starpu_timing_now() - factor->start_us;
	each_tile(factor, fetch_tile);
	stats->us = starpu_timing_now() - factor->start_us;
	starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
	for (unsigned w = 0; w < stats->nworkers; w++)
		stats->blocks += stats->workers[w].blocks;
	if (!error)
		error = factor->status;
	return error || app_simulated() ? error : look_for_breakdown(factor);
}
