/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef HEDDLE_MPI_MESSAGE_H
#define HEDDLE_MPI_MESSAGE_H

#include <stdint.h>

/** A short message. What the numbers mean depends on the type. */
struct mpi_message {
	uint32_t type;
	int32_t status;
	uint32_t array;
	int32_t rank;
	uint64_t first, n;
	double us;
};

/** What those of a loop say. */
enum node_message {
	NODE_ASK,      /* to rank 0: a range, please */
	NODE_GRANT,    /* from rank 0, or from who gives them up: iterations first to first + n - 1,
	                * which are at home on `rank`; asked for us before. array: what they read of
	                * the sender follows */
	NODE_PROGRESS, /* to rank 0: n iterations of this rank's range are not computed; one takes
	                * its workers us, 0: not known */
	NODE_GIVE_UP,  /* from rank 0: give n iterations of the `first` that are left to `rank`,
	                * which asked us before */
	NODE_EARLY,    /* from rank 0: ask for a range before this one is nearly done */
	NODE_GIVEN,    /* to rank 0: this rank has n stolen iterations */
	NODE_KEPT,     /* to rank 0: there is nothing to give up for `rank` */
	NODE_COMPLETED, /* to rank 0: these iterations, at home on `rank`, took us, or failed;
	                 * array: they are an edge of its range. Where ranks steal they have
	                 * `first` parts whose NODE_MOVED follows */
	NODE_MOVED,     /* to rank 0: data and results of n iterations that are not at home took us.
	                 * Where ranks steal who has them at home says so, of each part */
	NODE_FETCH,     /* send n units of the array, from first on */
	NODE_RESULT,    /* these units of the array follow; status: they are the last of their
	                 * iterations, whose data took us */
	NODE_END,       /* from rank 0: no more ranges; array: nothing is under way to other ranks;
	                 * n: nor to rank 0, which waits for no NODE_BYE */
	NODE_BYE,       /* to rank 0: nothing is under way here */
	NODE_DONE       /* from rank 0, unless NODE_END said so: nothing is under way anywhere */
};

/** What those of a wavefront say. Those of a flow: demand.h. */
enum front_message {
	FRONT_FAILED, /* to rank 0: the part here has failed */
	FRONT_STOP,   /* from rank 0: that of a rank has */
	FRONT_BYE,    /* to rank 0: the part here has ended */
	FRONT_DONE    /* from rank 0: all have */
};

#endif
