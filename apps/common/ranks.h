/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An app over the ranks of an MPI program (--mpi): each rank has a part of the data, or rank 0 has
 * it and the others help. Programs without that option do not load MPI.
 */
#ifndef APPS_COMMON_RANKS_H
#define APPS_COMMON_RANKS_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>
#include <heddle/loop.h>
#include <heddle/stream.h>
#include <heddle/wavefront.h>

/** Starts MPI. @return 0; -errno after a message */
int ranks_begin(int *argc, char ***argv);
/** Ends it, if it was started. */
void ranks_end(void);

/** Whether this process has the data: rank 0, and without --mpi the only one. */
bool ranks_first(void);
/** Whether there is MPI. */
bool ranks_used(void);

/** Starts StarPU, over ranks as heddle_mpi_starpu_init() does.
 * @return 0; -ENODEV after a message */
int ranks_starpu_init(void);

/** Whether all ranks are well; without --mpi, whether this one is.
 * @return 0; -errno, the same on all */
int ranks_all(int status);

/** Gives all ranks what rank 0 has. */
void ranks_tell(void *data, size_t bytes);

/** Finds the first rank that has something else than rank 0, and tells all ranks of it.
 * @param own,bytes what this one has, a multiple of 8 bytes
 * @param[out] first what rank 0 has
 * @param[out] other what that rank has, if there is one
 * @return its number; 0: all have the same, or there is one rank */
int ranks_differ(const void *own, void *first, void *other, size_t bytes);

/** From now on the ranks have parts of the data, not rank 0 all of it. No effect without --mpi. */
void ranks_distribute(void);
/** Whether they have. */
bool ranks_distributed(void);

/** The part of n units that this rank has: all ranks have about as many. Where data is not
 * distributed, and without --mpi: all of them. */
void ranks_part(size_t n, size_t *first, size_t *count);
/** The rank that has one of n units in its part. */
int ranks_owner(size_t n, size_t unit);

/** Makes the loop that rank 0 has ready on the others: they have no data but their parts. */
void ranks_prepare(struct heddle_loop *loop);

/** Runs it.
 * @param arg_bytes bytes of the loop's arg that rank 0 sends to the others before
 * @return as heddle_mpi_loop_run() */
int ranks_loop_run(const struct heddle_loop *loop, size_t arg_bytes,
                   struct heddle_loop_stats *stats);

/** The same of a wavefront. It comes before ranks_prepare() of the loop that stands for it.
 * @param stats NULL: not wanted, and ranks_print() says nothing of it */
void ranks_wave_prepare(struct heddle_wavefront *wave);
int ranks_wave_run(const struct heddle_wavefront *wave, size_t arg_bytes,
                   struct heddle_wavefront_stats *stats);

/** heddle_mpi_flow_run(); without --mpi heddle_flow_run(). */
int ranks_flow_run(struct heddle_flow *flow, struct heddle_flow_stats *stats);

/** Gives all ranks the sums, or the largest, of what each has; without --mpi, nothing. */
void ranks_sum(uint64_t *values, size_t n);
void ranks_largest(uint64_t *values, size_t n);

/** What the ranks did in the latest loop, wavefront or flow; NULL without --mpi. */
void ranks_print(void);
json_t *ranks_json(void);

#endif
