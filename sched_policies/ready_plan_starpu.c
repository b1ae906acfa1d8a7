/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The policy heddle, where there is something to choose: several classes of devices, or several
 * memories. Each time a worker asks, a plan (plan.h) places ready tasks, the most urgent first.
 * Workers claim those that they can begin at once, and those of a moment ahead: accelerators while
 * kernels run, cores until the next plan that looks at everything. All else is forgotten: the next
 * plan knows more.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sched_policies/ready.h"

/* An accelerator has claims for so long, us: about what StarPU needs to start some tasks. */
#define AHEAD 200
#define MOST_AHEAD 8      /* claims */
#define MOST_OF_A_CORE 16 /* likewise */
/* Where kernels are not asynchronous, StarPU's driver asks for transfers when one is done, and
 * comes for the next task: so many claims beside it have to be there, however long they take. */
#define BLOCKED 2
/* A task takes at least so long, us: StarPU has to start it. */
#define START 10
/* With so many claims an accelerator need not wait for a plan. */
#define ENOUGH (MOST_AHEAD / 2)
/* Tasks that a plan looks at; where a look at all of them is not due. */
#define HORIZON 512
#define SHORT_HORIZON 16
/* Plans take one part in so many of the time, and those that look at everything. In between
 * workers choose for themselves. */
#define OFTEN 10
#define RARELY 20
/* The area bound is computed anew when one task in so many has come or gone. */
#define BOUND_EVERY 50
/* Visits of what depends on tasks take one part in OFTEN of the time, and at most so long at once,
 * us. */
#define VISIT 200
/* Who begins a plan that looks at everything makes it within this time, us. */
#define BEGUN 1000
/* What it costs to choose for a task where the workers of a class take part, us: estimates, ranks,
 * plans, and cores that poll. */
#define CHOICE 4
/* It counts where tasks take less than so many times as long, on the whole machine. */
#define WORTH 10
/* … and where it counted before, so many times as long. */
#define STAYS 1.5
/* After so many tasks on which nothing depends, it is a stream: there is no path to plan for. */
#define STREAM 16
/* So many pieces of data that were read last tell whether tasks share what they read. */
#define READS 64
/* They do if more than one byte in so many was read by several. */
#define SHARE 4
/* Tasks after which it counts half what the ones before have read. */
#define SHARING 256
/* Who rests comes back only if that saves so much in all, us: they sleep, and notice late. */
#define WORTH_WAKING 2000
/* A worker that rests takes a task of which it knows nothing to need at least so long, us. */
#define UNKNOWN 20000
/* So many tasks of local queues tell what comes. */
#define ENOUGH_SEEN 64
/* So many tasks seem to have come or gone where times have changed. */
#define LEARNED (1 << 30)
/* What came into them is looked at so often, us, at most. */
#define LOOK_EVERY 5000
/* Ranks of tasks are told apart to so many bits. */
#define RANK_BITS 6
/* Pieces of data of a task that a bag looks at. */
#define READ_MOST 8
/* Tasks that one plan gives away. */
#define GRANTS 256

/* A task that a plan gives away. */
struct grant {
	unsigned id;
	struct heddle_pool_place place;
	struct claim claim;
};

struct ready_plan {
	struct heddle_plan plan;
	struct heddle_graph *graph;
	atomic_ulong submitted;
	size_t moves;    /* tasks that came or went since the bound was computed */
	double bound_us; /* the area bound then */
	/* All workers that take part are alike: they need no plan. So many tasks get no rank. */
	bool alike;
	bool known; /* a time of every type that waits */
	bool alone; /* one class takes part, of tasks of which a time is known */
	size_t unranked;
	atomic_bool brief; /* tasks are so short that it counts what a plan costs */
	bool ranked;       /* a task has come … */
	int priority;      /* … with this priority, the last one */
	bool prioritised;  /* tasks have had different priorities */
	unsigned flat;     /* tasks that came last and that nothing depends on */
	double visited_us; /* when the last visit began or ended */
	double visit_us;   /* how long visits may take from then on */
	bool visits;       /* a visit may begin */
	/* What tasks have read on which nothing depends: how much, and how much of it another one
	 * of the last ones, too. */
	starpu_data_handle_t reads[READS];
	double read_bytes, shared_bytes;
	unsigned nreads;
	double started_us;              /* when a task was started, the last time */
	bool current;                   /* no task has come since the last plan */
	double due_us;                  /* when to make the next plan */
	double period_us;               /* from one that looks at everything to the next */
	struct heddle_plan_links links; /* of the transfers that claims need */
	unsigned nnodes;
	double *fetch_us; /* of the task in question, to each memory */
	unsigned *ids;    /* of the plan's workers */
	struct heddle_bag bag;
	struct grant grants[GRANTS];
};

/* ---- the graph ---- */

static size_t successors(void *task, size_t room, void **found)
{
	return starpu_task_get_task_succs(task, room, (struct starpu_task **)found);
}

static void times_renew(const struct ready_context *c, const struct heddle_estimate *estimates,
                        double *us)
{
	for (unsigned k = 0; k < c->nclasses; k++)
		if (us[k] != 0)
			us[k] = estimates[k].us > 0 ? estimates[k].us : -1;
}

static unsigned long times(void *item, double us[HEDDLE_POOL_CLASSES], void *arg)
{
	struct ready_context *c = arg;
	struct heddle_estimate estimates[HEDDLE_POOL_CLASSES];
	struct starpu_task *task = item;
	unsigned long type;

	/* It only waits for others, or its program still makes it. */
	if (!task->cl || task->status == STARPU_TASK_INIT)
		return 0;
	type = heddle_estimate_all(task, c->nclasses, ready_task_classes(c, task), estimates);
	for (unsigned k = 0; k < c->nclasses; k++)
		us[k] = (uint32_t)task->where & c->where[k] ? -1 : 0;
	times_renew(c, estimates, us);
	return type;
}

static bool visit_is_long(void *arg)
{
	const struct ready_plan *p = ((struct ready_context *)arg)->plan;

	return !p->visits || starpu_timing_now() - p->visited_us > p->visit_us;
}

/* How long the longest path is that depends on a task, us. The mutex is held meanwhile, and others
 * wait for it. A visit begins when there is time for half a long one: short ones would never see
 * the end of a deep graph. */
static double after_us(struct ready_context *c, struct starpu_task *task)
{
	struct ready_plan *p = c->plan;
	uint64_t size = atomic_load_explicit(&p->submitted, memory_order_relaxed);
	double now_us = starpu_timing_now(), us;

	p->visit_us = fmin(VISIT, p->visit_us + (now_us - p->visited_us) / OFTEN);
	p->visited_us = now_us;
	p->visits = p->visit_us >= VISIT / 2;
	us = heddle_graph_after_us(p->graph, task, size);
	now_us = starpu_timing_now();
	p->visit_us -= now_us - p->visited_us;
	p->visited_us = now_us;
	return us;
}

