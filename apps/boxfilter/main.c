/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Smooths an image: a loop over its rows.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>

#include "support/message.h"
#include "codelets/boxfilter/boxfilter.h"
#include "apps/common/app.h"
#include "apps/common/image.h"
#include "apps/common/ranks.h"

struct boxfilter {
	struct boxfilter_window window;
	size_t rows;                /* of the whole image */
	struct image input, output; /* this rank's rows and those in their windows */
	size_t above;               /* of these, before this rank's */
	size_t n;                   /* this rank's */
	size_t first;               /* where `input` begins in the whole image */
	struct image loaded;        /* from --input, copied to `input` */
	uint64_t seed;
	uint64_t *sums; /* of the reference; NULL: not made yet */
};

/* ---- own options ---- */

static const struct option_row own_options[] = {
    {"radius", "R", "The window is 2 R + 1 pixels a side (default 8)",
     NUMBER(struct boxfilter, window.radius, 0, UINT32_MAX)},
    {"channels", "1|3", "Of random input: grey (default) or RGB",
     NAMED(struct boxfilter, window.channels, image_channels), .random = true},
    {0},
};

/* ---- data ---- */

/* Squares of 64 pixels, darker to the left, with noise, which shows the effect of the filter. */
static double fill_rows(void *arg, size_t begin, size_t end)
{
	struct boxfilter *self = arg;
	struct image *image = &self->input;
	size_t n = image_row_bytes(image);

	for (size_t y = begin; y < end; y++)
		for (size_t i = 0; i < n; i++) {
			size_t x = i / image->channels, row = self->first + y;
			unsigned square = ((x / 64 + row / 64) & 1) * 64;
			unsigned shade = x * 64 / image->width;
			unsigned noise = app_random(self->seed, row * n + i) >> 57;

			image->pixels[y * n + i] = square + shade + noise;
		}
	return 0;
}

static double error_of_rows(void *arg, size_t begin, size_t end)
{
	struct boxfilter *self = arg;

	return boxfilter_error(&self->window, self->input.width, self->input.height, self->sums,
	                       self->output.pixels, self->above + begin, self->above + end);
}

/* Which rows of the whole image this rank has.
 * @return how many, with those in the windows of its own */
static size_t rows_choose(struct boxfilter *self)
{
	size_t radius = self->window.radius, first, below;

	ranks_part(self->rows, &first, &self->n);
	below = self->rows - first - self->n;
	self->above = !self->n ? 0 : first < radius ? first : radius;
	self->first = first - self->above;
	return self->above + self->n + (!self->n ? 0 : below < radius ? below : radius);
}

static starpu_data_handle_t rows_register(const struct boxfilter *self, const struct image *image)
{
	struct image rows = *image;

	rows.pixels += self->above * image_row_bytes(image);
	rows.height = self->n;
	return image_register(&rows);
}

/* ---- the app ---- */

static int boxfilter_open(void *data, const struct app_options *common)
{
	struct boxfilter *self = data;

	return png_file_read(common->input, &self->loaded);
}

static int boxfilter_prepare(void *data, const struct app_options *common, struct heddle_loop *loop)
{
	struct boxfilter *self = data;
	struct image shape = self->loaded;
	int error;

	if (!common->input)
		shape = (struct image){.width = common->size,
		                       .height = common->size,
		                       .channels = self->window.channels};
	self->window.channels = shape.channels;
	self->seed = common->seed;
	self->rows = shape.height;
	shape.height = rows_choose(self);
	error = image_allocate(&self->input, &shape);
	if (!error)
		error = image_allocate(&self->output, &shape);
	if (error)
		return error;
	if (common->input)
		image_copy(&self->input,
		           &(struct image){.pixels = self->loaded.pixels +
		                                     self->first * image_row_bytes(&shape)});
	else if (!app_simulated())
		app_parallel(shape.height, fill_rows, self);
	free(self->loaded.pixels);
	self->loaded.pixels = NULL;
	/* poison() inverts this before the first repetition. */
	if (!app_simulated())
		image_copy(&self->output, &self->input);
	loop->accesses[0] = (struct heddle_access){.handle = rows_register(self, &self->input),
	                                           .mode = STARPU_R,
	                                           .share = HEDDLE_HALO,
	                                           .halo = self->window.radius};
	loop->accesses[1] = (struct heddle_access){
	    .handle = rows_register(self, &self->output), .mode = STARPU_W, .share = HEDDLE_SLICE};
	loop->naccesses = 2;
	loop->codelet = &boxfilter_codelet;
	loop->n = self->rows;
	loop->arg = &self->window;
	return 0;
}

static void boxfilter_poison(void *data)
{
	struct boxfilter *self = data;

	image_invert(&self->output);
}

static double boxfilter_verify(void *data)
{
	struct boxfilter *self = data;
	const struct image *image = &self->input;

	if (!self->sums && boxfilter_reference(image->width, image->height, image->channels,
	                                       image->pixels, &self->sums)) {
		heddle_refuse(-ENOMEM, "no memory for the reference");
		return HUGE_VAL;
	}
	return app_parallel(self->n, error_of_rows, self);
}

static int boxfilter_save_input(void *data, const struct app_options *common)
{
	struct boxfilter *self = data;

	return png_file_write(common->save_input, &self->input);
}

static int boxfilter_save_output(void *data, const struct app_options *common)
{
	struct boxfilter *self = data;

	return png_file_write(common->output, &self->output);
}

static double boxfilter_elements(void *data)
{
	struct boxfilter *self = data;

	return (double)self->input.width * self->rows;
}

static void boxfilter_release(void *data)
{
	struct boxfilter *self = data;

	free(self->loaded.pixels);
	free(self->sums);
	image_release(&self->input);
	image_release(&self->output);
}

int main(int argc, char **argv)
{
	static struct boxfilter self = {.window = {.radius = 8, .channels = 1}};
	static const struct app app = {
	    .name = "boxfilter",
	    .symbol = "heddle_boxfilter",
	    .doc =
	        "Smooths an image: every pixel becomes the mean of a square window around it."
	        "\v--size N and --seed make an image of N rows and columns; --input and --output "
	        "are PNG files, grey or RGB. An iteration of the loop is a row. At the borders "
	        "the mean is over the part of the window that lies in the image.",
	    .unit = "pixel",
	    .size = 4096,
	    .max_size = 1 << 20,
	    .own = own_options,
	    .tolerance = 0,
	    .open = boxfilter_open,
	    .ranks = true,
	    .parts = true,
	    .arg_bytes = sizeof(self.window),
	    .prepare = boxfilter_prepare,
	    .poison = boxfilter_poison,
	    .error = boxfilter_verify,
	    .save_input = boxfilter_save_input,
	    .save_output = boxfilter_save_output,
	    .elements = boxfilter_elements,
	    .release = boxfilter_release,
	};

	return app_main(&app, &self, argc, argv);
}
