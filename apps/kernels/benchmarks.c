/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The ten kernels with which SKMD was measured (J. Lee, M. Samadi, Y. Park and S. Mahlke, PACT
 * 2013, Table II). Of each: the arguments, the input and the NDRange (prepare), and the expected
 * results (reference). The table at the end lists them.
 */
#include "config.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "apps/kernels/aes.h"
#include "apps/kernels/kernels.h"
#include "apps/kernels/sobol.h"

/* ---- AES ---- */

static const char aes_source[] =
#include "apps/kernels/cl/aes.clh"
    ;

enum { AES_IN, AES_OUT, AES_KEYS, AES_SUBSTITUTES };

static void aes_prepare(struct job *job)
{
	size_t side = job->size;
	uint64_t key[2] = {app_random(job->seed, 1), app_random(job->seed, 2)};
	struct aes aes;
	void *keys, *box;

	aes_init(&aes, (const uint8_t *)key);
	job_random(job, "in", STARPU_R, UINT, side * side / 4);
	job_buffer(job, "out", STARPU_W, UINT, side * side / 4);
	keys = job_buffer(job, "keys", STARPU_R, UINT, sizeof(aes.keys) / 4);
	box = job_buffer(job, "substitutes", STARPU_R, UCHAR, sizeof(aes.substitutes));
	job_int(job, "width", side / 4);
	job_int(job, "rounds", AES_ROUNDS);
	job_range(job, side / 4, 64, side, 4);
	job->items = side * side / AES_BLOCK;
	job->least = 1024;
	if (job->status)
		return;
	memcpy(keys, aes.keys, sizeof(aes.keys));
	memcpy(box, job->inverse ? aes.originals : aes.substitutes, sizeof(aes.substitutes));
}

static double aes_reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const uint8_t *in = job_data(job, AES_IN);
	uint8_t *out = job_expected(job, AES_OUT);
	struct aes aes;

	aes_init(&aes, job_data(job, AES_KEYS)); /* the key of the first round is the whole key */
	for (size_t i = begin * AES_BLOCK; i < end * AES_BLOCK; i += AES_BLOCK)
		if (job->inverse)
			aes_decrypt(&aes, in + i, out + i);
		else
			aes_encrypt(&aes, in + i, out + i);
	return 0;
}

/* ---- binomial option pricing ---- */

static const char binomial_source[] =
#include "apps/kernels/cl/binomial.clh"
    ;

enum { BINOMIAL_RANDOM, BINOMIAL_VALUE };
enum { BINOMIAL_STEPS = 255, BINOMIAL_LEAVES = BINOMIAL_STEPS + 1 };

static void binomial_prepare(struct job *job)
{
	job_random(job, "random", STARPU_R, FLOAT, job->size * 4);
	job_buffer(job, "value", STARPU_W, FLOAT, job->size * 4);
	job_int(job, "steps", BINOMIAL_STEPS);
	job_local(job, "here", BINOMIAL_LEAVES * 4 * sizeof(float));
	job_local(job, "there", BINOMIAL_LEAVES * 4 * sizeof(float));
	job_range(job, job->size * BINOMIAL_LEAVES, BINOMIAL_LEAVES, 0, 0);
	job->items = job->size * 4;
	job->least = 16;
}

static double binomial_price(double r)
{
	double spot = 5 + 25 * r, strike = 1 + 29 * (1 - r), years = 0.25 + 9.75 * r;
	double dt = years / BINOMIAL_STEPS, move = 0.3 * sqrt(dt), growth = exp(0.02 * dt);
	double up = exp(move), p = (growth - 1 / up) / (up - 1 / up);
	double p_up = p / growth, p_down = (1 - p) / growth, lattice[BINOMIAL_LEAVES];

	for (int i = 0; i < BINOMIAL_LEAVES; i++)
		lattice[i] = fmax(spot * exp(move * (2 * i - BINOMIAL_STEPS)) - strike, 0);
	for (int left = BINOMIAL_STEPS; left > 0; left--)
		for (int i = 0; i < left; i++)
			lattice[i] = p_up * lattice[i + 1] + p_down * lattice[i];
	return lattice[0];
}

