/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A loop, a flow and a wavefront over the ranks of a simulated cluster. ranks.sh starts it by
 * `heddle simulate --ranks` and says what is right.
 *
 *   ranks loop N          nodes with an odd number take twice as long
 *   ranks alike N         they do not
 *   ranks drawn N SEED    each takes 1 to 20 times as long as the fastest could
 *   ranks spread N        as loop, and all read 64 MiB of rank 0
 *   ranks dear N          they do not, but the last iteration costs four times as much as the first
 *   ranks machine SEED    says what heddle simulate is to be told for the next one
 *   ranks cluster SEED [RUNS]    ranks, workers, speeds, costs and arrays are drawn (cluster.h)
 *   ranks flow LABELS     every eighth label comes back as larger work
 *   ranks wavefront ROWS  as many columns
 *   ranks interval ROWS [H ...]  twice as many columns, as in the experiments of Andronikos et al.
 *                                (Performance Evaluation 67, 2010)
 *
 *   ranks sweeps ROWS SWEEPS [H ...]  as many columns, relaxed in place (Gauss and Seidel)
 *
 * Rank 0 prints the time in simulated microseconds, and what each rank did. Of `interval` and
 * `sweeps` it prints the interval, and the times predicted and simulated, of the model's and of
 * those that are given; of `cluster` what no schedule can beat, what all rates together would take,
 * and what each run of the loop took.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <heddle/heddle.h>
#include <heddle/mpi.h>

#include "tests/sim/cluster.h"

/* SMPI calls it in each rank, which has variables of its own. */
#undef main

/* Work of a flow: SMALL_US on all devices, LARGE_US on an accelerator and ten times that on a core.
 */
enum { BACK = 8, SMALL_US = 1000, LARGE_US = 4000 };

static int rank, nranks;
static uint64_t labels;
static unsigned long ended, large_ended;

static void never(void *buffers[], void *arg)
{
	abort(); /* kernels do not run under SimGrid */
}

static int print(int status, double us, size_t of(const void *ranks, int r), const void *ranks)
{
	if (status || rank)
		return status;
	printf("%.6f", us);
	for (int r = 0; r < nranks; r++)
		printf(" %zu", of(ranks, r));
	printf("\n");
	return 0;
}

/* Each rank has its part of both arrays. Nobody ever touches them. */
static starpu_data_handle_t part_make(size_t n, size_t bytes)
{
	size_t part = n / nranks + ((size_t)rank < n % nranks);
	starpu_data_handle_t handle;

	starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)malloc(part * bytes + 1),
	                            part, bytes);
	return handle;
}

/* ---- a loop ---- */

static bool dear_end, spreads;
static double pace_us = 1; /* of this rank's iterations */

/* Of a drawn loop. */
static struct cluster cluster;

static double cluster_us(const struct heddle_block *block, bool cpu)
{
	const struct cluster_rank *own = &cluster.ranks[rank];

	return cluster_cost(&cluster, block->start, block->n) * (cpu ? own->cpu_us : own->gpu_us);
}

static double loop_us(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	const struct heddle_block *block = task->cl_arg;
	double middle = (block->start + block->n / 2.0) / block->total;
	double us = block->n * (dear_end ? 1 + 3 * middle : pace_us);
	bool cpu = arch->devices[0].type == STARPU_CPU_WORKER;

	if (cluster.nranks)
		return cluster_us(block, cpu);
	return cpu ? us : us / 10;
}

/* The number of this rank's. Rank 0 says what all can do. */
static double drawn_us(unsigned seed)
{
	double rates = 0, own = 1;

	for (int r = 0; r < nranks; r++) {
		double us = pow(20, rand_r(&seed) / (RAND_MAX + 1.0));

		rates += 1 / us;
		own = r == rank ? us : own;
	}
	if (!rank)
		fprintf(stderr, "rates %.6f\n", rates);
	return own;
}

static size_t loop_iterations(const void *ranks, int r)
{
	return ((const struct heddle_mpi_rank_stats *)ranks)[r].iterations;
}

/* @param runs of the same loop
 * @param[out] us what each took */
