/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Arrays of a wavefront over ranks: from where they lie to where rows are computed, and back.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/memory.h>

#include "partition/mpi/wavefront_node.h"

/* ---- which units ---- */

static bool is_field(const struct front_array *array)
{
	return array->extent == HEDDLE_FIELD || array->extent == HEDDLE_FIELD_HALO;
}

/* Bytes of a unit that count: of a row of a field, those in the loop. */
static size_t unit_bytes(const struct front *front, const struct front_array *array)
{
	size_t elements = is_field(array) ? front->wave.columns * array->node.access.per_iteration
	                                  : array->node.agreed.nx;

	return elements * array->node.agreed.elemsize;
}

static unsigned nranges(const struct front *front)
{
	return front->rounds * front->nranks;
}

/* The units of a range's rows, and of those around them that vectors reach. */
static struct mpi_units units_of(const struct front *front, const struct front_array *array,
                                 unsigned range, bool around)
{
	size_t first = front->rows[range].first, end = first + front->rows[range].count;
	size_t per = array->extent == HEDDLE_ROWS ? array->node.access.per_iteration : 1;

	if (first == end)
		return (struct mpi_units){0, 0};
	if (around && array->extent == HEDDLE_FIELD_HALO) {
		first -= first < front->shape.above ? first : front->shape.above;
		end += front->shape.below;
		end = end < front->wave.rows ? end : front->wave.rows;
	}
	return (struct mpi_units){first * per, (end - first) * per};
}

/* Whether a rank's own part of the array has all that it needs. */
static bool is_in_place(const struct front *front, const struct front_array *array, unsigned rank)
{
	if (array->node.place.layout == HEDDLE_MPI_EVERYWHERE)
		return true;
	for (unsigned q = rank; q < nranges(front); q += front->nranks)
		if (!mpi_units_within(units_of(front, array, q, true),
		                      mpi_layout_of(&array->node.layout, rank)))
			return false;
	return true;
}

static size_t units_whole(const struct front *front, const struct front_array *array)
{
	return array->extent == HEDDLE_COLUMNS
	           ? front->wave.columns * array->node.access.per_iteration
	           : array->node.agreed.units;
}

/* ---- transfers ---- */

/* Units of an array that this rank has in place, or computes a range with. */
static struct mpi_rows rows_at(const struct front *front, const struct front_array *array,
                               unsigned range, struct mpi_units units, bool own)
{
	const struct node_array *node = &array->node;
	ptrdiff_t unit = (ptrdiff_t)units.first - array->origins[range / front->nranks];

	return (struct mpi_rows){
	    own ? node_array_at(node, units.first) : array->at + unit * (ptrdiff_t)array->pitch,
	    units.count, unit_bytes(front, array), own ? node->pitch : array->pitch};
}

static void rows_copy(const struct mpi_rows *from, const struct mpi_rows *to)
{
	for (size_t r = 0; r < from->n && from->at != to->at; r++)
		memcpy((char *)to->at + r * to->pitch, (char *)from->at + r * from->pitch,
		       from->row);
}

/* Units go from the rank that has them to the one that computes a range with them, or back. All
 * ranks go through the same in the same order. */
static void units_move(struct front *front, struct front_array *array, unsigned range, bool back)
{
	struct mpi_units left = units_of(front, array, range, !back), units;
	unsigned rank = range % front->nranks, owner;
	size_t bytes = unit_bytes(front, array);

	for (;;) {
		units = mpi_layout_cut(&array->node.layout, &left, mpi_rows_most(bytes), &owner);
		if (!units.count)
			return;
		if (owner == front->rank && rank == front->rank) {
			struct mpi_rows own = rows_at(front, array, range, units, true),
			                mine = rows_at(front, array, range, units, false);

			rows_copy(back ? &mine : &own, back ? &own : &mine);
		} else if (owner == front->rank || rank == front->rank) {
			struct mpi_rows rows =
			    rows_at(front, array, range, units, owner == front->rank);
			bool sends = (owner == front->rank) != back;
			unsigned peer = owner == front->rank ? rank : owner;
			enum mpi_channel channel = back ? MPI_CHANNEL_OUT : MPI_CHANNEL_IN;

			*(sends ? &front->stats.bytes_sent : &front->stats.bytes_received) +=
			    units.count * bytes;
			(sends ? mpi_link_send : mpi_link_receive)(front->link, peer, channel,
			                                           &rows, NULL, NULL);
		}
	}
}

/* All ranks get units that one has computed. They are in place. */
static void units_spread(struct front *front, struct front_array *array, unsigned root,
                         struct mpi_units units)
{
	size_t most = mpi_rows_most(unit_bytes(front, array)), n;

