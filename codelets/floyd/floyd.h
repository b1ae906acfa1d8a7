/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Error diffusion: R. W. Floyd and L. Steinberg, "An Adaptive Algorithm for Spatial
 * Greyscale", Proceedings of the Society for Information Display 17(2), 1976. Every channel of
 * an image is reduced to 2^bits levels by itself, from the top left, row by row; the
 * error that is made at a pixel goes to its neighbours on the right and below. In whole
 * numbers, so that every version gives the same image:
 *
 *   v(i,j)   = in(i,j) + (7 e(i,j-1) + e(i-1,j-1) + 5 e(i-1,j) + 3 e(i-1,j+1) + 8) >> 4
 *   out(i,j) = the level nearest to v(i,j)
 *   e(i,j)   = v(i,j) - out(i,j)
 *
 * e is 0 outside the image. Level q of 0 … 2^bits - 1 stands for the byte floyd_level().
 * No error is larger than half the distance of two levels, so that 16 bits do.
 *
 * Since e(i,j) needs e(i-1,j+1), tiles shift to the left with every row: row r of a tile
 * has the columns from column - r on. Of the errors only those are kept that other tiles
 * need: struct floyd_row, and the last row above each column.
 */
#ifndef CODELETS_FLOYD_H
#define CODELETS_FLOYD_H

#include <stddef.h>
#include <stdint.h>

#include "codelets/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What is known of a channel of a row left of a tile: 0 before the first. With c the column
 * where the tile begins in this row: */
struct floyd_row {
	int16_t left;   /**< e(i, c-1) */
	int16_t before; /**< e(i, c-2) */
	int16_t corner; /**< e(i-1, c-1) */
};

/** What all tiles of an image have in common. */
struct floyd_image {
	size_t width;
	unsigned channels; /**< side by side in a row: 1 or 3 */
	unsigned bits;     /**< 1 … 8 */
};

/** A piece of an image. */
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

/** The number of the level nearest to v. */
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
void floyd_cpu(const struct floyd_tile *tile, const uint8_t *in, uint8_t *out,
               struct floyd_row *rows, int16_t *edge);

/** floyd_cpu() for one instruction set, which must be supported. */
void floyd_cpu_isa(enum codelet_isa isa, const struct floyd_tile *tile, const uint8_t *in,
                   uint8_t *out, struct floyd_row *rows, int16_t *edge);

/** A whole image in one piece, straight from the formula.
 * @return 0; -ENOMEM. */
int floyd_reference(const struct floyd_image *image, size_t height, const uint8_t *in,
                    uint8_t *out);

/** Launches the CUDA version on device memory; returns without waiting.
 * @param stream a cudaStream_t
 * @return 0, or -EIO when a launch was refused. */
int floyd_cuda(void *stream, const struct floyd_tile *tile, const uint8_t *in, uint8_t *out,
               struct floyd_row *rows, int16_t *edge);
/** Brings the CUDA version to the current device, so that its first tile does not
 * wait for that. @return 0; -EIO. */
int floyd_cuda_load(void);

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
