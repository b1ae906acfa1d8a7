/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Random loops over ranks, compared number by number with a plain computation, and loops that must
 * fail. mpirun starts it: loops.sh.
 *
 * Usage: loops random SEED COUNT [delays]
 *        loops memory
 *        loops slow
 *        loops "failures SEED"
 *        loops dear
 *        loops CASE
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <heddle/mpi.h>

#include "tests/mpi/arrays.h"
#include "tests/mpi/memory.h"

/* ---- arrays of which every rank has its part ---- */

enum { INPUT, OUTPUT, TABLE, SUMS, NARRAYS };

struct program {
	size_t n, halo, delay_us;
	bool reads_output, sums;
	int slow; /* rank; -1: none */
	struct array arrays[NARRAYS];
	struct heddle_loop loop;
	struct heddle_mpi_place places[NARRAYS];
};

static uint32_t mix(uint32_t x)
{
	x = (x ^ x >> 16) * 0x45d9f3b;
	x = (x ^ x >> 16) * 0x45d9f3b;
	return x ^ x >> 16;
}

static uint32_t initial(int array, size_t element)
{
	return array == SUMS ? 7 : mix(element * 4 + array);
}

/* ---- what an iteration computes ---- */

/* Windows of arrays: element 0 of `input` is that of unit `input_first`. */
struct view {
	const uint32_t *input, *table;
	uint32_t *output, *sums;
	size_t input_first, input_ld, output_first, output_ld;
};

static void iterate(const struct program *program, const struct view *view, size_t i)
{
	const struct array *input = &program->arrays[INPUT], *output = &program->arrays[OUTPUT];
	size_t length = program->arrays[TABLE].units, begin = i * input->per;
	size_t end = begin + input->per + program->halo;
	uint32_t sum = mix(i);

	begin = begin > program->halo ? begin - program->halo : 0;
	end = end < input->units ? end : input->units;
	for (size_t u = begin; u < end; u++)
		for (size_t x = 0; x < input->nx; x++)
			sum = sum * 31 + view->input[(u - view->input_first) * view->input_ld + x];
	sum += view->table[i % length];
	for (size_t u = i * output->per; u < (i + 1) * output->per; u++)
		for (size_t x = 0; x < output->nx; x++) {
			uint32_t *at =
			    &view->output[(u - view->output_first) * view->output_ld + x];

			*at = (program->reads_output ? *at : 0) + mix(sum + u + x);
		}
	if (program->sums)
		view->sums[i % program->arrays[SUMS].units] += sum;
}

static const uint32_t *pointer(void *buffer, bool matrix, size_t *ld)
{
	*ld = matrix ? STARPU_MATRIX_GET_LD(buffer) : 1;
	return (const uint32_t *)(matrix ? STARPU_MATRIX_GET_PTR(buffer)
	                                 : STARPU_VECTOR_GET_PTR(buffer));
}

static void nap(const struct program *program, size_t iterations)
{
	size_t us = program->delay_us * iterations;

	if (program->slow == rank)
		us *= 20;
	if (us)
		usleep(us);
}

static void compute(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	const struct program *program = block->arg;
	const struct array *input = &program->arrays[INPUT];
	struct view view;
	size_t one;

	view.input = pointer(buffers[INPUT], input->matrix, &view.input_ld);
	view.output =
	    (uint32_t *)pointer(buffers[OUTPUT], program->arrays[OUTPUT].matrix, &view.output_ld);
	view.table = pointer(buffers[TABLE], false, &one);
	view.sums = program->sums ? (uint32_t *)pointer(buffers[SUMS], false, &one) : NULL;
	view.input_first =
	    block->start * input->per - heddle_block_before(block, input->per, program->halo);
	view.output_first = block->start * program->arrays[OUTPUT].per;
	if (block->total != program->n)
		wrong("the total of a block", block->start);
	nap(program, block->n);
	for (size_t i = block->start; i < block->start + block->n; i++)
		iterate(program, &view, i);
}

