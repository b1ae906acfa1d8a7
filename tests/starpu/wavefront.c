/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Wavefronts on native workers, CPU and OpenCL, against the sequential loop: every sort
 * of array, vectors to the right and below, sweeps, every h, k, strategy and policy.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include <starpu.h>
#ifdef HEDDLE_USE_OPENCL
#include <starpu_opencl.h>
#endif

#include <heddle/heddle.h>

#include "estimator/profile_file.h"
#include "tests/unit/test.h"

enum { MAXOFFSETS = 8, LATE_ROWS = 600 };

static bool brief; /* HEDDLE_TEST_SHORT: fewer rounds */

/* ---- a loop that mixes an element with its neighbours ---- */

/* Element (i, j) becomes a hash of itself and of the elements at (i - row, j - column) for
 * all offsets, as far as there are any, in their order. */
struct mixing {
	unsigned noffsets;
	int rows[MAXOFFSETS], columns[MAXOFFSETS];
};

static uint32_t mix(uint32_t a, uint32_t b)
{
	return (a ^ b) * 2654435761u + (b >> 7) + 1;
}

static void mix_element(const struct mixing *mixing, uint32_t *p, size_t ld, size_t i, size_t j,
                        size_t rows, size_t columns)
{
	uint32_t v = *p;

	for (unsigned o = 0; o < mixing->noffsets; o++) {
		long row = (long)i - mixing->rows[o], column = (long)j - mixing->columns[o];

		if (row >= 0 && row < (long)rows && column >= 0 && column < (long)columns)
			v = mix(v, p[-(long)ld * mixing->rows[o] - mixing->columns[o]]);
	}
	*p = mix(v, (uint32_t)(i * 31 + j));
}

static bool one_is_slow;

/* Sweeps in which this worker is slow, where one of them is to be. */
static void delay(const struct heddle_tile *tile)
{
	enum { SWEEPS = 5 };

	if (one_is_slow &&
	    tile->sweep / SWEEPS % starpu_worker_get_count() == (size_t)starpu_worker_get_id())
		starpu_sleep(0.0004);
}

static void mix_cpu(void *buffers[], void *arg)
{
	const struct heddle_tile *tile = arg;
	uint32_t *field = (uint32_t *)STARPU_MATRIX_GET_PTR(buffers[0]);
	size_t ld = STARPU_MATRIX_GET_LD(buffers[0]);

	delay(tile);
	assert_int_equal(STARPU_MATRIX_GET_NY(buffers[0]), tile->rows);
	for (size_t r = 0; r < tile->rows; r++)
		for (size_t c = heddle_tile_begin(tile, r); c < heddle_tile_end(tile, r); c++)
			mix_element(tile->arg, &field[r * ld + c], ld, tile->row + r, c,
			            tile->total_rows, tile->total_columns);
}

/* ---- a loop with a state from row to row and one from column to column ---- */

/* What a row hands on to its next column. */
struct left {
	uint32_t left, diagonal;
};

/* The longest common subsequence, with the whole table as an output. */
static void common(uint32_t *state, struct left *row, unsigned char a, unsigned char b,
                   uint32_t *out)
{
	uint32_t above = *state, v;

	v = a == b ? row->diagonal + 1 : above > row->left ? above : row->left;
	row->diagonal = above;
	row->left = *state = v;
	*out = v;
}

static void common_cpu(void *buffers[], void *arg)
{
	const struct heddle_tile *tile = arg;
	const unsigned char *a = (const unsigned char *)STARPU_VECTOR_GET_PTR(buffers[0]);
	const unsigned char *b = (const unsigned char *)STARPU_VECTOR_GET_PTR(buffers[1]);
	struct left *rows = (struct left *)STARPU_VECTOR_GET_PTR(buffers[2]);
	uint32_t *state = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[3]);
	uint32_t *table = (uint32_t *)STARPU_MATRIX_GET_PTR(buffers[4]);
	size_t ld = STARPU_MATRIX_GET_LD(buffers[4]);

	for (size_t r = 0; r < tile->rows; r++)
		for (size_t c = heddle_tile_begin(tile, r); c < heddle_tile_end(tile, r); c++)
			common(&state[c], &rows[r], a[r], b[c], &table[r * ld + c]);
}

static void fail_cpu(void *buffers[], void *arg)
{
	struct heddle_tile *tile = arg;

	if (tile->row && tile->column > 20)
		tile->status = -EDOM;
}

/* ---- on OpenCL: one work-item, the order of the loop ---- */

