/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sched_policies/heap.h"

bool heddle_heap_is_before(const struct heddle_heap_item *a, const struct heddle_heap_item *b)
{
	return a->priority != b->priority ? a->priority > b->priority : a->serial < b->serial;
}

/* Puts an item where it belongs, at a place or above. */
static void item_raise(struct heddle_heap *heap, size_t i, struct heddle_heap_item item)
{
	for (; i && heddle_heap_is_before(&item, &heap->items[(i - 1) / 2]); i = (i - 1) / 2)
		heap->items[i] = heap->items[(i - 1) / 2];
	heap->items[i] = item;
}

int heddle_heap_push(struct heddle_heap *heap, int priority, void *item)
{
	struct heddle_heap_item pushed = {priority, heap->serial, item};
	size_t i = heap->n;

	if (heap->n == heap->room) {
		size_t room = heap->room ? 2 * heap->room : 64;
		struct heddle_heap_item *grown = realloc(heap->items, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		heap->items = grown;
		heap->room = room;
	}
	heap->n++;
	heap->serial++;
	item_raise(heap, i, pushed);
	return 0;
}

void *heddle_heap_take(struct heddle_heap *heap, size_t i)
{
	struct heddle_heap_item last;
	size_t child;
	void *item;

	if (i >= heap->n)
		return NULL;
	item = heap->items[i].item;
	last = heap->items[--heap->n];
	if (i == heap->n)
		return item;
	while ((child = 2 * i + 1) < heap->n) {
		child += child + 1 < heap->n &&
		         heddle_heap_is_before(&heap->items[child + 1], &heap->items[child]);
		if (!heddle_heap_is_before(&heap->items[child], &last))
			break;
		heap->items[i] = heap->items[child];
		i = child;
	}
	item_raise(heap, i, last);
	return item;
}

void *heddle_heap_pop(struct heddle_heap *heap)
{
	return heddle_heap_take(heap, 0);
}

int heddle_heap_top(const struct heddle_heap *heap)
{
	return heap->n ? heap->items[0].priority : INT_MIN;
}

void heddle_heap_free(struct heddle_heap *heap)
{
	free(heap->items);
	*heap = (struct heddle_heap){0};
}
