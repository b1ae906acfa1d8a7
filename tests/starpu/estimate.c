/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The estimator with real tasks: parameters that tasks state or have, what is
 * learned of them, threads that ask and tell at once.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estimator/estimate_starpu.h"
#include "estimator/profile_file.h"
#include "tests/unit/test.h"

static char folder[] = "/tmp/heddle-estimate-XXXXXX";

static void nothing(void *buffers[], void *arg)
{
}

static struct starpu_codelet *codelet_make(const char *name)
{
	static struct starpu_codelet codelets[32];
	static unsigned n;

	assert_true(n < 32);
	codelets[n].cpu_funcs[0] = nothing;
	codelets[n].name = name;
	return &codelets[n++];
}

static struct starpu_task *task_make(struct starpu_codelet *codelet)
{
	struct starpu_task *task = starpu_task_create();

	task->cl = codelet;
	return task;
}

static void task_drop(struct starpu_task *task)
{
	task->destroy = 0;
	starpu_task_destroy(task);
}

static struct starpu_task *sized(struct starpu_codelet *codelet, double size)
{
	struct starpu_task *task = task_make(codelet);
	struct heddle_param param = {"size", size, NULL};

	assert_int_equal(heddle_task_params(task, &param, 1), 0);
	return task;
}

static void expect(struct starpu_task *task, unsigned class, double us,
                   enum heddle_estimate_source source)
{
	struct heddle_estimate estimate;

	heddle_estimate(task, class, &estimate);
	assert_string_equal(heddle_estimate_source_name(estimate.source),
	                    heddle_estimate_source_name(source));
	assert_true(fabs(estimate.us - us) < 1e-6 * us + 1e-9);
}

static double estimated(struct starpu_task *task, unsigned class)
{
	struct heddle_estimate estimate;

	heddle_estimate(task, class, &estimate);
	return estimate.us;
}

static void test_class(void **state)
{
	unsigned class = heddle_device_class(0);

	assert_int_equal(heddle_device_class(0), class);
	assert_int_equal(heddle_device_class(1), class);
	assert_in_range(heddle_device_classes(), 1, HEDDLE_DEVICE_CLASSES);
	print_message("class %u: %s\n", class, heddle_device_class_name(class));
	assert_int_equal(strncmp(heddle_device_class_name(class), "cpu ", 4), 0);
	assert_true(strlen(heddle_device_class_name(class)) > 4);
}

static void test_learning(void **state)
{
	struct starpu_codelet *codelet = codelet_make("learning");
	struct starpu_task *small = sized(codelet, 32), *large = sized(codelet, 512);
	struct starpu_task *other = sized(codelet, 128), *again = sized(codelet, 32);
	unsigned cpu = heddle_device_class(0);

	expect(small, cpu, 0, HEDDLE_ESTIMATE_NOTHING);
	heddle_estimate_executed(small, 0, 10);
	expect(small, cpu, 10, HEDDLE_ESTIMATE_ONLINE);
	expect(again, cpu, 10, HEDDLE_ESTIMATE_ONLINE);
	/* A codelet's very first time says nothing of other parameters. */
	expect(large, cpu, 0, HEDDLE_ESTIMATE_NOTHING);
	heddle_estimate_executed(small, 0, 10);
	expect(large, cpu, 160, HEDDLE_ESTIMATE_NEIGHBOURS);
	/* So much more than expected is believed when it comes again. */
	heddle_estimate_executed(large, 1, 3000);
	expect(large, cpu, 160, HEDDLE_ESTIMATE_NEIGHBOURS);
	heddle_estimate_executed(large, 1, 2000);
	expect(large, cpu, 2000, HEDDLE_ESTIMATE_ONLINE);
	/* On the way from one to the other, in logarithms. */
	expect(other, cpu, sqrt(10 * 2000), HEDDLE_ESTIMATE_NEIGHBOURS);
	/* One spike changes nothing. */
	heddle_estimate_executed(small, 0, 12);
	heddle_estimate_executed(small, 0, 5000);
	expect(small, cpu, 10, HEDDLE_ESTIMATE_ONLINE);
	task_drop(small);
	task_drop(large);
	task_drop(other);
	task_drop(again);
}

