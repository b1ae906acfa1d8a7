/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the app's files share: the command line, and what was measured.
 */
#ifndef APPS_KERNELS_KERNELS_H
#define APPS_KERNELS_KERNELS_H

#include <stdio.h>

#include "apps/common/app.h"
#include "apps/kernels/benchmark.h"

/** A user's own kernel, as the command line has it. */
struct user {
	const char *file;    /**< OpenCL C; NULL: none */
	const char *options; /**< for the compiler */
	const char *out;     /**< where its outputs go, or NULL */
	unsigned dimensions;
	size_t global[3], local[3];
	unsigned nlocal; /**< numbers of --local */
	unsigned narguments;
	const char *arguments[HEDDLE_KERNEL_MAXARGUMENTS];
};

struct options {
	const char *name; /**< of a benchmark or of the user's kernel; NULL: all benchmarks */
	size_t size;      /**< 0: not given */
	size_t scale;
	unsigned reps;
	uint64_t seed;
	bool verify, compare, classes, list;
	const char *json, *csv, *sched;
	struct user user;
};

/** Reads the command line; ends the process at a mistake and after --help. */
void options_parse(int argc, char **argv, struct options *options);

/** Makes the job of a user's own kernel, which is compiled to see whether the arguments are
 * its own. After starpu_init().
 * @param[out] source to be freed after the job
 * @return 0; -EINVAL and the like after a message with file or argument. */
int user_make(const char *name, const struct user *user, uint64_t seed, struct job *job,
              char **source);

/** Prints what came out: checksum, least and largest of each output.
 * Writes the outputs one after the other to --out. @return 0; -errno after a message. */
int user_results(const struct user *user, const struct job *job, FILE *out);

/* ---- OpenCL without Heddle ---- */

struct plain;

/** A kernel compiled for the device of a worker, and memory for its data there: what a program
 * would have that uses one device. On a CPU the arrays are used in place.
 * @return 0; -EINVAL where it does not compile or is not there, after a message; -ENOMEM */
int plain_make(const struct job *job, int worker, struct plain **plain);

/** Compares a job's arguments and groups with what the compiled kernel takes.
 * @return 0; -EINVAL after a message that names the argument */
int plain_check(const struct plain *plain, const struct job *job);

/** Sends the data, computes all groups and fetches what was written, or maps it where the device
 * computes in main memory.
 * @return 0; -EIO after a message */
int plain_run(struct plain *plain, const struct job *job);

/** What was written has been looked at: unmaps it. That is no part of what a launch takes.
 * @return 0; -EIO after a message */
int plain_leave(struct plain *plain, const struct job *job);

void plain_free(struct plain *plain);

/* ---- measuring ---- */

/** Who computes all groups of a kernel, and how. */
struct contender {
	char name[96];
	enum { BY_POLICY, SHARED, ALONE, PLAIN } way;
	const char *method;  /**< of sharing */
	char options[4096];  /**< for the compiler */
	int worker;          /**< of ALONE and PLAIN */
	struct plain *plain; /**< of PLAIN */
	unsigned n;          /**< repetitions that it took part in, the first ones */
	double *us;          /**< of each of them */
	struct heddle_kernel_stats *stats;
	double max_error; /**< of all repetitions */
	bool rests;       /**< from now on */
};

/** A contender that has taken so many times as long as the fastest in so many repetitions takes
 * part in no more of them; the first one always does. */
#define HOPELESS 10
enum { HOPELESS_REPS = 40 };

/** Contenders of a comparison that share: the first ones. */
#define NSHARED 3
#define MAXCONTENDERS (NSHARED + 2 * 16)

/** Everything about one kernel. */
struct result {
	struct job job;
	double analysis_us; /**< until it was known what the kernel touches */
	const char *refusal;
	struct heddle_kernel_access accesses[HEDDLE_KERNEL_MAXARGUMENTS];
	unsigned ncontenders, reps;
	struct contender contenders[MAXCONTENDERS];
	bool verified, right;
	double tolerance;
};

/** Launches the job of a result as the options say; result->job is made already.
 * @return 0; -errno after a message. */
int measure(const struct options *options, struct result *result);

/** Frees what measure() made and the job. */
void result_free(struct result *result);

/** The repetition whose time is the median, the first one aside where there are several. */
unsigned median_of(const struct result *result, const struct contender *contender);

double median_us(const struct result *result, const struct contender *contender);

/** How much faster one of the contenders that share is than the best of those that use one
 * device, found and compared in different repetitions (apps/common/sweep.h); with fewer than
 * five of them, by their medians. NAN: there is none that uses one device. */
double gain(const struct result *result, unsigned contender);

/* ---- reports ---- */

void print_list(FILE *out);
void print_classes(const struct result *result, FILE *out);
void print_result(const struct options *options, const struct result *result, FILE *out);
/** A line of the comparison; a heading before the first. */
void print_compared(const struct result *result, bool first, FILE *out);
/** The mean gains over the kernels. */
void print_mean(struct result *const *results, unsigned n, FILE *out);
/** What launches cost beside computing. */
void print_overhead(struct result *const *results, unsigned n, FILE *out);
/** --json and --csv. @return 0; -errno after a message. */
int write_reports(const struct options *options, struct result *const *results, unsigned n);

#endif
