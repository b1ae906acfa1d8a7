/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "sched_policies/streams.h"

#define FIRST 2
#define DEAD_BAND 0.01
#define CLEARLY_WORSE 0.02
#define MAX_PATIENCE 64

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
	    .saved = 1,
	    .direction = 1,
	    .patience = 1,
	};
}

static void save(struct heddle_streams *streams, double rate)
{
	streams->saved = streams->concurrent;
	streams->saved_rate = rate;
}

/* Whether a number is possible, and not known to be worse. */
static bool worth_trying(const struct heddle_streams *streams, unsigned n)
{
	return n >= 1 && n <= streams->most &&
	       (streams->known[n] <= 0 ||
	        streams->known[n] >= (1 - CLEARLY_WORSE) * streams->saved_rate);
}

/* Leaves for a number one more or less. Where both are known to be worse, they are tried
 * again some day: the tasks may have changed. */
static void step(struct heddle_streams *streams)
{
	for (int turn = 0; turn < 2; turn++, streams->direction = -streams->direction)
		if (worth_trying(streams, streams->saved + streams->direction)) {
			streams->concurrent = streams->saved + streams->direction;
			return;
		}
	streams->known[streams->saved - 1] = 0;
	if (streams->saved < streams->most)
		streams->known[streams->saved + 1] = 0;
	streams->rest = MAX_PATIENCE;
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

static void round_doubling(struct heddle_streams *streams, double rate)
{
	unsigned next =
	    streams->concurrent <= streams->most / 2 ? 2 * streams->concurrent : streams->most;

	if (rate > (1 + DEAD_BAND) * streams->saved_rate) {
		save(streams, rate);
		streams->doubling = next > streams->concurrent;
		streams->concurrent = next;
	} else {
		streams->doubling = false;
		step_back(streams);
	}
}

static void round_of_steps(struct heddle_streams *streams, double rate)
{
	bool more = streams->concurrent > streams->saved;

	if (streams->concurrent == streams->saved) {
		/* What the tasks are like changes: so does the rate to compare with. */
		streams->saved_rate += (rate - streams->saved_rate) / 4;
		if (streams->rest)
			streams->rest--;
		else
			step(streams);
	} else if (more ? rate > (1 + DEAD_BAND) * streams->saved_rate
	                : rate >= streams->saved_rate) {
		save(streams, rate);
		streams->patience = 1;
		step(streams);
	} else {
		step_back(streams);
	}
}

void heddle_streams_round(struct heddle_streams *streams, double rate)
{
	if (!(rate > 0))
		return;
	streams->known[streams->concurrent] = rate;
	if (streams->doubling)
		round_doubling(streams, rate);
	else
		round_of_steps(streams, rate);
}