/* Codelets of one name are one, those without are told by their address. */
static void test_codelets(void **state)
{
	struct starpu_codelet *codelets[] = {codelet_make("shared"), codelet_make("shared"),
	                                     codelet_make(NULL), codelet_make(NULL)};
	unsigned cpu = heddle_device_class(0);
	struct starpu_task *tasks[4];

	for (int i = 0; i < 4; i++)
		tasks[i] = task_make(codelets[i]);
	heddle_estimate_executed(tasks[0], 0, 7);
	heddle_estimate_executed(tasks[2], 0, 9);
	expect(tasks[1], cpu, 7, HEDDLE_ESTIMATE_ONLINE);
	expect(tasks[2], cpu, 9, HEDDLE_ESTIMATE_ONLINE);
	expect(tasks[3], cpu, 0, HEDDLE_ESTIMATE_NOTHING);
	for (int i = 0; i < 4; i++)
		task_drop(tasks[i]);
}

/* What a task states nothing of: its data. */
static void test_default(void **state)
{
	struct starpu_codelet *codelet = codelet_make("data");
	unsigned cpu = heddle_device_class(0);
	static char bytes[4000];
	struct starpu_task *tasks[2];
	starpu_data_handle_t handles[2];

	codelet->nbuffers = 1;
	codelet->modes[0] = STARPU_R;
	for (int i = 0; i < 2; i++) {
		starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)bytes,
		                            1000 + 3000 * i, 1);
		tasks[i] = task_make(codelet);
		tasks[i]->handles[0] = handles[i];
	}
	/* Its data may be gone, so it is not looked at. */
	heddle_estimate_executed(tasks[0], 0, 99);
	expect(tasks[0], cpu, 0, HEDDLE_ESTIMATE_NOTHING);
	heddle_estimate_executed(tasks[0], 0, 10);
	expect(tasks[0], cpu, 10, HEDDLE_ESTIMATE_ONLINE);
	heddle_estimate_executed(tasks[0], 0, 10);
	/* Four times the data. */
	expect(tasks[1], cpu, 40, HEDDLE_ESTIMATE_NEIGHBOURS);
	heddle_estimate_executed(tasks[1], 0, 30);
	expect(tasks[0], cpu, 10, HEDDLE_ESTIMATE_ONLINE);
	expect(tasks[1], cpu, 30, HEDDLE_ESTIMATE_ONLINE);
	for (int i = 0; i < 2; i++) {
		task_drop(tasks[i]);
		starpu_data_unregister(handles[i]);
	}
}

static void test_refusals(void **state)
{
	static const struct heddle_param bad[] = {
	    {"", 1, NULL},         {"a b", 1, NULL}, {"x", NAN, NULL},
	    {"x", INFINITY, NULL}, {"w", 0, ""},     {"size", 0, "word"},
	};
	struct heddle_param many[HEDDLE_PARAMS_MAX + 1] = {0};
	struct starpu_codelet *codelet = codelet_make("refusals");
	struct starpu_task *task = starpu_task_create();
	struct heddle_param twice[] = {{"size", 1, NULL}, {"size", 1, NULL}};
	char names[HEDDLE_PARAMS_MAX + 1][8];

	assert_int_equal(heddle_task_params(task, twice, 1), -EINVAL); /* no codelet */
	task->cl = codelet;
	assert_int_equal(heddle_task_params(task, twice, 1), 0);
	assert_int_equal(heddle_task_params(task, twice, 2), -EINVAL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(heddle_task_params(task, &bad[i], 1), -EINVAL);
	for (int i = 0; i <= HEDDLE_PARAMS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "p%d", i);
		many[i].name = names[i];
	}
	assert_int_equal(heddle_task_params(task, many, HEDDLE_PARAMS_MAX + 1), -EINVAL);
	assert_int_equal(heddle_task_params(task, many, HEDDLE_PARAMS_MAX), -EINVAL);
	task->sched_data = task;
	assert_int_equal(heddle_task_params(task, twice, 1), -EBUSY);
	task->sched_data = NULL;
	task_drop(task);
}

/* A spike of 500 times changes no decision, whichever sample it is: small tasks
 * take 10 µs, large ones 1000, and that stays the order of things. */
