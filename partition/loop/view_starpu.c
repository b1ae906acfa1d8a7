/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Arrays of a loop: what they are, and the part of them that a block touches.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "loop_private.h"
#include "private/message.h"

static int view_init_shape(struct view *view, unsigned index, const char *loop)
{
	starpu_data_handle_t handle = view->access.handle;
	const void *interface;

	view->shape = starpu_data_get_interface_id(handle);
	if (view->shape != STARPU_VECTOR_INTERFACE_ID && view->shape != STARPU_MATRIX_INTERFACE_ID)
		return heddle_refuse(-EINVAL, "loop %s: handle %u is neither a vector nor a matrix",
				     loop, index);
	if (starpu_data_get_home_node(handle) != STARPU_MAIN_RAM)
		return heddle_refuse(-EINVAL, "loop %s: handle %u is not at home in main memory",
				     loop, index);
	interface = starpu_data_get_interface_on_node(handle, STARPU_MAIN_RAM);
	if (view->shape == STARPU_VECTOR_INTERFACE_ID) {
		const struct starpu_vector_interface *vector = interface;

		view->base = vector->ptr;
		view->units = vector->nx;
		view->pitch = view->elemsize = vector->elemsize;
	} else {
		const struct starpu_matrix_interface *matrix = interface;

		view->base = matrix->ptr;
		view->units = matrix->ny;
		view->nx = matrix->nx;
		view->ld = matrix->ld;
		view->elemsize = matrix->elemsize;
		view->pitch = (size_t)matrix->ld * matrix->elemsize;
	}
	return 0;
}

static int view_check_access(const struct view *view, unsigned index, const char *loop)
{
	const struct heddle_access *access = &view->access;
	enum starpu_data_access_mode mode = access->mode;

	if (mode != STARPU_R && mode != STARPU_W && mode != STARPU_RW)
		return heddle_refuse(-EINVAL,
				     "loop %s: handle %u: the mode is not STARPU_R, STARPU_W or "
				     "STARPU_RW",
				     loop, index);
	switch (access->share) {
	case HEDDLE_SLICE:
		return 0;
	case HEDDLE_HALO:
	case HEDDLE_WHOLE:
		if (mode != STARPU_R)
			return heddle_refuse(-EINVAL,
					     "loop %s: handle %u: blocks would overwrite each "
					     "other's output (only slices can be written)",
					     loop, index);
		return 0;
	case HEDDLE_REDUCE:
		if (mode != STARPU_RW || !access->combine ||
		    view->shape != STARPU_VECTOR_INTERFACE_ID)
			return heddle_refuse(-EINVAL,
					     "loop %s: handle %u: a reduction is a vector in mode "
					     "STARPU_RW with a combine function",
					     loop, index);
		return 0;
	}
	return heddle_refuse(-EINVAL, "loop %s: handle %u: unknown share", loop, index);
}

int view_init(struct view *view, const struct heddle_access *access, unsigned index, size_t n,
	      const char *loop)
{
	int status;

	*view = (struct view){.access = *access};
	if (!access->handle)
		return heddle_refuse(-EINVAL, "loop %s: handle %u is NULL", loop, index);
	if (starpu_data_get_nb_children(access->handle))
		return heddle_refuse(-EINVAL, "loop %s: handle %u is partitioned", loop, index);
	if (!view->access.per_iteration)
		view->access.per_iteration = 1;
	if ((status = view_init_shape(view, index, loop)) ||
	    (status = view_check_access(view, index, loop)))
		return status;
	if (access->share != HEDDLE_HALO)
		view->access.halo = 0;
	else if (access->halo > view->units)
		view->access.halo = view->units;
	if (access->share != HEDDLE_SLICE && access->share != HEDDLE_HALO)
		return 0;
	if (n > view->units / view->access.per_iteration)
		return heddle_refuse(-ERANGE,
				     "loop %s: %zu iterations of %zu reach beyond handle %u, which "
				     "has %zu %s",
				     loop, n, view->access.per_iteration, index, view->units,
				     view->shape == STARPU_VECTOR_INTERFACE_ID ? "elements"
									       : "rows");
	return 0;
}

int views_check_overlap(const struct view *views, unsigned nviews, const char *loop)
{
	for (unsigned i = 0; i < nviews; i++)
		for (unsigned j = 0; j < i; j++) {
			const struct view *a = &views[i], *b = &views[j];

			if (a->access.handle == b->access.handle)
				return heddle_refuse(-EINVAL,
						     "loop %s: handle %u is handle %u again", loop,
						     i, j);
			if (!view_is_output(a) && !view_is_output(b))
				continue;
			if (a->base < b->base + b->units * b->pitch &&
			    b->base < a->base + a->units * a->pitch)
				return heddle_refuse(-EINVAL,
						     "loop %s: handles %u and %u overlap in memory "
						     "and one of them is written",
						     loop, j, i);
		}
	return 0;
}

