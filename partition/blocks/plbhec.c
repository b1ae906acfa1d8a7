/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PLB-HeC: each worker's time over block size is a curve fitted to blocks that it did, and shares
 * are such that all curves end at one time. The curves' errors show in later blocks. Then curves
 * and shares are made anew.
 *
 * The text of the paper was not at hand. The abstracts of it and of its successor PLB-HAC tell of
 * curves fitted in the run, of the equations of equal ends and of blocks given without waiting for
 * others; later work tells of the three phases. Chosen here:
 *
 * - Sizes of measuring blocks double on the fastest worker. Others' are to these as their rates.
 * - A curve is start + pace n + extra f(n), with f(n) = ln(1 + n), n ln n, n^2 or none, whichever
 *   leaves least for its number of coefficients; a bend must be plain. No coefficient is below 0,
 * so curves rise.
 * - The paper solves the equations with an interior-point method. Of curves that rise, each end
 *   has one share of each worker, and their sum rises with the end. So the same solution is the
 *   root of one function of one variable.
 * - A round shares out a quarter of what is left, so that an error of the curves can be mended.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/blocks/strategy.h"

enum { FIRST, POINTS, FIT, PROBING, PART, THRESHOLD, LEAST };

/* A curve comes from the latest blocks of its worker. */
#define MAXPOINTS 8
/* A curve is better than a line if it leaves so much of the variance that the line leaves. */
#define BEND 0.1

static const struct heddle_strategy_parameter parameters[] = {
    {"first", 0, 0, 1e18, "iterations",
     "a worker's first block; 0: measuring blocks of workers that are alike take half of probing"},
    {"points", 4, 2, MAXPOINTS, "blocks", "of each worker before its curve is fitted"},
    {"fit", 0.7, 0, 1, "of the variance", "that a curve explains, or its worker measures on"},
    {"probing", 0.2, 0, 1, "of the iterations", "most that measuring blocks take"},
    {"part", 0.25, 0.01, 1, "of what is left", "shared out in a round"},
    {"threshold", 0.1, 0, 1e18, "of a block's time",
     "a block that differs by more from its curve has all made anew"},
    {"least", 0, 0, 1e18, "iterations", "smallest block of a round; 0: half of first"},
    {0},
};

enum form { LINE, LOGARITHM, LINEARITHMIC, SQUARE, NFORMS };

/* What a block of n iterations takes, microseconds. */
struct curve {
	double start, pace, extra;
	enum form form;
	double explained; /* of the variance of its points */
};

struct plbhec_worker {
	unsigned asked, answered;
	unsigned npoints;
	struct point {
		double n, us;
	} points[MAXPOINTS]; /* the latest ones, the oldest of them first */
	struct curve curve;
	double quota; /* iterations of a round that it has not taken */
};

struct plbhec {
	bool probing;
	size_t probed;   /* iterations given in measuring blocks */
	unsigned judged; /* blocks since curves were made */
	struct plbhec_worker worker[];
};

static double form_at(enum form form, double n)
{
	switch (form) {
	case LOGARITHM:
		return log1p(n);
	case LINEARITHMIC:
		return n * log(fmax(1, n));
	case SQUARE:
		return n * n;
	default:
		return 0;
	}
}

static double form_slope(enum form form, double n)
{
	switch (form) {
	case LOGARITHM:
		return 1 / (1 + n);
	case LINEARITHMIC:
		return n > 1 ? log(n) + 1 : 0;
	case SQUARE:
		return 2 * n;
	default:
		return 0;
	}
}

static double curve_us(const struct curve *curve, double n)
{
	return curve->start + curve->pace * n + curve->extra * form_at(curve->form, n);
}

/* The block that is done in `us`, of `most` iterations at most. */
static double curve_size(const struct curve *curve, double us, double most)
{
	double low = 0, high = most, n;

	if (curve->pace * most > us - curve->start)
		high = (us - curve->start) / curve->pace;
	n = high;
	if (!(high > 0))
		return 0;
	/* Newton's steps, or halves where one leaves what is known of the root. */
	for (int i = 0; i < 60; i++) {
		double off = curve_us(curve, n) - us;

		if (fabs(off) <= 1e-6 * us || (n == most && off < 0))
			break;
		if (off < 0)
			low = n;
		else
			high = n;
		n -= off / (curve->pace + curve->extra * form_slope(curve->form, n));
		if (!(n > low && n < high))
			n = (low + high) / 2;
	}
	return n;
}

