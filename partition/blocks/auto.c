/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Chooses among strategies for a loop that runs again, by replaying its next run under each. What
 * the runs before have told of iterations and workers is the machine of the replays. Until then,
 * and unless another one promises more than errors of such a promise, it is hdss. The idea is
 * SimAS's (Mohammed and Ciorba, Simulation-assisted scheduling, 2020), where a simulator chooses
 * while the loop runs.
 *
 * Two runs are hdss's: the first one learns, the second one shows whether what was learned
 * holds, and what hdss takes with it. Replays are made before later runs, and take a small part of
 * all runs so far. A choice stays as long as its runs take less time than those of hdss.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "partition/blocks/replay.h"
#include "partition/blocks/strategy.h"

enum { COST, GAIN };

static const struct heddle_strategy_parameter parameters[] = {
    {"cost", 0.05, 0, 1, "of all runs", "most that replays take, by what they took before"},
    {"gain", 0.02, 0, 1, "of a run",
     "and a tenth of the noise of blocks: what must be promised for another one than hdss"},
    {0},
};

static const struct {
	const char *spec;
	bool priors; /* is told rates */
} candidates[BLOCKS_CANDIDATES] = {
    {"hdss", false},          {"hdss:slice=8", false}, {"hdss:slice=0", false},
    {"hdss:memory=0", false}, {"awfe", false},         {"axel", true},
};

/* Replays of a candidate, each with other noise. */
#define REPLAYS 3
/* Runs of the one taken that their mean remembers: the machine may become slower. */
#define LATEST 8
/* Blocks of a replay. */
#define MOST_BLOCKS 1e6
/* Of the noise of blocks, as part of a run's time. */
#define NOISE_PART 0.1

struct auto_state {
	struct heddle_strategy *inner; /* the strategy at work */
	struct blocks_choice choice;
	struct blocks_chosen chosen;
	bool warm;     /* began with what earlier runs told */
	double now;    /* latest time known, microseconds since the beginning */
	double *clock; /* of each worker: when its block under way began */
};

static struct heddle_strategy *inner(const struct heddle_strategy *b)
{
	return ((const struct auto_state *)b->state)->inner;
}

/* ---- the strategy at work ---- */

/* What a candidate is told of a worker. */
static struct heddle_strategy_worker worker_given(const struct heddle_strategy *b, unsigned worker,
                                                  unsigned candidate,
                                                  const struct blocks_memory *memory)
{
	struct heddle_strategy_worker given = b->workers[worker].given;

	if (candidates[candidate].priors) {
		given.rate = 1 / memory->workers[worker].time.pace;
		given.start_us = memory->workers[worker].time.start.us;
	}
	return given;
}

static int inner_create(const struct heddle_strategy *b, unsigned candidate,
                        const struct blocks_memory *memory, struct heddle_strategy **strategy)
{
	struct heddle_strategy_worker *workers = calloc(b->nworkers, sizeof(*workers));
	struct heddle_strategy_problem problem = {
	    .n = b->total, .nworkers = b->nworkers, .workers = workers};
	int error;

	if (!workers)
		return -ENOMEM;
	for (unsigned w = 0; w < b->nworkers; w++)
		workers[w] = worker_given(b, w, candidate, memory);
	error = heddle_strategy_create(candidates[candidate].spec, &problem, strategy);
	free(workers);
	return error;
}

static int auto_begin(struct heddle_strategy *b)
{
	struct auto_state *s = calloc(1, sizeof(*s));
	int error = -ENOMEM;

	if (!s)
		return error;
	s->clock = calloc(b->nworkers, sizeof(*s->clock));
	if (s->clock)
		error = inner_create(b, 0, NULL, &s->inner);
	if (error) {
		free(s->clock);
		free(s);
		return error;
	}
	s->chosen.spec = candidates[0].spec;
	/* Sizes that suit the one suit the other. */
	for (unsigned w = 0; w < b->nworkers; w++)
		b->workers[w].given.alignment = s->inner->workers[w].given.alignment;
	b->state = s;
	return 0;
}

static size_t auto_next(struct heddle_strategy *b, unsigned worker)
{
	inner(b)->ranks = b->ranks;
	inner(b)->scattered = b->scattered;
	inner(b)->at_hand = b->at_hand;
	return heddle_strategy_next(inner(b), worker);
}

static void auto_gave(struct heddle_strategy *b, unsigned worker, size_t n)
{
	struct auto_state *s = b->state;

	if (b->workers[worker].blocks_under_way == 1)
		s->clock[worker] = fmax(s->clock[worker], s->now);
}

static void auto_completed(struct heddle_strategy *b, unsigned worker, size_t n, double us)
{
	struct auto_state *s = b->state;

	s->clock[worker] += us;
	s->now = fmax(s->now, s->clock[worker]);
	heddle_strategy_completed(s->inner, worker, n, us);
}

