/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Boundaries between strips. Two strips in main memory share it and need only the order of
 * their tiles. Where one is on a device, what a tile finishes of the rows that vectors reach
 * from the other strip is a message: a handle on these elements in main memory, which the
 * tile's task writes and one task of the other strip reads.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "wavefront_private.h"

struct wave_strip *wave_strip_beside(const struct wave_strip *strip, enum wave_side side)
{
	const struct heddle_wavefront_request *wave = strip->wave;
	size_t index = side == ABOVE ? strip->index - 1 : strip->index + 1;

	if (index < wave->nstrips && wave->strips[index]->range == strip->range)
		return wave->strips[index];
	return wave_part_beyond(strip, side);
}

static bool is_last(const struct wave_strip *strip)
{
	return strip->band.first + strip->band.rows == strip->wave->space.rows;
}

/* Whether messages pass between them. */
static bool is_apart(const struct wave_strip *strip, const struct wave_strip *other)
{
	return strip->on_device || other->on_device || other->beyond || other->sent[ABOVE] ||
	       other->sent[BELOW];
}

size_t wave_tile_waits(const struct wave_strip *strip, size_t number, enum wave_side side)
{
	const struct wave_space *space = &strip->wave->space;
	const struct wave_strip *other = wave_strip_beside(strip, side);
	size_t sweep = strip_sweep(strip, number), tile = strip_tile(strip, number);

	if (!other)
		return 0;
	return is_apart(strip, other)
	           ? wave_tile_needs_messages(space, &strip->band, sweep, tile, &other->band)
	           : wave_tile_needs(space, &strip->band, sweep, tile, &other->band);
}

/* ---- what a message holds ---- */

bool wave_message_patch(const struct heddle_wavefront_request *wave, const struct wave_band *band,
                        const struct wave_array *array, size_t tile, enum wave_side to,
                        struct wave_patch *patch)
{
	size_t reach = to == BELOW ? wave->reach.above : wave->reach.below;
	size_t row = wave_message_row(band, wave->reach.below, to == BELOW);

	if (!wave_array_crosses(array))
		return false;
	*patch = (struct wave_patch){.rows = 1,
	                             .columns = wave_tile_columns(&wave->space, band, tile, row)};
	if (patch->columns.begin == patch->columns.end)
		return false;
	if (array->given.extent == HEDDLE_COLUMNS)
		return to == BELOW;
	patch->rows = reach < band->rows ? reach : band->rows;
	patch->row = band->first + (to == BELOW ? band->rows - patch->rows : 0);
	return patch->rows > 0;
}

/* The part of an array that a tile of a strip sends to the strip on a side. */
static bool patch_of(const struct wave_strip *strip, const struct wave_array *array, size_t tile,
                     enum wave_side to, struct wave_patch *patch)
{
	return wave_message_patch(strip->wave, &strip->band, array, tile, to, patch);
}

