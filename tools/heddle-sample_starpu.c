/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle sample: runs jobs of a codelet with different parameters on every device class, to check
 * the accuracy of its profile (heddle estimate cv): the first phase of Teodoro et al., HPDC 2010,
 * section 4. It is optional: tasks of programs are measured while they run.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/heddle.h>

#include "apps/common/app.h"
#include "apps/nbody/bodies.h"
#include "codelets/blackscholes/blackscholes.h"
#include "codelets/boxfilter/boxfilter.h"
#include "codelets/eclat/eclat.h"
#include "codelets/heart/heart.h"
#include "codelets/programs.h"
#include "codelets/histogram/histogram.h"
#include "codelets/knn/knn.h"
#include "codelets/nbia/nbia.h"
#include "codelets/nbody/nbody.h"
#include "estimator/estimate_starpu.h"
#include "support/message.h"
#include "support/options.h"
#include "support/progress.h"
#include "estimator/profile_file.h"
#include "support/variables.h"

#define MAXBUFFERS 5
/* Pairs of runs of a job, one after the other on each device, before the next job has its turn. */
#define PAIRS 3

/* One job: a task's data and parameters. */
struct job {
	const struct sampled *what;
	struct starpu_codelet *codelet;
	unsigned nbuffers, nparams;
	starpu_data_handle_t handles[MAXBUFFERS];
	void *memory[MAXBUFFERS];
	size_t bytes[MAXBUFFERS];
	struct heddle_param params[HEDDLE_PARAMS_MAX];
	union {
		struct heddle_block block;
		struct heddle_event event;
	};
	union {
		struct blackscholes_market market;
		struct boxfilter_window window;
		struct eclat_class eclat;
		struct heart_problem heart;
		struct knn_problem knn;
		struct nbody_problem nbody;
	};
	void *arg; /* for the kernel */
	size_t arg_bytes;
	const int *status; /* of the kernel */
};

struct arguments {
	const struct sampled *what; /* NULL: all */
	bool all;
	unsigned jobs, reps;
	uint64_t least, most, seed; /* least, most: 0: the codelet's */
};

/* ---- jobs ---- */

/* Random floats from 1 to 2: valid as prices and as bytes. */
static void fill(void *memory, size_t bytes, uint64_t seed)
{
	uint32_t *words = memory;

	for (size_t i = 0; i < bytes / sizeof(*words); i++)
		words[i] = 0x3f800000 | (app_random(seed, i) & 0x7fffff);
}

static int buffer_add(struct job *job, size_t bytes, uint64_t seed)
{
	int error = heddle_malloc(&job->memory[job->nbuffers], bytes);

	if (error)
		return error;
	job->bytes[job->nbuffers] = bytes;
	fill(job->memory[job->nbuffers++], bytes, seed);
	return 0;
}

static int vector_add(struct job *job, size_t n, size_t element, uint64_t seed)
{
	unsigned b = job->nbuffers;
	int error = buffer_add(job, n * element, seed);

	if (!error)
		starpu_vector_data_register(&job->handles[b], STARPU_MAIN_RAM,
		                            (uintptr_t)job->memory[b], n, element);
	return error;
}

static int matrix_add(struct job *job, size_t width, size_t height, size_t element, uint64_t seed)
{
	unsigned b = job->nbuffers;
	int error = buffer_add(job, width * height * element, seed);

	if (!error)
		starpu_matrix_data_register(&job->handles[b], STARPU_MAIN_RAM,
		                            (uintptr_t)job->memory[b], width, width, height,
		                            element);
	return error;
}

static int variable_add(struct job *job, size_t bytes, uint64_t seed)
{
	unsigned b = job->nbuffers;
	int error = buffer_add(job, bytes, seed);

	if (!error)
		starpu_variable_data_register(&job->handles[b], STARPU_MAIN_RAM,
		                              (uintptr_t)job->memory[b], bytes);
	return error;
}

static void param_add(struct job *job, const char *name, double number)
{
	job->params[job->nparams++] = (struct heddle_param){name, number, NULL};
}

static void word_add(struct job *job, const char *name, const char *word)
{
	job->params[job->nparams++] = (struct heddle_param){name, 0, word};
}

