/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>
#include <heddle/estimate.h>
#include <heddle/memory.h>

#include "support/message.h"
#include "estimator/platform_starpu.h"
#include "apps/common/app.h"
#include "apps/common/heteroprio.h"
#include "apps/nbia/pipeline_private.h"
#include "apps/nbia/progress.h"
#include "apps/nbia/training.h"

/* ---- what becomes of a tile ---- */

/* Decides on a summary: what the tile shows, and whether it goes on. */
static bool decide(const struct pipeline *pipeline, const struct nbia_summary *summary, size_t tile,
                   unsigned level, struct pipeline_result *result)
{
	struct classifier_verdict verdict = {TISSUE_BACKGROUND, 0};
	double features[NBIA_FEATURES];

	if (!app_simulated()) {
		nbia_features(summary, features);
		classifier_decide(&pipeline->levels[level].classifier, features, &verdict);
	}
	*result = (struct pipeline_result){verdict.label, level, verdict.confidence};
	if (level == pipeline_last_level(pipeline))
		return false;
	if (pipeline->options.recalc >= 0)
		return pipeline_goes_on_by_chance(pipeline, tile, level);
	return !(verdict.confidence >= pipeline->options.confidence);
}

/* ---- its tasks ---- */

/* Remembers the first error; the mutex is held, or nothing runs. */
static void note_error(struct pipeline *pipeline, int error)
{
	if (error && !pipeline->error)
		pipeline->error = error;
}

static void submit_slot(struct slot *slot);

/* The tile's way through a slot is over. Locks the mutex. */
static void leave_slot(struct slot *slot, int error)
{
	struct pipeline *pipeline = slot->pipeline;
	struct level *level = &pipeline->levels[slot->level];
	struct slot *next = NULL;

	STARPU_PTHREAD_MUTEX_LOCK(&pipeline->mutex);
	note_error(pipeline, error);
	pipeline->under_way--;
	if (!pipeline->loaded)
		level->free[level->nfree++] = slot - level->slots;
	if (pipeline->error) {
		/* What is under way ends, nothing is begun. */
	} else if (!slot->goes_on) {
		pipeline->done++;
	} else if (pipeline->loaded) {
		next = &level[1].slots[level[1].slot_of_tile[slot->tile]];
		pipeline->under_way++;
	} else {
		level[1].waiting[level[1].nwaiting++] = slot->tile;
	}
	if (!pipeline->under_way)
		STARPU_PTHREAD_COND_SIGNAL(&pipeline->end);
	if (!pipeline->loaded)
		STARPU_PTHREAD_COND_BROADCAST(&pipeline->work);
	STARPU_PTHREAD_MUTEX_UNLOCK(&pipeline->mutex);
	if (next)
		submit_slot(next);
}

/* The task's end and its result's arrival come in any order. */
static void step(struct slot *slot)
{
	if (atomic_fetch_sub(&slot->pending, 1) == 1)
		leave_slot(slot, slot->call.status);
}

static void task_is_over(void *arg)
{
	struct slot *slot = arg;
	struct starpu_profiling_task_info *info = slot->task->profiling_info;

	if (info && info->workerid >= 0) {
		struct worker *worker = &slot->pipeline->workers[info->workerid];
		double begin = starpu_timing_timespec_to_us(&info->start_time);
		double end = starpu_timing_timespec_to_us(&info->end_time);
		double before = worker->finish_us + slot->pipeline->begin_us;

		/* On a device a task may be launched while the one before it runs. */
		worker->busy_us += fmax(0, end - fmax(begin, before));
		worker->finish_us = fmax(worker->finish_us, end - slot->pipeline->begin_us);
		worker->tasks[slot->level]++;
	}
	step(slot);
}

static void result_arrived(void *arg)
{
	struct slot *slot = arg;
	struct pipeline *pipeline = slot->pipeline;

	if (!slot->call.status)
		slot->goes_on = decide(pipeline, slot->summary, slot->tile, slot->level,
		                       &pipeline->results[slot->tile]);
	starpu_data_release_on_node(slot->summary_handle, STARPU_MAIN_RAM);
	step(slot);
}

static struct starpu_task *make_task(struct slot *slot)
{
	struct level *level = &slot->pipeline->levels[slot->level];
	const struct heddle_param resolution = {.name = "resolution", .number = level->resolution};
	struct starpu_task *task = starpu_task_create();

