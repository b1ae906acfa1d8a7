/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What plans are made of: prices of device classes, a look ahead in the graph, places of tasks.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sched_policies/area.h"
#include "sched_policies/graph.h"
#include "sched_policies/plan.h"
#include "tests/unit/test.h"

enum { CPU, GPU, FPGA, NCLASSES };

static void assert_near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * fmax(1, fabs(b))))
		fail_msg("%.17g is not %.17g", a, b);
}

/* From 0 to 1, the same on every machine. */
static double drawn(void)
{
	return rand() / (RAND_MAX + 1.);
}

/* ---- area ---- */

#define NTYPES 64

static double prices(const struct heddle_area_type *types, size_t n, unsigned cpus, unsigned gpus,
                     unsigned fpgas, double *price)
{
	unsigned workers[HEDDLE_POOL_CLASSES] = {cpus, gpus, fpgas};

	memset(price, 0, HEDDLE_POOL_CLASSES * sizeof(*price));
	return heddle_area_prices(types, n, workers, price);
}

static void test_area_of_one_class(void **state)
{
	const struct heddle_area_type types[] = {{10, {7, 1}}, {1, {30}}, {5, {0, 9}}};
	double price[HEDDLE_POOL_CLASSES];

	/* The third type finds nobody. */
	assert_near(prices(types, 3, 4, 0, 0, price), 25);
	assert_near(price[CPU], 0.25);
	assert_true(price[GPU] == 0);
	assert_near(prices(types, 0, 4, 0, 0, price), 0);
	assert_near(prices(types, 3, 0, 0, 0, price), 0);
	assert_near(prices(types, 0, 2, 1, 0, price), 0);
	assert_near(prices(types, 0, 2, 1, 1, price), 0);
}

/* GPU: 8 - f tasks of 10; two CPUs: f of 40, and 8 of 10. They end together at f = 4/3. */
static void test_area_of_two_classes(void **state)
{
	const struct heddle_area_type types[] = {{8, {40, 10}}, {8, {10, 10}}};
	const struct heddle_area_type apart[] = {{8, {40, 0}}, {8, {0, 10}}};
	double price[HEDDLE_POOL_CLASSES];

	assert_near(prices(types, 2, 2, 1, 0, price), 200 / 3.);
	assert_near(price[CPU], 1 / 6.);
	assert_near(price[GPU], 2 / 3.);
	/* A class that nobody waits for costs nothing. */
	assert_near(prices(apart, 2, 2, 1, 0, price), 160);
	assert_near(price[CPU], 0.5);
	assert_near(price[GPU], 0);
	assert_near(prices(apart, 2, 8, 1, 0, price), 80);
	assert_near(price[CPU], 0);
	assert_near(price[GPU], 1);
}

static int by_ratio(const void *a, const void *b)
{
	const struct heddle_area_type *first = a, *second = b;
	double difference = first->us[GPU] * second->us[CPU] - second->us[GPU] * first->us[CPU];

	return (difference < 0) - (difference > 0);
}

/* How much longer CPUs compute than GPUs if they get this many of the types, in order. */
static double ahead_us(const struct heddle_area_type *types, size_t n, const unsigned *workers,
                       double types_moved, double *longest)
{
	double busy[2] = {0};

	for (size_t i = 0; i < n; i++) {
		double part = fmax(0, fmin(1, types_moved - i));

		if (types[i].us[CPU] <= 0 || types[i].us[GPU] <= 0)
			part = types[i].us[CPU] > 0;
		busy[CPU] += part * types[i].count * types[i].us[CPU] / workers[CPU];
		busy[GPU] += (1 - part) * types[i].count * types[i].us[GPU] / workers[GPU];
	}
	*longest = fmax(busy[CPU], busy[GPU]);
	return busy[CPU] - busy[GPU];
}

/* The primal's solution: CPUs get what they are best at until both end together. */
static double cut_us(struct heddle_area_type *types, size_t n, const unsigned *workers)
{
	double low = 0, high = n, longest;

	qsort(types, n, sizeof(*types), by_ratio);
	for (int step = 0; step < 100; step++) {
		double middle = (low + high) / 2;

		if (ahead_us(types, n, workers, middle, &longest) < 0)
			low = middle;
		else
			high = middle;
	}
	ahead_us(types, n, workers, high, &longest);
	return longest;
}

static void types_draw(struct heddle_area_type *types, size_t n, unsigned nclasses)
{
	for (size_t i = 0; i < n; i++) {
		types[i] = (struct heddle_area_type){.count = rand() % 100};
		for (unsigned k = 0; k < nclasses; k++)
			types[i].us[k] = rand() % 6 ? exp(drawn() * 7) : 0;
		/* Some are as much faster on one class as others. */
		for (unsigned k = 0; i && rand() % 4 == 0 && k < nclasses; k++)
			types[i].us[k] = types[i - 1].us[k] * 3;
		if (types[i].us[CPU] <= 0 && types[i].us[GPU] <= 0)
			types[i].us[CPU] = 1;
	}
}

static void test_area_against_the_primal(void **state)
{
	struct heddle_area_type types[NTYPES];
	double price[HEDDLE_POOL_CLASSES];

	for (int round = 0; round < 2000; round++) {
		unsigned workers[] = {1 + rand() % 30, 1 + rand() % 4};
		size_t n = 1 + rand() % NTYPES;
		double bound, least;

		types_draw(types, n, 2);
		bound = prices(types, n, workers[CPU], workers[GPU], 0, price);
		least = cut_us(types, n, workers);
		if (fabs(bound - least) > 1e-6 * least)
			fail_msg("round %d: bound %g, possible %g", round, bound, least);
		assert_near(workers[CPU] * price[CPU] + workers[GPU] * price[GPU], 1);
	}
}

/* The dual's value at some prices. */
static double dual_us(const struct heddle_area_type *types, size_t n, const double *price)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		double least = INFINITY;

		for (unsigned k = 0; k < NCLASSES; k++)
			if (types[i].us[k] > 0)
				least = fmin(least, price[k] * types[i].us[k]);
		sum += types[i].count * least;
	}
	return sum;
}

