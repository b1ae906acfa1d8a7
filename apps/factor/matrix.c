/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/common/app.h"
#include "apps/common/random.h"
#include "apps/factor/matrix.h"

static size_t number_bytes(const struct matrix *matrix)
{
	return matrix->wide ? sizeof(double) : sizeof(float);
}

struct matrix matrix_shape(size_t n, size_t tile, bool lower, bool wide)
{
	size_t tiles = (n + tile - 1) / tile, all = lower ? tiles * (tiles + 1) / 2 : tiles * tiles;
	struct matrix matrix = {n, tile, tiles, lower, wide, 0, NULL};

	if (tile > n)
		matrix.tile = n;
	matrix.bytes = all * matrix.tile * matrix.tile * number_bytes(&matrix);
	return matrix;
}

size_t matrix_index(const struct matrix *matrix, unsigned row, unsigned column)
{
	return matrix->lower ? (size_t)row * (row + 1) / 2 + column
	                     : (size_t)row * matrix->tiles + column;
}

void *matrix_tile(const struct matrix *matrix, unsigned row, unsigned column)
{
	return matrix->data + matrix_index(matrix, row, column) * matrix->tile * matrix->tile *
	                          number_bytes(matrix);
}

size_t matrix_side(const struct matrix *matrix, unsigned index)
{
	size_t rest = matrix->n - index * matrix->tile;

	return rest < matrix->tile ? rest : matrix->tile;
}

static double number_get(const struct matrix *matrix, const void *tile, size_t at)
{
	return matrix->wide ? ((const double *)tile)[at] : ((const float *)tile)[at];
}

static void number_set(const struct matrix *matrix, void *tile, size_t at, double value)
{
	if (matrix->wide)
		((double *)tile)[at] = value;
	else
		((float *)tile)[at] = value;
}

static size_t place(const struct matrix *matrix, size_t row, size_t column, void **tile)
{
	unsigned i = row / matrix->tile, j = column / matrix->tile;

	*tile = matrix_tile(matrix, i, j);
	return row % matrix->tile + column % matrix->tile * matrix_side(matrix, i);
}

double matrix_get(const struct matrix *matrix, size_t row, size_t column)
{
	void *tile;
	size_t at = place(matrix, row, column, &tile);

	return number_get(matrix, tile, at);
}

void matrix_set(const struct matrix *matrix, size_t row, size_t column, double value)
{
	void *tile;
	size_t at = place(matrix, row, column, &tile);

	number_set(matrix, tile, at, value);
}

/* ---- input ---- */

struct filling {
	const struct matrix *matrix, *from;
	uint64_t seed;
};

/* With 24 bits a float holds it, too. */
static double random_number(const struct filling *filling, size_t row, size_t column)
{
	const struct matrix *matrix = filling->matrix;

	if (row == column)
		return matrix->n;
	if (matrix->lower && row < column)
		return random_number(filling, column, row);
	return (app_random(filling->seed, row * matrix->n + column) >> 40) * 0x1p-24 - 0.5;
}

static unsigned columns_of(const struct matrix *matrix, unsigned row)
{
	return matrix->lower ? row + 1 : matrix->tiles;
}

static double fill_rows(void *arg, size_t begin, size_t end)
{
	struct filling *filling = arg;
	const struct matrix *matrix = filling->matrix;

	for (unsigned i = begin; i < end; i++)
		for (unsigned j = 0; j < columns_of(matrix, i); j++) {
			size_t rows = matrix_side(matrix, i), columns = matrix_side(matrix, j);
			void *tile = matrix_tile(matrix, i, j);

			for (size_t c = 0; c < columns; c++)
				for (size_t r = 0; r < rows; r++)
					number_set(matrix, tile, r + c * rows,
					           random_number(filling, i * matrix->tile + r,
					                         j * matrix->tile + c));
		}
	return 0;
}

void matrix_fill(const struct matrix *matrix, uint64_t seed)
{
	struct filling filling = {matrix, NULL, seed};

	app_parallel_by(matrix->tiles, 1, fill_rows, &filling);
}

