/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Course of an app: input file, StarPU, data, repetitions, results, report.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <starpu.h>
#include <starpu_scheduler.h>

#include <heddle/heddle.h>

#include "support/message.h"
#include "support/output.h"
#include "support/progress.h"
#include "support/stock.h"
#include "support/variables.h"
#include "estimator/platform_starpu.h"
#include "sched_policies/policies.h"
#include "codelets/programs.h"
#include "apps/common/app.h"
#include "apps/common/ranks.h"
#include "apps/common/wave.h"

struct run {
	const struct app *app;
	void *self;
	struct app_options options;
	struct heddle_loop loop;
	int workers[STARPU_NMAXWORKERS];
	struct app_report report;
};

enum app_exit app_exit_code(int error)
{
	switch (error) {
	case 0:
		return APP_RIGHT;
	case -ENODEV:
	case -ENOMEM:
	case -ENOEXEC:
		return APP_CANNOT;
	case -EIO:
		return APP_WRONG;
	default:
		return APP_USAGE;
	}
}

starpu_data_handle_t app_vector(const void *elements, size_t n, size_t bytes)
{
	starpu_data_handle_t handle;

	starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)elements, n, bytes);
	return handle;
}

starpu_data_handle_t app_matrix(const void *elements, size_t rows, size_t columns, size_t bytes)
{
	starpu_data_handle_t handle;

	starpu_matrix_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)elements, columns, columns,
	                            rows, bytes);
	return handle;
}

int app_choose_policy(const char *name)
{
	const char *before = getenv("STARPU_SCHED");

	/* StarPU lists its policies, and another library may have others. */
	if (!name && before && (!strcmp(before, "help") || getenv("STARPU_SCHED_LIB")))
		return 0;
	if (!name)
		name = before && *before ? before : "heddle";
	if (policy_exists(name) || heddle_policy_displaced(name))
		return setenv("STARPU_SCHED", name, 1) ? -ENOMEM : 0;
	policy_unknown_print(stderr, name);
	return -EINVAL;
}

int32_t app_where(const bool *kinds)
{
	return (kinds[HEDDLE_KIND_CPU] ? STARPU_CPU : 0) |
	       (kinds[HEDDLE_KIND_CUDA] || kinds[HEDDLE_KIND_FPGA] ? STARPU_CUDA : 0) |
	       (kinds[HEDDLE_KIND_OPENCL] ? STARPU_OPENCL : 0);
}

/* Whether Heddle's policies leave a worker out of loops: it shares its GPU with one before it. */
static bool is_left_out(unsigned worker)
{
	const struct starpu_sched_policy *policy = starpu_sched_ctx_get_sched_policy(0);

	if (starpu_worker_get_type(worker) != STARPU_CUDA_WORKER || !policy ||
	    !policy->policy_name || !heddle_policy_find(policy->policy_name))
		return false;
	for (unsigned w = 0; w < worker; w++)
		if (starpu_worker_get_type(w) == STARPU_CUDA_WORKER &&
		    starpu_worker_get_devid(w) == starpu_worker_get_devid(worker))
			return true;
	return false;
}

/* The ids of the workers that --workers asks for. */
static int choose_workers(struct run *run)
{
	bool restricted = false, there[HEDDLE_NKINDS] = {false};

	for (unsigned w = 0; w < starpu_worker_get_count(); w++) {
		enum heddle_kind kind = heddle_worker_kind(w);

		there[kind] = true;
		if (run->options.kinds[kind] && !is_left_out(w))
			run->workers[run->loop.nworkers++] = w;
	}
	for (int kind = 0; kind < HEDDLE_NKINDS; kind++) {
		if (run->options.kinds[kind] && !there[kind])
			return heddle_refuse(-ENODEV, "--workers: StarPU has no %s worker here",
			                     heddle_kind_name(kind));
		restricted |= run->options.kinds[kind];
	}
	run->loop.workers = restricted ? run->workers : NULL;
	return 0;
}

static bool writes(const struct heddle_access *access)
{
	return access->mode & STARPU_W;
}

