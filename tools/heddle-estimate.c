/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle estimate: prints the times in a profile, estimates from them, and their accuracy.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "support/options.h"
#include "tools/common/cross_validation.h"
#include "tools/estimate/estimate.h"
#include "estimator/profile_file.h"
#include "support/variables.h"

/* Neighbours of a mean, at the most. */
#define MEAN_MOST 16

/* ---- reading ---- */

/* The devices are the classes, in the order of the profile. */
static int class_make(const char *device, void *arg)
{
	struct estimates *e = arg;

	for (unsigned c = 0; c < e->nclasses; c++)
		if (!strcmp(e->classes[c], device))
			return c;
	if (e->nclasses == HEDDLE_HISTORY_CLASSES) {
		fprintf(stderr, "heddle: %s is left out: more than %d devices\n", device,
		        HEDDLE_HISTORY_CLASSES);
		return -1;
	}
	e->classes[e->nclasses] = device;
	return e->nclasses++;
}

static int reference_find(struct estimates *e, const char *name)
{
	for (unsigned c = 0; c < e->nclasses; c++)
		if (name ? !strcmp(e->classes[c], name) : !strncmp(e->classes[c], "cpu", 3)) {
			e->reference = c;
			return 0;
		}
	if (!name)
		return 0;
	fprintf(stderr, "heddle: the profile has no device \"%s\"; it has\n", name);
	for (unsigned c = 0; c < e->nclasses; c++)
		fprintf(stderr, "  %s\n", e->classes[c]);
	return -EINVAL;
}

void estimates_free(struct estimates *e)
{
	heddle_history_free(&e->again);
	heddle_history_free(&e->history);
	heddle_profile_free(&e->profile);
}

/* The profile of a codelet, or a file. The codelet comes first, and a program is no profile: the
 * one in the current folder often has the same name. */
static int path_find(const char *name, char *path, size_t size)
{
	bool file = strchr(name, '/');
	int error = file ? 0 : heddle_profile_path(name, path, size);

	if (!*name) {
		fprintf(stderr, "heddle: an empty name of a profile\n");
		return -EINVAL;
	}

	if (!file && (error || access(path, F_OK)))
		file = !access(name, F_OK) && access(name, X_OK);
	if (file)
		error = (size_t)snprintf(path, size, "%s", name) < size ? 0 : -ENAMETOOLONG;
	if (!error && access(path, R_OK))
		error = -errno;
	if (error)
		fprintf(stderr, "heddle: no profile %s%s%s: %s\n", name,
		        !file && *path ? ", nor of a codelet of that name: " : "",
		        !file ? path : "", strerror(-error));
	if (error == -ENOENT && !file)
		fprintf(stderr, "Tasks are measured under ddwrr, odds and heddle, or if they "
		                "state parameters, loops with HEDDLE_WARM=1.\n");
	return error;
}

/* Whether a record has times of tasks or of work-groups. */
static bool has_times(const struct estimates *e, const struct heddle_profile_record *record)
{
	const struct heddle_profile_field *us = heddle_profile_record_field(record, "us");

	return us && us->n && !heddle_history_left_out(&e->history, record) &&
	       (!strcmp(record->kind, "task") || !strcmp(record->kind, "kernel"));
}

static bool any_times(const struct estimates *e)
{
	for (size_t r = 0; r < e->profile.n; r++)
		if (has_times(e, e->profile.records[r]))
			return true;
	return false;
}

/* A record, with medians. */
static void record_print(const struct heddle_profile_record *record, FILE *out)
{
	fprintf(out, "%s", record->kind);
	for (unsigned f = 0; f < record->nfields; f++) {
		const struct heddle_profile_field *field = &record->fields[f];

		fprintf(out, "%s %s=", f == record->nwhat ? " :" : "", field->key);
		if (field->n)
			fprintf(out, "%.10g",
			        strcmp(field->key, "at") ? heddle_profile_field_median(field)
			                                 : field->numbers[0]);
		else
			fprintf(out, "\"%s\"", field->text);
	}
	fputc('\n', out);
}

/* Records of tasks that say nothing. */
static void left_out_print(const char *path, const struct estimates *e)
{
	for (size_t r = 0; r < e->profile.n; r++) {
		const struct heddle_profile_record *record = e->profile.records[r];
		const char *why = heddle_history_left_out(&e->history, record);

		if (!why)
			continue;
		fprintf(stderr, "heddle: %s: left out: %s: ", path, why);
		record_print(record, stderr);
	}
}

