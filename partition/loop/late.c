/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "late.h"

bool loop_late_is(double elapsed_us, double predicted_us, double again_us, double least_us)
{
	double over_us = elapsed_us - predicted_us;

	return over_us > predicted_us && over_us > again_us && over_us > least_us;
}

size_t loop_late_piece(size_t left, double rate, double sum, unsigned known, unsigned workers,
                       size_t unit)
{
	double mean = known ? sum / known : 1, all = sum + (workers - known) * mean;
	double wish = left * (rate > 0 ? rate : mean) / all / 2;
	size_t n = wish < left ? (size_t)wish : left, rest;

	if (n && n % unit == 0)
		return n;
	rest = unit - n % unit;
	return rest < left - n ? n + rest : left;
}
