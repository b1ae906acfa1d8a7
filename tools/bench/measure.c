/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Runs the contenders and collects the reports of their processes.
 */
#include "config.h"

#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/message.h"
#include "tools/bench/bench.h"
#include "tools/bench/record.h"
#include "tools/common/models.h"
#include "tools/common/place.h"
#include "tools/common/simulation.h"

/* The most of a case's time for sweeps. */
#define SWEEP_SHARE 0.6
#define SWEEP_REPS 3
#define CALIBRATION_REPS 4
/* Processes of a program after which StarPU knows its tasks: ten measurements of each type. */
#define CALIBRATION_PROCESSES 3
/* StarPU's measurements below STARPU_HOME: of the machine's buses, and of codelets. */
#define BUSES "/.starpu/sampling/bus"
#define CODELETS "/.starpu/sampling/codelets"
/* What the policies of Heddle may know before they have measured anything. */
#define COLD_ESTIMATE "online,profile,neighbours"

struct request {
	const struct bench_variant *variant;
	unsigned reps;
	bool verify, calibrate;
	const char *home; /* STARPU_HOME */
	/* Of programs: */
	bool ours;            /* the policy is one of Heddle's */
	bool graph;           /* the graph is recorded */
	bool profile;         /* Heddle reads and writes profiles in this home */
	const char *estimate; /* HEDDLE_ESTIMATE; NULL: as it is */
};

static char **command_arguments(const struct bench_case *bench, char **list, unsigned count)
{
	for (char **word = bench->command + 1; *word; word++)
		bench_list_add(&list, &count, bench_format("%s", *word));
	for (char **argument = bench->settings->app_arguments; argument && *argument; argument++)
		bench_list_add(&list, &count, bench_format("%s", *argument));
	return list;
}

/* Whether an app reads its input: most refuse --seed then. Options may be shortened. */
static bool names_input(char **arguments)
{
	for (char **argument = arguments; argument && *argument; argument++) {
		const char *name = *argument + 2;
		size_t length = strncmp(*argument, "--", 2) ? 0 : strcspn(name, "=");

		if (length && (!strncmp("input", name, length) || !strncmp("query", name, length)))
			return true;
	}
	return false;
}

static char **request_arguments(const struct bench_case *bench, const struct request *request)
{
	const struct bench_variant *variant = request->variant;
	char **list = NULL;
	unsigned count = 0;

	bench_list_add(&list, &count, bench_format("%s", bench->program));
	if (bench->command)
		return command_arguments(bench, list, count);
	bench_list_add(&list, &count, bench_format("--json=%s/report.json", bench->state));
	bench_list_add(&list, &count, bench_format("--reps=%u", request->reps));
	if (!names_input(bench->settings->app_arguments))
		bench_list_add(&list, &count, bench_format("--seed=%u", bench->settings->seed));
	bench_list_add(&list, &count, bench_format("--sched=%s", variant->sched));
	if (bench->size)
		bench_list_add(&list, &count, bench_format("--size=%zu", bench->size));
	if (*variant->strategy)
		bench_list_add(&list, &count, bench_format("--strategy=%s", variant->strategy));
	if (*variant->workers)
		bench_list_add(&list, &count, bench_format("--workers=%s", variant->workers));
	if (variant->parts)
		bench_list_add(&list, &count, bench_format("--parts=%zu", variant->parts));
	if (request->verify)
		bench_list_add(&list, &count, bench_format("--verify"));
	for (char **argument = bench->settings->app_arguments; argument && *argument; argument++)
		bench_list_add(&list, &count, bench_format("%s", *argument));
	return variant->ranks ? bench_ranks_arguments(bench, variant->ranks, list) : list;
}

/* An app gets these as arguments. */
static void environment_command(const struct bench_variant *variant, char ***list, unsigned *count)
{
	static const char *const names[][2] = {
	    {"cpu", "STARPU_NCPU"}, {"cuda", "STARPU_NCUDA"}, {"opencl", "STARPU_NOPENCL"}};

	bench_list_add(list, count, bench_format("STARPU_SCHED=%s", variant->sched));
	for (size_t k = 0; *variant->workers && k < sizeof(names) / sizeof(*names); k++)
		if (strcmp(variant->workers, names[k][0]))
			bench_list_add(list, count, bench_format("%s=0", names[k][1]));
}

