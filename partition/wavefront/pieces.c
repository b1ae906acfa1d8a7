/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "pieces.h"

enum {
	CORE_ROWS = 32, /* the first piece's, on a core */
	CORE_COLUMNS = 64,
	SIDE = 128,   /* and both on an accelerator */
	GROWTH = 4,   /* in a direction; 2 where that would take too long */
	CORE_PART = 8 /* of the largest piece's rows, and then columns, in the last two */
};
/* On a core samples of fewer iterations than this part of the largest's are forgotten. */
#define SMALL 32
/* Once so much is spent on an accelerator and four shapes are known, that is enough, µs. */
#define ENOUGH 8000
/* How far a fit may be wrong in what the next piece takes. */
#define DOUBT 1.5
/* Iterations that make out less of a tile's time do not count. */
#define DOUBT_PART 10

/* Stages on a core, where GROWING goes on as long as it can; and of a round on an
 * accelerator, which begins at a corner. */
enum { GROWING, LOW, NARROW, MEASURED };
enum { FIRST, WIDE, HIGH, BOTH, OVER };

void pieces_init(struct pieces *pieces, size_t rows, size_t columns, size_t skew, bool core)
{
	*pieces = (struct pieces){.rows = rows, .columns = columns, .skew = skew, .core = core};
}

size_t pieces_columns(const struct pieces *pieces, size_t rows, size_t h)
{
	size_t columns = PIECES_TILES * h + pieces->skew * (rows - 1);

	return columns < pieces->columns ? columns : pieces->columns;
}

/* What of a shape the loop has room for. */
static void clip(const struct pieces *pieces, size_t *rows, size_t *h)
{
	size_t most;

	if (pieces->skew && *rows > pieces->columns / 2 / pieces->skew + 1)
		*rows = pieces->columns / 2 / pieces->skew + 1;
	if (*rows > pieces->rows)
		*rows = pieces->rows;
	most = (pieces->columns - pieces->skew * (*rows - 1)) / PIECES_TILES;
	if (*h > most)
		*h = most;
	if (!*rows)
		*rows = 1;
	if (!*h)
		*h = 1;
}

static struct tile_sample *sample_of(struct pieces *pieces, double rows, double columns)
{
	for (unsigned i = 0; i < pieces->n; i++)
		if (pieces->samples[i].rows == rows && pieces->samples[i].columns == columns)
			return &pieces->samples[i];
	return NULL;
}

/* What a whole piece takes whose tiles take so long; those at its ends are not whole. */
static double piece_us(const struct pieces *pieces, size_t rows, size_t h, double us)
{
	return us * (pieces_columns(pieces, rows, h) + pieces->skew * (rows - 1)) / h;
}

static double fitted_us(const struct pieces *pieces, size_t rows, size_t h)
{
	struct tile_cost cost;

	tile_cost_fit(pieces->samples, pieces->n, pieces->core, &cost);
	return tile_cost_us(&cost, rows, h);
}

/* ---- on a core ---- */

static bool core_wants(struct pieces *pieces, size_t rows, size_t h)
{
	return !sample_of(pieces, rows, h) &&
	       (!pieces->n ||
	        piece_us(pieces, rows, h, fitted_us(pieces, rows, h)) <= PIECES_LONGEST);
}

static bool core_next(struct pieces *pieces, size_t *rows, size_t *h)
{
	const struct tile_sample *largest = &pieces->corner;

	/* Skewed pieces have partial tiles on either side, the more the higher they are. */
	*rows = pieces->skew ? CORE_ROWS / 2 : CORE_ROWS;
	*h = CORE_COLUMNS;
	if (!pieces->n) {
		clip(pieces, rows, h);
		return pieces->stage == GROWING;
	}
	for (size_t growth = GROWTH; pieces->stage == GROWING; growth /= 2) {
		*rows = largest->rows * growth;
		*h = largest->columns * growth;
		clip(pieces, rows, h);
		if (growth == 1 || pieces->n + 2 >= PIECES_MOST)
			pieces->stage = LOW;
		else if (core_wants(pieces, *rows, *h))
			return true;
	}
	while (pieces->stage < MEASURED) {
		bool low = pieces->stage++ == LOW;

		*rows = largest->rows / (low ? CORE_PART : 1);
		*h = largest->columns / (low ? 1 : CORE_PART);
		clip(pieces, rows, h);
		if (core_wants(pieces, *rows, *h))
			return true;
	}
	return false;
}

/* ---- on an accelerator ---- */

/* A tile takes no longer than this, by those of this round. */
static double most_us(struct pieces *pieces, size_t rows, size_t h)
{
	const struct tile_sample *corner = &pieces->corner,
	                         *wide = sample_of(pieces, corner->rows, h),
	                         *high = sample_of(pieces, rows, corner->columns);
	double most = wide && high ? wide->us * high->us / corner->us
	                           : corner->us * rows / corner->rows * h / corner->columns;

	return pieces->n < 4 ? most : fmin(most, DOUBT * fitted_us(pieces, rows, h));
}

