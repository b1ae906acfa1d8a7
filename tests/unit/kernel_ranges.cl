/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Kernels in the usual styles, for kernel_ranges.c.
 */

__kernel void vector_add(__global const float *a, __global const float *b, __global float *c, int n)
{
	int i = get_global_id(0);

	if (i < n)
		c[i] = a[i] + b[i];
}

__kernel void saxpy(__global float *y, __global const float *x, float a)
{
	size_t i = get_global_id(0);

	y[i] += a * x[i];
}

float normal(float d)
{
	float k = 1 / (1 + 0.2316419f * fabs(d));
	float c = 0.39894228f * exp(-0.5f * d * d) * k *
	          (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * -1.821255978f)));

	return d > 0 ? 1 - c : c;
}

__kernel void black_scholes(__global float *call, __global float *put, __global const float *price,
                            __global const float *strike, float r, float v)
{
	int i = get_global_id(1) * get_global_size(0) + get_global_id(0);
	float s = price[i] + 1, x = strike[i] + 1;
	float d1 = (log(s / x) + r + v * v / 2) / v, d2 = d1 - v, e = x * exp(-r);

	call[i] = s * normal(d1) - e * normal(d2);
	put[i] = e * normal(-d2) - s * normal(-d1);
}

#define TILE 8

__kernel void matmul(__global const float *a, __global const float *b, __global float *c, int n)
{
	__local float ta[TILE][TILE], tb[TILE][TILE];
	int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
	float sum = 0;

	for (int t = 0; t < n / TILE; t++) {
		ta[ly][lx] = a[y * n + t * TILE + lx];
		tb[ly][lx] = b[(t * TILE + ly) * n + x];
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int k = 0; k < TILE; k++)
			sum += ta[ly][k] * tb[k][lx];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	c[y * n + x] = sum;
}

__kernel void transpose(__global float *out, __global const float *in, int width, int height)
{
	__local float tile[TILE * (TILE + 1)];
	int x = get_group_id(0) * TILE + get_local_id(0), y = get_group_id(1) * TILE + get_local_id(1);

	tile[get_local_id(1) * (TILE + 1) + get_local_id(0)] = in[y * width + x];
	barrier(CLK_LOCAL_MEM_FENCE);
	x = get_group_id(1) * TILE + get_local_id(0);
	y = get_group_id(0) * TILE + get_local_id(1);
	out[y * height + x] = tile[get_local_id(0) * (TILE + 1) + get_local_id(1)];
}

/* Histograms of a piece of the input each, side by side. */
__kernel void histogram(__global const uchar *in, __global uint *partial, int per_item)
{
	__local uint bins[256];
	int l = get_local_id(0), n = get_local_size(0);

	for (int i = l; i < 256; i += n)
		bins[i] = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int i = 0; i < per_item; i++)
		atomic_inc(&bins[in[(get_group_id(0) * per_item + i) * n + l]]);
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int i = l; i < 256; i += n)
		partial[get_group_id(0) * 256 + i] = bins[i];
}

__kernel void reduction(__global const float4 *in, __global float *out, __local float *sums)
{
	int l = get_local_id(0);
	float4 v = in[get_global_id(0) * 2] + in[get_global_id(0) * 2 + 1];

	sums[l] = v.x + v.y + v.z + v.w;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int s = get_local_size(0) / 2; s > 0; s >>= 1) {
		if (l < s)
			sums[l] += sums[l + s];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (l == 0)
		out[get_group_id(0)] = sums[0];
}

