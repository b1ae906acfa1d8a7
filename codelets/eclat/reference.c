/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Transaction by transaction.
 */
#include "config.h"

#include <stdbool.h>

#include "codelets/eclat/eclat.h"

static bool has(const struct eclat_class *of, const uint64_t *bits, int32_t item,
                size_t transaction)
{
	return bits[item * of->words + transaction / 64] >> transaction % 64 & 1;
}

static bool has_all(const struct eclat_class *of, const uint64_t *bits, const int32_t *items,
                    unsigned row, unsigned member, size_t transaction)
{
	for (unsigned p = 0; p < of->prefix; p++)
		if (!has(of, bits, items[p], transaction))
			return false;
	return has(of, bits, items[of->prefix + row], transaction) &&
	       has(of, bits, items[of->prefix + member], transaction);
}

size_t eclat_errors(const struct eclat_class *of, const uint64_t *bits, const int32_t *items,
                    const uint32_t *counts)
{
	size_t errors = 0;

	for (unsigned row = 0; row < of->rows; row++)
		for (unsigned m = 0; m < of->members; m++) {
			uint32_t count = 0;

			for (size_t t = 0; t < 64 * of->words && m > row; t++)
				count += has_all(of, bits, items, row, m, t);
			errors += counts[(size_t)row * of->members + m] != count;
		}
	return errors;
}
