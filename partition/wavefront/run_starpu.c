/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A wavefront at work. A strip is a band of rows and how far its worker is with it. Strips
 * are dealt out to workers; each submits its tiles in their order, when the strips beside it
 * are far enough; a finished strip is written back. The last tile ends the wavefront.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/log.h"
#include "support/message.h"
#include "wavefront_private.h"

static void tile_done(void *tile);

/* ---- log ---- */

struct wave_record {
	unsigned worker;
	struct heddle_tile tile;
	double begin_us, end_us;
};

/* Mutex held. Tiles are kept in memory and written at the end, so that the log does not change
 * what it reports. */
static void log_tile(struct heddle_wavefront_request *wave, const struct wave_tile *tile,
                     const struct wave_worker *worker, double begin_us, double end_us)
{
	if (!wave->logged)
		return;
	if (wave->nrecords == wave->records_room) {
		size_t room = wave->records_room ? 2 * wave->records_room : 256;
		struct wave_record *grown = realloc(wave->records, room * sizeof(*grown));

		if (!grown) {
			wave->nunlogged++;
			return;
		}
		wave->records = grown;
		wave->records_room = room;
	}
	wave->records[wave->nrecords++] =
	    (struct wave_record){worker->index, tile->given, begin_us, end_us};
}

static void record_print(const struct heddle_wavefront_request *wave,
                         const struct wave_record *record, FILE *file)
{
	const struct heddle_worker_stats *worker = &wave->workers[record->worker].stats;
	double zero_us = heddle_log_zero(wave->start_us);

	fprintf(file, "%s,%d,%s,%zu,%zu,%td,%zu,%zu,%zu,%.3f,%.3f,%zu", wave->name, worker->id,
	        heddle_kind_name(worker->kind), record->tile.row, record->tile.rows,
	        record->tile.column, record->tile.columns, record->tile.skew, record->tile.sweep,
	        record->begin_us - zero_us, record->end_us - zero_us, wave->space.columns);
}

/* A CSV line a tile (HEDDLE_TILE_LOG). */
static void log_write(struct heddle_wavefront_request *wave)
{
	struct heddle_log log;

	if (!wave->logged ||
	    heddle_log_open(&log, HEDDLE_VARIABLE_TILE_LOG,
	                    "wavefront,worker,kind,row,rows,column,columns,skew,sweep,begin_us,"
	                    "end_us,total_columns"))
		return;
	for (size_t r = 0; r < wave->nrecords; r++) {
		record_print(wave, &wave->records[r], log.file);
		heddle_log_line_end(&log);
	}
	heddle_log_close(&log);
	if (wave->nunlogged)
		heddle_warn("%s: %s: no memory for %zu tiles of wavefront %s", log.variable,
		            log.path, wave->nunlogged, wave->name);
}

/* ---- making strips ---- */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

void wave_strip_register(struct wave_strip *strip)
{
	struct heddle_wavefront_request *wave = strip->wave;
	const struct wave_band *band = &strip->band;

	strip->on_device = true;
	strip->ghosts[ABOVE] = least(wave->reach.above, band->first);
	strip->ghosts[BELOW] =
	    least(wave->reach.below, wave->space.rows - band->first - band->rows);
	for (unsigned i = 0; i < wave->given.narrays; i++) {
		struct wave_array *array = &wave->arrays[i];
		bool halo = array->given.extent == HEDDLE_FIELD_HALO;

		if (wave_array_is_shared(array)) {
			if (!array->whole)
				array->whole = wave_array_register_whole(array);
			strip->handles[i] = array->whole;
		} else {
			strip->handles[i] =
			    wave_array_register_band(array, band, halo ? strip->ghosts[ABOVE] : 0,
			                             halo ? strip->ghosts[BELOW] : 0);
		}
	}
}

static bool any_device(const struct heddle_wavefront_request *wave)
{
	for (unsigned l = 0; l < wave->nworkers; l++)
		if (!wave->workers[l].host)
			return true;
	return false;
}

static struct wave_strip **strips_room(struct heddle_wavefront_request *wave)
{
	size_t room = wave->room ? 2 * wave->room : 32;
	struct wave_strip **grown;

