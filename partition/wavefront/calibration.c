/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "calibration.h"

enum {
	CORE_ROWS = 32, /* the first sample's, on a core */
	CORE_COLUMNS = 64,
	SIDE = 128,    /* and both on an accelerator */
	GROWTH = 4,    /* in a direction; 2 where that would take too long */
	CORE_PART = 8, /* of the largest sample's rows, and then columns, in the last two */
	AGAIN = 2      /* so often a sample is timed again that took long */
};
/* On a core samples of fewer iterations than this part of the largest's are forgotten. */
#define SMALL 32
/* How much longer a sample may take than the others say, on a core, and is not timed again. */
#define DOUBT_CORE 1.1
/* Once so much time is spent on an accelerator and four shapes are known, that is enough, µs. */
#define ENOUGH 8000
/* How far a fit may be wrong in what the next sample takes. */
#define DOUBT 1.5
/* Iterations that make out less of a tile's time do not count. */
#define DOUBT_PART 10

/* Stages on a core; GROWING lasts as long as samples can grow. And stages of a round on an
 * accelerator, which begins at a corner. */
enum { GROWING, LOW, NARROW, MEASURED };
enum { FIRST, WIDE, HIGH, BOTH, OVER };

void wave_calibration_init(struct wave_calibration *calibration, size_t rows, size_t columns,
                           size_t skew, bool core)
{
	*calibration =
	    (struct wave_calibration){.rows = rows, .columns = columns, .skew = skew, .core = core};
}

size_t wave_calibration_columns(const struct wave_calibration *calibration, size_t rows, size_t h)
{
	size_t columns = WAVE_CALIBRATION_TILES * h + calibration->skew * (rows - 1);

	return columns < calibration->columns ? columns : calibration->columns;
}

/* Reduces a shape to what the loop has room for. */
static void clip(const struct wave_calibration *calibration, size_t *rows, size_t *h)
{
	size_t most;

	if (calibration->skew && *rows > calibration->columns / 2 / calibration->skew + 1)
		*rows = calibration->columns / 2 / calibration->skew + 1;
	if (*rows > calibration->rows)
		*rows = calibration->rows;
	most = (calibration->columns - calibration->skew * (*rows - 1)) / WAVE_CALIBRATION_TILES;
	if (*h > most)
		*h = most;
	if (!*rows)
		*rows = 1;
	if (!*h)
		*h = 1;
}

static struct wave_tile_sample *sample_of(struct wave_calibration *calibration, double rows,
                                          double columns)
{
	for (unsigned i = 0; i < calibration->n; i++)
		if (calibration->samples[i].rows == rows &&
		    calibration->samples[i].columns == columns)
			return &calibration->samples[i];
	return NULL;
}

/* What a sample takes whose whole tiles take `us`; those at its ends are not whole. */
static double sample_us(const struct wave_calibration *calibration, size_t rows, size_t h,
                        double us)
{
	return us *
	       (wave_calibration_columns(calibration, rows, h) + calibration->skew * (rows - 1)) /
	       h;
}

static double fitted_us(const struct wave_calibration *calibration, size_t rows, size_t h)
{
	struct wave_tile_cost cost;

	wave_cost_fit(calibration->samples, calibration->n, calibration->core, &cost);
	return wave_cost_us(&cost, rows, h);
}

/* ---- on a core ---- */

/* Whether the latest sample took so much longer than the others say that something may have
 * disturbed it. */
static bool core_doubts(const struct wave_calibration *calibration)
{
	const struct wave_tile_sample *last = &calibration->last;
	struct wave_tile_sample others[WAVE_CALIBRATION_MOST];
	struct wave_tile_cost cost;
	unsigned n = 0;

	for (unsigned i = 0; i < calibration->n; i++)
		if (calibration->samples[i].rows != last->rows ||
		    calibration->samples[i].columns != last->columns)
			others[n++] = calibration->samples[i];
	if (!n || calibration->repeated == AGAIN)
		return false;
	wave_cost_fit(others, n, true, &cost);
	return last->us > DOUBT_CORE * wave_cost_us(&cost, last->rows, last->columns);
}

