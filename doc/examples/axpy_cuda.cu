/* The loop of axpy.c on CPU cores and CUDA devices, in one file for nvcc:
 *
 *   nvcc axpy_cuda.cu -o axpy_cuda $(pkg-config --cflags --libs heddle)
 */
#include <stdio.h>
#include <heddle/heddle.h>

#define N (1 << 24)
#define THREADS 256

static void axpy_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = (const struct heddle_block *)arg;
	const float *x = (const float *)STARPU_VECTOR_GET_PTR(buffers[0]);
	const float a = *(const float *)block->arg;
	float *y = (float *)STARPU_VECTOR_GET_PTR(buffers[1]);

	for (size_t i = 0; i < block->n; i++)
		y[i] += a * x[i];
}

static __global__ void axpy_kernel(size_t n, float a, const float *x, float *y)
{
	size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;

	if (i < n)
		y[i] += a * x[i];
}

static void axpy_cuda(void *buffers[], void *arg)
{
	struct heddle_block *block = (struct heddle_block *)arg;
	const float *x = (const float *)STARPU_VECTOR_GET_PTR(buffers[0]);
	float *y = (float *)STARPU_VECTOR_GET_PTR(buffers[1]);
	unsigned blocks = (block->n + THREADS - 1) / THREADS;

	/* STARPU_CUDA_ASYNC: StarPU waits for its stream, not this function. */
	axpy_kernel<<<blocks, THREADS, 0, starpu_cuda_get_local_stream()>>>(
	    block->n, *(const float *)block->arg, x, y);
	/* After a failure another worker computes the block. */
	block->status = cudaGetLastError() == cudaSuccess ? 0 : -1;
}

int main()
{
	static struct starpu_codelet axpy;
	static struct heddle_loop_stats stats;
	static float a = 2;
	float *x, *y;
	starpu_data_handle_t hx, hy;
	struct heddle_loop loop = {};
	int wrong = 0, status;

	starpu_codelet_init(&axpy);
	axpy.cpu_funcs[0] = axpy_cpu;
	axpy.cuda_funcs[0] = axpy_cuda;
	axpy.cuda_flags[0] = STARPU_CUDA_ASYNC;
	axpy.name = "axpy";
	if (starpu_init(NULL))
		return 77;
	/* CUDA copies such memory several times faster. It is zero. */
	if (heddle_malloc((void **)&x, N * sizeof(*x)) ||
	    heddle_malloc((void **)&y, N * sizeof(*y)))
		return 1;
	for (int i = 0; i < N; i++)
		x[i] = i;
	starpu_vector_data_register(&hx, STARPU_MAIN_RAM, (uintptr_t)x, N, sizeof(*x));
	starpu_vector_data_register(&hy, STARPU_MAIN_RAM, (uintptr_t)y, N, sizeof(*y));
	loop.codelet = &axpy;
	loop.n = N;
	loop.arg = &a;
	loop.naccesses = 2;
	loop.accesses[0].handle = hx;
	loop.accesses[0].mode = STARPU_R;
	loop.accesses[1].handle = hy;
	loop.accesses[1].mode = STARPU_RW;
	status = heddle_loop_run(&loop, &stats);
	starpu_data_unregister(hx);
	starpu_data_unregister(hy);
	for (int i = 0; i < N; i++)
		wrong += y[i] != 2 * x[i];
	heddle_free(x, N * sizeof(*x));
	heddle_free(y, N * sizeof(*y));
	starpu_shutdown();
	printf("%d wrong, %.0f us\n", wrong, stats.us);
	for (unsigned w = 0; w < stats.nworkers; w++)
		printf("%s: %zu iterations in %zu blocks\n", stats.workers[w].name,
		       stats.workers[w].iterations, stats.workers[w].blocks);
	return status || wrong;
}