static void memories_find(struct ready_context *c)
{
	for (unsigned w = 0; w < c->nworkers; w++) {
		unsigned i = 0;

		if (!c->workers[w].accelerator)
			continue;
		while (i < c->nmemories && c->memories[i] != c->workers[w].node)
			i++;
		c->memories[i] = c->workers[w].node;
		c->nmemories += i == c->nmemories;
	}
	if (c->nmemories == 1)
		c->nmemories = 0;
}

int ready_plan_create(struct ready_context *c)
{
	struct heddle_graph_source source = {successors, times, visit_is_long, c};
	struct ready_plan *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	c->plan = p;
	p->visit_us = VISIT;
	memories_find(c);
	p->nnodes = starpu_memory_nodes_get_count();
	p->plan.workers = calloc(c->nworkers, sizeof(*p->plan.workers));
	p->fetch_us = calloc(p->nnodes, sizeof(*p->fetch_us));
	p->ids = calloc(c->nworkers, sizeof(*p->ids));
	if (p->plan.workers && p->fetch_us && p->ids && !ready_local_create(c) &&
	    !ready_pace_create(c) && !heddle_graph_create(&source, &p->graph))
		return 0;
	ready_plan_destroy(c);
	return -ENOMEM;
}

void ready_plan_destroy(struct ready_context *c)
{
	struct ready_plan *p = c->plan;

	if (!p)
		return;
	ready_local_destroy(c);
	ready_pace_destroy(c);
	heddle_graph_destroy(p->graph);
	free(p->plan.workers);
	free(p->fetch_us);
	free(p->ids);
	free(p);
	c->plan = NULL;
}

void ready_plan_submitted(struct ready_context *c)
{
	atomic_fetch_add_explicit(&c->plan->submitted, 1, memory_order_relaxed);
}

void ready_plan_learned(struct ready_context *c, bool ranks, bool first)
{
	if (ranks)
		heddle_graph_changed(c->plan->graph, first);
	c->plan->moves = LEARNED;
	/* The next plan decides who rests. */
	c->plan->alike = c->plan->current = false;
}

/* Tasks of about the same rank share a queue of the pool. */
static int rank_round(double us)
{
	int rank = us < INT_MAX ? (int)us : INT_MAX;
	int bits = rank >> RANK_BITS ? 32 - __builtin_clz(rank) - RANK_BITS : 0;

	return rank >> bits << bits;
}

/* A task on which nothing depends has come. Data that is registered where other data was before
 * counts as shared. */
static void reads_note(struct ready_plan *p, struct starpu_task *task)
{
	for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); i++) {
		starpu_data_handle_t handle = STARPU_TASK_GET_HANDLE(task, i);
		size_t bytes = starpu_data_get_size(handle);
		size_t place = ready_type_place((uintptr_t)handle >> 4, READS);

		if (!(STARPU_TASK_GET_MODE(task, i) & STARPU_R))
			continue;
		p->read_bytes += bytes;
		p->shared_bytes += p->reads[place] == handle ? bytes : 0;
		p->reads[place] = handle;
	}
	if (++p->nreads % SHARING == 0) {
		p->read_bytes /= 2;
		p->shared_bytes /= 2;
	}
}

/* Decides who rests. Those that take part again are woken: nobody else does before they are given
 * something. */
static void rests_set(struct ready_context *c, unsigned rests)
{
	unsigned back = atomic_load_explicit(&c->rests, memory_order_relaxed) & ~rests;

	atomic_store_explicit(&c->rests, rests, memory_order_relaxed);
	for (unsigned w = 0; back && POLICY_WORKERS_POLL && w < c->nworkers; w++)
		if (back >> c->workers[w].class & 1)
			waiters_rouse(&c->waiters, w);
}

/* It is a stream if nothing depends on the tasks, and it does not matter where they run. With
 * several memories that is so where each task has data of its own, and several classes take part:
 * tasks of one class alone may wait in local queues. */
static void stream_choose(struct ready_context *c)
{
	struct ready_plan *p = c->plan;
	bool apart = p->shared_bytes * SHARE <= p->read_bytes;
	bool stream = c->flat && (!c->nmemories || (apart && !p->alone));

	if (stream == atomic_load_explicit(&c->stream, memory_order_relaxed))
		return;
	atomic_store_explicit(&c->stream, stream, memory_order_relaxed);
	/* Without plans nobody would end a rest. */
	rests_set(c, 0);
	p->alike = false;
}

/* Whether all workers have done all that they started. */
static bool nobody_runs(const struct ready_context *c)
{
	for (unsigned w = 0; w < c->nworkers; w++)
		if (atomic_load_explicit(&c->workers[w].rests_since_us, memory_order_relaxed) <= 0)
			return false;
	return true;
}

/* What comes next tells anew whether it is a stream. */
static void stream_forget(struct ready_context *c)
{
	c->plan->flat = 0;
	c->plan->read_bytes = c->plan->shared_bytes = 0;
	c->flat = false;
	stream_choose(c);
}

void ready_plan_look_anew(struct ready_context *c)
{
	if (c->plan->flat && nobody_runs(c))
		stream_forget(c);
}

int ready_plan_rank(struct ready_context *c, struct starpu_task *task)
{
	struct ready_plan *p = c->plan;
	double us;

	p->current = false;
	p->moves++;
	p->prioritised |= p->ranked && task->priority != p->priority;
	p->ranked = true;
	p->priority = task->priority;
	if (ready_local_is_open(c))
		return 0;
	if (p->alike && p->prioritised && p->unranked) {
		p->unranked--;
		return 0;
	}
	us = after_us(c, task);
	p->flat = us > START ? 0 : p->flat + 1;
	c->flat = p->flat >= STREAM;
	if (!p->flat)
		p->read_bytes = p->shared_bytes = 0;
	else if (c->nmemories)
		reads_note(p, task);
	stream_choose(c);
	return rank_round(us);
}

bool ready_plan_is_brief(const struct ready_context *c)
{
	return atomic_load_explicit(&c->plan->brief, memory_order_relaxed);
}

void ready_plan_leave(struct ready_context *c)
{
	heddle_graph_forget(c->plan->graph);
	rests_set(c, 0);
	stream_forget(c);
	/* The next task of the pool is not like the last one. */
	c->last.plain = false;
}

double ready_plan_ahead(const struct ready_context *c, unsigned long type)
{
	const struct heddle_area_type *types;
	size_t n = heddle_graph_types(c->plan->graph, &types);
	const unsigned long *numbers = heddle_graph_type_numbers(c->plan->graph);

	for (size_t i = 0; i < n; i++)
		if (numbers[i] == type)
			return types[i].count;
	return 0;
}

