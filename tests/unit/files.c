/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files that users name: CSV tables, FASTA sequences, PNG images and matrices, well and badly made.
 */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <png.h>

#include "apps/common/csv.h"
#include "apps/common/fasta.h"
#include "apps/common/file.h"
#include "apps/common/csr.h"
#include "apps/common/labelled.h"
#include "apps/common/matrix_market.h"
#include "apps/common/png_file.h"
#include "tests/unit/test.h"

static char path[] = "/tmp/heddle-files-XXXXXX";
static const char *const names[] = {"spot", "strike", "years"};

static void put(const void *data, size_t bytes)
{
	FILE *stream = fopen(path, "wb");

	assert_non_null(stream);
	assert_int_equal(fwrite(data, 1, bytes, stream), bytes);
	assert_int_equal(fclose(stream), 0);
}

static int parse(const char *text, struct csv *table)
{
	put(text, strlen(text));
	return csv_read(path, 3, names, table);
}

static void test_csv_good(void **state)
{
	static const char *const texts[] = {
	    "1,2,3\n4.5,5e0,60e-1\n",
	    "1,2,3\n4.5,5,6",
	    "spot,strike,years\n1,2,3\n4.5,5,6\n",
	    " Spot ,\tSTRIKE, years \r\n\r\n 1 , 2 ,3 \r\n4.5,5,6\r\n\n\n",
	};

	for (size_t t = 0; t < sizeof(texts) / sizeof(*texts); t++) {
		struct csv table;

		assert_int_equal(parse(texts[t], &table), 0);
		assert_int_equal(table.rows, 2);
		assert_true(table.columns[0][0] == 1 && table.columns[1][0] == 2);
		assert_true(table.columns[2][0] == 3 && table.columns[0][1] == 4.5f);
		assert_true(table.columns[1][1] == 5 && table.columns[2][1] == 6);
		csv_free(&table);
	}
}

static void test_csv_bad(void **state)
{
	static const char *const texts[] = {
	    "1,2\n",
	    "1,2,\n",
	    "1,,3\n",
	    ",2,3\n",
	    "1,2,3,4\n",
	    "1,2,3,\n",
	    "1;2;3\n",
	    "1,2,three\n",
	    "1,2,3x\n",
	    "1,2,nan\n",
	    "1,inf,3\n",
	    "1,2,-3\n",
	    "0,2,3\n",
	    "1,2,1e-60\n",
	    "1e60,2,3\n",
	    "\n\n",
	    "spot,strike,years\n",
	    "spot,years\n",
	    "spot,strike,x\n",
	    "\"1\",2,3\n",
	    "1,2,3\n4",
	    "1,2 2,3\n",
	    "1,2,3\r4,5,6\n",
	    "1,\n2,3\n",
	};
	struct csv table;

	for (size_t t = 0; t < sizeof(texts) / sizeof(*texts); t++)
		if (parse(texts[t], &table) != -EINVAL)
			fail_msg("accepted: %s", texts[t]);
	put("1,2,3\0,\n", 9);
	assert_int_equal(csv_read(path, 3, names, &table), -EINVAL);
	put("", 0);
	assert_int_equal(csv_read(path, 3, names, &table), -ENODATA);
	assert_int_equal(csv_read("/tmp", 3, names, &table), -EISDIR);
	assert_int_equal(csv_read("/nonexistent/file", 3, names, &table), -ENOENT);
}

/* Written and read again, numbers are the same bit by bit. */
static void test_csv_round_trip(void **state)
{
	enum { ROWS = 3000 };
	float *columns[3];
	struct csv table;

	for (int c = 0; c < 3; c++) {
		columns[c] = malloc(ROWS * sizeof(float));
		assert_non_null(columns[c]);
		for (int r = 0; r < ROWS; r++)
			columns[c][r] = (rand() + 1.0f) / (1 + rand() % 100000);
	}
	assert_int_equal(csv_write(path, 3, names, (const float *const *)columns, ROWS), 0);
	assert_int_equal(csv_read(path, 3, names, &table), 0);
	assert_int_equal(table.rows, ROWS);
	for (int c = 0; c < 3; c++) {
		assert_memory_equal(columns[c], table.columns[c], ROWS * sizeof(float));
		free(columns[c]);
	}
	csv_free(&table);
}

/* Cut off anywhere, a table is read as far as it goes or refused. */
static void test_csv_truncated(void **state)
{
	static const char text[] = "spot,strike,years\r\n12.5,1e2,0.25\r\n7,8,9\r\n";
	struct csv table;

	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		int error;

		put(text, n);
		error = csv_read(path, 3, names, &table);
		if (!error) {
			assert_true(table.rows == 1 || table.rows == 2);
			csv_free(&table);
		} else {
			assert_true(error == -EINVAL || error == -ENODATA);
		}
	}
}

