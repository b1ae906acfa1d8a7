/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A worker asks for a task: it takes the best one of the pool, of its own claims and of those of
 * others that it may take back. Then an accelerator claims more tasks ahead, and another worker is
 * woken if work is left for it.
 */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sched_policies/ready.h"

/* So many task types a worker looks at anew before it takes a task: what others have told may make
 * another one the best. */
#define LOOKS 64
/* A worker that has no part sleeps so long, us. Who has something for it wakes it; but a context
 * that it shares does not. Where StarPU is about to give it a task, it sleeps as long as it has
 * waited for that: whoever gives it may have lost its core, and does not wake it again. */
#define NAP 10000
#define SHORT_NAP 200
/* A core that takes part and has found nothing among tasks that wait, for so long, sleeps, us:
 * those that poll hold up the threads of accelerators. Who has something for it wakes it. */
#define PATIENCE 50
/* Who has found nothing sleeps for this part of the time since, but at least and at most so long,
 * us: the cores may do a loop's blocks, or not take part in it, and then 60 cores that poll take
 * the time of the threads that serve accelerators. */
#define IDLE_PART 0.125
#define DOZE 100
#define IDLE_MOST 1000

/* ---- choosing ---- */

/* Where a worker's next task comes from. */
struct choice {
	enum { NOWHERE, OWN, POOL, BACK } from;
	struct heddle_pool_place place;    /* in the pool */
	const struct heddle_pool_key *key; /* there or of the claim; not of one's own */
	unsigned owner;                    /* of the claim */
	size_t index;
	bool passes; /* it passes over another one */
};

static bool accepts(void *task, void *requester)
{
	return policy_accepts(task, &((struct ready_requester *)requester)->id);
}

/* The memory whose tasks a worker prefers; 0: none. */
static unsigned memory_of(const struct ready_requester *requester)
{
	const struct ready_worker *worker = &requester->c->workers[requester->id];

	return requester->c->nmemories && worker->accelerator ? worker->node : 0;
}

/* What a task costs a worker whose memory cannot hold all data. */
static size_t missing(void *task, size_t most, void *requester)
{
	struct ready_requester *of = requester;

	return ready_look(&of->looks, task, of->c->workers[of->id].node, most);
}

/* For whatever in the pool a worker takes. */
static struct heddle_pool_query query_of(struct ready_requester *requester)
{
	const struct ready_worker *worker = &requester->c->workers[requester->id];
	bool by_memory = ready_goes_by_memory(requester->c, worker);

	requester->looks = (struct ready_looks){.n = 0};
	return (struct heddle_pool_query){
	    .class = worker->class,
	    .least = INT_MIN,
	    .home = memory_of(requester),
	    .cost = by_memory ? missing : NULL,
	    .admit = requester->c->choosing ? ready_wants : NULL,
	    .accept = accepts,
	    .arg = requester,
	};
}

/* Finds a task in the pool. A worker that goes by its memory does not pass over those of a higher
 * priority for ever.
 * @param[out] passes it passes over one */
static const struct heddle_pool_key *pool_find(struct ready_requester *requester,
                                               const struct heddle_pool_query *query,
                                               struct heddle_pool_place *place, bool *passes)
{
	const struct ready_context *c = requester->c;
	const struct heddle_pool_key *key = heddle_pool_find(c->pool, query, place), *first;
	struct heddle_pool_query by_priority = *query;
	struct heddle_pool_place first_place;

	*passes = false;
	if (!key || !query->cost)
		return key;
	by_priority.cost = NULL;
	first = heddle_pool_find(c->pool, &by_priority, &first_place);
	if (!first || first->priority <= key->priority)
		return key;
	*passes = ready_may_pass(&c->workers[requester->id]);
	if (*passes)
		return key;
	*place = first_place;
	return first;
}

static bool claim_is_for(const struct claim *claim, unsigned owner, void *arg)
{
	struct ready_requester *requester = arg;
	struct ready_context *c = requester->c;
	const struct heddle_pool_key *key = &claim->entry.key;
	bool wanted;

	if (!heddle_pool_key_runs(key, c->workers[requester->id].class) ||
	    (requester->near && heddle_pool_is_far(claim->entry.home, memory_of(requester))) ||
	    !accepts(claim->entry.item, requester))
		return false;
	requester->trying = claim->trial ? (int)c->workers[owner].class : -1;
	wanted = ready_wants(key, claim->entry.item, claim->entry.since_us, requester);
	requester->trying = -1;
	return wanted;
}

