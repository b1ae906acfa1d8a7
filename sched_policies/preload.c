/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What `heddle run` preloads into a program. Every process that the program
 * starts inherits it, and most know nothing of StarPU: so it needs nothing but
 * the C library, and loads libheddle only where StarPU is, at the start or, for a
 * StarPU that is loaded later, when it is initialised. libheddle's constructor
 * then opens the front door.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define LIBRARY "libheddle.so.0"

EXPORT int starpu_init(void *conf);
EXPORT int starpu_initialize(void *conf, int *argc, char ***argv);

/* Path of libheddle: beside this file in a build tree, one folder up where both
 * are installed. */
static void *library_open(void)
{
	static const char *const places[] = {"/" LIBRARY, "/../" LIBRARY};
	char path[PATH_MAX];
	Dl_info self;
	char *slash;
	void *library = NULL;

	if (!dladdr((void *)library_open, &self) || strlen(self.dli_fname) >= sizeof(path))
		return NULL;
	strcpy(path, self.dli_fname);
	slash = strrchr(path, '/');
	if (!slash)
		return NULL;
	for (size_t i = 0; !library && i < sizeof(places) / sizeof(places[0]); i++)
		if ((size_t)(slash - path) + strlen(places[i]) < sizeof(path)) {
			strcpy(slash, places[i]);
			library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		}
	return library;
}

static void *library_get(void)
{
	static void *library;
	const char *verbose = getenv("HEDDLE_VERBOSE");

	if (library)
		return library;
	library = library_open();
	if (!library && (!verbose || strcmp(verbose, "0")))
		fprintf(stderr, "heddle: %s; running without Heddle's policies\n", dlerror());
	return library;
}

/* The function that a call of ours goes on to: libheddle's, which goes on to
 * StarPU's own. */
static void *next(const char *name)
{
	void *library = dlsym(RTLD_DEFAULT, "heddle_policies") ? NULL : library_get();
	void *function = library ? dlsym(library, name) : NULL;

	return function ? function : dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void preload_start(void)
{
	if (dlsym(RTLD_DEFAULT, "starpu_task_submit") && !dlsym(RTLD_DEFAULT, "heddle_policies"))
		library_get();
}

int starpu_init(void *conf)
{
	int (*init)(void *) = next("starpu_init");

	return init ? init(conf) : -ENODEV;
}

int starpu_initialize(void *conf, int *argc, char ***argv)
{
	int (*initialize)(void *, int *, char ***) = next("starpu_initialize");

	return initialize ? initialize(conf, argc, argv) : -ENODEV;
}
