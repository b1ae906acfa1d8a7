/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * `heddle bench --irregular`: strategies on loops that are not smooth, on simulated machines.
 * First named cases, then loops and machines drawn at random, which nobody can tune for.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/message.h"
#include "support/variables.h"
#include "tools/bench/bench.h"
#include "partition/blocks/replay.h"

#define DEFAULT_N 400000
#define DEFAULT_SEEDS 12
#define DEFAULT_DRAWN 200
#define MAXREPS 100 /* of a contender "SPEC@N" */
#define MAXDEVICES 8
#define MAXWORKERS 512

/* What an iteration costs, by its place in the loop. */
enum shape { UNIFORM, ZONE, LINEAR, SAWTOOTH, PARETO, NSHAPES };

struct cost {
	enum shape shape;
	double from, to; /* ZONE: its edges, 0 to 1 */
	double factor;   /* of the dearest to the cheapest; PARETO: the exponent */
	unsigned teeth;
	const double *measured; /* of each iteration, whatever the shape; or NULL */
};

struct machine {
	const char *name;
	unsigned cores, devices;
	double speed[MAXDEVICES]; /* in cores */
};

struct row {
	const struct machine *machine;
	struct cost cost;
	const char *name;          /* of the cost */
	double us;                 /* ideal time */
	double core_us, device_us; /* what a block costs beside its iterations */
	double noise;              /* of a block's time */
	unsigned depth;            /* blocks under way on a device */
};

static const struct machine machines[] = {
    {"16", 16, 0, {0}},
    {"15+gpu36", 15, 1, {36}},
    {"63+gpu36", 63, 1, {36}},
    {"128+8gpu", 128, 8, {80, 60, 48, 36, 30, 24, 16, 8}},
};

struct shape_named {
	const char *name;
	struct cost cost;
	double noise;
};

static const struct shape_named shapes[] = {
    {"uniform", {UNIFORM, 0, 0, 1, 0, NULL}, 0.05},
    {"noise-0.5", {UNIFORM, 0, 0, 1, 0, NULL}, 0.5},
    {"last-1%x50", {ZONE, 0.99, 1, 50, 0, NULL}, 0.05},
    {"first-1%x50", {ZONE, 0, 0.01, 50, 0, NULL}, 0.05},
    {"mid-20%x20", {ZONE, 0.4, 0.6, 20, 0, NULL}, 0.05},
    {"step-x4", {ZONE, 0.5, 1, 4, 0, NULL}, 0.05},
    {"linear-up", {LINEAR, 0, 0, 20, 0, NULL}, 0.05},
    {"linear-down", {LINEAR, 0, 0, 1 / 20.0, 0, NULL}, 0.05},
    {"sawtooth", {SAWTOOTH, 0, 0, 10, 8, NULL}, 0.05},
    {"pareto-1.5", {PARETO, 0, 0, 1.5, 0, NULL}, 0.05},
};

#define NMACHINES (sizeof(machines) / sizeof(machines[0]))
#define NSHAPES_NAMED (sizeof(shapes) / sizeof(shapes[0]))

/* Marsaglia's xorshift64*. */
static double draw(uint64_t *random)
{
	*random ^= *random >> 12;
	*random ^= *random << 25;
	*random ^= *random >> 27;
	return ((*random * UINT64_C(2685821657736338717) >> 11) + 0.5) / 9007199254740992.0;
}

/* Logarithms are drawn: 3 to 30 are as likely as 30 to 300. */
static double draw_between(uint64_t *random, double least, double most)
{
	return least * pow(most / least, draw(random));
}

static double iteration_cost(const struct cost *cost, double x, uint64_t *random)
{
	switch (cost->shape) {
	case ZONE:
		return x >= cost->from && x < cost->to ? cost->factor : 1;
	case LINEAR:
		return 1 + x * (cost->factor - 1);
	case SAWTOOTH:
		return 1 + fmod(x * cost->teeth, 1) * (cost->factor - 1);
	case PARETO:
		return pow(draw(random), -1 / cost->factor);
	default:
		return 1;
	}
}