/* A schedule of tasks that are cut: each piece goes where it ends first. */
static double greedy_us(const struct heddle_area_type *types, size_t n, const unsigned *workers)
{
	double busy[NCLASSES] = {0}, longest = 0;

	for (size_t i = 0; i < n; i++)
		for (int piece = 0; piece < 50; piece++) {
			double end = INFINITY;
			unsigned best = 0;

			for (unsigned k = 0; k < NCLASSES; k++) {
				double us = types[i].count / 50 * types[i].us[k] / workers[k];

				if (types[i].us[k] <= 0 || busy[k] + us >= end)
					continue;
				end = busy[k] + us;
				best = k;
			}
			busy[best] = end;
			longest = fmax(longest, end);
		}
	return longest;
}

static double random_prices_us(const struct heddle_area_type *types, size_t n,
                               const unsigned *workers)
{
	double best = 0;

	for (int try = 0; try < 1000; try++) {
		double price[NCLASSES], sum = 0;

		for (unsigned k = 0; k < NCLASSES; k++) {
			price[k] = exp(drawn() * 10);
			sum += workers[k] * price[k];
		}
		for (unsigned k = 0; k < NCLASSES; k++)
			price[k] /= sum;
		best = fmax(best, dual_us(types, n, price));
	}
	return best;
}

/* Of more than two classes the first bound may be too low by far; later ones are near. */
static void test_area_of_three_classes(void **state)
{
	struct heddle_area_type types[NTYPES];
	double price[HEDDLE_POOL_CLASSES];

	for (int round = 0; round < 500; round++) {
		unsigned workers[HEDDLE_POOL_CLASSES] = {1 + rand() % 30, 1 + rand() % 4,
		                                         1 + rand() % 2};
		size_t n = 1 + rand() % NTYPES;
		double bound, again = 0, tried;

		types_draw(types, n, NCLASSES);
		bound = prices(types, n, workers[CPU], workers[GPU], workers[FPGA], price);
		tried = random_prices_us(types, n, workers);
		if (bound < 0.6 * tried)
			fail_msg("round %d: bound %g, random prices %g", round, bound, tried);
		/* Prices are a good start for the next ones. */
		for (int call = 0; call < 10; call++)
			again = heddle_area_prices(types, n, workers, price);
		assert_true(again >= bound * (1 - 1e-3));
		if (again < 0.9 * tried)
			fail_msg("round %d: later %g, random prices %g", round, again, tried);
		assert_near(again, dual_us(types, n, price));
		assert_true(again <= greedy_us(types, n, workers) * (1 + 1e-9));
	}
}

static void test_area_interval(void **state)
{
	const struct heddle_area_type types[] = {
	    {100, {1000, 10}}, {50, {-1, 30}}, {0, {-1, -1}}, {1, {-1, -1}}};

	assert_near(heddle_area_interval_us(types, 3, 3000), 20);
	assert_true(isinf(heddle_area_interval_us(types, 4, 3000)));
	assert_true(isinf(heddle_area_interval_us(types, 0, 0)));
	assert_true(isinf(heddle_area_interval_us(types + 2, 1, 0)));
}

static void test_area_help(void **state)
{
	const struct heddle_area_type types[] = {{100, {1000, 10}}, {10, {0, 30}}, {7, {50, 0}}};
	const struct heddle_area_type unknown[] = {{100, {1000, 10}}, {100, {-1, 10}}};
	const struct heddle_area_type alone[] = {{7, {50, 0}}};
	const struct heddle_area_type first[] = {{100, {50, -1}}, {10, {-1, -1}}};
	const unsigned workers[HEDDLE_POOL_CLASSES] = {[CPU] = 10, [GPU] = 1};
	const double none[HEDDLE_POOL_CLASSES] = {0}, gap[HEDDLE_POOL_CLASSES] = {[GPU] = 90};
	double us = heddle_area_help_us(types, 2, workers, none, CPU);

	/* Without cores 1300 us. With them the GPU does x of the first type: 300 + 10 x, and cores
	 * (100 - x) 100. */
	assert_near(us, (1300 - (300 + 10 * 9700. / 110)) / 110);
	/* What cores alone can do keeps them for 35 us. */
	assert_near(heddle_area_help_us(types, 3, workers, none, CPU),
	            (1300 - (300 + 10 * 9735. / 110)) / 110);
	/* With a gap the GPU is no faster than ten cores: 10000 against half of it. */
	assert_near(heddle_area_help_us(types, 1, workers, gap, CPU), (10000 - 5000) / 100.);
	/* Ten cores as fast as the GPU do the second type, and nine parts in ten of what is left.
	 */
	us = heddle_area_help_us(unknown, 2, workers, none, CPU);
	assert_true(us > 5 && us < 9);
	assert_near(heddle_area_help_us(alone, 1, workers, none, CPU), 0);
	/* What the GPU takes is not known yet, of any type: cores may be all that there is. */
	assert_true(isinf(heddle_area_help_us(first, 2, workers, none, CPU)));
	assert_near(heddle_area_help_us(first + 1, 1, workers, none, CPU), 0);
	assert_near(heddle_area_help_us(types, 0, workers, none, CPU), 0);
}

/* ---- graph ---- */

struct task {
	struct task **after; /* that depend on it */
	size_t n;
	double us[2];
	unsigned long type;
	double known_us; /* of the reference; below 0: none */
};

static struct heddle_graph *graph;
static size_t looks;

static size_t task_successors(void *task, size_t room, void **found)
{
	const struct task *looked = task;
	size_t n = looked->n < room ? looked->n : room;

	if (n)
		memcpy(found, looked->after, n * sizeof(*found));
	return n;
}

static unsigned long task_times(void *task, double us[HEDDLE_POOL_CLASSES], void *arg)
{
	const struct task *looked = task;

	looks++;
	memcpy(us, looked->us, sizeof(looked->us));
	return looked->type;
}

static bool always_long, long_visits; /* all visits end at once; one look in three ends one */

static bool visit_is_long(void *arg)
{
	return always_long || (long_visits && rand() % 3 == 0);
}

