/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The formula pixel by pixel, for comparisons.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "codelets/floyd/floyd.h"

/* One row of one channel. `above` are the errors of the row above, `own` become this
 * one's; both have a 0 before the first and behind the last. */
static void dither_row(const struct floyd_image *image, const uint8_t *in, uint8_t *out,
                       const int16_t *above, int16_t *own)
{
	for (size_t x = 1; x <= image->width; x++) {
		size_t at = (x - 1) * image->channels;
		int sum = 7 * own[x - 1] + above[x - 1] + 5 * above[x] + 3 * above[x + 1];
		int v = in[at] + ((sum + 8) >> 4);

		out[at] = floyd_level(image->bits, floyd_nearest(image->bits, v));
		own[x] = v - out[at];
	}
}

int floyd_reference(const struct floyd_image *image, size_t height, const uint8_t *in, uint8_t *out)
{
	size_t room = image->width + 2, stride = image->width * image->channels;
	int16_t *errors = calloc(2 * image->channels, room * sizeof(*errors));

	if (!errors)
		return -ENOMEM;
	for (size_t y = 0; y < height; y++)
		for (unsigned c = 0; c < image->channels; c++) {
			int16_t *pair = errors + 2 * c * room;

			dither_row(image, in + y * stride + c, out + y * stride + c,
			           pair + (y & 1) * room, pair + (~y & 1) * room);
		}
	free(errors);
	return 0;
}
