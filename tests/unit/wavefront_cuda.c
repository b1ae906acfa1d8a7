/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The CUDA versions of the wavefronts' codelets against the CPU's, bit by bit, on tiles
 * of any shape. Skipped where there is no CUDA device.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime_api.h>

#include "codelets/floyd/floyd.h"
#include "codelets/heat2d/heat2d.h"
#include "codelets/strmatch/strmatch.h"
#include "tests/unit/test.h"

static cudaStream_t stream;

static int between(int from, int to)
{
	return from + rand() / 3 % (to - from + 1);
}

static void *to_device(const void *data, size_t bytes)
{
	void *device;

	assert_int_equal(cudaMalloc(&device, bytes), cudaSuccess);
	assert_int_equal(cudaMemcpy(device, data, bytes, cudaMemcpyHostToDevice), cudaSuccess);
	return device;
}

static void from_device(void *data, size_t bytes, void *device)
{
	assert_int_equal(cudaMemcpy(data, device, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
	assert_int_equal(cudaFree(device), cudaSuccess);
}

/* ---- strmatch ---- */

enum { LONGEST = 1500 };

struct matrix {
	struct strmatch_row rows[LONGEST];
	struct strmatch_edge edge[LONGEST];
};

static struct {
	struct strmatch_scoring scoring;
	struct strmatch_tile tile;
	size_t n, m;
	uint8_t query[LONGEST], subject[LONGEST];
} strings;

static void make_strings(void)
{
	strmatch_scores_blosum62(&strings.scoring);
	strings.scoring.extend = between(1, 3);
	strings.scoring.open = strings.scoring.extend + between(0, 9);
	strings.tile.floor = between(0, 1) ? 0 : STRMATCH_NONE;
	strings.n = between(1, between(0, 1) ? 100 : LONGEST);
	strings.m = between(1, between(0, 1) ? 100 : LONGEST);
	for (size_t i = 0; i < strings.n; i++)
		strings.query[i] = between(0, 23);
	for (size_t j = 0; j < strings.m; j++)
		strings.subject[j] = between(0, 9) ? strings.query[j % strings.n] : between(0, 23);
}

/* In two tiles a band, of two bands. */
static void match(int cuda, size_t half_n, size_t half_m, struct matrix *matrix)
{
	uint8_t *query = to_device(strings.query, LONGEST);
	uint8_t *subject = to_device(strings.subject, LONGEST);
	struct strmatch_row *rows;
	struct strmatch_edge *edge;

	memset(matrix, 0, sizeof(*matrix));
	strmatch_start(strings.n, strings.tile.floor, matrix->rows);
	rows = to_device(matrix->rows, sizeof(matrix->rows));
	edge = to_device(matrix->edge, sizeof(matrix->edge));
	for (int part = 0; part < 4; part++) {
		size_t i = part / 2 ? half_n : 0, j = part % 2 ? half_m : 0;
		struct strmatch_tile tile = strings.tile;

		tile.nrows = part / 2 ? strings.n - half_n : half_n;
		tile.ncolumns = part % 2 ? strings.m - half_m : half_m;
		tile.first_column = j;
		if (cuda)
			assert_int_equal(strmatch_cuda(stream, &strings.scoring, &tile, query + i,
			                               subject + j, rows + i, i ? edge + j : NULL,
			                               edge + j),
			                 0);
		else
			strmatch_reference(&strings.scoring, &tile, strings.query + i,
			                   strings.subject + j, matrix->rows + i,
			                   i ? matrix->edge + j : NULL, matrix->edge + j);
	}
	assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
	if (cuda) {
		from_device(matrix->rows, sizeof(matrix->rows), rows);
		from_device(matrix->edge, sizeof(matrix->edge), edge);
	} else {
		cudaFree(rows);
		cudaFree(edge);
	}
	cudaFree(query);
	cudaFree(subject);
}

static void test_strmatch(void **state)
{
	static struct matrix right, got;

	for (int trial = 0; trial < 60; trial++) {
		size_t half_n, half_m;

		make_strings();
		half_n = between(0, strings.n);
		half_m = between(0, strings.m);
		match(0, half_n, half_m, &right);
		match(1, half_n, half_m, &got);
		assert_memory_equal(right.rows, got.rows, strings.n * sizeof(*right.rows));
		assert_memory_equal(right.edge, got.edge, strings.m * sizeof(*right.edge));
	}
}

/* ---- floyd ---- */

/* A whole image, in bands of `highest` rows at most. */
static void dither(const struct floyd_image *image, size_t height, const uint8_t *in, uint8_t *out,
                   int highest)
{
	size_t stride = image->width * image->channels, bytes = height * stride;
	struct floyd_row *rows = calloc(height * image->channels, sizeof(*rows));
	int16_t *edge = calloc(stride, sizeof(*edge));
	uint8_t *device_in = to_device(in, bytes), *device_out = to_device(in, bytes);
	struct floyd_row *device_rows = to_device(rows, height * image->channels * sizeof(*rows));
	int16_t *device_edge = to_device(edge, stride * sizeof(*edge));
	struct floyd_tile tile = {.image = *image, .in_stride = stride, .out_stride = stride};

	for (size_t from = 0; from < height; from += tile.rows) {
		tile.rows = between(1, highest);
		tile.rows = tile.rows < height - from ? tile.rows : height - from;
		for (tile.column = -between(0, 3);
		     tile.column < (ptrdiff_t)(image->width + tile.rows - 1);
		     tile.column += tile.columns) {
			tile.columns = between(1, between(0, 1) ? 70 : 1000);
			assert_int_equal(floyd_cuda(stream, &tile, device_in + from * stride,
			                            device_out + from * stride,
			                            device_rows + from * image->channels,
			                            device_edge),
			                 0);
		}
	}
	assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
	from_device(out, bytes, device_out);
	cudaFree(device_in);
	cudaFree(device_rows);
	cudaFree(device_edge);
	free(rows);
	free(edge);
}

static void test_floyd(void **state)
{
	for (int trial = 0; trial < 40; trial++) {
		struct floyd_image image = {.width = between(1, trial % 2 ? 40 : 500),
		                            .channels = between(0, 1) ? 1 : 3,
		                            .bits = between(1, 8)};
		size_t height = between(1, trial % 3 ? 40 : 300);
		size_t bytes = height * image.width * image.channels;
		uint8_t *in = malloc(bytes), *right = malloc(bytes), *got = malloc(bytes);

		assert_true(in && right && got);
		for (size_t i = 0; i < bytes; i++)
			in[i] = rand() >> 5;
		assert_int_equal(floyd_reference(&image, height, in, right), 0);
		dither(&image, height, in, got, trial % 2 ? 10 : 200);
		assert_memory_equal(right, got, bytes);
		free(in);
		free(right);
		free(got);
	}
}

/* ---- heat2d ---- */

static void heat(struct heat2d_tile plate, float *right, float *got)
{
	size_t bytes = plate.total_rows * plate.stride * sizeof(float);
	float *device = to_device(got, bytes);
	struct heat2d_tile whole = plate, tile = plate;

	whole.rows = plate.total_rows;
	whole.columns = plate.total_columns;
	heat2d_reference(&whole, right);
	for (tile.row = 0; tile.row < plate.total_rows; tile.row += tile.rows) {
		tile.rows = between(1, between(0, 2) ? 100 : 3000);
		if (tile.rows > plate.total_rows - tile.row)
			tile.rows = plate.total_rows - tile.row;
		for (tile.column = 0; tile.column < plate.total_columns;
		     tile.column += tile.columns) {
			tile.columns = between(1, between(0, 2) ? 200 : 1500);
			if (tile.columns > plate.total_columns - tile.column)
				tile.columns = plate.total_columns - tile.column;
			assert_int_equal(
			    heat2d_cuda(stream, &tile, device + tile.row * plate.stride), 0);
		}
	}
	assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
	from_device(got, bytes, device);
}

static void test_heat2d(void **state)
{
	for (int trial = 0; trial < 60; trial++) {
		/* Many bands follow each other in some. */
		bool large = trial % 6 == 5;
		struct heat2d_tile plate = {.total_rows = between(1, large       ? 3000
		                                                     : trial % 2 ? 40
		                                                                 : 300),
		                            .total_columns = between(1, large       ? 1500
		                                                        : trial % 3 ? 40
		                                                                    : 300)};
		size_t n;
		float *right, *got;

		plate.stride = plate.total_columns + between(0, 5);
		n = plate.total_rows * plate.stride;
		right = malloc(n * sizeof(*right));
		got = malloc(n * sizeof(*got));
		assert_true(right && got);
		for (size_t i = 0; i < n; i++)
			right[i] = got[i] = rand() / (float)RAND_MAX;
		for (int sweep = 0; sweep < 2; sweep++) {
			heat(plate, right, got);
			assert_memory_equal(right, got, n * sizeof(*right));
		}
		free(right);
		free(got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_floyd),
	    cmocka_unit_test(test_heat2d),
	    cmocka_unit_test(test_strmatch),
	};
	unsigned seed = test_seed();
	int devices;

	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		print_message("no CUDA device\n");
		return 77;
	}
	if (cudaStreamCreate(&stream) != cudaSuccess)
		return 1;
	srand(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
