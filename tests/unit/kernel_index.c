/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ranges of work-groups, arithmetic on affine values and descriptions of kernels, without
 * a compiler or a device.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/affine.h"
#include "partition/kernel/access/index.h"
#include "partition/kernel/access/published.h"
#include "partition/kernel/access/windows.h"
#include "test.h"

/* ---- ranges ---- */

static void boxes_cover(void **state)
{
	for (int i = 0; i < 3000; i++) {
		struct ndrange range = {3,
		                        {1 + lrand48() % 7, 1 + lrand48() % 7, 1 + lrand48() % 7},
		                        {1, 1, 1},
		                        {0, 0, 0}};
		size_t total = ndrange_groups(&range), from = lrand48() % total;
		size_t n = lrand48() % (total - from + 1), next = from;
		struct ndrange_box boxes[NDRANGE_MAXBOXES];
		unsigned nboxes = ndrange_boxes(&range, from, n, boxes);

		assert_true(nboxes <= NDRANGE_MAXBOXES);
		for (unsigned b = 0; b < nboxes; b++) {
			const struct ndrange_box *box = &boxes[b];

			for (size_t z = 0; z < box->n[2]; z++)
				for (size_t y = 0; y < box->n[1]; y++)
					for (size_t x = 0; x < box->n[0]; x++)
						assert_int_equal(
						    box->first[0] + x +
						        range.groups[0] *
						            (box->first[1] + y +
						             range.groups[1] * (box->first[2] + z)),
						    next++);
		}
		assert_int_equal(next, from + n);
	}
}

static void ndranges(void **state)
{
	size_t global[] = {64, 32, 1}, local[] = {16, 8, 1}, odd[] = {5, 8, 1};
	struct ndrange range;

	setenv("HEDDLE_VERBOSE", "0", 1);
	assert_int_equal(ndrange_make(2, global, local, &range), 0);
	assert_int_equal(ndrange_groups(&range), 16);
	assert_int_equal(ndrange_way(&range), NDRANGE_FLAT);
	assert_int_equal(ndrange_make(2, global, odd, &range), -EINVAL);
	assert_int_equal(ndrange_make(4, global, local, &range), -EINVAL);
	range.groups[1] = 40000;
	assert_int_equal(ndrange_way(&range), NDRANGE_BOXES);
	unsetenv("HEDDLE_VERBOSE");
}

/* ---- arithmetic ---- */

static struct affine affine_random(void)
{
	struct affine a = affine_constant(lrand48() % 40 - 10);

	for (int i = 0; i < 6; i++)
		if (lrand48() % 3 == 0)
			a.k[i] = (lrand48() % 5 - 1) * (lrand48() % 2 ? 8 : 1);
	if (lrand48() % 3 == 0) {
		a.lo = -(lrand48() % 4);
		a.hi = lrand48() % 6;
	}
	return a;
}

static long value_at(const struct affine *a, const long *numbers, double part)
{
	long value = a->c + a->lo + (long)(part * (a->hi - a->lo) + 0.5);

	for (int i = 0; i < 6; i++)
		value += a->k[i] * numbers[i];
	return value;
}

/* Whether a value belongs to an affine form at these numbers. */
static bool holds(const struct affine *a, const long *numbers, long value)
{
	long least = value_at(a, numbers, 0), most = value_at(a, numbers, 1);

	return !a->known || (least <= value && value <= most);
}

static void arithmetic_is_sound(void **state)
{
	for (int i = 0; i < 200000; i++) {
		struct affine a = affine_random(), b = affine_random(), r[6];
		struct affine_space space;
		long numbers[6], divisor = 1 + lrand48() % 20, va, vb;

		for (int n = 0; n < 6; n++) {
			space.least[n] = lrand48() % 4;
			space.most[n] = space.least[n] + lrand48() % 5;
			numbers[n] =
			    space.least[n] + lrand48() % (space.most[n] - space.least[n] + 1);
		}
		va = value_at(&a, numbers, drand48());
		vb = value_at(&b, numbers, drand48());
		r[0] = affine_add(a, b, 1);
		r[1] = affine_add(a, b, -1);
		r[2] = affine_multiply(&space, a, b);
		r[3] = affine_join(&space, a, b);
		r[4] = affine_least(&space, a, b, 1);
		r[5] = affine_least(&space, a, b, -1);
		assert_true(holds(&r[0], numbers, va + vb));
		assert_true(holds(&r[1], numbers, va - vb));
		assert_true(holds(&r[2], numbers, va * vb));
		assert_true(holds(&r[3], numbers, va) && holds(&r[3], numbers, vb));
		assert_true(holds(&r[4], numbers, va < vb ? va : vb));
		assert_true(holds(&r[5], numbers, va > vb ? va : vb));
		r[0] = affine_divide(&space, a, divisor);
		r[1] = affine_remainder(&space, a, divisor);
		if (va >= 0) {
			assert_true(holds(&r[0], numbers, va / divisor));
			assert_true(holds(&r[1], numbers, va % divisor));
		} else {
			assert_false(r[0].known || r[1].known);
		}
	}
}

static void large_numbers_are_given_up(void **state)
{
	struct affine_space space = {{0}, {1, 1, 1, 1, 1, 1}};
	struct affine large = affine_constant(INT64_MAX / 8);

	assert_true(large.known);
	assert_false(affine_constant(INT64_MAX).known);
	assert_false(affine_scale(large, 1000).known);
	assert_false(affine_multiply(&space, large, large).known);
	for (int i = 0; i < 4; i++)
		large = affine_add(large, large, 1);
	assert_false(large.known);
	assert_false(affine_fit(&space, affine_constant(128), 8, false).known);
	assert_true(affine_fit(&space, affine_constant(128), 8, true).known);
	assert_false(affine_fit(&space, affine_constant(-1), 8, true).known);
}

/* ---- descriptions ---- */

