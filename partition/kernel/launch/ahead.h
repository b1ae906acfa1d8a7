/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many launches that nobody waits for may be under way. A program that submits without end
 * would run out of memory, so that from some number on a submission waits until half of them have
 * ended. That may be in vain: the program itself may hold what they wait for. Then twice as many
 * may be under way, and so on, until they have ended.
 */
#ifndef HEDDLE_KERNEL_AHEAD_H
#define HEDDLE_KERNEL_AHEAD_H

#include <stdbool.h>

/** Filled with zeros at the beginning. */
struct ahead {
	unsigned n;     /**< launches under way */
	unsigned usual; /**< as many may be; 0: any number */
	unsigned most;  /**< as many may be now */
};

/** Another launch is to begin.
 * @param usual as many may be under way; 0: any number
 * @return whether it has to wait, until ahead_few() */
static inline bool ahead_full(struct ahead *ahead, unsigned usual)
{
	if (ahead->usual != usual)
		ahead->most = ahead->usual = usual;
	return usual && ahead->n >= ahead->most;
}

static inline bool ahead_few(const struct ahead *ahead)
{
	return ahead->n <= ahead->most / 2;
}

/** To wait would be in vain. ahead_few() holds now. */
static inline void ahead_give_up(struct ahead *ahead)
{
	while (!ahead_few(ahead))
		ahead->most *= 2;
}

/** A launch has ended.
 * @return whether those who wait are to look */
static inline bool ahead_ended(struct ahead *ahead)
{
	bool look;

	ahead->n--;
	look = !ahead->n || ahead->n == ahead->most / 2;
	if (ahead->n <= ahead->usual / 2)
		ahead->most = ahead->usual;
	return look;
}

#endif
