/* A loop over the ranks of an MPI program:
 *
 *   cc ranks.c -o ranks $(pkg-config --cflags --libs heddle-mpi)
 *   mpirun -n 4 ./ranks
 *
 * Every rank has a block of x and y. Ranks compute their own blocks first, then help others. */
#include <stdio.h>
#include <stdlib.h>
#include <heddle/mpi.h>

#define N ((size_t)1 << 20) /* of a rank */

static void axpy_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	const float *x = (const float *)STARPU_VECTOR_GET_PTR(buffers[0]), *a = block->arg;
	float *y = (float *)STARPU_VECTOR_GET_PTR(buffers[1]);

	for (size_t i = 0; i < block->n; i++)
		y[i] += *a * x[i];
}

int main(int argc, char **argv)
{
	/* .cuda_funcs and .opencl_funcs beside .cpu_funcs bring in accelerators. */
	static struct starpu_codelet axpy = {.cpu_funcs = {axpy_cpu}, .name = "axpy"};
	static float x[N], y[N], a = 2;
	const struct heddle_mpi_place places[2] = {{.layout = HEDDLE_MPI_BLOCKS},
	                                           {.layout = HEDDLE_MPI_BLOCKS}};
	starpu_data_handle_t hx, hy;
	int level, rank, nranks, wrong = 0;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &nranks);
	for (size_t i = 0; i < N; i++)
		x[i] = i % 1000 + rank;
	if (heddle_mpi_starpu_init(NULL))
		MPI_Abort(MPI_COMM_WORLD, 77);
	starpu_vector_data_register(&hx, STARPU_MAIN_RAM, (uintptr_t)x, N, sizeof(*x));
	starpu_vector_data_register(&hy, STARPU_MAIN_RAM, (uintptr_t)y, N, sizeof(*y));
	struct heddle_loop loop = {
	    .codelet = &axpy,
	    .n = N * nranks,
	    .arg = &a,
	    .naccesses = 2,
	    .accesses = {{.handle = hx, .mode = STARPU_R}, {.handle = hy, .mode = STARPU_RW}}};
	struct heddle_mpi_rank_stats *ranks = calloc(nranks, sizeof(*ranks));
	int status = heddle_mpi_loop_run(&loop, MPI_COMM_WORLD, places, ranks, NULL);
	starpu_data_unregister(hx);
	starpu_data_unregister(hy);
	starpu_shutdown();
	for (size_t i = 0; i < N; i++)
		wrong += y[i] != 2 * x[i];
	if (!rank)
		for (int r = 0; r < nranks && !status; r++)
			printf("rank %d on %s: %zu iterations in %zu ranges\n", r, ranks[r].host,
			       ranks[r].iterations, ranks[r].ranges);
	printf("rank %d: %d wrong\n", rank, wrong);
	free(ranks);
	MPI_Finalize();
	return status || wrong;
}
