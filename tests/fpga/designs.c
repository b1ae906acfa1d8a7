/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Test benches of the designs in codelets/: any length, pauses of every stream, a
 * reset in mid-stream, and for Black-Scholes the error over the whole range.
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"
#include "apps/common/random.h"
#include "codelets/blackscholes/blackscholes.h"
#include "fpga/run.h"

enum { BINS = 256, PATIENCE = 5000 };

static uint64_t seed, drawn;

static uint64_t draw(void)
{
	return app_random(seed, drawn++);
}

static double draw_real(double from, double to)
{
	return from + (to - from) * (draw() >> 11) * 0x1p-53;
}

/* Pauses half of the streams in each clock. */
static uint32_t pauses(void *arg)
{
	return draw();
}

static const struct fpga_design *load(const char *name, void **instance)
{
	const char *builddir = getenv("top_builddir");
	const struct fpga_design *design;
	char path[4096];
	void *object;

	snprintf(path, sizeof(path), "%s/bin/fpga/%s.fpga", builddir ? builddir : ".", name);
	object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object) {
		print_message("%s\n", dlerror());
		exit(77);
	}
	design = dlsym(object, FPGA_DESIGN_SYMBOL);
	assert_non_null(design);
	assert_int_equal(fpga_design_check(design), 0);
	*instance = design->create();
	assert_non_null(*instance);
	return design;
}

/* ---- histogram ---- */

struct count {
	const struct fpga_design *design;
	void *instance;
};

static struct fpga_run count_run(const uint8_t *bytes, uint64_t n, uint64_t *counters, bool paused)
{
	return (struct fpga_run){.inputs = {bytes, (const uint8_t *)counters},
	                         .outputs = {(uint8_t *)counters},
	                         .items = n,
	                         .patience = PATIENCE,
	                         .pauses = paused ? pauses : NULL};
}

/* `kinds` is how many byte values occur: few ones collide in a lane all the time. */
static void check_count(struct count *self, size_t n, unsigned kinds, bool paused)
{
	uint8_t *bytes = malloc(n + 1);
	uint64_t counters[BINS], right[BINS];
	struct fpga_run run = count_run(bytes, n, counters, paused);

	for (int b = 0; b < BINS; b++)
		right[b] = counters[b] = draw() >> (b % 64);
	for (size_t i = 0; i < n; i++)
		right[bytes[i] = draw() % kinds]++;
	assert_int_equal(fpga_run(self->design, self->instance, &run), 0);
	assert_memory_equal(counters, right, sizeof(right));
	free(bytes);
}

static void test_histogram(void **state)
{
	struct count self = {.design = load("histogram", &self.instance)};
	static const size_t lengths[] = {0, 1, 15, 16, 17, 31, 32, 33, 4096, 100003};

	for (size_t l = 0; l < sizeof(lengths) / sizeof(*lengths); l++)
		for (int paused = 0; paused < 2; paused++) {
			check_count(&self, lengths[l], BINS, paused);
			check_count(&self, lengths[l], 2, paused);
		}
	for (int i = 0; i < 40; i++)
		check_count(&self, draw() % 5000, 1 + draw() % BINS, draw() & 1);
	self.design->destroy(self.instance);
}

/* 16 bytes a clock, and no more than what the file states on top. */
static void test_histogram_clocks(void **state)
{
	struct count self = {.design = load("histogram", &self.instance)};
	static uint8_t bytes[160000];
	uint64_t counters[BINS] = {0};
	struct fpga_run run = count_run(bytes, sizeof(bytes), counters, false);

	check_count(&self, 1, 1, false);
	assert_int_equal(fpga_run(self.design, self.instance, &run), 0);
	print_message("histogram: %ju clocks for %zu bytes\n", (uintmax_t)run.clocks,
	              sizeof(bytes));
	assert_true(run.clocks <= sizeof(bytes) / 16 + BINS + 6);
	self.design->destroy(self.instance);
}

static void test_histogram_reset(void **state)
{
	struct count self = {.design = load("histogram", &self.instance)};
	static uint8_t bytes[10000];
	uint64_t counters[BINS] = {0};

	for (int i = 0; i < 30; i++) {
		struct fpga_run run = count_run(bytes, sizeof(bytes), counters, i & 1);

		run.stop_after = 1 + draw() % (sizeof(bytes) / 16 + BINS);
		assert_int_equal(fpga_run(self.design, self.instance, &run), -ECANCELED);
		fpga_reset(self.design, self.instance);
		check_count(&self, draw() % 3000, BINS, i & 2);
	}
	self.design->destroy(self.instance);
}

