/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

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

/* A core's kernel is called so many times a block, each time for so long at least, or for so many
 * times what it may do in each call: tables, threads, memory. */
#define PARTS 8
#define LEAST_PART_US 50
#define LEAST_PART_STARTS 20
/* A rest that takes no longer than this is not worth another decision. */
#define LEAST_REST_US 100
/* Where many share memory, blocks take a few times as long as predicted, and all of them do. */
#define OVERDUE 8

size_t loop_late_part(size_t n, double expected_us, double start_us, size_t unit)
{
	double least_us = fmax(LEAST_PART_US, LEAST_PART_STARTS * start_us);
	double parts = fmin(expected_us / least_us, PARTS);
	size_t part = parts > 1 ? (size_t)(n / parts) : n, rest;

	if (part && part % unit == 0)
		return part;
	rest = unit - part % unit;
	return rest < n - part ? part + rest : n;
}

double loop_late_rest_us(size_t n, size_t done, double elapsed_us, double expected_us)
{
	double rest_us = done ? elapsed_us / done * (n - done) : 0;

	return rest_us > LEAST_REST_US && elapsed_us * n > OVERDUE * expected_us * done ? rest_us
	                                                                                : 0;
}
