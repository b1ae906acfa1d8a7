/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <starpu.h>

#include "apps/strmatch/strmatch.h"

int matching_init(struct matching *matching, size_t n, size_t m)
{
	int error;

	*matching = (struct matching){.n = n, .m = m};
	error = heddle_malloc(n, (void **)&matching->query);
	if (!error)
		error = heddle_malloc(m, (void **)&matching->subject);
	if (!error)
		error = heddle_malloc(n * sizeof(*matching->rows), (void **)&matching->rows);
	if (!error)
		error = heddle_malloc(m * sizeof(*matching->edge), (void **)&matching->edge);
	return error;
}

static starpu_data_handle_t register_vector(const void *array, size_t n, size_t size)
{
	starpu_data_handle_t handle;

	starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)array, n, size);
	return handle;
}

void matching_register(struct matching *matching, const struct strmatch_job *job)
{
	size_t n = matching->n, m = matching->m;

	matching->wave = (struct heddle_wavefront){
	    .name = "strmatch",
	    .codelet = &strmatch_codelet,
	    .rows = n,
	    .columns = m,
	    .nvectors = 3,
	    .vectors = {{.column = 1}, {.row = 1}, {.row = 1, .column = 1}},
	    .narrays = 4,
	    .arrays =
	        {
	            {register_vector(matching->query, n, 1), STARPU_R, HEDDLE_ROWS, 1},
	            {register_vector(matching->subject, m, 1), STARPU_R, HEDDLE_COLUMNS, 1},
	            {register_vector(matching->rows, n, sizeof(*matching->rows)), STARPU_RW,
	             HEDDLE_ROWS, 1},
	            {register_vector(matching->edge, m, sizeof(*matching->edge)), STARPU_RW,
	             HEDDLE_COLUMNS, 1},
	        },
	    .arg = job,
	};
}

void matching_reset(struct matching *matching, int32_t floor)
{
	strmatch_start(matching->n, floor, matching->rows);
	for (size_t j = 0; j < matching->m; j++)
		matching->edge[j] = (struct strmatch_edge){.h = floor, .f = STRMATCH_NONE};
}

void matching_free(struct matching *matching)
{
	heddle_free(matching->query, matching->n);
	heddle_free(matching->subject, matching->m);
	heddle_free(matching->rows, matching->n * sizeof(*matching->rows));
	heddle_free(matching->edge, matching->m * sizeof(*matching->edge));
}
