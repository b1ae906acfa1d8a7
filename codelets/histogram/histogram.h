/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Counts the values of bytes. Counters have 64 bits, so that no amount of data overflows them.
 * An iteration of the loop is a piece of HISTOGRAM_PIECE bytes, one element of a vector: StarPU's
 * 32-bit numbers of elements suffice for 16 TiB. The app pads the last piece with zero bytes, and
 * subtracts them from the result.
 */
#ifndef CODELETS_HISTOGRAM_H
#define CODELETS_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "codelets/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HISTOGRAM_BINS 256
#define HISTOGRAM_PIECE 4096

/** Adds n bytes to the counters. */
void histogram_cpu(size_t n, const unsigned char *bytes, uint64_t counters[HISTOGRAM_BINS]);

/** The same, one byte after the other. */
void histogram_reference(size_t n, const unsigned char *bytes, uint64_t counters[HISTOGRAM_BINS]);

/** Adds to counters: combines the results of two blocks. */
void histogram_combine(void *into, const void *from, size_t bytes, void *arg);

/** Launches the CUDA version on device memory; returns without waiting.
 * @param stream a cudaStream_t
 * @return 0, or -EIO when the launch was refused. */
int histogram_cuda(void *stream, size_t n, const unsigned char *bytes,
                   uint64_t counters[HISTOGRAM_BINS]);

/** The codelet: a vector of pieces (read), a vector of HISTOGRAM_BINS uint64_t (added to).
 * It needs no arg. */
extern struct starpu_codelet histogram_codelet;
/** Its OpenCL program, where this build has OpenCL. */
extern struct codelet_program histogram_program;

#ifdef __cplusplus
}
#endif
#endif
