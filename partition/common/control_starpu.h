/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One node of StarPU's task graph that stands for work of many tasks. The node is a task, the
 * control task, that takes all data of the work in main memory: it begins when earlier tasks
 * on this data have ended, and later ones wait for it. It submits the first tasks of the work
 * and ends when control_end() is called, mostly in the callback of the last of these tasks.
 */
#ifndef HEDDLE_PARTITION_CONTROL_STARPU_H
#define HEDDLE_PARTITION_CONTROL_STARPU_H

/* From control_init() to control_fini(): control_data() for each handle, control_submit()
 * once, control_end() once; and control_wait() unless the work is detached. Who waited frees the
 * work; detached work is freed at the node's end. */

#include <stdbool.h>
#include <starpu.h>

struct control {
	struct starpu_task *task; /* the node */
	void (*start)(void *work);
	void (*free)(void *work);
	void *work;
	int worker;        /* that runs it; -1: any */
	bool where_opencl; /* only OpenCL's workers run it */
	bool may_here;     /* start may run in control_submit() */
	bool alone;        /* only who submits waits for the end */
	bool here;         /* it does */
	int status;        /* -errno: start runs, but its data may not be there */
	starpu_pthread_mutex_t mutex;
	starpu_pthread_cond_t ended;
	bool done, detached;
	char *message; /* of control_say() */
	unsigned ndata;
	/* Only as far as there is data, and where there is a node: */
	starpu_data_handle_t handles[STARPU_NMAXBUFS];
	enum starpu_data_access_mode modes[STARPU_NMAXBUFS];
	struct starpu_codelet codelet;
	struct starpu_codelet node; /* of the node, where another task runs start */
};

/** Nothing is submitted by this.
 * @param start called by a worker when the data is in main memory; it must not block
 * @param free frees `work`, `control` included, when detached work has ended */
void control_init(struct control *control, void (*start)(void *work), void (*free)(void *work),
                  void *work);

/** For a control of which nothing is submitted, or whose end was waited for. */
void control_fini(struct control *control);

/** The work of a node of StarPU's graph; NULL: it is another task. */
const struct control *control_of(const struct starpu_task *task);

/** The work uses this data, each handle given once, STARPU_NMAXBUFS handles at the most.
 * @param mode STARPU_W only where all of it is written: what is not, is undefined then */
void control_data(struct control *control, starpu_data_handle_t handle,
                  enum starpu_data_access_mode mode);

/** The node's start runs on an OpenCL worker instead of any, and may compute there.
 * @param worker StarPU's id; -1: one that the policy chooses */
void control_on_opencl(struct control *control, int worker);

/** Where nothing has to be waited for, the node's start runs in control_submit(), by the thread
 * that calls it, which saves two changes of thread; otherwise on a worker. `status` is
 * not 0 in start where no worker can be had: the work is to end at once.
 * @param alone the caller waits at once, and no one else refers to the work: without data it
 * is no node of StarPU's then */
void control_may_here(struct control *control, bool alone);

/** Whether it will run in control_submit() in any case, and be no node of StarPU's. */
bool control_is_here(const struct control *control);

/** Whether all data is valid in main memory, as far as can be seen without a lock. */
bool control_at_home(const struct control *control);

/** Submits the node.
 * @param what,name of the work, for StarPU and messages
 * @param detached control_wait() is not called
 * @return 0; what StarPU says, after a message: there is no node then, and nothing freed */
int control_submit(struct control *control, const char *what, const char *name, unsigned sched_ctx,
                   bool detached);

/** The work may fail for what this thread refused last. The first call counts. */
void control_say(struct control *control);

/** After control_wait(): where the work has failed, what was said becomes the last refusal of this
 * thread.
 * @return status */
int control_failed(const struct control *control, int status);

/** All is done: ends the node. The work may be freed before this returns. */
void control_end(struct control *control);

/** Whether the node has ended, or is about to. */
bool control_is_over(struct control *control);

/** Returns when the node has ended and StarPU knows nothing of the work any more. Not for
 * detached work, nor in a task or a callback. */
void control_wait(struct control *control);

/** The same for so long at the most.
 * @return whether the node has ended; if so, control_wait() is still to be called */
bool control_wait_for(struct control *control, double us);

/** The same of short work whose end can be estimated: to be woken takes some 50 us, so the thread
 * gets up by itself before, and looks for the end. The cores are for others first.
 * @param end_us when that may be, as starpu_timing_now()
 * @param look_us how long before that it looks for the end, and four times as long after; 0: not
 * at all */
void control_wait_until(struct control *control, double end_us, double look_us);

#ifdef HEDDLE_USE_SIMGRID
/** Of tasks that take no time: simulated ones need a duration above 0. */
extern struct starpu_perfmodel control_instant_model;
#endif

#endif
