/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Features of tiles: every instruction set's version against the plain reference, and the
 * numbers themselves against the definitions in double precision.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/nbia/nbia.h"
#include "tests/unit/test.h"

static nbia_u32 table[NBIA_TABLE_ENTRIES];

static double error_of(double got, double right)
{
	return fabs(got - right);
}

/* All greys and a grid over all colours: the fixed point is within the width of a
 * quantity's rounding of the CIE's formulas. */
static void test_colours(void **state)
{
	double worst_light = 0, worst_level = 0;

	for (unsigned n = 0; n < 64 * 64 * 64; n++) {
		unsigned char rgb[3] = {(n & 63) * 255 / 63, (n >> 6 & 63) * 255 / 63,
		                        (n >> 12) * 255 / 63};
		nbia_u32 pixel = nbia_pixel(table, rgb[0], rgb[1], rgb[2]);
		double lab[3];

		nbia_lab_reference(rgb, lab);
		worst_light = fmax(worst_light, error_of(pixel & 0xff, lab[0] * 2.55));
		for (int c = 1; c < 3; c++) {
			double place = fmin(fmax((lab[c] + 64) / 8, 0), 15.999);
			double level = pixel >> (4 + 4 * c) & 15;

			/* How far outside of its level the exact value lies. */
			worst_level = fmax(worst_level, fmax(level - place, place - level - 1));
		}
	}
	print_message("lightness: error %.3f of 255; a*, b*: %.3f levels\n", worst_light,
	              worst_level);
	assert_true(worst_light < 1.2);
	assert_true(worst_level < 0.1);
}

/* Textbook values: white, black, and sRGB's red (53.24, 80.09, 67.20). */
static void test_known_colours(void **state)
{
	static const unsigned char red[3] = {255, 0, 0}, white[3] = {255, 255, 255};
	double lab[3];

	nbia_lab_reference(red, lab);
	assert_true(error_of(lab[0], 53.24) < 0.01 && error_of(lab[1], 80.09) < 0.01 &&
	            error_of(lab[2], 67.20) < 0.01);
	nbia_lab_reference(white, lab);
	assert_true(error_of(lab[0], 100) < 1e-9 && fabs(lab[1]) < 1e-9 && fabs(lab[2]) < 1e-9);
	assert_int_equal(nbia_pixel(table, 255, 255, 255), 255 | 8 << 8 | 8 << 12);
	assert_int_equal(nbia_pixel(table, 0, 0, 0), 0 | 8 << 8 | 8 << 12);
}

static void test_log2(void **state)
{
	double worst = 0;

	for (int k = 0; k < 32; k++)
		assert_int_equal(nbia_log2((nbia_u32)1 << k), k << 16);
	for (nbia_u32 n = 1; n < 100000; n++)
		worst = fmax(worst, error_of(nbia_log2(n) / 65536.0, log2(n)));
	for (nbia_u32 n = 100000; n < 0xfff00000; n += n / 1000)
		worst = fmax(worst, error_of(nbia_log2(n) / 65536.0, log2(n)));
	assert_true(worst < 8e-5);
}

static unsigned char *random_tile(size_t size, size_t stride, int spread)
{
	unsigned char *rgb = malloc(size * stride);

	assert_non_null(rgb);
	for (size_t i = 0; i < size * stride; i++)
		rgb[i] = 90 + rand() / 7 % spread;
	return rgb;
}

static void compare(size_t size, size_t shift, int spread)
{
	size_t stride = 3 * size + shift;
	unsigned char *rgb = random_tile(size, stride, spread);
	struct nbia_summary right, got;

	nbia_reference(table, size, stride, rgb, NULL, &right);
	for (int isa = 0; isa < CODELET_NISAS; isa++) {
		if (!codelet_isa_supported(isa))
			continue;
		memset(&got, 0x55, sizeof(got));
		nbia_cpu(isa, table, size, stride, rgb, &got);
		assert_memory_equal(&got, &right, sizeof(got));
	}
	free(rgb);
}

static void test_versions_agree(void **state)
{
	static const size_t sizes[] = {4, 5, 7, 8, 9, 16, 31, 32, 33, 63, 64, 65, 100, 129};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
		for (size_t shift = 0; shift < 6; shift += 5) {
			compare(sizes[s], shift, 160);
			compare(sizes[s], shift, 3);
			compare(sizes[s], shift, 1);
		}
}

/* The largest tile there is, of one colour: all pairs are equal, all patterns full. */
static void test_largest(void **state)
{
	const size_t n = NBIA_LARGEST, pairs = 2 * n * (n - 1) + 2 * (n - 1) * (n - 1);
	unsigned char *rgb = random_tile(n, 3 * n, 1);

	for (int isa = 0; isa < CODELET_NISAS; isa++) {
		struct nbia_summary summary;

		if (!codelet_isa_supported(isa))
			continue;
		nbia_cpu(isa, table, n, 3 * n, rgb, &summary);
		for (int c = 0; c < NBIA_CHANNELS; c++) {
			assert_int_equal(summary.channels[c].difference[0], pairs);
			assert_true(summary.channels[c].squares == (nbia_u64)4 * pairs * pairs);
		}
		assert_int_equal(summary.patterns[8], (n - 2) * (n - 2));
	}
	free(rgb);
}

