/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A launch (struct heddle_kernel_request) is a control task, which holds the data in main memory.
 * Its parts (struct part) are ranges of groups on a device each, which bring data there and back
 * themselves.
 */
#ifndef HEDDLE_KERNEL_REQUEST_STARPU_H
#define HEDDLE_KERNEL_REQUEST_STARPU_H

#include "partition/kernel/launch/cache_starpu.h"
#include "partition/common/control_starpu.h"

/** A range of a launch on one device. */
struct part {
	struct heddle_kernel_request *request;
	struct kernel_device *device; /* NULL: the one that the policy chooses */
	size_t from, n;
	bool dry;        /* a dry run: results are thrown away */
	bool turns;      /* others of the launch use the bus: each step is waited for */
	bool unprofiled; /* its steps are not timed: that costs some 30 us on a GPU */
	bool direct;     /* not on the device's worker */
	bool compiled;   /* its device had to compile for it, which says nothing of others */
	unsigned chunks; /* 1 if it is not cut */
	bool counts;     /* its time counts for the choice of chunks */
	double alone_us; /* predicted if nobody else computes; 0: not known */
	int status;
	double start_us; /* since the launch began */
	double in_us, compute_us, out_us, merge_us;
	size_t in_bytes, out_bytes;             /* that crossed */
	size_t in_place_bytes, out_place_bytes; /* that did not have to */
	size_t kept_bytes;                      /* of inputs, that the device held */
	/* Arguments, a bit each: whose results may stay, and do; which are read and written. */
	uint64_t staying, stays, rereads;
	bool launched;  /* the kernel, for a part of it at least */
	bool again;     /* it was begun before, and has failed */
	bool blameless; /* its failure is another device's */
};

/** A launch. It is begun anew for each of them, so what is not needed is not touched: of arrays
 * by argument, the entries of those given count. The mutex guards what parts change: `busy` to
 * `status`, and `stats`. */
struct heddle_kernel_request {
	struct kernel *kernel;
	void (*part_ended)(struct part *part); /* counts a part's results and frees it */
	bool aliased;                          /* two arguments are one array */
	bool shares;                           /* devices have a part each */
	uint64_t staying; /* arguments whose results stay on devices, as known when it began */
	uint64_t holds;   /* arguments that are taken from StarPU as if written, a bit each */
	uint64_t entered; /* those whose accesses, as written, StarPU has seen, a bit each */
	bool over;        /* it has ended, or will not begin */
	bool rewritten;   /* and it is written: groups may read what others write */
	bool imprecise, split;
	bool looks; /* it has begun, and what buffers hold says where the kernel accesses memory */
	uint64_t looked; /* these arguments, a bit each; before it has begun they will be */
	unsigned barred; /* devices that are not to take part, a bit each */
	enum split_method method;
	enum kernel_class declared;
	bool scattered;              /* shares: all of the buffers cross, as the shape says */
	struct kernel_device *first; /* of the devices that may take part; NULL: all may */
	struct shape *shape;         /* NULL: neither shares nor a device alone */
	unsigned arm;                /* of the shape's; KERNEL_ARMS: none */
	bool explores;               /* the arm is not the best one by what is known */
	bool slow_chunks;            /* another number of chunks is the best one by what is known */
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
	unsigned pending;                 /* parts under way */
	size_t fetched[SPLIT_MAXDEVICES]; /* from devices, of what earlier launches left there */
	bool compiled;                    /* for one of them at least */
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
	} values[HEDDLE_KERNEL_MAXARGUMENTS];     /* those that fit, aligned for any type */
	int64_t integers[KERNEL_MAXINTEGERS];     /* of arguments, then of their fields */
	size_t bytes[HEDDLE_KERNEL_MAXARGUMENTS]; /* of buffers and images; 0 */
	size_t units[HEDDLE_KERNEL_MAXARGUMENTS]; /* the same, of images in pixels */
	int same[HEDDLE_KERNEL_MAXARGUMENTS];     /* first argument with the same buffer */
	/* Buffers that are looked at, in main memory; NULL for others. They count if it looks. */
	const unsigned char *contents[HEDDLE_KERNEL_MAXARGUMENTS];
	/* Data that stays on devices, and writes of it by others when this was submitted. */
	struct kept_data *kept[HEDDLE_KERNEL_MAXARGUMENTS];
	uint64_t writes[HEDDLE_KERNEL_MAXARGUMENTS];
	struct index_use whole[HEDDLE_KERNEL_MAXARGUMENTS]; /* the shape's, if it has them */
	struct range_lost {
		size_t from, n;
	} lost[SPLIT_MAXDEVICES];         /* of devices that failed */
	struct part room;                 /* for `own` */
	struct heddle_kernel_stats stats; /* but for its workers cleared */
};

