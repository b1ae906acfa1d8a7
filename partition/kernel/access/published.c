/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "partition/kernel/access/index_values.h"
#include "partition/kernel/access/published.h"

static void space_of_all(const struct ndrange *range, struct affine_space *space)
{
	for (unsigned d = 0; d < 3; d++) {
		space->least[d] = space->least[3 + d] = 0;
		space->most[d] = range->groups[d] - 1;
		space->most[3 + d] = range->local[d] - 1;
	}
}

/* Bytes from item to item along the first dimension, which all groups and items continue.
 * @return 0: there is no such number */
static int64_t stride_of(const struct evaluation *e, const struct affine *a)
{
	const struct ndrange *range = e->launch->range;
	int64_t stride = range->local[0] > 1 ? a->k[3] : a->k[0];

	for (unsigned d = 1; d < 3; d++)
		if ((range->groups[d] > 1 && a->k[d]) || (range->local[d] > 1 && a->k[3 + d]))
			return 0;
	if (range->groups[0] > 1 && (wide)a->k[0] != (wide)stride * (wide)range->local[0])
		return 0;
	return stride > 0 ? stride : 0;
}

/* @param[in,out] strides of the buffers so far; 0: not known yet */
static bool access_contiguous(const struct evaluation *e, const struct index_access *access,
                              int64_t *strides)
{
	const struct affine *a = access->node >= 0 ? &e->values[access->node] : NULL;
	int64_t stride, *known = &strides[access->argument];
	wide first;

	if (!a || !a->known)
		return false;
	stride = stride_of(e, a);
	if (!stride || (*known && *known != stride))
		return false;
	*known = stride;
	first = (wide)a->c - (wide)stride * (wide)e->launch->range->offset[0];
	return first + a->lo >= 0 && first + a->hi + access->bytes <= stride;
}

int published_contiguous(const struct index_kernel *kernel, const struct index_launch *launch,
                         bool *contiguous)
{
	struct evaluation e = {.kernel = kernel, .launch = launch};
	int64_t *strides = calloc(kernel->narguments + 1, sizeof(*strides));
	bool all = true;

	e.values = calloc(kernel->nnodes + 1, sizeof(*e.values));
	if (!e.values || !strides) {
		free(e.values);
		free(strides);
		return -ENOMEM;
	}
	space_of_all(launch->range, &e.space);
	index_evaluate(&e);
	for (unsigned i = 0; i < kernel->naccesses && all; i++)
		all = access_contiguous(&e, &kernel->accesses[i], strides);
	*contiguous = all;
	free(e.values);
	free(strides);
	return 0;
}