/* Haralick's statistics as the definitions have them, from normalised probabilities. */
static void haralick(const nbia_u32 *matrix, double *f)
{
	double p[NBIA_LEVELS][NBIA_LEVELS], total = 0;

	memset(f, 0, NBIA_STATISTICS * sizeof(*f));
	for (int i = 0; i < NBIA_CELLS; i++)
		total += 2.0 * matrix[i];
	for (int i = 0; i < NBIA_LEVELS; i++)
		for (int j = 0; j < NBIA_LEVELS; j++) {
			p[i][j] =
			    (matrix[i * NBIA_LEVELS + j] + matrix[j * NBIA_LEVELS + i]) / total;
			f[NBIA_MEAN] += i * p[i][j];
			f[NBIA_CONTRAST] += (i - j) * (i - j) * p[i][j];
			f[NBIA_ENERGY] += p[i][j] * p[i][j];
			f[NBIA_HOMOGENEITY] += p[i][j] / (1 + (i - j) * (i - j));
			f[NBIA_ENTROPY] -= p[i][j] > 0 ? p[i][j] * log2(p[i][j]) : 0;
		}
	for (int i = 0; i < NBIA_LEVELS; i++)
		for (int j = 0; j < NBIA_LEVELS; j++) {
			double x = i - f[NBIA_MEAN], y = j - f[NBIA_MEAN];

			f[NBIA_VARIANCE] += x * x * p[i][j];
			f[NBIA_CORRELATION] += x * y * p[i][j];
		}
	f[NBIA_CORRELATION] = f[NBIA_VARIANCE] > 1e-9 ? f[NBIA_CORRELATION] / f[NBIA_VARIANCE] : 0;
}

static void test_features(void **state)
{
	nbia_u32 counters[NBIA_COUNTERS];
	double features[NBIA_FEATURES], right[NBIA_STATISTICS], groups = 0;
	struct nbia_summary summary;

	for (int spread = 1; spread < 166; spread += 20) {
		unsigned char *rgb = random_tile(60, 180, spread);

		nbia_reference(table, 60, 180, rgb, counters, &summary);
		nbia_features(&summary, features);
		for (int c = 0; c < NBIA_CHANNELS; c++) {
			haralick(counters + c * NBIA_CELLS, right);
			for (int s = 0; s < NBIA_STATISTICS; s++)
				assert_true(error_of(features[c * NBIA_STATISTICS + s], right[s]) <
				            1e-4);
		}
		groups = 0;
		for (int g = 0; g < NBIA_GROUPS; g++)
			groups += features[NBIA_CHANNELS * NBIA_STATISTICS + g];
		assert_true(error_of(groups, 1) < 1e-12);
		free(rgb);
	}
}

/* A tile made by hand: vertical stripes of black and white, one pixel each. Of its pairs
 * those down the columns are equal, all others differ by the 15 levels of L*. */
static void test_stripes(void **state)
{
	enum { SIZE = 8 };
	unsigned char rgb[SIZE][SIZE][3];
	double features[NBIA_FEATURES], *light = features, *green = features + NBIA_STATISTICS;
	double equal = SIZE * (SIZE - 1), pairs = 2 * equal + 2 * (SIZE - 1) * (SIZE - 1);
	struct nbia_summary summary;

	for (int y = 0; y < SIZE; y++)
		for (int x = 0; x < SIZE; x++)
			memset(rgb[y][x], x & 1 ? 255 : 0, 3);
	nbia_cpu(codelet_isa_best(), table, SIZE, sizeof(rgb[0]), rgb[0][0], &summary);
	nbia_features(&summary, features);
	assert_int_equal(summary.channels[0].difference[0], equal);
	assert_int_equal(summary.channels[0].difference[15], pairs - equal);
	assert_true(error_of(light[NBIA_CONTRAST], 225 * (pairs - equal) / pairs) < 1e-9);
	assert_true(error_of(light[NBIA_MEAN], 7.5) < 1e-9);
	assert_true(light[NBIA_CORRELATION] < -0.4);
	assert_true(error_of(green[NBIA_MEAN], 8) < 1e-12);
	assert_true(error_of(green[NBIA_ENERGY], 1) < 1e-12);
	assert_true(green[NBIA_ENTROPY] < 1e-4 && green[NBIA_CORRELATION] == 0);
	/* A white pixel has two equal neighbours, above and below: four changes around the
	 * circle, the last group. A black one has all bits. */
	assert_int_equal(summary.patterns[8], (SIZE - 2) * (SIZE - 2) / 2);
	assert_int_equal(summary.patterns[9], (SIZE - 2) * (SIZE - 2) / 2);
}

/* Groups do not change when a pattern is turned; 58 of 256 are uniform. */
static void test_groups(void **state)
{
	unsigned uniform = 0;

	for (nbia_u32 pattern = 0; pattern < NBIA_PATTERNS; pattern++) {
		nbia_u32 turned = (pattern << 1 | pattern >> 7) & 0xff;

		assert_int_equal(nbia_group(pattern), nbia_group(turned));
		uniform += nbia_group(pattern) < NBIA_GROUPS - 1;
	}
	assert_int_equal(uniform, 58);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_colours),  cmocka_unit_test(test_known_colours),
	    cmocka_unit_test(test_log2),     cmocka_unit_test(test_versions_agree),
	    cmocka_unit_test(test_features), cmocka_unit_test(test_stripes),
	    cmocka_unit_test(test_groups),   cmocka_unit_test(test_largest),
	};
	unsigned seed = test_seed();

	srand(seed);
	nbia_tables(table);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
