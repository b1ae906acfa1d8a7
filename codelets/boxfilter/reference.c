/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The means by summed-area tables, for comparisons.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "codelets/boxfilter/boxfilter.h"

int boxfilter_reference(size_t width, size_t height, unsigned channels, const unsigned char *in,
                        uint64_t **sums)
{
	size_t n = width * channels;
	uint64_t *table = malloc(height * n * sizeof(*table));

	if (!table)
		return -ENOMEM;
	for (size_t y = 0; y < height; y++) {
		uint64_t *line = table + y * n;

		for (size_t i = 0; i < n; i++)
			line[i] = in[y * n + i] + (i < channels ? 0 : line[i - channels]);
		for (size_t i = 0; y > 0 && i < n; i++)
			line[i] += table[(y - 1) * n + i];
	}
	*sums = table;
	return 0;
}

/* The sum over the pixels left of column x and above row y. */
static uint64_t corner(const uint64_t *sums, size_t n, unsigned channels, size_t x, size_t y,
                       unsigned c)
{
	return x && y ? sums[(y - 1) * n + (x - 1) * channels + c] : 0;
}

unsigned boxfilter_error(const struct boxfilter_window *window, size_t width, size_t height,
                         const uint64_t *sums, const unsigned char *out, size_t from, size_t to)
{
	unsigned channels = window->channels, worst = 0;
	size_t n = width * channels, radius = window->radius;

	for (size_t y = from; y < to; y++)
		for (size_t i = 0; i < n; i++) {
			size_t x = i / channels, c = i % channels;
			size_t left = x < radius ? 0 : x - radius,
			       top = y < radius ? 0 : y - radius;
			size_t right = left + boxfilter_span(x, radius, width);
			size_t bottom = top + boxfilter_span(y, radius, height);
			size_t count = (right - left) * (bottom - top);
			uint64_t sum = corner(sums, n, channels, right, bottom, c) -
			               corner(sums, n, channels, left, bottom, c) -
			               corner(sums, n, channels, right, top, c) +
			               corner(sums, n, channels, left, top, c);
			unsigned mean = (sum + count / 2) / count, got = out[y * n + i];
			unsigned error = mean > got ? mean - got : got - mean;

			worst = error > worst ? error : worst;
		}
	return worst;
}
