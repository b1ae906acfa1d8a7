/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The ranges of a rank: asked for, fetched, computed as loops, and sent home.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/memory.h>

#include "partition/loop/part.h"
#include "partition/loop/window.h"
#include "partition/mpi/node_private.h"
#include "support/message.h"

/* A rank answers who wants some of what it has left in this part of the time that it needs for
 * that. */
#define LOOKS 8
/* Where ranks ring when they want something, it looks at its own workers alone: when they should be
 * so far that it tells, but no sooner than after this part of the rest, ... */
#define LOOKS_OWN 32
/* ... and before it knows what the rest takes after this time. */
#define FIRST_LOOK_US 500

static unsigned count(const struct node *node, enum range_state state)
{
	unsigned n = 0;

	for (unsigned i = 0; i < NODE_RANGES; i++)
		n += node->ranges[i].state == state;
	return n;
}

static struct node_range *find(struct node *node, enum range_state state)
{
	for (unsigned i = 0; i < NODE_RANGES; i++)
		if (node->ranges[i].state == state)
			return &node->ranges[i];
	return NULL;
}

static void tell_completed(const struct node_range *range, double us, int status)
{
	mpi_link_tell(range->node->link, 0,
	              &(struct mpi_message){.type = NODE_COMPLETED,
	                                    .array = range->edge,
	                                    .rank = range->range.home,
	                                    .first = range->node->steals ? range->parts_out
	                                                                 : range->range.start,
	                                    .n = range->range.n,
	                                    .us = us,
	                                    .status = status});
}

/* What its data took, of the iterations that are left. */
static double came_us(const struct node_range *range)
{
	return (range->arrived_us - range->granted_us) * range->range.n / range->came;
}

static void tell_moved(struct mpi_link *link, size_t n, double us)
{
	mpi_link_tell(link, 0, &(struct mpi_message){.type = NODE_MOVED, .n = n, .us = us});
}

/* ---- parts of arrays ---- */

static struct mpi_units window(const struct node_array *array, struct mpi_range range)
{
	const struct heddle_access *access = &array->access;
	struct loop_cut cut = {.units = array->agreed.units,
	                       .per_iteration = access->per_iteration ? access->per_iteration : 1,
	                       .halo = access->share == HEDDLE_HALO ? access->halo : 0};
	struct loop_window found = loop_window(&cut, range.start, range.n);

	return (struct mpi_units){found.first, found.count};
}

static void copy_free(struct range_part *part)
{
	if (part->copy)
		heddle_free(part->copy, part->room);
	part->copy = NULL;
	part->room = 0;
}

/* Where the part lies: in the rank's own array, or in a copy. */
static int part_place(const struct node_array *array, struct range_part *part)
{
	size_t unit = node_array_unit(array), bytes = part->units.count * unit;

	part->in_place = array->at && mpi_units_within(part->units, array->own);
	if (part->in_place) {
		part->at = node_array_at(array, part->units.first);
		part->pitch = array->pitch;
		return 0;
	}
	if (bytes > part->room) {
		size_t more = part->room + part->room / 2;

		/* What is stolen differs from run to run. */
		bytes = more > bytes && part->room ? more : bytes;
		copy_free(part);
		if (heddle_malloc((void **)&part->copy, bytes))
			return -ENOMEM;
		part->room = bytes;
	}
	part->at = part->copy;
	part->pitch = unit;
	return 0;
}

static char *part_at(const struct range_part *part, size_t first)
{
	return part->at + (first - part->units.first) * part->pitch;
}

static void rows_copy(char *to, size_t to_pitch, const char *from, size_t from_pitch, size_t row,
                      size_t n)
{
	for (size_t i = 0; i < n && (to_pitch != row || from_pitch != row); i++)
		memcpy(to + i * to_pitch, from + i * from_pitch, row);
	if (to_pitch == row && from_pitch == row)
		memcpy(to, from, n * row);
}

static void transfer_ended(void *arg)
{
	struct node_range *range = arg;

	range->under_way--;
}

