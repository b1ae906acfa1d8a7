/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Performance tables from run to run: read when a kernel is first seen, written when it is
 * unloaded or the process ends.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "partition/kernel/hash.h"
#include "partition/kernel/kernel_private.h"
#include "estimator/estimate_starpu.h"
#include "support/message.h"
#include "estimator/profile_file.h"
#include "support/variables.h"

static bool stored_wanted(void)
{
	return heddle_variable_number(HEDDLE_VARIABLE_PROFILE);
}

/* The device's name is asked while StarPU is there. */
static void device_name(struct kernel_device *device)
{
	snprintf(device->name, sizeof(device->name), "%s",
	         heddle_device_class_name(heddle_device_class(device->worker)));
}

static void hash_make(struct kernel *kernel)
{
	struct kernel_hash hash = kernel_hash_begin('t');

	kernel_hash_add(&hash, kernel->options);
	kernel_hash_add(&hash, kernel->prologue);
	kernel_hash_add(&hash, kernel->source);
	snprintf(kernel->hash, sizeof(kernel->hash), "%016" PRIx64 "%016" PRIx64, hash.sums[0],
	         hash.sums[1]);
}

static struct records_key key_of(const struct kernel *kernel, unsigned d)
{
	return (struct records_key){kernel->hash, kernel->devices[d].name,
	                            kernel->devices[d].units};
}

void stored_read(struct kernel *kernel)
{
	struct heddle_profile profile = {0};
	char path[PATH_MAX];

	hash_make(kernel);
	for (unsigned d = 0; d < kernel->ndevices; d++)
		device_name(&kernel->devices[d]);
	if (!stored_wanted() || heddle_profile_path(kernel->name, path, sizeof(path)) ||
	    heddle_profile_read(path, &profile))
		return;
	for (unsigned d = 0; d < kernel->ndevices; d++) {
		struct kernel_device *device = &kernel->devices[d];
		struct records_key key = key_of(kernel, d);

		if (records_find(&profile, &key, &device->known))
			continue;
		device->stored = device->known;
		kernel->timed |= 1U << d;
		heddle_explain("kernel %s: %s took %.1f us for %g groups in earlier runs",
		               kernel->name, device->name,
		               device->known.table.points[device->known.table.npoints - 1].us,
		               device->known.table.points[device->known.table.npoints - 1].groups);
	}
	heddle_profile_free(&profile);
}

void stored_write(struct kernel *kernel)
{
	struct heddle_profile news = {0};
	char path[PATH_MAX];

	if (!stored_wanted() || heddle_profile_path(kernel->name, path, sizeof(path)))
		return;
	/* Workers may still measure when the process ends. */
	starpu_pthread_mutex_lock(&kernel->mutex);
	for (unsigned d = 0; d < kernel->ndevices; d++) {
		struct kernel_device *device = &kernel->devices[d];
		struct records_key key = key_of(kernel, d);

		if (!(kernel->failed >> d & 1) &&
		    !records_add(&news, &key, &device->stored, &device->known, time(NULL)))
			device->stored = device->known;
	}
	starpu_pthread_mutex_unlock(&kernel->mutex);
	if (news.n)
		heddle_profile_update(path, &news);
	heddle_profile_free(&news);
}

#endif