/* out[i] = in[i - 1], elements of 4 bytes, for i = get_global_id(0). */
static const char shifted[] = "heddle-index 22\nargument buffer\nargument buffer\n"
                              "node group 0 0\nnode items 0 0\nnode item 0 0\n"
                              "node mul 64 0 1\nnode add 64 3 2\nnode constant 0 4\n"
                              "node mul 64 4 5\nnode sub 64 6 5\n"
                              "access 0 7 4 read maybe 4\naccess 1 6 4 write always 4\n";

static void description_read(void **state)
{
	struct ndrange range = {1, {8, 1, 1}, {16, 1, 1}, {0, 0, 0}};
	int64_t integers[2] = {0};
	size_t bytes[2] = {512, 512};
	struct index_launch launch = {&range, integers, bytes, NULL, NULL};
	struct index_use uses[2];
	struct index_kernel kernel;
	enum index_class read, write;

	assert_int_equal(index_parse(shifted, &kernel), 0);
	assert_int_equal(index_uses(&kernel, &launch, 2, 3, uses), 0);
	assert_int_equal(uses[0].read.first, 2 * 64 - 4);
	assert_int_equal(uses[0].read.end, 5 * 64 - 4);
	assert_int_equal(uses[1].write.first, 2 * 64);
	assert_int_equal(uses[1].write.end, 5 * 64);
	assert_true(uses[1].write.dense);
	assert_false(uses[0].read.dense);
	assert_int_equal(index_uses(&kernel, &launch, 0, 1, uses), 0);
	assert_int_equal(uses[0].read.first, 0); /* clipped */
	assert_int_equal(index_classes(&kernel, &launch, 1, &read, &write), 0);
	assert_int_equal(read, INDEX_UNUSED);
	assert_int_equal(write, INDEX_CONTIGUOUS);
	index_free(&kernel);
}

/* group == groups - 1 ? n : 16 * group: each of the two counts for the groups that have it. */
static void choices(void **state)
{
	static const char text[] = "heddle-index 22\nargument buffer\nargument integer 32\n"
	                           "node group 0 0\nnode groups 0 0\nnode constant 0 1\n"
	                           "node sub 64 1 2\nguard 9 0 3\nnode constant 0 16\n"
	                           "node mul 64 0 4\nnode argument 0 1\nnode choose 64 0 6 5\n"
	                           "access 0 7 4 write always 4\n";
	struct ndrange range = {1, {8, 1, 1}, {16, 1, 1}, {0, 0, 0}};
	int64_t integers[2] = {0, 1000};
	size_t bytes[2] = {1 << 20};
	struct index_launch launch = {&range, integers, bytes, NULL, NULL};
	struct index_use uses[2];
	struct index_kernel kernel;

	assert_int_equal(index_parse(text, &kernel), 0);
	assert_int_equal(index_uses(&kernel, &launch, 0, 7, uses), 0);
	assert_int_equal(uses[0].write.first, 0);
	assert_int_equal(uses[0].write.end, 6 * 16 + 4);
	assert_int_equal(index_uses(&kernel, &launch, 7, 1, uses), 0);
	assert_int_equal(uses[0].write.first, 1000);
	assert_int_equal(uses[0].write.end, 1004);
	assert_true(uses[0].write.dense);
	assert_int_equal(index_uses(&kernel, &launch, 0, 8, uses), 0);
	assert_int_equal(uses[0].write.first, 0);
	assert_int_equal(uses[0].write.end, 1004);
	assert_false(uses[0].write.dense);
	integers[1] = 7 * 16; /* as the others */
	assert_int_equal(index_uses(&kernel, &launch, 0, 8, uses), 0);
	assert_int_equal(uses[0].write.end, 7 * 16 + 4);
	assert_int_equal(uses[0].write.pitch, 16);
	assert_true(uses[0].write.dense);
	index_free(&kernel);
}

/* A base of 2^31 as an unsigned number, at the byte p[base + i] of a buffer that is larger. */
static void large_bases(void **state)
{
	static const char text[] = "heddle-index 22\nargument buffer\nargument integer 32\n"
	                           "node argument 0 1\nnode group 0 0\nnode items 0 0\n"
	                           "node mul 64 1 2\nnode item 0 0\nnode add 64 3 4\n"
	                           "node fit 32 5\nnode add 32 0 6\nnode inbounds 32 7\n"
	                           "access 0 8 1 write always 1\n";
	struct ndrange range = {1, {1 << 20, 1, 1}, {64, 1, 1}, {0, 0, 0}};
	int64_t integers[2] = {0, INT32_MIN};
	size_t bytes[2] = {3UL << 30};
	struct index_launch launch = {&range, integers, bytes, NULL, NULL};
	struct index_use uses[2];
	struct index_kernel kernel;
	enum index_class read, write;

	assert_int_equal(index_parse(text, &kernel), 0);
	assert_int_equal(index_uses(&kernel, &launch, 2, 3, uses), 0);
	assert_int_equal(uses[0].write.first, (1UL << 31) + 2 * 64);
	assert_int_equal(uses[0].write.end, (1UL << 31) + 5 * 64);
	assert_int_equal(index_classes(&kernel, &launch, 0, &read, &write), 0);
	assert_int_equal(write, INDEX_CONTIGUOUS);
	integers[1] = -100; /* from there on to 2^32, and from 0 on */
	assert_int_equal(index_uses(&kernel, &launch, 0, 3, uses), 0);
	assert_int_equal(uses[0].write.first, 0);
	assert_int_equal(uses[0].write.end, 92);
	bytes[0] = 1UL << 32;
	assert_int_equal(index_uses(&kernel, &launch, 0, 3, uses), 0);
	assert_int_equal(uses[0].write.first, 0);
	assert_int_equal(uses[0].write.end, 1UL << 32);
	index_free(&kernel);
}