/* From 1 to `most`, evenly on a logarithmic scale. */
static unsigned draw(uint64_t seed, unsigned index, unsigned most)
{
	return pow(most + 1., (app_random(seed, index) >> 11) * 0x1p-53);
}

/* The job is one block, the whole loop. */
static void block_job(struct job *job, struct starpu_codelet *codelet, size_t n, const void *arg)
{
	job->codelet = codelet;
	job->block = (struct heddle_block){.n = n, .total = n, .arg = arg};
	job->arg = &job->block;
	job->arg_bytes = sizeof(job->block);
	job->status = &job->block.status;
}

static int blackscholes_make(struct job *job, size_t size, uint64_t seed)
{
	int error = 0;

	job->market = (struct blackscholes_market){.rate = 0.05, .volatility = 0.3};
	block_job(job, &blackscholes_codelet, size, &job->market);
	param_add(job, "options", size);
	for (int b = 0; b < 5 && !error; b++)
		error = vector_add(job, size, sizeof(float), seed + b);
	return error;
}

static int histogram_make(struct job *job, size_t size, uint64_t seed)
{
	size_t pieces = size / HISTOGRAM_PIECE + 1;
	int error;

	block_job(job, &histogram_codelet, pieces, NULL);
	param_add(job, "pieces", pieces);
	error = vector_add(job, pieces, HISTOGRAM_PIECE, seed);
	return error ? error : vector_add(job, HISTOGRAM_BINS, sizeof(uint64_t), seed);
}

/* Images of any shape, windows of 3 to 65 pixels a side. */
static int boxfilter_make(struct job *job, size_t size, uint64_t seed)
{
	double stretch = exp2(app_random(seed, 1) % 5 - 2.);
	size_t width = ceil(sqrt(size) * stretch), height = ceil(size / (double)width);
	int error;

	job->window =
	    (struct boxfilter_window){.radius = 1 + app_random(seed, 2) % 32, .channels = 1};
	block_job(job, &boxfilter_codelet, height, &job->window);
	param_add(job, "width", width);
	param_add(job, "height", height);
	param_add(job, "radius", job->window.radius);
	error = matrix_add(job, width, height, 1, seed);
	return error ? error : matrix_add(job, width, height, 1, seed);
}

/* Classes of sets of 2 to 9 items, in tasks as the app makes them. */
static int eclat_make(struct job *job, size_t size, uint64_t seed)
{
	struct eclat_class *of = &job->eclat;
	size_t nitems, ncounts;
	int error;

	*of = (struct eclat_class){.words = size / 64 + 1,
	                           .prefix = draw(seed, 1, 8) - 1,
	                           .members = 1 + draw(seed, 2, 256)};
	of->rows = eclat_rows(of->members, 1024);
	nitems = of->prefix + of->members;
	ncounts = (size_t)of->rows * of->members;
	block_job(job, &eclat_codelet, eclat_pairs(of), of);
	param_add(job, "pairs", eclat_pairs(of));
	param_add(job, "rows", of->rows);
	param_add(job, "length", of->prefix + 2);
	param_add(job, "words", of->words);
	error = vector_add(job, nitems * of->words, sizeof(uint64_t), seed);
	if (!error)
		error = vector_add(job, nitems, sizeof(int32_t), 0);
	if (!error)
		error = vector_add(job, ncounts, sizeof(uint32_t), 0);
	for (size_t i = 0; i < nitems && !error; i++)
		((int32_t *)job->memory[1])[i] = i;
	return error;
}

/* Excited tissue: all numbers are from 0 to 1. */
static int heart_make(struct job *job, size_t size, uint64_t seed)
{
	size_t width = ceil(sqrt(size) * draw(seed, 1, 4) / 2), height = ceil(size / (double)width);
	int error = 0;

	job->heart = (struct heart_problem){.model = app_random(seed, 2) % 2,
	                                    .steps = draw(seed, 3, 15),
	                                    .substeps = draw(seed, 4, 3),
	                                    .dt = 0.05f,
	                                    .coupling = 0.05f};
	block_job(job, &heart_codelet, height, &job->heart);
	param_add(job, "columns", width);
	param_add(job, "rows", height);
	param_add(job, "steps", job->heart.steps);
	param_add(job, "substeps", job->heart.substeps);
	word_add(job, "model",
	         job->heart.model == HEART_ALIEV_PANFILOV ? "aliev-panfilov"
	                                                  : "mitchell-schaeffer");
	for (int b = 0; b < 5 && !error; b++)
		error = matrix_add(job, width, height, sizeof(float), seed + b);
	for (int b = 0; b < 5 && !error; b++)
		for (size_t i = 0; i < width * height; i++)
			((float *)job->memory[b])[i] -= 1;
	return error;
}

