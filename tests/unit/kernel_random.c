/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Random kernels: does each window that the analysis claims include what its groups touch, and
 * is each byte written that it says is?
 *
 * HEDDLE_TEST_ROUNDS is the number of kernels (400). A kernel that fails is printed.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/analysis.h"
#include "partition/kernel/access/index.h"
#include "tests/unit/random_kernel.h"
#include "tests/unit/test.h"

static char why[KERNEL_WHY];

enum { LAUNCHES = 6, RANGES = 8 };

static struct {
	unsigned long kernels, refused, launches, windows, known, dense, exact, images, painted;
	unsigned long aliased, leaving, told, looked, scribbled;
} counts;

/* ---- launches ---- */

static void range_make(struct ndrange *range)
{
	static const size_t far[] = {INT32_MAX - 3, INT32_MAX, UINT32_MAX - 3, (size_t)1 << 40};
	size_t global[3], local[3], offset[3] = {0, 0, 0};
	unsigned dimensions = 1 + lrand48() % 3;

	for (unsigned d = 0; d < 3; d++) {
		local[d] = 1 + lrand48() % (d ? 3 : 8);
		global[d] = local[d] * (1 + lrand48() % (d ? 3 : 6));
	}
	if (lrand48() % 4 == 0) /* too many groups to look at each alone */
		local[0] = 1 + lrand48() % 2, global[0] = local[0] * (17 + lrand48() % 20);
	assert_int_equal(ndrange_make(dimensions, global, local, range), 0);
	for (unsigned d = 0; d < 3; d++)
		if (lrand48() % 3 == 0)
			offset[d] = lrand48() % 8 ? (size_t)lrand48() % 100 : far[lrand48() % 4];
	assert_int_equal(ndrange_shift(range, offset), 0);
}

/* Sizes and strides, mostly; some at the ends of what 31 and 32 bits hold. */
static void integers_make(int64_t integers[RANDOM_INTEGERS])
{
	static const int64_t large[] = {INT32_MAX, INT32_MIN, INT32_MAX - 5, 1 << 24, 1 << 30};

	for (int i = 0; i < RANDOM_INTEGERS; i++) {
		int64_t value = lrand48() % 4 ? lrand48() % 50 : lrand48() % 3000;

		if (lrand48() % 12 == 0)
			value = -value;
		if (lrand48() % 12 == 0)
			value = large[lrand48() % 5];
		if (i >= 2 && lrand48() % 10 == 0)
			value = lrand48() * (INT64_C(1) + lrand48() % 8);
		integers[i] = i == 1 ? (int64_t)(uint32_t)value : value;
	}
}

/* Sizes of the image: mostly about those of the NDRange. */
static void sizes_make(const struct random_kernel *kernel, const struct ndrange *range,
                       int64_t sizes[RANDOM_SIZES])
{
	for (unsigned i = 0; i < RANDOM_SIZES; i++) {
		int64_t items = range->groups[i] * range->local[i];

		sizes[i] = i >= random_kernel_sizes(kernel) ? 1
		           : lrand48() % 2                  ? items
		           : lrand48() % 2                  ? items + lrand48() % 9
		                                            : 1 + lrand48() % 70;
	}
}

/* What a launch has for the integers: those of arguments, or of fields of a structure or of the
 * image. */
