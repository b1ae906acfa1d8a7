/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loops over ranks on a thread that is not the main one (MPI_THREAD_SERIALIZED), whose
 * communicators are freed at once, while StarPU's threads that say what has ended are late: they
 * wake the thread that sleeps after a nap. None may do so when what it sleeps on is destroyed.
 * (StarPU signals the end of a loop's control task only after that thread has returned.)
 */
#define _GNU_SOURCE
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <heddle/heddle.h>
#include <heddle/mpi.h>

enum { RUNS = 20, N = 1000, NAP_US = 20000, BLOCK_US = 3000, GONE_MOST = 4096 };

static _Thread_local bool runs_loops; /* the thread that calls MPI */
static atomic_uint naps, ngone;
static _Atomic uintptr_t gone[GONE_MOST];

/* Of Heddle's own files for MPI. */
static bool is_link(const void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "libheddle-mpi");
}

/* How often memory there was given back. It is a bell's, of one page. */
static unsigned freed(uintptr_t at)
{
	unsigned n = 0;

	for (unsigned i = 0; i < atomic_load(&ngone) && i < GONE_MOST; i++)
		n += at - atomic_load(&gone[i]) < (uintptr_t)sysconf(_SC_PAGESIZE);
	return n;
}

int munmap(void *at, size_t bytes)
{
	int (*real)(void *, size_t) = (int (*)(void *, size_t))dlsym(RTLD_NEXT, "munmap");

	if (runs_loops && is_link(__builtin_return_address(0)) && atomic_load(&ngone) < GONE_MOST) {
		atomic_store(&gone[atomic_load(&ngone)], (uintptr_t)at);
		atomic_fetch_add(&ngone, 1);
	}
	return real(at, bytes);
}

static void nap(uintptr_t at)
{
	struct timespec late = {0, NAP_US * 1000};
	unsigned before = freed(at);

	atomic_fetch_add(&naps, 1);
	nanosleep(&late, NULL);
	if (freed(at) != before) {
		printf("a thread wakes who is gone\n");
		fflush(stdout);
		_exit(1);
	}
}

long syscall(long number, ...)
{
	long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"), a[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_futex && a[1] == FUTEX_WAKE && !runs_loops &&
	    is_link(__builtin_return_address(0)))
		nap(a[0]);
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static MPI_Comm comm;
static struct starpu_codelet codelet;
static atomic_uint refused;

/* In a kernel, on the communicator that is in use: it is refused here, and the others go on. */
static void nest(void)
{
	const struct heddle_mpi_place places[1] = {{.layout = HEDDLE_MPI_EVERYWHERE}};
	struct heddle_loop loop = {.codelet = &codelet, .n = 1, .naccesses = 1};

	starpu_vector_data_register(&loop.accesses[0].handle, -1, 0, 1, sizeof(int));
	loop.accesses[0].mode = STARPU_W;
	if (heddle_mpi_loop_run(&loop, comm, places, NULL, NULL) == -EINVAL)
		atomic_fetch_add(&refused, 1);
	starpu_data_unregister_submit(loop.accesses[0].handle);
}

static void add_one(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	int *x = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);

	/* The other thread sleeps so long that it must be woken. */
	usleep(BLOCK_US);
	if (!block->start)
		nest();
	for (size_t i = 0; i < block->n; i++)
		x[i]++;
}

static struct starpu_codelet codelet = {.name = "add_one", .cpu_funcs = {add_one}};
static int failures;

static void *run(void *arg)
{
	const struct heddle_mpi_place places[1] = {{.layout = HEDDLE_MPI_BLOCKS}};
	struct heddle_loop loop = {.codelet = &codelet, .naccesses = 1};
	int ranks, *part = calloc(N, sizeof(*part));

	runs_loops = true;
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	loop.n = (size_t)N * ranks;
	loop.accesses[0].mode = STARPU_RW;
	for (int i = 0; i < RUNS; i++) {
		starpu_vector_data_register(&loop.accesses[0].handle, STARPU_MAIN_RAM,
		                            (uintptr_t)part, N, sizeof(*part));
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		failures += !!heddle_mpi_loop_run(&loop, comm, places, NULL, NULL);
		MPI_Comm_free(&comm);
		starpu_data_unregister(loop.accesses[0].handle);
	}
	for (int i = 0; i < N; i++)
		failures += part[i] != RUNS;
	/* Iteration 0 of each loop was computed on some rank. */
	ranks = atomic_load(&refused);
	MPI_Allreduce(MPI_IN_PLACE, &ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	failures += ranks != RUNS;
	free(part);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int level, rank;

	runs_loops = true;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
	if (level < MPI_THREAD_SERIALIZED) {
		printf("skipped: this MPI has no MPI_THREAD_SERIALIZED\n");
		MPI_Finalize();
		return 0;
	}
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (starpu_init(NULL))
		MPI_Abort(MPI_COMM_WORLD, 77);
	if (pthread_create(&thread, NULL, run, NULL))
		MPI_Abort(MPI_COMM_WORLD, 1);
	pthread_join(thread, NULL);
	/* Those that still sleep. */
	usleep(3 * NAP_US);
	printf("rank %d: %u naps, %d failures\n", rank, atomic_load(&naps), failures);
	starpu_shutdown();
	MPI_Finalize();
	return failures || !atomic_load(&naps);
}
