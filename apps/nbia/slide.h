/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where tiles come from: a slide made from a seed, a PNG image, or a whole-slide file that
 * OpenSlide reads (where this build has it). Tiles are read one by one, so a
 * slide file may be larger than memory; a PNG image is held as a whole. No StarPU.
 */
#ifndef APPS_NBIA_SLIDE_H
#define APPS_NBIA_SLIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/common/png_file.h"

struct slide {
	size_t width, height; /**< pixels, at least 1 */
	bool known;           /**< it was made from `seed`: tissue_at() knows the answers */
	uint64_t seed;
	struct image image; /**< of a PNG; no pixels: it is none */
	void *file;         /**< OpenSlide's; NULL: it is none of its */
	char *path;         /**< for messages; NULL without a file */
};

/** Makes a slide of any size. */
void slide_generate(size_t width, size_t height, uint64_t seed, struct slide *slide);

/** Opens a file. @return 0; -EINVAL, -errno after a message with its name. */
int slide_open(const char *path, struct slide *slide);
void slide_close(struct slide *slide);

/** Reads a tile: a square of `side` pixels of the slide, reduced by means to `resolution`
 * pixels a side. Beyond the slide's right and lower borders its last pixels go on. Any number
 * of threads may read.
 * @param column,row counted in tiles; the tile begins within the slide
 * @param resolution divides side
 * @param[out] rgb resolution * resolution pixels
 * @return 0; -EINVAL for a file that cannot be read there, after a message; -ENOMEM. */
int slide_read(const struct slide *slide, size_t column, size_t row, size_t side, size_t resolution,
               unsigned char *rgb);

#endif
