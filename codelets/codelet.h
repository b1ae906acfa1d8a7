/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Helpers of the files codelets/NAME/codelet.c: the versions that this build links, and the
 * launch of an OpenCL kernel.
 */
#ifndef CODELETS_CODELET_H
#define CODELETS_CODELET_H

#include <stdbool.h>
#include <stddef.h>
#include <starpu.h>
#ifdef HEDDLE_USE_OPENCL
#include <starpu_opencl.h>
#endif

#include <heddle/loop.h>

#include "estimator/platform_starpu.h"

/** Makes StarPU run tasks on a simulated worker; never called. */
void codelet_simulated(void *buffers[], void *arg);

/* A version for accelerators, where this build links it. */
#if defined(HEDDLE_USE_CUDA)
#define CODELET_CUDA(function) function
#elif defined(HEDDLE_USE_SIMGRID)
#define CODELET_CUDA(function) codelet_simulated
#else
#define CODELET_CUDA(function) NULL
#endif
#if defined(HEDDLE_USE_OPENCL)
#define CODELET_OPENCL(function) function
#elif defined(HEDDLE_USE_SIMGRID)
#define CODELET_OPENCL(function) codelet_simulated
#else
#define CODELET_OPENCL(function) NULL
#endif

/** The fields of struct starpu_codelet for the versions, which return without waiting for the
 * device. */
#define CODELET_VERSIONS(cpu, cuda, opencl)                                                        \
	.cpu_funcs = {cpu}, .cuda_funcs = {CODELET_CUDA(cuda)}, .cuda_flags = {STARPU_CUDA_ASYNC}, \
	.opencl_funcs = {CODELET_OPENCL(opencl)}, .opencl_flags = {STARPU_OPENCL_ASYNC}

/* The performance model: a simulated worker takes the time of a block from it. Blocks of real
 * workers are measured while the loop runs. */
#ifdef HEDDLE_USE_SIMGRID
#define CODELET_MODEL (&heddle_platform_model)
#else
#define CODELET_MODEL NULL
#endif

#ifdef HEDDLE_USE_OPENCL
/** An OpenCL program, whose source is part of the binary. */
struct codelet_program {
	const char *source;
	struct starpu_opencl_program binary; /**< set by codelets_load() */
};

/** A launch of a kernel on the calling OpenCL worker's device: begin, the arguments in their
 * order, end. The end reports the first error. */
struct codelet_launch {
	cl_kernel kernel;
	cl_command_queue queue;
	cl_uint narguments;
	cl_int error;
};

void codelet_launch_begin(struct codelet_program *program, const char *name,
                          struct codelet_launch *launch);

/** Sets the next argument, of `size` bytes. */
void codelet_launch_argument(struct codelet_launch *launch, size_t size, const void *argument);

/** Sets the next two arguments: a buffer's memory, and the offset of the buffer in it, in bytes,
 * as a ulong.
 * @param handle,offset of STARPU_VECTOR_GET_DEV_HANDLE() and STARPU_VECTOR_GET_OFFSET() */
void codelet_launch_buffer(struct codelet_launch *launch, uintptr_t handle, size_t offset);

static inline void codelet_launch_vector(struct codelet_launch *launch, void *buffer)
{
	codelet_launch_buffer(launch, STARPU_VECTOR_GET_DEV_HANDLE(buffer),
	                      STARPU_VECTOR_GET_OFFSET(buffer));
}

static inline void codelet_launch_matrix(struct codelet_launch *launch, void *buffer)
{
	codelet_launch_buffer(launch, STARPU_MATRIX_GET_DEV_HANDLE(buffer),
	                      STARPU_MATRIX_GET_OFFSET(buffer));
}

static inline void codelet_launch_uint(struct codelet_launch *launch, cl_uint value)
{
	codelet_launch_argument(launch, sizeof(value), &value);
}

static inline void codelet_launch_ulong(struct codelet_launch *launch, cl_ulong value)
{
	codelet_launch_argument(launch, sizeof(value), &value);
}

/** Of a grid of down x across blocks, an anti-diagonal's number of blocks.
 * @param[out] first the row of its first block */
static inline size_t codelet_diagonal(size_t down, size_t across, size_t diagonal, cl_uint *first)
{
	*first = diagonal < across ? 0 : diagonal - across + 1;
	return (diagonal < down ? diagonal : down - 1) - *first + 1;
}

/** Enqueues the kernel without waiting for it, and releases it.
 * @param dimensions 1 or 2
 * @param global work-items in each dimension; multiples of local
 * @return 0; -EIO after a message. */
int codelet_launch_end(struct codelet_launch *launch, unsigned dimensions, const size_t *global,
                       const size_t *local);

/** Whether the calling OpenCL worker's device is an FPGA: its kernels have other arguments. */
bool codelet_on_fpga(void);

/** codelet_launch_end() for the kernel of an FPGA, which is one work-item. Waits for the kernel,
 * because StarPU does not report the failure of an asynchronous one.
 * @return 0; -EIO after a message, and another worker computes the block. */
int codelet_launch_end_fpga(struct codelet_launch *launch);
#endif

#endif
