/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Dealing bands again while a wavefront of several sweeps runs (balance.h). No strip submits
 * tiles until those under way are done, and devices have written their strips back. Then rows go
 * to their new owners, cut off the strips they were in, and strips go on. Cut strips of one band
 * become one when they are as far: in main memory without further ado, on devices in another such
 * pause.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/message.h"
#include "wavefront_private.h"

/* A pause costs about so many tiles of the slowest worker: the one that it is computing, and what
 * others have to catch up with. */
#define PAUSE_TILES 2

/* ---- speeds ---- */

void wave_balance_add(struct wave_worker *worker, double pace)
{
	wave_speed_add(&worker->speed, worker->plan_cp * pace);
}

/* ---- whether to deal ---- */

/* Bands as they are: strips of one part are one. */
struct bands {
	struct wave_balance balance;
	struct wave_worker **owners;
	double *us;
	size_t *rows, *most, *ends, *wanted;
};

static void bands_fini(struct bands *bands)
{
	free(bands->owners);
	free(bands->us);
	free(bands->rows);
	free(bands->most);
	free(bands->ends);
	free(bands->wanted);
}

/* Mutex held. */
static void bands_fill(const struct heddle_wavefront_request *wave, struct bands *bands)
{
	unsigned n = 0;

	for (size_t s = 0; s < wave->nstrips; s++) {
		const struct wave_strip *strip = wave->strips[s];

		if (!s || strip->part != wave->strips[s - 1]->part) {
			bands->owners[n] = strip->owner;
			strip->owner->cp = wave_speed_us(&strip->owner->speed);
			bands->most[n] = strip->owner->maximum;
			bands->rows[n++] = 0;
		}
		bands->rows[n - 1] += strip->band.rows;
		bands->ends[s] = strip->band.first + strip->band.rows;
	}
	for (unsigned b = 0; b < n; b++)
		for (unsigned other = 0; other < n; other++)
			if (bands->owners[other] == bands->owners[b])
				bands->us[b] += bands->owners[b]->cp;
	bands->balance = (struct wave_balance){
	    .n = n,
	    .us = bands->us,
	    .rows = bands->rows,
	    .most = bands->most,
	    .ends = bands->ends,
	    .nends = wave->nstrips,
	    .minimum = wave_vectors_minimum_rows(wave->space.vectors, wave->space.nvectors)};
}

/* Mutex held. */
static int bands_init(const struct heddle_wavefront_request *wave, struct bands *bands)
{
	size_t n = wave->nstrips;

	*bands = (struct bands){.owners = calloc(n, sizeof(*bands->owners)),
	                        .us = calloc(n, sizeof(*bands->us)),
	                        .rows = calloc(n, sizeof(*bands->rows)),
	                        .most = calloc(n, sizeof(*bands->most)),
	                        .ends = calloc(n, sizeof(*bands->ends)),
	                        .wanted = calloc(n, sizeof(*bands->wanted))};
	if (!bands->owners || !bands->us || !bands->rows || !bands->most || !bands->ends ||
	    !bands->wanted) {
		bands_fini(bands);
		return -ENOMEM;
	}
	bands_fill(wave, bands);
	return 0;
}

/* Transfers of all bands on devices to main memory and back, each link on its own. */
static double transfers_us(const struct heddle_wavefront_request *wave)
{
	double us = 0;

	for (size_t s = 0; s < wave->nstrips; s++) {
		const struct wave_strip *strip = wave->strips[s];
		const struct wave_kind *kind = &wave->model.kinds[strip->owner->kind];

		/* The model counts them for each sweep. */
		if (strip->on_device)
			us = fmax(us, (kind->in + kind->out) * wave->sweeps * strip->band.rows *
			                  wave->space.columns);
	}
	return us;
}

/* Mutex held: columns that rows still have to go through on average. */
static double columns_left(const struct heddle_wavefront_request *wave)
{
	double left = 0;

	for (size_t s = 0; s < wave->nstrips; s++) {
		const struct wave_strip *strip = wave->strips[s];

		left += (double)(strip->total - strip->done) / strip->tiles * strip->band.rows;
	}
	return left / wave->rows * wave->space.columns;
}

/* What a pause costs, or has cost on average. Where other programs disturb the workers, each tile
 * takes much longer with what comes before it, and so does a pause. */
static double pause_us(const struct heddle_wavefront_request *wave, const struct bands *bands)
{
	double tile_us = 0, elapsed_us = starpu_timing_now() - wave->start_us;
	size_t most = 1;

	for (unsigned b = 0; b < bands->balance.n; b++) {
		const struct wave_worker *worker = bands->owners[b];

		tile_us = fmax(tile_us,
		               bands->us[b] * bands->rows[b] * wave->strips[0]->band.tile_columns);
		most = worker->stats.blocks > most ? worker->stats.blocks : most;
	}
	tile_us = fmax(tile_us, elapsed_us / most);
	return fmax(PAUSE_TILES * tile_us + transfers_us(wave),
	            wave->npauses ? wave->paused_us / wave->npauses : 0);
}

