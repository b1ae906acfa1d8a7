/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Box filter: every pixel becomes the mean of the square window of 2 radius + 1 pixels a side
 * around it, each channel by itself. At the borders the mean is over the part of the window that
 * lies in the image. It is rounded in integers, (sum + count/2) / count, so that all versions give
 * the same bits. An iteration of the loop is a row of the image; a block also reads `radius` rows
 * above and below it (HEDDLE_HALO).
 */
#ifndef CODELETS_BOXFILTER_H
#define CODELETS_BOXFILTER_H

#include <stddef.h>
#include <stdint.h>

#include "codelets/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The loop's `arg`. */
struct boxfilter_window {
	size_t radius;     /**< 0 and more, pixels */
	unsigned channels; /**< 1 (grey) or 3 (red, green, blue), a byte each */
};

/** Some rows of an image. */
struct boxfilter_band {
	struct boxfilter_window window;
	size_t width; /**< pixels, at least 1; a row has fewer than 2^32 bytes */
	size_t above; /**< rows of input before the one that the first row of output stands for */
	size_t rows;  /**< of output */
	size_t input_rows; /**< of input: above + rows + those below; where there are fewer than
	                        `radius` above or below, the image ends there */
	size_t in_stride, out_stride; /**< bytes from a row to the next */
};

/** Filters a band. The time per pixel does not depend on the radius, except for the first
 * 2 radius + 1 rows.
 * @return 0; -ENOMEM. */
int boxfilter_cpu(enum codelet_isa isa, const struct boxfilter_band *band, const unsigned char *in,
                  unsigned char *out);

/** Sums over the rectangles from the image's first pixel on ("summed-area table": F. Crow,
 * SIGGRAPH 1984), for boxfilter_error(): another algorithm for the same means.
 * @param[out] sums of height * width * channels; freed by the caller
 * @return 0; -ENOMEM. */
int boxfilter_reference(size_t width, size_t height, unsigned channels, const unsigned char *in,
                        uint64_t **sums);

/** Largest difference between the rows from…to-1 of a filtered image and the means.
 * @param sums boxfilter_reference()'s
 * @param out the whole image, without gaps between rows */
unsigned boxfilter_error(const struct boxfilter_window *window, size_t width, size_t height,
                         const uint64_t *sums, const unsigned char *out, size_t from, size_t to);

/** Launches the CUDA version on device memory; returns without waiting.
 * @param stream a cudaStream_t
 * @return 0; -ENOMEM when the device has no memory for the data between the passes,
 * -EIO when a launch was refused. */
int boxfilter_cuda(void *stream, const struct boxfilter_band *band, const unsigned char *in,
                   unsigned char *out);

/** The codelet: matrices of bytes, `width` times `channels` wide, the input (read, HEDDLE_HALO
 * of `radius`) and the output (written, HEDDLE_SLICE). */
extern struct starpu_codelet boxfilter_codelet;
/** Its OpenCL program, where this build has OpenCL. */
extern struct codelet_program boxfilter_program;

/* ---- shared by the versions ---- */

#ifdef __CUDACC__
#define BOXFILTER_ANYWHERE __host__ __device__
#else
#define BOXFILTER_ANYWHERE
#endif

/** The number of pixels of a window around `at`, in a line of `length`. */
BOXFILTER_ANYWHERE static inline size_t boxfilter_span(size_t at, size_t radius, size_t length)
{
	size_t from = at < radius ? 0 : at - radius;
	size_t to = length - at <= radius ? length : at + radius + 1;

	return to - from;
}

/** The number of pixels of the band's largest window. */
static inline size_t boxfilter_largest(const struct boxfilter_band *band)
{
	size_t radius = band->window.radius;
	size_t columns = boxfilter_span(band->width / 2, radius, band->width);
	size_t rows = radius < band->input_rows ? 2 * radius + 1 : band->input_rows;

	return columns * (rows < band->input_rows ? rows : band->input_rows);
}

/** Whether the rounded sums over windows stay below 2^32. */
static inline int boxfilter_is_narrow(const struct boxfilter_band *band)
{
	return boxfilter_largest(band) <= UINT32_MAX / 256;
}

#ifdef __cplusplus
}
#endif
#endif
