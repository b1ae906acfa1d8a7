/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Random wavefronts over ranks, compared number by number with a plain computation, and wavefronts
 * that must fail. mpirun starts it: waves.sh.
 *
 * Usage: waves random SEED COUNT [delays]
 *        waves memory
 *        waves rung
 *        waves CASE
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <heddle/mpi.h>

#include "tests/mpi/arrays.h"
#include "tests/mpi/memory.h"

static uint32_t mix(uint32_t a, uint32_t b)
{
	return (a ^ b) * 2654435761u + (b >> 7) + 1;
}

/* ---- arrays of which every rank has its part ---- */

enum { HALO, INPUT, OUTPUT, ROW, STATE, LETTER, TABLE, NARRAYS, MAXOFFSETS = 4 };
static const enum heddle_extent extents[NARRAYS] = {
    HEDDLE_FIELD_HALO, HEDDLE_FIELD,   HEDDLE_FIELD, HEDDLE_ROWS,
    HEDDLE_COLUMNS,    HEDDLE_COLUMNS, HEDDLE_ALL};

struct program {
	size_t rows, columns, sweeps, right; /* columns to the right that STATE is read */
	unsigned noffsets;
	int offsets[MAXOFFSETS][2]; /* what is read of HALO: that many rows and columns back */
	unsigned delay_us;
	int slow; /* rank that takes 20 times as long; -1: none */
	struct array arrays[NARRAYS];
	struct heddle_wavefront wave;
	struct heddle_mpi_place places[NARRAYS];
};

static uint32_t initial(int array, size_t element)
{
	return mix(array, element);
}

/* ---- what an iteration computes ---- */

/* Windows of arrays: element 0 of those of rows is that of row `row`. */
struct view {
	uint32_t *of[NARRAYS];
	size_t ld[NARRAYS], row;
};

static uint32_t *at(const struct program *program, const struct view *view, int array, size_t i,
                    size_t j)
{
	size_t per = program->arrays[array].per;

	return view->of[array] +
	       ((ptrdiff_t)i - (ptrdiff_t)view->row) * (ptrdiff_t)view->ld[array] + j * per;
}

static uint32_t neighbours(const struct program *program, const struct view *view, size_t i,
                           size_t j, size_t rows, size_t columns)
{
	uint32_t v = *at(program, view, HALO, i, j);

	for (unsigned o = 0; o < program->noffsets; o++) {
		long r = (long)i - program->offsets[o][0], c = (long)j - program->offsets[o][1];

		if (r >= 0 && r < (long)rows && c >= 0 && c < (long)columns)
			v = mix(v, *at(program, view, HALO, r, c));
	}
	return v;
}

static void iterate(const struct program *program, const struct view *view, size_t sweep, size_t i,
                    size_t j, size_t rows, size_t columns)
{
	const struct array *arrays = program->arrays;
	uint32_t *row = view->of[ROW] + (i - view->row) * arrays[ROW].per;
	uint32_t *state = view->of[STATE] + j * arrays[STATE].per;
	uint32_t v = neighbours(program, view, i, j, rows, columns);

	for (size_t e = 0; e < arrays[INPUT].per; e++)
		v = mix(v, at(program, view, INPUT, i, j)[e]);
	v = mix(v, *row + *state);
	if (j + program->right < columns)
		v = mix(v, state[program->right * arrays[STATE].per]);
	v = mix(v, view->of[LETTER][j * arrays[LETTER].per] +
	               view->of[TABLE][(i + j) % arrays[TABLE].units]);
	for (size_t e = 0; e < arrays[ROW].per; e++)
		row[e] = v + e;
	if (arrays[STATE].mode == STARPU_RW)
		for (size_t e = 0; e < arrays[STATE].per; e++)
			state[e] = v + e;
	for (size_t e = 0; e < arrays[OUTPUT].per; e++)
		at(program, view, OUTPUT, i, j)[e] = mix(v, sweep + e);
	*at(program, view, HALO, i, j) = v;
}

