/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Integers that a launch finds in its buffers: what they say of the windows, and when nothing may
 * be looked at.
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/index.h"
#include "tests/unit/test.h"

/* out[table[f(group, item)]] = ..., of bytes; the table is argument 0. */
static const char beginning[] = "heddle-index 22\nargument buffer\nargument buffer\n"
                                "argument buffer\n";

/* Nodes 0 to 6: group, item, 4, 4 group, 2^33, 4 group - 4, 4 item. */
static const char numbers[] = "node group 0 0\nnode item 0 0\nnode constant 0 4\n"
                              "node mul 64 0 2\nnode constant 0 8589934592\nnode sub 64 3 2\n"
                              "node mul 64 1 2\n";

enum { GROUPS = 8, ITEMS = 3, OUT = 1 << 20 };

static const struct ndrange few = {1, {GROUPS, 1, 1}, {ITEMS, 1, 1}, {0, 0, 0}};

/* What groups `from` to `from + n - 1` write where the rest of a description says.
 * @param contents exactly `bytes` of them; NULL: they are not known */
static struct index_window written_of(const struct ndrange *range, const char *rest,
                                      const void *contents, size_t bytes, const int *same,
                                      size_t from, size_t n)
{
	unsigned char *copy = contents ? malloc(bytes) : NULL;
	const unsigned char *of[3] = {copy, NULL, NULL};
	int64_t integers[3] = {0};
	size_t sizes[3] = {bytes, OUT, OUT};
	struct index_launch launch = {range, integers, sizes, same, of};
	struct index_kernel kernel;
	struct index_use uses[3];
	char text[2000];

	if (copy)
		memcpy(copy, contents, bytes);
	snprintf(text, sizeof(text), "%s%s%s", beginning, numbers, rest);
	assert_int_equal(index_parse(text, &kernel), 0);
	assert_int_equal(index_uses(&kernel, &launch, from, n, uses), 0);
	index_free(&kernel);
	free(copy);
	return uses[1].write;
}

static struct index_window written(const char *rest, const void *contents, size_t bytes,
                                   const int *same, size_t from, size_t n)
{
	return written_of(&few, rest, contents, bytes, same, from, n);
}

static void is_window(struct index_window window, size_t first, size_t end, bool dense)
{
	assert_true(window.known);
	assert_int_equal(window.first, first);
	assert_int_equal(window.end, end);
	assert_int_equal(window.dense, dense);
}

static void is_unknown(struct index_window window)
{
	assert_false(window.known);
	assert_int_equal(window.first, 0);
	assert_int_equal(window.end, OUT);
}

static const char by_group[] = "node load 32 0 3\naccess 1 7 1 write always 1\n";

/* In any order: the least and the greatest of what the groups load count. */
static void offsets_of_groups(void **state)
{
	static const int32_t offsets[GROUPS] = {70, 10, 10, 500, 400, 0, 9, 90};
	const size_t bytes = sizeof(offsets);

	is_window(written(by_group, offsets, bytes, NULL, 0, 1), 70, 71, true);
	is_window(written(by_group, offsets, bytes, NULL, 1, 2), 10, 11, true);
	is_window(written(by_group, offsets, bytes, NULL, 0, 3), 10, 71, true); /* two rows */
	is_window(written(by_group, offsets, bytes, NULL, 3, 5), 0, 501, false);
	is_unknown(written(by_group, NULL, bytes, NULL, 0, 1));
}