static void choose_claimed(struct ready_requester *requester, int least, struct choice *choice)
{
	struct claims *claims = &requester->c->claims;
	struct claims_query query = {
	    .worker = requester->id, .least = least, .accept = claim_is_for, .arg = requester};
	unsigned owner;
	size_t index;

	if (ready_is_planned(requester->c) ? ready_plan_late(requester, least, &owner, &index)
	                                   : claims_find(claims, &query, &owner, &index))
		*choice = (struct choice){.from = BACK,
		                          .key = &claims_at(claims, owner, index)->entry.key,
		                          .owner = owner,
		                          .index = index};
}

/* The best task for a worker, wherever it lies: on equal priority its own claims
 * first, then the pool, then what others claimed. */
static struct choice choose(struct ready_requester *requester)
{
	struct ready_context *c = requester->c;
	struct heddle_pool_query query = query_of(requester);
	struct choice choice = {.from = NOWHERE};
	struct heddle_pool_place place;
	const struct heddle_pool_key *key;
	int best = INT_MIN;
	bool passes;

	if (claims_count(&c->claims, requester->id)) {
		choice = (struct choice){OWN, .owner = requester->id,
		                         .index = claims_best(&c->claims, requester->id)};
		best = claims_at(&c->claims, choice.owner, choice.index)->entry.key.priority;
		/* What goes by memory was chosen among those of higher priority. */
		if (best == INT_MAX || query.cost)
			return choice;
		query.least = best + 1;
	}
	key = pool_find(requester, &query, &place, &passes);
	if (key &&
	    !(choice.from == OWN && heddle_pool_is_far(heddle_pool_home(&place), query.home))) {
		choice =
		    (struct choice){.from = POOL, .key = key, .place = place, .passes = passes};
		best = key->priority;
	}
	requester->near = choice.from != NOWHERE;
	/* Under a plan, who got nothing waits for the next one. */
	if (choice.from == NOWHERE ? c->claims.total && !ready_is_planned(c)
	                           : !query.cost && c->claims.top > best)
		choose_claimed(requester, choice.from == NOWHERE ? INT_MIN : best + 1, &choice);
	return choice;
}

/* The same, but what would be a trial of a type is weighed again, also where another
 * worker has claimed it. Each type is refused at most once. */
static struct choice choose_weighed(struct ready_requester *requester, bool *trial)
{
	unsigned class = requester->c->workers[requester->id].class;
	struct choice choice;
	unsigned looks = 0;
	bool other;

	do {
		choice = choose(requester);
		other = choice.from == POOL || choice.from == BACK;
		*trial = other && ready_is_trial(choice.key, class);
	} while ((other && looks++ < LOOKS && ready_type_renew(requester->c, choice.key)) ||
	         (*trial && !ready_trial_weigh(requester, choice.key)));
	if (other && !*trial && ready_is_bet(requester->c, choice.key, class)) {
		ready_trial_begin(requester, choice.key);
		*trial = true;
	}
	return choice;
}

/* What a plan gives a worker, or what another worker is late with. */
static struct choice choose_planned(struct ready_requester *requester, bool *trial)
{
	struct ready_context *c = requester->c;
	struct choice choice = {.from = NOWHERE}, back = {.from = BACK};
	int least = INT_MIN;
	bool whole = ready_plan_make(requester);

	*trial = false;
	if (claims_count(&c->claims, requester->id)) {
		size_t best = claims_best(&c->claims, requester->id);

		choice = (struct choice){OWN, .owner = requester->id, .index = best};
		least = claims_at(&c->claims, requester->id, best)->entry.key.priority;
		if (c->claims.top <= least)
			return choice;
		least++;
	} else if (!whole) {
		return choice;
	}
	return ready_plan_late(requester, least, &back.owner, &back.index) ? back : choice;
}

/* ---- taking ---- */

