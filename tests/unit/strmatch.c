/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Local alignment: tiles of any shape against the formulas, alignments against their
 * scores, scores against the library parasail where it is installed.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HEDDLE_HAVE_PARASAIL
#include <parasail.h>
#include <parasail/matrices/blosum62.h>
#endif

#include "codelets/strmatch/strmatch.h"
#include "tests/unit/test.h"

enum { LONGEST = 1500 };

struct problem {
	struct strmatch_scoring scoring;
	enum strmatch_alphabet alphabet;
	int match, mismatch; /* 0: BLOSUM62 */
	int32_t floor;
	size_t n, m;
	uint8_t query[LONGEST], subject[LONGEST];
};

static int between(int from, int to)
{
	return from + rand() / 3 % (to - from + 1);
}

/* Sequences that have something in common: runs of the query, with errors, in the
 * subject. */
static void make_sequences(struct problem *problem, size_t longest)
{
	int letters = problem->alphabet == STRMATCH_DNA ? 5 : 24;

	problem->n = between(1, longest);
	problem->m = between(1, longest);
	for (size_t i = 0; i < problem->n; i++)
		problem->query[i] = rand() / 3 % letters;
	for (size_t j = 0, i = 0; j < problem->m; j++, i++) {
		if (!between(0, 40))
			i = rand();
		problem->subject[j] =
		    between(0, 9) ? problem->query[i % problem->n] : rand() / 3 % letters;
	}
}

static void make_problem(struct problem *problem, size_t longest)
{
	problem->alphabet = between(0, 1) ? STRMATCH_DNA : STRMATCH_PROTEIN;
	problem->match = between(0, 5);
	problem->mismatch = -between(0, 6);
	if (problem->alphabet == STRMATCH_DNA && !problem->match)
		problem->match = 1;
	if (problem->match)
		strmatch_scores_simple(&problem->scoring, problem->alphabet, problem->match,
		                       problem->mismatch);
	else
		strmatch_scores_blosum62(&problem->scoring);
	problem->scoring.extend = between(1, 4);
	problem->scoring.open = problem->scoring.extend + between(0, 1) * between(0, 12);
	problem->floor = between(0, 2) ? 0 : STRMATCH_NONE;
	make_sequences(problem, longest);
}

struct matrix {
	struct strmatch_row rows[LONGEST];
	struct strmatch_edge edge[LONGEST];
};

static void compute_whole(const struct problem *problem, struct matrix *matrix)
{
	const struct strmatch_tile tile = {
	    .nrows = problem->n, .ncolumns = problem->m, .floor = problem->floor};

	memset(matrix, 0, sizeof(*matrix));
	strmatch_start(problem->n, problem->floor, matrix->rows);
	strmatch_reference(&problem->scoring, &tile, problem->query, problem->subject, matrix->rows,
	                   NULL, matrix->edge);
}

/* In bands of any height and tiles of any width. */
static void compute_tiles(enum codelet_isa isa, const struct problem *problem,
                          struct matrix *matrix)
{
	memset(matrix, 0, sizeof(*matrix));
	strmatch_start(problem->n, problem->floor, matrix->rows);
	for (size_t i = 0, rows; i < problem->n; i += rows) {
		rows = between(1, between(0, 1) ? 20 : LONGEST);
		rows = rows < problem->n - i ? rows : problem->n - i;
		for (size_t j = 0, columns; j < problem->m; j += columns) {
			struct strmatch_tile tile = {.first_column = j, .floor = problem->floor};

			columns = between(1, between(0, 1) ? 20 : LONGEST);
			columns = columns < problem->m - j ? columns : problem->m - j;
			tile.nrows = rows;
			tile.ncolumns = columns;
			strmatch_cpu(isa, &problem->scoring, &tile, problem->query + i,
			             problem->subject + j, matrix->rows + i,
			             i ? matrix->edge + j : NULL, matrix->edge + j);
		}
	}
}

static void test_tiles(void **state)
{
	static struct problem problem;
	static struct matrix right, tiles;

	for (int isa = 0; isa < CODELET_NISAS; isa++) {
		if (!codelet_isa_supported(isa)) {
			print_message("%s is not supported here\n", codelet_isa_name(isa));
			continue;
		}
		for (int trial = 0; trial < 150; trial++) {
			make_problem(&problem, trial % 2 ? 60 : LONGEST);
			compute_whole(&problem, &right);
			compute_tiles(isa, &problem, &tiles);
			assert_memory_equal(&right, &tiles, sizeof(right));
		}
	}
}

