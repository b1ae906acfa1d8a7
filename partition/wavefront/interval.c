/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "interval.h"

unsigned interval_workers(const struct interval_model *model)
{
	unsigned n = 0;

	for (unsigned j = 0; j < model->nkinds; j++)
		n += model->kinds[j].count;
	return n;
}

void interval_widths(const struct interval_model *model, double *widths)
{
	double power = 0;

	for (unsigned j = 0; j < model->nkinds; j++)
		power += model->kinds[j].count / model->kinds[j].cp;
	for (unsigned j = 0; j < model->nkinds; j++)
		widths[j] = model->rows / model->k / model->kinds[j].cp / power;
}

/* (1): a message of one interval to or from a kind. */
static double message_us(const struct interval_model *model, const struct interval_kind *kind,
                         double h)
{
	return model->cd + kind->more_cd + h * (model->cc + kind->more_cc);
}

/* The kind that takes longest for a subchunk: computing takes all the same time, so
 * messages decide, then (as in the paper) the slower processor is the last. */
static unsigned last_kind(const struct interval_model *model)
{
	unsigned last = 0;

	while (last + 1 < model->nkinds && !model->kinds[last].count)
		last++;
	for (unsigned j = last + 1; j < model->nkinds; j++) {
		const struct interval_kind *a = &model->kinds[last], *b = &model->kinds[j];

		if (b->count &&
		    (b->more_cd > a->more_cd || (b->more_cd == a->more_cd && b->cp >= a->cp)))
			last = j;
	}
	return last;
}

