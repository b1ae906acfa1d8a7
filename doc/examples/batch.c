#include <stdio.h>
#include <stdlib.h>
#include <heddle/heddle.h>

/* Images of different sizes, one behind the other in one buffer, on all OpenCL devices: each gets
 * some of the images. Sizes and places are in buffers, too. A launch looks at them, so it knows
 * what each device reads and writes. */
static const char source[] =
    "__kernel void invert(__global uchar *out, __global const uchar *in,\n"
    "                     __global const int *width, __global const int *height,\n"
    "                     __global const int *first)\n"
    "{\n"
    "	int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
    "	int at = first[z] + y * width[z] + x;\n"
    "	if (x < width[z] && y < height[z]) out[at] = 255 - in[at];\n"
    "}\n";

enum { IMAGES = 16, SIDE = 512, PIXELS = IMAGES * SIDE * SIDE };

static unsigned char in[PIXELS], out[PIXELS];
static int width[IMAGES], height[IMAGES], first[IMAGES];

/* Other sizes in each batch. @return pixels of all images */
static int batch_make(int batch)
{
	int at = 0;

	for (int i = 0; i < IMAGES; i++) {
		width[i] = SIDE - (i * 37 + batch * 11) % 200;
		height[i] = SIDE - (i * 53 + batch * 29) % 200;
		first[i] = at;
		at += width[i] * height[i];
	}
	for (int i = 0; i < at; i++)
		in[i] = (i * 7 + batch) % 256;
	return at;
}

static struct heddle_kernel_argument host(void *pointer, size_t bytes,
                                          enum starpu_data_access_mode mode)
{
	return (struct heddle_kernel_argument){
	    .type = HEDDLE_KERNEL_HOST, .mode = mode, .pointer = pointer, .bytes = bytes};
}

/* @param pixels of all images @return those that are wrong */
static int batch_run(const struct heddle_kernel *kernel, int pixels)
{
	static struct heddle_kernel_stats stats;
	size_t sent = 0, fetched = 0;
	int wrong = 0;

	if (heddle_kernel_run(kernel, &stats))
		return pixels;
	for (unsigned w = 0; w < stats.nworkers; w++) {
		sent += stats.workers[w].in_bytes;
		fetched += stats.workers[w].out_bytes;
	}
	for (int i = 0; i < pixels; i++)
		wrong += out[i] != 255 - in[i];
	printf("%u workers: %d pixels, %zu bytes sent, %zu fetched, %d wrong\n", stats.nworkers,
	       pixels, sent, fetched, wrong);
	return wrong;
}

int main(void)
{
	struct heddle_kernel kernel = {.source = source,
	                               .name = "invert",
	                               .dimensions = 3,
	                               .global = {SIDE, SIDE, IMAGES},
	                               .local = {16, 4, 1},
	                               .narguments = 5,
	                               .arguments = {host(out, PIXELS, STARPU_W),
	                                             host(in, PIXELS, STARPU_R),
	                                             host(width, sizeof(width), STARPU_R),
	                                             host(height, sizeof(height), STARPU_R),
	                                             host(first, sizeof(first), STARPU_R)},
	                               .split = HEDDLE_KERNEL_ALWAYS,
	                               .method = "linear"};
	int wrong = 0;

	if (starpu_init(NULL))
		return 77;
	if (!starpu_opencl_worker_get_count()) {
		fputs(
		    "There is no OpenCL device. STARPU_OPENCL_ON_CPUS=1 takes the cores as one.\n",
		    stderr);
		starpu_shutdown();
		return 77;
	}
	for (int batch = 0; batch < 8; batch++)
		wrong += batch_run(&kernel, batch_make(batch));
	heddle_kernels_unload();
	starpu_shutdown();
	return wrong ? 1 : 0;
}
