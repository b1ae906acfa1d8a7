/* Heddle: loops and scheduling policies over all processors of a machine.
 *
 * Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * This header includes every public header. Where to start:
 *   - a loop over all processors:        heddle/loop.h
 *   - a loop whose iterations depend on each other: heddle/wavefront.h
 *   - an OpenCL kernel over all devices: heddle/kernel.h
 *   - how a range is cut into blocks:    heddle/blocks.h
 *   - what tasks cost:                 heddle/estimate.h
 *   - arrays for loops:                  heddle/memory.h
 *   - simulated devices: which time counts: heddle/clock.h
 *   - a StarPU program under our policy: heddle/policy.h
 *
 * Conventions of the whole interface: functions return 0, or a negative errno
 * value; output arguments come last and are set only on success; times are in
 * microseconds, sizes in iterations or bytes as named; a message on standard
 * error explains every refusal (HEDDLE_VERBOSE=0 silences it).
 */
#ifndef HEDDLE_HEDDLE_H
#define HEDDLE_HEDDLE_H

#include <heddle/blocks.h>
#include <heddle/clock.h>
#include <heddle/dependence.h>
#include <heddle/estimate.h>
#include <heddle/kernel.h>
#include <heddle/kind.h>
#include <heddle/loop.h>
#include <heddle/memory.h>
#include <heddle/policy.h>
#include <heddle/wavefront.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the library in use, as "MAJOR.MINOR.PATCH". */
const char *heddle_version(void);

/** Says whether the StarPU loaded at run time is the one Heddle was built
 * against. Builds of StarPU share a SONAME while their structures differ, so a
 * mismatch would corrupt memory. Called by every entry point that needs it.
 * @return 0; -ENOEXEC after a message that names both. */
int heddle_starpu_check(void);

#ifdef __cplusplus
}
#endif
#endif
