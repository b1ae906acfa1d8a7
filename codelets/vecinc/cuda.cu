/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <errno.h>
#include <stdint.h>
#include <cuda_runtime.h>

#include "codelets/cuda_pool.h"
#include "codelets/vecinc/vecinc.h"

#define THREADS 256
#define MAX_BLOCKS 2048

/* Volatile, so that every pass goes to memory. */
static __global__ void increment(size_t n, unsigned passes, volatile uint32_t *values)
{
	for (unsigned p = 0; p < passes; p++)
		for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n;
		     i += (size_t)gridDim.x * THREADS)
			values[i] = values[i] + 1;
}

extern "C" int vecinc_cuda(void *stream, size_t n, unsigned passes, uint32_t *values)
{
	size_t blocks = (n + THREADS - 1) / THREADS;

	if (!n)
		return 0;
	increment<<<(unsigned)(blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS), THREADS, 0,
	            (cudaStream_t)stream>>>(n, passes, values);
	return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

CODELET_CUDA_LOAD(vecinc, (const void *)increment)
