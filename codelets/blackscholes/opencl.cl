/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Every buffer has an offset in bytes: it may be part of a larger one, and the host cannot add to a
 * cl_mem.
 */

/* Abramowitz and Stegun 26.2.17, as in the CPU version. */
float normal(float x)
{
	float k = 1.0f / (1.0f + 0.2316419f * fabs(x));
	float p, tail;

	p = 1.330274429f;
	p = p * k - 1.821255978f;
	p = p * k + 1.781477937f;
	p = p * k - 0.356563782f;
	p = p * k + 0.319381530f;
	tail = 0.398942280f * exp(-0.5f * x * x) * p * k;
	return x < 0.0f ? tail : 1.0f - tail;
}

__kernel void blackscholes(float rate, float volatility, ulong n,
			   __global const float *spot, ulong spot_offset,
			   __global const float *strike, ulong strike_offset,
			   __global const float *years, ulong years_offset,
			   __global float *call, ulong call_offset,
			   __global float *put, ulong put_offset)
{
	ulong i = get_global_id(0);

	if (i >= n)
		return;

	float s = spot[spot_offset / sizeof(float) + i];
	float k = strike[strike_offset / sizeof(float) + i];
	float t = years[years_offset / sizeof(float) + i];
	float deviation = volatility * sqrt(t);
	float d1 = (log(s / k) + (rate + 0.5f * volatility * volatility) * t) / deviation;
	float n1 = normal(d1), n2 = normal(d1 - deviation);
	float discounted = k * exp(-rate * t);

	call[call_offset / sizeof(float) + i] = s * n1 - discounted * n2;
	put[put_offset / sizeof(float) + i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}
