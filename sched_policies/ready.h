/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the files of DDFCFS, DDWRR and ODDS share: ready_starpu.c has the hooks,
 * ready_inbox_starpu.c is how tasks reach the pool, ready_take_starpu.c who takes which,
 * ready_wake_starpu.c who is woken, ready_value_starpu.c what tasks are worth to
 * whom, ready_claims_starpu.c what is claimed, ready_fetch_starpu.c how much, and
 * what is on its way to an accelerator.
 *
 * The kinds of processor in the pool are the estimator's classes of devices.
 */
#ifndef HEDDLE_SCHED_POLICIES_READY_H
#define HEDDLE_SCHED_POLICIES_READY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "estimator/estimate_starpu.h"
#include "sched_policies/common_starpu.h"
#include "sched_policies/dqaa.h"
#include "sched_policies/gain.h"
#include "sched_policies/pool.h"
#include "sched_policies/ring.h"
#include "sched_policies/streams.h"

_Static_assert(HEDDLE_DEVICE_CLASSES <= HEDDLE_POOL_CLASSES, "a class has no place in the pool");

/** Parameter sets whose waiting tasks move when beliefs change; tasks of further
 * ones keep what was believed when they became ready. */
#define READY_FAMILIES 256
/** Families whose last taker is remembered, of several in one place the last. */
#define READY_TAKERS 256
/** Transfers to an accelerator at once, at the most. */
#define READY_MAX_TRANSFERS 64

/** What tells the three policies apart. */
struct ready_traits {
	bool sorted;    /**< each class of devices takes what it gains most from */
	bool transfers; /**< Algorithm 1 sets the number of transfers */
	bool queue;     /**< and DQAA that of tasks that wait for a worker */
};

/** Tasks of one set of parameters. */
struct ready_family {
	unsigned long id;               /**< heddle_estimate_key(); 0: free */
	double us[HEDDLE_POOL_CLASSES]; /**< believed time; 0: none */
	/** Time of a probe so far, or a time that the estimator does not believe yet. */
	double tried_us[HEDDLE_POOL_CLASSES];
	int cost[HEDDLE_POOL_CLASSES];       /**< the same, as the pool knows it */
	unsigned measured;                   /**< bit k: class k has run one */
	unsigned probing;                    /**< bit k: the first one for class k is on its way */
	unsigned shy;                        /**< bit k: too long to be tried, for the time being */
	unsigned tries[HEDDLE_POOL_CLASSES]; /**< runs on each class, those that taught something */
};

enum ready_fetch {
	READY_FETCH_NOT,
	READY_FETCH_BUSY, /**< being looked after: nobody may take the task meanwhile */
	READY_FETCH_ASKED,
	READY_FETCH_DONE
};

/** A task that a worker has asked for and not started. */
struct ready_claim {
	struct heddle_pool_entry entry;
	enum ready_fetch fetch;
	bool probe; /**< the first of its family for the worker's class */
	double since_us;
	size_t bytes; /**< of its data */
};

#define READY_TOLD 16
/** Tasks that a driver of StarPU keeps on a device at once, at the most. */
#define READY_PIPELINE 8

struct ready_worker {
	/* Under the context's mutex. */
	struct ring claims;   /**< of struct ready_claim */
	double claims_us;     /**< their time on this worker */
	size_t claims_bytes;  /**< size of their data */
	double busy_until_us; /**< end of what it has started, as far as is known */
	unsigned long probe;  /**< family that it runs the first task of; 0: none */
	double probe_since_us;
	double waits_since_us; /**< has found nothing that it wants since then; 0: has a task */
	/** Will look again then for what it left to others; 0: when it is woken. */
	_Atomic double look_at_us;
	unsigned kind; /**< class of devices */
	/* The worker's own. */
	bool accelerator;
	unsigned node;
	unsigned started, done;             /**< tasks of the policy */
	double start_us[READY_PIPELINE];    /**< of tasks under way, by their number */
	double expected_us[READY_PIPELINE]; /**< their believed times */
	/** Tasks begun; ends come in the same order, but for those that end in the callback of
	 * another task, maybe of another worker (starpu_task_end_dep_add()). */
	unsigned begun;
	const struct starpu_task *running[READY_PIPELINE]; /**< begun, not looked into */
	double done_us;                                    /**< end of the last one */
	const struct starpu_task *late; /**< started before its input had arrived */
	double late_since_us;
	struct heddle_streams streams;
	struct heddle_dqaa dqaa;
	double round_us;     /**< start of the round of Algorithm 1; 0: none */
	double round_weight; /**< work of it */
	double weight;       /**< of the task taken last */
	unsigned round_tasks;
	struct {
		unsigned long family;
		int cost;
	} told[READY_TOLD]; /**< what the pool was told last of this worker's class */
} __attribute__((aligned(64)));

struct ready_record;