/* Loops that do not end at their bound, since what they count goes on from the other end. */
static void counts_that_overflow(void **state)
{
	static const struct {
		unsigned bits;
		int initial, step, bound;
		enum index_predicate predicate;
		int after;
		bool known;
	} loops[] = {
	    {8, 0, 1, 127, INDEX_SLT, 1, true},      {8, 0, 1, 127, INDEX_SLE, 1, false},
	    {8, 0, 3, 126, INDEX_SLT, 1, false},     {8, 0, 3, 125, INDEX_SLT, 1, true},
	    {8, 9, -3, 2, INDEX_UGE, 1, false},      {8, 9, -3, 3, INDEX_UGE, 1, true},
	    {8, 100, 50, 2, INDEX_SLT, 1, false},    {8, 100, 50, 2, INDEX_SLT, 0, true},
	    {8, -126, -11, -3, INDEX_SGT, 1, false}, {32, 0, 1, INT32_MAX, INDEX_SLE, 1, false},
	    {8, 125, 118, -13, INDEX_EQ, 1, false},  {8, 5, 8, 13, INDEX_EQ, 1, true},
	};
	struct ndrange range = {1, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}};
	size_t bytes[1] = {1000};
	struct index_launch launch = {&range, NULL, bytes, NULL, NULL};

	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
		struct index_kernel kernel;
		struct index_use use;
		char text[400];

		snprintf(
		    text, sizeof(text),
		    "heddle-index 22\nargument buffer\nnode constant 0 %d\nnode constant 0 %d\n"
		    "node constant 0 %d\nnode trips %u 0 1 2 %d %d\nnode loop %u 0 1 3\n"
		    "access 0 4 1 write every 1\n",
		    loops[i].initial, loops[i].step, loops[i].bound, loops[i].bits,
		    (int)loops[i].predicate, loops[i].after, loops[i].bits);
		assert_int_equal(index_parse(text, &kernel), 0);
		assert_int_equal(index_uses(&kernel, &launch, 0, 1, &use), 0);
		if (use.write.known != loops[i].known)
			fail_msg("loop %zu", i);
		index_free(&kernel);
	}
}

/* A loop of one round, at 5, and eight bits of who knows what: not all bytes from 5 to 260 are
 * written. */
static void one_round_fills_nothing(void **state)
{
	static const char text[] = "heddle-index 22\nargument buffer\nnode constant 0 5\n"
	                           "node constant 0 9\nnode trips 32 0 1 0 6 1\n"
	                           "node loop 32 0 1 2\nnode item 0 0\nnode constant 0 100\n"
	                           "node mul 8 4 5\nnode extend 8 6\nnode add 32 3 7\n"
	                           "access 0 8 1 write every 1\n";
	struct ndrange range = {1, {1, 1, 1}, {4, 1, 1}, {0, 0, 0}};
	size_t bytes[1] = {1000};
	struct index_launch launch = {&range, NULL, bytes, NULL, NULL};
	struct index_kernel kernel;
	struct index_use use;

	assert_int_equal(index_parse(text, &kernel), 0);
	assert_int_equal(index_uses(&kernel, &launch, 0, 1, &use), 0);
	assert_true(use.write.known);
	assert_false(use.write.dense);
	index_free(&kernel);
}

/* The window that two groups of four items write, of bytes. */
static struct index_window written(const char *nodes)
{
	struct ndrange range = {1, {8, 1, 1}, {4, 1, 1}, {0, 0, 0}};
	size_t bytes[1] = {10000};
	struct index_launch launch = {&range, NULL, bytes, NULL, NULL};
	struct index_kernel kernel;
	struct index_use use;
	char text[2000];

	snprintf(text, sizeof(text),
	         "heddle-index 22\nargument buffer\n"
	         "node group 0 0\nnode items 0 0\nnode mul 64 0 1\nnode item 0 0\n"
	         "node add 64 2 3\nnode constant 0 0\nnode constant 0 1\nnode constant 0 3\n"
	         "node constant 0 4\nnode constant 0 12\n%s",
	         nodes);
	assert_int_equal(index_parse(text, &kernel), 0);
	assert_int_equal(index_uses(&kernel, &launch, 2, 2, &use), 0);
	index_free(&kernel);
	assert_true(use.write.known);
	return use.write;
}

static void expect_written(const char *nodes, size_t first, size_t end, size_t pitch, size_t width,
                           bool dense)
{
	struct index_window window = written(nodes);

	if (window.first != first || window.end != end || window.pitch != pitch ||
	    (pitch && window.width != width) || window.dense != dense)
		fail_msg("%s: %zu to %zu, rows of %zu every %zu, %s", nodes, window.first,
		         window.end, window.width, window.pitch,
		         window.dense ? "dense" : "not dense");
}

/* Nodes 4 to 9: the global id, 0, 1, 3, 4, 12. */
static void loops_fill(void **state)
{
	/* b[id * 12 + i * 3 + j], i < 4, j < 3 */
	expect_written("node trips 32 5 6 7 1 1\nnode loop 32 5 6 10\n"
	               "node trips 32 5 6 8 1 1\nnode loop 32 5 6 12\nnode mul 32 13 7\n"
	               "node add 32 14 11\nnode mul 64 4 9\nnode add 64 16 15\n"
	               "access 0 17 1 write every 1\n",
	               96, 192, 0, 0, true);
	/* The same, but some rounds do not get there. */
	expect_written("node trips 32 5 6 7 1 1\nnode loop 32 5 6 10\n"
	               "node trips 32 5 6 8 1 1\nnode loop 32 5 6 12\nnode mul 32 13 7\n"
	               "node add 32 14 11\nnode mul 64 4 9\nnode add 64 16 15\n"
	               "access 0 17 1 write always 1\n",
	               96, 192, 0, 0, false);
	/* Both count in one loop: b[id * 12 + i * 4], i < 3 */
	expect_written("node trips 32 5 6 7 1 1\nnode loop 32 5 6 10\nnode loop 32 5 6 10\n"
	               "node mul 32 12 7\nnode add 32 13 11\nnode mul 64 4 9\n"
	               "node add 64 15 14\naccess 0 16 1 write every 1\n",
	               96, 189, 4, 1, true);
	/* One loop inside that takes a counter back: b[id * 3 + i - i] */
	expect_written("node trips 32 5 6 7 1 1\nnode loop 32 5 6 10\nnode sub 32 11 11\n"
	               "node mul 64 4 7\nnode add 64 13 12\naccess 0 14 1 write every 1\n",
	               22, 48, 0, 0, false);
	/* It goes on while the counter is 0: b[id + i * 100] of two rounds */
	expect_written("node trips 32 5 6 5 9 0\nnode loop 32 5 6 10\nnode constant 0 100\n"
	               "node mul 32 11 12\nnode add 64 4 13\naccess 0 14 1 write every 1\n",
	               8, 116, 100, 8, true);
}

