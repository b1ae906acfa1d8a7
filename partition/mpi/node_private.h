/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the files of a loop over ranks share. A node is a rank's side of the loop: its arrays, the
 * ranges that it has, and on rank 0 the claims of all. One thread does it all, the one that called
 * heddle_mpi_loop_run(); StarPU's threads only say that a range is computed.
 */
#ifndef HEDDLE_MPI_NODE_PRIVATE_H
#define HEDDLE_MPI_NODE_PRIVATE_H

#include <stdbool.h>

#include <heddle/mpi.h>

#include "estimator/block_time.h"
#include "partition/common/array_starpu.h"
#include "partition/mpi/agreement.h"
#include "partition/mpi/claims.h"
#include "partition/mpi/layout.h"
#include "partition/mpi/link_mpi.h"
#include "partition/mpi/steals.h"

/* An array, of which this rank may have a part. */
struct node_array {
	struct heddle_access access;
	struct heddle_mpi_place place;
	struct mpi_array_agreed agreed;
	struct mpi_layout layout; /* who has what; of an array that is everywhere rank 0 has all */
	struct mpi_units own;     /* what this rank has */
	char *at;                 /* where that lies */
	size_t pitch;             /* bytes from a unit to the next */
	bool held;                /* the program's handle is acquired */
	/* HEDDLE_WHOLE and HEDDLE_REDUCE: what the rank's loops use. */
	starpu_data_handle_t handle;
	char *copy; /* where the rank has no array of its own; packed */
};

/* Part of an array for a range. */
struct range_part {
	struct mpi_units units;
	starpu_data_handle_t handle;
	char *at;
	size_t pitch;
	bool in_place; /* in the rank's own array */
	char *copy;    /* else here, packed; kept for later ranges */
	size_t room;   /* bytes of it */
};

enum range_state {
	RANGE_FREE,
	RANGE_ASKED,    /* rank 0 shall say which iterations */
	RANGE_ARRIVING, /* its inputs are under way */
	RANGE_RUNNING,  /* its loop runs, or will as soon as that of the range before has ended */
	RANGE_LEAVING   /* its results are under way */
};

/* A range that the rank has, or room for one. */
struct node_range {
	struct node *node;
	enum range_state state;
	struct mpi_range range;
	struct range_part parts[MPI_MAXARRAYS];
	size_t came;        /* iterations whose data was fetched: others may have taken some */
	unsigned giver;     /* who sends without being asked what it has of them */
	unsigned under_way; /* transfers */
	unsigned parts_out; /* of its results, for others */
	double asked_us;    /* later by what rank 0 had nothing for it */
	double granted_us;
	double arrived_us; /* its data */
	struct heddle_loop_request *request;
	starpu_data_handle_t watched; /* acquired when the loop has ended */
	struct node_range *before;    /* whose loop runs first; NULL: none */
	bool edge;                    /* see edges_split() */
	bool own;                     /* the rank begins with it, in the next run, too */
	bool shrinks;                 /* others may take what its workers have not begun */
	size_t told_left;             /* when rank 0 was told last how far it is, ... */
	double told_us;               /* ... which its workers had taken so long for */
	double rest_us;               /* what its workers will need for the rest; 0: not known */
	double due_us; /* ... until it is told next how far it is, or asks for more */
	double ended_us;
	bool ended; /* the loop has; atomic */
};

/* One is computed, the next arrives or waits, and the results of the one before leave. */
#define NODE_RANGES 3

/* Rank 0: who gets what. */
struct node_share {
	struct mpi_claims *claims; /* by a block strategy; NULL: ... */
	struct mpi_steals *steals; /* ... ranks steal from each other */
	bool heard;                /* something, since it was looked ... */
	double looked_us;          /* ... who may have some, which was then */
	double heard_us;           /* the latest look that was not for time alone */
	double *asked_us;          /* since when a rank waits for a range; 0: it does not */
	int abroad;                /* parts of results that nobody has at home yet */
	bool ended;                /* all have been told that no more comes */
	bool settled;              /* nothing was under way then but messages to rank 0 */
	unsigned byes;
	int status; /* of the first range that failed */
	int failed; /* the rank where it did */
};

/* What messages take. Each rank keeps it for the loop's next run. */
struct node_memory {
	double run_us;    /* the last run; 0: there was none */
	double answer_us; /* what came last took from the request on, with its data; 0: not known */
	/* Rank 0: see struct mpi_steals_problem. */
	struct heddle_block_time moved, ranges, answers;
	double paces[]; /* of each rank */
};

struct node {
	const struct heddle_loop *loop;
	const char *name;
	struct mpi_link *link;
	unsigned rank, nranks;
	unsigned narrays;
	struct node_array arrays[MPI_MAXARRAYS];
	struct node_range ranges[NODE_RANGES];
	struct node_share share;
	bool early;   /* it shall ask for a range before it is nearly done */
	bool ending;  /* no more ranges come, ... */
	bool settled; /* ... and nothing of any rank is under way but messages to rank 0 */
	bool quiet;   /* rank 0 knows that nothing is under way here, ... */
	bool bye;     /* ... or has been told so */
	bool done;    /* nothing of any rank is under way */
	int status;   /* of the loop, once done; before, of this rank's part */
	int failed;   /* the rank that failed */

