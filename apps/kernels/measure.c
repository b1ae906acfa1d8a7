/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Contenders compute a kernel in turn; their times are measured.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>

#include "support/message.h"
#include "support/progress.h"
#include "apps/common/sweep.h"
#include "apps/kernels/kernels.h"

/* For a user's own kernel: floating-point results of two devices differ a little. */
#define OWN_TOLERANCE 1e-4

static const char *title(const struct job *job)
{
	return job->benchmark ? job->benchmark->name : job->kernel.name;
}

/* ---- contenders ---- */

/* Heddle learns separately for each set of compiler options. Different options make each
 * contender learn from its own launches only, as in a program. */
static void options_set(const struct result *result, struct contender *contender)
{
	const char *given = result->job.kernel.options;

	if (contender->mode == SHARED && strcmp(contender->method, "heddle"))
		snprintf(contender->options, sizeof(contender->options), "%s -DHEDDLE_%.*s",
		         given ? given : "", (int)strcspn(contender->method, ":"),
		         contender->method);
	else
		snprintf(contender->options, sizeof(contender->options), "%s%s", given ? given : "",
		         contender->mode == ALONE ? " -DHEDDLE_alone" : "");
}

static int contender_add(struct result *result, const struct contender *like)
{
	struct contender *contender = &result->contenders[result->ncontenders];

	*contender = *like;
	options_set(result, contender);
	contender->us = calloc(result->reps, sizeof(*contender->us));
	contender->stats = calloc(result->reps, sizeof(*contender->stats));
	result->ncontenders++;
	if (!contender->us || !contender->stats)
		return heddle_refuse(-ENOMEM, "no memory for %u repetitions", result->reps);
	return 0;
}

static void name_worker(struct contender *contender, const char *how)
{
	char name[64];

	starpu_worker_get_name(contender->worker, name, sizeof(name));
	snprintf(contender->name, sizeof(contender->name), "%s %s", how, name);
}

/* A device alone, through Heddle and without it. */
static int singles_add(struct result *result, int worker)
{
	struct contender alone = {.mode = ALONE, .method = "single", .worker = worker};
	struct contender plain = {.mode = PLAIN, .worker = worker};
	int status;

	name_worker(&alone, "alone");
	name_worker(&plain, "plain");
	status = contender_add(result, &alone);
	if (!status)
		status = plain_make(&result->job, worker, &plain.plain);
	return status ? status : contender_add(result, &plain);
}

/* SKMD as published, with the class that Table II states. */
static const char *published_method(const struct job *job)
{
	if (!job->benchmark)
		return "published";
	return job->benchmark->contiguous ? "published:contiguous=1" : "published:contiguous=0";
}

static int contenders_make(const struct options *options, struct result *result)
{
	const struct contender shared[NSHARED] = {
	    {.name = "skmd", .mode = SHARED, .method = "heddle"},
	    {.name = "published", .mode = SHARED, .method = published_method(&result->job)},
	    {.name = "paper", .mode = SHARED, .method = "paper"},
	    {.name = "linear", .mode = SHARED, .method = "linear"},
	};
	struct contender policy = {.mode = BY_POLICY};
	int ids[STARPU_NMAXWORKERS], status = 0;
	int n = starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, ids, STARPU_NMAXWORKERS);

	snprintf(policy.name, sizeof(policy.name), "%s", app_policy_name());
	if (!options->compare)
		return contender_add(result, &policy);
	for (int i = 0; i < NSHARED && !status; i++)
		status = contender_add(result, &shared[i]);
	for (int i = 0; i < n && i < 16 && !status; i++)
		status = singles_add(result, ids[i]);
	return status;
}

/* ---- launches ---- */

static int launch(const struct job *job, const struct contender *contender,
                  struct heddle_kernel_stats *stats)
{
	struct heddle_kernel kernel = job->kernel;

	if (contender->mode == PLAIN)
		return plain_run(contender->plain, job);
	kernel.method = contender->method;
	kernel.options = contender->options;
	if (contender->mode != BY_POLICY)
		kernel.split = HEDDLE_KERNEL_ALWAYS;
	if (contender->mode == ALONE) {
		kernel.workers = &contender->worker;
		kernel.nworkers = 1;
	}
	return heddle_kernel_run(&kernel, stats);
}

static int launch_once(struct result *result, struct contender *contender, unsigned rep)
{
	struct heddle_kernel_stats stats = {0};
	double start;
	int status;

	job_reset(&result->job);
	start = starpu_timing_now();
	status = launch(&result->job, contender, &stats);
	contender->us[rep] = starpu_timing_now() - start;
	contender->stats[rep] = stats;
	contender->n = rep + 1;
	if (!status && result->verified) {
		contender->max_error = fmax(contender->max_error, job_error(&result->job));
		result->right = result->right && contender->max_error <= result->tolerance;
	}
	if (!status && contender->mode == PLAIN)
		status = plain_leave(contender->plain, &result->job);
	return status;
}

