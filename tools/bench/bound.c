/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The area bound as a linear programme. Variables: the part of each type that each class does,
 * and the time. Constraints: each type is done; no class works longer than the time.
 */
#include "config.h"

#include <stddef.h>
#ifdef HEDDLE_HAVE_GLPK
#include <glpk.h>
#endif

#include "tools/bench/bound.h"

#ifdef HEDDLE_HAVE_GLPK

/* GLPK counts rows and columns from 1: classes before types; the time is the last column. */
static int class_row(unsigned class)
{
	return 1 + class;
}

static int type_row(const struct bound_problem *problem, unsigned type)
{
	return 1 + problem->nclasses + type;
}

static double entry_us(const struct bound_problem *problem, unsigned type, unsigned class)
{
	return problem->us[type * problem->nclasses + class];
}

/* The time of all tasks on one worker each: large enough to scale all others. */
static double unit_us(const struct bound_problem *problem)
{
	double sum = 0;

	for (unsigned t = 0; t < problem->ntypes; t++) {
		double least = 0;

		for (unsigned c = 0; c < problem->nclasses; c++) {
			double us = entry_us(problem, t, c);

			if (us > 0 && (least <= 0 || us < least))
				least = us;
		}
		if (least <= 0)
			return 0;
		sum += problem->tasks[t] * least;
	}
	return sum;
}

static void part_add(glp_prob *lp, const struct bound_problem *problem, unsigned type,
                     unsigned class, double unit)
{
	int column = glp_add_cols(lp, 1), rows[3];
	double values[3];

	rows[1] = class_row(class);
	values[1] = problem->tasks[type] * entry_us(problem, type, class) / unit;
	rows[2] = type_row(problem, type);
	values[2] = 1;
	glp_set_col_bnds(lp, column, GLP_LO, 0, 0);
	glp_set_mat_col(lp, column, 2, rows, values);
}

static void time_add(glp_prob *lp, const struct bound_problem *problem)
{
	int column = glp_add_cols(lp, 1);

	glp_set_col_bnds(lp, column, GLP_LO, 0, 0);
	glp_set_obj_coef(lp, column, 1);
	for (unsigned c = 0; c < problem->nclasses; c++) {
		int columns[problem->ntypes + 2], length;
		double values[problem->ntypes + 2];

		length = glp_get_mat_row(lp, class_row(c), columns, values);
		columns[++length] = column;
		values[length] = -problem->workers[c];
		glp_set_mat_row(lp, class_row(c), length, columns, values);
	}
}

double bound_area_us(const struct bound_problem *problem)
{
	double unit = unit_us(problem), bound = 0;
	glp_prob *lp;

	if (unit <= 0)
		return 0;
	lp = glp_create_prob();
	glp_term_out(GLP_OFF);
	glp_add_rows(lp, problem->nclasses + problem->ntypes);
	for (unsigned c = 0; c < problem->nclasses; c++)
		glp_set_row_bnds(lp, class_row(c), GLP_UP, 0, 0);
	for (unsigned t = 0; t < problem->ntypes; t++)
		glp_set_row_bnds(lp, type_row(problem, t), GLP_FX, 1, 1);
	for (unsigned t = 0; t < problem->ntypes; t++)
		for (unsigned c = 0; c < problem->nclasses; c++)
			if (entry_us(problem, t, c) > 0)
				part_add(lp, problem, t, c, unit);
	time_add(lp, problem);
	if (!glp_simplex(lp, NULL) && glp_get_status(lp) == GLP_OPT)
		bound = glp_get_obj_val(lp) * unit;
	glp_delete_prob(lp);
	glp_free_env();
	return bound;
}

#else

double bound_area_us(const struct bound_problem *problem)
{
	return 0;
}

#endif