/* Each group scans a block of twice its size, in place in local memory. */
__kernel void scan(__global float *out, __global const float *in, __local float *block)
{
	int l = get_local_id(0), n = 2 * get_local_size(0), g = get_global_id(0), offset = 1;

	block[2 * l] = in[2 * g];
	block[2 * l + 1] = in[2 * g + 1];
	for (int d = n >> 1; d > 0; d >>= 1) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (l < d)
			block[offset * (2 * l + 2) - 1] += block[offset * (2 * l + 1) - 1];
		offset *= 2;
	}
	if (l == 0)
		block[n - 1] = 0;
	for (int d = 1; d < n; d *= 2) {
		offset >>= 1;
		barrier(CLK_LOCAL_MEM_FENCE);
		if (l < d) {
			float t = block[offset * (2 * l + 1) - 1];

			block[offset * (2 * l + 1) - 1] = block[offset * (2 * l + 2) - 1];
			block[offset * (2 * l + 2) - 1] += t;
		}
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	out[2 * g] = block[2 * l];
	out[2 * g + 1] = block[2 * l + 1];
}

/* Sobol's sequence: a group for each dimension. */
__kernel void quasi_random(__global float *out, __global const uint *directions, int vectors)
{
	__local uint v[32];
	int l = get_local_id(0);

	if (l < 32)
		v[l] = directions[get_group_id(0) * 32 + l];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int i = l; i < vectors; i += get_local_size(0)) {
		uint bits = 0;

		for (int k = 0; k < 20; k++)
			bits ^= (i >> k & 1) ? v[k] : 0;
		out[get_group_id(0) * vectors + i] = bits * 0x1p-32f;
	}
}

/* A group for each option, a work-item for each node of the lattice. */
__kernel void binomial(__global const float4 *in, __global float4 *out, int steps, __local float4 *a)
{
	int l = get_local_id(0), g = get_group_id(0);
	float4 x = in[g], price = (float4)(5) * (1 - x) + 30 * x, u = exp(0.3f * sqrt((float4)(0.25f / steps)));
	float4 d = 1 / u, p = (1.0001f - d) / (u - d);

	a[l] = max(price * exp((float4)(2 * l - steps) * log(u)) - 20, 0);
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int j = steps; j > 0; j--) {
		float4 next = l < j ? p * a[l + 1] + (1 - p) * a[l] : a[l];

		barrier(CLK_LOCAL_MEM_FENCE);
		a[l] = next;
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (l == 0)
		out[g] = a[0];
}

/* A round of a cipher on blocks of 16 bytes, with a table. */
__kernel void substitute(__global const uchar *in, __global uchar *out, __global const uchar *key,
                         __constant uchar *table, int width)
{
	__local uchar block[16];
	uint lx = get_local_id(0), ly = get_local_id(1);
	uint at = (get_group_id(1) * width / 4 + get_group_id(0)) * 16 + ly * 4 + lx;

	block[ly * 4 + lx] = table[in[at]] ^ key[ly * 4 + lx];
	barrier(CLK_LOCAL_MEM_FENCE);
	out[at] = block[ly * 4 + (lx + ly) % 4];
}

__kernel void stencil(__global const float *in, __global float *out, int n)
{
	int i = get_global_id(0);

	if (i > 0 && i < n - 1)
		out[i] = (in[i - 1] + in[i] + in[i + 1]) / 3;
}

__kernel void clamped(__global const float *in, __global float *out, int width, int height)
{
	int x = get_global_id(0), y = get_global_id(1);
	float sum = 0;

	for (int j = -1; j <= 1; j++)
		for (int i = -1; i <= 1; i++)
			sum += in[clamp(y + j, 0, height - 1) * width + clamp(x + i, 0, width - 1)];
	out[y * width + x] = sum;
}

__kernel void cube(__global const float *in, __global float *out)
{
	size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
	size_t at = (z * get_global_size(1) + y) * get_global_size(0) + x;

	out[at] = in[at] * x + y - z + get_num_groups(2) + get_work_dim();
}

__kernel void gather(__global const float *in, __global const uint *where, __global float *out)
{
	out[get_global_id(0)] = in[where[get_global_id(0)] % get_global_size(0)];
}

__kernel void scatter(__global float *out, __global const uint *where, uint n)
{
	out[(get_global_id(0) * 7 + where[0]) % n] = get_global_id(0);
}

