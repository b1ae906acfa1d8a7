/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which iterations a block covers. The strategy says how many; this hands out
 * which: iterations that were given back first, then the first that were never
 * handed out. Every iteration is handed out once, or again after it was given back.
 */
#ifndef HEDDLE_LOOP_RANGES_H
#define HEDDLE_LOOP_RANGES_H

#include <stddef.h>

struct loop_range {
	size_t start;      /* first iteration */
	size_t n;          /* iterations */
	unsigned attempts; /* how often it was given back */
};

struct loop_ranges {
	size_t next; /* first iteration that was never handed out */
	size_t total;
	struct loop_range *returned; /* a stack */
	size_t nreturned, capacity;
};

/** A range of `total` iterations, none of them handed out. */
void loop_ranges_init(struct loop_ranges *ranges, size_t total);
void loop_ranges_fini(struct loop_ranges *ranges);

/** Iterations that are not handed out. */
size_t loop_ranges_remaining(const struct loop_ranges *ranges);

/** The iteration that is handed out next; the range's length where none remains. */
size_t loop_ranges_first(const struct loop_ranges *ranges);

/** Hands out at most n iterations: contiguous, hence perhaps fewer than n
 * where some were given back. A range of length 0 when none remains. */
struct loop_range loop_ranges_take(struct loop_ranges *ranges, size_t n);

/** Takes away the last n iterations, or as many as are there and were never taken.
 * @return how many */
size_t loop_ranges_shorten(struct loop_ranges *ranges, size_t n);

/** Takes a range back.
 * @return 0; -ENOMEM, then the range is not back. */
int loop_ranges_return(struct loop_ranges *ranges, struct loop_range range);

#endif