static void test_spike(void **state)
{
	unsigned cpu = heddle_device_class(0);

	for (int at = 0; at < 12; at++) {
		char *name = malloc(16);
		struct starpu_codelet *codelet;
		struct starpu_task *small, *large;

		snprintf(name, 16, "spike%d", at);
		codelet = codelet_make(name);
		small = sized(codelet, 1);
		large = sized(codelet, 100);
		for (int i = 0; i < 12; i++) {
			double ratio;

			heddle_estimate_executed(i % 2 ? large : small, 0,
			                         (i % 2 ? 1000 : 10) * (i == at ? 500 : 1));
			ratio = estimated(large, cpu) / estimated(small, cpu);
			/* With one sample of each, which one is wrong nobody can tell. */
			assert_true(i < 3 || ratio == 100);
		}
		task_drop(small);
		task_drop(large);
	}
}

/* Where tasks state their operations times are expected to grow as these. */
static void test_operations(void **state)
{
	struct starpu_codelet *codelet = codelet_make("operations");
	struct starpu_task *small = sized(codelet, 32), *large = sized(codelet, 64);
	struct starpu_task *silent = sized(codelet, 128);
	unsigned cpu = heddle_device_class(0);

	small->flops = 1e6;
	large->flops = 8e6;
	/* Policies ask before a task runs. */
	expect(small, cpu, 0, HEDDLE_ESTIMATE_NOTHING);
	heddle_estimate_executed(small, 0, 10);
	heddle_estimate_executed(small, 0, 10);
	expect(large, cpu, 80, HEDDLE_ESTIMATE_NEIGHBOURS);
	expect(silent, cpu, 40, HEDDLE_ESTIMATE_NEIGHBOURS);
	task_drop(small);
	task_drop(large);
	task_drop(silent);
}

/* Costs that grow steeply with parameters that never come twice are learned. */
static void test_steep(void **state)
{
	struct starpu_codelet *codelet = codelet_make("steep");
	unsigned cpu = heddle_device_class(0);
	struct starpu_task *task;

	for (int i = 0; i < 10; i++) {
		task = sized(codelet, i < 5 ? 1 + i / 100. : 1000 + i);
		heddle_estimate_executed(task, 0, i < 5 ? 1 : 1e6);
		task_drop(task);
	}
	task = sized(codelet, 1e3);
	assert_true(fabs(estimated(task, cpu) - 1e6) < 1e4);
	task_drop(task);
}

/* Every task with parameters of its own: bounded, and still about right. */
static void test_all_different(void **state)
{
	struct starpu_codelet *codelet = codelet_make("different");
	unsigned cpu = heddle_device_class(0);
	struct heddle_estimate estimate;
	struct starpu_task *task;

	for (unsigned i = 1; i <= 20000; i++) {
		task = sized(codelet, i);
		heddle_estimate_executed(task, 0, 2 * i);
		task_drop(task);
	}
	for (unsigned i = 100; i <= 20000; i += 777) {
		task = sized(codelet, i + 0.25);
		heddle_estimate(task, cpu, &estimate);
		assert_true(estimate.us > 1.8 * i && estimate.us < 2.2 * i);
		task_drop(task);
	}
}

static void put_profile(const char *codelet, const char *format, ...)
{
	char path[256];
	va_list arguments;
	FILE *file;

	assert_int_equal(heddle_profile_path(codelet, path, sizeof(path)), 0);
	file = fopen(path, "w");
	assert_non_null(file);
	va_start(arguments, format);
	vfprintf(file, format, arguments);
	va_end(arguments);
	assert_int_equal(fclose(file), 0);
}