	task->cl = &nbia_codelet;
	task->name = level->name;
	task->cl_arg = &slot->call;
	task->cl_arg_size = sizeof(slot->call);
	task->handles[0] = slot->pixels_handle;
	task->handles[1] = slot->pipeline->table_handle;
	task->handles[2] = slot->summary_handle;
	task->callback_func = task_is_over;
	task->callback_arg = slot;
	if (slot->pipeline->by_level)
		task->priority = 1 + slot->level;
	if (slot->pipeline->where)
		task->where = slot->pipeline->where;
	heddle_task_params(task, &resolution, 1);
	return task;
}

/* Submits the task of the tile that is in a slot. The pixels are there. */
static void submit_slot(struct slot *slot)
{
	int error;

	slot->call.status = 0;
	slot->goes_on = false;
	atomic_store(&slot->pending, 2);
	slot->task = make_task(slot);
	error = starpu_task_submit(slot->task);
	if (error) {
		slot->task->destroy = 0;
		starpu_task_destroy(slot->task);
		leave_slot(slot, heddle_refuse(error, "no worker can run a tile's task"));
		return;
	}
	starpu_data_acquire_on_node_cb(slot->summary_handle, STARPU_MAIN_RAM, STARPU_R,
	                               result_arrived, slot);
}

/* ---- a run ---- */

/* Whether nothing is under way and nothing will be; the mutex is held. */
static bool is_over(const struct pipeline *pipeline)
{
	return !pipeline->under_way && (pipeline->error || pipeline->done == pipeline->ntiles);
}

/* Tasks of the first level for all tiles; those that callbacks submit come between. */
static void submit_all(struct pipeline *pipeline)
{
	for (size_t tile = 0; tile < pipeline->ntiles; tile++) {
		bool stop;

		STARPU_PTHREAD_MUTEX_LOCK(&pipeline->mutex);
		stop = pipeline->error;
		pipeline->under_way += !stop;
		STARPU_PTHREAD_MUTEX_UNLOCK(&pipeline->mutex);
		if (stop)
			return;
		submit_slot(&pipeline->levels[0].slots[tile]);
	}
}

/* Returns when it is over. */
static void wait_for_end(struct pipeline *pipeline)
{
	struct progress progress;
	bool shown = progress_begin(pipeline->ntiles, &progress);

	STARPU_PTHREAD_MUTEX_LOCK(&pipeline->mutex);
	while (!is_over(pipeline)) {
		if (shown)
			progress_wait(&progress, &pipeline->end, &pipeline->mutex, &pipeline->done);
		else
			STARPU_PTHREAD_COND_WAIT(&pipeline->end, &pipeline->mutex);
	}
	STARPU_PTHREAD_MUTEX_UNLOCK(&pipeline->mutex);
	if (shown)
		progress_end(&progress);
}

/* ---- reading while tasks run, where not all tiles fit into memory ---- */

static struct slot *take_slot(struct pipeline *pipeline, struct level *level, size_t tile)
{
	struct slot *slot = &level->slots[level->free[--level->nfree]];

	slot->tile = tile;
	pipeline->under_way++;
	return slot;
}

/* What can be begun now, what has come furthest first; NULL: nothing. */
static struct slot *take_work(struct pipeline *pipeline)
{
	if (pipeline->error)
		return NULL;
	for (unsigned l = pipeline_last_level(pipeline); l; l--) {
		struct level *level = &pipeline->levels[l];

		if (level->nwaiting && level->nfree)
			return take_slot(pipeline, level, level->waiting[--level->nwaiting]);
	}
	if (pipeline->next < pipeline->ntiles && pipeline->levels[0].nfree)
		return take_slot(pipeline, &pipeline->levels[0], pipeline->next++);
	return NULL;
}

static void read_and_submit(struct slot *slot)
{
	int error = starpu_data_acquire(slot->pixels_handle, STARPU_W);

	if (!error) {
		error = pipeline_read_tile(slot->pipeline, slot->tile, slot->level, slot->pixels);
		starpu_data_release(slot->pixels_handle);
	}
	if (error)
		leave_slot(slot, error);
	else
		submit_slot(slot);
}