#ifdef HEDDLE_USE_OPENCL
static struct starpu_opencl_program program;
static const char source[] =
    "uint mix(uint a, uint b) { return (a ^ b) * 2654435761u + (b >> 7) + 1; }\n"
    "long begin(long column, long skew, long r, long total)\n"
    "{ long c = column - skew * r; return c < 0 ? 0 : c < total ? c : total; }\n"
    "struct mixing { uint n; int rows[8], columns[8]; };\n"
    "__kernel void mixes(long row, long rows, long column, long h, long skew, long trows,\n"
    "  long tcolumns, struct mixing m, __global uint *f, ulong offset, ulong ld)\n"
    "{ f += offset / 4;\n"
    "  for (long r = 0; r < rows; r++)\n"
    "    for (long c = begin(column, skew, r, tcolumns);\n"
    "         c < begin(column + h, skew, r, tcolumns); c++) {\n"
    "      __global uint *p = f + r * (long)ld + c; uint v = *p;\n"
    "      for (uint o = 0; o < m.n; o++) { long i = row + r - m.rows[o], j = c - m.columns[o];\n"
    "        if (i >= 0 && i < trows && j >= 0 && j < tcolumns)\n"
    "          v = mix(v, p[-(long)ld * m.rows[o] - m.columns[o]]); }\n"
    "      *p = mix(v, (uint)((row + r) * 31 + c)); } }\n"
    "__kernel void commons(long row, long rows, long column, long h, long skew, long trows,\n"
    "  long tcolumns, __global uchar *a, ulong ao, __global uchar *b, ulong bo,\n"
    "  __global uint2 *w, ulong wo, __global uint *s, ulong so, __global uint *t, ulong to,\n"
    "  ulong ld)\n"
    "{ a += ao; b += bo; w += wo / 8; s += so / 4; t += to / 4;\n"
    "  for (long r = 0; r < rows; r++)\n"
    "    for (long c = begin(column, skew, r, tcolumns);\n"
    "         c < begin(column + h, skew, r, tcolumns); c++) {\n"
    "      uint above = s[c], v = a[r] == b[c] ? w[r].y + 1 : above > w[r].x ? above : w[r].x;\n"
    "      w[r].y = above; w[r].x = v; s[c] = v; t[r * (long)ld + c] = v; } }\n";

struct launch {
	cl_kernel kernel;
	cl_command_queue queue;
	cl_uint n;
};

static void argument(struct launch *launch, size_t size, const void *value)
{
	assert_int_equal(clSetKernelArg(launch->kernel, launch->n++, size, value), CL_SUCCESS);
}

static void buffer(struct launch *launch, uintptr_t handle, size_t offset)
{
	cl_mem memory = (cl_mem)handle;
	cl_ulong bytes = offset;

	argument(launch, sizeof(memory), &memory);
	argument(launch, sizeof(bytes), &bytes);
}

static void launch_begin(struct launch *launch, const char *name, const struct heddle_tile *tile)
{
	const cl_long scalars[] = {tile->row,  tile->rows,       tile->column,       tile->columns,
	                           tile->skew, tile->total_rows, tile->total_columns};

	launch->n = 0;
	assert_int_equal(
	    starpu_opencl_load_kernel(&launch->kernel, &launch->queue, &program, name,
	                              starpu_worker_get_devid(starpu_worker_get_id_check())),
	    CL_SUCCESS);
	for (size_t i = 0; i < sizeof(scalars) / sizeof(*scalars); i++)
		argument(launch, sizeof(cl_long), &scalars[i]);
}

static void launch_end(struct launch *launch)
{
	size_t one = 1;

	assert_int_equal(clEnqueueNDRangeKernel(launch->queue, launch->kernel, 1, NULL, &one, &one,
	                                        0, NULL, NULL),
	                 CL_SUCCESS);
	starpu_opencl_release_kernel(launch->kernel);
}

static void mix_opencl(void *buffers[], void *arg)
{
	const struct heddle_tile *tile = arg;
	cl_ulong ld = STARPU_MATRIX_GET_LD(buffers[0]);
	struct launch launch;

	delay(tile);
	launch_begin(&launch, "mixes", tile);
	argument(&launch, sizeof(struct mixing), tile->arg);
	buffer(&launch, STARPU_MATRIX_GET_DEV_HANDLE(buffers[0]),
	       STARPU_MATRIX_GET_OFFSET(buffers[0]));
	argument(&launch, sizeof(ld), &ld);
	launch_end(&launch);
}

static void common_opencl(void *buffers[], void *arg)
{
	cl_ulong ld = STARPU_MATRIX_GET_LD(buffers[4]);
	struct launch launch;

	launch_begin(&launch, "commons", arg);
	for (int i = 0; i < 4; i++)
		buffer(&launch, STARPU_VECTOR_GET_DEV_HANDLE(buffers[i]),
		       STARPU_VECTOR_GET_OFFSET(buffers[i]));
	buffer(&launch, STARPU_MATRIX_GET_DEV_HANDLE(buffers[4]),
	       STARPU_MATRIX_GET_OFFSET(buffers[4]));
	argument(&launch, sizeof(ld), &ld);
	launch_end(&launch);
}
#define OPENCL(function) .opencl_funcs = {function}, .opencl_flags = {STARPU_OPENCL_ASYNC},
#else
#define OPENCL(function)
#endif

static struct starpu_codelet mix_codelet = {.cpu_funcs = {mix_cpu},
                                            OPENCL(mix_opencl).name = "mix"};
static struct starpu_codelet common_codelet = {.cpu_funcs = {common_cpu},
                                               OPENCL(common_opencl).name = "common"};
static struct starpu_codelet fail_codelet = {.cpu_funcs = {fail_cpu}, .name = "fail"};

/* ---- running ---- */

static void init(const char *policy)
{
	struct starpu_conf conf;

	starpu_conf_init(&conf);
	conf.sched_policy_name = policy;
	assert_int_equal(starpu_init(&conf), 0);
#ifdef HEDDLE_USE_OPENCL
	if (starpu_opencl_worker_get_count())
		assert_int_equal(starpu_opencl_load_opencl_from_string(source, &program, NULL), 0);
#endif
}

static void fini(void)
{
#ifdef HEDDLE_USE_OPENCL
	if (starpu_opencl_worker_get_count())
		starpu_opencl_unload_opencl(&program);
#endif
	starpu_shutdown();
}

static int between(unsigned *seed, int least, int most)
{
	return least + rand_r(seed) % (most - least + 1);
}

