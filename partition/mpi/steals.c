/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "estimator/block_time.h"
#include "steals.h"

/* Before it is known what it takes to send iterations, a rank helps with so many bytes. */
#define FIRST_HELP 65536
/* Help that saves its owner less is not worth while: this part of the run so far, so many
 * microseconds, and the least that a stolen range has taken beside its iterations. A mean of these
 * also has what dearer iterations took more. */
#define LEAST_PART 0.005
#define LEAST_US 100

/* What is stolen is no more than links carry in this part of the time until the end: it is computed
 * while more comes. */
#define CARRIED_PART 0.5

/* A rank tells so much later than it could, or a fourth of what its rest takes: between two looks
 * of its own and of rank 0. */
#define LATE_US 500

struct peer {
	bool computes;    /* has a range that is not completed */
	bool stolen;      /* what it computes is, ... */
	double before;    /* ... and the pace that it had before; 0: not known */
	size_t left;      /* of its range, when it told last, ... */
	double told_us;   /* ... which was then */
	size_t next;      /* of the range that it has for afterwards */
	double pace;      /* 0: not known */
	bool early;       /* was told to ask before it is nearly done */
	double asked_us;  /* since when it wants a range; below 0: it does not */
	bool waits;       /* another one is asked for it: ... */
	unsigned victim;  /* ... this one, ... */
	size_t wanted;    /* ... to give so many up, ... */
	double wanted_us; /* ... since then */
	unsigned asked;   /* so many times to give some up, without answer: ... */
	size_t leaves;    /* ... all together so many */
	bool begun;       /* it has told how fast it is with that range */
	bool nothing;     /* it had nothing to give up */
};

struct mpi_steals {
	struct mpi_steals_problem given;
	bool homes;  /* where iterations run makes a difference */
	size_t left; /* iterations that are not computed */
	double begin_us;
	struct heddle_block_time *moved, own_moved;
	struct heddle_block_time *ranges, own_ranges;
	struct heddle_block_time *answers, own_answers;
	struct peer peers[];
};

struct mpi_range mpi_steals_home(const struct mpi_steals_problem *problem, unsigned rank)
{
	size_t unit = problem->alignment ? problem->alignment : 1, units = problem->n / unit, end;
	struct mpi_range home = {.home = problem->nranks};

	if (problem->homes)
		return (struct mpi_range){problem->homes[rank],
		                          problem->homes[rank + 1] - problem->homes[rank], rank};
	home.start = (size_t)((double)units * rank / problem->nranks) * unit;
	end = rank + 1 == problem->nranks
	          ? problem->n
	          : (size_t)((double)units * (rank + 1) / problem->nranks) * unit;
	home.n = end - home.start;
	return home;
}

/* Its next range begins. */
static void begin(struct peer *peer, size_t n, bool stolen, double now)
{
	peer->computes = n;
	peer->left = n;
	peer->told_us = now;
	peer->stolen = stolen;
	peer->before = peer->pace;
	peer->nothing = peer->begun = false;
}

struct mpi_steals *mpi_steals_create(const struct mpi_steals_problem *problem)
{
	struct mpi_steals *steals =
	    calloc(1, sizeof(*steals) + problem->nranks * sizeof(steals->peers[0]));

	if (!steals)
		return NULL;
	steals->given = *problem;
	steals->given.homes = NULL; /* the caller's */
	steals->homes = problem->homes;
	steals->given.alignment += !problem->alignment;
	steals->left = problem->n;
	steals->moved = problem->moved ? problem->moved : &steals->own_moved;
	steals->ranges = problem->ranges ? problem->ranges : &steals->own_ranges;
	steals->answers = problem->answers ? problem->answers : &steals->own_answers;
	for (unsigned r = 0; r < problem->nranks; r++) {
		struct mpi_range home = mpi_steals_home(problem, r);

		if (problem->paces)
			steals->peers[r].pace = problem->paces[r];
		begin(&steals->peers[r], home.n, false, 0);
		steals->peers[r].asked_us = -1;
	}
	return steals;
}

void mpi_steals_begin(struct mpi_steals *steals, double now_us)
{
	steals->begin_us = now_us;
	for (unsigned r = 0; r < steals->given.nranks; r++)
		steals->peers[r].told_us = now_us;
}