/* Counts the members of each class anew where the context has changed. */
static void members_count(struct ready_context *c)
{
	int *ids;
	unsigned n = starpu_sched_ctx_get_nworkers(c->id);

	if (n == c->members)
		return;
	ready_local_close(c);
	c->members = n;
	n = starpu_sched_ctx_get_workers_list_raw(c->id, &ids);
	memset(c->count, 0, sizeof(c->count));
	for (unsigned i = 0; i < n; i++)
		if ((unsigned)ids[i] < c->nworkers)
			c->count[c->workers[ids[i]].class]++;
}

/* When the inputs of a task arrive that an accelerator takes in a stream; 0: they are there, or
 * nobody counts. */
static double arrival_us(const struct ready_requester *requester, struct starpu_task *task)
{
	struct ready_worker *worker = &requester->c->workers[requester->id];
	double us;

	if (!ready_counts_transfers(requester->c) || !worker->accelerator)
		return 0;
	us = ready_fetch_us(task, worker->node);
	if (us <= 0)
		return 0;
	return worker->arrival_us = fmax(worker->arrival_us, requester->now_us) + us;
}

/* Claims tasks until the worker has as many as it should. */
static void claim_ahead(struct ready_requester *requester)
{
	struct ready_context *c = requester->c;
	struct ready_worker *worker = &c->workers[requester->id];
	unsigned target = ready_queue_target(c, worker), looks = 0;

	while (claims_count(&c->claims, requester->id) < target &&
	       !claims_reserve(&c->claims, requester->id)) {
		struct claim claim = {.since_us = requester->now_us};
		struct heddle_pool_query query = query_of(requester);
		struct heddle_pool_place place;
		bool passes;
		const struct heddle_pool_key *key = pool_find(requester, &query, &place, &passes);

		if (!key)
			return;
		if (looks++ < LOOKS && ready_type_renew(c, key))
			continue;
		claim.bytes = ready_task_bytes(heddle_pool_at(&place));
		if (claim.bytes > ready_queue_room(c, worker->node))
			return;
		claim.trial = ready_is_trial(key, worker->class);
		heddle_pool_take(c->pool, &place, &claim.entry);
		ready_pass_note(worker, passes);
		if (claim.trial && !ready_trial_weigh(requester, &claim.entry.key))
			claim.trial = false; /* one task of the type is here already */
		claim.arrival_us = arrival_us(requester, claim.entry.item);
		ready_claim_add(c, requester->id, &claim);
	}
}

/* Estimates when a worker will have done what it has started: the first of its tasks has been
 * running since the end of the one before. Only where workers leave tasks to others. */
static void busy_note(const struct ready_context *c, struct ready_worker *worker, double now_us)
{
	double until_us = now_us, path_end_us = 0;

	if (!c->patient)
		return;
	if (worker->begun != worker->done)
		until_us = fmax(worker->start_us[worker->done % READY_PIPELINE], worker->done_us);
	for (unsigned i = worker->done; i != worker->started; i++) {
		until_us += worker->expected_us[i % READY_PIPELINE];
		until_us = fmax(until_us, now_us);
		path_end_us = fmax(path_end_us, until_us + worker->after_us[i % READY_PIPELINE]);
	}
	worker->busy_until_us = until_us;
	worker->path_end_us = path_end_us;
}

/* A worker of a class has taken a task of a type. */
static void taker_remember(struct ready_context *c, unsigned long type, unsigned class)
{
	atomic_uchar *taker = &c->taker[ready_type_place(type, READY_TAKERS)];

	if (atomic_load_explicit(taker, memory_order_relaxed) != class + 1)
		atomic_store_explicit(taker, class + 1, memory_order_relaxed);
}

