/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Builds of one version of StarPU share a SONAME, while the limits chosen at their configuration
 * change the layout of the public structures.
 */
#ifndef HEDDLE_SUPPORT_LAYOUT_STARPU_H
#define HEDDLE_SUPPORT_LAYOUT_STARPU_H

#include <stdbool.h>

struct starpu_conf;

/** Whether a StarPU lays out its structures as the one that Heddle was built against.
 * @param conf_init its starpu_conf_init() */
bool heddle_layout_matches(int (*conf_init)(struct starpu_conf *conf));

#endif
