/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What ready tasks are worth to each class of devices. The tasks of one codelet and one set of
 * parameters are a task type: the estimator gives the same times for all of them, and the pool
 * moves all that wait when the times change.
 */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sched_policies/ready.h"

/* A trial is the first task of a type on a class of devices whose speed is not known; there is one
 * at a time. While it runs, the class is taken to need at least as long as the trial has been
 * running: accelerators need not wait for its end to know that they are faster.
 *
 * An accelerator is promising, that is, taken to be the fastest, until it has run a task of the
 * type, and another one if the first may have loaded a kernel (doc/internals/policies.md,
 * "Trials"). Others leave a first task to it.
 *
 * A core is not promising, nor is an accelerator that was slow. It gets no trial that might delay
 * the end: a slow device could need TRIAL_FACTOR times as long as the fastest known one, and all
 * others must have work for that long. Otherwise the type is deferred on the class. A time that
 * the estimator wants confirmed counts meanwhile. */
#define TRIAL_FACTOR 64
#define LEAST_FACTOR 4
/* What a plan takes a promising accelerator to be faster by, as long as nothing is known. */
#define PROMISE 8
/* Cores leave first tasks to a promising accelerator that is free within that time, us. A first run
 * that takes longer loads something. */
#define SOON 20000
/* What a core is taken to do in 1 us of the operations that tasks state, until one has run. */
#define CORE_FLOPS 20e3
/* What it is hoped to do, as long as the question is whether cores help at all. */
#define CORE_HOPE 100e3
/* Steps of cost by which an estimate may change before plans take notice, and by which the least
 * one may before ranks do. */
#define SAME 1
/* A spread changes when it does by more than that factor. */
#define SPREAD 1.5
#define SAME_RANK 4
/* The least time of a type follows longer ones by one part in so many. */
#define FORGETS 16
/* Runs that are counted on a class of accelerators, beside a first one on each of them. */
#define MORE_RUNS 2
/* A first run that takes so many times as long as later ones has loaded something. */
#define LOADS 1.5
/* So many types of which none has loaded anything tell that others will not, either. */
#define SURE 2
/* What they tell holds for so many times as long as the first run took. */
#define BELIEVED 4

/* ---- the table of task types ---- */

/* The place of a type, taken or free; NULL: all are taken by others. */
static struct ready_type *type_find(struct ready_context *c, unsigned long id)
{
	size_t place = ready_type_place(id, READY_TYPES);

	for (size_t i = 0; i < READY_TYPES; i++, place = (place + 1) % READY_TYPES)
		if (!c->types[place].id || c->types[place].id == id)
			return &c->types[place];
	return NULL;
}

/* A type that a key or a trial names: none ever leaves the table, so it is there. */
struct ready_type *ready_type_of(struct ready_context *c, unsigned long id)
{
	size_t place = ready_type_place(id, READY_TYPES);

	while (c->types[place].id != id)
		place = (place + 1) % READY_TYPES;
	return &c->types[place];
}

/* The shortest estimate for classes other than one; 0: there is none. In a plan a type may know
 * more than the keys of its tasks. */
static double best_other_us(struct ready_context *c, const struct heddle_pool_key *key,
                            unsigned class)
{
	const int *cost = key->type ? ready_type_of(c, key->type)->cost : key->cost;
	int best = INT_MAX;

	for (unsigned k = 0; k < c->nclasses; k++)
		if (k != class && c->count[k] && heddle_pool_key_runs(key, k) &&
		    cost[k] != HEDDLE_POOL_NO_COST && cost[k] < best)
			best = cost[k];
	return best == INT_MAX ? 0 : heddle_pool_us(best);
}

/* Whether a class may be tried with a type once more, whatever it might cost. */
static bool runs_left(const struct ready_context *c, const struct ready_type *type, unsigned class)
{
	return c->accelerators >> class & 1 && type->runs[class] < c->count[class] + MORE_RUNS;
}

/* Whether a first run counts like others: those of other types took as long as later ones. Not for
 * ever: this one may differ. */
static bool first_counts(const struct ready_context *c, const struct ready_type *type,
                         unsigned class)
{
	double us = type->first_us[class];

	return us > 0 && !c->loading[class] && c->plain[class] >= SURE &&
	       starpu_timing_now() < type->first_at_us[class] + BELIEVED * us;
}

/* Notes whether the first run of a type has loaded something, when a later one tells. */
static void first_compare(struct ready_context *c, struct ready_type *type, unsigned class,
                          const struct heddle_estimate *estimate)
{
	if (type->first_us[class] <= 0 || estimate->first ||
	    estimate->source != HEDDLE_ESTIMATE_ONLINE)
		return;
	if (type->first_us[class] > LOADS * estimate->us)
		c->loading[class]++;
	else
		c->plain[class]++;
	type->first_us[class] = 0;
}

/* Whether an accelerator is taken to be the fastest: nothing is known to the contrary. */
static bool is_promising(struct ready_context *c, const struct heddle_pool_key *key, unsigned class)
{
	const struct ready_type *type = ready_type_of(c, key->type);
	double other_us;

	if (type->told >> class & 1 || !runs_left(c, type, class) || first_counts(c, type, class))
		return false;
	other_us = best_other_us(c, key, class);
	return type->us[class] <= 0 || other_us <= 0 || type->us[class] < other_us;
}

/* Whether a class is about to try a task: no other one of the type, and one of its workers
 * is not busy with another try, of which nobody knows the end. */
static bool will_try(struct ready_context *c, const struct heddle_pool_key *key, unsigned class,
                     int trying)
{
	unsigned trials = 0;

	if (!key->type || key->cost[class] != HEDDLE_POOL_NO_COST || !is_promising(c, key, class) ||
	    (ready_type_of(c, key->type)->trying >> class & 1 && trying != (int)class))
		return false;
	for (unsigned w = 0; c->ntrials && w < c->nworkers; w++)
		trials += c->workers[w].class == class && c->workers[w].trial;
	return trials < c->count[class];
}

/* Time that a class needs for what it has to do before a task that is handed in now.
 * @param load_us of one worker
 * @param now_us 0: what it has started does not count */