static void started(struct ready_requester *requester, const struct heddle_pool_entry *entry,
                    const struct claim *claim, bool trial)
{
	struct ready_context *c = requester->c;
	struct ready_worker *worker = &c->workers[requester->id];
	double us = heddle_pool_us(entry->key.cost[worker->class]);

	atomic_fetch_sub(&c->unstarted, 1);
	c->starts[worker->class].n++;
	c->starts[worker->class].last_us = requester->now_us;
	if (c->plan)
		us += ready_plan_started(c, requester->id, entry->item,
		                         claim ? claim->arrival_us
		                               : arrival_us(requester, entry->item),
		                         requester->now_us);
	worker->plain = NULL;
	worker->blocks = worker->started && !worker->comes;
	worker->comes = false;
	worker->after_us[worker->started % READY_PIPELINE] = entry->key.rank;
	worker->fetch_us[worker->started % READY_PIPELINE] = claim ? claim->fetch_us : 0;
	worker->asked_us[worker->started % READY_PIPELINE] = claim ? claim->since_us : 0;
	worker->taken_us[worker->started % READY_PIPELINE] = requester->now_us;
	worker->expected_us[worker->started++ % READY_PIPELINE] = us;
	worker->waits_since_us = 0;
	atomic_store_explicit(&worker->rests_since_us, 0, memory_order_relaxed);
	atomic_store_explicit(&worker->look_at_us, 0, memory_order_relaxed);
	taker_remember(c, entry->key.type, worker->class);
	busy_note(c, worker, requester->now_us);
	if (trial)
		ready_trial_started(c, requester->id, &entry->key, requester->now_us);
	ready_queue_started(c, worker, entry, claim, requester->now_us);
}

/* Takes a worker's next task. @return whether there is one */
static bool take(struct ready_requester *requester, struct heddle_pool_entry *entry)
{
	struct ready_context *c = requester->c;
	struct ready_worker *worker = &c->workers[requester->id];
	struct claim claim;
	struct choice choice;
	bool trial, planned;

	ready_trials_age(c, requester->now_us);
	if (c->plan && !requester->full)
		ready_plan_weigh(c, requester->now_us);
	planned = ready_is_planned(c) && ready_plan_is_due(requester);
	choice = planned ? choose_planned(requester, &trial) : choose_weighed(requester, &trial);
	switch (choice.from) {
	case OWN:
	case BACK:
		ready_claim_remove(c, choice.owner, choice.index, &claim);
		if (choice.from == BACK && claim.input == CLAIM_INPUT_ASKED)
			requester->left = choice.owner;
		*entry = claim.entry;
		if (claim.trial && c->workers[choice.owner].class == worker->class)
			trial = true;
		else if (claim.trial)
			ready_trial_cancel(c, &entry->key, c->workers[choice.owner].class);
		break;
	case POOL:
		heddle_pool_take(c->pool, &choice.place, entry);
		ready_pass_note(worker, choice.passes);
		break;
	case NOWHERE:
		if (worker->waits_since_us <= 0) {
			worker->waits_since_us = requester->now_us;
			worker->waits_starts = ready_others_starts(c, worker->class).n;
		}
		atomic_store_explicit(&worker->look_at_us, requester->look_at_us,
		                      memory_order_relaxed);
		return false;
	}
	started(requester, entry, choice.from == OWN ? &claim : NULL, trial);
	if (!planned)
		claim_ahead(requester);
	return true;
}

/* ---- waking others for what is left ---- */

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
	bool asked = survey->asked >> worker->class & 1;

	/* Cores that poll see when the next plan is due. */
	if (ready_is_planned(c) &&
	    (ready_plan_is_current(c) || (POLICY_WORKERS_POLL && !worker->accelerator)))
		return claims_count(&c->claims, id);
	if (!asked || c->special || (look_at_us > 0 && look_at_us <= survey->now_us)) {
		struct ready_requester requester = {
		    .c = c, .id = id, .now_us = survey->now_us, .trying = -1, .left = -1};

		if (choose(&requester).from != NOWHERE)
			return true;
		survey->look_at_us[worker->class] = requester.look_at_us;
		survey->asked |= 1u << worker->class;
	}
	look_again(worker, survey->look_at_us[worker->class], survey->now_us);
	return false;
}