double ready_plan_left_us(const struct ready_context *c)
{
	return c->plan->plan.end_us - starpu_timing_now();
}

bool ready_plan_is_due(const struct ready_requester *requester)
{
	const struct ready_context *c = requester->c;

	if (c->plan->alike && !c->ntrials && !requester->full)
		return false;
	return requester->full || (requester->now_us >= c->plan->due_us &&
	                           claims_count(&c->claims, requester->id) < ENOUGH);
}

bool ready_plan_full_is_due(const struct ready_context *c, double now_us)
{
	return now_us >= atomic_load_explicit(&c->full_due_us, memory_order_relaxed);
}

bool ready_plan_full_begin(struct ready_context *c, double now_us)
{
	double due_us = atomic_load_explicit(&c->full_due_us, memory_order_relaxed);

	return now_us >= due_us &&
	       atomic_compare_exchange_strong(&c->full_due_us, &due_us, now_us + BEGUN);
}

bool ready_plan_is_current(const struct ready_context *c)
{
	return c->plan->current && !c->plan->alike;
}

/* What a worker has begun has its inputs. */
static void arrivals_see(struct ready_context *c, struct ready_worker *worker, double now_us)
{
	/* Of tasks long past nothing is known any more. */
	if (worker->begun - worker->arrived > READY_PIPELINE)
		worker->arrived = worker->begun - READY_PIPELINE;
	for (; worker->arrived != worker->begun; worker->arrived++) {
		unsigned i = worker->arrived % READY_PIPELINE;

		if (worker->fetch_us[i] > 0)
			heddle_plan_arrived(&c->plan->links, now_us, worker->asked_us[i],
			                    worker->fetch_us[i], c->nmemories);
	}
}

double ready_plan_started(struct ready_context *c, unsigned id, const struct starpu_task *task,
                          double arrival_us, double now_us)
{
	if (c->nmemories)
		arrivals_see(c, &c->workers[id], now_us);
	heddle_graph_started(c->plan->graph, task);
	c->plan->moves++;
	c->plan->started_us = now_us;
	return fmax(0, arrival_us - fmax(now_us, c->workers[id].busy_until_us));
}

/* ---- transfers ---- */

/* Time to transfer a piece of data; 0: it is there, on its way, or planned to be. In a plan
 * transfers wait for each other. */
static double data_us(const struct ready_plan *p, starpu_data_handle_t handle, unsigned node)
{
	return heddle_plan_sends(&p->plan, handle, node) ? 0 : ready_data_us(handle, node);
}

static double fetch_us(const struct ready_plan *p, struct starpu_task *task, unsigned node)
{
	double us = 0;

	for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); i++)
		if (STARPU_TASK_GET_MODE(task, i) & STARPU_R)
			us += data_us(p, STARPU_TASK_GET_HANDLE(task, i), node);
	return us;
}

/* A task has been placed: its data will be there. */
static void fetch_note(struct ready_plan *p, struct starpu_task *task, unsigned node)
{
	if (p->fetch_us[node] <= 0)
		return;
	for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); i++)
		if (STARPU_TASK_GET_MODE(task, i) & STARPU_R)
			heddle_plan_send(&p->plan, STARPU_TASK_GET_HANDLE(task, i), node);
}

/* ---- plans ---- */

/* Whether no other class could do a task. */
static bool is_alone(const struct ready_context *c, const struct heddle_pool_key *key,
                     unsigned class)
{
	for (unsigned k = 0; k < c->nclasses; k++)
		if (k != class && c->count[k] && heddle_pool_key_runs(key, k))
			return false;
	return true;
}

/* Whether a class leaves a task to the others: it has no part, and they can do the task. Of what
 * they refuse the key has no type, and no cost on them. */
static bool is_left(const struct ready_context *c, const struct heddle_pool_key *key,
                    unsigned class)
{
	if (!ready_rests(c, class))
		return false;
	for (unsigned k = 0; k < c->nclasses; k++)
		if (k != class && c->count[k] && heddle_pool_key_runs(key, k) &&
		    !ready_rests(c, k) && (key->type || key->cost[k] != HEDDLE_POOL_NO_COST))
			return true;
	return false;
}

/* What a task takes on a class; 0: it should not have one. */
static double class_us(struct ready_context *c, const struct heddle_pool_key *key, unsigned class,
                       bool *trial)
{
	double us = ready_planned_us(c, key, class, trial);

	if (is_left(c, key, class))
		return *trial = 0;
	return us > 0 ? fmax(us, START) : 0;
}

/* Who asks for a plan, and how it goes on. */
struct planning {
	struct ready_context *c;
	unsigned asking; /* worker; nworkers: nobody */
	bool full;       /* those that wait are served, however far down their tasks are */
	bool given_way;  /* it has ended early */
	bool cut;        /* there are tasks behind the horizon */
	double now_us;
	size_t n; /* tasks given away */
	/* Where the asking worker goes by its memory: tasks of which the least is missing there. */
	struct {
		struct heddle_pool_place place;
		const struct heddle_pool_key *key;
		size_t missing;
	} near[SHORT_HORIZON];
	size_t nnear;
	/* In question. */
	struct starpu_task *task;
	const struct heddle_pool_key *key;
};

/* When a worker will have done what it has started, and comes for more. Of one that is late nobody
 * knows when that will be: it may take as long again. */
static double busy_until_us(const struct ready_context *c, unsigned id, bool asks, double now_us)
{
	double us = c->workers[id].busy_until_us;
	double rests_since_us =
	    atomic_load_explicit(&c->workers[id].rests_since_us, memory_order_relaxed);

	if (rests_since_us > 0)
		us = claims_count(&c->claims, id)
		         ? START + fmax(rests_since_us, claims_at(&c->claims, id, 0)->since_us)
		         : 0;
	if (us >= now_us)
		return us;
	return asks || us <= 0 || waiters_has(&c->waiters, id) ? now_us : now_us + (now_us - us);
}

/* Whether the workers of a class save so much that they should take part. Who rests comes back only
 * if it saves twice as much, and enough in all. */
static bool helps(const struct ready_context *c, double help_us, double count, unsigned class)
{
	return ready_rests(c, class) ? help_us >= 2 * CHOICE && help_us * count >= WORTH_WAKING
	                             : help_us >= CHOICE;
}

/* How long a task of each class of accelerators is held up by what travels, us, if there are tasks
 * that cores alone can run: the wait for its inputs, and as long for what follows on a core. Else
 * the data stay where they are. @return whether there are such tasks */
static bool travel_us(const struct ready_context *c, const struct heddle_area_type *types, size_t n,
                      double us[HEDDLE_POOL_CLASSES])
{
	bool alone = false;

	for (size_t i = 0; i < n; i++) {
		bool any = false;

		for (unsigned k = 0; k < c->nclasses; k++)
			any |= c->accelerators >> k & 1 && c->count[k] && types[i].us[k] != 0;
		alone |= types[i].count > 0 && !any;
	}
	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		us[k] = alone ? 2 * atomic_load_explicit(&c->wait_us[k], memory_order_relaxed) : 0;
	return alone;
}