/* ---- curves ---- */

#define NCOEFFICIENTS 3

/* Points as the equations have them: sizes and times as parts of the largest. */
struct scaled {
	unsigned n;
	double f[MAXPOINTS][NCOEFFICIENTS], us[MAXPOINTS];
};

/* Least squares with the coefficients in use.
 * @return false: the points do not tell them apart */
static bool solve(const struct scaled *points, const bool *used, double *coefficients)
{
	double a[NCOEFFICIENTS][NCOEFFICIENTS + 1] = {{0}};

	for (unsigned i = 0; i < NCOEFFICIENTS; i++)
		for (unsigned p = 0; used[i] && p < points->n; p++) {
			for (unsigned j = 0; j < NCOEFFICIENTS; j++)
				a[i][j] += used[j] ? points->f[p][i] * points->f[p][j] : 0;
			a[i][NCOEFFICIENTS] += points->f[p][i] * points->us[p];
		}
	for (unsigned i = 0; i < NCOEFFICIENTS; i++) {
		if (!used[i])
			a[i][i] = 1;
		/* Sums of squares of numbers up to 1: what rounding leaves of 0. */
		if (!(a[i][i] > 1e-9))
			return false;
		for (unsigned k = 0; k < NCOEFFICIENTS; k++) {
			double factor = a[k][i] / a[i][i];

			for (unsigned j = i; k != i && j <= NCOEFFICIENTS; j++)
				a[k][j] -= factor * a[i][j];
		}
	}
	for (unsigned i = 0; i < NCOEFFICIENTS; i++)
		coefficients[i] = a[i][NCOEFFICIENTS] / a[i][i];
	return true;
}

/* The same with no coefficient below 0: those that would be are left out.
 * @return how many are in use; 0: there is no such curve that rises with the size */
static unsigned solve_rising(const struct scaled *points, bool *used, double *coefficients)
{
	for (;;) {
		unsigned least = 0, count = 0;

		if (!solve(points, used, coefficients))
			return 0;
		for (unsigned i = 0; i < NCOEFFICIENTS; i++) {
			least = coefficients[i] < coefficients[least] ? i : least;
			count += used[i];
		}
		if (coefficients[least] >= 0)
			return coefficients[1] > 0 ? count : 0;
		used[least] = false;
	}
}

/* What the curve leaves of the variance of the points, as part of it. */
static double unexplained(const struct scaled *points, const double *coefficients)
{
	double mean = 0, all = 0, left = 0;

	for (unsigned p = 0; p < points->n; p++)
		mean += points->us[p] / points->n;
	for (unsigned p = 0; p < points->n; p++) {
		double off = points->us[p];

		for (unsigned i = 0; i < NCOEFFICIENTS; i++)
			off -= coefficients[i] * points->f[p][i];
		all += (points->us[p] - mean) * (points->us[p] - mean);
		left += off * off;
	}
	return all > 0 ? left / all : 1;
}