/** Lengths of queues over time (HEDDLE_QUEUE_LOG). */
struct ready_log {
	bool on;
	double begin_us;
	size_t n, room;
	struct ready_record *records;
};

struct ready_context {
	starpu_pthread_mutex_t mutex;
	unsigned id;
	struct ready_traits traits;
	struct heddle_pool *pool;
	unsigned nworkers; /**< of the machine */
	unsigned nkinds;   /**< classes of devices of the machine */
	unsigned reference;
	unsigned accelerators;               /**< bit k: the workers of class k are no cores */
	bool choosing;                       /**< sorted, and there is something to choose */
	bool patient;                        /**< workers may leave tasks to others */
	uint32_t where[HEDDLE_POOL_CLASSES]; /**< masks of StarPU for each class */
	bool mixed[HEDDLE_POOL_CLASSES];     /**< workers of several types share a class */
	int prefetch;                        /**< claims of an accelerator; below 0: automatic */
	unsigned depth;
	unsigned members; /**< of the context, when they were counted; 0: since changed */
	unsigned count[HEDDLE_POOL_CLASSES]; /**< of each class */
	size_t nclaimed;
	double claimed_us[HEDDLE_POOL_CLASSES]; /**< load of all claims on each class */
	unsigned nprobes;                       /**< workers that run one */
	int claimed_top;                        /**< no claimed task has a higher priority */
	bool special;            /**< there were tasks that not all of a class can run */
	atomic_size_t unstarted; /**< tasks on their way, in the pool and claimed */
	/** Tasks that have become ready and are not in the pool yet, the last one first. */
	struct starpu_task *_Atomic inbox;
	struct starpu_task *late; /**< those that found no memory there, the first one first */
	/** What the pool was given last. */
	struct {
		bool plain; /**< of no worker in particular */
		int priority;
		uint32_t where;
	} last;
	/** Which class started a task of a family last, and 1; 0: none, or forgotten. */
	atomic_uchar taker[READY_TAKERS];
	struct waiters waiters;
	struct ready_log log;
	struct ready_family families[READY_FAMILIES];
	struct ready_worker workers[];
};

static inline struct ready_claim *ready_claim_at(const struct ready_worker *worker, size_t i)
{
	return ring_at(&worker->claims, i);
}

/* ---- ready_claims_starpu.c; the mutex is held ---- */

/** Adds a claim; ring_reserve() has made room. */
void ready_claim_add(struct ready_context *c, struct ready_worker *worker,
                     const struct ready_claim *claim);

/** Takes the i-th claim of a worker away.
 * @param[out] claim what it was */
void ready_claim_remove(struct ready_context *c, struct ready_worker *worker, size_t i,
                        struct ready_claim *claim);

/** Place of the first of a worker's claims of highest priority; there is one. */
size_t ready_claim_best(const struct ready_worker *worker);

/** Other things are believed of a family now: its claims are valued like its tasks in
 * the pool, or one would be left to others and what comes after it not. */
void ready_claims_renew(struct ready_context *c, unsigned long family);

/** Puts what a worker claimed back into the pool, but for what it has asked for the inputs
 * of: that others take back when they find nothing else. */
void ready_claims_give_back(struct ready_context *c, struct ready_worker *worker);

/* ---- ready_value_starpu.c; the mutex is held unless said otherwise ---- */

/** Asks the estimator about a task, which may ask StarPU: the mutex is not held.
 * @return heddle_estimate_key() */
unsigned long ready_introduce(const struct ready_context *c, struct starpu_task *task);

/** What the pool is told of a task that has been introduced. */
void ready_task_key(struct ready_context *c, struct starpu_task *task, struct heddle_pool_key *key);

/** The same for a key that was told once. */
void ready_key_renew(struct ready_context *c, struct heddle_pool_key *key);

/** Who asks for a task, and what for. */
struct ready_asker {
	struct ready_context *c;
	unsigned id;
	double now_us;
	double look_at_us; /**< out: when it may want what it left to others now; 0: left nothing */
	int probed;        /**< class that has claimed the task in question for a try; -1: none */
	int left; /**< out: who had asked for the input of the task that it takes; -1: nobody */
};

/** Whether a worker should take tasks of a class, which became ready then, the first of
 * them: doc/internals/policies.md, "Leaving tasks to faster devices". */
bool ready_wants(const struct heddle_pool_key *key, double since_us, void *asker);

/** A worker is about to take a task of that class, the first of its family on the
 * worker's class of devices.
 * @return false: it would take too long, and the family has moved to where others
 * find it first */
bool ready_probe_begin(struct ready_asker *asker, const struct heddle_pool_key *key);

/** A worker starts that task. */
void ready_probe_started(struct ready_context *c, unsigned id, const struct heddle_pool_key *key,
                         double now_us);

/** Takes into account how long such tasks have been running. */
void ready_probes_age(struct ready_context *c, double now_us);

