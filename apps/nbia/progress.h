/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A line that says how far the work is, on a terminal alone. A thread of its own writes it: a
 * terminal that is stopped must not stop others.
 */
#ifndef APPS_NBIA_PROGRESS_H
#define APPS_NBIA_PROGRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct progress {
	size_t total;
	const atomic_size_t *done;
	double begin_us;
	bool shown, over;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t end;
};

/** Shows the line from time to time, where there is a terminal to show it on.
 * @param done of `total`; read until progress_end() */
void progress_begin(size_t total, const atomic_size_t *done, struct progress *progress);

/** Removes the line. */
void progress_end(struct progress *progress);

#endif
