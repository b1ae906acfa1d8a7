/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A body for each work-item, as in nbody.h. The last number of `low` is 1 / width of a cell. Offsets
 * are in bytes.
 */

uint cell_of(float at, float low, float per_length, uint cells)
{
	float cell = (at - low) * per_length;

	return !(cell > 0) ? 0 : cell < (float)(cells - 1) ? (uint)cell : cells - 1;
}

__kernel void attract(ulong nbodies, ulong first, ulong n, float4 low, uint4 cells,
		      float softening2, float inverse_cutoff2, __global const float *bodies,
		      ulong bodies_offset, __global const uint *starts, ulong starts_offset,
		      __global float *accelerations, ulong accelerations_offset)
{
	ulong i = get_global_id(0);
	float ax = 0, ay = 0, az = 0;

	if (i >= n)
		return;
	bodies += bodies_offset / sizeof(float);
	starts += starts_offset / sizeof(uint);
	accelerations += accelerations_offset / sizeof(float) + 3 * i;

	__global const float *xs = bodies, *ys = xs + nbodies, *zs = ys + nbodies;
	__global const float *masses = zs + nbodies;
	float x = xs[first + i], y = ys[first + i], z = zs[first + i];
	uint cx = cell_of(x, low.x, low.w, cells.x), cy = cell_of(y, low.y, low.w, cells.y);
	uint cz = cell_of(z, low.z, low.w, cells.z);
	uint left = cx ? cx - 1 : 0, right = cx + 1 < cells.x ? cx + 1 : cx;

	for (uint k = cz ? cz - 1 : 0; k <= cz + 1 && k < cells.z; k++)
		for (uint j = cy ? cy - 1 : 0; j <= cy + 1 && j < cells.y; j++) {
			ulong row = ((ulong)k * cells.y + j) * cells.x;
			uint end = starts[row + right + 1];

			for (uint b = starts[row + left]; b < end; b++) {
				float dx = xs[b] - x, dy = ys[b] - y, dz = zs[b] - z;
				float r2 = dx * dx + dy * dy + dz * dz, soft = r2 + softening2;
				float s = fmax(0.0f, 1 - r2 * inverse_cutoff2);
				float w = masses[b] * s * s / (soft * sqrt(soft));

				ax += w * dx;
				ay += w * dy;
				az += w * dz;
			}
		}
	accelerations[0] = ax;
	accelerations[1] = ay;
	accelerations[2] = az;
}