static struct starpu_codelet codelet = {.cpu_funcs = {compute}, .name = "random"};

static void add(void *into, const void *from, size_t bytes, void *arg)
{
	for (size_t e = 0; e < bytes / sizeof(uint32_t); e++)
		((uint32_t *)into)[e] += ((const uint32_t *)from)[e];
}

/* ---- programs ---- */

static void shape_choose(struct array *array, size_t n, unsigned *seed)
{
	array->per = 1 + rand_r(seed) % 3;
	array->matrix = rand_r(seed) % 2;
	array->nx = array->matrix ? 1 + rand_r(seed) % 5 : 1;
	array->ld = array->nx + (array->matrix ? rand_r(seed) % 3 : 0);
	array->units = n * array->per + rand_r(seed) % 5;
}

static void program_choose(struct program *program, unsigned *seed, bool delays)
{
	struct array *arrays = program->arrays;

	program->n = rand_r(seed) % 10 ? rand_r(seed) % 5000 : rand_r(seed) % 3;
	program->reads_output = rand_r(seed) % 2;
	program->sums = rand_r(seed) % 2;
	program->halo = rand_r(seed) % 3 ? rand_r(seed) % 20 : 0;
	program->slow = delays && rand_r(seed) % 2 ? rand_r(seed) % nranks : -1;
	program->delay_us = delays && rand_r(seed) % 2 ? rand_r(seed) % 10 : 0;
	shape_choose(&arrays[INPUT], program->n, seed);
	shape_choose(&arrays[OUTPUT], program->n, seed);
	arrays[TABLE] = (struct array){.units = 1 + rand_r(seed) % 100, .nx = 1, .ld = 1};
	arrays[SUMS] = (struct array){.units = 1 + rand_r(seed) % 100, .nx = 1, .ld = 1};
	for (int a = 0; a < NARRAYS; a++)
		layout_choose(&arrays[a], a >= TABLE, seed);
	/* Only where both arrays have the same parts ranks steal. */
	if (arrays[INPUT].place.layout != HEDDLE_MPI_BLOCKS || rand_r(seed) % 4 == 0)
		return;
	for (int r = 1; r < nranks; r++)
		arrays[INPUT].first[r] -= arrays[INPUT].first[r] % arrays[INPUT].per;
	arrays[OUTPUT].per = arrays[INPUT].per;
	arrays[OUTPUT].units = arrays[INPUT].units;
	arrays[OUTPUT].place = arrays[INPUT].place;
	memcpy(arrays[OUTPUT].first, arrays[INPUT].first, (nranks + 1) * sizeof(size_t));
}

static void program_make(struct program *program)
{
	struct heddle_loop *loop = &program->loop;
	struct array *arrays = program->arrays;

	for (int a = 0; a < NARRAYS; a++) {
		array_make(&arrays[a], a, initial);
		program->places[a] = arrays[a].place;
		loop->accesses[a].handle = arrays[a].handle;
		loop->accesses[a].per_iteration = arrays[a].per;
		loop->accesses[a].mode = STARPU_R;
	}
	loop->codelet = &codelet;
	loop->n = program->n;
	loop->arg = program;
	loop->naccesses = program->sums ? NARRAYS : NARRAYS - 1;
	if (program->halo) {
		loop->accesses[INPUT].share = HEDDLE_HALO;
		loop->accesses[INPUT].halo = program->halo;
	}
	loop->accesses[OUTPUT].mode = program->reads_output ? STARPU_RW : STARPU_W;
	loop->accesses[TABLE].share = HEDDLE_WHOLE;
	loop->accesses[SUMS].share = HEDDLE_REDUCE;
	loop->accesses[SUMS].mode = STARPU_RW;
	loop->accesses[SUMS].combine = add;
}

