/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched_policies/pool.h"
#include "tests/unit/test.h"

enum { CPU, GPU };

static struct heddle_pool *pool;

static int pool_begin(void **state)
{
	return heddle_pool_create(&pool);
}

static int pool_end(void **state)
{
	heddle_pool_destroy(pool);
	return 0;
}

static void push(uintptr_t item, int priority, int cpu, int gpu, unsigned long tag)
{
	struct heddle_pool_key key;

	heddle_pool_key_init(&key);
	key.priority = priority;
	key.gain[CPU] = cpu;
	key.gain[GPU] = gpu;
	key.tag = tag;
	assert_int_equal(heddle_pool_push(pool, (void *)item, &key), 0);
}

/* 0: nothing */
static uintptr_t pop(unsigned class)
{
	struct heddle_pool_entry entry;

	return heddle_pool_pop(pool, class, INT_MIN, NULL, NULL, &entry) ? (uintptr_t)entry.item
	                                                                 : 0;
}

#define NO HEDDLE_POOL_CANNOT

struct question {
	uintptr_t accepted;
	unsigned asked;
};

static bool answer(void *item, void *arg)
{
	struct question *question = arg;

	question->asked++;
	return (uintptr_t)item == question->accepted;
}

/* How often somebody who wants none of the items that are alike is asked: once a queue. */
static unsigned queues_for(unsigned class)
{
	struct question question = {.accepted = UINTPTR_MAX};
	struct heddle_pool_entry entry;

	assert_false(heddle_pool_pop(pool, class, INT_MIN, answer, &question, &entry));
	return question.asked;
}

static void test_empty(void **state)
{
	int priority = 42;

	assert_int_equal(pop(CPU), 0);
	assert_int_equal(heddle_pool_count(pool), 0);
	assert_false(heddle_pool_priority(pool, CPU, NULL, NULL, &priority));
	assert_int_equal(priority, 42);
}

static void test_first_come_within_a_queue(void **state)
{
	for (uintptr_t i = 1; i <= 100; i++)
		push(i, 0, 0, 0, HEDDLE_POOL_UNIFORM);
	for (uintptr_t i = 1; i <= 100; i++)
		assert_int_equal(pop(i % 2), i);
}

static void test_push_like_last(void **state)
{
	assert_int_equal(heddle_pool_push_like_last(pool, (void *)1, 0), -ENOENT);
	assert_int_equal(heddle_pool_count(pool), 0);
	push(1, 5, 0, NO, HEDDLE_POOL_UNIFORM);
	push(2, 0, 0, 0, HEDDLE_POOL_UNIFORM);
	assert_int_equal(heddle_pool_push_like_last(pool, (void *)3, 0), 0);
	assert_int_equal(heddle_pool_count(pool), 3);
	assert_int_equal(pop(GPU), 2);
	assert_int_equal(pop(GPU), 3);
	/* Its queue is empty now, and others have come and gone. */
	assert_int_equal(pop(CPU), 1);
	assert_int_equal(heddle_pool_push_like_last(pool, (void *)4, 0), 0);
	assert_int_equal(heddle_pool_push_like_last(pool, (void *)5, 0), 0);
	push(6, 0, 0, 0, HEDDLE_POOL_UNIFORM);
	assert_int_equal(queues_for(CPU), 1);
	assert_int_equal(pop(GPU), 4);
	assert_int_equal(pop(CPU), 5);
	assert_int_equal(pop(CPU), 6);
	assert_int_equal(pop(CPU), 0);
}

static void test_priority_before_gain(void **state)
{
	push(1, -5, HEDDLE_POOL_UNKNOWN, 0, HEDDLE_POOL_UNIFORM);
	push(2, INT_MAX, -80, 0, HEDDLE_POOL_UNIFORM);
	push(3, INT_MIN, 80, 0, HEDDLE_POOL_UNIFORM);
	push(4, -5, 8, 0, HEDDLE_POOL_UNIFORM);
	assert_int_equal(pop(CPU), 2);
	assert_int_equal(pop(CPU), 1);
	assert_int_equal(pop(CPU), 4);
	assert_int_equal(pop(CPU), 3);
	assert_int_equal(pop(CPU), 0);
}

