/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "estimator/bandit.h"
#include "estimator/robust.h"

_Static_assert((int)BANDIT_RECENT <= HEDDLE_ROBUST_ROOM, "room for a median");

/* ---- what pulls take ---- */

double bandit_us(const struct bandit *bandit, unsigned arm)
{
	return bandit->arms[arm].n ? bandit->arms[arm].us : 0;
}

/* The median of few pulls is off by a third of what pulls differ, which hides what arms differ
 * by. So a mean goes on from there, until it is no longer what the latest pulls take. */
static void us_update(struct bandit_arm *arm, const struct bandit_rules *rules, double us)
{
	double median_us = heddle_robust_latest(arm->recent, arm->n, BANDIT_RECENT);
	unsigned n = arm->n < rules->mean_of ? arm->n : rules->mean_of;

	if (!n || arm->n <= BANDIT_RECENT || fabs(arm->us / median_us - 1) > rules->change)
		arm->us = median_us;
	else
		arm->us += (fmin(fmax(us, (1 - rules->clamp) * median_us),
		                 (1 + rules->clamp) * median_us) -
		            arm->us) /
		           n;
}

void bandit_forget(struct bandit *bandit, unsigned arm)
{
	bandit->arms[arm].n = 0;
}

void bandit_replace(struct bandit *bandit, unsigned arm, unsigned by)
{
	struct bandit_arm *to = &bandit->arms[arm];
	const struct bandit_arm *from = &bandit->arms[by];

	to->n = from->n;
	to->us = from->us;
	memcpy(to->recent, from->recent, sizeof(to->recent));
	bandit_forget(bandit, by);
}

/* ---- the best arm ---- */

static bool can(const double *predicted_us, unsigned arm)
{
	return !predicted_us || !isinf(predicted_us[arm]);
}

/* Measured, or predicted. Something may have held up the first pulls: a prediction of less counts
 * as much as they do, but for arms that use others, which predictions flatter. */
static double expected_us(const struct bandit *bandit, const struct bandit_rules *rules,
                          const double *predicted_us, unsigned arm)
{
	double us = bandit_us(bandit, arm);
	unsigned n = bandit->arms[arm].n;

	if (!predicted_us || n >= rules->sure)
		return us;
	if (!n)
		return predicted_us[arm];
	return arm < rules->costly && predicted_us[arm] < us ? sqrt(us * predicted_us[arm]) : us;
}

/* As arms are compared. */
static double compared_us(const struct bandit *bandit, const struct bandit_rules *rules,
                          unsigned arm)
{
	return (arm >= rules->costly ? 1 + rules->worth : 1) * bandit_us(bandit, arm);
}

static double lead(const struct bandit_rules *rules, unsigned n)
{
	return rules->lead[n < rules->nlead ? n : rules->nlead - 1] + rules->doubt / (n ? n : 1);
}

/* By what was measured. */
static unsigned best_find(const struct bandit *bandit, const struct bandit_rules *rules,
                          const double *predicted_us)
{
	unsigned best = rules->stepwise ? 0 : bandit->best;
	double first_us = compared_us(bandit, rules, best), least_us = first_us;

	for (unsigned arm = 0; arm < rules->nbest; arm++) {
		double us = compared_us(bandit, rules, arm);
		double behind_us = rules->stepwise ? least_us : first_us;

		if (us > 0 && us < least_us &&
		    us < (1 - lead(rules, bandit->arms[arm].n)) * behind_us &&
		    can(predicted_us, arm)) {
			least_us = us;
			best = arm;
		}
	}
	return best;
}

/* With predictions, at least of some arms. */
static unsigned first_choose(const struct bandit *bandit, const struct bandit_rules *rules,
                             const double *predicted_us)
{
	unsigned best = 0;
	double best_us = INFINITY;

	for (unsigned arm = 0; arm < rules->narms; arm++) {
		double us = expected_us(bandit, rules, predicted_us, arm);

		if (!can(predicted_us, arm))
			continue;
		if (arm >= rules->costly && !bandit->arms[arm].n)
			us *= 1 + rules->margin;
		if (us < best_us) {
			best = arm;
			best_us = us;
		}
	}
	return best;
}

/* ---- explorations ---- */

/* What explorations may still cost. */
static double allowance(const struct bandit *bandit, const struct bandit_rules *rules)
{
	return rules->budget * bandit->total_us - bandit->regret_us;
}

/* The arm whose turn it is in the rounds of first explorations; narms: they are over. */
static unsigned round_next(const struct bandit *bandit, const struct bandit_rules *rules)
{
	unsigned next = rules->narms;
	double least_us = INFINITY;

	if (!rules->rounds)
		return next;
	for (unsigned a = 0; a < rules->narms; a++)
		if (bandit->arms[a].n)
			least_us = fmin(least_us, bandit->arms[a].us);
	for (unsigned a = 0; a < rules->narms; a++) {
		const struct bandit_arm *arm = &bandit->arms[a];

		if (arm->n < rules->rounds && !(arm->n && arm->us > rules->near * least_us) &&
		    (next == rules->narms || arm->n < bandit->arms[next].n))
			next = a;
	}
	return next;
}