static struct heddle_gain_helper helper_of(const struct ready_context *c, unsigned class,
                                           double load_us, double now_us)
{
	struct heddle_gain_helper helper = {.workers = c->count[class],
	                                    .load_us = c->claimed_us[class] + load_us};

	for (unsigned w = 0; now_us > 0 && w < c->nworkers; w++)
		if (c->workers[w].class == class && c->workers[w].busy_until_us > now_us)
			helper.busy_us += c->workers[w].busy_until_us - now_us;
	return helper;
}

/* Time that classes other than one need for all that is ready. */
static double finish_all_us(struct ready_context *c, const struct heddle_pool_key *key,
                            unsigned except)
{
	struct heddle_gain_helper helpers[HEDDLE_POOL_CLASSES];
	unsigned n = 0;

	for (unsigned k = 0; k < c->nclasses; k++)
		if (k != except && c->count[k] && !ready_rests(c, k) &&
		    heddle_pool_key_runs(key, k))
			helpers[n++] = helper_of(c, k, heddle_pool_load(c->pool, k), 0);
	return heddle_gain_finish(helpers, n);
}

/* What a class needs for each task beside its time, in a stream: an accelerator starts it, and may
 * wait for its input. */
static double start_us(const struct ready_context *c, unsigned class)
{
	return ready_counts_transfers(c)
	           ? atomic_load_explicit(&c->gap_us[class], memory_order_relaxed)
	           : 0;
}

/* Time that classes that need less than a cost for a task need for what they prefer to it, and
 * it: the rest others can do meanwhile. What a class is about to try counts as such. */
static double finish_us(const struct ready_requester *requester, const struct heddle_pool_key *key,
                        int cost, double now_us)
{
	struct ready_context *c = requester->c;
	struct heddle_gain_helper helpers[HEDDLE_POOL_CLASSES];
	unsigned n = 0;

	for (unsigned k = 0; k < c->nclasses; k++) {
		bool known = key->cost[k] != HEDDLE_POOL_NO_COST;
		double load_us;

		if (k == c->workers[requester->id].class || !c->count[k] || ready_rests(c, k) ||
		    !heddle_pool_key_runs(key, k) ||
		    !(known ? key->cost[k] < cost : will_try(c, key, k, requester->trying)))
			continue;
		load_us = heddle_pool_load_above(c->pool, k, key, start_us(c, k));
		helpers[n++] = helper_of(c, k, load_us, now_us);
	}
	return heddle_gain_finish(helpers, n);
}

/* How long a trial may take: TRIAL_FACTOR times as long as on the fastest class. On a core, the
 * operations that the task states by the least speed of cores so far. Without them, in a plan,
 * where the class has run other types, for each byte as long as the slowest of them. Where it has
 * not, for each byte at most TRIAL_FACTOR times as long as the fastest type on any class: that an
 * accelerator is slow with this type says little of cores. But it says something: the tasks of a
 * type may compute far more for each byte than others. So neither is less than LEAST_FACTOR times
 * as long as on the fastest class. */
static double trial_longest_us(const struct ready_context *c, const struct ready_type *type,
                               unsigned class, double other_us)
{
	double us = TRIAL_FACTOR * fmax(other_us, 1), rate = c->flops_per_us[class];

	if (type->flops > 0 && !(c->accelerators >> class & 1))
		return type->flops / (rate > 0 ? rate : CORE_FLOPS);
	if (c->us_per_byte[class] > 0 && type->bytes)
		us = c->us_per_byte[class] * type->bytes;
	else if (c->least_us_per_byte > 0 && type->bytes)
		us = fmin(us, TRIAL_FACTOR * c->least_us_per_byte * type->bytes);
	return fmax(us, LEAST_FACTOR * other_us);
}

/* How short a trial may be. What takes another class more than TRIAL_FACTOR times as long for each
 * byte as the fastest type does not suit that class: then so many times that type's time for each
 * byte. Else as long as on the other class. */
static double trial_least_us(const struct ready_context *c, const struct ready_type *type,
                             double other_us)
{
	double us = TRIAL_FACTOR * c->least_us_per_byte * type->bytes;

	return us > 0 && type->flops <= 0 ? fmin(us, other_us) : other_us;
}

/* A class has run a task of a type. */
static void speed_measured(struct ready_context *c, const struct ready_type *type, unsigned class,
                           double us)
{
	double rate = us > 0 ? type->flops / us : 0;
	double per_byte = type->bytes ? us / type->bytes : 0;

	c->us_per_byte[class] = fmax(c->us_per_byte[class], per_byte);
	if (per_byte > 0 && (c->least_us_per_byte <= 0 || per_byte < c->least_us_per_byte))
		c->least_us_per_byte = per_byte;
	if (rate > 0 && (c->flops_per_us[class] <= 0 || rate < c->flops_per_us[class]))
		c->flops_per_us[class] = rate;
}

/* Whether a worker of a class runs a first task. */
static bool class_tries(const struct ready_context *c, unsigned class)
{
	for (unsigned w = 0; c->ntrials && w < c->nworkers; w++)
		if (c->workers[w].class == class && c->workers[w].trial)
			return true;
	return false;
}

/* Whether a class may try a task just so. Nothing depends on the tasks, so a trial can delay the
 * end alone; and that is far: of so many tasks as have waited at once, half still do. Where the
 * tasks state their operations, more is known of how long a trial may take. */
static bool trial_is_far_from_end(const struct ready_context *c, const struct ready_type *type,
                                  unsigned class)
{
	return c->flat && type->flops <= 0 &&
	       2 * (heddle_pool_count(c->pool) + c->claims.total) >= c->most &&
	       !class_tries(c, class);
}

/* Whether a trial takes no longer than the task would on the best other class, by the operations
 * that the task states. */
static bool trial_is_short(struct ready_context *c, const struct heddle_pool_key *key,
                           const struct ready_type *type, unsigned class)
{
	double other_us = best_other_us(c, key, class);

	return type->flops > 0 && other_us > 0 &&
	       trial_longest_us(c, type, class, other_us) <= other_us;
}

