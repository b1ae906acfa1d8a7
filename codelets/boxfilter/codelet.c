/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelet for StarPU: a loop over the rows of an image.
 */
#include "config.h"

#include <errno.h>
#include <starpu.h>

#include "codelets/boxfilter/boxfilter.h"
#include "codelets/codelet.h"

enum { INPUT, OUTPUT, NBUFFERS };

/* The distance between rows differs between memories; the interface has that of the worker's. */
static struct boxfilter_band band_of(void *buffers[], const struct heddle_block *block)
{
	const struct boxfilter_window *window = block->arg;

	return (struct boxfilter_band){
	    .window = *window,
	    .width = STARPU_MATRIX_GET_NX(buffers[INPUT]) / window->channels,
	    .above = heddle_block_before(block, 1, window->radius),
	    .rows = STARPU_MATRIX_GET_NY(buffers[OUTPUT]),
	    .input_rows = STARPU_MATRIX_GET_NY(buffers[INPUT]),
	    .in_stride = STARPU_MATRIX_GET_LD(buffers[INPUT]),
	    .out_stride = STARPU_MATRIX_GET_LD(buffers[OUTPUT]),
	};
}

static void run_cpu(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	struct boxfilter_band band = band_of(buffers, block);

	block->status = boxfilter_cpu(codelet_isa_best(), &band,
	                              (const unsigned char *)STARPU_MATRIX_GET_PTR(buffers[INPUT]),
	                              (unsigned char *)STARPU_MATRIX_GET_PTR(buffers[OUTPUT]));
}

#ifdef HEDDLE_USE_CUDA
static void run_cuda(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	struct boxfilter_band band = band_of(buffers, block);

	block->status = boxfilter_cuda(starpu_cuda_get_local_stream(), &band,
	                               (const unsigned char *)STARPU_MATRIX_GET_PTR(buffers[INPUT]),
	                               (unsigned char *)STARPU_MATRIX_GET_PTR(buffers[OUTPUT]));
}
#endif

#ifdef HEDDLE_USE_OPENCL
/* The most memory between the two passes. */
#define SCRATCH_BYTES ((size_t)64 << 20)

struct codelet_program boxfilter_program = {.source =
#include "codelets/boxfilter/opencl.clh"
};

static int sum_columns(void *buffers[], const struct boxfilter_band *band, size_t first,
                       size_t rows, cl_mem scratch)
{
	const char *kernel = boxfilter_is_narrow(band) ? "sum_columns_narrow" : "sum_columns_wide";
	size_t n = band->width * band->window.channels;
	size_t strip = 32 + (band->window.radius < 1024 ? band->window.radius : 1024);
	const size_t local[] = {64, 1};
	size_t global[] = {(n + 63) / 64 * 64, (rows + strip - 1) / strip};
	struct codelet_launch launch;

	codelet_launch_begin(&boxfilter_program, kernel, &launch);
	codelet_launch_ulong(&launch, band->window.radius);
	codelet_launch_ulong(&launch, n);
	codelet_launch_ulong(&launch, band->above);
	codelet_launch_ulong(&launch, band->input_rows);
	codelet_launch_ulong(&launch, first);
	codelet_launch_ulong(&launch, rows);
	codelet_launch_ulong(&launch, strip);
	codelet_launch_matrix(&launch, buffers[INPUT]);
	codelet_launch_ulong(&launch, band->in_stride);
	codelet_launch_argument(&launch, sizeof(scratch), &scratch);
	return codelet_launch_end(&launch, 2, global, local);
}

static int filter_rows(void *buffers[], const struct boxfilter_band *band, size_t first,
                       size_t rows, cl_mem scratch)
{
	const char *kernel = boxfilter_is_narrow(band) ? "filter_rows_narrow" : "filter_rows_wide";
	const size_t local = 64; /* the kernel's MAX_ITEMS */
	size_t global = rows * local;
	struct codelet_launch launch;

	codelet_launch_begin(&boxfilter_program, kernel, &launch);
	codelet_launch_ulong(&launch, band->window.radius);
	codelet_launch_ulong(&launch, band->width);
	codelet_launch_uint(&launch, band->window.channels);
	codelet_launch_ulong(&launch, band->above);
	codelet_launch_ulong(&launch, band->input_rows);
	codelet_launch_ulong(&launch, first);
	codelet_launch_argument(&launch, sizeof(scratch), &scratch);
	codelet_launch_matrix(&launch, buffers[OUTPUT]);
	codelet_launch_ulong(&launch, band->out_stride);
	return codelet_launch_end(&launch, 1, &global, &local);
}

static int launch_passes(void *buffers[], const struct boxfilter_band *band)
{
	size_t row = band->width * band->window.channels *
	             (boxfilter_is_narrow(band) ? sizeof(cl_uint) : sizeof(cl_ulong));
	size_t at_once = SCRATCH_BYTES / row < 1 ? 1 : SCRATCH_BYTES / row;
	int status = 0;
	cl_context context;
	cl_mem scratch;
	cl_int error;

	if (at_once > band->rows)
		at_once = band->rows;
	starpu_opencl_get_context(starpu_worker_get_devid(starpu_worker_get_id_check()), &context);
	scratch = clCreateBuffer(context, CL_MEM_READ_WRITE, at_once * row, NULL, &error);
	if (error != CL_SUCCESS)
		return -ENOMEM;
	for (size_t first = 0; first < band->rows && !status; first += at_once) {
		size_t rows = band->rows - first < at_once ? band->rows - first : at_once;

		status = sum_columns(buffers, band, first, rows, scratch);
		if (!status)
			status = filter_rows(buffers, band, first, rows, scratch);
	}
	/* The queue keeps it until the kernels have run. */
	clReleaseMemObject(scratch);
	return status;
}

static void run_opencl(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	struct boxfilter_band band = band_of(buffers, block);

	block->status = launch_passes(buffers, &band);
}
#endif

struct starpu_codelet boxfilter_codelet = {
    .name = "boxfilter",
    CODELET_VERSIONS(run_cpu, run_cuda, run_opencl),
    .model = CODELET_MODEL,
    .nbuffers = NBUFFERS,
    .modes = {STARPU_R, STARPU_W},
};