/* How much sooner a task that both can run ends on a class of cores than on an accelerator, us, in
 * the mean: where each task follows from the one before, that is what cores save. */
static double path_help_us(const struct ready_context *c, const struct heddle_area_type *types,
                           size_t n, const double travel[HEDDLE_POOL_CLASSES], unsigned class)
{
	double us = 0, count = 0;

	for (size_t i = 0; i < n; i++) {
		double least_us = INFINITY;

		for (unsigned k = 0; k < c->nclasses; k++)
			if (c->accelerators >> k & 1 && c->count[k] && types[i].us[k] > 0)
				least_us = fmin(least_us, types[i].us[k] + travel[k]);
		if (types[i].count <= 0 || types[i].us[class] <= 0 || isinf(least_us))
			continue;
		us += types[i].count * (least_us - types[i].us[class]);
		count += types[i].count;
	}
	return count > 0 ? us / count : 0;
}

/* Cores rest if choosing takes more time than they save: of all work together, or, where tasks
 * follow from each other through what travels, of each task.
 * @param count tasks of all types together */
static void crew_choose(struct ready_context *c, const struct heddle_area_type *seen,
                        const unsigned long *numbers, size_t n, double count)
{
	struct heddle_area_type types[HEDDLE_GRAPH_TYPES];
	unsigned rests = atomic_load_explicit(&c->rests, memory_order_relaxed), now = 0;
	double gap_us[HEDDLE_POOL_CLASSES], travel[HEDDLE_POOL_CLASSES];
	bool alone;

	/* Tasks were seen when they became ready. Since then more is known. */
	for (size_t i = 0; i < n; i++) {
		struct heddle_estimate estimates[HEDDLE_POOL_CLASSES];

		types[i] = seen[i];
		heddle_estimate_known(numbers[i], c->nclasses, estimates);
		times_renew(c, estimates, types[i].us);
		for (unsigned k = 0; c->plan->brief && k < c->nclasses; k++) {
			double least_us = ready_least_us(c, numbers[i], k);

			if (types[i].us[k] < 0 && !(c->accelerators >> k & 1))
				types[i].us[k] = ready_hoped_us(c, numbers[i]);
			else if (types[i].us[k] > 0 && c->accelerators >> k & 1 && least_us > 0)
				types[i].us[k] = fmin(types[i].us[k], least_us);
		}
	}
	alone = travel_us(c, types, n, travel);
	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		gap_us[k] = travel[k] + atomic_load_explicit(&c->gap_us[k], memory_order_relaxed);
	for (unsigned k = 0; k < c->nclasses; k++) {
		double help_us;

		if (!c->count[k] || c->accelerators >> k & 1)
			continue;
		help_us = heddle_area_help_us(types, n, c->count, gap_us, k);
		if (alone)
			help_us = fmax(help_us, path_help_us(c, types, n, travel, k));
		if (!helps(c, help_us, count, k))
			now |= 1u << k;
	}
	if (now != rests)
		rests_set(c, now);
}

/* How many classes take part. */
static unsigned crew_classes(const struct ready_context *c)
{
	unsigned rests = atomic_load_explicit(&c->rests, memory_order_relaxed), n = 0;

	for (unsigned k = 0; k < c->nclasses; k++)
		n += c->count[k] && !(rests >> k & 1);
	return n;
}

/* Whether tasks need no plan, and no rank beside the priorities that the program gives them. Who
 * rests while nobody has run a type of what waits may help as soon as somebody has. The log of
 * queues is about claims. */
static bool is_plain(const struct ready_context *c)
{
	return c->plan->alike && c->plan->known && c->plan->prioritised && !c->log.on;
}

/* Has tasks wait in local queues where that serves, of the one class that takes part. */
static void local_choose(struct ready_context *c)
{
	unsigned rests = atomic_load_explicit(&c->rests, memory_order_relaxed);
	unsigned k = 0;

	while (k < c->nclasses && (!c->count[k] || rests >> k & 1))
		k++;
	if (!is_plain(c) || k == c->nclasses || !(c->accelerators >> k & 1)) {
		ready_local_close(c);
	} else if (!ready_local_is_open(c)) {
		heddle_graph_forget(c->plan->graph);
		ready_local_open(c, k);
	}
}

/* How much later each task of the whole machine begins, us, as accelerators wait for its inputs.
 * Of several classes the one that waits least counts. */
static double waits_us(const struct ready_context *c)
{
	double least_us = INFINITY;

	for (unsigned k = 0; k < c->nclasses; k++)
		if (c->accelerators >> k & 1 && c->count[k])
			least_us = fmin(least_us,
			                atomic_load_explicit(&c->wait_us[k], memory_order_relaxed) /
			                    c->count[k]);
	return isinf(least_us) ? 0 : least_us;
}

/* Decides by the types of tasks that are ahead, or came of late, who takes part and how. */
static void mix_weigh(struct ready_context *c, const struct heddle_area_type *seen,
                      const unsigned long *numbers, size_t n)
{
	struct heddle_area_type types[HEDDLE_GRAPH_TYPES] = {0};
	struct ready_plan *p = c->plan;
	double count = 0, interval_us;

	/* Since its tasks were seen a class may have tried a type. */
	for (size_t i = 0; i < n; i++) {
		types[i] = seen[i];
		ready_type_times(c, numbers[i], types[i].us);
		count += types[i].count;
	}
	p->bound_us = heddle_area_prices(types, n, c->count, p->plan.price);
	p->moves = 0;
	interval_us = heddle_area_interval_us(types, n, p->bound_us) + waits_us(c);
	if (count > 0)
		p->brief = interval_us < (p->brief ? STAYS : 1) * WORTH * CHOICE;
	/* Who rests goes on while nothing is known of what waits. In a stream all look for tasks
	 * then. */
	if (count > 0 && c->patient && (p->bound_us > 0 || ready_is_planned(c)))
		crew_choose(c, types, numbers, n, count);
	/* Those that take part need no plan if they are of one class, and of one memory, or tasks
	 * are short. Then homes say where a task goes. */
	p->alike = count > 0 && crew_classes(c) == 1 && (!c->nmemories || p->brief);
	p->known = !isinf(interval_us);
	if (p->bound_us > 0)
		p->alone = crew_classes(c) == 1;
	p->unranked = p->known ? count : 0;
	stream_choose(c);
	local_choose(c);
}