void mpi_steals_destroy(struct mpi_steals *steals)
{
	free(steals);
}

/* ---- what is known of the ranks ---- */

struct estimate {
	double left; /* iterations */
	double pace;
};

/* What a message takes at the least: an answer is three. */
static double message_us(const struct mpi_steals *steals)
{
	return steals->answers->shortest / 3;
}

/* A rank that should have told of more has not done as much yet.
 * @param known the pace of one of which nothing is known */
static struct estimate estimate(const struct peer *peer, double now, double known)
{
	struct estimate found = {peer->left, peer->pace > 0 ? peer->pace : known};
	double since = now - peer->told_us, untold = (1 - MPI_STEALS_TOLD) * found.left;
	double late = fmin(LATE_US, found.left * found.pace / 4);

	if (since - late > untold * found.pace) {
		found.pace = untold > 0 ? (since - late) / untold : found.pace;
		found.left -= untold;
	} else {
		found.left -= since / found.pace;
	}
	found.left += peer->next;
	return found;
}

/* What a rank will have when it has given up all that it is asked for. */
static struct estimate rest_of(const struct peer *peer, double now, double known)
{
	struct estimate found = estimate(peer, now, known);

	found.left = fmax(0, found.left - peer->leaves);
	return found;
}

/* The pace of the fastest rank of which it is known; 0: it is of none. */
static double fastest(const struct mpi_steals *steals)
{
	double pace = 0;

	for (unsigned r = 0; r < steals->given.nranks; r++)
		if (steals->peers[r].pace > 0 && (!pace || steals->peers[r].pace < pace))
			pace = steals->peers[r].pace;
	return pace;
}

/* When all would be done if all ended at one time, microseconds from now. */
static double end_of_all(const struct mpi_steals *steals, double now, double known)
{
	double left = 0, rates = 0;

	for (unsigned r = 0; r < steals->given.nranks; r++) {
		struct estimate of = estimate(&steals->peers[r], now, known);

		left += of.left;
		rates += 1 / of.pace;
	}
	return left / rates;
}

/* The rank that is longest busy, of those that may have something to give up.
 * @return the number of ranks: there is none */
static unsigned victim_find(const struct mpi_steals *steals, double now, double known)
{
	unsigned found = steals->given.nranks;
	double most = 0;

	for (unsigned r = 0; r < steals->given.nranks; r++) {
		const struct peer *peer = &steals->peers[r];
		struct estimate of = rest_of(peer, now, known);

		if (peer->nothing || !(of.left * of.pace > most))
			continue;
		most = of.left * of.pace;
		found = r;
	}
	return found;
}

/* Whether a rank asks that nobody is to give some up for yet. */
static bool is_thief(const struct peer *peer)
{
	return peer->asked_us >= 0 && !peer->waits;
}

static bool any_thief(const struct mpi_steals *steals)
{
	for (unsigned r = 0; r < steals->given.nranks; r++)
		if (is_thief(&steals->peers[r]))
			return true;
	return false;
}

static bool is_sent(const struct mpi_steals *steals)
{
	return steals->homes && steals->given.bytes;
}

/* What sending takes beside iterations, there and back. Before it is known, two messages at the
 * most. */
static double sending_us(const struct mpi_steals *steals)
{
	const struct heddle_block_time *moved = steals->moved;
	double messages = 2 * message_us(steals);

	if (!is_sent(steals))
		return 0;
	if (moved->start_known)
		return moved->start_us;
	return moved->count ? fmin(moved->shortest, messages) : messages;
}

/* After so many microseconds rank 0 would have the results of a thief, but for what it computes:
 * later than those of the victim, which are at home, by a message more and half of what is sent. */
static double ready_us(const struct mpi_steals *steals, struct estimate thief)
{
	double sending = sending_us(steals), message = message_us(steals);
	double back = is_sent(steals) ? message + sending / 2 : 0;

	return fmax(thief.left * thief.pace, 2 * message + sending / 2) + back;
}

/* So many iterations of the victim's would make both end with all others. */
static double surplus(struct estimate thief, struct estimate victim, double end)
{
	return fmin(end / thief.pace - thief.left, victim.left - end / victim.pace);
}

