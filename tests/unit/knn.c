/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nearest neighbours, robust times, and what a codelet's history predicts.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estimator/history.h"
#include "estimator/surface.h"
#include "estimator/range.h"
#include "estimator/robust.h"
#include "tests/unit/test.h"

static void near_enough(double a, double b)
{
	assert_true(fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)));
}

/* Section 4 of the paper: numbers over the dimension's highest, words 0 or 1. */
static void test_distance(void **state)
{
	static const struct heddle_knn_dimension dimensions[] = {
	    {.highest = 100}, {.highest = 4}, {.categorical = true}};
	double a[] = {100, 4, 0}, b[] = {70, 4, 0}, c[] = {70, 2, 1}, d[] = {NAN, 2, 1};

	near_enough(heddle_knn_distance(dimensions, 3, a, a), 0);
	near_enough(heddle_knn_distance(dimensions, 3, a, b), 0.3);
	near_enough(heddle_knn_distance(dimensions, 3, a, c), sqrt(0.09 + 0.25 + 1));
	near_enough(heddle_knn_distance(dimensions, 3, c, d), 1);
	near_enough(heddle_knn_distance(dimensions, 3, d, d), 0);
}

/* The k nearest are those that sorting all distances gives, the first of equals. */
static void test_nearest(void **state)
{
	unsigned seed = 20100621;

	print_message("seed %u\n", seed);
	srand(seed);
	for (int round = 0; round < 200; round++) {
		struct heddle_knn knn = {.k = 1 + rand() % HEDDLE_KNN_MAXK};
		unsigned n = rand() % 40;
		double distances[40];

		for (unsigned p = 0; p < n; p++) {
			distances[p] = rand() % 12;
			heddle_knn_consider(&knn, p, distances[p]);
		}
		assert_int_equal(knn.found, n < knn.k ? n : knn.k);
		for (unsigned i = 0; i < knn.found; i++) {
			unsigned best = 0;

			for (unsigned p = 1; p < n; p++)
				if (distances[p] < distances[best])
					best = p;
			assert_int_equal(knn.nearest[i].point, best);
			distances[best] = INFINITY;
		}
	}
}

static double believed(const char *times)
{
	struct heddle_robust robust = {0};
	int used;

	for (double us; sscanf(times, "%lf%n", &us, &used) == 1; times += used)
		heddle_robust_add(&robust, us);
	return heddle_robust_us(&robust);
}

static void test_robust(void **state)
{
	near_enough(believed(""), 0);
	near_enough(believed("7"), 7);
	near_enough(believed("3500 7"), 7);
	near_enough(believed("7 3500"), 7);
	near_enough(believed("7 8 3500"), 8);
	near_enough(believed("7 7 7 7 7 7 7 7 3500 7"), 7);
	near_enough(believed("nan inf -1 0 5"), 5);
	/* Lasting changes are believed at the fourth. */
	near_enough(believed("7 7 7 7 7 7 7 7 7 7 70 70 70"), 7);
	near_enough(believed("7 7 7 7 7 7 7 7 7 7 70 70 70 70"), 70);
}

/* The count of what was ever measured goes around; what is believed does not notice. */
static void test_robust_for_years(void **state)
{
	struct heddle_robust robust = {0};

	for (unsigned i = 0; i < HEDDLE_ROBUST_RECENT; i++)
		heddle_robust_add(&robust, 7);
	robust.count = UINT_MAX - 3;
	for (unsigned i = 0; i < 20; i++) {
		heddle_robust_add(&robust, 8);
		near_enough(heddle_robust_us(&robust), i < 3 ? 7 : 8);
	}
}

/* Wherever a spike of 500 times falls, from the second measurement on the belief
 * stays among what was measured without it. */
static void test_spike(void **state)
{
	for (unsigned at = 0; at < 20; at++) {
		struct heddle_robust robust = {0};

		for (unsigned i = 0; i < 20; i++) {
			double us = 100 + (i * 7) % 10;

			heddle_robust_add(&robust, i == at ? 500 * us : us);
			if (i >= 1)
				assert_in_range(heddle_robust_us(&robust), 100, 110);
		}
	}
}

