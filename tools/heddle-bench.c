/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * `heddle bench`: compares strategies and policies on the apps, and on any program of StarPU.
 */
#include "config.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/message.h"
#include "support/options.h"
#include "support/output.h"
#include "tools/bench/bench.h"
#include "tools/common/place.h"
#include "tools/common/simulation.h"

#define DEFAULT_APPS "blackscholes,histogram,boxfilter"
#define DEFAULT_RANK_APPS "blackscholes,nbia,strmatch"
#define DEFAULT_SIMULATED_APPS "blackscholes"
#define DEFAULT_REPS 7
#define DEFAULT_ROUNDS 3
#define DEFAULT_PROCESSES 6 /* of a program: a cold one and five others */

static const char documentation[] =
    "Runs apps under every strategy of Heddle, under StarPU's own policies and with blocks "
    "tuned by hand, and compares the times. Every contender runs in new processes, without "
    "earlier measurements. The order in each round is random.\n"
    "\n"
    "--ranks 2,4 starts apps that take --mpi by mpirun, two and four ranks that share cores and "
    "devices evenly, beside one process that has all of them. --contenders names policies.\n"
    "\n"
    "A program knows nothing of Heddle. It runs under the policies for task graphs. Its time is "
    "that from its first task to the end of its last one. The first process of a contender is "
    "cold, the others use what it measured."
    "\v"
    "CONTENDERS are names of rows, or groups of them: alone (one kind of processor), tuned (blocks "
    "tuned by hand), ours (Heddle's policies and strategies), stock (StarPU's own policies).\n"
    "\n"
    "Columns: median, minimum and first (cold) repetition in microseconds; iterations per "
    "microsecond; efficiency = ideal time / median; speed relative to fixed blocks tuned by hand, "
    "to the best kind alone, and to the best of StarPU's policies; spread of the workers' last "
    "finishes over the total; time spent learning; result. The ideal adds up the rates of all "
    "kinds alone. On a simulated machine, the description gives the rates. For task graphs: "
    "median, first and second process; GFlop/s if the tasks state their operations; bound / "
    "median, where the bound is the longest path of the graph, or the time that the workers need "
    "for all tasks without dependences; the speeds.\n"
    "\n"
    "SPEC describes or names a simulated machine (build flavour sim): "
    "63cpu+gpu36@12000:10 is 63 cores and a GPU 36 times as fast as a core, behind a link of "
    "12000 MB/s and 10 us. In full: COUNTcpu[=RATE]{+[COUNT]gpu|fpgaSPEED[~[BLOCK]][@MBPS:US][^MB]"
    "[%FACTOR/FRACTION]}. RATE: iterations/us of a core (1). ~: the rate grows logarithmically "
    "with the block, up to BLOCK iterations. MB: memory (64000). %: FACTOR multiplies the speed "
    "once FRACTION of the undisturbed ideal time has passed. starpu:HOST is a machine that StarPU "
    "was calibrated on, with the codelets that it has models of. The file `platforms' lists the "
    "names.";

static void names_print(FILE *out)
{
	fputs("Contenders: ", out);
	bench_contenders_print(out);
	fputs("\n\nApps:\n", out);
	place_apps_print(out);
}

#define MOST 1e15

static void parse_program(void *data, char *text, struct argp_state *state)
{
	struct bench_settings *settings = data;

	settings->programs =
	    bench_grow(settings->programs, settings->nprograms + 1, sizeof(*settings->programs));
	settings->programs[settings->nprograms++] = text;
}

static error_t take_app_arguments(void *data, int key, char *text, struct argp_state *state)
{
	if (key != ARGP_KEY_ARGS)
		return ARGP_ERR_UNKNOWN;
	if (strcmp(state->argv[state->next - 1], "--"))
		argp_error(state, "\"%s\" is not expected; an app's own options follow --",
		           state->argv[state->next]);
	((struct bench_settings *)data)->app_arguments = state->argv + state->next;
	return 0;
}

