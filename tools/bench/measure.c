/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Runs the contenders and collects the reports of their processes.
 */
#include "config.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/message.h"
#include "tools/bench/bench.h"
#include "tools/common/place.h"
#include "tools/common/simulation.h"

/* The most of a case's time for sweeps. */
#define SWEEP_SHARE 0.6
#define SWEEP_REPS 3
#define CALIBRATION_REPS 4
/* The folder of StarPU's measurements of the machine, below STARPU_HOME. */
#define BUS "/.starpu/sampling/bus"

struct request {
	const struct bench_variant *variant;
	unsigned reps;
	bool verify, calibrate;
	const char *home; /* STARPU_HOME */
};

static void list_add(char ***list, unsigned *count, char *entry)
{
	*list = bench_grow(*list, *count + 2, sizeof(**list));
	(*list)[(*count)++] = entry;
	(*list)[*count] = NULL;
}

static void list_free(char **list)
{
	for (char **entry = list; *entry; entry++)
		free(*entry);
	free(list);
}

static char **request_arguments(const struct bench_case *bench, const struct request *request)
{
	const struct bench_variant *variant = request->variant;
	char **list = NULL;
	unsigned count = 0;

	list_add(&list, &count, bench_format("%s", bench->program));
	if (bench->platform_name)
		list_add(&list, &count, bench_format(SIMULATION_QUIET));
	list_add(&list, &count, bench_format("--json=%s/report.json", bench->state));
	list_add(&list, &count, bench_format("--reps=%u", request->reps));
	list_add(&list, &count, bench_format("--seed=%u", bench->settings->seed));
	list_add(&list, &count, bench_format("--sched=%s", variant->sched));
	if (bench->size)
		list_add(&list, &count, bench_format("--size=%zu", bench->size));
	if (*variant->strategy)
		list_add(&list, &count, bench_format("--strategy=%s", variant->strategy));
	if (*variant->workers)
		list_add(&list, &count, bench_format("--workers=%s", variant->workers));
	if (variant->parts)
		list_add(&list, &count, bench_format("--parts=%zu", variant->parts));
	if (request->verify)
		list_add(&list, &count, bench_format("--verify"));
	for (char **argument = bench->settings->app_arguments; argument && *argument; argument++)
		list_add(&list, &count, bench_format("%s", *argument));
	return list;
}

static int request_environment(const struct bench_case *bench, const struct request *request,
                               char ***environment)
{
	static const char *const unset[] = {"STARPU_SCHED", "HEDDLE_STRATEGY", "HEDDLE_PARTS",
	                                    "HEDDLE_BLOCK_LOG"};
	char **list = NULL, **simulated = NULL, *folder, *libraries = place_library_path();
	unsigned count = 0;
	int status = 0;

	list_add(&list, &count, bench_format("STARPU_HOME=%s", request->home));
	if (libraries)
		list_add(&list, &count, bench_format("LD_LIBRARY_PATH=%s", libraries));
	free(libraries);
	list_add(&list, &count, bench_format("STARPU_SILENT=1"));
	list_add(&list, &count, bench_format("STARPU_FXT_TRACE=0"));
	list_add(&list, &count,
	         bench_format(request->calibrate ? "STARPU_CALIBRATE=1" : "STARPU_CALIBRATE"));
	for (size_t u = 0; u < sizeof(unset) / sizeof(*unset); u++)
		list_add(&list, &count, bench_format("%s", unset[u]));
	if (bench->platform_name) {
		folder = bench_format("%s/platform", bench->state);
		status = simulation_prepare(
		    &bench->platform, folder,
		    bench->settings->theory ? SIMULATION_THEORY : SIMULATION_REALISTIC, &simulated);
		free(folder);
		for (char **entry = simulated; entry && *entry; entry++)
			list_add(&list, &count, bench_format("%s", *entry));
		simulation_environment_free(simulated);
	}
	if (status)
		list_free(list);
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

static void copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	char bytes[4096];
	size_t length;

	while (in && out && (length = fread(bytes, 1, sizeof(bytes), in)))
		fwrite(bytes, 1, length, out);
	if (in)
		fclose(in);
	if (out)
		fclose(out);
}

/* Makes a STARPU_HOME without measurements, except for those of the buses: these take seconds, and
 * the first process made them. */
static char *home_make(const struct bench_case *bench, const char *name)
{
	char *home = bench_format("%s/home-%s", bench->state, name);
	char *folder = bench_format("%s%s", home, BUS);
	char *pattern = bench_format("%s/home-probe%s/*", bench->state, BUS);
	glob_t files;

	make_folders(folder);
	if (!glob(pattern, 0, NULL, &files)) {
		for (size_t f = 0; f < files.gl_pathc; f++) {
			char *to = bench_format("%s%s", folder, strrchr(files.gl_pathv[f], '/'));

			copy_file(files.gl_pathv[f], to);
			free(to);
		}
		globfree(&files);
	}
	free(folder);
	free(pattern);
	return home;
}

/* The last line of a process's output that is a message; to be freed. */
static char *last_words(const char *log)
{
	char *line = NULL, *last = bench_format("no message");
	FILE *stream = fopen(log, "r");
	size_t room = 0;

	while (stream && getline(&line, &room, stream) > 0) {
		line[strcspn(line, "\r\n")] = 0;
		/* After a wrong option, argp's last line names --help. */
		if (line[strspn(line, " \t")] == 0 || !strncmp(line, "Try `", 5))
			continue;
		free(last);
		last = bench_format("%.200s", line + strspn(line, " \t"));
	}
	if (stream)
		fclose(stream);
	free(line);
	return last;
}

