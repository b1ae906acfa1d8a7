/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The strategy auto: what it chooses when a loop runs again, and when it gives that up.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "partition/blocks/replay.h"
#include "partition/blocks/strategy.h"
#include "tests/unit/test.h"

#define NWORKERS 8

/* Long launches in a short run of few iterations: three cores and a device of 64 with launches of
 * 1 ms, ideally 5 ms. hdss gives a core a thirteenth iteration, of 0.5 ms: one too many. */
static void launches_make(struct replay_machine *machine, struct replay_worker *workers)
{
	*machine = (struct replay_machine){.n = 700, .nworkers = 4, .workers = workers};
	for (unsigned w = 0; w < 4; w++)
		workers[w] = (struct replay_worker){.rate = (w ? 1 : 64) * 700 / 67.0 / 5000,
		                                    .overhead_us = w ? 3 : 1000};
	workers[0].given.kind = HEDDLE_KIND_CUDA;
}

/* Equal cores and equal iterations. */
static void cores_make(struct replay_machine *machine, struct replay_worker *workers)
{
	*machine = (struct replay_machine){.n = 100000, .nworkers = NWORKERS, .workers = workers};
	for (unsigned w = 0; w < NWORKERS; w++)
		workers[w] = (struct replay_worker){.rate = 1, .overhead_us = 3, .noise = 0.05};
}

static double run(const char *spec, struct replay_machine *machine, unsigned seed)
{
	struct replay_result result;
	double us;

	machine->seed = seed;
	assert_int_equal(replay_run(spec, machine, &result), 0);
	assert_int_equal(result.left, 0);
	us = result.makespan_us;
	replay_free(&result);
	return us;
}

/* Blocks, one by one. */
static bool equal(const struct replay_result *a, const struct replay_result *b)
{
	bool same = a->nblocks == b->nblocks;

	for (size_t i = 0; same && i < a->nblocks; i++)
		same = a->blocks[i].worker == b->blocks[i].worker &&
		       a->blocks[i].start == b->blocks[i].start &&
		       a->blocks[i].size == b->blocks[i].size &&
		       a->blocks[i].end_us == b->blocks[i].end_us;
	return same;
}

/* Where nothing better is promised, all runs are those of hdss. */
static void test_stays(void **state)
{
	struct replay_worker workers[NWORKERS];
	struct blocks_memory *memories[2] = {NULL, NULL};
	struct replay_machine machine;

	cores_make(&machine, workers);
	for (unsigned r = 1; r <= 30; r++) {
		struct replay_result results[2];

		machine.seed = r;
		for (unsigned i = 0; i < 2; i++) {
			machine.memory = &memories[i];
			assert_int_equal(replay_run(i ? "auto" : "hdss", &machine, &results[i]), 0);
		}
		assert_true(equal(&results[0], &results[1]));
		replay_free(&results[0]);
		replay_free(&results[1]);
	}
	assert_true(memories[1]->choice.over);
	assert_true(memories[1]->choice.promises[0].us > 0);
	free(memories[0]);
	free(memories[1]);
}

/* The first two runs are those of hdss. Then another strategy is promised to be better, and is. */
static void test_chooses(void **state)
{
	struct replay_worker workers[NWORKERS];
	struct blocks_memory *memories[2] = {NULL, NULL};
	double us[2] = {0, 0};
	struct replay_machine machine;

	launches_make(&machine, workers);
	for (unsigned r = 1; r <= 20; r++)
		for (unsigned i = 0; i < 2; i++) {
			machine.memory = &memories[i];
			us[i] = run(i ? "auto" : "hdss", &machine, r);
			if (i && r <= 2)
				assert_int_equal(memories[1]->choice.taken, 0);
		}
	print_message("hdss %.0f us, auto %.0f us, candidate %u\n", us[0], us[1],
	              memories[1]->choice.taken);
	assert_true(memories[1]->choice.taken);
	assert_true(us[1] < 0.96 * us[0]);
	free(memories[0]);
	free(memories[1]);
}

/* Runs until something is taken. */
static struct blocks_memory *memory_make(struct replay_machine *machine)
{
	struct blocks_memory *memory = NULL;
	unsigned r = 0;

	machine->memory = &memory;
	do {
		assert_true(++r < 30);
		run("auto", machine, r);
	} while (!memory->choice.taken);
	machine->memory = NULL;
	return memory;
}

/* All workers become slower, so that what was taken takes longer than hdss once did: the next run
 * is one of hdss. */
