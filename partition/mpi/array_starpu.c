/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Arrays of a loop over ranks: the part that this rank has, and what its loops share.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/memory.h>

#include "partition/common/array_starpu.h"
#include "partition/mpi/node_private.h"

/* ---- the rank's part ---- */

int node_array_hold(struct node_array *array, const struct work_array_name *name,
                    struct mpi_array_description *says)
{
	starpu_data_handle_t handle = array->access.handle;
	struct work_array found;
	int status = work_array_init(&found, handle, array->access.mode, name);

	if (!status)
		status = starpu_data_acquire(handle, found.mode == STARPU_R ? STARPU_R : STARPU_RW);
	if (status)
		return status;
	array->held = true;
	array->at = (char *)found.base;
	array->pitch = found.ld * found.elemsize;
	says->units = found.units;
	says->shape = found.shape;
	says->elemsize = found.elemsize;
	says->nx = found.nx;
	return 0;
}

void node_array_release(struct node_array *array)
{
	if (array->held)
		starpu_data_release(array->access.handle);
	array->held = false;
}

char *node_array_at(const struct node_array *array, size_t first)
{
	return array->at + (first - array->own.first) * array->pitch;
}

void node_array_register(const struct node_array *array, char *at, size_t pitch, size_t units,
                         starpu_data_handle_t *handle)
{
	const struct mpi_array_agreed *agreed = &array->agreed;

	if (agreed->shape == STARPU_VECTOR_INTERFACE_ID)
		starpu_vector_data_register(handle, STARPU_MAIN_RAM, (uintptr_t)at, units,
		                            agreed->elemsize);
	else
		starpu_matrix_data_register(handle, STARPU_MAIN_RAM, (uintptr_t)at,
		                            pitch / agreed->elemsize, agreed->nx, units,
		                            agreed->elemsize);
}

/* ---- what all loops of the rank share ---- */

static size_t whole_bytes(const struct node_array *array)
{
	return array->agreed.units * node_array_unit(array);
}

/* The rank that has the array, or adds up its sums. */
static unsigned root_of(const struct node_array *array)
{
	return array->place.layout == HEDDLE_MPI_ON_RANK ? array->place.rank : 0;
}

/* Sums of other ranks than that one begin with zeros of their own. */
static bool needs_copy(const struct node *node, const struct node_array *array)
{
	if (array->access.share == HEDDLE_REDUCE)
		return node->rank != root_of(array);
	return !array->at;
}

int node_arrays_prepare(struct node *node)
{
	for (unsigned i = 0; i < node->narrays; i++) {
		struct node_array *array = &node->arrays[i];
		size_t pitch = array->pitch, bytes = whole_bytes(array);

		if (!node_array_shared(array) || !array->agreed.units)
			continue;
		if (needs_copy(node, array)) {
			if (heddle_malloc((void **)&array->copy, bytes))
				return -ENOMEM;
			memset(array->copy, 0, bytes);
			pitch = node_array_unit(array);
		}
		node_array_register(array, array->copy ? array->copy : array->at, pitch,
		                    array->agreed.units, &array->handle);
	}
	return 0;
}

void node_arrays_finish(struct node *node)
{
	for (unsigned i = 0; i < node->narrays; i++) {
		struct node_array *array = &node->arrays[i];

		if (array->handle)
			starpu_data_unregister(array->handle);
		if (array->copy)
			heddle_free(array->copy, whole_bytes(array));
		free((void *)array->layout.first);
	}
}

/* Calls for all units of an array, as many at a time as a transfer can have. */
static void in_pieces(struct node *node, struct node_array *array, char *at, size_t pitch,
                      void (*transfer)(struct node *node, struct node_array *array,
                                       const struct mpi_rows *rows))
{
	size_t unit = node_array_unit(array), most = mpi_rows_most(unit), n;

	for (size_t first = 0; first < array->agreed.units; first += n) {
		n = array->agreed.units - first < most ? array->agreed.units - first : most;
		transfer(node, array, &(struct mpi_rows){at + first * pitch, n, unit, pitch});
	}
}

static void spread(struct node *node, struct node_array *array, const struct mpi_rows *rows)
{
	mpi_link_broadcast(node->link, root_of(array), rows, NULL, NULL);
	if (node->rank != root_of(array))
		node->stats.bytes_received += rows->n * rows->row;
}

void node_arrays_spread(struct node *node)
{
	for (unsigned i = 0; i < node->narrays; i++) {
		struct node_array *array = &node->arrays[i];

		if (array->access.share != HEDDLE_WHOLE ||
		    array->place.layout != HEDDLE_MPI_ON_RANK)
			continue;
		if (array->copy)
			in_pieces(node, array, array->copy, node_array_unit(array), spread);
		else
			in_pieces(node, array, array->at, array->pitch, spread);
	}
	mpi_link_finish(node->link);
}

/* ---- results ---- */

static void sum_send(struct node *node, struct node_array *array, const struct mpi_rows *rows)
{
	mpi_link_send(node->link, root_of(array), MPI_CHANNEL_SUM, rows, NULL, NULL);
	node->stats.bytes_sent += rows->n * rows->row;
}

static void sum_receive(struct node *node, struct node_array *array, const struct mpi_rows *rows)
{
	mpi_link_receive(node->link, node->summing, MPI_CHANNEL_SUM, rows, NULL, NULL);
	node->stats.bytes_received += rows->n * rows->row;
}

/* Rank by rank, so that the order is the same in every run. */
static void sums_add(struct node *node, struct node_array *array)
{
	size_t bytes = whole_bytes(array);
	char *from = malloc(bytes);

	if (!from)
		mpi_link_abort(node->link, "no memory for %zu bytes of sums", bytes);
	for (node->summing = 0; node->summing < node->nranks; node->summing++) {
		if (node->summing == node->rank)
			continue;
		in_pieces(node, array, from, node_array_unit(array), sum_receive);
		mpi_link_finish(node->link);
		array->access.combine(array->at, from, bytes, (void *)node->loop->arg);
	}
	free(from);
}

/* The handle's data must be in main memory, and stay so. */
static void sums_collect(struct node *node, struct node_array *array)
{
	if (!array->handle)
		return;
	starpu_data_unregister(array->handle);
	array->handle = NULL;
	if (node->rank == root_of(array))
		sums_add(node, array);
	else
		in_pieces(node, array, array->copy, node_array_unit(array), sum_send);
}

void node_arrays_collect(struct node *node)
{
	for (unsigned i = 0; i < node->narrays; i++) {
		struct node_array *array = &node->arrays[i];

		if (array->access.share == HEDDLE_REDUCE)
			sums_collect(node, array);
	}
	mpi_link_finish(node->link);
	for (unsigned i = 0; i < node->narrays; i++) {
		struct node_array *array = &node->arrays[i];

		if (array->access.mode & STARPU_W && array->place.layout == HEDDLE_MPI_EVERYWHERE)
			in_pieces(node, array, array->at, array->pitch, spread);
	}
	mpi_link_finish(node->link);
}
