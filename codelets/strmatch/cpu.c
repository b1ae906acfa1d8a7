/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The CPU version: runs of columns that fit into the first cache, and strips of as many rows as a
 * vector has lanes (strips.h).
 */
#include "config.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "codelets/strmatch/strmatch.h"

#define RUN 768       /* columns of a run at the most */
#define MOST_LANES 16 /* of any instruction set */
/* Strips may read so much before and behind a run. */
#define MARGIN (MOST_LANES * MOST_LANES)

struct strip {
	const struct strmatch_scoring *scoring;
	int32_t floor;
	uint32_t first_column;
	int nrows;
	size_t ncolumns;
	int nletters;          /* of the subject: numbers below this */
	const int8_t *profile; /* of each letter: its score with each row's */
	const uint8_t *subject;
	struct strmatch_row *rows;
	const int32_t *above_h, *above_f; /* with MOST_LANES more before and behind */
	int32_t *below_h, *below_f;
};

/* Lanes with bit `shift` in their number take what stands `shift` steps before. */
ISA_BODY void move_lanes(int8_t *restrict to, const int8_t *restrict from, size_t bytes,
                         unsigned shift, const unsigned lanes)
{
	const int8_t *restrict before = from - shift * lanes;
	int8_t moves[64];

	for (unsigned i = 0; i < 64; i++)
		moves[i] = i % lanes & shift ? -1 : 0;
	for (size_t i = 0; i < bytes; i += 64)
		for (unsigned b = 0; b < 64; b++)
			to[i + b] = (from[i + b] & ~moves[b]) | (before[i + b] & moves[b]);
}

#define LANES 4
#define NEXT_LANE                                                                                  \
	{                                                                                          \
		3, 4, 5, 6                                                                         \
	}
#define STRIP(name) name##_base
#define TARGET
/* SSE2 has neither a maximum of 32-bit numbers nor a blend. */
#define LARGER(a, b) (((a) & ((a) > (b))) | ((b) & ~((a) > (b))))
#define WHERE_LARGER(a, b, x, y) (((x) & ((a) > (b))) | ((y) & ~((a) > (b))))
#define LANE(v, which) ((v)[(which)[0]])
#define WIDEN(p) ((vector){(p)[0], (p)[1], (p)[2], (p)[3]})
#include "codelets/strmatch/strips.h"

#if defined(__x86_64__)
#define LANES 8
#define NEXT_LANE                                                                                  \
	{                                                                                          \
		7, 8, 9, 10, 11, 12, 13, 14                                                        \
	}
#define STRIP(name) name##_avx2
#define TARGET ISA_TARGET_AVX2
#define LARGER(a, b) ((vector)_mm256_max_epi32((__m256i)(a), (__m256i)(b)))
#define WHERE_LARGER(a, b, x, y)                                                                   \
	((vector)_mm256_blendv_epi8((__m256i)(y), (__m256i)(x), (__m256i)((a) > (b))))
#define LANE(v, which)                                                                             \
	_mm256_cvtsi256_si32(_mm256_permutevar8x32_epi32((__m256i)(v), (__m256i)(which)))
#define WIDEN(p) ((vector)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(p))))
#include "codelets/strmatch/strips.h"

#define LANES 16
#define NEXT_LANE                                                                                  \
	{                                                                                          \
		15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30                     \
	}
#define STRIP(name) name##_avx512
#define TARGET ISA_TARGET_AVX512
#define LARGER(a, b) ((vector)_mm512_max_epi32((__m512i)(a), (__m512i)(b)))
#define WHERE_LARGER(a, b, x, y)                                                                   \
	((vector)_mm512_mask_mov_epi32(                                                            \
	    (__m512i)(y), _mm512_cmpgt_epi32_mask((__m512i)(a), (__m512i)(b)), (__m512i)(x)))
#define LANE(v, which)                                                                             \
	_mm512_cvtsi512_si32(_mm512_permutexvar_epi32((__m512i)(which), (__m512i)(v)))
#define WIDEN(p) ((vector)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(p))))
#include "codelets/strmatch/strips.h"
#endif

