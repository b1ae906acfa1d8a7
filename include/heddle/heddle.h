/* Heddle: loops and scheduling policies over all processors of a machine.
 *
 * Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * This header includes every public header. Where to start:
 *   - a loop over all processors:        heddle/loop.h
 *   - a loop whose iterations depend on each other: heddle/wavefront.h
 *   - an OpenCL kernel over all devices: heddle/kernel.h
 *   - how a range is cut into blocks:    heddle/strategy.h
 *   - what tasks cost:                   heddle/estimate.h
 *   - arrays for loops:                  heddle/memory.h
 *   - simulated devices: which time counts: heddle/clock.h
 *   - a StarPU program under our policy: heddle/policy.h
 *
 * Conventions of the whole interface: functions return 0, or a negative errno
 * value; output arguments come last and are set only on success; times are in
 * microseconds, sizes in iterations or bytes as named; a message on standard
 * error explains every refusal (HEDDLE_VERBOSE=0 silences it).
 *
 * Functions may be called by any number of threads at a time, but for two on the same
 * object (a request, a strategy at work); where one does more or less, it says so.
 * None may be called while another thread changes the environment, from which the
 * variables of doc/variables.md are read.
 *
 * Structures that a program fills in are zero-initialised first: a field that has a
 * default has it as 0 or NULL, and so will those that later versions add. Until version
 * 1 structures may grow with every minor version: the library has another name (SONAME)
 * then, and programs are to be compiled anew.
 */
#ifndef HEDDLE_HEDDLE_H
#define HEDDLE_HEDDLE_H

#include <heddle/strategy.h>
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

/** Version of these headers. */
#define HEDDLE_VERSION_MAJOR 0
#define HEDDLE_VERSION_MINOR 1
#define HEDDLE_VERSION_PATCH 0

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