/* Mutex held: whether other heights are worth the pause, since a worker's speed has changed. */
static bool is_worth_it(const struct heddle_wavefront_request *wave, const struct wave_speed *speed)
{
	double seen = (double)speed->changed.count * wave->strips[0]->band.tile_columns;
	struct bands bands;
	bool worth;

	if (bands_init(wave, &bands))
		return false;
	bands.balance.columns = fmin(columns_left(wave), WAVE_BALANCE_LASTS * seen);
	bands.balance.pause_us = pause_us(wave, &bands);
	worth = wave_balance_rows(&bands.balance, bands.wanted);
	bands_fini(&bands);
	return worth;
}

/* Mutex held: all speeds are known, and no strip is done, which might be written back already. */
static bool may_stop(const struct heddle_wavefront_request *wave)
{
	if (wave->dealing || wave->status)
		return false;
	for (size_t s = 0; s < wave->nstrips; s++) {
		const struct wave_strip *strip = wave->strips[s];

		if (!(strip->owner->speed.us > 0) || !wave_speed_is_known(&strip->owner->speed) ||
		    strip->submitted == strip->total)
			return false;
	}
	return wave->nstrips > 1;
}

/* Mutex held: no strip goes on.
 * @param again whether bands get other heights */
static void stop(struct heddle_wavefront_request *wave, bool again)
{
	wave->stopped_us = starpu_timing_now();
	wave->dealing = wave->held = true;
	wave->again = again;
	wave->references++;
}

void wave_balance_look(struct heddle_wavefront_request *wave, struct wave_worker *worker)
{
	if (wave->sweeps == 1 || wave->placement != PLACE_BY_SPEED || wave->part ||
	    !wave_speed_has_changed(&worker->speed) || !may_stop(wave) ||
	    !is_worth_it(wave, &worker->speed))
		return;
	heddle_explain("wavefront %s: an iteration takes %s %.3g us instead of %.3g: bands are "
	               "dealt again",
	               wave->name, worker->stats.name, worker->cp, worker->speed.us);
	stop(wave, true);
}

/* ---- joining and holding ---- */

/* Tiles of a band that are as many of another one, counting up to the same point. */
static size_t convert(const struct wave_strip *from, size_t tiles, const struct wave_band *band)
{
	const struct wave_space *space = &from->wave->space;

	return wave_band_done(space, band, wave_band_point(space, &from->band, tiles));
}

/* Whether a strip has done more than what makes it as far as another one. */
static bool is_ahead(const struct wave_strip *strip, const struct wave_strip *other)
{
	return strip->done > convert(other, other->done, &strip->band);
}

static bool is_idle(const struct wave_strip *strip)
{
	return strip->submitted == strip->done && !strip->submitting;
}

static bool may_join(const struct wave_strip *a, const struct wave_strip *b)
{
	return a->part == b->part && is_idle(a) && is_idle(b) && a->done < a->total &&
	       b->done < b->total && !a->on_device && !b->on_device && !is_ahead(a, b) &&
	       !is_ahead(b, a);
}

static void strip_drop(struct wave_strip *strip)
{
	strip->gone = true;
	strip->next = strip->wave->gone;
	strip->wave->gone = strip;
}

/* Mutex held: messages that strips beside have received are counted by the tiles of both. */
static void join_messages(struct wave_strip *strip, const struct wave_strip *below,
                          const struct wave_band *both)
{
	struct wave_strip *above = wave_strip_beside(strip, ABOVE),
	                  *next = wave_strip_beside(below, BELOW);

	strip->received[BELOW] = below->received[BELOW];
	if (above)
		above->received[BELOW] = convert(strip, above->received[BELOW], both);
	if (next)
		next->received[ABOVE] = convert(below, next->received[ABOVE], both);
}

/* Mutex held: the lower one's rows become the upper one's. */
static void join(struct wave_strip *strip, struct wave_strip *below)
{
	struct heddle_wavefront_request *wave = strip->wave;
	struct wave_band both = strip->band;
	size_t upper, lower;

	both.rows += below->band.rows;
	join_messages(strip, below, &both);
	/* One of them may lie before or after the tiles that the other one has there. */
	upper = convert(strip, strip->done, &both);
	lower = convert(below, below->done, &both);
	strip->done = strip->submitted = upper < lower ? upper : lower;
	strip->band = both;
	strip->tiles = wave_band_tiles(&wave->space, &both);
	strip->total = strip->tiles * wave->sweeps;
	strip->us += below->us;
	for (unsigned i = 0; i < wave->given.narrays; i++)
		strip->written[i] |= below->written[i];
	wave->nstrips--;
	for (size_t s = below->index; s < wave->nstrips; s++) {
		wave->strips[s] = wave->strips[s + 1];
		wave->strips[s]->index = s;
	}
	strip_drop(below);
}

