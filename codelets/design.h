/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Binaries of the codelets' FPGA versions.
 */
#ifndef CODELETS_DESIGN_H
#define CODELETS_DESIGN_H

#include <stddef.h>

/** Reads NAME.fpga of the folder that HEDDLE_FPGA_DESIGNS names, else of the installation's,
 * or the build's that the program is of.
 * @param[out] bytes to be freed
 * @return 0; -ENOENT there is none; another error after a message. */
int codelet_design_read(const char *name, unsigned char **bytes, size_t *size);

/** Says where that design was looked for, and how to get it.
 * @return -ENODEV; another error after a message. */
int codelet_design_missing(const char *name);

#endif