__kernel void backwards(__global const short *in, __global short *out, uint n)
{
	__global const short *p = in + (n - 1 - get_global_id(0)) * 3;

	for (uint i = 0; i < 3; i++)
		out[get_global_id(0) * 4 + i] = *p++;
}

__kernel void vectors(__global const float *in, __global float *out)
{
	vstore4(vload4(get_global_id(0), in) * 2, get_global_id(0), out);
}

struct particle {
	float x, y;
	int kind;
};

__kernel void move(__global struct particle *p, float dt)
{
	p[get_global_id(0)].x += dt;
	if (p[get_global_id(0)].kind & 1)
		p[get_global_id(0)].y -= dt;
}

__kernel void rows(__global const float *in, __global float *out, int length, int pitch)
{
	float sum = 0;

	for (int i = 0; i < length; i++)
		sum += in[get_global_id(0) * pitch + i];
	out[get_global_id(0)] = sum;
}

__kernel void permute(__global float *out, __global const float *in, int n, int factor)
{
	int i = get_global_id(0);

	if (i < n)
		out[i * factor % n] = in[i];
}

/* Conditions around accesses. */
__kernel void returns(__global const float *in, __global float *out, uint n)
{
	size_t i = get_global_id(0);

	if (i >= n)
		return;
	out[i] = in[i] * 2;
}

__kernel void window2d(__global const float *in, __global float *out, int width, int height)
{
	int x = get_global_id(0), y = get_global_id(1);

	if (x < width && y < height)
		out[y * width + x] = in[y * width + x] + 1;
}

__kernel void transpose_guarded(__global float *out, __global const float *in, int width,
                                int height)
{
	__local float tile[TILE * (TILE + 1)];
	int lx = get_local_id(0), ly = get_local_id(1);
	int x = get_group_id(0) * TILE + lx, y = get_group_id(1) * TILE + ly;

	if (x < width && y < height)
		tile[ly * (TILE + 1) + lx] = in[y * width + x];
	barrier(CLK_LOCAL_MEM_FENCE);
	x = get_group_id(1) * TILE + lx;
	y = get_group_id(0) * TILE + ly;
	if (x < height && y < width)
		out[y * height + x] = tile[lx * (TILE + 1) + ly];
}

__kernel void inner(__global const float *in, __global float *out, int n, int border)
{
	int i = get_global_id(0);

	if (!(i < border || i >= n - border))
		out[i] = in[i - border] + in[i + border];
	else if (i < n)
		out[i] = in[i];
}

__kernel void some_items(__global const float *in, __global float *out, __global float *rest,
                         int items, int groups)
{
	int l = get_local_id(0), g = get_group_id(0), n = get_local_size(0);

	if (l < items)
		out[g * items + l] = in[g * n + l];
	else if (l == n - 1)
		rest[g] = in[g * n + l];
	if (g < groups && l == 3)
		rest[get_num_groups(0) + g] = in[g];
}

__kernel void unsigned_guard(__global const float *in, __global float *out, int shift, int n)
{
	int i = (int)get_global_id(0) - shift;

	if ((uint)i < (uint)n)
		out[i] = in[i] + i;
}

__kernel void by_data(__global const float *in, __global const uint *choice, __global float *out)
{
	size_t i = get_global_id(0);

	if (choice[i] % 3 == 1 && i > 5)
		out[i] = in[i];
	else if (choice[i] % 3 == 2)
		out[i] += 1;
}

/* Reduces in global memory, in place. */
__kernel void halves(__global float *x, __global float *out, int rounds)
{
	int l = get_local_id(0), n = get_local_size(0);
	__global float *mine = x + get_group_id(0) * 2 * n;

	for (int s = n, r = 0; s > 0 && r < rounds; s /= 2, r++) {
		if (l < s)
			mine[l] += mine[l + s];
		barrier(CLK_GLOBAL_MEM_FENCE);
	}
	if (l == 0)
		out[get_group_id(0)] = mine[0];
}

