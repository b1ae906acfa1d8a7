/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "partition/kernel/split/choice.h"

/* A change of what devices hold, relative to all that is read, that asks for another decision. */
#define HELD_CHANGE 0.05
/* A candidate has to take at most this share of the time that the split in use took. */
#define CANDIDATE_GAIN 0.97
/* One that takes so many times as long once is not tried again. */
#define CANDIDATE_LOST 1.1
/* Launches of the best arm before others than the estimates' splits are tried. */
enum { SEEK_AFTER = 5 };
/* Launches at most between two searches for a split by tables that have changed. */
enum { MOST_APART = 16 };
/* The linear split among sets of devices that were tried. */
#define LINEAR (1u << SPLIT_MAXDEVICES)

/* Whether several devices have a share. */
static bool is_shared(const struct split_problem *problem, const size_t *share)
{
	unsigned n = 0;

	for (unsigned d = 0; d < problem->ndevices; d++)
		n += share[d] > 0;
	return n > 1;
}

/* Whether a split differs from the one in use. */
static bool split_differs(const struct kernel_choice *choice, const struct sharing *sharing,
                          const size_t *share)
{
	size_t least = sharing->problem.groups / 64;

	for (unsigned d = 0; d < sharing->problem.ndevices; d++) {
		size_t old = choice->share[sharing->numbers[d]];

		if ((old > share[d] ? old - share[d] : share[d] - old) > least)
			return true;
	}
	return false;
}

/* Rounds shares so that rows stay whole. */
static void share_round(const struct split_problem *problem, size_t row, size_t *share)
{
	size_t upto = 0, at = 0;

	for (unsigned d = 0; d < problem->ndevices; d++) {
		size_t end;

		upto += share[d];
		end = upto == problem->groups ? upto : (upto + row / 2) / row * row;
		share[d] = end > at ? end - at : 0;
		at += share[d];
	}
}

void sharing_round(struct sharing *sharing, size_t row)
{
	share_round(&sharing->problem, row, sharing->share);
}

/* Stores a split by the kernel's device numbers. */
static void split_put(size_t *to, const struct sharing *sharing, const size_t *share)
{
	memset(to, 0, SPLIT_MAXDEVICES * sizeof(*to));
	for (unsigned d = 0; d < sharing->problem.ndevices; d++)
		to[sharing->numbers[d]] = share[d];
}

/* Whether the usable devices have all groups of a split. */
static bool split_valid(const struct sharing *sharing, const size_t *share)
{
	size_t groups = 0;

	for (unsigned d = 0; d < sharing->problem.ndevices; d++)
		groups += share[sharing->numbers[d]];
	return groups == sharing->problem.groups;
}

/* Compares the candidate with the split in use, after enough launches of the candidate. */
static void candidate_judge(struct kernel_choice *choice)
{
	double us = bandit_us(&choice->arms, KERNEL_ARM_SHARED);
	double other_us = bandit_us(&choice->arms, KERNEL_ARM_CANDIDATE);

	if (us <= 0) /* there was none */
		us = INFINITY;
	if (!kernel_candidate_known(&choice->arms) && other_us <= CANDIDATE_LOST * us)
		return;
	if (other_us < us) {
		bandit_replace(&choice->arms, KERNEL_ARM_SHARED, KERNEL_ARM_CANDIDATE);
		memcpy(choice->share, choice->candidate, sizeof(choice->share));
		choice->shared_us = choice->candidate_us;
	}
	bandit_forget(&choice->arms, KERNEL_ARM_CANDIDATE);
	choice->candidate_us = INFINITY;
}

/* Whether devices hold as much as at the latest decision. */
static bool held_same(const struct kernel_choice *choice, const struct sharing *sharing)
{
	const struct split_bytes *in = &sharing->problem.in;
	double all = in->fixed + in->per_group * sharing->problem.groups;

	for (unsigned d = 0; d < sharing->problem.ndevices; d++)
		if (fabs(choice->held[sharing->numbers[d]] - sharing->problem.devices[d].held) >
		    HELD_CHANGE * all)
			return false;
	return true;
}

static void held_take(struct kernel_choice *choice, const struct sharing *sharing)
{
	for (unsigned d = 0; d < sharing->problem.ndevices; d++)
		choice->held[sharing->numbers[d]] = sharing->problem.devices[d].held;
}

