/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Every strategy against random machines and random mishaps: each iteration is
 * given once, sizes honour their bounds, and it ends. Specifications that are
 * wrong are refused.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/strategy.h>

#include "partition/blocks/memory.h"
#include "partition/blocks/strategy.h"
#include "tests/unit/test.h"

#define MAXWORKERS 9
#define MAXDEPTH 3

/* A caller of a strategy: workers with rates, some blocks under way each, some
 * given back, some workers retired, some iterations added. */
struct caller {
	struct heddle_strategy *blocks;
	struct heddle_strategy_worker workers[MAXWORKERS];
	double rate[MAXWORKERS];
	size_t under_way[MAXWORKERS][MAXDEPTH];
	unsigned depth[MAXWORKERS];
	bool retired[MAXWORKERS];
	unsigned nworkers;
	size_t total, done;
};

static unsigned draw(unsigned n)
{
	return (unsigned)(random() % n);
}

static size_t power_draw(unsigned bits)
{
	return ((size_t)random() & (((size_t)1 << draw(bits + 1)) - 1));
}

static void caller_begin(struct caller *c, const char *spec, unsigned nworkers, size_t total)
{
	struct heddle_strategy_problem problem;

	*c = (struct caller){.nworkers = nworkers, .total = total};
	for (unsigned w = 0; w < c->nworkers; w++) {
		struct heddle_strategy_worker *worker = &c->workers[w];

		worker->kind = draw(HEDDLE_NKINDS);
		worker->minimum = draw(3) ? 0 : power_draw(8);
		worker->alignment = draw(3) ? 0 : power_draw(8);
		/* Not so small that millions of blocks would be right. */
		worker->maximum = draw(3) ? 0
		                          : worker->minimum + worker->alignment + c->total / 4096 +
		                                power_draw(16) + 1;
		c->rate[w] = exp2(draw(14)) / 64;
		worker->rate = draw(3) ? 0 : c->rate[w] * exp2((int)draw(5) - 2);
		c->depth[w] = 1 + draw(MAXDEPTH);
	}
	problem = (struct heddle_strategy_problem){c->total, c->nworkers, c->workers};
	assert_int_equal(heddle_strategy_create(spec, &problem, &c->blocks), 0);
	assert_int_equal(heddle_strategy_remaining(c->blocks), c->total);
}

static void size_check(const struct caller *c, unsigned w, size_t n, size_t before)
{
	const struct heddle_strategy_worker *worker = &c->workers[w];

	assert_true(n > 0 && n <= before);
	if (worker->maximum)
		assert_true(n <= worker->maximum);
	if (n == before)
		return;
	assert_true(n >= worker->minimum);
	/* No multiple of the alignment may lie between the bounds. */
	if (worker->alignment && n != worker->maximum)
		assert_int_equal(n % worker->alignment, 0);
}

static bool caller_ask(struct caller *c, unsigned w)
{
	size_t before = heddle_strategy_remaining(c->blocks), n;

	for (unsigned d = 0; d < c->depth[w]; d++) {
		if (c->under_way[w][d])
			continue;
		n = heddle_strategy_next(c->blocks, w);
		assert_int_equal(heddle_strategy_remaining(c->blocks), before - n);
		if (!n)
			return false;
		assert_false(c->retired[w]);
		size_check(c, w, n, before);
		c->under_way[w][d] = n;
		return true;
	}
	return false;
}

static bool caller_answer(struct caller *c, unsigned w)
{
	unsigned d = draw(MAXDEPTH);
	size_t n = c->under_way[w][d];
	double us = n / c->rate[w] * (0.5 + draw(1000) / 1000.0);

	if (!n)
		return false;
	c->under_way[w][d] = 0;
	if (!draw(16)) {
		size_t before = heddle_strategy_remaining(c->blocks);

		heddle_strategy_return(c->blocks, w, n);
		assert_int_equal(heddle_strategy_remaining(c->blocks), before + n);
		return true;
	}
	heddle_strategy_completed(c->blocks, w, n, draw(64) ? us : draw(2) ? 0 : 500 * us);
	c->done += n;
	assert_true(heddle_strategy_rate(c->blocks, w) >= 0);
	heddle_strategy_phase(c->blocks, w);
	return true;
}

