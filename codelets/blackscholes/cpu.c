/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Elementary functions are polynomials without branches or calls, so that the compiler turns the
 * loop into vector instructions.
 */
#include "config.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "codelets/blackscholes/blackscholes.h"

union word {
	float f;
	int32_t i;
};

#define LOG2_E 1.44269504f

/* 2^x, x from -125 to 127: x = k + f, |f| <= 1/2; 2^f interpolated at Chebyshev's points,
 * relative error 1e-7. */
ISA_BODY float power_of_two(float x)
{
	const float rounder = 0x1.8p23f; /* adding it rounds to an integer */
	union word k = {.f = x + rounder}, p;
	float f = x - (k.f - rounder);

	p.f = 1.33908634e-3f;
	p.f = p.f * f + 9.67603192e-3f;
	p.f = p.f * f + 5.55035711e-2f;
	p.f = p.f * f + 2.40221075e-1f;
	p.f = p.f * f + 6.93147188e-1f;
	p.f = p.f * f + 1.00000008f;
	/* The lowest bits of the sum are k: add them to the exponent. */
	p.i = (int32_t)((uint32_t)p.i + ((uint32_t)k.i << 23));
	return p.f;
}

ISA_BODY float at_least(float bound, float x)
{
	return bound > x ? bound : x;
}

ISA_BODY float at_most(float bound, float x)
{
	return bound < x ? bound : x;
}

/* ln x for x > 0: x = 2^k (1 + f), 1 + f in [√½, √2];
 * (ln(1 + f) - f + f²/2) / f³ interpolated at Chebyshev's points, error 4.6e-8. */
ISA_BODY float logarithm(float x)
{
	union word mantissa = {.f = x};
	int32_t k = (mantissa.i - 0x3f3504f3) >> 23;
	float f, p;

	mantissa.i -= k * (1 << 23); /* a shift of a negative k has no defined result */
	f = mantissa.f - 1.0f;
	p = 9.04878442e-2f;
	p = p * f - 1.40308922e-1f;
	p = p * f + 1.47038992e-1f;
	p = p * f - 1.66027189e-1f;
	p = p * f + 1.99842232e-1f;
	p = p * f - 2.50007026e-1f;
	p = p * f + 3.33334154e-1f;
	return (float)k * 0.693147181f + (f + f * f * (p * f - 0.5f));
}

/* 1/√x for x > 0: halving the exponent gives a first value within 4 %; a step of Halley's and one
 * of Newton's method follow. This replaces a division and a square root, the slowest vector
 * instructions. */
ISA_BODY float inverse_root(float x)
{
	union word y = {.f = x};
	float square;

	y.i = 0x5f375a00 - (y.i >> 1);
	square = x * y.f * y.f;
	y.f *= 1.875f + square * (0.375f * square - 1.25f);
	y.f *= 1.5f - 0.5f * x * y.f * y.f;
	return y.f;
}

/* tail() takes the inverse of this. The tail is 0 beyond 16, and so the product of two stays
 * finite. */
ISA_BODY float tail_base(float x)
{
	return 1.0f + 0.2316419f * at_most(16.0f, fabsf(x));
}

/* N(-|x|), the tail of the normal distribution, with k = 1 / tail_base(x); absolute
 * error 7.5e-8: M. Abramowitz and I. Stegun, Handbook of Mathematical Functions,
 * 26.2.17. The density's factor is in the coefficients. */
ISA_BODY float tail(float x, float k)
{
	const float density = 0.398942280f;
	float p = density * 1.330274429f;

	p = p * k - density * 1.821255978f;
	p = p * k + density * 1.781477937f;
	p = p * k - density * 0.356563782f;
	p = p * k + density * 0.319381530f;
	return power_of_two(at_least(-125.0f, -0.5f * LOG2_E * x * x)) * (p * k);
}

