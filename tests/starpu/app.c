/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What apps have in common, on an app whose codelet is right, lazy, wrong in one
 * place or failing: the exit code must tell.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/common/app.h"
#include "tests/unit/test.h"

enum behaviour { RIGHT, LAZY, ONE_WRONG, FAILING };

struct squares {
	enum behaviour behaviour;
	size_t n;
	float *array;
	unsigned poisoned, verified;
};

static void square(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	const struct squares *self = block->arg;
	float *array = (float *)STARPU_VECTOR_GET_PTR(buffers[0]);

	if (self->behaviour == LAZY)
		return;
	if (self->behaviour == FAILING) {
		block->status = -EIO;
		return;
	}
	for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
		array[i] = (float)(block->start + i) * (block->start + i);
	if (self->behaviour == ONE_WRONG && block->start + block->n == block->total)
		array[block->n - 1] += 1;
}

static struct starpu_codelet codelet = {
    .cpu_funcs = {square},
    .nbuffers = 1,
    .modes = {STARPU_W},
    .name = "squares",
};

static int prepare(void *data, const struct app_options *options, struct heddle_loop *loop)
{
	struct squares *self = data;
	int error = heddle_malloc((void **)&self->array, options->size * sizeof(float));

	if (error)
		return error;
	self->n = options->size;
	starpu_vector_data_register(&loop->accesses[0].handle, STARPU_MAIN_RAM,
	                            (uintptr_t)self->array, self->n, sizeof(float));
	loop->accesses[0].mode = STARPU_W;
	loop->naccesses = 1;
	loop->codelet = &codelet;
	loop->n = self->n;
	loop->arg = self;
	return 0;
}

static void poison(void *data)
{
	struct squares *self = data;

	memset(self->array, 0xff, self->n * sizeof(float));
	self->poisoned++;
}

static double part_error(void *data, size_t begin, size_t end)
{
	const struct squares *self = data;
	double worst = 0;

	for (size_t i = begin; i < end; i++) {
		double error = fabs(self->array[i] - (double)i * i);

		worst = error <= worst ? worst : error; /* also not-a-number */
		if (isnan(error))
			return INFINITY;
	}
	return worst;
}

static double largest_error(void *data)
{
	struct squares *self = data;

	self->verified++;
	return app_parallel(self->n, part_error, self);
}

static double elements(void *data)
{
	const struct squares *self = data;

	return self->n;
}

static void release(void *data)
{
	struct squares *self = data;

	heddle_free(self->array, self->n * sizeof(float));
}

static int run(enum behaviour behaviour, unsigned reps)
{
	static const struct app app = {
	    .name = "squares",
	    .symbol = "heddle_test_squares",
	    .unit = "number",
	    .size = 3000,
	    .max_size = 4000,
	    .prepare = prepare,
	    .poison = poison,
	    .error = largest_error,
	    .elements = elements,
	    .release = release,
	};
	struct squares self = {.behaviour = behaviour};
	char times[16];
	char *arguments[] = {"squares", "--verify", "--sched", "hdss", "--reps", times, NULL};
	int code;

	snprintf(times, sizeof(times), "%u", reps);
	code = app_main(&app, &self, 6, arguments);
	if (behaviour != FAILING) {
		assert_int_equal(self.poisoned, reps);
		assert_int_equal(self.verified, reps);
	}
	return code;
}

static void test_right(void **state)
{
	assert_int_equal(run(RIGHT, 3), APP_RIGHT);
}

static void test_lazy(void **state)
{
	assert_int_equal(run(LAZY, 2), APP_WRONG);
}

static void test_one_wrong(void **state)
{
	assert_int_equal(run(ONE_WRONG, 2), APP_WRONG);
}

static void test_failing(void **state)
{
	assert_int_equal(run(FAILING, 1), APP_WRONG);
}

/* Ranges are disjoint and cover everything; the largest value comes back. */
static double mark(void *arg, size_t begin, size_t end)
{
	unsigned char *marks = arg;

	for (size_t i = begin; i < end; i++)
		marks[i]++;
	return end;
}

static void test_parallel(void **state)
{
	static const size_t sizes[] = {0, 1, 16383, 16384, 100001};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		unsigned char *marks = calloc(1, sizes[s] + 1);

		assert_non_null(marks);
		assert_true(app_parallel(sizes[s], mark, marks) == sizes[s]);
		for (size_t i = 0; i < sizes[s]; i++)
			assert_int_equal(marks[i], 1);
		assert_int_equal(marks[sizes[s]], 0);
		free(marks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_right),     cmocka_unit_test(test_lazy),
	    cmocka_unit_test(test_one_wrong), cmocka_unit_test(test_failing),
	    cmocka_unit_test(test_parallel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
