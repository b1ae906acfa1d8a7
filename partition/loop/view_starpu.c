/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Arrays of a loop: what they are, the part of them that a block touches, and how many
 * iterations the memory of a device has room for.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#ifdef HEDDLE_USE_CUDA
#include <cuda_runtime_api.h>
#endif
#if defined(HEDDLE_USE_OPENCL) && !defined(HEDDLE_USE_SIMGRID)
#include <starpu_opencl.h>
#endif

#include "loop_private.h"
#include "support/message.h"

/* Fields of another share than the one given: the share was forgotten. */
static int view_check_fields(const struct heddle_access *access, unsigned number, const char *loop)
{
	const char *wrong = NULL;

	if (access->halo && access->share != HEDDLE_HALO)
		wrong = "a halo, and its share is not HEDDLE_HALO";
	else if ((access->index || access->index_array) && access->share != HEDDLE_INDEXED)
		wrong = "an index, and its share is not HEDDLE_INDEXED";
	else if (access->combine && access->share != HEDDLE_REDUCE)
		wrong = "a combine function, and its share is not HEDDLE_REDUCE";
	return wrong ? heddle_refuse(-EINVAL, "loop %s: array %u has %s", loop, number + 1, wrong)
	             : 0;
}

static int view_check_access(const struct loop_view *view, unsigned number, const char *loop)
{
	const struct heddle_access *access = &view->access;
	enum starpu_data_access_mode mode = access->mode;
	int status = view_check_fields(access, number, loop);

	if (status)
		return status;
	switch (access->share) {
	case HEDDLE_SLICE:
	case HEDDLE_INDEXED:
		return 0;
	case HEDDLE_HALO:
	case HEDDLE_WHOLE:
		if (mode != STARPU_R)
			return heddle_refuse(-EINVAL,
			                     "loop %s: array %u: blocks would overwrite each "
			                     "other's output (only slices can be written)",
			                     loop, number + 1);
		return 0;
	case HEDDLE_REDUCE:
		if (mode != STARPU_RW || !access->combine ||
		    view->array.shape != STARPU_VECTOR_INTERFACE_ID)
			return heddle_refuse(-EINVAL,
			                     "loop %s: array %u: a reduction is a vector in mode "
			                     "STARPU_RW with a combine function",
			                     loop, number + 1);
		return 0;
	}
	return heddle_refuse(-EINVAL, "loop %s: array %u: unknown share", loop, number + 1);
}

static const char *view_unit(const struct loop_view *view)
{
	return view->array.shape == STARPU_VECTOR_INTERFACE_ID ? "elements" : "rows";
}

/* Every block has `per_iteration` units an iteration. */
static int view_cut_evenly(struct loop_view *view, unsigned number, const struct heddle_loop *given,
                           const char *loop)
{
	const struct heddle_access *access = &view->access;
	size_t units = view->array.units, n = given->n;
	const struct heddle_block part = {.start = given->first};

	view->cut.per_iteration = access->per_iteration ? access->per_iteration : 1;
	if (access->share == HEDDLE_HALO) {
		view->cut.halo = access->halo < units ? access->halo : units;
		view->cut.before = heddle_block_before(&part, access->per_iteration, access->halo);
	}
	units = units > view->cut.before ? units - view->cut.before : 0;
	if (n > units / view->cut.per_iteration)
		return heddle_refuse(-ERANGE,
		                     "loop %s: %zu iterations of %zu reach beyond array %u, which "
		                     "has %zu %s",
		                     loop, n, view->cut.per_iteration, number + 1, units,
		                     view_unit(view));
	return 0;
}

