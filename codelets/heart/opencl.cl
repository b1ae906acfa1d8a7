/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A cell for each work-item, one time step in a launch, as in heart.h. Offsets are in bytes, other
 * distances in numbers. Row `i` of the input is row i - from_first of `u` and `w`, and row i -
 * to_first of the outputs.
 */

float flow(float own, float c, float here, float u)
{
	return fmin(own, c) * (u - here);
}

__kernel void heart_step(uint aliev, uint substeps, float dt, float coupling, ulong width,
			 ulong input_rows, ulong first, ulong n, __global const float *u, ulong u_offset,
			 ulong u_stride, __global const float *w, ulong w_offset, ulong w_stride,
			 ulong from_first, __global const float *c, ulong c_offset, ulong c_stride,
			 __global float *u_out, ulong u_out_offset, ulong u_out_stride,
			 __global float *w_out, ulong w_out_offset, ulong w_out_stride,
			 ulong to_first)
{
	ulong x = get_global_id(0), i = first + get_global_id(1);

	if (x >= width || i >= first + n)
		return;

	ulong up = i ? i - 1 : 0, down = i + 1 < input_rows ? i + 1 : i;
	ulong left = x ? x - 1 : 0, right = x + 1 < width ? x + 1 : x;

	u += u_offset / sizeof(float);
	c += c_offset / sizeof(float);

	__global const float *row = u + (i - from_first) * u_stride, *c_row = c + i * c_stride;
	float here = row[x], own = c_row[x];
	float sum = flow(own, c[up * c_stride + x], here, u[(up - from_first) * u_stride + x]) +
		    flow(own, c[down * c_stride + x], here, u[(down - from_first) * u_stride + x]) +
		    flow(own, c_row[left], here, row[left]) + flow(own, c_row[right], here, row[right]);
	float v = here + coupling * sum;
	float r = w[w_offset / sizeof(float) + (i - from_first) * w_stride + x];

	for (uint s = 0; s < substeps; s++) {
		float dv, dr;

		if (aliev) {
			float k = 8, a = 0.15f, e = 0.002f + 0.2f * r / (v + 0.3f);

			dv = -k * v * (v - a) * (v - 1) - v * r;
			dr = e * (-r - k * v * (v - a - 1));
		} else {
			dv = r * v * v * (1 - v) * (1 / 0.3f) - v * (1 / 6.f);
			dr = v < 0.13f ? (1 - r) * (1 / 120.f) : r * (-1 / 150.f);
		}
		v += dt * dv;
		r += dt * dr;
	}
	u_out[u_out_offset / sizeof(float) + (i - to_first) * u_out_stride + x] = v;
	w_out[w_out_offset / sizeof(float) + (i - to_first) * w_out_stride + x] = r;
}
