/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Temporary device memory for CUDA versions, in the order of a stream. It comes from a pool that
 * keeps freed memory: the device's default pool would return it to the driver each time.
 */
#ifndef CODELETS_CUDA_POOL_H
#define CODELETS_CUDA_POOL_H

#include <stddef.h>
#include <cuda_runtime.h>

/* The most unused bytes that the pool of a device keeps. */
#define CODELET_CUDA_KEPT ((size_t)256 << 20)

/** Memory on the current device, to be given back by cudaFreeAsync(). */
cudaError_t codelet_cuda_allocate(void **memory, size_t bytes, cudaStream_t stream);

#endif
