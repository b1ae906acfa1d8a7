/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Random flows over ranks, of which every buffer is looked at, and flows that must fail. mpirun
 * starts it: flows.sh.
 *
 * Usage: flows random SEED COUNT [delays]
 *        flows memory
 *        flows CASE
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/mpi.h>

#include "tests/mpi/memory.h"
#include "tests/mpi/ranks.h"

enum { LABELS = 160, ROW = 7 };

static unsigned lives; /* label l comes back l % lives times */
static unsigned delay_us;
static int slow; /* rank that takes 20 times as long; -1: none */
static atomic_uint seen[LABELS], wrong;

static unsigned mix(unsigned x)
{
	x = (x ^ x >> 16) * 0x45d9f3b;
	x = (x ^ x >> 16) * 0x45d9f3b;
	return x ^ x >> 16;
}

static void nap(void)
{
	if (delay_us)
		usleep(mix(delay_us + rank) % delay_us * (slow == rank ? 20 : 1));
}

static void delays_choose(unsigned seed, bool delays)
{
	delay_us = delays ? mix(seed + 4) % 200 : 0;
	slow = mix(seed + 5) % 2 ? (int)(mix(seed + 6) % nranks) : -1;
}

/* ---- filters: read, compute, judge, and back ---- */

static struct heddle_stream labels = {.name = "labels", .n = LABELS};
static const struct heddle_stream again = {.name = "again"};
static struct heddle_stream rows = {.name = "rows", .parts = {{sizeof(int), ROW}}};
static struct heddle_stream sums = {.name = "sums", .parts = {{sizeof(long)}, {sizeof(int), 2, 3}}};

static int read_row(struct heddle_event *event)
{
	int *row = event->out[0];

	nap();
	for (int i = 0; i < ROW; i++)
		row[i] = event->label * ROW + i;
	return 0;
}

static void add_cpu(void *buffers[], void *arg)
{
	const int *row = (const int *)STARPU_VECTOR_GET_PTR(buffers[0]);
	long *sum = (long *)STARPU_VARIABLE_GET_PTR(buffers[1]);
	int *ends = (int *)STARPU_MATRIX_GET_PTR(buffers[2]);

	nap();
	*sum = 0;
	for (int i = 0; i < ROW; i++)
		*sum += row[i];
	for (int i = 0; i < 6; i++)
		ends[i] = row[ROW - 1] + i;
}

static struct starpu_codelet add = {
    .cpu_funcs = {add_cpu}, .nbuffers = 3, .modes = {STARPU_R, STARPU_W, STARPU_W}, .name = "add"};

static int judge(struct heddle_event *event)
{
	const long *sum = event->in[0];
	const int *ends = event->in[1];
	uint64_t at = event->label, round = at / LABELS, label = at % LABELS;

	atomic_fetch_add(&seen[label], 1);
	atomic_fetch_add(&wrong, *sum != (long)(at * ROW * ROW + ROW * (ROW - 1) / 2));
	for (int i = 0; i < 6; i++)
		atomic_fetch_add(&wrong, ends[i] != (int)(at * ROW + ROW - 1 + i));
	return round < label % lives ? heddle_event_send(event, &again, at + LABELS) : 0;
}

/* ---- random flows ---- */

/* Whether a rank has the filter: at least one has. */
static bool here(unsigned seed, int filter)
{
	unsigned sure = mix(seed + filter) % nranks;

	return (int)sure == rank || mix(seed * 31 + filter * 7 + rank) % 3;
}

