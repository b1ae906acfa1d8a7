/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Random kernels, which are printed as OpenCL C, and executed item by item to tell what they
 * touch. Buffers have no memory behind them, so that they may be of any size. Some kernels write an
 * image, too.
 */
#ifndef TESTS_UNIT_RANDOM_KERNEL_H
#define TESTS_UNIT_RANDOM_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "partition/kernel/access/ndrange.h"

/* The last buffer is of int and is read as data. */
enum { RANDOM_BUFFERS = 4, RANDOM_DATA = 3, RANDOM_INTEGERS = 4, RANDOM_ARGUMENTS = 9 };
/* Of a source, at most. */
enum { RANDOM_KERNELS = 50 };
/* An image is the last argument. It is a buffer of pixels, and has three sizes. */
enum { RANDOM_IMAGE = RANDOM_ARGUMENTS, RANDOM_SIZES = 3 };

struct random_kernel;

/** Makes the kernels of a source, by lrand48(), which stay until the next ones are made. Arguments
 * are buffers, then int, uint, long, ulong, or one structure of these, then perhaps an image. */
void random_kernels_make(unsigned n);
/** The kernel of a name; NULL: there is none. */
const struct random_kernel *random_kernel_named(const char *name);
/** Their source; to be freed.
 * @param only this kernel; NULL: all */
char *random_kernels_text(const struct random_kernel *only);
/** The options that it needs. */
const char *random_kernels_options(void);

/** How many of its image's sizes count: width, height, depth; 0: it has no image. */
unsigned random_kernel_sizes(const struct random_kernel *kernel);
/** Whether the last of these is a number of layers. */
bool random_kernel_layers(const struct random_kernel *kernel);

/** Bytes of a buffer, from `first` up to before `end`, that a group reads or writes. */
struct random_touch {
	size_t group;
	int buffer;
	bool write;
	int64_t first, end;
	int64_t whole; /* the end of the vector of which this is a part */
};

struct random_touches {
	struct random_touch *all;
	size_t n;
};

/** What is in the last buffer: `n` bytes. */
struct random_contents {
	const unsigned char *bytes;
	size_t n;
};

/** Executes a kernel.
 * @param integers values of its arguments
 * @param sizes of its image
 * @param contents NULL: some small numbers
 * @param[out] touches to be freed
 * @return whether it is right: nothing overflows where C says that it must not, no address is
 * below its buffer, nothing is loaded from outside of the contents, and it ends */
bool random_kernel_run(const struct random_kernel *kernel, const struct ndrange *range,
                       const int64_t integers[RANDOM_INTEGERS], const int64_t sizes[RANDOM_SIZES],
                       const struct random_contents *contents, struct random_touches *touches);

#endif