/* Any number of points, coordinates and neighbours. */
static int knn_make(struct job *job, size_t size, uint64_t seed)
{
	struct knn_problem *problem = &job->knn;
	int error;

	*problem = (struct knn_problem){.points = 128 * draw(seed, 1, 64),
	                                .dimensions = draw(seed, 2, 16),
	                                .k = draw(seed, 3, 16),
	                                .metric = app_random(seed, 4) % 2};
	block_job(job, &knn_codelet, size, problem);
	param_add(job, "queries", size);
	param_add(job, "points", problem->points);
	param_add(job, "dimensions", problem->dimensions);
	param_add(job, "k", problem->k);
	word_add(job, "metric", problem->metric == KNN_MANHATTAN ? "manhattan" : "euclidean");
	error = vector_add(job, problem->points * problem->dimensions, sizeof(float), seed + 1);
	if (!error)
		error = vector_add(job, problem->points, sizeof(int32_t), seed + 2);
	if (!error)
		error = vector_add(job, size * problem->dimensions, sizeof(float), seed + 3);
	return error ? error : vector_add(job, size, sizeof(int32_t), seed + 4);
}

/* Square tiles of noise: every level and every pattern occurs. */
static int nbia_make(struct job *job, size_t size, uint64_t seed)
{
	size_t side = ceil(sqrt(size));
	int error;

	if (side < NBIA_SMALLEST || side > NBIA_LARGEST)
		return heddle_refuse(-EINVAL, "nbia: tiles have %d to %d pixels",
		                     NBIA_SMALLEST * NBIA_SMALLEST, NBIA_LARGEST * NBIA_LARGEST);
	job->codelet = &nbia_codelet;
	job->arg = &job->event;
	job->arg_bytes = sizeof(job->event);
	job->status = &job->event.status;
	param_add(job, "resolution", side);
	error = matrix_add(job, 3 * side, side, 1, seed);
	if (!error)
		error = vector_add(job, NBIA_TABLE_ENTRIES, sizeof(nbia_u32), 0);
	if (!error)
		nbia_tables(job->memory[1]);
	return error ? error : variable_add(job, sizeof(struct nbia_summary), 0);
}

static int bodies_fill(struct job *job, const struct bodies_shape *shape)
{
	size_t n = shape->n;
	float *bodies = job->memory[0], *scratch = malloc(n * sizeof(*scratch));
	uint32_t *places = malloc(n * sizeof(*places));

	if (scratch && places) {
		for (size_t i = 0; i < n; i++) {
			float body[4];

			bodies_random(shape, i, body);
			for (int c = 0; c < 4; c++)
				bodies[c * n + i] = body[c];
		}
		bodies_grid(shape, bodies, &job->nbody);
		bodies_sort(&job->nbody, places, bodies, NULL, 0, scratch, job->memory[1]);
	}
	free(places);
	free(scratch);
	return scratch && places ? 0 : -ENOMEM;
}

/* Clusters, whose bodies have many or few neighbours. */
static int nbody_make(struct job *job, size_t size, uint64_t seed)
{
	const struct bodies_shape shape = {.n = size,
	                                   .cutoff = 0.01 * draw(seed, 1, 15),
	                                   .softening = 0.005,
	                                   .clusters = draw(seed, 2, 16),
	                                   .seed = seed};
	int error;

	block_job(job, &nbody_codelet, size, &job->nbody);
	error = vector_add(job, 4 * size, sizeof(float), 0);
	if (!error)
		error = vector_add(job, bodies_cells(size) + 1, sizeof(uint32_t), 0);
	if (!error)
		error = vector_add(job, 3 * size, sizeof(float), 0);
	if (!error)
		error = bodies_fill(job, &shape);
	if (error)
		return error;
	param_add(job, "bodies", size);
	param_add(job, "near", bodies_near(&job->nbody, job->memory[1]));
	return 0;
}

