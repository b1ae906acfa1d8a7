/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelets' CPU versions against their references, for every instruction
 * set that this processor has.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codelets/blackscholes/blackscholes.h"
#include "codelets/boxfilter/boxfilter.h"
#include "codelets/eclat/eclat.h"
#include "codelets/heart/heart.h"
#include "codelets/histogram/histogram.h"
#include "codelets/knn/knn.h"
#include "codelets/mandelbrot/mandelbrot.h"
#include "codelets/nbody/nbody.h"
#include "codelets/spmv/spmv.h"
#include "codelets/vecinc/vecinc.h"
#include "tests/unit/bodies.h"
#include "tests/unit/cells.h"
#include "tests/unit/classes.h"
#include "tests/unit/nearest.h"
#include "tests/unit/sparse.h"
#include "tests/unit/test.h"

static unsigned seed;

/* Sizes around the widths of vectors, and larger ones. */
static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 127, 1000, 4099};
#define NSIZES (sizeof(sizes) / sizeof(*sizes))

static double uniform(double from, double to)
{
	return from + (to - from) * rand() / RAND_MAX;
}

enum { CENTURY = 100 };

/* Prices n options that begin `shift` floats into their arrays and looks
 * whether the places around the results were left alone. */
static double price_and_compare(enum codelet_isa isa, size_t n, size_t shift,
                                double (*draw)(int which))
{
	const struct blackscholes_market market = {
	    .rate = uniform(-BLACKSCHOLES_GROWTH / (double)CENTURY, 0.1),
	    .volatility = exp(uniform(-4.6, 1.1))};
	size_t room = n + shift + 1;
	float *data = malloc(5 * room * sizeof(float));
	float *spot = data + shift, *strike = spot + room, *years = strike + room;
	float *call = years + room, *put = call + room;
	double error;

	assert_non_null(data);
	for (size_t i = 0; i < 5 * room; i++)
		data[i] = -1;
	for (size_t i = 0; i < n; i++) {
		spot[i] = draw(0);
		strike[i] = draw(1);
		years[i] = draw(2);
	}
	blackscholes_cpu(isa, &market, n, spot, strike, years, call, put);
	error = blackscholes_error(&market, n, spot, strike, years, call, put);
	assert_true(call[n] == -1);
	assert_true(put[n] == -1);
	free(data);
	return error;
}

static double draw_usual(int which)
{
	return which == 2 ? uniform(0.05, 10) : uniform(5, 200);
}

/* Any magnitude of price, from minutes to a century. */
static double draw_wild(int which)
{
	return which == 2 ? exp(uniform(-11, log(CENTURY))) : exp(uniform(-20, 20));
}

static void test_blackscholes(void **state)
{
	double worst = 0;

	for (int isa = 0; isa < CODELET_NISAS; isa++) {
		if (!codelet_isa_supported(isa)) {
			print_message("%s is not supported here\n", codelet_isa_name(isa));
			continue;
		}
		for (size_t s = 0; s < NSIZES; s++)
			for (size_t shift = 0; shift < 5; shift++) {
				worst = fmax(worst,
				             price_and_compare(isa, sizes[s], shift, draw_usual));
				worst =
				    fmax(worst, price_and_compare(isa, sizes[s], shift, draw_wild));
			}
		print_message("blackscholes, %s: error %.2g\n", codelet_isa_name(isa), worst);
		assert_true(worst <= BLACKSCHOLES_TOLERANCE);
	}
}

/* A value that the formula gives in every textbook: S = 42, K = 40, r = 0.1,
 * v = 0.2, half a year: call 4.76, put 0.81. */
static void test_blackscholes_reference(void **state)
{
	const struct blackscholes_market market = {.rate = 0.1f, .volatility = 0.2f};
	double call, put;

	blackscholes_reference(&market, 42, 40, 0.5, &call, &put);
	assert_true(fabs(call - 4.76) < 0.005);
	assert_true(fabs(put - 0.81) < 0.005);
}

/* A century of interest below 0 makes strikes 54 times as large: prices are as exact, measured by
 * them. */
