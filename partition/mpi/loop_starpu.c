/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A loop over ranks from its beginning to its end.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "partition/mpi/node_private.h"
#include "support/message.h"
#include "support/variables.h"

static void node_told(void *arg, unsigned from, const struct mpi_message *message)
{
	struct node *node = arg;

	switch (message->type) {
	case NODE_ASK:
		node_share_ask(node, from);
		return;
	case NODE_GRANT:
		node_granted(node, from, message);
		return;
	case NODE_COMPLETED:
		node_share_completed(node, from, message);
		return;
	case NODE_PROGRESS:
		node_share_progress(node, from, message);
		return;
	case NODE_GIVE_UP:
		node_give_up(node, message);
		return;
	case NODE_EARLY:
		node->early = true;
		return;
	case NODE_GIVEN:
		node_share_given(node, from, message);
		return;
	case NODE_KEPT:
		node_share_kept(node, from, message);
		return;
	case NODE_MOVED:
		node_share_moved(node, message);
		return;
	case NODE_FETCH:
		node_fetch(node, from, message);
		return;
	case NODE_RESULT:
		node_result(node, from, message);
		return;
	case NODE_END:
		node_ended(node, message);
		return;
	case NODE_BYE:
		node_share_bye(node);
		return;
	default:
		node->done = true;
		node->status = message->status;
		node->failed = message->rank;
	}
}

/* From the first claim until all results have arrived. */
static int node_run(struct node *node)
{
	node->begin_us = node->ran_us = starpu_timing_now();
	mpi_link_serve(node->link, node_told, node);
	/* Ranges by demand are sized by what ranks took for theirs: rank 0 would seem fast. */
	mpi_link_post_own(node->link, !node->steals);
	node_share_run(node);
	node_home_begin(node);
	while (!node->done) {
		double us;

		mpi_link_progress(node->link);
		if (!node->rank)
			node_share_look(node);
		if (node_step(node) || node->done)
			continue;
		us = node_look_us(node);
		if (!node->rank)
			us = fmin(us, node_share_look_us(node));
		if (node_computes(node))
			mpi_link_wait_most(node->link, us);
		else
			mpi_link_wait_idle(node->link, us);
	}
	if (node->status) {
		/* What was given up in vain may still come. */
		mpi_link_finish(node->link);
		return heddle_refuse(node->status, "loop %s over ranks: it failed on rank %d: %s",
		                     node->name, node->failed, strerror(-node->status));
	}
	node->memory->run_us = starpu_timing_now() - node->begin_us;
	node_arrays_collect(node);
	return 0;
}

static void stats_tell(struct node *node, struct heddle_mpi_rank_stats *ranks)
{
	bool all = ranks;

	/* All take part, whether they want it or not. */
	if (!all)
		ranks = calloc(node->nranks, sizeof(*ranks));
	if (!ranks)
		mpi_link_abort(node->link, "no memory for %u ranks", node->nranks);
	node->stats.us = starpu_timing_now() - node->begin_us;
	node->sums->us = node->stats.us;
	mpi_link_gather(node->link, &node->stats, ranks, sizeof(node->stats), NULL, NULL);
	mpi_link_finish(node->link);
	if (!all)
		free(ranks);
}

static bool node_any_shared(const struct node *node)
{
	for (unsigned i = 0; i < node->narrays; i++)
		if (node_array_shared(&node->arrays[i]))
			return true;
	return false;
}

static int node_go(struct node *node, const struct heddle_mpi_place *places,
                   struct heddle_mpi_rank_stats *ranks)
{
	int status = node_agree(node, places), own;

	if (status)
		return status;
	own = node_share_begin(node);
	if (!own)
		own = node_arrays_prepare(node);
	/* A rank that steals and has no copy to make cannot fail here. */
	if (!node->steals || node_any_shared(node))
		status = node_all(node, own);
	if (status)
		return status;
	node_arrays_spread(node);
	status = node_run(node);
	if (!status)
		stats_tell(node, ranks);
	return status;
}

static void node_free(struct node *node)
{
	node_ranges_finish(node);
	mpi_link_close(node->link);
	node_arrays_finish(node);
	node_share_end(node);
	for (unsigned i = 0; i < MPI_MAXARRAYS; i++)
		node_array_release(&node->arrays[i]);
	free(node->sums);
	free(node);
}

static struct node *node_new(const struct heddle_loop *loop)
{
	struct node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->sums = calloc(2, sizeof(*node->sums));
	node->loop = loop;
	node->name = loop->name                             ? loop->name
	             : loop->codelet && loop->codelet->name ? loop->codelet->name
	                                                    : "loop";
	gethostname(node->stats.host, sizeof(node->stats.host) - 1);
	for (unsigned r = 0; r < NODE_RANGES; r++)
		node->ranges[r].node = node;
	if (!node->sums) {
		free(node);
		return NULL;
	}
	return node;
}

int heddle_mpi_loop_run(const struct heddle_loop *loop, MPI_Comm comm,
                        const struct heddle_mpi_place *places, struct heddle_mpi_rank_stats *ranks,
                        struct heddle_loop_stats *stats)
{
	double timeout = heddle_variable_number(HEDDLE_VARIABLE_NODE_TIMEOUT);
	int status = loop ? mpi_link_claim(comm, "loop")
	                  : heddle_refuse(-EINVAL, "a loop over ranks without a loop");
	struct node *node;

	if (status)
		return status;
	node = node_new(loop);
	if (!node || mpi_link_open(comm, timeout, "loop", node->name, &node->link)) {
		heddle_warn("a loop over ranks: no memory; the run ends on all ranks");
		MPI_Abort(comm, 1);
	}
	node->rank = mpi_link_rank(node->link);
	node->nranks = mpi_link_ranks(node->link);
	node_ranges_begin(node);
	status = node_go(node, places, ranks);
	if (!status && stats)
		*stats = *node->sums;
	node_free(node);
	return status;
}