/** That task went elsewhere. */
void ready_probe_cancel(struct ready_context *c, const struct heddle_pool_key *key, unsigned kind);

/** Whether a class wants a task because it knows nothing of it. */
static inline bool ready_is_probe(const struct heddle_pool_key *key, unsigned kind)
{
	return key->gain[kind] == HEDDLE_POOL_UNKNOWN;
}

/** A worker has run a task of the policy; the mutex is not held.
 * @param us its time */
void ready_task_measured(struct ready_context *c, struct starpu_task *task, unsigned id, double us);

/* ---- ready_take_starpu.c; the mutex is held ---- */

/** Counts the members of each class anew where the context has changed. */
void ready_members_count(struct ready_context *c);

/** When a worker will have done what it has started, as far as is known: the first of its
 * tasks has been running since the end of the one before. Noted where workers leave
 * tasks to others. */
void ready_busy_note(const struct ready_context *c, struct ready_worker *worker, double now_us);

/** Takes a worker's next task. @return whether there is one */
bool ready_take(struct ready_asker *asker, struct heddle_pool_entry *entry);

/** Whether there is a task for a worker. What it leaves to others it looks at again later. */
bool ready_find(struct ready_asker *asker);

/* ---- ready_wake_starpu.c ---- */

/** Who may run a task; the task itself may be gone when that is asked. */
struct ready_readership {
	unsigned kind;  /**< that took such a task last */
	unsigned kinds; /**< bit k: class k can run it */
	bool special;   /**< only the workers of the list, whatever their class */
	struct waiters workers;
};

/** Finds out who may run a task, before it is handed in.
 * @param family heddle_estimate_key(), 0 where nothing is to be chosen */
void ready_readership_find(struct ready_context *c, struct starpu_task *task, unsigned long family,
                           struct ready_readership *readers);

/** The waiting members that may run a task, first those of the class that took such
 * a task last: up to the first one that belongs to no other context, where it might
 * find something else to do. If it leaves the task to others, it wakes them. The
 * mutex need not be held. */
void ready_wake_readers(struct ready_context *c, const struct ready_readership *readers,
                        struct wake_list *list);

/** Work is left although somebody has just taken some: for whom that waits? The mutex
 * is held. */
void ready_wake_further(struct ready_context *c, struct wake_list *list);

/** A worker of a class has taken a task of a family. */
void ready_taker_remember(struct ready_context *c, unsigned long family, unsigned kind);

/* ---- ready_inbox_starpu.c ---- */

/** Hands a task in; any thread, the mutex need not be held. From now on the task may
 * be run and freed. */
void ready_inbox_put(struct ready_context *c, struct starpu_task *task);

/** Whether tasks have been handed in that are not in the pool. */
bool ready_inbox_waits(struct ready_context *c);

/** Puts what was handed in into the pool, in order; the mutex is held. */
void ready_inbox_empty(struct ready_context *c);

/* ---- ready_fetch_starpu.c ---- */

void ready_fetch_init(struct ready_context *c, unsigned id);

/** How many tasks a worker claims beside the one it starts; the mutex is held. */
unsigned ready_fetch_target(const struct ready_context *c, const struct ready_worker *worker);

/** Whether a claim of so many bytes more fits; the mutex is held. */
bool ready_fetch_fits(const struct ready_worker *worker, size_t bytes);

/** Size of a task's data. */
size_t ready_task_bytes(struct starpu_task *task);

/** A worker starts a task, its own claim or not (NULL); the mutex is held. */
void ready_fetch_started(struct ready_context *c, struct ready_worker *worker,
                         const struct heddle_pool_entry *entry, const struct ready_claim *claim,
                         double now_us);

/** What is to be done about the inputs of claimed tasks without the mutex. */
struct ready_errands {
	unsigned n;
	struct {
		struct starpu_task *task;
		bool asked; /* already: has it arrived? */
		bool arrived;
	} of[READY_MAX_TRANSFERS];
};

/** Collects what is to be done for a worker; the mutex is held. */
void ready_fetch_collect(struct ready_worker *worker, struct ready_errands *errands);

/** Asks for inputs and looks which have arrived; the mutex is not held. */
void ready_fetch_attend(struct ready_context *c, unsigned id, struct ready_errands *errands);

/** A task begins to run: its input has arrived. */
void ready_fetch_running(struct ready_worker *worker, const struct starpu_task *task);

/** It has ended after so many µs. The mutex is not held: only the worker itself counts. */
void ready_fetch_done(const struct ready_context *c, struct ready_worker *worker, double us);

/** A worker found nothing to do. */
void ready_fetch_idle(struct ready_worker *worker);

/* ---- ready_log_starpu.c ---- */

void ready_log_init(struct ready_context *c);

/** A worker has taken a task; the mutex is held. */
void ready_log_queue(struct ready_context *c, unsigned id, double now_us);

/** Writes and frees the log. */
void ready_log_write(struct ready_context *c);

#endif
