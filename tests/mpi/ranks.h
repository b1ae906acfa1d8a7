/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the tests over ranks share.
 */
#ifndef TESTS_MPI_RANKS_H
#define TESTS_MPI_RANKS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <mpi.h>
#include <starpu.h>
#include <heddle/heddle.h>

#include "partition/mpi/agreement.h"
#include "partition/mpi/link_mpi.h"

static int rank, nranks, failures;

/* The test defines them. */
static int run_random(unsigned seed, int count, bool delays);
static int run_case(const char *what);

/* Libraries ask this function, which comes first, and not their own. */
static const char *version = PACKAGE_VERSION;

const char *heddle_version(void)
{
	return version;
}

static bool deaf; /* MPI tells nobody that a rank ends the program */

int MPI_Abort(MPI_Comm comm, int error)
{
	while (deaf)
		pause();
	return PMPI_Abort(comm, error);
}

/* What a rank says of itself is of a build with another protocol. */
static bool other_protocol;

int MPI_Issend(const void *at, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request *request)
{
	static char changed[MPI_DESCRIPTION_ROOM];
	char *protocol;

	if (!other_protocol || tag != MPI_CHANNEL_AGREE || n > (int)sizeof(changed))
		return PMPI_Issend(at, n, type, to, tag, comm, request);
	memcpy(changed, at, n);
	protocol = strstr(changed, "protocol ");
	if (protocol)
		protocol[strlen("protocol ")] = '0';
	return PMPI_Issend(changed, n, type, to, tag, comm, request);
}

int main(int argc, char **argv)
{
	int level, status = 2;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &nranks);
	if (starpu_init(NULL))
		return 77;
	if (argc >= 4 && !strcmp(argv[1], "random"))
		status = run_random(strtoul(argv[2], NULL, 0), atoi(argv[3]), argc > 4);
	if (argc >= 2 && strcmp(argv[1], "random")) {
		deaf = argc == 3;
		if (rank == 1 && !strcmp(argv[1], "version"))
			version = "0.0.9";
		other_protocol = rank == 1 && !strcmp(argv[1], "protocol");
		status = run_case(argv[1]);
	}
	starpu_shutdown();
	MPI_Finalize();
	return status ? 1 : 0;
}

#endif
