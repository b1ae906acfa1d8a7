/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelet for StarPU: a loop over pieces of bytes.
 */
#include "config.h"

#include <starpu.h>

#include "codelets/codelet.h"
#include "codelets/histogram/histogram.h"

enum { BYTES, COUNTERS, NBUFFERS };

static size_t size(void *buffers[])
{
	return (size_t)STARPU_VECTOR_GET_NX(buffers[BYTES]) *
	       STARPU_VECTOR_GET_ELEMSIZE(buffers[BYTES]);
}

static void run_cpu(void *buffers[], void *arg)
{
	histogram_cpu(size(buffers), (const unsigned char *)STARPU_VECTOR_GET_PTR(buffers[BYTES]),
	              (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[COUNTERS]));
}

#ifdef HEDDLE_USE_CUDA
static void run_cuda(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;

	block->status = histogram_cuda(starpu_cuda_get_local_stream(), size(buffers),
	                               (const unsigned char *)STARPU_VECTOR_GET_PTR(buffers[BYTES]),
	                               (uint64_t *)STARPU_VECTOR_GET_PTR(buffers[COUNTERS]));
}
#endif

#ifdef HEDDLE_USE_OPENCL
struct codelet_program histogram_program = {.source =
#include "codelets/histogram/opencl.clh"
};

/* codelets/histogram/fpga.v */
static void run_fpga(void *buffers[], struct heddle_block *block)
{
	cl_ulong n = size(buffers);
	struct codelet_launch launch;

	codelet_launch_begin(&histogram_program, "histogram", &launch);
	codelet_launch_ulong(&launch, n);
	for (int b = 0; b < NBUFFERS; b++)
		codelet_launch_vector(&launch, buffers[b]);
	block->status = codelet_launch_end_fpga(&launch);
}

static void run_opencl(void *buffers[], void *arg)
{
	const size_t local = 128, max_groups = 1024;
	struct heddle_block *block = arg;
	cl_ulong n = size(buffers);
	size_t groups = n / (64 * local) + 1;
	size_t global = (groups < max_groups ? groups : max_groups) * local;
	struct codelet_launch launch;

	if (codelet_on_fpga()) {
		run_fpga(buffers, block);
		return;
	}
	codelet_launch_begin(&histogram_program, "histogram", &launch);
	codelet_launch_ulong(&launch, n);
	for (int b = 0; b < NBUFFERS; b++)
		codelet_launch_vector(&launch, buffers[b]);
	block->status = codelet_launch_end(&launch, 1, &global, &local);
}
#endif

struct starpu_codelet histogram_codelet = {
    .name = "histogram",
    CODELET_VERSIONS(run_cpu, run_cuda, run_opencl),
    .model = CODELET_MODEL,
    .nbuffers = NBUFFERS,
    .modes = {STARPU_R, STARPU_RW},
};
