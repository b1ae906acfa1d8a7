/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A loop at work: workers are given blocks, blocks run, and what they took tells the
 * strategy how large the next ones are. The last block ends the loop.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "estimator/estimate_starpu.h"
#include "loop_private.h"
#include "partition/blocks/strategy.h"
#include "partition/common/workers_starpu.h"
#include "support/helgrind.h"
#include "support/message.h"
#include "support/variables.h"

/* While a core's time is not known to a policy of StarPU's, so many tasks try it, the first of
 * which only loads the kernel. They are smaller than others by so much: where accelerators are
 * fast, a whole one takes a core longer than the loop takes them. */
#define PROBES 2
#define PROBE 8

static void workers_wake(struct heddle_loop_request *loop);
static void loop_submit_parts(struct heddle_loop_request *loop);
static void host_block_done(void *block);
static void device_block_done(void *block);

/* The loop's time when the clock on the wall shows wall_us. In modelled time nothing
 * changes between the turns of blocks. Mutex held, or in the turn of a block. */
static double loop_time(const struct heddle_loop_request *loop, double wall_us)
{
	return loop->modelled ? loop->now_us : wall_us;
}

static double loop_now(const struct heddle_loop_request *loop)
{
	return loop_time(loop, starpu_timing_now());
}

static bool view_is_output(const struct loop_view *view)
{
	return view->access.mode & STARPU_W;
}

/* ---- a block is given ---- */

/* In the adaptive phase an accelerator has one block at a time, so that the time of each is its
 * own, transfers included. Later the next block arrives while one runs. */
static unsigned worker_depth(const struct loop_worker *worker, enum heddle_phase phase)
{
	return phase == HEDDLE_PHASE_ADAPTIVE ? 1 : worker->depth;
}

/* Mutex held. */
static void worker_learns(struct heddle_loop_request *loop, struct loop_worker *worker,
                          bool learning)
{
	loop->nlearning += learning - worker->learning;
	worker->learning = learning;
}

/* Mutex held: a block of `done` has ended. Its time may end the adaptive phase of other
 * workers whose blocks still run. */
static void workers_learned(struct heddle_loop_request *loop, const struct loop_worker *done,
                            double now)
{
	for (unsigned l = 0; loop->nlearning && l < loop->nworkers; l++) {
		struct loop_worker *worker = &loop->workers[l];

		if (worker->learning && (worker == done || heddle_strategy_phase(loop->blocks, l) ==
		                                               HEDDLE_PHASE_COMPLETION)) {
			worker_learns(loop, worker, false);
			loop->learned_us = now;
		}
	}
}

/* A block of a part lasts no longer than an eighth of the time since the larger loop began, or than
 * a 32nd of its last run. */
#define PART_SO_FAR 8
#define PART_LAST 32
/* Nor is it bound to less, microseconds: each block costs some, and a rank that asks for what is
 * left waits as long for an answer. */
#define PART_LEAST 50

/* Mutex held: others should find iterations that no worker has begun until the loop ends. */
static void worker_bound(struct heddle_loop_request *loop, struct loop_worker *worker, double now)
{
	double us = loop->part.last_us > 0 ? loop->part.last_us / PART_LAST
	                                   : (now - loop->part.begin_us) / PART_SO_FAR;
	double n = fmax(us, PART_LEAST) * heddle_strategy_rate(loop->blocks, worker->index);

	if (!(n > 0))
		return;
	n = fmin(fmax(n, 1), worker->maximum ? worker->maximum : loop->loop.n);
	blocks_bound(loop->blocks, worker->index, n);
}

/* Mutex held: the iterations of the worker's next block. */
static size_t worker_ask(struct heddle_loop_request *loop, struct loop_worker *worker, double now)
{
	size_t n;

	if (loop->bounded)
		worker_bound(loop, worker, now);
	n = heddle_strategy_next(loop->blocks, worker->index);
	if (!n && !worker->waiting && loop_ranges_remaining(&loop->ranges)) {
		worker->waiting = true;
		loop->nwaiting++;
	}
	return n;
}

void loop_worker_retire(struct heddle_loop_request *loop, struct loop_worker *worker)
{
	if (!loop->blocks || worker->retired)
		return;
	worker->retired = true;
	heddle_strategy_retire(loop->blocks, worker->index);
}

static bool workers_left(const struct heddle_loop_request *loop)
{
	for (unsigned l = 0; l < loop->nworkers; l++)
		if (!loop->workers[l].retired)
			return true;
	return false;
}

void loop_workers_want(struct heddle_loop_request *loop)
{
	loop->nwaiting = 0;
	for (unsigned l = 0; l < loop->nworkers; l++) {
		loop->workers[l].waiting = !loop->workers[l].retired;
		loop->nwaiting += loop->workers[l].waiting;
	}
}

/* Mutex held: how many of the next n iterations the worker's memory holds. If that is none, the
 * iterations are for others. */
