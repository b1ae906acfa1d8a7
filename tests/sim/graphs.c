/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Random task graphs on simulated machines. A seed says all: the machine, which
 *
 *	graphs SEED
 *
 * prints, and on that machine the graph:
 *
 *	graphs SEED REPETITIONS [blind] [LOG]
 *
 * runs it so often, checks that each task ran once and after what it depends on, and prints what it
 * is and the times in us. STARPU_SCHED names the policy. Blind, StarPU's policies know nothing of a
 * type on a kind of worker before ten runs there, like its histories; to Heddle HEDDLE_ESTIMATE
 * says the same. LOG gets a line for each task: which ran where and when.
 *
 * A graph has one to five types of tasks. Half of the machines are ones on which StarPU is
 * calibrated.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <starpu.h>

#define MOST_TYPES 5
#define MOST_TASKS 600
#define LEAST_TASKS 200
#define MOST_DATA 1200
#define MOST_ACCESSES 4
#define MOST_BYTES (32 << 20)
#define HISTORY 10 /* runs that a history of StarPU wants */
#define LINK 6000  /* bytes in 1 us, about */

enum shape { SCATTERED, STENCIL, TREE, CHAINS, STREAM, SHAPES };
static const char *const shapes[] = {"scattered", "stencil", "tree", "chains", "stream"};

enum order { UNORDERED, ARBITRARY, PATHS, ORDERS };
static const char *const orders[] = {"none", "random", "paths"};

struct access {
	unsigned data;
	bool reads, writes;
};

struct node {
	unsigned type, naccesses;
	struct access accesses[MOST_ACCESSES];
	int priority;
	double ready_us, taken_us, begin_us, end_us;
	int worker;
	unsigned runs;
	struct starpu_task *task;
};

static struct node nodes[MOST_TASKS];
static unsigned nnodes, ntypes, ndata;
static double times_us[MOST_TYPES][2]; /* on a core, on a GPU */
static unsigned known[MOST_TYPES][2];  /* runs there */
static size_t bytes;
static enum shape shape;
static enum order order;
static bool asynchronous, blind;

/* ---- drawing ---- */

static unsigned short state[3];

