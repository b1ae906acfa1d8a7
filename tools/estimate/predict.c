/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Refuses parameters of which a profile says nothing, and states how far to trust the rest.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "estimator/range.h"
#include "support/number.h"
#include "tools/estimate/estimate.h"

/* ---- parameters ---- */

static const char *wanted(const struct heddle_history *history, unsigned d)
{
	return history->dimensions[d].categorical ? "WORD" : "NUMBER";
}

static int param_refuse(const struct heddle_history *history, const char *text)
{
	fprintf(stderr, "heddle: \"%s\" is no parameter here; there are", text);
	for (unsigned d = 0; d < history->ndimensions; d++)
		fprintf(stderr, " %s=%s", history->names[d], wanted(history, d));
	fputc('\n', stderr);
	return -EINVAL;
}

/* A word of a dimension that some point has. */
static bool word_measured(const struct heddle_history *history, unsigned d, double word)
{
	for (size_t p = 0; p < history->npoints; p++)
		if (history->points[p].values[d] == word)
			return true;
	return false;
}

static int word_read(struct heddle_history *history, unsigned d, const char *text, const char *word,
                     double *value)
{
	size_t w = 0;

	while (w < history->nwords && strcmp(history->words[w], word))
		w++;
	if (w < history->nwords && word_measured(history, d, w)) {
		*value = w;
		return 0;
	}
	fprintf(stderr, "heddle: \"%s\" was not measured; there are", text);
	for (w = 0; w < history->nwords; w++)
		if (word_measured(history, d, w))
			fprintf(stderr, " %s", history->words[w]);
	fputc('\n', stderr);
	return -EINVAL;
}

static bool all_above_zero(const struct heddle_history *history, unsigned d)
{
	for (size_t p = 0; p < history->npoints; p++)
		if (history->points[p].values[d] <= 0)
			return false;
	return true;
}

static int number_read(const struct heddle_history *history, unsigned d, const char *text,
                       const char *number, double *value)
{
	char *end;
	double read = heddle_number_parse(number, &end);

	if (*end || end == number || !isfinite(read)) {
		fprintf(stderr, "heddle: \"%s\": %s is a finite number\n", text, history->names[d]);
		return -EINVAL;
	}
	if (read <= 0 && all_above_zero(history, d)) {
		fprintf(stderr, "heddle: \"%s\": all values of %s that were measured are above 0\n",
		        text, history->names[d]);
		return -EINVAL;
	}
	*value = read;
	return 0;
}

static int param_read(struct heddle_history *history, const char *text, double *values)
{
	size_t length = strcspn(text, "=");
	unsigned d = 0;

	while (d < history->ndimensions &&
	       (strlen(history->names[d]) != length || strncmp(history->names[d], text, length)))
		d++;
	if (d == history->ndimensions || !text[length])
		return param_refuse(history, text);
	if (!isnan(values[d])) {
		fprintf(stderr, "heddle: %s is given twice\n", history->names[d]);
		return -EINVAL;
	}
	return history->dimensions[d].categorical
	           ? word_read(history, d, text, text + length + 1, &values[d])
	           : number_read(history, d, text, text + length + 1, &values[d]);
}

/* How many of the parameters are only on one side. */
static unsigned differences(const struct heddle_history *history, const double *a, const double *b)
{
	unsigned n = 0;

	for (unsigned d = 0; d < history->ndimensions; d++)
		n += isnan(a[d]) != isnan(b[d]);
	return n;
}

/* Some tasks of the codelet must have had just these parameters. */
static int set_check(const struct heddle_history *history, const double *values)
{
	size_t best = 0;

	for (size_t p = 1; p < history->npoints; p++)
		if (differences(history, values, history->points[p].values) <
		    differences(history, values, history->points[best].values))
			best = p;
	for (unsigned d = 0; d < history->ndimensions; d++) {
		bool given = !isnan(values[d]);

		if (given == !isnan(history->points[best].values[d]))
			continue;
		fprintf(stderr, "heddle: %s=%s %s\n", history->names[d], wanted(history, d),
		        given ? "does not go with the other parameters" : "is missing");
		return -EINVAL;
	}
	return 0;
}

