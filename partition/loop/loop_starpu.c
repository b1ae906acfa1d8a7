/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A loop as one node of StarPU's task graph: checking what was asked for, submitting the
 * node and waiting for it. run_starpu.c is what happens in between.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/heddle.h>

#include "loop_private.h"
#include "part.h"
#include "estimator/platform_starpu.h"
#include "partition/blocks/memory.h"
#include "partition/common/workers_starpu.h"
#include "support/clock_starpu.h"
#include "support/helgrind.h"
#include "support/message.h"
#include "support/starpu_compat.h"
#include "support/variables.h"

/* ---- which workers ---- */

static struct loop_worker *worker_add(struct heddle_loop_request *loop, int id,
                                      unsigned implementation)
{
	struct loop_worker *worker = &loop->workers[loop->nworkers];

	*worker = (struct loop_worker){
	    .index = loop->nworkers, .depth = 1, .implementation = implementation};
	worker->stats = work_worker_stats(id);
	if (!loop_worker_is_host(worker) && loop_worker_size(loop, worker)) {
		heddle_warn("loop %s: not one iteration fits into the memory of %s", loop->name,
		            worker->stats.name);
		return NULL;
	}
	worker->simulates = loop->modelled && heddle_clock_board_us(id) >= 0;
	HELGRIND_ATOMIC(worker->posted);
	loop->nworkers++;
	loop->worker_of_id[id] = worker->index;
	work_ids_add(&loop->ids, id);
	return worker;
}

/* A task for can_execute to look at: all of the loop. */
static void example_init(const struct heddle_loop_request *loop, struct heddle_block *block,
                         struct starpu_task *task)
{
	const struct heddle_loop *given = &loop->loop;

	*block = (struct heddle_block){
	    .start = given->first, .n = given->n, .total = given->total, .arg = given->arg};
	starpu_task_init(task);
	task->cl = given->codelet;
	task->cl_arg = block;
	for (unsigned i = 0; i < given->naccesses; i++) {
		task->handles[i] = given->accesses[i].handle;
		task->interfaces[i] =
		    starpu_data_get_interface_on_node(given->accesses[i].handle, STARPU_MAIN_RAM);
	}
}

/* Adds the workers that can compute the loop.
 * @param lost whether that means those that still have a block of an earlier loop
 * @return how many have no room for an iteration */
static unsigned workers_find(struct heddle_loop_request *loop, bool lost)
{
	const struct heddle_loop *given = &loop->loop;
	/* StarPU's heteroprio gives tasks to all. */
	bool all = !loop->strategy && work_policy_is(given->sched_ctx, "heteroprio");
	unsigned full = 0;
	struct heddle_block block;
	struct starpu_task example;

	example_init(loop, &block, &example);
	for (unsigned id = 0; id < starpu_worker_get_count(); id++) {
		int implementation;

		if ((!all && loop_worker_is_lost(id) != lost) ||
		    !work_worker_wanted(id, given->workers, given->nworkers, given->sched_ctx) ||
		    (loop->strategy && !work_worker_leads(id, given->workers, given->sched_ctx)))
			continue;
		implementation = work_codelet_serves(given->codelet, id, &example);
		if (implementation >= 0 && !worker_add(loop, id, implementation))
			full++;
	}
	starpu_task_clean(&example);
	return full;
}

static int workers_init(struct heddle_loop_request *loop)
{
	const struct heddle_loop *given = &loop->loop;
	unsigned nworkers = starpu_worker_get_count(), full;

	loop->workers = calloc(nworkers, sizeof(*loop->workers));
	if (!loop->workers)
		return -ENOMEM;
	for (unsigned id = 0; id < nworkers; id++)
		loop->worker_of_id[id] = -1;
	full = workers_find(loop, false);
	if (!loop->nworkers)
		full += workers_find(loop, true);
	if (loop->nworkers)
		return 0;
	if (full)
		return heddle_refuse(
		    -ENOMEM,
		    "loop %s: iterations are too large for all workers that have an "
		    "implementation",
		    loop->name);
	return heddle_refuse(-ENODEV, "loop %s: the codelet has no implementation for any %s",
	                     loop->name, given->workers ? "of the workers named" : "worker");
}

static bool loop_has(const struct heddle_loop_request *loop, enum heddle_kind kind)
{
	for (unsigned l = 0; l < loop->nworkers; l++)
		if (loop->workers[l].stats.kind == kind)
			return true;
	return false;
}

/* ---- which strategy ---- */

