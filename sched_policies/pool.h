/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The pool of ready items that a policy's workers take from, best first.
 *
 * Items of one priority and of the same gain and cost on every class of devices form a queue.
 * Each class sorts the queues: higher priority first, then higher gain on that class, then
 * higher rank, then the queue that fewer classes can run, then the older one; but a queue that has
 * given many items counts as new. An item of a queue that one class takes is gone for all.
 * Estimates change while items wait: heddle_pool_revalue() moves all items of a task type at once.
 * Pure and not synchronised: the caller serialises.
 *
 * Pushing and popping cost a look-up in a hash table. A queue that becomes empty or non-empty
 * moves once in the order of every class, in time proportional to the number of non-empty queues.
 * The queue that became empty last stays in place: a chain of single tasks moves nothing.
 */
#ifndef HEDDLE_SCHED_POLICIES_POOL_H
#define HEDDLE_SCHED_POLICIES_POOL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define HEDDLE_POOL_CLASSES 8 /**< of devices, or StarPU's types of workers */

/** Gain on a class that cannot run the item. */
#define HEDDLE_POOL_CANNOT INT_MIN
/** Gain on a class of which nothing is known yet: it comes first, to be tried. */
#define HEDDLE_POOL_UNKNOWN INT_MAX
/** Gain of what no other class can do: a speedup without bound. */
#define HEDDLE_POOL_ALONE 1000000
/** Cost of which nothing is known; it adds nothing to the load. */
#define HEDDLE_POOL_NO_COST INT_MIN

/** Tags: whether one worker's answer about an item holds for its queue. */
#define HEDDLE_POOL_UNIFORM 0UL       /**< it does, whatever the worker's number */
#define HEDDLE_POOL_INDIVIDUAL (~0UL) /**< no: every item is asked about */

/** Items with equal keys share a queue. */
struct heddle_pool_key {
	int priority;                  /**< higher first */
	int rank;                      /**< of equal priority, higher first */
	int gain[HEDDLE_POOL_CLASSES]; /**< heddle_pool_gain(), or one of the above */
	int cost[HEDDLE_POOL_CLASSES]; /**< heddle_pool_cost(), or NO_COST */
	/** Task type: its items' gains and costs change together. 0: they do not change. Items of
	 * one type that the same classes can run share a queue, whatever their gains and costs:
	 * those of the item pushed last hold for all. */
	unsigned long type;
	/** UNIFORM, INDIVIDUAL, or a number that says on which workers the items
	 * may run: a worker that is refused one item of such a queue is refused
	 * them all. */
	unsigned long tag;
};

/** A ready item and its queue. */
struct heddle_pool_entry {
	void *item;
	struct heddle_pool_key key;
	double since_us; /**< when it was pushed, by the caller's clock; 0 if nobody said */
	unsigned home;   /**< memory that has the most of its data; 0: none in particular */
};

/** Whether a worker may take an item of its class. */
typedef bool (*heddle_pool_accept)(void *item, void *arg);

struct heddle_pool;

/** Gain of an item that a class of devices runs `speedup` times as fast as the reference:
 * 8 log2(speedup), rounded, so that measured speedups do not each found a queue
 * of their own. NaN gives HEDDLE_POOL_UNKNOWN. */
int heddle_pool_gain(double speedup);

/** Cost of an item that takes so many µs: 8 log2(us), rounded; HEDDLE_POOL_NO_COST for
 * what is not above 0. */
int heddle_pool_cost(double us);

/** The time that a cost stands for, µs; 0 for HEDDLE_POOL_NO_COST. */
double heddle_pool_us(int cost);

/** A key of priority 0 that no class can run, without cost and type. */
void heddle_pool_key_init(struct heddle_pool_key *key);

/** Whether a class can run items of that queue. */
static inline bool heddle_pool_key_runs(const struct heddle_pool_key *key, unsigned class)
{
	return key->gain[class] != HEDDLE_POOL_CANNOT;
}

/** @return 0 or -ENOMEM */
int heddle_pool_create(struct heddle_pool **pool);

/** Items still in it are forgotten. NULL is allowed. */
void heddle_pool_destroy(struct heddle_pool *pool);

/** Adds an item at the end of its queue.
 * @return 0; -ENOMEM, the pool is as before. */
int heddle_pool_push(struct heddle_pool *pool, void *item, const struct heddle_pool_key *key);

/** The same, keeping time and home for who asks. */
int heddle_pool_push_entry(struct heddle_pool *pool, const struct heddle_pool_entry *entry);