static int graph_begin(void **state)
{
	const struct heddle_graph_source source = {task_successors, task_times, visit_is_long,
	                                           NULL};

	looks = 0;
	return heddle_graph_create(&source, &graph);
}

static int graph_end(void **state)
{
	heddle_graph_destroy(graph);
	return 0;
}

static void link_tasks(struct task *before, struct task *after)
{
	before->after = realloc(before->after, (before->n + 1) * sizeof(*before->after));
	assert_non_null(before->after);
	before->after[before->n++] = after;
}

static void chain_tasks(struct task *tasks, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		link_tasks(&tasks[i - 1], &tasks[i]);
}

static struct task *tasks_new(size_t n, double us)
{
	struct task *tasks = calloc(n, sizeof(*tasks));

	assert_non_null(tasks);
	for (size_t i = 0; i < n; i++) {
		tasks[i].us[CPU] = us;
		tasks[i].type = 1;
	}
	return tasks;
}

static void tasks_free(struct task *tasks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(tasks[i].after);
	free(tasks);
}

/* How many there are of the type that takes so long on a CPU. */
static double counted(double us)
{
	const struct heddle_area_type *types;
	size_t n = heddle_graph_types(graph, &types);
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += types[i].us[CPU] == us ? types[i].count : 0;
	return sum;
}

static void test_graph_chain(void **state)
{
	struct task *tasks = tasks_new(5000, 3);

	chain_tasks(tasks, 1, 5000);
	assert_near(heddle_graph_after_us(graph, tasks, 5000), 4999 * 3);
	assert_near(heddle_graph_after_us(graph, tasks + 4999, 5000), 0);
	assert_near(heddle_graph_after_us(graph, tasks + 4000, 5000), 999 * 3);
	assert_int_equal(looks, 5000);
	assert_near(counted(3), 5000);
	/* However much the graph has grown, a question visits few tasks anew. */
	heddle_graph_after_us(graph, tasks, 50000);
	assert_true(looks > 5000 && looks <= 5000 + 2 * 4);
	tasks_free(tasks, 5000);
}

/* Each task counts with its shortest time; one without times does not. */
static void test_graph_diamond(void **state)
{
	struct task *tasks = tasks_new(5, 10);

	for (int i = 1; i <= 3; i++) {
		link_tasks(&tasks[0], &tasks[i]);
		link_tasks(&tasks[i], &tasks[4]);
	}
	tasks[1].us[GPU] = 2;
	tasks[2].us[CPU] = 0;
	tasks[2].us[GPU] = 7;
	tasks[3].us[CPU] = 0;
	for (int i = 1; i <= 3; i++)
		tasks[i].type = 1 + i;
	tasks[3].type = 0;
	assert_near(heddle_graph_after_us(graph, tasks, 5), 17);
	assert_int_equal(looks, 5);
	assert_near(counted(10), 3);
	tasks_free(tasks, 5);
}

static void test_graph_fan(void **state)
{
	enum { WIDE = 5000 };
	struct task *tasks = tasks_new(WIDE + 2, 1);

	for (int i = 2; i < WIDE + 2; i++) {
		link_tasks(&tasks[1], &tasks[i]);
		tasks[i].us[CPU] = i;
	}
	link_tasks(&tasks[0], &tasks[1]);
	assert_near(heddle_graph_after_us(graph, tasks, WIDE + 2), WIDE + 2);
	assert_near(heddle_graph_after_us(graph, tasks + 1, WIDE + 2), WIDE + 1);
	tasks_free(tasks, WIDE + 2);
}

static void test_graph_started_tasks_do_not_count(void **state)
{
	struct task *tasks = tasks_new(300, 3);

	heddle_graph_started(graph, tasks);
	chain_tasks(tasks, 1, 300);
	heddle_graph_after_us(graph, tasks, 300);
	for (int i = 0; i < 200; i++) {
		heddle_graph_started(graph, &tasks[i]);
		heddle_graph_started(graph, &tasks[i]);
		assert_near(counted(3), 299 - i);
	}
	for (int i = 200; i < 300; i++)
		assert_near(heddle_graph_after_us(graph, &tasks[i], 300), 3 * (299 - i));
	/* Another task at the same address. */
	tasks[0].n = 0;
	tasks[0].us[CPU] = 8;
	tasks[0].type = 2;
	link_tasks(&tasks[0], &tasks[298]);
	assert_near(heddle_graph_after_us(graph, tasks, 301), 6);
	assert_near(counted(8), 1);
	assert_near(counted(3), 100);
	tasks_free(tasks, 300);
}

/* Past the last type tasks are not counted. Their times still are. */
static void test_graph_types(void **state)
{
	enum { MANY = HEDDLE_GRAPH_TYPES + 10 };
	struct task *tasks = tasks_new(MANY, 1);
	const struct heddle_area_type *types;

	chain_tasks(tasks, 1, MANY);
	for (int i = 0; i < MANY; i++)
		tasks[i].type = 1 + i;
	assert_near(heddle_graph_after_us(graph, tasks, MANY), MANY - 1);
	assert_int_equal(heddle_graph_types(graph, &types), HEDDLE_GRAPH_TYPES);
	assert_near(counted(1), HEDDLE_GRAPH_TYPES);
	for (int i = 0; i < MANY; i++)
		heddle_graph_started(graph, &tasks[i]);
	assert_near(counted(1), 0);
	tasks_free(tasks, MANY);
}

/* The place of a type of which no task is left goes to another one. */
static void test_graph_types_come_and_go(void **state)
{
	enum { MANY = 3 * HEDDLE_GRAPH_TYPES };
	struct task *tasks = tasks_new(MANY, 1);

	for (int i = 0; i < MANY; i++) {
		tasks[i].type = 1 + i;
		heddle_graph_after_us(graph, &tasks[i], MANY);
		if (i < 2)
			continue;
		assert_near(counted(1), 3);
		heddle_graph_started(graph, &tasks[i - 2]);
	}
	tasks_free(tasks, MANY);
}

