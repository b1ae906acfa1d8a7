/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Classifies points by their nearest known neighbours: a loop over queries.
 */
#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <starpu.h>

#include "support/message.h"
#include "codelets/knn/knn.h"
#include "apps/common/app.h"
#include "apps/common/labelled.h"

/* Without a file of queries, each so many-th point of the input is one. */
#define EVERY 5

struct knn {
	struct knn_problem problem;
	size_t nclasses; /* of the known points */
	size_t queries;
	uint64_t seed;
	const char *queries_path, *save_queries; /* NULL: none */
	struct class_names names;
	struct labelled known, asked; /* what files have, or random points */
	bool truth;                   /* the queries' classes are known */
	float *points, *coordinates;
	int32_t *labels, *classes;
};

static const char *const metrics[] = {
    [KNN_EUCLIDEAN] = "euclidean",
    [KNN_MANHATTAN] = "manhattan",
};

/* ---- files ---- */

static size_t rows_where(size_t rows, bool asked)
{
	return asked ? rows / EVERY : rows - rows / EVERY;
}

/* The points of the input that are queries, or the others. */
static int part_take(const struct labelled *all, bool asked, struct labelled *part)
{
	size_t n = rows_where(all->rows, asked), row = all->dimensions * sizeof(float);

	*part = (struct labelled){.dimensions = all->dimensions,
	                          .numbers = malloc(n * row + 1),
	                          .labels = malloc(n * sizeof(int32_t) + 1)};
	if (!part->numbers || !part->labels)
		return heddle_refuse(-ENOMEM, "no memory for %zu points", n);
	for (size_t r = 0; r < all->rows; r++) {
		if ((r % EVERY == EVERY - 1) != asked)
			continue;
		memcpy(part->numbers + part->rows * all->dimensions,
		       all->numbers + r * all->dimensions, row);
		part->labels[part->rows++] = all->labels[r];
	}
	return 0;
}

static int input_split(struct knn *self)
{
	struct labelled all = self->known;
	int error = part_take(&all, false, &self->known);

	if (!error)
		error = part_take(&all, true, &self->asked);
	labelled_free(&all);
	return error;
}

static int knn_open(void *data, const struct app_options *common)
{
	struct knn *self = data;
	int error =
	    labelled_read(common->input, 0, KNN_DIMENSIONS, true, &self->names, &self->known);

	/* Queries may have others. */
	self->nclasses = self->names.n;
	if (!error)
		error = self->queries_path
		            ? labelled_read(self->queries_path, self->known.dimensions,
		                            KNN_DIMENSIONS, false, &self->names, &self->asked)
		            : input_split(self);
	if (error)
		return error;
	self->problem.points = self->known.rows;
	self->problem.dimensions = self->known.dimensions;
	self->queries = self->asked.rows;
	self->truth = self->asked.rows && self->asked.labels[0] >= 0;
	return 0;
}

/* ---- random points ---- */

/* A sum of four, nearly normal. */
static float noise(uint64_t seed, uint64_t index)
{
	float sum = 0;

	for (int i = 0; i < 4; i++)
		sum += (app_random(seed, 4 * index + i) >> 40) * 0x1p-24f - 0.5f;
	return sum;
}

/* A class is a cloud around its centre. */
static void row_fill(const struct knn *self, struct labelled *points, uint64_t seed, size_t row)
{
	unsigned dimensions = points->dimensions;
	int32_t label = app_random(seed, row) % self->nclasses;

	points->labels[row] = label;
	for (unsigned d = 0; d < dimensions; d++) {
		size_t i = row * dimensions + d;

		points->numbers[i] =
		    noise(self->seed, (uint64_t)label * dimensions + d) + noise(seed + 1, i);
	}
}

static double known_fill(void *data, size_t begin, size_t end)
{
	struct knn *self = data;

	for (size_t i = begin; i < end; i++)
		row_fill(self, &self->known, self->seed + 1, i);
	return 0;
}

static double asked_fill(void *data, size_t begin, size_t end)
{
	struct knn *self = data;

	for (size_t i = begin; i < end; i++)
		row_fill(self, &self->asked, self->seed + 3, i);
	return 0;
}

