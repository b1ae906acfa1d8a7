/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A pixel for each work-item. Colours as in mandelbrot.h. Devices without double precision have no
 * kernel.
 */
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

uchar shade(uint count)
{
	return count & 256 ? 255 - (count & 255) : count & 255;
}

__kernel void mandelbrot(double left, double top, double step, uint limit, ulong width, ulong first,
			 ulong n, __global uchar *out, ulong offset, ulong stride)
{
	ulong x = get_global_id(0), y = get_global_id(1);

	if (x >= width || y >= n)
		return;

	double cr = left + (double)x * step, ci = top - (double)(first + y) * step;
	double zr = 0, zi = 0, rr = 0, ii = 0;
	uint count = 0;

	while (count < limit && rr + ii <= 4.0) {
		zi = (zr + zr) * zi + ci;
		zr = rr - ii + cr;
		rr = zr * zr;
		ii = zi * zi;
		count++;
	}
	out += offset + y * stride + 3 * x;
	out[0] = count < limit ? shade(3 * count) : 0;
	out[1] = count < limit ? shade(5 * count + 40) : 0;
	out[2] = count < limit ? shade(7 * count + 90) : 0;
}
#endif
