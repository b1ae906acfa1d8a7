/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <heddle/memory.h>

#include "support/cgroup.h"
#include "support/message.h"
#include "support/pin_starpu.h"

#define HUGE_PAGE ((size_t)2 << 20)

/* Whole huge pages for large memory, whole pages otherwise. */
static size_t mapped_size(size_t bytes)
{
	size_t unit = bytes < HUGE_PAGE ? (size_t)sysconf(_SC_PAGESIZE) : HUGE_PAGE;

	return bytes ? (bytes + unit - 1) / unit * unit : unit;
}

/* Bytes of all mappings. */
static atomic_size_t mapped;

#ifndef HEDDLE_USE_SIMGRID
static size_t group_limit = SIZE_MAX;

static void group_limit_find(void)
{
	group_limit = heddle_cgroup_memory("");
}

/* What they may be: the memory that the process can have, and swap. */
static size_t mapped_limit(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sysinfo about;
	size_t memory;

	pthread_once(&once, group_limit_find);
	if (sysinfo(&about))
		return SIZE_MAX;
	memory = (size_t)about.totalram * about.mem_unit;
	return (memory < group_limit ? memory : group_limit) +
	       (size_t)about.totalswap * about.mem_unit;
}
#endif

/* Adds a mapping to them. The system lends more than it has, and ends a process that makes
 * use of it: so all together must fit into memory and swap. Where workers are simulated
 * nobody makes use of it.
 * @return false: it does not fit */
static bool mapped_add(size_t size)
{
#ifndef HEDDLE_USE_SIMGRID
	if (atomic_fetch_add(&mapped, size) + size > mapped_limit()) {
		atomic_fetch_sub(&mapped, size);
		return false;
	}
#else
	atomic_fetch_add(&mapped, size);
#endif
	return true;
}

/* A mapping that begins at a huge page: mapped too large, then trimmed. */
static void *map_aligned(size_t size)
{
	char *area = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (area == MAP_FAILED)
		return NULL;
	before = -(uintptr_t)area & (HUGE_PAGE - 1);
	if (before)
		munmap(area, before);
	munmap(area + before + size, HUGE_PAGE - before);
#ifdef MADV_HUGEPAGE
	madvise(area + before, size, MADV_HUGEPAGE);
#endif
	return area + before;
}

int heddle_malloc(void **memory, size_t bytes)
{
	size_t size = mapped_size(bytes);
	void *area = NULL;

	if (bytes <= SIZE_MAX - 2 * HUGE_PAGE && mapped_add(size)) {
		area = map_aligned(size);
		if (!area)
			atomic_fetch_sub(&mapped, size);
	}
	if (!area)
		return heddle_refuse(-ENOMEM, "no memory for %zu bytes", bytes);
	if (heddle_pin_useful() && heddle_pin(area, size))
		heddle_warn("%zu bytes cannot be pinned; copies to GPUs will be slow", bytes);
	*memory = area;
	return 0;
}

void heddle_free(void *memory, size_t bytes)
{
	size_t size = mapped_size(bytes);

	if (!memory)
		return;
	heddle_unpin(memory, size);
	munmap(memory, size);
	atomic_fetch_sub(&mapped, size);
}