static void environment_estimates(const struct request *request, char ***list, unsigned *count)
{
	bench_list_add(list, count, bench_format("HEDDLE_PROFILE=%d", request->profile));
	if (request->profile)
		bench_list_add(list, count,
		               bench_format("HEDDLE_PROFILE_DIR=%s/heddle", request->home));
	if (request->estimate)
		bench_list_add(list, count, bench_format("HEDDLE_ESTIMATE=%s", request->estimate));
}

/* StarPU 1.4 loads Heddle's policies itself. */
static int environment_record(const struct bench_case *bench, const struct request *request,
                              char ***list, unsigned *count)
{
	bool asked = request->ours && strcmp(HEDDLE_STARPU_SERIES, "1.3");
	const char *before = NULL;
	char *preload, *library = asked ? place_library("libheddle.so") : NULL;

	for (char **entry = *list; *entry; entry++)
		if (!strncmp(*entry, "LD_PRELOAD=", 11))
			before = *entry + 11;
	preload = bench_record_preload(request->ours, before);
	if (!preload || (asked && !library)) {
		free(preload);
		return -ENOENT;
	}
	if (library)
		bench_list_add(list, count, bench_format("STARPU_SCHED_LIB=%s", library));
	free(library);
	bench_list_add(list, count, bench_format("LD_PRELOAD=%s", preload));
	free(preload);
	bench_list_add(list, count, bench_format(RECORD_FILE "=%s/record.json", bench->state));
	if (!strcmp(HEDDLE_STARPU_SERIES, "1.3") && !strcmp(request->variant->sched, "heteroprio"))
		bench_list_add(list, count, bench_format(RECORD_ORDERS "=1"));
	bench_list_add(list, count,
	               bench_format(request->graph ? RECORD_GRAPH "=1" : RECORD_GRAPH));
	return 0;
}

/* StarPU's models are those of a home that the case knows: other variables would name another one.
 * PoCL keeps its folder. */
static void environment_home(const struct request *request, char ***list, unsigned *count)
{
	static const char *const others[] = {"XDG_CACHE_HOME", "STARPU_PERF_MODEL_DIR",
	                                     "HEDDLE_PROFILE_DIR"};
	const char *caches = getenv("XDG_CACHE_HOME");

	bench_list_add(list, count, bench_format("STARPU_HOME=%s", request->home));
	if (caches && !getenv("POCL_CACHE_DIR"))
		bench_list_add(list, count, bench_format("POCL_CACHE_DIR=%s/pocl/kcache", caches));
	for (size_t o = 0; o < sizeof(others) / sizeof(*others); o++)
		bench_list_add(list, count, bench_format("%s", others[o]));
}

static void environment_gpu_workers(unsigned each, char ***list, unsigned *count)
{
	if (!each)
		return;
	bench_list_add(list, count, bench_format("STARPU_NWORKER_PER_CUDA=%u", each));
	bench_list_add(list, count, bench_format("STARPU_CUDA_THREAD_PER_WORKER=1"));
}

static int request_environment(const struct bench_case *bench, const struct request *request,
                               char ***environment)
{
	static const char *const unset[] = {"STARPU_SCHED", "HEDDLE_STRATEGY", "HEDDLE_PARTS",
	                                    "HEDDLE_BLOCK_LOG"};
	char **list = NULL, **simulated = NULL, *folder, *libraries = place_library_path();
	unsigned count = 0;
	int status = 0;

	environment_home(request, &list, &count);
	if (libraries)
		bench_list_add(&list, &count, bench_format("LD_LIBRARY_PATH=%s", libraries));
	free(libraries);
	bench_list_add(&list, &count, bench_format("STARPU_SILENT=1"));
	bench_list_add(&list, &count, bench_format("STARPU_FXT_TRACE=0"));
	bench_list_add(
	    &list, &count,
	    bench_format(request->calibrate ? "STARPU_CALIBRATE=1" : "STARPU_CALIBRATE"));
	for (size_t u = 0; u < sizeof(unset) / sizeof(*unset); u++)
		bench_list_add(&list, &count, bench_format("%s", unset[u]));
	if (bench->platform_name) {
		folder = bench_format("%s/platform", bench->state);
		status = simulation_prepare(&bench->platform, folder, bench->settings->profile,
		                            &simulated);
		free(folder);
		for (char **entry = simulated; entry && *entry; entry++)
			bench_list_add(&list, &count, bench_format("%s", *entry));
		simulation_environment_free(simulated);
	}
	if (request->variant->ranks)
		bench_ranks_environment(&list, &count);
	environment_gpu_workers(request->variant->gpu_workers, &list, &count);
	if (bench->command)
		environment_command(request->variant, &list, &count);
	if (bench->graph)
		environment_estimates(request, &list, &count);
	if (!status && (bench->command || request->graph))
		status = environment_record(bench, request, &list, &count);
	if (status)
		bench_list_free(list);
	else
		*environment = list;
	return status;
}

