/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "support/message.h"
#include "tiles.h"

/* ---- dependence vectors ---- */

static bool is_positive(const struct heddle_dependence *v)
{
	if (v->sweep)
		return v->sweep > 0;
	if (v->row)
		return v->row > 0;
	return v->column > 0;
}

static bool is_in_limits(const struct heddle_dependence *v)
{
	return v->sweep <= WAVE_VECTORS_LIMIT && v->row <= WAVE_VECTORS_LIMIT &&
	       v->row >= -WAVE_VECTORS_LIMIT && v->column <= WAVE_VECTORS_LIMIT &&
	       v->column >= -WAVE_VECTORS_LIMIT;
}

int heddle_dependences_check(const struct heddle_dependence *vectors, unsigned nvectors)
{
	for (unsigned i = 0; i < nvectors; i++) {
		const struct heddle_dependence *v = &vectors[i];

		if (!is_positive(v))
			return heddle_refuse(
			    -EINVAL,
			    "dependence %u, (sweep %d, row %d, column %d), is not "
			    "lexicographically "
			    "positive: an iteration would need one that comes after it, or itself",
			    i, v->sweep, v->row, v->column);
		if (!is_in_limits(v))
			return heddle_refuse(
			    -EINVAL,
			    "dependence %u, (sweep %d, row %d, column %d), reaches further than %d",
			    i, v->sweep, v->row, v->column, WAVE_VECTORS_LIMIT);
	}
	return 0;
}

static void widen(size_t *reach, int component)
{
	if (component > 0 && (size_t)component > *reach)
		*reach = component;
}

struct wave_reach wave_vectors_reach(const struct heddle_dependence *vectors, unsigned nvectors)
{
	struct wave_reach reach = {0};

	for (unsigned i = 0; i < nvectors; i++) {
		widen(&reach.above, vectors[i].row);
		widen(&reach.below, -vectors[i].row);
		widen(&reach.left, vectors[i].column);
		widen(&reach.right, -vectors[i].column);
	}
	return reach;
}

size_t wave_vectors_skew(const struct heddle_dependence *vectors, unsigned nvectors)
{
	size_t skew = 0;

	for (unsigned i = 0; i < nvectors; i++) {
		const struct heddle_dependence *v = &vectors[i];

		if (!v->sweep && v->row > 0 && v->column < 0)
			widen(&skew, (-v->column + v->row - 1) / v->row);
	}
	return skew;
}

size_t wave_vectors_minimum_rows(const struct heddle_dependence *vectors, unsigned nvectors)
{
	struct wave_reach reach = wave_vectors_reach(vectors, nvectors);
	size_t rows = reach.above + reach.below;

	return rows ? rows : 1;
}

/* ---- bands and tiles ---- */

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t clamp(int64_t column, size_t columns)
{
	return max64(0, min64(column, columns));
}

/* Columns by which a band's first tile is shorter. Tiles of all bands begin at multiples
 * of h in the skewed space, where column + s row counts: no vector points to the right
 * there, so that a tile needs the one above it and no more. */
static size_t phase(const struct wave_band *band, size_t skew)
{
	return skew * band->first % band->tile_columns;
}

static int64_t tile_begin(const struct wave_band *band, size_t skew, size_t tile)
{
	return (int64_t)(tile * band->tile_columns) - (int64_t)phase(band, skew);
}

size_t wave_band_tiles(const struct wave_space *space, const struct wave_band *band)
{
	return wave_tile_of(band, space->skew, band->rows - 1, space->columns - 1) + 1;
}

struct wave_point wave_band_point(const struct wave_space *space, const struct wave_band *band,
                                  size_t done)
{
	size_t tiles = wave_band_tiles(space, band);

	return (struct wave_point){done / tiles,
	                           space->skew * band->first / band->tile_columns + done % tiles};
}

size_t wave_band_done(const struct wave_space *space, const struct wave_band *band,
                      struct wave_point point)
{
	size_t tiles = wave_band_tiles(space, band),
	       first = space->skew * band->first / band->tile_columns;
	size_t done = point.tile > first ? point.tile - first : 0;

	return point.sweep * tiles + (done < tiles ? done : tiles);
}

size_t wave_band_covers(const struct wave_space *space, const struct wave_band *band, size_t done,
                        const struct wave_band *part)
{
	struct wave_point at = wave_band_point(space, band, done);

	/* In the skewed space all before this column is done. */
	at.tile = at.tile * band->tile_columns / part->tile_columns;
	return wave_band_done(space, part, at);
}

struct wave_columns wave_tile_columns(const struct wave_space *space, const struct wave_band *band,
                                      size_t tile, size_t r)
{
	int64_t begin = tile_begin(band, space->skew, tile) - (int64_t)(space->skew * r);

	return (struct wave_columns){clamp(begin, space->columns),
	                             clamp(begin + (int64_t)band->tile_columns, space->columns)};
}

/* How many rows of a band have at least `least` columns. The first row has `column` of them, and
 * each other one `skew` less than the one above. */
static int64_t rows_with(const struct wave_space *space, const struct wave_band *band,
                         int64_t column, int64_t least)
{
	if (column < least)
		return 0;
	return space->skew ? min64((column - least) / (int64_t)space->skew + 1, band->rows)
	                   : (int64_t)band->rows;
}

