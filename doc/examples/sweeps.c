#include <stdio.h>
#include <stdlib.h>
#include <heddle/heddle.h>

/* Sweeps of a stencil over all OpenCL devices: heat flows along a rod. The data stays on the
 * devices until it is asked for. Only the elements at the borders of their parts move. */
static const char source[] =
    "__kernel void sweep(__global float *out, __global const float *in, int n)\n"
    "{\n"
    "	int i = get_global_id(0);\n"
    "	float left = i ? in[i - 1] : 0, right = i < n - 1 ? in[i + 1] : 0;\n"
    "	if (i < n) out[i] = 0.5f * in[i] + 0.25f * (left + right);\n"
    "}\n";

int main(int argc, char **argv)
{
	int n = 1 << 20, sweeps = argc > 1 ? atoi(argv[1]) : 20, status = 0;
	float *rod[2] = {calloc(n, sizeof(float)), calloc(n, sizeof(float))}, heat = 0;
	size_t bytes = n * sizeof(float);

	if (starpu_init(NULL))
		return 77;
	if (!starpu_opencl_worker_get_count()) {
		fputs(
		    "There is no OpenCL device. STARPU_OPENCL_ON_CPUS=1 takes the cores as one.\n",
		    stderr);
		starpu_shutdown();
		return 77;
	}
	rod[0][n / 3] = 1000;
	for (int s = 0; s < sweeps && !status; s++) {
		static struct heddle_kernel_stats stats;
		size_t sent = 0, fetched = 0;
		/* A group size of 0 is Heddle's choice. */
		struct heddle_kernel kernel = {
		    .source = source,
		    .name = "sweep",
		    .dimensions = 1,
		    .global = {n},
		    .narguments = 3,
		    .arguments = {{HEDDLE_KERNEL_HOST, NULL, STARPU_W, rod[1 - s % 2], bytes,
		                   .keep = true, .stay = true},
		                  {HEDDLE_KERNEL_HOST, NULL, STARPU_R, rod[s % 2], bytes,
		                   .keep = true, .stay = true},
		                  {HEDDLE_KERNEL_VALUE, .pointer = &n, .bytes = sizeof(n)}},
		    .split = HEDDLE_KERNEL_ALWAYS};

		status = heddle_kernel_run(&kernel, &stats);
		for (unsigned w = 0; w < stats.nworkers && !status; w++) {
			sent += stats.workers[w].in_bytes;
			fetched += stats.workers[w].out_bytes;
		}
		printf("sweep %d: %u workers, %.0f us, %zu bytes sent, %zu fetched\n", s,
		       stats.nworkers, stats.us, sent, fetched);
	}
	if (!status)
		status = heddle_kernels_fetch(rod[sweeps % 2], bytes);
	heddle_kernels_unload();
	starpu_shutdown();
	for (int i = 0; i < n; i++)
		heat += rod[sweeps % 2][i];
	printf("heat: %.1f of 1000\n", heat);
	free(rod[0]);
	free(rod[1]);
	return status || heat < 999 || heat > 1001;
}
