/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a program of the SimGrid flavour needs in order to run on a described
 * machine. Used by `heddle simulate` and `heddle bench --platform`.
 */
#ifndef HEDDLE_TOOLS_COMMON_SIMULATION_H
#define HEDDLE_TOOLS_COMMON_SIMULATION_H

#include <stdbool.h>

#include "estimator/platform.h"

/** Where StarPU's own costs come from. */
enum simulation_profile {
	SIMULATION_THEORY,   /**< every cost that StarPU lets us turn off is 0 */
	SIMULATION_REALISTIC /**< StarPU's defaults: submission, queueing and allocation on
	                          devices cost time */
};

/** @return 0; -EINVAL after a message. */
int simulation_profile_parse(const char *name, enum simulation_profile *profile);

/** Writes the machine's files and says which variables make StarPU use them. Programs that
 * this process starts from now on get the same addresses every time, where the system
 * allows it.
 * @param directory made if it is not there
 * @param[out] environment "NAME=VALUE" to be set or "NAME" to be unset; ends with
 * NULL; to be given to simulation_environment_free()
 * @return 0; -errno after a message */
int simulation_prepare(const struct heddle_platform *platform, const char *directory,
                       enum simulation_profile profile, char ***environment);
void simulation_environment_free(char **environment);

/** The platform of a name or description, names being looked up in the file that
 * is shipped. @return 0; -errno after a message */
int simulation_find(const char *name, struct heddle_platform *platform);

/** Keeps SimGrid from telling how it is configured; an argument for the program. */
#define SIMULATION_QUIET "--log=root.thres:warning"

#endif
