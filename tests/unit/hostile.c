/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Everything that reads text or files that somebody else may have written, with good ones
 * that were damaged: each is read or refused, nothing breaks, and what was read can be used.
 * Meant for a build with sanitizers; HEDDLE_TEST_SEED repeats a run, HEDDLE_TEST_ROUNDS
 * makes it longer.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <heddle/strategy.h>

#include "apps/common/csv.h"
#include "apps/common/fasta.h"
#include "apps/common/png_file.h"
#include "estimator/profile.h"
#include "partition/blocks/replay.h"
#include "partition/kernel/access/index.h"
#include "partition/kernel/access/ndrange.h"
#include "estimator/platform.h"
#include "tools/common/simulation.h"
#include "tests/unit/test.h"
#include "tools/common/machine.h"
#include "tools/common/split_table.h"

#define LONGEST 4096

static char path[40]; /* of a file in memory: on a disk every round would be written out */
static unsigned rounds = 3000;

static unsigned draw(unsigned n)
{
	return (unsigned)(random() % n);
}

/* ---- damage ---- */

/* What parsers are weak at. */
static const char *const words[] = {
    "-1",
    "0",
    "1",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "99999999999999999999999",
    "1e308",
    "1e999",
    "-1e18",
    "1e-320",
    "nan",
    "inf",
    "0x1p70",
    "%s%n",
    "\"",
    "\\",
    "\n",
    "\r\n",
    ",",
    ":",
    "=",
    " ",
    "\t",
    "null",
    "[[[[[[[[",
    "{}",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "\xff\xfe\xc3"};

struct text {
	char bytes[LONGEST + 1];
	size_t n;
};

/* Puts `with` in the place of `length` bytes. */
static void replace(struct text *text, size_t at, size_t length, const char *with, size_t n)
{
	if (text->n - length + n > LONGEST)
		return;
	memmove(text->bytes + at + n, text->bytes + at + length, text->n - at - length);
	memcpy(text->bytes + at, with, n);
	text->n += n - length;
}

/* The number, or the word, that a place lies in. */
static size_t token(const struct text *text, size_t *at)
{
	static const char ends[] = " \t\n,:=\"{}[]+@%^~/";
	size_t n = 0;

	while (*at && text->bytes[*at - 1] && !strchr(ends, text->bytes[*at - 1]))
		--*at;
	while (*at + n < text->n && text->bytes[*at + n] && !strchr(ends, text->bytes[*at + n]))
		n++;
	return n;
}

static void damage_once(struct text *text)
{
	size_t at = text->n ? draw(text->n) : 0, left = text->n - at;
	size_t n = left ? 1 + draw(left < 20 ? left : 20) : 0;
	const char *word = words[draw(sizeof(words) / sizeof(*words))];
	char piece[20];

	switch (draw(7)) {
	case 0:
		if (left)
			text->bytes[at] ^= 1 << draw(8);
		break;
	case 1:
		replace(text, at, n, "", 0);
		break;
	case 2:
		memcpy(piece, text->bytes + at, n);
		replace(text, draw(text->n + 1), 0, piece, n);
		break;
	case 3:
		replace(text, at, 0, word, strlen(word));
		break;
	case 4:
	case 5:
		n = token(text, &at);
		replace(text, at, n, word, strlen(word));
		break;
	default:
		if (!draw(4))
			text->n = at;
	}
}

static void damage(struct text *text, const char *good, size_t n)
{
	unsigned times = 1 + draw(draw(4) ? 3 : 12);

	assert_true(n <= LONGEST);
	memcpy(text->bytes, good, n);
	text->n = n;
	while (times--)
		damage_once(text);
	text->bytes[text->n] = '\0';
}

/* In memory of its own, so that reading beyond its end is seen. */
static char *exact(const struct text *text, bool string)
{
	size_t n = string ? strlen(text->bytes) + 1 : text->n;
	char *copy = malloc(n ? n : 1);

	assert_non_null(copy);
	memcpy(copy, text->bytes, n);
	return copy;
}