	unsigned summing; /* the rank whose sums are added */

	double begin_us, ran_us; /* its begin; when the latest range ended */
	double gaps_us;          /* of ranges at home: neither computed nor waited for data */
	unsigned gaps;           /* so many */
	struct node_memory *memory;
	double told_us, reply_us; /* when rank 0 was told first how far it is; until it had that */
	bool steals;              /* ranks steal from each other, and begin with ... */
	struct mpi_range home;    /* ... this one, if it has iterations */
	struct heddle_mpi_rank_stats stats;
	struct heddle_loop_stats *sums; /* of this rank's workers; behind it, of one range */
};

/* ---- agree_starpu.c ---- */

/* Whether this rank can do its part, and all want the same. Sets the arrays.
 * @return 0; a negative errno value, the same on all ranks, after a message */
int node_agree(struct node *node, const struct heddle_mpi_place *places);
/* What is wrong with an array's place on a rank; NULL: nothing. */
const char *node_place_wrong(const struct node_array *array, unsigned rank, unsigned nranks);
/* mpi_agree(), and sets who has what of the arrays that are described. All ranks call it.
 * @param arrays MPI_MAXARRAYS
 * @param[in,out] steals as rank 0 says */
int node_arrays_agree(struct mpi_link *link, const char *what, const char *name,
                      const struct mpi_description *says, struct node_array *const *arrays,
                      struct mpi_description **all, bool *steals);
/* Whether all ranks have got so far.
 * @param status of this rank
 * @return 0, or the status of the first rank that has one, after a message */
int node_all(struct node *node, int status);

/* ---- array_starpu.c ---- */

/* Takes what the program's handle says of the rank's part, and holds it in main memory.
 * @return 0; -errno after a message */
int node_array_hold(struct node_array *array, const struct work_array_name *name,
                    struct mpi_array_description *says);
void node_array_release(struct node_array *array);
static inline size_t node_array_unit(const struct node_array *array)
{
	return array->agreed.nx * array->agreed.elemsize;
}
static inline bool node_array_shared(const struct node_array *array)
{
	return array->access.share == HEDDLE_WHOLE || array->access.share == HEDDLE_REDUCE;
}
/* Where the rank has units that are its own. */
char *node_array_at(const struct node_array *array, size_t first);
/* Registers units that lie in main memory. */
void node_array_register(const struct node_array *array, char *at, size_t pitch, size_t units,
                         starpu_data_handle_t *handle);
/* Makes what loops share of arrays that are read whole, or added to.
 * @return 0; -ENOMEM */
int node_arrays_prepare(struct node *node);
/* Sends what is read whole to all ranks. */
void node_arrays_spread(struct node *node);
/* Adds up sums, and sends results to all ranks where all want them. */
void node_arrays_collect(struct node *node);
void node_arrays_finish(struct node *node);

/* ---- share_mpi.c ---- */

/* Rank 0: whether ranks are to steal where they have all that they need at home. */
bool node_share_steals(const struct node *node);
/* All ranks call it: says whether they steal, and what this one begins with.
 * @return 0; -errno after a message */
int node_share_begin(struct node *node);
/* All begin now: before, arrays that all read were sent, which may take long. */
void node_share_run(struct node *node);
void node_share_end(struct node *node);
/* Rank 0: what others tell it. */
void node_share_ask(struct node *node, unsigned rank);
void node_share_completed(struct node *node, unsigned rank, const struct mpi_message *message);
void node_share_moved(struct node *node, const struct mpi_message *message);
void node_share_progress(struct node *node, unsigned rank, const struct mpi_message *message);
void node_share_given(struct node *node, unsigned rank, const struct mpi_message *message);
void node_share_kept(struct node *node, unsigned rank, const struct mpi_message *message);
void node_share_bye(struct node *node);
/* Gives ranges to those that wait, once for all that was heard: with many ranks it takes long. */
void node_share_look(struct node *node);
/* After so many microseconds it may give some to one that waits, though nothing was heard. */
double node_share_look_us(const struct node *node);

/* ---- range_starpu.c ---- */

/* Begins with what is at home, where ranks steal. */
void node_home_begin(struct node *node);
/* What this rank is told. */
void node_granted(struct node *node, unsigned from, const struct mpi_message *message);
void node_give_up(struct node *node, const struct mpi_message *message);
void node_fetch(struct node *node, unsigned from, const struct mpi_message *message);
void node_result(struct node *node, unsigned from, const struct mpi_message *message);
void node_ended(struct node *node, const struct mpi_message *message);
/* Does what can be done now.
 * @return whether it did something */
bool node_step(struct node *node);
/* Whether the workers have a range. */
bool node_computes(const struct node *node);
/* It should look for messages again after so many microseconds, or less. */
double node_look_us(const struct node *node);
/* Takes the copies of an earlier loop, and leaves them for a later one. */
void node_ranges_begin(struct node *node);
void node_ranges_finish(struct node *node);

#endif
