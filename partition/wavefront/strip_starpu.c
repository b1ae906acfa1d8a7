/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Strips: bands of rows on the worker that owns them, from their assignment to their
 * way home.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "partition/common/home_starpu.h"
#include "support/message.h"
#include "wavefront_private.h"

/* ---- making strips ---- */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Its part of every array, where it is not in main memory. */
static void strip_register(struct strip *strip)
{
	struct heddle_wavefront_request *wave = strip->wave;
	const struct band *band = &strip->band;

	strip->away = true;
	strip->ghosts[ABOVE] = least(wave->reach.above, band->first);
	strip->ghosts[BELOW] =
	    least(wave->reach.below, wave->space.rows - band->first - band->rows);
	for (unsigned i = 0; i < wave->given.narrays; i++) {
		struct array *array = &wave->arrays[i];
		bool halo = array->given.extent == HEDDLE_FIELD_HALO;

		if (array_is_shared(array)) {
			if (!array->whole)
				array->whole = array_register_whole(array);
			strip->handles[i] = array->whole;
		} else {
			strip->handles[i] =
			    array_register_band(array, band, halo ? strip->ghosts[ABOVE] : 0,
			                        halo ? strip->ghosts[BELOW] : 0);
		}
	}
}

static bool any_away(const struct heddle_wavefront_request *wave)
{
	for (unsigned l = 0; l < wave->nlanes; l++)
		if (!wave->lanes[l].home)
			return true;
	return false;
}

static struct strip **strips_room(struct heddle_wavefront_request *wave)
{
	size_t room = wave->room ? 2 * wave->room : 32;
	struct strip **grown;

	if (wave->nstrips < wave->room)
		return wave->strips;
	grown = realloc(wave->strips, room * sizeof(*grown));
	if (!grown)
		return NULL;
	wave->strips = grown;
	wave->room = room;
	return grown;
}

/* Mutex held: the next `rows` rows. */
static struct strip *strip_new(struct heddle_wavefront_request *wave, struct lane *lane,
                               size_t rows)
{
	struct strip *strip = strips_room(wave) ? calloc(1, sizeof(*strip)) : NULL;

	if (!strip) {
		wave->status = -ENOMEM;
		return NULL;
	}
	strip->wave = wave;
	strip->band = (struct band){wave->rows_given, rows, wave->h};
	strip->index = wave->nstrips;
	strip->owner = lane;
	strip->tiles = band_tiles(&wave->space, &strip->band);
	strip->total = strip->tiles * wave->sweeps;
	for (enum side side = ABOVE; side < NSIDES; side++)
		strip->sent_end[side] = &strip->sent[side];
	wave->strips[wave->nstrips++] = strip;
	wave->rows_given += rows;
	if (lane ? !lane->home : any_away(wave))
		strip_register(strip);
	return strip;
}

/* ---- dealing them out ---- */

/* Mutex held: rows of the next band, of what remains. */
static size_t rows_of(const struct heddle_wavefront_request *wave, size_t rows)
{
	size_t minimum = vectors_minimum_rows(wave->space.vectors, wave->space.nvectors);
	size_t left = wave->space.rows - wave->rows_given;

	if (rows < minimum)
		rows = minimum;
	return left < rows + minimum ? left : rows;
}

/* Mutex held: equal bands that StarPU's policy places. */
static void deal_to_stock(struct heddle_wavefront_request *wave)
{
	size_t bands = (size_t)wave->k * wave->nlanes, rows = wave->space.rows;

	for (size_t b = 0; b < bands && wave->rows_given < rows && !wave->status; b++)
		strip_new(wave, NULL,
		          b + 1 == bands ? rows - wave->rows_given
		                         : rows_of(wave, rows / bands + (b < rows % bands)));
}

/* Mutex held: several sweeps go over bands that stay where they are, so all are dealt
 * out before, k rounds of the lanes, the fastest first. */
static void deal_at_once(struct heddle_wavefront_request *wave)
{
	unsigned order[STARPU_NMAXWORKERS], n = 0;
	bool asked;

	while (crew_pop(&wave->crew, &order[n]))
		n++;
	for (unsigned l = 0; n && !wave->status && wave->rows_given < wave->space.rows; l++) {
		struct lane *lane = &wave->lanes[order[l % n]];
		size_t rows = lane_width(wave, lane, &asked);

		if (l + 1 >= n * wave->k)
			rows = wave->space.rows - wave->rows_given;
		strip_new(wave, lane, rows_of(wave, rows));
	}
}

/* Mutex held: to each lane that waits a band. */
static void deal_in_turn(struct heddle_wavefront_request *wave)
{
	unsigned refused[STARPU_NMAXWORKERS], nrefused = 0, l;

	while (wave->rows_given < wave->space.rows && !wave->status && crew_pop(&wave->crew, &l)) {
		struct lane *lane = &wave->lanes[l];
		struct strip *strip;
		bool asked;
		size_t rows = lane_width(wave, lane, &asked);

		if (!rows) {
			refused[nrefused++] = l;
			continue;
		}
		lane->waiting = false;
		strip = strip_new(wave, lane, rows_of(wave, rows));
		if (strip && asked)
			strip->asked = rows;
	}
	while (nrefused)
		crew_push(&wave->crew, refused[--nrefused], 0);
}

