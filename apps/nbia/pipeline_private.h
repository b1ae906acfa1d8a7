/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the parts of the pipeline share: the flow and its filters (pipeline.c), and tiles that are
 * in memory from the start (pipeline_slots.c).
 */
#ifndef APPS_NBIA_PIPELINE_PRIVATE_H
#define APPS_NBIA_PIPELINE_PRIVATE_H

#include <stdatomic.h>
#include <starpu.h>
#include <heddle/stream.h>

#include "codelets/nbia/nbia.h"
#include "apps/nbia/pipeline.h"

/* Places for tiles of a level that are read during a run: more would help no policy to choose. */
#define MOST_SLOTS 8192

struct level {
	size_t resolution, bytes; /* of a tile */
	char name[32];            /* of its tasks */
	size_t nslots;            /* places for tiles */
	struct classifier classifier;
	/* All in memory: a place for each tile that can be asked for. */
	uint32_t *slot_of_tile;
	unsigned char *pixels;
	struct nbia_summary *summaries;
	starpu_data_handle_t *pixels_handles, *summary_handles;
	/* Else: streams of tiles that are wanted, by their labels, and of tiles. */
	struct heddle_stream wanted, tiles;
};

struct pipeline {
	const struct slide *slide;
	struct pipeline_options options;
	size_t side, columns, rows, ntiles;
	size_t first, own; /* tiles of this rank */
	struct level levels[PIPELINE_LEVELS];
	bool loaded;
	nbia_u32 *table;
	starpu_data_handle_t table_handle;
	int32_t where;
	bool by_level;              /* the policy wants priorities: those of the levels */
	struct heddle_stream tiles; /* all in memory */
	struct heddle_stream summaries;
	struct heddle_flow *flow;
	struct pipeline_result *results;
	atomic_size_t tasks[PIPELINE_LEVELS][STARPU_NMAXWORKERS];
	atomic_size_t others[PIPELINE_LEVELS]; /* tasks whose summaries came from other ranks */
	/* Of the last run, on all ranks. */
	uint64_t counts[PIPELINE_LEVELS][HEDDLE_NKINDS];
	atomic_size_t done; /* tiles that are accepted */
};

static inline unsigned pipeline_last_level(const struct pipeline *pipeline)
{
	return pipeline->options.levels - 1;
}

/* The label of a tile at a level. */
static inline uint64_t pipeline_label(const struct pipeline *pipeline, size_t tile, unsigned level)
{
	return (uint64_t)level * pipeline->ntiles + tile;
}

static inline unsigned pipeline_label_level(const struct pipeline *pipeline, uint64_t label)
{
	return label / pipeline->ntiles;
}

static inline size_t pipeline_label_tile(const struct pipeline *pipeline, uint64_t label)
{
	return label % pipeline->ntiles;
}

/* ---- pipeline_slots.c ---- */

/** Whether a tile goes on from a level by chance. */
bool pipeline_goes_on_by_chance(const struct pipeline *pipeline, size_t tile, unsigned level);

/** @return 0; -EINVAL, -ENOMEM after a message */
int pipeline_read_tile(const struct pipeline *pipeline, size_t tile, unsigned level,
                       unsigned char *pixels);

/** Decides how many places for tiles each level has, and whether all tiles of this rank that can be
 * wanted are in memory from the start: on all ranks, or on none. */
void pipeline_slots_count(struct pipeline *pipeline);

/** All in memory: makes the places, and reads the tiles.
 * @return 0; -ENOMEM, -EINVAL after a message; pipeline_slots_free() is due in any case */
int pipeline_slots_make(struct pipeline *pipeline);
void pipeline_slots_free(struct pipeline *pipeline);

#endif