/* What all arrays are to be afterwards. */
static void program_expect(struct program *program)
{
	struct array *arrays = program->arrays;
	struct view view = {.input = arrays[INPUT].want,
	                    .table = arrays[TABLE].want,
	                    .output = arrays[OUTPUT].want,
	                    .sums = arrays[SUMS].want,
	                    .input_ld = arrays[INPUT].nx,
	                    .output_ld = arrays[OUTPUT].nx};

	for (size_t i = 0; i < program->n; i++)
		iterate(program, &view, i);
}

static void program_free(struct program *program)
{
	for (int a = 0; a < NARRAYS; a++) {
		if (program->arrays[a].handle)
			starpu_data_unregister(program->arrays[a].handle);
		free(program->arrays[a].part);
		free(program->arrays[a].want);
		free(program->arrays[a].first);
	}
}

static void ranks_check(const struct program *program, const struct heddle_mpi_rank_stats *ranks,
                        const struct heddle_loop_stats *stats)
{
	size_t all = 0, own = 0;

	for (int r = 0; r < nranks; r++)
		all += ranks[r].iterations;
	for (unsigned w = 0; w < stats->nworkers; w++)
		own += stats->workers[w].iterations;
	if (all != program->n)
		wrong("iterations of all ranks", all);
	if (own != ranks[rank].iterations)
		wrong("iterations of this rank's workers", own);
}

static void program_run(unsigned *seed, bool delays, MPI_Comm comm)
{
	struct heddle_mpi_rank_stats *ranks = calloc(nranks, sizeof(*ranks));
	struct heddle_loop_stats *stats = calloc(1, sizeof(*stats));
	struct program *program = calloc(1, sizeof(*program));
	int status;

	program_choose(program, seed, delays);
	program_make(program);
	if (delays)
		usleep(mix(*seed + rank) % 20000);
	status = heddle_mpi_loop_run(&program->loop, comm, program->places, ranks, stats);
	if (status)
		wrong("the loop failed", -status);
	program_expect(program);
	if (!status)
		ranks_check(program, ranks, stats);
	for (int a = 0; a < NARRAYS; a++)
		if (program->arrays[a].handle &&
		    starpu_data_acquire(program->arrays[a].handle, STARPU_R))
			wrong("an array cannot be read", a);
	array_check(&program->arrays[INPUT], "the input");
	array_check(&program->arrays[OUTPUT], "the output");
	if (program->sums)
		array_check(&program->arrays[SUMS], "the sums");
	for (int a = 0; a < NARRAYS; a++)
		if (program->arrays[a].handle)
			starpu_data_release(program->arrays[a].handle);
	program_free(program);
	free(program);
	free(ranks);
	free(stats);
}

static int run_random(unsigned seed, int count, bool delays)
{
	static const char *const strategies[] = {
	    "hdss",  "gss",         "css:chunk=64",   "tss",
	    "fss",   "linear",      "static",         "qilin",
	    "axel",  "exponential", "hdss:overlap=0", "css:chunk=1000",
	    "steal", "steal"};
	const int nstrategies = sizeof(strategies) / sizeof(strategies[0]);
	MPI_Comm turned;

	/* Now and then ranks have other numbers. */
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
	for (int i = 0; i < count && !failures; i++) {
		unsigned program_seed = mix(seed + i);
		const char *strategy = strategies[mix(program_seed) % nstrategies];
		MPI_Comm comm = i % 4 == 3 ? turned : MPI_COMM_WORLD;

		setenv("HEDDLE_NODE_STRATEGY", strategy, 1);
		MPI_Comm_rank(comm, &rank);
		program_run(&program_seed, delays, comm);
		if (failures)
			printf("program %d of seed %u, strategy %s\n", i, seed, strategy);
	}
	MPI_Comm_free(&turned);
	printf("rank %d: %d loops, %d failures\n", rank, count, failures);
	return failures;
}

/* ---- loops that must fail, or end the program ---- */

enum { N = 1000 };

