/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What device_starpu.c and transfer_starpu.c share: a kernel on one device, and the
 * windows of its buffers that cross.
 */
#ifndef HEDDLE_KERNEL_DEVICE_PRIVATE_H
#define HEDDLE_KERNEL_DEVICE_PRIVATE_H

#include "partition/kernel/launch/kernel_private.h"
#include "partition/kernel/access/windows.h"

/** What tells when a part's steps were done, where they follow each other unwatched. */
enum device_event { EVENT_FIRST, EVENT_SENT, EVENT_COMPUTED, EVENT_FETCHED, NEVENTS };

/** What a part writes of a buffer: what was there before, and what is there now. */
struct window_copy {
	struct kernel_layout layout;
	unsigned char *before, *after;
	bool home; /* all of it is written and nothing read: it is fetched where it belongs */
};

/** The kernel, compiled for one way of launching. */
struct device_form {
	enum ndrange_way way;
	cl_program program;
	cl_kernel kernel; /* NULL: not compiled yet */
};

struct device_memory {
	struct device_form ranges, whole; /* of groups, and all of them */
	struct device_form *form;         /* the one that a part launches */
	cl_context context;
	struct pieces_plan *plan; /* of the latest launch in pieces; NULL: none */
	cl_command_queue second;  /* of a part in pieces; NULL: it is not */
	cl_command_queue queue;   /* during a part: one of ours, or StarPU's */
	cl_device_id device;
	unsigned node;                              /* StarPU's, which knows of: */
	cl_mem buffers[HEDDLE_KERNEL_MAXARGUMENTS]; /* of its own */
	size_t bytes[HEDDLE_KERNEL_MAXARGUMENTS];
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
	cl_event events[NEVENTS];
	struct window_copy copies[HEDDLE_KERNEL_MAXARGUMENTS];
	double begin_us;
};

/** Refuses with the name of kernel and worker, and OpenCL's error. @return -errno */
int device_refuse(const struct part *part, const char *what, cl_int error);

unsigned char *host_of(const struct heddle_kernel_request *request, unsigned a);

/** A buffer of the device's own, as large as an argument. @return 0 or -errno after a message */
int buffer_make(struct part *part, unsigned a);

/** The kernel's arguments; buffers exist. @return 0 or -errno after a message */
int arguments_set(struct part *part);

/* ---- forms_starpu.c ---- */

/** Chooses a part's form of the kernel, and compiles it where it is needed first.
 * @return 0 or -errno after a message */
int form_use(struct part *part);
/** Whether that has been done for a part of so many groups. */
bool form_ready(const struct heddle_kernel_request *request, struct device_memory *memory,
                size_t n);
/** Frees what was compiled. */
void forms_free(struct device_memory *memory);

/* ---- pieces_starpu.c ---- */

/** Whether a direct part is to be cut; it knows into how many pieces then. */
bool pieces_wanted(struct part *part);
/** Finds out what each piece needs. @return whether the part can be cut */
bool pieces_prepare(struct part *part);
/** It cannot, nor can others like it. */
void pieces_give_up(struct part *part);
/** Enqueues all of them, on the part's queue and on the second. @return 0 or -errno after a
 * message */
int pieces_begin(struct part *part);
/** The part has ended well. */
void pieces_learn(const struct part *part);

/** Frees a buffer of a device's own. */
void buffer_free(struct device_memory *memory, unsigned a);

bool is_buffer(const struct heddle_kernel_argument *argument);

/** Where a command's event goes; the one that was there is released. NULL: where it does not
 * matter. */
cl_event *device_event(struct part *part, enum device_event which);

/** Waits for what was enqueued. @return 0 or -errno after a message */
int device_finish(struct part *part, const char *what);

/** Brings about that the device has, or will have before what is enqueued next, what it
 * reads; buffers exist.
 * @param[out] copies an entry for each argument, to be given to transfer_end()
 * @return 0 or -errno after a message */
int transfer_in(struct part *part, const struct index_use *uses, struct window_copy *copies);

/** Asks for what the device wrote, in a part that takes turns also waits for it.
 * @return 0 or -errno after a message */
int transfer_out(struct part *part, struct window_copy *copies);

/** Puts what has come home where it belongs. */
void transfer_merge(struct part *part, struct window_copy *copies);

/** Frees the copies.
 * @param status of the part: of one that failed, what it may have changed in place is
 * brought back */
void transfer_end(struct part *part, struct window_copy *copies, int status);

#endif
