/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Flows on this machine: pipelines, cycles, several readers, data of the program's, under several
 * policies; what is refused, and how a flow fails.
 */
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/heddle.h>

#include "tests/unit/test.h"

enum { LABELS = 300, ROW = 5 };

/* What functions of a test leave. */
static atomic_uint seen[LABELS];
static atomic_uint wrong;

static int run(const struct heddle_filter *filters, unsigned n, struct heddle_flow_stats *stats)
{
	struct heddle_flow *flow;
	int status = heddle_flow_create(filters, n, seen, &flow);

	if (status)
		return status;
	memset(seen, 0, sizeof(seen));
	atomic_store(&wrong, 0);
	status = heddle_flow_run(flow, stats);
	heddle_flow_destroy(flow);
	return status;
}

/* ---- kernels ---- */

/* A vector of the label. */
static void fill_cpu(void *buffers[], void *arg)
{
	const struct heddle_event *event = arg;
	int *to = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);

	for (int i = 0; i < ROW; i++)
		to[i] = event->label;
}

/* The vector times a constant as a matrix of two rows, and its sum. */
static void scale_cpu(void *buffers[], void *arg)
{
	const int *from = (const int *)STARPU_VECTOR_GET_PTR(buffers[0]);
	const int *by = (const int *)STARPU_VARIABLE_GET_PTR(buffers[1]);
	int *to = (int *)STARPU_MATRIX_GET_PTR(buffers[2]);
	long *sum = (long *)STARPU_VARIABLE_GET_PTR(buffers[3]);

	*sum = 0;
	for (int i = 0; i < ROW; i++) {
		to[i] = from[i] * *by;
		to[i + STARPU_MATRIX_GET_LD(buffers[2])] = -to[i];
		*sum += to[i];
	}
}

static void fail_cpu(void *buffers[], void *arg)
{
	struct heddle_event *event = arg;

	if (event->label == 17)
		event->status = -ENOMEM;
}

static struct starpu_codelet fill = {
    .cpu_funcs = {fill_cpu}, .nbuffers = 1, .modes = {STARPU_W}, .name = "fill"};
static struct starpu_codelet scale = {.cpu_funcs = {scale_cpu},
                                      .nbuffers = 4,
                                      .modes = {STARPU_R, STARPU_R, STARPU_W, STARPU_W},
                                      .name = "scale"};
static struct starpu_codelet fail = {.cpu_funcs = {fail_cpu}, .name = "fail"};

/* ---- streams ---- */

static const struct heddle_stream labels = {.name = "labels", .n = LABELS};
static const struct heddle_stream again = {.name = "again"};
static const struct heddle_stream rows = {.name = "rows", .parts = {{sizeof(int), ROW}}};
static const struct heddle_stream scaled = {
    .name = "scaled", .buffers = 3, .parts = {{sizeof(int), ROW, 2}, {sizeof(long)}}};

/* ---- a pipeline ---- */

static int check_scaled(struct heddle_event *event)
{
	const int *got = event->in[0], label = event->label;
	const long *sum = event->in[1];

	atomic_fetch_add(&seen[label], 1);
	atomic_fetch_add(&wrong, *sum != 3 * ROW * label || event->worker < 0 ||
	                             event->stream != &scaled || event->arg != seen);
	for (int i = 0; i < ROW; i++)
		atomic_fetch_add(&wrong, got[i] != 3 * label || got[i + ROW] != -3 * label);
	return 0;
}

static void describe(struct starpu_task *task, const struct heddle_event *event)
{
	const struct heddle_param odd = {.name = "odd", .number = event->label & 1};

	task->priority = event->label % 3;
	/* Under helgrind the estimator has a test of its own. */
	if (!getenv("HEDDLE_TEST_SHORT"))
		heddle_task_params(task, &odd, 1);
}

