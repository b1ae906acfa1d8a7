/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Heddle: loops and scheduling policies for all processors of a machine.
 *
 * This header includes every public header but heddle/mpi.h (loops over the ranks of MPI programs):
 * - heddle/loop.h: loops of independent iterations
 * - heddle/wavefront.h: loops whose iterations depend on each other
 * - heddle/stream.h: filters and streams, for work that appears while other work is done
 * - heddle/kernel.h: one OpenCL kernel on several devices
 * - heddle/strategy.h: block strategies, which set the sizes of blocks
 * - heddle/estimate.h: estimates of task times
 * - heddle/memory.h: memory for the arrays of loops
 * - heddle/clock.h: the clock for simulated devices
 * - heddle/policy.h: scheduling policies for any StarPU program
 *
 * Start with heddle_loop_run().
 */
#ifndef HEDDLE_HEDDLE_H
#define HEDDLE_HEDDLE_H

#include <heddle/strategy.h>
#include <heddle/stream.h>
#include <heddle/clock.h>
#include <heddle/dependence.h>
#include <heddle/estimate.h>
#include <heddle/kernel.h>
#include <heddle/kind.h>
#include <heddle/loop.h>
#include <heddle/memory.h>
#include <heddle/policy.h>
#include <heddle/wavefront.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @page rules Rules for all functions
 *
 * - A function that can fail returns 0 or a negative errno value, unless its description says
 *   otherwise. Output arguments come last. A function sets them only on success.
 * - Times are in microseconds. Sizes are in iterations or bytes, as their description says.
 * - A message on standard error explains every refusal. HEDDLE_VERBOSE=0 turns messages off.
 *   heddle_message_take() has the text in any case. -ENOMEM may come without a message.
 * - Any number of threads may call functions at the same time, but not with the same object (a
 *   request, a strategy at work), unless a description says otherwise.
 * - No thread may change the environment during a call: functions read the variables of
 *   doc/variables.md.
 * - Fill structures with zeros before you set their fields. A field that has a default has it
 *   as 0 or NULL. Fields of later versions keep to this.
 * - Until version 1.0, structures may grow with every minor version. The library then gets
 *   another name (SONAME), and programs must be compiled again.
 */

#define HEDDLE_VERSION_MAJOR 0 /**< major version of these headers */
#define HEDDLE_VERSION_MINOR 1 /**< minor version of these headers */
#define HEDDLE_VERSION_PATCH 0 /**< patch level of these headers */

/** Returns the version of the library in use. Any thread may call it at any time.
 * @return "MAJOR.MINOR.PATCH", a constant string */
const char *heddle_version(void);

/** Checks whether the StarPU of this process is the build that Heddle was built with. Builds
 * of StarPU have the same SONAME, but their structures may differ, so that another build would
 * corrupt memory. Functions that need StarPU call it themselves. Any thread may call it at any
 * time.
 * @return 0; -ENOEXEC if it is another build, after a message that names both (in a process,
 * only the first call prints it) */
int heddle_starpu_check(void);

/** Returns the message of this thread's last refusal, once, as dlerror() does. Call it after a
 * function has failed, and before the function if earlier refusals do not count. What fails on a
 * worker while a loop, a wavefront or a kernel runs is a refusal of the thread that waits for it.
 * Any thread may call it at any time.
 * @return one line or more, without "heddle: " and the end of the line, valid until the thread's
 * next call of a function of Heddle; NULL: nothing was refused since the last call */
const char *heddle_message_take(void);

/** What programs must know of the library that were not compiled with its headers: a foreign
 * function interface declares structures by itself, and their sizes depend on the StarPU that the
 * library was built with. */
struct heddle_abi {
	size_t abi_bytes; /**< size of this structure; later versions may have more fields */
	unsigned soname;  /**< the number in the library's SONAME, libheddle.so.SONAME */
	unsigned
	    maxhandles; /**< HEDDLE_LOOP_MAXHANDLES: entries of accesses in struct heddle_loop */
	unsigned maxworkers;          /**< STARPU_NMAXWORKERS: entries of workers in statistics */
	size_t block_bytes;           /**< size of struct heddle_block */
	size_t access_bytes;          /**< size of struct heddle_access */
	size_t loop_bytes;            /**< size of struct heddle_loop */
	size_t loop_stats_bytes;      /**< size of struct heddle_loop_stats */
	size_t kernel_argument_bytes; /**< size of struct heddle_kernel_argument */
	size_t kernel_bytes;          /**< size of struct heddle_kernel */
	size_t kernel_stats_bytes;    /**< size of struct heddle_kernel_stats */
};

/** Returns limits of the library and sizes of its structures. Any thread may call it at any time.
 * @return a constant */
const struct heddle_abi *heddle_abi_get(void);

#ifdef __cplusplus
}
#endif
#endif
