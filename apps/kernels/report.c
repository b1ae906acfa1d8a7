/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tables, JSON and CSV of what was measured.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include <starpu.h>

#include "apps/common/file.h"
#include "apps/common/sweep.h"
#include "apps/kernels/kernels.h"

/* ---- tables ---- */

void report_list(FILE *out)
{
	fprintf(out, "%-21s %-16s %9s %12s %9s %7s\n", "kernel", "size counts", "paper's",
	        "multiple of", "up to", "groups");
	for (const struct benchmark *b = benchmarks; b->name; b++)
		fprintf(out, "%-21s %-16s %9zu %12zu %9zu %7zu\n", b->name, b->unit, b->size,
		        b->multiple, b->most, b->groups);
}

static void print_classes(const struct result *result, FILE *out)
{
	const struct job *job = &result->job;

	fprintf(out, "%s: accesses of its groups%s%s\n", job->name,
	        result->refusal ? ", one device: " : "", result->refusal ? result->refusal : "");
	for (unsigned a = 0; a < job->kernel.narguments; a++)
		if (job_is_buffer(job, a))
			fprintf(out, "  %-20s %12zu bytes  read %-10s  written %s\n",
			        job->arguments[a].name, job->kernel.arguments[a].bytes,
			        result->accesses[a].read, result->accesses[a].write);
}

/* The tables show the median launch of the first contender. */
static const struct heddle_kernel_stats *shown_stats(const struct result *result)
{
	const struct contender *contender = &result->contenders[0];

	return &contender->stats[measure_median(contender)];
}

static void print_repetitions(const struct result *result, FILE *out)
{
	const struct contender *contender = &result->contenders[0];

	for (unsigned r = 0; r < result->reps; r++) {
		const struct heddle_kernel_stats *stats = &contender->stats[r];

		fprintf(out, "  repetition %u: %.1f us", r + 1, contender->us[r]);
		if (stats->profile_us > 0)
			fprintf(out, ", of it dry run %.1f us", stats->profile_us);
		if (stats->predicted_us > 0)
			fprintf(out, ", predicted %.1f us, decided in %.1f us", stats->predicted_us,
			        stats->decision_us);
		fputs(r == measure_median(contender) ? " (its workers follow)\n" : "\n", out);
	}
}

static void print_result(const struct result *result, FILE *out)
{
	const struct heddle_kernel_stats *stats = shown_stats(result);

	fprintf(out, "%s: %zu groups, %zu bytes in, %zu bytes out, policy %s\n", result->job.name,
	        stats->groups, job_bytes_in(&result->job), job_bytes_out(&result->job),
	        app_policy_name());
	print_repetitions(result, out);
	fprintf(out, "  %-4s %8s %11s %11s %11s %11s %12s %12s  %s\n", "id", "groups", "start us",
	        "in us", "compute us", "out us", "bytes in", "bytes out", "name");
	for (unsigned w = 0; w < stats->nworkers; w++) {
		const struct heddle_kernel_worker_stats *worker = &stats->workers[w];

		fprintf(out, "  %-4d %8zu %11.1f %11.1f %11.1f %11.1f %12zu %12zu  %s\n",
		        worker->id, worker->groups, worker->start_us, worker->in_us,
		        worker->compute_us, worker->out_us, worker->in_bytes, worker->out_bytes,
		        worker->name);
	}
	fprintf(out, "  analysis %.1f us\n", result->analysis_us);
	if (result->verified)
		fprintf(out, "  %s: largest error %.3g, allowed %.3g\n",
		        result->right ? "verified" : "WRONG", result->contenders[0].max_error,
		        result->tolerance);
}

/* ---- comparison ---- */

/* "3:97" for the groups of each worker in percent. */
static void shares_print(const struct result *result, FILE *out)
{
	const struct heddle_kernel_stats *stats = shown_stats(result);
	int ids[STARPU_NMAXWORKERS];
	int n = starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, ids, STARPU_NMAXWORKERS);

	for (int i = 0; i < n; i++) {
		size_t groups = 0;

		for (unsigned w = 0; w < stats->nworkers; w++)
			if (stats->workers[w].id == ids[i])
				groups += stats->workers[w].groups;
		fprintf(out, "%s%.1f", i ? ":" : " ", 100.0 * groups / stats->groups);
	}
}

