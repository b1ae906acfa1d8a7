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
#include "apps/common/ranks.h"
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

/* ---- filters ---- */

static int read_tile(struct heddle_event *event)
{
	const struct pipeline *pipeline = event->arg;

	return pipeline_read_tile(pipeline, pipeline_label_tile(pipeline, event->label),
	                          pipeline_label_level(pipeline, event->label), event->out[0]);
}

static void describe_task(struct starpu_task *task, const struct heddle_event *event)
{
	struct pipeline *pipeline = event->arg;
	unsigned l = pipeline_label_level(pipeline, event->label);
	const struct level *level = &pipeline->levels[l];
	const struct heddle_param resolution = {.name = "resolution", .number = level->resolution};

	task->name = level->name;
	if (pipeline->by_level)
		task->priority = 1 + l;
	if (pipeline->where)
		task->where = pipeline->where;
	heddle_task_params(task, &resolution, 1);
}

/* The tile is accepted, or wanted at the next level. */
static int decide_on_tile(struct heddle_event *event)
{
	struct pipeline *pipeline = event->arg;
	unsigned level = pipeline_label_level(pipeline, event->label);
	size_t tile = pipeline_label_tile(pipeline, event->label);

	if (event->worker >= 0)
		atomic_fetch_add(&pipeline->tasks[level][event->worker], 1);
	else
		atomic_fetch_add(&pipeline->others[level], 1);
	if (decide(pipeline, event->in[0], tile, level, &pipeline->results[tile]))
		return heddle_event_send(event,
		                         pipeline->loaded ? &pipeline->tiles
		                                          : &pipeline->levels[level + 1].wanted,
		                         pipeline_label(pipeline, tile, level + 1));
	atomic_fetch_add(&pipeline->done, 1);
	return 0;
}

/* ---- streams ---- */

static size_t slot_of(const struct pipeline *pipeline, uint64_t label, const struct level **level)
{
	*level = &pipeline->levels[pipeline_label_level(pipeline, label)];
	return (*level)->slot_of_tile[pipeline_label_tile(pipeline, label)];
}

static int pixels_of(uint64_t label, starpu_data_handle_t *handles, void *arg)
{
	const struct level *level;
	size_t slot = slot_of(arg, label, &level);

	handles[0] = level->pixels_handles[slot];
	return 1;
}

static int summary_of(uint64_t label, starpu_data_handle_t *handles, void *arg)
{
	const struct level *level;
	size_t slot = slot_of(arg, label, &level);

	handles[0] = level->summary_handles[slot];
	return 1;
}

static int home_of(uint64_t label, void *arg)
{
	const struct pipeline *pipeline = arg;

	return ranks_owner(pipeline->ntiles, pipeline_label_tile(pipeline, label));
}

/* All in memory: tiles, then summaries, both in their slots. Over ranks a summary is judged where
 * it was computed. */
static void connect_loaded(struct pipeline *pipeline, struct heddle_filter *count)
{
	pipeline->tiles = (struct heddle_stream){
	    .name = "tiles", .data = pixels_of, .home = home_of, .n = pipeline->ntiles};
	pipeline->summaries = (struct heddle_stream){.name = "summaries"};
	if (ranks_used()) {
		pipeline->summaries.parts[0].elemsize = sizeof(struct nbia_summary);
		pipeline->summaries.buffers =
		    pipeline->own < MOST_SLOTS ? pipeline->own + 1 : MOST_SLOTS;
	} else {
		pipeline->summaries.data = summary_of;
	}
	count->ports[0] = (struct heddle_port){&pipeline->tiles, &pipeline->summaries};
}

/* Else readers come first. What has come furthest is read first. */
static void connect_read(struct pipeline *pipeline, struct heddle_filter *read,
                         struct heddle_filter *count)
{
	unsigned last = pipeline_last_level(pipeline);

	pipeline->summaries =
	    (struct heddle_stream){.name = "summaries", .parts = {{sizeof(struct nbia_summary)}}};
	for (unsigned l = 0; l <= last; l++) {
		struct level *level = &pipeline->levels[l];

		level->wanted = (struct heddle_stream){.name = "wanted tiles"};
		level->tiles =
		    (struct heddle_stream){.name = level->name,
		                           .parts = {{1, 3 * level->resolution, level->resolution}},
		                           .buffers = level->nslots ? level->nslots : 1};
		pipeline->summaries.buffers += level->tiles.buffers;
		read->ports[last - l] = (struct heddle_port){&level->wanted, &level->tiles};
		count->ports[l] = (struct heddle_port){&level->tiles, &pipeline->summaries};
	}
	pipeline->levels[0].wanted.n = pipeline->ntiles;
}

