/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The data of a kernel: made at random, reset before every launch, compared after it.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/memory.h>

#include "support/message.h"
#include "apps/kernels/kernels.h"

const char *const job_element_names[NELEMENTS] = {"char", "uchar", "short", "ushort", "int",
                                                  "uint", "long",  "ulong", "float",  "double"};
const size_t job_element_sizes[NELEMENTS] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};

/* ---- arguments ---- */

static struct heddle_kernel_argument *next_argument(struct job *job, const char *name,
                                                    enum element element)
{
	unsigned at = job->kernel.narguments++;

	job->arguments[at].name = name;
	job->arguments[at].element = element;
	return &job->kernel.arguments[at];
}

void *job_buffer(struct job *job, const char *name, enum starpu_data_access_mode mode,
                 enum element element, size_t n)
{
	struct heddle_kernel_argument *argument = next_argument(job, name, element);

	*argument = (struct heddle_kernel_argument){
	    .type = HEDDLE_KERNEL_HOST, .mode = mode, .bytes = n * job_element_sizes[element]};
	if (heddle_malloc(&argument->pointer, argument->bytes)) {
		argument->pointer = NULL;
		job->status = heddle_refuse(-ENOMEM, "%s: no memory for %s (%zu bytes)", job->name,
		                            name, argument->bytes);
	}
	return argument->pointer;
}

struct random {
	uint64_t seed;
	enum element element;
	void *to;
};

static double random_fill(void *arg, size_t begin, size_t end)
{
	const struct random *random = arg;
	size_t bytes = job_element_sizes[random->element];

	for (size_t i = begin; i < end; i++) {
		uint64_t bits = app_random(random->seed, i);

		if (random->element == FLOAT)
			((float *)random->to)[i] = (bits >> 40) * 0x1p-24f;
		else if (random->element == DOUBLE)
			((double *)random->to)[i] = (bits >> 11) * 0x1p-53;
		else
			memcpy((char *)random->to + i * bytes, &bits, bytes);
	}
	return 0;
}

void job_random(struct job *job, const char *name, enum starpu_data_access_mode mode,
                enum element element, size_t n)
{
	struct random random = {.seed =
	                            job->seed * HEDDLE_KERNEL_MAXARGUMENTS + job->kernel.narguments,
	                        .element = element,
	                        .to = job_buffer(job, name, mode, element, n)};

	if (random.to)
		app_parallel(n, random_fill, &random);
}

void job_int(struct job *job, const char *name, int value)
{
	struct job_argument *about = &job->arguments[job->kernel.narguments];

	about->value.i = value;
	*next_argument(job, name, INT) = (struct heddle_kernel_argument){
	    .type = HEDDLE_KERNEL_VALUE, .pointer = &about->value, .bytes = sizeof(value)};
}

void job_local(struct job *job, const char *name, size_t bytes)
{
	*next_argument(job, name, UCHAR) =
	    (struct heddle_kernel_argument){.type = HEDDLE_KERNEL_LOCAL, .bytes = bytes};
}

void job_range(struct job *job, size_t global0, size_t local0, size_t global1, size_t local1)
{
	job->kernel.dimensions = global1 ? 2 : 1;
	job->kernel.global[0] = global0;
	job->kernel.local[0] = local0;
	job->kernel.global[1] = global1;
	job->kernel.local[1] = local1;
}

/* ---- jobs ---- */

int job_make(const struct benchmark *benchmark, size_t size, uint64_t seed, struct job *job)
{
	*job = (struct job){.benchmark = benchmark,
	                    .name = benchmark->name,
	                    .size = size,
	                    .seed = seed,
	                    .inverse = benchmark->inverse,
	                    .least = 1};
	job->kernel.source = benchmark->source;
	job->kernel.name = benchmark->kernel;
	benchmark->prepare(job);
	if (job->status)
		job_free(job);
	return job->status;
}

void job_free(struct job *job)
{
	for (unsigned a = 0; a < job->kernel.narguments; a++) {
		if (job_is_buffer(job, a))
			heddle_free(job->kernel.arguments[a].pointer,
			            job->kernel.arguments[a].bytes);
		free(job->arguments[a].fresh);
		free(job->arguments[a].expected);
	}
	job->kernel.narguments = 0;
}

void job_reset(const struct job *job)
{
	for (unsigned a = 0; a < job->kernel.narguments; a++) {
		const struct heddle_kernel_argument *argument = &job->kernel.arguments[a];

		if (!job_is_output(job, a))
			continue;
		if (job->arguments[a].fresh)
			memcpy(argument->pointer, job->arguments[a].fresh, argument->bytes);
		else
			memset(argument->pointer, 0xff, argument->bytes);
	}
}

int job_expected_make(struct job *job)
{
	for (unsigned a = 0; a < job->kernel.narguments; a++) {
		if (!job_is_output(job, a) || job->arguments[a].expected)
			continue;
		job->arguments[a].expected = malloc(job->kernel.arguments[a].bytes);
		if (!job->arguments[a].expected)
			return heddle_refuse(-ENOMEM, "%s: no memory for the expected %s",
			                     job->name, job->arguments[a].name);
	}
	return 0;
}

int job_expect(struct job *job)
{
	int status;

	if (job->known)
		return 0;
	status = job_expected_make(job);
	if (!status) {
		app_parallel_by(job->items, job->least, job->benchmark->reference, job);
		job->known = true;
	}
	return status;
}

/* ---- comparing ---- */

struct comparison {
	enum element element;
	const void *got, *expected;
};

static double real_error(double got, double expected)
{
	if (got == expected || (isnan(got) && isnan(expected)))
		return 0;
	return fabs(got - expected) / fmax(1, fabs(expected));
}

static double compare(void *arg, size_t begin, size_t end)
{
	const struct comparison *c = arg;
	size_t bytes = job_element_sizes[c->element];
	double largest = 0;

	for (size_t i = begin; i < end; i++) {
		double error;

		if (c->element == FLOAT)
			error = real_error(((float *)c->got)[i], ((float *)c->expected)[i]);
		else if (c->element == DOUBLE)
			error = real_error(((double *)c->got)[i], ((double *)c->expected)[i]);
		else
			error = !!memcmp((char *)c->got + i * bytes,
			                 (char *)c->expected + i * bytes, bytes);
		if (isnan(error))
			return INFINITY;
		largest = fmax(largest, error);
	}
	return largest;
}

double job_error(const struct job *job)
{
	double largest = 0;

	for (unsigned a = 0; a < job->kernel.narguments; a++) {
		struct comparison c = {job->arguments[a].element, job_data(job, a),
		                       job_expected(job, a)};

		if (job_is_output(job, a))
			largest = fmax(largest, app_parallel(job->kernel.arguments[a].bytes /
			                                         job_element_sizes[c.element],
			                                     compare, &c));
	}
	return largest;
}

static size_t bytes_of(const struct job *job, enum starpu_data_access_mode mode)
{
	size_t bytes = 0;

	for (unsigned a = 0; a < job->kernel.narguments; a++)
		if (job_is_buffer(job, a) && (job->kernel.arguments[a].mode & mode))
			bytes += job->kernel.arguments[a].bytes;
	return bytes;
}

size_t job_bytes_in(const struct job *job)
{
	return bytes_of(job, STARPU_R);
}

size_t job_bytes_out(const struct job *job)
{
	return bytes_of(job, STARPU_W);
}
