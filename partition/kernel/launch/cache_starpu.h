/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kernel cache: what stays of a kernel from launch to launch (struct kernel), of its devices,
 * and of launches that are alike (struct shape).
 */
#ifndef HEDDLE_KERNEL_CACHE_STARPU_H
#define HEDDLE_KERNEL_CACHE_STARPU_H

/* Has images and rectangles. It stands before StarPU's headers, which would choose an older
 * version. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#ifndef CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#endif

#include <heddle/strategy.h>
#include <heddle/kernel.h>

#ifdef HEDDLE_USE_OPENCL
#include <starpu_opencl.h>
#endif

#include "partition/kernel/access/analysis.h"
#include "partition/kernel/split/choice.h"
#include "partition/kernel/split/records.h"
#include "partition/kernel/split/split.h"

struct device_memory;

/** Which of SKMD's two classes a launch by the method "published" has: the one that the analysis
 * finds, or the one that is given. */
enum kernel_class { KERNEL_CLASS_FOUND, KERNEL_CLASS_CONTIGUOUS, KERNEL_CLASS_SCATTERED };

/** Integers of a launch: of its arguments, and of fields of these. */
#define KERNEL_MAXINTEGERS (HEDDLE_KERNEL_MAXARGUMENTS + INDEX_MAXFIELDS)

/** A worker, as one kernel knows it. Who has claimed the device alone touches `memory`: the
 * worker's thread, or one that launches directly. The kernel's mutex guards the rest. */
struct kernel_device {
	int worker;
	char title[64];                 /* the worker's name */
	char name[HEDDLE_PROFILE_TEXT]; /* in profiles */
	bool in_host_memory;            /* it can work on the host's arrays themselves */
	unsigned bus;                   /* devices on one take turns with their transfers */
	unsigned units;                 /* compute units */
	bool as_analysed;               /* with addresses of 64 bits */
	bool shares_bus;                /* with another one */
	struct kernel_records_known known, stored; /* now, and in the profile */
	struct kernel_costs costs;                 /* of sharing */
	/* Of its times: it has computed nothing yet in this process, only what it had to
	 * compile for, or more. */
	enum { KERNEL_UNSEEN, KERNEL_DOUBTED, KERNEL_TRUSTED } trust;
	bool claimed; /* some thread uses the memory */
	struct device_memory *memory;
};

/** What a kernel's first launch waits for beside its work. Devices compile at the same time. */
struct kernel_waits {
	double analysis_us, compilers_us, trials_us;
	bool told; /* or there is nothing to tell */
};

/** Launches of a kernel that are alike, as far as sizes and modes tell, and how they went. The
 * kernel's mutex guards all of it but the lines up to `modes`, which do not change, and `meets`. */
struct shape {
	struct shape *next;
	struct ndrange range;
	size_t bytes[HEDDLE_KERNEL_MAXARGUMENTS];
	unsigned devices; /* that may take part, a bit each */
	enum split_method method;
	enum kernel_class declared;
	int same[HEDDLE_KERNEL_MAXARGUMENTS]; /* arguments that are one array */
	uint64_t keeps; /* arguments whose data may stay, two bits each: they cost less */
	uint64_t modes; /* of all arguments, two bits each */
	unsigned users; /* launches under way */
	bool meets;     /* groups may read what others write of an array that is two arguments */
	/* What the groups touch, if the integers and the offset are these. */
	bool known;
	bool looked;           /* no access leaves its buffer, with these */
	bool asked;            /* what to look at first is known */
	uint64_t first_looked; /* arguments, a bit each */
	size_t offset[3];
	int64_t integers[KERNEL_MAXINTEGERS];
	bool scattered; /* all of the buffers cross, as in SKMD */
	struct split_bytes in, out, merge;
	struct index_use whole[HEDDLE_KERNEL_MAXARGUMENTS], half[HEDDLE_KERNEL_MAXARGUMENTS];
	struct kernel_choice choice; /* who computes */
	struct bandit chunks;        /* into how many one device's launches are cut */
	bool whole_only;             /* they cannot be cut */
	int main;                    /* worker that had most to do; -1: none yet */
};

/** What stays of a kernel from launch to launch. The cache's mutex guards `next` to `given`, the
 * kernel's own what stands behind it. The rest does not change once the kernel is made. */
struct kernel {
	struct kernel *next;
	bool making; /* its first launch finds out about it; only texts, range and way are there */
	struct {
		const char *source, *name, *options;
	} given; /* texts of the latest launch, where to look first; they may be gone */
	char *source, *name, *options, *prologue;
	char hash[KERNEL_HASH_TEXT]; /* of source, options and prologue */
	enum ndrange_way way;
	bool direct;     /* threads that submit it may launch it themselves */
	unsigned chunks; /* into so many, where launches can be cut; 0: as is fastest */
	unsigned keep;   /* HEDDLE_KERNEL_KEEP */
	unsigned ahead;  /* HEDDLE_KERNEL_AHEAD */
	double poll_us;  /* before its end is polled for */
	double wait_us;  /* HEDDLE_KERNEL_WAIT */
	struct kernel_waits waits;
	struct ndrange range; /* of the first launch; others have the same prologue */
	struct index_kernel index;
	starpu_pthread_mutex_t mutex;
	starpu_pthread_cond_t left; /* a device is not claimed any more */
	struct shape *shapes;
	unsigned changes;       /* of what is known of devices that matter for decisions */
	unsigned failed, timed; /* devices, a bit each: that failed; with a table of times */
	unsigned ndevices;
	struct kernel_device devices[SPLIT_MAXDEVICES];
};

/** The kernel of a launch. The first launch makes it, which may take as long as a compiler; others
 * of the same kernel wait for that. @return 0 or -errno after a message */
int kernel_cache_find(const struct heddle_kernel *given, const struct ndrange *range,
                      struct kernel **found);

/** Notes how long one device has taken since a time. The longest counts. */
void kernel_waited(struct kernel *kernel, double *longest_us, double since_us);

/** Frees the data that stays on a worker's device, and the buffers that all other kernels keep
 * there, where nobody uses them. @return whether there were any */
bool kernel_cache_buffers_drop(struct kernel *but, int worker);

/** Writes all profiles, and frees all kernels. No launch is under way. */
void kernel_cache_free(void);

/** A worker as a kernel knows it. @return NULL: no OpenCL worker */
struct kernel_device *kernel_device_of(struct kernel *kernel, int worker);

#endif
