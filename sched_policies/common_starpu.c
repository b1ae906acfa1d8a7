/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/variables.h"
#include "sched_policies/common_starpu.h"

void waiters_add(struct waiters *waiters, unsigned worker)
{
	atomic_fetch_or(&waiters->words[worker / WAITERS_PER_WORD],
	                1UL << worker % WAITERS_PER_WORD);
}

bool waiters_remove(struct waiters *waiters, unsigned worker)
{
	unsigned long bit = 1UL << worker % WAITERS_PER_WORD;

	return waiters_has(waiters, worker) &&
	       (atomic_fetch_and(&waiters->words[worker / WAITERS_PER_WORD], ~bit) & bit);
}

bool waiters_any(const struct waiters *waiters)
{
	for (unsigned i = 0; i < WAITERS_WORDS; i++)
		if (atomic_load(&waiters->words[i]))
			return true;
	return false;
}

bool waiters_any_of(const struct waiters *waiters, const struct waiters *some)
{
	for (unsigned i = 0; i < WAITERS_WORDS; i++)
		if (atomic_load(&waiters->words[i]) &
		    atomic_load_explicit(&some->words[i], memory_order_relaxed))
			return true;
	return false;
}

bool waiters_stay(struct waiters *waiters, unsigned worker, const atomic_size_t *unstarted)
{
	if (waiters_has(waiters, worker))
		return true;
	if (atomic_load(unstarted))
		return false;
	/* Announced before the second look: who adds a task after it sees that this
	 * worker waits. */
	waiters_add(waiters, worker);
	return !atomic_load(unstarted);
}

#ifndef HEDDLE_USE_SIMGRID
/* Workers that sleep, and the end of it; and the context that a worker asks for a task. */
static struct {
	_Alignas(64) pthread_mutex_t mutex;
	pthread_cond_t end;
	atomic_bool sleeps;
	atomic_uint asks;   /* number of the context, and 1; 0: none */
	atomic_ulong asked; /* bit k: it belongs to context k, or will ask it once more */
} naps[STARPU_NMAXWORKERS] = {[0 ... STARPU_NMAXWORKERS - 1] = {PTHREAD_MUTEX_INITIALIZER,
                                                                PTHREAD_COND_INITIALIZER, false, 0,
                                                                0}};
/* So many contexts wait until nobody asks them. */
static atomic_uint ending;
/* They wait for a worker at the most so long, us: it may run a task of another context. */
#define ENDS 100000
_Static_assert(STARPU_NMAX_SCHED_CTXS <= 8 * sizeof(unsigned long), "a context has no bit");

static void asked_set(unsigned ctx, const int *workers, unsigned n, bool asks)
{
	for (unsigned i = 0; i < n; i++)
		if (asks)
			atomic_fetch_or(&naps[workers[i]].asked, 1UL << ctx);
		else
			atomic_fetch_and(&naps[workers[i]].asked, ~(1UL << ctx));
}
#endif

/* A worker that was taken off the waiting ones does not sleep any more. */
static void nap_end(unsigned worker)
{
#ifndef HEDDLE_USE_SIMGRID
	if (atomic_load(&naps[worker].sleeps)) {
		pthread_mutex_lock(&naps[worker].mutex);
		pthread_cond_broadcast(&naps[worker].end);
		pthread_mutex_unlock(&naps[worker].mutex);
	}
#else
	(void)worker;
#endif
}

/* Whether a waiting worker is now certain to look for work. */
static bool worker_wake(unsigned worker)
{
	nap_end(worker);
#if defined(STARPU_SIMGRID)
	/* starpu_wake_worker_relax_light() trusts a worker that is just looking for work to see
	 * it, but a simulated one does not look twice. Nobody else runs: no lock is needed. */
	starpu_wake_worker_locked(worker);
	return true;
#elif !defined(STARPU_NON_BLOCKING_DRIVERS)
	return starpu_wake_worker_relax_light(worker);
#else
	/* Its driver polls; being taken off the list was all it waited for. */
	return true;
#endif
}

void wake_list_wake(const struct wake_list *list, struct waiters *waiters)
{
	for (unsigned i = 0; i < list->n; i++) {
		unsigned worker = list->workers[i];

		if (!waiters_remove(waiters, worker))
			continue;
		/* A worker of several contexts may find work in another first. */
		if (worker_wake(worker) && !starpu_sched_ctx_overlapping_ctxs_on_worker(worker))
			return;
	}
}