static void given_make(const struct random_kernel *kernel, const struct index_kernel *index,
                       const int64_t n[RANDOM_INTEGERS], const int64_t sizes[RANDOM_SIZES],
                       int64_t given[RANDOM_ARGUMENTS + INDEX_MAXFIELDS])
{
	unsigned last = random_kernel_sizes(kernel) - 1;
	bool layers = random_kernel_layers(kernel);
	const struct index_image image = {
	    .width = sizes[0],
	    .height = layers && last == 1 ? 0 : sizes[1],
	    .depth = layers ? 0 : sizes[2],
	    .layers = layers ? sizes[last] : 0,
	};
	struct {
		int32_t n0;
		uint32_t n1;
		int64_t n2;
		uint64_t n3;
	} structure = {n[0], n[1], n[2], n[3]};

	memcpy(given + RANDOM_BUFFERS, n, RANDOM_INTEGERS * sizeof(*n));
	given[RANDOM_BUFFERS + 1] = (int32_t)n[1];
	for (unsigned f = 0; f < index->nfields; f++) {
		const struct index_field *field = &index->fields[f];
		bool is_image = index->arguments[field->argument].kind == INDEX_IMAGE;

		given[index->narguments + f] = index_field_value(
		    field, is_image ? (const void *)&image : (const void *)&structure);
	}
}

/* Buffers as large as they have to be, or larger. */
static void bytes_choose(const struct random_touches *touches, size_t bytes[RANDOM_ARGUMENTS])
{
	for (int b = 0; b < RANDOM_ARGUMENTS; b++)
		bytes[b] = 16;
	for (size_t t = 0; t < touches->n; t++)
		if (touches->all[t].buffer != RANDOM_IMAGE &&
		    bytes[touches->all[t].buffer] < (size_t)touches->all[t].whole)
			bytes[touches->all[t].buffer] = touches->all[t].whole;
	for (int b = 0; b < RANDOM_BUFFERS; b++)
		switch (lrand48() % 4) {
		case 0:
			bytes[b] += lrand48() % 5000;
			break;
		case 1:
			bytes[b] += (size_t)lrand48() << lrand48() % 6;
			break;
		}
}

/* Some launches have one array as two of the buffers. */
static bool same_choose(int same[RANDOM_ARGUMENTS], size_t bytes[RANDOM_ARGUMENTS])
{
	int b = lrand48() % RANDOM_DATA, of = lrand48() % RANDOM_DATA;

	if (of >= b || same[RANDOM_DATA] != RANDOM_DATA)
		return false;
	same[b] = of;
	bytes[b] = bytes[of] = bytes[b] > bytes[of] ? bytes[b] : bytes[of];
	return true;
}

/* ---- contents ---- */

enum { MOSTBYTES = 40000 };

static unsigned char held[MOSTBYTES];

/* A number next to one that a type ends at, or what is computed with. */
static int64_t near_end(unsigned which)
{
	static const unsigned char bits[] = {7, 8, 15, 16, 31, 32, 40, 61, 63};
	uint64_t end = (uint64_t)1 << bits[which % sizeof(bits)];

	return (int64_t)((lrand48() % 2 ? end : -end) + lrand48() % 5 - 2);
}

/* What the last buffer holds: integers of some size that are small, all the same, offsets that
 * grow, or anything, now and then large. */
static void contents_fill(void)
{
	size_t width = 1U << (lrand48() % 3 ? 2 : lrand48() % 4);
	int64_t kind = lrand48() % 5, factor = 1 + lrand48() % 40, value;
	unsigned far = lrand48() % 4, end = lrand48();

	for (size_t i = 0; i < MOSTBYTES / width; i++) {
		value = kind == 0   ? factor
		        : kind == 1 ? (int64_t)i * factor
		        : kind == 2 ? lrand48() % 2
		                    : lrand48() % 50;
		if (kind == 3 && lrand48() % 20 == 0)
			value = lrand48() % 2 ? -value : INT32_MAX - value;
		if (far == 1 || (far == 2 && lrand48() % 8 == 0))
			value = near_end(far == 1 ? end : lrand48());
		memcpy(held + i * width, &value, width); /* little-endian */
	}
}

/* What a launch knows of it: nothing, all, or what is wrong by then, since the kernel writes there
 * by another argument.
 * @return whether the kernel finds it so */
