/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The array of a handle as it lies in main memory: what loops and wavefronts cut. It
 * consists of units, the elements of a vector or the rows of a matrix.
 */
#ifndef HEDDLE_PARTITION_ARRAY_STARPU_H
#define HEDDLE_PARTITION_ARRAY_STARPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <starpu.h>

struct work_array {
	starpu_data_handle_t handle;
	enum starpu_data_access_mode mode;   /**< STARPU_R, STARPU_W or STARPU_RW */
	enum starpu_data_interface_id shape; /**< of a vector or a matrix */
	uintptr_t base;
	size_t units;
	size_t nx, ld;   /**< matrix: elements of a row, elements between rows; vector: 1 */
	size_t elemsize; /**< bytes */
	bool pinned;     /**< held, hence to be unpinned */
	bool stays;      /**< not copied to devices: never pinned */
};

/** What StarPU and kernels call an array. */
union work_array_interface {
	struct starpu_vector_interface vector;
	struct starpu_matrix_interface matrix;
};

/** Whose array it is, for messages: array 3 of the loop `axpy`. */
struct work_array_name {
	const char *what, *name;
	unsigned index;
};

/** Finds out what a handle is.
 * @return 0; -EINVAL after a message: it is NULL, partitioned, neither a vector nor a
 * matrix, not at home in main memory, or the mode is none of those above */
int work_array_init(struct work_array *array, starpu_data_handle_t handle,
                    enum starpu_data_access_mode mode, const struct work_array_name *name);

/** Whether two arrays share memory. Columns of one matrix, side by side, do not. */
bool work_array_overlaps(const struct work_array *a, const struct work_array *b);

/** Whether two arrays can be used together: they are not the same handle, and do not overlap in
 * memory where one of them is written. Columns of one matrix, side by side, do not overlap.
 * @param name of `a`; `other` is the index of `b`
 * @return 0; -EINVAL after a message */
int work_array_check_overlap(const struct work_array *a, const struct work_array *b,
                             const struct work_array_name *name, unsigned other);

/** All its memory from the first element to the last, gaps between rows included. */
size_t work_array_bytes(const struct work_array *array);

/** Where unit `first` begins. */
uintptr_t work_array_at(const struct work_array *array, size_t first);

/** Bytes of a unit on a device, where rows lie close. */
size_t work_array_unit(const struct work_array *array);

/** The description of an array of `units` units of this kind.
 * @param pointer where the first one lies in main memory */
void work_array_interface(const struct work_array *array, uintptr_t pointer, size_t units,
                          union work_array_interface *interface);

/** The arrays of a piece of work, each a member of a structure of the work's own. */
struct work_arrays {
	struct work_array *first;
	size_t stride; /**< bytes from one to the next */
	unsigned n;
	const char *what, *name; /**< of the work, for messages */
};

/** work_array_check_overlap() of all pairs.
 * @return 0; -EINVAL after a message */
int work_arrays_check_overlap(const struct work_arrays *arrays);

/** Pins the memory of arrays where that would help and is wanted (HEDDLE_PIN), or holds it
 * where Heddle has pinned it already. Says once in a program that memory is not pinned. */
void work_arrays_pin(const struct work_arrays *arrays);

/** Undoes work_arrays_pin(). */
void work_arrays_unpin(const struct work_arrays *arrays);

#endif