static void test_blackscholes_strike_grows(void **state)
{
	const struct blackscholes_market market = {.rate = -0.04f, .volatility = 0.06f};
	float spot[64], strike[64], years[64], call[64], put[64];

	for (int i = 0; i < 64; i++) {
		spot[i] = 0.5f + i / 64.f;
		strike[i] = 1;
		years[i] = CENTURY - i / 16.f;
	}
	for (int isa = 0; isa < CODELET_NISAS; isa++) {
		if (!codelet_isa_supported(isa))
			continue;
		blackscholes_cpu(isa, &market, 64, spot, strike, years, call, put);
		assert_true(blackscholes_error(&market, 64, spot, strike, years, call, put) <=
		            BLACKSCHOLES_TOLERANCE);
	}
	put[0] += 2e-4f; /* 4e-6 of 54 */
	assert_true(blackscholes_error(&market, 64, spot, strike, years, call, put) >
	            BLACKSCHOLES_TOLERANCE);
}

static void test_blackscholes_error_sees_wrong_prices(void **state)
{
	const struct blackscholes_market market = {.rate = 0.05f, .volatility = 0.3f};
	const float spot[] = {100, 50}, strike[] = {90, 60}, years[] = {1, 2};
	float call[2], put[2];

	blackscholes_cpu(codelet_isa_best(), &market, 2, spot, strike, years, call, put);
	assert_true(blackscholes_error(&market, 2, spot, strike, years, call, put) <=
	            BLACKSCHOLES_TOLERANCE);
	put[1] += 0.01f;
	assert_true(blackscholes_error(&market, 2, spot, strike, years, call, put) > 1e-4);
	put[1] = NAN;
	assert_true(isinf(blackscholes_error(&market, 2, spot, strike, years, call, put)));
}

static void count_and_compare(size_t n, size_t shift, int values)
{
	uint64_t counters[HISTOGRAM_BINS + 1] = {0}, right[HISTOGRAM_BINS] = {0};
	unsigned char *bytes = malloc(n + shift + 1);

	assert_non_null(bytes);
	for (size_t i = 0; i < n; i++)
		bytes[shift + i] = rand() / 7 % values;
	/* It adds to what is there. */
	counters[1] = right[1] = 3ull << 40;
	histogram_cpu(n, bytes + shift, counters);
	histogram_reference(n, bytes + shift, right);
	assert_memory_equal(counters, right, sizeof(right));
	assert_true(counters[HISTOGRAM_BINS] == 0);
	free(bytes);
}

static void test_histogram(void **state)
{
	static const int values[] = {1, 2, 256};

	for (size_t s = 0; s < NSIZES; s++)
		for (size_t shift = 0; shift < 9; shift++)
			for (int v = 0; v < 3; v++)
				count_and_compare(sizes[s], shift, values[v]);
}

static void test_histogram_combine(void **state)
{
	uint64_t into[HISTOGRAM_BINS], from[HISTOGRAM_BINS];

	for (int b = 0; b < HISTOGRAM_BINS; b++) {
		into[b] = b;
		from[b] = (uint64_t)b << 33;
	}
	histogram_combine(into, from, sizeof(into), NULL);
	for (int b = 0; b < HISTOGRAM_BINS; b++)
		assert_true(into[b] == b + ((uint64_t)b << 33));
}

struct picture {
	size_t width, height;
	unsigned channels;
	size_t stride;
	unsigned char *in, *out;
};

static struct picture picture_make(size_t width, size_t height, unsigned channels)
{
	struct picture picture = {.width = width, .height = height, .channels = channels};
	size_t bytes;

	picture.stride = width * channels + rand() % 5;
	bytes = height * picture.stride;
	picture.in = malloc(bytes + 1);
	picture.out = malloc(bytes + 1);
	assert_non_null(picture.in);
	assert_non_null(picture.out);
	for (size_t i = 0; i < bytes; i++)
		picture.in[i] = rand() >> 7;
	memset(picture.out, 0x55, bytes + 1);
	return picture;
}

