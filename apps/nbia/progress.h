/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A line that says how far the work is, on a terminal alone.
 */
#ifndef APPS_NBIA_PROGRESS_H
#define APPS_NBIA_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <starpu.h>
#include <time.h>

struct progress {
	size_t total;
	double begin_us;
	struct timespec next; /**< when to show it again, of CLOCK_REALTIME */
};

/** @return whether there is a terminal to show it on */
bool progress_begin(size_t total, struct progress *progress);

/** Waits for the condition; not for long: when it is time again, however often the condition
 * was signalled in between, it shows the line.
 * @param mutex held
 * @param done read under the mutex */
void progress_wait(struct progress *progress, starpu_pthread_cond_t *condition,
                   starpu_pthread_mutex_t *mutex, const size_t *done);

/** Removes the line. */
void progress_end(const struct progress *progress);

#endif