/* ---- Black-Scholes ---- */

enum { SPOT, STRIKE, YEARS, CALL, PUT, NARRAYS };

struct price {
	const struct fpga_design *design;
	void *instance;
	float *arrays[NARRAYS];
	size_t n;
	struct fpga_run run;
};

static void price_create(struct price *self, size_t n)
{
	*self = (struct price){.n = n};
	self->design = load("blackscholes", &self->instance);
	for (int a = 0; a < NARRAYS; a++)
		self->arrays[a] = malloc(n * sizeof(float));
}

static void price_destroy(struct price *self)
{
	for (int a = 0; a < NARRAYS; a++)
		free(self->arrays[a]);
	self->design->destroy(self->instance);
}

static int price(struct price *self, const struct blackscholes_market *market, size_t n,
                 bool paused)
{
	double r = market->rate, v = market->volatility;

	self->run =
	    (struct fpga_run){.items = n,
	                      .patience = PATIENCE,
	                      .stop_after = self->run.stop_after,
	                      .pauses = paused ? pauses : NULL,
	                      .registers = {lrint(r * 0x1p34), lrint(v * 0x1p28),
	                                    lrint((r + v * v / 2) * 0x1p30), lrint(0x1p26 / v)}};
	for (int a = 0; a < CALL; a++)
		self->run.inputs[a] = (const uint8_t *)self->arrays[a];
	for (int a = CALL; a < NARRAYS; a++) {
		memset(self->arrays[a], 0xff, n * sizeof(float));
		self->run.outputs[a - CALL] = (uint8_t *)self->arrays[a];
	}
	return fpga_run(self->design, self->instance, &self->run);
}

/* The largest absolute errors of what has been priced. */
static void errors(const struct price *self, const struct blackscholes_market *market, size_t n,
                   double worst[2])
{
	for (size_t i = 0; i < n; i++) {
		double right[2];

		blackscholes_reference(market, self->arrays[SPOT][i], self->arrays[STRIKE][i],
		                       self->arrays[YEARS][i], &right[0], &right[1]);
		for (int o = 0; o < 2; o++) {
			double error = fabs(self->arrays[CALL + o][i] - right[o]);

			/* What is not a number is the worst of all. */
			if (!(error <= worst[o]))
				worst[o] = error;
		}
	}
}

static const float end_256 = 0x1.fffffep7f, end_16 = 0x1.fffffep3f;

static float draw_price(void)
{
	/* Evenly over the range, and over its logarithm. */
	return fmin(draw() & 1 ? draw_real(1, 256) : exp(draw_real(0, log(256))), end_256);
}

static void fill(struct price *self)
{
	for (size_t i = 0; i < self->n; i++) {
		self->arrays[SPOT][i] = draw_price();
		self->arrays[STRIKE][i] =
		    draw() % 4
		        ? draw_price()
		        : fmin(fmax(self->arrays[SPOT][i] * draw_real(.99, 1.01), 1), end_256);
		self->arrays[YEARS][i] = fmin(exp(draw_real(log(1. / 32), log(16))), end_16);
	}
}

/* Every combination of the ends and some powers of two, with their neighbours. */
static size_t fill_corners(struct price *self)
{
	static const float prices[] = {1,  0x1.000002p0f, 1.9999999f, 2,   3,   63.999996f,
	                               64, 100,           127.99999f, 128, 255, 0x1.fffffep7f};
	static const float years[] = {0x1p-5f, 0x1.000002p-5f, 0x1p-4f, .25f, .5f, 1,
	                              2,       0x1.fffffep3f};
	size_t n = 0;

	for (size_t s = 0; s < sizeof(prices) / sizeof(*prices); s++)
		for (size_t k = 0; k < sizeof(prices) / sizeof(*prices); k++)
			for (size_t t = 0; t < sizeof(years) / sizeof(*years); t++, n++) {
				self->arrays[SPOT][n] = prices[s];
				self->arrays[STRIKE][n] = prices[k];
				self->arrays[YEARS][n] = years[t];
			}
	return n;
}

