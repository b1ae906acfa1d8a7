/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Prices of European call and put options by the formula of F. Black and M. Scholes, "The Pricing
 * of Options and Corporate Liabilities", Journal of Political Economy 81(3), 1973, for a share
 * without dividends. Single precision: every version is within BLACKSCHOLES_TOLERANCE times the
 * largest of spot, strike and discounted strike, K e^(-rT), of blackscholes_reference(), where -rT
 * is at most BLACKSCHOLES_GROWTH.
 */
#ifndef CODELETS_BLACKSCHOLES_H
#define CODELETS_BLACKSCHOLES_H

#include <stdbool.h>
#include <stddef.h>

#include "codelets/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The formula:
 *
 *   d1 = (ln(S/K) + (r + v²/2) T) / (v √T)      d2 = d1 - v √T
 *   call = S N(d1) - K e^(-rT) N(d2)
 *   put  = K e^(-rT) N(-d2) - S N(-d1) */

/* Where a price's error comes from, in parts of that amount: the tails' approximation is off by
 * 7.5e-8, twice. Rounding adds up to 9e-7 to the tails, about 3e-7 to each product and the
 * difference, and 2e-7 by v √T. The relative error of e^(-rT) is 2e-7 and 1.8e-7 |rT|. A discounted
 * strike that is larger than the strike makes that large, and so the growth is bounded. Not all are
 * largest at once: the worst of 3*10^8 prices, with r from -1 to 1 and v from 0.001 to 10, and of
 * 6*10^7 beside the worst of others, is 9.8e-7 on a CPU with any instruction set. */
#define BLACKSCHOLES_TOLERANCE 2e-6
#define BLACKSCHOLES_GROWTH 4

/** The market of all options: the loop's `arg`. */
struct blackscholes_market {
	float rate;       /**< riskless interest, continuously compounded, a year */
	float volatility; /**< standard deviation of the share's return, a year; above 0 */
};

/** Prices n options.
 * @param spot price of the share, above 0
 * @param strike price agreed upon, above 0, in the same currency
 * @param years until expiry, above 0
 * @param[out] call,put n prices each; they may not overlap the inputs. */
void blackscholes_cpu(enum codelet_isa isa, const struct blackscholes_market *market, size_t n,
                      const float *spot, const float *strike, const float *years, float *call,
                      float *put);

/** blackscholes_cpu() with outputs that bypass the caches. */
void blackscholes_cpu_stream(enum codelet_isa isa, const struct blackscholes_market *market,
                             size_t n, const float *spot, const float *strike, const float *years,
                             float *call, float *put);

/** Whether blackscholes_cpu_stream() is faster: the outputs of n options in all are larger than
 * the last cache. */
bool blackscholes_stream_pays(size_t n);

/** One option in double precision, straight from the formula. */
void blackscholes_reference(const struct blackscholes_market *market, double spot, double strike,
                            double years, double *call, double *put);

/** Largest error over n options, relative to the largest of spot, strike and discounted strike of
 * each; infinite where a price is not a number. */
double blackscholes_error(const struct blackscholes_market *market, size_t n, const float *spot,
                          const float *strike, const float *years, const float *call,
                          const float *put);

/** Launches the CUDA version on device memory; returns without waiting.
 * @param stream a cudaStream_t
 * @return 0, or -EIO when the launch was refused. */
int blackscholes_cuda(void *stream, const struct blackscholes_market *market, size_t n,
                      const float *spot, const float *strike, const float *years, float *call,
                      float *put);

/** The codelet: buffers spot, strike, years (read), call, put (written), all
 * vectors of float; one option an iteration. */
extern struct starpu_codelet blackscholes_codelet;
/** Its OpenCL program, where this build has OpenCL. */
extern struct codelet_program blackscholes_program;

#ifdef __cplusplus
}
#endif
#endif