static const struct option_row options[] = {
    {"app", "LIST",
     "apps, or paths of programs that take an app's options (default: " DEFAULT_APPS ")",
     TEXT(struct bench_settings, apps), .letter = 'a'},
    {"program", "COMMAND",
     "a program of StarPU with its arguments, in quotes; may be given several times",
     PARSED(parse_program)},
    {"irregular", NULL, "compare strategies on simulated loops whose iterations cost differently",
     SETS(struct bench_settings, irregular, true)},
    {"costs", "FILE",
     "with --irregular: a loop whose iterations cost what FILE says, one number a line",
     TEXT(struct bench_settings, costs)},
    {"clusters", NULL,
     "compare policies on simulated clusters whose nodes share an image's tiles; CSV",
     SETS(struct bench_settings, clusters, true)},
    {"ranks", "LIST",
     "compare one process with so many MPI ranks on this machine, which share its workers",
     TEXT(struct bench_settings, ranks)},
    {"contenders", "LIST", "contenders to run (default: all)",
     TEXT(struct bench_settings, contenders)},
    {"sched", "LIST", NULL, TEXT(struct bench_settings, contenders)},
    {"platform", "LIST", "simulated machines, descriptions or names",
     TEXT(struct bench_settings, platforms)},
    {"profile", "NAME",
     "StarPU's own costs on simulated machines: theory (none; default on described ones) or "
     "realistic",
     NAMED(struct bench_settings, profile, simulation_profiles)},
    {"size", "N",
     "iterations, or what the app counts by --size; suffixes K, M, G, T (default: the app's)",
     NUMBER(struct bench_settings, size, 1, (uint64_t)MOST)},
    {"reps", "N", "repetitions in a process (default 7, simulated 1)",
     NUMBER(struct bench_settings, reps, 1, UINT32_MAX)},
    {"rounds", "N", "processes of each contender (default 3, simulated 1)",
     NUMBER(struct bench_settings, rounds, 1, UINT32_MAX)},
    {"seed", "S", "seed of the order and of the apps' input (default 1)",
     NUMBER(struct bench_settings, seed, 0, UINT32_MAX)},
    {"budget", "SECONDS", "start no process that would end later; Heddle's contenders come first",
     REAL(struct bench_settings, budget_s, 1, MOST)},
    {"timeout", "SECONDS", "for each process (default 120)",
     REAL(struct bench_settings, limit_s, 1, MOST)},
    {"quick", NULL, "coarse sweeps, one round instead of three",
     SETS(struct bench_settings, quick, true)},
    {"no-verify", NULL, "do not check results", SETS(struct bench_settings, verify, false)},
    {"json", "FILE", "write all measurements; -: instead of the table",
     TEXT(struct bench_settings, json)},
    {"rows", "FILE", "measure nothing, print the rows of a --json FILE as tab-separated values",
     TEXT(struct bench_settings, rows)},
    {"verbose", NULL, "print what is running", SETS(struct bench_settings, verbose, true),
     .letter = 'v'},
    {0},
};

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	return remove(path);
}

/* Simulated runs do not vary, so one suffices. A process of a program is one repetition. */
static void case_defaults(struct bench_case *bench)
{
	const struct bench_settings *settings = bench->settings;
	bool simulated = bench->platform_name;

	bench->size = settings->size;
	if (bench->command) {
		bench->reps = 1;
		bench->rounds = settings->rounds  ? settings->rounds
		                : simulated       ? 1
		                : settings->quick ? 2
		                                  : DEFAULT_PROCESSES;
		return;
	}
	bench->reps = settings->reps    ? settings->reps
	              : simulated       ? 1
	              : settings->quick ? 3
	                                : DEFAULT_REPS;
	bench->rounds = settings->rounds               ? settings->rounds
	                : simulated || settings->quick ? 1
	                                               : DEFAULT_ROUNDS;
}

static int app_refuse(const char *app)
{
	if (strchr(app, '/'))
		return heddle_refuse(-ENOENT, "--app %s: there is no program there", app);
	heddle_warn("there is no app \"%s\"; there are", app);
	place_apps_print(stderr);
	return -ENOENT;
}

static int app_find(struct bench_case *bench, const char *app)
{
	if (!app && bench->platform_name)
		app = *bench->platform.app ? bench->platform.app : DEFAULT_SIMULATED_APPS;
	bench->app = bench_format("%s", app);
	bench->program = place_app(app);
	return bench->program ? 0 : app_refuse(app);
}

