/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Items by priority: the one of the highest priority leaves first, of equal ones the one that came
 * first. A binary heap. Pure and not synchronised.
 */
#ifndef HEDDLE_SCHED_POLICIES_HEAP_H
#define HEDDLE_SCHED_POLICIES_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heddle_heap_item {
	int priority;    /**< higher first */
	uint64_t serial; /**< items came in this order */
	void *item;
};

/** Zero-initialise. */
struct heddle_heap {
	struct heddle_heap_item *items;
	size_t n, room;
	uint64_t serial; /**< of the next item */
};

/** Whether an item leaves before another one. */
bool heddle_heap_is_before(const struct heddle_heap_item *a, const struct heddle_heap_item *b);

/** @return 0; -ENOMEM, the heap is as before */
int heddle_heap_push(struct heddle_heap *heap, int priority, void *item);

/** Takes the first item. @return NULL: there is none */
void *heddle_heap_pop(struct heddle_heap *heap);

/** Takes any item. @param i its place in `items` @return NULL: there is none */
void *heddle_heap_take(struct heddle_heap *heap, size_t i);

/** Priority of the first item; of an empty heap INT_MIN. */
int heddle_heap_top(const struct heddle_heap *heap);

/** Frees what a heap needs. Its items are forgotten. */
void heddle_heap_free(struct heddle_heap *heap);

#endif
