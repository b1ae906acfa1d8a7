/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the files of DDFCFS, DDWRR and ODDS share. ready_starpu.c has the contexts. A task becomes
 * ready in ready_push_starpu.c, a worker takes it in ready_take_starpu.c, it ends in
 * ready_done_starpu.c. ready_plan_starpu.c decides under the policy heddle. ready_value_starpu.c
 * says what a task is worth to which class of devices, ready_queue_starpu.c how many tasks an
 * accelerator claims ahead. ready_local_starpu.c has queues for short tasks that need no choice,
 * ready_cores_starpu.c the way of tasks that cores alone can run.
 */
#ifndef HEDDLE_SCHED_POLICIES_READY_H
#define HEDDLE_SCHED_POLICIES_READY_H

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "estimator/estimate_starpu.h"
#include "sched_policies/claims_starpu.h"
#include "sched_policies/common_starpu.h"
#include "sched_policies/dqaa.h"
#include "sched_policies/gain.h"
#include "sched_policies/graph.h"
#include "sched_policies/plan.h"
#include "sched_policies/pool.h"
#include "sched_policies/streams.h"

_Static_assert(HEDDLE_DEVICE_CLASSES <= HEDDLE_POOL_CLASSES, "a class has no place in the pool");

/** Task types whose waiting tasks move when estimates change. Tasks of further ones keep the
 * estimates of when they became ready. */
#define READY_TYPES 1024
/** Task types whose last taker is remembered; of several in one place the last. */
#define READY_TAKERS 256

/** What differs between the three policies. */
struct ready_traits {
	bool sorted;    /**< each class of devices takes what it gains most from */
	bool transfers; /**< Algorithm 1 sets the number of transfers */
	bool queue;     /**< and DQAA that of tasks that wait for a worker */
	bool planned;   /**< workers take what a plan of all that is ready gives them */
};

/** A task type: the tasks of one codelet and one set of parameters. */
struct ready_type {
	unsigned long id;               /**< heddle_estimate_key(); 0: free */
	double us[HEDDLE_POOL_CLASSES]; /**< estimated time; 0: none */
	/** What it took of late when nothing held it up; 0: none. Estimates are means. */
	double least_us[HEDDLE_POOL_CLASSES];
	double spread[HEDDLE_POOL_CLASSES]; /**< how far it may be off, as a logarithm */
	int cost[HEDDLE_POOL_CLASSES];      /**< the time as the pool knows it */
	int ranked;                         /**< the least of them that ranks count with */
	size_t bytes;                       /**< of a task's data, under a plan */
	double flops;                       /**< operations that its tasks state; or 0 */
	unsigned classes;                   /**< bit k: class k can run tasks of it */
	unsigned measured;                  /**< bit k: class k has run one */
	unsigned told;     /**< bit k: it has, or what class k ran of the codelet tells its time */
	unsigned first;    /**< bit k: class k has only had first runs, which may load things */
	unsigned trying;   /**< bit k: the trial of class k is under way */
	unsigned deferred; /**< bit k: not tried on class k for the time being */
	unsigned runs[HEDDLE_POOL_CLASSES];      /**< on each class, those that were counted */
	double first_us[HEDDLE_POOL_CLASSES];    /**< of the first run, until a later one; or 0 */
	double first_at_us[HEDDLE_POOL_CLASSES]; /**< when that has ended */
	double known_us; /**< since then an accelerator has had more than first runs; or 0 */
	/** The worker of each class that has run the first one, and 1; 0: none. */
	unsigned short loaded[HEDDLE_POOL_CLASSES];
	unsigned long looked; /**< number of the plan that looked at it last */
	bool moves;           /**< that has found out something new */
	/** What keys were given last, and of what. */
	struct ready_valued {
		unsigned runs;    /**< bit k: class k can run them; 0: none was given any yet */
		unsigned unknown; /**< bit k: nothing is known of class k */
		double us[HEDDLE_POOL_CLASSES], spread[HEDDLE_POOL_CLASSES];
		int gain[HEDDLE_POOL_CLASSES], cost[HEDDLE_POOL_CLASSES];
	} valued;
	/** Time of a trial so far, or a time that the estimator wants confirmed first. */
	double trial_us[HEDDLE_POOL_CLASSES];
};

/** A worker whose memory cannot hold all data takes at most so many tasks in a row of which less is
 * missing there than of one of a higher priority. */