static double copy_rows(void *arg, size_t begin, size_t end)
{
	struct filling *filling = arg;
	const struct matrix *to = filling->matrix;

	for (unsigned i = begin; i < end; i++)
		for (unsigned j = 0; j < columns_of(to, i); j++)
			memcpy(matrix_tile(to, i, j), matrix_tile(filling->from, i, j),
			       matrix_side(to, i) * matrix_side(to, j) * number_bytes(to));
	return 0;
}

void matrix_copy(const struct matrix *to, const struct matrix *from)
{
	struct filling filling = {to, from, 0};

	app_parallel_by(to->tiles, 1, copy_rows, &filling);
}

bool matrix_is_symmetric(const struct matrix *matrix, size_t *row, size_t *column)
{
	for (size_t i = 0; i < matrix->n; i++)
		for (size_t j = 0; j < i; j++)
			if (matrix_get(matrix, i, j) != matrix_get(matrix, j, i)) {
				*row = i;
				*column = j;
				return false;
			}
	return true;
}

/* ---- products with a vector ---- */

enum part { WHOLE, LOWER, LOWER_TRANSPOSED, STRICT_TRANSPOSED, LOWER_UNIT, UPPER };

/* to += part * from, and sums += the magnitudes in each row. */
struct product {
	const struct matrix *matrix;
	enum part part;
	const double *from;
	double *to, *sums;
};

/* Rows of a tile on the diagonal that belong to the part, in a column. */
static void rows_of(enum part part, size_t column, size_t *first, size_t *end)
{
	if (part == LOWER)
		*first = column;
	if (part == LOWER_UNIT)
		*first = column + 1;
	if (part == LOWER_TRANSPOSED || part == UPPER)
		*end = column + 1;
	if (part == STRICT_TRANSPOSED)
		*end = column;
}

static void multiply_tile(const struct product *product, unsigned i, unsigned j)
{
	const struct matrix *matrix = product->matrix;
	bool across = product->part == LOWER_TRANSPOSED || product->part == STRICT_TRANSPOSED;
	const void *tile = across ? matrix_tile(matrix, j, i) : matrix_tile(matrix, i, j);
	size_t rows = matrix_side(matrix, i), columns = matrix_side(matrix, j);
	size_t by_row = across ? columns : 1, by_column = across ? 1 : rows;
	double *to = product->to + i * matrix->tile, *sums = product->sums + i * matrix->tile;
	const double *from = product->from + j * matrix->tile;

	for (size_t c = 0; c < columns; c++) {
		size_t first = 0, end = rows;

		if (i == j)
			rows_of(product->part, c, &first, &end);
		if (i == j && product->part == LOWER_UNIT)
			to[c] += from[c];
		for (size_t r = first; r < end; r++) {
			double value = number_get(matrix, tile, r * by_row + c * by_column);

			to[r] += value * from[c];
			sums[r] += fabs(value);
		}
	}
}

static double multiply_rows(void *arg, size_t begin, size_t end)
{
	const struct product *product = arg;
	bool below = product->part == LOWER || product->part == LOWER_UNIT;

	for (unsigned i = begin; i < end; i++) {
		unsigned last = below ? i + 1 : product->matrix->tiles;

		for (unsigned j = below || product->part == WHOLE ? 0 : i; j < last; j++)
			multiply_tile(product, i, j);
	}
	return 0;
}

static void multiply(const struct matrix *matrix, enum part part, const double *from, double *to,
                     double *sums)
{
	struct product product = {matrix, part, from, to, sums};

	app_parallel_by(matrix->tiles, 1, multiply_rows, &product);
}

/* ---- errors ---- */

static double unit(const struct matrix *matrix)
{
	return sqrt(matrix->n) * (matrix->wide ? DBL_EPSILON : FLT_EPSILON);
}

/* Not-a-number is the largest. */
static double larger(double a, double b)
{
	return isnan(a) || isnan(b) ? INFINITY : fmax(a, b);
}

