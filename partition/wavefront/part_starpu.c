/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A part of a wavefront. Beyond its first or last row lies a strip that another process computes:
 * the strips here wait for its tiles as for those of any other strip in main memory. A tile of it
 * is done when its message has come.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "estimator/estimate_starpu.h"
#include "partition/common/workers_starpu.h"
#include "support/message.h"
#include "wavefront_private.h"

/* A tile at the frontier whose boundary must be in main memory before it can be sent. */
struct leave {
	struct leave *next;
	struct wave_frontier *frontier;
	size_t number;                /* of the tile */
	struct wave_message *message; /* of a strip on a device, until it is written back */
	unsigned pending;             /* handles */
};

/* The end of a range. */
struct wave_frontier {
	struct heddle_wavefront_request *wave;
	enum wave_side side;
	struct wave_strip *beyond; /* the strip there; its `done` counts messages that came. NULL:
	                              there is none */
	struct wave_band edge;     /* the rows here that are sent there */
	size_t going;              /* messages in all */
	size_t ready, sent;        /* that can be sent, and were copied */
	size_t bytes;              /* of the larger of messages there and back */
	struct leave *first, **end;
};

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

struct wave_strip *wave_part_beyond(const struct wave_strip *strip, enum wave_side side)
{
	const struct heddle_wavefront_request *wave = strip->wave;
	const struct wave_range *range = &wave->ranges[strip->range];
	bool last = side == ABOVE
	                ? strip->band.first == range->first
	                : strip->band.first + strip->band.rows == range->first + range->rows;

	return last && wave->frontiers[side] ? wave->frontiers[side][strip->range].beyond : NULL;
}

/* ---- messages ---- */

/* Calls for each row of an array's patch in a message: where it lies in the array, and in the
 * message. */
static void patches_copy(struct wave_frontier *frontier, const struct wave_band *band,
                         enum wave_side to, size_t number, char *message, bool in)
{
	struct heddle_wavefront_request *wave = frontier->wave;
	size_t tile = number % wave_band_tiles(&wave->space, band);

	for (unsigned i = 0; i < wave->given.narrays; i++) {
		const struct wave_array *array = &wave->arrays[i];
		struct wave_patch patch;
		size_t bytes;

		if (!wave_message_patch(wave, band, array, tile, to, &patch))
			continue;
		bytes = (patch.columns.end - patch.columns.begin) * array->given.per_iteration *
		        array->main.elemsize;
		for (size_t row = patch.row; row < patch.row + patch.rows; row++) {
			char *at = wave_array_place(array, row, patch.columns.begin);

			if (in)
				memcpy(at, message, bytes);
			else
				memcpy(message, at, bytes);
			message += bytes;
		}
	}
}

/* Mutex held: the strip at the frontier; NULL: none yet. */
static struct wave_strip *frontier_strip(const struct wave_frontier *frontier)
{
	const struct heddle_wavefront_request *wave = frontier->wave;

	for (size_t s = 0; s < wave->nstrips; s++)
		if (wave_part_beyond(wave->strips[s], frontier->side) == frontier->beyond)
			return wave->strips[s];
	return NULL;
}

/* Messages go in the order of the ranges. */
void wave_part_take(struct heddle_wavefront_request *wave, enum wave_side side, void *buffer)
{
	struct wave_frontier *frontier = wave->frontiers[side];
	struct wave_strip *strip;

	while (frontier->sent == frontier->going)
		frontier++;
	patches_copy(frontier, &frontier->edge, side, frontier->sent, buffer, false);
	starpu_pthread_mutex_lock(&wave->mutex);
	frontier->sent++;
	strip = frontier_strip(frontier);
	starpu_pthread_mutex_unlock(&wave->mutex);
	if (wave->sweeps > 1)
		wave_strip_advance(strip);
}

/* Whoever made this message had all that these rows were needed for before. */
void wave_part_put(struct heddle_wavefront_request *wave, enum wave_side side, const void *buffer)
{
	struct wave_frontier *frontier = wave->frontiers[side];
	struct wave_strip *beyond, *strip;

	while (!frontier->beyond || frontier->beyond->done == frontier->beyond->total)
		frontier++;
	beyond = frontier->beyond;
	patches_copy(frontier, &beyond->band, side == ABOVE ? BELOW : ABOVE, beyond->done,
	             (char *)buffer, true);
	starpu_pthread_mutex_lock(&wave->mutex);
	beyond->done++;
	wave->nmessages++;
	strip = frontier_strip(frontier);
	starpu_pthread_mutex_unlock(&wave->mutex);
	if (!strip)
		return;
	wave_strip_advance(strip);
	if (beyond->done == beyond->total)
		wave_strip_flush_around(strip);
}