static void *reader_run(void *arg)
{
	struct pipeline *pipeline = arg;
	struct slot *slot;

	STARPU_PTHREAD_MUTEX_LOCK(&pipeline->mutex);
	while (!is_over(pipeline)) {
		slot = take_work(pipeline);
		if (!slot) {
			STARPU_PTHREAD_COND_WAIT(&pipeline->work, &pipeline->mutex);
			continue;
		}
		STARPU_PTHREAD_MUTEX_UNLOCK(&pipeline->mutex);
		read_and_submit(slot);
		STARPU_PTHREAD_MUTEX_LOCK(&pipeline->mutex);
	}
	STARPU_PTHREAD_MUTEX_UNLOCK(&pipeline->mutex);
	return NULL;
}

/* Threads read tiles into slots and submit them. */
static int run_readers(struct pipeline *pipeline)
{
	unsigned wanted = pipeline->options.readers, started = 0;
	pthread_t *threads = calloc(wanted, sizeof(*threads));

	while (threads && started < wanted &&
	       !pthread_create(&threads[started], NULL, reader_run, pipeline))
		started++;
	if (started)
		wait_for_end(pipeline);
	for (unsigned t = 0; t < started; t++)
		pthread_join(threads[t], NULL);
	free(threads);
	return started ? 0 : heddle_refuse(-EAGAIN, "no thread to read tiles");
}

/* ---- a whole run ---- */

static void fill_stats(struct pipeline *pipeline, struct heddle_loop_stats *stats)
{
	snprintf(stats->strategy, sizeof(stats->strategy), "tasks");
	for (unsigned w = 0; w < starpu_worker_get_count(); w++) {
		const struct worker *worker = &pipeline->workers[w];
		struct heddle_worker_stats *to = &stats->workers[stats->nworkers++];

		to->id = w;
		to->kind = heddle_worker_kind(w);
		starpu_worker_get_name(w, to->name, sizeof(to->name));
		for (unsigned l = 0; l <= pipeline_last_level(pipeline); l++)
			to->iterations += worker->tasks[l];
		to->blocks = to->iterations;
		to->busy_us = worker->busy_us;
		to->finish_us = worker->finish_us;
		stats->blocks += to->blocks;
	}
}

int pipeline_run(struct pipeline *pipeline, struct heddle_loop_stats *stats)
{
	memset(pipeline->workers, 0, sizeof(pipeline->workers));
	*stats = (struct heddle_loop_stats){0};
	pipeline->next = pipeline->done = 0;
	pipeline->error = 0;
	starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
	pipeline->begin_us = starpu_timing_now();
	if (pipeline->loaded) {
		submit_all(pipeline);
		stats->overhead_us = starpu_timing_now() - pipeline->begin_us;
		wait_for_end(pipeline);
	} else {
		note_error(pipeline, run_readers(pipeline));
	}
	stats->us = starpu_timing_now() - pipeline->begin_us;
	/* All callbacks have run; StarPU may still be tidying up after them. */
	starpu_task_wait_for_all();
	starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
	fill_stats(pipeline, stats);
	return pipeline->error;
}

void pipeline_forget(struct pipeline *pipeline)
{
	memset(pipeline->results, 0xff, pipeline->ntiles * sizeof(*pipeline->results));
	for (unsigned l = 0; l <= pipeline_last_level(pipeline) && pipeline->loaded; l++)
		for (size_t s = 0; s < pipeline->levels[l].nslots; s++) {
			starpu_data_handle_t handle = pipeline->levels[l].slots[s].pixels_handle;

			if (!starpu_data_acquire(handle, STARPU_RW))
				starpu_data_release(handle);
		}
}

/* ---- making ---- */

static int train(struct pipeline *pipeline)
{
	int error = heddle_malloc((void **)&pipeline->table, NBIA_TABLE_ENTRIES * sizeof(nbia_u32));

	if (error)
		return heddle_refuse(error, "no memory for the tables");
	nbia_tables(pipeline->table);
	starpu_vector_data_register(&pipeline->table_handle, STARPU_MAIN_RAM,
	                            (uintptr_t)pipeline->table, NBIA_TABLE_ENTRIES,
	                            sizeof(nbia_u32));
	/* Nobody writes it: then StarPU need not put every task into a queue for it. */
	starpu_data_set_sequential_consistency_flag(pipeline->table_handle, 0);
	for (unsigned l = 0; l <= pipeline_last_level(pipeline) && !error && !app_simulated(); l++)
		error =
		    training_run(pipeline->table, pipeline->side, pipeline->levels[l].resolution,
		                 &pipeline->levels[l].classifier);
	return error;
}