static int params_read(const struct arguments *arguments, struct heddle_history *history,
                       double *values)
{
	int error = 0;

	for (unsigned d = 0; d < HEDDLE_HISTORY_DIMENSIONS; d++)
		values[d] = NAN;
	for (int i = 0; i < arguments->nparams && !error; i++)
		error = param_read(history, arguments->params[i], values);
	return error ? error : set_check(history, values);
}

/* ---- predictions ---- */

/* Of one device. */
struct prediction {
	const char *device, *from;
	double us, speedup;
	struct heddle_history_range range; /* 0 to 0: not known */
};

static void prediction_print(const struct prediction *p)
{
	char low[32] = "-", high[32] = "-";

	if (p->range.high > 0) {
		snprintf(low, sizeof(low), "%.1f", p->range.low);
		snprintf(high, sizeof(high), "%.1f", p->range.high);
	}
	printf("%14.1f %14s %14s %10.3f  %-12s %s\n", p->us, low, high, p->speedup, p->from,
	       p->device);
}

static json_t *bound_json(double us)
{
	return us > 0 ? json_real(us) : json_null();
}

static json_t *prediction_json(const struct prediction *p)
{
	return json_pack("{s:s, s:f, s:o, s:o, s:f, s:s}", "device", p->device, "us", p->us, "low",
	                 bound_json(p->range.low), "high", bound_json(p->range.high), "speedup",
	                 p->speedup, "from", p->from);
}

/* What a point's own samples say, else what its neighbours do; nothing where neither may. */
static void prediction_trust(const struct heddle_history *h, const double *values, size_t point,
                             unsigned class, double known, struct prediction *p)
{
	if (known > 0) {
		p->from = "profile";
		p->range = h->points[point].samples[class];
	} else if (!(p->us > HEDDLE_HISTORY_SHORTEST_US && p->us < HEDDLE_HISTORY_LONGEST_US)) {
		p->from = "nothing";
		p->us = p->speedup = 0;
		p->range = (struct heddle_history_range){0};
	} else if (heddle_history_extrapolates(h, values, class)) {
		p->from = "extrapolated";
		p->range = (struct heddle_history_range){0};
	} else {
		p->from = "neighbours";
	}
}

int estimate_predict(const struct arguments *arguments, struct estimates *e)
{
	struct heddle_history *h = &e->history;
	struct heddle_history_range ranges[HEDDLE_HISTORY_CLASSES];
	double values[HEDDLE_HISTORY_DIMENSIONS], known[HEDDLE_HISTORY_CLASSES] = {0};
	double us[HEDDLE_HISTORY_CLASSES];
	json_t *list;
	size_t point;

	if (params_read(arguments, h, values))
		return ESTIMATE_USAGE;
	point = heddle_history_find(h, values);
	if (point < h->npoints)
		memcpy(known, h->points[point].us, sizeof(known));
	memcpy(us, known, sizeof(us));
	heddle_history_predict(h, values, arguments->rule, point, us);
	heddle_history_ranges(h, values, arguments->rule, point, known, ranges);
	list = json_array();
	if (!arguments->json)
		printf("%14s %14s %14s %10s  %-12s %s\n", "us", "low", "high", "speed-up", "from",
		       "device");
	for (unsigned c = 0; c < e->nclasses; c++) {
		struct prediction p = {.device = e->classes[c],
		                       .us = us[c],
		                       .speedup = us[c] > 0 ? us[e->reference] / us[c] : 0,
		                       .range = ranges[c]};

		prediction_trust(h, values, point, c, known[c], &p);
		json_array_append_new(list, prediction_json(&p));
		if (!arguments->json)
			prediction_print(&p);
	}
	if (arguments->json)
		return estimate_json(list);
	json_decref(list);
	return 0;
}
