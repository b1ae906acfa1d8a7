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
#include "support/message.h"

static int view_check_access(const struct view *view, unsigned index, const char *loop)
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
			                     loop, index);
		return 0;
	case HEDDLE_REDUCE:
		if (mode != STARPU_RW || !access->combine ||
		    view->array.shape != STARPU_VECTOR_INTERFACE_ID)
			return heddle_refuse(-EINVAL,
			                     "loop %s: array %u: a reduction is a vector in mode "
			                     "STARPU_RW with a combine function",
			                     loop, index);
		return 0;
	}
	return heddle_refuse(-EINVAL, "loop %s: array %u: unknown share", loop, index);
}

int view_init(struct view *view, const struct heddle_access *access, unsigned index, size_t n,
              const char *loop)
{
	int status;

	*view = (struct view){.access = *access};
	if (!view->access.per_iteration)
		view->access.per_iteration = 1;
	if ((status = home_array_init(&view->array, access->handle, access->mode,
	                              &(struct array_name){"loop", loop, index})) ||
	    (status = view_check_access(view, index, loop)))
		return status;
	if (access->share != HEDDLE_HALO)
		view->access.halo = 0;
	else if (access->halo > view->array.units)
		view->access.halo = view->array.units;
	if (access->share != HEDDLE_SLICE && access->share != HEDDLE_HALO)
		return 0;
	if (n > view->array.units / view->access.per_iteration)
		return heddle_refuse(-ERANGE,
		                     "loop %s: %zu iterations of %zu reach beyond array %u, which "
		                     "has %zu %s",
		                     loop, n, view->access.per_iteration, index, view->array.units,
		                     view->array.shape == STARPU_VECTOR_INTERFACE_ID ? "elements"
		                                                                     : "rows");
	return 0;
}

int views_check_overlap(const struct view *views, unsigned nviews, const char *loop)
{
	for (unsigned i = 0; i < nviews; i++)
		for (unsigned j = 0; j < i; j++) {
			int status =
			    home_array_check_overlap(&views[i].array, &views[j].array,
			                             &(struct array_name){"loop", loop, i}, j);

			if (status)
				return status;
		}
	return 0;
}

struct window view_window(const struct view *view, const struct block *block)
{
	const struct heddle_access *access = &view->access;

	switch (access->share) {
	case HEDDLE_SLICE:
		return window_of(block->given.start, block->given.n, access->per_iteration, 0,
		                 view->array.units);
	case HEDDLE_HALO:
		return window_of(block->given.start, block->given.n, access->per_iteration,
		                 access->halo, view->array.units);
	default:
		return (struct window){0, view->array.units};
	}
}

void view_interface(const struct view *view, struct window window, void *partial,
                    union array_interface *interface)
{
	uintptr_t pointer =
	    partial ? (uintptr_t)partial : home_array_at(&view->array, window.first);

	home_array_interface(&view->array, pointer, window.count, interface);
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
	union array_interface *interface = buffer;

	/* Only what is wrong: workers of one memory node share the interface of a
	 * handle that every block reads whole. */
	if (view->array.shape == STARPU_VECTOR_INTERFACE_ID) {
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
	union array_interface interface;
	starpu_data_handle_t handle;

	pthread_once(&once, ops_init);
	view_interface(view, window, partial, &interface);
	if (view->array.shape == STARPU_VECTOR_INTERFACE_ID) {
		interface.vector.allocsize = room * view->array.elemsize;
		starpu_data_register(&handle, STARPU_MAIN_RAM, &interface, &vector_ops);
	} else {
		interface.matrix.allocsize = room * home_array_unit(&view->array);
		starpu_data_register(&handle, STARPU_MAIN_RAM, &interface, &matrix_ops);
	}
	/* One task uses it, and what follows in the task's callback comes after it
	 * anyway. */
	starpu_data_set_sequential_consistency_flag(handle, 0);
	return handle;
}

size_t views_buffer_room(const struct view *views, unsigned nviews, size_t bytes)
{
	size_t room = SIZE_MAX;

	for (unsigned i = 0; i < nviews; i++) {
		const struct heddle_access *access = &views[i].access;
		size_t unit = home_array_unit(&views[i].array),
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

struct footprint views_footprint(const struct view *views, unsigned nviews)
{
	struct footprint sum = {0};

	for (unsigned i = 0; i < nviews; i++) {
		const struct view *view = &views[i];
		const struct heddle_access *access = &view->access;
		size_t unit = home_array_unit(&view->array);

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
