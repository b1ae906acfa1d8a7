/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Excites heart tissue: a loop over rows of cells, again and again. Every repetition goes on where
 * the one before ended.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>

#include "support/message.h"
#include "codelets/heart/heart.h"
#include "apps/common/app.h"
#include "apps/common/image.h"

#define DEFAULT_EVERY 10

/* Two states, in turn the input and the output of a loop. */
enum { NSTATES = 2, ACCESSES = 5 };

struct heart {
	struct heart_problem problem;
	const struct heddle_loop *loop; /* as the app wants it */
	size_t width, height;
	unsigned steps, together; /* time steps of a repetition, and of a loop */
	double dt, diffusion;     /* 0: the model's */
	double fibrosis;          /* percentage of cells of random tissue that are scars */
	const char *frames;       /* prefix of their names */
	size_t every;             /* time steps between frames; 0: not given */
	struct image loaded;      /* of --input */
	uint64_t seed;
	size_t done;     /* time steps in all */
	unsigned latest; /* state */
	float *u[NSTATES], *w[NSTATES], *conductivity;
	double *before; /* u, then w, when the repetition began; for --verify */
	bool verify;
	starpu_data_handle_t u_handles[NSTATES], w_handles[NSTATES];
};

static const char *const model_names[] = {
    [HEART_ALIEV_PANFILOV] = "aliev-panfilov",
    [HEART_MITCHELL_SCHAEFFER] = "mitchell-schaeffer",
};

static const struct {
	double dt, diffusion; /* in the model's time, and in squared cells */
} models[] = {
    [HEART_ALIEV_PANFILOV] = {0.05, 1},
    [HEART_MITCHELL_SCHAEFFER] = {0.1, 1.6},
};

static size_t cells(const struct heart *self)
{
	return self->width * self->height;
}

/* ---- tissue: black is a scar ---- */

/* A wave that runs to the right is broken by cells that have not recovered: a spiral begins. */
static void cell_start(struct heart *self, size_t i)
{
	size_t x = i % self->width, y = i / self->width;
	bool excited = x < self->width / 2 && x >= self->width / 2 - self->width / 8;
	bool recovering = y < self->height / 2 && x < self->width / 2;
	bool aliev = self->problem.model == HEART_ALIEV_PANFILOV;

	self->u[0][i] = excited;
	/* At rest, w is 0 in one model and 1 in the other. */
	self->w[0][i] = aliev ? recovering * 2.f : 1 - recovering;
	self->conductivity[i] = self->loaded.pixels ? image_mean(&self->loaded, i) / 255
	                                            : (app_random(self->seed, i) >> 11) * 0x1p-53 >=
	                                                  self->fibrosis / 100;
}

static double rows_start(void *data, size_t begin, size_t end)
{
	struct heart *self = data;

	for (size_t i = begin * self->width; i < end * self->width; i++)
		cell_start(self, i);
	return 0;
}

/* ---- files ---- */

static int frame_write(const struct heart *self)
{
	return image_write_frame(self->frames, self->done, self->u_handles[self->latest],
	                         self->width, self->height, self->u[self->latest], 255);
}

static int heart_save_input(void *data, const struct app_options *common)
{
	struct heart *self = data;

	return image_write_field(common->save_input, self->width, self->height, self->conductivity,
	                         255);
}

static int heart_save_output(void *data, const struct app_options *common)
{
	struct heart *self = data;

	return image_write_field(common->output, self->width, self->height, self->u[self->latest],
	                         255);
}

/* ---- the app ---- */

static int heart_open(void *data, const struct app_options *common)
{
	struct heart *self = data;
	int error = png_file_read(common->input, &self->loaded);

	self->width = self->loaded.width;
	self->height = self->loaded.height;
	return error;
}

static int problem_set(struct heart *self)
{
	double dt = self->dt > 0 ? self->dt : models[self->problem.model].dt;
	double diffusion =
	    self->diffusion > 0 ? self->diffusion : models[self->problem.model].diffusion;

	self->problem.dt = dt;
	self->problem.coupling = dt * diffusion;
	if (self->problem.coupling < 0.25)
		return 0;
	return heddle_refuse(-EINVAL,
	                     "--dt %g, --diffusion %g: not stable; their product must be less than "
	                     "0.25",
	                     dt, diffusion);
}

