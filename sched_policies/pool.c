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

/* Empty queues are kept, since the same ones come back all the time; beyond
 * this many they are freed. */
#define QUEUES_KEPT 1024
/* Queuees that are looked at one by one to add up their loads. */
#define QUEUES_ADDED 256
/* A queue that has given so many items goes behind those that are as good: it may never be empty,
 * and what lies there would wait for ever. */
#define TURN 1024

/* Costs nearer to 0 stand for times that are no subnormal numbers. */
#define MOST_QUICKLY 8000

/* The order of all queues, whoever can run them. */
#define ALL HEDDLE_POOL_CLASSES

struct item {
	void *item;
	double since_us;
	unsigned home;
};

struct queue {
	struct heddle_pool_key key;
	double us[HEDDLE_POOL_CLASSES]; /* its costs */
	bool costs;                     /* any */
	bool moves;                     /* its gains have changed, and its place has not */
	unsigned nclasses;              /* that can run it */
	uint64_t serial;                /* they are founded in this order, or have had their turn */
	unsigned turn;                  /* items that it has given since then */
	uint64_t hash;
	struct queue *next; /* in its bucket */
	struct ring items;  /* of struct item */
};

struct order {
	struct queue **queues; /* non-empty and heddle_pool.emptied, best first */
	size_t n, room;
};

struct heddle_pool {
	struct order orders[HEDDLE_POOL_CLASSES + 1]; /* the last one of all queues */
	struct order moved; /* while queues move; room for those of any order */
	struct queue **buckets;
	struct queue *last;    /* that was looked up: most items are of the queue before */
	struct queue *emptied; /* just now, and still listed: tasks of a chain come and go */
	size_t nbuckets;       /* a power of two */
	size_t nqueues, count;
	uint64_t serial;
	double load[HEDDLE_POOL_CLASSES];
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
	/* exp2(i / 8.) */
	static const double steps[] = {0x1p+0,
	                               0x1.172b83c7d517bp+0,
	                               0x1.306fe0a31b715p+0,
	                               0x1.4bfdad5362a27p+0,
	                               0x1.6a09e667f3bcdp+0,
	                               0x1.8ace5422aa0dbp+0,
	                               0x1.ae89f995ad3adp+0,
	                               0x1.d5818dcfba487p+0};
	double us;
	uint64_t bits;

	if (cost == HEDDLE_POOL_NO_COST)
		return 0;
	if (cost <= -MOST_QUICKLY || cost >= MOST_QUICKLY)
		return exp2(cost / 8.);
	memcpy(&bits, &steps[cost & 7], sizeof(bits));
	bits += (uint64_t)(cost >> 3) << 52;
	memcpy(&us, &bits, sizeof(us));
	return us;
}

void heddle_pool_key_init(struct heddle_pool_key *key)
{
	memset(key, 0, sizeof(*key)); /* padding too: keys are compared as memory */
	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++) {
		key->gain[k] = HEDDLE_POOL_CANNOT;
		key->cost[k] = HEDDLE_POOL_NO_COST;
	}
}

/* The classes that can run it. */
static uint64_t key_classes(const struct heddle_pool_key *key)
{
	uint64_t classes = 0;

	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		classes |= (uint64_t)heddle_pool_key_runs(key, k) << k;
	return classes;
}

static uint64_t key_hash(const struct heddle_pool_key *key)
{
	uint64_t hash =
	    ((uint64_t)key->rank << 32 | (uint32_t)key->priority) + key->tag * 0x9e3779b97f4a7c15u;

	if (key->type) {
		hash = (hash ^ key->type) * 0xff51afd7ed558ccdu;
		hash = (hash ^ key_classes(key)) * 0xff51afd7ed558ccdu;
		return hash ^ hash >> 29;
	}
	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		hash = (hash ^ ((uint64_t)key->cost[k] << 32 | (uint32_t)key->gain[k])) *
		       0xff51afd7ed558ccdu;
	return hash ^ hash >> 29;
}

/* A total order, so that a queue is found again by bisection. */
static bool queue_before(const struct queue *a, const struct queue *b, unsigned class)
{
	if (a->key.priority != b->key.priority)
		return a->key.priority > b->key.priority;
	if (class != ALL && a->key.gain[class] != b->key.gain[class])
		return a->key.gain[class] > b->key.gain[class];
	if (a->key.rank != b->key.rank)
		return a->key.rank > b->key.rank;
	if (a->nclasses != b->nclasses)
		return a->nclasses < b->nclasses;
	return a->serial < b->serial;
}

