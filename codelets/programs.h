/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The OpenCL programs of the codelets: their sources are part of the binary.
 */
#ifndef CODELETS_PROGRAMS_H
#define CODELETS_PROGRAMS_H

#ifdef HEDDLE_USE_OPENCL
#include <starpu.h>
#include <starpu_opencl.h>

struct codelet_program {
	const char *source;
	struct starpu_opencl_program binary; /**< set by codelets_load() */
};

extern struct codelet_program blackscholes_program;
extern struct codelet_program boxfilter_program;
extern struct codelet_program histogram_program;
extern struct codelet_program floyd_program;
extern struct codelet_program heat2d_program;
extern struct codelet_program strmatch_program;
extern struct codelet_program nbia_program;
extern struct codelet_program vecinc_program;
#endif

#endif
