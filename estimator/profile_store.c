/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/message.h"
#include "estimator/profile_file.h"
#include "estimator/profile_store.h"

#define COLLECTORS 8

/* The profile of a codelet. They never go. */
struct stored {
	struct stored *next;
	pthread_mutex_t mutex; /* held while the file is read or written */
	/* Under the mutex. */
	bool read;
	struct heddle_profile known; /* from the file and from this process */
	struct heddle_profile news;  /* of this process, not written yet */
	char codelet[];
};

static struct {
	pthread_mutex_t mutex; /* guards the list and the collectors; nothing is called under it */
	struct stored *first;
	unsigned ncollectors;
	void (*collectors[COLLECTORS])(void);
} store = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void write_at_exit(void)
{
	profile_store_write();
}

static void exit_watch(void)
{
	atexit(write_at_exit);
}

static struct stored *stored_make(const char *codelet)
{
	struct stored *stored = calloc(1, sizeof(*stored) + strlen(codelet) + 1);

	if (!stored)
		return NULL;
	strcpy(stored->codelet, codelet);
	pthread_mutex_init(&stored->mutex, NULL);
	stored->next = store.first;
	return store.first = stored;
}

/* NULL: no memory. */
static struct stored *stored_find(const char *codelet)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct stored *stored;

	pthread_once(&once, exit_watch);
	pthread_mutex_lock(&store.mutex);
	stored = store.first;
	while (stored && strcmp(stored->codelet, codelet))
		stored = stored->next;
	if (!stored)
		stored = stored_make(codelet);
	pthread_mutex_unlock(&store.mutex);
	return stored;
}

/* Reads the file, in front of what this process has added. The mutex is held. */
static int stored_read(struct stored *stored, const char *path)
{
	struct heddle_profile all = {0};

	if (*path)
		heddle_profile_read(path, &all);
	if (heddle_profile_merge(&all, &stored->news)) {
		heddle_profile_free(&all);
		return -ENOMEM;
	}
	heddle_profile_free(&stored->known);
	stored->known = all;
	stored->read = true;
	return 0;
}

int profile_store_ask(const char *codelet,
                      void (*look)(const struct heddle_profile *known, const char *path, void *arg),
                      void *arg)
{
	struct stored *stored = stored_find(codelet);
	char path[PATH_MAX];
	int error = 0;

	if (!stored)
		return -ENOMEM;
	if (heddle_profile_path(codelet, path, sizeof(path)))
		*path = 0;
	pthread_mutex_lock(&stored->mutex);
	if (!stored->read)
		error = stored_read(stored, path);
	if (!error)
		look(&stored->known, path, arg);
	pthread_mutex_unlock(&stored->mutex);
	return error;
}

int profile_store_add(const char *codelet, const struct heddle_profile_record *record)
{
	struct stored *stored = stored_find(codelet);
	int error;

	if (!stored)
		return -ENOMEM;
	pthread_mutex_lock(&stored->mutex);
	error = heddle_profile_add(&stored->news, record);
	if (!error && stored->read)
		error = heddle_profile_add(&stored->known, record);
	pthread_mutex_unlock(&stored->mutex);
	return error;
}

void profile_store_collect(void (*collect)(void))
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	unsigned i = 0;

	pthread_once(&once, exit_watch);
	pthread_mutex_lock(&store.mutex);
	while (i < store.ncollectors && store.collectors[i] != collect)
		i++;
	if (i == store.ncollectors && i < COLLECTORS)
		store.collectors[store.ncollectors++] = collect;
	pthread_mutex_unlock(&store.mutex);
}

static int stored_write(struct stored *stored)
{
	char path[PATH_MAX];
	int error = 0;

	pthread_mutex_lock(&stored->mutex);
	if (stored->news.n) {
		error = heddle_profile_path(stored->codelet, path, sizeof(path));
		if (error)
			heddle_refuse(error, "no place for the profile of %.80s", stored->codelet);
		else
			error = heddle_profile_update(path, &stored->news);
		if (!error)
			heddle_profile_free(&stored->news);
	}
	pthread_mutex_unlock(&stored->mutex);
	return error;
}

int profile_store_write(void)
{
	void (*collectors[COLLECTORS])(void);
	struct stored *stored;
	unsigned n;
	int status = 0;

	pthread_mutex_lock(&store.mutex);
	n = store.ncollectors;
	memcpy(collectors, store.collectors, sizeof(collectors));
	pthread_mutex_unlock(&store.mutex);
	for (unsigned i = 0; i < n; i++)
		collectors[i]();
	pthread_mutex_lock(&store.mutex);
	stored = store.first;
	pthread_mutex_unlock(&store.mutex);
	/* Others are only put in front. */
	for (; stored; stored = stored->next) {
		int error = stored_write(stored);

		if (error)
			status = error;
	}
	return status;
}