/* Filters the rows from…to-1 as a block of a loop would. */
static void filter_block(enum codelet_isa isa, const struct picture *picture, size_t radius,
                         size_t from, size_t to)
{
	size_t first = from < radius ? 0 : from - radius;
	size_t last = picture->height - to < radius ? picture->height : to + radius;
	const struct boxfilter_band band = {
	    .window = {.radius = radius, .channels = picture->channels},
	    .width = picture->width,
	    .above = from - first,
	    .rows = to - from,
	    .input_rows = last - first,
	    .in_stride = picture->stride,
	    .out_stride = picture->stride,
	};

	assert_int_equal(boxfilter_cpu(isa, &band, picture->in + first * picture->stride,
	                               picture->out + from * picture->stride),
	                 0);
}

/* The mean of one window as the definition says it: the byte at column x, channel c of row
 * y of the band's output. */
static unsigned char boxfilter_mean(const struct boxfilter_band *band, const unsigned char *in,
                                    size_t x, size_t y, unsigned c)
{
	size_t radius = band->window.radius, row = band->above + y;
	size_t left = x < radius ? 0 : x - radius, top = row < radius ? 0 : row - radius;
	size_t columns = boxfilter_span(x, radius, band->width);
	size_t rows = boxfilter_span(row, radius, band->input_rows);
	size_t count = rows * columns, sum = 0;

	for (size_t j = top; j < top + rows; j++)
		for (size_t i = left; i < left + columns; i++)
			sum += in[j * band->in_stride + i * band->window.channels + c];
	return (sum + count / 2) / count;
}

static void assert_means(const struct picture *picture, size_t radius)
{
	const struct boxfilter_band whole = {
	    .window = {.radius = radius, .channels = picture->channels},
	    .width = picture->width,
	    .rows = picture->height,
	    .input_rows = picture->height,
	    .in_stride = picture->stride,
	    .out_stride = picture->stride,
	};
	size_t n = picture->width * picture->channels;

	for (size_t y = 0; y < picture->height; y++) {
		const unsigned char *row = picture->out + y * picture->stride;

		for (size_t i = 0; i < n; i++)
			assert_int_equal(row[i],
			                 boxfilter_mean(&whole, picture->in, i / picture->channels,
			                                y, i % picture->channels));
		for (size_t i = n; i < picture->stride; i++)
			assert_int_equal(row[i], 0x55);
	}
	assert_int_equal(picture->out[picture->height * picture->stride], 0x55);
}

/* The whole picture in blocks of any size. */
static void filter_and_compare(enum codelet_isa isa, size_t width, size_t height, unsigned channels,
                               size_t radius)
{
	struct picture picture = picture_make(width, height, channels);

	for (size_t from = 0, to; from < height; from = to) {
		to = from + 1 + rand() % height;
		to = to > height ? height : to;
		filter_block(isa, &picture, radius, from, to);
	}
	assert_means(&picture, radius);
	free(picture.in);
	free(picture.out);
}

static void test_boxfilter(void **state)
{
	static const size_t widths[] = {1, 2, 17, 64, 101}, heights[] = {1, 2, 33};
	static const size_t radii[] = {0, 1, 2, 7, 40, 1000, SIZE_MAX};

	for (int isa = 0; isa < CODELET_NISAS; isa++) {
		if (!codelet_isa_supported(isa))
			continue;
		for (int w = 0; w < 5; w++)
			for (int h = 0; h < 3; h++)
				for (int r = 0; r < 7; r++) {
					filter_and_compare(isa, widths[w], heights[h], 1, radii[r]);
					filter_and_compare(isa, widths[w], heights[h], 3, radii[r]);
				}
	}
}

/* Sums that need double precision, and those that need 64 bits: white pictures,
 * whose means are white, but for one black pixel. */
static void test_boxfilter_large_windows(void **state)
{
	static const struct {
		size_t width, height, radius;
	} cases[] = {{300, 200, 150}, {5000, 3500, 5000}};

	for (int isa = 0; isa < CODELET_NISAS; isa++)
		for (int k = 0; k < 2 && codelet_isa_supported(isa); k++) {
			struct picture picture = picture_make(cases[k].width, cases[k].height, 1);
			struct boxfilter_window window = {cases[k].radius, 1};
			uint64_t *sums;

			picture.stride = picture.width;
			memset(picture.in, 255, picture.width * picture.height);
			picture.in[picture.width / 2] = 0;
			filter_block(isa, &picture, window.radius, 0, picture.height);
			assert_int_equal(boxfilter_reference(picture.width, picture.height, 1,
			                                     picture.in, &sums),
			                 0);
			assert_int_equal(boxfilter_error(&window, picture.width, picture.height,
			                                 sums, picture.out, 0, picture.height),
			                 0);
			picture.out[picture.width * picture.height / 2] ^= 1;
			assert_int_equal(boxfilter_error(&window, picture.width, picture.height,
			                                 sums, picture.out, 0, picture.height),
			                 1);
			free(sums);
			free(picture.in);
			free(picture.out);
		}
}

