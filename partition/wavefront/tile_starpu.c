/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A tile as a task on the worker that owns its strip.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "partition/common/workers_starpu.h"
#include "support/message.h"
#include "wavefront_private.h"

/* ---- spare tiles ---- */

void wave_tile_free(struct wave_tile *tile)
{
	free(tile->exchanges);
	free(tile);
}

/* Mutex held. */
struct wave_tile *wave_tile_new(struct wave_strip *strip)
{
	struct heddle_wavefront_request *wave = strip->wave;
	struct wave_tile *tile = wave->spare;
	size_t number = strip->submitted, index = strip_tile(strip, number);
	const struct wave_band *band = &strip->band;
	size_t phase = wave->space.skew * band->first % band->tile_columns;

	if (tile)
		wave->spare = tile->next;
	else
		tile = calloc(1, sizeof(*tile));
	if (!tile)
		return NULL;
	tile->given = (struct heddle_tile){
	    .row = band->first,
	    .rows = band->rows,
	    .column = (ptrdiff_t)(index * band->tile_columns) - (ptrdiff_t)phase,
	    .columns = band->tile_columns,
	    .skew = wave->space.skew,
	    .total_rows = wave->space.rows,
	    .total_columns = wave->space.columns,
	    .sweep = strip_sweep(strip, number),
	    .arg = wave->given.arg,
	};
	tile->strip = strip;
	tile->number = number;
	tile->on_device = strip->on_device;
	tile->iterations = wave_tile_size(&wave->space, band, index).iterations;
	return tile;
}

/* ---- on the worker ---- */

static void call(const struct heddle_wavefront_request *wave,
                 union work_array_interface *interfaces, struct heddle_tile *given)
{
	unsigned implementation = starpu_task_get_implementation(starpu_task_get_current());
	enum starpu_worker_archtype type = starpu_worker_get_type(starpu_worker_get_id_check());
	const struct starpu_codelet *codelet = wave->given.codelet;
	void *pointers[WAVE_MAXARRAYS];

	for (unsigned i = 0; i < wave->given.narrays; i++)
		pointers[i] = &interfaces[i];
	work_codelet_function(codelet, type, implementation)(pointers, given);
}

/* Messages are in their place in main memory: nothing is copied. */
static void run_on_host(struct wave_tile *tile)
{
	struct heddle_wavefront_request *wave = tile->strip->wave;
	union work_array_interface interfaces[WAVE_MAXARRAYS];

	for (unsigned i = 0; i < wave->given.narrays; i++)
		wave_array_interface(&wave->arrays[i], &tile->strip->band, &interfaces[i]);
	call(wave, interfaces, &tile->given);
}

static int copy_messages(const struct wave_tile *tile, const union work_array_interface *interfaces,
                         void *buffers[], bool in)
{
	const struct heddle_wavefront_request *wave = tile->strip->wave;
	int status = 0;

	for (unsigned e = 0; e < tile->nexchanges && !status; e++) {
		const struct wave_exchange *exchange = &tile->exchanges[e];

		if (exchange->in == in)
			status = wave_array_copy(&wave->arrays[exchange->array], &exchange->patch,
			                         &tile->strip->band, &interfaces[exchange->array],
			                         buffers[wave->given.narrays + e], in);
	}
	return status;
}

static void run_on_device(struct wave_tile *tile, void *buffers[])
{
	struct heddle_wavefront_request *wave = tile->strip->wave;
	union work_array_interface interfaces[WAVE_MAXARRAYS];
	int status;

	for (unsigned i = 0; i < wave->given.narrays; i++) {
		size_t above = wave->arrays[i].given.extent == HEDDLE_FIELD_HALO
		                   ? tile->strip->ghosts[ABOVE]
		                   : 0;

		wave_array_enter(&wave->arrays[i], &tile->strip->band, above, buffers[i],
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

void wave_tile_function(void *buffers[], void *arg)
{
	struct wave_tile *tile = arg;

	tile->begin_us = starpu_timing_now();
	if (starpu_worker_get_type(starpu_worker_get_id_check()) == STARPU_CPU_WORKER)
		run_on_host(tile);
	else
		run_on_device(tile, buffers);
}

/* ---- as a task ---- */

static int task_data(const struct wave_tile *tile, struct starpu_task *task)
{
	struct wave_strip *strip = tile->strip;
	const struct heddle_wavefront_request *wave = strip->wave;
	unsigned own = tile->on_device ? wave->given.narrays : 0, n = own + tile->nexchanges;

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
int wave_tile_submit(struct wave_tile *tile, void (*done)(void *tile))
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
	task->callback_func = done;
	task->callback_arg = tile;
	task->sched_ctx = wave->given.sched_ctx;
	if (tile->strip->owner)
		work_task_pin(task, tile->strip->owner->stats.id, 0);
	else
		work_task_choose(task, &wave->ids);
	if (!status) {
		status = work_task_submit(task, wave->name);
	} else {
		task->destroy = 0;
		starpu_task_destroy(task);
	}
	for (unsigned i = 0; i < nonce; i++)
		starpu_data_unregister_submit(once[i]);
	free(once);
	return status;
}