/* By the definition: every gap of every length. */
static int32_t best_by_definition(const struct problem *problem)
{
	static int32_t h[100][100];
	const struct strmatch_scoring *scoring = &problem->scoring;
	int32_t best = 0;

	memset(h, 0, sizeof(h));
	for (size_t i = 1; i <= problem->n; i++)
		for (size_t j = 1; j <= problem->m; j++) {
			int32_t score =
			    h[i - 1][j - 1] +
			    scoring->scores[problem->query[i - 1]][problem->subject[j - 1]];

			for (size_t k = 1; k <= i; k++) {
				int32_t with = h[i - k][j] - scoring->open -
				               (int32_t)(k - 1) * scoring->extend;

				score = with > score ? with : score;
			}
			for (size_t k = 1; k <= j; k++) {
				int32_t with = h[i][j - k] - scoring->open -
				               (int32_t)(k - 1) * scoring->extend;

				score = with > score ? with : score;
			}
			h[i][j] = score > 0 ? score : 0;
			best = h[i][j] > best ? h[i][j] : best;
		}
	return best;
}

static void test_definition(void **state)
{
	static struct problem problem;
	static struct matrix matrix;

	for (int trial = 0; trial < 100; trial++) {
		make_problem(&problem, 99);
		problem.floor = 0;
		compute_whole(&problem, &matrix);
		assert_int_equal(strmatch_best(problem.n, matrix.rows).score,
		                 best_by_definition(&problem));
	}
}

static void reverse(size_t n, uint8_t *letters)
{
	for (size_t i = 0; i < n / 2; i++) {
		uint8_t other = letters[i];

		letters[i] = letters[n - 1 - i];
		letters[n - 1 - i] = other;
	}
}

/* From the end backwards, the same score is found at the start. */
static struct strmatch_best find_start(const struct problem *problem, struct strmatch_best end)
{
	static struct problem back;
	static struct matrix matrix;
	struct strmatch_best start;

	back = *problem;
	back.n = end.row + 1;
	back.m = end.column + 1;
	back.floor = STRMATCH_NONE;
	reverse(back.n, back.query);
	reverse(back.m, back.subject);
	compute_tiles(codelet_isa_best(), &back, &matrix);
	start = strmatch_best(back.n, matrix.rows);
	start.row = end.row - start.row;
	start.column = end.column - start.column;
	return start;
}

static void check_alignment(const struct problem *problem, struct strmatch_best end)
{
	struct strmatch_best start = find_start(problem, end);
	const uint8_t *query = problem->query + start.row,
	              *subject = problem->subject + start.column;
	size_t n = end.row - start.row + 1, m = end.column - start.column + 1, nsteps, i = 0, j = 0;
	struct strmatch_step *steps;

	assert_int_equal(start.score, end.score);
	assert_int_equal(strmatch_align(&problem->scoring, n, query, m, subject, &steps, &nsteps),
	                 0);
	assert_int_equal(strmatch_score(&problem->scoring, query, subject, steps, nsteps),
	                 end.score);
	for (size_t s = 0; s < nsteps; s++) {
		assert_true(steps[s].length > 0);
		i += steps[s].kind == STRMATCH_SUBJECT ? 0 : steps[s].length;
		j += steps[s].kind == STRMATCH_QUERY ? 0 : steps[s].length;
	}
	assert_int_equal(i, n);
	assert_int_equal(j, m);
	free(steps);
}

static void test_alignments(void **state)
{
	static struct problem problem;
	static struct matrix matrix;
	unsigned aligned = 0;

	for (int trial = 0; trial < 300; trial++) {
		struct strmatch_best end;

		make_problem(&problem, trial % 10 ? 80 : LONGEST);
		problem.floor = 0;
		compute_whole(&problem, &matrix);
		end = strmatch_best(problem.n, matrix.rows);
		if (!end.score)
			continue;
		check_alignment(&problem, end);
		aligned++;
	}
	assert_true(aligned > 100);
}

/* Example of a protein alignment that one can do by hand: a gap of two letters. */
static void test_example(void **state)
{
	static const char *const query = "HEAGAWGHEE", *const subject = "PAWHEAE";
	struct problem problem = {.alphabet = STRMATCH_PROTEIN, .n = 10, .m = 7};
	static struct matrix matrix;
	struct strmatch_best end;

	for (size_t i = 0; i < problem.n; i++)
		problem.query[i] = strmatch_letter(STRMATCH_PROTEIN, query[i]);
	for (size_t j = 0; j < problem.m; j++)
		problem.subject[j] = strmatch_letter(STRMATCH_PROTEIN, subject[j]);
	strmatch_scores_blosum62(&problem.scoring);
	problem.scoring.open = problem.scoring.extend = 8;
	compute_whole(&problem, &matrix);
	end = strmatch_best(problem.n, matrix.rows);
	/* AWGHE with AW-HE: 4 + 11 - 8 + 8 + 5. */
	assert_int_equal(end.score, 20);
	assert_int_equal(end.row, 8);
	assert_int_equal(end.column, 4);
	check_alignment(&problem, end);
}

