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

#endif
