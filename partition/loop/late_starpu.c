/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Accelerators that are late. Their blocks are computed again, in pieces, by workers that are idle.
 * The pieces' outputs lie apart until all are complete: until then the first attempt may still come
 * first, and its outputs count as a whole. An attempt that is not wanted any more is dropped: what
 * it leaves on its device is never sent back, and the loop may end, and be freed, before it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "late.h"
#include "loop_private.h"
#include "support/message.h"
#include "support/starpu_compat.h"

/* Blocks of workers that loops have ended without. */
static unsigned lost[STARPU_NMAXWORKERS];

bool loop_worker_is_lost(int id)
{
	return __atomic_load_n(&lost[id], __ATOMIC_ACQUIRE);
}

/* ---- blocks that may become late ---- */

/* Whether the loop can end while a worker computes. What that writes lies in other memory. Its
 * thread is not in a kernel meanwhile: it sends home what blocks before have written. */
static bool worker_is_apart(const struct heddle_loop_request *loop,
                            const struct loop_worker *worker)
{
	const struct starpu_codelet *codelet = loop->loop.codelet;
	enum starpu_worker_archtype type = starpu_worker_get_type(worker->stats.id);
	unsigned implementation = worker->implementation;

	if (starpu_worker_get_memory_node(worker->stats.id) == STARPU_MAIN_RAM)
		return false;
	switch (type) {
	case STARPU_CUDA_WORKER:
		return codelet->cuda_flags[implementation] & STARPU_CUDA_ASYNC;
	case STARPU_OPENCL_WORKER:
		return codelet->opencl_flags[implementation] & STARPU_OPENCL_ASYNC;
	default:
		return heddle_compat_is_hip(type) &&
		       heddle_compat_is_hip_async(codelet, implementation);
	}
}

/* Mutex held; 0: not known. */
static double block_predict(const struct loop_block *block)
{
	double rate = heddle_strategy_rate(block->loop->blocks, block->worker->index);

	return rate > 0 ? block->given.n / rate : 0;
}

void loop_late_given(struct loop_block *block)
{
	struct loop_block **last = &block->worker->running_first;

	if (!block->loop->late_us || !worker_is_apart(block->loop, block->worker))
		return;
	while (*last)
		last = &(*last)->running_next;
	block->running_next = NULL;
	block->predicted_us = block_predict(block);
	*last = block;
}

void loop_late_ended(struct loop_block *block)
{
	struct loop_block **at = &block->worker->running_first;

	while (*at && *at != block)
		at = &(*at)->running_next;
	if (*at)
		*at = block->running_next;
}

/* ---- an attempt is dropped ---- */

/* Mutex held, by a thread with a reference: the loop goes on as if the block had not been given. */
static void block_drop(struct loop_block *block, double now)
{
	struct heddle_loop_request *loop = block->loop;

	loop_late_ended(block);
	__atomic_store_n(&block->dropped, true, __ATOMIC_RELEASE);
	block->worker->in_flight--;
	loop_worker_ends(block->worker, now);
	__atomic_add_fetch(&lost[block->worker->stats.id], 1, __ATOMIC_ACQ_REL);
	loop->under_way--;
	loop->references--;
	loop->ndropped++;
}

/* Whether the loop is to be freed. Mutex held. */
static bool loop_is_free(const struct heddle_loop_request *loop)
{
	return loop->left && !loop->ndropped;
}

void loop_leave(void *work)
{
	struct heddle_loop_request *loop = work;
	bool last;

	loop_lock(loop);
	loop->left = true;
	last = loop_is_free(loop);
	loop_unlock(loop);
	if (last)
		loop_free(loop);
}

/* On the worker that had the last block: StarPU still names its task in a trace. So the loop
 * itself is freed after the worker's next one. */
static void loop_free_later(struct heddle_loop_request *loop, int worker)
{
	static struct heddle_loop_request *over[STARPU_NMAXWORKERS];
	struct heddle_loop_request *before = over[worker];

	loop_late_fini(loop);
	over[worker] = loop;
	if (before)
		loop_free(before);
}

