/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Streams between the ranks of a flow: n x m demand-driven channels (Teodoro et al., HPDC 2010,
 * section 5.3). What a filter sends waits on its own rank. A rank whose filters read the stream
 * asks for buffers, as many as DQAA says and it has room for; the rank that has them chooses which.
 * A rank with more than it can begin hints that it has, once for each type of buffer, until it has
 * said that it has none.
 *
 * Under ODDS a request names the kind of device that asks and the least gain that it wants; it gets
 * the buffers that this kind gains most from (gains.h). A kind asks others for what it gains more
 * from than from all that waits on its own rank. Otherwise devices are of one kind, and the oldest
 * buffers go.
 *
 * The end is counted: rank 0 asks all how many messages they have told and heard. Each answers
 * once nothing is under way there and nothing may begin. If the sums are equal, and the same in two
 * rounds, nothing is under way anywhere (Mattern, "Algorithms for distributed termination
 * detection", 1987: four counters). Pure.
 */
#ifndef HEDDLE_MPI_DEMAND_H
#define HEDDLE_MPI_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "partition/mpi/gains.h"
#include "partition/mpi/message.h"
#include "partition/stream/queues.h"

/** Most streams of a flow over ranks. */
#define MPI_DEMAND_STREAMS 64

/** Most buffers of a stream that a rank asks for at once. */
#define MPI_DEMAND_MOST 256

/** What ranks tell each other. `array` is the stream. */
enum mpi_demand_message {
	DEMAND_HINT, /* here are n buffers of the stream, of the type that is called `first` */
	DEMAND_ASK,  /* n buffers, please, for the kind `rank`: of the type that is called `first`,
	              * or that it gains `status` from at least */
	DEMAND_ITEM, /* a buffer with the label `first`; its data follows, and there are n more of
	              * the type that was asked for */
	DEMAND_NONE, /* n of those that were asked for are not here; what there is, is hinted anew
	              */
	DEMAND_TIME, /* each of n devices of the kind `rank` needs `us` here for the type `first` */
	DEMAND_BORROW, /* the data of the label `first`, please; the rest is for whom lends it */
	DEMAND_FAIL,   /* to rank 0: the flow failed here */
	DEMAND_STOP,   /* from rank 0: begin nothing more */
	DEMAND_PROBE,  /* from rank 0: tell when nothing is under way; `array` is the round */
	DEMAND_COUNTS, /* to rank 0: told `first` messages and heard n; status: something waits */
	DEMAND_END     /* from rank 0: the flow is over */
};

struct mpi_demand_problem {
	unsigned rank, nranks;
	unsigned nstreams; /**< at most MPI_DEMAND_STREAMS */
	unsigned nports, nfilters;
	const struct queues_port *ports;
	const struct queues_stream *streams;
	const uint64_t *reads; /**< of each rank: bit s: a filter there reads stream s */
	/** Of each filter, what each kind of device runs at once. All 0: not on this rank. Only
	 * HEDDLE_KIND_CPU where nobody selects. */
	const unsigned (*capacities)[HEDDLE_NKINDS];
	/** Buffers that a filter asks for ahead, for each that it runs at once; 0: DQAA decides. */
	unsigned requests;
	bool select; /**< by gain; with `gains` */
	struct mpi_gains *gains;
	struct queues *queues; /**< just begun; their labels of the start are dealt */
	/** Tells a rank, perhaps this one. Messages to a rank arrive in order. */
	void (*tell)(void *arg, unsigned to, const struct mpi_message *message);
	/** Sends a buffer: mpi_demand_item() and the data, then queues_given(). */
	void (*give)(void *arg, unsigned to, unsigned stream, uint64_t label, uint32_t buffer);
	/** A buffer comes, into one that is free: the data, then mpi_demand_came(). */
	void (*come)(void *arg, unsigned from, const struct queues_order *order, uint64_t label,
	             uint32_t buffer);
	/** A rank wants the data of a label that lies here: mpi_demand_lent() once it has gone, and
	 * come back if the rank writes it. */
	void (*lend)(void *arg, unsigned to, const struct mpi_message *message);
	/** Nothing more begins. */
	void (*stop)(void *arg, int status);
	void *arg;
};

struct mpi_demand;

/** @return NULL: no memory */
struct mpi_demand *mpi_demand_create(const struct mpi_demand_problem *problem);
void mpi_demand_destroy(struct mpi_demand *demand);

/** A message has come. */
void mpi_demand_hear(struct mpi_demand *demand, unsigned from, const struct mpi_message *message,
                     double now_us);

/** Tells that a buffer comes. */
void mpi_demand_item(struct mpi_demand *demand, unsigned to, unsigned stream, uint64_t label);

/** The data of a buffer has come. @return 0; -ENOMEM */
int mpi_demand_came(struct mpi_demand *demand, const struct queues_order *order, uint64_t label,
                    uint32_t buffer, double now_us);

/** Asks for the data of a label, which lies on another rank. An event that is under way here needs
 * it. */
void mpi_demand_borrow(struct mpi_demand *demand, unsigned from, struct mpi_message message);
void mpi_demand_lent(struct mpi_demand *demand);

/** An event of a filter has got what it borrowed, `us` after it had begun. */
void mpi_demand_borrowed(struct mpi_demand *demand, unsigned filter, unsigned kind, double us);

/** The flow failed on this rank. */
void mpi_demand_fail(struct mpi_demand *demand, int status);

/** The number of a type on this rank, as mpi_gains_type(). */
unsigned mpi_demand_type(struct mpi_demand *demand, uint64_t name);

/** This rank has measured a type on one of its kinds of device. */
void mpi_demand_measured(struct mpi_demand *demand, unsigned type, enum heddle_kind kind,
                         double us);

/** Tells what there is to tell, once all has begun that may.
 * @return whether more may begin now, or it told something */
bool mpi_demand_step(struct mpi_demand *demand, double now_us);

/** Whether nothing is under way on any rank.
 * @param[out] status of the flow: 0; -EDEADLK: buffers wait for others that nobody will free; what
 * failed first
 * @param[out] rank where it failed */
bool mpi_demand_over(const struct mpi_demand *demand, int *status, int *rank);

/** Buffers that a filter asks for ahead, for a kind of device. */
unsigned mpi_demand_ahead(const struct mpi_demand *demand, unsigned filter, enum heddle_kind kind);

/** Buffers that came from other ranks, and that went there. */
void mpi_demand_sums(const struct mpi_demand *demand, uint64_t *came, uint64_t *went);

#endif
