/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Commands that move data, markers and barriers. The first half of each pair of functions checks
 * and enqueues, in the program's thread; the second does the work, when the engine says.
 */
#include "config.h"

#include "partition/opencl/layer.h"

#include <stdlib.h>
#include <string.h>

/* ---- what all have in common ---- */

cl_int command_begin(struct queue *queue, cl_command_type type, cl_uint nwaits,
                     const cl_event *waits, struct event **event)
{
	cl_int error = waits_check(queue->context, nwaits, waits);

	if (error)
		return error;
	*event = event_make(queue->context, queue, type, 0);
	return *event ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

void command_memory(struct event *event, unsigned m, struct memory *memory)
{
	object_retain(memory);
	event->memory[m] = memory;
}

static struct memory *memory_of(const struct queue *queue, cl_mem id, cl_int *error)
{
	struct memory *memory = layer_object(id, MEMORY);

	*error = !memory                             ? CL_INVALID_MEM_OBJECT
	         : memory->context != queue->context ? CL_INVALID_CONTEXT
	                                             : CL_SUCCESS;
	return *error ? NULL : memory;
}

struct memory *buffer_of(const struct queue *queue, cl_mem id, cl_int *error)
{
	struct memory *memory = memory_of(queue, id, error);

	if (!memory || !memory->image)
		return memory;
	*error = CL_INVALID_MEM_OBJECT;
	return NULL;
}

static bool range_inside(const struct memory *memory, size_t offset, size_t bytes)
{
	return bytes && offset <= memory->bytes && bytes <= memory->bytes - offset;
}

static bool at_host(const struct memory *memory)
{
	return memory->whole->at_host;
}

bool command_quick(struct event *event)
{
	for (unsigned m = 0; m < 2; m++)
		if (event->memory[m] && at_host(event->memory[m]))
			return false;
	return true;
}

/* ---- reading and writing ---- */

static cl_int read_run(struct event *event)
{
	struct memory *memory = event->memory[0];
	cl_int error;

	if (!at_host(memory))
		return real->clEnqueueReadBuffer(event->queue->home, memory->home, CL_FALSE,
		                                 event->origin[0][0], event->bytes, event->pointer,
		                                 HOME_EVENTS(event));
	error = memory_fetch(memory, event->origin[0][0], event->bytes);
	if (!error)
		memmove(event->pointer, memory_host(memory) + event->origin[0][0], event->bytes);
	return error;
}

static cl_int write_run(struct event *event)
{
	struct memory *memory = event->memory[0];

	if (!at_host(memory))
		return real->clEnqueueWriteBuffer(event->queue->home, memory->home, CL_FALSE,
		                                  event->origin[0][0], event->bytes, event->pointer,
		                                  HOME_EVENTS(event));
	memmove(memory_host(memory) + event->origin[0][0], event->pointer, event->bytes);
	memory_changed(memory, event->origin[0][0], event->bytes);
	return CL_SUCCESS;
}

static cl_int transfer(struct queue *queue, cl_mem id, bool writes, cl_bool blocking, size_t offset,
                       size_t bytes, void *pointer, cl_uint nwaits, const cl_event *waits,
                       cl_event *given)
{
	struct event *event;
	cl_int error;
	struct memory *memory = buffer_of(queue, id, &error);

	if (error)
		return error;
	if (!pointer || !range_inside(memory, offset, bytes))
		return CL_INVALID_VALUE;
	if (!(writes ? host_writes(memory) : host_reads(memory)))
		return CL_INVALID_OPERATION;
	error = command_begin(queue, writes ? CL_COMMAND_WRITE_BUFFER : CL_COMMAND_READ_BUFFER,
	                      nwaits, waits, &event);
	if (error)
		return error;
	command_memory(event, 0, memory);
	event->run = writes ? write_run : read_run;
	event->quick = command_quick;
	event->origin[0][0] = offset;
	event->bytes = bytes;
	event->pointer = pointer;
	return event_enqueue(event, nwaits, waits, blocking, given);
}

static cl_int CL_API_CALL enqueue_read(cl_command_queue id, cl_mem memory, cl_bool blocking,
                                       size_t offset, size_t bytes, void *to, cl_uint nwaits,
                                       const cl_event *waits, cl_event *event)
{
	struct queue *queue = layer_object(id, QUEUE);

	if (!queue)
		return real->clEnqueueReadBuffer(id, memory, blocking, offset, bytes, to, nwaits,
		                                 waits, event);
	return transfer(queue, memory, false, blocking, offset, bytes, to, nwaits, waits, event);
}

static cl_int CL_API_CALL enqueue_write(cl_command_queue id, cl_mem memory, cl_bool blocking,
                                        size_t offset, size_t bytes, const void *from,
                                        cl_uint nwaits, const cl_event *waits, cl_event *event)
{
	struct queue *queue = layer_object(id, QUEUE);

	if (!queue)
		return real->clEnqueueWriteBuffer(id, memory, blocking, offset, bytes, from, nwaits,
		                                  waits, event);
	return transfer(queue, memory, true, blocking, offset, bytes, (void *)from, nwaits, waits,
	                event);
}

/* ---- boxes ---- */

/* Where a box is: bytes from row to row and from slice to slice, 0 for no gaps. */
static cl_int pitches_fill(const size_t *region, size_t *row, size_t *slice)
{
	if (!*row)
		*row = region[0];
	if (*row < region[0])
		return CL_INVALID_VALUE;
	if (!*slice)
		*slice = region[1] * *row;
	return *slice < region[1] * *row || *slice % *row ? CL_INVALID_VALUE : CL_SUCCESS;
}

static size_t box_begin(const size_t *origin, size_t row, size_t slice)
{
	return origin[0] + origin[1] * row + origin[2] * slice;
}

/* The bytes from the first of a box to the last. */
static size_t box_bytes(const size_t *region, size_t row, size_t slice)
{
	return (region[2] - 1) * slice + (region[1] - 1) * row + region[0];
}

static void box_copy(unsigned char *to, size_t to_row, size_t to_slice, const unsigned char *from,
                     size_t from_row, size_t from_slice, const size_t *region)
{
	for (size_t z = 0; z < region[2]; z++)
		for (size_t y = 0; y < region[1]; y++)
			memmove(to + z * to_slice + y * to_row,
			        from + z * from_slice + y * from_row, region[0]);
}

/* The box's part of a buffer (side 0) or of host memory (side 1). */
static size_t side_begin(const struct event *event, unsigned side)
{
	return box_begin(event->origin[side], event->row[side], event->slice[side]);
}

/* The host gets the bytes from the first of a buffer's box to the last. */
static cl_int box_fetch(const struct event *event, unsigned side)
{
	return memory_fetch(event->memory[event->memory[1] ? side : 0], side_begin(event, side),
	                    box_bytes(event->region, event->row[side], event->slice[side]));
}

static cl_int read_box_run(struct event *event)
{
	struct memory *memory = event->memory[0];
	cl_int error;

	if (!at_host(memory))
		return real->clEnqueueReadBufferRect(
		    event->queue->home, memory->home, CL_FALSE, event->origin[0], event->origin[1],
		    event->region, event->row[0], event->slice[0], event->row[1], event->slice[1],
		    event->pointer, HOME_EVENTS(event));
	error = box_fetch(event, 0);
	if (error)
		return error;
	box_copy(event->pointer + side_begin(event, 1), event->row[1], event->slice[1],
	         memory_host(memory) + side_begin(event, 0), event->row[0], event->slice[0],
	         event->region);
	return CL_SUCCESS;
}

static cl_int write_box_run(struct event *event)
{
	struct memory *memory = event->memory[0];
	size_t begin = side_begin(event, 0);
	cl_int error;

	if (!at_host(memory))
		return real->clEnqueueWriteBufferRect(
		    event->queue->home, memory->home, CL_FALSE, event->origin[0], event->origin[1],
		    event->region, event->row[0], event->slice[0], event->row[1], event->slice[1],
		    event->pointer, HOME_EVENTS(event));
	error = box_fetch(event, 0);
	if (error)
		return error;
	box_copy(memory_host(memory) + begin, event->row[0], event->slice[0],
	         event->pointer + side_begin(event, 1), event->row[1], event->slice[1],
	         event->region);
	memory_changed(memory, begin, box_bytes(event->region, event->row[0], event->slice[0]));
	return CL_SUCCESS;
}

static void box_take(struct event *event, unsigned side, const size_t *origin, size_t row,
                     size_t slice)
{
	memcpy(event->origin[side], origin, 3 * sizeof(*origin));
	event->row[side] = row;
	event->slice[side] = slice;
}

/* Checks a side of a box, and fills in what is left to us. */
static cl_int box_check(const struct memory *memory, const size_t *origin, const size_t *region,
                        size_t *row, size_t *slice)
{
	cl_int error;

	if (!origin || !region || !region[0] || !region[1] || !region[2])
		return CL_INVALID_VALUE;
	error = pitches_fill(region, row, slice);
	if (!error && memory &&
	    !range_inside(memory, box_begin(origin, *row, *slice), box_bytes(region, *row, *slice)))
		error = CL_INVALID_VALUE;
	return error;
}

static cl_int box_transfer(struct queue *queue, cl_mem id, bool writes, cl_bool blocking,
                           const size_t *origin, const size_t *host_origin, const size_t *region,
                           size_t row, size_t slice, size_t host_row, size_t host_slice,
                           void *pointer, cl_uint nwaits, const cl_event *waits, cl_event *given)
{
	struct event *event;
	cl_int error;
	struct memory *memory = buffer_of(queue, id, &error);

	if (!error)
		error = box_check(memory, origin, region, &row, &slice);
	if (!error)
		error = box_check(NULL, host_origin, region, &host_row, &host_slice);
	if (!error && !pointer)
		error = CL_INVALID_VALUE;
	if (!error && !(writes ? host_writes(memory) : host_reads(memory)))
		error = CL_INVALID_OPERATION;
	if (!error)
		error = command_begin(
		    queue, writes ? CL_COMMAND_WRITE_BUFFER_RECT : CL_COMMAND_READ_BUFFER_RECT,
		    nwaits, waits, &event);
	if (error)
		return error;
	command_memory(event, 0, memory);
	event->run = writes ? write_box_run : read_box_run;
	event->quick = command_quick;
	box_take(event, 0, origin, row, slice);
	box_take(event, 1, host_origin, host_row, host_slice);
	memcpy(event->region, region, sizeof(event->region));
	event->pointer = pointer;
	return event_enqueue(event, nwaits, waits, blocking, given);
}

static cl_int CL_API_CALL enqueue_read_box(cl_command_queue id, cl_mem memory, cl_bool blocking,
                                           const size_t *origin, const size_t *host_origin,
                                           const size_t *region, size_t row, size_t slice,
                                           size_t host_row, size_t host_slice, void *to,
                                           cl_uint nwaits, const cl_event *waits, cl_event *event)
{
	struct queue *queue = layer_object(id, QUEUE);

	if (!queue)
		return real->clEnqueueReadBufferRect(id, memory, blocking, origin, host_origin,
		                                     region, row, slice, host_row, host_slice, to,
		                                     nwaits, waits, event);
	return box_transfer(queue, memory, false, blocking, origin, host_origin, region, row, slice,
	                    host_row, host_slice, to, nwaits, waits, event);
}

static cl_int CL_API_CALL enqueue_write_box(cl_command_queue id, cl_mem memory, cl_bool blocking,
                                            const size_t *origin, const size_t *host_origin,
                                            const size_t *region, size_t row, size_t slice,
                                            size_t host_row, size_t host_slice, const void *from,
                                            cl_uint nwaits, const cl_event *waits, cl_event *event)
{
	struct queue *queue = layer_object(id, QUEUE);

	if (!queue)
		return real->clEnqueueWriteBufferRect(id, memory, blocking, origin, host_origin,
		                                      region, row, slice, host_row, host_slice,
		                                      from, nwaits, waits, event);
	return box_transfer(queue, memory, true, blocking, origin, host_origin, region, row, slice,
	                    host_row, host_slice, (void *)from, nwaits, waits, event);
}

/* ---- copying ---- */

static cl_int both_to_home(struct event *event)
{
	cl_int error = memory_to_home(event->memory[0]);

	return error ? error : memory_to_home(event->memory[1]);
}

static cl_int copy_run(struct event *event)
{
	struct memory *from = event->memory[0], *to = event->memory[1];
	size_t from_at = event->origin[0][0], to_at = event->origin[1][0];
	cl_int error;

	if (at_host(from) && at_host(to)) {
		error = memory_fetch(from, from_at, event->bytes);
		if (error)
			return error;
		memmove(memory_host(to) + to_at, memory_host(from) + from_at, event->bytes);
		memory_changed(to, to_at, event->bytes);
		return CL_SUCCESS;
	}
	error = both_to_home(event);
	return error ? error
	             : real->clEnqueueCopyBuffer(event->queue->home, from->home, to->home, from_at,
	                                         to_at, event->bytes, HOME_EVENTS(event));
}

/* Whether two ranges are parts of one buffer and overlap. */
static bool overlap(const struct memory *from, size_t from_at, const struct memory *to,
                    size_t to_at, size_t bytes)
{
	size_t a = from->offset + from_at, b = to->offset + to_at;

	return from->whole == to->whole && a < b + bytes && b < a + bytes;
}

static cl_int CL_API_CALL enqueue_copy(cl_command_queue id, cl_mem from_id, cl_mem to_id,
                                       size_t from_at, size_t to_at, size_t bytes, cl_uint nwaits,
                                       const cl_event *waits, cl_event *given)
{
	struct queue *queue = layer_object(id, QUEUE);
	struct memory *from, *to = NULL;
	struct event *event;
	cl_int error;

	if (!queue)
		return real->clEnqueueCopyBuffer(id, from_id, to_id, from_at, to_at, bytes, nwaits,
		                                 waits, given);
	from = buffer_of(queue, from_id, &error);
	if (!error)
		to = buffer_of(queue, to_id, &error);
	if (error)
		return error;
	if (!range_inside(from, from_at, bytes) || !range_inside(to, to_at, bytes))
		return CL_INVALID_VALUE;
	if (overlap(from, from_at, to, to_at, bytes))
		return CL_MEM_COPY_OVERLAP;
	error = command_begin(queue, CL_COMMAND_COPY_BUFFER, nwaits, waits, &event);
	if (error)
		return error;
	command_memory(event, 0, from);
	command_memory(event, 1, to);
	event->run = copy_run;
	event->quick = command_quick;
	event->origin[0][0] = from_at;
	event->origin[1][0] = to_at;
	event->bytes = bytes;
	return event_enqueue(event, nwaits, waits, false, given);
}

static cl_int copy_box_run(struct event *event)
{
	struct memory *from = event->memory[0], *to = event->memory[1];
	size_t begin = side_begin(event, 1);
	cl_int error;

	if (at_host(from) && at_host(to)) {
		error = box_fetch(event, 0);
		if (!error)
			error = box_fetch(event, 1);
		if (error)
			return error;
		box_copy(memory_host(to) + begin, event->row[1], event->slice[1],
		         memory_host(from) + side_begin(event, 0), event->row[0], event->slice[0],
		         event->region);
		memory_changed(to, begin, box_bytes(event->region, event->row[1], event->slice[1]));
		return CL_SUCCESS;
	}
	error = both_to_home(event);
	return error ? error
	             : real->clEnqueueCopyBufferRect(
	                   event->queue->home, from->home, to->home, event->origin[0],
	                   event->origin[1], event->region, event->row[0], event->slice[0],
	                   event->row[1], event->slice[1], HOME_EVENTS(event));
}

/* Whether boxes of one buffer overlap: of boxes that have the same rows and slices, by their
 * coordinates; of others, the bytes from the first to the last count. */
static bool boxes_overlap(const struct memory *from, const struct memory *to,
                          const struct event *event)
{
	bool apart = false, alike = from == to && event->row[0] == event->row[1] &&
	                            event->slice[0] == event->slice[1];

	if (from->whole != to->whole)
		return false;
	for (unsigned d = 0; alike && d < 3; d++)
		apart = apart || event->origin[0][d] >= event->origin[1][d] + event->region[d] ||
		        event->origin[1][d] >= event->origin[0][d] + event->region[d];
	return !apart && overlap(from, side_begin(event, 0), to, side_begin(event, 1),
	                         box_bytes(event->region, event->row[0], event->slice[0]));
}

static cl_int CL_API_CALL enqueue_copy_box(cl_command_queue id, cl_mem from_id, cl_mem to_id,
                                           const size_t *from_at, const size_t *to_at,
                                           const size_t *region, size_t from_row, size_t from_slice,
                                           size_t to_row, size_t to_slice, cl_uint nwaits,
                                           const cl_event *waits, cl_event *given)
{
	struct queue *queue = layer_object(id, QUEUE);
	struct memory *from, *to = NULL;
	struct event *event;
	cl_int error;

	if (!queue)
		return real->clEnqueueCopyBufferRect(id, from_id, to_id, from_at, to_at, region,
		                                     from_row, from_slice, to_row, to_slice, nwaits,
		                                     waits, given);
	from = buffer_of(queue, from_id, &error);
	if (!error)
		to = buffer_of(queue, to_id, &error);
	if (!error)
		error = box_check(from, from_at, region, &from_row, &from_slice);
	if (!error)
		error = box_check(to, to_at, region, &to_row, &to_slice);
	if (!error)
		error = command_begin(queue, CL_COMMAND_COPY_BUFFER_RECT, nwaits, waits, &event);
	if (error)
		return error;
	box_take(event, 0, from_at, from_row, from_slice);
	box_take(event, 1, to_at, to_row, to_slice);
	memcpy(event->region, region, sizeof(event->region));
	if (boxes_overlap(from, to, event)) {
		event_release(event);
		return CL_MEM_COPY_OVERLAP;
	}
	command_memory(event, 0, from);
	command_memory(event, 1, to);
	event->run = copy_box_run;
	event->quick = command_quick;
	return event_enqueue(event, nwaits, waits, false, given);
}

/* ---- filling ---- */

static cl_int fill_run(struct event *event)
{
	struct memory *memory = event->memory[0];
	size_t from = event->origin[0][0], piece = event->region[0];

	if (!at_host(memory))
		return real->clEnqueueFillBuffer(event->queue->home, memory->home, event->pattern,
		                                 piece, from, event->bytes, HOME_EVENTS(event));
	for (size_t at = 0; at < event->bytes; at += piece)
		memcpy(memory_host(memory) + from + at, event->pattern, piece);
	if (event->bytes)
		memory_changed(memory, from, event->bytes);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL enqueue_fill(cl_command_queue id, cl_mem memory_id, const void *pattern,
                                       size_t piece, size_t offset, size_t bytes, cl_uint nwaits,
                                       const cl_event *waits, cl_event *given)
{
	struct queue *queue = layer_object(id, QUEUE);
	struct memory *memory;
	struct event *event;
	cl_int error;

	if (!queue)
		return real->clEnqueueFillBuffer(id, memory_id, pattern, piece, offset, bytes,
		                                 nwaits, waits, given);
	memory = buffer_of(queue, memory_id, &error);
	if (error)
		return error;
	/* Unlike a copy, it may have no bytes. */
	if (!pattern || !piece || piece > sizeof(event->pattern) || piece & (piece - 1) ||
	    offset % piece || bytes % piece ||
	    (bytes ? !range_inside(memory, offset, bytes) : offset > memory->bytes))
		return CL_INVALID_VALUE;
	error = command_begin(queue, CL_COMMAND_FILL_BUFFER, nwaits, waits, &event);
	if (error)
		return error;
	command_memory(event, 0, memory);
	event->run = fill_run;
	event->quick = command_quick;
	memcpy(event->pattern, pattern, piece);
	event->region[0] = piece;
	event->origin[0][0] = offset;
	event->bytes = bytes;
	return event_enqueue(event, nwaits, waits, false, given);
}

/* ---- mapping ---- */

/* Data at home is fetched; where home and the host have one memory, the host gets it. */
static cl_int map_run(struct event *event)
{
	struct memory *memory = event->memory[0];

	if (at_host(memory) && !(event->flags & CL_MAP_WRITE_INVALIDATE_REGION))
		return memory_fetch(memory, event->origin[0][0], event->bytes);
	if (at_host(memory)) {
		/* Nobody is to bring what was there over what the program writes. */
		memory_changed(memory, event->origin[0][0], event->bytes);
		return CL_SUCCESS;
	}
	if (memory->whole->shared)
		return memory_to_host(memory);
	if (event->flags & CL_MAP_WRITE_INVALIDATE_REGION)
		return CL_SUCCESS;
	return real->clEnqueueReadBuffer(event->queue->home, memory->home, CL_TRUE,
	                                 event->origin[0][0], event->bytes,
	                                 memory_host(memory) + event->origin[0][0], 0, NULL, NULL);
}

static cl_int unmap_run(struct event *event)
{
	struct memory *memory = event->memory[0];
	size_t from = event->origin[0][0];

	if (!(event->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)))
		return CL_SUCCESS;
	if (at_host(memory)) {
		memory_changed(memory, from, event->bytes);
		return CL_SUCCESS;
	}
	if (memory->whole->shared) /* home has taken it meanwhile */
		return CL_SUCCESS;
	return real->clEnqueueWriteBuffer(event->queue->home, memory->home, CL_TRUE, from,
	                                  event->bytes, memory_host(memory) + from, 0, NULL, NULL);
}

static cl_int map_check(const struct memory *memory, cl_map_flags flags, size_t offset,
                        size_t bytes)
{
	const cl_map_flags writes = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;

	if (!range_inside(memory, offset, bytes) || flags & ~(CL_MAP_READ | writes) ||
	    (flags & CL_MAP_WRITE_INVALIDATE_REGION && flags & (CL_MAP_READ | CL_MAP_WRITE)))
		return CL_INVALID_VALUE;
	if ((flags & CL_MAP_READ && !host_reads(memory)) ||
	    (flags & writes && !host_writes(memory)))
		return CL_INVALID_OPERATION;
	return CL_SUCCESS;
}

/* Takes note of a mapping. @return NULL, and the error */
static void *map_begin(struct event *event, struct memory *memory, cl_map_flags flags,
                       size_t offset, size_t bytes, cl_int *error)
{
	struct map *map = NULL;

	*error = memory_host_make(memory);
	if (!*error)
		map = map_add(memory, offset, bytes, flags);
	if (!*error && !map)
		*error = CL_OUT_OF_HOST_MEMORY;
	if (*error)
		return NULL;
	command_memory(event, 0, memory);
	event->run = map_run;
	event->origin[0][0] = offset;
	event->bytes = bytes;
	event->flags = flags;
	return map->pointer;
}

static void *CL_API_CALL enqueue_map(cl_command_queue id, cl_mem memory_id, cl_bool blocking,
                                     cl_map_flags flags, size_t offset, size_t bytes,
                                     cl_uint nwaits, const cl_event *waits, cl_event *given,
                                     cl_int *to)
{
	struct queue *queue = layer_object(id, QUEUE);
	struct memory *memory;
	struct event *event;
	void *pointer;
	cl_int error;

	if (!queue)
		return real->clEnqueueMapBuffer(id, memory_id, blocking, flags, offset, bytes,
		                                nwaits, waits, given, to);
	memory = buffer_of(queue, memory_id, &error);
	if (!error)
		error = map_check(memory, flags, offset, bytes);
	if (!error)
		error = command_begin(queue, CL_COMMAND_MAP_BUFFER, nwaits, waits, &event);
	if (error)
		return error_give(error, to);
	pointer = map_begin(event, memory, flags, offset, bytes, &error);
	if (error) {
		event_release(event);
		return error_give(error, to);
	}
	error = event_enqueue(event, nwaits, waits, blocking, given);
	error_give(error, to);
	return error ? NULL : pointer;
}

static cl_int CL_API_CALL enqueue_unmap(cl_command_queue id, cl_mem memory_id, void *pointer,
                                        cl_uint nwaits, const cl_event *waits, cl_event *given)
{
	struct queue *queue = layer_object(id, QUEUE);
	struct memory *memory;
	struct event *event;
	struct map *map;
	cl_int error;

	if (!queue)
		return real->clEnqueueUnmapMemObject(id, memory_id, pointer, nwaits, waits, given);
	memory = memory_of(queue, memory_id, &error);
	if (!error)
		error = command_begin(queue, CL_COMMAND_UNMAP_MEM_OBJECT, nwaits, waits, &event);
	if (error)
		return error;
	map = map_take(memory, pointer);
	if (!map) {
		event_release(event);
		return CL_INVALID_VALUE;
	}
	command_memory(event, 0, memory);
	event->run = unmap_run;
	event->origin[0][0] = map->offset;
	event->bytes = map->bytes;
	event->flags = map->flags;
	if (memory->image)
		image_unmap(event, map);
	free(map);
	return event_enqueue(event, nwaits, waits, false, given);
}

/* ---- markers ---- */

static cl_int mark_run(struct event *event)
{
	return real->clEnqueueMarkerWithWaitList(event->queue->home, HOME_EVENTS(event));
}

/* A command that does nothing. */
static cl_int mark(struct queue *queue, cl_command_type type, cl_uint nwaits, const cl_event *waits,
                   cl_event *given)
{
	struct event *event;
	cl_int error = command_begin(queue, type, nwaits, waits, &event);

	if (error)
		return error;
	event->run = mark_run;
	event->quick = command_quick;
	return event_enqueue(event, nwaits, waits, false, given);
}

static cl_int CL_API_CALL enqueue_migrate(cl_command_queue id, cl_uint n, const cl_mem *memories,
                                          cl_mem_migration_flags flags, cl_uint nwaits,
                                          const cl_event *waits, cl_event *given)
{
	struct queue *queue = layer_object(id, QUEUE);
	cl_int error = CL_SUCCESS;

	if (!queue)
		return real->clEnqueueMigrateMemObjects(id, n, memories, flags, nwaits, waits,
		                                        given);
	if (!n || !memories ||
	    flags & ~(CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED))
		return CL_INVALID_VALUE;
	for (cl_uint m = 0; m < n && !error; m++)
		memory_of(queue, memories[m], &error);
	/* Data goes where it is used. */
	return error ? error : mark(queue, CL_COMMAND_MIGRATE_MEM_OBJECTS, nwaits, waits, given);
}

static cl_int CL_API_CALL enqueue_marker_after(cl_command_queue id, cl_uint nwaits,
                                               const cl_event *waits, cl_event *given)
{
	struct queue *queue = layer_object(id, QUEUE);

	return queue ? mark(queue, CL_COMMAND_MARKER, nwaits, waits, given)
	             : real->clEnqueueMarkerWithWaitList(id, nwaits, waits, given);
}

static cl_int CL_API_CALL enqueue_barrier_after(cl_command_queue id, cl_uint nwaits,
                                                const cl_event *waits, cl_event *given)
{
	struct queue *queue = layer_object(id, QUEUE);

	return queue ? mark(queue, CL_COMMAND_BARRIER, nwaits, waits, given)
	             : real->clEnqueueBarrierWithWaitList(id, nwaits, waits, given);
}

static cl_int CL_API_CALL enqueue_marker(cl_command_queue id, cl_event *given)
{
	struct queue *queue = layer_object(id, QUEUE);

	if (!queue)
		return real->clEnqueueMarker(id, given);
	return given ? mark(queue, CL_COMMAND_MARKER, 0, NULL, given) : CL_INVALID_VALUE;
}

static cl_int CL_API_CALL enqueue_barrier(cl_command_queue id)
{
	struct queue *queue = layer_object(id, QUEUE);

	return queue ? mark(queue, CL_COMMAND_BARRIER, 0, NULL, NULL) : real->clEnqueueBarrier(id);
}

static cl_int CL_API_CALL enqueue_wait(cl_command_queue id, cl_uint n, const cl_event *list)
{
	struct queue *queue = layer_object(id, QUEUE);

	if (!queue)
		return real->clEnqueueWaitForEvents(id, n, list);
	if (!n || !list)
		return CL_INVALID_VALUE;
	for (cl_uint e = 0; e < n; e++)
		if (!layer_object(list[e], EVENT))
			return CL_INVALID_EVENT;
	return mark(queue, CL_COMMAND_BARRIER, n, list, NULL);
}

void enqueue_functions(cl_icd_dispatch *table)
{
	table->clEnqueueReadBuffer = enqueue_read;
	table->clEnqueueWriteBuffer = enqueue_write;
	table->clEnqueueReadBufferRect = enqueue_read_box;
	table->clEnqueueWriteBufferRect = enqueue_write_box;
	table->clEnqueueCopyBuffer = enqueue_copy;
	table->clEnqueueCopyBufferRect = enqueue_copy_box;
	table->clEnqueueFillBuffer = enqueue_fill;
	table->clEnqueueMapBuffer = enqueue_map;
	table->clEnqueueUnmapMemObject = enqueue_unmap;
	table->clEnqueueMigrateMemObjects = enqueue_migrate;
	table->clEnqueueMarkerWithWaitList = enqueue_marker_after;
	table->clEnqueueBarrierWithWaitList = enqueue_barrier_after;
	table->clEnqueueMarker = enqueue_marker;
	table->clEnqueueBarrier = enqueue_barrier;
	table->clEnqueueWaitForEvents = enqueue_wait;
}
