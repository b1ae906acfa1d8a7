/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The pool of ready items that a policy's workers take from, best first.
 *
 * Items fall into classes. All items of a class have the same priority and the
 * same gain and cost on every kind of processor, and leave in the order they came.
 * Each kind keeps the non-empty classes in its own order: higher priority first,
 * then higher gain on that kind, then the class that fewer kinds can run (what
 * others can run as well, others can take), then the older class. A class is one
 * queue seen by all kinds, so an item taken by one is gone for all of them at once.
 *
 * Beliefs about cost change while items wait. Items of one family (not 0) share
 * what is believed of them: heddle_pool_revalue() moves them all to their new
 * place, however many they are.
 *
 * Pushing and popping cost a look-up in a hash table; a class that becomes empty
 * or non-empty moves once in the order of every kind, which takes time
 * proportional to the number of non-empty classes. The class that became empty last
 * stays where it is: the one task at a time of a chain moves nothing.
 *
 * Pure and not synchronised: the caller serialises.
 */
#ifndef HEDDLE_SCHED_POLICIES_POOL_H
#define HEDDLE_SCHED_POLICIES_POOL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define HEDDLE_POOL_NKINDS 8

/** Gain on a kind that cannot run the item. */
#define HEDDLE_POOL_CANNOT INT_MIN
/** Gain on a kind of which nothing is known yet: it comes first, to be tried. */
#define HEDDLE_POOL_UNKNOWN INT_MAX
/** Gain of what no other kind can do: a speedup without bound. */
#define HEDDLE_POOL_ALONE 1000000
/** Cost of which nothing is known; it adds nothing to the load. */
#define HEDDLE_POOL_NO_COST INT_MIN

/** Tags: whether one worker's answer about an item holds for its class. */
#define HEDDLE_POOL_UNIFORM 0UL       /**< it does, whatever the worker's number */
#define HEDDLE_POOL_INDIVIDUAL (~0UL) /**< no: every item is asked about */

/** What tells the classes apart. */
struct heddle_pool_key {
	int priority;                 /**< higher first */
	int gain[HEDDLE_POOL_NKINDS]; /**< heddle_pool_gain(), or one of the above */
	int cost[HEDDLE_POOL_NKINDS]; /**< heddle_pool_cost(), or NO_COST */
	/** Items whose gains and costs change together, 0: theirs do not change. In a
	 * family gains and costs do not tell classes apart, only which kinds can run
	 * the items: those of the item pushed last hold for the class. */
	unsigned long family;
	/** UNIFORM, INDIVIDUAL, or a number that says on which workers the items
	 * may run: a worker that is refused one item of such a class is refused
	 * them all. */
	unsigned long tag;
};

/** A ready item and its class. */
struct heddle_pool_entry {
	void *item;
	struct heddle_pool_key key;
	double since_us; /**< when it was pushed, by the caller's clock; 0 if nobody said */
};

/** Whether a worker may take an item of its kind. */
typedef bool (*heddle_pool_accept)(void *item, void *arg);

struct heddle_pool;

/** Gain of an item that a kind runs `speedup` times as fast as the reference:
 * 8 log2(speedup), rounded, so that measured speedups do not each found a class
 * of their own. NaN gives HEDDLE_POOL_UNKNOWN. */
int heddle_pool_gain(double speedup);

/** Cost of an item that takes so many µs: 8 log2(us), rounded; HEDDLE_POOL_NO_COST for
 * what is not above 0. */
int heddle_pool_cost(double us);

/** The time that a cost stands for, µs; 0 for HEDDLE_POOL_NO_COST. */
double heddle_pool_us(int cost);

/** A key of priority 0 that no kind can run, without cost and family. */
void heddle_pool_key_init(struct heddle_pool_key *key);

/** Whether a kind can run items of that class. */
static inline bool heddle_pool_key_runs(const struct heddle_pool_key *key, unsigned kind)
{
	return key->gain[kind] != HEDDLE_POOL_CANNOT;
}

/** @return 0 or -ENOMEM */
int heddle_pool_create(struct heddle_pool **pool);

/** Items still in it are forgotten. NULL is allowed. */
void heddle_pool_destroy(struct heddle_pool *pool);

/** Adds an item at the end of its class.
 * @return 0; -ENOMEM, the pool is as before. */
int heddle_pool_push(struct heddle_pool *pool, void *item, const struct heddle_pool_key *key);

/** The same, keeping the time for who asks. */
int heddle_pool_push_since(struct heddle_pool *pool, void *item, const struct heddle_pool_key *key,
                           double since_us);

/** Adds an item whose key is that of the one pushed last.
 * @return 0, -ENOMEM; -ENOENT where that class is not known any more */
int heddle_pool_push_like_last(struct heddle_pool *pool, void *item, double since_us);

/** Takes the best item that a kind can run and `accept` agrees to.
 * @param least nothing of a lower priority
 * @param accept NULL: every item
 * @param[out] entry the item and its class, set on success
 * @return whether there was one */
bool heddle_pool_pop(struct heddle_pool *pool, unsigned kind, int least, heddle_pool_accept accept,
                     void *arg, struct heddle_pool_entry *entry);

/** Priority of the item that heddle_pool_pop() would take.
 * @param[out] priority set when there is one
 * @return whether there is one */
bool heddle_pool_priority(const struct heddle_pool *pool, unsigned kind, heddle_pool_accept accept,
                          void *arg, int *priority);

/** What a worker asks for. */
struct heddle_pool_query {
	unsigned kind;
	int least; /**< nothing of a lower priority */
	/** Whether the worker wants anything of a class, whose oldest item was pushed
	 * then; NULL: of every class. */
	bool (*admit)(const struct heddle_pool_key *key, double since_us, void *arg);
	/** Whether it may take an item; NULL: every item. */
	heddle_pool_accept accept;
	void *arg; /**< for both */
};

/** Where an item lies, until the pool changes. */
struct heddle_pool_place {
	struct class *class;
	size_t index;
};

/** Finds the best item that answers a query.
 * @param[out] place set on success
 * @return its class, as long as the pool does not change; NULL when there is none */
const struct heddle_pool_key *heddle_pool_find(const struct heddle_pool *pool,
                                               const struct heddle_pool_query *query,
                                               struct heddle_pool_place *place);

/** The item at a place. */
void *heddle_pool_at(const struct heddle_pool_place *place);

/** Takes the item at a place out. */
void heddle_pool_take(struct heddle_pool *pool, const struct heddle_pool_place *place,
                      struct heddle_pool_entry *entry);

/** Changes what is believed of a family.
 * @param value sets gain and cost of a key of the family, where the kind can run it; no more */
void heddle_pool_revalue(struct heddle_pool *pool, unsigned long family,
                         void (*value)(struct heddle_pool_key *key, void *arg), void *arg);

/** Time that one worker of a kind would need for all items that it can run, µs,
 * as far as their costs are known. */
double heddle_pool_load(const struct heddle_pool *pool, unsigned kind);

/** The part of it that a kind prefers to the items of a class: what it gains at least as
 * much from, these items included, and what is of higher priority. Where there are more
 * than some hundred classes, all that it can run. */
double heddle_pool_load_above(const struct heddle_pool *pool, unsigned kind,
                              const struct heddle_pool_key *key);

/** Number of items. */
size_t heddle_pool_count(const struct heddle_pool *pool);

#endif
