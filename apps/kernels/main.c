/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * OpenCL kernels over all OpenCL devices: the ten of SKMD's measurements, or a user's own.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>

#include <heddle/heddle.h>

#include "support/message.h"
#include "support/output.h"
#include "support/progress.h"
#include "apps/kernels/kernels.h"

enum { MAXRESULTS = 16 };

struct session {
	struct options options;
	struct result *results[MAXRESULTS];
	unsigned nresults;
	char *source; /* of the user's kernel */
};

/* Tables go to standard output, unless the JSON report does. */
static FILE *table_stream(const struct options *options)
{
	return options->json && !strcmp(options->json, "-") ? NULL : stdout;
}

static int result_show(const struct session *session, const struct result *result)
{
	const struct options *options = &session->options;
	FILE *out = table_stream(options);

	if (out)
		report_kernel(options, result, session->nresults == 1, out);
	return options->user.file ? user_results(&options->user, &result->job, out) : 0;
}

/* Makes, launches and shows a kernel: a benchmark, or without one the user's own. */
static int kernel_do(struct session *session, const struct benchmark *benchmark)
{
	const struct options *options = &session->options;
	struct result *result = calloc(1, sizeof(*result));
	size_t size = options->size;
	int status;

	if (!result)
		return -ENOMEM;
	if (benchmark && !size)
		size = benchmark_size(benchmark, options->scale);
	heddle_progress("kernels: %s: making the input",
	                benchmark ? benchmark->name : options->name);
	if (benchmark)
		status = job_make(benchmark, size, options->seed, &result->job);
	else
		status = user_make(options->name, &options->user, options->seed, &result->job,
		                   &session->source);
	if (status) {
		free(result);
		return status;
	}
	session->results[session->nresults++] = result;
	/* What only is read, the app does not change between repetitions. */
	for (unsigned a = 0; a < result->job.kernel.narguments; a++)
		result->job.kernel.arguments[a].keep =
		    options->keep && result->job.kernel.arguments[a].mode == STARPU_R;
	status = measure_run(options, result);
	return status ? status : result_show(session, result);
}

static int kernels_do(struct session *session)
{
	const struct options *options = &session->options;
	int status = 0;

	if (options->user.file)
		return kernel_do(session, NULL);
	if (options->name)
		return kernel_do(session, benchmark_find(options->name));
	for (const struct benchmark *b = benchmarks; b->name && !status; b++) {
		status = kernel_do(session, b);
		/* The next kernel needs the memory of the devices. */
		heddle_kernels_unload();
	}
	return status;
}

static enum app_exit session_end(struct session *session, int status)
{
	bool right = true;

	for (unsigned k = 0; k < session->nresults; k++) {
		right = right && session->results[k]->right;
		measure_free(session->results[k]);
		free(session->results[k]);
	}
	free(session->source);
	if (status)
		return app_exit_code(status);
	return right ? APP_RIGHT : APP_WRONG;
}

/* Everything between the start and the end of StarPU. */
static enum app_exit session_run(struct session *session)
{
	const struct options *options = &session->options;
	FILE *out = table_stream(options);
	int status = 0;

	if (!starpu_opencl_worker_get_count())
		status = heddle_refuse(-ENODEV, "StarPU has no OpenCL worker here");
	if (!status)
		status = kernels_do(session);
	heddle_progress_end();
	if (!status && options->compare && out)
		report_comparison(session->results, session->nresults, out);
	if (!status)
		status = report_write(options, session->results, session->nresults);
	heddle_kernels_unload();
	return session_end(session, status);
}

/* Sets StarPU's workers, unless the user did: all OpenCL devices, and no CPU workers, since
 * waiting CPU workers take cores from OpenCL's CPU device. Workers are not bound, because the
 * threads that OpenCL makes would inherit the binding. */
static int workers_choose(const struct options *options)
{
	const char *sched = options->sched, *before = getenv("STARPU_SCHED");

	if (!sched && !(before && *before))
		sched = "skmd";
	if (setenv("STARPU_OPENCL_ON_CPUS", "1", 0) || setenv("STARPU_NCUDA", "0", 0) ||
	    setenv("STARPU_NCPU", "0", 0) || setenv("STARPU_WORKERS_NOBIND", "1", 0))
		return -ENOMEM;
	return app_choose_policy(sched);
}

static int outputs_check(const struct options *options)
{
	int status = heddle_output_check(options->json);

	if (!status)
		status = heddle_output_check(options->csv);
	return status ? status : heddle_output_check(options->user.out);
}

int main(int argc, char **argv)
{
	static struct session session;
	enum app_exit code;
	int status;

	command_line_parse(argc, argv, &session.options);
	if (session.options.list) {
		report_list(stdout);
		return APP_RIGHT;
	}
	status = heddle_starpu_check();
	if (!status)
		status = outputs_check(&session.options);
	if (!status)
		status = workers_choose(&session.options);
	if (status)
		return app_exit_code(status);
	heddle_progress("kernels: starting StarPU");
	if (app_simulated() || starpu_init(NULL)) {
		heddle_progress_end();
		heddle_refuse(-ENODEV, app_simulated() ? "simulated workers run no kernels"
		                                       : "StarPU does not start here");
		return APP_CANNOT;
	}
	code = session_run(&session);
	starpu_shutdown();
	return code;
}
