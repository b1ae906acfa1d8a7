/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether all ranks want the same loop. Each says what it wants to rank 0, which compares and
 * tells all. So a rank that does not come is missed by name.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/heddle.h>

#include "partition/mpi/node_private.h"
#include "support/message.h"
#include "support/variables.h"

/* What rank 0 says. All versions of Heddle understand it. */
struct verdict {
	int32_t status;
	char text[508];
};

/* ---- this rank ---- */

static int refuse(const struct node *node, unsigned i, const char *why)
{
	return heddle_refuse(-EINVAL, "loop %s over ranks: array %u %s", node->name, i + 1, why);
}

static int access_check(const struct node *node, unsigned i)
{
	const struct node_array *array = &node->arrays[i];
	bool has = array->access.handle;

	switch (array->place.layout) {
	case HEDDLE_MPI_EVERYWHERE:
		if (!has)
			return refuse(node, i, "is everywhere, and has no handle here");
		break;
	case HEDDLE_MPI_ON_RANK:
		if (array->place.rank < 0 || array->place.rank >= (int)node->nranks)
			return refuse(node, i, "is on a rank that does not exist");
		if (has != (array->place.rank == (int)node->rank))
			return refuse(node, i,
			              has ? "is on another rank, and has a handle here"
			                  : "is on this rank, and has no handle");
		break;
	case HEDDLE_MPI_BLOCKS:
		if (node_array_shared(array))
			return refuse(node, i, "is distributed by blocks, and not a slice");
		break;
	default:
		return refuse(node, i, "has an unknown layout");
	}
	if (array->access.share == HEDDLE_INDEXED)
		return refuse(node, i, "is a slice by an index, which loops over ranks have not");
	if (array->access.share == HEDDLE_REDUCE && !array->access.combine)
		return refuse(node, i, "is a reduction without a combine function");
	if (array->access.mode != STARPU_R &&
	    (array->access.share == HEDDLE_HALO || array->access.share == HEDDLE_WHOLE))
		return refuse(node, i, "is written, and not a slice");
	return 0;
}

static int loop_check(const struct node *node, const struct heddle_mpi_place *places)
{
	const struct heddle_loop *loop = node->loop;
	int status = heddle_starpu_check();

	if (!status)
		status = heddle_variables_check(environ);
	if (status)
		return status;
	if (!starpu_is_initialized())
		return heddle_refuse(-ENODEV, "loop %s over ranks: before starpu_init()",
		                     node->name);
	if (!loop->codelet || !places)
		return heddle_refuse(-EINVAL, "loop %s over ranks: no %s", node->name,
		                     places ? "codelet" : "places");
	if (!loop->naccesses || loop->naccesses > HEDDLE_LOOP_MAXHANDLES ||
	    loop->naccesses > MPI_MAXARRAYS)
		return heddle_refuse(-EINVAL, "loop %s over ranks: %u arrays, not 1 to %d",
		                     node->name, loop->naccesses, HEDDLE_LOOP_MAXHANDLES);
	if (loop->first || loop->total)
		return heddle_refuse(-EINVAL, "loop %s over ranks: it is a part of a larger one",
		                     node->name);
	return 0;
}

static int arrays_take(struct node *node, const struct heddle_mpi_place *places,
                       struct mpi_description *says)
{
	for (unsigned i = 0; i < node->loop->naccesses; i++) {
		struct node_array *array = &node->arrays[i];
		struct mpi_array_description *said = &says->arrays[i];
		int status;

		array->access = node->loop->accesses[i];
		array->place = places[i];
		status = access_check(node, i);
		if (!status && array->access.handle) {
			says->own |= 1u << i;
			status = node_array_hold(node, i, said);
		}
		if (status)
			return status;
		said->place = array->place.layout;
		said->owner = array->place.layout == HEDDLE_MPI_ON_RANK ? array->place.rank : 0;
		said->mode = array->access.mode;
		said->share = array->access.share;
		said->halo = array->access.share == HEDDLE_HALO ? array->access.halo : 0;
		if (!node_array_shared(array))
			said->per_iteration =
			    array->access.per_iteration ? array->access.per_iteration : 1;
	}
	return 0;
}

static void describe(struct node *node, const struct heddle_mpi_place *places,
                     struct mpi_description *says)
{
	const struct heddle_loop *loop = node->loop;

