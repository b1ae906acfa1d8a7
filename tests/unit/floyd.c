/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Error diffusion: tiles of any shape against the whole image at once.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/floyd/floyd.h"
#include "tests/unit/test.h"

static int between(int from, int to)
{
	return from + rand() / 3 % (to - from + 1);
}

struct picture {
	struct floyd_image image;
	size_t height, stride, out_stride;
	uint8_t *in, *packed, *out, *right;
};

/* Noise, ramps, and flat pictures, whose errors pile up most. */
static uint8_t pixel(int kind, size_t x, size_t y)
{
	static const uint8_t flat[] = {0, 255, 127};

	return kind == 0 ? rand() >> 5 : kind == 1 ? (int)(x + y) : flat[kind - 2];
}

static struct picture picture_make(size_t width, size_t height, unsigned channels, unsigned bits)
{
	struct picture p = {.image = {width, channels, bits}, .height = height};
	size_t n = width * channels;
	int kind = between(0, 4);

	p.stride = n + between(0, 5);
	p.out_stride = n + between(0, 5);
	p.in = calloc(height, p.stride);
	p.packed = malloc(height * n);
	p.right = malloc(height * n);
	p.out = malloc(height * p.out_stride);
	assert_true(p.in && p.packed && p.right && p.out);
	memset(p.out, 0x55, height * p.out_stride);
	for (size_t y = 0; y < height; y++)
		for (size_t i = 0; i < n; i++)
			p.in[y * p.stride + i] = p.packed[y * n + i] = pixel(kind, i / channels, y);
	assert_int_equal(floyd_reference(&p.image, height, p.packed, p.right), 0);
	return p;
}

static void picture_free(struct picture *p)
{
	free(p->in);
	free(p->packed);
	free(p->out);
	free(p->right);
}

static void compute_band(enum codelet_isa isa, const struct picture *p, size_t from, size_t rows,
                         size_t widest, struct floyd_row *state, int16_t *edge)
{
	struct floyd_tile tile = {.image = p->image,
	                          .rows = rows,
	                          .column = -between(0, 3),
	                          .in_stride = p->stride,
	                          .out_stride = p->out_stride};
	ptrdiff_t end = p->image.width + rows - 1;

	for (; tile.column < end; tile.column += tile.columns) {
		tile.columns = between(1, widest);
		floyd_cpu(isa, &tile, p->in + from * p->stride, p->out + from * p->out_stride,
		          state + from * p->image.channels, edge);
	}
}

static void compute_and_compare(enum codelet_isa isa, struct picture *p)
{
	unsigned channels = p->image.channels;
	struct floyd_row *state = calloc(p->height * channels, sizeof(*state));
	int16_t *edge = calloc(p->image.width * channels, sizeof(*edge));
	size_t n = p->image.width * channels;
	int highest = between(0, 1) ? 5 : 100, widest = between(0, 2) ? 1000 : 3;

	assert_true(state && edge);
	for (size_t from = 0, rows; from < p->height; from += rows) {
		rows = between(1, highest);
		rows = rows < p->height - from ? rows : p->height - from;
		compute_band(isa, p, from, rows, widest, state, edge);
	}
	for (size_t y = 0; y < p->height; y++) {
		assert_memory_equal(p->out + y * p->out_stride, p->right + y * n, n);
		for (size_t i = n; i < p->out_stride; i++)
			assert_int_equal(p->out[y * p->out_stride + i], 0x55);
	}
	free(state);
	free(edge);
}

static void test_tiles(void **state)
{
	for (int isa = 0; isa < CODELET_NISAS; isa++) {
		if (!codelet_isa_supported(isa)) {
			print_message("%s is not supported here\n", codelet_isa_name(isa));
			continue;
		}
		for (int trial = 0; trial < 200; trial++) {
			int most = trial % 2 ? 40 : 600;
			struct picture p = picture_make(trial % 11 ? between(1, most) : 1,
			                                trial % 13 ? between(1, most / 3) : 1,
			                                between(0, 1) ? 1 : 3, between(1, 8));

			compute_and_compare(isa, &p);
			picture_free(&p);
		}
	}
}

/* Of a high and narrow image, whose tiles lie outside of it in nearly all rows, only the others
 * take time: else this test takes minutes. */
static void test_narrow(void **state)
{
	for (size_t width = 1; width < 40; width += 37) {
		struct picture p = picture_make(width, 3 << 20, 1, 1);
		struct floyd_row *rows = calloc(p.height, sizeof(*rows));
		int16_t edge[40] = {0};

		assert_non_null(rows);
		compute_band(codelet_isa_best(), &p, 0, p.height, 1000, rows, edge);
		for (size_t y = 0; y < p.height; y++)
			assert_memory_equal(p.out + y * p.out_stride, p.right + y * width, width);
		free(rows);
		picture_free(&p);
	}
}

/* Levels are equally far from each other, from black to white, and the nearest one is
 * taken. */
static void test_levels(void **state)
{
	for (unsigned bits = 1; bits <= 8; bits++) {
		unsigned top = (1u << bits) - 1;

		for (unsigned q = 0; q <= top; q++)
			assert_int_equal(floyd_level(bits, q), lround(255.0 * q / top));
		for (int v = -200; v < 500; v++) {
			double clamped = v < 0 ? 0 : v > 255 ? 255 : v;

			assert_int_equal(floyd_nearest(bits, v), lround(clamped * top / 255));
		}
	}
}

/* Diffusing errors keeps the mean; 8 bits make none. */
static void test_reference(void **state)
{
	struct floyd_image image = {.width = 400, .channels = 1, .bits = 1};
	static uint8_t in[400 * 400], out[400 * 400];
	double sum = 0;

	memset(in, 77, sizeof(in));
	assert_int_equal(floyd_reference(&image, 400, in, out), 0);
	for (size_t i = 0; i < sizeof(out); i++) {
		assert_true(out[i] == 0 || out[i] == 255);
		sum += out[i];
	}
	assert_true(fabs(sum / sizeof(out) - 77) < 1.5);
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = rand() >> 5;
	image.bits = 8;
	assert_int_equal(floyd_reference(&image, 400, in, out), 0);
	assert_memory_equal(in, out, sizeof(in));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_levels),
	    cmocka_unit_test(test_reference),
	    cmocka_unit_test(test_tiles),
	    cmocka_unit_test(test_narrow),
	};
	unsigned seed = test_seed();

	srand(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