/* What earlier runs measured is believed at once, and longer than one new sample. */
static void test_profile(void **state)
{
	unsigned cpu = heddle_device_class(0);
	const char *name = heddle_device_class_name(cpu);
	struct starpu_codelet *codelet = codelet_make("profiled");
	struct heddle_profile profile = {0};
	struct starpu_task *task, *other;
	const struct heddle_profile_field *us;
	char path[256];

	put_profile("profiled",
	            "task device=\"%s\" size=8 : us=800,90000,810\n"
	            "task device=\"%s\" size=9 : us=900\nnonsense\n",
	            name, name);
	task = sized(codelet, 8);
	other = sized(codelet, 8.5);
	expect(task, cpu, 810, HEDDLE_ESTIMATE_PROFILE);
	/* Two points so near say little of a slope: about their mean. */
	expect(other, cpu, estimated(other, cpu), HEDDLE_ESTIMATE_NEIGHBOURS);
	assert_true(fabs(estimated(other, cpu) - 855) < 5);
	heddle_estimate_executed(task, 0, 400000);
	expect(task, cpu, 810, HEDDLE_ESTIMATE_ONLINE);
	for (int i = 0; i < 5; i++)
		heddle_estimate_executed(task, 0, 100);
	expect(task, cpu, 100, HEDDLE_ESTIMATE_ONLINE);
	/* What this run measured comes behind what was known; saved once. */
	assert_int_equal(heddle_estimate_save(), 0);
	assert_int_equal(heddle_estimate_save(), 0);
	assert_int_equal(heddle_profile_path("profiled", path, sizeof(path)), 0);
	assert_int_equal(heddle_profile_read(path, &profile), 0);
	assert_int_equal(profile.n, 2);
	us = heddle_profile_record_field(profile.records[0], "us");
	assert_int_equal(us->n, 4);
	assert_true(us->numbers[3] == 100);
	assert_true(heddle_profile_record_field(profile.records[0], "samples")->numbers[0] == 6);
	heddle_profile_free(&profile);
	task_drop(task);
	task_drop(other);
}

static void model_params(struct starpu_task *task, double *params)
{
	params[0] = *(double *)task->cl_arg;
	params[1] = 5;
}

/* Parameters that the codelet's model states. */
static void test_model_params(void **state)
{
	static const char *names[] = {"size", NULL};
	static const char *bad[] = {"no name", NULL};
	static struct starpu_perfmodel model = {.type = STARPU_PER_ARCH,
	                                        .symbol = "stated",
	                                        .parameters = model_params,
	                                        .parameters_names = names,
	                                        .nparameters = 2};
	static struct starpu_perfmodel bad_model = {.type = STARPU_PER_ARCH,
	                                            .symbol = "badly_stated",
	                                            .parameters = model_params,
	                                            .parameters_names = bad,
	                                            .nparameters = 2};
	struct starpu_codelet *codelet = codelet_make(NULL), *other = codelet_make(NULL);
	struct heddle_param same[] = {{"p1", 5, NULL}, {"size", 2, NULL}};
	unsigned cpu = heddle_device_class(0);
	double sizes[] = {1, 2, NAN};
	struct starpu_task *tasks[5];

	codelet->model = &model;
	other->model = &bad_model;
	for (int i = 0; i < 5; i++) {
		tasks[i] = task_make(i < 4 ? codelet : other);
		tasks[i]->cl_arg = &sizes[i % 3];
		tasks[i]->cl_arg_size = sizeof(double);
		heddle_estimate_executed(tasks[i], 0, 10 * (i + 1));
	}
	expect(tasks[0], cpu, 10, HEDDLE_ESTIMATE_ONLINE);
	expect(tasks[1], cpu, 20, HEDDLE_ESTIMATE_ONLINE);
	expect(tasks[2], cpu, 30, HEDDLE_ESTIMATE_ONLINE);
	expect(tasks[3], cpu, 10, HEDDLE_ESTIMATE_ONLINE);
	expect(tasks[4], cpu, 50, HEDDLE_ESTIMATE_ONLINE);
	/* The same, stated by the task. */
	assert_int_equal(heddle_task_params(tasks[4], same, 0), 0);
	tasks[4]->cl = codelet;
	assert_int_equal(heddle_task_params(tasks[4], same, 2), 0);
	expect(tasks[4], cpu, 20, HEDDLE_ESTIMATE_ONLINE);
	for (int i = 0; i < 5; i++) {
		tasks[i]->cl_arg = NULL;
		task_drop(tasks[i]);
	}
}

static double seven(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	return 7;
}