__kernel void cooperate(__global const float *in, __global float *out, int n, int skip)
{
	int l = get_local_id(0), size = get_local_size(0);
	size_t at = get_group_id(0) * n;

	for (int i = l; i < n; i += size) {
		if (i == skip)
			continue;
		if (in[at + i] > 0.9f)
			break;
		out[at + i] = in[at + i];
	}
	for (int i = n - 1 - l; i >= 0; i -= size)
		if (i >= skip && i < skip + 4)
			out[at + i] += in[at + i] / 2;
}

/* Together the items write each element, or not quite. */
__kernel void rounds(__global const float *in, __global float *out, __global float *some,
                     __global float *last, int n)
{
	int l = get_local_id(0), size = get_local_size(0), g = get_group_id(0), i;

	for (i = l; i < n; i += size)
		out[g * n + i] = in[g * n + i] + 1;
	last[g * (n + size) + i] = i;
	for (int j = l; j < n; j += size + 1)
		some[g * n + j] = j;
}

__kernel void broken_rounds(__global const float *in, __global float *out, __global float *some,
                            int n)
{
	int l = get_local_id(0), size = get_local_size(0), g = get_group_id(0);

	for (int i = l; i < n; i += size) {
		if (in[g * n + i] > 0.8f)
			break;
		out[g * n + i] = i;
	}
	for (int i = l; i < n; i += size) {
		if (in[g * n + i] > 0.5f)
			continue;
		some[g * n + i] = i;
	}
}

__kernel void rounds2d(__global float *out, int width, int height)
{
	int g = get_group_id(0);

	for (int y = get_local_id(1); y < height; y += get_local_size(1))
		for (int x = get_local_id(0); x < width; x += get_local_size(0))
			out[(g * height + y) * width + x] = x + y;
}

/* One item of a group stores in each round; or each in a round of its own, or in some rounds, or in
 * its own rounds alone; or until it stops. */
__kernel void one_item(__global const float *in, __global float *out, __global float *own,
                       __global float *some, __global float *few, int rounds)
{
	int l = get_local_id(0), n = get_local_size(0), g = get_group_id(0), groups = get_num_groups(0);
	__local float sum;

	for (int k = 0; k < rounds; k++) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (l == n - 1)
			sum = in[g * n + l] + k;
		barrier(CLK_LOCAL_MEM_FENCE);
		if (l == 0)
			out[k * groups + g] = sum;
		if (l == k + 1)
			own[k * groups + g] = sum;
		if (l == 2 && k != 3)
			some[k * groups + g] = sum;
	}
	for (int i = l; i < rounds; i += n)
		if (l == 1)
			few[g * rounds + i] = i;
}

__kernel void one_stops(__global const float *in, __global float *stops, __global float *skips,
                        int rounds)
{
	int l = get_local_id(0), n = get_local_size(0), g = get_group_id(0), groups = get_num_groups(0);

	for (int k = 0; k < rounds; k++) {
		if (l != 4 || in[g * n + k] > 0.9f)
			break;
		stops[k * groups + g] = k;
	}
	for (int k = 0; k < rounds; k++) {
		if (l != 4)
			continue;
		if (in[g * n + k] > 0.5f)
			continue;
		skips[k * groups + g] = k;
	}
}

/* Two columns of a matrix, of which the items of half a group store in all rounds. */
__kernel void half_items(__global float *out, int rounds)
{
	int l = get_local_id(0), n = get_local_size(0), g = get_group_id(0), k;

	for (k = 0; k < rounds; k++)
		if (l < n / 2)
			out[(k * get_num_groups(0) + g) * n + l] = k;
		else if (l >= n / 2 + 1)
			out[(k * get_num_groups(0) + g) * n + l] = -k;
}

/* The condition of one iteration says nothing of the next. */
__kernel void last_of_loop(__global const float *in, __global float *out, int n)
{
	int g = get_global_id(0), i = 0, found = 0;

	do {
		if (i < 3)
			found = i;
		i++;
	} while (i < n && in[i] < 0.97f);
	out[g * 2] = in[i < n ? i : 0] + found;
	if (i > 4 && g < 100)
		out[g * 2 + 1] = in[i % 8];
}

