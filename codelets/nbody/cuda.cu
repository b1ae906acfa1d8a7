/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Several threads for each body, which take its neighbours in turn: few bodies with many neighbours
 * fill the device as well, and no body makes others of its warp wait for long.
 */
#include <errno.h>
#include <cuda_runtime.h>

#include "codelets/cuda_pool.h"
#include "codelets/nbody/nbody.h"

#define THREADS 128
/* Each body has LANES threads, a warp. A block of more than MANY_BODIES bodies fills the device
 * with fewer: then each has LANES_OF_MANY, so that fewer threads idle where a body has few
 * neighbours. The numbers were chosen by calculation; others were not measured. */
#define MANY_BODIES (1 << 16)
#define LANES 32
#define LANES_OF_MANY 8

static __device__ __forceinline__ float3 run_add(const struct nbody_problem &problem,
                                                 const float *__restrict__ bodies, uint32_t begin,
                                                 uint32_t end, uint32_t by, float3 at, float3 sum)
{
	const float *xs = bodies, *ys = xs + problem.n, *zs = ys + problem.n,
	            *masses = zs + problem.n;

	for (uint32_t b = begin; b < end; b += by) {
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

static __device__ float3 part_add(const struct nbody_problem &problem,
                                  const float *__restrict__ bodies,
                                  const uint32_t *__restrict__ starts, size_t body, uint32_t lane,
                                  uint32_t lanes)
{
	float3 at =
	    make_float3(bodies[body], bodies[problem.n + body], bodies[2 * problem.n + body]);
	float3 sum = make_float3(0, 0, 0);
	uint32_t x = nbody_cell(&problem, 0, at.x), y = nbody_cell(&problem, 1, at.y);
	uint32_t z = nbody_cell(&problem, 2, at.z);

	for (uint32_t k = z ? z - 1 : 0; k <= z + 1 && k < problem.cells[2]; k++)
		for (uint32_t j = y ? y - 1 : 0; j <= y + 1 && j < problem.cells[1]; j++) {
			uint32_t begin, end;

			nbody_run(&problem, starts, x, j, k, &begin, &end);
			sum = run_add(problem, bodies, begin + lane, end, lanes, at, sum);
		}
	return sum;
}

/* All threads of a warp take part in the sums, also those beyond the last body. */
template <uint32_t lanes>
static __global__ void attract(struct nbody_problem problem, size_t first, size_t n,
                               const float *__restrict__ bodies,
                               const uint32_t *__restrict__ starts, float *accelerations)
{
	size_t i = ((size_t)blockIdx.x * THREADS + threadIdx.x) / lanes;
	uint32_t lane = threadIdx.x % lanes;
	float3 sum = make_float3(0, 0, 0);

	if (i < n)
		sum = part_add(problem, bodies, starts, first + i, lane, lanes);
	for (uint32_t away = lanes / 2; away; away /= 2) {
		sum.x += __shfl_down_sync(0xffffffff, sum.x, away);
		sum.y += __shfl_down_sync(0xffffffff, sum.y, away);
		sum.z += __shfl_down_sync(0xffffffff, sum.z, away);
	}
	if (i >= n || lane)
		return;
	accelerations[3 * i] = sum.x;
	accelerations[3 * i + 1] = sum.y;
	accelerations[3 * i + 2] = sum.z;
}

template <uint32_t lanes>
static void attract_launch(cudaStream_t stream, const struct nbody_problem *problem, size_t first,
                           size_t n, const float *bodies, const uint32_t *starts,
                           float *accelerations)
{
	const unsigned of_block = THREADS / lanes; /* bodies */

	attract<lanes><<<(unsigned)((n + of_block - 1) / of_block), THREADS, 0, stream>>>(
	    *problem, first, n, bodies, starts, accelerations);
}

extern "C" int nbody_cuda(void *stream, const struct nbody_problem *problem, size_t first, size_t n,
                          const float *bodies, const uint32_t *starts, float *accelerations)
{
	if (n > MANY_BODIES)
		attract_launch<LANES_OF_MANY>((cudaStream_t)stream, problem, first, n, bodies,
		                              starts, accelerations);
	else if (n)
		attract_launch<LANES>((cudaStream_t)stream, problem, first, n, bodies, starts,
		                      accelerations);
	return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

CODELET_CUDA_LOAD(nbody, (const void *)attract<LANES>, (const void *)attract<LANES_OF_MANY>)