double interval_time(const struct interval_model *model, double h)
{
	double widths[INTERVAL_MAXKINDS], us = model->assignment_us, transfer;
	unsigned last = last_kind(model);
	const struct interval_kind *slowest = &model->kinds[last];
	double message = message_us(model, slowest, h);

	interval_widths(model, widths);
	/* (8): the first subchunk of every chunk, then the last chunk's others. */
	for (unsigned j = 0; j < model->nkinds; j++) {
		const struct interval_kind *kind = &model->kinds[j];

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

double interval_best(const struct interval_model *model)
{
	double widths[INTERVAL_MAXKINDS], grows = 0;
	unsigned last = last_kind(model);
	const struct interval_kind *slowest = &model->kinds[last];

	interval_widths(model, widths);
	for (unsigned j = 0; j < model->nkinds; j++) {
		const struct interval_kind *kind = &model->kinds[j];

		grows += kind->count * (widths[j] * kind->cp + 2 * (model->cc + kind->more_cc));
	}
	grows -= widths[last] * slowest->cp + 4 * (model->cc + slowest->more_cc);
	if (grows <= 0)
		return model->columns;
	return clamp(sqrt(2 * (model->cd + slowest->more_cd) * model->columns / grows), 1,
	             model->columns);
}

double interval_chen_xue(const struct interval_model *model)
{
	double workers = interval_workers(model), cp = 0;

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

static struct chunk_times chunk_times(const struct interval_model *model,
                                      const struct interval_kind *kind, double width, double h)
{
	double messages = 2 * message_us(model, kind, h);
	/* Its last row reaches a column that much later than its first. */
	double shift = model->skew * (width > 1 ? width - 1 : 0);

	if (shift > model->columns)
		shift = model->columns;
	struct chunk_times times = {
	    .lag = (1 + shift / h) * messages + (h + shift / 2) * width * kind->cp,
	    .whole = (model->columns + shift) / h * messages + model->columns * width * kind->cp,
	};

	/* A sweep needs what the chunk below has done in the one before, which is behind by
	 * the lag, one subchunk further to the right. */
	times.cycle = times.lag + 2 * (messages + h * width * kind->cp);
	return times;
}

double interval_pipelined_time(const struct interval_model *model, double h)
{
	double widths[INTERVAL_MAXKINDS], fill = 0, around = 0, period = 0, cycle = 0;
	unsigned last = last_kind(model);
	double chunks = (double)model->k * (model->sweeps ? model->sweeps : 1);

	interval_widths(model, widths);
	for (unsigned j = 0; j < model->nkinds; j++) {
		const struct interval_kind *kind = &model->kinds[j];
		struct chunk_times times = chunk_times(model, kind, widths[j], h);

		around += kind->count * times.lag;
		if (kind->count && times.cycle > cycle)
			cycle = times.cycle;
		if (j == last)
			fill = times.lag, period = times.whole;
	}
	fill = around - fill;
	if (model->sweeps > 1 && chunks > 1 && interval_workers(model) > 1 && cycle > period)
		period = cycle;
	/* A worker's next chunk waits for the last worker's to begin. */
	if (model->k > 1 && around > period)
		return model->assignment_us + fill + (chunks - 1) * around + period;
	return model->assignment_us + fill + chunks * period;
}

/* ---- choosing ---- */

/* The best whole h: the time falls, then rises, so three points close in on it. */
static size_t best_interval(const struct interval_model *model, size_t least, double *us)
{
	size_t low = least, high = model->columns;

	while (high > low + 2) {
		size_t third = (high - low) / 3, a = low + third, b = high - third;

		if (interval_pipelined_time(model, a) <= interval_pipelined_time(model, b))
			high = b;
		else
			low = a;
	}
	*us = INFINITY;
	for (size_t h = low; h <= high; h++) {
		double time = interval_pipelined_time(model, h);

		if (time < *us) {
			*us = time;
			least = h;
		}
	}
	return least;
}

static double narrowest(const struct interval_model *model)
{
	double widths[INTERVAL_MAXKINDS], least = model->rows;

	interval_widths(model, widths);
	for (unsigned j = 0; j < model->nkinds; j++)
		if (model->kinds[j].count && widths[j] < least)
			least = widths[j];
	return least;
}

static size_t choose(const struct interval_model *given, unsigned most, double minimum_rows,
                     size_t least, unsigned *k, double *us)
{
	struct interval_model model = *given;
	unsigned first = given->k ? given->k : 1, last = given->k ? given->k : most;
	size_t best = least;

	if (least > model.columns)
		least = model.columns;
	*us = INFINITY;
	/* All small k, then some: of 40 bands one more or less matters little. */
	for (model.k = first; model.k <= last; model.k += 1 + model.k / 8) {
		double time;
		size_t h;

		if (model.k > first && narrowest(&model) < minimum_rows)
			break;
		h = best_interval(&model, least < 1 ? 1 : least, &time);
		if (time < *us) {
			*us = time;
			*k = model.k;
			best = h;
		}
	}
	return best;
}

size_t interval_choose(const struct interval_model *model, unsigned most, double minimum_rows,
                       size_t least, unsigned *k)
{
	double us;

	return choose(model, most, minimum_rows, least, k, &us);
}

static unsigned slowest_kind(const struct interval_model *model)
{
	unsigned slowest = 0;

	for (unsigned j = 1; j < model->nkinds; j++)
		if (model->kinds[j].count &&
		    (!model->kinds[slowest].count || model->kinds[j].cp > model->kinds[slowest].cp))
			slowest = j;
	return slowest;
}

unsigned interval_exclude(struct interval_model *model, unsigned most, double minimum_rows)
{
	struct interval_model without = *model;
	unsigned workers = interval_workers(model), excluded = 0, k;
	double best, us;

	choose(model, most, minimum_rows, 1, &k, &best);
	/* A whole kind may have to go before it shows: so no early end. */
	for (unsigned gone = 1; gone < workers; gone++) {
		without.kinds[slowest_kind(&without)].count--;
		choose(&without, most, minimum_rows, 1, &k, &us);
		if (us < best) {
			best = us;
			excluded = gone;
			*model = without;
		}
	}
	return excluded;
}

bool interval_drifted(double predicted, double measured)
{
	return predicted > 0 && measured > 0 &&
	       (measured > predicted * (1 + INTERVAL_DRIFT) ||
	        measured < predicted / (1 + INTERVAL_DRIFT));
}
