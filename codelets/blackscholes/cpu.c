/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Elementary functions are written out as polynomials without branches or
 * calls, so that the compiler turns the loop into vector instructions.
 */
#include "config.h"

#include <math.h>
#include <stdint.h>

#include "codelets/blackscholes/blackscholes.h"
#include "codelets/stream.h"

union word {
	float f;
	int32_t i;
};

/* e^x for any x, clamped to the finite floats: x = k ln 2 + f, |f| <= ln(2)/2;
 * (e^f - 1 - f) / f² interpolated at Chebyshev's points, relative error 1.1e-8. */
ISA_BODY float exponential(float x)
{
	const float rounder = 0x1.8p23f; /* adding it rounds to an integer */
	union word scale;
	float k, f, p;

	x = x < -87.0f ? -87.0f : x;
	x = x > 88.0f ? 88.0f : x;
	scale.f = x * 1.44269504f + rounder;
	k = scale.f - rounder;
	/* ln 2 in two parts: the first has few bits, so that k times it is exact. */
	f = (x - k * 0.693359375f) - k * -2.12194440e-4f;
	p = 1.39269266e-3f;
	p = p * f + 8.36377387e-3f;
	p = p * f + 4.16665501e-2f;
	p = p * f + 1.66665734e-1f;
	p = p * f + 0.5f;
	p = p * f * f + f + 1.0f;
	scale.i = (int32_t)((uint32_t)scale.i << 23) + (127 << 23);
	return p * scale.f;
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

/* 1/√x for x > 0: halving the exponent gives a first value within 4 %, three of
 * Newton's steps the rest. Division and square root are the slowest of vector
 * instructions, and this replaces one of each. */
ISA_BODY float inverse_root(float x)
{
	union word y = {.f = x};
	float half = 0.5f * x;

	y.i = 0x5f375a00 - (y.i >> 1);
	y.f *= 1.5f - half * y.f * y.f;
	y.f *= 1.5f - half * y.f * y.f;
	y.f *= 1.5f - half * y.f * y.f;
	return y.f;
}

/* What tail() wants the inverse of; beyond 16 the tail is 0 anyway, and the
 * product of two of them stays finite. */
ISA_BODY float tail_base(float x)
{
	x = fabsf(x);
	return 1.0f + 0.2316419f * (x > 16.0f ? 16.0f : x);
}

/* N(-|x|), the tail of the normal distribution, with k = 1 / tail_base(x); absolute
 * error 7.5e-8: M. Abramowitz and I. Stegun, Handbook of Mathematical Functions,
 * 26.2.17. */
ISA_BODY float tail(float x, float k)
{
	float p;

	p = 1.330274429f;
	p = p * k - 1.821255978f;
	p = p * k + 1.781477937f;
	p = p * k - 0.356563782f;
	p = p * k + 0.319381530f;
	return 0.398942280f * exponential(-0.5f * x * x) * (p * k);
}

ISA_BODY void price_body(const struct blackscholes_market *market, size_t n,
                         const float *restrict spot, const float *restrict strike,
                         const float *restrict years, float *restrict call, float *restrict put)
{
	const float rate = market->rate, volatility = market->volatility;
	const float inverse = 1.0f / volatility;
	const float drift = rate + 0.5f * volatility * volatility;

	for (size_t i = 0; i < n; i++) {
		float s = spot[i], k = strike[i], t = years[i];
		float root = inverse_root(t);
		float d1 = (logarithm(s / k) + drift * t) * (root * inverse);
		float d2 = d1 - volatility * (t * root);
		/* Two quotients by one division. */
		float b1 = tail_base(d1), b2 = tail_base(d2);
		float quotient = 1.0f / (b1 * b2);
		float tail1 = tail(d1, b2 * quotient), tail2 = tail(d2, b1 * quotient);
		float n1 = d1 < 0.0f ? tail1 : 1.0f - tail1;
		float n2 = d2 < 0.0f ? tail2 : 1.0f - tail2;
		float discounted = k * exponential(-rate * t);

		call[i] = s * n1 - discounted * n2;
		put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
	}
}

ISA_VARIANTS(price,
             (const struct blackscholes_market *market, size_t n, const float *restrict spot,
              const float *restrict strike, const float *restrict years, float *restrict call,
              float *restrict put),
             (market, n, spot, strike, years, call, put));

void blackscholes_cpu_isa(enum codelet_isa isa, const struct blackscholes_market *market, size_t n,
                          const float *spot, const float *strike, const float *years, float *call,
                          float *put)
{
	price_variants[isa](market, n, spot, strike, years, call, put);
}

void blackscholes_cpu(const struct blackscholes_market *market, size_t n, const float *spot,
                      const float *strike, const float *years, float *call, float *put)
{
	blackscholes_cpu_isa(codelet_isa_best(), market, n, spot, strike, years, call, put);
}

void blackscholes_cpu_stream(const struct blackscholes_market *market, size_t n, const float *spot,
                             const float *strike, const float *years, float *call, float *put)
{
	enum { PART = 512 }; /* both outputs take a small part of the first cache */
	float call_part[PART], put_part[PART];

	for (size_t i = 0; i < n; i += PART) {
		size_t m = n - i < PART ? n - i : PART;

		blackscholes_cpu(market, m, spot + i, strike + i, years + i, call_part, put_part);
		codelet_stream(call + i, call_part, m * sizeof(*call));
		codelet_stream(put + i, put_part, m * sizeof(*put));
	}
	codelet_stream_end();
}
