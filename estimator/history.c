/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "estimator/history.h"
#include "estimator/surface.h"

_Static_assert(HEDDLE_PROFILE_KEY == HEDDLE_HISTORY_NAME, "names of parameters are keys");
_Static_assert(HEDDLE_PROFILE_TEXT >= HEDDLE_HISTORY_WORD, "categories are words");

_Static_assert(HEDDLE_HISTORY_DIMENSIONS + 1 == HEDDLE_SURFACE_DIMENSIONS,
               "a coordinate for each dimension, and one for the work");

/* What is expected of times as logarithms. Measured ones are off by NOISE, exponents by SLOPE. What
 * differs from a power law does so by BEND, alike for parameters that are not farther apart than
 * REACH. Chosen with random jobs of eight codelets; half or twice as much makes little difference.
 */
#define NOISE 0.03
#define SLOPE .35
#define BEND 0.6
#define REACH 10
/* The noise of points grows with their distance, in parts of that of the nearest ones: so many, and
 * so many more for each dimension. */
#define NEAREST 3
#define NEAREST_MORE 2
#define FAR 1.5
/* No weight is less, as a logarithm. */
#define LEAST_WEIGHT -40.
/* Expected exponents of times over sizes of data, which tell how a single number counts where they
 * are known. */
#define GROWTH 1
#define GROWTH_WIDE 0.5
/* In parts of that, over a number that is stated alone, and over each of several: times grow about
 * as their product, but some numbers matter little. */
#define ALONE 1
#define EACH 0.75
/* Of the least time, what a start has at most. */
#define MOST_START 0.7
/* No weight distinguishes points that are nearer than that. */
#define NEAR 0.1

struct heddle_history_surface {
	struct heddle_surface surface;
	size_t points[HEDDLE_HISTORY_SURFACE];
	double origin[HEDDLE_HISTORY_DIMENSIONS]; /* logarithms, from which coordinates count */
	double memory[HEDDLE_SURFACE_MEMORY(HEDDLE_HISTORY_SURFACE)];
};

static void surface_drop(struct heddle_history *history, unsigned class)
{
	free(history->surfaces[class]);
	history->surfaces[class] = NULL;
}

void heddle_history_free(struct heddle_history *history)
{
	for (unsigned c = 0; c < HEDDLE_HISTORY_CLASSES; c++)
		surface_drop(history, c);
	free(history->points);
	free(history->words);
	memset(history, 0, sizeof(*history));
}

