/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The counting of a flow: which buffers wait at which stream, which are free, what may begin, and
 * when all is over. A port begins when its stream has a buffer that waits and there is a free one
 * for its result. Nothing that is under way waits for anything, so every buffer comes free; where
 * nothing is under way and nothing may begin, the flow is over or will never be. Pure.
 */
#ifndef HEDDLE_STREAM_QUEUES_H
#define HEDDLE_STREAM_QUEUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <heddle/kind.h>

#define QUEUES_NONE UINT32_MAX /* no stream; no buffer */
#define QUEUES_TYPES 64        /* of buffers, at the most */

/** A stream. */
struct queues_stream {
	uint64_t first, n; /**< labels that come at the start */
	uint32_t buffers;  /**< that it has; 0: buffers are not counted */
};

/** A port. Ports that begin together, because the same threads serve them, are a group. */
struct queues_port {
	uint32_t in, out; /**< numbers of streams; out may be QUEUES_NONE */
	unsigned group;
	unsigned filter; /**< whose port it is; below the number of ports */
};

/** A buffer at a port. */
struct queues_event {
	uint64_t label;
	unsigned port;
	uint32_t in, out; /**< numbers of the streams' buffers; QUEUES_NONE: not counted */
	int worker;       /**< that computed the buffer of `in`, as queues_end() was told; -1 */
	unsigned kind;    /**< of device that it was taken for */
};

enum queues_state {
	QUEUES_GO_ON, /**< something is under way, or may begin */
	QUEUES_OVER,  /**< all is processed */
	QUEUES_STUCK  /**< something waits, but for buffers that nobody will free */
};

struct queues;

/** @return NULL: no memory */
struct queues *queues_create(const struct queues_stream *streams, unsigned nstreams,
                             const struct queues_port *ports, unsigned nports);
void queues_destroy(struct queues *queues);

/** Back to the start. Buffers under way are lost, so there are none. Filters have no limits,
 * streams their own labels of the start, and all buffers are of type 0. */
void queues_begin(struct queues *queues);

/** A label for a stream whose buffers are not counted. @return 0; -ENOMEM */
int queues_send(struct queues *queues, unsigned stream, uint64_t label);

/** What a group begins next: what waits for its earliest port, the oldest first. Labels of the
 * start come after all else.
 * @param start whether these may begin at all
 * @return false: nothing */
bool queues_take(struct queues *queues, unsigned group, bool start, struct queues_event *event);

/** The event has ended: its buffer is free.
 * @param sent whether the buffer of the result is sent; otherwise it is free, too
 * @param label of the result
 * @param worker that computed it
 * @return 0; -ENOMEM */
int queues_end(struct queues *queues, const struct queues_event *event, bool sent, uint64_t label,
               int worker);

enum queues_state queues_state(const struct queues *queues);

/** Of QUEUES_STUCK: a stream for whose buffers others wait. */
unsigned queues_stuck(const struct queues *queues);

/** Events taken and not ended. */
size_t queues_under_way(const struct queues *queues);

/** Whether a group might begin something now. */
bool queues_may(const struct queues *queues, unsigned group, bool start);

/* ---- flows over several ranks, each of which has queues of its own ----
 *
 * Here a filter may have kinds of device, each with events of its own, and buffers may be of types
 * from which a kind gains more or less. A kind takes what it gains most from; of that the oldest.
 * Where nobody speaks of kinds and types there is one of each, and the oldest is taken. */

/** Says of which type a buffer is, below QUEUES_TYPES, when it begins to wait. */
typedef unsigned (*queues_type)(void *arg, unsigned stream, uint64_t label, uint32_t buffer);

/** Until queues_begin(). */
void queues_set_type(struct queues *queues, queues_type type, void *arg);

/** Sets what a kind of device gains from a type: the higher the better. At first 0. */
void queues_set_gain(struct queues *queues, unsigned kind, unsigned type, int gain);
int queues_gain(const struct queues *queues, unsigned kind, unsigned type);

/** A filter has at most so many events for a kind at once from now on: those that it has begun, and
 * those that queues_reserve() keeps. 0 for all kinds: other ranks run it. At first the first kind
 * has no limit, and others have 0. */
void queues_limit(struct queues *queues, unsigned filter, unsigned kind, unsigned limit);

/** A filter begins for a kind only what the kind gains so much from. At first INT_MIN.
 * @param most once it has so many events, it begins only … @param then … what it gains this from */
void queues_hold(struct queues *queues, unsigned filter, unsigned kind, int least, unsigned most,
                 int then);

/** Events that a filter has for a kind or keeps, and those that have ended. */
unsigned queues_busy(const struct queues *queues, unsigned filter, unsigned kind);
size_t queues_ended(const struct queues *queues, unsigned filter, unsigned kind);

/** Sets the labels with which a stream starts here. */
void queues_deal(struct queues *queues, unsigned stream, uint64_t first, uint64_t n);

/** Buffers that wait, labels of the start included. */
uint64_t queues_waiting(const struct queues *queues, unsigned stream);

/** Types of those that other ranks may have, as bits: of all but those that have come from other
 * ranks. Of labels of the start the first one's type counts. */
uint64_t queues_surplus(const struct queues *queues, unsigned stream);

/** Those of a type. Labels of the start are taken to be of the types that the latest ones had. */
uint64_t queues_surplus_of(const struct queues *queues, unsigned stream, unsigned type);

/** Those that a kind of this rank gains so much from. Of labels of the start the first one's type
 * counts for all: none begins before it. */
uint64_t queues_surplus_from(const struct queues *queues, unsigned stream, unsigned kind,
                             int least);

/** Whether a port waits for buffers of its result. */
bool queues_lacks(const struct queues *queues, unsigned port);

/** Takes the buffer that another rank may have and gains most from; of those the oldest. It is
 * under way until queues_given().
 * @param gains of the other rank, for each type; NULL: the oldest of all
 * @param least it wants nothing that it gains less from
 * @param[out] buffer QUEUES_NONE: not counted
 * @return false: there is none */
bool queues_give(struct queues *queues, unsigned stream, const int *gains, int least,
                 uint64_t *label, uint32_t *buffer);
void queues_given(struct queues *queues, unsigned stream, uint32_t buffer);

/** For whom something comes from another rank. */
struct queues_order {
	unsigned stream, filter, kind;
	unsigned type;   /**< of which it hoped for */
	double asked_us; /**< when it asked; 0: the answer had to wait for others */
};

/** Keeps a buffer for what will come from another rank, and an event for it.
 * @param[out] buffer QUEUES_NONE: not counted
 * @return false: none is free */
bool queues_reserve(struct queues *queues, const struct queues_order *order, uint32_t *buffer);
void queues_unreserve(struct queues *queues, const struct queues_order *order, uint32_t buffer);

/** What has come, in a buffer that was kept for it. It begins before all else, and stays here.
 * @return 0; -ENOMEM */
int queues_came(struct queues *queues, const struct queues_order *order, uint32_t buffer,
                uint64_t label);

#endif