static void make_folders(const char *path)
{
	char *copy = bench_format("%s/", path);

	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(copy, 0777);
		*slash = '/';
	}
	free(copy);
}

/* Copies the files that match a pattern below a home to the same folders of another one. */
static void home_copy(const char *from, const char *pattern, const char *to)
{
	char *path = bench_format("%s%s", from, pattern);
	glob_t files;

	if (!glob(path, 0, NULL, &files)) {
		for (size_t f = 0; f < files.gl_pathc; f++) {
			char *copy = bench_format("%s%s", to, files.gl_pathv[f] + strlen(from));
			char *slash = strrchr(copy, '/');

			*slash = 0;
			make_folders(copy);
			*slash = '/';
			models_file_copy(files.gl_pathv[f], copy);
			free(copy);
		}
		globfree(&files);
	}
	free(path);
}

/* Makes a STARPU_HOME without measurements, except for those of the buses: these take seconds, and
 * the first process made them. */
static char *home_make(const struct bench_case *bench, const char *name)
{
	char *home = bench_format("%s/home-%s", bench->state, name);
	char *probe = bench_format("%s/home-probe", bench->state);

	make_folders(home);
	home_copy(probe, BUSES "/*", home);
	free(probe);
	return home;
}

#define ASSERTION "[assert failure]"

/* Whether a line is a frame, as mpirun has around what it says of a process that failed. */
static bool is_frame(const char *line)
{
	size_t dashes = strspn(line, "-");

	return dashes > 20 && !line[dashes];
}

/* The last line of a process's output that is a message, StarPU's if one is a failed assertion;
 * to be freed. */
static char *last_words(const char *log)
{
	char *line = NULL, *last = bench_format("no message");
	FILE *stream = fopen(log, "r");
	size_t room = 0;
	bool framed = false, any = false;

	while (stream && getline(&line, &room, stream) > 0) {
		line[strcspn(line, "\r\n")] = 0;
		/* After a wrong option, argp's last lines name --help. */
		if (strstr(last, ASSERTION) || !strncmp(line, "Try `", 5))
			break;
		framed ^= is_frame(line);
		/* What the process itself says tells more than what stands in a frame. */
		if (line[strspn(line, " \t")] == 0 || is_frame(line) || (any && framed))
			continue;
		any |= !framed;
		free(last);
		last = bench_format("%.200s", line + strspn(line, " \t"));
	}
	if (stream)
		fclose(stream);
	free(line);
	return last;
}

static char *failure_text(const struct bench_case *bench, int status, double limit, const char *log)
{
	char *words, *text;

	if (status == -ETIME)
		return bench_format(
		    "no end within %s%.0f s%s", limit < bench->settings->limit_s ? "the " : "",
		    limit, limit < bench->settings->limit_s ? " that --budget leaves" : "");
	if (status == -EINTR)
		return bench_format("interrupted");
	if (status < 0)
		return bench_format("%s", strerror(-status));
	words = last_words(log);
	if (status == 77)
		text = bench_format("cannot run here: %s", words);
	else if (status > 128)
		text = bench_format("ended by signal %d: %s", status - 128, words);
	else
		text = bench_format("exit status %d: %s", status, words);
	free(words);
	return text;
}

/* The time limit of a process: one that hangs must not delay a case by much. */
static double limit_s(const struct bench_case *bench)
{
	double limit = bench->settings->limit_s, left = bench->deadline_s - bench_elapsed_s();

	if (bench->deadline_s && left < limit)
		limit = left > 1 ? left : 1;
	return limit;
}