static size_t worker_room(struct heddle_loop_request *loop, struct loop_worker *worker, size_t n)
{
	size_t start = loop_ranges_first(&loop->ranges), left = loop->ranges.total - start, room;

	/* The strategy knows the bound too. A larger block would never fit the memory. */
	if (worker->maximum && n > worker->maximum)
		n = worker->maximum;
	if (n > left)
		n = left;
	room = loop_worker_room(loop, worker, start, n);
	if (room || !n)
		return room;
	loop_worker_retire(loop, worker);
	if (workers_left(loop))
		loop_workers_want(loop);
	else
		loop->status = -ENOMEM;
	heddle_refuse(-ENOMEM,
	              "loop %s: iteration %zu does not fit into the memory of %s, which gets no "
	              "further block",
	              loop->name, start, worker->stats.name);
	control_say(&loop->control);
	return 0;
}

void loop_worker_begins(struct loop_worker *worker, struct loop_block *block, double now)
{
	block->worker = worker;
	worker->in_flight++;
	worker->starting += !loop_worker_is_host(worker);
	if (!worker->unfinished++)
		worker->busy_since_us = now;
}

void loop_worker_ends(struct loop_worker *worker, double now)
{
	if (!--worker->unfinished)
		worker->stats.busy_us += now - worker->busy_since_us;
}

/* Mutex held: a block of n iterations, at most, for the worker. */
static struct loop_block *worker_give(struct heddle_loop_request *loop, struct loop_worker *worker,
                                      size_t n, double now)
{
	struct loop_block *block = loop_block_get(loop);
	struct loop_range range;

	if (!block) {
		loop->status = -ENOMEM;
		return NULL;
	}
	range = loop_ranges_take(&loop->ranges, worker_room(loop, worker, n));
	if (range.n < n)
		heddle_strategy_return(loop->blocks, worker->index, n - range.n);
	if (!range.n) { /* or the iterations went to a leftover block, unknown to the strategy */
		loop_block_spare(block);
		return NULL;
	}
	loop_block_prepare(block, range, now);
	block->phase = heddle_strategy_phase(loop->blocks, worker->index);
	worker_learns(loop, worker, block->phase == HEDDLE_PHASE_ADAPTIVE);
	block->isolated = worker_depth(worker, block->phase) == 1;
	loop_worker_begins(worker, block, now);
	block->predicted_us =
	    blocks_expected_us(loop->blocks, worker->index, &block->predicted_start_us);
	loop_late_given(block);
	loop_modelled_given(block);
	return block;
}

/* Mutex held: the worker's next block. NULL: none now. */
static struct loop_block *worker_next(struct heddle_loop_request *loop, struct loop_worker *worker,
                                      double now)
{
	enum heddle_phase phase = heddle_strategy_phase(loop->blocks, worker->index);
	struct loop_block *block = NULL;
	size_t n;

	if (loop->status || worker->retired || worker->in_flight >= worker_depth(worker, phase))
		return NULL;
	n = worker_ask(loop, worker, now);
	if (n)
		block = worker_give(loop, worker, n, now);
	return block || !loop->again ? block : loop_late_piece_give(loop, worker, now);
}

/* Mutex held: the iterations of a worker's block are given out again.
 * @return false: no worker is left, or no memory */
static bool range_give_back(struct heddle_loop_request *loop, struct loop_worker *worker,
                            struct loop_range range)
{
	if (!loop->blocks || !workers_left(loop) || loop_ranges_return(&loop->ranges, range))
		return false;
	heddle_strategy_return(loop->blocks, worker->index, range.n);
	loop_workers_want(loop);
	return true;
}

/* Mutex held: the same, after its device was full or its kernel failed. */
static bool range_pass_on(struct heddle_loop_request *loop, struct loop_worker *worker,
                          struct loop_range range)
{
	if (!range_give_back(loop, worker, range))
		return false;
	loop->nretried++;
	return true;
}

bool loop_block_shorten(struct loop_block *block, size_t n, double rest_us)
{
	struct heddle_loop_request *loop = block->loop;
	struct loop_range rest = block->range;
	bool given;

	rest.start += n;
	rest.n -= n;
	rest_us += starpu_timing_now() - loop->start_us;
	loop_lock(loop);
	given = !loop->status && rest_us > blocks_end_us(loop->blocks) &&
	        range_give_back(loop, block->worker, rest);
	loop_unlock(loop);
	if (given) {
		block->range.n = n;
		block->given.n = n;
	}
	return given;
}

/* Mutex held: the block is accounted for, done or not, and is spare. */
static void block_put(struct loop_block *block, double now)
{
	struct heddle_loop_request *loop = block->loop;
	struct loop_worker *worker = block->worker;

	if (worker) {
		loop_worker_ends(worker, now);
		loop_late_ended(block);
	}
	loop->under_way--;
	loop_block_spare(block);
}

/* Mutex held: a block's worker refuses it. The worker is retired and another worker does
 * the block. Where no worker is left, the loop ends with the error.
 * @return whether another worker does it */
static bool block_return(struct loop_block *block, int error)
{
	struct heddle_loop_request *loop = block->loop;
	struct loop_worker *worker = block->worker;
	bool again = false;

	loop->nblocks--;
	if (worker) {
		worker->in_flight--;
		worker->starting -= !loop_worker_is_host(worker);
		worker->running = false;
		loop_worker_retire(loop, worker);
		again = block->piece_of ? loop_late_piece_back(block)
		                        : range_pass_on(loop, worker, block->range);
	}
	if (!again && !loop->status)
		loop->status = error;
	block_put(block, loop_now(loop));
	return again;
}

