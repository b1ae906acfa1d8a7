/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Counts the byte values of a file: a loop over pieces of 4096 bytes, with a reduction.
 */
#include "config.h"

#include <string.h>
#include <unistd.h>
#include <starpu.h>

#include "codelets/histogram/histogram.h"
#include "apps/common/app.h"
#include "apps/common/file.h"
#include "apps/common/ranks.h"

struct histogram {
	size_t all;    /* bytes of the input, without the padding of the last piece */
	size_t first;  /* of this rank's pieces */
	size_t pieces; /* this rank's, of HISTOGRAM_PIECE bytes */
	size_t n;      /* bytes of them, without the padding */
	int fd;        /* of --input */
	uint64_t seed;
	unsigned char *bytes;
	uint64_t *counters;
	uint64_t right[HISTOGRAM_BINS];
	bool right_known;
};

/* ---- data ---- */

static size_t pieces_of(size_t bytes)
{
	return (bytes + HISTOGRAM_PIECE - 1) / HISTOGRAM_PIECE;
}

/* Which pieces this rank has. */
static void part_choose(struct histogram *self)
{
	size_t begin;

	ranks_part(pieces_of(self->all), &self->first, &self->pieces);
	begin = self->first * HISTOGRAM_PIECE;
	self->n = self->pieces * HISTOGRAM_PIECE;
	if (self->pieces && begin + self->n > self->all)
		self->n = self->all - begin;
}

static double fill_random(void *arg, size_t begin, size_t end)
{
	struct histogram *self = arg;

	for (size_t i = begin; i < end; i++) {
		size_t before = self->first * HISTOGRAM_PIECE / sizeof(uint64_t);
		uint64_t word = app_random(self->seed, before + i);
		size_t rest = self->n - i * sizeof(word);

		memcpy(self->bytes + i * sizeof(word), &word,
		       rest < sizeof(word) ? rest : sizeof(word));
	}
	return 0;
}

static int fill(struct histogram *self, const struct app_options *common)
{
	size_t words = (self->n + 7) / 8;

	/* The loop counts the padding of the last piece as zero bytes. */
	memset(self->bytes + self->n, 0, self->pieces * HISTOGRAM_PIECE - self->n);
	if (common->input)
		return file_read(common->input, self->fd, self->first * HISTOGRAM_PIECE,
		                 self->bytes, self->n);
	if (!app_simulated())
		app_parallel(words, fill_random, self);
	return 0;
}

static double reference_of(void *arg, size_t begin, size_t end)
{
	struct histogram *self = arg;
	uint64_t counters[HISTOGRAM_BINS] = {0};

	histogram_reference(end - begin, self->bytes + begin, counters);
	for (int b = 0; b < HISTOGRAM_BINS; b++)
		__atomic_add_fetch(&self->right[b], counters[b], __ATOMIC_RELAXED);
	return 0;
}

/* The number of bytes b without the padding, which the loop counted, too. */
static uint64_t count_of(const struct histogram *self, int b)
{
	return self->counters[b] - (b ? 0 : pieces_of(self->all) * HISTOGRAM_PIECE - self->all);
}

/* ---- the app ---- */

static int histogram_open(void *data, const struct app_options *common)
{
	struct histogram *self = data;

	return file_open(common->input, &self->fd, &self->all);
}

static int histogram_prepare(void *data, const struct app_options *common, struct heddle_loop *loop)
{
	struct histogram *self = data;
	int error;

	if (!common->input)
		self->all = common->size;
	self->seed = common->seed;
	part_choose(self);
	error = heddle_malloc((void **)&self->bytes, self->pieces * HISTOGRAM_PIECE);
	if (!error)
		error = heddle_malloc((void **)&self->counters, HISTOGRAM_BINS * sizeof(uint64_t));
	if (!error)
		error = fill(self, common);
	if (error)
		return error;
	loop->accesses[0] = (struct heddle_access){
	    .handle = app_vector(self->bytes, self->pieces, HISTOGRAM_PIECE), .mode = STARPU_R};
	loop->accesses[1] = (struct heddle_access){
	    .handle = app_vector(self->counters, HISTOGRAM_BINS, sizeof(uint64_t)),
	    .mode = STARPU_RW,
	    .share = HEDDLE_REDUCE,
	    .combine = histogram_combine};
	loop->naccesses = 2;
	loop->codelet = &histogram_codelet;
	loop->n = pieces_of(self->all);
	return 0;
}

/* The loop adds to the counters, so they start at 0. */
static void histogram_poison(void *data)
{
	struct histogram *self = data;

	memset(self->counters, 0, HISTOGRAM_BINS * sizeof(uint64_t));
}

static double histogram_error(void *data)
{
	struct histogram *self = data;
	double worst = 0;

	if (!self->right_known) {
		app_parallel(self->n, reference_of, self);
		if (ranks_distributed())
			ranks_sum(self->right, HISTOGRAM_BINS);
	}
	self->right_known = true;
	/* Rank 0 has the sums. */
	for (int b = 0; ranks_first() && b < HISTOGRAM_BINS; b++) {
		uint64_t count = count_of(self, b), right = self->right[b];
		double error = count > right ? count - right : right - count;

		worst = error > worst ? error : worst;
	}
	return worst;
}

static int histogram_save_input(void *data, const struct app_options *common)
{
	struct histogram *self = data;
	FILE *stream;
	int error = file_create(common->save_input, &stream);

	if (error)
		return error;
	fwrite(self->bytes, 1, self->n, stream);
	return file_finish(common->save_input, stream);
}

static int histogram_save_output(void *data, const struct app_options *common)
{
	struct histogram *self = data;
	FILE *stream;
	int error = file_create(common->output, &stream);

	if (error)
		return error;
	fprintf(stream, "byte,count\n");
	for (int b = 0; b < HISTOGRAM_BINS; b++)
		fprintf(stream, "%d,%ju\n", b, (uintmax_t)count_of(self, b));
	return file_finish(common->output, stream);
}

static double histogram_elements(void *data)
{
	struct histogram *self = data;

	return self->all;
}

static void histogram_release(void *data)
{
	struct histogram *self = data;

	if (self->fd >= 0)
		close(self->fd);
	heddle_free(self->bytes, self->pieces * HISTOGRAM_PIECE);
	heddle_free(self->counters, HISTOGRAM_BINS * sizeof(uint64_t));
}

int main(int argc, char **argv)
{
	static const struct app app = {
	    .name = "histogram",
	    .symbol = "heddle_histogram",
	    .doc =
	        "Counts how often each byte value occurs."
	        "\v--size (bytes) and --seed make random input; --input takes any file, and "
	        "--output writes the counts as CSV with the columns byte and count. An iteration "
	        "of the loop is a piece of 4096 bytes.",
	    .unit = "byte",
	    .size = 64 << 20,
	    .max_size = (size_t)UINT32_MAX * HISTOGRAM_PIECE,
	    .tolerance = 0,
	    .open = histogram_open,
	    .ranks = true,
	    .parts = true,
	    .prepare = histogram_prepare,
	    .poison = histogram_poison,
	    .error = histogram_error,
	    .save_input = histogram_save_input,
	    .save_output = histogram_save_output,
	    .elements = histogram_elements,
	    .release = histogram_release,
	};
	static struct histogram self = {.fd = -1};

	return app_main(&app, &self, argc, argv);
}
