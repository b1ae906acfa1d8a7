/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What ready tasks are worth to each class of devices.
 *
 * Tasks of one codelet and one set of parameters form a family, of which the
 * estimator believes one thing. The pool holds a family's tasks together, so that a
 * better belief moves all of them.
 *
 * Of a class that has not run a family yet its speed is not known: one task of the
 * family goes there first, a *probe*, and no second one for that reason. While it
 * runs, the class is believed to need at least as long as it has been running:
 * accelerators need not wait for the end of it to know that they are faster.
 *
 * An accelerator is *promising*: it is expected to be the fastest, and others leave a
 * first task to it, until it has run one, and another one if the first may have loaded
 * a kernel (doc/internals/policies.md, "Trials").
 *
 * A core is not, nor is an accelerator that has been tried in vain. It gets no probe that
 * might delay the end: a slow device could need PROBE_FACTOR times as long as the
 * fastest one that is known, and all others must have work for that long. A time that
 * the estimator does not believe until it is confirmed counts meanwhile, and a second
 * probe must be twice as bearable.
 *
 * A worker *wants* a task unless devices that run it faster would have finished this
 * task, and all that they do before, before the worker has finished it alone:
 * then taking it can only delay the end. Each task that the worker leaves so, it
 * leaves no longer than it would have needed for it: the faster devices may be busy
 * with things that no policy knows of.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "sched_policies/ready.h"

#define PROBE_FACTOR 64
/* Tries of a class of accelerators, beside a first run on each of them. */
#define TRIES 2

/* ---- families ---- */

static size_t family_slot(unsigned long id)
{
	return (id * 0x9e3779b97f4a7c15u >> 40) % READY_FAMILIES;
}

/* The place of a family, taken or free; NULL: all are taken by others. */
static struct ready_family *family_find(struct ready_context *c, unsigned long id)
{
	size_t slot = family_slot(id);

	for (size_t i = 0; i < READY_FAMILIES; i++, slot = (slot + 1) % READY_FAMILIES)
		if (!c->families[slot].id || c->families[slot].id == id)
			return &c->families[slot];
	return NULL;
}

/* A family that a key or a probe names: none ever leaves the table, so it is there. */
static struct ready_family *family_known(struct ready_context *c, unsigned long id)
{
	size_t slot = family_slot(id);

	while (c->families[slot].id != id)
		slot = (slot + 1) % READY_FAMILIES;
	return &c->families[slot];
}

/* The shortest time that is believed of classes other than one; 0: none is. */
static double best_other_us(const struct ready_context *c, const struct heddle_pool_key *key,
                            unsigned kind)
{
	int best = INT_MAX;

	for (unsigned k = 0; k < c->nkinds; k++)
		if (k != kind && c->count[k] && heddle_pool_key_runs(key, k) &&
		    key->cost[k] != HEDDLE_POOL_NO_COST && key->cost[k] < best)
			best = key->cost[k];
	return best == INT_MAX ? 0 : heddle_pool_us(best);
}

/* Whether a class may be tried with a family once more, whatever it might cost. */
static bool has_tries(const struct ready_context *c, const struct ready_family *family,
                      unsigned kind)
{
	return c->accelerators >> kind & 1 && family->tries[kind] < c->count[kind] + TRIES;
}

/* Whether an accelerator is expected to be the fastest, as long as nothing is known to the
 * contrary. */
static bool is_promising(struct ready_context *c, const struct heddle_pool_key *key, unsigned kind)
{
	const struct ready_family *family = family_known(c, key->type);
	double other_us;

	if (family->measured >> kind & 1 || !has_tries(c, family, kind))
		return false;
	other_us = best_other_us(c, key, kind);
	return family->us[kind] <= 0 || other_us <= 0 || family->us[kind] < other_us;
}

/* Whether a class is about to try a task: no other one of the family, and one of its workers
 * is not busy with another try, of which nobody knows the end. */