static struct image make_image(size_t width, size_t height, unsigned channels)
{
	struct image image = {width, height, channels, malloc(width * height * channels)};

	assert_non_null(image.pixels);
	for (size_t i = 0; i < width * height * channels; i++)
		image.pixels[i] = rand() >> 7;
	return image;
}

static void test_png_round_trip(void **state)
{
	for (unsigned channels = 1; channels <= 3; channels += 2) {
		struct image image = make_image(13, 7, channels), again;

		assert_int_equal(png_file_write(path, &image), 0);
		assert_int_equal(png_file_read(path, &again), 0);
		assert_int_equal(again.width, 13);
		assert_int_equal(again.height, 7);
		assert_int_equal(again.channels, channels);
		assert_memory_equal(image.pixels, again.pixels, 13 * 7 * channels);
		free(image.pixels);
		free(again.pixels);
	}
}

static void test_png_truncated(void **state)
{
	struct image image = make_image(9, 5, 3), again;
	char *file;
	size_t bytes;

	assert_int_equal(png_file_write(path, &image), 0);
	assert_int_equal(file_load(path, &file, &bytes), 0);
	for (size_t n = 0; n < bytes; n++) {
		put(file, n);
		assert_int_equal(png_file_read(path, &again), n ? -EINVAL : -ENODATA);
	}
	free(file);
	free(image.pixels);
}

/* Any byte changed: read (where no checksum covers it) or refused. */
static void test_png_damaged(void **state)
{
	struct image image = make_image(9, 5, 1), again;
	unsigned refused = 0;
	char *file;
	size_t bytes;

	assert_int_equal(png_file_write(path, &image), 0);
	assert_int_equal(file_load(path, &file, &bytes), 0);
	for (size_t n = 0; n < bytes; n++) {
		int error;

		file[n] ^= 1 << rand() % 8;
		put(file, bytes);
		error = png_file_read(path, &again);
		if (!error)
			free(again.pixels);
		refused += error == -EINVAL;
		free(file);
		assert_int_equal(png_file_write(path, &image), 0);
		assert_int_equal(file_load(path, &file, &bytes), 0);
	}
	assert_true(refused > bytes / 2);
	free(file);
	free(image.pixels);
}

/* Writes a picture of 4 x 2 pixels in another of PNG's formats. */
static void write_as(png_uint_32 format, const void *pixels, const void *palette)
{
	png_image image = {.version = PNG_IMAGE_VERSION,
	                   .width = 4,
	                   .height = 2,
	                   .format = format,
	                   .colormap_entries = palette ? 2 : 0};

	assert_true(png_image_write_to_file(&image, path, 0, pixels, 0, palette));
}

static void assert_pixels(unsigned channels, const unsigned char *pixels)
{
	struct image image;

	assert_int_equal(png_file_read(path, &image), 0);
	assert_int_equal(image.width, 4);
	assert_int_equal(image.height, 2);
	assert_int_equal(image.channels, channels);
	assert_memory_equal(image.pixels, pixels, 8 * channels);
	free(image.pixels);
}

static void test_png_converted(void **state)
{
	static const unsigned char palette[] = {10, 20, 30, 200, 100, 50};
	static const unsigned char which[] = {0, 1, 1, 0, 1, 0, 0, 1};
	unsigned char rgb[24], rgba[32], grey[8], grey_alpha[16];
	png_uint_16 deep[8];

	for (int i = 0; i < 8; i++) {
		grey[i] = grey_alpha[2 * i] = 30 * i;
		grey_alpha[2 * i + 1] = 255 - i;
		deep[i] = i % 2 ? 65535 : 0;
		for (int c = 0; c < 3; c++)
			rgb[3 * i + c] = rgba[4 * i + c] = palette[3 * which[i] + c];
		rgba[4 * i + 3] = 255 - i;
	}
	write_as(PNG_FORMAT_RGB_COLORMAP, which, palette);
	assert_pixels(3, rgb);
	write_as(PNG_FORMAT_RGBA, rgba, NULL);
	assert_pixels(3, rgb);
	write_as(PNG_FORMAT_GA, grey_alpha, NULL);
	assert_pixels(1, grey);
	write_as(PNG_FORMAT_LINEAR_Y, deep, NULL);
	for (int i = 0; i < 8; i++)
		grey[i] = i % 2 ? 255 : 0;
	assert_pixels(1, grey);
}

