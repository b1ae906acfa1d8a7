/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tiles: which go on by chance, how they are read, and how many have a place in memory. Where all
 * have, the places themselves.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <heddle/memory.h>

#include "support/message.h"
#include "apps/common/app.h"
#include "apps/common/ranks.h"
#include "apps/nbia/pipeline_private.h"

#define NO_SLOT UINT32_MAX

/* ---- tiles ---- */

bool pipeline_goes_on_by_chance(const struct pipeline *pipeline, size_t tile, unsigned level)
{
	uint64_t drawn = app_random(pipeline->options.seed + 0x9d5c + level, tile) >> 11;

	return ldexp(drawn, -53) < pipeline->options.recalc;
}

int pipeline_read_tile(const struct pipeline *pipeline, size_t tile, unsigned level,
                       unsigned char *pixels)
{
	return slide_read(pipeline->slide, tile % pipeline->columns, tile / pipeline->columns,
	                  pipeline->side, pipeline->levels[level].resolution, pixels);
}

/* ---- their places ---- */

/* The level that a tile can reach, at the most. */
static unsigned furthest(const struct pipeline *pipeline, size_t tile)
{
	unsigned level = 0;

	while (level < pipeline_last_level(pipeline) &&
	       (pipeline->options.recalc < 0 || pipeline_goes_on_by_chance(pipeline, tile, level)))
		level++;
	return level;
}

/* How many of these tiles each level can be asked for. Returns bytes of their pixels. */
static size_t count_slots(struct pipeline *pipeline, size_t first, size_t n)
{
	size_t bytes = 0;

	for (unsigned l = 0; l <= pipeline_last_level(pipeline); l++)
		pipeline->levels[l].nslots = 0;
	for (size_t tile = first; tile < first + n; tile++)
		for (unsigned l = 0; l <= furthest(pipeline, tile); l++) {
			pipeline->levels[l].nslots++;
			bytes += pipeline->levels[l].bytes;
		}
	return bytes;
}

void pipeline_slots_count(struct pipeline *pipeline)
{
	size_t share = pipeline->options.memory / pipeline->options.levels;
	bool fit =
	    count_slots(pipeline, pipeline->first, pipeline->own) <= pipeline->options.memory;

	pipeline->loaded = !ranks_all(fit || app_simulated() ? 0 : -ENOMEM);
	if (!pipeline->loaded)
		count_slots(pipeline, 0, pipeline->ntiles);
	for (unsigned l = 0; l <= pipeline_last_level(pipeline) && !pipeline->loaded; l++) {
		struct level *level = &pipeline->levels[l];
		size_t most = share / level->bytes < MOST_SLOTS ? share / level->bytes : MOST_SLOTS;

		level->nslots = level->nslots < most ? level->nslots : most;
	}
}

static int make_level(struct pipeline *pipeline, struct level *level)
{
	size_t n = level->nslots, held = app_simulated() ? n > 0 : n;
	int error;

	level->slot_of_tile = malloc(pipeline->ntiles * sizeof(uint32_t));
	level->pixels_handles = calloc(n + 1, sizeof(*level->pixels_handles));
	level->summary_handles = calloc(n + 1, sizeof(*level->summary_handles));
	if (!level->slot_of_tile || !level->pixels_handles || !level->summary_handles)
		return -ENOMEM;
	error = heddle_malloc((void **)&level->summaries, n * sizeof(*level->summaries));
	if (!error)
		error = heddle_malloc((void **)&level->pixels, held * level->bytes);
	return error;
}

static unsigned char *slot_pixels(const struct level *level, size_t s)
{
	/* Nobody touches the pixels of a simulation: one tile stands for all. */
	return level->pixels + (app_simulated() ? 0 : s * level->bytes);
}

static void register_slot(struct level *level, size_t s)
{
	size_t row = 3 * level->resolution;

	starpu_matrix_data_register(&level->pixels_handles[s], STARPU_MAIN_RAM,
	                            (uintptr_t)slot_pixels(level, s), row, row, level->resolution,
	                            1);
	starpu_variable_data_register(&level->summary_handles[s], STARPU_MAIN_RAM,
	                              (uintptr_t)&level->summaries[s], sizeof(*level->summaries));
}

/* A slot for each tile that a level can be asked for, in the order of tiles. */
static void assign_tiles(struct pipeline *pipeline)
{
	size_t used[PIPELINE_LEVELS] = {0};

	for (size_t tile = pipeline->first; tile < pipeline->first + pipeline->own; tile++) {
		unsigned last = furthest(pipeline, tile);

		for (unsigned l = 0; l <= pipeline_last_level(pipeline); l++)
			pipeline->levels[l].slot_of_tile[tile] = l <= last ? used[l]++ : NO_SLOT;
	}
}

struct load {
	const struct pipeline *pipeline;
	unsigned level;
};

static double load_tiles(void *arg, size_t begin, size_t end)
{
	const struct load *load = arg;
	const struct level *level = &load->pipeline->levels[load->level];

	for (size_t i = begin; i < end; i++) {
		size_t tile = load->pipeline->first + i, slot = level->slot_of_tile[tile];

		if (slot != NO_SLOT &&
		    pipeline_read_tile(load->pipeline, tile, load->level, slot_pixels(level, slot)))
			return HUGE_VAL;
	}
	return 0;
}

int pipeline_slots_make(struct pipeline *pipeline)
{
	int error = 0;

	for (unsigned l = 0; l <= pipeline_last_level(pipeline) && !error; l++) {
		struct level *level = &pipeline->levels[l];

		error = make_level(pipeline, level);
		for (size_t s = 0; s < level->nslots && !error; s++)
			register_slot(level, s);
	}
	if (error)
		return heddle_refuse(error, "no memory for the tiles");
	assign_tiles(pipeline);
	for (unsigned l = 0; l <= pipeline_last_level(pipeline) && !app_simulated(); l++) {
		struct load load = {pipeline, l};

		if (app_parallel_by(pipeline->own, 1, load_tiles, &load))
			return -EINVAL;
	}
	return 0;
}

static void level_free(struct level *level)
{
	size_t held = app_simulated() ? level->nslots > 0 : level->nslots;

	for (size_t s = 0; level->summary_handles && s < level->nslots; s++) {
		if (level->pixels_handles[s])
			starpu_data_unregister(level->pixels_handles[s]);
		if (level->summary_handles[s])
			starpu_data_unregister(level->summary_handles[s]);
	}
	heddle_free(level->pixels, held * level->bytes);
	heddle_free(level->summaries, level->nslots * sizeof(*level->summaries));
	free(level->pixels_handles);
	free(level->summary_handles);
	free(level->slot_of_tile);
}

void pipeline_slots_free(struct pipeline *pipeline)
{
	for (unsigned l = 0; l <= pipeline_last_level(pipeline) && pipeline->loaded; l++)
		level_free(&pipeline->levels[l]);
}
