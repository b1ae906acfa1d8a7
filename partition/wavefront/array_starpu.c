/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Arrays of a wavefront: what they are, and the parts of them that bands and tiles
 * touch.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#ifdef HEDDLE_USE_CUDA
#include <cuda_runtime.h>
#endif
#ifdef HEDDLE_USE_OPENCL
#include <starpu_opencl.h>
#endif

#include "support/message.h"
#include "support/starpu_compat.h"
#include "wavefront_private.h"

static bool is_field(const struct wave_array *array)
{
	return array->given.extent == HEDDLE_FIELD || array->given.extent == HEDDLE_FIELD_HALO;
}

static bool is_written(const struct wave_array *array)
{
	return array->given.mode & STARPU_W;
}

/* ---- from handles ---- */

static int check_mode(const struct wave_array *array, size_t sweeps, unsigned index,
                      const char *name)
{
	enum starpu_data_access_mode mode = array->given.mode;

	if (array->given.extent == HEDDLE_ALL && mode != STARPU_R)
		return heddle_refuse(-EINVAL,
		                     "wavefront %s: array %u: what every iteration reads cannot be "
		                     "written",
		                     name, index + 1);
	if ((array->given.extent == HEDDLE_FIELD_HALO || array->given.extent == HEDDLE_COLUMNS) &&
	    mode == STARPU_W)
		return heddle_refuse(-EINVAL,
		                     "wavefront %s: array %u: what neighbours read cannot be only "
		                     "written",
		                     name, index + 1);
	if (array->given.extent == HEDDLE_COLUMNS && mode == STARPU_RW && sweeps > 1)
		return heddle_refuse(
		    -EINVAL,
		    "wavefront %s: array %u: what passes from row to row would have "
		    "to pass from the last row to the first of the next sweep",
		    name, index + 1);
	return 0;
}

static int check_size(const struct wave_array *array, const struct heddle_wavefront *wavefront,
                      unsigned index, const char *name)
{
	size_t per = array->given.per_iteration;
	size_t n = array->given.extent == HEDDLE_COLUMNS ? wavefront->columns : wavefront->rows;

	if (array->given.extent == HEDDLE_ALL)
		return 0;
	if (is_field(array) != (array->main.shape == STARPU_MATRIX_INTERFACE_ID))
		return heddle_refuse(-EINVAL, "wavefront %s: array %u is not a %s", name, index + 1,
		                     is_field(array) ? "matrix" : "vector");
	if (is_field(array) && (array->main.units < n || array->main.nx / per < wavefront->columns))
		return heddle_refuse(-ERANGE,
		                     "wavefront %s: %zu rows and %zu columns of %zu elements reach "
		                     "beyond array %u, which has %zu rows of %zu",
		                     name, wavefront->rows, wavefront->columns, per, index + 1,
		                     array->main.units, array->main.nx);
	if (!is_field(array) && array->main.units / per < n)
		return heddle_refuse(-ERANGE,
		                     "wavefront %s: %zu %s of %zu elements reach beyond array %u, "
		                     "which has %zu",
		                     name, n,
		                     array->given.extent == HEDDLE_ROWS ? "rows" : "columns", per,
		                     index + 1, array->main.units);
	return 0;
}

int wave_array_init(struct wave_array *array, const struct heddle_wavefront *wavefront,
                    unsigned index, const char *name)
{
	int status;

	*array = (struct wave_array){.given = wavefront->arrays[index]};
	if (array->given.extent > HEDDLE_ALL)
		return heddle_refuse(-EINVAL, "wavefront %s: array %u: unknown extent", name,
		                     index + 1);
	if (!array->given.per_iteration)
		array->given.per_iteration = 1;
	if ((status = work_array_init(&array->main, array->given.handle, array->given.mode,
	                              &(struct work_array_name){"wavefront", name, index})) ||
	    (status = check_mode(array, wavefront->sweeps, index, name)))
		return status;
	return check_size(array, wavefront, index, name);
}

/* ---- parts ---- */

