/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Aligns two sequences locally on all processors.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "support/message.h"
#include "apps/common/file.h"
#include "apps/common/ranks.h"
#include "apps/strmatch/strmatch.h"

/* ---- own options ---- */

static void check_together(const struct strmatch *self, struct argp_state *state)
{
	if (!self->query_path != !self->subject_path)
		argp_error(state, "--query and --subject go together");
	if (self->query_path && app_simulated())
		argp_error(state, "simulated workers compute nothing: no --query or --subject");
	if (self->blosum62 && (self->match || self->mismatch >= 0))
		argp_error(state, "--blosum62 and --match or --mismatch exclude each other");
	if (self->blosum62 && self->alphabet == STRMATCH_DNA)
		argp_error(state, "--blosum62 is for --alphabet protein");
}

/* Sets the scoring; options that were not given have defaults. */
static void complete(void *data, struct argp_state *state)
{
	struct strmatch *self = data;
	struct strmatch_scoring *scoring = &self->job.scoring;
	bool blosum62 = self->blosum62 ||
	                (self->alphabet == STRMATCH_PROTEIN && !self->match && self->mismatch < 0);

	check_together(self, state);
	if (blosum62)
		strmatch_scores_blosum62(scoring);
	else
		strmatch_scores_simple(scoring, self->alphabet, self->match ? self->match : 2,
		                       self->mismatch < 0 ? -3 : -self->mismatch);
	scoring->open = self->open >= 0 ? self->open : blosum62 ? 12 : 7;
	scoring->extend = self->extend >= 0 ? self->extend : blosum62 ? 1 : 2;
	if (scoring->extend > scoring->open && self->extend < 0)
		scoring->extend = scoring->open;
	if (scoring->extend > scoring->open)
		argp_error(state, "--extend %d: more than --open %d", scoring->extend,
		           scoring->open);
}

static void parse_gap(void *data, char *text, struct argp_state *state)
{
	struct strmatch *self = data;

	self->open = self->extend = options_take_number(text, 0, STRMATCH_LARGEST, "gap", state);
}

static const char *const alphabets[] = {[STRMATCH_DNA] = "dna", [STRMATCH_PROTEIN] = "protein"};

static const struct option_row own_options[] = {
    {"query", "FILE", "FASTA file of the query", TEXT(struct strmatch, query_path)},
    {"subject", "FILE", "FASTA file of the subject", TEXT(struct strmatch, subject_path)},
    {"alphabet", "dna|protein", "Letters (default: dna)",
     NAMED(struct strmatch, alphabet, alphabets)},
    {"match", "N", "Score of equal letters (default 2)",
     NUMBER(struct strmatch, match, 1, STRMATCH_LARGEST)},
    {"mismatch", "N", "Cost of unequal letters (default 3)",
     NUMBER(struct strmatch, mismatch, 0, STRMATCH_LARGEST)},
    {"blosum62", NULL, "Scores of amino acids (default for protein)",
     SETS(struct strmatch, blosum62, true)},
    {"open", "N", "Cost of a gap's first letter (default 7; BLOSUM62: 12)",
     NUMBER(struct strmatch, open, 0, STRMATCH_LARGEST)},
    {"extend", "N", "Cost of its other letters (default 2; BLOSUM62: 1)",
     NUMBER(struct strmatch, extend, 0, STRMATCH_LARGEST)},
    {"gap", "N", "Cost of every letter of a gap", PARSED(parse_gap)},
    {"align", NULL, "Print the alignment", SETS(struct strmatch, align, true)},
    {0},
};

/* ---- sequences ---- */

static int dna_number(char letter)
{
	return strmatch_letter(STRMATCH_DNA, letter);
}

static int protein_number(char letter)
{
	return strmatch_letter(STRMATCH_PROTEIN, letter);
}

static char dna_name(uint8_t letter)
{
	return strmatch_name(STRMATCH_DNA, letter);
}

static char protein_name(uint8_t letter)
{
	return strmatch_name(STRMATCH_PROTEIN, letter);
}

static int read_sequences(struct strmatch *self, const char *both)
{
	int (*numbers)(char) = self->alphabet == STRMATCH_DNA ? dna_number : protein_number;
	struct sequence sequences[2] = {{0}};
	int error;

	if (both) {
		error = fasta_read(both, 2, STRMATCH_LONGEST, numbers, sequences);
	} else {
		error = fasta_read(self->query_path, 1, STRMATCH_LONGEST, numbers, &sequences[0]);
		if (!error)
			error = fasta_read(self->subject_path, 1, STRMATCH_LONGEST, numbers,
			                   &sequences[1]);
	}
	self->query = sequences[0];
	self->subject = sequences[1];
	return error;
}

static int make_sequence(struct sequence *sequence, const char *name, size_t n)
{
	sequence->n = n;
	sequence->name = strdup(name);
	sequence->letters = malloc(n + 1);
	return sequence->name && sequence->letters
	           ? 0
	           : heddle_refuse(-ENOMEM, "no memory for %zu letters", n);
}

/* Letters at random; of the subject every fourth thousand are the query's, with one letter
 * in sixteen wrong and one in 64 left out. */
static int make_sequences(struct strmatch *self, size_t n)
{
	unsigned letters = self->alphabet == STRMATCH_DNA ? 4 : 20;
	int error = make_sequence(&self->query, "random-query", n);

	if (!error)
		error = make_sequence(&self->subject, "random-subject", n);
	for (size_t i = 0; !error && i < n; i++)
		self->query.letters[i] = app_random(self->seed, i) % letters;
	for (size_t j = 0, i = 0; !error && j < n; j++, i++) {
		uint64_t bits = app_random(self->seed, n + j);
		bool copied = j / 1000 % 4 == 1 && bits >> 60;

		i += !(bits >> 54 & 63);
		self->subject.letters[j] =
		    copied && i < n ? self->query.letters[i] : (bits & 0xffff) % letters;
	}
	return error;
}

