/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "codelets/histogram/histogram.h"

void histogram_reference(size_t n, const unsigned char *bytes, uint64_t counters[HISTOGRAM_BINS])
{
	for (size_t i = 0; i < n; i++)
		counters[bytes[i]]++;
}

void histogram_combine(void *into, const void *from, size_t bytes, void *arg)
{
	uint64_t *sum = into;
	const uint64_t *part = from;

	for (size_t b = 0; b < bytes / sizeof(*sum); b++)
		sum[b] += part[b];
}
