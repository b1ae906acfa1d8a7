/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Matrices of real numbers in files of the Matrix Market (R. F. Boisvert, R. Pozo and K. A.
 * Remington, "The Matrix Market Exchange Formats: Initial Design", NISTIR 5935, 1996): array and
 * coordinate, real, integer and pattern, general and symmetric. No StarPU.
 */
#ifndef APPS_COMMON_MATRIX_MARKET_H
#define APPS_COMMON_MATRIX_MARKET_H

#include <stdbool.h>
#include <stddef.h>

/** A file whose head was read. */
struct matrix_market {
	size_t rows, columns;
	size_t entries;  /**< numbers in the file */
	bool coordinate; /**< numbers that it does not name are 0 */
	bool symmetric;  /**< it names those on and below the diagonal */
	bool pattern;    /**< it names places only, each a 1 */
	bool single;     /**< set before reading: numbers too large for floats are refused */
	/* Where the reader stands. */
	const char *path;
	char *text;
	const char *at, *end; /* *end is NUL */
	size_t line;
};

/** Reads the file and its head.
 * @param path must live as long as the file
 * @param[out] file to be closed by matrix_market_close()
 * @return 0; -EINVAL after a message with file, line and reason; -errno. */
int matrix_market_open(const char *path, struct matrix_market *file);

/** Takes a number. Rows and columns count from 0. @return false: it was given before */
typedef bool matrix_market_take(void *arg, size_t row, size_t column, double value);

/** Reads the numbers. Those of a symmetric matrix are on or below the diagonal.
 * @return 0; -EINVAL after a message with file, line and reason. */
int matrix_market_read(struct matrix_market *file, matrix_market_take *take, void *arg);

void matrix_market_close(struct matrix_market *file);

/** Writes a matrix as an array, so that reading it gives the same numbers.
 * @param symmetric only what is on and below the diagonal is written
 * @param digits 9 for floats, 17 for doubles
 * @return 0; -errno after a message. */
int matrix_market_write(const char *path, size_t rows, size_t columns, bool symmetric, int digits,
                        double (*get)(void *arg, size_t row, size_t column), void *arg);

#endif
