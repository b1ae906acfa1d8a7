/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A wavefront over ranks from its beginning to its end. The thread that runs it sends and receives
 * the boundaries of this rank's rows; workers compute tiles meanwhile, and wake it.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/heddle.h>

#include "partition/mpi/agree_mpi.h"
#include "partition/mpi/wavefront_node.h"
#include "support/message.h"
#include "support/variables.h"

_Static_assert((int)HEDDLE_WAVEFRONT_MAXVECTORS <= (int)MPI_WAVE_VECTORS,
               "every wavefront can be described");

/* ---- what ranks agree on ---- */

static int refuse(const struct front *front, unsigned i, const char *why)
{
	return heddle_refuse(-EINVAL, "wavefront %s over ranks: array %u %s", front->name, i + 1,
	                     why);
}

static int array_check(const struct front *front, unsigned i)
{
	const struct front_array *array = &front->arrays[i];
	const char *why = node_place_wrong(&array->node, front->rank, front->nranks);
	bool written = array->node.access.mode & STARPU_W;

	if (why)
		return refuse(front, i, why);
	if (array->extent > HEDDLE_ALL)
		return refuse(front, i, "has an unknown extent");
	if (array->extent == HEDDLE_ALL && written)
		return refuse(front, i, "is what every iteration reads, and written");
	if ((array->extent == HEDDLE_FIELD_HALO || array->extent == HEDDLE_COLUMNS) &&
	    array->node.access.mode == STARPU_W)
		return refuse(front, i, "is what neighbours read, and only written");
	if (array->extent == HEDDLE_COLUMNS && written && front->wave.sweeps > 1)
		return refuse(front, i, "passes from row to row, and there are several sweeps");
	return 0;
}

static int shape_check(const struct front *front, unsigned i,
                       const struct mpi_array_description *said)
{
	enum heddle_extent extent = front->arrays[i].extent;
	bool field = extent == HEDDLE_FIELD || extent == HEDDLE_FIELD_HALO;

	if (extent == HEDDLE_ALL || field == (said->shape == STARPU_MATRIX_INTERFACE_ID))
		return 0;
	return refuse(front, i, field ? "is not a matrix" : "is not a vector");
}

static int array_take(struct front *front, unsigned i, const struct heddle_mpi_place *place,
                      struct mpi_description *says)
{
	const struct heddle_wave_array *given = &front->wave.arrays[i];
	struct front_array *array = &front->arrays[i];
	struct mpi_array_description *said = &says->arrays[i];
	bool whole = given->extent == HEDDLE_COLUMNS || given->extent == HEDDLE_ALL;
	struct work_array_name name = {"wavefront", front->name, i};
	int status;

	array->extent = given->extent;
	array->node.place = *place;
	array->node.access =
	    (struct heddle_access){.handle = given->handle,
	                           .mode = given->mode,
	                           .per_iteration = given->per_iteration ? given->per_iteration : 1,
	                           .share = whole ? HEDDLE_WHOLE : HEDDLE_SLICE};
	status = array_check(front, i);
	if (!status && given->handle) {
		says->own |= 1u << i;
		status = node_array_hold(&array->node, &name, said);
		if (!status)
			status = shape_check(front, i, said);
	}
	said->place = place->layout;
	said->owner = place->layout == HEDDLE_MPI_ON_RANK ? place->rank : 0;
	said->mode = given->mode;
	said->per_iteration = array->node.access.per_iteration;
	return status;
}

static int variable_read(enum heddle_variable variable, const char *name, double *value)
{
	*value = heddle_variable_number(variable);
	if (*value >= 0 && *value <= INT_MAX)
		return 0;
	return heddle_refuse(-EINVAL, "%s: %g is not between 0 and %d", name, *value, INT_MAX);
}

/* Fields win over variables. */
static int variables_take(struct front *front)
{
	double columns = front->wave.tile_columns, bands = front->wave.bands_per_worker;
	int status = 0;

	if (!(columns > 0))
		status = variable_read(HEDDLE_VARIABLE_WAVE_TILE_COLUMNS,
		                       "HEDDLE_WAVE_TILE_COLUMNS", &columns);
	if (!status && !(bands > 0))
		status = variable_read(HEDDLE_VARIABLE_WAVE_BANDS, "HEDDLE_WAVE_BANDS", &bands);
	front->wave.tile_columns = columns;
	front->wave.bands_per_worker = bands;
	return status;
}

