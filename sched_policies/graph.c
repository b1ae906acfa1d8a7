/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sched_policies/graph.h"

/* For each task that becomes ready, so many are visited anew, on average. Each is visited once in
 * any case. */
#define AGAIN 1
/* Tasks that are visited between two looks at how long that takes. */
#define VISITS 16

/* Not all that depends on a task was visited. */
#define PARTIAL 1

/* A task that was visited: in a hash table with open addressing. */
struct node {
	const void *task;
	/* Size of the graph at the last visit, and 1; PARTIAL; 0: the place is free. */
	uint64_t seen;
	double after_us;
	double us;              /* its own time */
	int type;               /* -1: none */
	unsigned changes;       /* of times before the last visit */
	unsigned long question; /* that it was visited for */
};

/* A task that is being visited. */
struct frame {
	const void *task;
	size_t first, next, last; /* its successors */
	double after_us;
	bool partial; /* not all that depends on it was visited */
};

struct heddle_graph {
	struct heddle_graph_source source;
	struct node *nodes;
	size_t room, n; /* room: a power of two */
	struct frame *frames;
	size_t frames_room;
	void **successors;
	size_t successors_room;
	size_t credit;  /* tasks that may be visited anew */
	double last_us; /* the last answer that was more than 0, and whole */
	unsigned changes;
	unsigned long questions;
	size_t ntypes;
	unsigned long ids[HEDDLE_GRAPH_TYPES];
	struct heddle_area_type types[HEDDLE_GRAPH_TYPES];
};

int heddle_graph_create(const struct heddle_graph_source *source, struct heddle_graph **graph)
{
	struct heddle_graph *created = calloc(1, sizeof(*created));

	if (!created)
		return -ENOMEM;
	created->source = *source;
	*graph = created;
	return 0;
}

void heddle_graph_destroy(struct heddle_graph *graph)
{
	if (!graph)
		return;
	free(graph->nodes);
	free(graph->frames);
	free(graph->successors);
	free(graph);
}

void heddle_graph_forget(struct heddle_graph *graph)
{
	for (size_t i = 0; i < graph->room; i++)
		graph->nodes[i].seen = 0;
	graph->n = graph->ntypes = graph->credit = 0;
	graph->last_us = 0;
}

/* ---- the table of nodes ---- */

static size_t place_of(const struct heddle_graph *graph, const void *task)
{
	return ((uintptr_t)task * 0x9e3779b97f4a7c15u >> 20) & (graph->room - 1);
}

/* The place of a node, taken or free; there is always a free one. */
static size_t node_find(const struct heddle_graph *graph, const void *task)
{
	size_t i = place_of(graph, task);

	while (graph->nodes[i].seen && graph->nodes[i].task != task)
		i = (i + 1) & (graph->room - 1);
	return i;
}

static int nodes_grow(struct heddle_graph *graph)
{
	struct heddle_graph grown = *graph;

	if (2 * (graph->n + 1) <= graph->room)
		return 0;
	grown.room = graph->room ? 2 * graph->room : 256;
	grown.nodes = calloc(grown.room, sizeof(*grown.nodes));
	if (!grown.nodes)
		return -ENOMEM;
	for (size_t i = 0; i < graph->room; i++)
		if (graph->nodes[i].seen)
			grown.nodes[node_find(&grown, graph->nodes[i].task)] = graph->nodes[i];
	free(graph->nodes);
	graph->nodes = grown.nodes;
	graph->room = grown.room;
	return 0;
}

/* Frees a place. Nodes behind it that would not be found any more move up. */
static void node_remove(struct heddle_graph *graph, size_t hole)
{
	size_t mask = graph->room - 1;

	for (size_t i = (hole + 1) & mask; graph->nodes[i].seen; i = (i + 1) & mask) {
		size_t home = place_of(graph, graph->nodes[i].task);

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		graph->nodes[hole] = graph->nodes[i];
		hole = i;
	}
	graph->nodes[hole].seen = 0;
	graph->n--;
}

/* ---- types ---- */

/* Of a type of which all tasks have started, the place goes to another one.
 * @return the type's place; -1: no room */
static int type_find(struct heddle_graph *graph, unsigned long id)
{
	size_t i = 0, left = graph->ntypes;

	while (i < graph->ntypes && graph->ids[i] != id) {
		if (graph->types[i].count <= 0)
			left = i;
		i++;
	}
	if (i < graph->ntypes)
		return i;
	if (i == HEDDLE_GRAPH_TYPES)
		i = left;
	if (i == HEDDLE_GRAPH_TYPES)
		return -1;
	graph->ids[i] = id;
	graph->types[i] = (struct heddle_area_type){0};
	graph->ntypes += i == graph->ntypes;
	return i;
}

size_t heddle_graph_types(const struct heddle_graph *graph, const struct heddle_area_type **types)
{
	*types = graph->types;
	return graph->ntypes;
}

const unsigned long *heddle_graph_type_numbers(const struct heddle_graph *graph)
{
	return graph->ids;
}

/* ---- visits ---- */

/* Looks at a task: its type and its own time. */
static void node_learn(struct heddle_graph *graph, struct node *node, void *task)
{
	double us[HEDDLE_POOL_CLASSES] = {0}, least = INFINITY;
	unsigned long id = graph->source.times(task, us, graph->source.arg);
	int type = id ? type_find(graph, id) : -1;

	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		least = us[k] > 0 && us[k] < least ? us[k] : least;
	/* Where nothing is known, ranks count tasks. */
	node->us = isinf(least) ? 1 : least;
	if (type >= 0)
		memcpy(graph->types[type].us, us, sizeof(us));
	if (type == node->type)
		return;
	if (node->type >= 0)
		graph->types[node->type].count--;
	if (type >= 0)
		graph->types[type].count++;
	node->type = type;
}