	snprintf(says->version, sizeof(says->version), "%s", heddle_version());
	snprintf(says->host, sizeof(says->host), "%s", node->stats.host);
	says->status = loop_check(node, places);
	if (!says->status)
		says->status = arrays_take(node, places, says);
	if (says->status)
		return;
	snprintf(says->codelet, sizeof(says->codelet), "%s",
	         loop->codelet->name ? loop->codelet->name : "");
	says->nranks = node->nranks;
	says->n = loop->n;
	says->alignment = loop->alignment;
	says->naccesses = loop->naccesses;
}

/* ---- all ranks ---- */

static void wait_for_all(struct mpi_link *link)
{
	for (mpi_link_progress(link); mpi_link_under_way(link); mpi_link_progress(link))
		mpi_link_wait(link);
}

/* Rank 0 gets what all say; `all` is of nranks descriptions' room. */
static void descriptions_collect(struct node *node, const void *own, char *all)
{
	struct mpi_rows rows = {(void *)own, 1, MPI_DESCRIPTION_ROOM, MPI_DESCRIPTION_ROOM};

	mpi_link_send(node->link, 0, MPI_CHANNEL_AGREE, &rows, NULL, NULL);
	for (unsigned r = 0; !node->rank && r < node->nranks; r++) {
		rows.at = all + r * MPI_DESCRIPTION_ROOM;
		mpi_link_receive(node->link, r, MPI_CHANNEL_AGREE, &rows, NULL, NULL);
	}
	wait_for_all(node->link);
}

static void broadcast(struct node *node, void *at, size_t bytes)
{
	struct mpi_rows rows = {at, 1, bytes, bytes};

	mpi_link_broadcast(node->link, 0, &rows, NULL, NULL);
	wait_for_all(node->link);
}

static int arrays_agree(struct node *node, const struct mpi_description *all)
{
	for (unsigned i = 0; i < node->loop->naccesses; i++) {
		struct node_array *array = &node->arrays[i];
		size_t *first = calloc(node->nranks + 1, sizeof(*first));

		if (!first)
			mpi_link_abort(node->link, "no memory for %u ranks", node->nranks);
		array->layout = (struct mpi_layout){node->nranks, first};
		if (!node->rank)
			mpi_agreement_array(all, node->nranks, i, &array->agreed, first);
		broadcast(node, &array->agreed, sizeof(array->agreed));
		broadcast(node, first, (node->nranks + 1) * sizeof(*first));
		array->own = mpi_layout_of(&array->layout, node->rank);
		if (array->place.layout == HEDDLE_MPI_EVERYWHERE)
			array->own = (struct mpi_units){0, array->agreed.units};
	}
	node->narrays = node->loop->naccesses;
	return 0;
}

/* The descriptions one after the other, without the room between them. */
static void descriptions_pack(char *all, unsigned nranks)
{
	for (unsigned r = 1; r < nranks; r++)
		memmove(all + r * sizeof(struct mpi_description), all + r * MPI_DESCRIPTION_ROOM,
		        sizeof(struct mpi_description));
}

int node_agree(struct node *node, const struct heddle_mpi_place *places)
{
	union {
		struct mpi_description says;
		char room[MPI_DESCRIPTION_ROOM];
	} own = {.room = {0}};
	struct verdict verdict = {0};
	char *all = NULL;

	_Static_assert(sizeof(own) == MPI_DESCRIPTION_ROOM, "a description fits");
	describe(node, places, &own.says);
	if (!node->rank && !(all = malloc((size_t)node->nranks * MPI_DESCRIPTION_ROOM)))
		mpi_link_abort(node->link, "no memory for %u ranks", node->nranks);
	descriptions_collect(node, &own, all);
	if (!node->rank) {
		descriptions_pack(all, node->nranks);
		verdict.status =
		    mpi_agreement_check((const struct mpi_description *)all, node->nranks,
		                        verdict.text, sizeof(verdict.text));
	}
	broadcast(node, &verdict, sizeof(verdict));
	if (verdict.status) {
		free(all);
		return heddle_refuse(verdict.status, "loop %s over ranks: %s", node->name,
		                     verdict.text);
	}
	arrays_agree(node, (const struct mpi_description *)all);
	free(all);
	return 0;
}

int node_all(struct node *node, int status)
{
	int *all = calloc(node->nranks, sizeof(*all)), first = 0;

	if (!all)
		mpi_link_abort(node->link, "no memory for %u ranks", node->nranks);
	mpi_link_gather(node->link, &status, all, sizeof(status), NULL, NULL);
	wait_for_all(node->link);
	for (unsigned r = 0; !first && r < node->nranks; r++)
		if ((first = all[r]))
			heddle_warn("loop %s over ranks: rank %u cannot begin: %s", node->name, r,
			            strerror(-first));
	free(all);
	return first;
}