static int index_init(struct loop_view *view, unsigned number, size_t n, const char *loop)
{
	const struct heddle_access *access = &view->access;

	if (!access->index == !access->index_array)
		return heddle_refuse(-EINVAL, "loop %s: array %u has %s", loop, number + 1,
		                     access->index ? "both an index and an index_array"
		                                   : "neither an index nor an index_array");
	if (access->index)
		return work_array_init(&view->index, access->index, STARPU_R,
		                       &(struct work_array_name){"index of loop", loop, number});
	view->index = (struct work_array){
	    .mode = STARPU_R,
	    .shape = STARPU_VECTOR_INTERFACE_ID,
	    .base = (uintptr_t)access->index_array,
	    .units = n + 1,
	    .nx = 1,
	    .ld = 1,
	    .elemsize = access->index_bytes,
	};
	return 0;
}

/* Blocks have what the index says. */
static int view_cut_by_index(struct loop_view *view, unsigned number, size_t n, const char *loop)
{
	const struct work_array *index = &view->index;
	size_t units = view->array.units, unit = work_array_unit(&view->array);
	int status = index_init(view, number, n, loop);

	if (status)
		return status;
	if (view->access.per_iteration > 1)
		return heddle_refuse(-EINVAL,
		                     "loop %s: array %u has %zu %s an iteration, and an index",
		                     loop, number + 1, view->access.per_iteration, view_unit(view));
	if (index->shape != STARPU_VECTOR_INTERFACE_ID ||
	    (index->elemsize != sizeof(uint32_t) && index->elemsize != sizeof(uint64_t)))
		return heddle_refuse(-EINVAL,
		                     "loop %s: the index of array %u is not a vector of whole "
		                     "numbers of 4 or 8 bytes",
		                     loop, number + 1);
	if (index->units <= n)
		return heddle_refuse(-ERANGE,
		                     "loop %s: the index of array %u has %zu entries, not one more "
		                     "than the %zu iterations",
		                     loop, number + 1, index->units, n);
	view->cut.index = (const void *)index->base;
	view->cut.index_bytes = index->elemsize;
	view->cut.per_iteration = n ? units / n + (units % n != 0) : 1;
	view->nothing = calloc(1, unit ? unit : 1);
	return view->nothing ? 0 : -ENOMEM;
}

int loop_view_init(struct loop_view *view, const struct heddle_loop *given, unsigned number,
                   const char *loop)
{
	const struct heddle_access *access = &given->accesses[number];
	int status;

	*view = (struct loop_view){.access = *access};
	if ((status = work_array_init(&view->array, access->handle, access->mode,
	                              &(struct work_array_name){"loop", loop, number})) ||
	    (status = view_check_access(view, number, loop)))
		return status;
	view->cut = (struct loop_cut){.units = view->array.units, .per_iteration = 1};
	/* A reduction has its own array for each block. */
	view->array.stays = access->share == HEDDLE_REDUCE;
	if (access->share == HEDDLE_INDEXED)
		return view_cut_by_index(view, number, given->n, loop);
	if (access->share == HEDDLE_SLICE || access->share == HEDDLE_HALO)
		return view_cut_evenly(view, number, given, loop);
	return 0;
}

void loop_view_fini(struct loop_view *view)
{
	free(view->nothing);
}

/* Whether the loop writes what an index is read from. */
static bool index_is_written(const struct loop_view *by, const struct work_array *index)
{
	return by->access.mode & STARPU_W &&
	       (by->array.handle == index->handle || work_array_overlaps(&by->array, index));
}

int loop_views_check_indices(const struct heddle_loop_request *loop)
{
	for (unsigned i = 0; i < loop->loop.naccesses; i++)
		for (unsigned j = 0; loop->views[i].cut.index && j < loop->loop.naccesses; j++)
			if (index_is_written(&loop->views[j], &loop->views[i].index))
				return heddle_refuse(-EINVAL,
				                     "loop %s: the index of array %u lies in array "
				                     "%u, which the loop writes",
				                     loop->name, i, j);
	return 0;
}