/* What is new is seen when the graph has grown by a quarter, and not sooner. */
static void test_graph_grows(void **state)
{
	struct task *tasks = tasks_new(103, 1);

	for (int i = 1; i <= 100; i++)
		link_tasks(&tasks[0], &tasks[i]);
	assert_near(heddle_graph_after_us(graph, tasks, 101), 1);
	link_tasks(&tasks[100], &tasks[101]);
	link_tasks(&tasks[101], &tasks[102]);
	assert_near(heddle_graph_after_us(graph, tasks, 103), 1);
	assert_int_equal(looks, 101);
	for (int i = 1; i <= 100; i++)
		heddle_graph_after_us(graph, &tasks[i], 200);
	assert_near(heddle_graph_after_us(graph, tasks, 200), 3);
	/* Times may have become known. */
	tasks[102].us[CPU] = 5;
	tasks[102].type = 2;
	for (int i = 102; i >= 0; i--)
		heddle_graph_after_us(graph, &tasks[i], 400);
	assert_near(heddle_graph_after_us(graph, tasks, 400), 7);
	assert_near(counted(1), 102);
	assert_near(counted(5), 1);
	tasks_free(tasks, 103);
}

/* Changed times are seen, a few with each question or all. */
static void test_graph_changed(void **state)
{
	enum { N = 100 };
	struct task *tasks = tasks_new(N, 1);

	chain_tasks(tasks, 1, N);
	assert_near(heddle_graph_after_us(graph, tasks, N), N - 1);
	for (int i = 1; i < N; i++)
		tasks[i].us[CPU] = 2;
	assert_near(heddle_graph_after_us(graph, tasks, N), N - 1);
	assert_int_equal(looks, N);
	heddle_graph_changed(graph, false);
	for (int i = N; i-- > 0;) {
		size_t before = looks;

		heddle_graph_after_us(graph, &tasks[i], N);
		assert_in_range(looks - before, 0, 3);
	}
	assert_near(heddle_graph_after_us(graph, tasks, N), 2 * (N - 1));
	for (int i = 1; i < N; i++)
		tasks[i].us[CPU] = 3;
	heddle_graph_changed(graph, true);
	assert_near(heddle_graph_after_us(graph, tasks, N), 3 * (N - 1));
	tasks_free(tasks, N);
}

static double reference_us(struct task *task)
{
	if (task->known_us >= 0)
		return task->known_us;
	task->known_us = 0;
	for (size_t i = 0; i < task->n; i++) {
		const double *us = task->after[i]->us;
		double least = us[GPU] > 0 && us[GPU] < us[CPU] ? us[GPU] : us[CPU];

		task->known_us = fmax(task->known_us, least + reference_us(task->after[i]));
	}
	return task->known_us;
}

static void reference_forget(struct task *tasks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		tasks[i].known_us = -1;
}

/* A task that depends on some of those before. */
static void task_draw(struct task *tasks, size_t i)
{
	tasks[i].type = 1 + rand() % 4;
	tasks[i].us[CPU] = 2 * tasks[i].type;
	tasks[i].us[GPU] = rand() % 3;
	for (int edges = rand() % 5; i && edges; edges--)
		link_tasks(&tasks[i - 1 - rand() % (i < 40 ? i : 40)], &tasks[i]);
}

static void random_check(size_t n)
{
	struct task *tasks = tasks_new(n, 1);
	double left[5] = {0};

	for (size_t i = 0; i < n; i++)
		task_draw(tasks, i);
	reference_forget(tasks, n);
	for (size_t i = 0; i < 3 * n; i++) {
		struct task *asked = &tasks[rand() % n];

		assert_near(heddle_graph_after_us(graph, asked, n), reference_us(asked));
	}
	for (size_t i = 0; i < n; i++)
		heddle_graph_after_us(graph, &tasks[i], n);
	assert_int_equal(looks, n);
	for (size_t i = 0; i < n; i++) {
		if (i < n / 2)
			heddle_graph_started(graph, &tasks[i]);
		else
			left[tasks[i].type]++;
	}
	for (int type = 1; type <= 4; type++)
		assert_near(counted(2 * type), left[type]);
	for (size_t i = n / 2; i < n; i++)
		assert_near(heddle_graph_after_us(graph, &tasks[i], n), reference_us(&tasks[i]));
	tasks_free(tasks, n);
}

/* Visits that are cut short: later questions about one task go on, until all is known, however deep
 * the graph is. Until then the answer is too short, not too long. */
static void test_graph_cut(void **state)
{
	for (int round = 0; round < 30; round++) {
		size_t n = 1 + rand() % 700, questions = 0;
		struct task *tasks = tasks_new(n + 1, 1), *root = &tasks[n];
		double us = 0, last_us = 0;

		for (size_t i = 0; i < n; i++)
			task_draw(tasks, i);
		for (size_t i = 0; i < n; i += 1 + rand() % 100)
			link_tasks(root, &tasks[i]);
		reference_forget(tasks, n + 1);
		long_visits = true;
		while (questions++ < 10 * n + 100 && us < reference_us(root) - 1e-9) {
			us = heddle_graph_after_us(graph, root, n + 1);
			assert_true(us <= reference_us(root) + 1e-9);
			assert_true(us >= last_us - 1e-9);
			last_us = us;
		}
		long_visits = false;
		assert_near(us, reference_us(root));
		tasks_free(tasks, n + 1);
		graph_end(state);
		assert_int_equal(graph_begin(state), 0);
	}
}

/* Answers that are not whole do not make others longer. */
static void test_graph_cut_answers(void **state)
{
	struct task *tasks = tasks_new(2000, 1);

	chain_tasks(tasks, 1, 1000);
	for (size_t i = 1000; i < 2000; i++)
		link_tasks(&tasks[rand() % 999], &tasks[i]);
	assert_near(heddle_graph_after_us(graph, &tasks[900], 2000), 99);
	always_long = true;
	for (int i = 0; i < 500; i++)
		assert_true(heddle_graph_after_us(graph, &tasks[i], 2000) <= 99 + 1 + 1e-9);
	always_long = false;
	tasks_free(tasks, 2000);
}

/* Many paths lead to what has to be looked at again, and there is not enough credit for all of it:
 * each task is looked at once a question all the same. */