/* Whether a trial is worth its risk. The class may need any time from trial_least_us() to
 * TRIAL_FACTOR times that of the others; each doubling is taken to be as likely. Where all is done
 * before the trial and what depends on it, it delays the end. Otherwise the class may do its part
 * of the other tasks of the type in the rest of the time. */
static bool trial_pays(struct ready_context *c, const struct heddle_pool_key *key,
                       const struct ready_type *type, unsigned class)
{
	double other_us = best_other_us(c, key, class), others = 0, own = c->count[class];
	double left_us, rest_us, sum_us = 0, ahead = c->plan ? ready_plan_ahead(c, type->id) : 0;
	double after_us = ready_is_planned(c) ? key->rank : 0;

	if (other_us <= 0 || ahead <= 0)
		return true;
	for (unsigned k = 0; k < c->nclasses; k++)
		if (k != class && type->told >> k & 1)
			others += c->count[k];
	if (others <= 0) /* no other one has run any yet: there is nothing to compare with */
		return true;
	left_us = ready_is_planned(c) ? ready_plan_left_us(c) : finish_all_us(c, key, class);
	rest_us = (ahead - 1) * other_us / others;
	for (double us = trial_least_us(c, type, other_us); us <= TRIAL_FACTOR * other_us;
	     us *= 2) {
		double factor = us / other_us;

		if (us < type->trial_us[class])
			continue;
		sum_us -= fmax(0, us + after_us - left_us);
		if (us < left_us)
			sum_us += rest_us * (1 - us / left_us) * own / (own + factor * others);
	}
	return sum_us >= 0;
}

/* Whether a trial waits for the second run of an accelerator: its first one may load something. All
 * that waits would seem to take as long, and so any trial to be bearable. */
static bool trial_waits(struct ready_context *c, const struct heddle_pool_key *key,
                        const struct ready_type *type, unsigned class)
{
	unsigned first = type->first | (type->flops > 0 ? type->trying : 0);

	for (unsigned k = 0; k < c->nclasses; k++)
		if (k != class && first >> k & 1 && c->count[k] && runs_left(c, type, k))
			return best_other_us(c, key, class) > 0;
	return false;
}

/* Whether a class will have a worker free before long. */
static bool is_free_soon(const struct ready_context *c, unsigned class)
{
	double now_us = starpu_timing_now();

	for (unsigned w = 0; w < c->nworkers; w++) {
		const struct ready_worker *worker = &c->workers[w];

		if (worker->class == class && starpu_sched_ctx_contains_worker(w, c->id) &&
		    worker->busy_until_us + worker->claims_us <= now_us + SOON &&
		    !(worker->trial && worker->trial_since_us + SOON < now_us))
			return true;
	}
	return false;
}

/* Whether another class is about to find out how fast it is, and likely the fastest. */
static bool other_promises(struct ready_context *c, const struct heddle_pool_key *key,
                           unsigned class)
{
	for (unsigned k = 0; k < c->nclasses; k++)
		if (k != class && c->count[k] && heddle_pool_key_runs(key, k) &&
		    is_promising(c, key, k) && is_free_soon(c, k))
			return true;
	return false;
}

/* Whether the first run of a type on a core is left to an accelerator: the task states its
 * operations, so that it is known how long the core may take. Nobody has run any. */
static bool first_is_left(struct ready_context *c, const struct heddle_pool_key *key,
                          const struct ready_type *type, unsigned class)
{
	return type->flops > 0 && best_other_us(c, key, class) <= 0 &&
	       other_promises(c, key, class);
}

/* Whether everybody else has work for as long as a trial might take. */
static bool trial_is_bearable(struct ready_context *c, const struct heddle_pool_key *key,
                              const struct ready_type *type, unsigned class)
{
	double us = best_other_us(c, key, class);

	if (is_promising(c, key, class))
		return true;
	if (us <= 0) /* somebody must be the first */
		return !first_is_left(c, key, type, class);
	if (trial_is_short(c, key, type, class))
		return true;
	if (trial_waits(c, key, type, class) || !trial_pays(c, key, type, class))
		return false;
	if (trial_is_far_from_end(c, type, class))
		return true;
	return finish_all_us(c, key, class) >= trial_longest_us(c, type, class, us);
}

/* How long a plan takes a trial to be: as long as it may be. But where the geometric mean of that
 * and of how short it may be is less than the other class needs, it takes that mean. */
static double trial_likely_us(const struct ready_context *c, const struct ready_type *type,
                              unsigned class, double other_us)
{
	double us = trial_longest_us(c, type, class, other_us);
	double likely_us = sqrt(trial_least_us(c, type, other_us) * us);

	return likely_us < other_us ? likely_us : us;
}

struct valuation {
	const struct ready_context *c;
	struct ready_type *type;
};

/* Gives a key the same as the last one, if all that it follows from is the same. */
static bool value_again(const struct ready_context *c, const struct ready_type *type, unsigned runs,
                        unsigned unknown, struct heddle_pool_key *key)
{
	const struct ready_valued *valued = &type->valued;

	if (valued->runs != runs || valued->unknown != unknown)
		return false;
	for (unsigned k = 0; k < c->nclasses; k++)
		if (type->us[k] != valued->us[k] || type->spread[k] != valued->spread[k])
			return false;
	for (unsigned k = 0; k < c->nclasses; k++)
		if (runs >> k & 1) {
			key->gain[k] = valued->gain[k];
			key->cost[k] = valued->cost[k];
		}
	return true;
}

static void value_note(struct ready_type *type, unsigned runs, unsigned unknown,
                       const struct heddle_pool_key *key)
{
	struct ready_valued *valued = &type->valued;

	valued->runs = runs;
	valued->unknown = unknown;
	memcpy(valued->us, type->us, sizeof(valued->us));
	memcpy(valued->spread, type->spread, sizeof(valued->spread));
	memcpy(valued->gain, key->gain, sizeof(valued->gain));
	memcpy(valued->cost, key->cost, sizeof(valued->cost));
}