	if (wave->nstrips < wave->room)
		return wave->strips;
	grown = realloc(wave->strips, room * sizeof(*grown));
	if (!grown)
		return NULL;
	wave->strips = grown;
	wave->room = room;
	return grown;
}

struct wave_strip *wave_strip_make(struct heddle_wavefront_request *wave,
                                   struct wave_worker *worker, const struct wave_band *band)
{
	struct wave_strip *strip = calloc(1, sizeof(*strip));

	if (!strip)
		return NULL;
	strip->wave = wave;
	strip->band = *band;
	strip->owner = worker;
	strip->tiles = wave_band_tiles(&wave->space, band);
	strip->total = strip->tiles * wave->sweeps;
	for (enum wave_side side = ABOVE; side < NSIDES; side++)
		strip->sent_end[side] = &strip->sent[side];
	return strip;
}

/* Mutex held: the next `rows` rows. */
static struct wave_strip *strip_new(struct heddle_wavefront_request *wave,
                                    struct wave_worker *worker, size_t rows)
{
	struct wave_band band = {wave->rows_given, rows, wave->tile_columns};
	struct wave_strip *strip = strips_room(wave) ? wave_strip_make(wave, worker, &band) : NULL;

	if (!strip) {
		wave->status = -ENOMEM;
		return NULL;
	}
	strip->index = strip->part = wave->nstrips;
	strip->range = wave->range;
	wave->strips[wave->nstrips++] = strip;
	wave->rows_given += rows;
	wave->rows_left -= rows;
	if (worker)
		worker->dealt = wave->range + 1;
	if (!wave_range_left(wave) && wave->range + 1 < wave->nranges)
		wave->rows_given = wave->ranges[++wave->range].first;
	if (worker ? !worker->host : any_device(wave))
		wave_strip_register(strip);
	return strip;
}

/* ---- dealing them out ---- */

/* Mutex held: the rows of the next band, at least the minimum and at most what is left. */
static size_t rows_of(const struct heddle_wavefront_request *wave, size_t rows)
{
	size_t minimum = wave_vectors_minimum_rows(wave->space.vectors, wave->space.nvectors);
	size_t left = wave_range_left(wave);

	if (rows < minimum)
		rows = minimum;
	return left < rows + minimum ? left : rows;
}

/* Mutex held: equal bands that StarPU's policy places. */
static void deal_to_stock(struct heddle_wavefront_request *wave)
{
	size_t bands = (size_t)wave->bands_per_worker * wave->nworkers / wave->nranges,
	       left = bands;

	while (wave->rows_left && !wave->status) {
		size_t rows = (wave_range_left(wave) + left - 1) / left;

		strip_new(wave, NULL, rows_of(wave, rows));
		left = wave->rows_given == wave->ranges[wave->range].first ? bands : left - 1;
	}
}

/* Mutex held: several sweeps go over bands that stay where they are. So all are dealt out
 * before, in bands_per_worker rounds over the workers, the fastest first. */
static void deal_at_once(struct heddle_wavefront_request *wave)
{
	unsigned order[STARPU_NMAXWORKERS], n = 0;
	bool asked;

	while (wave_team_pop(&wave->team, &order[n]))
		n++;
	for (unsigned l = 0; n && !wave->status && wave->rows_left; l++) {
		struct wave_worker *worker = &wave->workers[order[l % n]];
		size_t rows = wave_worker_width(wave, worker, &asked);

		if (l + 1 >= n * wave->bands_per_worker)
			rows = wave_range_left(wave);
		strip_new(wave, worker, rows_of(wave, rows));
	}
}

/* Mutex held: gives each worker that waits a band. */
static void deal_in_turn(struct heddle_wavefront_request *wave)
{
	unsigned refused[STARPU_NMAXWORKERS], nrefused = 0, l;

	while (wave->rows_left && !wave->status && wave_team_pop(&wave->team, &l)) {
		struct wave_worker *worker = &wave->workers[l];
		struct wave_strip *strip;
		bool asked;
		size_t rows = wave_worker_width(wave, worker, &asked);

		if (!rows) {
			refused[nrefused++] = l;
			continue;
		}
		worker->waiting = false;
		strip = strip_new(wave, worker, rows_of(wave, rows));
		if (strip && asked)
			strip->asked = rows;
	}
	while (nrefused)
		wave_team_push(&wave->team, refused[--nrefused], 0);
}