static void test_graph_dense(void **state)
{
	enum { KNOWN = 1000, LAYERS = 12, CUT = 100, ALL = 1 + KNOWN + 2 * LAYERS + CUT };
	struct task *tasks = tasks_new(ALL, 1), *layers = &tasks[1 + KNOWN];
	struct task *cut = &layers[2 * LAYERS];

	chain_tasks(tasks, 2, 1 + KNOWN);
	heddle_graph_after_us(graph, &tasks[1], ALL);
	chain_tasks(cut, 1, CUT);
	always_long = true;
	for (int i = 0; i < CUT; i++)
		heddle_graph_after_us(graph, &cut[i], ALL);
	always_long = false;
	/* Uses up the credit. */
	heddle_graph_changed(graph, false);
	link_tasks(tasks, &tasks[1]);
	for (int l = 0; l < LAYERS; l++)
		for (int i = 0; i < 4; i++)
			link_tasks(&layers[2 * l + i / 2],
			           l == LAYERS - 1 ? cut : &layers[2 * l + 2 + i % 2]);
	link_tasks(tasks, layers);
	looks = 0;
	heddle_graph_after_us(graph, tasks, ALL);
	assert_in_range(looks, 1, ALL);
	tasks_free(tasks, ALL);
}

/* A visit that takes long from its start on looks at the task alone, and takes what it knows. */
static void test_graph_long(void **state)
{
	struct task *tasks = tasks_new(1000, 3);

	chain_tasks(tasks, 1, 1000);
	always_long = true;
	assert_near(heddle_graph_after_us(graph, tasks, 1000), 0);
	assert_int_equal(looks, 1);
	always_long = false;
	assert_near(heddle_graph_after_us(graph, tasks, 1000), 999 * 3);
	assert_int_equal(looks, 1001);
	tasks_free(tasks, 1000);
}

static void test_graph_random(void **state)
{
	for (int round = 0; round < 30; round++) {
		random_check(1 + rand() % 700);
		graph_end(state);
		assert_int_equal(graph_begin(state), 0);
	}
}

/* While it grows, a path is never longer than it is, nor shorter than it was said to be. Visits
 * are few. Asked about the last tasks first, all are right. */
static void test_graph_random_grows(void **state)
{
	enum { N = 2000 };
	struct task *tasks = tasks_new(N, 1);
	double *said = calloc(N, sizeof(*said));
	size_t questions = 0;

	assert_non_null(said);
	for (size_t n = 1; n <= N; n++) {
		size_t i = rand() % n;
		double us;

		task_draw(tasks, n - 1);
		reference_forget(tasks, n);
		us = heddle_graph_after_us(graph, &tasks[i], n);
		assert_true(us >= said[i] && us <= reference_us(&tasks[i]));
		said[i] = us;
		questions++;
		assert_true(looks <= n + 2 * questions);
	}
	for (size_t i = N; i-- > 0;)
		assert_near(heddle_graph_after_us(graph, &tasks[i], 2 * N),
		            reference_us(&tasks[i]));
	free(said);
	tasks_free(tasks, N);
}

/* ---- plan ---- */

#define NWORKERS 4

static const double nothing_us[NWORKERS];

/* CPUs 0 and 1 in memory 0, GPUs 2 and 3 with a memory each. GPUs are dear. */
static struct heddle_plan_worker workers[NWORKERS];
static struct heddle_plan plan;

static int plan_begin(void **state)
{
	for (unsigned w = 0; w < NWORKERS; w++)
		workers[w] =
		    (struct heddle_plan_worker){w < 2 ? CPU : GPU, w < 2 ? 0 : w - 1, 0, 0};
	plan = (struct heddle_plan){
	    .end_us = 1000, .price = {0.05, 0.45}, .nworkers = NWORKERS, .workers = workers};
	return 0;
}

static struct heddle_plan_task task_of(double cpu, double gpu, double after_us)
{
	return (struct heddle_plan_task){
	    .us = {cpu, gpu}, .fetch_us = nothing_us, .after_us = after_us};
}

static void test_plan_least(void **state)
{
	struct heddle_plan_task task = task_of(0, 0, 0);

	assert_near(heddle_plan_least_us(&task), 0);
	task.us[FPGA] = 9;
	assert_near(heddle_plan_least_us(&task), 9);
	task.us[CPU] = 4;
	assert_near(heddle_plan_least_us(&task), 4);
}

/* 100 us on a CPU cost 5, 50 us on a GPU 22.5. */
static void test_plan_slack_goes_to_the_cheap(void **state)
{
	struct heddle_plan_task task = task_of(100, 50, 0);

	for (size_t i = 0; i < 4; i++)
		assert_int_equal(heddle_plan_place(&plan, &task), i % 2);
	task.after_us = 950;
	assert_int_equal(heddle_plan_place(&plan, &task), 2);
}

static void test_plan_critical_goes_to_the_fast(void **state)
{
	struct heddle_plan_task task = task_of(100, 50, 940);

	assert_int_equal(heddle_plan_place(&plan, &task), 2);
	assert_int_equal(heddle_plan_place(&plan, &task), 3);
	/* Fast ones that are busy are no help. */
	workers[2].free_us = workers[3].free_us = 500;
	assert_int_equal(heddle_plan_place(&plan, &task), 0);
}

/* The first task of the longest path is under way. Meanwhile there is time for others: the area
 * bound alone would have them run where they end first. */
static void test_plan_path_under_way(void **state)
{
	struct heddle_plan_task first = task_of(0, 200, 800), other = task_of(100, 50, 0);

	heddle_plan_begin(&plan, 0, 30);
	assert_int_equal(heddle_plan_place(&plan, &first), 2);
	heddle_plan_begin(&plan, 100, 30);
	assert_near(plan.end_us, 130);
	heddle_plan_see(&plan, workers[2].free_us, first.after_us);
	assert_near(plan.end_us, 1000);
	heddle_plan_see(&plan, 150, 0);
	assert_near(plan.end_us, 1000);
	assert_int_equal(heddle_plan_place(&plan, &other), 0);
	heddle_plan_begin(&plan, 100, 30);
	assert_int_equal(heddle_plan_place(&plan, &other), 3);
}

