/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the files of the loop share. A loop is a control task, which holds the loop's data in
 * main memory and ends when the last block's outputs are written back; the workers that take
 * part, each with its blocks under way; and a strategy. One mutex guards all that changes,
 * except the sums of reductions.
 */
#ifndef HEDDLE_LOOP_PRIVATE_H
#define HEDDLE_LOOP_PRIVATE_H

#include <stdatomic.h>
#include <stdbool.h>

#include <heddle/loop.h>

#include "estimator/block_time.h"
#include "partition/common/array_starpu.h"
#include "partition/common/control_starpu.h"
#include "partition/common/task_starpu.h"
#include "support/starpu_compat.h"

#include "part.h"
#include "ranges.h"
#include "window.h"

/* An array of the loop. */
struct loop_view {
	struct heddle_access access;
	struct work_array array;
	struct loop_cut cut;
	starpu_data_handle_t whole; /* HEDDLE_WHOLE: shared by all device blocks */
	struct work_array index;    /* HEDDLE_INDEXED */
	void *nothing;              /* a unit that stands for an empty part on a device */
};

struct loop_worker {
	struct heddle_worker_stats stats;
	unsigned index;
	size_t maximum;          /* iterations that its memory holds, 0: no bound */
	size_t buffer;           /* bytes of the largest buffer it can allocate */
	size_t bytes;            /* that a block may take of its memory; SIZE_MAX: no bound */
	unsigned depth;          /* blocks it may have in flight in the completion phase */
	unsigned implementation; /* of the codelet */
	unsigned in_flight;      /* blocks whose time the strategy does not know yet */
	unsigned unfinished;     /* blocks whose outputs are not written back */
	bool learning;           /* its latest block is one of the adaptive phase, which goes on */
	bool retired;            /* its device failed */
	bool waiting;            /* the strategy gave it no block while iterations remained */
	bool running;            /* modelled time: a block of it is not done */
	bool simulates;          /* its blocks' time is not that of the wall clock */
	double running_us;       /* when that block began, in modelled time */
	double wall_us;          /* and on the wall; 0: not yet */
	double busy_since_us;
	double last_done_us;
	struct heddle_block_time time; /* what its blocks take, where that is kept */
	/* An accelerator of a loop that does not wait for late ones: its blocks whose kernels have
	 * not ended, the first one first. */
	struct loop_block *running_first;
	unsigned starting; /* blocks of an accelerator whose tasks are not submitted */
	/* What a CPU worker looks at while another one serves it, in a cache line of its own. */
	char apart[64];
	bool posted;      /* its block is done and wants to be renewed */
	double posted_us; /* when it was done */
	bool renewed;     /* the answer, once that is over */
	char end[64];
};

/* What a block has of one array. */
struct loop_block_data {
	starpu_data_handle_t handle; /* on an accelerator */
	size_t count;                /* units, there: an index may change under a late block */
	void *partial;               /* HEDDLE_REDUCE: this block's sums */
};

/* The second computation of a late block, in pieces. Their outputs are here until all of them are
 * complete, because the first attempt may still be the first to end. */
struct loop_again {
	struct loop_block *block; /* the late one, until it is settled */
	struct loop_range range;  /* its iterations */
	struct loop_ranges left;  /* those that no worker has, counted from its first one on */
	size_t missing;           /* iterations that are not computed again */
	size_t unit;              /* pieces are multiples of this */
	bool settled;             /* one of the two counts */
	int status;               /* of the first attempt, if that has failed */
	bool given_up;            /* no worker can compute a piece */
	void *copies[HEDDLE_LOOP_MAXHANDLES]; /* of what it writes; NULL: that array is not written
	                                         in place */
	struct loop_block *done;              /* pieces that are complete */
	struct loop_again *next;
};

