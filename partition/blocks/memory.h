/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a strategy knows of a loop from its earlier runs: costs of its iterations, and what the
 * blocks of each worker took. Strategies that keep nothing ignore it.
 */
#ifndef HEDDLE_BLOCKS_MEMORY_H
#define HEDDLE_BLOCKS_MEMORY_H

#include <heddle/strategy.h>

#include "estimator/block_time.h"
#include "partition/blocks/costs.h"

struct blocks_memory_worker {
	struct costs_worker time;          /**< pace 0: nothing is known */
	struct heddle_block_point largest; /**< block; its size is work */
	double most;                       /**< iterations of a block */
	bool pipelined;                    /**< had a block while another one was under way */
	/** What its blocks took, as if all iterations cost the same. */
	struct blocks_own {
		double rate; /**< with all that blocks cost; 0: nothing is known */
		double pace; /**< of an accelerator's iterations, no longer than its blocks tell; 0:
		              * nothing is known */
		double work_us; /**< of a unit of work, with all that blocks cost; 0: not known */
		bool sized; /**< blocks of different sizes told what they cost beside iterations */
		struct heddle_block_point largest; /**< block of the latest run */
	} own;
};

/** Strategies that auto chooses among; the first one is hdss. */
#define BLOCKS_CANDIDATES 6

/** What auto knows of its candidates. */
struct blocks_choice {
	unsigned taken; /**< number of the candidate; 0: hdss */
	bool over;      /**< no replays are made any more */
	struct blocks_promise {
		unsigned replays;
		double us; /**< mean length of the run in these */
	} promises[BLOCKS_CANDIDATES];
	double hdss_us;  /**< what runs of hdss took of late; 0: none with memory was seen */
	double taken_us; /**< mean of what the latest runs of the one taken took */
	unsigned runs;   /**< that this mean remembers */
	double block_us; /**< what it took to replay a block; 0: not known yet */
	double saved_us; /**< that replays may take */
	double wanted;   /**< blocks that the next replay has at least */
};

/** What hdss knows of runs without cores. */
struct blocks_crew {
	unsigned runs;  /**< of the loop, whatever its iterations cost */
	unsigned trial; /**< after so many the next one begins without cores, or with them again */
	bool accelerators; /**< the next one is without cores */
	double all_us;     /**< what runs of all workers took of late; 0: there was none */
};

/** Iterations of a block that took far longer than those around it: one of them may cost so much
 * more than the others. */
#define BLOCKS_LUMPS 64
struct blocks_lumps {
	unsigned count;
	struct blocks_lump {
		size_t start, n;
		double work; /**< beyond what the blocks around it cost */
	} all[BLOCKS_LUMPS]; /**< by place */
};

struct blocks_memory {
	unsigned runs; /**< that it comes from, without those before the costs changed */
	double noise;  /**< how much blocks side by side differ, as part of their time */
	double error;  /**< of the latest run: part of blocks' time that was not expected */
	struct blocks_choice choice;
	struct blocks_crew crew;
	struct blocks_lumps lumps;
	unsigned nworkers;
	struct costs costs;
	struct blocks_memory_worker workers[];
};

/** Whether a run tells something for the next one. */
bool blocks_memory_kept(const struct heddle_strategy *b);

/** Begins with what is known. Before the first block. Memory of another number of iterations or of
 * other workers is ignored. */
void blocks_memory_use(struct heddle_strategy *b, const struct blocks_memory *memory);

/** Adds what a run has told that is over.
 * @param[in,out] memory NULL, or from heap; to be freed with free()
 * @return 0; -ENOMEM; -ENOENT where it told nothing; memory is as before then */
int blocks_memory_learn(const struct heddle_strategy *b, struct blocks_memory **memory);

/** What auto has chosen for this run. */
struct blocks_chosen {
	const char *spec;
	double us, hdss_us; /**< how long the run will be with that and with hdss; 0: not known */
	size_t replayed;    /**< blocks, to know that, since the run before */
};

/** @return NULL: the strategy is not auto */
const struct blocks_chosen *blocks_auto_chosen(const struct heddle_strategy *b);

/** The call of blocks_memory_use() took so long. Of other strategies nobody wants to know. */
void blocks_auto_took(struct heddle_strategy *b, double us);

#endif