/* Offsets are lexicographically positive; over several sweeps the opposite ones are read,
 * too, and every reader of an element comes before it changes again. */
static void random_mixing(struct heddle_wavefront *wave, struct mixing *mixing, unsigned *seed)
{
	unsigned n = between(seed, 1, wave->sweeps > 1 ? MAXOFFSETS / 2 : MAXOFFSETS);

	mixing->noffsets = wave->nvectors = 0;
	for (unsigned i = 0; i < n; i++) {
		int row = between(seed, 0, 3),
		    column = row ? between(seed, -3, 3) : between(seed, 1, 3);

		mixing->rows[mixing->noffsets] = row;
		mixing->columns[mixing->noffsets++] = column;
		wave->vectors[wave->nvectors++] =
		    (struct heddle_dependence){.row = row, .column = column};
		if (wave->sweeps == 1)
			continue;
		mixing->rows[mixing->noffsets] = -row;
		mixing->columns[mixing->noffsets++] = -column;
		wave->vectors[wave->nvectors++] =
		    (struct heddle_dependence){.row = -row, .column = -column, .sweep = 1};
	}
}

static void mix_once(struct heddle_wavefront *wave, struct mixing *mixing, size_t ld,
                     unsigned *seed, struct heddle_wavefront_stats *stats)
{
	size_t n = wave->rows * ld;
	uint32_t *field = malloc(n * sizeof(*field)), *expected = malloc(n * sizeof(*expected));

	for (size_t i = 0; i < n; i++)
		field[i] = expected[i] = rand_r(seed);
	for (size_t s = 0; s < wave->sweeps; s++)
		for (size_t i = 0; i < wave->rows; i++)
			for (size_t j = 0; j < wave->columns; j++)
				mix_element(mixing, &expected[i * ld + j], ld, i, j, wave->rows,
				            wave->columns);
	wave->narrays = 1;
	wave->arrays[0] =
	    (struct heddle_wave_array){.mode = STARPU_RW, .extent = HEDDLE_FIELD_HALO};
	starpu_matrix_data_register(&wave->arrays[0].handle, STARPU_MAIN_RAM, (uintptr_t)field, ld,
	                            wave->columns, wave->rows, sizeof(*field));
	assert_int_equal(heddle_wavefront_run(wave, stats), 0);
	starpu_data_unregister(wave->arrays[0].handle);
	assert_memory_equal(field, expected, n * sizeof(*field));
	free(field);
	free(expected);
}

static void random_shape(struct heddle_wavefront *wave, unsigned *seed)
{
	wave->rows = between(seed, 1, 90);
	wave->columns = between(seed, 1, 120);
	wave->tile_columns = between(seed, 0, 3) ? between(seed, 5, 40) : 0;
	wave->bands_per_worker = between(seed, 0, 3) ? between(seed, 1, 4) : 0;
}

/* Returns how many boundaries crossed between memories. */
static size_t mixes(unsigned rounds, unsigned *seed)
{
	size_t messages = 0;

	for (unsigned round = 0; round < rounds; round++) {
		struct mixing mixing;
		struct heddle_wavefront wave = {.codelet = &mix_codelet, .arg = &mixing};
		struct heddle_wavefront_stats stats;
		size_t tiles = 0;

		random_shape(&wave, seed);
		wave.sweeps = between(seed, 0, 2) ? 1 : 4;
		random_mixing(&wave, &mixing, seed);
		mix_once(&wave, &mixing, wave.columns + between(seed, 0, 5), seed, &stats);
		for (unsigned w = 0; w < stats.nworkers; w++)
			tiles += stats.workers[w].blocks;
		assert_int_equal(tiles, stats.tiles);
		assert_true(stats.tile_columns > 0 && stats.bands_per_worker > 0 &&
		            stats.bands > 0);
		messages += stats.messages;
	}
	return messages;
}

