/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/message.h"
#include "apps/common/csr.h"
#include "apps/common/file.h"
#include "apps/common/matrix_market.h"
#include "apps/common/random.h"

/* ---- from a file ---- */

struct entry {
	uint32_t row;
	int32_t column;
	double value;
};

/* What was read, in the file's order. */
struct entries {
	bool symmetric;
	size_t n;
	struct entry *list;
};

static bool take(void *arg, size_t row, size_t column, double value)
{
	struct entries *entries = arg;

	entries->list[entries->n++] = (struct entry){row, column, value};
	if (entries->symmetric && row != column)
		entries->list[entries->n++] = (struct entry){column, row, value};
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return (x->column > y->column) - (x->column < y->column);
}

static int allocate(struct csr *matrix, size_t n)
{
	matrix->starts = calloc(matrix->rows + 1, sizeof(*matrix->starts));
	matrix->column = malloc(n * sizeof(*matrix->column));
	matrix->values = malloc(n * sizeof(*matrix->values));
	return matrix->starts && matrix->column && matrix->values ? 0 : -ENOMEM;
}

/* From entries in order. */
static int compress(const struct entries *entries, const char *path, struct csr *matrix)
{
	int error = allocate(matrix, entries->n);

	for (size_t e = 0; e < entries->n && !error; e++) {
		const struct entry *entry = &entries->list[e];

		if (e && !by_place(entry - 1, entry))
			error = heddle_refuse(-EINVAL, "%s: row %u, column %d is given twice", path,
			                      entry->row + 1, entry->column + 1);
		matrix->starts[entry->row + 1]++;
		matrix->column[e] = entry->column;
		matrix->values[e] = entry->value;
	}
	for (size_t i = 0; i < matrix->rows && !error; i++)
		matrix->starts[i + 1] += matrix->starts[i];
	return error;
}

static int read_entries(struct matrix_market *file, struct csr *matrix)
{
	size_t most = file->entries * (file->symmetric ? 2 : 1);
	struct entries entries = {.symmetric = file->symmetric};
	int error;

	if (most > UINT32_MAX || file->columns > INT32_MAX)
		return heddle_refuse(-EINVAL, "%s: more than %u non-zeros, or than %d columns",
		                     file->path, UINT32_MAX, INT32_MAX);
	entries.list = malloc(most * sizeof(*entries.list));
	error = entries.list ? matrix_market_read(file, take, &entries) : -ENOMEM;
	if (!error) {
		matrix->rows = file->rows;
		matrix->columns = file->columns;
		qsort(entries.list, entries.n, sizeof(*entries.list), by_place);
		error = compress(&entries, file->path, matrix);
	}
	free(entries.list);
	return error;
}

int csr_read(const char *path, bool single, struct csr *matrix)
{
	struct matrix_market file;
	struct csr read = {0};
	int error = matrix_market_open(path, &file);

	if (error)
		return error;
	file.single = single;
	error = read_entries(&file, &read);
	matrix_market_close(&file);
	if (error)
		csr_free(&read);
	else
		*matrix = read;
	return error;
}

void csr_free(struct csr *matrix)
{
	free(matrix->starts);
	free(matrix->column);
	free(matrix->values);
	*matrix = (struct csr){0};
}

int csr_write(const char *path, const struct csr *matrix, int digits,
              double (*value)(void *arg, size_t entry), void *arg)
{
	FILE *stream;
	int error = file_create(path, &stream);

	if (error)
		return error;
	fprintf(stream, "%%%%MatrixMarket matrix coordinate real general\n%zu %zu %u\n",
	        matrix->rows, matrix->columns, matrix->starts[matrix->rows]);
	for (size_t i = 0; i < matrix->rows; i++)
		for (size_t e = matrix->starts[i]; e < matrix->starts[i + 1]; e++)
			fprintf(stream, "%zu %d %.*g\n", i + 1, matrix->column[e] + 1, digits,
			        value(arg, e));
	return file_finish(path, stream);
}

/* ---- random ---- */

/* From 0 (not included) to 1. */
static double uniform(uint64_t seed, size_t index)
{
	return ((app_random(seed, index) >> 11) + 1) * 0x1p-53;
}

static size_t random_length(const struct csr_shape *shape, size_t row)
{
	double least = shape->mean * (shape->alpha - 1) / shape->alpha;
	double length = least * pow(uniform(shape->seed, row), -1 / shape->alpha);

	/* Rounded to either side by chance, so that the mean stays. */
	length = floor(length + uniform(shape->seed ^ 0x517cc1b7, row));
	return length < shape->columns ? length : shape->columns;
}

static int longest_first(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x < y) - (x > y);
}

int csr_random_starts(const struct csr_shape *shape, uint32_t *starts)
{
	uint64_t sum = 0;

	starts[0] = 0;
	for (size_t i = 0; i < shape->rows; i++)
		starts[i + 1] = random_length(shape, i);
	if (shape->sorted)
		qsort(starts + 1, shape->rows, sizeof(*starts), longest_first);
	for (size_t i = 0; i < shape->rows; i++) {
		sum += starts[i + 1];
		if (sum > UINT32_MAX)
			return heddle_refuse(-EINVAL, "more than %u non-zeros", UINT32_MAX);
		starts[i + 1] = sum;
	}
	return 0;
}

int32_t csr_random_column(const struct csr_shape *shape, size_t entry, size_t at, size_t length)
{
	/* One in each of as many parts of the row, which are not empty. */
	size_t begin = at * shape->columns / length, end = (at + 1) * shape->columns / length;

	return begin + app_random(shape->seed + 1, entry) % (end - begin);
}

double csr_random_value(const struct csr_shape *shape, size_t entry)
{
	return uniform(shape->seed + 2, entry);
}