static void put(const struct text *text)
{
	FILE *stream = fopen(path, "wb");

	assert_non_null(stream);
	assert_int_equal(fwrite(text->bytes, 1, text->n, stream), text->n);
	assert_int_equal(fclose(stream), 0);
}

/* ---- what is read ---- */

static void profile_use(const struct text *text)
{
	struct heddle_profile profile = {0}, again = {0};
	char *copy = exact(text, false), *printed;
	unsigned skipped;
	size_t n;
	FILE *out;

	assert_int_equal(heddle_profile_parse(&profile, copy, text->n, "test", &skipped), 0);
	free(copy);
	out = open_memstream(&printed, &n);
	assert_non_null(out);
	assert_int_equal(heddle_profile_print(&profile, out), 0);
	assert_int_equal(fclose(out), 0);
	/* What was kept is understood, and stays the same. */
	assert_int_equal(heddle_profile_parse(&again, printed, n, "again", &skipped), 0);
	assert_int_equal(skipped, 0);
	assert_int_equal(again.n, profile.n);
	assert_int_equal(heddle_profile_merge(&again, &profile), 0);
	assert_int_equal(again.n, profile.n);
	free(printed);
	heddle_profile_free(&profile);
	heddle_profile_free(&again);
}

/* Calls a strategy until it has given everything, or often enough. */
static void blocks_use(struct heddle_strategy *blocks, unsigned nworkers)
{
	for (unsigned call = 0; call < 3000 && heddle_strategy_remaining(blocks); call++) {
		unsigned w = call % nworkers;
		size_t before = heddle_strategy_remaining(blocks);
		size_t n = heddle_strategy_next(blocks, w);

		assert_true(n <= before && before - n == heddle_strategy_remaining(blocks));
		assert_true(n || nworkers > 1);
		if (n > 1 && !draw(20)) {
			heddle_strategy_return(blocks, w, n / 2);
			n -= n / 2;
		}
		heddle_strategy_completed(blocks, w, n, draw(9) ? n / (1.0 + w) : 0);
		if (!(heddle_strategy_rate(blocks, w) >= 0))
			fail_msg("a rate of %g", heddle_strategy_rate(blocks, w));
	}
}

static void spec_use(const struct text *text)
{
	struct heddle_strategy_worker workers[3] = {
	    {.kind = HEDDLE_KIND_CPU},
	    {.kind = HEDDLE_KIND_CUDA, .minimum = 1 + draw(500), .alignment = draw(40)},
	    {.kind = HEDDLE_KIND_CPU, .rate = draw(3), .maximum = draw(2) ? 1000 : 0}};
	struct heddle_strategy_problem problem = {.n = draw(4) ? draw(100000)
	                                                       : (size_t)-1 - draw(1000),
	                                          .nworkers = 1 + draw(3),
	                                          .workers = workers};
	char *spec = exact(text, true);
	struct heddle_strategy *blocks;
	int error = heddle_strategy_create(spec, &problem, &blocks);

	free(spec);
	if (error) {
		assert_int_equal(error, -EINVAL);
		return;
	}
	blocks_use(blocks, problem.nworkers);
	heddle_strategy_destroy(blocks);
}

static void platform_use(const struct text *text)
{
	struct heddle_platform platform;
	char *spec = exact(text, true);
	int error = heddle_platform_parse(spec, &platform);

	free(spec);
	if (error) {
		assert_int_equal(error, -EINVAL);
		return;
	}
	for (int a = platform.ncpus ? -1 : 0; a < (int)platform.naccelerators; a++) {
		size_t n = 1 + draw(1 << 20);

		assert_true(heddle_platform_block_us(&platform, a, n, 1 << 20, draw(1000)) > 0);
	}
	assert_true(heddle_platform_ideal_us(&platform, 1 << 20, 1, ~0u) > 0);
}

static void platform_file_use(const struct text *text)
{
	struct heddle_platform platform;

	put(text);
	if (!simulation_platform_find("four", path, &platform))
		assert_true(platform.ncpus + platform.naccelerators > 0);
}