static void compute(void *buffers[], void *arg)
{
	const struct heddle_tile *tile = arg;
	const struct program *program = tile->arg;
	struct view view = {.row = tile->row};

	for (int a = 0; a < NARRAYS; a++) {
		bool matrix = program->arrays[a].matrix;

		view.of[a] = (uint32_t *)(matrix ? STARPU_MATRIX_GET_PTR(buffers[a])
		                                 : STARPU_VECTOR_GET_PTR(buffers[a]));
		view.ld[a] = matrix ? STARPU_MATRIX_GET_LD(buffers[a]) : 0;
	}
	if (program->delay_us)
		usleep(mix(program->delay_us, rank) % program->delay_us *
		       (program->slow == rank ? 20 : 1));
	for (size_t r = 0; r < tile->rows; r++)
		for (size_t c = heddle_tile_begin(tile, r); c < heddle_tile_end(tile, r); c++)
			iterate(program, &view, tile->sweep, tile->row + r, c, tile->total_rows,
			        tile->total_columns);
}

static struct starpu_codelet codelet = {.cpu_funcs = {compute}, .name = "random"};

/* ---- programs ---- */

static void shape_choose(struct program *program, int number, unsigned *seed)
{
	struct array *array = &program->arrays[number];
	enum heddle_extent extent = extents[number];
	size_t n = extent == HEDDLE_COLUMNS ? program->columns : program->rows;

	array->per = number == HALO ? 1 : 1 + rand_r(seed) % 3;
	array->matrix = extent == HEDDLE_FIELD || extent == HEDDLE_FIELD_HALO;
	array->nx = array->matrix ? program->columns * array->per : 1;
	array->ld = array->nx + (array->matrix ? rand_r(seed) % 3 : 0);
	array->units = array->matrix ? n : n * array->per;
	array->units += rand_r(seed) % 3;
	if (extent == HEDDLE_ALL)
		array->units = 1 + rand_r(seed) % 50;
	array->mode = number == OUTPUT                  ? STARPU_W
	              : number == HALO || number == ROW ? STARPU_RW
	                                                : STARPU_R;
}

static void vector_add(struct program *program, int sweep, int row, int column)
{
	program->wave.vectors[program->wave.nvectors++] =
	    (struct heddle_dependence){.row = row, .column = column, .sweep = sweep};
}

/* What comes earlier in the loop was written in this sweep, and is overwritten in the next one;
 * what comes later was written in the sweep before, and is overwritten in this one. */
static void offsets_choose(struct program *program, unsigned *seed)
{
	program->noffsets = rand_r(seed) % (MAXOFFSETS + 1);
	for (unsigned o = 0; o < program->noffsets; o++) {
		int *offset = program->offsets[o];
		int way;

		offset[0] = rand_r(seed) % 5 - 2;
		offset[1] = rand_r(seed) % 5 - 2;
		if (!offset[0] && !offset[1])
			offset[0] = 1;
		way = offset[0] > 0 || (!offset[0] && offset[1] > 0) ? 1 : -1;
		vector_add(program, 0, way * offset[0], way * offset[1]);
		vector_add(program, 1, -way * offset[0], -way * offset[1]);
	}
	if (program->arrays[STATE].mode == STARPU_RW && rand_r(seed) % 2) {
		program->right = rand_r(seed) % 3;
		vector_add(program, 0, 1, -(int)program->right);
	}
}

static void program_choose(struct program *program, unsigned *seed, bool delays)
{
	static const char *const strategies[] = {NULL, "hdss", "gss", "css:chunk=7", "static"};
	struct heddle_wavefront *wave = &program->wave;

	program->rows = rand_r(seed) % 8 ? 1 + rand_r(seed) % 200 : rand_r(seed) % 8;
	program->columns = rand_r(seed) % 8 ? 1 + rand_r(seed) % 200 : rand_r(seed) % 4;
	program->sweeps = rand_r(seed) % 2 ? 1 + rand_r(seed) % 6 : 1;
	program->delay_us = delays && rand_r(seed) % 2 ? 1 + rand_r(seed) % 200 : 0;
	program->slow = rand_r(seed) % 2 ? rand_r(seed) % nranks : -1;
	for (int a = 0; a < NARRAYS; a++)
		shape_choose(program, a, seed);
	if (program->sweeps == 1 && rand_r(seed) % 2)
		program->arrays[STATE].mode = STARPU_RW;
	offsets_choose(program, seed);
	for (int a = 0; a < NARRAYS; a++)
		layout_choose(&program->arrays[a], a >= STATE, seed);
	wave->tile_columns = rand_r(seed) % 2 ? 1 + rand_r(seed) % 40 : 0;
	wave->bands_per_worker = rand_r(seed) % 2 ? 1 + rand_r(seed) % 6 : 0;
	wave->strategy = strategies[rand_r(seed) % (program->sweeps > 1 ? 2 : 5)];
}

