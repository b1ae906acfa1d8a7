/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What ranks tell and send each other. Only the thread that runs the loop or flow calls MPI:
 * whoever waits makes progress, and serves the requests of others meanwhile.
 *
 * A rank that fails here ends the program on all ranks: the others could wait for it forever.
 */
#ifndef HEDDLE_MPI_LINK_H
#define HEDDLE_MPI_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <mpi.h>

#include "partition/mpi/message.h"

/** Channels, which are MPI's tags: messages of one channel from one rank arrive in order. */
enum mpi_channel {
	MPI_CHANNEL_MESSAGE,
	MPI_CHANNEL_ALIVE,
	MPI_CHANNEL_AT_END, /* alive, but it begins nothing more */
	MPI_CHANNEL_AGREE,
	MPI_CHANNEL_IN,
	MPI_CHANNEL_OUT,
	MPI_CHANNEL_SUM,
	MPI_CHANNEL_HALO,
	MPI_CHANNEL_LOAN /* and all that follow */
};

struct mpi_link;

/** The link of a communicator's ranks. It is made once for each communicator and freed with it.
 * @param timeout_s seconds of silence that end the program; 0: none does
 * @param what "loop" or "flow", for messages
 * @param name of it
 * @return 0; -ENOMEM */
int mpi_link_open(MPI_Comm comm, double timeout_s, const char *what, const char *name,
                  struct mpi_link **link);

/** Until the link is closed this rank is at its end: who waits for it elsewhere does not take it
 * for alive, nor it others that are not at their end. */
void mpi_link_at_end(struct mpi_link *link);

/** Wrong use that cannot be told to other ranks. @return 0; -EINVAL after a message */
int mpi_link_check(MPI_Comm comm, const char *what);

/** The same, and until mpi_link_close() another thread, or a kernel, that wants the communicator is
 * refused. @return 0; -ENOMEM; -EINVAL after a message */
int mpi_link_claim(MPI_Comm comm, const char *what);

/** Ends what the loop used of it. */
void mpi_link_close(struct mpi_link *link);

/** What loops of a name and length have told, for their next run: freed with the communicator.
 * @return where a pointer from heap is kept, first NULL; NULL: no memory */
void **mpi_link_keeps(struct mpi_link *link, const char *name, size_t n);

/** Memory that one loop on the communicator leaves for the next one.
 * @param room_free frees it, with the communicator
 * @return where it is kept, first NULL */
void **mpi_link_room(struct mpi_link *link, void (*room_free)(void *room));

unsigned mpi_link_rank(const struct mpi_link *link);
unsigned mpi_link_ranks(const struct mpi_link *link);
MPI_Comm mpi_link_comm(const struct mpi_link *link);

/** From now on short messages are handed over, in mpi_link_progress(). Before, they wait. */
void mpi_link_serve(struct mpi_link *link,
                    void (*handle)(void *arg, unsigned from, const struct mpi_message *message),
                    void *arg);

/** After it ranks of this machine ring when they send: before, it looks. All ranks call it. */
void mpi_link_bells(struct mpi_link *link);

/** Whether all ranks ring. */
bool mpi_link_is_rung(const struct mpi_link *link);

/** Something was sent to a rank, or received from it, that the link does not see. */
void mpi_link_ring(struct mpi_link *link, unsigned rank);

/** Sends a short message, which the other rank need not see before it looks. */
void mpi_link_tell_later(struct mpi_link *link, unsigned to, const struct mpi_message *message);

/** Sends a short message. One to itself the rank hears in its next mpi_link_progress(), before it
 * sleeps. */
void mpi_link_tell(struct mpi_link *link, unsigned to, const struct mpi_message *message);

/** Whether what this rank tells itself goes by MPI like all else, until the link is closed. */
void mpi_link_post_own(struct mpi_link *link, bool posts);

/** As mpi_link_tell(), and done() is called once the other rank has it. */
void mpi_link_tell_surely(struct mpi_link *link, unsigned to, const struct mpi_message *message,
                          void (*done)(void *arg), void *arg);

/** Part of an array in main memory, for a transfer: rows of `row` bytes, `pitch` bytes apart. */
struct mpi_rows {
	void *at;
	size_t n, row, pitch;
};

/** Sends or receives rows; done(arg) is called when that is over. What is sent counts as sent once
 * the other rank has begun to receive it. */
void mpi_link_send(struct mpi_link *link, unsigned to, unsigned channel,
                   const struct mpi_rows *rows, void (*done)(void *arg), void *arg);
/** As mpi_link_send(), and what is sent counts as sent once it may change: short rows leave before
 * the other rank wants them. */
void mpi_link_send_off(struct mpi_link *link, unsigned to, unsigned channel,
                       const struct mpi_rows *rows, void (*done)(void *arg), void *arg);
void mpi_link_receive(struct mpi_link *link, unsigned from, unsigned channel,
                      const struct mpi_rows *rows, void (*done)(void *arg), void *arg);

/** Sends rows of one rank to all. All ranks call it in the same order. */
void mpi_link_broadcast(struct mpi_link *link, unsigned root, const struct mpi_rows *rows,
                        void (*done)(void *arg), void *arg);

/** Rank 0 sends so many bytes to each other rank, which has room for more. All ranks call it. */
void mpi_link_spread(struct mpi_link *link, void *at, size_t bytes, size_t room);

/** Gives all ranks what `op` makes of the values of each. */
void mpi_link_reduce(struct mpi_link *link, void *values, size_t n, MPI_Datatype type, MPI_Op op);

/** All ranks send `bytes` bytes to all. */
void mpi_link_gather(struct mpi_link *link, const void *own, void *all, size_t bytes,
                     void (*done)(void *arg), void *arg);

/** Most rows of these that one transfer can have. */
size_t mpi_rows_most(size_t row);

/** Makes progress with all that was begun. */
void mpi_link_progress(struct mpi_link *link);

/** Transfers under way, sent messages included. */
unsigned mpi_link_under_way(const struct mpi_link *link);

/** Waits until mpi_link_wake(), or until it is time to look for messages again. */
void mpi_link_wait(struct mpi_link *link);

/** Something has come that the link does not see: it looks for messages soon again.
 * @param all and nothing else was rung for */
void mpi_link_busy(struct mpi_link *link, bool all);

/** A transfer that the link does not see begins or ends. Meanwhile it looks from time to time: MPI
 * may need both ranks for it. */
void mpi_link_hold(struct mpi_link *link, bool begins);

/** Microseconds, of a clock that never goes back. */
double mpi_link_now_us(void);

/** Any thread may call it. */
void mpi_link_wake(struct mpi_link *link);

/** As mpi_link_wait(), and it looks again after `us` microseconds at the latest. */
void mpi_link_wait_most(struct mpi_link *link, double us);

/** The same where this rank's workers have nothing to do: it looks more often, unless all ring. */
void mpi_link_wait_idle(struct mpi_link *link, double us);

/** Makes progress until all that was begun is over, while nothing is computed. */
void mpi_link_finish(struct mpi_link *link);

/** Ends the program on all ranks, after a message. */
void mpi_link_abort(struct mpi_link *link, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

#endif
