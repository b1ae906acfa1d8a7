/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sparse matrices in compressed rows, from files of the Matrix Market or random. No StarPU.
 */
#ifndef APPS_COMMON_CSR_H
#define APPS_COMMON_CSR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Non-zeros row by row, in each row by columns; those of row i are starts[i] … starts[i+1]-1. */
struct csr {
	size_t rows, columns;
	uint32_t *starts; /**< rows + 1 */
	int32_t *column;
	double *values;
};

/** Reads a matrix; both halves of a symmetric one. Numbers that the file gives count, also zeros.
 * @param single numbers too large for floats are refused
 * @param[out] matrix to be freed by csr_free()
 * @return 0; -EINVAL after a message with file and reason; -errno. */
int csr_read(const char *path, bool single, struct csr *matrix);

void csr_free(struct csr *matrix);

/** Writes a matrix so that csr_read() gives the same.
 * @param value of non-zero `entry`
 * @param digits 9 for floats, 17 for doubles
 * @return 0; -errno after a message. */
int csr_write(const char *path, const struct csr *matrix, int digits,
              double (*value)(void *arg, size_t entry), void *arg);

/** What random matrices are like. */
struct csr_shape {
	size_t rows, columns;
	double mean;  /**< non-zeros of a row, at least 1 */
	double alpha; /**< above 1: lengths of rows have Pareto's distribution; the smaller, the
	                   fewer rows have most of the non-zeros */
	bool sorted;  /**< the longest row is the first one */
	uint64_t seed;
};

/** Lengths of random rows, as their starts.
 * @param[out] starts rows + 1
 * @return 0; -EINVAL after a message: more non-zeros than starts can count */
int csr_random_starts(const struct csr_shape *shape, uint32_t *starts);

/** Column and value (0 to 1) of a non-zero of a random matrix.
 * @param at,length place in its row, and the row's non-zeros */
int32_t csr_random_column(const struct csr_shape *shape, size_t entry, size_t at, size_t length);
double csr_random_value(const struct csr_shape *shape, size_t entry);

#endif
