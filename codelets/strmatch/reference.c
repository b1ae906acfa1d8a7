/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The formulas cell by cell, for comparisons, and the state of rows before and after.
 */
#include "config.h"

#include "codelets/strmatch/strmatch.h"

static int32_t larger(int32_t a, int32_t b)
{
	return a > b ? a : b;
}

void strmatch_start(size_t nrows, int32_t floor, struct strmatch_row *rows)
{
	for (size_t i = 0; i < nrows; i++)
		rows[i] = (struct strmatch_row){
		    .h = floor, .e = STRMATCH_NONE, .corner = i ? floor : 0, .best = floor};
}

/* One row of the tile; `edge` is the row above and becomes this one. */
static void reference_row(const struct strmatch_scoring *scoring, const struct strmatch_tile *tile,
                          uint8_t letter, const uint8_t *subject, struct strmatch_row *row,
                          struct strmatch_edge *edge)
{
	int32_t diagonal = row->corner;

	for (size_t j = 0; j < tile->ncolumns; j++) {
		int32_t up = edge[j].h;
		int32_t h = larger(tile->floor, diagonal + scoring->scores[letter][subject[j]]);

		row->e = larger(row->e - scoring->extend, row->h - scoring->open);
		edge[j].f = larger(edge[j].f - scoring->extend, up - scoring->open);
		h = larger(h, larger(row->e, edge[j].f));
		if (h > row->best) {
			row->best = h;
			row->best_at = tile->first_column + j;
		}
		row->h = edge[j].h = h;
		diagonal = up;
	}
	row->corner = diagonal;
}

void strmatch_reference(const struct strmatch_scoring *scoring, const struct strmatch_tile *tile,
                        const uint8_t *query, const uint8_t *subject, struct strmatch_row *rows,
                        const struct strmatch_edge *above, struct strmatch_edge *below)
{
	for (size_t j = 0; j < tile->ncolumns; j++)
		below[j] =
		    above ? above[j] : (struct strmatch_edge){.h = tile->floor, .f = STRMATCH_NONE};
	for (size_t i = 0; i < tile->nrows; i++)
		reference_row(scoring, tile, query[i], subject, &rows[i], below);
}

struct strmatch_best strmatch_best(size_t nrows, const struct strmatch_row *rows)
{
	struct strmatch_best best = {.score = rows[0].best, .column = rows[0].best_at};

	for (size_t i = 1; i < nrows; i++)
		if (rows[i].best > best.score)
			best = (struct strmatch_best){
			    .score = rows[i].best, .row = i, .column = rows[i].best_at};
	return best;
}