#define READY_PASSES 16
#define READY_PUBLISHED 16
/** StarPU takes memory of CUDA devices for small data in portions of so many bytes. */
#define READY_PORTION (32ul << 20)
/** Tasks that a driver of StarPU keeps on a device at once, at the most. */
#define READY_PIPELINE 8

struct ready_worker {
	/* Under the context's mutex. */
	double claims_us;     /**< time of its claims on it */
	double arrival_us;    /**< in a stream, of the last input that it has asked for */
	double busy_until_us; /**< estimated end of what it has started */
	double path_end_us;   /**< of the longest path that begins with that */
	/** Has done all that it started since then; 0: it runs something. */
	_Atomic double rests_since_us;
	unsigned long trial; /**< task type that it runs the first task of; 0: none */
	double trial_since_us;
	double waits_since_us; /**< has found nothing that it wants since then; 0: has a task */
	unsigned long waits_starts; /**< tasks that other classes had started by then */
	/** Will look again then for what it left to others; 0: when it is woken. */
	_Atomic double look_at_us;
	_Atomic double roused_us; /**< StarPU gave it a task past the policy, the last time */
	unsigned class;           /**< of devices */
	/* The worker's own. */
	bool accelerator;
	bool pool_last;       /**< its last task was of the pool */
	bool comes;           /**< it has asked for more since it began its last task */
	atomic_bool blocks;   /**< it asks only when it has nothing under way; others read it */
	bool rested;          /**< has found nothing to do since it ended a task */
	double idle_since_us; /**< under a plan, nothing has been pushed since then; 0: not known */
	unsigned passes;      /**< tasks in a row that it took before others of a higher priority */
	unsigned pushed;      /**< tasks of the context by then */
	double choosing_us;   /**< time that it took to choose tasks since then */
	/** Of tasks that only cores can run: the one that it took last, if it has not ended; the
	 * one whose time is wanted, or NULL; how many it took. */
	const struct starpu_task *plain, *sample;
	unsigned taken;
	unsigned node;
	unsigned started, done;             /**< tasks of the policy */
	double taken_us[READY_PIPELINE];    /**< when tasks under way were taken, by their number */
	double start_us[READY_PIPELINE];    /**< when they began */
	double expected_us[READY_PIPELINE]; /**< their estimated times */
	double after_us[READY_PIPELINE];    /**< from their ends to the end of all */
	double fetch_us[READY_PIPELINE];    /**< how long their inputs travel, under a plan … */
	double asked_us[READY_PIPELINE];    /**< … which was asked for then */
	unsigned arrived;                   /**< tasks whose inputs are known to be there */
	/** Tasks begun. Ends come in the same order, but for those that end in the callback of
	 * another task, maybe of another worker (starpu_task_end_dep_add()). */
	unsigned begun;
	const struct starpu_task *running[READY_PIPELINE]; /**< begun, never dereferenced */
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
		unsigned long type;
		int cost;
		double least_us, most_us; /* surely within one step of it */
		double at_us;
	} published[READY_PUBLISHED]; /**< costs that this worker gave the pool last */
} __attribute__((aligned(64)));

struct ready_plan;
struct ready_local;
struct ready_record;

/** Lengths of queues over time (HEDDLE_QUEUE_LOG). */
struct ready_log {
	bool on;
	double begin_us;
	size_t n, room;
	struct ready_record *records;
};

/** What polling workers read is on cache lines that others seldom write. */
struct ready_context {
	/* Does not change. */
	unsigned id;
	struct ready_traits traits;
	struct heddle_pool *pool;
	unsigned nworkers; /**< of the machine */
	unsigned nclasses; /**< of devices, of the machine */
	unsigned reference;
	unsigned accelerators; /**< bit k: the workers of class k are no cores */
	bool choosing;         /**< sorted, and there are several classes */
	bool cores_only;       /**< all workers are cores of one memory: nobody chooses or claims */
	bool patient;          /**< workers may leave tasks to others */
	/** Under the policy heddle: the memories of accelerators; none where they share one. */
	unsigned memories[STARPU_MAXNODES], nmemories;
	struct ready_plan *plan;             /**< NULL: workers choose for themselves */
	struct ready_local *local;           /**< NULL without a plan */
	struct ready_pace *pace;             /**< NULL: no class has several memories */
	uint32_t where[HEDDLE_POOL_CLASSES]; /**< masks of StarPU for each class */
	/** That of all others than cores; 0: tasks of cores are not told apart. */
	uint32_t others_where;
	struct waiters crew[HEDDLE_POOL_CLASSES]; /**< the workers of each class */
	bool mixed[HEDDLE_POOL_CLASSES];          /**< workers of several types share a class */
	int prefetch; /**< claims of an accelerator; below 0: automatic */
	unsigned depth;
	/** In each memory: the data of claims, and of what workers of local queues have ahead. */
	atomic_size_t fetched_bytes[STARPU_MAXNODES];