static bool will_try(struct ready_context *c, const struct heddle_pool_key *key, unsigned kind,
                     int probed)
{
	unsigned probes = 0;

	if (!key->type || key->cost[kind] != HEDDLE_POOL_NO_COST || !is_promising(c, key, kind) ||
	    (family_known(c, key->type)->probing >> kind & 1 && probed != (int)kind))
		return false;
	for (unsigned w = 0; c->nprobes && w < c->nworkers; w++)
		probes += c->workers[w].kind == kind && c->workers[w].probe;
	return probes < c->count[kind];
}

/* Time that a class needs for what it has to do before a task that is handed in now.
 * @param load_us of one worker
 * @param now_us 0: what it has started does not count */
static struct heddle_gain_helper helper_of(const struct ready_context *c, unsigned kind,
                                           double load_us, double now_us)
{
	struct heddle_gain_helper helper = {.workers = c->count[kind],
	                                    .load_us = c->claimed_us[kind] + load_us};

	for (unsigned w = 0; now_us > 0 && w < c->nworkers; w++)
		if (c->workers[w].kind == kind && c->workers[w].busy_until_us > now_us)
			helper.busy_us += c->workers[w].busy_until_us - now_us;
	return helper;
}

/* Time that classes other than one need for all that is ready. */
static double finish_all_us(struct ready_context *c, const struct heddle_pool_key *key,
                            unsigned except)
{
	struct heddle_gain_helper helpers[HEDDLE_POOL_CLASSES];
	unsigned n = 0;

	for (unsigned k = 0; k < c->nkinds; k++)
		if (k != except && c->count[k] && heddle_pool_key_runs(key, k))
			helpers[n++] = helper_of(c, k, heddle_pool_load(c->pool, k), 0);
	return heddle_gain_finish(helpers, n);
}

/* Time that classes that need less than a cost for a task need for what they prefer to it, and
 * it: the rest others can do meanwhile. What a class is about to try counts as such. */
static double finish_us(const struct ready_asker *asker, const struct heddle_pool_key *key,
                        int cost, double now_us)
{
	struct ready_context *c = asker->c;
	struct heddle_gain_helper helpers[HEDDLE_POOL_CLASSES];
	unsigned n = 0;

	for (unsigned k = 0; k < c->nkinds; k++) {
		bool known = key->cost[k] != HEDDLE_POOL_NO_COST;

		if (k == c->workers[asker->id].kind || !c->count[k] ||
		    !heddle_pool_key_runs(key, k) ||
		    !(known ? key->cost[k] < cost : will_try(c, key, k, asker->probed)))
			continue;
		helpers[n++] = helper_of(c, k, heddle_pool_load_above(c->pool, k, key), now_us);
	}
	return heddle_gain_finish(helpers, n);
}

/* Whether everybody else has work for as long as a probe might take. */
static bool probe_is_bearable(struct ready_context *c, const struct heddle_pool_key *key,
                              const struct ready_family *family, unsigned kind)
{
	double us = best_other_us(c, key, kind);

	if (us <= 0 || is_promising(c, key, kind))
		return true; /* somebody must be the first */
	us = fmax(us, 2 * family->tried_us[kind]);
	return finish_all_us(c, key, kind) >= PROBE_FACTOR * us;
}

struct valuation {
	const struct ready_context *c;
	const struct ready_family *family;
};

/* heddle_pool_revalue()'s: gains by what is believed, what nobody knows first. */
static void family_value(struct heddle_pool_key *key, void *arg)
{
	const struct valuation *valuation = arg;
	const struct ready_family *family = valuation->family;
	unsigned unknown = ~(family->measured | family->probing | family->shy);
	unsigned kinds = 0;

	heddle_gain_set(key, family->us, valuation->c->reference);
	for (unsigned k = 0; k < valuation->c->nkinds; k++)
		kinds += valuation->c->count[k] && heddle_pool_key_runs(key, k);
	for (unsigned k = 0; kinds > 1 && k < valuation->c->nkinds; k++)
		if (unknown >> k & 1 && heddle_pool_key_runs(key, k))
			key->gain[k] = HEDDLE_POOL_UNKNOWN;
}

