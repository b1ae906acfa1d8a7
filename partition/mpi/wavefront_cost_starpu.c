/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What workers and messages cost, and who computes which rows. Workers whose costs no earlier run
 * knows are timed on samples of the loop. Messages are timed by a ping-pong between two ranks, once
 * for each pair of kinds of nodes; the profile keeps it.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "estimator/profile_store.h"
#include "partition/mpi/agree_mpi.h"
#include "partition/mpi/wavefront_node.h"
#include "support/message.h"
#include "support/starpu_compat.h"

/* Rows of a rank that samples may use. */
#define SAMPLE_ROWS 2048
/* Whose profile has what messages cost. */
#define PROFILE "heddle_mpi"

/* ---- workers ---- */

static int power_find(struct front *front, bool measure, struct mpi_wave_power *power)
{
	struct wave_part_worker *workers = calloc(STARPU_NMAXWORKERS, sizeof(*workers));
	unsigned n = 0;
	int status;

	if (!workers)
		return -ENOMEM;
	status = wave_part_costs(&front->wave, measure ? &front->part : NULL, workers, &n);
	*power = (struct mpi_wave_power){0};
	snprintf(power->machine, sizeof(power->machine), "%s", front->stats.host);
	for (unsigned l = 0; l < n; l++)
		mpi_wave_power_add(power, workers[l].name, &workers[l].cost);
	free(workers);
	return status;
}

/* Times samples of some rows of each rank. */
static int powers_measure(struct front *front, struct mpi_wave_power *power)
{
	size_t rows = front->wave.rows / front->nranks;
	int status;

	for (unsigned r = 0; r < front->nranks; r++)
		front->rows[r] =
		    (struct mpi_units){r * rows, rows < SAMPLE_ROWS ? rows : SAMPLE_ROWS};
	status = front_arrays_fetch(front);
	front_part_init(front);
	if (!status && rows)
		status = power_find(front, true, power);
	front_arrays_drop(front);
	return status;
}

/* ---- messages ---- */

/* A node by its name; what lies between two on one machine is another matter. */
struct node_name {
	char machine[64], kind[56];
};

struct message_cost {
	double cd, byte; /* of a message, and of a byte of it; cd 0: not known */
};

static void pair_name(const struct node_name *a, const struct node_name *b, char *text, size_t size)
{
	bool ordered = strcmp(a->kind, b->kind) <= 0;

	snprintf(text, size, "%s to %s%s", ordered ? a->kind : b->kind, ordered ? b->kind : a->kind,
	         strcmp(a->machine, b->machine) ? "" : " inside");
}

struct wanted_cost {
	const char *pair;
	struct message_cost cost;
};

static double number(const struct heddle_profile_record *record, const char *key)
{
	return heddle_profile_field_median(heddle_profile_record_field(record, key));
}

static void cost_look(const struct heddle_profile *profile, const char *path, void *arg)
{
	struct wanted_cost *wanted = arg;

	(void)path;
	for (size_t r = 0; r < profile->n; r++) {
		const struct heddle_profile_record *record = profile->records[r];
		const struct heddle_profile_field *pair =
		    heddle_profile_record_field(record, "nodes");

		if (!strcmp(record->kind, "message") && pair && !pair->n &&
		    !strcmp(pair->text, wanted->pair))
			wanted->cost =
			    (struct message_cost){number(record, "cd"), number(record, "byte")};
	}
}

/* What was measured in this process, where no profile is to be kept. */
static struct known_cost {
	struct known_cost *next;
	struct message_cost cost;
	char pair[HEDDLE_PROFILE_TEXT];
} * known;
static pthread_mutex_t known_mutex = PTHREAD_MUTEX_INITIALIZER;