	_Alignas(64) struct waiters waiters;
	/** When the next plan that looks at everything is due. */
	_Atomic double full_due_us;
	/** From the end of one task of an accelerator to that of the next, beside the time of the
	 * task and that of choosing it: starting it, and waiting for its input. */
	_Atomic double gap_us[HEDDLE_POOL_CLASSES];
	/** How long an accelerator that had nothing else to do waited for a task's inputs, in the
	 * mean of all its tasks. */
	_Atomic double wait_us[HEDDLE_POOL_CLASSES];
	_Atomic size_t memory_least; /**< of an accelerator; 0: not looked yet */
	atomic_size_t
	    most_bytes; /**< of a task's data, unless only cores can run it; 0: none has come */
	atomic_bool too_large_told; /**< that a task fits no device */
	atomic_uint rests;          /**< bit k: the workers of class k have no part, under a plan */
	/** Nothing depends on the tasks of late: workers choose as without a plan. */
	atomic_bool stream;
	atomic_bool cores; /**< there is no task that others than cores could run */

	/** Tasks on their way, in the pool and claimed; not those of local queues. */
	_Alignas(64) atomic_size_t unstarted;
	/** Under a plan: tasks so far. It wraps around. */
	atomic_uint pushed;
	/** Workers that have a sample, and what the last ones took, in the mean; 0: none yet. */
	atomic_uint samples;
	_Atomic double core_us;
	/** Tasks that others than cores could run, submitted and not ended, or not begun if StarPU
	 * gives them a worker past the policy; tasks of cores that were submitted since there were
	 * such. */
	atomic_long others;
	atomic_uint row;
	/** Of these others such as have become ready, and not ended; short tasks of cores that have
	 * become ready since there were such. */
	atomic_long ready_others;
	atomic_uint ready_row;
	atomic_bool ahead; /**< tasks of cores are all that is ready, and others come later */
	/** Tasks that have become ready and are not in the pool yet, the last one first. */
	struct starpu_task *_Atomic inbox;

	/** Guards what follows, the pool, and what ready_worker says. Tasks are handed in without
	 * it. */
	_Alignas(64) starpu_pthread_mutex_t mutex;
	atomic_uint urgent; /**< accelerators that wait for it */
	unsigned members;   /**< of the context, when they were counted; 0: since changed */
	unsigned count[HEDDLE_POOL_CLASSES]; /**< of each class */
	struct claims claims;
	double claimed_us[HEDDLE_POOL_CLASSES]; /**< load of all claims on each class */
	/** Under a plan: the longest time of a class for each byte of a task, of the types that it
	 * has run; 0: none. */
	double us_per_byte[HEDDLE_POOL_CLASSES];
	double least_us_per_byte; /**< the shortest, of all classes */
	/** The least speed of each class with tasks that state operations; 0: none so far. */
	double flops_per_us[HEDDLE_POOL_CLASSES];
	/** Types whose first run on each class has loaded something, and those where it has not. */
	unsigned loading[HEDDLE_POOL_CLASSES], plain[HEDDLE_POOL_CLASSES];
	unsigned ntrials;    /**< workers that run one */
	unsigned long looks; /**< plans that have looked at types */
	bool moves;          /**< the one under way has found out something new */
	struct ready_starts {
		unsigned long n;
		double last_us;
	} starts[HEDDLE_POOL_CLASSES]; /**< of tasks, on each class */
	double busy_since_us;          /**< since then tasks have been waiting all the time */
	size_t most;                   /**< of them at a time, since then */
	bool flat;                     /**< under a plan: nothing depends on the tasks of late */
	bool special;                  /**< there were tasks that not all of a class can run */
	/** Tasks that were handed in and are not in the pool, the first one first: it had no memory
	 * for them, or need not have them. */
	struct starpu_task *late, *latest;
	bool late_alike; /**< they are of no worker in particular, and of one priority */
	/** What the pool was given last. */
	struct {
		bool plain; /**< of no worker in particular */
		int priority;
		uint32_t where;
	} last;
	struct ready_log log;
	struct ready_type types[READY_TYPES];
	/** Which class started a task of a type last, and 1; 0: none, or forgotten. */
	atomic_uchar taker[READY_TAKERS];
	struct ready_worker workers[];
};

