/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "model.h"

/* Rows that do not fill vectors make a k worse by no more than this. */
#define MOST_WASTE 1.05
/* What tiles wait for each other beyond the model, µs each: in choosing k, where times differ
 * little, it counts against many small tiles. */
#define WAIT 5
/* Bands of so many vectors of rows have whole ones. */
#define VECTOR 32
#define VECTORS 8
/* How much earlier than a worker can go on with its next chunk the one above must let it, so
 * that no hold-up of one worker is one of all. */
#define SLACK 3

unsigned wave_model_workers(const struct wave_model *model)
{
	unsigned n = 0;

	for (unsigned j = 0; j < model->nkinds; j++)
		n += model->kinds[j].count;
	return n;
}

void wave_model_widths(const struct wave_model *model, double *widths)
{
	double power = 0;

	for (unsigned j = 0; j < model->nkinds; j++)
		power += model->kinds[j].count / model->kinds[j].cp;
	for (unsigned j = 0; j < model->nkinds; j++)
		widths[j] = model->rows / model->k / model->kinds[j].cp / power;
}

/* (1): a message of one interval to or from a kind. */
static double message_us(const struct wave_model *model, const struct wave_kind *kind, double h)
{
	return model->cd + kind->more_cd + h * (model->cc + kind->more_cc);
}

/* A subchunk's time for each of its rows. */
static double row_us(const struct wave_kind *kind, double h)
{
	return kind->cr + h * kind->cp;
}

void wave_model_balanced_widths(const struct wave_model *model, double h, double *widths)
{
	bool gone[WAVE_MAXKINDS] = {false}, again = true;

	while (again) {
		double power = 0, spent = 0, us;

		for (unsigned j = 0; j < model->nkinds; j++) {
			const struct wave_kind *kind = &model->kinds[j];

			if (gone[j])
				continue;
			power += kind->count / row_us(kind, h);
			spent += kind->count * 2 * message_us(model, kind, h) / row_us(kind, h);
		}
		us = (model->rows / model->k + spent) / power;
		again = false;
		for (unsigned j = 0; j < model->nkinds; j++) {
			const struct wave_kind *kind = &model->kinds[j];

			widths[j] =
			    gone[j] ? 0 : (us - 2 * message_us(model, kind, h)) / row_us(kind, h);
			if (gone[j] || !kind->count || widths[j] > 0)
				continue;
			gone[j] = again = true;
		}
	}
}

/* The kind that takes longest for a subchunk: computing takes all the same time, so
 * messages decide, then (as in the paper) the slower processor is the last. */
static unsigned last_kind(const struct wave_model *model)
{
	unsigned last = 0;

	while (last + 1 < model->nkinds && !model->kinds[last].count)
		last++;
	for (unsigned j = last + 1; j < model->nkinds; j++) {
		const struct wave_kind *a = &model->kinds[last], *b = &model->kinds[j];

		if (b->count &&
		    (b->more_cd > a->more_cd || (b->more_cd == a->more_cd && b->cp >= a->cp)))
			last = j;
	}
	return last;
}

double wave_model_time(const struct wave_model *model, double h)
{
	double widths[WAVE_MAXKINDS], us = model->assignment_us, transfer;
	unsigned last = last_kind(model);
	const struct wave_kind *slowest = &model->kinds[last];
	double message = message_us(model, slowest, h);

	wave_model_widths(model, widths);
	/* (8): the first subchunk of every chunk, then the last chunk's others. */
	for (unsigned j = 0; j < model->nkinds; j++) {
		const struct wave_kind *kind = &model->kinds[j];

		us += kind->count * (2 * message_us(model, kind, h) + h * widths[j] * kind->cp);
	}
	us -= 2 * message;
	us += (model->columns / h - 1) * (2 * message + h * widths[last] * slowest->cp);
	/* (10): k times that, with one message of all columns between subproblems. */
	transfer = 2 * message_us(model, slowest, model->columns);
	return model->k * us + (model->k - 1) * (transfer - model->assignment_us);
}

static double clamp(double h, double least, double most)
{
	return h < least ? least : h > most ? most : h;
}

double wave_model_best(const struct wave_model *model)
{
	double widths[WAVE_MAXKINDS], grows = 0;
	unsigned last = last_kind(model);
	const struct wave_kind *slowest = &model->kinds[last];

	wave_model_widths(model, widths);
	for (unsigned j = 0; j < model->nkinds; j++) {
		const struct wave_kind *kind = &model->kinds[j];

		grows += kind->count * (widths[j] * kind->cp + 2 * (model->cc + kind->more_cc));
	}
	grows -= widths[last] * slowest->cp + 4 * (model->cc + slowest->more_cc);
	if (grows <= 0)
		return model->columns;
	return clamp(sqrt(2 * (model->cd + slowest->more_cd) * model->columns / grows), 1,
	             model->columns);
}

