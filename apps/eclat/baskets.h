/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Transactions: files, random ones, and their bit vectors. No StarPU.
 */
#ifndef APPS_ECLAT_BASKETS_H
#define APPS_ECLAT_BASKETS_H

#include <stddef.h>
#include <stdint.h>

/** Transactions; zero-initialise. The items of one ascend and are different. */
struct baskets {
	size_t n;
	size_t *starts; /**< n + 1: the first item of each */
	int32_t *items; /**< numbers of 0 or more */
	size_t starts_room, items_room;
};

/** Random transactions, after R. Agrawal and R. Srikant, "Fast Algorithms for Mining Association
 * Rules", VLDB 1994, section 2.4.3: customers buy parts of patterns, some patterns more often than
 * others. */
struct baskets_shape {
	size_t n;
	unsigned items;        /**< different ones */
	double length;         /**< mean number of items of a transaction */
	unsigned patterns;     /**< different ones */
	double pattern_length; /**< mean number of items of a pattern */
	uint64_t seed;
};

/** Reads a file: the items of a transaction in a line, whole numbers with blanks between. Lines
 * without any are skipped.
 * @return 0; -errno after a message. */
int baskets_read(const char *path, struct baskets *baskets);
/** Writes such a file. @return 0; -errno after a message. */
int baskets_write(const char *path, const struct baskets *baskets);
/** @return 0; -ENOMEM after a message. */
int baskets_random(const struct baskets_shape *shape, struct baskets *baskets);
void baskets_free(struct baskets *baskets);

/** The items that occur in at least `support` transactions, those in fewest first, equally
 * frequent ones by number; zero-initialise. The place of an item in this order is its rank. */
struct frequent {
	unsigned n;
	int32_t *numbers;   /**< by rank */
	uint32_t *supports; /**< by rank */
	int32_t *sorted;    /**< ranks, by ascending number */
};

/** @return 0; -ENOMEM after a message. */
int frequent_find(const struct baskets *baskets, uint32_t support, struct frequent *frequent);
/** @return the rank of an item; -1: it is not frequent */
int32_t frequent_rank(const struct frequent *frequent, int32_t number);
void frequent_free(struct frequent *frequent);

/** Words of 64 bits that an item needs. */
static inline size_t baskets_words(const struct baskets *baskets)
{
	return baskets->n / 64 + 1;
}

/** Writes all bits of all frequent items: bit t of rank r is bit t % 64 of word
 * r * baskets_words() + t / 64. */
void baskets_bits(const struct baskets *baskets, const struct frequent *frequent, uint64_t *bits);

#endif