static void test_names(void **state)
{
	struct heddle_history h = {0};
	char name[8];
	unsigned d;
	double w;

	assert_int_equal(heddle_history_dimension(&h, "size", false, &d), 0);
	assert_int_equal(d, 0);
	assert_int_equal(heddle_history_dimension(&h, "kind", true, &d), 0);
	assert_int_equal(d, 1);
	assert_int_equal(heddle_history_dimension(&h, "size", false, &d), 0);
	assert_int_equal(d, 0);
	assert_int_equal(heddle_history_dimension(&h, "size", true, &d), -EINVAL);
	assert_int_equal(heddle_history_dimension(&h, "", false, &d), -EINVAL);
	assert_int_equal(heddle_history_dimension(&h, "1st", false, &d), -EINVAL);
	assert_int_equal(heddle_history_dimension(&h, "a b", false, &d), -EINVAL);
	assert_int_equal(heddle_history_dimension(&h, "a=b", false, &d), -EINVAL);
	for (int i = 2; i < HEDDLE_HISTORY_DIMENSIONS; i++) {
		snprintf(name, sizeof(name), "d%d", i);
		assert_int_equal(heddle_history_dimension(&h, name, false, &d), 0);
	}
	assert_int_equal(heddle_history_dimension(&h, "more", false, &d), -ENOSPC);
	assert_int_equal(heddle_history_word(&h, "red", &w), 0);
	near_enough(w, 0);
	assert_int_equal(heddle_history_word(&h, "green", &w), 0);
	near_enough(w, 1);
	assert_int_equal(heddle_history_word(&h, "red", &w), 0);
	near_enough(w, 0);
	assert_int_equal(heddle_history_word(&h, "", &w), -EINVAL);
	heddle_history_free(&h);
}

/* Adds a point of one dimension with times on two classes, 0: none. */
static size_t point(struct heddle_history *h, double size, double cpu, double gpu)
{
	double values[HEDDLE_HISTORY_DIMENSIONS] = {size};
	unsigned d;
	size_t p;

	assert_int_equal(heddle_history_dimension(h, "size", false, &d), 0);
	assert_int_equal(heddle_history_add(h, values, &p), 0);
	heddle_history_set(h, p, 0, cpu);
	heddle_history_set(h, p, 1, gpu);
	return p;
}

static void expect(const struct heddle_history *h, double size, double cpu, double gpu,
                   double want_cpu, double want_gpu)
{
	double values[HEDDLE_HISTORY_DIMENSIONS] = {size};
	double us[HEDDLE_HISTORY_CLASSES] = {cpu, gpu};

	heddle_history_predict(h, values, HEDDLE_HISTORY_PUBLISHED, SIZE_MAX, us);
	near_enough(us[0], want_cpu);
	near_enough(us[1], want_gpu);
}

static void test_predict(void **state)
{
	struct heddle_history h = {0};

	expect(&h, 5, 0, 0, 0, 0);
	expect(&h, 5, 3, 0, 3, 0);
	point(&h, 100, 1000, 100);
	expect(&h, 90, 0, 0, 1000, 100);
	expect(&h, 10, 60, 0, 60, 6);
	expect(&h, 10, 0, 6, 60, 6);
	point(&h, 10, 50, 40);
	point(&h, 20, 110, 50);
	/* As published: averages of the two nearest on each class. */
	expect(&h, 14, 0, 0, 80, 45);
	expect(&h, 14, 70, 0, 70, 70 * 45 / 80.);
	/* A point with one class alone says nothing of relative speed, but of times. */
	point(&h, 14, 0, 4000);
	expect(&h, 14, 0, 0, 2020 * 80 / 45., 2020);
	expect(&h, 14, 70, 0, 70, 70 * 45 / 80.);
	heddle_history_free(&h);
	/* No point in common: each class by itself. */
	point(&h, 10, 50, 0);
	point(&h, 100, 0, 30);
	expect(&h, 10, 0, 0, 50, 30);
	expect(&h, 90, 0, 25, 50, 25);
	heddle_history_free(&h);
}

/* Who is predicted from the others is not among them. */
static void test_leave_out(void **state)
{
	struct heddle_history h = {0};
	double values[HEDDLE_HISTORY_DIMENSIONS] = {20};
	size_t left_out;

	point(&h, 10, 50, 5);
	left_out = point(&h, 20, 900, 9);
	point(&h, 30, 150, 15);
	for (unsigned fit = 0; fit < 2; fit++) {
		double us[HEDDLE_HISTORY_CLASSES] = {0};

		heddle_history_predict(
		    &h, values, fit ? HEDDLE_HISTORY_FIT : HEDDLE_HISTORY_PUBLISHED, left_out, us);
		assert_true(us[0] > 50 && us[0] < 150);
		assert_true(fabs(us[0] / us[1] - 10) < 1e-6);
	}
	heddle_history_free(&h);
}

/* A class of which little is known does not spoil what is known of others. */
static void test_third_class(void **state)
{
	struct heddle_history h = {0};
	double values[HEDDLE_HISTORY_DIMENSIONS] = {12}, us[HEDDLE_HISTORY_CLASSES] = {0};

	for (int size = 10; size <= 100; size += 10)
		point(&h, size, 100 * size, 10 * size);
	heddle_history_set(&h, 9, 2, 500);
	heddle_history_predict(&h, values, HEDDLE_HISTORY_PUBLISHED, SIZE_MAX, us);
	near_enough(us[0], 1500);
	near_enough(us[1], 150);
	near_enough(us[2], 1500 * 500 / 10000.);
	heddle_history_set(&h, 9, 2, 0);
	assert_int_equal(h.known[2], 0);
	memset(us, 0, sizeof(us));
	heddle_history_predict(&h, values, HEDDLE_HISTORY_PUBLISHED, SIZE_MAX, us);
	near_enough(us[2], 0);
	heddle_history_free(&h);
}

