/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "tools/common/help.h"

char *help_extra(int key, const char *text, int extra, void (*print)(FILE *out))
{
	char *made = NULL;
	size_t size;
	FILE *out;

	if (key != extra)
		return (char *)text;
	out = open_memstream(&made, &size);
	if (!out)
		return NULL;
	print(out);
	fclose(out);
	return made;
}

static error_t short_parse(int key, char *text, struct argp_state *state)
{
	if (key != 'h')
		return ARGP_ERR_UNKNOWN;
	argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
	return 0;
}

static const struct argp_option short_options[] = {{NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0}, {0}};
static const struct argp short_argp = {.options = short_options, .parser = short_parse};

const struct argp_child help_short[] = {{&short_argp, 0, NULL, 0}, {0}};