static int acquire(struct run *run, bool for_writing)
{
	for (unsigned a = 0; a < run->loop.naccesses; a++) {
		struct heddle_access *access = &run->loop.accesses[a];
		int error;

		if (!access->handle || (for_writing && !writes(access)))
			continue;
		error = starpu_data_acquire(access->handle, for_writing ? STARPU_W : STARPU_R);
		if (error)
			return error;
	}
	return 0;
}

static void release(struct run *run, bool for_writing)
{
	for (unsigned a = 0; a < run->loop.naccesses; a++)
		if (run->loop.accesses[a].handle &&
		    (!for_writing || writes(&run->loop.accesses[a])))
			starpu_data_release(run->loop.accesses[a].handle);
}

/* Numbers that are not negative are in the order of their bits. */
static double largest_of_ranks(double error)
{
	uint64_t bits;

	memcpy(&bits, &error, sizeof(bits));
	ranks_largest(&bits, 1);
	memcpy(&error, &bits, sizeof(error));
	return error;
}

static int verify(struct run *run)
{
	struct app_report *report = &run->report;
	int error;

	if (!report->verified || !(ranks_first() || ranks_distributed()))
		return 0;
	heddle_progress("%s: verifying repetition %u of %u", run->app->name, report->reps + 1,
	                run->options.reps);
	error = acquire(run, false);
	if (error)
		return error;
	report->max_error = fmax(report->max_error, run->app->error(run->self));
	release(run, false);
	if (ranks_distributed())
		report->max_error = largest_of_ranks(report->max_error);
	report->right = report->max_error <= run->app->tolerance;
	return 0;
}

/* Old results are destroyed before, and new ones looked at after the timed part. */
static int run_once(struct run *run, struct heddle_loop_stats *stats, double *us)
{
	double begin;
	int error;

	if (!app_simulated()) {
		error = acquire(run, true);
		if (error)
			return error;
		if (run->report.reps && run->app->next)
			error = run->app->next(run->self);
		run->app->poison(run->self);
		release(run, true);
		if (error)
			return error;
	}
	/* Each rank has destroyed its part. */
	if (ranks_distributed())
		ranks_all(0);
	begin = starpu_timing_now();
	if (run->app->run)
		error = run->app->run(run->self, stats);
	else if (run->app->wave)
		error = app_wave_run(run->app->wave, stats);
	else if (ranks_used())
		error = ranks_loop_run(&run->loop, run->app->arg_bytes, stats);
	else
		error = heddle_loop_run(&run->loop, stats);
	*us = stats->clock == HEDDLE_CLOCK_MODELLED ? stats->us : starpu_timing_now() - begin;
	return error ? error : verify(run);
}

/* A wavefront with every variant of a sweep; the report is about the first. */
static int repeat_wave(struct run *run)
{
	struct app_wave *wave = run->app->wave;
	struct app_report *report = &run->report;
	struct heddle_loop_stats *stats = calloc(1, sizeof(*stats));
	int error = stats ? 0 : -ENOMEM;
	double us;

	for (unsigned turn = 0; !error && turn < app_wave_variants(wave); turn++) {
		unsigned v = app_wave_turn(wave, report->reps, turn);

		app_wave_choose(wave, v);
		error = run_once(run, v ? stats : &report->stats[report->reps], &us);
		if (!error)
			app_wave_took(wave, us);
		if (!error && !v)
			report->us[report->reps] = us;
	}
	free(stats);
	return error;
}

static int repeat_once(struct run *run)
{
	struct app_report *report = &run->report;
	int error = run->app->wave
	                ? repeat_wave(run)
	                : run_once(run, &report->stats[report->reps], &report->us[report->reps]);

	if (!error)
		report->reps++;
	return error;
}

static int repeat(struct run *run)
{
	struct app_report *report = &run->report;
	unsigned reps = run->options.reps;
	int error = 0;

	report->us = calloc(reps, sizeof(*report->us));
	report->stats = calloc(reps, sizeof(*report->stats));
	if (!report->us || !report->stats)
		return heddle_refuse(-ENOMEM, "no memory for %u repetitions", reps);
	report->app = run->app;
	report->self = run->self;
	report->options = &run->options;
	report->n = run->loop.n;
	report->elements = run->app->elements ? run->app->elements(run->self) : run->loop.n;
	report->right = true;
	report->verified = run->options.verify && !app_simulated();
	if (run->options.verify && app_simulated())
		heddle_warn("simulated workers compute nothing that --verify could look at");
	while (!error && report->reps < reps) {
		heddle_progress("%s: repetition %u of %u", run->app->name, report->reps + 1, reps);
		error = repeat_once(run);
	}
	return error;
}

