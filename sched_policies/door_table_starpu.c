/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The front door for programs that link Heddle, and the only one that StarPU 1.3
 * has: its table of policies is a static array of just the right length, but it may
 * be written to. Rows of policies that hardly anybody uses give way to ours, never
 * one that STARPU_SCHED or the application's configuration names. Whatever looks
 * policies up by name then finds ours: STARPU_SCHED, starpu_conf::sched_policy_name,
 * contexts, and the list of STARPU_SCHED=help.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support/message.h"
#include "support/starpu_compat.h"
#include "support/sysfs.h"
#include "sched_policies/policies.h"

/* In the order in which they give way: first what StarPU ships as a test or as a
 * building block's example, then variants of variants. The simple policies and
 * the dmda family stay. */
static const char *const victims[] = {
    "graph_test",
    "modular-gemm",
    "modular-random-prio-prefetching",
    "modular-random-prefetching",
    "modular-random-prio",
    "modular-random",
    "modular-prandom-prio",
    "modular-prandom",
    "modular-heteroprio-heft",
    "modular-eager-prio",
    "modular-eager-prefetching",
    "modular-prio-prefetching",
    "modular-heft2",
    "modular-pheft",
    "modular-prio",
    "modular-eager",
    "modular-ws",
};
#define NVICTIMS (sizeof(victims) / sizeof(victims[0]))

/* A row that one of ours stands in. */
struct row {
	struct starpu_sched_policy **place;
	struct starpu_sched_policy *before;
};

static struct row rows[NVICTIMS];

static bool named(const char *victim, const char *name)
{
	return name && !strcmp(victim, name);
}

static struct starpu_sched_policy **row_find(const char *name)
{
	struct starpu_sched_policy **row = starpu_sched_get_predefined_policies();

	while (*row && (!(*row)->policy_name || strcmp((*row)->policy_name, name)))
		row++;
	return *row ? row : NULL;
}

/* Whether StarPU comes to door_library_starpu.c anyway, and needs no row of its own
 * displaced. */
static bool asked_as_library(void)
{
	const char *library = HEDDLE_STARPU_14 ? getenv("STARPU_SCHED_LIB") : NULL;
	const char *name = library ? strrchr(library, '/') : NULL;

	name = name ? name + 1 : library;
	return name && !strncmp(name, "libheddle.so", strlen("libheddle.so"));
}

void heddle_door_open(const struct starpu_conf *conf)
{
	struct starpu_sched_policy **ours = asked_as_library() ? NULL : policies_starpu();
	const char *chosen = getenv("STARPU_SCHED");
	/* Of another StarPU's configuration even the layout is unknown. */
	const char *configured = ours && conf ? conf->sched_policy_name : NULL;

	for (size_t v = NVICTIMS; v-- > 0;)
		if (rows[v].place) {
			*rows[v].place = rows[v].before;
			rows[v].place = NULL;
		}
	for (size_t v = 0; ours && v < NVICTIMS && *ours; v++) {
		if (named(victims[v], chosen) || named(victims[v], configured))
			continue;
		rows[v].place = row_find(victims[v]);
		if (!rows[v].place)
			continue;
		rows[v].before = *rows[v].place;
		*rows[v].place = *ours++;
	}
	for (; ours && *ours; ours++)
		heddle_warn("no room for the policy %s in StarPU's table", (*ours)->policy_name);
}

__attribute__((constructor)) static void door_open_at_start(void)
{
	heddle_door_open(NULL);
}

#ifdef PIC
/* Said before StarPU asks OpenCL for devices: PoCL ends the program where hwloc finds no
 * memory. Where workers are simulated neither is asked. */
static void cores_look_for(void)
{
#ifndef HEDDLE_USE_SIMGRID
	static bool said;
	const char *root = getenv("HWLOC_FSROOT");

	if (!root)
		root = "";
	if (said || getenv("HWLOC_XMLFILE") || getenv("HWLOC_SYNTHETIC") ||
	    heddle_sysfs_has_cores(root))
		return;
	said = true;
	heddle_warn(
	    "no cores in %s/sys/devices/system/cpu: is /sys mounted (mount -t sysfs sysfs "
	    "/sys)? Without it hwloc tells StarPU and PoCL of neither cores nor memory, and "
	    "PoCL ends a program for that",
	    root);
#endif
}

/* A configuration that names one of the displaced policies is seen here, wherever
 * this library comes before StarPU's in the order of look-up. */
int starpu_initialize(struct starpu_conf *conf, int *argc, char ***argv)
{
	int (*next)(struct starpu_conf *, int *, char ***) = dlsym(RTLD_NEXT, "starpu_initialize");

	cores_look_for();
	heddle_door_open(conf);
	return next(conf, argc, argv);
}

int starpu_init(struct starpu_conf *conf)
{
	int (*next)(struct starpu_conf *) = dlsym(RTLD_NEXT, "starpu_init");

	cores_look_for();
	heddle_door_open(conf);
	return next(conf);
}
#endif