/* heddle_pool_revalue()'s: gains by the estimates, what nobody knows first. */
static void type_value(struct heddle_pool_key *key, void *arg)
{
	const struct valuation *valuation = arg;
	const struct ready_context *c = valuation->c;
	struct ready_type *type = valuation->type;
	unsigned unknown = ~(type->told | type->trying | type->deferred);
	unsigned classes = 0, runs = 0;

	for (unsigned k = 0; k < c->nclasses; k++) {
		runs |= (unsigned)heddle_pool_key_runs(key, k) << k;
		classes += c->count[k] && heddle_pool_key_runs(key, k);
	}
	unknown &= classes > 1 ? runs : 0;
	if (value_again(c, type, runs, unknown, key))
		return;
	heddle_gain_set(key, type->us, type->spread, c->reference);
	for (unsigned k = 0; k < c->nclasses; k++)
		if (unknown >> k & 1)
			key->gain[k] = HEDDLE_POOL_UNKNOWN;
	value_note(type, runs, unknown, key);
}

/* Gives a key the estimates of its type. */
static void key_renew(struct ready_context *c, struct heddle_pool_key *key)
{
	if (key->type)
		type_value(key, &(struct valuation){c, ready_type_of(c, key->type)});
}

/* ---- the load that claims are ---- */

/* Adds (or takes off) a task that a worker has claimed. */
static void load_add(struct ready_context *c, unsigned id, const struct heddle_pool_key *key,
                     int sign)
{
	struct ready_worker *worker = &c->workers[id];

	worker->claims_us += sign * heddle_pool_us(key->cost[worker->class]);
	for (unsigned k = 0; c->choosing && k < c->nclasses; k++)
		if (heddle_pool_key_runs(key, k))
			c->claimed_us[k] += sign * heddle_pool_us(key->cost[k]);
}

/* The estimates of a type have changed. Its claims are valued like its tasks in the pool, or one
 * would be left to others and what comes after it not. */
static void claims_renew(struct ready_context *c, unsigned long type)
{
	for (unsigned w = 0; c->claims.total && w < c->nworkers; w++)
		for (size_t i = 0; i < claims_count(&c->claims, w); i++) {
			struct heddle_pool_key *key = &claims_at(&c->claims, w, i)->entry.key;

			if (key->type != type)
				continue;
			load_add(c, w, key, -1);
			key_renew(c, key);
			load_add(c, w, key, 1);
		}
}

/* ---- what is known of a type changes ---- */

/* Moves the tasks of a type to where its estimates put them. */
static void type_publish(struct ready_context *c, struct ready_type *type)
{
	struct valuation valuation = {c, type};

	heddle_pool_revalue(c->pool, type->id, type_value, &valuation);
	claims_renew(c, type->id);
}

/* Whether all that is known of an accelerator is a first run, which others beat: what it
 * loaded for that run may have taken the most of it. */
static bool is_first_run(const struct ready_context *c, const struct ready_type *type,
                         const struct heddle_estimate *estimates, unsigned class)
{
	const struct heddle_estimate *estimate = &estimates[class];

	if (!(type->first >> class & 1) || !runs_left(c, type, class) ||
	    first_counts(c, type, class))
		return false;
	for (unsigned k = 0; k < c->nclasses; k++)
		if (estimates[k].us > 0 && estimates[k].us < estimate->us)
			return true;
	return false;
}

/* Whether a cost that plans look ahead with may stay: otherwise all that waits has to move. */
static bool cost_stays(int cost, int renewed, int same)
{
	return cost == renewed || (cost != HEDDLE_POOL_NO_COST && renewed != HEDDLE_POOL_NO_COST &&
	                           abs(renewed - cost) <= same);
}

/* Plans are to know new estimates. */
static void plan_learns(struct ready_context *c, struct ready_type *type)
{
	int least = HEDDLE_POOL_NO_COST;
	bool ranks, first = type->ranked == HEDDLE_POOL_NO_COST;

	for (unsigned k = 0; k < c->nclasses; k++)
		if (least == HEDDLE_POOL_NO_COST ||
		    (type->cost[k] != HEDDLE_POOL_NO_COST && type->cost[k] < least))
			least = type->cost[k];
	ranks = !cost_stays(type->ranked, least, SAME_RANK);
	if (ranks)
		type->ranked = least;
	ready_plan_learned(c, ranks, first);
}

/* How sure estimates are: small changes are not worth moving what waits. @return whether it
 * changed */
static bool type_learn_spreads(const struct ready_context *c, struct ready_type *type)
{
	double spreads[HEDDLE_POOL_CLASSES];
	bool changed = false;

	heddle_estimate_spreads(type->id, c->nclasses, spreads);
	for (unsigned k = 0; k < c->nclasses; k++) {
		if (spreads[k] <= SPREAD * type->spread[k] &&
		    type->spread[k] <= SPREAD * spreads[k])
			continue;
		type->spread[k] = spreads[k];
		changed = true;
	}
	return changed;
}

/* A time that was measured anew. */
static void least_learn(struct ready_type *type, unsigned class, double us)
{
	double *least_us = &type->least_us[class];

	*least_us = *least_us > 0 && us > *least_us ? *least_us + (us - *least_us) / FORGETS : us;
}

/* Takes over estimates. @return whether anything changed */
static bool type_learn(struct ready_context *c, struct ready_type *type,
                       const struct heddle_estimate *estimates)
{
	unsigned measured = 0, told = 0, first = type->first;
	bool changed = false;

	type->first = 0;
	for (unsigned k = 0; k < c->nclasses; k++) {
		double us = estimates[k].us;
		int cost;

		if (estimates[k].first && estimates[k].source == HEDDLE_ESTIMATE_ONLINE)
			type->first |= 1u << k;
		first_compare(c, type, k, &estimates[k]);
		if (is_first_run(c, type, estimates, k))
			us = type->trial_us[k];
		else if (estimates[k].source > HEDDLE_ESTIMATE_NEIGHBOURS)
			measured |= 1u << k;
		else
			us = fmax(us, type->trial_us[k]);
		if (estimates[k].source == HEDDLE_ESTIMATE_NEIGHBOURS && us > 0)
			told |= 1u << k;
		cost = heddle_pool_cost(us);
		if (c->plan && cost_stays(type->cost[k], cost, SAME))
			continue;
		changed |= cost != type->cost[k];
		type->cost[k] = cost;
		type->us[k] = us;
	}
	if (first & ~type->first)
		type->known_us = starpu_timing_now();
	told |= measured;
	changed |= told != type->told;
	if (changed && c->plan)
		plan_learns(c, type);
	type->measured = measured;
	type->told = told;
	type->trying &= ~measured;
	return type_learn_spreads(c, type) || changed;
}

