/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A sweep point by point, for comparisons.
 */
#include "config.h"

#include "codelets/heat2d/heat2d.h"

void heat2d_reference(const struct heat2d_tile *tile, float *u)
{
	struct heat2d_inner inner = heat2d_inner(tile);

	for (size_t i = inner.top; i < inner.bottom; i++)
		for (size_t j = inner.left; j < inner.right; j++) {
			float *at = u + i * tile->stride + j;
			float sum = *(at - tile->stride) + at[tile->stride];

			sum = sum + at[1];
			sum = sum + at[-1];
			*at = sum * 0.25f;
		}
}
