/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loops, flows and wavefronts over the ranks of an MPI program: several machines, or several
 * processes of one.
 *
 * Every rank describes the same loop (heddle/loop.h) and says where each array lies. Ranks claim
 * ranges of iterations and compute them as loops of their own, on all their workers. A block
 * strategy sizes the ranges by what the workers of a rank do together. Data of the next range
 * arrives while one is computed. Slow, late and unequal ranks end together.
 *
 * Programs that include this header link with libheddle-mpi (pkg-config: heddle-mpi).
 *
 * A flow (heddle/stream.h) over ranks has its filters on all of them, or on some. Ranks ask each
 * other for buffers.
 *
 * The rows of a wavefront (heddle/wavefront.h) over ranks are dealt to them by what their workers
 * do. Ranks send each other the boundaries between their rows.
 *
 * Start with heddle_mpi_loop_run(), heddle_mpi_flow_run() or heddle_mpi_wavefront_run().
 */
#ifndef HEDDLE_MPI_H
#define HEDDLE_MPI_H

#include <mpi.h>
#include <heddle/loop.h>
#include <heddle/stream.h>
#include <heddle/wavefront.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Starts StarPU on all ranks of MPI_COMM_WORLD, as starpu_init(): call it after MPI_Init_thread(),
 * on all of them. Ranks that run on one machine divide it. Each takes its part of the cores, and
 * of the CUDA and HIP devices that all see. A rank with a device leaves a core without a worker,
 * for the thread that calls MPI, if it has four more cores than devices and is not alone. Where the
 * launcher has bound ranks to more than half of the machine together, a rank has what it is bound
 * to. Ranks that are bound to the same cores divide these. A process that no launcher has started
 * starts StarPU as starpu_init() does.
 *
 * What STARPU_NCPU, STARPU_WORKERS_CPUID, STARPU_WORKERS_COREID, STARPU_WORKERS_GETBIND,
 * STARPU_WORKERS_NOBIND or `conf` says of cores counts instead. So does what STARPU_NCUDA,
 * STARPU_WORKERS_CUDAID (STARPU_NHIP, STARPU_WORKERS_HIPID) or `conf` says of devices, and what
 * STARPU_RESERVE_NCPU and STARPU_MAIN_THREAD_BIND say of the free core. Ranks that divide devices
 * use no OpenCL, unless STARPU_NOPENCL says so.
 *
 * The first rank of a machine starts first: StarPU's first start measures it and writes files. A
 * rank that the others wait for 30 times HEDDLE_NODE_TIMEOUT ends the program on all ranks, and so
 * does one that is not heard of for HEDDLE_NODE_TIMEOUT while they divide a machine.
 * @param conf as of starpu_init(); NULL: StarPU's defaults
 * @return 0; what starpu_init() returns on this rank; -EINVAL after a message: not after MPI_Init()
 */
int heddle_mpi_starpu_init(struct starpu_conf *conf);

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
 * HEDDLE_NODE_STRATEGY of rank 0 is the strategy between ranks: by default each begins with what it
 * has the data of, and those that are done first steal from the others. Under a policy of StarPU's
 * ranks get ranges by demand. Inside a rank it is that of the rank's loops. A rank that is not
 * heard of for HEDDLE_NODE_TIMEOUT seconds ends the program on all ranks, with a message that names
 * it (MPI_Abort()). So does one that has not called this function for that long after the others.
 * In a communicator's first loop, flow or wavefront over ranks it may take half as long again and
 * two seconds more, until all have told who is missing.
 *
 * MPI is initialised, StarPU too, and every rank has a worker that can run the codelet. The
 * function calls MPI on the calling thread only, which is the main one unless MPI was initialised
 * with MPI_THREAD_SERIALIZED or more. If other threads call MPI meanwhile, which those of
 * StarPU-MPI do, it was initialised with MPI_THREAD_MULTIPLE. Do not call it in a task, callback or
 * kernel.
 *
 * A rank needs memory for its own arrays, what is read whole, and three ranges. One that it steals
 * may be a large part of what another rank has.
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
 * initialised, this thread must not call it, or a loop, wavefront or flow on the communicator runs
 * already */
int heddle_mpi_loop_run(const struct heddle_loop *loop, MPI_Comm comm,
                        const struct heddle_mpi_place *places, struct heddle_mpi_rank_stats *ranks,
                        struct heddle_loop_stats *stats);

/** What a rank did in a flow. */
struct heddle_mpi_flow_rank {
	char host[64];         /**< where it runs */
	size_t tasks;          /**< tasks of its filters */
	size_t calls;          /**< calls of functions */
	size_t received;       /**< buffers that came from other ranks */
	size_t sent;           /**< buffers that went to other ranks */
	size_t bytes_received; /**< of parts and data */
	size_t bytes_sent;     /**< of parts and data */
	double us;             /**< from the start to the end, microseconds */
};

