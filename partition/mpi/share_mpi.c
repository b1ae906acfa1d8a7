/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rank 0: who gets which iterations, and when all is over.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/common/workers_starpu.h"
#include "partition/mpi/node_private.h"
#include "support/message.h"
#include "support/variables.h"

/* The longest array that is distributed says where iterations are at home.
 * @param[out] homes nranks + 1 entries
 * @return whether there is one */
static bool homes_find(const struct node *node, size_t *homes)
{
	const struct node_array *longest = NULL;
	size_t per;

	for (unsigned i = 0; i < node->narrays; i++) {
		const struct node_array *array = &node->arrays[i];

		if (array->place.layout == HEDDLE_MPI_BLOCKS &&
		    (!longest || array->agreed.units * node_array_unit(array) >
		                     longest->agreed.units * node_array_unit(longest)))
			longest = array;
	}
	if (!longest)
		return false;
	per = longest->access.per_iteration ? longest->access.per_iteration : 1;
	for (unsigned r = 0; r <= node->nranks; r++) {
		homes[r] = longest->layout.first[r] / per;
		if (homes[r] > node->loop->n || r == node->nranks)
			homes[r] = node->loop->n;
	}
	return true;
}

static size_t iteration_bytes(const struct node *node)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < node->narrays; i++) {
		const struct node_array *array = &node->arrays[i];
		size_t per = array->access.per_iteration ? array->access.per_iteration : 1;
		unsigned ways =
		    !!(array->access.mode & STARPU_R) + !!(array->access.mode & STARPU_W);

		if (!node_array_shared(array))
			bytes += ways * per * node_array_unit(array);
	}
	return bytes;
}

/* Whether what iterations at home read is at home, but for the rows that windows at its edges
 * reach. */
static bool data_at_hand(const struct node *node)
{
	for (unsigned i = 0; i < node->narrays; i++) {
		const struct node_array *array = &node->arrays[i];

		if (!node_array_shared(array) && array->access.mode & STARPU_R &&
		    array->place.layout == HEDDLE_MPI_ON_RANK)
			return false;
	}
	return true;
}

/* Whether a rank that computes what it has the data of, gets and sends nothing, but for rows that
 * windows reach. */
static bool stays_at_home(const struct node *node, const size_t *homes)
{
	for (unsigned i = 0; i < node->narrays; i++) {
		const struct node_array *array = &node->arrays[i];
		size_t per = array->access.per_iteration ? array->access.per_iteration : 1;

		if (node_array_shared(array) || (array->place.layout == HEDDLE_MPI_EVERYWHERE &&
		                                 array->access.mode == STARPU_R))
			continue;
		if (array->place.layout != HEDDLE_MPI_BLOCKS || !homes)
			return false;
		for (unsigned r = 1; r < node->nranks; r++)
			if (array->layout.first[r] != homes[r] * per)
				return false;
	}
	return true;
}

/* Whether workers get blocks while the loop runs. A policy of StarPU's has all tasks at once, and
 * nothing is left that others could steal. */
static bool gives_up(const struct node *node)
{
	const char *strategy = work_strategy(node->loop->strategy, node->loop->sched_ctx);

	return strategy && strcmp(strategy, "tasks");
}

/* What earlier runs of the loop on this communicator have told of the ranks. */
static struct blocks_memory **memory_of(struct node *node)
{
	return (struct blocks_memory **)mpi_link_keeps(node->link, node->name, node->loop->n);
}

/* What messages took then. It has the name and length of the loop, too.
 * @return NULL: no memory */
static struct node_memory *messages_of(struct node *node)
{
	struct node_memory **memory =
	    (struct node_memory **)mpi_link_keeps(node->link, node->name, ~node->loop->n);

	if (memory && !*memory)
		*memory = calloc(1, sizeof(**memory) + node->nranks * sizeof((*memory)->paces[0]));
	return memory ? *memory : NULL;
}

bool node_share_steals(const struct node *node)
{
	return !strcmp(heddle_variable_text(HEDDLE_VARIABLE_NODE_STRATEGY), "steal") &&
	       gives_up(node);
}

static void steals_begin(struct node *node, const struct mpi_claims_problem *of)
{
	struct mpi_steals_problem problem = {
	    .n = of->n,
	    .nranks = of->nranks,
	    .alignment = of->alignment,
	    .homes = of->homes,
	    .bytes = of->bytes,
	};

	node->home = mpi_steals_home(&problem, node->rank);
	if (node->rank)
		return;
	problem.moved = &node->memory->moved;
	problem.ranges = &node->memory->ranges;
	problem.answers = &node->memory->answers;
	problem.paces = node->memory->paces;
	node->share.steals = mpi_steals_create(&problem);
	if (!node->share.steals)
		mpi_link_abort(node->link, "no memory for %u ranks", node->nranks);
}

