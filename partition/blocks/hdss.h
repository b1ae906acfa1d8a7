/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the parts of HDSS share: hdss.c learns (adaptive phase), hdss_share.c
 * hands out the rest (completion phase), hdss_uneven.c tells dear iterations from slow
 * workers, hdss_memory.c goes from run to run, hdss_lumps.c leaves dear iterations to fast workers,
 * hdss_own.c bounds what costs may promise of a worker, hdss_crew.c decides whether cores take
 * part.
 */
#ifndef HEDDLE_STRATEGY_HDSS_H
#define HEDDLE_STRATEGY_HDSS_H

#include "estimator/block_time.h"
#include "estimator/rate_fit.h"
#include "partition/blocks/memory.h"
#include "partition/blocks/strategy.h"

/** Parameters, in the order of the table. */
enum {
	HDSS_PUBLISHED,
	HDSS_INITIAL,
	HDSS_FACTOR,
	HDSS_POINTS,
	HDSS_CHANGE,
	HDSS_ADAPTIVE,
	HDSS_LEARNING,
	HDSS_JUMP,
	HDSS_EACH,
	HDSS_KINDS,
	HDSS_WARM,
	HDSS_ROBUST,
	HDSS_FOLLOW,
	HDSS_AHEAD,
	HDSS_SLICE,
	HDSS_OVERLAP,
	HDSS_FAIR,
	HDSS_RAMP,
	HDSS_MEMORY,
	HDSS_CREW,
	HDSS_NPARAMETERS
};

/** Growth while nothing tells what a block costs beside its iterations: on a core enough to
 * tell the start from the pace. */
#define HDSS_BLIND_JUMP 3

/** A start that is so much of the run is long: blocks must be few then. */
#define HDSS_LONG_START 0.04

/* What all estimates of all workers read comes first: with many workers a decision takes as long
 * as that comes from memory. */
struct hdss_worker {
	double has;                    /**< work under way */
	double told;                   /**< what its latest block was to take beside its start */
	double clock;                  /**< when its block under way began, microseconds since the
	                                    beginning */
	double pace;                   /**< in earlier runs; 0: unknown */
	double most;                   /**< iterations of a block in these */
	double shift;                  /**< logarithm of its pace now to that */
	unsigned asked;                /**< blocks it was given */
	bool learned;                  /**< its weight is known */
	bool distrusted;               /**< its prior rate was wrong */
	bool pipelined;                /**< asks before its block before is done */
	bool cold;                     /**< began its block with nothing under way */
	struct heddle_block_time time; /**< what its blocks take */
	unsigned answered;             /**< blocks of this run that it has done */
	struct heddle_line curve;      /**< as published: rate over ln(size) */
	double rate;                   /**< of its last block, iterations per microsecond */
	struct heddle_block_point largest; /**< largest block it has done */
	struct heddle_block_point latest;  /**< its latest block */
	double latest_iterations;          /**< of that */
	double last;                       /**< iterations of its last block */
	double size;                       /**< of its next block in the adaptive phase */
	struct blocks_own own;             /**< see hdss_own.c */
};

/** The estimate for a worker at one moment, for hdss_share.c. */
struct hdss_estimate {
	double start, pace; /**< of its blocks, as heddle_block_time; pace 0: unknown */
	bool guessed;       /**< nothing is known of it */
	bool sized;         /**< blocks of different sizes were measured */
	bool retired;       /**< gets no blocks */
	double slice;       /**< duration of its blocks far from the end, microseconds */
	double rate;        /**< in such blocks */
	double ready;       /**< when it will have done what it has */
};

