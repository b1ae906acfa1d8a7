/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Moves bodies that attract each other: a loop over bodies, which cost what their neighbourhood is
 * dense. Every repetition is a time step.
 */
#include "config.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <starpu.h>

#include "support/message.h"
#include "codelets/nbody/nbody.h"
#include "apps/common/app.h"
#include "apps/common/file.h"
#include "apps/common/labelled.h"
#include "apps/nbody/bodies.h"

/* Of a body in a file: place, mass, and maybe its velocity. */
#define WITHOUT_VELOCITY 4
#define WITH_VELOCITY 7
/* Pairs of bodies that a verification looks at. */
#define VERIFIED 5e8
/* Of a body on one beside it. */
#define LARGEST_PULL 1e30
/* Of a coordinate where all bodies attract: cubes of distances fit single precision. */
#define FARTHEST 1e12
/* With a cut-off, as of numbers in a file: squares of distances do. */
#define FARTHEST_CUT 1e15

struct nbody {
	struct bodies_shape shape;
	struct nbody_problem problem;
	double dt;
	struct class_names none;
	struct labelled loaded; /* of --input */
	float *bodies, *accelerations;
	uint32_t *starts;
	float *velocities; /* all x, all y, all z, then the bodies' numbers (uint32_t) */
	uint32_t *places;
	void *scratch;
	starpu_data_handle_t bodies_handle, starts_handle;
	unsigned steps; /* done */
};

static size_t coordinate(const struct nbody *self, int axis, size_t i)
{
	return axis * self->shape.n + i;
}

static uint32_t *numbers(const struct nbody *self)
{
	return (uint32_t *)(self->velocities + 3 * self->shape.n);
}

/* ---- bodies ---- */

static int nbody_open(void *data, const struct app_options *common)
{
	struct nbody *self = data;
	int error =
	    labelled_read(common->input, 0, WITH_VELOCITY, false, &self->none, &self->loaded);
	unsigned columns = self->loaded.dimensions;

	if (error)
		return error;
	if (columns != WITHOUT_VELOCITY && columns != WITH_VELOCITY)
		return heddle_refuse(-EINVAL,
		                     "%s: a body has %d numbers (x, y, z, mass) or %d (and its "
		                     "velocity), not %u",
		                     common->input, WITHOUT_VELOCITY, WITH_VELOCITY, columns);
	if (self->none.n)
		return heddle_refuse(-EINVAL, "%s: '%.40s' follows the %u numbers of a body",
		                     common->input, self->none.names[0], columns);
	self->shape.n = self->loaded.rows;
	for (size_t i = 0; i < self->shape.n; i++) {
		const float *body = self->loaded.numbers + i * columns;
		float mass = body[3],
		      far = fmaxf(fabsf(body[0]), fmaxf(fabsf(body[1]), fabsf(body[2])));

		if (!(self->shape.cutoff > 0) && far > FARTHEST)
			return heddle_refuse(-ERANGE,
			                     "%s: body %zu: a coordinate of %g at --cutoff 0 is "
			                     "beyond 1e12: cubes leave single precision",
			                     common->input, i + 1, far);
		if (fabs(mass) / pow(self->shape.softening, 3) > LARGEST_PULL)
			return heddle_refuse(-ERANGE,
			                     "%s: body %zu: a mass of %g at --softening %g pulls "
			                     "beyond single precision",
			                     common->input, i + 1, mass, self->shape.softening);
	}
	return 0;
}

static double fill(void *data, size_t begin, size_t end)
{
	struct nbody *self = data;
	const struct labelled *loaded = &self->loaded;

	for (size_t i = begin; i < end; i++) {
		const float *row = loaded->numbers + i * loaded->dimensions;
		float body[WITH_VELOCITY] = {0};

		if (loaded->rows)
			memcpy(body, row, loaded->dimensions * sizeof(*row));
		else
			bodies_random(&self->shape, i, body);
		for (int c = 0; c < 4; c++)
			self->bodies[coordinate(self, c, i)] = body[c];
		for (int axis = 0; axis < 3; axis++)
			self->velocities[coordinate(self, axis, i)] = body[4 + axis];
		numbers(self)[i] = i;
	}
	return 0;
}

static void sort(struct nbody *self)
{
	bodies_grid(&self->shape, self->bodies, &self->problem);
	bodies_sort(&self->problem, self->places, self->bodies, self->velocities, 4, self->scratch,
	            self->starts);
}

static double farthest(const struct nbody *self)
{
	return self->shape.cutoff > 0 ? FARTHEST_CUT : FARTHEST;
}

/* How far away a body of these is, then. */
static double move(void *data, size_t begin, size_t end)
{
	struct nbody *self = data;
	double far = 0;

	for (size_t i = begin; i < end; i++)
		for (int axis = 0; axis < 3; axis++) {
			size_t c = coordinate(self, axis, i);

			self->velocities[c] += self->dt * self->accelerations[3 * i + axis];
			self->bodies[c] += self->dt * self->velocities[c];
			far = fmax(far, isnan(self->bodies[c]) ? INFINITY : fabsf(self->bodies[c]));
		}
	return far;
}