/* The same where tasks wait in local queues: nobody looks ahead. */
static void local_weigh(struct ready_context *c, double now_us)
{
	struct heddle_area_type types[HEDDLE_GRAPH_TYPES];
	unsigned long numbers[HEDDLE_GRAPH_TYPES];
	bool learned = c->plan->moves >= LEARNED;
	size_t n = ready_local_types(c, learned ? 1 : ENOUGH_SEEN, UNKNOWN, types, numbers);
	double still_us = ready_local_still_us(c, now_us);

	c->plan->alike = still_us <= 2 * UNKNOWN;
	if (!c->plan->alike) {
		c->plan->unranked = 0;
		ready_local_close(c);
		return;
	}
	c->plan->started_us = fmax(c->plan->started_us, now_us - still_us);
	for (size_t i = 0; i < n; i++) {
		struct heddle_estimate estimates[HEDDLE_POOL_CLASSES];

		heddle_estimate_known(numbers[i], c->nclasses, estimates);
		times_renew(c, estimates, types[i].us);
	}
	if (n)
		mix_weigh(c, types, numbers, n);
}

static void bound_renew(struct ready_context *c, double now_us)
{
	const struct heddle_area_type *types;
	size_t n;
	double count = 0;

	if (ready_local_is_open(c)) {
		local_weigh(c, now_us);
		return;
	}
	n = heddle_graph_types(c->plan->graph, &types);
	for (size_t i = 0; i < n; i++)
		count += types[i].count;
	if (c->plan->moves * BOUND_EVERY >= count)
		mix_weigh(c, types, heddle_graph_type_numbers(c->plan->graph), n);
}

/* What a worker has started or claimed may be what the longest path begins with. */
static void paths_see(struct ready_context *c, unsigned id)
{
	const struct ready_worker *worker = &c->workers[id];
	struct heddle_plan *plan = &c->plan->plan;

	if (atomic_load_explicit(&worker->rests_since_us, memory_order_relaxed) <= 0)
		heddle_plan_see(plan, worker->path_end_us, 0);
	for (size_t i = 0; i < claims_count(&c->claims, id); i++) {
		const struct heddle_pool_key *key = &claims_at(&c->claims, id, i)->entry.key;

		heddle_plan_see(plan, plan->now_us + heddle_pool_us(key->cost[worker->class]),
		                key->rank);
	}
}

static void plan_begin(const struct planning *planning)
{
	struct ready_context *c = planning->c;
	struct heddle_plan *plan = &c->plan->plan;
	int *ids;
	unsigned n;

	bound_renew(c, planning->now_us);
	n = starpu_sched_ctx_get_workers_list_raw(c->id, &ids);
	heddle_plan_begin(plan, planning->now_us, c->plan->bound_us);
	plan->links = c->plan->links;
	plan->scarce = heddle_pool_count(c->pool) + c->claims.total <= n;
	plan->nworkers = 0;
	for (unsigned i = n; i-- > 0;) {
		unsigned id = ids[i];
		double free_us;

		if (id >= c->nworkers)
			continue;
		paths_see(c, id);
		free_us = busy_until_us(c, id, id == planning->asking, planning->now_us) +
		          fmax(c->workers[id].claims_us, claims_count(&c->claims, id) * START);
		c->plan->ids[plan->nworkers] = id;
		plan->workers[plan->nworkers++] = (struct heddle_plan_worker){
		    .class = c->workers[id].class, .node = c->workers[id].node, .free_us = free_us};
	}
}

/* Describes a task of the pool. @return bit k: class k would be tried with it */
static unsigned task_describe(struct ready_context *c, const struct heddle_pool_key *key,
                              struct starpu_task *task, struct heddle_plan_task *described)
{
	struct ready_plan *p = c->plan;
	unsigned trials = 0;

	ready_type_look(c, key);
	*described = (struct heddle_plan_task){.fetch_us = p->fetch_us, .after_us = key->rank};
	for (unsigned k = 0; k < c->nclasses; k++) {
		bool trial = false;

		if (c->count[k] && heddle_pool_key_runs(key, k))
			described->us[k] = class_us(c, key, k, &trial);
		trials |= trial ? 1u << k : 0;
	}
	if (key->type)
		described->pace =
		    ready_paces(c, ready_type_of(c, key->type), p->ids, p->plan.nworkers);
	for (unsigned node = 0; node < p->nnodes; node++)
		p->fetch_us[node] = fetch_us(p, task, node);
	return trials;
}

/* Whether a worker may get the task in question. */
static bool accept(size_t worker, void *arg)
{
	const struct planning *planning = arg;
	struct ready_context *c = planning->c;
	unsigned id = c->plan->ids[worker];

	return ready_may_repeat(c, planning->key, id) && policy_accepts(planning->task, &id);
}

/* Until when a worker claims tasks ahead. */
static double ahead_until_us(const struct planning *planning, unsigned id, size_t claims)
{
	const struct ready_context *c = planning->c;
	const struct ready_worker *worker = &c->workers[id];

	if (worker->accelerator && worker->blocks && claims < BLOCKED + (id == planning->asking))
		return INFINITY;
	if (worker->accelerator)
		return claims < MOST_AHEAD ? planning->now_us + AHEAD : 0;
	return planning->full && claims < MOST_OF_A_CORE ? planning->now_us + c->plan->period_us
	                                                 : 0;
}

/* Whether the tasks that wait are a bag: any order of them serves as well. */
static bool is_bag(const struct ready_context *c)
{
	return c->nmemories && c->flat && !c->plan->prioritised &&
	       heddle_plan_links_bind(&c->plan->plan);
}

/* Whether a worker looks for tasks by what is in its memory: that cannot hold all data, or the
 * order is free. */
static bool goes_by_data(const struct ready_context *c, const struct ready_worker *worker)
{
	return ready_goes_by_memory(c, worker) || (is_bag(c) && worker->accelerator);
}

/* When a worker comes for its next task, once it has taken the one that it asks for. */
static double comes_us(const struct planning *planning, unsigned id)
{
	const struct ready_worker *worker = &planning->c->workers[id];
	unsigned under_way = worker->started - worker->done, i = worker->done % READY_PIPELINE;
	double begin_us = worker->begun != worker->done ? worker->start_us[i] : planning->now_us;

	if (under_way + (id == planning->asking) < 2)
		return planning->now_us;
	return fmax(begin_us, worker->done_us) + (under_way ? worker->expected_us[i] : 0);
}

/* Whether nothing would travel to a worker's memory before it comes again, where transfers are what
 * all waits for. Then StarPU sends back what nobody wants now, and the next input waits for that.
 */
static bool link_rests(const struct planning *planning, unsigned id, size_t claims)
{
	const struct ready_context *c = planning->c;
	const struct ready_worker *worker = &c->workers[id];

	return is_bag(c) && worker->accelerator && claims < ENOUGH &&
	       worker->node < HEDDLE_PLAN_NODES &&
	       c->plan->links.node_us[worker->node] < comes_us(planning, id);
}