/** Why a launch is not split; NULL: it can be. */
static inline const char *kernel_refusal(const struct heddle_kernel_request *request)
{
	bool meets = request->shape && __atomic_load_n(&request->shape->meets, __ATOMIC_RELAXED);

	if (request->imprecise)
		return "a sampler interpolates, or its coordinates are normalized";
	if (request->kernel->index.refusal || !meets)
		return request->kernel->index.refusal;
	return "two of its arguments are one array, of which groups may read what others write";
}

/** Whether a launch is cut into blocks instead of shares, whose cuts can be looked at before. */
static inline bool kernel_in_blocks(const struct heddle_kernel_request *request)
{
	return request->strategy && !request->rewritten && !kernel_refusal(request);
}

static inline unsigned kernel_integers(const struct heddle_kernel_request *request)
{
	return request->given.narguments + request->kernel->index.nfields;
}

/** An argument as an image; NULL: it is none. */
static inline const struct heddle_kernel_image *
kernel_image_of(const struct heddle_kernel_argument *argument)
{
	return argument->type == HEDDLE_KERNEL_IMAGE ? argument->pointer : NULL;
}

/** Whether an argument is data: a buffer or an image. */
static inline bool kernel_is_buffer(const struct heddle_kernel_argument *argument)
{
	return argument->type == HEDDLE_KERNEL_HANDLE || argument->type == HEDDLE_KERNEL_HOST ||
	       kernel_image_of(argument);
}

/** An argument in main memory. */
static inline unsigned char *kernel_host_of(const struct heddle_kernel_request *request, unsigned a)
{
	const struct heddle_kernel_argument *argument = &request->given.arguments[a];

	return kernel_image_of(argument) ? kernel_image_of(argument)->pixels
	       : argument->type == HEDDLE_KERNEL_HANDLE
	           ? starpu_data_handle_to_pointer(argument->handle, STARPU_MAIN_RAM)
	           : argument->pointer;
}

/* ---- arguments_starpu.c ---- */

/** Copies the arguments that are given into a request, and finds arrays that are several of them.
 * @return 0; -EINVAL after a message; -ENOMEM */
int kernel_arguments_take(struct heddle_kernel_request *request, const struct heddle_kernel *given);
/** Frees what was copied, also of a request where that failed. */
void kernel_arguments_free(struct heddle_kernel_request *request);
/** Compares what is given with what the kernel takes. @return 0; -EINVAL after a message */
int kernel_arguments_compare(struct heddle_kernel_request *request);

/* ---- images_starpu.c ---- */

/** Bytes of an image and of each of its pixels. @return 0; -EINVAL: there is no such image */
int kernel_image_size(const struct heddle_kernel_image *image, size_t *bytes, size_t *pixel);

/** Whether an image is of the shape that a kernel takes, and of a format that it reads or writes.
 * @return NULL; of what it is that does not suit */
const char *kernel_image_wrong(const struct heddle_kernel_image *image,
                               const struct index_argument *argument);

/* ---- shapes_starpu.c ---- */

/** The devices that a launch may use, a bit each. */
unsigned kernel_devices(const struct heddle_kernel_request *request);
/** Those of which it is not known how long they take, a bit each. */
unsigned kernel_devices_untimed(const struct heddle_kernel_request *request);
/** Whether a device takes part in a launch. */
bool kernel_device_usable(const struct heddle_kernel_request *request, unsigned d);

/** Finds which buffers the launch is to look at: those that hold where the kernel accesses memory,
 * unless groups need too many places of them. */