static void known_add(const char *pair, const struct message_cost *cost)
{
	struct known_cost *added = calloc(1, sizeof(*added));

	if (!added)
		return;
	snprintf(added->pair, sizeof(added->pair), "%s", pair);
	added->cost = *cost;
	pthread_mutex_lock(&known_mutex);
	added->next = known;
	known = added;
	pthread_mutex_unlock(&known_mutex);
}

static struct message_cost cost_find(const char *pair)
{
	struct wanted_cost wanted = {.pair = pair};

	if (profile_store_wanted()) {
		profile_store_ask(PROFILE, cost_look, &wanted);
		return wanted.cost;
	}
	pthread_mutex_lock(&known_mutex);
	for (const struct known_cost *one = known; one; one = one->next)
		if (!strcmp(one->pair, pair))
			wanted.cost = one->cost;
	pthread_mutex_unlock(&known_mutex);
	return wanted.cost;
}

static void cost_keep(const char *pair, const struct message_cost *cost)
{
	struct heddle_profile_record record;

	if (!profile_store_wanted()) {
		known_add(pair, cost);
		return;
	}
	heddle_profile_record_init(&record, "message");
	heddle_profile_record_text(&record, "nodes", pair);
	heddle_profile_record_results(&record);
	heddle_profile_record_number(&record, "cd", cost->cd);
	heddle_profile_record_number(&record, "byte", cost->byte);
	heddle_profile_record_number(&record, "samples", 1);
	heddle_profile_record_number(&record, "at", time(NULL));
	profile_store_add(PROFILE, &record);
}

/* Half of the median time that a message takes there and back, as messages do in a run: who waits
 * sleeps in between. */
static double ping_pong(struct front *front, unsigned peer, bool first, char *buffer, size_t bytes)
{
	enum { SKIPPED = 2, TIMES = 9 };
	struct mpi_rows rows = {buffer, 1, bytes, bytes};
	double us[TIMES];

	for (int t = 0; t < SKIPPED + TIMES; t++) {
		double begin = starpu_timing_now(), one;
		int n = t - SKIPPED;

		if (first)
			mpi_link_send(front->link, peer, MPI_CHANNEL_HALO, &rows, NULL, NULL);
		else
			mpi_link_receive(front->link, peer, MPI_CHANNEL_HALO, &rows, NULL, NULL);
		mpi_link_finish(front->link);
		if (first)
			mpi_link_receive(front->link, peer, MPI_CHANNEL_HALO, &rows, NULL, NULL);
		else
			mpi_link_send(front->link, peer, MPI_CHANNEL_HALO, &rows, NULL, NULL);
		mpi_link_finish(front->link);
		one = (starpu_timing_now() - begin) / 2;
		/* Into its place. */
		for (; n > 0 && us[n - 1] > one; n--)
			us[n] = us[n - 1];
		if (n >= 0)
			us[n] = one;
	}
	return us[TIMES / 2];
}

/* (1), fitted to a short message and a long one. */
static void pair_measure(struct front *front, unsigned peer, bool first, struct message_cost *cost)
{
	enum { SHORT = 8, LONG = 1 << 16 };
	char *buffer = calloc(1, LONG);
	double few, many;

	if (!buffer)
		mpi_link_abort(front->link, "no memory for a message");
	few = ping_pong(front, peer, first, buffer, SHORT);
	many = ping_pong(front, peer, first, buffer, LONG);
	free(buffer);
	cost->cd = few;
	cost->byte = many > few ? (many - few) / (LONG - SHORT) : 0;
}

/* The first pair of neighbours that is of the kinds of ranks r and r + 1. */
static unsigned representative(const struct node_name *names, unsigned r)
{
	char pair[HEDDLE_PROFILE_TEXT], other[HEDDLE_PROFILE_TEXT];
	unsigned first = 0;

	pair_name(&names[r], &names[r + 1], pair, sizeof(pair));
	for (;; first++) {
		pair_name(&names[first], &names[first + 1], other, sizeof(other));
		if (!strcmp(pair, other))
			return first;
	}
}

