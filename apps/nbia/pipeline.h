/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tiles on their way, as a flow (heddle/stream.h): read, summarised by a StarPU task, classified,
 * accepted or sent back for the next resolution.
 *
 * Where all tiles that can be wanted fit into memory, they are there before the work begins. Where
 * they do not, each resolution is a stream with a fixed number of buffers, and threads read tiles
 * into those that are free, of the highest resolution first.
 */
#ifndef APPS_NBIA_PIPELINE_H
#define APPS_NBIA_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <heddle/kind.h>
#include <heddle/loop.h>

#include "apps/nbia/classifier.h"
#include "apps/nbia/slide.h"

#define PIPELINE_LEVELS 8 /* resolutions at the most */

struct pipeline_options {
	size_t resolutions[PIPELINE_LEVELS]; /**< ascending; each divides the last one */
	unsigned levels;                     /**< of them, 1 at least */
	double recalc;     /**< share of tiles that go on, 0 to 1, by chance; below 0: those that
	                        are not sure */
	double confidence; /**< at which a label is accepted */
	size_t memory;     /**< bytes of pixels held at once */
	unsigned readers;  /**< threads that read, 1 at least */
	uint64_t seed;     /**< of chance */
	bool ranks;        /**< over all ranks of an MPI program: each reads the slide */
	const bool *kinds; /**< of workers that take part; none set: all */
};

/** What became of a tile. */
struct pipeline_result {
	uint8_t label; /**< enum tissue, or PIPELINE_NO_LABEL */
	uint8_t level; /**< at which it was accepted */
	float confidence;
};
#define PIPELINE_NO_LABEL 255

struct pipeline;

/** Gets ready, reading included where all fits into memory. Between starpu_init() and
 * starpu_shutdown().
 * @param slide read from the first run on; outlives the pipeline
 * @return 0; -EINVAL for memory that is too little or a slide that cannot be read; -ENOMEM;
 * after a message. */
int pipeline_make(const struct slide *slide, const struct pipeline_options *options,
                  struct pipeline **pipeline);

/** Classifies the whole slide.
 * @return 0; -EINVAL for a slide that cannot be read, -EIO when a task failed, -ENODEV when
 * no worker can run one. After a message. */
int pipeline_run(struct pipeline *pipeline, struct heddle_loop_stats *stats);

/** Forgets the results, and all copies of tiles on devices. */
void pipeline_forget(struct pipeline *pipeline);
void pipeline_free(struct pipeline *pipeline);

/** The tiles are so many columns and rows; results are in the order of rows. */
size_t pipeline_columns(const struct pipeline *pipeline);
size_t pipeline_rows(const struct pipeline *pipeline);
const struct pipeline_result *pipeline_results(const struct pipeline *pipeline);

/** Tasks at a level that a kind of worker ran in the last run. */
size_t pipeline_tasks(const struct pipeline *pipeline, unsigned level, enum heddle_kind kind);

/** Whether all tiles are in memory before a run begins. */
bool pipeline_is_loaded(const struct pipeline *pipeline);

/** Does all again for the tiles from…to-1, one after the other with the plain reference.
 * @return tiles whose result is another one; infinity when they cannot be read */
double pipeline_differences(const struct pipeline *pipeline, size_t from, size_t to);

#endif
