/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What `heddle run`, `heddle simulate` and `heddle trace` preload into a program. Every process
 * that the program starts inherits it, and most know nothing of StarPU: so it needs nothing but the
 * C library, and loads libheddle only where the StarPU is that libheddle was built against, at the
 * start or, for a StarPU that is loaded later, when it is initialised. libheddle would bring along
 * a StarPU of its own into a process that has another one.
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
#include <unistd.h>

#include "sched_policies/preload.h"
#include "support/message.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int starpu_init(void *conf);
EXPORT int starpu_initialize(void *conf, int *argc, char ***argv);

/* Beside this file in a build tree, one folder up where both are installed. */
bool preload_library_find(char path[PATH_MAX])
{
	static const char *const places[] = {"/" HEDDLE_SONAME, "/../" HEDDLE_SONAME};
	Dl_info self;
	char *slash;

	if (!dladdr((void *)preload_library_find, &self) || strlen(self.dli_fname) >= PATH_MAX)
		return false;
	strcpy(path, self.dli_fname);
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if ((size_t)(slash - path) + strlen(places[i]) < PATH_MAX) {
			strcpy(slash, places[i]);
			if (!access(path, R_OK))
				return true;
		}
	return false;
}

/* If it fails, dlerror() says why a library that is there cannot be loaded. */
static void *library_open(void)
{
	char path[PATH_MAX];

	dlerror(); /* of what was looked for before */
	return preload_library_find(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static bool messages_wanted(void)
{
	const char *verbose = getenv("HEDDLE_VERBOSE");

	return !verbose || strcmp(verbose, "0");
}

/* Who asked for a policy must not get another one, and is told why. */
static bool policy_asked(void)
{
	const char *policy = getenv("STARPU_SCHED");

	return policy && *policy;
}

/* Of which series a StarPU is decides alone here; libheddle looks closer. */
static bool starpu_matches(const struct preload_starpu *starpu)
{
	char series[32];

	snprintf(series, sizeof(series), "%d.%d", starpu->major, starpu->minor);
	if (!strcmp(series, HEDDLE_STARPU_SERIES))
		return true;
	if (messages_wanted() || policy_asked())
		fprintf(stderr, "heddle: " HEDDLE_OTHER_STARPU "\n", HEDDLE_STARPU_VERSION,
		        HEDDLE_STARPU_LIBDIR, starpu->major, starpu->minor, starpu->release,
		        starpu->path);
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

static bool starpu_find(struct preload_starpu *starpu, void *caller)
{
	version_function *get_version = starpu_function("starpu_get_version", caller);
	Dl_info where;

	if (!get_version)
		return false;
	if (!dladdr((void *)get_version, &where))
		where.dli_fname = "?";
	*starpu =
	    (struct preload_starpu){.get_version = get_version,
	                            .path = where.dli_fname,
	                            .handle = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD)};
	get_version(&starpu->major, &starpu->minor, &starpu->release);
	return starpu->handle;
}

/* libheddle cannot be loaded, for example because the program's StarPU lacks a function. */
static void library_explain(const struct preload_starpu *starpu)
{
	const char *why = dlerror();

	if (messages_wanted() || policy_asked())
		fprintf(stderr,
		        "heddle: %s; this Heddle was built against StarPU " HEDDLE_STARPU_VERSION
		        " in " HEDDLE_STARPU_LIBDIR ", but runs with StarPU %d.%d.%d in %s%s\n",
		        why ? why : HEDDLE_SONAME " was not found", starpu->major, starpu->minor,
		        starpu->release, starpu->path,
		        policy_asked() ? "" : "; running without Heddle's policies");
}

/* Whether the StarPU is the build that libheddle knows, after a message from there, which
 * HEDDLE_VERBOSE=0 does not hide from who asked for a policy. */
static bool library_suits(void *library)
{
	int (*check)(void) = dlsym(library, "heddle_starpu_check");
	const char *(*message)(void) = dlsym(library, "heddle_message_take");
	const char *why;

	if (!check || !check())
		return true;
	why = message ? message() : NULL;
	if (why && policy_asked() && !messages_wanted())
		fprintf(stderr, "heddle: %s\n", why);
	return false;
}

/* How StarPU configures SimGrid concerns who asks for reasons. */
static void simgrid_quiet(const struct preload_starpu *starpu)
{
	void (*control)(const char *) = dlsym(starpu->handle, "xbt_log_control_set");
	const char *verbose = getenv("HEDDLE_VERBOSE");

	if (control && !(verbose && atoi(verbose) > 1))
		control("xbt_cfg.thres:warning");
}

/* Loads libheddle, whose constructor registers the policies. Programs that are linked with
 * Heddle have it. */
static void *library_get(void *caller, char **argv)
{
	static void *library;
	static bool asked;
	struct preload_starpu starpu;

	if (asked || !starpu_find(&starpu, caller))
		return library;
	asked = true;
	preload_swap(&starpu, argv);
	simgrid_quiet(&starpu);
	if (dlsym(RTLD_DEFAULT, "heddle_policies"))
		return NULL;
	if (starpu_matches(&starpu)) {
		library = library_open();
		if (!library)
			library_explain(&starpu);
	}
	if ((!library || !library_suits(library)) && policy_asked())
		exit(2);
	return library;
}

/* The configuration may name a policy that must not be replaced. */
static void init_begin(void *library, const void *conf)
{
	void (*begin)(const void *) = library ? dlsym(library, "heddle_init_begin") : NULL;

	if (begin)
		begin(conf);
}

static void init_end(void *library)
{
	void (*end)(void) = library ? dlsym(library, "heddle_init_end") : NULL;

	if (end)
		end();
}

__attribute__((constructor)) static void preload_start(int argc, char **argv)
{
	preload_swap_clean();
	library_get(NULL, argv);
}

int starpu_init(void *conf)
{
	void *caller = __builtin_return_address(0);
	int (*init)(void *) = starpu_function("starpu_init", caller);
	void *library = library_get(caller, NULL);
	int result;

	init_begin(library, conf);
	result = init ? init(conf) : -ENODEV;
	init_end(library);
	return result;
}

int starpu_initialize(void *conf, int *argc, char ***argv)
{
	void *caller = __builtin_return_address(0);
	int (*initialize)(void *, int *, char ***) = starpu_function("starpu_initialize", caller);
	void *library = library_get(caller, NULL);
	int result;

	init_begin(library, conf);
	result = initialize ? initialize(conf, argc, argv) : -ENODEV;
	init_end(library);
	return result;
}
