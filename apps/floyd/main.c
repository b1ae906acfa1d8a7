/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Dithers an image: a wavefront over its pixels.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>

#include "support/message.h"
#include "codelets/floyd/floyd.h"
#include "apps/common/app.h"
#include "apps/common/image.h"
#include "apps/common/wave.h"

struct floyd {
	struct app_wave wave;
	struct floyd_image image;
	struct image input, output; /* pixels by heddle_malloc() */
	struct image loaded;        /* from --input, copied to `input` */
	struct floyd_row *rows;     /* by heddle_malloc() */
	int16_t *edge;
	uint64_t seed;
	unsigned char *right; /* the expected result; NULL: not made yet */
};

/* ---- own options ---- */

static const struct option_row own_options[] = {
    {"bits", "B", "Bits a channel that remain, 1 (default) to 8",
     NUMBER(struct floyd, image.bits, 1, 8)},
    {"channels", "1|3", "Of random input: grey (default) or RGB",
     NAMED(struct floyd, image.channels, image_channels), .random = true},
    {0},
};

/* ---- data ---- */

/* A ramp from the top left to the bottom right, with noise. */
static double fill_rows(void *arg, size_t begin, size_t end)
{
	struct floyd *self = arg;
	struct image *image = &self->input;
	size_t n = image_row_bytes(image);

	for (size_t y = begin; y < end; y++)
		for (size_t i = 0; i < n; i++) {
			size_t x = i / image->channels;
			unsigned shade = (x * 112) / image->width + (y * 112) / image->height;

			image->pixels[y * n + i] =
			    shade + (app_random(self->seed, y * n + i) >> 59);
		}
	return 0;
}

static double error_of_rows(void *arg, size_t begin, size_t end)
{
	struct floyd *self = arg;
	size_t n = image_row_bytes(&self->output);
	int worst = 0;

	for (size_t i = begin * n; i < end * n; i++) {
		int error = abs(self->output.pixels[i] - self->right[i]);

		worst = error > worst ? error : worst;
	}
	return worst;
}

static int allocate(struct floyd *self, const struct image *shape)
{
	size_t n = image_row_bytes(shape);
	int error;

	error = image_allocate(&self->input, shape);
	if (!error)
		error = image_allocate(&self->output, shape);
	if (!error)
		error = heddle_malloc((void **)&self->rows,
		                      shape->height * shape->channels * sizeof(*self->rows));
	if (!error)
		error = heddle_malloc((void **)&self->edge, n * sizeof(*self->edge));
	return error;
}

static void fill_wave(struct floyd *self)
{
	size_t channels = self->input.channels;

	self->wave.wave = (struct heddle_wavefront){
	    .codelet = &floyd_codelet,
	    .rows = self->input.height,
	    .columns = self->input.width,
	    .nvectors = 4,
	    .vectors = {{.column = 1},
	                {.row = 1, .column = -1},
	                {.row = 1},
	                {.row = 1, .column = 1}},
	    .narrays = 4,
	    .arrays =
	        {
	            {image_register(&self->input), STARPU_R, HEDDLE_FIELD, channels},
	            {image_register(&self->output), STARPU_W, HEDDLE_FIELD, channels},
	            {app_vector(self->rows, self->input.height * channels, sizeof(*self->rows)),
	             STARPU_RW, HEDDLE_ROWS, channels},
	            {app_vector(self->edge, image_row_bytes(&self->input), sizeof(*self->edge)),
	             STARPU_RW, HEDDLE_COLUMNS, channels},
	        },
	    .arg = &self->image,
	};
}

/* ---- the app ---- */

static int floyd_open(void *data, const struct app_options *common)
{
	struct floyd *self = data;

	return png_file_read(common->input, &self->loaded);
}

static int floyd_prepare(void *data, const struct app_options *common, struct heddle_loop *loop)
{
	struct floyd *self = data;
	struct image shape = self->loaded;
	int error;

	if (!common->input)
		shape = (struct image){.width = common->size,
		                       .height = common->size,
		                       .channels = self->image.channels};
	self->image.width = shape.width;
	self->image.channels = shape.channels;
	self->seed = common->seed;
	error = allocate(self, &shape);
	if (error)
		return error;
	if (common->input)
		image_copy(&self->input, &self->loaded);
	else if (!app_simulated())
		app_parallel(shape.height, fill_rows, self);
	if (!app_simulated())
		memset(self->output.pixels, 0, shape.height * image_row_bytes(&shape));
	fill_wave(self);
	return app_wave_prepare(&self->wave, common, loop);
}

static void floyd_poison(void *data)
{
	struct floyd *self = data;
	const struct image *image = &self->output;

	image_invert(image);
	memset(self->rows, 0, image->height * image->channels * sizeof(*self->rows));
	memset(self->edge, 0, image_row_bytes(image) * sizeof(*self->edge));
}

static int make_right(struct floyd *self)
{
	const struct image *image = &self->input;
	int error;

	self->right = malloc(image->height * image_row_bytes(image) + 1);
	if (!self->right)
		return -ENOMEM;
	error = floyd_reference(&self->image, image->height, image->pixels, self->right);
	if (error) {
		free(self->right);
		self->right = NULL;
	}
	return error;
}

static double floyd_verify(void *data)
{
	struct floyd *self = data;

	if (!self->right && make_right(self)) {
		heddle_refuse(-ENOMEM, "no memory for the reference");
		return HUGE_VAL;
	}
	return app_parallel(self->input.height, error_of_rows, self);
}

static int floyd_save_input(void *data, const struct app_options *common)
{
	struct floyd *self = data;

	return png_file_write(common->save_input, &self->input);
}

static int floyd_save_output(void *data, const struct app_options *common)
{
	struct floyd *self = data;

	return png_file_write(common->output, &self->output);
}

static void floyd_release(void *data)
{
	struct floyd *self = data;
	size_t height = self->input.height, n = image_row_bytes(&self->input);

	free(self->loaded.pixels);
	free(self->right);
	image_release(&self->input);
	image_release(&self->output);
	heddle_free(self->rows, height * self->input.channels * sizeof(*self->rows));
	heddle_free(self->edge, n * sizeof(*self->edge));
}

int main(int argc, char **argv)
{
	static struct floyd self = {.image = {.bits = 1, .channels = 1}};
	static const struct app app = {
	    .name = "floyd",
	    .symbol = "heddle_floyd",
	    .doc =
	        "Dithers an image: reduces it to few bits a channel and diffuses the error "
	        "(Floyd and Steinberg)."
	        "\v--size N and --seed make an image of N rows and columns; --input and --output "
	        "are PNG files, grey or RGB. A pixel needs its neighbours on the left and above, "
	        "so the loop is a wavefront.",
	    .unit = "pixel",
	    .size = 4096,
	    .max_size = 1 << 20,
	    .own = own_options,
	    .tolerance = 0,
	    .open = floyd_open,
	    .prepare = floyd_prepare,
	    .poison = floyd_poison,
	    .error = floyd_verify,
	    .save_input = floyd_save_input,
	    .save_output = floyd_save_output,
	    .release = floyd_release,
	    .ranks = true,
	    .arg_bytes = sizeof(self.image),
	    .wave = &self.wave,
	};

	return app_main(&app, &self, argc, argv);
}
