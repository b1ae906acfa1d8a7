/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * kernel_stored FACTOR: multiplies an array by FACTOR, which is part of the kernel's source,
 * on all OpenCL workers, three times. Prints for each launch whether there was a dry run;
 * 1 for a wrong result, 77 without OpenCL workers.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <heddle/heddle.h>

enum { N = 1 << 16 };

static const char format[] = "__kernel void times(__global float *x)\n"
                             "{\n"
                             "	x[get_global_id(0)] *= %s;\n"
                             "}\n";

static int launch(const char *source, double factor)
{
	static float x[N];
	struct heddle_kernel kernel = {
	    .source = source,
	    .name = "times",
	    .dimensions = 1,
	    .global = {N},
	    .local = {64},
	    .narguments = 1,
	    .arguments = {{.type = HEDDLE_KERNEL_HOST, .pointer = x, .bytes = sizeof(x)}},
	    .split = HEDDLE_KERNEL_ALWAYS};
	struct heddle_kernel_stats stats;

	for (int i = 0; i < N; i++)
		x[i] = i % 100;
	if (heddle_kernel_run(&kernel, &stats))
		return 1;
	for (int i = 0; i < N; i++)
		if (x[i] != (float)(i % 100 * factor))
			return 1;
	printf("%s, %s\n", stats.profile_us > 0 ? "dry run" : "no dry run",
	       stats.predicted_us > 0 ? "predicted" : "not predicted");
	return 0;
}

int main(int argc, char **argv)
{
	char source[200];
	int failed = 0;

	if (argc != 2)
		return 2;
	if (starpu_init(NULL))
		return 77;
	if (!starpu_opencl_worker_get_count()) {
		starpu_shutdown();
		return 77;
	}
	snprintf(source, sizeof(source), format, argv[1]);
	for (int i = 0; i < 3 && !failed; i++)
		failed = launch(source, atof(argv[1]));
	heddle_kernels_unload();
	starpu_shutdown();
	/* Nothing is left for the exit to write. */
	fflush(stdout);
	_exit(failed);
}
