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

struct warm {
	struct warm *next;
	char *codelet;
	char path[PATH_MAX];
	struct heddle_profile known; /* from the file and this process */
	struct heddle_profile news;  /* of this process, not written yet */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct warm *warms;

/* Written once, when the process ends: files are slow beside loops. */
static void warm_write(void)
{
	pthread_mutex_lock(&mutex);
	for (struct warm *warm = warms; warm; warm = warm->next)
		if (*warm->path && warm->news.n && !heddle_profile_update(warm->path, &warm->news))
			heddle_profile_free(&warm->news);
	pthread_mutex_unlock(&mutex);
}

static void warm_write_at_exit(void)
{
	atexit(warm_write);
}

/* Mutex held. NULL: no memory. */
static struct warm *warm_make(const char *codelet)
{
	struct warm *warm = calloc(1, sizeof(*warm));

	if (warm)
		warm->codelet = strdup(codelet);
	if (!warm || !warm->codelet) {
		free(warm);
		return NULL;
	}
	if (heddle_profile_path(codelet, warm->path, sizeof(warm->path))) {
		heddle_warn("loop %s: no folder for its rates (HEDDLE_PROFILE_DIR); this process "
		            "alone will know them",
		            codelet);
		*warm->path = 0;
	} else {
		heddle_profile_read(warm->path, &warm->known);
	}
	warm->next = warms;
	return warms = warm;
}

/* Mutex held. */
static struct warm *warm_of(const struct heddle_loop_request *loop)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const char *codelet = loop->loop.codelet->name ? loop->loop.codelet->name : loop->name;

	pthread_once(&once, warm_write_at_exit);
	for (struct warm *warm = warms; warm; warm = warm->next)
		if (!strcmp(warm->codelet, codelet))
			return warm;
	return warm_make(codelet);
}

static size_t iteration_bytes(const struct heddle_loop_request *loop)
{
	return loop_views_footprint(loop->views, loop->loop.naccesses).per_iteration;
}

void loop_rates_recall(const struct heddle_loop_request *loop,
                       struct heddle_strategy_worker *workers)
{
	size_t bytes = iteration_bytes(loop);
	struct warm *warm;

	pthread_mutex_lock(&mutex);
	warm = warm_of(loop);
	for (unsigned l = 0; warm && l < loop->nworkers; l++) {
		unsigned class = heddle_device_class(loop->workers[l].stats.id);
		struct loop_rate rate;

		if (loop_rates_find(&warm->known, heddle_device_class_name(class), bytes,
		                    warm->path, &rate))
			continue;
		workers[l].rate = 1 / rate.pace;
		workers[l].start_us = rate.start_us;
		heddle_explain("loop %s: %s did %g iterations/us before, and %g us a block",
		               loop->name, loop->workers[l].stats.name, workers[l].rate,
		               rate.start_us);
	}
	pthread_mutex_unlock(&mutex);
}

/* Mutex held: what the workers of a class have done. */
static void class_keep(struct warm *warm, const struct heddle_loop_request *loop, unsigned class)
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
	loop_rates_add(&warm->known, device, iteration_bytes(loop), &rate, blocks, now);
	loop_rates_add(&warm->news, device, iteration_bytes(loop), &rate, blocks, now);
}

void loop_rates_keep(const struct heddle_loop_request *loop)
{
	struct warm *warm;

	pthread_mutex_lock(&mutex);
	warm = warm_of(loop);
	for (unsigned class = 0; warm && class < heddle_device_classes(); class ++)
		class_keep(warm, loop, class);
	pthread_mutex_unlock(&mutex);
}
