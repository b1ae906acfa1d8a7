/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A user's own kernel, as the command line describes it.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <starpu.h>

#include "support/message.h"
#include "apps/common/file.h"
#include "apps/kernels/kernels.h"

/* ---- arguments: ACCESS:TYPE[:COUNT][=FILE], TYPE=VALUE, local:BYTES ---- */

/* The type whose name `text` begins with, followed by one of `ends` or nothing. */
static enum element element_find(const char *text, const char *ends)
{
	size_t length = strcspn(text, ends);

	for (int e = 0; e < NELEMENTS; e++)
		if (strlen(job_element_names[e]) == length &&
		    !strncmp(text, job_element_names[e], length))
			return e;
	return NELEMENTS;
}

static int refuse(const char *text, const char *why)
{
	return heddle_refuse(-EINVAL, "--arg %s: %s", text, why);
}

static bool is_signed(enum element element)
{
	return element == CHAR || element == SHORT || element == INT || element == LONG;
}

/* A whole number in the range of a type, as C has it or with a suffix, as COUNT; *value has the
 * bits of an unsigned one. */
static int whole_read(const char *text, enum element element, int64_t *value)
{
	unsigned bits = 8 * job_element_sizes[element];
	uint64_t most = UINT64_MAX >> (64 - bits + is_signed(element)), number;
	char *end;

	if (strpbrk(text, "KMGT") && !options_number(text, 0, most, &number)) {
		*value = number;
		return 0;
	}
	errno = 0;
	if (is_signed(element)) {
		*value = strtoll(text, &end, 0);
		if (errno ||
		    (bits < 64 && (*value < -(1ll << (bits - 1)) || *value >= 1ll << (bits - 1))))
			return -ERANGE;
	} else {
		number = strtoull(text, &end, 0);
		if (errno || strchr(text, '-') || (bits < 64 && number >> bits))
			return -ERANGE;
		*value = number;
	}
	return end == text || *end ? -EINVAL : 0;
}

static int value_add(struct job *job, const char *text)
{
	struct job_argument *about = &job->arguments[job->kernel.narguments];
	enum element element = element_find(text, "=");
	double real = 0;
	int64_t whole = 0;

	if (element == NELEMENTS)
		return refuse(text, "begins with no type and with none of in:, inout:, out:, "
		                    "local:");
	if (!strchr(text, '='))
		return refuse(text, "a value is TYPE=VALUE");
	if (element == FLOAT || element == DOUBLE) {
		if (options_real(strchr(text, '=') + 1, -HUGE_VAL, HUGE_VAL, &real))
			return refuse(text, "not a number");
	} else if (whole_read(strchr(text, '=') + 1, element, &whole)) {
		return refuse(text, "not a whole number of that type");
	}
	about->name = text;
	about->element = element;
	if (element == FLOAT)
		about->value.f = real;
	else if (element == DOUBLE)
		memcpy(about->value.bytes, &real, sizeof(real));
	else
		memcpy(about->value.bytes, &whole, job_element_sizes[element]);
	job->kernel.arguments[job->kernel.narguments++] =
	    (struct heddle_kernel_argument){.type = HEDDLE_KERNEL_VALUE,
	                                    .pointer = about->value.bytes,
	                                    .bytes = job_element_sizes[element]};
	return 0;
}

/* The number after the type; 0: there is none. */
static int count_read(const char *text, const char *colon, const char *equals, uint64_t *count)
{
	char digits[32];
	size_t length;

	*count = 0;
	if (!colon || (equals && colon > equals))
		return 0;
	length = equals ? (size_t)(equals - colon - 1) : strlen(colon + 1);
	if (length < sizeof(digits)) {
		memcpy(digits, colon + 1, length);
		digits[length] = '\0';
		if (!options_number(digits, 1, 1ull << 38, count))
			return 0;
	}
	return refuse(text, "COUNT is no whole number above 0");
}

/* Loads the contents from a file, which must have COUNT elements where that is given. */
static int buffer_load(struct job *job, const char *text, enum starpu_data_access_mode mode,
                       enum element element, uint64_t count, const char *path)
{
	size_t bytes, size = job_element_sizes[element];
	void *memory;
	int fd, status = file_open(path, &fd, &bytes);

	if (status)
		return status;
	if (bytes % size || (count && bytes != count * size)) {
		status = heddle_refuse(-EINVAL, "--arg %s: %s has %zu bytes, not %s%ju of them",
		                       text, path, bytes, count ? "" : "a multiple of ",
		                       (uintmax_t)(count ? count * size : size));
	} else {
		memory = job_buffer(job, text, mode, element, bytes / size);
		status = memory ? file_read(path, fd, 0, memory, bytes) : -ENOMEM;
	}
	close(fd);
	return status;
}

static int buffer_add(struct job *job, const char *text, enum starpu_data_access_mode mode,
                      const char *rest)
{
	enum element element = element_find(rest, ":=");
	const char *equals = strchr(rest, '='), *colon = strchr(rest, ':');
	uint64_t count;
	int status;

	if (element == NELEMENTS)
		return refuse(text, "a buffer is in:, inout: or out:, then TYPE:COUNT");
	status = count_read(text, colon, equals, &count);
	if (status)
		return status;
	if (equals && mode == STARPU_W)
		return refuse(text, "what is only written has no file; inout: has");
	if (equals)
		return buffer_load(job, text, mode, element, count, equals + 1);
	if (!count)
		return refuse(text, "COUNT is missing");
	if (mode == STARPU_W)
		job_buffer(job, text, mode, element, count);
	else
		job_random(job, text, mode, element, count);
	return job->status;
}

