/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Starts StarPU on the ranks of a machine: each takes its part of the cores and devices.
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "partition/mpi/link_mpi.h"
#include "partition/mpi/place.h"
#include "partition/mpi/world.h"
#include "support/message.h"
#include "support/starpu_compat.h"

#ifdef HEDDLE_USE_SIMGRID
/* A rank has a machine of its own. All go on together. */
int heddle_mpi_starpu_init(struct starpu_conf *conf)
{
	int status = starpu_init(conf);

	MPI_Barrier(MPI_COMM_WORLD);
	return status;
}
#else
/* Where StarPU has a kind of device, the runtime's library is in this process. */
static const struct runtime {
	const char *count, *address;
	const char *number, *which; /* StarPU's variables */
} runtimes[] = {
    {"cudaGetDeviceCount", "cudaDeviceGetPCIBusId", "STARPU_NCUDA", "STARPU_WORKERS_CUDAID"},
    {"hipGetDeviceCount", "hipDeviceGetPCIBusId", "STARPU_NHIP", "STARPU_WORKERS_HIPID"}};
#define RUNTIMES (sizeof(runtimes) / sizeof(*runtimes))

/* What ranks tell each other. */
struct told {
	char machine[128];
	char bound[1024]; /* the processors that the launcher allows it */
	struct devices {
		int n;
		char first[32]; /* launchers may give each rank one that it calls 0 */
	} devices[RUNTIMES];
};

/* The ranks on this machine. */
struct machine {
	int rank, nranks;
	struct told *told; /* of each */
	hwloc_topology_t topology;
};

static bool is_said(const char *const *names)
{
	while (*names && !getenv(*names))
		names++;
	return *names;
}

static struct devices devices_find(const struct runtime *runtime)
{
	int (*count)(int *n) = (int (*)(int *))dlsym(RTLD_DEFAULT, runtime->count);
	int (*address)(char *text, int size, int device) =
	    (int (*)(char *, int, int))dlsym(RTLD_DEFAULT, runtime->address);
	struct devices found = {0};

	if (!count || !address || count(&found.n) || found.n < 1 ||
	    address(found.first, sizeof(found.first), 0))
		return (struct devices){0};
	return found;
}

/* Two machines may have one name. */
static void machine_name(char *name, size_t size)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
	size_t length = file ? fread(name, 1, size / 2, file) : 0;

	if (file)
		fclose(file);
	gethostname(name + length, size - length - 1);
}

static void own_find(const struct machine *machine, struct told *own)
{
	hwloc_cpuset_t bound =
	    hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(machine->topology));

	machine_name(own->machine, sizeof(own->machine));
	(void)hwloc_get_cpubind(machine->topology, bound, HWLOC_CPUBIND_THREAD);
	hwloc_bitmap_snprintf(own->bound, sizeof(own->bound), bound);
	hwloc_bitmap_free(bound);
	for (size_t d = 0; d < RUNTIMES; d++)
		own->devices[d] = devices_find(&runtimes[d]);
}

/* MPI_Comm_split_type() would find the ranks of a machine, but wait for ever for one that hangs. */
static void tell(struct machine *machine, int rank, int nranks)
{
	struct told own = {0};

	own_find(machine, &own);
	mpi_world_gather(&own, machine->told, sizeof(own));
	for (int r = 0; r < nranks; r++) {
		if (strcmp(machine->told[r].machine, own.machine))
			continue;
		if (r == rank)
			machine->rank = machine->nranks;
		machine->told[machine->nranks++] = machine->told[r];
	}
}

/* Gives the workers these cores. StarPU's files are of the whole machine, so it is not to see less
 * of it. This thread may run where it did, unless that is not where the workers are.
 * @return how many cores they are */
static unsigned cores_use(hwloc_topology_t topology, hwloc_const_cpuset_t own,
                          hwloc_const_cpuset_t bound)
{
	unsigned all = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE), cores = 0;
	char *list = malloc(8 * all + 1);
	size_t length = 0;

	if (!list)
		return 0;
	for (unsigned c = 0; c < all; c++) {
		hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, c);
		hwloc_obj_t pu =
		    hwloc_get_obj_inside_cpuset_by_type(topology, core->cpuset, HWLOC_OBJ_PU, 0);

		if (!hwloc_bitmap_intersects(core->cpuset, own))
			continue;
		length += sprintf(list + length, cores++ ? " %u" : "%u", pu->logical_index);
	}
	if (!hwloc_bitmap_isincluded(own, bound))
		hwloc_set_cpubind(topology, hwloc_topology_get_allowed_cpuset(topology),
		                  HWLOC_CPUBIND_THREAD);
	setenv("STARPU_WORKERS_GETBIND", "0", 1);
	if (cores < all)
		setenv("STARPU_WORKERS_CPUID", list, 1);
	free(list);
	return cores;
}

/* Takes this rank's part of the cores. @param[out] others how many are not in it
 * @return how many are */
static unsigned cores_take(struct machine *machine, unsigned *others)
{
	hwloc_cpuset_t own = hwloc_bitmap_alloc();
	hwloc_cpuset_t *bound = calloc(machine->nranks, sizeof(*bound));
	unsigned cores = 0;

	for (int r = 0; bound && r < machine->nranks; r++) {
		bound[r] = hwloc_bitmap_alloc();
		hwloc_bitmap_sscanf(bound[r], machine->told[r].bound);
	}
	if (bound && !mpi_place_cores(machine->topology, (hwloc_const_cpuset_t *)bound,
	                              machine->rank, machine->nranks, own))
		cores = cores_use(machine->topology, own, bound[machine->rank]);
	*others = cores ? hwloc_get_nbobjs_by_type(machine->topology, HWLOC_OBJ_CORE) - cores : 0;
	for (int r = 0; bound && r < machine->nranks; r++)
		hwloc_bitmap_free(bound[r]);
	free(bound);
	hwloc_bitmap_free(own);
	return cores;
}

