/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Finds the sets of items that many transactions have in common: a task for each equivalence class,
 * which earlier tasks find.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "support/message.h"
#include "codelets/eclat/eclat.h"
#include "apps/common/app.h"
#include "apps/eclat/mine.h"

/* Lengths of sets that are counted one by one. */
#define LENGTHS 32

struct eclat {
	struct baskets_shape shape;
	struct miner_options options;
	double part; /* support as a part of all transactions; 0: it is a number */
	struct baskets baskets;
	struct frequent frequent;
	uint64_t *bits;
	size_t bytes; /* of bits */
	struct miner *miner;
};

static int eclat_open(void *data, const struct app_options *common)
{
	struct eclat *self = data;

	return baskets_read(common->input, &self->baskets);
}

static int bits_make(struct eclat *self)
{
	int error;

	self->bytes = (self->frequent.n * baskets_words(&self->baskets) + 1) * sizeof(uint64_t);
	/* Simulated, the host counts with them: then StarPU must not fold the memory. */
	error = app_simulated() ? 0 : heddle_malloc((void **)&self->bits, self->bytes);
	if (app_simulated())
		self->bits = malloc(self->bytes);
	if (error || !self->bits)
		return heddle_refuse(-ENOMEM, "no memory for the bits of %u items",
		                     self->frequent.n);
	baskets_bits(&self->baskets, &self->frequent, self->bits);
	return 0;
}

static int eclat_prepare(void *data, const struct app_options *common, struct heddle_loop *loop)
{
	struct eclat *self = data;
	int error = 0;

	if (common->strategy || common->parts)
		heddle_warn("--strategy and --parts are for loops; here every class is a task");
	if (!common->input) {
		self->shape.n = common->size;
		self->shape.seed = common->seed;
		error = baskets_random(&self->shape, &self->baskets);
	}
	/* All sets of a transaction's items are in one: what few have in common is in two. */
	if (self->part > 0)
		self->options.support = fmax(2, ceil(self->part * self->baskets.n));
	if (!error)
		error = sets_bound(&self->baskets, self->options.support, self->options.longest);
	if (!error)
		error = frequent_find(&self->baskets, self->options.support, &self->frequent);
	if (!error)
		error = bits_make(self);
	self->options.workers = loop->workers;
	self->options.nworkers = loop->nworkers;
	loop->codelet = &eclat_codelet;
	loop->n = self->baskets.n;
	return error ? error
	             : miner_make(&self->options, &self->frequent, self->bits,
	                          baskets_words(&self->baskets), &self->miner);
}

static int eclat_run(void *data, struct heddle_loop_stats *stats)
{
	return miner_run(((struct eclat *)data)->miner, stats);
}

static void eclat_poison(void *data)
{
	miner_forget(((struct eclat *)data)->miner);
}

static double errors_of(void *data, size_t begin, size_t end)
{
	struct eclat *self = data;
	long errors = sets_errors(miner_sets(self->miner), &self->baskets, &self->frequent,
	                          self->options.support, self->options.longest, begin, end);

	return errors < 0 ? INFINITY : errors;
}

static double eclat_error(void *data)
{
	struct eclat *self = data;

	return app_parallel_by(self->frequent.n, 1, errors_of, self);
}

/* ---- the report ---- */

/* Sets of each length, the last one of those of that length and more. @return the longest */
static unsigned lengths_count(const struct eclat *self, size_t counts[LENGTHS + 1])
{
	const struct sets *sets = miner_sets(self->miner);
	unsigned longest = 0;

	memset(counts, 0, (LENGTHS + 1) * sizeof(*counts));
	for (size_t s = 0; s < sets->n; s++) {
		unsigned length = sets_length(sets, s);

		longest = length > longest ? length : longest;
		counts[length < LENGTHS ? length : LENGTHS]++;
	}
	return longest;
}

static void eclat_describe(void *data, json_t *report)
{
	struct eclat *self = data;
	size_t counts[LENGTHS + 1];
	unsigned longest = lengths_count(self, counts);
	json_t *lengths = json_array();

	for (unsigned l = 1; l <= longest && l <= LENGTHS; l++)
		json_array_append_new(lengths, json_integer(counts[l]));
	json_object_set_new(report, "transactions", json_integer(self->baskets.n));
	json_object_set_new(report, "support", json_integer(self->options.support));
	json_object_set_new(report, "items", json_integer(self->frequent.n));
	json_object_set_new(report, "sets", json_integer(miner_sets(self->miner)->n));
	json_object_set_new(report, "lengths", lengths);
}