static int make_flow(struct pipeline *pipeline)
{
	struct heddle_filter filters[] = {
	    {.name = "decide", .function = decide_on_tile, .ports = {{&pipeline->summaries}}},
	    {.codelet = &nbia_codelet,
	     .constants = {pipeline->table_handle},
	     .task = describe_task},
	    {.name = "read", .function = read_tile, .threads = pipeline->options.readers}};

	if (pipeline->loaded)
		connect_loaded(pipeline, &filters[1]);
	else
		connect_read(pipeline, &filters[2], &filters[1]);
	return heddle_flow_create(filters, pipeline->loaded ? 2 : 3, pipeline, &pipeline->flow);
}

/* ---- a whole run ---- */

static void fill_stats(const struct heddle_flow_stats *flow, bool loaded,
                       struct heddle_loop_stats *stats)
{
	*stats = (struct heddle_loop_stats){.us = flow->us,
	                                    .overhead_us = loaded ? flow->submit_us : 0,
	                                    .blocks = flow->tasks,
	                                    .nworkers = flow->nworkers};
	snprintf(stats->strategy, sizeof(stats->strategy), "tasks");
	memcpy(stats->workers, flow->workers, sizeof(stats->workers));
}

/* On all ranks. Of a tile's decisions, which may be those of several ranks, the last one holds. */
static int results_gather(struct pipeline *pipeline)
{
	uint64_t *packed = malloc(pipeline->ntiles * sizeof(*packed));

	if (!packed)
		return heddle_refuse(-ENOMEM, "no memory for the results of other ranks");
	for (size_t tile = 0; tile < pipeline->ntiles; tile++) {
		const struct pipeline_result *result = &pipeline->results[tile];
		uint32_t confidence;

		memcpy(&confidence, &result->confidence, sizeof(confidence));
		packed[tile] = result->label == PIPELINE_NO_LABEL
		                   ? 0
		                   : (uint64_t)(result->level + 1) << 40 |
		                         (uint64_t)result->label << 32 | confidence;
	}
	ranks_largest(packed, pipeline->ntiles);
	for (size_t tile = 0; tile < pipeline->ntiles; tile++) {
		struct pipeline_result *result = &pipeline->results[tile];
		uint32_t confidence = packed[tile];

		if (!packed[tile])
			continue;
		result->level = (packed[tile] >> 40) - 1;
		result->label = packed[tile] >> 32;
		memcpy(&result->confidence, &confidence, sizeof(confidence));
	}
	free(packed);
	return 0;
}

static void tasks_count(struct pipeline *pipeline)
{
	memset(pipeline->counts, 0, sizeof(pipeline->counts));
	for (unsigned l = 0; l < pipeline->options.levels; l++) {
		for (unsigned w = 0; w < starpu_worker_get_count(); w++)
			pipeline->counts[l][heddle_worker_kind(w)] +=
			    atomic_load(&pipeline->tasks[l][w]);
		pipeline->counts[l][HEDDLE_KIND_OTHER] += atomic_load(&pipeline->others[l]);
	}
	ranks_sum(pipeline->counts[0], PIPELINE_LEVELS * HEDDLE_NKINDS);
}

int pipeline_run(struct pipeline *pipeline, struct heddle_loop_stats *stats)
{
	static struct heddle_flow_stats flow;
	struct progress progress;
	int error;

	memset(pipeline->tasks, 0, sizeof(pipeline->tasks));
	memset(pipeline->others, 0, sizeof(pipeline->others));
	atomic_store(&pipeline->done, 0);
	starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
	progress_begin(pipeline->ntiles, &pipeline->done, &progress);
	error = ranks_flow_run(pipeline->flow, &flow);
	progress_end(&progress);
	/* All callbacks have run; StarPU may still be tidying up after them. */
	starpu_task_wait_for_all();
	starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
	fill_stats(&flow, pipeline->loaded, stats);
	tasks_count(pipeline);
	if (!error && pipeline->options.ranks)
		error = ranks_all(results_gather(pipeline));
	return error;
}

void pipeline_forget(struct pipeline *pipeline)
{
	memset(pipeline->results, 0xff, pipeline->ntiles * sizeof(*pipeline->results));
	for (unsigned l = 0; l <= pipeline_last_level(pipeline) && pipeline->loaded; l++)
		for (size_t s = 0; s < pipeline->levels[l].nslots; s++) {
			starpu_data_handle_t handle = pipeline->levels[l].pixels_handles[s];

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
	if (!pipeline->ntiles || app_simulated()) /* nothing will be classified */
		return 0;
	heddle_wait_explain("nbia: learning the tissues, some seconds");
	for (unsigned l = 0; l <= pipeline_last_level(pipeline) && !error; l++)
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
	if (!error && pipeline->loaded)
		error = pipeline_slots_make(pipeline);
	return error ? error : make_flow(pipeline);
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
	ranks_part(made->ntiles, &made->first, &made->own);
	describe_levels(made);
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
	heddle_flow_destroy(pipeline->flow);
	pipeline_slots_free(pipeline);
	if (pipeline->table_handle)
		starpu_data_unregister(pipeline->table_handle);
	heddle_free(pipeline->table, NBIA_TABLE_ENTRIES * sizeof(nbia_u32));
	free(pipeline->results);
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
	return pipeline->counts[level][kind];
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
