/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where bytes are equal, an increment waits for the one before it, and vector instructions do not
 * help. So the bytes of one 8-byte load go to several tables in turn.
 */
#include "config.h"

#include <string.h>

#include "codelets/histogram/histogram.h"

#define TABLES 8
/* The 32-bit tables are added to the counters after so many bytes. */
#define LARGEST_RUN ((size_t)1 << 30)

static void count_run(size_t n, const unsigned char *bytes, uint32_t tables[TABLES][HISTOGRAM_BINS])
{
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		uint64_t word;

		memcpy(&word, bytes + i, sizeof(word));
		tables[0][word & 0xff]++;
		tables[1][word >> 8 & 0xff]++;
		tables[2][word >> 16 & 0xff]++;
		tables[3][word >> 24 & 0xff]++;
		tables[4][word >> 32 & 0xff]++;
		tables[5][word >> 40 & 0xff]++;
		tables[6][word >> 48 & 0xff]++;
		tables[7][word >> 56]++;
	}
	for (; i < n; i++)
		tables[0][bytes[i]]++;
}

void histogram_cpu(size_t n, const unsigned char *bytes, uint64_t counters[HISTOGRAM_BINS])
{
	uint32_t tables[TABLES][HISTOGRAM_BINS];

	while (n) {
		size_t run = n < LARGEST_RUN ? n : LARGEST_RUN;

		memset(tables, 0, sizeof(tables));
		count_run(run, bytes, tables);
		for (int b = 0; b < HISTOGRAM_BINS; b++)
			for (int t = 0; t < TABLES; t++)
				counters[b] += tables[t][b];
		bytes += run;
		n -= run;
	}
}

void histogram_combine(void *into, const void *from, size_t bytes, void *arg)
{
	uint64_t *sum = into;
	const uint64_t *part = from;

	for (size_t b = 0; b < bytes / sizeof(*sum); b++)
		sum[b] += part[b];
}
