/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Specifications of strategies: NAME[:KEY=VALUE[,KEY=VALUE...]].
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/blocks/strategy.h"
#include "support/name.h"
#include "support/number.h"

#define ROW(name) &blocks_##name,
static const struct blocks_strategy *const strategies[] = {BLOCKS_STRATEGIES(ROW) NULL};
#undef ROW

const struct heddle_strategy_info *const *heddle_strategies(void)
{
#define ROW(name) &blocks_##name.table,
	static const struct heddle_strategy_info *const rows[] = {BLOCKS_STRATEGIES(ROW) NULL};
#undef ROW

	return rows;
}

static const struct blocks_strategy *strategy_find(const char *name, size_t length)
{
	size_t distance = (size_t)-1;
	const char *nearest = NULL;
	char meant[HEDDLE_NAME_MEANT];

	for (const struct blocks_strategy *const *s = strategies; *s; s++) {
		size_t d = heddle_name_distance(name, length, (*s)->table.name);

		if (strlen((*s)->table.name) == length && !d)
			return *s;
		if (d < distance) {
			distance = d;
			nearest = (*s)->table.name;
		}
	}
#define ROW(row) " " #row
	heddle_refuse(-EINVAL,
	              "\"%.*s\" is not a block strategy%s There are" BLOCKS_STRATEGIES(
	                  ROW) "; loops also take tasks",
	              (int)length, name,
	              *heddle_name_meant(name, length, nearest, meant) ? meant : ".");
#undef ROW
	return NULL;
}

static int parameter_refuse(const struct blocks_strategy *strategy, const char *key, size_t length,
                            const char *nearest)
{
	const struct heddle_strategy_parameter *p = strategy->table.parameters;
	char names[512] = "", meant[HEDDLE_NAME_MEANT];

	if (!nearest)
		return heddle_refuse(-EINVAL,
		                     "strategy %s has no parameters, yet \"%.*s\" is given",
		                     strategy->table.name, (int)length, key);
	for (size_t used = 0; p->name && used < sizeof(names); p++)
		used += snprintf(names + used, sizeof(names) - used, " %s", p->name);
	return heddle_refuse(-EINVAL, "strategy %s has no parameter \"%.*s\"%s It has%s",
	                     strategy->table.name, (int)length, key,
	                     *heddle_name_meant(key, length, nearest, meant) ? meant : ".", names);
}

static int parameter_find(const struct blocks_strategy *strategy, const char *key, size_t length)
{
	const struct heddle_strategy_parameter *p = strategy->table.parameters;
	size_t distance = (size_t)-1;
	const char *nearest = NULL;

	for (int i = 0; p[i].name; i++) {
		size_t d = heddle_name_distance(key, length, p[i].name);

		if (strlen(p[i].name) == length && !d)
			return i;
		if (d < distance) {
			distance = d;
			nearest = p[i].name;
		}
	}
	return parameter_refuse(strategy, key, length, nearest);
}

static int value_parse(const struct blocks_strategy *strategy,
                       const struct heddle_strategy_parameter *p, const char *text, size_t length,
                       double *value)
{
	char *end;
	double number = length ? heddle_number_parse(text, &end) : NAN;

	if (!length || end != text + length || !isfinite(number))
		return heddle_refuse(-EINVAL, "strategy %s: %s=%.*s: not a number",
		                     strategy->table.name, p->name, (int)length, text);
	if (number < p->min || number > p->max)
		return heddle_refuse(-EINVAL, "strategy %s: %s=%.*s is out of range (%g to %g %s)",
		                     strategy->table.name, p->name, (int)length, text, p->min,
		                     p->max, p->unit);
	*value = number;
	return 0;
}

/* One KEY=VALUE of `length` characters. */
static int pair_parse(const struct blocks_strategy *strategy, const char *pair, size_t length,
                      double *parameters)
{
	const char *equals = memchr(pair, '=', length);
	size_t key;
	int p;

	if (!equals)
		return heddle_refuse(-EINVAL, "strategy %s: \"%.*s\" is not KEY=VALUE",
		                     strategy->table.name, (int)length, pair);
	key = equals - pair;
	p = parameter_find(strategy, pair, key);
	if (p < 0)
		return p;
	if (!isnan(parameters[p]))
		return heddle_refuse(-EINVAL, "strategy %s: %.*s is given twice",
		                     strategy->table.name, (int)key, pair);
	return value_parse(strategy, &strategy->table.parameters[p], equals + 1, length - key - 1,
	                   &parameters[p]);
}

/* What was not given takes its default: the table's, or with published=1 the
 * paper's. */
static void defaults_fill(const struct blocks_strategy *strategy, double *parameters)
{
	bool published = strategy->published && parameters[0] == 1;

	for (int i = 0; strategy->table.parameters[i].name; i++)
		if (isnan(parameters[i]))
			parameters[i] = published ? strategy->published[i]
			                          : strategy->table.parameters[i].value;
}

int blocks_spec_parse(const char *spec, const struct blocks_strategy **strategy, double *parameters)
{
	size_t length = strcspn(spec, ":");
	const struct blocks_strategy *found = strategy_find(spec, length);
	const char *pair = spec + length;

	if (!found)
		return -EINVAL;
	for (int i = 0; i < BLOCKS_MAXPARAMETERS; i++)
		parameters[i] = NAN;
	while (*pair) {
		int error;

		pair++; /* the ':' or ',' */
		length = strcspn(pair, ",");
		error = pair_parse(found, pair, length, parameters);
		if (error)
			return error;
		pair += length;
	}
	defaults_fill(found, parameters);
	*strategy = found;
	return 0;
}

int heddle_strategy_overlaps(const char *spec)
{
	const struct blocks_strategy *strategy;
	double parameters[BLOCKS_MAXPARAMETERS];
	int error = blocks_spec_parse(spec, &strategy, parameters);

	if (error)
		return error;
	return !strategy->overlaps || strategy->overlaps(parameters);
}
