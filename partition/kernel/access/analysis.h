/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Descriptions of kernels by heddle-analyse, stored on disk.
 */
#ifndef HEDDLE_KERNEL_ANALYSIS_H
#define HEDDLE_KERNEL_ANALYSIS_H

#include "partition/kernel/access/index.h"

/** Describes a kernel of an OpenCL source. The description is stored beside the profiles
 * (heddle_profile_path()), by what the source, the name and the options are, so that the
 * compiler runs once.
 * @param options as for clBuildProgram(); NULL: none
 * @return 0; -ENOENT where heddle-analyse is not installed; -ENOTSUP where devices may compile
 * different code, or files are included, which may change (partition/kernel/access/conditions.h),
 * or an option is not known (kernel_options_check()); -EINVAL where it fails, after the
 * compiler's messages; -ETIMEDOUT where it takes longer than HEDDLE_ANALYSE_LIMIT, after a
 * message; -EFBIG; -ENOMEM and errors of reading and writing. A kernel without a description must
 * not be split. HEDDLE_VERBOSE=2 prints what was done. */
int kernel_analyse(const char *source, const char *name, const char *options,
                   struct index_kernel *kernel);

/** Hashes texts to 128 bits, as 32 digits.
 * @param seed differs between purposes */
enum { KERNEL_HASH_TEXT = 33 };
void kernel_hash(uint64_t seed, const char *const *texts, unsigned n, char hash[KERNEL_HASH_TEXT]);

#endif
