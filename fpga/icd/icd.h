/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * OpenCL vendor driver of simulated FPGAs: devices of type ACCELERATOR without a
 * compiler, whose programs are designs (fpga/design.h). What OpenCL 1.2 functions
 * do and answer is what the specification says; a function that is not here answers
 * CL_INVALID_OPERATION.
 */
#ifndef FPGA_ICD_H
#define FPGA_ICD_H

#define CL_TARGET_OPENCL_VERSION 120
#ifndef CL_USE_DEPRECATED_OPENCL_1_1_APIS /* StarPU 1.4's flags say so, too */
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#endif
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "fpga/events.h"
#include "fpga/run.h"

enum object_type { DEAD, PLATFORM, DEVICE, CONTEXT, QUEUE, MEMORY, PROGRAM, KERNEL, EVENT };

/** What every object begins with: the loader wants the table first. */
struct object {
	cl_icd_dispatch *dispatch;
	enum object_type type;
	unsigned references;
	void (*destroy)(void *object); /**< frees what belongs to it, not the object */
};

#define FPGA_MAX_DEVICES 8

struct _cl_platform_id {
	struct object object;
};

struct _cl_device_id {
	struct object object;
	char name[32];
	pthread_mutex_t mutex; /**< of used and modelled */
	size_t used;           /**< bytes of its memory */
	cl_ulong modelled;     /**< ns that its commands so far take on the modelled board */
	pthread_mutex_t dma;   /**< held by the transfer under way */
	pthread_mutex_t logic; /**< held by the kernel that runs */
};

struct _cl_context {
	struct object object;
	cl_uint ndevices;
	cl_device_id devices[FPGA_MAX_DEVICES];
};

/** A part of a buffer that the host sees. */
struct mapping {
	struct mapping *next;
	size_t offset, size;
	bool written; /**< by the host: it goes back to the device */
};

struct _cl_mem {
	struct object object;
	cl_context context;
	cl_mem_flags flags;
	size_t size;
	void *host; /**< as given with CL_MEM_USE_HOST_PTR */
	uint8_t *bytes;
	pthread_mutex_t mutex; /**< of what follows */
	struct mapping *mappings;
};

struct _cl_program {
	struct object object;
	cl_context context;
	cl_device_id device;
	unsigned char *binary;
	size_t size;
	void *library;
	int fd; /**< where the library was loaded from; open as long as it is */
	const struct fpga_design *design;
	void *instance; /**< once it has been built; device->logic guards it */
};

struct value {
	bool set;
	cl_mem memory;
	uint64_t number;
};

struct _cl_kernel {
	struct object object;
	cl_program program;
	struct value values[FPGA_MAX_ARGUMENTS];
};

struct _cl_event {
	struct object object;
	cl_context context;
	cl_command_queue queue;
	cl_command_type command;
	bool profiled;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	cl_int status;
	cl_ulong times[4];         /**< ns: queued, submitted, begun, ended */
	cl_ulong clocks, modelled; /**< clocks; ns */
};

/** Where a transfer begins, and the bytes from a row and from a slice of it to the next. */
struct place {
	size_t offset, row, slice;
};

/** Bytes of a row, rows of a slice, slices. All at once where that is no rectangle. */
struct region {
	size_t width, height, depth;
};

#define FPGA_MAX_PATTERN 128

/** A command on its way. It holds a reference to all it names. */
struct command {
	struct command *next;
	cl_command_type type;
	cl_mem from, to; /**< NULL: the host */
	struct place from_place, to_place;
	/** Moves the bytes of a transfer. @return ns on the modelled board; NULL: nothing moves */
	cl_ulong (*move)(cl_device_id device, struct command *command);
	struct region region; /**< width 0: nothing moves */
	void *host;
	uint8_t pattern[FPGA_MAX_PATTERN];
	size_t pattern_size; /**< above 0: it fills `to` */
	cl_kernel kernel;
	struct value values[FPGA_MAX_ARGUMENTS];
	cl_uint nwaits;
	cl_event *waits;
	cl_event event;
};

