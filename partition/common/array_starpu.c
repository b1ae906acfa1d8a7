/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>

#include "partition/common/array_starpu.h"
#include "support/message.h"
#include "support/pin_starpu.h"
#include "support/variables.h"

static int refuse(const struct work_array_name *name, const char *why)
{
	return heddle_refuse(-EINVAL, "%s %s: array %u %s", name->what, name->name, name->index + 1,
	                     why);
}

static void take_vector(struct work_array *array, const struct starpu_vector_interface *vector)
{
	array->base = vector->ptr;
	array->units = vector->nx;
	array->nx = array->ld = 1;
	array->elemsize = vector->elemsize;
}

static void take_matrix(struct work_array *array, const struct starpu_matrix_interface *matrix)
{
	array->base = matrix->ptr;
	array->units = matrix->ny;
	array->nx = matrix->nx;
	array->ld = matrix->ld;
	array->elemsize = matrix->elemsize;
}

int work_array_init(struct work_array *array, starpu_data_handle_t handle,
                    enum starpu_data_access_mode mode, const struct work_array_name *name)
{
	const void *interface;

	*array = (struct work_array){.handle = handle, .mode = mode};
	if (!handle)
		return refuse(name, "has no handle");
	if (starpu_data_get_nb_children(handle))
		return refuse(name, "is partitioned");
	array->shape = starpu_data_get_interface_id(handle);
	if (array->shape != STARPU_VECTOR_INTERFACE_ID &&
	    array->shape != STARPU_MATRIX_INTERFACE_ID)
		return refuse(name, "is neither a vector nor a matrix");
	if (starpu_data_get_home_node(handle) != STARPU_MAIN_RAM)
		return refuse(name, "is not at home in main memory");
	if (mode != STARPU_R && mode != STARPU_W && mode != STARPU_RW)
		return refuse(name, "has a mode other than STARPU_R, STARPU_W and STARPU_RW");
	interface = starpu_data_get_interface_on_node(handle, STARPU_MAIN_RAM);
	if (array->shape == STARPU_VECTOR_INTERFACE_ID)
		take_vector(array, interface);
	else
		take_matrix(array, interface);
	return 0;
}

/* Whether the rows of one array lie between those of the other: columns of one matrix, side
 * by side. */
static bool side_by_side(const struct work_array *a, const struct work_array *b)
{
	size_t pitch = a->ld * a->elemsize, columns;

	if (b->base < a->base)
		return side_by_side(b, a);
	if (!pitch || b->ld * b->elemsize != pitch)
		return false;
	columns = (b->base - a->base) % pitch;
	return columns >= work_array_unit(a) && columns + work_array_unit(b) <= pitch;
}

bool work_array_overlaps(const struct work_array *a, const struct work_array *b)
{
	return a->base < b->base + work_array_bytes(b) && b->base < a->base + work_array_bytes(a) &&
	       !side_by_side(a, b);
}

int work_array_check_overlap(const struct work_array *a, const struct work_array *b,
                             const struct work_array_name *name, unsigned other)
{
	if (a->handle == b->handle)
		return heddle_refuse(-EINVAL, "%s %s: array %u is array %u again", name->what,
		                     name->name, name->index + 1, other + 1);
	if (!(a->mode & STARPU_W) && !(b->mode & STARPU_W))
		return 0;
	if (work_array_overlaps(a, b))
		return heddle_refuse(-EINVAL,
		                     "%s %s: arrays %u and %u overlap in memory and one of them is "
		                     "written",
		                     name->what, name->name, other + 1, name->index + 1);
	return 0;
}

size_t work_array_bytes(const struct work_array *array)
{
	if (!array->units)
		return 0;
	return ((array->units - 1) * array->ld + array->nx) * array->elemsize;
}

uintptr_t work_array_at(const struct work_array *array, size_t first)
{
	return array->base + first * array->ld * array->elemsize;
}

size_t work_array_unit(const struct work_array *array)
{
	return array->nx * array->elemsize;
}

void work_array_interface(const struct work_array *array, uintptr_t pointer, size_t units,
                          union work_array_interface *interface)
{
	if (array->shape == STARPU_VECTOR_INTERFACE_ID)
		interface->vector = (struct starpu_vector_interface){
		    .id = STARPU_VECTOR_INTERFACE_ID,
		    .ptr = pointer,
		    .dev_handle = pointer,
		    .nx = units,
		    .elemsize = array->elemsize,
		    .allocsize = units * array->elemsize,
		};
	else
		interface->matrix = (struct starpu_matrix_interface){
		    .id = STARPU_MATRIX_INTERFACE_ID,
		    .ptr = pointer,
		    .dev_handle = pointer,
		    .nx = array->nx,
		    .ny = units,
		    .ld = array->ld,
		    .elemsize = array->elemsize,
		    .allocsize = units * work_array_unit(array),
		};
}

static struct work_array *array_of(const struct work_arrays *arrays, unsigned index)
{
	return (struct work_array *)((char *)arrays->first + index * arrays->stride);
}

static struct work_array_name name_of(const struct work_arrays *arrays, unsigned index)
{
	return (struct work_array_name){arrays->what, arrays->name, index};
}

int work_arrays_check_overlap(const struct work_arrays *arrays)
{
	for (unsigned i = 0; i < arrays->n; i++)
		for (unsigned j = 0; j < i; j++) {
			struct work_array_name name = name_of(arrays, i);
			int status = work_array_check_overlap(array_of(arrays, i),
			                                      array_of(arrays, j), &name, j);

			if (status)
				return status;
		}
	return 0;
}

/* ---- pinned memory ---- */

/* Said once: a program that cannot change it is not told for every loop. */
static void advise(const struct work_array_name *name)
{
	static bool said;

	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		heddle_warn("%s %s: the memory of array %u is not pinned; copies to CUDA devices "
		            "will be slow (allocate it with heddle_malloc, or see HEDDLE_PIN)",
		            name->what, name->name, name->index + 1);
}

static void pin(struct work_array *array, const struct work_array_name *name)
{
	void *base = (void *)array->base;
	size_t bytes = work_array_bytes(array);

	if (!bytes)
		return;
	/* Another loop may have pinned it, which must not unpin it under this one. */
	array->pinned = heddle_pin_hold(base, bytes);
	if (array->pinned || heddle_is_pinned(base))
		return;
	if (!heddle_variable_number(HEDDLE_VARIABLE_PIN)) {
		if (starpu_cuda_worker_get_count()) /* of others it is not known */
			advise(name);
		return;
	}
	array->pinned = !heddle_pin(base, bytes);
	if (array->pinned)
		heddle_explain("%s %s: pinned array %u until its end", name->what, name->name,
		               name->index + 1);
	else
		heddle_warn("%s %s: the memory of array %u cannot be pinned; copies to GPUs "
		            "will be slow (allocate it with heddle_malloc)",
		            name->what, name->name, name->index + 1);
}

void work_arrays_pin(const struct work_arrays *arrays)
{
	for (unsigned i = 0; i < arrays->n; i++) {
		struct work_array_name name = name_of(arrays, i);

		if (!array_of(arrays, i)->stays)
			pin(array_of(arrays, i), &name);
	}
}

void work_arrays_unpin(const struct work_arrays *arrays)
{
	for (unsigned i = 0; i < arrays->n; i++) {
		struct work_array *array = array_of(arrays, i);

		if (array->pinned)
			heddle_unpin((void *)array->base, work_array_bytes(array));
		array->pinned = false;
	}
}
