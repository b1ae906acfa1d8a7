/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelet for StarPU: a task for a part of a vector.
 */
#include "config.h"

#include <starpu.h>

#include "codelets/codelet.h"
#include "codelets/vecinc/vecinc.h"

static unsigned passes(const struct heddle_block *block)
{
	return *(const unsigned *)block->arg;
}

static void run_cpu(void *buffers[], void *arg)
{
	vecinc_cpu(codelet_isa_best(), STARPU_VECTOR_GET_NX(buffers[0]), passes(arg),
	           (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]));
}

#ifdef HEDDLE_USE_CUDA
static void run_cuda(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;

	block->status =
	    vecinc_cuda(starpu_cuda_get_local_stream(), STARPU_VECTOR_GET_NX(buffers[0]),
	                passes(block), (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]));
}
#endif

#ifdef HEDDLE_USE_OPENCL
struct codelet_program vecinc_program = {.source =
#include "codelets/vecinc/opencl.clh"
};

static void run_opencl(void *buffers[], void *arg)
{
	const size_t local = 128;
	struct heddle_block *block = arg;
	cl_ulong n = STARPU_VECTOR_GET_NX(buffers[0]);
	size_t global = (n + local - 1) / local * local;
	struct codelet_launch launch;

	codelet_launch_begin(&vecinc_program, "vecinc", &launch);
	codelet_launch_ulong(&launch, n);
	codelet_launch_uint(&launch, passes(block));
	codelet_launch_vector(&launch, buffers[0]);
	block->status = codelet_launch_end(&launch, 1, &global, &local);
}
#endif

struct starpu_codelet vecinc_codelet = {
    .name = "vecinc",
    CODELET_VERSIONS(run_cpu, run_cuda, run_opencl),
    .model = CODELET_MODEL,
    .nbuffers = 1,
    .modes = {STARPU_RW},
};
