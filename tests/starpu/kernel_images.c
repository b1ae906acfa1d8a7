/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Kernels that read and write images, on several devices: the pixels are those of a plain
 * execution, of all kinds of images, in chains whose data stays on devices, and what is not
 * written stays as it was.
 */
#include "config.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/heddle.h>

#include "tests/unit/test.h"

enum { MOST = 1 << 14, ROUNDS = 3, LAUNCHES = 4 };

/* ---- kernels ---- */

static const struct kind {
	const char *name, *where; /* a pixel's place by x, y, z */
	unsigned dimensions;      /* of the NDRange */
	bool has_height, has_depth, has_layers;
} kinds[] = {
    {"image1d_t", "x + DX", 1, false, false, false},
    {"image1d_array_t", "(int2)(x + DX, y + DY)", 2, false, false, true},
    {"image2d_t", "(int2)(x + DX, y + DY)", 2, true, false, false},
    {"image2d_array_t", "(int4)(x + DX, y + DY, z, 0)", 3, true, false, true},
    {"image3d_t", "(int4)(x + DX, y + DY, z, 7)", 3, true, true, false},
};
enum { NKINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* `shift` writes all pixels, `sieve` some, `throw` where the data says. */
static const char body[] =
    "constant sampler_t edge = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE |\n"
    "                          CLK_FILTER_NEAREST;\n"
    "#define DX 0\n"
    "#define DY 0\n"
    "uint4 left(read_only IMAGE from, sampler_t how, int x, int y, int z)\n"
    "{ x--; return read_imageui(from, how, WHERE); }\n"
    "#define START int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2); \\\n"
    "              if (x >= w || y >= h) return\n"
    "kernel void shift(read_only IMAGE from, write_only IMAGE to, sampler_t how,\n"
    "                  global uint *copy, int w, int h, int step)\n"
    "{ START; uint4 p = left(from, how, x, y, z) + left(from, edge, x, y, z);\n"
    "  copy[(z * h + y) * w + x] = p.x;\n"
    "  write_imageui(to, WHERE, (p + (uint4)(step)) & 63); }\n"
    "kernel void sieve(read_only IMAGE from, write_only IMAGE to, sampler_t how,\n"
    "                  global uint *copy, int w, int h, int step)\n"
    "{ START; uint4 p = left(from, how, x, y, z);\n"
    "  copy[(z * h + y) * w + x] = p.x;\n"
    "  if ((x + y) % step == 0) write_imageui(to, WHERE, (p + (uint4)(step)) & 63); }\n"
    "kernel void throw(read_only IMAGE from, write_only IMAGE to, sampler_t how,\n"
    "                  global uint *copy, int w, int h, int step)\n"
    "{ START; uint4 p = left(from, how, x, y, z);\n"
    "  copy[(z * h + y) * w + x] = p.x; x = (int)(float)(w - 1 - x);\n"
    "  write_imageui(to, WHERE, (p + (uint4)(step)) & 63); }\n";
static const char *const names[] = {"shift", "sieve", "throw"};

static char *source_make(const struct kind *kind)
{
	char *text;

	assert_true(asprintf(&text, "#define IMAGE %s\n#define WHERE %s\n%s", kind->name,
	                     kind->where, body) > 0);
	return text;
}

/* ---- images ---- */

static uint32_t pixels[2][4 * MOST], expected[2][4 * MOST], copy[MOST], expected_copy[MOST];

/* Four numbers of a pixel, which has 8, 16 or 32 bits for each. */
static const struct {
	unsigned type, bytes;
} types[] = {{CL_UNSIGNED_INT8, 1}, {CL_UNSIGNED_INT16, 2}, {CL_UNSIGNED_INT32, 4}};

static struct {
	const struct kind *kind;
	struct heddle_kernel_image image;
	unsigned bytes, w, h, d; /* of a channel; and pixels */
} shape;

static void shape_make(const struct kind *kind)
{
	unsigned type = lrand48() % 3;

	shape.kind = kind;
	shape.w = 1 + lrand48() % (kind->dimensions > 1 ? 60 : 600);
	shape.h = kind->dimensions > 1 ? 1 + lrand48() % 40 : 1;
	shape.d = kind->dimensions > 2 ? 1 + lrand48() % 5 : 1;
	shape.bytes = types[type].bytes;
	shape.image = (struct heddle_kernel_image){
	    .width = shape.w,
	    .height = kind->has_height ? shape.h : 0,
	    .depth = kind->has_depth ? shape.d : 0,
	    .layers = !kind->has_layers  ? 0
	              : kind->has_height ? shape.d
	                                 : shape.h,
	    .order = CL_RGBA,
	    .type = types[type].type,
	};
}

static uint32_t get(const void *of, size_t i)
{
	return shape.bytes == 1   ? ((const uint8_t *)of)[i]
	       : shape.bytes == 2 ? ((const uint16_t *)of)[i]
	                          : ((const uint32_t *)of)[i];
}

static void put(void *of, size_t i, uint32_t value)
{
	if (shape.bytes == 1)
		((uint8_t *)of)[i] = value;
	else if (shape.bytes == 2)
		((uint16_t *)of)[i] = value;
	else
		((uint32_t *)of)[i] = value;
}

/* ---- a plain execution ---- */

static void plain(int kernel, int from, int step)
{
	for (unsigned i = 0; i < shape.w * shape.h * shape.d; i++) {
		unsigned x = i % shape.w, y = i / shape.w % shape.h;
		unsigned to = kernel == 2 ? i - x + shape.w - 1 - x : i;

		expected_copy[i] = get(expected[from], 4 * (i - !!x)) * (kernel ? 1 : 2);
		if (kernel == 1 && (x + y) % step)
			continue;
		for (int c = 0; c < 4; c++)
			put(expected[!from], 4 * to + c,
			    (get(expected[from], 4 * (i - !!x) + c) * (kernel ? 1 : 2) + step) &
			        63);
	}
}

/* ---- launches ---- */

static struct heddle_kernel_argument image_argument(struct heddle_kernel_image *image,
                                                    enum starpu_data_access_mode mode, bool keep)
{
	return (struct heddle_kernel_argument){.type = HEDDLE_KERNEL_IMAGE,
	                                       .mode = mode,
	                                       .pointer = image,
	                                       .bytes = sizeof(*image),
	                                       .keep = keep};
}

static void kernel_fill(struct heddle_kernel *kernel, const char *source, const char *name,
                        struct heddle_kernel_image images[2], int *integers, bool keep)
{
	static struct heddle_kernel_sampler sampler = {0, CL_ADDRESS_CLAMP_TO_EDGE,
	                                               CL_FILTER_NEAREST};
	const size_t local[3] = {4, 2, 1};

