/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Arrays of a loop: what they are, the part of them that a block touches, and how many
 * iterations the memory of a device has room for.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#ifdef HEDDLE_USE_CUDA
#include <cuda_runtime_api.h>
#endif
#if defined(HEDDLE_USE_OPENCL) && !defined(HEDDLE_USE_SIMGRID)
#include <starpu_opencl.h>
#endif

#include "loop_private.h"
#include "support/message.h"

static int view_check_access(const struct loop_view *view, unsigned index, const char *loop)
{
	const struct heddle_access *access = &view->access;
	enum starpu_data_access_mode mode = access->mode;

	switch (access->share) {
	case HEDDLE_SLICE:
		return 0;
	case HEDDLE_HALO:
	case HEDDLE_WHOLE:
		if (mode != STARPU_R)
			return heddle_refuse(-EINVAL,
			                     "loop %s: array %u: blocks would overwrite each "
			                     "other's output (only slices can be written)",
			                     loop, index + 1);
		return 0;
	case HEDDLE_REDUCE:
		if (mode != STARPU_RW || !access->combine ||
		    view->array.shape != STARPU_VECTOR_INTERFACE_ID)
			return heddle_refuse(-EINVAL,
			                     "loop %s: array %u: a reduction is a vector in mode "
			                     "STARPU_RW with a combine function",
			                     loop, index + 1);
		return 0;
	}
	return heddle_refuse(-EINVAL, "loop %s: array %u: unknown share", loop, index + 1);
}

int loop_view_init(struct loop_view *view, const struct heddle_access *access, unsigned index,
                   size_t n, const char *loop)
{
	int status;

	*view = (struct loop_view){.access = *access};
	if (!view->access.per_iteration)
		view->access.per_iteration = 1;
	if ((status = work_array_init(&view->array, access->handle, access->mode,
	                              &(struct work_array_name){"loop", loop, index})) ||
	    (status = view_check_access(view, index, loop)))
		return status;
	/* A reduction has its own array for each block. */
	view->array.stays = access->share == HEDDLE_REDUCE;
	if (access->share != HEDDLE_HALO)
		view->access.halo = 0;
	else if (access->halo > view->array.units)
		view->access.halo = view->array.units;
	if (access->share != HEDDLE_SLICE && access->share != HEDDLE_HALO)
		return 0;
	if (n > view->array.units / view->access.per_iteration)
		return heddle_refuse(
		    -ERANGE,
		    "loop %s: %zu iterations of %zu reach beyond array %u, which "
		    "has %zu %s",
		    loop, n, view->access.per_iteration, index + 1, view->array.units,
		    view->array.shape == STARPU_VECTOR_INTERFACE_ID ? "elements" : "rows");
	return 0;
}

struct loop_window loop_view_window(const struct loop_view *view, const struct loop_block *block)
{
	const struct heddle_access *access = &view->access;

	switch (access->share) {
	case HEDDLE_SLICE:
		return loop_window(block->given.start, block->given.n, access->per_iteration, 0,
		                   view->array.units);
	case HEDDLE_HALO:
		return loop_window(block->given.start, block->given.n, access->per_iteration,
		                   access->halo, view->array.units);
	default:
		return (struct loop_window){0, view->array.units};
	}
}

void loop_view_interface(const struct loop_view *view, struct loop_window window, void *partial,
                         union work_array_interface *interface)
{
	uintptr_t pointer =
	    partial ? (uintptr_t)partial : work_array_at(&view->array, window.first);

	work_array_interface(&view->array, pointer, window.count, interface);
}

/* ---- reuse of device buffers ----
 *
 * StarPU 1.3 keeps the buffers of unregistered data and gives them to new data of
 * the same footprint. It takes the footprint from the shape, not from the size
 * allocated: blocks of ever new sizes would each allocate anew, at some 200 µs a
 * buffer on a CUDA device, while no kernel runs. So blocks are vectors and matrices
 * whose footprint is the size allocated.
 *
 * With the buffer StarPU hands over the description of the data that had it last,
 * lengths included. Copies to a device put them right (those of matrices go by the
 * target's description), and so does loop_view_correct() before a kernel sees them, also
 * of data that is only written. */

static uint32_t vector_footprint(starpu_data_handle_t handle)
{
	uint32_t crc = starpu_hash_crc32c_be(starpu_vector_get_allocsize(handle), 0);

	return starpu_hash_crc32c_be(starpu_vector_get_elemsize(handle), crc);
}

/* Rows of one length alone share buffers, so that ld stays right. */
static uint32_t matrix_footprint(starpu_data_handle_t handle)
{
	uint32_t crc = starpu_hash_crc32c_be(starpu_matrix_get_allocsize(handle), 0);

	crc = starpu_hash_crc32c_be(starpu_matrix_get_elemsize(handle), crc);
	return starpu_hash_crc32c_be(starpu_matrix_get_nx(handle), crc);
}