static void index_use(const struct text *text)
{
	struct ndrange range = {2,
	                        {1 + draw(40), 1 + draw(9), 1},
	                        {1 + draw(64), 1 + draw(3), 1},
	                        {draw(99), draw(9), 0}};
	int64_t integers[16] = {0};
	size_t bytes[16], groups = ndrange_groups(&range), from = draw(groups);
	const unsigned char *contents[16];
	struct index_launch launch = {&range, integers, bytes, NULL, contents};
	char *description = exact(text, true);
	struct index_kernel kernel;
	struct index_use uses[16];
	enum index_class read, write;
	int error = index_parse(description, &kernel);

	free(description);
	if (error) {
		assert_int_equal(error, -EINVAL);
		return;
	}
	for (unsigned a = 0; a < 16; a++) {
		integers[a] = draw(3) ? draw(5000) : random() * random();
		bytes[a] = draw(3) ? draw(100000) : 0;
		contents[a] = draw(3) ? malloc(bytes[a]) : NULL;
		if (contents[a])
			memset((void *)contents[a], draw(256), bytes[a]);
	}
	if (kernel.narguments <= 16) {
		assert_int_equal(index_uses(&kernel, &launch, from, 1 + draw(groups - from), uses),
		                 0);
		for (unsigned a = 0; a < kernel.narguments; a++) {
			if (kernel.arguments[a].kind != INDEX_BUFFER)
				continue;
			assert_true(uses[a].read.end <= bytes[a]);
			assert_true(uses[a].write.end <= bytes[a]);
			assert_int_equal(index_classes(&kernel, &launch, a, &read, &write), 0);
			assert_true(index_alignment(&kernel, a) > 0);
		}
	}
	for (unsigned a = 0; a < 16; a++)
		free((void *)contents[a]);
	index_free(&kernel);
}

static void csv_use(const struct text *text)
{
	static const char *const names[] = {"spot", "strike", "years"};
	struct csv table;

	put(text);
	if (csv_read(path, 3, names, &table))
		return;
	assert_true(table.rows > 0);
	for (size_t r = 0; r < table.rows; r++)
		assert_true(isfinite(table.columns[0][r]) && table.columns[2][r] > 0);
	csv_free(&table);
}

static int letter_number(char letter)
{
	const char *at = letter ? strchr("acgt", letter | 32) : NULL;

	return at ? (int)(at - "acgt") : -1;
}

static void fasta_use(const struct text *text)
{
	struct sequence sequences[2];

	put(text);
	if (fasta_read(path, 2, 1000, letter_number, sequences))
		return;
	for (int s = 0; s < 2; s++) {
		assert_in_range(sequences[s].n, 1, 1000);
		for (size_t i = 0; i < sequences[s].n; i++)
			assert_true(sequences[s].letters[i] < 4);
		sequence_free(&sequences[s]);
	}
}

static void png_use(const struct text *text)
{
	struct image image;
	unsigned sum = 0;

	put(text);
	if (png_file_read(path, &image))
		return;
	for (size_t i = 0; i < image.width * image.height * image.channels; i++)
		sum += image.pixels[i];
	assert_true(sum <= 255 * image.width * image.height * image.channels);
	free(image.pixels);
}

static void machine_use(const struct text *text)
{
	struct replay_machine machine;
	struct replay_result result;

	put(text);
	if (machine_read(path, &machine))
		return;
	if (machine.n < 100000 && !replay_run("gss", &machine, &result))
		replay_free(&result);
	machine_free(&machine);
}

static void split_table_use(const struct text *text)
{
	struct split_problem problem, published;
	size_t share[SPLIT_MAXDEVICES], sum = 0;
	static const enum split_method methods[] = {SPLIT_HEDDLE, SPLIT_PAPER, SPLIT_LINEAR,
	                                            SPLIT_SINGLE};
	unsigned method;

	put(text);
	if (split_table_read(path, &problem, &published))
		return;
	method = draw(5);
	if (method < 4)
		assert_true(split_decide(&problem, methods[method], share) >= 0);
	else
		assert_true(split_decide(&published, SPLIT_PUBLISHED, share) >= 0);
	for (unsigned d = 0; d < problem.ndevices; d++)
		sum += share[d];
	assert_int_equal(sum, problem.groups);
}

