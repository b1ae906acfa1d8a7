/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which main memory is pinned by us, and for how many users. Memory is pinned
 * once, however many loops use it at a time, and unpinned when the last one ends.
 * This is the book of it; pin_starpu.c pins, and serialises the calls.
 */
#ifndef HEDDLE_SUPPORT_PINS_H
#define HEDDLE_SUPPORT_PINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pin {
	uintptr_t base;
	size_t bytes;
	unsigned users;
};

/** Zero-initialised: nothing is pinned. */
struct pins {
	struct pin *pins; /**< no two overlap */
	size_t n, capacity;
};

/** One more user of a range that lies within pinned memory.
 * @return false: no pinned memory contains it; nothing has changed. */
bool pins_hold(struct pins *pins, uintptr_t base, size_t bytes);

/** Enters memory that is about to be pinned, with one user.
 * @param bytes above 0
 * @return 0; -EEXIST: some of it is entered already; -ENOMEM. */
int pins_add(struct pins *pins, uintptr_t base, size_t bytes);

/** One user less of a range that was held or added.
 * @param[out] whole the memory to be unpinned, when it was the last user
 * @return whether it was */
bool pins_drop(struct pins *pins, uintptr_t base, size_t bytes, struct pin *whole);

#endif
