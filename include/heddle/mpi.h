/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loops over the ranks of an MPI program: several machines, or several processes of one.
 *
 * Every rank describes the same loop (heddle/loop.h) and says where each array lies. Ranks claim
 * ranges of iterations and compute them as loops of their own, on all their workers. A block
 * strategy sizes the ranges by what the workers of a rank do together. Data of the next range
 * arrives while one is computed. Slow, late and unequal ranks end together.
 *
 * Programs that include this header link with libheddle-mpi (pkg-config: heddle-mpi).
 *
 * Start with heddle_mpi_loop_run().
 */
#ifndef HEDDLE_MPI_H
#define HEDDLE_MPI_H

#include <mpi.h>
#include <heddle/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which ranks have an array. */
enum heddle_mpi_layout {
	/** Every rank has the whole array. Of an array that is read, all have the same contents. Of
	 * one that is written, all get all results. */
	HEDDLE_MPI_EVERYWHERE,
	/** One rank has the whole array. The others have no handle (NULL). */
	HEDDLE_MPI_ON_RANK,
	/** Each rank has a handle of its part, of any length, or NULL for none. The parts in the
	 * order of ranks are the array. Of HEDDLE_SLICE and HEDDLE_HALO only. Ranks compute the
	 * iterations of their own parts first. */
	HEDDLE_MPI_BLOCKS
};

/** Where an array of a loop lies. */
struct heddle_mpi_place {
	enum heddle_mpi_layout layout; /**< which ranks have it */
	int rank;                      /**< of HEDDLE_MPI_ON_RANK: the rank that has it */
};

/** What a rank did in a loop. Times are in microseconds. */
struct heddle_mpi_rank_stats {
	char host[64];         /**< where it runs */
	size_t iterations;     /**< iterations computed */
	size_t ranges;         /**< ranges computed */
	size_t bytes_received; /**< of parts of arrays, those of HEDDLE_WHOLE included */
	size_t bytes_sent;     /**< of parts of arrays */
	double busy_us;        /**< time in which a range was computed */
	double finish_us;      /**< from the rank's call until its last range was computed */
	double us;             /**< from the rank's call until the loop's end */
	double rate;           /**< iterations a microsecond at the end; 0: not known */
};

/** Runs a loop on all ranks of a communicator. All of them call it, as often and in the same order
 * as other operations on the communicator. They give the same codelet (by name), n, alignment and
 * accesses; handles and lengths may differ as the places say. `arg`, strategy, parts and workers
 * may differ: they are the rank's own.
 *
 * HEDDLE_NODE_STRATEGY of rank 0 is the strategy between ranks. Inside a rank it is that of the
 * rank's loops. A rank that is not heard of for HEDDLE_NODE_TIMEOUT seconds ends the program on all
 * ranks, with a message that names it (MPI_Abort()). So does one that has not called this function
 * for that long after the others.
 *
 * MPI is initialised, StarPU too, and every rank has a worker that can run the codelet. The
 * function calls MPI on the calling thread only, which is the main one unless MPI was initialised
 * with MPI_THREAD_SERIALIZED or more. If other threads call MPI meanwhile, which those of
 * StarPU-MPI do, it was initialised with MPI_THREAD_MULTIPLE. Do not call it in a task, callback or
 * kernel.
 *
 * A rank needs memory for its own arrays, what is read whole, and three ranges.
 *
 * @param loop the loop. A handle is NULL where the rank has nothing of the array. At least one
 * access; no HEDDLE_INDEXED; fields `first` and `total` are 0
 * @param comm the communicator, not an inter-communicator
 * @param places one for each access
 * @param[out] ranks one entry for each rank, filled on all; NULL: not wanted
 * @param[out] stats what this rank's workers did, as of one loop; `us` is the time of the whole
 * loop. NULL: not wanted
 * @return 0 on all ranks, when all results are where they belong; or the same negative errno value
 * on all of them, after a message. Then the contents of outputs are undefined.
 * - -EINVAL: ranks differ in what they ask for (the message says in what); a place that does not
 *   suit the access; a refusal of heddle_loop_submit()
 * - -ERANGE: n reaches beyond an array
 * - -ENODEV: a rank has no worker for the codelet
 * - -ENOMEM: no memory
 * - otherwise the status of a range that failed on one rank, which the message names
 *
 * Wrong use that a rank cannot tell others of is refused on it alone, with -EINVAL: MPI is not
 * initialised, or this thread must not call it */
int heddle_mpi_loop_run(const struct heddle_loop *loop, MPI_Comm comm,
                        const struct heddle_mpi_place *places, struct heddle_mpi_rank_stats *ranks,
                        struct heddle_loop_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