/* Takes over what tasks of other types have told. @return whether anything changed */
static bool type_look(struct ready_context *c, struct ready_type *type)
{
	struct heddle_estimate estimates[HEDDLE_POOL_CLASSES];

	if (!(~type->measured & type->classes) && !type->first)
		return false;
	heddle_estimate_known(type->id, c->nclasses, estimates);
	return type_learn(c, type, estimates);
}

static bool type_renew(struct ready_context *c, struct ready_type *type)
{
	bool changed = type_look(c, type);

	if (changed)
		type_publish(c, type);
	return changed;
}

void ready_type_look(struct ready_context *c, const struct heddle_pool_key *key)
{
	struct ready_type *type = key->type ? ready_type_of(c, key->type) : NULL;

	if (!type || type->looked == c->looks)
		return;
	type->looked = c->looks;
	type->moves = type_look(c, type);
	c->moves |= type->moves;
}

void ready_types_move(struct ready_context *c)
{
	for (size_t i = 0; c->moves && i < READY_TYPES; i++)
		if (c->types[i].moves) {
			c->types[i].moves = false;
			type_publish(c, &c->types[i]);
		}
	c->moves = false;
	c->looks++;
}

bool ready_type_renew(struct ready_context *c, const struct heddle_pool_key *key)
{
	return key->type && type_renew(c, ready_type_of(c, key->type));
}

/* A type, with the estimates of now; NULL: there is none.
 * @param classes bit k: class k can run the task in question */
static struct ready_type *type_of(struct ready_context *c, unsigned long id, unsigned classes)
{
	struct heddle_estimate estimates[HEDDLE_POOL_CLASSES];
	struct ready_type *type = id ? type_find(c, id) : NULL;

	if (!type)
		return NULL;
	if (type->id) {
		type->classes |= classes;
		type_renew(c, type);
		return type;
	}
	heddle_estimate_known(id, c->nclasses, estimates);
	*type = (struct ready_type){
	    .id = id, .ranked = HEDDLE_POOL_NO_COST, .classes = classes, .looked = c->looks};
	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		type->cost[k] = HEDDLE_POOL_NO_COST;
	type_learn(c, type, estimates);
	return type;
}

/* ---- keys ---- */

/* A key that stays as it is when estimates change. */
static void key_of_stranger(struct ready_context *c, unsigned long id, struct heddle_pool_key *key)
{
	struct heddle_estimate estimates[HEDDLE_POOL_CLASSES];
	double us[HEDDLE_POOL_CLASSES] = {0};

	heddle_estimate_known(id, c->nclasses, estimates);
	for (unsigned k = 0; k < c->nclasses; k++)
		us[k] = estimates[k].us;
	heddle_gain_set(key, us, NULL, c->reference);
}

/* Whether a class of devices has a worker that a task may run on. */
static bool class_is_allowed(const struct ready_context *c, const struct starpu_task *task,
                             unsigned class)
{
	for (unsigned w = 0; task->workerids_len && w < c->nworkers; w++)
		if (c->workers[w].class == class && w / 32 < task->workerids_len &&
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
	for (unsigned k = 0; k < c->nclasses; k++) {
		if (!((uint32_t)task->where & c->where[k]) || !class_is_allowed(c, task, k))
			continue;
		key->gain[k] = 0;
		if (c->mixed[k])
			key->tag = HEDDLE_POOL_INDIVIDUAL;
	}
}

/* Whether no worker of a class of devices agrees to a task (can_execute) now. */
static bool class_refuses(const struct ready_context *c, struct starpu_task *task, unsigned class)
{
	for (unsigned w = 0; w < c->nworkers; w++)
		if (c->workers[w].class == class && policy_accepts(task, &w))
			return false;
	return true;
}

/* Who refuses a task is no help with it, whatever its speed; it may be asked again.
 * @return whether there is such a class */
static bool key_of_refused(struct ready_context *c, struct starpu_task *task, unsigned long id,
                           struct heddle_pool_key *key)
{
	bool any = false;

	for (unsigned k = 0; task->cl->can_execute && k < c->nclasses; k++) {
		if (!heddle_pool_key_runs(key, k) || !class_refuses(c, task, k))
			continue;
		if (!any)
			key_of_stranger(c, id, key);
		key->cost[k] = HEDDLE_POOL_NO_COST;
		any = true;
	}
	return any;
}

size_t ready_task_bytes(struct starpu_task *task)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); i++)
		bytes += starpu_data_get_size(STARPU_TASK_GET_HANDLE(task, i));
	return bytes;
}

void ready_task_key(struct ready_context *c, struct starpu_task *task, bool choosing,
                    struct heddle_pool_key *key)
{
	/* ready_push() has asked: the task carries the answer. */
	unsigned long id = choosing ? heddle_estimate_key(task) : 0;
	struct ready_type *type;

	key_init(c, task, key);
	if (!choosing && c->choosing) {
		key->gain[c->reference] = HEDDLE_POOL_ALONE;
		key->cost[c->reference] =
		    heddle_pool_cost(atomic_load_explicit(&c->core_us, memory_order_relaxed));
	}
	if (!choosing || key_of_refused(c, task, id, key))
		return;
	type = type_of(c, id, ready_task_classes(c, task));
	if (!type) {
		key_of_stranger(c, id, key);
		return;
	}
	key->type = type->id;
	if (c->plan && !type->bytes)
		type->bytes = ready_task_bytes(task);
	ready_pace_ask(c, type, task);
	if (type->flops <= 0)
		type->flops = task->flops;
	key_renew(c, key);
	for (unsigned k = 0; type->deferred && k < c->nclasses; k++)
		if (type->deferred >> k & 1 && trial_is_bearable(c, key, type, k)) {
			type->deferred &= ~(1u << k);
			key_renew(c, key);
		}
}