	for (size_t first = units.first; first < units.first + units.count; first += n) {
		struct mpi_rows rows;

		n = units.first + units.count - first;
		n = n < most ? n : most;
		rows = rows_at(front, array, 0, (struct mpi_units){first, n}, false);
		mpi_link_broadcast(front->link, root, &rows, NULL, NULL);
		*(front->rank == root ? &front->stats.bytes_sent : &front->stats.bytes_received) +=
		    n * rows.row;
	}
}

/* ---- what transfers cost ---- */

/* Ranks send and receive all at once. */
static double moved_us(const struct mpi_moved *moved, unsigned nranks, double cd, double byte)
{
	double most = 0;

	for (unsigned r = 0; r < nranks; r++)
		most = fmax(most, fmax(moved[r].in, moved[r].out));
	return most > 0 ? cd + most * byte : 0;
}

static void fetch_count(const struct front *front, struct mpi_moved *moved)
{
	for (unsigned i = 0; i < front->narrays; i++) {
		const struct front_array *array = &front->arrays[i];

		if (node_array_shared(&array->node) || !(array->node.access.mode & STARPU_R))
			continue;
		for (unsigned q = 0; q < nranges(front); q++) {
			unsigned rank = q % front->nranks;

			if (!is_in_place(front, array, rank))
				mpi_layout_move(&array->node.layout, rank,
				                units_of(front, array, q, true),
				                unit_bytes(front, array), moved);
		}
	}
}

/* Of what passes from row to row: little. */
static void return_count(const struct front *front, struct mpi_moved *moved)
{
	for (unsigned i = 0; i < front->narrays; i++) {
		const struct front_array *array = &front->arrays[i];
		double bytes = unit_bytes(front, array);
		size_t all = 0;

		if (!(array->node.access.mode & STARPU_W) || array->extent == HEDDLE_COLUMNS)
			continue;
		for (unsigned q = 0; q < nranges(front); q++)
			all += units_of(front, array, q, false).count;
		for (unsigned q = 0; q < nranges(front); q++) {
			struct mpi_units own = units_of(front, array, q, false);
			unsigned rank = q % front->nranks;

			if (array->node.place.layout == HEDDLE_MPI_EVERYWHERE)
				moved[rank].in += ((double)all / front->rounds - own.count) * bytes;
			else
				mpi_layout_move(&array->node.layout, rank, own, bytes, moved);
		}
	}
}

double front_arrays_us(const struct front *front, double cd, double byte)
{
	struct mpi_moved *moved = calloc(2 * front->nranks, sizeof(*moved));
	struct mpi_moved *back = moved + front->nranks;
	double us;

	if (!moved)
		mpi_link_abort(front->link, "no memory for %u ranks", front->nranks);
	fetch_count(front, moved);
	return_count(front, back);
	us = moved_us(moved, front->nranks, cd, byte) + moved_us(back, front->nranks, cd, byte);
	free(moved);
	return us;
}

/* ---- what every rank has whole ---- */

static void array_make(struct front *front, struct front_array *array, struct mpi_units units,
                       bool in_place)
{
	size_t bytes = unit_bytes(front, array);

	array->units = units.count;
	for (unsigned round = 0; round < front->rounds; round++)
		array->origins[round] = units.first;
	if (in_place) {
		array->at = node_array_at(&array->node, units.first);
		array->pitch = array->node.pitch;
		return;
	}
	array->pitch = bytes;
	if (heddle_malloc((void **)&array->copy, units.count * bytes))
		mpi_link_abort(front->link, "no memory for %zu bytes of its arrays",
		               units.count * bytes);
	array->at = array->copy;
}

static void array_register(const struct front *front, struct front_array *array)
{
	const struct mpi_array_agreed *agreed = &array->node.agreed;

	if (agreed->shape == STARPU_VECTOR_INTERFACE_ID)
		starpu_vector_data_register(&array->handle, STARPU_MAIN_RAM, (uintptr_t)array->at,
		                            array->units, agreed->elemsize);
	else
		starpu_matrix_data_register(&array->handle, STARPU_MAIN_RAM, (uintptr_t)array->at,
		                            array->pitch / agreed->elemsize,
		                            unit_bytes(front, array) / agreed->elemsize,
		                            array->units, agreed->elemsize);
}