static int front_check(struct front *front, const struct heddle_mpi_place *places)
{
	const struct heddle_wavefront *wave = &front->wave;
	int status = heddle_starpu_check();

	if (!status)
		status = heddle_variables_check(environ);
	if (status)
		return status;
	if (!starpu_is_initialized())
		return heddle_refuse(-ENODEV, "wavefront %s over ranks: before starpu_init()",
		                     front->name);
	if (!wave->codelet || (!places && wave->narrays))
		return heddle_refuse(-EINVAL, "wavefront %s over ranks: no %s", front->name,
		                     wave->codelet ? "places" : "codelet");
	if (wave->narrays > HEDDLE_WAVEFRONT_MAXARRAYS || wave->narrays > MPI_MAXARRAYS)
		return heddle_refuse(-EINVAL, "wavefront %s over ranks: %u arrays, not 0 to %d",
		                     front->name, wave->narrays, HEDDLE_WAVEFRONT_MAXARRAYS);
	if (wave->nvectors > HEDDLE_WAVEFRONT_MAXVECTORS)
		return heddle_refuse(-EINVAL, "wavefront %s over ranks: %u vectors, not 0 to %d",
		                     front->name, wave->nvectors, HEDDLE_WAVEFRONT_MAXVECTORS);
	status = variables_take(front);
	return status ? status : heddle_dependences_check(wave->vectors, wave->nvectors);
}

static void describe(struct front *front, const struct heddle_mpi_place *places,
                     struct mpi_description *says)
{
	snprintf(says->host, sizeof(says->host), "%s", front->stats.host);
	says->status = front_check(front, places);
	for (unsigned i = 0; !says->status && i < front->wave.narrays; i++)
		says->status = array_take(front, i, &places[i], says);
	if (says->status)
		return;
	snprintf(says->codelet, sizeof(says->codelet), "%s",
	         front->wave.codelet->name ? front->wave.codelet->name : "");
	says->nranks = front->nranks;
	says->naccesses = front->wave.narrays;
}

static void wave_describe(const struct front *front, struct mpi_wave_description *says)
{
	const struct heddle_wavefront *wave = &front->wave;

	*says = (struct mpi_wave_description){.rows = wave->rows,
	                                      .columns = wave->columns,
	                                      .sweeps = wave->sweeps,
	                                      .tile_columns = wave->tile_columns,
	                                      .bands = wave->bands_per_worker,
	                                      .nvectors = wave->nvectors};
	for (unsigned v = 0; v < wave->nvectors; v++) {
		says->vectors[v][0] = wave->vectors[v].row;
		says->vectors[v][1] = wave->vectors[v].column;
		says->vectors[v][2] = wave->vectors[v].sweep;
	}
	for (unsigned i = 0; i < wave->narrays; i++)
		says->extents[i] = wave->arrays[i].extent;
}

/* Whether all have the same wavefront, and the arrays are long enough. */
static int waves_agree(struct front *front)
{
	struct mpi_wave_description own, *all = calloc(front->nranks, sizeof(*all));
	struct mpi_array_agreed arrays[MPI_MAXARRAYS];
	uint64_t per_iteration[MPI_MAXARRAYS];
	char text[256];
	int status;

	if (!all)
		mpi_link_abort(front->link, "no memory for %u ranks", front->nranks);
	for (unsigned i = 0; i < front->narrays; i++) {
		arrays[i] = front->arrays[i].node.agreed;
		per_iteration[i] = front->arrays[i].node.access.per_iteration;
	}
	wave_describe(front, &own);
	mpi_agree_gather(front->link, &own, all, sizeof(own));
	status = mpi_wave_check(all, front->nranks, arrays, per_iteration, front->narrays, text,
	                        sizeof(text));
	free(all);
	return status ? heddle_refuse(status, "wavefront %s over ranks: %s", front->name, text) : 0;
}