/* ---- fits ---- */

/* Predictions by a fit from points of one dimension, given as sizes and two functions. */
static void fitted(const struct heddle_history *h, double size, size_t own,
                   double us[HEDDLE_HISTORY_CLASSES])
{
	double values[HEDDLE_HISTORY_DIMENSIONS] = {size};

	heddle_history_predict(h, values, HEDDLE_HISTORY_FIT, own, us);
}

static void about(double got, double want, double error)
{
	if (!(fabs(got - want) <= error * want))
		fail_msg("%g is not within %g of %g", got, error, want);
}

#define ROOM 8

/* A surface, and its memory. */
struct made {
	struct heddle_surface surface;
	double memory[HEDDLE_SURFACE_MEMORY(ROOM)];
};

static void make(struct made *made, const struct heddle_surface_law *law, unsigned dimensions,
                 double slope, double weight, unsigned n, const double (*points)[2])
{
	heddle_surface_begin(&made->surface, law, dimensions, 0, &slope, ROOM, made->memory);
	for (unsigned i = 0; i < n; i++)
		heddle_surface_add(&made->surface, &points[i][0], points[i][1], weight);
}

static double value_at(struct made *made, double x)
{
	return heddle_surface_value(&made->surface, &x);
}

static double slope_of(struct made *made)
{
	double slope;

	heddle_surface_slopes(&made->surface, &slope);
	return slope;
}

/* The plane of least squares, by hand: through two points, and between expectation and
 * points where both weigh the same. */
static void test_plane(void **state)
{
	static const double points[][2] = {{1, 5}, {3, 9}};
	struct heddle_surface_law plane = {.stiffness = 1e-12, .reach = 1};
	struct made made;

	make(&made, &plane, 1, 0, 1, 2, points);
	about(value_at(&made, 0), 3, 1e-3);
	about(slope_of(&made), 2, 1e-3);
	/* The squared spread of the points is 2. */
	plane.stiffness = 2;
	make(&made, &plane, 1, 1, 1, 2, points);
	about(value_at(&made, 0), 7 - 2 * 1.5, 1e-9);
	about(slope_of(&made), 1.5, 1e-9);
	plane.stiffness = 0.1;
	make(&made, &plane, 1, 3, 1, 1, points);
	about(value_at(&made, 0), 2, 1e-9);
	make(&made, &plane, 0, 3, 1, 2, points);
	about(value_at(&made, 0), 7, 1e-9);
}

/* What points near each other differ from the plane by, the surface differs by between them. */
static void test_bent(void **state)
{
	static const double bent[][2] = {{-3, 0}, {-1, 1}, {1, 1}, {3, 0}};
	static const double line[][2] = {{-3, 1}, {0, 7}, {1, 9}, {3, 13}};
	const struct heddle_surface_law law = {.stiffness = 1e9, .bend = 1, .reach = 4};
	struct made made;

	/* Between the points it goes on rising, and it follows each of them. */
	make(&made, &law, 1, 0, 1e9, 4, bent);
	assert_true(value_at(&made, 0) > 1 && value_at(&made, 0) < 1.3);
	for (int i = 0; i < 4; i++)
		assert_true(fabs(value_at(&made, bent[i][0]) - bent[i][1]) < 1e-6);
	/* A constant and a slope that is expected bend nothing. */
	make(&made, &law, 1, 2, 1e9, 4, line);
	about(value_at(&made, -2), 3, 1e-9);
	about(slope_of(&made), 2, 1e-9);
}

/* A point that is added, moved or left out: as a surface that was made of just those points. */
static void test_changes(void **state)
{
	double points[][2] = {{-3, 0.2}, {-1, 1.1}, {0.5, 0.8}, {2, 1.7}, {4, 1.9}};
	const struct heddle_surface_law law = {
	    .stiffness = 0.01, .bend = 40, .reach = 3, .start = 0.3};
	struct made made, other;

	make(&made, &law, 1, 0.5, 1, 4, points);
	value_at(&made, 0);
	heddle_surface_add(&made.surface, &points[4][0], points[4][1], 1);
	make(&other, &law, 1, 0.5, 1, 5, points);
	about(value_at(&made, 1), value_at(&other, 1), 1e-9);
	for (int i = 0; i < 5; i++) {
		double left[4][2];

		for (int k = 0; k < 4; k++)
			memcpy(left[k], points[k + (k >= i)], sizeof(left[k]));
		make(&other, &law, 1, 0.5, 1, 4, (const double(*)[2])left);
		about(heddle_surface_without(&made.surface, i), value_at(&other, points[i][0]),
		      1e-9);
	}
	/* Its error is as long as before, which without a start does not depend on where it is. */
	make(&made, &(struct heddle_surface_law){.stiffness = 1, .bend = 2, .reach = 3}, 1, 0, 1, 5,
	     points);
	points[1][1] = 3;
	heddle_surface_set(&made.surface, 1, 3);
	make(&other, &(struct heddle_surface_law){.stiffness = 1, .bend = 2, .reach = 3}, 1, 0, 1,
	     5, points);
	about(value_at(&made, 1), value_at(&other, 1), 1e-9);
}

