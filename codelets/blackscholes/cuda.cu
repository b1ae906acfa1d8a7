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

static __global__ void price_four(struct blackscholes_market market, size_t quads,
                                  const float4 *__restrict__ spot,
                                  const float4 *__restrict__ strike,
                                  const float4 *__restrict__ years, float4 *__restrict__ call,
                                  float4 *__restrict__ put)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= quads)
		return;
	float4 s = __ldcs(spot + i), k = __ldcs(strike + i), t = __ldcs(years + i), c, p;

	price(market, s.x, k.x, t.x, c.x, p.x);
	price(market, s.y, k.y, t.y, c.y, p.y);
	price(market, s.z, k.z, t.z, c.z, p.z);
	price(market, s.w, k.w, t.w, c.w, p.w);
	__stcs(call + i, c);
	__stcs(put + i, p);
}

static __global__ void price_one(struct blackscholes_market market, size_t n, const float *spot,
                                 const float *strike, const float *years, float *call, float *put)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		price(market, spot[i], strike[i], years[i], call[i], put[i]);
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
	size_t quads = aligned(spot, strike, years, call, put) ? n / 4 : 0;
	size_t done = quads * 4, rest = n - done;
	cudaStream_t on = (cudaStream_t)stream;

	if (quads)
		price_four<<<(quads + threads - 1) / threads, threads, 0, on>>>(
		    *market, quads, (const float4 *)spot, (const float4 *)strike,
		    (const float4 *)years, (float4 *)call, (float4 *)put);
	if (rest)
		price_one<<<(rest + threads - 1) / threads, threads, 0, on>>>(
		    *market, rest, spot + done, strike + done, years + done, call + done,
		    put + done);
	return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

CODELET_CUDA_LOAD(blackscholes, (const void *)price_four, (const void *)price_one)
