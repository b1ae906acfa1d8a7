/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelet for StarPU: a loop over options.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <starpu.h>

#include "codelets/blackscholes/blackscholes.h"
#include "codelets/codelet.h"

enum { SPOT, STRIKE, YEARS, CALL, PUT, NBUFFERS };

static void *vector(void *buffers[], int which)
{
	return (void *)STARPU_VECTOR_GET_PTR(buffers[which]);
}

static void run_cpu(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	bool stream = blackscholes_stream_pays(block->total);

	(stream ? blackscholes_cpu_stream : blackscholes_cpu)(
	    codelet_isa_best(), block->arg, STARPU_VECTOR_GET_NX(buffers[SPOT]),
	    vector(buffers, SPOT), vector(buffers, STRIKE), vector(buffers, YEARS),
	    vector(buffers, CALL), vector(buffers, PUT));
}

#ifdef HEDDLE_USE_CUDA
static void run_cuda(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;

	block->status = blackscholes_cuda(
	    starpu_cuda_get_local_stream(), block->arg, STARPU_VECTOR_GET_NX(buffers[SPOT]),
	    vector(buffers, SPOT), vector(buffers, STRIKE), vector(buffers, YEARS),
	    vector(buffers, CALL), vector(buffers, PUT));
}
#endif

#ifdef HEDDLE_USE_OPENCL
struct codelet_program blackscholes_program = {.source =
#include "codelets/blackscholes/opencl.clh"
};

/* codelets/blackscholes/fpga.v fails for options beyond its range; a market beyond its range is
 * refused here. */
static void run_fpga(void *buffers[], struct heddle_block *block)
{
	const struct blackscholes_market *market = block->arg;
	double r = market->rate, v = market->volatility;
	cl_ulong n = STARPU_VECTOR_GET_NX(buffers[SPOT]);
	struct codelet_launch launch;

	if (!(r >= 0 && r < 0.25 && v >= 0.0625 && v <= 1)) {
		block->status = -EDOM;
		return;
	}
	cl_uint registers[] = {lrint(r * 0x1p34), lrint(v * 0x1p28),
	                       lrint((r + v * v / 2) * 0x1p30), lrint(0x1p26 / v)};

	codelet_launch_begin(&blackscholes_program, "blackscholes", &launch);
	for (int i = 0; i < 4; i++)
		codelet_launch_argument(&launch, sizeof(registers[i]), &registers[i]);
	codelet_launch_ulong(&launch, n);
	for (int b = 0; b < NBUFFERS; b++)
		codelet_launch_vector(&launch, buffers[b]);
	block->status = codelet_launch_end_fpga(&launch);
}

static void run_opencl(void *buffers[], void *arg)
{
	const size_t local = 128;
	struct heddle_block *block = arg;
	const struct blackscholes_market *market = block->arg;
	cl_ulong n = STARPU_VECTOR_GET_NX(buffers[SPOT]);
	size_t global = (n + local - 1) / local * local;
	struct codelet_launch launch;

	if (codelet_on_fpga()) {
		run_fpga(buffers, block);
		return;
	}
	codelet_launch_begin(&blackscholes_program, "blackscholes", &launch);
	codelet_launch_argument(&launch, sizeof(float), &market->rate);
	codelet_launch_argument(&launch, sizeof(float), &market->volatility);
	codelet_launch_ulong(&launch, n);
	for (int b = 0; b < NBUFFERS; b++)
		codelet_launch_vector(&launch, buffers[b]);
	block->status = codelet_launch_end(&launch, 1, &global, &local);
}
#endif

struct starpu_codelet blackscholes_codelet = {
    .name = "blackscholes",
    CODELET_VERSIONS(run_cpu, run_cuda, run_opencl),
    .model = CODELET_MODEL,
    .nbuffers = NBUFFERS,
    .modes = {STARPU_R, STARPU_R, STARPU_R, STARPU_W, STARPU_W},
};