static void compute_not(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	const char *what = block->arg;

	usleep(100 * block->n);
	if (!rank && !strcmp(what, "hang first"))
		raise(SIGSTOP);
	if (rank != 1)
		return;
	if (!strncmp(what, "fail", 4))
		block->status = -EDOM;
	else if (!strcmp(what, "die"))
		raise(SIGKILL);
	else if (!strcmp(what, "exit"))
		_exit(3);
	else if (!strcmp(what, "hang"))
		raise(SIGSTOP);
}

static struct starpu_codelet fails = {.cpu_funcs = {compute_not}, .name = "fails"};
static struct starpu_codelet other = {.cpu_funcs = {compute_not}, .name = "other"};

/* ---- memory ---- */

enum { RANGE = 2048, NX = 32 };

static void increment(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	const uint32_t *in = (const uint32_t *)STARPU_MATRIX_GET_PTR(buffers[0]);
	uint32_t *out = (uint32_t *)STARPU_MATRIX_GET_PTR(buffers[1]);

	for (size_t e = 0; e < block->n * NX; e++)
		out[e] = in[e] + 1;
}

static struct starpu_codelet increments = {.cpu_funcs = {increment}, .name = "increment"};

/* All data lies on rank 0. The others have three ranges of it at once, however many there are. */
static void memory_run(size_t nranges)
{
	const size_t range_bytes = 2 * sizeof(uint32_t[RANGE][NX]);
	size_t n = nranges * RANGE;
	uint32_t *data[2] = {NULL, NULL};
	struct heddle_mpi_place places[2] = {{HEDDLE_MPI_ON_RANK, 0}, {HEDDLE_MPI_ON_RANK, 0}};
	struct heddle_mpi_rank_stats *ranks = calloc(nranks, sizeof(*ranks));
	struct heddle_loop loop = {.codelet = &increments, .n = n, .naccesses = 2};
	char what[64];
	int status;

	for (int a = 0; a < 2; a++) {
		loop.accesses[a].mode = a ? STARPU_W : STARPU_R;
		if (rank)
			continue;
		data[a] = malloc(n * sizeof(*data[a]) * NX);
		for (size_t e = 0; e < n * NX; e++)
			data[a][e] = e;
		starpu_matrix_data_register(&loop.accesses[a].handle, STARPU_MAIN_RAM,
		                            (uintptr_t)data[a], NX, NX, n, sizeof(*data[a]));
	}
	memory_begin();
	status = heddle_mpi_loop_run(&loop, MPI_COMM_WORLD, places, ranks, NULL);
	snprintf(what, sizeof(what), "%zu ranges, %zu here", nranges, ranks[rank].ranges);
	memory_check(what, rank ? 3 * range_bytes : 0);
	if (status)
		wrong("the loop failed", -status);
	for (int a = 0; a < 2 && !rank; a++) {
		starpu_data_unregister(loop.accesses[a].handle);
		for (size_t e = 0; e < n * NX; e++)
			if (data[a][e] != (uint32_t)(e + a))
				wrong("a number", e);
		free(data[a]);
	}
	free(ranks);
}

static int run_memory(void)
{
	char strategy[32];

	snprintf(strategy, sizeof(strategy), "css:chunk=%d", RANGE);
	setenv("HEDDLE_NODE_STRATEGY", strategy, 1);
	memory_run(8);
	memory_run(8);
	memory_run(256);
	printf("rank %d: %d failures\n", rank, failures);
	return failures;
}

/* ---- a rank at its first block ---- */

static void compute_slowly(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	uint32_t *data = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);

	if (rank == nranks - 1)
		usleep(5000 * block->n);
	for (size_t i = 0; i < block->n; i++)
		data[i]++;
}

static struct starpu_codelet slow = {.cpu_funcs = {compute_slowly}, .name = "slow"};

/* The last iterations cost up to 50 times as much as the first ones. */
static void compute_dear_end(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	uint32_t *data = (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[0]);

	usleep((20 + 1000 * block->start / block->total) * block->n);
	for (size_t i = 0; i < block->n; i++)
		data[i]++;
}