/* Costs are scaled: all together take the time that as many equal ones would. */
static void work_fill(double *work, size_t n, const struct cost *cost, uint64_t *random)
{
	double scale;

	work[0] = 0;
	for (size_t i = 0; i < n; i++)
		work[i + 1] =
		    work[i] + (cost->measured ? cost->measured[i]
		                              : iteration_cost(cost, (i + 0.5) / n, random));
	scale = n / work[n];
	for (size_t i = 0; i <= n; i++)
		work[i] *= scale;
}

static void machine_fill(struct replay_machine *machine, const struct row *row)
{
	const struct machine *m = row->machine;
	double sum = m->cores;

	machine->nworkers = m->cores + m->devices;
	memset(machine->workers, 0, machine->nworkers * sizeof(*machine->workers));
	for (unsigned d = 0; d < m->devices; d++)
		sum += m->speed[d];
	for (unsigned w = 0; w < machine->nworkers; w++) {
		struct replay_worker *worker = &machine->workers[w];
		bool device = w < m->devices;

		worker->given.kind = device ? HEDDLE_KIND_CUDA : HEDDLE_KIND_CPU;
		worker->rate = (device ? m->speed[w] : 1) * machine->n / sum / row->us;
		worker->overhead_us = device ? row->device_us : row->core_us;
		worker->depth = device ? row->depth : 1;
		worker->noise = row->noise;
	}
}

/* Prepares a row's machine and loop, with one seed. */
static void row_fill(struct replay_machine *machine, double *work, const struct row *row,
                     unsigned long seed)
{
	uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

	machine->seed = seed;
	machine_fill(machine, row);
	work_fill(work, machine->n, &row->cost, &random);
	machine->work = work;
}

/* The same loop with its iterations in the opposite order. */
static void work_mirror(double *mirrored, const double *work, size_t n)
{
	for (size_t i = 0; i <= n; i++)
		mirrored[i] = work[n] - work[n - i];
}

/* Efficiency of a repetition. "SPEC@3" is the third of three; the strategy keeps what it has
 * learned. "SPEC@-3" is the third after two of the loop with its iterations in the opposite
 * order: what was learned is wrong. Noise differs from one repetition to the next. */
static double efficiency(const char *contender, const struct replay_machine *given)
{
	struct replay_machine machine = *given;
	struct blocks_memory *memory = NULL;
	const char *at = strchr(contender, '@');
	int reps = at ? atoi(at + 1) : 1, error = 0;
	char *spec = bench_format("%.*s", at ? (int)(at - contender) : 200, contender);
	double value = -1, *mirrored = NULL;

	if (reps < 0) {
		mirrored = bench_grow(NULL, machine.n + 1, sizeof(*mirrored));
		work_mirror(mirrored, machine.work, machine.n);
	}
	if (at)
		machine.memory = &memory;
	for (int r = 1; r <= abs(reps) && !error; r++) {
		struct replay_result result;

		machine.work = mirrored && r < -reps ? mirrored : given->work;
		machine.seed = given->seed + (abs(reps) - r) * 1000003UL;
		error = replay_run(spec, &machine, &result);
		value = error ? -1 : result.ideal_us / result.makespan_us;
		if (!error)
			replay_free(&result);
	}
	free(memory);
	free(mirrored);
	free(spec);
	return value;
}

/* "css": the best of a sweep, with blocks of devices that are larger or not. */
static unsigned css_sweep(const struct replay_machine *machine, char variants[][96])
{
	unsigned count = 0;

	for (unsigned parts = 2; parts <= 512; parts *= 4)
		for (unsigned times = 1; times <= 64; times *= 4) {
			double chunk = fmax(1, machine->n / parts / machine->nworkers);

			snprintf(variants[count++], 96, "css:chunk=%.0f,cuda=%.0f", chunk,
			         chunk * times);
		}
	return count;
}

/* "fixed": the best blocks of one size for cores and one for devices that somebody could choose who
 * knows all rates. A device has 1 to MOST_LAUNCHES of them, which are about its share. */
#define LEAST_PARTS 2
#define MOST_PARTS 64
#define MOST_LAUNCHES 16
#define LEAST_SHARE 50 /* percent */
#define MOST_SHARE 110
#define SHARE_STEP 4

