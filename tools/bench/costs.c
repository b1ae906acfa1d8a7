/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the iterations of a loop cost, one number a line, for `heddle bench --irregular --costs`.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/message.h"
#include "support/number.h"
#include "tools/bench/bench.h"

/* Numbers above have no meaning as a time. */
#define MOST 1e15
/* Costs are multiplied by a number that would not be finite. */
#define LEAST_SUM 1e-200

/* @param length of the line, which may have a 0 in it */
static int line_take(char *line, size_t length, const char *file, unsigned long number,
                     double *cost)
{
	char *end;

	if (length && line[length - 1] == '\n')
		line[--length] = 0;
	if (length && line[length - 1] == '\r')
		line[--length] = 0;
	*cost = heddle_number_parse(line, &end);
	end += strspn(end, " \t");
	if (end == line || end != line + length || !(*cost >= 0 && *cost <= MOST))
		return heddle_refuse(-EINVAL, "%s:%lu: \"%.40s\" is not a cost from 0 to %g", file,
		                     number, line, MOST);
	return 0;
}

static int lines_take(FILE *stream, const char *file, double **costs, size_t *n)
{
	size_t room = 0, capacity = 0;
	ssize_t length;
	char *line = NULL;
	int status = 0;

	*n = 0;
	while (!status && (length = getline(&line, &room, stream)) > 0) {
		if (*n == capacity) {
			capacity = capacity ? 2 * capacity : 1024;
			*costs = bench_grow(*costs, capacity, sizeof(**costs));
		}
		status = line_take(line, length, file, *n + 1, *costs + *n);
		++*n;
	}
	if (!status && ferror(stream))
		status = heddle_refuse(-errno, "%s: %s", file, strerror(errno));
	free(line);
	return status;
}

static int sum_check(const char *file, const double *costs, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += costs[i];
	if (sum >= LEAST_SUM)
		return 0;
	return heddle_refuse(-EINVAL, "%s: %s", file,
	                     sum > 0 ? "the costs are too small"
	                     : n     ? "all costs are 0"
	                             : "no cost");
}

int bench_costs_read(const char *file, double **costs, size_t *n)
{
	FILE *stream = fopen(file, "r");
	double *read = NULL;
	int status;

	if (!stream)
		return heddle_refuse(-errno, "%s: %s", file, strerror(errno));
	status = lines_take(stream, file, &read, n);
	fclose(stream);
	if (!status)
		status = sum_check(file, read, *n);
	if (status)
		free(read);
	else
		*costs = read;
	return status;
}
