/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The CPU version for one type of sums (SUM) and one type of quotients (REAL); cpu.c includes this
 * file once for each pair, with a NAME(x). Sums of columns over the window's rows are updated from
 * row to row by vector instructions: the new row is added, the old one subtracted. A running sum
 * does the same with columns along the row. Then all sums of the row are divided.
 */

struct NAME(state) {
	size_t n;       /* bytes of a row */
	size_t margin;  /* bytes that a window reaches to either side; zero sums stand there */
	SUM *columns;   /* n sums with margins; points to the first real one */
	SUM *sums;      /* n sums of windows */
	REAL *bias;     /* per byte: what is added before … */
	REAL *inverse;  /* … and what is multiplied with, to divide with rounding */
	size_t counted; /* rows that these two stand for */
};

ISA_BODY void NAME(add)(struct NAME(state) * state, const unsigned char *restrict row)
{
	SUM *restrict columns = state->columns;

	for (size_t i = 0; i < state->n; i++)
		columns[i] += row[i];
}

ISA_BODY void NAME(subtract)(struct NAME(state) * state, const unsigned char *restrict row)
{
	SUM *restrict columns = state->columns;

	for (size_t i = 0; i < state->n; i++)
		columns[i] -= row[i];
}

ISA_BODY void NAME(replace)(struct NAME(state) * state, const unsigned char *restrict in,
                            const unsigned char *restrict out)
{
	SUM *restrict columns = state->columns;

	for (size_t i = 0; i < state->n; i++)
		columns[i] += (SUM)in[i] - (SUM)out[i];
}

/* The number of channels is known at compile time where this is called, so that the
 * running sums stay in registers. */
ISA_BODY void NAME(run_along)(struct NAME(state) * state, const size_t channels)
{
	const SUM *restrict enter = state->columns + state->margin;
	const SUM *restrict leave = state->columns - state->margin - channels;
	SUM *restrict sums = state->sums;
	SUM running[3] = {0};

	for (size_t i = 0; i < state->margin; i += channels)
#pragma GCC unroll 3
		for (size_t c = 0; c < channels; c++)
			running[c] += state->columns[i + c];
	/* First all changes, by vector instructions; then one addition waits for the
	 * one before. */
	for (size_t i = 0; i < state->n; i++)
		sums[i] = enter[i] - leave[i];
	for (size_t i = 0; i < state->n; i += channels)
#pragma GCC unroll 3
		for (size_t c = 0; c < channels; c++) {
			running[c] += sums[i + c];
			sums[i + c] = running[c];
		}
}

/* Division by multiplication. With N = sum + count/2, (N + ½) / count is at least
 * ½/count away from any integer, and the quotient is below 256: a product with a
 * relative error below 1/(512 count) is cut off to the right integer. Two
 * roundings of a float err by 2^-23 (count < 2^14), of a double by 2^-52. */
ISA_BODY void NAME(prepare_division)(struct NAME(state) * state, const struct boxfilter_band *band,
                                     size_t rows)
{
	const size_t channels = band->window.channels;

	if (state->counted == rows)
		return;
	for (size_t x = 0; x < band->width; x++) {
		size_t count = rows * boxfilter_span(x, band->window.radius, band->width);

		for (size_t c = 0; c < channels; c++) {
			state->bias[x * channels + c] = (REAL)(count / 2) + (REAL)0.5;
			state->inverse[x * channels + c] = (REAL)1 / (REAL)count;
		}
	}
	state->counted = rows;
}

ISA_BODY void NAME(divide)(const struct NAME(state) * state, unsigned char *restrict out)
{
	const SUM *restrict sums = state->sums;
	const REAL *restrict bias = state->bias, *restrict inverse = state->inverse;

	for (size_t i = 0; i < state->n; i++)
		out[i] = (int)(((REAL)(SIGNED)sums[i] + bias[i]) * inverse[i]);
}

/* Moves the window from row y - 1 of the output to row y. */
ISA_BODY void NAME(move_down)(struct NAME(state) * state, const struct boxfilter_band *band,
                              const unsigned char *in, size_t y)
{
	size_t centre = band->above + y, radius = band->window.radius;
	bool enters = radius < band->input_rows && centre + radius < band->input_rows;
	bool leaves = centre > radius;
	const unsigned char *entering = in + (enters ? centre + radius : 0) * band->in_stride;
	const unsigned char *leaving = in + (leaves ? centre - radius - 1 : 0) * band->in_stride;

	if (enters && leaves)
		NAME(replace)(state, entering, leaving);
	else if (enters)
		NAME(add)(state, entering);
	else if (leaves)
		NAME(subtract)(state, leaving);
}

ISA_BODY void NAME(filter_body)(struct NAME(state) * state, const struct boxfilter_band *band,
                                const unsigned char *in, unsigned char *out)
{
	size_t radius = band->window.radius;
	size_t from = band->above < radius ? 0 : band->above - radius;
	size_t to = from + boxfilter_span(band->above, radius, band->input_rows);

	for (size_t row = from; row < to; row++)
		NAME(add)(state, in + row * band->in_stride);
	for (size_t y = 0; y < band->rows; y++) {
		if (y)
			NAME(move_down)(state, band, in, y);
		if (band->window.channels == 1)
			NAME(run_along)(state, 1);
		else
			NAME(run_along)(state, 3);
		NAME(prepare_division)
		(state, band, boxfilter_span(band->above + y, radius, band->input_rows));
		NAME(divide)(state, out + y * band->out_stride);
	}
}

ISA_VARIANTS(NAME(filter),
             (struct NAME(state) * state, const struct boxfilter_band *band,
              const unsigned char *in, unsigned char *out),
             (state, band, in, out));

static int NAME(run)(enum codelet_isa isa, const struct boxfilter_band *band,
                     const unsigned char *in, unsigned char *out)
{
	/* A window that reaches beyond both ends of a row has the same sums whatever its width. */
	size_t reach = band->window.radius < band->width ? band->window.radius : band->width - 1;
	struct NAME(state) state = {
	    .n = band->width * band->window.channels,
	    .margin = reach * band->window.channels,
	};
	size_t front = state.margin + band->window.channels;
	SUM *columns = calloc(front + state.n + state.margin, sizeof(SUM));

	state.sums = malloc(state.n * sizeof(SUM));
	state.bias = malloc(state.n * sizeof(REAL));
	state.inverse = malloc(state.n * sizeof(REAL));
	if (columns && state.sums && state.bias && state.inverse) {
		state.columns = columns + front;
		NAME(filter_variants)[isa](&state, band, in, out);
	}
	free(columns);
	free(state.sums);
	free(state.bias);
	free(state.inverse);
	return columns && state.sums && state.bias && state.inverse ? 0 : -ENOMEM;
}
