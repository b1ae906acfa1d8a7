/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The stream of tasks of a multi-resolution image analysis on a simulated machine:
 * NBIA as Teodoro et al. measured it (HPDC 2010, section 6.3). Every tile is looked at
 * with 32 x 32 pixels first; some create a task for 512 x 512 pixels when they are
 * done. CPU times are those of the paper's Table 3, where an accelerator runs a small
 * tile as fast as a core and a large one 33 times as fast, its copy apart; with
 * copies that nothing overlaps it is 25 times (Figure 6).
 *
 *	heddle simulate --platform 1cpu+gpu33@276:10 -- tiles SCHED RECALC [TILES] [sync] [gpu]
 *[fast]
 *
 * The simulation looks at accelerators every microsecond: "fast" makes all tasks ten times
 * as short, so that it takes a tenth of the time, with errors of 1 % for small tiles
 * (the platform's link should then be ten times as fast).
 *
 * RECALC is the percentage of tiles that are computed twice. An accelerator of
 * speed S runs large tiles S times as fast as a core. "sync" lets nothing overlap,
 * "gpu" leaves the cores out. Prints one line of words, of which the first says
 * what the second is; times in seconds.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>
#include <starpu_scheduler.h>
#include <heddle/heddle.h>

#include "estimator/platform_starpu.h"

#define TILES 26742
#define SMALL_EDGE 32
#define LARGE_EDGE 512
#define PIXEL 3 /* bytes */
#define FEATURES 64

enum resolution { SMALL, LARGE, NRESOLUTIONS };

static unsigned long ntiles = TILES, nlarge;
static double scale = 1;
static double cpu_us[NRESOLUTIONS];
static unsigned char pixels[LARGE_EDGE * LARGE_EDGE * PIXEL], features[FEATURES];
static unsigned long done[NRESOLUTIONS][2]; /* on cores, elsewhere */

/* Table 3: seconds of the CPU alone, for 26,742 tiles; between its rates the time
 * of a large tile is that of the next. */
static void times_init(double recalc)
{
	static const double table[][2] = {{4, 350}, {8, 665}, {12, 974}, {16, 1287}, {20, 1532}};
	size_t row = 0;

	while (row < 4 && table[row][0] < recalc - 1e-9)
		row++;
	cpu_us[SMALL] = 30e6 / scale / TILES;
	cpu_us[LARGE] = (table[row][1] - 30) * 1e6 / scale / (table[row][0] / 100 * TILES);
	nlarge = lround(ntiles * recalc / 100);
}

static double tile_us(enum resolution resolution, double speed)
{
	return resolution == SMALL ? cpu_us[SMALL] : cpu_us[LARGE] / speed;
}

static double speed_of(unsigned accelerator)
{
	const struct heddle_platform *platform = heddle_platform_current();

	return platform ? platform->accelerators[accelerator].speed : 33;
}

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	enum resolution resolution = (enum resolution)(uintptr_t)task->cl_arg;

	return tile_us(resolution, arch->devices[0].type == STARPU_CPU_WORKER
	                               ? 1
	                               : speed_of(arch->devices[0].devid));
}

static void never(void *buffers[], void *arg)
{
	abort(); /* kernels do not run under SimGrid */
}

static struct starpu_perfmodel model = {
    .type = STARPU_PER_ARCH,
    .symbol = "heddle_tiles",
    .arch_cost_function = cost,
};

static struct starpu_codelet codelet = {
    .cpu_funcs = {never},
    .cuda_funcs = {never},
    .cuda_flags = {STARPU_CUDA_ASYNC},
    .model = &model,
    .nbuffers = 2,
    .modes = {STARPU_R, STARPU_W},
    .name = "tile",
};

static void tile_submit(enum resolution resolution, unsigned long index);

/* Whether a tile is one of the nlarge, evenly among all. */
static bool goes_on(unsigned long index)
{
	return (index + 1) * nlarge / ntiles > index * nlarge / ntiles;
}

static void tile_done(void *index)
{
	struct starpu_task *task = starpu_task_get_current();
	enum resolution resolution = (enum resolution)(uintptr_t)task->cl_arg;
	int worker = starpu_worker_get_id();

	done[resolution][starpu_worker_get_type(worker) != STARPU_CPU_WORKER]++;
	if (resolution == SMALL && goes_on((unsigned long)index))
		tile_submit(LARGE, (unsigned long)index);
}