/* Only the fields that are loaded count, and what is in the buffer. */
static void places(void **state)
{
	static const char fields[] = "node constant 0 12\nnode mul 64 0 7\nnode add 64 8 2\n"
	                             "node load 32 0 9\naccess 1 10 1 write always 1\n";
	static const char before[] = "node load 32 0 5\naccess 1 7 1 write always 1\n";
	static const char odd[] = "node constant 0 6\nnode mul 64 0 7\nnode load 32 0 8\n"
	                          "access 1 9 1 write always 1\n";
	static const char askew[] = "node constant 0 2\nnode add 64 3 7\nnode load 32 0 8\n"
	                            "access 1 9 1 write always 1\n";
	int32_t records[3 * GROUPS];

	for (int i = 0; i < 3 * GROUPS; i++)
		records[i] = i % 3 == 1 ? 100 + i : i % 3 ? -1 : OUT;
	is_window(written(fields, records, sizeof(records), NULL, 0, 8), 101, 123, true); /* rows */
	is_window(written(fields, records, sizeof(records), NULL, 2, 1), 107, 108, true);
	/* Group 0 has nothing in front of the buffer. */
	for (int i = 0; i < GROUPS; i++)
		records[i] = 10 * i;
	is_window(written(before, records, sizeof(records), NULL, 1, 2), 0, 11, true); /* rows */
	is_unknown(written(before, records, sizeof(records), NULL, 0, 3));
	is_unknown(written(before, records, sizeof(records), NULL, 0, 1));
	/* A buffer of two whole integers and a half. */
	is_window(written(by_group, records, 10, NULL, 0, 2), 0, 11, true); /* rows */
	is_unknown(written(by_group, records, 10, NULL, 0, 8));
	is_unknown(written(by_group, records, 10, NULL, 2, 6));
	is_unknown(written(by_group, records, 3, NULL, 0, 1));
	/* Places at which OpenCL has no integer: 6 and 18 of 0, 6, 12, 18, 24. */
	is_unknown(written(odd, records, sizeof(records), NULL, 0, 5));
	is_window(written(odd, records, sizeof(records), NULL, 2, 1), 30, 31, true);
	is_unknown(written(odd, records, sizeof(records), NULL, 1, 1));
	is_unknown(written(askew, records, sizeof(records), NULL, 0, 8));
}

/* A launch of so many groups, which are not looked at one by one. */
static struct index_window written_together(const char *rest, const void *contents, size_t bytes)
{
	static const struct ndrange many = {1, {32, 1, 1}, {1, 1, 1}, {0, 0, 0}};

	return written_of(&many, rest, contents, bytes, NULL, 0, 32);
}

/* The least and the greatest of all places in the buffer. */
static void together(void **state)
{
	static const char before[] = "node load 32 0 5\naccess 1 7 1 write always 1\n";
	static const char odd[] = "node constant 0 6\nnode mul 64 0 7\nnode load 32 0 8\n"
	                          "access 1 9 1 write always 1\n";
	static const char small[] = "node load 8 0 0\nnode extend 8 7\n"
	                            "access 1 8 1 write always 1\n";
	int32_t places[64];
	unsigned char bytes[32];

	for (int i = 0; i < 64; i++)
		places[i] = 1000 - 10 * i;
	is_window(written_together(by_group, places, 32 * 4), 690, 1001, false);
	is_window(written_together(before, places, 32 * 4), 700, 1001, false);
	is_window(written_together(by_group, places, 10), 990, 1001, false);
	/* Multiples of 6: OpenCL has integers at multiples of 4. */
	is_window(written_together(odd, places, sizeof(places)), 540, 1001, false);
	/* As uchar, numbers on both sides of 128 may be any. */
	for (int i = 0; i < 32; i++)
		bytes[i] = i % 2 ? 120 : 130;
	is_window(written_together(small, bytes, 32), 0, 256, false);
}

/* Items that load the same: one place for each of them would leave none out. */
static void items_count(void **state)
{
	static const char text[] = "node load 32 0 6\nnode add 64 7 1\n"
	                           "access 1 8 1 write always 1\n";
	static const int32_t same[ITEMS] = {40, 40, 40}, others[ITEMS] = {40, 41, 40};

	is_window(written(text, same, sizeof(same), NULL, 0, 8), 40, 43, true);
	is_window(written(text, others, sizeof(others), NULL, 0, 8), 40, 44, false);
}

