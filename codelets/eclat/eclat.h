/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Supports of item sets, by bit vectors (M. Zaki, "Scalable Algorithms for Association Mining",
 * IEEE TKDE 12(3), 2000). Item i has a bit for each transaction: whether it has the item. Sets
 * that have all items but the last in common, their prefix, are an equivalence class. A task
 * pairs the first members of a class with all members after them: the support of each such set
 * is the number of bits that the prefix and both members have in common.
 */
#ifndef CODELETS_ECLAT_H
#define CODELETS_ECLAT_H

#include <stddef.h>
#include <stdint.h>

#include "codelets/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A class, or some of its rows: the `arg` of a block. */
struct eclat_class {
	size_t words;     /**< of 64 bits that an item has */
	unsigned prefix;  /**< number of items in common */
	unsigned members; /**< number of items, each of which is the last of a set */
	unsigned rows;    /**< so many first members are paired; 1 to members */
};

/** How many pairs there are. */
static inline size_t eclat_pairs(const struct eclat_class *of)
{
	size_t rows = of->rows;

	return rows * of->members - rows * (rows + 1) / 2;
}

/** How many rows have about so many pairs. @param members 2 or more */
static inline unsigned eclat_rows(unsigned members, size_t pairs)
{
	unsigned rows = 0;

	for (size_t sum = 0; rows + 1 < members && sum < pairs; rows++)
		sum += members - 1 - rows;
	return rows;
}

/** Counts the supports of pairs.
 * @param bits word w of item i is number i * words + w
 * @param items the prefix, then the members
 * @param[out] counts that of members r and m is number r * members + m, where r < rows and r < m;
 * others are 0 */
void eclat_cpu(enum codelet_isa isa, const struct eclat_class *of, const uint64_t *bits,
               const int32_t *items, uint32_t *counts);
/** How many counts are not those of a plain count, transaction by transaction. */
size_t eclat_errors(const struct eclat_class *of, const uint64_t *bits, const int32_t *items,
                    const uint32_t *counts);

/** The same on the current CUDA device, in device memory.
 * @param stream cudaStream_t
 * @return 0; -EIO when the launch was refused. */
int eclat_cuda(void *stream, const struct eclat_class *of, const uint64_t *bits,
               const int32_t *items, uint32_t *counts);

/** The codelet: vectors of uint64_t (bits), int32_t (items) and uint32_t (counts, written). A
 * task's argument is a struct heddle_block of `n` pairs. */
extern struct starpu_codelet eclat_codelet;
/** Its OpenCL program, where this build has OpenCL. */
extern struct codelet_program eclat_program;

#ifdef __cplusplus
}
#endif
#endif