/* Each class has its own order, and what one takes the other does not see. */
static void test_classes_order_differently(void **state)
{
	push(1, 0, 0, 24, HEDDLE_POOL_UNIFORM);
	push(2, 0, 8, 0, HEDDLE_POOL_UNIFORM);
	push(3, 0, NO, 16, HEDDLE_POOL_UNIFORM);
	push(4, 0, -8, NO, HEDDLE_POOL_UNIFORM);
	assert_int_equal(pop(GPU), 1);
	assert_int_equal(pop(CPU), 2);
	assert_int_equal(pop(CPU), 4);
	assert_int_equal(pop(CPU), 0);
	assert_int_equal(pop(GPU), 3);
	assert_int_equal(pop(GPU), 0);
}

static void test_what_others_cannot_run_comes_first(void **state)
{
	push(1, 0, 0, 0, HEDDLE_POOL_UNIFORM);
	push(2, 0, 0, NO, HEDDLE_POOL_UNIFORM);
	assert_int_equal(pop(CPU), 2);
	assert_int_equal(pop(CPU), 1);
}

static void test_one_answer_counts_for_a_queue(void **state)
{
	struct question question = {.accepted = 99};
	struct heddle_pool_entry entry;

	for (uintptr_t i = 1; i <= 10; i++) {
		push(i, 0, 0, 0, HEDDLE_POOL_UNIFORM);
		push(10 + i, 0, 0, 0, 7);
		push(20 + i, 0, 0, 0, HEDDLE_POOL_INDIVIDUAL);
	}
	assert_false(heddle_pool_pop(pool, CPU, INT_MIN, answer, &question, &entry));
	assert_int_equal(question.asked, 12);
	question = (struct question){.accepted = 25};
	assert_true(heddle_pool_pop(pool, CPU, INT_MIN, answer, &question, &entry));
	assert_int_equal((uintptr_t)entry.item, 25);
	assert_int_equal(entry.key.tag, HEDDLE_POOL_INDIVIDUAL);
	for (uintptr_t i = 21; i <= 30; i++) {
		question.accepted = i;
		assert_int_equal(heddle_pool_pop(pool, CPU, INT_MIN, answer, &question, &entry),
		                 i != 25);
	}
	assert_int_equal(heddle_pool_count(pool), 20);
}

static void test_least_priority(void **state)
{
	struct heddle_pool_entry entry;
	struct question question = {.accepted = 1};
	int priority;

	push(1, 3, 0, 0, HEDDLE_POOL_UNIFORM);
	push(2, 5, 0, NO, HEDDLE_POOL_UNIFORM);
	assert_false(heddle_pool_pop(pool, GPU, 4, NULL, NULL, &entry));
	assert_true(heddle_pool_priority(pool, CPU, NULL, NULL, &priority));
	assert_int_equal(priority, 5);
	assert_true(heddle_pool_priority(pool, CPU, answer, &question, &priority));
	assert_int_equal(priority, 3);
	assert_true(heddle_pool_pop(pool, CPU, 4, NULL, NULL, &entry));
	assert_int_equal((uintptr_t)entry.item, 2);
	assert_false(heddle_pool_pop(pool, CPU, 4, NULL, NULL, &entry));
}

static void test_gain(void **state)
{
	assert_int_equal(heddle_pool_gain(1), 0);
	assert_int_equal(heddle_pool_gain(2), 8);
	assert_int_equal(heddle_pool_gain(0.5), -8);
	assert_int_equal(heddle_pool_gain(1.01), 0);
	assert_int_equal(heddle_pool_gain(NAN), HEDDLE_POOL_UNKNOWN);
	assert_true(heddle_pool_gain(INFINITY) < HEDDLE_POOL_UNKNOWN);
	assert_true(heddle_pool_gain(INFINITY) > heddle_pool_gain(1e100));
	assert_true(heddle_pool_gain(0) > HEDDLE_POOL_CANNOT);
	assert_true(heddle_pool_gain(0) < heddle_pool_gain(1e-100));
	assert_true(heddle_pool_gain(-1) > HEDDLE_POOL_CANNOT);
}

/* Bytes allocated; 0 where nobody counts them: with sanitizers, and in other C libraries. */
static size_t memory_used(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
	return mallinfo2().uordblks;
#else
	return 0;
#endif
}

static void test_empty_queues_do_not_pile_up(void **state)
{
	size_t few = 0;

	for (int i = 0; i < 100000; i++) {
		push(1 + i, i, 0, 0, HEDDLE_POOL_UNIFORM);
		assert_int_equal(pop(GPU), 1 + i);
		if (i == 5000)
			few = memory_used();
	}
	assert_true(memory_used() <= 2 * few);
}