static struct starpu_codelet dear = {.cpu_funcs = {compute_dear_end}, .name = "dear"};

/* Runs it over all ranks, each of which has its part, and looks whether all is computed once.
 * @return iterations of the last rank */
static size_t run_stealing(struct starpu_codelet *of, size_t part)
{
	static uint32_t data[N];
	struct heddle_mpi_place place = {HEDDLE_MPI_BLOCKS, 0};
	struct heddle_mpi_rank_stats *ranks = calloc(nranks, sizeof(*ranks));
	struct heddle_loop loop = {.codelet = of, .n = nranks * part, .naccesses = 1};
	size_t iterations;
	int status;

	memset(data, 0, sizeof(data));
	starpu_vector_data_register(&loop.accesses[0].handle, STARPU_MAIN_RAM, (uintptr_t)data,
	                            part, sizeof(*data));
	loop.accesses[0].mode = STARPU_RW;
	setenv("HEDDLE_NODE_STRATEGY", "steal", 1);
	status = heddle_mpi_loop_run(&loop, MPI_COMM_WORLD, &place, ranks, NULL);
	if (status)
		wrong("the loop failed", -status);
	starpu_data_unregister(loop.accesses[0].handle);
	for (size_t i = 0; i < part; i++)
		if (data[i] != 1)
			wrong("a number", i);
	iterations = ranks[nranks - 1].iterations;
	free(ranks);
	return iterations;
}

/* The last rank would take a second for its part. It gives iterations up while nobody knows how
 * long it takes, though its first block is a tenth of them. */
static int run_slow(void)
{
	size_t part = N / nranks, iterations = run_stealing(&slow, part);

	if (iterations > part / 2)
		wrong("iterations of the slow rank", iterations);
	printf("rank %d: %zu iterations of the slow rank, %d failures\n", rank, iterations,
	       failures);
	return failures;
}

/* Ranks whose own iterations are cheap steal too many of the dear ones, and give them up again. */
static int run_dear(void)
{
	for (int run = 0; run < 3; run++)
		run_stealing(&dear, N / nranks);
	printf("rank %d: dear, %d failures\n", rank, failures);
	return failures;
}

/* ---- loops that fail while ranks steal ---- */

enum { WIDE = 600, PART = 60 };

/* One of the iterations fails, on whichever rank; ranks differ in speed. */
struct odd {
	size_t fails;
	unsigned us[64];
};

static void compute_odd(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	const struct odd *odd = block->arg;

	usleep(odd->us[rank % 64] * block->n);
	if (odd->fails - block->start < block->n)
		block->status = -EDOM;
	((volatile uint32_t *)STARPU_MATRIX_GET_PTR(buffers[0]))[0]++;
}

static struct starpu_codelet odd = {.cpu_funcs = {compute_odd}, .name = "odd"};

static void fail_once(unsigned seed)
{
	struct odd what = {.fails = rand_r(&seed) % (PART * nranks)};
	struct heddle_mpi_place place = {HEDDLE_MPI_BLOCKS, 0};
	struct heddle_loop loop = {
	    .codelet = &odd, .n = PART * nranks, .arg = &what, .naccesses = 1};
	uint32_t *data = calloc(PART * WIDE, sizeof(*data));
	int status;

	for (int r = 0; r < 64; r++)
		what.us[r] = rand_r(&seed) % 3 ? 20 : 400;
	starpu_matrix_data_register(&loop.accesses[0].handle, STARPU_MAIN_RAM, (uintptr_t)data,
	                            WIDE, WIDE, PART, sizeof(*data));
	loop.accesses[0].mode = STARPU_RW;
	setenv("HEDDLE_NODE_STRATEGY", "steal", 1);
	status = heddle_mpi_loop_run(&loop, MPI_COMM_WORLD, &place, NULL, NULL);
	if (status != -EDOM)
		wrong("the loop did not fail", -status);
	starpu_data_unregister(loop.accesses[0].handle);
	free(data);
}