size_t wave_array_row_bytes(const struct wave_array *array)
{
	if (is_field(array))
		return array->main.nx * array->main.elemsize;
	return array->given.extent == HEDDLE_ROWS
	           ? array->given.per_iteration * array->main.elemsize
	           : 0;
}

bool wave_array_is_shared(const struct wave_array *array)
{
	return array->given.extent == HEDDLE_ALL ||
	       (array->given.extent == HEDDLE_COLUMNS && !is_written(array));
}

bool wave_array_crosses(const struct wave_array *array)
{
	return is_written(array) &&
	       (array->given.extent == HEDDLE_FIELD_HALO || array->given.extent == HEDDLE_COLUMNS);
}

/* Which of its own rows a row of the loop is. Between two ranges others have as many rows as
 * vectors reach, at the least. */
static size_t own_row(const struct wave_array *array, size_t row)
{
	unsigned r = array->nranges;

	if (!r)
		return row;
	while (--r && row + array->above < array->ranges[r].first)
		;
	return row - array->ranges[r].row[array->index];
}

static uintptr_t element(const struct wave_array *array, size_t row, size_t index)
{
	return array->main.base +
	       (own_row(array, row) * array->main.ld + index) * array->main.elemsize;
}

char *wave_array_place(const struct wave_array *array, size_t row, size_t column)
{
	size_t index = column * array->given.per_iteration;

	return is_field(array) ? (char *)element(array, row, index)
	                       : (char *)array->main.base + index * array->main.elemsize;
}

void wave_array_interface(const struct wave_array *array, const struct wave_band *band,
                          union work_array_interface *interface)
{
	size_t per = array->given.per_iteration;
	uintptr_t base = array->main.base;
	size_t units = array->main.units;

	if (is_field(array)) {
		base = work_array_at(&array->main, own_row(array, band->first));
		units = band->rows;
	} else if (array->given.extent == HEDDLE_ROWS) {
		base = work_array_at(&array->main, own_row(array, band->first) * per);
		units = band->rows * per;
	}
	work_array_interface(&array->main, base, units, interface);
}

/* ---- bands on devices ---- */

/* A matrix of which only some rows are written back to main memory. */
struct band_interface {
	struct starpu_matrix_interface matrix; /* first: it is one for all else */
	uint32_t above, below;                 /* ghost rows */
};

static struct starpu_data_interface_ops band_ops;
static struct starpu_data_copy_methods band_copies;

static void band_register(starpu_data_handle_t handle, heddle_compat_home home, void *given)
{
	const struct band_interface *interface = given;

	starpu_interface_matrix_ops.register_data_handle(handle, home, given);
	for (unsigned node = 0; node < STARPU_MAXNODES; node++) {
		struct band_interface *local = starpu_data_get_interface_on_node(handle, node);

		local->above = interface->above;
		local->below = interface->below;
	}
}

static void leave_out(struct starpu_matrix_interface *matrix, uint32_t above, uint32_t below)
{
	size_t bytes = (size_t)above * matrix->ld * matrix->elemsize;

	matrix->ptr += bytes;
	matrix->offset += bytes;
	matrix->ny -= above + below;
}

/* Rows around a band belong to other bands, which may have changed them meanwhile: they are copied
 * to devices only. StarPU reuses buffers with the description of the data that had them last. So
 * the description in main memory counts. */
static int band_copy(void *from, unsigned from_node, void *to, unsigned to_node, void *async)
{
	struct starpu_matrix_interface source = ((struct band_interface *)from)->matrix;
	const struct band_interface *home = to;
	struct starpu_matrix_interface target = home->matrix;

	if (starpu_node_get_kind(to_node) == STARPU_CPU_RAM) {
		leave_out(&source, home->above, home->below);
		leave_out(&target, home->above, home->below);
	}
	return starpu_interface_matrix_ops.copy_methods->any_to_any(&source, from_node, &target,
	                                                            to_node, async);
}

/* StarPU gives buffers that are no longer used, with their descriptions, to data of the
 * same footprint and shape. A description of ours does not fit into that of a matrix,
 * so no matrix of the same shape may have the same footprint. */
static uint32_t band_footprint(starpu_data_handle_t handle)
{
	return ~starpu_interface_matrix_ops.footprint(handle);
}

