/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What every policy needs of StarPU: its lock, a task's key in the pool, the choice of an
 * implementation, and waking workers. A worker waits in a context when its last look found nothing
 * that it could run. No worker waits while a task that it can run has not been started:
 *  - who adds a task wakes a waiting worker that can run it;
 *  - who takes a task, or starts one that did not come from the policy, wakes a further one when
 *    work is left for it.
 */
#ifndef HEDDLE_SCHED_POLICIES_COMMON_STARPU_H
#define HEDDLE_SCHED_POLICIES_COMMON_STARPU_H

#include <stdatomic.h>
#include <stdbool.h>

#include "support/starpu_compat.h"
#include "sched_policies/pool.h"

#define WAITERS_PER_WORD (8 * sizeof(unsigned long))
#define WAITERS_WORDS ((STARPU_NMAXWORKERS + WAITERS_PER_WORD - 1) / WAITERS_PER_WORD)

/** The workers that wait in a context; zero-initialise. */
struct waiters {
	atomic_ulong words[WAITERS_WORDS];
};

void waiters_add(struct waiters *waiters, unsigned worker);
/** @return whether it was waiting */
bool waiters_remove(struct waiters *waiters, unsigned worker);
static inline bool waiters_has(const struct waiters *waiters, unsigned worker)
{
	return atomic_load(&waiters->words[worker / WAITERS_PER_WORD]) >>
	           worker % WAITERS_PER_WORD &
	       1;
}
bool waiters_any(const struct waiters *waiters);
/** Whether one of some workers waits. */
bool waiters_any_of(const struct waiters *waiters, const struct waiters *some);
/** Whether a worker need not look for work: its last look found nothing and nobody has woken it
 * since, or no task is there at all. Then it waits from now on.
 * @param unstarted tasks that no worker has started */
bool waiters_stay(struct waiters *waiters, unsigned worker, const atomic_size_t *unstarted);

/** Workers to be woken once the lock is free. */
struct wake_list {
	unsigned n;
	unsigned workers[STARPU_NMAXWORKERS];
};

/** Wakes workers of the list until one that belongs to no other context has
 * really been woken. The policy's lock must not be held. */
void wake_list_wake(const struct wake_list *list, struct waiters *waiters);

/** Ends the sleep of policy_let_others(), if a worker sleeps. StarPU is not told: the worker would
 * look by itself sooner or later. A policy's lock may be held. */
void waiters_rouse(struct waiters *waiters, unsigned worker);

/** Whether waiting workers poll: what they can see without the lock, nobody need wake them for. */
#if defined(STARPU_NON_BLOCKING_DRIVERS) && !defined(STARPU_SIMGRID)
#define POLICY_WORKERS_POLL true
#else
#define POLICY_WORKERS_POLL false
#endif

/** What every policy does with workers that join its context (hook add_workers):
 * they are awake afterwards. Policies do not call
 * starpu_sched_ctx_worker_shares_tasks_lists(): it makes a worker that leaves give
 * up its place in StarPU's lists when it ends a task, where StarPU 1.3 lets another
 * thread change the same lists (double free). Otherwise the worker leaves after its
 * next, empty-handed, pop_task, where changes are locked out. */
void waiters_joined(struct waiters *waiters, unsigned ctx, const int *workers, unsigned n);

/** Takes a policy's lock; StarPU may change contexts while a worker waits for it,
 * so who asks about membership asks afterwards. */
void policy_lock(starpu_pthread_mutex_t *mutex);

/** Takes a lock if it is free soon. @return whether it has it */
bool policy_trylock(starpu_pthread_mutex_t *mutex);

/** Takes a lock that is never held for longer than some hundred nanoseconds. Contexts do not change
 * meanwhile; other locks may be held. */
void policy_lock_briefly(starpu_pthread_mutex_t *mutex);

/** For a worker that looks for work in vain: it lets other threads have its core. There are
 * as many workers as cores, and they poll, those of accelerators too: the program's own
 * thread, when it is woken because what it waited for is done, would have to wait for the
 * end of a worker's time slice, some milliseconds. Meanwhile StarPU can give the worker
 * tasks and change its contexts.
 * @param waiters those of its context; only read if it sleeps
 * @param nap_us it sleeps for so long (below a second), or until somebody takes it off the waiting
 * workers; 0: it does not sleep */
void policy_let_others(unsigned worker, const struct waiters *waiters, unsigned nap_us);

/** A worker asks a context for a task: the policy's data of it stay until the worker has asked. A
 * worker that was removed from a context asks it once more, and the program may delete the context
 * meanwhile.
 * @return NULL: the context is gone, or is about to go */
void *policy_ask_begin(unsigned ctx, unsigned worker);
/** @param task that it gets; NULL: none */
void policy_ask_end(unsigned ctx, unsigned worker, const struct starpu_task *task);

/** Workers leave a context that is about to end (hook remove_workers): they do not ask it again. */
void policy_leave(unsigned ctx, const int *workers, unsigned n);

/** At the end of a context, before the policy's data of it go: waits until those that were removed
 * from it have asked it once more, but for at most 0.1 s, and nobody asks it. */
void policy_end(unsigned ctx);

/** At the beginning of a context: lets programs use any priority unless they set bounds. Names
 * variables that Heddle cannot use, the first time. */
void policy_begin(unsigned ctx);

/** Tag of a task in the pool. */
unsigned long policy_task_tag(const struct starpu_task *task);

/** Whether a task is one of StarPU's own of which it tells a policy that it begins, but not that it
 * ends: a copy, a part of a reduction, an allocation, a conversion. Their names alone tell, and a
 * program may give its tasks such names. */
bool policy_is_silent(const struct starpu_task *task);

/** heddle_pool_accept for tasks; arg points to the worker's number. */
bool policy_accepts(void *task, void *worker);

/** Gives a task that a worker is about to run the implementation with the
 * shortest expected time, or one whose time is not known yet. */
void policy_choose_implementation(struct starpu_task *task, unsigned worker, unsigned ctx);

#endif
