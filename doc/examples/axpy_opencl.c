/* The loop of axpy.c on CPU cores and OpenCL devices. Where OpenCL has CPUs only,
 * STARPU_OPENCL_ON_CPUS=1 STARPU_NOPENCL=1 brings one in, and STARPU_NCPU leaves it cores. */
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

static void axpy_opencl(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	cl_mem x = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[0]);
	cl_mem y = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[1]);
	cl_ulong x_offset = STARPU_VECTOR_GET_OFFSET(buffers[0]);
	cl_ulong y_offset = STARPU_VECTOR_GET_OFFSET(buffers[1]);
	cl_ulong n = block->n;
	size_t local = 64, global = (block->n + local - 1) / local * local;
	int worker = starpu_worker_get_id();
	cl_kernel kernel;
	cl_command_queue queue;

	block->status = -1; /* another worker computes the block */
	if (starpu_opencl_load_kernel(&kernel, &queue, &program, "axpy",
	                              starpu_worker_get_devid(worker)))
		return;
	clSetKernelArg(kernel, 0, sizeof(float), block->arg);
	clSetKernelArg(kernel, 1, sizeof(x), &x);
	clSetKernelArg(kernel, 2, sizeof(x_offset), &x_offset);
	clSetKernelArg(kernel, 3, sizeof(y), &y);
	clSetKernelArg(kernel, 4, sizeof(y_offset), &y_offset);
	clSetKernelArg(kernel, 5, sizeof(n), &n);
	/* STARPU_OPENCL_ASYNC: StarPU waits for what is in the queue, not this function. */
	if (!clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL))
		block->status = 0;
	starpu_opencl_release_kernel(kernel);
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
