/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What all versions of the codelet compute, in the common subset of C, CUDA and OpenCL. It uses
 * integers only, so that the results agree bit by bit.
 */
#ifdef __OPENCL_VERSION__
typedef uint nbia_u32;
typedef ulong nbia_u64;
#define NBIA_FUNCTION
#define NBIA_CLZ(x) clz(x)
#define NBIA_POPCOUNT(x) popcount(x)
#define NBIA_TABLE __global const nbia_u32 *
#define NBIA_COUNTS __local const nbia_u32 *
#endif

/* Colour: sRGB (IEC 61966-2-1) -> linear light -> CIE XYZ relative to the white point D65 -> CIE 1976
 * L*a*b*, in fixed point. An array has two tables. The first 256 entries are linear light in 2^-15.
 * Entry 256 + t is for a coordinate of X, Y or Z between t and t + 1 of 4096: its lower 16 bits are
 * f() of the CIE's definition in 2^-15, the upper ones the lightness L* scaled to 0…255. */

#define NBIA_LEVELS 16 /* of L*, a* and b* in the co-occurrence matrices */
#define NBIA_CHANNELS 3
#define NBIA_CELLS (NBIA_LEVELS * NBIA_LEVELS)
#define NBIA_PATTERNS 256 /* local binary patterns before they are grouped */
#define NBIA_GROUPS 10    /* ... and after */
/* Counters of a tile: a matrix for each channel, then the patterns. */
#define NBIA_FIRST_PATTERN (NBIA_CHANNELS * NBIA_CELLS)
#define NBIA_COUNTERS (NBIA_FIRST_PATTERN + NBIA_PATTERNS)
#define NBIA_TABLE_ENTRIES (256 + 4096)

/* The sums over the co-occurrence matrix of a channel: c(i, j) counts the pairs
 * of neighbours with levels i and j, s(i, j) = c(i, j) + c(j, i). */
struct nbia_channel {
	nbia_u64 squares;                  /* sum of s(i, j)^2 */
	nbia_u64 entropy;                  /* sum of s(i, j) log2 s(i, j), in 2^-16 */
	nbia_u64 products;                 /* sum of i j s(i, j) */
	nbia_u32 marginal[NBIA_LEVELS];    /* sum of s(i, j) over j */
	nbia_u32 difference[NBIA_LEVELS];  /* pairs with |i - j| = k */
};

/* The result of a tile's task. */
struct nbia_summary {
	struct nbia_channel channels[NBIA_CHANNELS];
	nbia_u32 patterns[NBIA_GROUPS]; /* rotation invariant uniform ones: that many bits
	                                   set; the last group has all others */
};

/* X, Y and Z of 4096, from linear light: the rows of the matrix are those of sRGB's
 * primaries over the white point's X, Y and Z, in 2^-15. */
NBIA_FUNCTION nbia_u32 nbia_x(nbia_u32 r, nbia_u32 g, nbia_u32 b)
{
	return (14220u * r + 12328u * g + 6220u * b) >> 18;
}

NBIA_FUNCTION nbia_u32 nbia_y(nbia_u32 r, nbia_u32 g, nbia_u32 b)
{
	return (6969u * r + 23434u * g + 2365u * b) >> 18;
}

NBIA_FUNCTION nbia_u32 nbia_z(nbia_u32 r, nbia_u32 g, nbia_u32 b)
{
	return (582u * r + 3586u * g + 28600u * b) >> 18;
}

/* A chromaticity in 2^-15: sixteen levels of 8 units from -64 on. */
NBIA_FUNCTION nbia_u32 nbia_level(int chroma)
{
	chroma += 64 << 15;
	chroma = chroma < 0 ? 0 : chroma;
	chroma = chroma > (128 << 15) - 1 ? (128 << 15) - 1 : chroma;
	return (nbia_u32)chroma >> 18;
}

