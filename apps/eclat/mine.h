/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Finds frequent item sets: a task counts the pairs of an equivalence class, or of some rows of a
 * large one. Each row's frequent pairs are the next class.
 */
#ifndef APPS_ECLAT_MINE_H
#define APPS_ECLAT_MINE_H

#include <heddle/loop.h>

#include "apps/eclat/sets.h"

struct miner;

struct miner_options {
	uint32_t support; /**< 1 or more */
	unsigned longest; /**< most items of a set; 0: any number */
	size_t pairs;     /**< about so many at most in a task */
	const int *workers;
	unsigned nworkers; /**< 0: all */
};

/** @param bits of baskets_bits(), in heddle_malloc()'s memory; stays the caller's
 * @param words of an item
 * @return 0; -ENOMEM after a message. */
int miner_make(const struct miner_options *options, const struct frequent *frequent,
               const uint64_t *bits, size_t words, struct miner **miner);
/** NULL: nothing. */
void miner_free(struct miner *miner);

/** Finds all sets, after miner_forget(). @return 0; -errno after a message. */
int miner_run(struct miner *miner, struct heddle_loop_stats *stats);
void miner_forget(struct miner *miner);
const struct sets *miner_sets(const struct miner *miner);

#endif
