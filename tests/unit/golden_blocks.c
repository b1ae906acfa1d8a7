/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Every strategy on recorded machines, block by block: see golden/README.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"
#include "tools/common/machine.h"

static const char *const machines[] = {"steady", "noisy", "spike", "stop",  "thousand",
                                       "few",    "one",   "none",  "bounds"};

/* Each iteration is in exactly one block that was not lost. */
static void coverage_check(const char *spec, const struct replay_machine *machine,
                           const struct replay_result *result)
{
	unsigned char *seen = calloc(machine->n + 1, 1);

	assert_non_null(seen);
	for (size_t i = 0; i < result->nblocks; i++) {
		const struct replay_block *block = &result->blocks[i];

		assert_true(block->size > 0 && block->start + block->size <= machine->n);
		for (size_t k = 0; !block->lost && k < block->size; k++)
			seen[block->start + k]++;
	}
	for (size_t k = 0; k < machine->n; k++)
		if (seen[k] != 1)
			fail_msg("%s: iteration %zu was done %d times", spec, k, seen[k]);
	assert_int_equal(result->left, 0);
	free(seen);
}

static void strategy_print(FILE *out, const char *spec, const struct replay_machine *machine)
{
	struct replay_result result;

	assert_int_equal(replay_run(spec, machine, &result), 0);
	coverage_check(spec, machine, &result);
	fprintf(out, "%s %.1f\n", spec, result.makespan_us);
	for (size_t i = 0; i < result.nblocks; i++) {
		const struct replay_block *block = &result.blocks[i];

		fprintf(out, " %s %zu %zu %c %.1f%s\n", machine->workers[block->worker].name,
		        block->start, block->size, *heddle_phase_name(block->phase), block->end_us,
		        block->lost ? " lost" : "");
	}
	replay_free(&result);
}

/* What all strategies do on a machine; to be freed. */
static char *machine_print(const char *path)
{
	struct replay_machine machine;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(machine_read(path, &machine), 0);
	for (const struct heddle_strategy_info *const *s = heddle_strategies(); *s; s++)
		strategy_print(out, (*s)->name, &machine);
	strategy_print(out, "hdss:published=1,initial=16,factor=16", &machine);
	machine_free(&machine);
	fclose(out);
	return text;
}

static char *file_read(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		fail_msg("%s is missing: see golden/README", path);
	if (getdelim(&text, &size, '\0', file) < 0)
		fail_msg("%s is empty: see golden/README", path);
	fclose(file);
	return text;
}

/* Says which line differs first, rather than that some do. */
static void texts_compare(const char *path, char *is, char *should)
{
	char *is_at, *should_at, *is_line = strtok_r(is, "\n", &is_at);
	char *should_line = strtok_r(should, "\n", &should_at), spec[128] = "";

	for (unsigned line = 1; is_line || should_line; line++) {
		if (!is_line || !should_line || strcmp(is_line, should_line))
			fail_msg("%s:%u: in %s '%s' instead of '%s'", path, line, spec,
			         is_line ? is_line : "the end",
			         should_line ? should_line : "the end");
		if (*is_line != ' ')
			snprintf(spec, sizeof(spec), "%s", is_line);
		is_line = strtok_r(NULL, "\n", &is_at);
		should_line = strtok_r(NULL, "\n", &should_at);
	}
}

static void test_golden(void **state)
{
	const char *regenerate = getenv("REGENERATE_GOLDEN"), *top = getenv("top_srcdir");

	for (size_t m = 0; m < sizeof(machines) / sizeof(machines[0]); m++) {
		char path[4096], *is, *should;

		snprintf(path, sizeof(path), "%s/tests/unit/golden/%s.json", top ? top : ".",
		         machines[m]);
		is = machine_print(path);
		strcpy(strrchr(path, '.'), ".txt");
		if (regenerate && !strcmp(regenerate, "1")) {
			FILE *out = fopen(path, "w");

			assert_non_null(out);
			assert_true(fputs(is, out) >= 0 && !fclose(out));
		}
		should = file_read(path);
		texts_compare(path, is, should);
		free(is);
		free(should);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
