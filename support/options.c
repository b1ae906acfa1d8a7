/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/options.h"

#define USAGE 2
#define MOST_SETS 3
#define MOST_ROWS 34 /* with -h and the end */
/* Keys of rows; smaller ones are letters. */
#define FIRST_KEY 0x100

int options_number(const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
	static const char suffixes[] = "KMGT";
	unsigned long long value;
	const char *suffix;
	unsigned shift = 0;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return -ERANGE;
	if (*end && (suffix = strchr(suffixes, *end))) {
		shift = 10 * (suffix - suffixes + 1);
		end++;
	}
	if (*end)
		return -EINVAL;
	if (value > UINT64_MAX >> shift || value << shift < min || value << shift > max)
		return -ERANGE;
	*number = value << shift;
	return 0;
}

int options_real(const char *text, double min, double max, double *number)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !isfinite(value))
		return -EINVAL;
	if (value < min || value > max)
		return -ERANGE;
	*number = value;
	return 0;
}

uint64_t options_take_number(const char *text, uint64_t min, uint64_t max, const char *option,
                             struct argp_state *state)
{
	uint64_t number = 0;
	int error = options_number(text, min, max, &number);

	if (error)
		argp_error(state, "--%s %s: not a whole number from %ju to %ju%s", option, text,
		           (uintmax_t)min, (uintmax_t)max,
		           error == -EINVAL && *text >= '0' && *text <= '9'
		               ? " (the letters K M G T behind it stand for powers of 1024)"
		               : "");
	return number;
}

/* An integer of a size that OPTION_WHOLE() lets through, or an enumeration. */
static void store(const struct option_row *row, void *variable, uint64_t value)
{
	if (row->size == sizeof(uint64_t))
		*(uint64_t *)variable = value;
	else if (row->size == sizeof(uint32_t))
		*(uint32_t *)variable = value;
	else
		*(uint8_t *)variable = value;
}

static void take_real(const struct option_row *row, const char *text, void *variable,
                      struct argp_state *state)
{
	double value = 0;

	if (options_real(text, row->low, row->high, &value))
		argp_error(state, "--%s %s: not a number from %g to %g", row->name, text, row->low,
		           row->high);
	if (row->size == sizeof(double))
		*(double *)variable = value;
	else
		*(float *)variable = value;
}

static void take_name(const struct option_row *row, const char *text, void *variable,
                      struct argp_state *state)
{
	char list[256] = "";
	size_t length = 0;

	for (size_t n = 0; n < row->most; n++) {
		const char *name = row->names[n];

		if (name && !strcmp(name, text)) {
			store(row, variable, n);
			return;
		}
		if (name && length < sizeof(list))
			length += snprintf(list + length, sizeof(list) - length, "%s%s",
			                   length ? " nor " : "", name);
	}
	argp_error(state, "--%s %s: neither %s", row->name, text, list);
}

/* A row without documentation is another name for the one before. */
static int row_key(const struct option_row *rows, int r)
{
	while (!rows[r].doc)
		r--;
	return rows[r].letter ? rows[r].letter : FIRST_KEY + r;
}

static void row_take(const struct option_set *set, const struct option_row *row, char *text,
                     struct argp_state *state)
{
	void *variable = (char *)set->data + row->offset;

	switch (row->kind) {
	case OPTION_SET:
		store(row, variable, row->least);
		break;
	case OPTION_TEXT:
		*(const char **)variable = text;
		break;
	case OPTION_NUMBER:
		store(row, variable,
		      options_take_number(text, row->least, row->most, row->name, state));
		break;
	case OPTION_REAL:
		take_real(row, text, variable, state);
		break;
	case OPTION_NAMED:
		take_name(row, text, variable, state);
		break;
	case OPTION_PARSED:
		row->parse(set->data, text, state);
		break;
	}
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct option_set *set = state->input;
	error_t error = ARGP_ERR_UNKNOWN;

	for (int r = 0; set->rows[r].kind; r++)
		if (key == row_key(set->rows, r)) {
			row_take(set, &set->rows[r], text, state);
			if (set->rows[r].random)
				set->random = &set->rows[r];
			return 0;
		}
	if (key == ARGP_KEY_INIT && set->next)
		state->child_inputs[0] = set->next;
	else if (key == ARGP_KEY_END && set->check)
		set->check(set->data, state);
	else if (key == 'h')
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
	else if (set->argument)
		error = set->argument(set->data, key, text, state);
	else if (key == ARGP_KEY_ARGS)
		argp_error(state, "'%s': this program takes no arguments",
		           state->argv[state->next]);
	return error;
}

static char *add_extra(int key, const char *text, void *input)
{
	const struct option_set *set = input;
	char *made = NULL;
	size_t size;
	FILE *out;

	if (key != ARGP_KEY_HELP_EXTRA || !set || !set->extra)
		return (char *)text;
	out = open_memstream(&made, &size);
	if (!out)
		return NULL;
	set->extra(out);
	fclose(out);
	return made;
}

static void options_fill(const struct option_row *rows, bool first, struct argp_option *options)
{
	int n = 0;

	for (; rows[n].kind; n++) {
		assert(n < MOST_ROWS - 2);
		options[n] =
		    (struct argp_option){.name = rows[n].name,
		                         .key = row_key(rows, n),
		                         .arg = rows[n].value,
		                         .flags = rows[n].flags | (rows[n].doc ? 0 : OPTION_ALIAS),
		                         .doc = rows[n].doc,
		                         .group = rows[n].group};
	}
	if (first)
		options[n++] = (struct argp_option){.key = 'h', .flags = OPTION_HIDDEN};
	options[n] = (struct argp_option){0};
}

#ifdef HEDDLE_USE_SIMGRID
static bool parsing;

/* argp ends the program where it helps or complains. Where main() is an actor of a
 * simulation, SimGrid's own clean-up does not stand that: while the command line is
 * parsed it is left out. */
static void leave(int status, void *arg)
{
	if (!parsing)
		return;
	fflush(NULL);
	_exit(status);
}
#endif

void options_parse(const struct option_program *program, struct option_set *set, int argc,
                   char **argv)
{
	struct argp_option options[MOST_SETS][MOST_ROWS];
	struct argp argps[MOST_SETS];
	struct argp_child children[MOST_SETS][2] = {{{0}}};
	static char version[96];
	unsigned n = 0;

	for (struct option_set *s = set; s; s = s->next, n++) {
		assert(n < MOST_SETS);
		options_fill(s->rows, !n, options[n]);
		argps[n] = (struct argp){.options = options[n],
		                         .parser = parse,
		                         .children = children[n],
		                         .help_filter = add_extra};
		if (n)
			children[n - 1][0] =
			    (struct argp_child){&argps[n], 0, s->title, s->title ? 10 : 0};
	}
	argps[0].args_doc = program->arguments;
	argps[0].doc = program->doc;
	snprintf(version, sizeof(version), "%s " PACKAGE_VERSION, program->name);
	argp_program_version = version;
	argp_err_exit_status = USAGE;
	argv[0] = (char *)program->name; /* in messages; not the path of a build */
#ifdef HEDDLE_USE_SIMGRID
	on_exit(leave, NULL);
	parsing = true;
#endif
	argp_parse(&argps[0], argc, argv, program->flags, NULL, set);
#ifdef HEDDLE_USE_SIMGRID
	parsing = false;
#endif
}