static int front_agree(struct front *front, const struct heddle_mpi_place *places)
{
	struct node_array *arrays[MPI_MAXARRAYS];
	struct mpi_description says = {.status = 0}, *all;
	bool steals = false;
	int status;

	describe(front, places, &says);
	for (unsigned i = 0; i < MPI_MAXARRAYS; i++)
		arrays[i] = &front->arrays[i].node;
	status =
	    node_arrays_agree(front->link, "wavefront", front->name, &says, arrays, &all, &steals);
	if (!status)
		front->narrays = front->wave.narrays;
	free(all);
	return status ? status : waves_agree(front);
}

/* ---- this rank's part ---- */

static void part_changed(void *arg)
{
	mpi_link_wake(arg);
}

/* The rank of the next range on a side of one; -1: there is none. */
static int neighbour(const struct front *front, unsigned range, enum wave_side side)
{
	int step = side == ABOVE ? -1 : 1, n = front->rounds * front->nranks;

	for (int q = (int)range + step; q >= 0 && q < n; q += step)
		if (front->rows[q].count)
			return q % (int)front->nranks;
	return -1;
}

void front_rounds_set(struct front *front, unsigned rounds)
{
	free(front->rows);
	free(front->ranges);
	front->rounds = rounds;
	front->rows = calloc(rounds * front->nranks, sizeof(*front->rows));
	front->ranges = calloc(rounds, sizeof(*front->ranges));
	if (!front->rows || !front->ranges)
		mpi_link_abort(front->link, "no memory for %u rounds", rounds);
}

static void range_init(struct front *front, unsigned round)
{
	struct mpi_units rows = front->rows[round * front->nranks + front->rank];
	struct wave_range *range = &front->ranges[round];

	*range = (struct wave_range){.first = rows.first, .rows = rows.count};
	for (unsigned i = 0; i < front->narrays; i++) {
		struct front_array *array = &front->arrays[i];
		ptrdiff_t per = array->extent == HEDDLE_ROWS ? array->node.access.per_iteration : 1;

		if (!node_array_shared(&array->node))
			range->row[i] = array->origins[round] / per;
	}
}

void front_part_init(struct front *front)
{
	front->part = (struct wave_part){.ranges = front->ranges,
	                                 .nranges = front->rounds,
	                                 .changed = part_changed,
	                                 .arg = front->link};
	for (unsigned i = 0; i < front->narrays; i++)
		front->wave.arrays[i].handle = front->arrays[i].handle;
	for (unsigned round = 0; round < front->rounds; round++)
		range_init(front, round);
}

static void halos_open(struct front *front, enum wave_side side, unsigned peer)
{
	struct wave_traffic traffic;

	wave_part_traffic(front->request, side, &traffic);
	front->coming[side] =
	    mpi_halo_open(front->link, peer, false, traffic.bytes, traffic.coming);
	front->going[side] = mpi_halo_open(front->link, peer, true, traffic.bytes, traffic.going);
	if (!front->coming[side] || !front->going[side])
		mpi_link_abort(front->link, "no memory for its boundaries");
}

static int part_begin(struct front *front)
{
	int peers[NSIDES] = {-1, -1}, status;

	front_part_init(front);
	if (!front->ranges[0].rows)
		return 0;
	/* On a side all ranges have the same neighbour, if any. */
	for (unsigned round = 0; round < front->rounds; round++)
		for (enum wave_side side = ABOVE; side < NSIDES; side++) {
			int peer = neighbour(front, round * front->nranks + front->rank, side);

			front->ranges[round].beyond[side] = peer >= 0;
			peers[side] = peer >= 0 ? peer : peers[side];
		}
	front->part.learn = !front->wave.tile_columns;
	front->wave.tile_columns = front->plan.h;
	status = wave_part_submit(&front->wave, &front->part, &front->request);
	for (enum wave_side side = ABOVE; !status && side < NSIDES; side++)
		if (peers[side] >= 0)
			halos_open(front, side, peers[side]);
	return status;
}

/* ---- at work ---- */

static void tell_all(struct front *front, const struct mpi_message *message)
{
	for (unsigned r = 0; r < front->nranks; r++)
		mpi_link_tell(front->link, r, message);
}

