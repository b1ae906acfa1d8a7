/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Computes a strip of at most LANES rows, one a lane, over a run of columns. cpu.c includes this
 * file once for each instruction set.
 */

/* Positions count from the beginning of the run in each row, which lies one column further to the
 * left with every row. In step t lane l is at position t - l. So the lane before computed, one step
 * ago, the error at the same position of the row above, which is one column to the right, and
 * earlier those to the left of it.
 *
 * cpu.c defines
 *
 *   LANES         16-bit numbers in a vector
 *   STRIP(name)   the name for this instruction set
 *   TARGET        attribute of functions
 *   NEXT(v, x)    v moved up by a lane, x in the first
 *   CLAMP(v)      v within 0 … 255 */

typedef int16_t STRIP(vector) __attribute__((vector_size(2 * LANES)));
typedef uint16_t STRIP(unsigned) __attribute__((vector_size(2 * LANES)));
typedef int16_t STRIP(loose) __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

/* Steps first … last - 1. In guarded ones some lane is not in the run, or not in the
 * image: it takes an error that is known. */
#define RUN_STEPS(first, last, guarded)                                                            \
	for (ptrdiff_t step = first; step < (ptrdiff_t)(last); step++) {                           \
		loose *pixels = (loose *)(strip->pixels + step * MOST_LANES);                      \
		vector up = NEXT(e, strip->above[step]);                                           \
		vector sum = (e << 3) - e + up + up + up + 8 + up1 + (up1 << 2) + up2;             \
		vector v = *pixels + (sum >> 4);                                                   \
		unsigned_vector q = (unsigned_vector)CLAMP(v) * top + 128;                         \
                                                                                                   \
		q = (q + (q >> 8)) >> 8;                                                           \
		q = (q * factor + bias) >> 8;                                                      \
		e = v - (vector)q;                                                                 \
		if (guarded) {                                                                     \
			int16_t known[LANES], computed[LANES];                                     \
                                                                                                   \
			guard_lanes(strip, step, LANES, known, computed);                          \
			e = (e & *(loose *)computed) | *(loose *)known;                            \
		}                                                                                  \
		*pixels = (vector)q;                                                               \
		*(loose *)(strip->errors + step * MOST_LANES) = e;                                 \
		up2 = up1;                                                                         \
		up1 = up;                                                                          \
	}

TARGET static void STRIP(run)(const struct strip *strip)
{
	typedef STRIP(vector) vector;
	typedef STRIP(unsigned) unsigned_vector;
	typedef STRIP(loose) loose;
	const vector zero = {0};
	const unsigned_vector top = (unsigned_vector)zero + (uint16_t)strip->top;
	const unsigned_vector factor = (unsigned_vector)zero + (uint16_t)strip->factor;
	const unsigned_vector bias = (unsigned_vector)zero + (uint16_t)strip->bias;
	vector before = zero, e, up1, up2 = zero + strip->above[-2];
	ptrdiff_t end = strip->columns + strip->nrows - 1, from, to;

	for (int l = 0; l < strip->nrows; l++)
		before[l] = strip->rows[l * strip->channels].before;
	up1 = NEXT(before, strip->above[-1]);
	e = before;
	e[0] = strip->rows[0].left;
	/* All lanes are in the run and in the image from step `from` to `to`. */
	from = LANES - 1;
	if (from < 2 * (LANES - 1) - strip->first)
		from = 2 * (LANES - 1) - strip->first;
	to = strip->columns;
	if (to > strip->width - strip->first)
		to = strip->width - strip->first;
	if (strip->nrows < LANES || from > to)
		from = to = end;
	RUN_STEPS(0, from, 1)
	RUN_STEPS(from, to, 0)
	RUN_STEPS(to, end, 1)
}

#undef RUN_STEPS
#undef LANES
#undef STRIP
#undef TARGET
#undef NEXT
#undef CLAMP