static int save(struct run *run)
{
	int error = 0;

	if (run->options.save_input || run->options.output)
		heddle_progress("%s: writing", run->app->name);
	if (run->options.save_input)
		error = run->app->save_input(run->self, &run->options);
	if (!error && run->options.output)
		error = run->app->save_output(run->self, &run->options);
	return error;
}

/* StarPU's own policies that place tasks by expected times get a model of the
 * codelet to learn them with, as its handbook wants, or our estimates. Ours need none. */
static void give_model(struct run *run)
{
	static struct starpu_perfmodel history = {.type = STARPU_HISTORY_BASED};
	static struct starpu_perfmodel estimates = HEDDLE_ESTIMATE_MODEL(NULL);
	const struct starpu_sched_policy *policy = starpu_sched_ctx_get_sched_policy(0);

	if (app_simulated() || !run->loop.codelet || !policy || !policy->policy_name ||
	    heddle_policy_find(policy->policy_name))
		return;
	if (run->options.strategy && strcmp(run->options.strategy, "tasks"))
		return;
	history.symbol = run->app->symbol;
	estimates.symbol = run->loop.codelet->name;
	run->loop.codelet->model = run->options.estimates ? &estimates : &history;
}

/* Some apps have no use for a strategy: a name that is none is refused all the same. */
static int strategy_check(const char *spec)
{
	int overlaps = spec && strcmp(spec, "tasks") ? heddle_strategy_overlaps(spec) : 0;

	return overlaps < 0 ? overlaps : 0;
}

/* What one rank may lack and others have: the others do not begin to prepare. */
static int set_up(struct run *run)
{
	int error = choose_workers(run);

	heddle_progress("%s: compiling its OpenCL program for the devices", run->app->name);
	if (!error)
		error = codelets_load(run->app->name);
	if (!error && run->options.kinds[HEDDLE_KIND_FPGA])
		error = codelets_need_design(run->app->name);
	if (!error)
		error = strategy_check(run->options.strategy);
	return ranks_all(error);
}

static int prepare(struct run *run)
{
	struct heddle_loop *loop = &run->loop;
	int error;

	loop->name = run->app->name;
	loop->strategy = run->options.strategy;
	loop->parts = run->options.parts;
	loop->late = run->options.late;
	heddle_progress("%s: %s the input", run->app->name,
	                run->options.input ? "reading" : "making");
	error = ranks_all(run->app->prepare(run->self, &run->options, loop));
	if (!error)
		give_model(run);
	if (!error && run->app->wave) {
		run->app->wave->arg_bytes = run->app->arg_bytes;
		ranks_wave_prepare(&run->app->wave->wave);
	}
	if (!error)
		ranks_prepare(loop);
	return error;
}

/* What happens while StarPU is up. */
static enum app_exit run_all(struct run *run)
{
	int error = set_up(run);

	if (!error)
		error = prepare(run);
	if (!error)
		error = repeat(run);
	if (!error && run->app->finish && !app_simulated())
		error = run->app->finish(run->self);
	for (unsigned a = 0; a < run->loop.naccesses; a++)
		if (run->loop.accesses[a].handle)
			starpu_data_unregister(run->loop.accesses[a].handle);
	if (!error && ranks_first())
		error = save(run);
	heddle_progress_end();
	if (!error && ranks_first())
		error = app_report_write(&run->report);
	/* Blocks that no loop has waited for may still use the arrays. */
	if (run->options.late)
		starpu_task_wait_for_all();
	run->app->release(run->self);
	if (run->app->wave)
		app_wave_free(run->app->wave);
	free(run->report.us);
	free(run->report.stats);
	codelets_unload();
	if (error)
		return app_exit_code(error);
	return run->report.right ? APP_RIGHT : APP_WRONG;
}

/* Who has waited for results is not to learn then that they cannot be written. */
static int check_outputs(const struct app_options *options)
{
	int error = heddle_output_check(options->output);

	if (!error)
		error = heddle_output_check(options->save_input);
	return error ? error : heddle_output_check(options->json);
}