static void test_pipeline(void **state)
{
	static struct heddle_flow_stats stats;
	static int by = 3;
	struct heddle_filter filters[] = {
	    {.codelet = &fill, .ports = {{&labels, &rows}}},
	    {.codelet = &scale, .ports = {{&rows, &scaled}}, .task = describe},
	    {.name = "check", .function = check_scaled, .ports = {{&scaled}}}};
	struct heddle_flow *flow;

	starpu_variable_data_register(&filters[1].constants[0], STARPU_MAIN_RAM, (uintptr_t)&by,
	                              sizeof(by));
	assert_int_equal(heddle_flow_create(filters, 3, seen, &flow), 0);
	for (int repeat = 0; repeat < 2; repeat++) {
		memset(seen, 0, sizeof(seen));
		assert_int_equal(heddle_flow_run(flow, &stats), 0);
		assert_int_equal(atomic_load(&wrong), 0);
		for (int l = 0; l < LABELS; l++)
			assert_int_equal(atomic_load(&seen[l]), 1);
		assert_int_equal(stats.tasks, 2 * LABELS);
		assert_int_equal(stats.calls, LABELS);
		assert_true(stats.us > 0 && stats.most_under_way > 0);
	}
	heddle_flow_destroy(flow);
	starpu_data_unregister(filters[1].constants[0]);
}

/* ---- a cycle with readers on threads ---- */

/* Comes back so often as its label says, in steps of LABELS. */
static int read_row(struct heddle_event *event)
{
	int *row = event->out[0];

	for (int i = 0; i < ROW; i++)
		row[i] = event->label + i;
	if (event->label % 7)
		return 0;
	/* Nothing to compute. */
	atomic_fetch_add(&seen[event->label % LABELS], 1);
	return HEDDLE_EVENT_DROP;
}

static int look(struct heddle_event *event)
{
	const int *row = event->in[0];
	uint64_t round = event->label / LABELS, label = event->label % LABELS;

	for (int i = 0; i < ROW; i++)
		atomic_fetch_add(&wrong, row[i] != (int)event->label + i);
	atomic_fetch_add(&seen[label], 1);
	return round < label % 4 ? heddle_event_send(event, &again, event->label + LABELS) : 0;
}

static void test_cycle(void **state)
{
	for (unsigned threads = 0; threads < 4; threads++) {
		const struct heddle_filter filters[] = {
		    {.name = "read",
		     .function = read_row,
		     .threads = threads,
		     .ports = {{&again, &rows}, {&labels, &rows}}},
		    {.name = "look", .function = look, .ports = {{&rows}}},
		    {.name = "help", .function = look, .threads = 1, .ports = {{&rows}}}};

		assert_int_equal(run(filters, 3, NULL), 0);
		assert_int_equal(atomic_load(&wrong), 0);
		for (unsigned l = 0; l < LABELS; l++) {
			unsigned rounds = 1;

			for (uint64_t at = l; at % 7 && at / LABELS < l % 4; at += LABELS)
				rounds++;
			assert_int_equal(atomic_load(&seen[l]), rounds);
		}
	}
}

/* Labels alone: events that end while they begin must not call each other in a circle. */
static int count_down(struct heddle_event *event)
{
	return event->label ? heddle_event_send(event, event->stream, event->label - 1) : 0;
}

static void test_labels_alone(void **state)
{
	static const struct heddle_stream countdown = {
	    .name = "countdown", .first = 200000, .n = 1};
	const struct heddle_filter filter = {
	    .name = "count", .function = count_down, .ports = {{&countdown}}};
	struct heddle_flow_stats stats;

	assert_int_equal(run(&filter, 1, &stats), 0);
	assert_int_equal(stats.calls, 200001);
}

static void test_nothing(void **state)
{
	const struct heddle_filter filter = {
	    .name = "count", .function = count_down, .threads = 2, .ports = {{&again}}};
	struct heddle_flow_stats stats;

	assert_int_equal(run(&filter, 1, &stats), 0);
	assert_int_equal(stats.calls, 0);
}

/* ---- data of the program's ---- */

static starpu_data_handle_t handles[LABELS];

static int row_of(uint64_t label, starpu_data_handle_t *to, void *arg)
{
	to[0] = handles[label];
	return label == 299 && arg != seen ? -EIO : 1;
}

static int no_row(uint64_t label, starpu_data_handle_t *to, void *arg)
{
	to[0] = to[1] = handles[label];
	return 2;
}