/* Times that are powers of sizes are found, within the points and beyond them. */
static void test_power(void **state)
{
	struct heddle_history h = {0};

	for (int i = 0; i <= 10; i++)
		point(&h, exp2(i), 3 * pow(exp2(i), 1.7), 50 * pow(exp2(i), 0.4));
	for (double size = 0.3; size < 4000; size *= 1.9) {
		double us[HEDDLE_HISTORY_CLASSES] = {0};

		fitted(&h, size, SIZE_MAX, us);
		about(us[0], 3 * pow(size, 1.7), 0.05);
		about(us[1], 50 * pow(size, 0.4), 0.05);
	}
	heddle_history_free(&h);
}

/* One other task is known: time grows with the piece of data that grows most, or the number where
 * sizes are not known; less on a device that the task did not fill. */
static void test_growth(void **state)
{
	struct heddle_history h = {.wide = 2};
	size_t small = point(&h, 128, 240, 20), large = point(&h, 1024, 0, 0);
	double us[HEDDLE_HISTORY_CLASSES] = {0};

	fitted(&h, 1024, large, us);
	about(us[0], 240 * 8, 1e-9);
	about(us[1], 20 * sqrt(8), 1e-9);
	memcpy(h.points[small].sizes, (double[]){1000, 17000}, 2 * sizeof(double));
	memcpy(h.points[large].sizes, (double[]){64000, 17000}, 2 * sizeof(double));
	memset(us, 0, sizeof(us));
	fitted(&h, 1024, large, us);
	about(us[0], 240 * 64, 1e-9);
	about(us[1], 20 * 8, 1e-9);
	/* A time on one class says little of the other where the neighbour is far. */
	us[0] = 0;
	us[1] = 100;
	fitted(&h, 1024, large, us);
	about(us[0], 240 * 64, 0.02);
	about(us[1], 100, 1e-9);
	/* Back from there. */
	heddle_history_set(&h, large, 0, 15000);
	heddle_history_set(&h, small, 0, 0);
	memset(us, 0, sizeof(us));
	fitted(&h, 128, small, us);
	about(us[0], 15000 / 64., 1e-9);
	/* Operations that are stated say more than sizes. */
	h.points[small].operations = 1e6;
	h.points[large].operations = 500e6;
	memset(us, 0, sizeof(us));
	fitted(&h, 128, small, us);
	about(us[0], 15000 / 500., 1e-9);
	heddle_history_free(&h);
}

/* What is known of the task on one class goes for the others where neighbours are near. */
static void test_surprise(void **state)
{
	struct heddle_history h = {0};
	double us[HEDDLE_HISTORY_CLASSES] = {0, 30};

	for (int size = 90; size <= 110; size += 4)
		point(&h, size, 10 * size, size / 10.);
	fitted(&h, 100, SIZE_MAX, us);
	about(us[0], 3000, 0.01);
	heddle_history_free(&h);
}

/* Several dimensions, words among them. */
static void test_shapes(void **state)
{
	struct heddle_history h = {0};
	unsigned seed = 20260923, d;
	double word[2], sum = 0;

	print_message("seed %u\n", seed);
	srand(seed);
	assert_int_equal(heddle_history_dimension(&h, "width", false, &d), 0);
	assert_int_equal(heddle_history_dimension(&h, "height", false, &d), 0);
	assert_int_equal(heddle_history_dimension(&h, "kind", true, &d), 0);
	assert_int_equal(heddle_history_word(&h, "single", &word[0]), 0);
	assert_int_equal(heddle_history_word(&h, "double", &word[1]), 0);
	for (int i = 0; i < 160; i++) {
		double width = exp2(rand() % 1000 / 100.), height = exp2(rand() % 1000 / 100.);
		double values[HEDDLE_HISTORY_DIMENSIONS] = {width, height, word[i % 2]};
		double us[HEDDLE_HISTORY_CLASSES] = {0};
		double want = 5 * width * sqrt(height) * (1 + 2 * (i % 2));
		size_t p;

		if (i >= 120) {
			heddle_history_predict(&h, values, HEDDLE_HISTORY_FIT, SIZE_MAX, us);
			sum += fabs(us[0] - want) / want / 40;
			continue;
		}
		assert_int_equal(heddle_history_add(&h, values, &p), 0);
		heddle_history_set(&h, p, 0, want);
	}
	print_message("error %.3f\n", sum);
	assert_true(sum < 0.15);
	heddle_history_free(&h);
}

/* A random job of test_learned(): 10 us, and what follows one parameter, and another one little. */
static double job_random(double values[HEDDLE_HISTORY_DIMENSIONS])
{
	double matters = exp2(rand() % 1000 / 125.), little = exp2(rand() % 1000 / 100.);

	memcpy(values, (double[HEDDLE_HISTORY_DIMENSIONS]){matters, little},
	       HEDDLE_HISTORY_DIMENSIONS * sizeof(double));
	return 10 + pow(matters, 1.2) * pow(little, 0.02);
}