struct hdss {
	bool completion; /**< for all workers */
	double done;     /**< work of all workers */
	double over;     /**< how many times as long as expected blocks under way take; 1: as
	                      expected */
	/** First blocks of all workers of a kind, as if one had done them. */
	struct heddle_block_time first[HEDDLE_NKINDS];
	bool agree[HEDDLE_NKINDS]; /**< these lie on one line, and tell a start */
	double now;                /**< latest time known; the true one may be later */
	double run; /**< length of the run that slices are parts of: all of a loop, of a
	                 stream what is there */
	struct {
		double start, pace;
		bool sized;
	} kind[HEDDLE_NKINDS];   /**< means over workers, or what their first blocks tell
	                              together, as of the last blocks_hdss_estimate_all() */
	double rates;            /**< of all workers together */
	double core_pace;        /**< no core is taken to be faster */
	double *room;            /**< for two numbers of each worker */
	bool unanswered;         /**< an accelerator has its first block, and no earlier
	                              run tells its rate */
	double fastest;          /**< pace of a worker */
	unsigned long refreshed; /**< event of the last estimate of all, */
	double refreshed_us;     /**< and its time */
	unsigned soonest;        /**< a worker that would soon be done with more */
	/** The others can have done all that is left by then, as was found at this event. */
	struct {
		unsigned long event;
		double until;
	} absorbed;
	double end;                      /**< when all is expected to be done; 0: not known yet */
	struct hdss_estimate *estimates; /**< nworkers */
	/** Blocks by their places, for paces and for the next run. Not of streams. */
	bool kept;
	struct costs_run run_blocks;
	/** See hdss_uneven.c. */
	bool uneven; /**< what a block takes tells of its place more than of its worker */
	struct {
		unsigned count, worker; /**< blocks in turn, worker of the last one */
		unsigned seen;          /**< blocks whose time was known before */
		double usual;           /**< by how much they differed, as a logarithm */
		bool dear;
	} odd;                      /**< blocks that were not as expected, all in one way */
	unsigned unread;            /**< blocks done since paces were found */
	double scatter;             /**< noise of those */
	struct costs_worker *front; /**< nworkers: paces where the latest blocks lie */
	/** What iterations cost, from earlier runs. Without it each is taken for a unit of work. */
	bool known;
	bool confirmed; /**< the latest run was as those before */
	bool even;      /**< earlier runs told that all parts of the loop cost the same */
	struct costs costs;
	struct {
		bool known;
		struct costs_start start, follow;
	} starts[HEDDLE_NKINDS];
	/** See hdss_lumps.c. */
	struct blocks_lumps lumps;
	/** Rates that the own blocks of workers told, of all that take part, iterations per
	 * microsecond. */
	struct {
		double sum, fastest, second;
		double bet; /**< microseconds that a block may take of which nothing is sure */
	} own;
	/** See hdss_crew.c. */
	struct {
		bool trial;        /**< nobody knows whether a run is shorter without them */
		bool parked;       /**< cores get no blocks now */
		bool joined;       /**< they got none before */
		double all_us;     /**< of a run of all workers */
		double told, took; /**< what accelerators' blocks would take beside the cores, and
		                      take, without starts */
		double from; /**< before this part of it they may be slower than they must be */
	} crew;
	double noise;         /**< of blocks, in earlier runs */
	double level;         /**< logarithm of what iterations cost now to what they should */
	double off, compared; /**< by how much blocks differ from what was expected, of how much;
	                           microseconds */
	struct hdss_worker worker[];
};

/* fmax() and fmin() are calls, because they care for what is no number. Here all are numbers. */
static inline double hdss_larger(double a, double b)
{
	return a > b ? a : b;
}

static inline double hdss_smaller(double a, double b)
{
	return a < b ? a : b;
}

static inline bool hdss_is_core(const struct heddle_strategy *b, unsigned worker)
{
	return b->workers[worker].given.kind == HEDDLE_KIND_CPU;
}

/** How many are left. */
static inline unsigned hdss_accelerators(const struct heddle_strategy *b)
{
	unsigned n = 0;

	for (unsigned w = 0; w < b->nworkers; w++)
		n += !b->workers[w].retired && !hdss_is_core(b, w);
	return n;
}

/** Whether a worker gets no blocks, for good or for now. */
static inline bool hdss_is_out(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;

	return b->workers[worker].retired || (h->crew.parked && hdss_is_core(b, worker));
}

/** Work that nobody has. */
static inline double hdss_left(const struct heddle_strategy *b)
{
	const struct hdss *h = b->state;

	if (!h->known)
		return b->remaining;
	return costs_work(&h->costs, h->run_blocks.next, b->total - h->run_blocks.next) +
	       h->run_blocks.returned;
}

/** Work that a worker has. */
static inline double hdss_has(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;

	return h->known ? h->worker[worker].has : b->workers[worker].under_way;
}

/** The next iterations that are so much work. */
static inline double hdss_iterations(const struct heddle_strategy *b, double work)
{
	const struct hdss *h = b->state;

	return h->known && !h->run_blocks.returned ? costs_size(&h->costs, h->run_blocks.next, work)
	                                           : work;
}

/** @return whether blocks of this run take what is expected of them */
bool blocks_hdss_even(const struct heddle_strategy *b);
/** @return the least pace that is believed of a core, by n paces in `room`; 0: any */
double blocks_hdss_core_pace(const struct heddle_strategy *b, long n);

/** See memory.h. */
void blocks_hdss_remember(struct heddle_strategy *b, const struct blocks_memory *memory);
int blocks_hdss_learn(const struct heddle_strategy *b, struct blocks_memory *memory);
/** Whether blocks took so long that what earlier runs told is wrong. */
bool blocks_hdss_changed(const struct heddle_strategy *b);
/** What a block costs beside its iterations. */
double blocks_hdss_known_start(const struct heddle_strategy *b, unsigned worker, bool follows);
/** A worker's pace, given that which its latest blocks tell. */
double blocks_hdss_known_pace(const struct heddle_strategy *b, unsigned worker, double pace);
/** A block is done: was it as known? */
void blocks_hdss_compare(struct heddle_strategy *b, unsigned worker, double work, double us);

