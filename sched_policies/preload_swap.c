/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A program is linked with one build of StarPU, and `heddle trace` and `heddle simulate` want
 * another build of the same version. A library that is preloaded takes the place of one with the
 * same SONAME, also where the program states a path.
 */
#define _GNU_SOURCE
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sched_policies/preload.h"
#include "support/layout_starpu.h"

/* The value of LD_PRELOAD before a new start. */
#define BEFORE "_HEDDLE_PRELOAD_BEFORE"

/* What a StarPU may have to be able to do. */
struct ability {
	const char *variable; /* set where it is wanted */
	const char *symbol;   /* what a StarPU or its libraries have if it can */
	const char *lacks;
	const char *flavour;
	bool ours; /* the StarPU that we were built against can */
};

static const struct ability abilities[] = {
    /* Only StarPUs that simulate have threads of their own. */
    {"HEDDLE_PLATFORM", "starpu_pthread_create", "does not simulate machines", "sim",
#ifdef HEDDLE_USE_SIMGRID
     true
#else
     false
#endif
    },
    {PRELOAD_TRACE, "fut_set_filename", "records no traces", "trace",
#ifdef HEDDLE_USE_FXT
     true
#else
     false
#endif
    },
};

static bool wanted(const struct ability *ability)
{
	const char *value = getenv(ability->variable);

	return value && *value;
}

/* The file of our StarPU that would take the place of the program's; false: there is none. */
static bool substitute_find(const struct preload_starpu *starpu, char path[PATH_MAX])
{
	const char *slash = strrchr(starpu->path, '/');
	int length = snprintf(path, PATH_MAX, "%s/%s", HEDDLE_STARPU_LIBDIR,
	                      slash ? slash + 1 : starpu->path);

	return length < PATH_MAX && !access(path, R_OK);
}

static bool layout_matches(const struct preload_starpu *starpu)
{
	int (*conf_init)(struct starpu_conf *) = dlsym(starpu->handle, "starpu_conf_init");

	return conf_init && heddle_layout_matches(conf_init);
}

/* Our library stays first: it calls StarPU's functions in the place of the program. A libheddle
 * that was built against the program's StarPU would not wait as a simulation must, nor record what
 * it decides. Comes back only if that fails. */
static void start_anew(const char *substitute, char **argv)
{
	const char *before = getenv("LD_PRELOAD");
	char *value, library[PATH_MAX];
	bool linked = dlsym(RTLD_DEFAULT, "heddle_policies") && preload_library_find(library);

	if (asprintf(&value, "%s%s%s%s%s", before ? before : "", before ? ":" : "",
	             linked ? library : "", linked ? ":" : "", substitute) < 0)
		return;
	if (!setenv(BEFORE, before ? before : "", 1) && !setenv("LD_PRELOAD", value, 1))
		execv("/proc/self/exe", argv);
	free(value);
}

/* Whether this process is one that was started anew. */
static bool anew;

void preload_swap_clean(void)
{
	const char *before = getenv(BEFORE);

	if (!before)
		return;
	anew = true;
	if (*before)
		setenv("LD_PRELOAD", before, 1);
	else
		unsetenv("LD_PRELOAD");
	unsetenv(BEFORE);
}

static void refuse(const struct preload_starpu *starpu, const struct ability *ability,
                   const char *why)
{
	fprintf(stderr, "heddle: this program runs with StarPU %d.%d.%d in %s, which %s; ",
	        starpu->major, starpu->minor, starpu->release, starpu->path, ability->lacks);
	if (ability->ours)
		fprintf(stderr,
		        "build it with StarPU " HEDDLE_STARPU_VERSION " in " HEDDLE_STARPU_LIBDIR
		        ", which does (%s)\n",
		        why);
	else
		fprintf(stderr, "build it with a StarPU of tools/setup %s, which does\n",
		        ability->flavour);
	exit(2);
}

static void ability_check(const struct preload_starpu *starpu, const struct ability *ability,
                          char **argv)
{
	char substitute[PATH_MAX];
	const char *why;

	if (!wanted(ability) || dlsym(starpu->handle, ability->symbol))
		return;
	if (!substitute_find(starpu, substitute)) {
		why = "that is another version";
	} else if (!layout_matches(starpu)) {
		why = "its structures differ: other limits were given to configure";
	} else if (!argv) {
		why = "the program loads its StarPU while it runs";
	} else {
		if (ability->ours && !anew)
			start_anew(substitute, argv);
		why = "the program could not be started with that";
	}
	refuse(starpu, ability, why);
}

void preload_swap(const struct preload_starpu *starpu, char **argv)
{
	for (size_t a = 0; a < sizeof(abilities) / sizeof(*abilities); a++)
		ability_check(starpu, &abilities[a], argv);
}

/* ---- main() as SimGrid wants it ---- */

/* StarPU's headers rename main() for simulations, and the library brings along one that starts
 * SimGrid and calls the program's as an actor. A program that was compiled for another StarPU has
 * its main() under its own name. */

#define EXPORT __attribute__((visibility("default")))

typedef int main_function(int argc, char **argv, char **environment);
typedef int start_function(main_function *main, int argc, char **argv, void (*init)(void),
                           void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

EXPORT int starpu_main(int argc, char **argv, char **environment);
EXPORT start_function __libc_start_main;

static main_function *program_main;

int starpu_main(int argc, char **argv, char **environment)
{
	return program_main(argc, argv, environment);
}

/* What starts SimGrid; NULL: not this program. */
static main_function *simulation_main(void)
{
	void *get_version = dlsym(RTLD_NEXT, "starpu_get_version"), *handle;
	Dl_info where;

	if (!wanted(&abilities[0]) || !get_version || !dladdr(get_version, &where) ||
	    dlsym(RTLD_DEFAULT, "starpu_main") != (void *)starpu_main)
		return NULL;
	handle = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	return handle && dlsym(handle, abilities[0].symbol) ? dlsym(handle, "main") : NULL;
}

int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	start_function *start = dlsym(RTLD_NEXT, "__libc_start_main");
	main_function *simulating = simulation_main();

	program_main = main;
	return start(simulating ? simulating : main, argc, argv, init, fini, rtld_fini, stack_end);
}