/* What a message costs between ranks r and r + 1, for all of them but the last. */
static void pairs_find(struct front *front, const struct node_name *names,
                       struct message_cost *costs)
{
	unsigned n = front->nranks - 1;
	struct message_cost own = {0, 0}, *measured = calloc(front->nranks, sizeof(*measured));
	char pair[HEDDLE_PROFILE_TEXT];

	if (!measured)
		mpi_link_abort(front->link, "no memory for %u ranks", front->nranks);
	for (unsigned r = 0; !front->rank && r < n; r++) {
		pair_name(&names[r], &names[r + 1], pair, sizeof(pair));
		costs[r] = cost_find(pair);
	}
	mpi_agree_broadcast(front->link, costs, n * sizeof(*costs));
	for (unsigned r = 0; r < n; r++)
		if (!(costs[r].cd > 0) && representative(names, r) == r) {
			if (front->rank == r)
				pair_measure(front, r + 1, true, &own);
			else if (front->rank == r + 1)
				pair_measure(front, r, false, &(struct message_cost){0, 0});
		}
	mpi_agree_gather(front->link, &own, measured, sizeof(own));
	for (unsigned r = 0; r < n; r++) {
		unsigned of = representative(names, r);

		if (costs[r].cd > 0)
			continue;
		costs[r] = measured[of];
		pair_name(&names[r], &names[r + 1], pair, sizeof(pair));
		if (!front->rank && of == r)
			cost_keep(pair, &costs[r]);
	}
	free(measured);
}

/* Bytes that a column of a message between ranks has. */
static double column_bytes(const struct front *front)
{
	double bytes = 0;

	for (unsigned i = 0; i < front->narrays; i++) {
		const struct front_array *array = &front->arrays[i];
		bool halo = array->extent == HEDDLE_FIELD_HALO;

		if (array->node.access.mode & STARPU_W && (halo || array->extent == HEDDLE_COLUMNS))
			bytes += (halo ? front->shape.above : 1) * array->node.agreed.elemsize *
			         array->node.access.per_iteration;
	}
	return bytes;
}

/* The mean of all neighbours.
 * @param[out] byte of a message */
static void messages_find(struct front *front, const struct mpi_wave_power *power,
                          struct mpi_wave_problem *problem, double *byte)
{
	struct node_name own = {{0}, {0}}, *names = calloc(front->nranks, sizeof(*names));
	struct message_cost *costs = calloc(front->nranks, sizeof(*costs));
	unsigned n = front->nranks - 1;

	if (!names || !costs)
		mpi_link_abort(front->link, "no memory for %u ranks", front->nranks);
	snprintf(own.machine, sizeof(own.machine), "%s", front->stats.host);
	snprintf(own.kind, sizeof(own.kind), "%s", power->nkinds ? power->kinds[0].name : "");
	mpi_agree_gather(front->link, &own, names, sizeof(own));
	pairs_find(front, names, costs);
	for (unsigned r = 0; r < n; r++) {
		problem->cd += costs[r].cd / n;
		*byte += costs[r].byte / n;
	}
	problem->cc = *byte * column_bytes(front);
	/* A thread wakes at either end, as in the ping-pong. Simulated, it takes no core. */
	problem->own_us = HEDDLE_SIMULATED ? 0 : problem->cd;
	free(names);
	free(costs);
}

/* ---- the plan ---- */

static bool is_worth_measuring(const struct front *front, const struct mpi_wave_power *powers)
{
	const struct heddle_wavefront *wave = &front->wave;

	return !mpi_wave_known(powers, front->nranks) && front->nranks > 1 &&
	       (double)wave->rows * wave->columns * wave->sweeps >= WAVE_WORTH_MEASURING &&
	       wave->rows / front->nranks >= front->shape.minimum;
}