struct loop_block {
	struct heddle_block given; /* what the kernel sees; first, so that cl_arg is the block */
	struct heddle_loop_request *loop;
	struct loop_worker *worker; /* NULL until known, under a stock policy */
	struct loop_range range;
	struct loop_block_data data[HEDDLE_LOOP_MAXHANDLES];
	unsigned unwritten; /* outputs to be written back, and one for the callback itself */
	bool over;          /* accounted for; only its task has not ended */
	bool probe;         /* under a stock policy: tells how long a core takes */
	bool isolated;      /* alone on its worker: timed until its outputs are written back */
	enum heddle_phase phase;
	double submit_us, done_us;
	double begin_us; /* on a CPU worker: when its kernel began */
	double wall_us;  /* modelled time: when it began on the wall */
	double saved_us; /* and how much of its time there does not count */
	double board_us; /* what its simulated board had done before; below 0: it has none */
	struct loop_block *next; /* in the list of spare, posted, finished, or complete blocks */
	struct loop_block *running_next; /* in the worker's list */
	struct loop_again *again;        /* it is late, and computed again */
	struct loop_again *piece_of;     /* it is a piece of that */
	bool dropped; /* late, and its outputs are not wanted: the loop does not wait for it */
	/* Its time, as predicted when it was given, of one in the worker's list or on a CPU worker;
	 * 0: unknown. */
	double predicted_us;
	double predicted_start_us; /* of that, beside its iterations */
};

struct loop_record;

/* One that is held for microseconds. Those who wait for it look at a cache line of its own. */
struct loop_mutex {
	char apart[64];
	atomic_bool held;
	char end[64];
	starpu_pthread_mutex_t mutex;
};

struct heddle_loop_request {
	struct heddle_loop loop;
	char *name;
	struct loop_view views[HEDDLE_LOOP_MAXHANDLES];
	size_t nworkers;
	struct loop_worker *workers;
	short worker_of_id[STARPU_NMAXWORKERS];
	struct work_ids ids;                  /* StarPU's, of the workers */
	struct starpu_codelet own_codelet;    /* that of a loop with a plain function */
	struct starpu_codelet device_codelet; /* blocks whose data StarPU moves */
	/* Blocks on CPU workers: data in place, and registered only for a simulation's model. */
	struct starpu_codelet host_codelet;
	struct control control;

	struct loop_mutex mutex;   /* loop_lock() */
	struct loop_mutex sums;    /* for what HEDDLE_REDUCE adds up */
	atomic_uint nlocking;      /* threads that wait in loop_lock() */
	struct loop_block *posted; /* blocks to be renewed, the latest one first */
	char apart[64];
	atomic_bool serving; /* a worker serves those that have posted; the others look at it */
	char end[64];
	bool reduces;                   /* an access is HEDDLE_REDUCE */
	bool indexed;                   /* an access is HEDDLE_INDEXED */
	char *strategy;                 /* specification; NULL: stock policy */
	const char *chosen;             /* what auto took; NULL: the strategy is another one */
	unsigned depth;                 /* blocks under way on one accelerator, if they fit; 0: 1 */
	struct heddle_strategy *blocks; /* NULL: stock policy */
	struct loop_ranges ranges;
	/* Stock policy: its tasks, those that were cut, and the type of the last one: the
	 * first may be of another size, and have loaded the kernel. */
	unsigned parts, cut, probes;
	atomic_ulong key;
	bool submitting;       /* a thread submits such parts */
	bool core_had_part;    /* a core has done one that was no probe */
	bool shrinks;          /* others may take iterations of it: it is ... */
	struct loop_part part; /* ... this */
	bool bounded;          /* its blocks last no longer than worker_bound() says */
	size_t under_way;      /* blocks whose outputs are not written back */
	size_t references;     /* blocks whose callbacks are not through, and one while blocks are
	                          first given out: the loop ends with the last */
	atomic_uint nwaiting;  /* workers that wait; written with the mutex held */
	unsigned asked_first;  /* of them, modulo all */
	unsigned nlearning;    /* workers that are learning */
	struct loop_block *spare;
	int status; /* of the loop; once not 0 no block is given out */

