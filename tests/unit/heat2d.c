/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Gauss and Seidel: tiles of any shape against the whole plate, to the last bit, and
 * many sweeps against a solution that is known.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/heat2d/heat2d.h"
#include "tests/unit/test.h"

static int between(int from, int to)
{
	return from + rand() / 3 % (to - from + 1);
}

static void sweep_whole(float *u, size_t rows, size_t columns, size_t stride)
{
	struct heat2d_tile tile = {.rows = rows,
	                           .columns = columns,
	                           .total_rows = rows,
	                           .total_columns = columns,
	                           .stride = stride};

	heat2d_reference(&tile, u);
}

static void sweep_tiles(enum codelet_isa isa, float *u, size_t rows, size_t columns, size_t stride)
{
	struct heat2d_tile tile = {.total_rows = rows, .total_columns = columns, .stride = stride};
	int highest = between(0, 1) ? 5 : 200, widest = between(0, 2) ? 300 : 3;

	for (tile.row = 0; tile.row < rows; tile.row += tile.rows) {
		tile.rows = between(1, highest);
		tile.rows = tile.rows < rows - tile.row ? tile.rows : rows - tile.row;
		for (tile.column = 0; tile.column < columns; tile.column += tile.columns) {
			size_t left = columns - tile.column;

			tile.columns = between(1, widest);
			tile.columns = tile.columns < left ? tile.columns : left;
			heat2d_cpu(isa, &tile, u + tile.row * stride);
		}
	}
}

static void sweep_and_compare(enum codelet_isa isa, size_t rows, size_t columns)
{
	size_t stride = columns + between(0, 5), bytes = rows * stride * sizeof(float);
	float *right = malloc(bytes), *got = malloc(bytes);

	assert_true(right && got);
	for (size_t i = 0; i < rows * stride; i++)
		right[i] = got[i] = rand() / (float)RAND_MAX * (between(0, 9) ? 1 : 1e-30f);
	for (int sweep = 0; sweep < 3; sweep++) {
		sweep_whole(right, rows, columns, stride);
		sweep_tiles(isa, got, rows, columns, stride);
		assert_memory_equal(right, got, bytes);
	}
	free(right);
	free(got);
}

static void test_tiles(void **state)
{
	for (int isa = 0; isa < CODELET_NISAS; isa++) {
		if (!codelet_isa_supported(isa)) {
			print_message("%s is not supported here\n", codelet_isa_name(isa));
			continue;
		}
		for (int trial = 0; trial < 200; trial++)
			sweep_and_compare(isa, trial % 7 ? between(1, 200) : between(1, 3),
			                  trial % 11 ? between(1, 300) : between(1, 3));
	}
}

/* u = x y solves the equation, also on the grid: sweeps lead from anywhere to it. */
static void test_solution(void **state)
{
	enum { N = 24 };
	float u[N][N];

	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			bool border = !i || !j || i == N - 1 || j == N - 1;

			u[i][j] = border ? (float)i * j : 1000.0f * rand() / RAND_MAX;
		}
	for (int sweep = 0; sweep < 1500; sweep++)
		sweep_tiles(codelet_isa_best(), &u[0][0], N, N, N);
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			assert_true(fabs(u[i][j] - (float)i * j) < 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tiles),
	    cmocka_unit_test(test_solution),
	};
	unsigned seed = test_seed();

	srand(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
