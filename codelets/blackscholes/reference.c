/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The formula in double precision, for comparisons.
 */
#include "config.h"

#include <math.h>

#include "codelets/blackscholes/blackscholes.h"

static double normal(double x)
{
	return 0.5 * erfc(-x * M_SQRT1_2);
}

void blackscholes_reference(const struct blackscholes_market *market, double spot, double strike,
                            double years, double *call, double *put)
{
	double rate = market->rate, volatility = market->volatility;
	double deviation = volatility * sqrt(years);
	double d1 =
	    (log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / deviation;
	double d2 = d1 - deviation;
	double discounted = strike * exp(-rate * years);

	double n1 = normal(d1), n2 = normal(d2);

	*call = spot * n1 - discounted * n2;
	*put = discounted * (1 - n2) - spot * (1 - n1);
}

/* The larger of two errors, where not-a-number is the largest of all. */
static double worse(double error, double than)
{
	if (isnan(error))
		return INFINITY;
	return error > than ? error : than;
}

double blackscholes_error(const struct blackscholes_market *market, size_t n, const float *spot,
                          const float *strike, const float *years, const float *call,
                          const float *put)
{
	double worst = 0;

	for (size_t i = 0; i < n; i++) {
		double discounted = strike[i] * exp(-(double)market->rate * years[i]);
		double scale = fmax(fmax(spot[i], strike[i]), discounted);
		double right_call, right_put;

		blackscholes_reference(market, spot[i], strike[i], years[i], &right_call,
		                       &right_put);
		worst = worse(fabs(call[i] - right_call) / scale, worst);
		worst = worse(fabs(put[i] - right_put) / scale, worst);
	}
	return worst;
}