static bool reserved(const char *name)
{
	static const char *const names[] = {"device", "us", "samples", "at"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* The number of dimensions when there is none of that name. */
static unsigned dimension_find(const struct heddle_history *history, const char *name)
{
	unsigned d = 0;

	while (d < history->ndimensions && strcmp(history->names[d], name))
		d++;
	return d;
}

int heddle_history_dimension(struct heddle_history *history, const char *name, bool categorical,
                             unsigned *dimension)
{
	unsigned d = dimension_find(history, name);

	if (d < history->ndimensions) {
		if (history->dimensions[d].categorical != categorical)
			return -EINVAL;
		*dimension = d;
		return 0;
	}
	if (!heddle_profile_key_valid(name) || reserved(name))
		return -EINVAL;
	if (d == HEDDLE_HISTORY_DIMENSIONS)
		return -ENOSPC;
	strcpy(history->names[d], name);
	history->dimensions[d] = (struct heddle_knn_dimension){.categorical = categorical};
	for (unsigned c = 0; c < HEDDLE_HISTORY_CLASSES; c++)
		surface_drop(history, c);
	history->ndimensions++;
	*dimension = d;
	return 0;
}

/* Room for one more element, doubling. */
static int grow(void **array, size_t *room, size_t used, size_t size)
{
	size_t more = *room ? 2 * *room : 16;
	void *bigger;

	if (used < *room)
		return 0;
	bigger = reallocarray(*array, more, size);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	*room = more;
	return 0;
}

int heddle_history_word(struct heddle_history *history, const char *word, double *value)
{
	size_t w = 0;

	while (w < history->nwords && strcmp(history->words[w], word))
		w++;
	if (w == history->nwords) {
		if (!*word || strlen(word) >= HEDDLE_HISTORY_WORD)
			return -EINVAL;
		if (grow((void **)&history->words, &history->words_room, w,
		         sizeof(*history->words)))
			return -ENOMEM;
		strcpy(history->words[w], word);
		history->nwords++;
	}
	*value = w;
	return 0;
}

/* The logarithms of numbers above 0. What is a word or missing has none. */
static void logs_take(const struct heddle_history *history, const double *values, double *logs)
{
	for (unsigned d = 0; d < HEDDLE_HISTORY_DIMENSIONS; d++) {
		bool number = d < history->ndimensions && !history->dimensions[d].categorical;

		logs[d] = number && values[d] > 0 ? log(values[d]) : NAN;
	}
}

int heddle_history_add(struct heddle_history *history, const double *values, size_t *point)
{
	struct heddle_history_point *p;

	if (grow((void **)&history->points, &history->points_room, history->npoints,
	         sizeof(*history->points)))
		return -ENOMEM;
	p = &history->points[history->npoints];
	memset(p, 0, sizeof(*p));
	memcpy(p->values, values, sizeof(p->values));
	logs_take(history, values, p->logs);
	for (unsigned d = 0; d < history->ndimensions; d++)
		if (fabs(values[d]) > history->dimensions[d].highest)
			history->dimensions[d].highest = fabs(values[d]);
	*point = history->npoints++;
	return 0;
}

/* Dimensions that came later than a point are missing in it. */
static double value_of(const struct heddle_history *history, const double *values, unsigned d)
{
	return d < history->ndimensions ? values[d] : NAN;
}

static bool same_values(const struct heddle_history *history, const double *a, const double *b)
{
	for (unsigned d = 0; d < history->ndimensions; d++) {
		double x = value_of(history, a, d), y = value_of(history, b, d);

		if (x != y && !(isnan(x) && isnan(y)))
			return false;
	}
	return true;
}

size_t heddle_history_find(const struct heddle_history *history, const double *values)
{
	size_t p = 0;

	while (p < history->npoints && !same_values(history, history->points[p].values, values))
		p++;
	return p;
}

/* Where something is on a surface. @return false: not all of its numbers have logarithms */
static bool place_take(const struct heddle_history *history, const double *values,
                       const double *logs, const double *origin, double *place)
{
	for (unsigned d = 0; d < history->ndimensions; d++) {
		place[d] = history->dimensions[d].categorical ? values[d] : logs[d] - origin[d];
		if (isnan(place[d]))
			return false;
	}
	return true;
}

/* The number of points on it when it is none of them. */
static unsigned surface_index(const struct heddle_history_surface *of, size_t point)
{
	unsigned i = 0;

	while (i < of->surface.n && of->points[i] != point)
		i++;
	return i;
}

/* @return false: there is no room, it has no place, or shorter times have come since the law was
 * learned */
static bool surface_take(const struct heddle_history *history, struct heddle_history_surface *of,
                         size_t point, double us)
{
	const struct heddle_history_point *p = &history->points[point];
	double place[HEDDLE_HISTORY_DIMENSIONS];
	unsigned i = surface_index(of, point);

	if (!(us > 0) || of->surface.start > MOST_START * us)
		return false;
	if (i < of->surface.n) {
		heddle_surface_set(&of->surface, i, log(us));
		return true;
	}
	if (i == of->surface.room || !place_take(history, p->values, p->logs, of->origin, place))
		return false;
	heddle_surface_add(&of->surface, place, log(us), 1);
	of->points[i] = point;
	return true;
}

void heddle_history_set(struct heddle_history *history, size_t point, unsigned class, double us)
{
	double *place = &history->points[point].us[class];

	history->known[class] += (us > 0) - (*place > 0);
	*place = us;
	if (history->surfaces[class] && !surface_take(history, history->surfaces[class], point, us))
		surface_drop(history, class);
}

/* Whether a point has times on all classes of a mask. */
static bool point_has(const struct heddle_history_point *point, unsigned classes)
{
	for (unsigned c = 0; classes >> c; c++)
		if (classes >> c & 1 && !(point->us[c] > 0))
			return false;
	return true;
}

/* ---- predictions as published ---- */

/* The nearest points that have a time on each of the classes. */
static void nearest_with(const struct heddle_history *history, const double *values,
                         unsigned classes, size_t leave_out, struct heddle_knn *knn)
{
	for (size_t p = 0; p < history->npoints; p++) {
		const struct heddle_history_point *point = &history->points[p];

		if (p != leave_out && point_has(point, classes))
			heddle_knn_consider(knn, p,
			                    heddle_knn_distance(history->dimensions,
			                                        history->ndimensions, values,
			                                        point->values));
	}
}

static double average(const struct heddle_history *history, const struct heddle_knn *knn,
                      unsigned class)
{
	double sum = 0;

	for (unsigned i = 0; i < knn->found; i++)
		sum += history->points[knn->nearest[i].point].us[class];
	return knn->found ? sum / knn->found : 0;
}

/* By the ratio to a time that is known. */
static double predict_ratio(const struct heddle_history *history, const double *values, unsigned k,
                            size_t leave_out, const double *us, unsigned class)
{
	for (unsigned c = 0; c < HEDDLE_HISTORY_CLASSES; c++) {
		struct heddle_knn knn = {.k = k};

		if (!(us[c] > 0) || !history->known[c])
			continue;
		nearest_with(history, values, 1u << c | 1u << class, leave_out, &knn);
		if (knn.found)
			return us[c] * average(history, &knn, class) / average(history, &knn, c);
	}
	return 0;
}

/* By the times of neighbours. */
static double predict_time(const struct heddle_history *history, const double *values, unsigned k,
                           size_t leave_out, unsigned class)
{
	struct heddle_knn knn = {.k = k};

	if (history->known[class])
		nearest_with(history, values, 1u << class, leave_out, &knn);
	return average(history, &knn, class);
}

/* The class of which most is known. */
static unsigned best_known(const struct heddle_history *history)
{
	unsigned best = 0;

	for (unsigned c = 1; c < HEDDLE_HISTORY_CLASSES; c++)
		if (history->known[c] > history->known[best])
			best = c;
	return best;
}

static void predict_published(const struct heddle_history *history, const double *values,
                              unsigned k, size_t leave_out, double us[HEDDLE_HISTORY_CLASSES])
{
	double known[HEDDLE_HISTORY_CLASSES];
	unsigned base = best_known(history);
	bool any = false;

	for (unsigned c = 0; c < HEDDLE_HISTORY_CLASSES; c++)
		any = any || us[c] > 0;
	if (!any)
		us[base] = predict_time(history, values, k, leave_out, base);
	memcpy(known, us, sizeof(known));
	for (unsigned c = 0; c < HEDDLE_HISTORY_CLASSES; c++) {
		if (us[c] > 0 || !history->known[c])
			continue;
		us[c] = predict_ratio(history, values, k, leave_out, known, c);
		if (!us[c])
			us[c] = predict_time(history, values, k, leave_out, c);
	}
}

/* ---- predictions by planes through the nearest points, in logarithms ---- */

/* Of what a plane is wanted. */
struct question {
	const struct heddle_history *history;
	const double *values;
	double logs[HEDDLE_HISTORY_DIMENSIONS];
	const double *sizes; /* NULL: not known */
	double operations;
	size_t leave_out;
	unsigned k; /* how many points count */
};

/* How far a point is in a dimension: the logarithm of the ratio where both are numbers above 0.
 * What has none counts as published; so do words, and what another word costs becomes a slope. */
static double step(const struct question *q, const struct heddle_history_point *point, unsigned d)
{
	double by = point->logs[d] - q->logs[d];

	return isnan(by) ? heddle_knn_distance(&q->history->dimensions[d], 1, &q->values[d],
	                                       &point->values[d])
	                 : by;
}

static double distance(const struct question *q, const struct heddle_history_point *point)
{
	double sum = 0;

	for (unsigned d = 0; d < q->history->ndimensions; d++) {
		double by = step(q, point, d);

		sum += by * by;
	}
	return sqrt(sum);
}

double heddle_history_distance(const struct heddle_history *history, const double *values,
                               size_t point)
{
	struct question q = {.history = history, .values = values};

	logs_take(history, values, q.logs);
	return distance(&q, &history->points[point]);
}

/* How much more data a point has, as a logarithm, by the piece that differs most. */
static double growth(const double *from, const double *to)
{
	double most = 0;

	for (unsigned i = 0; i < HEDDLE_HISTORY_SIZES && from[i] > 0 && to[i] > 0; i++) {
		double by = log(to[i] / from[i]);

		if (fabs(by) > fabs(most))
			most = by;
	}
	return most;
}

/* The nearest points that have times on all classes of a mask, for each of some masks. */
static void nearest_find(const struct question *q, const unsigned *masks, unsigned n,
                         struct heddle_knn *knn)
{
	for (unsigned i = 0; i < n; i++)
		knn[i] = (struct heddle_knn){.k = q->k};
	for (size_t p = 0; p < q->history->npoints; p++) {
		const struct heddle_history_point *point = &q->history->points[p];
		double away = NAN;

		for (unsigned i = 0; i < n; i++) {
			if (p == q->leave_out || !masks[i] || !point_has(point, masks[i]))
				continue;
			if (isnan(away))
				away = distance(q, point);
			heddle_knn_consider(&knn[i], p, away);
		}
	}
}

/* Whether a dimension is a number that tasks state: the sizes of their data, which stand in for
 * parameters, are bytes0 and so on. */
static bool stated(const struct heddle_history *history, unsigned d)
{
	const char *name = history->names[d];
	bool size = !strncmp(name, "bytes", 5) && isdigit((unsigned char)name[5]) && !name[6];

	return !history->dimensions[d].categorical && !size;
}

static unsigned stated_count(const struct heddle_history *history)
{
	unsigned n = 0;

	for (unsigned d = 0; d < history->ndimensions; d++)
		n += stated(history, d);
	return n;
}

static double growth_of(const struct heddle_history *history, unsigned class)
{
	return history->wide >> class & 1 ? GROWTH_WIDE : GROWTH;
}

/* Expected exponents of times on a class by the dimensions alone. Where no number is stated, each
 * size has an equal part. */
static void slopes_expect(const struct heddle_history *history, unsigned class, double *slopes)
{
	unsigned numbers = stated_count(history), sizes = 0;

	for (unsigned d = 0; d < history->ndimensions; d++)
		sizes += !history->dimensions[d].categorical && !stated(history, d);
	for (unsigned d = 0; d < history->ndimensions; d++)
		if (stated(history, d))
			slopes[d] = (numbers > 1 ? EACH : ALONE) * growth_of(history, class);
		else if (!numbers && !history->dimensions[d].categorical)
			slopes[d] = growth_of(history, class) / sizes;
}

/* How far away points count much. */
static double reach_of(const struct question *q, const struct heddle_knn *knn)
{
	unsigned nearest = NEAREST + NEAREST_MORE * q->history->ndimensions;

	if (nearest > knn->found)
		nearest = knn->found;
	return fmax(FAR * knn->nearest[nearest - 1].distance, NEAR);
}

/* By what work all points are compared with the task: in their last coordinate. */
enum work { NO_WORK, SIZES, OPERATIONS };

static enum work work_of(const struct question *q, const struct heddle_knn *knn)
{
	bool sized = q->sizes && q->sizes[0] > 0 && stated_count(q->history) < 2;
	bool counted = q->operations > 0;

	for (unsigned i = 0; i < knn->found; i++) {
		const struct heddle_history_point *point =
		    &q->history->points[knn->nearest[i].point];

		sized = sized && point->sizes[0] > 0;
		counted = counted && point->operations > 0;
	}
	return counted ? OPERATIONS : sized ? SIZES : NO_WORK;
}

static struct heddle_surface_law law_of(const struct heddle_history *history,
                                        const struct heddle_history_law *law)
{
	double noise = law->noise > 0 ? law->noise : NOISE;
	struct heddle_surface_law surface = {.stiffness = noise * noise / (SLOPE * SLOPE),
	                                     .bend = BEND * BEND / (noise * noise),
	                                     .reach = REACH,
	                                     .start = law->start};

	memcpy(surface.relevance, law->relevance, history->ndimensions * sizeof(double));
	return surface;
}

/* The point's coordinates, from the task. */
static void point_place(const struct question *q, const struct heddle_history_point *point,
                        enum work work, double *x)
{
	unsigned last = q->history->ndimensions;

	for (unsigned d = 0; d < last; d++)
		x[d] = step(q, point, d);
	x[last] = work == OPERATIONS ? log(point->operations / q->operations)
	          : work == SIZES    ? growth(q->sizes, point->sizes)
	                             : 0;
}

/* The logarithm of the task's time on a class by points near it, of which there is one at least.
 * @param[in,out] slopes expected where sizes are not known; those of the plane */
static double fit_near(const struct question *q, const struct heddle_knn *knn, unsigned class,
                       double *slopes)
{
	static const double here[HEDDLE_SURFACE_DIMENSIONS];
	struct heddle_surface_law law = law_of(q->history, &q->history->laws[class]);
	double memory[HEDDLE_SURFACE_MEMORY(HEDDLE_KNN_MAXK)], reach = reach_of(q, knn);
	unsigned last = q->history->ndimensions;
	enum work work = work_of(q, knn);
	struct heddle_surface surface;

	if (work != NO_WORK) {
		memset(slopes, 0, HEDDLE_SURFACE_DIMENSIONS * sizeof(*slopes));
		slopes[last] = growth_of(q->history, class);
	}
	/* Shorter ones may have come since the law was learned. */
	for (unsigned i = 0; i < knn->found; i++)
		law.start = fmin(law.start,
		                 MOST_START * q->history->points[knn->nearest[i].point].us[class]);
	heddle_surface_begin(&surface, &law, last + 1, 0, slopes, HEDDLE_KNN_MAXK, memory);
	for (unsigned i = 0; i < knn->found; i++) {
		const struct heddle_history_point *point =
		    &q->history->points[knn->nearest[i].point];
		double x[HEDDLE_SURFACE_DIMENSIONS], far = knn->nearest[i].distance / reach;

		point_place(q, point, work, x);
		heddle_surface_add(&surface, x, log(point->us[class]),
		                   exp(fmax(-far * far, LEAST_WEIGHT)));
	}
	heddle_surface_slopes(&surface, slopes);
	return heddle_surface_value(&surface, here);
}

/* The surface that the task has a place on. NULL: there is none */
static struct heddle_history_surface *surface_of(const struct question *q, unsigned class,
                                                 double *place)
{
	struct heddle_history_surface *of = q->history->surfaces[class];

	return of && place_take(q->history, q->values, q->logs, of->origin, place) ? of : NULL;
}

/* As fit_near(), or by all points. */
static double fit(const struct question *q, const struct heddle_knn *knn, unsigned class,
                  double *slopes)
{
	double place[HEDDLE_HISTORY_DIMENSIONS];
	struct heddle_history_surface *of = surface_of(q, class, place);
	unsigned own;

	if (!of)
		return fit_near(q, knn, class, slopes);
	heddle_surface_slopes(&of->surface, slopes);
	own = surface_index(of, q->leave_out);
	return own < of->surface.n ? heddle_surface_without(&of->surface, own)
	                           : heddle_surface_value(&of->surface, place);
}

/* How much longer the task takes than expected, as a logarithm, by a class where its time is
 * known: of points that are far that says little of another class. */
static double surprise(const struct question *q, const double *us, const double *slopes,
                       unsigned class)
{
	for (unsigned c = 0; c < HEDDLE_HISTORY_CLASSES; c++) {
		double its[HEDDLE_SURFACE_DIMENSIONS], away;
		unsigned both = 1u << c | 1u << class;
		struct heddle_knn knn;

		if (c == class || !(us[c] > 0))
			continue;
		nearest_find(q, &both, 1, &knn);
		if (!knn.found)
			continue;
		memcpy(its, slopes, sizeof(its));
		away = knn.nearest[0].distance;
		return exp(-away * away) * (log(us[c]) - fit(q, &knn, c, its));
	}
	return 0;
}

static void predict_fit(const struct heddle_history *history, const double *values, unsigned k,
                        size_t leave_out, double us[HEDDLE_HISTORY_CLASSES])
{
	struct question q = {
	    .history = history,
	    .values = values,
	    .sizes = leave_out < history->npoints ? history->points[leave_out].sizes : NULL,
	    .operations = leave_out < history->npoints ? history->points[leave_out].operations : 0,
	    .leave_out = leave_out,
	    .k = k,
	};
	double known[HEDDLE_HISTORY_CLASSES], slopes[HEDDLE_SURFACE_DIMENSIONS] = {0}, y_base = 0;
	unsigned base = best_known(history), masks[HEDDLE_HISTORY_CLASSES];
	double place[HEDDLE_HISTORY_DIMENSIONS];
	struct heddle_knn knn[HEDDLE_HISTORY_CLASSES];
	bool whole[HEDDLE_HISTORY_CLASSES]; /* by a surface through all points */

	logs_take(history, values, q.logs);
	memcpy(known, us, sizeof(known));
	for (unsigned c = 0; c < HEDDLE_HISTORY_CLASSES; c++) {
		bool wanted = history->known[c] && (c == base || !(us[c] > 0));

		whole[c] = wanted && surface_of(&q, c, place);
		masks[c] = wanted && !whole[c] ? 1u << c : 0;
	}
	nearest_find(&q, masks, HEDDLE_HISTORY_CLASSES, knn);
	slopes_expect(history, base, slopes);
	if (whole[base] || knn[base].found)
		y_base = fit(&q, &knn[base], base, slopes);
	for (unsigned c = 0; c < HEDDLE_HISTORY_CLASSES; c++) {
		double its[HEDDLE_SURFACE_DIMENSIONS], y;

		if (us[c] > 0 || !(whole[c] || knn[c].found))
			continue;
		for (unsigned d = 0; d < HEDDLE_SURFACE_DIMENSIONS; d++)
			its[d] = slopes[d] * growth_of(history, c) / growth_of(history, base);
		y = c == base ? y_base : fit(&q, &knn[c], c, its);
		y += surprise(&q, known, slopes, c);
		us[c] = fmax(HEDDLE_HISTORY_SHORTEST_US, fmin(exp(y), HEDDLE_HISTORY_LONGEST_US));
	}
}

/* ---- what is learned of a class ---- */

/* Logarithms of noise and relevance are expected to be off by so much. That there is a start
 * is less likely by UNLIKELY, as a logarithm: noise looks like one, too. */
#define NOISE_OFF 1
#define RELEVANCE_OFF 0.5
#define UNLIKELY 3
/* Below it times are not measured. */
#define LEAST_NOISE 0.004
/* Steps of these logarithms, which are halved until they are fine. */
#define STEP 0.7
#define FINE 0.3

/* Points that count: an even part of all if there are more. */
#define SAMPLE 48

/* The place of points without a word, other than that of any word. */
#define NO_WORD -1

/* Points of a class. */
struct sample {
	double x[SAMPLE][HEDDLE_SURFACE_DIMENSIONS], y[SAMPLE];
	double slopes[HEDDLE_SURFACE_DIMENSIONS];
	double least_us; /* of all */
	unsigned n, words;
};

static unsigned words_of(const struct heddle_history *history)
{
	unsigned words = 0;

	for (unsigned d = 0; d < history->ndimensions; d++)
		words |= (unsigned)history->dimensions[d].categorical << d;
	return words;
}

static void sample_take(const struct heddle_history *history, unsigned class, struct sample *sample)
{
	size_t known = history->known[class], seen = 0;
	struct question q = {.history = history};

	*sample = (struct sample){.least_us = INFINITY, .words = words_of(history)};
	slopes_expect(history, class, sample->slopes);
	for (size_t p = 0; p < history->npoints; p++) {
		const struct heddle_history_point *at = &history->points[p];

		if (!(at->us[class] > 0))
			continue;
		sample->least_us = fmin(sample->least_us, at->us[class]);
		/* Evenly: the n-th is taken when n / SAMPLE of all were seen. */
		if (seen++ * SAMPLE < sample->n * known || sample->n == SAMPLE)
			continue;
		if (!sample->n) {
			q.values = at->values;
			logs_take(history, at->values, q.logs);
		}
		for (unsigned d = 0; d < history->ndimensions; d++)
			sample->x[sample->n][d] = !history->dimensions[d].categorical
			                              ? step(&q, at, d)
			                          : isnan(at->values[d]) ? NO_WORD
			                                                 : at->values[d];
		sample->y[sample->n++] = log(at->us[class]);
	}
}

static double off(double log, double by)
{
	return log * log / (2 * by * by);
}

/* How likely the sample is by a law, and the law itself. */
static double law_likelihood(const struct heddle_history *history, const struct sample *sample,
                             const struct heddle_history_law *law)
{
	const struct heddle_surface_law expected = law_of(history, law);
	double memory[HEDDLE_SURFACE_MEMORY(SAMPLE)], value;
	struct heddle_surface surface;

	heddle_surface_begin(&surface, &expected, history->ndimensions, sample->words,
	                     sample->slopes, SAMPLE, memory);
	for (unsigned i = 0; i < sample->n; i++)
		heddle_surface_add(&surface, sample->x[i], sample->y[i], 1);
	value = heddle_surface_likelihood(&surface, law->noise);
	value -= off(log(law->noise / NOISE), NOISE_OFF);
	for (unsigned d = 0; d < history->ndimensions; d++)
		value -= off(law->relevance[d], RELEVANCE_OFF);
	return value - (law->start > 0 ? UNLIKELY : 0);
}

/* Takes the law if it is likelier than the best so far. */
static bool law_try(const struct heddle_history *history, const struct sample *sample,
                    const struct heddle_history_law *law, struct heddle_history_law *best,
                    double *likelihood)
{
	double value;

	if (law->noise < LEAST_NOISE)
		return false;
	value = law_likelihood(history, sample, law);
	if (!(value > *likelihood))
		return false;
	*likelihood = value;
	*best = *law;
	return true;
}

/* Changes one thing after the other. @return whether that was of any use */
static bool law_improve(const struct heddle_history *history, const struct sample *sample,
                        double by, struct heddle_history_law *best, double *likelihood)
{
	static const double starts[] = {0, 0.4, MOST_START}; /* parts of the least time */
	bool better = false;

	for (unsigned s = 0; s < sizeof(starts) / sizeof(*starts); s++) {
		struct heddle_history_law law = *best;

		law.start = starts[s] * sample->least_us;
		better |= law_try(history, sample, &law, best, likelihood);
	}
	for (unsigned i = 0; i < 2 * (history->ndimensions + 1); i++) {
		struct heddle_history_law law = *best;
		double up = i % 2 ? by : -by;
		unsigned what = i / 2;

		if (what < history->ndimensions)
			law.relevance[what] += up;
		else
			law.noise *= exp(up);
		better |= law_try(history, sample, &law, best, likelihood);
	}
	return better;
}

/* Nothing where there are too many points, or no memory, or not all can have a place. */
static void surface_make(struct heddle_history *history, const struct sample *sample,
                         unsigned class)
{
	const struct heddle_surface_law law = law_of(history, &history->laws[class]);
	struct heddle_history_surface *of;
	bool all = history->known[class] <= HEDDLE_HISTORY_SURFACE;
	size_t first = 0;

	surface_drop(history, class);
	if (!all || !(of = malloc(sizeof(*of))))
		return;
	while (!(history->points[first].us[class] > 0))
		first++;
	memcpy(of->origin, history->points[first].logs, sizeof(of->origin));
	heddle_surface_begin(&of->surface, &law, history->ndimensions, sample->words,
	                     sample->slopes, HEDDLE_HISTORY_SURFACE, of->memory);
	for (size_t p = first; p < history->npoints && all; p++) {
		double us = history->points[p].us[class];

		all = !(us > 0) || surface_take(history, of, p, us);
	}
	history->surfaces[class] = of;
	if (!all)
		surface_drop(history, class);
}

void heddle_history_learn(struct heddle_history *history)
{
	for (unsigned c = 0; c < HEDDLE_HISTORY_CLASSES; c++) {
		struct heddle_history_law law = {.noise = NOISE};
		double likelihood;
		struct sample sample;

		if (history->known[c] < HEDDLE_HISTORY_LAW)
			continue;
		sample_take(history, c, &sample);
		likelihood = law_likelihood(history, &sample, &law);
		for (double by = STEP; by > FINE;)
			if (!law_improve(history, &sample, by, &law, &likelihood))
				by /= 2;
		history->laws[c] = law;
		surface_make(history, &sample, c);
	}
}

void heddle_history_predict(const struct heddle_history *history, const double *values,
                            struct heddle_history_rule rule, size_t leave_out,
                            double us[HEDDLE_HISTORY_CLASSES])
{
	if (rule.fit)
		predict_fit(history, values, rule.k, leave_out, us);
	else
		predict_published(history, values, rule.k, leave_out, us);
}

/* ---- profiles ---- */

static struct heddle_history_range samples_range(const struct heddle_profile_field *us)
{
	struct heddle_history_range range = {.low = us->numbers[0], .high = us->numbers[0]};

	if (us->n < HEDDLE_HISTORY_SAMPLES)
		return (struct heddle_history_range){0};
	for (unsigned i = 1; i < us->n; i++) {
		range.low = fmin(range.low, us->numbers[i]);
		range.high = fmax(range.high, us->numbers[i]);
	}
	return range;
}

/* Whether a parameter is a word in more of a profile's records than it is a number. */
static bool is_word(const struct heddle_profile *profile, const char *name)
{
	long words = 0;

	for (size_t r = 0; r < profile->n; r++) {
		const struct heddle_profile_record *record = profile->records[r];
		const struct heddle_profile_field *field =
		    heddle_profile_record_field(record, name);

		if (field && !strcmp(record->kind, "task") && !heddle_history_wrong(record))
			words += field->n ? -1 : 1;
	}
	return words > 0;
}

static int value_load(struct heddle_history *history, const struct heddle_profile *profile,
                      const struct heddle_profile_field *field, double *values)
{
	unsigned d = dimension_find(history, field->key);
	int error = 0;

	if (d == history->ndimensions)
		error =
		    heddle_history_dimension(history, field->key, is_word(profile, field->key), &d);
	if (error)
		return error;
	if (history->dimensions[d].categorical != !field->n)
		return -EINVAL;
	if (!field->n)
		return heddle_history_word(history, field->text, &values[d]);
	values[d] = field->numbers[0];
	return 0;
}

static int values_load(struct heddle_history *history, const struct heddle_profile *profile,
                       const struct heddle_profile_record *record, double *values)
{
	int error = 0;

	for (unsigned d = 0; d < HEDDLE_HISTORY_DIMENSIONS; d++)
		values[d] = NAN;
	for (unsigned f = 0; f < record->nwhat && !error; f++)
		if (strcmp(record->fields[f].key, "device"))
			error = value_load(history, profile, &record->fields[f], values);
	return error;
}

/* Of what was measured. */
static const char *parameter_wrong(const struct heddle_profile_field *field)
{
	if (field->n > 1)
		return "a parameter with several numbers";
	if (!strcmp(field->key, "us") || !strcmp(field->key, "samples") ||
	    !strcmp(field->key, "at"))
		return "a result before the colon";
	if (field->n || !strcmp(field->key, "device"))
		return NULL;
	if (!*field->text)
		return "an empty word";
	return strlen(field->text) < HEDDLE_HISTORY_WORD ? NULL : "a word that is too long";
}

static const char *time_wrong(const struct heddle_profile_field *us)
{
	if (!us || !us->n)
		return "no us=NUMBER after the colon";
	for (unsigned i = 0; i < us->n; i++)
		if (!(us->numbers[i] > 0 && us->numbers[i] <= HEDDLE_HISTORY_LONGEST_US))
			return "a time that is not above 0 and at most 1e15 us";
	return NULL;
}

const char *heddle_history_wrong(const struct heddle_profile_record *record)
{
	const struct heddle_profile_field *device = heddle_profile_record_field(record, "device");
	const char *wrong = NULL;

	if (strcmp(record->kind, "task"))
		return NULL;
	if (!device || device->n || device >= record->fields + record->nwhat)
		return "no device=\"...\" before the colon";
	if (record->nwhat > HEDDLE_HISTORY_DIMENSIONS + 1)
		return "too many parameters";
	for (unsigned f = 0; f < record->nwhat && !wrong; f++)
		wrong = parameter_wrong(&record->fields[f]);
	return wrong ? wrong : time_wrong(heddle_profile_record_field(record, "us"));
}

/* Of a parameter, beside those of other records. */
static const char *parameter_left_out(const struct heddle_history *history,
                                      const struct heddle_profile_field *field)
{
	unsigned d = dimension_find(history, field->key);

	if (d == history->ndimensions)
		return "too many parameters in all";
	if (history->dimensions[d].categorical == !field->n)
		return NULL;
	return field->n ? "a number where others have a word" : "a word where others have a number";
}

const char *heddle_history_left_out(const struct heddle_history *history,
                                    const struct heddle_profile_record *record)
{
	const char *why = heddle_history_wrong(record);

	if (strcmp(record->kind, "task"))
		return NULL;
	for (unsigned f = 0; f < record->nwhat && !why; f++)
		if (strcmp(record->fields[f].key, "device"))
			why = parameter_left_out(history, &record->fields[f]);
	return why;
}

static int record_load(struct heddle_history *history, const struct heddle_profile *profile,
                       const struct heddle_profile_record *record, heddle_history_class class,
                       void *arg)
{
	const struct heddle_profile_field *device = heddle_profile_record_field(record, "device");
	const struct heddle_profile_field *us = heddle_profile_record_field(record, "us");
	double time = heddle_profile_field_median(us);
	double values[HEDDLE_HISTORY_DIMENSIONS];
	size_t point;
	int c, error;

	if (strcmp(record->kind, "task") || heddle_history_wrong(record))
		return 0;
	c = class(device->text, arg);
	if (c < 0)
		return 0;
	error = values_load(history, profile, record, values);
	if (error)
		return error == -ENOMEM ? error : 0;
	/* As in programs: all but cores. */
	if (strncmp(device->text, "cpu", 3))
		history->wide |= 1u << c;
	point = heddle_history_find(history, values);
	if (point == history->npoints)
		error = heddle_history_add(history, values, &point);
	if (error)
		return error;
	heddle_history_set(history, point, c, time);
	history->points[point].samples[c] = samples_range(us);
	return 0;
}

int heddle_history_load(struct heddle_history *history, const struct heddle_profile *profile,
                        heddle_history_class class, void *arg)
{
	int error = 0;

	for (size_t r = 0; r < profile->n && !error; r++)
		error = record_load(history, profile, profile->records[r], class, arg);
	return error;
}