static uint32_t band_alloc_footprint(starpu_data_handle_t handle)
{
	return ~starpu_interface_matrix_ops.alloc_footprint(handle);
}

static void band_ops_init(void)
{
	band_copies = *starpu_interface_matrix_ops.copy_methods;
	band_copies.any_to_any = band_copy;
	band_ops = starpu_interface_matrix_ops;
	band_ops.register_data_handle = band_register;
	band_ops.copy_methods = &band_copies;
	band_ops.interface_size = sizeof(struct band_interface);
	band_ops.footprint = band_footprint;
	if (band_ops.alloc_footprint)
		band_ops.alloc_footprint = band_alloc_footprint;
}

starpu_data_handle_t wave_array_register_band(const struct wave_array *array,
                                              const struct wave_band *band, size_t above,
                                              size_t below)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct band_interface interface = {.above = above, .below = below};
	union work_array_interface whole;
	size_t per = array->given.per_iteration;
	starpu_data_handle_t handle;

	pthread_once(&once, band_ops_init);
	if (is_field(array)) {
		work_array_interface(
		    &array->main, work_array_at(&array->main, own_row(array, band->first) - above),
		    above + band->rows + below, &whole);
		interface.matrix = whole.matrix;
		starpu_data_register(&handle, STARPU_MAIN_RAM, &interface, &band_ops);
	} else if (array->given.extent == HEDDLE_ROWS) {
		starpu_vector_data_register(&handle, STARPU_MAIN_RAM,
		                            array->main.base + own_row(array, band->first) * per *
		                                                   array->main.elemsize,
		                            band->rows * per, array->main.elemsize);
	} else {
		/* The device's own copy of a state whose elements belong to several bands. */
		starpu_vector_data_register(&handle, -1, 0, array->main.units,
		                            array->main.elemsize);
	}
	return handle;
}

starpu_data_handle_t wave_array_register_patch(const struct wave_array *array,
                                               const struct wave_patch *patch)
{
	size_t per = array->given.per_iteration, first = patch->columns.begin * per;
	size_t elements = (patch->columns.end - patch->columns.begin) * per;
	starpu_data_handle_t handle;

	if (is_field(array))
		starpu_matrix_data_register(&handle, STARPU_MAIN_RAM,
		                            element(array, patch->row, first), array->main.ld,
		                            elements, patch->rows, array->main.elemsize);
	else
		starpu_vector_data_register(&handle, STARPU_MAIN_RAM,
		                            array->main.base + first * array->main.elemsize,
		                            elements, array->main.elemsize);
	return handle;
}

starpu_data_handle_t wave_array_register_whole(const struct wave_array *array)
{
	starpu_data_handle_t handle;

	if (array->main.shape == STARPU_MATRIX_INTERFACE_ID)
		starpu_matrix_data_register(&handle, STARPU_MAIN_RAM, array->main.base,
		                            array->main.ld, array->main.nx, array->main.units,
		                            array->main.elemsize);
	else
		starpu_vector_data_register(&handle, STARPU_MAIN_RAM, array->main.base,
		                            array->main.units, array->main.elemsize);
	starpu_data_set_sequential_consistency_flag(handle, 0);
	return handle;
}

void wave_array_enter(const struct wave_array *array, const struct wave_band *band, size_t above,
                      const void *buffer, union work_array_interface *interface)
{
	if (array->main.shape == STARPU_VECTOR_INTERFACE_ID) {
		interface->vector = *(const struct starpu_vector_interface *)buffer;
		return;
	}
	interface->matrix = *(const struct starpu_matrix_interface *)buffer;
	if (is_field(array)) {
		leave_out(&interface->matrix, above, 0);
		interface->matrix.ny = band->rows;
	}
}

/* ---- boundaries on devices ---- */

/* A rectangle in a device's buffer, in bytes. */
struct rectangle {
	uintptr_t pointer, buffer;
	size_t offset, pitch;
};