/* Fetches what the loop reads of a part, from whomever has it. */
static void part_fetch(struct node_range *range, unsigned i)
{
	struct node *node = range->node;
	struct node_array *array = &node->arrays[i];
	struct range_part *part = &range->parts[i];
	size_t unit = node_array_unit(array), most = mpi_rows_most(unit);
	struct mpi_units left = part->units, piece;
	unsigned from;

	while ((piece = mpi_layout_cut(&array->layout, &left, most, &from)).count) {
		char *at = part_at(part, piece.first);

		if (from == node->rank) {
			rows_copy(at, part->pitch, node_array_at(array, piece.first), array->pitch,
			          unit, piece.count);
			continue;
		}
		/* Who has it may be done. */
		if (from != range->giver && node->ending)
			continue;
		mpi_link_receive(node->link, from, MPI_CHANNEL_IN,
		                 &(struct mpi_rows){at, piece.count, unit, part->pitch},
		                 transfer_ended, range);
		if (from != range->giver)
			mpi_link_tell(node->link, from,
			              &(struct mpi_message){.type = NODE_FETCH,
			                                    .array = i,
			                                    .first = piece.first,
			                                    .n = piece.count});
		range->under_way++;
		node->stats.bytes_received += piece.count * unit;
	}
}

/* Sends results to whomever wants them. Where ranks steal that one says when it has them.
 * @param last no others follow */
static void part_send(struct node_range *range, unsigned i, bool last)
{
	struct node *node = range->node;
	struct node_array *array = &node->arrays[i];
	struct range_part *part = &range->parts[i];
	size_t unit = node_array_unit(array), most = mpi_rows_most(unit);
	/* Others may have the rest. */
	struct mpi_units left = window(array, range->range), piece;
	unsigned to;

	while ((piece = mpi_layout_cut(&array->layout, &left, most, &to)).count) {
		char *at = part_at(part, piece.first);

		if (to == node->rank) {
			if (!part->in_place)
				rows_copy(node_array_at(array, piece.first), array->pitch, at,
				          part->pitch, unit, piece.count);
			continue;
		}
		mpi_link_tell_surely(
		    node->link, to,
		    &(struct mpi_message){.type = NODE_RESULT,
		                          .status = last,
		                          .array = i,
		                          .first = piece.first,
		                          .n = piece.count,
		                          .us = came_us(range) * piece.count / part->units.count},
		    transfer_ended, range);
		(node->steals ? mpi_link_send_off : mpi_link_send)(
		    node->link, to, MPI_CHANNEL_OUT,
		    &(struct mpi_rows){at, piece.count, unit, part->pitch}, transfer_ended, range);
		range->under_way += 2;
		range->parts_out++;
		node->stats.bytes_sent += piece.count * unit;
	}
}

/* ---- what others want ---- */

static struct mpi_rows own_rows(struct node *node, const struct mpi_message *message)
{
	struct node_array *array = &node->arrays[message->array];

	if (message->array >= node->narrays || !array->at ||
	    !mpi_units_within((struct mpi_units){message->first, message->n}, array->own))
		mpi_link_abort(node->link, "another rank wants what this one does not have");
	return (struct mpi_rows){node_array_at(array, message->first), message->n,
	                         node_array_unit(array), array->pitch};
}

void node_fetch(struct node *node, unsigned from, const struct mpi_message *message)
{
	struct mpi_rows rows = own_rows(node, message);

	mpi_link_send(node->link, from, MPI_CHANNEL_IN, &rows, NULL, NULL);
	node->stats.bytes_sent += rows.n * rows.row;
}

/* Results that come home. */
struct arrival {
	struct node *node;
	size_t n; /* iterations */
	double us, since_us;
};

static void result_arrived(void *arg)
{
	struct arrival *arrival = arg;

	/* After a failure nobody waits for it: rank 0 may be done, and take it for the next loop's.
	 */
	if (!arrival->node->ending)
		tell_moved(arrival->node->link, arrival->n,
		           arrival->us + starpu_timing_now() - arrival->since_us);
	free(arrival);
}

