/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The mutex of a loop, which every worker takes after its blocks and which is held for
 * microseconds; and the line of those that another worker may serve.
 *
 * To be woken takes 5 to 100 us, most in a virtual machine. So threads that wait for the mutex stay
 * awake. Many cores that try to take it keep its owner from letting it go, and what it guards moves
 * from core to core. So of all CPU workers whose blocks are done one serves all, as long as others
 * come, and they look at what is theirs: D. Hendler, I. Incze, N. Shavit, M. Tzafrir, "Flat
 * combining and the synchronization-parallelism tradeoff", SPAA 2010. It lets those go first that
 * no other worker can serve: the threads of accelerators.
 */
#include "config.h"

#include <sched.h>

#include "support/helgrind.h"
#include "partition/loop/loop_private.h"

/* So many looks follow each other, 20 us in all on x86. Between later ones others may run on the
 * core. */
#define PATIENCE 400
/* After so many looks a thread sleeps until the mutex is free. */
#define LOOKS 4000

/* Simulated, no other thread runs while one looks. */
#ifdef HEDDLE_USE_SIMGRID
static const bool spins = false;
#else
static const bool spins = true;
#endif

/* Between two looks at what another thread does. */
static void look_wait(unsigned looks)
{
	if (looks >= PATIENCE)
		sched_yield();
#if defined(__x86_64__) || defined(__i386__)
	else
		__builtin_ia32_pause();
#elif defined(__aarch64__)
	else
		__asm__ volatile("yield");
#endif
}

static void mutex_init(struct loop_mutex *mutex)
{
	starpu_pthread_mutex_init(&mutex->mutex, NULL);
	HELGRIND_ATOMIC(mutex->held);
}

static bool mutex_try(struct loop_mutex *mutex)
{
	return !atomic_load_explicit(&mutex->held, memory_order_relaxed) &&
	       !starpu_pthread_mutex_trylock(&mutex->mutex);
}

void loop_mutex_lock(struct loop_mutex *mutex)
{
	bool taken = false;

	for (unsigned i = 0; spins && !taken && i < LOOKS; i++) {
		taken = mutex_try(mutex);
		if (!taken)
			look_wait(i);
	}
	if (!taken)
		starpu_pthread_mutex_lock(&mutex->mutex);
	atomic_store_explicit(&mutex->held, true, memory_order_relaxed);
}

void loop_mutex_unlock(struct loop_mutex *mutex)
{
	atomic_store_explicit(&mutex->held, false, memory_order_relaxed);
	starpu_pthread_mutex_unlock(&mutex->mutex);
}

void loop_lock_init(struct heddle_loop_request *loop)
{
	mutex_init(&loop->mutex);
	mutex_init(&loop->sums);
	HELGRIND_ATOMIC(loop->posted);
	HELGRIND_ATOMIC(loop->nlocking);
	HELGRIND_ATOMIC(loop->serving);
}

void loop_lock_destroy(struct heddle_loop_request *loop)
{
	starpu_pthread_mutex_destroy(&loop->mutex.mutex);
	starpu_pthread_mutex_destroy(&loop->sums.mutex);
}

void loop_lock(struct heddle_loop_request *loop)
{
	atomic_fetch_add_explicit(&loop->nlocking, 1, memory_order_relaxed);
	loop_mutex_lock(&loop->mutex);
	atomic_fetch_sub_explicit(&loop->nlocking, 1, memory_order_relaxed);
}

void loop_unlock(struct heddle_loop_request *loop)
{
	loop_mutex_unlock(&loop->mutex);
}

static bool others_lock(struct heddle_loop_request *loop)
{
	return spins && atomic_load_explicit(&loop->nlocking, memory_order_relaxed);
}

/* Takes the mutex after those in loop_lock(). They may be held up, and one may need this core. */
static void lock_last(struct heddle_loop_request *loop)
{
	for (unsigned i = 0; i <= PATIENCE && others_lock(loop); i++)
		look_wait(i);
	loop_mutex_lock(&loop->mutex);
}

void loop_lock_gap(struct heddle_loop_request *loop)
{
	if (!others_lock(loop))
		return;
	loop_unlock(loop);
	lock_last(loop);
}

void loop_post(struct loop_block *block)
{
	struct heddle_loop_request *loop = block->loop;
	struct loop_block *before = __atomic_load_n(&loop->posted, __ATOMIC_RELAXED);

	__atomic_store_n(&block->worker->posted, true, __ATOMIC_RELAXED);
	do {
		block->next = before;
		HELGRIND_HAND_OVER(&loop->posted);
	} while (!__atomic_compare_exchange_n(&loop->posted, &before, block, true, __ATOMIC_RELEASE,
	                                      __ATOMIC_RELAXED));
}

struct loop_block *loop_posted(struct heddle_loop_request *loop)
{
	struct loop_block *latest = __atomic_exchange_n(&loop->posted, NULL, __ATOMIC_ACQUIRE);
	struct loop_block *first = NULL, *block;

	HELGRIND_TAKE_OVER(&loop->posted);
	while ((block = latest)) {
		latest = block->next;
		block->next = first;
		first = block;
	}
	return first;
}

void loop_answer(struct loop_worker *worker, bool renewed)
{
	worker->renewed = renewed;
	HELGRIND_HAND_OVER(&worker->renewed);
	__atomic_store_n(&worker->posted, false, __ATOMIC_RELEASE);
}

static bool answered(struct loop_worker *worker)
{
	if (__atomic_load_n(&worker->posted, __ATOMIC_ACQUIRE))
		return false;
	HELGRIND_TAKE_OVER(&worker->renewed);
	return true;
}

/* Whether no other one serves: the caller does from now on. */
static bool serving_begin(struct heddle_loop_request *loop)
{
	return !atomic_load_explicit(&loop->serving, memory_order_relaxed) &&
	       !atomic_exchange_explicit(&loop->serving, true, memory_order_acquire);
}

bool loop_turn(struct heddle_loop_request *loop, struct loop_worker *worker)
{
	for (unsigned i = 0; !answered(worker); i++) {
		if (!spins || serving_begin(loop)) {
			lock_last(loop);
			return true;
		}
		look_wait(i);
	}
	return false;
}

void loop_turn_end(struct heddle_loop_request *loop)
{
	loop_unlock(loop);
	atomic_store_explicit(&loop->serving, false, memory_order_release);
}
