/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <heddle/strategy.h>
#include <heddle/policy.h>

#include "support/variables.h"
#include "tools/info.h"

static const char *text(const json_t *row, const char *key)
{
	return json_string_value(json_object_get(row, key));
}

static json_t *policies_json(void)
{
	json_t *array = json_array();

	for (const struct heddle_policy *policy = heddle_policies(); policy->name; policy++)
		json_array_append_new(array,
		                      json_pack("{s:s, s:s*, s:s}", "name", policy->name,
		                                "strategy", policy->strategy, "doc", policy->doc));
	return array;
}

static json_t *parameters_json(const struct heddle_strategy_parameter *parameter)
{
	json_t *array = json_array();

	for (; parameter && parameter->name; parameter++)
		json_array_append_new(array,
		                      json_pack("{s:s, s:f, s:f, s:f, s:s, s:s}", "name",
		                                parameter->name, "default", parameter->value, "min",
		                                parameter->min, "max", parameter->max, "unit",
		                                parameter->unit, "doc", parameter->doc));
	return array;
}

static json_t *strategies_json(void)
{
	json_t *array = json_array();

	for (const struct heddle_strategy_info *const *strategy = heddle_strategies(); *strategy;
	     strategy++)
		json_array_append_new(
		    array, json_pack("{s:s, s:s, s:s, s:o}", "name", (*strategy)->name, "source",
		                     (*strategy)->source, "doc", (*strategy)->doc, "parameters",
		                     parameters_json((*strategy)->parameters)));
	return array;
}

static json_t *variables_json(void)
{
	json_t *array = json_array();

	for (int v = 0; v < HEDDLE_NVARIABLES; v++) {
		const struct heddle_variable_row *row = &heddle_variable_table[v];
		char values[128];

		heddle_variable_values(row, values, sizeof(values));
		json_array_append_new(
		    array,
		    json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "name", row->name, "value",
		              heddle_variable_text(v), "origin",
		              heddle_variable_is_set(v) ? "environment" : "default", "default",
		              row->value, "unit", row->unit, "values", values, "doc", row->doc));
	}
	return array;
}

static void print_policies(const json_t *policies)
{
	json_t *policy;
	size_t p;

	printf("Policies (STARPU_SCHED=NAME, or heddle run --sched NAME; programs linked with "
	       "Heddle run under\nheddle if none is named):\n");
	json_array_foreach(policies, p, policy)
	    printf("  %-12s %s\n", text(policy, "name"), text(policy, "doc"));
}

static void print_parameter(const json_t *parameter)
{
	const char *unit = text(parameter, "unit");

	printf("      %-12s %s (%s%s%g to %g, default %g)\n", text(parameter, "name"),
	       text(parameter, "doc"), unit, *unit ? "; " : "",
	       json_number_value(json_object_get(parameter, "min")),
	       json_number_value(json_object_get(parameter, "max")),
	       json_number_value(json_object_get(parameter, "default")));
}

/* What stands in place of a strategy where a loop has one. */
static const char tasks_doc[] =
    "no strategy: equal tasks, HEDDLE_PARTS for each worker, which the policy places";

static void print_strategies(const json_t *strategies)
{
	json_t *strategy, *parameter;
	size_t s, p;

	printf(
	    "Block strategies (NAME[:KEY=VALUE,...] in HEDDLE_STRATEGY or a loop's strategy):\n");
	json_array_foreach(strategies, s, strategy)
	{
		printf("  %s: %s\n      source: %s\n", text(strategy, "name"),
		       text(strategy, "doc"), text(strategy, "source"));
		json_array_foreach(json_object_get(strategy, "parameters"), p, parameter)
		    print_parameter(parameter);
	}
	printf("  tasks: %s\n", tasks_doc);
}

static void print_variables(const json_t *variables)
{
	json_t *variable;
	size_t v;

	printf("Variables:\n");
	json_array_foreach(variables, v, variable)
	    printf("  %s=%s (%s)\n      %s (%s)\n", text(variable, "name"), text(variable, "value"),
	           text(variable, "origin"), text(variable, "doc"), text(variable, "values"));
}

const struct info_table info_tables[INFO_NTABLES] = {
    {"policies", policies_json, print_policies},
    {"strategies", strategies_json, print_strategies},
    {"variables", variables_json, print_variables},
};

/* ---- the manual ---- */

static const char *type_name(enum heddle_variable_type type)
{
	switch (type) {
	case HEDDLE_TYPE_FLAG:
		return "flag";
	case HEDDLE_TYPE_INTEGER:
		return "integer";
	case HEDDLE_TYPE_REAL:
		return "number";
	case HEDDLE_TYPE_CHOICE:
		return "word";
	default:
		return "text";
	}
}