void node_result(struct node *node, unsigned from, const struct mpi_message *message)
{
	struct mpi_rows rows = own_rows(node, message);
	size_t per = node->arrays[message->array].access.per_iteration;
	struct arrival *arrival = NULL;

	if (node->steals) {
		arrival = malloc(sizeof(*arrival));
		if (!arrival)
			mpi_link_abort(node->link, "no memory for a message");
		*arrival =
		    (struct arrival){node, message->status ? message->n / (per ? per : 1) : 0,
		                     message->us, starpu_timing_now()};
	}
	mpi_link_receive(node->link, from, MPI_CHANNEL_OUT, &rows, arrival ? result_arrived : NULL,
	                 arrival);
	node->stats.bytes_received += rows.n * rows.row;
}

/* Sends what a rank reads for iterations that this one has at home and gives it. */
static void parts_give(struct node *node, unsigned thief, struct mpi_range range)
{
	for (unsigned i = 0; i < node->narrays; i++) {
		struct node_array *array = &node->arrays[i];
		size_t unit = node_array_unit(array), most = mpi_rows_most(unit);
		struct mpi_units left, piece;
		unsigned from;

		if (array->place.layout != HEDDLE_MPI_BLOCKS || !(array->access.mode & STARPU_R))
			continue;
		left = window(array, range);
		while ((piece = mpi_layout_cut(&array->layout, &left, most, &from)).count) {
			struct mpi_rows rows = {node_array_at(array, piece.first), piece.count,
			                        unit, array->pitch};

			if (from != node->rank)
				continue;
			mpi_link_send_off(node->link, thief, MPI_CHANNEL_IN, &rows, NULL, NULL);
			node->stats.bytes_sent += piece.count * unit;
		}
	}
}

/* ---- the life of a range ---- */

/* Another rank has its data. */
static bool is_abroad(const struct node_range *range)
{
	return range->range.home != range->node->rank && range->range.home < range->node->nranks;
}

/* This rank cannot compute it. */
static void range_fail(struct node_range *range, int status)
{
	tell_completed(range, 0, status);
	range->state = RANGE_FREE;
	/* Rank 0 says when no more comes. */
	range->node->status = status;
}

/* Its inputs are on their way. */
static void range_arrive(struct node_range *range)
{
	struct node *node = range->node;
	int status = 0;

	range->state = RANGE_ARRIVING;
	range->granted_us = starpu_timing_now();
	range->told_left = range->came = range->range.n;
	range->rest_us = range->told_us = 0;
	range->parts_out = 0;
	for (unsigned i = 0; !status && i < node->narrays; i++) {
		if (node_array_shared(&node->arrays[i]))
			continue;
		range->parts[i].units = window(&node->arrays[i], range->range);
		status = part_place(&node->arrays[i], &range->parts[i]);
	}
	/* What is on its way must have a place. */
	if (status && range->giver < node->nranks)
		mpi_link_abort(node->link, "no memory for %zu iterations of rank %u",
		               range->range.n, range->giver);
	if (status) {
		range_fail(range, status);
		return;
	}
	for (unsigned i = 0; i < node->narrays; i++)
		if (!node_array_shared(&node->arrays[i]) && !range->parts[i].in_place &&
		    node->arrays[i].access.mode & STARPU_R)
			part_fetch(range, i);
}

/* Iterations at an edge of a rank's home whose windows may reach beyond it. */
static size_t edge_size(const struct node *node)
{
	size_t most = 0;

	for (unsigned i = 0; i < node->narrays; i++) {
		const struct heddle_access *access = &node->arrays[i].access;
		size_t per = access->per_iteration ? access->per_iteration : 1;
		size_t n = access->share == HEDDLE_HALO ? (access->halo + per - 1) / per : 0;

		if (node->arrays[i].place.layout == HEDDLE_MPI_BLOCKS && n > most)
			most = n;
	}
	return most;
}

