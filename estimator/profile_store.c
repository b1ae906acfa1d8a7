/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/message.h"
#include "support/variables.h"
#include "estimator/profile_file.h"
#include "estimator/profile_store.h"

#define COLLECTORS 8

/* The profile of a codelet. They never go. */
struct stored {
	struct stored *next;
	pthread_mutex_t file;  /* held while the file is read or written; taken before the mutex */
	bool refused;          /* guarded by it: that there is no place for the file was said */
	pthread_mutex_t mutex; /* guards the rest, and is never held for a file */
	bool read;
	struct heddle_profile known; /* from the file and from this process */
	struct heddle_profile news;  /* of this process, not written yet */
	char codelet[];
};

static struct {
	pid_t owner;           /* the process that writes at its end */
	pthread_mutex_t mutex; /* guards the list and the collectors; nothing is called under it */
	struct stored *first;
	unsigned ncollectors;
	void (*collectors[COLLECTORS])(void);
} store = {.mutex = PTHREAD_MUTEX_INITIALIZER};

bool profile_store_wanted(void)
{
#ifdef HEDDLE_USE_SIMGRID
	/* Simulated times are nobody's experience unless somebody says so. */
	if (!heddle_variable_is_set(HEDDLE_VARIABLE_PROFILE))
		return false;
#endif
	return heddle_variable_number(HEDDLE_VARIABLE_PROFILE);
}

/* A forked child has its parent's records, which the parent writes. */
static void write_at_exit(void)
{
	if (getpid() == store.owner)
		profile_store_write();
}

static void exit_register(void)
{
	store.owner = getpid();
	atexit(write_at_exit);
}

static void exit_watch(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, exit_register);
}

static struct stored *stored_make(const char *codelet)
{
	struct stored *stored = calloc(1, sizeof(*stored) + strlen(codelet) + 1);

	if (!stored)
		return NULL;
	strcpy(stored->codelet, codelet);
	pthread_mutex_init(&stored->file, NULL);
	pthread_mutex_init(&stored->mutex, NULL);
	stored->next = store.first;
	return store.first = stored;
}

/* NULL: no memory. */
static struct stored *stored_find(const char *codelet)
{
	struct stored *stored;

	exit_watch();
	pthread_mutex_lock(&store.mutex);
	stored = store.first;
	while (stored && strcmp(stored->codelet, codelet))
		stored = stored->next;
	if (!stored)
		stored = stored_make(codelet);
	pthread_mutex_unlock(&store.mutex);
	return stored;
}

/* The file is locked: puts what it holds in front of what this process has added. */
static int file_read(struct stored *stored, const char *path)
{
	struct heddle_profile all = {0};
	int error;

	if (*path)
		heddle_profile_read(path, &all);
	pthread_mutex_lock(&stored->mutex);
	error = heddle_profile_merge(&all, &stored->news);
	if (!error) {
		stored->known = all;
		stored->read = true;
	}
	pthread_mutex_unlock(&stored->mutex);
	if (error)
		heddle_profile_free(&all);
	return error;
}

static bool is_read(struct stored *stored)
{
	bool read;

	pthread_mutex_lock(&stored->mutex);
	read = stored->read;
	pthread_mutex_unlock(&stored->mutex);
	return read;
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
	if (!is_read(stored)) {
		pthread_mutex_lock(&stored->file);
		if (!is_read(stored))
			error = file_read(stored, path);
		pthread_mutex_unlock(&stored->file);
	}
	if (error)
		return error;
	pthread_mutex_lock(&stored->mutex);
	look(&stored->known, path, arg);
	pthread_mutex_unlock(&stored->mutex);
	return 0;
}

int profile_store_add(const char *codelet, const struct heddle_profile_record *record)
{
	struct stored *stored = stored_find(codelet);
	int error;

	if (!stored)
		return -ENOMEM;
	pthread_mutex_lock(&stored->mutex);
	error = heddle_profile_add(&stored->news, record);
	/* Without memory for the second copy this process does not know what it writes. */
	if (!error && stored->read)
		heddle_profile_add(&stored->known, record);
	pthread_mutex_unlock(&stored->mutex);
	return error;
}

void profile_store_collect(void (*collect)(void))
{
	unsigned i = 0;

	exit_watch();
	pthread_mutex_lock(&store.mutex);
	while (i < store.ncollectors && store.collectors[i] != collect)
		i++;
	if (i == store.ncollectors && i < COLLECTORS)
		store.collectors[store.ncollectors++] = collect;
	pthread_mutex_unlock(&store.mutex);
}

/* Puts records that could not be written in front of those added meanwhile. */
static void news_return(struct stored *stored, struct heddle_profile *news)
{
	pthread_mutex_lock(&stored->mutex);
	heddle_profile_merge(news, &stored->news);
	heddle_profile_free(&stored->news);
	stored->news = *news;
	pthread_mutex_unlock(&stored->mutex);
}

/* The file is locked. */
static int file_write(struct stored *stored)
{
	struct heddle_profile news;
	char path[PATH_MAX];
	int error;

	pthread_mutex_lock(&stored->mutex);
	news = stored->news;
	stored->news = (struct heddle_profile){0};
	pthread_mutex_unlock(&stored->mutex);
	if (!news.n)
		return 0;
	error = heddle_profile_path(stored->codelet, path, sizeof(path));
	if (error && !stored->refused)
		heddle_refuse(error, "no place for the profile of %.80s", stored->codelet);
	stored->refused |= !!error;
	if (!error)
		error = heddle_profile_update(path, &news);
	if (error)
		news_return(stored, &news);
	else
		heddle_profile_free(&news);
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
		int error;

		pthread_mutex_lock(&stored->file);
		error = file_write(stored);
		pthread_mutex_unlock(&stored->file);
		if (error)
			status = error;
	}
	return status;
}
