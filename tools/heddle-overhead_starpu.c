/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle overhead: the cost of a policy per task, measured with empty tasks, compared with StarPU's
 * own policies. Every measurement runs in a new process. The policies take turns, so that other
 * load of the machine affects all alike.
 */
#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <starpu.h>
#include <starpu_scheduler.h>

#include <heddle/heddle.h>
#include <heddle/policy.h>

#include "support/options.h"
#include "support/output.h"
#include "support/progress.h"
#include "support/stock.h"
#include "sched_policies/policies.h"
#include "tools/bench/bench.h"

#define USAGE 2
#define SKIPPED 77
#define MAXPOLICIES 64
#define REFERENCE "eager"

enum shape { INDEPENDENT, CHAIN, NSHAPES };

static const char *const shape_names[] = {"independent", "chain"};

/* The command line. */
static struct request {
	unsigned tasks[NSHAPES];
	unsigned rounds;
	const char *json;
	const char *policies[MAXPOLICIES];
	unsigned npolicies;
} request = {.tasks = {200000, 50000}, .rounds = 9};

static double *measured[NSHAPES][MAXPOLICIES]; /* µs per task, one for each round */

/* ---- one measurement ---- */

static void nothing(void *buffers[], void *arg)
{
}

static struct starpu_codelet codelets[NSHAPES] = {
    [INDEPENDENT] = {.cpu_funcs = {nothing}, .name = "independent"},
    [CHAIN] = {.cpu_funcs = {nothing}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "chain"},
};

/* @return µs per task; below 0: an error */
static double submit_and_wait(enum shape shape, unsigned n)
{
	starpu_data_handle_t handle;
	double start;
	int status = 0;

	starpu_void_data_register(&handle);
	start = starpu_timing_now();
	for (unsigned i = 0; i < n && !status; i++) {
		struct starpu_task *task = starpu_task_create();

		task->cl = &codelets[shape];
		if (shape == CHAIN)
			task->handles[0] = handle;
		status = starpu_task_submit(task);
	}
	starpu_task_wait_for_all();
	start = starpu_timing_now() - start;
	starpu_data_unregister(handle);
	return status ? -1 : start / n;
}

/* Writes µs per task to standard output. */
static int measure_here(const char *policy, enum shape shape, unsigned n)
{
	struct starpu_conf conf;
	double us;

	unsetenv("STARPU_SCHED");
	/* The times of empty tasks are not worth keeping. */
	setenv("HEDDLE_PROFILE", "0", 0);
	if (heddle_starpu_check() || starpu_conf_init(&conf))
		return 1;
	conf.sched_policy_name = policy;
	if (starpu_init(&conf))
		return SKIPPED;
	if (strcmp(starpu_sched_ctx_get_sched_policy(0)->policy_name, policy)) {
		fprintf(stderr, "heddle: StarPU has no policy '%s'\n", policy);
		return USAGE;
	}
	submit_and_wait(shape, n < 1000 ? n : 1000); /* warm-up */
	us = submit_and_wait(shape, n);
	starpu_shutdown();
	printf("%.6f\n", us);
	return us < 0;
}

/* ---- all measurements ---- */

static int measure_there(const char *policy, enum shape shape, double *us)
{
	char tasks[16];
	const char *arguments[] = {"heddle-overhead",  "--measure", policy,
	                           shape_names[shape], tasks,       NULL};
	FILE *answer;
	int ends[2], status, read;
	pid_t child;

	snprintf(tasks, sizeof(tasks), "%u", request.tasks[shape]);
	if (pipe(ends))
		return -errno;
	child = fork();
	if (!child) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		execv("/proc/self/exe", (char **)arguments);
		_exit(127);
	}
	close(ends[1]);
	answer = fdopen(ends[0], "r");
	read = answer ? fscanf(answer, "%lf", us) : 0;
	if (answer)
		fclose(answer);
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return -errno;
	if (read == 1 && WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == USAGE)
		return -EINVAL;
	fprintf(stderr, "heddle: %s could not be measured\n", policy);
	return -EIO;
}

static int measure_all(void)
{
	int status;

	for (unsigned s = 0; s < NSHAPES; s++)
		for (unsigned p = 0; p < request.npolicies; p++) {
			measured[s][p] = calloc(request.rounds, sizeof(double));
			if (!measured[s][p])
				return -ENOMEM;
		}
	for (unsigned round = 0; round < request.rounds; round++)
		for (unsigned s = 0; s < NSHAPES; s++)
			for (unsigned p = 0; p < request.npolicies && request.tasks[s]; p++) {
				heddle_progress("heddle overhead: round %u of %u, %s, %s",
				                round + 1, request.rounds, shape_names[s],
				                request.policies[p]);
				status =
				    measure_there(request.policies[p], s, &measured[s][p][round]);
				if (status)
					return status;
			}
	return 0;
}

/* ---- results ---- */