/* ---- what a worker wants ---- */

/* The longest that a worker may need for a task: of what its class has not run, as long as a
 * trial may. Nobody has an idea of that where no other class has run any either, and the task does
 * not state its operations. */
static double longest_us(struct ready_context *c, const struct heddle_pool_key *key, unsigned class)
{
	const struct ready_type *type = key->type ? ready_type_of(c, key->type) : NULL;
	double us = heddle_pool_us(key->cost[class]), other_us = best_other_us(c, key, class);

	if (!type || ready_is_trial(key, class) || type->told >> class & 1 ||
	    is_promising(c, key, class) || (other_us <= 0 && type->flops <= 0))
		return us;
	return fmax(us, trial_longest_us(c, type, class, other_us));
}

bool ready_is_measured(struct ready_context *c, const struct heddle_pool_key *key, unsigned class)
{
	return key->type && ready_type_of(c, key->type)->measured >> class & 1;
}

double ready_planned_us(struct ready_context *c, const struct heddle_pool_key *key, unsigned class,
                        bool *trial)
{
	const struct ready_type *type = key->type ? ready_type_of(c, key->type) : NULL;
	double us = type ? type->us[class] : heddle_pool_us(key->cost[class]), other_us;

	if (!type || type->told >> class & 1)
		return us > 0 ? us : 1;
	other_us = best_other_us(c, key, class);
	if (type->deferred >> class & 1)
		return 0;
	*trial = !(type->trying >> class & 1);
	if (is_promising(c, key, class))
		return us > 0 ? us : fmax(other_us / PROMISE, 1);
	if (!*trial || (!trial_is_short(c, key, type, class) &&
	                (class_tries(c, class) || trial_waits(c, key, type, class) ||
	                 !trial_pays(c, key, type, class))))
		return 0;
	if (trial_is_far_from_end(c, type, class))
		return fmax(us, fmax(other_us, 1));
	if (other_promises(c, key, class))
		return 0;
	return fmax(us, trial_likely_us(c, type, class, other_us));
}

bool ready_may_repeat(struct ready_context *c, const struct heddle_pool_key *key, unsigned id)
{
	const struct ready_type *type = key->type ? ready_type_of(c, key->type) : NULL;
	unsigned class = c->workers[id].class;

	return !type || !(type->first >> class & 1) || type->told >> class & 1 ||
	       type->loaded[class] == id + 1 ||
	       !starpu_sched_ctx_contains_worker(type->loaded[class] - 1, c->id);
}

double ready_longest_us(struct ready_context *c, const struct heddle_pool_key *key, unsigned class)
{
	if (!key->type)
		return 0;
	return trial_longest_us(c, ready_type_of(c, key->type), class,
	                        best_other_us(c, key, class));
}

/* What a class needs for a task: measured, or as long as a plan takes a trial to be. 0: the class
 * does not try it now, or it is an accelerator that is about to show how fast it is. */
static double likely_us(struct ready_context *c, const struct heddle_pool_key *key,
                        const struct ready_type *type, unsigned class)
{
	bool trial = false;

	if (type->told >> class & 1)
		return heddle_pool_us(key->cost[class]);
	return is_promising(c, key, class) ? 0 : ready_planned_us(c, key, class, &trial);
}

bool ready_other_ends_first(struct ready_context *c, const struct heddle_pool_key *key, unsigned id)
{
	const struct ready_type *type = key->type ? ready_type_of(c, key->type) : NULL;
	unsigned class = c->workers[id].class;
	double us[HEDDLE_POOL_CLASSES] = {0}, own_us, now_us;
	bool any = false;

	if (!type || !(type->told >> class & 1))
		return false;
	own_us = heddle_pool_us(key->cost[class]);
	for (unsigned k = 0; k < c->nclasses; k++)
		if (k != class && c->count[k] && !ready_rests(c, k) &&
		    heddle_pool_key_runs(key, k)) {
			us[k] = likely_us(c, key, type, k);
			any |= us[k] > 0 && us[k] < own_us;
		}
	if (!any)
		return false;
	now_us = starpu_timing_now();
	for (unsigned w = 0; w < c->nworkers; w++) {
		const struct ready_worker *worker = &c->workers[w];

		if (us[worker->class] > 0 && starpu_sched_ctx_contains_worker(w, c->id) &&
		    fmax(worker->busy_until_us, now_us) + worker->claims_us + us[worker->class] <
		        now_us + own_us)
			return true;
	}
	return false;
}

bool ready_is_ruled_out(struct ready_context *c, const struct heddle_pool_key *key, unsigned class)
{
	return ready_rests(c, class) && key->type && ready_hoped_us(c, key->type) > 0 &&
	       best_other_us(c, key, class) > 0;
}

void ready_type_times(struct ready_context *c, unsigned long id, double *us)
{
	const struct ready_type *type = type_find(c, id);
	bool any = false;

	for (unsigned k = 0; k < c->nclasses; k++)
		any |= us[k] > 0 ||
		       (us[k] < 0 && type && type->id && (type->told & c->accelerators) >> k & 1);
	for (unsigned k = 0; any && type && type->id && k < c->nclasses; k++)
		if (us[k] < 0 && type->told >> k & 1)
			us[k] = type->us[k];
}

double ready_least_us(struct ready_context *c, unsigned long id, unsigned class)
{
	const struct ready_type *type = type_find(c, id);

	return type && type->id ? type->least_us[class] : 0;
}

double ready_hoped_us(struct ready_context *c, unsigned long id)
{
	const struct ready_type *type = type_find(c, id);

	return type && type->id && type->flops > 0 ? type->flops / CORE_HOPE : -1;
}

static void look_again(struct ready_requester *requester, double at_us)
{
	if (requester->look_at_us <= 0 || at_us < requester->look_at_us)
		requester->look_at_us = at_us;
}