static void edge_split(struct node_range *range, bool last, size_t n)
{
	struct node_range *edge = find(range->node, RANGE_FREE);

	if (!edge || !n)
		return;
	edge->edge = true;
	edge->shrinks = edge->own = false;
	edge->giver = range->node->nranks;
	edge->range = (struct mpi_range){range->range.start, n, range->range.home};
	if (last)
		edge->range.start += range->range.n - n;
	else
		range->range.start += n;
	range->range.n -= n;
	range_arrive(edge);
}

/* Windows at the edges of a rank's own range reach what others have. These iterations are ranges of
 * their own, which run beside the others, so that of the rest nothing is copied. */
static void edges_split(struct node_range *range)
{
	size_t end = range->range.start + range->range.n, n = edge_size(range->node);
	size_t alignment = range->node->loop->alignment;

	if (alignment > 1)
		n = (n + alignment - 1) / alignment * alignment;
	if (4 * n > range->range.n)
		return;
	if (range->range.start)
		edge_split(range, false, n);
	if (end < range->node->loop->n)
		edge_split(range, true, n);
}

void node_granted(struct node *node, unsigned from, const struct mpi_message *message)
{
	struct node_range *range = find(node, RANGE_ASKED);

	/* It has failed elsewhere. */
	if (!range)
		range = find(node, RANGE_FREE);
	if (node->steals && !node->ending)
		mpi_link_tell(node->link, 0,
		              &(struct mpi_message){.type = NODE_GIVEN, .n = message->n});
	range->giver = message->array ? from : node->nranks;
	range->range = (struct mpi_range){message->first, message->n, message->rank};
	range->asked_us += message->us;
	range->edge = range->own = false;
	range->shrinks = node->steals;
	range_arrive(range);
}

void node_home_begin(struct node *node)
{
	struct node_range *range = &node->ranges[0];

	if (!node->home.n)
		return;
	range->state = RANGE_ASKED;
	range->range = node->home;
	range->asked_us = starpu_timing_now();
	range->shrinks = range->own = true;
	range->giver = node->nranks;
	if (range->range.home == node->rank)
		edges_split(range);
	range_arrive(range);
}

/* The loop has ended. On one of StarPU's threads. */
static void loop_ended(void *arg)
{
	struct node_range *range = arg;

	range->ended_us = starpu_timing_now();
	starpu_data_release_on_node(range->watched, STARPU_MAIN_RAM);
	__atomic_store_n(&range->ended, true, __ATOMIC_RELEASE);
	mpi_link_wake(range->node->link);
}

/* The range's loop begins as soon as that of the range before has ended. This thread wakes up
 * later, and workers do not wait for it. To StarPU a task that does nothing comes between both. */
static int range_chain(struct node_range *range)
{
	static struct starpu_codelet between = {.name = "heddle_range",
	                                        .where = STARPU_NOWHERE,
	                                        .nbuffers = 2,
	                                        .modes = {STARPU_RW, STARPU_RW},
	                                        .specific_nodes = 1,
	                                        .nodes = {STARPU_MAIN_RAM, STARPU_MAIN_RAM}};
	struct node_range *before = NULL;
	struct starpu_task *task;

	for (unsigned i = 0; i < NODE_RANGES && !range->edge; i++)
		if (range->node->ranges[i].state == RANGE_RUNNING && !range->node->ranges[i].edge)
			before = &range->node->ranges[i];
	range->before = before;
	/* One handle of both keeps their order. */
	if (!before || before->watched == range->watched)
		return 0;
	task = starpu_task_create();
	task->cl = &between;
	task->handles[0] = before->watched;
	task->handles[1] = range->watched;
	return starpu_task_submit(task);
}

static void handles_unregister(struct node_range *range)
{
	for (unsigned i = 0; i < range->node->narrays; i++)
		if (range->parts[i].handle) {
			starpu_data_unregister(range->parts[i].handle);
			range->parts[i].handle = NULL;
		}
}