/* Gives bands to workers that wait, as long as there are rows. */
static void strips_deal(struct heddle_wavefront_request *wave)
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
		struct wave_strip *strip;

		starpu_pthread_mutex_lock(&wave->mutex);
		strip = s < wave->nstrips ? wave->strips[s] : NULL;
		starpu_pthread_mutex_unlock(&wave->mutex);
		wave_strip_advance(strip);
	}
}

/* ---- tile after tile ---- */

/* Mutex held. */
static bool is_ready(const struct wave_strip *strip)
{
	const struct heddle_wavefront_request *wave = strip->wave;
	/* Until it has an owner, one tile finds it. */
	unsigned depth = strip->owner ? strip->owner->depth : 1;

	if (strip->submitting || wave->status || strip->submitted == strip->total ||
	    strip->submitted - strip->done >= depth || wave_balance_holds(strip))
		return false;
	for (enum wave_side side = ABOVE; side < NSIDES; side++) {
		size_t waits = wave_tile_waits(strip, strip->submitted, side);

		if (waits && wave_strip_beside(strip, side)->done < waits)
			return false;
	}
	return !wave_part_holds(strip);
}

/* Mutex held: a worker that has submitted all tiles of a strip waits for another one.
 * @return whether it does */
static bool worker_offer(struct wave_strip *strip)
{
	struct heddle_wavefront_request *wave = strip->wave;
	struct wave_worker *worker = strip->owner;

	if (wave->placement == PLACE_BY_STOCK || wave->sweeps > 1 || worker->waiting ||
	    !wave->rows_left)
		return false;
	worker->waiting = true;
	wave_team_push(&wave->team, worker->index, worker->cp > 0 ? 1 / worker->cp : 0);
	return true;
}

/* Mutex held: the next tile, if it is ready. */
static struct wave_tile *strip_next(struct wave_strip *strip, double now)
{
	struct heddle_wavefront_request *wave = strip->wave;
	struct wave_tile *tile = is_ready(strip) ? wave_tile_new(strip) : NULL;
	int status;

	if (!tile)
		return NULL;
	status = wave_tile_exchanges(tile);
	if (status) {
		wave->status = status;
		wave_tile_free(tile);
		return NULL;
	}
	tile->submit_us = tile->begin_us = now;
	strip->submitting = true;
	strip->submitted++;
	wave->references++;
	wave->ntiles++;
	return tile;
}

/* What this thread refused is for who waits for the wavefront that a sample is of. */
static void wave_say(struct heddle_wavefront_request *wave)
{
	control_say(&(wave->whole ? wave->whole : wave)->control);
}

static void submission_failed(struct wave_strip *strip, int status)
{
	struct heddle_wavefront_request *wave = strip->wave;

	starpu_pthread_mutex_lock(&wave->mutex);
	if (!wave->status) {
		wave->status = heddle_refuse(status, "wavefront %s: StarPU refuses a task: %s",
		                             wave->name, strerror(-status));
		wave_say(wave);
	}
	starpu_pthread_mutex_unlock(&wave->mutex);
	wave_release(wave);
}

/* One thread at a time submits tiles of a strip, to keep their order. */
void wave_strip_advance(struct wave_strip *strip)
{
	struct heddle_wavefront_request *wave;
	struct wave_worker *worker;
	bool offered = false, due;
	int status;

	if (!strip)
		return;
	wave = strip->wave;
	for (;;) {
		double before = starpu_timing_now();
		struct wave_tile *tile;

		starpu_pthread_mutex_lock(&wave->mutex);
		tile = strip_next(strip, before);
		worker = strip->owner;
		if (tile && worker && !worker->in_flight++)
			worker->busy_since_us = before;
		if (tile && worker && strip->submitted == strip->total)
			offered = worker_offer(strip);
		/* Keeps the wavefront from its end while this thread uses it. */
		wave->references += tile != NULL;
		starpu_pthread_mutex_unlock(&wave->mutex);
		if (!tile)
			break;
		status = wave_tile_submit(tile, tile_done);
		starpu_pthread_mutex_lock(&wave->mutex);
		strip->submitting = false;
		wave->overhead_us += starpu_timing_now() - before;
		due = wave_balance_is_due(wave);
		starpu_pthread_mutex_unlock(&wave->mutex);
		if (status)
			submission_failed(strip, status);
		if (offered) {
			offered = false;
			strips_deal(wave);
		}
		if (due)
			wave_balance_deal(wave);
		wave_release(wave);
	}
}