double wave_model_chen_xue(const struct wave_model *model)
{
	double workers = wave_model_workers(model), cp = 0;

	if (workers < 2)
		return model->columns;
	for (unsigned j = 0; j < model->nkinds; j++)
		cp += model->kinds[j].count * model->kinds[j].cp / workers;
	return clamp(sqrt(workers * 2 * model->cd * model->columns /
	                  ((workers - 1) * (model->rows * cp + 2 * model->cc))),
	             1, model->columns);
}

/* What a chunk of one kind takes. */
struct chunk_times {
	double lag;   /* until the chunk below may begin */
	double whole; /* all of its subchunks */
	double cycle; /* from a subchunk to the same one of the next sweep, at the least */
};

static struct chunk_times kind_chunk(const struct wave_model *model, const struct wave_kind *kind,
                                     double width, double h)
{
	double columns = model->columns, all = columns * width;
	/* Its last row reaches a column that much later than its first. */
	double shift = model->skew * (width > 1 ? width - 1 : 0), rows = width, before, fixed;

	if (shift <= columns) {
		before = (h + shift / 2) * width;
	} else {
		/* No subchunk has all rows, and little is left when the last one is reached. */
		rows = fmin(width, (columns + h) / model->skew);
		before = fmin(all, all - (columns / 2 - h) * columns / model->skew);
	}
	/* What every subchunk costs, however short. */
	fixed = 2 * message_us(model, kind, h) + rows * kind->cr;
	struct chunk_times times = {
	    .lag = (1 + shift / h) * fixed + before * kind->cp,
	    .whole = (columns + shift) / h * fixed + all * kind->cp,
	};

	/* A sweep needs what the chunk below has done in the one before, which is behind by
	 * the lag, one subchunk further to the right. */
	times.cycle = times.lag + 2 * (fixed + h * width * kind->cp);
	return times;
}

double wave_model_pipelined_time(const struct wave_model *model, double h)
{
	double widths[WAVE_MAXKINDS], around = 0, period = 0, last = 0, cycle = 0, way = 0;
	double chunks = (double)model->k * (model->sweeps ? model->sweeps : 1), us;
	double hop = model->hops ? model->hop_us + h * model->hop_column_us : 0;

	wave_model_balanced_widths(model, h, widths);
	for (unsigned j = 0; j < model->nkinds; j++) {
		const struct wave_kind *kind = &model->kinds[j];
		struct chunk_times times = kind_chunk(model, kind, widths[j], h);

		if (!kind->count)
			continue;
		around += kind->count * times.lag;
		cycle = fmax(cycle, times.cycle);
		/* The first chunk's data is copied before, the last one's written back after. */
		way = fmax(way, (kind->in + kind->out) * widths[j] * model->columns);
		if (times.whole > period) {
			period = times.whole;
			last = times.lag;
		}
	}
	us = model->assignment_us + around - last + way;
	around += model->hops * hop;
	if (model->sweeps > 1 && chunks > 1 && wave_model_workers(model) > 1 && cycle > period)
		period = cycle;
	/* A worker's next chunk waits for the last worker's to begin. */
	us += (chunks - 1) * (model->k > 1 && SLACK * around > period ? SLACK * around : period);
	us += period;
	if (!model->hops)
		return us;
	return fmax(us, model->columns / h * chunks * hop / model->under_way) +
	       (model->hops - 1) * hop;
}

/* ---- choosing ---- */

/* The best whole h, between `low` and `high`: the time falls, then rises, so three
 * points close in on it. */
static size_t best_between(const struct wave_model *model, size_t low, size_t high, double *us)
{
	size_t best = low;

	while (high > low + 2) {
		size_t third = (high - low) / 3, a = low + third, b = high - third;

		if (wave_model_pipelined_time(model, a) <= wave_model_pipelined_time(model, b))
			high = b;
		else
			low = a;
	}
	*us = INFINITY;
	for (size_t h = low; h <= high; h++) {
		double time = wave_model_pipelined_time(model, h);

		if (time < *us) {
			*us = time;
			best = h;
		}
	}
	return best;
}

/* Where a kind is too slow for its messages the time may fall twice: the neighbourhood of
 * the best of some is looked at closely. */
