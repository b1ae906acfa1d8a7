/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tiles: which go on by chance, how they are read, and places for their pixels and tasks, a number
 * for each resolution.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <heddle/memory.h>

#include "support/message.h"
#include "apps/common/app.h"
#include "apps/nbia/pipeline_private.h"

/* More would help no policy to choose. */
#define MOST_SLOTS 8192
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

/* How many tiles each level can be asked for, and whether there is room for them all. */
void pipeline_slots_count(struct pipeline *pipeline)
{
	size_t bytes = 0, share = pipeline->options.memory / pipeline->options.levels;

	for (size_t tile = 0; tile < pipeline->ntiles; tile++)
		for (unsigned l = 0; l <= furthest(pipeline, tile); l++) {
			pipeline->levels[l].nslots++;
			bytes += pipeline->levels[l].bytes;
		}
	pipeline->loaded = bytes <= pipeline->options.memory || app_simulated();
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

	level->slots = calloc(n + 1, sizeof(*level->slots));
	if (pipeline->loaded)
		level->slot_of_tile = malloc(pipeline->ntiles * sizeof(uint32_t));
	else {
		level->free = malloc((n + 1) * sizeof(uint32_t));
		level->waiting = malloc(pipeline->ntiles * sizeof(uint32_t));
	}
	if (!level->slots ||
	    (pipeline->loaded ? !level->slot_of_tile : !level->free || !level->waiting))
		return -ENOMEM;
	error = heddle_malloc((void **)&level->summaries, n * sizeof(*level->summaries));
	if (!error)
		error = heddle_malloc((void **)&level->pixels, held * level->bytes);
	return error;
}

static void register_slot(struct pipeline *pipeline, struct level *level, size_t s)
{
	struct slot *slot = &level->slots[s];
	size_t row = 3 * level->resolution;

	slot->pipeline = pipeline;
	slot->level = level - pipeline->levels;
	/* Nobody touches the pixels of a simulation: one tile stands for all. */
	slot->pixels = level->pixels + (app_simulated() ? 0 : s * level->bytes);
	slot->summary = &level->summaries[s];
	starpu_matrix_data_register(&slot->pixels_handle, STARPU_MAIN_RAM, (uintptr_t)slot->pixels,
	                            row, row, level->resolution, 1);
	starpu_variable_data_register(&slot->summary_handle, STARPU_MAIN_RAM,
	                              (uintptr_t)slot->summary, sizeof(*slot->summary));
	if (!pipeline->loaded)
		level->free[level->nfree++] = s;
}

/* All in memory: a slot for each tile that a level can be asked for. */
static void assign_tiles(struct pipeline *pipeline)
{
	size_t used[PIPELINE_LEVELS] = {0};

	for (size_t tile = 0; tile < pipeline->ntiles; tile++) {
		unsigned last = furthest(pipeline, tile);

		for (unsigned l = 0; l <= pipeline_last_level(pipeline); l++) {
			struct level *level = &pipeline->levels[l];

			level->slot_of_tile[tile] = l <= last ? used[l] : NO_SLOT;
			if (l <= last)
				level->slots[used[l]++].tile = tile;
		}
	}
}

struct load {
	const struct pipeline *pipeline;
	const struct level *level;
};

static double load_slots(void *arg, size_t begin, size_t end)
{
	const struct load *load = arg;

	for (size_t s = begin; s < end; s++) {
		const struct slot *slot = &load->level->slots[s];

		if (pipeline_read_tile(load->pipeline, slot->tile, slot->level, slot->pixels))
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
			register_slot(pipeline, level, s);
	}
	if (error)
		return heddle_refuse(error, "no memory for the tiles");
	if (!pipeline->loaded)
		return 0;
	assign_tiles(pipeline);
	for (unsigned l = 0; l <= pipeline_last_level(pipeline) && !app_simulated(); l++) {
		struct load load = {pipeline, &pipeline->levels[l]};

		if (app_parallel_by(load.level->nslots, 1, load_slots, &load))
			return -EINVAL;
	}
	return 0;
}

static void level_free(struct level *level)
{
	size_t held = app_simulated() ? level->nslots > 0 : level->nslots;

	for (size_t s = 0; level->slots && s < level->nslots; s++) {
		if (level->slots[s].pixels_handle)
			starpu_data_unregister(level->slots[s].pixels_handle);
		if (level->slots[s].summary_handle)
			starpu_data_unregister(level->slots[s].summary_handle);
	}
	heddle_free(level->pixels, held * level->bytes);
	heddle_free(level->summaries, level->nslots * sizeof(*level->summaries));
	free(level->slots);
	free(level->slot_of_tile);
	free(level->free);
	free(level->waiting);
}

void pipeline_slots_free(struct pipeline *pipeline)
{
	for (unsigned l = 0; l <= pipeline_last_level(pipeline); l++)
		level_free(&pipeline->levels[l]);
}
