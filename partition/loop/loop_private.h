/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the files of the loop share.
 *
 * A loop is a control task, which holds the loop's data in main memory and is
 * ended when the last block is home; lanes, one a worker, each with the blocks
 * it has under way; and a strategy. One mutex guards all that changes, but for the
 * sums of reductions.
 */
#ifndef HEDDLE_LOOP_PRIVATE_H
#define HEDDLE_LOOP_PRIVATE_H

#include <stdbool.h>

#include <heddle/loop.h>

#include "estimator/block_time.h"
#include "partition/common/array_starpu.h"
#include "partition/common/control_starpu.h"
#include "partition/common/task_starpu.h"

#include "ranges.h"
#include "room.h"
#include "window.h"

#ifdef HEDDLE_USE_SIMGRID
#define LOOP_SIMULATED 1
#else
#define LOOP_SIMULATED 0
#endif

/* An array of the loop. */
struct view {
	struct heddle_access access;
	struct home_array array;
	starpu_data_handle_t whole; /* HEDDLE_WHOLE: shared by all device blocks */
};

struct lane {
	struct heddle_worker_stats stats;
	unsigned index;
	size_t maximum;          /* iterations that its memory holds, 0: no bound */
	size_t buffer;           /* bytes of the largest buffer it can allocate */
	unsigned depth;          /* blocks it may have in flight in the completion phase */
	unsigned implementation; /* of the codelet */
	unsigned in_flight;      /* blocks given and not yet accounted for */
	unsigned away;           /* blocks whose outputs are not home yet */
	bool learning;           /* its latest block is one of the adaptive phase, which goes on */
	bool retired;            /* its device failed */
	bool waiting;            /* the strategy had nothing for it while iterations remained */
	bool running;            /* modelled time: a block of it is not done */
	bool simulates;          /* time on the wall says nothing of its blocks */
	double running_us;       /* when that block began, in modelled time */
	double wall_us;          /* and on the wall; 0: not yet */
	double busy_since_us;
	double last_done_us;
	struct heddle_block_time time; /* what its blocks take, where that is kept */
	/* What its CPU worker looks at while another one serves it, in a cache line of its
	 * own. */
	char apart[64];
	struct block *posted; /* a block that is done and wants to be renewed, or NULL */
	double posted_us;     /* when it was done */
	bool renewed;         /* the answer, once posted is NULL again */
};

/* What a block has of one array. */
struct part {
	starpu_data_handle_t handle; /* on an accelerator */
	void *partial;               /* HEDDLE_REDUCE: this block's sums */
};

struct block {
	struct heddle_block given; /* what the kernel sees; first, so that cl_arg is the block */
	struct heddle_loop_request *loop;
	struct lane *lane; /* NULL until known, under a stock policy */
	struct range range;
	struct part parts[HEDDLE_LOOP_MAXHANDLES];
	unsigned coming; /* outputs on their way home, and one for the callback itself */
	bool over;       /* nothing is left of it but its task */
	bool isolated;   /* nothing else under way there: timed until its outputs are home */
	enum heddle_phase phase;
	double submit_us, done_us;
	double begin_us;    /* on a CPU worker: when its kernel began */
	double wall_us;     /* modelled time: when it began on the wall */
	double saved_us;    /* and how much of its time there does not count */
	double board_us;    /* what its simulated board had done before; below 0: it has none */
	struct block *next; /* in the list of spare blocks */
};

struct block_record;

struct heddle_loop_request {
	struct heddle_loop loop;
	char *name;
	struct view views[HEDDLE_LOOP_MAXHANDLES];
	size_t nlanes;
	struct lane *lanes;
	short lane_of_worker[STARPU_NMAXWORKERS];
	struct worker_set workers;            /* those that have one */
	struct starpu_codelet device_codelet; /* blocks whose data StarPU moves */
	struct starpu_codelet host_codelet;   /* blocks on CPU workers: data in place */
	struct control control;

	starpu_pthread_mutex_t mutex;
	starpu_pthread_mutex_t sums;    /* for what HEDDLE_REDUCE adds up */
	bool reduces;                   /* there is such an access */
	char *strategy;                 /* specification; NULL: stock policy */
	unsigned depth;                 /* blocks under way on one accelerator, if they fit; 0: 1 */
	struct heddle_strategy *blocks; /* NULL: stock policy */
	struct ranges ranges;
	size_t under_way;   /* blocks not home */
	size_t references;  /* what keeps the loop from its end: blocks whose callbacks are not
	                       through, and one while blocks are first given out */
	unsigned nwaiting;  /* lanes that wait */
	unsigned nlearning; /* lanes that learn */
	struct block *spare;
	int status; /* of the loop; once not 0 no block is given out */

	bool modelled;      /* by modelled time; the rest is modelled_starpu.c's */
	bool turning;       /* somebody goes through `home` */
	double now_us;      /* time of the block in turn */
	struct block *home; /* blocks that are done and whose turn has not come */

	double start_us, learned_us, end_us, overhead_us;
	size_t nblocks, nretried;
	bool warm;                    /* rates are used and kept */
	double task_us;               /* a younger task on a CPU worker takes another block */
	bool logged;                  /* a block log is wanted */
	struct block_record *records; /* for it */
	size_t nrecords, capacity;
	size_t nunlogged; /* no memory for their records */
};

