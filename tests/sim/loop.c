/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A loop on a simulated machine: loop STRATEGY N [late] [rising] [slow]
 * [own|copied|estimates|choosy] [sums] prints what it did, all times in simulated microseconds.
 * With `late` it need not wait for an accelerator that is. With `rising` the last iteration takes
 * twice the mean, the first one nothing, and policies know the mean. With `slow` a policy takes 50
 * us to decide on a block. With `own` the codelet's model is a user's: a nanosecond for each number
 * of a block's input, on a GPU an eighth. With `copied` it is a user's, too, and has the machine's
 * function. With `estimates` StarPU's policies know what the estimator does; with `choosy` cores
 * refuse parts of the loop, too. With `sums` all blocks share their arrays. Run by scripts under
 * `heddle simulate`.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>
#include <heddle/heddle.h>

#include "estimator/platform_starpu.h"

static void never(void *buffers[], void *arg)
{
	abort(); /* kernels do not run under SimGrid */
}

static struct starpu_codelet codelet = {
    .name = "simulated",
    .cpu_funcs = {never},
    .cuda_funcs = {never},
    .cuda_flags = {STARPU_CUDA_ASYNC},
    .model = &heddle_platform_model,
};

static double own_us(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned n)
{
	size_t numbers = starpu_vector_get_nx(STARPU_TASK_GET_HANDLE(task, 0));

	return numbers / (arch->devices[0].type == STARPU_CPU_WORKER ? 1e3 : 8e3);
}

static struct starpu_perfmodel own = {
    .type = STARPU_PER_ARCH, .symbol = "heddle_test_own", .arch_cost_function = own_us};

static struct starpu_perfmodel copied = {.type = STARPU_PER_ARCH, .symbol = "heddle_test_copied"};

static bool rising, slow;

/* SimGrid asks for the time of a task that runs, policies for that of one to come. */
static double rising_us(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned n)
{
	double us = heddle_platform_model.arch_cost_function(task, arch, n);
	const struct heddle_block *block = task->cl_arg;

	if (task->status == STARPU_TASK_RUNNING && rising)
		us *= (2. * block->start + block->n) / block->total;
	return us;
}

static struct starpu_perfmodel risen = {
    .type = STARPU_PER_ARCH, .symbol = "heddle_test_risen", .arch_cost_function = rising_us};

static double learned_us(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned n)
{
	if (task->status == STARPU_TASK_RUNNING)
		return rising_us(task, arch, n);
	/* Policies ask for each worker. There is one GPU. */
	if (slow && arch->devices[0].type != STARPU_CPU_WORKER)
		starpu_sleep(50e-6);
	return heddle_estimate_cost(task, arch, n);
}

static struct starpu_perfmodel learned = {
    .type = STARPU_PER_ARCH, .symbol = "heddle_test_learned", .arch_cost_function = learned_us};

static int choosy(unsigned worker, struct starpu_task *task, unsigned implementation)
{
	const struct heddle_block *block = task->cl_arg;

	return starpu_worker_get_type(worker) != STARPU_CPU_WORKER || block->n == block->total;
}

static void add(void *into, const void *from, size_t bytes, void *arg)
{
}

static void print_stats(const struct heddle_loop *loop, const struct heddle_loop_stats *stats)
{
	const struct heddle_platform *platform = heddle_platform_current();
	double first = stats->us, last = 0;
	size_t iterations = 0;

	for (unsigned w = 0; w < stats->nworkers; w++) {
		const struct heddle_worker_stats *worker = &stats->workers[w];

		printf("%s %zu iterations %zu blocks finish %.6f us\n",
		       heddle_kind_name(worker->kind), worker->iterations, worker->blocks,
		       worker->finish_us);
		iterations += worker->iterations;
		first = worker->finish_us < first ? worker->finish_us : first;
		last = worker->finish_us > last ? worker->finish_us : last;
	}
	printf("iterations %zu blocks %zu makespan %.6f us efficiency %.4f spread %.4f learning "
	       "%.6f us\n",
	       iterations, stats->blocks, stats->us,
	       heddle_platform_ideal_us(platform, loop->n, 1, ~0u) / stats->us,
	       (last - first) / stats->us, stats->learning_us);
	if (loop->late)
		printf("late %zu blocks\n", stats->late);
}

int main(int argc, char **argv)
{
	struct heddle_loop loop = {.codelet = &codelet, .naccesses = 2};
	struct heddle_loop_stats stats;
	starpu_data_handle_t in, out;
	size_t length;
	bool sums;
	int status;

	if (argc < 3)
		return 2;
	sums = !strcmp(argv[argc - 1], "sums");
	argc -= sums;
	for (int i = 3; i < argc; i++)
		if (!strcmp(argv[i], "late"))
			loop.late = true;
		else if (!strcmp(argv[i], "rising"))
			codelet.model = &risen, rising = true;
		else if (!strcmp(argv[i], "slow"))
			slow = true;
		else if (!strcmp(argv[i], "estimates") || !strcmp(argv[i], "choosy")) {
			/* Asynchronous kernels end when they begin: their times are not measured.
			 */
			codelet.model = &learned, codelet.cuda_flags[0] = 0;
			codelet.can_execute = strcmp(argv[i], "choosy") ? NULL : choosy;
		} else
			codelet.model = strcmp(argv[i], "own") ? &copied : &own;
	copied.arch_cost_function = heddle_platform_model.arch_cost_function;
	loop.strategy = argv[1];
	loop.n = strtoull(argv[2], NULL, 10);
	length = sums ? 100 : loop.n;
	if (starpu_init(NULL))
		return 77;
	/* Nobody ever touches the arrays. */
	starpu_vector_data_register(&in, STARPU_MAIN_RAM, (uintptr_t)malloc(4 * length), length, 4);
	starpu_vector_data_register(&out, STARPU_MAIN_RAM, (uintptr_t)malloc(4 * length), length,
	                            4);
	loop.accesses[0] = (struct heddle_access){.handle = in, .mode = STARPU_R};
	loop.accesses[1] = (struct heddle_access){.handle = out, .mode = STARPU_W};
	if (sums) {
		loop.accesses[0].share = HEDDLE_WHOLE;
		loop.accesses[1] = (struct heddle_access){
		    .handle = out, .mode = STARPU_RW, .share = HEDDLE_REDUCE, .combine = add};
	}
	status = heddle_loop_run(&loop, &stats);
	if (!status)
		print_stats(&loop, &stats);
	starpu_data_unregister(in);
	starpu_data_unregister(out);
	starpu_shutdown();
	return status ? 1 : 0;
}
