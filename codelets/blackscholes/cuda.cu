/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An option needs 20 bytes of memory traffic, which limits the speed: a thread computes four
 * options with 16-byte accesses. CUDA's fast logarithm and exponential are exact enough for the
 * tolerance.
 */
#include <errno.h>
#include <stdint.h>
#include <cuda_runtime.h>

#include "codelets/blackscholes/blackscholes.h"
#include "codelets/cuda_pool.h"

static const unsigned threads = 256;

/* Abramowitz and Stegun 26.2.17, as in the CPU version. */
static __device__ __forceinline__ float normal(float x)
{
	float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(x));
	float p, tail;

	p = 1.330274429f;
	p = fmaf(p, k, -1.821255978f);
	p = fmaf(p, k, 1.781477937f);
	p = fmaf(p, k, -0.356563782f);
	p = fmaf(p, k, 0.319381530f);
	tail = 0.398942280f * __expf(-0.5f * x * x) * p * k;
	return x < 0.0f ? tail : 1.0f - tail;
}

static __device__ __forceinline__ void price(const struct blackscholes_market &market, float s,
                                             float k, float t, float &call, float &put)
{
	float deviation = market.volatility * sqrtf(t);
	float drift = market.rate + 0.5f * market.volatility * market.volatility;
	float d1 = (logf(s / k) + drift * t) / deviation;
	float n1 = normal(d1), n2 = normal(d1 - deviation);
	float discounted = k * __expf(-market.rate * t);

	call = s * n1 - discounted * n2;
	put = discounted * (1.0f - n2) - s * (1.0f - n1);
}

static __device__ __forceinline__ void price_one(const struct blackscholes_market &market, size_t i,
                                                 const float *spot, const float *strike,
                                                 const float *years, float *call, float *put)
{
	price(market, spot[i], strike[i], years[i], call[i], put[i]);
}

static __global__ void price_four(struct blackscholes_market market, size_t n,
                                  const float *__restrict__ spot, const float *__restrict__ strike,
                                  const float *__restrict__ years, float *__restrict__ call,
                                  float *__restrict__ put)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, rest = n / 4 * 4 + i;

	/* The first threads price what is left: a launch of its own takes 3 us. */
	if (i < n % 4)
		price_one(market, rest, spot, strike, years, call, put);
	if (i >= n / 4)
		return;
	float4 s = __ldcs((const float4 *)spot + i), k = __ldcs((const float4 *)strike + i);
	float4 t = __ldcs((const float4 *)years + i), c, p;

	price(market, s.x, k.x, t.x, c.x, p.x);
	price(market, s.y, k.y, t.y, c.y, p.y);
	price(market, s.z, k.z, t.z, c.z, p.z);
	price(market, s.w, k.w, t.w, c.w, p.w);
	__stcs((float4 *)call + i, c);
	__stcs((float4 *)put + i, p);
}

/* Of buffers that do not begin at 16 bytes. */
static __global__ void price_unaligned(struct blackscholes_market market, size_t n,
                                       const float *spot, const float *strike, const float *years,
                                       float *call, float *put)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		price_one(market, i, spot, strike, years, call, put);
}

static bool aligned(const void *a, const void *b, const void *c, const void *d, const void *e)
{
	return (((uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d | (uintptr_t)e) & 15) ==
	       0;
}

extern "C" int blackscholes_cuda(void *stream, const struct blackscholes_market *market, size_t n,
                                 const float *spot, const float *strike, const float *years,
                                 float *call, float *put)
{
	cudaStream_t on = (cudaStream_t)stream;

	if (!n)
		return 0;
	if (aligned(spot, strike, years, call, put))
		price_four<<<n / 4 / threads + 1, threads, 0, on>>>(*market, n, spot, strike, years,
		                                                    call, put);
	else
		price_unaligned<<<(n + threads - 1) / threads, threads, 0, on>>>(
		    *market, n, spot, strike, years, call, put);
	return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

CODELET_CUDA_LOAD(blackscholes, (const void *)price_four, (const void *)price_unaligned)