static int data_allocate(struct heart *self)
{
	size_t bytes = cells(self) * sizeof(float);
	int error = heddle_malloc((void **)&self->conductivity, bytes);

	for (int s = 0; s < NSTATES && !error; s++) {
		error = heddle_malloc((void **)&self->u[s], bytes);
		if (!error)
			error = heddle_malloc((void **)&self->w[s], bytes);
	}
	if (error || !self->verify)
		return error;
	self->before = malloc(2 * cells(self) * sizeof(double) + 1);
	return self->before ? 0 : heddle_refuse(-ENOMEM, "no memory for --verify");
}

static starpu_data_handle_t matrix(const struct heart *self, const float *numbers)
{
	return app_matrix(numbers, self->height, self->width, sizeof(*numbers));
}

static void state_access(const struct heart *self, unsigned from, struct heddle_loop *loop)
{
	loop->accesses[0].handle = self->u_handles[from];
	loop->accesses[1].handle = self->w_handles[from];
	loop->accesses[3].handle = self->u_handles[!from];
	loop->accesses[4].handle = self->w_handles[!from];
}

static int heart_prepare(void *data, const struct app_options *common, struct heddle_loop *loop)
{
	struct heart *self = data;
	int error;

	if (!common->input)
		self->width = self->height = common->size;
	self->seed = common->seed;
	self->verify = common->verify && !app_simulated();
	error = problem_set(self);
	if (!error)
		error = data_allocate(self);
	if (error)
		return error;
	if (!app_simulated())
		app_parallel_by(self->height, 64, rows_start, self);
	for (int s = 0; s < NSTATES; s++) {
		self->u_handles[s] = matrix(self, self->u[s]);
		self->w_handles[s] = matrix(self, self->w[s]);
	}
	for (int a = 0; a < ACCESSES; a++)
		loop->accesses[a] = (struct heddle_access){
		    .mode = a < 3 ? STARPU_R : STARPU_W,
		    .share = a < 3 ? HEDDLE_HALO : HEDDLE_SLICE,
		};
	loop->accesses[2].handle = matrix(self, self->conductivity);
	state_access(self, 0, loop);
	loop->naccesses = ACCESSES;
	loop->codelet = &heart_codelet;
	loop->n = self->width ? self->height : 0;
	loop->arg = &self->problem;
	self->loop = loop;
	return 0;
}

/* A loop of some time steps; kernels read the number in its argument. */
static int steps_run(struct heart *self, unsigned steps, struct heddle_loop_stats *stats)
{
	struct heddle_loop loop = *self->loop;
	int error;

	self->problem.steps = steps;
	for (int a = 0; a < 3; a++)
		loop.accesses[a].halo = steps;
	state_access(self, self->latest, &loop);
	error = heddle_loop_run(&loop, stats);
	self->latest = !self->latest;
	self->done += steps;
	return error;
}

static unsigned steps_next(const struct heart *self, unsigned left)
{
	unsigned steps = self->together < left ? self->together : left;
	size_t frame = self->every - self->done % self->every;

	return self->frames && frame < steps ? frame : steps;
}

static int heart_run(void *data, struct heddle_loop_stats *stats)
{
	struct heart *self = data;
	static struct heddle_loop_stats one;
	size_t end = self->done + self->steps;
	int error = 0;

	memset(stats, 0, sizeof(*stats));
	while (!error && self->done < end) {
		error = steps_run(self, steps_next(self, end - self->done), &one);
		if (!error)
			app_stats_add(stats, &one);
		if (!error && self->frames && self->done % self->every == 0)
			error = frame_write(self);
	}
	return error;
}

/* The state that is kept for --verify is also destroyed where it is not the latest. */
static void heart_poison(void *data)
{
	struct heart *self = data;
	unsigned from = self->latest;

	/* The second state is acquired already. */
	if (starpu_data_acquire(self->u_handles[0], STARPU_RW))
		return;
	if (!starpu_data_acquire(self->w_handles[0], STARPU_RW)) {
		for (size_t i = 0; i < cells(self); i++) {
			if (self->before) {
				self->before[i] = self->u[from][i];
				self->before[cells(self) + i] = self->w[from][i];
			}
			self->u[!from][i] = self->w[!from][i] = NAN;
		}
		starpu_data_release(self->w_handles[0]);
	}
	starpu_data_release(self->u_handles[0]);
}