static void tile_submit(enum resolution resolution, unsigned long index)
{
	size_t edge = resolution == SMALL ? SMALL_EDGE : LARGE_EDGE;
	struct starpu_task *task = starpu_task_create();
	starpu_data_handle_t in, out;

	/* Nothing is ever read or written. */
	starpu_vector_data_register(&in, STARPU_MAIN_RAM, (uintptr_t)pixels, edge * edge, PIXEL);
	starpu_vector_data_register(&out, STARPU_MAIN_RAM, (uintptr_t)features, FEATURES, 1);
	task->cl = &codelet;
	task->cl_arg = (void *)(uintptr_t)resolution;
	task->handles[0] = in;
	task->handles[1] = out;
	task->callback_func = tile_done;
	task->callback_arg = (void *)index;
	if (starpu_task_submit(task))
		abort();
	starpu_data_unregister_submit(in);
	starpu_data_unregister_submit(out);
}

/* Whether the machine could do all in that time: whoever speeds up large tiles most
 * does those, until none is left. */
static bool feasible(double us, const double *speeds, unsigned n)
{
	double small = ntiles, large = nlarge;

	for (unsigned d = 0; d < n; d++) { /* fastest first */
		double rate = 1 / tile_us(LARGE, speeds[d]), left = us;
		double taken = fmin(large, left * rate);

		large -= taken;
		left -= taken / rate;
		small -= left / tile_us(SMALL, speeds[d]);
	}
	return large <= 1e-9 && small <= 1e-9;
}

static int faster_first(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/* The best that any division of the tiles among the processors can do, as if tiles
 * could be cut anywhere and nothing depended on anything. */
static double bound_us(void)
{
	double speeds[STARPU_NMAXWORKERS], low = 0, high;
	unsigned n = 0;

	for (unsigned w = 0; w < starpu_worker_get_count(); w++)
		speeds[n++] = starpu_worker_get_type(w) == STARPU_CPU_WORKER
		                  ? 1
		                  : speed_of(starpu_worker_get_devid(w));
	qsort(speeds, n, sizeof(*speeds), faster_first);
	high = ntiles * cpu_us[SMALL] + nlarge * cpu_us[LARGE];
	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (feasible(middle, speeds, n))
			high = middle;
		else
			low = middle;
	}
	return high;
}

static double run(void)
{
	double start = starpu_timing_now();

	for (unsigned long i = 0; i < ntiles; i++)
		tile_submit(SMALL, i);
	starpu_task_wait_for_all();
	return starpu_timing_now() - start;
}

int main(int argc, char **argv)
{
	struct starpu_conf conf;
	double us;

	if (argc < 3 || heddle_starpu_check() || starpu_conf_init(&conf))
		return 2;
	for (int i = 3; i < argc; i++) {
		if (!strcmp(argv[i], "sync")) {
			codelet.cuda_flags[0] = 0;
			setenv("STARPU_CUDA_PIPELINE", "0", 1);
			setenv("STARPU_PREFETCH", "0", 1);
		} else if (!strcmp(argv[i], "fast")) {
			scale = 10;
		} else if (!strcmp(argv[i], "gpu")) {
			conf.ncpus = 0;
		} else {
			ntiles = strtoul(argv[i], NULL, 10);
		}
	}
	times_init(strtod(argv[2], NULL));
	conf.sched_policy_name = argv[1];
	if (starpu_init(&conf))
		return 77;
	us = run();
	printf("sched %s recalc %s workers %u seconds %.6f bound %.6f cpu %.6f small-cpu %lu "
	       "small-gpu %lu large-cpu %lu large-gpu %lu\n",
	       argv[1], argv[2], starpu_worker_get_count(), us * scale / 1e6,
	       bound_us() * scale / 1e6,
	       (ntiles * cpu_us[SMALL] + nlarge * cpu_us[LARGE]) * scale / 1e6, done[SMALL][0],
	       done[SMALL][1], done[LARGE][0], done[LARGE][1]);
	starpu_shutdown();
	return 0;
}