static int bodies_move(struct nbody *self)
{
	double far = app_parallel(self->shape.n, move, self);

	self->steps++;
	if (far <= farthest(self))
		return 0;
	return heddle_refuse(
	    -ERANGE,
	    "after time step %u a body is at %g, beyond %g: squares or cubes leave "
	    "single precision",
	    self->steps, far, farthest(self));
}

/* ---- the app ---- */

static int data_allocate(struct nbody *self)
{
	size_t n = self->shape.n, bytes = n * BODIES_BYTES;
	size_t cells = (bodies_cells(n) + 1) * sizeof(uint32_t);
	int error = heddle_malloc((void **)&self->bodies, 4 * bytes);

	if (!error)
		error = heddle_malloc((void **)&self->starts, cells);
	if (!error)
		error = heddle_malloc((void **)&self->accelerations, 3 * bytes);
	if (error)
		return error;
	memset(self->starts, 0, cells);
	self->velocities = malloc(4 * bytes + 1);
	self->places = malloc(bytes + 1);
	self->scratch = malloc(bytes + 1);
	return self->velocities && self->places && self->scratch ? 0 : -ENOMEM;
}

static int nbody_prepare(void *data, const struct app_options *common, struct heddle_loop *loop)
{
	struct nbody *self = data;
	size_t n;
	int error;

	if (!common->input)
		self->shape.n = common->size;
	n = self->shape.n;
	self->shape.seed = common->seed;
	error = data_allocate(self);
	if (error)
		return error;
	if (!app_simulated()) {
		app_parallel(n, fill, self);
		sort(self);
	}
	self->bodies_handle = app_vector(self->bodies, 4 * n, sizeof(float));
	self->starts_handle = app_vector(self->starts, bodies_cells(n) + 1, sizeof(uint32_t));
	loop->accesses[0] = (struct heddle_access){
	    .handle = self->bodies_handle, .mode = STARPU_R, .share = HEDDLE_WHOLE};
	loop->accesses[1] = (struct heddle_access){
	    .handle = self->starts_handle, .mode = STARPU_R, .share = HEDDLE_WHOLE};
	loop->accesses[2] =
	    (struct heddle_access){.handle = app_vector(self->accelerations, 3 * n, sizeof(float)),
	                           .mode = STARPU_W,
	                           .per_iteration = 3};
	loop->naccesses = 3;
	loop->codelet = &nbody_codelet;
	loop->n = n;
	loop->arg = &self->problem;
	return 0;
}

/* A time step. */
static int nbody_next(void *data)
{
	struct nbody *self = data;
	int error = starpu_data_acquire(self->bodies_handle, STARPU_RW);

	if (error)
		return error;
	error = starpu_data_acquire(self->starts_handle, STARPU_RW);
	if (!error) {
		error = bodies_move(self);
		if (!error)
			sort(self);
		starpu_data_release(self->starts_handle);
	}
	starpu_data_release(self->bodies_handle);
	return error;
}

static void nbody_poison(void *data)
{
	struct nbody *self = data;

	for (size_t i = 0; i < 3 * self->shape.n; i++)
		self->accelerations[i] = NAN;
}

/* Only some bodies are compared, since each is with all others. */
static double error_of(void *data, size_t begin, size_t end)
{
	struct nbody *self = data;
	size_t every = ceil((double)self->shape.n * self->shape.n / VERIFIED);
	double worst = 0;

	for (size_t i = begin; i < end; i++) {
		const float *acceleration = self->accelerations + 3 * i;

		if (isnan(acceleration[0] + acceleration[1] + acceleration[2]))
			return INFINITY;
		if (i % every == 0)
			worst =
			    fmax(worst, nbody_error(&self->problem, i, self->bodies, acceleration));
	}
	return worst;
}

static double nbody_verify(void *data)
{
	struct nbody *self = data;

	return app_parallel_by(self->shape.n, 256, error_of, self);
}

/* How many bodies a body looks at. */
static size_t neighbours(const struct nbody *self, size_t i)
{
	const struct nbody_problem *problem = &self->problem;
	uint32_t at[3], begin, end;
	size_t sum = 0;

	for (int axis = 0; axis < 3; axis++)
		at[axis] = nbody_cell(problem, axis, self->bodies[coordinate(self, axis, i)]);
	for (uint32_t z = at[2] ? at[2] - 1 : 0; z <= at[2] + 1 && z < problem->cells[2]; z++)
		for (uint32_t y = at[1] ? at[1] - 1 : 0; y <= at[1] + 1 && y < problem->cells[1];
		     y++) {
			nbody_run(problem, self->starts, at[0], y, z, &begin, &end);
			sum += end - begin;
		}
	return sum;
}

/* @param[out] most NULL: not wanted */
static double pairs(const struct nbody *self, size_t *most)
{
	double sum = 0;
	size_t largest = 0;

	for (size_t i = 0; i < self->shape.n; i++) {
		size_t n = neighbours(self, i);

		sum += n;
		largest = n > largest ? n : largest;
	}
	if (most)
		*most = largest;
	return sum;
}

