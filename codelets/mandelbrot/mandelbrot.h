/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The Mandelbrot set (B. Mandelbrot, "Fractal aspects of the iteration of z -> λz(1-z)", 1980): for
 * every pixel c of a view, how often z -> z² + c can be repeated from 0 before |z| > 2. An
 * iteration of the loop is a row of the image, and rows differ by the limit in their cost. Double
 * precision without fused operations, so that all versions give the same bits.
 */
#ifndef CODELETS_MANDELBROT_H
#define CODELETS_MANDELBROT_H

#include <stddef.h>
#include <stdint.h>

#include "codelets/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which part of the plane an image shows: the loop's `arg`. */
struct mandelbrot_view {
	double left, top; /**< c of the first pixel: left + top i */
	double step;      /**< from a pixel to the next, to the right or down */
	uint32_t limit;   /**< most repetitions */
	size_t width;     /**< pixels of a row, 3 bytes each: red, green, blue */
};

/** Computes rows first … first+n-1.
 * @param[out] out the first of them
 * @param stride bytes from a row to the next */
void mandelbrot_cpu(enum codelet_isa isa, const struct mandelbrot_view *view, size_t first,
                    size_t n, unsigned char *out, size_t stride);

/** The repetitions of one pixel, pixel by pixel. */
uint32_t mandelbrot_reference(const struct mandelbrot_view *view, size_t x, size_t y);

/** Largest difference of a byte of some rows from those of mandelbrot_reference(). */
unsigned mandelbrot_error(const struct mandelbrot_view *view, size_t first, size_t n,
                          const unsigned char *out, size_t stride);

/** Launches the CUDA version on device memory; returns without waiting.
 * @param stream a cudaStream_t
 * @return 0, or -EIO when the launch was refused. */
int mandelbrot_cuda(void *stream, const struct mandelbrot_view *view, size_t first, size_t n,
                    unsigned char *out, size_t stride);

/** The codelet: a matrix of bytes, 3 `width` wide (written); a row an iteration. */
extern struct starpu_codelet mandelbrot_codelet;
/** Its OpenCL program, where this build has OpenCL. */
extern struct codelet_program mandelbrot_program;

/* ---- shared by the versions ---- */

#ifdef __CUDACC__
#define MANDELBROT_ANYWHERE __host__ __device__
#else
#define MANDELBROT_ANYWHERE
#endif

/* Up and down, from 0 to 255. */
MANDELBROT_ANYWHERE static inline unsigned char mandelbrot_shade(uint32_t count)
{
	return count & 256 ? 255 - (count & 255) : count & 255;
}

/** The colour of a pixel: black in the set. */
MANDELBROT_ANYWHERE static inline void mandelbrot_paint(uint32_t count, uint32_t limit,
                                                        unsigned char *pixel)
{
	pixel[0] = count < limit ? mandelbrot_shade(3 * count) : 0;
	pixel[1] = count < limit ? mandelbrot_shade(5 * count + 40) : 0;
	pixel[2] = count < limit ? mandelbrot_shade(7 * count + 90) : 0;
}

#ifdef __cplusplus
}
#endif
#endif
