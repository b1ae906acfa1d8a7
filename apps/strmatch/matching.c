/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The wavefront over two sequences finds the best score and where it ends. A second wavefront,
 * over the reversed sequences from that end on, finds where it begins.
 */
#include "config.h"

#include <errno.h>
#include <starpu.h>

#include "support/message.h"
#include "apps/common/ranks.h"
#include "apps/strmatch/strmatch.h"

#define LINE 60 /* pairs in a line of a printed alignment */

int matching_init(struct matching *matching, size_t n, size_t m)
{
	int error;

	*matching = (struct matching){.n = n, .m = m};
	error = heddle_malloc((void **)&matching->query, n);
	if (!error)
		error = heddle_malloc((void **)&matching->subject, m);
	if (!error)
		error = heddle_malloc((void **)&matching->rows, n * sizeof(*matching->rows));
	if (!error)
		error = heddle_malloc((void **)&matching->edge, m * sizeof(*matching->edge));
	return error;
}

void matching_register(struct matching *matching, const struct strmatch_job *job)
{
	size_t n = matching->n, m = matching->m;

	matching->wave = (struct heddle_wavefront){
	    .name = "strmatch",
	    .codelet = &strmatch_codelet,
	    .rows = n,
	    .columns = m,
	    .nvectors = 3,
	    .vectors = {{.column = 1}, {.row = 1}, {.row = 1, .column = 1}},
	    .narrays = 4,
	    .arrays =
	        {
	            {app_vector(matching->query, n, 1), STARPU_R, HEDDLE_ROWS, 1},
	            {app_vector(matching->subject, m, 1), STARPU_R, HEDDLE_COLUMNS, 1},
	            {app_vector(matching->rows, n, sizeof(*matching->rows)), STARPU_RW, HEDDLE_ROWS,
	             1},
	            {app_vector(matching->edge, m, sizeof(*matching->edge)), STARPU_RW,
	             HEDDLE_COLUMNS, 1},
	        },
	    .arg = job,
	};
}

void matching_reset(struct matching *matching, int32_t floor)
{
	strmatch_start(matching->n, floor, matching->rows);
	for (size_t j = 0; j < matching->m; j++)
		matching->edge[j] = (struct strmatch_edge){.h = floor, .f = STRMATCH_NONE};
}

void matching_free(struct matching *matching)
{
	heddle_free(matching->query, matching->n);
	heddle_free(matching->subject, matching->m);
	heddle_free(matching->rows, matching->n * sizeof(*matching->rows));
	heddle_free(matching->edge, matching->m * sizeof(*matching->edge));
}

/* ---- begin, end and alignment ---- */

static void reverse(size_t n, const uint8_t *letters, uint8_t *reversed)
{
	for (size_t i = 0; i < n; i++)
		reversed[i] = letters[n - 1 - i];
}

/* Over ranks, rank 0 has the data. */
static int run_anywhere(struct heddle_wavefront *wave)
{
	if (!ranks_used())
		return heddle_wavefront_run(wave, NULL);
	ranks_wave_prepare(wave);
	return ranks_wave_run(wave, 0, NULL);
}

static int run_backwards(struct strmatch *self, struct matching *back)
{
	struct strmatch_job job = self->job;
	struct app_wave *wave = &self->wave;
	starpu_data_handle_t handles[HEDDLE_WAVEFRONT_MAXARRAYS];
	int error;

	job.floor = STRMATCH_NONE;
	reverse(back->n, self->matching.query, back->query);
	reverse(back->m, self->matching.subject, back->subject);
	matching_reset(back, job.floor);
	matching_register(back, &job);
	back->wave.workers = wave->wave.workers;
	back->wave.nworkers = wave->wave.nworkers;
	back->wave.strategy = wave->wave.strategy;
	back->wave.tile_columns = wave->tile_columns;
	back->wave.bands_per_worker = wave->bands_per_worker;
	for (unsigned i = 0; i < back->wave.narrays; i++)
		handles[i] = back->wave.arrays[i].handle;
	error = run_anywhere(&back->wave);
	for (unsigned i = 0; i < back->wave.narrays; i++)
		starpu_data_unregister(handles[i]);
	return error;
}