/* Whether a plan serves a worker in its order of tasks. Who goes by its memory asks for itself,
 * unless it waits: all would wait where a plan leaves tasks to those that nobody wakes. */
static bool is_served(const struct planning *planning, unsigned id, size_t claims)
{
	const struct ready_context *c = planning->c;

	if (!claims && waiters_has(&c->waiters, id))
		return true;
	return planning->nnear ? id == planning->asking : !goes_by_data(c, &c->workers[id]);
}

/* Whether a worker should be given more. */
static bool is_open(const struct planning *planning, size_t w, unsigned given)
{
	struct ready_context *c = planning->c;
	unsigned id = c->plan->ids[w];
	size_t claims = claims_count(&c->claims, id) + given;

	if (!is_served(planning, id, claims))
		return false;
	if (!claims && (id == planning->asking || (planning->full && waiters_has(&c->waiters, id))))
		return true;
	return c->plan->plan.workers[w].free_us < ahead_until_us(planning, id, claims) ||
	       link_rests(planning, id, claims);
}

/* Whether a worker begins a task that was placed on it soon enough to claim it now. */
static bool is_soon(const struct planning *planning, size_t w, unsigned given)
{
	const struct ready_context *c = planning->c;
	unsigned id = c->plan->ids[w];
	size_t claims = claims_count(&c->claims, id) + given;

	if (!is_served(planning, id, claims))
		return false;
	if (!claims && (id == planning->asking || waiters_has(&c->waiters, id)))
		return true;
	return c->plan->plan.workers[w].begin_us < ahead_until_us(planning, id, claims) ||
	       link_rests(planning, id, claims);
}

/* Gives a task to a worker. */
static void give(struct planning *planning, unsigned id, const struct heddle_pool_key *key,
                 const struct heddle_pool_place *place, bool trial, bool first)
{
	struct ready_context *c = planning->c;
	struct ready_requester requester = {.c = c, .id = id};
	struct starpu_task *task = heddle_pool_at(place);
	size_t bytes = ready_task_bytes(task);
	double us = c->plan->fetch_us[c->workers[id].node], arrival_us = 0;

	if (planning->n == GRANTS || (!first && bytes > ready_queue_room(c, c->workers[id].node)))
		return;
	if (trial)
		ready_trial_begin(&requester, key);
	if (us > 0) {
		arrival_us = heddle_plan_transfer(&c->plan->links, planning->now_us,
		                                  c->workers[id].node, us);
		heddle_plan_asked(&c->plan->plan, us);
	}
	c->plan->grants[planning->n++] = (struct grant){
	    .id = id,
	    .place = *place,
	    .claim = {.trial = trial,
	              .since_us = planning->now_us,
	              .arrival_us = arrival_us,
	              .fetch_us = us,
	              .bytes = bytes},
	};
}

static void claim_all(struct planning *planning)
{
	struct ready_context *c = planning->c;

	/* From the end: places in front stay what they are. Tasks that are near come in any order.
	 */
	for (size_t i = planning->n; i-- > 0;) {
		struct grant *grant = &c->plan->grants[i];

		heddle_pool_take(c->pool, &grant->place, &grant->claim.entry);
		for (size_t j = 0; planning->nnear && j < i; j++) {
			struct heddle_pool_place *other = &c->plan->grants[j].place;

			other->index -=
			    other->queue == grant->place.queue && other->index > grant->place.index;
		}
	}
	for (size_t i = 0; i < planning->n; i++) {
		const struct grant *grant = &c->plan->grants[i];
		const struct heddle_pool_entry *entry = &grant->claim.entry;

		if (!claims_reserve(&c->claims, grant->id))
			ready_claim_add(c, grant->id, &grant->claim);
		else /* without memory; where it was there still is room */
			heddle_pool_push_entry(c->pool, entry);
	}
}

/* Whether an accelerator waits for the mutex while a core plans. */
static bool gives_way(struct planning *planning)
{
	const struct ready_context *c = planning->c;

	planning->given_way |= ready_is_urgent(c) && planning->asking < c->nworkers &&
	                       !c->workers[planning->asking].accelerator;
	return planning->given_way;
}

/* Whether all would end later if the asking worker did not begin a task now. */
static bool presses(const struct planning *planning, const struct heddle_pool_key *key)
{
	const struct ready_context *c = planning->c;
	double us = heddle_pool_us(key->cost[c->workers[planning->asking].class]);

	return c->plan->bound_us > 0 && planning->now_us + us + key->rank > c->plan->plan.end_us;
}

/* Notes a task if less is missing than of another one that is noted, or there is room. */
static void near_note(struct planning *planning, const struct heddle_pool_place *place,
                      const struct heddle_pool_key *key, size_t missing)
{
	size_t i = planning->nnear;

	if (i == SHORT_HORIZON && missing >= planning->near[i - 1].missing)
		return;
	for (i -= i == SHORT_HORIZON; i && planning->near[i - 1].missing > missing; i--)
		planning->near[i] = planning->near[i - 1];
	planning->near[i].place = *place;
	planning->near[i].key = key;
	planning->near[i].missing = missing;
	planning->nnear += planning->nnear < SHORT_HORIZON;
}

/* What a task reads of the data of a bag; what has no room is left out.
 * @param[out] reads READ_MOST pieces of data
 * @return how many */
static size_t bag_reads(struct heddle_bag *bag, struct starpu_task *task,
                        struct heddle_bag_datum **reads)
{
	size_t n = 0;

	for (unsigned i = 0; n < READ_MOST && i < STARPU_TASK_GET_NBUFFERS(task); i++)
		if (STARPU_TASK_GET_MODE(task, i) & STARPU_R)
			n += (reads[n] = heddle_bag_find(bag, STARPU_TASK_GET_HANDLE(task, i))) !=
			     NULL;
	return n;
}

/* A task of a bag: what it reads is used once more, and may be missing in a memory. */
static void bag_use(struct heddle_bag *bag, struct starpu_task *task, unsigned node)
{
	struct heddle_bag_datum *reads[READ_MOST];
	size_t n = bag_reads(bag, task, reads);

	for (size_t i = 0; i < n; i++)
		if (!reads[i]->uses++)
			reads[i]->bytes =
			    ready_missing_data((starpu_data_handle_t)reads[i]->data, node);
}

