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

/* Has rectangles; before StarPU's headers, which would choose an older one. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 110
#endif

#include <heddle/strategy.h>
#include <heddle/kernel.h>

#ifdef HEDDLE_USE_OPENCL
#include <starpu_opencl.h>
#endif

#include "partition/common/control_starpu.h"
#include "partition/common/task_starpu.h"
#include "partition/kernel/split/table.h"
#include "partition/kernel/access/index.h"
#include "partition/kernel/split/outcomes.h"
#include "partition/kernel/split/pieces.h"
#include "partition/kernel/split/records.h"
#include "partition/kernel/split/split.h"

struct device_memory;

/** A worker, as one kernel knows it. Only who has claimed the device touches what OpenCL made:
 * the worker's thread, or one that launches directly; the rest is the kernel's mutex's. */
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
	/* In its times: it has computed nothing yet in this process; only what it had to
	 * compile for; or more. */
	enum { KERNEL_UNSEEN, KERNEL_DOUBTED, KERNEL_TRUSTED } trust;
	bool claimed; /* some thread uses the memory */
	struct device_memory *memory;
};

/** Launches of a kernel that are alike, as far as sizes tell, and how they went. The kernel's
 * mutex guards all of it but the first lines, which stay. */
struct shape {
	struct shape *next;
	struct ndrange range;
	size_t bytes[HEDDLE_KERNEL_MAXARGUMENTS];
	unsigned devices; /* that may take part, a bit each */
	enum split_method method;
	bool aliased;
	unsigned users; /* launches under way */
	/* What the groups touch; of other integers it is found anew. */
	bool known;
	int64_t integers[HEDDLE_KERNEL_MAXARGUMENTS];
	struct split_bytes in, out, merge;
	struct index_use whole[HEDDLE_KERNEL_MAXARGUMENTS], half[HEDDLE_KERNEL_MAXARGUMENTS];
	struct outcomes outcomes; /* ways are numbers of the kernel's devices */
	struct pieces pieces;     /* of one device's launches */
	bool whole_only;          /* they cannot be cut */
	/* The best split by the tables, when these had changed so often. */
	bool cut;
	unsigned changes;
	size_t share[SPLIT_MAXDEVICES], other[SPLIT_MAXDEVICES]; /* the one in use; a candidate */
	double shared_us, other_us;                              /* predicted; INFINITY: none */
	int main; /* worker that had most to do; -1: none yet */
};

