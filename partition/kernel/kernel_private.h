/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the files of kernel launches share.
 *
 * A launch (struct heddle_kernel_request) is a control task, which holds the data in main
 * memory; parts, tasks pinned to a worker each, which bring data to and from a device
 * themselves; and what is known of the kernel (struct kernel), which stays.
 */
#ifndef HEDDLE_KERNEL_PRIVATE_H
#define HEDDLE_KERNEL_PRIVATE_H

#include <heddle/blocks.h>
#include <heddle/kernel.h>

#ifdef HEDDLE_USE_OPENCL
#include <starpu_opencl.h>
#endif

#include "partition/kernel/index.h"
#include "partition/kernel/split.h"

struct device_memory;

/** A worker, as one kernel knows it. Only that worker's thread touches what OpenCL made;
 * the rest is the kernel's mutex's. */
struct kernel_device {
	int worker;
	bool failed;
	struct kernel_table table;
	double in_rate, out_rate; /* bytes per microsecond; 0: not known */
	struct device_memory *memory;
};

/** What stays of a kernel from launch to launch. */
struct kernel {
	struct kernel *next;
	char *source, *name, *options, *prologue;
	enum ndrange_way way;
	struct index_kernel index;
	starpu_pthread_mutex_t mutex;
	unsigned ndevices;
	struct kernel_device devices[SPLIT_MAXDEVICES];
};

/** A range of a launch on one device. */
struct part {
	struct heddle_kernel_request *request;
	struct kernel_device *device; /* NULL: the one that the policy chooses */
	size_t from, n;
	bool dry; /* a dry run: results are thrown away */
	int status;
	double start_us; /* since the launch began */
	double in_us, compute_us, out_us;
	size_t in_bytes, out_bytes;
};

struct heddle_kernel_request {
	struct heddle_kernel given;
	struct kernel *kernel;
	struct ndrange range;
	int64_t integers[HEDDLE_KERNEL_MAXARGUMENTS];
	size_t bytes[HEDDLE_KERNEL_MAXARGUMENTS]; /* of buffers */
	int same[HEDDLE_KERNEL_MAXARGUMENTS];     /* first argument with the same buffer */
	bool aliased, split;
	bool barred[SPLIT_MAXDEVICES]; /* devices that are not to take part */
	enum split_method method;
	struct kernel_device *first;  /* of the devices that may take part; NULL: all may */
	const char *strategy;         /* of blocks, instead of shares; NULL: none */
	struct heddle_blocks *blocks; /* at work */
	size_t next;                  /* first group that nobody has been given */
	bool busy[SPLIT_MAXDEVICES];  /* devices with a block under way */
	struct starpu_codelet control_codelet;
	struct starpu_task *control;
	starpu_pthread_mutex_t mutex;
	starpu_pthread_cond_t ended;
	bool done, detached, profiling;
	unsigned pending; /* parts under way */
	unsigned nlost;
	struct range_lost {
		size_t from, n;
	} lost[SPLIT_MAXDEVICES]; /* of devices that failed */
	int error;                /* of the device that failed last */
	int status;               /* of the launch */
	double start_us;
	struct heddle_kernel_stats stats;
};

/** What groups `from` to `from + n - 1` of a launch do with every argument, as far as its
 * mode allows. @return 0; -ENOMEM */
int request_uses(const struct heddle_kernel_request *request, size_t from, size_t n,
                 struct index_use *uses);

/** Computes a part on the worker that calls. @return 0 or -errno after a message */
int device_run(struct part *part);

/** Frees what a kernel has on a device. */
void device_free(struct kernel_device *device);

#endif