/* The second GPU is faster with this type. */
static void test_plan_uneven_workers(void **state)
{
	const double pace[NWORKERS] = {1, 1, 1.5, 0.5};
	struct heddle_plan_task task = task_of(0, 10, 990);

	task.pace = pace;
	assert_int_equal(heddle_plan_place(&plan, &task), 3);
	assert_near(workers[3].free_us, 5);
	assert_int_equal(heddle_plan_place(&plan, &task), 3);
	assert_near(workers[3].begin_us, 5);
	assert_int_equal(heddle_plan_place(&plan, &task), 2);
	assert_near(workers[2].free_us, 15);
}

static void test_plan_equal_workers_share(void **state)
{
	struct heddle_plan_task task = task_of(0, 10, 0);

	for (int i = 0; i < 10; i++)
		assert_int_equal(heddle_plan_place(&plan, &task), 2 + i % 2);
	assert_near(workers[2].free_us, 50);
	assert_near(workers[2].begin_us, 40);
	assert_near(workers[3].free_us, 50);
	assert_near(workers[0].free_us, 0);
}

static bool is_wanted(size_t worker, void *arg)
{
	return *(size_t *)arg == worker;
}

static void test_plan_who_can_run_it(void **state)
{
	struct heddle_plan_task task = task_of(0, 0, 0);
	size_t wanted;

	assert_int_equal(heddle_plan_place(&plan, &task), NWORKERS);
	task = task_of(10, 5, 0);
	task.accept = is_wanted;
	task.arg = &wanted;
	for (wanted = 0; wanted <= NWORKERS; wanted++)
		assert_int_equal(heddle_plan_place(&plan, &task), wanted);
	/* Its class cannot, though it would be accepted. */
	wanted = 2;
	task.us[GPU] = 0;
	assert_int_equal(heddle_plan_place(&plan, &task), NWORKERS);
	for (unsigned w = 0; w < NWORKERS; w++)
		assert_near(workers[w].free_us, w < 2 ? 10 : 5);
	plan.nworkers = 0;
	assert_int_equal(heddle_plan_place(&plan, &task), 0);
}

/* A transfer waits for those before, and the task for its transfer and its worker. */
static void test_plan_transfers(void **state)
{
	const double fetch_us[NWORKERS] = {0, 30, 30};
	struct heddle_plan_task task = task_of(0, 10, 0);

	plan.now_us = 5;
	task.fetch_us = fetch_us;
	assert_int_equal(heddle_plan_place(&plan, &task), 2);
	assert_near(plan.links.end_us, 35);
	assert_near(workers[2].begin_us, 35);
	assert_near(workers[2].free_us, 45);
	workers[2].free_us = 900;
	assert_int_equal(heddle_plan_place(&plan, &task), 3);
	assert_near(plan.links.end_us, 65);
	assert_near(workers[3].begin_us, 65);
	assert_near(workers[3].free_us, 75);
	/* Nothing to be transferred: the link does not matter, and stays. */
	task = task_of(10, 0, 0);
	assert_int_equal(heddle_plan_place(&plan, &task), 0);
	assert_near(workers[0].begin_us, 5);
	assert_near(plan.links.end_us, 65);
	/* A busy worker is waited for longer than the transfer. */
	task = task_of(0, 10, 0);
	task.fetch_us = fetch_us;
	workers[2].free_us = workers[3].free_us = 200;
	assert_int_equal(heddle_plan_place(&plan, &task), 2);
	assert_near(workers[2].begin_us, 200);
	assert_near(plan.links.end_us, 95);
}

/* Both classes cost the same, and there is time. Cores are busy for a while. A GPU would end the
 * task before, after a transfer: while there are enough tasks, others need the link more. */
static void test_plan_scarce(void **state)
{
	const double fetch_us[NWORKERS] = {0, 10, 10};
	struct heddle_plan_task task = task_of(90, 10, 0);

	task.fetch_us = fetch_us;
	for (int scarce = 0; scarce < 2; scarce++) {
		plan_begin(state);
		heddle_plan_begin(&plan, 0, 1000);
		assert_false(plan.scarce);
		workers[0].free_us = workers[1].free_us = 20;
		plan.scarce = scarce;
		assert_int_equal(heddle_plan_place(&plan, &task), scarce ? 2 : 0);
	}
	/* Not where it ends later: it costs the link for nothing. */
	plan_begin(state);
	plan.scarce = true;
	workers[2].free_us = workers[3].free_us = 90;
	assert_int_equal(heddle_plan_place(&plan, &task), 0);
}

/* With links of their own, memories are sent to side by side. */
static void test_plan_links(void **state)
{
	struct heddle_plan_links links = {.end_us = 5};

	assert_near(heddle_plan_transfer(&links, 10, 1, 30), 40);
	assert_near(heddle_plan_transfer(&links, 10, 2, 30), 70);
	assert_near(heddle_plan_arrival_us(&links, 10, 3, 30), 100);
	links = (struct heddle_plan_links){.width = 2};
	assert_near(heddle_plan_transfer(&links, 10, 1, 30), 40);
	assert_near(heddle_plan_transfer(&links, 10, 2, 30), 55);
	assert_near(heddle_plan_arrival_us(&links, 10, 1, 30), 70);
	assert_near(heddle_plan_arrival_us(&links, 10, HEDDLE_PLAN_NODES, 30), 70);
	assert_near(links.end_us, 40);
}

/* Asks for n transfers of 30 us at once, to each of two memories in turn; one of them has arrived
 * every so often. */
static void arrivals(struct heddle_plan_links *links, double now_us, unsigned n, double every_us)
{
	for (unsigned i = 0; i < n; i++)
		heddle_plan_transfer(links, now_us, 1 + i % 2, 30);
	for (unsigned i = 1; i <= n; i++)
		heddle_plan_arrived(links, now_us + i * every_us, now_us, 30, 4);
}

/* What arrives sooner than by one link tells that there are several. What was asked for before does
 * not. */