/* Iterations of all rows to the left of a column of the first one. */
static double before(const struct wave_space *space, const struct wave_band *band, int64_t column)
{
	int64_t full = rows_with(space, band, column, space->columns);
	int64_t some = rows_with(space, band, column, 1), n = some - full;

	return (double)full * space->columns + (double)n * column -
	       space->skew * (n * (double)(full + some - 1) / 2);
}

struct wave_tile_size wave_tile_size(const struct wave_space *space, const struct wave_band *band,
                                     size_t tile)
{
	int64_t begin = tile_begin(band, space->skew, tile),
	        end = begin + (int64_t)band->tile_columns;

	return (struct wave_tile_size){
	    .rows = rows_with(space, band, end, 1) - rows_with(space, band, begin, space->columns),
	    .iterations = before(space, band, end) - before(space, band, begin),
	};
}

size_t wave_tile_of(const struct wave_band *band, size_t skew, size_t r, size_t column)
{
	return (column + skew * r + phase(band, skew)) / band->tile_columns;
}

/* Rows r of a tile, from `first` to `last`, whose iterations need something through a
 * vector: the row has columns, and those it needs are not all outside the space. */
static bool rows_that_need(const struct wave_space *space, const struct wave_band *band,
                           size_t tile, const struct heddle_dependence *v, int64_t *first,
                           int64_t *last)
{
	int64_t skew = space->skew, begin = tile_begin(band, skew, tile),
	        end = begin + band->tile_columns;
	int64_t columns = space->columns;
	/* Row r has columns from max(0, begin - skew r) to min(columns, end - skew r). It
	 * has any, and some of those it needs lie within the space, if
	 *     end - skew r > max(0, v.column)
	 *     begin - skew r < min(columns, columns + v.column). */
	int64_t above = end - max64(0, v->column) - 1;
	int64_t below = begin - min64(columns, columns + v->column) + 1;

	if (v->column >= columns || v->column <= -columns)
		return false;
	if (!skew)
		return above >= 0 && below <= 0;
	if (above < 0)
		return false;
	*last = min64(*last, above / skew);
	if (below > 0)
		*first = max64(*first, (below + skew - 1) / skew);
	return *first <= *last;
}

static size_t reach_below(const struct wave_space *space)
{
	return wave_vectors_reach(space->vectors, space->nvectors).below;
}

/* Tiles of one sweep of `other` that a tile needs through one vector: one more than
 * the last one's number, 0 for none.
 *
 * With e for the tile's end in row 0, the last column that row r needs is min(e - 1 - s r, columns
 * - 1) - v.column, or the space's last; its tile grows with that column plus s times the row's
 * place in `other`, which is r and a constant: so never less with a larger r, and the last row
 * needs the latest tile. */
static size_t needs_of(const struct wave_space *space, const struct wave_band *band, size_t tile,
                       const struct heddle_dependence *v, const struct wave_band *other,
                       bool messages)
{
	int64_t shift = (int64_t)band->first - v->row - (int64_t)other->first;
	int64_t first = max64(0, -shift);
	int64_t last = min64((int64_t)band->rows, (int64_t)other->rows - shift) - 1;
	int64_t row, column;

	if (first > last || !rows_that_need(space, band, tile, v, &first, &last))
		return 0;
	/* The first row is the one that needs the farthest column. */
	row = messages ? first : last;
	column = min64(tile_begin(band, space->skew, tile + 1) - 1 - (int64_t)space->skew * row,
	               (int64_t)space->columns - 1);
	column = min64(column - v->column, (int64_t)space->columns - 1);
	row = messages ? (int64_t)wave_message_row(other, reach_below(space), v->row > 0)
	               : row + shift;
	return wave_tile_of(other, space->skew, row, column) + 1;
}

static size_t needs(const struct wave_space *space, const struct wave_band *band, size_t sweep,
                    size_t tile, const struct wave_band *other, bool messages)
{
	size_t most = 0;

	for (unsigned i = 0; i < space->nvectors; i++) {
		const struct heddle_dependence *v = &space->vectors[i];
		size_t tiles;

		if ((size_t)v->sweep > sweep)
			continue;
		tiles = needs_of(space, band, tile, v, other, messages);
		if (!tiles)
			continue;
		tiles += (sweep - v->sweep) * wave_band_tiles(space, other);
		if (tiles > most)
			most = tiles;
	}
	return most;
}

size_t wave_tile_needs(const struct wave_space *space, const struct wave_band *band, size_t sweep,
                       size_t tile, const struct wave_band *other)
{
	return needs(space, band, sweep, tile, other, false);
}

/* Both count from a multiple of h. */
size_t wave_tile_above(const struct wave_space *space, const struct wave_band *band, size_t tile,
                       const struct wave_band *above)
{
	size_t number = tile + space->skew * band->first / band->tile_columns;
	size_t first = space->skew * above->first / above->tile_columns,
	       tiles = wave_band_tiles(space, above);

	if (number < first)
		return 0;
	return number - first < tiles ? number - first + 1 : tiles;
}

size_t wave_tile_needs_messages(const struct wave_space *space, const struct wave_band *band,
                                size_t sweep, size_t tile, const struct wave_band *other)
{
	return needs(space, band, sweep, tile, other, true);
}

size_t wave_message_row(const struct wave_band *band, size_t reach, int below)
{
	if (below)
		return band->rows - 1;
	return (reach < band->rows ? reach : band->rows) - 1;
}