static double binomial_reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const float *random = job_data(job, BINOMIAL_RANDOM);
	float *value = job_expected(job, BINOMIAL_VALUE);

	for (size_t i = begin; i < end; i++)
		value[i] = binomial_price(random[i]);
	return 0;
}

/* ---- Black and Scholes's formula ---- */

static const char blackscholes_source[] =
#include "apps/kernels/cl/blackscholes.clh"
    ;

enum { BLACKSCHOLES_RANDOM, BLACKSCHOLES_CALL, BLACKSCHOLES_PUT };
enum { BLACKSCHOLES_ITEMS = 256 };

static void blackscholes_prepare(struct job *job)
{
	job_random(job, "random", STARPU_R, FLOAT, job->size);
	job_buffer(job, "call", STARPU_W, FLOAT, job->size);
	job_buffer(job, "put", STARPU_W, FLOAT, job->size);
	job_range(job, job->size / 4, BLACKSCHOLES_ITEMS, 0, 0);
	job->items = job->size;
	job->least = 4096;
}

static double blackscholes_normal(double x)
{
	return erfc(-x * M_SQRT1_2) / 2;
}

static double blackscholes_reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const float *random = job_data(job, BLACKSCHOLES_RANDOM);
	float *call = job_expected(job, BLACKSCHOLES_CALL),
	      *put = job_expected(job, BLACKSCHOLES_PUT);

	for (size_t i = begin; i < end; i++) {
		double r = random[i], spot = 10 + 90 * r, strike = 10 + 90 * (1 - r);
		double years = 1 + 9 * r, deviation = 0.3 * sqrt(years);
		double d1 = (log(spot / strike) + (0.02 + 0.045) * years) / deviation;
		double d2 = d1 - deviation, discounted = strike * exp(-0.02 * years);

		call[i] = spot * blackscholes_normal(d1) - discounted * blackscholes_normal(d2);
		put[i] = discounted * blackscholes_normal(-d2) - spot * blackscholes_normal(-d1);
	}
	return 0;
}

/* ---- histogram of bytes ---- */

static const char histogram_source[] =
#include "apps/kernels/cl/histogram.clh"
    ;

enum { HISTOGRAM_IN, HISTOGRAM_PARTIAL };
enum {
	HISTOGRAM_ITEMS = 64,
	HISTOGRAM_EACH = 512,
	HISTOGRAM_PIECE = HISTOGRAM_ITEMS * HISTOGRAM_EACH,
	HISTOGRAM_BINS = 256
};

static void histogram_prepare(struct job *job)
{
	job_random(job, "in", STARPU_R, UCHAR, job->size);
	job_buffer(job, "partial", STARPU_W, UINT, job->size / HISTOGRAM_PIECE * HISTOGRAM_BINS);
	job_int(job, "each", HISTOGRAM_EACH);
	job_local(job, "counts", HISTOGRAM_ITEMS * HISTOGRAM_BINS * sizeof(uint16_t));
	job_range(job, job->size / HISTOGRAM_EACH, HISTOGRAM_ITEMS, 0, 0);
	job->items = job->size / HISTOGRAM_PIECE;
}

static double histogram_reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const uint8_t *in = job_data(job, HISTOGRAM_IN);
	uint32_t *partial = job_expected(job, HISTOGRAM_PARTIAL);

	memset(partial + begin * HISTOGRAM_BINS, 0,
	       (end - begin) * HISTOGRAM_BINS * sizeof(*partial));
	for (size_t i = begin * HISTOGRAM_PIECE; i < end * HISTOGRAM_PIECE; i++)
		partial[i / HISTOGRAM_PIECE * HISTOGRAM_BINS + in[i]]++;
	return 0;
}

/* ---- matrix product ---- */

static const char product_source[] =
#include "apps/kernels/cl/matrixmul.clh"
    ;

enum { PRODUCT_A, PRODUCT_B, PRODUCT_C };
enum { PRODUCT_TILE = 32, PRODUCT_ITEMS = 16 };