static int copy_row(struct heddle_event *event)
{
	memcpy(event->out[0], event->in[0], ROW * sizeof(int));
	return 0;
}

static void test_data(void **state)
{
	static int memory[LABELS][ROW];
	/* Nobody reads it: results stay with the program. */
	static const struct heddle_stream kept = {.name = "kept", .data = row_of};
	static const struct heddle_stream twice = {.name = "twice", .data = no_row};
	const struct heddle_filter direct = {.codelet = &fill, .ports = {{&labels, &kept}}};
	const struct heddle_filter bad = {.codelet = &fill, .ports = {{&labels, &twice}}};
	const struct heddle_filter copied[] = {
	    {.codelet = &fill, .ports = {{&labels, &rows}}},
	    {.name = "copy", .function = copy_row, .ports = {{&rows, &kept}}}};

	for (int l = 0; l < LABELS; l++)
		starpu_vector_data_register(&handles[l], STARPU_MAIN_RAM, (uintptr_t)memory[l], ROW,
		                            sizeof(int));
	for (int way = 0; way < 2; way++) {
		assert_int_equal(way ? run(copied, 2, NULL) : run(&direct, 1, NULL), 0);
		for (int l = 0; l < LABELS; l++) {
			starpu_data_acquire(handles[l], STARPU_RW);
			assert_int_equal(memory[l][ROW - 1], l);
			memory[l][ROW - 1] = -1;
			starpu_data_release(handles[l]);
		}
	}
	assert_int_equal(run(&bad, 1, NULL), -EINVAL);
	for (int l = 0; l < LABELS; l++)
		starpu_data_unregister(handles[l]);
}

/* ---- failures ---- */

static int give_up(struct heddle_event *event)
{
	return event->label == 20 ? -EIO : 0;
}

static int run_again(struct heddle_event *event)
{
	return heddle_flow_run(event->flow, NULL);
}

static int send_wrong(struct heddle_event *event)
{
	static const struct heddle_stream other = {.name = "other"};

	/* What a function does not look at fails the flow even so. */
	heddle_event_send(event, event->label % 2 ? &other : &rows, 1);
	return 0;
}

static void test_failures(void **state)
{
	struct heddle_filter filter = {.codelet = &fail, .ports = {{&labels}}};
	static const struct heddle_stream few = {
	    .name = "few", .buffers = 1, .parts = {{sizeof(int), ROW}}};
	const struct heddle_filter writer[] = {
	    {.name = "wrong", .function = send_wrong, .ports = {{&labels, &rows}}},
	    {.name = "look", .function = look, .ports = {{&rows}}}};
	/* With the one row that there is the first filter leaves none to the second one. */
	const struct heddle_filter stuck[] = {
	    {.codelet = &fill, .ports = {{&labels, &few}}},
	    {.name = "round", .function = copy_row, .ports = {{&few, &few}}}};

	assert_int_equal(run(&filter, 1, NULL), -ENOMEM);
	for (unsigned threads = 0; threads < 3; threads++) {
		filter = (struct heddle_filter){.name = "give up",
		                                .function = give_up,
		                                .threads = threads,
		                                .ports = {{&labels}}};
		assert_int_equal(run(&filter, 1, NULL), -EIO);
	}
	filter =
	    (struct heddle_filter){.name = "again", .function = run_again, .ports = {{&labels}}};
	assert_int_equal(run(&filter, 1, NULL), -EBUSY);
	assert_int_equal(run(writer, 2, NULL), -EINVAL);
	assert_int_equal(run(stuck, 2, NULL), -EDEADLK);
}

static void refused(int status, struct heddle_filter first)
{
	const struct heddle_filter filters[] = {
	    first, {.name = "look", .function = look, .ports = {{&rows}}}};
	struct heddle_flow *flow = NULL;

	assert_int_equal(heddle_flow_create(filters, 2, NULL, &flow), status);
	assert_null(flow);
}

