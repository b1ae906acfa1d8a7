/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The number of what ranks send each other. Ranks with another one are refused.
 */
#ifndef HEDDLE_MPI_PROTOCOL_H
#define HEDDLE_MPI_PROTOCOL_H

/** One more for each change of a message, of its numbers or of when it is sent. Definitions of
 * messages have this sum (tests/tools/protocol.sh): 210192306 */
#define MPI_PROTOCOL 2

#endif