static void draw_begin(unsigned seed, unsigned use)
{
	uint64_t bits = (2 * (uint64_t)seed + use + 1) * UINT64_C(0x9e3779b97f4a7c15);

	/* Neighbouring seeds are to have nothing in common. */
	for (unsigned i = 0; i < 3; i++) {
		bits = (bits ^ bits >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
		state[i] = bits >> 48;
	}
}

/* From 0 to n - 1. */
static unsigned draw(unsigned n)
{
	return erand48(state) * n;
}

static bool flip(void)
{
	return draw(2);
}

/* With a logarithm that is as likely everywhere. */
static double draw_wide(double least, double most)
{
	return least * pow(most / least, erand48(state));
}

static void machine_print(unsigned seed)
{
	static const char *const calibrated[] = {"mirage", "sirocco", "idgraf", "attila",
	                                         "hannibal"};
	unsigned cores, gpus, mbps, latency;

	draw_begin(seed, 0);
	if (flip()) {
		puts(calibrated[draw(sizeof(calibrated) / sizeof(*calibrated))]);
		return;
	}
	cores = draw_wide(1, 64);
	gpus = draw_wide(1, 9);
	mbps = draw_wide(2000, 20000);
	latency = draw_wide(1, 30);
	printf("%ucpu+%ugpu1@%u:%u\n", cores, gpus, mbps, latency);
}

/* ---- the graph ---- */

static double weights[MOST_TYPES];
static bool by_level; /* tasks of a level are of one type */

static unsigned type_draw(unsigned level)
{
	double sum = 0, at;
	unsigned t = 0;

	if (by_level)
		return level % ntypes;
	for (unsigned i = 0; i < ntypes; i++)
		sum += weights[i];
	at = sum * erand48(state);
	while (t < ntypes - 1 && at >= weights[t])
		at -= weights[t++];
	return t;
}

static struct node *node_add(unsigned level)
{
	struct node *node = &nodes[nnodes++];

	node->type = type_draw(level);
	return node;
}

/* Each piece of data at most once. */
static void access_add(struct node *node, unsigned data, bool reads, bool writes)
{
	for (unsigned i = 0; i < node->naccesses; i++)
		if (node->accesses[i].data == data)
			return;
	node->accesses[node->naccesses++] = (struct access){data, reads, writes};
	if (data >= ndata)
		ndata = data + 1;
}

static void scattered_make(unsigned n)
{
	unsigned pieces = draw_wide(4, 100), level = 0;

	while (nnodes < n) {
		struct node *node = node_add(level++ / pieces);

		access_add(node, draw(pieces), true, true);
		for (unsigned i = draw(3); i > 0; i--)
			access_add(node, draw(pieces), true, false);
	}
}

/* In place, or with two copies of the line. */
static void stencil_make(unsigned n)
{
	unsigned width = draw_wide(4, 100), copies = 1 + draw(2);

	for (unsigned step = 0; nnodes + width <= n; step++)
		for (unsigned i = 0; i < width; i++) {
			struct node *node = node_add(step);
			unsigned from = step % copies * width;
			unsigned to = (step + 1) % copies * width;

			access_add(node, to + i, copies == 1, true);
			access_add(node, from + i, true, false);
			if (i)
				access_add(node, from + i - 1, true, false);
			if (i + 1 < width)
				access_add(node, from + i + 1, true, false);
		}
}

/* From the leaves to the root, or from the root to the leaves; several of them. */
static void tree_make(unsigned n)
{
	unsigned degree = 2 + draw(2), first = 0, leaves = degree;
	bool inwards = flip(), small = flip();
	unsigned most = small ? n / 4 : n;

	while (leaves * degree * (degree / (degree - 1.)) <= most)
		leaves *= degree;
	while (nnodes + leaves * degree / (degree - 1) <= n) {
		unsigned level = 0;

		for (unsigned i = 0; inwards && i < leaves; i++)
			access_add(node_add(0), first + i, false, true);
		if (!inwards)
			access_add(node_add(0), first, false, true);
		for (unsigned step = inwards ? degree : leaves; step >= 1 && step <= leaves;
		     step = inwards ? step * degree : step / degree) {
			level++;
			for (unsigned i = 0; i < leaves; i += step) {
				struct node *node;

				if (!inwards && i % (step * degree) == 0)
					continue;
				node = node_add(level);
				access_add(node, first + i, inwards, true);
				if (!inwards)
					access_add(node,
					           first + i / (step * degree) * step * degree,
					           true, false);
				for (unsigned d = 1; inwards && d < degree; d++)
					access_add(node, first + i + d * (step / degree), true,
					           false);
			}
		}
		first += leaves;
	}
}

static void chains_make(unsigned n)
{
	unsigned chains = draw_wide(2, 60);
	double links = 0.3 * erand48(state);

	while (nnodes < n) {
		unsigned level = nnodes / chains;
		struct node *node = node_add(level);

		access_add(node, (nnodes - 1) % chains, true, true);
		if (erand48(state) < links)
			access_add(node, draw(chains), true, false);
	}
}

static void stream_make(unsigned n)
{
	unsigned shared = flip() ? draw(20) : 0;

	while (nnodes < n) {
		struct node *node = node_add(nnodes / 20);

		access_add(node, shared + nnodes - 1, true, true);
		if (shared)
			access_add(node, draw(shared), true, false);
	}
}

/* How long the longest path from each task to the end takes, on GPUs. */
static void paths_find(void)
{
	static double read_us[MOST_DATA], written_us[MOST_DATA]; /* paths that follow on each */

	for (unsigned n = nnodes; n-- > 0;) {
		struct node *node = &nodes[n];
		double us = 0;

		for (unsigned i = 0; i < node->naccesses; i++) {
			const struct access *access = &node->accesses[i];

			us = fmax(us, written_us[access->data]);
			if (access->writes)
				us = fmax(us, read_us[access->data]);
		}
		us += times_us[node->type][1];
		node->priority = us;
		for (unsigned i = 0; i < node->naccesses; i++) {
			const struct access *access = &node->accesses[i];

			if (access->writes)
				written_us[access->data] = us;
			read_us[access->data] =
			    access->writes ? 0 : fmax(read_us[access->data], us);
		}
	}
}

static void graph_make(unsigned seed)
{
	static void (*const makers[])(unsigned) = {scattered_make, stencil_make, tree_make,
	                                           chains_make, stream_make};
	unsigned n;
	double mean_us = 0;

	draw_begin(seed, 1);
	ntypes = 1 + draw(MOST_TYPES);
	for (unsigned t = 0; t < ntypes; t++) {
		times_us[t][1] = draw_wide(30, 20000);
		times_us[t][0] = times_us[t][1] * draw_wide(0.7, 60);
		weights[t] = -log(1 - erand48(state));
	}
	by_level = draw(4) == 0;
	asynchronous = flip();
	order = draw(ORDERS);
	shape = draw(SHAPES);
	n = LEAST_TASKS + draw(MOST_TASKS - LEAST_TASKS + 1);
	makers[shape](n);
	for (n = 0; n < nnodes; n++)
		mean_us += times_us[nodes[n].type][1] / nnodes;
	bytes = fmin(draw_wide(0.02, 2) * mean_us * LINK, MOST_BYTES);
	if (order == PATHS)
		paths_find();
	for (n = 0; order == ARBITRARY && n < nnodes; n++)
		nodes[n].priority = draw(20);
}

/* ---- running it ---- */

static void never(void *buffers[], void *arg)
{
	abort(); /* kernels do not run under SimGrid */
}

/* SimGrid asks for the time of a task that its worker starts, policies for that of one to come. A
 * kernel behind another one of its GPU is started, but does not run. */
static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	const struct node *node = task->callback_arg;
	bool gpu = arch->devices[0].type != STARPU_CPU_WORKER;

	if (blind && task != starpu_task_get_current() && known[node->type][gpu] < HISTORY)
		return NAN;
	return times_us[node->type][gpu];
}