static void commons(unsigned rounds, unsigned *seed)
{
	for (unsigned round = 0; round < rounds; round++) {
		struct heddle_wavefront wave = {.codelet = &common_codelet, .narrays = 5};
		unsigned char *a, *b;
		struct left *lefts, *left;
		uint32_t *state, *table, *expected, *sequential;

		random_shape(&wave, seed);
		a = malloc(wave.rows);
		b = malloc(wave.columns);
		lefts = calloc(wave.rows, sizeof(*lefts));
		left = calloc(wave.rows, sizeof(*left));
		state = calloc(wave.columns, sizeof(*state));
		sequential = calloc(wave.columns, sizeof(*sequential));
		table = calloc(wave.rows * wave.columns, sizeof(*table));
		expected = calloc(wave.rows * wave.columns, sizeof(*expected));
		for (size_t i = 0; i < wave.rows; i++)
			a[i] = rand_r(seed) % 4;
		for (size_t j = 0; j < wave.columns; j++)
			b[j] = rand_r(seed) % 4;
		for (size_t i = 0; i < wave.rows; i++)
			for (size_t j = 0; j < wave.columns; j++)
				common(&sequential[j], &left[i], a[i], b[j],
				       &expected[i * wave.columns + j]);
		wave.arrays[0] =
		    (struct heddle_wave_array){.mode = STARPU_R, .extent = HEDDLE_ROWS};
		wave.arrays[1] =
		    (struct heddle_wave_array){.mode = STARPU_R, .extent = HEDDLE_COLUMNS};
		wave.arrays[2] =
		    (struct heddle_wave_array){.mode = STARPU_RW, .extent = HEDDLE_ROWS};
		wave.arrays[3] =
		    (struct heddle_wave_array){.mode = STARPU_RW, .extent = HEDDLE_COLUMNS};
		wave.arrays[4] =
		    (struct heddle_wave_array){.mode = STARPU_W, .extent = HEDDLE_FIELD};
		starpu_vector_data_register(&wave.arrays[0].handle, STARPU_MAIN_RAM, (uintptr_t)a,
		                            wave.rows, 1);
		starpu_vector_data_register(&wave.arrays[1].handle, STARPU_MAIN_RAM, (uintptr_t)b,
		                            wave.columns, 1);
		starpu_vector_data_register(&wave.arrays[2].handle, STARPU_MAIN_RAM,
		                            (uintptr_t)lefts, wave.rows, sizeof(*lefts));
		starpu_vector_data_register(&wave.arrays[3].handle, STARPU_MAIN_RAM,
		                            (uintptr_t)state, wave.columns, sizeof(*state));
		starpu_matrix_data_register(&wave.arrays[4].handle, STARPU_MAIN_RAM,
		                            (uintptr_t)table, wave.columns, wave.columns, wave.rows,
		                            sizeof(*table));
		assert_int_equal(heddle_wavefront_run(&wave, NULL), 0);
		for (int i = 0; i < 5; i++)
			starpu_data_unregister(wave.arrays[i].handle);
		assert_memory_equal(table, expected, wave.rows * wave.columns * sizeof(*table));
		assert_memory_equal(state, sequential, wave.columns * sizeof(*state));
		assert_memory_equal(lefts, left, wave.rows * sizeof(*left));
		free(a);
		free(b);
		free(lefts);
		free(left);
		free(state);
		free(sequential);
		free(table);
		free(expected);
	}
}

/* Large enough for kernels to be measured first, which must leave no trace. */
static void large(unsigned *seed)
{
	struct mixing mixing;
	struct heddle_wavefront wave = {
	    .codelet = &mix_codelet, .arg = &mixing, .rows = 400, .columns = 700, .sweeps = 1};
	struct heddle_wavefront_stats stats;

	random_mixing(&wave, &mixing, seed);
	mix_once(&wave, &mixing, 703, seed, &stats);
	assert_true(stats.predicted_us > 0);
	print_message("h %zu, k %u, %zu bands: %.0f us, %.0f predicted, %.0f measuring before\n",
	              stats.tile_columns, stats.bands_per_worker, stats.bands, stats.us,
	              stats.predicted_us, stats.measuring_us);
}

/* Over many sweeps bands are dealt again when another worker is slow. */
static void slowed(unsigned rounds, unsigned *seed)
{
	unsigned reassigned = 0;

	for (unsigned round = 0; round < rounds; round++) {
		struct mixing mixing;
		struct heddle_wavefront wave = {.codelet = &mix_codelet, .arg = &mixing};
		struct heddle_wavefront_stats stats;

		wave.rows = between(seed, 60, 150);
		wave.columns = between(seed, 150, 400);
		wave.sweeps = between(seed, 8, 20);
		wave.bands_per_worker = between(seed, 1, 2);
		wave.tile_columns = between(seed, 20, 80);
		random_mixing(&wave, &mixing, seed);
		/* What tiles cost is measured with all as fast as they are. */
		one_is_slow = round > 0;
		mix_once(&wave, &mixing, wave.columns, seed, &stats);
		one_is_slow = false;
		reassigned += stats.reassigned;
	}
	print_message("bands were assigned again %u times\n", reassigned);
}

static unsigned seed_new(void)
{
	unsigned seed = test_seed();

	unsetenv("HEDDLE_TEST_SEED");
	return seed;
}

/* ---- tests ---- */

static void test_policies(void **state)
{
	static const char *const policies[] = {"hdss",   "gss",    "css",   "tss",   "fss",
	                                       "linear", "static", "qilin", "axel",  "exponential",
	                                       "lws",    "eager",  "dmda",  "random"};
	unsigned seed = seed_new();

	if (brief)
		skip();
	for (size_t p = 0; p < sizeof(policies) / sizeof(*policies); p++) {
		print_message("%s\n", policies[p]);
		init(policies[p]);
		mixes(3, &seed);
		commons(2, &seed);
		fini();
	}
}

static void test_many(void **state)
{
	unsigned seed = seed_new();

	size_t messages;

	init("hdss");
	messages = mixes(brief ? 15 : 30, &seed);
	/* Both kinds of worker took part, where there are two. */
	assert_int_equal(messages > 0, starpu_opencl_worker_get_count() > 0);
	commons(brief ? 5 : 15, &seed);
	large(&seed);
	slowed(brief ? 4 : 12, &seed);
	fini();
}

/* ---- refusals ---- */

static struct heddle_wavefront sample(starpu_data_handle_t field, starpu_data_handle_t vector)
{
	return (struct heddle_wavefront){
	    .codelet = &mix_codelet,
	    .rows = 10,
	    .columns = 20,
	    .nvectors = 1,
	    .vectors = {{.row = 1}},
	    .narrays = 2,
	    .arrays = {{field, STARPU_RW, HEDDLE_FIELD_HALO, 1},
	               {vector, STARPU_R, HEDDLE_ROWS, 1}},
	};
}

