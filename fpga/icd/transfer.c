/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Commands that move bytes: reads, writes, copies, also of rectangles, fills and maps.
 * A mapped buffer is seen where it lies; that its bytes travel costs time alone.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fpga/icd/icd.h"

/* ---- on the queue's thread ---- */

static void fill(struct command *command, uint8_t *to)
{
	for (size_t at = 0; at < command->region.width; at += command->pattern_size)
		memcpy(to + at, command->pattern, command->pattern_size);
}

static void move(void *arg)
{
	struct command *command = arg;
	const struct region *region = &command->region;
	const struct place *from = &command->from_place, *to = &command->to_place;
	uint8_t *source = (command->from ? command->from->bytes : command->host) + from->offset;
	uint8_t *sink = (command->to ? command->to->bytes : command->host) + to->offset;

	if (command->pattern_size) {
		fill(command, sink);
		return;
	}
	for (size_t z = 0; z < region->depth; z++)
		for (size_t y = 0; y < region->height; y++)
			memcpy(sink + z * to->slice + y * to->row,
			       source + z * from->slice + y * from->row, region->width);
}

static cl_ulong transfer_run(cl_device_id device, struct command *command)
{
	const struct region *region = &command->region;
	bool moves =
	    command->type != CL_COMMAND_MAP_BUFFER && command->type != CL_COMMAND_UNMAP_MEM_OBJECT;

	return device_transfer(device, region->width * region->height * region->depth,
	                       moves ? move : NULL, command);
}

static cl_int enqueue(cl_command_queue queue, const struct command *what, cl_bool blocking,
                      cl_uint nwaits, const cl_event *waits, cl_event *event)
{
	struct command command = *what;

	command.move = transfer_run;
	return queue_enqueue(queue, &command, blocking, nwaits, waits, event);
}

/* ---- ranges of bytes ---- */

