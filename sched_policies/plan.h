/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which worker gets which ready task. Tasks are placed one by one, the most urgent first, on the
 * worker where that costs least. A cost is the time by which everything would end later:
 *  - where a task runs on a class of devices that is not good at it, the area bound rises
 *    (area.h);
 *  - where it ends late, what depends on it ends after all else is done;
 *  - transfers hold up other transfers.
 * So while there is time, tasks go where they are cheap, even if they end later there. On the
 * critical path they go where they end first. All transfers of a machine share one link here, as
 * they share main memory, until more has arrived than one can carry. A piece of data that several
 * tasks need in one memory is sent there once. Of the workers of one class the best is chosen
 * first: there transfers weigh more while the link is busy. Between classes they do not, or cores
 * would do what accelerators are for. Pure.
 */
#ifndef HEDDLE_SCHED_POLICIES_PLAN_H
#define HEDDLE_SCHED_POLICIES_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched_policies/pool.h"

/** A worker. */
struct heddle_plan_worker {
	unsigned class, node; /**< of devices; number of its memory */
	double free_us;       /**< when it will have done what it has */
	double begin_us;      /**< out: when it can begin the task that was placed there last */
};

/** Where a plan sends a piece of data. */
struct heddle_plan_sent {
	const void *data;
	unsigned long plan; /**< number of the plan */
	uint64_t nodes;     /**< bit i: to memory i */
};

/** Pieces of data that a plan remembers to have sent; what is beyond counts again. */
#define HEDDLE_PLAN_SENT 2048

/** Memories that links tell apart. */
#define HEDDLE_PLAN_NODES 64

/** Transfers that were asked for: all share the link of main memory, and those to one memory its
 * own. */
struct heddle_plan_links {
	double end_us;                     /**< when all will have ended */
	double node_us[HEDDLE_PLAN_NODES]; /**< those to each memory */
	double width; /**< so many take place at a time; what is below 1 counts as 1 */
	/** Of those that were asked for since something has been travelling all the time: how long
	 * travel those that have arrived, and how many. */
	double arrived_us, since_us;
	unsigned narrived;
};

struct heddle_plan {
	unsigned long number; /**< of this plan */
	struct heddle_plan_sent sent[HEDDLE_PLAN_SENT];
	double now_us;
	double end_us; /**< when everything could be done at the earliest */
	bool scarce;   /**< there are no more tasks than workers; false when a plan begins */
	struct heddle_plan_links links;
	/** heddle_plan_asked(): how long the last transfers take, since when, and how many. */
	double asked_us, asked_since_us;
	unsigned nasked;
	double price[HEDDLE_POOL_CLASSES]; /**< of area.h */
	size_t nworkers;
	struct heddle_plan_worker *workers;
};

/** A task to be placed. */
struct heddle_plan_task {
	double us[HEDDLE_POOL_CLASSES]; /**< on each class; 0: cannot run there */
	/** For each worker, how many times as long it takes there as on its class; NULL: as long.
	 */
	const double *pace;
	const double *fetch_us; /**< for each memory, time to transfer what is missing there */
	double after_us;        /**< shortest time from its end to the end of all */
	/** Whether a worker, an index, may run it; NULL: wherever its class can. */
	bool (*accept)(size_t worker, void *arg);
	void *arg;
};

/** Begins a plan. All that is ahead takes the area bound at least. */
void heddle_plan_begin(struct heddle_plan *plan, double now_us, double bound_us);

/** Everything ends no sooner than a path: of a task to be placed, under way, or claimed.
 * @param end_us when the task can have ended
 * @param after_us shortest time from its end to the end of all */
void heddle_plan_see(struct heddle_plan *plan, double end_us, double after_us);

/** Ends a plan: the next one has sent nothing yet. */
void heddle_plan_end(struct heddle_plan *plan);

/** Whether the plan sends a piece of data to a memory, for a task placed before. */
bool heddle_plan_sends(const struct heddle_plan *plan, const void *data, unsigned node);

/** Notes that a task has been placed where it needs a piece of data. */
void heddle_plan_send(struct heddle_plan *plan, const void *data, unsigned node);

/** When a transfer to a memory will have ended that is asked for now, after all others. */
double heddle_plan_arrival_us(const struct heddle_plan_links *links, double now_us, unsigned node,
                              double us);

/** Asks for it. @return the same */
double heddle_plan_transfer(struct heddle_plan_links *links, double now_us, unsigned node,
                            double us);

/** Inputs have arrived: tells how many transfers take place at a time at least.
 * @param asked_us when they were asked for
 * @param us how long they travel alone
 * @param most so many at the most */
void heddle_plan_arrived(struct heddle_plan_links *links, double now_us, double asked_us, double us,
                         double most);

/** At the plan's time transfers were asked for that take so long, us. */
void heddle_plan_asked(struct heddle_plan *plan, double us);

/** Whether links were busy for at least half of the time of late. */
bool heddle_plan_links_bind(const struct heddle_plan *plan);

/** Data that a bag tells apart. */
#define HEDDLE_BAG_DATA 2048

/** A piece of data that tasks of a bag read. */
struct heddle_bag_datum {
	const void *data;
	unsigned long number; /**< of the bag */
	size_t bytes;         /**< to send to the memory in question; 0: it is there */
	unsigned uses;        /**< tasks that read it */
	unsigned opens;       /**< tasks that miss nothing else that others read, too */
};

/** Tasks that may run in any order: what they read, and what of it is missing in one memory. */
struct heddle_bag {
	unsigned long number;
	struct heddle_bag_datum data[HEDDLE_BAG_DATA];
};

/** Empties a bag. */
void heddle_bag_begin(struct heddle_bag *bag);

/** The place of a piece of data, whose uses are 0 at first; NULL: there is no room. */
struct heddle_bag_datum *heddle_bag_find(struct heddle_bag *bag, const void *data);

/** Counts what a task opens, once the uses of all tasks are counted.
 * @param reads what it reads, n pieces, each once */
void heddle_bag_open(struct heddle_bag_datum *const *reads, size_t n);

/** What a task costs: the bytes that are missing. Those of a piece that many tasks read, or miss
 * alone, count as their part of it. */
size_t heddle_bag_cost(struct heddle_bag_datum *const *reads, size_t n);

/** The shortest time of a task; 0: nobody can run it. */
double heddle_plan_least_us(const struct heddle_plan_task *task);

/** Places a task: its worker, and the link, are busy for longer.
 * @return the worker's index; nworkers: nobody can run it */
size_t heddle_plan_place(struct heddle_plan *plan, const struct heddle_plan_task *task);

#endif