/* ---- all of them ---- */

static void hurt(const char *const *good, unsigned n, void (*use)(const struct text *))
{
	static struct text text;

	for (unsigned g = 0; g < n; g++) {
		text.n = strlen(good[g]);
		memcpy(text.bytes, good[g], text.n + 1);
		use(&text);
	}
	for (unsigned r = 0; r < rounds; r++) {
		const char *one = good[draw(n)];

		damage(&text, one, strlen(one));
		use(&text);
	}
}

#define HURT(good, use) hurt(good, sizeof(good) / sizeof(*(good)), use)

static void test_profile(void **state)
{
	static const char *const good[] = {
	    "# Heddle: times of tasks that were measured, in microseconds.\n"
	    "task device=\"cpu A\" n=64 mode=\"fast\" : us=1.5,2.5,3 samples=3 at=1700000000\n"
	    "task device=\"cpu A\" n=64 mode=\"fast\" : us=2,1e3 samples=2 at=1700000001\n"
	    "rate device=\"gpu\" bytes=12 : pace=0.25 start=10 blocks=7 at=5\r\n"
	    "#? what was not understood\n",
	};

	HURT(good, profile_use);
}

static void test_spec(void **state)
{
	static const char *const good[] = {
	    "hdss",
	    "hdss:initial=1024,slice=0",
	    "hdss:published=1,initial=64",
	    "css:chunk=4096",
	    "css:cpu=65536",
	    "gss",
	    "tss",
	    "fss",
	    "linear",
	    "exponential",
	    "static",
	    "qilin",
	    "axel",
	    "mfsc",
	    "awfd:first=16,least=4",
	    "af",
	    "plbhec:points=2,fit=0",
	    "logfit:first=8,change=0.1",
	    "auto:cost=0.01,gain=0",
	};

	HURT(good, spec_use);
}

/* Every parameter at its bounds, for loops of up to 2^64 - 1 iterations. */
static void test_bounds(void **state)
{
	static const size_t sizes[] = {1000, (size_t)1 << 53, (size_t)1 << 63, (size_t)-1};
	const struct heddle_strategy_info *const *strategy = heddle_strategies();
	struct heddle_strategy_worker workers[3] = {{.minimum = (size_t)-1, .alignment = 4},
	                                            {.alignment = (size_t)1 << 63},
	                                            {.rate = 1e18, .start_us = 1e18}};

	for (; *strategy; strategy++) {
		const struct heddle_strategy_parameter *p = (*strategy)->parameters;

		for (unsigned i = 0; i < 4 * 3 * 3 * 2; i++) {
			struct heddle_strategy_problem problem = {.n = sizes[i % 4],
			                                          .nworkers = 1 + i / 4 % 3,
			                                          .workers =
			                                              i / 36 ? workers : NULL};
			struct heddle_strategy *blocks;
			char spec[160];

			for (unsigned k = 0; p[k].name; k++) {
				snprintf(spec, sizeof(spec), "%s:%s=%.17g", (*strategy)->name,
				         p[k].name,
				         i / 12 % 3 == 0   ? p[k].min
				         : i / 12 % 3 == 1 ? p[k].max
				                           : p[k].value);
				assert_int_equal(heddle_strategy_create(spec, &problem, &blocks),
				                 0);
				blocks_use(blocks, problem.nworkers);
				heddle_strategy_destroy(blocks);
			}
			assert_int_equal(
			    heddle_strategy_create((*strategy)->name, &problem, &blocks), 0);
			blocks_use(blocks, problem.nworkers);
			heddle_strategy_destroy(blocks);
		}
	}
}

static void test_platform(void **state)
{
	static const char *const good[] = {
	    "63cpu+gpu36@12000:10", "4cpu=0.5+2gpu36~1000@12000:10^256%0.5/0.5", "1cpu+fpga8~"};
	static const char *const files[] = {
	    "# name spec app size\nfour 63cpu+4gpu36@12000:10 blackscholes 1000000\n"
	    "other 2cpu\n"};

	HURT(good, platform_use);
	HURT(files, platform_file_use);
}

