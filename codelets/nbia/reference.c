/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The counters straight from their definition, for comparisons.
 */
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "codelets/nbia/nbia.h"

struct tile {
	const nbia_u32 *table;
	size_t size, stride;
	const unsigned char *rgb;
};

static bool inside(const struct tile *tile, ptrdiff_t x, ptrdiff_t y)
{
	return x >= 0 && y >= 0 && x < (ptrdiff_t)tile->size && y < (ptrdiff_t)tile->size;
}

static nbia_u32 pixel_at(const struct tile *tile, ptrdiff_t x, ptrdiff_t y)
{
	const unsigned char *rgb = tile->rgb + y * tile->stride + 3 * x;

	return nbia_pixel(tile->table, rgb[0], rgb[1], rgb[2]);
}

static unsigned level(nbia_u32 pixel, int channel)
{
	return channel ? pixel >> (4 + 4 * channel) & 15 : (pixel & 0xff) * NBIA_LEVELS / 256;
}

static void count_pixel(const struct tile *tile, ptrdiff_t x, ptrdiff_t y, nbia_u32 *counters)
{
	static const int forward[4][2] = {{1, 0}, {0, 1}, {1, 1}, {-1, 1}};
	static const int around[8][2] = {{1, 0},  {1, -1}, {0, -1}, {-1, -1},
	                                 {-1, 0}, {-1, 1}, {0, 1},  {1, 1}};
	nbia_u32 pixel = pixel_at(tile, x, y), pattern = 0;

	for (int d = 0; d < 4; d++) {
		ptrdiff_t to_x = x + forward[d][0], to_y = y + forward[d][1];

		if (!inside(tile, to_x, to_y))
			continue;
		for (int c = 0; c < NBIA_CHANNELS; c++)
			counters[c * NBIA_CELLS + level(pixel, c) * NBIA_LEVELS +
			         level(pixel_at(tile, to_x, to_y), c)]++;
	}
	for (int p = 0; p < 8; p++) {
		ptrdiff_t to_x = x + around[p][0], to_y = y + around[p][1];

		if (!inside(tile, to_x, to_y))
			return;
		pattern |= ((pixel_at(tile, to_x, to_y) & 0xff) >= (pixel & 0xff)) << p;
	}
	counters[NBIA_FIRST_PATTERN + pattern]++;
}

void nbia_reference(const nbia_u32 table[NBIA_TABLE_ENTRIES], size_t size, size_t stride,
                    const unsigned char *rgb, nbia_u32 counters[NBIA_COUNTERS],
                    struct nbia_summary *summary)
{
	const struct tile tile = {table, size, stride, rgb};
	nbia_u32 own[NBIA_COUNTERS] = {0};

	for (size_t y = 0; y < size; y++)
		for (size_t x = 0; x < size; x++)
			count_pixel(&tile, x, y, own);
	nbia_summarise(own, summary);
	if (counters)
		memcpy(counters, own, sizeof(own));
}
