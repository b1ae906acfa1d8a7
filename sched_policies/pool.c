/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sched_policies/pool.h"
#include "sched_policies/ring.h"

/* Empty classes are kept, since the same ones come back all the time; beyond
 * this many they are freed. */
#define CLASSES_KEPT 1024
/* Classes that are looked at one by one to add up their loads. */
#define CLASSES_ADDED 256

struct item {
	void *item;
	double since_us;
};

struct class
{
	struct heddle_pool_key key;
	double us[HEDDLE_POOL_NKINDS]; /* its costs */
	bool costs;                    /* any */
	unsigned nkinds;               /* that can run it */
	uint64_t serial;               /* classes are founded in this order */
	uint64_t hash;
	struct class *next; /* in its bucket */
	struct ring items;  /* of struct item */
};

struct order {
	struct class **classes; /* non-empty and heddle_pool.emptied, best first */
	size_t n, room;
};

struct heddle_pool {
	struct order orders[HEDDLE_POOL_NKINDS];
	struct class **buckets;
	struct class *last;    /* that was looked up: most items are of the class before */
	struct class *emptied; /* just now, and still listed: tasks of a chain come and go */
	size_t nbuckets;       /* a power of two */
	size_t nclasses, count;
	uint64_t serial;
	double load[HEDDLE_POOL_NKINDS];
};

int heddle_pool_gain(double speedup)
{
	double gain = rint(8 * log2(speedup));

	if (isnan(speedup))
		return HEDDLE_POOL_UNKNOWN;
	/* Zero and infinity end here, apart from the two special values. */
	if (!(gain > -HEDDLE_POOL_ALONE))
		return -HEDDLE_POOL_ALONE;
	return gain < HEDDLE_POOL_ALONE ? (int)gain : HEDDLE_POOL_ALONE;
}

int heddle_pool_cost(double us)
{
	return us > 0 ? heddle_pool_gain(us) : HEDDLE_POOL_NO_COST;
}

double heddle_pool_us(int cost)
{
	return cost == HEDDLE_POOL_NO_COST ? 0 : exp2(cost / 8.);
}

void heddle_pool_key_init(struct heddle_pool_key *key)
{
	memset(key, 0, sizeof(*key)); /* padding too: keys are compared as memory */
	for (unsigned k = 0; k < HEDDLE_POOL_NKINDS; k++) {
		key->gain[k] = HEDDLE_POOL_CANNOT;
		key->cost[k] = HEDDLE_POOL_NO_COST;
	}
}

/* The kinds that can run it. */
static uint64_t key_kinds(const struct heddle_pool_key *key)
{
	uint64_t kinds = 0;

	for (unsigned k = 0; k < HEDDLE_POOL_NKINDS; k++)
		kinds |= (uint64_t)heddle_pool_key_runs(key, k) << k;
	return kinds;
}

static uint64_t key_hash(const struct heddle_pool_key *key)
{
	uint64_t hash = (uint32_t)key->priority + key->tag * 0x9e3779b97f4a7c15u;

	if (key->family) {
		hash = (hash ^ key->family) * 0xff51afd7ed558ccdu;
		hash = (hash ^ key_kinds(key)) * 0xff51afd7ed558ccdu;
		return hash ^ hash >> 29;
	}
	for (unsigned k = 0; k < HEDDLE_POOL_NKINDS; k++)
		hash = (hash ^ ((uint64_t)key->cost[k] << 32 | (uint32_t)key->gain[k])) *
		       0xff51afd7ed558ccdu;
	return hash ^ hash >> 29;
}

/* A total order, so that a class is found again by bisection. */
static bool class_before(const struct class *a, const struct class *b, unsigned kind)
{
	if (a->key.priority != b->key.priority)
		return a->key.priority > b->key.priority;
	if (a->key.gain[kind] != b->key.gain[kind])
		return a->key.gain[kind] > b->key.gain[kind];
	if (a->nkinds != b->nkinds)
		return a->nkinds < b->nkinds;
	return a->serial < b->serial;
}