static void type_push(uintptr_t item, unsigned long type, int cpu, int gpu)
{
	struct heddle_pool_key key;

	heddle_pool_key_init(&key);
	key.type = type;
	key.gain[CPU] = cpu;
	key.gain[GPU] = gpu;
	key.cost[CPU] = heddle_pool_cost(100);
	assert_int_equal(heddle_pool_push(pool, (void *)item, &key), 0);
}

static void gpu_gains_much(struct heddle_pool_key *key, void *us)
{
	key->gain[CPU] = -40;
	key->gain[GPU] = 40;
	key->cost[GPU] = heddle_pool_cost(*(double *)us);
}

/* All items of a type move at once, and only they. */
static void test_families_are_revalued(void **state)
{
	double us = 4;

	for (uintptr_t i = 1; i <= 50; i++) {
		type_push(i, 1, 0, 0);
		type_push(100 + i, 2, 0, 0);
	}
	assert_int_equal(pop(GPU), 1);
	heddle_pool_revalue(pool, 2, gpu_gains_much, &us);
	assert_int_equal(pop(GPU), 101);
	assert_int_equal(pop(CPU), 2);
	assert_true(fabs(heddle_pool_load(pool, GPU) - 49 * 4) < 1e-9);
	/* A push tells as well: what it says holds for those that wait. */
	type_push(51, 1, 0, 80);
	assert_int_equal(pop(GPU), 3);
	assert_int_equal(queues_for(CPU), 2);
	assert_int_equal(queues_for(GPU), 2);
	heddle_pool_revalue(pool, 3, gpu_gains_much, &us);
	assert_int_equal(heddle_pool_count(pool), 97);
}

static void test_load(void **state)
{
	struct heddle_pool_key key;

	assert_int_equal(heddle_pool_cost(0), HEDDLE_POOL_NO_COST);
	assert_int_equal(heddle_pool_cost(NAN), HEDDLE_POOL_NO_COST);
	for (double us = 1e-3; us < 1e12; us *= 1.7)
		assert_true(fabs(log2(heddle_pool_us(heddle_pool_cost(us)) / us)) <=
		            1 / 16. + 1e-9);
	heddle_pool_key_init(&key);
	key.gain[CPU] = 0;
	key.cost[CPU] = heddle_pool_cost(1024);
	key.cost[GPU] = heddle_pool_cost(32); /* which it cannot run */
	for (uintptr_t i = 1; i <= 10; i++)
		assert_int_equal(heddle_pool_push(pool, (void *)i, &key), 0);
	assert_true(fabs(heddle_pool_load(pool, CPU) - 10240) < 1e-6);
	assert_true(heddle_pool_load(pool, GPU) == 0);
	while (pop(CPU))
		;
	assert_true(heddle_pool_load(pool, CPU) == 0);
	/* Nor is anything left of what sums of large and small times are rounded by. */
	for (uintptr_t n = 2; n <= 40; n++) {
		for (uintptr_t i = 1; i <= n; i++) {
			key.cost[CPU] = heddle_pool_cost(i % 2 ? 1e6 / (i + n) : 0.1 * (i + n));
			assert_int_equal(heddle_pool_push(pool, (void *)i, &key), 0);
		}
		while (pop(CPU))
			;
		assert_true(heddle_pool_load(pool, CPU) == 0);
	}
}

static bool gain_below(const struct heddle_pool_key *key, void *oldest, double since_us,
                       void *bound)
{
	return key->gain[CPU] < *(int *)bound;
}

static void test_queues_not_wanted_are_passed_over(void **state)
{
	int bound = 8;
	struct heddle_pool_query query = {
	    .class = CPU, .least = INT_MIN, .admit = gain_below, .arg = &bound};
	struct heddle_pool_place place;
	struct heddle_pool_entry entry;
	const struct heddle_pool_key *key;

	push(1, 0, 16, 0, HEDDLE_POOL_UNIFORM);
	push(2, 0, 4, 0, HEDDLE_POOL_UNIFORM);
	push(3, 0, 0, 0, HEDDLE_POOL_UNIFORM);
	key = heddle_pool_find(pool, &query, &place);
	assert_non_null(key);
	assert_int_equal(key->gain[CPU], 4);
	assert_int_equal((uintptr_t)heddle_pool_at(&place), 2);
	assert_int_equal(heddle_pool_count(pool), 3);
	heddle_pool_take(pool, &place, &entry);
	assert_int_equal((uintptr_t)entry.item, 2);
	bound = -100;
	assert_null(heddle_pool_find(pool, &query, &place));
	assert_int_equal(heddle_pool_count(pool), 2);
}