void front_arrays_share(struct front *front)
{
	for (unsigned i = 0; i < front->narrays; i++) {
		struct front_array *array = &front->arrays[i];
		const struct heddle_mpi_place *place = &array->node.place;

		if (!node_array_shared(&array->node))
			continue;
		array_make(front, array, (struct mpi_units){0, units_whole(front, array)},
		           array->node.access.handle);
		if (place->layout == HEDDLE_MPI_ON_RANK)
			units_spread(front, array, place->rank,
			             (struct mpi_units){0, array->units});
	}
	mpi_link_finish(front->link);
}

/* ---- what belongs to rows ---- */

/* Makes what this rank computes its ranges with: one after the other where they are not in place.
 */
static void ranges_make(struct front *front, struct front_array *array)
{
	size_t first = units_of(front, array, front->rank, true).first, end = first, count = 0;
	bool in_place = is_in_place(front, array, front->rank);
	ptrdiff_t origins[MPI_WAVE_ROUNDS];

	for (unsigned round = 0; round < front->rounds; round++) {
		struct mpi_units units =
		    units_of(front, array, round * front->nranks + front->rank, true);

		origins[round] = (ptrdiff_t)units.first - (ptrdiff_t)count;
		count += units.count;
		end = units.first + units.count;
	}
	array_make(front, array, (struct mpi_units){first, in_place ? end - first : count},
	           in_place);
	if (!in_place)
		memcpy(array->origins, origins, front->rounds * sizeof(*origins));
}

int front_arrays_fetch(struct front *front)
{
	for (unsigned i = 0; i < front->narrays; i++) {
		struct front_array *array = &front->arrays[i];

		if (!node_array_shared(&array->node))
			ranges_make(front, array);
		if (array->units)
			array_register(front, array);
		if (node_array_shared(&array->node) || !(array->node.access.mode & STARPU_R))
			continue;
		for (unsigned q = 0; q < nranges(front); q++)
			if (!is_in_place(front, array, q % front->nranks))
				units_move(front, array, q, false);
	}
	mpi_link_finish(front->link);
	return 0;
}

static void array_drop(struct front *front, struct front_array *array)
{
	if (array->copy)
		heddle_free(array->copy, array->units * unit_bytes(front, array));
	array->copy = NULL;
}

static void handle_drop(struct front_array *array)
{
	if (array->handle)
		starpu_data_unregister(array->handle);
	array->handle = NULL;
}

void front_arrays_drop(struct front *front)
{
	for (unsigned i = 0; i < front->narrays; i++) {
		struct front_array *array = &front->arrays[i];

		handle_drop(array);
		if (!node_array_shared(&array->node))
			array_drop(front, array);
	}
}

/* ---- results ---- */

/* What passes from row to row ends with the rank that has the last one. */
static void columns_return(struct front *front, struct front_array *array)
{
	const struct heddle_mpi_place *place = &array->node.place;
	unsigned last = nranges(front) - 1, owner = place->rank;
	struct mpi_units units = {0, array->units};
	struct mpi_rows rows = rows_at(front, array, 0, units, false);

	while (!front->rows[last].count)
		last--;
	last %= front->nranks;
	if (place->layout == HEDDLE_MPI_EVERYWHERE)
		units_spread(front, array, last, units);
	else if (owner != last && front->rank == last)
		mpi_link_send(front->link, owner, MPI_CHANNEL_OUT, &rows, NULL, NULL);
	else if (owner != last && front->rank == owner)
		mpi_link_receive(front->link, last, MPI_CHANNEL_OUT, &rows, NULL, NULL);
}

static void rows_return(struct front *front, struct front_array *array)
{
	for (unsigned q = 0; q < nranges(front); q++)
		if (array->node.place.layout == HEDDLE_MPI_EVERYWHERE)
			units_spread(front, array, q % front->nranks,
			             units_of(front, array, q, false));
		else
			units_move(front, array, q, true);
}

void front_arrays_return(struct front *front)
{
	for (unsigned i = 0; i < front->narrays; i++) {
		struct front_array *array = &front->arrays[i];

		handle_drop(array);
		if (!(array->node.access.mode & STARPU_W))
			continue;
		if (array->extent == HEDDLE_COLUMNS) {
			columns_return(front, array);
			continue;
		}
		/* Everywhere it is in place: what others computed goes there. */
		if (array->node.place.layout == HEDDLE_MPI_EVERYWHERE)
			array_make(front, array, array->node.own, true);
		rows_return(front, array);
	}
	mpi_link_finish(front->link);
}

void front_arrays_finish(struct front *front)
{
	front_arrays_drop(front);
	for (unsigned i = 0; i < MPI_MAXARRAYS; i++) {
		struct front_array *array = &front->arrays[i];

		if (i < front->narrays)
			array_drop(front, array);
		node_array_release(&array->node);
		free((void *)array->node.layout.first);
	}
}