static bool contents_choose(const struct index_kernel *index, struct random_contents *contents,
                            int same[RANDOM_ARGUMENTS])
{
	int other = lrand48() % RANDOM_DATA;

	contents_fill();
	*contents = (struct random_contents){NULL, 0};
	if (lrand48() % 3 == 0)
		return false;
	*contents = (struct random_contents){held, lrand48() % 3 ? MOSTBYTES
	                                                         : 8 + lrand48() % (MOSTBYTES - 8)};
	if (lrand48() % 6 || !index_writes(index, other))
		return true;
	same[RANDOM_DATA] = other;
	counts.scribbled++;
	return false;
}

/* ---- checks ---- */

/* Whether bytes from `first` up to before `end` are in a window. */
static bool window_has(const struct index_window *window, size_t first, size_t end)
{
	size_t column;

	if (first < window->first || end > window->end)
		return false;
	if (!window->pitch)
		return true;
	column = (first - window->first) % window->pitch;
	return column + (end - first) <= window->width;
}

static int compare_touches(const void *a, const void *b)
{
	const struct random_touch *one = a, *other = b;

	return (one->first > other->first) - (one->first < other->first);
}

struct check {
	const struct random_kernel *kernel;
	const struct index_launch *launch;
	const struct random_touches *touches;
	bool found; /* the contents of the last buffer are known */
};

/* The argument whose window has a touch. */
static int buffer_of(const struct check *check, const struct random_touch *touch)
{
	return touch->buffer == RANDOM_IMAGE ? RANDOM_IMAGE : check->launch->same[touch->buffer];
}

/* Whether no group writes bytes that a range reads: they are as they were. */
static bool is_kept(const struct check *check, int buffer, const struct index_window *read,
                    int64_t first, int64_t end)
{
	for (size_t t = 0; t < check->touches->n; t++) {
		const struct random_touch *touch = &check->touches->all[t];

		if (touch->write && buffer_of(check, touch) == buffer && touch->first < end &&
		    touch->end > first)
			return false;
	}
	return !read->pitch && window_has(read, first, end);
}

/* Whether bytes from `first` up to before `end` are all written, or kept. Touches are sorted.
 * @param read kept ones are read; NULL: there are none */
static bool all_written(const struct check *check, int buffer, const struct index_window *read,
                        const struct random_touch *writes, size_t n, int64_t first, int64_t end)
{
	for (size_t t = 0; t < n && first < end; t++) {
		if (writes[t].first > first &&
		    (!read || !is_kept(check, buffer, read, first, writes[t].first)))
			return false;
		if (writes[t].end > first)
			first = writes[t].end;
	}
	return first >= end;
}

static bool dense_holds(const struct check *check, int buffer, const struct index_use *use,
                        const struct random_touch *writes, size_t n)
{
	const struct index_window *window = &use->write;
	size_t rows = index_window_rows(window);
	size_t width = window->pitch ? window->width : window->end - window->first;

	if (rows > 100000)
		return false;
	for (size_t row = 0; row < rows; row++) {
		size_t at = window->first + row * window->pitch;

		if (!all_written(check, buffer, window->pitch ? NULL : &use->read, writes, n, at,
		                 at + width))
			return false;
	}
	return true;
}

static void failed(const struct check *check, int buffer, size_t from, size_t n,
                   const struct index_window *window, const char *what, int64_t first, int64_t end)
{
	const struct ndrange *range = check->launch->range;
	char *text = random_kernels_text(check->kernel);

	fprintf(stderr,
	        "%s\noptions %s, %u dimensions, groups %zu %zu %zu of %zu %zu %zu, offset %zu %zu "
	        "%zu\n",
	        text, random_kernels_options(), range->dimensions, range->groups[0],
	        range->groups[1], range->groups[2], range->local[0], range->local[1],
	        range->local[2], range->offset[0], range->offset[1], range->offset[2]);
	for (int i = RANDOM_BUFFERS; i < RANDOM_BUFFERS + RANDOM_INTEGERS; i++)
		fprintf(stderr, "n%d = %lld, ", i - RANDOM_BUFFERS,
		        (long long)check->launch->integers[i]);
	free(text);
	fail_msg("b%d (%zu bytes), groups %zu + %zu: %s: %lld to %lld, window %zu to %zu, pitch "
	         "%zu, width %zu",
	         buffer, buffer == RANDOM_IMAGE ? 0 : check->launch->bytes[buffer], from, n, what,
	         (long long)first, (long long)end, window->first, window->end, window->pitch,
	         window->width);
}