static void home_push(uintptr_t item, int priority, unsigned home)
{
	struct heddle_pool_entry entry = {.item = (void *)item, .home = home};

	heddle_pool_key_init(&entry.key);
	entry.key.priority = priority;
	entry.key.gain[GPU] = 0;
	assert_int_equal(heddle_pool_push_entry(pool, &entry), 0);
}

static uintptr_t home_take(unsigned home)
{
	struct heddle_pool_query query = {.class = GPU, .least = INT_MIN, .home = home};
	struct heddle_pool_place place;
	struct heddle_pool_entry entry;

	assert_non_null(heddle_pool_find(pool, &query, &place));
	entry.home = heddle_pool_home(&place);
	heddle_pool_take(pool, &place, &entry);
	return (uintptr_t)entry.item;
}

/* Who has a memory takes what has its home there or nowhere, also of a lower priority; if there is
 * none among the first ones, the first of all. */
static void test_homes(void **state)
{
	home_push(1, 3, 7);
	home_push(2, 2, 7);
	home_push(3, 2, 5);
	home_push(4, 1, 0);
	assert_int_equal(home_take(5), 3);
	assert_int_equal(home_take(5), 4);
	assert_int_equal(home_take(5), 1);
	home_push(5, 3, 5);
	assert_int_equal(home_take(0), 5);
	assert_int_equal(home_take(7), 2);
	assert_int_equal(heddle_pool_count(pool), 0);
	for (uintptr_t i = 1; i <= HEDDLE_POOL_WINDOW; i++)
		home_push(i, 0, 7);
	home_push(100, 0, 5);
	assert_int_equal(home_take(5), 1);
	assert_int_equal(home_take(5), 100);
}

static size_t cost_of(void *item, size_t most, void *costs)
{
	return ((const size_t *)costs)[(uintptr_t)item];
}

static uintptr_t cheap_take(const size_t *costs, unsigned home)
{
	struct heddle_pool_query query = {
	    .class = GPU, .least = INT_MIN, .home = home, .cost = cost_of, .arg = (void *)costs};
	struct heddle_pool_place place;
	struct heddle_pool_entry entry;

	assert_non_null(heddle_pool_find(pool, &query, &place));
	heddle_pool_take(pool, &place, &entry);
	return (uintptr_t)entry.item;
}

/* Where costs count, the item of the least comes first, of equal ones that of the highest priority;
 * those with another home come last. */
static void test_costs(void **state)
{
	static const size_t costs[] = {0, 5, 2, 7, 2, 0};

	home_push(1, 3, 5);
	home_push(2, 2, 0);
	home_push(3, 2, 5);
	home_push(4, 1, 5);
	home_push(5, 1, 7);
	assert_int_equal(cheap_take(costs, 5), 2);
	assert_int_equal(cheap_take(costs, 5), 4);
	assert_int_equal(cheap_take(costs, 5), 1);
	assert_int_equal(cheap_take(costs, 7), 5);
	assert_int_equal(cheap_take(costs, 7), 3);
	assert_int_equal(heddle_pool_count(pool), 0);
}

static bool is_low(const struct heddle_pool_key *key, void *oldest, double since_us, void *costs)
{
	return !key->priority;
}

/* However many tasks a worker leaves to others, it finds the one that it wants. */
static void test_costs_behind_refused(void **state)
{
	static const size_t costs[2 * HEDDLE_POOL_LOOKS] = {0};
	struct heddle_pool_query query = {
	    .class = GPU, .least = INT_MIN, .cost = cost_of, .admit = is_low, .arg = (void *)costs};
	struct heddle_pool_place place;

	for (int i = 1; i < 2 * HEDDLE_POOL_LOOKS; i++)
		home_push(i, i, 0);
	assert_null(heddle_pool_find(pool, &query, &place));
	home_push(0, 0, 0);
	assert_non_null(heddle_pool_find(pool, &query, &place));
	assert_int_equal((uintptr_t)heddle_pool_at(&place), 0);
}