/* Mutex held, and released: the task of a dropped block has ended. */
static void dropped_ends(struct loop_block *block)
{
	struct heddle_loop_request *loop = block->loop;
	int id = block->worker->stats.id;
	bool last;

	__atomic_sub_fetch(&lost[id], 1, __ATOMIC_ACQ_REL);
	loop->ndropped--;
	/* Who has dropped it may still look at it. */
	block->next = loop->over;
	loop->over = block;
	last = loop_is_free(loop);
	loop_unlock(loop);
	if (last)
		loop_free_later(loop, id);
}

/* ---- a late block ---- */

/* How far an array's rows are from each other, and its elements. */
static size_t array_pitch(const struct work_array *array)
{
	return array->ld * array->elemsize;
}

/* What pieces write. In a simulation nobody touches the arrays. */
static bool again_allocate(struct heddle_loop_request *loop, struct loop_again *again)
{
	for (unsigned i = 0; !HEDDLE_SIMULATED && i < loop->loop.naccesses; i++) {
		const struct loop_view *view = &loop->views[i];
		size_t count = loop_view_window(view, again->range.start, again->range.n).count;

		if (!(view->access.mode & STARPU_W) || view->access.share == HEDDLE_REDUCE)
			continue;
		again->copies[i] = malloc(count ? count * array_pitch(&view->array) : 1);
		if (!again->copies[i])
			return false;
	}
	return true;
}

static void again_free(struct heddle_loop_request *loop, struct loop_again *again)
{
	for (unsigned i = 0; i < loop->loop.naccesses; i++)
		free(again->copies[i]);
	while (again->done) {
		struct loop_block *piece = again->done;

		again->done = piece->next;
		loop_block_free(piece);
	}
	loop_ranges_fini(&again->left);
	free(again);
}

void loop_late_fini(struct heddle_loop_request *loop)
{
	const struct work_arrays arrays = loop_arrays(loop);

	if (loop->sends)
		work_arrays_unpin(&arrays);
	loop->sends = false;
	while (loop->over) {
		struct loop_block *block = loop->over;

		loop->over = block->next;
		loop_block_free(block);
	}
	while (loop->again) {
		struct loop_again *again = loop->again;

		loop->again = again->next;
		again_free(loop, again);
	}
}

/* If all pieces were as small as they may be, each worker had so many. */
#define PIECES 32

/* Mutex held: others may compute a block again. Without memory for that it is waited for. */
static void block_lend(struct loop_block *block)
{
	struct heddle_loop_request *loop = block->loop;
	struct loop_again *again = calloc(1, sizeof(*again));
	size_t unit = loop->loop.alignment ? loop->loop.alignment : 1;

	if (!again)
		return;
	again->block = block;
	again->range = block->range;
	again->missing = block->range.n;
	again->unit = (block->range.n / (PIECES * loop->nworkers) / unit + 1) * unit;
	loop_ranges_init(&again->left, block->range.n);
	if (!again_allocate(loop, again)) {
		again_free(loop, again);
		return;
	}
	block->again = again;
	again->next = loop->again;
	loop->again = again;
	loop->nlate++;
	heddle_warn("loop %s: %s is late with iterations %zu to %zu: others compute them again",
	            loop->name, block->worker->stats.name, block->given.start,
	            block->given.start + block->given.n - 1);
}

/* Mutex held: a piece is late, too. It is dropped at once, since others can compute it. */
static struct loop_block *piece_take_back(struct loop_block *piece, double now,
                                          struct loop_block *list)
{
	(void)loop_late_piece_back(piece);
	block_drop(piece, now);
	piece->running_next = list;
	return piece;
}

/* Mutex held: none of the worker's blocks is waited for.
 * @return those that are dropped, as a list before `list` */
static struct loop_block *worker_give_up(struct loop_worker *worker, double now,
                                         struct loop_block *list)
{
	struct loop_block *block = worker->running_first, *next;