static int local_add(struct job *job, const char *text, const char *rest)
{
	uint64_t bytes;

	if (options_number(rest, 1, 1 << 30, &bytes))
		return refuse(text, "BYTES is no whole number above 0");
	job_local(job, text, bytes);
	return 0;
}

static int argument_add(struct job *job, const char *text)
{
	if (!strncmp(text, "in:", 3))
		return buffer_add(job, text, STARPU_R, text + 3);
	if (!strncmp(text, "inout:", 6))
		return buffer_add(job, text, STARPU_RW, text + 6);
	if (!strncmp(text, "out:", 4))
		return buffer_add(job, text, STARPU_W, text + 4);
	if (!strncmp(text, "local:", 6))
		return local_add(job, text, text + 6);
	return value_add(job, text);
}

/* Keeps the contents to restore before every repetition. A kernel may write its outputs in part,
 * so these begin as zeros. */
static int contents_keep(struct job *job)
{
	for (unsigned a = 0; a < job->kernel.narguments; a++) {
		const struct heddle_kernel_argument *argument = &job->kernel.arguments[a];

		if (!job_is_output(job, a))
			continue;
		job->arguments[a].fresh = malloc(argument->bytes);
		if (!job->arguments[a].fresh)
			return heddle_refuse(-ENOMEM, "--arg %s: no memory",
			                     job->arguments[a].name);
		memcpy(job->arguments[a].fresh, argument->pointer, argument->bytes);
	}
	return 0;
}

static int job_check(struct job *job)
{
	struct plain *plain;
	int ids[STARPU_NMAXWORKERS], status;
	int n = starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, ids, STARPU_NMAXWORKERS);

	for (int i = 0; i < n; i++) {
		status = plain_make(job, ids[i], &plain);
		if (!status) {
			status = plain_check(plain, job);
			plain_free(plain);
		}
		if (status)
			return status;
	}
	return 0;
}

int user_make(const char *name, const struct user *user, uint64_t seed, struct job *job,
              char **source)
{
	size_t bytes;
	int status = file_load(user->file, source, &bytes);

	*job = (struct job){.name = user->file, .seed = seed};
	if (status) {
		*source = NULL;
		return status;
	}
	job->kernel.source = *source;
	job->kernel.name = name;
	job->kernel.options = user->options;
	job->kernel.dimensions = user->dimensions;
	memcpy(job->kernel.global, user->global, sizeof(user->global));
	memcpy(job->kernel.local, user->local, sizeof(user->local));
	memcpy(job->kernel.offset, user->offset, sizeof(user->offset));
	for (unsigned a = 0; a < user->narguments && !status; a++)
		status = argument_add(job, user->arguments[a]);
	if (!status)
		status = job_check(job);
	if (!status)
		status = contents_keep(job);
	if (status)
		job_free(job);
	return status;
}

/* ---- results ---- */

static uint64_t checksum(const unsigned char *data, size_t bytes)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static double element_at(const void *data, enum element element, size_t i)
{
	switch (element) {
	case CHAR:
		return ((const int8_t *)data)[i];
	case UCHAR:
		return ((const uint8_t *)data)[i];
	case SHORT:
		return ((const int16_t *)data)[i];
	case USHORT:
		return ((const uint16_t *)data)[i];
	case INT:
		return ((const int32_t *)data)[i];
	case UINT:
		return ((const uint32_t *)data)[i];
	case LONG:
		return ((const int64_t *)data)[i];
	case ULONG:
		return ((const uint64_t *)data)[i];
	case FLOAT:
		return ((const float *)data)[i];
	default:
		return ((const double *)data)[i];
	}
}

static void output_print(const struct job *job, unsigned a, FILE *out)
{
	enum element element = job->arguments[a].element;
	size_t bytes = job->kernel.arguments[a].bytes, n = bytes / job_element_sizes[element];
	double least = INFINITY, largest = -INFINITY;

	for (size_t i = 0; i < n; i++) {
		least = fmin(least, element_at(job_data(job, a), element, i));
		largest = fmax(largest, element_at(job_data(job, a), element, i));
	}
	fprintf(out, "  %s: %zu bytes, checksum %016" PRIx64 ", from %.9g to %.9g, first",
	        job->arguments[a].name, bytes, checksum(job_data(job, a), bytes), least, largest);
	for (size_t i = 0; i < n && i < 4; i++)
		fprintf(out, " %.9g", element_at(job_data(job, a), element, i));
	fputc('\n', out);
}

int user_results(const struct user *user, const struct job *job, FILE *out)
{
	FILE *file;
	int status;

	for (unsigned a = 0; a < job->kernel.narguments && out; a++)
		if (job_is_output(job, a))
			output_print(job, a, out);
	if (!user->out)
		return 0;
	status = file_create(user->out, &file);
	if (status)
		return status;
	for (unsigned a = 0; a < job->kernel.narguments; a++)
		if (job_is_output(job, a))
			fwrite(job_data(job, a), 1, job->kernel.arguments[a].bytes, file);
	return file_finish(user->out, file);
}
