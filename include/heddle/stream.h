/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Filters and streams: work that appears while other work is done.
 *
 * A program is a graph of filters, the filter-stream model of Anthill (Teodoro et al., HPDC 2010,
 * section 3). Streams carry buffers between filters. A buffer has a label, a number that says what
 * it is about, and data. For each buffer that a filter gets, it runs a codelet on a worker, or a
 * function on the host that decides what comes next. StarPU's policy decides which worker takes
 * which buffer. Graphs may have cycles: a tile of an image goes back for a higher resolution.
 *
 * The number of buffers of a stream is fixed. A filter begins only when there is a buffer for its
 * result, so memory is bounded. The flow ends when all buffers that were sent are processed: Heddle
 * counts them.
 *
 * Start with heddle_flow_create().
 */
#ifndef HEDDLE_STREAM_H
#define HEDDLE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <starpu.h>
#include <heddle/loop.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Largest number of handles of a buffer. */
#define HEDDLE_STREAM_PARTS 4

/** Largest number of ports of a filter, and of its constants. */
#define HEDDLE_FILTER_PORTS 8

/** Largest number of filters, and of streams, of a flow. */
#define HEDDLE_FLOW_MAX 64

/** Every rank has the data of a label: what a stream's `home` returns. */
#define HEDDLE_STREAM_EVERYWHERE (-1)

/** The shape of a part of a buffer. All 0: there is no such part. */
struct heddle_part {
	size_t elemsize; /**< bytes of an element */
	size_t nx;       /**< elements of a vector, or of a matrix's row; 0: a variable */
	size_t ny;       /**< rows of a matrix; 0: a vector or variable */
};

/** A stream: the edges of the graph between the filters that write to it and those that read it.
 * Any number of filters do either. A buffer goes to one reader.
 *
 * Its buffers are of one of three kinds:
 * - `parts` is set: Heddle makes `buffers` of them. Only ports write them.
 * - `data` is set: the program has registered the data itself.
 * - neither: labels without data. */
struct heddle_stream {
	const char *name; /**< for messages */
	/** Shapes of a buffer's parts, in pinned main memory. */
	struct heddle_part parts[HEDDLE_STREAM_PARTS];
	/** Of `parts`: number of buffers; 0: four for each worker, and at least 16. A cycle of such
	 * streams alone needs as many as can be in it at once. */
	unsigned buffers;
	/** Of `data`: stores the handles of the buffer with this label, and returns how many, at
	 * most HEDDLE_STREAM_PARTS; or a negative errno value. Any thread may call it. The handles
	 * are used until the buffer is processed. */
	int (*data)(uint64_t label, starpu_data_handle_t *handles, void *arg);
	/** Not of `parts`: `n` labels from `first` on come at the start of every run. They begin
	 * after all that is under way. */
	uint64_t first;
	uint64_t n; /**< number of these labels */
	/** Of `data`, for heddle_mpi_flow_run(), which calls `data` for a label on this rank only:
	 * the rank where the label's data lies, from 0 on; or HEDDLE_STREAM_EVERYWHERE: each rank
	 * has data of its own for it, which stays there. All ranks give the same answer. Any thread
	 * may call it. */
	int (*home)(uint64_t label, void *arg);
};

/** Filters and streams, checked and allocated by heddle_flow_create(). */
struct heddle_flow;

/** A buffer at a filter. The kernel's argument cl_arg points to one. */
struct heddle_event {
	uint64_t label; /**< the buffer's; a function may change it for the buffer that it sends */
	const struct heddle_stream *stream; /**< that brought the buffer */
	void *arg;                          /**< the flow's */
	int status; /**< 0; a kernel that fails stores a negative errno value */
	int worker; /**< StarPU's id of the worker that computed the buffer; -1: none did */
	/** For functions: the parts of the buffer that came, and of the one that will be sent, in
	 * main memory; NULL: no such part. */
	void *in[HEDDLE_STREAM_PARTS];
	void *out[HEDDLE_STREAM_PARTS]; /**< what is in them before is undefined */
	struct heddle_flow *flow;       /**< for heddle_event_send() */
};

/** A function returns this instead of 0, and its buffer for the port's `out` is not sent. */
#define HEDDLE_EVENT_DROP 1

/** A pair of streams. A buffer of `in` becomes one of `out`, with the same label. */
struct heddle_port {
	const struct heddle_stream *in;  /**< the stream that is read */
	const struct heddle_stream *out; /**< the stream that is written; NULL: none */
};

