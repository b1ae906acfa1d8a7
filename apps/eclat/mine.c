/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>
#include <heddle/estimate.h>

#include "support/message.h"
#include "estimator/platform_starpu.h"
#include "codelets/eclat/eclat.h"
#include "apps/common/app.h"
#include "apps/eclat/mine.h"

/* Tasks that StarPU knows at a time, for each worker. What else is found waits on a stack, so that
 * long sets come before many. */
#define UNDER_WAY 16

/* Some rows of a class: a task, before it, while it runs, and after it. */
struct part {
	struct miner *miner;
	struct part *below; /* on the stack */
	struct eclat_class class;
	struct heddle_block block;
	int32_t *items; /* ranks: the prefix, then the members */
	uint32_t *sets; /* by member: the set of the prefix and it */
	uint32_t *counts;
	starpu_data_handle_t items_handle, counts_handle;
	struct starpu_task *task;
	atomic_int pending; /* the task's end, and the counts' arrival */
};

struct miner {
	struct miner_options options;
	const struct frequent *frequent;
	const uint64_t *bits;
	size_t words;
	starpu_data_handle_t bits_handle;
	uint32_t allowed[(STARPU_NMAXWORKERS + 31) / 32];
	starpu_pthread_mutex_t mutex; /* of all that follows */
	starpu_pthread_cond_t end;
	struct sets sets;
	struct part *stack;
	unsigned under_way;
	int error; /* the first one */
	double begin_us;
	struct heddle_loop_stats *stats;
};

/* ---- parts of classes ---- */

static void part_free(struct part *part)
{
	if (!part)
		return;
	free(part->items);
	free(part->sets);
	free(part->counts);
	free(part);
}

/* Rows from `first` on; their members are those from there on.
 * @return NULL: no memory */
static struct part *part_make(struct miner *miner, const struct eclat_class *class,
                              const int32_t *items, const uint32_t *sets, unsigned first,
                              unsigned rows)
{
	struct part *part = calloc(1, sizeof(*part));
	unsigned members = class->members - first;

	if (!part)
		return NULL;
	part->miner = miner;
	part->class = *class;
	part->class.members = members;
	part->class.rows = rows;
	part->items = malloc((class->prefix + members) * sizeof(*items));
	part->sets = malloc(members * sizeof(*sets));
	part->counts = calloc((size_t)rows * members, sizeof(*part->counts));
	if (!part->items || !part->sets || !part->counts) {
		part_free(part);
		return NULL;
	}
	memcpy(part->items, items, class->prefix * sizeof(*items));
	memcpy(part->items + class->prefix, items + class->prefix + first,
	       members * sizeof(*items));
	memcpy(part->sets, sets + first, members * sizeof(*sets));
	return part;
}

static void note_error(struct miner *miner, int error)
{
	if (error && !miner->error)
		miner->error = error;
}

/* Puts a class on the stack, in parts. The mutex is held. */
static void class_push(struct miner *miner, const struct eclat_class *class, const int32_t *items,
                       const uint32_t *sets)
{
	for (unsigned first = 0, rows; first + 1 < class->members; first += rows) {
		struct part *part;

		rows = eclat_rows(class->members - first, miner->options.pairs);
		part = part_make(miner, class, items, sets, first, rows);
		if (!part) {
			note_error(miner, heddle_refuse(-ENOMEM, "no memory for a class"));
			return;
		}
		part->below = miner->stack;
		miner->stack = part;
	}
}

/* ---- what a task has counted ---- */

/* The frequent pairs of a row are sets, and members of the next class. */
static int row_take(struct part *part, unsigned row, int32_t *items, uint32_t *sets)
{
	struct miner *miner = part->miner;
	const uint32_t *counts = part->counts + (size_t)row * part->class.members;
	const int32_t *members = part->items + part->class.prefix;
	struct eclat_class next = {.words = miner->words, .prefix = part->class.prefix + 1};
	int error = 0;

	memcpy(items, part->items, part->class.prefix * sizeof(*items));
	items[part->class.prefix] = members[row];
	for (unsigned m = row + 1; m < part->class.members && !error; m++) {
		if (counts[m] < miner->options.support)
			continue;
		items[next.prefix + next.members] = members[m];
		error = sets_add(&miner->sets, (struct set){part->sets[row], members[m], counts[m]},
		                 &sets[next.members++]);
	}
	/* The sets of this class have prefix + 1 items, those just found one more. */
	if (!error && next.members > 1 &&
	    (!miner->options.longest || next.prefix + 1 < miner->options.longest))
		class_push(miner, &next, items, sets);
	return error;
}