static json_t *results_make(void)
{
	json_t *rows = json_array();

	for (unsigned p = 0; p < request.npolicies; p++) {
		json_t *row = json_pack("{s:s}", "policy", request.policies[p]);

		for (unsigned s = 0; s < NSHAPES; s++) {
			double us = bench_median(measured[s][p], request.rounds);
			double reference = bench_median(measured[s][0], request.rounds);

			if (!request.tasks[s])
				continue;
			json_object_set_new(row, shape_names[s],
			                    json_pack("{s:i,s:f,s:f,s:f}", "tasks",
			                              (int)request.tasks[s], "us", us, "min_us",
			                              bench_minimum(measured[s][p], request.rounds),
			                              "ratio", us / reference));
		}
		json_array_append_new(rows, row);
	}
	return json_pack("{s:i,s:s,s:o}", "rounds", (int)request.rounds, "reference", REFERENCE,
	                 "policies", rows);
}

static void results_print(const json_t *results)
{
	json_t *row;
	size_t i;

	printf("us per empty task, medians of %u rounds, and their ratio to %s\n%-14s",
	       request.rounds, REFERENCE, "");
	for (unsigned s = 0; s < NSHAPES; s++)
		printf("%12s%8s", shape_names[s], "ratio");
	putchar('\n');
	json_array_foreach(json_object_get(results, "policies"), i, row)
	{
		printf("%-14s", json_string_value(json_object_get(row, "policy")));
		for (unsigned s = 0; s < NSHAPES; s++) {
			json_t *shape = json_object_get(row, shape_names[s]);

			if (shape)
				printf("%12.3f%8.3f",
				       json_number_value(json_object_get(shape, "us")),
				       json_number_value(json_object_get(shape, "ratio")));
			else
				printf("%12s%8s", "-", "-");
		}
		putchar('\n');
	}
}

static int results_write(void)
{
	bool to_stdout = request.json && !strcmp(request.json, "-");
	json_t *results = results_make();
	int status = 0;

	if (!to_stdout)
		results_print(results);
	if (to_stdout)
		status = json_dumpf(results, stdout, JSON_INDENT(2)) || putchar('\n') == EOF;
	else if (request.json)
		status = json_dump_file(results, request.json, JSON_INDENT(2));
	if (status)
		fprintf(stderr, "heddle: cannot write %s\n", request.json);
	json_decref(results);
	return status ? 1 : 0;
}

/* ---- the command line ---- */

static void policy_add(const char *name)
{
	for (unsigned p = 0; p < request.npolicies; p++)
		if (!strcmp(request.policies[p], name))
			return;
	if (request.npolicies < MAXPOLICIES)
		request.policies[request.npolicies++] = name;
}

static void policies_default(void)
{
	policy_add("lws");
	for (const struct heddle_policy *policy = heddle_policies(); policy->name; policy++)
		policy_add(policy->name);
}

/* The names are kept until the end. */
static void parse_policies(void *data, char *list, struct argp_state *state)
{
	char *rest = strdup(list), *name;

	if (!list[strspn(list, ",")])
		argp_error(state, "--sched '%s': no policy", list);
	while (rest && (name = strsep(&rest, ","))) {
		if (!*name)
			argp_error(state, "--sched '%s': a name is empty", list);
		if (!policy_exists(name) && !heddle_policy_displaced(name)) {
			policy_unknown_print(stderr, name);
			exit(USAGE);
		}
		policy_add(name);
	}
}

static void check(void *data, struct argp_state *state)
{
	if (!request.tasks[INDEPENDENT] && !request.tasks[CHAIN])
		argp_error(state, "--tasks 0 and --chain 0 leave nothing to measure");
}

#define MOST 100000000

static const struct option_row options[] = {
    {"sched", "LIST",
     "policies, separated by commas (default: eager, lws and all of Heddle's); eager always takes "
     "part",
     PARSED(parse_policies)},
    {"tasks", "N", "independent tasks (default 200000); 0 skips them",
     NUMBER(struct request, tasks[INDEPENDENT], 0, MOST)},
    {"chain", "N", "tasks of the chain (default 50000); 0 skips it",
     NUMBER(struct request, tasks[CHAIN], 0, MOST)},
    {"rounds", "N", "default 9", NUMBER(struct request, rounds, 1, MOST)},
    {"json", "FILE", "write the results; -: to standard output instead of the table",
     TEXT(struct request, json)},
    {0},
};

static const struct option_program program = {
    .name = "heddle overhead",
    .doc = "Prints the cost of each scheduling policy per empty task, in microseconds and relative "
           "to StarPU's eager: for independent tasks submitted at once, and for a chain in which "
           "each task waits for the one before. In each of several rounds, every policy runs once. "
           "The medians are printed.\v"
           "Exit status: 0; 1 when a policy could not be measured; 2 for wrong use.",
};

int main(int argc, char **argv)
{
	struct option_set set = {.rows = options, .data = &request, .check = check};
	int status;

	if (argc == 5 && !strcmp(argv[1], "--measure"))
		return measure_here(argv[2],
		                    strcmp(argv[3], shape_names[CHAIN]) ? INDEPENDENT : CHAIN,
		                    atoi(argv[4]));
	policy_add(REFERENCE);
	options_parse(&program, &set, argc, argv);
	if (request.npolicies == 1)
		policies_default();
	if (heddle_output_check(request.json))
		return USAGE;
	status = measure_all();
	heddle_progress_end();
	if (status)
		return status == -EINVAL ? USAGE : 1;
	return results_write();
}