/* Ranks take what loops take, but steal instead of tasks. */
static int strategy_check(const char *given)
{
	const struct heddle_strategy_info *const *known = heddle_strategies();
	size_t length = strcspn(given, ":"), used = 0;
	char names[512] = "";

	for (; *known && used < sizeof(names); known++) {
		if (strlen((*known)->name) == length && !strncmp((*known)->name, given, length))
			return 0;
		used += snprintf(names + used, sizeof(names) - used, " %s", (*known)->name);
	}
	if (!strncmp(given, "steal:", length + 1))
		return heddle_refuse(-EINVAL, "HEDDLE_NODE_STRATEGY=%s: steal has no parameters",
		                     given);
	return heddle_refuse(-EINVAL,
	                     "HEDDLE_NODE_STRATEGY: \"%.*s\" is not a block strategy, or steal. "
	                     "There are steal%s",
	                     (int)length, given, names);
}

static int claims_begin(struct node *node, struct mpi_claims_problem *problem)
{
	struct blocks_memory **memory;
	int status = 0;

	if (!strcmp(problem->strategy, "steal"))
		problem->strategy = "hdss";
	else
		status = strategy_check(problem->strategy);
	if (status)
		return status;
	problem->moved = &node->memory->moved;
	memory = memory_of(node);
	if (memory)
		problem->memory = *memory;
	status = mpi_claims_create(problem, &node->share.claims);
	/* A parameter is wrong, which a message has said. */
	if (status == -EINVAL)
		heddle_refuse(status, "HEDDLE_NODE_STRATEGY=%s cannot be used", problem->strategy);
	return status;
}

int node_share_begin(struct node *node)
{
	struct mpi_claims_problem problem = {
	    .strategy = heddle_variable_text(HEDDLE_VARIABLE_NODE_STRATEGY),
	    .n = node->loop->n,
	    .nranks = node->nranks,
	    .alignment = node->loop->alignment,
	    .at_hand = data_at_hand(node),
	    .bytes = iteration_bytes(node),
	};
	size_t *homes = calloc(node->nranks + 1, sizeof(*homes));
	int status = 0;

	if (!node->rank) {
		node->share.asked_us = calloc(node->nranks, sizeof(*node->share.asked_us));
	}
	node->memory = messages_of(node);
	if (!homes || !node->memory || (!node->rank && !node->share.asked_us))
		mpi_link_abort(node->link, "no memory for %u ranks", node->nranks);
	if (homes_find(node, homes))
		problem.homes = homes;
	node->steals = node->steals && stays_at_home(node, problem.homes);
	if (node->steals)
		steals_begin(node, &problem);
	else if (!node->rank)
		status = claims_begin(node, &problem);
	free(homes);
	return status;
}

void node_share_run(struct node *node)
{
	if (node->share.steals)
		mpi_steals_begin(node->share.steals, node->begin_us);
}

void node_share_end(struct node *node)
{
	bool over =
	    node->share.claims && mpi_claims_over(node->share.claims) && !node->share.status;
	struct blocks_memory **memory = over ? memory_of(node) : NULL;

	/* A run that told nothing leaves what was known. */
	if (memory)
		(void)mpi_claims_learn(node->share.claims, memory);
	mpi_claims_destroy(node->share.claims);
	mpi_steals_destroy(node->share.steals);
	free(node->share.asked_us);
}

/* Where ranks steal, results are at home then, too. */
static bool share_over(const struct node_share *share)
{
	return share->steals ? mpi_steals_over(share->steals) && !share->abroad
	                     : mpi_claims_over(share->claims);
}

/* Of a rank that waited for a range when all had ended: its answer is the last that it tells. */
#define OWES_ANSWER -1

static void tell_all(struct node *node, const struct mpi_message *message)
{
	for (unsigned r = 0; r < node->nranks; r++)
		mpi_link_tell(node->link, r, message);
}

static void grant(struct node *node, unsigned rank, const struct mpi_range *range)
{
	mpi_link_tell(
	    node->link, rank,
	    &(struct mpi_message){.type = NODE_GRANT,
	                          .rank = range->home,
	                          .first = range->start,
	                          .n = range->n,
	                          .us = starpu_timing_now() - node->share.asked_us[rank]});
	node->share.asked_us[rank] = 0;
}

static void claims_serve(struct node *node)
{
	struct node_share *share = &node->share;
	struct mpi_range range;

	for (unsigned r = 0; r < node->nranks; r++)
		if (share->asked_us[r] && mpi_claims_next(share->claims, r, &range))
			grant(node, r, &range);
}

