/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sums of value noise: random numbers at the points of a lattice, linear between them.
 * Details of which many fit into a pixel fade as they do in a mean.
 */
#include "config.h"

#include "apps/common/random.h"
#include "apps/nbia/tissue.h"

/* Noise on a lattice of 2^width by 2^height pixels; the corners of the cell that the last
 * pixel lay in are kept. */
struct noise {
	uint64_t seed;
	unsigned width, height;
	uint64_t column, row;
	int corners[2][2];
};

static struct noise noise_make(uint64_t seed, unsigned kind, unsigned width, unsigned height)
{
	return (struct noise){
	    .seed = app_random(seed, kind), .width = width, .height = height, .column = UINT64_MAX};
}

/* 0 to 65535. */
static int noise_at(struct noise *noise, uint64_t x, uint64_t y)
{
	uint64_t column = x >> noise->width, row = y >> noise->height;
	int right = (x & ((1u << noise->width) - 1)) << (15 - noise->width);
	int down = (y & ((1u << noise->height) - 1)) << (15 - noise->height);
	int above, below;

	if (column != noise->column || row != noise->row) {
		for (int j = 0; j < 2; j++)
			for (int i = 0; i < 2; i++)
				noise->corners[j][i] =
				    app_random(noise->seed, (row + j) << 32 | (column + i)) >> 48;
		noise->column = column;
		noise->row = row;
	}
	above = noise->corners[0][0] +
	        (int)((int64_t)(noise->corners[0][1] - noise->corners[0][0]) * right >> 15);
	below = noise->corners[1][0] +
	        (int)((int64_t)(noise->corners[1][1] - noise->corners[1][0]) * right >> 15);
	return above + (int)((int64_t)(below - above) * down >> 15);
}

const char *tissue_name(enum tissue tissue)
{
	static const char *const names[] = {"background", "stroma-rich", "stroma-poor"};

	return names[tissue];
}

enum tissue tissue_at(uint64_t seed, size_t column, size_t row)
{
	struct noise glass = noise_make(seed, 1, 3, 3), kind = noise_make(seed, 2, 2, 2);

	if (noise_at(&glass, column, row) < 24000)
		return TISSUE_BACKGROUND;
	return noise_at(&kind, column, row) < 33000 ? TISSUE_STROMA_RICH : TISSUE_STROMA_POOR;
}

/* The three textures, of which a tile has one. */
struct texture {
	size_t pixel; /* side of a pixel on the slide */
	struct noise warp, fibres, cells, stain;
	int base[3], detail[3]; /* colour without and change with full detail */
	unsigned fade;          /* what is left of detail: parts of 256 */
	int grain;              /* of the camera, 2^grain values */
};

/* Amplitude of a detail of `size` pixels of the slide in a picture with coarser ones. */
static unsigned faded(size_t size, size_t pixel)
{
	unsigned part = size >= 2 * pixel ? 256 : 256 * size / (2 * pixel);

	return part * part / 256;
}

static const int colours[TISSUES][3] = {{241, 238, 242}, {214, 150, 184}, {222, 170, 205}};
static const int details[TISSUES][3] = {{-6, -6, -4}, {-40, -48, -30}, {-112, -92, -56}};

/* In the mean over all detail: a third of the ground is covered by cells. */
static int colour_of(enum tissue tissue, int channel)
{
	return colours[tissue][channel] +
	       (tissue == TISSUE_STROMA_POOR ? details[tissue][channel] * 85 / 256 : 0);
}

static struct texture texture_make(uint64_t seed, enum tissue shows, size_t column, size_t row,
                                   size_t pixel)
{
	uint64_t chance = app_random(app_random(seed, 3), (uint64_t)row << 32 | column);
	struct texture texture = {
	    .pixel = pixel,
	    .warp = noise_make(seed, 4, 8, 8),
	    .fibres = noise_make(seed, 5, 4, 1),
	    .cells = noise_make(seed, 6, 2, 2),
	    .stain = noise_make(seed, 7, 7, 7),
	    .fade = faded(shows == TISSUE_STROMA_RICH ? 2 : 4, pixel),
	};
	/* The other kind's colour has a share of up to a half. */
	int other = chance & 255, vary = (int)(chance >> 8 & 31) - 16;
	enum tissue mixed = shows == TISSUE_STROMA_RICH   ? TISSUE_STROMA_POOR
	                    : shows == TISSUE_STROMA_POOR ? TISSUE_STROMA_RICH
	                                                  : TISSUE_BACKGROUND;

	texture.grain = 3 + (chance >> 16) % 3;
	texture.fade = texture.fade * (40 + (chance >> 24 & 0xff) * 216 / 256) / 256;
	for (int c = 0; c < 3; c++) {
		texture.base[c] =
		    (colour_of(shows, c) * (512 - other) + colour_of(mixed, c) * other) / 512 -
		    (colour_of(shows, c) - colours[shows][c]) +
		    (shows == TISSUE_BACKGROUND ? 0 : vary);
		texture.detail[c] = details[shows][c];
	}
	return texture;
}

/* How much detail there is at a place of the slide, -256 to 256. */
static int detail_at(struct texture *texture, enum tissue shows, uint64_t x, uint64_t y)
{
	int detail;

	switch (shows) {
	case TISSUE_STROMA_RICH: /* long cells, wound */
		detail = noise_at(&texture->fibres, x, y + (noise_at(&texture->warp, x, y) >> 9));
		return ((detail >> 7) - 256) * (int)texture->fade / 256;
	case TISSUE_STROMA_POOR: /* the upper part of round cells, with edges */
		detail = (noise_at(&texture->cells, x, y) - 36000) >> 5;
		detail = detail < 0 ? 0 : detail > 256 ? 256 : detail;
		/* In the mean over many a third of the ground is covered. */
		return 85 + (detail - 85) * (int)texture->fade / 256;
	default:
		return (noise_at(&texture->stain, x, y) >> 7) - 256;
	}
}

static unsigned char clamp(int value)
{
	return value < 0 ? 0 : value > 255 ? 255 : value;
}

static void make_pixel(struct texture *texture, enum tissue shows, uint64_t seed, uint64_t x,
                       uint64_t y, unsigned char *rgb)
{
	int detail = detail_at(texture, shows, x, y);
	int stain = (noise_at(&texture->stain, x, y) >> 12) - 8;
	uint64_t grain = app_random(seed, y << 32 | x);

	if (shows == TISSUE_BACKGROUND)
		stain /= 4;
	for (int c = 0; c < 3; c++)
		rgb[c] = clamp(texture->base[c] + texture->detail[c] * detail / 256 + stain +
		               (int)(grain >> 8 * c & ((1 << texture->grain) - 1)) -
		               (1 << texture->grain) / 2);
}

void tissue_tile(uint64_t seed, enum tissue shows, size_t column, size_t row, size_t side,
                 size_t resolution, unsigned char *rgb)
{
	size_t pixel = side / resolution;
	struct texture texture = texture_make(seed, shows, column, row, pixel);

	for (size_t j = 0; j < resolution; j++)
		for (size_t i = 0; i < resolution; i++) {
			uint64_t x = (uint64_t)column * side + i * pixel + pixel / 2;
			uint64_t y = (uint64_t)row * side + j * pixel + pixel / 2;

			make_pixel(&texture, shows, seed, x, y, rgb + 3 * (j * resolution + i));
		}
}
