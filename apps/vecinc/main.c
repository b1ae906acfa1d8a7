/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Increments a vector, one task for each chunk. It measures the cost of transfers that do not
 * overlap with computation (Teodoro et al., HPDC 2010, section 6.2, Figure 7 and Table 2).
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>

#include "support/message.h"
#include "estimator/platform_starpu.h"
#include "codelets/vecinc/vecinc.h"
#include "apps/common/app.h"

#define MAX_PREFETCH 64

struct chunk {
	starpu_data_handle_t handle;
	struct heddle_block block;
	struct starpu_task *task;
	struct vecinc *app;
};

struct vecinc {
	size_t n, chunk; /* values of the vector, and of a task */
	unsigned passes;
	uint32_t from; /* the initial value */
	uint32_t *values;
	size_t nchunks;
	struct chunk *chunks;
	/* The workers on which tasks may run, a bit each; no words: all. */
	uint32_t allowed[(STARPU_NMAXWORKERS + 31) / 32];
	unsigned nwords;
	/* Of the current repetition. */
	double start_us;
	atomic_int status;
	struct heddle_worker_stats *workers;
};

/* ---- data ---- */

static int chunks_make(struct vecinc *self)
{
	self->nchunks = (self->n + self->chunk - 1) / self->chunk;
	self->chunks = calloc(self->nchunks + 1, sizeof(*self->chunks));
	if (!self->chunks)
		return heddle_refuse(-ENOMEM, "no memory for %zu chunks", self->nchunks);
	for (size_t i = 0; i < self->nchunks; i++) {
		struct chunk *chunk = &self->chunks[i];
		size_t start = i * self->chunk, rest = self->n - start;

		chunk->app = self;
		chunk->block = (struct heddle_block){
		    .start = start,
		    .n = rest < self->chunk ? rest : self->chunk,
		    .total = self->n,
		    .arg = &self->passes,
		};
		chunk->handle =
		    app_vector(self->values + start, chunk->block.n, sizeof(*self->values));
	}
	return 0;
}

static double fill(void *arg, size_t begin, size_t end)
{
	struct vecinc *self = arg;

	for (size_t i = begin; i < end; i++)
		self->values[i] = self->from;
	return 0;
}

static double count_errors(void *arg, size_t begin, size_t end)
{
	struct vecinc *self = arg;

	return vecinc_errors(end - begin, self->passes, self->from, self->values + begin) > 0;
}

/* Acquires all chunks for writing, so that no device keeps a valid copy. */
static void chunks_acquire(struct vecinc *self)
{
	for (size_t i = 0; i < self->nchunks; i++)
		starpu_data_acquire(self->chunks[i].handle, STARPU_RW);
}

static void chunks_release(struct vecinc *self)
{
	for (size_t i = 0; i < self->nchunks; i++)
		starpu_data_release(self->chunks[i].handle);
}

/* ---- tasks ---- */

static void chunk_written_back(void *arg)
{
	starpu_data_release(((struct chunk *)arg)->handle);
}

/* Tasks of a device may overlap: that time counts once. */
static void busy_add(const struct chunk *chunk, struct heddle_worker_stats *worker)
{
	struct starpu_profiling_task_info *info = chunk->task->profiling_info;
	double start_us = chunk->app->start_us;
	double begin = starpu_timing_timespec_to_us(&info->start_time) - start_us;
	double end = starpu_timing_timespec_to_us(&info->end_time) - start_us;

	worker->busy_us += fmax(0, end - fmax(begin, worker->finish_us));
	worker->finish_us = fmax(worker->finish_us, end);
}

/* The callback of a task runs on its worker. It starts the write-back at once: StarPU's
 * write-through would wait until no input is in transfer, and so never use both directions. */
static void chunk_done(void *arg)
{
	struct chunk *chunk = arg;
	struct heddle_worker_stats *worker = &chunk->app->workers[starpu_worker_get_id_check()];

	busy_add(chunk, worker);
	worker->iterations += chunk->block.n;
	worker->blocks++;
	if (chunk->block.status)
		atomic_store(&chunk->app->status, chunk->block.status);
	starpu_data_acquire_cb(chunk->handle, STARPU_R, chunk_written_back, chunk);
}

static int chunk_submit(struct chunk *chunk)
{
	struct starpu_task *task = starpu_task_create();

	chunk->block.status = 0;
	task->cl = &vecinc_codelet;
	task->cl_arg = &chunk->block;
	task->handles[0] = chunk->handle;
	task->callback_func = chunk_done;
	task->callback_arg = chunk;
	if (chunk->app->nwords) {
		task->workerids = chunk->app->allowed;
		task->workerids_len = chunk->app->nwords;
	}
	chunk->task = task;
	return starpu_task_submit(task);
}

