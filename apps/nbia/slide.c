/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HEDDLE_USE_OPENSLIDE
#include <openslide.h>
#endif

#include "support/message.h"
#include "apps/common/file.h"
#include "apps/nbia/slide.h"
#include "apps/nbia/tissue.h"

/* ---- reducing ---- */

/* Some pixels of a slide at one of its resolutions, as they were read. */
struct slide_area {
	const unsigned char *rgb;
	size_t width, height, stride; /* pixels, pixels, bytes */
	double step;                  /* its pixels for one of the result */
	unsigned channels;            /* 1 or 3 */
};

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

/* Means of the pixels that each one of the result stands for. Below the slide's end rows repeat. */
static void reduce(const struct slide_area *area, size_t resolution, unsigned char *rgb)
{
	size_t before[2] = {0, 0};

	for (size_t j = 0; j < resolution; j++) {
		size_t x[2], y[2];

		range_of(j, area->step, area->height, &y[0], &y[1]);
		if (y[0] == before[0] && y[1] == before[1]) {
			memcpy(rgb, rgb - 3 * resolution, 3 * resolution);
			rgb += 3 * resolution;
			continue;
		}
		for (size_t i = 0; i < resolution; i++, rgb += 3) {
			range_of(i, area->step, area->width, &x[0], &x[1]);
			mean(area, x, y, rgb);
		}
		memcpy(before, y, sizeof(before));
	}
}

/* ---- whole-slide files by OpenSlide (M. Satyanarayanan, A. Goode et al., Journal of Pathology
 * Informatics 4:27, 2013). Such a file is a pyramid; a tile is read from the level that has the
 * least pixels and still all that are wanted. ---- */

#ifdef HEDDLE_USE_OPENSLIDE
static int refuse(const struct slide *slide, openslide_t *file)
{
	return heddle_refuse(-EINVAL, "%s: %s", slide->path, openslide_get_error(file));
}

static int pyramid_open(const char *path, struct slide *slide)
{
	openslide_t *file = openslide_open(path);
	int64_t width, height;

	if (!file)
		return heddle_refuse(
		    -EINVAL, "%s: neither a PNG image nor a slide that OpenSlide knows", path);
	openslide_get_level0_dimensions(file, &width, &height);
	if (openslide_get_error(file)) {
		refuse(slide, file);
		openslide_close(file);
		return -EINVAL;
	}
	slide->file = file;
	slide->width = width;
	slide->height = height;
	return 0;
}

static void pyramid_close(struct slide *slide)
{
	openslide_close(slide->file);
	slide->file = NULL;
}

/* OpenSlide's pixels are words with premultiplied transparency; what is beyond the scanned
 * part is transparent, and becomes as white as glass. In place. */
static void to_rgb(uint32_t *words, size_t n)
{
	unsigned char *rgb = (unsigned char *)words;

	for (size_t i = 0; i < n; i++) {
		uint32_t word = words[i], white = 255 - (word >> 24);

		rgb[3 * i] = (word >> 16 & 0xff) + white;
		rgb[3 * i + 1] = (word >> 8 & 0xff) + white;
		rgb[3 * i + 2] = (word & 0xff) + white;
	}
}

static int pyramid_read(const struct slide *slide, size_t column, size_t row, size_t side,
                        size_t resolution, unsigned char *rgb)
{
	size_t left = column * side, top = row * side;
	size_t width = slide->width - left < side ? slide->width - left : side;
	size_t height = slide->height - top < side ? slide->height - top : side;
	double wanted = (double)side / resolution;
	int32_t level = openslide_get_best_level_for_downsample(slide->file, wanted * 1.001);
	double reduced = openslide_get_level_downsample(slide->file, level);
	struct slide_area area = {.channels = 3};
	uint32_t *words;

	if (level < 0 || !(reduced >= 1))
		return refuse(slide, slide->file);
	area.width = width / reduced < 1 ? 1 : width / reduced;
	area.height = height / reduced < 1 ? 1 : height / reduced;
	area.stride = 3 * area.width;
	area.step = wanted / reduced;
	words = malloc(area.width * area.height * sizeof(*words));
	if (!words)
		return heddle_refuse(-ENOMEM, "%s: no memory for a tile", slide->path);
	openslide_read_region(slide->file, words, left, top, level, area.width, area.height);
	if (openslide_get_error(slide->file)) {
		free(words);
		return refuse(slide, slide->file);
	}
	to_rgb(words, area.width * area.height);
	area.rgb = (unsigned char *)words;
	reduce(&area, resolution, rgb);
	free(words);
	return 0;
}

#else

static int pyramid_open(const char *path, struct slide *slide)
{
	return heddle_refuse(-EINVAL,
	                     "%s: not a PNG image, and this build reads no others: it was made "
	                     "without OpenSlide",
	                     path);
}

static void pyramid_close(struct slide *slide)
{
}

static int pyramid_read(const struct slide *slide, size_t column, size_t row, size_t side,
                        size_t resolution, unsigned char *rgb)
{
	return -EINVAL;
}

#endif

/* ---- slides ---- */

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
		error = file_read(path, fd, 0, start, sizeof(start));
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
		error = pyramid_open(path, &opened);
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
		pyramid_close(slide);
	free(slide->image.pixels);
	free(slide->path);
	*slide = (struct slide){0};
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
		return pyramid_read(slide, column, row, side, resolution, rgb);
	area.stride = image->width * image->channels;
	area.rgb = image->pixels + top * area.stride + left * image->channels;
	area.width = image->width - left < side ? image->width - left : side;
	area.height = image->height - top < side ? image->height - top : side;
	reduce(&area, resolution, rgb);
	return 0;
}