static const struct {
	int lanes;
	void (*run)(const struct strip *strip, int8_t *scores, int8_t *spare);
} variants[CODELET_NISAS] = {
    [CODELET_ISA_BASE] = {4, run_base},
#if defined(__x86_64__)
    [CODELET_ISA_AVX2] = {8, run_avx2},
    [CODELET_ISA_AVX512] = {16, run_avx512},
#endif
};

/* The rows above and below a strip, of which each becomes the other for the next one. */
struct borders {
	int32_t h[2][RUN + 2 * MOST_LANES], f[2][RUN + 2 * MOST_LANES];
};

static void borders_load(struct borders *borders, const struct strmatch_tile *tile, size_t n,
                         const struct strmatch_edge *above)
{
	for (size_t j = 0; j < n; j++) {
		borders->h[0][MOST_LANES + j] = above ? above[j].h : tile->floor;
		borders->f[0][MOST_LANES + j] = above ? above[j].f : STRMATCH_NONE;
	}
}

static void borders_store(const struct borders *borders, unsigned which, size_t n,
                          struct strmatch_edge *below)
{
	for (size_t j = 0; j < n; j++)
		below[j] = (struct strmatch_edge){.h = borders->h[which][MOST_LANES + j],
		                                  .f = borders->f[which][MOST_LANES + j]};
}

static void profile_make(const struct strip *strip, int lanes, const uint8_t *query,
                         int8_t *profile)
{
	for (int letter = 0; letter < strip->nletters; letter++)
		for (int l = 0; l < lanes; l++)
			profile[letter * lanes + l] =
			    strip->scoring->scores[query[l < strip->nrows ? l : 0]][letter];
}

static int letters_count(const uint8_t *subject, size_t n)
{
	uint8_t most = 0;

	for (size_t j = 0; j < n; j++)
		most = subject[j] > most ? subject[j] : most;
	return most + 1;
}

/* One run of columns, all rows of the tile. */
static void compute_run(enum codelet_isa isa, struct strip *strip, size_t nrows,
                        const uint8_t *query, struct strmatch_row *rows, struct borders *borders,
                        unsigned *which)
{
	int8_t profile[STRMATCH_LETTERS * MOST_LANES];
	int8_t scores[2][MARGIN + (RUN + MOST_LANES) * MOST_LANES + 64];
	const size_t lanes = variants[isa].lanes;

	memset(scores[0], 0, MARGIN);
	memset(scores[1], 0, MARGIN);
	for (size_t i = 0; i < nrows; i += lanes) {
		strip->nrows = nrows - i < lanes ? nrows - i : lanes;
		strip->rows = rows + i;
		strip->above_h = borders->h[*which] + MOST_LANES;
		strip->above_f = borders->f[*which] + MOST_LANES;
		*which = !*which;
		strip->below_h = borders->h[*which] + MOST_LANES;
		strip->below_f = borders->f[*which] + MOST_LANES;
		profile_make(strip, lanes, query + i, profile);
		strip->profile = profile;
		variants[isa].run(strip, scores[0] + MARGIN, scores[1] + MARGIN);
	}
}

void strmatch_cpu(enum codelet_isa isa, const struct strmatch_scoring *scoring,
                  const struct strmatch_tile *tile, const uint8_t *query, const uint8_t *subject,
                  struct strmatch_row *rows, const struct strmatch_edge *above,
                  struct strmatch_edge *below)
{
	struct borders borders = {0};
	/* Every run has a cost, so there are few of them, of equal length. */
	size_t runs = (tile->ncolumns + RUN - 1) / RUN;
	size_t run = runs ? (tile->ncolumns + runs - 1) / runs : 0;

	for (size_t j = 0; j < tile->ncolumns; j += run) {
		size_t n = tile->ncolumns - j < run ? tile->ncolumns - j : run;
		struct strip strip = {.scoring = scoring,
		                      .floor = tile->floor,
		                      .first_column = tile->first_column + j,
		                      .ncolumns = n,
		                      .nletters = letters_count(subject + j, n),
		                      .subject = subject + j};
		unsigned which = 0;

		borders_load(&borders, tile, n, above ? above + j : NULL);
		compute_run(isa, &strip, tile->nrows, query, rows, &borders, &which);
		borders_store(&borders, which, n, below + j);
	}
}
