/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One OpenCL kernel on several OpenCL devices.
 *
 * You give source, NDRange and arguments as for clEnqueueNDRangeKernel(), with host memory or
 * StarPU handles instead of buffers. Under the policies `heddle` and `skmd` each OpenCL worker
 * computes a part (a range of the work-groups). Heddle sends it the data that the part reads, and
 * merges what all parts wrote in main memory. The split follows from measured times and from the
 * costs of transfers. The first launch measures the times in a dry run; later launches and runs
 * update them. Method: SKMD (J. Lee, M. Samadi, Y. Park and S. Mahlke, "Transparent CPU-GPU
 * collaboration for data-parallel kernels on heterogeneous systems", PACT 2013).
 *
 * Start with heddle_kernel_run(), or with heddle_kernel_submit() to continue meanwhile.
 */
#ifndef HEDDLE_KERNEL_H
#define HEDDLE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <starpu.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Largest number of arguments of a kernel. */
#define HEDDLE_KERNEL_MAXARGUMENTS 40

/** What an argument is. */
enum heddle_kernel_argument_type {
	/** A buffer: a vector, a variable or a matrix without gaps between its rows. It needs a
	 * place in main memory. */
	HEDDLE_KERNEL_HANDLE = 1,
	HEDDLE_KERNEL_HOST,  /**< a buffer: host memory that nothing else uses until the end */
	HEDDLE_KERNEL_VALUE, /**< a value; heddle_kernel_submit() copies it */
	HEDDLE_KERNEL_LOCAL, /**< local memory */
	/** An image that the kernel reads or writes: a struct heddle_kernel_image, which
	 * heddle_kernel_submit() copies. Nothing else uses its pixels until the end. */
	HEDDLE_KERNEL_IMAGE,
	/** A sampler: a struct heddle_kernel_sampler, which heddle_kernel_submit() copies. */
	HEDDLE_KERNEL_SAMPLER
};

/** An image in host memory. Numbers of pixels are below 2^31. Each device that takes part has an
 * image of its own. It gets all that is read, and what it writes returns. */
struct heddle_kernel_image {
	unsigned width;  /**< pixels in a row, above 0 */
	unsigned height; /**< rows; 0: an image of one dimension */
	unsigned depth;  /**< slices of an image of three dimensions; else 0 */
	unsigned layers; /**< images of one or two dimensions in an array; 0: it is no array */
	unsigned order;  /**< OpenCL's cl_channel_order, as CL_RGBA */
	unsigned type;   /**< OpenCL's cl_channel_type, as CL_FLOAT */
	void *pixels;    /**< without gaps between rows, slices and layers */
};

/** A sampler. A kernel that interpolates, or has normalized coordinates, runs on one device: others
 * would round differently. */
struct heddle_kernel_sampler {
	unsigned normalized; /**< whether coordinates are from 0 to 1 */
	unsigned addressing; /**< OpenCL's cl_addressing_mode, as CL_ADDRESS_CLAMP */
	unsigned filter;     /**< CL_FILTER_NEAREST or CL_FILTER_LINEAR */
};

/** An argument of a kernel. */
struct heddle_kernel_argument {
	enum heddle_kernel_argument_type type; /**< what it is; 0 is an error */
	starpu_data_handle_t handle;           /**< of HEDDLE_KERNEL_HANDLE: the handle */
	/** Of a buffer or an image: STARPU_R, STARPU_W or STARPU_RW; 0: STARPU_RW. Heddle does not
	 * copy back what is in mode STARPU_R. In mode STARPU_W, the elements that the kernel does
	 * not write are undefined afterwards. */
	enum starpu_data_access_mode mode;
	void *pointer; /**< the host memory, the value, or the structure of an image or sampler */
	size_t bytes;  /**< size of the host memory, value, structure or local memory, above 0 */
	/** Of a buffer: its data may stay on the devices, which are not sent again what they hold
	 * from earlier launches. You state that from the first such launch to the last one its
	 * memory is changed by launches alone, or: of a handle, by tasks and acquisitions with
	 * sequential consistency (StarPU's default; starpu_data_acquire_try() is not one), and of
	 * both kinds, before heddle_kernels_changed(). Results return to main memory at the end
	 * of each launch, unless they may stay. */
	bool keep;
	/** With `keep`: results may stay on the devices when the launch has ended.
	 * Of host memory: until heddle_kernels_fetch(). You state that it is used by launches alone
	 * until then. A launch without this flag brings back what it uses.
	 * Of a handle: where the next launch is to use them, was submitted before this one has
	 * computed them, and nobody else uses them in between. For that a launch with this flag
	 * that reads the handle takes it as if it wrote it, if one that writes it has not ended.
	 * So others that read it wait for that launch, and it for them: do not wait for such data
	 * while you have acquired what a submitted launch on it waits for.
	 * If a device fails that alone had results of earlier launches, they are fetched from it.
	 * Where the kernel that failed may have changed them, they are lost, and the launch fails.
	 */
	bool stay;
};

/** How a kernel is executed. */
enum heddle_kernel_split {
	/** As the policy requires: `heddle` and `skmd` split it; a policy that is a block strategy
	 * (hdss, ...) cuts it into blocks, as a loop; another policy places it as one task. */
	HEDDLE_KERNEL_BY_POLICY,
	HEDDLE_KERNEL_ALWAYS, /**< split under every policy, if the kernel can be split */
	HEDDLE_KERNEL_NEVER   /**< one task under every policy */
};

/** A kernel to be launched. Fill it with zeros, then set its fields. heddle_kernel_submit()
 * copies the structure, the strings, the values and the ids of workers. The buffers must exist
 * until the launch's end.
 *
 * A launch is one node of StarPU's task graph: tasks submitted before it that write its handles
 * run first, and tasks submitted later see its results.
 *
 * These kernels run on one device (HEDDLE_VERBOSE=2 prints the reason): with atomic operations
 * on global memory, with printf, with samplers that interpolate, and those that Heddle does not
 * analyse (doc/kernels.md); and launches with one array as two arguments, of which a group may read
 * what another one writes. */
struct heddle_kernel {
	const char *source;  /**< OpenCL C */
	const char *name;    /**< name of the kernel in the source */
	const char *options; /**< options of the compiler; NULL: none */
	unsigned dimensions; /**< dimensions of the NDRange, 1 to 3 */
	size_t global[3];    /**< work-items in each dimension, multiples of local, above 0 */
	/** Work-items of a group in each dimension. 0 in all dimensions: Heddle chooses divisors of
	 * the work-items, a group has 64 of them at most. */
	size_t local[3];
	unsigned narguments; /**< entries of arguments, 0 to HEDDLE_KERNEL_MAXARGUMENTS */
	struct heddle_kernel_argument arguments[HEDDLE_KERNEL_MAXARGUMENTS]; /**< as the kernel's */
	enum heddle_kernel_split split; /**< how it is executed */
	/** How a split is computed: "heddle" (also NULL), "paper", "published", "linear" or
	 * "single", as in `heddle plan split`. With "heddle" the split may be one device alone.
	 *
	 * "published" is SKMD to compare with: Algorithm 1, and if the kernel is not contiguous by
	 * the paper's rule (section III-B), all inputs cross to each device, all outputs cross
	 * back, and what each device computed is taken from them. "published:contiguous=1" and
	 * "published:contiguous=0" state the class instead; results are right in any case. */
	const char *method;
	/** StarPU's ids of the OpenCL workers to use; NULL: all. A kernel that is one task runs on
	 * the first. */
	const int *workers;
	unsigned nworkers; /**< entries of workers, 0 if that is NULL; 0: all OpenCL workers */
	size_t offset[3];  /**< global offset: global ids begin here in each dimension */
};

/** What one worker did in a launch. Times are in microseconds.
 *
 * Measuring the steps costs about 30 us on a GPU, so Heddle measures them in some launches
 * only. In the others, in_us is 0, out_us is merge_us, and compute_us is the time of all other
 * steps. */
struct heddle_kernel_worker_stats {
	int id;            /**< StarPU's id of the worker */
	char name[64];     /**< StarPU's name of the worker */
	size_t groups;     /**< work-groups computed */
	double start_us;   /**< when it began with the first of them, since the launch began */
	double in_us;      /**< sending what they read */
	double compute_us; /**< computing */
	double out_us;     /**< fetching what they wrote, and merging it */
	double merge_us;   /**< of out_us: merging */
	size_t in_bytes;   /**< bytes sent to the device */
	size_t out_bytes;  /**< bytes fetched from the device, of earlier launches, too */
	size_t kept_bytes; /**< bytes that it reads and held from earlier launches */
};

/** What a launch did. Times are in microseconds. */
struct heddle_kernel_stats {
	double queue_us; /**< from the submission to the beginning, when the data was there */
	double us;       /**< from the beginning to the end, when the results were there */
	/** Predicted us, by measured times of parts or of earlier launches; 0: not split. */
	double predicted_us;
	double profile_us;  /**< of us: the dry run; 0: none */
	double decision_us; /**< of us: computing the split; 0: not split */
	size_t groups;      /**< work-groups of the launch */
	size_t moved;       /**< of them: computed by another device after the first one failed */
	unsigned nworkers;  /**< workers that computed something, or gave what they had */
	/** One for each of them. Further entries are left as they were. */
	struct heddle_kernel_worker_stats workers[STARPU_NMAXWORKERS];
};

/** A submitted launch. */
struct heddle_kernel_request;

/** Submits a kernel and returns without waiting for its end. If nothing else is under way, the
 * calling thread enqueues the largest part itself (HEDDLE_KERNEL_DIRECT). The first launch of a
 * kernel analyses it, which takes about 0.1 s, and at most HEDDLE_ANALYSE_LIMIT. Any thread may
 * call it between starpu_init() and starpu_shutdown(), also in a task or callback.
 * @param kernel the kernel
 * @param[out] request to be given to heddle_kernel_wait(). NULL: the caller does not want it;
 * then starpu_task_wait_for_all() or a later task on the data waits for the launch, and only a
 * message reports a failure. If HEDDLE_KERNEL_AHEAD such launches (1024) are under way, the call
 * waits first until half of them have ended; not in a task or callback, and not if nothing runs,
 * because they wait for data that the program has acquired
 * @return 0; a negative errno value after a message:
 * - -EINVAL: no source or name; an NDRange that is empty, not a multiple of local or too large
 *   (2^63 work-items or more); too many arguments or handles (STARPU_NMAXBUFS); arguments that
 *   are incomplete or do not suit the kernel; a handle of the wrong shape or not in main memory;
 *   arrays that overlap partly; an image that overlaps another argument, where one is written; an
 *   image without pixels, of impossible sizes or of a format that OpenCL 1.2 does not have,
 *   or, if the kernel is analysed, of dimensions or a format that the kernel does not take; an
 *   unknown method; a worker that is not an OpenCL worker (of the first 16); a variable with a
 *   malformed value
 * - -EFAULT: a work-item certainly reads or writes outside of a buffer; the message names argument,
 *   size and place
 * - -ENODEV: StarPU has no OpenCL worker or no OpenCL driver; the call came before starpu_init();
 *   StarPU refuses the task
 * - -ENOMEM
 * - -ENOEXEC: see heddle_starpu_check() */
int heddle_kernel_submit(const struct heddle_kernel *kernel,
                         struct heddle_kernel_request **request);

/** Waits for a launch and frees the request. Call it once for each request, not in a task,
 * callback or kernel.
 * @param request from heddle_kernel_submit()
 * @param[out] stats what the launch did; NULL: not wanted
 * @return 0; a negative errno value if the launch failed, after which the contents of what it
 * writes are undefined:
 * - -EINVAL: a value has not the size that the kernel takes
 * - -ENODATA: a device failed, and with it results of earlier launches are lost (stay)
 * - -EIO: the kernel failed on every device, or does not compile (a message has the compiler's
 *   output)
 * - -ENODEV: StarPU refused a part's task
 * - -ENOMEM */
int heddle_kernel_wait(struct heddle_kernel_request *request, struct heddle_kernel_stats *stats);

/** Runs a kernel: heddle_kernel_submit() and heddle_kernel_wait(). Do not call it in a task,
 * callback or kernel. If the kernel has no handles and this thread launches it itself,
 * starpu_task_wait_for_all() in another thread does not wait for it.
 * @param kernel the kernel
 * @param[out] stats what the launch did; NULL: not wanted
 * @return as heddle_kernel_submit() and heddle_kernel_wait() */
int heddle_kernel_run(const struct heddle_kernel *kernel, struct heddle_kernel_stats *stats);

/** How the windows of a buffer (the bytes that ranges of groups read or write) relate:
 * "CONTIGUOUS", "SLAB", "HALO", "RECT", "BROADCAST", "WHOLE" (not known) or "UNUSED".
 * doc/kernels.md explains these classes. The strings are constant. */
struct heddle_kernel_access {
	/** class of what ranges read; "UNUSED" of an argument that is no buffer */
	const char *read;
	/** class of what they write; also "UNUSED" of a buffer in mode STARPU_R */
	const char *write;
};

/** Returns what the analysis finds out about a kernel. It launches nothing. Any thread may call
 * it between starpu_init() and starpu_shutdown().
 * @param kernel the kernel
 * @param[out] accesses kernel->narguments entries, one for each argument; arguments that are one
 * array have the same classes
 * @param[out] refusal why the kernel runs on one device, a string that is valid until
 * heddle_kernels_unload(); NULL if it can be split. May be NULL: not wanted
 * @return as heddle_kernel_submit() */
int heddle_kernel_classes(const struct heddle_kernel *kernel, struct heddle_kernel_access *accesses,
                          const char **refusal);

/** The program has changed memory, or freed it, of which data may stay on devices
 * (struct heddle_kernel_argument, keep): it is sent again at the next launch. Of handles, that is
 * needed only where StarPU was not told by an access. What launches have left on devices there
 * (stay) does not count any more. Any thread may call it while no launch uses the memory.
 * @param memory where it begins
 * @param bytes how much of it */
void heddle_kernels_changed(const void *memory, size_t bytes);

/** Brings results that stay on devices to main memory (struct heddle_kernel_argument, stay). Any
 * thread may call it while no launch uses the memory, and not in a task, callback or kernel.
 * @param memory where it begins
 * @param bytes how much of it
 * @return 0; -EIO after a message: a device did not give its results, which it still has */
int heddle_kernels_fetch(const void *memory, size_t bytes);

/** Frees what Heddle keeps from launch to launch: compiled programs, device memory and
 * measurements. It writes all profiles first, as heddle_estimate_save() does. Call it before
 * starpu_shutdown(), while no other thread calls a function of this header, and after
 * heddle_kernel_wait() for all launches with a request. It waits for those without one. In a task
 * or callback it does nothing, after a message. */
void heddle_kernels_unload(void);

#ifdef __cplusplus
}
#endif
#endif
