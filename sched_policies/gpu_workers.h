/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many workers StarPU is to have for each GPU. With one, small kernels run one after the other,
 * and one thread prepares them all; with several, each has a stream.
 */
#ifndef HEDDLE_SCHED_POLICIES_GPU_WORKERS_H
#define HEDDLE_SCHED_POLICIES_GPU_WORKERS_H

#include <stdbool.h>

struct starpu_conf;

/** How many each GPU has under the policy heddle if nobody says otherwise. */
#define HEDDLE_GPU_WORKERS 4

/** What there is. */
struct gpu_machine {
	unsigned gpus;
	unsigned cores;
	unsigned cpu_workers; /**< that are asked for; 0: as many as cores are left */
	unsigned most;        /**< workers of GPUs that StarPU has room for */
};

struct gpu_workers {
	unsigned each; /**< of one GPU */
	bool threads;  /**< each has a thread of its own; else those of a GPU share one */
};

/** Decides. Threads of their own make small tasks faster, but each takes a core: they get them
 * where a quarter of the cores is enough, or where the cores are free anyway. Pure.
 * @param wanted workers of each GPU; 0: the usual number
 * @return each: 1 at least */
struct gpu_workers heddle_gpu_workers(const struct gpu_machine *machine, unsigned wanted);

/** StarPU is about to start: tells it, by environment variables, how many workers the policy heddle
 * wants for each GPU, if the user or the program has named it and the user has set none of these
 * variables. */
void gpu_workers_begin(const struct starpu_conf *conf);

/** StarPU has started, or could not: takes these variables back. */
void gpu_workers_end(void);

#endif