static size_t best_interval(const struct wave_model *model, double *us)
{
	size_t most = model->columns, before = 1, after = most;
	double best = INFINITY;

	for (size_t h = 1, last = 1;; last = h, h = h + h / 2 + 1) {
		double time = wave_model_pipelined_time(model, h < most ? h : most);

		if (time < best) {
			best = time;
			before = last;
			after = h + h / 2 + 1 < most ? h + h / 2 + 1 : most;
		}
		if (h >= most)
			break;
	}
	return best_between(model, before, after, us);
}

static double narrowest(const struct wave_model *model, double h)
{
	double widths[WAVE_MAXKINDS], least = model->rows;

	wave_model_balanced_widths(model, h, widths);
	for (unsigned j = 0; j < model->nkinds; j++)
		if (model->kinds[j].count && widths[j] < least)
			least = widths[j];
	return least;
}

/* How much a k counts for less because the last vector of a chunk's rows is not full: it is
 * a preference only, since not every kernel has vectors. */
static double waste(const struct wave_model *model, double width)
{
	double vector = model->vector ? model->vector : 1;

	return width > 0 ? fmin(MOST_WASTE, ceil(width / vector - 1e-9) * vector / width) : 1;
}

/* Columns are cut into whole tiles: one that holds what is left over costs as much as
 * others besides its iterations. Not so in a skewed space, where bands begin anywhere. */
static size_t even_out(const struct wave_model *model, size_t h, double *us)
{
	size_t columns = model->columns, tiles = columns / h;
	size_t longer = (columns + tiles - 1) / tiles, shorter = (columns + tiles) / (tiles + 1);
	double longer_us, shorter_us;

	if (model->skew > 0 || columns != model->columns || columns % h == 0)
		return h;
	longer_us = wave_model_pipelined_time(model, longer);
	shorter_us = wave_model_pipelined_time(model, shorter);
	*us = fmin(longer_us, shorter_us);
	return longer_us <= shorter_us ? longer : shorter;
}

double wave_model_counts(const struct wave_model *model, double h, double us)
{
	return us * waste(model, narrowest(model, h)) + WAIT * model->k * model->columns / h;
}

static int by_counts(const void *a, const void *b)
{
	const struct wave_candidate *first = a, *second = b;

	if (first->counts != second->counts)
		return first->counts < second->counts ? -1 : 1;
	return (first->k > second->k) - (first->k < second->k);
}

/* All small k, then some: of 40 bands one more or less matters little. */
unsigned wave_model_candidates(const struct wave_model *given, unsigned most, double minimum_rows,
                               struct wave_candidate *all)
{
	struct wave_model model = *given;
	unsigned first = given->k ? given->k : 1, last = given->k ? given->k : most, n = 0;

	for (model.k = first; model.k <= last && n < WAVE_MOST_CANDIDATES;
	     model.k += 1 + model.k / 8) {
		struct wave_candidate candidate = {.k = model.k};

		candidate.h = best_interval(&model, &candidate.us);
		candidate.h = even_out(&model, candidate.h, &candidate.us);
		if (model.k > first && narrowest(&model, candidate.h) < minimum_rows)
			break;
		candidate.counts = wave_model_counts(&model, candidate.h, candidate.us);
		all[n++] = candidate;
	}
	qsort(all, n, sizeof(*all), by_counts);
	return n;
}

double wave_model_least_time(const struct wave_model *model, unsigned most, double minimum_rows,
                             size_t *h, unsigned *k)
{
	struct wave_candidate all[WAVE_MOST_CANDIDATES];

	wave_model_candidates(model, most, minimum_rows, all);
	*h = all[0].h;
	*k = all[0].k;
	return all[0].us;
}

size_t wave_model_choose(const struct wave_model *model, unsigned most, double minimum_rows,
                         unsigned *k)
{
	size_t h = 1;

	wave_model_least_time(model, most, minimum_rows, &h, k);
	return h;
}

/* ---- bands ---- */

double wave_model_iteration_us(const struct wave_model *model, unsigned kind, double h,
                               double width)
{
	const struct wave_kind *of = &model->kinds[kind];

	return 2 * message_us(model, of, h) / width / h + of->cr / h + of->cp;
}

size_t wave_model_rows(double wanted, bool stay, double *owed, size_t left, size_t minimum)
{
	size_t rows;

	*owed += wanted;
	rows = *owed < 1 ? 1 : (size_t)(*owed + 0.5);
	if (!stay && rows >= VECTOR * VECTORS)
		rows = (rows + VECTOR / 2) / VECTOR * VECTOR;
	*owed -= rows;
	if (rows < minimum)
		rows = minimum;
	return left < rows + minimum ? left : rows;
}

bool wave_model_drifted(double predicted, double measured)
{
	return predicted > 0 && measured > 0 &&
	       (measured > predicted * (1 + WAVE_DRIFT) || measured < predicted / (1 + WAVE_DRIFT));
}