	bool modelled;               /* by modelled time */
	bool turning;                /* a thread settles blocks of `finished` */
	double now_us;               /* time of the block in turn */
	struct loop_block *finished; /* blocks that are done and whose turn has not come */

	double start_us, learned_us, end_us;
	atomic_ullong overhead_ns; /* of all threads together */
	size_t nblocks, nretried, nlate;

	double late_us;           /* a block that much overdue may be computed again; 0: none */
	struct loop_again *again; /* late blocks, the latest one first */
	size_t ndropped;          /* blocks that were dropped and whose tasks have not ended */
	struct loop_block *over;  /* those whose tasks have */
	bool sends;               /* its arrays remain pinned for them */
	bool left;                /* nobody refers to the loop but those */
	bool warm;                /* rates are used and kept */
	double
	    task_us; /* a CPU worker's task takes further blocks until this age for each worker */
	bool logged; /* a block log is wanted */
	struct loop_record *records; /* for it */
	size_t nrecords, capacity;
	size_t nunlogged; /* no memory for their records */
};

/* ---- view_starpu.c ---- */

int loop_view_init(struct loop_view *view, const struct heddle_loop *given, unsigned number,
                   const char *loop);
void loop_view_fini(struct loop_view *view);
/* Whether the loop leaves the indices of its arrays alone.
 * @return 0; -EINVAL after a message */
int loop_views_check_indices(const struct heddle_loop_request *loop);
/* Whether the indices are right for iterations start to start + n - 1. If not, a message names
 * the first wrong entry. */
bool loop_views_check(const struct heddle_loop_request *loop, size_t start, size_t n);
/* The units that iterations start to start + n - 1 touch. */
struct loop_window loop_view_window(const struct loop_view *view, size_t start, size_t n);
void loop_view_interface(const struct loop_view *view, struct loop_window window, void *partial,
                         union work_array_interface *interface);
/* `room`: units that a device allocates for it, window.count or more. An empty window is one of a
 * unit that belongs to no array. */
starpu_data_handle_t loop_view_register(const struct loop_view *view, struct loop_window window,
                                        size_t room, void *partial);
/* Sets the lengths in a description of the view on a device. */
void loop_view_correct(const struct loop_view *view, size_t count, void *buffer);
/* What a device must hold. */
struct loop_footprint loop_views_footprint(const struct loop_view *views, unsigned nviews);
/* How many blocks of how many iterations fit the memory of an accelerator: loop->depth
 * blocks, or fewer where iterations are very large.
 * @return -ENOMEM when not one iteration fits. */
int loop_worker_size(const struct heddle_loop_request *loop, struct loop_worker *worker);
/* How many of n iterations from `start` on fit into the memory of a worker as one block. */
size_t loop_worker_room(const struct heddle_loop_request *loop, const struct loop_worker *worker,
                        size_t start, size_t n);
/* Units of a view that a device is to allocate for a block's `count`.
 * @param worker NULL: StarPU's policy chooses it */
size_t loop_view_room(const struct heddle_loop_request *loop, const struct loop_view *view,
                      const struct loop_worker *worker, size_t count);

/* ---- lock_starpu.c ---- */

void loop_mutex_lock(struct loop_mutex *mutex);
void loop_mutex_unlock(struct loop_mutex *mutex);
void loop_lock_init(struct heddle_loop_request *loop);
void loop_lock_destroy(struct heddle_loop_request *loop);
void loop_lock(struct heddle_loop_request *loop);
void loop_unlock(struct heddle_loop_request *loop);
/* Mutex held: lets those in loop_lock() have it meanwhile. */
void loop_lock_gap(struct heddle_loop_request *loop);
/* Adds a block that is done to those whose workers want their next one. */
void loop_post(struct loop_block *block);
/* Waits until a worker that has posted is answered, or is to serve all that have posted.
 * @return whether it is to serve: it has the mutex, and loop_turn_end() follows */
