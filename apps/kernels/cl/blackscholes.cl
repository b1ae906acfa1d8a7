/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * European options (F. Black and M. Scholes, Journal of Political Economy 81, 1973), four a
 * work-item, each made of one random number.
 */

/* Abramowitz and Stegun 26.2.17. */
float4 normal(float4 x)
{
	float4 k = 1 / (1 + 0.2316419f * fabs(x));
	float4 p = k * (0.319381530f +
	                k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
	float4 tail = 0.398942280f * exp(-0.5f * x * x) * p;

	return select(1 - tail, tail, x < 0);
}

__kernel void black_scholes(__global const float4 *random, __global float4 *call,
                            __global float4 *put)
{
	int i = get_global_id(0);
	float4 r = random[i];
	float4 spot = 10 + 90 * r, strike = 10 + 90 * (1 - r), years = 1 + 9 * r;
	float4 deviation = 0.3f * sqrt(years);
	float4 d1 = (log(spot / strike) + (0.02f + 0.045f) * years) / deviation;
	float4 discounted = strike * exp(-0.02f * years);
	float4 n1 = normal(d1), n2 = normal(d1 - deviation);

	call[i] = spot * n1 - discounted * n2;
	put[i] = discounted * (1 - n2) - spot * (1 - n1);
}