static inline struct ready_context *ready_context(unsigned ctx)
{
	return starpu_sched_ctx_get_policy_data(ctx);
}

/** Bit k: class k can run a task, as far as its codelet says. */
static inline unsigned ready_task_classes(const struct ready_context *c,
                                          const struct starpu_task *task)
{
	unsigned classes = 0;

	for (unsigned k = 0; k < c->nclasses; k++)
		if ((uint32_t)task->where & c->where[k])
			classes |= 1u << k;
	return classes;
}

/** Place of a task type in a table of n. */
static inline size_t ready_type_place(unsigned long type, size_t n)
{
	return (type * 0x9e3779b97f4a7c15u >> 40) % n;
}

/** Looks at tasks one after the other, for what is missing in a memory. */
struct ready_looks {
	double begin_us;
	unsigned n;
	bool over; /**< they have taken too long */
};

/** A worker that asks for a task. */
struct ready_requester {
	struct ready_context *c;
	unsigned id;
	double now_us;
	double look_at_us; /**< out: when it may want what it left to others now; 0: left nothing */
	int trying;        /**< class that has claimed the task in question for a trial; -1: none */
	int left;  /**< out: who had asked for the input of the task that it takes; -1: nobody */
	bool full; /**< its plan looks at everything */
	bool near; /**< it has something: only what has its home in the worker's memory is better */
	struct ready_looks looks; /**< at tasks of the pool, where it goes by what is missing */
};

/** Whether a worker may take a task before others of a higher priority. */
static inline bool ready_may_pass(const struct ready_worker *worker)
{
	return worker->passes < READY_PASSES;
}

/** Notes whether it has. */
static inline void ready_pass_note(struct ready_worker *worker, bool passes)
{
	worker->passes = passes ? worker->passes + 1 : 0;
}

/** Takes the mutex for a worker; under a plan others make way for an accelerator. */
static inline void ready_lock(struct ready_context *c, unsigned id)
{
	bool urgent = c->plan && c->workers[id].accelerator;

	if (urgent)
		atomic_fetch_add_explicit(&c->urgent, 1, memory_order_relaxed);
	policy_lock(&c->mutex);
	if (urgent)
		atomic_fetch_sub_explicit(&c->urgent, 1, memory_order_relaxed);
}

/** Whether the workers of a class have no part: they would save less time than it takes to choose.
 * They still do what nobody else can. */
static inline bool ready_rests(const struct ready_context *c, unsigned class)
{
	return atomic_load_explicit(&c->rests, memory_order_relaxed) >> class & 1;
}

/** Whether tasks of cores are all that there is. */
static inline bool ready_cores_alone(const struct ready_context *c)
{
	return atomic_load(&c->cores);
}

/** Whether a worker goes by what is in its memory: that cannot hold all data. */
bool ready_goes_by_memory(const struct ready_context *c, const struct ready_worker *worker);

/** Whether plans say who takes what. */
static inline bool ready_is_planned(const struct ready_context *c)
{
	return c->plan && !atomic_load_explicit(&c->stream, memory_order_relaxed);
}

/** Whether workers count what must travel when they choose, as plans do. */
static inline bool ready_counts_transfers(const struct ready_context *c)
{
	return c->plan && c->patient && !ready_is_planned(c);
}

/** The starts of tasks on other classes than one. */
static inline struct ready_starts ready_others_starts(const struct ready_context *c, unsigned class)
{
	struct ready_starts starts = {0};

	for (unsigned k = 0; k < c->nclasses; k++)
		if (k != class) {
			starts.n += c->starts[k].n;
			starts.last_us = fmax(starts.last_us, c->starts[k].last_us);
		}
	return starts;
}

/** Whether an accelerator waits for the mutex. */
static inline bool ready_is_urgent(const struct ready_context *c)
{
	return atomic_load_explicit(&c->urgent, memory_order_relaxed);
}

/* ---- ready_push_starpu.c ---- */

/** Hook push_task. */
int ready_push(struct starpu_task *task);