struct wave_strip *wave_balance_join(struct wave_strip *strip)
{
	struct wave_strip *above = wave_strip_beside(strip, ABOVE),
	                  *below = wave_strip_beside(strip, BELOW);

	if (strip->wave->dealing)
		return strip;
	if (below && may_join(strip, below))
		join(strip, below);
	if (above && may_join(above, strip)) {
		join(above, strip);
		strip = above;
	}
	return strip;
}

/* Whether a strip must wait until another one of its band is as far: unless that needs more of
 * it. */
static bool waits_to_join(const struct wave_strip *strip, enum wave_side side)
{
	const struct wave_strip *other = wave_strip_beside(strip, side);

	return other && other->part == strip->part && other->submitted < other->total &&
	       is_ahead(strip, other) &&
	       (other->submitted > other->done ||
	        strip->done >=
	            wave_tile_waits(other, other->submitted, side == ABOVE ? BELOW : ABOVE));
}

bool wave_balance_holds(const struct wave_strip *strip)
{
	return strip->gone || strip->wave->dealing || waits_to_join(strip, ABOVE) ||
	       waits_to_join(strip, BELOW);
}

/* ---- joining on devices ---- */

/* Whether they would be equally far when their tiles are done. */
static bool are_level(const struct wave_strip *a, const struct wave_strip *b)
{
	return a->submitted <= convert(b, b->submitted, &a->band) &&
	       b->submitted <= convert(a, a->submitted, &b->band);
}

void wave_balance_tidy(struct heddle_wavefront_request *wave, const struct wave_strip *strip)
{
	double saved = 0;
	struct bands bands;

	if (!wave->ndealt || !strip->on_device || !may_stop(wave))
		return;
	for (size_t s = 1; s < wave->nstrips; s++) {
		const struct wave_strip *a = wave->strips[s - 1], *b = wave->strips[s];
		const struct wave_kind *kind = &wave->model.kinds[b->owner->kind];

		if (a->part != b->part || !a->on_device)
			continue;
		if (!are_level(a, b))
			return;
		saved += (b->total - b->submitted) *
		         (2 * (kind->more_cd + kind->more_cc * b->band.tile_columns));
	}
	if (!(saved > 0) || bands_init(wave, &bands))
		return;
	if (saved > pause_us(wave, &bands))
		stop(wave, false);
	bands_fini(&bands);
}

/* ---- dealing ---- */

bool wave_balance_is_due(struct heddle_wavefront_request *wave)
{
	if (!wave->dealing || wave->cutting || wave->status)
		return false;
	for (size_t s = 0; s < wave->nstrips; s++)
		if (!is_idle(wave->strips[s]))
			return false;
	wave->cutting = true;
	return true;
}

/* The strips of the new bands, in a list of as many as there may be. */
struct pieces {
	size_t n;
	struct wave_strip **strips;
};

static void pieces_free(struct pieces *pieces)
{
	for (size_t s = 0; s < pieces->n; s++)
		free(pieces->strips[s]);
	free(pieces->strips);
}

/* Mutex held: the rows of a strip from `first` on up to `end`. */
static int piece_add(struct pieces *pieces, const struct wave_strip *strip, size_t first,
                     size_t end, struct wave_worker *owner, size_t part)
{
	struct wave_band band = {first, end - first, strip->band.tile_columns};
	struct wave_strip *piece = wave_strip_make(strip->wave, owner, &band);

	if (!piece)
		return -ENOMEM;
	piece->part = part;
	piece->done = piece->submitted = convert(strip, strip->done, &band);
	/* What was written is in main memory. */
	memcpy(piece->written, strip->written, sizeof(piece->written));
	pieces->strips[pieces->n++] = piece;
	return 0;
}

/* Mutex held: cuts all strips where they or the new bands end. */
static int pieces_make(const struct heddle_wavefront_request *wave, const struct bands *bands,
                       struct pieces *pieces)
{
	size_t row = 0, s = 0, end = 0;
	int status = 0;

	*pieces = (struct pieces){0};
	pieces->strips = calloc(wave->nstrips + bands->balance.n, sizeof(*pieces->strips));
	if (!pieces->strips)
		return -ENOMEM;
	for (unsigned b = 0; b < bands->balance.n && !status; b++)
		for (end += bands->wanted[b]; row < end && !status;) {
			const struct wave_strip *strip = wave->strips[s];
			size_t strip_end = strip->band.first + strip->band.rows;
			size_t piece_end = strip_end < end ? strip_end : end;

			status = piece_add(pieces, strip, row, piece_end, bands->owners[b], b);
			row = piece_end;
			s += row == strip_end;
		}
	if (status)
		pieces_free(pieces);
	return status;
}

