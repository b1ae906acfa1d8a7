/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One device's launch in pieces, so that it computes one while others cross: into how many,
 * by what launches took, and what each piece sends and fetches.
 */
#ifndef HEDDLE_KERNEL_PIECES_H
#define HEDDLE_KERNEL_PIECES_H

#include <stdbool.h>
#include <stddef.h>

#include "partition/kernel/access/index.h"

/** Into how many pieces launches are cut: 1, 2, 4 or 8. Of each the latest launches count. */
enum { PIECES_CHOICES = 4, PIECES_MOST = 8, PIECES_RECENT = 15 };

/** How launches in pieces went. A structure of zeros knows nothing. */
struct pieces {
	unsigned since; /**< launches since the last trial */
	double total_us;
	struct {
		unsigned n;
		double us[PIECES_RECENT];
		double usual_us; /**< their median */
		unsigned trials; /**< later ones */
		double lost_us;  /**< by them */
	} choices[PIECES_CHOICES];
};

/** Into how many pieces the next launch is cut: each number is tried some times, then it is the
 * fastest, the less the better where they are near. Others are tried now and then, the more often
 * the nearer they are, as far as that costs a hundredth of all time. */
unsigned pieces_choose(const struct pieces *pieces);

/** Takes in a launch. @param n pieces @param us above 0 */
void pieces_measured(struct pieces *pieces, unsigned n, double us);

#endif
