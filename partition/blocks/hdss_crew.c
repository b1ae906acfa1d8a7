/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HDSS: whether cores take part. Cores and accelerators share main memory, and the threads that
 * serve accelerators run on cores. Accelerators may do a loop sooner alone than together with the
 * cores, and no rate that is measured while all work tells so.
 *
 * So a run begins without cores once in a while. As soon as accelerators look too slow to do all
 * sooner than all workers, cores join. If that does not happen, later runs are without cores, as
 * long as they are shorter than those with them were. All workers run together again now and then.
 *
 * Each block of theirs tells it: how much faster it was than beside the cores. How much faster they
 * must be is told by what runs of all workers took of late.
 */
#include "config.h"

#include <math.h>

#include "partition/blocks/hdss.h"

/* Accelerators below this part of all, by costs and paces or by their blocks alone, will not be
 * faster than all, although beside cores they may look several times slower than they are alone.
 * The smaller their part is, the sooner a trial shows that it fails. */
#define LEAST_PART (1 / 10.0)
/* Gains below this part may be noise. */
#define GAIN 1.03
/* A loop that has run so often is likely to run again, and the latest of these runs knew it. It
 * runs so many times as often before the next trial, or, without cores, before a run of all workers
 * again: times may have been disturbed, and costs may have changed. Runs with cores that slow the
 * others take longest, so these are rarer. */
#define TRIAL_RUNS 2
#define TRIAL_AGAIN 4
#define ALL_AGAIN 8
/* A trial that fails may cost this part of all runs so far. Cores miss the time to its first
 * answer, and short blocks have more starts, which a pipeline hides. Accelerators that are half as
 * much faster as they must be, as a logarithm, go on at first. They are asked for all of it before
 * more than this part of that time has passed. */
#define TRIAL_COST 0.015
#define EARLY 0.5
/* Their blocks are at most this part of the run then, or so many times what they cost beside their
 * iterations. */
#define LOOK_PART 0.02
#define LOOK_STARTS 4
/* What is left for iterations of a block's time at the least. */
#define LEAST_REST 0.02

/* The time of an accelerator's block while cores wait, beside what it costs to start. */
static double look_us(const struct heddle_strategy *b, unsigned worker, double run)
{
	return hdss_larger(LOOK_PART * run,
	                   LOOK_STARTS * blocks_hdss_known_start(b, worker, false));
}

/* Whether accelerators may be faster than all, and a trial that fails would not cost too much.
 * @param cost what it may cost, as a part of the run
 * @param[out] from before this part of the run they may be slower than they must be */
