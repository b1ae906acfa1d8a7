/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parts of a wavefront in one process: each has memory of its own, and the test carries the
 * messages between them, as ranks do. A part may have several ranges of rows: then messages go from
 * the last part to the first, too.
 */
#include "config.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <starpu.h>

#include <heddle/heddle.h>

#include "partition/wavefront/part.h"
#include "tests/unit/test.h"

enum { MOST = 3, RANGES = 4, ROUNDS = 40 };

static bool brief; /* HEDDLE_TEST_SHORT: fewer rounds */

static uint32_t mix(uint32_t a, uint32_t b)
{
	return (a ^ b) * 2654435761u + (b >> 7) + 1;
}

/* A field whose elements depend on those above and below and on the left and right, and a state
 * that passes from row to row, in one sweep. */
static void iterate(uint32_t *element, size_t ld, uint32_t *state, size_t i, size_t j, size_t rows,
                    size_t columns, bool writes)
{
	uint32_t v = mix(*element, *state + i * 31 + j);

	v = mix(v, i ? element[-(ptrdiff_t)ld] : 1);
	v = mix(v, j ? element[-1] : 2);
	v = mix(v, i && j + 1 < columns ? element[1 - (ptrdiff_t)ld] : 3);
	v = mix(v, i + 1 < rows ? element[ld] : 4);
	*element = v;
	if (writes)
		*state = v;
}

static void compute(void *buffers[], void *arg)
{
	const struct heddle_tile *tile = arg;
	uint32_t *field = (uint32_t *)STARPU_MATRIX_GET_PTR(buffers[0]);
	uint32_t *state = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[1]);
	size_t ld = STARPU_MATRIX_GET_LD(buffers[0]);

	for (size_t r = 0; r < tile->rows; r++)
		for (size_t c = heddle_tile_begin(tile, r); c < heddle_tile_end(tile, r); c++)
			iterate(&field[r * ld + c], ld, &state[c], tile->row + r, c,
			        tile->total_rows, tile->total_columns, *(const bool *)tile->arg);
}

static struct starpu_codelet codelet = {.cpu_funcs = {compute}, .name = "parts"};

struct piece {
	struct wave_part part;
	struct wave_range ranges[RANGES];
	struct heddle_wavefront_request *request;
	uint32_t *field, *state;
	starpu_data_handle_t handles[2];
	size_t sent[NSIDES]; /* messages */
	struct wave_traffic traffic[NSIDES];
	bool released;
};

static void changed(void *arg)
{
	(void)arg;
}

/* Adds rows to a part, those around them too. All rows before them are others'. */
static void range_add(struct piece *piece, const struct heddle_wavefront *wave,
                      const uint32_t *field, size_t first, size_t rows, size_t *room)
{
	size_t bytes = wave->columns * sizeof(*field), begin = first - (first > 0);
	size_t end = first + rows + (first + rows < wave->rows);

	piece->ranges[piece->part.nranges++] =
	    (struct wave_range){.first = first,
	                        .rows = rows,
	                        .row = {begin - *room, 0},
	                        .beyond = {first > 0, first + rows < wave->rows}};
	piece->field = realloc(piece->field, (*room + end - begin) * bytes);
	memcpy((char *)piece->field + *room * bytes, (const char *)field + begin * bytes,
	       (end - begin) * bytes);
	*room += end - begin;
}

static void piece_begin(struct piece *piece, const struct heddle_wavefront *whole,
                        const uint32_t *state, size_t room)
{
	struct heddle_wavefront wave = *whole;
	size_t columns = wave.columns;

	piece->state = malloc(columns * sizeof(*state));
	memcpy(piece->state, state, columns * sizeof(*state));
	starpu_matrix_data_register(&piece->handles[0], STARPU_MAIN_RAM, (uintptr_t)piece->field,
	                            columns, columns, room, sizeof(*piece->field));
	starpu_vector_data_register(&piece->handles[1], STARPU_MAIN_RAM, (uintptr_t)piece->state,
	                            columns, sizeof(*state));
	for (int a = 0; a < 2; a++)
		wave.arrays[a].handle = piece->handles[a];
	piece->part.ranges = piece->ranges;
	piece->part.changed = changed;
	assert_int_equal(wave_part_submit(&wave, &piece->part, &piece->request), 0);
	for (enum wave_side side = ABOVE; side < NSIDES; side++)
		wave_part_traffic(piece->request, side, &piece->traffic[side]);
}

/* @return whether all messages have come and gone */
static bool carry(struct piece *pieces, int n)
{
	bool over = true;

	for (int p = 0; p < n; p++) {
		/* BELOW: of the upper. */
		struct piece *ends[NSIDES] = {&pieces[(p + 1) % n], &pieces[p]};

		for (enum wave_side side = ABOVE; side < NSIDES; side++) {
			struct piece *from = ends[side], *to = ends[!side];
			char *buffer = malloc(from->traffic[side].bytes + 1);

			assert_int_equal(from->traffic[side].going, to->traffic[!side].coming);
			if (from->traffic[side].going)
				assert_int_equal(from->traffic[side].bytes,
				                 to->traffic[!side].bytes);
			while (from->sent[side] < wave_part_ready(from->request, side)) {
				wave_part_take(from->request, side, buffer);
				wave_part_put(to->request, !side, buffer);
				from->sent[side]++;
			}
			over = over && from->sent[side] == from->traffic[side].going;
			free(buffer);
		}
	}
	return over;
}