/* StarPU refused a block's task. */
static void block_refused(struct loop_block *block, int error)
{
	struct heddle_loop_request *loop = block->loop;
	struct loop_worker *worker = block->worker;
	struct loop_range range = block->range;
	bool again;

	loop_lock(loop);
	again = block_return(block, error);
	loop_unlock(loop);
	heddle_refuse(error, "loop %s: StarPU refuses a task on %s (%s); iterations %zu to %zu %s",
	              loop->name, worker ? worker->stats.name : "any worker", strerror(-error),
	              loop->loop.first + range.start, loop->loop.first + range.start + range.n - 1,
	              again ? "go to another worker" : "are lost");
	if (again)
		workers_wake(loop);
	else
		control_say(&loop->control);
	loop_release(loop);
}

/* Whether a block can be cut. If not, the loop fails: another worker would find the same. */
static bool block_valid(struct loop_block *block)
{
	struct heddle_loop_request *loop = block->loop;

	if (loop_views_check(loop, block->range.start, block->range.n))
		return true;
	control_say(&loop->control);
	loop_lock(loop);
	if (!loop->status)
		loop->status = -EINVAL;
	loop_unlock(loop);
	return false;
}

static void overhead_add(struct heddle_loop_request *loop, double us)
{
	atomic_fetch_add_explicit(&loop->overhead_ns, (unsigned long long)(1e3 * us),
	                          memory_order_relaxed);
}

static int block_submit(struct loop_block *block, bool on_host)
{
	void (*done)(void *) = on_host ? host_block_done : device_block_done;
	int status = loop_block_submit(block, on_host, done);

	/* No core takes it, but perhaps others do. */
	if (status == -ENODEV && block->probe) {
		block->probe = false;
		status = loop_block_submit(block, on_host, done);
	}
	return status;
}

/* Submits a block's task, to its worker or to StarPU's policy. */
static void block_start(struct loop_block *block, double before)
{
	struct heddle_loop_request *loop = block->loop;
	struct loop_worker *worker = block->worker;
	bool on_host = worker && loop_worker_is_host(worker), valid = block_valid(block);
	int status = valid ? block_submit(block, on_host) : -EINVAL;
	double us = starpu_timing_now() - before;

	overhead_add(loop, us);
	if (!valid || (worker && !on_host)) {
		loop_lock(loop);
		if (!valid)
			block_return(block, status);
		else if (!status)
			worker->starting--;
		loop_unlock(loop);
	}
	if (!valid)
		loop_release(loop);
	else if (status)
		block_refused(block, status);
}

void loop_worker_fill(struct heddle_loop_request *loop, struct loop_worker *worker)
{
	bool more;

	do {
		double before = starpu_timing_now();
		struct loop_block *block;

		loop_lock(loop);
		block = worker_next(loop, worker, loop_time(loop, before));
		more = block && worker->in_flight < worker->depth;
		loop_unlock(loop);
		if (block)
			block_start(block, before);
	} while (more);
}

/* Mutex held: if no block runs and iterations remain, no worker would ask again, so the
 * first one takes them. */
static struct loop_block *loop_leftover(struct heddle_loop_request *loop, double now)
{
	size_t remaining = loop_ranges_remaining(&loop->ranges);

	if (loop->under_way || !remaining || loop->status)
		return NULL;
	for (unsigned l = 0; l < loop->nworkers; l++) {
		struct loop_worker *worker = &loop->workers[l];
		struct loop_block *block;

		if (worker->retired)
			continue;
		heddle_explain("loop %s: %zu iterations are left over, %s takes them", loop->name,
		               remaining, worker->stats.name);
		block = worker_give(loop, worker, remaining, now);
		if (block || loop->status)
			return block;
	}
	return NULL;
}

/* Mutex held: blocks for the workers that wait, as a list. To ask all of them after every block
 * would take longer than the blocks where these are many. So the more blocks are under way, the
 * fewer cores are asked in vain each time, another one first. */
static struct loop_block *workers_next(struct heddle_loop_request *loop, double now)
{
	unsigned begin = loop->asked_first++ % loop->nworkers;
	size_t vain = loop->nworkers / (loop->under_way + 1) + 1;
	struct loop_block *list = NULL;

	for (unsigned i = 0; loop->nwaiting && i < loop->nworkers; i++) {
		struct loop_worker *worker = &loop->workers[(begin + i) % loop->nworkers];
		struct loop_block *block;

		if (!worker->waiting || (!vain && loop_worker_is_host(worker)))
			continue;
		worker->waiting = false;
		loop->nwaiting--;
		/* If there is nothing for it, it waits again. */
		block = worker_next(loop, worker, now);
		if (!block) {
			vain -= worker->waiting && loop_worker_is_host(worker);
			continue;
		}
		block->next = list;
		list = block;
	}
	return list;
}

static void workers_start(struct heddle_loop_request *loop, struct loop_block *list)
{
	struct loop_block *block;

	while ((block = list)) {
		struct loop_worker *worker = block->worker;

		list = block->next;
		block_start(block, starpu_timing_now());
		loop_worker_fill(loop, worker); /* it may have room for more */
	}
}

/* Asks the strategy again for the workers that wait. */
static void workers_wake(struct heddle_loop_request *loop)
{
	struct loop_block *list;

	/* A worker that begins to wait after this has seen all that happened before. */
	if (!atomic_load_explicit(&loop->nwaiting, memory_order_relaxed))
		return;
	loop_lock(loop);
	list = workers_next(loop, loop_now(loop));
	loop_unlock(loop);
	workers_start(loop, list);
}