/** Whether tasks have been handed in that are not in the pool. */
bool ready_inbox_waits(struct ready_context *c);

/** The memory of accelerators that has the most of a task's data; 0: none, or another one has as
 * much. The mutex need not be held. */
unsigned ready_home(const struct ready_context *c, struct starpu_task *task);

/** Puts what was handed in into the pool, in order; the mutex is held. */
void ready_inbox_empty(struct ready_context *c);

/** The same, and nobody asks what is known of tasks that cores alone can run. */
void ready_inbox_empty_plainly(struct ready_context *c);

/** Takes the oldest task, of what was handed in and need not go through the pool: all that waits is
 * alike. The mutex is held.
 * @return NULL: the pool says what there is, or the worker cannot run the task */
struct starpu_task *ready_inbox_oldest(struct ready_context *c, unsigned id);

/** Puts tasks, chained, behind others that are not in the pool. The mutex is held. */
void ready_late_add(struct ready_context *c, struct starpu_task *first);

/* ---- ready_take_starpu.c ---- */

/** Hook pop_task. */
struct starpu_task *ready_pop(unsigned ctx);

/** A worker starts a task from elsewhere: wakes another for what is left. */
void ready_pass_on(struct ready_context *c, unsigned id);

/* ---- ready_cores_starpu.c ---- */

void ready_cores_init(struct ready_context *c);

/** Whether any core may run a task, and nobody else. */
bool ready_cores_run(const struct ready_context *c, const struct starpu_task *task);

/** A task was submitted. The mutex is not held, in what follows, too. */
void ready_cores_submitted(struct ready_context *c, const struct starpu_task *task);

/** A task has become ready.
 * @return whether it goes the short way of those that cores alone can run */
bool ready_cores_ready(struct ready_context *c, const struct starpu_task *task);

/** The same of one that does not, and that cores alone can run.
 * @param estimates of all classes */
void ready_cores_row(struct ready_context *c, const struct starpu_task *task,
                     const struct heddle_estimate *estimates);

/** A core took so long for one that did, us: if they are not short any more, and others are to
 * come, the short way ends. */
void ready_cores_took(struct ready_context *c, double us);

/** A task was found to fit no accelerator, which could run it before. */
void ready_cores_fit(struct ready_context *c, const struct starpu_task *task, int32_t before);

/** A task of the policy has ended. */
void ready_cores_ended(struct ready_context *c, const struct starpu_task *task);

/** A task begins that StarPU has given a worker past the policy. */
void ready_cores_passed(struct ready_context *c, const struct starpu_task *task);

/** There are other tasks than those of cores. */
void ready_cores_end(struct ready_context *c);

/** Some is left, or may be: for which core that waits? The mutex is held. */
void ready_cores_wake_list_make(struct ready_context *c, struct wake_list *list);

/** Takes the first task, where all are of cores, for a core, or has it wait. The mutex is held. */
struct starpu_task *ready_cores_take(struct ready_context *c, unsigned id);

/* ---- ready_pace_starpu.c; the mutex is held, where nothing else is said ---- */

/** @return 0; -ENOMEM */
int ready_pace_create(struct ready_context *c);
void ready_pace_destroy(struct ready_context *c);

/** Asks StarPU's models about a new type. */
void ready_pace_ask(struct ready_context *c, const struct ready_type *type,
                    struct starpu_task *task);

/** How many times as long tasks of a type take on workers as on their class.
 * @param ids of n workers
 * @return for each of them; NULL: all are alike */
const double *ready_paces(const struct ready_context *c, const struct ready_type *type,
                          const unsigned *ids, size_t n);

/* ---- ready_transfer_starpu.c ---- */

/** Time to transfer a piece of data to a memory, us; 0: it is there, or on its way. */
double ready_data_us(starpu_data_handle_t handle, unsigned node);

/** The same for all that a task reads. */
double ready_fetch_us(struct starpu_task *task, unsigned node);

/** Whether data that is sent to a memory takes the place of other data there. */
bool ready_memory_is_short(const struct ready_context *c, unsigned node);

/** How much of a piece of data is not in a memory, and not on its way: all, or nothing. */
size_t ready_missing_data(starpu_data_handle_t handle, unsigned node);

/** How much of what a task reads is not in a memory, and not on its way.
 * @param most what is more need not be exact */
size_t ready_missing_bytes(struct starpu_task *task, unsigned node, size_t most);