static void piece_end(struct piece *piece, uint32_t *field, uint32_t *state, size_t columns)
{
	assert_int_equal(heddle_wavefront_wait(piece->request, NULL), 0);
	for (int a = 0; a < 2; a++)
		starpu_data_unregister(piece->handles[a]);
	for (unsigned r = 0; r < piece->part.nranges; r++) {
		const struct wave_range *range = &piece->ranges[r];

		memcpy(field + range->first * columns,
		       piece->field + (range->first - range->row[0]) * columns,
		       range->rows * columns * sizeof(*field));
	}
	memcpy(state, piece->state, columns * sizeof(*state));
	free(piece->field);
	free(piece->state);
}

/* The whole wavefront by so many parts of so many ranges; fills the field and the state with the
 * results. */
static void run_parts(const struct heddle_wavefront *wave, int n, int ranges, uint32_t *field,
                      uint32_t *state, unsigned *seed)
{
	struct piece pieces[MOST] = {{.request = NULL}};
	size_t first = 0, room[MOST] = {0};

	for (int q = 0; q < n * ranges; q++) {
		size_t left = wave->rows - first, rows = left;

		/* Two for each at least. */
		if (q + 1 < n * ranges)
			rows = 2 + rand_r(seed) % (left - 2 * (n * ranges - q) + 1) %
			               (2 * wave->rows / (n * ranges));
		range_add(&pieces[q % n], wave, field, first, rows, &room[q % n]);
		first += rows;
	}
	for (int p = 0; p < n; p++)
		piece_begin(&pieces[p], wave, state, room[p]);
	while (!carry(pieces, n))
		usleep(50);
	for (int p = 0; p < n; p++)
		wave_part_release(pieces[p].request);
	/* The last one has the last state. */
	for (int p = 0; p < n; p++)
		piece_end(&pieces[p], field, state, wave->columns);
}

static void test_parts(void **unused)
{
	unsigned seed = test_seed();
	int rounds = brief ? 6 : ROUNDS;

	for (int round = 0; round < rounds; round++) {
		int n = 1 + rand_r(&seed) % MOST;
		size_t sweeps = rand_r(&seed) % 3 ? 1 : 1 + rand_r(&seed) % 5;
		int ranges = sweeps > 1 || n == 1 ? 1 : 1 + rand_r(&seed) % RANGES;
		size_t rows = 2 * n * ranges + rand_r(&seed) % 60, columns = 1 + rand_r(&seed) % 90;
		bool writes = sweeps == 1;
		uint32_t *field = malloc(2 * rows * columns * sizeof(*field));
		uint32_t *state = malloc(2 * columns * sizeof(*state));
		uint32_t *want = field + rows * columns, *end = state + columns;
		struct heddle_wavefront wave = {
		    .codelet = &codelet,
		    .rows = rows,
		    .columns = columns,
		    .sweeps = sweeps,
		    .nvectors = 6,
		    .vectors = {{.row = 1},
		                {.column = 1},
		                {.row = 1, .column = -1},
		                {.sweep = 1, .row = -1},
		                {.sweep = 1, .column = -1},
		                {.sweep = 1, .row = -1, .column = 1}},
		    .narrays = 2,
		    .arrays = {{.mode = STARPU_RW, .extent = HEDDLE_FIELD_HALO},
		               {.mode = writes ? STARPU_RW : STARPU_R, .extent = HEDDLE_COLUMNS}},
		    .arg = &writes,
		    .tile_columns = 1 + rand_r(&seed) % (columns < 20 ? columns : 20)};

		for (size_t e = 0; e < rows * columns; e++)
			want[e] = field[e] = rand_r(&seed);
		for (size_t e = 0; e < columns; e++)
			end[e] = state[e] = rand_r(&seed);
		for (size_t s = 0; s < sweeps; s++)
			for (size_t i = 0; i < rows; i++)
				for (size_t j = 0; j < columns; j++)
					iterate(&want[i * columns + j], columns, &end[j], i, j,
					        rows, columns, writes);
		run_parts(&wave, n, ranges, field, state, &seed);
		assert_memory_equal(field, want, rows * columns * sizeof(*field));
		assert_memory_equal(state, end, columns * sizeof(*state));
		free(field);
		free(state);
	}
}

/* A part that is stopped ends, whatever has come. */
static void test_stopped(void **unused)
{
	static uint32_t field[40 * 40], state[40];
	static bool writes;
	struct heddle_wavefront wave = {
	    .codelet = &codelet,
	    .rows = 40,
	    .columns = 40,
	    .nvectors = 3,
	    .vectors = {{.row = 1}, {.column = 1}, {.row = 1, .column = -1}},
	    .narrays = 2,
	    .arrays = {{.mode = STARPU_RW, .extent = HEDDLE_FIELD_HALO},
	               {.mode = STARPU_R, .extent = HEDDLE_COLUMNS}},
	    .arg = &writes,
	    .tile_columns = 5};
	struct piece piece = {.request = NULL};
	size_t room = 0;

	range_add(&piece, &wave, field, 10, 20, &room);
	piece_begin(&piece, &wave, state, room);
	wave_part_stop(piece.request, -ECANCELED);
	assert_int_equal(wave_part_status(piece.request), -ECANCELED);
	wave_part_release(piece.request);
	assert_int_equal(heddle_wavefront_wait(piece.request, NULL), -ECANCELED);
	for (int a = 0; a < 2; a++)
		starpu_data_unregister(piece.handles[a]);
	free(piece.field);
	free(piece.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts),
	                                   cmocka_unit_test(test_stopped)};
	int failed;

	brief = getenv("HEDDLE_TEST_SHORT");
	unsetenv("HEDDLE_TEST_SHORT"); /* no variable of Heddle's */
	setenv("STARPU_NCPU", "2", 0);
	setenv("HEDDLE_PROFILE", "0", 1);
	if (starpu_init(NULL))
		return 77;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	starpu_shutdown();
	return failed;
}