/* Runs a process. @return its report, also where the result was wrong; else NULL and the failure */
static json_t *request_run(struct bench_case *bench, const struct request *request, char **failure)
{
	char *log = bench_format("%s/log", bench->state);
	char *file = bench_format("%s/%s.json", bench->state, bench->command ? "record" : "report");
	struct bench_process process = {.log = log, .limit_s = limit_s(bench)};
	double wall_s = 0;
	json_t *report = NULL;
	int status;

	unlink(file);
	process.argv = request_arguments(bench, request);
	status = request_environment(bench, request, &process.environment);
	if (!status) {
		status = bench_process_run(&process, &wall_s);
		bench_list_free(process.environment);
	}
	bench_list_free(process.argv);
	bench->processes++;
	if (wall_s > bench->slowest_s)
		bench->slowest_s = wall_s;
	if (bench->command && status == 0)
		report = bench_record_read(file);
	else if (!bench->command && (status == 0 || status == 1))
		report = json_load_file(file, 0, NULL);
	if (!report && !status && bench->command)
		*failure = bench_format("no task of StarPU " HEDDLE_STARPU_SERIES " ended before "
		                        "starpu_shutdown()");
	else if (!report)
		*failure = failure_text(bench, status, process.limit_s, log);
	free(log);
	free(file);
	return report;
}

static void value_add(double **values, size_t *count, double value)
{
	*values = bench_grow(*values, *count + 1, sizeof(**values));
	(*values)[(*count)++] = value;
}

/* The latest minus the earliest finish of the workers, over the latest. A worker without blocks
 * finished at 0. */
static double workers_spread(json_t *workers)
{
	double first = 1e300, last = 0;
	json_t *worker;
	size_t w;

	json_array_foreach(workers, w, worker)
	{
		double finish = json_number_value(json_object_get(worker, "finish_us"));

		first = finish < first ? finish : first;
		last = finish > last ? finish : last;
	}
	return last > 0 ? (last - first) / last : 0;
}

static void workers_shares(json_t *workers, double share[HEDDLE_NKINDS])
{
	double done[HEDDLE_NKINDS] = {0}, total = 0;
	enum heddle_kind kind;
	json_t *worker;
	size_t w;

	json_array_foreach(workers, w, worker)
	{
		const char *name = json_string_value(json_object_get(worker, "kind"));
		double iterations = json_number_value(json_object_get(worker, "iterations"));

		if (!name || heddle_kind_parse(name, &kind))
			continue;
		done[kind] += iterations;
		total += iterations;
	}
	for (int k = 0; k < HEDDLE_NKINDS; k++)
		share[k] = total > 0 ? done[k] / total : 0;
}

/* The first repetition is cold. */
static void times_add(struct bench_runs *runs, const json_t *report)
{
	json_t *value;
	size_t rep;

	json_array_foreach(json_object_get(report, "us"), rep, value)
	{
		if (rep == 0)
			value_add(&runs->first, &runs->nfirst, json_number_value(value));
		else
			value_add(&runs->us, &runs->nus, json_number_value(value));
	}
}

static void runs_add(struct bench_runs *runs, json_t *report)
{
	json_t *workers = json_object_get(report, "workers");
	json_t *verified = json_object_get(report, "verified");
	const char *clock = json_string_value(json_object_get(report, "clock"));

	runs->learning = bench_grow(runs->learning, runs->nprocesses + 1, sizeof(double));
	runs->spread = bench_grow(runs->spread, runs->nprocesses + 1, sizeof(double));
	runs->learning[runs->nprocesses] =
	    json_number_value(json_object_get(report, "learning_us"));
	runs->spread[runs->nprocesses++] = workers_spread(workers);
	workers_shares(workers, runs->share);
	runs->modelled = clock && !strcmp(clock, "modelled");
	json_decref(runs->workers);
	runs->workers = json_incref(workers);
	/* One wrong result makes the runs wrong. */
	if (json_is_boolean(verified) && runs->verified != 0)
		runs->verified = json_is_true(verified);
}

