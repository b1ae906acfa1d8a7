/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/personality.h>
#endif

#include "support/message.h"
#include "tools/common/place.h"
#include "tools/common/platform_files.h"
#include "tools/common/simulation.h"

#define HOSTNAME "heddle"

/* What StarPU charges by default for things it does on a simulated machine.
 * Transfers are no cost of StarPU's: they stay. */
static const char *const costs[] = {
    "STARPU_SIMGRID_CUDA_MALLOC_COST",    "STARPU_SIMGRID_CUDA_QUEUE_COST",
    "STARPU_SIMGRID_TASK_SUBMIT_COST",    "STARPU_SIMGRID_TASK_PUSH_COST",
    "STARPU_SIMGRID_FETCHING_INPUT_COST", "STARPU_SIMGRID_SCHED_COST",
};

/* They choose among real devices. */
static const char *const unset[] = {"STARPU_NCPU", "STARPU_NCUDA", "STARPU_NOPENCL",
                                    "STARPU_WORKERS_CPUID", "STARPU_OPENCL_ON_CPUS"};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

int simulation_profile_parse(const char *name, enum simulation_profile *profile)
{
	if (!strcmp(name, "theory"))
		*profile = SIMULATION_THEORY;
	else if (!strcmp(name, "realistic"))
		*profile = SIMULATION_REALISTIC;
	else
		return heddle_refuse(-EINVAL, "\"%s\" is not a profile (theory, realistic)", name);
	return 0;
}

int simulation_find(const char *name, struct heddle_platform *platform)
{
	char *file = place_data_file("platforms");
	int status = heddle_platform_find(name, file, platform);

	free(file);
	return status;
}

void simulation_environment_free(char **environment)
{
	for (char **e = environment; e && *e; e++)
		free(*e);
	free(environment);
}

/* StarPU fetches the handles of a task in the order of their addresses: with random
 * ones, reruns differ by some parts in a million. */
static void addresses_settle(void)
{
#ifdef __linux__
	int now = personality(0xffffffff);

	if (now != -1)
		personality(now | ADDR_NO_RANDOMIZE);
#endif
}

/* Puts an entry behind the others. @return 0; -ENOMEM */
static int environment_add(char **environment, const char *name, const char *value)
{
	while (*environment)
		environment++;
	if (asprintf(environment, "%s%s", name, value) >= 0)
		return 0;
	/* What asprintf() leaves behind after a failure is not ours to free. */
	*environment = NULL;
	return -ENOMEM;
}

/* What refuses programs whose StarPU does not simulate. */
static int environment_add_preload(char **environment)
{
	char *value = place_preload();
	int status = value ? environment_add(environment, "LD_PRELOAD=", value) : -ENOENT;

	free(value);
	return status;
}

/* What StarPU is not to see is a name alone. @return 0; -ENOMEM */
static int environment_fill(char **environment, enum simulation_profile profile)
{
	int status = environment_add(environment, "STARPU_HOSTNAME=", HOSTNAME);

	for (size_t u = 0; !status && u < COUNT(unset); u++)
		status = environment_add(environment, unset[u], "");
	for (size_t c = 0; !status && c < COUNT(costs); c++)
		status = environment_add(environment, costs[c],
		                         profile == SIMULATION_REALISTIC ? "" : "=0");
	return status;
}

int simulation_prepare(const struct heddle_platform *platform, const char *directory,
                       enum simulation_profile profile, char ***environment)
{
	char **entries = calloc(COUNT(costs) + COUNT(unset) + 5, sizeof(*entries));
	int status = entries ? heddle_platform_write(platform, directory, HOSTNAME) : -ENOMEM;

	if (!status)
		status = environment_add(entries, "STARPU_PERF_MODEL_DIR=", directory);
	if (!status)
		status = environment_add(entries, "HEDDLE_PLATFORM=", platform->spec);
	if (!status)
		status = environment_add_preload(entries);
	if (!status)
		status = environment_fill(entries, profile);
	if (status) {
		simulation_environment_free(entries);
		return status;
	}
	addresses_settle();
	*environment = entries;
	return 0;
}
