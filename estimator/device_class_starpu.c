/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Classes of devices. They are found as their workers are asked about, and stay
 * for the life of the process, through any number of starpu_init().
 */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <starpu.h>
#ifdef HEDDLE_USE_CUDA
#include <cuda_runtime_api.h>
#endif
#ifdef HEDDLE_USE_OPENCL
#include <starpu_opencl.h>
#endif

#include "estimator/table_starpu.h"
#include "support/clock_starpu.h"
#include "support/message.h"
#include "support/starpu_compat.h"
#include "estimator/platform_starpu.h"

#define NAME 128

static struct {
	pthread_mutex_t mutex;
	atomic_uint n;
	char names[HEDDLE_DEVICE_CLASSES][NAME];
	atomic_int worker[HEDDLE_DEVICE_CLASSES]; /* a worker of each */
	/* What a worker was when it was last asked about, and its class. */
	atomic_ulong workers[STARPU_NMAXWORKERS];
} classes = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Words of a name are separated by one blank, and nothing is in it that profiles
 * would have to escape. */
static void name_clean(char *name)
{
	char *to = name;

	for (const char *from = name; *from; from++) {
		unsigned char c = *from;
		char clean = c > ' ' && c < 127 && c != '"' && c != '\\' ? c : ' ';

		if (clean != ' ' || (to > name && to[-1] != ' '))
			*to++ = clean;
	}
	if (to > name && to[-1] == ' ')
		to--;
	*to = 0;
}

static void cpu_name(char *name, size_t size)
{
	FILE *info = fopen("/proc/cpuinfo", "r");
	struct utsname machine;
	char line[256];

	*name = 0;
	while (info && !*name && fgets(line, sizeof(line), info))
		if (!strncmp(line, "model name", 10) && strchr(line, ':'))
			snprintf(name, size, "%s", strchr(line, ':') + 1);
	if (info)
		fclose(info);
	if (!*name && !uname(&machine))
		snprintf(name, size, "%s", machine.machine);
}

#ifdef HEDDLE_USE_SIMGRID
static bool accelerator_name(int worker, char *name, size_t size)
{
	const struct heddle_platform *platform = heddle_platform_current();
	unsigned device = starpu_worker_get_devid(worker);

	if (platform && device < platform->naccelerators)
		snprintf(name, size, "simulated %g", platform->accelerators[device].speed);
	else
		snprintf(name, size, "simulated");
	return true;
}
#else
/* Policies ask before StarPU has started its workers and given them names, so the
 * run-time systems are asked. */
static bool accelerator_name(int worker, char *name, size_t size)
{
	int device = starpu_worker_get_devid(worker);
	char full[256] = "";

	switch (starpu_worker_get_type(worker)) {
#ifdef HEDDLE_USE_CUDA
	case STARPU_CUDA_WORKER: {
		struct cudaDeviceProp properties;

		if (!cudaGetDeviceProperties(&properties, device))
			snprintf(full, sizeof(full), "%s", properties.name);
		break;
	}
#endif
#ifdef HEDDLE_USE_HIP
	case STARPU_HIP_WORKER: /* empty before StarPU has started it */
		snprintf(full, sizeof(full), "%s", starpu_hip_get_device_properties(worker)->name);
		break;
#endif
#ifdef HEDDLE_USE_OPENCL
	case STARPU_OPENCL_WORKER: {
		cl_device_id id;

		starpu_opencl_get_device(device, &id);
		if (clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof(full), full, NULL))
			*full = 0;
		break;
	}
#endif
	default:
		(void)device;
	}
	snprintf(name, size, "%.*s", (int)size - 1, full);
	return *name;
}
#endif

static void device_name(int worker, enum starpu_worker_archtype type, char *name, size_t size)
{
	if (type != STARPU_CPU_WORKER) {
		/* Of unknown ones each is a class of its own. */
		if (!accelerator_name(worker, name, size))
			snprintf(name, size, "device %d", starpu_worker_get_devid(worker));
		return;
	}
#ifdef HEDDLE_USE_SIMGRID
	snprintf(name, size, "simulated");
	(void)cpu_name;
#else
	cpu_name(name, size);
#endif
}