static int random_make(struct knn *self)
{
	struct labelled *parts[] = {&self->known, &self->asked};
	char name[24];

	self->known.rows = self->problem.points;
	self->asked.rows = self->queries;
	for (int p = 0; p < 2; p++) {
		size_t room = parts[p]->rows + 1;

		parts[p]->dimensions = self->problem.dimensions;
		parts[p]->numbers = calloc(room, self->problem.dimensions * sizeof(float));
		parts[p]->labels = calloc(room, sizeof(int32_t));
		if (!parts[p]->numbers || !parts[p]->labels)
			return heddle_refuse(-ENOMEM, "no memory for %zu points of %u coordinates",
			                     room - 1, parts[p]->dimensions);
	}
	for (size_t c = 0; c < self->nclasses; c++)
		if (class_number(&self->names, name, snprintf(name, sizeof(name), "c%zu", c)) < 0)
			return heddle_refuse(-ENOMEM, "no memory for %zu classes", self->nclasses);
	self->truth = true;
	if (app_simulated())
		return 0;
	app_parallel(self->known.rows, known_fill, self);
	app_parallel(self->asked.rows, asked_fill, self);
	return 0;
}

/* ---- the app ---- */

static int data_allocate(struct knn *self)
{
	size_t point = self->problem.dimensions * sizeof(float);
	int error = heddle_malloc((void **)&self->points, self->problem.points * point);

	if (!error)
		error =
		    heddle_malloc((void **)&self->labels, self->problem.points * sizeof(int32_t));
	if (!error)
		error = heddle_malloc((void **)&self->coordinates, self->queries * point);
	if (!error)
		error = heddle_malloc((void **)&self->classes, self->queries * sizeof(int32_t));
	return error;
}

/* Points lie coordinate by coordinate, queries point by point. */
static void data_fill(struct knn *self)
{
	const struct labelled *known = &self->known;

	for (size_t i = 0; i < known->rows; i++)
		for (unsigned d = 0; d < known->dimensions; d++)
			self->points[d * known->rows + i] =
			    known->numbers[i * known->dimensions + d];
	memcpy(self->labels, known->labels, known->rows * sizeof(int32_t));
	memcpy(self->coordinates, self->asked.numbers,
	       self->queries * self->problem.dimensions * sizeof(float));
}

static void accesses_set(struct knn *self, struct heddle_loop *loop)
{
	unsigned dimensions = self->problem.dimensions;

	loop->accesses[0] = (struct heddle_access){
	    .handle = app_vector(self->points, self->problem.points * dimensions, sizeof(float)),
	    .mode = STARPU_R,
	    .share = HEDDLE_WHOLE};
	loop->accesses[1] = (struct heddle_access){
	    .handle = app_vector(self->labels, self->problem.points, sizeof(int32_t)),
	    .mode = STARPU_R,
	    .share = HEDDLE_WHOLE};
	loop->accesses[2] = (struct heddle_access){
	    .handle = app_vector(self->coordinates, self->queries * dimensions, sizeof(float)),
	    .mode = STARPU_R,
	    .per_iteration = dimensions};
	loop->accesses[3] = (struct heddle_access){
	    .handle = app_vector(self->classes, self->queries, sizeof(int32_t)), .mode = STARPU_W};
	loop->naccesses = 4;
}

static int knn_prepare(void *data, const struct app_options *common, struct heddle_loop *loop)
{
	struct knn *self = data;
	int error = 0;

	self->seed = common->seed;
	if (!common->input && self->queries_path)
		return heddle_refuse(-EINVAL, "--queries needs --input");
	if (!common->input) {
		self->queries = common->size;
		error = random_make(self);
	}
	if (!error && self->problem.points < self->problem.k)
		error = heddle_refuse(-EINVAL, "--k %u: there are %zu known points",
		                      self->problem.k, self->problem.points);
	if (!error)
		error = data_allocate(self);
	if (error)
		return error;
	if (!app_simulated())
		data_fill(self);
	accesses_set(self, loop);
	loop->codelet = &knn_codelet;
	loop->n = self->queries;
	loop->arg = &self->problem;
	return 0;
}

static void knn_poison(void *data)
{
	struct knn *self = data;

	memset(self->classes, -1, self->queries * sizeof(int32_t));
}

static double errors_of(void *data, size_t begin, size_t end)
{
	struct knn *self = data;

	return knn_errors(&self->problem, end - begin, self->points, self->labels,
	                  self->coordinates + begin * self->problem.dimensions,
	                  self->classes + begin);
}

static double knn_error(void *data)
{
	struct knn *self = data;

	return app_parallel_by(self->queries, 64, errors_of, self);
}

