/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Frequent item sets as a tree: a set is another one and an item of a higher rank. No StarPU.
 */
#ifndef APPS_ECLAT_SETS_H
#define APPS_ECLAT_SETS_H

#include <stdbool.h>

#include "apps/eclat/baskets.h"

#define SETS_NONE UINT32_MAX

struct set {
	uint32_t before;  /**< the set without its last item; SETS_NONE: the empty one */
	int32_t rank;     /**< of the last item */
	uint32_t support; /**< transactions that have all its items */
};

/** Zero-initialise. */
struct sets {
	size_t n, room;
	bool warned;
	struct set *sets;
};

/** Warns once of very many sets, and names --support.
 * @param[out] number of the new set @return 0; -ENOMEM after a message. */
int sets_add(struct sets *sets, struct set set, uint32_t *number);
void sets_free(struct sets *sets);

/** How many sets of one item or more, and of `longest` at most, so many items have.
 * @param longest 0: any number */
double sets_of_items(size_t items, unsigned longest);
/** Refuses more sets than there can be, which are found if each transaction's sets are frequent.
 * @return 0; -E2BIG after a message that names --support */
int sets_bound(const struct baskets *baskets, uint32_t support, unsigned longest);

/** Counts the items of a set. */
unsigned sets_length(const struct sets *sets, uint32_t number);

/** Writes a line for each set: its items, ascending, and its support in parentheses; in the order
 * of the items. @return 0; -errno after a message. */
int sets_write(const char *path, const struct sets *sets, const struct frequent *frequent);

/** A plain search, which counts items in the transactions that have all items of a set: those whose
 * first item, the one in fewest transactions, has a rank from begin to end - 1.
 * @param longest most items of a set; 0: any number
 * @return how many sets are missing, have another support, or are not frequent; -ENOMEM */
long sets_errors(const struct sets *sets, const struct baskets *baskets,
                 const struct frequent *frequent, uint32_t support, unsigned longest, size_t begin,
                 size_t end);

#endif