static size_t order_place(const struct order *order, const struct class *class, unsigned kind)
{
	size_t low = 0, high = order->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (class_before(order->classes[middle], class, kind))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int order_reserve(struct order *order)
{
	size_t room = order->room ? 2 * order->room : 16;
	struct class **classes;

	if (order->n < order->room)
		return 0;
	classes = realloc(order->classes, room * sizeof(*classes));
	if (!classes)
		return -ENOMEM;
	order->classes = classes;
	order->room = room;
	return 0;
}

static void order_insert(struct order *order, struct class *class, unsigned kind)
{
	size_t place = order_place(order, class, kind);

	memmove(order->classes + place + 1, order->classes + place,
	        (order->n - place) * sizeof(*order->classes));
	order->classes[place] = class;
	order->n++;
}

static void order_remove(struct order *order, const struct class *class, unsigned kind)
{
	size_t place = order_place(order, class, kind);

	order->n--;
	memmove(order->classes + place, order->classes + place + 1,
	        (order->n - place) * sizeof(*order->classes));
}

/* All or nothing: a class that is listed for one kind is listed for all. */
static int class_list(struct heddle_pool *pool, struct class *class)
{
	for (unsigned k = 0; k < HEDDLE_POOL_NKINDS; k++)
		if (heddle_pool_key_runs(&class->key, k) && order_reserve(&pool->orders[k]))
			return -ENOMEM;
	for (unsigned k = 0; k < HEDDLE_POOL_NKINDS; k++)
		if (heddle_pool_key_runs(&class->key, k))
			order_insert(&pool->orders[k], class, k);
	return 0;
}

static void class_unlist(struct heddle_pool *pool, struct class *class)
{
	for (unsigned k = 0; k < HEDDLE_POOL_NKINDS; k++)
		if (heddle_pool_key_runs(&class->key, k))
			order_remove(&pool->orders[k], class, k);
}

static void emptied_unlist(struct heddle_pool *pool)
{
	if (pool->emptied)
		class_unlist(pool, pool->emptied);
	pool->emptied = NULL;
}

/* Lists a class that is to get its first item. */
static int class_fill(struct heddle_pool *pool, struct class *class)
{
	if (class != pool->emptied)
		return class_list(pool, class);
	pool->emptied = NULL;
	return 0;
}

static int buckets_grow(struct heddle_pool *pool)
{
	size_t nbuckets = pool->nbuckets ? 2 * pool->nbuckets : 64;
	struct class **buckets = calloc(nbuckets, sizeof(*buckets));

	if (!buckets)
		return -ENOMEM;
	for (size_t b = 0; b < pool->nbuckets; b++)
		for (struct class *class = pool->buckets[b], *next; class; class = next) {
			struct class **head = &buckets[class->hash & (nbuckets - 1)];

			next = class->next;
			class->next = *head;
			*head = class;
		}
	free(pool->buckets);
	pool->buckets = buckets;
	pool->nbuckets = nbuckets;
	return 0;
}

static void classes_sweep(struct heddle_pool *pool, bool all)
{
	pool->last = NULL;
	emptied_unlist(pool);
	for (size_t b = 0; b < pool->nbuckets; b++)
		for (struct class **link = &pool->buckets[b]; *link;) {
			struct class *class = *link;

			if (ring_count(&class->items) && !all) {
				link = &class->next;
				continue;
			}
			*link = class->next;
			ring_free(&class->items);
			free(class);
			pool->nclasses--;
		}
}

static void class_value(struct class *class, const struct heddle_pool_key *key)
{
	class->key = *key;
	class->costs = false;
	for (unsigned k = 0; k < HEDDLE_POOL_NKINDS; k++) {
		class->us[k] = heddle_pool_key_runs(key, k) ? heddle_pool_us(key->cost[k]) : 0;
		class->costs = class->costs || class->us[k] > 0;
	}
}

static struct class *class_found(struct heddle_pool *pool, const struct heddle_pool_key *key,
                                 uint64_t hash)
{
	struct class *class;

	if (pool->nclasses >= CLASSES_KEPT && pool->count < pool->nclasses / 2)
		classes_sweep(pool, false);
	if (pool->nclasses >= pool->nbuckets && buckets_grow(pool))
		return NULL;
	class = calloc(1, sizeof(*class));
	if (!class)
		return NULL;
	class_value(class, key);
	class->hash = hash;
	class->serial = pool->serial++;
	ring_init(&class->items, sizeof(struct item));
	for (unsigned k = 0; k < HEDDLE_POOL_NKINDS; k++)
		class->nkinds += heddle_pool_key_runs(key, k);
	class->next = pool->buckets[hash & (pool->nbuckets - 1)];
	pool->buckets[hash & (pool->nbuckets - 1)] = class;
	pool->nclasses++;
	return class;
}

static bool key_same_value(const struct heddle_pool_key *a, const struct heddle_pool_key *b)
{
	return !memcmp(a->gain, b->gain, sizeof(a->gain)) &&
	       !memcmp(a->cost, b->cost, sizeof(a->cost));
}

static bool key_equal(const struct heddle_pool_key *a, const struct heddle_pool_key *b)
{
	if (a->priority != b->priority || a->tag != b->tag || a->family != b->family)
		return false;
	if (a->family)
		return key_kinds(a) == key_kinds(b);
	return key_same_value(a, b);
}

static struct class *class_get(struct heddle_pool *pool, const struct heddle_pool_key *key)
{
	struct class *class = pool->last;
	uint64_t hash;

	if (class && key_equal(&class->key, key))
		return class;
	hash = key_hash(key);
	class = pool->buckets[hash & (pool->nbuckets - 1)];
	while (class && !(class->hash == hash && key_equal(&class->key, key)))
		class = class->next;
	if (!class)
		class = class_found(pool, key, hash);
	pool->last = class;
	return class;
}

int heddle_pool_create(struct heddle_pool **pool)
{
	struct heddle_pool *created = calloc(1, sizeof(*created));

	if (!created)
		return -ENOMEM;
	if (buckets_grow(created)) {
		free(created);
		return -ENOMEM;
	}
	*pool = created;
	return 0;
}

void heddle_pool_destroy(struct heddle_pool *pool)
{
	if (!pool)
		return;
	classes_sweep(pool, true);
	for (unsigned k = 0; k < HEDDLE_POOL_NKINDS; k++)
		free(pool->orders[k].classes);
	free(pool->buckets);
	free(pool);
}

/* Adds (or takes off) the costs of n items of a class. */
static void load_add(struct heddle_pool *pool, const struct class *class, double n)
{
	for (unsigned k = 0; class->costs && k < HEDDLE_POOL_NKINDS; k++)
		pool->load[k] += n * class->us[k];
}

/* Gives a class another place; it keeps its kinds, so there is room for it. */
static void class_move(struct heddle_pool *pool, struct class *class,
                       const struct heddle_pool_key *key)
{
	size_t n = ring_count(&class->items);

	if (class == pool->emptied)
		emptied_unlist(pool);
	if (n) {
		load_add(pool, class, -(double)n);
		class_unlist(pool, class);
	}
	class_value(class, key);
	if (n) {
		load_add(pool, class, n);
		class_list(pool, class);
	}
}

static int class_push(struct heddle_pool *pool, struct class *class, void *item, double since_us)
{
	struct item pushed = {item, since_us};

	if (ring_reserve(&class->items) || (!ring_count(&class->items) && class_fill(pool, class)))
		return -ENOMEM;
	ring_push(&class->items, &pushed);
	load_add(pool, class, 1);
	pool->count++;
	return 0;
}

int heddle_pool_push_since(struct heddle_pool *pool, void *item, const struct heddle_pool_key *key,
                           double since_us)
{
	struct class *class = class_get(pool, key);

	if (!class)
		return -ENOMEM;
	if (key->family && !key_same_value(&class->key, key))
		class_move(pool, class, key);
	return class_push(pool, class, item, since_us);
}

int heddle_pool_push_like_last(struct heddle_pool *pool, void *item, double since_us)
{
	return pool->last ? class_push(pool, pool->last, item, since_us) : -ENOENT;
}

int heddle_pool_push(struct heddle_pool *pool, void *item, const struct heddle_pool_key *key)
{
	return heddle_pool_push_since(pool, item, key, 0);
}

void heddle_pool_revalue(struct heddle_pool *pool, unsigned long family,
                         void (*value)(struct heddle_pool_key *key, void *arg), void *arg)
{
	for (size_t b = 0; b < pool->nbuckets; b++)
		for (struct class *class = pool->buckets[b]; class; class = class->next) {
			struct heddle_pool_key key = class->key;

			if (key.family != family)
				continue;
			value(&key, arg);
			if (!key_same_value(&class->key, &key))
				class_move(pool, class, &key);
		}
}

static struct item *class_item(const struct class *class, size_t i)
{
	return ring_at(&class->items, i);
}

/* Place of the first item of a class that is accepted, or its length. */
static size_t class_search(const struct class *class, heddle_pool_accept accept, void *arg)
{
	size_t n = ring_count(&class->items);

	for (size_t i = 0; accept && i < n; i++) {
		if (accept(class_item(class, i)->item, arg))
			return i;
		if (class->key.tag != HEDDLE_POOL_INDIVIDUAL)
			return n;
	}
	return accept ? n : 0;
}

const struct heddle_pool_key *heddle_pool_find(const struct heddle_pool *pool,
                                               const struct heddle_pool_query *query,
                                               struct heddle_pool_place *place)
{
	const struct order *order = &pool->orders[query->kind];

	for (size_t c = 0; c < order->n && order->classes[c]->key.priority >= query->least; c++) {
		struct class *class = order->classes[c];
		size_t index;

		if (!ring_count(&class->items))
			continue;
		if (query->admit &&
		    !query->admit(&class->key, class_item(class, 0)->since_us, query->arg))
			continue;
		index = class_search(class, query->accept, query->arg);
		if (index == ring_count(&class->items))
			continue;
		*place = (struct heddle_pool_place){class, index};
		return &class->key;
	}
	return NULL;
}

void *heddle_pool_at(const struct heddle_pool_place *place)
{
	return class_item(place->class, place->index)->item;
}

void heddle_pool_take(struct heddle_pool *pool, const struct heddle_pool_place *place,
                      struct heddle_pool_entry *entry)
{
	struct class *class = place->class;

	entry->item = heddle_pool_at(place);
	entry->since_us = class_item(class, place->index)->since_us;
	entry->key = class->key;
	ring_remove(&class->items, place->index);
	load_add(pool, class, -1);
	if (!--pool->count) /* what rounding has left */
		memset(pool->load, 0, sizeof(pool->load));
	if (ring_count(&class->items))
		return;
	emptied_unlist(pool);
	pool->emptied = class;
}

bool heddle_pool_pop(struct heddle_pool *pool, unsigned kind, int least, heddle_pool_accept accept,
                     void *arg, struct heddle_pool_entry *entry)
{
	struct heddle_pool_query query = {
	    .kind = kind, .least = least, .accept = accept, .arg = arg};
	struct heddle_pool_place place;

	if (!heddle_pool_find(pool, &query, &place))
		return false;
	heddle_pool_take(pool, &place, entry);
	return true;
}

bool heddle_pool_priority(const struct heddle_pool *pool, unsigned kind, heddle_pool_accept accept,
                          void *arg, int *priority)
{
	struct heddle_pool_query query = {
	    .kind = kind, .least = INT_MIN, .accept = accept, .arg = arg};
	struct heddle_pool_place place;
	const struct heddle_pool_key *key = heddle_pool_find(pool, &query, &place);

	if (key)
		*priority = key->priority;
	return key;
}

double heddle_pool_load(const struct heddle_pool *pool, unsigned kind)
{
	return pool->load[kind] > 0 ? pool->load[kind] : 0;
}

double heddle_pool_load_above(const struct heddle_pool *pool, unsigned kind,
                              const struct heddle_pool_key *key)
{
	const struct order *order = &pool->orders[kind];
	double load = 0;

	if (order->n > CLASSES_ADDED)
		return heddle_pool_load(pool, kind);
	for (size_t c = 0; c < order->n; c++) {
		const struct class *class = order->classes[c];

		if (ring_count(&class->items) && (class->key.priority > key->priority ||
		                                  class->key.gain[kind] >= key->gain[kind]))
			load += class->us[kind] * ring_count(&class->items);
	}
	return load;
}

size_t heddle_pool_count(const struct heddle_pool *pool)
{
	return pool->count;
}