/* A class that the profile has. */
static int class_find(const char *device, void *arg)
{
	const struct estimates *e = arg;

	for (unsigned c = 0; c < e->nclasses; c++)
		if (!strcmp(e->classes[c], device))
			return c;
	return -1;
}

/* Dimensions and words have the same numbers in both. */
static int same_words(const struct heddle_history *history, struct heddle_history *again)
{
	double value;
	unsigned d;
	int error = 0;

	for (unsigned i = 0; i < history->ndimensions && !error; i++)
		error = heddle_history_dimension(again, history->names[i],
		                                 history->dimensions[i].categorical, &d);
	for (size_t w = 0; w < history->nwords && !error; w++)
		error = heddle_history_word(again, history->words[w], &value);
	return error;
}

/* What `heddle sample` measured of the same jobs again lies beside the profile, if anywhere. */
static int again_read(const char *path, struct estimates *e)
{
	static const char end[] = ".profile";
	size_t length = strlen(path), stem = length - strlen(end);
	struct heddle_profile profile = {0};
	char beside[PATH_MAX];
	int error;

	if (length < strlen(end) || strcmp(path + stem, end) ||
	    (size_t)snprintf(beside, sizeof(beside), "%.*s%s%s", (int)stem, path, ESTIMATE_AGAIN,
	                     end) >= sizeof(beside))
		return 0;
	error = heddle_profile_read(beside, &profile);
	if (!error)
		error = same_words(&e->history, &e->again);
	if (!error)
		error = heddle_history_load(&e->again, &profile, class_find, e);
	heddle_profile_free(&profile);
	return error;
}

int estimates_read(const struct arguments *arguments, bool anything, struct estimates *e)
{
	char path[PATH_MAX] = "";
	int error;

	memset(e, 0, sizeof(*e));
	error = path_find(arguments->profile, path, sizeof(path));
	if (!error)
		error = heddle_profile_read(path, &e->profile);
	if (!error)
		error = heddle_history_load(&e->history, &e->profile, class_make, e);
	if (!error) {
		heddle_history_learn(&e->history);
		left_out_print(path, e);
	}
	if (!error && !e->nclasses && !(anything && e->profile.n)) {
		fprintf(stderr, "heddle: %s: no times of tasks\n", path);
		error = -ENODATA;
	}
	if (!error && e->nclasses)
		error = reference_find(e, arguments->reference);
	if (!error)
		error = again_read(path, e);
	if (error)
		estimates_free(e);
	return error;
}

int estimate_json(json_t *json)
{
	int error = !json || json_dumpf(json, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(10));

	putchar('\n');
	json_decref(json);
	return error;
}

/* ---- show ---- */

static double number_of(const struct heddle_profile_record *record, const char *key)
{
	const struct heddle_profile_field *field = heddle_profile_record_field(record, key);

	return field && field->n ? field->numbers[0] : 0;
}

static const char *device_of(const struct heddle_profile_record *record)
{
	const struct heddle_profile_field *device = heddle_profile_record_field(record, "device");

	return device && !device->n ? device->text : "-";
}

/* The parameters of a record without the device, as NAME=VALUE. */
static void what_print(const struct heddle_profile_record *record, char *text, size_t size)
{
	size_t used = 0;

	*text = 0;
	for (unsigned f = 0; f < record->nwhat && used < size; f++) {
		const struct heddle_profile_field *field = &record->fields[f];

		if (!strcmp(field->key, "device"))
			continue;
		used += field->n
		            ? snprintf(text + used, size - used, "%s=%g ", field->key,
		                       field->numbers[0])
		            : snprintf(text + used, size - used, "%s=%s ", field->key, field->text);
	}
}

static json_t *record_json(const struct heddle_profile_record *record)
{
	const struct heddle_profile_field *us = heddle_profile_record_field(record, "us");
	json_t *params = json_object();

	for (unsigned f = 0; f < record->nwhat; f++) {
		const struct heddle_profile_field *field = &record->fields[f];

		if (strcmp(field->key, "device"))
			json_object_set_new(params, field->key,
			                    field->n ? json_real(field->numbers[0])
			                             : json_string(field->text));
	}
	return json_pack("{s:s, s:o, s:f, s:i, s:f, s:f}", "device", device_of(record), "params",
	                 params, "us", heddle_profile_field_median(us), "runs", us->n, "samples",
	                 number_of(record, "samples"), "at", number_of(record, "at"));
}