static struct starpu_perfmodel models[MOST_TYPES];
static struct starpu_codelet codelets[MOST_TYPES];

static void codelets_make(void)
{
	static const char *const symbols[] = {"graphs_0", "graphs_1", "graphs_2", "graphs_3",
	                                      "graphs_4"};

	for (unsigned t = 0; t < ntypes; t++) {
		models[t] = (struct starpu_perfmodel){
		    .type = STARPU_PER_ARCH, .symbol = symbols[t], .arch_cost_function = cost};
		codelets[t] =
		    (struct starpu_codelet){.cpu_funcs = {never},
		                            .cuda_funcs = {never},
		                            .cuda_flags = {asynchronous ? STARPU_CUDA_ASYNC : 0},
		                            .nbuffers = STARPU_VARIABLE_NBUFFERS,
		                            .model = &models[t],
		                            .name = symbols[t]};
	}
}

static void has_ended(void *arg)
{
	struct node *node = arg;
	bool gpu = starpu_worker_get_type(starpu_worker_get_id()) != STARPU_CPU_WORKER;

	node->runs++;
	known[node->type][gpu]++;
}

static void node_submit(struct node *node, starpu_data_handle_t *handles)
{
	struct starpu_task *task = starpu_task_create();

	node->task = task;
	node->runs = 0;
	task->cl = &codelets[node->type];
	task->nbuffers = node->naccesses;
	for (unsigned i = 0; i < node->naccesses; i++) {
		task->handles[i] = handles[node->accesses[i].data];
		task->modes[i] = (node->accesses[i].reads ? STARPU_R : 0) |
		                 (node->accesses[i].writes ? STARPU_W : 0);
	}
	task->priority = node->priority;
	task->callback_func = has_ended;
	task->callback_arg = node;
	task->destroy = 0;
	if (starpu_task_submit(task))
		abort();
}

static double repetition(void *memory)
{
	static starpu_data_handle_t handles[MOST_DATA];
	double us;

	for (unsigned d = 0; d < ndata; d++)
		starpu_vector_data_register(&handles[d], STARPU_MAIN_RAM, (uintptr_t)memory, bytes,
		                            1);
	us = -starpu_timing_now();
	for (unsigned n = 0; n < nnodes; n++)
		node_submit(&nodes[n], handles);
	starpu_task_wait_for_all();
	us += starpu_timing_now();
	for (unsigned d = 0; d < ndata; d++)
		starpu_data_unregister(handles[d]);
	for (unsigned n = 0; n < nnodes; n++) {
		struct starpu_profiling_task_info *info = nodes[n].task->profiling_info;

		nodes[n].taken_us = starpu_timing_timespec_to_us(&info->acquire_data_start_time);
		nodes[n].begin_us = starpu_timing_timespec_to_us(&info->start_time);
		nodes[n].end_us = starpu_timing_timespec_to_us(&info->end_time);
		nodes[n].worker = info->workerid;
		starpu_task_destroy(nodes[n].task);
	}
	return us;
}