static void test_no_png(void **state)
{
	struct image image;

	put("GIF89a, this is not", 19);
	assert_int_equal(png_file_read(path, &image), -EINVAL);
	assert_int_equal(png_file_read("/tmp", &image), -EISDIR);
	assert_int_equal(png_file_write("/nonexistent/file", &image), -ENOENT);
}

/* ---- FASTA ---- */

/* An alphabet of four letters. */
static int number(char letter)
{
	const char *found = letter ? strchr("ACGT", letter) : NULL;

	return found ? found - "ACGT" : -1;
}

static char name(uint8_t letter)
{
	return "ACGT"[letter];
}

static int parse_fasta(const char *text, size_t bytes, unsigned count, struct sequence *sequences)
{
	put(text, bytes);
	return fasta_read(path, count, 6, number, sequences);
}

static void test_fasta_good(void **state)
{
	static const char *const texts[] = {
	    ">one\nACGT\n>two\nTT\n",
	    ">one and more\nAC\n\nGT\n>two\nTT",
	    "\n\r\n>one\tx\r\nA\r\nC\r\nGT \t\r\n>two \r\nTT\r\n\r\n",
	};

	for (size_t t = 0; t < sizeof(texts) / sizeof(*texts); t++) {
		struct sequence sequences[2];

		assert_int_equal(parse_fasta(texts[t], strlen(texts[t]), 2, sequences), 0);
		assert_string_equal(sequences[0].name, "one");
		assert_string_equal(sequences[1].name, "two");
		assert_int_equal(sequences[0].n, 4);
		assert_int_equal(sequences[1].n, 2);
		assert_memory_equal(sequences[0].letters, "\0\1\2\3", 4);
		assert_memory_equal(sequences[1].letters, "\3\3", 2);
		for (int s = 0; s < 2; s++)
			sequence_free(&sequences[s]);
	}
}

static void test_fasta_bad(void **state)
{
	static const char *const texts[] = {
	    "ACGT\n",
	    "\n\n",
	    ">one\n",
	    ">one\n\n>two\nA\n",
	    ">one\nACXT\n",
	    ">one\nA C\n",
	    ">one\nACGTACG\n",
	    ">one\nACGT\nACG\n",
	    ">one\nA\n>two\nC\n",
	};

	for (size_t t = 0; t < sizeof(texts) / sizeof(*texts); t++) {
		struct sequence sequence;

		assert_int_equal(parse_fasta(texts[t], strlen(texts[t]), 1, &sequence), -EINVAL);
	}
}

/* Cut off anywhere: right up to there, or refused. */
static void test_fasta_truncated(void **state)
{
	static const char text[] = ">one\nACGT\nA\n>two\nCC\n";

	for (size_t n = 1; n < sizeof(text) - 1; n++) {
		struct sequence sequences[2];
		int error = parse_fasta(text, n, 2, sequences);

		assert_int_equal(error, n <= strlen(">one\nACGT\nA\n>two\n") ? -EINVAL : 0);
		for (int s = 0; s < 2 && !error; s++)
			sequence_free(&sequences[s]);
	}
}

static void test_fasta_round_trip(void **state)
{
	uint8_t letters[200];
	struct sequence sequence = {.name = "long", .letters = letters}, again;

	for (sequence.n = 1; sequence.n <= sizeof(letters); sequence.n++) {
		FILE *stream = fopen(path, "w");

		letters[sequence.n - 1] = rand() / 3 % 4;
		assert_non_null(stream);
		fasta_write(stream, &sequence, name);
		assert_int_equal(fclose(stream), 0);
		assert_int_equal(fasta_read(path, 1, 200, number, &again), 0);
		assert_string_equal(again.name, "long");
		assert_int_equal(again.n, sequence.n);
		assert_memory_equal(again.letters, letters, sequence.n);
		sequence_free(&again);
	}
}

static int make_path(void **state)
{
	int fd = mkstemp(path);

	setenv("HEDDLE_VERBOSE", "0", 1);
	return fd < 0 || close(fd);
}

static int remove_path(void **state)
{
	return unlink(path);
}

/* ---- Matrix Market ---- */

enum { ORDER = 3 };

struct grid {
	double values[ORDER][ORDER];
	bool given[ORDER][ORDER];
};

static bool take_number(void *arg, size_t row, size_t column, double value)
{
	struct grid *grid = arg;

	assert_true(row < ORDER && column < ORDER);
	if (grid->given[row][column])
		return false;
	grid->given[row][column] = true;
	grid->values[row][column] = value;
	return true;
}

