/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A StarPU of a series that there is not, or with VERSION one that lacks functions: what `heddle
 * run` and a program ask of one. With PROGRAM a program for it; with LATE one that loads it, from
 * the file that an argument names.
 */
#include <dlfcn.h>
#include <stdio.h>

int starpu_init(void *conf);
int starpu_initialize(void *conf, int *argc, char ***argv);
int starpu_is_initialized(void);
int starpu_conf_init(void *conf);
int starpu_task_submit(void *task);
void *starpu_sched_get_predefined_policies(void);
void starpu_get_version(int *major, int *minor, int *release);

#if !defined(PROGRAM) && !defined(LATE)
#ifndef VERSION
#define VERSION 0, 9, 7
#endif
static int initialized;

int starpu_init(void *conf)
{
	return starpu_initialize(conf, NULL, NULL);
}

int starpu_initialize(void *conf, int *argc, char ***argv)
{
	initialized = 1;
	return 0;
}

int starpu_is_initialized(void)
{
	return initialized;
}

int starpu_conf_init(void *conf)
{
	return 0;
}

int starpu_task_submit(void *task)
{
	return 0;
}

void *starpu_sched_get_predefined_policies(void)
{
	static void *none;

	return &none;
}

void starpu_get_version(int *major, int *minor, int *release)
{
	int version[] = {VERSION};

	*major = version[0];
	*minor = version[1];
	*release = version[2];
}

#else
#ifdef LATE
#define FUNCTION(name) dlsym(dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), #name)
#else
#define FUNCTION(name) name
#endif

int main(int argc, char **argv)
{
	int (*init)(void *) = FUNCTION(starpu_init);
	int (*is_initialized)(void) = FUNCTION(starpu_is_initialized);

	puts(!init(NULL) && is_initialized() ? "initialized" : "not initialized");
	return 0;
}
#endif
