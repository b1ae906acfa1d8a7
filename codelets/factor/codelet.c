/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelets for StarPU: a task for an operation on tiles.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <starpu.h>

#include "support/message.h"
#include "codelets/codelet.h"
#include "codelets/factor/factor.h"

static struct starpu_codelet codelets[2][FACTOR_NOPS];

struct starpu_codelet *factor_codelet(enum factor_op op, bool wide)
{
	return &codelets[wide][op];
}

#ifndef HEDDLE_USE_SIMGRID

static bool is_wide(void *buffer)
{
	return STARPU_MATRIX_GET_ELEMSIZE(buffer) == sizeof(double);
}

static struct factor_tile tile_of(void *buffer)
{
	return (struct factor_tile){.at = (void *)STARPU_MATRIX_GET_PTR(buffer),
	                            .rows = STARPU_MATRIX_GET_NX(buffer),
	                            .columns = STARPU_MATRIX_GET_NY(buffer),
	                            .ld = STARPU_MATRIX_GET_LD(buffer)};
}

static void run_cpu(void *buffers[], void *arg)
{
	const struct factor_call *call = arg;
	struct factor_tile tiles[FACTOR_MAXTILES];

	for (unsigned t = 0; t < factor_ntiles(call->op); t++)
		tiles[t] = tile_of(buffers[t]);
	factor_cpu(call->op, is_wide(buffers[0]), tiles, call->broken);
}

#endif

#if defined(HEDDLE_USE_CUBLAS) || defined(HEDDLE_USE_CLBLAST)
static void note(const struct factor_call *call, int status)
{
	if (status)
		__atomic_store_n(call->status, status, __ATOMIC_RELAXED);
}
#endif

#ifdef HEDDLE_USE_CUBLAS
static void run_cuda(void *buffers[], void *arg)
{
	const struct factor_call *call = arg;
	struct factor_tile tiles[FACTOR_MAXTILES];

	for (unsigned t = 0; t < factor_ntiles(call->op); t++)
		tiles[t] = tile_of(buffers[t]);
	note(call, factor_cuda(starpu_worker_get_id_check(), starpu_cuda_get_local_stream(),
	                       call->op, is_wide(buffers[0]), tiles, call->broken));
}

static void open_cuda(void *arg)
{
	int *status = arg;

	if (factor_cuda_open(starpu_worker_get_id_check(), starpu_cuda_get_local_stream()))
		__atomic_store_n(status, -EIO, __ATOMIC_RELAXED);
}

static void close_cuda(void *arg)
{
	factor_cuda_close(starpu_worker_get_id_check());
}
#define CUDA run_cuda
#elif defined(HEDDLE_USE_SIMGRID)
#define CUDA codelet_simulated
#else
#define CUDA NULL
#endif

#ifdef HEDDLE_USE_CLBLAST
static void run_opencl(void *buffers[], void *arg)
{
	const struct factor_call *call = arg;
	bool wide = is_wide(buffers[0]);
	struct factor_tile tiles[FACTOR_MAXTILES];
	cl_command_queue queue;

	for (unsigned t = 0; t < factor_ntiles(call->op); t++) {
		tiles[t] = tile_of(buffers[t]);
		tiles[t].at = (void *)STARPU_MATRIX_GET_DEV_HANDLE(buffers[t]);
		tiles[t].offset =
		    STARPU_MATRIX_GET_OFFSET(buffers[t]) / STARPU_MATRIX_GET_ELEMSIZE(buffers[t]);
	}
	starpu_opencl_get_queue(starpu_worker_get_devid(starpu_worker_get_id_check()), &queue);
	note(call, factor_opencl(queue, call->op, wide, tiles));
}
#define OPENCL run_opencl
#elif defined(HEDDLE_USE_SIMGRID)
#define OPENCL codelet_simulated
#else
#define OPENCL NULL
#endif

/* ---- times ---- */

static const struct {
	const char *name;
	/* The model that StarPU's own examples of the factorisations calibrated on machines that
	 * StarPU ships, for single and double precision: with it, simulated runs take measured
	 * times. The footprint of the data, in their order, is what it looks up, so that tasks
	 * here have the data of those there. Elsewhere models have names of our own. */
	const char *shipped[2];
} operations[FACTOR_NOPS] = {
    [FACTOR_POTRF] = {"potrf", {"chol_model_11"}},
    [FACTOR_TRSM] = {"trsm", {"chol_model_21"}},
    [FACTOR_SYRK] = {"syrk", {"chol_model_22"}},
    [FACTOR_GEMM] = {"gemm", {"chol_model_22"}},
    [FACTOR_GETRF] = {"getrf", {"starpu_slu_lu_model_11", "starpu_dlu_lu_model_11"}},
    [FACTOR_ROW] = {"trsm_row", {"starpu_slu_lu_model_12", "starpu_dlu_lu_model_12"}},
    [FACTOR_COLUMN] = {"trsm_column", {"starpu_slu_lu_model_21", "starpu_dlu_lu_model_21"}},
    [FACTOR_UPDATE] = {"gemm_update", {"starpu_slu_lu_model_22", "starpu_dlu_lu_model_22"}},
};