/* The rate of a loop's blocks: how long one of them, without iterations, and an iteration take. */
static bool is_rate(const struct heddle_profile_record *record)
{
	const struct heddle_profile_field *pace = heddle_profile_record_field(record, "pace");

	return pace && pace->n && !strcmp(record->kind, "loop");
}

static void rates_print(const struct estimates *e)
{
	char what[240];
	bool any = false;

	for (size_t r = 0; r < e->profile.n; r++) {
		const struct heddle_profile_record *record = e->profile.records[r];
		const struct heddle_profile_field *pace, *start;

		if (!is_rate(record))
			continue;
		if (!any)
			printf("%14s %14s %5s %8s  device, parameters\n", "us/iteration",
			       "+ us/block", "runs", "samples");
		any = true;
		pace = heddle_profile_record_field(record, "pace");
		start = heddle_profile_record_field(record, "start");
		what_print(record, what, sizeof(what));
		printf("%14.6g %14.4g %5u %8.0f  %s %s\n", heddle_profile_field_median(pace),
		       start && start->n ? heddle_profile_field_median(start) : 0, pace->n,
		       number_of(record, "samples"), device_of(record), what);
	}
}

static int show(const struct arguments *arguments, struct estimates *e)
{
	json_t *list = json_array();
	int width = 6; /* "device" */
	char what[240];

	for (unsigned c = 0; c < e->nclasses; c++)
		if ((int)strlen(e->classes[c]) > width)
			width = strlen(e->classes[c]);
	if (!arguments->json && any_times(e))
		printf("%14s %5s %8s  %-*s %s\n", "us", "runs", "samples", width, "device",
		       "parameters");
	for (size_t r = 0; r < e->profile.n; r++) {
		const struct heddle_profile_record *record = e->profile.records[r];
		const struct heddle_profile_field *us = heddle_profile_record_field(record, "us");

		if (!has_times(e, record)) {
			if (!arguments->json && !is_rate(record))
				record_print(record, stdout);
			continue;
		}
		json_array_append_new(list, record_json(record));
		what_print(record, what, sizeof(what));
		if (!arguments->json)
			printf("%14.1f %5u %8.0f  %-*s %s\n", heddle_profile_field_median(us),
			       us->n, number_of(record, "samples"), width, device_of(record), what);
	}
	if (arguments->json)
		return estimate_json(list);
	rates_print(e);
	json_decref(list);
	return 0;
}

/* ---- the command ---- */

static void parse_neighbours(void *data, char *text, struct argp_state *state)
{
	struct arguments *arguments = data;

	arguments->rule.fit = false;
	arguments->rule.k = options_take_number(text, 1, MEAN_MOST, "neighbours", state);
}

static error_t take_arguments(void *data, int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = data;

	if (key == ARGP_KEY_NO_ARGS && !arguments->without)
		argp_error(state, "which profile?");
	if (key != ARGP_KEY_ARGS)
		return ARGP_ERR_UNKNOWN;
	arguments->profile = state->argv[state->next];
	arguments->params = state->argv + state->next + 1;
	arguments->nparams = state->argc - state->next - 1;
	return 0;
}

/* Of cv, predict and show: each has those of the next. */
static const struct option_row options[] = {
    {"folds", "N", "folds (default: 10)", NUMBER(struct arguments, folds, 2, 1000000),
     .letter = 'f'},
    {"seed", "N", "seed that assigns tasks to folds (default: 1)",
     NUMBER(struct arguments, seed, 0, UINT_MAX), .letter = 's'},
    {"csv", "FILE", "Write Table 1 to a file, for heddle plot (-: only it, to standard output)",
     TEXT(struct arguments, csv), .letter = 'c'},
    {"neighbours", "N",
     "predict by the mean of N neighbours; published: 2 (default: by HEDDLE_NEIGHBOURS, a power "
     "law through more of them)",
     PARSED(parse_neighbours), .letter = 'k'},
    {"reference", "DEVICE", "reference of speed-ups (default: the first CPU)",
     TEXT(struct arguments, reference), .letter = 'r'},
    {"json", NULL, "JSON instead of a table", SETS(struct arguments, json, true), .letter = 'j'},
    {0},
};