void loop_workers_fill(struct heddle_loop_request *loop)
{
	workers_wake(loop);
	for (unsigned l = 0; l < loop->nworkers; l++)
		loop_worker_fill(loop, &loop->workers[l]);
}

static void loop_end(struct heddle_loop_request *loop)
{
	const struct work_arrays arrays = loop_arrays(loop);

	loop->end_us = loop_now(loop);
	for (unsigned l = 0; l < loop->nworkers; l++)
		if (loop->blocks)
			loop->workers[l].stats.rate = heddle_strategy_rate(loop->blocks, l);
	for (unsigned i = 0; i < loop->loop.naccesses; i++)
		if (loop->views[i].whole)
			starpu_data_unregister_submit(loop->views[i].whole);
	/* Blocks that were dropped may still be sent. */
	loop_lock(loop);
	loop->sends = loop->ndropped;
	loop_unlock(loop);
	if (!loop->sends)
		work_arrays_unpin(&arrays);
	loop_log_write(loop);
	if (loop->warm && !loop->status)
		loop_rates_keep(loop);
	if (loop->blocks && !loop->status)
		loop_memory_keep(loop);
	control_end(&loop->control);
}

void loop_release(struct heddle_loop_request *loop)
{
	struct loop_block *block;
	bool last;

	do {
		double now = starpu_timing_now();

		loop_lock(loop);
		block = NULL;
		if (loop->blocks && loop->references == 1) {
			block = loop_leftover(loop, loop_time(loop, now));
			loop_late_ends(loop);
		}
		/* The reference is kept while the block starts: it may be done before that returns.
		 */
		last = !block && !--loop->references;
		loop_unlock(loop);
		if (block)
			block_start(block, now);
	} while (block);
	if (last)
		loop_end(loop);
}

/* ---- a block is done ---- */

/* When the time of a block begins: when it was submitted, or when the worker's previous one was
 * done, whichever is later. The time of a CPU worker's first block begins with its kernel: before
 * that the worker may have given the others their blocks. */
static double block_since(const struct loop_block *block)
{
	const struct loop_worker *worker = block->worker;
	double since = block->submit_us;

	if (loop_worker_is_host(worker) && worker->last_done_us == block->loop->start_us &&
	    block->begin_us > since)
		since = block->begin_us;
	return since > worker->last_done_us ? since : worker->last_done_us;
}

/* Mutex held: tells the strategy how long a block took. */
static void block_account(struct loop_block *block, double now)
{
	struct heddle_loop_request *loop = block->loop;
	struct loop_worker *worker = block->worker;
	double since = block_since(block);

	worker->last_done_us = now;
	worker->in_flight--;
	if (loop->warm && !block->given.status && now > since)
		heddle_block_time_add(&worker->time, block->given.n, now - since, true, true);
	if (loop->blocks && !block->given.status) {
		heddle_strategy_completed(loop->blocks, worker->index, block->given.n, now - since);
		workers_learned(loop, worker, now);
	}
}

/* Mutex held: whether a block may run a second time. In main memory a failed block may have
 * overwritten part of what it reads. What a device computed is dropped. */
static bool block_repeatable(const struct loop_block *block)
{
	const struct heddle_loop_request *loop = block->loop;

	if (block->range.attempts)
		return false;
	for (unsigned i = 0; loop_worker_is_host(block->worker) && i < loop->loop.naccesses; i++)
		if (loop->views[i].access.share != HEDDLE_REDUCE &&
		    loop->views[i].access.mode == STARPU_RW)
			return false;
	return true;
}

/* Mutex held: a kernel found its device full. Its worker gets blocks of half the
 * size from now on.
 * @return false: not that, or it cannot be cut */
static bool block_cut(const struct loop_block *block)
{
	size_t unit = block->loop->loop.alignment ? block->loop->loop.alignment : 1;
	size_t half = block->given.n / 2 / unit * unit;
	struct loop_worker *worker = block->worker;

	if (block->given.status != -ENOMEM || !block->loop->blocks || loop_worker_is_host(worker) ||
	    worker->retired || !half)
		return false;
	if (!worker->maximum || half < worker->maximum)
		worker->maximum = half;
	return true;
}

void loop_block_say_failed(const struct loop_block *block, const char *fate)
{
	heddle_refuse(block->given.status,
	              "loop %s: the kernel failed on %s (%s); iterations %zu to %zu %s",
	              block->loop->name, block->worker->stats.name, strerror(-block->given.status),
	              block->given.start, block->given.start + block->given.n - 1, fate);
}

/* A kernel failed. If its device was full, the iterations are given out again in smaller blocks.
 * Otherwise its worker gets no more and another does the block, once. */
static void block_fail(struct loop_block *block)
{
	struct heddle_loop_request *loop = block->loop;
	struct loop_worker *worker = block->worker;
	struct loop_range range = block->range;
	bool cut, again;

	loop_lock(loop);
	cut = block_cut(block);
	again = cut || block_repeatable(block);
	if (!cut) {
		loop_worker_retire(loop, worker);
		range.attempts++;
	}
	again = again && range_pass_on(loop, worker, range);
	if (!again && !loop->status)
		loop->status = block->given.status;
	loop_unlock(loop);
	loop_block_say_failed(block, !again ? "are lost"
	                             : cut  ? "are cut smaller"
	                                    : "go to another worker");
	if (!again)
		control_say(&loop->control);
}

