/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * libpng reports errors by a callback that must not return; it leaves by
 * longjmp(), past functions that own nothing: all that is to be freed hangs on
 * the reader or writer.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <png.h>

#include "support/message.h"
#include "apps/common/file.h"
#include "apps/common/png_file.h"

struct reader {
	const char *path;
	char *file; /* the whole file */
	size_t bytes, at;
	png_structp png;
	png_infop info;
	struct image image;
	unsigned char **rows;
};

static void reader_failed(png_structp png, png_const_charp reason)
{
	const struct reader *reader = png_get_error_ptr(png);

	heddle_refuse(-EINVAL, "%s: not a PNG image that can be read: %s", reader->path, reason);
	png_longjmp(png, 1);
}

static void reader_warned(png_structp png, png_const_charp reason)
{
	const struct reader *reader = png_get_error_ptr(png);

	heddle_explain("%s: %s", reader->path, reason);
}

static void reader_get(png_structp png, png_bytep data, size_t bytes)
{
	struct reader *reader = png_get_io_ptr(png);

	if (bytes > reader->bytes - reader->at)
		png_error(png, "the file ends too early");
	memcpy(data, reader->file + reader->at, bytes);
	reader->at += bytes;
}

/* Asks libpng for 8 bits, grey or RGB, and says what is lost. */
static void convert(struct reader *reader)
{
	png_byte colour = png_get_color_type(reader->png, reader->info);
	png_byte depth = png_get_bit_depth(reader->png, reader->info);
	bool transparent = colour & PNG_COLOR_MASK_ALPHA ||
	                   png_get_valid(reader->png, reader->info, PNG_INFO_tRNS);

	if (colour == PNG_COLOR_TYPE_PALETTE)
		png_set_palette_to_rgb(reader->png);
	else if (depth < 8)
		png_set_expand_gray_1_2_4_to_8(reader->png);
	if (depth == 16) {
		heddle_warn("%s: 16 bits a channel, of which the lower 8 are dropped",
		            reader->path);
		png_set_scale_16(reader->png);
	}
	if (transparent) {
		heddle_warn("%s: its transparency is dropped", reader->path);
		png_set_strip_alpha(reader->png);
	}
	png_set_interlace_handling(reader->png);
	png_read_update_info(reader->png, reader->info);
}

static void read_image(struct reader *reader)
{
	struct image *image = &reader->image;
	size_t stride;

	png_set_read_fn(reader->png, reader, reader_get);
	png_read_info(reader->png, reader->info);
	convert(reader);
	image->width = png_get_image_width(reader->png, reader->info);
	image->height = png_get_image_height(reader->png, reader->info);
	image->channels = png_get_channels(reader->png, reader->info);
	stride = image->width * image->channels;
	if ((image->channels != 1 && image->channels != 3) ||
	    png_get_rowbytes(reader->png, reader->info) != stride)
		png_error(reader->png, "neither grey nor RGB");
	image->pixels = malloc(image->height * stride);
	reader->rows = malloc(image->height * sizeof(*reader->rows));
	if (!image->pixels || !reader->rows)
		png_error(reader->png, "no memory for its pixels");
	for (size_t y = 0; y < image->height; y++)
		reader->rows[y] = image->pixels + y * stride;
	png_read_image(reader->png, reader->rows);
	png_read_end(reader->png, NULL);
}

/* The only frame that longjmp() returns to; it changes nothing afterwards. */
static int read_guarded(struct reader *reader)
{
	if (setjmp(png_jmpbuf(reader->png)))
		return -EINVAL;
	read_image(reader);
	return 0;
}

int png_file_read(const char *path, struct image *image)
{
	struct reader reader = {.path = path};
	int error = file_load(path, &reader.file, &reader.bytes);

	if (error)
		return error;
	reader.png =
	    png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, reader_failed, reader_warned);
	if (reader.png)
		reader.info = png_create_info_struct(reader.png);
	if (reader.info)
		error = read_guarded(&reader);
	else
		error = heddle_refuse(-ENOMEM, "%s: no memory to read it", path);
	if (reader.png)
		png_destroy_read_struct(&reader.png, &reader.info, NULL);
	free(reader.file);
	free(reader.rows);
	if (error)
		free(reader.image.pixels);
	else
		*image = reader.image;
	return error;
}

struct writer {
	const char *path;
	const struct image *image;
	FILE *stream;
	png_structp png;
	png_infop info;
};

static void writer_failed(png_structp png, png_const_charp reason)
{
	const struct writer *writer = png_get_error_ptr(png);

	/* libpng says no more than that it could not write. */
	heddle_refuse(-EINVAL, "%s: not written: %s", writer->path,
	              ferror(writer->stream) ? strerror(errno) : reason);
	png_longjmp(png, 1);
}

static void writer_warned(png_structp png, png_const_charp reason)
{
}

static int write_guarded(struct writer *writer)
{
	const struct image *image = writer->image;
	size_t stride = image->width * image->channels;

	if (setjmp(png_jmpbuf(writer->png)))
		return -EINVAL;
	png_init_io(writer->png, writer->stream);
	png_set_compression_level(writer->png, 1);
	png_set_IHDR(writer->png, writer->info, image->width, image->height, 8,
	             image->channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
	             PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	png_write_info(writer->png, writer->info);
	for (size_t y = 0; y < image->height; y++)
		png_write_row(writer->png, image->pixels + y * stride);
	png_write_end(writer->png, NULL);
	return 0;
}

int png_file_write(const char *path, const struct image *image)
{
	struct writer writer = {.path = path, .image = image};
	int error = file_create(path, &writer.stream);

	if (error)
		return error;
	writer.png =
	    png_create_write_struct(PNG_LIBPNG_VER_STRING, &writer, writer_failed, writer_warned);
	if (writer.png)
		writer.info = png_create_info_struct(writer.png);
	if (writer.info)
		error = write_guarded(&writer);
	else
		error = heddle_refuse(-ENOMEM, "%s: no memory to write it", path);
	if (writer.png)
		png_destroy_write_struct(&writer.png, &writer.info);
	if (!error)
		return file_finish(path, writer.stream);
	file_drop(path, writer.stream);
	return error;
}
