/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How the windows of a part's buffers cross to its device and back. Devices transfer at the same
 * time, each by its worker's thread. Devices that share a bus (HEDDLE_KERNEL_BUSES) take turns. A
 * device in the host's memory, such as a CPU, uses the host's arrays where that is safe.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/launch/device_starpu.h"
#include "partition/kernel/launch/kept_starpu.h"
#include "support/message.h"

/* Bytes up to which a transfer is small. */
enum { SMALL = 65536 };

/* ---- commands ---- */

int kernel_refuse(const struct part *part, const char *what, cl_int error)
{
	bool full = error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_RESOURCES ||
	            error == CL_OUT_OF_HOST_MEMORY;
	char worker[64];

	starpu_worker_get_name(part->device->worker, worker, sizeof(worker));
	return heddle_refuse(full ? -ENOMEM : -EIO, "kernel %s on %s: %s: %s",
	                     part->request->kernel->name, worker, what,
	                     starpu_opencl_error_string(error));
}

cl_event *kernel_event(struct part *part, enum device_event which)
{
	cl_event *event = &part->device->memory->events[which];

	if (*event)
		clReleaseEvent(*event);
	*event = NULL;
	return part->turns || part->unprofiled ? NULL : event;
}

int kernel_finish(struct part *part, const char *what)
{
	cl_int error = clFinish(part->device->memory->queue);

	return error ? kernel_refuse(part, what, error) : 0;
}

/* ---- buses ---- */

static starpu_pthread_mutex_t buses[SPLIT_MAXBUSES];

static void buses_init(void)
{
	for (unsigned b = 0; b < SPLIT_MAXBUSES; b++)
		starpu_pthread_mutex_init(&buses[b], NULL);
}

/* A part that takes no turns does not take the bus: its last transfer waits until it has
 * computed, and parts of other launches would wait as long. */
static void bus_take(const struct part *part)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, buses_init);
	if (part->turns)
		starpu_pthread_mutex_lock(&buses[part->device->bus]);
}

static void bus_leave(const struct part *part)
{
	if (part->turns)
		starpu_pthread_mutex_unlock(&buses[part->device->bus]);
}

/* ---- in place ---- */

/* Finds the buffer that is an array of the host. The device computes in the host's memory
 * (shares_memory()), so both see the same bytes at all times. A buffer of an array that was freed
 * is not used again. */
static int array_find(struct part *part, unsigned a, cl_mem_flags flags)
{
	struct device_memory *memory = part->device->memory;
	struct device_array *array = &memory->arrays[a];
	void *host = kernel_host_of(part->request, a);
	size_t bytes = part->request->bytes[a];
	cl_int error;

	if (array->buffer && array->host == host && array->bytes == bytes && array->flags == flags)
		return 0;
	if (array->buffer)
		clReleaseMemObject(array->buffer);
	*array = (struct device_array){NULL, host, bytes, flags};
	array->buffer = clCreateBuffer(memory->context, flags, bytes, host, &error);
	if (!error)
		return 0;
	array->buffer = NULL;
	return kernel_refuse(part, "use of the host's memory", error);
}

static int host_use(struct part *part, unsigned a, const struct index_use *use,
                    struct window_copy *copy)
{
	cl_mem_flags access =
	    index_window_empty(&use->write) ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE;
	int status = array_find(part, a, access | CL_MEM_USE_HOST_PTR);

	if (status)
		return status;
	part->device->memory->in_place[a] = part->device->memory->arrays[a].buffer;
	copy->layout = kernel_layout(&use->write);
	part->in_place_bytes += kernel_layout(&use->read).bytes;
	part->out_place_bytes += copy->layout.bytes;
	if (index_window_empty(&use->write) || index_window_empty(&use->read))
		return 0;
	copy->before = malloc(copy->layout.bytes);
	if (!copy->before)
		return -ENOMEM;
	kernel_merge_pack(copy->before, kernel_host_of(part->request, a), &copy->layout);
	return 0;
}

/* ---- across ---- */

void kernel_buffer_free(struct device_memory *memory, unsigned a)
{
	if (!memory->buffers[a])
		return;
	clReleaseMemObject(memory->buffers[a]);
	starpu_memory_deallocate(memory->node, memory->bytes[a]);
	memory->buffers[a] = NULL;
}

