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

#if defined(HEDDLE_HAVE_MPI) || defined(APPS_SMPI)
#include "partition/mpi/world.h"

static const struct mpi_world *world; /* NULL: not used */
static int rank, nranks = 1;
static struct heddle_mpi_rank_stats *latest;
static struct heddle_mpi_wave_rank *latest_wave; /* of a wavefront, instead */
static bool waves, distributed;
static struct heddle_mpi_flow_rank *latest_flow; /* NULL: it was none */

#ifdef APPS_SMPI
/* SMPI loads no libraries of programs once for each rank, so they are linked with it. */
static const struct mpi_world *world_find(void)
{
	return &heddle_mpi_world;
}

/* StarPU's main() begins a simulation, and SMPI has begun one already. */
#undef main
int starpu_main(int argc, char **argv);

int main(int argc, char **argv)
{
	return starpu_main(argc, argv);
}
#else
#define LIBRARY "libheddle-mpi.so.0"

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

static const struct mpi_world *world_find(void)
{
	void *library = library_open();
	const struct mpi_world *found = library ? dlsym(library, "heddle_mpi_world") : NULL;

	if (!found)
		heddle_warn("--mpi: %s", dlerror());
	return found;
}
#endif

int ranks_begin(int *argc, char ***argv)
{
	const struct mpi_world *found = world_find();
	int status;

	if (!found)
		return -ENODEV;
	status = found->begin(argc, argv, &rank, &nranks);
	if (status)
		return status;
	latest = calloc(nranks, sizeof(*latest));
	latest_wave = calloc(nranks, sizeof(*latest_wave));
	if (!latest || !latest_wave)
		return -ENOMEM;
	world = found;
	return 0;
}

void ranks_end(void)
{
	free(latest);
	free(latest_wave);
	free(latest_flow);
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
	int status = world ? world->starpu_init(NULL) : starpu_init(NULL);

	return status ? heddle_refuse(-ENODEV, "StarPU does not start here") : 0;
}

int ranks_all(int status)
{
	return world ? world->all(status) : status;
}

void ranks_tell(void *data, size_t bytes)
{
	if (world)
		world->tell(data, bytes);
}

int ranks_differ(const void *own, void *first, void *other, size_t bytes)
{
	uint64_t odd = 0;

	memcpy(first, own, bytes);
	if (!world)
		return 0;
	world->tell(first, bytes);
	if (memcmp(own, first, bytes))
		odd = nranks - rank;
	world->largest(&odd, 1);
	if (!odd)
		return 0;
	memset(other, 0, bytes);
	if (odd == (uint64_t)(nranks - rank))
		memcpy(other, own, bytes);
	world->largest(other, bytes / sizeof(odd));
	return nranks - odd;
}

void ranks_distribute(void)
{
	distributed = world;
}

bool ranks_distributed(void)
{
	return distributed;
}

void ranks_part(size_t n, size_t *first, size_t *count)
{
	size_t each = n / nranks, more = n % nranks;

	*first = 0;
	*count = n;
	if (!distributed)
		return;
	*first = rank * each + ((size_t)rank < more ? (size_t)rank : more);
	*count = each + ((size_t)rank < more);
}

int ranks_owner(size_t n, size_t unit)
{
	size_t each = n / nranks, more = n % nranks, larger = more * (each + 1);

	if (!distributed)
		return 0;
	return unit < larger ? unit / (each + 1) : more + (unit - larger) / each;
}

static bool in_parts(const struct heddle_access *access)
{
	return distributed && (access->share == HEDDLE_SLICE || access->share == HEDDLE_HALO);
}

void ranks_prepare(struct heddle_loop *loop)
{
	for (unsigned a = 0; rank && a < loop->naccesses; a++) {
		if (in_parts(&loop->accesses[a]))
			continue;
		starpu_data_unregister(loop->accesses[a].handle);
		loop->accesses[a].handle = NULL;
	}
	if (world)
		world->tell(&loop->n, sizeof(loop->n));
}

int ranks_loop_run(const struct heddle_loop *loop, size_t arg_bytes,
                   struct heddle_loop_stats *stats)
{
	struct heddle_mpi_place places[HEDDLE_LOOP_MAXHANDLES] = {0};

	for (unsigned a = 0; a < HEDDLE_LOOP_MAXHANDLES; a++)
		places[a].layout =
		    in_parts(&loop->accesses[a]) ? HEDDLE_MPI_BLOCKS : HEDDLE_MPI_ON_RANK;
	if (arg_bytes)
		world->tell((void *)loop->arg, arg_bytes);
	return world->loop_run(loop, places, latest, stats);
}

void ranks_wave_prepare(struct heddle_wavefront *wave)
{
	struct heddle_wavefront given = *wave;

	if (!world)
		return;
	waves = true;
	world->tell(&given, sizeof(given));
	wave->rows = given.rows;
	wave->columns = given.columns;
	wave->sweeps = given.sweeps;
	for (unsigned a = 0; rank && a < wave->narrays; a++) {
		wave->arrays[a].handle = NULL;
		wave->arrays[a].per_iteration = given.arrays[a].per_iteration;
	}
}

int ranks_wave_run(const struct heddle_wavefront *wave, size_t arg_bytes,
                   struct heddle_wavefront_stats *stats)
{
	struct heddle_mpi_place places[HEDDLE_WAVEFRONT_MAXARRAYS];

