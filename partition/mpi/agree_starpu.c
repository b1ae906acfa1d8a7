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

#include "partition/mpi/agree_mpi.h"
#include "partition/mpi/node_private.h"
#include "support/message.h"
#include "support/variables.h"

/* ---- this rank ---- */

static int refuse(const struct node *node, unsigned i, const char *why)
{
	return heddle_refuse(-EINVAL, "loop %s over ranks: array %u %s", node->name, i + 1, why);
}

const char *node_place_wrong(const struct node_array *array, unsigned rank, unsigned nranks)
{
	bool has = array->access.handle;

	switch (array->place.layout) {
	case HEDDLE_MPI_EVERYWHERE:
		return has ? NULL : "is everywhere, and has no handle here";
	case HEDDLE_MPI_ON_RANK:
		if (array->place.rank < 0 || array->place.rank >= (int)nranks)
			return "is on a rank that does not exist";
		if (has == (array->place.rank == (int)rank))
			return NULL;
		return has ? "is on another rank, and has a handle here"
		           : "is on this rank, and has no handle";
	case HEDDLE_MPI_BLOCKS:
		return node_array_shared(array)
		           ? "is distributed by blocks, and ranks need all of it"
		           : NULL;
	default:
		return "has an unknown layout";
	}
}

static int access_check(const struct node *node, unsigned i)
{
	const struct node_array *array = &node->arrays[i];
	const char *why = node_place_wrong(array, node->rank, node->nranks);

	if (why)
		return refuse(node, i, why);
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
	if ((!loop->codelet && !loop->function) || !places)
		return heddle_refuse(-EINVAL, "loop %s over ranks: no %s", node->name,
		                     places ? "codelet or function" : "places");
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
			struct work_array_name name = {"loop", node->name, i};

			says->own |= 1u << i;
			status = node_array_hold(array, &name, said);
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

	snprintf(says->host, sizeof(says->host), "%s", node->stats.host);
	says->status = loop_check(node, places);
	if (!says->status)
		says->status = arrays_take(node, places, says);
	if (says->status)
		return;
	snprintf(says->codelet, sizeof(says->codelet), "%s",
	         loop->codelet && loop->codelet->name ? loop->codelet->name : "");
	says->nranks = node->nranks;
	says->n = loop->n;
	says->alignment = loop->alignment;
	says->naccesses = loop->naccesses;
}

/* ---- all ranks ---- */

/* What rank 0 says of all arrays, one after the other, ... */
struct told {
	uint32_t bytes;
	uint16_t steals;    /* see struct node */
	uint16_t as_before; /* bit i: array i is as the one before it, and not told */
};

_Static_assert(MPI_MAXARRAYS <= 16, "a bit for each array");

/* ... and of each, as short as it can be. */
struct told_array {
	uint32_t shape, nruns;
	uint64_t elemsize, nx, units;
	struct mpi_layout_run runs[];
};

static size_t told_size(uint64_t nruns)
{
	return sizeof(struct told_array) + nruns * sizeof(struct mpi_layout_run);
}

static size_t *firsts_new(struct mpi_link *link)
{
	unsigned nranks = mpi_link_ranks(link);
	size_t *first = malloc((nranks + 1) * sizeof(*first));

	if (!first)
		mpi_link_abort(link, "no memory for %u ranks", nranks);
	return first;
}

static void arrays_tell(struct mpi_link *link, const struct mpi_description *all, unsigned n,
                        struct told *head, char *told)
{
	size_t *first = firsts_new(link), size = 0;
	unsigned nranks = mpi_link_ranks(link);

	for (unsigned i = 0; i < n; i++) {
		struct told_array *of = (struct told_array *)(told + head->bytes);
		struct mpi_array_agreed agreed;
		size_t before = size;

		mpi_agreement_array(all, nranks, i, &agreed, first);
		of->shape = agreed.shape;
		of->elemsize = agreed.elemsize;
		of->nx = agreed.nx;
		of->units = agreed.units;
		of->nruns = mpi_layout_runs(&(struct mpi_layout){nranks, first}, of->runs);
		size = told_size(of->nruns);
		if (size == before && !memcmp(of, (char *)of - size, size))
			head->as_before |= 1u << i;
		else
			head->bytes += size;
	}
	free(first);
}

static void array_agreed(struct node_array *array, const struct told_array *told,
                         struct mpi_link *link)
{
	size_t *first = firsts_new(link);

	mpi_layout_first(told->runs, told->nruns, first);
	array->agreed =
	    (struct mpi_array_agreed){told->shape, told->elemsize, told->nx, told->units};
	array->layout = (struct mpi_layout){mpi_link_ranks(link), first};
	array->own = mpi_layout_of(&array->layout, mpi_link_rank(link));
	if (array->place.layout == HEDDLE_MPI_EVERYWHERE)
		array->own = (struct mpi_units){0, array->agreed.units};
}

/* Of no array where this rank refuses its loop: then rank 0 says no more than that. */
static unsigned narrays(const struct mpi_description *says)
{
	return says->status ? 0 : says->naccesses;
}

/* A verdict without difference has room for what ranks are told of few arrays. */
int node_arrays_agree(struct mpi_link *link, const char *what, const char *name,
                      const struct mpi_description *says, struct node_array *const *arrays,
                      struct mpi_description **all, bool *steals)
{
	unsigned nranks = mpi_link_ranks(link), n = narrays(says);
	char *told = malloc(n * told_size(nranks) + 1);
	struct told head = {.steals = *steals};
	struct mpi_verdict verdict;
	char *room = verdict.text + sizeof(head);
	size_t most = sizeof(verdict.text) - sizeof(head), at = 0;
	struct told_array *of = NULL;
	int status;

	if (!told)
		mpi_link_abort(link, "no memory for %u ranks", nranks);
	mpi_agree_collect(link, what, says, all, &verdict);
	if (*all && !verdict.status) {
		arrays_tell(link, *all, n, &head, told);
		memcpy(verdict.text, &head, sizeof(head));
		verdict.told = sizeof(head) + (head.bytes <= most ? head.bytes : 0);
		memcpy(room, told, verdict.told - sizeof(head));
	}
	status = mpi_agree_conclude(link, what, name, &verdict);
	if (!status) {
		memcpy(&head, verdict.text, sizeof(head));
		*steals = head.steals;
		if (head.bytes <= most)
			memcpy(told, room, head.bytes);
		else
			mpi_agree_broadcast(link, told, head.bytes);
	}
	for (unsigned i = 0; !status && i < n; i++) {
		if (!(head.as_before >> i & 1)) {
			of = (struct told_array *)(told + at);
			at += told_size(of->nruns);
		}
		array_agreed(arrays[i], of, link);
	}
	free(told);
	return status;
}

int node_agree(struct node *node, const struct heddle_mpi_place *places)
{
	struct node_array *arrays[MPI_MAXARRAYS];
	struct mpi_description says = {.status = 0}, *all;
	int status;

	describe(node, places, &says);
	for (unsigned i = 0; i < MPI_MAXARRAYS; i++)
		arrays[i] = &node->arrays[i];
	node->steals = !node->rank && !says.status && node_share_steals(node);
	status =
	    node_arrays_agree(node->link, "loop", node->name, &says, arrays, &all, &node->steals);
	if (!status)
		node->narrays = node->loop->naccesses;
	free(all);
	return status;
}

int node_all(struct node *node, int status)
{
	return mpi_all(node->link, "loop", node->name, status);
}