static double difference(const struct heart *self, const double *right)
{
	const float *u = self->u[self->latest], *w = self->w[self->latest];
	double worst = 0;

	for (size_t i = 0; i < cells(self); i++) {
		double error = fmax(fabs(u[i] - right[i]), fabs(w[i] - right[cells(self) + i]));

		if (isnan(u[i] + w[i]))
			return INFINITY;
		worst = fmax(worst, error);
	}
	return worst;
}

static double heart_error(void *data)
{
	struct heart *self = data;
	size_t n = cells(self);
	double *from = self->before, *to = malloc(2 * n * sizeof(*to) + 1), error;

	if (!to)
		return INFINITY;
	for (unsigned s = 0; s < self->steps; s++) {
		double *turn = from;

		heart_reference(&self->problem, self->width, self->height, self->conductivity, from,
		                from + n, to, to + n);
		from = to;
		to = turn;
	}
	error = difference(self, from);
	self->before = from;
	free(to);
	return error;
}

static double heart_elements(void *data)
{
	struct heart *self = data;

	return (double)cells(self) * self->steps;
}

static void heart_release(void *data)
{
	struct heart *self = data;
	size_t bytes = cells(self) * sizeof(float);

	for (int s = 0; s < NSTATES; s++) {
		heddle_free(self->u[s], bytes);
		heddle_free(self->w[s], bytes);
	}
	heddle_free(self->conductivity, bytes);
	free(self->before);
	free(self->loaded.pixels);
}

/* ---- the command line ---- */

static void check(void *data, struct argp_state *state)
{
	struct heart *self = data;

	if (self->frames && app_simulated())
		argp_error(state, "simulated workers compute nothing: no --frames");
	if (self->frames && !*self->frames)
		argp_error(state, "--frames '': a prefix without a letter");
	if (self->every && !self->frames)
		argp_error(state, "--every without --frames");
	if (!self->every)
		self->every = DEFAULT_EVERY;
}

static const struct option_row own_options[] = {
    {"model", "NAME", "aliev-panfilov (default) or mitchell-schaeffer",
     NAMED(struct heart, problem.model, model_names)},
    {"steps", "N", "Time steps of a repetition (default 100)",
     NUMBER(struct heart, steps, 1, 1 << 30)},
    {"together", "N", "Time steps of a loop (default 10)",
     NUMBER(struct heart, together, 1, 1 << 10)},
    {"substeps", "N", "Steps of the reaction in a time step (default 1)",
     NUMBER(struct heart, problem.substeps, 1, 1000)},
    {"dt", "T", "Length of a time step (default: the model's)", REAL(struct heart, dt, 1e-6, 1)},
    {"diffusion", "D", "Diffusion in squared cells per unit of time (default: the model's)",
     REAL(struct heart, diffusion, 1e-6, 1e6)},
    {"fibrosis", "P", "Percentage of scars in random tissue (default 5)",
     REAL(struct heart, fibrosis, 0, 100), .random = true},
    {"frames", "PREFIX", "Write PNG images PREFIX-STEP.png meanwhile", TEXT(struct heart, frames)},
    {"every", "N", "Time steps between frames (default 10)",
     NUMBER(struct heart, every, 1, 1 << 30)},
    {0},
};

int main(int argc, char **argv)
{
	static const struct app app = {
	    .name = "heart",
	    .symbol = "heddle_heart",
	    .doc = "Simulates the electrical excitation of heart tissue."
	           "\v--size (columns and rows of cells) and --seed make random tissue; --input is "
	           "a PNG image of it, whose brightness is the conductivity: scars are black. "
	           "--output writes the potential after the last time step as an image. An "
	           "iteration of the loop is a row.",
	    .unit = "cell",
	    .size = 512,
	    .max_size = 1 << 16,
	    .own = own_options,
	    .check = check,
	    .tolerance = HEART_TOLERANCE,
	    .open = heart_open,
	    .prepare = heart_prepare,
	    .run = heart_run,
	    .poison = heart_poison,
	    .error = heart_error,
	    .save_input = heart_save_input,
	    .save_output = heart_save_output,
	    .elements = heart_elements,
	    .release = heart_release,
	};
	static struct heart self = {
	    .problem = {.substeps = 1}, .steps = 100, .together = 10, .fibrosis = 5};

	return app_main(&app, &self, argc, argv);
}