static int parse_matrix(const char *text, struct matrix_market *file, struct grid *grid)
{
	int error;

	memset(grid, 0, sizeof(*grid));
	put(text, strlen(text));
	error = matrix_market_open(path, file);
	if (error)
		return error;
	assert_true(file->rows <= ORDER && file->columns <= ORDER);
	error = matrix_market_read(file, take_number, grid);
	matrix_market_close(file);
	return error;
}

static void test_matrix_good(void **state)
{
	static const char *const texts[] = {
	    "%%MatrixMarket matrix array real general\n2 2\n1\n-2.5e0\n3\n4e2\n",
	    "%%matrixmarket MATRIX Array Real General\n% of two\n\n 2  2 \n\n1\n -2.5\t\n3\n400",
	    "%%MatrixMarket matrix coordinate real general\r\n2 2 4\r\n1 1 1\r\n2 2 4e2\r\n"
	    "1 2 3\r\n2 1 -2.5\r\n\r\n",
	};
	struct matrix_market file;
	struct grid grid;

	for (size_t t = 0; t < sizeof(texts) / sizeof(*texts); t++) {
		assert_int_equal(parse_matrix(texts[t], &file, &grid), 0);
		assert_true(grid.values[0][0] == 1 && grid.values[1][0] == -2.5);
		assert_true(grid.values[0][1] == 3 && grid.values[1][1] == 400);
	}
	assert_int_equal(parse_matrix("%%MatrixMarket matrix array integer symmetric\n"
	                              "3 3\n1\n2\n3\n4\n5\n6\n",
	                              &file, &grid),
	                 0);
	assert_true(grid.values[2][0] == 3 && grid.values[1][1] == 4 && grid.values[2][2] == 6);
	assert_false(grid.given[0][1] || grid.given[0][2] || grid.given[1][2]);
	assert_int_equal(parse_matrix("%%MatrixMarket matrix coordinate real symmetric\n"
	                              "3 3 2\n3 1 7\n2 2 0\n",
	                              &file, &grid),
	                 0);
	assert_true(grid.values[2][0] == 7 && grid.given[1][1] && !grid.given[0][0]);
	assert_int_equal(parse_matrix("%%MatrixMarket matrix coordinate pattern general\n"
	                              "3 3 2\n3 1\n2 2\n",
	                              &file, &grid),
	                 0);
	assert_true(grid.values[2][0] == 1 && grid.values[1][1] == 1 && !grid.given[0][0]);
}