static size_t order_place(const struct order *order, const struct queue *queue, unsigned class)
{
	size_t low = 0, high = order->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (queue_before(order->queues[middle], queue, class))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int order_reserve(struct order *order)
{
	size_t room = order->room ? 2 * order->room : 16;
	struct queue **queues;

	if (order->n < order->room)
		return 0;
	queues = realloc(order->queues, room * sizeof(*queues));
	if (!queues)
		return -ENOMEM;
	order->queues = queues;
	order->room = room;
	return 0;
}

static void order_insert(struct order *order, struct queue *queue, unsigned class)
{
	size_t place = order_place(order, queue, class);

	memmove(order->queues + place + 1, order->queues + place,
	        (order->n - place) * sizeof(*order->queues));
	order->queues[place] = queue;
	order->n++;
}

static void order_remove(struct order *order, const struct queue *queue, unsigned class)
{
	size_t place = order_place(order, queue, class);

	order->n--;
	memmove(order->queues + place, order->queues + place + 1,
	        (order->n - place) * sizeof(*order->queues));
}

static bool is_listed(const struct queue *queue, unsigned order)
{
	return order == ALL || heddle_pool_key_runs(&queue->key, order);
}

/* All or nothing: a queue that is listed for one class is listed for all. */
static int queue_list(struct heddle_pool *pool, struct queue *queue)
{
	for (unsigned k = 0; k <= ALL; k++)
		if (is_listed(queue, k) && order_reserve(&pool->orders[k]))
			return -ENOMEM;
	pool->moved.n = pool->orders[ALL].n;
	if (order_reserve(&pool->moved))
		return -ENOMEM;
	for (unsigned k = 0; k <= ALL; k++)
		if (is_listed(queue, k))
			order_insert(&pool->orders[k], queue, k);
	return 0;
}

static void queue_unlist(struct heddle_pool *pool, struct queue *queue)
{
	for (unsigned k = 0; k <= ALL; k++)
		if (is_listed(queue, k))
			order_remove(&pool->orders[k], queue, k);
}

static void emptied_unlist(struct heddle_pool *pool)
{
	if (pool->emptied)
		queue_unlist(pool, pool->emptied);
	pool->emptied = NULL;
}

/* Lists a queue that is to get its first item. */
static int queue_fill(struct heddle_pool *pool, struct queue *queue)
{
	if (queue != pool->emptied)
		return queue_list(pool, queue);
	pool->emptied = NULL;
	return 0;
}

static int buckets_grow(struct heddle_pool *pool)
{
	size_t nbuckets = pool->nbuckets ? 2 * pool->nbuckets : 64;
	struct queue **buckets = calloc(nbuckets, sizeof(*buckets));

	if (!buckets)
		return -ENOMEM;
	for (size_t b = 0; b < pool->nbuckets; b++)
		for (struct queue *queue = pool->buckets[b], *next; queue; queue = next) {
			struct queue **head = &buckets[queue->hash & (nbuckets - 1)];

			next = queue->next;
			queue->next = *head;
			*head = queue;
		}
	free(pool->buckets);
	pool->buckets = buckets;
	pool->nbuckets = nbuckets;
	return 0;
}

static void queues_sweep(struct heddle_pool *pool, bool all)
{
	pool->last = NULL;
	emptied_unlist(pool);
	for (size_t b = 0; b < pool->nbuckets; b++)
		for (struct queue **link = &pool->buckets[b]; *link;) {
			struct queue *queue = *link;

			if (ring_count(&queue->items) && !all) {
				link = &queue->next;
				continue;
			}
			*link = queue->next;
			ring_free(&queue->items);
			free(queue);
			pool->nqueues--;
		}
}

static void queue_value(struct queue *queue, const struct heddle_pool_key *key)
{
	queue->key = *key;
	queue->costs = false;
	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++) {
		queue->us[k] = heddle_pool_key_runs(key, k) ? heddle_pool_us(key->cost[k]) : 0;
		queue->costs = queue->costs || queue->us[k] > 0;
	}
}

