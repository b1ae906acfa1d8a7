/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "partition/mpi/halo_mpi.h"

/* After so long a send wants the other rank to look again, which it does for as long after it was
 * rung: MPI may need both for a long message, MPICH may keep the answer to one until then, and who
 * has received all sleeps until it is rung. */
#define AGAIN_US 200

struct mpi_halo {
	struct mpi_link *link;
	unsigned peer;
	bool sends;
	size_t bytes, total;
	size_t next; /* number of the next message; it has slot next % MPI_WAVE_UNDER_WAY */
	bool active[MPI_WAVE_UNDER_WAY];
	double rung_us[MPI_WAVE_UNDER_WAY]; /* when the other rank was last told of a send */
	MPI_Request requests[MPI_WAVE_UNDER_WAY];
	char *buffers;
};

static void check(struct mpi_halo *halo, int error)
{
	if (error != MPI_SUCCESS)
		mpi_link_abort(halo->link, "MPI: a boundary cannot be sent or received");
}

/* A send begins, goes on, or ends. */
static void slot_ring(struct mpi_halo *halo, size_t slot)
{
	double now = mpi_link_now_us();

	if (now - halo->rung_us[slot] < AGAIN_US)
		return;
	halo->rung_us[slot] = now;
	mpi_link_ring(halo->link, halo->peer);
}

/* A send begins or ends, or a receive. */
static void slot_turn(struct mpi_halo *halo, size_t slot, bool active)
{
	halo->active[slot] = active;
	if (!halo->sends)
		return;
	mpi_link_hold(halo->link, active);
	if (active)
		halo->rung_us[slot] = -INFINITY;
	slot_ring(halo, slot);
}

static void slot_start(struct mpi_halo *halo, size_t slot)
{
	check(halo, MPI_Start(&halo->requests[slot]));
	slot_turn(halo, slot, true);
}

/* Whether nothing is under way in a slot. */
static bool slot_test(struct mpi_halo *halo, size_t slot)
{
	int flag = 1;

	if (halo->active[slot])
		check(halo, MPI_Test(&halo->requests[slot], &flag, MPI_STATUS_IGNORE));
	if (flag && halo->active[slot])
		slot_turn(halo, slot, false);
	if (!flag && halo->sends)
		slot_ring(halo, slot);
	return flag;
}

struct mpi_halo *mpi_halo_open(struct mpi_link *link, unsigned peer, bool sends, size_t bytes,
                               size_t total)
{
	struct mpi_halo *halo = calloc(1, sizeof(*halo));
	MPI_Comm comm = mpi_link_comm(link);

	if (bytes > INT_MAX)
		mpi_link_abort(link, "a boundary of %zu bytes cannot be sent", bytes);
	if (!halo || !(halo->buffers = calloc(MPI_WAVE_UNDER_WAY, bytes ? bytes : 1))) {
		free(halo);
		return NULL;
	}
	halo->link = link;
	halo->peer = peer;
	halo->sends = sends;
	halo->bytes = bytes;
	halo->total = total;
	for (size_t slot = 0; slot < MPI_WAVE_UNDER_WAY; slot++) {
		char *at = halo->buffers + slot * bytes;
		MPI_Request *request = &halo->requests[slot];

		check(halo, sends ? MPI_Ssend_init(at, bytes, MPI_BYTE, peer, MPI_CHANNEL_HALO,
		                                   comm, request)
		                  : MPI_Recv_init(at, bytes, MPI_BYTE, peer, MPI_CHANNEL_HALO, comm,
		                                  request));
		if (!sends && slot < total)
			slot_start(halo, slot);
	}
	return halo;
}

void *mpi_halo_buffer(struct mpi_halo *halo)
{
	size_t slot = halo->next % MPI_WAVE_UNDER_WAY;

	if (halo->next == halo->total || !slot_test(halo, slot))
		return NULL;
	return halo->buffers + slot * halo->bytes;
}

/* Requests are started in the order of the messages, which is that in which MPI matches them. */
void mpi_halo_next(struct mpi_halo *halo)
{
	size_t number = halo->next++;

	if (halo->sends || number + MPI_WAVE_UNDER_WAY < halo->total)
		slot_start(halo, number % MPI_WAVE_UNDER_WAY);
}

size_t mpi_halo_count(const struct mpi_halo *halo)
{
	return halo->next;
}

bool mpi_halo_is_idle(struct mpi_halo *halo)
{
	bool idle = true;

	for (size_t slot = 0; halo->sends && slot < MPI_WAVE_UNDER_WAY; slot++)
		idle = slot_test(halo, slot) && idle;
	return idle;
}

void mpi_halo_close(struct mpi_halo *halo)
{
	if (!halo)
		return;
	for (size_t slot = 0; slot < MPI_WAVE_UNDER_WAY; slot++) {
		if (halo->active[slot]) {
			check(halo, MPI_Cancel(&halo->requests[slot]));
			check(halo, MPI_Wait(&halo->requests[slot], MPI_STATUS_IGNORE));
			slot_turn(halo, slot, false);
		}
		check(halo, MPI_Request_free(&halo->requests[slot]));
	}
	free(halo->buffers);
	free(halo);
}