static char *failure_text(int status, double limit, const char *log)
{
	char *words, *text;

	if (status == -ETIME)
		return bench_format("no end within %.0f s", limit);
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
	char *file = bench_format("%s/report.json", bench->state);
	struct bench_process process = {.log = log, .limit_s = limit_s(bench)};
	double wall_s = 0;
	json_t *report = NULL;
	int status;

	unlink(file);
	process.argv = request_arguments(bench, request);
	status = request_environment(bench, request, &process.environment);
	if (!status) {
		status = bench_process_run(&process, &wall_s);
		list_free(process.environment);
	}
	list_free(process.argv);
	bench->processes++;
	if (wall_s > bench->slowest_s)
		bench->slowest_s = wall_s;
	if (status == 0 || status == 1)
		report = json_load_file(file, 0, NULL);
	if (!report)
		*failure = failure_text(status, process.limit_s, log);
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

static void runs_add(struct bench_runs *runs, json_t *report)
{
	json_t *workers = json_object_get(report, "workers"), *us = json_object_get(report, "us");
	json_t *verified = json_object_get(report, "verified"), *value;
	const char *clock = json_string_value(json_object_get(report, "clock"));
	size_t rep;

	json_array_foreach(us, rep, value)
	{
		if (rep == 0)
			value_add(&runs->first, &runs->nfirst, json_number_value(value));
		else
			value_add(&runs->us, &runs->nus, json_number_value(value));
	}
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

/* The contenders take turns, variant by variant, so that other load affects all alike. */
static void sweep(struct bench_case *bench, unsigned *order, uint64_t *random, double deadline_s)
{
	unsigned most = 0;

	for (unsigned c = 0; c < bench->ncontenders; c++)
		if (bench->contenders[c].nvariants > most)
			most = bench->contenders[c].nvariants;
	for (unsigned v = 0; v < most; v++) {
		shuffle(order, bench->ncontenders, random);
		for (unsigned i = 0; i < bench->ncontenders; i++) {
			struct bench_contender *contender = &bench->contenders[order[i]];

			if (contender->nvariants < 2 || v >= contender->nvariants)
				continue;
			if (!time_left(bench, deadline_s))
				return;
			variant_run(bench, contender, &contender->variants[v],
			            &contender->variants[v].sweep,
			            bench->reps < SWEEP_REPS ? bench->reps : SWEEP_REPS, false);
		}
	}
}

static void rounds(struct bench_case *bench, unsigned *order, uint64_t *random, double deadline_s)
{
	for (unsigned round = 0; round < bench->rounds; round++) {
		shuffle(order, bench->ncontenders, random);
		for (unsigned i = 0; i < bench->ncontenders; i++) {
			struct bench_contender *contender = &bench->contenders[order[i]];
			struct bench_variant *variant = &contender->variants[contender->chosen];

			/* A variant that failed and never succeeded is not run again. */
			if (variant->runs.failure && !variant->runs.nprocesses)
				continue;
			if (!time_left(bench, deadline_s))
				return;
			variant_run(bench, contender, variant, &variant->runs, bench->reps,
			            bench->settings->verify && round == 0);
		}
		bench->rounds_done++;
	}
}

/* A first process reports the kinds of worker and the number of iterations, and shows the time of
 * the app. */
static int probe(struct bench_case *bench)
{
	struct bench_variant variant = {.sched = "css"};
	struct request request = {.variant = &variant, .reps = 1};
	char *home = bench_format("%s/home-probe", bench->state), *failure = NULL;
	const char *strategy;
	json_t *report, *worker;
	enum heddle_kind kind;
	size_t w;
	int status = 0;

	make_folders(home);
	request.home = home;
	report = request_run(bench, &request, &failure);
	free(home);
	if (!report) {
		status = heddle_refuse(-EIO, "%s: %s", bench->app, failure);
		free(failure);
		return status;
	}
	bench->n = json_integer_value(json_object_get(report, "n"));
	strategy = json_string_value(json_object_get(report, "strategy"));
	bench->tasks = strategy && (!strcmp(strategy, "tasks") || !strcmp(strategy, "chunks"));
	if (json_string_value(json_object_get(report, "starpu")))
		snprintf(bench->starpu, sizeof(bench->starpu), "%s",
		         json_string_value(json_object_get(report, "starpu")));
	json_array_foreach(json_object_get(report, "workers"), w, worker)
	{
		const char *name = json_string_value(json_object_get(worker, "kind"));

		if (name && !heddle_kind_parse(name, &kind))
			bench->workers[kind]++;
	}
	if (!w || !bench->n)
		status = heddle_refuse(-EIO, "%s: its report names no worker or no iterations",
		                       bench->app);
	json_decref(report);
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
	order = bench_grow(NULL, bench->ncontenders, sizeof(*order));
	sweep(bench, order, &random,
	      deadline_s ? begin_s + (deadline_s - begin_s) * SWEEP_SHARE : 0);
	for (unsigned c = 0; c < bench->ncontenders; c++)
		choose_variant(&bench->contenders[c]);
	bench->out_of_time = false;
	rounds(bench, order, &random, deadline_s);
	free(order);
	bench->ideal_us = ideal_us(bench, &bench->ideal_modelled);
	return bench_interrupted() ? -EINTR : 0;
}
