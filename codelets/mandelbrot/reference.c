/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "codelets/mandelbrot/mandelbrot.h"

uint32_t mandelbrot_reference(const struct mandelbrot_view *view, size_t x, size_t y)
{
	double cr = view->left + (double)x * view->step, ci = view->top - (double)y * view->step;
	double zr = 0, zi = 0;
	uint32_t count = 0;

	while (count < view->limit && zr * zr + zi * zi <= 4.0) {
		double next = zr * zr - zi * zi + cr;

		zi = (zr + zr) * zi + ci;
		zr = next;
		count++;
	}
	return count;
}

unsigned mandelbrot_error(const struct mandelbrot_view *view, size_t first, size_t n,
                          const unsigned char *out, size_t stride)
{
	unsigned worst = 0;

	for (size_t y = 0; y < n; y++)
		for (size_t x = 0; x < view->width; x++) {
			unsigned char right[3];

			mandelbrot_paint(mandelbrot_reference(view, x, first + y), view->limit,
			                 right);
			for (int c = 0; c < 3; c++) {
				int error = out[y * stride + 3 * x + c] - right[c];
				unsigned size = error < 0 ? -error : error;

				worst = size > worst ? size : worst;
			}
		}
	return worst;
}