static bool trial_pays(const struct heddle_strategy *b, double run, double cost, double *from)
{
	const struct hdss *h = b->state;
	double cores = 0, accelerators = 0, missed = 0, starts = 0, own = 0, part;

	for (unsigned w = 0; w < b->nworkers; w++) {
		double pace = h->worker[w].pace;

		if (!hdss_is_core(b, w)) {
			double us = look_us(b, w, run);
			double start = blocks_hdss_known_start(b, w, false);

			if (pace <= 0)
				return false;
			own += h->worker[w].own.rate;
			missed = hdss_larger(missed, us / run);
			if (!h->worker[w].pipelined)
				starts = hdss_larger(starts, start / us);
		}
		if (pace > 0)
			*(hdss_is_core(b, w) ? &cores : &accelerators) += 1 / pace;
	}
	if (cores <= 0 || accelerators < LEAST_PART * (cores + accelerators) ||
	    own < LEAST_PART * h->own.sum)
		return false;
	part = cores / (cores + accelerators);
	*from = hdss_smaller(1, EARLY * cost / (part * (1 - part)));
	return missed * part + starts * (1 - part) <= cost;
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

void blocks_hdss_crew_begin(struct heddle_strategy *b, const struct blocks_memory *memory)
{
	const struct blocks_crew *crew = &memory->crew;
	struct hdss *h = b->state;
	bool pays;

	if (!b->parameters[HDSS_CREW] || !hdss_accelerators(b) || !(crew->all_us > 0))
		return;
	h->crew.all_us = crew->all_us;
	pays = trial_pays(b, h->crew.all_us, TRIAL_COST * crew->runs, &h->crew.from);
	h->crew.parked = crew->accelerators
	                     ? crew->runs < crew->trial
	                     : pays && crew->runs >= hdss_larger(TRIAL_RUNS, crew->trial);
	h->crew.trial = !crew->accelerators;
	blocks_hdss_own_crew(b);
}

double blocks_hdss_crew_limit(const struct heddle_strategy *b, unsigned worker, double work)
{
	const struct hdss *h = b->state;
	double pace = h->estimates[worker].pace, us;

	if (!h->crew.parked || pace <= 0)
		return work;
	us = look_us(b, worker, h->crew.all_us);
	return hdss_smaller(work, us / pace);
}

static void cores_let_in(struct heddle_strategy *b)
{
	struct hdss *h = b->state;

	h->crew.parked = false;
	h->crew.joined = true;
	h->refreshed = 0;
	blocks_hdss_own_crew(b);
}

/* What accelerators must be, in times of their rates beside the cores, to do all as soon as all
 * workers. */
static double needed(const struct heddle_strategy *b)
{
	const struct hdss *h = b->state;
	double rates = 0;

	for (unsigned w = 0; w < b->nworkers; w++)
		rates += hdss_is_out(b, w) ? 0 : h->estimates[w].rate;
	return (b->total + b->given_up) / (rates * h->crew.all_us);
}

void blocks_hdss_crew_completed(struct heddle_strategy *b, unsigned worker, double work, double us)
{
	struct hdss *h = b->state;
	const struct hdss_worker *w = &h->worker[worker];
	double passed = h->now / h->crew.all_us, power;

	if (!h->crew.parked)
		return;
	/* Nothing overlaps with the first block of a pipeline, which others follow. */
	if (!w->pipelined || !w->cold || w->answered > 1) {
		h->crew.told += work * w->pace;
		h->crew.took +=
		    hdss_larger(LEAST_REST * us, us - blocks_hdss_known_start(b, worker, !w->cold));
	}
	power = hdss_smaller(1, (1 + passed / h->crew.from) / 2);
	if ((h->crew.trial && h->crew.told < pow(needed(b), power) * h->crew.took) ||
	    (passed >= 1 && work_done(b) < passed * (b->total + b->given_up)))
		cores_let_in(b);
}

void blocks_hdss_crew_retired(struct heddle_strategy *b)
{
	const struct hdss *h = b->state;

	if (h->crew.parked && !hdss_accelerators(b))
		cores_let_in(b);
}

bool blocks_hdss_crew_learn(const struct heddle_strategy *b, struct blocks_crew *crew)
{
	const struct hdss *h = b->state;
	bool waited = h->crew.parked || h->crew.joined;
	/* As if all had been done that was given up. */
	double us = h->now * (b->total + b->given_up) / b->total;

	crew->runs++;
	if (waited) {
		bool before = crew->accelerators;

		crew->accelerators = h->crew.parked && us * GAIN < crew->all_us;
		if (!before || !crew->accelerators)
			crew->trial = (crew->accelerators ? ALL_AGAIN : TRIAL_AGAIN) * crew->runs;
	} else if (crew->accelerators) {
		/* Iterations may have become cheap or dear since the cores were last there. */
		crew->accelerators = false;
		crew->trial = crew->runs;
		crew->all_us = us;
	} else {
		/* Learning takes time in the first one. */
		crew->all_us = crew->runs > 2 ? (crew->all_us + us) / 2 : us;
	}
	/* What accelerators take without cores is not what they take beside them. But it is nearer
	 * to that than what is known, where that is wrong. */
	return !waited || crew->accelerators || blocks_hdss_changed(b);
}