static const struct sampled {
	const char *name;
	int (*make)(struct job *job, size_t size, uint64_t seed);
	const char *unit;
	size_t least, most; /* sizes, unless the user says otherwise */
} sampled[] = {
    {"blackscholes", blackscholes_make, "options", 1 << 10, 1 << 22},
    {"boxfilter", boxfilter_make, "pixels", 1 << 10, 1 << 22},
    {"eclat", eclat_make, "transactions", 1 << 14, 1 << 20},
    {"heart", heart_make, "cells", 1 << 10, 1 << 18},
    {"histogram", histogram_make, "bytes", 1 << 10, 1 << 22},
    {"knn", knn_make, "queries", 1 << 4, 1 << 14},
    {"nbia", nbia_make, "pixels", 1 << 10, 1 << 22},
    {"nbody", nbody_make, "bodies", 1 << 8, 1 << 14},
};

#define NSAMPLED (sizeof(sampled) / sizeof(sampled[0]))

static void job_free(struct job *job)
{
	for (unsigned b = 0; b < job->nbuffers; b++) {
		if (job->handles[b])
			starpu_data_unregister(job->handles[b]);
		heddle_free(job->memory[b], job->bytes[b]);
	}
}

/* ---- running jobs ---- */

/* What a run counts for. */
enum purpose { NOTHING, FIRST, AGAIN };

/* The same codelet by another name, whose profile gets the other sampling. */
static struct starpu_codelet *codelet_again(const struct job *job)
{
	static struct starpu_codelet again[NSAMPLED];
	static char names[NSAMPLED][64];
	size_t s = job->what - sampled;

	if (!again[s].name) {
		snprintf(names[s], sizeof(names[s]), "%s-again", job->codelet->name);
		again[s] = *job->codelet;
		again[s].name = names[s];
	}
	return &again[s];
}

static int task_run(struct job *job, int worker, enum purpose purpose)
{
	struct starpu_task *task = starpu_task_create();
	int error = 0;

	task->cl = purpose == AGAIN ? codelet_again(job) : job->codelet;
	task->cl_arg = job->arg;
	task->cl_arg_size = job->arg_bytes;
	for (unsigned b = 0; b < job->nbuffers; b++)
		task->handles[b] = job->handles[b];
	task->execute_on_a_specific_worker = 1;
	task->workerid = worker;
	task->synchronous = 1;
	/* Tasks without parameters are not measured. */
	if (purpose != NOTHING)
		error = heddle_task_params(task, job->params, job->nparams);
	if (!error)
		error = starpu_task_submit(task);
	if (error) {
		task->destroy = 0;
		starpu_task_destroy(task);
		return heddle_refuse(error, "worker %d does not run %s", worker,
		                     job->codelet->name);
	}
	return *job->status;
}

/* Runs pairs of a job on a worker. The first run allocates memory on the device. Of a pair either
 * may come first. */
static int pairs_run(struct job *job, int worker, unsigned first, unsigned n)
{
	int error = task_run(job, worker, NOTHING);

	for (unsigned i = 0; i < 2 * n && !error; i++) {
		bool again = i % 2 != (first + i / 2) % 2;

		error = task_run(job, worker, again ? AGAIN : FIRST);
	}
	return error;
}

/* One worker of each class that can run the codelet. */
static unsigned workers_choose(const struct job *job, int workers[STARPU_NMAXWORKERS])
{
	unsigned n = 0, done = 0; /* bit c: class c */

	for (unsigned w = 0; w < starpu_worker_get_count(); w++) {
		unsigned class = heddle_device_class(w);
		struct starpu_task probe = {.cl = job->codelet, .where = -1};

		if (done >> class & 1 || !starpu_worker_can_execute_task(w, &probe, 0))
			continue;
		done |= 1u << class;
		workers[n++] = w;
	}
	return n;
}

/* The devices follow each other closely, in one order and the other in turn: when a core's clock
 * or its neighbours change, both samplings and all devices see it. */