static void test_blackscholes_error(void **state)
{
	static const struct blackscholes_market markets[] = {
	    {0, 1. / 16}, {0, .3f},       {0, 1},     {.02f, .3f},          {.05f, .3f},
	    {.1f, .0625}, {.249f, .0625}, {.249f, 1}, {0x1.fffffep-3f, .7f}};
	struct price self;

	price_create(&self, 20000);
	print_message("  rate  volatility  random: call, put    corners: call, put\n");
	for (size_t m = 0; m < sizeof(markets) / sizeof(*markets); m++) {
		double random[2] = {0}, corners[2] = {0};
		size_t n;

		fill(&self);
		assert_int_equal(price(&self, &markets[m], self.n, false), 0);
		errors(&self, &markets[m], self.n, random);
		n = fill_corners(&self);
		assert_true(n <= self.n);
		assert_int_equal(price(&self, &markets[m], n, false), 0);
		errors(&self, &markets[m], n, corners);
		print_message("  %-5.3f %-10.4f  %.2e %.2e    %.2e %.2e\n", markets[m].rate,
		              markets[m].volatility, random[0], random[1], corners[0], corners[1]);
		for (int o = 0; o < 2; o++)
			assert_true(random[o] <= 1e-5 && corners[o] <= 1e-5);
	}
	price_destroy(&self);
}

static void test_blackscholes_streams(void **state)
{
	static const struct blackscholes_market market = {.05f, .3f};
	struct price self;
	float *once[2];

	price_create(&self, 3000);
	fill(&self);
	assert_int_equal(price(&self, &market, self.n, false), 0);
	print_message("blackscholes: %ju clocks for %zu options\n", (uintmax_t)self.run.clocks,
	              self.n);
	assert_true(self.run.clocks <= self.n + self.design->depth + 1);
	for (int o = 0; o < 2; o++) {
		once[o] = malloc(self.n * sizeof(float));
		memcpy(once[o], self.arrays[CALL + o], self.n * sizeof(float));
	}
	for (int i = 0; i < 60; i++) {
		size_t n = 1 + draw() % self.n;

		if (i % 3 == 2) {
			self.run.stop_after = 1 + draw() % n;
			assert_int_equal(price(&self, &market, n, i & 1), -ECANCELED);
			fpga_reset(self.design, self.instance);
			self.run.stop_after = 0;
		}
		assert_int_equal(price(&self, &market, n, i & 1), 0);
		for (int o = 0; o < 2; o++)
			assert_memory_equal(once[o], self.arrays[CALL + o], n * sizeof(float));
	}
	for (int o = 0; o < 2; o++)
		free(once[o]);
	price_destroy(&self);
}

/* Outside the range: flagged, and priced as at the nearer end. */
static void test_blackscholes_saturation(void **state)
{
	static const struct blackscholes_market market = {.05f, .3f};
	static const struct {
		int array;
		float outside, end;
	} cases[] = {{SPOT, 0, 1},
	             {SPOT, -5, 1},
	             {SPOT, 0.99999f, 1},
	             {SPOT, 256, 0x1.fffffep7f},
	             {STRIKE, 1e-40f, 1},
	             {STRIKE, 1e30f, 0x1.fffffep7f},
	             {STRIKE, INFINITY, 0x1.fffffep7f},
	             {YEARS, 0, 0x1p-5f},
	             {YEARS, -1, 0x1p-5f},
	             {YEARS, 16, 0x1.fffffep3f},
	             {YEARS, NAN, 0x1.fffffep3f}};
	struct price self;

	price_create(&self, 1);
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		double worst[2] = {0};

		fill(&self);
		self.arrays[cases[c].array][0] = cases[c].outside;
		assert_int_equal(price(&self, &market, 1, false), -EINVAL);
		assert_int_equal(self.run.status, 1 << cases[c].array);
		self.arrays[cases[c].array][0] = cases[c].end;
		errors(&self, &market, 1, worst);
		assert_true(worst[0] <= 1e-5 && worst[1] <= 1e-5);
		fpga_reset(self.design, self.instance);
		assert_int_equal(price(&self, &market, 1, false), 0);
	}
	price_destroy(&self);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_histogram),
	    cmocka_unit_test(test_histogram_clocks),
	    cmocka_unit_test(test_histogram_reset),
	    cmocka_unit_test(test_blackscholes_error),
	    cmocka_unit_test(test_blackscholes_streams),
	    cmocka_unit_test(test_blackscholes_saturation),
	};

	seed = test_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