static void progress(const struct bench_case *bench, const struct bench_contender *contender,
                     const struct bench_variant *variant, const struct bench_runs *runs)
{
	double us = runs->nus      ? runs->us[runs->nus - 1]
	            : runs->nfirst ? runs->first[runs->nfirst - 1]
	                           : 0;

	if (!bench->settings->verbose)
		return;
	fprintf(stderr, "%7.1f s  %-20s ", bench_elapsed_s(), contender->name);
	if (*variant->strategy)
		fprintf(stderr, "%s ", variant->strategy);
	if (variant->parts)
		fprintf(stderr, "parts %zu ", variant->parts);
	if (variant->gpu_workers)
		fprintf(stderr, "%u workers a GPU ", variant->gpu_workers);
	if (runs->failure)
		fprintf(stderr, "failed: %s\n", runs->failure);
	else
		fprintf(stderr, "%.0f us\n", us);
}

/* Whether another process is likely to end before the deadline. */
static bool time_left(struct bench_case *bench, double deadline_s)
{
	if (bench_interrupted() ||
	    (deadline_s && bench_elapsed_s() + bench->slowest_s > deadline_s))
		bench->out_of_time = true;
	return !bench->out_of_time;
}

/* Runs a variant once. */
static void variant_run(struct bench_case *bench, const struct bench_contender *contender,
                        struct bench_variant *variant, struct bench_runs *runs, unsigned reps,
                        bool verify)
{
	struct request request = {.variant = variant, .reps = reps, .verify = verify};
	unsigned v = variant - contender->variants;
	char *name = contender->calibrated ? bench_format("%s-%u", contender->name, v)
	                                   : bench_format("%u", bench->processes);
	char *home = home_make(bench, name), *failure = NULL;
	json_t *report = NULL;

	request.home = home;
	if (contender->calibrated && !variant->calibrated) {
		struct request calibration = request;

		variant->calibrated = true;

		calibration.reps = CALIBRATION_REPS;
		calibration.calibrate = true;
		report = request_run(bench, &calibration, &failure);
		json_decref(report);
	}
	if (!failure)
		report = request_run(bench, &request, &failure);
	if (report && !failure) {
		times_add(runs, report);
		runs_add(runs, report);
		json_decref(report);
	}
	if (failure) {
		free(runs->failure);
		runs->failure = failure;
	}
	progress(bench, contender, variant, runs);
	free(home);
	free(name);
}

/* ---- graphs: a process is one repetition ---- */

/* What a process of a graph begins with. */
enum warmth {
	COLD,   /* nothing */
	SECOND, /* what the first process measured */
	WARM    /* more */
};

/* Runs a process. @return false: it failed */
static bool graph_process(struct bench_case *bench, const struct request *request,
                          struct bench_runs *runs, enum warmth warmth)
{
	char *failure = NULL;
	json_t *report = request_run(bench, request, &failure);
	double us = json_number_value(json_array_get(json_object_get(report, "us"), 0));

	if (!report) {
		free(runs->failure);
		runs->failure = failure;
		return false;
	}
	if (warmth == COLD)
		value_add(&runs->first, &runs->nfirst, us);
	else if (!(warmth == SECOND && bench->platform_name))
		value_add(&runs->us, &runs->nus, us);
	if (warmth == SECOND)
		runs->second_us = us;
	runs_add(runs, report);
	json_decref(report);
	return true;
}

/* A foreign program's tasks are sorted for heteroprio by their models. */
static bool is_modelled(const struct bench_case *bench, const struct bench_variant *variant)
{
	return !strncmp(variant->sched, "dm", 2) ||
	       (bench->command && !strcmp(variant->sched, "heteroprio"));
}

/* A simulated run is exact. Only Heddle's policies can be told not to look at the models, which
 * SimGrid wants; what takes no model is always cold. */
static void graph_simulate(struct bench_case *bench, struct request *request,
                           struct bench_runs *runs)
{
	struct request cold = *request;

	cold.profile = true;
	cold.estimate = COLD_ESTIMATE;
	if (request->ours &&
	    !(graph_process(bench, &cold, runs, COLD) && graph_process(bench, &cold, runs, SECOND)))
		return;
	if (graph_process(bench, request, runs, WARM) && !request->ours &&
	    !is_modelled(bench, request->variant))
		value_add(&runs->first, &runs->nfirst, runs->us[runs->nus - 1]);
}

