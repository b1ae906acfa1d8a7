/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The mutex of a loop, which every worker takes after its blocks and which is held for
 * microseconds; and the line of those that another worker may serve.
 *
 * To be woken takes ten times as long as the mutex is held, and many cores that try to take it keep
 * its owner from letting it go. So of all CPU workers whose blocks are done at a time one takes the
 * mutex for all, and the others look at what is theirs. It lets those go first that no other worker
 * can serve: the threads of accelerators.
 */
#include "config.h"

#include <sched.h>

#include "support/helgrind.h"
#include "partition/loop/loop_private.h"

/* So many looks follow each other, 20 us in all. Between later ones others may run on the core. */
#define PATIENCE 400
/* The one that serves looks so often for others to take the mutex: they may have to wake up. */
#define GAP (PATIENCE + 50)
/* After each so many later looks for the answer one serves if the mutex is free: who should may be
 * held up. */
#define TRY_EACH 256

/* A waiter that sleeps at once is woken long after the mutex is free. */
static void mutex_init(starpu_pthread_mutex_t *mutex)
{
#if defined(PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP) && !defined(HEDDLE_USE_SIMGRID)
	pthread_mutexattr_t adaptive;

	pthread_mutexattr_init(&adaptive);
	pthread_mutexattr_settype(&adaptive, PTHREAD_MUTEX_ADAPTIVE_NP);
	starpu_pthread_mutex_init(mutex, &adaptive);
	pthread_mutexattr_destroy(&adaptive);
#else
	starpu_pthread_mutex_init(mutex, NULL);
#endif
}

void loop_lock_init(struct heddle_loop_request *loop)
{
	mutex_init(&loop->mutex);
	mutex_init(&loop->sums);
	HELGRIND_ATOMIC(loop->posted);
	HELGRIND_ATOMIC(loop->nlocking);
}

void loop_lock_destroy(struct heddle_loop_request *loop)
{
	starpu_pthread_mutex_destroy(&loop->mutex);
	starpu_pthread_mutex_destroy(&loop->sums);
}

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

void loop_lock(struct heddle_loop_request *loop)
{
	atomic_fetch_add_explicit(&loop->nlocking, 1, memory_order_relaxed);
	starpu_pthread_mutex_lock(&loop->mutex);
	atomic_fetch_sub_explicit(&loop->nlocking, 1, memory_order_relaxed);
}

void loop_unlock(struct heddle_loop_request *loop)
{
	starpu_pthread_mutex_unlock(&loop->mutex);
}

/* Simulated, no other thread runs while one looks. */
static bool others_lock(struct heddle_loop_request *loop)
{
#ifndef HEDDLE_USE_SIMGRID
	return atomic_load_explicit(&loop->nlocking, memory_order_relaxed);
#else
	(void)loop;
	return false;
#endif
}

void loop_lock_last(struct heddle_loop_request *loop)
{
	for (unsigned i = 0; i < GAP && others_lock(loop); i++)
		look_wait(i);
	starpu_pthread_mutex_lock(&loop->mutex);
}

void loop_lock_gap(struct heddle_loop_request *loop)
{
	if (!others_lock(loop))
		return;
	loop_unlock(loop);
	loop_lock_last(loop);
}

bool loop_post(struct loop_block *block)
{
	struct heddle_loop_request *loop = block->loop;
	struct loop_block *before = __atomic_load_n(&loop->posted, __ATOMIC_RELAXED);

	__atomic_store_n(&block->worker->posted, true, __ATOMIC_RELAXED);
	do {
		block->next = before;
		HELGRIND_HAND_OVER(&loop->posted);
	} while (!__atomic_compare_exchange_n(&loop->posted, &before, block, true, __ATOMIC_RELEASE,
	                                      __ATOMIC_RELAXED));
	return !before;
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

bool loop_answered(struct loop_worker *worker)
{
	if (__atomic_load_n(&worker->posted, __ATOMIC_ACQUIRE))
		return false;
	HELGRIND_TAKE_OVER(&worker->renewed);
	return true;
}

/* Simulated, the caller would keep the one that serves from running. */
bool loop_await(struct heddle_loop_request *loop, struct loop_worker *worker)
{
#ifndef HEDDLE_USE_SIMGRID
	for (unsigned i = 1; !loop_answered(worker); i++) {
		look_wait(i);
		if (i > PATIENCE && i % TRY_EACH == 0 &&
		    !starpu_pthread_mutex_trylock(&loop->mutex))
			return false;
	}
	return true;
#else
	if (loop_answered(worker))
		return true;
	starpu_pthread_mutex_lock(&loop->mutex);
	return false;
#endif
}