/* The loop that computes the range. Its end is seen by who wants an array that it uses. */
static int range_submit(struct node_range *range)
{
	struct node *node = range->node;
	struct heddle_loop loop = *node->loop;
	int status;

	loop.first = range->range.start;
	loop.n = range->range.n;
	loop.total = node->loop->n;
	loop.late = 0; /* nobody looks after it */
	range->watched = NULL;
	for (unsigned i = 0; i < node->narrays; i++) {
		struct node_array *array = &node->arrays[i];
		struct range_part *part = &range->parts[i];

		if (!node_array_shared(array))
			node_array_register(array, part->at, part->pitch, part->units.count,
			                    &part->handle);
		loop.accesses[i].handle = array->handle ? array->handle : part->handle;
		if (!range->watched || array->access.mode & STARPU_W)
			range->watched = loop.accesses[i].handle;
	}
	range->ended = false;
	status = range_chain(range);
	if (!status)
		status = range->shrinks
		             ? loop_part_submit(&loop,
		                                &(struct loop_part){range->own, node->begin_us,
		                                                    node->memory->run_us},
		                                &range->request)
		             : heddle_loop_submit(&loop, &range->request);
	if (status)
		handles_unregister(range);
	return status;
}

static void range_start(struct node_range *range)
{
	int status = range_submit(range);

	if (status) {
		range_fail(range, status);
		return;
	}
	range->state = RANGE_RUNNING;
	starpu_data_acquire_on_node_cb(range->watched, STARPU_MAIN_RAM, STARPU_RW, loop_ended,
	                               range);
}

/* What the workers did in all ranges. */
static void stats_add(struct heddle_loop_stats *sums, const struct heddle_loop_stats *stats,
                      double since_us)
{
	unsigned s;

	memcpy(sums->strategy, stats->strategy, sizeof(sums->strategy));
	sums->clock = stats->clock;
	sums->learning_us += stats->learning_us;
	sums->overhead_us += stats->overhead_us;
	sums->blocks += stats->blocks;
	sums->retried += stats->retried;
	sums->late += stats->late;
	for (unsigned w = 0; w < stats->nworkers; w++) {
		const struct heddle_worker_stats *worker = &stats->workers[w];

		for (s = 0; s < sums->nworkers && sums->workers[s].id != worker->id; s++)
			;
		if (s == sums->nworkers) {
			sums->workers[sums->nworkers++] = *worker;
		} else {
			sums->workers[s].iterations += worker->iterations;
			sums->workers[s].blocks += worker->blocks;
			sums->workers[s].busy_us += worker->busy_us;
			sums->workers[s].rate = worker->rate;
		}
		if (worker->finish_us > 0)
			sums->workers[s].finish_us = since_us + worker->finish_us;
	}
}

/* How long its data kept the workers waiting. */
static double waited_us(const struct node_range *range)
{
	double since = range->granted_us;

	if (range->node->ran_us > since)
		since = range->node->ran_us;
	return range->arrived_us > since ? range->arrived_us - since : 0;
}

/* What the strategy is told. At home a rank does not wait for data, unless others keep it waiting,
 * which does not make it slow. The wait for a range is about the same whatever its size, so its
 * mean counts: by noise of it small ranges would tell any rate. */
static double range_us(const struct node_range *range, double us, double computed_us)
{
	struct node *node = range->node;

	if (range->range.home != node->rank)
		return us;
	node->gaps_us += us - waited_us(range) - computed_us;
	return computed_us + node->gaps_us / ++node->gaps;
}

static void range_account(struct node_range *range, const struct heddle_loop_stats *stats)
{
	struct node *node = range->node;
	double now = range->ended_us;
	double since = range->asked_us > node->ran_us ? range->asked_us : node->ran_us;

	stats_add(node->sums, stats, now - stats->us - node->begin_us);
	node->stats.iterations += range->range.n;
	node->stats.ranges++;
	if (range->edge) {
		tell_completed(range, 0, 0);
		return;
	}
	node->stats.busy_us += stats->us;
	node->stats.finish_us = now - node->begin_us;
	node->stats.rate = range->range.n / (now - since);
	tell_completed(range, range_us(range, now - since, stats->us), 0);
	node->ran_us = now;
}

static bool leaves(const struct node_array *array)
{
	return !node_array_shared(array) && array->access.mode & STARPU_W;
}

