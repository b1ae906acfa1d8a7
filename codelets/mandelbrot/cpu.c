/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Several pixels at a time, until the last of them has left or reached the limit. Vectors hide the
 * latency of one pixel's chain behind those of the others. Compiled without fused operations
 * (codelets/Makefile.mk).
 */
#include "config.h"

#include "codelets/mandelbrot/mandelbrot.h"

#define LANES 16
/* Repetitions between two looks whether a pixel is left. */
#define STRIDE 8

struct lanes {
	double cr[LANES], zr[LANES], zi[LANES];
	int64_t inside[LANES]; /* -1: yes */
	int64_t counts[LANES];
};

/* n repetitions of each pixel. @return whether any is inside */
ISA_BODY int64_t lanes_repeat(struct lanes *lanes, double ci, uint32_t n)
{
	int64_t any = 0;

	for (uint32_t k = 0; k < n; k++)
		for (int l = 0; l < LANES; l++) {
			double zr = lanes->zr[l], zi = lanes->zi[l], rr = zr * zr, ii = zi * zi;

			lanes->inside[l] &= rr + ii <= 4.0 ? -1 : 0;
			lanes->counts[l] -= lanes->inside[l];
			lanes->zi[l] = (zr + zr) * zi + ci;
			lanes->zr[l] = rr - ii + lanes->cr[l];
		}
	for (int l = 0; l < LANES; l++)
		any |= lanes->inside[l];
	return any;
}

/* LANES pixels from x on. */
ISA_BODY void lanes_count(const struct mandelbrot_view *view, size_t x, double ci,
                          struct lanes *lanes)
{
	int64_t any = -1;

	for (int l = 0; l < LANES; l++) {
		lanes->cr[l] = view->left + (double)(x + l) * view->step;
		lanes->zr[l] = lanes->zi[l] = 0;
		lanes->inside[l] = -1;
		lanes->counts[l] = 0;
	}
	for (uint32_t done = 0; any && done < view->limit;) {
		uint32_t left = view->limit - done, n = left < STRIDE ? left : STRIDE;

		any = lanes_repeat(lanes, ci, n);
		done += n;
	}
}

ISA_BODY void rows_body(const struct mandelbrot_view *view, size_t first, size_t n,
                        unsigned char *out, size_t stride)
{
	struct lanes lanes;

	for (size_t y = 0; y < n; y++) {
		double ci = view->top - (double)(first + y) * view->step;

		for (size_t x = 0; x < view->width; x += LANES) {
			size_t some = view->width - x < LANES ? view->width - x : LANES;

			lanes_count(view, x, ci, &lanes);
			for (size_t l = 0; l < some; l++)
				mandelbrot_paint(lanes.counts[l], view->limit,
				                 out + y * stride + 3 * (x + l));
		}
	}
}

ISA_VARIANTS(rows,
             (const struct mandelbrot_view *view, size_t first, size_t n, unsigned char *out,
              size_t stride),
             (view, first, n, out, stride));

void mandelbrot_cpu(enum codelet_isa isa, const struct mandelbrot_view *view, size_t first,
                    size_t n, unsigned char *out, size_t stride)
{
	rows_variants[isa](view, first, n, out, stride);
}
