/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What tiles cost, from few of them; and which workers a wavefront is given to.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "partition/wavefront/choice.h"
#include "partition/wavefront/cost.h"
#include "partition/wavefront/calibration.h"
#include "tests/unit/test.h"

/* ---- costs ---- */

static double near(double a, double b, double tolerance)
{
	return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

static double random_between(unsigned *seed, double low, double high)
{
	return low + (high - low) * rand_r(seed) / RAND_MAX;
}

static const double shapes[][2] = {{128, 128}, {512, 512}, {128, 512}, {512, 128}, {2048, 2048}};
enum { NSHAPES = sizeof(shapes) / sizeof(*shapes) };

/* Samples without noise give the costs back; with 5 %, times of larger tiles of any shape
 * to within a factor. */
static void test_fit_finds_costs(void **state)
{
	unsigned seed = test_seed();

	for (int round = 0; round < 2000; round++) {
		struct wave_tile_sample samples[NSHAPES];
		struct wave_tile_cost cost = {.iteration = random_between(&seed, 2e-3, 2e-2)}, fit;

		if (rand_r(&seed) % 2)
			cost.us = random_between(&seed, 1, 50);
		if (rand_r(&seed) % 2)
			cost.row = random_between(&seed, 0.01, 1);
		if (rand_r(&seed) % 2)
			cost.column = random_between(&seed, 0.01, 1);
		for (int s = 0; s < NSHAPES; s++)
			samples[s] = (struct wave_tile_sample){
			    shapes[s][0], shapes[s][1],
			    wave_cost_us(&cost, shapes[s][0], shapes[s][1])};
		wave_cost_fit(samples, NSHAPES, false, &fit);
		assert_true(near(fit.iteration, cost.iteration, 1e-3));
		assert_true(near(fit.row, cost.row, 1e-3) || fabs(fit.row) < 1e-4);
		assert_true(near(fit.column, cost.column, 1e-3) || fabs(fit.column) < 1e-4);
		for (int s = 0; s < NSHAPES; s++)
			samples[s].us *= random_between(&seed, 0.95, 1.05);
		wave_cost_fit(samples, NSHAPES, false, &fit);
		assert_true(fit.us >= 0 && fit.row >= 0 && fit.column >= 0 && fit.iteration > 0);
		for (int s = 0; s < NSHAPES; s++) {
			double rows = 4 * shapes[s][0], columns = 4 * shapes[s][1];

			assert_true(wave_cost_us(&fit, rows, columns) <
			            1.6 * wave_cost_us(&cost, rows, columns));
			assert_true(wave_cost_us(&fit, rows, columns) >
			            wave_cost_us(&cost, rows, columns) / 1.6);
		}
	}
}

/* Times of the alignment of sequences on an NVIDIA H200, µs: a launch for every anti-diagonal.
 * From samples of up to 2048 rows follows what 8192 take. */
static void test_fit_extrapolates(void **state)
{
	static const struct wave_tile_sample samples[] = {
	    {128, 128, 53.8}, {128, 2048, 522.9}, {2048, 128, 520.8}, {2048, 2048, 1003.4}};
	struct wave_tile_cost fit;

	wave_cost_fit(samples, 4, false, &fit);
	print_message("us %g, row %g, column %g, iteration %g: %.0f us\n", fit.us, fit.row,
	              fit.column, fit.iteration, wave_cost_us(&fit, 8192, 8192));
	assert_true(near(wave_cost_us(&fit, 8192, 8192), 4130, 0.1));
	assert_true(fit.iteration >= 1003.4 / 2048 / 2048 / WAVE_COST_MOST * (1 - 1e-9));
}

/* Small samples, a microsecond wrong here and there: times follow rows and columns, and the
 * wrong microseconds are not taken for what an iteration costs. */
static void test_fit_of_noise(void **state)
{
	static const struct wave_tile_sample samples[] = {
	    {128, 128, 151}, {256, 256, 336}, {128, 256, 212}, {256, 128, 268}};
	struct wave_tile_cost fit;

	wave_cost_fit(samples, 4, false, &fit);
	print_message("us %g, row %g, column %g, iteration %g\n", fit.us, fit.row, fit.column,
	              fit.iteration);
	assert_true(fit.iteration <= 336.0 / 256 / 256 / WAVE_COST_MOST * (1 + 1e-9));
	assert_true(wave_cost_us(&fit, 8192, 8192) < 30000);
}

/* What tiles took an NVIDIA H200, µs: 128 x 128, 128 rows x 2048 columns, 2048 x 128,
 * 2048 x 2048, 8192 x 8192. */
static const struct device {
	const char *name;
	double us[5];
	size_t skew;
} devices[] = {{"strmatch", {54, 523, 521, 1003, 4130}, 0},
               {"floyd", {151, 767, 1977, 3022, 12471}, 1},
               {"heat2d", {208, 925, 2838, 4327, 17959}, 0}};

/* Straight lines between these, and beyond them. */
static double device_us(const struct device *device, double rows, double columns)
{
	const double *t = device->us, *end = device->us + 4;
	double x = (rows - 128) / 1920, y = (columns - 128) / 1920;
	double square = fmin(rows, columns);

	if (square > 2048)
		return t[3] + (*end - t[3]) * (square - 2048) / 6144 +
		       (rows - square) / 1920 * (t[2] - t[0]) +
		       (columns - square) / 1920 * (t[1] - t[0]);
	return t[0] + x * (t[2] - t[0]) + y * (t[1] - t[0]) +
	       fmin(1, x) * fmin(1, y) * (t[3] - t[1] - t[2] + t[0]);
}

/* The samples that a device is tried out on, noise on top, and what follows from them. The
 * first one wakes the device up. */
static double calibrate(const struct device *device, size_t side, double noise, unsigned *seed,
                        struct wave_calibration *calibration)
{
	struct wave_tile_cost cost;
	size_t rows, h;

	wave_calibration_init(calibration, side, side, device->skew, false);
	while (wave_calibration_next(calibration, &rows, &h)) {
		double us = device_us(device, rows, h) * random_between(seed, 1 - noise, 1 + noise);

		assert_true(rows >= 1 && rows <= side && h >= 1 && h <= side);
		wave_calibration_add(calibration, rows, h, (calibration->n ? 1 : 1.35) * us);
	}
	wave_calibration_cost(calibration, &cost);
	return wave_cost_us(&cost, side, side) / device_us(device, side, side);
}

/* From samples that take some milliseconds follows what 8192 x 8192 take, and twice that: to
 * within a quarter, with as much noise as there was. */
static void test_samples_extrapolate(void **state)
{
	unsigned seed = test_seed();

	for (unsigned d = 0; d < sizeof(devices) / sizeof(*devices); d++) {
		double least = INFINITY, most = 0, spent = 0;
		unsigned off = 0;

		for (int round = 0; round < 400; round++) {
			struct wave_calibration calibration;
			double part = calibrate(&devices[d], round % 2 ? 8192 : 16384, 0.03, &seed,
			                        &calibration);

			least = fmin(least, part);
			most = fmax(most, part);
			spent = fmax(spent, calibration.spent_us);
			off += part < 0.75 || part > 1.25;
			assert_true(calibration.n >= 4);
		}
		print_message("%s: %.2f to %.2f of what it takes, tried for %.0f us\n",
		              devices[d].name, least, most, spent);
		assert_true(off <= 4);
		assert_true(spent < 20000);
	}
}

/* Where iterations decide, that is found out too; and small or narrow loops have an end. */
static void test_samples_of_iterations(void **state)
{
	static const size_t sides[] = {1, 2, 40, 300, 5000, 60000};
	enum { NSIDES = sizeof(sides) / sizeof(*sides) };

	for (int i = 0; i < NSIDES * NSIDES * 4; i++) {
		size_t all_rows = sides[i / 4 % NSIDES], columns = sides[i / 4 / NSIDES], rows, h;
		const struct wave_tile_cost truth = {.us = 30,
		                                     .iteration = i % 4 < 2 ? 5e-5 : 0.02};
		struct wave_tile_cost cost;
		struct wave_calibration calibration;
		unsigned asked = 0;

		wave_calibration_init(&calibration, all_rows, columns, i % 2, i % 4 == 1);
		while (wave_calibration_next(&calibration, &rows, &h)) {
			assert_true(rows >= 1 && rows <= all_rows && h >= 1 && h <= columns);
			assert_true(wave_calibration_columns(&calibration, rows, h) <= columns);
			assert_true(++asked < 20);
			wave_calibration_add(&calibration, rows, h, wave_cost_us(&truth, rows, h));
		}
		wave_calibration_cost(&calibration, &cost);
		assert_true(calibration.n >= 1 && cost.iteration > 0);
		if (all_rows < 5000 || columns < 5000)
			continue;
		assert_true(
		    near(wave_cost_us(&cost, 5000, 5000), wave_cost_us(&truth, 5000, 5000), 0.1));
	}
}

/* Whatever disturbs a core, iterations are what tiles cost there. */
static void test_samples_of_a_core(void **state)
{
	const struct wave_tile_cost truth = {.us = 1, .row = 0.07, .iteration = 0.0018};
	unsigned seed = test_seed();

	for (int round = 0; round < 1000; round++) {
		struct wave_tile_cost cost;
		struct wave_calibration calibration;
		size_t rows, h;
		double part;

		wave_calibration_init(&calibration, 8192, 8192, round % 2, true);
		while (wave_calibration_next(&calibration, &rows, &h))
			wave_calibration_add(&calibration, rows, h,
			                     wave_cost_us(&truth, rows, h) *
			                         random_between(&seed, 1, 1.4));
		wave_calibration_cost(&calibration, &cost);
		part = wave_cost_us(&cost, 4096, 2048) / wave_cost_us(&truth, 4096, 2048);
		assert_true(part > 0.5 && part < 2);
	}
}

/* Other programs use the core now and then: what took much longer than the rest says is timed
 * again. */
static void test_samples_disturbed(void **state)
{
	const struct wave_tile_cost truth = {
	    .us = 2, .row = 0.009, .column = 0.008, .iteration = 0.0004};
	unsigned seed = test_seed(), wrong = 0;

	for (int round = 0; round < 1000; round++) {
		struct wave_calibration calibration;
		struct wave_tile_cost cost;
		size_t rows, h;
		double part;

		wave_calibration_init(&calibration, 12000, 24000, 0, true);
		for (int t = 0; wave_calibration_next(&calibration, &rows, &h); t++) {
			double us = wave_cost_us(&truth, rows, h) * random_between(&seed, 1, 1.1);

			assert_true(t < 3 * WAVE_CALIBRATION_MOST);
			if (t % 4 == round % 4)
				us *= random_between(&seed, 2, 20);
			wave_calibration_add(&calibration, rows, h, us);
		}
		wave_calibration_cost(&calibration, &cost);
		part = wave_cost_us(&cost, 12000, 1024) / wave_cost_us(&truth, 12000, 1024);
		wrong += part < 0.8 || part > 1.25;
	}
	if (wrong > 10)
		fail_msg("%u of 1000 are wrong", wrong);
}

/* One sample that the machine disturbed is told from the others, whichever it is. */
static void test_fit_leaves_out(void **state)
{
	const struct wave_tile_cost truth = {
	    .us = 3, .row = 0.1, .column = 0.02, .iteration = 0.002};
	static const double sides[][2] = {{32, 64},   {128, 256}, {512, 1024},
	                                  {64, 1024}, {512, 128}, {256, 512}};
	enum { NSIDES = sizeof(sides) / sizeof(*sides) };

	for (unsigned late = 0; late < NSIDES; late++) {
		struct wave_tile_sample samples[NSIDES];
		struct wave_tile_cost fit;

		for (unsigned s = 0; s < NSIDES; s++) {
			double us = wave_cost_us(&truth, sides[s][0], sides[s][1]);

			samples[s] = (struct wave_tile_sample){sides[s][0], sides[s][1],
			                                       s == late ? 3 * us : us};
		}
		wave_cost_fit(samples, NSIDES, true, &fit);
		assert_true(near(fit.iteration, truth.iteration, 1e-6));
		assert_true(near(fit.row, truth.row, 1e-6));
	}
}

static void test_fit_of_little(void **state)
{
	struct wave_tile_sample samples[] = {{32, 64, 4.096}, {128, 256, 65.536}};
	struct wave_tile_cost fit;

	for (unsigned n = 1; n <= 2; n++) {
		wave_cost_fit(samples, n, n == 1, &fit);
		assert_true(near(fit.iteration, 0.002, 1e-9));
		assert_true(fit.us == 0 && fit.row == 0 && fit.column == 0);
	}
}

/* ---- teams ---- */

static const unsigned most = 64;

static double time_of(struct wave_model model, unsigned first, unsigned second)
{
	unsigned k;
	size_t h;

	model.kinds[0].count = first;
	model.kinds[1].count = second;
	return wave_model_least_time(&model, most, 8, &h, &k);
}

static unsigned choose(struct wave_model *model, unsigned most_bands, double minimum_rows,
                       const struct wave_run *runs, unsigned nruns)
{
	unsigned k;
	size_t h;

	return wave_choose(model, most_bands, minimum_rows, runs, nruns, NULL, true, &h, &k);
}

/* 64 K x 64 K letters, 15 cores and a GPU whose tiles take as long as they have
 * anti-diagonals. */
static struct wave_model alignment(void)
{
	return (struct wave_model){
	    .rows = 65536,
	    .columns = 65536,
	    .nkinds = 2,
	    .kinds = {{.name = "gpu",
	               .count = 1,
	               .cp = 4e-6,
	               .cr = 0.245,
	               .more_cd = 20,
	               .more_cc = 0.125},
	              {.name = "core", .count = 15, .cp = 0.00045, .more_cd = 1}}};
}

static void test_accelerator_alone(void **state)
{
	struct wave_model model = alignment();
	double gpu = time_of(model, 1, 0), cores = time_of(model, 0, 15);

	print_message("GPU %.0f us, cores %.0f us\n", gpu, cores);
	assert_true(gpu < cores / 2);
	assert_int_equal(choose(&model, most, 8, NULL, 0), 15);
	assert_int_equal(model.kinds[0].count, 1);
	assert_int_equal(model.kinds[1].count, 0);
}

/* A worker alone has one tile, and nothing else is tried, however wrong the model was. */
static void test_one_alone_tries_nothing(void **state)
{
	struct wave_model model = alignment(), chosen;
	struct wave_run run = {.h = model.columns, .k = 1, .n = 3, .counts = {1}};
	unsigned k;
	size_t h;

	model.nkinds = 1;
	/* Two tiles would cost as good as nothing more. */
	model.kinds[0].cr = model.kinds[0].more_cc = 0;
	model.kinds[0].more_cd = 0.1;
	run.us = 3 * time_of(model, 1, 0);
	chosen = model;
	wave_choose(&chosen, most, 8, &run, 1, NULL, true, &h, &k);
	assert_int_equal(h, model.columns);
	assert_int_equal(k, 1);
}

/* A run corrects the prediction: its own, and that of other h and k by as much. */
static void test_prediction(void **state)
{
	struct wave_model team = alignment();
	struct wave_run runs[2] = {{.counts = {0, 15}, .h = 400, .k = 2, .n = 9, .us = 1},
	                           {.counts = {1, 0}, .h = 400, .k = 2, .n = 1, .us = 1}};
	double other;

	team.kinds[0].count = 0;
	/* Nothing is known of this team, or not the latest time. */
	assert_float_equal(wave_choice_predict(&team, 400, 2, 7, runs, 0), 7, 0);
	runs[1].latest_us = 5e6;
	assert_float_equal(wave_choice_predict(&team, 400, 2, 7, runs, 2), 7, 0);
	runs[0].latest_us = 1e6;
	assert_float_equal(wave_choice_predict(&team, 400, 2, 7, runs, 2), 1e6, 0);
	assert_float_equal(wave_choice_predict(&team, 410, 2, 7, runs, 2), 1e6, 0);
	other = wave_choice_predict(&team, 1000, 4, 7, runs, 2);
	team.k = 2;
	other /= 1e6 / wave_model_pipelined_time(&team, 400);
	team.k = 4;
	assert_float_equal(other, wave_model_pipelined_time(&team, 1000), 1e-6 * other);
	/* The nearest one counts. */
	runs[1] = (struct wave_run){.counts = {0, 15}, .h = 1000, .k = 4, .latest_us = 3e6};
	assert_float_equal(wave_choice_predict(&team, 1000, 4, 7, runs, 2), 3e6, 0);
}

static void test_cores_alone(void **state)
{
	struct wave_model model = alignment();

	/* Small, so that the GPU never gets into its stride. */
	model.rows = model.columns = 2000;
	assert_int_equal(choose(&model, most, 8, NULL, 0), 1);
	assert_int_equal(model.kinds[0].count, 0);
	assert_int_equal(model.kinds[1].count, 15);
}

static void test_all(void **state)
{
	struct wave_model model = alignment();

	/* As fast as eight cores, and with nothing that makes it want high bands. */
	model.kinds[0] = (struct wave_kind){
	    .name = "gpu", .count = 1, .cp = 0.00045 / 8, .more_cd = 20, .more_cc = 0.001};
	assert_int_equal(choose(&model, most, 8, NULL, 0), 0);
	/* Where the gain is small, caution leaves it out. */
	model.kinds[0].cp = 0.00045;
	assert_int_equal(choose(&model, most, 8, NULL, 0), 1);
	assert_int_equal(model.kinds[0].count, 0);
}

/* A team at the model's best h and k. */
static struct wave_run run_of(struct wave_model model, unsigned first, unsigned second, unsigned n,
                              double factor)
{
	struct wave_run run = {.counts = {first, second}, .n = n};

	model.kinds[0].count = first;
	model.kinds[1].count = second;
	run.us = factor * wave_model_least_time(&model, most, 8, &run.h, &run.k);
	return run;
}

/* What was measured corrects a wrong choice, and is believed fully the second time. */
static void test_runs(void **state)
{
	struct wave_model model = alignment();
	double cores = time_of(model, 0, 15), gpu = time_of(model, 1, 0);
	struct wave_run runs[2] = {run_of(model, 1, 0, 1, 1.5 * cores / gpu),
	                           run_of(model, 0, 15, 2, 1.1)};

	/* Half believed, the GPU still looks better. */
	choose(&model, most, 8, runs, 1);
	assert_int_equal(model.kinds[1].count, 0);
	runs[0].n = 2;
	model = alignment();
	choose(&model, most, 8, runs, 1);
	assert_int_equal(model.kinds[0].count, 0);
	assert_int_equal(model.kinds[1].count, 15);
	/* That cores take longer than predicted is no reason to try fewer of them. */
	runs[1].us = 3 * cores;
	model = alignment();
	model.kinds[0].cp = 1;
	choose(&model, most, 8, &runs[1], 1);
	assert_int_equal(model.kinds[1].count, 15);
	runs[1].us = 1.1 * cores;
	/* Of two that are known the better one. */
	runs[0].us = 1.05 * cores;
	model = alignment();
	choose(&model, most, 8, runs, 2);
	assert_int_equal(model.kinds[1].count, 0);
}

/* Of one team's pairs of h and k the best that was measured counts; where the model explains
 * it, nothing else is tried. */
static void test_trials_of_plans(void **state)
{
	struct wave_model model = alignment();
	struct wave_run runs[2];
	unsigned k;
	size_t h;

	model.kinds[0].count = 0;
	runs[0] = run_of(model, 0, 15, 2, 1.1);
	runs[1] = runs[0];
	runs[1].h *= 4;
	runs[1].us *= 0.9;
	assert_int_equal(wave_choose(&model, most, 8, runs, 2, NULL, true, &h, &k), 0);
	assert_int_equal(h, runs[1].h);
	assert_int_equal(k, runs[1].k);
	runs[1].us = runs[0].us * 1.05;
	wave_choose(&model, most, 8, runs, 2, NULL, true, &h, &k);
	assert_int_equal(h, runs[0].h);
	/* The model misses something: another pair is tried, and each only once. */
	for (unsigned n = 1; n <= 2; n++) {
		runs[0].us = 1.4 * runs[0].us;
		wave_choose(&model, most, 8, runs, n, NULL, true, &h, &k);
		for (unsigned t = 0; t < n; t++)
			assert_false(wave_choice_is_about(h, k, runs[t].h, runs[t].k));
		runs[1] = (struct wave_run){.counts = {0, 15}, .h = h, .k = k, .n = 2};
		runs[1].us = 2 * runs[0].us;
	}
	/* Who may not explore gets the best that is known. */
	wave_choose(&model, most, 8, runs, 1, NULL, false, &h, &k);
	assert_true(wave_choice_is_about(h, k, runs[0].h, runs[0].k));
	/* A worker that is not there is not waited for. */
	model.kinds[1].count = 14;
	wave_choose(&model, most, 8, runs, 1, NULL, true, &h, &k);
	assert_int_equal(model.kinds[1].count, 14);
}

/* ---- a machine that is not as the model says ---- */

static struct wave_model machine(unsigned *seed)
{
	struct wave_model model = alignment();

	model.rows = model.columns = random_between(seed, 4000, 40000);
	model.skew = rand_r(seed) % 2;
	model.kinds[0].cp = random_between(seed, 5e-6, 5e-5);
	model.kinds[0].cr = random_between(seed, 0.2, 1.5);
	model.kinds[0].more_cc = random_between(seed, 0.1, 0.3);
	model.kinds[1].cp = random_between(seed, 0.0004, 0.004);
	model.kinds[1].cr = random_between(seed, 0, 0.08);
	model.kinds[1].more_cd = random_between(seed, 2, 8);
	return model;
}

static void disguise(struct wave_kind *kind, unsigned *seed)
{
	kind->cp *= random_between(seed, 0.6, 1.6);
	kind->cr *= random_between(seed, 0.6, 1.6);
	kind->more_cd *= random_between(seed, 0.3, 4);
	kind->more_cc *= random_between(seed, 0.6, 1.6);
}

/* One loop: chosen by the model and the runs so far, it takes what it takes. */
static double repeat(const struct wave_model *model, const struct wave_model *truth,
                     struct wave_run *runs, unsigned *nruns, double disturbance)
{
	struct wave_run now = {.n = 1};
	struct wave_model team = *model, real = *truth;
	unsigned t = 0;
	double us;

	wave_choose(&team, most, 8, runs, *nruns, NULL, true, &now.h, &now.k);
	for (unsigned j = 0; j < 2; j++)
		real.kinds[j].count = now.counts[j] = team.kinds[j].count;
	real.k = now.k;
	us = wave_model_pipelined_time(&real, now.h);
	now.us = us * disturbance;
	while (t < *nruns &&
	       !(runs[t].counts[0] == now.counts[0] && runs[t].counts[1] == now.counts[1] &&
	         wave_choice_is_about(runs[t].h, runs[t].k, now.h, now.k)))
		t++;
	if (t == *nruns) {
		assert_true(*nruns < WAVE_CHOICE_MOST_RUNS);
		runs[(*nruns)++] = now;
		return us;
	}
	runs[t].n++;
	runs[t].us = fmin(runs[t].us, now.us);
	return us;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Nine repetitions, of which the first takes longer, and nine more: the median of the second
 * nine is, but for a few machines, no worse than the better kind of worker alone at the best
 * h and k that it has. */
static void test_repetitions(void **state)
{
	enum { ROUNDS = 200, REPS = 9 };
	unsigned seed = test_seed(), worse = 0;
	double worst = 0, first_worst = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct wave_model model = machine(&seed), truth = model;
		struct wave_run runs[WAVE_CHOICE_MOST_RUNS];
		double us[2][REPS], best;
		unsigned nruns = 0;

		for (unsigned j = 0; j < 2; j++)
			disguise(&truth.kinds[j], &seed);
		best = fmin(time_of(truth, 1, 0), time_of(truth, 0, 15));
		for (int r = 0; r < 2 * REPS; r++)
			us[r / REPS][r % REPS] =
			    repeat(&model, &truth, runs, &nruns,
			           random_between(&seed, 1, 1.04) * (r ? 1 : 1.3));
		for (int process = 0; process < 2; process++)
			qsort(us[process], REPS, sizeof(**us), ascending);
		first_worst = fmax(first_worst, us[0][REPS / 2] / best);
		worst = fmax(worst, us[1][REPS / 2] / best);
		worse += us[1][REPS / 2] > 1.05 * best;
	}
	print_message("median of the first nine: at most %.3f of the better kind, of the second "
	              "nine: at most %.3f, %u of %d above 1.05\n",
	              first_worst, worst, worse, ROUNDS);
	assert_true(worse <= ROUNDS / 10);
	assert_true(worst < 2 && first_worst < 2);
}

/* No team that wave_choose() looks at by its own rules is better than what it chooses. */
static void test_choice_is_best(void **state)
{
	unsigned seed = test_seed();

	for (int round = 0; round < 100; round++) {
		struct wave_model model = {.rows = 100 + rand_r(&seed) % 20000,
		                           .columns = 100 + rand_r(&seed) % 20000,
		                           .sweeps = rand_r(&seed) % 3,
		                           .skew = rand_r(&seed) % 2,
		                           .nkinds = 2};
		unsigned counts[2];
		double chosen;

		for (int j = 0; j < 2; j++) {
			model.kinds[j] = (struct wave_kind){
			    .count = counts[j] = 1 + rand_r(&seed) % (j ? 16 : 2),
			    .cp = random_between(&seed, 1e-5, 1e-2),
			    .cr = j ? 0 : random_between(&seed, 0, 1),
			    .more_cd = random_between(&seed, 1, 50)};
		}
		choose(&model, most, 8, NULL, 0);
		assert_true(wave_model_workers(&model) >= 1);
		chosen = time_of(model, model.kinds[0].count, model.kinds[1].count);
		assert_true(chosen <= time_of(model, counts[0], 0) * (1 + 1e-12));
		assert_true(chosen <= time_of(model, 0, counts[1]) * (1 + 1e-12));
		assert_true(WAVE_CHOICE_CAUTION * chosen <=
		            time_of(model, counts[0], counts[1]) * (1 + 1e-12));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fit_finds_costs),
	    cmocka_unit_test(test_fit_extrapolates),
	    cmocka_unit_test(test_fit_of_noise),
	    cmocka_unit_test(test_samples_disturbed),
	    cmocka_unit_test(test_fit_leaves_out),
	    cmocka_unit_test(test_fit_of_little),
	    cmocka_unit_test(test_samples_extrapolate),
	    cmocka_unit_test(test_samples_of_iterations),
	    cmocka_unit_test(test_samples_of_a_core),
	    cmocka_unit_test(test_accelerator_alone),
	    cmocka_unit_test(test_one_alone_tries_nothing),
	    cmocka_unit_test(test_prediction),
	    cmocka_unit_test(test_cores_alone),
	    cmocka_unit_test(test_all),
	    cmocka_unit_test(test_runs),
	    cmocka_unit_test(test_trials_of_plans),
	    cmocka_unit_test(test_repetitions),
	    cmocka_unit_test(test_choice_is_best),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
