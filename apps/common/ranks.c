/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include <starpu.h>

#include <heddle/heddle.h>

#include "support/message.h"
#include "apps/common/ranks.h"

#ifdef HEDDLE_HAVE_MPI
#include "partition/mpi/world.h"

#define LIBRARY "libheddle-mpi.so.0"

static const struct mpi_world *world; /* NULL: not used */
static int rank, nranks = 1;
static struct heddle_mpi_rank_stats *latest;

/* The library of this build lies beside libheddle. */
static void *library_open(void)
{
	char path[4096];
	char *end;
	Dl_info here;
	void *library = NULL;

	if (dladdr((void *)(uintptr_t)heddle_version, &here) && here.dli_fname &&
	    strlen(here.dli_fname) + sizeof(LIBRARY) < sizeof(path)) {
		strcpy(path, here.dli_fname);
		end = strrchr(path, '/');
		strcpy(end ? end + 1 : path, LIBRARY);
		library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	}
	return library ? library : dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);
}

int ranks_begin(int *argc, char ***argv)
{
	void *library = library_open();
	const struct mpi_world *found = library ? dlsym(library, "heddle_mpi_world") : NULL;
	int status;

	if (!found)
		return heddle_refuse(-ENODEV, "--mpi: %s", dlerror());
	status = found->begin(argc, argv, &rank, &nranks);
	if (status)
		return status;
	latest = calloc(nranks, sizeof(*latest));
	if (!latest)
		return -ENOMEM;
	world = found;
	return 0;
}

void ranks_end(void)
{
	free(latest);
	if (world)
		world->end();
}

bool ranks_used(void)
{
	return world;
}

bool ranks_first(void)
{
	return !rank;
}

int ranks_starpu_init(void)
{
	int status;

	if (world)
		world->turn_begin();
	status = starpu_init(NULL);
	if (world)
		world->turn_end();
	return status ? heddle_refuse(-ENODEV, "StarPU does not start here") : 0;
}

int ranks_all(int status)
{
	return world ? world->all(status) : status;
}

void ranks_prepare(struct heddle_loop *loop)
{
	for (unsigned a = 0; rank && a < loop->naccesses; a++) {
		starpu_data_unregister(loop->accesses[a].handle);
		loop->accesses[a].handle = NULL;
	}
	if (world)
		world->tell(&loop->n, sizeof(loop->n));
}

int ranks_loop_run(const struct heddle_loop *loop, size_t arg_bytes,
                   struct heddle_loop_stats *stats)
{
	struct heddle_mpi_place places[HEDDLE_LOOP_MAXHANDLES];

	for (unsigned a = 0; a < HEDDLE_LOOP_MAXHANDLES; a++)
		places[a] = (struct heddle_mpi_place){HEDDLE_MPI_ON_RANK, 0};
	if (arg_bytes)
		world->tell((void *)loop->arg, arg_bytes);
	return world->loop_run(loop, places, latest, stats);
}

void ranks_print(void)
{
	if (!world)
		return;
	printf("  %-4s %12s %7s %12s %12s %12s %12s  %s\n", "rank", "iterations", "ranges",
	       "busy us", "finish us", "received", "sent", "host");
	for (int r = 0; r < nranks; r++)
		printf("  %-4d %12zu %7zu %12.1f %12.1f %12zu %12zu  %s\n", r, latest[r].iterations,
		       latest[r].ranges, latest[r].busy_us, latest[r].finish_us,
		       latest[r].bytes_received, latest[r].bytes_sent, latest[r].host);
}

json_t *ranks_json(void)
{
	json_t *list = world ? json_array() : NULL;

	for (int r = 0; world && r < nranks; r++)
		json_array_append_new(
		    list, json_pack("{si ss sI sI sI sI sf sf sf}", "rank", r, "host",
		                    latest[r].host, "iterations", (json_int_t)latest[r].iterations,
		                    "ranges", (json_int_t)latest[r].ranges, "bytes_received",
		                    (json_int_t)latest[r].bytes_received, "bytes_sent",
		                    (json_int_t)latest[r].bytes_sent, "busy_us", latest[r].busy_us,
		                    "finish_us", latest[r].finish_us, "rate", latest[r].rate));
	return list;
}

#else

int ranks_begin(int *argc, char ***argv)
{
	return heddle_refuse(-ENODEV, "--mpi: this Heddle was built without MPI");
}

void ranks_end(void)
{
}

bool ranks_used(void)
{
	return false;
}

bool ranks_first(void)
{
	return true;
}

int ranks_starpu_init(void)
{
	return starpu_init(NULL) ? heddle_refuse(-ENODEV, "StarPU does not start here") : 0;
}

int ranks_all(int status)
{
	return status;
}

void ranks_prepare(struct heddle_loop *loop)
{
}

int ranks_loop_run(const struct heddle_loop *loop, size_t arg_bytes,
                   struct heddle_loop_stats *stats)
{
	return -ENODEV;
}

void ranks_print(void)
{
}

json_t *ranks_json(void)
{
	return NULL;
}

#endif