static void family_publish(struct ready_context *c, const struct ready_family *family)
{
	struct valuation valuation = {c, family};

	heddle_pool_revalue(c->pool, family->id, family_value, &valuation);
	ready_claims_renew(c, family->id);
}

/* Whether all that is known of an accelerator is a first run, which others beat: what it
 * loaded for that run may have taken the most of it. */
static bool is_first_run(const struct ready_context *c, const struct ready_family *family,
                         const struct heddle_estimate *estimates, unsigned kind)
{
	const struct heddle_estimate *estimate = &estimates[kind];

	if (!estimate->first || estimate->source != HEDDLE_ESTIMATE_ONLINE ||
	    !has_tries(c, family, kind))
		return false;
	for (unsigned k = 0; k < c->nkinds; k++)
		if (estimates[k].us > 0 && estimates[k].us < estimate->us)
			return true;
	return false;
}

/* Takes over what the estimator believes now. @return whether anything changed */
static bool family_learn(struct ready_context *c, struct ready_family *family,
                         const struct heddle_estimate *estimates)
{
	unsigned measured = 0;
	bool changed = false;

	for (unsigned k = 0; k < c->nkinds; k++) {
		double us = estimates[k].us;
		int cost;

		if (is_first_run(c, family, estimates, k))
			us = family->tried_us[k];
		else if (estimates[k].source > HEDDLE_ESTIMATE_NEIGHBOURS)
			measured |= 1u << k;
		else
			us = fmax(us, family->tried_us[k]);
		cost = heddle_pool_cost(us);
		changed |= cost != family->cost[k];
		family->cost[k] = cost;
		family->us[k] = us;
	}
	changed |= measured != family->measured;
	family->measured = measured;
	family->probing &= ~measured;
	return changed;
}

/* The family of a task, with what is believed now; NULL: it has none. */
static struct ready_family *family_of(struct ready_context *c, struct starpu_task *task)
{
	struct heddle_estimate estimates[HEDDLE_POOL_CLASSES];
	unsigned long id = heddle_estimate_key(task);
	struct ready_family *family = id ? family_find(c, id) : NULL;

	if (!family || (family->id && !(~family->measured & ((1u << c->nkinds) - 1))))
		return family;
	/* What others teach about it may have changed. */
	heddle_estimate_all(task, c->nkinds, estimates);
	if (family->id) {
		if (family_learn(c, family, estimates))
			family_publish(c, family);
		return family;
	}
	*family = (struct ready_family){.id = id};
	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		family->cost[k] = HEDDLE_POOL_NO_COST;
	family_learn(c, family, estimates);
	return family;
}

/* ---- what the pool is told ---- */

unsigned long ready_introduce(const struct ready_context *c, struct starpu_task *task)
{
	struct heddle_estimate estimates[HEDDLE_POOL_CLASSES];

	if (!c->choosing)
		return 0;
	heddle_estimate_all(task, c->nkinds, estimates);
	return heddle_estimate_key(task);
}

static void key_of_stranger(struct ready_context *c, struct starpu_task *task,
                            struct heddle_pool_key *key)
{
	struct heddle_estimate estimates[HEDDLE_POOL_CLASSES];
	double us[HEDDLE_POOL_CLASSES] = {0};

	heddle_estimate_all(task, c->nkinds, estimates);
	for (unsigned k = 0; k < c->nkinds; k++)
		us[k] = estimates[k].us;
	heddle_gain_set(key, us, c->reference);
}

/* Whether a class of devices has a worker that a task may run on. */
static bool kind_is_allowed(const struct ready_context *c, const struct starpu_task *task,
                            unsigned kind)
{
	for (unsigned w = 0; task->workerids_len && w < c->nworkers; w++)
		if (c->workers[w].kind == kind && w / 32 < task->workerids_len &&
		    task->workerids[w / 32] >> w % 32 & 1)
			return true;
	return !task->workerids_len;
}

