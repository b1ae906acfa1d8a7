/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "apps/common/app.h"
#include "apps/nbia/progress.h"

#define REFRESH_NS 250000000

static void set_next(struct progress *progress)
{
	clock_gettime(CLOCK_REALTIME, &progress->next);
	progress->next.tv_nsec += REFRESH_NS;
	if (progress->next.tv_nsec >= 1000000000) {
		progress->next.tv_nsec -= 1000000000;
		progress->next.tv_sec++;
	}
}

bool progress_begin(size_t total, struct progress *progress)
{
	const char *terminal = getenv("TERM");

	*progress = (struct progress){total, starpu_timing_now(), {0}};
	set_next(progress);
	/* Simulated time passes as it likes. */
	return !app_simulated() && isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb");
}

static void show(const struct progress *progress, size_t done)
{
	double seconds = (starpu_timing_now() - progress->begin_us) * 1e-6;
	double rate = seconds > 0 ? done / seconds : 0;

	fprintf(stderr, "\r\033[K%zu of %zu tiles (%.0f %%), %.0f a second", done, progress->total,
	        100.0 * done / progress->total, rate);
	if (rate > 0)
		fprintf(stderr, ", %.0f s left", (progress->total - done) / rate);
	fflush(stderr);
}

void progress_wait(struct progress *progress, starpu_pthread_cond_t *condition,
                   starpu_pthread_mutex_t *mutex, const size_t *done)
{
	size_t now;

	if (starpu_pthread_cond_timedwait(condition, mutex, &progress->next) != ETIMEDOUT)
		return;
	/* A terminal that is stopped must not stop the others. */
	now = *done;
	STARPU_PTHREAD_MUTEX_UNLOCK(mutex);
	show(progress, now);
	set_next(progress);
	STARPU_PTHREAD_MUTEX_LOCK(mutex);
}

void progress_end(const struct progress *progress)
{
	fprintf(stderr, "\r\033[K");
	fflush(stderr);
}
