/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What this process has of the heap and of heddle_malloc(), whoever in it asked: its own functions
 * come before those of the C library (glibc) and Heddle, and count.
 */
#ifndef TESTS_MPI_MEMORY_H
#define TESTS_MPI_MEMORY_H

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include "tests/mpi/ranks.h"

static atomic_size_t memory_now, memory_most;
static size_t memory_before;
/* There is no more of heddle_malloc(). */
static atomic_bool memory_full;

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

static void memory_add(size_t bytes)
{
	size_t now = atomic_fetch_add(&memory_now, bytes) + bytes;
	size_t most = atomic_load(&memory_most);

	while (now > most && !atomic_compare_exchange_weak(&memory_most, &most, now))
		;
}

static void *memory_counted(void *memory)
{
	memory_add(malloc_usable_size(memory));
	return memory;
}

void *malloc(size_t bytes)
{
	return memory_counted(__libc_malloc(bytes));
}

void *calloc(size_t n, size_t bytes)
{
	return memory_counted(__libc_calloc(n, bytes));
}

void *realloc(void *memory, size_t bytes)
{
	size_t before = malloc_usable_size(memory);
	void *other = __libc_realloc(memory, bytes);

	if (other || !bytes)
		atomic_fetch_sub(&memory_now, before);
	return memory_counted(other);
}

void *memalign(size_t alignment, size_t bytes)
{
	return memory_counted(__libc_memalign(alignment, bytes));
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return memalign(alignment, bytes);
}

int posix_memalign(void **into, size_t alignment, size_t bytes)
{
	void *memory = memalign(alignment, bytes);

	if (!memory)
		return ENOMEM;
	*into = memory;
	return 0;
}

void free(void *memory)
{
	atomic_fetch_sub(&memory_now, malloc_usable_size(memory));
	__libc_free(memory);
}

int heddle_malloc(void **memory, size_t bytes)
{
	int (*next)(void **, size_t) = dlsym(RTLD_NEXT, "heddle_malloc");
	int status = atomic_load(&memory_full) ? -ENOMEM : next(memory, bytes);

	if (!status)
		memory_add(bytes);
	return status;
}

void heddle_free(void *memory, size_t bytes)
{
	void (*next)(void *, size_t) = dlsym(RTLD_NEXT, "heddle_free");

	if (memory)
		atomic_fetch_sub(&memory_now, bytes);
	next(memory, bytes);
}

/* From now on what comes on top counts. */
static void memory_begin(void)
{
	memory_before = atomic_load(&memory_now);
	atomic_store(&memory_most, memory_before);
}

/* The most there has been since then must not be more than what this rank may have, and what MPI,
 * StarPU and Heddle need for messages, tasks and themselves: a number of bytes that does not grow
 * with the work. The first run is not judged: MPI makes buffers, and costs are measured. */
static void memory_check(const char *what, size_t allowed)
{
	static bool again;
	const size_t others = 16 << 20;
	size_t most = atomic_load(&memory_most) - memory_before;
	bool over = !memory_before || (again && most > allowed + others);

	printf("%srank %d: memory: %s: %zu KB, %zu KB allowed, and %zu KB for messages and tasks\n",
	       over ? "FAIL: " : "", rank, what, most >> 10, allowed >> 10, others >> 10);
	failures += over;
	again = true;
}

#endif
