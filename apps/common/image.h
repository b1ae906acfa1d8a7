/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Images as arrays of StarPU, for apps that filter them: struct image with pixels by
 * heddle_malloc(). Start with image_allocate(). Work on pixels is done by all
 * processors, rows apart.
 */
#ifndef APPS_COMMON_IMAGE_H
#define APPS_COMMON_IMAGE_H

#include <starpu.h>

#include "apps/common/png_file.h"

static inline size_t image_row_bytes(const struct image *image)
{
	return image->width * image->channels;
}

/** The numbers of channels that images have. */
extern const char *const image_channels[4];

/** Makes an image of the size of another one, pixels not set.
 * @return 0; a negative errno value, and no pixels then. */
int image_allocate(struct image *image, const struct image *like);
/** Frees its pixels; there may be none. */
void image_release(struct image *image);

/** Copies the pixels of an image of the same size. */
void image_copy(const struct image *to, const struct image *from);

/** Inverts all pixels: right results become wrong ones, all of them. */
void image_invert(const struct image *image);

/** The mean of the channels of pixel i. */
float image_mean(const struct image *image, size_t i);

/** Writes numbers as a grey PNG image of width times height pixels, each `scale` times as bright
 * as its number, 255 at most. @return 0; -errno after a message. */
int image_write_field(const char *path, size_t width, size_t height, const float *numbers,
                      float scale);

/** The same, to PREFIX-STEP.png, of data with a handle, which this acquires. */
int image_write_frame(const char *prefix, size_t step, starpu_data_handle_t handle, size_t width,
                      size_t height, const float *numbers, float scale);

/** The image as a matrix of bytes in main memory. */
starpu_data_handle_t image_register(const struct image *image);

#endif