/* Each of several tests may end a loop: the one that does so first counts, if it is known. */
static void first_test_ends(void **state)
{
	static const char nodes[] = "node constant 0 2000\nnode unknown 0\n"
	                            "node trips 32 5 6 %d 1 1\nnode trips 32 5 6 %d 1 1\n"
	                            "node either 0 12 13\nnode loop 32 5 6 14\n"
	                            "node mul 32 15 9\nnode add 64 4 16\n"
	                            "access 0 17 1 write always 1\n";
	/* Of 12 (node 9) or 3 (node 7) or 2000 rounds. */
	static const struct {
		int bounds[2];
		size_t end;
	} cases[] = {{{9, 7}, 40}, {{7, 9}, 40}, {{10, 7}, 40}, {{7, 11}, 40}, {{11, 7}, 40}};
	char text[400];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), nodes, cases[i].bounds[0], cases[i].bounds[1]);
		expect_written(text, 8, cases[i].end, 0, 0, false);
	}
}

/* Tests of a description may lead to others, two each: all ways to them would take for ever. */
static void tests_of_tests(void **state)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	fputs("node trips 32 5 6 9 1 1\n", out);
	for (int i = 10; i < 50; i++)
		fprintf(out, "node either 0 %d %d\n", i, i);
	fputs("node loop 32 5 6 50\nnode mul 32 51 9\nnode add 64 4 52\n"
	      "access 0 53 1 write always 1\n",
	      out);
	assert_int_equal(fclose(out), 0);
	expect_written(text, 8, 148, 0, 0, false);
	free(text);
}

/* Between rows a range has what it reads, unless another group writes there. */
static void rows_are_kept(void **state)
{
	static const char text[] = "heddle-index 22\nargument buffer\nargument integer 32\n"
	                           "node group 0 0\nnode constant 0 16\nnode mul 64 0 1\n"
	                           "node argument 0 1\nnode mul 64 0 3\n"
	                           "access 0 4 16 read always 4\naccess 0 2 12 write always 4\n";
	static const char other[] = "node groups 0 0\nnode constant 0 1\nnode sub 64 5 6\n"
	                            "guard 9 0 7\nnode constant 0 12\nnode add 64 2 8\n"
	                            "access 0 9 4 write always 4 0\n";
	static const char reader[] = "node constant 0 124\naccess 0 5 4 read always 4\n";
	static const char apart[] = "heddle-index 22\nargument buffer\nnode group 0 0\n"
	                            "node constant 0 512\nnode mul 64 0 1\n"
	                            "access 0 2 512 read always 4\naccess 0 2 12 write always 4\n";
	struct ndrange range = {1, {8, 1, 1}, {1, 1, 1}, {0, 0, 0}};
	int64_t integers[2] = {0, 16};
	char together[sizeof(text) + sizeof(other)];
	size_t bytes[2] = {1 << 20};
	struct index_launch launch = {&range, integers, bytes, NULL, NULL};
	struct index_use uses[2];
	struct index_kernel kernel;

	assert_int_equal(index_parse(text, &kernel), 0);
	assert_int_equal(index_uses(&kernel, &launch, 2, 3, uses), 0);
	assert_int_equal(uses[0].write.first, 32);
	assert_int_equal(uses[0].write.end, 76);
	assert_int_equal(uses[0].write.pitch, 0);
	assert_true(uses[0].write.dense);
	integers[1] = 32; /* it reads the first of them elsewhere */
	assert_int_equal(index_uses(&kernel, &launch, 2, 3, uses), 0);
	assert_int_equal(uses[0].write.pitch, 16);
	index_free(&kernel);
	/* All groups read what lies between the last one's. */
	integers[1] = 16;
	snprintf(together, sizeof(together), "%s%s", text, reader);
	assert_int_equal(index_parse(together, &kernel), 0);
	assert_int_equal(index_uses(&kernel, &launch, 5, 3, uses), 0);
	assert_int_equal(uses[0].write.pitch, 16);
	assert_int_equal(index_uses(&kernel, &launch, 0, 8, uses), 0);
	assert_int_equal(uses[0].write.pitch, 0);
	index_free(&kernel);
	/* Rows far apart cross alone. */
	assert_int_equal(index_parse(apart, &kernel), 0);
	assert_int_equal(index_uses(&kernel, &launch, 2, 3, uses), 0);
	assert_int_equal(uses[0].write.pitch, 512);
	index_free(&kernel);
	integers[1] = 16;
	/* The last group writes what lies between. */
	snprintf(together, sizeof(together), "%s%s", text, other);
	assert_int_equal(index_parse(together, &kernel), 0);
	assert_int_equal(index_uses(&kernel, &launch, 2, 3, uses), 0);
	assert_int_equal(uses[0].write.pitch, 16);
	index_free(&kernel);
}