/** A filter. It has either a codelet or a function. */
struct heddle_filter {
	const char *name; /**< for messages, and of its tasks in traces; NULL: the codelet's */
	/** Its streams. With several, a function gets buffers of an earlier port first. Among
	 * filters, earlier ones come first. */
	struct heddle_port ports[HEDDLE_FILTER_PORTS];
	/** Runs for each buffer, as a task. Its buffers are the parts of `in`, the constants, and
	 * the parts of `out`, with modes STARPU_R (of `in` also STARPU_RW), STARPU_R and STARPU_W.
	 * `nbuffers` and `modes` are set. */
	struct starpu_codelet *codelet;
	starpu_data_handle_t constants[HEDDLE_FILTER_PORTS]; /**< handles that all tasks read */
	/** If not NULL: called for each task before its submission; any thread may call it. It may
	 * state what the task's time depends on (heddle_task_params()), and set `name`, `priority`,
	 * `where`, `sched_ctx`, `color` and `flops`. */
	void (*task)(struct starpu_task *task, const struct heddle_event *event);
	/** Runs for each buffer on the host, when the buffer is in main memory: reads a file,
	 * decides what is sent where.
	 * @return 0; HEDDLE_EVENT_DROP; a negative errno value, which ends the flow */
	int (*function)(struct heddle_event *event);
	/** Of `function`: threads that run it. They may block. 0: any thread runs it, also those of
	 * workers, several at once; it must be short and must not block. */
	unsigned threads;
	/** Of heddle_mpi_flow_run(): not this rank, but others run the filter. */
	bool elsewhere;
};

/** What a run did. Times are in microseconds. */
struct heddle_flow_stats {
	double us;        /**< from the start to the end */
	double submit_us; /**< from the start until this thread had begun all that it could */
	size_t tasks;     /**< tasks of all filters */
	size_t calls;     /**< calls of functions */
	/** Largest number of buffers that were at filters at once. */
	size_t most_under_way;
	unsigned nworkers; /**< entries of workers */
	/** One for each worker: `iterations` and `blocks` are tasks. `busy_us` and `finish_us` are
	 * 0 unless StarPU's profiling is on (starpu_profiling_status_set()). */
	struct heddle_worker_stats workers[STARPU_NMAXWORKERS];
};

/** Makes a flow: checks it, and allocates and registers its buffers. Any thread may call it between
 * starpu_init() and starpu_shutdown().
 * @param filters n filters, copied. The streams, codelets and names stay valid until
 * heddle_flow_destroy()
 * @param n number of filters, 1 to HEDDLE_FLOW_MAX
 * @param arg for functions and kernels: `arg` of events
 * @param[out] flow the flow
 * @return 0; a negative errno value after a message:
 * - -EINVAL: a filter without a port, with both or neither of codelet and function, or with a field
 *   of the other kind; a codelet that has another number of buffers, or another mode; a stream that
 *   nobody reads, or writes, or that has both parts and data, or `home` without data; parts without
 *   elements; too many filters, streams or buffers
 * - -ENODEV: no worker can run a codelet; the call came before starpu_init()
 * - -ENOMEM: no memory
 * - -ENOEXEC: see heddle_starpu_check() */
int heddle_flow_create(const struct heddle_filter *filters, unsigned n, void *arg,
                       struct heddle_flow **flow);

/** Runs a flow until all buffers are processed. A flow may run again. Do not call it in a task,
 * callback, kernel or function.
 * @param flow from heddle_flow_create()
 * @param[out] stats what the run did, set also after a failure; NULL: not wanted
 * @return 0; a negative errno value after a message that names filter and label:
 * - what a function returned, or a kernel stored; the flow begins nothing more then
 * - -EDEADLK: all buffers of a cycle are in use, and each filter waits for another one
 * - -ENODEV: no worker can run a task
 * - -EBUSY: the flow runs already
 * - -EINVAL: a filter is `elsewhere`
 * - -ENOMEM: no memory, or no thread */
int heddle_flow_run(struct heddle_flow *flow, struct heddle_flow_stats *stats);

/** Sends a label: to a stream without data, or with data of the program's. Only for functions of
 * filters, during the event. They may send any number of labels to any streams of the flow.
 * @param event the event
 * @param stream a stream that a filter of the flow reads
 * @param label the label
 * @return 0; a negative errno value after a message. The flow ends then as if the function had
 * returned it.
 * - -EINVAL: the stream is not one of the flow's, has `parts`, or nobody reads it
 * - -ENOMEM: no memory */
int heddle_event_send(struct heddle_event *event, const struct heddle_stream *stream,
                      uint64_t label);

/** Frees a flow and its buffers. It must not run.
 * @param flow from heddle_flow_create(); NULL has no effect */
void heddle_flow_destroy(struct heddle_flow *flow);

#ifdef __cplusplus
}
#endif
#endif