	loop_worker_retire(block->loop, worker);
	for (; block; block = next) {
		next = block->running_next;
		if (block->piece_of)
			list = piece_take_back(block, now, list);
		else if (!block->again)
			block_lend(block);
	}
	return list;
}

/* Mutex held: whether a worker's first block is late for workers that have nothing to do, and not
 * all of its blocks are computed again yet. */
static bool worker_is_late(const struct heddle_loop_request *loop, unsigned l, double idle_rate,
                           double now)
{
	const struct loop_worker *worker = &loop->workers[l];
	const struct loop_block *first = worker->running_first;
	double since, n = 0;
	bool lent = true;

	for (const struct loop_block *block = first; block; block = block->running_next) {
		lent = lent && block->again;
		n += block->given.n;
	}
	if (lent || worker->starting)
		return false;
	since = first->submit_us > worker->last_done_us ? first->submit_us : worker->last_done_us;
	/* A block before it may have told meanwhile that the worker has become slow. */
	return loop_late_is(now - since,
	                    first->predicted_us > 0 ? first->predicted_us : block_predict(first),
	                    idle_rate > 0 ? n / idle_rate : 0, loop->late_us);
}

/* Mutex held: gives up workers that are late while others have nothing to do.
 * @return blocks that are dropped */
static struct loop_block *workers_give_up(struct heddle_loop_request *loop, double now)
{
	bool late[STARPU_NMAXWORKERS] = {false}, all = true;
	unsigned nidle = 0, nlate = 0;
	struct loop_block *dropped = NULL;
	double rate = 0;

	for (unsigned l = 0; l < loop->nworkers; l++)
		if (!loop->workers[l].retired && !loop->workers[l].unfinished) {
			rate += heddle_strategy_rate(loop->blocks, l);
			nidle++;
		}
	for (unsigned l = 0; nidle && l < loop->nworkers; l++) {
		late[l] = worker_is_late(loop, l, rate, now);
		nlate += late[l];
		all = all && (late[l] || !loop->workers[l].unfinished);
	}
	/* While there is more to do, a worker is not given up for a pause. */
	if (!nlate || (!all && loop_ranges_remaining(&loop->ranges)))
		return NULL;
	for (unsigned l = 0; l < loop->nworkers; l++)
		if (late[l])
			dropped = worker_give_up(&loop->workers[l], now, dropped);
	if (loop_ranges_remaining(&loop->ranges))
		loop_workers_want(loop);
	return dropped;
}

static void loop_look(struct heddle_loop_request *loop)
{
	struct loop_block *dropped = NULL, *next;
	bool ended;

	loop_lock(loop);
	ended = !loop->references;
	if (!ended) {
		loop->references++;
		if (!loop->status)
			dropped = workers_give_up(loop, starpu_timing_now());
	}
	loop_unlock(loop);
	if (ended)
		return;
	for (; dropped; dropped = next) {
		next = dropped->running_next;
		loop_block_unregister_all(dropped);
	}
	if (loop->again)
		loop_workers_fill(loop);
	loop_release(loop);
}

/* So often late blocks are looked for in the time by which one must be overdue; but at most every
 * millisecond. */
#define LOOKS 4
#define LEAST_LOOK_US 1e3

void loop_late_watch(struct heddle_loop_request *loop)
{
	double us = loop->late_us / LOOKS;

	while (loop->late_us &&
	       !control_wait_for(&loop->control, us > LEAST_LOOK_US ? us : LEAST_LOOK_US))
		loop_look(loop);
}

/* ---- pieces ---- */

