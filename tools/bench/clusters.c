/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "partition/mpi/demand.h"
#include "sched_policies/gain.h"
#include "sched_policies/pool.h"
#include "tools/bench/clusters.h"

/* One filter reads the labels of tiles: those of the start are small, what it sends is large. */
enum { TILES, STREAMS };
/* Classes of processors in a node's pool. */
enum { CORE, GPU, CLASSES };
/* A class that was never tried may need so many times as long as the other. */
#define TRIAL_FACTOR 64
#define MAXWORKERS 2
/* Tiles that are copied to a GPU while it computes another. */
#define AHEAD 4

static const enum heddle_kind kinds[CLASSES] = {HEDDLE_KIND_CPU, HEDDLE_KIND_CUDA};

/* A tile at a node. */
struct tile {
	struct queues_event event;
	unsigned size;
	double since_us;   /* when it came into the pool */
	struct tile *next; /* in the list of spare ones */
};

struct worker {
	unsigned class;
	struct tile *tile; /* that it computes … */
	double until_us;   /* … until then */
	unsigned nahead;   /* tiles that are copied meanwhile, … */
	struct tile *ahead[AHEAD];
	double copied_us[AHEAD]; /* … and when they are there */
	double idle_us;          /* since when it leaves tiles to the other class; 0: it does not */
	double busy_us;          /* in all */
};

struct node {
	struct world *world;
	unsigned number, nworkers;
	struct worker workers[MAXWORKERS];
	unsigned capacities[1][HEDDLE_NKINDS];
	struct queues *queues;
	struct mpi_gains *gains;
	struct mpi_demand *demand;
	struct heddle_pool *pool;
	struct tile *spare;
	double us[CLUSTER_SIZES][CLASSES]; /* measured; 0: not yet */
	double out_us, in_us, bus_us;      /* when its links are free */
	double look_us;                    /* the next time to look without an event; 0: none */
};

enum event_type { MESSAGE, ARRIVAL, COPIED, ENDED, LOOK };

struct event {
	double us;
	uint64_t number; /* of equal times the first that was made */
	enum event_type type;
	unsigned node, from; /* from: the sender, or the worker */
	union {
		struct mpi_message message;
		struct {
			struct queues_order order;
			uint64_t label;
		} tile;
	};
};

struct world {
	const struct cluster *given;
	struct queues_stream streams[STREAMS];
	struct node *nodes;
	uint64_t *reads;
	struct event *events; /* a heap */
	size_t nevents, room;
	uint64_t number;
	double now_us;
	struct cluster_result *result;
	double last_us; /* when the last tile had ended */
	bool failed;    /* no memory */
};

static const struct queues_port port = {TILES, QUEUES_NONE, 0, 0};

/* ---- events ---- */

static bool earlier(const struct event *a, const struct event *b)
{
	return a->us < b->us || (a->us <= b->us && a->number < b->number);
}

static bool events_grow(struct world *world)
{
	size_t room = world->room ? 2 * world->room : 1024;
	struct event *events = realloc(world->events, room * sizeof(*events));

	if (!events)
		return false;
	world->events = events;
	world->room = room;
	return true;
}