static unsigned fixed_sweep(const struct replay_machine *machine, const struct row *row,
                            char variants[][96])
{
	unsigned devices = row->machine->devices, count = 0;
	double core, device = 0;

	for (unsigned d = 0; d < devices; d++)
		device += row->machine->speed[d] / devices;
	core = machine->n / (row->machine->cores + device * devices);
	for (double parts = LEAST_PARTS; parts <= MOST_PARTS; parts *= devices ? 2 : sqrt(2))
		for (unsigned launches = 1; launches <= (devices ? MOST_LAUNCHES : 1);
		     launches += 1 + launches / 4)
			for (unsigned share = devices ? LEAST_SHARE : MOST_SHARE;
			     share <= MOST_SHARE; share += SHARE_STEP)
				snprintf(variants[count++], 96, "css:chunk=%.0f,cuda=%.0f",
				         fmax(1, core / parts),
				         fmax(1, core * device * share / 100 / launches));
	return count;
}

/* What is tried for a contender. */
static unsigned variants_make(const char *contender, const struct replay_machine *machine,
                              const struct row *row, char variants[][96])
{
	if (!strcmp(contender, "css"))
		return css_sweep(machine, variants);
	if (!strcmp(contender, "fixed"))
		return fixed_sweep(machine, row, variants);
	snprintf(variants[0], 96, "%s", contender);
	return 1;
}

#define MAXVARIANTS 1024
/* What is so far below the best after a seed is tried no more; after some, so far in the mean. */
#define HOPELESS 0.1
#define SEEDS_ENOUGH 3
#define BEATEN 0.02

/* @return the number of the best one so far */
static unsigned best_of(const double *sum, unsigned count)
{
	unsigned best = 0;

	for (unsigned v = 1; v < count; v++)
		best = sum[v] > sum[best] ? v : best;
	return best;
}

/* @param[out] mean efficiency of the best variant
 * @param[out] low its least
 * @return 0; 1 after a message */
static int contender_run(const char *contender, struct replay_machine *machine, double *work,
                         const struct row *row, unsigned first_seed, unsigned seeds, double *mean,
                         double *low)
{
	static char variants[MAXVARIANTS][96];
	double sum[MAXVARIANTS] = {0}, least[MAXVARIANTS];
	unsigned count, best = 0;

	machine->nworkers = row->machine->cores + row->machine->devices;
	count = variants_make(contender, machine, row, variants);
	for (unsigned s = 0; s < seeds; s++) {
		double lost = s < SEEDS_ENOUGH ? HOPELESS : BEATEN, most = s ? sum[best] / s : 0;

		row_fill(machine, work, row, first_seed + s);
		for (unsigned v = 0; v < count; v++) {
			double e;

			if (s && sum[v] / s < most - lost) {
				sum[v] = 0;
				continue;
			}
			e = efficiency(variants[v], machine);
			if (e < 0)
				return 1;
			sum[v] += e;
			least[v] = s ? fmin(least[v], e) : e;
		}
		best = best_of(sum, count);
	}
	*mean = sum[best] / seeds;
	*low = least[best];
	return 0;
}

static void title_print(char **contenders, unsigned count, const char *what)
{
	printf("%-34s", what);
	for (unsigned c = 0; c < count; c++)
		printf("  %11.11s", contenders[c]);
	printf("\n");
}

static int row_run(const struct bench_settings *settings, char **contenders, unsigned count,
                   struct replay_machine *machine, double *work, const struct row *row)
{
	double mean, low, first = 0;
	char name[96];

	snprintf(name, sizeof(name), "%s %s %gms %gus", row->machine->name, row->name,
	         row->us / 1e3, row->device_us);
	printf("%-34s", name);
	for (unsigned c = 0; c < count; c++) {
		if (contender_run(contenders[c], machine, work, row, settings->seed,
		                  settings->rounds ? settings->rounds : DEFAULT_SEEDS, &mean, &low))
			return 1;
		printf("  %.3f/%.3f", mean, low);
		if (!c)
			first = mean;
		else if (!strcmp(contenders[c], "fixed"))
			printf(" (%.3f)", first / mean);
		fflush(stdout);
	}
	printf("\n");
	return 0;
}

static void row_name(struct row *row, const struct shape_named *named)
{
	row->cost = named->cost;
	row->name = named->name;
	row->noise = named->noise;
}

/* A shape in loops of two lengths on every machine. */
static int shape_run(const struct bench_settings *settings, char **contenders, unsigned count,
                     struct replay_machine *machine, double *work, struct row *row)
{
	int status = 0;