/* Runs a variant once. On a real machine its processes share a home, which is empty at first. */
static void graph_variant_run(struct bench_case *bench, const struct bench_contender *contender,
                              struct bench_variant *variant, struct bench_runs *runs)
{
	struct request request = {
	    .variant = variant, .reps = 1, .ours = contender->group == BENCH_OURS};
	char *name = bench_format("%s-%s-%zu", runs == &variant->sweep ? "sweep" : "rounds",
	                          contender->name, (size_t)(variant - contender->variants));
	char *home = home_make(bench, name);
	char *models = bench_format("%s/home-models", bench->state);

	request.home = home;
	if (variant->models && !runs->nprocesses)
		home_copy(models, CODELETS "/*/*", home);
	if (bench->platform_name) {
		graph_simulate(bench, &request, runs);
	} else {
		request.profile = request.ours;
		graph_process(bench, &request, runs,
		              runs->nprocesses < WARM ? (enum warmth)runs->nprocesses : WARM);
	}
	progress(bench, contender, variant, runs);
	free(models);
	free(home);
	free(name);
}

/* StarPU measures the program's tasks. Then all their times are known, and with them the bounds. */
static void graph_calibrate(struct bench_case *bench)
{
	struct bench_variant variant = {.sched = "dmda"};
	struct request request = {.variant = &variant, .calibrate = true};
	char *home = home_make(bench, "models"), *failure = NULL;
	json_t *report = NULL;

	request.home = home;
	for (unsigned p = 0; p <= CALIBRATION_PROCESSES && !failure; p++) {
		request.calibrate = p < CALIBRATION_PROCESSES;
		request.graph = !request.calibrate;
		json_decref(report);
		report = request_run(bench, &request, &failure);
	}
	if (report)
		bench_record_bound(bench, report);
	if (bench->settings->verbose)
		fprintf(stderr, "%7.1f s  calibration %s%s\n", bench_elapsed_s(),
		        failure ? "failed: " : "", failure ? failure : "");
	json_decref(report);
	free(failure);
	free(home);
}

/* Marsaglia's xorshift, for the order of turns. */
static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void shuffle(unsigned *order, unsigned count, uint64_t *random)
{
	for (unsigned i = 0; i < count; i++)
		order[i] = i;
	for (unsigned i = count; i > 1; i--) {
		unsigned j = random_next(random) % i, swapped = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swapped;
	}
}

/* Who must not be left out when time is short comes first. */
static const unsigned importance[BENCH_NGROUPS] = {
    [BENCH_OURS] = 0, [BENCH_ALONE] = 1, [BENCH_TUNED] = 2, [BENCH_STOCK] = 3};

static bool comes_before(const struct bench_case *bench, unsigned a, unsigned b)
{
	unsigned x = importance[bench->contenders[a].group];
	unsigned y = importance[bench->contenders[b].group];

	return x < y || (x == y && a < b);
}

/* The order of turns: random, or by importance. */
static void order_make(const struct bench_case *bench, bool by_importance, unsigned *order,
                       uint64_t *random)
{
	shuffle(order, bench->ncontenders, random);
	for (unsigned i = 1; by_importance && i < bench->ncontenders; i++)
		for (unsigned j = i; j && comes_before(bench, order[j], order[j - 1]); j--) {
			unsigned before = order[j - 1];

			order[j - 1] = order[j];
			order[j] = before;
		}
}

double bench_runs_median(const struct bench_runs *runs)
{
	return runs->nus ? bench_median(runs->us, runs->nus)
	                 : bench_median(runs->first, runs->nfirst);
}

static void choose_variant(struct bench_contender *contender)
{
	double best = 0;

	for (unsigned v = 0; v < contender->nvariants; v++) {
		double median = bench_runs_median(&contender->variants[v].sweep);

		if (median > 0 && (best == 0 || median < best)) {
			best = median;
			contender->chosen = v;
		}
	}
}

/* Whether each process is a repetition: of a program, or of a simulated graph. */
static bool is_graph_run(const struct bench_case *bench)
{
	return bench->command || (bench->graph && bench->platform_name);
}