/* Mutex held: pieces take the place of strips. Those of one band that are equally far are joined,
 * before they get handles. */
static void pieces_use(struct heddle_wavefront_request *wave, const struct pieces *pieces)
{
	for (size_t s = 0; s < wave->nstrips; s++)
		strip_drop(wave->strips[s]);
	free(wave->strips);
	wave->strips = pieces->strips;
	wave->room = wave->nstrips = pieces->n;
	for (size_t s = 0; s < wave->nstrips; s++)
		wave->strips[s]->index = s;
	for (size_t s = 1; s < wave->nstrips;)
		if (may_join(wave->strips[s - 1], wave->strips[s]))
			join(wave->strips[s - 1], wave->strips[s]);
		else
			s++;
	for (size_t s = 0; s < wave->nstrips; s++) {
		struct wave_strip *strip = wave->strips[s];

		for (enum wave_side side = ABOVE; side < NSIDES; side++) {
			const struct wave_strip *beside = wave_strip_beside(strip, side);

			strip->received[side] = beside ? beside->done : 0;
		}
		if (!strip->owner->host)
			wave_strip_register(strip);
	}
}

/* Mutex held. */
static int deal(struct heddle_wavefront_request *wave)
{
	struct pieces pieces;
	struct bands bands;
	int status = bands_init(wave, &bands);

	if (status)
		return status;
	if (wave->again)
		wave_balance_rows(&bands.balance, bands.wanted);
	else
		memcpy(bands.wanted, bands.rows, bands.balance.n * sizeof(*bands.rows));
	status = pieces_make(wave, &bands, &pieces);
	if (!status)
		pieces_use(wave, &pieces);
	bands_fini(&bands);
	for (unsigned l = 0; l < wave->nworkers && wave->again; l++) {
		wave->workers[l].speed = (struct wave_speed){.us = wave->workers[l].cp};
	}
	wave->ndealt += !status && wave->again;
	return status;
}

/* All strips go on, of which others may be joined meanwhile: the last ones first, whose place
 * changes with those above. */
static void advance_all(struct heddle_wavefront_request *wave)
{
	starpu_pthread_mutex_lock(&wave->mutex);
	for (size_t s = wave->nstrips; s--;) {
		struct wave_strip *strip = s < wave->nstrips ? wave->strips[s] : NULL;

		starpu_pthread_mutex_unlock(&wave->mutex);
		wave_strip_advance(strip);
		starpu_pthread_mutex_lock(&wave->mutex);
	}
	starpu_pthread_mutex_unlock(&wave->mutex);
}

/* An array of a strip is in main memory: after the last one strips are cut. */
static void returned(void *arg, int status)
{
	struct heddle_wavefront_request *wave = arg;
	bool last;

	starpu_pthread_mutex_lock(&wave->mutex);
	if (status && !wave->status)
		wave->status = status;
	last = !--wave->returning;
	if (last) {
		if (!wave->status)
			wave->status = deal(wave);
		wave->dealing = wave->cutting = wave->held = false;
		wave->paused_us += starpu_timing_now() - wave->stopped_us;
		wave->npauses++;
	}
	starpu_pthread_mutex_unlock(&wave->mutex);
	if (!last)
		return;
	advance_all(wave);
	wave_release(wave);
}

/* Brings a strip's part of the arrays home. Its messages hold nothing else. */
static void strip_return(struct wave_strip *strip)
{
	struct heddle_wavefront_request *wave = strip->wave;

	wave_messages_free(strip);
	for (unsigned i = 0; i < wave->given.narrays && strip->on_device; i++) {
		const struct wave_array *array = &wave->arrays[i];
		starpu_data_handle_t handle = strip->handles[i];

		if (wave_array_is_shared(array) || !handle)
			continue;
		strip->handles[i] = NULL;
		if (!(array->given.mode & STARPU_W) || !strip->written[i]) {
			starpu_data_unregister_submit(handle);
			continue;
		}
		starpu_pthread_mutex_lock(&wave->mutex);
		wave->returning++;
		starpu_pthread_mutex_unlock(&wave->mutex);
		work_write_back(handle, returned, wave);
	}
	strip->on_device = false;
}

void wave_balance_deal(struct heddle_wavefront_request *wave)
{
	wave->returning = 1;
	for (size_t s = 0; s < wave->nstrips; s++)
		strip_return(wave->strips[s]);
	returned(wave, 0);
}
