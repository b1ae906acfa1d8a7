/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Boundaries between strips. Two strips at home share memory and need nothing but the
 * order of their tiles. Where one is away, what a tile finishes of the rows that
 * vectors reach from the other strip is a message: a handle on these elements in main
 * memory, which the tile's task writes and one task of the other strip reads. The handle
 * of a strip that is at home is made when somebody wants it.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "wavefront_private.h"

struct strip *strip_beside(const struct strip *strip, enum side side)
{
	const struct heddle_wavefront_request *wave = strip->wave;
	size_t index = side == ABOVE ? strip->index - 1 : strip->index + 1;

	return index < wave->nstrips ? wave->strips[index] : NULL;
}

static bool is_last(const struct strip *strip)
{
	return strip->band.first + strip->band.rows == strip->wave->space.rows;
}

/* Whether messages pass between them. */
static bool is_apart(const struct strip *strip, const struct strip *other)
{
	return strip->away || other->away || other->sent[ABOVE] || other->sent[BELOW];
}

size_t tile_waits(const struct strip *strip, size_t number, enum side side)
{
	const struct space *space = &strip->wave->space;
	const struct strip *other = strip_beside(strip, side);
	size_t sweep = strip_sweep(strip, number), tile = strip_tile(strip, number);

	if (!other)
		return 0;
	return is_apart(strip, other)
	           ? tile_needs_messages(space, &strip->band, sweep, tile, &other->band)
	           : tile_needs(space, &strip->band, sweep, tile, &other->band);
}

/* ---- what a message holds ---- */

/* The part of an array that a tile of a strip sends to the strip on a side. */
static bool patch_of(const struct strip *strip, const struct array *array, size_t tile,
                     enum side to, struct patch *patch)
{
	const struct heddle_wavefront_request *wave = strip->wave;
	size_t reach = to == BELOW ? wave->reach.above : wave->reach.below;
	size_t row = message_row(&strip->band, wave->reach.below, to == BELOW);

	if (!array_crosses(array))
		return false;
	*patch = (struct patch){.rows = 1,
	                        .columns = tile_columns(&wave->space, &strip->band, tile, row)};
	if (patch->columns.begin == patch->columns.end)
		return false;
	if (array->given.extent == HEDDLE_COLUMNS)
		return to == BELOW;
	patch->rows = reach < strip->band.rows ? reach : strip->band.rows;
	patch->row = strip->band.first + (to == BELOW ? strip->band.rows - patch->rows : 0);
	return patch->rows > 0;
}

static int exchange_add(struct tile *tile, unsigned array, const struct patch *patch,
                        starpu_data_handle_t handle, bool in)
{
	if (tile->nexchanges == tile->room) {
		unsigned room = tile->room ? 2 * tile->room : 8;
		struct exchange *grown = realloc(tile->exchanges, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		tile->exchanges = grown;
		tile->room = room;
	}
	tile->exchanges[tile->nexchanges++] =
	    (struct exchange){.array = array, .patch = *patch, .handle = handle, .in = in};
	tile->strip->wave->nmessages += in;
	return 0;
}

/* ---- arriving ---- */

/* Message `number` of the strip on a side: one that it sent, or made now of what it left
 * in main memory. */
static int hear(struct tile *tile, struct strip *other, enum side side, size_t number)
{
	struct heddle_wavefront_request *wave = tile->strip->wave;
	enum side to = side == ABOVE ? BELOW : ABOVE;
	struct message *message = other->sent[to];
	int status = 0;

	if (message && message->number != number)
		message = NULL;
	for (unsigned i = 0; i < wave->given.narrays && !status; i++) {
		starpu_data_handle_t handle = message ? message->handles[i] : NULL;
		struct patch patch;

		if (!patch_of(other, &wave->arrays[i], strip_tile(other, number), to, &patch) ||
		    (!handle && !tile->strip->away))
			continue;
		if (!handle)
			handle = array_register_patch(&wave->arrays[i], &patch);
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

static int hear_all(struct tile *tile, enum side side)
{
	struct strip *strip = tile->strip, *other = strip_beside(strip, side);
	size_t needs = tile_waits(strip, tile->number, side);
	int status = 0;

	if (!other || needs <= strip->heard[side])
		return 0;
	if (is_apart(strip, other))
		for (size_t n = strip->heard[side]; n < needs && !status; n++)
			status = hear(tile, other, side, n);
	strip->heard[side] = needs;
	return status;
}

/* The first strip away finds what is written from row to row as it was before. */
static int feed(struct tile *tile)
{
	struct strip *strip = tile->strip;
	struct heddle_wavefront_request *wave = strip->wave;
	const struct space *space = &wave->space;
	struct interval columns =
	    tile_columns(space, &strip->band, strip_tile(strip, tile->number), 0);
	struct patch patch = {.rows = 1, .columns = {strip->fed, columns.end + wave->reach.right}};
	int status = 0;

	if (patch.columns.end > space->columns)
		patch.columns.end = space->columns;
	if (patch.columns.begin >= patch.columns.end)
		return 0;
	strip->fed = patch.columns.end;
	for (unsigned i = 0; i < wave->given.narrays && !status; i++) {
		const struct array *array = &wave->arrays[i];

		if (array->given.extent == HEDDLE_COLUMNS && array_crosses(array))
			status = exchange_add(tile, i, &patch, array_register_patch(array, &patch),
			                      true);
	}
	return status;
}

/* ---- leaving ---- */

static int say(struct tile *tile, enum side to)
{
	struct strip *strip = tile->strip;
	struct heddle_wavefront_request *wave = strip->wave;
	struct message *message = NULL;
	int status = 0;

	for (unsigned i = 0; i < wave->given.narrays && !status; i++) {
		struct patch patch;

		/* The last strip's rows go home with the strip; what passes from row to row
		 * goes home in its messages. */
		if (!patch_of(strip, &wave->arrays[i], strip_tile(strip, tile->number), to,
		              &patch) ||
		    (to == BELOW && is_last(strip) &&
		     wave->arrays[i].given.extent != HEDDLE_COLUMNS))
			continue;
		if (!message)
			message = calloc(1, sizeof(*message));
		if (!message)
			return -ENOMEM;
		message->handles[i] = array_register_patch(&wave->arrays[i], &patch);
		status = exchange_add(tile, i, &patch, message->handles[i], false);
	}
	if (!message)
		return 0;
	message->number = tile->number;
	*strip->sent_end[to] = message;
	strip->sent_end[to] = &message->next;
	return status;
}

int tile_exchanges(struct tile *tile)
{
	struct strip *strip = tile->strip;
	struct heddle_wavefront_request *wave = strip->wave;
	int status = 0;

	tile->nexchanges = 0;
	for (enum side side = ABOVE; side < NSIDES && !status; side++)
		status = hear_all(tile, side);
	if (!strip->away || status)
		return status;
	if (!strip->index)
		status = feed(tile);
	if (!status)
		status = say(tile, BELOW);
	if (!status && strip->index && strip_sweep(strip, tile->number) + 1 < wave->sweeps)
		status = say(tile, ABOVE);
	return status;
}

void messages_free(struct strip *strip)
{
	for (enum side to = ABOVE; to < NSIDES; to++)
		while (strip->sent[to]) {
			struct message *message = strip->sent[to];

			strip->sent[to] = message->next;
			for (unsigned i = 0; i < strip->wave->given.narrays; i++)
				if (message->handles[i])
					starpu_data_unregister_submit(message->handles[i]);
			free(message);
		}
}