/* ---- writing back ---- */

static void written_back(void *arg, int status)
{
	struct heddle_wavefront_request *wave = arg;

	if (status) {
		starpu_pthread_mutex_lock(&wave->mutex);
		if (!wave->status)
			wave->status = status;
		starpu_pthread_mutex_unlock(&wave->mutex);
	}
	wave_release(wave);
}

static void write_back(struct heddle_wavefront_request *wave, starpu_data_handle_t handle)
{
	starpu_pthread_mutex_lock(&wave->mutex);
	wave->references++;
	starpu_pthread_mutex_unlock(&wave->mutex);
	work_write_back(handle, written_back, wave);
}

/* Messages that no strip received: those of the last strip are the final state. */
static void flush_messages(struct wave_strip *strip, bool last)
{
	struct heddle_wavefront_request *wave = strip->wave;

	while (last && strip->sent[BELOW]) {
		struct wave_message *message = strip->sent[BELOW];

		strip->sent[BELOW] = message->next;
		for (unsigned i = 0; i < wave->given.narrays; i++)
			if (message->handles[i])
				write_back(wave, message->handles[i]);
		free(message);
	}
	wave_messages_free(strip);
}

/* Writes the strip's part of the arrays back, or drops it after a failure. */
static void strip_flush(struct wave_strip *strip)
{
	struct heddle_wavefront_request *wave = strip->wave;
	bool last = strip->band.first + strip->band.rows == wave->space.rows, failed;

	starpu_pthread_mutex_lock(&wave->mutex);
	failed = wave->status;
	starpu_pthread_mutex_unlock(&wave->mutex);
	flush_messages(strip, last && !failed);
	if (!strip->on_device)
		return;
	for (unsigned i = 0; i < wave->given.narrays; i++) {
		const struct wave_array *array = &wave->arrays[i];

		if (wave_array_is_shared(array) || !strip->handles[i])
			continue;
		if ((array->given.mode & STARPU_W) && array->given.extent != HEDDLE_COLUMNS &&
		    strip->written[i] && !failed)
			write_back(wave, strip->handles[i]);
		else
			starpu_data_unregister_submit(strip->handles[i]);
		strip->handles[i] = NULL;
	}
	strip->on_device = false;
}

/* Mutex held: no strip needs this one any more, and it is not yet written back. The strips
 * beside it read its rows in main memory, which are written back with it, and its messages. */
static bool may_flush(struct wave_strip *strip)
{
	const struct wave_range *range = strip ? &strip->wave->ranges[strip->range] : NULL;

	if (!strip || strip->flushed || strip->done < strip->total)
		return false;
	if (strip->band.first + strip->band.rows < range->first + range->rows &&
	    !wave_strip_beside(strip, BELOW))
		return false;
	for (enum wave_side side = ABOVE; side < NSIDES; side++) {
		const struct wave_strip *beside = wave_strip_beside(strip, side);

		if (beside && beside->done < beside->total)
			return false;
	}
	strip->flushed = true;
	return true;
}

/* Writes back what is no longer needed of a strip and those beside it. */
void wave_strip_flush_around(struct wave_strip *strip)
{
	struct heddle_wavefront_request *wave = strip->wave;
	struct wave_strip *flush[3];

	starpu_pthread_mutex_lock(&wave->mutex);
	flush[0] = wave_strip_beside(strip, ABOVE);
	flush[1] = strip;
	flush[2] = wave_strip_beside(strip, BELOW);
	for (int i = 0; i < 3; i++)
		if (!may_flush(flush[i]))
			flush[i] = NULL;
	starpu_pthread_mutex_unlock(&wave->mutex);
	for (int i = 0; i < 3; i++)
		if (flush[i])
			strip_flush(flush[i]);
}