bool loop_turn(struct heddle_loop_request *loop, struct loop_worker *worker);
void loop_turn_end(struct heddle_loop_request *loop);
/* Mutex held: takes all posted blocks, as a list, the first one first. */
struct loop_block *loop_posted(struct heddle_loop_request *loop);
/* Mutex held: tells a worker that its block has been dealt with. */
void loop_answer(struct loop_worker *worker, bool renewed);

/* ---- rates_starpu.c ---- */

/* Sets the prior rates of workers of which earlier loops have measured the rate. */
void loop_rates_recall(const struct heddle_loop_request *loop,
                       struct heddle_strategy_worker *workers);
/* Keeps the rates of a loop that is done. */
void loop_rates_keep(const struct heddle_loop_request *loop);

/* ---- memory_starpu.c ---- */

/* The strategy begins with what earlier runs of the loop have told. */
void loop_memory_use(struct heddle_loop_request *loop);
/* Keeps a run that is over. The loop may have no strategy any more afterwards. */
void loop_memory_keep(struct heddle_loop_request *loop);

/* ---- block_starpu.c ---- */

/* Mutex held: a spare block or a new one; NULL: no memory. */
struct loop_block *loop_block_get(struct heddle_loop_request *loop);
/* Mutex held: makes a block the first of the spare ones. */
void loop_block_spare(struct loop_block *block);
void loop_block_free(struct loop_block *block);
/* Mutex held: the block gets a range and counts as under way. */
void loop_block_prepare(struct loop_block *block, struct loop_range range, double now);
/* The units that it touches. */
struct loop_window loop_block_window(const struct loop_block *block, unsigned i);
/* Clears the block's own arrays for sums. */
void loop_block_clear_partial(struct loop_block *block);
/* Its outputs are not where the loop's are: where they begin, of array i. NULL: they are. */
void *loop_block_apart(const struct loop_block *block, unsigned i);
/* Runs its kernel on the CPU worker that calls. */
void loop_block_compute(struct loop_block *block);
/* Submits its task, to the block's worker or, without one, to StarPU's policy.
 * @param done callback of the task
 * @return 0; otherwise StarPU refuses the task, and the block's data is unregistered */
int loop_block_submit(struct loop_block *block, bool on_host, void (*done)(void *block));
/* On an accelerator: it no longer needs its part of an array. */
void loop_block_unregister(struct loop_block *block, unsigned i);
/* It needs none. An attempt that is dropped gives its data up before its task ends, so that StarPU
 * never copies it to main memory to make room on the device. */
void loop_block_unregister_all(struct loop_block *block);
/* Mutex held: keeps a block for the log of blocks (HEDDLE_BLOCK_LOG). */
void loop_log_block(struct heddle_loop_request *loop, const struct loop_block *block);
/* Writes that log. */
void loop_log_write(struct heddle_loop_request *loop);
/* Who computes a block, as an event of StarPU's trace. */
void loop_log_decision(const struct heddle_loop_request *loop, const struct loop_block *block);
/* Modelled time, mutex held: a worker was given a block. */
void loop_modelled_given(struct loop_block *block);
/* A block is done: it is added to those whose turn is to come. */
void loop_modelled_finished(struct loop_block *block);
/* Mutex held: takes the block that no other one can come before, at whose end the loop's time
 * is now; NULL: none. */
struct loop_block *loop_modelled_next(struct heddle_loop_request *loop);
/* Of the codelet of a loop with a plain function: calls that one. */
void loop_plain_function(void *buffers[], void *arg);
/* Of the codelet of blocks whose data StarPU moves. */
void loop_device_function(void *buffers[], void *arg);

/* ---- late_starpu.c ---- */