/* @return tasks that ran another number of times than once, or too early */
static unsigned faults_count(void)
{
	double read_us[MOST_DATA] = {0}, written_us[MOST_DATA] = {0};
	unsigned faults = 0;

	for (unsigned n = 0; n < nnodes; n++) {
		struct node *node = &nodes[n];

		node->ready_us = 0;
		for (unsigned i = 0; i < node->naccesses; i++) {
			const struct access *access = &node->accesses[i];

			node->ready_us = fmax(node->ready_us, written_us[access->data]);
			if (access->writes)
				node->ready_us = fmax(node->ready_us, read_us[access->data]);
		}
		for (unsigned i = 0; i < node->naccesses; i++) {
			const struct access *access = &node->accesses[i];
			double *us = access->writes ? written_us : read_us;

			us[access->data] = fmax(us[access->data], node->end_us);
		}
		/* Clocks count whole nanoseconds. */
		if (node->runs == 1 && node->begin_us + 0.01 >= node->ready_us)
			continue;
		fprintf(stderr, "task %u ran %u times, %.3f us early\n", n, node->runs,
		        node->ready_us - node->begin_us);
		faults++;
	}
	return faults;
}

/* Repetition, task, type, priority; when it was ready, a worker asked for its data, began and ended
 * it, from the first of these on; the worker. */
static void log_write(FILE *log, unsigned repetition)
{
	double first_us = INFINITY;

	for (unsigned n = 0; n < nnodes; n++)
		first_us = fmin(first_us, nodes[n].taken_us);
	for (unsigned n = 0; n < nnodes; n++) {
		char name[64];

		starpu_worker_get_name(nodes[n].worker, name, sizeof(name));
		fprintf(log, "%u %u %u %d %.0f %.0f %.0f %.0f %s\n", repetition, n, nodes[n].type,
		        nodes[n].priority, fmax(0, nodes[n].ready_us - first_us),
		        nodes[n].taken_us - first_us, nodes[n].begin_us - first_us,
		        nodes[n].end_us - first_us, name);
	}
}

static int graph_run(unsigned repetitions, FILE *log)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned faults = 0;

	if (memory == MAP_FAILED || starpu_init(NULL))
		return 1;
	starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
	codelets_make();
	printf("%s", shapes[shape]);
	for (unsigned r = 0; r < repetitions; r++) {
		printf(" %.0f", repetition(memory));
		fflush(stdout);
		faults += faults_count();
		if (log)
			log_write(log, r);
	}
	printf(" us, %u cores, %u GPUs; %u tasks, %u pieces of %zu bytes, priorities: %s%s; us:",
	       starpu_cpu_worker_get_count(), starpu_cuda_worker_get_count(), nnodes, ndata, bytes,
	       orders[order], asynchronous ? ", asynchronous" : "");
	for (unsigned t = 0; t < ntypes; t++)
		printf(" %.0f/%.0f", times_us[t][0], times_us[t][1]);
	printf("\n");
	starpu_shutdown();
	munmap(memory, bytes);
	return faults > 0;
}

/* Where there is no machine: SimGrid would look for it before main() begins. */
static void __attribute__((constructor)) machine_tell(int argc, char **argv)
{
	if (argc == 2) {
		machine_print(strtoul(argv[1], NULL, 0));
		fflush(stdout);
		_exit(0);
	}
}

int main(int argc, char **argv)
{
	FILE *log = NULL;
	int i = 3, status;

	if (argc < 3) {
		fputs("Usage: graphs SEED [REPETITIONS [blind] [LOG]]\n", stderr);
		return 2;
	}
	blind = argc > i && !strcmp(argv[i], "blind");
	i += blind;
	if (argc > i && !(log = fopen(argv[i], "w"))) {
		perror(argv[i]);
		return 1;
	}
	graph_make(strtoul(argv[1], NULL, 0));
	status = graph_run(strtoul(argv[2], NULL, 0), log);
	if (log)
		fclose(log);
	return status;
}