/* Workers that share a GPU (STARPU_NWORKER_PER_CUDA, _HIP): each is slower than one alone. */
static unsigned workers_of_device(int worker, enum starpu_worker_archtype type)
{
	unsigned n = 0;

	if (!heddle_compat_has_streams(type))
		return 1;
	for (unsigned id = 0; id < starpu_worker_get_count(); id++)
		n += starpu_worker_get_type(id) == type &&
		     starpu_worker_get_devid(id) == starpu_worker_get_devid(worker);
	return n;
}

static unsigned class_find(int worker, enum starpu_worker_archtype type)
{
	char device[NAME - 48], name[NAME];
	enum heddle_kind kind = heddle_worker_kind(worker);
	unsigned n, class = 0, sharing = workers_of_device(worker, type);
	char shared[32] = "";

	device_name(worker, type, device, sizeof(device));
	if (sharing > 1)
		snprintf(shared, sizeof(shared), " by %u workers", sharing);
	/* Estimates for a simulated board by one clock are wrong by the other. */
	snprintf(name, sizeof(name), "%s %s%s%s", heddle_kind_name(kind), device, shared,
	         kind == HEDDLE_KIND_FPGA && heddle_clock() == HEDDLE_CLOCK_MODELLED ? " modelled"
	                                                                             : "");
	name_clean(name);
	pthread_mutex_lock(&classes.mutex);
	n = atomic_load(&classes.n);
	while (class < n && strcmp(classes.names[class], name))
		class ++;
	if (class < HEDDLE_DEVICE_CLASSES && class == n) {
		strcpy(classes.names[class], name);
		atomic_store(&classes.n, n + 1);
	}
	pthread_mutex_unlock(&classes.mutex);
	if (class < HEDDLE_DEVICE_CLASSES)
		return class;
	heddle_warn("there are more than %d classes of devices: %s counts as %s",
	            HEDDLE_DEVICE_CLASSES, name, classes.names[HEDDLE_DEVICE_CLASSES - 1]);
	return HEDDLE_DEVICE_CLASSES - 1;
}

unsigned heddle_device_class(int worker)
{
	enum starpu_worker_archtype type = starpu_worker_get_type(worker);
	/* Another device may have the number after another starpu_init(). */
	unsigned long what =
	    1 + type + ((unsigned long)(unsigned short)starpu_worker_get_devid(worker) << 8);
	unsigned long known = atomic_load_explicit(&classes.workers[worker], memory_order_acquire);
	unsigned class;

	if (known >> 8 == what)
		return known & 255;
	class = class_find(worker, type);
	atomic_store(&classes.worker[class], worker);
	atomic_store_explicit(&classes.workers[worker], what << 8 | class, memory_order_release);
	return class;
}

unsigned heddle_device_classes(void)
{
	return atomic_load(&classes.n);
}

const char *heddle_device_class_name(unsigned class)
{
	return classes.names[class];
}

/* It may be gone since another starpu_init(). */
int estimate_class_worker(unsigned class)
{
	int worker = class < heddle_device_classes() ? atomic_load(&classes.worker[class]) : -1;

	if (worker < 0 || worker >= (int)starpu_worker_get_count() ||
	    heddle_device_class(worker) != class)
		return -1;
	return worker;
}

bool estimate_class_is_cores(unsigned class)
{
	int worker = estimate_class_worker(class);
	bool is = false;

	if (worker < 0 || starpu_worker_get_type(worker) != STARPU_OPENCL_WORKER)
		return false;
#if defined(HEDDLE_USE_OPENCL) && !defined(HEDDLE_USE_SIMGRID)
	cl_device_type type = 0;
	cl_device_id id;

	starpu_opencl_get_device(starpu_worker_get_devid(worker), &id);
	is = !clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof(type), &type, NULL) &&
	     type & CL_DEVICE_TYPE_CPU;
#endif
	return is;
}

int estimate_class_find(const char *name)
{
	unsigned n = heddle_device_classes();

	for (unsigned class = 0; class < n; class ++)
		if (!strcmp(classes.names[class], name))
			return class;
	return -1;
}