/* A cell of a table: '|' would end it. */
static void print_cell(const char *cell)
{
	for (; *cell; cell++)
		printf(*cell == '|' ? "\\|" : "%c", *cell);
}

void info_print_manual(void)
{
	printf("# Environment variables\n\n"
	       "These variables tune Heddle. `heddle info --variables` prints their current\n"
	       "values and their origin. A name that begins with `HEDDLE_` but is not in this\n"
	       "table causes a warning that names the nearest one. With a malformed value, apps,\n"
	       "loops, wavefronts and kernels refuse to start; policies name it and take the\n"
	       "default. StarPU's handbook describes its own variables (`STARPU_SCHED`,\n"
	       "`STARPU_NCPU`, ...).\n\n"
	       "`make update-doc` makes this page from `support/variables.def`.\n\n"
	       "| Name | Type | Default | Values | Meaning |\n"
	       "|---|---|---|---|---|\n");
	for (int v = 0; v < HEDDLE_NVARIABLES; v++) {
		const struct heddle_variable_row *row = &heddle_variable_table[v];
		char values[128];

		heddle_variable_values(row, values, sizeof(values));
		printf("| `%s` | %s | %s%s%s | ", row->name, type_name(row->type),
		       *row->value ? "`" : "", *row->value ? row->value : "not set",
		       *row->value ? "`" : "");
		print_cell(values);
		printf(" | ");
		print_cell(row->doc);
		printf(" |\n");
	}
}

/* Text of a man page: roff's special characters are escaped. */
static void print_roff(const char *words)
{
	for (const char *at = words; *at; at++) {
		if (at == words && (*at == '.' || *at == '\''))
			printf("\\&");
		if (*at == '-')
			printf("\\-");
		else if (*at == '\\')
			printf("\\e");
		else
			putchar(*at);
	}
}

/* A tagged paragraph: the tag in bold, then the text. */
static void print_tagged(const char *tag, const char *words)
{
	printf(".TP\n.B ");
	print_roff(tag);
	printf("\n");
	print_roff(words);
	printf("\n");
}

static void print_strategy(const struct heddle_strategy_info *strategy)
{
	char range[256];

	print_tagged(strategy->name, strategy->doc);
	printf("(");
	print_roff(strategy->source);
	printf(")\n.RS\n");
	for (const struct heddle_strategy_parameter *p = strategy->parameters; p && p->name; p++) {
		print_tagged(p->name, p->doc);
		snprintf(range, sizeof(range), "(%s%s%g to %g, default %g)", p->unit,
		         *p->unit ? "; " : "", p->min, p->max, p->value);
		print_roff(range);
		printf("\n");
	}
	printf(".RE\n");
}

void info_print_man_page(void)
{
	printf(".TH HEDDLE 7 \"\" \"Heddle %s\" \"Heddle\"\n"
	       ".SH NAME\nheddle \\- policies, block strategies and variables of Heddle\n"
	       ".SH DESCRIPTION\n"
	       "Heddle schedules loops, kernels and task graphs over all processors of a machine, "
	       "on top of StarPU. The environment chooses the policy and sets the variables.\n"
	       ".SH POLICIES\n"
	       "STARPU_SCHED=NAME chooses the policy of a program that links libheddle; "
	       "\n.BR heddle\\-run (1)\nbrings a policy to any program of StarPU.\n",
	       PACKAGE_VERSION);
	for (const struct heddle_policy *policy = heddle_policies(); policy->name; policy++)
		print_tagged(policy->name, policy->doc);
	printf(".SH \"BLOCK STRATEGIES\"\n"
	       "A strategy is named NAME[:KEY=VALUE,...] in HEDDLE_STRATEGY or in a loop.\n");
	for (const struct heddle_strategy_info *const *s = heddle_strategies(); *s; s++)
		print_strategy(*s);
	print_tagged("tasks", tasks_doc);
	printf(".SH ENVIRONMENT\n");
	for (int v = 0; v < HEDDLE_NVARIABLES; v++) {
		const struct heddle_variable_row *row = &heddle_variable_table[v];
		char values[128], range[320];

		heddle_variable_values(row, values, sizeof(values));
		print_tagged(row->name, row->doc);
		snprintf(range, sizeof(range), "(%s, default %s)", values,
		         *row->value ? row->value : "not set");
		print_roff(range);
		printf("\n");
	}
	printf(".SH \"SEE ALSO\"\n.BR heddle (1)\n");
}