static int job_run(struct job *job, unsigned visit, unsigned pairs)
{
	int workers[STARPU_NMAXWORKERS], error = 0;
	unsigned n = workers_choose(job, workers);

	for (unsigned i = 0; i < n && !error; i++)
		error = pairs_run(job, workers[visit & 1 ? n - 1 - i : i], visit >> 1, pairs);
	return error;
}

static bool is_sampled(const struct arguments *arguments, size_t i)
{
	return arguments->all || arguments->what == &sampled[i];
}

static unsigned visits(const struct arguments *arguments)
{
	return (arguments->reps + PAIRS - 1) / PAIRS;
}

/* Sizes between the bounds, evenly on a logarithmic scale. */
static size_t size_of(const struct arguments *arguments, const struct sampled *what, unsigned job)
{
	double at = (app_random(arguments->seed, job) >> 11) * 0x1p-53;
	double least = arguments->least ? arguments->least : what->least;
	double most = arguments->most ? arguments->most : what->most;

	return least * pow(fmax(most / least, 1), at);
}

/* Visits all jobs of a codelet in turn, forwards or backwards. */
static int visit_run(const struct arguments *arguments, const struct sampled *what, unsigned visit,
                     unsigned pairs)
{
	int error = 0;

	for (unsigned i = 0; i < arguments->jobs && !error; i++) {
		unsigned j = visit & 1 ? arguments->jobs - 1 - i : i;
		struct job job = {.what = what};

		heddle_progress("heddle sample: %s, job %u of %u, visit %u of %u", what->name,
		                j + 1, arguments->jobs, visit + 1, visits(arguments));
		error =
		    what->make(&job, size_of(arguments, what, j), app_random(arguments->seed, ~j));
		if (!error)
			error = job_run(&job, visit, pairs);
		job_free(&job);
	}
	return error;
}

/* Visits all codelets in turn, repeatedly: what changes for some time affects few visits of a job,
 * and all jobs alike. A visit has new data, in other pages of memory. To make them takes as long as
 * some runs. */
static int visits_run(const struct arguments *arguments)
{
	int error = 0;

	for (unsigned visit = 0; visit < visits(arguments); visit++) {
		unsigned left = arguments->reps - visit * PAIRS;

		for (size_t i = 0; i < NSAMPLED && !error; i++)
			if (is_sampled(arguments, i))
				error = visit_run(arguments, &sampled[i], visit,
				                  left < PAIRS ? left : PAIRS);
	}
	heddle_progress_end();
	return error;
}

/* Before minutes of runs whose times could not be kept. */
static int profiles_check(const struct arguments *arguments)
{
	const struct heddle_profile none = {0};
	char path[PATH_MAX];
	int error = 0;

	for (size_t i = 0; i < NSAMPLED && !error; i++)
		if (is_sampled(arguments, i))
			error = heddle_profile_path(sampled[i].name, path, sizeof(path)) ||
			        heddle_profile_update(path, &none);
	return error;
}

static int sampled_print(const struct arguments *arguments)
{
	char path[PATH_MAX];

	printf("%u jobs on each of", arguments->jobs);
	for (unsigned c = 0; c < heddle_device_classes(); c++)
		printf("%s %s", c ? "," : "", heddle_device_class_name(c));
	putchar('\n');
	for (size_t i = 0; i < NSAMPLED; i++)
		if (is_sampled(arguments, i) &&
		    !heddle_profile_path(sampled[i].name, path, sizeof(path)))
			puts(path);
	return fflush(stdout);
}

static int sample(const struct arguments *arguments)
{
	int status = APP_RIGHT;

	if (profiles_check(arguments))
		return APP_WRONG;
	for (size_t i = 0; i < NSAMPLED && status == APP_RIGHT; i++)
		if (is_sampled(arguments, i) && codelets_load(sampled[i].name))
			status = APP_CANNOT;
	if (status == APP_RIGHT &&
	    (visits_run(arguments) || heddle_estimate_save() || sampled_print(arguments)))
		status = APP_WRONG;
	codelets_unload();
	return status;
}

/* One core is measured, and others that look for tasks disturb it; STARPU_NCPU comes before what is
 * asked for here, so that a user can have none, or more. Devices wait for each kernel by
 * itself: in a pipeline StarPU asks now and then whether one has ended, and what it does in between
 * counts. */