static void eclat_print(void *data)
{
	struct eclat *self = data;
	size_t counts[LENGTHS + 1];
	unsigned longest = lengths_count(self, counts);

	printf("\n%zu sets are in at least %u of %zu transactions\n", miner_sets(self->miner)->n,
	       self->options.support, self->baskets.n);
	for (unsigned l = 1; l <= longest && l <= LENGTHS; l++)
		printf("  %u item%s%s: %zu\n", l, l == 1 ? "" : "s",
		       l == LENGTHS ? " and more" : "", counts[l]);
}

static int eclat_save_input(void *data, const struct app_options *common)
{
	return baskets_write(common->save_input, &((struct eclat *)data)->baskets);
}

static int eclat_save_output(void *data, const struct app_options *common)
{
	struct eclat *self = data;

	return sets_write(common->output, miner_sets(self->miner), &self->frequent);
}

static void eclat_release(void *data)
{
	struct eclat *self = data;

	miner_free(self->miner);
	if (app_simulated())
		free(self->bits);
	else
		heddle_free(self->bits, self->bytes);
	frequent_free(&self->frequent);
	baskets_free(&self->baskets);
}

/* ---- the command line ---- */

static void parse_support(void *data, char *text, struct argp_state *state)
{
	struct eclat *self = data;
	size_t length = strlen(text);
	char percent[40];

	if (!length || text[length - 1] != '%' || length > sizeof(percent)) {
		self->part = 0;
		self->options.support = options_take_number(text, 1, UINT32_MAX, "support", state);
		return;
	}
	snprintf(percent, sizeof(percent), "%.*s", (int)length - 1, text);
	if (options_real(percent, 0, 100, &self->part) || !(self->part > 0))
		argp_error(state, "--support %s: not more than 0%% and at most 100%%", text);
	self->part /= 100;
}

static const struct option_row own_options[] = {
    {"support", "N",
     "Transactions that a frequent set is in at least; with % a part of all, and of two (default "
     "1%)",
     PARSED(parse_support)},
    {"longest", "N", "Most items of a set (default 0: any number)",
     NUMBER(struct eclat, options.longest, 0, INT32_MAX)},
    {"pairs", "N", "About so many pairs of items at most in a task (default 1K)",
     NUMBER(struct eclat, options.pairs, 1, 1 << 30)},
    {"items", "N", "Different items of random transactions (default 500)",
     NUMBER(struct eclat, shape.items, 1, 1 << 20), .random = true},
    {"length", "N", "Their mean number of items (default 10)",
     REAL(struct eclat, shape.length, 1, 10000), .random = true},
    {"patterns", "N", "Sets that are often bought together (default 200)",
     NUMBER(struct eclat, shape.patterns, 1, 1 << 20), .random = true},
    {"pattern-length", "N", "Their mean number of items (default 4)",
     REAL(struct eclat, shape.pattern_length, 1, 1000), .random = true},
    {0},
};

int main(int argc, char **argv)
{
	static const struct app app = {
	    .name = "eclat",
	    .symbol = "heddle_eclat",
	    .doc = "Finds the sets of items that many transactions have in common."
	           "\v--size (transactions), --items and --seed make random transactions; --input "
	           "is a file: the items of a transaction in each line, whole numbers with blanks "
	           "between. --output writes a line for each frequent set, with its support in "
	           "parentheses. A class of sets is a task.",
	    .unit = "transaction",
	    .size = 1 << 16,
	    .max_size = UINT32_MAX,
	    .own = own_options,
	    .tolerance = 0,
	    .open = eclat_open,
	    .prepare = eclat_prepare,
	    .run = eclat_run,
	    .describe = eclat_describe,
	    .print = eclat_print,
	    .poison = eclat_poison,
	    .error = eclat_error,
	    .save_input = eclat_save_input,
	    .save_output = eclat_save_output,
	    .release = eclat_release,
	};
	static struct eclat self = {
	    .shape = {.items = 500, .length = 10, .patterns = 200, .pattern_length = 4},
	    .options = {.pairs = 1024},
	    .part = 0.01};

	return app_main(&app, &self, argc, argv);
}