/* A user's own kernel has no reference: what one device computes by OpenCL alone stands for it. */
static int expect_plain(struct job *job)
{
	int ids[STARPU_NMAXWORKERS], status;
	struct plain *plain;

	if (starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, ids, STARPU_NMAXWORKERS) < 1)
		return -ENODEV;
	status = job_expected_make(job);
	if (!status)
		status = plain_make(job, ids[0], &plain);
	if (status)
		return status;
	job_reset(job);
	status = plain_run(plain, job);
	for (unsigned a = 0; a < job->kernel.narguments && !status; a++)
		if (job_is_output(job, a))
			memcpy(job_expected(job, a), job_data(job, a),
			       job->kernel.arguments[a].bytes);
	if (!status)
		status = plain_leave(plain, job);
	plain_free(plain);
	return status;
}

static int analyse(struct result *result)
{
	double start = starpu_timing_now();
	int status = heddle_kernel_classes(&result->job.kernel, result->accesses, &result->refusal);

	result->analysis_us = starpu_timing_now() - start;
	return status;
}

static bool is_hopeless(const struct result *result, unsigned c)
{
	double least_us = INFINITY;

	for (unsigned other = 0; other < result->ncontenders; other++)
		least_us = fmin(least_us, measure_median_us(&result->contenders[other]));
	return c && measure_median_us(&result->contenders[c]) > HOPELESS * least_us;
}

static void hopeless_find(struct result *result)
{
	for (unsigned c = 0; c < result->ncontenders; c++)
		result->contenders[c].rests = is_hopeless(result, c);
}

/* Each repetition has its own order, so that no contender always follows the same one. */
static int repetition(struct result *result, unsigned rep)
{
	unsigned order[MAXCONTENDERS], n = result->ncontenders;
	int status = 0;

	for (unsigned c = 0; c < n; c++) {
		unsigned at = app_random(rep, c) % (c + 1);

		order[c] = at < c ? order[at] : c;
		order[at] = c;
	}
	if (rep == HOPELESS_REPS)
		hopeless_find(result);
	for (unsigned c = 0; c < n && !status; c++)
		if (!result->contenders[order[c]].rests) {
			heddle_progress("kernels: %s: repetition %u of %u, %s", title(&result->job),
			                rep + 1, result->reps, result->contenders[order[c]].name);
			status = launch_once(result, &result->contenders[order[c]], rep);
		}
	return status;
}

int measure_run(const struct options *options, struct result *result)
{
	struct job *job = &result->job;
	int status;

	heddle_progress("kernels: %s: analysing its source", title(job));
	status = analyse(result);
	result->reps = options->reps;
	result->right = true;
	result->verified = options->verify;
	result->tolerance = job->benchmark ? job->benchmark->tolerance : OWN_TOLERANCE;
	if (!status && options->verify)
		heddle_progress("kernels: %s: computing the reference", title(job));
	if (!status && options->verify)
		status = job->benchmark ? job_expect(job) : expect_plain(job);
	if (!status)
		status = contenders_make(options, result);
	for (unsigned rep = 0; rep < result->reps && !status; rep++)
		status = repetition(result, rep);
	heddle_progress_end();
	return status;
}

void measure_free(struct result *result)
{
	for (unsigned c = 0; c < result->ncontenders; c++) {
		plain_free(result->contenders[c].plain);
		free(result->contenders[c].us);
		free(result->contenders[c].stats);
	}
	job_free(&result->job);
}

/* ---- medians and gains ---- */

unsigned measure_median(const struct contender *contender)
{
	unsigned first = contender->n > 1;

	return first + sweep_median_at(contender->us + first, contender->n - first);
}

double measure_median_us(const struct contender *contender)
{
	return contender->us[measure_median(contender)];
}

/* The gain by medians, where there are few repetitions. */
static double gain_of_few(const struct result *result, unsigned contender)
{
	double best = INFINITY;

	for (unsigned c = NSHARED; c < result->ncontenders; c++)
		best = fmin(best, measure_median_us(&result->contenders[c]));
	return best / measure_median_us(&result->contenders[contender]);
}

double measure_gain(const struct result *result, unsigned contender)
{
	const double *us[MAXCONTENDERS];
	struct sweep sweep = {0, result->reps - 1, us, 1};
	double regret;

	if (result->ncontenders <= NSHARED)
		return NAN;
	if (result->contenders[contender].n < result->reps)
		return gain_of_few(result, contender);
	us[sweep.nvariants++] = result->contenders[contender].us + 1;
	for (unsigned c = NSHARED; c < result->ncontenders; c++)
		if (result->contenders[c].n == result->reps)
			us[sweep.nvariants++] = result->contenders[c].us + 1;
	regret = sweep_regret(&sweep);
	return isnan(regret) ? gain_of_few(result, contender) : 1 / regret;
}