/* @param buffer a buffer's number, or RANDOM_IMAGE */
static void window_check(const struct check *check, int buffer, bool write, size_t from, size_t n,
                         const struct index_use *use)
{
	const struct index_window *window = write ? &use->write : &use->read;
	struct random_touch *mine = malloc((check->touches->n + 1) * sizeof(*mine));
	int64_t first = INT64_MAX, end = 0;
	size_t nmine = 0;

	for (size_t t = 0; t < check->touches->n; t++) {
		const struct random_touch *touch = &check->touches->all[t];

		if (touch->write != write || touch->group < from || touch->group >= from + n ||
		    buffer_of(check, touch) != buffer)
			continue;
		if (!window_has(window, touch->first, touch->end))
			failed(check, buffer, from, n, window, write ? "write" : "read",
			       touch->first, touch->end);
		first = touch->first < first ? touch->first : first;
		end = touch->end > end ? touch->end : end;
		mine[nmine++] = *touch;
	}
	counts.windows++;
	counts.known += window->known || index_window_empty(window);
	counts.exact += window->first == window->end ||
	                ((int64_t)window->first == first && (int64_t)window->end == end);
	if (write && window->dense) {
		counts.dense++;
		qsort(mine, nmine, sizeof(*mine), compare_touches);
		if (!dense_holds(check, buffer, use, mine, nmine))
			failed(check, buffer, from, n, window, "not all is written", first, end);
	}
	free(mine);
}

static void image_check(const struct check *check, size_t from, size_t n,
                        const struct index_use *use)
{
	window_check(check, RANDOM_IMAGE, false, from, n, use);
	window_check(check, RANDOM_IMAGE, true, from, n, use);
	counts.images++;
	counts.painted += use->write.dense && !index_window_empty(&use->write);
}

/* Nothing leaves buffers that are large enough. Of one that is too small, it is said only where a
 * touch leaves it. */
static void leaves_check(const struct check *check, const struct index_kernel *index)
{
	size_t bytes[RANDOM_ARGUMENTS];
	struct index_launch launch = *check->launch;
	const struct index_window none = {0};
	struct index_outside outside;
	bool leaves = false, told;
	int b = lrand48() % RANDOM_DATA;

	memcpy(bytes, launch.bytes, sizeof(bytes));
	launch.bytes = bytes;
	if (!check->found)
		bytes[RANDOM_DATA] = SIZE_MAX / 2; /* of which touches are not kept */
	told = index_leaves(index, &launch, &outside);
	if (!told) {
		bytes[b] -= 1 + (size_t)lrand48() % (lrand48() % 2 ? 8 : bytes[b] - 1);
		for (size_t t = 0; t < check->touches->n; t++)
			leaves |= check->touches->all[t].buffer == b &&
			          check->touches->all[t].whole > (int64_t)bytes[b];
		told = index_leaves(index, &launch, &outside);
	}
	counts.leaving += leaves;
	counts.told += told;
	if (told && (!leaves || outside.argument != (unsigned)b))
		failed(check, outside.argument, 0, 0, &none, "said to be outside", outside.at,
		       outside.at + outside.bytes);
}

