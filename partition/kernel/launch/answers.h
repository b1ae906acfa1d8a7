/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a device's compiler defines names as.
 */
#ifndef HEDDLE_KERNEL_ANSWERS_H
#define HEDDLE_KERNEL_ANSWERS_H

#ifdef HEDDLE_USE_OPENCL

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

/** Makes a compiler answer `__has_builtin(NAME)` by a name `heddle_has_NAME`. */
#define ANSWERS_HAS "#undef __has_builtin\n#define __has_builtin(x) heddle_has_##x\n"

/** Asks a device's compiler for names, by a kernel that tells. cl_khr_fp64, for instance, is
 * defined where the device's extensions include it.
 * @param options as for clBuildProgram()
 * @param names each with a line's end behind it (kernel_analyse_asks())
 * @param[out] answers directives (#undef, #define) that define them likewise; to be freed
 * @return 0; -ENOTSUP where one is a macro with parameters; -ENOMEM; -EIO where OpenCL fails */
int kernel_answers_ask(cl_device_id device, const char *options, const char *names, char **answers);

#endif
#endif
