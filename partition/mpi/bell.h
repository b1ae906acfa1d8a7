/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What wakes the thread of a rank that sleeps. Other threads of the process ring its bell, and so
 * do other ranks of the machine: MPI cannot tell a thread that sleeps that a message has come.
 */
#ifndef HEDDLE_MPI_BELL_H
#define HEDDLE_MPI_BELL_H

#include <stdbool.h>
#include <stdint.h>

struct bell;

/** Who rings; several are a sum. */
enum bell_ringer { BELL_OWN = 1, /**< a thread of its owner */ BELL_PEER = 2 /**< another rank */ };

/** A bell that others can open until bell_close().
 * @return NULL: no memory */
struct bell *bell_new(void);

/** Frees a rank's own bell, or one that it has opened. */
void bell_free(struct bell *bell);

/** Where another process finds it. */
struct bell_address {
	char machine[96]; /**< empty: nobody can open it */
	int32_t process, file;
	uint64_t key;
};

void bell_tell(const struct bell *bell, struct bell_address *address);

/** The bell of another process of the same machine.
 * @return NULL: it cannot be opened */
struct bell *bell_open(const struct bell_address *address);

/** Whether processes can open each other's bells. */
bool bell_is_near(const struct bell_address *one, const struct bell_address *other);

/** Nobody opens it any more. */
void bell_close(struct bell *bell);

/** Any thread may call it. Rung twice before somebody waits is as rung once. */
void bell_ring(struct bell *bell, enum bell_ringer by);

/** Waits until it has been rung since the last wait, or for so many nanoseconds. One thread of its
 * owner calls it.
 * @return by whom it was rung; 0: by nobody */
unsigned bell_wait(struct bell *bell, long ns);

#endif
