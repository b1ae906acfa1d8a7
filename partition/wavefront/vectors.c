/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "support/message.h"
#include "vectors.h"

static bool is_positive(const struct heddle_dependence *v)
{
	if (v->sweep)
		return v->sweep > 0;
	if (v->row)
		return v->row > 0;
	return v->column > 0;
}

static bool is_in_limits(const struct heddle_dependence *v)
{
	return v->sweep <= VECTORS_LIMIT && v->row <= VECTORS_LIMIT && v->row >= -VECTORS_LIMIT &&
	       v->column <= VECTORS_LIMIT && v->column >= -VECTORS_LIMIT;
}

int heddle_dependences_check(const struct heddle_dependence *vectors, unsigned nvectors)
{
	for (unsigned i = 0; i < nvectors; i++) {
		const struct heddle_dependence *v = &vectors[i];

		if (!is_positive(v))
			return heddle_refuse(
			    -EINVAL,
			    "dependence %u, (sweep %d, row %d, column %d), is not "
			    "lexicographically "
			    "positive: an iteration would need one that comes after it, or itself",
			    i, v->sweep, v->row, v->column);
		if (!is_in_limits(v))
			return heddle_refuse(
			    -EINVAL,
			    "dependence %u, (sweep %d, row %d, column %d), reaches further than %d",
			    i, v->sweep, v->row, v->column, VECTORS_LIMIT);
	}
	return 0;
}

static void widen(size_t *reach, int component)
{
	if (component > 0 && (size_t)component > *reach)
		*reach = component;
}

struct reach vectors_reach(const struct heddle_dependence *vectors, unsigned nvectors)
{
	struct reach reach = {0};

	for (unsigned i = 0; i < nvectors; i++) {
		widen(&reach.above, vectors[i].row);
		widen(&reach.below, -vectors[i].row);
		widen(&reach.left, vectors[i].column);
		widen(&reach.right, -vectors[i].column);
	}
	return reach;
}

size_t vectors_skew(const struct heddle_dependence *vectors, unsigned nvectors)
{
	size_t skew = 0;

	for (unsigned i = 0; i < nvectors; i++) {
		const struct heddle_dependence *v = &vectors[i];

		if (!v->sweep && v->row > 0 && v->column < 0)
			widen(&skew, (-v->column + v->row - 1) / v->row);
	}
	return skew;
}

size_t vectors_minimum_rows(const struct heddle_dependence *vectors, unsigned nvectors)
{
	struct reach reach = vectors_reach(vectors, nvectors);
	size_t rows = reach.above + reach.below;

	return rows ? rows : 1;
}