/* view_starpu.c */
int view_init(struct view *view, const struct heddle_access *access, unsigned index, size_t n,
              const char *loop);
struct window view_window(const struct view *view, const struct block *block);
void view_interface(const struct view *view, struct window window, void *partial,
                    union array_interface *interface);
/* `room`: units that a device allocates for it, window.count or more. */
starpu_data_handle_t view_register(const struct view *view, struct window window, size_t room,
                                   void *partial);
/* Sets the lengths in a description of the view on a device. */
void view_correct(const struct view *view, struct window window, void *buffer);
/* What a device must hold. */
struct footprint views_footprint(const struct view *views, unsigned nviews);
/* Iterations of a block none of whose buffers is above so many bytes.
 * @return as footprint_room() */
size_t views_buffer_room(const struct view *views, unsigned nviews, size_t bytes);
int views_check_overlap(const struct view *views, unsigned nviews, const char *loop);

/* room_starpu.c */
/* How many blocks of how many iterations an accelerator has room for: as many as
 * loop->depth says, fewer where iterations are so large that it must be.
 * @return -ENOMEM when not one iteration fits. */
int lane_size(const struct heddle_loop_request *loop, struct lane *lane);

/* warm_starpu.c */
/* Sets the prior rates of workers that earlier loops tell of. */
void warm_priors(const struct heddle_loop_request *loop, struct heddle_strategy_worker *workers);
/* Keeps the rates of a loop that is done. */
void warm_keep(const struct heddle_loop_request *loop);

/* modelled_starpu.c */
/* Mutex held: a lane was given a block. */
void modelled_given(struct block *block);
/* Its kernel begins, on the lane's worker; and it has ended. */
void modelled_kernel_begin(struct block *block);
void modelled_kernel_end(struct block *block);
/* A block is done: it is in the list of those whose turn is to come. */
void modelled_home(struct block *block);
/* Settles all blocks that no other one can come before. */
void modelled_turn(struct heddle_loop_request *loop);

/* block_starpu.c */
/* Mutex held: a block that is not in use; NULL: no memory. And back, to be used first. */
struct block *block_get(struct heddle_loop_request *loop);
void block_spare(struct block *block);
void block_free(struct block *block);
/* Mutex held: the block gets a range and counts from now on. */
void block_prepare(struct block *block, struct range range, double now);
/* Its own arrays for sums are zero again. */
void block_clear_partial(struct block *block);
/* Runs its kernel on the CPU worker that calls. */
void block_compute(struct block *block);
/* Submits its task.
 * @param worker below 0: StarPU's policy chooses
 * @return 0; otherwise StarPU refuses the task, and nothing is left of it */
int block_submit(struct block *block, bool on_host, int worker);
/* On an accelerator: it needs its part of an array no more. */
void block_unregister(struct block *block, unsigned i);
void loop_device_function(void *buffers[], void *arg);

/* give_starpu.c */
/* Gives a lane blocks until it has as many as it should. */
void lane_fill(struct heddle_loop_request *loop, struct lane *lane);
/* Asks again for lanes that had nothing. */
void lanes_wake(struct heddle_loop_request *loop);
/* Gives all out as equal tasks that StarPU's policy places. */
void loop_submit_parts(struct heddle_loop_request *loop, unsigned parts);
/* Drops one reference: the last one ends the loop. */
void loop_release(struct heddle_loop_request *loop);
/* Mutex held, all that follow. The lane's next block; NULL: none now. */
struct block *lane_next(struct heddle_loop_request *loop, struct lane *lane, double now);
/* A block of a lane is done, and may end the learning of any. */
void lanes_learned(struct heddle_loop_request *loop, const struct lane *done, double now);
/* The lane gets no further block. */
void lane_retire(struct heddle_loop_request *loop, struct lane *lane);
/* Another lane is to do a range. @return false: there is none, or no memory */
bool range_pass_on(struct heddle_loop_request *loop, struct lane *lane, struct range range);
/* A block's worker will not do it. @return whether another does */
bool block_return(struct block *block, int error);
/* A block is accounted for, whatever became of it: it is spare. */
void block_put(struct block *block, double now);

/* done_starpu.c */
/* Callbacks of blocks' tasks, on CPU workers and elsewhere. */
void block_done_at_home(void *block);
void block_done_away(void *block);
/* A block is done: accounts for it, and fills its lane and those that wait. */
void block_settle(struct block *block, double now);
void loop_host_function(void *buffers[], void *arg);

/* loop_starpu.c */
void loop_end(struct heddle_loop_request *loop);

/* log_starpu.c */
void log_block(struct heddle_loop_request *loop, const struct block *block);
void log_decision(const struct heddle_loop_request *loop, const struct block *block);
void log_write(struct heddle_loop_request *loop);

/* The loop's time when the clock on the wall shows wall_us. In modelled time nothing
 * changes between the turns of blocks. Mutex held, or in the turn of a block. */
static inline double loop_time(const struct heddle_loop_request *loop, double wall_us)
{
	return loop->modelled ? loop->now_us : wall_us;
}

static inline double loop_now(const struct heddle_loop_request *loop)
{
	return loop_time(loop, starpu_timing_now());
}

static inline bool lane_is_host(const struct lane *lane)
{
	return lane->stats.kind == HEDDLE_KIND_CPU;
}

static inline bool view_is_output(const struct view *view)
{
	return view->access.mode & STARPU_W;
}

#endif
