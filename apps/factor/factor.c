/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The apps cholesky and lu.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <jansson.h>

#include "support/message.h"
#include "estimator/platform_starpu.h"
#include "apps/common/matrix_market.h"
#include "apps/factor/factor.h"

/* More of them on a side would be too many tasks for main memory. */
#define MAX_TILES 512

/* ---- own options ---- */

static const char *const priorities[] = {"none", "path"};

static const struct option_row own_options[] = {
    {"tile", "B", "Rows and columns of a tile (default 640)",
     NUMBER(struct factor, tile, 1, 1 << 16)},
    {"double", NULL, "Double precision (default: single)", SETS(struct factor, wide, true)},
    {"priorities", "none|path",
     "Of tasks: how many tasks must follow one after the other (path, default), or none",
     NAMED(struct factor, by_path, priorities)},
    {0},
};

/* ---- input ---- */

static int input_allocate(struct factor *self)
{
	/* A megabyte of file may name a matrix of a terabyte. */
	self->input.data = calloc(self->input.bytes + 1, 1);
	if (!self->input.data)
		return heddle_refuse(-ENOMEM, "no memory for a matrix of order %zu", self->input.n);
	return 0;
}

static bool take(void *arg, size_t row, size_t column, double value)
{
	struct matrix *matrix = arg;

	if (matrix_get(matrix, row, column) != 0)
		return false;
	matrix_set(matrix, row, column, value);
	return true;
}

/* LU of a symmetric matrix needs the other half, too. */
static void mirror(const struct matrix *matrix)
{
	for (size_t i = 0; i < matrix->n; i++)
		for (size_t j = 0; j < i; j++)
			matrix_set(matrix, j, i, matrix_get(matrix, i, j));
}

static int input_read(struct factor *self, struct matrix_market *file)
{
	size_t row, column;
	int error = matrix_market_read(file, take, &self->input);

	if (error)
		return error;
	if (self->kind == GRAPH_LU && file->symmetric)
		mirror(&self->input);
	if (self->kind == GRAPH_CHOLESKY && !file->symmetric &&
	    !matrix_is_symmetric(&self->input, &row, &column))
		return heddle_refuse(-EINVAL,
		                     "%s: the matrix is not symmetric: row %zu, column %zu differs "
		                     "from row %zu, column %zu",
		                     file->path, row + 1, column + 1, column + 1, row + 1);
	return 0;
}

static int check_tiles(const struct factor *self, size_t n)
{
	size_t tiles = (n + self->tile - 1) / self->tile;

	if (tiles > MAX_TILES)
		return heddle_refuse(-EINVAL,
		                     "--tile %zu: a matrix of order %zu has %zu of these tiles on "
		                     "a side, and %d are possible",
		                     self->tile, n, tiles, MAX_TILES);
	return 0;
}

static int factor_open(void *data, const struct app_options *common)
{
	struct factor *self = data;
	struct matrix_market file;
	int error = matrix_market_open(common->input, &file);

	self->path = common->input;
	if (error)
		return error;
	if (file.rows != file.columns)
		error = heddle_refuse(-EINVAL,
		                      "%s: %zu rows and %zu columns: only a square matrix "
		                      "has this factorisation",
		                      file.path, file.rows, file.columns);
	if (!error)
		error = check_tiles(self, file.rows);
	if (!error) {
		bool lower = self->kind == GRAPH_CHOLESKY && file.symmetric;

		self->input = matrix_shape(file.rows, self->tile, lower, self->wide);
		file.single = !self->wide;
		error = input_allocate(self);
	}
	if (!error)
		error = input_read(self, &file);
	matrix_market_close(&file);
	return error;
}

/* ---- data ---- */

