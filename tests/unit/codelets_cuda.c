/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelets' CUDA versions against their references, on any size and
 * alignment. Skipped where there is no CUDA device.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime_api.h>

#include "codelets/blackscholes/blackscholes.h"
#include "codelets/boxfilter/boxfilter.h"
#include "codelets/eclat/eclat.h"
#include "codelets/heart/heart.h"
#include "codelets/histogram/histogram.h"
#include "codelets/knn/knn.h"
#include "codelets/mandelbrot/mandelbrot.h"
#include "codelets/nbia/nbia.h"
#include "codelets/nbody/nbody.h"
#include "codelets/vecinc/vecinc.h"
#include "tests/unit/bodies.h"
#include "tests/unit/cells.h"
#include "tests/unit/classes.h"
#include "tests/unit/nearest.h"
#include "tests/unit/sparse.h"
#include "tests/unit/test.h"

static cudaStream_t stream;

/* Copies to `shift` bytes behind the beginning of new device memory, where an
 * element more is left free. */
static char *to_device(const void *data, size_t bytes, size_t shift)
{
	char *device;

	assert_int_equal(cudaMalloc((void **)&device, bytes + shift + 16), cudaSuccess);
	assert_int_equal(cudaMemset(device, 0x55, bytes + shift + 16), cudaSuccess);
	assert_int_equal(cudaMemcpy(device + shift, data, bytes, cudaMemcpyHostToDevice),
	                 cudaSuccess);
	return device + shift;
}