void strips_deal(struct heddle_wavefront_request *wave)
{
	size_t first, last;

	starpu_pthread_mutex_lock(&wave->mutex);
	first = wave->nstrips;
	if (wave->placement == PLACE_BY_STOCK)
		deal_to_stock(wave);
	else if (wave->sweeps > 1)
		deal_at_once(wave);
	else
		deal_in_turn(wave);
	last = wave->nstrips;
	starpu_pthread_mutex_unlock(&wave->mutex);
	for (size_t s = first; s < last; s++) {
		struct strip *strip;

		starpu_pthread_mutex_lock(&wave->mutex);
		strip = wave->strips[s];
		starpu_pthread_mutex_unlock(&wave->mutex);
		strip_advance(strip);
	}
}

/* ---- tile after tile ---- */

/* Mutex held. */
static bool is_ready(const struct strip *strip)
{
	const struct heddle_wavefront_request *wave = strip->wave;
	/* Until it has an owner, one tile finds it. */
	unsigned depth = strip->owner ? strip->owner->depth : 1;

	if (strip->submitting || wave->status || strip->submitted == strip->total ||
	    strip->submitted - strip->done >= depth)
		return false;
	for (enum side side = ABOVE; side < NSIDES; side++) {
		size_t waits = tile_waits(strip, strip->submitted, side);

		if (waits && strip_beside(strip, side)->done < waits)
			return false;
	}
	return true;
}

/* Mutex held: the lane has room for another strip when it has nothing left to submit of
 * this one. */
static bool lane_offer(struct strip *strip)
{
	struct heddle_wavefront_request *wave = strip->wave;
	struct lane *lane = strip->owner;

	if (wave->placement == PLACE_BY_STOCK || wave->sweeps > 1 || lane->waiting ||
	    wave->rows_given == wave->space.rows)
		return false;
	lane->waiting = true;
	crew_push(&wave->crew, lane->index, lane->cp > 0 ? 1 / lane->cp : 0);
	return true;
}

/* Mutex held: the next tile, if it is ready. */
static struct tile *strip_next(struct strip *strip, double now)
{
	struct heddle_wavefront_request *wave = strip->wave;
	struct tile *tile = is_ready(strip) ? tile_new(strip) : NULL;
	int status;

	if (!tile)
		return NULL;
	status = tile_exchanges(tile);
	if (status) {
		wave->status = status;
		tile_free(tile);
		return NULL;
	}
	tile->submit_us = tile->begin_us = now;
	strip->submitting = true;
	strip->submitted++;
	wave->references++;
	wave->ntiles++;
	return tile;
}

static void submission_failed(struct strip *strip, int status)
{
	struct heddle_wavefront_request *wave = strip->wave;

	starpu_pthread_mutex_lock(&wave->mutex);
	if (!wave->status)
		wave->status = heddle_refuse(status, "wavefront %s: StarPU refuses a task: %s",
		                             wave->name, strerror(-status));
	starpu_pthread_mutex_unlock(&wave->mutex);
	wave_release(wave);
}

/* One thread at a time submits a strip's tiles, or they might come in another order. */
void strip_advance(struct strip *strip)
{
	struct heddle_wavefront_request *wave;
	struct lane *lane;
	bool offered = false;
	int status;

	if (!strip)
		return;
	wave = strip->wave;
	for (;;) {
		double before = starpu_timing_now();
		struct tile *tile;

		starpu_pthread_mutex_lock(&wave->mutex);
		tile = strip_next(strip, before);
		lane = strip->owner;
		if (tile && lane && !lane->in_flight++)
			lane->busy_since_us = before;
		if (tile && lane && strip->submitted == strip->total)
			offered = lane_offer(strip);
		/* It may come to its end while this thread is at it. */
		wave->references += tile != NULL;
		starpu_pthread_mutex_unlock(&wave->mutex);
		if (!tile)
			break;
		status = tile_submit(tile);
		starpu_pthread_mutex_lock(&wave->mutex);
		strip->submitting = false;
		wave->overhead_us += starpu_timing_now() - before;
		starpu_pthread_mutex_unlock(&wave->mutex);
		if (status)
			submission_failed(strip, status);
		if (offered) {
			offered = false;
			strips_deal(wave);
		}
		wave_release(wave);
	}
}