	for (unsigned a = 0; a < HEDDLE_WAVEFRONT_MAXARRAYS; a++)
		places[a] = (struct heddle_mpi_place){HEDDLE_MPI_ON_RANK, 0};
	if (arg_bytes)
		world->tell((void *)wave->arg, arg_bytes);
	return world->wavefront_run(wave, places, stats ? latest_wave : NULL, stats);
}

static void waves_print(void)
{
	printf("  %-4s %9s %9s %9s %12s %9s %9s %12s %12s  %s\n", "rank", "first row", "rows",
	       "tiles", "busy us", "from", "to", "received", "sent", "host");
	for (int r = 0; r < nranks; r++) {
		const struct heddle_mpi_wave_rank *one = &latest_wave[r];

		printf("  %-4d %9zu %9zu %9zu %12.1f %9zu %9zu %12zu %12zu  %s\n", r, one->first,
		       one->rows, one->tiles, one->busy_us, one->messages_received,
		       one->messages_sent, one->bytes_received, one->bytes_sent, one->host);
	}
}

static json_t *wave_json(int r)
{
	const struct heddle_mpi_wave_rank *one = &latest_wave[r];

	return json_pack("{si ss sI sI sI sI sI sI sI sI sf sf}", "rank", r, "host", one->host,
	                 "first", (json_int_t)one->first, "rows", (json_int_t)one->rows, "bands",
	                 (json_int_t)one->bands, "tiles", (json_int_t)one->tiles,
	                 "messages_received", (json_int_t)one->messages_received, "messages_sent",
	                 (json_int_t)one->messages_sent, "bytes_received",
	                 (json_int_t)one->bytes_received, "bytes_sent", (json_int_t)one->bytes_sent,
	                 "busy_us", one->busy_us, "power", one->power);
}

int ranks_flow_run(struct heddle_flow *flow, struct heddle_flow_stats *stats)
{
	if (!world)
		return heddle_flow_run(flow, stats);
	if (!latest_flow)
		latest_flow = calloc(nranks, sizeof(*latest_flow));
	return world->flow_run(flow, latest_flow, stats);
}

void ranks_sum(uint64_t *values, size_t n)
{
	if (world)
		world->sum(values, n);
}

void ranks_largest(uint64_t *values, size_t n)
{
	if (world)
		world->largest(values, n);
}

static void flow_print(void)
{
	printf("  %-4s %12s %12s %12s %12s %14s %14s  %s\n", "rank", "tasks", "calls", "received",
	       "sent", "bytes received", "bytes sent", "host");
	for (int r = 0; r < nranks; r++) {
		const struct heddle_mpi_flow_rank *of = &latest_flow[r];

		printf("  %-4d %12zu %12zu %12zu %12zu %14zu %14zu  %s\n", r, of->tasks, of->calls,
		       of->received, of->sent, of->bytes_received, of->bytes_sent, of->host);
	}
}

static json_t *flow_json(void)
{
	json_t *list = json_array();

	for (int r = 0; r < nranks; r++) {
		const struct heddle_mpi_flow_rank *of = &latest_flow[r];

		json_array_append_new(
		    list,
		    json_pack("{si ss sI sI sI sI sI sI}", "rank", r, "host", of->host, "tasks",
		              (json_int_t)of->tasks, "calls", (json_int_t)of->calls, "received",
		              (json_int_t)of->received, "sent", (json_int_t)of->sent,
		              "bytes_received", (json_int_t)of->bytes_received, "bytes_sent",
		              (json_int_t)of->bytes_sent));
	}
	return list;
}

void ranks_print(void)
{
	if (latest_flow)
		flow_print();
	else if (world && waves)
		waves_print();
	if (!world || latest_flow || waves)
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
	json_t *list;

	if (!world || latest_flow)
		return world ? flow_json() : NULL;
	list = json_array();
	for (int r = 0; waves && r < nranks; r++)
		json_array_append_new(list, wave_json(r));
	for (int r = 0; !waves && r < nranks; r++)
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

void ranks_tell(void *data, size_t bytes)
{
}

int ranks_differ(const void *own, void *first, void *other, size_t bytes)
{
	return 0;
}

void ranks_distribute(void)
{
}

bool ranks_distributed(void)
{
	return false;
}

void ranks_part(size_t n, size_t *first, size_t *count)
{
	*first = 0;
	*count = n;
}

int ranks_owner(size_t n, size_t unit)
{
	return 0;
}

void ranks_prepare(struct heddle_loop *loop)
{
}

int ranks_loop_run(const struct heddle_loop *loop, size_t arg_bytes,
                   struct heddle_loop_stats *stats)
{
	return -ENODEV;
}

void ranks_wave_prepare(struct heddle_wavefront *wave)
{
}

int ranks_wave_run(const struct heddle_wavefront *wave, size_t arg_bytes,
                   struct heddle_wavefront_stats *stats)
{
	return -ENODEV;
}

int ranks_flow_run(struct heddle_flow *flow, struct heddle_flow_stats *stats)
{
	return heddle_flow_run(flow, stats);
}

void ranks_sum(uint64_t *values, size_t n)
{
}

void ranks_largest(uint64_t *values, size_t n)
{
}

void ranks_print(void)
{
}

json_t *ranks_json(void)
{
	return NULL;
}

#endif