static void caller_mishap(struct caller *c)
{
	unsigned w = draw(c->nworkers), active = 0;
	size_t more = power_draw(12);

	for (unsigned v = 0; v < c->nworkers; v++)
		active += !c->retired[v];
	if (active > 1 && !c->retired[w] && draw(2)) {
		heddle_strategy_retire(c->blocks, w);
		c->retired[w] = true;
	} else {
		heddle_strategy_extend(c->blocks, more);
		c->total += more;
	}
}

static bool caller_moves(struct caller *c)
{
	bool moved = false;

	for (unsigned w = 0; w < c->nworkers; w++) {
		while (caller_ask(c, w))
			moved = true;
		while (caller_answer(c, w))
			moved = true;
	}
	return moved;
}

/* memory: what earlier runs told; this one adds to it. */
static void strategy_run(const char *spec, unsigned nworkers, size_t total,
                         struct blocks_memory **memory)
{
	struct caller c;
	unsigned steps = 0, idle = 0;

	caller_begin(&c, spec, nworkers, total);
	if (*memory)
		blocks_memory_use(c.blocks, *memory);
	while (c.done < c.total) {
		unsigned w = draw(c.nworkers);

		/* Half-way random order, then until nobody moves. */
		if (steps++ < 200) {
			caller_ask(&c, w);
			caller_answer(&c, draw(c.nworkers));
			if (!draw(100))
				caller_mishap(&c);
		} else {
			idle = caller_moves(&c) ? 0 : idle + 1;
			if (idle > 100)
				fail_msg("%s: stands still at %zu of %zu", spec, c.done, c.total);
		}
		if (steps > 5000000)
			fail_msg("%s: no end: %zu of %zu done", spec, c.done, c.total);
	}
	assert_int_equal(c.done, c.total);
	assert_int_equal(heddle_strategy_remaining(c.blocks), 0);
	assert_int_equal(heddle_strategy_next(c.blocks, 0), 0);
	(void)blocks_memory_learn(c.blocks, memory);
	heddle_strategy_destroy(c.blocks);
}

static void strategy_run_again(const char *spec, unsigned runs)
{
	struct blocks_memory *memory = NULL;
	unsigned nworkers = 1 + draw(MAXWORKERS);
	size_t total = power_draw(24);

	for (unsigned r = 0; r < runs; r++)
		strategy_run(spec, nworkers, total, &memory);
	free(memory);
}

/* Tasks that become ready fifty at a time: nobody takes them all from a worker
 * that is as fast, however long the stream has been going on. */
static void test_streams(void **state)
{
	static const char *const specs[] = {"hdss",   "gss",    "css",  "tss",  "fss",
	                                    "linear", "mfsc",   "awfd", "awfe", "af",
	                                    "plbhec", "logfit", "auto"};
	struct heddle_strategy_problem problem = {.nworkers = 2};

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct heddle_strategy *blocks;
		size_t n, ready = 0;

		assert_int_equal(heddle_strategy_create(specs[i], &problem, &blocks), 0);
		for (int round = 0; round < 2000; round++) {
			heddle_strategy_extend(blocks, 50 - ready);
			for (unsigned w = 0; w < 2; w++) {
				n = heddle_strategy_next(blocks, w);
				if (n > 30)
					fail_msg("%s: %zu of 50 in round %d", specs[i], n, round);
				if (n)
					heddle_strategy_completed(blocks, w, n, 10.0 * n);
			}
			ready = heddle_strategy_remaining(blocks);
		}
		heddle_strategy_destroy(blocks);
	}
}

