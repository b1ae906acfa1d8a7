/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * y = A x with a sparse matrix A in compressed rows (CSR): the non-zeros lie row by row, each with
 * the number of its column, and entry i of `starts` says where row i begins. An iteration of the
 * loop is a row. Single or double precision.
 */
#ifndef CODELETS_SPMV_H
#define CODELETS_SPMV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Versions add in different orders. A sum of k products has an error of at most k + 1 rounding
 * errors of the sum of their magnitudes, in any order; spmv_error() counts in this unit. */
#define SPMV_TOLERANCE 1.0

/** Some rows of a matrix. */
struct spmv_rows {
	size_t n;
	bool wide;              /**< double precision */
	const uint32_t *starts; /**< n + 1, non-decreasing; row i has those from starts[i] on */
	const int32_t *columns; /**< of the non-zeros; the first one is number starts[0] */
	const void *values;     /**< of the non-zeros, float or double */
	const void *x;
	void *y; /**< n */
};

/** Multiplies the rows with x. */
void spmv_cpu(const struct spmv_rows *rows);

/** Largest error of y, in units of what rounding explains (SPMV_TOLERANCE); infinite where a
 * result is not a number. */
double spmv_error(const struct spmv_rows *rows);

/** Launches the CUDA version on device memory; returns without waiting.
 * @param stream a cudaStream_t
 * @param count non-zeros of the rows, to choose the number of threads of a row
 * @return 0, or -EIO when the launch was refused. */
int spmv_cuda(void *stream, const struct spmv_rows *rows, size_t count);

/** The codelet: vectors of uint32_t (starts, HEDDLE_HALO of 1), int32_t (columns) and float or
 * double (values), both HEDDLE_INDEXED by the first one, x (HEDDLE_WHOLE) and y (written). */
extern struct starpu_codelet spmv_codelet;
/** Its OpenCL program, where this build has OpenCL. */
extern struct codelet_program spmv_program;

#ifdef __cplusplus
}
#endif
#endif