static void seen_check(unsigned rounds(unsigned label))
{
	unsigned own[LABELS], all[LABELS];

	for (int l = 0; l < LABELS; l++)
		own[l] = atomic_load(&seen[l]);
	MPI_Allreduce(own, all, LABELS, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
	for (unsigned l = 0; l < LABELS; l++)
		if (all[l] != rounds(l) && failures++ < 10)
			printf("FAIL: rank %d: label %u was seen %u times, not %u\n", rank, l,
			       all[l], rounds(l));
	if (atomic_load(&wrong)) {
		printf("FAIL: rank %d: %u wrong numbers\n", rank, atomic_load(&wrong));
		failures++;
	}
}

static unsigned rounds_of(unsigned label)
{
	return 1 + label % lives;
}

static void ranks_check(const struct heddle_mpi_flow_rank *ranks,
                        const struct heddle_flow_stats *stats)
{
	size_t sent = 0, received = 0, bytes = 0, tasks = 0, all = 0;

	for (int r = 0; r < nranks; r++) {
		sent += ranks[r].sent;
		received += ranks[r].received;
		bytes += ranks[r].bytes_sent - ranks[r].bytes_received;
		tasks += ranks[r].tasks;
	}
	for (unsigned l = 0; l < LABELS; l++)
		all += rounds_of(l);
	if (sent != received || bytes || tasks != all || ranks[rank].tasks != stats->tasks) {
		printf("FAIL: rank %d: %zu sent, %zu received, %zu bytes, %zu tasks of %zu\n", rank,
		       sent, received, bytes, tasks, all);
		failures++;
	}
}

static void program_run(unsigned seed, bool delays)
{
	static struct heddle_mpi_flow_rank ranks[64];
	static struct heddle_flow_stats stats;
	struct heddle_filter filters[] = {
	    {.name = "read",
	     .function = read_row,
	     .threads = mix(seed + 10 + rank) % 3,
	     .ports = {{&again, &rows}, {&labels, &rows}},
	     .elsewhere = !here(seed, 0)},
	    {.codelet = &add, .ports = {{&rows, &sums}}, .elsewhere = !here(seed, 1)},
	    {.name = "judge",
	     .function = judge,
	     .threads = mix(seed + 20) % 2,
	     .ports = {{&sums}},
	     .elsewhere = !here(seed, 2)}};
	struct heddle_flow *flow = NULL;
	int status;

	lives = 1 + mix(seed + 1) % 5;
	rows.buffers = mix(seed + 2 + rank) % 5;
	sums.buffers = mix(seed + 3 + rank) % 5;
	delays_choose(seed, delays);
	memset(seen, 0, sizeof(seen));
	atomic_store(&wrong, 0);
	heddle_flow_create(filters, 3, NULL, &flow);
	if (delays)
		usleep(mix(seed + rank) % 20000);
	for (int run = 0; run < 2; run++) {
		status = heddle_mpi_flow_run(flow, MPI_COMM_WORLD, ranks, &stats);
		if (status && failures++ < 10)
			printf("FAIL: rank %d: %s\n", rank, strerror(-status));
		if (!status)
			seen_check(rounds_of);
		if (!status)
			ranks_check(ranks, &stats);
		memset(seen, 0, sizeof(seen));
	}
	heddle_flow_destroy(flow);
}

/* Labels without data, which every rank's function sends on. */
static int count_down(struct heddle_event *event)
{
	nap();
	atomic_fetch_add(&seen[event->label], 1);
	return event->label % 20 ? heddle_event_send(event, event->stream, event->label - 1) : 0;
}

static unsigned rounds_of_countdown(unsigned label)
{
	return 20 - label % 20;
}

static void countdown_run(unsigned seed)
{
	struct heddle_filter filter = {.name = "count",
	                               .function = count_down,
	                               .threads = mix(seed) % 3,
	                               .ports = {{&labels}},
	                               .elsewhere = !here(seed, 0)};
	struct heddle_flow *flow = NULL;
	int status;

	memset(seen, 0, sizeof(seen));
	heddle_flow_create(&filter, 1, NULL, &flow);
	status = heddle_mpi_flow_run(flow, MPI_COMM_WORLD, NULL, NULL);
	if (status && failures++ < 10)
		printf("FAIL: rank %d: %s\n", rank, strerror(-status));
	seen_check(rounds_of_countdown);
	heddle_flow_destroy(flow);
}

/* ---- data of the program's: pieces of a larger array, which are changed in place ---- */

enum { PIECES = 48, PIECE_ROWS = 3, PIECE_NX = 5, WIDE = 8 };

static int image[PIECES][PIECE_ROWS][WIDE];
static long totals[PIECES];
static starpu_data_handle_t pieces_of[PIECES], totals_of[PIECES], own_of[PIECES];
static unsigned homes; /* how data is dealt to ranks */

static int piece_home(uint64_t label, void *arg)
{
	unsigned piece = label % PIECES;

	return homes % 3 == 0   ? (int)(homes / 3) % nranks
	       : homes % 3 == 1 ? (int)(piece * nranks / PIECES)
	                        : (int)(mix(piece + homes) % nranks);
}

static int total_home(uint64_t label, void *arg)
{
	return homes / 7 % 2 ? piece_home(label, arg) : (int)(label % PIECES + homes) % nranks;
}

static int everywhere(uint64_t label, void *arg)
{
	return HEDDLE_STREAM_EVERYWHERE;
}

/* Other ranks do not have it. */
static int piece_data(uint64_t label, starpu_data_handle_t *handles, void *arg)
{
	atomic_fetch_add(&wrong, piece_home(label, arg) != rank);
	handles[0] = pieces_of[label % PIECES];
	return 1;
}

static int total_data(uint64_t label, starpu_data_handle_t *handles, void *arg)
{
	atomic_fetch_add(&wrong, total_home(label, arg) != rank);
	handles[0] = totals_of[label % PIECES];
	return 1;
}

static int own_data(uint64_t label, starpu_data_handle_t *handles, void *arg)
{
	handles[0] = own_of[label % PIECES];
	return 1;
}

static struct heddle_stream pieces = {
    .name = "pieces", .n = PIECES, .data = piece_data, .home = piece_home};
static struct heddle_stream more = {.name = "more", .data = piece_data, .home = piece_home};
static struct heddle_stream sums_of = {.name = "totals", .data = total_data, .home = total_home};
static struct heddle_stream own = {.name = "own", .data = own_data, .home = everywhere};

static void grow_cpu(void *buffers[], void *arg)
{
	int *piece = (int *)STARPU_MATRIX_GET_PTR(buffers[0]);
	unsigned ld = STARPU_MATRIX_GET_LD(buffers[0]);
	long *sum = (long *)STARPU_VARIABLE_GET_PTR(buffers[1]);

	nap();
	*sum = 0;
	for (unsigned y = 0; y < PIECE_ROWS; y++)
		for (unsigned x = 0; x < PIECE_NX; x++)
			*sum += ++piece[y * ld + x];
}

static struct starpu_codelet grow = {
    .cpu_funcs = {grow_cpu}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_W}, .name = "grow"};

