/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The CPU version: channel by channel, in runs of columns that fit into the first cache, and
 * strips of as many rows as a vector has lanes (strips.h). The pixels of a strip are copied in the
 * order of its steps.
 */
#include "config.h"

#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "codelets/floyd/floyd.h"

#define RUN 256       /* columns of a run */
#define MOST_LANES 32 /* of any instruction set */

struct strip {
	ptrdiff_t width;   /* of the image */
	ptrdiff_t first;   /* column where the run begins in the strip's first row */
	ptrdiff_t columns; /* of the run */
	int nrows;
	unsigned channels, top, factor, bias;
	struct floyd_row *rows; /* every `channels`th is of this channel */
	/* Errors of the row above at the same positions, from -2 on, and of the last row. */
	const int16_t *above;
	int16_t *below;
	/* MOST_LANES for each step: pixels before and after, and errors. */
	int16_t *pixels, *errors;
};

/* The lanes that compute in a step, and the known errors of the others: from earlier runs, or 0
 * outside the image. */
ISA_BODY void guard_lanes(const struct strip *strip, ptrdiff_t step, const int lanes,
                          int16_t *known, int16_t *computed)
{
	for (int l = 0; l < lanes; l++) {
		ptrdiff_t position = step - l, column = strip->first + position - l;
		const struct floyd_row *row = &strip->rows[l * (ptrdiff_t)strip->channels];
		bool computes = l < strip->nrows && position >= 0 && position < strip->columns &&
		                column >= 0 && column < strip->width;

		computed[l] = computes ? -1 : 0;
		known[l] = 0;
		if (l < strip->nrows && position < 0)
			known[l] = position == -1 ? row->left : row->before;
	}
}

#if defined(__x86_64__)
#define LANES 8
#define STRIP(name) name##_base
#define TARGET
#define NEXT(v, x) ((vector)_mm_insert_epi16(_mm_slli_si128((__m128i)(v), 2), (x), 0))
#define CLAMP(v)                                                                                   \
	_mm_min_epi16(_mm_max_epi16((__m128i)(v), _mm_setzero_si128()), _mm_set1_epi16(255))
#include "codelets/floyd/strips.h"

#define LANES 16
#define STRIP(name) name##_avx2
#define TARGET ISA_TARGET_AVX2
#define NEXT(v, x)                                                                                 \
	((vector)_mm256_alignr_epi8(                                                               \
	    (__m256i)(v), _mm256_permute2x128_si256(_mm256_set1_epi16(x), (__m256i)(v), 0x21),     \
	    14))
#define CLAMP(v)                                                                                   \
	_mm256_min_epi16(_mm256_max_epi16((__m256i)(v), _mm256_setzero_si256()),                   \
	                 _mm256_set1_epi16(255))
#include "codelets/floyd/strips.h"

#define LANES 32
#define STRIP(name) name##_avx512
#define TARGET ISA_TARGET_AVX512
#define NEXT(v, x)                                                                                 \
	((vector)_mm512_alignr_epi8(                                                               \
	    (__m512i)(v), _mm512_alignr_epi64((__m512i)(v), _mm512_set1_epi16(x), 6), 14))
#define CLAMP(v)                                                                                   \
	_mm512_min_epi16(_mm512_max_epi16((__m512i)(v), _mm512_setzero_si512()),                   \
	                 _mm512_set1_epi16(255))
#include "codelets/floyd/strips.h"
#else
#define LANES 8
#define STRIP(name) name##_base
#define TARGET
#define NEXT(v, x) __builtin_shuffle((vector){x}, v, (vector){0, 8, 9, 10, 11, 12, 13, 14})
#define CLAMP(v) (((v) & ((v) > 0) & ((v) < 256)) | (((v) > 255) & 255))
#include "codelets/floyd/strips.h"
#endif

static const struct {
	int lanes;
	void (*run)(const struct strip *strip);
} variants[CODELET_NISAS] = {
    [CODELET_ISA_BASE] = {8, run_base},
#if defined(__x86_64__)
    [CODELET_ISA_AVX2] = {16, run_avx2},
    [CODELET_ISA_AVX512] = {32, run_avx512},
#endif
};

/* Positions of a row of the strip that lie in the run and in the image. */
static void positions(const struct strip *strip, int l, ptrdiff_t *begin, ptrdiff_t *end)
{
	ptrdiff_t column = strip->first - l;

	*begin = column < 0 ? -column : 0;
	*end = strip->columns < strip->width - column ? strip->columns : strip->width - column;
}

static void take_pixels(const struct strip *strip, const uint8_t *in, size_t stride)
{
	for (int l = 0; l < strip->nrows; l++) {
		int16_t *pixels = strip->pixels + l * MOST_LANES + l;
		ptrdiff_t begin, end;

		positions(strip, l, &begin, &end);
		for (ptrdiff_t p = begin; p < end; p++)
			pixels[p * MOST_LANES] =
			    in[l * stride + (strip->first - l + p) * strip->channels];
	}
}

static void give_pixels(const struct strip *strip, uint8_t *out, size_t stride)
{
	for (int l = 0; l < strip->nrows; l++) {
		const int16_t *pixels = strip->pixels + l * MOST_LANES + l;
		ptrdiff_t begin, end;

		positions(strip, l, &begin, &end);
		for (ptrdiff_t p = begin; p < end; p++)
			out[l * stride + (strip->first - l + p) * strip->channels] =
			    pixels[p * MOST_LANES];
	}
}

