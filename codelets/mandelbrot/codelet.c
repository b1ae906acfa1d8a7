/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelet for StarPU: a loop over the rows of an image.
 */
#include "config.h"

#include <starpu.h>

#include "codelets/codelet.h"
#include "codelets/mandelbrot/mandelbrot.h"

static void run_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;

	mandelbrot_cpu(codelet_isa_best(), block->arg, block->start, block->n,
	               (unsigned char *)STARPU_MATRIX_GET_PTR(buffers[0]),
	               STARPU_MATRIX_GET_LD(buffers[0]));
}

#ifdef HEDDLE_USE_CUDA
static void run_cuda(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;

	block->status = mandelbrot_cuda(
	    starpu_cuda_get_local_stream(), block->arg, block->start, block->n,
	    (unsigned char *)STARPU_MATRIX_GET_PTR(buffers[0]), STARPU_MATRIX_GET_LD(buffers[0]));
}
#endif

#ifdef HEDDLE_USE_OPENCL
struct codelet_program mandelbrot_program = {.source =
#include "codelets/mandelbrot/opencl.clh"
};

static void run_opencl(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	const struct mandelbrot_view *view = block->arg;
	const size_t local[] = {64, 1};
	size_t global[] = {(view->width + 63) / 64 * 64, block->n};
	struct codelet_launch launch;

	codelet_launch_begin(&mandelbrot_program, "mandelbrot", &launch);
	codelet_launch_argument(&launch, sizeof(view->left), &view->left);
	codelet_launch_argument(&launch, sizeof(view->top), &view->top);
	codelet_launch_argument(&launch, sizeof(view->step), &view->step);
	codelet_launch_uint(&launch, view->limit);
	codelet_launch_ulong(&launch, view->width);
	codelet_launch_ulong(&launch, block->start);
	codelet_launch_ulong(&launch, block->n);
	codelet_launch_matrix(&launch, buffers[0]);
	codelet_launch_ulong(&launch, STARPU_MATRIX_GET_LD(buffers[0]));
	block->status = codelet_launch_end(&launch, 2, global, local);
}
#endif

struct starpu_codelet mandelbrot_codelet = {
    .name = "mandelbrot",
    CODELET_VERSIONS(run_cpu, run_cuda, run_opencl),
    .model = CODELET_MODEL,
    .nbuffers = 1,
    .modes = {STARPU_W},
};
