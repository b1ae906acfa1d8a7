/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/heddle.h>

#include "partition/mpi/agree_mpi.h"
#include "partition/mpi/run_starpu.h"
#include "support/message.h"

/* Rank 0 gets what all say; `all` is of nranks descriptions' room, and zero. Zeros at the end are
 * not sent: with many ranks they would keep its link busy. */
static void descriptions_collect(struct mpi_link *link, const char *own, char *all)
{
	size_t n = MPI_DESCRIPTION_ROOM;
	struct mpi_rows rows;

	while (n > 1 && !own[n - 1])
		n--;
	rows = (struct mpi_rows){(void *)own, 1, n, n};
	mpi_link_send(link, 0, MPI_CHANNEL_AGREE, &rows, NULL, NULL);
	rows.row = rows.pitch = MPI_DESCRIPTION_ROOM;
	for (unsigned r = 0; !mpi_link_rank(link) && r < mpi_link_ranks(link); r++) {
		rows.at = all + r * MPI_DESCRIPTION_ROOM;
		mpi_link_receive(link, r, MPI_CHANNEL_AGREE, &rows, NULL, NULL);
	}
	mpi_link_finish(link);
}

void mpi_agree_broadcast(struct mpi_link *link, void *at, size_t bytes)
{
	struct mpi_rows rows = {at, 1, bytes, bytes};

	mpi_link_broadcast(link, 0, &rows, NULL, NULL);
	mpi_link_finish(link);
}

/* The descriptions one after the other, without the room between them. */
static void descriptions_pack(char *all, unsigned nranks)
{
	for (unsigned r = 1; r < nranks; r++)
		memmove(all + r * sizeof(struct mpi_description), all + r * MPI_DESCRIPTION_ROOM,
		        sizeof(struct mpi_description));
}

void mpi_agree_collect(struct mpi_link *link, const char *what, const struct mpi_description *says,
                       struct mpi_description **of_all, struct mpi_verdict *verdict)
{
	union {
		struct mpi_description says;
		char room[MPI_DESCRIPTION_ROOM];
	} own = {.room = {0}};
	unsigned nranks = mpi_link_ranks(link);
	char *all = NULL;

	_Static_assert(sizeof(own) == MPI_DESCRIPTION_ROOM, "a description fits");
	own.says = *says;
	snprintf(own.says.begins, sizeof(own.says.begins), "%s", what);
	mpi_agreement_version(heddle_version(), own.says.version, sizeof(own.says.version));
	if (!mpi_link_rank(link) && !(all = calloc(nranks, MPI_DESCRIPTION_ROOM)))
		mpi_link_abort(link, "no memory for %u ranks", nranks);
	descriptions_collect(link, own.room, all);
	*of_all = (struct mpi_description *)all;
	*verdict = (struct mpi_verdict){0};
	if (!all)
		return;
	descriptions_pack(all, nranks);
	verdict->status =
	    mpi_agreement_check(*of_all, nranks, what, verdict->text, sizeof(verdict->text));
}

int mpi_agree_conclude(struct mpi_link *link, const char *what, const char *name,
                       struct mpi_verdict *verdict)
{
	if (verdict->status)
		verdict->told = strlen(verdict->text);
	mpi_link_spread(link, verdict, offsetof(struct mpi_verdict, text) + verdict->told,
	                sizeof(*verdict));
	mpi_link_finish(link);
	if (verdict->status)
		return heddle_refuse(verdict->status, "%s %s over ranks: %s", what, name,
		                     verdict->text);
	mpi_link_bells(link);
	mpi_run_begin(link);
	return 0;
}

int mpi_agree(struct mpi_link *link, const char *what, const char *name,
              const struct mpi_description *says, struct mpi_description **of_all)
{
	struct mpi_verdict verdict;

	mpi_agree_collect(link, what, says, of_all, &verdict);
	return mpi_agree_conclude(link, what, name, &verdict);
}

int mpi_all(struct mpi_link *link, const char *what, const char *name, int status)
{
	unsigned nranks = mpi_link_ranks(link);
	int *all = calloc(nranks, sizeof(*all)), first = 0;

	if (!all)
		mpi_link_abort(link, "no memory for %u ranks", nranks);
	mpi_link_gather(link, &status, all, sizeof(status), NULL, NULL);
	mpi_link_finish(link);
	for (unsigned r = 0; !first && r < nranks; r++)
		if ((first = all[r]))
			heddle_warn("%s %s over ranks: rank %u cannot begin: %s", what, name, r,
			            strerror(-first));
	free(all);
	return first;
}

void mpi_agree_gather(struct mpi_link *link, const void *own, void *all, size_t bytes)
{
	mpi_link_gather(link, own, all, bytes, NULL, NULL);
	mpi_link_finish(link);
}
