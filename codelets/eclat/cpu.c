/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A tile of transactions at a time, so that what a row has in common with the prefix stays in the
 * cache while all members are compared with it, and the members' bits while all rows are.
 */
#include "config.h"

#include <string.h>

#include "codelets/eclat/eclat.h"

#define TILE 512

/* What the prefix and a member have in common, of `n` words from `first` on. */
ISA_BODY void tile_common(const struct eclat_class *of, const uint64_t *bits, const int32_t *items,
                          unsigned row, size_t first, size_t n, uint64_t *common)
{
	memcpy(common, bits + items[of->prefix + row] * of->words + first, n * sizeof(*common));
	for (unsigned p = 0; p < of->prefix; p++) {
		const uint64_t *other = bits + items[p] * of->words + first;

		for (size_t w = 0; w < n; w++)
			common[w] &= other[w];
	}
}

ISA_BODY uint32_t tile_count(const uint64_t *a, const uint64_t *b, size_t n)
{
	uint32_t count = 0;

	for (size_t w = 0; w < n; w++)
		count += __builtin_popcountll(a[w] & b[w]);
	return count;
}

ISA_BODY void pairs_body(const struct eclat_class *of, const uint64_t *bits, const int32_t *items,
                         uint32_t *counts)
{
	const int32_t *members = items + of->prefix;
	uint64_t common[TILE];

	memset(counts, 0, (size_t)of->rows * of->members * sizeof(*counts));
	for (size_t first = 0; first < of->words; first += TILE) {
		size_t n = of->words - first < TILE ? of->words - first : TILE;

		for (unsigned row = 0; row < of->rows; row++) {
			tile_common(of, bits, items, row, first, n, common);
			for (unsigned m = row + 1; m < of->members; m++)
				counts[(size_t)row * of->members + m] +=
				    tile_count(common, bits + members[m] * of->words + first, n);
		}
	}
}

ISA_VARIANTS(pairs,
             (const struct eclat_class *of, const uint64_t *bits, const int32_t *items,
              uint32_t *counts),
             (of, bits, items, counts));

void eclat_cpu(enum codelet_isa isa, const struct eclat_class *of, const uint64_t *bits,
               const int32_t *items, uint32_t *counts)
{
	pairs_variants[isa](of, bits, items, counts);
}