static void widths_and_signs(void **state)
{
	static const char small[] = "node load 8 0 0\nnode extend 8 7\n"
	                            "access 1 8 1 write always 1\n";
	static const char sum[] = "node load 8 0 0\nnode constant 0 300\nnode add 64 7 8\n"
	                          "access 1 9 1 write always 1\n";
	static const char large[] = "node constant 0 8\nnode mul 64 0 7\nnode load 64 0 8\n"
	                            "access 1 9 1 write always 1\n";
	static const char times[] = "node load 32 0 3\nnode mul 32 7 2\n"
	                            "access 1 8 1 write always 1\n";
	static const unsigned char bytes[GROUPS] = {200, 255, 3};
	static const int32_t factors[GROUPS] = {1 << 29, 7, 1 << 20};
	static const int64_t longs[GROUPS] = {INT64_C(1) << 62, 99, INT64_MIN, 5};

	is_window(written(small, bytes, GROUPS, NULL, 0, 2), 200, 256, true); /* rows */
	is_window(written(small, bytes, GROUPS, NULL, 0, 1), 200, 201, true);
	is_window(written(small, bytes, GROUPS, NULL, 0, 3), 3, 256, false);
	is_window(written(sum, bytes, GROUPS, NULL, 0, 3), 300 - 56, 304, false);
	is_window(written(large, longs, sizeof(longs), NULL, 1, 1), 99, 100, true);
	is_unknown(written(large, longs, sizeof(longs), NULL, 0, 1));
	is_unknown(written(large, longs, sizeof(longs), NULL, 0, 4));
	/* What 32 bits do not hold. */
	is_unknown(written(times, factors, sizeof(factors), NULL, 0, 2));
	is_window(written(times, factors, sizeof(factors), NULL, 1, 1), 28, 29, true);
}

/* What the kernel may write is not what it was: by its own name, and by another one. */
static void written_contents(void **state)
{
	static const char reads[] = "node load 32 0 3\naccess 1 7 1 write always 1\n"
	                            "access 2 6 4 read always 4\n";
	static const char writes[] = "node load 32 0 3\naccess 1 7 1 write always 1\n"
	                             "access 2 6 4 write maybe 4\n";
	static const char itself[] = "node load 32 0 3\naccess 1 7 1 write always 1\n"
	                             "access 0 6 4 update maybe 4\n";
	static const int32_t offsets[GROUPS] = {70};
	static const int apart[] = {0, 1, 2}, one[] = {0, 1, 0};
	const size_t bytes = sizeof(offsets);

	is_window(written(reads, offsets, bytes, one, 0, 1), 70, 71, true);
	is_window(written(writes, offsets, bytes, apart, 0, 1), 70, 71, true);
	is_unknown(written(writes, offsets, bytes, one, 0, 1));
	is_unknown(written(itself, offsets, bytes, apart, 0, 1));
}

/* A guard, and the bound of a loop. */
static void conditions(void **state)
{
	static const char guarded[] = "node load 32 0 2\nguard 1 0 7\n"
	                              "access 1 0 1 write always 1 0\n";
	static const char looped[] =
	    "node load 32 0 3\nnode constant 0 0\nnode constant 0 1\nnode trips 32 8 9 7 1 1\n"
	    "node loop 32 8 9 10\nnode constant 0 1000\nnode mul 64 0 12\nnode add 64 11 13\n"
	    "access 1 14 1 write every 1\n";
	static const int32_t sizes[GROUPS] = {5, 3, 4, 4};

	is_window(written(guarded, sizes, sizeof(sizes), NULL, 0, 8), 0, 3, true);
	is_window(written(looped, sizes, sizeof(sizes), NULL, 1, 1), 1000, 1003, true);
	is_window(written(looped, sizes, sizeof(sizes), NULL, 0, 2), 0, 1003, false);
}

/* Each of few groups is looked at alone: their pieces may follow each other. */
static void layers(void **state)
{
	static const char rows[] =
	    "node load 32 0 3\nnode add 64 7 1\naccess 1 8 1 write always 1\n";
	int32_t offsets[GROUPS];

	for (int i = 0; i < GROUPS; i++)
		offsets[i] = 100 + ITEMS * i;
	is_window(written(rows, offsets, sizeof(offsets), NULL, 0, 8), 100, 124, true);
	is_window(written(rows, offsets, sizeof(offsets), NULL, 3, 4), 109, 121, true);
	offsets[4]++;
	is_window(written(rows, offsets, sizeof(offsets), NULL, 0, 8), 100, 124, false);
	is_window(written(rows, offsets, sizeof(offsets), NULL, 0, 4), 100, 112, true);
}

/* No launch looks at very many integers. */
static void many(void **state)
{
	static const char wide_range[] =
	    "node constant 0 16384\nnode mul 64 6 7\nnode load 32 0 8\n"
	    "access 1 9 1 write always 1\n";
	const size_t n = 2 * 16384 + 1;
	static const char any[] = "node range 0 0 131068\nnode load 32 0 7\n"
	                          "access 1 8 1 write always 1\n";
	int32_t *table = calloc(n, sizeof(*table));

	assert_non_null(table);
	for (size_t i = 0; i < n; i++)
		table[i] = i % 16384 ? OUT : i / 16384;
	is_window(written(wide_range, table, n * 4, NULL, 0, 8), 0, 3, false);
	is_unknown(written(any, table, n * 4, NULL, 0, 8));
	for (size_t i = 0; i < n; i++)
		table[i] = 7;
	is_window(written(any, table, 16384 * 4, NULL, 0, 8), 7, 8, true);
	is_unknown(written(any, table, 16385 * 4, NULL, 0, 8));
	free(table);
}