static long total_of(unsigned label, unsigned round)
{
	return (long)PIECE_ROWS * PIECE_NX * (label + round + 1);
}

static int weigh(struct heddle_event *event)
{
	uint64_t at = event->label, round = at / PIECES, label = at % PIECES;

	atomic_fetch_add(&wrong, *(const long *)event->in[0] != total_of(label, round));
	if (round < label % lives)
		return heddle_event_send(event, &more, at + PIECES);
	return heddle_event_send(event, &own, label);
}

static int note(struct heddle_event *event)
{
	atomic_fetch_add(&seen[event->label], 1);
	atomic_fetch_add(&wrong, *(const int *)event->in[0] != (int)event->label + rank);
	return 0;
}

static void data_register(int *values)
{
	for (unsigned l = 0; l < PIECES; l++) {
		for (unsigned i = 0; i < PIECE_ROWS * WIDE; i++)
			image[l][i / WIDE][i % WIDE] = i % WIDE < PIECE_NX ? (int)l : -1;
		values[l] = l + rank;
		starpu_variable_data_register(&own_of[l], STARPU_MAIN_RAM, (uintptr_t)&values[l],
		                              sizeof(int));
		if (piece_home(l, NULL) == rank)
			starpu_matrix_data_register(&pieces_of[l], STARPU_MAIN_RAM,
			                            (uintptr_t)image[l], WIDE, PIECE_NX, PIECE_ROWS,
			                            sizeof(int));
		if (total_home(l, NULL) == rank)
			starpu_variable_data_register(&totals_of[l], STARPU_MAIN_RAM,
			                              (uintptr_t)&totals[l], sizeof(long));
	}
}

static unsigned once(unsigned label)
{
	return label < PIECES;
}

