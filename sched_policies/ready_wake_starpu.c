/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Who is woken for a task. Lists are made under the mutex, or for a task that has just
 * been handed in, and used without it.
 */
#include "config.h"

#include <string.h>

#include "sched_policies/ready.h"

/* ---- who took tasks of a family last ---- */

static atomic_uchar *taker_of(struct ready_context *c, unsigned long family)
{
	return &c->taker[(family * 0x9e3779b97f4a7c15u >> 40) % READY_TAKERS];
}

void ready_taker_remember(struct ready_context *c, unsigned long family, unsigned kind)
{
	atomic_uchar *taker = taker_of(c, family);

	if (atomic_load_explicit(taker, memory_order_relaxed) != kind + 1)
		atomic_store_explicit(taker, kind + 1, memory_order_relaxed);
}

/* ---- for a task that becomes ready ---- */

void ready_readership_find(struct ready_context *c, struct starpu_task *task, unsigned long family,
                           struct ready_readership *readers)
{
	unsigned char taker = atomic_load_explicit(taker_of(c, family), memory_order_relaxed);

	readers->kind = taker ? taker - 1u : c->reference;
	readers->kinds = 0;
	readers->special = policy_task_tag(task) != HEDDLE_POOL_UNIFORM;
	for (unsigned k = 0; k < c->nkinds; k++) {
		if ((uint32_t)task->where & c->where[k])
			readers->kinds |= 1u << k;
		readers->special |= c->mixed[k];
	}
	if (!readers->special)
		return;
	memset(&readers->workers, 0, sizeof(readers->workers));
	for (unsigned id = 0; id < c->nworkers; id++)
		if (policy_accepts(task, &id))
			waiters_add(&readers->workers, id);
}

static bool readership_has(const struct ready_context *c, const struct ready_readership *readers,
                           unsigned id)
{
	return (readers->kinds >> c->workers[id].kind & 1) &&
	       (!readers->special || waiters_has(&readers->workers, id));
}

void ready_wake_readers(struct ready_context *c, const struct ready_readership *readers,
                        struct wake_list *list)
{
	int *ids;
	unsigned n;

	list->n = 0;
	if (!waiters_any(&c->waiters))
		return;
	n = starpu_sched_ctx_get_workers_list_raw(c->id, &ids);
	for (unsigned i = 0; i < 2 * n; i++) {
		unsigned id = ids[i % n];

		if (id >= c->nworkers || !waiters_has(&c->waiters, id) ||
		    (c->workers[id].kind == readers->kind) != (i < n) ||
		    !readership_has(c, readers, id))
			continue;
		list->workers[list->n++] = id;
		if (!starpu_sched_ctx_overlapping_ctxs_on_worker(id))
			return;
	}
}

/* ---- for what is left ---- */

/* What is known of the waiting workers of each class. */
struct survey {
	double now_us;
	unsigned asked;                         /* bit k: one of class k has nothing to do */
	double look_at_us[HEDDLE_POOL_CLASSES]; /* and looks again then */
};

static void look_again(struct ready_worker *worker, double at_us, double now_us)
{
	double before_us = atomic_load_explicit(&worker->look_at_us, memory_order_relaxed);

	if (at_us > 0 && (before_us <= now_us || at_us < before_us))
		atomic_store_explicit(&worker->look_at_us, at_us, memory_order_relaxed);
}

/* Whether there is work for a waiting worker. Those of a class give the same answer,
 * unless one has waited long. */
static bool has_work(struct ready_context *c, unsigned id, struct survey *survey)
{
	struct ready_worker *worker = &c->workers[id];
	double look_at_us = atomic_load_explicit(&worker->look_at_us, memory_order_relaxed);
	bool asked = survey->asked >> worker->kind & 1;

	if (!asked || c->special || (look_at_us > 0 && look_at_us <= survey->now_us)) {
		struct ready_asker asker = {c, id, survey->now_us, 0, -1, -1};

		if (ready_find(&asker))
			return true;
		survey->look_at_us[worker->kind] = asker.look_at_us;
		survey->asked |= 1u << worker->kind;
	}
	look_again(worker, survey->look_at_us[worker->kind], survey->now_us);
	return false;
}

void ready_wake_further(struct ready_context *c, struct wake_list *list)
{
	struct survey survey = {0};
	int *ids;
	unsigned n;

	list->n = 0;
	ready_inbox_empty(c);
	if (!atomic_load(&c->unstarted) || !waiters_any(&c->waiters))
		return;
	survey.now_us = c->choosing ? starpu_timing_now() : 0;
	n = starpu_sched_ctx_get_workers_list_raw(c->id, &ids);
	for (unsigned i = 0; i < n; i++) {
		unsigned id = ids[i];

		if (id >= c->nworkers || !waiters_has(&c->waiters, id) || !has_work(c, id, &survey))
			continue;
		list->workers[list->n++] = id;
		if (!starpu_sched_ctx_overlapping_ctxs_on_worker(id))
			return;
	}
}
