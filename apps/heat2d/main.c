/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Heat in a plate, by Gauss and Seidel's method: a wavefront over sweeps, rows and columns.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>

#include "support/message.h"
#include "codelets/heat2d/heat2d.h"
#include "apps/common/app.h"
#include "apps/common/image.h"
#include "apps/common/ranks.h"
#include "apps/common/wave.h"

#define DEFAULT_EVERY 10

struct heat2d {
	struct app_wave wave;
	size_t rows, columns;
	size_t sweeps;
	size_t every;          /* sweeps between snapshots; 0: not given */
	const char *snapshots; /* prefix of their names */
	struct image loaded;   /* of --input */
	uint64_t seed;
	float *plate;                /* by heddle_malloc() */
	float *initial;              /* the plate before the first sweep */
	float *right;                /* the expected plate; NULL: not made yet */
	starpu_data_handle_t handle; /* of the plate */
};

/* ---- own options ---- */

static const struct option_row own_options[] = {
    {"sweeps", "N", "Time steps (default 100)", NUMBER(struct heat2d, sweeps, 1, UINT32_MAX)},
    {"snapshots", "PREFIX", "Write PNG images PREFIX-SWEEP.png meanwhile",
     TEXT(struct heat2d, snapshots)},
    {"every", "N", "Time steps between snapshots (default 10)",
     NUMBER(struct heat2d, every, 1, UINT32_MAX)},
    {0},
};

static void check(void *data, struct argp_state *state)
{
	struct heat2d *self = data;

	if (self->snapshots && app_simulated())
		argp_error(state, "simulated workers compute nothing: no --snapshots");
	if (self->snapshots && !*self->snapshots)
		argp_error(state, "--snapshots '': a prefix without a letter");
	if (self->every && !self->snapshots)
		argp_error(state, "--every without --snapshots");
	if (!self->every)
		self->every = DEFAULT_EVERY;
}

/* ---- data ---- */

/* Hot at the top, cold at the other borders, random inside. A PNG image can hold the values. */
static float generated(const struct heat2d *self, size_t i, size_t j)
{
	if (!i)
		return 255;
	if (!j || i + 1 == self->rows || j + 1 == self->columns)
		return 0;
	return app_random(self->seed, i * self->columns + j) >> 56;
}

static double fill_rows(void *arg, size_t begin, size_t end)
{
	struct heat2d *self = arg;

	for (size_t i = begin; i < end; i++)
		for (size_t j = 0; j < self->columns; j++)
			self->initial[i * self->columns + j] =
			    self->loaded.pixels ? image_mean(&self->loaded, i * self->columns + j)
			                        : generated(self, i, j);
	return 0;
}

static double restore_rows(void *arg, size_t begin, size_t end)
{
	struct heat2d *self = arg;
	size_t n = self->columns;

	memcpy(self->plate + begin * n, self->initial + begin * n,
	       (end - begin) * n * sizeof(*self->plate));
	return 0;
}

/* Any difference of bits is an error of at least the smallest number. */
static double error_of_rows(void *arg, size_t begin, size_t end)
{
	struct heat2d *self = arg;
	size_t n = self->columns;
	double worst = 0;

	if (!memcmp(self->plate + begin * n, self->right + begin * n,
	            (end - begin) * n * sizeof(*self->plate)))
		return 0;
	for (size_t i = begin * n; i < end * n; i++) {
		double error = fabs((double)self->plate[i] - self->right[i]);

		if (!(error <= worst))
			worst = isnan(error) ? HUGE_VAL : error;
	}
	return worst > 0 ? worst : 1e-45;
}

/* ---- the app ---- */

static int heat2d_open(void *data, const struct app_options *common)
{
	struct heat2d *self = data;

	return png_file_read(common->input, &self->loaded);
}