static void rank_push(uintptr_t item, int priority, int rank, int cpu, int gpu)
{
	struct heddle_pool_key key;

	heddle_pool_key_init(&key);
	key.priority = priority;
	key.rank = rank;
	key.gain[CPU] = cpu;
	key.gain[GPU] = gpu;
	assert_int_equal(heddle_pool_push(pool, (void *)item, &key), 0);
}

/* 0: the end */
static uintptr_t next(struct heddle_pool_walk *walk)
{
	struct heddle_pool_place place;

	return heddle_pool_next(pool, walk, &place) ? (uintptr_t)heddle_pool_at(&place) : 0;
}

/* Whoever can run it, and whatever it gains: by priority, then by rank. */
static void test_walk(void **state)
{
	static const uintptr_t order[] = {6, 3, 8, 1, 7, 4, 2, 5, 0, 0};
	struct heddle_pool_walk walk = {0};

	assert_int_equal(next(&walk), 0);
	rank_push(1, 0, 5, 0, 0);
	rank_push(2, 0, -3, 40, 40);
	rank_push(3, 1, -9, NO, 0);
	rank_push(4, 0, 0, NO, NO);
	rank_push(5, INT_MIN, INT_MAX, 80, NO);
	rank_push(6, 1, INT_MAX, 0, NO);
	rank_push(7, 0, 5, 0, 0);
	rank_push(8, 0, 7, -8, 0);
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		assert_int_equal(next(&walk), order[i]);
	assert_int_equal(heddle_pool_count(pool), 8);
	/* A queue that became empty is passed over. */
	assert_int_equal(pop(CPU), 6);
	walk = (struct heddle_pool_walk){0};
	assert_int_equal(next(&walk), 3);
}

static void test_gain_before_rank(void **state)
{
	rank_push(1, 0, 1, 0, 0);
	rank_push(2, 0, 2, 0, 0);
	rank_push(3, 0, INT_MIN, 8, -8);
	rank_push(4, 0, INT_MAX, -8, 8);
	rank_push(5, 1, INT_MIN, -80, NO);
	rank_push(6, 0, 1, 0, 0);
	assert_int_equal(pop(GPU), 4);
	assert_int_equal(pop(CPU), 5);
	assert_int_equal(pop(CPU), 3);
	assert_int_equal(pop(CPU), 2);
	assert_int_equal(pop(GPU), 1);
	assert_int_equal(pop(GPU), 6);
}

static double seen_us;

static bool see(const struct heddle_pool_key *key, void *oldest, double since_us, void *arg)
{
	seen_us = since_us;
	return true;
}

/* Whether a lone item comes to its turn beside a queue as good that is never empty.
 * @param gpu gain of that on the accelerator, which does not ask */
static bool lone_item_comes(int gpu)
{
	uintptr_t item = 0;

	for (unsigned i = 0; i < 64; i++)
		push(1, 0, 5, gpu, 0);
	push(2, 0, 5, gpu, 77);
	for (unsigned i = 0; i < 10000 && item != 2; i++) {
		item = pop(CPU);
		if (item == 1)
			push(1, 0, 5, gpu, 0);
	}
	return item == 2;
}

static void test_nothing_waits_for_ever(void **state)
{
	assert_true(lone_item_comes(3));
	assert_true(lone_item_comes(NO));
	for (unsigned i = 0; i < 128; i++)
		assert_int_equal(pop(CPU), 1);
	assert_int_equal(pop(CPU), 0);
}

/* Who asks learns how long the oldest item of a queue has been waiting. */
static void test_time_of_the_push_is_kept(void **state)
{
	struct heddle_pool_query query = {.class = CPU, .least = INT_MIN, .admit = see};
	struct heddle_pool_place place;
	struct heddle_pool_entry entry;
	struct heddle_pool_key key;

	heddle_pool_key_init(&key);
	key.gain[CPU] = 0;
	for (uintptr_t i = 1; i <= 20; i++)
		assert_int_equal(
		    heddle_pool_push_entry(
		        pool, &(struct heddle_pool_entry){(void *)i, key, 100. * i, 0}),
		    0);
	for (uintptr_t i = 1; i <= 20; i++) {
		assert_non_null(heddle_pool_find(pool, &query, &place));
		assert_true(seen_us == 100. * i);
		heddle_pool_take(pool, &place, &entry);
		assert_int_equal((uintptr_t)entry.item, i);
		assert_true(entry.since_us == 100. * i);
	}
}

