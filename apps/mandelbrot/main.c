/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Draws the Mandelbrot set: a loop over rows, whose cost differs by the limit of repetitions. Every
 * repetition is a frame of a zoom.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <starpu.h>

#include "support/message.h"
#include "codelets/mandelbrot/mandelbrot.h"
#include "apps/common/app.h"
#include "apps/common/image.h"
#include "apps/common/ranks.h"

/* Narrower images are of one point in double precision. */
#define WIDTH_LEAST 1e-13
#define WIDTH_MOST 100.

struct mandelbrot {
	double x, y;        /* the centre */
	double width, zoom; /* of the image in the plane, and its factor from frame to frame */
	struct mandelbrot_view view;
	size_t rows, first; /* of the image; the first one of this rank */
	struct image image; /* this rank's rows */
	unsigned frames;    /* done */
};

/* Pixels are square. */
static void view_set(struct mandelbrot *self)
{
	struct mandelbrot_view *view = &self->view;

	view->width = self->image.width;
	view->step = self->width / (view->width ? view->width : 1);
	view->left = self->x - self->width / 2;
	view->top = self->y + view->step * self->rows / 2;
}

static int no_input(void *data, const struct app_options *common)
{
	return heddle_refuse(-EINVAL, "mandelbrot has no input files");
}

static int mandelbrot_prepare(void *data, const struct app_options *common,
                              struct heddle_loop *loop)
{
	struct mandelbrot *self = data;
	struct image shape = {.width = common->size, .channels = 3};
	int error;

	if (common->save_input)
		return no_input(self, common);
	self->rows = common->size;
	ranks_part(self->rows, &self->first, &shape.height);
	error = image_allocate(&self->image, &shape);
	if (error)
		return error;
	view_set(self);
	loop->accesses[0] =
	    (struct heddle_access){.handle = image_register(&self->image), .mode = STARPU_W};
	loop->naccesses = 1;
	loop->codelet = &mandelbrot_codelet;
	loop->n = self->rows;
	loop->arg = &self->view;
	return 0;
}

/* Also goes on to the next frame. */
static void mandelbrot_poison(void *data)
{
	struct mandelbrot *self = data;

	if (self->frames++)
		self->width = fmax(WIDTH_LEAST, fmin(self->width * self->zoom, WIDTH_MOST));
	view_set(self);
	image_invert(&self->image);
}

static double error_of_rows(void *arg, size_t begin, size_t end)
{
	struct mandelbrot *self = arg;
	size_t stride = image_row_bytes(&self->image);

	return mandelbrot_error(&self->view, self->first + begin, end - begin,
	                        self->image.pixels + begin * stride, stride);
}

static double mandelbrot_verify(void *data)
{
	struct mandelbrot *self = data;

	return app_parallel_by(self->image.height, 16, error_of_rows, self);
}

static int mandelbrot_save_output(void *data, const struct app_options *common)
{
	struct mandelbrot *self = data;

	return png_file_write(common->output, &self->image);
}

static double mandelbrot_elements(void *data)
{
	struct mandelbrot *self = data;

	return (double)self->image.width * self->rows;
}

static void mandelbrot_release(void *data)
{
	image_release(&((struct mandelbrot *)data)->image);
}

static void parse_centre(void *data, char *text, struct argp_state *state)
{
	struct mandelbrot *self = data;
	char *comma = strchr(text, ',');

	if (!comma)
		argp_error(state, "--centre %s: not two numbers X,Y", text);
	*comma = 0;
	if (options_real(text, -10, 10, &self->x) || options_real(comma + 1, -10, 10, &self->y))
		argp_error(state, "--centre %s,%s: not two numbers from -10 to 10", text,
		           comma + 1);
}

static const struct option_row own_options[] = {
    {"centre", "X,Y", "The point in the middle (default -0.743643887,0.131825904)",
     PARSED(parse_centre)},
    {"width", "W", "Width of the first image in the plane (default 3)",
     REAL(struct mandelbrot, width, WIDTH_LEAST, WIDTH_MOST)},
    {"zoom", "F", "Factor of the width from one repetition to the next (0.5)",
     REAL(struct mandelbrot, zoom, 0.01, 100)},
    {"limit", "N", "Most repetitions of z -> z^2 + c (default 1000)",
     NUMBER(struct mandelbrot, view.limit, 1, 1 << 30)},
    {0},
};

int main(int argc, char **argv)
{
	static struct mandelbrot self = {
	    .x = -0.743643887, .y = 0.131825904, .width = 3, .zoom = 0.5, .view = {.limit = 1000}};
	static const struct app app = {
	    .name = "mandelbrot",
	    .symbol = "heddle_mandelbrot",
	    .doc =
	        "Draws the Mandelbrot set, a frame of a zoom in every repetition."
	        "\v--size N makes an image of N rows and columns; --output writes the last frame "
	        "as PNG. An iteration of the loop is a row.",
	    .unit = "pixel",
	    .size = 1024,
	    .max_size = 1 << 20,
	    .own = own_options,
	    .tolerance = 0,
	    .open = no_input,
	    .ranks = true,
	    .parts = true,
	    .arg_bytes = sizeof(self.view),
	    .prepare = mandelbrot_prepare,
	    .poison = mandelbrot_poison,
	    .error = mandelbrot_verify,
	    .save_input = no_input,
	    .save_output = mandelbrot_save_output,
	    .elements = mandelbrot_elements,
	    .release = mandelbrot_release,
	};

	return app_main(&app, &self, argc, argv);
}