static void index_explain(const struct heddle_loop_request *loop, unsigned number, size_t entry)
{
	const struct loop_view *view = &loop->views[number];
	size_t value = loop_index_at(&view->cut, entry);

	if (value > view->cut.units)
		heddle_refuse(-EINVAL,
		              "loop %s: entry %zu of the index of array %u is %zu, beyond the "
		              "array's %zu %s",
		              loop->name, entry, number + 1, value, view->cut.units,
		              view_unit(view));
	else
		heddle_refuse(-EINVAL,
		              "loop %s: entry %zu of the index of array %u is %zu, less than the "
		              "entry before it, %zu",
		              loop->name, entry, number + 1, value,
		              loop_index_at(&view->cut, entry ? entry - 1 : 0));
}

bool loop_views_check(const struct heddle_loop_request *loop, size_t start, size_t n)
{
	/* So that a wrong entry stops both blocks it is between. */
	size_t before = start ? 1 : 0;

	for (unsigned i = 0; loop->indexed && i < loop->loop.naccesses; i++) {
		const struct loop_cut *cut = &loop->views[i].cut;
		size_t wrong =
		    cut->index ? loop_index_wrong(cut, start - before, n + before) : SIZE_MAX;

		if (wrong == SIZE_MAX)
			continue;
		index_explain(loop, i, wrong);
		return false;
	}
	return true;
}

struct loop_window loop_view_window(const struct loop_view *view, size_t start, size_t n)
{
	if (view->access.share == HEDDLE_WHOLE || view->access.share == HEDDLE_REDUCE)
		return (struct loop_window){0, view->array.units};
	return loop_window(&view->cut, start, n);
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
	if (HEDDLE_SIMULATED) /* kernels do not run: nothing would be corrected */
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

void loop_view_correct(const struct loop_view *view, size_t count, void *buffer)
{
	union work_array_interface *interface = buffer;

	/* Writes only what is wrong: workers of one memory node share the interface of a handle
	 * that every block reads whole. */
	if (view->array.shape == STARPU_VECTOR_INTERFACE_ID) {
		if (interface->vector.nx != count)
			interface->vector.nx = count;
	} else if (interface->matrix.ny != count) {
		interface->matrix.ny = count;
	}
}

starpu_data_handle_t loop_view_register(const struct loop_view *view, struct loop_window window,
                                        size_t room, void *partial)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	union work_array_interface interface;
	starpu_data_handle_t handle;

	pthread_once(&once, ops_init);
	if (!window.count && view->nothing) {
		window = (struct loop_window){0, 1};
		partial = view->nothing;
	}
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
		const struct loop_view *view = &views[i];
		size_t unit = work_array_unit(&view->array), most = unit ? bytes / unit : SIZE_MAX;

		if (view->array.units <= most)
			continue;
		if (view->access.share == HEDDLE_WHOLE || view->access.share == HEDDLE_REDUCE ||
		    most / 2 < view->cut.halo)
			return 0;
		most = (most - 2 * view->cut.halo) / view->cut.per_iteration;
		room = most < room ? most : room;
	}
	return room;
}

struct loop_footprint loop_views_footprint(const struct loop_view *views, unsigned nviews)
{
	struct loop_footprint sum = {0};

