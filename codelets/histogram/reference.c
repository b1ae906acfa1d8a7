/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The count byte by byte, for comparisons.
 */
#include "config.h"

#include "codelets/histogram/histogram.h"

void histogram_reference(size_t n, const unsigned char *bytes, uint64_t counters[HISTOGRAM_BINS])
{
	for (size_t i = 0; i < n; i++)
		counters[bytes[i]]++;
}