/* All results lie where they belong, and nothing else has changed. */
static void data_check(void)
{
	unsigned bad = 0;

	for (unsigned l = 0; l < PIECES; l++) {
		starpu_data_unregister(own_of[l]);
		if (piece_home(l, NULL) == rank)
			starpu_data_unregister(pieces_of[l]);
		if (total_home(l, NULL) == rank)
			starpu_data_unregister(totals_of[l]);
		for (unsigned i = 0; i < PIECE_ROWS * WIDE; i++)
			bad += image[l][i / WIDE][i % WIDE] != (i % WIDE >= PIECE_NX ? -1
			                                        : piece_home(l, NULL) == rank
			                                            ? (int)(l + rounds_of(l))
			                                            : (int)l);
		bad += total_home(l, NULL) == rank && totals[l] != total_of(l, l % lives);
	}
	if (bad && failures++ < 10)
		printf("FAIL: rank %d: %u numbers are wrong at home\n", rank, bad);
	seen_check(once);
}

static void data_run(unsigned seed, bool delays)
{
	static struct heddle_mpi_flow_rank ranks[64];
	static int values[PIECES];
	struct heddle_filter filters[] = {
	    {.codelet = &grow,
	     .ports = {{&more, &sums_of}, {&pieces, &sums_of}},
	     .elsewhere = !here(seed, 0)},
	    {.name = "weigh",
	     .function = weigh,
	     .threads = mix(seed + 10 + rank) % 3,
	     .ports = {{&sums_of}},
	     .elsewhere = !here(seed, 1)},
	    {.name = "note", .function = note, .ports = {{&own}}, .elsewhere = !here(seed, 2)}};
	struct heddle_flow *flow = NULL;
	size_t sent = 0, received = 0;
	int status;

	lives = 1 + mix(seed + 1) % 4;
	homes = mix(seed + 2) % 1000;
	delays_choose(seed, delays);
	memset(seen, 0, sizeof(seen));
	atomic_store(&wrong, 0);
	data_register(values);
	heddle_flow_create(filters, 3, NULL, &flow);
	status = heddle_mpi_flow_run(flow, MPI_COMM_WORLD, ranks, NULL);
	if (status && failures++ < 10)
		printf("FAIL: rank %d: %s\n", rank, strerror(-status));
	heddle_flow_destroy(flow);
	data_check();
	for (int r = 0; r < nranks; r++) {
		sent += ranks[r].bytes_sent;
		received += ranks[r].bytes_received;
	}
	if (sent != received && failures++ < 10)
		printf("FAIL: rank %d: %zu bytes sent, %zu received\n", rank, sent, received);
}

static int run_random(unsigned seed, int count, bool delays)
{
	for (int i = 0; i < count && !failures; i++) {
		if (i % 4 == 3)
			countdown_run(mix(seed + i));
		else if (i % 4 == 1)
			data_run(mix(seed + i), delays);
		else
			program_run(mix(seed + i), delays);
		if (failures)
			printf("program %d of seed %u\n", i, seed);
	}
	printf("rank %d: %d flows, %d failures\n", rank, count, failures);
	return failures;
}

/* ---- flows that must fail, or end the program ---- */

static const char *wanted;

/* One rank stops at its second event. The others are slow, so that they leave it some. */
static int read_not(struct heddle_event *event)
{
	static int count;
	int victim = strcmp(wanted, "hang first") ? 1 : 0;

	if (rank != victim)
		usleep(!strcmp(wanted, "nothing") ? 100 : 50000);
	else if (++count == 2) {
		if (!strcmp(wanted, "fail"))
			return -EDOM;
		if (!strcmp(wanted, "die"))
			raise(SIGKILL);
		if (!strncmp(wanted, "hang", 4))
			raise(SIGSTOP);
	}
	return read_row(event);
}

static void add_not(void *buffers[], void *arg)
{
	struct heddle_event *event = arg;

	add_cpu(buffers, arg);
	if (rank == nranks - 1 && !strcmp(wanted, "kernel"))
		event->status = -ENXIO;
}

/* It holds the only buffer, and waits for another one. */
static int go_round(struct heddle_event *event)
{
	memcpy(event->out[0], event->in[0], sizeof(int[ROW]));
	return 0;
}

static int far_home(uint64_t label, void *arg)
{
	return label == 5 ? nranks : rank;
}

static int no_data(uint64_t label, starpu_data_handle_t *handles, void *arg)
{
	handles[0] = label == 7 ? NULL : pieces_of[0];
	return 1;
}

/* One handle for both streams. */
static int same_data(uint64_t label, starpu_data_handle_t *handles, void *arg)
{
	handles[0] = pieces_of[0];
	return 1;
}

static int first_home(uint64_t label, void *arg)
{
	return 0;
}

