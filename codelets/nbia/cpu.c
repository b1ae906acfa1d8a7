/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The CPU version, row by row. Vector instructions convert colours, and compute the index of a
 * counter, a byte, for every pair of neighbours and every pattern. Then the bytes are counted.
 * Equal bytes would wait for each other, so the four directions have their own tables and take
 * turns.
 */
#include "config.h"

#include <string.h>

#include "codelets/nbia/nbia.h"

#define DIRECTIONS 4
/* Vector loops run over the end of a row: pixels that are left over and computed by themselves take
 * as long as a vector, and nobody could tell a tile's time from its size. */
#define TOGETHER 64
#define ROOM (NBIA_LARGEST + TOGETHER)

/* A row of the tile after conversion. */
struct row {
	uint8_t light[ROOM];
	uint8_t level[NBIA_CHANNELS][ROOM];
};

/* A row during conversion. */
struct colours {
	uint16_t index[3][ROOM]; /* X, Y, Z of 4096 */
	nbia_u32 value[3][ROOM];
};

struct work {
	struct colours colours;
	struct row rows[3];              /* row y is in rows[y % 3] */
	uint8_t index[DIRECTIONS][ROOM]; /* counters to be increased */
	nbia_u32 pairs[NBIA_CHANNELS][DIRECTIONS][NBIA_CELLS];
	nbia_u32 patterns[DIRECTIONS][NBIA_PATTERNS];
};

/* So many that all vectors are whole. */
ISA_BODY size_t whole(size_t n)
{
	return (n + TOGETHER - 1) / TOGETHER * TOGETHER;
}

/* Looks up one by one, which is faster than gather instructions on most processors. The empty
 * instruction keeps the compiler from using those. */
ISA_BODY void look_up(size_t n, const nbia_u32 *restrict table, const uint16_t *restrict index,
                      nbia_u32 *restrict value)
{
	for (size_t x = 0; x < n; x++) {
		nbia_u32 entry = table[index[x]];

		__asm__("" : "+r"(entry));
		value[x] = entry;
	}
}

ISA_BODY void look_up_light(size_t n, const nbia_u32 *restrict table, const uint8_t *restrict rgb,
                            struct colours *restrict colours)
{
	for (size_t x = 0; x < n; x++) {
		nbia_u32 red = table[rgb[3 * x]];

		__asm__("" : "+r"(red));
		colours->value[0][x] = red;
		colours->value[1][x] = table[rgb[3 * x + 1]];
		colours->value[2][x] = table[rgb[3 * x + 2]];
	}
}

/* nbia_pixel() in steps, each for many pixels. */
ISA_BODY void convert(const nbia_u32 *restrict table, size_t n, const uint8_t *restrict rgb,
                      struct colours *restrict colours, struct row *restrict row)
{
	look_up_light(n, table, rgb, colours);
	for (size_t x = 0; x < whole(n); x++) {
		nbia_u32 r = colours->value[0][x], g = colours->value[1][x];
		nbia_u32 b = colours->value[2][x];

		colours->index[0][x] = nbia_x(r, g, b);
		colours->index[1][x] = nbia_y(r, g, b);
		colours->index[2][x] = nbia_z(r, g, b);
	}
	for (int i = 0; i < 3; i++)
		look_up(n, table + 256, colours->index[i], colours->value[i]);
	for (size_t x = 0; x < whole(n); x++) {
		nbia_u32 fx = colours->value[0][x], fy = colours->value[1][x];

		row->light[x] = fy >> 16;
		row->level[0][x] = fy >> 20;
		row->level[1][x] = nbia_level_a(fx, fy);
		row->level[2][x] = nbia_level_b(fy, colours->value[2][x]);
	}
}

/* Indices of the pairs of one level each. */
ISA_BODY void pair(size_t n, const uint8_t *restrict from, const uint8_t *restrict to,
                   uint8_t *restrict index)
{
	for (size_t x = 0; x < whole(n); x++)
		index[x] = from[x] * NBIA_LEVELS + to[x];
}

ISA_BODY void count(size_t n, const uint8_t *restrict index, nbia_u32 *restrict table)
{
	for (size_t x = 0; x < n; x++)
		table[index[x]]++;
}

