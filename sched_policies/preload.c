/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What `heddle run` and `heddle simulate` preload into a program. Every process that the program
 * starts inherits it, and most know nothing of StarPU: so it needs nothing but
 * the C library, and loads libheddle only where the StarPU is that libheddle was
 * built against, at the start or, for a StarPU that is loaded later, when it is
 * initialised. libheddle would bring along a StarPU of its own into a process that
 * has another one.
 */
#define _GNU_SOURCE
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/message.h"

#define EXPORT __attribute__((visibility("default")))
#ifdef HEDDLE_USE_SIMGRID
#define SIMULATING "StarPU " HEDDLE_STARPU_VERSION " in " HEDDLE_STARPU_LIBDIR
#else
#define SIMULATING "a StarPU of tools/setup sim"
#endif

typedef void version_function(int *major, int *minor, int *release);

EXPORT int starpu_init(void *conf);
EXPORT int starpu_initialize(void *conf, int *argc, char ***argv);

/* Path of libheddle: beside this file in a build tree, one folder up where both
 * are installed. */
static void *library_open(void)
{
	static const char *const places[] = {"/" HEDDLE_SONAME, "/../" HEDDLE_SONAME};
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

static bool messages_wanted(void)
{
	const char *verbose = getenv("HEDDLE_VERBOSE");

	return !verbose || strcmp(verbose, "0");
}

/* Of which series a StarPU is decides alone here; libheddle looks closer. */
static bool starpu_matches(version_function *get_version)
{
	int major, minor, release;
	char series[32];
	Dl_info where;

	get_version(&major, &minor, &release);
	snprintf(series, sizeof(series), "%d.%d", major, minor);
	if (!strcmp(series, HEDDLE_STARPU_SERIES))
		return true;
	if (!dladdr((void *)get_version, &where))
		where.dli_fname = "?";
	if (messages_wanted())
		fprintf(stderr, "heddle: " HEDDLE_OTHER_STARPU "\n", HEDDLE_STARPU_VERSION,
		        HEDDLE_STARPU_LIBDIR, major, minor, release, where.dli_fname);
	return false;
}

/* A function of the StarPU that a caller would have called without us: of the one that the
 * whole process shares, else of the one that the caller's file has loaded for itself. */
static void *starpu_function(const char *name, void *caller)
{
	void *function = dlsym(RTLD_NEXT, name), *file;
	Dl_info where;

	if (function || !caller || !dladdr(caller, &where))
		return function;
	file = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	return file ? dlsym(file, name) : NULL;
}

/* On a simulated machine, a program whose StarPU does not simulate would run on this one and end
 * as if nothing were wrong. Only the others have threads of their own. */
static void simulation_check(version_function *get_version, void *caller)
{
	const char *platform = getenv("HEDDLE_PLATFORM");
	int major, minor, release;
	Dl_info where;

	if (!platform || !*platform || starpu_function("starpu_pthread_create", caller))
		return;
	get_version(&major, &minor, &release);
	if (!dladdr((void *)get_version, &where))
		where.dli_fname = "?";
	fprintf(stderr,
	        "heddle: this program runs with StarPU %d.%d.%d in %s, which does not simulate "
	        "machines; build it with " SIMULATING ", which does\n",
	        major, minor, release, where.dli_fname);
	exit(2);
}

/* Loads libheddle, whose constructor registers the policies. Programs that are linked with
 * Heddle have it. */
static void *library_get(void *caller)
{
	static void *library;
	static bool asked;
	version_function *get_version;

	get_version = asked ? NULL : starpu_function("starpu_get_version", caller);
	if (!get_version)
		return library;
	asked = true;
	simulation_check(get_version, caller);
	if (dlsym(RTLD_DEFAULT, "heddle_policies") || !starpu_matches(get_version))
		return NULL;
	library = library_open();
	if (!library && messages_wanted())
		fprintf(stderr, "heddle: %s; running without Heddle's policies\n", dlerror());
	return library;
}

/* The configuration may name a policy that must not be replaced. */
static void policies_register(const void *conf, void *caller)
{
	void *library = library_get(caller);
	void (*reg)(const void *) = library ? dlsym(library, "heddle_policies_register") : NULL;

	if (reg)
		reg(conf);
}

__attribute__((constructor)) static void preload_start(void)
{
	library_get(NULL);
}

int starpu_init(void *conf)
{
	void *caller = __builtin_return_address(0);
	int (*init)(void *) = starpu_function("starpu_init", caller);

	policies_register(conf, caller);
	return init ? init(conf) : -ENODEV;
}

int starpu_initialize(void *conf, int *argc, char ***argv)
{
	void *caller = __builtin_return_address(0);
	int (*initialize)(void *, int *, char ***) = starpu_function("starpu_initialize", caller);

	policies_register(conf, caller);
	return initialize ? initialize(conf, argc, argv) : -ENODEV;
}