/* The two ways to the reference agree. */
static void test_boxfilter_reference(void **state)
{
	for (unsigned channels = 1; channels <= 3; channels += 2) {
		struct picture picture = picture_make(23, 19, channels);
		struct boxfilter_band band = {.window = {4, channels},
		                              .width = 23,
		                              .rows = 19,
		                              .input_rows = 19,
		                              .in_stride = 23 * channels};
		uint64_t *sums;

		assert_int_equal(boxfilter_reference(23, 19, channels, picture.in, &sums), 0);
		for (size_t y = 0; y < 19; y++)
			for (size_t i = 0; i < 23 * channels; i++)
				picture.out[y * 23 * channels + i] = boxfilter_mean(
				    &band, picture.in, i / channels, y, i % channels);
		assert_int_equal(boxfilter_error(&band.window, 23, 19, sums, picture.out, 0, 19),
		                 0);
		free(sums);
		free(picture.in);
		free(picture.out);
	}
}

/* Streamed outputs: the same bits, at any alignment and length, and nothing
 * beyond the ends. */
static void test_blackscholes_streamed(void **state)
{
	enum { ROOM = 3000 };
	const struct blackscholes_market market = {.rate = 0.05f, .volatility = 0.3f};
	static float in[3][ROOM], out[2][ROOM], streamed[2][ROOM];

	for (size_t i = 0; i < ROOM; i++)
		for (int which = 0; which < 3; which++)
			in[which][i] = draw_usual(which);
	for (int repeat = 0; repeat < 200; repeat++) {
		size_t shift = rand() % 64, n = rand() % (ROOM - 64 - 1);

		memset(out, 0xff, sizeof(out));
		memset(streamed, 0xff, sizeof(streamed));
		blackscholes_cpu(codelet_isa_best(), &market, n, in[0], in[1], in[2],
		                 out[0] + shift, out[1] + shift);
		blackscholes_cpu_stream(codelet_isa_best(), &market, n, in[0], in[1], in[2],
		                        streamed[0] + shift, streamed[1] + shift);
		assert_memory_equal(streamed, out, sizeof(out));
	}
}

static void increment_and_compare(enum codelet_isa isa, size_t n, unsigned passes, size_t shift)
{
	uint32_t from = UINT32_MAX - 2, *values = malloc((n + shift + 1) * sizeof(*values));

	assert_non_null(values);
	for (size_t i = 0; i < n + shift + 1; i++)
		values[i] = from;
	vecinc_cpu(isa, n, passes, values + shift);
	assert_int_equal(vecinc_errors(n, passes, from, values + shift), 0);
	assert_int_equal(values[n + shift], from);
	for (size_t i = 0; i < shift; i++)
		assert_int_equal(values[i], from);
	if (n && passes) {
		values[shift + n / 2] ^= 1;
		assert_int_equal(vecinc_errors(n, passes, from, values + shift), 1);
	}
	free(values);
}

static void test_vecinc(void **state)
{
	for (int isa = 0; isa < CODELET_NISAS; isa++)
		for (size_t s = 0; s < NSIZES && codelet_isa_supported(isa); s++)
			for (unsigned passes = 0; passes < 8; passes++)
				increment_and_compare(isa, sizes[s], passes, s % 3);
}

static void test_spmv(void **state)
{
	for (size_t s = 0; s < NSIZES; s++)
		for (int wide = 0; wide < 2; wide++) {
			struct sparse sparse = sparse_make(sizes[s], wide);
			struct spmv_rows rows = sparse_rows(&sparse);

			spmv_cpu(&rows);
			assert_true(spmv_error(&rows) <= SPMV_TOLERANCE);
			sparse_free(&sparse);
		}
}