/* The mean error of 200 jobs by so many that are known, with what is learned of them and without.
 */
static void learned_and_not(unsigned known, double errors[2])
{
	struct heddle_history h = {0};
	double values[200][HEDDLE_HISTORY_DIMENSIONS], want[200];
	unsigned d;
	size_t p;

	assert_int_equal(heddle_history_dimension(&h, "matters", false, &d), 0);
	assert_int_equal(heddle_history_dimension(&h, "little", false, &d), 0);
	for (unsigned i = 0; i < known; i++) {
		double us = job_random(values[0]);

		assert_int_equal(heddle_history_add(&h, values[0], &p), 0);
		heddle_history_set(&h, p, 0, us);
	}
	for (int i = 0; i < 200; i++)
		want[i] = job_random(values[i]);
	for (int learned = 0; learned < 2; learned++) {
		errors[learned] = 0;
		for (int i = 0; i < 200; i++) {
			double us[HEDDLE_HISTORY_CLASSES] = {0};

			heddle_history_predict(&h, values[i], HEDDLE_HISTORY_FIT, SIZE_MAX, us);
			errors[learned] += fabs(us[0] - want[i]) / want[i] / 200;
		}
		heddle_history_learn(&h);
	}
	if (known >= HEDDLE_HISTORY_LAW) {
		print_message("start %.1f us, relevance %.2f %.2f, noise %.3f\n", h.laws[0].start,
		              h.laws[0].relevance[0], h.laws[0].relevance[1], h.laws[0].noise);
		assert_true(h.laws[0].start > 0 && h.laws[0].start < 12.5);
		assert_true(h.laws[0].relevance[1] < h.laws[0].relevance[0]);
	}
	assert_true(h.laws[1].noise == 0);
	heddle_history_free(&h);
}

static void test_learned(void **state)
{
	double errors[2];

	srand(20261126);
	learned_and_not(HEDDLE_HISTORY_LAW - 1, errors);
	assert_true(errors[0] == errors[1]);
	learned_and_not(30, errors);
	print_message("error %.3f, learned %.3f\n", errors[0], errors[1]);
	assert_true(errors[1] < 0.5 * errors[0]);
	/* More than a surface takes. */
	learned_and_not(300, errors);
	print_message("error %.3f, learned %.3f\n", errors[0], errors[1]);
	assert_true(errors[1] < errors[0]);
}

static double learned_at(const struct heddle_history *h, double size, double word, size_t own)
{
	double values[HEDDLE_HISTORY_DIMENSIONS] = {size, word}, us[HEDDLE_HISTORY_CLASSES] = {0};

	heddle_history_predict(h, values, HEDDLE_HISTORY_QUICK, own, us);
	return us[0];
}

/* What is learned makes a surface through all points, which follows new times, leaves the task's
 * own point out, and ends where it cannot go on. */
static void test_surface(void **state)
{
	struct heddle_history h = {0};
	unsigned d;
	double before;
	size_t p;

	assert_int_equal(heddle_history_dimension(&h, "size", false, &d), 0);
	assert_int_equal(heddle_history_dimension(&h, "word", true, &d), 0);
	for (int i = 0; i < HEDDLE_HISTORY_SURFACE; i++) {
		double values[HEDDLE_HISTORY_DIMENSIONS] = {exp2(i / 12.), i % 3};

		assert_int_equal(heddle_history_add(&h, values, &p), 0);
		if (i + 1 < HEDDLE_HISTORY_SURFACE)
			heddle_history_set(&h, p, 0, 20 * pow(values[0], 0.8) * (1 + i % 3));
	}
	heddle_history_learn(&h);
	assert_non_null(h.surfaces[0]);
	assert_null(h.surfaces[1]);
	for (int word = 0; word < 3; word++)
		about(learned_at(&h, 77, word, SIZE_MAX), 20 * pow(77, 0.8) * (1 + word), 0.02);
	/* Twice as long as it should be: others hardly believe it, and its own time says nothing.
	 */
	before = learned_at(&h, h.points[60].values[0], 0, 60);
	heddle_history_set(&h, 60, 0, 2 * h.points[60].us[0]);
	assert_non_null(h.surfaces[0]);
	about(learned_at(&h, h.points[60].values[0], 0, 60), before, 1e-6);
	assert_true(learned_at(&h, h.points[60].values[0], 0, SIZE_MAX) > 1.01 * before);
	/* A number without a logarithm has no place there. */
	assert_true(learned_at(&h, 0, 0, SIZE_MAX) > 0);
	/* The last one that there is room for, and one more. */
	heddle_history_set(&h, p, 0, 20 * pow(h.points[p].values[0], 0.8) * 2);
	assert_non_null(h.surfaces[0]);
	assert_int_equal(heddle_history_add(&h, (double[8]){1e4, 1}, &p), 0);
	heddle_history_set(&h, p, 0, 2 * 20 * pow(1e4, 0.8));
	assert_null(h.surfaces[0]);
	about(learned_at(&h, 9e3, 1, SIZE_MAX), 2 * 20 * pow(9e3, 0.8), 0.05);
	heddle_history_learn(&h);
	assert_null(h.surfaces[0]);
	heddle_history_free(&h);
}