/* Finds the tasks of a bag that cost the least transfers to the asking worker's memory. */
static void bag_find(struct planning *planning)
{
	struct ready_context *c = planning->c;
	struct heddle_bag *bag = &c->plan->bag;
	const struct ready_worker *worker = &c->workers[planning->asking];
	struct ready_looks looks = {.n = 0};
	struct heddle_bag_datum *reads[READ_MOST];
	const struct heddle_pool_key *key;
	struct heddle_pool_place place;
	int seen = 0;

	heddle_bag_begin(bag);
	for (int pass = 0; pass < 3; pass++) {
		struct heddle_pool_walk walk = {0};
		int n = 0;

		while (n < (pass ? seen : HORIZON) &&
		       (key = heddle_pool_next(c->pool, &walk, &place))) {
			struct starpu_task *task = heddle_pool_at(&place);
			size_t nreads;

			if (!pass && !ready_looks_on(&looks))
				break;
			n++;
			if (!heddle_pool_key_runs(key, worker->class))
				continue;
			nreads = pass ? bag_reads(bag, task, reads) : 0;
			if (!pass)
				bag_use(bag, task, worker->node);
			else if (pass == 1)
				heddle_bag_open(reads, nreads);
			else
				near_note(planning, &place, key, heddle_bag_cost(reads, nreads));
		}
		seen = n;
	}
	planning->cut = planning->nnear == SHORT_HORIZON || seen == HORIZON || looks.over;
}

/* Finds the tasks of which the least is missing in the asking worker's memory, where it goes by
 * that; of equal ones those of higher priority. What presses comes first, whatever is missing. */
static void near_find(struct planning *planning)
{
	struct ready_context *c = planning->c;
	struct heddle_pool_walk walk = {0};
	struct heddle_pool_place place;
	const struct heddle_pool_key *key;
	const struct ready_worker *worker = &c->workers[planning->asking];
	struct ready_looks looks = {.n = 0};
	int n = 0;

	planning->nnear = 0;
	if (planning->asking == c->nworkers || !goes_by_data(c, worker))
		return;
	if (!ready_goes_by_memory(c, worker)) {
		bag_find(planning);
		return;
	}
	for (; n < HORIZON && (key = heddle_pool_next(c->pool, &walk, &place)); n++) {
		size_t i = planning->nnear;
		size_t most = i == SHORT_HORIZON ? planning->near[i - 1].missing : SIZE_MAX;
		size_t missing = 0;

		if (!heddle_pool_key_runs(key, worker->class))
			continue;
		if (!presses(planning, key))
			missing = ready_look(&looks, heddle_pool_at(&place), worker->node, most);
		near_note(planning, &place, key, missing);
	}
	planning->cut = planning->nnear == SHORT_HORIZON || n == HORIZON;
}

/* The task that a plan places as its nth, from 0 on. NULL: there are no more. */
static const struct heddle_pool_key *next(const struct planning *planning, size_t n,
                                          struct heddle_pool_walk *walk,
                                          struct heddle_pool_place *place)
{
	if (!planning->nnear)
		return heddle_pool_next(planning->c->pool, walk, place);
	if (n >= planning->nnear)
		return NULL;
	*place = planning->near[n].place;
	return planning->near[n].key;
}

/* Places tasks until everybody is served, or nothing is left within the horizon. */
static void plan_make(struct planning *planning)
{
	struct ready_context *c = planning->c;
	struct heddle_plan *plan = &c->plan->plan;
	struct heddle_pool_walk walk = {0};
	struct heddle_pool_place place;
	const struct heddle_pool_key *key;
	int horizon = planning->full ? HORIZON : SHORT_HORIZON, n = 0;
	unsigned given[STARPU_NMAXWORKERS] = {0};
	bool open[STARPU_NMAXWORKERS];
	size_t nopen = 0;

	near_find(planning);
	for (size_t w = 0; w < plan->nworkers; w++)
		nopen += open[w] = is_open(planning, w, 0);
	for (; nopen && n < horizon && !gives_way(planning); n++) {
		struct heddle_plan_task task;
		unsigned trials;
		size_t w;

		key = next(planning, n, &walk, &place);
		if (!key)
			return;
		trials = task_describe(c, key, heddle_pool_at(&place), &task);
		if (key->tag != HEDDLE_POOL_UNIFORM || trials) {
			planning->task = heddle_pool_at(&place);
			planning->key = key;
			task.accept = accept;
			task.arg = planning;
		}
		heddle_plan_see(plan, plan->now_us + heddle_plan_least_us(&task), task.after_us);
		w = heddle_plan_place(plan, &task);
		if (w == plan->nworkers)
			continue;
		if (is_soon(planning, w, given[w])) {
			give(planning, c->plan->ids[w], key, &place,
			     trials >> plan->workers[w].class & 1, !given[w]);
			given[w]++;
		}
		fetch_note(c->plan, heddle_pool_at(&place), plan->workers[w].node);
		nopen -= open[w];
		nopen += open[w] = is_open(planning, w, given[w]);
	}
	planning->cut = n == horizon;
}

/* Whether the asking worker should try a task of which its class knows nothing: it ends in time
 * even if it takes as long as a trial may. */
static bool may_try(const struct planning *planning, const struct heddle_pool_key *key)
{
	struct ready_context *c = planning->c;
	unsigned class = c->workers[planning->asking].class;
	bool trial = false;
	double us = ready_planned_us(c, key, class, &trial);

	if (!trial || us <= 0 || !ready_may_repeat(c, key, planning->asking) ||
	    (c->plan->brief && ready_is_ruled_out(c, key, class)))
		return false;
	return planning->now_us + us + key->rank <= c->plan->plan.end_us;
}

bool ready_plan_leaves(struct ready_context *c, const struct heddle_pool_key *key, unsigned id)
{
	const struct ready_worker *worker = &c->workers[id];

	if (is_left(c, key, worker->class))
		return false;
	if (worker->accelerator)
		return !key->rank || !ready_other_ends_first(c, key, id);
	return is_alone(c, key, worker->class) || !key->rank || ready_rests(c, worker->class) ||
	       atomic_load_explicit(&c->taker[ready_type_place(key->type, READY_TAKERS)],
	                            memory_order_relaxed) == worker->class + 1;
}

static bool accepts(void *task, void *arg)
{
	struct planning *planning = arg;

	return policy_accepts(task, &planning->asking);
}

/* Whether all others wait and have nothing. */
static bool nobody_works(const struct planning *planning)
{
	struct ready_context *c = planning->c;
	int *ids;
	unsigned n = starpu_sched_ctx_get_workers_list_raw(c->id, &ids);

	for (unsigned i = 0; i < n; i++)
		if ((unsigned)ids[i] < c->nworkers && (unsigned)ids[i] != planning->asking &&
		    (!waiters_has(&c->waiters, ids[i]) || claims_count(&c->claims, ids[i])))
			return false;
	return true;
}

/* Whether a worker that rests should do something: since the last start of a task, or since tasks
 * wait, it could have done this one. Tasks may wait for each other in a way that nobody sees. */
static bool nothing_starts(const struct planning *planning, const struct heddle_pool_key *key)
{
	struct ready_context *c = planning->c;
	unsigned class = c->workers[planning->asking].class;
	double us = heddle_pool_us(key->cost[class]);

	if (!ready_rests(c, class))
		return false;
	if (us <= 0)
		us = fmax(UNKNOWN, ready_longest_us(c, key, class));
	return planning->now_us - fmax(c->plan->started_us, c->busy_since_us) > us;
}