static void front_told(void *arg, unsigned from, const struct mpi_message *message)
{
	struct front *front = arg;

	switch (message->type) {
	case FRONT_FAILED:
		if (front->status)
			return;
		front->status = message->status;
		front->failed = from;
		tell_all(front, &(struct mpi_message){
		                    .type = FRONT_STOP, .status = message->status, .rank = from});
		return;
	case FRONT_STOP:
		front->stopped = true;
		front->status = message->status;
		front->failed = message->rank;
		if (front->request)
			wave_part_stop(front->request, message->status);
		return;
	case FRONT_BYE:
		if (++front->byes == front->nranks)
			tell_all(front, &(struct mpi_message){.type = FRONT_DONE});
		return;
	default:
		front->done = true;
	}
}

/* Sends what can be sent. @return whether it sent something */
static bool side_send(struct front *front, enum wave_side side)
{
	struct mpi_halo *halo = front->going[side];
	bool acted = false;
	void *buffer;

	while (mpi_halo_count(halo) < wave_part_ready(front->request, side) &&
	       (buffer = mpi_halo_buffer(halo))) {
		wave_part_take(front->request, side, buffer);
		mpi_halo_next(halo);
		front->stats.messages_sent++;
		acted = true;
	}
	return acted;
}

/* After a failure messages are received and dropped, so that all that were sent can end. */
static bool side_receive(struct front *front, enum wave_side side, bool failed)
{
	struct mpi_halo *halo = front->coming[side];
	bool acted = false;
	void *buffer;

	while ((buffer = mpi_halo_buffer(halo))) {
		if (!failed)
			wave_part_put(front->request, side, buffer);
		mpi_halo_next(halo);
		front->stats.messages_received++;
		acted = true;
	}
	/* In one sweep all come from one side. */
	if (acted)
		mpi_link_busy(front->link, front->wave.sweeps == 1);
	return acted;
}

/* Whether all messages have come and gone. */
static bool sides_over(const struct front *front)
{
	for (enum wave_side side = ABOVE; side < NSIDES; side++) {
		struct wave_traffic traffic;

		if (!front->coming[side])
			continue;
		wave_part_traffic(front->request, side, &traffic);
		if (mpi_halo_count(front->coming[side]) < traffic.coming ||
		    mpi_halo_count(front->going[side]) < traffic.going)
			return false;
	}
	return true;
}

static bool sends_idle(const struct front *front)
{
	for (enum wave_side side = ABOVE; side < NSIDES; side++)
		if (front->going[side] && !mpi_halo_is_idle(front->going[side]))
			return false;
	return true;
}

/* @return whether something was done */
static bool part_step(struct front *front)
{
	int status = wave_part_status(front->request);
	bool failed = status || front->stopped, acted = false;

	if (status && !front->told && !front->stopped)
		mpi_link_tell(front->link, 0,
		              &(struct mpi_message){.type = FRONT_FAILED, .status = status});
	front->told |= status != 0;
	for (enum wave_side side = ABOVE; side < NSIDES; side++) {
		if (!front->coming[side])
			continue;
		acted |= side_receive(front, side, failed || front->released);
		if (!failed && !front->released)
			acted |= side_send(front, side);
		/* While a send is not over the rank looks more often. */
		(void)mpi_halo_is_idle(front->going[side]);
	}
	if (!front->released && (failed || sides_over(front))) {
		front->released = true;
		wave_part_release(front->request);
	}
	return acted;
}

static bool part_is_over(const struct front *front)
{
	return !front->request || (front->released && wave_part_is_over(front->request));
}

/* What this rank's part did. */
static void part_end(struct front *front)
{
	const struct heddle_wavefront_stats *own = front->own;

	for (enum wave_side side = ABOVE; side < NSIDES; side++) {
		mpi_halo_close(front->coming[side]);
		mpi_halo_close(front->going[side]);
	}
	if (!front->request)
		return;
	heddle_wavefront_wait(front->request, front->own);
	front->stats.tiles = own->tiles;
	front->stats.bands = own->bands;
	for (unsigned l = 0; l < own->nworkers; l++) {
		front->stats.busy_us += own->workers[l].busy_us;
		front->stats.power += own->workers[l].rate;
	}
}

/* It has begun here, and cannot elsewhere. */
static void part_give_up(struct front *front, int status)
{
	if (front->request) {
		wave_part_stop(front->request, status);
		wave_part_release(front->request);
	}
	part_end(front);
}

