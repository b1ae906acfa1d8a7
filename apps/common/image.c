/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/memory.h>

#include "support/message.h"
#include "apps/common/app.h"
#include "apps/common/image.h"

const char *const image_channels[4] = {[1] = "1", [3] = "3"};

int image_allocate(struct image *image, const struct image *like)
{
	*image = *like;
	image->pixels = NULL;
	return heddle_malloc((void **)&image->pixels, image->height * image_row_bytes(image));
}

void image_release(struct image *image)
{
	heddle_free(image->pixels, image->height * image_row_bytes(image));
}

struct copy {
	const struct image *to, *from;
};

static double copy_rows(void *arg, size_t begin, size_t end)
{
	const struct copy *copy = arg;
	size_t n = image_row_bytes(copy->to);

	memcpy(copy->to->pixels + begin * n, copy->from->pixels + begin * n, (end - begin) * n);
	return 0;
}

void image_copy(const struct image *to, const struct image *from)
{
	struct copy copy = {to, from};

	app_parallel(to->height, copy_rows, &copy);
}

static double invert_rows(void *arg, size_t begin, size_t end)
{
	const struct image *image = arg;
	size_t n = image_row_bytes(image);

	for (size_t i = begin * n; i < end * n; i++)
		image->pixels[i] = ~image->pixels[i];
	return 0;
}

void image_invert(const struct image *image)
{
	app_parallel(image->height, invert_rows, (void *)image);
}

float image_mean(const struct image *image, size_t i)
{
	float sum = 0;

	for (unsigned c = 0; c < image->channels; c++)
		sum += image->pixels[i * image->channels + c];
	return sum / image->channels;
}

int image_write_field(const char *path, size_t width, size_t height, const float *numbers,
                      float scale)
{
	struct image image = {
	    .width = width, .height = height, .channels = 1, .pixels = malloc(width * height + 1)};
	int error;

	if (!image.pixels)
		return heddle_refuse(-ENOMEM, "%s: no memory for its pixels", path);
	for (size_t i = 0; i < width * height; i++)
		image.pixels[i] = lrintf(fminf(fmaxf(scale * numbers[i], 0), 255));
	error = png_file_write(path, &image);
	free(image.pixels);
	return error;
}

int image_write_frame(const char *prefix, size_t step, starpu_data_handle_t handle, size_t width,
                      size_t height, const float *numbers, float scale)
{
	char *path;
	int error;

	if (asprintf(&path, "%s-%06zu.png", prefix, step) < 0)
		return heddle_refuse(-ENOMEM, "no memory for the name of a frame");
	error = starpu_data_acquire(handle, STARPU_R);
	if (!error) {
		error = image_write_field(path, width, height, numbers, scale);
		starpu_data_release(handle);
	}
	free(path);
	return error;
}

starpu_data_handle_t image_register(const struct image *image)
{
	return app_matrix(image->pixels, image->height, image_row_bytes(image), 1);
}