/* The mutex is held. */
static void part_take(struct part *part)
{
	size_t room = part->class.prefix + part->class.members + 1;
	int32_t *items = malloc(room * sizeof(*items));
	uint32_t *sets = malloc(room * sizeof(*sets));
	int error = items && sets ? 0 : heddle_refuse(-ENOMEM, "no memory for a class");

	/* SimGrid's workers compute nothing. */
	if (app_simulated())
		eclat_cpu(codelet_isa_best(), &part->class, part->miner->bits, part->items,
		          part->counts);
	for (unsigned row = 0; row < part->class.rows && !error; row++)
		error = row_take(part, row, items, sets);
	note_error(part->miner, error);
	free(items);
	free(sets);
}

/* ---- tasks ---- */

static void parts_submit(struct miner *miner);

static void part_end(struct part *part, int error)
{
	struct miner *miner = part->miner;

	STARPU_PTHREAD_MUTEX_LOCK(&miner->mutex);
	note_error(miner, error);
	if (!miner->error)
		part_take(part);
	STARPU_PTHREAD_MUTEX_UNLOCK(&miner->mutex);
	parts_submit(miner);
	STARPU_PTHREAD_MUTEX_LOCK(&miner->mutex);
	if (!--miner->under_way)
		STARPU_PTHREAD_COND_SIGNAL(&miner->end);
	STARPU_PTHREAD_MUTEX_UNLOCK(&miner->mutex);
}

static void worker_note(struct part *part)
{
	struct starpu_profiling_task_info *info = part->task->profiling_info;
	struct miner *miner = part->miner;
	struct heddle_worker_stats *worker;
	double begin, end;

	if (!info || info->workerid < 0)
		return;
	/* Its own worker alone writes it. On a device a task may be launched while the one before
	 * it runs. */
	worker = &miner->stats->workers[info->workerid];
	begin = starpu_timing_timespec_to_us(&info->start_time) - miner->begin_us;
	end = starpu_timing_timespec_to_us(&info->end_time) - miner->begin_us;
	worker->busy_us += fmax(0, end - fmax(begin, worker->finish_us));
	worker->finish_us = fmax(worker->finish_us, end);
	worker->iterations += part->block.n;
	worker->blocks++;
}

static void part_step(struct part *part)
{
	if (atomic_fetch_sub(&part->pending, 1) == 1) {
		part_end(part, part->block.status);
		part_free(part);
	}
}

static void task_is_over(void *arg)
{
	worker_note(arg);
	part_step(arg);
}

static void counts_arrived(void *arg)
{
	struct part *part = arg;

	starpu_data_release_on_node(part->counts_handle, STARPU_MAIN_RAM);
	starpu_data_unregister_submit(part->counts_handle);
	starpu_data_unregister_submit(part->items_handle);
	part_step(part);
}

static struct starpu_task *task_make(struct part *part)
{
	const struct heddle_param params[] = {
	    {"pairs", part->block.n, NULL},
	    {"rows", part->class.rows, NULL},
	    {"length", part->class.prefix + 2, NULL},
	    {"words", part->class.words, NULL},
	};
	struct starpu_task *task = starpu_task_create();

	task->cl = &eclat_codelet;
	task->cl_arg = &part->block;
	task->cl_arg_size = sizeof(part->block);
	task->handles[0] = part->miner->bits_handle;
	task->handles[1] = part->items_handle;
	task->handles[2] = part->counts_handle;
	task->callback_func = task_is_over;
	task->callback_arg = part;
	if (part->miner->options.nworkers) {
		task->workerids = part->miner->allowed;
		task->workerids_len = sizeof(part->miner->allowed) / sizeof(*part->miner->allowed);
	}
	heddle_task_params(task, params, sizeof(params) / sizeof(*params));
	return task;
}

static void part_register(struct part *part)
{
	const struct eclat_class *class = &part->class;
	size_t pairs = eclat_pairs(class);

	part->block = (struct heddle_block){.n = pairs, .total = pairs, .arg = class};
	part->items_handle =
	    app_vector(part->items, class->prefix + class->members, sizeof(*part->items));
	part->counts_handle =
	    app_vector(part->counts, (size_t) class->rows * class->members, sizeof(*part->counts));
}

static void part_submit(struct part *part)
{
	int error;

	part_register(part);
	atomic_store(&part->pending, 2);
	part->task = task_make(part);
	error = starpu_task_submit(part->task);
	if (!error) {
		starpu_data_acquire_on_node_cb(part->counts_handle, STARPU_MAIN_RAM, STARPU_R,
		                               counts_arrived, part);
		return;
	}
	part->task->destroy = 0;
	starpu_task_destroy(part->task);
	starpu_data_unregister_submit(part->counts_handle);
	starpu_data_unregister_submit(part->items_handle);
	part_end(part, heddle_refuse(error, "no worker can run a class's task"));
	part_free(part);
}