static struct queue *queue_found(struct heddle_pool *pool, const struct heddle_pool_key *key,
                                 uint64_t hash)
{
	struct queue *queue;

	if (pool->nqueues >= QUEUES_KEPT && pool->count < pool->nqueues / 2)
		queues_sweep(pool, false);
	if (pool->nqueues >= pool->nbuckets && buckets_grow(pool))
		return NULL;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return NULL;
	queue_value(queue, key);
	queue->hash = hash;
	queue->serial = pool->serial++;
	ring_init(&queue->items, sizeof(struct item));
	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		queue->nclasses += heddle_pool_key_runs(key, k);
	queue->next = pool->buckets[hash & (pool->nbuckets - 1)];
	pool->buckets[hash & (pool->nbuckets - 1)] = queue;
	pool->nqueues++;
	return queue;
}

static bool key_same_value(const struct heddle_pool_key *a, const struct heddle_pool_key *b)
{
	return !memcmp(a->gain, b->gain, sizeof(a->gain)) &&
	       !memcmp(a->cost, b->cost, sizeof(a->cost));
}

static bool key_equal(const struct heddle_pool_key *a, const struct heddle_pool_key *b)
{
	if (a->priority != b->priority || a->rank != b->rank || a->tag != b->tag ||
	    a->type != b->type)
		return false;
	return key_same_value(a, b) || (a->type && key_classes(a) == key_classes(b));
}

static struct queue *queue_get(struct heddle_pool *pool, const struct heddle_pool_key *key)
{
	struct queue *queue = pool->last;
	uint64_t hash;

	if (queue && key_equal(&queue->key, key))
		return queue;
	hash = key_hash(key);
	queue = pool->buckets[hash & (pool->nbuckets - 1)];
	while (queue && !(queue->hash == hash && key_equal(&queue->key, key)))
		queue = queue->next;
	if (!queue)
		queue = queue_found(pool, key, hash);
	pool->last = queue;
	return queue;
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
	queues_sweep(pool, true);
	for (unsigned k = 0; k <= ALL; k++)
		free(pool->orders[k].queues);
	free(pool->moved.queues);
	free(pool->buckets);
	free(pool);
}

/* Adds (or takes off) the costs of n items of a queue. */
static void load_add(struct heddle_pool *pool, const struct queue *queue, double n)
{
	double *restrict load = pool->load;
	const double *restrict us = queue->us;

	if (!queue->costs)
		return;
	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		load[k] += n * us[k];
}

/* Gives a queue another place; it keeps its classes, so there is room for it. */
static void queue_move(struct heddle_pool *pool, struct queue *queue,
                       const struct heddle_pool_key *key)
{
	size_t n = ring_count(&queue->items);

	if (queue == pool->emptied)
		emptied_unlist(pool);
	if (n) {
		load_add(pool, queue, -(double)n);
		queue_unlist(pool, queue);
	}
	queue_value(queue, key);
	if (n) {
		load_add(pool, queue, n);
		queue_list(pool, queue);
	}
}

static int queue_push(struct heddle_pool *pool, struct queue *queue, const struct item *item)
{
	if (ring_reserve(&queue->items) || (!ring_count(&queue->items) && queue_fill(pool, queue)))
		return -ENOMEM;
	ring_push(&queue->items, item);
	load_add(pool, queue, 1);
	pool->count++;
	return 0;
}

int heddle_pool_push_entry(struct heddle_pool *pool, const struct heddle_pool_entry *entry)
{
	const struct heddle_pool_key *key = &entry->key;
	struct queue *queue = queue_get(pool, key);

	if (!queue)
		return -ENOMEM;
	if (key->type && !key_same_value(&queue->key, key))
		queue_move(pool, queue, key);
	return queue_push(pool, queue, &(struct item){entry->item, entry->since_us, entry->home});
}

int heddle_pool_push_like_last(struct heddle_pool *pool, void *item, double since_us)
{
	return pool->last ? queue_push(pool, pool->last, &(struct item){item, since_us, 0})
	                  : -ENOENT;
}

int heddle_pool_push(struct heddle_pool *pool, void *item, const struct heddle_pool_key *key)
{
	return heddle_pool_push_entry(pool, &(struct heddle_pool_entry){.item = item, .key = *key});
}

/* Takes the queues that move out of an order. Mostly they keep their order among themselves. */
static void order_split(struct order *order, struct order *moved, unsigned class)
{
	size_t kept = 0;

	moved->n = 0;
	for (size_t i = 0; i < order->n; i++) {
		struct queue *queue = order->queues[i];
		size_t place = moved->n;

		if (!queue->moves) {
			order->queues[kept++] = queue;
			continue;
		}
		for (; place && queue_before(queue, moved->queues[place - 1], class); place--)
			moved->queues[place] = moved->queues[place - 1];
		moved->queues[place] = queue;
		moved->n++;
	}
	order->n = kept;
}