static bool core_wants(struct wave_calibration *calibration, size_t rows, size_t h)
{
	return !sample_of(calibration, rows, h) &&
	       (!calibration->n ||
	        sample_us(calibration, rows, h, fitted_us(calibration, rows, h)) <=
	            WAVE_CALIBRATION_LONGEST);
}

static bool core_next(struct wave_calibration *calibration, size_t *rows, size_t *h)
{
	const struct wave_tile_sample *largest = &calibration->corner;

	/* Skewed samples have partial tiles on either side, the more the higher they are. */
	*rows = calibration->skew ? CORE_ROWS / 2 : CORE_ROWS;
	*h = CORE_COLUMNS;
	if (!calibration->n) {
		clip(calibration, rows, h);
		return calibration->stage == GROWING;
	}
	if (core_doubts(calibration)) {
		calibration->repeated++;
		*rows = calibration->last.rows;
		*h = calibration->last.columns;
		return true;
	}
	calibration->repeated = 0;
	for (size_t growth = GROWTH; calibration->stage == GROWING; growth /= 2) {
		*rows = largest->rows * growth;
		*h = largest->columns * growth;
		clip(calibration, rows, h);
		if (growth == 1 || calibration->n + 2 >= WAVE_CALIBRATION_MOST)
			calibration->stage = LOW;
		else if (core_wants(calibration, *rows, *h))
			return true;
	}
	while (calibration->stage < MEASURED) {
		bool low = calibration->stage++ == LOW;

		*rows = largest->rows / (low ? CORE_PART : 1);
		*h = largest->columns / (low ? 1 : CORE_PART);
		clip(calibration, rows, h);
		if (core_wants(calibration, *rows, *h))
			return true;
	}
	return false;
}

/* ---- on an accelerator ---- */

/* A tile takes no longer than this, by those of this round. */
static double most_us(struct wave_calibration *calibration, size_t rows, size_t h)
{
	const struct wave_tile_sample *corner = &calibration->corner,
	                              *wide = sample_of(calibration, corner->rows, h),
	                              *high = sample_of(calibration, rows, corner->columns);
	double most = wide && high ? wide->us * high->us / corner->us
	                           : corner->us * rows / corner->rows * h / corner->columns;

	return calibration->n < 4 ? most : fmin(most, DOUBT * fitted_us(calibration, rows, h));
}

/* By how much a direction grows: both sides are those of the corner before. */
static bool grow(struct wave_calibration *calibration, size_t *rows, size_t *h, bool wide)
{
	const struct wave_tile_sample *corner = &calibration->corner;

	for (size_t growth = GROWTH; growth > 1; growth /= 2) {
		*rows = corner->rows * (wide ? 1 : growth);
		*h = corner->columns * (wide ? growth : 1);
		clip(calibration, rows, h);
		if (*rows >= corner->rows && *h >= corner->columns &&
		    *rows * *h > corner->rows * corner->columns &&
		    sample_us(calibration, *rows, *h, most_us(calibration, *rows, *h)) <=
		        WAVE_CALIBRATION_LONGEST)
			return true;
	}
	return false;
}

/* The sample that has grown in both directions. Where only one could grow, the next round begins
 * there. */
static bool round_end(struct wave_calibration *calibration, size_t *rows, size_t *h)
{
	struct wave_tile_sample *corner = &calibration->corner, *known;
	double us;

	*rows = calibration->grown_rows;
	*h = calibration->grown_columns;
	clip(calibration, rows, h);
	known = sample_of(calibration, *rows, *h);
	if (known) {
		bool more = *rows * *h > corner->rows * corner->columns;

		*corner = *known;
		calibration->stage = more ? FIRST : OVER;
		return false;
	}
	calibration->stage = OVER;
	us = sample_us(calibration, *rows, *h, most_us(calibration, *rows, *h));
	/* The fourth shape is worth more, and takes less than can be known before. */
	return us <= (calibration->n < 4 ? 2 : 1) * WAVE_CALIBRATION_LONGEST;
}

