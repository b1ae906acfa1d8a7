/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whole-slide files by OpenSlide (M. Satyanarayanan, A. Goode et al., Journal of Pathology
 * Informatics 4:27, 2013). Such a file is a pyramid; a tile is read from the level
 * that has the least pixels and still all that are wanted.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/message.h"
#include "apps/nbia/slide.h"

#ifdef HEDDLE_USE_OPENSLIDE
#include <openslide.h>

static int refuse(const struct slide *slide, openslide_t *file)
{
	return heddle_refuse(-EINVAL, "%s: %s", slide->path, openslide_get_error(file));
}

int slide_openslide_open(const char *path, struct slide *slide)
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

void slide_openslide_close(struct slide *slide)
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

int slide_openslide_read(const struct slide *slide, size_t column, size_t row, size_t side,
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
	slide_reduce(&area, resolution, rgb);
	free(words);
	return 0;
}

#else

int slide_openslide_open(const char *path, struct slide *slide)
{
	return heddle_refuse(-EINVAL,
	                     "%s: not a PNG image, and this build reads no others: it was made "
	                     "without OpenSlide",
	                     path);
}

void slide_openslide_close(struct slide *slide)
{
}

int slide_openslide_read(const struct slide *slide, size_t column, size_t row, size_t side,
                         size_t resolution, unsigned char *rgb)
{
	return -EINVAL;
}

#endif