/* Copies back and frees; looks whether the bytes around were left alone. */
static void from_device(void *data, size_t bytes, char *device, size_t shift)
{
	unsigned char around[16];

	assert_int_equal(cudaMemcpy(data, device, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
	assert_int_equal(cudaMemcpy(around, device + bytes, 16, cudaMemcpyDeviceToHost),
	                 cudaSuccess);
	for (int i = 0; i < 16; i++)
		assert_int_equal(around[i], 0x55);
	assert_int_equal(cudaFree(device - shift), cudaSuccess);
}

static float *random_floats(size_t n, float from, float to)
{
	float *floats = malloc((n + 1) * sizeof(float));

	assert_non_null(floats);
	for (size_t i = 0; i < n; i++)
		floats[i] = from + (to - from) * rand() / (float)RAND_MAX;
	return floats;
}

static void price_and_compare(size_t n, size_t shift)
{
	const struct blackscholes_market market = {.rate = 0.03f, .volatility = 0.4f};
	float *host[5], *device[5];
	double error;

	for (int a = 0; a < 5; a++) {
		host[a] = random_floats(n, a == 2 ? 0.05f : 5, a == 2 ? 10 : 200);
		device[a] = (float *)to_device(host[a], n * sizeof(float), shift);
	}
	assert_int_equal(blackscholes_cuda(stream, &market, n, device[0], device[1], device[2],
	                                   device[3], device[4]),
	                 0);
	assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
	for (int a = 0; a < 5; a++)
		from_device(host[a], n * sizeof(float), (char *)device[a], shift);
	error = blackscholes_error(&market, n, host[0], host[1], host[2], host[3], host[4]);
	assert_true(error <= BLACKSCHOLES_TOLERANCE);
	for (int a = 0; a < 5; a++)
		free(host[a]);
}

static void test_blackscholes(void **state)
{
	static const size_t sizes[] = {0, 1, 3, 4, 5, 1023, 4100};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
		for (size_t shift = 0; shift <= 16; shift += 4)
			price_and_compare(sizes[s], shift);
}

static void count_and_compare(size_t n, size_t shift, int values)
{
	uint64_t counters[HISTOGRAM_BINS] = {7}, right[HISTOGRAM_BINS] = {7};
	unsigned char *bytes = malloc(n + 1);
	char *device, *result;

	assert_non_null(bytes);
	for (size_t i = 0; i < n; i++)
		bytes[i] = rand() / 7 % values;
	device = to_device(bytes, n, shift);
	result = to_device(counters, sizeof(counters), 0);
	assert_int_equal(
	    histogram_cuda(stream, n, (unsigned char *)device, (uint64_t *)(void *)result), 0);
	assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
	from_device(bytes, n, device, shift);
	from_device(counters, sizeof(counters), result, 0);
	histogram_reference(n, bytes, right);
	assert_memory_equal(counters, right, sizeof(right));
	free(bytes);
}

static void test_histogram(void **state)
{
	static const size_t sizes[] = {0, 1, 15, 16, 17, 40, 5000, 70001};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
		for (size_t shift = 0; shift < 16; shift += 5) {
			count_and_compare(sizes[s], shift, 256);
			count_and_compare(sizes[s], shift, 1);
		}
}

/* One block of an image, rows from…to-1, with strides and alignments of its own. */
static void filter_and_compare(size_t width, size_t height, unsigned channels, size_t radius,
                               size_t from, size_t to)
{
	size_t first = from < radius ? 0 : from - radius;
	size_t last = height - to < radius ? height : to + radius;
	struct boxfilter_band band = {
	    .window = {.radius = radius, .channels = channels},
	    .width = width,
	    .above = from - first,
	    .rows = to - from,
	    .input_rows = last - first,
	    .in_stride = width * channels + rand() % 5,
	    .out_stride = width * channels + rand() % 5,
	};
	size_t in_bytes = band.input_rows * band.in_stride, out_bytes = band.rows * band.out_stride;
	unsigned char *in = malloc(in_bytes), *out = malloc(out_bytes), *right = malloc(out_bytes);
	char *device_in, *device_out;

	assert_true(in && out && right);
	for (size_t i = 0; i < in_bytes; i++)
		in[i] = rand() >> 7;
	memset(out, 0xaa, out_bytes);
	memset(right, 0xaa, out_bytes);
	device_in = to_device(in, in_bytes, 3);
	device_out = to_device(out, out_bytes, 1);
	assert_int_equal(
	    boxfilter_cuda(stream, &band, (unsigned char *)device_in, (unsigned char *)device_out),
	    0);
	assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
	from_device(in, in_bytes, device_in, 3);
	from_device(out, out_bytes, device_out, 1);
	assert_int_equal(boxfilter_cpu(codelet_isa_best(), &band, in, right), 0);
	assert_memory_equal(out, right, out_bytes);
	free(in);
	free(out);
	free(right);
}

static void test_boxfilter(void **state)
{
	static const size_t radii[] = {0, 1, 30, 1000};

	for (int r = 0; r < 4; r++)
		for (unsigned channels = 1; channels <= 3; channels += 2) {
			filter_and_compare(1, 1, channels, radii[r], 0, 1);
			filter_and_compare(300, 90, channels, radii[r], 0, 90);
			filter_and_compare(257, 200, channels, radii[r], 70, 153);
		}
}

/* Windows whose sums need 64 bits. */
static void test_boxfilter_large_windows(void **state)
{
	filter_and_compare(4400, 4000, 1, 4000, 3990, 4000);
}

/* A tile whose colours differ by less than `spread`; `shift` bytes lie between its rows. */
static void summarise_and_compare(size_t size, size_t shift, int spread)
{
	size_t stride = 3 * size + shift, bytes = size * stride;
	unsigned char *rgb = malloc(bytes);
	nbia_u32 table[NBIA_TABLE_ENTRIES];
	struct nbia_summary summary, right;
	char *device_rgb, *device_table, *device_summary;

	assert_non_null(rgb);
	nbia_tables(table);
	memset(&summary, 0, sizeof(summary));
	for (size_t i = 0; i < bytes; i++)
		rgb[i] = 90 + rand() / 7 % spread;
	device_rgb = to_device(rgb, bytes, shift);
	device_table = to_device(table, sizeof(table), 0);
	device_summary = to_device(&summary, sizeof(summary), 0);
	assert_int_equal(nbia_cuda(stream, (nbia_u32 *)(void *)device_table, size, stride,
	                           (unsigned char *)device_rgb,
	                           (struct nbia_summary *)(void *)device_summary),
	                 0);
	assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
	from_device(rgb, bytes, device_rgb, shift);
	from_device(table, sizeof(table), device_table, 0);
	from_device(&summary, sizeof(summary), device_summary, 0);
	nbia_cpu(codelet_isa_best(), table, size, stride, rgb, &right);
	assert_memory_equal(&summary, &right, sizeof(right));
	free(rgb);
}

/* What comes back for a tile is the same to the last bit as from a core. */
static void test_nbia(void **state)
{
	static const size_t sizes[] = {4,   5,   31,  32,  33,  63,  64,   65,          100,
	                               128, 255, 256, 257, 300, 512, 1000, NBIA_LARGEST};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
		for (size_t shift = 0; shift < 6; shift += 5) {
			summarise_and_compare(sizes[s], shift, 160);
			summarise_and_compare(sizes[s], shift, 1);
		}
}

/* Not a test: how long a tile takes once its data is on the device, when
 * HEDDLE_TEST_TIMES is set. */
static void test_nbia_times(void **state)
{
	enum { TILES = 200 };
	unsigned char *rgb;
	nbia_u32 *table;
	struct nbia_summary *summary;
	cudaEvent_t begin, end;
	float ms;

	if (!getenv("HEDDLE_TEST_TIMES"))
		skip();
	assert_int_equal(cudaEventCreate(&begin), cudaSuccess);
	assert_int_equal(cudaEventCreate(&end), cudaSuccess);
	for (size_t size = 32; size <= 512; size *= 4) {
		size_t bytes = 3 * size * size;
		unsigned char *random = malloc(bytes);
		nbia_u32 host[NBIA_TABLE_ENTRIES];

		assert_non_null(random);
		nbia_tables(host);
		for (size_t i = 0; i < bytes; i++)
			random[i] = 100 + rand() / 7 % 100;
		rgb = (unsigned char *)to_device(random, bytes, 0);
		table = (nbia_u32 *)(void *)to_device(host, sizeof(host), 0);
		summary = (struct nbia_summary *)(void *)to_device(host, sizeof(*summary), 0);
		nbia_cuda(stream, table, size, 3 * size, rgb, summary);
		assert_int_equal(cudaEventRecord(begin, stream), cudaSuccess);
		for (int t = 0; t < TILES; t++)
			assert_int_equal(nbia_cuda(stream, table, size, 3 * size, rgb, summary), 0);
		assert_int_equal(cudaEventRecord(end, stream), cudaSuccess);
		assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
		assert_int_equal(cudaEventElapsedTime(&ms, begin, end), cudaSuccess);
		print_message("nbia, %zu x %zu: %.2f us a tile\n", size, size, ms * 1e3 / TILES);
		cudaFree(rgb);
		cudaFree(table);
		cudaFree(summary);
		free(random);
	}
	cudaEventDestroy(begin);
	cudaEventDestroy(end);
}

static void test_vecinc(void **state)
{
	static const size_t sizes[] = {1, 2, 255, 256, 257, 100000, 1000003};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		size_t n = sizes[s], shift = s % 4 * sizeof(uint32_t);
		uint32_t *values = calloc(n, sizeof(*values)), *device;

		assert_non_null(values);
		device = (uint32_t *)to_device(values, n * sizeof(*values), shift);
		assert_int_equal(vecinc_cuda(stream, n, 6, device), 0);
		assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
		from_device(values, n * sizeof(*values), (char *)device, shift);
		assert_int_equal(vecinc_errors(n, 6, 0, values), 0);
		free(values);
	}
}

static void multiply_and_compare(size_t n, bool wide)
{
	struct sparse sparse = sparse_make(n, wide);
	struct spmv_rows host = sparse_rows(&sparse), device = host;
	size_t number = wide ? sizeof(double) : sizeof(float);
	size_t count = sparse.starts[n] - sparse.starts[0];
	char *starts = to_device(sparse.starts, (n + 1) * 4, 4);
	char *columns = to_device(sparse.columns, count * 4, 4);
	char *values = to_device(sparse.values, count * number, number);
	char *x = to_device(sparse.x, SPARSE_COLUMNS * number, 0);
	char *y = to_device(sparse.y, n * number, number);

	device.starts = (void *)starts;
	device.columns = (void *)columns;
	device.values = values;
	device.x = x;
	device.y = y;
	assert_int_equal(spmv_cuda(stream, &device, count), 0);
	assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
	from_device(sparse.starts, (n + 1) * 4, starts, 4);
	from_device(sparse.columns, count * 4, columns, 4);
	from_device(sparse.values, count * number, values, number);
	from_device(sparse.x, SPARSE_COLUMNS * number, x, 0);
	from_device(sparse.y, n * number, y, number);
	assert_true(spmv_error(&host) <= SPMV_TOLERANCE);
	sparse_free(&sparse);
}

static void test_spmv(void **state)
{
	static const size_t sizes[] = {0, 1, 2, 31, 33, 256, 257, 5000};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
		for (int repeat = 0; repeat < 4; repeat++)
			multiply_and_compare(sizes[s], repeat % 2);
}

static void test_mandelbrot(void **state)
{
	static const size_t widths[] = {1, 7, 8, 33, 500}, heights[] = {0, 1, 15, 16, 17, 100};

	for (size_t w = 0; w < sizeof(widths) / sizeof(*widths); w++)
		for (size_t h = 0; h < sizeof(heights) / sizeof(*heights); h++) {
			const struct mandelbrot_view view = {.left = -2,
			                                     .top = 1.2,
			                                     .step = 2.5 / widths[w],
			                                     .limit = 700,
			                                     .width = widths[w]};
			size_t stride = 3 * widths[w] + 1, bytes = heights[h] * stride;
			unsigned char *out = calloc(bytes + 1, 1);
			char *device = to_device(out, bytes, 1);

			assert_int_equal(mandelbrot_cuda(stream, &view, 3, heights[h],
			                                 (unsigned char *)device, stride),
			                 0);
			assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
			from_device(out, bytes, device, 1);
			assert_int_equal(mandelbrot_error(&view, 3, heights[h], out, stride), 0);
			free(out);
		}
}

static void test_knn(void **state)
{
	for (int round = 0; round < 60; round++) {
		struct nearest nearest = nearest_make(round);
		const struct knn_problem *problem = &nearest.problem;
		size_t points = problem->points * problem->dimensions * 4;
		size_t coordinates = nearest.queries * problem->dimensions * 4;
		char *p = to_device(nearest.points, points, 4);
		char *l = to_device(nearest.labels, problem->points * 4, 4);
		char *q = to_device(nearest.coordinates, coordinates, 4);
		char *c = to_device(nearest.classes, nearest.queries * 4, 4);

		assert_int_equal(knn_cuda(stream, problem, nearest.queries, (float *)p,
		                          (int32_t *)l, (float *)q, (int32_t *)c),
		                 0);
		assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
		from_device(nearest.points, points, p, 4);
		from_device(nearest.labels, problem->points * 4, l, 4);
		from_device(nearest.coordinates, coordinates, q, 4);
		from_device(nearest.classes, nearest.queries * 4, c, 4);
		assert_int_equal(nearest_errors(&nearest), 0);
		nearest_free(&nearest);
	}
}

/* In two blocks, of which the first has `first` bodies. Compares one of `every` bodies, and the
 * last 16 of each block, whose threads may share a warp with some that have no body. */
static void attract_and_compare(struct bodies *bodies, size_t first, size_t every)
{
	const struct nbody_problem *problem = &bodies->problem;
	size_t n = problem->n;
	size_t cells = (size_t)problem->cells[0] * problem->cells[1] * problem->cells[2];
	char *b = to_device(bodies->bodies, 16 * n, 4);
	char *s = to_device(bodies->starts, 4 * (cells + 1), 4);
	char *a = to_device(bodies->accelerations, 12 * n, 4);

	assert_int_equal(
	    nbody_cuda(stream, problem, 0, first, (float *)b, (uint32_t *)s, (float *)a), 0);
	assert_int_equal(nbody_cuda(stream, problem, first, n - first, (float *)b, (uint32_t *)s,
	                            (float *)a + 3 * first),
	                 0);
	assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
	from_device(bodies->bodies, 16 * n, b, 4);
	from_device(bodies->starts, 4 * (cells + 1), s, 4);
	from_device(bodies->accelerations, 12 * n, a, 4);
	assert_true(bodies_error(bodies, every) <= NBODY_TOLERANCE);
	for (size_t body = 0; body < n; body++)
		if (body + 16 >= n || (body < first && body + 16 >= first))
			assert_true(nbody_error(problem, body, bodies->bodies,
			                        bodies->accelerations + 3 * body) <=
			            NBODY_TOLERANCE);
	bodies_free(bodies);
}

static void test_nbody(void **state)
{
	for (int round = 0; round < 40; round++) {
		struct bodies bodies = bodies_make(round);

		attract_and_compare(&bodies, bodies.problem.n / 2, 1);
	}
}

/* So many that each has fewer threads. */
static void test_nbody_many(void **state)
{
	const struct bodies_shape shape = {
	    .n = 140001, .cutoff = 0.05, .softening = 0.01, .clusters = 3, .seed = rand()};
	struct bodies bodies = bodies_shaped(&shape, true);

	attract_and_compare(&bodies, 67000, 997);
}

static void excite_and_compare(struct cells *cells, size_t first, size_t n)
{
	struct heart_state host, device;
	struct heart_band band = cells_band(cells, first, n, &host);
	size_t in = 4 * band.input_rows * band.width, out = 4 * n * band.width;
	char *u = to_device(host.u, in, 4), *w = to_device(host.w, in, 4);
	char *c = to_device(host.conductivity, in, 4);
	char *u_out = to_device(host.u_out, out, 4), *w_out = to_device(host.w_out, out, 4);

	device = (struct heart_state){.u = (float *)u,
	                              .w = (float *)w,
	                              .conductivity = (float *)c,
	                              .u_out = (float *)u_out,
	                              .w_out = (float *)w_out};
	assert_int_equal(heart_cuda(stream, &band, &device), 0);
	assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
	from_device((void *)host.u, in, u, 4);
	from_device((void *)host.w, in, w, 4);
	from_device((void *)host.conductivity, in, c, 4);
	from_device(host.u_out, out, u_out, 4);
	from_device(host.w_out, out, w_out, 4);
}

static void test_eclat(void **state)
{
	for (int round = 0; round < 60; round++) {
		struct classes classes = classes_make(round);
		char *b = to_device(classes.bits, classes.nbits * 8, 8);
		char *i = to_device(classes.items, classes.nitems * 4, 4);
		char *c = to_device(classes.counts, classes.ncounts * 4, 4);

		assert_int_equal(
		    eclat_cuda(stream, &classes.of, (uint64_t *)b, (int32_t *)i, (uint32_t *)c), 0);
		assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
		from_device(classes.bits, classes.nbits * 8, b, 8);
		from_device(classes.items, classes.nitems * 4, i, 4);
		from_device(classes.counts, classes.ncounts * 4, c, 4);
		for (unsigned r = 0; r < classes.of.rows; r++)
			for (unsigned m = 0; m <= r; m++)
				assert_int_equal(classes.counts[r * classes.of.members + m], 0);
		assert_int_equal(classes_errors(&classes), 0);
		classes_free(&classes);
	}
}

static void test_heart(void **state)
{
	for (int round = 0; round < 60; round++) {
		struct cells cells = cells_make(round);

		for (size_t first = 0, n; first < cells.height; first += n) {
			n = 1 + rand() % (cells.height - first);
			excite_and_compare(&cells, first, n);
		}
		assert_true(cells_error(&cells) <= HEART_TOLERANCE / 10);
		cells_free(&cells);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_vecinc),
	    cmocka_unit_test(test_blackscholes),
	    cmocka_unit_test(test_histogram),
	    cmocka_unit_test(test_boxfilter),
	    cmocka_unit_test(test_boxfilter_large_windows),
	    cmocka_unit_test(test_eclat),
	    cmocka_unit_test(test_heart),
	    cmocka_unit_test(test_knn),
	    cmocka_unit_test(test_mandelbrot),
	    cmocka_unit_test(test_nbody),
	    cmocka_unit_test(test_nbody_many),
	    cmocka_unit_test(test_spmv),
	    cmocka_unit_test(test_nbia),
	    cmocka_unit_test(test_nbia_times),
	};
	unsigned seed = test_seed();
	int devices;

	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices) {
		print_message("no CUDA device\n");
		return 77;
	}
	if (cudaStreamCreate(&stream) != cudaSuccess)
		return 1;
	srand(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