static void test_refusals(void **state)
{
	static uint32_t field[10 * 20], vector[20];
	struct starpu_codelet nothing = {.name = "nothing"}, three;
	starpu_data_handle_t f, v;
	struct heddle_wavefront wave;

	assert_int_equal(
	    heddle_wavefront_run(&(struct heddle_wavefront){.codelet = &mix_codelet}, NULL),
	    -ENODEV);
	init("hdss");
	starpu_matrix_data_register(&f, STARPU_MAIN_RAM, (uintptr_t)field, 20, 20, 10, 4);
	starpu_vector_data_register(&v, STARPU_MAIN_RAM, (uintptr_t)vector, 20, 4);
	assert_int_equal(heddle_wavefront_run(NULL, NULL), -EINVAL);
#define REFUSED(error, ...)                                                                        \
	do {                                                                                       \
		wave = sample(f, v);                                                               \
		__VA_ARGS__;                                                                       \
		assert_int_equal(heddle_wavefront_run(&wave, NULL), error);                        \
	} while (0)
	REFUSED(-EINVAL, wave.codelet = NULL);
	REFUSED(-ENODEV, wave.codelet = &nothing);
	REFUSED(-EINVAL, wave.vectors[0] = (struct heddle_dependence){.column = -1});
	REFUSED(-EINVAL, wave.nvectors = HEDDLE_WAVEFRONT_MAXVECTORS + 1);
	REFUSED(-EINVAL, wave.narrays = HEDDLE_WAVEFRONT_MAXARRAYS + 1);
	REFUSED(-EINVAL, wave.arrays[1].handle = NULL);
	REFUSED(-EINVAL, wave.arrays[1].handle = f);
	REFUSED(-EINVAL, wave.arrays[0].extent = HEDDLE_ROWS);
	REFUSED(-EINVAL, wave.arrays[1].extent = HEDDLE_FIELD);
	REFUSED(-EINVAL, wave.arrays[0].mode = STARPU_W);
	REFUSED(-EINVAL, wave.arrays[0].mode = STARPU_REDUX);
	REFUSED(-EINVAL, wave.arrays[1].extent = HEDDLE_ALL, wave.arrays[1].mode = STARPU_RW);
	REFUSED(-EINVAL, wave.arrays[1].extent = HEDDLE_COLUMNS, wave.arrays[1].mode = STARPU_RW,
	        wave.sweeps = 2);
	REFUSED(-ERANGE, wave.rows = 11);
	REFUSED(-ERANGE, wave.columns = 21);
	REFUSED(-ERANGE, wave.arrays[0].per_iteration = 2);
	REFUSED(-ERANGE, wave.arrays[1].per_iteration = 3);
	REFUSED(-EINVAL, wave.nworkers = 3);
	REFUSED(-EINVAL, wave.workers = (int[]){99}, wave.nworkers = 1);
	REFUSED(-EINVAL, wave.workers = (int[]){0, 0}, wave.nworkers = 2);
	three = *wave.codelet, three.nbuffers = 3; /* of two arrays */
	REFUSED(-EINVAL, wave.codelet = &three);
	REFUSED(-EINVAL, wave.sched_ctx = 50);
	REFUSED(-EINVAL, wave.sched_ctx = 1);
	REFUSED(-EINVAL, wave.sched_ctx = UINT_MAX, wave.strategy = "gss");
	REFUSED(-EINVAL, wave.strategy = "nonsense");
	/* What a wavefront would not use. */
	REFUSED(-EINVAL, wave.strategy = "hdss:jump=0");
	REFUSED(-EINVAL, wave.strategy = "gss", wave.sweeps = 2);
	setenv("HEDDLE_WAVE_TILE_COLUMNS", "x", 1);
	REFUSED(-EINVAL, wave.tile_columns = 0);
	setenv("HEDDLE_WAVE_TILE_COLUMNS", "-1", 1);
	REFUSED(-EINVAL, wave.tile_columns = 0);
	unsetenv("HEDDLE_WAVE_TILE_COLUMNS");
	starpu_data_unregister(f);
	starpu_data_unregister(v);
	fini();
}

/* ---- failure, nothing to do, variables ---- */

static void test_failure(void **state)
{
	struct heddle_wavefront wave = {.codelet = &fail_codelet,
	                                .rows = 100,
	                                .columns = 100,
	                                .nvectors = 2,
	                                .vectors = {{.row = 1}, {.column = 1}},
	                                .tile_columns = 10,
	                                .bands_per_worker = 2};

	init("hdss");
	assert_int_equal(heddle_wavefront_run(&wave, NULL), -EDOM);
	fini();
}

static void count_cpu(void *buffers[], void *arg)
{
	const struct heddle_tile *tile = arg;
	size_t n = 0;

	for (size_t r = 0; r < tile->rows; r++)
		n += heddle_tile_end(tile, r) - heddle_tile_begin(tile, r);
	__atomic_fetch_add((size_t *)tile->arg, n, __ATOMIC_RELAXED);
}