/** A run begins with what is known: do cores take part? */
void blocks_hdss_crew_begin(struct heddle_strategy *b, const struct blocks_memory *memory);
/** @return work, or less of it where cores wait for the block */
double blocks_hdss_crew_limit(const struct heddle_strategy *b, unsigned worker, double work);
/** A block is done, and counts already. */
void blocks_hdss_crew_completed(struct heddle_strategy *b, unsigned worker, double work, double us);
void blocks_hdss_crew_retired(struct heddle_strategy *b);
/** A run is over: who takes part in the next one?
 * @return whether the run tells anything else for it */
bool blocks_hdss_crew_learn(const struct heddle_strategy *b, struct blocks_crew *crew);

/** A run is over: which of its blocks may hold an iteration that is dear alone? */
int blocks_hdss_lumps_learn(const struct heddle_strategy *b, struct blocks_memory *memory);
/** @return n iterations from the next one on, or fewer up to one that others should do; 0: that
 * is the next one */
double blocks_hdss_lumps_limit(struct heddle_strategy *b, unsigned worker, double n);
/** @return whether the next iteration is long, and one that others should do */
bool blocks_hdss_lumps_next(const struct heddle_strategy *b, unsigned worker);

/** What a run's blocks say of their workers, whatever their iterations cost. */
int blocks_hdss_own_learn(const struct heddle_strategy *b, struct blocks_memory *memory);
void blocks_hdss_own_begin(struct heddle_strategy *b, const struct blocks_memory *memory);
/** A core's block that may take so long: no more work than all of its blocks of the latest run did
 * in that time. What of theirs was start is hard to tell where they had few sizes, and a block that
 * ends after all others costs more than a start.
 * @param n work that its start and pace allow */
double blocks_hdss_own_work(const struct heddle_strategy *b, unsigned worker, double us, double n);

/** @return iterations of a block that tells whether an accelerator's start is as long as it seems;
 * 0: that is known, or would cost too much */
double blocks_hdss_own_bet(const struct heddle_strategy *b, unsigned worker);
/** Other workers take part than before. */
void blocks_hdss_own_crew(struct heddle_strategy *b);
void blocks_hdss_own_completed(struct heddle_strategy *b, unsigned worker, double n, double us);
/** @return pace, or a slower one that the accelerator's own blocks tell */
double blocks_hdss_own_pace(const struct heddle_strategy *b, unsigned worker, double pace);
/** @return n iterations, or so many that an accelerator does not end far after the others could do
 * all that is left; below 1: none */
double blocks_hdss_own_limit(const struct heddle_strategy *b, unsigned worker, double n);

/** A block is done: does it tell that iterations are uneven? Before it counts. */
void blocks_hdss_uneven_note(struct heddle_strategy *b, unsigned worker, double n, double us);
/** Where they are uneven: finds paces anew, now and then. */
void blocks_hdss_uneven_refresh(struct heddle_strategy *b);
/** As how many iterations a block counts for its worker's start, at the pace that was measured; 0:
 * it tells nothing of that. */
double blocks_hdss_uneven_size(const struct heddle_strategy *b, unsigned worker, double n);

/** Brings the estimates and the estimated end up to date. With many workers, those of
 * others than the one that asks are left for a few events. */
void blocks_hdss_estimate_all(struct heddle_strategy *b, unsigned worker);

/** A worker was given a block: it will be ready later than estimated before. */
void blocks_hdss_estimate_given(const struct heddle_strategy *b, unsigned worker);

/** Iterations a worker's blocks have far from the end; 0: not known yet. Wants
 * blocks_hdss_estimate_all() before. */
double blocks_hdss_slice(const struct heddle_strategy *b, unsigned worker);

/** Size of a block that tells more than a worker's last one did: by now nothing
 * tells what a block costs beside its iterations. */
double blocks_hdss_jump(const struct heddle_strategy *b, unsigned worker);

/** Whether an accelerator of which nothing is known would answer only when the others
 * are expected to have done all. Wants blocks_hdss_estimate_all() before. */
bool blocks_hdss_comes_late(const struct heddle_strategy *b, unsigned worker);

/** Wished size of a block of the completion phase; 0: others finish sooner
 * without this worker. Wants blocks_hdss_estimate_all() before. */
double blocks_hdss_share(struct heddle_strategy *b, unsigned worker);

/** The estimate for a worker's blocks: its own measurements, else those of
 * its kind, else its prior rate. Sets start, pace and sized.
 * @return false where nothing is known; the pace is 0 then. */
bool blocks_hdss_estimate(const struct heddle_strategy *b, unsigned worker,
                          struct hdss_estimate *estimate);
/** The same without the bound that other cores set. */
bool blocks_hdss_measured(const struct heddle_strategy *b, unsigned worker,
                          struct hdss_estimate *estimate);

#endif