static void test_plan_links_measured(void **state)
{
	struct heddle_plan_links links = {0};

	arrivals(&links, 10, 12, 15);
	assert_near(links.width, 0);
	arrivals(&links, 1000, 40, 15);
	assert_near(links.width, 2);
	arrivals(&links, 10000, 40, 30);
	assert_near(links.width, 2);
	arrivals(&links, 20000, 40, 5);
	assert_near(links.width, 4);
	links = (struct heddle_plan_links){0};
	arrivals(&links, 1000, 40, 29);
	assert_near(links.width, 0);
	links = (struct heddle_plan_links){.end_us = 50, .since_us = 50};
	for (unsigned i = 0; i < 40; i++)
		heddle_plan_arrived(&links, 60, 40, 30, 4);
	assert_near(links.width, 0);
}

static void test_plan_data_near_by(void **state)
{
	const double far_us[NWORKERS] = {0, 30, 0};
	struct heddle_plan_task task = task_of(0, 10, 0);

	task.fetch_us = far_us;
	for (int i = 0; i < 3; i++)
		assert_int_equal(heddle_plan_place(&plan, &task), 3);
	assert_near(plan.links.end_us, 0);
	/* Where time is short, data go where a worker is free. */
	task.after_us = 955;
	assert_int_equal(heddle_plan_place(&plan, &task), 3);
	workers[3].free_us = 100;
	assert_int_equal(heddle_plan_place(&plan, &task), 2);
}

/* Worker 3 has the data, and is busy for 100 us. */
static size_t near_or_free(void)
{
	const double far_us[NWORKERS] = {0, 30, 0};
	struct heddle_plan_task task = task_of(0, 10, 955);

	task.fetch_us = far_us;
	plan.end_us = plan.now_us + 1000;
	plan.links.end_us = plan.now_us;
	workers[2].free_us = plan.now_us;
	workers[3].free_us = plan.now_us + 100;
	return heddle_plan_place(&plan, &task);
}

/* While the link is busy, of two GPUs the one that has the data is waited for. When the link has
 * been quiet, or has rested at times, it is not. */
static void test_plan_busy_link(void **state)
{
	assert_int_equal(near_or_free(), 2);
	for (int i = 0; i < 40; i++, plan.now_us += 5)
		heddle_plan_asked(&plan, 5);
	assert_int_equal(near_or_free(), 3);
	plan.now_us += 1000;
	assert_int_equal(near_or_free(), 2);
	for (int i = 0; i < 200; i++, plan.now_us += 10)
		heddle_plan_asked(&plan, 9);
	assert_int_equal(near_or_free(), 2);
}

/* What one plan sends, the next one knows nothing of. Notes are never wrong, only absent. */
static void test_plan_links_bind(void **state)
{
	for (plan.now_us = 0; plan.now_us < 150; plan.now_us += 10)
		heddle_plan_asked(&plan, 9);
	/* A few tell nothing. */
	assert_false(heddle_plan_links_bind(&plan));
	heddle_plan_asked(&plan, 9);
	assert_true(heddle_plan_links_bind(&plan));
	/* Three at a time travel in a third of the time. */
	plan.links.width = 3;
	assert_false(heddle_plan_links_bind(&plan));
	plan.links.width = 1;
	plan.now_us += 200;
	assert_false(heddle_plan_links_bind(&plan));
}

static void test_plan_sends_once(void **state)
{
	static char data[4 * HEDDLE_PLAN_SENT];
	size_t noted = 0;

	for (unsigned i = 0; i < 3; i++) {
		assert_false(heddle_plan_sends(&plan, &data[0], 1));
		heddle_plan_send(&plan, &data[0], 1);
		heddle_plan_send(&plan, &data[0], 63);
		heddle_plan_send(&plan, &data[0], 64);
		assert_true(heddle_plan_sends(&plan, &data[0], 1));
		assert_true(heddle_plan_sends(&plan, &data[0], 63));
		assert_false(heddle_plan_sends(&plan, &data[0], 0));
		assert_false(heddle_plan_sends(&plan, &data[0], 64));
		assert_false(heddle_plan_sends(&plan, &data[1], 1));
		heddle_plan_end(&plan);
	}
	for (size_t i = 0; i < sizeof(data); i++)
		heddle_plan_send(&plan, &data[i], i % 2);
	for (size_t i = 0; i < sizeof(data); i++) {
		noted += heddle_plan_sends(&plan, &data[i], i % 2);
		assert_false(heddle_plan_sends(&plan, &data[i], !(i % 2)));
	}
	assert_in_range(noted, HEDDLE_PLAN_SENT / 2, HEDDLE_PLAN_SENT);
}

/* Against the definition: where a task is put it runs, and no two at once. */
static void test_plan_random(void **state)
{
	for (int i = 0; i < 5000; i++) {
		double fetch_us[NWORKERS] = {0, rand() % 3 * 10, rand() % 3 * 10};
		struct heddle_plan_task task =
		    task_of(rand() % 4 * 20, rand() % 4 * 5, rand() % 1000);
		struct heddle_plan_worker before[NWORKERS];
		double link_us = plan.links.end_us, from_us;
		size_t w;

		memcpy(before, workers, sizeof(before));
		task.fetch_us = fetch_us;
		w = heddle_plan_place(&plan, &task);
		if (w == NWORKERS) {
			assert_true(task.us[CPU] == 0 && task.us[GPU] == 0);
			assert_memory_equal(before, workers, sizeof(before));
			continue;
		}
		from_us = fmax(plan.now_us, before[w].free_us);
		if (fetch_us[workers[w].node] > 0)
			from_us =
			    fmax(from_us, fmax(plan.now_us, link_us) + fetch_us[workers[w].node]);
		assert_true(task.us[workers[w].class] > 0);
		assert_near(workers[w].begin_us, from_us);
		assert_near(workers[w].free_us, from_us + task.us[workers[w].class]);
		assert_true(fetch_us[workers[w].node] > 0 ? plan.links.end_us <= from_us
		                                          : plan.links.end_us == link_us);
		plan.now_us += rand() % 5;
		plan.end_us = plan.now_us + 1000;
	}
}

/* ---- tasks that may run in any order ---- */