/* The caller may free its text, and the environment may change, before the loop ends. */
static int strategy_take(struct heddle_loop_request *loop)
{
	const char *spec = work_strategy(loop->loop.strategy, loop->loop.sched_ctx);
	int overlaps;

	/* The policy has its tasks to place, also one of Heddle's. */
	if (spec && !strcmp(spec, "tasks"))
		spec = NULL;
	overlaps = spec ? heddle_strategy_overlaps(spec) : 1;
	if (overlaps < 0)
		return work_strategy_blame(loop->loop.strategy, overlaps);
	if (spec && !(loop->strategy = strdup(spec)))
		return -ENOMEM;
	loop->modelled = spec && heddle_clock() == HEDDLE_CLOCK_MODELLED;
	loop->depth =
	    overlaps && !loop->modelled ? heddle_variable_number(HEDDLE_VARIABLE_DEPTH) : 1;
	if (!loop->modelled)
		loop->task_us = heddle_variable_number(HEDDLE_VARIABLE_TASK);
	if (spec && !loop->modelled && loop->loop.late)
		loop->late_us = heddle_variable_number(HEDDLE_VARIABLE_LATE) * 1e3;
	return 0;
}

/* A range of a loop over ranks has been cut for its rank already, and a core alone has nobody to
 * share it with. */
static bool is_undivided(const struct heddle_loop_request *loop)
{
	return loop->loop.n < loop->loop.total && loop->nworkers == 1 &&
	       loop_worker_is_host(&loop->workers[0]);
}

/* What a core alone does with such a range: its blocks grow from a thousandth of it to less than a
 * tenth, for the core may be much slower than others, which are done before its tenth is. Then they
 * fall to a thousandth, so that others may take the rest soon. */
static const char *undivided_spec(const struct heddle_loop_request *loop, char *text, size_t size)
{
	size_t n = loop->loop.n;

	if (!loop->shrinks)
		return "static";
	snprintf(text, size, "tss:first=%zu,last=%zu,ramp=0.25", n / 10 + 1, n / 1000 + 1);
	return text;
}

static int strategy_init(struct heddle_loop_request *loop)
{
	const char *spec = loop->strategy;
	char text[96];
	struct heddle_strategy_worker *workers;
	struct heddle_strategy_problem problem = {.n = loop->loop.n, .nworkers = loop->nworkers};
	const struct blocks_chosen *chosen;
	int status;

	if (!spec)
		return work_policy_places_on(loop->loop.sched_ctx, loop->nworkers, "loop",
		                             loop->name);
	workers = calloc(loop->nworkers, sizeof(*workers));
	if (!workers)
		return -ENOMEM;
	for (unsigned l = 0; l < loop->nworkers; l++) {
		workers[l].kind = loop->workers[l].stats.kind;
		workers[l].alignment = loop->loop.alignment;
		workers[l].maximum = loop->workers[l].maximum;
	}
	if (loop->warm)
		loop_rates_recall(loop, workers);
	problem.workers = workers;
	loop->bounded =
	    loop->shrinks && !loop->modelled && (is_undivided(loop) || !strncmp(spec, "hdss", 4));
	if (is_undivided(loop))
		spec = undivided_spec(loop, text, sizeof(text));
	status = heddle_strategy_create(spec, &problem, &loop->blocks);
	free(workers);
	if (status)
		return status;
	loop_memory_use(loop);
	chosen = blocks_auto_chosen(loop->blocks);
	loop->chosen = chosen ? chosen->spec : NULL;
	return 0;
}

/* ---- codelets ---- */

/* Asks the codelet about a block. StarPU asks for a pinned task whether the first implementation
 * may run; the one that will run is the worker's. */
static int loop_can_execute(unsigned worker, struct starpu_task *task, unsigned implementation)
{
	const struct loop_block *block = task->cl_arg;
	const struct loop_worker *own = block->worker;

	if (own && worker != (unsigned)own->stats.id)
		return 0;
	return block->loop->loop.codelet->can_execute(worker, task,
	                                              own ? own->implementation : implementation);
}

static void codelets_init(struct heddle_loop_request *loop)
{
	struct starpu_codelet *device = &loop->device_codelet, *host = &loop->host_codelet;
	starpu_cpu_func_t *hip = heddle_compat_hip_funcs(device);

	*device = *loop->loop.codelet;
	device->nbuffers = loop->loop.naccesses;
	for (unsigned i = 0; i < loop->loop.naccesses; i++)
		device->modes[i] = loop->views[i].access.mode;
	device->name = loop->name;
	device->can_execute = loop->loop.codelet->can_execute ? loop_can_execute : NULL;
	for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; i++) {
		if (device->cpu_funcs[i])
			device->cpu_funcs[i] = loop_device_function;
		if (device->cuda_funcs[i])
			device->cuda_funcs[i] = loop_device_function;
		if (device->opencl_funcs[i])
			device->opencl_funcs[i] = loop_device_function;
		if (hip && hip[i])
			hip[i] = loop_device_function;
	}