/* Against the definition: a list searched from end to end. */
#define NMODEL 300
#define NTYPES 4

static struct model {
	uintptr_t item;
	int priority, rank, gain[2];
	unsigned long tag, type;
	double us;
} model[NMODEL];

static bool odd_only(void *item, void *arg)
{
	return (uintptr_t)item % 2;
}

static bool model_better(const struct model *a, const struct model *b, unsigned class)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->gain[class] != b->gain[class])
		return a->gain[class] > b->gain[class];
	return a->rank > b->rank;
}

/* Whether the item popped is one that the definition allows: nothing that was
 * acceptable is better, nothing of its own queue is older. */
static void model_check(uintptr_t item, unsigned class, size_t *n)
{
	size_t at = 0;

	while (at < *n && model[at].item != item)
		at++;
	assert_true(at < *n);
	for (size_t i = 0; i < *n; i++) {
		if (model[i].gain[class] == NO ||
		    (model[i].tag && !odd_only((void *)model[i].item, NULL)))
			continue;
		assert_false(model_better(&model[i], &model[at], class));
		assert_false(i < at && model[i].priority == model[at].priority &&
		             model[i].rank == model[at].rank && model[i].tag == model[at].tag &&
		             model[i].type == model[at].type && model[i].us == model[at].us &&
		             model[i].gain[0] == model[at].gain[0] &&
		             model[i].gain[1] == model[at].gain[1]);
	}
	for (size_t i = at; i + 1 < *n; i++)
		model[i] = model[i + 1];
	--*n;
}

static bool model_accept(void *item, void *arg)
{
	size_t i = 0;

	while (model[i].item != (uintptr_t)item)
		i++;
	return !model[i].tag || odd_only(item, arg);
}

static const int gains[] = {NO, -8, 0, 8, HEDDLE_POOL_UNKNOWN};
#define NGAINS (sizeof(gains) / sizeof(*gains))

static void model_key(const struct model *item, struct heddle_pool_key *key)
{
	heddle_pool_key_init(key);
	key->priority = item->priority;
	key->rank = item->rank;
	key->gain[CPU] = item->gain[CPU];
	key->gain[GPU] = item->gain[GPU];
	key->cost[CPU] = heddle_pool_cost(item->us);
	key->tag = item->tag;
	key->type = item->type;
}

/* What the item pushed last says holds for all of its type that wait, of its
 * priority, rank, tag and classes. */
static void model_push(uintptr_t item, size_t *n)
{
	struct model *new = &model[*n];
	struct heddle_pool_key key;

	*new = (struct model){item,
	                      rand() % 4 - 2,
	                      rand() % 3 - 1,
	                      {gains[rand() % NGAINS], gains[rand() % NGAINS]},
	                      rand() % 3 ? HEDDLE_POOL_UNIFORM : HEDDLE_POOL_INDIVIDUAL,
	                      rand() % 2 ? 0 : 1 + rand() % NTYPES,
	                      1 << rand() % 5};
	for (size_t i = 0; i < *n && new->type; i++)
		if (model[i].type == new->type &&
		    model[i].priority == new->priority &&model[i].rank ==
		        new->rank &&model[i].tag == new->tag &&
		    (model[i].gain[0] == NO) == (new->gain[0] == NO) &&
		    (model[i].gain[1] == NO) == (new->gain[1] == NO)) {
			memcpy(model[i].gain, new->gain, sizeof(new->gain));
			model[i].us = new->us;
		}
	++*n;
	model_key(new, &key);
	assert_int_equal(heddle_pool_push(pool, (void *)item, &key), 0);
}

static void value_set(struct heddle_pool_key *key, void *arg)
{
	const struct model *value = arg;

	for (int k = 0; k < 2; k++)
		if (heddle_pool_key_runs(key, k))
			key->gain[k] = value->gain[k];
	key->cost[CPU] = heddle_pool_cost(value->us);
}

