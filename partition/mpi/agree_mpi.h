/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How ranks agree before they begin. Each says to rank 0 what it wants, which compares and tells
 * all. So a rank that does not come is missed by name.
 */
#ifndef HEDDLE_MPI_AGREE_MPI_H
#define HEDDLE_MPI_AGREE_MPI_H

#include "partition/mpi/agreement.h"
#include "partition/mpi/link_mpi.h"

/** What rank 0 says. It comes before ranks know that they have the same version, so later versions
 * keep it. */
struct mpi_verdict {
	int32_t status;
	uint32_t told;  /**< bytes of the text: it is sent to one rank after the other */
	char text[504]; /**< why it is not 0; else what the caller of mpi_agree_conclude() tells */
};

/** mpi_agree() until rank 0 knows its verdict. */
void mpi_agree_collect(struct mpi_link *link, const char *what, const struct mpi_description *says,
                       struct mpi_description **of_all, struct mpi_verdict *verdict);

/** The rest of it. @param[in,out] verdict as rank 0 has it */
int mpi_agree_conclude(struct mpi_link *link, const char *what, const char *name,
                       struct mpi_verdict *verdict);

/** Whether all ranks want the same.
 * @param what "loop" or "flow"
 * @param name of it
 * @param says what this rank wants, without the version
 * @param[out] all on rank 0 what all say, to be freed; NULL on others
 * @return 0; a negative errno value, the same on all ranks, after a message */
int mpi_agree(struct mpi_link *link, const char *what, const char *name,
              const struct mpi_description *says, struct mpi_description **all);

/** Whether all ranks have got so far.
 * @param status of this rank
 * @return 0, or the status of the first rank that has one, after a message */
int mpi_all(struct mpi_link *link, const char *what, const char *name, int status);

/** Gives all what rank 0 has. */
void mpi_agree_broadcast(struct mpi_link *link, void *at, size_t bytes);

/** Gives all what each has, of the same length. */
void mpi_agree_gather(struct mpi_link *link, const void *own, void *all, size_t bytes);

#endif
