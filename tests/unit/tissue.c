/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * NBIA's parts that know no StarPU: made slides, tiles of images, the classifier.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/common/random.h"
#include "apps/nbia/classifier.h"
#include "apps/nbia/slide.h"
#include "apps/nbia/tissue.h"
#include "tests/unit/test.h"

static nbia_u32 table[NBIA_TABLE_ENTRIES];
static unsigned seed;

static double uniform(double from, double to)
{
	return from + (to - from) * rand() / RAND_MAX;
}

/* Quantiles of Student's distribution as printed in every table. */
static void test_student(void **state)
{
	static const struct {
		double freedom, t, tail;
	} known[] = {{1, 6.313752, 0.05},   {5, 2.015048, 0.05},   {10, 2.763769, 0.01},
	             {30, 3.385185, 0.001}, {100, 1.660234, 0.05}, {2, 9.924843, 0.005}};

	for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++) {
		assert_true(fabs(classifier_student(known[k].t, known[k].freedom) - known[k].tail) <
		            1e-6);
		assert_true(fabs(classifier_student(-known[k].t, known[k].freedom) + known[k].tail -
		                 1) < 1e-6);
	}
	assert_true(classifier_student(0, 7) == 0.5);
	assert_true(classifier_student(1e6, 50) >= 0 && classifier_student(1e6, 50) < 1e-100);
	assert_true(classifier_student(INFINITY, 50) == 0);
}

#define SAMPLES 90

/* Classes that lie apart by `distance` deviations in feature 3, and not in others. */
static void make_samples(double distance, double features[SAMPLES][NBIA_FEATURES],
                         enum tissue labels[SAMPLES])
{
	for (int s = 0; s < SAMPLES; s++) {
		labels[s] = s % TISSUES;
		for (int f = 0; f < NBIA_FEATURES; f++)
			features[s][f] = uniform(-1.73, 1.73) + (f == 3 ? distance * labels[s] : 0);
		features[s][7] = 42; /* says nothing at all */
	}
}

static void test_classifier(void **state)
{
	enum { DRAWS = 30 };
	static double features[SAMPLES][NBIA_FEATURES];
	enum tissue labels[SAMPLES];
	struct classifier classifier;
	struct classifier_verdict verdict;
	unsigned wrong = 0;

	make_samples(20, features, labels);
	assert_int_equal(classifier_train(SAMPLES, (const double(*)[NBIA_FEATURES])features, labels,
	                                  &classifier),
	                 0);
	make_samples(20, features, labels);
	for (int s = 0; s < SAMPLES; s++) {
		classifier_decide(&classifier, features[s], &verdict);
		wrong += verdict.label != labels[s];
		assert_true(verdict.confidence >= 0.99 && verdict.confidence <= 1);
	}
	assert_int_equal(wrong, 0);
	/* Classes that overlap are rarely told apart with confidence: by some classifiers more
	 * often, since they saw few samples. */
	for (int draw = 0; draw < DRAWS; draw++) {
		make_samples(1, features, labels);
		assert_int_equal(classifier_train(SAMPLES, (const double(*)[NBIA_FEATURES])features,
		                                  labels, &classifier),
		                 0);
		make_samples(1, features, labels);
		for (int s = 0; s < SAMPLES; s++) {
			classifier_decide(&classifier, features[s], &verdict);
			wrong += verdict.confidence > 0.99;
		}
	}
	assert_true(wrong < DRAWS * SAMPLES / 20);
	labels[0] = labels[3];
	assert_int_equal(
	    classifier_train(2, (const double(*)[NBIA_FEATURES])features, labels, &classifier),
	    -EDOM);
}

/* A tile is the same whenever it is made, and other tiles and seeds are others. */
static void test_tiles(void **state)
{
	unsigned char a[3 * 64 * 64], b[3 * 64 * 64];

	for (int tissue = 0; tissue < TISSUES; tissue++) {
		tissue_tile(5, tissue, 1000, 7, 256, 64, a);
		tissue_tile(5, tissue, 1000, 7, 256, 64, b);
		assert_memory_equal(a, b, sizeof(a));
		tissue_tile(5, tissue, 7, 1000, 256, 64, b);
		assert_memory_not_equal(a, b, sizeof(a));
		tissue_tile(6, tissue, 1000, 7, 256, 64, b);
		assert_memory_not_equal(a, b, sizeof(a));
	}
}