static void product_prepare(struct job *job)
{
	size_t n = job->size;

	job_random(job, "a", STARPU_R, FLOAT, n * n);
	job_random(job, "b", STARPU_R, FLOAT, n * n);
	job_buffer(job, "c", STARPU_W, FLOAT, n * n);
	job_int(job, "n", n);
	job_range(job, n * PRODUCT_ITEMS / PRODUCT_TILE, PRODUCT_ITEMS,
	          n * PRODUCT_ITEMS / PRODUCT_TILE, PRODUCT_ITEMS);
	job->items = n;
	job->least = 8;
}

/* Rows of the product; the sums of some columns stay in the cache. */
static double product_reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const float *a = job_data(job, PRODUCT_A), *b = job_data(job, PRODUCT_B);
	float *c = job_expected(job, PRODUCT_C);
	size_t n = job->size;
	enum { COLUMNS = 512 };
	double sums[COLUMNS];

	for (size_t i = begin; i < end; i++)
		for (size_t left = 0; left < n; left += COLUMNS) {
			size_t columns = n - left < COLUMNS ? n - left : COLUMNS;

			for (size_t j = 0; j < columns; j++)
				sums[j] = 0;
			for (size_t k = 0; k < n; k++)
				for (size_t j = 0; j < columns; j++)
					sums[j] += (double)a[i * n + k] * b[k * n + left + j];
			for (size_t j = 0; j < columns; j++)
				c[i * n + left + j] = sums[j];
		}
	return 0;
}

/* ---- matrix transpose ---- */

static const char transpose_source[] =
#include "apps/kernels/cl/transpose.clh"
    ;

enum { TRANSPOSE_IN, TRANSPOSE_OUT };
enum { TRANSPOSE_TILE = 32, TRANSPOSE_ROWS = 8 };

static void transpose_prepare(struct job *job)
{
	size_t n = job->size;

	job_random(job, "in", STARPU_R, FLOAT, n * n);
	job_buffer(job, "out", STARPU_W, FLOAT, n * n);
	job_int(job, "n", n);
	job_range(job, n, TRANSPOSE_TILE, n / TRANSPOSE_TILE * TRANSPOSE_ROWS, TRANSPOSE_ROWS);
	job->items = n;
	job->least = 64;
}

static double transpose_reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const float *in = job_data(job, TRANSPOSE_IN);
	float *out = job_expected(job, TRANSPOSE_OUT);
	size_t n = job->size;

	for (size_t i = begin; i < end; i++)
		for (size_t j = 0; j < n; j++)
			out[i * n + j] = in[j * n + i];
	return 0;
}

/* ---- Sobol's sequences ---- */

static const char quasirandom_source[] =
#include "apps/kernels/cl/quasirandom.clh"
    ;

enum { QUASIRANDOM_OUT, QUASIRANDOM_DIRECTIONS };
enum { QUASIRANDOM_DIMENSIONS = 64, QUASIRANDOM_ITEMS = 256 };

static void quasirandom_prepare(struct job *job)
{
	uint32_t *directions;

	job_buffer(job, "out", STARPU_W, FLOAT, QUASIRANDOM_DIMENSIONS * job->size);
	directions =
	    job_buffer(job, "directions", STARPU_R, UINT, QUASIRANDOM_DIMENSIONS * SOBOL_BITS);
	job_int(job, "vectors", job->size);
	job_range(job, QUASIRANDOM_DIMENSIONS * QUASIRANDOM_ITEMS, QUASIRANDOM_ITEMS, 0, 0);
	job->items = QUASIRANDOM_DIMENSIONS;
	if (directions)
		sobol_directions(QUASIRANDOM_DIMENSIONS, job->seed, directions);
}

