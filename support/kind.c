/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include <heddle/kind.h>

static const char *const kind_names[HEDDLE_NKINDS] = {
    [HEDDLE_KIND_CPU] = "cpu",
    [HEDDLE_KIND_CUDA] = "cuda",
    [HEDDLE_KIND_OPENCL] = "opencl",
    [HEDDLE_KIND_FPGA] = "fpga",
};

const char *heddle_kind_name(enum heddle_kind kind)
{
	return kind_names[kind];
}

int heddle_kind_parse(const char *name, enum heddle_kind *kind)
{
	for (int k = 0; k < HEDDLE_NKINDS; k++)
		if (!strcmp(name, kind_names[k])) {
			*kind = k;
			return 0;
		}
	return -EINVAL;
}
