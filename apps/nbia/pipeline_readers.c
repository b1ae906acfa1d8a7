/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reading while tasks run, where not all tiles fit into memory: threads wait for a slot and a
 * tile, what has come furthest first.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "support/message.h"
#include "apps/nbia/pipeline_private.h"

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
		pipeline_leave(slot, error);
	else
		pipeline_submit(slot);
}

static void *reader_run(void *arg)
{
	struct pipeline *pipeline = arg;
	struct slot *slot;

	STARPU_PTHREAD_MUTEX_LOCK(&pipeline->mutex);
	while (!pipeline_is_over(pipeline)) {
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

int pipeline_run_readers(struct pipeline *pipeline)
{
	unsigned wanted = pipeline->options.readers, started = 0;
	pthread_t *threads = calloc(wanted, sizeof(*threads));

	while (threads && started < wanted &&
	       !pthread_create(&threads[started], NULL, reader_run, pipeline))
		started++;
	if (started)
		pipeline_wait(pipeline);
	for (unsigned t = 0; t < started; t++)
		pthread_join(threads[t], NULL);
	free(threads);
	return started ? 0 : heddle_refuse(-EAGAIN, "no thread to read tiles");
}
