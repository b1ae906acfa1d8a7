/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Slides that look like stained tissue, made from a seed: of any size, any tile at any
 * resolution by itself, with the right answer known. No StarPU.
 *
 * Regions of empty glass, of stroma (pink, fibrous) and of tissue poor in stroma (dark
 * nuclei in a pale ground) are several tiles wide. How much the stain of two neighbouring kinds
 * differs varies from tile to tile; where it hardly does, the texture must tell, and that
 * shows at higher resolutions alone. Integers throughout, so the same seed makes the same
 * slide everywhere.
 */
#ifndef APPS_NBIA_TISSUE_H
#define APPS_NBIA_TISSUE_H

#include <stddef.h>
#include <stdint.h>

/** What a tile can be. */
enum tissue { TISSUE_BACKGROUND, TISSUE_STROMA_RICH, TISSUE_STROMA_POOR, TISSUES };

/** "background", "stroma-rich", "stroma-poor". */
const char *tissue_name(enum tissue tissue);

/** What a tile of the slide shows. */
enum tissue tissue_at(uint64_t seed, size_t column, size_t row);

/** Makes a tile.
 * @param shows what it is to show; tissue_at() for a slide
 * @param side of the tile at the slide's own resolution, pixels
 * @param resolution of the result, pixels a side; divides `side`
 * @param[out] rgb resolution * resolution pixels */
void tissue_tile(uint64_t seed, enum tissue shows, size_t column, size_t row, size_t side,
                 size_t resolution, unsigned char *rgb);

#endif
