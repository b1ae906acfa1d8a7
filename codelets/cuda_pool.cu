/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <pthread.h>
#include <stdint.h>

#include "codelets/cuda_pool.h"

#define MAX_DEVICES 64

static cudaError_t pool_of_device(cudaMemPool_t *pool)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static cudaMemPool_t pools[MAX_DEVICES];
	cudaMemPoolProps properties = {};
	uint64_t keep = CODELET_CUDA_KEPT;
	cudaError_t error;
	int device;

	error = cudaGetDevice(&device);
	if (error != cudaSuccess)
		return error;
	if (device >= MAX_DEVICES)
		return cudaErrorInvalidDevice;
	pthread_mutex_lock(&mutex);
	if (!pools[device]) {
		properties.allocType = cudaMemAllocationTypePinned;
		properties.location.type = cudaMemLocationTypeDevice;
		properties.location.id = device;
		error = cudaMemPoolCreate(&pools[device], &properties);
		if (error == cudaSuccess)
			cudaMemPoolSetAttribute(pools[device], cudaMemPoolAttrReleaseThreshold,
			                        &keep);
	}
	*pool = pools[device];
	pthread_mutex_unlock(&mutex);
	return error;
}

cudaError_t codelet_cuda_allocate(void **memory, size_t bytes, cudaStream_t stream)
{
	cudaMemPool_t pool;
	cudaError_t error = pool_of_device(&pool);

	if (error != cudaSuccess)
		return error;
	return cudaMallocFromPoolAsync(memory, bytes, pool, stream);
}