#ifndef HEDDLE_USE_SIMGRID
	/* Blocks of many sizes would fill StarPU's model of the codelet, which is not asked where
	 * the worker is known. */
	if (loop->blocks)
		device->model = NULL;
#endif
	*host = (struct starpu_codelet){
	    .cpu_funcs = {loop_host_function},
	    .model = device->model,
	    .name = loop->name,
	    .color = device->color,
	    .where = STARPU_CPU,
	    .can_execute = device->can_execute,
	};
#ifdef HEDDLE_USE_SIMGRID
	/* The user's own model may look at a block's data. */
	if (host->model && host->model != &heddle_platform_model) {
		host->nbuffers = device->nbuffers;
		memcpy(host->modes, device->modes, sizeof(host->modes));
	}
#endif
}

/* A loop with a plain function has a codelet of its own, which has that as its CPU version. */
static void function_take(struct heddle_loop_request *loop)
{
	struct starpu_codelet *own = &loop->own_codelet;

	if (!loop->loop.function)
		return;
	if (loop->loop.codelet)
		*own = *loop->loop.codelet;
	memset(own->cpu_funcs, 0, sizeof(own->cpu_funcs));
	own->cpu_funcs[0] = loop_plain_function;
	if (own->where)
		own->where |= STARPU_CPU;
	loop->loop.codelet = own;
}

static bool control_has(const struct control *control, starpu_data_handle_t handle)
{
	for (unsigned i = 0; i < control->ndata; i++)
		if (control->handles[i] == handle)
			return true;
	return false;
}

/* All data of the loop, for its control task. */
static int control_take(struct heddle_loop_request *loop)
{
	struct control *control = &loop->control;

	for (unsigned i = 0; i < loop->loop.naccesses; i++) {
		const struct loop_view *view = &loop->views[i];
		enum starpu_data_access_mode mode = view->access.mode;

		/* What the loop does not write of an output stays as it was. An index may leave
		 * some of it out. */
		if (mode == STARPU_W &&
		    (view->cut.index || loop->loop.n * view->cut.per_iteration < view->array.units))
			mode = STARPU_RW;
		control_data(control, view->access.handle, mode);
	}
	for (unsigned i = 0; i < loop->loop.naccesses; i++) {
		starpu_data_handle_t index = loop->views[i].index.handle;

		if (!index || control_has(control, index))
			continue;
		if (control->ndata == STARPU_NMAXBUFS)
			return heddle_refuse(
			    -EINVAL,
			    "loop %s: more than %d handles, with those of indices; "
			    "StarPU was built for as many",
			    loop->name, STARPU_NMAXBUFS);
		control_data(control, index, STARPU_R);
	}
	return 0;
}

void loop_free(struct heddle_loop_request *loop)
{
	loop_late_fini(loop);
	while (loop->spare) {
		struct loop_block *block = loop->spare;

		loop->spare = block->next;
		loop_block_free(block);
	}
	heddle_strategy_destroy(loop->blocks);
	loop_ranges_fini(&loop->ranges);
	for (unsigned i = 0; i < loop->loop.naccesses; i++)
		loop_view_fini(&loop->views[i]);
	loop_lock_destroy(loop);
	control_fini(&loop->control);
	free(loop->records);
	free(loop->workers);
	free(loop->strategy);
	free(loop->name);
	free(loop);
}

/* ---- submission ---- */

static int loop_init(struct heddle_loop_request *loop, const struct heddle_loop *given)
{
	struct work_arrays arrays;
	int status;

	loop->loop = *given;
	function_take(loop);
	given = &loop->loop;
	if (!given->total)
		loop->loop.total = given->first + given->n;
	loop->references = 1;
	loop->warm = heddle_variable_number(HEDDLE_VARIABLE_WARM);
	loop->logged = *heddle_variable_text(HEDDLE_VARIABLE_BLOCK_LOG);
	loop_lock_init(loop);
	HELGRIND_ATOMIC(loop->nwaiting);
	control_init(&loop->control, loop_start, loop_leave, loop);
	loop_ranges_init(&loop->ranges, given->n);
	loop->name = strdup(given->name            ? given->name
	                    : given->codelet->name ? given->codelet->name
	                                           : "loop");
	if (!loop->name)
		return -ENOMEM;
	if ((status = work_context_check(given->sched_ctx, "loop", loop->name)) ||
	    (status = work_workers_check(given->workers, given->nworkers, "loop", loop->name)) ||
	    (status = work_codelet_check(given->codelet, given->naccesses, "loop", loop->name)) ||
	    (status = strategy_take(loop)))
		return status;
	for (unsigned i = 0; i < given->naccesses; i++) {
		loop->reduces |= given->accesses[i].share == HEDDLE_REDUCE;
		loop->indexed |= given->accesses[i].share == HEDDLE_INDEXED;
		status = loop_view_init(&loop->views[i], given, i, loop->name);
		if (status)
			return status;
	}
	arrays = loop_arrays(loop);
	if ((status = work_arrays_check_overlap(&arrays)) ||
	    (status = loop_views_check_indices(loop)) || (status = workers_init(loop)) ||
	    (status = strategy_init(loop)) || (status = control_take(loop)))
		return status;
	codelets_init(loop);
	return 0;
}