static void auto_returned(struct heddle_strategy *b, unsigned worker, size_t n)
{
	heddle_strategy_return(inner(b), worker, n);
}

static void auto_extended(struct heddle_strategy *b, size_t n)
{
	heddle_strategy_extend(inner(b), n);
}

static void auto_shortened(struct heddle_strategy *b, size_t n)
{
	blocks_shorten(inner(b), n);
}

static void auto_retired(struct heddle_strategy *b, unsigned worker)
{
	heddle_strategy_retire(inner(b), worker);
}

static enum heddle_phase auto_phase(const struct heddle_strategy *b, unsigned worker)
{
	return heddle_strategy_phase(inner(b), worker);
}

static double auto_rate(const struct heddle_strategy *b, unsigned worker)
{
	return heddle_strategy_rate(inner(b), worker);
}

static double auto_expected(const struct heddle_strategy *b, unsigned worker, double *start_us)
{
	return blocks_expected_us(inner(b), worker, start_us);
}

static double auto_ends(const struct heddle_strategy *b)
{
	return blocks_end_us(inner(b));
}

static void auto_end(struct heddle_strategy *b)
{
	struct auto_state *s = b->state;

	heddle_strategy_destroy(s->inner);
	free(s->clock);
	free(s);
}

/* ---- choosing ---- */

/* @return false: of a worker nothing is known */
static bool machine_make(const struct heddle_strategy *b, const struct blocks_memory *memory,
                         unsigned candidate, struct replay_worker *workers)
{
	for (unsigned w = 0; w < b->nworkers; w++) {
		const struct costs_worker *time = &memory->workers[w].time;

		if (!(time->pace > 0))
			return false;
		workers[w] = (struct replay_worker){
		    .given = worker_given(b, w, candidate, memory),
		    .rate = 1 / time->pace,
		    .overhead_us = time->start.us,
		    /* Starts are hidden where some were. */
		    .depth = time->follow.sure > 0 ? 2 : 1,
		    .noise = memory->noise,
		};
	}
	return true;
}

/* Replays the run under a candidate once more, for at most `limit` blocks.
 * @return blocks; below 0: an error */
static long replay(struct heddle_strategy *b, const struct blocks_memory *memory,
                   unsigned candidate, size_t limit)
{
	struct auto_state *s = b->state;
	struct blocks_promise *promise = &s->choice.promises[candidate];
	struct replay_machine machine = {.n = b->total,
	                                 .costs = &memory->costs,
	                                 .nworkers = b->nworkers,
	                                 .seed = promise->replays + 1,
	                                 .known = memory,
	                                 .limit = limit};
	struct replay_result result;
	long blocks = -ENOMEM;

	machine.workers = calloc(b->nworkers, sizeof(*machine.workers));
	if (!machine.workers)
		return -ENOMEM;
	if (!machine_make(b, memory, candidate, machine.workers))
		blocks = -ENOENT;
	else
		blocks = replay_run(candidates[candidate].spec, &machine, &result);
	if (!blocks) {
		promise->replays++;
		promise->us += (result.makespan_us - promise->us) / promise->replays;
		blocks = result.nblocks;
		replay_free(&result);
	}
	free(machine.workers);
	return blocks;
}

/* Whether a candidate is worth another replay. */
static bool is_promising(const struct blocks_choice *choice, unsigned candidate, unsigned replays)
{
	const struct blocks_promise *promise = &choice->promises[candidate];

	return promise->replays < replays &&
	       (!promise->replays || promise->us < choice->promises[0].us);
}

/* The next replay: one of each, then another one of those that promise something.
 * @return BLOCKS_CANDIDATES: all are made */
static unsigned replay_next(const struct blocks_choice *choice)
{
	for (unsigned replays = 1; replays <= REPLAYS; replays++)
		for (unsigned c = BLOCKS_CANDIDATES; c-- > 1;) {
			if (!is_promising(choice, c, replays))
				continue;
			return choice->promises[0].replays < replays ? 0 : c;
		}
	return BLOCKS_CANDIDATES;
}

/* All replays are made: the best promise that is more than an error. */
static void choose(struct heddle_strategy *b, double noise)
{
	struct auto_state *s = b->state;
	const struct blocks_promise *promises = s->choice.promises;
	double least = promises[0].us * (1 - b->parameters[GAIN] - NOISE_PART * noise);

	s->choice.over = true;
	for (unsigned c = 1; c < BLOCKS_CANDIDATES; c++)
		if (promises[c].replays == REPLAYS && promises[c].us < least) {
			s->choice.taken = c;
			least = promises[c].us;
		}
}