/* A row of an image is written as far as it goes. */
static void pixels(void **state)
{
	static const char text[] = "heddle-index 22\nargument image 2 1\nargument sampler\n"
	                           "field 0 0 4\nnode group 0 0\nnode items 0 0\nnode mul 64 0 1\n"
	                           "node item 0 0\nnode add 64 2 3\nnode field 0 0\nguard 5 4 5\n"
	                           "access 0 4 1 write every 1 0\n";
	static const char *const wrong[] = {
	    "heddle-index 22\nargument sampler\nfield 0 0 4\n",
	    "heddle-index 22\nargument sampler\naccess 0 -1 1 read maybe 1\n",
	};
	const struct index_image given = {.width = 20};
	struct ndrange range = {1, {4, 1, 1}, {8, 1, 1}, {0, 0, 0}};
	int64_t integers[3] = {0};
	size_t bytes[2] = {20, 0};
	struct index_launch launch = {&range, integers, bytes, NULL, NULL};
	struct index_use uses[2];
	struct index_kernel kernel;

	assert_int_equal(index_parse(text, &kernel), 0);
	assert_int_equal(kernel.arguments[0].kind, INDEX_IMAGE);
	assert_int_equal(kernel.arguments[0].shape, 2);
	assert_int_equal(kernel.arguments[0].formats, INDEX_FLOAT_FORMATS);
	assert_int_equal(kernel.arguments[1].kind, INDEX_SAMPLER);
	integers[2] = index_field_value(&kernel.fields[0], &given);
	assert_int_equal(index_uses(&kernel, &launch, 1, 3, uses), 0);
	assert_true(uses[0].write.dense);
	index_window_scale(&uses[0].write, 16);
	assert_int_equal(uses[0].write.first, 8 * 16);
	assert_int_equal(uses[0].write.end, 20 * 16);
	index_free(&kernel);
	for (int i = 0; i < 2; i++)
		assert_int_equal(index_parse(wrong[i], &kernel), -EINVAL);
}