static int loop_check(const struct heddle_loop *given)
{
	size_t part_of = given && given->total ? given->total : SIZE_MAX;
	int status = heddle_starpu_check();

	if (status)
		return status;
	if (!given || (!given->codelet && !given->function))
		return heddle_refuse(-EINVAL, "a loop without a codelet or a function");
	if (given->naccesses > HEDDLE_LOOP_MAXHANDLES)
		return heddle_refuse(-EINVAL, "a loop of %u handles; StarPU was built for %d",
		                     given->naccesses, HEDDLE_LOOP_MAXHANDLES);
	if (given->n > part_of || given->first > part_of - given->n)
		return heddle_refuse(-ERANGE,
		                     "a loop of %zu iterations from %zu on, as part of %zu",
		                     given->n, given->first, given->total);
	if (!starpu_is_initialized())
		return heddle_refuse(-ENODEV, "a loop before starpu_init()");
	status = heddle_clock_check();
	return status ? status : heddle_variables_check(environ);
}

static int submit(const struct heddle_loop *given, const struct loop_part *part,
                  struct heddle_loop_request **request)
{
	struct heddle_loop_request *loop;
	struct work_arrays arrays;
	int status = loop_check(given);

	if (status)
		return status;
	loop = calloc(1, sizeof(*loop));
	if (!loop)
		return -ENOMEM;
	loop->shrinks = part;
	if (part)
		loop->part = *part;
	status = loop_init(loop, given);
	if (!status) {
		arrays = loop_arrays(loop);
		/* In a simulation nothing is copied. */
		if (!HEDDLE_SIMULATED &&
		    (loop_has(loop, HEDDLE_KIND_CUDA) || loop_has(loop, HEDDLE_KIND_HIP)))
			work_arrays_pin(&arrays);
		status =
		    control_submit(&loop->control, "loop", loop->name, given->sched_ctx, !request);
		if (status)
			work_arrays_unpin(&arrays);
	}
	if (status) {
		loop_free(loop);
		return status;
	}
	if (request)
		*request = loop;
	return 0;
}

int heddle_loop_submit(const struct heddle_loop *given, struct heddle_loop_request **request)
{
	return submit(given, NULL, request);
}

int loop_part_submit(const struct heddle_loop *part, const struct loop_part *of,
                     struct heddle_loop_request **request)
{
	return submit(part, of, request);
}

static void loop_stats(const struct heddle_loop_request *loop, struct heddle_loop_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	snprintf(stats->strategy, sizeof(stats->strategy), loop->chosen ? "%s (%s)" : "%s",
	         loop->strategy ? loop->strategy : "stock", loop->chosen);
	stats->clock = loop->modelled ? HEDDLE_CLOCK_MODELLED : HEDDLE_CLOCK_WALL;
	stats->us = loop->end_us - loop->start_us;
	stats->learning_us = loop->learned_us - loop->start_us;
	stats->overhead_us = loop->overhead_ns / 1000.0;
	stats->blocks = loop->nblocks;
	stats->retried = loop->nretried;
	stats->late = loop->nlate;
	stats->nworkers = loop->nworkers;
	for (unsigned l = 0; l < loop->nworkers; l++)
		stats->workers[l] = loop->workers[l].stats;
}

int heddle_loop_wait(struct heddle_loop_request *loop, struct heddle_loop_stats *stats)
{
	int status;

	loop_late_watch(loop);
	control_wait(&loop->control);
	status = control_failed(&loop->control, loop->status);
	if (stats)
		loop_stats(loop, stats);
	loop_leave(loop);
	return status;
}

int heddle_loop_run(const struct heddle_loop *given, struct heddle_loop_stats *stats)
{
	struct heddle_loop_request *request;
	int status = heddle_loop_submit(given, &request);

	return status ? status : heddle_loop_wait(request, stats);
}