/* By how much a direction grows: both sides are those of the corner before. */
static bool grow(struct pieces *pieces, size_t *rows, size_t *h, bool wide)
{
	const struct tile_sample *corner = &pieces->corner;

	for (size_t growth = GROWTH; growth > 1; growth /= 2) {
		*rows = corner->rows * (wide ? 1 : growth);
		*h = corner->columns * (wide ? growth : 1);
		clip(pieces, rows, h);
		if (*rows >= corner->rows && *h >= corner->columns &&
		    *rows * *h > corner->rows * corner->columns &&
		    piece_us(pieces, *rows, *h, most_us(pieces, *rows, *h)) <= PIECES_LONGEST)
			return true;
	}
	return false;
}

/* The piece that has grown in both directions; where only one could, that is where the next
 * round begins. */
static bool round_end(struct pieces *pieces, size_t *rows, size_t *h)
{
	struct tile_sample *corner = &pieces->corner, *known;
	double us;

	*rows = pieces->grown_rows;
	*h = pieces->grown_columns;
	clip(pieces, rows, h);
	known = sample_of(pieces, *rows, *h);
	if (known) {
		bool more = *rows * *h > corner->rows * corner->columns;

		*corner = *known;
		pieces->stage = more ? FIRST : OVER;
		return false;
	}
	pieces->stage = OVER;
	us = piece_us(pieces, *rows, *h, most_us(pieces, *rows, *h));
	/* The fourth shape is worth more, and takes less than can be known before. */
	return us <= (pieces->n < 4 ? 2 : 1) * PIECES_LONGEST;
}

/* What much depends on is measured twice: the very first piece, which may have woken the
 * device up, and the one by which iterations would count. */
static bool repeat(struct pieces *pieces, size_t *rows, size_t *h)
{
	const struct tile_sample *sample = &pieces->corner;
	struct tile_cost cost;

	if (pieces->n < 2 || pieces->repeated == 2)
		return false;
	tile_cost_fit(pieces->samples, pieces->n, pieces->core, &cost);
	if (!pieces->repeated++)
		sample = &pieces->samples[0];
	else if (cost.iteration * sample->rows * sample->columns < sample->us / DOUBT_PART)
		return false;
	*rows = sample->rows;
	*h = sample->columns;
	return true;
}

static bool accelerator_next(struct pieces *pieces, size_t *rows, size_t *h)
{
	if (pieces->stage == FIRST && !pieces->n) {
		*rows = *h = SIDE;
		clip(pieces, rows, h);
		return true;
	}
	while (pieces->stage != OVER) {
		if (pieces->stage == FIRST && repeat(pieces, rows, h))
			return true;
		/* A round has up to three pieces. */
		if (pieces->stage == FIRST &&
		    (pieces->n + 3 > PIECES_MOST || (pieces->n >= 4 && pieces->spent_us > ENOUGH)))
			break;
		switch (++pieces->stage) {
		case WIDE:
			if (!grow(pieces, rows, h, true))
				break;
			pieces->grown_columns = *h;
			return true;
		case HIGH:
			if (!grow(pieces, rows, h, false))
				break;
			pieces->grown_rows = *rows;
			return true;
		default:
			if (round_end(pieces, rows, h))
				return true;
		}
	}
	return false;
}

/* ---- */

bool pieces_next(struct pieces *pieces, size_t *rows, size_t *h)
{
	return pieces->core ? core_next(pieces, rows, h) : accelerator_next(pieces, rows, h);
}

void pieces_add(struct pieces *pieces, size_t rows, size_t h, double us)
{
	struct tile_sample sample = {rows, h, us}, *known = sample_of(pieces, rows, h);
	bool first = !pieces->n;

	if (!(us > 0)) {
		pieces->stage = pieces->core ? MEASURED : OVER;
		return;
	}
	pieces->spent_us += piece_us(pieces, rows, h, us);
	if (known) {
		known->us = fmin(known->us, us);
		if (known->rows == pieces->corner.rows && known->columns == pieces->corner.columns)
			pieces->corner.us = known->us;
		return;
	}
	if (pieces->n == PIECES_MOST)
		return;
	pieces->samples[pieces->n++] = sample;
	if (pieces->core ? pieces->stage == GROWING : first || pieces->stage == OVER) {
		pieces->corner = sample;
		pieces->grown_rows = rows;
		pieces->grown_columns = h;
		pieces->stage = 0;
	}
}

void pieces_cost(const struct pieces *pieces, struct tile_cost *cost)
{
	const struct tile_sample *largest = &pieces->corner;
	struct tile_sample samples[PIECES_MOST];
	unsigned n = 0;

	for (unsigned i = 0; i < pieces->n; i++) {
		const struct tile_sample *sample = &pieces->samples[i];

		if (!pieces->core ||
		    sample->rows * sample->columns * SMALL >= largest->rows * largest->columns)
			samples[n++] = *sample;
	}
	tile_cost_fit(samples, n, pieces->core, cost);
}