static int exchange_add(struct wave_tile *tile, unsigned array, const struct wave_patch *patch,
                        starpu_data_handle_t handle, bool in)
{
	if (tile->nexchanges == tile->room) {
		unsigned room = tile->room ? 2 * tile->room : 8;
		struct wave_exchange *grown = realloc(tile->exchanges, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		tile->exchanges = grown;
		tile->room = room;
	}
	tile->exchanges[tile->nexchanges++] =
	    (struct wave_exchange){.array = array, .patch = *patch, .handle = handle, .in = in};
	tile->strip->wave->nmessages += in;
	return 0;
}

/* ---- arriving ---- */

/* Message `number` of the strip on a side: one that it sent, or, where that strip is in main
 * memory, one made now of what it left there. */
static int receive(struct wave_tile *tile, struct wave_strip *other, enum wave_side side,
                   size_t number)
{
	struct heddle_wavefront_request *wave = tile->strip->wave;
	enum wave_side to = side == ABOVE ? BELOW : ABOVE;
	struct wave_message *message = other->sent[to];
	int status = 0;

	if (message && message->number != number)
		message = NULL;
	for (unsigned i = 0; i < wave->given.narrays && !status; i++) {
		starpu_data_handle_t handle = message ? message->handles[i] : NULL;
		struct wave_patch patch;

		if (!patch_of(other, &wave->arrays[i], strip_tile(other, number), to, &patch) ||
		    (!handle && !tile->strip->on_device))
			continue;
		if (!handle)
			handle = wave_array_register_patch(&wave->arrays[i], &patch);
		status = exchange_add(tile, i, &patch, handle, true);
		if (status)
			starpu_data_unregister_submit(handle);
	}
	if (!message)
		return status;
	other->sent[to] = message->next;
	if (!message->next)
		other->sent_end[to] = &other->sent[to];
	free(message);
	return status;
}

static int receive_all(struct wave_tile *tile, enum wave_side side)
{
	struct wave_strip *strip = tile->strip, *other = wave_strip_beside(strip, side);
	size_t needs = wave_tile_waits(strip, tile->number, side);
	int status = 0;

	if (!other || needs <= strip->received[side])
		return 0;
	if (is_apart(strip, other))
		for (size_t n = strip->received[side]; n < needs && !status; n++)
			status = receive(tile, other, side, n);
	strip->received[side] = needs;
	return status;
}

/* A first strip that is on a device receives the initial state of what passes from row to row. */
static int receive_initial(struct wave_tile *tile)
{
	struct wave_strip *strip = tile->strip;
	struct heddle_wavefront_request *wave = strip->wave;
	const struct wave_space *space = &wave->space;
	struct wave_columns columns =
	    wave_tile_columns(space, &strip->band, strip_tile(strip, tile->number), 0);
	struct wave_patch patch = {.rows = 1,
	                           .columns = {strip->initial, columns.end + wave->reach.right}};
	int status = 0;

	if (patch.columns.end > space->columns)
		patch.columns.end = space->columns;
	if (patch.columns.begin >= patch.columns.end)
		return 0;
	strip->initial = patch.columns.end;
	for (unsigned i = 0; i < wave->given.narrays && !status; i++) {
		const struct wave_array *array = &wave->arrays[i];

		if (array->given.extent == HEDDLE_COLUMNS && wave_array_crosses(array))
			status = exchange_add(tile, i, &patch,
			                      wave_array_register_patch(array, &patch), true);
	}
	return status;
}

/* ---- leaving ---- */

static int send(struct wave_tile *tile, enum wave_side to)
{
	struct wave_strip *strip = tile->strip;
	struct heddle_wavefront_request *wave = strip->wave;
	struct wave_message *message = NULL;
	int status = 0;

	for (unsigned i = 0; i < wave->given.narrays && !status; i++) {
		struct wave_patch patch;

		/* The last strip's rows are written back with the strip; what passes from
		 * row to row is written back from its messages. */
		if (!patch_of(strip, &wave->arrays[i], strip_tile(strip, tile->number), to,
		              &patch) ||
		    (to == BELOW && is_last(strip) &&
		     wave->arrays[i].given.extent != HEDDLE_COLUMNS))
			continue;
		if (!message)
			message = calloc(1, sizeof(*message));
		if (!message)
			return -ENOMEM;
		message->handles[i] = wave_array_register_patch(&wave->arrays[i], &patch);
		status = exchange_add(tile, i, &patch, message->handles[i], false);
	}
	if (!message)
		return 0;
	message->number = tile->number;
	*strip->sent_end[to] = message;
	strip->sent_end[to] = &message->next;
	return status;
}

int wave_tile_exchanges(struct wave_tile *tile)
{
	struct wave_strip *strip = tile->strip;
	struct heddle_wavefront_request *wave = strip->wave;
	int status = 0;

	tile->nexchanges = 0;
	for (enum wave_side side = ABOVE; side < NSIDES && !status; side++)
		status = receive_all(tile, side);
	if (!strip->on_device || status)
		return status;
	if (!wave_strip_beside(strip, ABOVE))
		status = receive_initial(tile);
	if (!status)
		status = send(tile, BELOW);
	if (!status && wave_strip_beside(strip, ABOVE) &&
	    strip_sweep(strip, tile->number) + 1 < wave->sweeps)
		status = send(tile, ABOVE);
	return status;
}

void wave_messages_free(struct wave_strip *strip)
{
	for (enum wave_side to = ABOVE; to < NSIDES; to++)
		while (strip->sent[to]) {
			struct wave_message *message = strip->sent[to];

			strip->sent[to] = message->next;
			for (unsigned i = 0; i < strip->wave->given.narrays; i++)
				if (message->handles[i])
					starpu_data_unregister_submit(message->handles[i]);
			free(message);
		}
}