static void curve_fit(struct plbhec_worker *w)
{
	double n = 0, us = 0, largest = 0, longest = 0, best = HUGE_VAL;
	struct scaled points = {.n = w->npoints};

	for (unsigned p = 0; p < w->npoints; p++) {
		n += w->points[p].n;
		us += w->points[p].us;
		largest = fmax(largest, w->points[p].n);
		longest = fmax(longest, w->points[p].us);
	}
	/* Points that tell no curve tell a mean. */
	w->curve = (struct curve){.pace = us / n};
	for (enum form form = LINE; form < NFORMS; form++) {
		double coefficients[NCOEFFICIENTS], scale = fmax(1, form_at(form, largest));
		double left, each;
		bool used[NCOEFFICIENTS] = {true, true, form != LINE};
		unsigned count;

		for (unsigned p = 0; p < w->npoints; p++) {
			points.f[p][0] = 1;
			points.f[p][1] = w->points[p].n / largest;
			points.f[p][2] = form_at(form, w->points[p].n) / scale;
			points.us[p] = w->points[p].us / longest;
		}
		count = solve_rising(&points, used, coefficients);
		if (!count || (form != LINE && count >= w->npoints))
			continue;
		left = unexplained(&points, coefficients);
		each = left / fmax(1, w->npoints - count);
		/* A bend is believed where it shows: extrapolated noise is worse than a line. */
		if (each >= best * (w->curve.form == LINE ? BEND : 1))
			continue;
		best = each;
		w->curve = (struct curve){.start = coefficients[0] * longest,
		                          .pace = coefficients[1] * longest / largest,
		                          .extra = coefficients[2] * longest / scale,
		                          .form = form,
		                          .explained = 1 - left};
	}
}

/* ---- measuring ---- */

static int plbhec_begin(struct heddle_strategy *b)
{
	struct plbhec *s = calloc(1, sizeof(*s) + b->nworkers * sizeof(s->worker[0]));

	if (!s)
		return -ENOMEM;
	s->probing = true;
	b->state = s;
	return 0;
}

static double first_size(const struct heddle_strategy *b)
{
	double blocks = b->nworkers * (exp2(b->parameters[POINTS]) - 1);

	if (b->parameters[FIRST])
		return b->parameters[FIRST];
	return fmax(1, b->parameters[PROBING] * blocks_extent(b) / (2 * blocks));
}

/* A worker's mean rate over its latest points; 0: there are none. */
static double rate(const struct plbhec_worker *w)
{
	double n = 0, us = 0;

	for (unsigned p = 0; p < w->npoints; p++) {
		n += w->points[p].n;
		us += w->points[p].us;
	}
	return us > 0 ? n / us : 0;
}

static bool worker_probed(const struct heddle_strategy *b, const struct plbhec_worker *w)
{
	return w->answered >= b->parameters[POINTS] && w->curve.explained >= b->parameters[FIT];
}

static bool all_probed(const struct heddle_strategy *b)
{
	const struct plbhec *s = b->state;

	if (s->probed >= b->parameters[PROBING] * b->total)
		return true;
	for (unsigned w = 0; w < b->nworkers; w++)
		if (!b->workers[w].retired && !worker_probed(b, &s->worker[w]))
			return false;
	return true;
}

static double probing_size(const struct heddle_strategy *b, unsigned worker)
{
	const struct plbhec *s = b->state;
	double own = rate(&s->worker[worker]), fastest = own, first = first_size(b), size;

	for (unsigned w = 0; own > 0 && w < b->nworkers; w++)
		fastest = fmax(fastest, rate(&s->worker[w]));
	size = first * exp2(s->worker[worker].asked) * (own > 0 ? own / fastest : 1);
	return fmin(size, fmax(first, b->parameters[PROBING] * b->total - s->probed));
}

/* ---- shares ---- */

/* Iterations that all are done with at that time, from now on. */
static double shares_at(const struct heddle_strategy *b, double us, double most)
{
	const struct plbhec *s = b->state;
	double sum = 0;

	for (unsigned w = 0; w < b->nworkers; w++)
		if (!b->workers[w].retired && s->worker[w].answered)
			sum += curve_size(&s->worker[w].curve, us, most);
	return sum;
}

/* Shares out n iterations: all curves that begin before it end at one time. */
static void round_make(const struct heddle_strategy *b, double n)
{
	struct plbhec *s = b->state;
	double low = 0, high = HUGE_VAL, sum;

	for (unsigned w = 0; w < b->nworkers; w++)
		if (!b->workers[w].retired && s->worker[w].answered)
			high = fmin(high, curve_us(&s->worker[w].curve, n));
	for (int i = 0; i < 30; i++) {
		double middle = (low + high) / 2;

		if (shares_at(b, middle, n) < n)
			low = middle;
		else
			high = middle;
	}
	sum = shares_at(b, high, n);
	for (unsigned w = 0; w < b->nworkers; w++)
		if (!b->workers[w].retired && s->worker[w].answered)
			s->worker[w].quota += curve_size(&s->worker[w].curve, high, n) * n / sum;
}