	*kernel = (struct heddle_kernel){.source = source,
	                                 .name = name,
	                                 .dimensions = shape.kind->dimensions,
	                                 .global = {shape.w, shape.h, shape.d},
	                                 .narguments = 7,
	                                 .split = HEDDLE_KERNEL_BY_POLICY};
	for (unsigned d = 0; d < kernel->dimensions; d++) {
		kernel->local[d] = local[d];
		kernel->global[d] = (kernel->global[d] + local[d] - 1) / local[d] * local[d];
	}
	kernel->arguments[0] = image_argument(&images[0], STARPU_R, keep);
	kernel->arguments[1] = image_argument(&images[1], STARPU_RW, keep);
	kernel->arguments[2] = (struct heddle_kernel_argument){
	    .type = HEDDLE_KERNEL_SAMPLER, .pointer = &sampler, .bytes = sizeof(sampler)};
	kernel->arguments[3] = (struct heddle_kernel_argument){
	    .type = HEDDLE_KERNEL_HOST, .pointer = copy, .bytes = sizeof(copy)};
	for (int i = 0; i < 3; i++)
		kernel->arguments[4 + i] = (struct heddle_kernel_argument){
		    .type = HEDDLE_KERNEL_VALUE, .pointer = &integers[i], .bytes = sizeof(int)};
}

static void inputs_make(void)
{
	for (unsigned i = 0; i < 4 * shape.w * shape.h * shape.d; i++)
		for (int image = 0; image < 2; image++) {
			uint32_t value = lrand48() % 100;

			put(pixels[image], i, value);
			put(expected[image], i, value);
		}
}

/* A chain of launches, each of which reads what the one before wrote. */
static void chain(const char *source, int kernel, bool keep)
{
	size_t bytes = 4UL * shape.bytes * shape.w * shape.h * shape.d;
	int integers[3] = {shape.w, shape.h, 1};

	inputs_make();
	heddle_kernels_changed(pixels, sizeof(pixels));
	for (int l = 0; l < LAUNCHES; l++) {
		struct heddle_kernel_image images[2] = {shape.image, shape.image};
		struct heddle_kernel given;

		integers[2] = 1 + lrand48() % 5;
		images[0].pixels = pixels[l % 2];
		images[1].pixels = pixels[!(l % 2)];
		if (l == 2) { /* the program writes, too */
			put(pixels[0], 0, 3);
			put(expected[0], 0, 3);
			heddle_kernels_changed(pixels[0], 4);
		}
		kernel_fill(&given, source, names[kernel], images, integers, keep);
		assert_int_equal(heddle_kernel_run(&given, NULL), 0);
		plain(kernel, l % 2, integers[2]);
		for (size_t i = 0; i < bytes / shape.bytes; i++)
			if (get(pixels[!(l % 2)], i) != get(expected[!(l % 2)], i))
				fail_msg("%s %s, %u x %u x %u, launch %d: number %zu is %u, not %u",
				         shape.kind->name, names[kernel], shape.w, shape.h, shape.d,
				         l, i, get(pixels[!(l % 2)], i),
				         get(expected[!(l % 2)], i));
		assert_memory_equal(pixels[l % 2], expected[l % 2], bytes);
		assert_memory_equal(copy, expected_copy, bytes / 4 / shape.bytes * sizeof(*copy));
	}
}

static void images_of_all_kinds(void **state)
{
	for (int k = 0; k < NKINDS; k++) {
		char *source = source_make(&kinds[k]);

		for (int round = 0; round < 3 * ROUNDS; round++) {
			shape_make(&kinds[k]);
			chain(source, round % 3, lrand48() % 2);
		}
		free(source);
	}
}

/* With the analysis, kernels with images are split, and it is known where they write. */
static void they_are_split(void **state)
{
	char *source = source_make(&kinds[2]);
	struct heddle_kernel_access accesses[7];
	struct heddle_kernel_image images[2];
	int integers[3] = {64, 64, 1};
	struct heddle_kernel given;
	const char *refusal;

	if (access(getenv("HEDDLE_ANALYSE"), X_OK)) {
		free(source);
		skip();
	}
	shape_make(&kinds[2]);
	shape.w = shape.h = shape.image.width = shape.image.height = 64;
	images[0] = images[1] = shape.image;
	images[0].pixels = pixels[0];
	images[1].pixels = pixels[1];
	kernel_fill(&given, source, "shift", images, integers, false);
	assert_int_equal(heddle_kernel_classes(&given, accesses, &refusal), 0);
	assert_null(refusal);
	assert_string_equal(accesses[0].write, "UNUSED");
	assert_string_equal(accesses[1].write, "SLAB");
	free(source);
}

/* ---- what is refused ---- */

static int wrong_run(struct heddle_kernel *given, unsigned a, struct heddle_kernel_argument wrong)
{
	struct heddle_kernel copied = *given;

	copied.arguments[a] = wrong;
	return heddle_kernel_run(&copied, NULL);
}

static void nonsense_is_refused(void **state)
{
	char *source = source_make(&kinds[2]);
	struct heddle_kernel_image images[2], wrong;
	struct heddle_kernel_sampler linear = {0, CL_ADDRESS_CLAMP, CL_FILTER_LINEAR}, odd = {0};
	struct heddle_kernel_sampler normalized = {1, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST};
	struct heddle_kernel_argument buffer = {
	    .type = HEDDLE_KERNEL_HOST, .pointer = copy, .bytes = sizeof(copy)};
	struct heddle_kernel_access accesses[7];
	int integers[3] = {16, 16, 1};
	struct heddle_kernel given;
	const char *refusal;

	shape_make(&kinds[2]);
	shape.w = shape.h = shape.image.width = shape.image.height = 16;
	images[0] = images[1] = shape.image;
	images[0].pixels = pixels[0];
	images[1].pixels = pixels[1];
	kernel_fill(&given, source, "shift", images, integers, false);
	for (int i = 0; i < 6; i++) {
		wrong = images[1];
		if (i == 0)
			wrong.pixels = NULL;
		else if (i == 1)
			wrong.width = 0;
		else if (i == 2)
			wrong.order = 0;
		else if (i == 3)
			wrong.type = CL_UNORM_SHORT_565;
		else if (i == 4)
			wrong.depth = wrong.layers = 2;
		else
			wrong.pixels = (char *)pixels[0] + 64; /* of the image that is read */
		assert_int_equal(wrong_run(&given, 1, image_argument(&wrong, STARPU_RW, false)),
		                 -EINVAL);
	}
	assert_int_equal(wrong_run(&given, 2,
	                           (struct heddle_kernel_argument){.type = HEDDLE_KERNEL_SAMPLER,
	                                                           .pointer = &odd,
	                                                           .bytes = sizeof(odd)}),
	                 -EINVAL);
	if (!access(getenv("HEDDLE_ANALYSE"), X_OK)) {
		assert_int_equal(wrong_run(&given, 0, buffer), -EINVAL);
		assert_int_equal(wrong_run(&given, 3, given.arguments[0]), -EINVAL);
		assert_int_equal(wrong_run(&given, 2, buffer), -EINVAL);
	}
	for (int i = 0; i < 2; i++) {
		given.arguments[2].pointer = i ? &normalized : &linear;
		assert_int_equal(heddle_kernel_classes(&given, accesses, &refusal), 0);
		assert_non_null(refusal);
		assert_non_null(
		    strstr(refusal, access(getenv("HEDDLE_ANALYSE"), X_OK) ? "" : "interpolates"));
	}
	free(source);
}

/* Images of other dimensions than the kernel's, and of formats that it does not read or write. */
static void unsuitable_images_are_refused(void **state)
{
	if (access(getenv("HEDDLE_ANALYSE"), X_OK))
		skip();
	for (int k = 0; k < NKINDS; k++) {
		char *source = source_make(&kinds[k]);

		for (int other = 0; other < NKINDS; other++)
			for (int i = 0; i < 6; i++) {
				struct heddle_kernel_image images[2];
				int integers[3] = {1, 1, 1};
				struct heddle_kernel given;
				bool wrong = other != k || i > 1;

				shape_make(&kinds[other]);
				images[0] = images[1] = shape.image;
				shape_make(&kinds[k]);
				images[!(i % 2)] = shape.image;
				images[0].pixels = pixels[0];
				images[1].pixels = pixels[1];
				if (i > 1)
					images[i % 2].type = i > 3 ? CL_SIGNED_INT8 : CL_UNORM_INT8;
				kernel_fill(&given, source, "shift", images, integers, false);
				assert_int_equal(heddle_kernel_run(&given, NULL),
				                 wrong ? -EINVAL : 0);
			}
		free(source);
	}
}

/* One image that groups read and write, which one device computes. */
static void read_and_written(void **state)
{
	static const char source[] = "kernel void twice(read_write image2d_t picture, int w)\n"
	                             "{ int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
	                             "  uint4 pixel = read_imageui(picture, at);\n"
	                             "  if (at.x < w) write_imageui(picture, at, (pixel * 2 + "
	                             "(uint4)(at.x, at.y, 0, w)) & 63); }\n";
	struct heddle_kernel given = {.source = source,
	                              .name = "twice",
	                              .options = "-cl-std=CL3.0",
	                              .dimensions = 2,
	                              .global = {32, 32},
	                              .local = {8, 8},
	                              .narguments = 2};
	struct heddle_kernel_image image;
	int w = 20;

	shape_make(&kinds[2]);
	shape.w = shape.h = shape.image.width = shape.image.height = 32;
	image = shape.image;
	image.pixels = pixels[0];
	inputs_make();
	for (int l = 0; l < 4; l++) {
		given.arguments[0] = image_argument(&image, STARPU_RW, l > 1);
		given.arguments[1] = (struct heddle_kernel_argument){
		    .type = HEDDLE_KERNEL_VALUE, .pointer = &w, .bytes = sizeof(w)};
		if (l == 2)
			heddle_kernels_changed(pixels[0], sizeof(pixels[0]));
		assert_int_equal(heddle_kernel_run(&given, NULL), 0);
		for (unsigned p = 0; p < 32 * 32; p++) {
			const unsigned add[4] = {p % 32, p / 32, 0, w};

			for (unsigned c = 0; p % 32 < 20 && c < 4; c++)
				put(expected[0], 4 * p + c,
				    (2 * get(expected[0], 4 * p + c) + add[c]) & 63);
		}
		assert_memory_equal(pixels[0], expected[0], 4UL * shape.bytes * 32 * 32);
	}
}

/* Two images may be the same pixels where both are read. */
static void one_image_twice(void **state)
{
	static const char source[] =
	    "kernel void both(read_only image2d_t a, read_only image2d_t b, global uint *sums)\n"
	    "{ int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
	    "  sums[at.y * get_image_width(a) + at.x] =\n"
	    "      read_imageui(a, at).x + read_imageui(b, at).y; }\n";
	struct heddle_kernel_image image;
	struct heddle_kernel given = {.source = source,
	                              .name = "both",
	                              .dimensions = 2,
	                              .global = {32, 32},
	                              .local = {8, 8},
	                              .narguments = 3};

	shape_make(&kinds[2]);
	shape.w = shape.h = shape.image.width = shape.image.height = 32;
	image = shape.image;
	image.pixels = pixels[0];
	inputs_make();
	for (int i = 0; i < 4; i++) {
		given.arguments[0] = image_argument(&image, STARPU_R, i > 1);
		given.arguments[1] = image_argument(&image, STARPU_R, i > 1);
		given.arguments[2] = (struct heddle_kernel_argument){
		    .type = HEDDLE_KERNEL_HOST, .pointer = copy, .bytes = sizeof(copy)};
		memset(copy, 0, sizeof(copy));
		assert_int_equal(heddle_kernel_run(&given, NULL), 0);
		for (int p = 0; p < 32 * 32; p++)
			assert_int_equal(copy[p],
			                 get(expected[0], 4 * p) + get(expected[0], 4 * p + 1));
	}
}

/* A kernel for images of any format asks for it. Devices agree about it, for each has the format
 * that the program gave. */
static void any_format(void **state)
{
	static const char source[] =
	    "kernel void add(read_only image2d_t from, write_only image2d_t to, int n)\n"
	    "{ int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
	    "  int type = get_image_channel_data_type(from);\n"
	    "  if (type == CLK_FLOAT)\n"
	    "    write_imagef(to, at, read_imagef(from, at) + (float4)(n));\n"
	    "  else if (type == CLK_UNSIGNED_INT8)\n"
	    "    write_imageui(to, at, read_imageui(from, at) + (uint4)(n));\n"
	    "  else if (get_image_channel_order(from) == CLK_RGBA)\n"
	    "    write_imagei(to, at, read_imagei(from, at) + (int4)(n)); }\n";
	static const unsigned any[] = {CL_FLOAT, CL_UNSIGNED_INT8, CL_SIGNED_INT32};
	struct heddle_kernel given = {.source = source,
	                              .name = "add",
	                              .dimensions = 2,
	                              .global = {32, 32},
	                              .local = {8, 8},
	                              .narguments = 3};
	struct heddle_kernel_access accesses[3];
	const char *refusal;
	int n = 5;

	for (int i = 0; i < 3 * LAUNCHES; i++) {
		struct heddle_kernel_image from = {
		    .width = 32, .height = 32, .order = CL_RGBA, .type = any[i % 3]};
		struct heddle_kernel_image to = from;

		from.pixels = pixels[0];
		to.pixels = pixels[1];
		for (int p = 0; p < 4 * 32 * 32; p++)
			if (i % 3 == 0)
				((float *)pixels[0])[p] = lrand48() % 100;
			else if (i % 3 == 1)
				((uint8_t *)pixels[0])[p] = lrand48() % 100;
			else
				pixels[0][p] = lrand48() % 100 - 50;
		memset(pixels[1], 0, sizeof(pixels[1]));
		given.arguments[0] = image_argument(&from, STARPU_R, false);
		given.arguments[1] = image_argument(&to, STARPU_W, false);
		given.arguments[2] = (struct heddle_kernel_argument){
		    .type = HEDDLE_KERNEL_VALUE, .pointer = &n, .bytes = sizeof(n)};
		assert_int_equal(heddle_kernel_run(&given, NULL), 0);
		for (int p = 0; p < 4 * 32 * 32; p++)
			assert_true(i % 3 == 0
			                ? ((float *)pixels[1])[p] == ((float *)pixels[0])[p] + n
			            : i % 3 == 1
			                ? ((uint8_t *)pixels[1])[p] == ((uint8_t *)pixels[0])[p] + n
			                : pixels[1][p] == pixels[0][p] + n);
	}
	if (access(getenv("HEDDLE_ANALYSE"), X_OK))
		return;
	assert_int_equal(heddle_kernel_classes(&given, accesses, &refusal), 0);
	assert_null(refusal);
	assert_string_equal(accesses[1].write, "SLAB");
}

/* Images that are written by a function, or by a call that has one of several, reach the host. */
static void written_nobody_knows_where(void **state)
{
	static const char source[] =
	    "__attribute__((noinline)) void put(write_only image2d_t to, int2 at, uint4 pixel)\n"
	    "{ write_imageui(to, at, pixel); }\n"
	    "kernel void call(write_only image2d_t a, write_only image2d_t b, int c)\n"
	    "{ int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
	    "  put(a, at, (uint4)(at.x, at.y, c, 1)); put(b, at, (uint4)(at.x, at.y, c, 2)); }\n"
	    "kernel void branch(write_only image2d_t a, write_only image2d_t b, int c)\n"
	    "{ int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
	    "  uint4 pixel = (uint4)(at.x, at.y, c, c ? 1 : 2);\n"
	    "  if (c) write_imageui(a, at, pixel); else write_imageui(b, at, pixel); }\n";
	struct heddle_kernel_image images[2];
	struct heddle_kernel given = {.source = source,
	                              .dimensions = 2,
	                              .global = {32, 32},
	                              .local = {8, 8},
	                              .narguments = 3};

	shape_make(&kinds[2]);
	shape.w = shape.h = shape.image.width = shape.image.height = 32;
	for (int c = 0; c < 4; c++) {
		int which = c % 2;

		given.name = c < 2 ? "call" : "branch";
		inputs_make();
		for (int i = 0; i < 2; i++) {
			images[i] = shape.image;
			images[i].pixels = pixels[i];
			given.arguments[i] = image_argument(&images[i], STARPU_RW, false);
		}
		given.arguments[2] = (struct heddle_kernel_argument){
		    .type = HEDDLE_KERNEL_VALUE, .pointer = &which, .bytes = sizeof(which)};
		assert_int_equal(heddle_kernel_run(&given, NULL), 0);
		for (unsigned p = 0; p < 32 * 32; p++)
			for (int i = 0; i < 2; i++) {
				if (c > 1 && i == which)
					continue;
				put(expected[i], 4 * p, p % 32);
				put(expected[i], 4 * p + 1, p / 32);
				put(expected[i], 4 * p + 2, which);
				put(expected[i], 4 * p + 3, i + 1);
			}
		for (int i = 0; i < 2; i++)
			assert_memory_equal(pixels[i], expected[i], 4UL * shape.bytes * 32 * 32);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(images_of_all_kinds),
	    cmocka_unit_test(they_are_split),
	    cmocka_unit_test(nonsense_is_refused),
	    cmocka_unit_test(one_image_twice),
	    cmocka_unit_test(any_format),
	    cmocka_unit_test(written_nobody_knows_where),
	    cmocka_unit_test(unsuitable_images_are_refused),
	    cmocka_unit_test(read_and_written),
	};
	unsigned seed = test_seed();
	int failed;

	srand48(seed);
	if (starpu_init(NULL))
		return 77;
	if (!starpu_opencl_worker_get_count()) {
		starpu_shutdown();
		return 77;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	heddle_kernels_unload();
	starpu_shutdown();
	return failed;
}