/* Whether a split is to be searched for. Tables change with each launch that differs from others,
 * and with several devices a search takes as long as many decisions: it takes place less and less
 * often, and not while a candidate is compared, when its result would be left out. */
static bool search_due(const struct kernel_choice *choice, const struct sharing *sharing,
                       unsigned changes)
{
	unsigned apart = choice->decided / 4;

	if (!choice->cut || !held_same(choice, sharing))
		return true;
	return choice->changes != changes && !choice->arms.arms[KERNEL_ARM_CANDIDATE].n &&
	       choice->arms.pulls - choice->decided >= (apart < MOST_APART ? apart : MOST_APART);
}

/* Finds the best split by the tables and what devices hold, if these have changed. A split that was
 * measured stays in use; one that is estimated to be faster becomes the candidate. */
static void shared_update(struct kernel_choice *choice, const struct sharing *sharing, size_t row,
                          unsigned changes)
{
	size_t share[SPLIT_MAXDEVICES];
	double measured, us;

	if (choice->cut && !split_valid(sharing, choice->share)) { /* a device has failed */
		bandit_forget(&choice->arms, KERNEL_ARM_SHARED);
		choice->cut = false;
		choice->ntried = 0;
	}
	if (choice->cut && !isinf(choice->candidate_us) &&
	    !split_valid(sharing, choice->candidate)) {
		bandit_forget(&choice->arms, KERNEL_ARM_CANDIDATE);
		choice->candidate_us = INFINITY;
	}
	if (choice->cut)
		candidate_judge(choice);
	measured = bandit_us(&choice->arms, KERNEL_ARM_SHARED);
	if (!search_due(choice, sharing, changes))
		return;
	held_take(choice, sharing);
	choice->changes = changes;
	choice->decided = choice->arms.pulls;
	us = split_decide(&sharing->problem, SPLIT_HEDDLE, share);
	share_round(&sharing->problem, row, share);
	if (!is_shared(&sharing->problem, share))
		us = INFINITY;
	if (!choice->cut) {
		bandit_forget(&choice->arms, KERNEL_ARM_CANDIDATE);
		choice->candidate_us = INFINITY;
	}
	if (!choice->cut || measured <= 0) {
		split_put(choice->share, sharing, share);
		choice->shared_us = us;
	} else if (us < CANDIDATE_GAIN * measured && split_differs(choice, sharing, share) &&
	           !choice->arms.arms[KERNEL_ARM_CANDIDATE].n) {
		split_put(choice->candidate, sharing, share);
		choice->candidate_us = us;
	}
	choice->cut = true;
}

/* The groups of each device by an arm. */
static void arm_share(const struct kernel_choice *choice, const struct sharing *sharing,
                      unsigned arm, size_t *share)
{
	for (unsigned d = 0; d < sharing->problem.ndevices; d++) {
		unsigned number = sharing->numbers[d];

		share[d] = arm == KERNEL_ARM_SHARED      ? choice->share[number]
		           : arm == KERNEL_ARM_CANDIDATE ? choice->candidate[number]
		           : arm == number               ? sharing->problem.groups
		                                         : 0;
	}
}

/* ---- splits that estimates do not promise ---- */

static bool is_tried(const struct kernel_choice *choice, unsigned set)
{
	for (unsigned i = 0; i < choice->ntried; i++)
		if (choice->tried[i] == set)
			return true;
	return choice->ntried == KERNEL_TRIED;
}

static void tried_add(struct kernel_choice *choice, unsigned set)
{
	if (!is_tried(choice, set))
		choice->tried[choice->ntried++] = set;
}

/* A set of a problem's devices by their numbers in the kernel, which do not change if one fails. */
static unsigned set_numbers(const struct sharing *sharing, unsigned set)
{
	unsigned numbers = 0;

	for (unsigned d = 0; d < sharing->problem.ndevices; d++)
		numbers |= (set >> d & 1) << sharing->numbers[d];
	return numbers;
}

/* What sharing costs was measured of other splits, and by devices that slowed each other down. So
 * the linear split and the sets of one device more or less than the best arm has are tried once, if
 * they are faster where sharing costs nothing. @return whether there is one */