/* Whether it is too early to say whether a worker should run a task that states its operations: its
 * class has run none of the type, and an accelerator none either, or only had a first run. */
static bool is_early(struct ready_context *c, const struct heddle_pool_key *key, unsigned class)
{
	const struct ready_type *type = key->type ? ready_type_of(c, key->type) : NULL;

	return type && type->flops > 0 && !(type->told >> class & 1) &&
	       !is_promising(c, key, class) &&
	       (trial_waits(c, key, type, class) || first_is_left(c, key, type, class));
}

/* When a worker that has waited since some time takes a task that needs so long: it has left the
 * task to others for that time. And as fast as they have begun tasks since it waits, the task would
 * end before they have done all that is left, or they have not begun any for that time. */
static double bets_at_us(const struct ready_context *c, const struct ready_worker *worker,
                         double since_us, double us)
{
	struct ready_starts others = ready_others_starts(c, worker->class);
	double begun = others.n - worker->waits_starts;
	double done_us = us * begun / fmax(atomic_load(&c->unstarted), 1);

	return fmax(since_us + us, fmin(worker->waits_since_us + done_us, others.last_us + us));
}

/* ---- what must travel ---- */

/* Time in which workers of other classes, as far as they know a task's time, have done all that is
 * ready, this task too. */
static double others_us(const struct ready_requester *requester, const struct heddle_pool_key *key)
{
	const struct ready_context *c = requester->c;
	struct heddle_gain_helper helpers[HEDDLE_POOL_CLASSES] = {0};
	double us[HEDDLE_POOL_CLASSES] = {0}, least_us = INFINITY;

	for (unsigned k = 0; k < c->nclasses; k++) {
		if (k == c->workers[requester->id].class || ready_rests(c, k) ||
		    !heddle_pool_key_runs(key, k) || key->cost[k] == HEDDLE_POOL_NO_COST)
			continue;
		us[k] = heddle_pool_us(key->cost[k]);
		helpers[k].workers = c->count[k];
		helpers[k].load_us = heddle_pool_load(c->pool, k);
	}
	for (unsigned w = 0; w < c->nworkers; w++) {
		const struct ready_worker *worker = &c->workers[w];
		double busy_us =
		    worker->claims_us + fmax(0, worker->busy_until_us - requester->now_us);

		helpers[worker->class].busy_us += busy_us;
		if (us[worker->class] > 0)
			least_us = fmin(least_us, busy_us + us[worker->class]);
	}
	return fmax(least_us, heddle_gain_finish(helpers, c->nclasses));
}

/* Whether an accelerator takes a task in vain: until its data have come, it has run there, and what
 * it has written is back, all others would have done all that is ready.
 * @param[out] moves_us how long the data travel */
static bool is_in_vain(const struct ready_requester *requester, const struct heddle_pool_key *key,
                       struct starpu_task *task, double us, double *moves_us)
{
	const struct ready_context *c = requester->c;
	const struct ready_worker *worker = &c->workers[requester->id];
	double fetch_us, return_us, begin_us;

	*moves_us = 0;
	if (!worker->accelerator || !ready_counts_transfers(c))
		return false;
	fetch_us = ready_fetch_us(task, worker->node);
	return_us = ready_return_us(task, worker->node);
	*moves_us = fetch_us + return_us;
	if (*moves_us <= 0)
		return false;
	begin_us = fmax(worker->claims_us + fmax(0, worker->busy_until_us - requester->now_us),
	                fmax(0, worker->arrival_us - requester->now_us) + fetch_us);
	return begin_us + us + return_us > others_us(requester, key);
}

/* How long a task's data travel, if an accelerator does it that needs less than a cost for it: the
 * least time of these. */
static double others_move_us(const struct ready_requester *requester,
                             const struct heddle_pool_key *key, int cost, struct starpu_task *task)
{
	const struct ready_context *c = requester->c;
	unsigned class = c->workers[requester->id].class, node = UINT_MAX;
	double least_us = INFINITY;

	for (unsigned w = 0; w < c->nworkers && ready_counts_transfers(c); w++) {
		const struct ready_worker *worker = &c->workers[w];
		unsigned k = worker->class;

		/* Workers of one accelerator follow each other. */
		if (k == class || worker->node == node || !heddle_pool_key_runs(key, k) ||
		    key->cost[k] == HEDDLE_POOL_NO_COST || key->cost[k] >= cost)
			continue;
		node = worker->node;
		least_us = fmin(least_us, ready_fetch_us(task, worker->node) +
		                              ready_return_us(task, worker->node));
	}
	return isinf(least_us) ? 0 : least_us;
}

/* A worker wants a task unless devices that run it faster would have finished it, and all that they
 * do before, before the worker has finished it alone: then taking it can only delay the end. They
 * may be busy with things that no policy knows of: so in the end it goes by what they have done. */
bool ready_wants(const struct heddle_pool_key *key, void *task, double since_us, void *arg)
{
	struct ready_requester *requester = arg;
	struct ready_context *c = requester->c;
	const struct ready_worker *worker = &c->workers[requester->id];
	double us = c->patient ? longest_us(c, key, worker->class) : 0, own_us, until_us, moves_us;
	const struct ready_type *type = key->type ? ready_type_of(c, key->type) : NULL;
	int cost = key->cost[worker->class];
	bool leaves;

	if (c->patient && ready_is_planned(c) && !ready_plan_leaves(c, key, requester->id))
		return false;
	if (us <= 0)
		return true;
	if (cost == HEDDLE_POOL_NO_COST) /* only the longest is known */
		cost = heddle_pool_cost(us);
	/* Nothing of this depends on the priority: what is left to others of one would be
	 * left of another. */
	own_us = us + worker->claims_us;
	leaves = is_in_vain(requester, key, task, us, &moves_us) || is_early(c, key, worker->class);
	/* What the others have started comes on top; usually it does not matter. */
	if (!leaves && own_us <= finish_us(requester, key, cost, 0))
		return true;
	if (worker->busy_until_us > requester->now_us)
		own_us += worker->busy_until_us - requester->now_us;
	if (!leaves && own_us <= finish_us(requester, key, cost, requester->now_us) +
	                             others_move_us(requester, key, cost, task))
		return true;
	if (type && !(type->told >> worker->class & 1)) {
		/* One such bet at a time; or it is the one in question. */
		if (type->trying >> worker->class & 1 && requester->trying != (int)worker->class)
			return false;
		since_us = fmax(c->busy_since_us, type->known_us);
	}
	if (worker->waits_since_us > since_us)
		since_us = worker->waits_since_us;
	us += moves_us;
	until_us = worker->waits_since_us > 0 ? bets_at_us(c, worker, since_us, us)
	                                      : requester->now_us + us;
	if (requester->now_us >= until_us)
		return true;
	look_again(requester, until_us);
	return false;
}