static double nbody_elements(void *data)
{
	const struct nbody *self = data;

	return app_simulated() ? self->shape.n : pairs(self, NULL);
}

static void nbody_describe(void *data, json_t *report)
{
	size_t most;
	double sum;

	if (app_simulated())
		return;
	sum = pairs(data, &most);
	json_object_set_new(report, "pairs", json_real(sum));
	json_object_set_new(report, "most_neighbours", json_integer(most));
}

static void nbody_print(void *data)
{
	const struct nbody *self = data;
	size_t most;
	double sum;

	if (app_simulated() || !self->shape.n)
		return;
	sum = pairs(self, &most);
	printf("\na body looks at %.0f others in the mean, at %zu at most\n", sum / self->shape.n,
	       most);
}

/* ---- files ---- */

static int bodies_write(const struct nbody *self, const char *path)
{
	size_t *order = malloc(self->shape.n * sizeof(*order) + 1);
	FILE *stream;
	int error = order ? file_create(path, &stream) : -ENOMEM;

	if (error) {
		free(order);
		return error;
	}
	for (size_t i = 0; i < self->shape.n; i++)
		order[numbers(self)[i]] = i;
	fprintf(stream, "x,y,z,mass,vx,vy,vz\n");
	for (size_t i = 0; i < self->shape.n; i++) {
		for (int c = 0; c < 4; c++)
			fprintf(stream, "%.9g,", self->bodies[coordinate(self, c, order[i])]);
		for (int axis = 0; axis < 3; axis++)
			fprintf(stream, "%.9g%c",
			        self->velocities[coordinate(self, axis, order[i])],
			        axis < 2 ? ',' : '\n');
	}
	free(order);
	return file_finish(path, stream);
}

/* The bodies before the first step. They are made anew, and those of the last one are kept for
 * nbody_save_output() and nbody_print(). */
static int nbody_save_input(void *data, const struct app_options *common)
{
	struct nbody before = *(struct nbody *)data;
	size_t bytes = 4 * before.shape.n * BODIES_BYTES;
	int error = -ENOMEM;

	before.bodies = malloc(bytes + 1);
	before.velocities = malloc(bytes + 1);
	if (before.bodies && before.velocities) {
		app_parallel(before.shape.n, fill, &before);
		error = bodies_write(&before, common->save_input);
	}
	free(before.bodies);
	free(before.velocities);
	return error;
}

/* The bodies after the last step. */
static int nbody_save_output(void *data, const struct app_options *common)
{
	struct nbody *self = data;
	int error = bodies_move(self);

	return error ? error : bodies_write(self, common->output);
}

static void nbody_release(void *data)
{
	struct nbody *self = data;
	size_t bytes = self->shape.n * BODIES_BYTES;

	labelled_free(&self->loaded);
	class_names_free(&self->none);
	heddle_free(self->bodies, 4 * bytes);
	heddle_free(self->starts, (bodies_cells(self->shape.n) + 1) * sizeof(uint32_t));
	heddle_free(self->accelerations, 3 * bytes);
	free(self->velocities);
	free(self->places);
	free(self->scratch);
}

/* ---- the command line ---- */

static const struct option_row own_options[] = {
    {"cutoff", "R", "Bodies attract up to this distance (default 0.05); 0: all do",
     REAL(struct nbody, shape.cutoff, 0, 1e9)},
    {"softening", "E", "Plummer's softening (default 0.005)",
     REAL(struct nbody, shape.softening, 1e-9, 1e9)},
    {"clusters", "N", "Clusters of random bodies (default 8)",
     NUMBER(struct nbody, shape.clusters, 1, 1 << 20), .random = true},
    {"dt", "T", "Length of a time step (default 0.001)", REAL(struct nbody, dt, 0, 1e9)},
    {0},
};

int main(int argc, char **argv)
{
	static const struct app app = {
	    .name = "nbody",
	    .symbol = "heddle_nbody",
	    .doc =
	        "Moves bodies that attract each other."
	        "\v--size (bodies) and --seed make random clusters; --input is CSV: x, y, z, "
	        "mass, and the velocity if you like, of a body in each line. Every repetition is "
	        "a time step; --output writes the bodies after the last one. An iteration of the "
	        "loop is a body.",
	    .unit = "pair",
	    .size = 1 << 16,
	    .max_size = BODIES_MOST,
	    .own = own_options,
	    .tolerance = NBODY_TOLERANCE,
	    .open = nbody_open,
	    .prepare = nbody_prepare,
	    .describe = nbody_describe,
	    .print = nbody_print,
	    .next = nbody_next,
	    .poison = nbody_poison,
	    .error = nbody_verify,
	    .save_input = nbody_save_input,
	    .save_output = nbody_save_output,
	    .elements = nbody_elements,
	    .release = nbody_release,
	};
	static struct nbody self = {.shape = {.cutoff = 0.05, .softening = 0.005, .clusters = 8},
	                            .dt = 0.001};

	return app_main(&app, &self, argc, argv);
}