/** Runs a flow on all ranks of a communicator until all buffers are processed on all of them. Each
 * rank makes the flow with the same filters and streams (heddle_flow_create()). A filter runs on
 * all ranks but those where its field `elsewhere` is set. `arg`, codelets, `threads` and `buffers`
 * may differ: they are the rank's own.
 *
 * What a filter sends waits on its rank until a filter that reads the stream asks for it, here or
 * on another rank. Who asks, asks for as many buffers as it processes while a request is answered
 * (DQAA). Under the policies odds and heddle it gets those that the device that asks gains most
 * from (DBSA), under others the oldest ones. A filter's `task` is then also called for buffers that
 * wait, with tasks that are not submitted. Labels of the start are dealt in equal shares to the
 * ranks that read the stream. A buffer that has come to a rank stays there.
 *
 * Each rank has `buffers` of each stream with parts and no more, for what it sends and what comes.
 *
 * A stream with `data` says with `home` on which rank the data of a label lies. A filter of another
 * rank gets a copy of what it reads, and what it writes (STARPU_RW of `in`, and `out`) is at home
 * before its buffer has ended. StarPU knows of this on the home: other tasks may use the data, and
 * wait as for a task. Filters do not write, of two labels at once, the same data. Handles are of
 * variables, vectors and matrices, of at most 1 GiB.
 *
 * All ranks have the same policy (STARPU_SCHED). All else is as heddle_mpi_loop_run() says: MPI and
 * its threads, HEDDLE_NODE_TIMEOUT, and wrong use that is refused on one rank alone.
 *
 * @param flow from heddle_flow_create(); NULL: this rank could not make one, which all ranks then
 * refuse
 * @param comm the communicator, not an inter-communicator
 * @param[out] ranks one entry for each rank, filled on all, also after a failure; NULL: not wanted
 * @param[out] stats what this rank did, set also after a failure; NULL: not wanted
 * @return 0 on all ranks; or the same negative errno value on all of them, after a message:
 * - -EINVAL: ranks differ in their flows or policies (the message says in what); a filter runs on
 * no rank; a stream with `data` without `home`, or a part of more than 1 GiB; no flow; data that
 *   cannot be sent, or lies on no rank
 * - -EDEADLK: see heddle_flow_run()
 * - -EBUSY: the flow runs already
 * - otherwise what a filter failed with on the rank that the message names */
int heddle_mpi_flow_run(struct heddle_flow *flow, MPI_Comm comm, struct heddle_mpi_flow_rank *ranks,
                        struct heddle_flow_stats *stats);

/** What a rank did in a wavefront. Times are in microseconds. */
struct heddle_mpi_wave_rank {
	char host[64]; /**< where it runs */
	size_t first;  /**< the first row that it computed; others may lie between its rows */
	size_t rows;   /**< rows that it computed; 0: none */
	size_t bands;  /**< bands of these rows */
	size_t tiles;  /**< tiles of these bands, of all sweeps */
	size_t messages_received; /**< boundaries from other ranks */
	size_t messages_sent;     /**< boundaries to other ranks */
	size_t bytes_received;    /**< of parts of arrays, without boundaries */
	size_t bytes_sent;        /**< of parts of arrays, without boundaries */
	double busy_us;           /**< of all its workers */
	double us;                /**< from the rank's call until the wavefront's end */
	double power;             /**< iterations a microsecond of its workers; 0: not known */
};

/** Runs a wavefront on all ranks of a communicator. All of them call it, as often and in the same
 * order as other operations on the communicator. They give the same codelet (by name), rows,
 * columns, sweeps, tile_columns, bands_per_worker, vectors and arrays; handles may differ as the
 * places say. `arg`, strategy and workers may differ: they are the rank's own.
 *
 * Each rank computes some rows: as many as its workers are fast, by what their tiles cost in
 * earlier runs, or by samples that are timed before. Rows are dealt to ranks in their order, in
 * `bands_per_worker` rounds; in each a rank has a band for each of its workers. Over several sweeps
 * there is one round, and rows are not assigned again. Where rows of two ranks meet, their boundary
 * is sent after every `tile_columns` columns, which are those of all tiles. 0: the model of
 * Andronikos et al. (Performance Evaluation 67, 2010) says how many, with messages that travel
 * while workers compute; of rounds also with what it takes to bring ranks the rows that others
 * have. What a message costs is measured by a ping-pong, once for each pair of kinds of nodes, and
 * kept in the profile.
 *
 * Fields and HEDDLE_ROWS may lie in any layout; with HEDDLE_MPI_BLOCKS the parts are rows.
 * HEDDLE_COLUMNS and HEDDLE_ALL lie on one rank or everywhere. A rank needs memory for its own
 * arrays, HEDDLE_COLUMNS and HEDDLE_ALL, its rows with those around them that vectors reach, and 16
 * boundaries.
 *
 * All else is as heddle_mpi_loop_run() says: MPI and its threads, HEDDLE_NODE_TIMEOUT, and wrong
 * use that is refused on one rank alone.
 *
 * @param wavefront the wavefront. A handle is NULL where the rank has nothing of the array
 * @param comm the communicator, not an inter-communicator
 * @param places one for each array
 * @param[out] ranks one entry for each rank, filled on all; NULL: not wanted
 * @param[out] stats what this rank's workers did, as of one wavefront; `us`, `predicted_us` and
 * `model_us` are of the whole wavefront. NULL: not wanted
 * @return 0 on all ranks, when all results are where they belong; or the same negative errno value
 * on all of them, after a message. Then the contents of outputs are undefined.
 * - -EINVAL: ranks differ in what they ask for (the message says in what); a place that does not
 *   suit the array; a refusal of heddle_wavefront_submit()
 * - -ERANGE: the loop reaches beyond an array
 * - -ENODEV: a rank has no worker for the codelet
 * - -ENOMEM: no memory
 * - otherwise what a kernel failed with on the rank that the message names */
int heddle_mpi_wavefront_run(const struct heddle_wavefront *wavefront, MPI_Comm comm,
                             const struct heddle_mpi_place *places,
                             struct heddle_mpi_wave_rank *ranks,
                             struct heddle_wavefront_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