static int heat2d_prepare(void *data, const struct app_options *common, struct heddle_loop *loop)
{
	struct heat2d *self = data;
	size_t bytes;
	int error;

	self->rows = common->input ? self->loaded.height : common->size;
	self->columns = common->input ? self->loaded.width : common->size;
	self->seed = common->seed;
	bytes = self->rows * self->columns * sizeof(*self->plate);
	error = heddle_malloc((void **)&self->plate, bytes);
	if (error)
		return error;
	self->initial = app_simulated() ? NULL : malloc(bytes + 1);
	if (!self->initial && !app_simulated())
		return heddle_refuse(-ENOMEM, "no memory for the initial state");
	if (!app_simulated())
		app_parallel(self->rows, fill_rows, self);
	self->handle = app_matrix(self->plate, self->rows, self->columns, sizeof(*self->plate));
	self->wave.wave = (struct heddle_wavefront){
	    .codelet = &heat2d_codelet,
	    .rows = self->rows,
	    .columns = self->columns,
	    .sweeps = self->sweeps,
	    .nvectors = 4,
	    .vectors = {{.column = 1},
	                {.row = 1},
	                {.sweep = 1, .column = -1},
	                {.sweep = 1, .row = -1}},
	    .narrays = 1,
	    .arrays = {{self->handle, STARPU_RW, HEDDLE_FIELD_HALO, 1}},
	};
	return app_wave_prepare(&self->wave, common, loop);
}

/* Runs a wavefront up to each snapshot, and one for the rest. */
static int heat2d_run(void *data, struct heddle_loop_stats *stats)
{
	struct heat2d *self = data;
	size_t at_once = self->snapshots ? self->every : self->sweeps, done = 0;
	static struct heddle_loop_stats one;
	int error = 0;

	memset(stats, 0, sizeof(*stats));
	while (!error && done < self->sweeps) {
		size_t left = self->sweeps - done;

		self->wave.wave.sweeps = at_once < left ? at_once : left;
		done += self->wave.wave.sweeps;
		error = app_wave_run(&self->wave, &one);
		if (!error)
			app_stats_add(stats, &one);
		if (!error && self->snapshots && ranks_first())
			error = image_write_frame(self->snapshots, done, self->handle,
			                          self->columns, self->rows, self->plate, 1);
	}
	return error;
}

static void heat2d_poison(void *data)
{
	struct heat2d *self = data;

	app_parallel(self->rows, restore_rows, self);
}

static int make_right(struct heat2d *self)
{
	size_t bytes = self->rows * self->columns * sizeof(*self->right);
	struct heat2d_tile whole = {.rows = self->rows,
	                            .columns = self->columns,
	                            .total_rows = self->rows,
	                            .total_columns = self->columns,
	                            .stride = self->columns};

	self->right = malloc(bytes + 1);
	if (!self->right)
		return -ENOMEM;
	memcpy(self->right, self->initial, bytes);
	for (size_t sweep = 0; sweep < self->sweeps; sweep++)
		heat2d_reference(&whole, self->right);
	return 0;
}

static double heat2d_verify(void *data)
{
	struct heat2d *self = data;

	if (!self->right && make_right(self)) {
		heddle_refuse(-ENOMEM, "no memory for the reference");
		return HUGE_VAL;
	}
	return app_parallel(self->rows, error_of_rows, self);
}

static int heat2d_save_input(void *data, const struct app_options *common)
{
	struct heat2d *self = data;

	return image_write_field(common->save_input, self->columns, self->rows, self->initial, 1);
}

static int heat2d_save_output(void *data, const struct app_options *common)
{
	struct heat2d *self = data;

	return image_write_field(common->output, self->columns, self->rows, self->plate, 1);
}

static void heat2d_release(void *data)
{
	struct heat2d *self = data;

	free(self->loaded.pixels);
	free(self->initial);
	free(self->right);
	heddle_free(self->plate, self->rows * self->columns * sizeof(*self->plate));
}

int main(int argc, char **argv)
{
	static struct heat2d self = {.sweeps = 100};
	static const struct app app = {
	    .name = "heat2d",
	    .symbol = "heddle_heat2d",
	    .doc = "Heat in a plate whose border keeps its temperatures, by Gauss and Seidel's "
	           "method."
	           "\v--size N and --seed make a plate of N rows and columns, hot at the top; "
	           "--input takes the temperatures from a PNG image, and --output writes them to "
	           "one, 0 to 255. A point needs its neighbours of this time step above and on the "
	           "left, and of the one before below and on the right: time steps follow each "
	           "other through the plate.",
	    .unit = "point",
	    .size = 2048,
	    .max_size = 1 << 18,
	    .own = own_options,
	    .check = check,
	    .tolerance = 0,
	    .open = heat2d_open,
	    .prepare = heat2d_prepare,
	    .run = heat2d_run,
	    .poison = heat2d_poison,
	    .error = heat2d_verify,
	    .save_input = heat2d_save_input,
	    .save_output = heat2d_save_output,
	    .release = heat2d_release,
	    .ranks = true,
	    .wave = &self.wave,
	};

	return app_main(&app, &self, argc, argv);
}