static void rows_set(struct front *front, const size_t *first)
{
	front_rounds_set(front, front->plan.k);
	for (unsigned q = 0; q < front->rounds * front->nranks; q++)
		front->rows[q] = (struct mpi_units){first[q], first[q + 1] - first[q]};
}

/* The front's plan, with what it takes to bring arrays to who computes with them. */
static void plan_make(struct front *front, const struct mpi_wave_problem *problem, double byte,
                      size_t *first)
{
	if (mpi_wave_deal(problem, &front->plan, first))
		mpi_link_abort(front->link, "no memory for %u ranks", front->nranks);
	rows_set(front, first);
	if (front->plan.predicted_us > 0)
		front->plan.predicted_us += front_arrays_us(front, problem->cd, byte);
}

/* Several rounds may bring a rank rows that others have. */
static void plan_best(struct front *front, struct mpi_wave_problem *problem, double byte,
                      size_t *first)
{
	double us;

	plan_make(front, problem, byte, first);
	if (problem->k || front->plan.k == 1)
		return;
	us = front->plan.predicted_us;
	problem->k = 1;
	plan_make(front, problem, byte, first);
	problem->k = 0;
	if (us < front->plan.predicted_us)
		plan_make(front, problem, byte, first);
}

/* Rank 0 decides, so that all have the same to the last bit. */
static void deal(struct front *front, struct mpi_wave_problem *problem, double byte)
{
	size_t *first = calloc(MPI_WAVE_ROUNDS * front->nranks + 1, sizeof(*first));

	if (!first)
		mpi_link_abort(front->link, "no memory for %u ranks", front->nranks);
	if (!front->rank)
		plan_best(front, problem, byte, first);
	mpi_agree_broadcast(front->link, &front->plan, sizeof(front->plan));
	mpi_agree_broadcast(front->link, first,
	                    (front->plan.k * front->nranks + 1) * sizeof(*first));
	rows_set(front, first);
	free(first);
	if (front->rank)
		return;
	heddle_explain("wavefront %s over ranks: a message takes %.3g us and %.3g us a column; "
	               "every %zu columns one, %u rounds, %.0f us predicted",
	               front->name, problem->cd, problem->cc, front->plan.h, front->plan.k,
	               front->plan.predicted_us);
	for (unsigned r = 0; r < front->nranks; r++)
		heddle_explain("wavefront %s over ranks: rank %u computes %zu rows%s", front->name,
		               r, front->rows[r].count, front->rounds > 1 ? " in each" : "");
}

int front_plan(struct front *front)
{
	struct mpi_wave_power own, *powers = calloc(2 * front->nranks, sizeof(*powers));
	struct mpi_wave_power *pooled = powers + front->nranks;
	struct mpi_wave_problem problem = {.rows = front->wave.rows,
	                                   .columns = front->wave.columns,
	                                   .sweeps = front->wave.sweeps,
	                                   .skew = front->shape.skew,
	                                   .minimum = front->shape.minimum,
	                                   .h = front->wave.tile_columns,
	                                   .k = front->wave.bands_per_worker,
	                                   .nranks = front->nranks,
	                                   .powers = pooled};
	double byte = 0;
	int status;

	if (!powers)
		mpi_link_abort(front->link, "no memory for %u ranks", front->nranks);
	status = mpi_all(front->link, "wavefront", front->name, power_find(front, false, &own));
	if (!status)
		mpi_agree_gather(front->link, &own, powers, sizeof(own));
	if (!status && is_worth_measuring(front, powers)) {
		status =
		    mpi_all(front->link, "wavefront", front->name, powers_measure(front, &own));
		if (!status)
			mpi_agree_gather(front->link, &own, powers, sizeof(own));
	}
	if (!status) {
		mpi_wave_powers_pool(powers, front->nranks, pooled);
		if (front->nranks > 1 && mpi_wave_known(pooled, front->nranks))
			messages_find(front, &own, &problem, &byte);
		deal(front, &problem, byte);
	}
	free(powers);
	return status;
}