void wave_part_traffic(struct heddle_wavefront_request *wave, enum wave_side side,
                       struct wave_traffic *traffic)
{
	const struct wave_frontier *frontier = wave->frontiers[side];

	*traffic = (struct wave_traffic){0};
	for (unsigned r = 0; frontier && r < wave->nranges; r++, frontier++) {
		traffic->coming += frontier->beyond ? frontier->beyond->total : 0;
		traffic->going += frontier->going;
		traffic->bytes = larger(traffic->bytes, frontier->bytes);
	}
}

size_t wave_part_ready(struct heddle_wavefront_request *wave, enum wave_side side)
{
	const struct wave_frontier *frontier = wave->frontiers[side];
	size_t ready = 0;
	bool all = frontier;

	starpu_pthread_mutex_lock(&wave->mutex);
	for (unsigned r = 0; all && r < wave->nranges; r++, frontier++) {
		ready += frontier->ready;
		all = frontier->ready == frontier->going;
	}
	starpu_pthread_mutex_unlock(&wave->mutex);
	return ready;
}

/* ---- tiles at the frontier ---- */

/* A tile of a later sweep must not overwrite what is still to be sent of the sweep before. */
static bool overwrites(const struct wave_strip *strip, const struct wave_frontier *frontier)
{
	const struct wave_space *space = &strip->wave->space;
	const struct wave_band *edge = &frontier->edge;
	size_t sweep = strip_sweep(strip, strip->submitted), tiles, needs;
	struct wave_columns columns;

	if (!sweep || !frontier->going)
		return false;
	columns = wave_tile_columns(space, &strip->band, strip_tile(strip, strip->submitted),
	                            edge->first - strip->band.first);
	if (!columns.end)
		return false;
	tiles = wave_band_tiles(space, edge);
	needs = wave_tile_of(edge, space->skew, edge->rows - 1, columns.end - 1) + 1;
	needs = (sweep - 1) * tiles + (needs < tiles ? needs : tiles);
	return frontier->sent < (needs < frontier->going ? needs : frontier->going);
}

bool wave_part_holds(const struct wave_strip *strip)
{
	for (enum wave_side side = ABOVE; side < NSIDES; side++)
		if (wave_part_beyond(strip, side) &&
		    overwrites(strip, &strip->wave->frontiers[side][strip->range]))
			return true;
	return false;
}

/* Mutex held: what is in main memory can be sent. */
static void frontier_look(struct wave_frontier *frontier, const struct wave_strip *strip)
{
	const struct heddle_wavefront_request *wave = frontier->wave;

	while (frontier->first && !frontier->first->pending) {
		struct leave *leave = frontier->first;
		size_t ready = frontier->going
		                   ? wave_band_covers(&wave->space, &strip->band, leave->number + 1,
		                                      &frontier->edge)
		                   : 0;

		frontier->ready = ready < frontier->going ? ready : frontier->going;
		frontier->first = leave->next;
		if (!frontier->first)
			frontier->end = &frontier->first;
		free(leave);
	}
}

static void written_back(void *arg, int status)
{
	struct leave *leave = arg;
	struct heddle_wavefront_request *wave = leave->frontier->wave;

	starpu_pthread_mutex_lock(&wave->mutex);
	if (status && !wave->status)
		wave->status = status;
	leave->pending--;
	frontier_look(leave->frontier, frontier_strip(leave->frontier));
	starpu_pthread_mutex_unlock(&wave->mutex);
	wave->part->changed(wave->part->arg);
	wave_release(wave);
}

/* Mutex held: the message that a strip on a device has written with a tile. */
static struct wave_message *message_pop(struct wave_strip *strip, enum wave_side to, size_t number)
{
	struct wave_message *message = strip->sent[to];

	if (!message || message->number != number)
		return NULL;
	strip->sent[to] = message->next;
	if (!message->next)
		strip->sent_end[to] = &strip->sent[to];
	return message;
}

static void frontier_computed(struct wave_frontier *frontier, const struct wave_tile *tile)
{
	struct heddle_wavefront_request *wave = frontier->wave;
	struct leave *leave = calloc(1, sizeof(*leave));

	if (!leave) {
		wave->status = wave->status ? wave->status : -ENOMEM;
		return;
	}
	leave->frontier = frontier;
	leave->number = tile->number;
	leave->message = message_pop(tile->strip, frontier->side, tile->number);
	for (unsigned i = 0; leave->message && i < wave->given.narrays; i++)
		leave->pending += leave->message->handles[i] != NULL;
	*frontier->end = leave;
	frontier->end = &leave->next;
	frontier_look(frontier, tile->strip);
}

bool wave_part_computed(const struct wave_tile *tile)
{
	bool changed = false;

	for (enum wave_side side = ABOVE; side < NSIDES; side++)
		if (wave_part_beyond(tile->strip, side)) {
			frontier_computed(&tile->strip->wave->frontiers[side][tile->strip->range],
			                  tile);
			changed = true;
		}
	return changed;
}