static void launch_check(const struct random_kernel *kernel, const struct index_kernel *index)
{
	struct index_use uses[RANDOM_ARGUMENTS];
	int64_t integers[RANDOM_INTEGERS], sizes[RANDOM_SIZES];
	int64_t given[RANDOM_ARGUMENTS + INDEX_MAXFIELDS] = {0};
	unsigned image = index->narguments - 1;
	size_t bytes[RANDOM_ARGUMENTS];
	int same[RANDOM_ARGUMENTS];
	struct random_touches touches;
	struct random_contents contents;
	const unsigned char *of[RANDOM_ARGUMENTS] = {NULL};
	struct ndrange range;
	struct index_launch launch = {&range, given, bytes, same, of};
	struct check check = {kernel, &launch, &touches, false};
	bool found;

	range_make(&range);
	integers_make(integers);
	sizes_make(kernel, &range, sizes);
	given_make(kernel, index, integers, sizes, given);
	for (int a = 0; a < RANDOM_ARGUMENTS; a++)
		same[a] = a;
	found = check.found = contents_choose(index, &contents, same);
	of[RANDOM_DATA] = contents.bytes;
	if (random_kernel_run(kernel, &range, integers, sizes, found ? &contents : NULL,
	                      &touches)) {
		counts.launches++;
		counts.looked += found && index_looks(index, same, RANDOM_DATA);
		bytes_choose(&touches, bytes);
		bytes[RANDOM_DATA] = found ? contents.n : bytes[same[RANDOM_DATA]];
		counts.aliased += same_choose(same, bytes);
		if (random_kernel_sizes(kernel))
			bytes[image] = sizes[0] * sizes[1] * sizes[2];
		leaves_check(&check, index);
		for (int i = 0; i < RANGES; i++) {
			size_t groups = ndrange_groups(&range), from = lrand48() % groups;
			size_t n = 1 + lrand48() % (groups - from);

			if (!i)
				from = 0, n = groups;
			assert_int_equal(index_uses(index, &launch, from, n, uses), 0);
			for (int b = 0; b < RANDOM_DATA; b++) {
				window_check(&check, b, false, from, n, &uses[b]);
				window_check(&check, b, true, from, n, &uses[b]);
			}
			if (random_kernel_sizes(kernel))
				image_check(&check, from, n, &uses[image]);
		}
	}
	free(touches.all);
}

/* Compilers take longer to start than for a kernel. */
static void source_check(unsigned nkernels)
{
	char *text, *all, *rest, *name;
	struct index_kernel index;
	int error;

	random_kernels_make(nkernels);
	text = random_kernels_text(NULL);
	if (kernel_analyse_all(text, random_kernels_options(), "#undef ASKED\n", &all, why)) {
		fputs(text, stderr);
		fail_msg("they are not analysed: %s", why);
	}
	rest = all;
	while ((name = kernel_analysed_take(&rest, &index, &error, why))) {
		const struct random_kernel *kernel = random_kernel_named(name);

		if (error) {
			fputs(text, stderr);
			fail_msg("%s is not analysed: %s", name, why);
		}
		assert_non_null(kernel);
		counts.kernels++;
		counts.refused += index.refusal != NULL;
		for (int l = 0; l < LAUNCHES && !index.refusal; l++)
			launch_check(kernel, &index);
		index_free(&index);
	}
	assert_int_equal(error, 0);
	free(all);
	free(text);
}

static void windows_hold(void **state)
{
	unsigned n = test_rounds(400);

	for (unsigned left = n, some; left; left -= some) {
		some = left < RANDOM_KERNELS ? left : RANDOM_KERNELS;
		source_check(some);
	}
	assert_int_equal(counts.kernels, n);
	print_message(
	    "%lu kernels (%lu refused), %lu right launches, %lu windows: %lu known, %lu "
	    "exact, %lu written for sure; of images %lu, %lu written for sure; %lu launches with "
	    "one array as two buffers; %lu leave a buffer, %lu for sure; %lu look at contents, %lu "
	    "must not\n",
	    counts.kernels, counts.refused, counts.launches, counts.windows, counts.known,
	    counts.exact, counts.dense, counts.images, counts.painted, counts.aliased,
	    counts.leaving, counts.told, counts.looked, counts.scribbled);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(windows_hold)};

	srand48(test_seed());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