/* Where it can run. */
static void key_init(struct ready_context *c, struct starpu_task *task, struct heddle_pool_key *key)
{
	heddle_pool_key_init(key);
	key->priority = task->priority;
	key->tag = policy_task_tag(task);
	for (unsigned k = 0; k < c->nkinds; k++) {
		if (!((uint32_t)task->where & c->where[k]) || !kind_is_allowed(c, task, k))
			continue;
		key->gain[k] = 0;
		if (c->mixed[k])
			key->tag = HEDDLE_POOL_INDIVIDUAL;
	}
}

/* Whether no worker of a class of devices agrees to a task (can_execute) now. */
static bool kind_refuses(const struct ready_context *c, struct starpu_task *task, unsigned kind)
{
	for (unsigned w = 0; w < c->nworkers; w++)
		if (c->workers[w].kind == kind && policy_accepts(task, &w))
			return false;
	return true;
}

/* Who refuses a task is no help with it, whatever its speed; it may be asked again.
 * @return whether there is such a class */
static bool key_of_refused(struct ready_context *c, struct starpu_task *task,
                           struct heddle_pool_key *key)
{
	bool any = false;

	for (unsigned k = 0; task->cl->can_execute && k < c->nkinds; k++) {
		if (!heddle_pool_key_runs(key, k) || !kind_refuses(c, task, k))
			continue;
		if (!any)
			key_of_stranger(c, task, key);
		key->cost[k] = HEDDLE_POOL_NO_COST;
		any = true;
	}
	return any;
}

void ready_task_key(struct ready_context *c, struct starpu_task *task, struct heddle_pool_key *key)
{
	struct ready_family *family;

	key_init(c, task, key);
	if (!c->choosing || key_of_refused(c, task, key))
		return;
	family = family_of(c, task);
	if (!family) {
		key_of_stranger(c, task, key);
		return;
	}
	key->type = family->id;
	ready_key_renew(c, key);
	for (unsigned k = 0; family->shy && k < c->nkinds; k++)
		if (family->shy >> k & 1 && probe_is_bearable(c, key, family, k)) {
			family->shy &= ~(1u << k);
			ready_key_renew(c, key);
		}
}

void ready_key_renew(struct ready_context *c, struct heddle_pool_key *key)
{
	if (key->type)
		family_value(key, &(struct valuation){c, family_known(c, key->type)});
}

/* ---- who takes what ---- */

/* What a worker must expect of a task. Of what its class has not run it may need as
 * long as a probe may. */
static double expected_us(struct ready_context *c, const struct heddle_pool_key *key, unsigned kind)
{
	double us = heddle_pool_us(key->cost[kind]);

	if (!key->type || ready_is_probe(key, kind) ||
	    family_known(c, key->type)->measured >> kind & 1 || is_promising(c, key, kind))
		return us;
	return fmax(us, PROBE_FACTOR * best_other_us(c, key, kind));
}

bool ready_wants(const struct heddle_pool_key *key, double since_us, void *arg)
{
	struct ready_asker *asker = arg;
	struct ready_context *c = asker->c;
	const struct ready_worker *worker = &c->workers[asker->id];
	double us = c->patient ? expected_us(c, key, worker->kind) : 0, own_us, until_us;
	int cost = key->cost[worker->kind];

	if (us <= 0)
		return true;
	if (cost == HEDDLE_POOL_NO_COST) /* nothing but the worst is expected */
		cost = heddle_pool_cost(us);
	/* Nothing of this depends on the priority: what is left to others of one would be
	 * left of another. */
	own_us = us + worker->claims_us;
	/* What the others have started comes on top; usually it does not matter. */
	if (own_us <= finish_us(asker, key, cost, 0))
		return true;
	if (worker->busy_until_us > asker->now_us)
		own_us += worker->busy_until_us - asker->now_us;
	if (own_us <= finish_us(asker, key, cost, asker->now_us))
		return true;
	if (worker->waits_since_us > since_us)
		since_us = worker->waits_since_us;
	until_us = us + (worker->waits_since_us > 0 ? since_us : asker->now_us);
	if (asker->now_us >= until_us)
		return true;
	if (asker->look_at_us <= 0 || until_us < asker->look_at_us)
		asker->look_at_us = until_us;
	return false;
}