/* The most promising arm of those that are not known yet; the best arm: none. */
static unsigned unknown_choose(const struct bandit *bandit, const struct bandit_rules *rules,
                               const double *predicted_us)
{
	double best_us = bandit_us(bandit, bandit->best), chosen_us = INFINITY;
	unsigned chosen = bandit->best;

	for (unsigned arm = 0; arm < rules->narms; arm++) {
		double us = expected_us(bandit, rules, predicted_us, arm);
		bool unsaved = arm >= rules->costly && !bandit->arms[arm].n;

		if (arm == bandit->best || !can(predicted_us, arm) ||
		    bandit->arms[arm].n >= rules->known || us >= chosen_us ||
		    us > (unsaved ? 1 - rules->worth : rules->near) * best_us ||
		    us - best_us > allowance(bandit, rules) + rules->first_budget * best_us)
			continue;
		chosen = arm;
		chosen_us = us;
	}
	return chosen;
}

/* The arm that will have cost least, so that those near the best are explored more often, and
 * others are not forgotten. While that cannot be afforded, one that seems as fast as the best. The
 * best arm: none. */
static unsigned later_choose(const struct bandit *bandit, const struct bandit_rules *rules,
                             const double *predicted_us)
{
	double best_us = bandit_us(bandit, bandit->best), least_us = INFINITY, chosen_cost_us = 0;
	double free_us = INFINITY;
	unsigned chosen = bandit->best, other = bandit->best;

	if (bandit->pulls < bandit->explored + rules->apart)
		return bandit->best;
	for (unsigned a = 0; a < rules->narms; a++) {
		const struct bandit_arm *arm = &bandit->arms[a];
		double us = expected_us(bandit, rules, predicted_us, a),
		       cost_us = fmax(us - best_us, 0);
		double sum_us = arm->regret_us + arm->explored * rules->each * best_us +
		                (arm->n ? 1 : rules->untried) * cost_us;

		if (a == bandit->best || !can(predicted_us, a) || us > rules->far * best_us)
			continue;
		if (cost_us <= 0 && sum_us < free_us) {
			other = a;
			free_us = sum_us;
		}
		if (sum_us >= least_us)
			continue;
		chosen = a;
		least_us = sum_us;
		chosen_cost_us = cost_us;
	}
	return chosen_cost_us <= allowance(bandit, rules) ? chosen : other;
}

/* ---- pulls ---- */

unsigned bandit_choose(struct bandit *bandit, const struct bandit_rules *rules,
                       const double *predicted_us)
{
	unsigned arm = round_next(bandit, rules);

	if (arm < rules->narms)
		return arm;
	if (!bandit->arms[bandit->best].n || !can(predicted_us, bandit->best)) {
		bandit->best = first_choose(bandit, rules, predicted_us);
		return bandit->best;
	}
	bandit->best = best_find(bandit, rules, predicted_us);
	if (bandit->arms[bandit->best].n < rules->sure) /* its first pull may have been held up */
		return bandit->best;
	arm = unknown_choose(bandit, rules, predicted_us);
	return arm == bandit->best ? later_choose(bandit, rules, predicted_us) : arm;
}

bool bandit_settled(const struct bandit *bandit, const struct bandit_rules *rules, unsigned *arm)
{
	if (bandit->arms[bandit->best].n < rules->known || bandit->pulls < rules->young ||
	    bandit->pulls % rules->period < 2)
		return false;
	*arm = bandit->best;
	return true;
}

bool bandit_is_best(const struct bandit *bandit, const struct bandit_rules *rules, unsigned arm)
{
	return best_find(bandit, rules, NULL) == arm;
}

void bandit_measured(struct bandit *bandit, const struct bandit_rules *rules, unsigned arm,
                     double us)
{
	struct bandit_arm *pulled = &bandit->arms[arm];
	bool first = round_next(bandit, rules) < rules->narms;
	unsigned best = rules->stepwise ? best_find(bandit, rules, NULL) : bandit->best;
	double regret_us =
	    fmax(us - bandit_us(bandit, best), rules->credit ? -pulled->regret_us : 0);

	bandit->total_us += us;
	bandit->pulls++;
	if (arm != best)
		bandit->explored = bandit->pulls;
	if (arm != best && !first) {
		bandit->regret_us += regret_us;
		pulled->regret_us += regret_us;
		pulled->explored++;
	}
	pulled->recent[pulled->n++ % BANDIT_RECENT] = us;
	us_update(pulled, rules, us);
}
