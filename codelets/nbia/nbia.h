/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Texture and colour of an image tile, as in the Neuroblastoma Image Analysis System
 * (G. Teodoro et al., HPDC 2010, section 2). A task counts in one tile and returns integers (struct
 * nbia_summary, 500 bytes), so that all versions give the same bits. nbia_features() computes
 * the statistics from them on the host.
 */
#ifndef CODELETS_NBIA_H
#define CODELETS_NBIA_H

#include <stddef.h>
#include <stdint.h>

#include "codelets/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tile is converted from RGB to CIE L*a*b*. Each of the three channels, in 16 levels, has the
 * statistics of its co-occurrence matrix (R. Haralick, K. Shanmugam and I. Dinstein, IEEE
 * Transactions SMC-3(6), 1973); L* also has local binary patterns (T. Ojala, M. Pietikäinen and
 * T. Mäenpää, IEEE PAMI 24(7), 2002).
 *
 * A matrix counts the pairs of neighbours in all four directions at distance 1, so that the
 * statistics do not depend on the direction of the tissue. A pattern is the set of a pixel's eight
 * neighbours that are at least as light as the pixel; pixels on the tile's border have none. */

typedef uint32_t nbia_u32;
typedef uint64_t nbia_u64;
#ifdef __CUDACC__
#define NBIA_FUNCTION static __device__ __forceinline__
#define NBIA_CLZ(x) __clz(x)
#define NBIA_POPCOUNT(x) __popc(x)
#else
#define NBIA_FUNCTION static inline __attribute__((always_inline))
#define NBIA_CLZ(x) __builtin_clz(x)
/* Of a byte; the compiler's is a call where not every processor has the instruction. */
static inline nbia_u32 nbia_popcount(nbia_u32 x)
{
	x -= x >> 1 & 0x55;
	x = (x & 0x33) + (x >> 2 & 0x33);
	return (x + (x >> 4)) & 15;
}
#define NBIA_POPCOUNT(x) nbia_popcount(x)
#endif
#define NBIA_TABLE const nbia_u32 *
#define NBIA_COUNTS const nbia_u32 *
#include "codelets/nbia/pixel.cl"

/** Sides of tiles, pixels. */
#define NBIA_SMALLEST 4
#define NBIA_LARGEST 2048

/** Statistics of a channel, in the order of nbia_features(). */
enum nbia_statistic {
	NBIA_MEAN,        /**< of the levels */
	NBIA_VARIANCE,    /**< Haralick's f4 */
	NBIA_CONTRAST,    /**< f2 */
	NBIA_CORRELATION, /**< f3; 0 where all levels are equal */
	NBIA_ENERGY,      /**< angular second moment, f1 */
	NBIA_HOMOGENEITY, /**< inverse difference moment, f5 */
	NBIA_ENTROPY,     /**< f9, bits */
	NBIA_STATISTICS
};

/** Those of L*, a* and b*, then the share of each group of patterns. */
#define NBIA_FEATURES (NBIA_CHANNELS * NBIA_STATISTICS + NBIA_GROUPS)

/** Fills in the tables of pixel.cl. */
void nbia_tables(nbia_u32 table[NBIA_TABLE_ENTRIES]);

/** Counts a tile.
 * @param size pixels a side, NBIA_SMALLEST to NBIA_LARGEST
 * @param stride bytes from a row to the next, at least 3 size
 * @param rgb three bytes a pixel */
void nbia_cpu(enum codelet_isa isa, const nbia_u32 table[NBIA_TABLE_ENTRIES], size_t size,
              size_t stride, const unsigned char *rgb, struct nbia_summary *summary);

/** Computes the summary from the counters. */
void nbia_summarise(const nbia_u32 counters[NBIA_COUNTERS], struct nbia_summary *summary);

/** The statistics of a tile. */
void nbia_features(const struct nbia_summary *summary, double features[NBIA_FEATURES]);

/** nbia_cpu() straight from the definition: all pairs and all patterns one by one.
 * @param[out] counters NULL: not wanted */
void nbia_reference(const nbia_u32 table[NBIA_TABLE_ENTRIES], size_t size, size_t stride,
                    const unsigned char *rgb, nbia_u32 counters[NBIA_COUNTERS],
                    struct nbia_summary *summary);

/** L*, a* and b* of a pixel as the definitions say, in double precision. */
void nbia_lab_reference(const unsigned char rgb[3], double lab[3]);

/** Launches the CUDA version on device memory; returns without waiting.
 * @param stream a cudaStream_t
 * @return 0; -ENOMEM when the device has no memory for the counters, -EIO when a launch was
 * refused. */
int nbia_cuda(void *stream, const nbia_u32 *table, size_t size, size_t stride,
              const unsigned char *rgb, struct nbia_summary *summary);

/** The codelet: the tile (matrix of bytes, three times as wide as high, read), the tables
 * (vector, read), the summary (variable, written). A task's cl_arg points to a struct
 * heddle_event (heddle/stream.h), in which a version that fails stores a negative errno value. */
extern struct starpu_codelet nbia_codelet;
/** Its OpenCL program, where this build has OpenCL. */
extern struct codelet_program nbia_program;

#ifdef __cplusplus
}
#endif
#endif