/* ---- trials ---- */

bool ready_is_bet(struct ready_context *c, const struct heddle_pool_key *key, unsigned class)
{
	const struct ready_type *type = key->type ? ready_type_of(c, key->type) : NULL;

	return type && type->deferred & ~(type->told | type->trying) & 1u << class;
}

void ready_trial_begin(struct ready_requester *requester, const struct heddle_pool_key *key)
{
	struct ready_context *c = requester->c;
	struct ready_type *type = ready_type_of(c, key->type);

	type->trying |= 1u << c->workers[requester->id].class;
	type_publish(c, type);
}

bool ready_trial_weigh(struct ready_requester *requester, const struct heddle_pool_key *key)
{
	struct ready_context *c = requester->c;
	unsigned class = c->workers[requester->id].class;
	struct ready_type *type = ready_type_of(c, key->type);

	if (trial_is_bearable(c, key, type, class)) {
		ready_trial_begin(requester, key);
		return true;
	}
	type->deferred |= 1u << class;
	type_publish(c, type);
	return false;
}

void ready_trial_started(struct ready_context *c, unsigned id, const struct heddle_pool_key *key,
                         double now_us)
{
	struct ready_worker *worker = &c->workers[id];

	c->ntrials += !worker->trial;
	worker->trial = key->type;
	worker->trial_since_us = now_us;
}

static void trial_age(struct ready_context *c, const struct ready_worker *worker, double now_us)
{
	struct ready_type *type = ready_type_of(c, worker->trial);
	double us = now_us - worker->trial_since_us;
	int cost = heddle_pool_cost(us);

	if (type->measured >> worker->class & 1 || cost <= type->cost[worker->class])
		return;
	type->trial_us[worker->class] = us;
	type->us[worker->class] = us;
	type->cost[worker->class] = cost;
	type_publish(c, type);
}

void ready_trials_age(struct ready_context *c, double now_us)
{
	for (unsigned w = 0; c->ntrials && w < c->nworkers; w++)
		if (c->workers[w].trial)
			trial_age(c, &c->workers[w], now_us);
}

void ready_trial_cancel(struct ready_context *c, const struct heddle_pool_key *key, unsigned class)
{
	struct ready_type *type = ready_type_of(c, key->type);

	type->trying &= ~(1u << class);
	type_publish(c, type);
}

/* ---- a task has run; claims ---- */

/* A class has ended a trial: it may begin another one. */
static void deferred_weigh_anew(struct ready_context *c, unsigned class)
{
	for (size_t i = 0; c->flat && i < READY_TYPES; i++)
		if (c->types[i].deferred >> class & 1) {
			c->types[i].deferred &= ~(1u << class);
			type_publish(c, &c->types[i]);
		}
}

void ready_type_measured(struct ready_context *c, unsigned id, unsigned long type_id, double us,
                         const struct heddle_estimate *estimates)
{
	struct ready_worker *worker = &c->workers[id];
	struct ready_type *type = type_find(c, type_id);
	bool tried;

	if (!type || !type->id)
		return;
	tried = type->trying >> worker->class & 1;
	if (worker->trial == type->id) {
		worker->trial = 0;
		c->ntrials--;
		deferred_weigh_anew(c, worker->class);
	}
	type->trying &= ~(1u << worker->class);
	type->trial_us[worker->class] = runs_left(c, type, worker->class) ? 0 : us;
	if (!type->runs[worker->class]++) {
		type->loaded[worker->class] = id + 1;
		type->first_us[worker->class] = estimates[worker->class].first ? us : 0;
		type->first_at_us[worker->class] = starpu_timing_now();
	}
	speed_measured(c, type, worker->class, us);
	if (type_learn(c, type, estimates) || tried)
		type_publish(c, type);
	if (type->measured >> worker->class & 1)
		least_learn(type, worker->class, estimates[worker->class].us);
}

static void claim_removed(unsigned id, const struct claim *claim, void *context)
{
	struct ready_context *c = context;
	struct ready_worker *worker = &c->workers[id];

	atomic_fetch_sub(&c->fetched_bytes[worker->node], claim->bytes);
	load_add(c, id, &claim->entry.key, -1);
	/* What rounding has left. */
	if (!claims_count(&c->claims, id))
		worker->claims_us = 0;
	if (!c->claims.total)
		memset(c->claimed_us, 0, sizeof(c->claimed_us));
}

void ready_claim_add(struct ready_context *c, unsigned id, const struct claim *claim)
{
	claims_add(&c->claims, id, claim);
	atomic_fetch_add(&c->fetched_bytes[c->workers[id].node], claim->bytes);
	load_add(c, id, &claim->entry.key, 1);
}

void ready_claim_remove(struct ready_context *c, unsigned id, size_t i, struct claim *claim)
{
	claims_remove(&c->claims, id, i, claim);
	claim_removed(id, claim, c);
}

static void claim_given_back(unsigned id, const struct claim *claim, void *context)
{
	struct ready_context *c = context;

	claim_removed(id, claim, c);
	if (claim->trial)
		ready_trial_cancel(c, &claim->entry.key, c->workers[id].class);
}

void ready_claims_give_back(struct ready_context *c, unsigned id)
{
	c->last.plain = false;
	claims_give_back(&c->claims, id, c->pool, claim_given_back, c);
}
