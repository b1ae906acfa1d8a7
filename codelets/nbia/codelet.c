/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelet for StarPU: a task for a tile.
 */
#include "config.h"

#include <errno.h>
#include <starpu.h>
#include <heddle/stream.h>

#include "codelets/codelet.h"
#include "codelets/nbia/nbia.h"

enum { TILE, TABLES, SUMMARY, NBUFFERS };

static void run_cpu(void *buffers[], void *arg)
{
	nbia_cpu(codelet_isa_best(), (const nbia_u32 *)STARPU_VECTOR_GET_PTR(buffers[TABLES]),
	         STARPU_MATRIX_GET_NY(buffers[TILE]), STARPU_MATRIX_GET_LD(buffers[TILE]),
	         (const unsigned char *)STARPU_MATRIX_GET_PTR(buffers[TILE]),
	         (struct nbia_summary *)STARPU_VARIABLE_GET_PTR(buffers[SUMMARY]));
}

#ifdef HEDDLE_USE_CUDA
static void run_cuda(void *buffers[], void *arg)
{
	struct heddle_event *event = arg;

	event->status =
	    nbia_cuda(starpu_cuda_get_local_stream(),
	              (const nbia_u32 *)STARPU_VECTOR_GET_PTR(buffers[TABLES]),
	              STARPU_MATRIX_GET_NY(buffers[TILE]), STARPU_MATRIX_GET_LD(buffers[TILE]),
	              (const unsigned char *)STARPU_MATRIX_GET_PTR(buffers[TILE]),
	              (struct nbia_summary *)STARPU_VARIABLE_GET_PTR(buffers[SUMMARY]));
}
#endif

#ifdef HEDDLE_USE_OPENCL
struct codelet_program nbia_program = {.source =
#include "codelets/nbia/pixel.clh"
#include "codelets/nbia/opencl.clh"
};

static int count_tile(void *buffers[], cl_mem total)
{
	/* COLUMNS and ROWS as in the kernel. */
	const size_t columns = 32, rows = 16, items = 64;
	size_t size = STARPU_MATRIX_GET_NY(buffers[TILE]);
	const size_t local[] = {items, 1};
	size_t global[] = {(size + columns - 1) / columns * items, (size + rows - 1) / rows};
	struct codelet_launch launch;

	codelet_launch_begin(&nbia_program, "count_tile", &launch);
	codelet_launch_uint(&launch, size);
	codelet_launch_ulong(&launch, STARPU_MATRIX_GET_LD(buffers[TILE]));
	codelet_launch_matrix(&launch, buffers[TILE]);
	codelet_launch_vector(&launch, buffers[TABLES]);
	codelet_launch_argument(&launch, sizeof(total), &total);
	return codelet_launch_end(&launch, 2, global, local);
}

static int summarise(void *buffers[], cl_mem total)
{
	const size_t items = NBIA_CHANNELS * NBIA_LEVELS;
	struct codelet_launch launch;

	codelet_launch_begin(&nbia_program, "summarise", &launch);
	codelet_launch_argument(&launch, sizeof(total), &total);
	codelet_launch_buffer(&launch, STARPU_VARIABLE_GET_DEV_HANDLE(buffers[SUMMARY]),
	                      STARPU_VARIABLE_GET_OFFSET(buffers[SUMMARY]));
	return codelet_launch_end(&launch, 1, &items, &items);
}

static int launch_kernels(void *buffers[])
{
	static const cl_uint zeros[NBIA_COUNTERS];
	int device = starpu_worker_get_devid(starpu_worker_get_id_check()), status = -EIO;
	cl_command_queue queue;
	cl_context context;
	cl_mem total;
	cl_int error;

	starpu_opencl_get_context(device, &context);
	starpu_opencl_get_queue(device, &queue);
	total = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(zeros), NULL, &error);
	if (error != CL_SUCCESS)
		return -ENOMEM;
	if (clEnqueueWriteBuffer(queue, total, CL_FALSE, 0, sizeof(zeros), zeros, 0, NULL, NULL) ==
	    CL_SUCCESS)
		status = count_tile(buffers, total);
	if (!status)
		status = summarise(buffers, total);
	/* The queue keeps it until the kernels have run. */
	clReleaseMemObject(total);
	return status;
}

static void run_opencl(void *buffers[], void *arg)
{
	struct heddle_event *event = arg;

	event->status = launch_kernels(buffers);
}
#endif

#ifdef HEDDLE_USE_SIMGRID
/* On a tile of 32 x 32 pixels an accelerator is as fast as a core, because of launches and
 * copies (HPDC 2010, section 6.1, Figure 6). This model adds that time to every tile. An
 * iteration of the platform is a pixel. */
#define EQUAL_TILE (32 * 32)

static double simulated_us(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                           unsigned implementation)
{
	static struct heddle_platform plain;
	const struct heddle_platform *platform = heddle_platform_current();
	size_t size = starpu_matrix_get_ny(STARPU_TASK_GET_HANDLE(task, TILE));
	int device = arch->devices[0].type == STARPU_CPU_WORKER ? HEDDLE_PLATFORM_CORE
	                                                        : arch->devices[0].devid;
	double us, core;

	if (!platform) {
		if (!plain.ncpus && heddle_platform_parse("1cpu+16gpu10", &plain))
			return 1;
		platform = &plain;
	}
	if (device >= (int)platform->naccelerators)
		device = platform->naccelerators - 1;
	us = heddle_platform_block_us(platform, device, size * size, size * size, 0);
	core = heddle_platform_block_us(platform, HEDDLE_PLATFORM_CORE, EQUAL_TILE, EQUAL_TILE, 0);
	if (device != HEDDLE_PLATFORM_CORE && platform->accelerators[device].speed > 1)
		us += core * (1 - 1 / platform->accelerators[device].speed);
	return us;
}

static struct starpu_perfmodel simulated = {
    .type = STARPU_PER_ARCH,
    .symbol = "heddle_nbia_simulated",
    .arch_cost_function = simulated_us,
};
#define MODEL (&simulated)
#else
#define MODEL NULL
#endif

struct starpu_codelet nbia_codelet = {
    .name = "nbia",
    CODELET_VERSIONS(run_cpu, run_cuda, run_opencl),
    .model = MODEL,
    .nbuffers = NBUFFERS,
    .modes = {STARPU_R, STARPU_R, STARPU_W},
};
