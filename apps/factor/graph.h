/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tasks of a tiled, right-looking factorisation: their order, their tiles, and how far each is
 * from the end. No StarPU.
 */
#ifndef APPS_FACTOR_GRAPH_H
#define APPS_FACTOR_GRAPH_H

#include <stdbool.h>

#include "codelets/factor/factor.h"

enum graph_kind { GRAPH_CHOLESKY, GRAPH_LU };

struct graph_place {
	unsigned row, column;
};

/** A task, which writes one tile. */
struct graph_task {
	enum factor_op op;
	unsigned step; /**< of the factorisation: the tile on the diagonal that it belongs to */
	struct graph_place written;
};

/** Whether the tasks of a factorisation are of this operation, if it has tiles enough. */
static inline bool graph_has(enum graph_kind kind, enum factor_op op)
{
	return (op >= FACTOR_GETRF) == (kind == GRAPH_LU);
}

/** Calls a function for each task, in an order in which they can run one by one.
 * @param tiles in a row and a column of the matrix
 * @return 0, or what the function returned first other than 0 */
int graph_each(enum graph_kind kind, unsigned tiles,
               int (*visit)(void *arg, const struct graph_task *task), void *arg);

/** The tiles of a task in the order of its operation, the written one last. @return their number */
unsigned graph_places(const struct graph_task *task, struct graph_place places[FACTOR_MAXTILES]);

/** The most tasks that must run one after the other once the task is done. */
unsigned graph_distance(unsigned tiles, const struct graph_task *task);

#endif