static void test_index(void **state)
{
	static const char *const good[] = {
	    "heddle-index 22\nargument buffer\nargument buffer\n"
	    "node group 0 0\nnode items 0 0\nnode item 0 0\n"
	    "node mul 64 0 1\nnode add 64 3 2\nnode constant 0 4\n"
	    "node mul 64 4 5\nnode sub 64 6 5\n"
	    "access 0 7 4 read maybe 4\naccess 1 6 4 write always 4\n",
	    "heddle-index 22\nargument buffer\nargument integer 32\nargument local\n"
	    "argument other\nnode group 0 0\nnode items 0 0\nnode item 0 0\nnode mul 32 0 1\n"
	    "node add 32 3 2\nnode argument 32 1\nnode constant 0 4\nnode mul 64 4 6\n"
	    "node range 32 0 10\nguard 2 4 5\naccess 0 7 4 update maybe 4 0\n",
	    "heddle-index 22\nargument buffer\nargument buffer\nargument buffer\n"
	    "node group 0 0\nnode constant 0 4\nnode mul 64 0 1\nnode load 32 0 2\n"
	    "node load 8 1 3\nnode extend 8 4\nguard 1 0 3\nnode add 64 5 3\n"
	    "access 2 6 4 write always 4 0\naccess 0 2 4 read always 4\n",
	};

	HURT(good, index_use);
}

static void test_files(void **state)
{
	static const char *const csv[] = {"spot,strike,years\r\n12.5,1e2,0.25\r\n7,8,9\r\n"};
	static const char *const fasta[] = {">one first\nACGT\nac gt\n\n>two\nTTTTT\nGG\n"};

	HURT(csv, csv_use);
	HURT(fasta, fasta_use);
}

static void test_json(void **state)
{
	static const char *const machines[] = {
	    "{\"n\": 5000, \"seed\": 3, \"workers\": [{\"name\": \"a\", \"kind\": \"cpu\","
	    " \"rate\": 1.5, \"overhead_us\": 2}, {\"name\": \"b\", \"kind\": \"cuda\","
	    " \"rate\": 30, \"a\": 2, \"b\": 1, \"depth\": 2, \"transfer\": 0.5}]}"};
	static const char *const tables[] = {
	    "{\"groups\": 1000, \"contiguous\": false, \"in_bytes\": 10000, \"out_bytes\": 4,"
	    " \"merge_bandwidth\": 1, \"buses\": [{\"name\": \"pcie\", \"bandwidth\": 1000,"
	    " \"latency_us\": 5, \"duplex\": true}], \"devices\": [{\"name\": \"cpu\","
	    " \"times\": [[1, 10], [1000, 300]], \"part_us\": 30, \"slowdown\": 1.2},"
	    " {\"name\": \"gpu\", \"bus\": \"pcie\", \"times\": [[1000, 100]]}]}"};

	HURT(machines, machine_use);
	HURT(tables, split_table_use);
}

static void test_png(void **state)
{
	unsigned char pixels[7 * 5 * 3];
	struct image image = {7, 5, 3, pixels};
	static struct text good, bad;
	FILE *stream;

	for (size_t i = 0; i < sizeof(pixels); i++)
		pixels[i] = draw(256);
	assert_int_equal(png_file_write(path, &image), 0);
	stream = fopen(path, "rb");
	assert_non_null(stream);
	good.n = fread(good.bytes, 1, LONGEST, stream);
	fclose(stream);
	for (unsigned r = 0; r < rounds / 4; r++) {
		damage(&bad, good.bytes, good.n);
		png_use(&bad);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_profile), cmocka_unit_test(test_spec),
	    cmocka_unit_test(test_bounds),  cmocka_unit_test(test_platform),
	    cmocka_unit_test(test_index),   cmocka_unit_test(test_files),
	    cmocka_unit_test(test_json),    cmocka_unit_test(test_png),
	};
	int file = memfd_create("heddle-hostile", 0), failed;

	if (file < 0)
		return 99;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	rounds = test_rounds(rounds);
	srandom(test_seed());
	setenv("HEDDLE_VERBOSE", "0", 1);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	close(file);
	return failed;
}