/* A strip is done: writes back what is no longer needed, and deals out more. */
static void strip_finished(struct wave_strip *strip)
{
	struct heddle_wavefront_request *wave = strip->wave;
	bool deal;

	wave_strip_flush_around(strip);
	starpu_pthread_mutex_lock(&wave->mutex);
	if (strip->asked)
		heddle_strategy_completed(wave->blocks, strip->owner->index, strip->asked,
		                          strip->us);
	deal = wave->blocks && wave->team.n && wave->rows_left;
	starpu_pthread_mutex_unlock(&wave->mutex);
	if (deal)
		strips_deal(wave);
}

/* StarPU's policy has placed the strip's first tile on this worker. */
static void strip_settle(struct wave_strip *strip, struct wave_worker *worker)
{
	struct heddle_wavefront_request *wave = strip->wave;
	starpu_data_handle_t handles[WAVE_MAXARRAYS] = {NULL};

	starpu_pthread_mutex_lock(&wave->mutex);
	strip->owner = worker;
	if (!worker->in_flight++)
		worker->busy_since_us = worker->last_done_us;
	if (worker->host && strip->on_device) {
		/* Its handles were in main memory, where they are the arrays themselves. */
		strip->on_device = false;
		for (unsigned i = 0; i < wave->given.narrays; i++)
			if (!wave_array_is_shared(&wave->arrays[i]))
				handles[i] = strip->handles[i];
	}
	starpu_pthread_mutex_unlock(&wave->mutex);
	for (unsigned i = 0; i < wave->given.narrays; i++)
		if (handles[i])
			starpu_data_unregister_submit(handles[i]);
}

/* ---- a tile is done ---- */

/* Whether a tile's time shows what iterations take. Small tiles at the ends of a skewed band
 * show more of what a tile costs. In a calibration only whole tiles count, and not the first
 * one, which may have loaded the kernel. */
static bool is_telling(const struct wave_tile *tile, const struct wave_worker *worker)
{
	double whole = (double)tile->given.rows * tile->given.columns;

	return tile->strip->wave->whole ? worker->stats.blocks && tile->iterations == whole
	                                : tile->iterations * 2 > whole;
}

/* Mutex held: what a tile took shows how fast its worker is. */
static void speed_add(const struct wave_tile *tile, struct wave_worker *worker, double us)
{
	double rows = tile->given.rows, expected, handover;

	heddle_robust_add(&worker->us, us / tile->iterations);
	worker->fresh++;
	if (!(worker->cost.iteration > 0))
		return;
	expected = wave_cost_us(&worker->cost, rows, tile->iterations / rows);
	/* On a CPU worker hand-overs are measured separately. */
	handover = worker->host ? worker->cost.us : 0;
	wave_balance_add(worker, (us + handover) / expected);
	expected -= handover;
	heddle_robust_add(&worker->pace, us / expected);
	worker->took_us += us;
	worker->expected_us += expected;
}

/* Mutex held: adds a tile to the statistics. Its time begins when it was submitted, or when the
 * worker had done the one before, whichever is later; on a CPU worker, when its kernel began. */
static void tile_account(struct wave_tile *tile, struct wave_worker *worker, double now)
{
	double since =
	    tile->submit_us > worker->last_done_us ? tile->submit_us : worker->last_done_us;

	if (worker->host && tile->begin_us > since) {
		if (worker->stats.blocks)
			heddle_robust_add(&worker->handover, tile->begin_us - since);
		since = tile->begin_us;
	}
	worker->last_done_us = now;
	if (is_telling(tile, worker))
		speed_add(tile, worker, now - since);
	tile->strip->us += now - since;
	log_tile(tile->strip->wave, tile, worker, since, now);
	worker->stats.iterations += tile->iterations;
	worker->stats.blocks++;
	worker->stats.finish_us = now; /* made relative at the end */
	if (!--worker->in_flight)
		worker->stats.busy_us += now - worker->busy_since_us;
}

