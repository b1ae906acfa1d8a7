/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Points with a class, as comma-separated values: the coordinates of a point in a line, then its
 * class, a word. A first line without numbers has the names of the columns. No StarPU.
 */
#ifndef APPS_COMMON_LABELLED_H
#define APPS_COMMON_LABELLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Of a coordinate: squares of differences fit single precision. */
#define LABELLED_LARGEST 1e15f

/** The names of classes; all zero: none. */
struct class_names {
	size_t n;
	const char **names;
	void *known; /**< tree of tsearch(), by name */
};

struct labelled {
	size_t rows;
	unsigned dimensions;
	float *numbers;  /**< row by row */
	int32_t *labels; /**< numbers of names; -1: without a class */
};

/** The number of a class, which gets one at need. @return below 0: no memory */
int32_t class_number(struct class_names *classes, const char *name, size_t length);
void class_names_free(struct class_names *classes);

/** Reads points.
 * @param dimensions 0: as many as the first point has
 * @param most dimensions at most
 * @param classified whether each point must have a class; otherwise all have one or none has
 * @param[in,out] classes those of the file are added
 * @param[out] points to be freed by labelled_free()
 * @return 0; -EINVAL after a message with file, line and reason; -errno. */
int labelled_read(const char *path, unsigned dimensions, unsigned most, bool classified,
                  struct class_names *classes, struct labelled *points);
void labelled_free(struct labelled *points);

/** Writes points so that reading them gives the same.
 * @return 0; -errno after a message. */
int labelled_write(const char *path, const struct labelled *points,
                   const struct class_names *classes);

#endif