static void program_make(struct program *program)
{
	struct heddle_wavefront *wave = &program->wave;

	wave->codelet = &codelet;
	wave->rows = program->rows;
	wave->columns = program->columns;
	wave->sweeps = program->sweeps;
	wave->arg = program;
	wave->narrays = NARRAYS;
	for (int a = 0; a < NARRAYS; a++) {
		array_make(&program->arrays[a], a, initial);
		program->places[a] = program->arrays[a].place;
		wave->arrays[a] =
		    (struct heddle_wave_array){program->arrays[a].handle, program->arrays[a].mode,
		                               extents[a], program->arrays[a].per};
	}
}

/* What all arrays are to be afterwards. */
static void program_expect(struct program *program)
{
	struct view view = {.row = 0};

	for (int a = 0; a < NARRAYS; a++) {
		view.of[a] = program->arrays[a].want;
		view.ld[a] = program->arrays[a].nx;
	}
	for (size_t s = 0; s < program->sweeps; s++)
		for (size_t i = 0; i < program->rows; i++)
			for (size_t j = 0; j < program->columns; j++)
				iterate(program, &view, s, i, j, program->rows, program->columns);
}

static void ranks_check(const struct program *program, const struct heddle_mpi_wave_rank *ranks,
                        const struct heddle_wavefront_stats *stats)
{
	size_t next = 0, all = 0, own = 0, want;

	/* Of several bands a worker the first ones come first. */
	for (int r = 0; r < nranks; r++) {
		if (ranks[r].rows &&
		    (stats->bands_per_worker == 1 ? ranks[r].first != next : ranks[r].first < next))
			wrong("the first row of a rank", r);
		next = ranks[r].first +
		       (stats->bands_per_worker == 1 ? ranks[r].rows : ranks[r].rows > 0);
		all += ranks[r].rows;
	}
	if (program->rows && program->columns && all != program->rows)
		wrong("rows of all ranks", all);
	for (unsigned w = 0; w < stats->nworkers; w++)
		own += stats->workers[w].iterations;
	want = ranks[rank].rows * program->columns * program->sweeps;
	if (own != want)
		wrong("iterations of this rank's workers", own);
}

static void program_check(struct program *program)
{
	static const char *const names[NARRAYS] = {"the field", "the input", "the output", "a row",
	                                           "the state", "a letter",  "the table"};

	for (int a = 0; a < NARRAYS; a++) {
		struct array *array = &program->arrays[a];

		if (array->handle && starpu_data_acquire(array->handle, STARPU_R))
			wrong("an array cannot be read", a);
		array_check(array, names[a]);
		if (array->handle) {
			starpu_data_release(array->handle);
			starpu_data_unregister(array->handle);
		}
		free(array->part);
		free(array->want);
		free(array->first);
	}
}

static void program_run(unsigned *seed, bool delays, MPI_Comm comm)
{
	struct heddle_mpi_wave_rank *ranks = calloc(nranks, sizeof(*ranks));
	struct heddle_wavefront_stats *stats = calloc(1, sizeof(*stats));
	struct program *program = calloc(1, sizeof(*program));
	int status;

	program_choose(program, seed, delays);
	program_make(program);
	if (delays)
		usleep(mix(*seed, rank) % 20000);
	status = heddle_mpi_wavefront_run(&program->wave, comm, program->places, ranks, stats);
	if (status)
		wrong("the wavefront failed", -status);
	program_expect(program);
	if (!status)
		ranks_check(program, ranks, stats);
	program_check(program);
	if (failures)
		printf("rank %d: %zu rows (%zu here), %zu columns, %zu sweeps, h %zu, %u vectors\n",
		       rank, program->rows, ranks[rank].rows, program->columns, program->sweeps,
		       stats->tile_columns, program->wave.nvectors);
	free(program);
	free(ranks);
	free(stats);
}

static int run_random(unsigned seed, int count, bool delays)
{
	MPI_Comm turned;

	/* Now and then ranks have other numbers. */
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
	for (int i = 0; i < count && !failures; i++) {
		unsigned program_seed = mix(seed + i, 1);
		MPI_Comm comm = i % 4 == 3 ? turned : MPI_COMM_WORLD;

		MPI_Comm_rank(comm, &rank);
		program_run(&program_seed, delays, comm);
		if (failures)
			printf("program %d of seed %u\n", i, seed);
	}
	MPI_Comm_free(&turned);
	printf("rank %d: %d wavefronts, %d failures\n", rank, count, failures);
	return failures;
}