/** Whether who looks at several tasks looks at one more: not once the looks have taken some 20 us,
 * as caches may be cold, and others wait. */
bool ready_looks_on(struct ready_looks *looks);

/** What is missing of one of several tasks; SIZE_MAX once the looks are over. */
size_t ready_look(struct ready_looks *looks, struct starpu_task *task, unsigned node, size_t most);

/** Time to transfer what a task writes from a memory to the main one, us. */
double ready_return_us(struct starpu_task *task, unsigned node);

/* ---- ready_plan_starpu.c; the mutex is held, where nothing else is said ---- */

/** @return 0; -ENOMEM */
int ready_plan_create(struct ready_context *c);
void ready_plan_destroy(struct ready_context *c);

/** A task was submitted. The mutex is not held. */
void ready_plan_submitted(struct ready_context *c);

/** Tasks come, and nothing else is under way: the program may have gone on to another part, whose
 * first tasks tell anew whether it is a stream. */
void ready_plan_look_anew(struct ready_context *c);

/** Where a task stands among those of its priority: the time from its end to the end of all, us. */
int ready_plan_rank(struct ready_context *c, struct starpu_task *task);

/** Whether tasks are so short that it counts what a plan costs. The mutex need not be held. */
bool ready_plan_is_brief(const struct ready_context *c);

/** For the time being nobody plans: all that is known of tasks ahead is forgotten, and nobody
 * rests.
 */
void ready_plan_leave(struct ready_context *c);

/** How many tasks of a type have not started, as far as the graph is known. */
double ready_plan_ahead(const struct ready_context *c, unsigned long type);

/** Time until everything could be done at the earliest, by the last plan, us. */
double ready_plan_left_us(const struct ready_context *c);

/** Makes a plan: workers claim what they can begin now.
 * @return whether it is whole: cores give way to accelerators that wait for the mutex */
bool ready_plan_make(struct ready_requester *requester);

/** Decides now and then who takes part where no plan does: in a stream with several memories, where
 * it also decides whether it is one still, and where workers are alike and sleep instead of
 * polling.
 */
void ready_plan_weigh(struct ready_context *c, double now_us);

/** Makes a plan for those that wait, if tasks have come since the last one. */
void ready_plan_renew(struct ready_context *c);

/** Whether it is time for another plan, of a worker that asks: they are not to take long together,
 * and an accelerator with claims enough need not wait for one. */
bool ready_plan_is_due(const struct ready_requester *requester);

/** Whether a plan that looks at everything is due. The mutex is not held. */
bool ready_plan_full_is_due(const struct ready_context *c, double now_us);

/** The same; who gets true is the only one, and makes that plan. */
bool ready_plan_full_begin(struct ready_context *c, double now_us);

/** Whether a worker may choose a task between two plans: an accelerator may, unless a worker of
 * another class ends it earlier, and who alone can do it, or did such a task last; and anybody if
 * nothing depends on the task. */
bool ready_plan_leaves(struct ready_context *c, const struct heddle_pool_key *key, unsigned id);

/** Whether no task has come since the last plan: who got nothing by it has nothing to do. */
bool ready_plan_is_current(const struct ready_context *c);

/** Finds a claim of another worker that a worker would have done before its owner begins it.
 * @param least nothing of a lower priority
 * @param[out] owner, index of the claim
 * @return whether there is one */
bool ready_plan_late(struct ready_requester *requester, int least, unsigned *owner, size_t *index);

/** A worker starts a task.
 * @param arrival_us when its inputs are expected
 * @return how long it will wait for them, us */
double ready_plan_started(struct ready_context *c, unsigned id, const struct starpu_task *task,
                          double arrival_us, double now_us);

/** Estimates have changed.
 * @param ranks those that ranks count with, too
 * @param first there was none for the type */
void ready_plan_learned(struct ready_context *c, bool ranks, bool first);

/* ---- ready_local_starpu.c ---- */

/** @return 0; -ENOMEM */
int ready_local_create(struct ready_context *c);
void ready_local_destroy(struct ready_context *c);

/** Whether tasks go into local queues. */
bool ready_local_is_open(const struct ready_context *c);

/** Whether workers have joined or left the context since the queues were opened: they are to be
 * closed. */
bool ready_local_is_stale(const struct ready_context *c);

/** Workers join or leave now. */
void ready_local_members_change(struct ready_context *c);

