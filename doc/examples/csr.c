#include <stdio.h>
#include <heddle/heddle.h>

enum { ROWS = 1 << 16, SIDE = 8 };

/* y = A x for the rows of a block. starts[0] is the row before the block's first, except in the
 * first block; columns and values are those of the block. */
static void spmv_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	const unsigned *starts = (const unsigned *)STARPU_VECTOR_GET_PTR(buffers[0]);
	const int *columns = (const int *)STARPU_VECTOR_GET_PTR(buffers[1]);
	const double *values = (const double *)STARPU_VECTOR_GET_PTR(buffers[2]);
	const double *x = (const double *)STARPU_VECTOR_GET_PTR(buffers[3]);
	double *y = (double *)STARPU_VECTOR_GET_PTR(buffers[4]);

	starts += heddle_block_before(block, 1, 1);
	for (size_t i = 0; i < block->n; i++) {
		y[i] = 0;
		for (unsigned e = starts[i] - starts[0]; e < starts[i + 1] - starts[0]; e++)
			y[i] += values[e] * x[columns[e]];
	}
}

/* Row i has ones in columns i, i+1, ..., i + i % SIDE, as far as there are. */
static unsigned starts[ROWS + 1];
static int columns[ROWS * SIDE];
static double values[ROWS * SIDE], x[ROWS], y[ROWS];

static starpu_data_handle_t vector(void *data, size_t n, size_t size)
{
	starpu_data_handle_t handle;

	starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)data, n, size);
	return handle;
}

int main(void)
{
	static struct starpu_codelet spmv = {.cpu_funcs = {spmv_cpu}, .name = "spmv"};
	starpu_data_handle_t h[5];
	unsigned n = 0;
	int wrong = 0;

	for (int i = 0; i < ROWS; i++) {
		x[i] = 1;
		for (int j = i; j <= i + i % SIDE && j < ROWS; j++, n++) {
			columns[n] = j;
			values[n] = 1;
		}
		starts[i + 1] = n;
	}
	if (starpu_init(NULL))
		return 77;
	h[0] = vector(starts, ROWS + 1, sizeof(*starts));
	h[1] = vector(columns, n, sizeof(*columns));
	h[2] = vector(values, n, sizeof(*values));
	h[3] = vector(x, ROWS, sizeof(*x));
	h[4] = vector(y, ROWS, sizeof(*y));
	struct heddle_loop loop = {
	    .codelet = &spmv,
	    .n = ROWS,
	    .naccesses = 5,
	    .accesses = {{.handle = h[0], .mode = STARPU_R, .share = HEDDLE_HALO, .halo = 1},
	                 {.handle = h[1], .mode = STARPU_R, .share = HEDDLE_INDEXED, .index = h[0]},
	                 {.handle = h[2], .mode = STARPU_R, .share = HEDDLE_INDEXED, .index = h[0]},
	                 {.handle = h[3], .mode = STARPU_R, .share = HEDDLE_WHOLE},
	                 {.handle = h[4], .mode = STARPU_W}}};
	int status = heddle_loop_run(&loop, NULL);
	for (int a = 0; a < 5; a++)
		starpu_data_unregister(h[a]);
	starpu_shutdown();
	for (int i = 0; i < ROWS; i++)
		wrong += y[i] != starts[i + 1] - starts[i];
	printf("%d wrong\n", wrong);
	return status || wrong;
}