static void print_heading(const struct result *result, FILE *out)
{
	fprintf(out,
	        "Median times in microseconds of %u repetitions after the first; gains over the\n"
	        "best device alone, found and compared in different repetitions. A contender %d "
	        "times as\n"
	        "slow as the fastest takes part in %d repetitions only.\n",
	        result->reps - (result->reps > 1), HOPELESS, HOPELESS_REPS);
	for (unsigned c = NSHARED; c < result->ncontenders; c++)
		fprintf(out, "  %c%d: %s\n", (c - NSHARED) % 2 ? 'P' : 'A', (c - NSHARED) / 2,
		        result->contenders[c].name);
	fprintf(out, "%-21s %7s", "kernel", "groups");
	for (unsigned c = 0; c < result->ncontenders; c++)
		if (c < NSHARED)
			fprintf(out, " %9s", result->contenders[c].name);
		else
			fprintf(out, " %8c%d", (c - NSHARED) % 2 ? 'P' : 'A', (c - NSHARED) / 2);
	fprintf(out, " %7s", "gain");
	for (unsigned c = 1; c < NSHARED; c++)
		fprintf(out, " %9s", result->contenders[c].name);
	fputs("  shares %\n", out);
}

static void print_compared(const struct result *result, bool first, FILE *out)
{
	if (first)
		print_heading(result, out);
	fprintf(out, "%-21s %7zu", result->job.name, shown_stats(result)->groups);
	for (unsigned c = 0; c < result->ncontenders; c++)
		fprintf(out, " %9.0f", measure_median_us(&result->contenders[c]));
	for (unsigned c = 0; c < NSHARED; c++)
		fprintf(out, " %*.3f", c ? 9 : 7, measure_gain(result, c));
	shares_print(result, out);
	fputs(result->verified ? result->right ? "  verified\n" : "  WRONG\n" : "\n", out);
	fflush(out);
}

static void print_mean(struct result *const *results, unsigned n, FILE *out)
{
	double sums[NSHARED] = {0};

	for (unsigned k = 0; k < n; k++)
		for (unsigned c = 0; c < NSHARED; c++)
			sums[c] += measure_gain(results[k], c);
	fputs("mean gain over the best device:", out);
	for (unsigned c = 0; c < NSHARED; c++)
		fprintf(out, "%s %s %.3f", c ? "," : "", results[0]->contenders[c].name,
		        sums[c] / n);
	fputs(" (the paper measured 1.29)\n", out);
}

/* ---- overhead ---- */

/* The time of a launch beyond that of its parts: medians of the repetitions after the first. */
struct overhead {
	double queue_us, decision_us, start_us, merge_us, rest_us;
};

static struct overhead overhead_of(const struct contender *contender, unsigned rep)
{
	const struct heddle_kernel_stats *stats = &contender->stats[rep];
	struct overhead overhead = {.queue_us = stats->queue_us, .decision_us = stats->decision_us};
	double busy_us = 0;

	for (unsigned w = 0; w < stats->nworkers; w++) {
		const struct heddle_kernel_worker_stats *worker = &stats->workers[w];
		double us = worker->in_us + worker->compute_us + worker->out_us;

		busy_us = fmax(busy_us, worker->start_us + us);
		overhead.start_us = fmax(overhead.start_us, worker->start_us);
		overhead.merge_us += worker->merge_us;
	}
	overhead.rest_us = contender->us[rep] - stats->queue_us - busy_us;
	return overhead;
}

/* Medians of each number. */
static struct overhead overhead_median(const struct result *result,
                                       const struct contender *contender)
{
	enum { NUMBERS = sizeof(struct overhead) / sizeof(double) };
	unsigned first = result->reps > 1, n = result->reps - first;
	union {
		struct overhead overhead;
		double numbers[NUMBERS];
	} one, middle;
	double *column = calloc(n, sizeof(*column));

	middle.overhead = overhead_of(contender, first);
	for (unsigned i = 0; i < NUMBERS && column; i++) {
		for (unsigned r = 0; r < n; r++) {
			one.overhead = overhead_of(contender, first + r);
			column[r] = one.numbers[i];
		}
		middle.numbers[i] = sweep_median(column, n);
	}
	free(column);
	return middle.overhead;
}

