/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A part on one device, from the top: device_starpu.c runs it, chunks_starpu.c cuts it,
 * forms_starpu.c compiles and launches, transfer_starpu.c moves data.
 */
#ifndef HEDDLE_KERNEL_DEVICE_STARPU_H
#define HEDDLE_KERNEL_DEVICE_STARPU_H

#include "partition/kernel/access/windows.h"
#include "partition/kernel/launch/request_starpu.h"

/** What tells when a part's steps were done, where they follow each other without a wait. */
enum device_event { EVENT_FIRST, EVENT_SENT, EVENT_COMPUTED, EVENT_FETCHED, NEVENTS };

/** What a part writes of a buffer: what was there before, and what is there now. */
struct window_copy {
	struct kernel_layout layout; /* of the copies, and of what crosses */
	struct kernel_layout taken;  /* of what is taken of them, which begins at: */
	size_t at;
	unsigned char *before, *after;
	bool complete; /* all of it is written and nothing read: it is fetched where it belongs */
};

/** The kernel, compiled for one way of launching. */
struct device_form {
	enum ndrange_way way;
	size_t offset[3]; /* of the NDRange, where that is compiled in */
	cl_program program;
	cl_kernel kernel; /* NULL: not compiled yet */
};

/** What a kernel keeps on a device, and the part that runs there. */
struct device_memory {
	struct device_form ranges, whole; /* of groups, and all of them */
	struct device_form *form;         /* the one that a part launches */
	cl_context context;
	struct chunks_plan *plan; /* of the latest launch in chunks; NULL: none */
	cl_command_queue second;  /* of a part in chunks; NULL: it is not */
	cl_command_queue queue;   /* during a part: one of ours, or StarPU's */
	cl_device_id device;
	unsigned node;                              /* StarPU's, which knows of: */
	cl_mem buffers[HEDDLE_KERNEL_MAXARGUMENTS]; /* of its own */
	size_t bytes[HEDDLE_KERNEL_MAXARGUMENTS];
	struct heddle_kernel_image images[HEDDLE_KERNEL_MAXARGUMENTS]; /* that they are; zeros */
	cl_sampler samplers[HEDDLE_KERNEL_MAXARGUMENTS]; /* NULL: none yet; and what they are: */
	struct heddle_kernel_sampler sampling[HEDDLE_KERNEL_MAXARGUMENTS];
	/* The host's arrays as buffers, which launches have in common as long as these are the
	 * same; and those that a part uses. */
	struct device_array {
		cl_mem buffer;
		void *host;
		size_t bytes;
		cl_mem_flags flags;
	} arrays[HEDDLE_KERNEL_MAXARGUMENTS];
	cl_mem in_place[HEDDLE_KERNEL_MAXARGUMENTS];
	/* Of a part: */
	struct kept_copy *kept[HEDDLE_KERNEL_MAXARGUMENTS];      /* used instead of a buffer */
	struct index_window written[HEDDLE_KERNEL_MAXARGUMENTS]; /* of what the part writes */
	cl_event events[NEVENTS];
	struct window_copy copies[HEDDLE_KERNEL_MAXARGUMENTS];
	double begin_us;
};

/* ---- device_starpu.c ---- */

/** Computes a part on the worker that calls. @return 0 or -errno after a message */
int kernel_device_run(struct part *part);

/** Claims an idle device that is ready for a part of so many groups, without waiting.
 * @return whether the device is claimed; not where it would have to compile first */
bool kernel_device_claim(const struct heddle_kernel_request *request, struct kernel_device *device,
                         size_t n);
/** Gives a claimed device back. Any thread may. */
void kernel_device_leave(struct kernel *kernel, struct kernel_device *device);
/** Enqueues all of a part on a device that was claimed and is ready.
 * @param[out] queue that it is in; NULL after errors before
 * @return 0 or -errno after a message; kernel_device_end() is to follow in both cases */
int kernel_device_begin(struct part *part, cl_command_queue *queue);
/** Ends a part.
 * @param status of kernel_device_begin()
 * @param waited the queue was waited for
 * @return 0 or -errno after a message */
int kernel_device_end(struct part *part, int status, bool waited);

/** Fetches a piece of a buffer, in any thread. @param device StarPU's number of it
 * @return 0; -EIO after a message */
int kernel_device_fetch(int device, cl_mem from, struct kernel_span piece, void *to);
/** Frees the buffers that a kernel keeps on a device that computes nothing of it.
 * @return whether there were any */
