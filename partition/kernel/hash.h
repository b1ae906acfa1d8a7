/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a kernel is, in 128 bits: two FNV-1a sums of 64 bits over texts, whose ends count.
 */
#ifndef HEDDLE_KERNEL_HASH_H
#define HEDDLE_KERNEL_HASH_H

#include <stdint.h>

struct kernel_hash {
	uint64_t sums[2];
};

/** @param seed what tells apart hashes of different purposes */
static inline struct kernel_hash kernel_hash_begin(uint64_t seed)
{
	return (struct kernel_hash){{UINT64_C(0xcbf29ce484222325), seed}};
}

static inline void kernel_hash_add(struct kernel_hash *hash, const char *text)
{
	do {
		hash->sums[0] = (hash->sums[0] ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
		hash->sums[1] =
		    (hash->sums[1] ^ (unsigned char)*text) * UINT64_C(0x880355f21e6d1965);
	} while (*text++);
}

#endif
