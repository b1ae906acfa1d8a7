/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Arithmetic on values that are affine in group and item numbers, plus an interval (struct
 * index_kernel). The result of an operation includes all values that the operation can have.
 */
#ifndef HEDDLE_KERNEL_AFFINE_H
#define HEDDLE_KERNEL_AFFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "partition/kernel/access/ndrange.h"

/** What the rounds of a loop add: a multiple of `by`, from none to `most` times. */
struct affine_step {
	int64_t by, most;
	int loop; /**< loops of the same number make their rounds together */
};

#define AFFINE_MAXSTEPS 6

/** k[0..2] count for group numbers, k[3..5] for item numbers. */
struct affine {
	bool known;
	int64_t c, k[6], lo, hi;
	/** Not 0: such steps make up all that is between lo and hi, and each of their sums is
	 * taken: in the rounds of each item's loops, or, where `together`, in those of all items of
	 * a group. The latter has one step, and k[3..5] are 0. */
	unsigned nsteps;
	bool together;
	struct affine_step steps[AFFINE_MAXSTEPS];
};

/** From where to where each of the six numbers runs. */
struct affine_space {
	int64_t least[6], most[6];
};

typedef __int128 wide;

/** An address may treat an unsigned number of 32 bits as signed (INDEX_IN_BOUNDS). It is 2^32 too
 * low then, or a multiple of that. */
#define AFFINE_WRAP ((wide)1 << 32)

/** The greatest number that divides both, not negative; of 0 and 0 it is 0. */
int64_t affine_gcd(int64_t a, int64_t b);

struct affine affine_unknown(void);
struct affine affine_constant(int64_t value);
/** Anything from lo to hi. */
struct affine affine_range(wide lo, wide hi);

/** Least and greatest value; false where it is unknown. */
bool affine_bounds(const struct affine_space *space, const struct affine *a, wide *lo, wide *hi);
/** The value without what its steps add to c and the numbers. */
int64_t affine_start(const struct affine *a);
/** Whether it has just one value, whatever the numbers. */
bool affine_single(const struct affine *a);

struct affine affine_add(struct affine a, struct affine b, int sign);
struct affine affine_scale(struct affine a, int64_t factor);
struct affine affine_multiply(const struct affine_space *space, struct affine a, struct affine b);
/** Quotient and remainder by a positive number, of what is not negative. */
struct affine affine_divide(const struct affine_space *space, struct affine a, int64_t divisor);
struct affine affine_remainder(const struct affine_space *space, struct affine a, int64_t divisor);
/** Either of two. */
struct affine affine_join(const struct affine_space *space, struct affine a, struct affine b);
struct affine affine_least(const struct affine_space *space, struct affine a, struct affine b,
                           int sign);
/** The value where `bits` bits hold it, signed or unsigned; else unknown. */
struct affine affine_fit(const struct affine_space *space, struct affine a, unsigned bits,
                         bool is_unsigned);

#endif
