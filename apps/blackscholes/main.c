/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Prices European options: a loop over the options.
 */
#include "config.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include <starpu.h>

#include "support/message.h"
#include "codelets/blackscholes/blackscholes.h"
#include "apps/common/app.h"
#include "apps/common/csv.h"
#include "apps/common/ranks.h"

enum { SPOT, STRIKE, YEARS, CALL, PUT, NARRAYS };
#define NINPUTS CALL

static const char *const names[NARRAYS] = {"spot", "strike", "years", "call", "put"};

struct blackscholes {
	struct blackscholes_market market;
	struct csv table;     /* from --input, copied to the arrays */
	size_t all, first, n; /* options; those of this rank */
	uint64_t seed;
	float *arrays[NARRAYS];
};

/* ---- own options ---- */

static const struct option_row own_options[] = {
    {"rate", "R", "Riskless interest a year (default 0.05)",
     REAL(struct blackscholes, market.rate, -1, 1)},
    {"volatility", "V", "Volatility of the share a year (default 0.3)",
     REAL(struct blackscholes, market.volatility, 0.001, 10)},
    {0},
};

/* ---- data ---- */

/* The lowest 21 bits as a number from `from` to `to`. */
static float scale(uint64_t bits, float from, float to)
{
	return from + (to - from) * (float)(bits & 0x1fffff) * 0x1p-21f;
}

static double fill_random(void *arg, size_t begin, size_t end)
{
	struct blackscholes *self = arg;

	for (size_t i = begin; i < end; i++) {
		uint64_t bits = app_random(self->seed, self->first + i);

		self->arrays[SPOT][i] = scale(bits, 5, 200);
		self->arrays[STRIKE][i] = scale(bits >> 21, 5, 200);
		self->arrays[YEARS][i] = scale(bits >> 42, 0.05f, 10);
	}
	return 0;
}

static double fill_from_table(void *arg, size_t begin, size_t end)
{
	struct blackscholes *self = arg;

	for (int a = 0; a < NINPUTS; a++)
		memcpy(self->arrays[a] + begin, self->table.columns[a] + self->first + begin,
		       (end - begin) * sizeof(float));
	return 0;
}

static double fill_with_nan(void *arg, size_t begin, size_t end)
{
	struct blackscholes *self = arg;

	for (int a = NINPUTS; a < NARRAYS; a++)
		memset(self->arrays[a] + begin, 0xff, (end - begin) * sizeof(float));
	return 0;
}

static double error_of(void *arg, size_t begin, size_t end)
{
	struct blackscholes *self = arg;
	float *const *arrays = self->arrays;

	return blackscholes_error(&self->market, end - begin, arrays[SPOT] + begin,
	                          arrays[STRIKE] + begin, arrays[YEARS] + begin,
	                          arrays[CALL] + begin, arrays[PUT] + begin);
}

/* ---- the app ---- */

/* Interest below 0 makes a strike grow with the years: prices are float, and so is what a strike is
 * multiplied by, up to 2^127. */
static int check_growth(const struct blackscholes *self, const char *path)
{
	const float *strike = self->table.columns[STRIKE], *years = self->table.columns[YEARS];

	for (size_t i = 0; i < self->table.rows; i++)
		if (!(fmax(strike[i], 2) * exp(-(double)self->market.rate * years[i]) <= FLT_MAX))
			return heddle_refuse(-ERANGE,
			                     "%s: option %zu: in %g years at --rate %g the strike "
			                     "%g, or its growth, is beyond single precision",
			                     path, i + 1, years[i], self->market.rate, strike[i]);
	return 0;
}

static int blackscholes_open(void *data, const struct app_options *common)
{
	struct blackscholes *self = data;
	int error = csv_read(common->input, NINPUTS, names, &self->table);

	if (!error && self->table.rows > UINT32_MAX)
		error =
		    heddle_refuse(-EFBIG, "%s: more than %u options", common->input, UINT32_MAX);
	return error ? error : check_growth(self, common->input);
}

static int blackscholes_prepare(void *data, const struct app_options *common,
                                struct heddle_loop *loop)
{
	struct blackscholes *self = data;

	self->all = common->input ? self->table.rows : common->size;
	ranks_part(self->all, &self->first, &self->n);
	self->seed = common->seed;
	for (int a = 0; a < NARRAYS; a++) {
		int error = heddle_malloc((void **)&self->arrays[a], self->n * sizeof(float));

		if (error)
			return error;
	}
	if (common->input)
		app_parallel(self->n, fill_from_table, self);
	else if (!app_simulated())
		app_parallel(self->n, fill_random, self);
	csv_free(&self->table);
	for (int a = 0; a < NARRAYS; a++)
		loop->accesses[loop->naccesses++] = (struct heddle_access){
		    .handle = app_vector(self->arrays[a], self->n, sizeof(float)),
		    .mode = a < NINPUTS ? STARPU_R : STARPU_W,
		};
	loop->codelet = &blackscholes_codelet;
	loop->n = self->all;
	loop->arg = &self->market;
	return 0;
}

static void blackscholes_poison(void *data)
{
	struct blackscholes *self = data;

	app_parallel(self->n, fill_with_nan, self);
}

static double blackscholes_verify(void *data)
{
	struct blackscholes *self = data;

	return app_parallel(self->n, error_of, self);
}

static int blackscholes_save_input(void *data, const struct app_options *common)
{
	struct blackscholes *self = data;

	return csv_write(common->save_input, NINPUTS, names, (const float *const *)self->arrays,
	                 self->n);
}

static int blackscholes_save_output(void *data, const struct app_options *common)
{
	struct blackscholes *self = data;

	return csv_write(common->output, NARRAYS, names, (const float *const *)self->arrays,
	                 self->n);
}

static void blackscholes_release(void *data)
{
	struct blackscholes *self = data;

	csv_free(&self->table);
	for (int a = 0; a < NARRAYS; a++)
		heddle_free(self->arrays[a], self->n * sizeof(float));
}

int main(int argc, char **argv)
{
	static const struct app app = {
	    .name = "blackscholes",
	    .symbol = "heddle_blackscholes",
	    .doc =
	        "Prices European call and put options by the formula of Black and Scholes."
	        "\v--size and --seed make random options; --input reads them from a CSV file "
	        "with the columns spot, strike and years, and --output writes them back with the "
	        "columns call and put added.",
	    .unit = "option",
	    .size = 1 << 22,
	    .max_size = UINT32_MAX,
	    .own = own_options,
	    .ranks = true,
	    .parts = true,
	    .tolerance = BLACKSCHOLES_TOLERANCE,
	    .open = blackscholes_open,
	    .prepare = blackscholes_prepare,
	    .poison = blackscholes_poison,
	    .error = blackscholes_verify,
	    .save_input = blackscholes_save_input,
	    .save_output = blackscholes_save_output,
	    .release = blackscholes_release,
	};
	static struct blackscholes self = {.market = {.rate = 0.05f, .volatility = 0.3f}};

	return app_main(&app, &self, argc, argv);
}
