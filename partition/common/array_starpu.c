/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>

#include "partition/common/array_starpu.h"
#include "support/message.h"
#include "support/pin_starpu.h"
#include "support/variables.h"

static int refuse(const struct array_name *name, const char *why)
{
	return heddle_refuse(-EINVAL, "%s %s: array %u %s", name->what, name->name, name->index,
	                     why);
}

static void take_vector(struct home_array *array, const struct starpu_vector_interface *vector)
{
	array->base = vector->ptr;
	array->units = vector->nx;
	array->nx = array->ld = 1;
	array->elemsize = vector->elemsize;
}

static void take_matrix(struct home_array *array, const struct starpu_matrix_interface *matrix)
{
	array->base = matrix->ptr;
	array->units = matrix->ny;
	array->nx = matrix->nx;
	array->ld = matrix->ld;
	array->elemsize = matrix->elemsize;
}

int home_array_init(struct home_array *array, starpu_data_handle_t handle,
                    enum starpu_data_access_mode mode, const struct array_name *name)
{
	const void *interface;

	*array = (struct home_array){.handle = handle, .mode = mode};
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
static bool side_by_side(const struct home_array *a, const struct home_array *b)
{
	size_t pitch = a->ld * a->elemsize, columns;

	if (b->base < a->base)
		return side_by_side(b, a);
	if (!pitch || b->ld * b->elemsize != pitch)
		return false;
	columns = (b->base - a->base) % pitch;
	return columns >= home_array_unit(a) && columns + home_array_unit(b) <= pitch;
}

static bool overlap(const struct home_array *a, const struct home_array *b)
{
	return a->base < b->base + home_array_bytes(b) && b->base < a->base + home_array_bytes(a) &&
	       !side_by_side(a, b);
}

int home_array_check_overlap(const struct home_array *a, const struct home_array *b,
                             const struct array_name *name, unsigned other)
{
	if (a->handle == b->handle)
		return heddle_refuse(-EINVAL, "%s %s: array %u is array %u again", name->what,
		                     name->name, name->index, other);
	if (!(a->mode & STARPU_W) && !(b->mode & STARPU_W))
		return 0;
	if (overlap(a, b))
		return heddle_refuse(-EINVAL,
		                     "%s %s: arrays %u and %u overlap in memory and one of them is "
		                     "written",
		                     name->what, name->name, other, name->index);
	return 0;
}

size_t home_array_bytes(const struct home_array *array)
{
	if (!array->units)
		return 0;
	return ((array->units - 1) * array->ld + array->nx) * array->elemsize;
}

uintptr_t home_array_at(const struct home_array *array, size_t first)
{
	return array->base + first * array->ld * array->elemsize;
}

size_t home_array_unit(const struct home_array *array)
{
	return array->nx * array->elemsize;
}

void home_array_interface(const struct home_array *array, uintptr_t pointer, size_t units,
                          union array_interface *interface)
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
		    .allocsize = units * home_array_unit(array),
		};
}

/* ---- pinned memory ---- */

/* Said once: a program that cannot help it need not hear it for every loop. */
static void advise(const struct array_name *name)
{
	static bool said;

	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		heddle_warn("%s %s: the memory of array %u is not pinned; copies to CUDA devices "
		            "will be slow (allocate it with heddle_malloc, or see HEDDLE_PIN)",
		            name->what, name->name, name->index);
}

void home_array_pin(struct home_array *array, const struct array_name *name)
{
	void *base = (void *)array->base;
	size_t bytes = home_array_bytes(array);

	if (!bytes)
		return;
	/* Another loop may have pinned it, which must not unpin it under this one. */
	array->pinned = heddle_pin_hold(base, bytes);
	if (array->pinned || heddle_is_pinned(base))
		return;
	if (!heddle_variable_number(HEDDLE_VARIABLE_PIN)) {
		advise(name);
		return;
	}
	array->pinned = !heddle_pin(base, bytes);
	if (array->pinned)
		heddle_explain("%s %s: pinned array %u until its end", name->what, name->name,
		               name->index);
	else
		heddle_warn("%s %s: the memory of array %u cannot be pinned; copies to CUDA "
		            "devices will be slow (allocate it with heddle_malloc)",
		            name->what, name->name, name->index);
}

void home_array_unpin(struct home_array *array)
{
	if (array->pinned)
		heddle_unpin((void *)array->base, home_array_bytes(array));
	array->pinned = false;
}
