/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Bringing the results of several devices together. Each had a copy of a buffer, of
 * which it wrote some bytes; no two wrote the same, or the kernel would race.
 */
#ifndef HEDDLE_KERNEL_MERGE_H
#define HEDDLE_KERNEL_MERGE_H

#include <stddef.h>

/** Takes over what a device changed: bytes of `partial` that differ from `original`
 * go into `into`. Right wherever no byte is read and written by different work-groups.
 * @return how many bytes differed */
size_t merge_differences(void *into, const void *original, const void *partial, size_t bytes);

#endif