static void results_send(struct node_range *range)
{
	struct node *node = range->node;
	unsigned last = 0;

	for (unsigned i = 0; i < node->narrays; i++)
		if (leaves(&node->arrays[i]))
			last = i;
	for (unsigned i = 0; i < node->narrays; i++)
		if (leaves(&node->arrays[i]))
			part_send(range, i, i == last);
	if (!node->steals || !is_abroad(range) || range->parts_out)
		return;
	/* Nobody hears of its end but rank 0. */
	tell_moved(node->link, range->range.n, came_us(range));
	range->parts_out = 1;
}

static void range_finish(struct node_range *range)
{
	struct heddle_loop_stats *stats = &range->node->sums[1];
	int status = heddle_loop_wait(range->request, stats);

	handles_unregister(range);
	if (status) {
		range_fail(range, status);
		return;
	}
	range->state = RANGE_LEAVING;
	results_send(range);
	range_account(range, stats);
}

/* ---- others steal from it ---- */

/* What an answer takes, before there was one: so many times what rank 0 took to hear of the rank
 * and to say so, and this if that is not known. */
#define REPLIES 2
#define ANSWER_US 1000
/* It is asked for so many times what the last one took before it is needed. */
#define ANSWERS 1.5

static double answer_us(const struct node *node)
{
	if (node->memory->answer_us > 0)
		return ANSWERS * node->memory->answer_us;
	return fmax(ANSWER_US, ANSWERS * REPLIES * node->reply_us);
}

/* What is left when it takes no longer is not told: nobody would get some of it. */
#define TOLD_US 100
/* A slow rank is known as one before it has done a quarter: it tells after this time, and each time
 * that it has computed for so many times as long. */
#define TOLD_FIRST_US 1000
#define TOLD_TIMES 2

/* How far it is. Before a block is done its pace is 0.
 * @return false: it has not begun, or has ended */
static bool range_progress(struct node_range *range, struct mpi_progress *progress)
{
	struct loop_progress of;

	if (range->state != RANGE_RUNNING || range->before ||
	    __atomic_load_n(&range->ended, __ATOMIC_ACQUIRE))
		return false;
	if (!loop_part_progress(range->request, &of) || of.left >= range->range.n)
		return false;
	progress->left = of.left;
	progress->pace = of.us / (range->range.n - of.left);
	return true;
}

static void told(void *arg)
{
	struct node *node = arg;

	node->reply_us = starpu_timing_now() - node->told_us;
}

/* What its workers have taken for what is done. */
static double taken_us(const struct node_range *range, const struct mpi_progress *progress)
{
	return (range->range.n - progress->left) * progress->pace;
}

static void progress_tell(struct node_range *range, const struct mpi_progress *progress)
{
	struct node *node = range->node;
	const struct mpi_message message = {
	    .type = NODE_PROGRESS, .n = progress->left, .us = progress->pace};

	range->told_left = progress->left;
	range->told_us = taken_us(range, progress);
	if (!node->rank || node->told_us > 0 || node->memory->answer_us > 0) {
		mpi_link_tell_later(node->link, 0, &message);
		return;
	}
	node->told_us = starpu_timing_now();
	mpi_link_tell_surely(node->link, 0, &message, told, node);
}

/* When there is something to tell of it, or the next range to be asked for. */
static double progress_due_us(const struct node_range *range, const struct mpi_progress *progress)
{
	double asks = range->rest_us - answer_us(range->node);
	double tells = (progress->left - MPI_STEALS_TOLD * range->told_left) * progress->pace;
	double again = fmax(TOLD_FIRST_US, TOLD_TIMES * range->told_us) - taken_us(range, progress);
	double due = range->rest_us > TOLD_US ? fmin(tells, again) : HUGE_VAL;

	if (asks > 0)
		due = fmin(due, asks);
	return fmax(due, range->rest_us / LOOKS_OWN);
}