static void describe_levels(struct pipeline *pipeline)
{
	for (unsigned l = 0; l <= pipeline_last_level(pipeline); l++) {
		struct level *level = &pipeline->levels[l];

		level->resolution = pipeline->options.resolutions[l];
		level->bytes = 3 * level->resolution * level->resolution;
		snprintf(level->name, sizeof(level->name), "nbia %zu", level->resolution);
	}
}

static int prepare(struct pipeline *pipeline)
{
	size_t least =
	    2 * pipeline->options.levels * pipeline->levels[pipeline_last_level(pipeline)].bytes;
	int error;

	if (pipeline->options.memory < least)
		return heddle_refuse(-EINVAL, "--memory %zu: tiles of these sizes need %zu bytes",
		                     pipeline->options.memory, least);
	pipeline->results = malloc(pipeline->ntiles * sizeof(*pipeline->results));
	if (!pipeline->results)
		return heddle_refuse(-ENOMEM, "no memory for %zu results", pipeline->ntiles);
	pipeline_slots_count(pipeline);
	error = train(pipeline);
	if (!error)
		error = pipeline_slots_make(pipeline);
	return error;
}

int pipeline_make(const struct slide *slide, const struct pipeline_options *options,
                  struct pipeline **pipeline)
{
	struct pipeline *made = calloc(1, sizeof(*made));
	int error;

	if (!made)
		return heddle_refuse(-ENOMEM, "no memory for the pipeline");
	made->slide = slide;
	made->options = *options;
	made->where = app_where(options->kinds);
	made->by_level = heteroprio_tell(options->levels, 0, made->where);
	made->side = options->resolutions[options->levels - 1];
	made->columns = (slide->width + made->side - 1) / made->side;
	made->rows = (slide->height + made->side - 1) / made->side;
	made->ntiles = made->columns * made->rows;
	describe_levels(made);
	STARPU_PTHREAD_MUTEX_INIT(&made->mutex, NULL);
	STARPU_PTHREAD_COND_INIT(&made->work, NULL);
	STARPU_PTHREAD_COND_INIT(&made->end, NULL);
	error = prepare(made);
	if (error) {
		pipeline_free(made);
		return error;
	}
	pipeline_forget(made);
	*pipeline = made;
	return 0;
}

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	pipeline_slots_free(pipeline);
	if (pipeline->table_handle)
		starpu_data_unregister(pipeline->table_handle);
	heddle_free(pipeline->table, NBIA_TABLE_ENTRIES * sizeof(nbia_u32));
	free(pipeline->results);
	STARPU_PTHREAD_COND_DESTROY(&pipeline->end);
	STARPU_PTHREAD_COND_DESTROY(&pipeline->work);
	STARPU_PTHREAD_MUTEX_DESTROY(&pipeline->mutex);
	free(pipeline);
}

/* ---- results ---- */

size_t pipeline_columns(const struct pipeline *pipeline)
{
	return pipeline->columns;
}

size_t pipeline_rows(const struct pipeline *pipeline)
{
	return pipeline->rows;
}

const struct pipeline_result *pipeline_results(const struct pipeline *pipeline)
{
	return pipeline->results;
}

bool pipeline_is_loaded(const struct pipeline *pipeline)
{
	return pipeline->loaded;
}

size_t pipeline_tasks(const struct pipeline *pipeline, unsigned level, enum heddle_kind kind)
{
	size_t tasks = 0;

	for (unsigned w = 0; w < starpu_worker_get_count(); w++)
		if (heddle_worker_kind(w) == kind)
			tasks += pipeline->workers[w].tasks[level];
	return tasks;
}

double pipeline_differences(const struct pipeline *pipeline, size_t from, size_t to)
{
	unsigned char *pixels = malloc(pipeline->levels[pipeline_last_level(pipeline)].bytes);
	double different = pixels ? 0 : HUGE_VAL;

	for (size_t tile = from; tile < to && pixels; tile++) {
		const struct pipeline_result *got = &pipeline->results[tile];
		struct pipeline_result right;
		struct nbia_summary summary;
		unsigned level = 0;

		do {
			size_t resolution = pipeline->levels[level].resolution;

			if (pipeline_read_tile(pipeline, tile, level, pixels)) {
				free(pixels);
				return HUGE_VAL;
			}
			nbia_reference(pipeline->table, resolution, 3 * resolution, pixels, NULL,
			               &summary);
		} while (decide(pipeline, &summary, tile, level++, &right));
		different += got->label != right.label || got->level != right.level ||
		             got->confidence != right.confidence;
	}
	free(pixels);
	return different;
}
