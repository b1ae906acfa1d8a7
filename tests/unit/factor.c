/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tiled factorisations: the graph's distances, the operations one by one in the graph's order, and
 * whether the check finds what is wrong.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/factor/graph.h"
#include "apps/factor/matrix.h"
#include "tests/unit/test.h"

static unsigned seed;

static unsigned below(unsigned n)
{
	return rand_r(&seed) % n;
}

/* ---- the graph ---- */

enum { MAX_TILES = 8, MAX_TASKS = MAX_TILES * MAX_TILES * MAX_TILES };

struct list {
	struct graph_task tasks[MAX_TASKS];
	size_t n;
};

static int append(void *arg, const struct graph_task *task)
{
	struct list *list = arg;

	assert_true(list->n < MAX_TASKS);
	list->tasks[list->n++] = *task;
	return 0;
}

static bool uses(const struct graph_task *task, struct graph_place tile)
{
	struct graph_place places[FACTOR_MAXTILES];
	unsigned n = graph_places(task, places);

	for (unsigned t = 0; t < n; t++)
		if (places[t].row == tile.row && places[t].column == tile.column)
			return true;
	return false;
}

/* A task waits for the last one before it that wrote one of its tiles, and for those that read
 * what it writes. */
static void test_distances(void **state)
{
	static struct list list;
	unsigned longest[MAX_TASKS];

	for (int kind = 0; kind < 2; kind++)
		for (unsigned tiles = 1; tiles <= MAX_TILES; tiles++) {
			list.n = 0;
			assert_int_equal(graph_each(kind, tiles, append, &list), 0);
			for (size_t i = list.n; i-- > 0;) {
				const struct graph_task *task = &list.tasks[i];

				longest[i] = 0;
				for (size_t later = i + 1; later < list.n; later++)
					if ((uses(&list.tasks[later], task->written) ||
					     uses(task, list.tasks[later].written)) &&
					    longest[later] + 1 > longest[i])
						longest[i] = longest[later] + 1;
				assert_int_equal(graph_distance(tiles, task), longest[i]);
			}
		}
}

/* ---- factors ---- */

struct problem {
	enum graph_kind kind;
	struct matrix matrix, factors;
	size_t task, left_out; /* its number */
	int broken;            /* the first column that broke down */
};

static void make(struct problem *problem, enum graph_kind kind, size_t n, size_t tile, bool wide)
{
	*problem = (struct problem){.kind = kind, .left_out = SIZE_MAX};
	problem->matrix = matrix_shape(n, tile, kind == GRAPH_CHOLESKY, wide);
	problem->factors = problem->matrix;
	problem->matrix.data = calloc(1, problem->matrix.bytes);
	problem->factors.data = calloc(1, problem->matrix.bytes);
	assert_non_null(problem->matrix.data);
	assert_non_null(problem->factors.data);
	matrix_fill(&problem->matrix, rand_r(&seed));
}

static void release(struct problem *problem)
{
	free(problem->matrix.data);
	free(problem->factors.data);
}

static int run(void *arg, const struct graph_task *task)
{
	struct problem *problem = arg;
	const struct matrix *matrix = &problem->factors;
	struct graph_place places[FACTOR_MAXTILES];
	struct factor_tile tiles[FACTOR_MAXTILES];
	int broken = 0;

	if (problem->task++ == problem->left_out)
		return 0;
	for (unsigned t = 0, n = graph_places(task, places); t < n; t++) {
		size_t rows = matrix_side(matrix, places[t].row);

		tiles[t] =
		    (struct factor_tile){.at = matrix_tile(matrix, places[t].row, places[t].column),
		                         .rows = rows,
		                         .columns = matrix_side(matrix, places[t].column),
		                         .ld = rows};
	}
	factor_cpu(task->op, matrix->wide, tiles, &broken);
	if (broken && !problem->broken)
		problem->broken = task->step * matrix->tile + broken;
	return 0;
}

static double factorise(struct problem *problem)
{
	problem->task = 0;
	problem->broken = 0;
	matrix_copy(&problem->factors, &problem->matrix);
	graph_each(problem->kind, problem->factors.tiles, run, problem);
	return matrix_error(problem->kind, &problem->matrix, &problem->factors);
}

static void test_right(void **state)
{
	double largest = 0;

	for (int round = 0; round < 200; round++) {
		struct problem problem;
		size_t n = 1 + below(round % 2 ? 20 : 200), tile = 1 + below(n + 3);
		double error;

		if (n / tile > 30)
			tile = n / 30;
		make(&problem, round & 1, n, tile, round & 2);
		error = factorise(&problem);
		assert_int_equal(problem.broken, 0);
		if (!(error <= MATRIX_TOLERANCE))
			fail_msg("n %zu, tile %zu, round %d: error %g", n, tile, round, error);
		largest = fmax(largest, error);
		release(&problem);
	}
	print_message("largest error of a right result: %g\n", largest);
}