/* The contenders take turns, variant by variant, so that other load affects all alike. */
static void sweep(struct bench_case *bench, unsigned *order, uint64_t *random, double deadline_s)
{
	unsigned most = 0;

	for (unsigned c = 0; c < bench->ncontenders; c++)
		if (bench->contenders[c].nvariants > most)
			most = bench->contenders[c].nvariants;
	for (unsigned v = 0; v < most; v++) {
		order_make(bench, deadline_s > 0, order, random);
		for (unsigned i = 0; i < bench->ncontenders; i++) {
			struct bench_contender *contender = &bench->contenders[order[i]];

			if (contender->nvariants < 2 || v >= contender->nvariants)
				continue;
			if (!time_left(bench, deadline_s))
				return;
			if (is_graph_run(bench))
				graph_variant_run(bench, contender, &contender->variants[v],
				                  &contender->variants[v].sweep);
			else
				variant_run(bench, contender, &contender->variants[v],
				            &contender->variants[v].sweep,
				            bench->reps < SWEEP_REPS ? bench->reps : SWEEP_REPS,
				            false);
		}
	}
}

static void rounds(struct bench_case *bench, unsigned *order, uint64_t *random, double deadline_s)
{
	for (unsigned round = 0; round < bench->rounds; round++) {
		order_make(bench, deadline_s > 0 && round == 0, order, random);
		for (unsigned i = 0; i < bench->ncontenders; i++) {
			struct bench_contender *contender = &bench->contenders[order[i]];
			struct bench_variant *variant = &contender->variants[contender->chosen];

			/* A variant that failed and never succeeded is not run again, nor one
			 * whose time is exact. */
			if (variant->runs.failure && !variant->runs.nprocesses)
				continue;
			if (is_graph_run(bench) && bench->platform_name && contender->nvariants > 1)
				continue;
			if (!time_left(bench, deadline_s))
				return;
			if (is_graph_run(bench))
				graph_variant_run(bench, contender, variant, &variant->runs);
			else
				variant_run(bench, contender, variant, &variant->runs, bench->reps,
				            bench->settings->verify && round == 0);
		}
		bench->rounds_done++;
	}
}

/* Loops and streams have no models. */
static int probe_check(const struct bench_case *bench)
{
	unsigned workers = 0;

	for (int kind = 0; kind < HEDDLE_NKINDS; kind++)
		workers += bench->workers[kind];
	if (!bench->n || !workers)
		return heddle_refuse(-EIO, "%s: its report names no worker or no iterations",
		                     bench->app);
	if (*bench->platform.host && !bench->tasks)
		return heddle_refuse(-EINVAL,
		                     "%s: StarPU has no models of loops on %s; describe a machine",
		                     bench->app, bench->platform_name);
	return 0;
}

static void probe_read(struct bench_case *bench, const json_t *report)
{
	const char *strategy = json_string_value(json_object_get(report, "strategy"));
	const char *starpu = json_string_value(json_object_get(report, "starpu"));
	enum heddle_kind kind;
	json_t *worker;
	size_t w;

	bench->n = json_integer_value(json_object_get(report, "n"));
	bench->flops = json_number_value(json_object_get(report, "flops"));
	bench->tasks = strategy && (!strcmp(strategy, "tasks") || !strcmp(strategy, "chunks"));
	bench->graph = bench->command || (bench->tasks && bench->flops > 0);
	if (starpu)
		snprintf(bench->starpu, sizeof(bench->starpu), "%s", starpu);
	json_array_foreach(json_object_get(report, "workers"), w, worker)
	{
		const char *name = json_string_value(json_object_get(worker, "kind"));

		if (name && !heddle_kind_parse(name, &kind))
			bench->workers[kind]++;
	}
}

/* A first process reports the kinds of worker and the number of iterations, and shows the time of
 * the app. On a calibrated machine it is recorded, for the bounds. */
static int probe(struct bench_case *bench)
{
	struct bench_variant app = {.sched = "css"}, program = {.sched = "eager"};
	struct request request = {.variant = bench->command ? &program : &app, .reps = 1};
	char *home = bench_format("%s/home-probe", bench->state), *failure = NULL;
	char *file = bench_format("%s/record.json", bench->state);
	json_t *report, *record;
	int status;

	make_folders(home);
	request.home = home;
	request.graph = bench->command || *bench->platform.host;
	report = request_run(bench, &request, &failure);
	if (report)
		probe_read(bench, report);
	status = report ? probe_check(bench) : heddle_refuse(-EIO, "%s: %s", bench->app, failure);
	if (!status && bench->graph && bench->platform_name) {
		record = bench_record_read(file);
		bench_record_bound(bench, record);
		json_decref(record);
	}
	json_decref(report);
	free(failure);
	free(file);
	free(home);
	return status;
}