static cl_int check_buffer(cl_command_queue queue, cl_mem memory)
{
	if (!object_is(queue, QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (!object_is(memory, MEMORY))
		return CL_INVALID_MEM_OBJECT;
	return memory->context == queue->context ? CL_SUCCESS : CL_INVALID_CONTEXT;
}

static cl_int check_range(cl_command_queue queue, cl_mem memory, size_t offset, size_t size)
{
	cl_int error = check_buffer(queue, memory);

	if (error)
		return error;
	if (!size || offset > memory->size || size > memory->size - offset)
		return CL_INVALID_VALUE;
	return CL_SUCCESS;
}

/* Whether the host may do so with a buffer. */
static cl_int check_host(cl_mem memory, bool reads, bool writes)
{
	cl_mem_flags not = CL_MEM_HOST_NO_ACCESS | (reads ? CL_MEM_HOST_WRITE_ONLY : 0) |
	                   (writes ? CL_MEM_HOST_READ_ONLY : 0);

	return memory->flags & not ? CL_INVALID_OPERATION : CL_SUCCESS;
}

static struct region bytes(size_t size)
{
	return (struct region){size, 1, 1};
}

static cl_int enqueue_read(cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset,
                           size_t size, void *host, cl_uint nwaits, const cl_event *waits,
                           cl_event *event)
{
	cl_int error = check_range(queue, memory, offset, size);

	if (!error && !host)
		error = CL_INVALID_VALUE;
	if (!error)
		error = check_host(memory, true, false);
	if (error)
		return error;
	return enqueue(queue,
	               &(struct command){.type = CL_COMMAND_READ_BUFFER,
	                                 .from = memory,
	                                 .from_place.offset = offset,
	                                 .region = bytes(size),
	                                 .host = host},
	               blocking, nwaits, waits, event);
}

static cl_int enqueue_write(cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset,
                            size_t size, const void *host, cl_uint nwaits, const cl_event *waits,
                            cl_event *event)
{
	cl_int error = check_range(queue, memory, offset, size);

	if (!error && !host)
		error = CL_INVALID_VALUE;
	if (!error)
		error = check_host(memory, false, true);
	if (error)
		return error;
	return enqueue(queue,
	               &(struct command){.type = CL_COMMAND_WRITE_BUFFER,
	                                 .to = memory,
	                                 .to_place.offset = offset,
	                                 .region = bytes(size),
	                                 .host = (void *)host},
	               blocking, nwaits, waits, event);
}

static cl_int enqueue_copy(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
                           size_t to_offset, size_t size, cl_uint nwaits, const cl_event *waits,
                           cl_event *event)
{
	cl_int error = check_range(queue, from, from_offset, size);

	if (!error)
		error = check_range(queue, to, to_offset, size);
	if (error)
		return error;
	if (from == to && from_offset < to_offset + size && to_offset < from_offset + size)
		return CL_MEM_COPY_OVERLAP;
	return enqueue(queue,
	               &(struct command){.type = CL_COMMAND_COPY_BUFFER,
	                                 .from = from,
	                                 .to = to,
	                                 .from_place.offset = from_offset,
	                                 .to_place.offset = to_offset,
	                                 .region = bytes(size)},
	               CL_FALSE, nwaits, waits, event);
}

static cl_int enqueue_fill(cl_command_queue queue, cl_mem memory, const void *pattern,
                           size_t pattern_size, size_t offset, size_t size, cl_uint nwaits,
                           const cl_event *waits, cl_event *event)
{
	struct command command = {.type = CL_COMMAND_FILL_BUFFER,
	                          .to = memory,
	                          .to_place.offset = offset,
	                          .region = bytes(size),
	                          .pattern_size = pattern_size};
	cl_int error = check_range(queue, memory, offset, size);

	if (error)
		return error;
	/* 1, 2, 4 … 128 bytes, and whole patterns. */
	if (!pattern || !pattern_size || pattern_size > FPGA_MAX_PATTERN ||
	    (pattern_size & (pattern_size - 1)) || offset % pattern_size || size % pattern_size)
		return CL_INVALID_VALUE;
	memcpy(command.pattern, pattern, pattern_size);
	return enqueue(queue, &command, CL_FALSE, nwaits, waits, event);
}

/* ---- rectangles ---- */

/* a + b c, no more than SIZE_MAX. */
static size_t plus(size_t a, size_t b, size_t c)
{
	size_t product, sum;

	if (__builtin_mul_overflow(b, c, &product) || __builtin_add_overflow(a, product, &sum))
		return SIZE_MAX;
	return sum;
}

/* The place of a rectangle, pitches of 0 filled in. */
static cl_int place_init(const size_t *origin, const struct region *region, size_t row,
                         size_t slice, struct place *place)
{
	if (!row)
		row = region->width;
	if (row < region->width)
		return CL_INVALID_VALUE;
	if (!slice)
		slice = plus(0, region->height, row);
	if (slice < plus(0, region->height, row) || slice % row)
		return CL_INVALID_VALUE;
	*place =
	    (struct place){plus(plus(origin[0], origin[1], row), origin[2], slice), row, slice};
	return CL_SUCCESS;
}

/* Whether all of a rectangle lies in a buffer. */
static cl_int check_place(cl_mem memory, const struct region *region, const struct place *place)
{
	size_t last = plus(plus(place->offset, region->depth - 1, place->slice), region->height - 1,
	                   place->row);

	return last <= memory->size && region->width <= memory->size - last ? CL_SUCCESS
	                                                                    : CL_INVALID_VALUE;
}

static cl_int region_init(const size_t *size, struct region *region)
{
	if (!size || !size[0] || !size[1] || !size[2])
		return CL_INVALID_VALUE;
	*region = (struct region){size[0], size[1], size[2]};
	return CL_SUCCESS;
}

/* Between a buffer and the host. */
static cl_int enqueue_host_rectangle(cl_command_queue queue, struct command *command,
                                     cl_bool blocking, const size_t *buffer_origin,
                                     const size_t *host_origin, const size_t *size,
                                     size_t buffer_row, size_t buffer_slice, size_t host_row,
                                     size_t host_slice, cl_uint nwaits, const cl_event *waits,
                                     cl_event *event)
{
	bool reads = command->from;
	cl_mem memory = reads ? command->from : command->to;
	struct place *buffer = reads ? &command->from_place : &command->to_place;
	struct place *host = reads ? &command->to_place : &command->from_place;
	cl_int error = check_buffer(queue, memory);

	if (!error && (!buffer_origin || !host_origin || !command->host))
		error = CL_INVALID_VALUE;
	if (!error)
		error = region_init(size, &command->region);
	if (!error)
		error =
		    place_init(buffer_origin, &command->region, buffer_row, buffer_slice, buffer);
	if (!error)
		error = place_init(host_origin, &command->region, host_row, host_slice, host);
	if (!error)
		error = check_place(memory, &command->region, buffer);
	if (!error)
		error = check_host(memory, reads, !reads);
	return error ? error : enqueue(queue, command, blocking, nwaits, waits, event);
}

static cl_int enqueue_read_rectangle(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                     const size_t *buffer_origin, const size_t *host_origin,
                                     const size_t *region, size_t buffer_row, size_t buffer_slice,
                                     size_t host_row, size_t host_slice, void *host, cl_uint nwaits,
                                     const cl_event *waits, cl_event *event)
{
	if (!object_is(memory, MEMORY))
		return check_buffer(queue, memory);
	return enqueue_host_rectangle(
	    queue,
	    &(struct command){.type = CL_COMMAND_READ_BUFFER_RECT, .from = memory, .host = host},
	    blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row,
	    host_slice, nwaits, waits, event);
}

static cl_int enqueue_write_rectangle(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                      const size_t *buffer_origin, const size_t *host_origin,
                                      const size_t *region, size_t buffer_row, size_t buffer_slice,
                                      size_t host_row, size_t host_slice, const void *host,
                                      cl_uint nwaits, const cl_event *waits, cl_event *event)
{
	return enqueue_host_rectangle(queue,
	                              &(struct command){.type = CL_COMMAND_WRITE_BUFFER_RECT,
	                                                .to = memory,
	                                                .host = (void *)host},
	                              blocking, buffer_origin, host_origin, region, buffer_row,
	                              buffer_slice, host_row, host_slice, nwaits, waits, event);
}

/* Whether two rows of the rectangles that are so many slices apart overlap. Offsets are
 * below 2^63: all lies in one buffer. */
static bool slices_overlap(const struct command *command, int64_t slices)
{
	const struct region *region = &command->region;
	int64_t row = command->from_place.row, width = region->width, most = region->height - 1;
	int64_t apart = (int64_t)command->to_place.offset - (int64_t)command->from_place.offset +
	                slices * (int64_t)command->from_place.slice;

	/* The rows nearest to each other are one of these two apart. */
	for (int64_t rows = -apart / row - 1; rows <= -apart / row + 1; rows++) {
		int64_t least = rows < -most ? -most : rows > most ? most : rows;
		int64_t distance = apart + least * row;

		if (distance < width && -distance < width)
			return true;
	}
	return false;
}

static bool rectangles_overlap(const struct command *command)
{
	int64_t most = command->region.depth - 1;

	for (int64_t slices = -most; slices <= most; slices++)
		if (slices_overlap(command, slices))
			return true;
	return false;
}

static cl_int enqueue_copy_rectangle(cl_command_queue queue, cl_mem from, cl_mem to,
                                     const size_t *from_origin, const size_t *to_origin,
                                     const size_t *size, size_t from_row, size_t from_slice,
                                     size_t to_row, size_t to_slice, cl_uint nwaits,
                                     const cl_event *waits, cl_event *event)
{
	struct command command = {.type = CL_COMMAND_COPY_BUFFER_RECT, .from = from, .to = to};
	cl_int error = check_buffer(queue, from);

	if (!error)
		error = check_buffer(queue, to);
	if (!error && (!from_origin || !to_origin))
		error = CL_INVALID_VALUE;
	if (!error)
		error = region_init(size, &command.region);
	if (!error)
		error = place_init(from_origin, &command.region, from_row, from_slice,
		                   &command.from_place);
	if (!error)
		error = place_init(to_origin, &command.region, to_row, to_slice, &command.to_place);
	if (!error)
		error = check_place(from, &command.region, &command.from_place);
	if (!error)
		error = check_place(to, &command.region, &command.to_place);
	if (!error && from == to &&
	    (command.from_place.row != command.to_place.row ||
	     command.from_place.slice != command.to_place.slice))
		error = CL_INVALID_VALUE;
	if (!error && from == to && rectangles_overlap(&command))
		error = CL_MEM_COPY_OVERLAP;
	return error ? error : enqueue(queue, &command, CL_FALSE, nwaits, waits, event);
}

/* ---- maps ---- */

static cl_int check_map(cl_command_queue queue, cl_mem memory, cl_map_flags flags, size_t offset,
                        size_t size)
{
	cl_map_flags usual = flags & (CL_MAP_READ | CL_MAP_WRITE);
	cl_map_flags anew = flags & CL_MAP_WRITE_INVALIDATE_REGION;
	cl_int error = check_range(queue, memory, offset, size);

	if (error)
		return error;
	if ((flags & ~(usual | anew)) || (usual && anew))
		return CL_INVALID_VALUE;
	return check_host(memory, flags & CL_MAP_READ,
	                  flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION));
}

static void *enqueue_map(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                         cl_map_flags flags, size_t offset, size_t size, cl_uint nwaits,
                         const cl_event *waits, cl_event *event, cl_int *error)
{
	bool anew = flags & CL_MAP_WRITE_INVALIDATE_REGION;
	cl_int wrong = check_map(queue, memory, flags, offset, size);

	if (wrong)
		return object_result(NULL, wrong, error);
	if (!memory_map(memory, offset, size, anew || (flags & CL_MAP_WRITE)))
		return object_result(NULL, CL_OUT_OF_HOST_MEMORY, error);
	/* What will be overwritten need not come from the device. */
	wrong = enqueue(queue,
	                &(struct command){.type = CL_COMMAND_MAP_BUFFER,
	                                  .from = memory,
	                                  .region = bytes(anew ? 0 : size)},
	                blocking, nwaits, waits, event);
	if (wrong)
		memory_unmap(memory, memory->bytes + offset, &size);
	return object_result(wrong ? NULL : memory->bytes + offset, wrong, error);
}

static cl_int enqueue_unmap(cl_command_queue queue, cl_mem memory, void *at, cl_uint nwaits,
                            const cl_event *waits, cl_event *event)
{
	cl_int error = check_buffer(queue, memory);
	size_t size;

	if (!error)
		error = events_check(queue->context, nwaits, waits);
	if (error)
		return error;
	if (!at || !memory_unmap(memory, at, &size))
		return CL_INVALID_VALUE;
	return enqueue(queue,
	               &(struct command){.type = CL_COMMAND_UNMAP_MEM_OBJECT,
	                                 .to = memory,
	                                 .region = bytes(size)},
	               CL_FALSE, nwaits, waits, event);
}

void transfer_functions(cl_icd_dispatch *table)
{
	table->clEnqueueReadBuffer = enqueue_read;
	table->clEnqueueWriteBuffer = enqueue_write;
	table->clEnqueueCopyBuffer = enqueue_copy;
	table->clEnqueueFillBuffer = enqueue_fill;
	table->clEnqueueReadBufferRect = enqueue_read_rectangle;
	table->clEnqueueWriteBufferRect = enqueue_write_rectangle;
	table->clEnqueueCopyBufferRect = enqueue_copy_rectangle;
	table->clEnqueueMapBuffer = enqueue_map;
	table->clEnqueueUnmapMemObject = enqueue_unmap;
}