static void test_drops(void **state)
{
	struct replay_worker workers[NWORKERS];
	struct replay_machine machine;
	struct blocks_memory *memory;

	launches_make(&machine, workers);
	memory = memory_make(&machine);
	machine.memory = &memory;
	for (unsigned w = 0; w < machine.nworkers; w++)
		workers[w].rate /= 2;
	run("auto", &machine, 50);
	assert_int_equal(memory->choice.taken, 0);
	free(memory);
}

/* Before a run: makes the replays that are due.
 * @return blocks */
static size_t replays_make(const struct replay_machine *machine, const struct blocks_memory *memory)
{
	struct heddle_strategy_worker given[NWORKERS];
	struct heddle_strategy_problem problem = {
	    .n = machine->n, .nworkers = machine->nworkers, .workers = given};
	struct heddle_strategy *blocks;
	size_t replayed;

	for (unsigned w = 0; w < machine->nworkers; w++)
		given[w] = machine->workers[w].given;
	assert_int_equal(heddle_strategy_create("auto", &problem, &blocks), 0);
	blocks_memory_use(blocks, memory);
	replayed = blocks_auto_chosen(blocks)->replayed;
	heddle_strategy_destroy(blocks);
	return replayed;
}

/* Replays take a twentieth of all runs at most, by what replaying a block takes. */
static void test_cost(void **state)
{
	static const double block_us[] = {0.5, 20, 1000};
	struct replay_worker workers[NWORKERS];
	struct replay_machine machine;

	launches_make(&machine, workers);
	for (size_t i = 0; i < sizeof(block_us) / sizeof(block_us[0]); i++) {
		struct blocks_memory *memory = NULL;
		double runs = 0, replays = 0;

		machine.memory = &memory;
		for (unsigned r = 1; r <= 100; r++) {
			runs += run("auto", &machine, r);
			memory->choice.block_us = block_us[i];
			replays += replays_make(&machine, memory) * block_us[i];
			assert_true(replays <= 0.05 * runs);
		}
		print_message("%g us a block: replays took %.4f\n", block_us[i], replays / runs);
		assert_int_equal(memory->choice.over, block_us[i] < 1000);
		free(memory);
	}
}

/* What a block took to replay is the caller's to tell, and is kept with the loop. */
static void test_took(void **state)
{
	struct replay_worker workers[NWORKERS];
	struct replay_machine machine;
	struct heddle_strategy_worker given[NWORKERS];
	struct heddle_strategy_problem problem = {.workers = given};
	struct blocks_memory *memory = NULL;
	struct heddle_strategy *blocks;
	size_t n;

	launches_make(&machine, workers);
	machine.memory = &memory;
	run("auto", &machine, 1);
	run("auto", &machine, 2);
	for (unsigned w = 0; w < machine.nworkers; w++)
		given[w] = workers[w].given;
	problem.n = machine.n;
	problem.nworkers = machine.nworkers;
	assert_int_equal(heddle_strategy_create("auto", &problem, &blocks), 0);
	assert_string_equal(blocks_auto_chosen(blocks)->spec, "hdss");
	blocks_memory_use(blocks, memory);
	assert_true(blocks_auto_chosen(blocks)->replayed > 0);
	blocks_auto_took(blocks, 7.0 * blocks_auto_chosen(blocks)->replayed);
	for (unsigned w = 0; heddle_strategy_remaining(blocks); w = (w + 1) % 4)
		if ((n = heddle_strategy_next(blocks, w)))
			heddle_strategy_completed(blocks, w, n,
			                          workers[w].overhead_us + n / workers[w].rate);
	assert_int_equal(blocks_memory_learn(blocks, &memory), 0);
	assert_true(memory->choice.block_us > 6.99 && memory->choice.block_us < 7.01);
	heddle_strategy_destroy(blocks);
	free(memory);
}

/* Costs that changed have no promises yet: choosing begins again. */
static void test_begins_again(void **state)
{
	struct replay_worker workers[NWORKERS];
	struct replay_machine machine;
	struct blocks_memory *memory;

	launches_make(&machine, workers);
	memory = memory_make(&machine);
	memory->runs = 1;
	machine.memory = &memory;
	run("auto", &machine, 60);
	assert_int_equal(memory->choice.taken, 0);
	assert_false(memory->choice.over);
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_stays), cmocka_unit_test(test_chooses),
	    cmocka_unit_test(test_drops), cmocka_unit_test(test_cost),
	    cmocka_unit_test(test_took),  cmocka_unit_test(test_begins_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
