/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What programs of Heddle's own that are not linked with MPI do over all ranks. They open
 * libheddle-mpi where they are asked to.
 */
#ifndef HEDDLE_MPI_WORLD_H
#define HEDDLE_MPI_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include <heddle/mpi.h>

struct mpi_world {
	/** Starts MPI. @return 0; -errno after a message */
	int (*begin)(int *argc, char ***argv, int *rank, int *nranks);
	/** Ends it. All ranks wait for each other. */
	void (*end)(void);
	/** heddle_mpi_starpu_init() */
	int (*starpu_init)(struct starpu_conf *conf);
	/** Gives all ranks what rank 0 has. */
	void (*tell)(void *data, size_t bytes);
	/** Whether all ranks are well.
	 * @param status 0, or a negative errno value
	 * @return 0; the lowest status of all */
	int (*all)(int status);
	/** heddle_mpi_loop_run() on all ranks */
	int (*loop_run)(const struct heddle_loop *loop, const struct heddle_mpi_place *places,
	                struct heddle_mpi_rank_stats *ranks, struct heddle_loop_stats *stats);
	/** heddle_mpi_wavefront_run() on all ranks */
	int (*wavefront_run)(const struct heddle_wavefront *wavefront,
	                     const struct heddle_mpi_place *places,
	                     struct heddle_mpi_wave_rank *ranks,
	                     struct heddle_wavefront_stats *stats);
	/** heddle_mpi_flow_run() on all ranks */
	int (*flow_run)(struct heddle_flow *flow, struct heddle_mpi_flow_rank *ranks,
	                struct heddle_flow_stats *stats);
	/** Gives all ranks the sums, or the largest, of what each has. */
	void (*sum)(uint64_t *values, size_t n);
	void (*largest)(uint64_t *values, size_t n);
};

extern const struct mpi_world heddle_mpi_world;

/** Waits for all ranks, and leaves the core to others meanwhile. */
void mpi_world_meet(void);

/** Tells all ranks what each has, in the same way.
 * @param[out] all `bytes` of each rank */
void mpi_world_gather(const void *own, void *all, size_t bytes);

#endif
