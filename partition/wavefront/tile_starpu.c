/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The life of a tile: a task on the worker that owns its strip, and what happens when
 * it is done.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "partition/common/workers_starpu.h"
#include "support/message.h"
#include "wavefront_private.h"

/* ---- spare tiles ---- */

void tile_free(struct tile *tile)
{
	free(tile->exchanges);
	free(tile);
}

/* Mutex held. */
struct tile *tile_new(struct strip *strip)
{
	struct heddle_wavefront_request *wave = strip->wave;
	struct tile *tile = wave->spare;
	size_t number = strip->submitted, index = strip_tile(strip, number);
	const struct band *band = &strip->band;
	size_t phase = wave->space.skew * band->first % band->h;

	if (tile)
		wave->spare = tile->next;
	else
		tile = calloc(1, sizeof(*tile));
	if (!tile)
		return NULL;
	tile->given = (struct heddle_tile){
	    .row = band->first,
	    .rows = band->rows,
	    .column = (ptrdiff_t)(index * band->h) - (ptrdiff_t)phase,
	    .columns = band->h,
	    .skew = wave->space.skew,
	    .total_rows = wave->space.rows,
	    .total_columns = wave->space.columns,
	    .sweep = strip_sweep(strip, number),
	    .arg = wave->given.arg,
	};
	tile->strip = strip;
	tile->number = number;
	tile->away = strip->away;
	tile->iterations = tile_size(&wave->space, band, index).iterations;
	return tile;
}

/* ---- on the worker ---- */

static void call(const struct heddle_wavefront_request *wave, union array_interface *interfaces,
                 struct heddle_tile *given)
{
	unsigned implementation = starpu_task_get_implementation(starpu_task_get_current());
	enum starpu_worker_archtype type = starpu_worker_get_type(starpu_worker_get_id_check());
	const struct starpu_codelet *codelet = wave->given.codelet;
	void *pointers[WAVE_MAXARRAYS];

	for (unsigned i = 0; i < wave->given.narrays; i++)
		pointers[i] = &interfaces[i];
	codelet_function(codelet, type, implementation)(pointers, given);
}

/* Messages lie in main memory in their place: nothing is to be copied. */
static void run_at_home(struct tile *tile)
{
	struct heddle_wavefront_request *wave = tile->strip->wave;
	union array_interface interfaces[WAVE_MAXARRAYS];

	for (unsigned i = 0; i < wave->given.narrays; i++)
		array_interface(&wave->arrays[i], &tile->strip->band, &interfaces[i]);
	call(wave, interfaces, &tile->given);
}

static int copy_messages(const struct tile *tile, const union array_interface *interfaces,
                         void *buffers[], bool in)
{
	const struct heddle_wavefront_request *wave = tile->strip->wave;
	int status = 0;

	for (unsigned e = 0; e < tile->nexchanges && !status; e++) {
		const struct exchange *exchange = &tile->exchanges[e];

		if (exchange->in == in)
			status = array_copy(&wave->arrays[exchange->array], &exchange->patch,
			                    &tile->strip->band, &interfaces[exchange->array],
			                    buffers[wave->given.narrays + e], in);
	}
	return status;
}

static void run_away(struct tile *tile, void *buffers[])
{
	struct heddle_wavefront_request *wave = tile->strip->wave;
	union array_interface interfaces[WAVE_MAXARRAYS];
	int status;

	for (unsigned i = 0; i < wave->given.narrays; i++) {
		size_t above = wave->arrays[i].given.extent == HEDDLE_FIELD_HALO
		                   ? tile->strip->ghosts[ABOVE]
		                   : 0;

		array_enter(&wave->arrays[i], &tile->strip->band, above, buffers[i],
		            &interfaces[i]);
	}
	status = copy_messages(tile, interfaces, buffers, true);
	if (!status) {
		call(wave, interfaces, &tile->given);
		status = copy_messages(tile, interfaces, buffers, false);
	}
	if (status)
		tile->given.status = status;
}

void tile_function(void *buffers[], void *arg)
{
	struct tile *tile = arg;

	tile->begin_us = starpu_timing_now();
	if (starpu_worker_get_type(starpu_worker_get_id_check()) == STARPU_CPU_WORKER)
		run_at_home(tile);
	else
		run_away(tile, buffers);
}

/* ---- when it is done ---- */

/* Whether a tile's time says what iterations take. Tiles at the ends of a skewed band say
 * more of what tiles cost; of a piece the first one may have loaded the kernel. */
static bool is_telling(const struct tile *tile, const struct lane *lane)
{
	double whole = (double)tile->given.rows * tile->given.columns;

	return tile->strip->wave->whole ? lane->stats.blocks && tile->iterations == whole
	                                : tile->iterations * 2 > whole;
}

/* Mutex held: what a tile took shows how fast its lane is. */
static void tell(const struct tile *tile, struct lane *lane, double us)
{
	double rows = tile->given.rows, expected;

	heddle_robust_add(&lane->us, us / tile->iterations);
	lane->fresh++;
	if (!(lane->cost.iteration > 0))
		return;
	expected = tile_cost_us(&lane->cost, rows, tile->iterations / rows);
	/* At home hand-overs are counted apart. */
	if (lane->home)
		expected -= lane->cost.us;
	heddle_robust_add(&lane->pace, us / expected);
	lane->took_us += us;
	lane->expected_us += expected;
}