static void event_add(struct world *world, struct event event)
{
	size_t at = world->nevents;

	if (at == world->room && !events_grow(world)) {
		world->failed = true;
		return;
	}
	world->nevents++;
	event.number = world->number++;
	while (at && earlier(&event, &world->events[(at - 1) / 2])) {
		world->events[at] = world->events[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	world->events[at] = event;
}

static struct event event_get(struct world *world)
{
	struct event *events = world->events, first = events[0], last = events[--world->nevents];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < world->nevents) {
		if (child + 1 < world->nevents && earlier(&events[child + 1], &events[child]))
			child++;
		if (!earlier(&events[child], &last))
			break;
		events[at] = events[child];
		at = child;
	}
	events[at] = last;
	return first;
}

/* ---- tiles ---- */

static unsigned size_of(const struct world *world, uint64_t label)
{
	return label < world->given->tiles ? CLUSTER_SMALL : CLUSTER_LARGE;
}

/* Whether a tile is one of the large ones, evenly among all. */
static bool goes_on(const struct cluster *given, uint64_t tile)
{
	return (tile + 1) * given->large / given->tiles > tile * given->large / given->tiles;
}

static double tile_us(const struct world *world, unsigned class, unsigned size)
{
	return class == CORE ? world->given->core_us[size] : world->given->gpu_us[size];
}

/* ---- what the counting calls ---- */

static void tell(void *arg, unsigned to, const struct mpi_message *message)
{
	struct node *node = arg;
	struct world *world = node->world;

	world->result->messages++;
	event_add(world, (struct event){.us = world->now_us +
	                                      (to == node->number ? 0 : world->given->network_us),
	                                .type = MESSAGE,
	                                .node = to,
	                                .from = node->number,
	                                .message = *message});
}

/* The data goes through the sender's link to a switch, and then through the receiver's. */
static void give(void *arg, unsigned to, unsigned stream, uint64_t label, uint32_t buffer)
{
	struct node *node = arg;

	mpi_demand_item(node->demand, to, stream, label);
	queues_given(node->queues, stream, buffer);
}

static void come(void *arg, unsigned from, const struct queues_order *order, uint64_t label,
                 uint32_t buffer)
{
	struct node *node = arg;
	struct world *world = node->world;
	double *out_us = &world->nodes[from].out_us;
	double us = world->given->bytes[size_of(world, label)] / world->given->network_mbps;

	*out_us = fmax(world->now_us, *out_us) + us;
	us = node->in_us = fmax(*out_us, node->in_us + us);
	world->result->sent++;
	event_add(world,
	          (struct event){
	              .us = us, .type = ARRIVAL, .node = node->number, .tile = {*order, label}});
}

static void stop(void *arg, int status)
{
}

static unsigned type_of(void *arg, unsigned stream, uint64_t label, uint32_t buffer)
{
	struct node *node = arg;

	return mpi_demand_type(node->demand, 1 + size_of(node->world, label));
}

/* ---- which processor of a node takes which tile: as DDWRR does ---- */

static bool has_gpu(const struct node *node)
{
	return node->workers[node->nworkers - 1].class == GPU;
}

static void key_renew(struct heddle_pool_key *key, void *arg)
{
	const struct node *node = arg;
	const double *known = node->us[key->type - 1];
	double us[HEDDLE_POOL_CLASSES] = {known[CORE], known[GPU]};

	heddle_gain_set(key, us, NULL, CORE);
	if (has_gpu(node) && known[GPU] <= 0)
		key->gain[GPU] = HEDDLE_POOL_UNKNOWN;
	else if (has_gpu(node) && known[CORE] <= 0)
		key->gain[GPU] = -MPI_GAINS_LATER;
}

static struct heddle_pool_key key_of(const struct node *node, unsigned size)
{
	struct heddle_pool_key key;

	heddle_pool_key_init(&key);
	for (unsigned w = 0; w < node->nworkers; w++)
		key.gain[node->workers[w].class] = 0;
	if (node->world->given->policy == CLUSTER_DDFCFS)
		return key;
	key.type = 1 + size;
	key_renew(&key, (void *)node);
	return key;
}

struct requester {
	const struct node *node;
	const struct worker *worker;
	bool left; /* a tile */
};

static double left_us(const struct worker *worker, double now_us)
{
	return worker->tile ? fmax(0, worker->until_us - now_us) : 0;
}

/* Whether a core wants a tile: unless the GPU has done it, and all before it, sooner. It leaves it
 * no longer than it would have needed. As ready_wants() of the policies. */
static bool wants(void *item, void *arg)
{
	struct requester *requester = arg;
	const struct node *node = requester->node;
	const struct tile *tile = item;
	const double *known = node->us[tile->size];
	const struct worker *gpu = &node->workers[node->nworkers - 1];
	struct heddle_pool_key key = key_of(node, tile->size);
	double now_us = node->world->now_us;
	double us = known[CORE] > 0 ? known[CORE] : TRIAL_FACTOR * known[GPU];
	struct heddle_gain_helper helper = {.workers = 1};

	if (!has_gpu(node) || requester->worker->class == GPU ||
	    node->world->given->policy == CLUSTER_DDFCFS || us <= 0 || known[GPU] <= 0 ||
	    known[GPU] >= us)
		return true;
	helper.load_us = heddle_pool_load_above(node->pool, GPU, &key, 0);
	helper.busy_us = left_us(gpu, now_us);
	for (unsigned a = 0; a < gpu->nahead; a++)
		helper.busy_us += node->us[gpu->ahead[a]->size][GPU];
	if (us <= heddle_gain_finish(&helper, 1) ||
	    (requester->worker->idle_us > 0 &&
	     now_us >= fmax(requester->worker->idle_us, tile->since_us) + us))
		return true;
	requester->left = true;
	return false;
}

static struct tile *tile_choose(struct node *node, struct worker *worker)
{
	struct requester requester = {node, worker, false};
	struct heddle_pool_entry entry;

	if (heddle_pool_pop(node->pool, worker->class, INT_MIN, wants, &requester, &entry)) {
		worker->idle_us = 0;
		return entry.item;
	}
	if (!requester.left)
		worker->idle_us = 0;
	else if (worker->idle_us <= 0)
		worker->idle_us = node->world->now_us;
	return NULL;
}

/* ---- processors ---- */

static void worker_begin(struct node *node, struct worker *worker, struct tile *tile, double at_us)
{
	struct world *world = node->world;
	double us = tile_us(world, worker->class, tile->size);

	worker->tile = tile;
	worker->until_us = fmax(world->now_us, at_us) + us;
	worker->busy_us += us;
	event_add(world, (struct event){.us = worker->until_us,
	                                .type = ENDED,
	                                .node = node->number,
	                                .from = worker - node->workers});
}

static double copy(struct node *node, const struct tile *tile)
{
	const struct cluster *given = node->world->given;

	node->bus_us = fmax(node->world->now_us, node->bus_us) + given->bus_us +
	               given->bytes[tile->size] / given->bus_mbps;
	return node->bus_us;
}

static void worker_feed(struct node *node, struct worker *worker)
{
	struct tile *tile;

	while ((!worker->tile || (worker->class == GPU && worker->nahead < AHEAD)) &&
	       (tile = tile_choose(node, worker))) {
		double at_us = worker->class == GPU ? copy(node, tile) : 0;

		if (!worker->tile) {
			worker_begin(node, worker, tile, at_us);
		} else {
			worker->copied_us[worker->nahead] = at_us;
			worker->ahead[worker->nahead++] = tile;
		}
	}
}

static void measured(struct node *node, unsigned size, unsigned class)
{
	double us = tile_us(node->world, class, size);
	bool news = node->us[size][class] <= 0;

	node->us[size][class] = us;
	if (!news)
		return;
	heddle_pool_revalue(node->pool, 1 + size, key_renew, node);
	if (node->world->given->policy == CLUSTER_ODDS)
		mpi_demand_measured(node->demand, mpi_demand_type(node->demand, 1 + size),
		                    kinds[class], us);
}

static void worker_ended(struct node *node, struct worker *worker)
{
	struct world *world = node->world;
	struct tile *tile = worker->tile;
	uint64_t label = tile->event.label;

	worker->tile = NULL;
	world->last_us = world->now_us;
	world->result->done[tile->size][worker->class]++;
	measured(node, tile->size, worker->class);
	if (tile->size == CLUSTER_SMALL && goes_on(world->given, label) &&
	    queues_send(node->queues, TILES, label + world->given->tiles))
		world->failed = true;
	queues_end(node->queues, &tile->event, false, 0, -1);
	tile->next = node->spare;
	node->spare = tile;
	if (worker->nahead) {
		worker_begin(node, worker, worker->ahead[0], worker->copied_us[0]);
		worker->nahead--;
		memmove(worker->ahead, worker->ahead + 1, worker->nahead * sizeof(tile));
		memmove(worker->copied_us, worker->copied_us + 1, worker->nahead * sizeof(double));
	}
}

/* ---- nodes ---- */

static bool tile_take(struct node *node)
{
	struct tile *tile = node->spare ? node->spare : malloc(sizeof(*tile));
	struct heddle_pool_key key;

	if (!tile) {
		node->world->failed = true;
		return false;
	}
	if (tile == node->spare)
		node->spare = tile->next;
	if (!queues_take(node->queues, 0, true, &tile->event)) {
		tile->next = node->spare;
		node->spare = tile;
		return false;
	}
	tile->size = size_of(node->world, tile->event.label);
	tile->since_us = node->world->now_us;
	key = key_of(node, tile->size);
	if (heddle_pool_push(node->pool, tile, &key))
		node->world->failed = true;
	return true;
}

/* Who has nothing to do looks again: it may leave tiles to others no longer. */
static void look_again(struct node *node)
{
	struct world *world = node->world;
	double us = world->now_us + world->given->core_us[CLUSTER_SMALL];
	bool idle = false;

	for (unsigned w = 0; w < node->nworkers; w++)
		idle |= !node->workers[w].tile;
	if (!idle || node->look_us > world->now_us ||
	    (!queues_waiting(node->queues, TILES) && !heddle_pool_count(node->pool)))
		return;
	node->look_us = us;
	event_add(world, (struct event){.us = us, .type = LOOK, .node = node->number});
}

static void node_step(struct node *node)
{
	do
		while (tile_take(node))
			;
	while (mpi_demand_step(node->demand, node->world->now_us));
	/* Cores choose after GPUs, and leave them something. */
	for (unsigned w = node->nworkers; w--;)
		worker_feed(node, &node->workers[w]);
	look_again(node);
}

static bool node_make(struct world *world, unsigned number)
{
	const struct cluster *given = world->given;
	struct node *node = &world->nodes[number];
	bool accelerated = number % given->nodes < given->accelerated;

	*node = (struct node){.world = world, .number = number};
	if (given->cores || !accelerated)
		node->workers[node->nworkers++].class = CORE;
	node->workers[node->nworkers++].class = accelerated ? GPU : CORE;
	for (unsigned w = 0; w < node->nworkers; w++) {
		unsigned class = given->policy == CLUSTER_ODDS ? node->workers[w].class : CORE;

		node->capacities[0][kinds[class]]++;
	}
	node->queues = queues_create(world->streams, STREAMS, &port, 1);
	node->gains = mpi_gains_create(given->nodes, given->accelerated);
	if (!node->queues || !node->gains || heddle_pool_create(&node->pool))
		return false;
	node->demand =
	    mpi_demand_create(&(struct mpi_demand_problem){.rank = number,
	                                                   .nranks = given->nodes,
	                                                   .nstreams = STREAMS,
	                                                   .nports = 1,
	                                                   .nfilters = 1,
	                                                   .ports = &port,
	                                                   .streams = world->streams,
	                                                   .reads = world->reads,
	                                                   .capacities = node->capacities,
	                                                   .requests = given->requests,
	                                                   .select = given->policy == CLUSTER_ODDS,
	                                                   .gains = node->gains,
	                                                   .queues = node->queues,
	                                                   .tell = tell,
	                                                   .give = give,
	                                                   .come = come,
	                                                   .stop = stop,
	                                                   .arg = node});
	if (node->demand && given->policy == CLUSTER_ODDS)
		queues_set_type(node->queues, type_of, node);
	return node->demand;
}

static void node_free(struct node *node)
{
	while (node->spare) {
		struct tile *tile = node->spare;

		node->spare = tile->next;
		free(tile);
	}
	if (node->pool)
		heddle_pool_destroy(node->pool);
	mpi_demand_destroy(node->demand);
	mpi_gains_destroy(node->gains);
	queues_destroy(node->queues);
}

/* ---- a run ---- */

static void event_handle(struct world *world, const struct event *event)
{
	struct node *node = &world->nodes[event->node];

	switch (event->type) {
	case MESSAGE:
		mpi_demand_hear(node->demand, event->from, &event->message, world->now_us);
		break;
	case ARRIVAL:
		if (mpi_demand_came(node->demand, &event->tile.order, event->tile.label,
		                    QUEUES_NONE, world->now_us))
			world->failed = true;
		break;
	case ENDED:
		worker_ended(node, &node->workers[event->from]);
		break;
	default:
		break;
	}
	node_step(node);
}

static void look(struct world *world, double at_us)
{
	const struct cluster *given = world->given;

	for (unsigned n = 0; n < given->nodes; n++) {
		struct node *node = &world->nodes[n];
		double busy_us = 0;
		unsigned requests = 0;

		for (unsigned w = 0; w < node->nworkers; w++) {
			busy_us += node->workers[w].busy_us - left_us(&node->workers[w], at_us);
			requests += queues_busy(node->queues, 0, w);
		}
		given->look(given->arg, at_us, n, requests, busy_us);
	}
}

static void world_run(struct world *world)
{
	double look_us = world->given->every_us;

	for (unsigned n = 0; n < world->given->nodes; n++)
		node_step(&world->nodes[n]);
	while (world->nevents && !world->failed) {
		struct event event = event_get(world);

		while (world->given->look && event.us > look_us) {
			look(world, look_us);
			look_us += world->given->every_us;
		}
		world->now_us = event.us;
		event_handle(world, &event);
	}
	world->result->us = world->last_us;
}

int cluster_run(const struct cluster *cluster, struct cluster_result *result)
{
	struct world world = {.given = cluster, .result = result};

	*result = (struct cluster_result){0};
	world.streams[TILES].n = cluster->tiles;
	world.nodes = calloc(cluster->nodes, sizeof(*world.nodes));
	world.reads = malloc(cluster->nodes * sizeof(*world.reads));
	world.failed = !world.nodes || !world.reads;
	for (unsigned n = 0; n < cluster->nodes && !world.failed; n++)
		world.reads[n] = 1 << TILES;
	for (unsigned n = 0; n < cluster->nodes && !world.failed; n++)
		world.failed = !node_make(&world, n);
	if (!world.failed)
		world_run(&world);
	for (unsigned n = 0; world.nodes && n < cluster->nodes; n++)
		node_free(&world.nodes[n]);
	free(world.nodes);
	free(world.reads);
	free(world.events);
	return world.failed ? -ENOMEM : 0;
}

/* ---- the bound ---- */

/* What is left of the large tiles when a class has done them until it has no time, and of its time.
 */
static double class_fill(double *large, double *small, double speed_large, double speed_small,
                         double us)
{
	double taken = fmin(*large, us * speed_large);

	*large -= taken;
	*small -= (us - taken / speed_large) * speed_small;
	return *small;
}

static bool feasible(const struct cluster *c, double us)
{
	double gpus = c->accelerated;
	double cores = 2 * (c->nodes - c->accelerated) + (c->cores ? c->accelerated : 0);
	double large = c->large, small = c->tiles;

	if (gpus > 0)
		class_fill(&large, &small, gpus / c->gpu_us[CLUSTER_LARGE],
		           gpus / c->gpu_us[CLUSTER_SMALL], us);
	if (cores > 0)
		class_fill(&large, &small, cores / c->core_us[CLUSTER_LARGE],
		           cores / c->core_us[CLUSTER_SMALL], us);
	return large <= 1e-9 && small <= 1e-9;
}

double cluster_bound_us(const struct cluster *cluster)
{
	double low = 0, high = cluster->tiles * cluster->core_us[CLUSTER_SMALL] +
	                       cluster->large * cluster->core_us[CLUSTER_LARGE];

	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (feasible(cluster, middle))
			high = middle;
		else
			low = middle;
	}
	return high;
}