/* Callback of a tile. */
static void tile_done(void *arg)
{
	struct wave_tile *tile = arg;
	struct wave_strip *strip = tile->strip;
	struct heddle_wavefront_request *wave = strip->wave;
	struct wave_worker *worker = strip->owner;
	struct wave_strip *beside[NSIDES];
	bool finished, due, leaves;

	if (!worker) {
		worker = &wave->workers[wave->worker_of_id[starpu_worker_get_id_check()]];
		strip_settle(strip, worker);
	}
	starpu_pthread_mutex_lock(&wave->mutex);
	tile_account(tile, worker, starpu_timing_now());
	if (tile->given.status && !wave->status) {
		wave->status =
		    heddle_refuse(tile->given.status, "wavefront %s: the kernel failed on %s: %s",
		                  wave->name, worker->stats.name, strerror(-tile->given.status));
		wave_say(wave);
	}
	strip->done++;
	finished = strip->done == strip->total;
	leaves = wave_part_computed(tile);
	strip = wave_balance_join(strip);
	wave_balance_look(wave, worker);
	wave_balance_tidy(wave, strip);
	due = wave_balance_is_due(wave);
	for (enum wave_side side = ABOVE; side < NSIDES; side++)
		beside[side] = wave_strip_beside(strip, side);
	tile->next = wave->spare;
	wave->spare = tile;
	starpu_pthread_mutex_unlock(&wave->mutex);
	if (leaves)
		wave_part_leave(wave);
	/* The strip below comes first: it waits for this one. */
	wave_strip_advance(beside[BELOW]);
	wave_strip_advance(strip);
	wave_strip_advance(beside[ABOVE]);
	if (finished)
		strip_finished(strip);
	if (due)
		wave_balance_deal(wave);
	wave_release(wave);
}

/* ---- the end ---- */

/* Mutex held. */
static bool is_complete(const struct heddle_wavefront_request *wave)
{
	for (size_t s = 0; s < wave->nstrips; s++)
		if (wave->strips[s]->done < wave->strips[s]->total)
			return false;
	return !wave->rows_left;
}

static void wave_end(struct heddle_wavefront_request *wave)
{
	wave->end_us = starpu_timing_now();
	/* What a failure has left. */
	for (size_t s = 0; s < wave->nstrips; s++)
		if (!wave->strips[s]->flushed)
			strip_flush(wave->strips[s]);
	for (unsigned i = 0; i < wave->given.narrays; i++)
		if (wave->arrays[i].whole)
			starpu_data_unregister_submit(wave->arrays[i].whole);
	log_write(wave);
	wave->ended(wave);
}

void wave_release(struct heddle_wavefront_request *wave)
{
	bool last;

	starpu_pthread_mutex_lock(&wave->mutex);
	/* After a failure strips do not get as far as bands would have been dealt. */
	if (wave->held && wave->status && !wave->cutting) {
		wave->held = false;
		wave->references--;
	}
	last = !--wave->references;
	if (last && !wave->status && !is_complete(wave)) {
		wave->status =
		    heddle_refuse(-EDEADLK, "wavefront %s: no tile is ready", wave->name);
		wave_say(wave);
	}
	starpu_pthread_mutex_unlock(&wave->mutex);
	if (last)
		wave_end(wave);
}

/* ---- the beginning ---- */

void wave_begin(struct heddle_wavefront_request *wave)
{
	wave->start_us = starpu_timing_now();
	if (!wave->whole) {
		int status = wave_plan(wave);

		/* Another thread may look at a part. */
		starpu_pthread_mutex_lock(&wave->mutex);
		if (!wave->status)
			wave->status = status;
		starpu_pthread_mutex_unlock(&wave->mutex);
	}
	for (unsigned l = 0; l < wave->nworkers; l++) {
		struct wave_worker *worker = &wave->workers[l];

		worker->last_done_us = wave->start_us;
		worker->speed = (struct wave_speed){.us = worker->cp};
		if (worker->excluded)
			continue;
		worker->waiting = true;
		wave_team_push(&wave->team, l, worker->cp > 0 ? 1 / worker->cp : 0);
	}
	strips_deal(wave);
}