static void test_shapes(void **state)
{
	struct starpu_codelet count = {.cpu_funcs = {count_cpu}, .name = "count"};
	struct heddle_wavefront_stats stats;
	size_t n;
	struct heddle_wavefront wave = {
	    .codelet = &count, .arg = &n, .tile_columns = 7, .bands_per_worker = 3};

	init("hdss");
	for (wave.rows = 0; wave.rows < 4; wave.rows++)
		for (wave.columns = 0; wave.columns < 9; wave.columns++) {
			n = 0;
			assert_int_equal(heddle_wavefront_run(&wave, &stats), 0);
			assert_int_equal(n, wave.rows * wave.columns);
			if (!n)
				assert_int_equal(stats.tiles, 0);
		}
	/* No dependence: all tiles at once. */
	wave.rows = wave.columns = 1000;
	n = 0;
	assert_int_equal(heddle_wavefront_run(&wave, &stats), 0);
	assert_int_equal(n, 1000000);
	assert_int_equal(stats.tile_columns, 7);
	setenv("HEDDLE_WAVE_TILE_COLUMNS", "250", 1);
	setenv("HEDDLE_WAVE_BANDS", "5", 1);
	wave.tile_columns = wave.bands_per_worker = 0;
	assert_int_equal(heddle_wavefront_run(&wave, &stats), 0);
	assert_int_equal(stats.tile_columns, 250);
	assert_int_equal(stats.bands_per_worker, 5);
	unsetenv("HEDDLE_WAVE_TILE_COLUMNS");
	unsetenv("HEDDLE_WAVE_BANDS");
	fini();
}

/* ---- one node of the task graph ---- */

static void fill_cpu(void *buffers[], void *arg)
{
	uint32_t *field = (uint32_t *)STARPU_MATRIX_GET_PTR(buffers[0]);
	size_t nx = STARPU_MATRIX_GET_NX(buffers[0]), ny = STARPU_MATRIX_GET_NY(buffers[0]);

	starpu_sleep(0.002);
	for (size_t i = 0; i < nx * ny; i++)
		field[i / nx * STARPU_MATRIX_GET_LD(buffers[0]) + i % nx] = i;
}

static void sum_cpu(void *buffers[], void *arg)
{
	uint32_t *field = (uint32_t *)STARPU_MATRIX_GET_PTR(buffers[0]), sum = 0;
	size_t nx = STARPU_MATRIX_GET_NX(buffers[0]), ny = STARPU_MATRIX_GET_NY(buffers[0]);

	for (size_t i = 0; i < nx * ny; i++)
		sum += field[i / nx * STARPU_MATRIX_GET_LD(buffers[0]) + i % nx];
	*(uint32_t *)STARPU_VARIABLE_GET_PTR(buffers[1]) = sum;
}

static struct starpu_codelet fill_codelet = {
    .cpu_funcs = {fill_cpu}, .nbuffers = 1, .modes = {STARPU_W}, .name = "fill"};
static struct starpu_codelet sum_codelet = {
    .cpu_funcs = {sum_cpu}, .nbuffers = 2, .modes = {STARPU_R, STARPU_W}, .name = "sum"};

/* Filled by a task, mixed by two wavefronts that nobody waits for, read by a task. */
static void test_graph(void **state)
{
	enum { ROWS = 60, COLUMNS = 70 };
	static uint32_t field[ROWS * COLUMNS], expected[ROWS * COLUMNS];
	struct mixing mixing = {.noffsets = 2, .rows = {0, 1}, .columns = {1, -1}};
	struct heddle_wavefront wave = {.codelet = &mix_codelet,
	                                .arg = &mixing,
	                                .rows = ROWS,
	                                .columns = COLUMNS,
	                                .nvectors = 2,
	                                .vectors = {{.column = 1}, {.row = 1, .column = -1}},
	                                .narrays = 1};
	uint32_t sum = 0, right = 0;
	starpu_data_handle_t result;

	for (size_t i = 0; i < ROWS * COLUMNS; i++)
		expected[i] = i;
	for (int twice = 0; twice < 2; twice++)
		for (size_t i = 0; i < ROWS * COLUMNS; i++)
			mix_element(&mixing, &expected[i], COLUMNS, i / COLUMNS, i % COLUMNS, ROWS,
			            COLUMNS);
	for (size_t i = 0; i < ROWS * COLUMNS; i++)
		right += expected[i];
	init("hdss");
	wave.arrays[0] = (struct heddle_wave_array){.mode = STARPU_RW, .extent = HEDDLE_FIELD_HALO};
	starpu_matrix_data_register(&wave.arrays[0].handle, STARPU_MAIN_RAM, (uintptr_t)field,
	                            COLUMNS, COLUMNS, ROWS, sizeof(*field));
	starpu_variable_data_register(&result, STARPU_MAIN_RAM, (uintptr_t)&sum, sizeof(sum));
	starpu_task_insert(&fill_codelet, STARPU_W, wave.arrays[0].handle, 0);
	assert_int_equal(heddle_wavefront_submit(&wave, NULL), 0);
	assert_int_equal(heddle_wavefront_submit(&wave, NULL), 0);
	starpu_task_insert(&sum_codelet, STARPU_R, wave.arrays[0].handle, STARPU_W, result, 0);
	starpu_data_unregister(result);
	starpu_data_unregister(wave.arrays[0].handle);
	assert_int_equal(sum, right);
	fini();
}

static void nothing_cpu(void *buffers[], void *arg)
{
}

/* The specification is the wavefront's own as soon as it is submitted. */
static void test_strategy_is_copied(void **state)
{
	static struct starpu_codelet nothing = {.cpu_funcs = {nothing_cpu}, .name = "nothing"};
	static uint32_t field[10 * 20], vector[20];
	char strategy[] = "gss";
	struct heddle_wavefront_request *request;
	struct heddle_wavefront_stats stats;
	struct heddle_wavefront wave;
	starpu_data_handle_t f, v;

	init("hdss");
	starpu_matrix_data_register(&f, STARPU_MAIN_RAM, (uintptr_t)field, 20, 20, 10,
	                            sizeof(*field));
	starpu_vector_data_register(&v, STARPU_MAIN_RAM, (uintptr_t)vector, 20, sizeof(*vector));
	wave = sample(f, v);
	wave.codelet = &nothing;
	wave.strategy = strategy;
	/* It does not begin before this is released. */
	assert_int_equal(starpu_data_acquire(f, STARPU_RW), 0);
	assert_int_equal(heddle_wavefront_submit(&wave, &request), 0);
	memset(strategy, 'x', sizeof(strategy) - 1);
	starpu_data_release(f);
	assert_int_equal(heddle_wavefront_wait(request, &stats), 0);
	assert_string_equal(stats.strategy, "gss");
	starpu_data_unregister(f);
	starpu_data_unregister(v);
	fini();
}