/* Tasks without a word are of another kind than those with one, also when the law is learned. */
static void test_word_is_missing(void **state)
{
	for (int words = 1; words <= 2; words++) {
		struct heddle_history h = {0};
		unsigned d;
		size_t p;

		assert_int_equal(heddle_history_dimension(&h, "size", false, &d), 0);
		assert_int_equal(heddle_history_dimension(&h, "word", true, &d), 0);
		for (int i = 0; i < 40; i++) {
			double values[HEDDLE_HISTORY_DIMENSIONS] = {exp2(i / 4.), NAN};
			int kind = i % (words + 1);

			if (kind)
				values[1] = kind - 1;
			assert_int_equal(heddle_history_add(&h, values, &p), 0);
			heddle_history_set(&h, p, 0, 20 * pow(values[0], 0.8) * pow(5, kind));
		}
		heddle_history_learn(&h);
		print_message("%d words: noise %.3f\n", words, h.laws[0].noise);
		assert_true(h.laws[0].noise < 0.05);
		heddle_history_free(&h);
	}
}

/* Another parameter, or no time any more, ends it. */
static void test_surface_ends(void **state)
{
	for (int how = 0; how < 3; how++) {
		struct heddle_history h = {0};
		unsigned d;

		for (int i = 0; i < 2 * HEDDLE_HISTORY_LAW; i++)
			point(&h, exp2(i / 3.), 10 * exp2(i / 3.), 0);
		heddle_history_learn(&h);
		assert_non_null(h.surfaces[0]);
		if (how == 0)
			assert_int_equal(heddle_history_dimension(&h, "more", false, &d), 0);
		else
			heddle_history_set(&h, 3, 0, how == 1 ? 0 : 25);
		assert_true(!h.surfaces[0] == (how < 2));
		assert_true(learned_at(&h, 50, 0, SIZE_MAX) > 100);
		heddle_history_free(&h);
	}
}

/* Much shorter tasks than those that something was learned from. */
static void test_learned_before(void **state)
{
	struct heddle_history h = {0};
	double us[HEDDLE_HISTORY_CLASSES] = {0};

	for (int i = 0; i < 2 * HEDDLE_HISTORY_LAW; i++)
		point(&h, exp2(10 + i / 3.), 10000 + 1000 * exp2(i * 0.4), 0);
	heddle_history_learn(&h);
	assert_true(h.laws[0].start > 1000);
	for (int size = 10; size < 30; size++)
		point(&h, size, size, 0);
	fitted(&h, 20.5, SIZE_MAX, us);
	about(us[0], 20.5, 0.05);
	heddle_history_free(&h);
}

/* The time of a task with two numbers and a word, by one of {100, 7, 0} that took 10 us. It has
 * `more` times as much data; 0: nobody knows. */
static double by_one(const char *first, const char *second, double x, double y, double more)
{
	double values[HEDDLE_HISTORY_DIMENSIONS] = {100, 7}, us[HEDDLE_HISTORY_CLASSES] = {0};
	struct heddle_history h = {0};
	unsigned d;
	size_t p;

	assert_int_equal(heddle_history_dimension(&h, first, false, &d), 0);
	assert_int_equal(heddle_history_dimension(&h, second, false, &d), 0);
	assert_int_equal(heddle_history_dimension(&h, "model", true, &d), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(heddle_history_add(&h, values, &p), 0);
		h.points[p].sizes[0] = i ? more : more > 0;
		heddle_history_set(&h, p, 0, i ? 0 : 10);
		memcpy(values, (double[]){x, y, 1}, 3 * sizeof(double));
	}
	heddle_history_predict(&h, h.points[p].values, HEDDLE_HISTORY_FIT, p, us);
	heddle_history_free(&h);
	return us[0];
}

/* Of one other task: time is about as the product of numbers that are stated, whatever the sizes of
 * data. Sizes in place of numbers have equal parts, where not all are known. */
static void test_product(void **state)
{
	about(by_one("rows", "steps", 600, 7, 2), 10 * pow(6, 0.75), 1e-9);
	about(by_one("rows", "steps", 600, 14, 0), 10 * pow(12, 0.75), 1e-9);
	about(by_one("bytes0", "steps", 600, 14, 5), 10 * 5, 1e-9);
	about(by_one("bytes0", "bytesize", 600, 14, 5), 10 * 5, 1e-9);
	about(by_one("bytes0", "bytes1", 600, 28, 5), 10 * 5, 1e-9);
	about(by_one("bytes0", "bytes1", 400, 63, 0), 10 * 6, 1e-9);
}

