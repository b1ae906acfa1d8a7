/* The length of the longest common subsequence of two random texts, by a wavefront.
 *
 * length(i, j) = length(i-1, j-1) + 1                    where a[i] == b[j]
 *                max(length(i-1, j), length(i, j-1))     otherwise
 *
 * The table is never stored. What a row hands down is one number a column
 * (HEDDLE_COLUMNS), what a column hands on is two numbers a row (HEDDLE_ROWS): the one to
 * the left and, since the row above has overwritten it, the one to its upper left. */
#include <stdio.h>
#include <stdlib.h>
#include <heddle/heddle.h>

#define ROWS 5000
#define COLUMNS 8000

struct left {
	int left, upper_left;
};

/* One tile: every row of the band, as many columns of it as the tile has. */
static void lcs_cpu(void *buffers[], void *arg)
{
	const struct heddle_tile *tile = arg;
	const char *a = (const char *)STARPU_VECTOR_GET_PTR(buffers[0]);
	const char *b = (const char *)STARPU_VECTOR_GET_PTR(buffers[1]);
	struct left *row = (struct left *)STARPU_VECTOR_GET_PTR(buffers[2]);
	int *above = (int *)STARPU_VECTOR_GET_PTR(buffers[3]);

	for (size_t r = 0; r < tile->rows; r++)
		for (size_t c = heddle_tile_begin(tile, r); c < heddle_tile_end(tile, r); c++) {
			int length = a[r] == b[c]             ? row[r].upper_left + 1
			             : above[c] > row[r].left ? above[c]
			                                      : row[r].left;

			row[r].upper_left = above[c];
			row[r].left = above[c] = length;
		}
}

static int lcs_sequential(const char *a, const char *b)
{
	static int above[COLUMNS];

	for (size_t i = 0; i < ROWS; i++) {
		int left = 0, upper_left = 0;

		for (size_t j = 0; j < COLUMNS; j++) {
			int up = above[j];

			left = a[i] == b[j] ? upper_left + 1 : up > left ? up : left;
			upper_left = up;
			above[j] = left;
		}
	}
	return above[COLUMNS - 1];
}

int main(void)
{
	/* .cuda_funcs and .opencl_funcs beside .cpu_funcs bring in accelerators. */
	static struct starpu_codelet lcs = {.cpu_funcs = {lcs_cpu}, .name = "lcs"};
	static char a[ROWS], b[COLUMNS];
	static struct left row[ROWS];
	static int above[COLUMNS];
	struct heddle_wavefront wavefront = {
	    .codelet = &lcs,
	    .rows = ROWS,
	    .columns = COLUMNS,
	    .nvectors = 3,
	    .vectors = {{.column = 1}, {.row = 1}, {.row = 1, .column = 1}},
	    .narrays = 4,
	    .arrays = {{.mode = STARPU_R, .extent = HEDDLE_ROWS},
	               {.mode = STARPU_R, .extent = HEDDLE_COLUMNS},
	               {.mode = STARPU_RW, .extent = HEDDLE_ROWS},
	               {.mode = STARPU_RW, .extent = HEDDLE_COLUMNS}},
	};
	struct heddle_wavefront_stats stats;
	int status;

	for (size_t i = 0; i < ROWS; i++)
		a[i] = "ACGT"[rand() % 4];
	for (size_t j = 0; j < COLUMNS; j++)
		b[j] = "ACGT"[rand() % 4];
	if (starpu_init(NULL))
		return 77;
	starpu_vector_data_register(&wavefront.arrays[0].handle, STARPU_MAIN_RAM, (uintptr_t)a,
	                            ROWS, sizeof(*a));
	starpu_vector_data_register(&wavefront.arrays[1].handle, STARPU_MAIN_RAM, (uintptr_t)b,
	                            COLUMNS, sizeof(*b));
	starpu_vector_data_register(&wavefront.arrays[2].handle, STARPU_MAIN_RAM, (uintptr_t)row,
	                            ROWS, sizeof(*row));
	starpu_vector_data_register(&wavefront.arrays[3].handle, STARPU_MAIN_RAM, (uintptr_t)above,
	                            COLUMNS, sizeof(*above));
	status = heddle_wavefront_run(&wavefront, &stats);
	for (int i = 0; i < 4; i++)
		starpu_data_unregister(wavefront.arrays[i].handle);
	starpu_shutdown();
	if (status)
		return 1;
	printf("length %d: %zu tiles of %zu columns in %zu bands, %.0f us (%.0f predicted)\n",
	       above[COLUMNS - 1], stats.tiles, stats.tile_columns, stats.bands, stats.us,
	       stats.predicted_us);
	return above[COLUMNS - 1] == lcs_sequential(a, b) ? 0 : 1;
}