static size_t right_count(const struct knn *self)
{
	size_t right = 0;

	for (size_t q = 0; q < self->queries; q++)
		right += self->classes[q] == self->asked.labels[q];
	return right;
}

static void knn_describe(void *data, json_t *report)
{
	struct knn *self = data;

	json_object_set_new(report, "points", json_integer(self->problem.points));
	json_object_set_new(report, "dimensions", json_integer(self->problem.dimensions));
	json_object_set_new(report, "classes", json_integer(self->names.n));
	if (self->truth && !app_simulated())
		json_object_set_new(report, "right", json_integer(right_count(self)));
}

static void knn_print(void *data)
{
	struct knn *self = data;

	printf("\n%zu known points of %u coordinates, %zu classes\n", (size_t)self->problem.points,
	       self->problem.dimensions, self->nclasses);
	if (self->truth && self->queries && !app_simulated())
		printf("%zu of %zu queries have the class that they are known to have (%.1f%%)\n",
		       right_count(self), self->queries, 100. * right_count(self) / self->queries);
}

static int knn_save_input(void *data, const struct app_options *common)
{
	struct knn *self = data;

	return labelled_write(common->save_input, &self->known, &self->names);
}

static int knn_save_output(void *data, const struct app_options *common)
{
	struct knn *self = data;
	struct labelled results = self->asked;

	results.labels = self->classes;
	return labelled_write(common->output, &results, &self->names);
}

/* --save-queries, as neither input nor output has them with their classes. */
static int knn_finish(void *data)
{
	struct knn *self = data;

	if (!self->save_queries)
		return 0;
	if (!self->truth)
		return heddle_refuse(-EINVAL, "--save-queries: the queries have no classes");
	return labelled_write(self->save_queries, &self->asked, &self->names);
}

static double knn_elements(void *data)
{
	struct knn *self = data;

	return (double)self->queries * self->problem.points;
}

static void knn_release(void *data)
{
	struct knn *self = data;
	size_t point = self->problem.dimensions * sizeof(float);

	labelled_free(&self->known);
	labelled_free(&self->asked);
	class_names_free(&self->names);
	heddle_free(self->points, self->problem.points * point);
	heddle_free(self->labels, self->problem.points * sizeof(int32_t));
	heddle_free(self->coordinates, self->queries * point);
	heddle_free(self->classes, self->queries * sizeof(int32_t));
}

/* ---- the command line ---- */

static const struct option_row own_options[] = {
    {"queries", "FILE", "Points to classify (default: each fifth point of --input)",
     TEXT(struct knn, queries_path)},
    {"save-queries", "FILE", "Write the queries with their true classes",
     TEXT(struct knn, save_queries)},
    {"points", "N", "Random known points (default 4096)",
     NUMBER(struct knn, problem.points, 1, INT32_MAX), .random = true},
    {"dimensions", "N", "Coordinates of a random point (default 8)",
     NUMBER(struct knn, problem.dimensions, 1, KNN_DIMENSIONS), .random = true},
    {"classes", "N", "Classes of random points (default 8)",
     NUMBER(struct knn, nclasses, 1, 1 << 20), .random = true},
    {"k", "N", "Neighbours that vote, 1 to 32 (default 8)",
     NUMBER(struct knn, problem.k, 1, KNN_LARGEST_K)},
    {"metric", "NAME", "euclidean (default) or manhattan",
     NAMED(struct knn, problem.metric, metrics)},
    {0},
};

int main(int argc, char **argv)
{
	static const struct app app = {
	    .name = "knn",
	    .symbol = "heddle_knn",
	    .doc =
	        "Classifies points by their nearest known neighbours."
	        "\v--size (queries), --points and --seed make random points; --input is a file "
	        "of known points: CSV, coordinates and a class in each line. --output writes the "
	        "queries with their classes. An iteration of the loop is a query.",
	    .unit = "distance",
	    .size = 1 << 16,
	    .max_size = INT32_MAX,
	    .own = own_options,
	    .tolerance = 0,
	    .open = knn_open,
	    .prepare = knn_prepare,
	    .describe = knn_describe,
	    .print = knn_print,
	    .poison = knn_poison,
	    .error = knn_error,
	    .save_input = knn_save_input,
	    .save_output = knn_save_output,
	    .elements = knn_elements,
	    .finish = knn_finish,
	    .release = knn_release,
	};
	static struct knn self = {.problem = {.points = 4096, .dimensions = 8, .k = 8},
	                          .nclasses = 8};

	return app_main(&app, &self, argc, argv);
}