/* Each of few groups is looked at alone where all of them need too many integers, unless they need
 * very many. */
static void layers_of_many(void **state)
{
	static const char tables[] =
	    "node constant 0 %d\nnode mul 64 0 7\nnode range 0 0 %d\nnode add 64 8 9\n"
	    "node load 32 0 10\naccess 1 11 1 write always 1\n";
	enum { FEW = 3000, MANY = 12000 };
	int32_t *table = calloc(GROUPS * MANY, sizeof(*table));
	char text[500];

	assert_non_null(table);
	for (int i = 0; i < GROUPS * FEW; i++)
		table[i] = 100 * (i / FEW) + (i % FEW == 77);
	snprintf(text, sizeof(text), tables, 4 * FEW, 4 * (FEW - 1));
	is_window(written(text, table, 4 * GROUPS * FEW, NULL, 0, 8), 0, 702, false);
	is_window(written(text, table, 4 * GROUPS * FEW, NULL, 1, 1), 100, 102, false);
	snprintf(text, sizeof(text), tables, 4 * MANY, 4 * (MANY - 1));
	is_window(written(text, table, 4 * GROUPS * MANY, NULL, 0, 2), 0, 702, false);
	is_unknown(written(text, table, 4 * GROUPS * MANY, NULL, 0, 8));
	free(table);
}

/* Which contents a launch of all groups wants beyond these of argument 0. */
static uint64_t wanted(const char *rest, const void *contents, size_t bytes, const int *same)
{
	const unsigned char *of[3] = {contents, NULL, NULL};
	int64_t integers[3] = {0};
	size_t sizes[3] = {bytes, OUT, OUT};
	struct index_launch launch = {&few, integers, sizes, same, contents ? of : NULL};
	struct index_kernel kernel;
	uint64_t found;
	char text[2000];

	snprintf(text, sizeof(text), "%s%s%s", beginning, numbers, rest);
	assert_int_equal(index_parse(text, &kernel), 0);
	found = index_wants(&kernel, &launch, 0, GROUPS);
	index_free(&kernel);
	return found;
}

/* What says nothing, since nobody looks at so much, is not wanted. */
static void wants(void **state)
{
	static const char gather[] = "node range 0 0 655340\nnode load 32 0 7\n"
	                             "access 1 8 1 write always 1\n";
	static const char nested[] = "node load 32 0 3\nnode load 32 2 7\n"
	                             "access 1 8 1 write always 1\n";
	static const char itself[] = "node load 32 0 3\nnode load 32 1 7\n"
	                             "access 1 8 1 write always 1\n";
	static const int32_t near[GROUPS] = {0, 4, 8}, far[GROUPS] = {0, 400000};
	static const int one[] = {0, 0, 2};

	assert_int_equal(wanted(by_group, NULL, sizeof(near), NULL), 1);
	assert_int_equal(wanted(by_group, near, sizeof(near), NULL), 0);
	assert_int_equal(wanted(by_group, NULL, sizeof(near), one), 0);
	assert_int_equal(wanted(gather, NULL, OUT, NULL), 0);
	assert_int_equal(wanted(nested, NULL, sizeof(near), NULL), 1);
	assert_int_equal(wanted(nested, near, sizeof(near), NULL), 4);
	assert_int_equal(wanted(itself, near, sizeof(near), NULL), 0);
	/* Each group's place is known alone. */
	assert_int_equal(wanted(nested, far, sizeof(far), NULL), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(offsets_of_groups),
	    cmocka_unit_test(places),
	    cmocka_unit_test(items_count),
	    cmocka_unit_test(widths_and_signs),
	    cmocka_unit_test(written_contents),
	    cmocka_unit_test(conditions),
	    cmocka_unit_test(layers),
	    cmocka_unit_test(layers_of_many),
	    cmocka_unit_test(together),
	    cmocka_unit_test(many),
	    cmocka_unit_test(wants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
