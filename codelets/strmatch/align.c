/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The alignment, by Myers and Miller: the best alignment crosses the middle row. The scores of the
 * upper half and of the reversed lower half give the column, and whether a gap crosses there. Both
 * halves are then the same problem.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "codelets/strmatch/strmatch.h"

struct aligner {
	const struct strmatch_scoring *scoring;
	const uint8_t *query, *subject;                   /* forwards … */
	const uint8_t *reversed_query, *reversed_subject; /* … and backwards */
	size_t n, m;
	struct strmatch_row *rows;
	struct strmatch_edge *upper, *lower;
	struct strmatch_step *steps;
	size_t nsteps, room;
	int error;
};

/* A part of both sequences, and the opening cost of a gap at the beginning and at the end of its
 * part of the query: 0 where the gap continues beyond. */
struct part {
	size_t i, n, j, m;
	int32_t begin, end;
};

static void add(struct aligner *aligner, int kind, size_t length)
{
	if (!length || aligner->error)
		return;
	if (aligner->nsteps && (int)aligner->steps[aligner->nsteps - 1].kind == kind) {
		aligner->steps[aligner->nsteps - 1].length += length;
		return;
	}
	if (aligner->nsteps == aligner->room) {
		size_t room = aligner->room ? 2 * aligner->room : 64;
		struct strmatch_step *larger = realloc(aligner->steps, room * sizeof(*larger));

		if (!larger) {
			aligner->error = -ENOMEM;
			return;
		}
		aligner->steps = larger;
		aligner->room = room;
	}
	aligner->steps[aligner->nsteps++] = (struct strmatch_step){.kind = kind, .length = length};
}

static int64_t gap(const struct aligner *aligner, size_t length)
{
	const struct strmatch_scoring *scoring = aligner->scoring;

	return length ? -scoring->open - (int64_t)(length - 1) * scoring->extend : 0;
}

/* One letter of the query with a part of the subject: in a pair, or in a gap. */
static void align_letter(struct aligner *aligner, const struct part *part)
{
	const int8_t *scores = aligner->scoring->scores[aligner->query[part->i]];
	int32_t cheaper = part->begin < part->end ? part->begin : part->end;
	int64_t best = -cheaper - aligner->scoring->extend + gap(aligner, part->m);
	size_t pair = part->m;

	for (size_t j = 0; j < part->m; j++) {
		int64_t score = gap(aligner, j) + scores[aligner->subject[part->j + j]] +
		                gap(aligner, part->m - 1 - j);

		if (score > best) {
			best = score;
			pair = j;
		}
	}
	if (pair < part->m) {
		add(aligner, STRMATCH_SUBJECT, pair);
		add(aligner, STRMATCH_PAIR, 1);
		add(aligner, STRMATCH_SUBJECT, part->m - 1 - pair);
	} else if (part->begin <= part->end) {
		add(aligner, STRMATCH_QUERY, 1);
		add(aligner, STRMATCH_SUBJECT, part->m);
	} else {
		add(aligner, STRMATCH_SUBJECT, part->m);
		add(aligner, STRMATCH_QUERY, 1);
	}
}

/* The last row of the best scores of n rows with m columns, gaps along the first
 * column opening at `begin`. */
static void last_row(struct aligner *aligner, const uint8_t *query, size_t n,
                     const uint8_t *subject, size_t m, int32_t begin, struct strmatch_edge *edge)
{
	const struct strmatch_tile tile = {.nrows = n, .ncolumns = m, .floor = STRMATCH_NONE};
	int32_t extend = aligner->scoring->extend;

	for (size_t j = 0; j < m; j++)
		edge[j] = (struct strmatch_edge){.h = gap(aligner, j + 1), .f = STRMATCH_NONE};
	for (size_t i = 0; i < n; i++)
		aligner->rows[i] = (struct strmatch_row){
		    .h = -begin - extend * (int32_t)(i + 1),
		    .e = STRMATCH_NONE,
		    .corner = i ? -begin - extend * (int32_t)i : 0,
		};
	strmatch_cpu(codelet_isa_best(), aligner->scoring, &tile, query, subject, aligner->rows,
	             edge, edge);
}

/* The column after which the best alignment crosses below row `middle`, and whether it is in a
 * gap there. */
