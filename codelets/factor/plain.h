/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The operations by OpenBLAS. cpu.c includes this file for each precision; it defines
 *
 *   REAL          the type of numbers
 *   LEAST         the least normal number
 *   NAME(name)    the name of a function of this file
 *   BLAS(name)    a function of CBLAS
 *   LAPACK(name)  a function of LAPACK
 */

/* Columns that are factorised at once, small enough to stay in the first cache. */
#define BLOCK 32

/* A becomes L and U, column by column. @return the column with no usable pivot, from 1; 0 */
static int NAME(eliminate)(size_t n, REAL *a, size_t ld)
{
	for (size_t k = 0; k < n; k++) {
		REAL pivot = a[k + k * ld];

		if (!(fabs(pivot) >= LEAST) || !isfinite(pivot))
			return k + 1;
		for (size_t i = k + 1; i < n; i++)
			a[i + k * ld] /= pivot;
		for (size_t j = k + 1; j < n; j++)
			for (size_t i = k + 1; i < n; i++)
				a[i + j * ld] -= a[i + k * ld] * a[k + j * ld];
	}
	return 0;
}

static void NAME(solve)(enum factor_op op, const struct factor_tile *a, const struct factor_tile *b)
{
	bool row = op == FACTOR_ROW;

	BLAS(trsm)
	(CblasColMajor, row ? CblasLeft : CblasRight, op == FACTOR_COLUMN ? CblasUpper : CblasLower,
	 op == FACTOR_TRSM ? CblasTrans : CblasNoTrans, row ? CblasUnit : CblasNonUnit, b->rows,
	 b->columns, 1, a->at, a->ld, b->at, b->ld);
}

static void NAME(multiply)(enum factor_op op, const struct factor_tile *a,
                           const struct factor_tile *b, const struct factor_tile *c)
{
	BLAS(gemm)
	(CblasColMajor, CblasNoTrans, op == FACTOR_GEMM ? CblasTrans : CblasNoTrans, c->rows,
	 c->columns, a->columns, -1, a->at, a->ld, b->at, b->ld, 1, c->at, c->ld);
}

static struct factor_tile NAME(part)(const struct factor_tile *tile, size_t row, size_t column,
                                     size_t rows, size_t columns)
{
	return (struct factor_tile){.at = (REAL *)tile->at + row + column * tile->ld,
	                            .rows = rows,
	                            .columns = columns,
	                            .ld = tile->ld};
}

static int NAME(getrf)(const struct factor_tile *tile)
{
	for (size_t k = 0, n = tile->rows; k < n; k += BLOCK) {
		size_t size = n - k < BLOCK ? n - k : BLOCK, next = k + size;
		struct factor_tile corner = NAME(part)(tile, k, k, size, size);
		struct factor_tile right = NAME(part)(tile, k, next, size, n - next);
		struct factor_tile below = NAME(part)(tile, next, k, n - next, size);
		struct factor_tile rest = NAME(part)(tile, next, next, n - next, n - next);
		int broken = NAME(eliminate)(size, corner.at, corner.ld);

		if (broken)
			return k + broken;
		if (next == n)
			break;
		NAME(solve)(FACTOR_ROW, &corner, &right);
		NAME(solve)(FACTOR_COLUMN, &corner, &below);
		NAME(multiply)(FACTOR_UPDATE, &below, &right, &rest);
	}
	return 0;
}

static int NAME(potrf)(const struct factor_tile *tile)
{
	blasint n = tile->rows, ld = tile->ld, info;

	LAPACK(potrf)("L", &n, tile->at, &ld, &info);
	return info;
}

static void NAME(compute)(enum factor_op op, const struct factor_tile *tiles, int *broken)
{
	switch (op) {
	case FACTOR_POTRF:
		*broken = NAME(potrf)(tiles);
		break;
	case FACTOR_GETRF:
		*broken = NAME(getrf)(tiles);
		break;
	case FACTOR_SYRK:
		BLAS(syrk)
		(CblasColMajor, CblasLower, CblasNoTrans, tiles[2].rows, tiles[0].columns, -1,
		 tiles[0].at, tiles[0].ld, 1, tiles[2].at, tiles[2].ld);
		break;
	case FACTOR_GEMM:
	case FACTOR_UPDATE:
		NAME(multiply)(op, &tiles[0], &tiles[1], &tiles[2]);
		break;
	default:
		NAME(solve)(op, &tiles[0], &tiles[1]);
	}
}

#undef BLOCK
#undef REAL
#undef LEAST
#undef NAME
#undef BLAS
#undef LAPACK
