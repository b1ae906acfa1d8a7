/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <string.h>

#include "partition/kernel/merge.h"

/* Compared at once; memcmp() is as fast as memory on pieces of this size. */
enum { PIECE = 64 };

static size_t bytes_merge(unsigned char *into, const unsigned char *original,
                          const unsigned char *partial, size_t bytes)
{
	size_t changed = 0;

	for (size_t i = 0; i < bytes; i++)
		if (partial[i] != original[i]) {
			into[i] = partial[i];
			changed++;
		}
	return changed;
}

size_t merge_differences(void *into, const void *original, const void *partial, size_t bytes)
{
	unsigned char *to = into;
	const unsigned char *before = original, *after = partial;
	size_t changed = 0;

	for (size_t at = 0; at < bytes; at += PIECE) {
		size_t n = bytes - at < PIECE ? bytes - at : PIECE;

		if (memcmp(before + at, after + at, n))
			changed += bytes_merge(to + at, before + at, after + at, n);
	}
	return changed;
}