/* Puts them back, the last one first. */
static void order_merge(struct order *order, const struct order *moved, unsigned class)
{
	size_t kept = order->n, left = moved->n;

	order->n += left;
	while (left) {
		struct queue *queue = moved->queues[left - 1];

		if (kept && queue_before(queue, order->queues[kept - 1], class)) {
			order->queues[kept + left - 1] = order->queues[kept - 1];
			kept--;
		} else {
			order->queues[kept + --left] = queue;
		}
	}
}

void heddle_pool_revalue(struct heddle_pool *pool, unsigned long type,
                         void (*value)(struct heddle_pool_key *key, void *arg), void *arg)
{
	const struct order *all = &pool->orders[ALL];
	bool any = false;

	/* In this order a queue keeps its place. Empty ones get their value with the next item. */
	for (size_t i = 0; i < all->n; i++) {
		struct queue *queue = all->queues[i];
		struct heddle_pool_key key = queue->key;

		queue->moves = false;
		if (key.type != type || !ring_count(&queue->items))
			continue;
		value(&key, arg);
		if (key_same_value(&queue->key, &key))
			continue;
		load_add(pool, queue, -(double)ring_count(&queue->items));
		queue_value(queue, &key);
		load_add(pool, queue, ring_count(&queue->items));
		any = queue->moves = true;
	}
	for (unsigned k = 0; any && k < ALL; k++) {
		order_split(&pool->orders[k], &pool->moved, k);
		order_merge(&pool->orders[k], &pool->moved, k);
	}
}

static struct item *queue_item(const struct queue *queue, size_t i)
{
	return ring_at(&queue->items, i);
}

/* Place of the first item of a queue from one on that is accepted, or the queue's length. */
static size_t queue_search(const struct queue *queue, size_t from, heddle_pool_accept accept,
                           void *arg)
{
	size_t n = ring_count(&queue->items);

	for (size_t i = from; accept && i < n; i++) {
		if (accept(queue_item(queue, i)->item, arg))
			return i;
		if (queue->key.tag != HEDDLE_POOL_INDIVIDUAL)
			return n;
	}
	return accept ? n : from;
}

/* What has been found so far. */
struct finding {
	const struct heddle_pool_query *query;
	struct heddle_pool_place *place;
	const struct heddle_pool_key *key;
	unsigned passed; /* items with another home */
	unsigned looked; /* at the cost of so many items */
	size_t least;    /* cost of the best of these */
	bool far;        /* that has another home */
};

/* Looks into a queue. @return whether the search has ended */
static bool queue_find(struct queue *queue, struct finding *finding)
{
	const struct heddle_pool_query *query = finding->query;
	size_t n = ring_count(&queue->items);

	for (size_t i = 0; (i = queue_search(queue, i, query->accept, query->arg)) < n; i++) {
		bool far = heddle_pool_is_far(queue_item(queue, i)->home, query->home);

		if (!finding->key || !far) {
			*finding->place = (struct heddle_pool_place){queue, i};
			finding->key = &queue->key;
		}
		if (!far || ++finding->passed == HEDDLE_POOL_WINDOW)
			return true;
	}
	return false;
}

static bool queue_admit(const struct queue *queue, const struct heddle_pool_query *query)
{
	const struct item *oldest = queue_item(queue, 0);

	return !query->admit ||
	       query->admit(&queue->key, oldest->item, oldest->since_us, query->arg);
}

/* The same where costs count. What is no better need not be admitted. */
static bool queue_find_least(struct queue *queue, struct finding *finding)
{
	const struct heddle_pool_query *query = finding->query;
	size_t n = ring_count(&queue->items);
	bool admitted = false;

	for (size_t i = 0; (i = queue_search(queue, i, query->accept, query->arg)) < n; i++) {
		bool far = heddle_pool_is_far(queue_item(queue, i)->home, query->home);
		size_t most = finding->far == far ? finding->least : SIZE_MAX;
		size_t cost = query->cost(queue_item(queue, i)->item, most, query->arg);

		if (!finding->key || (finding->far && !far) ||
		    (finding->far == far && cost < finding->least)) {
			admitted = admitted || queue_admit(queue, query);
			if (!admitted)
				return ++finding->looked >= HEDDLE_POOL_LOOKS && finding->key;
			*finding->place = (struct heddle_pool_place){queue, i};
			finding->key = &queue->key;
			finding->least = cost;
			finding->far = far;
		}
		if ((!cost && !far) || ++finding->looked >= HEDDLE_POOL_LOOKS)
			return true;
	}
	return false;
}