/* The factors can be multiplied out by hand. */
static void test_known(void **state)
{
	static const double matrix[2][2] = {{4, 6}, {6, 25}};
	static const double cholesky[2][2] = {{2, 6}, {3, 4}}, lu[2][2] = {{4, 6}, {1.5, 16}};

	for (size_t tile = 1; tile <= 2; tile++)
		for (int kind = 0; kind < 2; kind++) {
			struct problem problem;

			make(&problem, kind, 2, tile, true);
			for (int i = 0; i < 2; i++)
				for (int j = 0; j < 2; j++)
					if (kind || i >= j)
						matrix_set(&problem.matrix, i, j, matrix[i][j]);
			assert_true(factorise(&problem) == 0);
			for (int i = 0; i < 2; i++)
				for (int j = 0; j < 2; j++)
					if (kind || i >= j)
						assert_true(matrix_get(&problem.factors, i, j) ==
						            (kind ? lu : cholesky)[i][j]);
			release(&problem);
		}
}

static double least_error = INFINITY;

static void expect_wrong(double error, const char *what, const struct problem *problem)
{
	least_error = fmin(least_error, error);
	if (!(error > MATRIX_TOLERANCE))
		fail_msg("%s was not found: kind %d, n %zu, tile %zu, %s precision, error %g", what,
		         problem->kind, problem->matrix.n, problem->matrix.tile,
		         problem->matrix.wide ? "double" : "single", error);
}

/* One number of each tile in turn. */
static void spoil_tiles(struct problem *problem)
{
	const struct matrix *f = &problem->factors;

	for (unsigned i = 0; i < f->tiles; i++)
		for (unsigned j = 0; j < (f->lower ? i + 1 : f->tiles); j++) {
			size_t row = i * f->tile + below(matrix_side(f, i));
			size_t column = j * f->tile + below(matrix_side(f, j)), swap = row;
			double value;

			if (f->lower && row < column) {
				row = column;
				column = swap;
			}
			value = matrix_get(f, row, column);
			matrix_set(f, row, column, value + 0.05);
			expect_wrong(matrix_error(problem->kind, &problem->matrix, f),
			             "a wrong number", problem);
			matrix_set(f, row, column, NAN);
			expect_wrong(matrix_error(problem->kind, &problem->matrix, f),
			             "not-a-number", problem);
			matrix_set(f, row, column, value);
		}
}

static void test_wrong(void **state)
{
	for (int round = 0; round < 8; round++) {
		struct problem problem;
		size_t n = 60 + below(100), tile = 16 + below(16), tasks;

		/* What a task changes in a few numbers can be as small as rounding. */
		if (n % tile && n % tile < 4)
			n += 4;
		make(&problem, round & 1, n, tile, round & 2);
		assert_true(factorise(&problem) <= MATRIX_TOLERANCE);
		tasks = problem.task;
		spoil_tiles(&problem);
		for (size_t t = 0; t < tasks; t++) {
			problem.left_out = t;
			expect_wrong(factorise(&problem), "a task left out", &problem);
		}
		release(&problem);
	}
	print_message("least error of a wrong result: %g\n", least_error);
}

static void test_breakdown(void **state)
{
	for (int round = 0; round < 80; round++) {
		struct problem problem;
		size_t n = 2 + below(100), tile = 1 + below(n), column = below(n);

		if (n / tile > 30)
			tile = n / 30;
		make(&problem, round & 1, n, tile, round & 2);
		for (size_t i = 0; i < n; i++) {
			if (i <= column)
				matrix_set(&problem.matrix, column, i, 0);
			if (i > column && !problem.matrix.lower)
				matrix_set(&problem.matrix, column, i, 0);
			if (i > column)
				matrix_set(&problem.matrix, i, column, 0);
		}
		factorise(&problem);
		assert_int_equal(problem.broken, column + 1);
		release(&problem);
	}
}

static void test_symmetry(void **state)
{
	struct matrix matrix = matrix_shape(7, 3, false, true),
	              half = matrix_shape(7, 3, true, true);
	size_t row, column;

	matrix.data = calloc(1, matrix.bytes);
	half.data = calloc(1, half.bytes);
	assert_non_null(matrix.data);
	assert_non_null(half.data);
	matrix_fill(&half, 3);
	for (size_t i = 0; i < 7; i++)
		for (size_t j = 0; j < 7; j++)
			matrix_set(&matrix, i, j,
			           i < j ? matrix_get(&half, j, i) : matrix_get(&half, i, j));
	assert_true(matrix_is_symmetric(&matrix, &row, &column));
	matrix_set(&matrix, 2, 5, 9);
	assert_false(matrix_is_symmetric(&matrix, &row, &column));
	assert_int_equal(row, 5);
	assert_int_equal(column, 2);
	free(matrix.data);
	free(half.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_distances), cmocka_unit_test(test_right),
	    cmocka_unit_test(test_known),     cmocka_unit_test(test_wrong),
	    cmocka_unit_test(test_breakdown), cmocka_unit_test(test_symmetry),
	};

	seed = test_seed();
	factor_cpu_prepare();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