/* Indices of all widths, which overflow, and are read with and without a sign. */
__kernel void widths(__global const float *in, __global float *out, int n, int m)
{
	size_t i = get_global_id(0);
	uchar low = i + n;
	ushort middle = (ushort)(i << 7) + (ushort)40000;
	short sign = (short)(i * 64 - 300);
	uint large = (uint)i * 0x40000001u;
	char small = (char)(i + m);
	uint back = (uint)i - 1u;
	float sum = in[low] + in[middle] + in[(ushort)sign] + in[large & 65535u];

	sum += in[small < 0 ? -small : small] + in[(uchar)small * 2 + 1] + in[large >> 16];
	sum += in[(back >> 31) * 7 + (back & 1023)] + in[(ulong)(uchar)(low * 3)];
	for (uchar k = 250; k < 254; k += 3)
		sum += in[k + (uchar)(low + k)];
	for (uchar k = 9; k >= 2 && sum > 0; k -= 3) /* passes 0 */
		sum -= 0.5f + in[k];
	out[i] = sum;
}

/* Likewise, of what is written. With fewer than 255 items none writes where another does. */
__kernel void wraps(__global const float *in, __global float *out, int n)
{
	uint i = get_global_id(0);

	out[(ushort)(i * 257u + (uint)n * 300u)] = in[(uchar)(i + n)];
	out[(ushort)(i * 257u + (uint)n * 300u + 1)] = in[(uchar)~i];
}

/* Groups write elements of vectors that other groups write, too. */
__kernel void elements_of_vectors(__global float2 *pairs, __global float4 *some,
                                  __global const float *in)
{
	size_t i = get_global_id(0), n = get_local_size(0), g = get_group_id(0);

	if (g & 1)
		pairs[g / 2 * n + get_local_id(0)].y = in[i];
	else
		pairs[g / 2 * n + get_local_id(0)].x = in[i];
	if (i < get_global_size(0) / 2)
		some[i].xyz = in[i];
	else
		some[i - get_global_size(0) / 2].w = in[i];
}

/* An element gets what another one had: that is written, though it was loaded from there. */
__kernel void moved(__global float4 *all, __global float2 *halves, __global const uint *key, int n)
{
	size_t at = get_global_id(0) * n;
	float4 last;
	float2 half_last;

	for (int i = 0; i < n; i++) {
		float4 old = all[at + i];
		float2 half_old = halves[at + i];

		if (i && key[at + i] & 1) {
			all[at + i] = last;
			half_old.x = half_last.x;
			halves[at + i] = half_old;
		}
		last = old;
		half_last = half_old;
	}
}

/* Each item clears a piece of four dimensions. */
__kernel void four_loops(__global float *out)
{
	__global float *piece = out + get_global_id(0) * 3 * 3 * 3 * 4;

	for (int z = 0; z < 3; z++)
		for (int y = 0; y < 3; y++)
			for (int x = 0; x < 3; x++)
				for (int c = 0; c < 4; c++)
					piece[((z * 3 + y) * 3 + x) * 4 + c] = 0;
}

/* Each item clears a piece of six dimensions. */
__kernel void six_loops(__global float *out)
{
	__global float *piece = out + get_global_id(0) * 3 * 2 * 3 * 2 * 3 * 2;

	for (int u = 0; u < 3; u++)
		for (int v = 0; v < 2; v++)
			for (int w = 0; w < 3; w++)
				for (int x = 0; x < 2; x++)
					for (int y = 0; y < 3; y++)
						for (int z = 0; z < 2; z++)
							piece[((((u * 2 + v) * 3 + w) * 2 + x) * 3 + y) * 2 + z] = 0;
}

/* Nobody writes the last number of each vector, but for one of the third array. Compilers read it
 * to store it anew. */
__kernel void first_three(__global float4 *added, __global float4 *set, __global float4 *one,
                          __global float4 *apart)
{
	int i = get_global_id(0);

	added[i].xyz += 1;
	set[i].xyz = i;
	one[i].xyz *= 2;
	if (i == 5)
		one[200].w = 3;
	apart[i % 16 * 16 + i / 16].xyz *= 2;
}