static void test_matrix_bad(void **state)
{
	static const char *const heads[] = {
	    "",
	    "1 2 3\n",
	    "%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
	    "%%MatrixMarket vector array real general\n2 2\n1\n2\n3\n4\n",
	    "%%MatrixMarket matrix sparse real general\n2 2\n1\n2\n3\n4\n",
	    "%%MatrixMarket matrix array complex general\n2 2\n1\n2\n3\n4\n",
	    "%%MatrixMarket matrix array pattern general\n2 2\n1\n2\n3\n4\n",
	    "%%MatrixMarket matrix array real hermitian\n2 2\n1\n2\n3\n4\n",
	    "%%MatrixMarket matrix array real skew-symmetric\n2 2\n1\n2\n3\n4\n",
	    "%%MatrixMarket matrix array real\n2 2\n1\n2\n3\n4\n",
	    "%%MatrixMarket matrix array real general more\n2 2\n1\n2\n3\n4\n",
	    "%%MatrixMarket matrix array real symmetric\n2 3\n1\n2\n3\n4\n5\n6\n",
	    "%%MatrixMarket matrix array real general\n",
	    "%%MatrixMarket matrix array real general\n2\n1\n2\n3\n4\n",
	    "%%MatrixMarket matrix array real general\n0 2\n1\n2\n3\n4\n",
	    "%%MatrixMarket matrix array real general\n-2 2\n1\n2\n3\n4\n",
	    "%%MatrixMarket matrix array real general\n2.0 2\n1\n2\n3\n4\n",
	    "%%MatrixMarket matrix array real general\n2 2 4\n1\n2\n3\n4\n",
	    "%%MatrixMarket matrix array real general\n99999999999999999999 2\n1\n",
	    "%%MatrixMarket matrix array real general\n4294967295 4294967295\n1\n",
	    "%%MatrixMarket matrix coordinate real general\n2 2\n1 1 1\n",
	    "%%MatrixMarket matrix coordinate real general\n2 2 5\n1 1 1\n",
	};
	static const char *const arrays[] = {
	    "2 2\n1\n2\n3\n",        "2 2\n1\n2\n3\n4\n5\n", "2 2\n1 2\n3\n4\n5\n",
	    "2 2\n1\n2\nx\n4\n",     "2 2\n1\n2\nnan\n4\n",  "2 2\n1\n2\ninf\n4\n",
	    "2 2\n1\n2\n1e999\n4\n", "2 2\n1\n2\n3;\n4\n",
	};
	static const char *const coordinates[] = {
	    "2 2 1\n1 1\n",   "2 2 1\n1\n",       "2 2 1\n3 1 1\n",        "2 2 1\n1 3 1\n",
	    "2 2 1\n0 1 1\n", "2 2 1\n1 -1 1\n",  "2 2 1\n1 1 1 1\n",      "2 2 2\n1 1 1\n1 1 2\n",
	    "2 2 2\n1 1 1\n", "2 2 1\n1.5 1 1\n", "2 2 1\n1 1 1\n2 2 2\n", "2 2 1\n1 1 1,5\n",
	};
	struct matrix_market file;
	struct grid grid;
	char text[200];

	for (size_t t = 0; t < sizeof(heads) / sizeof(*heads); t++)
		if (parse_matrix(heads[t], &file, &grid) != (t ? -EINVAL : -ENODATA))
			fail_msg("accepted: %s", heads[t]);
	for (size_t t = 0; t < sizeof(arrays) / sizeof(*arrays); t++) {
		snprintf(text, sizeof(text), "%%%%MatrixMarket matrix array real general\n%s",
		         arrays[t]);
		if (parse_matrix(text, &file, &grid) != -EINVAL)
			fail_msg("accepted: %s", text);
	}
	for (size_t t = 0; t < sizeof(coordinates) / sizeof(*coordinates); t++) {
		snprintf(text, sizeof(text), "%%%%MatrixMarket matrix coordinate real general\n%s",
		         coordinates[t]);
		if (parse_matrix(text, &file, &grid) != -EINVAL)
			fail_msg("accepted: %s", text);
	}
	assert_int_equal(parse_matrix("%%MatrixMarket matrix coordinate real symmetric\n"
	                              "2 2 1\n1 2 7\n",
	                              &file, &grid),
	                 -EINVAL);
	put("%%MatrixMarket matrix array real general\n1 1\n\0001\n", 49);
	assert_int_equal(matrix_market_open(path, &file), 0);
	assert_int_equal(matrix_market_read(&file, take_number, &grid), -EINVAL);
	matrix_market_close(&file);
	assert_int_equal(matrix_market_open("/tmp", &file), -EISDIR);
	assert_int_equal(matrix_market_open("/nonexistent/file", &file), -ENOENT);
}

/* Cut off or changed anywhere, a matrix is read or refused. */
static void test_matrix_damaged(void **state)
{
	static const char text[] = "%%MatrixMarket matrix coordinate real general\r\n%x\r\n3 3 "
	                           "3\r\n1 1 1.5\r\n3 2 -2e3\r\n"
	                           "2 3 7\r\n";
	struct matrix_market file;
	struct grid grid;
	char copy[sizeof(text)];

	for (size_t n = 1; n < sizeof(text); n++) {
		memcpy(copy, text, sizeof(text));
		copy[n] = 0;
		/* Only the whole end of the last line may be missing. */
		assert_int_equal(parse_matrix(copy, &file, &grid),
		                 n < sizeof(text) - 3 || n == sizeof(text) - 2 ? -EINVAL : 0);
	}
	for (int round = 0; round < 3000; round++) {
		int error;

		memcpy(copy, text, sizeof(text));
		copy[rand() % (sizeof(text) - 1)] = "0123456789 \n%-.e\xff"[rand() % 17];
		memset(&grid, 0, sizeof(grid));
		put(copy, sizeof(text) - 1);
		error = matrix_market_open(path, &file);
		if (error) {
			assert_int_equal(error, -EINVAL);
			continue;
		}
		if (file.rows <= ORDER && file.columns <= ORDER)
			error = matrix_market_read(&file, take_number, &grid);
		assert_true(!error || error == -EINVAL);
		matrix_market_close(&file);
	}
}

static double grid_get(void *arg, size_t row, size_t column)
{
	return ((struct grid *)arg)->values[row][column];
}

