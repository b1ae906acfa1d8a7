/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "balance.h"
#include "model.h"

/* Each band's share of the rows that those before it have left. */
static void share(const struct wave_balance *balance, size_t *rows)
{
	size_t left = balance->ends[balance->nends - 1];
	double power = 0;

	for (unsigned b = 0; b < balance->n; b++)
		power += 1 / balance->us[b];
	for (unsigned b = 0; b < balance->n; b++) {
		double own = left / (balance->us[b] * power);

		power -= 1 / balance->us[b];
		rows[b] = b + 1 == balance->n ? left : (size_t)fmin(rint(own), left);
		if (balance->most[b] && rows[b] > balance->most[b] && b + 1 < balance->n)
			rows[b] = balance->most[b];
		if (2 * rows[b] < balance->minimum)
			rows[b] = 0;
		else if (rows[b] < balance->minimum)
			rows[b] = balance->minimum < left ? balance->minimum : left;
		left -= rows[b];
	}
	/* The last one was too slow for what was left. */
	for (unsigned b = balance->n; left && b--;)
		if (rows[b] || !b) {
			rows[b] += left;
			left = 0;
		}
}

/* Bands end where they do now, or far enough from there for the piece between to be a band. */
static void snap(const struct wave_balance *balance, size_t *rows)
{
	size_t end = 0, begin = 0, all = balance->ends[balance->nends - 1];
	unsigned next = 0;

	for (unsigned b = 0; b < balance->n; b++) {
		size_t snapped;

		end += rows[b];
		while (balance->ends[next] + balance->minimum <= end && next + 1 < balance->nends)
			next++;
		snapped = end;
		/* The last of the strips may be lower than that. */
		if (end < all && end < balance->ends[next] + balance->minimum &&
		    balance->ends[next] < end + balance->minimum)
			snapped = balance->ends[next];
		else if (end < all && end < balance->minimum)
			snapped = 0;
		rows[b] = snapped - begin;
		begin = snapped;
	}
}

/* The time of a column of the slowest band. */
static double slowest_us(const struct wave_balance *balance, const size_t *rows)
{
	double us = 0;

	for (unsigned b = 0; b < balance->n; b++)
		us = fmax(us, balance->us[b] * rows[b]);
	return us;
}

bool wave_balance_rows(const struct wave_balance *balance, size_t *rows)
{
	double before = slowest_us(balance, balance->rows), after;

	share(balance, rows);
	snap(balance, rows);
	after = slowest_us(balance, rows);
	return before > WAVE_BALANCE_GAIN * after &&
	       (before - after) * balance->columns > balance->pause_us;
}

void wave_speed_add(struct wave_speed *speed, double us)
{
	bool slower = us > speed->us;

	heddle_robust_add(&speed->recent, us);
	if (!wave_model_drifted(speed->us, us) ||
	    (speed->changed.count && (heddle_robust_us(&speed->changed) > speed->us) != slower))
		speed->changed = (struct heddle_robust){0};
	if (wave_model_drifted(speed->us, us))
		heddle_robust_add(&speed->changed, us);
}

bool wave_speed_is_known(const struct wave_speed *speed)
{
	return speed->recent.count >= WAVE_BALANCE_TILES;
}

bool wave_speed_has_changed(const struct wave_speed *speed)
{
	return speed->changed.count >= WAVE_BALANCE_TILES;
}

double wave_speed_us(const struct wave_speed *speed)
{
	return heddle_robust_us(wave_speed_has_changed(speed) ? &speed->changed : &speed->recent);
}