/** Whether there are tasks in local queues. */
bool ready_local_any(const struct ready_context *c);

/** The class whose workers find a task that becomes ready in a local queue; -1: it does not belong
 * there. The mutex is not held.
 * @param estimates of all classes
 * @param classes bit k: class k can run it */
int ready_local_class(const struct ready_context *c, const struct starpu_task *task,
                      const struct heddle_estimate *estimates, unsigned classes);

/** Puts such a task there. The mutex need not be held.
 * @param home the memory that has the most of its data; 0: none
 * @return false: the queues are not those of that class any more, or there is no memory */
bool ready_local_put(struct ready_context *c, struct starpu_task *task, unsigned class,
                     unsigned home, unsigned long type, unsigned classes);

/** Wakes a worker for what is there, first those with a memory. The mutex is not held. */
void ready_local_wake(struct ready_context *c, unsigned home);

/** Takes a worker's next task from there. The mutex is not held.
 * @return NULL: there is nothing for it */
struct starpu_task *ready_local_take(struct ready_context *c, unsigned id);

/** A worker begins something else, nobody knows for how long: others may take the tasks of its
 * memory. The mutex is not held. */
void ready_local_hold(struct ready_context *c, unsigned id);

/** From now on tasks of which the times on a class are known go there; so do those of the pool. The
 * mutex is held, in what follows, too. */
void ready_local_open(struct ready_context *c, unsigned class);

/** No longer: they go into the pool. */
void ready_local_close(struct ready_context *c);

/** The types of tasks that came since the last time, if there were enough of them.
 * @param least so many
 * @param us how many come in that time, at that pace
 * @param[out] types, numbers HEDDLE_GRAPH_TYPES of them; times are not known (-1), or 0
 * @return how many; 0: too few tasks have come */
size_t ready_local_types(struct ready_context *c, double least, double us,
                         struct heddle_area_type *types, unsigned long *numbers);

/** How long, at the longest, a task has been waiting in a queue from which nobody took any, us. */
double ready_local_still_us(const struct ready_context *c, double now_us);

/* ---- ready_done_starpu.c ---- */

/** A core takes a task, where there are only such of cores: decides whether its time is wanted. The
 * mutex is held. */
void ready_sample_choose(struct ready_context *c, unsigned id, const struct starpu_task *task);

/** Hooks around the execution. */
void ready_pre_exec(struct starpu_task *task, unsigned ctx);
void ready_post_exec(struct starpu_task *task, unsigned ctx);

/* ---- ready_value_starpu.c; the mutex is held ---- */

/** Size of a task's data. */
size_t ready_task_bytes(struct starpu_task *task);

/** The key of a task in the pool.
 * @param choosing with what is estimated of it */
void ready_task_key(struct ready_context *c, struct starpu_task *task, bool choosing,
                    struct heddle_pool_key *key);

/** Estimated time of a queue's tasks on a class, for a plan, us; 0: it should not have one.
 * @param[out] trial whether the class would be tried with it */
double ready_planned_us(struct ready_context *c, const struct heddle_pool_key *key, unsigned class,
                        bool *trial);

/** Whether a worker may run a task of a type. Where workers of its class have only had first runs,
 * which may load something, and a core is faster, the first of them alone may: its second run tells
 * how long a task takes. */
bool ready_may_repeat(struct ready_context *c, const struct heddle_pool_key *key, unsigned id);

/** What a class takes at the most for a task of which it has run none, us; 0: no idea. */
double ready_longest_us(struct ready_context *c, const struct heddle_pool_key *key, unsigned class);

/** Whether a worker of another class ends a task before a worker does that begins it now, by what
 * is known, or by how long a plan takes a trial to be. */
bool ready_other_ends_first(struct ready_context *c, const struct heddle_pool_key *key,
                            unsigned id);

/** Whether a class need not try a task: it rests although it was hoped to be fast, by the
 * operations that the task states. */
bool ready_is_ruled_out(struct ready_context *c, const struct heddle_pool_key *key, unsigned class);

/** Puts what is known of a type by now into times of which those below 0 were not known, us. Not
 * where none was: accelerators may be loading, and cores are not all that there is. */
void ready_type_times(struct ready_context *c, unsigned long id, double *us);

/** What a class takes for a task of a type when nothing holds it up, us; 0: not known. */
double ready_least_us(struct ready_context *c, unsigned long id, unsigned class);