static void test_matrix_round_trip(void **state)
{
	for (int round = 0; round < 20; round++) {
		bool symmetric = round & 1;
		struct grid grid, again = {0};
		struct matrix_market file;

		for (int i = 0; i < ORDER; i++)
			for (int j = 0; j < ORDER; j++)
				grid.values[i][j] = (rand() - rand()) / (1.0 + rand());
		assert_int_equal(
		    matrix_market_write(path, ORDER, ORDER, symmetric, 17, grid_get, &grid), 0);
		assert_int_equal(matrix_market_open(path, &file), 0);
		assert_true(file.symmetric == symmetric);
		assert_int_equal(matrix_market_read(&file, take_number, &again), 0);
		matrix_market_close(&file);
		for (int i = 0; i < ORDER; i++)
			for (int j = 0; j <= (symmetric ? i : ORDER - 1); j++)
				assert_true(again.values[i][j] == grid.values[i][j]);
	}
	assert_int_equal(matrix_market_write("/nonexistent/file", 1, 1, false, 9, NULL, NULL),
	                 -ENOENT);
}

/* ---- sparse matrices ---- */

static int parse_csr(const char *text, struct csr *matrix)
{
	put(text, strlen(text));
	return csr_read(path, false, matrix);
}

static void test_csr(void **state)
{
	static const char large[] =
	    "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 -3.5e38\n";
	static const uint32_t starts[] = {0, 2, 2, 4}, symmetric_starts[] = {0, 1, 2, 4};
	struct csr matrix;

	assert_int_equal(parse_csr("%%MatrixMarket matrix coordinate real general\n3 4 4\n"
	                           "3 4 1.5\n1 3 2\n3 1 -1\n1 1 0\n",
	                           &matrix),
	                 0);
	assert_true(matrix.rows == 3 && matrix.columns == 4);
	assert_memory_equal(matrix.starts, starts, sizeof(starts));
	assert_true(matrix.column[0] == 0 && matrix.column[1] == 2 && matrix.column[2] == 0 &&
	            matrix.column[3] == 3);
	assert_true(matrix.values[0] == 0 && matrix.values[1] == 2 && matrix.values[2] == -1 &&
	            matrix.values[3] == 1.5);
	csr_free(&matrix);
	assert_int_equal(parse_csr("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n"
	                           "1 1\n3 2\n3 3\n",
	                           &matrix),
	                 0);
	assert_memory_equal(matrix.starts, symmetric_starts, sizeof(symmetric_starts));
	assert_true(matrix.column[1] == 2 && matrix.values[1] == 1);
	csr_free(&matrix);
	assert_int_equal(parse_csr("%%MatrixMarket matrix coordinate real general\n3 4 2\n"
	                           "3 4 1.5\n3 4 2\n",
	                           &matrix),
	                 -EINVAL);
	assert_int_equal(parse_csr("%%MatrixMarket matrix coordinate real general\n"
	                           "2 4294967295 1\n1 1 1\n",
	                           &matrix),
	                 -EINVAL);
	/* More than the largest float, which doubles hold. */
	put(large, strlen(large));
	assert_int_equal(csr_read(path, true, &matrix), -EINVAL);
	assert_int_equal(csr_read(path, false, &matrix), 0);
	assert_true(matrix.values[0] == -3.5e38);
	csr_free(&matrix);
}

static double csr_value(void *arg, size_t entry)
{
	return csr_random_value(arg, entry);
}

/* Where the last column is a number, each point may have a class of its own: looking through all of
 * them for each point would have no end. */
static void test_many_classes(void **state)
{
	enum { CLASSES = 100000 };
	FILE *stream = fopen(path, "w");
	struct class_names classes = {0};
	struct labelled points;

	assert_non_null(stream);
	for (int i = 0; i < 2 * CLASSES; i++)
		fprintf(stream, "%d,%d\n", i, i % CLASSES + 7);
	assert_int_equal(fclose(stream), 0);
	assert_int_equal(labelled_read(path, 0, 1, true, &classes, &points), 0);
	assert_int_equal(points.rows, 2 * CLASSES);
	assert_int_equal(classes.n, CLASSES);
	assert_string_equal(classes.names[CLASSES - 1], "100006");
	for (int i = 0; i < 2 * CLASSES; i++)
		assert_int_equal(points.labels[i], i % CLASSES);
	labelled_free(&points);
	class_names_free(&classes);
	assert_int_equal(classes.n, 0);
}