/* ---- the app ---- */

static int strmatch_open(void *data, const struct app_options *common)
{
	struct strmatch *self = data;

	if (self->query_path)
		return heddle_refuse(-EINVAL, "--input and --query exclude each other");
	return read_sequences(self, common->input);
}

static int strmatch_prepare(void *data, const struct app_options *common, struct heddle_loop *loop)
{
	struct strmatch *self = data;
	struct matching *matching = &self->matching;
	int error = 0;

	self->seed = common->seed;
	if (self->query_path && common->size_given)
		return heddle_refuse(-EINVAL, "--size and --query exclude each other");
	if (self->query_path && common->seed_given)
		return heddle_refuse(-EINVAL, "--seed and --query exclude each other");
	if (self->query_path && ranks_first())
		error = read_sequences(self, NULL);
	else if (!common->input)
		error = make_sequences(self, common->size);
	if (!error)
		error = matching_init(matching, self->query.n, self->subject.n);
	if (error)
		return error;
	memcpy(matching->query, self->query.letters, matching->n);
	memcpy(matching->subject, self->subject.letters, matching->m);
	matching_reset(matching, 0);
	matching_register(matching, &self->job);
	self->wave.wave = matching->wave;
	return app_wave_prepare(&self->wave, common, loop);
}

static void strmatch_poison(void *data)
{
	struct strmatch *self = data;

	matching_reset(&self->matching, 0);
}

static int make_right(struct strmatch *self)
{
	const struct matching *matching = &self->matching;
	const struct strmatch_tile tile = {.nrows = matching->n, .ncolumns = matching->m};
	struct strmatch_edge *edge = malloc((matching->m + 1) * sizeof(*edge));

	self->right = malloc((matching->n + 1) * sizeof(*self->right));
	if (!edge || !self->right) {
		free(edge);
		free(self->right);
		self->right = NULL;
		return -ENOMEM;
	}
	strmatch_start(matching->n, 0, self->right);
	strmatch_reference(&self->job.scoring, &tile, matching->query, matching->subject,
	                   self->right, NULL, edge);
	free(edge);
	return 0;
}

/* The number of rows with a difference. */
static double strmatch_verify(void *data)
{
	struct strmatch *self = data;
	double wrong = 0;

	if (!self->right && make_right(self)) {
		heddle_refuse(-ENOMEM, "no memory for the reference");
		return HUGE_VAL;
	}
	for (size_t i = 0; i < self->matching.n; i++)
		wrong +=
		    memcmp(&self->right[i], &self->matching.rows[i], sizeof(*self->right)) != 0;
	return wrong;
}

static int strmatch_finish(void *data)
{
	return matching_complete(data);
}

static void strmatch_print(void *data)
{
	if (!app_simulated())
		matching_print(data, stdout);
}

static void strmatch_describe(void *data, json_t *json)
{
	const struct strmatch *self = data;

	if (app_simulated())
		return;
	json_object_set_new(json, "score", json_integer(self->end.score));
	if (self->end.score <= 0)
		return;
	json_object_set_new(
	    json, "query",
	    json_pack("[I,I]", (json_int_t)self->start.row + 1, (json_int_t)self->end.row + 1));
	json_object_set_new(json, "subject",
	                    json_pack("[I,I]", (json_int_t)self->start.column + 1,
	                              (json_int_t)self->end.column + 1));
}

static int strmatch_save_input(void *data, const struct app_options *common)
{
	struct strmatch *self = data;
	char (*name)(uint8_t) = self->alphabet == STRMATCH_DNA ? dna_name : protein_name;
	FILE *stream;
	int error = file_create(common->save_input, &stream);

	if (error)
		return error;
	fasta_write(stream, &self->query, name);
	fasta_write(stream, &self->subject, name);
	return file_finish(common->save_input, stream);
}

static int strmatch_save_output(void *data, const struct app_options *common)
{
	struct strmatch *self = data;
	FILE *stream;
	int error = file_create(common->output, &stream);

	if (error)
		return error;
	matching_print(self, stream);
	return file_finish(common->output, stream);
}

static void strmatch_release(void *data)
{
	struct strmatch *self = data;

	sequence_free(&self->query);
	sequence_free(&self->subject);
	matching_free(&self->matching);
	free(self->right);
	free(self->steps);
}

int main(int argc, char **argv)
{
	static struct strmatch self = {.mismatch = -1, .open = -1, .extend = -1};
	static const struct app app = {
	    .name = "strmatch",
	    .symbol = "heddle_strmatch",
	    .doc =
	        "Aligns two sequences locally (Smith and Waterman, Gotoh): the best score, where "
	        "it begins and ends, and the alignment."
	        "\v--query and --subject are FASTA files of one sequence each, --input is one of "
	        "both; --size and --seed make two related sequences of N letters. Ranges count "
	        "letters from 1. Memory grows with the sum of the lengths, not with their "
	        "product.",
	    .unit = "cell",
	    .size = 16384,
	    .max_size = STRMATCH_LONGEST,
	    .own = own_options,
	    .check = complete,
	    .tolerance = 0,
	    .open = strmatch_open,
	    .prepare = strmatch_prepare,
	    .poison = strmatch_poison,
	    .error = strmatch_verify,
	    .save_input = strmatch_save_input,
	    .save_output = strmatch_save_output,
	    .finish = strmatch_finish,
	    .describe = strmatch_describe,
	    .print = strmatch_print,
	    .release = strmatch_release,
	    .ranks = true,
	    .wave = &self.wave,
	};

	return app_main(&app, &self, argc, argv);
}
