/* Tasks that say what their time depends on, under any policy:
 *
 *   STARPU_SCHED=dmda ./estimate     StarPU's policy, placing by Heddle's estimates
 *   STARPU_SCHED=ddwrr ./estimate    one of Heddle's
 *
 * A second run knows from the first one's profile what tasks cost:
 *
 *   heddle estimate show polynomial
 */
#include <stdio.h>
#include <heddle/heddle.h>

#define TASKS 100
#define POINTS 10000

/* The values of a polynomial: the time depends on its degree, which no size of
 * data tells. */
static void polynomial_cpu(void *buffers[], void *arg)
{
	float *x = (float *)STARPU_VECTOR_GET_PTR(buffers[0]);

	for (unsigned i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) {
		float sum = 0;

		for (unsigned degree = *(unsigned *)arg; degree > 0; degree--)
			sum = sum * x[i] + 1 / (float)degree;
		x[i] = sum;
	}
}

static struct starpu_perfmodel model = HEDDLE_ESTIMATE_MODEL("polynomial");
/* .cuda_funcs and .opencl_funcs beside .cpu_funcs bring in accelerators. */
static struct starpu_codelet polynomial = {
    .cpu_funcs = {polynomial_cpu},
    .model = &model,
    .nbuffers = 1,
    .modes = {STARPU_RW},
    .name = "polynomial",
};

static struct starpu_task *task_make(starpu_data_handle_t handle, unsigned *degree)
{
	struct starpu_task *task = starpu_task_create();
	struct heddle_param params[] = {
	    {"degree", *degree, NULL},
	    {"points", POINTS, NULL},
	    {"precision", 0, "single"}, /* a word out of several */
	};

	task->cl = &polynomial;
	task->handles[0] = handle;
	task->cl_arg = degree;
	task->cl_arg_size = sizeof(*degree);
	if (heddle_task_params(task, params, 3))
		fprintf(stderr, "going on without parameters\n");
	return task;
}

int main(void)
{
	static float x[TASKS][POINTS];
	static unsigned degrees[TASKS];
	starpu_data_handle_t handles[TASKS];
	struct heddle_estimate estimate;
	struct starpu_task *task;
	int core;

	if (starpu_init(NULL))
		return 77;
	core = starpu_worker_get_by_type(STARPU_CPU_WORKER, 0);
	for (int i = 0; i < TASKS; i++) {
		degrees[i] = 1 << i % 8;
		starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)x[i], POINTS,
		                            sizeof(float));
		if (starpu_task_submit(task_make(handles[i], &degrees[i])))
			return 77;
	}
	starpu_task_wait_for_all();

	/* The estimates of now. Such a task need not be submitted. */
	for (int i = 0; i < 8; i++) {
		task = task_make(handles[i], &degrees[i]);
		if (!heddle_estimate_task(task, core, &estimate))
			printf("degree %3u: %8.1f us on worker %d, from %s\n", degrees[i],
			       estimate.us, core, heddle_estimate_source_name(estimate.source));
		task->destroy = 0;
		starpu_task_destroy(task);
	}
	for (int i = 0; i < TASKS; i++)
		starpu_data_unregister(handles[i]);
	starpu_shutdown();
	return 0;
}