/* One set bit after the other. */
static double quasirandom_reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const uint32_t *directions = job_data(job, QUASIRANDOM_DIRECTIONS);
	float *out = job_expected(job, QUASIRANDOM_OUT);

	for (size_t d = begin; d < end; d++)
		for (size_t i = 0; i < job->size; i++) {
			uint32_t bits = 0;

			for (uint32_t rest = i; rest; rest &= rest - 1)
				bits ^= directions[d * SOBOL_BITS + __builtin_ctz(rest)];
			out[d * job->size + i] = bits * 0x1p-32f;
		}
	return 0;
}

/* ---- sums ---- */

static const char reduction_source[] =
#include "apps/kernels/cl/reduction.clh"
    ;

enum { REDUCTION_IN, REDUCTION_OUT };
enum { REDUCTION_ITEMS = 256, REDUCTION_PIECE = REDUCTION_ITEMS * 2 * 4 };

static void reduction_prepare(struct job *job)
{
	job_random(job, "in", STARPU_R, UINT, job->size);
	job_buffer(job, "out", STARPU_W, UINT, job->size / REDUCTION_PIECE * 4);
	job_local(job, "sums", REDUCTION_ITEMS * 4 * sizeof(uint32_t));
	job_range(job, job->size / 8, REDUCTION_ITEMS, 0, 0);
	job->items = job->size / REDUCTION_PIECE;
	job->least = 16;
}

/* Modulo 2^32, as in the kernel. */
static double reduction_reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const uint32_t *in = job_data(job, REDUCTION_IN);
	uint32_t *out = job_expected(job, REDUCTION_OUT);

	for (size_t i = begin * 4; i < end * 4; i++)
		out[i] = 0;
	for (size_t i = begin * REDUCTION_PIECE; i < end * REDUCTION_PIECE; i++)
		out[i / REDUCTION_PIECE * 4 + i % 4] += in[i];
	return 0;
}

/* ---- prefix sums ---- */

static const char scan_source[] =
#include "apps/kernels/cl/scan.clh"
    ;

enum { SCAN_IN, SCAN_OUT, SCAN_TOTALS };
enum { SCAN_ITEMS = 128, SCAN_BLOCK = 2 * SCAN_ITEMS };

static void scan_prepare(struct job *job)
{
	job_random(job, "in", STARPU_R, FLOAT, job->size);
	job_buffer(job, "out", STARPU_W, FLOAT, job->size);
	job_buffer(job, "totals", STARPU_W, FLOAT, job->size / SCAN_BLOCK);
	job_local(job, "tree", SCAN_BLOCK * sizeof(float));
	job_range(job, job->size / 2, SCAN_ITEMS, 0, 0);
	job->items = job->size / SCAN_BLOCK;
	job->least = 64;
}

static double scan_reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const float *in = job_data(job, SCAN_IN);
	float *out = job_expected(job, SCAN_OUT), *totals = job_expected(job, SCAN_TOTALS);

	for (size_t block = begin; block < end; block++) {
		double sum = 0;

		for (size_t i = block * SCAN_BLOCK; i < (block + 1) * SCAN_BLOCK; i++) {
			out[i] = sum;
			sum += in[i];
		}
		totals[block] = sum;
	}
	return 0;
}

/* ---- vector sum ---- */

static const char vectors_source[] =
#include "apps/kernels/cl/vectoradd.clh"
    ;

enum { VECTORS_A, VECTORS_B, VECTORS_C };
enum { VECTORS_ITEMS = 256 };

static void vectors_prepare(struct job *job)
{
	size_t n = job->size;

	job_random(job, "a", STARPU_R, FLOAT, n);
	job_random(job, "b", STARPU_R, FLOAT, n);
	job_buffer(job, "c", STARPU_W, FLOAT, n);
	job_int(job, "n", n);
	job_range(job, (n + VECTORS_ITEMS - 1) / VECTORS_ITEMS * VECTORS_ITEMS, VECTORS_ITEMS, 0,
	          0);
	job->items = n;
	job->least = 16384;
}

static double vectors_reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const float *a = job_data(job, VECTORS_A), *b = job_data(job, VECTORS_B);
	float *c = job_expected(job, VECTORS_C);

	for (size_t i = begin; i < end; i++)
		c[i] = a[i] + b[i];
	return 0;
}

