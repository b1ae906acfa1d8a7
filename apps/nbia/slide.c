/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/message.h"
#include "apps/common/file.h"
#include "apps/nbia/slide.h"
#include "apps/nbia/tissue.h"

void slide_generate(size_t width, size_t height, uint64_t seed, struct slide *slide)
{
	*slide = (struct slide){.width = width, .height = height, .known = true, .seed = seed};
}

static int looks_like_png(const char *path, bool *png)
{
	static const char signature[8] = {'\x89', 'P', 'N', 'G', '\r', '\n', '\x1a', '\n'};
	char start[sizeof(signature)] = "";
	size_t bytes;
	int fd, error = file_open(path, &fd, &bytes);

	if (error)
		return error;
	if (bytes >= sizeof(start))
		error = file_read(path, fd, start, sizeof(start));
	close(fd);
	if (!error)
		*png = !memcmp(start, signature, sizeof(start));
	return error;
}

int slide_open(const char *path, struct slide *slide)
{
	struct slide opened = {0};
	bool png;
	int error = looks_like_png(path, &png);

	if (error)
		return error;
	opened.path = strdup(path);
	if (!opened.path)
		return heddle_refuse(-ENOMEM, "%s: no memory to read it", path);
	if (png) {
		error = png_file_read(path, &opened.image);
		opened.width = opened.image.width;
		opened.height = opened.image.height;
	} else {
		error = slide_openslide_open(path, &opened);
	}
	if (error)
		free(opened.path);
	else
		*slide = opened;
	return error;
}

void slide_close(struct slide *slide)
{
	if (slide->file)
		slide_openslide_close(slide);
	free(slide->image.pixels);
	free(slide->path);
	*slide = (struct slide){0};
}

/* The pixels from…to-1 of a line that pixel i of the result stands for; one at least. */
static void range_of(size_t i, double step, size_t length, size_t *from, size_t *to)
{
	*from = i * step;
	*to = (i + 1) * step;
	if (*from > length - 1)
		*from = length - 1;
	if (*to > length)
		*to = length;
	if (*to <= *from)
		*to = *from + 1;
}

static void mean(const struct slide_area *area, const size_t x[2], const size_t y[2],
                 unsigned char *rgb)
{
	uint64_t sums[3] = {0}, count = (x[1] - x[0]) * (y[1] - y[0]);

	for (size_t row = y[0]; row < y[1]; row++)
		for (size_t column = x[0]; column < x[1]; column++) {
			const unsigned char *at =
			    area->rgb + row * area->stride + column * area->channels;

			for (int c = 0; c < 3; c++)
				sums[c] += at[area->channels == 3 ? c : 0];
		}
	for (int c = 0; c < 3; c++)
		rgb[c] = (sums[c] + count / 2) / count;
}

void slide_reduce(const struct slide_area *area, size_t resolution, unsigned char *rgb)
{
	for (size_t j = 0; j < resolution; j++) {
		size_t x[2], y[2];

		range_of(j, area->step, area->height, &y[0], &y[1]);
		for (size_t i = 0; i < resolution; i++, rgb += 3) {
			range_of(i, area->step, area->width, &x[0], &x[1]);
			mean(area, x, y, rgb);
		}
	}
}

int slide_read(const struct slide *slide, size_t column, size_t row, size_t side, size_t resolution,
               unsigned char *rgb)
{
	const struct image *image = &slide->image;
	struct slide_area area = {.step = (double)side / resolution, .channels = image->channels};
	size_t left = column * side, top = row * side;

	if (slide->known) {
		tissue_tile(slide->seed, tissue_at(slide->seed, column, row), column, row, side,
		            resolution, rgb);
		return 0;
	}
	if (slide->file)
		return slide_openslide_read(slide, column, row, side, resolution, rgb);
	area.stride = image->width * image->channels;
	area.rgb = image->pixels + top * area.stride + left * image->channels;
	area.width = image->width - left < side ? image->width - left : side;
	area.height = image->height - top < side ? image->height - top : side;
	slide_reduce(&area, resolution, rgb);
	return 0;
}