static int vector_copy(void *from, unsigned from_node, void *to, unsigned to_node, void *async)
{
	((struct starpu_vector_interface *)to)->nx = ((struct starpu_vector_interface *)from)->nx;
	return starpu_interface_vector_ops.copy_methods->any_to_any(from, from_node, to, to_node,
	                                                            async);
}

static int matrix_copy(void *from, unsigned from_node, void *to, unsigned to_node, void *async)
{
	((struct starpu_matrix_interface *)to)->ny = ((struct starpu_matrix_interface *)from)->ny;
	return starpu_interface_matrix_ops.copy_methods->any_to_any(from, from_node, to, to_node,
	                                                            async);
}

static struct starpu_data_interface_ops vector_ops, matrix_ops;
static struct starpu_data_copy_methods vector_copies, matrix_copies;

static void ops_init(void)
{
	vector_ops = starpu_interface_vector_ops;
	matrix_ops = starpu_interface_matrix_ops;
	if (LOOP_SIMULATED) /* kernels do not run: nothing would be corrected */
		return;
	vector_copies = *starpu_interface_vector_ops.copy_methods;
	vector_copies.any_to_any = vector_copy;
	vector_ops.copy_methods = &vector_copies;
	vector_ops.footprint = vector_footprint;
	matrix_copies = *starpu_interface_matrix_ops.copy_methods;
	matrix_copies.any_to_any = matrix_copy;
	matrix_ops.copy_methods = &matrix_copies;
	matrix_ops.footprint = matrix_footprint;
}

void loop_view_correct(const struct loop_view *view, struct loop_window window, void *buffer)
{
	union work_array_interface *interface = buffer;

	/* Writes only what is wrong: workers of one memory node share the interface of a handle
	 * that every block reads whole. */
	if (view->array.shape == STARPU_VECTOR_INTERFACE_ID) {
		if (interface->vector.nx != window.count)
			interface->vector.nx = window.count;
	} else if (interface->matrix.ny != window.count) {
		interface->matrix.ny = window.count;
	}
}

starpu_data_handle_t loop_view_register(const struct loop_view *view, struct loop_window window,
                                        size_t room, void *partial)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	union work_array_interface interface;
	starpu_data_handle_t handle;

	pthread_once(&once, ops_init);
	loop_view_interface(view, window, partial, &interface);
	if (view->array.shape == STARPU_VECTOR_INTERFACE_ID) {
		interface.vector.allocsize = room * view->array.elemsize;
		starpu_data_register(&handle, STARPU_MAIN_RAM, &interface, &vector_ops);
	} else {
		interface.matrix.allocsize = room * work_array_unit(&view->array);
		starpu_data_register(&handle, STARPU_MAIN_RAM, &interface, &matrix_ops);
	}
	/* Only one task uses it, and its callback comes after it in any case. */
	starpu_data_set_sequential_consistency_flag(handle, 0);
	return handle;
}

/* Iterations of a block none of whose buffers is above so many bytes.
 * @return as loop_footprint_room() */
static size_t views_buffer_room(const struct loop_view *views, unsigned nviews, size_t bytes)
{
	size_t room = SIZE_MAX;

	for (unsigned i = 0; i < nviews; i++) {
		const struct heddle_access *access = &views[i].access;
		size_t unit = work_array_unit(&views[i].array),
		       most = unit ? bytes / unit : SIZE_MAX;

		if (views[i].array.units <= most)
			continue;
		if (access->share == HEDDLE_WHOLE || access->share == HEDDLE_REDUCE ||
		    most / 2 < access->halo)
			return 0;
		most = (most - 2 * access->halo) / access->per_iteration;
		room = most < room ? most : room;
	}
	return room;
}

struct loop_footprint loop_views_footprint(const struct loop_view *views, unsigned nviews)
{
	struct loop_footprint sum = {0};

	for (unsigned i = 0; i < nviews; i++) {
		const struct loop_view *view = &views[i];
		const struct heddle_access *access = &view->access;
		size_t unit = work_array_unit(&view->array);

		switch (access->share) {
		case HEDDLE_WHOLE:
			sum.shared += view->array.units * unit;
			break;
		case HEDDLE_REDUCE:
			sum.fixed += view->array.units * unit;
			break;
		default:
			if (access->halo > view->array.units / 2) { /* no block has more than all */
				sum.fixed += view->array.units * unit;
				break;
			}
			sum.fixed += 2 * access->halo * unit;
			sum.per_iteration += access->per_iteration * unit;
		}
	}
	return sum;
}

/* ---- what a device has room for ---- */

