/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the files of the app "kernels" share. A job is a kernel with its data; benchmarks.c makes
 * those of the ten kernels with which SKMD was measured, user.c that of a user's own kernel.
 * measure.c launches a job by contenders in turn, plain.c launches it without Heddle, report.c
 * prints the results.
 */
#ifndef APPS_KERNELS_KERNELS_H
#define APPS_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <heddle/kernel.h>

#include "apps/common/app.h"

enum element { CHAR, UCHAR, SHORT, USHORT, INT, UINT, LONG, ULONG, FLOAT, DOUBLE, NELEMENTS };

extern const char *const job_element_names[NELEMENTS]; /**< as OpenCL C calls them */
extern const size_t job_element_sizes[NELEMENTS];

/** An argument of a job's kernel, as far as struct heddle_kernel does not describe it. */
struct job_argument {
	const char *name;
	enum element element; /**< of a buffer, or of the value */
	union {
		int32_t i;
		float f;
		unsigned char bytes[8];
	} value;
	void *fresh;    /**< a buffer that is read and written: its contents before the launch */
	void *expected; /**< a buffer that is written: the expected contents, or NULL */
};

struct benchmark;

/** A kernel and its data. Buffers are memory by heddle_malloc(). */
struct job {
	const struct benchmark *benchmark; /**< NULL: the user's own kernel */
	const char *name;
	size_t size; /**< in the benchmark's unit */
	uint64_t seed;
	struct heddle_kernel kernel;
	struct job_argument arguments[HEDDLE_KERNEL_MAXARGUMENTS];
	size_t items, least; /**< items of the reference, and how many are worth a thread */
	bool inverse;        /**< AES: deciphers */
	bool known;          /**< the expected results are there */
	int status;          /**< of prepare(): 0, or the first error after a message */
};

/* ---- benchmarks.c: the ten kernels with which SKMD was measured ---- */

/** One of the ten kernels. */
struct benchmark {
	const char *name;
	const char *unit;   /**< what the size counts */
	size_t size;        /**< in Table II */
	size_t multiple;    /**< sizes are multiples of this */
	size_t most;        /**< largest size */
	bool square;        /**< the data grows with the square of the size */
	bool inverse;       /**< AES: deciphers */
	size_t groups;      /**< in Table II */
	bool contiguous;    /**< in Table II */
	double tolerance;   /**< largest error, relative to results above 1 */
	const char *source; /**< OpenCL C */
	const char *kernel; /**< its name in it */
	/** Makes arguments, input and NDRange; sets job->status. */
	void (*prepare)(struct job *job);
	/** Computes the expected results of items begin to end - 1.
	 * @param job a struct job @return 0, for app_parallel() */
	double (*reference)(void *job, size_t begin, size_t end);
};

/** In Table II's order; the last one has no name. */
extern const struct benchmark benchmarks[];

/** Finds a kernel by its name in small or capital letters; NULL: there is none. */
const struct benchmark *benchmark_find(const char *name);

/** The size whose data is about `scale` times as large as in Table II. */
size_t benchmark_size(const struct benchmark *benchmark, size_t scale);

/* ---- job.c: arguments of a job ---- */

/** Adds a buffer of n elements as the next argument. @return its memory; NULL: no memory */
void *job_buffer(struct job *job, const char *name, enum starpu_data_access_mode mode,
                 enum element element, size_t n);
/** Adds a buffer with random contents: whole numbers of all bits, real ones from 0 up to 1. */
void job_random(struct job *job, const char *name, enum starpu_data_access_mode mode,
                enum element element, size_t n);
void job_int(struct job *job, const char *name, int value);
void job_local(struct job *job, const char *name, size_t bytes);
/** The NDRange; dimensions beyond the first may be 0. */
void job_range(struct job *job, size_t global0, size_t local0, size_t global1, size_t local1);

static inline const void *job_data(const struct job *job, unsigned argument)
{
	return job->kernel.arguments[argument].pointer;
}

static inline void *job_expected(const struct job *job, unsigned argument)
{
	return job->arguments[argument].expected;
}

/* ---- job.c: jobs ---- */

/** Makes a job of one of the ten kernels. @return 0; -ENOMEM after a message. */
int job_make(const struct benchmark *benchmark, size_t size, uint64_t seed, struct job *job);

/** Frees a job's memory. */
void job_free(struct job *job);

/** Destroys earlier results, and restores buffers that are read and written. */
void job_reset(const struct job *job);

/** Computes the expected results by the reference, once. @return 0; -ENOMEM. */
int job_expect(struct job *job);

/** Allocates the expected results. @return 0; -ENOMEM after a message. */
int job_expected_make(struct job *job);

/** The largest error of the results; infinite where only one of a result and what is expected is a
 * number. */
double job_error(const struct job *job);

/** Bytes that the kernel reads, and that it writes. */
size_t job_bytes_in(const struct job *job), job_bytes_out(const struct job *job);

static inline bool job_is_buffer(const struct job *job, unsigned argument)
{
	return job->kernel.arguments[argument].type == HEDDLE_KERNEL_HOST;
}