static void test_spmv_error_sees_wrong_sums(void **state)
{
	const uint32_t starts[] = {7, 9, 9};
	const int32_t columns[] = {1, 0};
	const float values[] = {2, 3}, x[] = {5, -7};
	float y[2];
	const struct spmv_rows rows = {
	    .n = 2, .starts = starts, .columns = columns, .values = values, .x = x, .y = y};

	spmv_cpu(&rows);
	assert_true(y[0] == 1 && y[1] == 0);
	assert_true(spmv_error(&rows) == 0);
	y[0] = 1 + 1e-5f;
	assert_true(spmv_error(&rows) > SPMV_TOLERANCE);
	y[0] = NAN;
	assert_true(isinf(spmv_error(&rows)));
	y[0] = 1;
	y[1] = 1e-30f; /* an empty row is exactly 0 */
	assert_true(isinf(spmv_error(&rows)));
}

/* Rows first … first+n-1 with a stride of their own, and whether the places around were left
 * alone. */
static void draw_and_compare(enum codelet_isa isa, const struct mandelbrot_view *view, size_t first,
                             size_t n)
{
	size_t stride = 3 * view->width + 5, bytes = n * stride + 1;
	unsigned char *out = malloc(bytes);

	assert_non_null(out);
	memset(out, 0x55, bytes);
	mandelbrot_cpu(isa, view, first, n, out, stride);
	assert_int_equal(mandelbrot_error(view, first, n, out, stride), 0);
	for (size_t i = 0; i < bytes; i++)
		if (i % stride >= 3 * view->width)
			assert_int_equal(out[i], 0x55);
	if (n && view->width) {
		out[0] ^= 1;
		assert_int_equal(mandelbrot_error(view, first, n, out, stride), 1);
	}
	free(out);
}

static void test_mandelbrot(void **state)
{
	static const uint32_t limits[] = {1, 7, 8, 9, 300};

	for (int isa = 0; isa < CODELET_NISAS; isa++)
		for (size_t w = 0; codelet_isa_supported(isa) && w < 10; w++)
			for (size_t l = 0; l < sizeof(limits) / sizeof(*limits); l++) {
				struct mandelbrot_view view = {.left = uniform(-2.5, -1),
				                               .top = uniform(-1, 1.3),
				                               .step = uniform(0.001, 0.1),
				                               .limit = limits[l],
				                               .width = sizes[w]};

				draw_and_compare(isa, &view, rand() % 10, rand() % 5);
			}
}

/* The set's main parts, and what is outside. */
static void test_mandelbrot_reference(void **state)
{
	const struct mandelbrot_view view = {.left = -2, .top = 2, .step = 1, .limit = 50};

	assert_int_equal(mandelbrot_reference(&view, 2, 2), 50); /* 0 */
	assert_int_equal(mandelbrot_reference(&view, 1, 2), 50); /* -1 */
	assert_int_equal(mandelbrot_reference(&view, 0, 2), 50); /* -2, on the circle for ever */
	assert_int_equal(mandelbrot_reference(&view, 3, 2), 3);  /* 1: 0, 1, 2, 5 */
	assert_int_equal(mandelbrot_reference(&view, 4, 0), 1);  /* 2 + 2i */
}

static void test_knn(void **state)
{
	for (int isa = 0; isa < CODELET_NISAS; isa++)
		for (int round = 0; round < 60 && codelet_isa_supported(isa); round++) {
			struct nearest nearest = nearest_make(round);

			knn_cpu(isa, &nearest.problem, nearest.queries, nearest.points,
			        nearest.labels, nearest.coordinates, nearest.classes);
			assert_int_equal(nearest_errors(&nearest), 0);
			nearest.classes[0] ^= 1;
			assert_int_equal(nearest_errors(&nearest), 1);
			nearest_free(&nearest);
		}
}

/* Of equal distances the first point, of equal votes the nearest class. */
static void test_knn_ties(void **state)
{
	static const float points[] = {1, 3, 1, 3, 9}, query[] = {2};
	static const int32_t labels[] = {7, 5, 5, 7, 4};
	static const int32_t wanted[] = {7, 7, 5, 7, 7};

	for (unsigned k = 1; k <= 5; k++) {
		const struct knn_problem problem = {.points = 5, .dimensions = 1, .k = k};
		int32_t class;

		knn_cpu(codelet_isa_best(), &problem, 1, points, labels, query, &class);
		assert_int_equal(class, wanted[k - 1]);
		assert_int_equal(knn_errors(&problem, 1, points, labels, query, &class), 0);
	}
}