/* One worker takes a block. */
static size_t block_take(struct heddle_strategy *blocks)
{
	size_t n = heddle_strategy_next(blocks, 0);

	heddle_strategy_completed(blocks, 0, n, n);
	return n;
}

/* Others take most of what is left: blocks become as much shorter as that. With a ramp the first
 * ones are short. */
static void test_tss_shortened(void **state)
{
	struct heddle_strategy_problem problem = {.n = 10000, .nworkers = 1};
	struct heddle_strategy_worker worker = {0};
	struct heddle_strategy *blocks;
	size_t given = 0, n;

	problem.workers = &worker;
	assert_int_equal(heddle_strategy_create("tss:first=1000,last=100", &problem, &blocks), 0);
	assert_int_equal(block_take(blocks), 1000);
	blocks_shorten(blocks, 8100);
	assert_int_equal(heddle_strategy_remaining(blocks), 900);
	for (n = block_take(blocks); n; n = block_take(blocks))
		assert_in_range(n, 1, 100);
	heddle_strategy_destroy(blocks);
	assert_int_equal(
	    heddle_strategy_create("tss:first=1000,last=100,ramp=0.25", &problem, &blocks), 0);
	for (n = block_take(blocks); n; n = block_take(blocks)) {
		assert_true(n <= 100 + given / 4);
		given += n;
	}
	assert_int_equal(given, 10000);
	heddle_strategy_destroy(blocks);
}

static void random_callers(unsigned seed)
{
	srandom(seed);
	for (const struct heddle_strategy_info *const *s = heddle_strategies(); *s; s++)
		for (int i = 0; i < 300; i++)
			strategy_run_again((*s)->name, 1 + i % 3);
	for (int i = 0; i < 300; i++)
		strategy_run_again("hdss:published=1", 1);
}

static void test_random_callers(void **state)
{
	/* Paces of uneven loops grew beyond all numbers with this one. */
	random_callers(1);
	random_callers(test_seed());
}

static void test_specifications(void **state)
{
	static const char *const wrong[] = {
	    "",
	    "hdds",
	    ":chunk=1",
	    "css:",
	    "css:chunk",
	    "css:chunk=",
	    "css:chunk=x",
	    "css:chunk=-1",
	    "css:chk=1",
	    "css:chunk=1,",
	    "css:chunk=1x",
	    "css:chunk=1,chunk=2",
	    "css:=1",
	    "css:chunk=nan",
	    "css:chunk=inf",
	    "static:n=1",
	    "CSS",
	    "hdss:published=2",
	    "css chunk=1",
	};
	static const char *const right[] = {"css", "css:chunk=7", "linear:initial=3,step=0.5",
	                                    "hdss:published=1,initial=1024"};
	struct heddle_strategy_problem problem = {.n = 10, .nworkers = 2};
	struct heddle_strategy *blocks = NULL;

	setenv("HEDDLE_VERBOSE", "0", 1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(heddle_strategy_create(wrong[i], &problem, &blocks), -EINVAL);
	assert_null(blocks);
	problem.nworkers = 0;
	assert_int_equal(heddle_strategy_create("css", &problem, &blocks), -EINVAL);
	problem.nworkers = 2;
	problem.workers = (struct heddle_strategy_worker[]){{.minimum = 8, .maximum = 7}, {0}};
	assert_int_equal(heddle_strategy_create("css", &problem, &blocks), -EINVAL);
	problem.workers = (struct heddle_strategy_worker[]){{.rate = -1}, {0}};
	assert_int_equal(heddle_strategy_create("css", &problem, &blocks), -EINVAL);
	unsetenv("HEDDLE_VERBOSE");
	problem.workers = NULL;
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		assert_int_equal(heddle_strategy_create(right[i], &problem, &blocks), 0);
		heddle_strategy_destroy(blocks);
	}
	heddle_strategy_destroy(NULL);
}