static int program_find(struct bench_case *bench, const char *command)
{
	bench->app = bench_format("%s", command);
	if (bench->settings->size || bench->settings->reps)
		return heddle_refuse(-EINVAL, "--program: --%s is for apps; use %s",
		                     bench->settings->size ? "size" : "reps",
		                     bench->settings->size ? "the program's own arguments"
		                                           : "--rounds");
	return bench_program_find(bench, command);
}

/* @param app NULL: the platform's, or a program */
static int case_prepare(struct bench_case *bench, const char *app, const char *command,
                        const char *platform)
{
	const char *temporary = getenv("TMPDIR");
	int status = platform ? simulation_find(platform, &bench->platform) : 0;

	if (!status)
		status = command ? program_find(bench, command) : app_find(bench, app);
	if (status)
		return status;
	case_defaults(bench);
	if (platform && !bench->size)
		bench->size = bench->platform.size;
	bench->state = bench_format("%s/heddle-bench-XXXXXX", temporary ? temporary : "/tmp");
	if (!mkdtemp(bench->state)) {
		status = heddle_refuse(-errno, "%s: %s", bench->state, strerror(errno));
		free(bench->state);
		bench->state = NULL;
		return status;
	}
	return 0;
}

static void case_free(struct bench_case *bench)
{
	if (bench->state)
		nftw(bench->state, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	bench_contenders_free(bench);
	free(bench->state);
	free(bench->app);
	free(bench->program);
	bench_list_free(bench->command);
}

/* Measures one app or program on one machine and adds it to the reports. */
static int case_run(const struct bench_settings *settings, const char *app, const char *command,
                    const char *platform, double deadline_s, json_t *reports)
{
	struct bench_case bench = {
	    .settings = settings, .platform_name = platform, .deadline_s = deadline_s};
	int status = case_prepare(&bench, app, command, platform);

	if (!status)
		status = bench_measure(&bench);
	if (bench.ncontenders && (!status || status == -EINTR || status == -ETIME)) {
		json_t *report = bench_report(&bench);

		if (!settings->json || strcmp(settings->json, "-"))
			bench_print(report);
		fflush(stdout);
		json_array_append_new(reports, report);
	}
	case_free(&bench);
	return status;
}

static char **split(const char *list, unsigned *count)
{
	char *copy = list ? bench_format("%s", list) : NULL, *rest = copy, *word;
	char **words = NULL;

	*count = 0;
	while (rest && (word = strsep(&rest, ","))) {
		words = bench_grow(words, *count + 1, sizeof(*words));
		words[(*count)++] = bench_format("%s", word);
	}
	free(copy);
	return words;
}

static void split_free(char **words, unsigned count)
{
	while (count)
		free(words[--count]);
	free(words);
}

/* A name that is none is said before anything runs. */
static int apps_check(const char *list)
{
	unsigned count;
	char **apps = split(list, &count);
	int status = 0;

	for (unsigned a = 0; a < count && !status; a++) {
		char *program = place_app(apps[a]);

		status = program ? 0 : app_refuse(apps[a]);
		free(program);
	}
	split_free(apps, count);
	return status;
}

/* What a comparison of another kind does not know. */
static int together_check(const struct bench_settings *settings)
{
	const char *kind = settings->ranks       ? "ranks"
	                   : settings->irregular ? "irregular"
	                   : settings->clusters  ? "clusters"
	                                         : NULL;
	const struct {
		const char *name;
		bool given;
	} others[] = {{"irregular", settings->irregular},
	              {"clusters", settings->clusters},
	              {"platform", settings->platforms},
	              {"program", settings->nprograms},
	              {"app", settings->apps && !settings->ranks},
	              {"json", settings->json && !settings->ranks}};

	for (size_t o = 0; kind && o < sizeof(others) / sizeof(*others); o++)
		if (others[o].given && strcmp(others[o].name, kind))
			return heddle_refuse(-EINVAL, "--%s: not with --%s", kind, others[o].name);
	if (settings->costs && !settings->irregular)
		return heddle_refuse(-EINVAL, "--costs: only with --irregular");
	if (settings->costs && settings->size)
		return heddle_refuse(-EINVAL, "--costs: not with --size");
	return 0;
}

/* Runs every app and program on every machine, also after a failure. @return the first failure */
static int cases_run(const struct bench_settings *settings, json_t *reports)
{
	unsigned napps, nplatforms, done = 0, subjects, cases;
	char **apps = split(settings->apps, &napps);
	char **platforms = split(settings->platforms, &nplatforms);
	int status = 0;

	subjects = napps + settings->nprograms ? napps + settings->nprograms : 1;
	cases = subjects * (nplatforms ? nplatforms : 1);
	for (unsigned i = 0; i < cases && !bench_interrupted(); i++, done++) {
		unsigned subject = i % subjects;
		double left = settings->budget_s - bench_elapsed_s();
		int result = case_run(
		    settings, subject < napps ? apps[subject] : NULL,
		    settings->nprograms && subject >= napps ? settings->programs[subject - napps]
		                                            : NULL,
		    nplatforms ? platforms[i / subjects] : NULL,
		    settings->budget_s ? bench_elapsed_s() + left / (cases - done) : 0, reports);

		if (!status)
			status = result;
	}
	split_free(apps, napps);
	split_free(platforms, nplatforms);
	return status;
}

static int report_write(const struct bench_settings *settings, json_t *reports)
{
	json_t *whole = json_pack("{s:s, s:o}", "heddle", PACKAGE_VERSION, "benches", reports);
	int status = 0;

	errno = 0;
	if (!settings->json)
		status = 0;
	else if (!strcmp(settings->json, "-"))
		status = json_dumpf(whole, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(10));
	else
		status =
		    json_dump_file(whole, settings->json, JSON_INDENT(1) | JSON_REAL_PRECISION(10));
	json_decref(whole);
	if (status)
		return heddle_refuse(-EIO, "%s: could not be written%s%s", settings->json,
		                     errno ? ": " : "", errno ? strerror(errno) : "");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option_program program = {
	    .name = "heddle bench", .arguments = "[-- OPTION-OF-THE-APP...]", .doc = documentation};
	struct bench_settings settings = {
	    .seed = 1, .limit_s = 120, .verify = true, .verbose = isatty(2)};
	struct option_set set = {.rows = options,
	                         .data = &settings,
	                         .argument = take_app_arguments,
	                         .extra = names_print};
	json_t *reports;
	int status, written;

	options_parse(&program, &set, argc, argv);
	if (settings.rows)
		return bench_rows_print(settings.rows) ? 2 : 0;
	if (together_check(&settings) || (settings.ranks && bench_ranks_check(settings.ranks)))
		return 2;
	if (settings.irregular)
		return bench_irregular(&settings) ? 2 : 0;
	if (settings.clusters)
		return bench_clusters(&settings) ? 2 : 0;
	if (apps_check(settings.apps) || bench_contenders_check(settings.contenders) ||
	    heddle_output_check(settings.json))
		return 2;
	/* First repetitions are cold: they do not use earlier measurements. */
	setenv("HEDDLE_PROFILE", "0", 0);
	/* A task has one core: libraries of linear algebra start no threads of their own. */
	setenv("OPENBLAS_NUM_THREADS", "1", 0);
	setenv("MKL_NUM_THREADS", "1", 0);
#ifdef HEDDLE_USE_SIMGRID
	/* Kernels do not run in simulations: there is nothing to verify. */
	settings.verify = false;
	if (!settings.platforms) {
		heddle_warn("this build simulates machines: name one by --platform");
		return 2;
	}
#else
	if (settings.platforms) {
		heddle_warn("--platform wants a build on SimGrid: in Heddle's source tree run "
		            "tools/setup sim, then tools/heddle bench");
		return 2;
	}
	if (!settings.apps && !settings.nprograms)
		settings.apps = settings.ranks ? DEFAULT_RANK_APPS : DEFAULT_APPS;
#endif
	reports = json_array();
	bench_catch_interrupts();
	status = cases_run(&settings, reports);
	written = report_write(&settings, reports);
	free(settings.programs);
	return status == -EINVAL || status == -ENOENT ? 2 : status || written ? 1 : 0;
}
