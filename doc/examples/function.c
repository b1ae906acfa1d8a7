/* A loop without a codelet: its function sees neither StarPU nor Heddle. */
#include <stdio.h>
#include <heddle/heddle.h>

#define N (1 << 20)

/* Iterations start to start + n - 1. The arrays begin with the block's own elements; of x, which
 * has a halo, also x[-1] and x[n] are there, where the loop has them. */
static int smooth(size_t start, size_t n, void *const arrays[], const void *arg)
{
	const float *x = arrays[0];
	float *y = arrays[1];

	for (size_t i = 0; i < n; i++) {
		long at = i, left = start + i > 0, right = start + i < N - 1;

		y[i] = (x[at - left] + x[at] + x[at + right]) / 3;
	}
	return 0;
}

int main(void)
{
	static float x[N], y[N];
	starpu_data_handle_t hx, hy;
	int wrong = 0;

	for (int i = 0; i < N; i++)
		x[i] = i % 3;
	if (starpu_init(NULL))
		return 77;
	starpu_vector_data_register(&hx, STARPU_MAIN_RAM, (uintptr_t)x, N, sizeof(*x));
	starpu_vector_data_register(&hy, STARPU_MAIN_RAM, (uintptr_t)y, N, sizeof(*y));
	struct heddle_loop loop = {
	    .name = "smooth",
	    .function = smooth,
	    .n = N,
	    .naccesses = 2,
	    .accesses = {{.handle = hx, .mode = STARPU_R, .share = HEDDLE_HALO, .halo = 1},
	                 {.handle = hy, .mode = STARPU_W}}};
	int status = heddle_loop_run(&loop, NULL);
	const char *message = heddle_message_take();
	starpu_data_unregister(hx);
	starpu_data_unregister(hy);
	starpu_shutdown();
	for (int i = 1; i < N - 1; i++)
		wrong += y[i] != 1;
	if (status)
		printf("failed: %s\n", message ? message : "no memory");
	else
		printf("%d wrong\n", wrong);
	return status || wrong;
}