/* Two samples are timed twice: the very first, which may have woken the device up, and the
 * one that shows most of what an iteration takes. */
static bool repeat(struct wave_calibration *calibration, size_t *rows, size_t *h)
{
	const struct wave_tile_sample *sample = &calibration->corner;
	struct wave_tile_cost cost;

	if (calibration->n < 2 || calibration->repeated == 2)
		return false;
	wave_cost_fit(calibration->samples, calibration->n, calibration->core, &cost);
	if (!calibration->repeated++)
		sample = &calibration->samples[0];
	else if (cost.iteration * sample->rows * sample->columns < sample->us / DOUBT_PART)
		return false;
	*rows = sample->rows;
	*h = sample->columns;
	return true;
}

static bool accelerator_next(struct wave_calibration *calibration, size_t *rows, size_t *h)
{
	if (calibration->stage == FIRST && !calibration->n) {
		*rows = *h = SIDE;
		clip(calibration, rows, h);
		return true;
	}
	while (calibration->stage != OVER) {
		if (calibration->stage == FIRST && repeat(calibration, rows, h))
			return true;
		/* A round has up to three samples. */
		if (calibration->stage == FIRST &&
		    (calibration->n + 3 > WAVE_CALIBRATION_MOST ||
		     (calibration->n >= 4 && calibration->spent_us > ENOUGH)))
			break;
		switch (++calibration->stage) {
		case WIDE:
			if (!grow(calibration, rows, h, true))
				break;
			calibration->grown_columns = *h;
			return true;
		case HIGH:
			if (!grow(calibration, rows, h, false))
				break;
			calibration->grown_rows = *rows;
			return true;
		default:
			if (round_end(calibration, rows, h))
				return true;
		}
	}
	return false;
}

/* ---- */

bool wave_calibration_next(struct wave_calibration *calibration, size_t *rows, size_t *h)
{
	return calibration->core ? core_next(calibration, rows, h)
	                         : accelerator_next(calibration, rows, h);
}

void wave_calibration_add(struct wave_calibration *calibration, size_t rows, size_t h, double us)
{
	struct wave_tile_sample sample = {rows, h, us}, *known = sample_of(calibration, rows, h);
	bool first = !calibration->n;

	if (!(us > 0)) {
		calibration->stage = calibration->core ? MEASURED : OVER;
		return;
	}
	calibration->spent_us += sample_us(calibration, rows, h, us);
	calibration->last = sample;
	if (known) {
		known->us = calibration->last.us = fmin(known->us, us);
		if (known->rows == calibration->corner.rows &&
		    known->columns == calibration->corner.columns)
			calibration->corner.us = known->us;
		return;
	}
	if (calibration->n == WAVE_CALIBRATION_MOST)
		return;
	calibration->samples[calibration->n++] = sample;
	if (calibration->core ? calibration->stage == GROWING
	                      : first || calibration->stage == OVER) {
		calibration->corner = sample;
		calibration->grown_rows = rows;
		calibration->grown_columns = h;
		calibration->stage = 0;
	}
}

void wave_calibration_cost(const struct wave_calibration *calibration, struct wave_tile_cost *cost)
{
	const struct wave_tile_sample *largest = &calibration->corner;
	struct wave_tile_sample samples[WAVE_CALIBRATION_MOST];
	unsigned n = 0;

	for (unsigned i = 0; i < calibration->n; i++) {
		const struct wave_tile_sample *sample = &calibration->samples[i];

		if (!calibration->core ||
		    sample->rows * sample->columns * SMALL >= largest->rows * largest->columns)
			samples[n++] = *sample;
	}
	wave_cost_fit(samples, n, calibration->core, cost);
}