/* Has a mutex of its own, because the caller's function may take longer than the loop's mutex is
 * ever held. */
void loop_block_combine(struct loop_block *block)
{
	struct heddle_loop_request *loop = block->loop;

	if (!loop->reduces || block->given.status)
		return;
	loop_mutex_lock(&loop->sums);
	for (unsigned i = 0; i < loop->loop.naccesses; i++) {
		const struct loop_view *view = &loop->views[i];

		if (block->data[i].partial)
			view->access.combine((void *)view->array.base, block->data[i].partial,
			                     work_array_bytes(&view->array),
			                     (void *)loop->loop.arg);
	}
	loop_mutex_unlock(&loop->sums);
}

void loop_block_book(struct loop_block *block)
{
	struct loop_worker *worker = block->worker;

	worker->stats.iterations += block->given.n;
	worker->stats.blocks++;
	worker->stats.finish_us = block->done_us - block->loop->start_us;
	loop_log_block(block->loop, block);
}

/* Mutex held: adds a block to its worker's statistics and frees it. */
static void block_book(struct loop_block *block, double now)
{
	block->done_us = now;
	if (!block->given.status)
		loop_block_book(block);
	block_put(block, now);
}

/* A block is done: accounts for it, and gives its worker and those that wait blocks. */
static void block_settle(struct loop_block *block, double now)
{
	struct heddle_loop_request *loop = block->loop;
	struct loop_worker *worker = block->worker;

	if (block->piece_of) {
		loop_late_piece_done(block, now);
		return;
	}
	loop_block_combine(block);
	loop_lock(loop);
	if (block->isolated)
		block_account(block, now);
	if (block->given.status) {
		loop_unlock(loop);
		block_fail(block);
		loop_lock(loop);
	}
	block_book(block, now);
	loop_unlock(loop);
	if (loop->blocks) {
		loop_worker_fill(loop, worker);
		workers_wake(loop);
	} else {
		loop_submit_parts(loop);
	}
	loop_release(loop);
}

/* Modelled time: settles all blocks that no other one can come before. Blocks that end
 * meanwhile are settled here, too. The loop may end with the last one. */
static void settle_in_turn(struct heddle_loop_request *loop)
{
	struct loop_block *block;

	loop_lock(loop);
	if (loop->turning) {
		loop_unlock(loop);
		return;
	}
	loop->turning = true;
	loop->references++;
	while ((block = loop_modelled_next(loop))) {
		loop_unlock(loop);
		block_settle(block, loop->now_us);
		loop_lock(loop);
	}
	loop->turning = false;
	loop_unlock(loop);
	loop_release(loop);
}

/* The block's outputs are in main memory. */
static void block_finish(struct loop_block *block)
{
	struct heddle_loop_request *loop = block->loop;

	if (!loop->modelled) {
		block_settle(block, starpu_timing_now());
		return;
	}
	loop_modelled_finished(block);
	settle_in_turn(loop);
}

/* An output of a block is in main memory, or its callback is through. */
static void output_written(void *arg, int status)
{
	struct loop_block *block = arg;
	struct heddle_loop_request *loop = block->loop;

	if (status) {
		loop_lock(loop);
		if (!loop->status)
			loop->status = status;
		loop_unlock(loop);
	}
	if (!__atomic_sub_fetch(&block->unwritten, 1, __ATOMIC_ACQ_REL))
		block_finish(block);
}

/* Mutex held: takes the block that became spare last, which its task still uses. */
static void block_end(struct loop_block *block)
{
	loop_block_get(block->loop);
	block->over = true;
}

/* Mutex held: makes a block that is done the next one of its worker. False where there is
 * no next one: the block is not spare then, for its task still uses it. */
static bool block_renew(struct loop_block *block, double now)
{
	struct heddle_loop_request *loop = block->loop;

	/* The spare block that was added last is the first to be taken. */
	if (worker_next(loop, block->worker, now)) {
		loop->references--; /* its task has one already */
		return true;
	}
	block_end(block);
	return false;
}

/* Asks can_execute of a block that shares a task, as StarPU does of a task. A worker whose
 * block is refused is retired, as it is when StarPU refuses.
 * @return whether it may run */
static bool block_allowed(struct loop_block *block)
{
	struct heddle_loop_request *loop = block->loop;
	const struct heddle_block given = block->given;
	bool again, valid = block_valid(block);

	if (valid &&
	    (!loop->host_codelet.can_execute ||
	     loop->host_codelet.can_execute(block->worker->stats.id, starpu_task_get_current(), 0)))
		return true;
	loop_lock(loop);
	again = block_return(block, -ENODEV);
	block_end(block);
	loop_unlock(loop);
	if (!valid)
		return false;
	heddle_refuse(-ENODEV,
	              "loop %s: can_execute refuses a block on %s; iterations %zu to %zu %s",
	              loop->name, block->worker->stats.name, given.start, given.start + given.n - 1,
	              again ? "go to another worker" : "are lost");
	if (!again)
		control_say(&loop->control);
	return false;
}