static void test_nbody(void **state)
{
	double worst = 0;

	for (int isa = 0; isa < CODELET_NISAS; isa++)
		for (int round = 0; round < 40 && codelet_isa_supported(isa); round++) {
			struct bodies bodies = bodies_make(round);
			size_t half = bodies.problem.n / 2;

			nbody_cpu(isa, &bodies.problem, 0, half, bodies.bodies, bodies.starts,
			          bodies.accelerations);
			nbody_cpu(isa, &bodies.problem, half, bodies.problem.n - half,
			          bodies.bodies, bodies.starts, bodies.accelerations + 3 * half);
			worst = fmax(worst, bodies_error(&bodies, 1));
			bodies_free(&bodies);
		}
	print_message("nbody: error %.2g\n", worst);
	assert_true(worst <= NBODY_TOLERANCE);
}

/* Two bodies, by hand: s = 1 - 1/4, so that 3 * s^2 / (1 + 3)^(3/2) = 0.2109375. */
static void test_nbody_reference(void **state)
{
	const struct nbody_problem problem = {.n = 2,
	                                      .cells_per_length = 1,
	                                      .cells = {1, 1, 1},
	                                      .softening2 = 3,
	                                      .inverse_cutoff2 = 0.25};
	static const float bodies[] = {0, 0, 5, 6, 0, 0, 2, 3};
	static const uint32_t starts[] = {0, 2};
	float wrong[] = {0, 0.211, 0}, got[6];

	nbody_cpu(codelet_isa_best(), &problem, 0, 2, bodies, starts, got);
	assert_true(got[0] == 0 && fabs(got[1] - 0.2109375) < 1e-6 && got[2] == 0);
	assert_true(fabs(got[4] + 0.140625) < 1e-6);
	assert_true(nbody_error(&problem, 0, bodies, got) <= NBODY_TOLERANCE);
	assert_true(nbody_error(&problem, 0, bodies, wrong) > NBODY_TOLERANCE);
	wrong[2] = NAN;
	assert_true(isinf(nbody_error(&problem, 0, bodies, wrong)));
}

/* Two bodies in the first cell of a row and one in the last: none is near the others' cell. */
static void test_nbody_near(void **state)
{
	const struct nbody_problem row = {.n = 3, .cells_per_length = 1, .cells = {3, 1, 1}};
	const struct nbody_problem none = {.cells_per_length = 1, .cells = {1, 1, 1}};
	static const uint32_t starts[] = {0, 2, 2, 3}, empty[] = {0, 0};

	assert_true(fabs(bodies_near(&row, starts) - 5 / 3.) < 1e-9);
	assert_true(bodies_near(&none, empty) == 0);
}

/* Several blocks, as a loop makes them, are the whole. */
static void test_eclat(void **state)
{
	for (int isa = 0; isa < CODELET_NISAS; isa++)
		for (int round = 0; round < 60 && codelet_isa_supported(isa); round++) {
			struct classes classes = classes_make(round);

			eclat_cpu(isa, &classes.of, classes.bits, classes.items, classes.counts);
			assert_int_equal(classes_errors(&classes), 0);
			classes.counts[classes.ncounts - 1]++;
			assert_int_equal(classes_errors(&classes), 1);
			classes_free(&classes);
		}
}

/* By hand: transactions 0 to 3 have the items 0, 01, 012 and 12. */
static void test_eclat_pairs(void **state)
{
	static const uint64_t bits[] = {7, 14, 12};
	static const int32_t items[] = {0, 1, 2};
	const struct eclat_class pairs = {.words = 1, .members = 3, .rows = 2};
	const struct eclat_class with = {.words = 1, .prefix = 1, .members = 2, .rows = 1};
	static const uint32_t wanted[] = {0, 2, 1, 0, 0, 2};
	uint32_t counts[6];

	assert_int_equal(eclat_pairs(&pairs), 3);
	eclat_cpu(codelet_isa_best(), &pairs, bits, items, counts);
	assert_memory_equal(counts, wanted, sizeof(wanted));
	assert_int_equal(eclat_errors(&pairs, bits, items, wanted), 0);
	assert_int_equal(eclat_pairs(&with), 1);
	eclat_cpu(codelet_isa_best(), &with, bits, items, counts);
	assert_int_equal(counts[0], 0);
	assert_int_equal(counts[1], 1);
}