/* Jobs with several parameters: times are sums of one to three power laws and off by 2 %, and
 * some jumps at half of all jobs, as where data leave a cache.
 * @param[out] factor by which ten others are predicted wrongly, as a logarithm
 * @return their mean error */
static double random_law_error(struct heddle_history_rule rule, unsigned seed, unsigned known,
                               bool jumps, double *factor)
{
	unsigned left = 10, n = known + left, dimensions, laws, d;
	double exponents[3][5], factors[3], sum = 0;
	struct heddle_history h = {0};

	srand(seed);
	dimensions = 1 + rand() % 5;
	laws = 1 + rand() % 3;
	for (unsigned l = 0; l < laws; l++) {
		factors[l] = exp(rand() % 600 / 100.);
		for (d = 0; d < dimensions; d++)
			exponents[l][d] = (double[]){0, 0.5, 1, 1, 2}[rand() % 5];
	}
	for (unsigned p = 0; p < dimensions; p++)
		assert_int_equal(heddle_history_dimension(&h, (char[]){'a' + p, 0}, false, &d), 0);
	for (unsigned i = 0; i < n; i++) {
		double values[HEDDLE_HISTORY_DIMENSIONS], us[HEDDLE_HISTORY_CLASSES] = {0};
		double want = 0, all = 0;
		size_t p;

		for (d = 0; d < dimensions; d++)
			all += log2(values[d] = exp2(rand() % 1000 / 100.)) / dimensions;
		for (unsigned l = 0; l < laws; l++) {
			double law = factors[l];

			for (d = 0; d < dimensions; d++)
				law *= pow(values[d], exponents[l][d]);
			want += law;
		}
		want *= (jumps && all > 5 ? 2 : 1) * (0.98 + rand() % 400 / 10000.);
		if (i >= n - left) {
			heddle_history_predict(&h, values, rule, SIZE_MAX, us);
			sum += fabs(us[0] - want) / want / left;
			*factor += fabs(log(us[0] / want)) / left;
			continue;
		}
		assert_int_equal(heddle_history_add(&h, values, &p), 0);
		heddle_history_set(&h, p, 0, want);
	}
	heddle_history_free(&h);
	return sum;
}

static void test_few_jobs(void **state)
{
	double smooth = 0, jumps = 0, quick = 0, factor = 0;

	for (unsigned seed = 1; seed <= 100; seed++) {
		smooth += random_law_error(HEDDLE_HISTORY_FIT, seed, 30, false, &factor) / 100;
		jumps += random_law_error(HEDDLE_HISTORY_FIT, seed, 30, true, &factor) / 100;
		quick += random_law_error(HEDDLE_HISTORY_QUICK, seed, 30, false, &factor) / 100;
	}
	print_message("errors %.4f, with jumps %.3f, quick %.4f\n", smooth, jumps, quick);
	assert_true(smooth < 0.09);
	assert_true(jumps < 0.19);
	assert_true(quick < 1.2 * smooth);
}

/* By what mean factor predictions from one to five jobs are wrong. */
static void test_very_few_jobs(void **state)
{
	static const unsigned known[] = {1, 2, 3, 5};
	static const double most[] = {15, 6, 3.2, 1.7};
	double factors[4] = {0};

	for (unsigned c = 0; c < 4; c++) {
		for (unsigned seed = 1; seed <= 200; seed++) {
			double factor = 0;

			random_law_error(HEDDLE_HISTORY_FIT, seed, known[c], false, &factor);
			factors[c] += factor / 200;
		}
		print_message("%u jobs: factor %.2f\n", known[c], exp(factors[c]));
	}
	for (unsigned c = 0; c < 4; c++)
		assert_true(exp(factors[c]) < most[c]);
}

/* Whatever is stated and measured, what comes out is a time. */
static void test_any(void **state)
{
	static const double odd[] = {0, -3, NAN, 1e300, 1e-300, 7};
	unsigned seed = 7;

	print_message("seed %u\n", seed);
	srand(seed);
	for (int round = 0; round < 500; round++) {
		struct heddle_history h = {.wide = rand() % 8};
		double us[HEDDLE_HISTORY_CLASSES] = {0};
		int n = 1 + rand() % 20;

		for (int i = 0; i < n; i++) {
			size_t p = point(&h, rand() % 3 ? rand() % 50 : odd[rand() % 6],
			                 exp2(rand() % 40), rand() % 2 ? exp2(rand() % 40) : 0);

			for (int s = 0; s < HEDDLE_HISTORY_SIZES && rand() % 4; s++)
				h.points[p].sizes[s] = exp2(rand() % 30);
		}
		fitted(&h, rand() % 3 ? rand() % 50 : odd[rand() % 6], rand() % n, us);
		for (int c = 0; c < 2; c++)
			assert_true(us[c] >= 0 && isfinite(us[c]));
		assert_true(us[0] > 0 || n == 1);
		heddle_history_free(&h);
	}
}