static int front_run(struct front *front)
{
	mpi_link_serve(front->link, front_told, front);
	while (!front->done) {
		bool acted;

		mpi_link_progress(front->link);
		acted = front->request && part_step(front);
		if (!front->bye && part_is_over(front) && sends_idle(front)) {
			front->bye = acted = true;
			mpi_link_tell(front->link, 0, &(struct mpi_message){.type = FRONT_BYE});
		}
		if (!acted && !front->done)
			mpi_link_wait(front->link);
	}
	part_end(front);
	return front->status ? heddle_refuse(front->status,
	                                     "wavefront %s over ranks: it failed on rank %d: %s",
	                                     front->name, front->failed, strerror(-front->status))
	                     : 0;
}

/* ---- from beginning to end ---- */

static void stats_tell(struct front *front, struct heddle_mpi_wave_rank *ranks)
{
	struct heddle_mpi_wave_rank *all = ranks ? ranks : calloc(front->nranks, sizeof(*all));

	/* All take part, whether they want it or not. */
	if (!all)
		mpi_link_abort(front->link, "no memory for %u ranks", front->nranks);
	front->stats.first = front->rows[front->rank].first;
	for (unsigned q = front->rank; q < front->rounds * front->nranks; q += front->nranks)
		front->stats.rows += front->rows[q].count;
	front->stats.us = starpu_timing_now() - front->begin_us;
	front->own->us = front->stats.us;
	front->own->tile_columns = front->plan.h;
	front->own->predicted_us = front->own->model_us = front->plan.predicted_us;
	mpi_agree_gather(front->link, &front->stats, all, sizeof(*all));
	if (!ranks)
		free(all);
}

static int front_go(struct front *front, const struct heddle_mpi_place *places,
                    struct heddle_mpi_wave_rank *ranks)
{
	int status = front_agree(front, places);

	if (status)
		return status;
	front->begin_us = starpu_timing_now();
	if (front->wave.rows && front->wave.columns) {
		wave_part_shape(&front->wave, &front->shape);
		front_arrays_share(front);
		status = front_plan(front);
		if (status)
			return status;
		status = front_arrays_fetch(front);
		status = mpi_all(front->link, "wavefront", front->name,
		                 status ? status : part_begin(front));
		if (status)
			part_give_up(front, status);
		if (!status)
			status = front_run(front);
		if (!status)
			front_arrays_return(front);
	}
	if (!status)
		stats_tell(front, ranks);
	return status;
}

static struct front *front_new(const struct heddle_wavefront *wave, MPI_Comm comm)
{
	double timeout = heddle_variable_number(HEDDLE_VARIABLE_NODE_TIMEOUT);
	struct front *front = calloc(1, sizeof(*front));
	bool ready = front && (front->own = calloc(1, sizeof(*front->own)));

	if (ready) {
		front->wave = *wave;
		front->wave.sweeps = wave->sweeps ? wave->sweeps : 1;
		front->name = wave->name                             ? wave->name
		              : wave->codelet && wave->codelet->name ? wave->codelet->name
		                                                     : "wavefront";
		gethostname(front->stats.host, sizeof(front->stats.host) - 1);
		ready = !mpi_link_open(comm, timeout, "wavefront", front->name, &front->link);
	}
	if (ready) {
		front->rank = mpi_link_rank(front->link);
		front->nranks = mpi_link_ranks(front->link);
		front_rounds_set(front, 1);
	}
	if (!ready) {
		heddle_warn("a wavefront over ranks: no memory; the run ends on all ranks");
		MPI_Abort(comm, 1);
	}
	return front;
}

int heddle_mpi_wavefront_run(const struct heddle_wavefront *wavefront, MPI_Comm comm,
                             const struct heddle_mpi_place *places,
                             struct heddle_mpi_wave_rank *ranks,
                             struct heddle_wavefront_stats *stats)
{
	int status = wavefront
	                 ? mpi_link_claim(comm, "wavefront")
	                 : heddle_refuse(-EINVAL, "a wavefront over ranks without a wavefront");
	struct front *front;

	if (status)
		return status;
	front = front_new(wavefront, comm);
	status = front_go(front, places, ranks);
	if (!status && stats)
		*stats = *front->own;
	mpi_link_close(front->link);
	front_arrays_finish(front);
	free(front->rows);
	free(front->ranges);
	free(front->own);
	free(front);
	return status;
}