static inline bool job_is_output(const struct job *job, unsigned argument)
{
	return job_is_buffer(job, argument) && job->kernel.arguments[argument].mode != STARPU_R;
}

/* ---- command_line.c ---- */

/** A user's own kernel, as the command line describes it. */
struct user {
	const char *file;    /**< OpenCL C; NULL: none */
	const char *options; /**< for the compiler */
	const char *out;     /**< file for its outputs, or NULL */
	unsigned dimensions;
	size_t global[3], local[3], offset[3];
	unsigned nlocal, noffset; /**< numbers of --local and --offset */
	unsigned narguments;
	const char *arguments[HEDDLE_KERNEL_MAXARGUMENTS];
};

struct options {
	const char *name; /**< of a benchmark or of the user's kernel; NULL: all benchmarks */
	size_t size;      /**< 0: not given */
	size_t scale;
	unsigned reps;
	uint64_t seed;
	bool verify, compare, classes, list, keep;
	const char *json, *csv, *sched;
	struct user user;
};

/** Reads the command line; ends the process at a mistake and after --help. */
void command_line_parse(int argc, char **argv, struct options *options);

/* ---- user.c: a user's own kernel ---- */

/** Makes the job of a user's own kernel, and compiles the kernel to check its arguments.
 * StarPU must run.
 * @param[out] source to be freed after the job
 * @return 0; -EINVAL and the like after a message with file or argument. */
int user_make(const char *name, const struct user *user, uint64_t seed, struct job *job,
              char **source);

/** Prints checksum, least and largest value of each output, and writes the outputs to --out.
 * @param out where to print; NULL: nowhere
 * @return 0; -errno after a message. */
int user_results(const struct user *user, const struct job *job, FILE *out);

/* ---- plain.c: OpenCL without Heddle ---- */

struct plain;

/** Compiles a kernel for the device of a worker, as a program does that uses one device. A CPU
 * uses the arrays in place.
 * @return 0; -EINVAL after a message: it does not compile, or the source lacks it; -ENOMEM */
int plain_make(const struct job *job, int worker, struct plain **plain);

/** Checks that the compiled kernel takes a job's arguments and groups.
 * @return 0; -EINVAL after a message that names the argument */
int plain_check(const struct plain *plain, const struct job *job);

/** Sends the data, computes all groups, and fetches the outputs; maps them where the device
 * computes in main memory.
 * @return 0; -EIO after a message */
int plain_run(struct plain *plain, const struct job *job);

/** Unmaps the outputs. The time of a launch does not include this.
 * @return 0; -EIO after a message */
int plain_leave(struct plain *plain, const struct job *job);

void plain_free(struct plain *plain);

/* ---- measure.c ---- */

/** One way to compute all groups of a kernel. */
struct contender {
	char name[96];
	enum { BY_POLICY, SHARED, ALONE, PLAIN } mode;
	const char *method;  /**< of a split launch */
	char options[4096];  /**< for the compiler */
	int worker;          /**< of ALONE and PLAIN */
	struct plain *plain; /**< of PLAIN */
	unsigned n;          /**< it took part in the first n repetitions */
	double *us;          /**< the time of each */
	struct heddle_kernel_stats *stats;
	double max_error; /**< of all repetitions */
	bool rests;       /**< takes part in no further repetition */
};

/** A contender that takes HOPELESS times as long as the fastest one rests after HOPELESS_REPS
 * repetitions. The first contender never rests. */
#define HOPELESS 10
enum { HOPELESS_REPS = 4 };

/** The first NSHARED contenders of a comparison split the kernel. */
#define NSHARED 4
#define MAXCONTENDERS (NSHARED + 2 * 16)

/** Everything about one kernel. */
struct result {
	struct job job;
	double analysis_us; /**< time to find out which bytes the kernel accesses */
	const char *refusal;
	struct heddle_kernel_access accesses[HEDDLE_KERNEL_MAXARGUMENTS];
	unsigned ncontenders, reps;
	struct contender contenders[MAXCONTENDERS];
	bool verified, right;
	double tolerance;
};

/** Launches result->job as the options say.
 * @return 0; -errno after a message. */
int measure_run(const struct options *options, struct result *result);

/** Frees a result and its job. */
void measure_free(struct result *result);

/** The repetition whose time is the median; the first of several repetitions does not count. */
unsigned measure_median(const struct contender *contender);

double measure_median_us(const struct contender *contender);

/** How much faster a contender is than the best of those that use one device, found and compared
 * in different repetitions (apps/common/sweep.h); of fewer than five repetitions, the ratio of
 * their medians. NAN: no contender uses one device. */
double measure_gain(const struct result *result, unsigned contender);

/* ---- report.c ---- */

/** Prints the ten kernels and their sizes. */
void report_list(FILE *out);
/** Prints what was measured of a kernel. @param first it is the first kernel */
void report_kernel(const struct options *options, const struct result *result, bool first,
                   FILE *out);
/** Prints the mean gains of a comparison, and the overhead of launches. */
void report_comparison(struct result *const *results, unsigned n, FILE *out);
/** Writes --json and --csv. @return 0; -errno after a message. */
int report_write(const struct options *options, struct result *const *results, unsigned n);

#endif
