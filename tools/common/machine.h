/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Machines described in JSON, for `heddle plan blocks`:
 *
 * {"n": 1000000, "seed": 1, "workers": [
 *   {"name": "gpu", "kind": "cuda", "rate": 36, "overhead_us": 100, "depth": 2},
 *   {"name": "core", "kind": "cpu", "rate": 1, "count": 15}]}
 *
 * machine_keys() prints every key with its meaning.
 */
#ifndef HEDDLE_TOOLS_COMMON_MACHINE_H
#define HEDDLE_TOOLS_COMMON_MACHINE_H

#include <stdio.h>

#include "partition/blocks/replay.h"

/** Reads a description.
 * @param path "-": standard input
 * @return 0; -EINVAL after a message that names file and key; -ENOENT and the like
 * after a message when it cannot be read; -ENOMEM. */
int machine_read(const char *path, struct replay_machine *machine);

void machine_free(struct replay_machine *machine);

/** Prints the keys of a worker, each in a line. */
void machine_keys(FILE *out);

#endif
