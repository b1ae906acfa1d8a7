/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Local alignment of two sequences: T. F. Smith and M. S. Waterman, "Identification of Common
 * Molecular Subsequences", Journal of Molecular Biology 147, 1981, with affine gaps by O. Gotoh,
 * "An Improved Algorithm for Matching Biological Sequences", Journal of Molecular Biology 162,
 * 1982. Rows are letters of the query, columns letters of the subject. The matrix is never kept: of
 * a tile remain its last column (struct strmatch_row) and its last row (struct strmatch_edge).
 */
#ifndef CODELETS_STRMATCH_H
#define CODELETS_STRMATCH_H

#include <stddef.h>
#include <stdint.h>

#include "codelets/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For row i and column j, everything outside the matrix being 0:
 *
 *   E(i,j) = max(E(i,j-1) - extend, H(i,j-1) - open)
 *   F(i,j) = max(F(i-1,j) - extend, H(i-1,j) - open)
 *   H(i,j) = max(floor, H(i-1,j-1) + s(query i, subject j), E(i,j), F(i,j))
 *
 * A gap of k letters costs open + (k - 1) extend. With floor 0 the largest H is the best score of
 * any local alignment, at its end. With floor STRMATCH_NONE all alignments begin at the corner: in
 * the reversed sequences this finds the beginning. */

#define STRMATCH_LETTERS 32 /**< letters are numbers below this */
/** Less than any score; subtracting costs does not overflow. */
#define STRMATCH_NONE (-(1 << 30))
/** Longest sequence: the worst scores and the best ones stay within 32 bits. */
#define STRMATCH_LONGEST ((size_t)1 << 23)
/** Largest open, extend, and score of two letters. */
#define STRMATCH_LARGEST 127

struct strmatch_scoring {
	int8_t scores[STRMATCH_LETTERS][STRMATCH_LETTERS]; /**< s; symmetric */
	int32_t open, extend; /**< 0 … STRMATCH_LARGEST, extend at most open */
};

/** The state of a row left of a tile, and afterwards that of the tile's last column. */
struct strmatch_row {
	int32_t h, e;     /**< H and E in the column before the tile */
	int32_t corner;   /**< H of the row above in the column before the tile */
	int32_t best;     /**< largest H of the row so far */
	uint32_t best_at; /**< the first column that has it */
};

/** The values of a column that the row below a tile needs. */
struct strmatch_edge {
	int32_t h, f;
};

/** A part of the matrix. */
struct strmatch_tile {
	size_t nrows, ncolumns;
	uint32_t first_column; /**< of the whole matrix, for best_at */
	int32_t floor;         /**< 0 or STRMATCH_NONE */
};

/** Alphabets and scores. */
enum strmatch_alphabet { STRMATCH_DNA, STRMATCH_PROTEIN };

/** The letter as a number below STRMATCH_LETTERS, either case; -1: none of the alphabet.
 * DNA is ACGT, with U for T, and N for an unknown base, which matches nothing. Protein is
 * the 20 amino acids, B, Z, X and *. */
int strmatch_letter(enum strmatch_alphabet alphabet, char letter);
/** The letter of a number. */
char strmatch_name(enum strmatch_alphabet alphabet, uint8_t letter);
/** Sets the scores to `match` for equal letters, `mismatch` for others. */
void strmatch_scores_simple(struct strmatch_scoring *scoring, enum strmatch_alphabet alphabet,
                            int match, int mismatch);
/** Sets the scores to BLOSUM62 in half bits: S. Henikoff and J. G. Henikoff, "Amino Acid
 * Substitution Matrices from Protein Blocks", PNAS 89, 1992. */
void strmatch_scores_blosum62(struct strmatch_scoring *scoring);

/** Sets rows to the state before their first column. */
void strmatch_start(size_t nrows, int32_t floor, struct strmatch_row *rows);

/** Computes a tile.
 * @param query,subject letters of its rows and columns
 * @param rows in: left of the tile; out: its last column
 * @param above of the row above, one of each column; NULL: no row is above
 * @param[out] below the last row; may be `above` */
void strmatch_cpu(enum codelet_isa isa, const struct strmatch_scoring *scoring,
                  const struct strmatch_tile *tile, const uint8_t *query, const uint8_t *subject,
                  struct strmatch_row *rows, const struct strmatch_edge *above,
                  struct strmatch_edge *below);

/** The same straight from the formulas. */
void strmatch_reference(const struct strmatch_scoring *scoring, const struct strmatch_tile *tile,
                        const uint8_t *query, const uint8_t *subject, struct strmatch_row *rows,
                        const struct strmatch_edge *above, struct strmatch_edge *below);

/** The best of rows: the first in the first row that has it. */
struct strmatch_best {
	int32_t score;
	size_t row, column;
};
struct strmatch_best strmatch_best(size_t nrows, const struct strmatch_row *rows);

/** One step of an alignment: pairs of letters, letters of the query against a gap,
 * or letters of the subject against a gap. */
struct strmatch_step {
	enum { STRMATCH_PAIR, STRMATCH_QUERY, STRMATCH_SUBJECT } kind;
	size_t length;
};

/** The best alignment of two whole sequences, by E. W. Myers and W. Miller, "Optimal
 * Alignments in Linear Space", CABIOS 4, 1988: memory O(n + m), time O(n m).
 * @param[out] steps to be freed by the caller
 * @return 0; -ENOMEM. */
int strmatch_align(const struct strmatch_scoring *scoring, size_t n, const uint8_t *query, size_t m,
                   const uint8_t *subject, struct strmatch_step **steps, size_t *nsteps);

/** The score of an alignment, from its steps. */
int64_t strmatch_score(const struct strmatch_scoring *scoring, const uint8_t *query,
                       const uint8_t *subject, const struct strmatch_step *steps, size_t nsteps);

/** Launches the CUDA version on device memory, scoring excepted; returns without waiting.
 * @param stream a cudaStream_t
 * @return 0; -EIO when a launch was refused; -ENOMEM. */
int strmatch_cuda(void *stream, const struct strmatch_scoring *scoring,
                  const struct strmatch_tile *tile, const uint8_t *query, const uint8_t *subject,
                  struct strmatch_row *rows, const struct strmatch_edge *above,
                  struct strmatch_edge *below);

/** The `arg` of a wavefront. */
struct strmatch_job {
	struct strmatch_scoring scoring;
	int32_t floor;
};

/** The codelet of a wavefront over rows (the query) and columns (the subject), vectors (0, 1),
 * (1, 0) and (1, 1). Arrays: letters of the query (HEDDLE_ROWS, read) and of the subject
 * (HEDDLE_COLUMNS, read), struct strmatch_row (HEDDLE_ROWS, as strmatch_start() makes them) and
 * struct strmatch_edge (HEDDLE_COLUMNS, h the floor and f STRMATCH_NONE). */
extern struct starpu_codelet strmatch_codelet;
/** Its OpenCL program, where this build has OpenCL. */
extern struct codelet_program strmatch_program;

#ifdef __cplusplus
}
#endif
#endif