/* Mutex held: iterations of a worker's next piece. */
static size_t piece_size(const struct heddle_loop_request *loop, const struct loop_worker *worker,
                         const struct loop_again *again)
{
	size_t left = loop_ranges_remaining(&again->left), n;
	unsigned known = 0, workers = 0;
	double sum = 0;

	for (unsigned l = 0; l < loop->nworkers; l++) {
		double rate = heddle_strategy_rate(loop->blocks, l);

		if (loop->workers[l].retired)
			continue;
		sum += rate;
		known += rate > 0;
		workers++;
	}
	n = loop_late_piece(left, heddle_strategy_rate(loop->blocks, worker->index), sum, known,
	                    workers, again->unit);
	if (worker->maximum && n > worker->maximum)
		n = worker->maximum;
	return loop_worker_room(loop, worker, again->range.start + loop_ranges_first(&again->left),
	                        n);
}

struct loop_block *loop_late_piece_give(struct heddle_loop_request *loop,
                                        struct loop_worker *worker, double now)
{
	struct loop_again *again = loop->again;
	struct loop_block *block;
	struct loop_range range;

	while (again && (again->settled || !loop_ranges_remaining(&again->left)))
		again = again->next;
	if (!again || worker->unfinished)
		return NULL;
	range = loop_ranges_take(&again->left, piece_size(loop, worker, again));
	if (!range.n)
		return NULL;
	block = loop_block_get(loop);
	if (!block) {
		/* Takes no memory: it has been handed out before. */
		(void)loop_ranges_return(&again->left, range);
		return NULL;
	}
	range.start += again->range.start;
	loop_block_prepare(block, range, now);
	block->piece_of = again;
	block->phase = HEDDLE_PHASE_COMPLETION;
	block->isolated = true;
	loop_worker_begins(worker, block, now);
	loop_late_given(block);
	return block;
}

/* Copies units of an array. */
static void units_copy(const struct work_array *array, void *to, const void *from, size_t units)
{
	size_t pitch = array_pitch(array), bytes = work_array_unit(array);

	if (bytes == pitch) {
		memcpy(to, from, units * bytes);
		return;
	}
	for (size_t u = 0; u < units; u++)
		memcpy((char *)to + u * pitch, (const char *)from + u * pitch, bytes);
}

void loop_late_piece_begins(struct loop_block *piece)
{
	for (unsigned i = 0; piece->piece_of && i < piece->loop->loop.naccesses; i++) {
		const struct loop_view *view = &piece->loop->views[i];
		struct loop_window window = loop_block_window(piece, i);

		if (piece->piece_of->copies[i] && view->access.mode == STARPU_RW && window.count)
			units_copy(&view->array, loop_block_apart(piece, i),
			           (const void *)work_array_at(&view->array, window.first),
			           window.count);
	}
}

/* Mutex held: neither attempt has computed the block. */
static void again_fails(struct heddle_loop_request *loop, const struct loop_again *again)
{
	if (loop->status)
		return;
	loop->status = again->status;
	heddle_refuse(loop->status,
	              "loop %s: iterations %zu to %zu have failed (%s), and no worker can compute "
	              "them again",
	              loop->name, loop->loop.first + again->range.start,
	              loop->loop.first + again->range.start + again->range.n - 1,
	              strerror(-loop->status));
	control_say(&loop->control);
}

void loop_late_ends(struct heddle_loop_request *loop)
{
	if (loop->under_way)
		return;
	for (const struct loop_again *again = loop->again; again; again = again->next)
		if (!again->settled && again->status)
			again_fails(loop, again);
}

bool loop_late_piece_back(struct loop_block *piece)
{
	struct heddle_loop_request *loop = piece->loop;
	struct loop_again *again = piece->piece_of;
	struct loop_range range = piece->range;
	bool left = false;

	range.start -= again->range.start;
	for (unsigned l = 0; l < loop->nworkers; l++)
		left = left || !loop->workers[l].retired;
	if (!left || loop_ranges_return(&again->left, range))
		again->given_up = true;
	loop_workers_want(loop);
	if (!again->given_up || !again->status || again->settled)
		return true;
	again_fails(loop, again);
	return false;
}

bool loop_late_unwanted(const struct loop_block *block)
{
	return __atomic_load_n(&block->dropped, __ATOMIC_ACQUIRE) ||
	       (block->piece_of && __atomic_load_n(&block->piece_of->settled, __ATOMIC_ACQUIRE));
}