/* A flow with data of the program's that cannot work. */
static int run_data_case(const char *what)
{
	bool twice = !strcmp(what, "data twice");
	struct heddle_filter filter = {.name = "note", .function = note, .ports = {{&pieces}}};
	struct heddle_stream out = {.name = "out", .data = same_data, .home = first_home};
	struct heddle_flow *flow = NULL;

	starpu_matrix_data_register(&pieces_of[0], STARPU_MAIN_RAM, (uintptr_t)image[0], WIDE,
	                            PIECE_NX, PIECE_ROWS, sizeof(int));
	pieces.n = 20;
	pieces.data = twice ? same_data : no_data;
	pieces.home = !strcmp(what, "data far") ? far_home : first_home;
	if (!strcmp(what, "data home"))
		pieces.home = NULL;
	if (!strcmp(what, "data one home") && rank == 1)
		pieces.home = NULL;
	if (!strcmp(what, "data one") && rank == 1)
		pieces.data = NULL, pieces.home = NULL;
	filter.elsewhere = (twice || !strcmp(what, "data none")) && !rank;
	if (twice)
		filter.ports[0].out = &out;
	heddle_flow_create(&filter, 1, NULL, &flow);
	printf("rank %d: %s: %d\n", rank, what,
	       heddle_mpi_flow_run(flow, MPI_COMM_WORLD, NULL, NULL));
	heddle_flow_destroy(flow);
	starpu_data_unregister(pieces_of[0]);
	return failures;
}

/* ---- memory ---- */

enum { LARGE = 16384, BUFFERS = 6, LENGTH = 16384, LENGTHS = 3000, BORROWED = 258 };

static atomic_ullong checked;
static float *lengths_of[LENGTHS];
static starpu_data_handle_t length_handles[LENGTHS];

static int fill(struct heddle_event *event)
{
	((unsigned *)event->out[0])[LARGE - 1] = event->label;
	return 0;
}

static int look(struct heddle_event *event)
{
	atomic_fetch_add(&checked, ((const unsigned *)event->in[0])[LARGE - 1]);
	return 0;
}

/* Buffers are as many as a stream has, however many labels there are. A label that waits needs 16
 * bytes, and a table of them grows to twice what it had. */
