/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Warm start (HEDDLE_WARM): the rates of a loop are kept in its codelet's
 * profile, for later loops of this process and, written when it ends, of others.
 */
#include "config.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "loop_private.h"
#include "estimator/estimate_starpu.h"
#include "support/message.h"
#include "estimator/profile_file.h"
#include "rates.h"

struct kept {
	struct kept *next;
	char *codelet;
	char path[PATH_MAX];
	struct heddle_profile known; /* from the file and this process */
	struct heddle_profile news;  /* of this process, not written yet */
};

/* Guards the list, and what is in it. Files are read and written without it. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct kept *all; /* kept to the end of the process */

/* Written once, when the process ends, because files are slow compared with loops. */
static void write_all(void)
{
	struct kept *kept;

	pthread_mutex_lock(&mutex);
	kept = all;
	pthread_mutex_unlock(&mutex);
	for (; kept; kept = kept->next) {
		struct heddle_profile news;

		pthread_mutex_lock(&mutex);
		news = kept->news;
		kept->news = (struct heddle_profile){0};
		pthread_mutex_unlock(&mutex);
		if (*kept->path && news.n)
			heddle_profile_update(kept->path, &news);
		heddle_profile_free(&news);
	}
}

static void write_at_exit(void)
{
	atexit(write_all);
}

static void kept_free(struct kept *kept)
{
	heddle_profile_free(&kept->known);
	free(kept->codelet);
	free(kept);
}

/* From the profile of a codelet. NULL: no memory. */
static struct kept *kept_read(const char *codelet)
{
	struct kept *kept = calloc(1, sizeof(*kept));

	if (!kept)
		return NULL;
	kept->codelet = strdup(codelet);
	if (!kept->codelet) {
		free(kept);
		return NULL;
	}
	if (heddle_profile_path(codelet, kept->path, sizeof(kept->path))) {
		heddle_warn("loop %s: no folder for its rates (HEDDLE_PROFILE_DIR); this process "
		            "alone will know them",
		            codelet);
		*kept->path = 0;
	} else {
		heddle_profile_read(kept->path, &kept->known);
	}
	return kept;
}

/* Mutex held. */
static struct kept *kept_find(const char *codelet)
{
	struct kept *kept = all;

	while (kept && strcmp(kept->codelet, codelet))
		kept = kept->next;
	return kept;
}

/* Of the loop's codelet, read from its profile the first time. NULL: no memory. */
static struct kept *kept_of(const struct heddle_loop_request *loop)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const char *codelet = loop->loop.codelet->name ? loop->loop.codelet->name : loop->name;
	struct kept *found, *read;

	pthread_once(&once, write_at_exit);
	pthread_mutex_lock(&mutex);
	found = kept_find(codelet);
	pthread_mutex_unlock(&mutex);
	if (found || !(read = kept_read(codelet)))
		return found;
	/* Another thread may have read it, too. */
	pthread_mutex_lock(&mutex);
	found = kept_find(codelet);
	if (!found) {
		read->next = all;
		all = read;
	}
	pthread_mutex_unlock(&mutex);
	if (!found)
		return read;
	kept_free(read);
	return found;
}

static size_t iteration_bytes(const struct heddle_loop_request *loop)
{
	return loop_views_footprint(loop->views, loop->loop.naccesses).per_iteration;
}

void loop_rates_recall(const struct heddle_loop_request *loop,
                       struct heddle_strategy_worker *workers)
{
	size_t bytes = iteration_bytes(loop);
	struct kept *kept = kept_of(loop);

	pthread_mutex_lock(&mutex);
	for (unsigned l = 0; kept && l < loop->nworkers; l++) {
		unsigned class = heddle_device_class(loop->workers[l].stats.id);
		struct loop_rate rate;

		if (loop_rates_find(&kept->known, heddle_device_class_name(class), bytes,
		                    kept->path, &rate))
			continue;
		workers[l].rate = 1 / rate.pace;
		workers[l].start_us = rate.start_us;
	}
	pthread_mutex_unlock(&mutex);
	for (unsigned l = 0; l < loop->nworkers; l++)
		if (workers[l].rate > 0)
			heddle_explain("loop %s: %s did %g iterations/us before, and %g us a block",
			               loop->name, loop->workers[l].stats.name, workers[l].rate,
			               workers[l].start_us);
}

/* Mutex held: what the workers of a class have done. */
static void class_keep(struct kept *kept, const struct heddle_loop_request *loop, unsigned class)
{
	struct heddle_block_time times[STARPU_NMAXWORKERS];
	const char *device = heddle_device_class_name(class);
	unsigned n = 0, blocks;
	struct loop_rate rate;
	double now = time(NULL);

	for (unsigned l = 0; l < loop->nworkers; l++)
		if (heddle_device_class(loop->workers[l].stats.id) == class)
			times[n++] = loop->workers[l].time;
	if (loop_rates_mean(times, n, &rate, &blocks))
		return;
	loop_rates_add(&kept->known, device, iteration_bytes(loop), &rate, blocks, now);
	loop_rates_add(&kept->news, device, iteration_bytes(loop), &rate, blocks, now);
}

void loop_rates_keep(const struct heddle_loop_request *loop)
{
	struct kept *kept = kept_of(loop);

	pthread_mutex_lock(&mutex);
	for (unsigned class = 0; kept && class < heddle_device_classes(); class ++)
		class_keep(kept, loop, class);
	pthread_mutex_unlock(&mutex);
}
