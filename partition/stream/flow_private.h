/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the parts of a flow share: making one (flow_starpu.c), its events (event_starpu.c), and runs
 * (run_starpu.c). Calls go down in the order run, event, flow.
 */
#ifndef HEDDLE_STREAM_FLOW_PRIVATE_H
#define HEDDLE_STREAM_FLOW_PRIVATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <starpu.h>

#include <heddle/stream.h>

#include "partition/stream/queues.h"

#define FLOW_PORTS (HEDDLE_FLOW_MAX * HEDDLE_FILTER_PORTS)

struct flow_stream {
	const struct heddle_stream *given;
	unsigned nparts;  /* of `parts`; otherwise 0 */
	uint32_t buffers; /* of `parts`; otherwise 0 */
	void *memory[HEDDLE_STREAM_PARTS];
	size_t stride[HEDDLE_STREAM_PARTS]; /* bytes from a buffer's part to the next one's */
	starpu_data_handle_t *handles;      /* of part p of buffer b: [b * nparts + p] */
	bool read, written;
};

struct flow_port {
	struct flow_filter *filter;
	const struct heddle_port *given;
	struct flow_stream *in, *out; /* out may be NULL */
};

struct flow_filter {
	struct heddle_filter given;
	const char *name;
	unsigned nconstants;
	unsigned group;    /* of its ports: 0, or its number + 1 where it has threads */
	unsigned capacity; /* events that it can run at once; 0: other ranks run it */
	unsigned capacities[HEDDLE_NKINDS]; /* the same by kinds; functions are the CPU's */
	starpu_pthread_cond_t work;         /* for its threads */
	struct heddle_flow *flow;
};

/* The data of a label that lies on another rank, as an event has it here. */
struct flow_loan {
	int home; /* the rank; -1: the data is here */
	unsigned n;
	starpu_data_handle_t handles[HEDDLE_STREAM_PARTS]; /* of the rank's own memory */
	void *loan;                                        /* flow_net's */
};

/* A buffer at a filter, and the one of its result. */
struct flow_event {
	struct heddle_event event; /* what users see; cl_arg of the task points to it */
	struct queues_event taken;
	const struct flow_port *port;
	struct starpu_task *task;
	unsigned nin, nhandles; /* handles: those of `in`, then those of `out` */
	starpu_data_handle_t handles[2 * HEDDLE_STREAM_PARTS];
	atomic_uint held;          /* bits: which handles a function has in main memory */
	atomic_uint pending;       /* handles that are on their way there, and who asks for them */
	struct flow_loan loans[2]; /* of the data of `in` and `out` */
	bool lent;                 /* there are some, and flow_net has been asked for them … */
	bool come;                 /* … and they have come; for filters with threads */
	bool sent;                 /* whether the buffer of the result will be … */
	int worker;                /* … and who computed it, while loans go back */
	double asked_us;           /* when it asked for loans */
	struct flow_event *next;   /* in the list of spare ones, or of flow_net */
};

/* What a worker does; only its own thread writes it. */
struct flow_worker {
	size_t tasks;
	double busy_us, finish_us; /* of profiling; finish_us on StarPU's clock */
};

/* Other ranks, with which a run exchanges buffers. */
struct flow_net {
	/* The queues have begun. */
	void (*begin)(void *arg);
	/* Calls flow_go() again and again until the flow is over on all ranks. */
	void (*run)(void *arg);
	/* An event has ended. The mutex is held. */
	void (*changed)(void *arg);
	/* An event needs loans: flow_event_go() follows. The mutex is held. */
	void (*borrow)(void *arg, struct flow_event *event);
	/* It needs them no longer: flow_event_over() follows. The mutex is held. */
	void (*give_back)(void *arg, struct flow_event *event);
	void *arg;
	int rank, nranks;
};

struct heddle_flow {
	unsigned nfilters, nstreams, nports;
	struct flow_filter filters[HEDDLE_FLOW_MAX];
	struct flow_stream streams[HEDDLE_FLOW_MAX];
	struct flow_port ports[FLOW_PORTS];
	void *arg;
	atomic_bool running;
	double begin_us;
	const struct flow_net *net; /* NULL: there are no others */
	struct flow_worker workers[STARPU_NMAXWORKERS];

	starpu_pthread_mutex_t mutex; /* for what follows */
	starpu_pthread_cond_t end;    /* the run may be over */
	starpu_pthread_cond_t come;   /* loans have come for threads of filters */
	struct queues *queues;
	struct flow_event *spare;
	bool starting;   /* labels of the start are for the thread that runs the flow */
	bool over;       /* for the filters' threads */
	unsigned inside; /* threads that begin events */
	int status;      /* the first error */
	size_t calls, most_under_way;
};

/* ---- run_starpu.c ---- */

/** heddle_flow_run() with other ranks. */
int flow_run_net(struct heddle_flow *flow, const struct flow_net *net,
                 struct heddle_flow_stats *stats);

/* ---- flow_starpu.c ---- */

/** For messages. */
const char *flow_stream_name(const struct flow_stream *stream);

/** Whether a codelet takes so many handles of `in` and `out`. @return 0; -EINVAL after a message */
int flow_port_check(const struct flow_port *port, unsigned nin, unsigned nout);

/* ---- event_starpu.c ---- */

/** Locks. Begins all that may begin but for filters with threads, with the labels of the start.
 * What may begin later begins as events end. */
void flow_start(struct heddle_flow *flow);

/** Locks. Begins some of what may begin. @return whether there may be more */
bool flow_go(struct heddle_flow *flow);

/** Locks. Instead of flow_start(): the run ends when what is under way has ended. */
void flow_stop(struct heddle_flow *flow, int status);

/** The loans of an event have come, or its status is why they cannot. */
void flow_event_go(struct flow_event *event);

/** The loans of an event have gone back. */
void flow_event_over(struct flow_event *event);

/** Which handles of a loan the event writes.
 * @param side 0: of `in`; 1: of `out`
 * @return bits */
unsigned flow_event_writes(const struct flow_event *event, unsigned side);

/** heddle_estimate_key() of the task that a buffer would be for the first filter with a codelet
 * that reads the stream; 0: there is none, or the data lies on another rank.
 * @param buffer QUEUES_NONE: it has none */
unsigned long flow_task_key(struct heddle_flow *flow, unsigned stream, uint64_t label,
                            uint32_t buffer);

/** What a thread of a filter does until the run is over. */
void *flow_thread(void *filter);

/** Whether nothing is under way and nothing will begin. The mutex is held. */
bool flow_is_over(const struct heddle_flow *flow);

#endif
