/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tables of numbers as comma-separated values: one row a line, an optional
 * first line with the names of the columns, blank lines ignored. No StarPU.
 */
#ifndef APPS_COMMON_CSV_H
#define APPS_COMMON_CSV_H

#include <stddef.h>

#define CSV_MAXCOLUMNS 8

struct csv {
	unsigned ncolumns;
	size_t rows;
	float *columns[CSV_MAXCOLUMNS]; /**< `rows` numbers each */
};

/** Reads a table of numbers above 0.
 * @param columns names of the columns, in their order
 * @param[out] table to be freed by csv_free()
 * @return 0; -EINVAL after a message with file, line and reason; -errno. */
int csv_read(const char *path, unsigned ncolumns, const char *const *columns, struct csv *table);

void csv_free(struct csv *table);

/** Writes columns of numbers so that reading them gives the same floats.
 * @return 0; -errno after a message. */
int csv_write(const char *path, unsigned ncolumns, const char *const *names,
              const float *const *columns, size_t rows);

#endif