static size_t cross(struct aligner *aligner, const struct part *part, size_t middle, bool *in_gap)
{
	int32_t extend = aligner->scoring->extend, opening = aligner->scoring->open - extend;
	size_t rest = part->n - middle, at = 0;
	int64_t best = INT64_MIN;

	last_row(aligner, aligner->query + part->i, middle, aligner->subject + part->j, part->m,
	         part->begin, aligner->upper);
	last_row(aligner, aligner->reversed_query + aligner->n - part->i - part->n, rest,
	         aligner->reversed_subject + aligner->m - part->j - part->m, part->m, part->end,
	         aligner->lower);
	for (size_t j = 0; j <= part->m; j++) {
		size_t k = part->m - j;
		/* Before the first column there is only a gap. */
		struct strmatch_edge up = {.h = -part->begin - extend * (int32_t)middle};
		struct strmatch_edge low = {.h = -part->end - extend * (int32_t)rest};

		up.f = up.h;
		low.f = low.h;
		if (j)
			up = aligner->upper[j - 1];
		if (k)
			low = aligner->lower[k - 1];
		if ((int64_t)up.h + low.h > best) {
			best = (int64_t)up.h + low.h;
			at = j;
			*in_gap = false;
		}
		if ((int64_t)up.f + low.f + opening > best) {
			best = (int64_t)up.f + low.f + opening;
			at = j;
			*in_gap = true;
		}
	}
	return at;
}

static void align(struct aligner *aligner, struct part part)
{
	int32_t opening = aligner->scoring->open - aligner->scoring->extend;
	size_t middle = part.n / 2, at;
	struct part upper = part, lower = part;
	bool in_gap = false;

	if (!part.n || !part.m) {
		add(aligner, STRMATCH_QUERY, part.n);
		add(aligner, STRMATCH_SUBJECT, part.m);
		return;
	}
	if (part.n == 1) {
		align_letter(aligner, &part);
		return;
	}
	at = cross(aligner, &part, middle, &in_gap);
	/* A gap that crosses has at least one row on either side. */
	upper.n = middle - in_gap;
	upper.m = at;
	upper.end = in_gap ? 0 : opening;
	lower.i += middle + in_gap;
	lower.n -= middle + in_gap;
	lower.j += at;
	lower.m -= at;
	lower.begin = in_gap ? 0 : opening;
	align(aligner, upper);
	add(aligner, STRMATCH_QUERY, 2 * in_gap);
	align(aligner, lower);
}

static uint8_t *reverse(size_t n, const uint8_t *letters)
{
	uint8_t *reversed = malloc(n + 1);

	for (size_t i = 0; reversed && i < n; i++)
		reversed[i] = letters[n - 1 - i];
	return reversed;
}

int strmatch_align(const struct strmatch_scoring *scoring, size_t n, const uint8_t *query, size_t m,
                   const uint8_t *subject, struct strmatch_step **steps, size_t *nsteps)
{
	int32_t opening = scoring->open - scoring->extend;
	uint8_t *reversed_query = reverse(n, query), *reversed_subject = reverse(m, subject);
	struct aligner aligner = {.scoring = scoring,
	                          .query = query,
	                          .subject = subject,
	                          .reversed_query = reversed_query,
	                          .reversed_subject = reversed_subject,
	                          .n = n,
	                          .m = m};

	aligner.rows = malloc((n + 1) * sizeof(*aligner.rows));
	aligner.upper = malloc((m + 1) * sizeof(*aligner.upper));
	aligner.lower = malloc((m + 1) * sizeof(*aligner.lower));
	if (!reversed_query || !reversed_subject || !aligner.rows || !aligner.upper ||
	    !aligner.lower)
		aligner.error = -ENOMEM;
	else
		align(&aligner, (struct part){.n = n, .m = m, .begin = opening, .end = opening});
	free(reversed_query);
	free(reversed_subject);
	free(aligner.rows);
	free(aligner.upper);
	free(aligner.lower);
	if (aligner.error) {
		free(aligner.steps);
		return aligner.error;
	}
	*steps = aligner.steps;
	*nsteps = aligner.nsteps;
	return 0;
}

int64_t strmatch_score(const struct strmatch_scoring *scoring, const uint8_t *query,
                       const uint8_t *subject, const struct strmatch_step *steps, size_t nsteps)
{
	int64_t score = 0;

	for (size_t s = 0; s < nsteps; s++) {
		size_t length = steps[s].length;

		for (size_t k = 0; k < length && steps[s].kind == STRMATCH_PAIR; k++)
			score += scoring->scores[query[k]][subject[k]];
		if (steps[s].kind != STRMATCH_PAIR)
			score -= scoring->open + (int64_t)(length - 1) * scoring->extend;
		if (steps[s].kind != STRMATCH_SUBJECT)
			query += length;
		if (steps[s].kind != STRMATCH_QUERY)
			subject += length;
	}
	return score;
}