static bool trial_find(struct kernel_choice *choice, const struct sharing *sharing,
                       const size_t *best, double best_us, size_t *share, double *us)
{
	const struct split_problem *problem = &sharing->problem;
	struct split_problem hopeful;
	unsigned set = 0, found = 0;

	for (unsigned d = 0; d < problem->ndevices; d++)
		set |= (unsigned)(best[d] > 0) << d;
	tried_add(choice, set_numbers(sharing, set));
	split_hopeful(problem, &hopeful);
	if (!is_tried(choice, LINEAR)) {
		tried_add(choice, LINEAR);
		*us = split_decide(&hopeful, SPLIT_LINEAR, share);
		if (*us < best_us)
			return true;
	}
	*us = INFINITY;
	for (unsigned d = 0; d < problem->ndevices; d++) {
		unsigned other = set ^ 1u << d;
		size_t by_other[SPLIT_MAXDEVICES];
		double other_us;

		if (!(other & (other - 1)) || is_tried(choice, set_numbers(sharing, other)))
			continue;
		other_us = split_among(&hopeful, other, by_other);
		if (other_us >= *us)
			continue;
		*us = other_us;
		memcpy(share, by_other, sizeof(by_other));
		found = other;
	}
	if (found)
		tried_add(choice, set_numbers(sharing, found));
	return found && *us < best_us;
}

/* A number below n. */
static unsigned draw(struct kernel_choice *choice, unsigned n)
{
	choice->drawn = choice->drawn * 1103515245u + 12345u;
	return (choice->drawn >> 16) % n;
}

/* Moves a drawn part of a device's groups to another one, as devices compute in waves of groups,
 * which tables do not show. @return whether that promises not to be slower */
static bool near_find(struct kernel_choice *choice, const struct split_problem *problem,
                      double best_us, size_t *share, double *us)
{
	unsigned from = draw(choice, problem->ndevices), to = draw(choice, problem->ndevices);
	size_t n = share[from] >> (2 + draw(choice, 5));
	struct split_times times;

	if (from == to || !n || !share[to])
		return false;
	share[from] -= n;
	share[to] += n;
	*us = split_estimate(problem, share, &times);
	return *us < best_us;
}

/* Finds a candidate where estimates have none. */
static void candidate_seek(struct kernel_choice *choice, const struct sharing *sharing, size_t row)
{
	const struct split_problem *problem = &sharing->problem;
	unsigned arm = choice->arms.best;
	double best_us = bandit_us(&choice->arms, arm), us;
	size_t best[SPLIT_MAXDEVICES], share[SPLIT_MAXDEVICES];

	if (!isinf(choice->candidate_us) || !choice->cut || choice->arms.arms[arm].n < SEEK_AFTER)
		return;
	arm_share(choice, sharing, arm, best);
	if (!trial_find(choice, sharing, best, best_us, share, &us)) {
		memcpy(share, best, sizeof(share));
		if (!near_find(choice, problem, best_us, share, &us))
			return;
	}
	share_round(problem, row, share);
	if (!is_shared(problem, share))
		return;
	split_put(choice->candidate, sharing, share);
	if (memcmp(choice->candidate, choice->share, sizeof(choice->share)))
		choice->candidate_us = us;
}

unsigned kernel_choice_make(struct kernel_choice *choice, struct sharing *sharing, size_t row,
                            bool shared, unsigned changes, double *predicted_us)
{
	const struct split_problem *problem = &sharing->problem;
	double us[KERNEL_ARMS];
	unsigned arm;

	for (unsigned a = 0; a < KERNEL_ARMS; a++)
		us[a] = INFINITY;
	for (unsigned d = 0; d < problem->ndevices; d++)
		us[sharing->numbers[d]] = split_alone(problem, d, problem->groups);
	if (shared && problem->ndevices > 1) {
		shared_update(choice, sharing, row, changes);
		candidate_seek(choice, sharing, row);
		us[KERNEL_ARM_SHARED] = choice->shared_us;
		us[KERNEL_ARM_CANDIDATE] = choice->candidate_us;
	}
	arm = bandit_choose(&choice->arms, &kernel_arms_rules, us);
	*predicted_us = us[arm];
	arm_share(choice, sharing, arm, sharing->share);
	return arm;
}
