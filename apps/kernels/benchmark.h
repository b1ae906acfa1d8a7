/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A kernel with its data, and what is known of the ten kernels with which SKMD was measured
 * (J. Lee, M. Samadi, Y. Park and S. Mahlke, PACT 2013, Table II): how their input is made
 * and what comes out. Start with struct benchmark; benchmarks[] has them all.
 */
#ifndef APPS_KERNELS_BENCHMARK_H
#define APPS_KERNELS_BENCHMARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <heddle/kernel.h>

enum element { CHAR, UCHAR, SHORT, USHORT, INT, UINT, LONG, ULONG, FLOAT, DOUBLE, NELEMENTS };

extern const char *const element_names[NELEMENTS]; /**< as OpenCL C calls them */
extern const size_t element_sizes[NELEMENTS];

/** What a job knows of an argument of its kernel, beyond what heddle_kernel knows. */
struct job_argument {
	const char *name;
	enum element element; /**< of a buffer, or of the value */
	union {
		int32_t i;
		float f;
		unsigned char bytes[8];
	} value;
	void *fresh;    /**< of a buffer that is read and written: its contents before */
	void *expected; /**< of one that is written: the reference's, once it has been asked */
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
	size_t items, least; /**< of the reference, and how many are worth a thread */
	bool inverse;        /**< of AES: deciphering */
	bool known;          /**< the reference has been asked */
	int status;          /**< of what prepares it: 0 or the first error, after a message */
};

/** One of the ten. */
struct benchmark {
	const char *name;
	const char *unit;   /**< what its size counts */
	size_t size;        /**< Table II's */
	size_t multiple;    /**< of which sizes are multiples */
	size_t most;        /**< largest size */
	bool square;        /**< the data grows with the square of the size */
	bool inverse;       /**< of two benchmarks that differ in this */
	size_t groups;      /**< Table II's */
	double tolerance;   /**< largest error, relative to results above 1 */
	const char *source; /**< OpenCL C */
	const char *kernel; /**< its name in it */
	/** Makes arguments, input and NDRange. Errors are left in job->status. */
	void (*prepare)(struct job *job);
	/** Computes items begin to end - 1 of what is expected, with job_expected(); the data
	 * is a struct job. @return 0 (app_parallel() wants a number) */
	double (*reference)(void *job, size_t begin, size_t end);
};

extern const struct benchmark benchmark_aes_encrypt, benchmark_aes_decrypt, benchmark_binomial,
    benchmark_black_scholes, benchmark_histogram, benchmark_matrix_multiplication,
    benchmark_matrix_transpose, benchmark_quasi_random, benchmark_reduction, benchmark_scan,
    benchmark_vector_add;

/** In Table II's order, NULL after the last. */
extern const struct benchmark *const benchmarks[];

/** The one of that name, in any mixture of small and capital letters; NULL. */
const struct benchmark *benchmark_find(const char *name);

/** A size of about `scale` times Table II's data. */
size_t benchmark_size(const struct benchmark *benchmark, size_t scale);

/* ---- for prepare() ---- */

/** The next argument: a buffer of that many elements. @return its memory; NULL: no memory */
void *job_buffer(struct job *job, const char *name, enum starpu_data_access_mode mode,
                 enum element element, size_t n);
/** job_buffer() of random contents: whole numbers of all bits, real ones from 0 up to 1. */
void job_random(struct job *job, const char *name, enum starpu_data_access_mode mode,
                enum element element, size_t n);
void job_int(struct job *job, const char *name, int value);
void job_local(struct job *job, const char *name, size_t bytes);
/** The NDRange; dimensions beyond the first may be 0. */
void job_range(struct job *job, size_t global0, size_t local0, size_t global1, size_t local1);

/* ---- for reference() ---- */

static inline const void *job_data(const struct job *job, unsigned argument)
{
	return job->kernel.arguments[argument].pointer;
}

static inline void *job_expected(const struct job *job, unsigned argument)
{
	return job->arguments[argument].expected;
}

/* ---- for everybody else ---- */

/** Makes a job of one of the ten. @return 0; -ENOMEM after a message. */
int job_make(const struct benchmark *benchmark, size_t size, uint64_t seed, struct job *job);

/** Frees its memory. */
void job_free(struct job *job);

/** Destroys earlier results, and puts back what was overwritten. */
void job_reset(const struct job *job);

/** Fills what is expected by the reference, unless it is there. @return 0; -ENOMEM. */
int job_expect(struct job *job);

/** Makes room for what is expected of each output. @return 0; -ENOMEM after a message. */
int job_expected_make(struct job *job);

/** Largest error of the results; what is no number is infinitely wrong. */
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

#endif
