/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The operations by cuBLAS and cuSOLVER.
 */
#include <errno.h>
#include <cublas_v2.h>
#include <cusolverDn.h>

#include "codelets/cuda_pool.h"
#include "codelets/factor/factor.h"

#define MAX_WORKERS 1024

static struct {
	cublasHandle_t blas;
	cusolverDnHandle_t solver;
} handles[MAX_WORKERS];

/* One name for both precisions. */
#define BOTH(name, status, single, wide)                                                           \
	template <typename... Arguments> static status name(float *, Arguments... arguments)       \
	{                                                                                          \
		return single(arguments...);                                                       \
	}                                                                                          \
	template <typename... Arguments> static status name(double *, Arguments... arguments)      \
	{                                                                                          \
		return wide(arguments...);                                                         \
	}
BOTH(trsm, cublasStatus_t, cublasStrsm, cublasDtrsm)
BOTH(syrk, cublasStatus_t, cublasSsyrk, cublasDsyrk)
BOTH(gemm, cublasStatus_t, cublasSgemm, cublasDgemm)
BOTH(potrf_size, cusolverStatus_t, cusolverDnSpotrf_bufferSize, cusolverDnDpotrf_bufferSize)
BOTH(potrf, cusolverStatus_t, cusolverDnSpotrf, cusolverDnDpotrf)
BOTH(getrf_size, cusolverStatus_t, cusolverDnSgetrf_bufferSize, cusolverDnDgetrf_bufferSize)
BOTH(getrf, cusolverStatus_t, cusolverDnSgetrf, cusolverDnDgetrf)

/* cuSOLVER's getrf does not pivot where it gets no array for the pivots.
 * @param work numbers, behind which an int has room */
template <typename Real>
static cusolverStatus_t factorise(cusolverDnHandle_t solver, enum factor_op op,
                                  const struct factor_tile *tile, Real *work, int size, int *info)
{
	int n = (int)tile->rows, ld = (int)tile->ld;

	if (op == FACTOR_POTRF)
		return potrf(work, solver, CUBLAS_FILL_MODE_LOWER, n, (Real *)tile->at, ld, work,
		             size, info);
	return getrf(work, solver, n, n, (Real *)tile->at, ld, work, (int *)NULL, info);
}

template <typename Real>
static int diagonal(cusolverDnHandle_t solver, cudaStream_t stream, enum factor_op op,
                    const struct factor_tile *tile, int *broken)
{
	Real *at = (Real *)tile->at;
	int n = (int)tile->rows, ld = (int)tile->ld, size = 0;
	cusolverStatus_t status =
	    op == FACTOR_POTRF ? potrf_size(at, solver, CUBLAS_FILL_MODE_LOWER, n, at, ld, &size)
	                       : getrf_size(at, solver, n, n, at, ld, &size);
	cudaError_t copied;
	void *work;
	int *info;

	if (status != CUSOLVER_STATUS_SUCCESS)
		return -EIO;
	if (codelet_cuda_allocate(&work, size * sizeof(Real) + sizeof(int), stream) != cudaSuccess)
		return -ENOMEM;
	info = (int *)((Real *)work + size);
	status = factorise(solver, op, tile, (Real *)work, size, info);
	copied = cudaMemcpyAsync(broken, info, sizeof(int), cudaMemcpyDeviceToHost, stream);
	cudaFreeAsync(work, stream);
	return status == CUSOLVER_STATUS_SUCCESS && copied == cudaSuccess ? 0 : -EIO;
}

template <typename Real>
static cublasStatus_t solve(cublasHandle_t blas, enum factor_op op, const struct factor_tile *a,
                            const struct factor_tile *b)
{
	const Real one = 1;
	bool row = op == FACTOR_ROW;

	return trsm((Real *)NULL, blas, row ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT,
	            op == FACTOR_COLUMN ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER,
	            op == FACTOR_TRSM ? CUBLAS_OP_T : CUBLAS_OP_N,
	            row ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT, (int)b->rows, (int)b->columns,
	            &one, (const Real *)a->at, (int)a->ld, (Real *)b->at, (int)b->ld);
}

template <typename Real>
static cublasStatus_t multiply(cublasHandle_t blas, enum factor_op op, const struct factor_tile *a,
                               const struct factor_tile *b, const struct factor_tile *c)
{
	const Real one = 1, minus = -1;

	if (op == FACTOR_SYRK)
		return syrk((Real *)NULL, blas, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, (int)c->rows,
		            (int)a->columns, &minus, (const Real *)a->at, (int)a->ld, &one,
		            (Real *)c->at, (int)c->ld);
	return gemm((Real *)NULL, blas, CUBLAS_OP_N, op == FACTOR_GEMM ? CUBLAS_OP_T : CUBLAS_OP_N,
	            (int)c->rows, (int)c->columns, (int)a->columns, &minus, (const Real *)a->at,
	            (int)a->ld, (const Real *)b->at, (int)b->ld, &one, (Real *)c->at, (int)c->ld);
}

template <typename Real>
static int compute(unsigned worker, cudaStream_t stream, enum factor_op op,
                   const struct factor_tile *tiles, int *broken)
{
	cublasHandle_t blas = handles[worker].blas;
	cublasStatus_t status;

	if (op == FACTOR_POTRF || op == FACTOR_GETRF)
		return diagonal<Real>(handles[worker].solver, stream, op, tiles, broken);
	status = op == FACTOR_SYRK || op == FACTOR_GEMM || op == FACTOR_UPDATE
	             ? multiply<Real>(blas, op, &tiles[0], &tiles[1], &tiles[2])
	             : solve<Real>(blas, op, &tiles[0], &tiles[1]);
	return status == CUBLAS_STATUS_SUCCESS ? 0 : -EIO;
}

extern "C" int factor_cuda(unsigned worker, void *stream, enum factor_op op, bool wide,
                           const struct factor_tile *tiles, int *broken)
{
	cudaStream_t on = (cudaStream_t)stream;

	return wide ? compute<double>(worker, on, op, tiles, broken)
	            : compute<float>(worker, on, op, tiles, broken);
}

extern "C" int factor_cuda_open(unsigned worker, void *stream)
{
	cudaStream_t on = (cudaStream_t)stream;

	if (worker >= MAX_WORKERS || cublasCreate(&handles[worker].blas) != CUBLAS_STATUS_SUCCESS ||
	    cusolverDnCreate(&handles[worker].solver) != CUSOLVER_STATUS_SUCCESS ||
	    cublasSetStream(handles[worker].blas, on) != CUBLAS_STATUS_SUCCESS ||
	    cusolverDnSetStream(handles[worker].solver, on) != CUSOLVER_STATUS_SUCCESS)
		return -EIO;
	return 0;
}

extern "C" void factor_cuda_close(unsigned worker)
{
	if (handles[worker].blas)
		cublasDestroy(handles[worker].blas);
	if (handles[worker].solver)
		cusolverDnDestroy(handles[worker].solver);
	handles[worker].blas = NULL;
	handles[worker].solver = NULL;
}