/* @param room five vectors of zeros */
static double error_of_product(enum graph_kind kind, const struct matrix *matrix,
                               const struct matrix *factors, double *room)
{
	size_t n = matrix->n;
	double *x = room, *between = x + n, *right = between + n, *sums = right + n,
	       *spare = sums + n;
	double error = 0, norm = 0;

	for (size_t i = 0; i < n; i++)
		x[i] = app_random(n, i) & 1 ? 1 : -1;
	multiply(matrix, kind == GRAPH_CHOLESKY ? LOWER : WHOLE, x, right, sums);
	if (kind == GRAPH_CHOLESKY)
		multiply(matrix, STRICT_TRANSPOSED, x, right, sums);
	multiply(factors, kind == GRAPH_CHOLESKY ? LOWER_TRANSPOSED : UPPER, x, between, spare);
	for (size_t i = 0; i < n; i++)
		right[i] = -right[i];
	multiply(factors, kind == GRAPH_CHOLESKY ? LOWER : LOWER_UNIT, between, right, spare);
	for (size_t i = 0; i < n; i++) {
		error = larger(error, fabs(right[i]));
		norm = fmax(norm, sums[i]);
	}
	return error > 0 ? error / (norm * unit(matrix)) : 0;
}

#define SAMPLES_PER_TILE 4
#define MAX_SAMPLES 16384

struct samples {
	enum graph_kind kind;
	const struct matrix *matrix, *factors;
	size_t ntiles; /* with LU all, with Cholesky on and below the diagonal */
};

static double error_at(const struct samples *samples, size_t row, size_t column)
{
	const struct matrix *f = samples->factors;
	bool lu = samples->kind == GRAPH_LU;
	size_t last = row < column ? row : column;
	double value = matrix_get(samples->matrix, row, column), error = value, sum = fabs(value);

	for (size_t k = 0; k <= last; k++) {
		double left = lu && k == row ? 1 : matrix_get(f, row, k);
		double term = left * (lu ? matrix_get(f, k, column) : matrix_get(f, column, k));

		error -= term;
		sum += fabs(term);
	}
	return error == 0 ? 0 : fabs(error) / (sum * unit(f));
}

static double error_of_sample(const struct samples *samples, size_t s)
{
	const struct matrix *matrix = samples->matrix;
	uint64_t random = app_random(matrix->n, s);
	size_t tile = s / SAMPLES_PER_TILE < samples->ntiles ? s / SAMPLES_PER_TILE : 0;
	unsigned i, j;
	size_t row, column;

	if (samples->ntiles > MAX_SAMPLES / SAMPLES_PER_TILE)
		tile = app_random(random, s) % samples->ntiles;
	i = tile / matrix->tiles;
	j = tile % matrix->tiles;
	row = i * matrix->tile + (random & UINT32_MAX) % matrix_side(matrix, i);
	column = j * matrix->tile + (random >> 32) % matrix_side(matrix, j);
	if (samples->kind == GRAPH_CHOLESKY && row < column)
		return error_at(samples, column, row);
	return error_at(samples, row, column);
}

static double errors_of_samples(void *arg, size_t begin, size_t end)
{
	double error = 0;

	for (size_t s = begin; s < end; s++)
		error = larger(error, error_of_sample(arg, s));
	return error;
}

double matrix_error(enum graph_kind kind, const struct matrix *matrix, const struct matrix *factors)
{
	struct samples samples = {kind, matrix, factors, (size_t)matrix->tiles * matrix->tiles};
	size_t n = SAMPLES_PER_TILE * samples.ntiles;
	double *room = calloc(5 * matrix->n + 1, sizeof(*room)), error;

	if (!room)
		return INFINITY;
	error = error_of_product(kind, matrix, factors, room);
	free(room);
	return larger(error, app_parallel_by(n < MAX_SAMPLES ? n : MAX_SAMPLES, 16,
	                                     errors_of_samples, &samples));
}