ISA_BODY uint64_t eight(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* Counts `n` of each of four lists in turn. Without an inner loop, which the compiler would turn
 * into slower vector code. */
ISA_BODY void count_four(size_t n, uint8_t index[DIRECTIONS][ROOM],
                         nbia_u32 tables[DIRECTIONS][NBIA_CELLS])
{
	size_t x = 0;

#define COUNT_FOUR(shift)                                                                          \
	tables[0][a >> (shift)&0xff]++;                                                            \
	tables[1][b >> (shift)&0xff]++;                                                            \
	tables[2][c >> (shift)&0xff]++;                                                            \
	tables[3][d >> (shift)&0xff]++
	for (; x + 8 <= n; x += 8) {
		uint64_t a = eight(index[0] + x), b = eight(index[1] + x);
		uint64_t c = eight(index[2] + x), d = eight(index[3] + x);

		COUNT_FOUR(0);
		COUNT_FOUR(8);
		COUNT_FOUR(16);
		COUNT_FOUR(24);
		COUNT_FOUR(32);
		COUNT_FOUR(40);
		COUNT_FOUR(48);
		COUNT_FOUR(56);
	}
#undef COUNT_FOUR
	for (int i = 0; i < DIRECTIONS; i++)
		count(n - x, index[i] + x, tables[i]);
}

/* Pairs within a row, and between it and the row above. */
ISA_BODY void count_pairs(size_t size, struct work *work, const struct row *above,
                          const struct row *row)
{
	for (int c = 0; c < NBIA_CHANNELS; c++) {
		const uint8_t *up = above->level[c], *here = row->level[c];

		pair(size - 1, here, here + 1, work->index[0]);
		pair(size, up, here, work->index[1]);
		pair(size - 1, up, here + 1, work->index[2]);
		pair(size - 1, up + 1, here, work->index[3]);
		count_four(size - 1, work->index, work->pairs[c]);
		work->pairs[c][1][work->index[1][size - 1]]++;
	}
}

/* Pairs within the tile's first row. */
ISA_BODY void count_first(size_t size, struct work *work, const struct row *row)
{
	for (int c = 0; c < NBIA_CHANNELS; c++) {
		pair(size - 1, row->level[c], row->level[c] + 1, work->index[0]);
		count(size - 1, work->index[0], work->pairs[c][0]);
	}
}

ISA_BODY void find_patterns(size_t n, const uint8_t *restrict up, const uint8_t *restrict here,
                            const uint8_t *restrict down, uint8_t *restrict pattern)
{
	for (size_t x = 0; x < whole(n); x++) {
		uint8_t centre = here[x + 1];

		pattern[x] = (here[x + 2] >= centre) | (up[x + 2] >= centre) << 1 |
		             (up[x + 1] >= centre) << 2 | (up[x] >= centre) << 3 |
		             (here[x] >= centre) << 4 | (down[x] >= centre) << 5 |
		             (down[x + 1] >= centre) << 6 | (down[x + 2] >= centre) << 7;
	}
}

/* Patterns around the pixels of the middle row of three, without its ends. */
ISA_BODY void count_patterns(size_t size, struct work *work, const struct row *up,
                             const struct row *here, const struct row *down)
{
	uint8_t *pattern = work->index[0];
	size_t n = size - 2, x = 0;

	find_patterns(n, up->light, here->light, down->light, pattern);
	for (; x + DIRECTIONS <= n; x += DIRECTIONS)
		for (int d = 0; d < DIRECTIONS; d++)
			work->patterns[d][pattern[x + d]]++;
	count(n - x, pattern + x, work->patterns[0]);
}

ISA_BODY void count_tile_body(const nbia_u32 *table, size_t size, size_t stride,
                              const unsigned char *rgb, struct work *work)
{
	for (size_t y = 0; y < size; y++) {
		struct row *row = &work->rows[y % 3], *above = &work->rows[(y + 2) % 3];

		convert(table, size, rgb + y * stride, &work->colours, row);
		if (y)
			count_pairs(size, work, above, row);
		else
			count_first(size, work, row);
		if (y > 1)
			count_patterns(size, work, &work->rows[(y + 1) % 3], above, row);
	}
}

ISA_VARIANTS(count_tile,
             (const nbia_u32 *table, size_t size, size_t stride, const unsigned char *rgb,
              struct work *work),
             (table, size, stride, rgb, work));

void nbia_summarise(const nbia_u32 counters[NBIA_COUNTERS], struct nbia_summary *summary)
{
	*summary = (struct nbia_summary){0};
	for (int c = 0; c < NBIA_CHANNELS; c++) {
		struct nbia_channel *channel = &summary->channels[c];
		const nbia_u32 *matrix = counters + c * NBIA_CELLS;

		for (nbia_u32 i = 0; i < NBIA_LEVELS; i++) {
			nbia_u64 squares, entropy, products;

			nbia_row(matrix, i, &squares, &entropy, &products, &channel->marginal[i]);
			channel->squares += squares;
			channel->entropy += entropy;
			channel->products += products;
			channel->difference[i] = nbia_difference(matrix, i);
		}
	}
	for (nbia_u32 p = 0; p < NBIA_PATTERNS; p++)
		summary->patterns[nbia_group(p)] += counters[NBIA_FIRST_PATTERN + p];
}

void nbia_cpu(enum codelet_isa isa, const nbia_u32 table[NBIA_TABLE_ENTRIES], size_t size,
              size_t stride, const unsigned char *rgb, struct nbia_summary *summary)
{
	nbia_u32 counters[NBIA_COUNTERS] = {0};
	struct work work;

	memset(work.pairs, 0, sizeof(work.pairs));
	memset(work.patterns, 0, sizeof(work.patterns));
	count_tile_variants[isa](table, size, stride, rgb, &work);
	for (int d = 0; d < DIRECTIONS; d++) {
		for (int c = 0; c < NBIA_CHANNELS; c++)
			for (int cell = 0; cell < NBIA_CELLS; cell++)
				counters[c * NBIA_CELLS + cell] += work.pairs[c][d][cell];
		for (int p = 0; p < NBIA_PATTERNS; p++)
			counters[NBIA_FIRST_PATTERN + p] += work.patterns[d][p];
	}
	nbia_summarise(counters, summary);
}