static void stats_begin(struct vecinc *self, struct heddle_loop_stats *stats)
{
	*stats =
	    (struct heddle_loop_stats){.strategy = "chunks", .nworkers = starpu_worker_get_count()};
	for (unsigned w = 0; w < stats->nworkers; w++) {
		stats->workers[w].id = w;
		stats->workers[w].kind = heddle_worker_kind(w);
		starpu_worker_get_name(w, stats->workers[w].name, sizeof(stats->workers[w].name));
	}
	self->workers = stats->workers;
	self->start_us = starpu_timing_now();
	atomic_store(&self->status, 0);
}

static int vecinc_run(void *data, struct heddle_loop_stats *stats)
{
	struct vecinc *self = data;
	int error = 0;

	starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
	stats_begin(self, stats);
	for (size_t i = 0; i < self->nchunks && !error; i++)
		error = chunk_submit(&self->chunks[i]);
	starpu_task_wait_for_all();
	/* Wait for the write-backs. */
	for (size_t i = 0; i < self->nchunks; i++) {
		starpu_data_acquire(self->chunks[i].handle, STARPU_R);
		starpu_data_release(self->chunks[i].handle);
	}
	stats->us = starpu_timing_now() - self->start_us;
	starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
	stats->blocks = self->nchunks;
	if (error)
		return heddle_refuse(error, "vecinc: a task was refused: %s", strerror(-error));
	return atomic_load(&self->status);
}

/* ---- the app ---- */

static int no_files(void *data, const struct app_options *common)
{
	return heddle_refuse(-EINVAL, "vecinc has neither input nor output files");
}

/* --workers names kinds. A driver would not do: FPGAs share one with other devices. */
static void allow(struct vecinc *self, const struct heddle_loop *loop)
{
	if (!loop->workers)
		return;
	for (unsigned i = 0; i < loop->nworkers; i++)
		self->allowed[loop->workers[i] / 32] |= UINT32_C(1) << loop->workers[i] % 32;
	self->nwords = sizeof(self->allowed) / sizeof(*self->allowed);
}

static int vecinc_prepare(void *data, const struct app_options *common, struct heddle_loop *loop)
{
	struct vecinc *self = data;
	int error;

	if (common->output || common->save_input)
		return no_files(self, common);
	if (common->strategy || common->parts)
		heddle_warn("--strategy and --parts are for loops; here every chunk is a task");
	self->n = common->size;
	self->from = common->seed;
	allow(self, loop);
	error = heddle_malloc((void **)&self->values, self->n * sizeof(*self->values));
	if (error)
		return error;
	loop->codelet = &vecinc_codelet;
	loop->n = self->n;
	return chunks_make(self);
}

/* Also invalidates the devices' copies, so that every repetition transfers the values. */
static void vecinc_poison(void *data)
{
	struct vecinc *self = data;

	chunks_acquire(self);
	app_parallel(self->n, fill, self);
	chunks_release(self);
}

static double vecinc_error(void *data)
{
	struct vecinc *self = data;
	double error;

	chunks_acquire(self);
	error = app_parallel(self->n, count_errors, self);
	chunks_release(self);
	return error;
}

static void vecinc_release(void *data)
{
	struct vecinc *self = data;

	for (size_t i = 0; i < self->nchunks; i++)
		if (self->chunks && self->chunks[i].handle)
			starpu_data_unregister(self->chunks[i].handle);
	free(self->chunks);
	heddle_free(self->values, self->n * sizeof(*self->values));
}

static void parse_prefetch(void *data, char *text, struct argp_state *state)
{
	uint64_t number;

	if (strcmp(text, "auto") && options_number(text, 0, MAX_PREFETCH, &number))
		argp_error(state, "--prefetch %s: neither auto nor a whole number to %d", text,
		           MAX_PREFETCH);
	setenv("HEDDLE_PREFETCH", text, 1);
}

static const struct option_row own_options[] = {
    {"chunk", "N", "Values a task (default 500000)", NUMBER(struct vecinc, chunk, 1, UINT32_MAX)},
    {"passes", "N", "Increments of every value (default 6)",
     NUMBER(struct vecinc, passes, 0, 1000000)},
    {"prefetch", "N",
     "Chunks to transfer to an accelerator in advance: auto, or 0 to 64 (sets HEDDLE_PREFETCH; "
     "under ddfcfs, ddwrr and odds)",
     PARSED(parse_prefetch)},
    {0},
};

int main(int argc, char **argv)
{
	static const struct app app = {
	    .name = "vecinc",
	    .symbol = "heddle_vecinc",
	    .doc = "Increments the values of a vector, a task for each chunk of it."
	           "\v--size counts values of 32 bits. Every repetition brings them to the "
	           "processors and back.",
	    .unit = "value",
	    .size = 32 << 20,
	    .max_size = SIZE_MAX / sizeof(uint32_t) / 2,
	    .own = own_options,
	    .tolerance = 0,
	    .open = no_files,
	    .prepare = vecinc_prepare,
	    .run = vecinc_run,
	    .poison = vecinc_poison,
	    .error = vecinc_error,
	    .save_input = no_files,
	    .save_output = no_files,
	    .release = vecinc_release,
	};
	static struct vecinc self = {.chunk = 500000, .passes = 6};

	return app_main(&app, &self, argc, argv);
}