/* What a kernel does with an image, by the analysis and by the caller. */
static cl_mem_flags image_access(const struct heddle_kernel_request *request, unsigned a)
{
	const struct index_kernel *index = &request->kernel->index;
	enum starpu_data_access_mode mode = request->given.arguments[a].mode;
	bool reads = false, writes = false;

	for (unsigned i = 0; i < index->naccesses; i++)
		if (index->accesses[i].argument == (int)a) {
			reads |= index->accesses[i].read && mode != STARPU_W;
			writes |= index->accesses[i].write && mode != STARPU_R;
		}
	return reads == writes ? CL_MEM_READ_WRITE : writes ? CL_MEM_WRITE_ONLY : CL_MEM_READ_ONLY;
}

/* Makes a buffer as large as the array, so that addresses in kernels stay the same. StarPU counts
 * its bytes, and keeps less where memory is short. */
static int buffer_make(struct part *part, unsigned a)
{
	struct device_memory *memory = part->device->memory;
	const struct heddle_kernel_image *given =
	    kernel_image_of(&part->request->given.arguments[a]);
	struct heddle_kernel_image image = {0};
	size_t bytes = part->request->bytes[a];
	cl_int error;

	if (given)
		image = *given;
	image.pixels = NULL;
	if (memory->buffers[a] && memory->bytes[a] == bytes &&
	    !memcmp(&memory->images[a], &image, sizeof(image)))
		return 0;
	kernel_buffer_free(memory, a);
	memory->bytes[a] = bytes;
	memory->images[a] = image;
	memory->buffers[a] = kernel_memory_create(memory->context, &image, bytes,
	                                          image_access(part->request, a), &error);
	if (error) {
		memory->buffers[a] = NULL;
		return kernel_refuse(part, "memory for an argument", error);
	}
	starpu_memory_allocate(memory->node, bytes, STARPU_MEMORY_OVERFLOW);
	return 0;
}

int kernel_buffer_find(struct part *part, unsigned a)
{
	struct device_memory *memory = part->device->memory;

	memory->kept[a] = kernel_kept_take(part, a);
	if (!memory->kept[a])
		return buffer_make(part, a);
	kernel_buffer_free(memory, a); /* of the dry run, or of other data */
	return 0;
}

cl_mem kernel_buffer(const struct device_memory *memory, unsigned a)
{
	return memory->in_place[a] ? memory->in_place[a]
	       : memory->kept[a]   ? kernel_kept_buffer(memory->kept[a])
	                           : memory->buffers[a];
}

/* Where the thread has nothing else to do, it waits for each transfer: implementations copy in
 * the calling thread then and wake none of theirs (200 us less on a GPU). */
static cl_bool waits(const struct part *part)
{
	return !part->direct || part->request->waits;
}

/* @param layout of an image: of whole rows */
static int window_send(struct part *part, unsigned a, const struct kernel_layout *layout,
                       const void *from, size_t stride)
{
	const struct heddle_kernel_image *image =
	    kernel_image_of(&part->request->given.arguments[a]);
	struct device_memory *memory = part->device->memory;
	cl_event *event;
	/* A small transfer goes with the commands. */
	cl_bool waited = waits(part) && layout->bytes > SMALL;
	cl_int error;

	if (!layout->bytes)
		return 0;
	event = kernel_event(part, part->in_bytes ? EVENT_SENT : EVENT_FIRST);
	part->in_bytes += layout->bytes;
	if (image)
		error = kernel_image_send(
		    memory->queue, kernel_buffer(memory, a), image,
		    (struct kernel_span){layout->first, layout->first + layout->bytes}, from,
		    waited, event);
	else if (layout->by_rows)
		error = clEnqueueWriteBufferRect(
		    memory->queue, kernel_buffer(memory, a), waited,
		    (size_t[]){layout->first % layout->pitch, layout->first / layout->pitch, 0},
		    (size_t[]){0, 0, 0}, (size_t[]){layout->width, layout->rows, 1}, layout->pitch,
		    0, stride, 0, from, 0, NULL, event);
	else
		error = clEnqueueWriteBuffer(memory->queue, kernel_buffer(memory, a), waited,
		                             layout->first, layout->bytes, from, 0, NULL, event);
	return error ? kernel_refuse(part, "sending data", error) : 0;
}

