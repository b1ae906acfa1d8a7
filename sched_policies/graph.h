/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is ahead in a task graph that grows while it runs: for each task the longest path from its
 * end to the end of all, each task on it counted with its shortest time (the upward rank of
 * Topcuoglu, Hariri, Wu, "Performance-effective and low-complexity task scheduling for
 * heterogeneous computing", IEEE TPDS 2002, section 4.2, with least instead of mean times), and how
 * many tasks of each type there are. Asked about a task that is ready, it visits what depends on
 * that task, and remembers. It looks again when the graph has grown by a quarter or times have
 * changed, a few times for each task on average: so all visits together cost a few times the size
 * of the graph. A long visit may be cut into pieces, which cost more together. Pure and not
 * synchronised.
 */
#ifndef HEDDLE_SCHED_POLICIES_GRAPH_H
#define HEDDLE_SCHED_POLICIES_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "sched_policies/area.h"

/** Task types that are counted. */
#define HEDDLE_GRAPH_TYPES 64

struct heddle_graph;

/** How to look at a task. */
struct heddle_graph_source {
	/** The tasks that depend on it directly, as many as there is room for.
	 * @return how many there were written */
	size_t (*successors)(void *task, size_t room, void **found);
	/** Times on each class, us; 0: none.
	 * @return the number of its type; 0: none */
	unsigned long (*times)(void *task, double us[HEDDLE_POOL_CLASSES], void *arg);
	/** Asked before tasks are visited, and now and then meanwhile: whether that has taken long
	 * enough. Then what is known stands for the rest, which later questions visit. Who has
	 * begun visits all that depends on one task at least. NULL: never. */
	bool (*is_long)(void *arg);
	void *arg;
};

/** @return 0; -ENOMEM */
int heddle_graph_create(const struct heddle_graph_source *source, struct heddle_graph **graph);

/** NULL is allowed. */
void heddle_graph_destroy(struct heddle_graph *graph);

/** Forgets all tasks: from now on nobody says which of them start. */
void heddle_graph_forget(struct heddle_graph *graph);

/** The longest path from a task's end to the end of all, us. None of the tasks that depend on it
 * may end meanwhile. 0 where there is no memory to find out.
 * @param size of the graph: tasks that were ever submitted */
double heddle_graph_after_us(struct heddle_graph *graph, void *task, uint64_t size);

/** Times have changed: it looks at tasks again, a few with each question.
 * @param all as many with a question as it concerns */
void heddle_graph_changed(struct heddle_graph *graph, bool all);

/** A task was started: it does not count any more, and its address may become another task's. Where
 * nobody says so for a task, the next one at its address is taken for it until it is visited anew.
 */
void heddle_graph_started(struct heddle_graph *graph, const void *task);

/** Types of the tasks that were visited and have not started.
 * @return how many */
size_t heddle_graph_types(const struct heddle_graph *graph, const struct heddle_area_type **types);

/** Their numbers. */
const unsigned long *heddle_graph_type_numbers(const struct heddle_graph *graph);

#endif