/* How many iterations a thief may have of a victim. No more than that data, computation and results
 * take no longer than the victim needs for the rest. */
static double steal_most(const struct mpi_steals *steals, struct estimate thief,
                         struct estimate victim, double most, double end, double least)
{
	const struct heddle_block_time *moved = steals->moved;
	double help;

	if (!is_sent(steals))
		return most;
	if (!moved->count)
		return fmin(most, FIRST_HELP / steals->given.bytes + steals->given.alignment);
	help = (victim.left * victim.pace - moved->start_us) /
	       (moved->pace + thief.pace + victim.pace);
	if (moved->start_known && moved->pace > 0)
		help =
		    fmin(help, fmax(steals->given.alignment,
		                    fmax(CARRIED_PART * end / moved->pace, least / victim.pace)));
	return fmin(most, help);
}

/* Whether so much help tells more of what sending takes: of one size what it takes to begin is not
 * told from what an iteration takes. */
static bool sending_told(const struct mpi_steals *steals, double n)
{
	const struct heddle_block_time *moved = steals->moved;

	if (!is_sent(steals) || moved->start_known)
		return false;
	return !moved->count || n >= BLOCK_TIME_SPREAD * moved->points[0].n;
}

/* What help must save its owner at the least, microseconds. */
static double least_us(const struct mpi_steals *steals, double now)
{
	double least = fmax(LEAST_US, LEAST_PART * (now - steals->begin_us));

	return fmax(least, steals->ranges->shortest);
}

/* ---- what ranks want and get ---- */

void mpi_steals_ask(struct mpi_steals *steals, unsigned rank, double now_us)
{
	steals->peers[rank].asked_us = now_us;
	steals->peers[rank].early = false;
}

/* The first rank that asked of those to which it is worth while: a slow one, for which there is
 * nothing any more, keeps nobody waiting.
 * @param[out] n how many iterations it may have
 * @return the number of ranks: there is none */
static unsigned thief_find(const struct mpi_steals *steals, unsigned victim, double now,
                           double known, double *n)
{
	unsigned found = steals->given.nranks;
	struct estimate of = rest_of(&steals->peers[victim], now, known);
	double end = end_of_all(steals, now, known), least = least_us(steals, now);

	for (unsigned r = 0; r < steals->given.nranks; r++) {
		const struct peer *peer = &steals->peers[r];
		struct estimate thief;
		double most, saved;

		if (r == victim || !is_thief(peer) ||
		    (found < steals->given.nranks &&
		     peer->asked_us >= steals->peers[found].asked_us))
			continue;
		thief = estimate(peer, now, known);
		/* The victim would be done before. */
		if (of.left * of.pace < ready_us(steals, thief))
			continue;
		saved = surplus(thief, of, end);
		most = steal_most(steals, thief, of, saved, end, least);
		/* What tells what sending takes may be short. */
		if (!sending_told(steals, most))
			saved = most;
		if (most < steals->given.alignment || saved * of.pace < least)
			continue;
		found = r;
		*n = most;
	}
	return found;
}

bool mpi_steals_next(struct mpi_steals *steals, double now_us, struct mpi_steal *steal)
{
	double known = fastest(steals), n = 0;
	struct estimate of;
	unsigned thief, victim;

	if (known <= 0 || !any_thief(steals))
		return false;
	victim = victim_find(steals, now_us, known);
	if (victim == steals->given.nranks)
		return false;
	thief = thief_find(steals, victim, now_us, known, &n);
	if (thief == steals->given.nranks)
		return false;
	/* As much when it hears of it. */
	of = rest_of(&steals->peers[victim], now_us, known);
	of.left = fmax(n, of.left - message_us(steals) / of.pace);
	*steal = (struct mpi_steal){thief, victim, n, of.left};
	steal->n -= steal->n % steals->given.alignment;
	steals->peers[thief].waits = true;
	steals->peers[thief].victim = victim;
	steals->peers[thief].wanted = steal->n;
	steals->peers[thief].wanted_us = now_us;
	steals->peers[victim].asked++;
	steals->peers[victim].leaves += steal->n;
	return true;
}

/* Whether links carry what should leave the victim, or come to the thief, only if that begins
 * before the thief is nearly done. */