static void print_overhead(struct result *const *results, unsigned n, FILE *out)
{
	fprintf(out, "What a launch by skmd costs beside computing, microseconds. Once: analysis. "
	             "Medians\nper launch: until it begins; the decision; until its last part "
	             "begins (the decision\ncounted in); merging; from its last part's end until "
	             "the caller knows.\n");
	fprintf(out, "%-21s %9s %9s %9s %9s %9s %9s %10s\n", "kernel", "analysis", "queue",
	        "decision", "start", "merge", "end", "launch");
	for (unsigned k = 0; k < n; k++) {
		const struct contender *contender = &results[k]->contenders[0];
		struct overhead overhead = overhead_median(results[k], contender);

		fprintf(out, "%-21s %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f %10.1f\n",
		        results[k]->job.name, results[k]->analysis_us, overhead.queue_us,
		        overhead.decision_us, overhead.start_us, overhead.merge_us,
		        overhead.rest_us, measure_median_us(contender));
	}
}

void report_kernel(const struct options *options, const struct result *result, bool first,
                   FILE *out)
{
	if (options->classes)
		print_classes(result, out);
	if (options->compare)
		print_compared(result, first, out);
	else
		print_result(result, out);
}

void report_comparison(struct result *const *results, unsigned n, FILE *out)
{
	print_mean(results, n, out);
	print_overhead(results, n, out);
}

/* ---- JSON ---- */

/* JSON has no infinity: about the largest double stands for it. */
static json_t *real(double value)
{
	return json_real(isfinite(value) ? value : HUGE_VAL > value ? -1.7e308 : 1.7e308);
}

static json_t *worker_json(const struct heddle_kernel_worker_stats *worker)
{
	double busy_us = worker->in_us + worker->compute_us + worker->out_us;

	return json_pack(
	    "{si ss ss sI si sf sf sf sf sf sf sf sI sI sI}", "id", worker->id, "kind", "opencl",
	    "name", worker->name, "iterations", (json_int_t)worker->groups, "blocks", 1, "busy_us",
	    busy_us, "finish_us", worker->start_us + busy_us, "start_us", worker->start_us, "in_us",
	    worker->in_us, "compute_us", worker->compute_us, "out_us", worker->out_us, "merge_us",
	    worker->merge_us, "in_bytes", (json_int_t)worker->in_bytes, "kept_bytes",
	    (json_int_t)worker->kept_bytes, "out_bytes", (json_int_t)worker->out_bytes);
}

static json_t *workers_json(const struct heddle_kernel_stats *stats)
{
	json_t *list = json_array();

	for (unsigned w = 0; w < stats->nworkers; w++)
		json_array_append_new(list, worker_json(&stats->workers[w]));
	return list;
}

static json_t *times_json(const struct contender *contender)
{
	json_t *list = json_array();

	for (unsigned r = 0; r < contender->n; r++)
		json_array_append_new(list, real(contender->us[r]));
	return list;
}

static json_t *classes_json(const struct result *result)
{
	json_t *list = json_array();

	for (unsigned a = 0; a < result->job.kernel.narguments; a++)
		if (job_is_buffer(&result->job, a))
			json_array_append_new(
			    list, json_pack("{ss ss ss sI}", "name", result->job.arguments[a].name,
			                    "read", result->accesses[a].read, "written",
			                    result->accesses[a].write, "bytes",
			                    (json_int_t)result->job.kernel.arguments[a].bytes));
	return list;
}

static json_t *contender_json(const struct result *result, const struct contender *contender)
{
	const struct heddle_kernel_stats *stats = &contender->stats[measure_median(contender)];

	return json_pack("{ss so sf sf sf sf sf so}", "name", contender->name, "us",
	                 times_json(contender), "median_us", measure_median_us(contender),
	                 "predicted_us", stats->predicted_us, "decision_us", stats->decision_us,
	                 "queue_us", stats->queue_us, "launch_us", stats->us, "workers",
	                 workers_json(stats));
}

