/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "apps/factor/graph.h"

struct walk {
	enum graph_kind kind;
	unsigned tiles;
	int (*visit)(void *arg, const struct graph_task *task);
	void *arg;
};

static int visit(const struct walk *walk, enum factor_op op, unsigned step, unsigned row,
                 unsigned column)
{
	const struct graph_task task = {op, step, {row, column}};

	return walk->visit(walk->arg, &task);
}

/* The tiles below the diagonal, and with LU those on the right of it. */
static int visit_panel(const struct walk *walk, unsigned k)
{
	bool lu = walk->kind == GRAPH_LU;
	int error = 0;

	for (unsigned i = k + 1; i < walk->tiles && !error; i++) {
		if (lu)
			error = visit(walk, FACTOR_ROW, k, k, i);
		if (!error)
			error = visit(walk, lu ? FACTOR_COLUMN : FACTOR_TRSM, k, i, k);
	}
	return error;
}

static enum factor_op update_of(enum graph_kind kind, unsigned row, unsigned column)
{
	if (kind == GRAPH_LU)
		return FACTOR_UPDATE;
	return row == column ? FACTOR_SYRK : FACTOR_GEMM;
}

/* The rest of the matrix. */
static int visit_updates(const struct walk *walk, unsigned k)
{
	int error = 0;

	for (unsigned j = k + 1; j < walk->tiles; j++)
		for (unsigned i = walk->kind == GRAPH_LU ? k + 1 : j; i < walk->tiles && !error;
		     i++)
			error = visit(walk, update_of(walk->kind, i, j), k, i, j);
	return error;
}

int graph_each(enum graph_kind kind, unsigned tiles,
               int (*function)(void *arg, const struct graph_task *task), void *arg)
{
	const struct walk walk = {kind, tiles, function, arg};
	int error = 0;

	for (unsigned k = 0; k < tiles && !error; k++) {
		error = visit(&walk, kind == GRAPH_LU ? FACTOR_GETRF : FACTOR_POTRF, k, k, k);
		if (!error)
			error = visit_panel(&walk, k);
		if (!error)
			error = visit_updates(&walk, k);
	}
	return error;
}

unsigned graph_places(const struct graph_task *task, struct graph_place places[FACTOR_MAXTILES])
{
	unsigned n = factor_ntiles(task->op), k = task->step;
	struct graph_place to = task->written;

	if (n == 2)
		places[0] = (struct graph_place){k, k};
	if (n == 3) {
		places[0] = (struct graph_place){to.row, k};
		places[1] = task->op == FACTOR_UPDATE ? (struct graph_place){k, to.column}
		                                      : (struct graph_place){to.column, k};
	}
	places[n - 1] = to;
	return n;
}

/* The longest way goes down the diagonal, with three tasks for each tile of it (diagonal, panel,
 * update). A tile that lies m - n tiles beside the diagonal gets there by a panel and an update for
 * each. One that is still updated gets the other updates first, and then its panel's task. */
unsigned graph_distance(unsigned tiles, const struct graph_task *task)
{
	unsigned row = task->written.row, column = task->written.column;
	unsigned m = row > column ? row : column, n = row > column ? column : row;

	return 3 * (tiles - 1 - m) + 2 * (m - n) + (n - task->step);
}