/* Work is left although somebody has just taken some: for whom that waits? */
static void wake_list_make(struct ready_context *c, struct wake_list *list)
{
	struct survey survey = {0};
	int *ids;
	unsigned n;

	/* Then cores look neither at claims nor at when a plan is due. */
	if (ready_cores_alone(c)) {
		ready_cores_wake_list_make(c, list);
		return;
	}
	list->n = 0;
	ready_inbox_empty(c);
	if (!atomic_load(&c->unstarted) || !waiters_any(&c->waiters))
		return;
	if (ready_is_planned(c) && !POLICY_WORKERS_POLL)
		ready_plan_renew(c);
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

/* ---- hooks ---- */

/* Whether there are tasks that nobody has started. */
static bool something_waits(const struct ready_context *c)
{
	return atomic_load(&c->unstarted) || ready_local_any(c);
}

/* Whether a worker need not look: its last look found nothing and nobody has woken it since, or
 * there is nothing at all.
 * @param[out] full it looks because a plan of everything is due */
static bool nothing_new(struct ready_context *c, struct ready_worker *worker, unsigned id,
                        bool *full)
{
	double look_at_us, now_us;
	bool full_is_due, looks;

	*full = false;
	if (ready_local_is_stale(c))
		return false;
	if (!waiters_stay(&c->waiters, id, &c->unstarted))
		return false;
	look_at_us = atomic_load_explicit(&worker->look_at_us, memory_order_relaxed);
	if (look_at_us <= 0 && !ready_is_planned(c))
		return true;
	now_us = starpu_timing_now();
	full_is_due = ready_is_planned(c) && ready_plan_full_is_due(c, now_us);
	looks = look_at_us > 0 && now_us >= look_at_us;
	/* The count of tasks comes last: it changes with each task. */
	if ((!full_is_due && !looks) || !something_waits(c))
		return true;
	*full = full_is_due && ready_plan_full_begin(c, now_us);
	return !*full && !looks;
}

/* Takes a task for a worker, or has it wait; the mutex is held. Who hands a task in
 * looks for waiting workers afterwards, so these look into the inbox once more. */
static void take_or_wait(struct ready_requester *requester, struct heddle_pool_entry *entry)
{
	struct ready_context *c = requester->c;

	if (ready_cores_alone(c)) { /* since it asked */
		if (c->workers[requester->id].class == c->reference)
			entry->item = ready_cores_take(c, requester->id);
		else
			waiters_add(&c->waiters, requester->id);
		return;
	}
	do {
		waiters_remove(&c->waiters, requester->id);
		ready_inbox_empty(c);
		requester->look_at_us = 0;
		if (take(requester, entry))
			return;
		waiters_add(&c->waiters, requester->id);
	} while (ready_inbox_waits(c));
}

/* How long a core sleeps that has found nothing for some time, us. */
static double part_us(unsigned id, double us)
{
	return fmin(IDLE_PART * us,
	            starpu_sched_ctx_overlapping_ctxs_on_worker(id) ? SHORT_NAP : IDLE_MOST);
}

/* How long a core sleeps for which nothing has come, neither tasks of the context nor others; us.
 */
static double idle_nap_us(struct ready_context *c, unsigned id, double roused_us)
{
	struct ready_worker *worker = &c->workers[id];
	unsigned pushed = atomic_load_explicit(&c->pushed, memory_order_relaxed);
	double now_us = starpu_timing_now(), nap_us;

	if (worker->idle_since_us <= 0 || pushed != worker->pushed) {
		worker->idle_since_us = now_us;
		worker->pushed = pushed;
	}
	nap_us = part_us(id, now_us - fmax(worker->idle_since_us, roused_us));
	return nap_us < DOZE ? 0 : nap_us;
}

/* How long one sleeps that has found nothing among tasks that wait. */
static double waiting_nap_us(const struct ready_worker *worker, unsigned id)
{
	double us = starpu_timing_now() - worker->waits_since_us;

	return us < PATIENCE ? 0 : fmax(part_us(id, us), DOZE);
}

/* How long a worker sleeps that found nothing, us. */
static unsigned nap_us(struct ready_context *c, unsigned id)
{
	const struct ready_worker *worker = &c->workers[id];
	double roused_us = atomic_load(&worker->roused_us);
	double waited_us = roused_us > 0 ? starpu_timing_now() - roused_us : NAP;

	if (waited_us < PATIENCE)
		return 0;
	if (ready_rests(c, worker->class) && starpu_sched_ctx_overlapping_ctxs_on_worker(id))
		return SHORT_NAP;
	if (ready_rests(c, worker->class))
		return fmin(fmax(waited_us, SHORT_NAP), NAP);
	if (!POLICY_WORKERS_POLL || worker->accelerator || !c->plan)
		return 0;
	if (!something_waits(c))
		return idle_nap_us(c, id, roused_us);
	if (!ready_is_planned(c) || worker->waits_since_us <= 0 || !atomic_load(&c->unstarted))
		return 0;
	return waiting_nap_us(worker, id);
}

/* Takes a worker's next task from the local queues. */
static struct starpu_task *local_take(struct ready_context *c, unsigned id)
{
	struct starpu_task *task = ready_local_take(c, id);

	c->workers[id].pool_last = false;
	if (task)
		policy_choose_implementation(task, id, c->id);
	return task;
}

/* What a worker gets before it looks into the pool: nothing is there, or it is the turn of the
 * local queues. */
static struct starpu_task *local_first(struct ready_context *c, unsigned id)
{
	if (!ready_local_any(c) || (atomic_load(&c->unstarted) && !c->workers[id].pool_last) ||
	    ready_plan_full_is_due(c, starpu_timing_now()))
		return NULL;
	return local_take(c, id);
}

/* What a worker gets for which the pool has nothing new. */
static struct starpu_task *local_or_wait(struct ready_context *c, unsigned id)
{
	struct ready_worker *worker = &c->workers[id];
	struct starpu_task *task = local_take(c, id);

	if (task)
		return task;
	if (worker->accelerator)
		ready_queue_idle(worker);
	policy_let_others(id, &c->waiters, nap_us(c, id));
	return NULL;
}

/* Takes the mutex. A core that polls does not queue for it, but under a plan: accelerators would
 * wait for all cores in line.
 * @return false: somebody has it; the core looks again soon */
static bool pool_lock(const struct ready_requester *requester)
{
	struct ready_context *c = requester->c;
	bool queues = !POLICY_WORKERS_POLL || c->workers[requester->id].accelerator ||
	              (ready_is_planned(c) && !ready_cores_alone(c));

	if (!queues && policy_trylock(&c->mutex))
		return true;
	/* Who has left the context does not come again, and has claims to give back. */
	if (!queues && starpu_sched_ctx_contains_worker(requester->id, c->id)) {
		policy_let_others(requester->id, &c->waiters, 0);
		return false;
	}
	ready_lock(c, requester->id);
	return true;
}

/* Looks into the pool, under the mutex.
 * @param[out] entry its item is NULL where there is nothing for the worker
 * @param[out] requests inputs to be asked for
 * @return whether the worker still belongs to the context, as far as it looked: StarPU does not
 * report that it has left */
static bool pool_pop(struct ready_requester *requester, struct heddle_pool_entry *entry,
                     struct claims_requests *requests)
{
	struct ready_context *c = requester->c;
	unsigned id = requester->id;
	struct wake_list wake;
	bool member;

	entry->item = NULL;
	requests->n = 0;
	if (!pool_lock(requester))
		return true;
	member = starpu_sched_ctx_contains_worker(id, c->id);
	if (member) {
		members_count(c);
		busy_note(c, &c->workers[id], requester->now_us);
		take_or_wait(requester, entry);
	} else {
		waiters_remove(&c->waiters, id);
		ready_local_close(c);
		ready_claims_give_back(c, id);
	}
	if (entry->item && c->workers[id].accelerator) {
		claims_requests_collect(&c->claims, id, SIZE_MAX, true, requests);
		ready_queue_log(c, id, requester->now_us);
	}
	wake_list_make(c, &wake);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	wake_list_wake(&wake, &c->waiters);
	/* This may have moved tasks there. */
	ready_local_wake(c, c->workers[id].node);
	return member;
}

/* Where there are only tasks of cores, there is nothing to choose, to claim, or to find in local
 * queues.
 * @param[out] over there are others now */
static struct starpu_task *cores_pop(struct ready_context *c, unsigned id, bool *over)
{
	const struct ready_requester requester = {.c = c, .id = id};
	struct starpu_task *task = NULL;
	struct wake_list wake = {.n = 0};

	*over = false;
	if (waiters_stay(&c->waiters, id, &c->unstarted)) {
		policy_let_others(id, &c->waiters, c->plan ? nap_us(c, id) : 0);
		return NULL;
	}
	/* Mostly it is free. */
	if (STARPU_PTHREAD_MUTEX_TRYLOCK(&c->mutex) && !pool_lock(&requester))
		return NULL;
	*over = !c->cores_only && !ready_cores_alone(c);
	if (!*over && starpu_sched_ctx_contains_worker(id, c->id))
		task = ready_cores_take(c, id);
	else
		waiters_remove(&c->waiters, id);
	if (!*over && c->plan)
		ready_cores_wake_list_make(c, &wake);
	else if (!*over && waiters_any(&c->waiters))
		wake_list_make(c, &wake);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	wake_list_wake(&wake, &c->waiters);
	if (task)
		policy_choose_implementation(task, id, c->id);
	return task;
}

/* What a worker gets while there are only tasks of cores.
 * @param[out] over there are others now */
static struct starpu_task *alone_pop(struct ready_context *c, unsigned id, bool *over)
{
	struct ready_worker *worker = &c->workers[id];

	worker->comes |= worker->started != worker->done;
	if (worker->class == c->reference)
		return cores_pop(c, id, over);
	/* Announced before the second look: who submits others sees that this worker waits. */
	if (!waiters_has(&c->waiters, id))
		waiters_add(&c->waiters, id);
	*over = !ready_cores_alone(c);
	if (*over)
		waiters_remove(&c->waiters, id);
	else
		policy_let_others(id, &c->waiters, 0);
	return NULL;
}

/* The same for any worker. */
static struct starpu_task *any_pop(struct ready_context *c, unsigned id)
{
	struct ready_worker *worker = &c->workers[id];
	struct heddle_pool_entry entry;
	struct ready_requester requester = {.c = c, .id = id, .trying = -1, .left = -1};
	struct claims_requests requests;

	worker->comes |= worker->started != worker->done;
	entry.item = local_first(c, id);
	if (entry.item)
		return entry.item;
	if (nothing_new(c, worker, id, &requester.full))
		return local_or_wait(c, id);
	if (c->choosing || worker->accelerator)
		requester.now_us = starpu_timing_now();
	if (pool_pop(&requester, &entry, &requests) && !entry.item) {
		entry.item = local_take(c, id);
		if (entry.item)
			return entry.item;
	}
	if (!entry.item) {
		ready_queue_idle(worker);
		return NULL;
	}
	worker->pool_last = true;
	if (requester.left >= 0)
		claims_left_behind(entry.item, requester.left, id);
	policy_choose_implementation(entry.item, id, c->id);
	ready_queue_fetch(c, id, &requests);
	if (c->plan && worker->accelerator)
		worker->choosing_us += starpu_timing_now() - requester.now_us;
	return entry.item;
}

struct starpu_task *ready_pop(unsigned ctx)
{
	unsigned id = starpu_worker_get_id_check();
	struct ready_context *c = policy_ask_begin(ctx, id);
	struct starpu_task *task = NULL;
	bool over = c;

	if (c && (c->cores_only || ready_cores_alone(c)))
		task = c->cores_only ? cores_pop(c, id, &over) : alone_pop(c, id, &over);
	if (over)
		task = any_pop(c, id);
	policy_ask_end(ctx, id, task);
	return task;
}

void ready_pass_on(struct ready_context *c, unsigned id)
{
	struct wake_list wake;

	/* It may have been woken for a task: another must do that. */
	waiters_remove(&c->waiters, id);
	ready_local_hold(c, id);
	if (!c->plan && (!atomic_load(&c->unstarted) || !waiters_any(&c->waiters)))
		return;
	policy_lock(&c->mutex);
	/* Nobody knows for how long. */
	if (c->plan)
		c->workers[id].busy_until_us = starpu_timing_now();
	atomic_store_explicit(&c->workers[id].rests_since_us, 0, memory_order_relaxed);
	members_count(c);
	wake_list_make(c, &wake);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	wake_list_wake(&wake, &c->waiters);
}