/* Who has its next block while one is under way. */
static void test_overlaps(void **state)
{
	assert_int_equal(heddle_strategy_overlaps("gss"), 1);
	assert_int_equal(heddle_strategy_overlaps("hdss"), 1);
	assert_int_equal(heddle_strategy_overlaps("hdss:overlap=0"), 0);
	assert_int_equal(heddle_strategy_overlaps("hdss:published=1"), 0);
	assert_int_equal(heddle_strategy_overlaps("hdss:published=1,overlap=1"), 1);
	setenv("HEDDLE_VERBOSE", "0", 1);
	assert_int_equal(heddle_strategy_overlaps("hdss:overlap=2"), -EINVAL);
	assert_int_equal(heddle_strategy_overlaps("nobody"), -EINVAL);
	unsetenv("HEDDLE_VERBOSE");
}

static void test_table(void **state)
{
	unsigned strategies = 0;

	for (const struct heddle_strategy_info *const *s = heddle_strategies(); *s;
	     s++, strategies++) {
		assert_true((*s)->source && (*s)->doc);
		for (const struct heddle_strategy_parameter *p = (*s)->parameters; p->name; p++)
			assert_true(p->unit && p->doc && p->min <= p->value && p->value <= p->max);
	}
	assert_int_equal(strategies, 17);
}

/* Iterations that come when all workers have left stay where they are. */
static void test_nobody_left(void **state)
{
	for (const struct heddle_strategy_info *const *s = heddle_strategies(); *s; s++) {
		struct heddle_strategy_problem problem = {.n = 1000, .nworkers = 2};
		struct heddle_strategy *blocks;
		size_t n;

		assert_int_equal(heddle_strategy_create((*s)->name, &problem, &blocks), 0);
		n = heddle_strategy_next(blocks, 0);
		heddle_strategy_retire(blocks, 0);
		heddle_strategy_retire(blocks, 1);
		heddle_strategy_return(blocks, 0, n);
		heddle_strategy_extend(blocks, 10);
		assert_int_equal(heddle_strategy_remaining(blocks), 1010);
		for (unsigned w = 0; w < 2; w++)
			assert_int_equal(heddle_strategy_next(blocks, w), 0);
		heddle_strategy_destroy(blocks);
	}
}

/* Of a worker that wants 64: what it gets under a bound, with a minimum and an alignment. */
static void test_bound_sizes(void **state)
{
	static const struct {
		size_t minimum, alignment, bound, n;
	} cases[] = {
	    {0, 0, 0, 64},   {0, 0, 1000, 64}, {0, 0, 64, 64},  {0, 0, 10, 10},  {0, 0, 1, 1},
	    {0, 8, 20, 16},  {0, 8, 3, 8},     {12, 0, 5, 12},  {12, 0, 20, 20}, {12, 8, 5, 16},
	    {12, 8, 14, 16}, {12, 8, 24, 24},  {16, 8, 20, 16}, {3, 8, 5, 8},
	};

	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		struct heddle_strategy_worker workers[2] = {{0}};
		struct heddle_strategy_problem problem = {100000, 2, workers};
		struct heddle_strategy *blocks;

		workers[0].minimum = cases[c].minimum;
		workers[0].alignment = cases[c].alignment;
		assert_int_equal(heddle_strategy_create("css:chunk=64", &problem, &blocks), 0);
		blocks_bound(blocks, 0, cases[c].bound);
		assert_int_equal(heddle_strategy_next(blocks, 0), cases[c].n);
		/* The other one has none. */
		assert_int_equal(heddle_strategy_next(blocks, 1), 64);
		/* A bound is for the blocks that follow, and may go. */
		blocks_bound(blocks, 0, 32);
		assert_int_equal(heddle_strategy_next(blocks, 0), 32);
		blocks_bound(blocks, 0, 0);
		assert_int_equal(heddle_strategy_next(blocks, 0), 64);
		heddle_strategy_destroy(blocks);
	}
}