static void steals_serve(struct node *node)
{
	struct mpi_steals *steals = node->share.steals;
	struct mpi_steal steal;
	unsigned rank;

	while (mpi_steals_next(steals, starpu_timing_now(), &steal))
		mpi_link_tell(node->link, steal.victim,
		              &(struct mpi_message){.type = NODE_GIVE_UP,
		                                    .rank = steal.thief,
		                                    .first = steal.of,
		                                    .n = steal.n,
		                                    .us = starpu_timing_now() -
		                                          node->share.asked_us[steal.thief]});
	while (mpi_steals_early(steals, starpu_timing_now(), &rank))
		mpi_link_tell(node->link, rank, &(struct mpi_message){.type = NODE_EARLY});
}

/* A rank that has asked for more has nothing to tell after that, but what it gives up: all is
 * completed. */
static void tell_end(struct node *node)
{
	struct node_share *share = &node->share;

	for (unsigned r = 0; r < node->nranks; r++) {
		bool quiet = share->settled && r && share->asked_us[r] > 0;

		if (quiet && mpi_steals_asked(share->steals, r))
			share->asked_us[r] = OWES_ANSWER;
		else
			share->byes += quiet;
		mpi_link_tell(
		    node->link, r,
		    &(struct mpi_message){.type = NODE_END, .array = share->settled, .n = quiet});
	}
}

/* Gives ranges to those that wait for one, or the end. */
static void share_serve(struct node *node)
{
	struct node_share *share = &node->share;

	if (share->ended)
		return;
	if (share->status || share_over(share)) {
		share->ended = true;
		share->settled = share->steals && !share->status;
		tell_end(node);
		return;
	}
	if (share->steals)
		steals_serve(node);
	else
		claims_serve(node);
}

void node_share_ask(struct node *node, unsigned rank)
{
	double now = starpu_timing_now();

	if (node->share.ended)
		return;
	node->share.asked_us[rank] = now;
	if (node->share.steals)
		mpi_steals_ask(node->share.steals, rank, now);
	node->share.heard = true;
}

void node_share_completed(struct node *node, unsigned rank, const struct mpi_message *message)
{
	if (message->status && !node->share.status) {
		node->share.status = message->status;
		node->share.failed = rank;
	}
	if (node->share.steals)
		node->share.abroad += message->first;
	if (node->share.steals && message->array)
		mpi_steals_completed_edge(node->share.steals, message->n);
	else if (node->share.steals)
		mpi_steals_completed(node->share.steals, rank, message->n, message->us,
		                     starpu_timing_now());
	else
		mpi_claims_completed(node->share.claims, rank,
		                     &(struct mpi_range){message->first, message->n, message->rank},
		                     message->us);
	node->share.heard = true;
}

/* Time alone may tell that a rank is slow: so much later than anything else was heard, or this part
 * of that. */
#define LOOK_US 200
#define LOOKS 8

void node_share_look(struct node *node)
{
	struct node_share *share = &node->share;
	double now = share->steals ? starpu_timing_now() : 0;

	if (!share->heard && (!share->steals || now - share->looked_us < LOOK_US))
		return;
	if (share->heard)
		share->heard_us = now;
	share->heard = false;
	share->looked_us = now;
	share_serve(node);
}

double node_share_look_us(const struct node *node)
{
	const struct node_share *share = &node->share;

	if (!share->steals || share->ended || !mpi_link_is_rung(node->link))
		return HUGE_VAL;
	for (unsigned r = 0; r < node->nranks; r++)
		if (share->asked_us[r] > 0)
			return fmax(LOOK_US, (share->looked_us - share->heard_us) / LOOKS);
	return HUGE_VAL;
}

void node_share_progress(struct node *node, unsigned rank, const struct mpi_message *message)
{
	mpi_steals_progress(node->share.steals, rank,
	                    (struct mpi_progress){message->n, message->us}, starpu_timing_now());
	node->share.heard = true;
}

void node_share_given(struct node *node, unsigned rank, const struct mpi_message *message)
{
	mpi_steals_given(node->share.steals, rank, message->n, starpu_timing_now());
	node->share.asked_us[rank] = 0;
	node->share.heard = true;
}

void node_share_kept(struct node *node, unsigned rank, const struct mpi_message *message)
{
	struct node_share *share = &node->share;

	mpi_steals_kept(share->steals, message->rank);
	if (share->asked_us[rank] == OWES_ANSWER && !mpi_steals_asked(share->steals, rank))
		node_share_bye(node);
	share->heard = true;
}

void node_share_moved(struct node *node, const struct mpi_message *message)
{
	if (!node->share.steals) {
		mpi_claims_moved(node->share.claims, message->n, message->us);
		return;
	}
	if (message->n)
		mpi_steals_moved(node->share.steals, message->n, message->us);
	/* It may be heard of before their range is. */
	node->share.abroad--;
	node->share.heard = true;
}

void node_share_bye(struct node *node)
{
	if (++node->share.byes < node->nranks)
		return;
	if (node->share.settled)
		node->done = true;
	else
		tell_all(node, &(struct mpi_message){.type = NODE_DONE,
		                                     .status = node->share.status,
		                                     .rank = node->share.failed});
}