/* What is on top of the stack, if it may begin. */
static struct part *part_pop(struct miner *miner)
{
	unsigned most = UNDER_WAY * starpu_worker_get_count();
	struct part *part = NULL;

	STARPU_PTHREAD_MUTEX_LOCK(&miner->mutex);
	if (!miner->error && miner->under_way < most)
		part = miner->stack;
	if (part) {
		miner->stack = part->below;
		miner->under_way++;
	}
	STARPU_PTHREAD_MUTEX_UNLOCK(&miner->mutex);
	return part;
}

static void parts_submit(struct miner *miner)
{
	struct part *part;

	while ((part = part_pop(miner)))
		part_submit(part);
}

/* ---- a run ---- */

/* Single items, and the class of all of them. */
static void root_push(struct miner *miner)
{
	unsigned n = miner->frequent->n;
	struct eclat_class class = {.words = miner->words, .members = n};
	int32_t *items = malloc((n + 1) * sizeof(*items));
	uint32_t *sets = malloc((n + 1) * sizeof(*sets));
	int error = items && sets ? 0 : heddle_refuse(-ENOMEM, "no memory for a class");

	for (unsigned rank = 0; rank < n && !error; rank++) {
		items[rank] = rank;
		error = sets_add(&miner->sets,
		                 (struct set){SETS_NONE, rank, miner->frequent->supports[rank]},
		                 &sets[rank]);
	}
	note_error(miner, error);
	if (!error && miner->options.longest != 1)
		class_push(miner, &class, items, sets);
	free(items);
	free(sets);
}

static void stats_begin(struct miner *miner, struct heddle_loop_stats *stats)
{
	*stats =
	    (struct heddle_loop_stats){.strategy = "tasks", .nworkers = starpu_worker_get_count()};
	for (unsigned w = 0; w < stats->nworkers; w++) {
		stats->workers[w].id = w;
		stats->workers[w].kind = heddle_worker_kind(w);
		starpu_worker_get_name(w, stats->workers[w].name, sizeof(stats->workers[w].name));
	}
	miner->stats = stats;
	miner->begin_us = starpu_timing_now();
}

int miner_run(struct miner *miner, struct heddle_loop_stats *stats)
{
	starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
	stats_begin(miner, stats);
	miner->error = 0;
	miner->sets.n = 0;
	root_push(miner);
	parts_submit(miner);
	STARPU_PTHREAD_MUTEX_LOCK(&miner->mutex);
	while (miner->under_way)
		STARPU_PTHREAD_COND_WAIT(&miner->end, &miner->mutex);
	STARPU_PTHREAD_MUTEX_UNLOCK(&miner->mutex);
	stats->us = starpu_timing_now() - miner->begin_us;
	/* All callbacks have run; StarPU may still be tidying up after them. */
	starpu_task_wait_for_all();
	starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
	for (unsigned w = 0; w < stats->nworkers; w++)
		stats->blocks += stats->workers[w].blocks;
	return miner->error;
}

void miner_forget(struct miner *miner)
{
	miner->sets.n = 0;
	/* No device keeps the bits. */
	if (!starpu_data_acquire(miner->bits_handle, STARPU_RW))
		starpu_data_release(miner->bits_handle);
}

const struct sets *miner_sets(const struct miner *miner)
{
	return &miner->sets;
}

int miner_make(const struct miner_options *options, const struct frequent *frequent,
               const uint64_t *bits, size_t words, struct miner **miner)
{
	struct miner *made = calloc(1, sizeof(*made));
	size_t all = frequent->n * words;

	if (!made)
		return heddle_refuse(-ENOMEM, "no memory for the miner");
	made->options = *options;
	made->frequent = frequent;
	made->bits = bits;
	made->words = words;
	for (unsigned i = 0; i < options->nworkers; i++)
		made->allowed[options->workers[i] / 32] |= UINT32_C(1) << options->workers[i] % 32;
	STARPU_PTHREAD_MUTEX_INIT(&made->mutex, NULL);
	STARPU_PTHREAD_COND_INIT(&made->end, NULL);
	made->bits_handle = app_vector(bits, all ? all : 1, sizeof(*bits));
	/* Nobody writes it: then StarPU need not put every task into a queue for it. */
	starpu_data_set_sequential_consistency_flag(made->bits_handle, 0);
	*miner = made;
	return 0;
}

void miner_free(struct miner *miner)
{
	if (!miner)
		return;
	while (miner->stack) {
		struct part *part = miner->stack;

		miner->stack = part->below;
		part_free(part);
	}
	starpu_data_unregister(miner->bits_handle);
	sets_free(&miner->sets);
	STARPU_PTHREAD_COND_DESTROY(&miner->end);
	STARPU_PTHREAD_MUTEX_DESTROY(&miner->mutex);
	free(miner);
}
