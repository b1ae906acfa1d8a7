/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loads the codelets' programs for OpenCL devices and FPGAs, and their CUDA kernels, before the
 * first loop.
 */
#ifndef CODELETS_PROGRAMS_H
#define CODELETS_PROGRAMS_H

/** Compiles the OpenCL version of a codelet for the OpenCL workers, reads its designs for FPGAs,
 * and loads all CUDA kernels, so that no block waits for that. Call it between starpu_init() and
 * the first loop; it does nothing where there is no such worker.
 * @param name the codelet's folder; NULL: all codelets.
 * @return 0; -EIO after a message. */
int codelets_load(const char *name);

/** Whether the FPGAs, if there are any, can run a codelet; after codelets_load(). An FPGA without
 * a design stays idle.
 * @return 0; -ENODEV after a message that says how to get a design. */
int codelets_need_design(const char *name);

/** Frees what codelets_load() made. Call it before starpu_shutdown(). */
void codelets_unload(void);

#endif
