/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <string.h>

#include <starpu.h>
#include <starpu_scheduler.h>

#include <heddle/policy.h>
#include <heddle/strategy.h>

#include "support/stock.h"

const char *stock_policy(unsigned p, const char **doc)
{
	struct starpu_sched_policy **policies = starpu_sched_get_predefined_policies();

	for (unsigned i = 0; i < p && policies[i]; i++)
		;
	if (!policies[p])
		return NULL;
	if (doc)
		*doc = policies[p]->policy_description;
	return policies[p]->policy_name;
}

bool policy_exists(const char *policy)
{
	const char *name;

	for (unsigned p = 0; (name = stock_policy(p, NULL)); p++)
		if (!strcmp(name, policy))
			return true;
	return heddle_policy_find(policy);
}

/* Prints a name after those of its line; begins another line where it would be too long. */
static void name_print(FILE *out, const char *name, unsigned *column)
{
	unsigned length = strlen(name) + 1;

	if (*column + length > 80) {
		fputs("\n ", out);
		*column = 1;
	}
	fprintf(out, " %s", name);
	*column += length;
}

static bool name_is_strategy(const char *name)
{
	const struct heddle_strategy_info *const *strategy = heddle_strategies();

	while (*strategy && strcmp((*strategy)->name, name))
		strategy++;
	return *strategy;
}

static void names_print(FILE *out)
{
	unsigned column = fprintf(out, "Heddle's policies:"), p = 0;
	const char *name;

	for (const struct heddle_policy *policy = heddle_policies(); policy->name; policy++)
		name_print(out, policy->name, &column);
	fputc('\n', out);
	column = fprintf(out, "StarPU's own:");
	/* Where StarPU runs, Heddle's have taken places of its own. */
	while ((name = stock_policy(p++, NULL)))
		if (!heddle_policy_find(name))
			name_print(out, name, &column);
	fputs("\n'heddle run --help' says what they do.\n", out);
}

void policy_unknown_print(FILE *out, const char *name)
{
	if (name_is_strategy(name))
		fprintf(out,
		        "heddle: '%s' is a block strategy, for loops only, and not a policy; "
		        "HEDDLE_STRATEGY=%s\nselects it, under any policy\n",
		        name, name);
	else
		fprintf(out, "heddle: '%s' is not a policy of Heddle or StarPU\n", name);
	names_print(out);
}
