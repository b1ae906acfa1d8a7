/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Dealing bands again: when a worker's speed counts as changed, the heights that follow, and
 * cutting and joining bands that are under way.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "partition/wavefront/balance.h"
#include "partition/wavefront/tiles.h"
#include "tests/unit/test.h"

static unsigned seed;

static size_t between(size_t least, size_t most)
{
	return least + (size_t)rand_r(&seed) % (most - least + 1);
}

/* ---- speeds ---- */

static void test_speed(void **state)
{
	struct wave_speed speed = {.us = 1};

	for (int tile = 0; tile < 3; tile++) {
		assert_false(wave_speed_is_known(&speed));
		wave_speed_add(&speed, 1.1);
	}
	assert_true(wave_speed_is_known(&speed));
	assert_false(wave_speed_has_changed(&speed));
	assert_float_equal(wave_speed_us(&speed), 1.1, 1e-9);
	/* Two slow ones, one as before, and three slow ones. */
	wave_speed_add(&speed, 4);
	wave_speed_add(&speed, 4);
	wave_speed_add(&speed, 1);
	wave_speed_add(&speed, 2.5);
	wave_speed_add(&speed, 4);
	assert_false(wave_speed_has_changed(&speed));
	wave_speed_add(&speed, 4);
	assert_true(wave_speed_has_changed(&speed));
	assert_float_equal(wave_speed_us(&speed), 4, 1e-9);
	/* Slow and fast ones do not agree. */
	wave_speed_add(&speed, 0.5);
	wave_speed_add(&speed, 0.5);
	assert_false(wave_speed_has_changed(&speed));
	wave_speed_add(&speed, 0.5);
	assert_true(wave_speed_has_changed(&speed));
	assert_float_equal(wave_speed_us(&speed), 0.5, 1e-9);
}

/* ---- heights ---- */

enum { MOST_BANDS = 12 };

struct bands {
	struct wave_balance balance;
	double us[MOST_BANDS];
	size_t rows[MOST_BANDS], most[MOST_BANDS], ends[MOST_BANDS], wanted[MOST_BANDS];
};

static void bands_init(struct bands *bands, unsigned n, const size_t *rows, const double *us)
{
	*bands = (struct bands){.balance = {.n = n, .minimum = 2, .columns = 1000}};
	for (unsigned b = 0; b < n; b++) {
		bands->rows[b] = rows[b];
		bands->us[b] = us[b];
		bands->ends[b] = rows[b] + (b ? bands->ends[b - 1] : 0);
	}
	bands->balance.us = bands->us;
	bands->balance.rows = bands->rows;
	bands->balance.most = bands->most;
	bands->balance.ends = bands->ends;
	bands->balance.nends = n;
}

static void test_quarter(void **state)
{
	const size_t rows[] = {100, 100, 100, 100};
	const double us[] = {1, 1, 4, 1};
	struct bands bands;

	bands_init(&bands, 4, rows, us);
	assert_true(wave_balance_rows(&bands.balance, bands.wanted));
	assert_int_equal(bands.wanted[0], 123);
	assert_int_equal(bands.wanted[1], 123);
	assert_int_equal(bands.wanted[2], 31);
	assert_int_equal(bands.wanted[3], 123);
	/* A column takes 400 us now and 124 then. */
	bands.balance.pause_us = 275000;
	assert_true(wave_balance_rows(&bands.balance, bands.wanted));
	bands.balance.pause_us = 277000;
	assert_false(wave_balance_rows(&bands.balance, bands.wanted));
}

static void test_not_worth_it(void **state)
{
	const size_t rows[] = {100, 100};
	const double alike[] = {3, 3}, nearly[] = {1, 1.05};
	struct bands bands;

	bands_init(&bands, 2, rows, alike);
	assert_false(wave_balance_rows(&bands.balance, bands.wanted));
	bands_init(&bands, 2, rows, nearly);
	assert_false(wave_balance_rows(&bands.balance, bands.wanted));
}