/* Mutex held: one that nobody writes back yet. */
static struct leave *leave_find(struct heddle_wavefront_request *wave)
{
	for (enum wave_side side = ABOVE; side < NSIDES; side++)
		for (unsigned r = 0; wave->frontiers[side] && r < wave->nranges; r++)
			for (struct leave *leave = wave->frontiers[side][r].first; leave;
			     leave = leave->next)
				if (leave->message)
					return leave;
	return NULL;
}

static bool leave_begin(struct heddle_wavefront_request *wave)
{
	struct wave_message *message = NULL;
	struct leave *leave;

	starpu_pthread_mutex_lock(&wave->mutex);
	leave = leave_find(wave);
	if (leave) {
		message = leave->message;
		leave->message = NULL;
		wave->references += leave->pending;
	}
	starpu_pthread_mutex_unlock(&wave->mutex);
	/* With the last handle the leave may be gone. */
	for (unsigned i = 0; message && i < wave->given.narrays; i++)
		if (message->handles[i])
			work_write_back(message->handles[i], written_back, leave);
	free(message);
	return message;
}

void wave_part_leave(struct heddle_wavefront_request *wave)
{
	while (leave_begin(wave))
		;
	wave->part->changed(wave->part->arg);
}

/* ---- from beginning to end ---- */

/* Bytes of the largest message of a band. */
static size_t message_bytes(const struct heddle_wavefront_request *wave,
                            const struct wave_band *band)
{
	size_t bytes = 0, columns = band->tile_columns;

	if (columns > wave->space.columns)
		columns = wave->space.columns;
	for (unsigned i = 0; i < wave->given.narrays; i++) {
		const struct wave_array *array = &wave->arrays[i];
		size_t rows = array->given.extent == HEDDLE_COLUMNS ? 1 : band->rows;

		if (wave_array_crosses(array))
			bytes += rows * columns * array->given.per_iteration * array->main.elemsize;
	}
	return bytes;
}

/* What lies above reaches into the part with its last rows; what lies below needs the part's. */
static int frontier_init(struct heddle_wavefront_request *wave, unsigned r, enum wave_side side)
{
	const struct wave_range *range = &wave->ranges[r];
	size_t end = range->first + range->rows;
	size_t h = wave->given.tile_columns, above = wave->reach.above, below = wave->reach.below;
	size_t come = side == ABOVE ? above : below, go = side == ABOVE ? below : above;
	/* A row that nobody needs, if there are no others. */
	size_t rows = come ? come : 1;
	struct wave_band beyond = {side == ABOVE ? range->first - rows : end, rows, h};
	struct wave_frontier *frontier = &wave->frontiers[side][r];

	frontier->wave = wave;
	frontier->side = side;
	frontier->end = &frontier->first;
	frontier->edge = (struct wave_band){side == ABOVE ? range->first : end - go, go, h};
	frontier->beyond = wave_strip_make(wave, NULL, &beyond);
	if (!frontier->beyond)
		return -ENOMEM;
	frontier->beyond->beyond = frontier->beyond->flushed = true;
	frontier->beyond->part = (size_t)-1;
	frontier->beyond->range = r;
	/* Nothing goes up for a sweep that has none after it. */
	frontier->beyond->total =
	    come ? frontier->beyond->tiles * (wave->sweeps - (side == BELOW)) : 0;
	frontier->beyond->submitted = frontier->beyond->total;
	frontier->going =
	    go ? wave_band_tiles(&wave->space, &frontier->edge) * (wave->sweeps - (side == ABOVE))
	       : 0;
	frontier->bytes = larger(message_bytes(wave, &frontier->beyond->band),
	                         message_bytes(wave, &frontier->edge));
	return 0;
}

void wave_part_fini(struct heddle_wavefront_request *wave)
{
	for (enum wave_side side = ABOVE; side < NSIDES; side++) {
		for (unsigned r = 0; wave->frontiers[side] && r < wave->nranges; r++) {
			struct wave_frontier *frontier = &wave->frontiers[side][r];

			while (frontier->first) {
				struct leave *leave = frontier->first;

				frontier->first = leave->next;
				free(leave);
			}
			free(frontier->beyond);
		}
		free(wave->frontiers[side]);
	}
}

int wave_part_init(struct heddle_wavefront_request *wave)
{
	int status = 0;

	if (!wave->part || !wave->rows || !wave->space.columns)
		return 0;
	for (enum wave_side side = ABOVE; side < NSIDES && !status; side++) {
		wave->frontiers[side] = calloc(wave->nranges, sizeof(**wave->frontiers));
		if (!wave->frontiers[side])
			return -ENOMEM;
		for (unsigned r = 0; r < wave->nranges && !status; r++)
			if (wave->ranges[r].beyond[side])
				status = frontier_init(wave, r, side);
	}
	return status;
}