/* What is set for the whole program is meant for loops, too: a wavefront that has no use for it
 * goes by measured speeds. */
static void test_strategy_of_program(void **state)
{
	static uint32_t field[10 * 20], vector[20];
	static const struct {
		const char *policy, *spec, *used;
		size_t sweeps;
	} cases[] = {
	    {"hdss", "hdss:jump=0", "hdss", 1},
	    {"hdss", "hdss:jump=0", "hdss", 2},
	    {"hdss", "gss:least=2", "hdss", 2},
	    {"hdss", "gss:least=2", "gss:least=2", 1},
	    {"eager", "gss", "hdss", 2},
	    {"gss", NULL, "hdss", 2},
	    {"gss", NULL, "gss", 1},
	};
	struct mixing mixing = {1, {1}, {0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct heddle_wavefront_stats stats;
		struct heddle_wavefront wave;
		starpu_data_handle_t f, v;

		if (cases[i].spec)
			setenv("HEDDLE_STRATEGY", cases[i].spec, 1);
		init(cases[i].policy);
		starpu_matrix_data_register(&f, STARPU_MAIN_RAM, (uintptr_t)field, 20, 20, 10,
		                            sizeof(*field));
		starpu_vector_data_register(&v, STARPU_MAIN_RAM, (uintptr_t)vector, 20,
		                            sizeof(*vector));
		wave = sample(f, v);
		wave.arg = &mixing;
		wave.sweeps = cases[i].sweeps;
		/* The next sweep waits for who reads what it overwrites. */
		if (wave.sweeps > 1)
			wave.vectors[wave.nvectors++] =
			    (struct heddle_dependence){.sweep = 1, .row = -1};
		assert_int_equal(heddle_wavefront_run(&wave, &stats), 0);
		assert_string_equal(stats.strategy, cases[i].used);
		starpu_data_unregister(f);
		starpu_data_unregister(v);
		fini();
		unsetenv("HEDDLE_STRATEGY");
	}
}

/* ---- profiles ---- */

enum { PATIENCE_S = 30 };

/* The lock of a folder of profiles, as another process has it. */
struct folder {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int lock;
	bool done, late;
};

/* Releases the lock when the test is done with it, or has waited for too long. */
static void *folder_release(void *arg)
{
	struct folder *folder = arg;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	pthread_mutex_lock(&folder->mutex);
	while (!folder->done && !folder->late)
		folder->late = pthread_cond_timedwait(&folder->cond, &folder->mutex, &until) != 0;
	pthread_mutex_unlock(&folder->mutex);
	close(folder->lock);
	return NULL;
}

static void folder_remove(const char *path)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -r '%s'", path);
	assert_int_equal(system(command), 0);
}

/* A wavefront of one worker, of a codelet of its own. */
static void alone(struct heddle_wavefront *wave, struct starpu_codelet *codelet, const int *worker)
{
	wave->codelet = codelet;
	wave->workers = worker;
	wave->nworkers = 1;
	wave->strategy = "hdss";
}

/* Calibration sees nothing of this: tiles of the loop itself take long. */
static void late_cpu(void *buffers[], void *arg)
{
	const struct heddle_tile *tile = arg;

	mix_cpu(buffers, arg);
	if (tile->total_rows >= LATE_ROWS)
		starpu_sleep(0.05);
}

/* A prediction that a run shows wrong is right for the next one: of a loop as large by its time,
 * of a larger one by what its tiles took. */
static void test_prediction(void **state)
{
	static uint32_t field[2 * LATE_ROWS * 512];
	static struct starpu_codelet late = {.cpu_funcs = {late_cpu}, .name = "late"};
	static struct mixing mixing = {1, {1}, {0}};
	struct heddle_wavefront_stats first, second, larger;
	struct heddle_wavefront wave = {.arg = &mixing,
	                                .rows = LATE_ROWS,
	                                .columns = 512,
	                                .nvectors = 1,
	                                .vectors = {{.row = 1}},
	                                .narrays = 1};
	int worker;

	if (getenv("STARPU_NCPU") && !atoi(getenv("STARPU_NCPU")))
		skip();
	init("hdss");
	worker = starpu_worker_get_by_type(STARPU_CPU_WORKER, 0);
	alone(&wave, &late, &worker);
	wave.arrays[0] = (struct heddle_wave_array){.mode = STARPU_RW, .extent = HEDDLE_FIELD_HALO};
	starpu_matrix_data_register(&wave.arrays[0].handle, STARPU_MAIN_RAM, (uintptr_t)field, 512,
	                            512, 2 * LATE_ROWS, sizeof(*field));
	assert_int_equal(heddle_wavefront_run(&wave, &first), 0);
	wave.rows *= 2;
	assert_int_equal(heddle_wavefront_run(&wave, &larger), 0);
	wave.rows /= 2;
	assert_int_equal(heddle_wavefront_run(&wave, &second), 0);
	print_message(
	    "%.0f us, %.0f predicted; then %.0f, %.0f (%.0f by the model); of a larger one "
	    "%.0f, %.0f (%.0f)\n",
	    first.us, first.predicted_us, second.us, second.predicted_us, second.model_us,
	    larger.us, larger.predicted_us, larger.model_us);
	assert_float_equal(first.predicted_us, first.model_us, 1e-6);
	assert_float_equal(second.predicted_us, first.us, 1e-3);
	/* Under helgrind calibration is slow, too. */
	if (first.us > 2 * first.predicted_us)
		assert_true(larger.predicted_us > larger.model_us);
	starpu_data_unregister(wave.arrays[0].handle);
	fini();
}