/* Whether what was seen of a task still holds, or has to. Many paths may lead to a task: for one
 * question it is visited once, whole or not. */
static bool is_fresh(const struct heddle_graph *graph, const struct node *node, uint64_t size)
{
	return node->seen && (!graph->credit || node->question == graph->questions ||
	                      (node->seen != PARTIAL && node->changes == graph->changes &&
	                       node->seen - 1 + (node->seen >> 2) + 16 >= size));
}

/* Reads a task's successors behind those of the frames before. */
static int successors_read(struct heddle_graph *graph, void *task, size_t first, size_t *last)
{
	for (;;) {
		size_t room = graph->successors_room - first, n = 0;
		void **grown;

		if (room)
			n = graph->source.successors(task, room, graph->successors + first);
		*last = first + n;
		if (n < room)
			return 0;
		room = graph->successors_room ? 2 * graph->successors_room : 1024;
		grown = realloc(graph->successors, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		graph->successors = grown;
		graph->successors_room = room;
	}
}

/* Begins to visit a task. @return 0; -ENOMEM */
static int frame_push(struct heddle_graph *graph, size_t depth, void *task, uint64_t size)
{
	struct frame *frame;
	struct node *node;

	if (depth == graph->frames_room) {
		size_t room = depth ? 2 * depth : 64;
		struct frame *grown = realloc(graph->frames, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		graph->frames = grown;
		graph->frames_room = room;
	}
	if (nodes_grow(graph))
		return -ENOMEM;
	frame = &graph->frames[depth];
	frame->task = task;
	frame->after_us = 0;
	frame->partial = false;
	frame->first = frame->next = depth ? graph->frames[depth - 1].last : 0;
	if (successors_read(graph, task, frame->first, &frame->last))
		return -ENOMEM;
	node = &graph->nodes[node_find(graph, task)];
	if (!node->seen) {
		*node = (struct node){.task = task, .type = -1};
		graph->n++;
	} else if (graph->credit) {
		graph->credit--;
	}
	node->seen = size + 1;
	node->changes = graph->changes;
	node->question = graph->questions;
	node_learn(graph, node, task);
	return 0;
}

/* What is known of the path from a task on that is not visited now. */
static double stale_us(const struct heddle_graph *graph, const struct node *node)
{
	return node->seen ? node->us + node->after_us : graph->last_us;
}

/* The visit of a task has ended. What was left out is looked at again. */
static double frame_pop(struct heddle_graph *graph, size_t depth)
{
	const struct frame *frame = &graph->frames[depth];
	struct node *node = &graph->nodes[node_find(graph, frame->task)];

	node->after_us = frame->after_us;
	if (frame->partial) {
		node->seen = PARTIAL;
		graph->credit++;
	}
	if (depth)
		graph->frames[depth - 1].partial |= frame->partial;
	return node->after_us;
}

static bool asks_is_long(const struct heddle_graph *graph)
{
	return graph->source.is_long && graph->source.is_long(graph->source.arg);
}

/* Visits a task and what depends on it. Who has begun goes on until all that depends on one task
 * was visited: else a deep graph would be begun again and again. */
static double visit(struct heddle_graph *graph, void *task, uint64_t size)
{
	size_t depth = 0, visits = 0, whole = 0;
	bool is_long = asks_is_long(graph);

	if (frame_push(graph, depth, task, size))
		return 0;
	for (;;) {
		struct frame *frame = &graph->frames[depth];
		const struct node *node;

		if (frame->next == frame->last) {
			double us = frame_pop(graph, depth);

			whole += !frame->partial;
			if (!depth--)
				return us;
			continue;
		}
		node = &graph->nodes[node_find(graph, graph->successors[frame->next])];
		if (is_fresh(graph, node, size)) {
			frame->after_us = fmax(frame->after_us, node->us + node->after_us);
			frame->partial |= node->seen == PARTIAL;
			frame->next++;
			continue;
		}
		if (whole && ++visits % VISITS == 0)
			is_long |= asks_is_long(graph);
		if (is_long) {
			frame->after_us = fmax(frame->after_us, stale_us(graph, node));
			frame->partial = true;
			frame->next++;
		} else if (frame_push(graph, depth + 1, graph->successors[frame->next], size)) {
			graph->frames[depth].next++; /* they may have moved */
		} else {
			depth++;
		}
	}
}

double heddle_graph_after_us(struct heddle_graph *graph, void *task, uint64_t size)
{
	double us;

	graph->questions++;
	graph->credit += AGAIN;
	if (graph->room) {
		const struct node *node = &graph->nodes[node_find(graph, task)];

		if (is_fresh(graph, node, size))
			return node->after_us;
	}
	us = visit(graph, task, size);
	/* Answers that come from this one would grow with each question. */
	if (us > 0 && graph->nodes[node_find(graph, task)].seen != PARTIAL)
		graph->last_us = us;
	return us;
}

void heddle_graph_changed(struct heddle_graph *graph, bool all)
{
	graph->changes++;
	if (all)
		graph->credit += graph->n;
}

void heddle_graph_started(struct heddle_graph *graph, const void *task)
{
	size_t i = graph->room ? node_find(graph, task) : 0;

	if (!graph->room || !graph->nodes[i].seen)
		return;
	if (graph->nodes[i].type >= 0)
		graph->types[graph->nodes[i].type].count--;
	node_remove(graph, i);
}
