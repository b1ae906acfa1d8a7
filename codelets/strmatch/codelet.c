/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelet for StarPU: a wavefront over two sequences.
 */
#include "config.h"

#include <errno.h>
#include <starpu.h>

#include <heddle/wavefront.h>

#include "codelets/codelet.h"
#include "codelets/strmatch/strmatch.h"

enum { QUERY, SUBJECT, ROWS, EDGE, NBUFFERS };

static struct strmatch_tile tile_of(const struct heddle_tile *given)
{
	const struct strmatch_job *job = given->arg;
	size_t first = heddle_tile_begin(given, 0);

	return (struct strmatch_tile){.nrows = given->rows,
	                              .ncolumns = heddle_tile_end(given, 0) - first,
	                              .first_column = first,
	                              .floor = job->floor};
}

typedef int version(void *stream, const struct strmatch_scoring *scoring,
                    const struct strmatch_tile *tile, const uint8_t *query, const uint8_t *subject,
                    struct strmatch_row *rows, const struct strmatch_edge *above,
                    struct strmatch_edge *below);

/* The edge holds the row above the tile, and afterwards the tile's last row. */
static int run(version *compute, void *stream, void *buffers[], const struct heddle_tile *given)
{
	const struct strmatch_job *job = given->arg;
	struct strmatch_tile tile = tile_of(given);
	struct strmatch_edge *edge =
	    (struct strmatch_edge *)STARPU_VECTOR_GET_PTR(buffers[EDGE]) + tile.first_column;

	return compute(stream, &job->scoring, &tile,
	               (const uint8_t *)STARPU_VECTOR_GET_PTR(buffers[QUERY]),
	               (const uint8_t *)STARPU_VECTOR_GET_PTR(buffers[SUBJECT]) + tile.first_column,
	               (struct strmatch_row *)STARPU_VECTOR_GET_PTR(buffers[ROWS]), edge, edge);
}

static int compute_on_cpu(void *stream, const struct strmatch_scoring *scoring,
                          const struct strmatch_tile *tile, const uint8_t *query,
                          const uint8_t *subject, struct strmatch_row *rows,
                          const struct strmatch_edge *above, struct strmatch_edge *below)
{
	strmatch_cpu(codelet_isa_best(), scoring, tile, query, subject, rows, above, below);
	return 0;
}

static void run_cpu(void *buffers[], void *arg)
{
	struct heddle_tile *given = arg;

	given->status = run(compute_on_cpu, NULL, buffers, given);
}

#ifdef HEDDLE_USE_CUDA
static void run_cuda(void *buffers[], void *arg)
{
	struct heddle_tile *given = arg;

	given->status = run(strmatch_cuda, starpu_cuda_get_local_stream(), buffers, given);
}
#endif

#ifdef HEDDLE_USE_OPENCL
#define SIDE 64 /* as in the kernel */

struct codelet_program strmatch_program = {.source =
#include "codelets/strmatch/opencl.clh"
};

/* The squares of one anti-diagonal. */
static int launch_squares(void *buffers[], const struct strmatch_job *job,
                          const struct strmatch_tile *tile, cl_mem scores, cl_uint diagonal)
{
	size_t down = (tile->nrows + SIDE - 1) / SIDE, across = (tile->ncolumns + SIDE - 1) / SIDE;
	cl_uint first;
	size_t column = tile->first_column, local = SIDE;
	size_t global = codelet_diagonal(down, across, diagonal, &first) * local;
	struct codelet_launch launch;

	codelet_launch_begin(&strmatch_program, "compute_squares", &launch);
	codelet_launch_ulong(&launch, tile->nrows);
	codelet_launch_ulong(&launch, tile->ncolumns);
	codelet_launch_uint(&launch, column);
	codelet_launch_argument(&launch, sizeof(cl_int), &job->floor);
	codelet_launch_argument(&launch, sizeof(cl_int), &job->scoring.open);
	codelet_launch_argument(&launch, sizeof(cl_int), &job->scoring.extend);
	codelet_launch_uint(&launch, diagonal);
	codelet_launch_uint(&launch, first);
	codelet_launch_argument(&launch, sizeof(scores), &scores);
	codelet_launch_vector(&launch, buffers[QUERY]);
	codelet_launch_buffer(&launch, STARPU_VECTOR_GET_DEV_HANDLE(buffers[SUBJECT]),
	                      STARPU_VECTOR_GET_OFFSET(buffers[SUBJECT]) + column);
	codelet_launch_vector(&launch, buffers[ROWS]);
	codelet_launch_buffer(&launch, STARPU_VECTOR_GET_DEV_HANDLE(buffers[EDGE]),
	                      STARPU_VECTOR_GET_OFFSET(buffers[EDGE]) +
	                          column * sizeof(struct strmatch_edge));
	return codelet_launch_end(&launch, 1, &global, &local);
}

static void run_opencl(void *buffers[], void *arg)
{
	struct heddle_tile *given = arg;
	struct strmatch_job job = *(const struct strmatch_job *)given->arg;
	struct strmatch_tile tile = tile_of(given);
	size_t diagonals;
	cl_context context;
	cl_mem scores;
	cl_int error;

	if (!tile.nrows || !tile.ncolumns)
		return;
	diagonals = (tile.nrows + SIDE - 1) / SIDE + (tile.ncolumns + SIDE - 1) / SIDE - 1;
	starpu_opencl_get_context(starpu_worker_get_devid(starpu_worker_get_id_check()), &context);
	scores = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
	                        sizeof(job.scoring.scores), job.scoring.scores, &error);
	if (error != CL_SUCCESS) {
		given->status = -ENOMEM;
		return;
	}
	for (size_t d = 0; d < diagonals && !given->status; d++)
		given->status = launch_squares(buffers, &job, &tile, scores, d);
	/* The queue keeps it until the kernels have run. */
	clReleaseMemObject(scores);
}
#endif

struct starpu_codelet strmatch_codelet = {
    .name = "strmatch",
    CODELET_VERSIONS(run_cpu, run_cuda, run_opencl),
    .model = CODELET_MODEL,
    .nbuffers = NBUFFERS,
    .modes = {STARPU_R, STARPU_R, STARPU_RW, STARPU_RW},
};