/** What a fast core would take for a task of a type, by the operations that the type's tasks state,
 * us; -1: they state none. */
double ready_hoped_us(struct ready_context *c, unsigned long type);

/** Whether a worker should take tasks of a queue of the pool, the first of which became ready
 * then: doc/internals/policies.md, "Leaving tasks to faster devices".
 * @param task the first of them
 * @param requester struct ready_requester */
bool ready_wants(const struct heddle_pool_key *key, void *task, double since_us, void *requester);

/** Whether a class has run tasks of a queue's type. */
bool ready_is_measured(struct ready_context *c, const struct heddle_pool_key *key, unsigned class);

/** Whether a class wants a task because it knows nothing of it. */
static inline bool ready_is_trial(const struct heddle_pool_key *key, unsigned class)
{
	return key->gain[class] == HEDDLE_POOL_UNKNOWN;
}

/** Whether a class takes a task for want of anything better, although a trial seemed too long. */
bool ready_is_bet(struct ready_context *c, const struct heddle_pool_key *key, unsigned class);

/** Looks at what tasks with other parameters have told since then of a queue's type.
 * @return whether that has moved the queue */
bool ready_type_renew(struct ready_context *c, const struct heddle_pool_key *key);

/** The type that a key names. */
struct ready_type *ready_type_of(struct ready_context *c, unsigned long id);

/** The same in a plan, during which the pool does not change. */
void ready_type_look(struct ready_context *c, const struct heddle_pool_key *key);

/** Ends a plan: moves the queues of which it has found out something new. */
void ready_types_move(struct ready_context *c);

/** A worker is about to take such a task, the first of its type on the worker's class. */
void ready_trial_begin(struct ready_requester *requester, const struct heddle_pool_key *key);

/** The same, if it is bearable.
 * @return false: it would take too long, and the type is deferred on the class */
bool ready_trial_weigh(struct ready_requester *requester, const struct heddle_pool_key *key);

/** A worker starts that task. */
void ready_trial_started(struct ready_context *c, unsigned id, const struct heddle_pool_key *key,
                         double now_us);

/** Takes into account how long trials have been running. */
void ready_trials_age(struct ready_context *c, double now_us);

/** That task went to another class. */
void ready_trial_cancel(struct ready_context *c, const struct heddle_pool_key *key, unsigned class);

/** A worker has run a task of a type.
 * @param estimates of the type, since then */
void ready_type_measured(struct ready_context *c, unsigned id, unsigned long type, double us,
                         const struct heddle_estimate *estimates);

/** claims_add() and claims_remove(), with the load that they are to each class. */
void ready_claim_add(struct ready_context *c, unsigned id, const struct claim *claim);
void ready_claim_remove(struct ready_context *c, unsigned id, size_t i, struct claim *claim);

/** A worker has left the context. */
void ready_claims_give_back(struct ready_context *c, unsigned id);

/* ---- ready_queue_starpu.c ---- */

void ready_queue_init(struct ready_context *c, unsigned id);

/** How many tasks a worker claims beside the one that it starts; the mutex is held, where
 * Algorithm 1 counts. */
unsigned ready_queue_target(const struct ready_context *c, const struct ready_worker *worker);

/** How much more data may be fetched ahead into a memory; SIZE_MAX: its size is not known. */
size_t ready_queue_room(const struct ready_context *c, unsigned node);

/** A worker starts a task, its own claim or not (NULL); the mutex is held. */
void ready_queue_started(struct ready_context *c, struct ready_worker *worker,
                         const struct heddle_pool_entry *entry, const struct claim *claim,
                         double now_us);

/** Sends transfer requests; the mutex is not held. */
void ready_queue_fetch(struct ready_context *c, unsigned id, struct claims_requests *requests);

/** A task begins to run: its input has arrived. */
void ready_queue_running(struct ready_worker *worker, const struct starpu_task *task);

/** It has ended after so many µs. The mutex is not held: only the worker itself counts. */
void ready_queue_done(const struct ready_context *c, struct ready_worker *worker, double us);

/** A worker found nothing to do. */
void ready_queue_idle(struct ready_worker *worker);

void ready_queue_log_begin(struct ready_context *c);

/** Notes the length of a worker's queue, which has just taken a task; the mutex is held. */
void ready_queue_log(struct ready_context *c, unsigned id, double now_us);

/** Writes and frees the log. */
void ready_queue_log_write(struct ready_context *c);

#endif