const struct bench_runs *bench_contender_runs(const struct bench_contender *contender)
{
	const struct bench_variant *variant = &contender->variants[contender->chosen];

	return variant->runs.nprocesses || variant->runs.failure ? &variant->runs : &variant->sweep;
}

/* The time of a kind alone; 0: unknown. */
static double alone_us(const struct bench_case *bench, enum heddle_kind kind, bool *modelled)
{
	char name[64];

	snprintf(name, sizeof(name), "%s-only", heddle_kind_name(kind));
	for (unsigned c = 0; c < bench->ncontenders; c++) {
		const struct bench_runs *runs = bench_contender_runs(&bench->contenders[c]);

		if (strcmp(bench->contenders[c].name, name))
			continue;
		*modelled = runs->modelled;
		return bench_runs_median(runs);
	}
	return 0;
}

/* A described machine defines the ideal. On a real one it is the time of all kinds together, each
 * as fast as alone, if one clock measured them all. */
static double ideal_us(const struct bench_case *bench, bool *modelled)
{
	double rate = 0;
	bool by_wall = false, by_model = false;

	*modelled = false;
	if (bench->graph)
		return bench->area_us > bench->path_us ? bench->area_us : bench->path_us;
	/* The description does not say how long tasks of an app take. */
	if (bench->platform_name && bench->tasks)
		return 0;
	if (bench->platform_name)
		return heddle_platform_ideal_us(&bench->platform, bench->n, 1, ~0u);
	for (int kind = 0; kind < HEDDLE_NKINDS; kind++) {
		double us;

		if (!bench->workers[kind])
			continue;
		us = alone_us(bench, kind, modelled);
		if (us <= 0)
			return 0;
		rate += 1 / us;
		by_model |= *modelled;
		by_wall |= !*modelled;
	}
	return rate > 0 && by_wall != by_model ? 1 / rate : 0;
}

/* A process takes about as long as the first one. */
static void budget_check(const struct bench_case *bench)
{
	double left_s = bench->deadline_s - bench_elapsed_s();
	double round_s = bench->ncontenders * bench->slowest_s;

	if (bench->deadline_s && round_s > left_s)
		heddle_warn("--budget: one round of %u contenders takes about %.0f s, but %.0f s "
		            "are left for %s; those that matter least are left out",
		            bench->ncontenders, ceil(round_s), left_s > 0 ? ceil(left_s) : 0,
		            bench->app);
}

static int budget_result(const struct bench_case *bench)
{
	if (!bench->out_of_time || bench->rounds_done)
		return 0;
	for (unsigned c = 0; c < bench->ncontenders; c++)
		if (bench->contenders[c].group == BENCH_OURS &&
		    !bench_contender_runs(&bench->contenders[c])->nprocesses)
			return heddle_refuse(-ETIME,
			                     "%s: the budget ended before each of %u contenders "
			                     "had run once",
			                     bench->app, bench->ncontenders);
	return 0;
}

int bench_measure(struct bench_case *bench)
{
	double begin_s = bench_elapsed_s(), deadline_s = bench->deadline_s;
	uint64_t random = 0x9e3779b97f4a7c15ull ^ bench->settings->seed;
	unsigned *order;
	int status = probe(bench);

	if (status)
		return status;
	bench_contenders_make(bench);
	if (!bench->ncontenders)
		return heddle_refuse(-EINVAL, "no contender here is called \"%s\"",
		                     bench->settings->contenders);
	budget_check(bench);
	if (bench->models)
		graph_calibrate(bench);
	order = bench_grow(NULL, bench->ncontenders, sizeof(*order));
	if (!deadline_s)
		sweep(bench, order, &random, 0);
	else
		/* What a round needs is left for it. */
		sweep(bench, order, &random,
		      fmin(begin_s + (deadline_s - begin_s) * SWEEP_SHARE,
		           deadline_s - bench->ncontenders * bench->slowest_s));
	for (unsigned c = 0; c < bench->ncontenders; c++)
		choose_variant(&bench->contenders[c]);
	bench->out_of_time = false;
	rounds(bench, order, &random, deadline_s);
	free(order);
	bench->ideal_us = ideal_us(bench, &bench->ideal_modelled);
	return bench_interrupted() ? -EINTR : budget_result(bench);
}