ISA_BODY void price_body(const struct blackscholes_market *market, size_t n,
                         const float *restrict spot, const float *restrict strike,
                         const float *restrict years, float *restrict call, float *restrict put)
{
	const float rate = market->rate, volatility = market->volatility;
	const float inverse = 1.0f / volatility;
	const float growth = -rate * LOG2_E;
	const float drift = rate + 0.5f * volatility * volatility;

	for (size_t i = 0; i < n; i++) {
		float s = spot[i], k = strike[i], t = years[i];
		float root = inverse_root(t);
		float d1 = (logarithm(s / k) + drift * t) * (root * inverse);
		float d2 = d1 - volatility * (t * root);
		/* Two quotients by one division. */
		float b1 = tail_base(d1), b2 = tail_base(d2), quotient = 1.0f / (b1 * b2);
		float tail1 = tail(d1, b2 * quotient), tail2 = tail(d2, b1 * quotient);
		float n1 = d1 < 0.0f ? tail1 : 1.0f - tail1;
		float n2 = d2 < 0.0f ? tail2 : 1.0f - tail2;
		float discounted = k * power_of_two(at_most(127.0f, at_least(-125.0f, growth * t)));

		call[i] = s * n1 - discounted * n2;
		put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
	}
}

ISA_VARIANTS(price,
             (const struct blackscholes_market *market, size_t n, const float *restrict spot,
              const float *restrict strike, const float *restrict years, float *restrict call,
              float *restrict put),
             (market, n, spot, strike, years, call, put));

void blackscholes_cpu(enum codelet_isa isa, const struct blackscholes_market *market, size_t n,
                      const float *spot, const float *strike, const float *years, float *call,
                      float *put)
{
	price_variants[isa](market, n, spot, strike, years, call, put);
}

/* ---- outputs larger than the caches ---- */

bool blackscholes_stream_pays(size_t n)
{
#ifdef _SC_LEVEL3_CACHE_SIZE
	static long known; /* 0: not asked yet; concurrent threads store the same size */
	long cache = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (!cache) {
		cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
		__atomic_store_n(&known, cache, __ATOMIC_RELAXED);
	}
	return cache > 0 && 2 * sizeof(float) * n > (size_t)cache;
#else
	return false;
#endif
}

/* Copies to memory past the caches. An ordinary store first reads the line that it overwrites,
 * which is a third of the memory traffic of this kernel. Other threads see the bytes after
 * stream_end(). */
static void stream(void *restrict to, const void *restrict from, size_t bytes)
{
	char *target = to;
	const char *source = from;

#ifdef __SSE2__
	size_t head = -(uintptr_t)target & 15;

	if (head > bytes)
		head = bytes;
	memcpy(target, source, head);
	target += head;
	source += head;
	bytes -= head;
	for (; bytes >= 16; bytes -= 16, target += 16, source += 16)
		_mm_stream_si128((__m128i *)target, _mm_loadu_si128((const __m128i *)source));
#endif
	memcpy(target, source, bytes);
}

static void stream_end(void)
{
#ifdef __SSE2__
	_mm_sfence();
#endif
}

void blackscholes_cpu_stream(enum codelet_isa isa, const struct blackscholes_market *market,
                             size_t n, const float *spot, const float *strike, const float *years,
                             float *call, float *put)
{
	enum { LINE = 64, PART = 512 }; /* both outputs take a small part of the first cache */
	float call_part[PART] __attribute__((aligned(LINE)));
	float put_part[PART] __attribute__((aligned(LINE)));
	/* Parts end where lines of the caches do: a line that is stored in two pieces is written to
	 * memory twice. */
	size_t m = PART - (uintptr_t)call % LINE / sizeof(*call);

	for (size_t i = 0; i < n; i += m, m = PART) {
		m = n - i < m ? n - i : m;
		blackscholes_cpu(isa, market, m, spot + i, strike + i, years + i, call_part,
		                 put_part);
		stream(call + i, call_part, m * sizeof(*call));
		stream(put + i, put_part, m * sizeof(*put));
	}
	stream_end();
}