static int undisturbed_init(void)
{
	struct starpu_conf conf;

	starpu_conf_init(&conf);
	conf.sched_policy_name = "eager";
	conf.ncpus = 1;
	if (setenv("STARPU_CUDA_PIPELINE", "0", 0) || setenv("STARPU_OPENCL_PIPELINE", "0", 0))
		return -ENOMEM;
	return starpu_init(&conf);
}

/* ---- the command ---- */

static void sizes_check(const struct arguments *arguments, const struct sampled *what,
                        struct argp_state *state)
{
	size_t least = arguments->least ? arguments->least : what->least;
	size_t most = arguments->most ? arguments->most : what->most;

	if (least > most)
		argp_error(state, "%s: the smallest size, %zu, exceeds the largest, %zu",
		           what->name, least, most);
}

static error_t take_codelet(void *data, int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = data;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (arguments->what || arguments->all)
		argp_error(state, "one codelet at a time, please, or all");
	arguments->all = !strcmp(value, "all");
	for (size_t i = 0; i < NSAMPLED; i++)
		if (!strcmp(sampled[i].name, value))
			arguments->what = &sampled[i];
	if (!arguments->what && !arguments->all)
		argp_error(state, "there is no codelet \"%s\" to sample", value);
	return 0;
}

static void check(void *data, struct argp_state *state)
{
	const struct arguments *arguments = data;

	if (!arguments->what && !arguments->all)
		argp_error(state, "which codelet?");
	if (arguments->jobs > UINT_MAX / arguments->reps)
		argp_error(state, "--jobs times --reps exceeds %u", UINT_MAX);
	for (size_t i = 0; i < NSAMPLED; i++)
		if (is_sampled(arguments, i))
			sizes_check(arguments, &sampled[i], state);
}

static void codelets_print(FILE *out)
{
	fputs(
	    "Codelets, their smallest and largest sizes unless you say otherwise, and the units of "
	    "sizes:\n",
	    out);
	for (size_t i = 0; i < NSAMPLED; i++)
		fprintf(out, "  %-14s %8zu %8zu %s\n", sampled[i].name, sampled[i].least,
		        sampled[i].most, sampled[i].unit);
}

static const struct option_row options[] = {
    {"jobs", "N", "number of different jobs (default: 100)",
     NUMBER(struct arguments, jobs, 1, 100000), .letter = 'j'},
    {"reps", "N", "pairs of runs of each job on each device; the least times count (default: 21)",
     NUMBER(struct arguments, reps, 1, 100000), .letter = 'r'},
    {"least", "N", "smallest size", NUMBER(struct arguments, least, 1, 1 << 30), .letter = 'l'},
    {"most", "N", "largest size", NUMBER(struct arguments, most, 1, 1 << 30), .letter = 'm'},
    {"seed", "N", "seed of sizes and data (default: 1)",
     NUMBER(struct arguments, seed, 0, UINT64_MAX), .letter = 's'},
    {0},
};

static const struct option_program program = {
    .name = "heddle sample",
    .arguments = "CODELET|all",
    .doc = "Runs jobs of different sizes of one or all of Heddle's codelets on every kind of "
           "device of this machine, in pairs. Adds the times to the codelet's profile and those "
           "of the second ones to the profile CODELET-again, for `heddle estimate cv`.",
};

int main(int argc, char **argv)
{
	struct arguments arguments = {.jobs = 100, .reps = 21, .seed = 1};
	struct option_set set = {.rows = options,
	                         .data = &arguments,
	                         .argument = take_codelet,
	                         .check = check,
	                         .extra = codelets_print};
	int status;

	options_parse(&program, &set, argc, argv);
	if (!heddle_variable_number(HEDDLE_VARIABLE_PROFILE)) {
		heddle_refuse(0, "with HEDDLE_PROFILE=0 no times are kept");
		return APP_USAGE;
	}
	if (app_simulated()) {
		heddle_refuse(0, "simulated devices have no times of their own to sample");
		return APP_CANNOT;
	}
	if (heddle_starpu_check())
		return APP_CANNOT;
	if (undisturbed_init()) {
		heddle_refuse(0, "StarPU does not start here: it has no worker");
		return APP_CANNOT;
	}
	heddle_estimate_undisturbed();
	status = sample(&arguments);
	starpu_shutdown();
	return status;
}
