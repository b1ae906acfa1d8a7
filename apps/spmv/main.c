/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Multiplies a sparse matrix with a vector, again and again: a loop over rows, whose non-zeros are
 * slices by an index. Every repetition has another vector, as in a power iteration.
 */
#include "config.h"

#include <math.h>
#include <string.h>
#include <starpu.h>

#include "codelets/spmv/spmv.h"
#include "apps/common/app.h"
#include "apps/common/csr.h"
#include "apps/common/matrix_market.h"

struct spmv {
	struct csr_shape shape; /* rows and columns are those of --input, too */
	bool wide;
	struct csr loaded; /* of --input */
	size_t entries;
	uint32_t *starts;
	int32_t *columns;
	void *values, *x, *y;
	starpu_data_handle_t x_handle;
	unsigned round; /* repetitions done */
	double norm;    /* of the last y */
};

static size_t bytes_of_number(const struct spmv *self)
{
	return self->wide ? sizeof(double) : sizeof(float);
}

static double number_get(const struct spmv *self, const void *numbers, size_t i)
{
	return self->wide ? ((const double *)numbers)[i] : ((const float *)numbers)[i];
}

static void number_set(const struct spmv *self, void *numbers, size_t i, double value)
{
	if (self->wide)
		((double *)numbers)[i] = value;
	else
		((float *)numbers)[i] = value;
}

/* ---- the matrix ---- */

static double fill_rows(void *arg, size_t begin, size_t end)
{
	struct spmv *self = arg;

	for (size_t i = begin; i < end; i++) {
		size_t first = self->starts[i], length = self->starts[i + 1] - first;

		for (size_t e = first; e < first + length; e++) {
			self->columns[e] = csr_random_column(&self->shape, e, e - first, length);
			number_set(self, self->values, e, csr_random_value(&self->shape, e));
		}
	}
	return 0;
}

static int matrix_allocate(struct spmv *self)
{
	size_t number = bytes_of_number(self);
	int error = heddle_malloc((void **)&self->columns, self->entries * sizeof(*self->columns));

	if (!error)
		error = heddle_malloc(&self->values, self->entries * number);
	if (!error)
		error = heddle_malloc(&self->x, self->shape.columns * number);
	return error ? error : heddle_malloc(&self->y, self->shape.rows * number);
}

static int matrix_make(struct spmv *self, bool loaded)
{
	size_t rows = self->shape.rows;
	int error = heddle_malloc((void **)&self->starts, (rows + 1) * sizeof(*self->starts));

	if (!error && !loaded)
		error = csr_random_starts(&self->shape, self->starts);
	if (error)
		return error;
	if (loaded)
		memcpy(self->starts, self->loaded.starts, (rows + 1) * sizeof(*self->starts));
	self->entries = self->starts[rows];
	error = matrix_allocate(self);
	for (size_t e = 0; !error && loaded && e < self->entries; e++) {
		self->columns[e] = self->loaded.column[e];
		number_set(self, self->values, e, self->loaded.values[e]);
	}
	if (!error && !loaded && !app_simulated())
		app_parallel_by(rows, 1024, fill_rows, self);
	return error;
}

/* ---- the vector ---- */

static double random_x(void *arg, size_t begin, size_t end)
{
	struct spmv *self = arg;

	for (size_t j = begin; j < end; j++)
		number_set(self, self->x, j,
		           (app_random(self->shape.seed + 3 + self->round, j) >> 40) * 0x1p-24);
	return 0;
}

static double scaled_y(void *arg, size_t begin, size_t end)
{
	struct spmv *self = arg;

	for (size_t j = begin; j < end; j++)
		number_set(self, self->x, j, number_get(self, self->y, j) / self->norm);
	return 0;
}

static double clear_y(void *arg, size_t begin, size_t end)
{
	struct spmv *self = arg;

	for (size_t i = begin; i < end; i++)
		number_set(self, self->y, i, NAN);
	return 0;
}

/* The next vector: the last product, scaled to its largest number, where there is one and the
 * matrix is square. */
static void x_make(struct spmv *self)
{
	self->norm = 0;
	for (size_t i = 0; self->round && i < self->shape.rows; i++)
		self->norm = fmax(self->norm, fabs(number_get(self, self->y, i)));
	if (self->shape.rows == self->shape.columns && self->norm > 0 && isfinite(self->norm))
		app_parallel(self->shape.columns, scaled_y, self);
	else
		app_parallel(self->shape.columns, random_x, self);
	self->round++;
}

/* ---- the app ---- */

static int spmv_open(void *data, const struct app_options *common)
{
	struct spmv *self = data;
	int error = csr_read(common->input, !self->wide, &self->loaded);

	self->shape.rows = self->loaded.rows;
	self->shape.columns = self->loaded.columns;
	return error;
}