/* What one loop leaves under way when it fails is not taken for the next one's. */
static int run_failures(unsigned seed, int count)
{
	for (int i = 0; i < count && !failures; i++) {
		fail_once(mix(seed + i));
		run_stealing(&dear, 20);
	}
	printf("rank %d: %d loops failed, %d failures\n", rank, count, failures);
	return failures;
}

static int run_wavefront(starpu_data_handle_t handle)
{
	const struct heddle_mpi_place place = {HEDDLE_MPI_EVERYWHERE, 0};
	struct heddle_wavefront wavefront = {
	    .codelet = &fails,
	    .rows = N,
	    .columns = N,
	    .nvectors = 1,
	    .vectors = {{.row = 1}},
	    .narrays = 1,
	    .arrays = {{.handle = handle, .mode = STARPU_RW, .extent = HEDDLE_COLUMNS}}};

	return heddle_mpi_wavefront_run(&wavefront, MPI_COMM_WORLD, &place, NULL, NULL);
}

/* The same loop on all ranks but for rank 1, which wants what the case says. */
static int run_case(const char *what)
{
	static uint32_t data[2 * N];
	starpu_data_handle_t handle;
	struct heddle_mpi_place place = {HEDDLE_MPI_EVERYWHERE, 0};
	struct heddle_loop loop = {.codelet = &fails, .n = N, .arg = what, .naccesses = 1};
	bool me = rank == 1;
	int status;

	if (!strcmp(what, "memory"))
		return run_memory();
	if (!strcmp(what, "slow"))
		return run_slow();
	if (!strcmp(what, "dear"))
		return run_dear();
	if (!strncmp(what, "no memory", 9))
		atomic_store(&memory_full, rank < nranks - 1);
	if (!strcmp(what, "no memory to steal"))
		return run_slow();
	if (!strncmp(what, "failures ", 9))
		return run_failures(strtoul(what + 9, NULL, 0), 60);
	if ((me && !strcmp(what, "absent")) || (!rank && !strcmp(what, "absent first")))
		pause();
	starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)data,
	                            me && !strcmp(what, "length") ? N + 1 : N, sizeof(*data));
	loop.accesses[0] = (struct heddle_access){.handle = handle, .mode = STARPU_RW};
	if (me && !strcmp(what, "n"))
		loop.n--;
	if (me && !strcmp(what, "codelet"))
		loop.codelet = &other;
	if (me && !strcmp(what, "mode"))
		loop.accesses[0].mode = STARPU_R;
	if (me && !strcmp(what, "layout"))
		place.layout = HEDDLE_MPI_BLOCKS;
	if (me && !strcmp(what, "arrays"))
		loop.naccesses = 0;
	if (!strcmp(what, "beyond"))
		loop.n = N + 1;
	if (!strcmp(what, "fail at home")) {
		place.layout = HEDDLE_MPI_BLOCKS;
		loop.n *= nranks;
	}
	if (!strcmp(what, "no memory to fetch")) {
		place = (struct heddle_mpi_place){HEDDLE_MPI_ON_RANK, nranks - 1};
		if (rank < nranks - 1)
			loop.accesses[0].handle = NULL;
	}
	if (!strcmp(what, "rank"))
		place = (struct heddle_mpi_place){HEDDLE_MPI_ON_RANK, nranks};
	status = me && !strcmp(what, "kind")
	             ? run_wavefront(handle)
	             : heddle_mpi_loop_run(&loop, MPI_COMM_WORLD, &place, NULL, NULL);
	if (!strcmp(what, "absent later") && !status) {
		if (me)
			pause();
		status = heddle_mpi_loop_run(&loop, MPI_COMM_WORLD, &place, NULL, NULL);
	}
	starpu_data_unregister(handle);
	printf("rank %d: %s: %d (%s)\n", rank, what, status, strerror(-status));
	return status ? 0 : 1;
}