static void model_revalue(size_t n)
{
	struct model value = {
	    .gain = {gains[1 + rand() % (NGAINS - 1)], gains[1 + rand() % (NGAINS - 1)]},
	    .type = 1 + rand() % NTYPES,
	    .us = 1 << rand() % 5};

	heddle_pool_revalue(pool, value.type, value_set, &value);
	for (size_t i = 0; i < n; i++) {
		if (model[i].type != value.type)
			continue;
		for (int k = 0; k < 2; k++)
			if (model[i].gain[k] != NO)
				model[i].gain[k] = value.gain[k];
		model[i].us = value.us;
	}
}

static void model_check_load(size_t n)
{
	double load = 0;

	for (size_t i = 0; i < n; i++)
		load += model[i].gain[CPU] == NO ? 0 : model[i].us;
	assert_true(fabs(heddle_pool_load(pool, CPU) - load) < 1e-6);
}

static void model_check_load_above(size_t n)
{
	const struct model *chosen = &model[rand() % (n + 1)];
	struct heddle_pool_key key;
	double load = 0, each = rand() % 3;

	if (chosen == &model[n] || chosen->gain[CPU] == NO)
		return;
	heddle_pool_key_init(&key);
	key.priority = chosen->priority;
	key.gain[CPU] = chosen->gain[CPU];
	for (size_t i = 0; i < n; i++)
		if (model[i].gain[CPU] != NO &&
		    (model[i].priority > key.priority || model[i].gain[CPU] >= key.gain[CPU]))
			load += model[i].us + each;
	assert_true(fabs(heddle_pool_load_above(pool, CPU, &key, each) - load) < 1e-6);
}

/* A walk comes by everything once, in order. */
static void model_check_walk(size_t n)
{
	struct heddle_pool_walk walk = {0};
	struct heddle_pool_place place;
	const struct heddle_pool_key *key;
	bool passed[NMODEL] = {false};
	int priority = INT_MAX, rank = INT_MAX;

	for (size_t walked = 0; walked < n; walked++) {
		size_t i = 0;

		key = heddle_pool_next(pool, &walk, &place);
		assert_non_null(key);
		assert_true(key->priority < priority ||
		            (key->priority == priority && key->rank <= rank));
		priority = key->priority;
		rank = key->rank;
		while (i < n && model[i].item != (uintptr_t)heddle_pool_at(&place))
			i++;
		assert_true(i < n && !passed[i]);
		assert_true(model[i].priority == priority && model[i].rank == rank);
		passed[i] = true;
	}
	assert_null(heddle_pool_next(pool, &walk, &place));
}

static void model_step(uintptr_t item, size_t *n)
{
	struct heddle_pool_entry entry;
	unsigned class = rand() % 2;
	size_t left = 0;

	if (*n < NMODEL && rand() % 5 < 3) {
		model_push(item, n);
	} else if (rand() % 10 == 0) {
		model_revalue(*n);
	} else if (heddle_pool_pop(pool, class, INT_MIN, model_accept, NULL, &entry)) {
		model_check((uintptr_t)entry.item, class, n);
	} else {
		for (size_t i = 0; i < *n; i++)
			left +=
			    model[i].gain[class] != NO && model_accept((void *)model[i].item, NULL);
		assert_int_equal(left, 0);
	}
	assert_int_equal(heddle_pool_count(pool), *n);
	model_check_load(*n);
	model_check_load_above(*n);
	if (item % 16 == 0)
		model_check_walk(*n);
}

static void test_random_against_the_definition(void **state)
{
	unsigned seed = test_seed();
	size_t n = 0;

	srand(seed);
	for (uintptr_t item = 1; item <= 20000; item++)
		model_step(item, &n);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, pool_begin, pool_end)
	const struct CMUnitTest tests[] = {
	    TEST(empty),
	    TEST(first_come_within_a_queue),
	    TEST(push_like_last),
	    TEST(priority_before_gain),
	    TEST(classes_order_differently),
	    TEST(what_others_cannot_run_comes_first),
	    TEST(one_answer_counts_for_a_queue),
	    TEST(least_priority),
	    TEST(gain),
	    TEST(empty_queues_do_not_pile_up),
	    TEST(families_are_revalued),
	    TEST(nothing_waits_for_ever),
	    TEST(time_of_the_push_is_kept),
	    TEST(load),
	    TEST(queues_not_wanted_are_passed_over),
	    TEST(homes),
	    TEST(costs),
	    TEST(costs_behind_refused),
	    TEST(walk),
	    TEST(gain_before_rank),
	    TEST(random_against_the_definition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
