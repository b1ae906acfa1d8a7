/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which iterations a block covers. The strategy says how many; this hands out
 * which: iterations that were given back first, then the first that nobody
 * has. Every iteration is handed out once, or again after it was given back.
 */
#ifndef HEDDLE_LOOP_RANGES_H
#define HEDDLE_LOOP_RANGES_H

#include <stddef.h>

struct range {
	size_t start;      /* first iteration */
	size_t n;          /* iterations */
	unsigned attempts; /* how often it was given back */
};

struct ranges {
	size_t next; /* first iteration that was never handed out */
	size_t total;
	struct range *returned; /* a stack */
	size_t nreturned, capacity;
};

/** A range of `total` iterations, none of them handed out. */
void ranges_init(struct ranges *ranges, size_t total);
void ranges_fini(struct ranges *ranges);

/** Iterations that nobody has. */
size_t ranges_remaining(const struct ranges *ranges);

/** Hands out at most n (> 0) iterations: contiguous, hence perhaps fewer than n
 * where some were given back. A range of length 0 when none remains. */
struct range ranges_take(struct ranges *ranges, size_t n);

/** Takes a range back.
 * @return 0; -ENOMEM, then the range is not back. */
int ranges_return(struct ranges *ranges, struct range range);

#endif
