/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "apps/common/app.h"
#include "apps/nbia/progress.h"

#define REFRESH_NS 250000000

static void show(const struct progress *progress)
{
	size_t done = atomic_load(progress->done);
	double seconds = (starpu_timing_now() - progress->begin_us) * 1e-6;
	double rate = seconds > 0 ? done / seconds : 0;

	fprintf(stderr, "\r\033[K%zu of %zu tiles (%.0f %%), %.0f a second", done, progress->total,
	        100.0 * done / progress->total, rate);
	if (rate > 0)
		fprintf(stderr, ", %.0f s left", (progress->total - done) / rate);
	fflush(stderr);
}

static void *show_until_end(void *arg)
{
	struct progress *progress = arg;
	struct timespec next;

	pthread_mutex_lock(&progress->mutex);
	while (!progress->over) {
		clock_gettime(CLOCK_REALTIME, &next);
		next.tv_nsec += REFRESH_NS;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		if (pthread_cond_timedwait(&progress->end, &progress->mutex, &next) == ETIMEDOUT)
			show(progress);
	}
	pthread_mutex_unlock(&progress->mutex);
	return NULL;
}

void progress_begin(size_t total, const atomic_size_t *done, struct progress *progress)
{
	const char *terminal = getenv("TERM");

	*progress =
	    (struct progress){.total = total, .done = done, .begin_us = starpu_timing_now()};
	/* Simulated time passes as it likes. */
	if (app_simulated() || !isatty(STDERR_FILENO) || !terminal || !strcmp(terminal, "dumb"))
		return;
	pthread_mutex_init(&progress->mutex, NULL);
	pthread_cond_init(&progress->end, NULL);
	progress->shown = !pthread_create(&progress->thread, NULL, show_until_end, progress);
}

void progress_end(struct progress *progress)
{
	if (!progress->shown)
		return;
	pthread_mutex_lock(&progress->mutex);
	progress->over = true;
	pthread_cond_signal(&progress->end);
	pthread_mutex_unlock(&progress->mutex);
	pthread_join(progress->thread, NULL);
	fprintf(stderr, "\r\033[K");
	fflush(stderr);
}