static void test_heart(void **state)
{
	double worst = 0;

	for (int isa = 0; isa < CODELET_NISAS; isa++)
		for (int round = 0; round < 60 && codelet_isa_supported(isa); round++) {
			struct cells cells = cells_make(round);

			for (size_t first = 0, n; first < cells.height; first += n) {
				struct heart_state part;
				struct heart_band band;

				n = 1 + rand() % (cells.height - first);
				band = cells_band(&cells, first, n, &part);
				assert_int_equal(heart_cpu(isa, &band, &part), 0);
			}
			worst = fmax(worst, cells_error(&cells));
			cells_free(&cells);
		}
	print_message("heart: error %.2g\n", worst);
	assert_true(worst <= HEART_TOLERANCE / 10);
}

/* One step of each model, by hand: a cell with u = 0.5 beside one with 0.1 and half the
 * conductivity. */
static void test_heart_reference(void **state)
{
	struct heart_problem problem = {.steps = 1, .substeps = 1, .dt = 0.1f, .coupling = 0.2f};
	static const float conductivity[] = {1, 0.5f};
	static const double u[] = {0.5, 0.1}, w[] = {0.2, 0.6};
	double u_out[2], w_out[2];

	problem.model = HEART_MITCHELL_SCHAEFFER;
	heart_reference(&problem, 2, 1, conductivity, u, w, u_out, w_out);
	/* 0.46 + 0.1 (0.2 * 0.46^2 * 0.54 / 0.3 - 0.46 / 6) */
	assert_true(fabs(u_out[0] - 0.4599510) < 1e-6);
	assert_true(fabs(w_out[0] - (0.2 - 0.1 * 0.2 / 150)) < 1e-6);
	assert_true(fabs(w_out[1] - (0.6 - 0.1 * 0.6 / 150)) < 1e-6); /* 0.14 is above the gate */
	problem.model = HEART_ALIEV_PANFILOV;
	heart_reference(&problem, 2, 1, conductivity, u, w, u_out, w_out);
	/* 0.46 + 0.1 (8 * 0.46 * 0.31 * 0.54 - 0.46 * 0.2) */
	assert_true(fabs(u_out[0] - 0.5124032) < 1e-6);
	/* 0.2 + 0.1 (0.002 + 0.2 * 0.2 / 0.76) (-0.2 + 8 * 0.46 * 0.69) */
	assert_true(fabs(w_out[0] - 0.2127795) < 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_vecinc),
	    cmocka_unit_test(test_blackscholes),
	    cmocka_unit_test(test_blackscholes_reference),
	    cmocka_unit_test(test_blackscholes_strike_grows),
	    cmocka_unit_test(test_blackscholes_error_sees_wrong_prices),
	    cmocka_unit_test(test_histogram),
	    cmocka_unit_test(test_histogram_combine),
	    cmocka_unit_test(test_boxfilter),
	    cmocka_unit_test(test_boxfilter_large_windows),
	    cmocka_unit_test(test_boxfilter_reference),
	    cmocka_unit_test(test_spmv),
	    cmocka_unit_test(test_spmv_error_sees_wrong_sums),
	    cmocka_unit_test(test_eclat),
	    cmocka_unit_test(test_eclat_pairs),
	    cmocka_unit_test(test_heart),
	    cmocka_unit_test(test_heart_reference),
	    cmocka_unit_test(test_knn),
	    cmocka_unit_test(test_knn_ties),
	    cmocka_unit_test(test_mandelbrot),
	    cmocka_unit_test(test_nbody),
	    cmocka_unit_test(test_nbody_reference),
	    cmocka_unit_test(test_nbody_near),
	    cmocka_unit_test(test_mandelbrot_reference),
	    cmocka_unit_test(test_blackscholes_streamed),
	};

	seed = test_seed();
	srand(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