void kernel_contents_find(struct heddle_kernel_request *request);
/** The launch has begun: from now on the buffers found are looked at. They are as the kernel finds
 * them in main memory, and nobody writes what the kernel only reads.
 * @return whether there are more by what they hold: these are to be brought home, too, and taken */
bool kernel_contents_take(struct heddle_kernel_request *request);

/** The launch as its accesses are asked for. */
static inline struct index_launch kernel_index_launch(const struct heddle_kernel_request *request)
{
	return (struct index_launch){&request->range, request->integers, request->units,
	                             request->same, request->looks ? request->contents : NULL};
}

/** What groups `from` to `from + n - 1` of a launch do with every argument, as far as its
 * mode allows. Of arguments that are one array the first has it all. @return 0; -ENOMEM */
int kernel_uses(const struct heddle_kernel_request *request, size_t from, size_t n,
                struct index_use *uses);
/** Whether a device uses a buffer in the host's memory instead of one of its own. */
bool kernel_in_place(const struct heddle_kernel_request *request,
                     const struct kernel_device *device, unsigned a, const struct index_use *use,
                     bool dry);
/** Groups of a row (or plane) where there are enough of them to cut only between. What
 * is written lies together there, as a rule. */
size_t kernel_row(const struct ndrange *range);
/** Where to cut, so that rows stay whole. */
size_t kernel_cut_round(const struct ndrange *range, size_t at);

/** Whether groups before and behind a cut may read what the others write of an array that is two
 * arguments. If so, the shape is not cut any more. @return 0; -ENOMEM */
int kernel_cut_meets(const struct heddle_kernel_request *request, size_t at, bool *meets);

/** The shape of a launch, made where it is the first of its kind. @return 0; -ENOMEM */
int kernel_shape_find(struct heddle_kernel_request *request);
/** The launch is over. */
void kernel_shape_leave(struct heddle_kernel_request *request);
/** Finds out what the launch touches, if it is not known. The kernel's mutex is held.
 * @return 0; -ENOMEM */
int kernel_shape_prepare(struct heddle_kernel_request *request);

/** Looks, before anything is launched, whether accesses leave their buffers.
 * @return 0; -EFAULT after a message: one does; -ENOMEM */
int kernel_shape_look(struct heddle_kernel_request *request);
/** Takes in how long a launch took that has ended well. */
void kernel_shape_learn(struct heddle_kernel_request *request);

/* ---- shares_starpu.c ---- */

/** Chooses the shares and submits the parts. */
int kernel_shares_submit(struct heddle_kernel_request *request);
/** Submits dry runs on the devices that have no table. */
int kernel_profiles_submit(struct heddle_kernel_request *request);
/** Submits what failed devices should have computed to the device that is fastest. */
int kernel_lost_submit(struct heddle_kernel_request *request);

/* ---- blocks_starpu.c ---- */

/** Makes the flattened groups a loop, which a block strategy cuts. */
int kernel_blocks_start(struct heddle_kernel_request *request);
/** Gives every idle device a block. The caller counts in `pending`. */
void kernel_blocks_fill(struct heddle_kernel_request *request);
/** Reports a block that has ended to the strategy. The mutex is held. */
void kernel_block_ended(struct part *part);

/* ---- parts_starpu.c ---- */

/** Submits a part, or keeps it for the thread that is distributing groups. The mutex is not
 * held. The caller counts itself in `pending` meanwhile.
 * @param like request, device (NULL: the one that the policy chooses), range, dry, turns,
 * unprofiled and alone_us; a dry run is one of sizes up to the range's */
int kernel_part_submit(const struct part *like);
/** Computes the part that was kept for this thread, if one was. */
void kernel_part_own_run(struct heddle_kernel_request *request);

/** Whether the thread that submits a launch may distribute its groups and compute a part
 * itself. */
bool kernel_direct_wanted(const struct heddle_kernel_request *request);
/** Claims a device for a part of so many groups of this thread's, where that can be launched at
 * once. */
void kernel_direct_take(struct heddle_kernel_request *request, struct kernel_device *device,
                        size_t n);
/** Ends a launch's direct part, if nobody has. */
void kernel_direct_wait(struct heddle_kernel_request *request);

#endif