/* How many devices the program itself asks for; below 0: it does not say. StarPU's variables would
 * count instead. */
static int devices_wanted(const struct starpu_conf *conf, size_t d, int n)
{
	if (!d)
		return conf->use_explicit_workers_cuda_gpuid && conf->ncuda < 0 ? n : conf->ncuda;
#if HEDDLE_STARPU_14
	return conf->use_explicit_workers_hip_gpuid && conf->nhip < 0 ? n : conf->nhip;
#else
	return -1;
#endif
}

/* Takes this rank's part of the devices that all ranks see. @return how many it has */
static unsigned devices_take(const struct machine *machine, const struct starpu_conf *conf,
                             size_t d)
{
	const struct runtime *runtime = &runtimes[d];
	const char *said[] = {runtime->number, runtime->which, NULL};
	struct devices own = machine->told[machine->rank].devices[d];
	int wanted = devices_wanted(conf, d, own.n);
	unsigned first, end;
	char text[1024] = "";
	size_t length = 0;

	if (is_said(said))
		return mpi_place_said(getenv(runtime->number), own.n);
	if (wanted >= 0)
		return wanted;
	for (int r = 0; r < machine->nranks; r++)
		if (memcmp(&machine->told[r].devices[d], &own, sizeof(own)))
			return own.n;
	end = mpi_place_share(own.n, machine->rank, machine->nranks, &first);
	if (!own.n || end - first == (unsigned)own.n)
		return own.n;
	for (unsigned i = first; i < end && length < sizeof(text); i++)
		length +=
		    snprintf(text + length, sizeof(text) - length, "%s%u", i > first ? " " : "", i);
	if (end > first)
		setenv(runtime->which, text, 0);
	snprintf(text, sizeof(text), "%u", end - first);
	setenv(runtime->number, text, 0);
	/* StarPU would use the other ranks' devices through OpenCL. */
	setenv("STARPU_NOPENCL", "0", 0);
	return end - first;
}

/* Cores of this rank's that get no worker. */
static unsigned cores_free(const struct starpu_conf *conf, unsigned cores, unsigned accelerators)
{
	const char *said = getenv("STARPU_RESERVE_NCPU");

	if (said)
		return atoi(said) > 0 ? atoi(said) : 0;
	if (conf->reserve_ncpus >= 0)
		return conf->reserve_ncpus;
	/* StarPU sets one aside itself then. */
	return getenv("STARPU_MAIN_THREAD_BIND") ? 0 : mpi_place_free(cores, accelerators);
}

static bool alone(void)
{
	int nranks;

	MPI_Comm_size(MPI_COMM_WORLD, &nranks);
	return nranks == 1;
}

static void machine_take(struct machine *machine, struct starpu_conf *conf)
{
	static const char *const said[] = {"STARPU_NCPU",
	                                   "STARPU_NCPUS",
	                                   "STARPU_WORKERS_CPUID",
	                                   "STARPU_WORKERS_COREID",
	                                   "STARPU_WORKERS_GETBIND",
	                                   "STARPU_WORKERS_NOBIND",
	                                   NULL};
	unsigned accelerators = 0, cores, others;
	char text[16];

	for (size_t d = 0; d < RUNTIMES; d++)
		accelerators += devices_take(machine, conf, d);
	/* Nobody waits for what a rank that is alone answers. */
	if (alone())
		accelerators = 0;
	if (is_said(said) || conf->ncpus >= 0 || conf->use_explicit_workers_bindid)
		return;
	cores = cores_take(machine, &others);
	conf->reserve_ncpus = others + cores_free(conf, cores, accelerators);
	snprintf(text, sizeof(text), "%d", conf->reserve_ncpus);
	setenv("STARPU_RESERVE_NCPU", text, 1);
}

static int start(struct starpu_conf *conf)
{
	struct machine machine = {0};
	int status = 0, rank, nranks;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &nranks);
	machine.told = calloc(nranks, sizeof(*machine.told));
	if (!machine.told || hwloc_topology_init(&machine.topology) ||
	    hwloc_topology_load(machine.topology)) {
		heddle_warn("StarPU over ranks: no memory; the run ends on all ranks");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	tell(&machine, rank, nranks);
	machine_take(&machine, conf);
	hwloc_topology_destroy(machine.topology);
	free(machine.told);
	/* StarPU writes what it measures of a machine once. */
	if (machine.rank)
		mpi_world_meet();
	status = starpu_init(conf);
	if (!machine.rank)
		mpi_world_meet();
	return status;
}

int heddle_mpi_starpu_init(struct starpu_conf *conf)
{
	struct starpu_conf own;
	/* Of Open MPI and of MPICH. */
	static const char *const launchers[] = {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", NULL};
	int status = mpi_link_check(MPI_COMM_WORLD, "start");

	if (status)
		return status;
	if (!conf) {
		starpu_conf_init(&own);
		conf = &own;
	}
	/* What binds a process that none has started is the user. */
	if (alone() && !is_said(launchers))
		return starpu_init(conf);
	/* Ranks may come late, and MPI's own waits keep a core busy. */
	mpi_world_meet();
	return start(conf);
}
#endif
