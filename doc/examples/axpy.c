#include <stdio.h>
#include <heddle/heddle.h>

static void axpy_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	const float *x = (const float *)STARPU_VECTOR_GET_PTR(buffers[0]), *a = block->arg;
	float *y = (float *)STARPU_VECTOR_GET_PTR(buffers[1]);

	for (size_t i = 0; i < block->n; i++)
		y[i] += *a * x[i];
}

int main(void)
{
	/* .cuda_funcs and .opencl_funcs beside .cpu_funcs bring in accelerators. */
	static struct starpu_codelet axpy = {.cpu_funcs = {axpy_cpu}, .name = "axpy"};
	static float x[1 << 20], y[1 << 20], a = 2;
	static struct heddle_loop_stats stats;
	starpu_data_handle_t hx, hy;
	int wrong = 0;

	for (int i = 0; i < 1 << 20; i++)
		x[i] = i;
	if (starpu_init(NULL))
		return 77;
	starpu_vector_data_register(&hx, STARPU_MAIN_RAM, (uintptr_t)x, 1 << 20, sizeof(*x));
	starpu_vector_data_register(&hy, STARPU_MAIN_RAM, (uintptr_t)y, 1 << 20, sizeof(*y));
	struct heddle_loop loop = {
	    .codelet = &axpy,
	    .n = 1 << 20,
	    .arg = &a,
	    .naccesses = 2,
	    .accesses = {{.handle = hx, .mode = STARPU_R}, {.handle = hy, .mode = STARPU_RW}}};
	int status = heddle_loop_run(&loop, &stats);
	starpu_data_unregister(hx);
	starpu_data_unregister(hy);
	starpu_shutdown();
	for (int i = 0; i < 1 << 20; i++)
		wrong += y[i] != 2 * x[i];
	printf("%d wrong, %.0f us\n", wrong, stats.us);
	for (unsigned w = 0; w < stats.nworkers; w++)
		printf("%s: %zu iterations in %zu blocks\n", stats.workers[w].name,
		       stats.workers[w].iterations, stats.workers[w].blocks);
	return status || wrong;
}
