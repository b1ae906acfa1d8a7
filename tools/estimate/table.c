/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Table 1 of Teodoro et al., HPDC 2010, for the codelets that `heddle sample` knows.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "estimator/profile_file.h"
#include "tools/common/cross_validation.h"
#include "tools/estimate/estimate.h"

/* The codelets, and the paper's errors in percent; not a number: the paper has not got it. */
static const struct row {
	const char *name;
	double speedup, time;
} rows[] = {
    {"blackscholes", 2.53196, 70.5005},
    {"nbody", 7.34924, 11.5763},
    {"heart", 13.7902, 41.9759},
    {"knn", 8.76774, 21.1858},
    {"eclat", 11.3244, 102.6155},
    {"nbia", 7.3812, 30.3574},
    {"boxfilter", NAN, NAN},
    {"histogram", NAN, NAN},
};

#define NROWS (sizeof(rows) / sizeof(rows[0]))

/* What is compared: the published rule, the fit, and another sampling. */
enum { PUBLISHED, FIT, AGAIN, NCOLUMNS };
static const char *const columns[] = {"published", "fit", "again"};

struct errors {
	double speedup[NCOLUMNS], time[NCOLUMNS]; /* parts of 1; not a number: not known */
	size_t jobs;
};

static int errors_find(const struct arguments *arguments, const struct estimates *e, unsigned class,
                       struct errors *errors)
{
	static const struct heddle_history_rule rules[] = {HEDDLE_HISTORY_PUBLISHED,
	                                                   HEDDLE_HISTORY_FIT};
	struct heddle_cross_validation cv;

	for (int i = PUBLISHED; i <= FIT; i++) {
		int error =
		    heddle_cross_validation_run(&e->history, class, e->reference, arguments->folds,
		                                rules[i], arguments->seed, &cv);

		if (error)
			return error;
		errors->speedup[i] = cv.speedup;
		errors->time[i] = cv.reference;
		errors->jobs = cv.jobs;
	}
	errors->speedup[AGAIN] = errors->time[AGAIN] = NAN;
	if (!heddle_cross_validation_again(&e->history, &e->again, class, e->reference, &cv)) {
		errors->speedup[AGAIN] = cv.speedup;
		errors->time[AGAIN] = cv.reference;
	}
	return 0;
}

/* ---- output ---- */

static void number_print(double percent)
{
	if (isnan(percent))
		printf(" %9s", "-");
	else
		printf(" %9.1f", percent);
}

static void errors_print(double paper, const double *errors)
{
	number_print(paper);
	for (int i = 0; i < NCOLUMNS; i++)
		number_print(100 * errors[i]);
	printf("  ");
}

static void errors_csv(double paper, const double *errors, FILE *csv)
{
	fprintf(csv, isnan(paper) ? "," : ",%g", paper);
	for (int i = 0; i < NCOLUMNS; i++)
		fprintf(csv, isnan(errors[i]) ? "," : ",%.4g", 100 * errors[i]);
}

static json_t *number_json(double number)
{
	return isnan(number) ? json_null() : json_real(number);
}

static json_t *errors_json(double paper, const double *errors)
{
	json_t *json = json_object();

	json_object_set_new(json, "paper", number_json(paper / 100));
	for (int i = 0; i < NCOLUMNS; i++)
		json_object_set_new(json, columns[i], number_json(errors[i]));
	return json;
}

static void head_print(void)
{
	printf("Mean errors in percent. Published, fit: by the mean of 2 neighbours and by a power "
	       "law.\nAgain: another sampling of the same jobs. Paper: Teodoro et al., HPDC 2010, "
	       "Table 1.\n\n%-13s %-40s   %-40s\n%-13s",
	       "", "  error of the speed-up", "  error of the core's time", "codelet");
	for (int i = 0; i < 2; i++)
		printf(" %9s %9s %9s %9s  ", "paper", columns[0], columns[1], columns[2]);
	printf("%5s  device\n", "jobs");
}

static void row_print(const struct arguments *arguments, const struct row *row, const char *device,
                      const struct errors *errors, json_t *list, FILE *csv)
{
	json_array_append_new(
	    list, json_pack("{s:s, s:s, s:i, s:o, s:o}", "codelet", row->name, "device", device,
	                    "jobs", (int)errors->jobs, "speedup_error",
	                    errors_json(row->speedup, errors->speedup), "reference_time_error",
	                    errors_json(row->time, errors->time)));
	if (csv) {
		fprintf(csv, "%s,%s,%zu", row->name, device, errors->jobs);
		errors_csv(row->speedup, errors->speedup, csv);
		errors_csv(row->time, errors->time, csv);
		fputc('\n', csv);
	}
	if (arguments->json || csv == stdout)
		return;
	if (json_array_size(list) == 1)
		head_print();
	printf("%-13s", row->name);
	errors_print(row->speedup, errors->speedup);
	errors_print(row->time, errors->time);
	printf("%5zu  %s\n", errors->jobs, device);
}

/* ---- all codelets ---- */

static bool has_profile(const char *name)
{
	char path[4096];

	return !heddle_profile_path(name, path, sizeof(path)) && !access(path, R_OK);
}

/* @return how many devices it has errors of */
static unsigned row_make(const struct arguments *all, const struct row *row, json_t *list,
                         FILE *csv)
{
	struct arguments arguments = *all;
	struct estimates e;
	unsigned done = 0;

	arguments.profile = row->name;
	if (!has_profile(row->name) || estimates_read(&arguments, false, &e))
		return 0;
	for (unsigned c = 0; c < e.nclasses; c++) {
		struct errors errors;

		if (c == e.reference || errors_find(&arguments, &e, c, &errors))
			continue;
		row_print(&arguments, row, e.classes[c], &errors, list, csv);
		done++;
	}
	estimates_free(&e);
	return done;
}

/* @return NULL after a message */
static FILE *csv_open(const char *path)
{
	FILE *csv = strcmp(path, "-") ? fopen(path, "w") : stdout;

	if (csv)
		fputs(
		    "codelet,device,jobs,speedup_paper,speedup_published,speedup_fit,speedup_again,"
		    "core_paper,core_published,core_fit,core_again\n",
		    csv);
	else
		fprintf(stderr, "heddle: --csv \"%s\": %s\n", path, strerror(errno));
	return csv;
}

static int csv_close(const char *path, FILE *csv)
{
	bool failed = ferror(csv);

	if ((csv == stdout ? fflush(csv) : fclose(csv)) || failed) {
		fprintf(stderr, "heddle: %s: not all could be written\n", path);
		return 1;
	}
	return 0;
}

int estimate_table(const struct arguments *arguments)
{
	FILE *csv = NULL;
	json_t *list = json_array();
	unsigned done = 0;
	int error = 0;

	if (arguments->csv && !(csv = csv_open(arguments->csv)))
		error = 1;
	for (size_t r = 0; r < NROWS && !error; r++)
		done += row_make(arguments, &rows[r], list, csv);
	if (csv)
		error = csv_close(arguments->csv, csv);
	if (!done && !error)
		fprintf(stderr, "heddle: no codelet has times of two tasks on two devices; `heddle "
		                "sample all` measures them\n");
	if (arguments->json)
		error |= estimate_json(list);
	else
		json_decref(list);
	return error || !done;
}
