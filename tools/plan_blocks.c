/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle plan blocks: replays a block strategy on a described machine.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "support/message.h"
#include "support/options.h"
#include "tools/common/machine.h"
#include "tools/plan.h"

struct arguments {
	const char *strategy;
	const char *machine;
	bool table;
};

/* The blocks of one worker. */
struct tally {
	size_t iterations, blocks;
	double finish_us;
};

static struct tally *tallies_make(const struct replay_machine *machine,
                                  const struct replay_result *result)
{
	struct tally *tallies = calloc(machine->nworkers, sizeof(*tallies));

	for (size_t i = 0; tallies && i < result->nblocks; i++) {
		const struct replay_block *block = &result->blocks[i];
		struct tally *tally = &tallies[block->worker];

		if (block->lost)
			continue;
		tally->iterations += block->size;
		tally->blocks++;
		if (block->end_us > tally->finish_us)
			tally->finish_us = block->end_us;
	}
	return tallies;
}

/* Each block has its own line, so that thousands of them stay readable. */
static void line_print(json_t *value, const char *end)
{
	char *text = value ? json_dumps(value, JSON_REAL_PRECISION(10)) : NULL;

	printf("  %s%s\n", text ? text : "null", end);
	free(text);
	json_decref(value);
}

static void json_print(const struct arguments *arguments, const struct replay_machine *machine,
                       const struct replay_result *result, const struct tally *tallies)
{
	json_t *spec = json_string(arguments->strategy);
	char *text = json_dumps(spec, JSON_ENCODE_ANY);

	printf("{\"strategy\": %s, \"n\": %zu,\n \"blocks\": [\n", text ? text : "null",
	       machine->n);
	free(text);
	json_decref(spec);
	for (size_t i = 0; i < result->nblocks; i++) {
		const struct replay_block *b = &result->blocks[i];
		json_t *line = json_pack(
		    "{s:s, s:I, s:I, s:s, s:f, s:f}", "worker", machine->workers[b->worker].name,
		    "start", (json_int_t)b->start, "size", (json_int_t)b->size, "phase",
		    heddle_phase_name(b->phase), "begin_us", b->begin_us, "end_us", b->end_us);

		if (b->lost)
			json_object_set_new(line, "lost", json_true());
		line_print(line, i + 1 < result->nblocks ? "," : "");
	}
	printf(" ],\n \"workers\": [\n");
	for (unsigned w = 0; w < machine->nworkers; w++)
		line_print(json_pack("{s:s, s:s, s:I, s:I, s:f}", "name", machine->workers[w].name,
		                     "kind", heddle_kind_name(machine->workers[w].given.kind),
		                     "iterations", (json_int_t)tallies[w].iterations, "blocks",
		                     (json_int_t)tallies[w].blocks, "finish_us",
		                     tallies[w].finish_us),
		           w + 1 < machine->nworkers ? "," : "");
	printf(" ],\n \"makespan_us\": %.10g, \"ideal_us\": %.10g, \"learning_us\": %.10g, "
	       "\"finish_spread\": %.6g}\n",
	       result->makespan_us, result->ideal_us, result->learning_us, result->finish_spread);
}

static void table_print(const struct replay_machine *machine, const struct replay_result *result,
                        const struct tally *tallies)
{
	printf("%-16s %14s %14s  %-10s %14s %14s\n", "worker", "start", "size", "phase", "begin us",
	       "end us");
	for (size_t i = 0; i < result->nblocks; i++) {
		const struct replay_block *b = &result->blocks[i];

		printf("%-16s %14zu %14zu  %-10s %14.1f %14.1f%s\n",
		       machine->workers[b->worker].name, b->start, b->size,
		       heddle_phase_name(b->phase), b->begin_us, b->end_us,
		       b->lost ? "  lost" : "");
	}
	printf("\n%-16s %14s %8s %8s %14s\n", "worker", "iterations", "share", "blocks", "end us");
	for (unsigned w = 0; w < machine->nworkers; w++)
		printf("%-16s %14zu %7.2f%% %8zu %14.1f\n", machine->workers[w].name,
		       tallies[w].iterations,
		       machine->n ? 100.0 * tallies[w].iterations / machine->n : 0.0,
		       tallies[w].blocks, tallies[w].finish_us);
	printf("\n%.1f us, ideally %.1f (efficiency %.3f), learning until %.1f us, ends spread "
	       "over %.2f%%\n",
	       result->makespan_us, result->ideal_us,
	       result->makespan_us > 0 ? result->ideal_us / result->makespan_us : 1.0,
	       result->learning_us, 100 * result->finish_spread);
}

static error_t take_machine(void *data, int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = data;

	if (key == ARGP_KEY_NO_ARGS)
		argp_error(state, "which machine?");
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (arguments->machine)
		argp_error(state, "one machine at a time, please");
	arguments->machine = value;
	return 0;
}

static void keys_print(FILE *out)
{
	fputs(
	    "MACHINE.json (-: standard input) is {\"n\": iterations, \"seed\": seed of the noise, "
	    "\"workers\": [{...}, ...]} with these keys for each worker, times in "
	    "microseconds:\n",
	    out);
	machine_keys(out);
	fputs("\nStrategies:\n", out);
	for (const struct heddle_strategy_info *const *s = heddle_strategies(); *s; s++)
		fprintf(out, "  %-12s %s\n", (*s)->name, (*s)->doc);
}

static const struct option_row options[] = {
    {"strategy", "NAME[:KEY=VALUE,...]", "the strategy (default: hdss)",
     TEXT(struct arguments, strategy), .letter = 's'},
    {"table", NULL, "print a table instead of JSON", SETS(struct arguments, table, true),
     .letter = 't'},
    {0},
};

static const struct option_program program = {
    .name = "heddle plan blocks",
    .arguments = "MACHINE.json",
    .doc = "Replays a block strategy on a described machine and prints every block that it "
           "gives, as JSON.",
};

int plan_blocks(int argc, char **argv)
{
	struct arguments arguments = {.strategy = "hdss"};
	struct option_set set = {
	    .rows = options, .data = &arguments, .argument = take_machine, .extra = keys_print};
	struct replay_machine machine;
	struct replay_result result;
	struct tally *tallies;
	int error;

	options_parse(&program, &set, argc, argv);
	if (machine_read(arguments.machine, &machine))
		return PLAN_USAGE;
	error = replay_run(arguments.strategy, &machine, &result);
	if (error == -ENOMEM)
		heddle_refuse(error, "%s: %s", arguments.machine, strerror(ENOMEM));
	if (error) {
		machine_free(&machine);
		return PLAN_USAGE;
	}
	tallies = tallies_make(&machine, &result);
	if (tallies && arguments.table)
		table_print(&machine, &result, tallies);
	else if (tallies)
		json_print(&arguments, &machine, &result, tallies);
	if (result.left)
		fprintf(stderr, "heddle: %zu iterations were left: every worker failed\n",
		        result.left);
	error = !tallies || result.left || fflush(stdout) || ferror(stdout);
	free(tallies);
	replay_free(&result);
	machine_free(&machine);
	return error ? 1 : 0;
}
