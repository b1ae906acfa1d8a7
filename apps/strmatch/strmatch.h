/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shared by the app's files: its data, and the wavefronts over the two sequences.
 */
#ifndef APPS_STRMATCH_STRMATCH_H
#define APPS_STRMATCH_STRMATCH_H

#include <stdio.h>

#include "codelets/strmatch/strmatch.h"
#include "apps/common/app.h"
#include "apps/common/fasta.h"
#include "apps/common/wave.h"

/** A wavefront over two sequences, and its data by heddle_malloc(). */
struct matching {
	size_t n, m;
	uint8_t *query, *subject;
	struct strmatch_row *rows;
	struct strmatch_edge *edge;
	struct heddle_wavefront wave;
};

struct strmatch {
	struct app_wave wave;
	enum strmatch_alphabet alphabet;
	struct strmatch_job job;
	int match, mismatch; /* as given; 0 and -1: not given */
	int open, extend;    /* as given; -1: not given */
	bool blosum62, align;
	const char *query_path, *subject_path;
	struct sequence query, subject; /* as read or made */
	uint64_t seed;
	struct matching matching;
	struct strmatch_row *right; /* the expected rows; NULL: not made yet */
	/* Results. */
	struct strmatch_best start, end;
	struct strmatch_step *steps;
	size_t nsteps;
};

/** Allocates a matching of n and m letters. @return 0; -ENOMEM. */
int matching_init(struct matching *matching, size_t n, size_t m);
/** Registers the data and makes the wavefront. */
void matching_register(struct matching *matching, const struct strmatch_job *job);
/** Restores the state before the first tile. */
void matching_reset(struct matching *matching, int32_t floor);
void matching_free(struct matching *matching);

/** After the wavefront: finds where the best alignment begins and, with --align, the alignment.
 * @return 0; -EIO where they contradict the score; -errno. */
int matching_complete(struct strmatch *self);
/** Prints the score, the positions, and the alignment with --align. */
void matching_print(const struct strmatch *self, FILE *stream);

#endif