/* Levels of a* and b*, from the tables' entries for X, Y and Z. */
NBIA_FUNCTION nbia_u32 nbia_level_a(nbia_u32 x, nbia_u32 y)
{
	return nbia_level(500 * ((int)(x & 0xffff) - (int)(y & 0xffff)));
}

NBIA_FUNCTION nbia_u32 nbia_level_b(nbia_u32 y, nbia_u32 z)
{
	return nbia_level(200 * ((int)(y & 0xffff) - (int)(z & 0xffff)));
}

/* A pixel: L* (0…255) in bits 0 to 7, the level of a* in 8 to 11, of b* in 12 to 15. */
NBIA_FUNCTION nbia_u32 nbia_pixel(NBIA_TABLE table, nbia_u32 red, nbia_u32 green, nbia_u32 blue)
{
	nbia_u32 r = table[red], g = table[green], b = table[blue];
	nbia_u32 x = table[256 + nbia_x(r, g, b)], y = table[256 + nbia_y(r, g, b)];
	nbia_u32 z = table[256 + nbia_z(r, g, b)];

	return y >> 16 | nbia_level_a(x, y) << 8 | nbia_level_b(y, z) << 12;
}

/* log2 of an integer above 0, in 2^-16. Of the fraction f after the leading bit it is
 * f + f (1 - f) g(f) with a cubic g that interpolates at Chebyshev's points: the error is
 * below 6e-5, and 0 at powers of two. */
NBIA_FUNCTION nbia_u32 nbia_log2(nbia_u32 n)
{
	nbia_u32 exponent = 31 - NBIA_CLZ(n);
	nbia_u32 f = exponent ? n << (32 - exponent) : 0; /* in 2^-32 */
	nbia_u32 g = 646535156u - (nbia_u32)((nbia_u64)f * 192732170u >> 32);

	g = 1157828758u - (nbia_u32)((nbia_u64)f * g >> 32);
	g = 1900173326u - (nbia_u32)((nbia_u64)f * g >> 32);
	g = (nbia_u32)(((nbia_u64)f * ~f >> 32) * g >> 32);
	return (exponent << 16) + ((f + g) >> 16);
}

/* The part of a channel's sums that row i of its matrix contributes. */
NBIA_FUNCTION void nbia_row(NBIA_COUNTS matrix, nbia_u32 i, nbia_u64 *squares, nbia_u64 *entropy,
			    nbia_u64 *products, nbia_u32 *marginal)
{
	*squares = *entropy = *products = 0;
	*marginal = 0;
	for (nbia_u32 j = 0; j < NBIA_LEVELS; j++) {
		nbia_u32 s = matrix[i * NBIA_LEVELS + j] + matrix[j * NBIA_LEVELS + i];

		if (!s)
			continue;
		*squares += (nbia_u64)s * s;
		*entropy += (nbia_u64)s * nbia_log2(s);
		*products += (nbia_u64)s * (i * j);
		*marginal += s;
	}
}

/* Pairs of a channel whose levels differ by k. */
NBIA_FUNCTION nbia_u32 nbia_difference(NBIA_COUNTS matrix, nbia_u32 k)
{
	nbia_u32 pairs = 0;

	for (nbia_u32 i = 0; i + k < NBIA_LEVELS; i++) {
		pairs += matrix[i * NBIA_LEVELS + i + k];
		if (k)
			pairs += matrix[(i + k) * NBIA_LEVELS + i];
	}
	return pairs;
}

/* Group of a pattern: the number of its bits if there are at most two changes around the
 * circle (T. Ojala, M. Pietikäinen and T. Mäenpää, IEEE PAMI 24(7), 2002, equation 9). */
NBIA_FUNCTION nbia_u32 nbia_group(nbia_u32 pattern)
{
	nbia_u32 turned = pattern >> 1 | (pattern & 1) << 7;

	return NBIA_POPCOUNT(pattern ^ turned) <= 2 ? NBIA_POPCOUNT(pattern) : NBIA_GROUPS - 1;
}