static bool is_urgent(const struct mpi_steals *steals, struct estimate thief,
                      struct estimate victim, double end)
{
	double pace = steals->moved->pace;

	return pace > thief.pace || (victim.left - end / victim.pace) * pace > end;
}

bool mpi_steals_early(struct mpi_steals *steals, double now_us, unsigned *rank)
{
	double known = fastest(steals), end, least = least_us(steals, now_us);
	struct estimate of;
	unsigned victim;

	if (known <= 0 || !is_sent(steals) || !steals->moved->start_known)
		return false;
	victim = victim_find(steals, now_us, known);
	if (victim == steals->given.nranks)
		return false;
	of = rest_of(&steals->peers[victim], now_us, known);
	end = end_of_all(steals, now_us, known);
	for (unsigned r = 0; r < steals->given.nranks; r++) {
		struct peer *peer = &steals->peers[r];
		struct estimate thief = estimate(peer, now_us, known);

		if (r == victim || peer->asked_us >= 0 || peer->waits || peer->early ||
		    peer->next || peer->pace <= 0 || surplus(thief, of, end) * of.pace < least ||
		    !is_urgent(steals, thief, of, end))
			continue;
		peer->early = true;
		*rank = r;
		return true;
	}
	return false;
}

bool mpi_steals_asked(const struct mpi_steals *steals, unsigned rank)
{
	return steals->peers[rank].asked;
}

/* The rank that was asked for a thief has answered. */
static void answered(struct mpi_steals *steals, unsigned thief)
{
	struct peer *peer = &steals->peers[thief];

	steals->peers[peer->victim].asked--;
	steals->peers[peer->victim].leaves -= peer->wanted;
	peer->waits = false;
}

void mpi_steals_given(struct mpi_steals *steals, unsigned thief, size_t n, double now_us)
{
	struct peer *peer = &steals->peers[thief];

	heddle_block_time_add(steals->answers, 1, now_us - peer->wanted_us, true, false);
	/* Its victim has told what is left. */
	answered(steals, thief);
	peer->asked_us = -1;
	if (peer->computes)
		peer->next += n;
	else
		begin(peer, n, true, now_us);
}

void mpi_steals_kept(struct mpi_steals *steals, unsigned thief)
{
	steals->peers[steals->peers[thief].victim].nothing = true;
	answered(steals, thief);
}

void mpi_steals_progress(struct mpi_steals *steals, unsigned rank, struct mpi_progress progress,
                         double now_us)
{
	struct peer *peer = &steals->peers[rank];

	peer->left = progress.left;
	peer->told_us = now_us;
	if (progress.pace <= 0)
		return;
	/* It may have had nothing to give up as it had not begun. */
	if (!peer->begun)
		peer->nothing = false;
	peer->begun = true;
	peer->pace = progress.pace;
	if (steals->given.paces && !peer->stolen)
		steals->given.paces[rank] = peer->pace;
}

/* What a range has taken beside its iterations. These may be dearer than others: no more than twice
 * as dear. Where they were cheaper, it tells nothing. */
static void range_note(struct mpi_steals *steals, const struct peer *peer, size_t n, double us)
{
	double iterations_us = n * peer->before;

	us = fmin(us - iterations_us, iterations_us);
	if (us > 0)
		heddle_block_time_add(steals->ranges, 1, us, true, false);
}

void mpi_steals_completed(struct mpi_steals *steals, unsigned rank, size_t n, double us,
                          double now_us)
{
	struct peer *peer = &steals->peers[rank];

	if (peer->stolen && peer->before > 0)
		range_note(steals, peer, n, us);
	/* It has not told a pace of this run: what earlier ones told may be wrong. */
	if (!peer->begun) {
		peer->pace = us / n;
		if (steals->given.paces && !peer->stolen)
			steals->given.paces[rank] = peer->pace;
	}
	begin(peer, peer->next, true, now_us);
	peer->next = 0;
	steals->left -= n;
}

void mpi_steals_completed_edge(struct mpi_steals *steals, size_t n)
{
	steals->left -= n;
}

void mpi_steals_moved(struct mpi_steals *steals, size_t n, double us)
{
	heddle_block_time_add(steals->moved, n, us, true, true);
}

bool mpi_steals_over(const struct mpi_steals *steals)
{
	return !steals->left;
}