struct _cl_command_queue {
	struct object object;
	cl_context context;
	cl_device_id device;
	cl_command_queue_properties properties;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct command *first, **last;
	bool busy, end;
};

/* ---- object.c ---- */

/** The driver's table, which every object points to. */
extern cl_icd_dispatch fpga_dispatch;

/** A new object of `size` bytes with one reference, else 0; NULL: memory is short. */
void *object_new(enum object_type type, size_t size, void (*destroy)(void *));
/** Whether that is a living object of that type. Objects whose last reference went a
 * short while ago are known to be dead. */
bool object_is(const void *object, enum object_type type);
void object_retain(void *object);
void object_release(void *object);
/** Answers a query: `size` bytes at `value`, as clGet…Info() have it. */
cl_int object_answer(const void *value, size_t size, size_t room, void *to, size_t *needed);
#define ANSWER(type, value) object_answer(&(type){value}, sizeof(type), room, to, needed)
#define ANSWER_TEXT(text) object_answer(text, strlen(text) + 1, room, to, needed)

/** Stores a function's error where the caller wants it; returns the object. */
void *object_result(void *object, cl_int error, cl_int *to);
cl_ulong object_now(void);

/* ---- what the others put into the table ---- */
void device_functions(cl_icd_dispatch *table);
void memory_functions(cl_icd_dispatch *table);
void program_functions(cl_icd_dispatch *table);
void queue_functions(cl_icd_dispatch *table);
void transfer_functions(cl_icd_dispatch *table);
void event_functions(cl_icd_dispatch *table);

/* ---- device.c ---- */

/** Finds out how many devices there are. */
void device_begin(void);

bool device_in_context(cl_context context, cl_device_id device);

/** A command is done that takes so many ns on the modelled board. */
void device_modelled(cl_device_id device, cl_ulong ns);

/** The device's memory is busy with a transfer of so many bytes from here on: not for
 * less time than HEDDLE_FPGA_BANDWIDTH and HEDDLE_FPGA_LATENCY say.
 * @param move what really moves them; NULL: nothing
 * @return ns that they say */
cl_ulong device_transfer(cl_device_id device, size_t size, void (*move)(void *arg), void *arg);

/* ---- memory.c ---- */

/** Remembers that the host sees a part of a buffer. @return false: no memory. */
bool memory_map(cl_mem memory, size_t offset, size_t size, bool written);
/** Forgets it. @param[out] size of what goes back to the device
 * @return false: nothing is mapped there */
bool memory_unmap(cl_mem memory, const void *at, size_t *size);

/* ---- program.c ---- */

/** What kernel arguments are good for. @return CL_SUCCESS; CL_INVALID_KERNEL_ARGS. */
cl_int kernel_check(const struct _cl_kernel *kernel);
/** Clock of the modelled board, kHz. */
uint32_t kernel_clock(const struct fpga_design *design);
/** Runs a kernel with these arguments. @return CL_SUCCESS; CL_OUT_OF_RESOURCES after
 * a message: no end, an error of the design's own, broken streams. */
cl_int kernel_run(cl_kernel kernel, const struct value *values, cl_ulong *clocks);

/* ---- queue.c ---- */

/** Checks the wait list, and hands a copy of the command over.
 * @param queue one that is a queue */
cl_int queue_enqueue(cl_command_queue queue, const struct command *command, cl_bool blocking,
                     cl_uint nwaits, const cl_event *waits, cl_event *event);

/* ---- event.c ---- */

/** @return NULL: memory is short. */
cl_event event_new(cl_context context, cl_command_queue queue, cl_command_type command);
void event_set(cl_event event, cl_int status);
/** Waits. @return its status: CL_COMPLETE or an error. */
cl_int event_wait(cl_event event);
/** Whether a wait list is one. @return CL_SUCCESS; CL_INVALID_EVENT_WAIT_LIST;
 * CL_INVALID_CONTEXT. */
cl_int events_check(cl_context context, cl_uint n, const cl_event *events);

#endif