bool kernel_device_buffers_drop(struct kernel *kernel, struct kernel_device *device);
/** Frees what a kernel has on a device. */
void kernel_device_free(struct kernel_device *device);
/** Frees the devices' queues. */
void kernel_queues_free(void);
/** Threads of workers that compute kernels may run where the calling thread may, from the
 * first call on. */
void kernel_threads_allow(void);

/* ---- images_starpu.c ---- */

/** Makes a buffer, or an image unless its sizes are 0.
 * @param access what kernels do with an image whose format cannot be both read and written */
cl_mem kernel_memory_create(cl_context context, const struct heddle_kernel_image *image,
                            size_t bytes, cl_mem_flags access, cl_int *error);
/** Extends a piece of an image to whole rows, or to whole slices where it is in several. */
struct kernel_span kernel_image_cover(const struct heddle_kernel_image *image,
                                      struct kernel_span span);
/** Enqueues the transfer of such a piece. */
cl_int kernel_image_send(cl_command_queue queue, cl_mem to, const struct heddle_kernel_image *image,
                         struct kernel_span span, const void *from, cl_bool waits, cl_event *event);
cl_int kernel_image_fetch(cl_command_queue queue, cl_mem from,
                          const struct heddle_kernel_image *image, struct kernel_span span,
                          void *to, cl_bool waits, cl_event *event);
/** The sampler of an argument on a device. */
cl_int kernel_sampler_find(struct device_memory *memory, unsigned a,
                           const struct heddle_kernel_sampler *sampler);
void kernel_samplers_free(struct device_memory *memory);

/* ---- chunks_starpu.c ---- */

/** Chooses into how many chunks a direct part is cut, and finds out what each needs.
 * @return whether it is cut */
bool kernel_chunks_prepare(struct part *part);
/** A part cannot be cut, nor can others like it. */
void kernel_chunks_give_up(struct part *part);
/** Enqueues all chunks, on the part's queue and on the second. @return 0 or -errno after a
 * message */
int kernel_chunks_begin(struct part *part);
/** Takes in the time of a part that has ended well. */
void kernel_chunks_learn(const struct part *part);

/* ---- forms_starpu.c ---- */

/** Chooses a part's form of the kernel, and compiles it where it is needed first.
 * @return 0 or -errno after a message */
int kernel_form_use(struct part *part);
/** Whether that has been done for a part of so many groups. */
bool kernel_form_ready(const struct heddle_kernel_request *request, struct device_memory *memory,
                       size_t n);
/** Sets the kernel's arguments; buffers exist. @return 0 or -errno after a message */
int kernel_form_arguments(struct part *part);
/** Launches groups of a part.
 * @param after the launch waits for it; NULL: for nothing */
cl_int kernel_form_enqueue(struct part *part, size_t from, size_t n, cl_command_queue queue,
                           const cl_event *after);
/** Frees what was compiled. */
void kernel_forms_free(struct device_memory *memory);

/* ---- transfer_starpu.c ---- */

/** Refuses with the name of kernel and worker, and OpenCL's error. @return -errno */
int kernel_refuse(const struct part *part, const char *what, cl_int error);
/** Waits for what was enqueued. @return 0 or -errno after a message */
int kernel_finish(struct part *part, const char *what);
/** Where a command's event goes; the one that was there is released.
 * @return NULL: it does not matter */
cl_event *kernel_event(struct part *part, enum device_event which);

/** Finds a buffer of the device's own, as large as an argument: a copy that stays there, or one
 * of the kernel's. @return 0 or -errno after a message */
int kernel_buffer_find(struct part *part, unsigned a);
/** The buffer that a part uses as an argument. */
cl_mem kernel_buffer(const struct device_memory *memory, unsigned a);
/** Frees a buffer of a device's own. */
void kernel_buffer_free(struct device_memory *memory, unsigned a);

/** Sends what the device reads and does not have; buffers exist.
 * @param[out] copies an entry for each argument, to be given to kernel_transfer_end()
 * @return 0 or -errno after a message */
int kernel_transfer_in(struct part *part, const struct index_use *uses, struct window_copy *copies);
/** Enqueues the transfer of what the device wrote. A part that takes turns waits for it.
 * @return 0 or -errno after a message */
int kernel_transfer_out(struct part *part, struct window_copy *copies);
/** Puts what was fetched where it belongs. */
void kernel_transfer_merge(struct part *part, struct window_copy *copies);
/** Frees the copies.
 * @param status of the part: where it failed, what it may have changed in place is restored */
void kernel_transfer_end(struct part *part, struct window_copy *copies, int status);

#endif
