/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether all ranks want the same loop: each describes its own, and rank 0 compares.
 */
#ifndef HEDDLE_MPI_AGREEMENT_H
#define HEDDLE_MPI_AGREEMENT_H

#include <stddef.h>
#include <stdint.h>

/** Most arrays of a loop over ranks. */
#define MPI_MAXARRAYS 16

/** Where an array lies, as in heddle/mpi.h. */
enum mpi_place { MPI_PLACE_EVERYWHERE, MPI_PLACE_ON_RANK, MPI_PLACE_BLOCKS };

/** What a rank says of an array. Those from `shape` on count only where the rank has a part. */
struct mpi_array_description {
	uint32_t place, owner;
	uint32_t mode, share;
	uint64_t per_iteration, halo;
	uint64_t units;    /**< that it has */
	uint64_t shape;    /**< StarPU's number of the interface */
	uint64_t elemsize; /**< bytes */
	uint64_t nx;       /**< elements of a row; of a vector 1 */
};

/** What a rank says of its loop. The version comes first: what follows it may differ. Older
 * versions have less room for it, and compare it as text, too. */
struct mpi_description {
	char version[64]; /**< see mpi_agreement_version() */
	char codelet[64]; /**< its name, cut */
	char host[64];    /**< where the rank runs, cut */
	char begins[16];  /**< "loop", "wavefront" or "flow" */
	int32_t status;   /**< 0, or the negative errno value that the rank refuses its loop with */
	uint32_t nranks;  /**< of the communicator */
	uint64_t n;       /**< iterations */
	uint64_t alignment;
	uint32_t naccesses;
	uint32_t own; /**< bit i: the rank has a part of array i */
	struct mpi_array_description arrays[MPI_MAXARRAYS];
};

/** Room for what a rank or rank 0 says; other versions may say more. */
#define MPI_DESCRIPTION_ROOM 4096

/** Which ranks understand each other: the version of this library, the protocol (protocol.h), and
 * the version of libheddle, which may come from elsewhere, if it is another one. */
void mpi_agreement_version(const char *libheddle, char *text, size_t size);

/** The first difference between two ranks' loops, as text: "n is 10 on rank 0 and 11 on rank 3". Of
 * versions it names all ranks, as many as there is room for.
 * @param all descriptions in the order of ranks
 * @param what "loop", or what else they describe with the first fields
 * @return 0: there is none; -EINVAL: there is; the status of a rank that refuses its loop */
int mpi_agreement_check(const struct mpi_description *all, unsigned nranks, const char *what,
                        char *text, size_t size);

/** What all know of an array in the end. */
struct mpi_array_agreed {
	uint64_t shape, elemsize, nx;
	uint64_t units; /**< of the whole array */
};

/** Finds out what an array is, of descriptions without difference, and which rank has which units
 * of it: rank r those from first[r] on. Of an array that is everywhere rank 0 has all.
 * @param[out] first nranks + 1 entries */
void mpi_agreement_array(const struct mpi_description *all, unsigned nranks, unsigned array,
                         struct mpi_array_agreed *agreed, size_t *first);

#endif
