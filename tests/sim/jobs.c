/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A stream of jobs of several codelets on a simulated machine, with the times of a file: lines
 *
 *   CODELET CORE_US ACCELERATOR_US NAME=NUMBER NAME=WORD ...
 *
 * WAITING jobs are ready at once; when one ends, the next one comes.
 * Prints the time, and what it is at best, as if jobs could be cut. StarPU's own policies know all
 * times, and heteroprio the octave of each speed-up. Heddle's learn them, from the parameters
 * (HEDDLE_ESTIMATE=online,neighbours). With `estimates` StarPU's own know what the estimator does.
 *
 *   jobs FILE TIMES WAITING [estimates]
 */
#include "config.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/heddle.h>

#include "apps/common/heteroprio.h"

enum { MOST_CODELETS = 8, MOST_JOBS = 1 << 16, LEVELS = 6, LINE = 1024 };

struct job {
	unsigned codelet, nparams;
	double us[2]; /* on a core, on an accelerator */
	struct heddle_param params[HEDDLE_PARAMS_MAX];
};

static struct job *jobs;
static size_t njobs;
static struct starpu_codelet codelets[MOST_CODELETS];
static unsigned ncodelets;
static atomic_size_t submitted;
static bool levels;    /* the policy wants priorities */
static bool estimates; /* policies do not know times */

static void never(void *buffers[], void *arg)
{
	abort(); /* kernels do not run under SimGrid */
}

/* SimGrid asks for the time of a task that runs, policies for that of one to come. */
static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	const struct job *job = task->cl_arg;

	if (estimates && task->status != STARPU_TASK_RUNNING)
		return heddle_estimate_cost(task, arch, nimpl);
	return job->us[arch->devices[0].type != STARPU_CPU_WORKER];
}

static struct starpu_perfmodel model = {
    .type = STARPU_PER_ARCH, .symbol = "heddle_test_jobs", .arch_cost_function = cost};

/* ---- the file ---- */

static unsigned codelet_of(const char *name)
{
	unsigned c = 0;

	while (c < ncodelets && strcmp(codelets[c].name, name))
		c++;
	if (c == ncodelets && c < MOST_CODELETS)
		codelets[ncodelets++] = (struct starpu_codelet){.cpu_funcs = {never},
		                                                .cuda_funcs = {never},
		                                                .model = &model,
		                                                .name = strdup(name)};
	return c;
}

static bool param_read(struct job *job, char *text)
{
	char *value = strchr(text, '='), *end;
	struct heddle_param *param = &job->params[job->nparams];

	if (!value || job->nparams == HEDDLE_PARAMS_MAX)
		return false;
	*value++ = 0;
	*param = (struct heddle_param){.name = strdup(text), .number = strtod(value, &end)};
	if (*end)
		param->text = strdup(value);
	job->nparams++;
	return true;
}

static bool job_read(char *line, struct job *job)
{
	char *save, *name = strtok_r(line, " \n", &save);
	char *core = strtok_r(NULL, " \n", &save), *accelerator = strtok_r(NULL, " \n", &save);

	if (!accelerator)
		return false;
	*job = (struct job){.codelet = codelet_of(name),
	                    .us = {strtod(core, NULL), strtod(accelerator, NULL)}};
	for (char *text; (text = strtok_r(NULL, " \n", &save));)
		if (!param_read(job, text))
			return false;
	return job->codelet < MOST_CODELETS && job->us[0] > 0 && job->us[1] > 0;
}

/* All jobs of a file, so many times each. */
static bool jobs_read(const char *path, unsigned times)
{
	FILE *file = fopen(path, "r");
	char line[LINE];
	bool good = file;
	size_t once;

	jobs = calloc(MOST_JOBS, sizeof(*jobs));
	while (good && jobs && njobs < MOST_JOBS && fgets(line, sizeof(line), file))
		if (*line != '#')
			good = job_read(line, &jobs[njobs++]);
	if (file)
		fclose(file);
	once = njobs;
	if (!good || !jobs || !once || times < 1 || once * times > MOST_JOBS)
		return false;
	for (; njobs < once * times; njobs++)
		jobs[njobs] = jobs[njobs % once];
	return true;
}

/* Its own generator makes the same order everywhere. */
static void jobs_shuffle(void)
{
	uint64_t seed = 1;

	for (size_t i = njobs; i > 1; i--) {
		struct job job = jobs[i - 1];
		size_t j;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		j = (seed >> 33) % i;
		jobs[i - 1] = jobs[j];
		jobs[j] = job;
	}
}

/* ---- the best time ---- */

static int by_speedup(const void *a, const void *b)
{
	const struct job *x = a, *y = b;
	double gain = y->us[0] / y->us[1] - x->us[0] / x->us[1];

	return gain > 0 ? 1 : gain < 0 ? -1 : 0;
}

/* As if jobs could be cut: accelerators take those that they speed up most. */
static double bound_us(double cores, double accelerators)
{
	struct job *sorted = malloc(njobs * sizeof(*sorted));
	double left = 0, taken = 0, us = 0;

	memcpy(sorted, jobs, njobs * sizeof(*sorted));
	qsort(sorted, njobs, sizeof(*sorted), by_speedup);
	for (size_t i = 0; i < njobs; i++)
		left += sorted[i].us[0];
	for (size_t i = 0; i < njobs; i++) {
		const struct job *job = &sorted[i];
		double part;

		/* Of this job so large a part that both end at once. */
		part = (left / cores - taken / accelerators) /
		       (job->us[0] / cores + job->us[1] / accelerators);
		part = fmin(1, part);
		left -= part * job->us[0];
		taken += part * job->us[1];
		us = fmax(left / cores, taken / accelerators);
		if (part < 1)
			break;
	}
	free(sorted);
	return us;
}

/* ---- the stream ---- */

/* When a job has ended, the next one comes. */
static void next_submit(void *nothing);

static void job_submit(struct job *job)
{
	struct starpu_task *task = starpu_task_create();
	int level = log2(fmax(1, job->us[0] / job->us[1]));

	task->cl = &codelets[job->codelet];
	task->cl_arg = job;
	task->cl_arg_size = sizeof(*job);
	task->callback_func = next_submit;
	if (levels)
		task->priority = 1 + (level < LEVELS ? level : LEVELS - 1);
	if (heddle_task_params(task, job->params, job->nparams) || starpu_task_submit(task))
		exit(99);
}

static void next_submit(void *nothing)
{
	size_t next = atomic_fetch_add(&submitted, 1);

	if (next < njobs)
		job_submit(&jobs[next]);
}

int main(int argc, char **argv)
{
	double us, bound;
	unsigned cores;

	estimates = argc == 5 && !strcmp(argv[4], "estimates");
	if (argc != 4 + estimates || !jobs_read(argv[1], atoi(argv[2]))) {
		fprintf(stderr, "usage: jobs FILE TIMES WAITING [estimates]\n");
		return 2;
	}
	if (starpu_init(NULL))
		return 77;
	cores = starpu_cpu_worker_get_count();
	levels = heteroprio_tell(LEVELS, 0, 0);
	bound = bound_us(cores, starpu_worker_get_count() - cores);
	jobs_shuffle();
	us = starpu_timing_now();
	for (long i = atol(argv[3]); i > 0; i--)
		next_submit(NULL);
	starpu_task_wait_for_all();
	us = starpu_timing_now() - us;
	starpu_shutdown();
	printf("%.3f %.3f\n", us, bound);
	return 0;
}
