/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Simulated machines: some equal cores and some accelerators, described by a line such as
 *
 *	63cpu+gpu36@12000:10
 *
 * (63 cores and a GPU 36 times as fast as one of them, behind a link of 12000 MB/s and 10 µs),
 * or machines that StarPU has been calibrated on: starpu:mirage.
 * tools/common/simulation.h finds machines by name.
 */
#ifndef HEDDLE_ESTIMATOR_PLATFORM_H
#define HEDDLE_ESTIMATOR_PLATFORM_H

#include <stddef.h>
#include <heddle/kind.h>

#define HEDDLE_PLATFORM_MAXACCELERATORS 16
#define HEDDLE_PLATFORM_MAXCPUS 4096
#define HEDDLE_PLATFORM_MAXSPEC 512 /**< characters of a description, with its end */
#define HEDDLE_PLATFORM_MAXHOST 64  /**< characters of a calibrated machine's name, with its end */
/** Begins the description of a calibrated machine. */
#define HEDDLE_PLATFORM_CALIBRATED "starpu:"
/** Stands for a core where the index of an accelerator is asked for. */
#define HEDDLE_PLATFORM_CORE (-1)

/* The grammar, blanks not allowed:
 *
 *	SPEC        = "starpu:" HOST | DESCRIPTION
 *	DESCRIPTION = COUNT "cpu" ["=" RATE] {"+" ACCELERATOR}
 *	ACCELERATOR = [COUNT] ("gpu" | "fpga") SPEED ["~" [BLOCK]]
 *	              ["@" MBPS ":" US] ["^" MB] ["%" FACTOR "/" FRACTION]
 *
 * HOST      the machine's name in StarPU's performance models: letters, digits and "._-".
 *           They say which workers there are and how long each task takes. Loops have no
 *           models: their blocks are those of an undescribed machine.
 * RATE      iterations per µs of one core, above 0 (default 1)
 * SPEED     of the accelerator, in cores, above 0
 * ~BLOCK    the rate grows as the logarithm of the block size and saturates at
 *           SPEED from blocks of BLOCK iterations on, at least 2 (default 2^20):
 *           rate(x) = SPEED ln(1 + x) / ln(1 + BLOCK), the shape of HDSS, Figure 8.
 *           Without "~" the rate does not depend on the block size.
 * @MBPS:US  bandwidth in MB/s each way and latency in µs of its link to main
 *           memory (default 12000:10)
 * ^MB       its memory, in 10^6 bytes, at least 128 (default 64000)
 * %F/P      the accelerator's rate is multiplied by F, above 0, from a moment on:
 *           when the fraction P (0 to 1) of the time has passed that the whole
 *           machine would need ideally without the slowdown. The moment is one of
 *           simulated time, counted from the first loop of the process, so it is
 *           the same for every strategy, whatever order it hands blocks out in. */

struct heddle_platform_accelerator {
	enum heddle_kind kind; /**< HEDDLE_KIND_CUDA ("gpu") or HEDDLE_KIND_FPGA */
	double speed;          /**< cores it is worth, at its best */
	double saturation;     /**< smallest block at which it is at its best, iterations; 0: any */
	double mbps;           /**< bandwidth of its link each way, MB/s */
	double latency_us;     /**< of its link, µs */
	double memory_mb;      /**< its memory, 10^6 bytes */
	double slow_factor;    /**< rate is multiplied by this … (1: never) */
	double slow_at;        /**< … from this fraction of the undisturbed ideal time on */
};

struct heddle_platform {
	char spec[HEDDLE_PLATFORM_MAXSPEC]; /**< the description */
	char host[HEDDLE_PLATFORM_MAXHOST]; /**< of a calibrated machine, which has none of the
	                                       following; "": described */
	unsigned ncpus;
	double core_rate; /**< iterations per µs of one core */
	unsigned naccelerators;
	struct heddle_platform_accelerator accelerators[HEDDLE_PLATFORM_MAXACCELERATORS];
	char app[32]; /**< what a named platform is meant to run; "": anything */
	size_t size;  /**< with this many iterations; 0: any number */
};

/** Reads a description.
 * @return 0; -EINVAL after a message that names the position and what was
 * expected there. */
int heddle_platform_parse(const char *spec, struct heddle_platform *platform);

/** Time of a block in µs, transfers aside; above 0 for n above 0.
 * @param accelerator index, or HEDDLE_PLATFORM_CORE
 * @param n iterations of the block
 * @param total iterations of the whole loop
 * @param elapsed_us since the loop began, at the block's start */
double heddle_platform_block_us(const struct heddle_platform *platform, int accelerator, size_t n,
                                size_t total, double elapsed_us);

/** Time in µs that cores and accelerators together need at the least for a loop
 * of n iterations: all busy to the end, every accelerator at its best block size,
 * no transfer. Slowdowns are counted.
 * @param cores whether the cores take part
 * @param accelerators bit i: accelerator i takes part
 * @return infinity where nobody takes part */
double heddle_platform_ideal_us(const struct heddle_platform *platform, size_t n, int cores,
                                unsigned accelerators);

/** Share of the iterations, 0 to 1, that one core or accelerator does in that ideal
 * with all taking part.
 * @param accelerator index, or HEDDLE_PLATFORM_CORE */
double heddle_platform_ideal_share(const struct heddle_platform *platform, size_t n,
                                   int accelerator);

#endif