/** What stays of a kernel from launch to launch. */
struct kernel {
	struct kernel *next;
	struct {
		const char *source, *name, *options;
	} given; /* texts of the latest launch, where to look first; they may be gone */
	char *source, *name, *options, *prologue;
	char hash[33]; /* of source, options and prologue */
	enum ndrange_way way;
	bool direct;          /* threads that submit it may launch it themselves */
	unsigned pieces;      /* into so many, where launches can be cut; 0: as is fastest */
	double look_us;       /* before its end is looked for */
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

/** A range of a launch on one device. */
struct part {
	struct heddle_kernel_request *request;
	struct kernel_device *device; /* NULL: the one that the policy chooses */
	size_t from, n;
	bool dry;        /* a dry run: results are thrown away */
	bool turns;      /* others of the launch use the bus: each step is waited for */
	bool unwatched;  /* what its steps take is not asked: that costs some 30 us on a GPU */
	bool direct;     /* not on the device's worker */
	bool compiled;   /* its device had to compile for it, which says nothing of others */
	unsigned pieces; /* 1 if it is not cut */
	bool timed;      /* what they take tells into how many to cut */
	double alone_us; /* expected if nobody else computed; 0: not known */
	int status;
	double start_us; /* since the launch began */
	double in_us, compute_us, out_us, merge_us;
	size_t in_bytes, out_bytes;             /* that crossed */
	size_t in_place_bytes, out_place_bytes; /* that did not have to */
};

/** A launch. It is begun anew for each of them, so what is not needed is not touched: of arrays
 * by argument, the entries of those given count. */
struct heddle_kernel_request {
	struct kernel *kernel;
	bool aliased, split;
	unsigned barred; /* devices that are not to take part, a bit each */
	enum split_method method;
	struct kernel_device *first; /* of the devices that may take part; NULL: all may */
	struct shape *shape;         /* NULL: neither shares nor a device alone */
	unsigned way;                /* of the shape's outcomes; OUTCOMES_WAYS: none */
	bool trial;                  /* it is not the best one as far as is known */
	bool whole_known;
	/* While groups are distributed: the device whose worker does that, or, where the
	 * thread does that submitted the launch, the device that it has claimed; and the
	 * part that will be computed by this thread. */
	struct kernel_device *here;
	struct part *own;
	bool waits;            /* heddle_kernel_run(): the thread that submits waits at once */
	struct part *later;    /* a part that has to be ended by this thread; NULL: none */
	struct direct *direct; /* one that has to be by who waits or by OpenCL; NULL: none */
	const char *strategy;  /* of blocks, instead of shares; NULL: none */
	struct heddle_strategy *blocks; /* at work */
	size_t next;                    /* first group that nobody has been given */
	bool busy[SPLIT_MAXDEVICES];    /* devices with a block under way */
	bool profiling;
	unsigned pending; /* parts under way */
	bool compiled;    /* for one of them at least */
	unsigned nlost;
	int error;  /* of the device that failed last */
	int status; /* of the launch */
	double submit_us, start_us;
	/* From here on nothing is cleared. */
	starpu_pthread_mutex_t mutex;
	struct control control;
	struct ndrange range;
	struct heddle_kernel given;
	union {
		int64_t integer;
		cl_int4 vector;
	} values[HEDDLE_KERNEL_MAXARGUMENTS]; /* those that fit, aligned for any type */
	int64_t integers[HEDDLE_KERNEL_MAXARGUMENTS];
	size_t bytes[HEDDLE_KERNEL_MAXARGUMENTS]; /* of buffers; 0 */
	int same[HEDDLE_KERNEL_MAXARGUMENTS];     /* first argument with the same buffer */
	struct index_use whole[HEDDLE_KERNEL_MAXARGUMENTS]; /* the shape's, if it has them */
	struct range_lost {
		size_t from, n;
	} lost[SPLIT_MAXDEVICES];         /* of devices that failed */
	struct part room;                 /* for `own` */
	struct heddle_kernel_stats stats; /* but for its workers cleared */
};

/* ---- known_starpu.c ---- */

/** The kernel that stays, made at its first launch. @return 0 or -errno after a message */
int kernel_find(const struct heddle_kernel *given, const struct ndrange *range,
                struct kernel **found);

/** Frees the buffers that all other kernels keep on a worker's device, where they compute
 * nothing. @return whether there were any */
bool kernels_buffers_drop(const struct kernel *but, int worker);

/* ---- arguments_starpu.c ---- */

/** Takes over an argument that is given. @return 0; -EINVAL after a message; -ENOMEM */
int argument_take(struct heddle_kernel_request *request, unsigned a);
/** Frees what was taken over. */
void argument_free(struct heddle_kernel_request *request, unsigned a);
/** One array as several arguments is one buffer; arrays that overlap cannot be told apart
 * on a device. @return 0; -EINVAL after a message */
int aliases_find(struct heddle_kernel_request *request);
/** What is given against what the kernel takes. @return 0; -EINVAL after a message */
int arguments_compare(const struct heddle_kernel_request *request);

/* ---- kernel_starpu.c ---- */

/** Frees what is kept for the next launch. */
void requests_free(void);

/** Whether a launch is cut into blocks instead of shares. */
bool request_in_blocks(const struct heddle_kernel_request *request);
/** The devices of a launch of which it is not known how long they take, a bit each. */
unsigned devices_untimed(const struct heddle_kernel_request *request);
/** Whether there are none. */
bool request_profiled(const struct heddle_kernel_request *request);

/** Nothing is under way: what comes next? */
void request_step(struct heddle_kernel_request *request);

/* ---- parts_starpu.c ---- */

/** A worker as a kernel knows it; NULL: no OpenCL worker. */
struct kernel_device *device_of(struct kernel *kernel, int worker);
/** Submits a part, or keeps it for the control task that is running here. The mutex is not
 * held; the caller counts itself in `pending` meanwhile.
 * @param like request, device (NULL: the one that the policy chooses), range, dry, turns,
 * unwatched and alone_us;
 * a dry run is one of sizes up to the range's */
int part_submit(const struct part *like);
/** Computes the part that was kept for this thread, if one was. */
void part_own_run(struct heddle_kernel_request *request);
/** Makes a task of a part. @return 0; what StarPU says */
int part_task_submit(struct part *part);
/** A part is over, as its status tells: what does it teach, and what comes next? Frees it. */
void part_end(struct part *part);

/* ---- direct_starpu.c ---- */

/** Whether the thread that submits a launch may distribute its groups and compute a part
 * itself. */
bool direct_wanted(const struct heddle_kernel_request *request);
/** Claims a device for a part of so many groups of this thread's, where that can be launched at
 * once. */
void direct_take(struct heddle_kernel_request *request, struct kernel_device *device, size_t n);
/** Launches a part on the device that has been claimed. It ends in direct_wait(), or by
 * itself; where anything fails, on the device's worker. */
void direct_launch(struct part *part);
/** Nothing is launched after all. */
void direct_leave(struct heddle_kernel_request *request);
/** Ends a launch's direct part, if nobody has. */
void direct_wait(struct heddle_kernel_request *request);

/* ---- shapes_starpu.c ---- */

/** The devices that a launch may use, a bit each. */
unsigned devices_of(const struct heddle_kernel_request *request);

/** The shape of a launch, made where it is the first of its kind.
 * @return 0; -ENOMEM */
int shape_find(struct heddle_kernel_request *request);
/** The launch is over. */
void shape_leave(struct heddle_kernel_request *request);
/** Finds out what the launch touches, if it is not known. The kernel's mutex is held.
 * @return 0; -ENOMEM */
int shape_prepare(struct heddle_kernel_request *request);
/** A launch has ended well: how long did it take? */
void shape_learn(struct heddle_kernel_request *request);
/** Where to cut, so that rows stay whole. */
size_t cut_round(const struct ndrange *range, size_t at);
void shapes_free(struct kernel *kernel);

/* ---- shares_starpu.c ---- */

/** What groups `from` to `from + n - 1` of a launch do with every argument, as far as its
 * mode allows. @return 0; -ENOMEM */
int request_uses(const struct heddle_kernel_request *request, size_t from, size_t n,
                 struct index_use *uses);
/** Whether a device takes part in a launch. */
bool device_usable(const struct heddle_kernel_request *request, unsigned d);
/** Groups of a row (or plane) where there are enough of them to cut only between: what
 * is written lies together there, as a rule. */
size_t row_of(const struct ndrange *range);
/** Chooses the shares and submits the parts. */
int shares_submit(struct heddle_kernel_request *request);
/** Submits dry runs on the devices that have no table. */
int profiles_submit(struct heddle_kernel_request *request);
/** Brings what failed devices should have computed to the one that is fastest. */
int lost_submit(struct heddle_kernel_request *request);

/* ---- blocks_starpu.c ---- */

/** The flattened groups become a loop, which a block strategy cuts. */
int blocks_start(struct heddle_kernel_request *request);
/** Gives every idle device a block. The caller counts in `pending`. */
void blocks_fill(struct heddle_kernel_request *request);
/** Tells the strategy. The mutex is held. */
void block_ended(struct part *part);

/* ---- device_starpu.c ---- */

/** Whether a device uses a buffer in the host's memory instead of one of its own. */
bool transfer_in_place(const struct heddle_kernel_request *request,
                       const struct kernel_device *device, unsigned a, const struct index_use *use,
                       bool dry);

/** Computes a part on the worker that calls. @return 0 or -errno after a message */
int device_run(struct part *part);

/** Frees the buffers that a kernel keeps on a device that computes nothing of it.
 * @return whether there were any */
bool device_buffers_drop(struct kernel *kernel, struct kernel_device *device);

/** Takes a device's memory for the thread that calls, which waits for it. */
void device_claim(struct kernel *kernel, struct kernel_device *device);
/** The same without waiting, for a part of so many groups. @return whether the device is taken;
 * not where it would have to compile first */
bool device_claim_ready(const struct heddle_kernel_request *request, struct kernel_device *device,
                        size_t n);
/** Any thread may give it back. */
void device_leave(struct kernel *kernel, struct kernel_device *device);
/** Enqueues all of a part on a device that was claimed and is ready.
 * @param[out] queue that it is in; NULL after errors before
 * @return 0 or -errno after a message; device_end() is to follow in both cases */
int device_begin(struct part *part, cl_command_queue *queue);
/** Ends a part.
 * @param status of device_begin()
 * @param waited the queue was waited for
 * @return 0 or -errno after a message */
int device_end(struct part *part, int status, bool waited);

/** Frees what a kernel has on a device. */
void device_free(struct kernel_device *device);
/** Frees the devices' queues. */
void device_queues_free(void);
/** Threads of workers that compute kernels may run where the calling thread may, from the
 * first call on. */
void device_threads_allow(void);

#endif
