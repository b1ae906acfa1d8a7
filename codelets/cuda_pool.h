/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What CUDA versions share: temporary device memory, in the order of a stream, and what is done
 * before the first block. The memory comes from a pool that keeps what was freed: the device's
 * default pool would return it to the driver each time.
 */
#ifndef CODELETS_CUDA_POOL_H
#define CODELETS_CUDA_POOL_H

#include <errno.h>
#include <stddef.h>
#include <cuda_runtime.h>

/* The most unused bytes that the pool of a device keeps. */
#define CODELET_CUDA_KEPT ((size_t)256 << 20)

/** Memory on the current device, to be given back by cudaFreeAsync(). */
cudaError_t codelet_cuda_allocate(void **memory, size_t bytes, cudaStream_t stream);

/** Defines NAME_cuda_load(): loads kernels to the current device before the first block. It returns
 * 0; -EIO. */
#define CODELET_CUDA_LOAD(name, ...)                                                               \
	extern "C" int name##_cuda_load(void)                                                      \
	{                                                                                          \
		const void *const kernels[] = {__VA_ARGS__};                                       \
		struct cudaFuncAttributes attributes;                                              \
                                                                                                   \
		for (const void *kernel : kernels)                                                 \
			if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess)             \
				return -EIO;                                                       \
		return 0;                                                                          \
	}

#endif