static void progress_look(struct node_range *range)
{
	struct mpi_progress progress;

	if (!range_progress(range, &progress) || progress.pace <= 0)
		return;
	range->rest_us = progress.left * progress.pace;
	if (range->rest_us > TOLD_US &&
	    (progress.left <= MPI_STEALS_TOLD * range->told_left ||
	     taken_us(range, &progress) > fmax(TOLD_FIRST_US, TOLD_TIMES * range->told_us)))
		progress_tell(range, &progress);
	range->due_us = progress_due_us(range, &progress);
}

/* What nobody has begun, from the end on. Of fewer iterations than rank 0 thinks are left, fewer.
 */
static struct mpi_range give_up(struct node *node, const struct mpi_message *message)
{
	size_t alignment = node->loop->alignment ? node->loop->alignment : 1, n = message->n;
	struct mpi_progress progress;

	for (unsigned i = 0; i < NODE_RANGES; i++) {
		struct node_range *range = &node->ranges[i];

		if (!range->shrinks || !range_progress(range, &progress))
			continue;
		if (progress.left < message->first)
			n = (double)n * progress.left / message->first;
		n = loop_part_shorten(range->request, n - n % alignment);
		range->range.n -= n;
		progress.left -= n < progress.left ? n : progress.left;
		progress_tell(range, &progress);
		return (struct mpi_range){range->range.start + range->range.n, n,
		                          range->range.home};
	}
	return (struct mpi_range){0};
}

void node_give_up(struct node *node, const struct mpi_message *message)
{
	struct mpi_range range = {0};

	if (!node->status && !node->ending)
		range = give_up(node, message);
	if (!range.n) {
		mpi_link_tell(node->link, 0,
		              &(struct mpi_message){.type = NODE_KEPT, .rank = message->rank});
		return;
	}
	/* This rank is not done before the thief has it. */
	mpi_link_tell_surely(node->link, message->rank,
	                     &(struct mpi_message){.type = NODE_GRANT,
	                                           .array = range.home == node->rank,
	                                           .rank = range.home,
	                                           .first = range.start,
	                                           .n = range.n,
	                                           .us = message->us},
	                     NULL, NULL);
	if (range.home == node->rank)
		parts_give(node, message->rank, range);
}

/* ---- one step ---- */

/* What a range can do of itself. */
static bool range_step(struct node_range *range)
{
	struct node *node = range->node;

	switch (range->state) {
	case RANGE_ARRIVING:
		if (range->under_way)
			return false;
		range->arrived_us = starpu_timing_now();
		if (is_abroad(range))
			node->memory->answer_us = range->arrived_us - range->asked_us;
		/* After a failure elsewhere it would be computed for nothing. */
		if (node->ending)
			range->state = RANGE_FREE;
		else
			range_start(range);
		return true;
	case RANGE_RUNNING:
		if (node->steals && !range->edge)
			progress_look(range);
		if (range->before || !__atomic_load_n(&range->ended, __ATOMIC_ACQUIRE))
			return false;
		range_finish(range);
		for (unsigned i = 0; i < NODE_RANGES; i++)
			if (node->ranges[i].before == range)
				node->ranges[i].before = NULL;
		return true;
	case RANGE_LEAVING:
		if (range->under_way)
			return false;
		if (is_abroad(range) && !node->steals)
			tell_moved(node->link, range->range.n,
			           came_us(range) + starpu_timing_now() - range->ended_us);
		range->state = RANGE_FREE;
		return true;
	default:
		return false;
	}
}

/* Whether its workers will soon be done, so that the next range should be on its way. */
static bool ends_soon(const struct node *node)
{
	for (unsigned i = 0; i < NODE_RANGES; i++)
		if (node->ranges[i].state == RANGE_RUNNING &&
		    !(node->ranges[i].rest_us > 0 && node->ranges[i].rest_us < answer_us(node)))
			return false;
	return true;
}

/* The next range is asked for when the one before begins, so that its data arrives meanwhile and
 * its loop waits for the end of the one before. Where ranks steal it is when the one before is
 * nearly done. */