	row->device_us = 50;
	for (size_t m = 0; m < NMACHINES; m++)
		for (unsigned l = 0; l < 2 && !status; l++) {
			row->machine = &machines[m];
			row->us = l ? 20e3 : 100e3;
			status = row_run(settings, contenders, count, machine, work, row);
		}
	return status;
}

/* Every shape on every machine, then the long launches and short loops of the first one. */
static int named_run(const struct bench_settings *settings, const struct shape_named *named,
                     size_t nnamed, char **contenders, unsigned count,
                     struct replay_machine *machine, double *work)
{
	static const double lengths[] = {5e3, 10e3, 20e3, 80e3};
	struct row row = {.core_us = 3, .depth = 1};
	int status = 0;

	if (heddle_variable_is_set(HEDDLE_VARIABLE_DEPTH))
		row.depth = heddle_variable_number(HEDDLE_VARIABLE_DEPTH);

	title_print(contenders, count, "mean/least efficiency");
	for (size_t s = 0; s < nnamed && !status; s++) {
		row_name(&row, &named[s]);
		status = shape_run(settings, contenders, count, machine, work, &row);
	}
	row_name(&row, &named[0]);
	for (size_t l = 0; l < 4; l++)
		for (size_t m = 1; m < NMACHINES && !status; m++) {
			row.us = lengths[l];
			row.machine = &machines[m];
			row.device_us = 1000;
			status = row_run(settings, contenders, count, machine, work, &row);
		}
	row.us = 5e3;
	row.device_us = 50;
	for (size_t m = 0; m < NMACHINES && !status; m++) {
		row.machine = &machines[m];
		status = row_run(settings, contenders, count, machine, work, &row);
	}
	return status;
}

static void cost_draw(struct cost *cost, uint64_t *random)
{
	double width = draw_between(random, 0.002, 0.5);

	*cost = (struct cost){.shape = draw(random) * NSHAPES};
	cost->factor = draw_between(random, 1, 100);
	if (draw(random) < 0.3 && cost->shape != SAWTOOTH)
		cost->factor = 1 / cost->factor;
	cost->from = draw(random) * 1.5 - 0.25;
	cost->from = fmax(0, fmin(1 - width, cost->from)); /* edges are likely */
	cost->to = cost->from + width;
	cost->teeth = draw_between(random, 1, 30);
	if (cost->shape == PARETO)
		cost->factor = draw_between(random, 1.4, 4);
}

static void row_draw(struct row *row, struct machine *machine, uint64_t *random)
{
	*machine = (struct machine){.cores = draw_between(random, 1, 140)};
	machine->devices = draw(random) < 0.2 ? 0 : draw_between(random, 1, MAXDEVICES + 1);
	if (machine->cores < 2 && !machine->devices)
		machine->cores = 2;
	for (unsigned d = 0; d < machine->devices; d++)
		machine->speed[d] =
		    d && draw(random) < 0.5 ? machine->speed[d - 1] : draw_between(random, 2, 100);
	*row = (struct row){.machine = machine,
	                    .us = draw_between(random, 5e3, 200e3),
	                    .core_us = draw_between(random, 1, 20),
	                    .device_us = draw_between(random, 20, 200),
	                    .noise = draw_between(random, 0.01, 0.5),
	                    .depth = draw(random) < 0.5 ? 1 : 2};
	cost_draw(&row->cost, random);
}

static int order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void quantile_print(double *values[], unsigned count, unsigned n, const char *name,
                           double part)
{
	printf("%-34s", name);
	for (unsigned c = 0; c < count; c++)
		printf("  %11.3f", values[c][(size_t)(part * (n - 1))]);
	printf("\n");
}

static void drawn_print(const struct bench_settings *settings, char **contenders, unsigned count,
                        double *values[], unsigned n)
{
	static const char *const names[] = {"least", "1 of 100", "1 of 20", "1 of 4", "median"};
	static const double parts[] = {0, 0.01, 0.05, 0.25, 0.5};
	char title[64];

	snprintf(title, sizeof(title), "%u drawn with seed %u", n, settings->seed);
	title_print(contenders, count, title);
	printf("%-34s", "mean");
	for (unsigned c = 0; c < count; c++) {
		double sum = 0;

		for (unsigned i = 0; i < n; i++)
			sum += values[c][i];
		printf("  %11.3f", sum / n);
		qsort(values[c], n, sizeof(*values[c]), order);
	}
	printf("\n");
	for (size_t q = 0; q < sizeof(parts) / sizeof(parts[0]); q++)
		quantile_print(values, count, n, names[q], parts[q]);
}