/* ---- wavefronts that must fail, or end the program ---- */

/* So few iterations that costs are not measured: all ranks get as many rows. */
enum { N = 150 };

/* Somewhere in the middle. */
static void compute_not(void *buffers[], void *arg)
{
	struct heddle_tile *tile = arg;
	const char *what = tile->arg;

	usleep(1000);
	if (tile->total_rows < N || tile->column < N / 4)
		return;
	if (!rank && !strcmp(what, "hang first"))
		raise(SIGSTOP);
	if (rank != 1)
		return;
	if (!strcmp(what, "fail"))
		tile->status = -EDOM;
	else if (!strcmp(what, "die"))
		raise(SIGKILL);
	else if (!strcmp(what, "exit"))
		_exit(3);
	else if (!strcmp(what, "hang"))
		raise(SIGSTOP);
}

static struct starpu_codelet fails = {.cpu_funcs = {compute_not}, .name = "fails"};
static struct starpu_codelet other = {.cpu_funcs = {compute_not}, .name = "other"};

/* What rank 1 has otherwise than others. */
static void differ(const char *what, struct heddle_wavefront *wave, struct heddle_mpi_place *place)
{
	struct heddle_wave_array *array = &wave->arrays[0];

	if (!strcmp(what, "rows"))
		wave->rows--;
	else if (!strcmp(what, "columns"))
		wave->columns--;
	else if (!strcmp(what, "sweeps"))
		wave->sweeps--;
	else if (!strcmp(what, "tiles"))
		wave->tile_columns = 7;
	else if (!strcmp(what, "bands"))
		wave->bands_per_worker = 2;
	else if (!strcmp(what, "vector"))
		wave->vectors[0].column = 2;
	else if (!strcmp(what, "vectors"))
		wave->nvectors--;
	else if (!strcmp(what, "backwards"))
		wave->vectors[0].column = -1;
	else if (!strcmp(what, "codelet"))
		wave->codelet = &other;
	else if (!strcmp(what, "mode"))
		array->mode = STARPU_R;
	else if (!strcmp(what, "extent"))
		array->extent = HEDDLE_FIELD;
	else if (!strcmp(what, "layout"))
		place->layout = HEDDLE_MPI_BLOCKS;
	else if (!strcmp(what, "strategy"))
		wave->strategy = "none";
}

/* ---- memory ---- */

enum { WIDTH = 4000 };

static void add_above(void *buffers[], void *arg)
{
	const struct heddle_tile *tile = arg;
	uint32_t *field = (uint32_t *)STARPU_MATRIX_GET_PTR(buffers[0]);
	size_t ld = STARPU_MATRIX_GET_LD(buffers[0]);

	for (size_t r = 0; r < tile->rows; r++)
		for (size_t c = heddle_tile_begin(tile, r); c < heddle_tile_end(tile, r); c++)
			field[r * ld + c] +=
			    tile->row + r ? *(&field[r * ld + c] - ld) : (uint32_t)c;
}

static struct starpu_codelet adds = {.cpu_funcs = {add_above}, .name = "add_above"};

/* The field lies on rank 0. The others have the rows that they compute, and one above, however
 * often they compute them. */
static void memory_run(size_t rows, size_t sweeps, size_t tile_columns)
{
	const size_t row_bytes = sizeof(uint32_t[WIDTH]);
	struct heddle_mpi_place place = {HEDDLE_MPI_ON_RANK, 0};
	struct heddle_mpi_wave_rank *ranks = calloc(nranks, sizeof(*ranks));
	struct heddle_wavefront wave = {.codelet = &adds,
	                                .rows = rows,
	                                .columns = WIDTH,
	                                .sweeps = sweeps,
	                                .nvectors = 2,
	                                .vectors = {{.row = 1}, {.sweep = 1, .row = -1}},
	                                .tile_columns = tile_columns,
	                                .narrays = 1};
	uint32_t *field = NULL;
	char what[64];
	int status;

	if (!rank) {
		field = calloc(rows, row_bytes);
		starpu_matrix_data_register(&wave.arrays[0].handle, STARPU_MAIN_RAM,
		                            (uintptr_t)field, WIDTH, WIDTH, rows, sizeof(*field));
	}
	wave.arrays[0].mode = STARPU_RW;
	wave.arrays[0].extent = HEDDLE_FIELD_HALO;
	memory_begin();
	status = heddle_mpi_wavefront_run(&wave, MPI_COMM_WORLD, &place, ranks, NULL);
	snprintf(what, sizeof(what), "%zu rows here, %zu sweeps", ranks[rank].rows, sweeps);
	memory_check(what, (ranks[rank].rows + 2) * row_bytes);
	if (status)
		wrong("the wavefront failed", -status);
	if (!rank) {
		starpu_data_unregister(wave.arrays[0].handle);
		for (size_t c = 0; c < WIDTH; c++)
			if (field[c] != (uint32_t)(c * sweeps))
				wrong("a number of the first row", c);
		free(field);
	}
	free(ranks);
}