/* Random matrices have the mean they should, ascending columns, and survive a file. */
static void test_csr_random(void **state)
{
	enum { ROWS = 3000 };
	static uint32_t starts[ROWS + 1];
	struct csr_shape shape = {
	    .rows = ROWS, .columns = 500, .mean = 9, .alpha = 2.5, .seed = rand()};
	struct csr matrix = {.rows = ROWS, .columns = 500, .starts = starts}, again;
	size_t count;

	assert_int_equal(csr_random_starts(&shape, starts), 0);
	count = starts[ROWS];
	assert_true(count > 8 * ROWS && count < 10 * ROWS);
	matrix.column = malloc(count * sizeof(*matrix.column));
	for (size_t i = 0; i < ROWS; i++)
		for (size_t e = starts[i]; e < starts[i + 1]; e++) {
			matrix.column[e] =
			    csr_random_column(&shape, e, e - starts[i], starts[i + 1] - starts[i]);
			assert_true(matrix.column[e] >= 0 && matrix.column[e] < 500);
			assert_true(e == starts[i] || matrix.column[e] > matrix.column[e - 1]);
		}
	assert_int_equal(csr_write(path, &matrix, 17, csr_value, &shape), 0);
	assert_int_equal(csr_read(path, false, &again), 0);
	assert_memory_equal(again.starts, starts, sizeof(starts));
	assert_memory_equal(again.column, matrix.column, count * sizeof(*matrix.column));
	for (size_t e = 0; e < count; e++)
		assert_true(again.values[e] == csr_random_value(&shape, e));
	csr_free(&again);
	free(matrix.column);
	shape.sorted = true;
	assert_int_equal(csr_random_starts(&shape, starts), 0);
	assert_int_equal(starts[ROWS], count);
	for (size_t i = 1; i < ROWS; i++)
		assert_true(starts[i + 1] - starts[i] <= starts[i] - starts[i - 1]);
	shape.columns = INT32_MAX;
	shape.mean = 1e9;
	assert_int_equal(csr_random_starts(&shape, starts), -EINVAL);
}

static void begins_at(const char *file, const char *text)
{
	char *data;
	size_t bytes;

	assert_int_equal(file_load(file, &data, &bytes), 0);
	assert_string_equal(data, text);
	free(data);
}

static void begins(const char *text)
{
	begins_at(path, text);
}

static int write_after(const char *file)
{
	FILE *stream;
	int error = file_create(file, &stream);

	if (error)
		return error;
	fputs("after", stream);
	return file_finish(file, stream);
}

/* In a process of its own, which may give up its rights. */
static int write_after_in(bool (*prepare)(void))
{
	int ended;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(prepare() ? -write_after(path) : 77);
	assert_int_equal(waitpid(pid, &ended, 0), pid);
	assert_true(WIFEXITED(ended));
	return WEXITSTATUS(ended);
}

/* Other files beside the place, and links, stay what they are. */
static void test_neighbours(void **state)
{
	char others[3][sizeof(path) + 32], target[sizeof(path) + 8];

	snprintf(target, sizeof(target), "%s.target", path);
	put("other", 5);
	assert_int_equal(rename(path, target), 0);
	for (int n = 0; n < 3; n++) {
		snprintf(others[n], sizeof(others[n]), "%s.%ld%s", path, (long)getpid(),
		         ((const char *const[]){"", "-0", "-1"})[n]);
		assert_int_equal(n == 2 ? symlink(target, others[n])
		                        : (put("other", 5), rename(path, others[n])),
		                 0);
	}
	for (int there = 0; there < 2; there++) {
		assert_int_equal(write_after(path), 0);
		begins("after");
		put("before", 6);
	}
	for (int n = 0; n < 3; n++) {
		begins_at(others[n], "other");
		assert_int_equal(unlink(others[n]), 0);
	}
	assert_int_equal(unlink(target), 0);
	/* Whoever knows it by another name sees what is written. */
	put("before", 6);
	assert_int_equal(link(path, target), 0);
	assert_int_equal(write_after(path), 0);
	begins_at(target, "after");
	assert_int_equal(unlink(target), 0);
}

/* What leads to the file may change while it is written. */
static void test_place_changes(void **state)
{
	char link[sizeof(path) + 8], beside[sizeof(path) + 32];
	FILE *stream;

	put("before", 6);
	snprintf(link, sizeof(link), "%s.link", path);
	snprintf(beside, sizeof(beside), "%s.%ld-0", path, (long)getpid());
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(file_create(link, &stream), 0);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("/nonexistent", link), 0);
	fputs("after", stream);
	assert_int_equal(file_finish(link, stream), 0);
	assert_int_equal(access(beside, F_OK), -1);
	begins("after");
	assert_int_equal(unlink(link), 0);
	/* Where its place cannot be taken, the whole file is kept. */
	assert_int_equal(file_create(path, &stream), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	fputs("after", stream);
	assert_int_equal(file_finish(path, stream), -EINVAL);
	begins_at(beside, "after");
	assert_int_equal(unlink(beside), 0);
	assert_int_equal(rmdir(path), 0);
	put("before", 6);
}