static int run_loops(size_t n, unsigned runs, double *us, struct heddle_mpi_rank_stats *ranks)
{
	static struct starpu_perfmodel model = {.type = STARPU_PER_ARCH,
	                                        .symbol = "heddle_test_ranks_loop",
	                                        .arch_cost_function = loop_us};
	static struct starpu_codelet codelet = {
	    .name = "simulated", .cpu_funcs = {never}, .cuda_funcs = {never}, .model = &model};
	const struct heddle_mpi_place places[3] = {{.layout = HEDDLE_MPI_BLOCKS},
	                                           {.layout = HEDDLE_MPI_BLOCKS},
	                                           {.layout = HEDDLE_MPI_ON_RANK}};
	struct heddle_loop loop = {.codelet = &codelet, .n = n, .naccesses = 2 + spreads};
	size_t in = cluster.nranks ? cluster.in : 1, out = cluster.nranks ? cluster.out : 1;
	struct heddle_loop_stats stats;
	int status = 0;

	loop.accesses[0] = (struct heddle_access){.handle = part_make(n, in), .mode = STARPU_R};
	loop.accesses[1] = (struct heddle_access){.handle = part_make(n, out), .mode = STARPU_W};
	loop.accesses[2] = (struct heddle_access){.mode = STARPU_R, .share = HEDDLE_WHOLE};
	if (spreads && !rank)
		starpu_vector_data_register(&loop.accesses[2].handle, STARPU_MAIN_RAM,
		                            (uintptr_t)calloc(64, 1 << 20), 64 << 20, 1);
	for (unsigned r = 0; !status && r < runs; r++) {
		status = heddle_mpi_loop_run(&loop, MPI_COMM_WORLD, places, ranks, &stats);
		us[r] = stats.us;
	}
	for (int a = 0; a < 3; a++)
		if (loop.accesses[a].handle)
			starpu_data_unregister(loop.accesses[a].handle);
	return status;
}

static int run_loop(size_t n)
{
	struct heddle_mpi_rank_stats *ranks = calloc(nranks, sizeof(*ranks));
	double us = 0;
	int status = run_loops(n, 1, &us, ranks);

	return print(status, us, loop_iterations, ranks);
}

/* ---- a drawn cluster ---- */

static int machine_print(unsigned seed)
{
	char gpus[64] = "";

	cluster_draw(&cluster, seed);
	if (cluster.gpus)
		snprintf(gpus, sizeof(gpus), "+%ugpu8@%d:10", cluster.gpus, CLUSTER_GPU_MBPS);
	if (!rank)
		printf("--platform %ucpu%s --ranks %u --network %.3f:%.3f\n", cluster.cpus, gpus,
		       cluster.nranks, cluster.mbps, cluster.latency_us);
	fflush(stdout);
	return MPI_Finalize();
}

/* Its workers are some of the machine's. */
static void cluster_conf(struct starpu_conf *conf)
{
	if ((unsigned)rank >= cluster.nranks)
		return;
	conf->ncpus = cluster.ranks[rank].cpus;
	conf->ncuda = cluster.ranks[rank].gpus;
}

