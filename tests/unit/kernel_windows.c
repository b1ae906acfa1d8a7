/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the chunks of a launch send and fetch.
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_byte_once),
	    cmocka_unit_test(not_forward),
	    cmocka_unit_test(what_is_fetched),
	};
	unsigned seed = test_seed();

	srand48(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
