/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "partition/kernel/split/arms.h"

_Static_assert((int)KERNEL_ARMS <= BANDIT_ARMS, "room for all arms");

/* By the number of launches: those of some hundred microseconds differ by a tenth among
 * themselves. */
static const double lead[] = {1, 0.15, 0.08, 0.06, 0.05, 0.04, 0.04, 0.03, 0.03, 0.02, 0.02, 0.005};

const struct bandit_rules kernel_arms_rules = {
    .narms = KERNEL_ARMS,
    .nbest = KERNEL_ARM_SHARED + 1,
    /* A split keeps other devices from other work. Its estimate lacks what sharing costs, and
     * tables are off by a tenth. */
    .costly = KERNEL_ARM_SHARED,
    .worth = 0.03,
    .margin = 0.10,
    .mean_of = 128,
    .clamp = 0.5,
    .change = 0.2,
    .lead = lead,
    .nlead = sizeof(lead) / sizeof(lead[0]),
    .sure = 2,
    .known = 3,
    .near = 1.25,
    .first_budget = 0.5,
    .apart = 3,
    .far = 4,
    .budget = 0.01,
    .each = 0.002,
    .untried = 0.25, /* a first measurement is worth more */
    .credit = true,
    .young = 5,
    .period = 8,
};

bool kernel_candidate_known(const struct bandit *arms)
{
	return arms->arms[KERNEL_ARM_CANDIDATE].n >= kernel_arms_rules.sure;
}

bool kernel_arms_profiled(const struct bandit *arms, unsigned arm)
{
	enum { SETTLES = 10, EVERY = 4 };

	if (arm >= KERNEL_ARM_SHARED)
		return arms->arms[arm].n < SETTLES || !(arms->pulls % EVERY);
	return !arms->arms[arm].n || !(arms->pulls % (2 * kernel_arms_rules.period));
}

static const double chunks_lead[] = {0.03};

const struct bandit_rules kernel_chunks_rules = {
    .narms = KERNEL_CHUNKS_ARMS,
    .nbest = KERNEL_CHUNKS_ARMS,
    .costly = KERNEL_CHUNKS_ARMS,
    .lead = chunks_lead,
    .nlead = 1,
    .doubt = 0.3,
    .stepwise = true, /* fewer chunks win where they are near */
    .rounds = 3,
    .near = 1.25,
    .apart = 4,
    .far = INFINITY,
    .budget = 0.01,
    .each = 0.002,
    .untried = 1,
    .young = 1,
    .period = 1,
};

bool kernel_chunks_measured(struct bandit *chunks, unsigned arm, double us)
{
	bandit_measured(chunks, &kernel_chunks_rules, arm, us);
	return bandit_is_best(chunks, &kernel_chunks_rules, arm);
}
