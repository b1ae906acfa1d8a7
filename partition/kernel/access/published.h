/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The two classes of kernels that SKMD knows.
 */
#ifndef HEDDLE_KERNEL_PUBLISHED_H
#define HEDDLE_KERNEL_PUBLISHED_H

#include "partition/kernel/access/index.h"

/* J. Lee, M. Samadi, Y. Park and S. Mahlke (PACT 2013), section III-B: a kernel is contiguous if
 * each index is a (W w + l), for a group w of W items, an item l in it, and a constant a or one
 * that is a loop's. Then a part of the data crosses that is in proportion to the groups. Otherwise
 * all inputs and outputs cross, and results are merged.
 *
 * Here a counts bytes, is the same for all accesses to a buffer, and an access may begin and end
 * anywhere from a i up to a (i + 1), where i is the item's number: `x[2 * i + 1]` of a scan, which
 * the paper calls contiguous, is. */

/** Whether a launch is contiguous by that rule.
 * @param[out] contiguous
 * @return 0; -ENOMEM */
int published_contiguous(const struct index_kernel *kernel, const struct index_launch *launch,
                         bool *contiguous);

#endif