static int spmv_prepare(void *data, const struct app_options *common, struct heddle_loop *loop)
{
	struct spmv *self = data;
	size_t number = bytes_of_number(self);
	starpu_data_handle_t starts;
	int error;

	if (!common->input)
		self->shape.rows = self->shape.columns = common->size;
	self->shape.seed = common->seed;
	error = matrix_make(self, common->input);
	if (error)
		return error;
	starts = app_vector(self->starts, self->shape.rows + 1, sizeof(*self->starts));
	self->x_handle = app_vector(self->x, self->shape.columns, number);
	loop->accesses[0] = (struct heddle_access){
	    .handle = starts, .mode = STARPU_R, .share = HEDDLE_HALO, .halo = 1};
	loop->accesses[1] = (struct heddle_access){
	    .handle = app_vector(self->columns, self->entries, sizeof(*self->columns)),
	    .mode = STARPU_R,
	    .share = HEDDLE_INDEXED,
	    .index = starts};
	loop->accesses[2] =
	    (struct heddle_access){.handle = app_vector(self->values, self->entries, number),
	                           .mode = STARPU_R,
	                           .share = HEDDLE_INDEXED,
	                           .index = starts};
	loop->accesses[3] = (struct heddle_access){
	    .handle = self->x_handle, .mode = STARPU_R, .share = HEDDLE_WHOLE};
	loop->accesses[4] = (struct heddle_access){
	    .handle = app_vector(self->y, self->shape.rows, number), .mode = STARPU_W};
	loop->naccesses = 5;
	loop->codelet = &spmv_codelet;
	loop->n = self->shape.rows;
	return 0;
}

static void spmv_poison(void *data)
{
	struct spmv *self = data;

	if (starpu_data_acquire(self->x_handle, STARPU_W))
		return;
	x_make(self);
	starpu_data_release(self->x_handle);
	app_parallel(self->shape.rows, clear_y, self);
}

static double error_of_rows(void *arg, size_t begin, size_t end)
{
	struct spmv *self = arg;
	size_t number = bytes_of_number(self), first = self->starts[begin];
	const struct spmv_rows rows = {
	    .n = end - begin,
	    .wide = self->wide,
	    .starts = self->starts + begin,
	    .columns = self->columns + first,
	    .values = (const char *)self->values + first * number,
	    .x = self->x,
	    .y = (char *)self->y + begin * number,
	};

	return spmv_error(&rows);
}

static double spmv_verify(void *data)
{
	struct spmv *self = data;

	return app_parallel_by(self->shape.rows, 1024, error_of_rows, self);
}

static double value_get(void *data, size_t entry)
{
	struct spmv *self = data;

	return number_get(self, self->values, entry);
}

static double y_get(void *data, size_t row, size_t column)
{
	struct spmv *self = data;

	return number_get(self, self->y, row);
}

static int spmv_save_input(void *data, const struct app_options *common)
{
	struct spmv *self = data;
	const struct csr matrix = {.rows = self->shape.rows,
	                           .columns = self->shape.columns,
	                           .starts = self->starts,
	                           .column = self->columns};

	return csr_write(common->save_input, &matrix, self->wide ? 17 : 9, value_get, self);
}

static int spmv_save_output(void *data, const struct app_options *common)
{
	struct spmv *self = data;

	return matrix_market_write(common->output, self->shape.rows, 1, false, self->wide ? 17 : 9,
	                           y_get, self);
}

static double spmv_elements(void *data)
{
	return ((struct spmv *)data)->entries;
}

static void spmv_release(void *data)
{
	struct spmv *self = data;
	size_t number = bytes_of_number(self);

	csr_free(&self->loaded);
	heddle_free(self->starts, (self->shape.rows + 1) * sizeof(*self->starts));
	heddle_free(self->columns, self->entries * sizeof(*self->columns));
	heddle_free(self->values, self->entries * number);
	heddle_free(self->x, self->shape.columns * number);
	heddle_free(self->y, self->shape.rows * number);
}

static const struct option_row own_options[] = {
    {"mean", "M", "Mean non-zeros of a random row (default 16)",
     REAL(struct spmv, shape.mean, 1, 1e9), .random = true},
    {"alpha", "A",
     "Lengths of random rows have Pareto's distribution with this exponent, 1.1 to 100 (default "
     "1.5: very unequal)",
     REAL(struct spmv, shape.alpha, 1.1, 100), .random = true},
    {"sorted", NULL, "The longest random row comes first", SETS(struct spmv, shape.sorted, true),
     .random = true},
    {"double", NULL, "Double precision (default single)", SETS(struct spmv, wide, true)},
    {0},
};

int main(int argc, char **argv)
{
	static const struct app app = {
	    .name = "spmv",
	    .symbol = "heddle_spmv",
	    .doc = "Multiplies a sparse matrix with a vector."
	           "\v--size N and --seed make a random matrix of N rows and columns; --input and "
	           "--save-input are files of the Matrix Market, and so is the product, --output. "
	           "An iteration of the loop is a row. Every repetition has another vector: of a "
	           "square matrix the last product, scaled.",
	    .unit = "non-zero",
	    .size = 1 << 20,
	    .max_size = INT32_MAX,
	    .seeded = true,
	    .own = own_options,
	    .tolerance = SPMV_TOLERANCE,
	    .open = spmv_open,
	    .prepare = spmv_prepare,
	    .poison = spmv_poison,
	    .error = spmv_verify,
	    .save_input = spmv_save_input,
	    .save_output = spmv_save_output,
	    .elements = spmv_elements,
	    .release = spmv_release,
	};
	static struct spmv self = {.shape = {.mean = 16, .alpha = 1.5}};

	return app_main(&app, &self, argc, argv);
}