/* Sends what is read, but for what the device holds. */
static int read_send(struct part *part, unsigned a, const struct kernel_layout *layout)
{
	const unsigned char *host = kernel_host_of(part->request, a);
	struct kept_copy *copy = part->device->memory->kept[a];
	const struct heddle_kernel_image *image =
	    kernel_image_of(&part->request->given.arguments[a]);
	struct kernel_span missing[KEPT_PIECES];
	size_t before = part->in_bytes, sent;
	unsigned n = copy ? kernel_kept_missing(copy, layout, missing) : 1;
	int status = 0;

	if (!copy || (n && layout->by_rows))
		return window_send(part, a, layout, host + layout->first, layout->pitch);
	for (unsigned i = 0; i < n && !status; i++) {
		struct kernel_span span =
		    image ? kernel_image_cover(image, missing[i]) : missing[i];
		struct kernel_layout piece = {.first = span.first, .bytes = span.end - span.first};

		status = window_send(part, a, &piece, host + piece.first, 0);
	}
	sent = part->in_bytes - before;
	part->kept_bytes += layout->bytes > sent ? layout->bytes - sent : 0;
	return status;
}

/* Whether all of each buffer crosses, as SKMD does it for kernels that are not contiguous. */
static bool all_crosses(const struct part *part)
{
	return part->request->scattered && part->n < part->request->stats.groups;
}

static void layouts_make(const struct part *part, unsigned a, const struct index_use *use,
                         struct window_copy *copy)
{
	const struct heddle_kernel_image *image =
	    kernel_image_of(&part->request->given.arguments[a]);
	struct index_window all = {.end = part->request->bytes[a], .known = true};

	copy->layout = copy->taken = kernel_layout(&use->write);
	copy->at = 0;
	if (index_window_empty(&use->write) || !(image || all_crosses(part)))
		return;
	if (image && !all_crosses(part)) {
		struct kernel_span rows = kernel_image_cover(
		    image, (struct kernel_span){use->write.first, use->write.end});

		all.first = rows.first;
		all.end = rows.end;
	}
	copy->layout = kernel_layout(&all);
	copy->taken.stride = copy->taken.pitch;
	copy->at = copy->taken.first - copy->layout.first;
}

/* Sends one buffer. Where the device may leave bytes of the window as they were, it gets them
 * from a copy, with which its results are compared. The array may change meanwhile: other devices
 * write their results to it. */
static int buffer_send(struct part *part, unsigned a, const struct index_use *use,
                       struct window_copy *copy)
{
	const unsigned char *host = kernel_host_of(part->request, a);
	struct kernel_layout read = kernel_layout(&use->read);
	bool whole = use->write.dense;
	int status = 0;

	layouts_make(part, a, use, copy);
	/* The gaps between rows must not be written back. */
	copy->complete = !index_window_empty(&use->write) && use->write.dense &&
	                 !all_crosses(part) && index_window_empty(&use->read) && !part->dry &&
	                 !kernel_image_of(&part->request->given.arguments[a]) &&
	                 (!use->write.pitch || copy->layout.by_rows);
	if (!index_window_empty(&use->write) && !copy->complete && !part->dry) {
		copy->after = malloc(copy->layout.bytes);
		copy->before = whole ? NULL : malloc(copy->layout.bytes);
		if (!copy->after || (!copy->before && !whole))
			return -ENOMEM;
	}
	if (!copy->before || !kernel_layout_same(&read, &copy->layout))
		status = read_send(part, a, &read);
	if (status || whole || index_window_empty(&use->write))
		return status;
	if (part->dry)
		return window_send(part, a, &copy->layout, host + copy->layout.first,
		                   copy->layout.pitch);
	kernel_merge_pack(copy->before, host, &copy->layout);
	return window_send(part, a, &copy->layout, copy->before, copy->layout.stride);
}

