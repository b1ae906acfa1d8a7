/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Kernels and devices described in JSON, for `heddle plan split`:
 *
 * {"groups": 4096, "contiguous": true, "in_bytes": 8192, "out_bytes": 4096,
 *  "buses": [{"name": "pcie", "bandwidth": 6000}],
 *  "devices": [{"name": "cpu", "times": [[4096, 10000]]},
 *              {"name": "gpu", "bus": "pcie", "times": [[256, 800], [4096, 4500]]}]}
 *
 * split_table_keys() prints every key with its meaning.
 */
#ifndef HEDDLE_TOOLS_COMMON_SPLIT_TABLE_H
#define HEDDLE_TOOLS_COMMON_SPLIT_TABLE_H

#include <stdio.h>

#include "partition/kernel/split/split.h"

/** Reads a description.
 * @param path "-": standard input
 * @param[out] problem
 * @param[out] published the same as SKMD sees it (`published_contiguous`)
 * @return 0; -EINVAL after a message that names file and key, also when the file
 * cannot be read. */
int split_table_read(const char *path, struct split_problem *problem,
                     struct split_problem *published);

/** Prints the keys, each in a line. */
void split_table_keys(FILE *out);

#endif
