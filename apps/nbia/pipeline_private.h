/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the parts of the pipeline share: runs (pipeline.c), and tiles with the places for their
 * pixels (pipeline_slots.c).
 */
#ifndef APPS_NBIA_PIPELINE_PRIVATE_H
#define APPS_NBIA_PIPELINE_PRIVATE_H

#include <stdatomic.h>
#include <starpu.h>

#include "codelets/nbia/nbia.h"
#include "apps/nbia/pipeline.h"

/* A place for one tile's pixels at one level, and for the task that works on them. */
struct slot {
	struct pipeline *pipeline;
	unsigned level;
	size_t tile;
	unsigned char *pixels;
	struct nbia_summary *summary;
	starpu_data_handle_t pixels_handle, summary_handle;
	struct nbia_call call;
	struct starpu_task *task;
	atomic_uint pending; /* of: task is over, result is in main memory */
	bool goes_on;
};

struct level {
	size_t resolution, bytes; /* of a tile */
	char name[32];            /* of its tasks */
	struct slot *slots;
	struct nbia_summary *summaries;
	unsigned char *pixels;
	size_t nslots;
	uint32_t *slot_of_tile; /* all in memory: which slot it is in, or NO_SLOT */
	uint32_t *free;         /* else: a stack of those that are free … */
	size_t nfree;
	uint32_t *waiting; /* … and of the tiles that wait for one */
	size_t nwaiting;
	struct classifier classifier;
};

/* What a worker did in a run; only written by the thread that drives it. */
struct worker {
	size_t tasks[PIPELINE_LEVELS];
	double busy_us, finish_us;
};

struct pipeline {
	const struct slide *slide;
	struct pipeline_options options;
	size_t side, columns, rows, ntiles;
	struct level levels[PIPELINE_LEVELS];
	bool loaded;
	nbia_u32 *table;
	starpu_data_handle_t table_handle;
	int32_t where;
	bool by_level; /* the policy wants priorities: those of the levels */
	struct pipeline_result *results;
	struct worker workers[STARPU_NMAXWORKERS];
	double begin_us;

	starpu_pthread_mutex_t mutex; /* for what follows, and the levels' stacks */
	starpu_pthread_cond_t work;   /* a slot or a waiting tile for the readers */
	starpu_pthread_cond_t end;    /* nothing is under way any more */
	size_t next, done, under_way; /* tiles: not begun yet; accepted; in slots */
	int error;                    /* the first one */
};

static inline unsigned pipeline_last_level(const struct pipeline *pipeline)
{
	return pipeline->options.levels - 1;
}

/* ---- pipeline_slots.c ---- */

/** Whether a tile goes on from a level by chance. */
bool pipeline_goes_on_by_chance(const struct pipeline *pipeline, size_t tile, unsigned level);

/** @return 0; -EINVAL, -ENOMEM after a message */
int pipeline_read_tile(const struct pipeline *pipeline, size_t tile, unsigned level,
                       unsigned char *pixels);

/** Decides how many slots each level has, and whether all tiles that can be wanted are
 * in memory from the start. */
void pipeline_slots_count(struct pipeline *pipeline);

/** Makes as many, and reads the tiles where all are in memory.
 * @return 0; -ENOMEM, -EINVAL after a message; pipeline_slots_free() is due in any case */
int pipeline_slots_make(struct pipeline *pipeline);
void pipeline_slots_free(struct pipeline *pipeline);

#endif