/* Mutex held. Time counts from when the tile was submitted, or the worker was done with
 * the one before, where that was later; on a CPU worker, from the kernel's beginning. */
static void account(struct tile *tile, struct lane *lane, double now)
{
	double since = tile->submit_us > lane->last_done_us ? tile->submit_us : lane->last_done_us;

	if (lane->home && tile->begin_us > since) {
		if (lane->stats.blocks)
			heddle_robust_add(&lane->handover, tile->begin_us - since);
		since = tile->begin_us;
	}
	lane->last_done_us = now;
	if (is_telling(tile, lane))
		tell(tile, lane, now - since);
	tile->strip->us += now - since;
	log_tile(tile->strip->wave, tile, lane, since, now);
	lane->stats.iterations += tile->iterations;
	lane->stats.blocks++;
	lane->stats.finish_us = now; /* made relative at the end */
	if (!--lane->in_flight)
		lane->stats.busy_us += now - lane->busy_since_us;
}

static void tile_done(void *arg)
{
	struct tile *tile = arg;
	struct strip *strip = tile->strip;
	struct heddle_wavefront_request *wave = strip->wave;
	struct lane *lane = strip->owner;
	struct strip *beside[NSIDES];
	bool finished;

	if (!lane) {
		lane = &wave->lanes[wave->lane_of_worker[starpu_worker_get_id_check()]];
		strip_settle(strip, lane);
	}
	starpu_pthread_mutex_lock(&wave->mutex);
	account(tile, lane, starpu_timing_now());
	if (tile->given.status && !wave->status)
		wave->status =
		    heddle_refuse(tile->given.status, "wavefront %s: the kernel failed on %s: %s",
		                  wave->name, lane->stats.name, strerror(-tile->given.status));
	strip->done++;
	finished = strip->done == strip->total;
	for (enum side side = ABOVE; side < NSIDES; side++)
		beside[side] = strip_beside(strip, side);
	tile->next = wave->spare;
	wave->spare = tile;
	starpu_pthread_mutex_unlock(&wave->mutex);
	/* The strip below waits for this one; then this one goes on. */
	strip_advance(beside[BELOW]);
	strip_advance(strip);
	strip_advance(beside[ABOVE]);
	if (finished)
		strip_finished(strip);
	wave_release(wave);
}

/* ---- as a task ---- */

static int task_data(const struct tile *tile, struct starpu_task *task)
{
	struct strip *strip = tile->strip;
	const struct heddle_wavefront_request *wave = strip->wave;
	unsigned own = tile->away ? wave->given.narrays : 0, n = own + tile->nexchanges;

	task->nbuffers = n;
	if (!n)
		return 0;
	task->dyn_handles = calloc(n, sizeof(*task->dyn_handles));
	task->dyn_modes = calloc(n, sizeof(*task->dyn_modes));
	if (!task->dyn_handles || !task->dyn_modes)
		return -ENOMEM;
	for (unsigned i = 0; i < own; i++) {
		task->dyn_handles[i] = strip->handles[i];
		task->dyn_modes[i] = wave->arrays[i].given.mode;
		if (!(task->dyn_modes[i] & STARPU_W))
			continue;
		/* What earlier tiles wrote stays. */
		if (strip->written[i])
			task->dyn_modes[i] = STARPU_RW;
		else if (wave->arrays[i].given.extent == HEDDLE_COLUMNS)
			task->dyn_modes[i] = STARPU_W;
		strip->written[i] = true;
	}
	for (unsigned e = 0; e < tile->nexchanges; e++) {
		task->dyn_handles[own + e] = tile->exchanges[e].handle;
		task->dyn_modes[own + e] = tile->exchanges[e].in ? STARPU_R : STARPU_W;
	}
	return 0;
}

/* A tile may be done, and used again, before this returns. */
int tile_submit(struct tile *tile)
{
	struct heddle_wavefront_request *wave = tile->strip->wave;
	struct starpu_task *task = starpu_task_create();
	starpu_data_handle_t *once = NULL;
	unsigned nonce = 0;
	int status = task_data(tile, task);

	if (tile->nexchanges && !(once = calloc(tile->nexchanges, sizeof(*once))))
		status = -ENOMEM;
	for (unsigned e = 0; once && e < tile->nexchanges; e++)
		if (tile->exchanges[e].in)
			once[nonce++] = tile->exchanges[e].handle;
	task->cl = &wave->tile_codelet;
	task->cl_arg = tile;
	task->callback_func = tile_done;
	task->callback_arg = tile;
	task->sched_ctx = wave->given.sched_ctx;
	if (tile->strip->owner)
		task_pin(task, tile->strip->owner->stats.id, 0);
	else
		task_choose(task, &wave->workers);
	if (!status) {
		status = task_submit(task, wave->name);
	} else {
		task->destroy = 0;
		starpu_task_destroy(task);
	}
	for (unsigned i = 0; i < nonce; i++)
		starpu_data_unregister_submit(once[i]);
	free(once);
	return status;
}