bool ready_probe_begin(struct ready_asker *asker, const struct heddle_pool_key *key)
{
	struct ready_context *c = asker->c;
	unsigned kind = c->workers[asker->id].kind;
	struct ready_family *family = family_known(c, key->type);
	bool bearable = probe_is_bearable(c, key, family, kind);

	if (bearable)
		family->probing |= 1u << kind;
	else
		family->shy |= 1u << kind;
	family_publish(c, family);
	return bearable;
}

void ready_probe_started(struct ready_context *c, unsigned id, const struct heddle_pool_key *key,
                         double now_us)
{
	struct ready_worker *worker = &c->workers[id];

	c->nprobes += !worker->probe;
	worker->probe = key->type;
	worker->probe_since_us = now_us;
}

static void probe_age(struct ready_context *c, const struct ready_worker *worker, double now_us)
{
	struct ready_family *family = family_known(c, worker->probe);
	double us = now_us - worker->probe_since_us;
	int cost = heddle_pool_cost(us);

	if (family->measured >> worker->kind & 1 || cost <= family->cost[worker->kind])
		return;
	family->tried_us[worker->kind] = us;
	family->us[worker->kind] = us;
	family->cost[worker->kind] = cost;
	family_publish(c, family);
}

void ready_probes_age(struct ready_context *c, double now_us)
{
	for (unsigned w = 0; c->nprobes && w < c->nworkers; w++)
		if (c->workers[w].probe)
			probe_age(c, &c->workers[w], now_us);
}

void ready_probe_cancel(struct ready_context *c, const struct heddle_pool_key *key, unsigned kind)
{
	struct ready_family *family = family_known(c, key->type);

	family->probing &= ~(1u << kind);
	family_publish(c, family);
}

/* Whether what is believed of a family on a worker's class is about what the pool was
 * told: costs are steps of 9 %, and times on the border of two go to and fro. */
static bool told_already(struct ready_worker *worker, unsigned long family,
                         const struct heddle_estimate *estimate)
{
	size_t slot = (family * 0x9e3779b97f4a7c15u >> 40) % READY_TOLD;
	int cost = heddle_pool_cost(estimate->us);

	if (estimate->source <= HEDDLE_ESTIMATE_NEIGHBOURS)
		return false;
	if (worker->told[slot].family == family && abs(worker->told[slot].cost - cost) <= 1)
		return true;
	worker->told[slot].family = family;
	worker->told[slot].cost = cost;
	return false;
}

void ready_task_measured(struct ready_context *c, struct starpu_task *task, unsigned id, double us)
{
	struct heddle_estimate estimates[HEDDLE_POOL_CLASSES];
	struct ready_worker *worker = &c->workers[id];
	struct ready_family *family;
	unsigned long key;

	heddle_estimate_executed(task, id, us);
	if (!c->choosing)
		return;
	key = heddle_estimate_key(task);
	heddle_estimate_all(task, c->nkinds, estimates);
	if (!key || (!worker->probe && told_already(worker, key, &estimates[worker->kind])))
		return;
	policy_lock(&c->mutex);
	family = family_find(c, key);
	if (family && family->id) {
		if (worker->probe == family->id) {
			worker->probe = 0;
			c->nprobes--;
		}
		family->probing &= ~(1u << worker->kind);
		family->tried_us[worker->kind] = has_tries(c, family, worker->kind) ? 0 : us;
		family->tries[worker->kind]++;
		family_learn(c, family, estimates);
		family_publish(c, family);
	}
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
}
