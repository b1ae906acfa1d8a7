/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * European calls by a binomial lattice (J. C. Cox, S. A. Ross and M. Rubinstein, Journal of
 * Financial Economics 7, 1979). A group prices four options, one item for each leaf; the
 * lattice folds step by step from one half of the local memory to the other.
 */

__kernel void binomial_option(__global const float4 *random, __global float4 *value, int steps,
                              __local float4 *here, __local float4 *there)
{
	int item = get_local_id(0), group = get_group_id(0);
	float4 r = random[group];
	float4 spot = 5 + 25 * r, strike = 1 + 29 * (1 - r), years = 0.25f + 9.75f * r;
	float4 dt = years / steps, move = 0.3f * sqrt(dt), growth = exp(0.02f * dt);
	float4 up = exp(move), down = 1 / up, p = (growth - down) / (up - down);
	float4 p_up = p / growth, p_down = (1 - p) / growth;

	here[item] = max(spot * exp(move * (2.0f * item - steps)) - strike, 0.0f);
	for (int left = steps; left > 0; left--) {
		__local float4 *old = here;

		barrier(CLK_LOCAL_MEM_FENCE);
		if (item < left)
			there[item] = p_up * here[item + 1] + p_down * here[item];
		here = there;
		there = old;
	}
	if (item == 0)
		value[group] = here[0];
}