/* All pieces are complete: their outputs are the loop's. */
static void again_take(struct heddle_loop_request *loop, struct loop_again *again)
{
	double finish_us;

	for (unsigned i = 0; i < loop->loop.naccesses; i++) {
		const struct loop_view *view = &loop->views[i];
		struct loop_window window =
		    loop_view_window(view, again->range.start, again->range.n);

		if (again->copies[i] && window.count)
			units_copy(&view->array, (void *)work_array_at(&view->array, window.first),
			           again->copies[i], window.count);
	}
	for (struct loop_block *piece = again->done; piece; piece = piece->next)
		loop_block_combine(piece);
	finish_us = starpu_timing_now() - loop->start_us;
	loop_lock(loop);
	while (again->done) {
		struct loop_block *piece = again->done;

		again->done = piece->next;
		loop_block_book(piece);
		piece->worker->stats.finish_us = finish_us;
		loop_block_spare(piece);
	}
	loop_unlock(loop);
}

/* Mutex held: what became of a piece.
 * @return whether it was the last that was missing */
static bool piece_counts(struct loop_block *piece)
{
	struct heddle_loop_request *loop = piece->loop;
	struct loop_again *again = piece->piece_of;

	if (again->settled) {
		loop_block_spare(piece);
		return false;
	}
	if (piece->given.status) {
		loop_worker_retire(loop, piece->worker);
		loop_block_say_failed(piece, loop_late_piece_back(piece) ? "go to another worker"
		                                                         : "are lost");
		loop_block_spare(piece);
		return false;
	}
	piece->next = again->done;
	again->done = piece;
	again->missing -= piece->given.n;
	return !again->missing;
}

void loop_late_piece_done(struct loop_block *piece, double now)
{
	struct heddle_loop_request *loop = piece->loop;
	struct loop_worker *worker = piece->worker;
	struct loop_again *again = piece->piece_of;
	bool complete, late, failed = piece->given.status;

	loop_lock(loop);
	worker->last_done_us = piece->done_us = now;
	worker->in_flight--;
	loop_late_ended(piece);
	loop_worker_ends(worker, now);
	loop->under_way--;
	complete = piece_counts(piece);
	late = complete && !again->status;
	if (complete)
		__atomic_store_n(&again->settled, true, __ATOMIC_RELEASE);
	if (late)
		block_drop(again->block, now);
	loop_unlock(loop);
	if (late)
		loop_block_unregister_all(again->block);
	if (complete)
		again_take(loop, again);
	if (failed)
		loop_workers_fill(loop);
	else
		loop_worker_fill(loop, worker);
	loop_release(loop);
}

/* Mutex held, and released: the first attempt has failed while others compute again. */
static void first_fails(struct loop_block *block)
{
	struct heddle_loop_request *loop = block->loop;

	block->again->status = block->given.status;
	block->worker->in_flight--;
	loop_worker_ends(block->worker, starpu_timing_now());
	loop->under_way--;
	loop_block_say_failed(block, "are being computed again");
	loop_unlock(loop);
	loop_block_unregister_all(block);
	loop_lock(loop);
	loop_block_spare(block);
	loop_unlock(loop);
	loop_release(loop);
}

/* Mutex held: the first attempt is the first to end. */
static void first_counts(struct loop_again *again)
{
	__atomic_store_n(&again->settled, true, __ATOMIC_RELEASE);
	while (again->done) {
		struct loop_block *piece = again->done;

		again->done = piece->next;
		loop_block_spare(piece);
	}
}

bool loop_late_arrives(struct loop_block *block)
{
	struct heddle_loop_request *loop = block->loop;

	loop_lock(loop);
	if (block->dropped) {
		dropped_ends(block);
		return false;
	}
	loop_late_ended(block);
	if (block->again && block->given.status && !block->again->given_up) {
		first_fails(block);
		return false;
	}
	if (block->again && !block->given.status)
		first_counts(block->again);
	loop_unlock(loop);
	return true;
}
