/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Computes a strip of at most LANES rows, one a lane, over a run of columns. Lanes work on an
 * anti-diagonal: in step t lane l has column t - l, so that the lane before computed, one step ago,
 * the values of the row above. cpu.c includes this file once for each instruction set.
 */

/* cpu.c defines
 *
 *   LANES             32-bit numbers in a vector
 *   NEXT_LANE         the last of one vector, then all but the last of another
 *   STRIP(name)       the name for this instruction set
 *   TARGET            attribute of functions
 *   LARGER(a, b)      larger of two vectors, lane by lane
 *   WHERE_LARGER(a, b, x, y)  x where a is larger than b, else y
 *   LANE(v, which)    the lane of v that all lanes of `which` name; not through memory,
 *                     where a small load waits for a large store
 *   WIDEN(bytes)      LANES signed bytes from memory as 32-bit numbers */

typedef int32_t STRIP(vector) __attribute__((vector_size(4 * LANES)));

/* Scores in the order of the steps: the numbers of a column stand beside each other
 * and must move l steps down in lane l. That is done by powers of two: lanes with bit b
 * in their number move 2^b steps. */
TARGET static void STRIP(skew)(const struct strip *strip, int8_t *scores, int8_t *spare)
{
	size_t bytes = ((strip->ncolumns + LANES - 1) * LANES + 63) / 64 * 64;
	int8_t *from = scores, *to = spare;

	for (size_t j = 0; j < strip->ncolumns; j++)
		memcpy(from + j * LANES, strip->profile + strip->subject[j] * LANES, LANES);
	memset(from + strip->ncolumns * LANES, 0, bytes - strip->ncolumns * LANES);
	for (unsigned shift = 1; shift < LANES; shift *= 2) {
		int8_t *next = from;

		move_lanes(to, from, bytes, shift, LANES);
		from = to;
		to = next;
	}
	if (from != scores)
		memcpy(scores, from, bytes);
}

/* Steps first … last - 1. `guarded` ones are those where some lane is before its first or
 * behind its last column: it keeps what it has. */
#define RUN_STEPS(first, last, guarded)                                                            \
	for (ptrdiff_t step = first; step < (ptrdiff_t)(last); step++) {                           \
		const vector top_h = zero + strip->above_h[step];                                  \
		const vector top_f = zero + strip->above_f[step];                                  \
		vector up_h = __builtin_shuffle(top_h, h, next_lane);                              \
		vector up_f = __builtin_shuffle(top_f, f, next_lane);                              \
		vector score = WIDEN(scores + step * LANES);                                       \
		vector new_e = LARGER(e - extend, h - open);                                       \
		vector new_h = LARGER(LARGER(diagonal + score, floor), new_e);                     \
		vector now = lanes_at + (int32_t)step;                                             \
                                                                                                   \
		f = LARGER(up_f - extend, up_h - open);                                            \
		new_h = LARGER(new_h, f);                                                          \
		diagonal = up_h;                                                                   \
		if (guarded) {                                                                     \
			vector works = (now >= 0) & (now < (int32_t)ncolumns);                     \
                                                                                                   \
			new_h = (new_h & works) | (h & ~works);                                    \
			new_e = (new_e & works) | (e & ~works);                                    \
			final_diagonal = (diagonal & works) | (final_diagonal & ~works);           \
		}                                                                                  \
		h = new_h;                                                                         \
		e = new_e;                                                                         \
		best_at = WHERE_LARGER(h, best, now, best_at);                                     \
		best = LARGER(best, h);                                                            \
		if (!guarded || (step >= last_lane && step < ncolumns + last_lane)) {              \
			strip->below_h[step - last_lane] = LANE(h, below);                         \
			strip->below_f[step - last_lane] = LANE(f, below);                         \
		}                                                                                  \
	}

TARGET static void STRIP(run)(const struct strip *strip, int8_t *scores, int8_t *spare)
{
	typedef STRIP(vector) vector;
	const ptrdiff_t ncolumns = strip->ncolumns, last_lane = strip->nrows - 1;
	const vector zero = {0}, open = zero + strip->scoring->open;
	const vector extend = zero + strip->scoring->extend, floor = zero + strip->floor;
	const vector next_lane = NEXT_LANE, below = zero + (int32_t)last_lane;
	vector lanes_at, h = zero, e = zero, f = zero, best = zero, best_at = zero;
	vector diagonal = zero, final_diagonal = zero;
	ptrdiff_t head = LANES - 1 < ncolumns ? LANES - 1 : ncolumns;

	STRIP(skew)(strip, scores, spare);
	for (int l = 0; l < LANES; l++) {
		const struct strmatch_row *row = &strip->rows[l < strip->nrows ? l : 0];

		lanes_at[l] = -l;
		h[l] = row->h;
		e[l] = row->e;
		diagonal[l] = row->corner;
		best[l] = row->best;
		best_at[l] = -1;
	}
	final_diagonal = diagonal;
	RUN_STEPS(0, head, 1)
	RUN_STEPS(head, ncolumns, 0)
	final_diagonal = diagonal;
	RUN_STEPS(ncolumns, ncolumns + last_lane, 1)
	for (int l = 0; l < strip->nrows; l++) {
		struct strmatch_row *row = &strip->rows[l];

		row->h = h[l];
		row->e = e[l];
		row->corner = final_diagonal[l];
		row->best_at =
		    best[l] > row->best ? strip->first_column + best_at[l] : row->best_at;
		row->best = best[l];
	}
}

#undef RUN_STEPS
#undef LANES
#undef NEXT_LANE
#undef STRIP
#undef TARGET
#undef LARGER
#undef WHERE_LARGER
#undef WIDEN
#undef LANE