/* StarPU's model, once it is loaded, until the run itself says more. */
static void test_model(void **state)
{
	static struct starpu_perfmodel model = {
	    .type = STARPU_PER_ARCH, .symbol = "heddle_test_seven", .arch_cost_function = seven};
	struct starpu_codelet *codelet = codelet_make("modelled");
	struct heddle_estimate all[HEDDLE_DEVICE_CLASSES];
	unsigned cpu = heddle_device_class(0);
	struct starpu_task *task;

	codelet->model = &model;
	assert_int_equal(starpu_task_submit(task_make(codelet)), 0);
	starpu_task_wait_for_all();
	task = sized(codelet, 1);
	task->where = STARPU_CPU;
	/* Of a class that is not wanted no model is asked. */
	heddle_estimate_all(task, HEDDLE_DEVICE_CLASSES, ~(1u << cpu), all);
	assert_int_equal(all[cpu].source, HEDDLE_ESTIMATE_NOTHING);
	heddle_estimate_all(task, HEDDLE_DEVICE_CLASSES, 1u << cpu, all);
	assert_int_equal(all[cpu].source, HEDDLE_ESTIMATE_MODEL);
	expect(task, cpu, 7, HEDDLE_ESTIMATE_MODEL);
	heddle_estimate_executed(task, 0, 9);
	expect(task, cpu, 9, HEDDLE_ESTIMATE_ONLINE);
	task_drop(task);
}

static uint32_t arg_footprint(struct starpu_task *task)
{
	return 1 + *(int *)task->cl_arg;
}

static size_t arg_size(struct starpu_task *task, unsigned nimpl)
{
	return 1 + *(int *)task->cl_arg;
}

static double arg_us(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	return *(int *)task->cl_arg ? 4000 : 10;
}

/* A codelet with a model, for tasks that write one piece of data. */
static struct starpu_codelet *codelet_modelled(const char *name, struct starpu_perfmodel *model)
{
	struct starpu_codelet *codelet = codelet_make(name);

	codelet->model = model;
	codelet->nbuffers = 1;
	codelet->modes[0] = STARPU_RW;
	return codelet;
}

/* A task of which nothing but an argument and the shape of its data are known. */
static struct starpu_task *argued(struct starpu_codelet *codelet, starpu_data_handle_t data,
                                  int *arg)
{
	struct starpu_task *task = task_make(codelet);

	task->handles[0] = data;
	task->cl_arg = arg;
	task->cl_arg_size = sizeof(*arg);
	task->where = STARPU_CPU;
	return task;
}

static void argued_drop(struct starpu_task *task)
{
	task->cl_arg = NULL;
	task_drop(task);
}

/* What StarPU's models tell apart is different here, too, where the data have the same sizes: by a
 * function for the footprint or the size, or by the shapes of data. */
static void test_kinds(void **state)
{
	static struct starpu_perfmodel models[] = {
	    {.type = STARPU_HISTORY_BASED, .symbol = "kind", .footprint = arg_footprint},
	    {.type = STARPU_REGRESSION_BASED, .symbol = "size", .size_base = arg_size},
	    {.type = STARPU_HISTORY_BASED, .symbol = "shape"}};
	static const char *const names[] = {"by_footprint", "by_size", "by_shape"};
	static float matrix[100];
	starpu_data_handle_t wide, square;
	unsigned cpu = heddle_device_class(0);
	int args[] = {0, 1};

	starpu_matrix_data_register(&wide, STARPU_MAIN_RAM, (uintptr_t)matrix, 4, 4, 25,
	                            sizeof(float));
	starpu_matrix_data_register(&square, STARPU_MAIN_RAM, (uintptr_t)matrix, 10, 10, 10,
	                            sizeof(float));
	for (int m = 0; m < 3; m++) {
		struct starpu_codelet *codelet = codelet_modelled(names[m], &models[m]);
		struct starpu_task *one, *other, *again;

		one = argued(codelet, wide, &args[0]);
		other = argued(codelet, m < 2 ? wide : square, &args[1]);
		again = argued(codelet, wide, &args[0]);
		assert_int_equal(heddle_estimate_key(one), heddle_estimate_key(again));
		assert_int_not_equal(heddle_estimate_key(one), heddle_estimate_key(other));
		heddle_estimate_executed(one, 0, 10);
		heddle_estimate_executed(one, 0, 10);
		heddle_estimate_executed(other, 0, 40);
		expect(again, cpu, 10, HEDDLE_ESTIMATE_ONLINE);
		expect(other, cpu, 40, HEDDLE_ESTIMATE_ONLINE);
		argued_drop(one);
		argued_drop(other);
		argued_drop(again);
	}
	starpu_data_unregister(wide);
	starpu_data_unregister(square);
}