/* StarPU tries for ever to allocate what does not fit, so blocks are made to fit before.
 *
 * Blocks that an accelerator holds at a time: those in flight, and one whose outputs are
 * written back. With a depth of 1 there is only one, but a block as large as all the memory
 * might not fit: StarPU keeps up to 128 MB in which small buffers were. So blocks are not
 * larger than with a depth of 2. */
static unsigned blocks_held(unsigned depth)
{
	return depth > 2 ? depth + 1 : 3;
}

/* The next smaller number of blocks to try where so many do not fit; in the end one. */
static unsigned fewer_held(unsigned held)
{
	return held > 3 ? held - 1 : 1;
}

/* Workers that share the memory of one. */
static unsigned workers_beside(int id)
{
	unsigned n = 0;

	for (unsigned other = 0; other < starpu_worker_get_count(); other++)
		n += starpu_worker_get_memory_node(other) == starpu_worker_get_memory_node(id);
	return n;
}

/* Bytes of the largest buffer a device can allocate. StarPU ends a program that
 * asks an OpenCL device for more. */
static size_t largest_buffer(int id)
{
#if defined(HEDDLE_USE_OPENCL) && !defined(HEDDLE_USE_SIMGRID)
	cl_device_id device;
	cl_ulong bytes;

	if (starpu_worker_get_type(id) == STARPU_OPENCL_WORKER) {
		starpu_opencl_get_device(starpu_worker_get_devid(id), &device);
		if (!clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(bytes), &bytes,
		                     NULL))
			return bytes;
	}
#endif
	return SIZE_MAX;
}

#ifdef HEDDLE_USE_CUDA
/* How long an answer of the device counts: to ask costs as much as a small block. */
#define FRESH_US 100e3

/* Free bytes of a device's memory; SIZE_MAX: not known. */
static size_t cuda_left(int device)
{
	size_t left, total;
	int before;

	if (cudaGetDevice(&before) != cudaSuccess)
		return SIZE_MAX;
	if (cudaSetDevice(device) != cudaSuccess || cudaMemGetInfo(&left, &total) != cudaSuccess) {
		cudaGetLastError();
		left = SIZE_MAX;
	}
	cudaSetDevice(before);
	return left;
}

/* The free bytes of a device's memory and those that StarPU has allocated there. */
static size_t cuda_memory(int id, size_t total)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static struct {
		double at;
		size_t bytes;
	} answers[STARPU_NMAXWORKERS];
	size_t has = total - starpu_memory_get_available(starpu_worker_get_memory_node(id));
	double now = starpu_timing_now();
	size_t bytes, left;
	bool fresh;

	pthread_mutex_lock(&mutex);
	fresh = answers[id].at && now - answers[id].at <= FRESH_US && now >= answers[id].at;
	bytes = answers[id].bytes;
	pthread_mutex_unlock(&mutex);
	if (fresh)
		return bytes;
	left = cuda_left(starpu_worker_get_devid(id));
	bytes = left < SIZE_MAX - has ? left + has : SIZE_MAX;
	pthread_mutex_lock(&mutex);
	answers[id].bytes = bytes;
	answers[id].at = now;
	pthread_mutex_unlock(&mutex);
	return bytes;
}
#else
static size_t cuda_memory(int id, size_t total)
{
	return SIZE_MAX;
}
#endif

/* Bytes of a device's memory that StarPU may use. */
static size_t device_memory(int id)
{
	starpu_ssize_t total = starpu_memory_get_total(starpu_worker_get_memory_node(id));
	size_t bytes = SIZE_MAX;

	if (total < 0)
		return SIZE_MAX;
	if (starpu_worker_get_type(id) == STARPU_CUDA_WORKER)
		bytes = cuda_memory(id, total);
	return bytes < (size_t)total ? bytes : (size_t)total;
}

int loop_worker_size(const struct heddle_loop_request *loop, struct loop_worker *worker)
{
	int id = worker->stats.id;
	size_t total = device_memory(id);
	struct loop_footprint footprint = loop_views_footprint(loop->views, loop->loop.naccesses);
	size_t room = SIZE_MAX, most;

	worker->buffer = largest_buffer(id);
	most = views_buffer_room(loop->views, loop->loop.naccesses, worker->buffer);
	worker->depth = loop->depth > 1 ? loop->depth : 1;
	if (total < SIZE_MAX) {
		unsigned held = blocks_held(worker->depth);

		/* A fourth stays free: buffers are rounded up by as much. */
		while (!(room = loop_footprint_room(&footprint, total / 4 * 3,
		                                    held * workers_beside(id))) &&
		       held > 1)
			held = fewer_held(held);
		if (worker->depth >= held)
			worker->depth = held > 1 ? held - 1 : 1;
	}
	room = room < most ? room : most;
	if (room < SIZE_MAX && loop->loop.alignment)
		room -= room % loop->loop.alignment;
	worker->maximum = room < SIZE_MAX ? room : 0;
	return room ? 0 : -ENOMEM;
}