static bool admits(const struct heddle_pool_key *key, void *first, double since_us, void *arg)
{
	const struct planning *planning = arg;
	struct ready_context *c = planning->c;
	unsigned class = c->workers[planning->asking].class;

	(void)first;
	(void)since_us;
	return is_alone(c, key, class) || (ready_rests(c, class) && !is_left(c, key, class)) ||
	       may_try(planning, key) || nothing_starts(planning, key) ||
	       (planning->cut && c->workers[planning->asking].accelerator &&
	        ready_plan_leaves(c, key, planning->asking));
}

/* The plan has nothing for the asking worker. Behind the horizon there may be tasks for its class
 * alone, and such as an accelerator may take between two plans. And where nobody works, it takes
 * anything: a plan can be wrong. A worker that rests does not: who is to do the task may just be
 * waking. */
static void look_further(struct planning *planning)
{
	struct ready_context *c = planning->c;
	unsigned class = c->workers[planning->asking].class;
	bool anything = !ready_rests(c, class) && nobody_works(planning);
	struct heddle_pool_query query = {.class = class,
	                                  .least = INT_MIN,
	                                  .admit = anything ? NULL : admits,
	                                  .accept = accepts,
	                                  .arg = planning};
	struct heddle_pool_place place;
	const struct heddle_pool_key *key = heddle_pool_find(c->pool, &query, &place);

	if (key) {
		unsigned trials =
		    task_describe(c, key, heddle_pool_at(&place), &(struct heddle_plan_task){0});

		give(planning, planning->asking, key, &place, trials >> query.class & 1, true);
	}
}

/* What looks at everything is due again some time after it has ended. */
static void full_due_set(struct ready_context *c, double begin_us, double end_us)
{
	c->plan->period_us = RARELY * (end_us - begin_us);
	if (ready_local_is_open(c))
		c->plan->period_us = fmax(c->plan->period_us, LOOK_EVERY);
	atomic_store_explicit(&c->full_due_us, end_us + c->plan->period_us, memory_order_relaxed);
}

void ready_plan_weigh(struct ready_context *c, double now_us)
{
	bool weighs = c->nmemories;

	/* Plans do it, and those of workers that poll where all are alike. */
	if (ready_is_planned(c))
		weighs = c->plan->alike && !POLICY_WORKERS_POLL;
	if (!weighs || !ready_plan_full_is_due(c, now_us))
		return;
	bound_renew(c, now_us);
	full_due_set(c, now_us, starpu_timing_now());
}

static void plan(struct planning *planning)
{
	struct ready_context *c = planning->c;
	struct ready_plan *p = c->plan;
	double end_us;

	planning->full |= ready_plan_full_is_due(c, planning->now_us);
	plan_begin(planning);
	if (!p->alike)
		plan_make(planning);
	claim_all(planning);
	if (!planning->given_way && planning->asking < c->nworkers &&
	    !claims_count(&c->claims, planning->asking)) {
		planning->n = 0;
		look_further(planning);
		claim_all(planning);
	}
	heddle_plan_end(&p->plan);
	ready_types_move(c);
	p->current = true;
	end_us = starpu_timing_now();
	p->due_us = end_us + OFTEN * (end_us - planning->now_us);
	if (planning->full)
		full_due_set(c, planning->now_us, end_us);
}

bool ready_plan_make(struct ready_requester *requester)
{
	struct planning planning = {.c = requester->c,
	                            .asking = requester->id,
	                            .full = requester->full,
	                            .now_us = requester->now_us};

	plan(&planning);
	return !planning.given_way;
}

/* When a worker begins one of its claims. */
static double begin_us(const struct ready_context *c, const struct claim *claim, unsigned owner,
                       double now_us)
{
	const struct heddle_pool_key *key = &claim->entry.key;
	double us = busy_until_us(c, owner, false, now_us);
	bool earlier = true;

	for (size_t i = 0; i < claims_count(&c->claims, owner); i++) {
		const struct claim *other = claims_at(&c->claims, owner, i);
		const struct heddle_pool_key *its = &other->entry.key;
		bool equal = its->priority == key->priority && its->rank == key->rank;

		earlier &= other != claim;
		if (its->priority > key->priority ||
		    (its->priority == key->priority && its->rank > key->rank) || (equal && earlier))
			us += fmax(heddle_pool_us(its->cost[c->workers[owner].class]), START);
	}
	return us;
}

/* How long it takes for the inputs of a task to come that are asked for now: where links are busy,
 * behind all that was asked for before. Not in a bag: sgemm took longer. */
static double inputs_us(const struct ready_requester *requester, struct starpu_task *task)
{
	const struct ready_plan *p = requester->c->plan;
	unsigned node = requester->c->workers[requester->id].node;
	double now_us = requester->now_us, us = fetch_us(p, task, node);

	if (us <= 0 || is_bag(requester->c) || !heddle_plan_links_bind(&p->plan))
		return us;
	return heddle_plan_arrival_us(&p->links, now_us, node, us) - now_us;
}

static bool is_late(const struct claim *claim, unsigned owner, void *arg)
{
	struct ready_requester *requester = arg;
	struct ready_context *c = requester->c;
	const struct heddle_pool_key *key = &claim->entry.key;
	unsigned class = c->workers[requester->id].class;
	double begins_us, end_us, look_us;
	bool trial;

	if (!heddle_pool_key_runs(key, class) || !policy_accepts(claim->entry.item, &requester->id))
		return false;
	if (!c->patient)
		return true;
	end_us = ready_planned_us(c, key, class, &trial);
	if (end_us <= 0)
		return false;
	begins_us = begin_us(c, claim, owner, requester->now_us);
	end_us += requester->now_us;
	if (end_us <= begins_us)
		end_us += inputs_us(requester, claim->entry.item);
	if (end_us <= begins_us)
		return true;
	look_us = fmax(end_us, requester->now_us + AHEAD);
	if (requester->look_at_us <= 0 || look_us < requester->look_at_us)
		requester->look_at_us = look_us;
	return false;
}

bool ready_plan_late(struct ready_requester *requester, int least, unsigned *owner, size_t *index)
{
	struct claims_query query = {
	    .worker = requester->id, .least = least, .accept = is_late, .arg = requester};

	return requester->c->claims.total &&
	       claims_find(&requester->c->claims, &query, owner, index);
}

void ready_plan_renew(struct ready_context *c)
{
	struct planning planning = {.c = c, .asking = c->nworkers, .now_us = starpu_timing_now()};

	if (!c->plan->current && planning.now_us >= c->plan->due_us)
		plan(&planning);
}
