/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Descriptions of kernels by heddle-analyse, stored on disk.
 */
#ifndef HEDDLE_KERNEL_ANALYSIS_H
#define HEDDLE_KERNEL_ANALYSIS_H

#include "partition/kernel/access/index.h"

/** Room for why a kernel is not analysed. */
enum { KERNEL_WHY = 256 };

/** From now on the messages of heddle-analyse and its compiler are on standard error; else only
 * with HEDDLE_VERBOSE=2. */
void kernel_analyse_show_errors(void);

/** Lists the names that a source asks of compilers (partition/kernel/access/conditions.h).
 * @param options as for clBuildProgram(); NULL: none
 * @param[out] asked each with a line's end behind it; to be freed
 * @param[out] why set on errors: what follows "it is not analysed: "
 * @return 0; errors of kernel_analyse() */
int kernel_analyse_asks(const char *source, const char *options, char **asked,
                        char why[KERNEL_WHY]);

/** Describes all kernels of a source. Nothing is stored.
 * @param answers as for kernel_analyse()
 * @param[out] all for kernel_analysed_take(); to be freed
 * @param[out] why set on errors
 * @return 0; errors of kernel_analyse() */
int kernel_analyse_all(const char *source, const char *options, const char *answers, char **all,
                       char why[KERNEL_WHY]);

/** Takes the next kernel out of what kernel_analyse_all() gave.
 * @param[in,out] all where it stands; changed
 * @param[out] kernel set where *error is 0
 * @param[out] error of this kernel, as of kernel_analyse(); 0 at the end; -EINVAL without a name
 * where the rest is not understood
 * @param[out] why set on errors
 * @return its name, which lies in the text; NULL: there is none */
char *kernel_analysed_take(char **all, struct index_kernel *kernel, int *error,
                           char why[KERNEL_WHY]);

/** Describes a kernel of an OpenCL source. The description is stored beside the profiles
 * (heddle_profile_path()), by what the source and its included files, the name, the options and
 * the answers are, so that the compiler runs once.
 * @param options as for clBuildProgram(); NULL: none
 * @param answers directives (#define, #undef) that say what a device's compiler defines the names
 * as that the source asks for, each on a line; NULL: nobody was asked
 * @param[out] why set on errors: what follows "it is not analysed: "
 * @return 0; -ENOENT where heddle-analyse is not installed; -ENOTSUP where devices may compile
 * different code (partition/kernel/access/conditions.h, includes.h), or an option is not known
 * (kernel_options_check()); -EINVAL where it fails, after the compiler's messages; -E2BIG where it
 * is too large; -ETIMEDOUT where it takes longer than HEDDLE_ANALYSE_LIMIT; -EFBIG; -ENOMEM and
 * errors of reading and writing. A kernel without a description must not be split. */
int kernel_analyse(const char *source, const char *name, const char *options, const char *answers,
                   struct index_kernel *kernel, char why[KERNEL_WHY]);

/** Hashes texts to 128 bits, as 32 digits.
 * @param seed differs between purposes */
enum { KERNEL_HASH_TEXT = 33 };
void kernel_hash(uint64_t seed, const char *const *texts, unsigned n, char hash[KERNEL_HASH_TEXT]);

#endif