static bool ask(struct node *node)
{
	struct node_range *range = find(node, RANGE_FREE);
	struct mpi_progress progress;

	if (node->ending || node->status || !range || count(node, RANGE_ASKED) ||
	    count(node, RANGE_ARRIVING) || count(node, RANGE_RUNNING) > 1 ||
	    (node->steals && !node->early && !ends_soon(node)))
		return false;
	node->early = false;
	for (unsigned i = 0; node->steals && i < NODE_RANGES; i++)
		if (!node->ranges[i].edge && range_progress(&node->ranges[i], &progress))
			progress_tell(&node->ranges[i], &progress);
	range->state = RANGE_ASKED;
	range->asked_us = starpu_timing_now();
	mpi_link_tell(node->link, 0, &(struct mpi_message){.type = NODE_ASK});
	return true;
}

static bool say_bye(struct node *node)
{
	if (!node->ending || node->bye || count(node, RANGE_FREE) < NODE_RANGES ||
	    mpi_link_under_way(node->link))
		return false;
	node->bye = true;
	if (!node->rank) {
		node_share_bye(node);
		return true;
	}
	if (!node->quiet)
		mpi_link_tell(node->link, 0, &(struct mpi_message){.type = NODE_BYE});
	node->done = node->settled;
	return true;
}

void node_ended(struct node *node, const struct mpi_message *message)
{
	struct node_range *range = find(node, RANGE_ASKED);

	if (range)
		range->state = RANGE_FREE;
	node->ending = true;
	node->settled = message->array;
	node->quiet = message->n;
}

bool node_step(struct node *node)
{
	bool acted = false;

	for (unsigned i = 0; i < NODE_RANGES; i++)
		acted |= range_step(&node->ranges[i]);
	acted |= ask(node);
	return say_bye(node) || acted;
}

bool node_computes(const struct node *node)
{
	return count(node, RANGE_RUNNING);
}

double node_look_us(const struct node *node)
{
	double us = HUGE_VAL, now = starpu_timing_now();
	bool rung = mpi_link_is_rung(node->link);

	for (unsigned i = 0; i < NODE_RANGES; i++) {
		const struct node_range *range = &node->ranges[i];

		if (range->state != RANGE_RUNNING || range->edge)
			continue;
		if (range->rest_us > 0)
			us = fmin(us, rung ? range->due_us : range->rest_us / LOOKS);
		else if (rung && node->steals)
			us = fmin(us, fmax(FIRST_LOOK_US, (now - range->arrived_us) / LOOKS_OWN));
	}
	return us;
}

/* ---- copies ---- */

/* So many bytes of copies stay for the next loop on the communicator: where there are GPUs, memory
 * takes longer to get and to give back than many ranges to compute. */
#define ROOM_MOST ((size_t)64 << 20)

struct room {
	struct range_part parts[NODE_RANGES][MPI_MAXARRAYS];
};

static void room_free(void *of)
{
	struct room *room = of;

	for (unsigned r = 0; r < NODE_RANGES; r++)
		for (unsigned i = 0; i < MPI_MAXARRAYS; i++)
			copy_free(&room->parts[r][i]);
	free(room);
}

void node_ranges_begin(struct node *node)
{
	void **room = mpi_link_room(node->link, room_free);

	if (!*room)
		*room = calloc(1, sizeof(struct room));
	for (unsigned r = 0; *room && r < NODE_RANGES; r++) {
		struct range_part *parts = ((struct room *)*room)->parts[r];

		memcpy(node->ranges[r].parts, parts, sizeof(node->ranges[r].parts));
		memset(parts, 0, sizeof(node->ranges[r].parts));
	}
}

void node_ranges_finish(struct node *node)
{
	struct room *room = *mpi_link_room(node->link, room_free);
	size_t kept = 0;

	for (unsigned r = 0; r < NODE_RANGES; r++)
		for (unsigned i = 0; i < MPI_MAXARRAYS; i++) {
			struct range_part *part = &node->ranges[r].parts[i];

			if (!room || part->room > ROOM_MOST - kept) {
				copy_free(part);
				continue;
			}
			kept += part->room;
			room->parts[r][i] =
			    (struct range_part){.copy = part->copy, .room = part->room};
		}
}
