/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One OpenCL kernel over all OpenCL devices.
 *
 * An ordinary kernel, its NDRange and its arguments are given as for
 * clEnqueueNDRangeKernel(), with host memory or StarPU handles in place of buffers.
 * Under the policy `skmd` each device of StarPU's OpenCL workers computes a range of the
 * work-groups, is sent what that range reads, and what it wrote is put together in main
 * memory. The shares come from how long each device takes for how many groups, which a
 * short dry run tells the first time and every launch afterwards, also of later runs, and
 * from what the transfers cost (J. Lee, M. Samadi, Y. Park and S. Mahlke, "Transparent CPU-GPU
 * collaboration for data-parallel kernels on heterogeneous systems", PACT 2013).
 *
 * Start with heddle_kernel_run(), or heddle_kernel_submit() to go on meanwhile.
 *
 * A kernel is one node of StarPU's task graph: tasks submitted before it that write its
 * handles come first, tasks submitted later see its results. Where nothing else is under way, the
 * thread that submits it enqueues the largest part itself (HEDDLE_KERNEL_DIRECT). What cannot be
 * split (atomic operations on global memory, printf, one array as two arguments, and all that is
 * not analysed: doc/kernels.md) runs on one device; HEDDLE_VERBOSE=2 says why.
 */
#ifndef HEDDLE_KERNEL_H
#define HEDDLE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <starpu.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_KERNEL_MAXARGUMENTS 24

enum heddle_kernel_argument_type {
	HEDDLE_KERNEL_HANDLE = 1, /**< a buffer: a vector, variable or matrix without gaps */
	HEDDLE_KERNEL_HOST,       /**< a buffer: host memory that nobody else uses meanwhile */
	HEDDLE_KERNEL_VALUE,      /**< by value; copied when the kernel is submitted */
	HEDDLE_KERNEL_LOCAL       /**< local memory */
};

struct heddle_kernel_argument {
	enum heddle_kernel_argument_type type;
	starpu_data_handle_t handle;
	enum starpu_data_access_mode mode; /**< of a buffer: STARPU_R, W or RW (0: RW). One that is
	                                         only read is never fetched back; of one that
	                                         is only written, what the kernel leaves out
	                                         is undefined afterwards */
	void *pointer;                     /**< host memory, or the value */
	size_t bytes;                      /**< of host memory, the value or local memory */
};

/** Whether the kernel is split. */
enum heddle_kernel_split {
	HEDDLE_KERNEL_BY_POLICY, /**< skmd: in shares; policies that are block strategies (hdss
	                              ...): in blocks, as a loop; others place it whole */
	HEDDLE_KERNEL_ALWAYS,    /**< in shares, where that can be, whatever the policy */
	HEDDLE_KERNEL_NEVER
};

/** A kernel to be launched. Zero-initialise, then fill in; it is copied by submit. */
struct heddle_kernel {
	const char *source;  /**< OpenCL C */
	const char *name;    /**< of the kernel in it */
	const char *options; /**< for the compiler, NULL: none */
	unsigned dimensions; /**< 1 to 3 */
	size_t global[3];    /**< work-items; multiples of local */
	size_t local[3];     /**< work-items of a group */
	unsigned narguments;
	struct heddle_kernel_argument arguments[HEDDLE_KERNEL_MAXARGUMENTS];
	enum heddle_kernel_split split;
	const char *method; /**< how shares are chosen: heddle (also NULL), paper, linear or single,
	                         as in `heddle plan split` */
	const int *workers; /**< StarPU's ids of the OpenCL workers that may take part; an unsplit
	                         kernel runs on the first */
	unsigned nworkers;  /**< entries of workers; 0: all OpenCL workers */
};

/** What one worker did. Where it is settled that one device computes everything, its steps
 * are not watched: all of them count as computing. */
struct heddle_kernel_worker_stats {
	int id; /**< StarPU's */
	char name[64];
	size_t groups;   /**< work-groups computed */
	double start_us; /**< when it began with the first of them, since the launch began */
	double in_us;    /**< sending what they read */
	double compute_us;
	double out_us;   /**< fetching what they wrote, and merging it */
	double merge_us; /**< of it: merging */
	size_t in_bytes, out_bytes;
};

/** What a launch did. */
struct heddle_kernel_stats {
	double queue_us;     /**< from submission to when its data was there and it began */
	double us;           /**< from then to when its results were there */
	double predicted_us; /**< by the tables, when the shares were chosen; 0: not split */
	double profile_us;   /**< of `us`: the dry run, at a first launch */
	double decision_us;  /**< of `us`: choosing the shares */
	size_t groups;       /**< work-groups of the launch */
	size_t moved;        /**< of them: computed by another device since the first failed */
	unsigned nworkers;   /**< entries of workers; others are left as they were */
	struct heddle_kernel_worker_stats workers[STARPU_NMAXWORKERS];
};

/** A launch on its way. */
struct heddle_kernel_request;

/** Starts a kernel and returns at once. Between starpu_init() and starpu_shutdown().
 * @param[out] request to be given to heddle_kernel_wait(); NULL: not wanted, then
 * starpu_task_wait_for_all() or a later task on the data tells the end
 * @return 0; -EINVAL for a launch that makes no sense (sizes, arguments that the kernel
 * does not take, arrays that overlap in part); -ENODEV where there is no OpenCL worker;
 * -ENOMEM; -ENOEXEC (heddle_starpu_check()). A message says which. */
int heddle_kernel_submit(const struct heddle_kernel *kernel,
                         struct heddle_kernel_request **request);

/** Waits for a launch and frees it: once for each request. Not from a task, callback or
 * kernel.
 * @param[out] stats NULL: not wanted
 * @return 0; -EIO when the kernel failed on every device, also where it does not compile
 * (a message has the compiler's words); -ENOMEM. The contents of what it writes are
 * undefined then. */
int heddle_kernel_wait(struct heddle_kernel_request *request, struct heddle_kernel_stats *stats);

/** heddle_kernel_submit() and heddle_kernel_wait(). */
int heddle_kernel_run(const struct heddle_kernel *kernel, struct heddle_kernel_stats *stats);

/** How the parts of a buffer that different ranges of groups touch lie to each other:
 * CONTIGUOUS, SLAB, HALO, RECT, BROADCAST, WHOLE (not understood) or UNUSED; doc/kernels.md
 * explains them. Writes of a buffer given as STARPU_R are UNUSED, and so is what is no buffer. */
struct heddle_kernel_access {
	const char *read, *write;
};

/** Tells what the analysis finds out about a kernel; nothing is launched.
 * @param[out] accesses one for each argument
 * @param[out] refusal why the kernel runs on one device, until heddle_kernels_unload(); or
 * NULL. Need not be wanted
 * @return as heddle_kernel_submit() */
int heddle_kernel_classes(const struct heddle_kernel *kernel, struct heddle_kernel_access *accesses,
                          const char **refusal);

/** Frees what is kept from launch to launch: compiled programs, memory on the devices,
 * what was learned. Before starpu_shutdown(), when no launch is under way. */
void heddle_kernels_unload(void);

#ifdef __cplusplus
}
#endif
#endif