void waiters_rouse(struct waiters *waiters, unsigned worker)
{
#ifndef HEDDLE_USE_SIMGRID
	if (waiters_remove(waiters, worker))
		nap_end(worker);
#else
	(void)waiters;
	(void)worker;
#endif
}

void waiters_joined(struct waiters *waiters, unsigned ctx, const int *workers, unsigned n)
{
#ifndef HEDDLE_USE_SIMGRID
	asked_set(ctx, workers, n, true);
#else
	(void)ctx;
#endif
	for (unsigned i = 0; i < n; i++) {
		/* It may sleep, and tasks may be ready. */
		waiters_remove(waiters, workers[i]);
		if (workers[i] != starpu_worker_get_id())
			starpu_wake_worker_locked(workers[i]);
	}
}

/* Tries before a thread sleeps, each after a longer pause: about ten microseconds in
 * all, several times what a policy's lock is held for. */
#define TRIES 8

#ifndef STARPU_SIMGRID
static void cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#else
	atomic_signal_fence(memory_order_seq_cst);
#endif
}
#endif

bool policy_trylock(starpu_pthread_mutex_t *mutex)
{
#ifdef STARPU_SIMGRID
	/* Nobody runs while another one tries. */
	return !STARPU_PTHREAD_MUTEX_TRYLOCK(mutex);
#else
	for (int i = 0; i < TRIES; i++) {
		if (!STARPU_PTHREAD_MUTEX_TRYLOCK(mutex))
			return true;
		for (int pause = 0; pause < 1 << i; pause++)
			cpu_pause();
	}
	return false;
#endif
}

void policy_lock(starpu_pthread_mutex_t *mutex)
{
	/* Relaxing takes locks of its own, and who sleeps is woken late. */
	if (policy_trylock(mutex))
		return;
	starpu_worker_relax_on();
	STARPU_PTHREAD_MUTEX_LOCK(mutex);
	starpu_worker_relax_off();
}

void policy_lock_briefly(starpu_pthread_mutex_t *mutex)
{
#ifndef STARPU_SIMGRID
	if (policy_trylock(mutex))
		return;
#endif
	/* Simulated, nobody else has it, and StarPU 1.4 makes a mutex when it is first locked, not
	 * tried. */
	STARPU_PTHREAD_MUTEX_LOCK(mutex);
}

#ifndef HEDDLE_USE_SIMGRID
/* The time in so many us, below a second. */
static struct timespec time_in(unsigned us)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_nsec += us * 1000L;
	if (time.tv_nsec >= 1000000000) {
		time.tv_nsec -= 1000000000;
		time.tv_sec++;
	}
	return time;
}

/* Sleeps until somebody wakes the worker, or the time is over. */
static void nap(unsigned worker, const struct waiters *waiters, unsigned us)
{
	struct timespec until = time_in(us);
	int error = 0;

	pthread_mutex_lock(&naps[worker].mutex);
	atomic_store(&naps[worker].sleeps, true);
	while (!error && waiters_has(waiters, worker))
		error = pthread_cond_timedwait(&naps[worker].end, &naps[worker].mutex, &until);
	atomic_store(&naps[worker].sleeps, false);
	pthread_mutex_unlock(&naps[worker].mutex);
}
#endif

void policy_let_others(unsigned worker, const struct waiters *waiters, unsigned nap_us)
{
#ifndef HEDDLE_USE_SIMGRID
	starpu_worker_relax_on();
	if (nap_us)
		nap(worker, waiters, nap_us);
	sched_yield();
	starpu_worker_relax_off();
#else
	(void)worker;
	(void)waiters;
	(void)nap_us;
#endif
}

void *policy_ask_begin(unsigned ctx, unsigned worker)
{
#ifndef HEDDLE_USE_SIMGRID
	/* Announced before the look at the data: who ends the context takes them away first. */
	atomic_store(&naps[worker].asks, ctx + 1);
#else
	(void)worker;
#endif
	return starpu_sched_ctx_get_policy_data(ctx);
}

void policy_ask_end(unsigned ctx, unsigned worker, const struct starpu_task *task)
{
#ifndef HEDDLE_USE_SIMGRID
	/* The first context is there as long as StarPU. */
	if (ctx && !task && !starpu_sched_ctx_contains_worker(worker, ctx))
		asked_set(ctx, &(int){worker}, 1, false);
	atomic_store(&naps[worker].asks, 0);
	if (!atomic_load(&ending))
		return;
	pthread_mutex_lock(&naps[worker].mutex);
	pthread_cond_broadcast(&naps[worker].end);
	pthread_mutex_unlock(&naps[worker].mutex);
#else
	(void)ctx;
	(void)worker;
	(void)task;
#endif
}