/* What a short message takes. */
static double message_us(void)
{
	enum { TIMES = 4, BYTES = 40 };
	char bytes[BYTES] = "";
	double us = -starpu_timing_now();

	for (int i = 0; i < TIMES && rank < 2; i++) {
		if (i % 2 == rank)
			MPI_Send(bytes, BYTES, MPI_BYTE, !rank, 0, MPI_COMM_WORLD);
		else
			MPI_Recv(bytes, BYTES, MPI_BYTE, !rank, 0, MPI_COMM_WORLD,
			         MPI_STATUS_IGNORE);
	}
	us += starpu_timing_now();
	MPI_Bcast(&us, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	return us / TIMES;
}

static int run_cluster(unsigned runs)
{
	enum { MOST_RUNS = 100 };
	struct heddle_mpi_rank_stats *ranks = calloc(nranks, sizeof(*ranks));
	double us[MOST_RUNS], message = message_us(), bound = cluster_bound_us(&cluster, message);
	int status;

	if ((unsigned)nranks != cluster.nranks || runs > MOST_RUNS)
		return 2;
	status = run_loops(cluster.n, runs, us, ranks);
	if (status || rank)
		return status;
	printf("%.1f %.1f", bound, cluster.n / cluster_rates(&cluster));
	for (unsigned r = 0; r < runs; r++)
		printf(" %.1f", us[r]);
	printf("\n");
	fprintf(stderr, "n %zu, %zu bytes in, %zu out, %s, a message takes %.1f us\n", cluster.n,
	        cluster.in, cluster.out, cluster.shape, message);
	for (int r = 0; r < nranks; r++)
		fprintf(stderr,
		        "rank %d: %u cores %.3f us, %u GPUs %.3f us: %zu iterations, %zu ranges, "
		        "busy %.1f us, finish %.1f us\n",
		        r, cluster.ranks[r].cpus, cluster.ranks[r].cpu_us, cluster.ranks[r].gpus,
		        cluster.ranks[r].gpu_us, ranks[r].iterations, ranks[r].ranges,
		        ranks[r].busy_us, ranks[r].finish_us);
	return 0;
}

/* ---- a flow ---- */

static double flow_us(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	const struct heddle_event *event = task->cl_arg;

	if (event->label < labels)
		return SMALL_US;
	return arch->devices[0].type == STARPU_CPU_WORKER ? 10 * LARGE_US : LARGE_US;
}

static const struct heddle_stream large = {.name = "large"};

static void describe(struct starpu_task *task, const struct heddle_event *event)
{
	const struct heddle_param size = {.name = "size", .number = 1 + event->label / labels};

	heddle_task_params(task, &size, 1);
}

static int judge(struct heddle_event *event)
{
	ended++;
	large_ended += event->label >= labels;
	return event->label >= labels || event->label % BACK
	           ? 0
	           : heddle_event_send(event, &large, event->label + labels);
}

static size_t flow_tasks(const void *ranks, int r)
{
	return ((const struct heddle_mpi_flow_rank *)ranks)[r].tasks;
}

static int run_flow(size_t n)
{
	static struct starpu_perfmodel model = {.type = STARPU_PER_ARCH,
	                                        .symbol = "heddle_test_ranks_flow",
	                                        .arch_cost_function = flow_us};
	static struct starpu_codelet compute = {.cpu_funcs = {never},
	                                        .cuda_funcs = {never},
	                                        .model = &model,
	                                        .nbuffers = 1,
	                                        .modes = {STARPU_W},
	                                        .name = "compute"};
	const struct heddle_stream small = {.name = "small", .n = n};
	const struct heddle_stream results = {
	    .name = "results", .buffers = 64, .parts = {{sizeof(int)}}};
	const struct heddle_filter filters[] = {
	    {.name = "judge", .function = judge, .ports = {{&results}}},
	    {.codelet = &compute,
	     .task = describe,
	     .ports = {{&large, &results}, {&small, &results}}}};
	struct heddle_mpi_flow_rank *ranks = calloc(nranks, sizeof(*ranks));
	unsigned long own[2], all[2];
	static struct heddle_flow_stats stats;
	struct heddle_flow *flow = NULL;
	int status;

	labels = n;
	heddle_flow_create(filters, 2, NULL, &flow);
	status = heddle_mpi_flow_run(flow, MPI_COMM_WORLD, ranks, &stats);
	heddle_flow_destroy(flow);
	own[0] = ended;
	own[1] = large_ended;
	MPI_Allreduce(own, all, 2, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (!status && (all[0] != n + (n + BACK - 1) / BACK || all[1] != (n + BACK - 1) / BACK))
		status = 1;
	return print(status, stats.us, flow_tasks, ranks);
}

/* ---- a wavefront ---- */

static size_t wave_rows(const void *ranks, int r)
{
	return ((const struct heddle_mpi_wave_rank *)ranks)[r].rows;
}

static struct starpu_codelet wave_codelet = {
    .name = "simulated", .cpu_funcs = {never}, .cuda_funcs = {never}};

static void wave_make(struct heddle_wavefront *wave, size_t rows, size_t columns)
{
	*wave = (struct heddle_wavefront){.codelet = &wave_codelet,
	                                  .rows = rows,
	                                  .columns = columns,
	                                  .nvectors = 2,
	                                  .vectors = {{.row = 1}, {.column = 1}},
	                                  .narrays = 1};
	wave->arrays[0] = (struct heddle_wave_array){.mode = STARPU_RW, .extent = HEDDLE_COLUMNS};
	starpu_vector_data_register(&wave->arrays[0].handle, STARPU_MAIN_RAM,
	                            (uintptr_t)calloc(columns, 4), columns, 4);
}

static const struct heddle_mpi_place everywhere[1] = {{.layout = HEDDLE_MPI_EVERYWHERE}};

static int run_wavefront(size_t n)
{
	struct heddle_mpi_wave_rank *ranks = calloc(nranks, sizeof(*ranks));
	struct heddle_wavefront_stats stats;
	struct heddle_wavefront wave;
	int status;

	wave_make(&wave, n, n);
	status = heddle_mpi_wavefront_run(&wave, MPI_COMM_WORLD, everywhere, ranks, &stats);
	starpu_data_unregister(wave.arrays[0].handle);
	if (!status && !rank)
		fprintf(stderr, "h %zu predicted %.6f\n", stats.tile_columns, stats.predicted_us);
	return print(status, stats.us, wave_rows, ranks);
}

/* The first run times messages. The second one has the model's interval, then others follow: h, or
 * h/k with bands per worker. */
static int run_intervals(struct heddle_wavefront *wave, const struct heddle_mpi_place *places,
                         char **others)
{
	struct heddle_wavefront_stats stats;
	int status = 0;

	for (unsigned i = 0; !status && (i < 2 || *others); i++) {
		char *k = NULL;

		wave->tile_columns = i < 2 ? 0 : strtoull(*others++, &k, 10);
		wave->bands_per_worker = k && *k ? strtoul(k + 1, NULL, 10) : 0;
		status = heddle_mpi_wavefront_run(wave, MPI_COMM_WORLD, places, NULL, &stats);
		if (i && !rank && !status)
			printf("%zu %.6f %.6f %u\n", stats.tile_columns, stats.predicted_us,
			       stats.us, stats.bands_per_worker);
		fflush(stdout);
	}
	starpu_data_unregister(wave->arrays[0].handle);
	return status;
}

static int run_interval(size_t n, char **others)
{
	struct heddle_wavefront wave;

	wave_make(&wave, n, 2 * n);
	return run_intervals(&wave, everywhere, others);
}

/* Ranks have equal parts of the field. */
static int run_sweeps(size_t n, char **sweeps)
{
	const struct heddle_mpi_place blocks[1] = {{.layout = HEDDLE_MPI_BLOCKS}};
	size_t part = n / nranks + ((size_t)rank < n % nranks);
	struct heddle_wavefront wave = {
	    .codelet = &wave_codelet,
	    .rows = n,
	    .columns = n,
	    .sweeps = *sweeps ? strtoull(*sweeps, NULL, 10) : 2,
	    .nvectors = 4,
	    .vectors = {{.row = 1},
	                {.column = 1},
	                {.sweep = 1, .row = -1},
	                {.sweep = 1, .column = -1}},
	    .narrays = 1,
	    .arrays = {{.mode = STARPU_RW, .extent = HEDDLE_FIELD_HALO}}};

	starpu_matrix_data_register(&wave.arrays[0].handle, STARPU_MAIN_RAM,
	                            (uintptr_t)calloc(part * n + 1, sizeof(float)), n, n, part,
	                            sizeof(float));
	return run_intervals(&wave, blocks, sweeps + !!*sweeps);
}

int main(int argc, char **argv)
{
	int level, status = 2;
	struct starpu_conf conf;
	size_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &nranks);
	starpu_conf_init(&conf);
	if (n && !strcmp(argv[1], "machine"))
		return machine_print(n);
	if (n && !strcmp(argv[1], "cluster")) {
		cluster_draw(&cluster, n);
		cluster_conf(&conf);
	}
	if (starpu_init(&conf))
		MPI_Abort(MPI_COMM_WORLD, 77);
	dear_end = n && !strcmp(argv[1], "dear");
	spreads = n && !strcmp(argv[1], "spread");
	if (n && (spreads || !strcmp(argv[1], "loop")))
		pace_us = 1 + rank % 2;
	if (n && !strcmp(argv[1], "drawn"))
		pace_us = drawn_us(argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
	if (cluster.nranks)
		status = run_cluster(argc > 3 ? strtoul(argv[3], NULL, 10) : 3);
	else if (n && (dear_end || spreads || !strcmp(argv[1], "loop") ||
	               !strcmp(argv[1], "alike") || !strcmp(argv[1], "drawn")))
		status = run_loop(n);
	else if (n && !strcmp(argv[1], "flow"))
		status = run_flow(n);
	else if (n && !strcmp(argv[1], "wavefront"))
		status = run_wavefront(n);
	else if (n && !strcmp(argv[1], "interval"))
		status = run_interval(n, argv + 3);
	else if (n && !strcmp(argv[1], "sweeps"))
		status = run_sweeps(n, argv + 3);
	fflush(stdout);
	starpu_shutdown();
	MPI_Finalize();
	return status ? 1 : 0;
}