static void test_refusals(void **state)
{
	static struct starpu_codelet nowhere = {
	    .where = STARPU_CUDA, .nbuffers = 1, .modes = {STARPU_W}, .name = "nowhere"};
	static struct starpu_codelet reads = {
	    .cpu_funcs = {fill_cpu}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "reads"};
	static const struct heddle_stream both = {
	    .name = "both", .data = row_of, .parts = {{sizeof(int)}}};
	static const struct heddle_stream hole = {.name = "hole", .parts = {{0}, {4}}};
	static const struct heddle_stream start = {.name = "start", .parts = {{4}}, .n = 1};
	static const struct heddle_stream empty = {.name = "empty", .buffers = 3};
	static const struct heddle_stream far = {.name = "far", .first = UINT64_MAX, .n = 2};
	static const struct heddle_stream huge = {
	    .name = "huge", .parts = {{SIZE_MAX / 4, 8, 8}}, .buffers = 1000};
	struct heddle_flow *flow = NULL;

	refused(-EINVAL, (struct heddle_filter){.name = "neither", .ports = {{&labels, &rows}}});
	refused(-EINVAL, (struct heddle_filter){
	                     .codelet = &fill, .function = look, .ports = {{&labels, &rows}}});
	refused(-EINVAL, (struct heddle_filter){
	                     .codelet = &fill, .threads = 2, .ports = {{&labels, &rows}}});
	refused(-EINVAL, (struct heddle_filter){
	                     .function = look, .task = describe, .ports = {{&labels, &rows}}});
	refused(-EINVAL, (struct heddle_filter){.codelet = &fill});
	refused(-EINVAL, (struct heddle_filter){.codelet = &fill, .ports = {{NULL, &rows}}});
	refused(-EINVAL, (struct heddle_filter){.codelet = &scale, .ports = {{&labels, &rows}}});
	refused(-EINVAL, (struct heddle_filter){.codelet = &reads, .ports = {{&labels, &rows}}});
	refused(-ENODEV, (struct heddle_filter){.codelet = &nowhere, .ports = {{&labels, &rows}}});
	/* Nobody reads, or writes. */
	refused(-EINVAL, (struct heddle_filter){.codelet = &fill, .ports = {{&labels, &scaled}}});
	refused(-EINVAL, (struct heddle_filter){.function = look, .ports = {{&labels}}});
	for (int s = 0; s < 5; s++) {
		const struct heddle_stream *streams[] = {&both, &hole, &start, &empty, &far};

		refused(-EINVAL, (struct heddle_filter){.function = read_row,
		                                        .ports = {{streams[s], &rows}}});
	}
	refused(-ENOMEM, (struct heddle_filter){.function = read_row,
	                                        .ports = {{&labels, &rows}, {&huge, &huge}}});
	assert_int_equal(heddle_flow_create(NULL, 0, NULL, &flow), -EINVAL);
	heddle_flow_destroy(NULL);
}

int main(void)
{
	static const char *const policies[] = {"lws",   "eager", "dmda", "ddfcfs",
	                                       "ddwrr", "odds",  "hdss", "heddle"};
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_pipeline), cmocka_unit_test(test_cycle),
	    cmocka_unit_test(test_nothing),  cmocka_unit_test(test_data),
	    cmocka_unit_test(test_failures), cmocka_unit_test(test_labels_alone),
	    cmocka_unit_test(test_refusals),
	};
	struct heddle_flow *flow;
	int failed = 0;

	if (heddle_flow_create(NULL, 0, NULL, &flow) != -ENODEV)
		failed++;
	for (unsigned p = 0; p < sizeof(policies) / sizeof(*policies) && !failed; p++) {
		struct starpu_conf conf;

		starpu_conf_init(&conf);
		conf.sched_policy_name = policies[p];
		if (starpu_init(&conf))
			return 77;
		print_message("%s\n", policies[p]);
		/* Failures do not depend on the policy. */
		failed = !starpu_cpu_worker_get_count() ? 77
		         : p ? _cmocka_run_group_tests("few", tests, 4, NULL, NULL)
		             : cmocka_run_group_tests(tests, NULL, NULL);
		starpu_shutdown();
		if (getenv("HEDDLE_TEST_SHORT"))
			break;
	}
	return failed;
}