/* Mutex held: accounts for a block that its worker has posted, and renews it. */
static void worker_serve(struct loop_block *block, double now)
{
	struct heddle_loop_request *loop = block->loop;
	struct loop_worker *worker = block->worker;
	double began = starpu_timing_now();

	block_account(block, worker->posted_us);
	block_book(block, worker->posted_us);
	loop_answer(worker, block_renew(block, now));
	overhead_add(loop, starpu_timing_now() - began);
}

/* Mutex held: serves the workers that have posted, in the order of posting, and those that post
 * meanwhile, until all of them have had a turn. The server is the last one: its next block begins
 * then. */
static void workers_serve(struct heddle_loop_request *loop, struct loop_worker *server)
{
	struct loop_block *own = NULL, *next, *block;
	size_t served = 0;

	while (served < loop->nworkers && (next = loop_posted(loop))) {
		while ((block = next)) {
			next = block->next;
			if (block->worker == server) {
				own = block;
				continue;
			}
			worker_serve(block, block->worker->posted_us);
			served++;
			loop_lock_gap(loop);
		}
	}
	if (own)
		worker_serve(own, loop_time(loop, starpu_timing_now()));
}

/* Lets a block be accounted for and renewed. When many workers have done short blocks at a time,
 * one of them serves all: the strategy's state is in its core's cache, and no other waits for the
 * mutex. If every worker asked for itself, both would move from core to core, which takes several
 * times as long.
 * @return whether it was renewed */
static bool block_exchange(struct loop_block *block, double now)
{
	struct heddle_loop_request *loop = block->loop;
	struct loop_worker *worker = block->worker;

	worker->posted_us = now;
	loop_post(block);
	while (loop_turn(loop, worker)) {
		struct loop_block *list;

		workers_serve(loop, worker);
		list = workers_next(loop, loop_now(loop));
		loop_turn_end(loop);
		workers_start(loop, list);
	}
	return worker->renewed;
}

/* A task costs several microseconds, in which StarPU's locks keep others from beginning or ending
 * theirs. So a short block of a CPU worker is followed by the next one in the same task: the more
 * workers there are, the longer. Blocks that failed are left to the callback. */
static bool block_follow(struct loop_block *block, double began)
{
	struct heddle_loop_request *loop = block->loop;
	double now = starpu_timing_now();
	bool more;

	if (block->given.status || block->piece_of || now - began >= loop->task_us * loop->nworkers)
		return false;
	loop_block_combine(block);
	more = block_exchange(block, now);
	if (more && !block_allowed(block)) {
		workers_wake(loop); /* its iterations are for others */
		more = false;
	}
	if (more) {
		loop_block_clear_partial(block);
		loop_log_decision(loop, block);
	}
	return more;
}

void loop_host_function(void *buffers[], void *arg)
{
	double began = starpu_timing_now();

	do
		loop_block_compute(arg);
	while (block_follow(arg, began));
}

/* Callback of a block on a CPU worker. */
static void host_block_done(void *arg)
{
	struct loop_block *block = arg;
	struct heddle_loop_request *loop = block->loop;

	if (!block->over) {
		if (loop->host_codelet.nbuffers)
			loop_block_unregister_all(block);
		block_finish(block);
		return;
	}
	loop_lock(loop);
	block->over = false;
	loop_block_spare(block);
	loop_unlock(loop);
	loop_release(loop);
}

/* Under a stock policy the worker is known only now. */
static void block_find_worker(struct loop_block *block)
{
	struct heddle_loop_request *loop = block->loop;
	struct loop_worker *worker = &loop->workers[loop->worker_of_id[starpu_worker_get_id()]];

	loop_lock(loop);
	block->worker = worker;
	loop->core_had_part |= !block->probe && worker->stats.kind == HEDDLE_KIND_CPU;
	worker->in_flight++;
	if (!worker->unfinished++)
		worker->busy_since_us = block->submit_us > worker->last_done_us
		                            ? block->submit_us
		                            : worker->last_done_us;
	loop_unlock(loop);
}

/* Callback of a block on an accelerator, or of any under a stock policy. */
static void device_block_done(void *arg)
{
	struct loop_block *block = arg;
	struct heddle_loop_request *loop = block->loop;

	if (!block->worker)
		block_find_worker(block);
	if (loop->late_us && !loop_late_arrives(block))
		return;
	if (!block->isolated) {
		loop_lock(loop);
		block_account(block, starpu_timing_now());
		loop_unlock(loop);
		/* The device's next block is submitted before the output is written back. */
		if (!block->given.status)
			loop_worker_fill(loop, block->worker);
	}
	block->unwritten = 1;
	for (unsigned i = 0; i < loop->loop.naccesses; i++) {
		if (view_is_output(&loop->views[i]) && !block->given.status &&
		    loop_block_window(block, i).count) {
			__atomic_add_fetch(&block->unwritten, 1, __ATOMIC_RELAXED);
			work_write_back(block->data[i].handle, output_written, block);
		} else {
			loop_block_unregister(block, i);
		}
	}
	output_written(block, 0);
}

/* ---- the loop begins ---- */