struct window view_window(const struct view *view, const struct block *block)
{
	const struct heddle_access *access = &view->access;

	switch (access->share) {
	case HEDDLE_SLICE:
		return window_of(block->given.start, block->given.n, access->per_iteration, 0,
				 view->units);
	case HEDDLE_HALO:
		return window_of(block->given.start, block->given.n, access->per_iteration,
				 access->halo, view->units);
	default:
		return (struct window){0, view->units};
	}
}

size_t view_bytes(const struct view *view)
{
	return view->units * view->pitch;
}

static uintptr_t window_pointer(const struct view *view, struct window window, void *partial)
{
	return partial ? (uintptr_t)partial : view->base + window.first * view->pitch;
}

void view_interface(const struct view *view, struct window window, void *partial,
		    union view_interface *interface)
{
	uintptr_t pointer = window_pointer(view, window, partial);

	if (view->shape == STARPU_VECTOR_INTERFACE_ID)
		interface->vector = (struct starpu_vector_interface){
			.id = STARPU_VECTOR_INTERFACE_ID,
			.ptr = pointer,
			.dev_handle = pointer,
			.nx = window.count,
			.elemsize = view->elemsize,
			.allocsize = window.count * view->elemsize,
		};
	else
		interface->matrix = (struct starpu_matrix_interface){
			.id = STARPU_MATRIX_INTERFACE_ID,
			.ptr = pointer,
			.dev_handle = pointer,
			.nx = view->nx,
			.ny = window.count,
			.ld = view->ld,
			.elemsize = view->elemsize,
			.allocsize = window.count * view->pitch,
		};
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
 * target's description), and so does view_correct() before a kernel sees them, also
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

void view_correct(const struct view *view, struct window window, void *buffer)
{
	union view_interface *interface = buffer;

	/* Only what is wrong: workers of one memory node share the interface of a
	 * handle that every block reads whole. */
	if (view->shape == STARPU_VECTOR_INTERFACE_ID) {
		if (interface->vector.nx != window.count)
			interface->vector.nx = window.count;
	} else if (interface->matrix.ny != window.count) {
		interface->matrix.ny = window.count;
	}
}

starpu_data_handle_t view_register(const struct view *view, struct window window, size_t room,
				   void *partial)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	union view_interface interface;
	starpu_data_handle_t handle;

	pthread_once(&once, ops_init);
	view_interface(view, window, partial, &interface);
	if (view->shape == STARPU_VECTOR_INTERFACE_ID) {
		interface.vector.allocsize = room * view->elemsize;
		starpu_data_register(&handle, STARPU_MAIN_RAM, &interface, &vector_ops);
	} else {
		interface.matrix.allocsize = room * view->nx * view->elemsize;
		starpu_data_register(&handle, STARPU_MAIN_RAM, &interface, &matrix_ops);
	}
	/* One task uses it, and what follows in the task's callback comes after it
	 * anyway. */
	starpu_data_set_sequential_consistency_flag(handle, 0);
	return handle;
}

/* Rows lie closer there than in main memory. */
size_t view_unit(const struct view *view)
{
	return view->shape == STARPU_VECTOR_INTERFACE_ID ? view->elemsize
							 : view->nx * view->elemsize;
}

size_t views_buffer_room(const struct view *views, unsigned nviews, size_t bytes)
{
	size_t room = SIZE_MAX;

	for (unsigned i = 0; i < nviews; i++) {
		const struct heddle_access *access = &views[i].access;
		size_t unit = view_unit(&views[i]), most = unit ? bytes / unit : SIZE_MAX;

		if (views[i].units <= most)
			continue;
		if (access->share == HEDDLE_WHOLE || access->share == HEDDLE_REDUCE ||
		    most / 2 < access->halo)
			return 0;
		most = (most - 2 * access->halo) / access->per_iteration;
		room = most < room ? most : room;
	}
	return room;
}

struct footprint views_footprint(const struct view *views, unsigned nviews)
{
	struct footprint sum = {0};

	for (unsigned i = 0; i < nviews; i++) {
		const struct view *view = &views[i];
		const struct heddle_access *access = &view->access;
		size_t unit = view_unit(view);

		switch (access->share) {
		case HEDDLE_WHOLE:
			sum.shared += view->units * unit;
			break;
		case HEDDLE_REDUCE:
			sum.fixed += view->units * unit;
			break;
		default:
			if (access->halo > view->units / 2) { /* no block has more than all */
				sum.fixed += view->units * unit;
				break;
			}
			sum.fixed += 2 * access->halo * unit;
			sum.per_iteration += access->per_iteration * unit;
		}
	}
	return sum;
}