static void quotas_drop(const struct heddle_strategy *b)
{
	struct plbhec *s = b->state;

	for (unsigned w = 0; w < b->nworkers; w++)
		s->worker[w].quota = 0;
}

static double covered(const struct heddle_strategy *b)
{
	const struct plbhec *s = b->state;
	double sum = 0;

	for (unsigned w = 0; w < b->nworkers; w++)
		if (!b->workers[w].retired)
			sum += s->worker[w].quota;
	return sum;
}

static double least_size(const struct heddle_strategy *b)
{
	return b->parameters[LEAST] ? b->parameters[LEAST] : fmax(1, first_size(b) / 2);
}

/* A worker has taken all of its rounds. */
static void round_next(const struct heddle_strategy *b)
{
	double open = b->remaining - covered(b), n, least = least_size(b) * blocks_active(b);

	if (open < least) {
		/* Nobody waits for what others have not taken. */
		quotas_drop(b);
		open = b->remaining;
	}
	n = b->parameters[PART] * open;
	round_make(b, n < least ? open : n);
}

static size_t plbhec_next(struct heddle_strategy *b, unsigned worker)
{
	struct plbhec *s = b->state;
	struct plbhec_worker *w = &s->worker[worker];
	double least = least_size(b);

	s->probing &= !all_probed(b);
	if (s->probing)
		return blocks_wish(b, ceil(probing_size(b, worker)));
	if (!w->answered)
		return blocks_wish(b, ceil(first_size(b)));
	if (w->quota < 1)
		round_next(b);
	return blocks_wish(b, fmax(ceil(w->quota), ceil(least)));
}

static void plbhec_gave(struct heddle_strategy *b, unsigned worker, size_t n)
{
	struct plbhec *s = b->state;
	struct plbhec_worker *w = &s->worker[worker];

	w->asked++;
	w->quota = fmax(0, w->quota - n);
	s->probed += s->probing ? n : 0;
}

static void plbhec_completed(struct heddle_strategy *b, unsigned worker, size_t n, double us)
{
	struct plbhec *s = b->state;
	struct plbhec_worker *w = &s->worker[worker];
	bool off =
	    !s->probing && w->answered &&
	    fabs(us - curve_us(&w->curve, n)) > b->parameters[THRESHOLD] * curve_us(&w->curve, n);

	if (w->npoints == MAXPOINTS)
		memmove(w->points, w->points + 1, --w->npoints * sizeof(w->points[0]));
	w->points[w->npoints++] = (struct point){n, us};
	w->answered++;
	s->judged++;
	/* Curves of all are made anew at most once for a block of each. */
	if (s->probing || w->answered == 1) {
		curve_fit(w);
	} else if (off && s->judged >= blocks_active(b)) {
		s->judged = 0;
		for (unsigned v = 0; v < b->nworkers; v++)
			if (s->worker[v].answered)
				curve_fit(&s->worker[v]);
		quotas_drop(b);
	}
}

static enum heddle_phase plbhec_phase(const struct heddle_strategy *b, unsigned worker)
{
	const struct plbhec *s = b->state;

	return s->probing || !s->worker[worker].answered ? HEDDLE_PHASE_ADAPTIVE
	                                                 : HEDDLE_PHASE_COMPLETION;
}

static void plbhec_end(struct heddle_strategy *b)
{
	free(b->state);
}

const struct blocks_strategy blocks_plbhec = {
    .table = {.name = "plbhec",
              .source = "Sant'Ana, Cordeiro and de Camargo, PLB-HeC, IEEE Cluster 2015; from "
                        "abstracts, see doc/strategies.md",
              .doc = "profile-based load balancing: curves of time over size, shares such that "
                     "all curves end at one time",
              .parameters = parameters},
    .begin = plbhec_begin,
    .next = plbhec_next,
    .gave = plbhec_gave,
    .completed = plbhec_completed,
    .phase = plbhec_phase,
    .end = plbhec_end,
};