/* How many of n iterations any worker could do as one block. */
static size_t workers_room(struct heddle_loop_request *loop, size_t start, size_t n)
{
	for (unsigned l = 0; n && l < loop->nworkers; l++) {
		const struct loop_worker *worker = &loop->workers[l];

		n = loop_worker_room(loop, worker, start, n);
		if (!n) {
			heddle_refuse(-ENOMEM,
			              "loop %s: iteration %zu does not fit into the memory of %s",
			              loop->name, start, worker->stats.name);
			control_say(&loop->control);
		}
	}
	return n;
}

/* Where part p of all under a stock policy begins: at floor(n p / parts), without overflow. */
static size_t part_start(const struct heddle_loop_request *loop, size_t p)
{
	size_t n = loop->loop.n, parts = loop->parts;

	return n / parts * p + n % parts * p / parts;
}

/* Mutex held: what is left of the next part of all under a stock policy, or a probe, as much as
 * fits any worker; NULL: there is none. The first part is in the middle, since tasks from there
 * tell most of others: the first iterations of a loop are often shorter or longer. */
static struct loop_block *loop_part(struct heddle_loop_request *loop, bool probe, double now)
{
	size_t n = loop->loop.n, parts = loop->parts, start, end = 0, room;
	size_t before = n - part_start(loop, parts / 2); /* iterations before number 0 */
	struct loop_block *block;

	start = loop->ranges.next < before ? n - before + loop->ranges.next
	                                   : loop->ranges.next - before;
	while (loop->cut < parts &&
	       (end = part_start(loop, (loop->cut + parts / 2) % parts + 1)) == start)
		loop->cut++;
	if (loop->cut == parts || loop->status)
		return NULL;
	if (probe)
		end = start + (end - start + PROBE - 1) / PROBE;
	room = workers_room(loop, start, end - start);
	block = room ? loop_block_get(loop) : NULL;
	if (!block) {
		loop->status = -ENOMEM;
		return NULL;
	}
	loop->ranges.next += room;
	loop->cut += start + room == part_start(loop, (loop->cut + parts / 2) % parts + 1);
	loop_block_prepare(block, (struct loop_range){.start = start, .n = room}, now);
	block->worker = NULL;
	block->phase = HEDDLE_PHASE_COMPLETION;
	block->isolated = true;
	block->probe = probe;
	loop->probes += probe;
	return block;
}

/* Whether a small block has smaller data: else its time would count as that of any. */
static bool loop_is_sliced(const struct heddle_loop_request *loop)
{
	for (unsigned i = 0; i < loop->loop.naccesses; i++)
		if (!loop->views[i].whole && loop->views[i].access.share != HEDDLE_REDUCE)
			return true;
	return false;
}

/* How many blocks may be under way, so that the policy does not place all by a guess.
 * @param[out] probe whether a core is to be tried with a small one */
static unsigned loop_ahead(const struct heddle_loop_request *loop, bool *probe)
{
	unsigned long key = atomic_load_explicit(&loop->key, memory_order_relaxed);
	unsigned workers[HEDDLE_DEVICE_CLASSES] = {0};

	for (unsigned l = 0; key && l < loop->nworkers; l++)
		workers[heddle_device_class(loop->workers[l].stats.id)]++;
	*probe = loop_is_sliced(loop);
	return heddle_estimate_ahead(key, workers, probe);
}

/* So many parts an accelerator's thread submits before it goes back to its device. */
#define AT_ONCE 2

static bool on_accelerator(void)
{
	int worker = starpu_worker_get_id();

	return worker >= 0 && starpu_worker_get_type(worker) != STARPU_CPU_WORKER;
}

/* Mutex held: how few blocks under way are too few for one thread to submit, where there may be
 * `ahead`. While an accelerator's thread submits, its device gets nothing: it begins only where
 * each worker has less than two. With so few a fast accelerator may seem to be done before a core
 * with one: until a core has done a part it goes on like others, unless that are more than four. */
static size_t loop_few(const struct heddle_loop_request *loop, unsigned ahead)
{
	size_t few = ahead / 2, two = 2 * (size_t)loop->nworkers;

	if (on_accelerator() && few > two && (loop->core_had_part || few > 2 * two))
		few = two;
	return few;
}

/* Submits the iterations as equal tasks that the policy places. When one ends, it goes on. Policies
 * that decide on several tasks at once give all of them to the worker that is free first, so one
 * thread submits at a time. But a task may take longer to submit than to run: others help where
 * there are too few. */
static void loop_submit_parts(struct heddle_loop_request *loop)
{
	bool mine = false, more, device = on_accelerator();
	unsigned submitted = 0;

	do {
		double now = starpu_timing_now();
		struct loop_block *block = NULL;
		bool probe, over;
		unsigned ahead;
		size_t few;

		loop_lock(loop);
		over = loop->cut == loop->parts;
		loop_unlock(loop);
		if (over)
			return;
		ahead = loop_ahead(loop, &probe);
		loop_lock(loop);
		few = loop_few(loop, ahead);
		if (mine || !loop->submitting || loop->under_way < few) {
			probe = probe && loop->probes < PROBES;
			if (probe || loop->under_way < ahead)
				block = loop_part(loop, probe, now);
		}
		/* An accelerator's thread does not go on for long, also where there are never
		 * enough: others submit as soon as they have done a part. */
		more = block && (few == ahead / 2 || loop->under_way <= few) &&
		       !(device && loop->core_had_part && ++submitted >= AT_ONCE);
		if (mine || !loop->submitting)
			mine = loop->submitting = more;
		loop_unlock(loop);
		if (block)
			block_start(block, now);
	} while (more);
}