/* Every kind of tissue occurs on a slide, in regions. */
static void test_regions(void **state)
{
	unsigned counts[TISSUES] = {0}, changes = 0;

	for (size_t row = 0; row < 100; row++)
		for (size_t column = 0; column < 100; column++) {
			counts[tissue_at(seed, column, row)]++;
			changes += tissue_at(seed, column, row) != tissue_at(seed, column + 1, row);
		}
	for (int tissue = 0; tissue < TISSUES; tissue++)
		assert_true(counts[tissue] > 500);
	assert_true(changes < 3500);
}

static struct slide picture(size_t width, size_t height, unsigned channels)
{
	struct slide slide = {
	    .width = width,
	    .height = height,
	    .image = {width, height, channels, malloc(width * height * channels)}};

	assert_non_null(slide.image.pixels);
	for (size_t i = 0; i < width * height * channels; i++)
		slide.image.pixels[i] = rand() >> 7;
	return slide;
}

/* Means of squares of pixels; beyond the borders the last pixels go on. */
static void check_tile(const struct slide *slide, size_t column, size_t row, size_t side,
                       size_t resolution)
{
	unsigned char *rgb = malloc(3 * resolution * resolution);
	size_t pixel = side / resolution, channels = slide->image.channels;

	assert_non_null(rgb);
	assert_int_equal(slide_read(slide, column, row, side, resolution, rgb), 0);
	for (size_t i = 0; i < 3 * resolution * resolution; i++) {
		size_t c = channels == 3 ? i % 3 : 0;
		size_t x = column * side + i / 3 % resolution * pixel;
		size_t y = row * side + i / 3 / resolution * pixel, sum = 0, count = 0;

		if (x > slide->width - 1)
			x = slide->width - 1;
		if (y > slide->height - 1)
			y = slide->height - 1;
		for (size_t v = y; v < y + pixel && v < slide->height; v++)
			for (size_t u = x; u < x + pixel && u < slide->width; u++, count++)
				sum += slide->image.pixels[(v * slide->width + u) * channels + c];
		assert_int_equal(rgb[i], (sum + count / 2) / count);
	}
	free(rgb);
}

static void test_tiles_of_images(void **state)
{
	for (unsigned channels = 1; channels <= 3; channels += 2) {
		struct slide slide = picture(101, 70, channels);

		for (size_t resolution = 4; resolution <= 64; resolution *= 2)
			for (size_t row = 0; row < 2; row++)
				for (size_t column = 0; column < 2; column++)
					check_tile(&slide, column, row, 64, resolution);
		slide_close(&slide);
	}
}

/* Features of made tiles tell what they show, better at higher resolutions. */
static void test_resolutions(void **state)
{
	enum { TILES = 120, SIDE = 256 };
	static double features[TILES][NBIA_FEATURES];
	static unsigned char rgb[3 * SIDE * SIDE];
	enum tissue labels[TILES];
	double apart[2];

	for (int round = 0; round < 2; round++) {
		size_t resolution = round ? SIDE : 16;
		struct classifier classifier;
		struct nbia_summary summary;

		for (int t = 0; t < TILES; t++) {
			labels[t] = t % TISSUES;
			tissue_tile(seed, labels[t], t, 3, SIDE, resolution, rgb);
			nbia_cpu(codelet_isa_best(), table, resolution, 3 * resolution, rgb,
			         &summary);
			nbia_features(&summary, features[t]);
		}
		assert_int_equal(classifier_train(TILES, (const double(*)[NBIA_FEATURES])features,
		                                  labels, &classifier),
		                 0);
		/* The last pair is that of the two kinds of stroma. */
		apart[round] = fabs(classifier.pairs[CLASSIFIER_PAIRS - 1].means[0] -
		                    classifier.pairs[CLASSIFIER_PAIRS - 1].means[1]) /
		               classifier.pairs[CLASSIFIER_PAIRS - 1].deviation;
	}
	print_message("deviations apart: %.1f, %.1f\n", apart[0], apart[1]);
	assert_true(apart[1] > apart[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_student),         cmocka_unit_test(test_classifier),
	    cmocka_unit_test(test_tiles),           cmocka_unit_test(test_regions),
	    cmocka_unit_test(test_tiles_of_images), cmocka_unit_test(test_resolutions),
	};

	seed = test_seed();
	srand(seed);
	nbia_tables(table);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