static void memory_buffers(unsigned n)
{
	struct heddle_stream all = {.name = "all", .n = n};
	struct heddle_stream large = {
	    .name = "large", .buffers = BUFFERS, .parts = {{sizeof(unsigned), LARGE}}};
	struct heddle_filter filters[] = {
	    {.name = "fill", .function = fill, .ports = {{&all, &large}}, .elsewhere = rank},
	    {.name = "look", .function = look, .ports = {{&large}}, .elsewhere = !rank}};
	unsigned long long mine, sum = 0;
	struct heddle_flow *flow = NULL;
	char what[64];
	int status;

	atomic_store(&checked, 0);
	memory_begin();
	heddle_flow_create(filters, 2, NULL, &flow);
	status = heddle_mpi_flow_run(flow, MPI_COMM_WORLD, NULL, NULL);
	snprintf(what, sizeof(what), "%u buffers of %zu KB", n, sizeof(unsigned[LARGE]) >> 10);
	memory_check(what, BUFFERS * sizeof(unsigned[LARGE]) + 48 * (size_t)n);
	heddle_flow_destroy(flow);
	mine = atomic_load(&checked);
	MPI_Allreduce(&mine, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (status || sum != n * (n - 1ULL) / 2) {
		printf("FAIL: rank %d: status %d, sum %llu\n", rank, status, sum);
		failures++;
	}
}

/* Data of the program's, on rank 0, each of another length. A core has two events at once, and DQAA
 * 256 more at the most; whom the data belongs to knows of each. */
static int length_data(uint64_t label, starpu_data_handle_t *handles, void *arg)
{
	handles[0] = length_handles[label];
	return 1;
}

static void grow_length(void *buffers[], void *arg)
{
	float *numbers = (float *)STARPU_VECTOR_GET_PTR(buffers[0]);

	numbers[0]++;
	numbers[STARPU_VECTOR_GET_NX(buffers[0]) - 1]++;
}

static struct starpu_codelet grow_lengths = {
    .cpu_funcs = {grow_length}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "grow_length"};

static void memory_lengths(void)
{
	struct heddle_stream lengths = {
	    .name = "lengths", .n = LENGTHS, .data = length_data, .home = first_home};
	struct heddle_filter filter = {
	    .codelet = &grow_lengths, .ports = {{&lengths}}, .elsewhere = !rank};
	struct heddle_flow *flow = NULL;
	unsigned bad = 0;
	int status;

	for (unsigned l = 0; l < LENGTHS && !rank; l++) {
		lengths_of[l] = calloc(LENGTH + l, sizeof(float));
		starpu_vector_data_register(&length_handles[l], STARPU_MAIN_RAM,
		                            (uintptr_t)lengths_of[l], LENGTH + l, sizeof(float));
	}
	memory_begin();
	heddle_flow_create(&filter, 1, NULL, &flow);
	status = heddle_mpi_flow_run(flow, MPI_COMM_WORLD, NULL, NULL);
	memory_check("data of many lengths",
	             BORROWED * (rank ? sizeof(float[LENGTH + LENGTHS]) : 2048 * (size_t)nranks));
	heddle_flow_destroy(flow);
	for (unsigned l = 0; l < LENGTHS && !rank; l++) {
		starpu_data_unregister(length_handles[l]);
		bad += lengths_of[l][0] != 1 || lengths_of[l][LENGTH + l - 1] != 1;
		free(lengths_of[l]);
	}
	if (status || bad) {
		printf("FAIL: rank %d: status %d, %u wrong\n", rank, status, bad);
		failures++;
	}
}

static int run_memory(void)
{
	memory_buffers(100);
	memory_buffers(100);
	memory_buffers(3000);
	memory_lengths();
	printf("rank %d: %d failures\n", rank, failures);
	return failures;
}

static int run_case(const char *what)
{
	static struct heddle_stream few = {
	    .name = "rows", .buffers = 1, .parts = {{sizeof(int), ROW}}};
	bool me = rank == 1;
	struct heddle_filter filters[] = {
	    {.name = "read", .function = read_not, .threads = 1, .ports = {{&labels, &rows}}},
	    {.codelet = &add, .ports = {{&rows, &sums}}},
	    {.name = "judge", .function = judge, .ports = {{&sums}}}};
	const struct heddle_filter stuck[] = {
	    {.name = "read", .function = read_row, .ports = {{&labels, &few}}},
	    {.name = "round", .function = go_round, .ports = {{&few, &few}}}};
	struct heddle_flow *flow = NULL;
	int status;

	if (!strncmp(what, "data ", 5))
		return run_data_case(what);
	if (!strcmp(what, "memory"))
		return run_memory();
	wanted = what;
	lives = 1;
	add.cpu_funcs[0] = add_not;
	if ((me && !strcmp(what, "absent")) || (!rank && !strcmp(what, "absent first")))
		pause();
	if (me && !strcmp(what, "name"))
		filters[0].name = "other";
	if (me && !strcmp(what, "labels"))
		labels.n = LABELS - 1;
	if (me && !strcmp(what, "parts"))
		sums.parts[1].nx = 5;
	filters[1].elsewhere = !strcmp(what, "nowhere");
	if (!me || strcmp(what, "none"))
		heddle_flow_create(!strcmp(what, "stuck") ? stuck : filters,
		                   !strcmp(what, "stuck")           ? 2
		                   : me && !strcmp(what, "filters") ? 1
		                                                    : 3,
		                   NULL, &flow);
	if (me && !strcmp(what, "filters") && !flow) {
		filters[0].ports[0].out = NULL;
		heddle_flow_create(filters, 1, NULL, &flow);
	}
	status = heddle_mpi_flow_run(flow, MPI_COMM_WORLD, NULL, NULL);
	printf("rank %d: %s: %d\n", rank, what, status);
	if (!strcmp(what, "nowhere") && heddle_flow_run(flow, NULL) != -EINVAL)
		failures++;
	/* Ranks still understand each other. */
	if (status && !strcmp(what, "fail")) {
		wanted = "nothing";
		memset(seen, 0, sizeof(seen));
		printf("rank %d: again: %d\n", rank,
		       heddle_mpi_flow_run(flow, MPI_COMM_WORLD, NULL, NULL));
		seen_check(rounds_of);
	}
	heddle_flow_destroy(flow);
	return failures;
}