/* Where all threads wait for each other SimGrid ends the program, with status 0. */
static void check_end(int status, void *over)
{
	if (status || *(bool *)over)
		return;
	heddle_warn("%s: all threads wait for each other", program_invocation_short_name);
	fflush(NULL);
	_exit(APP_WRONG);
}

static int check_variables(void)
{
	const char *platform = heddle_variable_text(HEDDLE_VARIABLE_PLATFORM);

	if (*platform && !app_simulated())
		return heddle_refuse(-EINVAL,
		                     "HEDDLE_PLATFORM=%s: this StarPU does not simulate "
		                     "machines (heddle simulate finds one that does)",
		                     platform);
	return heddle_values_check();
}

static enum app_exit app_run(struct run *run)
{
	const struct app *app = run->app;
	enum app_exit code;
	int error = heddle_starpu_check();

	if (!error)
		error = check_variables();
	if (!error)
		error = check_outputs(&run->options);
	if (!error)
		error = app_choose_policy(run->options.sched);
	if (!error && run->options.input)
		error = app->open(run->self, &run->options);
	heddle_progress("%s: starting StarPU", app->name);
	error = ranks_all(error);
	if (!error)
		error = ranks_all(ranks_starpu_init());
	if (error) {
		heddle_progress_end();
		app->release(run->self);
		return error == -EIO ? APP_USAGE : app_exit_code(error);
	}
	code = run_all(run);
	starpu_shutdown();
	return code;
}

/* Ranks of different apps would wait for each other, and rank 0 may have all the data. */
static int ranks_same(const char *name, const struct app_options *options)
{
	static const char *const names[] = {"--size", "--seed", "--verify", "--input"};
	struct {
		char name[64];
		uint64_t values[4];
	} first, other,
	    own = {
	        .values = {options->size, options->seed, options->verify, options->input != NULL}};
	unsigned i = 0;
	int odd;

	snprintf(own.name, sizeof(own.name), "%s", name);
	odd = ranks_differ(&own, &first, &other, sizeof(own));
	if (!odd)
		return 0;
	if (strcmp(first.name, other.name))
		return heddle_refuse(-EINVAL, "--mpi: rank 0 runs %s, rank %d %s", first.name, odd,
		                     other.name);
	while (first.values[i] == other.values[i])
		i++;
	return heddle_refuse(-EINVAL, "--mpi: %s is %" PRIu64 " on rank 0, %" PRIu64 " on rank %d",
	                     names[i], first.values[i], other.values[i], odd);
}

/* Over ranks: rank 0 alone writes files, and has the data if it is to write it. All have the input
 * of apps that run themselves, but for wavefronts. */
static int ranks_join(const struct app *app, struct app_options *options, int *argc, char ***argv)
{
	bool writes = options->output || options->save_input;
	int error = 0;

	/* Open MPI may yield whenever a look finds nothing, each time for a time slice of the
	 * worker, some milliseconds. Flows look so often that this is better for them. */
	if (options->mpi)
		setenv("OMPI_MCA_mpi_yield_when_idle", app->run && !app->wave ? "1" : "0", 0);
	if (options->mpi)
		error = ranks_begin(argc, argv);
	if (!error && !app_simulated())
		error = ranks_same(app->name, options);
	if (error)
		return error;
	if (!app_simulated())
		ranks_tell(&writes, sizeof(writes));
	if (app->parts && !writes)
		ranks_distribute();
	if (ranks_first())
		return 0;
	options->output = options->save_input = options->json = NULL;
	if ((!app->run || app->wave) && !ranks_distributed()) {
		options->input = NULL;
		options->size = 0;
	}
	return 0;
}

int app_main(const struct app *app, void *self, int argc, char **argv)
{
	static bool over;
	struct run *run = calloc(1, sizeof(*run));
	enum app_exit code;
	int error;

	if (!run)
		return APP_CANNOT;
	run->app = app;
	run->self = self;
	app_parse(app, self, argc, argv, &run->options);
	if (app_simulated())
		on_exit(check_end, &over);
	error = ranks_join(app, &run->options, &argc, &argv);
	code = error ? app_exit_code(error) : app_run(run);
	ranks_end();
	over = true;
	free(run);
	return code;
}