static struct rectangle patch_rectangle(const struct wave_array *array, const void *buffer)
{
	if (is_field(array)) {
		const struct starpu_matrix_interface *matrix = buffer;

		return (struct rectangle){matrix->ptr, matrix->dev_handle, matrix->offset,
		                          (size_t)matrix->ld * matrix->elemsize};
	} else {
		const struct starpu_vector_interface *vector = buffer;

		return (struct rectangle){vector->ptr, vector->dev_handle, vector->offset,
		                          vector->nx * vector->elemsize};
	}
}

/* Where a patch lies in the band's part; rows above it lie before the pointer. */
static struct rectangle part_rectangle(const struct wave_array *array,
                                       const struct wave_patch *patch, const struct wave_band *band,
                                       const union work_array_interface *part)
{
	struct rectangle r = patch_rectangle(array, part);
	ptrdiff_t bytes = patch->columns.begin * array->given.per_iteration * array->main.elemsize;

	if (is_field(array))
		bytes += ((ptrdiff_t)patch->row - (ptrdiff_t)band->first) * (ptrdiff_t)r.pitch;
	r.pointer += bytes;
	r.offset += bytes;
	return r;
}

#ifdef HEDDLE_USE_CUDA
static int copy_cuda(const struct rectangle *from, const struct rectangle *to, size_t bytes,
                     size_t rows)
{
	return cudaMemcpy2DAsync((void *)to->pointer, to->pitch, (const void *)from->pointer,
	                         from->pitch, bytes, rows, cudaMemcpyDeviceToDevice,
	                         starpu_cuda_get_local_stream()) == cudaSuccess
	           ? 0
	           : -EIO;
}
#endif

#ifdef HEDDLE_USE_HIP
/* Through StarPU, so that we need not be linked with HIP. */
static int copy_hip(const struct rectangle *from, const struct rectangle *to, size_t bytes,
                    size_t rows)
{
	unsigned node = starpu_worker_get_local_memory_node();
	int status = starpu_hip_copy2d_async_sync(
	    (void *)from->pointer, node, (void *)to->pointer, node, bytes, rows, from->pitch,
	    to->pitch, starpu_hip_get_local_stream(), hipMemcpyDeviceToDevice);

	return status == -EAGAIN ? 0 : status; /* under way */
}
#endif

#ifdef HEDDLE_USE_OPENCL
static int copy_opencl(const struct rectangle *from, const struct rectangle *to, size_t bytes,
                       size_t rows)
{
	cl_command_queue queue;

	starpu_opencl_get_queue(starpu_worker_get_devid(starpu_worker_get_id_check()), &queue);
	for (size_t row = 0; row < rows; row++)
		if (clEnqueueCopyBuffer(queue, (cl_mem)from->buffer, (cl_mem)to->buffer,
		                        from->offset + row * from->pitch,
		                        to->offset + row * to->pitch, bytes, 0, NULL,
		                        NULL) != CL_SUCCESS)
			return -EIO;
	return 0;
}
#endif

int wave_array_copy(const struct wave_array *array, const struct wave_patch *patch,
                    const struct wave_band *band, const union work_array_interface *part,
                    void *patch_buffer, bool to_part)
{
	struct rectangle inside = part_rectangle(array, patch, band, part);
	struct rectangle outside = patch_rectangle(array, patch_buffer);
	const struct rectangle *from = to_part ? &outside : &inside;
	const struct rectangle *to = to_part ? &inside : &outside;
	size_t bytes = (patch->columns.end - patch->columns.begin) * array->given.per_iteration *
	               array->main.elemsize;

	switch (starpu_worker_get_type(starpu_worker_get_id_check())) {
#ifdef HEDDLE_USE_CUDA
	case STARPU_CUDA_WORKER:
		return copy_cuda(from, to, bytes, patch->rows);
#endif
#ifdef HEDDLE_USE_HIP
	case STARPU_HIP_WORKER:
		return copy_hip(from, to, bytes, patch->rows);
#endif
#ifdef HEDDLE_USE_OPENCL
	case STARPU_OPENCL_WORKER:
		return copy_opencl(from, to, bytes, patch->rows);
#endif
	default:
		/* No driver of this build has another memory. */
		(void)from, (void)to, (void)bytes;
		return -ENOSYS;
	}
}