/* Whether a worker has a block of a loop that has ended without it. */
bool loop_worker_is_lost(int id);
/* Mutex held: a worker was given a block. */
void loop_late_given(struct loop_block *block);
/* Mutex held: a block's kernel has ended, or will not run. */
void loop_late_ended(struct loop_block *block);
/* A kernel has ended on an accelerator.
 * @return false: the block was dropped, and may be gone */
bool loop_late_arrives(struct loop_block *block);
/* Whether nobody wants a block that is about to be computed. */
bool loop_late_unwanted(const struct loop_block *block);
/* By the thread that waits for the loop: finds late blocks and has them computed again, until the
 * loop ends. Returns at once from a loop that waits for all blocks. */
void loop_late_watch(struct heddle_loop_request *loop);
/* Mutex held: a piece of a late block for an idle worker; NULL: there is none. */
struct loop_block *loop_late_piece_give(struct heddle_loop_request *loop,
                                        struct loop_worker *worker, double now);
/* Mutex held: other workers are to compute a piece; loop_workers_fill() asks them.
 * @return false: no worker can, and the first attempt has failed, too */
bool loop_late_piece_back(struct loop_block *piece);
/* Mutex held, nothing is under way: a loop in which a block is missing fails. */
void loop_late_ends(struct heddle_loop_request *loop);
/* A piece is done. */
void loop_late_piece_done(struct loop_block *piece, double now);
/* What pieces read of what they write. */
void loop_late_piece_begins(struct loop_block *piece);
/* Frees the loop, or leaves that to the last block that was dropped. */
void loop_leave(void *loop);
void loop_late_fini(struct heddle_loop_request *loop);

/* ---- loop_starpu.c ---- */

void loop_free(struct heddle_loop_request *loop);

/* ---- run_starpu.c ---- */

/* The block of the calling CPU worker ends after n iterations, and the rest is given out again.
 * @param rest_us that it would take the worker
 * @return false: it is not; the loop is expected to take as long anyway */
bool loop_block_shorten(struct loop_block *block, size_t n, double rest_us);
/* Mutex held: the worker gets no further block. */
void loop_worker_retire(struct heddle_loop_request *loop, struct loop_worker *worker);
/* Mutex held: every worker is to ask again. */
void loop_workers_want(struct heddle_loop_request *loop);
/* Mutex held: the worker has a block. */
void loop_worker_begins(struct loop_worker *worker, struct loop_block *block, double now);
/* Mutex held: the worker has one block less. */
void loop_worker_ends(struct loop_worker *worker, double now);
/* Gives every worker that may have one a block. */
void loop_workers_fill(struct heddle_loop_request *loop);
/* Adds a block's sums to the loop's. */
void loop_block_combine(struct loop_block *block);
/* Says that the block's kernel has failed, and what becomes of its iterations. */
void loop_block_say_failed(const struct loop_block *block, const char *fate);
/* Mutex held: adds a complete block to its worker's statistics. */
void loop_block_book(struct loop_block *block);
/* Gives a worker blocks until it has as many as it may. */
void loop_worker_fill(struct heddle_loop_request *loop, struct loop_worker *worker);
/* Drops a reference. With the last one either a worker takes the iterations that remain,
 * or the loop ends. */
void loop_release(struct heddle_loop_request *loop);

/* What the control task runs. */
void loop_start(void *loop);
/* Of the codelet of blocks on CPU workers. */
void loop_host_function(void *buffers[], void *arg);

static inline bool loop_worker_is_host(const struct loop_worker *worker)
{
	return worker->stats.kind == HEDDLE_KIND_CPU;
}

/* Its arrays, as partition/common knows them. */
static inline struct work_arrays loop_arrays(struct heddle_loop_request *loop)
{
	return (struct work_arrays){&loop->views[0].array, sizeof(loop->views[0]),
	                            loop->loop.naccesses, "loop", loop->name};
}

#endif
