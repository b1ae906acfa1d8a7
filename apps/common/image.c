/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <string.h>

#include <heddle/memory.h>

#include "apps/common/app.h"
#include "apps/common/image.h"

const char *const image_channels[4] = {[1] = "1", [3] = "3"};

int image_allocate(struct image *image, const struct image *like)
{
	*image = *like;
	image->pixels = NULL;
	return heddle_malloc((void **)&image->pixels, image->height * image_row_bytes(image));
}

void image_release(struct image *image)
{
	heddle_free(image->pixels, image->height * image_row_bytes(image));
}

struct copy {
	const struct image *to, *from;
};

static double copy_rows(void *arg, size_t begin, size_t end)
{
	const struct copy *copy = arg;
	size_t n = image_row_bytes(copy->to);

	memcpy(copy->to->pixels + begin * n, copy->from->pixels + begin * n, (end - begin) * n);
	return 0;
}

void image_copy(const struct image *to, const struct image *from)
{
	struct copy copy = {to, from};

	app_parallel(to->height, copy_rows, &copy);
}

static double invert_rows(void *arg, size_t begin, size_t end)
{
	const struct image *image = arg;
	size_t n = image_row_bytes(image);

	for (size_t i = begin * n; i < end * n; i++)
		image->pixels[i] = ~image->pixels[i];
	return 0;
}

void image_invert(const struct image *image)
{
	app_parallel(image->height, invert_rows, (void *)image);
}

starpu_data_handle_t image_register(const struct image *image)
{
	starpu_data_handle_t handle;
	size_t n = image_row_bytes(image);

	starpu_matrix_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)image->pixels, n, n,
	                            image->height, 1);
	return handle;
}
