/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ordinary tasks under a policy of ours ($1), on CPU workers and an FPGA: results are
 * right, and the estimator, where the policy asks it, knows the FPGA as a class of its
 * own, by modelled time.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>

#include <heddle/heddle.h>

#include "codelets/programs.h"
#include "codelets/histogram/histogram.h"
#include "estimator/platform_starpu.h"
#include "support/variables.h"

/* So many that the FPGA has work for longer than a trial of the core may take, which is 64 of its
 * tasks ("Trials" in doc/internals/policies.md): the core gets one although the FPGA was first. */
enum { NTASKS = 128, PIECES = 16, SIZE = PIECES * HISTOGRAM_PIECE };

static unsigned char bytes[NTASKS][SIZE];
static uint64_t counters[NTASKS][HISTOGRAM_BINS];
static starpu_data_handle_t in[NTASKS], out[NTASKS];
static struct heddle_block blocks[NTASKS];

static int worker_of(enum heddle_kind kind)
{
	for (unsigned w = 0; w < starpu_worker_get_count(); w++)
		if (heddle_worker_kind(w) == kind)
			return w;
	return -1;
}

static struct starpu_task *task_make(int t)
{
	struct starpu_task *task = starpu_task_create();

	blocks[t] = (struct heddle_block){.n = PIECES, .total = PIECES};
	task->cl = &histogram_codelet;
	task->cl_arg = &blocks[t];
	task->cl_arg_size = 0;
	task->handles[0] = in[t];
	task->handles[1] = out[t];
	/* Some are left to no other. */
	if (t % 4 == 0)
		task->where = STARPU_OPENCL;
	return task;
}

static int run(void)
{
	int error = 0;

	for (int t = 0; t < NTASKS; t++) {
		for (int i = 0; i < SIZE; i++)
			bytes[t][i] = i * 7 + t;
		starpu_vector_data_register(&in[t], STARPU_MAIN_RAM, (uintptr_t)bytes[t], PIECES,
		                            HISTOGRAM_PIECE);
		starpu_vector_data_register(&out[t], STARPU_MAIN_RAM, (uintptr_t)counters[t],
		                            HISTOGRAM_BINS, sizeof(**counters));
	}
	/* The FPGA must not be ahead of the submission. */
	starpu_pause();
	for (int t = 0; t < NTASKS && !error; t++)
		error = starpu_task_submit(task_make(t));
	starpu_resume();
	starpu_task_wait_for_all();
	return error;
}

static int check_results(void)
{
	for (int t = 0; t < NTASKS; t++) {
		uint64_t right[HISTOGRAM_BINS] = {0};

		starpu_data_acquire(out[t], STARPU_R);
		histogram_reference(SIZE, bytes[t], right);
		if (blocks[t].status || memcmp(right, counters[t], sizeof(right))) {
			printf("task %d is wrong (status %d)\n", t, blocks[t].status);
			return 1;
		}
		starpu_data_release(out[t]);
	}
	return 0;
}

/* The clocks of the design, by its manual. */
static int check_estimates(int cpu, int fpga)
{
	double mhz = heddle_variable_number(HEDDLE_VARIABLE_FPGA_CLOCK);
	double least = SIZE / 16 + HISTOGRAM_BINS, most = least + HISTOGRAM_BINS + 20;
	struct starpu_task *task = task_make(0);
	struct heddle_estimate ours, other;

	task->destroy = 0;
	if (heddle_estimate_task(task, fpga, &ours) || heddle_estimate_task(task, cpu, &other))
		return 1;
	starpu_task_destroy(task);
	printf("fpga: %.1f us (%s), cpu: %.1f us (%s)\n", ours.us,
	       heddle_estimate_source_name(ours.source), other.us,
	       heddle_estimate_source_name(other.source));
	return ours.source != HEDDLE_ESTIMATE_ONLINE || ours.us < least / mhz ||
	       ours.us > most / mhz || !(other.us > 0);
}

int main(int argc, char **argv)
{
	const char *policy = argc > 1 ? argv[1] : "ddwrr";
	int cpu, fpga, error;

	setenv("STARPU_SCHED", policy, 1);
	if (starpu_init(NULL) || codelets_load(NULL))
		return 77;
	cpu = worker_of(HEDDLE_KIND_CPU);
	fpga = worker_of(HEDDLE_KIND_FPGA);
	if (cpu < 0 || fpga < 0)
		return 77;
	error = run() || check_results() || (strcmp(policy, "hdss") && check_estimates(cpu, fpga));
	for (int t = 0; t < NTASKS; t++) {
		starpu_data_unregister(in[t]);
		starpu_data_unregister(out[t]);
	}
	codelets_unload();
	starpu_shutdown();
	return error;
}