/* All subcommands take PROFILE. */
#define PROFILES                                                                                   \
	"\vPROFILE is a file, or the name of a codelet with a profile in the folder of profiles "  \
	"(HEDDLE_PROFILE_DIR)."

static const struct verb {
	const char *name;
	int (*run)(const struct arguments *arguments, struct estimates *e);
	const char *args, *doc;
	const struct option_row *options;
} verbs[] = {
    {"cv", estimate_cv, "[PROFILE]",
     "Measures how well a profile predicts itself, by cross-validation. Prints mean errors of "
     "times and of speed-ups over the reference device, and how many times lie in the intervals "
     "that heddle estimate predict prints. Where heddle sample measured, another sampling of the "
     "same jobs is compared, too. Without PROFILE: Table 1 of Teodoro et al., HPDC 2010, for all "
     "codelets of heddle sample." PROFILES,
     options},
    {"predict", estimate_predict, "PROFILE [NAME=VALUE...]",
     "Predicts the times of a task with these parameters on each device." PROFILES, options + 3},
    {"show", show, "PROFILE",
     "Lists the times in a profile: of tasks, and of the blocks of loops." PROFILES, options + 5},
};

#define NVERBS (sizeof(verbs) / sizeof(verbs[0]))

static void usage_print(FILE *out)
{
	fputs("Usage: heddle estimate cv|predict|show [OPTION...] PROFILE [NAME=VALUE...]\n\n"
	      "Prints times of tasks that earlier runs measured, and predictions from them.\n\n"
	      "  cv       errors of predicted speed-ups and times\n"
	      "  predict  times of a task with given parameters on each device\n"
	      "  show     measured times\n\n"
	      "'heddle estimate WHAT --help' tells more.\n",
	      out);
}

static int rule_default(struct heddle_history_rule *rule)
{
	const struct heddle_variable_row *row = &heddle_variable_table[HEDDLE_VARIABLE_NEIGHBOURS];
	const char *text = heddle_variable_text(HEDDLE_VARIABLE_NEIGHBOURS);

	*rule = strcmp(text, "mean") ? HEDDLE_HISTORY_FIT : HEDDLE_HISTORY_PUBLISHED;
	if (heddle_variable_valid(row, text))
		return 0;
	fprintf(stderr, "heddle: %s=%s: not a value (%s)\n", row->name, text, row->unit);
	return -EINVAL;
}

static int verb_run(const struct verb *verb, int argc, char **argv)
{
	struct arguments arguments = {.folds = HEDDLE_CROSS_VALIDATION_FOLDS, .seed = 1};
	struct option_set set = {
	    .rows = verb->options, .data = &arguments, .argument = take_arguments};
	struct estimates estimates;
	char name[64];
	const struct option_program program = {
	    .name = name, .arguments = verb->args, .doc = verb->doc};
	int status;

	snprintf(name, sizeof(name), "heddle estimate %s", verb->name);
	arguments.without = verb->run == estimate_cv;
	if (rule_default(&arguments.rule))
		return ESTIMATE_USAGE;
	options_parse(&program, &set, argc, argv);
	if (arguments.json && arguments.csv && !strcmp(arguments.csv, "-")) {
		fprintf(stderr, "heddle: --json and --csv - both want standard output\n");
		return ESTIMATE_USAGE;
	}
	if (!arguments.profile)
		return estimate_table(&arguments);
	if (arguments.csv) {
		fprintf(stderr, "heddle: --csv is for all codelets, without a profile\n");
		return ESTIMATE_USAGE;
	}
	if (arguments.nparams && verb->run != estimate_predict) {
		fprintf(stderr, "heddle: one profile at a time, please\n");
		return ESTIMATE_USAGE;
	}
	if (estimates_read(&arguments, verb->run == show, &estimates))
		return ESTIMATE_USAGE;
	status = verb->run(&arguments, &estimates);
	estimates_free(&estimates);
	return status ? status : fflush(stdout) || ferror(stdout);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		usage_print(stderr);
		return ESTIMATE_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage_print(stdout);
		return 0;
	}
	for (size_t v = 0; v < NVERBS; v++)
		if (!strcmp(argv[1], verbs[v].name))
			return verb_run(&verbs[v], argc - 1, argv + 1);
	fprintf(stderr, "heddle estimate: \"%s\" is nothing to do\n\n", argv[1]);
	usage_print(stderr);
	return ESTIMATE_USAGE;
}