static json_t *contenders_json(const struct result *result)
{
	json_t *list = json_array();

	for (unsigned c = 0; c < result->ncontenders; c++)
		json_array_append_new(list, contender_json(result, &result->contenders[c]));
	return list;
}

static json_t *result_json(const struct result *result)
{
	const struct contender *first = &result->contenders[0];
	const struct heddle_kernel_stats *stats = shown_stats(result);
	double largest = 0;
	char starpu[32];
	int major, minor, release;
	json_t *json;

	starpu_get_version(&major, &minor, &release);
	snprintf(starpu, sizeof(starpu), "%d.%d.%d", major, minor, release);
	for (unsigned c = 0; c < result->ncontenders; c++)
		largest = fmax(largest, result->contenders[c].max_error);
	json = json_pack("{ss ss sI sI ss ss ss so so so so sf sf sf sf sf so}", "app", "kernels",
	                 "kernel", result->job.name, "n", (json_int_t)stats->groups, "size",
	                 (json_int_t)result->job.size, "sched", app_policy_name(), "strategy",
	                 first->method ? first->method : first->name, "starpu", starpu, "us",
	                 times_json(first), "verified",
	                 result->verified ? json_boolean(result->right) : json_null(), "max_error",
	                 result->verified ? real(largest) : json_null(), "workers",
	                 workers_json(stats), "learning_us", first->stats[0].profile_us,
	                 "overhead_us", result->analysis_us + stats->decision_us, "analysis_us",
	                 result->analysis_us, "decision_us", stats->decision_us, "predicted_us",
	                 stats->predicted_us, "buffers", classes_json(result));
	if (json && result->ncontenders > 1)
		json_object_set_new(json, "contenders", contenders_json(result));
	return json;
}

/* One kernel gives an object, as in every app, several a list. */
static int write_json(const char *path, struct result *const *results, unsigned n)
{
	json_t *list;

	if (n == 1)
		return app_json_write(path, result_json(results[0]));
	list = json_array();
	for (unsigned k = 0; k < n; k++)
		json_array_append_new(list, result_json(results[k]));
	return app_json_write(path, list);
}

/* ---- CSV: a line for each worker of each contender's median launch ---- */

static void result_csv(const struct result *result, FILE *file)
{
	for (unsigned c = 0; c < result->ncontenders; c++) {
		const struct contender *contender = &result->contenders[c];
		const struct heddle_kernel_stats *stats =
		    &contender->stats[measure_median(contender)];
		static const char *const groups[] = {"policy", "shared", "alone", "plain"};

		if (!stats->nworkers)
			fprintf(file, "%s,%s,%s,%.3f,%d,,0,0,0,0,0\n", result->job.name,
			        contender->name, groups[contender->mode],
			        measure_median_us(contender), contender->worker);
		for (unsigned w = 0; w < stats->nworkers; w++) {
			const struct heddle_kernel_worker_stats *worker = &stats->workers[w];

			fprintf(file, "%s,%s,%s,%.3f,%d,%s,%zu,%.3f,%.3f,%.3f,%.3f\n",
			        result->job.name, contender->name, groups[contender->mode],
			        measure_median_us(contender), worker->id, worker->name,
			        worker->groups, worker->start_us, worker->in_us, worker->compute_us,
			        worker->out_us);
		}
	}
}

static int write_csv(const char *path, struct result *const *results, unsigned n)
{
	FILE *file;
	int status = file_create(path, &file);

	if (status)
		return status;
	fputs("kernel,contender,group,median_us,worker,name,groups,start_us,in_us,compute_us,"
	      "out_us\n",
	      file);
	for (unsigned k = 0; k < n; k++)
		result_csv(results[k], file);
	return file_finish(path, file);
}

int report_write(const struct options *options, struct result *const *results, unsigned n)
{
	int status = 0;

	if (options->json)
		status = write_json(options->json, results, n);
	if (!status && options->csv)
		status = write_csv(options->csv, results, n);
	return status;
}