/* A pointer into one of two buffers, and one that walks from there on. */
__kernel void one_of_two(__global float *a, __global float *b, __global const float *in, int middle)
{
	int i = get_global_id(0);
	__global float *out = i < middle ? a + 2 * i : b + 2 * (i - middle);
	for (int k = 0; k < 2; k++)
		*out++ = in[i];
}

/* Compilers make memset() and memcpy() of such loops. A prefetch changes nothing. */
__kernel void cleared(__global float *restrict out, __global float *restrict copy,
                      __global const float *restrict in, int n)
{
	size_t at = get_global_id(0) * n;

	prefetch(in + at, n);
	for (int i = 0; i < n; i++)
		out[at + i] = 0;
	for (int i = 0; i < n; i++)
		copy[at + i] = in[at + i];
}

/* Places are vectors, which are computed and counted as such. */
__kernel void quads(__global float *out, __global const float *in, int width, int height)
{
	int2 at = (int2)(get_global_id(0), get_global_id(1)) << 1, to = at;
	int2 end = min(at + 2, (int2)(width, height));

	if (at.x == 0)
		to.x++;
	for (; to.y < end.y; to.y++) {
		out[mad24(to.y, width, to.x)] = in[at.x / 2];
		if (at.x + 1 < end.x)
			out[mad24(to, (int2)(1, width), (int2)(at.x, 1)).y + at.x] = in[at.y / 2];
	}
}

/* The next place is a product more. */
__kernel void planes(__global float *out, __global const float *in, int width, int height, int n)
{
	int at = mad24((int)get_global_id(1), width, (int)get_global_id(0));

	for (int plane = 0; plane < n; plane++) {
		out[at] = in[plane];
		at = mad24(width, height, at);
	}
}

/* What cannot be split. */
__kernel void counter(__global uint *count)
{
	atomic_inc(count);
}

__kernel void speaker(__global uint *count)
{
	printf("%u\n", count[get_global_id(0)]);
}

__kernel void stretcher(__read_only image2d_t image, __global float *out)
{
	const sampler_t whole = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP;

	out[get_global_id(0)] =
	    read_imagef(image, whole, (float2)(get_global_id(0) / 64.0f, 0.5f)).x;
}

__kernel void blender(__read_only image2d_t image, __global float *out)
{
	const sampler_t between = CLK_FILTER_LINEAR;

	out[get_global_id(0)] = read_imagef(image, between, (float2)(get_global_id(0), 1.5f)).x;
}

__kernel void liner(__read_only image1d_buffer_t image, __global float *out)
{
	out[get_global_id(0)] = read_imagef(image, get_global_id(0)).x;
}

/* Loops of a constant number of rounds keep nobody from the store behind them. */
__kernel void window3(__global const float *in, __global float *out, int n)
{
	int i = get_global_id(0);
	float sum = 0;

	if (i >= n)
		return;
	for (int y = 0; y < 3; y++)
		for (int x = -1; x <= 1; x++)
			sum += in[(i + 1) * 4 + x] * y;
	out[i] = sum;
}

__kernel void group_copies(__global const float *in, __global float *out, __local float *tile)
{
	size_t first = get_group_id(0) * get_local_size(0);
	event_t copied = async_work_group_copy(tile, in + first, get_local_size(0), 0);

	wait_group_events(1, &copied);
	tile[get_local_id(0)] *= 2;
	barrier(CLK_LOCAL_MEM_FENCE);
	copied = async_work_group_copy(out + first, tile, get_local_size(0), 0);
	wait_group_events(1, &copied);
}

/* What a global offset changes, and what it does not. */
__kernel void shifted(__global const float *in, __global float *out, int n)
{
	size_t i = get_global_id(0);
	size_t at = get_group_id(0) * get_local_size(0) + get_local_id(0);

	if (at < n)
		out[at] = in[i % 600] + get_global_offset(0) + get_global_size(0) +
		          get_num_groups(0);
}