/* @param measured the loop of all machines; NULL: loops are drawn as well */
static int drawn_run(const struct bench_settings *settings, const struct cost *measured,
                     char **contenders, unsigned count, struct replay_machine *machine,
                     double *work)
{
	unsigned n = settings->reps ? settings->reps : DEFAULT_DRAWN;
	uint64_t random = settings->seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	double **values = bench_grow(NULL, count, sizeof(*values));
	int status = 0;

	for (unsigned c = 0; c < count; c++)
		values[c] = bench_grow(NULL, n, sizeof(*values[c]));
	for (unsigned i = 0; i < n && !status; i++) {
		struct machine drawn;
		struct row row;

		row_draw(&row, &drawn, &random);
		if (measured)
			row.cost = *measured;
		row_fill(machine, work, &row, settings->seed + i);
		for (unsigned c = 0; c < count && !status; c++) {
			double low;

			if (strcmp(contenders[c], "fixed"))
				values[c][i] = efficiency(contenders[c], machine);
			else if (contender_run("fixed", machine, work, &row, settings->seed + i, 1,
			                       &values[c][i], &low))
				values[c][i] = -1;
			status = values[c][i] < 0;
		}
	}
	if (!status)
		drawn_print(settings, contenders, count, values, n);
	for (unsigned c = 0; c < count; c++)
		free(values[c]);
	free(values);
	return status;
}

/* A contender that is none is said before anything is printed: a loop of one iteration. */
static int contender_check(const char *contender)
{
	struct replay_worker worker = {.rate = 1, .depth = 1};
	struct replay_machine machine = {.n = 1, .nworkers = 1, .workers = &worker};
	const char *at = strchr(contender, '@');
	char *spec = bench_format("%.*s", at ? (int)(at - contender) : 200, contender), *end = "";
	struct replay_result result;
	int error = replay_run(spec, &machine, &result);

	if (!error)
		replay_free(&result);
	free(spec);
	if (!error && at && ((unsigned long)labs(strtol(at + 1, &end, 10)) - 1 >= MAXREPS || *end))
		error = heddle_refuse(-EINVAL, "%s: not a repetition from 1 to %d, or -1 to -%d",
		                      contender, MAXREPS, MAXREPS);
	return error;
}

int bench_irregular(const struct bench_settings *settings)
{
	const char *list = settings->contenders ? settings->contenders
	                                        : "hdss hdss:published=1 gss fss tss css linear";
	struct replay_machine machine = {.n = settings->size ? settings->size : DEFAULT_N};
	struct shape_named measured = {.name = "costs", .noise = shapes[0].noise};
	double *work, *costs = NULL;
	char *copy = bench_format("%s", list), *rest = copy, *word, **contenders = NULL;
	unsigned count = 0;
	int status = settings->costs ? bench_costs_read(settings->costs, &costs, &machine.n) : 0;

	measured.cost.measured = costs;
	work = bench_grow(NULL, machine.n + 1, sizeof(*work));
	machine.workers = bench_grow(NULL, MAXWORKERS, sizeof(*machine.workers));
	while ((word = strsep(&rest, " ")))
		if (*word) {
			contenders = bench_grow(contenders, count + 1, sizeof(*contenders));
			contenders[count++] = word;
			if (!status && strcmp(word, "fixed"))
				status = contender_check(word);
		}
	if (!status && !count)
		status = heddle_refuse(-EINVAL, "--contenders \"%s\": no strategy", list);
	if (!status && !settings->quick)
		status = named_run(settings, costs ? &measured : shapes, costs ? 1 : NSHAPES_NAMED,
		                   contenders, count, &machine, work);
	if (!status)
		status = drawn_run(settings, costs ? &measured.cost : NULL, contenders, count,
		                   &machine, work);
	free(costs);
	free(contenders);
	free(copy);
	free(machine.workers);
	free(work);
	return status;
}