const struct heddle_pool_key *heddle_pool_find(const struct heddle_pool *pool,
                                               const struct heddle_pool_query *query,
                                               struct heddle_pool_place *place)
{
	const struct order *order = &pool->orders[query->class];
	struct finding finding = {.query = query, .place = place, .least = SIZE_MAX};

	for (size_t c = 0; c < order->n && order->queues[c]->key.priority >= query->least; c++) {
		struct queue *queue = order->queues[c];

		if (!ring_count(&queue->items) || (!query->cost && !queue_admit(queue, query)))
			continue;
		if ((query->cost ? queue_find_least : queue_find)(queue, &finding))
			break;
	}
	return finding.key;
}

const struct heddle_pool_key *heddle_pool_next(const struct heddle_pool *pool,
                                               struct heddle_pool_walk *walk,
                                               struct heddle_pool_place *place)
{
	const struct order *order = &pool->orders[ALL];

	for (; walk->queue < order->n; walk->queue++, walk->item = 0) {
		struct queue *queue = order->queues[walk->queue];

		if (walk->item == ring_count(&queue->items))
			continue;
		*place = (struct heddle_pool_place){queue, walk->item++};
		return &queue->key;
	}
	return NULL;
}

void *heddle_pool_at(const struct heddle_pool_place *place)
{
	return queue_item(place->queue, place->index)->item;
}

unsigned heddle_pool_home(const struct heddle_pool_place *place)
{
	return queue_item(place->queue, place->index)->home;
}

/* A queue, which is not empty, gives an item. */
static void queue_gives(struct heddle_pool *pool, struct queue *queue)
{
	if (++queue->turn < TURN)
		return;
	queue_unlist(pool, queue);
	queue->turn = 0;
	queue->serial = pool->serial++;
	queue_list(pool, queue); /* there is room for it */
}

void heddle_pool_take(struct heddle_pool *pool, const struct heddle_pool_place *place,
                      struct heddle_pool_entry *entry)
{
	struct queue *queue = place->queue;

	entry->item = heddle_pool_at(place);
	entry->home = heddle_pool_home(place);
	entry->since_us = queue_item(queue, place->index)->since_us;
	entry->key = queue->key;
	queue_gives(pool, queue);
	ring_remove(&queue->items, place->index);
	load_add(pool, queue, -1);
	if (!--pool->count) /* what rounding has left */
		memset(pool->load, 0, sizeof(pool->load));
	if (ring_count(&queue->items))
		return;
	emptied_unlist(pool);
	pool->emptied = queue;
}

bool heddle_pool_pop(struct heddle_pool *pool, unsigned class, int least, heddle_pool_accept accept,
                     void *arg, struct heddle_pool_entry *entry)
{
	struct heddle_pool_query query = {
	    .class = class, .least = least, .accept = accept, .arg = arg};
	struct heddle_pool_place place;

	if (!heddle_pool_find(pool, &query, &place))
		return false;
	heddle_pool_take(pool, &place, entry);
	return true;
}

bool heddle_pool_priority(const struct heddle_pool *pool, unsigned class, heddle_pool_accept accept,
                          void *arg, int *priority)
{
	struct heddle_pool_query query = {
	    .class = class, .least = INT_MIN, .accept = accept, .arg = arg};
	struct heddle_pool_place place;
	const struct heddle_pool_key *key = heddle_pool_find(pool, &query, &place);

	if (key)
		*priority = key->priority;
	return key;
}

double heddle_pool_load(const struct heddle_pool *pool, unsigned class)
{
	return pool->load[class] > 0 ? pool->load[class] : 0;
}

double heddle_pool_load_above(const struct heddle_pool *pool, unsigned class,
                              const struct heddle_pool_key *key, double each_us)
{
	const struct order *order = &pool->orders[class];
	double load = 0;

	if (order->n > QUEUES_ADDED)
		return heddle_pool_load(pool, class) + each_us * pool->count;
	for (size_t c = 0; c < order->n; c++) {
		const struct queue *queue = order->queues[c];

		if (ring_count(&queue->items) && (queue->key.priority > key->priority ||
		                                  queue->key.gain[class] >= key->gain[class]))
			load += (queue->us[class] + each_us) * ring_count(&queue->items);
	}
	return load;
}

size_t heddle_pool_count(const struct heddle_pool *pool)
{
	return pool->count;
}
