/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Increments every element of a vector several times: the ratio of work to transfers is a
 * parameter (the vector incrementer of Teodoro et al., HPDC 2010, section 6.2, has six passes).
 * Overflow wraps.
 */
#ifndef CODELETS_VECINC_H
#define CODELETS_VECINC_H

#include <stddef.h>
#include <stdint.h>

#include "codelets/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Adds 1 to each of n values, `passes` times; every pass reads and writes them. */
void vecinc_cpu(enum codelet_isa isa, size_t n, unsigned passes, uint32_t *values);

/** Number of values that are not from + passes. */
size_t vecinc_errors(size_t n, unsigned passes, uint32_t from, const uint32_t *values);

/** Launches the CUDA version on device memory; returns without waiting.
 * @param stream a cudaStream_t
 * @return 0, or -EIO when the launch was refused. */
int vecinc_cuda(void *stream, size_t n, unsigned passes, uint32_t *values);

/** The codelet: a vector of uint32_t (read and written). Its cl_arg is a struct
 * heddle_block (n: values of the task, total: all) whose arg points to the
 * passes, an unsigned. */
extern struct starpu_codelet vecinc_codelet;
/** Its OpenCL program, where this build has OpenCL. */
extern struct codelet_program vecinc_program;

#ifdef __cplusplus
}
#endif
#endif