/* What its memory holds is the most that a worker gets; one that is too slow gets nothing. */
static void test_bounds(void **state)
{
	const size_t rows[] = {100, 100, 100};
	const double us[] = {1, 1, 2}, slow[] = {1, 1000, 1};
	struct bands bands;

	bands_init(&bands, 3, rows, us);
	bands.most[0] = 110;
	assert_true(wave_balance_rows(&bands.balance, bands.wanted));
	assert_int_equal(bands.wanted[0], 110);
	bands_init(&bands, 3, rows, slow);
	assert_true(wave_balance_rows(&bands.balance, bands.wanted));
	assert_int_equal(bands.wanted[1], 0);
	assert_int_equal(bands.wanted[0] + bands.wanted[2], 300);
}

/* At the end of a strip, or far enough from all of them. */
static bool is_cut_well(const struct bands *bands, size_t end)
{
	bool well = true;

	for (unsigned b = 0; b < bands->balance.nends; b++) {
		size_t other = bands->ends[b], apart = end > other ? end - other : other - end;

		if (!apart)
			return true;
		well = well && apart >= bands->balance.minimum;
	}
	return well;
}

/* Every cut leaves pieces that are high enough for the vectors. */
static void test_cuts(void **state)
{
	for (int trial = 0; trial < 20000; trial++) {
		unsigned n = between(1, MOST_BANDS);
		size_t rows[MOST_BANDS], end = 0, minimum = between(1, 7), all = 0, got = 0;
		double us[MOST_BANDS];
		struct bands bands;

		for (unsigned b = 0; b < n; b++) {
			rows[b] = b + 1 < n ? between(minimum, 60) : between(1, 60);
			us[b] = between(1, 1000);
			all += rows[b];
		}
		bands_init(&bands, n, rows, us);
		bands.balance.minimum = minimum;
		wave_balance_rows(&bands.balance, bands.wanted);
		for (unsigned b = 0; b < n; b++)
			got += bands.wanted[b];
		assert_int_equal(got, all);
		for (unsigned b = 0; b < n; b++) {
			end += bands.wanted[b];
			assert_true(!end || end >= minimum || end == all || end == bands.ends[0]);
			assert_true(!end || is_cut_well(&bands, end));
		}
	}
}

/* ---- cutting and joining ---- */

/* Whether a band that has done some tiles has done an iteration in a sweep. */
static bool has_done(const struct wave_space *space, const struct wave_band *band, size_t done,
                     size_t sweep, size_t row, size_t column)
{
	size_t tile = wave_tile_of(band, space->skew, row - band->first, column);

	return sweep * wave_band_tiles(space, band) + tile < done;
}

static void test_pieces(void **state)
{
	enum { SWEEPS = 3 };

	for (int trial = 0; trial < 2000; trial++) {
		struct wave_space space = {
		    .rows = between(2, 30), .columns = between(1, 30), .skew = between(0, 2)};
		size_t first = between(0, space.rows - 2), rows = between(2, space.rows - first);
		struct wave_band whole = {first, rows, between(1, 12)}, upper = whole,
		                 lower = whole;
		size_t done = between(0, SWEEPS * wave_band_tiles(&space, &whole)), above, below,
		       back, other;
		struct wave_point point = wave_band_point(&space, &whole, done);

		upper.rows = between(1, rows - 1);
		lower.first += upper.rows;
		lower.rows -= upper.rows;
		above = wave_band_done(&space, &upper, point);
		below = wave_band_done(&space, &lower, point);
		for (size_t sweep = 0; sweep < SWEEPS; sweep++)
			for (size_t r = first; r < first + rows; r++)
				for (size_t c = 0; c < space.columns; c++) {
					bool up = r < lower.first;

					assert_int_equal(
					    has_done(&space, &whole, done, sweep, r, c),
					    has_done(&space, up ? &upper : &lower,
					             up ? above : below, sweep, r, c));
				}
		/* The one that is less far says how far both are; but for tiles without rows. */
		back = wave_band_done(&space, &whole, wave_band_point(&space, &upper, above));
		other = wave_band_done(&space, &whole, wave_band_point(&space, &lower, below));
		back = back < other ? back : other;
		for (; done < back; done++)
			assert_true(
			    wave_tile_size(&space, &whole, done % wave_band_tiles(&space, &whole))
			        .iterations == 0);
		assert_int_equal(back, done);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_speed),        cmocka_unit_test(test_quarter),
	    cmocka_unit_test(test_not_worth_it), cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_cuts),         cmocka_unit_test(test_pieces),
	};

	seed = test_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