static void bound_draw(struct heddle_strategy *blocks, unsigned worker,
                       const struct heddle_strategy_worker *of, size_t *bound)
{
	size_t alignment = of->alignment ? of->alignment : 1;
	size_t least = (of->minimum + alignment - 1) / alignment * alignment;

	*bound = draw(4) ? 1 + power_draw(12) : 0;
	blocks_bound(blocks, worker, *bound);
	if (*bound && *bound < least)
		*bound = least;
	if (*bound && *bound < alignment)
		*bound = alignment;
}

/* Whatever a strategy wants, and while it learns: no block is longer than its worker's bound, all
 * but the last are aligned, and all iterations are given. */
static void test_bounds(void **state)
{
	srandom(test_seed());
	for (const struct heddle_strategy_info *const *s = heddle_strategies(); *s; s++)
		for (int round = 0; round < 20; round++) {
			enum { WORKERS = 3 };
			struct heddle_strategy_worker workers[WORKERS] = {{0}};
			struct heddle_strategy_problem problem = {power_draw(17), WORKERS, workers};
			size_t bounds[WORKERS] = {0}, before, n;
			struct heddle_strategy *blocks;
			unsigned w;

			for (w = 0; w < WORKERS; w++) {
				workers[w].minimum = draw(2) ? 0 : power_draw(8);
				workers[w].alignment = draw(2) ? 0 : 1 + power_draw(8);
			}
			assert_int_equal(heddle_strategy_create((*s)->name, &problem, &blocks), 0);
			for (w = 0; (before = heddle_strategy_remaining(blocks));
			     w = (w + 1) % WORKERS) {
				bound_draw(blocks, w, &workers[w], &bounds[w]);
				n = heddle_strategy_next(blocks, w);
				assert_true(!bounds[w] || n <= bounds[w]);
				if (n < before && workers[w].alignment)
					assert_int_equal(n % workers[w].alignment, 0);
				if (n && n < before)
					assert_true(n >= workers[w].minimum);
				heddle_strategy_completed(blocks, w, n, n * (1.0 + w));
			}
			heddle_strategy_destroy(blocks);
		}
}

/* Clocks that stand still or run away, and worse: what a strategy believes stays a number, and it
 * goes on giving. One that goes by means believes the smallest time that can be measured. */
static void test_times_of_nothing(void **state)
{
	static const double times[] = {0, -5, NAN, 1e-300, 1e300, INFINITY};

	for (size_t t = 0; t < sizeof(times) / sizeof(*times); t++)
		for (const struct heddle_strategy_info *const *s = heddle_strategies(); *s; s++) {
			struct heddle_strategy_problem problem = {.n = 10000, .nworkers = 2};
			struct heddle_strategy *blocks;
			size_t n;

			assert_int_equal(heddle_strategy_create((*s)->name, &problem, &blocks), 0);
			for (unsigned turn = 0; heddle_strategy_remaining(blocks); turn++) {
				assert_true(turn < 100000);
				n = heddle_strategy_next(blocks, turn % 2);
				/* Some know good times, too. */
				heddle_strategy_completed(blocks, turn % 2, n,
				                          turn % 5 == 4 ? n : times[t]);
				assert_true(isfinite(heddle_strategy_rate(blocks, turn % 2)));
				if (n && !strcmp((*s)->name, "gss"))
					assert_true(heddle_strategy_rate(blocks, turn % 2) > 0);
			}
			heddle_strategy_destroy(blocks);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_times_of_nothing), cmocka_unit_test(test_bound_sizes),
	    cmocka_unit_test(test_bounds),           cmocka_unit_test(test_table),
	    cmocka_unit_test(test_specifications),   cmocka_unit_test(test_streams),
	    cmocka_unit_test(test_tss_shortened),    cmocka_unit_test(test_nobody_left),
	    cmocka_unit_test(test_random_callers),   cmocka_unit_test(test_overlaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