/* ---- the table ---- */

#define FUNCTIONS(name)                                                                            \
	.source = name##_source, .prepare = name##_prepare, .reference = name##_reference

const struct benchmark benchmarks[] = {
    {
        .name = "AESEncrypt",
        .kernel = "aes_encrypt",
        .unit = "byte a side",
        .size = 2048,
        .multiple = 256,
        .most = 32768,
        .square = true,
        .groups = 4096,
        FUNCTIONS(aes),
    },
    {
        .name = "AESDecrypt",
        .inverse = true,
        .kernel = "aes_decrypt",
        .unit = "byte a side",
        .size = 2048,
        .multiple = 256,
        .most = 32768,
        .square = true,
        .groups = 4096,
        FUNCTIONS(aes),
    },
    {
        .name = "BinomialOption",
        .unit = "four options",
        .size = 16384,
        .multiple = 1,
        .most = 1 << 22,
        .groups = 16384,
        .contiguous = true,
        .tolerance = 2e-4,
        .kernel = "binomial_option",
        FUNCTIONS(binomial),
    },
    {
        .name = "BlackScholes",
        .unit = "option",
        .size = 1 << 20,
        .multiple = 4 * BLACKSCHOLES_ITEMS,
        .most = 1 << 30,
        .groups = 1024,
        .contiguous = true,
        .tolerance = 1e-4,
        .kernel = "black_scholes",
        FUNCTIONS(blackscholes),
    },
    {
        .name = "Histogram",
        .unit = "byte",
        .size = 1 << 24,
        .multiple = HISTOGRAM_PIECE,
        .most = 1 << 30,
        .groups = 512,
        .kernel = "histogram",
        FUNCTIONS(histogram),
    },
    {
        .name = "MatrixMultiplication",
        .unit = "row",
        .size = 1024,
        .multiple = PRODUCT_TILE,
        .most = 32768,
        .square = true,
        .groups = 1024,
        .tolerance = 1e-5,
        .kernel = "matrix_multiply",
        FUNCTIONS(product),
    },
    {
        .name = "MatrixTranspose",
        .unit = "row",
        .size = 1024,
        .multiple = TRANSPOSE_TILE,
        .most = 32768,
        .square = true,
        .groups = 1024,
        .kernel = "matrix_transpose",
        FUNCTIONS(transpose),
    },
    {
        .name = "QuasiRandomSequence",
        .unit = "vector",
        .size = 131072,
        .multiple = 1,
        .most = 1 << 24,
        .groups = QUASIRANDOM_DIMENSIONS,
        .kernel = "quasi_random",
        FUNCTIONS(quasirandom),
    },
    {
        .name = "Reduction",
        .unit = "number",
        .size = 1 << 22,
        .multiple = REDUCTION_PIECE,
        .most = 1 << 30,
        .groups = 2048,
        .kernel = "reduction",
        FUNCTIONS(reduction),
    },
    {
        .name = "ScanLargeArrays",
        .unit = "number",
        .size = 1 << 20,
        .multiple = SCAN_BLOCK,
        .most = 1 << 30,
        .groups = 4096,
        .contiguous = true,
        .tolerance = 1e-5,
        .kernel = "scan_blocks",
        FUNCTIONS(scan),
    },
    {
        .name = "VectorAdd",
        .unit = "number",
        .size = 1 << 22,
        .multiple = 1,
        .most = 1 << 30,
        .groups = 16384,
        .contiguous = true,
        .kernel = "vector_add",
        FUNCTIONS(vectors),
    },
    {0},
};

const struct benchmark *benchmark_find(const char *name)
{
	for (const struct benchmark *benchmark = benchmarks; benchmark->name; benchmark++)
		if (!strcasecmp(benchmark->name, name))
			return benchmark;
	return NULL;
}

size_t benchmark_size(const struct benchmark *benchmark, size_t scale)
{
	double factor = benchmark->square ? sqrt(scale) : scale;

	return (size_t)(benchmark->size * factor / benchmark->multiple + 0.5) * benchmark->multiple;
}
