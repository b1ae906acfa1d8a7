/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "support/pins.h"
#include "tests/unit/test.h"

/* Two loops over one array: the first to end does not unpin it under the other. */
static void test_two_users(void **state)
{
	struct pins pins = {0};
	struct pin whole;

	assert_false(pins_hold(&pins, 4096, 100));
	assert_int_equal(pins_add(&pins, 4096, 100), 0);
	assert_true(pins_hold(&pins, 4096, 100));
	assert_false(pins_drop(&pins, 4096, 100, &whole));
	assert_true(pins_hold(&pins, 4100, 96)); /* a part of it */
	assert_false(pins_drop(&pins, 4096, 100, &whole));
	assert_true(pins_drop(&pins, 4100, 96, &whole));
	assert_int_equal(whole.base, 4096);
	assert_int_equal(whole.bytes, 100);
	assert_false(pins_hold(&pins, 4096, 100));
	free(pins.pins);
}

static void test_edges(void **state)
{
	struct pins pins = {0};
	struct pin whole;

	assert_int_equal(pins_add(&pins, 100, 50), 0);
	assert_int_equal(pins_add(&pins, 150, 50), 0); /* beside it */
	assert_int_equal(pins_add(&pins, 199, 2), -EEXIST);
	assert_int_equal(pins_add(&pins, 50, 51), -EEXIST);
	assert_int_equal(pins_add(&pins, 90, 300), -EEXIST);
	assert_false(pins_hold(&pins, 140, 20)); /* across two: neither has all of it */
	assert_false(pins_hold(&pins, 99, 2));
	assert_false(pins_hold(&pins, 100, SIZE_MAX));
	assert_false(pins_hold(&pins, 0, SIZE_MAX));
	assert_false(pins_drop(&pins, 300, 1, &whole)); /* was never entered */
	free(pins.pins);
}

/* Against a count for each of a few bytes. */
static void test_random(void **state)
{
	enum { BYTES = 40, STEPS = 20000 };
	unsigned seed = test_seed(), npinned = 0;
	struct pins pins = {0};
	struct pin held[STEPS];
	unsigned memory[BYTES] = {0}; /* in which each lies; 0: not pinned */
	size_t nheld = 0;

	for (int step = 0; step < STEPS; step++) {
		size_t base = rand_r(&seed) % BYTES, bytes = 1 + rand_r(&seed) % (BYTES - base);
		struct pin whole = {0};

		if (nheld && rand_r(&seed) % 2) {
			size_t i = rand_r(&seed) % nheld;
			struct pin one = held[i];

			held[i] = held[--nheld];
			if (!pins_drop(&pins, one.base, one.bytes, &whole))
				continue;
			npinned--;
			assert_true(whole.base <= one.base &&
			            one.base + one.bytes <= whole.base + whole.bytes);
			for (size_t b = 0; b < whole.bytes; b++)
				memory[whole.base + b] = 0;
		} else if (pins_hold(&pins, base, bytes)) {
			for (size_t b = 0; b < bytes; b++)
				assert_int_equal(memory[base + b], memory[base]);
			assert_true(memory[base] > 0);
			held[nheld++] = (struct pin){base, bytes, 0};
		} else if (!pins_add(&pins, base, bytes)) {
			for (size_t b = 0; b < bytes; b++) {
				assert_int_equal(memory[base + b], 0);
				memory[base + b] = step + 1;
			}
			npinned++;
			held[nheld++] = (struct pin){base, bytes, 0};
		}
		/* What is held is pinned. */
		for (size_t i = 0; i < nheld; i++)
			assert_true(memory[held[i].base] > 0);
		assert_int_equal(pins.n, npinned);
	}
	free(pins.pins);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_two_users),
	    cmocka_unit_test(test_edges),
	    cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