void strip_settle(struct strip *strip, struct lane *lane)
{
	struct heddle_wavefront_request *wave = strip->wave;
	starpu_data_handle_t handles[WAVE_MAXARRAYS] = {NULL};

	starpu_pthread_mutex_lock(&wave->mutex);
	strip->owner = lane;
	if (!lane->in_flight++)
		lane->busy_since_us = lane->last_done_us;
	if (lane->home && strip->away) {
		/* It was as good as in place: handles in main memory are the arrays. */
		strip->away = false;
		for (unsigned i = 0; i < wave->given.narrays; i++)
			if (!array_is_shared(&wave->arrays[i]))
				handles[i] = strip->handles[i];
	}
	starpu_pthread_mutex_unlock(&wave->mutex);
	for (unsigned i = 0; i < wave->given.narrays; i++)
		if (handles[i])
			starpu_data_unregister_submit(handles[i]);
}

/* ---- home ---- */

static void arrived(void *wave)
{
	wave_release(wave);
}

static void bring_home(struct heddle_wavefront_request *wave, starpu_data_handle_t handle)
{
	int status;

	starpu_pthread_mutex_lock(&wave->mutex);
	wave->references++;
	starpu_pthread_mutex_unlock(&wave->mutex);
	status = home_bring(handle, arrived, wave);
	if (!status)
		return;
	starpu_data_unregister_submit(handle);
	starpu_pthread_mutex_lock(&wave->mutex);
	if (!wave->status)
		wave->status = status;
	starpu_pthread_mutex_unlock(&wave->mutex);
	wave_release(wave);
}

/* Messages that nobody heard: those of the last strip are the final state. */
static void flush_messages(struct strip *strip, bool home)
{
	struct heddle_wavefront_request *wave = strip->wave;

	while (home && strip->sent[BELOW]) {
		struct message *message = strip->sent[BELOW];

		strip->sent[BELOW] = message->next;
		for (unsigned i = 0; i < wave->given.narrays; i++)
			if (message->handles[i])
				bring_home(wave, message->handles[i]);
		free(message);
	}
	messages_free(strip);
}

/* The strip's part of the arrays goes home, or away for good after a failure. */
void strip_flush(struct strip *strip)
{
	struct heddle_wavefront_request *wave = strip->wave;
	bool last = strip->band.first + strip->band.rows == wave->space.rows;

	flush_messages(strip, last && !wave->status);
	if (!strip->away)
		return;
	for (unsigned i = 0; i < wave->given.narrays; i++) {
		const struct array *array = &wave->arrays[i];

		if (array_is_shared(array) || !strip->handles[i])
			continue;
		if ((array->given.mode & STARPU_W) && array->given.extent != HEDDLE_COLUMNS &&
		    strip->written[i] && !wave->status)
			bring_home(wave, strip->handles[i]);
		else
			starpu_data_unregister_submit(strip->handles[i]);
		strip->handles[i] = NULL;
	}
	strip->away = false;
}

/* Mutex held: nobody needs the strip any more, and nobody has sent it home. Those beside
 * it read its rows in main memory, which go home with it, and its messages. */
static bool may_flush(struct strip *strip)
{
	if (!strip || strip->flushed || strip->done < strip->total)
		return false;
	if (strip->band.first + strip->band.rows < strip->wave->space.rows &&
	    !strip_beside(strip, BELOW))
		return false;
	for (enum side side = ABOVE; side < NSIDES; side++) {
		const struct strip *beside = strip_beside(strip, side);

		if (beside && beside->done < beside->total)
			return false;
	}
	strip->flushed = true;
	return true;
}

void strip_finished(struct strip *strip)
{
	struct heddle_wavefront_request *wave = strip->wave;
	struct strip *flush[3];
	bool deal;

	starpu_pthread_mutex_lock(&wave->mutex);
	flush[0] = strip_beside(strip, ABOVE);
	flush[1] = strip;
	flush[2] = strip_beside(strip, BELOW);
	for (int i = 0; i < 3; i++)
		if (!may_flush(flush[i]))
			flush[i] = NULL;
	if (strip->asked)
		heddle_strategy_completed(wave->blocks, strip->owner->index, strip->asked,
		                          strip->us);
	deal = wave->blocks && wave->crew.n && wave->rows_given < wave->space.rows;
	starpu_pthread_mutex_unlock(&wave->mutex);
	for (int i = 0; i < 3; i++)
		if (flush[i])
			strip_flush(flush[i]);
	if (deal)
		strips_deal(wave);
}

/* ---- the end ---- */

/* Mutex held. */
static bool is_complete(const struct heddle_wavefront_request *wave)
{
	for (size_t s = 0; s < wave->nstrips; s++)
		if (wave->strips[s]->done < wave->strips[s]->total)
			return false;
	return wave->rows_given == wave->space.rows;
}

/* The last reference goes: all is done and at home, or the wavefront has failed. */
void wave_release(struct heddle_wavefront_request *wave)
{
	bool last;

	starpu_pthread_mutex_lock(&wave->mutex);
	last = !--wave->references;
	if (last && !wave->status && !is_complete(wave))
		wave->status =
		    heddle_refuse(-EDEADLK, "wavefront %s: no tile is ready", wave->name);
	starpu_pthread_mutex_unlock(&wave->mutex);
	if (last)
		wave_end(wave);
}
