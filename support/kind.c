/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "support/kind.h"

static const char *const kind_names[HEDDLE_NKINDS] = {
    [HEDDLE_KIND_CPU] = "cpu",       [HEDDLE_KIND_CUDA] = "cuda",
    [HEDDLE_KIND_OPENCL] = "opencl", [HEDDLE_KIND_FPGA] = "fpga",
    [HEDDLE_KIND_HIP] = "hip",       [HEDDLE_KIND_MAX_FPGA] = "max_fpga",
    [HEDDLE_KIND_MPI_MS] = "mpi_ms", [HEDDLE_KIND_TCPIP_MS] = "tcpip_ms",
    [HEDDLE_KIND_OTHER] = "other",
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

/* StarPU 1.3 has names as "STARPU_CUDA_WORKER", StarPU 1.4 as "CUDA". */
enum heddle_kind kind_of_starpu(const char *type)
{
	static const char prefix[] = "STARPU_", suffix[] = "_WORKER";
	char name[32] = "";
	enum heddle_kind kind;
	size_t length;

	if (!strncmp(type, prefix, strlen(prefix)))
		type += strlen(prefix);
	length = strlen(type);
	if (length > strlen(suffix) && !strcmp(type + length - strlen(suffix), suffix))
		length -= strlen(suffix);
	for (size_t i = 0; i < length && i < sizeof(name) - 1; i++)
		name[i] = tolower((unsigned char)type[i]);
	/* Maxeler's, to StarPU the only ones. */
	if (!strcmp(name, "fpga"))
		return HEDDLE_KIND_MAX_FPGA;
	return heddle_kind_parse(name, &kind) ? HEDDLE_KIND_OTHER : kind;
}
