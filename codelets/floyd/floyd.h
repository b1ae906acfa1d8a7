/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Error diffusion: R. W. Floyd and L. Steinberg, "An Adaptive Algorithm for Spatial Greyscale",
 * Proceedings of the Society for Information Display 17(2), 1976. Reduces every channel of an image
 * to 2^bits levels, row by row from the top left. The error at a pixel goes to its neighbours on
 * the right and below. It computes in integers, so that all versions give the same image.
 */
#ifndef CODELETS_FLOYD_H
#define CODELETS_FLOYD_H

#include <stddef.h>
#include <stdint.h>

#include "codelets/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/* With e 0 outside the image:
 *
 *   v(i,j)   = in(i,j) + (7 e(i,j-1) + e(i-1,j-1) + 5 e(i-1,j) + 3 e(i-1,j+1) + 8) >> 4
 *   out(i,j) = the level nearest to v(i,j)
 *   e(i,j)   = v(i,j) - out(i,j)
 *
 * Level q of 0 … 2^bits - 1 stands for the byte floyd_level(). An error is at most half the
 * distance of two levels, so that 16 bits suffice.
 *
 * Since e(i,j) needs e(i-1,j+1), tiles shift to the left with every row: row r of a tile has the
 * columns from column - r on. Only the errors that other tiles need are kept: struct floyd_row, and
 * the last row above each column. */

/** The errors of a channel of a row left of a tile; 0 before the first tile. The tile begins at
 * column c of this row. */
struct floyd_row {
	int16_t left;   /**< e(i, c-1) */
	int16_t before; /**< e(i, c-2) */
	int16_t corner; /**< e(i-1, c-1) */
};

/** The image of all tiles. */
struct floyd_image {
	size_t width;
	unsigned channels; /**< side by side in a row: 1 or 3 */
	unsigned bits;     /**< 1 … 8 */
};

/** A part of an image. */
struct floyd_tile {
	struct floyd_image image;
	size_t rows;
	ptrdiff_t column;             /**< where its first row begins; may lie outside the image */
	size_t columns;               /**< of each row, before it is clipped to the image */
	size_t in_stride, out_stride; /**< bytes between rows */
};

/** The byte that level q of 2^bits stands for is 255 q / (2^bits - 1), rounded: in 16 bits,
 * (q factor + bias) >> 8. */
static inline unsigned floyd_factor(unsigned bits)
{
	unsigned top = (1u << bits) - 1;

	return (255 * 256 + top / 2) / top;
}

/** With 6 bits, one half is not enough for all levels to be rounded right. */
static inline unsigned floyd_bias(unsigned bits)
{
	return bits == 6 ? 133 : 128;
}

static inline unsigned floyd_level(unsigned bits, unsigned q)
{
	return (q * floyd_factor(bits) + floyd_bias(bits)) >> 8;
}

/** The level nearest to v. */
static inline unsigned floyd_nearest(unsigned bits, int v)
{
	unsigned clamped = v < 0 ? 0 : v > 255 ? 255 : v;
	/* Divided by 255 and rounded. */
	unsigned x = clamped * ((1u << bits) - 1) + 128;

	return (x + (x >> 8)) >> 8;
}

/** Computes a tile.
 * @param in,out the band's first row, column 0
 * @param[in,out] rows a floyd_row for each channel of each row
 * @param[in,out] edge for each channel of each column of the image: in, the error above the
 * band, from the tile's first column on; out, that of the band's last row */
void floyd_cpu(enum codelet_isa isa, const struct floyd_tile *tile, const uint8_t *in, uint8_t *out,
               struct floyd_row *rows, int16_t *edge);

/** The whole image at once, straight from the formula.
 * @return 0; -ENOMEM. */
int floyd_reference(const struct floyd_image *image, size_t height, const uint8_t *in,
                    uint8_t *out);

/** Launches the CUDA version on device memory; returns without waiting.
 * @param stream a cudaStream_t
 * @return 0, or -EIO when a launch was refused. */
int floyd_cuda(void *stream, const struct floyd_tile *tile, const uint8_t *in, uint8_t *out,
               struct floyd_row *rows, int16_t *edge);

/** The codelet of a wavefront over rows and columns of an image, vectors (0, 1), (1, -1),
 * (1, 0) and (1, 1), with a struct floyd_image as its `arg`. Arrays, all with `channels`
 * elements per iteration: bytes of the image (HEDDLE_FIELD, read) and of the result
 * (HEDDLE_FIELD, written), struct floyd_row (HEDDLE_ROWS) and 16-bit errors
 * (HEDDLE_COLUMNS), both zero at the beginning. */
extern struct starpu_codelet floyd_codelet;
/** Its OpenCL program, where this build has OpenCL. */
extern struct codelet_program floyd_program;

#ifdef __cplusplus
}
#endif
#endif