void policy_leave(unsigned ctx, const int *workers, unsigned n)
{
#ifndef HEDDLE_USE_SIMGRID
	asked_set(ctx, workers, n, false);
#else
	(void)ctx;
	(void)workers;
	(void)n;
#endif
}

void policy_end(unsigned ctx)
{
#ifndef HEDDLE_USE_SIMGRID
	struct timespec until = time_in(ENDS);

	atomic_fetch_add(&ending, 1);
	for (unsigned w = 0; w < STARPU_NMAXWORKERS; w++) {
		int error = 0;

		pthread_mutex_lock(&naps[w].mutex);
		/* It may sleep. */
		pthread_cond_broadcast(&naps[w].end);
		while (!error && atomic_load(&naps[w].asked) >> ctx & 1)
			error = pthread_cond_timedwait(&naps[w].end, &naps[w].mutex, &until);
		pthread_mutex_unlock(&naps[w].mutex);
	}
#endif
	starpu_sched_ctx_set_policy_data(ctx, NULL);
#ifndef HEDDLE_USE_SIMGRID
	for (unsigned w = 0; w < STARPU_NMAXWORKERS; w++) {
		pthread_mutex_lock(&naps[w].mutex);
		while (atomic_load(&naps[w].asks) == ctx + 1)
			pthread_cond_wait(&naps[w].end, &naps[w].mutex);
		pthread_mutex_unlock(&naps[w].mutex);
		asked_set(ctx, &(int){w}, 1, false);
	}
	atomic_fetch_sub(&ending, 1);
#endif
}

void policy_begin(unsigned ctx)
{
	static atomic_flag checked = ATOMIC_FLAG_INIT;

	/* A program of tasks alone asks nothing else that looks at them. */
	if (!atomic_flag_test_and_set(&checked))
		heddle_variables_check(environ);
	if (!starpu_sched_ctx_min_priority_is_set(ctx))
		starpu_sched_ctx_set_min_priority(ctx, INT_MIN);
	if (!starpu_sched_ctx_max_priority_is_set(ctx))
		starpu_sched_ctx_set_max_priority(ctx, INT_MAX);
}

/* Tasks for the same set of workers share a tag. */
static unsigned long workers_tag(const struct starpu_task *task)
{
	unsigned long tag = 0;

	for (unsigned i = 0; i < task->workerids_len; i++)
		tag = (tag ^ task->workerids[i]) * 0x9e3779b97f4a7c15u + i;
	return tag == HEDDLE_POOL_UNIFORM ? 1 : tag;
}

unsigned long policy_task_tag(const struct starpu_task *task)
{
	if (task->cl->can_execute)
		return HEDDLE_POOL_INDIVIDUAL;
	return task->workerids_len ? workers_tag(task) : HEDDLE_POOL_UNIFORM;
}

bool policy_is_silent(const struct starpu_task *task)
{
	static const char *const names[] = {"data_cpy", "redux_task_", "cuda_malloc_pinned",
	                                    "cuda_free_pinned", "convert_data"};

	for (size_t i = 0; task->name && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(task->name, names[i], strlen(names[i])))
			return true;
	return false;
}

bool policy_accepts(void *task, void *worker)
{
	return starpu_worker_can_execute_task_first_impl(*(unsigned *)worker, task, NULL);
}

void policy_choose_implementation(struct starpu_task *task, unsigned worker, unsigned ctx)
{
	unsigned mask, best = 0;
	double shortest = INFINITY;

	if (!task->cl->model) { /* any will do, the first is found quickest */
		/* The common case: what StarPU would answer. */
		if (!task->cl->can_execute && task->cl->cpu_funcs[0] &&
		    starpu_worker_get_type(worker) == STARPU_CPU_WORKER)
			starpu_task_set_implementation(task, 0);
		else if (starpu_worker_can_execute_task_first_impl(worker, task, &best))
			starpu_task_set_implementation(task, best);
		return;
	}
	if (!starpu_worker_can_execute_task_impl(worker, task, &mask))
		return; /* blocked since; StarPU hands the task out anew */
	best = __builtin_ctz(mask);
	for (unsigned i = best; mask & (mask - 1) && mask >> i; i++) {
		double length;

		if (!(mask >> i & 1))
			continue;
		length = heddle_compat_expected_length(task, worker, ctx, i);
		if (length >= shortest)
			continue;
		best = i;
		if (isnan(length)) /* it wants a sample */
			break;
		shortest = length;
	}
	starpu_task_set_implementation(task, best);
}