static bool be_nobody(void)
{
	return !setgid(65534) && !setuid(65534);
}

static bool be_root(void)
{
	return !geteuid();
}

static bool mount_itself(void)
{
	return (!geteuid() ? !unshare(CLONE_NEWNS) : !unshare(CLONE_NEWUSER | CLONE_NEWNS)) &&
	       !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount(path, path, NULL, MS_BIND, NULL);
}

/* Owners stay, also in a folder where nobody replaces files of others; what is mounted by itself
 * is written. Users who cannot ask for that skip it. */
static void test_owners_and_mounts(void **state)
{
	struct stat about;
	int ended;

	put("before", 6);
	ended = write_after_in(mount_itself);
	assert_true(ended == 0 || ended == 77);
	begins(ended ? "before" : "after");
	if (geteuid())
		return;
	put("before", 6);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(write_after_in(be_root), 0);
	begins("after");
	assert_int_equal(stat(path, &about), 0);
	assert_true(about.st_uid == 65534 && about.st_gid == 65534);
	put("before", 6);
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(write_after_in(be_nobody), 0);
	begins("after");
	assert_int_equal(stat(path, &about), 0);
	assert_true(!about.st_uid && (about.st_mode & 0777) == 0666);
}

/* A process that ends while it writes leaves what was there, which may be nothing. */
static void test_half_written(void **state)
{
	char beside[sizeof(path) + 24], link[sizeof(path) + 24];
	struct stat about;
	FILE *stream;
	int ended;
	pid_t pid;

	put("before", 6);
	assert_int_equal(chmod(path, 0640), 0);
	for (int there = 1; there >= 0; there--) {
		if (!there)
			assert_int_equal(unlink(path), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (!pid) {
			if (!file_create(path, &stream) && fputs("after", stream) >= 0 &&
			    !fflush(stream))
				raise(SIGKILL);
			_exit(1);
		}
		assert_int_equal(waitpid(pid, &ended, 0), pid);
		assert_true(WIFSIGNALED(ended));
		if (there)
			begins("before");
		else
			assert_int_equal(access(path, F_OK), -1);
		snprintf(beside, sizeof(beside), "%s.%ld-0", path, (long)pid);
		assert_int_equal(unlink(beside), 0);
	}
	/* What is given up is not there, either, and what is finished has its mode, link and all.
	 */
	snprintf(beside, sizeof(beside), "%s.%ld-0", path, (long)getpid());
	snprintf(link, sizeof(link), "%s.link", path);
	put("before", 6);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(file_create(link, &stream), 0);
	file_drop(link, stream);
	begins("before");
	assert_int_equal(access(beside, F_OK), -1);
	assert_int_equal(file_create(link, &stream), 0);
	fputs("after", stream);
	begins("before");
	assert_int_equal(file_finish(link, stream), 0);
	begins("after");
	assert_int_equal(access(beside, F_OK), -1);
	assert_int_equal(lstat(link, &about), 0);
	assert_true(S_ISLNK(about.st_mode));
	assert_int_equal(stat(path, &about), 0);
	assert_int_equal(about.st_mode & 0777, 0640);
	assert_int_equal(unlink(link), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_csv_good),          cmocka_unit_test(test_csv_bad),
	    cmocka_unit_test(test_csv_truncated),     cmocka_unit_test(test_csv_round_trip),
	    cmocka_unit_test(test_png_truncated),     cmocka_unit_test(test_png_round_trip),
	    cmocka_unit_test(test_png_damaged),       cmocka_unit_test(test_no_png),
	    cmocka_unit_test(test_png_converted),     cmocka_unit_test(test_fasta_good),
	    cmocka_unit_test(test_fasta_bad),         cmocka_unit_test(test_fasta_truncated),
	    cmocka_unit_test(test_fasta_round_trip),  cmocka_unit_test(test_matrix_good),
	    cmocka_unit_test(test_matrix_bad),        cmocka_unit_test(test_matrix_damaged),
	    cmocka_unit_test(test_matrix_round_trip), cmocka_unit_test(test_csr),
	    cmocka_unit_test(test_csr_random),        cmocka_unit_test(test_many_classes),
	    cmocka_unit_test(test_half_written),      cmocka_unit_test(test_neighbours),
	    cmocka_unit_test(test_place_changes),     cmocka_unit_test(test_owners_and_mounts),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