#ifdef HEDDLE_USE_SIMGRID
/* Flops of an iteration of HEDDLE_PLATFORM: a rate of 1 is 1 Gflop/s. */
#define ITERATION 1000

/* What remains of an accelerator's speed for other operations than the product of matrices;
 * roughly that of mirage's, of StarPU's machines. */
static const double speeds[FACTOR_NOPS] = {
    [FACTOR_POTRF] = 0.1, [FACTOR_TRSM] = 0.4, [FACTOR_SYRK] = 0.9,   [FACTOR_GEMM] = 1,
    [FACTOR_GETRF] = 0.1, [FACTOR_ROW] = 0.4,  [FACTOR_COLUMN] = 0.4, [FACTOR_UPDATE] = 1,
};

static bool refused[FACTOR_NOPS][STARPU_NMAXWORKERS];

bool factor_times_measured(void)
{
	return !heddle_platform_current();
}

void factor_allow(enum factor_op op, unsigned worker, bool allowed)
{
	refused[op][worker] = !allowed;
}

static int can_execute(unsigned worker, struct starpu_task *task, unsigned implementation)
{
	const struct factor_call *call = task->cl_arg;

	return !refused[call->op][worker];
}

static double simulated_us(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                           unsigned implementation)
{
	const struct heddle_platform *platform = heddle_platform_current();
	const struct factor_call *call = task->cl_arg;
	starpu_data_handle_t read = task->handles[0],
	                     written = task->handles[factor_ntiles(call->op) - 1];
	double flops = factor_flops(call->op, starpu_matrix_get_nx(written),
	                            starpu_matrix_get_ny(written), starpu_matrix_get_ny(read));
	size_t n = 1 + flops / ITERATION;
	int device = arch->devices[0].devid;

	if (arch->devices[0].type == STARPU_CPU_WORKER)
		return heddle_platform_block_us(platform, HEDDLE_PLATFORM_CORE, n, n, 0);
	if (device >= (int)platform->naccelerators)
		device = platform->naccelerators - 1;
	return heddle_platform_block_us(platform, device, n, n, 0) / speeds[call->op];
}
#endif

static void model_fill(bool wide, enum factor_op op, struct starpu_codelet *codelet)
{
	static char names[2][FACTOR_NOPS][32];
	static struct starpu_perfmodel models[2][FACTOR_NOPS];
	struct starpu_perfmodel *model = &models[wide][op];
	char *name = names[wide][op];

	snprintf(name, sizeof(names[wide][op]), "heddle_%c%s", wide ? 'd' : 's',
	         operations[op].name);
	codelet->name = name + sizeof("heddle_") - 1;
	codelet->model = model;
	model->type = STARPU_HISTORY_BASED;
	model->symbol = name;
#ifdef HEDDLE_USE_SIMGRID
	if (factor_times_measured()) {
		codelet->can_execute = can_execute;
		if (operations[op].shipped[wide])
			model->symbol = operations[op].shipped[wide];
		return;
	}
	model->type = STARPU_PER_ARCH;
	model->arch_cost_function = simulated_us;
#endif
}

static void codelet_fill(bool wide, enum factor_op op, struct starpu_codelet *codelet)
{
	unsigned n = factor_ntiles(op);

#ifdef HEDDLE_USE_SIMGRID
	codelet->cpu_funcs[0] = codelet_simulated;
#else
	codelet->cpu_funcs[0] = run_cpu;
#endif
	codelet->cuda_funcs[0] = CUDA;
	codelet->cuda_flags[0] = STARPU_CUDA_ASYNC;
	if (n > 1)
		codelet->opencl_funcs[0] = OPENCL;
	codelet->opencl_flags[0] = STARPU_OPENCL_ASYNC;
	codelet->nbuffers = n;
	for (unsigned t = 0; t + 1 < n; t++)
		codelet->modes[t] = STARPU_R;
	codelet->modes[n - 1] = STARPU_RW;
	model_fill(wide, op, codelet);
}

int factor_codelets_open(void)
{
	int status = 0;

	for (int wide = 0; wide < 2; wide++)
		for (int op = 0; op < FACTOR_NOPS; op++)
			if (!codelets[wide][op].nbuffers)
				codelet_fill(wide, op, &codelets[wide][op]);
#ifndef HEDDLE_USE_SIMGRID
	factor_cpu_prepare();
#endif
#ifdef HEDDLE_USE_CUBLAS
	starpu_execute_on_each_worker(open_cuda, &status, STARPU_CUDA);
	if (status)
		heddle_warn("cuBLAS or cuSOLVER does not start on every CUDA worker");
#endif
	return status;
}

void factor_codelets_close(void)
{
#ifdef HEDDLE_USE_CUBLAS
	starpu_execute_on_each_worker(close_cuda, NULL, STARPU_CUDA);
#endif
}