static int window_fetch(struct part *part, unsigned a, const struct window_copy *copy)
{
	const struct heddle_kernel_image *image =
	    kernel_image_of(&part->request->given.arguments[a]);
	struct device_memory *memory = part->device->memory;
	const struct kernel_layout *layout = &copy->layout;
	void *to = copy->complete ? kernel_host_of(part->request, a) + layout->first : copy->after;
	size_t stride = copy->complete ? layout->pitch : layout->stride;
	cl_event *event = kernel_event(part, EVENT_FETCHED);
	cl_int error;

	part->out_bytes += layout->bytes;
	if (image)
		error = kernel_image_fetch(
		    memory->queue, kernel_buffer(memory, a), image,
		    (struct kernel_span){layout->first, layout->first + layout->bytes}, to,
		    waits(part), event);
	else if (layout->by_rows)
		error = clEnqueueReadBufferRect(
		    memory->queue, kernel_buffer(memory, a), waits(part),
		    (size_t[]){layout->first % layout->pitch, layout->first / layout->pitch, 0},
		    (size_t[]){0, 0, 0}, (size_t[]){layout->width, layout->rows, 1}, layout->pitch,
		    0, stride, 0, to, 0, NULL, event);
	else
		error = clEnqueueReadBuffer(memory->queue, kernel_buffer(memory, a), waits(part),
		                            layout->first, layout->bytes, to, 0, NULL, event);
	return error ? kernel_refuse(part, "fetching results", error) : 0;
}

/* Whether it stays on the device. Nothing is merged then. */
static bool result_stays(struct part *part, unsigned a, struct window_copy *copy)
{
	if (all_crosses(part) || !kernel_kept_stay(part, a))
		return false;
	free(copy->before);
	free(copy->after);
	copy->before = copy->after = NULL;
	copy->complete = false;
	return true;
}

/* ---- all buffers ---- */

static bool is_first(const struct heddle_kernel_request *request, unsigned a)
{
	return kernel_is_buffer(&request->given.arguments[a]) && request->same[a] == (int)a;
}

/* Enqueues the inputs without waiting. On a bus that other parts of the launch use, it waits, so
 * that it can leave the bus. */
int kernel_transfer_in(struct part *part, const struct index_use *uses, struct window_copy *copies)
{
	const struct heddle_kernel_request *request = part->request;
	double start_us;
	int status = 0;

	bus_take(part);
	start_us = starpu_timing_now();
	for (unsigned a = 0; a < request->given.narguments && !status; a++) {
		if (!is_first(request, a))
			continue;
		if (kernel_in_place(request, part->device, a, &uses[a], part->dry)) {
			status = host_use(part, a, &uses[a], &copies[a]);
			continue;
		}
		status = kernel_buffer_find(part, a);
		if (!status)
			status = buffer_send(part, a, &uses[a], &copies[a]);
	}
	if (part->turns && !status) {
		status = kernel_finish(part, "sending data");
		part->in_us = starpu_timing_now() - start_us;
	}
	bus_leave(part);
	return status;
}

/* Everything is fetched before anything is merged. So a device that fails changes main memory
 * only where another device will write completely. */
int kernel_transfer_out(struct part *part, struct window_copy *copies)
{
	double start_us;
	int status = 0;

	bus_take(part);
	start_us = starpu_timing_now();
	part->staying = part->request->staying | kernel_kept_staying(part->request);
	for (unsigned a = 0; a < part->request->given.narguments && !status; a++)
		if ((copies[a].after || copies[a].complete) && !result_stays(part, a, &copies[a]))
			status = window_fetch(part, a, &copies[a]);
	if (part->turns && !status) {
		status = kernel_finish(part, "fetching results");
		part->out_us = starpu_timing_now() - start_us;
	}
	bus_leave(part);
	return status;
}

void kernel_transfer_merge(struct part *part, struct window_copy *copies)
{
	double start_us = starpu_timing_now();

	for (unsigned a = 0; a < part->request->given.narguments; a++)
		if (copies[a].after)
			kernel_merge_rows(kernel_host_of(part->request, a),
			                  copies[a].before ? copies[a].before + copies[a].at : NULL,
			                  copies[a].after + copies[a].at, &copies[a].taken);
	part->merge_us = starpu_timing_now() - start_us;
	part->out_us += part->merge_us;
}

void kernel_transfer_end(struct part *part, struct window_copy *copies, int status)
{
	struct device_memory *memory = part->device->memory;

	for (unsigned a = 0; a < part->request->given.narguments; a++) {
		if (memory->in_place[a]) {
			memory->in_place[a] = NULL;
			if (status && copies[a].before)
				kernel_merge_rows(kernel_host_of(part->request, a), NULL,
				                  copies[a].before, &copies[a].layout);
		}
		free(copies[a].before);
		free(copies[a].after);
	}
}

#endif
