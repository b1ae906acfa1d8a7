/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdbool.h>

#include "window.h"

/* Without a branch an entry. */
static bool ascends_32(const uint32_t *entries, size_t n)
{
	unsigned falls = 0;

	for (size_t i = 0; i < n; i++)
		falls |= entries[i] > entries[i + 1];
	return !falls;
}

static bool ascends_64(const uint64_t *entries, size_t n)
{
	unsigned falls = 0;

	for (size_t i = 0; i < n; i++)
		falls |= entries[i] > entries[i + 1];
	return !falls;
}

size_t loop_index_wrong(const struct loop_cut *cut, size_t start, size_t n)
{
	bool ascends = cut->index_bytes == sizeof(uint32_t)
	                   ? ascends_32((const uint32_t *)cut->index + start, n)
	                   : ascends_64((const uint64_t *)cut->index + start, n);
	size_t before = 0;

	if (ascends && loop_index_at(cut, start + n) <= cut->units)
		return SIZE_MAX;
	for (size_t i = start; i <= start + n; i++) {
		size_t entry = loop_index_at(cut, i);

		if (entry < before || entry > cut->units)
			return i;
		before = entry;
	}
	return SIZE_MAX; /* it changed meanwhile */
}
