/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Dependence vectors and tiles, against every iteration of thousands of small
 * spaces.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "partition/wavefront/tiles.h"
#include "tests/unit/test.h"

enum { MAXVECTORS = 5, MAXBANDS = 64, MAXSWEEPS = 3, MAXSIDE = 40, ROUNDS = 20000 };

static void test_refused(void **state)
{
	static const struct heddle_dependence bad[] = {{0, 0, 0},
	                                               {.column = -1},
	                                               {.row = -1, .column = 3},
	                                               {.row = 5, .sweep = -1},
	                                               {.row = WAVE_VECTORS_LIMIT + 1}};
	static const struct heddle_dependence good[] = {{.column = 1},
	                                                {.row = 1, .column = -1},
	                                                {.sweep = 1, .row = -1},
	                                                {.sweep = 1, .column = -3},
	                                                {.sweep = 2}};

	setenv("HEDDLE_VERBOSE", "0", 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(heddle_dependences_check(&bad[i], 1), -EINVAL);
	assert_int_equal(heddle_dependences_check(good, sizeof(good) / sizeof(*good)), 0);
	assert_int_equal(heddle_dependences_check(NULL, 0), 0);
}

static void test_skew(void **state)
{
	static const struct heddle_dependence floyd[] = {
	    {0, 1, 0}, {1, -1, 0}, {1, 0, 0}, {1, 1, 0}};
	static const struct heddle_dependence toy[] = {{2, 2, 0}, {3, 1, 0}};
	static const struct heddle_dependence heat[] = {
	    {1, 0, 0}, {0, 1, 0}, {-1, 0, 1}, {0, -1, 1}};
	static const struct heddle_dependence far[] = {{2, -5, 0}};
	struct wave_reach reach = wave_vectors_reach(heat, 4);

	assert_int_equal(wave_vectors_skew(floyd, 4), 1);
	assert_int_equal(wave_vectors_skew(toy, 2), 0);
	assert_int_equal(wave_vectors_skew(heat, 4), 0);
	assert_int_equal(wave_vectors_skew(far, 1), 3);
	assert_int_equal(wave_vectors_minimum_rows(toy, 2), 3);
	assert_int_equal(wave_vectors_minimum_rows(heat, 4), 2);
	assert_int_equal(reach.above, 1);
	assert_int_equal(reach.below, 1);
	assert_int_equal(reach.left, 1);
	assert_int_equal(reach.right, 1);
}

/* The example of section 2 of Andronikos et al.: 24 x 8 iterations, vectors (2, 2)
 * and (3, 1), two chunks of four columns, synchronised every four rows. There the
 * first dimension is the one of synchronisation. */
static void test_toy_of_the_paper(void **state)
{
	static const struct heddle_dependence vectors[] = {{.row = 2, .column = 2},
	                                                   {.row = 1, .column = 3}};
	struct wave_space space = {.rows = 8, .columns = 24, .nvectors = 2, .vectors = vectors};
	struct wave_band first = {0, 4, 4}, second = {4, 4, 4};

	assert_int_equal(wave_band_tiles(&space, &first), 6);
	/* Subchunk 7 requires data from subchunk 1, subchunk 9 from 2 and 3. */
	assert_int_equal(wave_tile_needs(&space, &second, 0, 0, &first), 1);
	assert_int_equal(wave_tile_needs(&space, &second, 0, 2, &first), 3);
	assert_int_equal(wave_tile_needs(&space, &first, 0, 2, &second), 0);
}

/* ---- random spaces ---- */

struct trial {
	struct heddle_dependence vectors[MAXVECTORS];
	struct wave_space space;
	size_t sweeps;
	struct wave_band bands[MAXBANDS];
	size_t nbands;
};

static int between(unsigned *seed, int least, int most)
{
	return least + rand_r(seed) % (most - least + 1);
}

static struct heddle_dependence random_vector(unsigned *seed)
{
	struct heddle_dependence v = {.sweep = between(seed, 0, 2)};

	if (v.sweep == 2 && between(seed, 0, 1))
		v.sweep = 0;
	v.row = v.sweep ? between(seed, -2, 2) : between(seed, 0, 3);
	v.column = v.sweep || v.row ? between(seed, -4, 4) : between(seed, 1, 4);
	return v;
}

static void trial_make(struct trial *trial, unsigned *seed)
{
	struct wave_space *space = &trial->space;
	size_t minimum;

	*space = (struct wave_space){.rows = between(seed, 1, MAXSIDE),
	                             .columns = between(seed, 1, MAXSIDE),
	                             .nvectors = between(seed, 0, MAXVECTORS),
	                             .vectors = trial->vectors};
	for (unsigned i = 0; i < space->nvectors; i++)
		trial->vectors[i] = random_vector(seed);
	assert_int_equal(heddle_dependences_check(trial->vectors, space->nvectors), 0);
	space->skew = wave_vectors_skew(trial->vectors, space->nvectors);
	trial->sweeps = between(seed, 1, MAXSWEEPS);
	minimum = wave_vectors_minimum_rows(trial->vectors, space->nvectors);
	trial->nbands = 0;
	for (size_t row = 0; row < space->rows;) {
		struct wave_band *band = &trial->bands[trial->nbands++];

		*band =
		    (struct wave_band){row, minimum + between(seed, 0, 8), between(seed, 1, 15)};
		if (band->rows > space->rows - row)
			band->rows = space->rows - row;
		row += band->rows;
	}
}

static const struct wave_band *band_of(const struct trial *trial, size_t row, size_t *b)
{
	for (*b = 0; *b < trial->nbands; ++*b)
		if (row < trial->bands[*b].first + trial->bands[*b].rows)
			return &trial->bands[*b];
	fail_msg("row %zu is in no band", row);
	return NULL;
}

/* A column that is read of a neighbour must be in the messages a tile waits for. */
static void check_arrival(const struct trial *trial, size_t sweep, size_t b, size_t tile,
                          const struct heddle_dependence *v, const struct wave_band *source,
                          size_t column)
{
	const struct wave_space *space = &trial->space;
	struct wave_reach reach = wave_vectors_reach(space->vectors, space->nvectors);
	const struct wave_band *band = &trial->bands[b];
	size_t needs = wave_tile_needs_messages(space, band, sweep, tile, source);
	size_t before = (sweep - v->sweep) * wave_band_tiles(space, source);
	size_t row = wave_message_row(source, reach.below, v->row > 0);

	assert_true(needs >= wave_tile_needs(space, band, sweep, tile, source));
	assert_true(needs > before);
	if (needs < before + wave_band_tiles(space, source))
		assert_true(wave_tile_columns(space, source, needs - before - 1, row).end > column);
}

/* What a tile needs of the bands beside it, found iteration by iteration: tiles of
 * the band before and after. */
static void needs_by_force(const struct trial *trial, size_t sweep, size_t b, size_t tile,
                           size_t needs[2])
{
	const struct wave_space *space = &trial->space;
	const struct wave_band *band = &trial->bands[b];

	memset(needs, 0, 2 * sizeof(*needs));
	for (size_t r = 0; r < band->rows; r++) {
		struct wave_columns columns = wave_tile_columns(space, band, tile, r);

		for (size_t c = columns.begin; c < columns.end; c++)
			for (unsigned i = 0; i < space->nvectors; i++) {
				const struct heddle_dependence *v = &space->vectors[i];
				long row = (long)(band->first + r) - v->row,
				     column = (long)c - v->column;
				size_t other, side, done;
				const struct wave_band *source;

				if (row < 0 || row >= (long)space->rows || column < 0 ||
				    column >= (long)space->columns)
					continue;
				source = band_of(trial, row, &other);
				if (other == b)
					continue;
				assert_true(other + 1 == b || other == b + 1);
				side = other > b;
				if ((size_t)v->sweep <= sweep)
					check_arrival(trial, sweep, b, tile, v, source, column);
				if ((size_t)v->sweep > sweep)
					continue;
				done =
				    (sweep - v->sweep) * wave_band_tiles(space, source) +
				    wave_tile_of(source, space->skew, row - source->first, column) +
				    1;
				if (done > needs[side])
					needs[side] = done;
			}
	}
}

static void check_needs(const struct trial *trial)
{
	for (size_t b = 0; b < trial->nbands; b++)
		for (size_t s = 0; s < trial->sweeps; s++)
			for (size_t t = 0; t < wave_band_tiles(&trial->space, &trial->bands[b]);
			     t++) {
				size_t needs[2];

				needs_by_force(trial, s, b, t, needs);
				for (int side = 0; side < 2; side++) {
					size_t other = side ? b + 1 : b - 1;

					if (other >= trial->nbands)
						continue;
					assert_int_equal(wave_tile_needs(&trial->space,
					                                 &trial->bands[b], s, t,
					                                 &trial->bands[other]),
					                 needs[side]);
				}
			}
}

/* Whether the band's next tile may run. */
static bool is_ready(const struct trial *trial, const size_t *done, size_t b)
{
	const struct wave_space *space = &trial->space;
	const struct wave_band *band = &trial->bands[b];
	size_t tiles = wave_band_tiles(space, band), sweep = done[b] / tiles,
	       tile = done[b] % tiles;

	if (sweep == trial->sweeps)
		return false;
	if (b && done[b - 1] < wave_tile_needs(space, band, sweep, tile, band - 1))
		return false;
	return b + 1 == trial->nbands ||
	       done[b + 1] >= wave_tile_needs(space, band, sweep, tile, band + 1);
}

/* Iterations of a tile in the loop's order; each must find done what it needs. */
static void tile_run(const struct trial *trial, size_t b, size_t sweep, size_t tile,
                     unsigned char finished[MAXSIDE][MAXSIDE])
{
	const struct wave_space *space = &trial->space;
	const struct wave_band *band = &trial->bands[b];
	struct wave_tile_size size = wave_tile_size(space, band, tile);
	size_t rows = 0, iterations = 0;

	for (size_t r = 0; r < band->rows; r++) {
		struct wave_columns columns = wave_tile_columns(space, band, tile, r);

		rows += columns.begin < columns.end;
		iterations += columns.end - columns.begin;
		for (size_t c = columns.begin; c < columns.end; c++) {
			for (unsigned i = 0; i < space->nvectors; i++) {
				const struct heddle_dependence *v = &space->vectors[i];
				long row = (long)(band->first + r) - v->row,
				     column = (long)c - v->column;

				if (row < 0 || row >= (long)space->rows || column < 0 ||
				    column >= (long)space->columns || (size_t)v->sweep > sweep)
					continue;
				assert_true(finished[row][column] > sweep - v->sweep);
			}
			assert_int_equal(finished[band->first + r][c]++, sweep);
		}
	}
	assert_int_equal(size.rows, rows);
	assert_true(size.iterations == iterations);
}

/* Where tiles of all bands are as long, none needs more of the band above than the tile over
 * it, and whole ones that need what is right above them need that. */
static void check_above(const struct trial *trial)
{
	const struct wave_space *space = &trial->space;
	bool above = false;

	for (unsigned i = 0; i < space->nvectors; i++)
		above = above || (trial->vectors[i].row == 1 && !trial->vectors[i].sweep &&
		                  trial->vectors[i].column == -(long)space->skew);
	for (size_t b = 1; b < trial->nbands; b++) {
		struct wave_band band = trial->bands[b], other = trial->bands[b - 1];

		band.tile_columns = other.tile_columns;
		for (size_t t = 0; t < wave_band_tiles(space, &band); t++) {
			size_t most = wave_tile_above(space, &band, t, &other);
			size_t needs = wave_tile_needs(space, &band, 0, t, &other);

			assert_true(needs <= most && most <= wave_band_tiles(space, &other));
			/* At the right end what is right above lies outside. */
			if (above &&
			    wave_tile_size(space, &band, t).iterations ==
			        (double)band.rows * band.tile_columns &&
			    wave_tile_columns(space, &band, t, 0).end + space->skew <=
			        space->columns)
				assert_int_equal(needs, most);
		}
	}
}

/* Some rows of a band, in tiles of another length: those that are covered have all iterations in
 * tiles of the band that are done, and in the end all are covered. */
static void check_covers(const struct trial *trial, unsigned *seed)
{
	const struct wave_space *space = &trial->space;
	const struct wave_band *band = &trial->bands[rand_r(seed) % trial->nbands];
	size_t skip = rand_r(seed) % band->rows, tiles = wave_band_tiles(space, band), last = 0;
	struct wave_band part = {band->first + skip, 1 + rand_r(seed) % (band->rows - skip),
	                         1 + rand_r(seed) % MAXSIDE};
	size_t parts = wave_band_tiles(space, &part);

	for (size_t done = 0; done <= tiles * trial->sweeps; done++) {
		size_t covered = wave_band_covers(space, band, done, &part);

		assert_true(covered >= last);
		for (; last < covered; last++)
			for (size_t r = 0; r < part.rows; r++) {
				struct wave_columns columns =
				    wave_tile_columns(space, &part, last % parts, r);

				if (columns.begin < columns.end)
					assert_true(wave_tile_of(band, space->skew, skip + r,
					                         columns.end - 1) +
					                last / parts * tiles <
					            done);
			}
	}
	assert_int_equal(last, parts * trial->sweeps);
}

/* Runs ready tiles in a random order until none is left. */
static void check_order(const struct trial *trial, unsigned *seed)
{
	unsigned char finished[MAXSIDE][MAXSIDE] = {{0}};
	size_t done[MAXBANDS] = {0};

	for (;;) {
		size_t ready[MAXBANDS], nready = 0, b, tiles;

		for (b = 0; b < trial->nbands; b++)
			if (is_ready(trial, done, b))
				ready[nready++] = b;
		if (!nready)
			break;
		b = ready[rand_r(seed) % nready];
		tiles = wave_band_tiles(&trial->space, &trial->bands[b]);
		tile_run(trial, b, done[b] / tiles, done[b] % tiles, finished);
		done[b]++;
	}
	for (size_t row = 0; row < trial->space.rows; row++)
		for (size_t column = 0; column < trial->space.columns; column++)
			assert_int_equal(finished[row][column], trial->sweeps);
}

static void test_random_spaces(void **state)
{
	unsigned seed = test_seed();

	for (int round = 0; round < ROUNDS; round++) {
		struct trial trial;

		trial_make(&trial, &seed);
		check_needs(&trial);
		check_above(&trial);
		check_covers(&trial, &seed);
		check_order(&trial, &seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_skew),
	    cmocka_unit_test(test_toy_of_the_paper),
	    cmocka_unit_test(test_random_spaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
