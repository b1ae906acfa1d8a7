/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rank 0: who gets which iterations, and when all is over.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "estimator/block_time.h"
#include "partition/mpi/node_private.h"
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

/* What earlier runs of the loop on this communicator have told of the ranks. */
static struct blocks_memory **memory_of(struct node *node)
{
	return (struct blocks_memory **)mpi_link_keeps(node->link, node->name, node->loop->n);
}

/* What it took then to send iterations. It has the name and length of the loop, too. NULL: no
 * memory. */
static struct heddle_block_time *moved_of(struct node *node)
{
	struct heddle_block_time **moved =
	    (struct heddle_block_time **)mpi_link_keeps(node->link, node->name, ~node->loop->n);

	if (moved && !*moved)
		*moved = calloc(1, sizeof(**moved));
	return moved ? *moved : NULL;
}

int node_share_begin(struct node *node)
{
	struct blocks_memory **memory;
	struct mpi_claims_problem problem = {
	    .strategy = heddle_variable_text(HEDDLE_VARIABLE_NODE_STRATEGY),
	    .n = node->loop->n,
	    .nranks = node->nranks,
	    .alignment = node->loop->alignment,
	    .at_hand = data_at_hand(node),
	    .bytes = iteration_bytes(node),
	};
	size_t *homes;
	int status;

	if (node->rank)
		return 0;
	homes = calloc(node->nranks + 1, sizeof(*homes));
	node->share.asked_us = calloc(node->nranks, sizeof(*node->share.asked_us));
	if (!homes || !node->share.asked_us) {
		free(homes);
		return -ENOMEM;
	}
	if (homes_find(node, homes)) {
		problem.homes = homes;
		problem.moved = moved_of(node);
	}
	memory = memory_of(node);
	if (memory)
		problem.memory = *memory;
	status = mpi_claims_create(&problem, &node->share.claims);
	free(homes);
	return status;
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
	free(node->share.asked_us);
}

static void tell_all(struct node *node, const struct mpi_message *message)
{
	for (unsigned r = 0; r < node->nranks; r++)
		mpi_link_tell(node->link, r, message);
}

/* Gives ranges to those that wait for one, or the end. */
static void share_serve(struct node *node)
{
	struct node_share *share = &node->share;
	struct mpi_range range;

	if (share->ended)
		return;
	if (share->status || mpi_claims_over(share->claims)) {
		share->ended = true;
		tell_all(node, &(struct mpi_message){.type = NODE_END,
		                                     .status = share->status,
		                                     .rank = share->failed});
		return;
	}
	for (unsigned r = 0; r < node->nranks; r++) {
		if (!share->asked_us[r] || !mpi_claims_next(share->claims, r, &range))
			continue;
		mpi_link_tell(
		    node->link, r,
		    &(struct mpi_message){.type = NODE_GRANT,
		                          .rank = range.home,
		                          .first = range.start,
		                          .n = range.n,
		                          .us = starpu_timing_now() - share->asked_us[r]});
		share->asked_us[r] = 0;
	}
}

void node_share_ask(struct node *node, unsigned rank)
{
	node->share.asked_us[rank] = starpu_timing_now();
	share_serve(node);
}

void node_share_completed(struct node *node, unsigned rank, const struct mpi_message *message)
{
	if (message->status && !node->share.status) {
		node->share.status = message->status;
		node->share.failed = rank;
	}
	mpi_claims_completed(node->share.claims, rank,
	                     &(struct mpi_range){message->first, message->n, message->rank},
	                     message->us);
	share_serve(node);
}

void node_share_moved(struct node *node, const struct mpi_message *message)
{
	mpi_claims_moved(node->share.claims, message->n, message->us);
}

void node_share_bye(struct node *node)
{
	if (++node->share.byes == node->nranks)
		tell_all(node, &(struct mpi_message){.type = NODE_DONE,
		                                     .status = node->share.status,
		                                     .rank = node->share.failed});
}