/* A profile names all kinds but the first one. */
static void test_kinds_profile(void **state)
{
	static struct starpu_perfmodel model = {
	    .type = STARPU_HISTORY_BASED, .symbol = "kinds", .footprint = arg_footprint};
	struct starpu_codelet *codelet = codelet_modelled("kinds", &model);
	struct starpu_task *first, *second;
	unsigned cpu = heddle_device_class(0);
	const char *name = heddle_device_class_name(cpu);
	static char bytes[8];
	starpu_data_handle_t data;
	int args[] = {0, 1};

	put_profile("kinds",
	            "task device=\"%s\" bytes0=8 : us=10\n"
	            "task device=\"%s\" bytes0=8 kind=\"00000002\" : us=4000\n",
	            name, name);
	starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)bytes, 8, 1);
	second = argued(codelet, data, &args[1]);
	first = argued(codelet, data, &args[0]);
	expect(second, cpu, 4000, HEDDLE_ESTIMATE_PROFILE);
	expect(first, cpu, 10, HEDDLE_ESTIMATE_PROFILE);
	argued_drop(first);
	argued_drop(second);
	starpu_data_unregister(data);
}

/* A function that tells times is asked about each task. */
static void test_function(void **state)
{
	static struct starpu_perfmodel model = {
	    .type = STARPU_PER_ARCH, .symbol = "heddle_test_arg", .arch_cost_function = arg_us};
	struct starpu_codelet *codelet = codelet_modelled("function", &model);
	unsigned cpu = heddle_device_class(0);
	static char bytes[8];
	starpu_data_handle_t data;
	int args[] = {0, 1};
	struct starpu_task *one, *other;

	starpu_vector_data_register(&data, STARPU_MAIN_RAM, (uintptr_t)bytes, 8, 1);
	one = argued(codelet, data, &args[0]);
	other = argued(codelet, data, &args[1]);
	expect(one, cpu, 10, HEDDLE_ESTIMATE_MODEL);
	expect(other, cpu, 4000, HEDDLE_ESTIMATE_MODEL);
	argued_drop(one);
	argued_drop(other);
	starpu_data_unregister(data);
}

#define NTHREADS 4

struct thread_arg {
	struct starpu_codelet *codelet;
	unsigned seed;
};

static void *ask_and_tell(void *arg)
{
	struct thread_arg *a = arg;

	for (int i = 0; i < 3000; i++) {
		double size = 1 + rand_r(&a->seed) % 50;
		struct starpu_task *task = sized(a->codelet, size);
		struct heddle_estimate all[HEDDLE_DEVICE_CLASSES];

		heddle_estimate_all(task, HEDDLE_DEVICE_CLASSES, ~0u, all);
		heddle_estimate_executed(task, i & 1, 3 * size);
		task_drop(task);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct starpu_codelet *codelet = codelet_make("threads");
	struct thread_arg args[NTHREADS];
	starpu_pthread_t threads[NTHREADS];
	struct starpu_task *task;

	for (unsigned i = 0; i < NTHREADS; i++) {
		args[i] = (struct thread_arg){codelet, i + 1};
		STARPU_PTHREAD_CREATE(&threads[i], NULL, ask_and_tell, &args[i]);
	}
	for (unsigned i = 0; i < NTHREADS; i++)
		STARPU_PTHREAD_JOIN(threads[i], NULL);
	for (double size = 1; size <= 50; size++) {
		task = sized(codelet, size);
		expect(task, heddle_device_class(0), 3 * size, HEDDLE_ESTIMATE_ONLINE);
		task_drop(task);
	}
}

static int begin(void **state)
{
	setenv("HEDDLE_VERBOSE", "0", 0);
	if (!mkdtemp(folder))
		return -1;
	setenv("HEDDLE_PROFILE_DIR", folder, 1);
	return starpu_init(NULL);
}

static int end(void **state)
{
	char command[64];

	starpu_shutdown();
	assert_int_equal(heddle_estimate_save(), 0);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_class),         cmocka_unit_test(test_learning),
	    cmocka_unit_test(test_codelets),      cmocka_unit_test(test_default),
	    cmocka_unit_test(test_refusals),      cmocka_unit_test(test_spike),
	    cmocka_unit_test(test_operations),    cmocka_unit_test(test_steep),
	    cmocka_unit_test(test_all_different), cmocka_unit_test(test_profile),
	    cmocka_unit_test(test_model_params),  cmocka_unit_test(test_model),
	    cmocka_unit_test(test_kinds),         cmocka_unit_test(test_kinds_profile),
	    cmocka_unit_test(test_function),      cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