/* b[id * stride + first], of fields of an argument. */
static void fields_are_read(void **state)
{
	static const char text[] = "heddle-index 22\nargument other\nargument buffer\n"
	                           "field 0 4 2\nfield 0 8 8\n"
	                           "node group 0 0\nnode items 0 0\nnode mul 64 0 1\n"
	                           "node item 0 0\nnode add 64 2 3\nnode field 0 0\n"
	                           "node field 0 1\nnode mul 64 4 5\nnode add 64 7 6\n"
	                           "access 1 8 4 write every 4\n";
	static const char *const wrong[] = {
	    "heddle-index 22\nargument buffer\nfield 0 0 4\n",
	    "heddle-index 22\nargument other\nfield 1 0 4\n",
	    "heddle-index 22\nargument other\nfield 0 0 3\n",
	    "heddle-index 22\nargument other\nfield 0 0 4\nnode field 0 1\n",
	};
	const struct {
		int unused;
		short stride;
		long first;
	} given = {77, -4, 1000};
	struct ndrange range = {1, {8, 1, 1}, {4, 1, 1}, {0, 0, 0}};
	int64_t integers[4] = {0};
	size_t bytes[2] = {0, 10000};
	struct index_launch launch = {&range, integers, bytes, NULL, NULL};
	struct index_use uses[2];
	struct index_kernel kernel;

	assert_int_equal(index_parse(text, &kernel), 0);
	assert_int_equal(kernel.nfields, 2);
	for (unsigned f = 0; f < kernel.nfields; f++)
		integers[2 + f] = index_field_value(&kernel.fields[f], &given);
	assert_int_equal(integers[2], -4);
	assert_int_equal(integers[3], 1000);
	assert_int_equal(index_uses(&kernel, &launch, 1, 2, uses), 0);
	assert_int_equal(uses[1].write.first, 1000 - 4 * 11);
	assert_int_equal(uses[1].write.end, 1000 - 4 * 4 + 4);
	assert_true(uses[1].write.dense);
	index_free(&kernel);
	setenv("HEDDLE_VERBOSE", "0", 1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(index_parse(wrong[i], &kernel), -EINVAL);
	unsetenv("HEDDLE_VERBOSE");
}

static void pieces_meet(void **state)
{
	/* In any order: rows at 0, 100 and 200. */
	expect_written("node constant 0 100\nnode constant 0 200\nnode add 64 4 10\n"
	               "node add 64 4 11\naccess 0 12 1 write every 1\n"
	               "access 0 4 1 write every 1\naccess 0 13 1 write every 1\n",
	               8, 216, 100, 8, true);
	/* At 0, 100 and 150: no rows. */
	expect_written("node constant 0 100\nnode constant 0 150\nnode add 64 4 10\n"
	               "node add 64 4 11\naccess 0 12 1 write every 1\n"
	               "access 0 4 1 write every 1\naccess 0 13 1 write every 1\n",
	               8, 166, 0, 0, false);
	/* One item in another place than those that are not the first one of all groups: group 2
	 * begins at 8. */
	expect_written("node constant 0 8\nguard 9 4 10\nguard 0 4 10\n"
	               "access 0 4 1 write every 1 0\naccess 0 4 1 write every 1 1\n",
	               8, 16, 0, 0, true);
	expect_written("node constant 0 10\nguard 9 4 10\nguard 0 4 10\n"
	               "access 0 4 1 write every 1 1\n",
	               8, 16, 0, 0, false);
}

static void nonsense_is_refused(void **state)
{
	static const char *const bad[] = {
	    "",
	    "heddle-index 4\n",
	    "heddle-index 22\nargument thing\n",
	    "heddle-index 22\nnode add 64 0 0\n",
	    "heddle-index 22\nnode constant 0 1\nnode add 64 0 1\n",
	    "heddle-index 22\nnode constant 0\n",
	    "heddle-index 22\nnode group 0 3\n",
	    "heddle-index 22\nnode sing 0\n",
	    "heddle-index 22\nnode constant 0 1\nnode extend 0 0\n",
	    "heddle-index 22\nnode constant 0 1\nnode choose 64 0 0 0\n",
	    "heddle-index 22\nnode constant 0 1\nguard 9 0 0\nnode choose 0 0 0 0\n",
	    "heddle-index 22\nnode argument 0 0\n",
	    "heddle-index 22\naccess 0 -1 4 read maybe 4\n",
	    "heddle-index 22\nargument buffer\naccess 0 0 4 read maybe 4\n",
	    "heddle-index 22\nargument buffer\naccess 0 -1 4 eat maybe 4\n",
	    "heddle-index 22\nargument buffer\naccess 0 -1 4 read maybe\n",
	    "heddle-index 22\nargument buffer\naccess 0 -1 4 read maybe 4 0\n",
	    "heddle-index 22\nargument buffer\naccess 0 -1 4 read maybe 4 x\n",
	    "heddle-index 22\nnode constant 0 1\nguard 1 0 1\n",
	    "heddle-index 22\nnode constant 0 1\nguard 99 0 0\n",
	};
	struct index_kernel kernel;

	setenv("HEDDLE_VERBOSE", "0", 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(index_parse(bad[i], &kernel), -EINVAL);
	unsetenv("HEDDLE_VERBOSE");
}

static void differences_merge(void **state)
{
	unsigned char original[1000], parts[3][1000], into[1000], expected[1000];

	for (int i = 0; i < 1000; i++)
		original[i] = expected[i] = lrand48();
	memcpy(into, original, 1000);
	for (int p = 0; p < 3; p++)
		memcpy(parts[p], original, 1000);
	for (int i = 0; i < 1000; i++)
		if (lrand48() % 3)
			parts[i * 3 / 1000][i] = expected[i] = lrand48();
	for (int p = 0; p < 3; p++)
		kernel_merge_differences(into, original, parts[p], 1000);
	assert_memory_equal(into, expected, 1000);
	assert_int_equal(kernel_merge_differences(into, original, original, 1000), 0);
}

/* Windows of an access whose terms are chosen at random against every byte it touches:
 * none is outside, and all are inside where the window is dense. */
static void windows_are_exact(void **state)
{
	unsigned pitched = 0, dense = 0;

	for (int i = 0; i < 20000; i++) {
		struct ndrange range = {3, {4, 3, 2}, {3, 2, 2}, {0, 0, 0}};
		size_t bytes[1] = {4000}, from = lrand48() % 24, n = 1 + lrand48() % (24 - from);
		struct index_launch launch = {&range, NULL, bytes, NULL, NULL};
		unsigned char touched[4000] = {0}, window[4000] = {0};
		long k[6], c = lrand48() % 100, size = 1 + lrand48() % 4;
		struct index_kernel kernel;
		struct index_use use;
		char text[2000];
		int length;

		length = sprintf(text, "heddle-index %d\nargument buffer\nnode constant 0 %ld\n",
		                 INDEX_VERSION, c);
		for (int t = 0; t < 6; t++) {
			k[t] = lrand48() % 3 ? (long[]){0, 1, 2, 4, 12, 40, 80, 240}[lrand48() % 8]
			                     : 0;
			length += sprintf(text + length,
			                  "node %s 0 %d\nnode constant 0 %ld\n"
			                  "node mul 64 %d %d\nnode add 64 %d %d\n",
			                  t < 3 ? "group" : "item", t % 3, k[t], 4 * t + 1,
			                  4 * t + 2, 4 * t, 4 * t + 3);
		}
		sprintf(text + length, "access 0 24 %ld write always 1\n", size);
		assert_int_equal(index_parse(text, &kernel), 0);
		assert_int_equal(index_uses(&kernel, &launch, from, n, &use), 0);
		for (size_t g = from; g < from + n; g++)
			for (int l = 0; l < 12; l++) {
				long at = c + k[0] * (g % 4) + k[1] * (g / 4 % 3) +
				          k[2] * (g / 12) + k[3] * (l % 3) + k[4] * (l / 3 % 2) +
				          k[5] * (l / 6);

				memset(touched + at, 1, size);
			}
		for (size_t row = 0; row < index_window_rows(&use.write); row++)
			memset(window + use.write.first + row * use.write.pitch, 1,
			       use.write.pitch ? use.write.width : use.write.end - use.write.first);
		for (int b = 0; b < 4000; b++)
			assert_true(use.write.dense ? touched[b] == window[b]
			                            : touched[b] <= window[b]);
		pitched += use.write.pitch > 0;
		dense += use.write.dense;
		index_free(&kernel);
	}
	printf("  of 20000 windows %u in rows, %u dense\n", pitched, dense);
	assert_true(pitched > 1000 && dense > 1000);
}

static bool compares(int predicate, long a, long b)
{
	switch (predicate) {
	case INDEX_NE:
		return a != b;
	case INDEX_SLT:
		return a < b;
	case INDEX_SLE:
		return a <= b;
	case INDEX_SGT:
		return a > b;
	case INDEX_SGE:
		return a >= b;
	case INDEX_ULT:
		return (unsigned long)a < (unsigned long)b;
	case INDEX_ULE:
		return (unsigned long)a <= (unsigned long)b;
	case INDEX_UGT:
		return (unsigned long)a > (unsigned long)b;
	case INDEX_UGE:
		return (unsigned long)a >= (unsigned long)b;
	default:
		return a == b;
	}
}

/* A sum of group and item numbers, and a constant. */
struct sum {
	long c, k[6];
};

/* Prints its nodes. @return the last one's number */
static int sum_print(FILE *out, const struct sum *sum, int *nodes)
{
	int last = (*nodes)++;

	fprintf(out, "node constant 0 %ld\n", sum->c);
	for (int t = 0; t < 6; t++, *nodes += 4) {
		fprintf(out,
		        "node %s 0 %d\nnode constant 0 %ld\nnode mul 64 %d %d\nnode add 64 %d %d\n",
		        t < 3 ? "group" : "item", t % 3, sum->k[t], *nodes, *nodes + 1, last,
		        *nodes + 2);
		last = *nodes + 3;
	}
	return last;
}

static long sum_at(const struct sum *sum, size_t group, int item)
{
	long numbers[6] = {group % 4, group / 4 % 3, group / 12, item % 3, item / 3 % 2, item / 6};
	long value = sum->c;

	for (int t = 0; t < 6; t++)
		value += sum->k[t] * numbers[t];
	return value;
}

static struct sum sum_random(bool address)
{
	/* Elements of a row-wise matrix, as they are usual, or anything. */
	static const long rows[][6] = {
	    {3, 24, 0, 1, 12, 0}, {3, 0, 0, 1, 0, 0}, {0, 2, 0, 0, 1, 0}, {12, 0, 0, 4, 0, 0}};
	struct sum sum = {lrand48() % 20 - (address ? 0 : 10), {0}};
	int usual = lrand48() % 6;

	for (int t = 0; t < 6; t++)
		sum.k[t] = usual < 4       ? rows[usual][t] * (address ? 4 : 1)
		           : lrand48() % 2 ? 0
		           : address       ? (long[]){1, 2, 4, 12, 40, 80}[lrand48() % 6]
		                           : lrand48() % 7 - 3;
	return sum;
}

/* Windows of an access behind random comparisons against every byte that is touched by
 * work-items for which they hold. */
static void guards_are_sound(void **state)
{
	unsigned dense = 0, smaller = 0;

	for (int i = 0; i < 30000; i++) {
		struct ndrange range = {3, {4, 3, 2}, {3, 2, 2}, {0, 0, 0}};
		size_t bytes[1] = {4000}, from = lrand48() % 24, n = 1 + lrand48() % (24 - from);
		struct index_launch launch = {&range, NULL, bytes, NULL, NULL};
		unsigned char touched[4000] = {0}, window[4000] = {0};
		int nguards = lrand48() % 4, predicates[4], nodes = 0, sides[4][2], width = 4;
		struct sum address = sum_random(true), guards[4][2];
		struct index_kernel kernel;
		struct index_use use;
		bool any = false;
		char *text;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		fprintf(out, "heddle-index %d\nargument buffer\n", INDEX_VERSION);
		int at = sum_print(out, &address, &nodes);
		for (int g = 0; g < nguards; g++) {
			predicates[g] = lrand48() % INDEX_NPREDICATES;
			guards[g][0] = sum_random(false);
			guards[g][1] = sum_random(false);
			if (lrand48() % 3)
				memset(guards[g][1].k, 0, sizeof(guards[g][1].k));
			for (int s = 0; s < 2; s++)
				sides[g][s] = sum_print(out, &guards[g][s], &nodes);
		}
		for (int g = 0; g < nguards; g++)
			fprintf(out, "guard %d %d %d\n", predicates[g], sides[g][0], sides[g][1]);
		fprintf(out, "access 0 %d %d write always 4", at, width);
		for (int g = 0; g < nguards; g++)
			fprintf(out, " %d", g);
		fputc('\n', out);
		fclose(out);
		assert_int_equal(index_parse(text, &kernel), 0);
		free(text);
		assert_int_equal(index_uses(&kernel, &launch, from, n, &use), 0);
		for (size_t g = from; g < from + n; g++)
			for (int l = 0; l < 12; l++) {
				bool passes = true;

				for (int j = 0; j < nguards; j++)
					passes = passes && compares(predicates[j],
					                            sum_at(&guards[j][0], g, l),
					                            sum_at(&guards[j][1], g, l));
				if (passes)
					memset(touched + sum_at(&address, g, l), 1, width);
				any = any || passes;
			}
		for (size_t row = 0; row < index_window_rows(&use.write); row++)
			memset(window + use.write.first + row * use.write.pitch, 1,
			       use.write.pitch ? use.write.width : use.write.end - use.write.first);
		for (int b = 0; b < 4000; b++)
			assert_true(use.write.dense ? touched[b] == window[b]
			                            : touched[b] <= window[b]);
		dense += nguards && use.write.dense;
		smaller += nguards && !any && use.write.first == use.write.end;
		index_free(&kernel);
	}
	printf("  of 30000 windows %u dense behind guards, %u empty\n", dense, smaller);
	assert_true(dense > 1000 && smaller > 100);
}

/* Accesses to elements of 4 bytes, whose numbers are those of nodes: 7: i; 9: 2 i; 11: 2 i + 1;
 * 12: i + 1; 13: the group's number; 14: i of the second dimension; 15: in a loop, from i on;
 * 16: not known; 17: i without the offset. */
static const char indices[] = "node group 0 0\nnode items 0 0\nnode item 0 0\n"
                              "node mul 64 0 1\nnode add 64 3 2\nnode offset 0 0\n"
                              "node constant 0 1\nnode add 64 4 5\nnode constant 0 2\n"
                              "node mul 64 7 8\nnode constant 0 1\nnode add 64 9 10\n"
                              "node add 64 7 6\nnode group 0 0\nnode item 0 1\n"
                              "node range 0 0 3\nnode unknown 0\nnode add 64 3 2\n";

/* Whether a kernel that accesses these elements of a buffer, and i of another, is contiguous. */
static bool contiguous(const char *elements, const struct ndrange *range)
{
	char text[2048], *at = text;
	size_t bytes[2] = {1 << 20, 1 << 20};
	struct index_launch launch = {range, NULL, bytes, NULL, NULL};
	struct index_kernel kernel;
	bool found = false;
	int node, used, nodes = 18;

	at += sprintf(at, "heddle-index 22\nargument buffer\nargument buffer\n%s", indices);
	at += sprintf(at, "node constant 0 4\nnode mul 64 7 18\n");
	for (const char *e = elements; sscanf(e, "%d%n", &node, &used) == 1; e += used)
		at += sprintf(at, "node mul 64 %d 18\n", node);
	at += sprintf(at, "access 1 19 4 write always 4\n");
	nodes = 20;
	for (const char *e = elements; sscanf(e, "%d%n", &node, &used) == 1; e += used)
		at += sprintf(at, "access 0 %d 4 read always 4\n", nodes++);
	assert_int_equal(index_parse(text, &kernel), 0);
	assert_int_equal(published_contiguous(&kernel, &launch, &found), 0);
	index_free(&kernel);
	return found;
}

/* SKMD's two classes. */
static void two_classes(void **state)
{
	struct ndrange flat = {1, {8, 1, 1}, {16, 1, 1}, {0, 0, 0}};
	struct ndrange shifted_range = {1, {8, 1, 1}, {16, 1, 1}, {100, 0, 0}};
	struct ndrange square = {2, {8, 8, 1}, {16, 16, 1}, {0, 0, 0}};
	struct ndrange ones = {1, {8, 1, 1}, {1, 1, 1}, {0, 0, 0}};

	assert_true(contiguous("7", &flat));
	assert_true(contiguous("9 11", &flat)); /* each item two elements of its own */
	assert_false(contiguous("7 9", &flat)); /* other items' */
	assert_false(contiguous("12", &flat));  /* the next item's */
	assert_false(contiguous("13", &flat));  /* one for each group */
	assert_true(contiguous("13", &ones));   /* which has one item */
	assert_false(contiguous("6", &flat));   /* one for all */
	assert_false(contiguous("15", &flat));  /* some for all */
	assert_false(contiguous("16", &flat));  /* unknown */
	assert_true(contiguous("7", &shifted_range));
	assert_false(contiguous("17", &shifted_range));
	assert_false(contiguous("14", &square));
	assert_true(contiguous("7", &square)); /* as the rule says */
}

static void rows_merge(void **state)
{
	for (int i = 0; i < 2000; i++) {
		unsigned char original[4096], into[4096], partial[4096], expected[4096], copy[4096],
		    before[4096];
		size_t pitch = 2 + lrand48() % 400, width = 1 + lrand48() % (pitch - 1);
		size_t rows = 1 + lrand48() % (4096 / pitch - 1), first = lrand48() % pitch;
		struct index_window window = {
		    first, first + (rows - 1) * pitch + width, pitch, width, true, true};
		struct kernel_layout layout = kernel_layout(&window);

		assert_int_equal(index_window_rows(&window), rows);
		for (int b = 0; b < 4096; b++) {
			original[b] = lrand48();
			into[b] = expected[b] = lrand48();
			partial[b] = lrand48() % 2 ? original[b] : lrand48();
		}
		kernel_merge_pack(copy, partial, &layout);
		kernel_merge_pack(before, original, &layout);
		for (size_t row = 0; row < rows; row++)
			for (size_t b = first + row * pitch; b < first + row * pitch + width; b++)
				if (i % 2 || partial[b] != original[b])
					expected[b] = partial[b];
		kernel_merge_rows(into, i % 2 ? NULL : before, copy, &layout);
		assert_memory_equal(into, expected, 4096);
	}
}

/* The source with an early exit, in which X stands for the two parameters and Y for the
 * exit. */
static void exits_check(const char *given, const char *expected)
{
	static const char *const marks[] = {"ulong heddle_first, ulong heddle_last",
	                                    " if (heddle_skips(heddle_first, heddle_last)) "
	                                    "return;"};
	char *text = ndrange_exit_source(given, "k");

	for (int m = 0; text && m < 2; m++)
		for (char *at; (at = strstr(text, marks[m]));) {
			*at = m ? 'Y' : 'X';
			memmove(at + 1, at + strlen(marks[m]), strlen(at + strlen(marks[m])) + 1);
		}
	if (expected)
		assert_string_equal(text ? text : "none", expected);
	else
		assert_null(text);
	free(text);
}

static void exits(void **state)
{
	exits_check("__kernel void k(__global int *x) { x[0] = 1; }",
	            "__kernel void k(__global int *x, X) {Y x[0] = 1; }");
	exits_check("kernel void k() {}", "kernel void k(X) {Y}");
	exits_check("kernel void k ( void )\n{ }", "kernel void k (X)\n{Y }");
	exits_check("kernel void k(int a);\nkernel void k(int a) { if (a) { } }",
	            "kernel void k(int a, X);\nkernel void k(int a, X) {Y if (a) { } }");
	exits_check(
	    "// k(int) {\n/* k() { */\n#define k2(a) k(a) { \\\n k() {\nkernel void k(int "
	    "a /* ) */) { }",
	    "// k(int) {\n/* k() { */\n#define k2(a) k(a) { \\\n k() {\nkernel void k(int a "
	    "/* ) */, X) {Y }");
	exits_check(
	    "void f(int k) { g(k (1)); } kernel void k2(int a) { } kernel void k(int a[(2)]) { }",
	    "void f(int k) { g(k (1)); } kernel void k2(int a) { } kernel void k(int a[(2)], "
	    "X) {Y }");
	exits_check("constant char t[] = \"k() {\\\"\"; kernel void k(int a) { }",
	            "constant char t[] = \"k() {\\\"\"; kernel void k(int a, X) {Y }");
	exits_check("#define K kernel void k(int a)\nK { }", NULL);
	exits_check("kernel void k(int a);", NULL);
	exits_check("kernel void k(int a", NULL);
	exits_check("kernel void other(int a) { k(a); }", NULL);
	exits_check("", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(boxes_cover),
	    cmocka_unit_test(ndranges),
	    cmocka_unit_test(arithmetic_is_sound),
	    cmocka_unit_test(large_numbers_are_given_up),
	    cmocka_unit_test(description_read),
	    cmocka_unit_test(choices),
	    cmocka_unit_test(large_bases),
	    cmocka_unit_test(counts_that_overflow),
	    cmocka_unit_test(one_round_fills_nothing),
	    cmocka_unit_test(loops_fill),
	    cmocka_unit_test(first_test_ends),
	    cmocka_unit_test(tests_of_tests),
	    cmocka_unit_test(pieces_meet),
	    cmocka_unit_test(rows_are_kept),
	    cmocka_unit_test(pixels),
	    cmocka_unit_test(fields_are_read),
	    cmocka_unit_test(nonsense_is_refused),
	    cmocka_unit_test(differences_merge),
	    cmocka_unit_test(windows_are_exact),
	    cmocka_unit_test(guards_are_sound),
	    cmocka_unit_test(two_classes),
	    cmocka_unit_test(rows_merge),
	    cmocka_unit_test(exits),
	};
	unsigned seed = test_seed();

	srand48(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
