/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The operations by CLBlast, which makes its kernels for a device at their first use.
 */
#include "config.h"

#include <errno.h>
#define CL_TARGET_OPENCL_VERSION 120
#include <clblast_c.h>

#include "support/message.h"
#include "codelets/factor/factor.h"

/* The rest of the arguments is what the precisions have in common. */
#define BOTH(name, ...) (wide ? CLBlastD##name(__VA_ARGS__) : CLBlastS##name(__VA_ARGS__))

static CLBlastStatusCode solve(cl_command_queue queue, enum factor_op op, bool wide,
                               const struct factor_tile *a, const struct factor_tile *b)
{
	bool row = op == FACTOR_ROW;

	return BOTH(trsm, CLBlastLayoutColMajor, row ? CLBlastSideLeft : CLBlastSideRight,
	            op == FACTOR_COLUMN ? CLBlastTriangleUpper : CLBlastTriangleLower,
	            op == FACTOR_TRSM ? CLBlastTransposeYes : CLBlastTransposeNo,
	            row ? CLBlastDiagonalUnit : CLBlastDiagonalNonUnit, b->rows, b->columns, 1,
	            a->at, a->offset, a->ld, b->at, b->offset, b->ld, &queue, NULL);
}

static CLBlastStatusCode multiply(cl_command_queue queue, enum factor_op op, bool wide,
                                  const struct factor_tile *a, const struct factor_tile *b,
                                  const struct factor_tile *c)
{
	if (op == FACTOR_SYRK)
		return BOTH(syrk, CLBlastLayoutColMajor, CLBlastTriangleLower, CLBlastTransposeNo,
		            c->rows, a->columns, -1, a->at, a->offset, a->ld, 1, c->at, c->offset,
		            c->ld, &queue, NULL);
	return BOTH(gemm, CLBlastLayoutColMajor, CLBlastTransposeNo,
	            op == FACTOR_GEMM ? CLBlastTransposeYes : CLBlastTransposeNo, c->rows,
	            c->columns, a->columns, -1, a->at, a->offset, a->ld, b->at, b->offset, b->ld, 1,
	            c->at, c->offset, c->ld, &queue, NULL);
}

int factor_opencl(void *queue, enum factor_op op, bool wide, const struct factor_tile *tiles)
{
	CLBlastStatusCode status = factor_ntiles(op) == 3
	                               ? multiply(queue, op, wide, &tiles[0], &tiles[1], &tiles[2])
	                               : solve(queue, op, wide, &tiles[0], &tiles[1]);

	if (status != CLBlastSuccess)
		return heddle_refuse(-EIO, "CLBlast refused an operation on tiles: status %d",
		                     status);
	return 0;
}