	for (unsigned i = 0; i < nviews; i++) {
		const struct loop_view *view = &views[i];
		size_t unit = work_array_unit(&view->array);

		switch (view->access.share) {
		case HEDDLE_WHOLE:
			sum.shared += view->array.units * unit;
			break;
		case HEDDLE_REDUCE:
			sum.fixed += view->array.units * unit;
			break;
		default:
			if (view->cut.halo >
			    view->array.units / 2) { /* no block has more than all */
				sum.fixed += view->array.units * unit;
				break;
			}
			sum.fixed += 2 * view->cut.halo * unit;
			sum.per_iteration += view->cut.per_iteration * unit;
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

	worker->bytes = SIZE_MAX;
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
		if (room)
			worker->bytes =
			    (total / 4 * 3 - footprint.shared) / (held * workers_beside(id));
		if (worker->depth >= held)
			worker->depth = held > 1 ? held - 1 : 1;
	}
	room = room < most ? room : most;
	if (room < SIZE_MAX && loop->loop.alignment)
		room -= room % loop->loop.alignment;
	worker->maximum = room < SIZE_MAX ? room : 0;
	return room ? 0 : -ENOMEM;
}

/* 1/14 of the loop's iterations: a little more than the longest block that HDSS gives an
 * accelerator, which takes 1/16 of the run's time. */
#define USUAL_ROOM 14

/* Iterations of the blocks whose buffers are all of one size. */
static size_t usual_iterations(const struct heddle_loop_request *loop,
                               const struct loop_worker *worker)
{
	size_t usual = loop->loop.n / USUAL_ROOM, most = worker ? worker->maximum : 0;

	if (!most || usual <= most / 2)
		return usual;
	/* What the parts of iterations by an index do not take is left to larger ones. */
	if (loop->indexed)
		return 0;
	return usual < most ? usual : most;
}

/* Units of a view in a usual block. */
static size_t usual_units(const struct loop_view *view, size_t iterations)
{
	if (view->access.share == HEDDLE_WHOLE || view->access.share == HEDDLE_REDUCE)
		return view->array.units;
	return iterations * view->cut.per_iteration + 2 * view->cut.halo;
}

/* A device allocation costs as much as a small block, and StarPU reuses only buffers of equal size.
 * So all blocks up to USUAL_ROOM get one size, where that fits, and larger ones a size of a coarse
 * series. With 1/32 instead a loop's first run allocated 8 to 10 buffers an array, with this 3 or
 * 4: as many as are in use at a time. */
size_t loop_view_room(const struct heddle_loop_request *loop, const struct loop_view *view,
                      const struct loop_worker *worker, size_t count)
{
	size_t unit = work_array_unit(&view->array), units = view->array.units;
	size_t usual = usual_units(view, usual_iterations(loop, worker));
	size_t room = loop_window_allocation(usual > count ? usual : count, units);

	count = count ? count : 1;
	/* A stock policy's model is indexed by the footprint: equal sizes stay equal. */
	if (!loop->blocks)
		return count;
	/* Not above what it can allocate, which is enough for the block itself. */
	if (worker && unit && room > worker->buffer / unit)
		room = worker->buffer / unit;
	return room > count ? room : count;
}

/* Whether a block fits, with the buffers that are allocated for it. */
static bool worker_holds(const struct heddle_loop_request *loop, const struct loop_worker *worker,
                         size_t start, size_t n)
{
	size_t iterations = loop->blocks ? usual_iterations(loop, worker) : 0, sum = 0;

	for (unsigned i = 0; i < loop->loop.naccesses; i++) {
		const struct loop_view *view = &loop->views[i];
		size_t unit = work_array_unit(&view->array);
		size_t count = loop_view_window(view, start, n).count;
		size_t usual = usual_units(view, iterations);

		if (view->access.share == HEDDLE_WHOLE)
			continue;
		if (unit && count > worker->buffer / unit)
			return false;
		usual = usual < view->array.units ? usual : view->array.units;
		sum += (usual > count ? usual : count) * unit;
	}
	return sum <= worker->bytes;
}

size_t loop_worker_room(const struct heddle_loop_request *loop, const struct loop_worker *worker,
                        size_t start, size_t n)
{
	size_t alignment = loop->loop.alignment ? loop->loop.alignment : 1, least = 0, most = n;

	/* Without an index, `maximum` says it all. */
	if (!loop->indexed || loop_worker_is_host(worker) ||
	    (worker->bytes == SIZE_MAX && worker->buffer == SIZE_MAX))
		return n;
	if (worker_holds(loop, worker, start, n))
		return n;
	while (most - least > 1) {
		size_t middle = least + (most - least) / 2;

		if (worker_holds(loop, worker, start, middle))
			least = middle;
		else
			most = middle;
	}
	return least - least % alignment;
}
