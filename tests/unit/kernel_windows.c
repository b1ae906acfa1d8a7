/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the chunks of a launch send and fetch, and gaps between rows.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/windows.h"
#include "partition/kernel/split/arms.h"
#include "test.h"

enum { BYTES = 1000 };

/* Windows that go forward, at random: every chunk has what it reads, and nothing crosses
 * twice. */
static void each_byte_once(void **state)
{
	for (int round = 0; round < 2000; round++) {
		struct kernel_span sent = {0, 0}, send;
		bool there[BYTES] = {false};
		size_t first = 0;

		for (int i = 0; i < KERNEL_CHUNKS_MOST; i++) {
			struct index_window read = {.first = first + lrand48() % 60};

			read.end = read.first + lrand48() % 80;
			first = read.first;
			assert_true(kernel_chunk_send(&read, &sent, &send));
			for (size_t b = send.first; b < send.end; b++) {
				assert_false(there[b]);
				there[b] = true;
			}
			for (size_t b = read.first; b < read.end; b++)
				assert_true(there[b]);
		}
	}
}

static void not_forward(void **state)
{
	struct kernel_span sent = {0, 0}, send;

	assert_true(
	    kernel_chunk_send(&(struct index_window){.first = 100, .end = 200}, &sent, &send));
	assert_true(
	    kernel_chunk_send(&(struct index_window){.first = 100, .end = 200}, &sent, &send));
	assert_int_equal(send.first, send.end);
	assert_false(
	    kernel_chunk_send(&(struct index_window){.first = 50, .end = 150}, &sent, &send));
}

static void what_is_fetched(void **state)
{
	struct index_use use = {.write = {.first = 10, .end = 30, .known = true, .dense = true}};
	struct kernel_span fetch;

	assert_true(kernel_chunk_fetch(&use, &fetch));
	assert_true(fetch.first == 10 && fetch.end == 30);
	use.read = (struct index_window){.first = 0, .end = 5};
	assert_false(kernel_chunk_fetch(&use, &fetch)); /* read as well */
	use.read = (struct index_window){0};
	use.write.dense = false;
	assert_false(kernel_chunk_fetch(&use, &fetch)); /* perhaps written */
	use.write.dense = true;
	use.write.pitch = 15, use.write.width = 5;
	assert_false(kernel_chunk_fetch(&use, &fetch)); /* rows */
	use.write = (struct index_window){0};
	assert_true(kernel_chunk_fetch(&use, &fetch));
	assert_int_equal(fetch.first, fetch.end);
}

/* Rows of 12 bytes at every 16, as `v[i].xyz += ...` has them, of 20 to 30 of 64 vectors. */
static const struct index_use vectors = {
    .read = {.first = 320, .end = 480, .known = true, .dense = true},
    .write = {.first = 320, .end = 476, .pitch = 16, .width = 12, .known = true, .dense = true}};

static void gaps_are_sent(void **state)
{
	struct index_use use = vectors;

	assert_true(kernel_gaps_sent(&use));
	use.read.end = 476;
	assert_true(kernel_gaps_sent(&use));
	use.read.end = 475; /* not all of the last row */
	assert_false(kernel_gaps_sent(&use));
	use = vectors;
	use.read.first = 321;
	assert_false(kernel_gaps_sent(&use));
	use = vectors;
	use.read.pitch = 16, use.read.width = 12; /* rows are sent */
	assert_false(kernel_gaps_sent(&use));
	use = vectors;
	use.read = (struct index_window){.known = true}; /* nothing is */
	assert_false(kernel_gaps_sent(&use));
	use = vectors;
	use.write.dense = false;
	assert_false(kernel_gaps_sent(&use));
	use = vectors;
	use.write.pitch = 0; /* no gaps */
	assert_false(kernel_gaps_sent(&use));
	use = vectors;
	use.read.end = 320 + 1600;
	use.write.pitch = 400; /* rows cross alone */
	use.write.end = 320 + 1212;
	assert_false(kernel_gaps_sent(&use));
}

static void gaps_are_unshared(void **state)
{
	struct index_use before = {.read = {.end = 320}, .write = {.end = 316}};
	struct index_use behind = {.read = {.first = 476, .end = 1024},
	                           .write = {.first = 480, .end = 1020}};

	assert_true(kernel_gaps_unshared(&vectors, &(struct index_use){0}));
	assert_true(kernel_gaps_unshared(&vectors, &before));
	assert_true(kernel_gaps_unshared(&vectors, &behind));
	before.read.end = 321;
	assert_false(kernel_gaps_unshared(&vectors, &before));
	before.read.end = 320;
	before.write.end = 321;
	assert_false(kernel_gaps_unshared(&vectors, &before));
	behind.read.first = 475;
	assert_false(kernel_gaps_unshared(&vectors, &behind));
	behind.read.first = 476;
	behind.write.first = 479; /* which this range reads */
	assert_false(kernel_gaps_unshared(&vectors, &behind));
	behind.write.first = behind.write.end; /* nothing */
	assert_true(kernel_gaps_unshared(&vectors, &behind));
}

/* Marks the bytes of rows. */
static void rows_mark(const struct index_window *rows, bool *bytes)
{
	for (size_t row = 0; row < index_window_rows(rows); row++)
		for (size_t b = 0; b < rows->width; b++)
			bytes[rows->first + row * rows->pitch + b] = true;
}

/* Random rows among random rows of all groups: nobody writes between them where that is said. */
static void gaps_are_unwritten(void **state)
{
	unsigned found = 0;

	for (int round = 0; round < 20000; round++) {
		struct index_use uses[2] = {0}; /* of all groups, and of a range */
		bool written[BYTES] = {false}, mine[BYTES] = {false};

		for (int i = 0; i < 2; i++) {
			struct index_window *w = &uses[i].write;

			w->width = 1 + lrand48() % 4;
			w->pitch = w->width + 1 + lrand48() % 3;
			w->first = (i ? uses[0].write.first : 0) + lrand48() % 20;
			w->end = w->first + w->pitch * (i ? 1 + lrand48() % 8 : 40) + w->width;
		}
		rows_mark(&uses[0].write, written);
		rows_mark(&uses[1].write, mine);
		if (!kernel_gaps_unwritten(&uses[1], &uses[0]))
			continue;
		found++;
		for (size_t b = uses[1].write.first; b < uses[1].write.end; b++)
			assert_true(mine[b] || !written[b]);
	}
	assert_true(found > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_byte_once),    cmocka_unit_test(not_forward),
	    cmocka_unit_test(what_is_fetched),   cmocka_unit_test(gaps_are_sent),
	    cmocka_unit_test(gaps_are_unshared), cmocka_unit_test(gaps_are_unwritten),
	};
	unsigned seed = test_seed();

	srand48(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
