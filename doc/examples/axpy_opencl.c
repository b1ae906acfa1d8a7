/* The loop of axpy.c on CPU cores and OpenCL devices:
 *
 *   cc axpy_opencl.c -o axpy_opencl $(pkg-config --cflags --libs heddle) -lOpenCL
 *
 * Where OpenCL has CPUs only, STARPU_OPENCL_ON_CPUS=1 STARPU_NOPENCL=1 brings one in, and
 * STARPU_NCPU leaves it cores. */
#include <stdio.h>
#include <heddle/heddle.h>
#include <starpu_opencl.h>

#define N (1 << 20)

/* StarPU may give a block's data as a part of a buffer: hence the offset, in bytes. */
static const char source[] =
    "__kernel void axpy(float a, __global const float *x, ulong x_offset,\n"
    "                   __global float *y, ulong y_offset, ulong n)\n"
    "{\n"
    "        ulong i = get_global_id(0);\n"
    "        if (i < n)\n"
    "                y[y_offset / 4 + i] += a * x[x_offset / 4 + i];\n"
    "}\n";
static struct starpu_opencl_program program;

static void axpy_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	const float *x = (const float *)STARPU_VECTOR_GET_PTR(buffers[0]), *a = block->arg;
	float *y = (float *)STARPU_VECTOR_GET_PTR(buffers[1]);

	for (size_t i = 0; i < block->n; i++)
		y[i] += *a * x[i];
}

/* An array on the device; none: there is no memory for it. */
struct array {
	cl_mem memory;
	cl_ulong offset;
};

/* Computes n iterations by `items` work-items on the device of this worker. */
static int launch(const float *a, struct array x, struct array y, cl_ulong n, size_t items)
{
	size_t local = 64, global = (items + local - 1) / local * local;
	cl_kernel kernel;
	cl_command_queue queue;
	cl_int error;

	if (starpu_opencl_load_kernel(&kernel, &queue, &program, "axpy",
	                              starpu_worker_get_devid(starpu_worker_get_id())))
		return -1;
	clSetKernelArg(kernel, 0, sizeof(*a), a);
	clSetKernelArg(kernel, 1, sizeof(x.memory), &x.memory);
	clSetKernelArg(kernel, 2, sizeof(x.offset), &x.offset);
	clSetKernelArg(kernel, 3, sizeof(y.memory), &y.memory);
	clSetKernelArg(kernel, 4, sizeof(y.offset), &y.offset);
	clSetKernelArg(kernel, 5, sizeof(n), &n);
	error = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
	if (!error && !n)
		error = clFinish(queue);
	starpu_opencl_release_kernel(kernel);
	return error ? -1 : 0;
}

static void axpy_opencl(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	struct array x = {(cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[0]),
	                  STARPU_VECTOR_GET_OFFSET(buffers[0])};
	struct array y = {(cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[1]),
	                  STARPU_VECTOR_GET_OFFSET(buffers[1])};

	/* STARPU_OPENCL_ASYNC: StarPU waits for what is in the queue, not this function. If it
	 * fails, another worker computes the block. */
	block->status = launch(block->arg, x, y, block->n, block->n);
}

/* Some drivers compile at the first launch, PoCL once for few work-items and once for many. These
 * compute nothing, so that no block of the loop is timed with the compiler in it. */
static void first_launches(void *a)
{
	struct array none = {NULL, 0};

	launch(a, none, none, 0, 64);
	launch(a, none, none, 0, 1 << 17);
}

int main(void)
{
	static struct starpu_codelet axpy = {.cpu_funcs = {axpy_cpu},
	                                     .opencl_funcs = {axpy_opencl},
	                                     .opencl_flags = {STARPU_OPENCL_ASYNC},
	                                     .name = "axpy"};
	static float x[N], y[N], a = 2;
	static struct heddle_loop_stats stats;
	starpu_data_handle_t hx, hy;
	int wrong = 0;

	for (int i = 0; i < N; i++)
		x[i] = i;
	if (starpu_init(NULL))
		return 77;
	/* Compiled for every device that has a worker. */
	if (starpu_opencl_worker_get_count() &&
	    starpu_opencl_load_opencl_from_string(source, &program, NULL))
		return 1;
	if (starpu_opencl_worker_get_count())
		starpu_execute_on_each_worker(first_launches, &a, STARPU_OPENCL);
	starpu_vector_data_register(&hx, STARPU_MAIN_RAM, (uintptr_t)x, N, sizeof(*x));
	starpu_vector_data_register(&hy, STARPU_MAIN_RAM, (uintptr_t)y, N, sizeof(*y));
	struct heddle_loop loop = {
	    .codelet = &axpy,
	    .n = N,
	    .arg = &a,
	    .naccesses = 2,
	    .accesses = {{.handle = hx, .mode = STARPU_R}, {.handle = hy, .mode = STARPU_RW}}};
	int status = heddle_loop_run(&loop, &stats);
	starpu_data_unregister(hx);
	starpu_data_unregister(hy);
	if (starpu_opencl_worker_get_count())
		starpu_opencl_unload_opencl(&program);
	starpu_shutdown();
	for (int i = 0; i < N; i++)
		wrong += y[i] != 2 * x[i];
	printf("%d wrong, %.0f us\n", wrong, stats.us);
	for (unsigned w = 0; w < stats.nworkers; w++)
		printf("%s: %zu iterations in %zu blocks\n", stats.workers[w].name,
		       stats.workers[w].iterations, stats.workers[w].blocks);
	return status || wrong;
}
