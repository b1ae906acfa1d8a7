/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the devices of all ranks gain from buffers (DBSA of Teodoro et al., HPDC 2010, section
 * 5.3.2). Buffers whose tasks have the same parameters are of one type. Each rank tells the others
 * what its kinds of device need for a type. A kind prefers what it runs fastest in comparison with
 * a CPU core, and a core what the accelerators of all ranks gain least from. As these numbers only
 * put buffers into an order, they may be old or wrong. Pure.
 */
#ifndef HEDDLE_MPI_GAINS_H
#define HEDDLE_MPI_GAINS_H

#include <stdbool.h>
#include <stdint.h>

#include <heddle/kind.h>

#include "partition/stream/queues.h"

/** A core's gain of what it has not run: it leaves it to accelerators, whose gain is as high. */
#define MPI_GAINS_LATER (-1000)

struct mpi_gains;

/** @param accelerators whether a rank has some
 * @return NULL: no memory */
struct mpi_gains *mpi_gains_create(unsigned nranks, bool accelerators);
void mpi_gains_destroy(struct mpi_gains *gains);

/** The number of a type on this rank, below QUEUES_TYPES. 0 stands for all that are not known:
 * there were too many, or no memory for more.
 * @param name the same on all ranks; 0: the buffer has no type */
unsigned mpi_gains_type(struct mpi_gains *gains, uint64_t name);
unsigned mpi_gains_types(const struct mpi_gains *gains);
uint64_t mpi_gains_name(const struct mpi_gains *gains, unsigned type);

/** A rank has measured a type on a kind of device.
 * @param devices of the kind that it has
 * @return whether it is news: others than rounding can explain */
bool mpi_gains_set(struct mpi_gains *gains, unsigned type, unsigned rank, enum heddle_kind kind,
                   double us, unsigned devices);

/** What is known of that, microseconds; 0: nothing. */
double mpi_gains_us(const struct mpi_gains *gains, unsigned type, unsigned rank,
                    enum heddle_kind kind);

/** The same only of what the rank itself has measured. */
double mpi_gains_own_us(const struct mpi_gains *gains, unsigned type, unsigned rank,
                        enum heddle_kind kind);

/** The shortest time of a type on an accelerator of any rank, microseconds; 0: nobody knows. */
double mpi_gains_accelerator_us(const struct mpi_gains *gains, unsigned type);

/** How long a rank's kind had better leave n buffers of a type to the accelerators of all ranks:
 * until those are done, if they are faster.
 * @param[out] us that the kind needs for one, or at the most as long as it was never tried
 * @return whether they are */
bool mpi_gains_leave(const struct mpi_gains *gains, unsigned type, unsigned rank,
                     enum heddle_kind kind, double n, double *us, double *until_us);

/** What a rank's kind gains from a type: the higher the better. */
int mpi_gains_of(const struct mpi_gains *gains, unsigned type, unsigned rank,
                 enum heddle_kind kind);

#endif
