/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "partition/mpi/bell.h"

#ifdef HEDDLE_USE_SIMGRID
#include <simgrid/semaphore.h>

/* Threads of a simulation take turns, and SimGrid 3.32 loses a mutex of which a wait with a limit
 * is over. */
struct bell {
	sg_sem_t rings;
	unsigned rung;
};

struct bell *bell_new(void)
{
	struct bell *bell = calloc(1, sizeof(*bell));

	if (bell)
		bell->rings = sg_sem_init(0);
	return bell;
}

void bell_free(struct bell *bell)
{
	if (!bell)
		return;
	sg_sem_destroy(bell->rings);
	free(bell);
}

/* Simulated ranks are on machines of their own. */
void bell_tell(const struct bell *bell, struct bell_address *address)
{
	*address = (struct bell_address){.machine = ""};
}

struct bell *bell_open(const struct bell_address *address)
{
	return NULL;
}

bool bell_is_near(const struct bell_address *one, const struct bell_address *other)
{
	return false;
}

void bell_close(struct bell *bell)
{
}

void bell_ring(struct bell *bell, enum bell_ringer by)
{
	if (!bell->rung)
		sg_sem_release(bell->rings);
	bell->rung |= by;
}

unsigned bell_wait(struct bell *bell, long ns)
{
	unsigned rung;

	sg_sem_acquire_timeout(bell->rings, ns * 1e-9);
	while (!sg_sem_would_block(bell->rings))
		sg_sem_acquire(bell->rings);
	rung = bell->rung;
	bell->rung = 0;
	return rung;
}
#else
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Nobody is woken who sleeps no longer: that takes as long, and a call of the kernel. */
#define BELL_SHORT_NS 20000L

/* No lock: a rank that is killed or stopped while it rings holds nobody up. */
struct shared {
	atomic_uint rung;   /* by whom, since somebody waited; its owner sleeps on it (futex) */
	atomic_bool sleeps; /* its owner, longer than it takes to wake it */
	uint64_t key;       /* of its owner: the address may be out of date */
};

struct bell {
	struct shared *shared;
	int file;
};

/* A file without a name, so that nothing is left of a rank that is killed. */
static int file_new(void)
{
	int file = memfd_create("heddle-bell", MFD_CLOEXEC);

	if (file >= 0 && ftruncate(file, sizeof(struct shared))) {
		close(file);
		file = -1;
	}
	return file;
}

static struct shared *shared_map(int file)
{
	int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *at = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, flags, file, 0);

	return at == MAP_FAILED ? NULL : at;
}

struct bell *bell_new(void)
{
	struct bell *bell = calloc(1, sizeof(*bell));

	if (!bell)
		return NULL;
	bell->file = file_new();
	bell->shared = shared_map(bell->file);
	if (!bell->shared) {
		bell_close(bell);
		free(bell);
		return NULL;
	}
	if (getrandom(&bell->shared->key, sizeof(bell->shared->key), GRND_NONBLOCK) < 0)
		bell->shared->key = (uintptr_t)bell ^ (uint64_t)getpid() << 32;
	return bell;
}

void bell_close(struct bell *bell)
{
	if (bell->file >= 0)
		close(bell->file);
	bell->file = -1;
}

void bell_free(struct bell *bell)
{
	if (!bell)
		return;
	bell_close(bell);
	munmap(bell->shared, sizeof(*bell->shared));
	free(bell);
}

/* This boot of the machine, and who counts processes as this one does: containers have their own
 * numbers. */
static void machine_name(char *name, size_t size)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
	size_t length = file ? fread(name, 1, size / 2, file) : 0;
	ssize_t more = readlink("/proc/self/ns/pid", name + length, size - length - 1);

	if (file)
		fclose(file);
	name[length && more > 0 ? length + more : 0] = '\0';
}

void bell_tell(const struct bell *bell, struct bell_address *address)
{
	*address = (struct bell_address){
	    .process = getpid(), .file = bell->file, .key = bell->shared->key};
	if (bell->file >= 0)
		machine_name(address->machine, sizeof(address->machine));
}

static int file_open(const struct bell_address *address)
{
	char name[64];
	struct stat found;
	int file;

	snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)address->process, (int)address->file);
	file = open(name, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (file >= 0 && (fstat(file, &found) || found.st_size != sizeof(struct shared))) {
		close(file);
		file = -1;
	}
	return file;
}

bool bell_is_near(const struct bell_address *one, const struct bell_address *other)
{
	return one->machine[0] && !strcmp(one->machine, other->machine);
}

struct bell *bell_open(const struct bell_address *address)
{
	struct bell *bell = calloc(1, sizeof(*bell));

	if (!bell)
		return NULL;
	bell->file = file_open(address);
	if (bell->file >= 0)
		bell->shared = shared_map(bell->file);
	bell_close(bell);
	if (bell->shared && bell->shared->key == address->key)
		return bell;
	if (bell->shared)
		munmap(bell->shared, sizeof(*bell->shared));
	free(bell);
	return NULL;
}

/* Who waits says that it sleeps, and then looks whether it was rung. So one of both sees the other.
 * All who ring wake it, not the first one alone: that one may be stopped before it does. */
void bell_ring(struct bell *bell, enum bell_ringer by)
{
	struct shared *shared = bell->shared;

	atomic_fetch_or(&shared->rung, by);
	if (atomic_load(&shared->sleeps))
		syscall(SYS_futex, &shared->rung, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Until it is rung. It may be woken for a wait that is over.
 * @return whether to wait on */
static bool sleep_once(struct shared *shared, const struct timespec *until)
{
	return !syscall(SYS_futex, &shared->rung, FUTEX_WAIT_BITSET, 0, until, NULL,
	                FUTEX_BITSET_MATCH_ANY) ||
	       errno == EINTR;
}

unsigned bell_wait(struct bell *bell, long ns)
{
	struct shared *shared = bell->shared;
	struct timespec until;

	atomic_store(&shared->sleeps, ns > BELL_SHORT_NS);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (!atomic_load(&shared->rung) && sleep_once(shared, &until))
		;
	atomic_store(&shared->sleeps, false);
	/* Whoever rings from now on is heard by the next wait. */
	return atomic_exchange(&shared->rung, 0);
}
#endif
