/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the codelets' StarPU sides share: which versions this build links, and
 * how an OpenCL kernel is launched.
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

/** Stands where a simulated worker wants a version to exist; never called. */
void codelet_simulated(void *buffers[], void *arg);

/* An entry of cuda_funcs or opencl_funcs: the version, where it is linked. */
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

/* The performance model: a simulated worker asks it how long a block takes. Real
 * ones are measured while the loop runs. */
#ifdef HEDDLE_USE_SIMGRID
#define CODELET_MODEL (&heddle_platform_model)
#else
#define CODELET_MODEL NULL
#endif

#ifdef HEDDLE_USE_OPENCL
/** A kernel on its way to the calling OpenCL worker's queue: begin, its arguments
 * in their order, end. An error on the way is remembered until the end. */
struct codelet_launch {
	cl_kernel kernel;
	cl_command_queue queue;
	cl_uint narguments;
	cl_int error;
};

void codelet_launch_begin(struct starpu_opencl_program *program, const char *name,
                          struct codelet_launch *launch);

/** The next argument, of `size` bytes. */
void codelet_launch_argument(struct codelet_launch *launch, size_t size, const void *argument);

/** The next two arguments: the memory of a task's buffer, and where in it the buffer
 * begins, in bytes, as a ulong.
 * @param handle,offset as STARPU_VECTOR_GET_DEV_HANDLE() and
 * STARPU_VECTOR_GET_OFFSET() tell them */
void codelet_launch_buffer(struct codelet_launch *launch, uintptr_t handle, size_t offset);

/** Enqueues the kernel without waiting and lets go of it.
 * @param dimensions 1 or 2
 * @param global work-items in each dimension; multiples of local
 * @return 0; -EIO after a message. */
int codelet_launch_end(struct codelet_launch *launch, unsigned dimensions, const size_t *global,
                       const size_t *local);

/** Whether the calling OpenCL worker's device is an FPGA: its kernels take arguments of
 * their own. */
bool codelet_on_fpga(void);

/** codelet_launch_end() for an FPGA's kernel, which is one work-item. Waits for it: of
 * an asynchronous one nobody would learn that it failed.
 * @return 0; -EIO after a message, and the block is another worker's. */
int codelet_launch_end_fpga(struct codelet_launch *launch);
#endif

/** Compiles the OpenCL version of a codelet for the OpenCL workers there are, so that
 * no block of a loop has to wait for the compiler. Between starpu_init() and the
 * first loop; does nothing where there is no such worker.
 * @param name the codelet's folder; NULL: all codelets.
 * @return 0; -EIO after a message. */
int codelets_load(const char *name);
/** Whether an FPGA, where there is one, can run a codelet; after codelets_load(). For users
 * who want FPGAs: without a design they stay idle, and others work.
 * @return 0; -ENODEV after a message that says how to get a design. */
int codelets_need_design(const char *name);
/** Frees what codelets_load() made. Before starpu_shutdown(). */
void codelets_unload(void);

#endif
