/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "sched_policies/plan.h"

/* How the costs count, beside that of a late end. The bound is a bound: part of a rise does not
 * show. Of transfers most are hidden behind tasks. And of two equal places the one where the task
 * ends first is better. */
#define CHEAP 0.5
#define LINK 0.1
#define EARLY 0.01
/* Among workers of one class a transfer weighs so much while the link is always busy, and less by
 * this power of its use. At half of the use it must weigh next to nothing: else a worker that has
 * no data yet gets no task, and idles while the link could have served it. After so many transfers
 * those before count half. */
#define BUSY_LINK 3
#define USE_POWER 6
#define ASKED 16
/* Links that are busy for this part of the time may be what all waits for. */
#define BINDING_USE 0.5
/* So many arrivals tell how many transfers take place at a time. */
#define ARRIVED 16
/* More than so many at a time are not a matter of wrong estimates. */
#define CLEARLY 1.05

/* A task that a piece of data opens counts as so many that read it. */
#define OPENS 4

/* A piece of data is noted at most so many places behind the one where it belongs. */
#define NEAR 8

void heddle_plan_begin(struct heddle_plan *plan, double now_us, double bound_us)
{
	plan->now_us = now_us;
	plan->end_us = now_us + bound_us;
	plan->scarce = false;
}

void heddle_plan_see(struct heddle_plan *plan, double end_us, double after_us)
{
	plan->end_us = fmax(plan->end_us, end_us + after_us);
}

void heddle_plan_end(struct heddle_plan *plan)
{
	plan->number++;
}

/* Where a piece of data belongs in a table. */
static size_t data_place(const void *data)
{
	return ((uintptr_t)data >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

static bool is_noted(const struct heddle_plan *plan, size_t i)
{
	return plan->sent[i].data && plan->sent[i].plan == plan->number;
}

/* Where a piece of data is noted, or can be; HEDDLE_PLAN_SENT: nowhere. */
static size_t sent_find(const struct heddle_plan *plan, const void *data)
{
	size_t i = data_place(data);

	for (unsigned n = 0; n < NEAR; n++, i++)
		if (!is_noted(plan, i % HEDDLE_PLAN_SENT) ||
		    plan->sent[i % HEDDLE_PLAN_SENT].data == data)
			return i % HEDDLE_PLAN_SENT;
	return HEDDLE_PLAN_SENT;
}

bool heddle_plan_sends(const struct heddle_plan *plan, const void *data, unsigned node)
{
	size_t i = sent_find(plan, data);

	return i < HEDDLE_PLAN_SENT && is_noted(plan, i) && node < 64 &&
	       plan->sent[i].nodes >> node & 1;
}

void heddle_plan_send(struct heddle_plan *plan, const void *data, unsigned node)
{
	size_t i = sent_find(plan, data);

	if (i == HEDDLE_PLAN_SENT || node >= 64)
		return;
	if (!is_noted(plan, i))
		plan->sent[i] = (struct heddle_plan_sent){.data = data, .plan = plan->number};
	plan->sent[i].nodes |= UINT64_C(1) << node;
}

double heddle_plan_least_us(const struct heddle_plan_task *task)
{
	double least = 0;

	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		if (task->us[k] > 0 && (least <= 0 || task->us[k] < least))
			least = task->us[k];
	return least;
}

/* What the cheapest class asks for a task. */
static double least_price(const struct heddle_plan *plan, const struct heddle_plan_task *task)
{
	double least = INFINITY;

	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		if (task->us[k] > 0)
			least = fmin(least, plan->price[k] * task->us[k]);
	return least;
}

double heddle_plan_arrival_us(const struct heddle_plan_links *links, double now_us, unsigned node,
                              double us)
{
	double begin_us = fmax(now_us, links->end_us);

	if (node < HEDDLE_PLAN_NODES)
		begin_us = fmax(begin_us, links->node_us[node]);
	return begin_us + us;
}

double heddle_plan_transfer(struct heddle_plan_links *links, double now_us, unsigned node,
                            double us)
{
	double end_us = heddle_plan_arrival_us(links, now_us, node, us);

	/* For all that is known, nothing travels. */
	if (now_us > links->end_us) {
		links->arrived_us = 0;
		links->narrived = 0;
		links->since_us = now_us;
	}
	links->end_us = fmax(now_us, links->end_us) + us / fmax(links->width, 1);
	if (node < HEDDLE_PLAN_NODES)
		links->node_us[node] = end_us;
	return end_us;
}

void heddle_plan_arrived(struct heddle_plan_links *links, double now_us, double asked_us, double us,
                         double most)
{
	double width;

	if (asked_us < links->since_us)
		return;
	links->arrived_us += us;
	width = links->arrived_us / fmax(now_us - links->since_us, 1);
	if (++links->narrived >= ARRIVED && width > CLEARLY)
		links->width = fmin(most, fmax(links->width, width));
}

/* When the inputs of a task would be there. */
static double arrival_us(const struct heddle_plan *plan, const struct heddle_plan_task *task,
                         unsigned node)
{
	double us = task->fetch_us[node];

	return us > 0 ? heddle_plan_arrival_us(&plan->links, plan->now_us, node, us) : plan->now_us;
}

void heddle_plan_asked(struct heddle_plan *plan, double us)
{
	if (!plan->nasked)
		plan->asked_since_us = plan->now_us;
	if (++plan->nasked % ASKED == 0) {
		plan->asked_us /= 2;
		plan->asked_since_us = (plan->now_us + plan->asked_since_us) / 2;
	}
	plan->asked_us += us;
}

/* The part of the time that links were busy of late. */
static double link_use(const struct heddle_plan *plan)
{
	double all_us = (plan->now_us - plan->asked_since_us) * fmax(plan->links.width, 1);

	return plan->asked_us < all_us ? plan->asked_us / all_us : plan->asked_us > 0;
}

bool heddle_plan_links_bind(const struct heddle_plan *plan)
{
	return plan->nasked >= ASKED && link_use(plan) >= BINDING_USE;
}

/* What a transfer weighs among workers of one class. */
static double link_weight(const struct heddle_plan *plan)
{
	return fmax(LINK, BUSY_LINK * pow(link_use(plan), USE_POWER));
}

/* How long a task takes on a worker. */
static double own_us(const struct heddle_plan *plan, const struct heddle_plan_task *task, size_t w)
{
	return task->us[plan->workers[w].class] * (task->pace ? task->pace[w] : 1);
}

static double end_us(const struct heddle_plan *plan, const struct heddle_plan_task *task, size_t w)
{
	const struct heddle_plan_worker *worker = &plan->workers[w];

	return fmax(worker->free_us, arrival_us(plan, task, worker->node)) + own_us(plan, task, w);
}

/* What it costs that a task runs on a worker, beside that of its class.
 * @param link what a transfer weighs */
static double worker_cost(const struct heddle_plan *plan, const struct heddle_plan_task *task,
                          size_t w, double link)
{
	double us = end_us(plan, task, w);

	return fmax(0, us + task->after_us - plan->end_us) +
	       link * task->fetch_us[plan->workers[w].node] + EARLY * (us - plan->now_us);
}

/* The best worker of each class. */
static void class_bests(const struct heddle_plan *plan, const struct heddle_plan_task *task,
                        size_t best[HEDDLE_POOL_CLASSES])
{
	double costs[HEDDLE_POOL_CLASSES], link = link_weight(plan);

	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++) {
		best[k] = plan->nworkers;
		costs[k] = INFINITY;
	}
	for (size_t w = 0; w < plan->nworkers; w++) {
		unsigned k = plan->workers[w].class;
		double cost;

		if (task->us[k] <= 0 || (task->accept && !task->accept(w, task->arg)))
			continue;
		cost = worker_cost(plan, task, w, link);
		if (cost >= costs[k])
			continue;
		costs[k] = cost;
		best[k] = w;
	}
}

/* The best worker of a class where the task ends first; nworkers: there is none. */
static size_t first_end(const struct heddle_plan *plan, const struct heddle_plan_task *task,
                        const size_t bests[HEDDLE_POOL_CLASSES])
{
	size_t first = plan->nworkers;
	double least_us = INFINITY;

	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++) {
		double us = bests[k] < plan->nworkers ? end_us(plan, task, bests[k]) : INFINITY;

		if (us < least_us) {
			least_us = us;
			first = bests[k];
		}
	}
	return first;
}

