/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Kinds by StarPU's names for types of worker.
 */
#ifndef HEDDLE_SUPPORT_KIND_H
#define HEDDLE_SUPPORT_KIND_H

#include <heddle/kind.h>

/** The kind of a type of worker. An OpenCL device may still be an FPGA.
 * @param type as starpu_worker_get_type_as_string() names it, of either series
 * @return HEDDLE_KIND_OTHER: a name that we do not know */
enum heddle_kind kind_of_starpu(const char *type);

#endif