/* What replaying a block takes; before that was measured, as seen elsewhere: each event looks at
 * all workers. */
static double block_us(const struct heddle_strategy *b, const struct blocks_choice *choice)
{
	return choice->block_us > 0 ? choice->block_us : 1 + b->nworkers / 64.0;
}

static void replays_make(struct heddle_strategy *b, const struct blocks_memory *memory)
{
	struct auto_state *s = b->state;
	struct blocks_choice *choice = &s->choice;
	double each = block_us(b, choice);
	unsigned candidate;

	choice->saved_us += b->parameters[COST] * choice->hdss_us;
	while ((candidate = replay_next(choice)) < BLOCKS_CANDIDATES) {
		double limit = fmin(MOST_BLOCKS, floor(choice->saved_us / each));
		long blocks =
		    limit < 1 || limit < choice->wanted ? 0 : replay(b, memory, candidate, limit);

		if (!blocks || (blocks < 0 && blocks != -E2BIG))
			return; /* before a later run */
		/* What was cut short is made again when there is twice the time. */
		choice->wanted = blocks < 0 ? 2 * limit : 0;
		blocks = blocks < 0 ? limit : blocks;
		choice->saved_us -= blocks * each;
		s->chosen.replayed += blocks;
	}
	choose(b, memory->noise);
}

static void auto_remember(struct heddle_strategy *b, const struct blocks_memory *memory)
{
	struct auto_state *s = b->state;
	struct heddle_strategy *other;

	s->warm = true;
	/* Costs that are new have no promises yet. */
	if (memory->runs > 1)
		s->choice = memory->choice;
	if (s->choice.hdss_us > 0 && !s->choice.over)
		replays_make(b, memory);
	if (s->choice.taken && !inner_create(b, s->choice.taken, memory, &other)) {
		heddle_strategy_destroy(s->inner);
		s->inner = other;
	} else {
		s->choice.taken = 0;
	}
	blocks_memory_use(s->inner, memory);
	s->chosen.spec = candidates[s->choice.taken].spec;
	s->chosen.us = s->choice.promises[s->choice.taken].us;
	s->chosen.hdss_us = s->choice.promises[0].us;
}

static bool auto_kept(const struct heddle_strategy *b)
{
	const struct auto_state *s = b->state;

	return !b->stream && (s->choice.taken || blocks_memory_kept(s->inner));
}

/* A run is over: is the choice as good as it promised to be? */
static void judge(struct auto_state *s)
{
	struct blocks_choice *choice = &s->choice;

	if (!choice->taken) {
		choice->hdss_us = choice->hdss_us > 0 ? (choice->hdss_us + s->now) / 2 : s->now;
		return;
	}
	choice->runs += choice->runs < LATEST;
	choice->taken_us += (s->now - choice->taken_us) / choice->runs;
	if (choice->taken_us >= choice->hdss_us)
		choice->taken = 0;
}

static int auto_learn(const struct heddle_strategy *b, struct blocks_memory *memory)
{
	struct auto_state *s = b->state;
	int error = 0;

	if (blocks_memory_kept(s->inner))
		error = s->inner->strategy->learn(s->inner, memory);
	else if (!memory->runs) /* it would tell nothing, and look as if it did */
		error = -ENOENT;
	if (error)
		return error;
	/* A run that began cold, since another one of the loop was under way, knows of no choice.
	 */
	if (s->warm) {
		judge(s);
		memory->choice = s->choice;
	}
	return 0;
}

const struct blocks_chosen *blocks_auto_chosen(const struct heddle_strategy *b)
{
	return b->strategy == &blocks_auto ? &((const struct auto_state *)b->state)->chosen : NULL;
}

void blocks_auto_took(struct heddle_strategy *b, double us)
{
	struct auto_state *s = b->state;

	if (b->strategy == &blocks_auto && s->chosen.replayed)
		s->choice.block_us = us / s->chosen.replayed;
}

const struct blocks_strategy blocks_auto = {
    .table = {.name = "auto",
              .source = "Mohammed and Ciorba, SimAS, Concurrency and Computation: Practice and "
                        "Experience 32(15), 2020: the idea",
              .doc = "hdss, or another strategy where replays of a loop that runs again promise "
                     "more",
              .parameters = parameters},
    .begin = auto_begin,
    .next = auto_next,
    .gave = auto_gave,
    .completed = auto_completed,
    .returned = auto_returned,
    .extended = auto_extended,
    .shortened = auto_shortened,
    .retired = auto_retired,
    .phase = auto_phase,
    .rate = auto_rate,
    .expected = auto_expected,
    .ends = auto_ends,
    .end = auto_end,
    .kept = auto_kept,
    .remember = auto_remember,
    .learn = auto_learn,
};