size_t heddle_plan_place(struct heddle_plan *plan, const struct heddle_plan_task *task)
{
	double least = least_price(plan, task), best_cost = INFINITY;
	size_t bests[HEDDLE_POOL_CLASSES], best = plan->nworkers, first = plan->nworkers;

	class_bests(plan, task, bests);
	/* While tasks are scarce, few others travel: whom a transfer would let idle waits less. */
	if (plan->scarce)
		first = first_end(plan, task, bests);
	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++) {
		double cost;

		if (bests[k] == plan->nworkers)
			continue;
		cost = worker_cost(plan, task, bests[k], bests[k] == first ? EARLY : LINK) +
		       CHEAP * (plan->price[k] * task->us[k] - least);
		if (cost >= best_cost)
			continue;
		best_cost = cost;
		best = bests[k];
	}
	if (best < plan->nworkers) {
		struct heddle_plan_worker *worker = &plan->workers[best];
		double us = end_us(plan, task, best);

		if (task->fetch_us[worker->node] > 0)
			heddle_plan_transfer(&plan->links, plan->now_us, worker->node,
			                     task->fetch_us[worker->node]);
		worker->begin_us = us - own_us(plan, task, best);
		worker->free_us = us;
	}
	return best;
}

void heddle_bag_begin(struct heddle_bag *bag)
{
	bag->number++;
}

struct heddle_bag_datum *heddle_bag_find(struct heddle_bag *bag, const void *data)
{
	size_t i = data_place(data);

	for (unsigned n = 0; n < NEAR; n++, i++) {
		struct heddle_bag_datum *datum = &bag->data[i % HEDDLE_BAG_DATA];

		if (datum->number != bag->number)
			*datum = (struct heddle_bag_datum){.data = data, .number = bag->number};
		if (datum->data == data)
			return datum;
	}
	return NULL;
}

void heddle_bag_open(struct heddle_bag_datum *const *reads, size_t n)
{
	struct heddle_bag_datum *missing = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!reads[i]->bytes || reads[i]->uses <= 1)
			continue;
		if (missing)
			return;
		missing = reads[i];
	}
	if (missing)
		missing->opens++;
}

size_t heddle_bag_cost(struct heddle_bag_datum *const *reads, size_t n)
{
	size_t cost = 0;

	for (size_t i = 0; i < n; i++) {
		size_t parts = reads[i]->uses + OPENS * (size_t)reads[i]->opens;

		cost += reads[i]->bytes / (parts ? parts : 1);
	}
	return cost;
}
