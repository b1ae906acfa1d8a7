/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A body for each thread. The bodies of a warp are close to each other and read the same
 * neighbours.
 */
#include <errno.h>
#include <cuda_runtime.h>

#include "codelets/cuda_pool.h"
#include "codelets/nbody/nbody.h"

#define THREADS 128

static __device__ __forceinline__ float3 run_add(const struct nbody_problem &problem,
                                                 const float *__restrict__ bodies, uint32_t begin,
                                                 uint32_t end, float3 at, float3 sum)
{
	const float *xs = bodies, *ys = xs + problem.n, *zs = ys + problem.n,
	            *masses = zs + problem.n;

	for (uint32_t b = begin; b < end; b++) {
		float dx = __ldg(xs + b) - at.x, dy = __ldg(ys + b) - at.y,
		      dz = __ldg(zs + b) - at.z;
		float r2 = dx * dx + dy * dy + dz * dz;
		float s = fmaxf(0, 1 - r2 * problem.inverse_cutoff2);
		float inverse = rsqrtf(r2 + problem.softening2);
		float w = __ldg(masses + b) * s * s * inverse * inverse * inverse;

		sum.x += w * dx;
		sum.y += w * dy;
		sum.z += w * dz;
	}
	return sum;
}

static __global__ void attract(struct nbody_problem problem, size_t first, size_t n,
                               const float *__restrict__ bodies,
                               const uint32_t *__restrict__ starts, float *accelerations)
{
	size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	float3 at, sum = make_float3(0, 0, 0);

	if (i >= n)
		return;
	at = make_float3(bodies[first + i], bodies[problem.n + first + i],
	                 bodies[2 * problem.n + first + i]);
	uint32_t x = nbody_cell(&problem, 0, at.x), y = nbody_cell(&problem, 1, at.y);
	uint32_t z = nbody_cell(&problem, 2, at.z);

	for (uint32_t k = z ? z - 1 : 0; k <= z + 1 && k < problem.cells[2]; k++)
		for (uint32_t j = y ? y - 1 : 0; j <= y + 1 && j < problem.cells[1]; j++) {
			uint32_t begin, end;

			nbody_run(&problem, starts, x, j, k, &begin, &end);
			sum = run_add(problem, bodies, begin, end, at, sum);
		}
	accelerations[3 * i] = sum.x;
	accelerations[3 * i + 1] = sum.y;
	accelerations[3 * i + 2] = sum.z;
}

extern "C" int nbody_cuda(void *stream, const struct nbody_problem *problem, size_t first, size_t n,
                          const float *bodies, const uint32_t *starts, float *accelerations)
{
	if (n)
		attract<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0,
		          (cudaStream_t)stream>>>(*problem, first, n, bodies, starts,
		                                  accelerations);
	return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

CODELET_CUDA_LOAD(nbody, (const void *)attract)
