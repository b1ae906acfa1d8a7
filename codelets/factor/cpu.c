/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <float.h>
#include <math.h>
#include <cblas.h>

#include "codelets/factor/factor.h"

/* Of LAPACK, whose headers need a package more. */
void spotrf_(const char *half, const blasint *n, float *a, const blasint *ld, blasint *info);
void dpotrf_(const char *half, const blasint *n, double *a, const blasint *ld, blasint *info);

#define REAL float
#define LEAST FLT_MIN
#define NAME(name) name##_single
#define BLAS(name) cblas_s##name
#define LAPACK(name) s##name##_
#include "codelets/factor/plain.h"

#define REAL double
#define LEAST DBL_MIN
#define NAME(name) name##_double
#define BLAS(name) cblas_d##name
#define LAPACK(name) d##name##_
#include "codelets/factor/plain.h"

void factor_cpu(enum factor_op op, bool wide, const struct factor_tile *tiles, int *broken)
{
	(wide ? compute_double : compute_single)(op, tiles, broken);
}

void factor_cpu_prepare(void)
{
	openblas_set_num_threads(1);
}

unsigned factor_ntiles(enum factor_op op)
{
	switch (op) {
	case FACTOR_POTRF:
	case FACTOR_GETRF:
		return 1;
	case FACTOR_TRSM:
	case FACTOR_ROW:
	case FACTOR_COLUMN:
		return 2;
	default:
		return 3;
	}
}

double factor_flops(enum factor_op op, double rows, double columns, double depth)
{
	switch (op) {
	case FACTOR_POTRF:
		return rows * rows * rows / 3;
	case FACTOR_GETRF:
		return rows * rows * rows * 2 / 3;
	case FACTOR_SYRK:
		return rows * (rows + 1) * depth;
	case FACTOR_GEMM:
	case FACTOR_UPDATE:
		return 2 * rows * columns * depth;
	default:
		return rows * columns * depth;
	}
}
