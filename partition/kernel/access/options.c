/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/options.h"
#include "partition/kernel/access/source_text.h"

#define BLANKS " \t\n\v\f\r"

/* Where an option ends: blanks in double quotes are its own. */
static const char *option_end(const char *option)
{
	bool quoted = false;

	for (; *option && (quoted || !strchr(BLANKS, *option)); option++)
		quoted ^= *option == '"';
	return option;
}

/* Whether there are quotes elsewhere than around the folder of -I. OpenCL knows no others.
 * Compilers remove them, or take them for the beginning of a string. */
static bool quotes_unclear(const char *options)
{
	const char *end;
	bool folder = false;

	for (options += strspn(options, BLANKS); *options; options = end + strspn(end, BLANKS)) {
		end = option_end(options);
		if (memchr(options, '"', end - options) && !folder && strncmp(options, "-I", 2))
			return true;
		folder = end - options == 2 && !strncmp(options, "-I", 2);
	}
	return false;
}

char *kernel_option_take(char **rest)
{
	char *option = *rest + strspn(*rest, BLANKS), *to = option;
	const char *end = option_end(option);

	if (!*option)
		return NULL;
	*rest += end - *rest + (*end != '\0');
	for (const char *from = option; from < end; from++)
		if (*from != '"')
			*to++ = *from;
	*to = '\0';
	return option;
}

/* The folder or definition of an option that may have it in the next word. */
static char *value_take(char *option, char **rest)
{
	return option[2] ? option + 2 : kernel_option_take(rest);
}

/* The next value of one of the options that have one. */
static char *value_find(char **rest, const char *wanted)
{
	char *option;

	while ((option = kernel_option_take(rest))) {
		bool found = !strncmp(option, wanted, 2);

		if (found || !strncmp(option, "-D", 2) || !strncmp(option, "-I", 2))
			option = value_take(option, rest);
		if (found)
			return option;
	}
	return NULL;
}

char *kernel_option_definition_take(char **rest)
{
	return value_find(rest, "-D");
}

bool kernel_options_define(const char *options, const char *name, size_t length)
{
	char *copy = strdup(options), *rest = copy, *definition;
	bool defined = false;

	while (copy && !defined && (definition = kernel_option_definition_take(&rest)))
		defined =
		    source_name_length(definition) == length && !strncmp(definition, name, length);
	free(copy);
	return defined;
}

char *kernel_option_folder_take(char **rest)
{
	return value_find(rest, "-I");
}

/* Whether the option is one whose meaning is known. Sources in C++ may have quotes that C does
 * not know, so they are not. */
static bool is_known(const char *option)
{
	static const char standard[] = "-cl-std=";

	if (!strncmp(option, standard, strlen(standard)))
		return !strncmp(option + strlen(standard), "CL", 2) &&
		       isdigit((unsigned char)option[strlen(standard) + 2]);
	return !strncmp(option, "-cl-", 4) || !strcmp(option, "-w") || !strcmp(option, "-Werror");
}

int kernel_options_check(const char *options, char *why, size_t size)
{
	char *copy, *rest, *option;
	int status = 0;

	if (quotes_unclear(options)) {
		snprintf(why, size,
		         "its options have quotes that are not around a folder of -I, which "
		         "compilers read in different ways");
		return -ENOTSUP;
	}
	copy = rest = strdup(options);
	if (!copy)
		return -ENOMEM;
	while (!status && (option = kernel_option_take(&rest))) {
		if (!strncmp(option, "-D", 2) || !strncmp(option, "-I", 2)) {
			value_take(option, &rest);
		} else if (!is_known(option)) {
			snprintf(why, size, "its option %s is none of -D, -I, -cl-..., -w, -Werror",
			         option);
			status = -ENOTSUP;
		}
	}
	free(copy);
	return status;
}