static int find_start(struct strmatch *self)
{
	bool first = ranks_first();
	struct matching back;
	int error =
	    matching_init(&back, first ? self->end.row + 1 : 0, first ? self->end.column + 1 : 0);

	error = ranks_all(error);
	if (!error)
		error = run_backwards(self, &back);
	if (!error && first) {
		struct strmatch_best start = strmatch_best(back.n, back.rows);

		self->start = (struct strmatch_best){.score = start.score,
		                                     .row = self->end.row - start.row,
		                                     .column = self->end.column - start.column};
		if (start.score != self->end.score)
			error = heddle_refuse(-EIO, "score %d forwards, %d backwards",
			                      self->end.score, start.score);
	}
	matching_free(&back);
	return error;
}

static int find_alignment(struct strmatch *self)
{
	const uint8_t *query = self->matching.query + self->start.row;
	const uint8_t *subject = self->matching.subject + self->start.column;
	size_t n = self->end.row - self->start.row + 1;
	size_t m = self->end.column - self->start.column + 1;
	int error =
	    strmatch_align(&self->job.scoring, n, query, m, subject, &self->steps, &self->nsteps);

	if (error)
		return heddle_refuse(error, "no memory for the alignment");
	if (strmatch_score(&self->job.scoring, query, subject, self->steps, self->nsteps) !=
	    self->end.score)
		return heddle_refuse(-EIO, "the alignment does not have the best score");
	return 0;
}

static int find_end(struct strmatch *self)
{
	struct matching *matching = &self->matching;
	int error;

	if (!matching->n || !matching->m)
		return 0;
	error = starpu_data_acquire(matching->wave.arrays[2].handle, STARPU_R);
	if (error)
		return error;
	self->end = strmatch_best(matching->n, matching->rows);
	starpu_data_release(matching->wave.arrays[2].handle);
	return 0;
}

int matching_complete(struct strmatch *self)
{
	int error = ranks_first() ? find_end(self) : 0;

	error = ranks_all(error);
	if (error)
		return error;
	ranks_tell(&self->end, sizeof(self->end));
	if (self->end.score <= 0)
		return 0;
	error = find_start(self);
	if (!error && self->align && ranks_first())
		error = find_alignment(self);
	return error;
}

/* ---- printing ---- */

/* A position in the alignment. */
struct walk {
	const struct strmatch *self;
	size_t step, within; /* the next pair */
	size_t row, column;  /* the next letters */
};

/* The letters of the next pair, '-' for a gap; false at the end. */
static bool walk_next(struct walk *walk, char *query, char *subject)
{
	const struct strmatch *self = walk->self;
	const struct strmatch_step *step = &self->steps[walk->step];

	if (walk->step == self->nsteps)
		return false;
	*query = *subject = '-';
	if (step->kind != STRMATCH_SUBJECT)
		*query = strmatch_name(self->alphabet, self->matching.query[walk->row++]);
	if (step->kind != STRMATCH_QUERY)
		*subject = strmatch_name(self->alphabet, self->matching.subject[walk->column++]);
	if (++walk->within == step->length) {
		walk->step++;
		walk->within = 0;
	}
	return true;
}

static void print_alignment(const struct strmatch *self, FILE *stream)
{
	struct walk walk = {.self = self, .row = self->start.row, .column = self->start.column};
	char query[LINE + 1], marks[LINE + 1], subject[LINE + 1];

	for (int n = LINE; n == LINE;) {
		size_t row = walk.row + 1, column = walk.column + 1;

		for (n = 0; n < LINE && walk_next(&walk, &query[n], &subject[n]); n++)
			marks[n] = query[n] == subject[n] ? '|' : ' ';
		query[n] = marks[n] = subject[n] = '\0';
		if (n)
			fprintf(stream, "\nquery   %10zu %s %zu\n%18s %s\nsubject %10zu %s %zu\n",
			        row, query, walk.row, "", marks, column, subject, walk.column);
	}
}

void matching_print(const struct strmatch *self, FILE *stream)
{
	fprintf(stream, "score %d\n", self->end.score);
	if (self->end.score <= 0)
		return;
	fprintf(stream, "query %s: %zu to %zu of %zu\n", self->query.name, self->start.row + 1,
	        self->end.row + 1, self->matching.n);
	fprintf(stream, "subject %s: %zu to %zu of %zu\n", self->subject.name,
	        self->start.column + 1, self->end.column + 1, self->matching.m);
	if (self->steps)
		print_alignment(self, stream);
}