static int run_memory(void)
{
	memory_run(400, 1, 50);
	memory_run(400, 1, 50);
	memory_run(400, 40, 50);
	memory_run(4000, 1, 50);
	printf("rank %d: %d failures\n", rank, failures);
	return failures;
}

/* ---- bells ---- */

/* Longer than a rank sleeps while it waits for what nobody rings for. */
static const double LONG_S = 0.002;
static bool patient; /* who sleeps so long does so until somebody rings */

long syscall(long number, ...)
{
	static long (*real)(long number, ...);
	struct timespec now, *until;
	va_list list;
	long a[6];

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (patient && number == SYS_futex && a[1] == FUTEX_WAIT_BITSET && a[3]) {
		until = (struct timespec *)a[3];
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (until->tv_sec - now.tv_sec + 1e-9 * (until->tv_nsec - now.tv_nsec) > LONG_S)
			a[3] = 0;
	}
	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Messages that MPI sends at once, and such as it sends when the other rank wants them. */
static int run_rung(void)
{
	const size_t tiles[] = {50, WIDTH / 4, WIDTH};

	patient = true;
	for (int i = 0; i < 3; i++)
		memory_run(40, 40, tiles[i]);
	patient = false;
	printf("rank %d: %d failures\n", rank, failures);
	return failures;
}

/* The same wavefront on all ranks but for rank 1, which wants what the case says. */
static int run_case(const char *what)
{
	static uint32_t data[(N + 1) * N], more[N * N];
	starpu_data_handle_t handle, second;
	struct heddle_mpi_place places[2] = {{HEDDLE_MPI_EVERYWHERE, 0},
	                                     {HEDDLE_MPI_EVERYWHERE, 0}};
	struct heddle_wavefront wave = {.codelet = &fails,
	                                .rows = N,
	                                .columns = N,
	                                .sweeps = 2,
	                                .nvectors = 4,
	                                .vectors = {{.column = 1},
	                                            {.row = 1},
	                                            {.sweep = 1, .column = -1},
	                                            {.sweep = 1, .row = -1}},
	                                .tile_columns = 8,
	                                .arg = what,
	                                .narrays = 2};
	bool me = rank == 1;
	int status;

	if (!strcmp(what, "memory"))
		return run_memory();
	if (!strcmp(what, "rung"))
		return run_rung();
	if ((me && !strcmp(what, "absent")) || (!rank && !strcmp(what, "absent first")))
		pause();
	starpu_matrix_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)data, N, N,
	                            me && !strcmp(what, "length") ? N + 1 : N, sizeof(*data));
	starpu_matrix_data_register(&second, STARPU_MAIN_RAM,
	                            (uintptr_t)(me && !strcmp(what, "overlap") ? data : more), N, N,
	                            N, sizeof(*more));
	wave.arrays[0] = (struct heddle_wave_array){handle, STARPU_RW, HEDDLE_FIELD_HALO, 1};
	wave.arrays[1] = (struct heddle_wave_array){second, STARPU_R, HEDDLE_FIELD, 1};
	if (me)
		differ(what, &wave, &places[0]);
	if (!strcmp(what, "beyond"))
		wave.rows++;
	if (!strcmp(what, "rank"))
		places[0] = (struct heddle_mpi_place){HEDDLE_MPI_ON_RANK, nranks};
	status = heddle_mpi_wavefront_run(&wave, MPI_COMM_WORLD, places, NULL, NULL);
	/* A failure does not spoil the communicator. */
	if (!strcmp(what, "fail")) {
		wave.arg = "";
		printf("rank %d: again: %d\n", rank,
		       heddle_mpi_wavefront_run(&wave, MPI_COMM_WORLD, places, NULL, NULL));
	}
	starpu_data_unregister(handle);
	starpu_data_unregister(second);
	printf("rank %d: %s: %d (%s)\n", rank, what, status, strerror(-status));
	return status ? 0 : 1;
}
