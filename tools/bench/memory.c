/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory, text and numbers for heddle bench and heddle overhead.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"

static void *allocated(void *memory)
{
	if (!memory) {
		fprintf(stderr, "heddle bench: out of memory\n");
		exit(1);
	}
	return memory;
}

void *bench_grow(void *array, size_t count, size_t size)
{
	return allocated(realloc(array, count * size));
}

char *bench_format(const char *format, ...)
{
	va_list arguments;
	char *text = NULL;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	return allocated(text);
}

void bench_list_add(char ***list, unsigned *count, char *entry)
{
	*list = bench_grow(*list, *count + 2, sizeof(**list));
	(*list)[(*count)++] = entry;
	(*list)[*count] = NULL;
}

void bench_list_free(char **list)
{
	for (char **entry = list; entry && *entry; entry++)
		free(*entry);
	free(list);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(const double *values, size_t count)
{
	double *sorted, median;

	if (!count)
		return 0;
	sorted = bench_grow(NULL, count, sizeof(*sorted));
	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare);
	median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
	free(sorted);
	return median;
}

double bench_minimum(const double *values, size_t count)
{
	double minimum = count ? values[0] : 0;

	for (size_t i = 1; i < count; i++)
		if (values[i] < minimum)
			minimum = values[i];
	return minimum;
}