static void *profiles_save(void *error)
{
	*(int *)error = heddle_estimate_save();
	return NULL;
}

static void expect_record(const char *codelet, const char *kind)
{
	struct heddle_profile profile = {0};
	char path[PATH_MAX];
	bool found = false;

	assert_int_equal(heddle_profile_path(codelet, path, sizeof(path)), 0);
	assert_int_equal(heddle_profile_read(path, &profile), 0);
	for (size_t r = 0; r < profile.n && !found; r++)
		found = !strcmp(profile.records[r]->kind, kind);
	heddle_profile_free(&profile);
	assert_true(found);
}

/* While a thread waits to write profiles, wavefronts go on, also of the codelet whose profile it
 * is. */
static void test_profile_waits(void **state)
{
	enum { ROWS = 512, COLUMNS = 512 };
	static uint32_t large_field[ROWS * COLUMNS], field[10 * 20], vectors[2][ROWS];
	static struct starpu_codelet large_codelet = {.cpu_funcs = {mix_cpu}, .name = "mix_large"};
	static struct mixing mixing = {1, {1}, {0}};
	struct folder folder = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	                        .cond = PTHREAD_COND_INITIALIZER};
	char path[] = "/tmp/heddle-wavefront-XXXXXX", lock[64];
	struct heddle_wavefront large, small;
	starpu_data_handle_t f[2], v[2];
	int workers[2], error = -1;
	pthread_t releaser, saver;

	if (getenv("STARPU_NCPU") && atoi(getenv("STARPU_NCPU")) < 2)
		skip();
	assert_non_null(mkdtemp(path));
	setenv("HEDDLE_PROFILE_DIR", path, 1);
	setenv("HEDDLE_PROFILE", "1", 1);
	snprintf(lock, sizeof(lock), "%s/.lock", path);
	folder.lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	assert_true(folder.lock >= 0 && !flock(folder.lock, LOCK_EX));
	init("eager");
	assert_int_equal(starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, workers, 2), 2);
	starpu_matrix_data_register(&f[0], STARPU_MAIN_RAM, (uintptr_t)large_field, COLUMNS,
	                            COLUMNS, ROWS, sizeof(uint32_t));
	starpu_matrix_data_register(&f[1], STARPU_MAIN_RAM, (uintptr_t)field, 20, 20, 10,
	                            sizeof(uint32_t));
	for (int i = 0; i < 2; i++)
		starpu_vector_data_register(&v[i], STARPU_MAIN_RAM, (uintptr_t)vectors[i], ROWS,
		                            sizeof(uint32_t));
	large = sample(f[0], v[0]);
	alone(&large, &large_codelet, &workers[0]);
	large.rows = ROWS;
	large.columns = COLUMNS;
	large.arg = &mixing;
	small = sample(f[1], v[1]);
	alone(&small, small.codelet, &workers[1]);
	small.arg = &mixing;
	small.tile_columns = 5;
	small.bands_per_worker = 1;
	assert_int_equal(heddle_wavefront_run(&large, NULL), 0);
	assert_int_equal(pthread_create(&releaser, NULL, folder_release, &folder), 0);
	assert_int_equal(pthread_create(&saver, NULL, profiles_save, &error), 0);
	usleep(100000);
	assert_int_equal(heddle_wavefront_run(&small, NULL), 0);
	assert_int_equal(heddle_wavefront_run(&large, NULL), 0);
	pthread_mutex_lock(&folder.mutex);
	folder.done = true;
	pthread_cond_signal(&folder.cond);
	pthread_mutex_unlock(&folder.mutex);
	pthread_join(releaser, NULL);
	pthread_join(saver, NULL);
	assert_false(folder.late);
	assert_int_equal(error, 0);
	for (int i = 0; i < 2; i++) {
		starpu_data_unregister(f[i]);
		starpu_data_unregister(v[i]);
	}
	fini();
	assert_int_equal(heddle_estimate_save(), 0);
	expect_record("mix_large", "wavefront");
	expect_record("mix_large", "wavefront_run");
	folder_remove(path);
	unsetenv("HEDDLE_PROFILE_DIR");
	unsetenv("HEDDLE_PROFILE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_strategy_is_copied),
	    cmocka_unit_test(test_strategy_of_program),
	    cmocka_unit_test(test_refusals),
	    cmocka_unit_test(test_failure),
	    cmocka_unit_test(test_shapes),
	    cmocka_unit_test(test_graph),
	    cmocka_unit_test(test_many),
	    cmocka_unit_test(test_policies),
	    cmocka_unit_test(test_prediction),
	    cmocka_unit_test(test_profile_waits),
	};

	brief = getenv("HEDDLE_TEST_SHORT");
	unsetenv("HEDDLE_TEST_SHORT"); /* no variable of Heddle's */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