/* Keeps the errors that the next run and the next strip need. */
static void keep_errors(const struct strip *strip)
{
	int last = strip->nrows - 1;
	const int16_t *errors = strip->errors + last * MOST_LANES + last;
	struct floyd_row *rows = strip->rows;

	strip->below[-2] = rows[last * strip->channels].before;
	strip->below[-1] = rows[last * strip->channels].left;
	for (ptrdiff_t p = 0; p < strip->columns; p++)
		strip->below[p] = errors[p * MOST_LANES];
	for (int l = 0; l < strip->nrows; l++) {
		struct floyd_row *row = &rows[l * strip->channels];
		const int16_t *behind = strip->errors + (strip->columns + l) * MOST_LANES + l;

		row->before = strip->columns > 1 ? behind[-2 * MOST_LANES] : row->left;
		row->left = behind[-MOST_LANES];
		row->corner =
		    l ? row[-(ptrdiff_t)strip->channels].before : strip->above[strip->columns - 2];
	}
}

/* Rows above and below a strip, of which each becomes the other for the next one. */
struct borders {
	int16_t errors[2][RUN + 2 + MOST_LANES];
};

/* Rows of the tile, in whole strips, that have been done since before the run: to the right of the
 * image all errors are 0, and two columns further in what rows keep of them, too. */
static size_t rows_done(const struct floyd_tile *tile, ptrdiff_t first, size_t lanes)
{
	ptrdiff_t done = first - 1 - (ptrdiff_t)tile->image.width;
	size_t rows = done > 0 ? done : 0;

	return (rows < tile->rows ? rows : tile->rows) / lanes * lanes;
}

/* Rows up to the first that begins after the run: left of the image all errors are 0. */
static size_t rows_begun(const struct floyd_tile *tile, ptrdiff_t end)
{
	return end < 0 ? 0 : (size_t)end < tile->rows ? (size_t)end : tile->rows;
}

/* One run of one channel, all rows of the tile. Of a high and narrow image few rows are in a
 * parallelogram. */
static void compute_run(enum codelet_isa isa, const struct floyd_tile *tile, struct strip strip,
                        const uint8_t *in, uint8_t *out, struct floyd_row *rows,
                        struct borders *borders, unsigned *which)
{
	int16_t pixels[(RUN + MOST_LANES) * MOST_LANES], errors[(RUN + MOST_LANES) * MOST_LANES];
	const size_t lanes = variants[isa].lanes;
	ptrdiff_t first = strip.first;

	size_t begin = rows_done(tile, first, lanes);
	size_t end = rows_begun(tile, first + strip.columns);

	strip.pixels = pixels;
	strip.errors = errors;
	memset(pixels, 0, (strip.columns + lanes) * MOST_LANES * sizeof(*pixels));
	if (begin)
		memset(borders->errors[*which], 0, sizeof(borders->errors[*which]));
	for (size_t i = begin; i < end; i += lanes) {
		strip.nrows = tile->rows - i < lanes ? tile->rows - i : lanes;
		strip.first = first - (ptrdiff_t)i;
		strip.rows = rows + i * strip.channels;
		strip.above = borders->errors[*which] + 2;
		*which = !*which;
		strip.below = borders->errors[*which] + 2;
		take_pixels(&strip, in + i * tile->in_stride, tile->in_stride);
		variants[isa].run(&strip);
		give_pixels(&strip, out + i * tile->out_stride, tile->out_stride);
		keep_errors(&strip);
	}
}

/* The row above, at column + 1 in the position of a column of the first row. */
static void borders_load(const struct strip *strip, const struct floyd_row *row,
                         const int16_t *edge, int16_t *above)
{
	above[-2] = row->corner;
	for (ptrdiff_t p = -1; p < strip->columns; p++) {
		ptrdiff_t column = strip->first + p + 1;

		above[p] =
		    column < 0 || column >= strip->width ? 0 : edge[column * strip->channels];
	}
}

static void borders_store(const struct strip *strip, size_t rows, const int16_t *below,
                          int16_t *edge)
{
	for (ptrdiff_t p = 0; p < strip->columns; p++) {
		ptrdiff_t column = strip->first + p - (ptrdiff_t)(rows - 1);

		if (column >= 0 && column < strip->width)
			edge[column * strip->channels] = below[p];
	}
}

void floyd_cpu(enum codelet_isa isa, const struct floyd_tile *tile, const uint8_t *in, uint8_t *out,
               struct floyd_row *rows, int16_t *edge)
{
	const struct floyd_image *image = &tile->image;
	struct borders borders = {0};

	for (size_t j = 0; j < tile->columns; j += RUN)
		for (unsigned c = 0; c < image->channels; c++) {
			struct strip strip = {.width = image->width,
			                      .first = tile->column + (ptrdiff_t)j,
			                      .columns =
			                          tile->columns - j < RUN ? tile->columns - j : RUN,
			                      .channels = image->channels,
			                      .top = (1u << image->bits) - 1,
			                      .factor = floyd_factor(image->bits),
			                      .bias = floyd_bias(image->bits)};
			unsigned which = 0;

			borders_load(&strip, rows + c, edge + c, borders.errors[0] + 2);
			compute_run(isa, tile, strip, in + c, out + c, rows + c, &borders, &which);
			borders_store(&strip, tile->rows, borders.errors[which] + 2, edge + c);
		}
}
