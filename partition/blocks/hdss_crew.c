/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HDSS: whether cores take part. Cores and accelerators share main memory. Accelerators that wait
 * for it may do a loop sooner alone than together with the cores, and no rate that is measured
 * while all work tells so.
 *
 * So cores get no more blocks in the midst of one run that is known, and is as expected by then. As
 * soon as less is done than all workers would have done, they join again. If that does not happen,
 * later runs are without cores from the beginning, as long as they are shorter than with them.
 */
#include "config.h"

#include "partition/blocks/hdss.h"

/* Accelerators below this part of all will not be faster than all. */
#define LEAST_PART (1 / 3.0)
/* Gains below this part may be noise. */
#define GAIN 1.03
/* When this part of a run is done, and no more than that part of blocks' time was not expected. */
#define TRIAL_FROM 0.25
#define TRIAL_UNEXPECTED 0.1
/* A loop that has run so often is likely to run again. */
#define TRIAL_RUNS 3
/* What is done without cores is looked at after this part of a run. Blocks take a quarter of it:
 * the first ones began beside the cores. Or they take so many times what they cost beside their
 * iterations. The first one of a run takes a part of that: costs may have changed. */
#define LOOK_FROM 0.08
#define LOOK_STARTS 4
#define LOOK_FIRST 0.25
/* Where these are longer than this part of the run, cores would be missed for too long. */
#define LOOK_MOST 0.125

static bool accelerators_left(const struct heddle_strategy *b)
{
	for (unsigned w = 0; w < b->nworkers; w++)
		if (!b->workers[w].retired && !hdss_is_core(b, w))
			return true;
	return false;
}

static void cores_let_in(struct heddle_strategy *b)
{
	struct hdss *h = b->state;

	h->crew.parked = false;
	h->crew.joined = true;
	h->refreshed = 0;
}

/* The time of an accelerator's block while cores wait, beside what it costs to start. */
static double look_us(const struct heddle_strategy *b, unsigned worker, double run)
{
	return hdss_larger(LOOK_FROM / 4 * run,
	                   LOOK_STARTS * blocks_hdss_known_start(b, worker, false));
}

/* Whether accelerators may be faster than all, and it would soon be seen if they are not. */
static bool trial_pays(const struct heddle_strategy *b, double run)
{
	const struct hdss *h = b->state;
	double cores = 0, accelerators = 0;

	for (unsigned w = 0; w < b->nworkers; w++) {
		double pace = h->worker[w].pace;

		if (!hdss_is_core(b, w) && (pace <= 0 || look_us(b, w, run) > LOOK_MOST * run))
			return false;
		if (pace > 0)
			*(hdss_is_core(b, w) ? &cores : &accelerators) += 1 / pace;
	}
	return cores > 0 && accelerators >= LEAST_PART * (cores + accelerators);
}

/* Of blocks under way half counts. */
static double work_done(const struct heddle_strategy *b)
{
	const struct hdss *h = b->state;
	double done = h->done;

	for (unsigned w = 0; w < b->nworkers; w++)
		done += hdss_larger(0, h->worker[w].has) / 2;
	return done;
}

static bool cores_busy(const struct heddle_strategy *b)
{
	for (unsigned w = 0; w < b->nworkers; w++)
		if (b->workers[w].under_way && hdss_is_core(b, w))
			return true;
	return false;
}

/* What is done from now on counts. */
static void cores_wait(struct heddle_strategy *b)
{
	struct hdss *h = b->state;

	h->crew.parked = true;
	h->crew.trial = false;
	h->crew.done = work_done(b);
	h->crew.now = h->now;
}

/* Work without cores, to what all workers would have done by now. */
static double gain(const struct heddle_strategy *b)
{
	const struct hdss *h = b->state;

	return (work_done(b) - h->crew.done) * h->crew.all_us / b->total / (h->now - h->crew.now);
}

void blocks_hdss_crew_begin(struct heddle_strategy *b, const struct blocks_memory *memory)
{
	struct hdss *h = b->state;

	if (!b->parameters[HDSS_CREW] || !accelerators_left(b))
		return;
	h->crew.all_us = memory->crew.all_us;
	h->crew.trial = !memory->crew.tried && memory->runs >= TRIAL_RUNS && h->confirmed &&
	                trial_pays(b, h->crew.all_us);
	if (memory->crew.accelerators)
		cores_wait(b);
}

double blocks_hdss_crew_limit(const struct heddle_strategy *b, unsigned worker, double work)
{
	const struct hdss *h = b->state;
	double pace = h->estimates[worker].pace, us;

	if (!h->crew.parked || pace <= 0)
		return work;
	us = look_us(b, worker, h->crew.all_us) * (h->worker[worker].asked ? 1 : LOOK_FIRST);
	return hdss_smaller(work, us / pace);
}

void blocks_hdss_crew_completed(struct heddle_strategy *b)
{
	const struct hdss *h = b->state;
	bool begins = h->crew.trial && h->done > TRIAL_FROM * b->total &&
	              h->off < TRIAL_UNEXPECTED * h->compared;

	if (begins || (h->crew.parked && cores_busy(b)))
		cores_wait(b);
	else if (h->crew.parked && h->now - h->crew.now > LOOK_FROM * h->crew.all_us && gain(b) < 1)
		cores_let_in(b);
}

void blocks_hdss_crew_retired(struct heddle_strategy *b)
{
	const struct hdss *h = b->state;

	if (h->crew.parked && !accelerators_left(b))
		cores_let_in(b);
}

bool blocks_hdss_crew_learn(const struct heddle_strategy *b, struct blocks_crew *crew)
{
	const struct hdss *h = b->state;
	bool waited = h->crew.parked || h->crew.joined;

	crew->accelerators = h->crew.parked && h->now > h->crew.now && gain(b) > GAIN;
	crew->tried |= waited;
	/* The least: a run that was disturbed makes no case against cores. */
	if (!waited && (!(crew->all_us > 0) || h->now < crew->all_us))
		crew->all_us = h->now;
	/* What accelerators take without cores is not what they take beside them. */
	return !waited || crew->accelerators;
}
