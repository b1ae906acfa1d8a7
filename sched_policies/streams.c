/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "sched_policies/streams.h"

#define FIRST 2
#define DEAD_BAND 0.01
#define CLEARLY_WORSE 0.02
#define MAX_PATIENCE 64
#define MEMORY 8         /* rounds that a mean remembers */
#define TRIAL_ROUNDS 2   /* that a trial lasts at the most */
#define FIRST_NOISE 0.01 /* of a round's throughput, as long as nothing is known */
#define FORGETTING 0.03  /* of the best throughput ever, a round */

void heddle_streams_init(struct heddle_streams *streams, unsigned most)
{
	if (!most)
		most = 1;
	if (most > HEDDLE_STREAMS_MOST)
		most = HEDDLE_STREAMS_MOST;
	*streams = (struct heddle_streams){
	    .concurrent = FIRST < most ? FIRST : most,
	    .most = most,
	    .doubling = true,
	    .saved = FIRST < most ? FIRST : most,
	    .noise = FIRST_NOISE,
	    .direction = 1,
	    .stride = 1,
	    .patience = 1,
	};
}

/* ---- what rounds tell ---- */

static void settled_round(struct heddle_streams *streams, double rate)
{
	double off = streams->saved_rounds ? rate / streams->saved_rate - 1 : 0;

	if (streams->saved_rounds < MEMORY)
		streams->saved_rounds++;
	/* What the tasks are like changes: so does the rate to compare with. */
	streams->saved_rate += (rate - streams->saved_rate) / streams->saved_rounds;
	/* The mean of what is off is 0.8 of the standard deviation; one interrupted round
	 * must not make all others indistinct. */
	if (streams->saved_rounds > 1)
		streams->noise += (fmin(1.25 * fabs(off), 0.5) - streams->noise) / MEMORY;
	streams->best_rate += FORGETTING * (streams->saved_rate - streams->best_rate);
	streams->best_rate = fmax(streams->best_rate, streams->saved_rate);
}

static void trial_round(struct heddle_streams *streams, double rate)
{
	streams->trial_rounds++;
	streams->trial_rate += (rate - streams->trial_rate) / streams->trial_rounds;
}

/* By how much the trial's throughput differs from the saved one by chance alone. */
static double chance(const struct heddle_streams *streams)
{
	return streams->noise * sqrt(1. / streams->trial_rounds + 1. / streams->saved_rounds);
}

/* ---- which number comes next ---- */

static void try(struct heddle_streams *streams, unsigned n)
{
	streams->concurrent = n;
	streams->trial_rounds = 0;
	streams->trial_rate = 0;
}

static void try_double(struct heddle_streams *streams)
{
	try(streams, streams->saved <= streams->most / 2 ? 2 * streams->saved : streams->most);
}

/* The number that a step in the present direction leads to; the saved one: none. */
static unsigned next_number(const struct heddle_streams *streams)
{
	unsigned saved = streams->saved;

	if (streams->direction < 0)
		return saved > 1 ? saved - 1 : saved;
	return streams->most - saved > streams->stride ? saved + streams->stride : streams->most;
}

/* Whether a number is another one, and not known to be worse. */
static bool worth_trying(const struct heddle_streams *streams, unsigned n)
{
	return n != streams->saved &&
	       (streams->known[n] <= 0 ||
	        streams->known[n] >= (1 - CLEARLY_WORSE) * streams->saved_rate);
}

/* Leaves for another number. Where both that are near are known to be worse, they are tried
 * again some day: the tasks may have changed. */
static void step(struct heddle_streams *streams)
{
	for (int turn = 0; turn < 2; turn++, streams->direction = -streams->direction)
		if (worth_trying(streams, next_number(streams))) {
			try(streams, next_number(streams));
			return;
		}
	for (int turn = 0; turn < 2; turn++, streams->direction = -streams->direction)
		streams->known[next_number(streams)] = 0;
	streams->rest = MAX_PATIENCE;
}

/* Stays with the number that was tried. */
static void save(struct heddle_streams *streams)
{
	streams->saved = streams->concurrent;
	streams->saved_rate = streams->trial_rate;
	streams->saved_rounds = streams->trial_rounds;
	streams->best_rate = fmax(streams->best_rate, streams->saved_rate);
	streams->patience = 1;
	streams->stride = 1;
}

/* Returns to the saved number, for a while. */
static void step_back(struct heddle_streams *streams)
{
	streams->concurrent = streams->saved;
	streams->direction = -streams->direction;
	streams->rest = streams->patience;
	if (streams->patience < MAX_PATIENCE)
		streams->patience *= 2;
}

/* ---- trials ---- */

static void trial_of_doubling(struct heddle_streams *streams, double gain)
{
	if (gain > DEAD_BAND) {
		save(streams);
		streams->doubling = streams->saved < streams->most;
		if (streams->doubling)
			try_double(streams);
	} else {
		streams->doubling = false;
		step_back(streams);
	}
}

static void trial_of_step(struct heddle_streams *streams, double gain)
{
	bool more = streams->concurrent > streams->saved;
	double doubt = chance(streams);

	/* Many steps down, none of which was seen to harm, may harm together. */
	if (more ? gain > fmax(DEAD_BAND, doubt)
	         : gain >= 0 && streams->trial_rate >= (1 - DEAD_BAND) * streams->best_rate) {
		save(streams);
		step(streams);
		return;
	}
	/* What is too little to be seen in a step may be seen in a wider one. */
	if (more)
		streams->stride = gain < -doubt                       ? 1
		                  : streams->stride <= streams->saved ? 2 * streams->stride
		                                                      : streams->stride;
	step_back(streams);
}

void heddle_streams_round(struct heddle_streams *streams, double rate)
{
	double gain;

	if (!(rate > 0))
		return;
	if (streams->concurrent == streams->saved) {
		settled_round(streams, rate);
		if (streams->doubling && streams->saved < streams->most)
			try_double(streams);
		else if (streams->rest)
			streams->rest--;
		else
			step(streams);
		return;
	}
	trial_round(streams, rate);
	gain = streams->trial_rate / streams->saved_rate - 1;
	if (streams->trial_rounds < TRIAL_ROUNDS && fabs(gain) <= DEAD_BAND + 2 * chance(streams))
		return;
	streams->known[streams->concurrent] = streams->trial_rate * (1 + chance(streams));
	if (streams->doubling)
		trial_of_doubling(streams, gain);
	else
		trial_of_step(streams, gain);
}
