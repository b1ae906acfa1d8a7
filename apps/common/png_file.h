/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * PNG images of 8 bits a channel, grey or RGB. No StarPU.
 */
#ifndef APPS_COMMON_PNG_FILE_H
#define APPS_COMMON_PNG_FILE_H

#include <stddef.h>

struct image {
	size_t width, height;  /**< pixels, at least 1 */
	unsigned channels;     /**< 1 (grey) or 3 (red, green, blue) */
	unsigned char *pixels; /**< rows from the top, without gaps */
};

/** Reads an image. Palettes become RGB and fewer than 8 bits a channel 8; 16 bits become 8
 * and transparency is thrown away, with a message.
 * @param[out] image its pixels are to be freed by the caller
 * @return 0; -EINVAL after a message with file and reason; -errno. */
int png_file_read(const char *path, struct image *image);

/** Writes an image. @return 0; -errno after a message. */
int png_file_write(const char *path, const struct image *image);

#endif