__kernel void shifted2d(__global const float *in, __global float *out, int width)
{
	size_t x = get_global_id(0) - get_global_offset(0);
	size_t y = get_global_id(1) - get_global_offset(1);

	out[y * get_global_size(0) + x] = in[get_global_id(1) * width + get_global_id(0)];
}

__kernel void shifted3d(__global const float *in, __global float *out)
{
	size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
	size_t plane = get_global_size(0) * get_global_size(1);
	size_t first = get_group_id(2) * get_local_size(2) + get_local_id(2);

	out[first * plane + y * get_global_size(0) + x] = in[z * plane + y * get_global_size(0) + x];
}

__kernel void half_numbers(__global const half *in, __global half *out)
{
	size_t i = get_global_id(0);
	float4 four = vload_half4(i, in);

	vstore_half(four.x, i * 2, out);
	vstore_half_rtz(vload_half(i * 4 + 1, in), i * 2 + 1, out);
}

/* Pointers that are of no buffer until they are set; nothing is accessed by them before. */
__kernel void set_later(__global const float *in, __global float *out, __global float *two)
{
	const int i = get_global_id(0), part = get_local_id(0) >> 4;
	__global float *a = (__global float *)(size_t)part, *b = 0;

	if (part < 50)
		a = out + i * 2;
	if (get_global_id(0) != 1 << 20)
		b = two + i;
	a[0] = in[i];
	a[1] = *b = in[i] + 1;
}

/* Compilers make ~i of -1 - i. */
__kernel void from_the_end(__global const float *in, __global float *out, int n)
{
	int i = get_global_id(0);

	out[(n - 1 - i) * 2] = in[i];
	out[(n - 1 - i) * 2 + 1] = in[n - 1 - i];
}

/* An image by rows. */
__kernel void products_of_24(__global const float *in, __global float *out, int width, int height)
{
	const int x = get_global_id(0), y = get_global_id(1);
	const int i = mad24(y, width, x);

	if (x >= width || y >= height)
		return;
	out[i] = in[i];
}

/* Counters of 32 bits that end by numbers of 64. */
__kernel void long_bounds(__global const float *in, __global float *out, int n)
{
	const long rows = (long)n * 5, columns = (long)n * 3;
	const int step = get_global_size(1);

	for (int y = get_global_id(1); y < rows; y += step)
		for (uint x = get_local_id(0); x < columns; x += get_local_size(0))
			out[y * n * 3 + x] = in[y * n * 3 + x];
}

/* Each item writes at equal distances, by an int that is cut from a size_t. */
__kernel void far_elements(__global float *out)
{
	for (int w = 0; w < 3; w++) {
		const int i = w * get_global_size(0) + get_global_id(0);

		out[i] = w;
	}
}

/* Sizes and places of images are in memory. */
__kernel void images_of_a_batch(__global const uint *width, __global const uint *first,
                                __global const float *in, __global float *out)
{
	int x = get_global_id(0), image = get_global_id(1);

	if (x < width[image])
		out[first[image] + x] = 2 * in[first[image] + x];
}

/* A list for each group, from one place to the next one's. */
__kernel void segments(__global const uint *first, __global const float *in, __global float *out)
{
	for (uint i = first[get_group_id(0)] + get_local_id(0); i < first[get_group_id(0) + 1];
	     i += get_local_size(0))
		out[i] = in[i] + 1;
}

/* Each item keeps some numbers of its own, in its part, by a place that grows if one is kept. */
__kernel void kept(__global const float *in, __global float *out, __global float *twice, int n)
{
	int first = get_global_id(0) * n, at = first;
	__global float *to = twice + 2 * first;

	for (int k = 0; k < n; k++) {
		if (in[first + k] > 0.3f)
			out[at++] = in[first + k];
		for (int j = 0; j < 2; j++)
			if (in[first + k] > 0.6f)
				*to++ = j;
	}
}