int wave_part_submit(const struct heddle_wavefront *given, const struct wave_part *part,
                     struct heddle_wavefront_request **request)
{
	return wave_submit(given, part, request);
}

static void nothing(void *buffers[], void *arg)
{
	(void)buffers;
	(void)arg;
}

static struct starpu_codelet end_codelet = {
    .name = "heddle_wavefront_end",
    .cpu_funcs = {nothing},
    .cuda_funcs = {nothing},
    .opencl_funcs = {nothing},
#ifdef HEDDLE_USE_HIP
    .hip_funcs = {nothing},
#endif
#ifdef HEDDLE_USE_SIMGRID
    .model = &control_instant_model,
#endif
};

static void release(void *wave)
{
	wave_release(wave);
}

/* The last reference ends the control task, which only StarPU's own threads may do. */
void wave_part_release(struct heddle_wavefront_request *wave)
{
	struct starpu_task *task = starpu_task_create();

	task->cl = &end_codelet;
	task->callback_func = release;
	task->callback_arg = wave;
	task->sched_ctx = wave->given.sched_ctx;
	work_task_pin(task, wave->workers[0].stats.id, 0);
	if (work_task_submit(task, wave->name))
		wave_release(wave);
}

void wave_part_stop(struct heddle_wavefront_request *wave, int status)
{
	starpu_pthread_mutex_lock(&wave->mutex);
	if (!wave->status)
		wave->status = status;
	starpu_pthread_mutex_unlock(&wave->mutex);
}

int wave_part_status(struct heddle_wavefront_request *wave)
{
	int status;

	starpu_pthread_mutex_lock(&wave->mutex);
	status = wave->status;
	starpu_pthread_mutex_unlock(&wave->mutex);
	return status;
}

bool wave_part_is_over(struct heddle_wavefront_request *wave)
{
	bool over;

	starpu_pthread_mutex_lock(&wave->mutex);
	over = wave->over;
	starpu_pthread_mutex_unlock(&wave->mutex);
	return over;
}

void wave_part_ended(struct heddle_wavefront_request *wave)
{
	starpu_pthread_mutex_lock(&wave->mutex);
	wave->over = true;
	starpu_pthread_mutex_unlock(&wave->mutex);
	wave->part->changed(wave->part->arg);
}

void wave_part_shape(const struct heddle_wavefront *given, struct wave_part_shape *shape)
{
	struct heddle_dependence vectors[WAVE_MAXVECTORS];
	unsigned n = wave_vectors_all(given, vectors);
	struct wave_reach reach = wave_vectors_reach(vectors, n);

	*shape = (struct wave_part_shape){.above = reach.above,
	                                  .below = reach.below,
	                                  .minimum = wave_vectors_minimum_rows(vectors, n),
	                                  .skew = wave_vectors_skew(vectors, n)};
}

/* ---- costs ---- */

static void costs_take(const struct heddle_wavefront_request *wave,
                       struct wave_part_worker *workers, unsigned *n)
{
	*n = wave->nworkers;
	for (unsigned l = 0; l < wave->nworkers; l++) {
		const struct wave_worker *worker = &wave->workers[l];
		unsigned class = heddle_device_class(worker->stats.id);

		workers[l].cost = (struct wave_tile_cost){0};
		snprintf(workers[l].name, sizeof(workers[l].name), "%s",
		         heddle_device_class_name(class));
		wave_cost_find(wave, worker, &workers[l].cost);
	}
}

/* Its arrays may not be here yet. */
static int costs_known(const struct heddle_wavefront *wavefront, struct wave_part_worker *workers,
                       unsigned *n)
{
	struct starpu_codelet codelet = *wavefront->codelet;
	struct heddle_wavefront given = *wavefront;
	struct heddle_wavefront_request *wave;
	int status;

	given.codelet = &codelet;
	given.narrays = 0;
	codelet.nbuffers = 0;
	status = wave_make(&given, NULL, NULL, NULL, &wave);
	if (status)
		return status;
	costs_take(wave, workers, n);
	wave_free(wave);
	return 0;
}

int wave_part_costs(const struct heddle_wavefront *wavefront, const struct wave_part *part,
                    struct wave_part_worker *workers, unsigned *n)
{
	struct heddle_wavefront_request *wave;
	int status;

	if (!part)
		return costs_known(wavefront, workers, n);
	status = wave_measure(wavefront, part, &wave);
	if (status)
		return status;
	control_wait(&wave->control);
	status = wave->status;
	costs_take(wave, workers, n);
	wave_free(wave);
	return status;
}
