/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Simulated machines for `heddle simulate` and `heddle bench --platform`: finds a described
 * machine, and makes the files and the environment of a program built with StarPU on SimGrid.
 */
#ifndef HEDDLE_TOOLS_COMMON_SIMULATION_H
#define HEDDLE_TOOLS_COMMON_SIMULATION_H

#include "estimator/platform.h"

/** The simulated costs of StarPU's own work. */
enum simulation_profile {
	SIMULATION_USUAL,    /**< theory on described machines, realistic on calibrated ones */
	SIMULATION_THEORY,   /**< 0, as far as StarPU allows */
	SIMULATION_REALISTIC /**< StarPU's defaults for submission, queueing and allocation on
	                          devices */
};

/** The profile that stands for the usual one. */
enum simulation_profile simulation_profile(const struct heddle_platform *platform,
                                           enum simulation_profile profile);
extern const char *const simulation_profiles[SIMULATION_REALISTIC + 1];

/** Writes the machine's files, or copies those of a calibrated one, and makes the environment in
 * which StarPU uses them. Programs that this process starts afterwards get the same addresses in
 * every run, where the system allows it.
 * @param directory made if it is not there
 * @param[out] environment "NAME=VALUE" to be set or "NAME" to be unset; ends with
 * NULL; to be given to simulation_environment_free()
 * @return 0; -errno after a message */
int simulation_prepare(const struct heddle_platform *platform, const char *directory,
                       enum simulation_profile profile, char ***environment);
void simulation_environment_free(char **environment);

/** Finds a platform by a name in the installed file, or reads its description.
 * @return 0; -errno after a message */
int simulation_find(const char *name, struct heddle_platform *platform);

/** simulation_find() in another file of lines "NAME SPEC [APP SIZE]" and comments after '#'.
 * @param file NULL: descriptions alone
 * @return 0; -EINVAL, or the errno value of the file, after a message. */
int simulation_platform_find(const char *name, const char *file, struct heddle_platform *platform);

/** Writes the files with which StarPU simulates a platform, for STARPU_PERF_MODEL_DIR=directory
 * and STARPU_HOSTNAME=name. All accelerators become CUDA devices, in their order.
 * @param directory made if it is not there
 * @return 0; -errno after a message. */
int simulation_platform_write(const struct heddle_platform *platform, const char *directory,
                              const char *name);

/** Links between simulated machines, through a switch. */
struct simulation_network {
	double mbps, latency_us;
};

/** Reads "MBPS:US". @return 0; -EINVAL after a message */
int simulation_network_parse(const char *text, struct simulation_network *network);

/** Writes the files of a cluster of so many machines, all as the described one, of which
 * simulation_prepare() has made the files: DIRECTORY/cluster.xml for SMPI, and DIRECTORY/hosts, the
 * hosts of its ranks.
 * @return 0; -errno after a message */
int simulation_cluster_write(const struct heddle_platform *platform, const char *directory,
                             unsigned nodes, const struct simulation_network *network);

#endif