/* Simulated tasks touch no tile: addresses are all that they need. */
static int reserve(struct matrix *matrix)
{
	matrix->data = mmap(NULL, matrix->bytes + 1, PROT_NONE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (matrix->data != MAP_FAILED)
		return 0;
	matrix->data = NULL;
	return heddle_refuse(-ENOMEM, "no addresses for a matrix of order %zu", matrix->n);
}

static int make_matrices(struct factor *self, const struct app_options *common)
{
	bool lower = self->kind == GRAPH_CHOLESKY;
	size_t n = common->input ? self->input.n : common->size;
	int error = check_tiles(self, n);

	if (error)
		return error;
	self->result = matrix_shape(n, self->tile, lower, self->wide);
	if (app_simulated())
		return reserve(&self->result);
	if (!common->input) {
		self->input = self->result;
		error = input_allocate(self);
		if (!error)
			matrix_fill(&self->input, common->seed);
	}
	return error ? error : heddle_malloc((void **)&self->result.data, self->result.bytes);
}

static int count(void *data, const struct graph_task *task)
{
	((struct factor *)data)->ntasks++;
	return 0;
}

#ifdef HEDDLE_USE_SIMGRID
/* Whether StarPU has measured an operation on tiles of this size on a worker. */
static bool has_time(struct factor *self, enum factor_op op, unsigned worker)
{
	struct starpu_task task;
	double us;

	starpu_task_init(&task);
	task.cl = factor_codelet(op, self->wide);
	task.cl_arg = &self->others[op];
	for (unsigned t = 0; t < factor_ntiles(op); t++)
		task.handles[t] = self->handles[0];
	us = starpu_task_expected_length(
	    &task, starpu_worker_get_perf_archtype(worker, STARPU_NMAX_SCHED_CTXS), 0);
	starpu_task_clean(&task);
	return us > 0;
}

static int find_times(struct factor *self, enum factor_op op)
{
	unsigned found = 0;

	for (unsigned w = 0; w < starpu_worker_get_count(); w++) {
		bool measured = has_time(self, op, w);

		factor_allow(op, w, measured);
		found += measured;
	}
	if (found)
		return 0;
	return heddle_refuse(-EINVAL,
	                     "StarPU has no times of %s on tiles of %zu rows for this simulated "
	                     "machine: it has some in single precision, of 320, 640 and 960 rows",
	                     factor_codelet(op, self->wide)->name, self->result.tile);
}

static int prepare_simulation(struct factor *self)
{
	int error = 0;

	if (!factor_times_measured() || !self->result.n)
		return 0;
	if (self->result.n % self->result.tile)
		return heddle_refuse(-EINVAL,
		                     "StarPU has measured tiles of one size alone: on its "
		                     "machines --size must be a multiple of --tile %zu",
		                     self->tile);
	for (int op = 0; op < FACTOR_NOPS && !error; op++)
		if (graph_has(self->kind, op))
			error = find_times(self, op);
	return error;
}
#else
static int prepare_simulation(struct factor *self)
{
	return 0;
}
#endif

static int factor_prepare(void *data, const struct app_options *common, struct heddle_loop *loop)
{
	struct factor *self = data;
	double n;
	int error;

	if (common->strategy || common->parts)
		heddle_warn("--strategy and --parts are for loops; here every operation is a task");
	self->where = app_where(common->kinds);
	error = make_matrices(self, common);
	if (!error)
		error = factor_codelets_open();
	if (!error)
		error = factor_tasks_make(self);
	if (!error && app_simulated())
		error = prepare_simulation(self);
	if (!error)
		error = factor_tasks_check(self);
	if (!error && !app_simulated() && self->result.n)
		error = factor_tasks_warm(self);
	if (error)
		return error;
	n = self->result.n;
	self->flops = n * n * n / 3 * (self->kind == GRAPH_LU ? 2 : 1);
	graph_each(self->kind, self->result.tiles, count, self);
	loop->n = self->ntasks;
	return 0;
}

/* ---- the app ---- */

static int factor_run(void *data, struct heddle_loop_stats *stats)
{
	struct factor *self = data;

	/* Elsewhere poison() does it, which simulated runs leave out. */
	if (app_simulated()) {
		factor_tiles_acquire(self);
		factor_tiles_release(self);
	}
	return factor_tasks_run(self, stats);
}

static void factor_poison(void *data)
{
	struct factor *self = data;

	factor_tiles_acquire(self);
	matrix_copy(&self->result, &self->input);
	factor_tiles_release(self);
}

/* A repetition ends with all tiles in main memory. */
static double factor_error(void *data)
{
	struct factor *self = data;

	return matrix_error(self->kind, &self->input, &self->result);
}

static double factor_elements(void *data)
{
	return ((struct factor *)data)->flops;
}

static double input_get(void *data, size_t row, size_t column)
{
	return matrix_get(&((struct factor *)data)->input, row, column);
}

static double result_get(void *data, size_t row, size_t column)
{
	struct factor *self = data;

	return self->kind == GRAPH_CHOLESKY && row < column
	           ? 0
	           : matrix_get(&self->result, row, column);
}

static int factor_save_input(void *data, const struct app_options *common)
{
	struct factor *self = data;

	return matrix_market_write(common->save_input, self->input.n, self->input.n,
	                           self->input.lower, self->wide ? 17 : 9, input_get, self);
}

static int factor_save_output(void *data, const struct app_options *common)
{
	struct factor *self = data;

	return matrix_market_write(common->output, self->result.n, self->result.n, false,
	                           self->wide ? 17 : 9, result_get, self);
}

static void factor_release(void *data)
{
	struct factor *self = data;

	if (self->handles)
		factor_codelets_close();
	factor_tasks_free(self);
	if (app_simulated() && self->result.data)
		munmap(self->result.data, self->result.bytes + 1);
	else
		heddle_free(self->result.data, self->result.bytes);
	free(self->input.data);
}

/* ---- the report ---- */

static size_t count_tasks(const struct factor *self, enum factor_op op, enum heddle_kind kind)
{
	size_t tasks = 0;

	for (unsigned w = 0; w < starpu_worker_get_count(); w++)
		if (heddle_worker_kind(w) == kind)
			tasks += self->counts[w][op];
	return tasks;
}

static json_t *tasks_json(const struct factor *self)
{
	json_t *list = json_array();

	for (int op = 0; op < FACTOR_NOPS; op++) {
		json_t *tasks;

		if (!graph_has(self->kind, op))
			continue;
		tasks = json_pack("{ss}", "codelet", factor_codelet(op, self->wide)->name);
		for (int kind = 0; kind < HEDDLE_NKINDS; kind++)
			json_object_set_new(tasks, heddle_kind_name(kind),
			                    json_integer(count_tasks(self, op, kind)));
		json_array_append_new(list, tasks);
	}
	return list;
}

static void factor_describe(void *data, struct json_t *report)
{
	struct factor *self = data;

	json_object_set_new(report, "order", json_integer(self->result.n));
	json_object_set_new(report, "tile", json_integer(self->tile));
	json_object_set_new(report, "precision", json_string(self->wide ? "double" : "single"));
	json_object_set_new(report, "priorities",
	                    json_string(self->by_bucket ? "heteroprio"
	                                : self->by_path ? "path"
	                                                : "none"));
	json_object_set_new(report, "flops", json_real(self->flops));
	json_object_set_new(report, "tasks_us", json_real(self->tasks_us));
	json_object_set_new(report, "tasks", tasks_json(self));
}

static void factor_print(void *data)
{
	struct factor *self = data;

	printf("  %u x %u tiles of %zu, %s precision; of the last repetition: tasks %.1f us\n",
	       self->result.tiles, self->result.tiles, self->tile, self->wide ? "double" : "single",
	       self->tasks_us);
	for (int op = 0; op < FACTOR_NOPS; op++) {
		if (!graph_has(self->kind, op))
			continue;
		printf("  %-13s", factor_codelet(op, self->wide)->name);
		for (int kind = 0; kind < HEDDLE_NKINDS; kind++)
			if (count_tasks(self, op, kind))
				printf(" %zu %s", count_tasks(self, op, kind),
				       heddle_kind_name(kind));
		printf("\n");
	}
}

#define FILES                                                                                      \
	"--size N and --seed make a diagonally dominant matrix of order N. --input is a file of "  \
	"the Matrix Market: array or coordinate, real or integer, general or symmetric; --output " \
	"and --save-input write arrays. Every operation on a tile is a StarPU task."

static const char *const docs[] = {
    [GRAPH_CHOLESKY] = "Factorises a symmetric, positive definite matrix: A = L L^T (Cholesky)."
                       "\v" FILES,
    [GRAPH_LU] = "Factorises a square matrix without pivoting: A = L U."
                 "\v" FILES " Without pivoting only matrices such as diagonally dominant ones "
                 "have accurate factors: use --verify.",
};

int factor_main(enum graph_kind kind, int argc, char **argv)
{
	static struct factor self = {.tile = 640, .by_path = true};
	const struct app app = {
	    .name = kind == GRAPH_LU ? "lu" : "cholesky",
	    .doc = docs[kind],
	    .unit = "flop",
	    .size = 7680,
	    .max_size = 1 << 20,
	    .own = own_options,
	    .tolerance = MATRIX_TOLERANCE,
	    .open = factor_open,
	    .prepare = factor_prepare,
	    .run = factor_run,
	    .describe = factor_describe,
	    .print = factor_print,
	    .poison = factor_poison,
	    .error = factor_error,
	    .save_input = factor_save_input,
	    .save_output = factor_save_output,
	    .elements = factor_elements,
	    .release = factor_release,
	};

	self.kind = kind;
	return app_main(&app, &self, argc, argv);
}