/* A power law with noise of known size: of new times about four fifths are in the intervals. */
static void test_ranges(void **state)
{
	unsigned seed = 40, inside = 0, rounds = 400;

	print_message("seed %u\n", seed);
	srand(seed);
	for (unsigned round = 0; round < rounds; round++) {
		struct heddle_history h = {0};
		struct heddle_history_range ranges[HEDDLE_HISTORY_CLASSES];
		double us[HEDDLE_HISTORY_CLASSES] = {0}, values[HEDDLE_HISTORY_DIMENSIONS], n, time;

		for (int i = 0; i < 30; i++) {
			n = exp2(10 * (rand() / (double)RAND_MAX));
			point(&h, n, n * exp(0.2 * (rand() / (double)RAND_MAX - 0.5)), 0);
		}
		for (unsigned d = 0; d < HEDDLE_HISTORY_DIMENSIONS; d++)
			values[d] = d ? NAN : exp2(2 + 6 * (rand() / (double)RAND_MAX));
		heddle_history_ranges(&h, values, HEDDLE_HISTORY_FIT, SIZE_MAX, us, ranges);
		heddle_history_predict(&h, values, HEDDLE_HISTORY_FIT, SIZE_MAX, us);
		assert_true(ranges[0].low < us[0] && us[0] < ranges[0].high);
		assert_true(ranges[1].low == 0 && ranges[1].high == 0);
		time = values[0] * exp(0.2 * (rand() / (double)RAND_MAX - 0.5));
		inside += ranges[0].low <= time && time <= ranges[0].high;
		heddle_history_free(&h);
	}
	print_message("%u of %u\n", inside, rounds);
	assert_true(inside > 0.7 * rounds && inside < 0.9 * rounds);
}

/* Few points say nothing of how wrong they are. */
static void test_no_range(void **state)
{
	struct heddle_history h = {0};
	struct heddle_history_range ranges[HEDDLE_HISTORY_CLASSES];
	double us[HEDDLE_HISTORY_CLASSES] = {0}, values[HEDDLE_HISTORY_DIMENSIONS];

	for (unsigned d = 0; d < HEDDLE_HISTORY_DIMENSIONS; d++)
		values[d] = d ? NAN : 5;
	for (int n = 0; n < 6; n++) {
		heddle_history_ranges(&h, values, HEDDLE_HISTORY_FIT, SIZE_MAX, us, ranges);
		assert_true((ranges[0].high > 0) == (n >= HEDDLE_HISTORY_RANGE_LEAST));
		point(&h, 1 << n, 10 << n, 0);
	}
	heddle_history_free(&h);
}

static void test_extrapolates(void **state)
{
	struct heddle_history h = {0};
	double values[HEDDLE_HISTORY_DIMENSIONS];

	for (unsigned d = 0; d < HEDDLE_HISTORY_DIMENSIONS; d++)
		values[d] = NAN;
	values[0] = 10;
	assert_true(heddle_history_extrapolates(&h, values, 0));
	point(&h, 4, 40, 4);
	point(&h, 8, 80, 0);
	point(&h, 16, 160, 0);
	assert_false(heddle_history_extrapolates(&h, values, 0));
	assert_true(heddle_history_extrapolates(&h, values, 1));
	values[0] = 16.5;
	assert_true(heddle_history_extrapolates(&h, values, 0));
	values[0] = 16;
	assert_false(heddle_history_extrapolates(&h, values, 0));
	values[0] = 3.9;
	assert_true(heddle_history_extrapolates(&h, values, 0));
	/* In a gap: no point is that far from the next one, as these are from the middle. */
	values[0] = 1000;
	point(&h, 1 << 16, 160, 0);
	point(&h, 1 << 17, 160, 0);
	assert_true(heddle_history_extrapolates(&h, values, 0));
	heddle_history_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_robust_for_years),
	    cmocka_unit_test(test_leave_out),
	    cmocka_unit_test(test_distance),
	    cmocka_unit_test(test_nearest),
	    cmocka_unit_test(test_robust),
	    cmocka_unit_test(test_spike),
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_predict),
	    cmocka_unit_test(test_third_class),
	    cmocka_unit_test(test_plane),
	    cmocka_unit_test(test_bent),
	    cmocka_unit_test(test_changes),
	    cmocka_unit_test(test_power),
	    cmocka_unit_test(test_growth),
	    cmocka_unit_test(test_surprise),
	    cmocka_unit_test(test_shapes),
	    cmocka_unit_test(test_learned),
	    cmocka_unit_test(test_learned_before),
	    cmocka_unit_test(test_surface),
	    cmocka_unit_test(test_word_is_missing),
	    cmocka_unit_test(test_surface_ends),
	    cmocka_unit_test(test_product),
	    cmocka_unit_test(test_few_jobs),
	    cmocka_unit_test(test_very_few_jobs),
	    cmocka_unit_test(test_any),
	    cmocka_unit_test(test_ranges),
	    cmocka_unit_test(test_no_range),
	    cmocka_unit_test(test_extrapolates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