static void test_letters(void **state)
{
	assert_int_equal(strmatch_letter(STRMATCH_DNA, 'a'), strmatch_letter(STRMATCH_DNA, 'A'));
	assert_int_equal(strmatch_letter(STRMATCH_DNA, 'u'), strmatch_letter(STRMATCH_DNA, 'T'));
	assert_int_equal(strmatch_letter(STRMATCH_DNA, 'E'), -1);
	assert_int_equal(strmatch_letter(STRMATCH_DNA, '\0'), -1);
	assert_int_equal(strmatch_letter(STRMATCH_PROTEIN, 'J'), -1);
	assert_int_equal(strmatch_letter(STRMATCH_PROTEIN, '\0'), -1);
	for (int letter = 0; letter < 24; letter++)
		assert_int_equal(
		    strmatch_letter(STRMATCH_PROTEIN, strmatch_name(STRMATCH_PROTEIN, letter)),
		    letter);
}

#ifdef HEDDLE_HAVE_PARASAIL
static void test_blosum62_of_parasail(void **state)
{
	struct strmatch_scoring scoring;

	strmatch_scores_blosum62(&scoring);
	for (int i = 0; i < 24; i++)
		for (int j = 0; j < 24; j++) {
			int a = parasail_blosum62.mapper[(int)strmatch_name(STRMATCH_PROTEIN, i)];
			int b = parasail_blosum62.mapper[(int)strmatch_name(STRMATCH_PROTEIN, j)];

			assert_int_equal(scoring.scores[i][j],
			                 parasail_blosum62.matrix[a * parasail_blosum62.size + b]);
		}
}

static int parasail_score(const struct problem *problem)
{
	parasail_matrix_t *own = NULL;
	char query[LONGEST], subject[LONGEST];
	parasail_result_t *result;
	int score;

	for (size_t i = 0; i < problem->n; i++)
		query[i] = strmatch_name(problem->alphabet, problem->query[i]);
	for (size_t j = 0; j < problem->m; j++)
		subject[j] = strmatch_name(problem->alphabet, problem->subject[j]);
	if (problem->match)
		own = parasail_matrix_create(
		    problem->alphabet == STRMATCH_DNA ? "ACGT" : "ARNDCQEGHILKMFPSTWYVBZX",
		    problem->match, problem->mismatch);
	result = parasail_sw_scan_16(query, problem->n, subject, problem->m, problem->scoring.open,
	                             problem->scoring.extend, own ? own : &parasail_blosum62);
	score = parasail_result_is_saturated(result) ? -1 : parasail_result_get_score(result);
	parasail_result_free(result);
	if (own)
		parasail_matrix_free(own);
	return score;
}

static void test_scores_of_parasail(void **state)
{
	static struct problem problem;
	static struct matrix matrix;

	for (int trial = 0; trial < 200; trial++) {
		make_problem(&problem, LONGEST);
		problem.floor = 0;
		/* What its matrices say of letters beyond their alphabet is its own matter. */
		for (size_t i = 0; i < problem.n; i++)
			problem.query[i] %= problem.alphabet == STRMATCH_DNA ? 4 : 20;
		for (size_t j = 0; j < problem.m; j++)
			problem.subject[j] %= problem.alphabet == STRMATCH_DNA ? 4 : 20;
		compute_tiles(codelet_isa_best(), &problem, &matrix);
		assert_int_equal(strmatch_best(problem.n, matrix.rows).score,
		                 parasail_score(&problem));
	}
}
#else
static void test_blosum62_of_parasail(void **state)
{
	skip();
}

static void test_scores_of_parasail(void **state)
{
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_letters),
	    cmocka_unit_test(test_definition),
	    cmocka_unit_test(test_tiles),
	    cmocka_unit_test(test_example),
	    cmocka_unit_test(test_alignments),
	    cmocka_unit_test(test_blosum62_of_parasail),
	    cmocka_unit_test(test_scores_of_parasail),
	};
	unsigned seed = test_seed();

	srand(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