/** Adds an item whose key is that of the one pushed last.
 * @return 0, -ENOMEM; -ENOENT where that queue is not known any more */
int heddle_pool_push_like_last(struct heddle_pool *pool, void *item, double since_us);

/** Takes the best item that a class can run and `accept` agrees to.
 * @param least nothing of a lower priority
 * @param accept NULL: every item
 * @param[out] entry the item and its queue, set on success
 * @return whether there was one */
bool heddle_pool_pop(struct heddle_pool *pool, unsigned class, int least, heddle_pool_accept accept,
                     void *arg, struct heddle_pool_entry *entry);

/** Priority of the item that heddle_pool_pop() would take.
 * @param[out] priority set when there is one
 * @return whether there is one */
bool heddle_pool_priority(const struct heddle_pool *pool, unsigned class, heddle_pool_accept accept,
                          void *arg, int *priority);

/** So many items with another home are passed over. */
#define HEDDLE_POOL_WINDOW 16
/** So many items are looked at for the one that costs the least. */
#define HEDDLE_POOL_LOOKS 512

/** What a worker asks for. */
struct heddle_pool_query {
	unsigned class;
	int least; /**< nothing of a lower priority */
	/** The worker's memory: the best item is the first one whose home is there or nowhere;
	 * where the first HEDDLE_POOL_WINDOW are elsewhere, the first of all. 0: homes do not
	 * count. */
	unsigned home;
	/** Whether the worker wants anything of a queue, whose oldest item is that and was pushed
	 * then; NULL: of every queue. */
	bool (*admit)(const struct heddle_pool_key *key, void *oldest, double since_us, void *arg);
	/** Whether it may take an item; NULL: every item. */
	heddle_pool_accept accept;
	/** What an item costs the worker beside its time: the best one is that of the least, of
	 * those whose home is there or nowhere, among the first HEDDLE_POOL_LOOKS. Beyond `most` it
	 * need not be exact. NULL: such costs do not count. */
	size_t (*cost)(void *item, size_t most, void *arg);
	void *arg; /**< for all three */
};

/** Where an item lies, until the pool changes. */
struct heddle_pool_place {
	struct queue *queue;
	size_t index;
};

/** Finds the best item that answers a query.
 * @param[out] place set on success
 * @return its queue, as long as the pool does not change; NULL when there is none */
const struct heddle_pool_key *heddle_pool_find(const struct heddle_pool *pool,
                                               const struct heddle_pool_query *query,
                                               struct heddle_pool_place *place);

/** A walk through all items, by priority and rank; zero-initialise. */
struct heddle_pool_walk {
	size_t queue, item;
};

/** The next item of a walk. The pool does not change meanwhile.
 * @param[out] place set on success
 * @return its queue; NULL at the end */
const struct heddle_pool_key *heddle_pool_next(const struct heddle_pool *pool,
                                               struct heddle_pool_walk *walk,
                                               struct heddle_pool_place *place);

/** The item at a place. */
void *heddle_pool_at(const struct heddle_pool_place *place);

/** The home of the item at a place. */
unsigned heddle_pool_home(const struct heddle_pool_place *place);

/** Whether a worker of a memory leaves an item to those of its home, if it can. */
static inline bool heddle_pool_is_far(unsigned home, unsigned memory)
{
	return home && memory && home != memory;
}

/** Takes the item at a place out. */
void heddle_pool_take(struct heddle_pool *pool, const struct heddle_pool_place *place,
                      struct heddle_pool_entry *entry);

/** Changes the estimates of a type.
 * @param value sets gain and cost of a key of the type, where the class can run it; no more */
void heddle_pool_revalue(struct heddle_pool *pool, unsigned long type,
                         void (*value)(struct heddle_pool_key *key, void *arg), void *arg);

/** Time that one worker of a class would need for all items that it can run, µs,
 * as far as their costs are known. */
double heddle_pool_load(const struct heddle_pool *pool, unsigned class);

/** The part of it that a class prefers to the items of a queue: what it gains at least as
 * much from, these items included, and what is of higher priority. Where there are more
 * than some hundred queues, all that it can run.
 * @param each_us what an item takes beside its cost */
double heddle_pool_load_above(const struct heddle_pool *pool, unsigned class,
                              const struct heddle_pool_key *key, double each_us);

/** Number of items. */
size_t heddle_pool_count(const struct heddle_pool *pool);

#endif