/* How many equal tasks a stock policy gets: as many as asked for, more where they
 * would not fit into the smallest device that might get one; none is empty. */
static unsigned loop_parts(const struct heddle_loop_request *loop)
{
	size_t parts = loop->loop.parts, n = loop->loop.n;

	if (!parts)
		parts = heddle_variable_number(HEDDLE_VARIABLE_PARTS) * loop->nworkers;
	for (unsigned l = 0; l < loop->nworkers; l++) {
		size_t maximum = loop->workers[l].maximum;

		if (maximum && parts < n / maximum + (n % maximum != 0))
			parts = n / maximum + (n % maximum != 0);
	}
	parts = parts < n ? parts : n;
	return parts < 1 ? 1 : parts < UINT_MAX ? parts : UINT_MAX;
}

/* Who has named a number or such a policy wants this. */
static void loop_parts_explain(const struct heddle_loop_request *loop, unsigned parts)
{
	static bool said;

	if (loop->loop.parts || heddle_variable_is_set(HEDDLE_VARIABLE_PARTS) ||
	    work_policy_ours(loop->loop.sched_ctx) ||
	    __atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		return;
	heddle_explain("loop %s: %u equal tasks, since the policy %s is none of Heddle's; under "
	               "STARPU_SCHED=heddle Heddle sizes blocks while the loop runs",
	               loop->name, parts, work_policy_name(loop->loop.sched_ctx));
}

/* So many CPU workers are started before the accelerators: their first blocks tell
 * whether the loop is too short for an accelerator. */
#define FIRST_CPU_WORKERS 3
/* It is too short if CPU workers do all that is left in this time, microseconds: an
 * accelerator's first block takes half of it whatever its size. */
#define SHORT_US 200

/* Whether CPU workers as fast as those that have answered would soon be done. */
static bool loop_is_short(struct heddle_loop_request *loop)
{
	unsigned known = 0, all = 0;
	double sum = 0, left;

	loop_lock(loop);
	left = loop_ranges_remaining(&loop->ranges);
	for (unsigned l = 0; l < loop->nworkers; l++) {
		double rate = heddle_strategy_rate(loop->blocks, l);

		if (!loop_worker_is_host(&loop->workers[l]))
			continue;
		sum += rate;
		known += rate > 0;
		all++;
	}
	loop_unlock(loop);
	return known && left * known < SHORT_US * sum * all;
}

/* First blocks for `count` CPU workers from number `l` on, except the one that runs this:
 * it cannot begin its own block before this returns.
 * @return the number to go on with */
static unsigned hosts_begin(struct heddle_loop_request *loop, unsigned l, unsigned count)
{
	for (; count && l < loop->nworkers; l++)
		if (loop_worker_is_host(&loop->workers[l]) &&
		    loop->workers[l].stats.id != starpu_worker_get_id()) {
			loop_worker_fill(loop, &loop->workers[l]);
			count--;
		}
	return l;
}

static void accelerators_begin(struct heddle_loop_request *loop)
{
	for (unsigned l = loop->nworkers; l--;)
		if (!loop_worker_is_host(&loop->workers[l]))
			loop_worker_fill(loop, &loop->workers[l]);
}

/* Accelerators begin early, since they take longest to their first kernel, unless the loop
 * may be over by the time that all others have begun. */
static void workers_begin(struct heddle_loop_request *loop)
{
	int worker = starpu_worker_get_id(), own = worker < 0 ? -1 : loop->worker_of_id[worker];
	unsigned next = hosts_begin(loop, 0, FIRST_CPU_WORKERS);
	bool late = loop_is_short(loop);

	if (!late)
		accelerators_begin(loop);
	hosts_begin(loop, next, loop->nworkers);
	if (late)
		accelerators_begin(loop);
	if (own >= 0)
		loop_worker_fill(loop, &loop->workers[own]);
}

/* The control task runs: the data is in main memory. */
static void loop_begin(struct heddle_loop_request *loop)
{
	loop->start_us = loop->learned_us = loop->now_us = starpu_timing_now();
	for (unsigned l = 0; l < loop->nworkers; l++)
		loop->workers[l].last_done_us = loop->start_us;
	if (!loop->blocks || loop->nworkers > 1 || !loop_worker_is_host(&loop->workers[0]))
		for (unsigned i = 0; i < loop->loop.naccesses; i++) {
			struct loop_view *view = &loop->views[i];

			if (view->access.share == HEDDLE_WHOLE)
				view->whole = loop_view_register(
				    view, (struct loop_window){0, view->array.units},
				    view->array.units, NULL);
		}
	if (!loop->blocks) {
		loop->parts = loop_parts(loop);
		loop_parts_explain(loop, loop->parts);
		loop_submit_parts(loop);
		return;
	}
	/* In modelled time all begin at once. */
	loop->turning = true;
	workers_begin(loop);
	workers_wake(loop);
	loop_lock(loop);
	loop->turning = false;
	loop_unlock(loop);
	if (loop->modelled)
		settle_in_turn(loop);
}

void loop_start(void *work)
{
	loop_begin(work);
	loop_release(work);
}