static struct heddle_bag bag;

#define SIDE 4

/* A task of a product: a row and a column; each pair is one task. */
static void product_reads(const char *rows, const char *columns, int task,
                          struct heddle_bag_datum **reads)
{
	reads[0] = heddle_bag_find(&bag, rows + 16 * (task / SIDE));
	reads[1] = heddle_bag_find(&bag, columns + 16 * (task % SIDE));
}

/* The cheapest of the tasks that wait, once all are counted.
 * @param there bit i: row i is in the memory, bit SIDE + i: column i */
static int bag_first(unsigned waiting, unsigned there)
{
	static char rows[16 * SIDE], columns[16 * SIDE];
	struct heddle_bag_datum *reads[2];
	size_t least = SIZE_MAX;
	int first = -1;

	heddle_bag_begin(&bag);
	for (int t = 0; t < SIDE * SIDE; t++) {
		if (!(waiting >> t & 1))
			continue;
		product_reads(rows, columns, t, reads);
		reads[0]->bytes = there >> t / SIDE & 1 ? 0 : 1200;
		reads[1]->bytes = there >> (SIDE + t % SIDE) & 1 ? 0 : 1200;
		reads[0]->uses++;
		reads[1]->uses++;
	}
	for (int t = 0; t < SIDE * SIDE; t++)
		if (waiting >> t & 1) {
			product_reads(rows, columns, t, reads);
			heddle_bag_open(reads, 2);
		}
	for (int t = 0; t < SIDE * SIDE; t++) {
		size_t cost;

		if (!(waiting >> t & 1))
			continue;
		product_reads(rows, columns, t, reads);
		cost = heddle_bag_cost(reads, 2);
		if (cost < least) {
			least = cost;
			first = t;
		}
	}
	return first;
}

static void test_bag_of_a_product(void **state)
{
	unsigned all = (1u << SIDE * SIDE) - 1;

	/* Nothing is there: what most tasks read. */
	assert_int_equal(bag_first(all, 0), 0);
	assert_int_equal(bag_first(all & ~1u, 0), SIDE + 1);
	/* Row 0 and column 0: any other row or column opens one task. */
	assert_int_equal(bag_first(all & ~1u, 1 | 1 << SIDE), 1);
	/* Rows 0 and 1, column 0: a column opens two tasks, a row one. */
	assert_int_equal(bag_first(all & ~(1u | 1u << SIDE), 3 | 1 << SIDE), 1);
	/* … and where those of row 0 are gone, column 3 opens as many as rows 2 and 3. */
	assert_int_equal(
	    bag_first(1u << (SIDE + 3) | 1u << 2 * SIDE | 1u << 2 * SIDE | 1u << 3 * SIDE,
	              3 | 1 << SIDE),
	    SIDE + 3);
	/* What misses nothing comes first. */
	assert_int_equal(bag_first(all, 1 << 3 | 1 << (SIDE + 2)), 3 * SIDE + 2);
}

static void test_bag_of_private_data(void **state)
{
	static char data[32];
	struct heddle_bag_datum *shared, *own, *both[2];

	heddle_bag_begin(&bag);
	shared = heddle_bag_find(&bag, data);
	own = heddle_bag_find(&bag, data + 16);
	assert_ptr_equal(heddle_bag_find(&bag, data), shared);
	assert_int_equal(shared->uses, 0);
	shared->bytes = own->bytes = 600;
	shared->uses = 2;
	own->uses = 1;
	both[0] = own;
	both[1] = shared;
	/* What nobody else reads keeps a task from nothing. */
	heddle_bag_open(both, 2);
	assert_int_equal(shared->opens, 1);
	assert_int_equal(own->opens, 0);
	assert_int_equal(heddle_bag_cost(both, 2), 600 + 600 / (2 + 4));
	heddle_bag_begin(&bag);
	assert_int_equal(heddle_bag_find(&bag, data)->uses, 0);
}

static void test_bag_full(void **state)
{
	static char data[16 * 4 * HEDDLE_BAG_DATA];
	size_t found = 0;

	heddle_bag_begin(&bag);
	for (size_t i = 0; i < 4 * HEDDLE_BAG_DATA; i++)
		found += heddle_bag_find(&bag, data + 16 * i) != NULL;
	assert_in_range(found, HEDDLE_BAG_DATA / 2, HEDDLE_BAG_DATA);
}

int main(void)
{
#define AREA(name) cmocka_unit_test(test_area_##name)
#define GRAPH(name) cmocka_unit_test_setup_teardown(test_graph_##name, graph_begin, graph_end)
#define PLAN(name) cmocka_unit_test_setup(test_plan_##name, plan_begin)
	const struct CMUnitTest tests[] = {
	    AREA(of_one_class),
	    AREA(of_two_classes),
	    AREA(against_the_primal),
	    AREA(of_three_classes),
	    AREA(help),
	    AREA(interval),
	    GRAPH(chain),
	    GRAPH(diamond),
	    GRAPH(fan),
	    GRAPH(started_tasks_do_not_count),
	    GRAPH(types),
	    GRAPH(types_come_and_go),
	    GRAPH(grows),
	    GRAPH(changed),
	    GRAPH(random),
	    GRAPH(random_grows),
	    GRAPH(cut),
	    GRAPH(cut_answers),
	    GRAPH(dense),
	    GRAPH(long),
	    PLAN(least),
	    PLAN(slack_goes_to_the_cheap),
	    PLAN(critical_goes_to_the_fast),
	    PLAN(path_under_way),
	    PLAN(uneven_workers),
	    PLAN(equal_workers_share),
	    PLAN(who_can_run_it),
	    PLAN(transfers),
	    PLAN(scarce),
	    PLAN(links),
	    PLAN(links_measured),
	    PLAN(data_near_by),
	    PLAN(busy_link),
	    PLAN(links_bind),
	    PLAN(sends_once),
	    PLAN(random),
	    cmocka_unit_test(test_bag_of_a_product),
	    cmocka_unit_test(test_bag_of_private_data),
	    cmocka_unit_test(test_bag_full),
	};
	unsigned seed = test_seed();

	srand(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
